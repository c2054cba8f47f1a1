"""Exported C against CasADi's own C code: the right-hand side, by the same compiler and flags.

Both compute the same outputs (rates and singularity measures, without the work) from the same rows
of generic states, in a loop in the same file. `noslip export MODEL --to c` checks its results and
returns a code, and that is part of its time.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import casadi as ca
import numpy as np

import casadi_c
import noslip as ns
from measuring import Measure, leave, shortest
from right_hand_side import NUM_ROWS, Rows, generic_rows, loop_call

MODELS = ("rolling-disk", "agv", "tractor-trailer", "whipple-bicycle", "manipulator-6r")
TOLERANCE = 1e-9  # of an entry, relative to the largest of its row
ROUNDS = 15

LOOP = """
#include <stdint.h>
void rows(int64_t n, const double* t, const double* x, const double* u, const double* p,
          int64_t p_stride, double* out)
{{
  (void)p_stride;
  for (int64_t k = 0; k < n; ++k)
    {prefix}_rates(0, t[k], x + k * {nx}, u + k * {nu}, (const {prefix}_parameters*)p,
                   out + k * {nx});
}}
"""


def rows_without_work(system: ns.System) -> Rows:
    t, x, u, p = generic_rows(system)
    num = system.equations.state.shape[0]
    return t, np.ascontiguousarray(x[:, :num]), u, p


def casadi_function(system: ns.System) -> ca.Function:
    """The same outputs as a CasADi function of t, x, u, p; measures are computed, too."""
    kin, eq = system.kinematics, system.equations
    health = [h.value for h in system.singularity_measures]
    rates = ca.vertcat(ca.mtimes(kin.N, kin.v), eq.accelerations, eq.auxiliary_rates, *health)
    given = [kin.symbols.t, eq.state, eq.inputs, kin.symbols.params]
    return ca.Function("rates", given, [ca.densify(rates)])


def measure_model(name: str, folder: Path) -> tuple[list[Measure], dict, dict]:
    system = ns.compile(ns.derive(ns.load(name)))
    rows, function = rows_without_work(system), casadi_function(system)
    nx, nu = rows[1].shape[1], rows[2].shape[1]
    done = ns.export(system, folder / "code.c", prefix="code")
    own = done.files[0].read_text().replace('#include "code.h"', done.files[1].read_text())
    own += LOOP.format(prefix="code", nx=nx, nu=nu)
    flags = {"-O3 -march=native": casadi_c.OPTIMIZED, "with -ffast-math": casadi_c.FAST_MATH}
    right = system.rates.map(rows[0], _with_work(system, rows[1]), rows[2], rows[3])[:, :nx]
    scale = np.max(np.abs(right), axis=1, keepdims=True)
    calls, answers = {}, {}
    for word, options in flags.items():
        for whose, text, size in (
            ("exported", own, nx),
            ("CasADi", casadi_c.c_text(function), function.numel_out(0)),
        ):
            place = folder / whose.lower()
            place.mkdir(exist_ok=True)
            key = f"{whose} {word}"
            answers[key] = np.zeros((NUM_ROWS, size))
            loop = casadi_c.load_rows(casadi_c.build(text, place, options))
            calls[key] = loop_call(loop, rows, answers[key])
            calls[key]()
    checks = {k: float(np.max(np.abs(a[:, :nx] - right) / scale)) for k, a in answers.items()}
    seconds = {k: s / NUM_ROWS for k, s in shortest(calls, rounds=ROUNDS).items()}
    measures = []
    for word in flags:
        error = max(checks[f"exported {word}"], checks[f"CasADi {word}"])
        measures.append(
            Measure(
                what=f"{name}: exported C against CasADi's, gcc {word}",
                value=seconds[f"CasADi {word}"] / seconds[f"exported {word}"],
                at_least=1.0,
                not_counted="" if error <= TOLERANCE else f"answers differ by {error:.1e}",
            )
        )
    return measures, seconds, checks


def _with_work(system: ns.System, x: np.ndarray) -> np.ndarray:
    return np.hstack([x, np.zeros((len(x), system.num_states - x.shape[1]))])


def main() -> None:
    if not shutil.which("gcc"):
        leave("exported_c", [], {}, checks={}, left_out=["exported C: there is no gcc on the path"])
        return
    measures, timings, checks = [], {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in MODELS:
            folder = Path(temporary) / name
            folder.mkdir()
            lines, seconds, differences = measure_model(name, folder)
            measures += lines
            timings |= {f"{name}: {candidate}": s for candidate, s in seconds.items()}
            checks |= {f"{name}: {candidate}": d for candidate, d in differences.items()}
    leave("exported_c", measures, timings, checks=checks)
    for key, value in timings.items():
        print(f"{key}: {1e9 * value:.0f} ns")


if __name__ == "__main__":
    main()

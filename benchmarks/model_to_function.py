"""From a model's name to its compiled right-hand side: how long, and where the time goes.

One repetition goes all the way, `noslip.load` to native code, nothing kept from the one before; the
imports are done. The same expression is also handed to CasADi's C generator and gcc.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np

import casadi_c
import noslip as ns
from measuring import Measure, leave, shortest
from noslip.engines.native import compile_native
from noslip.engines.program import interpret
from noslip.formulations.derivation import check_inertia

REPETITIONS = 25
BUILDS = 3
TOLERANCE = 1e-10
STAGES = ("load", "trace", "derive", "print and compile")


def staged(name: str) -> tuple[ns.System, list[float]]:
    """What `noslip.compile(noslip.derive(noslip.load(name)))` does, and the time at each stage."""
    times = [time.perf_counter()]
    model = ns.load(name)
    times.append(time.perf_counter())
    kinematics = ns.trace(model)
    times.append(time.perf_counter())
    equations = ns.NaturalComplement().fill(kinematics)
    check_inertia(equations)
    times.append(time.perf_counter())
    system = ns.compile(equations)
    times.append(time.perf_counter())
    return system, times


def difference(system: ns.System) -> float:
    """Native right-hand side less the interpreted one at a generic state, relative."""
    rng = np.random.default_rng(2)
    t, q = system.kinematics.probe.configurations(1)[0]
    x = np.concatenate([q, rng.normal(size=system.num_states - len(q))])
    u, p = rng.normal(size=len(system.inputs)), system.parameters()
    right = interpret(system.program("rates", system.rates_expression), t, x, u, p)
    return float(np.max(np.abs(system.rates(t, x, u, p) - right)) / np.max(np.abs(right)))


def builds(system: ns.System, folder: Path) -> dict[str, Callable[[], object]]:
    """From the traced expression to machine code, by noslip and by CasADi with gcc."""
    symbols = system.kinematics.symbols
    inputs = [symbols.t, system.state, system.equations.inputs, symbols.params]
    expression = ca.densify(system.rates_expression)

    def with_gcc() -> object:
        text = casadi_c.c_text(ca.Function("rates", inputs, [expression]))
        return casadi_c.build(text, folder, casadi_c.OPTIMIZED)

    return {
        "native code": lambda: compile_native([system.program("rates", expression)]),
        "CasADi's C and gcc": with_gcc,
    }


def measure_model(
    name: str, folder: Path
) -> tuple[list[Measure], dict[str, float], float, list[str]]:
    """Measures, least times, difference from the interpreter and what was left out."""
    passes = []
    for _ in range(REPETITIONS):
        system, times = staged(name)
        passes.append(times)
    durations = np.diff(np.array(passes), axis=1)
    seconds = {stage: float(np.min(durations[:, k])) for k, stage in enumerate(STAGES)}
    seconds["all stages"] = float(np.min(np.sum(durations, axis=1)))
    off = difference(system)
    wrong = "" if off <= TOLERANCE else f"differs from the interpreter by {off:.1e}"
    num_operations = system.program("rates", system.rates_expression).num_operations
    what = f"{name} to compiled right-hand side ({num_operations} operations)"
    measures = [Measure(what=what, value=seconds["all stages"], unit="s", not_counted=wrong)]
    measures += [
        Measure(what=f"  of which {stage}", value=seconds[stage], unit="s") for stage in STAGES
    ]
    calls, left_out = builds(system, folder), []
    try:
        calls["CasADi's C and gcc"]()
    except RuntimeError as error:
        left_out = [f"{name}: compile time of gcc: {error}"]
    else:
        least = shortest(calls, rounds=BUILDS)
        seconds |= {f"expression to {how}": s for how, s in least.items()}
        measures.append(
            Measure(
                what=f"{name}: expression to machine code against CasADi's C and gcc -O3",
                value=least["CasADi's C and gcc"] / least["native code"],
                not_counted=wrong,
            )
        )
    return measures, seconds, off, left_out


def main() -> None:
    measures, timings, checks, left_out = [], {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in ns.MODELS:
            lines, seconds, checks[name], notes = measure_model(name, Path(folder))
            measures += lines
            timings |= {f"{name}: {stage}": s for stage, s in seconds.items()}
            left_out += notes
    leave("model_to_function", measures, timings, checks=checks, left_out=left_out)


if __name__ == "__main__":
    main()

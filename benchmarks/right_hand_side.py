"""One evaluation of the right-hand side: native code against CasADi's C, CasADi and interpreters.

Every candidate evaluates the same traced function on the same rows of generic states; times are
per row, loops included. Native code and C are called through the same loop on the same memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np

import casadi_c
import noslip as ns
from measuring import Measure, leave, shortest
from noslip.engines.program import interpret, interpret_rows

NUM_ROWS = 2000
NUM_CONFIGURATIONS = 100
FEW = 5  # rows for what takes long
TOLERANCE = 1e-9  # of an entry, relative to the largest of its row
HEALTHY = 0.05  # least value of what tells how well the speeds determine the motion
ROUNDS = 15
VIRTUAL_MACHINE = "CasADi's virtual machine"

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def generic_rows(system: ns.System) -> Rows:
    """Times, states on the constraints, inputs and nominal parameters.

    Places where the speeds nearly fail are left out: no two programs agree there in many digits.
    """
    kin, parameters = system.kinematics, system.parameters()
    rng = np.random.default_rng(1)
    found = kin.probe.configurations(NUM_CONFIGURATIONS)
    t, q = np.array([t for t, _ in found]), np.array([q for _, q in found])
    rest = np.zeros((len(q), system.num_states - q.shape[1]))
    rates = system.rates.map(
        t, np.hstack([q, rest]), np.zeros((len(q), len(system.inputs))), parameters
    )
    health = rates[:, system.num_states :]
    is_healthy = np.all(np.abs(health) >= HEALTHY, axis=1)
    t, q = t[is_healthy], q[is_healthy]
    repeat = -(-NUM_ROWS // len(q))
    x = rng.normal(size=(NUM_ROWS, system.num_states))
    x[:, : kin.num_coordinates] = np.tile(q, (repeat, 1))[:NUM_ROWS]
    u = rng.normal(size=(NUM_ROWS, len(system.inputs)))
    return np.tile(t, repeat)[:NUM_ROWS].copy(), x, u, parameters


def traced_function(system: ns.System) -> ca.Function:
    """The right-hand side as a CasADi function of t, x, u, p."""
    symbols = system.kinematics.symbols
    inputs = [symbols.t, system.state, system.equations.inputs, symbols.params]
    return ca.Function("rates", inputs, [ca.densify(system.rates_expression)])


def loop_call(loop: Callable[..., None], rows: Rows, out: np.ndarray) -> Callable[[], None]:
    """A call of a compiled loop on these rows, all of which share the parameters."""
    addresses = [table.ctypes.data for table in rows]
    return lambda: loop(NUM_ROWS, *addresses, 0, out.ctypes.data)


def virtual_machine_call(
    function: ca.Function, rows: Rows, out: np.ndarray
) -> tuple[Callable[[], None], object]:
    """A call of CasADi's own loop over CasADi's own evaluation, on these rows in place."""
    mapped = function.map("rows", "serial", NUM_ROWS, [3], [])
    buffer, call = mapped.buffer()
    for k, table in enumerate(rows):
        if table.size:
            buffer.set_arg(k, memoryview(table))
    buffer.set_res(0, memoryview(out))
    return call, (mapped, buffer)


def measure_model(name: str, folder: Path) -> tuple[list[Measure], dict[str, float], dict, list]:
    """Measures, times per row, differences and what was left out, for one model."""
    system = ns.compile(ns.derive(ns.load(name)))
    rows, function = generic_rows(system), traced_function(system)
    program = system.program("rates", system.rates_expression)
    few = (rows[0][:FEW], rows[1][:FEW], rows[2][:FEW], rows[3])
    answers = {k: np.zeros((NUM_ROWS, program.output_size)) for k in ("native", VIRTUAL_MACHINE)}
    calls: dict[str, Callable[[], object]] = {
        "native": loop_call(casadi_c.ROWS(system.rates.rows_address), rows, answers["native"])
    }
    left_out = []
    compilers = {f"gcc {' '.join(f)}": f for f in (casadi_c.OPTIMIZED, casadi_c.FAST_MATH)}
    for compiler, flags in compilers.items():
        try:
            library = casadi_c.build(casadi_c.c_text(function), folder, flags)
        except RuntimeError as error:
            left_out.append(f"right-hand side of {name} by {compiler}: {error}")
            continue
        answers[compiler] = np.zeros_like(answers["native"])
        calls[compiler] = loop_call(casadi_c.load_rows(library), rows, answers[compiler])
    calls[VIRTUAL_MACHINE], keep = virtual_machine_call(function, rows, answers[VIRTUAL_MACHINE])
    calls["interpreter, NumPy"] = lambda: interpret_rows(program, *rows)
    calls["interpreter"] = lambda: [
        interpret(program, few[0][k : k + 1], few[1][k], few[2][k], few[3]) for k in range(FEW)
    ]

    # every answer against the interpreter's, before any time is taken
    for call in calls.values():
        call()
    right = interpret_rows(program, *rows)
    answers["interpreter"] = np.vstack([calls["interpreter"](), right[FEW:]])
    scale = np.max(np.abs(right), axis=1, keepdims=True)
    checks = {k: float(np.max(np.abs(a - right) / scale)) for k, a in answers.items()}
    seconds = shortest(calls, rounds=ROUNDS)
    per_row = {k: s / (FEW if k == "interpreter" else NUM_ROWS) for k, s in seconds.items()}
    del keep

    measures = []
    for other in list(calls)[1:]:
        error = max(checks["native"], checks.get(other, 0.0))
        measures.append(
            Measure(
                what=f"right-hand side of {name}: native against {other}",
                value=per_row[other] / per_row["native"],
                at_least=1.0 if other in compilers else None,
                not_counted="" if error <= TOLERANCE else f"answers differ by {error:.1e}",
            )
        )
    return measures, per_row, checks, left_out


def main() -> None:
    measures, timings, checks, left_out = [], {}, {}, []
    with tempfile.TemporaryDirectory() as temporary:
        for k, name in enumerate(ns.MODELS):
            folder = Path(temporary) / str(k)
            folder.mkdir()
            lines, seconds, differences, notes = measure_model(name, folder)
            measures += lines
            timings |= {f"{name}: {candidate}": s for candidate, s in seconds.items()}
            checks |= {f"{name}: {candidate}": d for candidate, d in differences.items()}
            left_out += notes
    leave("right_hand_side", measures, timings, checks=checks, left_out=left_out)


if __name__ == "__main__":
    main()

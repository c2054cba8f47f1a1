"""CasADi: equations as its C code built by gcc, in a C loop, and CVODES on that code.

The equations are SymPy's, carried over to CasADi's graph and solved there, or noslip's, read from a
file that noslip wrote with CasADi.
"""

from __future__ import annotations

import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import sympy as sm

import kane_bicycle
from problems import DISK, DISKS, times
from worker import Job, serve

sys.path.insert(0, str(Path(__file__).parent.parent))
import casadi_c
import kane_disk

ROWS = 1000
FLAGS = {"plain": casadi_c.OPTIMIZED, "fast-math": casadi_c.FAST_MATH}
FOLDER = tempfile.TemporaryDirectory()
_WORDS: dict[str, Any] = {name: getattr(ca, name) for name in ("sin", "cos", "tan", "sqrt")}


def _matrix(rows: list) -> ca.SX:
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def to_casadi(arguments: tuple, expressions: tuple, values: list[ca.SX]) -> tuple[Any, ...]:
    """SymPy expressions of the arguments, at traced values."""
    words = _WORDS | {"ImmutableDenseMatrix": _matrix, "MutableDenseMatrix": _matrix}
    function = sm.lambdify(arguments, expressions, modules=[words], cse=True)
    return function(*[ca.vertsplit(value) for value in values])


def bicycle_rates(state: ca.SX, parameters: ca.SX) -> ca.SX:
    """d(states)/dt of the bicycle, by Kane's equations and CasADi's symbolic solve."""
    bicycle = _kane_bicycle()
    arguments = (bicycle.q + bicycle.u, bicycle.parameters)
    mass, forcing = to_casadi(arguments, (bicycle.mass, bicycle.forcing), [state, parameters])
    return ca.densify(ca.solve(ca.sparsify(mass), ca.sparsify(forcing)))


@cache
def _kane_bicycle() -> kane_bicycle.KaneBicycle:
    return kane_bicycle.derive_bicycle()


def bicycle_function() -> ca.Function:
    """The right-hand side as a function of t, x, u and p, with which all loops are called."""
    t, u = ca.SX.sym("t"), ca.SX.sym("u", 0)
    x = ca.SX.sym("x", kane_bicycle.NUM_STATES)
    p = ca.SX.sym("p", len(_kane_bicycle().parameters))
    return ca.Function("rates", [t, x, u, p], [bicycle_rates(x, p)])


def bicycle_build() -> Job:
    """From nothing to gcc's library: KanesMethod, CasADi's graph, its C code and gcc -O3."""

    def build() -> Path:
        _kane_bicycle.cache_clear()
        sm.core.cache.clear_cache()
        text = casadi_c.c_text(bicycle_function())
        return casadi_c.build(text, Path(FOLDER.name), FLAGS["plain"])

    loop = casadi_c.load_rows(build())
    state, values = kane_bicycle.published_state(), _kane_bicycle().values
    out = np.zeros(kane_bicycle.NUM_STATES)
    t, u = np.zeros(1), np.zeros(1)
    loop(1, *(array.ctypes.data for array in (t, state, u, values)), 0, out.ctypes.data)
    return Job(call=build, answer=kane_bicycle.accelerations(out))


def bicycle_rhs(flags: str) -> Job:
    """One evaluation of SymPy's equations in a C loop."""
    values, state = _kane_bicycle().values, kane_bicycle.published_state()
    job = rows_job(bicycle_function(), flags, 0.0, state, np.zeros(0), values)
    answer = kane_bicycle.accelerations(np.array(job.answer))
    return Job(call=job.call, pieces=job.pieces, answer=answer, notes=job.notes)


def given_rhs(file: str, flags: str, t: float, x: list, u: list, p: list) -> Job:
    """One evaluation of a function of t, x, u and p that was saved, in a C loop."""
    vectors = (np.array(vector, dtype=float) for vector in (x, u, p))
    return rows_job(ca.Function.load(file), flags, t, *vectors)


def rows_job(
    function: ca.Function, flags: str, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray
) -> Job:
    """A call of a C loop over rows of one state; the answer is the first row's."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    loop = casadi_c.load_rows(casadi_c.build(casadi_c.c_text(function), folder, FLAGS[flags]))
    tables = [np.full(ROWS, t), np.tile(x, (ROWS, 1)), np.tile(u, (ROWS, 1)), p.copy()]
    out = np.zeros((ROWS, function.numel_out(0)))
    keep = (loop, tables, out)

    def call() -> None:
        loop, tables, out = keep
        loop(ROWS, *(table.ctypes.data for table in tables), 0, out.ctypes.data)

    call()
    notes = {"operations": int(function.n_instructions())}
    return Job(call=call, pieces=ROWS, answer=out[0].tolist(), notes=notes)


def bicycle_path(tolerance: float, samples: int) -> Job:
    """Ten seconds of the bicycle with CVODES."""
    places = slice(kane_bicycle.NUM_STATES, None)
    return path_job(_bicycle_code(), kane_bicycle.start_state(), tolerance, samples, places, -1.0)


@cache
def _bicycle_code() -> ca.Function:
    """Rates of the states and of the rear contact, the parameters folded in."""
    state = ca.SX.sym("x", kane_bicycle.NUM_STATES + 2)
    inner = bicycle_rates(state[: kane_bicycle.NUM_STATES], ca.DM(_kane_bicycle().values))
    speed = kane_bicycle.contact_speed(state)
    return _code(state, ca.vertcat(inner, speed * ca.cos(state[0]), speed * ca.sin(state[0])))


def disk_path(start: str, tolerance: float, samples: int) -> Job:
    """Ten seconds of a disk with CVODES."""
    begin = DISKS[start]
    yaw_rate, tilt_rate, spin_rate = begin.rates
    first = kane_disk.start_state(begin.tilt, yaw_rate, tilt_rate, spin_rate)
    return path_job(_disk_code(), first, tolerance, samples, kane_disk.CONTACT, 1.0)


@cache
def _disk_code() -> ca.Function:
    """Rates of the states, the accelerations solved for in CasADi's graph."""
    disk = kane_disk.derive_disk()
    state = ca.SX.sym("x", len(disk.states))
    values = ca.DM([DISK[name] for name in kane_disk.PARAMETERS])
    expressions = (sm.Matrix(disk.kinematics), disk.mass, disk.forcing)
    arguments = (disk.states, disk.parameters)
    kinematics, mass, forcing = to_casadi(arguments, expressions, [state, ca.SX(values)])
    return _code(state, ca.vertcat(kinematics, ca.solve(mass, forcing)))


def _code(state: ca.SX, rates: ca.SX) -> ca.Function:
    """gcc's code of a function of the state."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    generator = ca.CodeGenerator("rates")
    generator.add(ca.Function("rates", [state], [ca.densify(rates)]))
    library = casadi_c.build(generator.dump(), folder, FLAGS["fast-math"])
    return ca.external("rates", str(library), {"enable_fd": True})


def path_job(
    code: ca.Function,
    first: np.ndarray,
    tolerance: float,
    samples: int,
    place: slice,
    sign: float,
) -> Job:
    """Integration with CVODES (Adams, functional iteration) on gcc's code."""
    x = ca.MX.sym("x", len(first))
    options = {
        **{"abstol": tolerance, "reltol": tolerance, "max_num_steps": 1_000_000},
        **{"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"},
    }
    problem, grid = {"x": x, "ode": code(x)}, times(samples)
    integrator = ca.integrator("run", "cvodes", problem, grid[0], grid[1:], options)

    def call() -> Any:
        return integrator(x0=first)["xf"]

    states = np.vstack([first, np.array(call()).T])
    return Job(call=call, answer=(states[:, place] * [1.0, sign]).tolist())


if __name__ == "__main__":
    works = (bicycle_build, bicycle_rhs, given_rhs, bicycle_path, disk_path)
    serve({work.__name__: work for work in works}, ("casadi", "sympy", "numpy"))

"""SymPy: KanesMethod, lambdify, and SciPy's integrators on the lambdified right-hand side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sm
from scipy.integrate import solve_ivp
from sympy.core.cache import clear_cache

import kane_bicycle
from problems import DISK, DISKS, DURATION, times
from worker import Job, serve

sys.path.insert(0, str(Path(__file__).parent.parent))
import kane_disk

CALLS = 200

Rates = Callable[[np.ndarray], np.ndarray]


def bicycle_rates(bicycle: kane_bicycle.KaneBicycle) -> Rates:
    """Mass matrix and forcing lambdified, and solved at each call."""
    function = sm.lambdify(
        (bicycle.q + bicycle.u, bicycle.parameters), (bicycle.mass, bicycle.forcing), cse=True
    )
    values = bicycle.values

    def rates(state: np.ndarray) -> np.ndarray:
        mass, forcing = function(state, values)
        return np.linalg.solve(mass, forcing[:, 0])

    return rates


@cache
def _bicycle_rates() -> Rates:
    return bicycle_rates(kane_bicycle.derive_bicycle())


def bicycle_build(solver: str) -> Job:
    """From nothing to the lambdified right-hand side."""

    def build() -> Rates:
        return bicycle_rates(kane_bicycle.derive_bicycle(solver))

    found = build()(kane_bicycle.published_state())
    return Job(call=build, before=clear_cache, answer=kane_bicycle.accelerations(found))


def bicycle_rhs() -> Job:
    """One evaluation, from Python."""
    rates, state = _bicycle_rates(), kane_bicycle.published_state()

    def call() -> None:
        for _ in range(CALLS):
            rates(state)

    answer = kane_bicycle.accelerations(rates(state))
    return Job(call=call, pieces=CALLS, answer=answer)


def bicycle_path(tolerance: float, samples: int, method: str, rates: Rates | None = None) -> Job:
    """Ten seconds with SciPy, the rear contact integrated beside the states."""
    inner = rates or _bicycle_rates()
    size = kane_bicycle.NUM_STATES

    def whole(t: float, state: np.ndarray) -> np.ndarray:
        out = np.empty(size + 2)
        out[:size] = inner(state[:size])
        speed = kane_bicycle.contact_speed(state)
        out[size:] = speed * np.cos(state[0]), speed * np.sin(state[0])
        return out

    options = {"method": method, "t_eval": times(samples), "rtol": tolerance, "atol": tolerance}
    return path_job(whole, kane_bicycle.start_state(), options, slice(size, None), -1.0)


def disk_path(start: str, tolerance: float, samples: int, method: str, solved: bool = False) -> Job:
    """Ten seconds of a disk with SciPy; `solved`: accelerations solved for in symbols once."""
    begin = DISKS[start]
    yaw_rate, tilt_rate, spin_rate = begin.rates
    first = kane_disk.start_state(begin.tilt, yaw_rate, tilt_rate, spin_rate)
    options = {"method": method, "t_eval": times(samples), "rtol": tolerance, "atol": tolerance}
    return path_job(_disk_rates(solved), first, options, kane_disk.CONTACT, 1.0)


@cache
def _disk_rates(solved: bool) -> kane_disk.Rates:
    values = tuple(DISK[name] for name in kane_disk.PARAMETERS)
    disk = kane_disk.derive_disk()
    return disk.solved(values, "math") if solved else disk.solving(values)


def path_job(
    rates: Callable[[float, np.ndarray], object],
    first: np.ndarray,
    options: Mapping[str, object],
    place: slice,
    sign: float,
) -> Job:
    """Integration with SciPy; the contact point at the samples with y to the left."""

    def call() -> Any:
        return solve_ivp(rates, (0.0, DURATION), first, **options)

    found = call()
    path = found.y[place].T * [1.0, sign]
    return Job(call=call, answer=path.tolist(), notes={"evaluations": int(found.nfev)})


if __name__ == "__main__":
    works = (bicycle_build, bicycle_rhs, bicycle_path, disk_path)
    serve({work.__name__: work for work in works}, ("sympy", "scipy", "numpy"))

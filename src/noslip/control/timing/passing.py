"""When a timing law passes the places at which a path is not smooth.

A law that does not look at the curvature is integrated over time, and s(t) is inverted at the
breaks; one that does, over the path from break to break:

    (1)  ds/dt = speed(t, s)
    (2)  dt/dp = |r'(p)| / speed(t, s, κ(p)),   ds/dp = |r'(p)|

A motion chooses the piece of its path by these times, and steps of a simulation end on them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from noslip.control.paths.base import AbstractPath, Array, curvature, stretch
from noslip.control.paths.panels import arc_table
from noslip.control.timing.laws import AbstractTiming

_ACCURACY = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}


@lru_cache(maxsize=64)
def passing_times(timing: AbstractTiming, path: AbstractPath) -> tuple[float, ...]:
    """Times in s at which the inner breaks of `path` are passed; fewer if `timing` stops before."""
    if len(path.breaks) <= 2:
        return ()
    t, s, bend = (ca.SX.sym(name) for name in ("t", "s", "bend"))
    speed = ca.SX(timing.speed(t, s, bend, float(arc_table(path).s[-1])))
    law = ca.Function("speed", [t, s, bend], [ca.densify(speed)])
    along = _over_path if ca.depends_on(speed, bend) else _over_time
    return tuple(along(law, timing, path))


def _over_time(law: ca.Function, timing: AbstractTiming, path: AbstractPath) -> list[float]:
    """(1), inverted at the breaks."""

    def rate(t: float, s: Array) -> Array:
        return np.asarray(law(t, s, 0.0)).ravel()

    goals = list(arc_table(path).arc_length(np.array(path.breaks[1:-1])))
    end = timing.duration(path)
    start, times = np.zeros(1), []
    for before, after in pairwise([0.0, *(k for k in timing.knots(path) if 0 < k < end), end]):
        run = solve_ivp(rate, (before, after), start, dense_output=True, **_ACCURACY)
        start = run.y[:, -1]
        while goals and goals[0] <= start[0]:
            goal, at = goals.pop(0), run.sol
            k = int(np.searchsorted(run.y[0], goal))
            first, last = float(run.t[max(k - 1, 0)]), float(run.t[k])
            # dense output meets its step at both ends only to rounding
            if at(first)[0] < goal < at(last)[0]:
                last = brentq(lambda t, at=at, goal=goal: at(t)[0] - goal, first, last)
            times.append(last)
    return times


def _over_path(law: ca.Function, timing: AbstractTiming, path: AbstractPath) -> list[float]:
    """(2), from break to break; nothing is known of laws that come to rest on the way."""
    t, s, p = (ca.SX.sym(name) for name in ("t", "s", "p"))
    pace = stretch(path, p)
    both = ca.vertcat(pace / law(t, s, curvature(path, p)), pace)
    rates = ca.Function("rates", [p, ca.vertcat(t, s)], [ca.densify(both)])

    def rate(p: float, x: Array) -> Array:
        return np.asarray(rates(p, x)).ravel()

    x, times = np.zeros(2), []
    for a, b in pairwise(path.breaks[:-1]):
        # a hair inside, so that the curvature is that of this piece
        hair = 1e-12 * (b - a)
        if not np.all(np.isfinite(rate(a + hair, x))):
            return []
        x = solve_ivp(rate, (a + hair, b - hair), x, **_ACCURACY).y[:, -1]
        times.append(float(x[0]))
    return times

"""What is known of any path: its length, the place of a given length, samples of equal distance.

What is known at a parameter, traced (`tangent`, `heading`, `curvature`, `curvature_rate`,
`stretch`), is computed in ``base.py`` and can be had here, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.control.paths.base import AbstractPath as AbstractPath
from noslip.control.paths.base import Array as Array
from noslip.control.paths.base import curvature as curvature
from noslip.control.paths.base import curvature_rate as curvature_rate
from noslip.control.paths.base import heading as heading
from noslip.control.paths.base import stretch as stretch
from noslip.control.paths.base import tangent as tangent
from noslip.control.paths.panels import arc_table, evaluate, where, wrap
from noslip.errors import SimulationError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathSamples:
    """A path at places of equal distance along it.

    Parameters
    ----------
    parameter : (n,) the path's own.
    arc_length : (n,) from the start, m.
    x, y : (n,) m.
    heading : (n,) rad, without jumps: it goes on beyond π.
    curvature : (n,) 1/m, positive to the left.
    curvature_rate : (n,) dκ/ds, 1/m².
    """

    parameter: Array
    arc_length: Array
    x: Array
    y: Array
    heading: Array
    curvature: Array
    curvature_rate: Array


def length(path: AbstractPath) -> float:
    """The length of `path` in m, to about 12 digits.

    Raises
    ------
    SimulationError : the path has a cusp, a corner, or an unbounded curvature; it says where.
    """
    return float(arc_table(path).s[-1])


def parameter_at(path: AbstractPath, arc_length: ArrayLike) -> Array:
    """The parameter of `path` at each `arc_length` (m, from its start), in the same shape."""
    table = arc_table(path)
    s = np.asarray(arc_length, dtype=float)
    whole = table.s[-1]
    if np.any(~np.isfinite(s) | (s < -1e-9 * whole) | (s > (1 + 1e-9) * whole)):
        worst = s.flat[int(np.argmax(np.where(np.isfinite(s), np.abs(s - whole / 2), np.inf)))]
        raise SimulationError(
            f"arc length {worst:g} m is not on the path, which is {whole:.9g} m long",
            f"parameter_at({type(path).__name__}, …)",
            "give arc lengths from 0 to length(path)",
        )
    return table.parameter(s.ravel()).reshape(s.shape)


def sample(path: AbstractPath, count: int) -> PathSamples:
    """`path` at `count` places of equal distance along it, both ends among them."""
    if count < 2:
        raise SimulationError(
            f"the number of samples asked for is {count}, at least 2 are needed",
            f"sample({type(path).__name__}, count=…)",
            "give count=2 or more",
        )
    s = np.linspace(0.0, length(path), count)
    return samples_at(path, parameter_at(path, s), s)


def samples_at(path: AbstractPath, p: Array, s: Array) -> PathSamples:
    """What is known of a path at parameters whose arc lengths are known."""
    rows = evaluate(_everything(path), p)
    for k, name in ((3, "curvature"), (4, "curvature rate")):
        if not np.all(np.isfinite(rows[k])):
            at = int(np.argmin(np.isfinite(rows[k])))
            raise SimulationError(
                f"the {name} of the path is not finite",
                where(path, p[at], s[at]),
                "start or end the path short of this place, or write it differently there",
            )
    return PathSamples(
        parameter=p,
        arc_length=s,
        x=rows[0],
        y=rows[1],
        heading=_unwrapped(rows[2], arc_table(path).turned(p)),
        curvature=rows[3],
        curvature_rate=rows[4],
    )


@lru_cache(maxsize=64)
def _everything(path: AbstractPath) -> ca.Function:
    p = ca.SX.sym("p")
    rows = (path.position(p), heading(path, p), curvature(path, p), curvature_rate(path, p))
    return ca.Function("samples", [p], [ca.densify(ca.vertcat(*rows))])


def _unwrapped(wrapped: Array, near: Array) -> Array:
    return near + wrap(wrapped - near)

"""Smoothness of a path: jumps of its curvature and of derivatives of it by arc length.

A vehicle that turns by its wheels needs a continuous curvature; a motor that steers cannot follow a
jump of the curvature's rate, and a hitch on the axle asks for one derivative more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.control.paths.arc_length import arc_table, evaluate
from noslip.control.paths.base import AbstractPath, derivatives

#: Jump of the curvature, 1/m, that is taken for rounding.
CONTINUOUS = 1e-5
#: The same for its derivatives, as a part of the largest on the path.
ROUNDING = 1e-5


class CurvatureJump(NamedTuple):
    """A place where the curvature or a derivative of it jumps.

    Parameters
    ----------
    arc_length : m from the start.
    order : 0 for the curvature, 1 for its rate with arc length, and so on.
    size : of the jump, 1/m to the power of `order` + 1.
    """

    arc_length: float
    order: int
    size: float

    @property
    def name(self) -> str:
        """Name of the quantity that jumps."""
        return ("the curvature", "the curvature's rate", "the curvature's second derivative")[
            min(self.order, 2)
        ]

    @property
    def unit(self) -> str:
        """Unit of the jump."""
        return "1/m" if self.order == 0 else f"1/m^{self.order + 1}"


@lru_cache(maxsize=64)
def curvature_jumps(path: AbstractPath, order: int) -> list[CurvatureJump]:
    """Jumps at the breaks of a path, the lowest derivative that jumps at each.

    Parameters
    ----------
    path : with pieces.
    order : of the highest derivative that is looked at, 0 for the curvature alone; −1: none.

    At a cusp a vehicle drives the other way, and s with it: its curvature is −κ, and the n-th
    derivative changes by (−1)ⁿ⁺¹.
    """
    breaks = np.array(path.breaks)
    if order < 0 or len(breaks) <= 2:
        return []
    p = ca.SX.sym("p")
    bend = path.bend_near(p, p)
    if bend is None:
        _, r1, r2, _ = derivatives(path, p)
        pace = ca.norm_2(r1)
        rows = [(r1[0] * r2[1] - r1[1] * r2[0]) / pace**3]
    else:
        pace, rows = ca.SX(1), [bend]
    for _ in range(order):
        rows.append(ca.jtimes(rows[-1], p, ca.SX(1)) / pace)
    function = ca.Function("curvature", [p], [ca.densify(ca.vertcat(*rows))])
    inner, widths = breaks[1:-1], np.diff(breaks)
    before = evaluate(function, inner - 1e-9 * widths[:-1])
    after = evaluate(function, inner + 1e-9 * widths[1:])
    within = breaks[:-1, None] + widths[:, None] * np.linspace(0.1, 0.9, 9)
    middle = evaluate(function, within.ravel())
    largest = np.max(np.abs(np.hstack([before, after, middle])), axis=1)
    bounds = np.maximum(CONTINUOUS if order == 0 else 1e-9, ROUNDING * largest)
    bounds[0] = CONTINUOUS
    turned = np.isin(inner, path.cusps)
    signs = (-1.0) ** (np.arange(order + 1) + 1)
    after[:, turned] *= signs[:, None]
    places = arc_table(path).arc_length(inner)
    found = []
    for k, place in enumerate(places.tolist()):
        gaps = after[:, k] - before[:, k]
        jumping = np.flatnonzero(np.abs(gaps) > bounds)
        if jumping.size:
            found.append(CurvatureJump(place, int(jumping[0]), float(gaps[jumping[0]])))
    return found

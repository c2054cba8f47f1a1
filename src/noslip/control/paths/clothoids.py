"""Paths whose curvature is linear in arc length, piece by piece: clothoids and blended polylines.

Each piece is expanded about its middle, v the arc length from there. With the heading
θ + κ v + c v²/2, the displacement in the frame of the middle is the Fresnel-like integral

    (1)  F(v) = ∫₀ᵛ E(w) dw,   E(w) = exp i(κ w + c w²/2),   E' = i (κ + c w) E

whose Taylor terms T_n = e_n vⁿ follow from the differential equation,

    (2)  T_{n+1} = i (κ v T_n + c v² T_{n−1}) / (n + 1),   F = v Σ T_n / (n + 1)

Pieces are so short that |κ| v + |c| v²/2 ≤ TURN, where the series ends below rounding, also after
three differentiations. Straight lines and circular arcs are pieces too, so that one evaluation of
(2) serves all of them and only six numbers are selected; the parameter is arc length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from noslip.control.forms import Angle, PerMeter
from noslip.control.paths.base import (
    AbstractPath,
    Array,
    Point,
    check_fields,
    distinct,
    number,
    place,
    point,
    points,
    positive,
)
from noslip.control.paths.selection import look_up
from noslip.errors import SimulationError, nearest

TURN = 0.8  # rad, from the middle of a piece to its end
#: Pieces of a path; each is a row of numbers in compiled code.
MAX_PIECES = 2000
TERMS = 19  # of the series: 0.8¹⁹/19! < 1e-18

#: A stretch of the path: its length, and its curvature at both ends.
Stretch = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clothoid(AbstractPath):
    """A curve whose curvature goes linearly from one value to another over `length` meters.

    It begins at `start` with the heading `start_heading` in rad.
    """

    word = "clothoid"
    typical = {"start_curvature": 0.0, "end_curvature": 0.25, "length": 20.0}
    ranges = {"start_curvature": (-0.5, 0.5), "end_curvature": (-0.5, 0.5)}

    start_curvature: PerMeter
    end_curvature: PerMeter
    length: float
    start: Point = (0.0, 0.0)
    start_heading: Angle = 0.0

    def __post_init__(self) -> None:
        check_fields(
            self,
            start_curvature=number,
            end_curvature=number,
            length=positive,
            start=point,
            start_heading=number,
        )
        self._check_size()

    def _check_size(self) -> None:
        """Refuse a curve of too many pieces before they are made."""
        curvatures = abs(self.start_curvature), abs(self.end_curvature)
        rate = abs(self.end_curvature - self.start_curvature) / self.length
        num = _num_pieces(self.length, max(curvatures), rate)
        if num > MAX_PIECES:
            turned = self.length * sum(curvatures) / 2
            raise SimulationError(
                f"the clothoid turns by about {turned:.3g} rad, which takes {num:.3g} pieces; at "
                f"most {MAX_PIECES} are compiled",
                "Clothoid(length=…, start_curvature=…, end_curvature=…)",
                "give a shorter one, or smaller curvatures, in 1/m",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the arc length p."""
        return _position(p, p, *self._pieces())

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end; pieces of a clothoid join smoothly."""
        return 0.0, self.length

    def _pieces(self) -> tuple[tuple[float, ...], Array]:
        stretch = (self.length, self.start_curvature, self.end_curvature)
        return _pieces((stretch,), self.start, self.start_heading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline(AbstractPath):
    """Straight lines through `points` with rounded corners; the parameter is arc length.

    Parameters
    ----------
    points : (n, 2) corners, the first and the last being the ends.
    radius : of the sharpest place of each corner, m.
    blend : ``circle``, whose curvature jumps, or ``clothoid``, two clothoids whose curvature rises
        from zero to 1/radius and falls again.
    """

    word = "polyline"

    points: tuple[Point, ...]
    radius: float
    blend: str = "circle"

    def __post_init__(self) -> None:
        check_fields(self, points=points, radius=positive)
        distinct(self.points, "points", "Polyline")
        if self.blend not in ("circle", "clothoid"):
            raise SimulationError(
                f"a corner cannot be blended by '{self.blend}'",
                "Polyline(blend=…)",
                nearest(self.blend, ("circle", "clothoid")),
            )
        _stretches(self.points, self.radius, self.blend)

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the arc length p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the arc length p of the line or blend that holds at `near`."""
        (x0, y0), (x1, y1) = self.points[:2]
        stretches = _stretches(self.points, self.radius, self.blend)
        pieces = _pieces(stretches, self.points[0], math.atan2(y1 - y0, x1 - x0))
        return _position(p, near, *pieces)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start, both ends of every blend (and its middle, for clothoids), the end."""
        lengths = [s[0] for s in _stretches(self.points, self.radius, self.blend)]
        return tuple(float(s) for s in np.concatenate([[0.0], np.cumsum(lengths)]))


def _position(p: ca.SX, near: ca.SX, starts: Sequence[float], table: Array) -> ca.SX:
    middle, x, y, theta, kappa, rate = look_up(near, starts, table)
    along, across = fresnel(p - middle, kappa, rate)
    cos, sin = ca.cos(theta), ca.sin(theta)
    return ca.vertcat(x + cos * along - sin * across, y + sin * along + cos * across)


def fresnel(v: Any, kappa: Any, rate: Any) -> tuple[Any, Any]:
    """(1): displacement along and across the first tangent, for numbers or traced scalars."""
    turn, twist = kappa * v, rate * v * v
    before, now = (0.0, 0.0), (1.0, 0.0)
    along, across = 1.0, 0.0
    for n in range(1, TERMS + 1):
        re = turn * now[0] + twist * before[0]
        im = turn * now[1] + twist * before[1]
        before, now = now, (-im / n, re / n)  # (2)
        along = along + now[0] / (n + 1)
        across = across + now[1] / (n + 1)
    return v * along, v * across


@lru_cache(maxsize=64)
def _pieces(
    stretches: tuple[Stretch, ...], start: Point, heading: float
) -> tuple[tuple[float, ...], Array]:
    """Starts (n,) and, for each piece, its middle: arc length, x, y, θ, κ, c."""
    starts: list[float] = []
    rows: list[tuple[float, ...]] = []
    s, z, theta = 0.0, complex(*start), heading
    for whole, first, last in stretches:
        rate = (last - first) / whole
        num = _num_pieces(whole, max(abs(first), abs(last)), abs(rate))
        half = whole / num / 2
        for k in range(num):
            kappa = first + rate * (2 * k + 1) * half
            middle = theta + kappa * half - rate * half**2 / 2
            # from the start to the middle is minus the displacement back from the middle
            at = z - complex(*fresnel(-half, kappa, rate)) * _direction(middle)
            starts.append(s + 2 * k * half)
            rows.append((starts[-1] + half, at.real, at.imag, middle, kappa, rate))
            z = at + complex(*fresnel(half, kappa, rate)) * _direction(middle)
            theta = middle + kappa * half + rate * half**2 / 2
        s += whole
    return tuple(starts), np.array(rows)


def _num_pieces(whole: float, kappa: float, rate: float) -> int:
    """How many equal pieces keep |κ| v + |c| v²/2 ≤ TURN."""
    # the longest v, written so that neither κ nor c may vanish but both
    root = math.hypot(kappa, math.sqrt(2 * rate * TURN))
    return max(1, math.ceil(min(whole * (kappa + root) / (4 * TURN), 1e15)))


def _direction(angle: float) -> complex:
    return complex(math.cos(angle), math.sin(angle))


@lru_cache(maxsize=64)
def _stretches(corners: tuple[Point, ...], radius: float, blend: str) -> tuple[Stretch, ...]:
    """Lines and blends from corner to corner, after checking that they fit."""
    sides = [complex(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(corners)]
    turns = [_turn(sides[k], sides[k + 1]) for k in range(len(sides) - 1)]
    # a corner takes `cut` of the sides before and after it
    cuts = [0.0, *(_cut(corners[k + 1], turn, radius, blend) for k, turn in enumerate(turns)), 0.0]
    stretches: list[Stretch] = []
    for k, side in enumerate(sides):
        whole, taken = abs(side), cuts[k] + cuts[k + 1]
        if taken > whole * (1 + 1e-12):
            raise SimulationError(
                f"the side is {whole:.6g} m long, and the corners at its ends take {taken:.6g} m",
                f"Polyline, from points[{k}] {place(corners[k])} to points[{k + 1}] "
                f"{place(corners[k + 1])}",
                f"give a radius of at most {radius * whole / taken:.6g}, or move the points apart",
            )
        if whole - taken > 1e-12 * whole:
            stretches.append((whole - taken, 0.0, 0.0))
        if k < len(turns) and turns[k] != 0:
            kappa, turn = math.copysign(1 / radius, turns[k]), abs(turns[k])
            if blend == "circle":
                stretches.append((radius * turn, kappa, kappa))
            else:
                stretches += [(radius * turn, 0.0, kappa), (radius * turn, kappa, 0.0)]
    return tuple(stretches)


def _turn(before: complex, after: complex) -> float:
    """The angle from one side to the next; what is straight to rounding is straight."""
    ratio = after / before
    angle = math.atan2(ratio.imag, ratio.real)
    return 0.0 if abs(angle) < 1e-12 else angle


def _cut(corner: Point, turn: float, radius: float, blend: str) -> float:
    """The part of a side from the start of a blend to its corner, m."""
    if abs(turn) > math.pi - 1e-6:
        raise SimulationError(
            "the path turns back on itself",
            f"Polyline, at the corner {place(corner)}",
            "end the path there and drive back on another one",
        )
    if blend == "circle" or turn == 0:
        return radius * math.tan(abs(turn) / 2)
    # the corner lies on the bisector, which is normal to the path where both clothoids meet
    stretch = (radius * abs(turn), 0.0, 1 / radius)
    _, rows = _pieces((stretch,), (0.0, 0.0), 0.0)
    middle, x, y, theta, kappa, rate = rows[-1]
    end = complex(x, y)
    end += complex(*fresnel(stretch[0] - middle, kappa, rate)) * _direction(theta)
    return end.real + end.imag * math.tan(abs(turn) / 2)

"""Paths whose curvature is a polynomial of arc length by pieces: clothoids, blended polylines.

Each piece is expanded about its middle, v the arc length from there. With the curvature
κ(v) = a₀ + a₁ v + … + a_d v^d the displacement in the frame of the middle is the integral

    (1)  F(v) = ∫₀ᵛ E(w) dw,   E(w) = exp i ∫₀ʷ κ,   E' = i κ E

whose Taylor terms T_n = e_n vⁿ follow from the differential equation,

    (2)  T_{n+1} = i Σ_j a_j v^{j+1} T_{n−j} / (n + 1),   F = v Σ T_n / (n + 1)

Pieces are so short that the series ends below rounding, also after three differentiations: for a
clothoid |κ| v + |c| v²/2 ≤ TURN. Straight lines and circular arcs are pieces too, so that one
evaluation of (2) serves all of them and only a few numbers are selected; the parameter is arc
length, and curvature and heading are polynomials of it.

A corner is blended by the curvature

    (3)  κ = (4 u (1 − u))^{k+1} / radius,   0 ≤ u ≤ 1

k times continuously differentiable with the lines that it joins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

import casadi as ca
import numpy as np
from numpy.polynomial import Polynomial

from noslip.base import SimulationError, nearest
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
from noslip.control.paths.selection import look_up, polynomial
from noslip.model import Meaning

TURN = 0.8  # rad, from the middle of a piece to its end
#: Pieces of a path; each is a row of numbers in compiled code.
MAX_PIECES = 2000
TERMS = 19  # of the series: 0.8¹⁹/19! < 1e-18

SERIES = 1e-17  # size of what the series leaves out of pieces of a higher degree
#: Highest order of a blend: the degree of its curvature is 2 (order + 1).
MAX_ORDER = 8
#: A stretch of the path: its length, and its curvature as coefficients of powers of the part of it
#: from its middle, −½ to ½.
Stretch = tuple[float, tuple[float, ...]]


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

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """Curvature at the arc length p, a polynomial of it."""
        return _bend(p, near, *self._pieces())

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end; pieces of a clothoid join smoothly."""
        return 0.0, self.length

    def _pieces(self) -> tuple[tuple[float, ...], Array]:
        first, last = self.start_curvature, self.end_curvature
        bend = (first + last) / 2, last - first
        return pieces_of(((self.length, bend),), self.start, self.start_heading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline(AbstractPath):
    """Straight lines through `points` with rounded corners; the parameter is arc length.

    Parameters
    ----------
    points : (n, 2) corners, the first and the last being the ends.
    radius : of the sharpest place of each corner, m.
    blend : ``circle``, whose curvature jumps, ``clothoid``, two clothoids whose curvature rises
        from zero to 1/radius and falls again, or ``smooth``, by (3); ``auto``, a circle unless the
        vehicle that follows needs a smoother one.
    order : of a smooth blend: continuous derivatives of its curvature.
    """

    word = "polyline"

    points: tuple[Point, ...]
    radius: float
    blend: str = "auto"
    order: Annotated[int, Meaning(unit="1")] = 2

    def __post_init__(self) -> None:
        check_fields(self, points=points, radius=positive)
        distinct(self.points, "points", "Polyline")
        if self.blend not in BLENDS:
            raise SimulationError(
                f"a corner cannot be blended by '{self.blend}'",
                "Polyline(blend=…)",
                nearest(self.blend, BLENDS),
            )
        if self.order not in range(MAX_ORDER + 1):
            raise SimulationError(
                f"order is {self.order!r}, expected a whole number from 0 to {MAX_ORDER}",
                "Polyline(order=…)",
                "give order=2: a curvature with two continuous derivatives",
            )
        self._stretches()

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the arc length p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the arc length p of the line or blend that holds at `near`."""
        return _position(p, near, *self._pieces())

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """Curvature at the arc length p, a polynomial of it on each piece."""
        return _bend(p, near, *self._pieces())

    def of_order(self, order: int) -> Polyline:
        """With blends as smooth as is asked for, if that is left open."""
        if self.blend != "auto" or order < 0:
            return self
        return replace(self, blend="smooth", order=order)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start, both ends of every blend (and its middle, for clothoids), the end."""
        lengths = [s[0] for s in self._stretches()]
        return tuple(float(s) for s in np.concatenate([[0.0], np.cumsum(lengths)]))

    def _stretches(self) -> tuple[Stretch, ...]:
        return _stretches(self.points, self.radius, self.blend, self.order)

    def _pieces(self) -> tuple[tuple[float, ...], Array]:
        (x0, y0), (x1, y1) = self.points[:2]
        return pieces_of(self._stretches(), self.points[0], math.atan2(y1 - y0, x1 - x0))


#: How corners of a polyline may be rounded.
BLENDS = ("auto", "circle", "clothoid", "smooth")


def _position(p: ca.SX, near: ca.SX, starts: Sequence[float], table: Array) -> ca.SX:
    middle, x, y, theta, *bend = look_up(near, starts, table)
    along, across = displacement(p - middle, bend)
    cos, sin = ca.cos(theta), ca.sin(theta)
    return ca.vertcat(x + cos * along - sin * across, y + sin * along + cos * across)


def _bend(p: ca.SX, near: ca.SX, starts: Sequence[float], table: Array) -> ca.SX:
    middle, _, _, _, *bend = look_up(near, starts, table)
    return polynomial(p - middle, bend[::-1])


def bent_position(
    p: ca.SX, near: ca.SX, pieces: tuple[tuple[float, ...], Array]
) -> tuple[ca.SX, ca.SX]:
    """Position and curvature at p, of the piece that holds at `near`."""
    return _position(p, near, *pieces), _bend(p, near, *pieces)


def displacement(v: Any, bend: Any) -> tuple[Any, Any]:
    """(1): displacement along and across the first tangent, for numbers or traced scalars.

    Parameters
    ----------
    v : arc length.
    bend : a₀, a₁, …, of the curvature.
    """
    powers, power = [], v
    for a in bend:
        powers.append(a * power)
        power = power * v
    terms: list[tuple[Any, Any]] = [(1.0, 0.0)]
    along, across = 1.0, 0.0
    for n in range(1, TERMS + 1):
        re, im = 0.0, 0.0
        for a, (x, y) in zip(powers, reversed(terms), strict=False):
            re, im = re + a * x, im + a * y
        terms.append((-im / n, re / n))  # (2)
        terms = terms[-len(powers) :]
        along = along + terms[-1][0] / (n + 1)
        across = across + terms[-1][1] / (n + 1)
    return v * along, v * across


@lru_cache(maxsize=64)
def pieces_of(
    stretches: tuple[Stretch, ...], start: Point, heading: float
) -> tuple[tuple[float, ...], Array]:
    """Starts (n,) and, for each piece, its middle: arc length, x, y, θ, a₀, a₁, …."""
    starts: list[float] = []
    rows: list[tuple[float, ...]] = []
    size = max(2, *(len(bend) for _, bend in stretches))
    s, z, theta = 0.0, complex(*start), heading
    for whole, bend in stretches:
        kappa = Polynomial(bend, domain=(0.0, whole), window=(-0.5, 0.5))
        num = _pieces_of(whole, kappa)
        half = whole / num / 2
        for k in range(num):
            local = _shifted(kappa, (2 * k + 1) * half)
            turn = local.integ()
            middle = theta - float(turn(-half))
            # from the start to the middle is minus the displacement back from the middle
            at = z - complex(*displacement(-half, local.coef)) * _direction(middle)
            starts.append(s + 2 * k * half)
            padded = [*local.coef, *[0.0] * (size - len(local.coef))]
            rows.append((starts[-1] + half, at.real, at.imag, middle, *padded))
            z = at + complex(*displacement(half, local.coef)) * _direction(middle)
            theta = middle + float(turn(half))
        s += whole
    return tuple(starts), np.array(rows)


def _shifted(kappa: Polynomial, at: float) -> Polynomial:
    """A polynomial about another place."""
    terms = [kappa(at)]
    terms += [kappa.deriv(m)(at) / math.factorial(m) for m in range(1, len(kappa.coef))]
    return Polynomial([float(term) for term in terms])


def _terms(bend: Polynomial) -> list[float]:
    coefficients: Any = bend.coef
    return [float(c) for c in coefficients]


def _pieces_of(whole: float, kappa: Polynomial) -> int:
    """Number of equal pieces for which the series ends below rounding."""
    if len(kappa.coef) <= 2:
        first, last = abs(float(kappa(0.0))), abs(float(kappa(whole)))
        return _num_pieces(whole, max(first, last), abs(last - first) / whole)
    num = 1
    while num < MAX_PIECES:
        half = whole / num / 2
        if all(_left_out(_shifted(kappa, (2 * k + 1) * half), half) < SERIES for k in range(num)):
            return num
        num += 1
    return num


def _left_out(bend: Polynomial, v: float) -> float:
    """A bound of the terms of (2) beyond TERMS, three times differentiated, by positive numbers."""
    powers = [abs(a) * v ** (j + 1) for j, a in enumerate(_terms(bend))]
    terms = [1.0]
    for n in range(1, TERMS + 12):
        terms.append(sum(a * x for a, x in zip(powers, reversed(terms), strict=False)) / n)
    return sum(t * n**2 for n, t in enumerate(terms) if n > TERMS)


def _num_pieces(whole: float, kappa: float, rate: float) -> int:
    """Number of equal pieces that keep |κ| v + |c| v²/2 ≤ TURN."""
    # the longest v, written so that neither κ nor c may vanish but both
    root = math.hypot(kappa, math.sqrt(2 * rate * TURN))
    return max(1, math.ceil(min(whole * (kappa + root) / (4 * TURN), 1e15)))


def _direction(angle: float) -> complex:
    return complex(math.cos(angle), math.sin(angle))


@lru_cache(maxsize=64)
def _stretches(
    corners: tuple[Point, ...], radius: float, blend: str, order: int
) -> tuple[Stretch, ...]:
    """Lines and blends from corner to corner, after checking that they fit."""
    sides = [complex(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(corners)]
    turns = [_turn(sides[k], sides[k + 1]) for k in range(len(sides) - 1)]
    for k, turn in enumerate(turns):
        if abs(turn) > math.pi - 1e-6:
            raise SimulationError(
                "the path turns back on itself",
                f"Polyline, at the corner {place(corners[k + 1])}",
                "end the path there and drive back on another one",
            )
    blends = [_blend(turn, radius, blend, order) for turn in turns]
    # a corner takes `cut` of the sides before and after it
    cuts = [0.0, *(_cut(turn, parts) for turn, parts in zip(turns, blends, strict=True)), 0.0]
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
            stretches.append((whole - taken, (0.0,)))
        if k < len(turns):
            stretches += blends[k]
    return tuple(stretches)


def _turn(before: complex, after: complex) -> float:
    """The angle from one side to the next; what is straight to rounding is straight."""
    ratio = after / before
    angle = math.atan2(ratio.imag, ratio.real)
    return 0.0 if abs(angle) < 1e-12 else angle


def _blend(turn: float, radius: float, blend: str, order: int) -> list[Stretch]:
    """The segments that round a corner."""
    if turn == 0:
        return []
    kappa, angle = math.copysign(1 / radius, turn), abs(turn)
    if blend in ("auto", "circle"):
        return [(radius * angle, (kappa,))]
    if blend == "clothoid":
        return [(radius * angle, (kappa / 2, kappa)), (radius * angle, (kappa / 2, -kappa))]
    bump = Polynomial([1.0, 0.0, -4.0]) ** (order + 1)  # (3), about the middle
    area = float(bump.integ(lbnd=-0.5)(0.5))
    return [(radius * angle / area, tuple(kappa * c for c in _terms(bump)))]


def _cut(turn: float, parts: list[Stretch]) -> float:
    """The part of a side from the start of a blend to its corner, m."""
    if not parts:
        return 0.0
    if len(parts[0][1]) == 1:
        return math.tan(abs(turn) / 2) / abs(parts[0][1][0])
    # blends are symmetric: both ends are as far from the corner
    _, rows = pieces_of(tuple(parts), (0.0, 0.0), 0.0)
    whole = sum(part[0] for part in parts)
    middle, x, y, theta, *bend = rows[-1]
    end = complex(x, y) + complex(*displacement(whole - middle, bend)) * _direction(theta)
    # from the end back along the second side to the first one
    return float(abs(end.imag / math.sin(turn)))

"""Curves to follow: in closed form, through points, and by their curvature.

**Paths in closed form: line, circle, arc, ellipse, figure eight, catenary, sine.**

Their fields have one meaning everywhere: points and sizes in m, angles in rad from the x axis. What
is closed lies about its `center`, begins at its `start_angle` and goes `turns` times round,
counter-clockwise, to the left, unless `clockwise`.

:class:`Graph` and :class:`Parametric` are written as arithmetic, which is read, never run.

**Paths through or along given points: splines of any order and rational B-splines (NURBS).**

`path_from_csv` reads the points from a file: a header ``x,y``, then one point per line, in m.

**Paths whose curvature is a polynomial of arc length by pieces: clothoids, blended polylines.**

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import casadi as ca
import numpy as np
from numpy.polynomial import Polynomial

from noslip.base import Array, SimulationError, csv_rows, nearest, read_number, read_text
from noslip.control.path_geometry import (
    AbstractPath,
    Point,
    assign,
    check_fields,
    distinct,
    look_up,
    number,
    numbers,
    place,
    point,
    points,
    polynomial,
    positive,
)
from noslip.control.text_grammar import Angle, PerMeter, Pure, WaveNumber
from noslip.expressions import CONSTANTS, ExpressionError, evaluate, names_in, parse
from noslip.model import Meaning


@dataclass(frozen=True, slots=True)
class Line(AbstractPath):
    """The straight line from `start` to `end`; the parameter is arc length."""

    word = "line"

    start: Point
    end: Point

    def __post_init__(self) -> None:
        check_fields(self, start=point, end=point)
        if self.start == self.end:
            raise SimulationError(
                f"the line starts and ends at {place(self.start)}",
                "Line",
                "give two different points",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """Start + p (end − start)/|end − start|."""
        (x0, y0), (x1, y1), whole = self.start, self.end, self.breaks[1]
        return ca.vertcat(x0 + p * ((x1 - x0) / whole), y0 + p * ((y1 - y0) / whole))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, math.dist(self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle(AbstractPath):
    """A circle about `center`, from `start_angle`, `turns` times round; the parameter is the angle.

    It starts at center + radius (cos start_angle, sin start_angle), to the left unless `clockwise`.
    """

    word = "circle"
    typical = {"radius": 4.0}

    radius: float
    center: Point = (0.0, 0.0)
    start_angle: Angle = 0.0
    turns: Pure = 1.0
    clockwise: bool = False

    def __post_init__(self) -> None:
        check_fields(self, radius=positive, center=point, start_angle=number, turns=positive)

    def position(self, p: ca.SX) -> ca.SX:
        """Center + R (cos, sin) of the angle turned."""
        angle = _turned(self.start_angle, p, self.clockwise)
        return _around(self.center, self.radius, self.radius, angle)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc(AbstractPath):
    """An arc about `center` over `angle` rad, positive to the left; the parameter is arc length."""

    word = "arc"

    center: Point
    radius: float
    start_angle: Angle
    angle: Angle

    def __post_init__(self) -> None:
        check_fields(self, center=point, radius=positive, start_angle=number, angle=number)
        if self.angle == 0:
            raise SimulationError(
                "angle is 0, so the arc is a point", "Arc", "give an angle in rad: angle=1.57"
            )

    def position(self, p: ca.SX) -> ca.SX:
        """Center + R (cos, sin) of the angle turned."""
        angle = self.start_angle + p * math.copysign(1 / self.radius, self.angle)
        return _around(self.center, self.radius, self.radius, angle)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, self.radius * abs(self.angle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipse(AbstractPath):
    """An ellipse about `center`, `turns` times round; the parameter is the eccentric anomaly.

    It starts at center + (half_width cos start_angle, half_height sin start_angle), to the left
    unless `clockwise`.
    """

    word = "ellipse"
    typical = {"half_width": 6.0, "half_height": 3.0}

    half_width: float
    half_height: float
    center: Point = (0.0, 0.0)
    start_angle: Angle = 0.0
    turns: Pure = 1.0
    clockwise: bool = False

    def __post_init__(self) -> None:
        check_fields(
            self,
            half_width=positive,
            half_height=positive,
            center=point,
            start_angle=number,
            turns=positive,
        )

    def position(self, p: ca.SX) -> ca.SX:
        """Center + (a cos, b sin) of the anomaly."""
        angle = _turned(self.start_angle, p, self.clockwise)
        return _around(self.center, self.half_width, self.half_height, angle)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureEight(AbstractPath):
    """Gerono's lemniscate, from its crossing: x = a sin p, y = b sin 2p about the center.

    The eight lies along x, 2 a wide and 2 b high. The right loop comes first, clockwise; with
    b < 0, counter-clockwise.
    """

    word = "figure-eight"
    typical = {"half_width": 6.0, "half_height": 3.0}

    half_width: float
    half_height: float
    center: Point = (0.0, 0.0)
    turns: Pure = 1.0

    def __post_init__(self) -> None:
        check_fields(self, half_width=positive, half_height=number, center=point, turns=positive)
        if self.half_height == 0:
            raise SimulationError(
                "half_height is 0, so the path turns back on itself at its ends",
                "FigureEight",
                "give half_height a positive or a negative number",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """Center + (a sin p, b sin 2p)."""
        x, y = self.center
        return ca.vertcat(x + self.half_width * ca.sin(p), y + self.half_height * ca.sin(2 * p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Catenary(AbstractPath):
    """The catenary x = x0 cosh(y/x0) from its vertex (x0, 0); the parameter is arc length s.

    x = √(s² + x0²), y = x0 asinh(s/x0), κ = −x0/(s² + x0²) [AntunesSigaudMoraes2010].
    """

    word = "catenary"
    typical = {"x0": 10.0, "extent": 24.0}

    x0: float
    extent: float

    def __post_init__(self) -> None:
        check_fields(self, x0=positive, extent=positive)

    def position(self, p: ca.SX) -> ca.SX:
        """(√(s² + x0²), x0 asinh(s/x0))."""
        return ca.vertcat(ca.sqrt(p * p + self.x0**2), self.x0 * ca.asinh(p / self.x0))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The vertex and the end."""
        return 0.0, self.extent


@dataclass(frozen=True, slots=True, kw_only=True)
class Sine(AbstractPath):
    """y = amplitude · sin(wave_number · x) from x = 0 to `extent`; the parameter is x."""

    word = "sine"
    typical = {"amplitude": 2.0, "wave_number": 0.5, "extent": 24.0}

    amplitude: float
    wave_number: WaveNumber
    extent: float

    def __post_init__(self) -> None:
        check_fields(self, amplitude=number, wave_number=number, extent=positive)

    def position(self, p: ca.SX) -> ca.SX:
        """(x, A sin kx)."""
        return ca.vertcat(p, self.amplitude * ca.sin(self.wave_number * p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, self.extent


def _turned(start: float, p: ca.SX, clockwise: bool) -> ca.SX:
    return start - p if clockwise else start + p


def _around(center: Point, a: float, b: float, angle: ca.SX) -> ca.SX:
    return ca.vertcat(center[0] + a * ca.cos(angle), center[1] + b * ca.sin(angle))


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(AbstractPath):
    """y given as an expression of ``x`` from x = `start` to x = `end`; the parameter is x.

    With `end` below `start` the path runs in the direction of falling x.
    """

    word = "graph"

    y: str
    start: float
    end: float

    def __post_init__(self) -> None:
        _check(self.y, "x", "Graph(y=…)")
        assign(self, **_ends(self.start, self.end, "Graph"))

    def position(self, p: ca.SX) -> ca.SX:
        """(x, y(x))."""
        x = p if self.end > self.start else -p
        return ca.vertcat(x, _evaluate(self.y, "x", x))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end; x is −p where it falls."""
        return (self.start, self.end) if self.end > self.start else (-self.start, -self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parametric(AbstractPath):
    """x and y given as expressions of the parameter ``p`` from p = `start` to p = `end`."""

    word = "parametric"

    x: str
    y: str
    start: Pure
    end: Pure

    def __post_init__(self) -> None:
        _check(self.x, "p", "Parametric(x=…)")
        _check(self.y, "p", "Parametric(y=…)")
        assign(self, **_ends(self.start, self.end, "Parametric"))
        if self.end < self.start:
            raise SimulationError(
                f"the parameter falls from {self.start:g} to {self.end:g}",
                "Parametric(start=…, end=…)",
                "exchange start and end, and take reversed_path of the result",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """(x(p), y(p))."""
        return ca.vertcat(_evaluate(self.x, "p", p), _evaluate(self.y, "p", p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return self.start, self.end


def _ends(start: float, end: float, where: str) -> dict[str, float]:
    start, end = number(start, "start", where), number(end, "end", where)
    if start == end:
        raise SimulationError(
            f"the path starts and ends at {start:g}", where, "give start and end different values"
        )
    return {"start": start, "end": end}


def _evaluate(text: str, name: str, value: ca.SX) -> ca.SX:
    return ca.SX(evaluate(parse(text), {name: value}, ca))


def _check(text: str, name: str, where: str) -> None:
    """Refuse what cannot be read and names other than the one that is free."""
    if not isinstance(text, str):
        raise SimulationError(
            f"{text!r} is not text", where, f"write an expression of {name}: '0.5*sin({name})'"
        )
    try:
        tree = parse(text)
    except ExpressionError as error:
        raise SimulationError(
            f"expression '{text}' cannot be read: {error}",
            where,
            f"write arithmetic of {name}, such as '0.5*sin({name})'",
        ) from None
    unknown = sorted(names_in(tree) - {name} - set(CONSTANTS))
    if unknown:
        raise SimulationError(
            f"expression '{text}' uses '{unknown[0]}', which is not known",
            where,
            nearest(unknown[0], (name, *CONSTANTS)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spline(AbstractPath):
    """The spline through `points`, with continuous curvature.

    Its parameter is the length of the chords between the points. The ends are not curved; a
    `closed` spline goes on from the last point to the first, smoothly.
    """

    word = "spline"

    points: tuple[Point, ...]  #: (n, 2) m
    closed: bool = False  #: whether it goes on from the last point to the first
    #: continuous derivatives of the curvature: 0 is the cubic spline, 2 the one of degree five;
    #: None: cubic unless the vehicle that follows needs a smoother one
    order: Annotated[int | None, Meaning(unit="1")] = None

    def __post_init__(self) -> None:
        given = points(self.points, "points", "Spline", fewest=3 if self.closed else 2)
        distinct(given, "points", "Spline")
        if self.closed and given[0] == given[-1]:
            raise SimulationError(
                "the first and the last point coincide, and the spline is closed",
                "Spline(points=…, closed=True)",
                "leave out the last point",
            )
        if self.order is not None and self.order not in range(MAX_SPLINE_ORDER + 1):
            raise SimulationError(
                f"order is {self.order!r}, expected a whole number from 0 to {MAX_SPLINE_ORDER}",
                "Spline(order=…)",
                "give order=2: a curvature with two continuous derivatives",
            )
        assign(self, points=given)

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the chord length p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the chord length p of the cubic that holds at `near`."""
        starts, table = _polynomials(self.points, self.closed, self.order or 0)
        start, *c = look_up(near, starts[:-1], table)
        u, half = p - start, len(c) // 2
        return ca.vertcat(polynomial(u, c[:half]), polynomial(u, c[half:]))

    def of_order(self, order: int) -> Spline:
        """With a curvature as smooth as is asked for, if that is left open."""
        return self if self.order is not None or order <= 0 else replace(self, order=order)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The chord length at each point."""
        return _polynomials(self.points, self.closed, self.order or 0)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nurbs(AbstractPath):
    """A rational B-spline of control points; circles and other conics are exact."""

    word = "nurbs"

    points: tuple[Point, ...]  #: (n, 2) control points
    degree: Annotated[int, Meaning(unit="1")]  #: degree of the polynomials
    #: (n,) positive; all 1 if none are given
    weights: Annotated[tuple[float, ...], Meaning(unit="1")] = ()
    #: (n + degree + 1,) never falling; evenly spaced between repeated ends if none are given
    knots: Annotated[tuple[float, ...], Meaning(unit="1")] = ()

    def __post_init__(self) -> None:
        given = points(self.points, "points", "Nurbs")
        num, degree = len(given), int(number(self.degree, "degree", "Nurbs"))
        if degree != self.degree or not 1 <= degree < num:
            raise SimulationError(
                f"degree is {self.degree}, expected a whole number from 1 to {num - 1} for "
                f"{num} points",
                "Nurbs(degree=…)",
                "give degree=3, or add points",
            )
        weights = self.weights if len(self.weights) else (1.0,) * num
        inner = np.linspace(0.0, 1.0, num - degree + 1)
        knots = self.knots
        if not len(knots):
            knots = (*[0.0] * degree, *(float(k) for k in inner), *[1.0] * degree)
        for name, values, size in (("weights", weights, num), ("knots", knots, num + degree + 1)):
            if len(values) != size:
                raise SimulationError(
                    f"{len(values)} {name} are given, expected {size} for {num} points of degree "
                    f"{degree}",
                    f"Nurbs({name}=…)",
                    f"give {size} {name}, or none",
                )
        assign(
            self,
            points=given,
            degree=degree,
            weights=tuple(positive(w, f"weights[{k}]", "Nurbs") for k, w in enumerate(weights)),
            knots=numbers(knots, "knots", "Nurbs"),
        )
        self._check_knots()

    def _check_knots(self) -> None:
        u, d = self.knots, self.degree
        for k in range(1, len(u)):
            if u[k] < u[k - 1]:
                raise SimulationError(
                    f"knots[{k}] is {u[k]:g}, less than the one before it, {u[k - 1]:g}",
                    "Nurbs(knots=…)",
                    "sort the knots",
                )
        # inside, a knot of multiplicity d leaves a corner at most, of d + 1 a gap
        for k in range(1, len(u) - d - 1):
            if u[k] == u[k + d] and u[d] < u[k] < u[-d - 1]:
                raise SimulationError(
                    f"knot {u[k]:g} is given more than {d} times, so the path jumps there",
                    "Nurbs(knots=…)",
                    f"give each inner knot at most {max(1, d - 1)} times",
                )
        if u[d] == u[-d - 1]:
            raise SimulationError(
                f"all knots from knots[{d}] to knots[{len(u) - d - 1}] are {u[d]:g}",
                "Nurbs(knots=…)",
                "give increasing knots",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the parameter p: weighted polynomials over the polynomial of the weights."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the parameter p of the rational that holds at `near`."""
        starts, table = _rationals(self)
        start, *c = look_up(near, starts[:-1], table)
        u, n = p - start, self.degree + 1
        x, y, w = (polynomial(u, c[k * n : (k + 1) * n]) for k in range(3))
        return ca.vertcat(x / w, y / w)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The different knots between the ends."""
        return _rationals(self)[0]


#: Highest order of a spline: beyond, points that are not evenly spaced make it swing.
MAX_SPLINE_ORDER = 6


@lru_cache(maxsize=64)
def _polynomials(
    given: tuple[Point, ...], closed: bool, order: int
) -> tuple[tuple[float, ...], Array]:
    """Parameters (n + 1,) of the points; starts and coefficients (n, 1 + 2 (d + 1)) of x, then y.

    Interpolating splines have an odd degree d = 2 m + 1 and 2 m continuous derivatives, which makes
    2 m − 2 of the curvature. At an end the derivatives 2 to m + 1 vanish: it is not curved, and
    steering starts there at rest.
    """
    from scipy.interpolate import CubicSpline, make_interp_spline

    corners = np.array([*given, given[0]] if closed else given)
    chord = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    m = 1 + -(-order // 2)
    if m == 1:
        c = CubicSpline(chord, corners, bc_type="periodic" if closed else "natural").c
    else:
        ends = [(j, np.zeros(2)) for j in range(2, m + 2)]
        spline = make_interp_spline(
            chord, corners, k=2 * m + 1, bc_type="periodic" if closed else (ends, ends)
        )
        c = np.stack([_coefficients(spline, chord, k) for k in range(2)], axis=2)
    table = np.column_stack([chord[:-1], c[:, :, 0].T, c[:, :, 1].T])
    return tuple(float(s) for s in chord), table


def _coefficients(spline: Any, chord: Array, k: int) -> Array:
    """(d + 1, n) coefficients of one coordinate between the points, the highest power first."""
    from scipy.interpolate import PPoly

    pieces = PPoly.from_spline((spline.t, spline.c[:, k], spline.k))
    terms = [pieces(chord[:-1], nu=j) / math.factorial(j) for j in range(spline.k, -1, -1)]
    return np.stack(terms)


@lru_cache(maxsize=64)
def _rationals(path: Nurbs) -> tuple[tuple[float, ...], Array]:
    """Breaks (n + 1,); starts and coefficients (n, 1 + 3 (degree + 1)) of w x, w y and w."""
    from scipy.interpolate import BSpline

    w, u, d = np.array(path.weights), np.array(path.knots), path.degree
    weighted = np.column_stack([np.array(path.points) * w[:, None], w])
    # of the empty intervals between repeated knots nothing is kept
    used = [k for k in range(d, len(u) - d - 1) if u[k] < u[k + 1]]
    starts = u[used]
    # Taylor coefficients at the start of each interval, the highest first
    spline = BSpline(u, weighted, d)
    terms = [spline(starts, nu=m) / math.factorial(m) for m in range(d, -1, -1)]
    table = np.column_stack([starts, *(np.stack(terms)[:, :, k].T for k in range(3))])
    return (*(float(p) for p in starts), float(u[used[-1] + 1])), table


_EXAMPLE = "write the header x,y and then one point per line, in m, such as 0.5,1.2"
#: Bytes and points of a file of way-points.
MAX_BYTES, MAX_POINTS = 2_000_000, 10_000


def path_from_csv(file: str | Path) -> Spline:
    """The spline through the way-points of a `file`: a header ``x,y``, then a point a line, in m.

    Raises
    ------
    SimulationError : the file cannot be read; it names the line.
    """
    fix = f"give a CSV file with the columns x and y and at most {MAX_POINTS} way-points"
    text = read_text(file, SimulationError, fix, max_bytes=MAX_BYTES)
    rows = csv_rows(text, str(file), SimulationError, _EXAMPLE)
    where, header = next(rows, (f"{file}, line 1", []))
    if [name.strip() for name in header] != ["x", "y"]:
        shown = ",".join(header)[:60]
        raise SimulationError(f"the header is '{shown}', expected 'x,y'", where, _EXAMPLE)
    points: list[Point] = []
    for where, row in rows:
        if len(row) != 2:
            raise SimulationError(f"the line has {len(row)} values, expected 2", where, _EXAMPLE)
        x, y = (
            read_number(field, name, where, SimulationError, _EXAMPLE)
            for name, field in zip("xy", row, strict=True)
        )
        points.append((x, y))
        if len(points) > MAX_POINTS:
            raise SimulationError(
                f"the file has more than {MAX_POINTS} way-points",
                where,
                "give fewer: a spline needs only a few points per bend",
            )
        if len(points) > 1 and points[-1] == points[-2]:
            raise SimulationError(
                f"the way-point {place(points[-1])} is the same as the one before it",
                where,
                "remove the line",
            )
    if len(points) < 2:
        raise SimulationError(
            f"the file has {len(points)} way-points, at least 2 are needed", str(file), _EXAMPLE
        )
    return Spline(points=tuple(points))


class PathFile(AbstractPath):
    """The word of paths in files: ``csv:points.csv`` is the `Spline` through the points there."""

    __slots__ = ()

    word = "csv"
    reads_files = True

    @classmethod
    def from_text(cls, text: str, known: Mapping[str, Any] | None = None) -> Spline:
        """Spline that :func:`path_from_csv` reads from the file."""
        return path_from_csv(text.partition(":")[2].strip())

    @classmethod
    def numbers(cls, length: float) -> None:
        """None: it is not made of numbers."""


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
    """Straight lines through `points` with rounded corners; the parameter is arc length."""

    word = "polyline"

    points: tuple[Point, ...]  #: (n, 2) corners, the first and the last being the ends
    radius: float  #: least radius of curvature in each corner, m
    #: ``circle``, whose curvature jumps, ``clothoid``, two clothoids whose curvature rises from
    #: zero to 1/radius and falls again, or ``smooth``, by (3); ``auto``, a circle unless the
    #: vehicle that follows needs a smoother one
    blend: str = "auto"
    #: order of a smooth blend: number of continuous derivatives of its curvature
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
    """(1): displacement along and across the first tangent, for numbers or traced scalars."""
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


def end_of(stretches: tuple[Stretch, ...]) -> complex:
    """Where stretches lead from the origin along the x axis."""
    _, rows = pieces_of(stretches, (0.0, 0.0), 0.0)
    middle, x, y, theta, *bend = rows[-1]
    whole = sum(length for length, _ in stretches)
    return complex(x, y) + complex(*displacement(whole - middle, bend)) * _direction(theta)


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
    end = end_of(tuple(parts))
    # from the end back along the second side to the first one
    return float(abs(end.imag / math.sin(turn)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedStretches(AbstractPath):
    """Arcs, lines and clothoids that join smoothly, driven one way from a start and a heading."""

    stretches: tuple[Stretch, ...]
    start: Point
    start_heading: float

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the arc length p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the arc length p of the piece that holds at `near`."""
        position, _ = bent_position(p, near, self._pieces())
        return position

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX | None:
        """Curvature at the arc length p."""
        _, bend = bent_position(p, near, self._pieces())
        return bend

    @property
    def breaks(self) -> tuple[float, ...]:
        """Ends of all pieces."""
        return tuple(float(s) for s in np.cumsum([0.0, *(s[0] for s in self.stretches)]))

    def _pieces(self) -> tuple[tuple[float, ...], Array]:
        return pieces_of(self.stretches, self.start, self.start_heading)

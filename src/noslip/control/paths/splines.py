"""Paths through or along given points: splines of any order and rational B-splines (NURBS).

`path_from_csv` reads the points from a file: a header ``x,y``, then one point per line, in m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import casadi as ca
import numpy as np

from noslip.base import SimulationError, csv_rows, read_number, read_text
from noslip.control.paths.base import (
    AbstractPath,
    Array,
    Point,
    assign,
    distinct,
    number,
    numbers,
    place,
    points,
    positive,
)
from noslip.control.paths.selection import look_up, polynomial
from noslip.model import Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Spline(AbstractPath):
    """The spline through `points`, with continuous curvature.

    Its parameter is the length of the chords between the points. The ends are not curved; a
    `closed` spline goes on from the last point to the first, smoothly.

    Parameters
    ----------
    points : (n, 2) m.
    closed : whether it goes on from the last point to the first.
    order : continuous derivatives of the curvature: 0 is the cubic spline, 2 the one of degree
        five; None: cubic unless the vehicle that follows needs a smoother one.
    """

    word = "spline"

    points: tuple[Point, ...]
    closed: bool = False
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
        if self.order is not None and self.order not in range(MAX_ORDER + 1):
            raise SimulationError(
                f"order is {self.order!r}, expected a whole number from 0 to {MAX_ORDER}",
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
    """A rational B-spline of control points; circles and other conics are exact.

    Parameters
    ----------
    points : (n, 2) control points.
    degree : of the polynomials.
    weights : (n,) positive; all 1 if none are given.
    knots : (n + degree + 1,) never falling; evenly spaced between repeated ends if none are given.
    """

    word = "nurbs"

    points: tuple[Point, ...]
    degree: Annotated[int, Meaning(unit="1")]
    weights: Annotated[tuple[float, ...], Meaning(unit="1")] = ()
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
MAX_ORDER = 6


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

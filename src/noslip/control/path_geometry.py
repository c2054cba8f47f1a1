"""Plane curves to follow: position, heading, curvature, arc length; paths made of paths.

**Plane curves to follow, traced: position, heading and curvature at a parameter.**

A path is a smooth regular curve r(p) of its own parameter p, which need not be arc length. All else
follows by differentiation, with primes for d/dp and s the arc length, ds = |r'| dp:

    (1)  tangent         t = r' / |r'|
    (2)  heading         atan2(y', x')
    (3)  curvature       κ = r' × r'' / |r'|³                  positive where the path turns left
    (4)  curvature rate  dκ/ds = (r' × r''' − 3 (r' × r'') (r' · r'') / |r'|²) / |r'|⁴

To add a path:

1. Write a final frozen dataclass of :class:`AbstractPath` with `position` and `breaks`, and
   `position_near` if it has inner breaks. The fields must be hashable; check them in
   ``__post_init__``.
2. Give it a `word`, its name in text. What text, forms and messages need beyond that follows from
   its arguments and their types; `typical` and `ranges` say it better (`AbstractForm`).
3. Add one to the list at the top of ``tests/unit/control/test_paths.py``.

**Pieces, traced: which of many columns holds at a parameter, without a branch in the code.**

Compiled code without jumps evaluates every comparison, so the number of operations grows with the
number of pieces; as a balanced tree the longest chain of them grows with its logarithm only. One
choice between two numbers is a fraction of a nanosecond. What is chosen should be few numbers (the
coefficients of a piece) rather than whole results. Many rows of numbers are a table in memory
instead (`step_table`), whose code does not grow with them.

**Arc length of any path, as a polynomial of its parameter on each of a list of panels.**

The parameter's interval is cut into panels on each of which |r'| is a Legendre series to rounding,
so that arc length is a polynomial on each, integrated term by term and inverted by Newton's method.
A panel is kept only if the heading changes over it by ∫ κ ds, too, and the position by ∫ r' dp;
where bisection does not get there, the path has a cusp, a corner, a gap or a curvature without
bound, and the place is reported.

From it follow the length of a path, the parameter at an arc length, and samples of equal distance.

**Smoothness of a path: jumps of its curvature and of derivatives of it by arc length.**

A vehicle that turns by its wheels needs a continuous curvature; a motor that steers cannot follow a
jump of the curvature's rate, and a hitch on the axle asks for one derivative more.

**Paths made of paths: one after the other, or backwards.**
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import casadi as ca
import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from noslip.algebra import step_table
from noslip.base import LARGEST, Array, SimulationError, as_number
from noslip.control.text_grammar import AbstractForm

#: A point of the plane, x and y in m.
Point = tuple[float, float]


class AbstractPath(AbstractForm, abc.ABC, family="path"):
    """A curve in the plane, positions in m."""

    __slots__ = ()

    usual_unit = "m"

    @abc.abstractmethod
    def position(self, p: ca.SX) -> ca.SX:
        """The point (2,) at the parameter p; beyond the ends the curve goes on."""

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at p of the piece that holds at `near`.

        A path of pieces overrides it, so that a motion can choose the piece by time: within a step
        of an integrator that ends on a break, p itself may be on either side of it.
        """
        return self.position(p)

    @property
    @abc.abstractmethod
    def breaks(self) -> tuple[float, ...]:
        """Rising parameters: the start, every place where a derivative may jump, the end."""

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Its text describes it; its breaks rise; it has no jump and stands nowhere."""
        yield from super().contract(values)
        breaks = np.array(self.breaks, dtype=float)
        if len(breaks) < 2 or not np.all(np.diff(breaks) > 0):
            yield "its breaks do not rise from the start to the end"
            return
        p = ca.SX.sym("p")
        r = ca.SX(self.position(p))
        if r.numel() != 2:
            yield f"its position has {r.numel()} numbers, expected 2"
            return
        found = ca.Function("path", [p], [ca.densify(r), ca.densify(ca.jacobian(r, p))])
        widths = np.diff(breaks)
        inner = (
            breaks[:-1, None] + widths[:, None] * np.array([1e-9, 0.2, 0.5, 0.8, 1 - 1e-9])
        ).ravel()
        points, slopes = (np.array(part) for part in found.map(len(inner))(inner))
        speeds = np.linalg.norm(slopes, axis=0).reshape(-1, 5)
        if not (np.all(np.isfinite(points)) and np.all(np.isfinite(slopes))):
            yield "its position or its tangent is not finite"
        elif np.any(speeds[:, 1:4] <= 1e-12 * max(1.0, float(np.max(np.abs(points))))):
            yield "it stands at a parameter between its breaks: the tangent is zero"
        else:
            jumps = np.linalg.norm(points[:, 5::5] - points[:, 4:-1:5], axis=0)
            steps = 2e-9 * (speeds[:-1, 4] * widths[:-1] + speeds[1:, 0] * widths[1:])
            if np.any(jumps > steps + 1e-9 * (1 + np.abs(points).max())):
                yield "it jumps at a break"

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX | None:
        """Curvature at p of the piece that holds at `near`, where p is arc length; None otherwise.

        A path that knows it saves the derivatives of its position.
        """
        return None

    def of_order(self, order: int) -> AbstractPath:
        """The path with a curvature that is differentiable so often, if that is left open.

        Parameters
        ----------
        order : continuous derivatives of the curvature; 0 for a curvature that does not jump.
        """
        return self

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """The path between its cusps, where it goes back the way it came and a vehicle stops."""
        return (self,)

    @property
    def cusps(self) -> tuple[float, ...]:
        """Parameters of the cusps, which are among the breaks."""
        return ()

    @property
    def interval(self) -> tuple[float, float]:
        """The parameters of the start and of the end."""
        return self.breaks[0], self.breaks[-1]


def tangent(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The unit tangent (2,) of `path` at the parameter `p`, traced."""
    _, r1, _, _ = derivatives(path, p)
    return r1 / ca.norm_2(r1)  # (1)


def heading(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The direction of `path` at the parameter `p`, traced, in rad, between −π and π."""
    _, r1, _, _ = derivatives(path, p)
    return ca.atan2(r1[1], r1[0])  # (2)


def curvature(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The curvature of `path` at the parameter `p`, traced, in 1/m, positive to the left."""
    _, r1, r2, _ = derivatives(path, p)
    return _cross(r1, r2) / ca.norm_2(r1) ** 3  # (3)


def curvature_rate(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The rate of the curvature of `path` with arc length at the parameter `p`, traced, in 1/m²."""
    _, r1, r2, r3 = derivatives(path, p)
    square = ca.dot(r1, r1)
    return (_cross(r1, r3) - 3 * _cross(r1, r2) * ca.dot(r1, r2) / square) / square**2  # (4)


def stretch(path: AbstractPath, p: ca.SX) -> ca.SX:
    """Arc length of `path` for each unit of its parameter, |r'|, at the parameter `p`, traced."""
    _, r1, _, _ = derivatives(path, p)
    return ca.norm_2(r1)


def derivatives(path: AbstractPath, p: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """r, r', r'' and r''' of a path (each (2,)) at the parameter p, traced."""
    r, r1, r2, r3 = _differentiated(path).call([ca.SX(p)])
    return r, r1, r2, r3


@lru_cache(maxsize=128)
def _differentiated(path: AbstractPath) -> ca.Function:
    p = ca.SX.sym("p")
    r = [ca.densify(path.position(p))]
    for _ in range(3):
        r.append(ca.densify(ca.jtimes(r[-1], p, ca.SX(1))))
    return ca.Function("path", [p], r)


def _cross(a: ca.SX, b: ca.SX) -> ca.SX:
    return a[0] * b[1] - a[1] * b[0]


# what the constructors of paths and timing laws check


def number(value: Any, name: str, where: str) -> float:
    """A finite number."""
    result = as_number(value)
    if not math.isfinite(result):
        raise SimulationError(
            f"{name} is {value!r:.60}, which is not a finite number",
            where,
            f"give {name} as a number",
        )
    if abs(result) > LARGEST:
        raise SimulationError(
            f"{name} is {result:g}, beyond ±{LARGEST:g}", where, f"give {name} in SI units"
        )
    return result


def numbers(values: Iterable[Any], name: str, where: str) -> tuple[float, ...]:
    """Finite numbers."""
    return tuple(number(value, f"{name}[{k}]", where) for k, value in enumerate(values))


def positive(value: Any, name: str, where: str) -> float:
    """A finite number greater than zero."""
    result = number(value, name, where)
    if result <= 0:
        raise SimulationError(
            f"{name} is {result:g}, expected more than 0", where, f"give {name} a positive number"
        )
    return result


def point(value: Any, name: str, where: str) -> Point:
    """Two finite numbers."""
    try:
        x, y = value
    except (TypeError, ValueError):
        raise SimulationError(
            f"{name} is {value!r}, expected two numbers",
            where,
            f"give x and y in m: {name}=(0.0, 1.0)",
        ) from None
    return number(x, f"x of {name}", where), number(y, f"y of {name}", where)


def points(values: Iterable[Any], name: str, where: str, fewest: int = 2) -> tuple[Point, ...]:
    """At least `fewest` points."""
    result = tuple(point(v, f"{name}[{k}]", where) for k, v in enumerate(values))
    if len(result) < fewest:
        raise SimulationError(
            f"{len(result)} {name} are given, at least {fewest} are needed",
            where,
            f"add to {name}, each with its x and y in m",
        )
    return result


def distinct(values: tuple[Point, ...], name: str, where: str) -> None:
    """Refuse two consecutive points at one place."""
    for k in range(1, len(values)):
        if values[k] == values[k - 1]:
            raise SimulationError(
                f"{name}[{k - 1}] and {name}[{k}] are both at {place(values[k])}",
                where,
                "remove one of them",
            )


def place(at: Iterable[float]) -> str:
    """A point in words: (1, 2) m."""
    x, y = at
    return f"({x:.6g}, {y:.6g}) m"


def check_fields(target: object, **kinds: Callable[[Any, str, str], Any]) -> None:
    """Check and convert fields of a frozen dataclass: check_fields(self, radius=positive)."""
    where = type(target).__name__
    assign(target, **{n: kind(getattr(target, n), n, where) for n, kind in kinds.items()})


def assign(target: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass in its ``__post_init__``."""
    for name, value in fields.items():
        object.__setattr__(target, name, value)


def choose(p: ca.SX, starts: Sequence[float], columns: Sequence[ca.SX]) -> ca.SX:
    """The column k for starts[k] ≤ p < starts[k + 1]; the first and the last go on forever."""
    if len(columns) == 1:
        return columns[0]
    half = len(columns) // 2
    return ca.if_else(
        p < starts[half],
        choose(p, starts[:half], columns[:half]),
        choose(p, starts[half:], columns[half:]),
    )


#: Rows from which on they are looked up in memory rather than printed into the code.
MANY = 48


def look_up(
    p: ca.SX, starts: Sequence[float], table: ArrayLike, *, is_printed: bool = False
) -> list[ca.SX]:
    """The row of numbers that holds at p, as one traced scalar for each column of the table.

    `starts`: (n,) rising, of the rows. `table`: (n, m). `is_printed`: whether all rows are printed
    into the code, so that a run finds where they change with time; otherwise many of them are
    looked up in memory, and their starts must be passed as knots.
    """
    if len(starts) > MANY and not is_printed:
        return step_table(starts, table).traced(p)
    rows = [ca.SX(ca.DM(row)) for row in np.asarray(table, dtype=float)]
    return ca.vertsplit(choose(p, starts, rows))


def polynomial(u: ca.SX, coefficients: Sequence[ca.SX]) -> ca.SX:
    """c₀ uⁿ + … + cₙ by Horner's rule."""
    result = coefficients[0]
    for c in coefficients[1:]:
        result = result * u + c
    return result


def inside(p: ca.SX, start: ca.SX, end: ca.SX) -> ca.SX:
    """p where it is between two breaks, else a parameter just inside: for choosing a piece."""
    return ca.fmax(start, ca.fmin(p, end - 1e-9 * (end - start)))


def clamp(p: ca.SX, low: float, high: float) -> ca.SX:
    """p held between two numbers; its derivative is 1 between them and 0 beyond."""
    return ca.if_else(p < low, low, ca.if_else(p > high, high, p))


NODES = 16  # of a panel
FEWEST_PANELS = 16  # to begin with
MOST_PANELS = 20_000
NARROWEST = 1e-12  # of the interval
LENGTH_TOLERANCE = 1e-14  # of the last terms of a panel's series, as a part of the whole length
TURNING_TOLERANCE = 1e-12  # the same for ∫ κ ds, rad
JOINT_TOLERANCE = 1e-9  # rad, between heading and ∫ κ ds over a panel; the same for r and ∫ r' dp
JUMP = 2e-6  # rad, and part of the whole length, that is taken for rounding in a path's data
STEEPEST = 1e6  # times the mean for |r'|, times the inverse length for κ: more has no bound
STANDSTILL = 1e-6  # |r'| below this part of its mean is a cusp

_X, _W = legendre.leggauss(NODES)
# values at the nodes → coefficients of the Legendre series through them
_TO_SERIES = (legendre.legvander(_X, NODES - 1) * _W[:, None]).T * (np.arange(NODES) + 0.5)[:, None]


def integrate(path: AbstractPath, integrand: Callable[[ca.SX], ca.SX]) -> float:
    """∫ f ds along a path, for f a traced function of the parameter."""
    p = ca.SX.sym("p")
    function = ca.Function("f", [p], [integrand(p) * stretch(path, p)])
    edges = arc_table(path).p
    total = 0.0
    a, b = edges[:-1], edges[1:]
    while len(a):
        series, _ = _series(function, a, b)
        terms = series[0]
        part = terms[0] * (b - a)
        tail = np.max(np.abs(terms[-2:]), axis=0) * (b - a)
        scale = abs(total) + float(np.sum(np.abs(part)))
        wide = (b - a) > NARROWEST * (edges[-1] - edges[0])
        split = ~(tail <= LENGTH_TOLERANCE * scale) & wide
        total += float(np.sum(part[~split]))
        a, b = _halves(a[split], b[split])
    return total


@dataclass(frozen=True, slots=True, eq=False)
class ArcTable:
    """Arc length of a path as a polynomial of its parameter on each panel."""

    p: Array  #: (n + 1,) parameters of the edges of the panels
    s: Array  #: (n + 1,) arc length there
    heading: Array  #: (n + 1,) there, without jumps
    series: Array  #: (NODES + 1, n) Legendre coefficients of s − s_start on each panel
    turning: Array  #: (NODES + 1, n) the same for the heading

    def arc_length(self, p: Array) -> Array:
        """Arc length at parameters of the interval."""
        k, u = self._local(p)
        return self.s[k] + legendre.legval(u, self.series[:, k], tensor=False)

    def turned(self, p: Array) -> Array:
        """Heading without jumps at parameters of the interval, to about nine digits."""
        k, u = self._local(p)
        return self.heading[k] + legendre.legval(u, self.turning[:, k], tensor=False)

    def curvature(self, p: Array) -> Array:
        """Curvature at parameters of the interval, to about nine digits, without tracing."""
        k, u = self._local(p)
        slopes = (legendre.legder(x[:, k]) for x in (self.series, self.turning))
        stretch, turning = (legendre.legval(u, slope, tensor=False) for slope in slopes)
        return turning / stretch

    def parameter(self, s: Array) -> Array:
        """The parameter at arc lengths of the path."""
        k = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 2)
        rest, series = s - self.s[k], self.series[:, k]
        slope = legendre.legder(series)
        low, high = np.full(s.shape, -1.0), np.full(s.shape, 1.0)
        u = np.clip(2 * rest / (self.s[k + 1] - self.s[k]) - 1, -1.0, 1.0)
        for _ in range(60):
            excess = legendre.legval(u, series, tensor=False) - rest
            low, high = np.where(excess < 0, u, low), np.where(excess > 0, u, high)
            step = u - excess / legendre.legval(u, slope, tensor=False)
            # a step out of the bracket is replaced by its middle
            new = np.where((step >= low) & (step <= high), step, (low + high) / 2)
            done = np.all(np.abs(new - u) <= 5e-15)
            u = new
            if done:
                break
        a, b = self.p[k], self.p[k + 1]
        p = np.clip((a + b) / 2 + (b - a) / 2 * u, a, b)
        # the ends exactly
        return np.where(s <= 0, self.p[0], np.where(s >= self.s[-1], self.p[-1], p))

    def _local(self, p: Array) -> tuple[NDArray[np.intp], Array]:
        k = np.clip(np.searchsorted(self.p, p, side="right") - 1, 0, len(self.p) - 2)
        a, b = self.p[k], self.p[k + 1]
        return k, np.clip((2 * p - a - b) / (b - a), -1.0, 1.0)


@lru_cache(maxsize=64)
@np.errstate(invalid="ignore", divide="ignore", over="ignore")
def arc_table(path: AbstractPath) -> ArcTable:
    """The panels of a path, refined until displacement and heading agree with their integrals."""
    rates, pose = _rates(path), _pose(path)
    breaks = np.asarray(path.breaks, dtype=float)
    parts = -(-FEWEST_PANELS // (len(breaks) - 1))
    edges = [np.linspace(a, b, parts + 1)[:-1] for a, b in pairwise(breaks)]
    a = np.concatenate(edges)
    b = np.append(a[1:], breaks[-1])
    kept: list[tuple[Array, Array, Array]] = []
    # a parameter far from zero is itself rounded
    rounding = 16 * np.spacing(np.max(np.abs(breaks))) / (breaks[-1] - breaks[0])
    narrow = max(NARROWEST, rounding) * (breaks[-1] - breaks[0])
    whole, num_panels = 0.0, len(a)
    while len(a):
        series, values = _series(rates, a, b)
        _refuse_gaps(path, values[0], a, b)
        width = b - a
        change = series[:, 0] * width
        scale = whole + float(np.nansum(change[0]))
        tail, turning_tail = np.max(np.abs(series[:2, -2:]), axis=1) * width
        # what the ends say, less what the integrals of κ|r'| and r' say
        at_a, at_b = np.split(evaluate(pose, np.concatenate([a, b])), 2, axis=1)
        at_b[2] += np.pi * np.isin(b, path.cusps)  # said there is the way back
        turn = np.abs(wrap(at_b[2] - at_a[2] - change[1]))
        gap = np.hypot(*(at_b[:2] - at_a[:2] - change[2:]))
        smooth = (turn <= JOINT_TOLERANCE) & (gap <= JOINT_TOLERANCE * scale)
        smooth &= tail <= max(LENGTH_TOLERANCE, rounding) * scale
        smooth &= turning_tail <= max(TURNING_TOLERANCE, rounding)
        split = ~smooth
        for k in np.flatnonzero(split & (width <= narrow)):
            rate, bend = values[0][:, k], np.abs(values[1][:, k] / values[0][:, k])
            steep = max(np.max(rate) * (breaks[-1] - breaks[0]) / scale, np.max(bend) * scale)
            if not (turn[k] <= JUMP and gap[k] <= JUMP * scale and steep <= STEEPEST):
                _refuse(path, a[k], b[k], turn[k], gap[k])
        split &= width > narrow
        whole += float(np.sum(change[0][~split]))
        kept.append((a[~split], b[~split], series[:2][:, :, ~split]))
        a, b = _halves(a[split], b[split])
        num_panels += len(a)
        if num_panels > MOST_PANELS:
            raise SimulationError(
                f"the path winds too much: {MOST_PANELS} segments do not resolve it",
                where(path, a[0]),
                "give a shorter path, or several of them as a Composite",
            )
    table = _assemble(path, kept)
    _refuse_standstill(path, table)
    return table


def _assemble(path: AbstractPath, kept: list[tuple[Array, Array, Array]]) -> ArcTable:
    a, b = (np.concatenate([panel[k] for panel in kept]) for k in (0, 1))
    order = np.argsort(a)
    a, b = a[order], b[order]
    rates = np.concatenate([panel[2] for panel in kept], axis=2)[:, :, order]
    half = (b - a) / 2
    # lower bound −1: the integrals start at zero on each panel
    series, turning = (legendre.legint(rate, lbnd=-1) * half for rate in rates)
    s = np.concatenate([[0.0], np.cumsum(2 * half * rates[0][0])])
    p = np.append(a, b[-1])
    first = evaluate(_pose(path), p[:1])[2]
    turned = first + np.concatenate([[0.0], np.cumsum(2 * half * rates[1][0])])
    return ArcTable(p, s, turned, series, turning)


def _series(function: ca.Function, a: Array, b: Array) -> tuple[Array, Array]:
    """Legendre series (rows, NODES, n) of a function's outputs on panels, and their values."""
    p = (a + b) / 2 + (b - a) / 2 * _X[:, None]
    values = evaluate(function, p.ravel()).reshape(-1, *p.shape)
    return np.einsum("jn,rnk->rjk", _TO_SERIES, values), values


def _halves(a: Array, b: Array) -> tuple[Array, Array]:
    middle = (a + b) / 2
    return np.concatenate([a, middle]), np.concatenate([middle, b])


def evaluate(function: ca.Function, p: Array) -> Array:
    """Outputs (rows, n) of a traced function at parameters (n,)."""
    return function(ca.DM(p).T).full()


@lru_cache(maxsize=64)
def _rates(path: AbstractPath) -> ca.Function:
    p = ca.SX.sym("p")
    rate = stretch(path, p)
    rows = (rate, curvature(path, p) * rate, tangent(path, p) * rate)
    return ca.Function("rates", [p], [ca.densify(ca.vertcat(*rows))])


@lru_cache(maxsize=64)
def _pose(path: AbstractPath) -> ca.Function:
    p = ca.SX.sym("p")
    return ca.Function("pose", [p], [ca.densify(ca.vertcat(path.position(p), heading(path, p)))])


def wrap(angle: Array) -> Array:
    """The same angle between −π and π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def where(path: AbstractPath, p: float, s: float | None = None) -> str:
    """A place on a path, for messages."""
    at = evaluate(_pose(path), np.array([p]))[:2, 0]
    along = "" if s is None else f", {s:.6g} m from the start"
    # places found by bisection are known to a part of the interval only
    digits = 9 - math.floor(math.log10(path.interval[1] - path.interval[0]))
    shown = round(float(p), digits) + 0.0
    return f"{type(path).__name__} at parameter {shown:.9g}{along}, {place(np.round(at, 9) + 0.0)}"


def _refuse_gaps(path: AbstractPath, rate: Array, a: Array, b: Array) -> None:
    """Refuse panels on which nothing is finite."""
    missing = ~np.any(np.isfinite(rate), axis=0)
    if np.any(missing):
        k = int(np.argmax(missing))
        raise SimulationError(
            f"the path is not finite from parameter {a[k]:.9g} to {b[k]:.9g}",
            where(path, (a[k] + b[k]) / 2),
            "keep the interval where roots, logarithms and quotients are defined",
        )


def _refuse_standstill(path: AbstractPath, table: ArcTable) -> None:
    """Refuse a parameter at which the point does not move, between the nodes too."""
    rates = _rates(path)
    p = np.linspace(table.p[:-1], table.p[1:], 9, axis=1).ravel()
    mean = table.s[-1] / (table.p[-1] - table.p[0])
    for _ in range(12):
        rate = evaluate(rates, p)[0]
        k = int(np.argmin(rate))
        if rate[k] > 0.05 * mean:
            return
        p = np.linspace(p[max(k - 1, 0)], p[min(k + 1, len(p) - 1)], 33)
    if np.min(rate) <= STANDSTILL * mean:
        _refuse(path, p[16], p[16], 0.0, 0.0)


def _refuse(path: AbstractPath, a: float, b: float, turn: float, gap: float) -> NoReturn:
    """Say what is wrong on a panel that cannot be integrated."""
    rate = evaluate(_rates(path), np.array([a, (a + b) / 2, b]))[0]
    mean = evaluate(_rates(path), np.linspace(*path.interval, 101)[1:-1])[0]
    slowest = float(np.min(rate))
    at = (a, (a + b) / 2, b)[int(np.argmin(rate))]
    if slowest <= STANDSTILL * np.mean(mean[np.isfinite(mean)]):
        what = f"the path has a cusp, or its parameter stands still: |r'| = {slowest:.3g}"
        fix = "split the path here, or write it so that its point moves at every parameter"
    elif not np.all(np.isfinite(rate)) or np.max(rate) > np.median(mean) / STANDSTILL:
        what = "the path runs off: |r'| grows without bound"
        fix = "end the path before this point, or write it with another parameter"
    elif gap > 1e-3 * np.median(mean) * (path.interval[1] - path.interval[0]):
        what = f"the path jumps by {gap:.4g} m"
        fix = "close the gap, or end the path here"
    elif turn > 1e-3:
        what = f"the path has a corner: its heading jumps by {np.degrees(turn):.4g}°"
        fix = "round the corner: Polyline(…, radius=…), or a Spline"
    else:
        what = "the curvature of the path grows without bound"
        fix = "start or end the path before this point, or write it differently there"
    raise SimulationError(what, where(path, at), fix)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathSamples:
    """A path at places of equal distance along it."""

    parameter: Array  #: (n,) the path's own
    arc_length: Array  #: (n,) from the start, m
    #: x, y: (n,) m
    x: Array
    y: Array
    #: (n,) rad, without jumps: it goes on beyond π, and over cusps as that of a vehicle that then
    #: drives backwards
    heading: Array
    curvature: Array  #: (n,) 1/m, positive to the left
    curvature_rate: Array  #: (n,) dκ/ds, 1/m²


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
            f"the requested number of samples is {count}, at least 2 are needed",
            f"sample({type(path).__name__}, count=…)",
            "give count=2 or more",
        )
    s = np.linspace(0.0, length(path), count)
    return samples_at(path, parameter_at(path, s), s)


def samples_at(path: AbstractPath, p: Array, s: Array) -> PathSamples:
    """Samples of a path at parameters with known arc lengths."""
    rows = evaluate(_everything(path), p)
    for k, name in ((3, "curvature"), (4, "curvature rate")):
        if not np.all(np.isfinite(rows[k])):
            at = int(np.argmin(np.isfinite(rows[k])))
            raise SimulationError(
                f"the {name} of the path is not finite",
                where(path, p[at], s[at]),
                "start or end the path before this point, or write it differently there",
            )
    return PathSamples(
        parameter=p,
        arc_length=s,
        x=rows[0],
        y=rows[1],
        heading=_unwrapped(rows[2], arc_table(path).turned(p), np.pi if path.cusps else 2 * np.pi),
        curvature=rows[3],
        curvature_rate=rows[4],
    )


@lru_cache(maxsize=64)
def _everything(path: AbstractPath) -> ca.Function:
    p = ca.SX.sym("p")
    rows = (path.position(p), heading(path, p), curvature(path, p), curvature_rate(path, p))
    return ca.Function("samples", [p], [ca.densify(ca.vertcat(*rows))])


def _unwrapped(wrapped: Array, near: Array, period: float) -> Array:
    return near + (wrapped - near + period / 2) % period - period / 2


#: Jump of the curvature, 1/m, that is taken for rounding.
CONTINUOUS = 1e-5
#: The same for its derivatives, as a part of the largest on the path.
ROUNDING = 1e-5


class CurvatureJump(NamedTuple):
    """A place where the curvature or a derivative of it jumps."""

    arc_length: float  #: m from the start
    order: int  #: 0 for the curvature, 1 for its rate with arc length, and so on
    size: float  #: size of the jump, 1/m to the power of `order` + 1

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
    """Jumps at the breaks of a path, the lowest derivative that jumps at each, up to an order.

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


TOLERANCE = 1e-6  # m, rad and 1/m, at the joints


@dataclass(frozen=True, slots=True)
class Composite(AbstractPath):
    """Paths one after the other, each starting where and in the direction in which the last ended.

    Or in the opposite direction: this is a cusp, where a vehicle stops and drives the other way.

    The parameter runs on each of them from 0 to its length, in proportion to its own parameter.
    """

    paths: tuple[AbstractPath, ...]  #: paths in the order in which they are driven
    smooth_curvature: bool = False  #: whether the curvature must not jump from one to the next

    def __post_init__(self) -> None:
        assign(self, paths=tuple(self.paths))
        if not self.paths:
            raise SimulationError(
                "no paths are given", "Composite(paths=…)", "give at least one path"
            )
        for k in range(len(self.paths) - 1):
            _check_joint(self, k)

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the parameter p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the parameter p of the path that holds at `near`."""
        starts = _starts(self)
        last = len(self.paths) - 1
        columns = []
        for k, path in enumerate(self.paths):
            a, b = path.interval
            rate = (b - a) / (starts[k + 1] - starts[k])
            here, there = (a + (x - starts[k]) * rate for x in (p, near))
            # elsewhere its middle, so that nothing is evaluated where it is not defined
            if k > 0:
                here = ca.if_else(near < starts[k], (a + b) / 2, here)
            if k < last:
                here = ca.if_else(near < starts[k + 1], here, (a + b) / 2)
            columns.append(path.position_near(here, there))
        return choose(near, starts[:-1], columns)

    def of_order(self, order: int) -> AbstractPath:
        """With paths that are so smooth, where they leave it open."""
        smooth = tuple(path.of_order(order) for path in self.paths)
        if all(a is b for a, b in zip(smooth, self.paths, strict=True)):
            return self
        return Composite(smooth, self.smooth_curvature)

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """Paths between cusps, put together."""
        found: list[list[AbstractPath]] = []
        before: AbstractPath | None = None
        for path in (part for own in self.paths for part in own.parts):
            if before is None or _is_cusp(before, path):
                found.append([])
            found[-1].append(path)
            before = path
        return tuple(g[0] if len(g) == 1 else Composite(tuple(g)) for g in found)

    @property
    def cusps(self) -> tuple[float, ...]:
        """Cusps of all paths and between them."""
        starts, result = _starts(self), []
        for k, path in enumerate(self.paths):
            a, b = path.interval
            scale = (starts[k + 1] - starts[k]) / (b - a)
            result += [starts[k] + (inner - a) * scale for inner in path.cusps]
            if k + 1 < len(self.paths) and _is_cusp(path, self.paths[k + 1]):
                result.append(starts[k + 1])
        return tuple(result)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of all paths."""
        starts = _starts(self)
        result = [0.0]
        for k, path in enumerate(self.paths):
            a, b = path.interval
            scale = (starts[k + 1] - starts[k]) / (b - a)
            result += [starts[k] + (inner - a) * scale for inner in path.breaks[1:-1]]
            result.append(starts[k + 1])
        return tuple(result)


@dataclass(frozen=True, slots=True)
class Reversed(AbstractPath):
    """A path driven from its end to its start; its curvature changes sign."""

    path: AbstractPath

    def position(self, p: ca.SX) -> ca.SX:
        """The point of the path at the mirrored parameter."""
        a, b = self.path.interval
        return self.path.position(a + b - p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the mirrored parameter of the piece at the mirrored `near`."""
        a, b = self.path.interval
        return self.path.position_near(a + b - p, a + b - near)

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """Parts of the path, each from its end to its start."""
        parts = self.path.parts
        return (self,) if len(parts) == 1 else tuple(Reversed(part) for part in parts[::-1])

    @property
    def cusps(self) -> tuple[float, ...]:
        """Cusps of the path, mirrored."""
        a, b = self.path.interval
        return tuple(a + b - p for p in self.path.cusps[::-1])

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of the path, mirrored."""
        a, b = self.path.interval
        inner = [a + b - p for p in self.path.breaks[-2:0:-1]]
        return (a, *inner, b)


def reversed_path(path: AbstractPath) -> AbstractPath:
    """`path` from its end to its start; reversed again, it is the path itself."""
    return path.path if isinstance(path, Reversed) else Reversed(path)


@lru_cache(maxsize=64)
def _starts(composite: Composite) -> tuple[float, ...]:
    """Arc lengths at which the paths start, and of the end."""
    lengths = [length(path) for path in composite.paths]
    return tuple(float(s) for s in np.concatenate([[0.0], np.cumsum(lengths)]))


def _check_joint(composite: Composite, k: int) -> None:
    """Refuse a step from path k to the next."""
    before, after = composite.paths[k], composite.paths[k + 1]
    x0, y0, heading0, kappa0 = _end(before, 1)
    x1, y1, heading1, kappa1 = _end(after, 0)
    where = (
        f"Composite, from paths[{k}] ({type(before).__name__}) to paths[{k + 1}] "
        f"({type(after).__name__}), {place((x0, y0))}"
    )
    gap = math.dist((x0, y0), (x1, y1))
    if not gap <= TOLERANCE:
        raise SimulationError(
            f"the path jumps by {gap:.4g} m, to {place((x1, y1))}",
            where,
            f"start paths[{k + 1}] where paths[{k}] ends",
        )
    turn = math.remainder(heading1 - heading0, 2 * math.pi)
    is_cusp = abs(abs(turn) - math.pi) <= TOLERANCE
    if not abs(turn) <= TOLERANCE and not is_cusp:
        raise SimulationError(
            f"the heading jumps by {math.degrees(turn):.4g}°, from {heading0:.6g} to "
            f"{heading0 + turn:.6g} rad",
            where,
            f"let paths[{k + 1}] start along the end of paths[{k}] or against it, or put an Arc "
            "between them",
        )
    if is_cusp:
        kappa1 = -kappa1  # as the vehicle sees it, which drives the other way
    if composite.smooth_curvature and not abs(kappa1 - kappa0) <= TOLERANCE:
        raise SimulationError(
            f"the curvature jumps by {kappa1 - kappa0:.4g} 1/m, from {kappa0:.6g} to {kappa1:.6g}",
            where,
            "put a Clothoid from the one curvature to the other between them",
        )


@lru_cache(maxsize=256)
def _is_cusp(before: AbstractPath, after: AbstractPath) -> bool:
    """Whether a path goes back where another one ends."""
    (*_, ahead, _), (*_, back, _) = _end(before, 1), _end(after, 0)
    return math.cos(back - ahead) < 0


def _end(path: AbstractPath, which: int) -> Iterator[float]:
    """x, y, heading and curvature at the start (0) or the end (1)."""
    p = ca.SX.sym("p")
    rows = ca.vertcat(path.position(p), heading(path, p), curvature(path, p))
    return iter(evaluate(ca.Function("end", [p], [rows]), np.array([path.interval[which]]))[:, 0])

"""Arc length of any path, as a polynomial of its parameter on each of a list of panels.

The parameter's interval is cut into panels on each of which |r'| is a Legendre series to rounding,
so that arc length is a polynomial on each, integrated term by term and inverted by Newton's method.
A panel is kept only if the heading changes over it by ∫ κ ds, too, and the position by ∫ r' dp;
where bisection does not get there, the path has a cusp, a corner, a gap or a curvature without
bound, and the place is reported.

From it follow the length of a path, the parameter at an arc length, and samples of equal distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NoReturn

import casadi as ca
import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from noslip.base import SimulationError
from noslip.control.paths.base import (
    AbstractPath,
    Array,
    curvature,
    curvature_rate,
    heading,
    place,
    stretch,
    tangent,
)

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
    """Arc length of a path as a polynomial of its parameter on each panel.

    Parameters
    ----------
    p : (n + 1,) parameters of the edges of the panels.
    s : (n + 1,) arc length there.
    heading : (n + 1,) there, without jumps.
    series : (NODES + 1, n) Legendre coefficients of s − s_start on each panel.
    turning : (NODES + 1, n) the same for the heading.
    """

    p: Array
    s: Array
    heading: Array
    series: Array
    turning: Array

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
    """A path at places of equal distance along it.

    Parameters
    ----------
    parameter : (n,) the path's own.
    arc_length : (n,) from the start, m.
    x, y : (n,) m.
    heading : (n,) rad, without jumps: it goes on beyond π, and over cusps as that of a vehicle
        that then drives backwards.
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

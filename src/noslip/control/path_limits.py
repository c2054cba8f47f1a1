"""Limits of motion along a path: speed, acceleration, friction, and motors.

With z = ṡ² and u = s̈ = z'/2 (primes for d/ds) most limits are linear in u and z at each place:

    (1)  z ≤ v²,  |u| ≤ a,  |κ| z ≤ a_lateral,  and rows  a(s) u + b(s) z + c(s) ≤ 0

Dampers, friction and the like add a term r(s, ṡ) to a row. It counts by its tangent in z at the
motion that was found last,

    (2)  r(s, √z) ≈ r(s, √z₀) + (z − z₀) r'(s, √z₀) / (2 √z₀)

which is exact where the motion does not change any more.

Friction bounds the force of the ground in all directions. A vehicle that is driven, braked and led
sideways as a whole needs the friction coefficient √(s̈² + (κ ṡ²)²) / g ≤ μ, a disk in the plane of
u and κ z:

    (3)  u² + (κ z)² ≤ a_total²

Single wheels may need more, where loads are not equal: the audit of a run shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.control.path_geometry import (
    AbstractPath,
    arc_table,
    assign,
    positive,
)

#: r and its derivative by ṡ, (n, m) each, of arc lengths (n,) and speeds (n,).
Resistance = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitRows:
    """Limits a(s) s̈ + b(s) ṡ² + c(s) + r(s, ṡ) ≤ 0, such as those of motors."""

    arc_lengths: Array  #: (n,) rising from 0 to the length of the path, m; linear in between
    inertia: Array  #: (n, m) a, one column a limit
    squared: Array  #: (n, m) b
    constant: Array  #: (n, m) c
    names: tuple[str, ...]  #: (m,) of the limits, for messages
    #: r and dr/dṡ, (n, m) each, as a function of arc lengths (n,) and speeds (n,); none if nothing
    #: else depends on the speed
    resistance: Resistance | None = None

    def __post_init__(self) -> None:
        grid = np.asarray(self.arc_lengths, dtype=float)
        columns = {k: np.asarray(getattr(self, k), dtype=float) for k in _COLUMNS}
        shape = (len(grid) if grid.ndim == 1 else 0, len(self.names))
        for name, values in columns.items():
            if values.shape != shape:
                raise SimulationError(
                    f"{name} has the shape {values.shape}, expected {shape} for "
                    f"{shape[0]} arc lengths and {shape[1]} names",
                    f"LimitRows({name}=…)",
                    "give one row for each arc length and one column for each limit",
                )
        finite = all(np.all(np.isfinite(values)) for values in columns.values())
        if shape[0] < 2 or grid[0] != 0 or not np.all(np.diff(grid) > 0) or not finite:
            raise SimulationError(
                "the arc lengths do not rise from 0, or a number is not finite",
                "LimitRows(arc_lengths=…)",
                "sort the rows by arc length, start with 0 and give none twice",
            )
        assign(self, arc_lengths=grid, names=tuple(self.names), **columns)

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """a, b and c (each (len(s), m)) at arc lengths."""
        a, b, c = (
            np.column_stack([np.interp(s, self.arc_lengths, column) for column in values.T])
            for values in (self.inertia, self.squared, self.constant)
        )
        return a, b, c

    def near(self, s: Array, z: Array) -> tuple[Array, Array, Array]:
        """a, b and c (each (len(s), m)) at arc lengths, with r by its tangent (2) at z."""
        a, b, c = self.at(s)
        if self.resistance is None:
            return a, b, c
        v = np.sqrt(np.maximum(z, 0.0))[:, None]
        r, rate = self.resistance(s, v[:, 0])
        # at rest it has no tangent, and z is known
        slope = np.where(v > 0, rate, 0.0) / np.where(v > 0, 2 * v, 1.0)
        return a, b + slope, c + r - slope * v**2

    def values(self, s: Array, z: Array, u: Array) -> Array:
        """(len(s), m) of the limits at arc lengths, z and u; at most 0 where they hold."""
        a, b, c = self.at(s)
        value = a * u[:, None] + b * z[:, None] + c
        if self.resistance is not None:
            value = value + self.resistance(s, np.sqrt(np.maximum(z, 0.0)))[0]
        return value


_COLUMNS = ("inertia", "squared", "constant")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """Limits of speed and acceleration along a path; those not given do not apply."""

    speed: float | None = None  #: highest ṡ, m/s
    acceleration: float | None = None  #: highest |s̈| along the path, m/s²
    lateral_acceleration: float | None = None  #: highest |κ| ṡ², m/s²
    #: highest √(s̈² + (κ ṡ²)²), m/s²: a friction coefficient times g
    total_acceleration: float | None = None
    rows: LimitRows | None = None  #: limits of motors and the like

    def __post_init__(self) -> None:
        given: dict[str, Any] = {}
        for name in ("speed", "acceleration", "lateral_acceleration", "total_acceleration"):
            value = getattr(self, name)
            if value is not None:
                given[name] = positive(value, name, "Limits")
        if self.acceleration is None and self.total_acceleration is None and self.rows is None:
            raise SimulationError(
                "nothing limits the acceleration, so the fastest motion has none",
                "Limits",
                "give acceleration in m/s² (or total_acceleration), or rows of motor limits",
            )
        assign(self, **given)


#: Chebyshev points of a segment, where curvature is known; not its ends, where it may jump.
_KNOWN = (1 - np.cos(np.pi * (2 * np.arange(10) + 1) / 20)) / 2
#: Where it is looked at in between, and the polynomials through the known values there.
_DENSE = np.array([1e-9, *np.linspace(0.0, 1.0, 65)[1:-1], 1 - 1e-9])
_RESAMPLE = np.polynomial.chebyshev.chebvander(2 * _DENSE - 1, 9) @ np.linalg.inv(
    np.polynomial.chebyshev.chebvander(2 * _KNOWN - 1, 9)
)
#: Where in a segment rows are evaluated: also near its ends, one of which may be at rest.
_INNER = np.array([0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0])
#: z that no motion has, m²/s²: stands for none where nothing limits it.
ENDLESS = 1e12
#: Speeds at which it is looked for one that can be held: lowest and highest, m/s, and how many.
CREEPING = (1e-4, 1e2, 25)
#: Thirds by which an interval shrinks to 1e-11 of itself.
THIRDS = 60

#: Bounds p z + q of u at one end of a segment, (N, m) each.
_Lines = tuple[Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class EndLimits:
    """The set of (z, u) allowed at one end of each segment, which is convex:

    (4)  max_j (p_j z + q_j) ≤ u ≤ min_i (p_i z + q_i),  u² + (κ z)² ≤ a²,  low ≤ z ≤ high
    """

    #: above, below: lines over and under u; q is ±∞ where there is none
    above: _Lines
    below: _Lines
    #: bend, disk: (N,) |κ| and a of (3); a is ∞ where nothing is said of it
    bend: Array
    disk: Array
    #: low, high: (N,) lowest and highest z for which some u is allowed; low > high if there is none
    low: Array
    high: Array

    @classmethod
    def of(
        cls, a: Array, b: Array, c: Array, cap: Array, bend: Array, disk: Array, pull: float | None
    ) -> EndLimits:
        """From rows a u + b z + c ≤ 0 (N, m), the highest z (N,), (3) and the highest |u|."""
        with np.errstate(divide="ignore", invalid="ignore"):
            p, q, at = -b / a, -c / a, -c / b
            above = [np.where(a > 0, p, 0.0), np.where(a > 0, q, np.inf)]
            below = [np.where(a < 0, p, 0.0), np.where(a < 0, q, -np.inf)]
        if pull is not None:
            edge = np.full((len(cap), 1), pull)
            above = [np.hstack(x) for x in ((above[0], 0 * edge), (above[1], edge))]
            below = [np.hstack(x) for x in ((below[0], 0 * edge), (below[1], -edge))]
        # what does not contain u
        alone = a == 0
        tops = np.where(alone & (b > 0), at, np.inf)
        floors = np.where(alone & (b < 0), at, -np.inf)
        never = np.any(alone & (b == 0) & (c > 0), axis=1)
        high = np.minimum(np.minimum(cap, ENDLESS), np.min(tops, axis=1, initial=np.inf))
        low = np.maximum(0.0, np.max(floors, axis=1, initial=-np.inf))
        low = np.where(never, np.inf, low)
        lines = (above[0], above[1]), (below[0], below[1])
        low, high = _between_lines(*lines, low, high)
        low, high = _within_disk(*lines, bend, disk, low, high)
        return cls(*lines, bend, disk, low, high)

    def most(self, z: Array) -> Array:
        """Highest u (N,)."""
        u = np.min(self.above[0] * z[:, None] + self.above[1], axis=1, initial=np.inf)
        return np.minimum(u, self._side(z))

    def least(self, z: Array) -> Array:
        """Lowest u (N,)."""
        u = np.max(self.below[0] * z[:, None] + self.below[1], axis=1, initial=-np.inf)
        return np.maximum(u, -self._side(z))

    def _side(self, z: Array) -> Array:
        """√(a² − κ² z²) (N,)."""
        left = (self.disk - self.bend * z) * (self.disk + self.bend * z)
        return np.sqrt(np.maximum(np.where(np.isfinite(self.disk), left, np.inf), 0.0))

    def turning(self, h: Array, side: int) -> Array:
        """z (N,) at which z − h u is highest, u the lowest (side −1), or lowest, u the highest (1).

        Both rise with z up to where (4) bends by more than 1/h, which is found by thirds.
        """
        low = np.where(self.low <= self.high, self.low, 0.0)
        high = np.where(self.low <= self.high, self.high, 0.0)
        u = self.least if side < 0 else self.most

        def y(z: Array) -> Array:
            return z - h * u(z)

        span = high - low
        found, tiny = (high if side < 0 else low).copy(), 1e-9 * span
        end = high - tiny if side < 0 else low
        bends = (span > 0) & (y(end + tiny) < y(end))
        if not np.any(bends):
            return found
        few = self._at(bends)
        h, low, high = h[bends], low[bends], high[bends]
        u = few.least if side < 0 else few.most
        for _ in range(THIRDS):
            one, other = low + (high - low) / 3, high - (high - low) / 3
            is_first = side * (y(one) - y(other)) < 0
            low, high = np.where(is_first, low, one), np.where(is_first, other, high)
        found[bends] = (low + high) / 2
        return found

    def _at(self, chosen: NDArray[np.bool]) -> EndLimits:
        """The limits of some segments."""
        above, below = ((p[chosen], q[chosen]) for p, q in (self.above, self.below))
        parts = (self.bend, self.disk, self.low, self.high)
        return EndLimits(above, below, *(x[chosen] for x in parts))


def _between_lines(above: _Lines, below: _Lines, low: Array, high: Array) -> tuple[Array, Array]:
    """Lowest and highest z (N,) at which every line above u is over every line below it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(above[0].shape[1]):
            slope = above[0][:, [i]] - below[0]
            gap = above[1][:, [i]] - below[1]
            real = np.isfinite(gap)
            size = np.abs(above[0][:, [i]]) + np.abs(below[0])
            at = -gap / slope
            up, down = real & (slope < -1e-13 * size), real & (slope > 1e-13 * size)
            high = np.minimum(high, np.min(np.where(up, at, np.inf), axis=1, initial=np.inf))
            low = np.maximum(low, np.max(np.where(down, at, -np.inf), axis=1, initial=-np.inf))
            closed = real & ~up & ~down & (gap < 0)
            low = np.where(np.any(closed, axis=1), np.inf, low)
    return low, high


def _within_disk(
    above: _Lines, below: _Lines, bend: Array, disk: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Lowest and highest z (N,) at which the disk (3) reaches between the lines.

    A line p z + q over u leaves something of the disk where p z + q + √(a² − κ² z²) ≥ 0: between
    the roots of (p² + κ²) z² + 2 p q z + q² − a², as far as p z + q is negative there.
    """
    if not np.any(np.isfinite(disk)):
        return low, high
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        edge = disk / bend
        high = np.minimum(high, edge)
        k, a, edge = bend[:, None], disk[:, None], edge[:, None]
        for p, q in (above, (-below[0], -below[1])):
            real = np.isfinite(q) & np.isfinite(a)
            square = p**2 + k**2
            root = np.sqrt(np.maximum(a**2 * square - (k * q) ** 2, 0.0))
            far, near = (-p * q + root) / square, (-p * q - root) / square
            at_edge = np.where(np.isfinite(edge), p * edge + q, np.where(p < 0, -1.0, 1.0))
            over = real & (at_edge < 0) & (square > 0)
            under = real & (q < -a)
            misses = under & ((square == 0) | (a**2 * square < (k * q) ** 2) | (p <= 0))
            high = np.minimum(high, np.min(np.where(over, far, np.inf), axis=1, initial=np.inf))
            low = np.maximum(low, np.max(np.where(under, near, 0.0), axis=1, initial=0.0))
            low = np.where(np.any(misses, axis=1), np.inf, low)
    return low, high


@dataclass(slots=True, eq=False)
class SegmentLimits:
    """Limits on segments of a path, on each of which u is linear in s."""

    #: path, limits: path, and limits along it
    path: AbstractPath
    limits: Limits
    cuts: Array  #: (N + 1,) arc lengths of the ends of the segments
    curvature: Array  #: (N, 65) |κ| within each segment
    near: Array  #: (N + 1,) z at the cuts of the motion found last, at which (2) is taken
    sharper: Array  #: (N,) factor of |κ|, raised by `tighten`
    weaker: Array  #: (N,) divisor of a of (3), raised by `tighten`
    margin: Array  #: (N, m) by which the rows are raised; raised by `tighten`

    @classmethod
    def on(cls, path: AbstractPath, limits: Limits, cuts: Array, near: Array) -> SegmentLimits:
        """The limits on given segments, near a motion with given z at the cuts."""
        num = len(cuts) - 1
        kappa = np.zeros((num, len(_DENSE)))
        if limits.lateral_acceleration is not None or limits.total_acceleration is not None:
            s = cuts[:-1, None] + np.diff(cuts)[:, None] * _KNOWN
            table = arc_table(path)
            p = table.parameter(s.ravel())
            kappa = np.abs(table.curvature(p).reshape(s.shape) @ _RESAMPLE.T)
        num_rows = len(limits.rows.names) if limits.rows else 0
        one = np.ones(num)
        return cls(path, limits, cuts, kappa, near, one, one, np.zeros((num, num_rows)))

    @property
    def speed(self) -> float:
        """Highest z that the speed leaves."""
        return ENDLESS if self.limits.speed is None else self.limits.speed**2

    def ends(self) -> tuple[EndLimits, EndLimits]:
        """Limits at the start and at the end of each segment."""
        num = len(self.cuts) - 1
        if self.limits.rows is not None:
            a, b, c = self.limits.rows.near(self.cuts, self.near)
        else:
            a, b, c = (np.zeros((num + 1, 0)) for _ in range(3))
        disk = np.full(num, self.limits.total_acceleration or np.inf) / self.weaker
        found = []
        for side, column in ((slice(0, -1), 0), (slice(1, None), -1)):
            cap, bend = np.full(num, self.speed), self.curvature[:, column]
            if self.limits.lateral_acceleration is not None:
                with np.errstate(divide="ignore"):
                    cap = np.minimum(cap, self.limits.lateral_acceleration / (bend * self.sharper))
            rows = a[side], b[side], c[side] + self.margin
            found.append(EndLimits.of(*rows, cap, bend, disk, self.limits.acceleration))
        return found[0], found[1]

    def conflict_at_rest(self) -> tuple[int, list[str]] | None:
        """The last segment where a vehicle can neither stand nor creep, and the limits broken.

        At rest rows are a u + c + r(s, 0) ≤ 0; with resistance they must hold at some speed too.
        """
        rows = self.limits.rows
        if rows is None:
            return None
        c = rows.at(self.cuts)[2]
        value, still = c, np.zeros_like(self.cuts)
        if rows.resistance is not None:
            speeds = np.geomspace(*CREEPING)
            moving = [rows.values(self.cuts, still + v**2, still) for v in speeds]
            held = [np.all(x <= 0, axis=1) for x in moving]
            stuck = ~np.any(held, axis=0)[:, None]
            value = np.where(stuck, moving[0], c + rows.resistance(self.cuts, still)[0])
        value = np.maximum(value[:-1], value[1:]) + self.margin
        broken = np.flatnonzero(np.any(value > 0, axis=1))
        if not len(broken):
            return None
        k = int(broken[-1])
        return k, [rows.names[i] for i in np.flatnonzero(value[k] > 0)]

    def unlimited(self) -> int | None:
        """The first segment on which nothing bounds u from above or from below, if there is one."""
        limits = self.limits
        if limits.acceleration or limits.total_acceleration or limits.rows is None:
            return None
        a = limits.rows.at(self.cuts)[0]
        for bounded in (np.any(a > 0, axis=1), np.any(a < 0, axis=1)):
            free = ~(bounded[1:] | bounded[:-1])
            if np.any(free):
                return int(np.argmax(free))
        return None

    def excess(self, motion: SegmentMotion) -> Array:
        """By how much a limit is exceeded within each segment (N,), as a part of it."""
        result = np.maximum(self._lateral(motion), self._total(motion)) - 1
        if self.limits.rows is not None:
            over, size = self._rows_excess(motion)
            result = np.maximum(result, np.max(over / size, axis=1, initial=-np.inf))
        return result

    def slack(self, motion: SegmentMotion) -> Array:
        """What is left of the nearest limit in the middle of each segment (N,), as a part."""
        half = np.array([0.5])
        z, u = motion.z_at(half), motion.u_at(half)
        bend = self.curvature[:, [self.curvature.shape[1] // 2]]
        limits = self.limits
        used = [z / self.speed]
        if limits.acceleration is not None:
            used.append(np.abs(u) / limits.acceleration)
        if limits.lateral_acceleration is not None:
            used.append(bend * z / limits.lateral_acceleration)
        if limits.total_acceleration is not None:
            used.append(np.hypot(u, bend * z) / limits.total_acceleration)
        if limits.rows is not None:
            s = (self.cuts[1:] + self.cuts[:-1]) / 2
            a, b, c = limits.rows.at(s)
            value = limits.rows.values(s, z[:, 0], u[:, 0])
            used.append(1 + value / (np.abs(a * u) + np.abs(b * z) + np.abs(c) + 1e-300))
        return np.maximum(1 - np.max(np.hstack(used), axis=1), 0.0)

    def caps(self) -> Array:
        """Highest z (N, 65) that speed and curvature leave within each segment."""
        cap = np.full(self.curvature.shape, self.speed)
        with np.errstate(divide="ignore"):
            for most in (self.limits.lateral_acceleration, self.limits.total_acceleration):
                if most is not None:
                    cap = np.minimum(cap, most / self.curvature)
        return cap

    def tighten(self, motion: SegmentMotion, tolerance: float) -> None:
        """Lower the limits where they are exceeded between the cuts by more than a part."""
        for name, ratio in (("sharper", self._lateral(motion)), ("weaker", self._total(motion))):
            more = np.where(ratio > 1 + tolerance, ratio * (1 + tolerance / 10), 1.0)
            setattr(self, name, getattr(self, name) * more)
        if self.limits.rows is not None:
            over, size = self._rows_excess(motion)
            self.margin = self.margin + np.where(over > tolerance * size, over, 0.0)

    def _lateral(self, motion: SegmentMotion) -> Array:
        """Highest |κ| z over its limit (N,): of the values, or of the parabola at their top."""
        if self.limits.lateral_acceleration is None:
            return np.zeros(len(self.cuts) - 1)
        f = self.curvature * motion.z_at(_DENSE)
        return _highest(f) / self.limits.lateral_acceleration

    def _total(self, motion: SegmentMotion) -> Array:
        """Highest √(u² + (κ z)²) over its limit (N,)."""
        if self.limits.total_acceleration is None:
            return np.zeros(len(self.cuts) - 1)
        f = np.hypot(motion.u_at(_DENSE), self.curvature * motion.z_at(_DENSE))
        return _highest(f) / self.limits.total_acceleration

    def _rows_excess(self, motion: SegmentMotion) -> tuple[Array, Array]:
        """The highest value of each row within each segment (N, m), and the size of its terms."""
        assert self.limits.rows is not None
        s = self.cuts[:-1, None] + np.diff(self.cuts)[:, None] * _INNER
        z, u = motion.z_at(_INNER), motion.u_at(_INNER)
        values = self.limits.rows.values(s.ravel(), z.ravel(), u.ravel())
        values = values.reshape(*s.shape, -1)
        a, b, c = (x[:-1] for x in self.limits.rows.at(self.cuts))
        size = np.abs(a * u[:, [0]]) + np.abs(b * z[:, [0]]) + np.abs(c) + 1e-300
        return np.max(values, axis=1), size


@dataclass(frozen=True, slots=True, eq=False)
class SegmentMotion:
    """A motion along segments on each of which u is linear in s, and z a parabola."""

    cuts: Array  #: (N + 1,) arc lengths of the ends of the segments
    z: Array  #: (N + 1,) at the cuts
    middle: Array  #: (N,) z₀ + h u₀ = z₁ − h u₁, where the tangents at both ends of a segment meet

    def z_at(self, part: Array) -> Array:
        """z at parts of each segment, (N, m)."""
        rest = 1 - part
        return (
            self.z[:-1, None] * rest**2
            + 2 * self.middle[:, None] * (part * rest)
            + self.z[1:, None] * part**2
        )

    def u_at(self, part: Array) -> Array:
        """u at parts of each segment, (N, m)."""
        h = np.diff(self.cuts)[:, None]
        start = (self.middle - self.z[:-1])[:, None] / h
        end = (self.z[1:] - self.middle)[:, None] / h
        return start + (end - start) * part

    def steps(self) -> Array:
        """Time on each segment (N,): tanh(ω t/2)/ω = h/(v₀ + v₁) with ω² = du/ds, tan below 0."""
        h, v = np.diff(self.cuts), np.sqrt(self.z)
        way, rate = h / (v[:-1] + v[1:]), self.gradients()
        x = np.sqrt(np.abs(rate)) * way
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = np.where(rate > 0, np.arctanh(np.minimum(x, 1.0)), np.arctan(x)) / x
        # x²/3 and no more below 1e-4
        return 2 * way * np.where(x > 1e-4, bent, 1 + np.sign(rate) * x**2 / 3)

    def gradients(self) -> Array:
        """du/ds on each segment (N,), 1/s²."""
        h = np.diff(self.cuts)
        return (self.z[:-1] - 2 * self.middle + self.z[1:]) / h**2


def _highest(f: Array) -> Array:
    """Highest value (N,) of each row, or that of the parabola at its top."""
    at, k = np.clip(np.argmax(f, axis=1), 1, f.shape[1] - 2), np.arange(len(f))
    f0, f1, f2 = f[k, at - 1], f[k, at], f[k, at + 1]
    bend = 2 * f1 - f0 - f2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            bend > np.abs(f2 - f0) / 2, f1 + (f2 - f0) ** 2 / (8 * bend), np.max(f, axis=1)
        )

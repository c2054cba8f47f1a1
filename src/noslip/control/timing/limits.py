"""Limits of motion along a path: speed, acceleration, lateral acceleration, and motors.

With z = ṡ² and u = s̈ = z'/2 (primes for d/ds) every limit is linear in u and z at each place:

    (1)  z ≤ v²,  |u| ≤ a,  |κ| z ≤ a_lateral,  and rows  a(s) u + b(s) z + c(s) ≤ 0

Dampers, friction and the like add a term r(s, ṡ) to a row. It counts by its tangent in z at the
motion that was found last,

    (2)  r(s, √z) ≈ r(s, √z₀) + (z − z₀) r'(s, √z₀) / (2 √z₀)

which is exact where the motion does not change any more.

Friction bounds the force of the ground in all directions. A vehicle that is driven, braked and led
sideways as a whole needs the friction coefficient √(s̈² + (κ ṡ²)²) / g ≤ μ. The circle is replaced
by a polygon inside it, whose sides are rows:

    (3)  cos α_k u + sin α_k |κ| z ≤ μ g cos(π/2n),   α_k from 0 to π in n steps

Single wheels may need more, where loads are not equal: the audit of a run shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noslip.control.paths.arc_length import arc_table, length
from noslip.control.paths.base import AbstractPath, Array, assign, positive
from noslip.errors import SimulationError

#: r and its derivative by ṡ, (n, m) each, of arc lengths (n,) and speeds (n,).
Resistance = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitRows:
    """Limits a(s) s̈ + b(s) ṡ² + c(s) + r(s, ṡ) ≤ 0, such as those of motors.

    Parameters
    ----------
    arc_lengths : (n,) rising from 0 to the length of the path, m; linear in between.
    inertia : (n, m) a, one column a limit.
    squared : (n, m) b.
    constant : (n, m) c.
    names : (m,) of the limits, for messages.
    resistance : r and dr/dṡ, (n, m) each, as a function of arc lengths (n,) and speeds (n,); none
        if nothing else depends on the speed.
    """

    arc_lengths: Array
    inertia: Array
    squared: Array
    constant: Array
    names: tuple[str, ...]
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

    def thinned(self, step: int) -> LimitRows:
        """Every `step`-th place of the rows, and the last."""
        kept = np.unique([*range(0, len(self.arc_lengths), step), len(self.arc_lengths) - 1])
        columns = {name: getattr(self, name)[kept] for name in _COLUMNS}
        return LimitRows(
            arc_lengths=self.arc_lengths[kept],
            names=self.names,
            resistance=self.resistance,
            **columns,
        )


_COLUMNS = ("inertia", "squared", "constant")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """Limits of speed and acceleration along a path; those not given do not apply.

    Parameters
    ----------
    speed : highest ṡ, m/s.
    acceleration : highest |s̈| along the path, m/s².
    lateral_acceleration : highest |κ| ṡ², m/s².
    rows : limits of motors and the like.
    """

    speed: float | None = None
    acceleration: float | None = None
    lateral_acceleration: float | None = None
    rows: LimitRows | None = None

    def __post_init__(self) -> None:
        given: dict[str, Any] = {}
        for name in ("speed", "acceleration", "lateral_acceleration"):
            value = getattr(self, name)
            if value is not None:
                given[name] = positive(value, name, "Limits")
        if self.acceleration is None and self.rows is None:
            raise SimulationError(
                "nothing limits the acceleration, so the fastest motion has none",
                "Limits",
                "give acceleration in m/s², or rows of motor limits",
            )
        assign(self, **given)


#: Chebyshev points of a segment, where curvature is known; not its ends, where it may jump.
_KNOWN = (1 - np.cos(np.pi * (2 * np.arange(10) + 1) / 20)) / 2
#: Where it is looked at in between, and the polynomials through the known values there.
_DENSE = np.array([1e-9, *np.linspace(0.0, 1.0, 65)[1:-1], 1 - 1e-9])
_RESAMPLE = np.polynomial.chebyshev.chebvander(2 * _DENSE - 1, 9) @ np.linalg.inv(
    np.polynomial.chebyshev.chebvander(2 * _KNOWN - 1, 9)
)
#: Where in a segment r is looked at: also near its ends, one of which may be at rest.
_INNER = np.array([0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0])


@dataclass(slots=True, eq=False)
class SegmentLimits:
    """Limits (1) on segments of a path, on each of which u is constant and z linear.

    Parameters
    ----------
    path, limits : of which these are the limits.
    cuts : (N + 1,) arc lengths of the ends of the segments.
    curvature : (N, 65) |κ| within each segment.
    near : (N + 1,) z at the cuts of the motion found last, at which (2) is taken.
    cap : (N + 1,) highest z at the cuts; lowered by `tighten`.
    margin : (N, m) by which the rows are raised; raised by `tighten`.
    """

    path: AbstractPath
    limits: Limits
    cuts: Array
    curvature: Array
    near: Array
    cap: Array
    margin: Array

    @classmethod
    def on(cls, path: AbstractPath, limits: Limits, cuts: Array, near: Array) -> SegmentLimits:
        """The limits on given segments, near a motion with given z at the cuts."""
        num = len(cuts) - 1
        cap = np.full(num + 1, np.inf if limits.speed is None else limits.speed**2)
        kappa = np.zeros((num, len(_DENSE)))
        if limits.lateral_acceleration is not None:
            s = cuts[:-1, None] + np.diff(cuts)[:, None] * _KNOWN
            table = arc_table(path)
            p = table.parameter(s.ravel())
            kappa = np.abs(table.curvature(p).reshape(s.shape) @ _RESAMPLE.T)
            sharpest = np.append(kappa[:, 0], 0.0)
            sharpest[1:] = np.maximum(sharpest[1:], kappa[:, -1])
            with np.errstate(divide="ignore"):
                cap = np.minimum(cap, limits.lateral_acceleration / sharpest)
        num_rows = len(limits.rows.names) if limits.rows else 0
        return cls(path, limits, cuts, kappa, near, cap, np.zeros((num, num_rows)))

    def rows(self) -> tuple[Array, list[str]]:
        """(N, m, 3) A, B, C of A u + B z + C ≤ 0 on each segment, z at its start, and names."""
        h, num = np.diff(self.cuts)[:, None], len(self.cuts) - 1
        one, zero = np.ones((num, 1)), np.zeros((num, 1))
        # 0 ≤ z ≤ cap
        A, B, C = [zero, zero], [-one, one], [zero, -self.cap[:-1, None]]
        names = ["speed of 0 or more", "speed and lateral acceleration"]
        if self.limits.acceleration is not None:
            A += [one, -one]
            B += [zero, zero]
            C += [-self.limits.acceleration * one] * 2
            names += ["acceleration", "acceleration"]
        if self.limits.rows is not None:
            a, b, c = self.limits.rows.near(self.cuts, self.near)
            # at the end of the segment z + 2 h u stands for z
            A += [a[:-1], a[1:] + 2 * h * b[1:]]
            B += [b[:-1], b[1:]]
            C += [c[:-1] + self.margin, c[1:] + self.margin]
            names += [*self.limits.rows.names] * 2
        return np.stack([np.hstack(x) for x in (A, B, C)], axis=2), names

    def unlimited(self) -> int | None:
        """The first segment on which nothing bounds u from above or from below, if there is one."""
        if self.limits.acceleration is not None or self.limits.rows is None:
            return None
        a = self.limits.rows.at(self.cuts)[0]
        for bounded in (np.any(a > 0, axis=1), np.any(a < 0, axis=1)):
            free = ~(bounded[1:] | bounded[:-1])
            if np.any(free):
                return int(np.argmax(free))
        return None

    def excess(self, z: Array, u: Array) -> Array:
        """By how much a limit is exceeded within each segment (N,), as a part of it."""
        result = self._lateral(z) - 1
        if self.limits.rows is not None:
            over, size = self._rows_excess(z, u)
            result = np.maximum(result, np.max(over / size, axis=1))
        return result

    def error(self, z: Array, u: Array) -> Array:
        """Relative excess of each segment (N,) over its limit, or its distance from the highest."""
        highest, chord = self.heights(z, u, np.broadcast_to(_DENSE, self.curvature.shape))
        missing = np.max(highest - chord, axis=1) / np.maximum(np.maximum(z[1:], z[:-1]), 1e-300)
        return np.maximum(self.excess(z, u), missing)

    def heights(self, z: Array, u: Array, part: Array) -> tuple[Array, Array]:
        """The highest z that is possible, and the chord's, at parts (N, m) of each segment."""
        h, z0, z1 = np.diff(self.cuts)[:, None], z[:-1, None], z[1:, None]
        most, least = (x[:, None] for x in self.bounds(z))
        highest = np.minimum(z0 + 2 * most * h * part, z1 - 2 * least * h * (1 - part))
        if self.limits.speed is not None:
            highest = np.minimum(highest, self.limits.speed**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.limits.lateral_acceleration is not None:
                x = part * (len(_DENSE) - 1)
                k = np.clip(x.astype(int), 0, len(_DENSE) - 2)
                near, far = (np.take_along_axis(self.curvature, i, axis=1) for i in (k, k + 1))
                kappa = near + (x - k) * (far - near)
                highest = np.minimum(highest, self.limits.lateral_acceleration / kappa)
            if self.limits.rows is not None:
                a, b, c = self._rows_within(part, z0 + (z1 - z0) * part)
                bound = np.where(b > 0, -(c + a * u[:, None, None]) / b, np.inf)
                highest = np.minimum(highest, np.min(bound, axis=2))
        return highest, z0 + (z1 - z0) * part

    def allows(self, part: Array, z: Array, u: Array) -> NDArray[np.bool_]:
        """Whether the rows allow u and z (N,) at a part of each segment (N,)."""
        if self.limits.rows is None:
            return np.ones(len(z), dtype=bool)
        terms = self._rows_within(part[:, None], z[:, None])
        a, b, c = (x[:, 0, :] for x in terms)
        value, size = a * u[:, None] + b * z[:, None] + c, np.abs(b * z[:, None]) + np.abs(c)
        return np.all(value <= 1e-9 * size, axis=1)

    def _rows_within(self, part: Array, z: Array) -> tuple[Array, Array, Array]:
        """a, b and c, each (N, m, number of rows), at parts (N, m) of each segment, near z."""
        assert self.limits.rows is not None
        s = self.cuts[:-1, None] + np.diff(self.cuts)[:, None] * part
        terms = self.limits.rows.near(s.ravel(), np.broadcast_to(z, s.shape).ravel())
        a, b, c = (x.reshape(*s.shape, -1) for x in terms)
        return a, b, c

    def tops(self) -> Array:
        """The highest z that speed and curvature leave everywhere on each segment (N,)."""
        top = np.full(len(self.cuts) - 1, np.inf)
        if self.limits.lateral_acceleration is not None:
            with np.errstate(divide="ignore"):
                top = self.limits.lateral_acceleration / np.max(self.curvature, axis=1)
        return top if self.limits.speed is None else np.minimum(top, self.limits.speed**2)

    def bounds(self, z: Array) -> tuple[Array, Array]:
        """The highest and the lowest u that is possible at both ends of each segment (N,)."""
        most = np.full(len(z) - 1, self.limits.acceleration or np.inf)
        least = -most
        if self.limits.rows is not None:
            a, b, c = self.limits.rows.near(self.cuts, z)
            with np.errstate(divide="ignore", invalid="ignore"):
                u = -(b * z[:, None] + c) / a
            up = np.min(np.where(a > 0, u, np.inf), axis=1)
            down = np.max(np.where(a < 0, u, -np.inf), axis=1)
            most = np.minimum.reduce([most, up[:-1], up[1:]])
            least = np.maximum.reduce([least, down[:-1], down[1:]])
        return most, least

    def tighten(self, z: Array, u: Array, tolerance: float) -> None:
        """Lower the limits where they are exceeded between the cuts by more than a part."""
        ratio = self._lateral(z)
        lower = np.where(ratio > 1 + tolerance, ratio * (1 + tolerance / 10), 1.0)
        self.cap[:-1] /= lower
        self.cap[1:] /= lower
        if self.limits.rows is not None:
            over, size = self._rows_excess(z, u)
            self.margin += np.where(over > tolerance * size, over, 0.0)

    def _lateral(self, z: Array) -> Array:
        """Highest |κ| z over its limit (N,): of the values, or of the parabola at their top."""
        if self.limits.lateral_acceleration is None:
            return np.zeros(len(z) - 1)
        f = self.curvature * (z[:-1, None] + np.diff(z)[:, None] * _DENSE)
        at, k = np.clip(np.argmax(f, axis=1), 1, f.shape[1] - 2), np.arange(len(f))
        f0, f1, f2 = f[k, at - 1], f[k, at], f[k, at + 1]
        bend = 2 * f1 - f0 - f2
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(
                bend > np.abs(f2 - f0) / 2, f1 + (f2 - f0) ** 2 / (8 * bend), np.max(f, axis=1)
            )
        return top / self.limits.lateral_acceleration

    def _rows_excess(self, z: Array, u: Array) -> tuple[Array, Array]:
        """The highest value of each row within each segment (N, m), and the size of its terms.

        With a, b, c and z linear in λ from 0 to 1, a row is a quadratic in λ. What it has of r is
        looked at on the way.
        """
        assert self.limits.rows is not None
        a, b, c = self.limits.rows.at(self.cuts)
        u, z0, dz = u[:, None], z[:-1, None], np.diff(z)[:, None]
        da, db, dc = (np.diff(x, axis=0) for x in (a, b, c))
        q0 = a[:-1] * u + b[:-1] * z0 + c[:-1]
        q1 = da * u + b[:-1] * dz + db * z0 + dc
        q2 = db * dz
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(q2 < 0, np.clip(-q1 / (2 * q2), 0.0, 1.0), 0.0)
        worst = np.maximum.reduce([q0, q0 + q1 + q2, q0 + top * (q1 + top * q2)])
        size = np.abs(a[:-1] * u) + np.abs(b[:-1] * z0) + np.abs(c[:-1]) + 1e-300
        if self.limits.rows.resistance is not None:
            along = np.diff(self.cuts)[:, None] * _INNER
            s, z_in = self.cuts[:-1, None] + along, z0 + dz * _INNER
            values = self.limits.rows.values(
                s.ravel(), z_in.ravel(), np.repeat(u[:, 0], len(_INNER))
            )
            worst = np.max(values.reshape(*s.shape, -1), axis=1)
        return worst, size


SIDES = 12  # of half the polygon: it loses 0.9 % at most


def friction_limits(path: AbstractPath, acceleration: float, count: int = 400) -> LimitRows:
    """Rows (3) of a path, for `Limits(rows=…)`.

    Parameters
    ----------
    path : what is driven along.
    acceleration : highest √(s̈² + (κ ṡ²)²), m/s²: the friction coefficient times g.
    count : number of places on the path.
    """
    table, whole = arc_table(path), length(path)
    breaks = table.arc_length(np.array(path.breaks))
    # the curvature may jump at a break: it is read on both sides
    hair = 1e-9 * whole
    inner = breaks[1:-1]
    s = np.unique([*np.linspace(0.0, whole, count), *(inner - hair), *(inner + hair)])
    bend = np.abs(table.curvature(table.parameter(s)))[:, None]
    alpha = np.linspace(0.0, np.pi, SIDES + 1)
    shape = (len(s), len(alpha))
    bound = acceleration * np.cos(np.pi / (2 * SIDES))
    return LimitRows(
        arc_lengths=s,
        inertia=np.broadcast_to(np.cos(alpha), shape),
        squared=bend * np.sin(alpha),
        constant=np.full(shape, -bound),
        names=("friction",) * len(alpha),
    )


def join_limits(first: LimitRows, second: LimitRows) -> LimitRows:
    """Both limits at once, on the places of both.

    Parameters
    ----------
    first, second : rows of one path.
    """
    end = min(first.arc_lengths[-1], second.arc_lengths[-1])
    s = np.unique(np.concatenate([first.arc_lengths, second.arc_lengths]))
    s = np.append(s[s < end * (1 - 1e-12)], end)
    columns = [np.hstack(both) for both in zip(first.at(s), second.at(s), strict=True)]
    parts = (first, second)

    def resistance(at: Array, v: Array) -> tuple[Array, Array]:
        none = [np.zeros((len(at), len(rows.names))) for rows in parts]
        found = [
            (zero, zero) if rows.resistance is None else rows.resistance(at, v)
            for rows, zero in zip(parts, none, strict=True)
        ]
        return np.hstack([r for r, _ in found]), np.hstack([rate for _, rate in found])

    return LimitRows(
        arc_lengths=s,
        inertia=columns[0],
        squared=columns[1],
        constant=columns[2],
        names=(*first.names, *second.names),
        resistance=resistance if any(rows.resistance for rows in parts) else None,
    )

"""Timing laws made of pieces: trapezoids, S-curves, given speeds at given times or places.

Pieces in time: the acceleration (trapezoid, schedule) or its rate (S-curve) is constant on each, so
that the speed is a polynomial of time there. Trapezoids and S-curves start and end at rest and stay
at rest before and after.

Pieces along the path (profile): the square of the speed, z = v², is interpolated, because s̈ =
z'/2: between places at which v > 0 by a cubic with continuous slope that never overshoots (Fritsch
and Carlson's), so that v(s) and s̈ are continuous. What moves with a speed that depends on s alone
never leaves a rest. Where the first or the last speed is zero, z is linear from there to the next
place and the acceleration constant, so the speed is a function of time there:

    (1)  v = v₁ t/t₁,  t₁ = 2 s₁/v₁      until t₁, and likewise backwards from the end
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import casadi as ca
import numpy as np
from numpy.polynomial import legendre

from noslip.base import SimulationError
from noslip.control.forms import Acceleration, Jerk
from noslip.control.paths.arc_length import length
from noslip.control.paths.base import AbstractPath, Array, assign, numbers, positive
from noslip.control.paths.selection import clamp, look_up, polynomial
from noslip.control.timing.laws import AbstractTiming
from noslip.model import Meaning

#: Time that a piece takes, s, its acceleration at the start and its jerk.
Piece = tuple[float, float, float]


class _FromRestToRest(AbstractTiming):
    """A timing law whose speed is a polynomial of t on each of a few pieces."""

    __slots__ = ()

    @abc.abstractmethod
    def _pieces(self, whole: float) -> list[Piece]:
        """Pieces along a path of a length."""

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """The polynomial of the piece at t."""
        return _speed(t, 0.0, self._pieces(length))

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Ends of the pieces, at which acceleration or jerk jumps."""
        return _ends(self._pieces(length(path)))


@dataclass(frozen=True, slots=True, init=False)
class Trapezoidal(_FromRestToRest):
    """From rest to rest with constant acceleration, then constant speed, then braking.

    A path too short for the full speed is driven with acceleration and braking only.

    Parameters
    ----------
    speed : the highest, m/s; kept as `top_speed`.
    acceleration : m/s², when braking too.
    """

    word = "trapezoidal"
    typical = {"acceleration": 0.5}
    kept_as = {"speed": "top_speed"}

    top_speed: float
    acceleration: Acceleration

    def __init__(self, *, speed: float, acceleration: Acceleration) -> None:
        assign(
            self,
            top_speed=positive(speed, "speed", "Trapezoidal"),
            acceleration=positive(acceleration, "acceleration", "Trapezoidal"),
        )

    def duration(self, path: AbstractPath) -> float:
        """Both ramps and what is between."""
        _, ramp, cruise = self._phases(length(path))
        return 2 * ramp + cruise

    def _pieces(self, whole: float) -> list[Piece]:
        v, ramp, cruise = self._phases(whole)
        return [(ramp, v / ramp, 0.0), (cruise, 0.0, 0.0), (ramp, -v / ramp, 0.0)]

    def _phases(self, whole: float) -> tuple[float, float, float]:
        """The highest speed reached, the time of each ramp, the time at that speed."""
        v = min(self.top_speed, math.sqrt(self.acceleration * whole))
        ramp = v / self.acceleration
        return v, ramp, max(0.0, whole / v - ramp)


@dataclass(frozen=True, slots=True, init=False)
class SCurve(_FromRestToRest):
    """From rest to rest like a trapezoid whose acceleration rises and falls at a limited rate.

    Parameters
    ----------
    speed : the highest, m/s; kept as `top_speed`.
    acceleration : the highest, m/s².
    jerk : its rate while it changes, m/s³.
    """

    word = "s-curve"
    typical = {"acceleration": 0.5, "jerk": 0.5}
    kept_as = {"speed": "top_speed"}

    top_speed: float
    acceleration: Acceleration
    jerk: Jerk

    def __init__(self, *, speed: float, acceleration: Acceleration, jerk: Jerk) -> None:
        assign(
            self,
            top_speed=positive(speed, "speed", "SCurve"),
            acceleration=positive(acceleration, "acceleration", "SCurve"),
            jerk=positive(jerk, "jerk", "SCurve"),
        )

    def duration(self, path: AbstractPath) -> float:
        """Both ramps and what is between."""
        _, change, hold, cruise = self._phases(length(path))
        return 2 * (2 * change + hold) + cruise

    def _pieces(self, whole: float) -> list[Piece]:
        v, change, hold, cruise = self._phases(whole)
        # written with the speed reached, so that the end is at rest to rounding
        a = v / (change + hold)
        j = a / change
        up = [(change, 0.0, j), (hold, a, 0.0), (change, a, -j)]
        down = [(change, 0.0, -j), (hold, -a, 0.0), (change, -a, j)]
        return [*up, (cruise, 0.0, 0.0), *down]

    def _phases(self, whole: float) -> tuple[float, float, float, float]:
        """The highest speed reached; the times of rising and of full acceleration, and of no more.

        With the ramp's time T(v) = 2 √(v/j) below v = a²/j and v/a + a/j above, both ramps take
        v T(v) of the path; where that is more than the path, v T(v) = L is solved for v.
        """
        v, a, j = self.top_speed, self.acceleration, self.jerk
        if v * self._ramp(v) > whole:
            v = (whole**2 * j / 4) ** (1 / 3)
            if v > a * a / j:
                v = (math.sqrt((a * a / j) ** 2 + 4 * a * whole) - a * a / j) / 2
        ramp = self._ramp(v)
        change = min(math.sqrt(v / j), a / j)
        return v, change, max(0.0, ramp - 2 * change), max(0.0, whole / v - ramp)

    def _ramp(self, v: float) -> float:
        a, j = self.acceleration, self.jerk
        return v / a + a / j if v > a * a / j else 2 * math.sqrt(v / j)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSchedule(AbstractTiming):
    """Given speeds at given times, linear in between: the acceleration is constant on each piece.

    With gradients c = ds̈/ds the acceleration of a piece is linear in the arc length instead, which
    is what the fastest motions along a path have. From a speed v₀ and an acceleration a₀,

        (1)  ṡ = v₀ C₀(x) + a₀ t C₁(x),  s = v₀ t C₁(x) + a₀ t² C₂(x),  x = c t²

    where C_n(x) = Σ x^k/(2k + n)!: cosh √x, sinh √x/√x and (cosh √x − 1)/x.

    Parameters
    ----------
    times : (n,) rising from 0, s.
    speeds : (n,) m/s, not negative; the first and the last hold before and after.
    gradients : (n − 1,) of the acceleration by the arc length on each piece, 1/s²; none for 0.
    """

    word = "schedule"

    times: Annotated[tuple[float, ...], Meaning(unit="s")]
    speeds: tuple[float, ...]
    gradients: Annotated[tuple[float, ...], Meaning(unit="1/s**2")] = ()

    def __post_init__(self) -> None:
        times, speeds = _rising(self, "times")
        if min(speeds) < 0:
            raise SimulationError(
                f"speeds[{int(np.argmin(speeds))}] is {min(speeds):g}, expected 0 or more",
                "SpeedSchedule(speeds=…)",
                "give speeds along the path, and reversed_path to drive it from its end",
            )
        gradients = numbers(self.gradients, "gradients", "SpeedSchedule")
        if gradients and len(gradients) != len(times) - 1:
            raise SimulationError(
                f"{len(gradients)} gradients are given for {len(times) - 1} pieces",
                "SpeedSchedule(gradients=…)",
                "give one gradient for each piece between two times, or none",
            )
        bend = np.abs(gradients) * np.diff(times) ** 2 if gradients else np.zeros(1)
        if np.max(bend) > STEEPEST:
            k = int(np.argmax(bend))
            raise SimulationError(
                f"the acceleration changes {np.max(bend):.3g} times over on the piece from "
                f"{times[k]:g} s, more than {STEEPEST:g}",
                "SpeedSchedule(gradients=…)",
                "give more times there",
            )
        assign(self, gradients=gradients)

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Linear in t between the times, or (1)."""
        if not self.gradients:
            return _speed(t, self.speeds[0], self._pieces())
        v, a, c = self._rows()
        end = 0.0 if self.speeds[-1] < 1e-9 * max(self.speeds) else self.speeds[-1]
        rows = np.column_stack([self.times, [*v, end], [*a, 0.0], [*c, 0.0]])
        start, v0, a0, rate = look_up(t, self.times, rows)
        tau = t - start
        x = rate * tau**2
        return v0 * _cosine_like(x, 0) + a0 * tau * _cosine_like(x, 1)

    def duration(self, path: AbstractPath) -> float:
        """The last time, after checking that these speeds bring one to the end of `path`."""
        driven, whole = float(self.places()[-1]), length(path)
        if abs(driven - whole) > 1e-6 * whole:
            raise SimulationError(
                f"these speeds cover {driven:.9g} m, and the path is {whole:.9g} m long",
                f"SpeedSchedule on {type(path).__name__}",
                "make the schedule for this path, for instance by least_time(path, limits)",
            )
        return self.times[-1]

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The times, at each of which the acceleration jumps or its gradient does."""
        return _ends(self._pieces())

    def places(self) -> Array:
        """(n,) arc lengths at the times, m."""
        v, a, c = self._rows()
        step = np.diff(self.times)
        x = c * step**2
        way = v * step * _cosine_like(x, 1) + a * step**2 * _cosine_like(x, 2)
        return np.concatenate([[0.0], np.cumsum(way)])

    def along(self, arc_lengths: Array) -> tuple[Array, Array]:
        """ṡ² and s̈ at arc lengths (n,), just after them: ṡ² = v₀² + 2 a₀ s + c s² on a piece."""
        v, a, c = self._rows()
        start = self.places()
        k = np.clip(np.searchsorted(start, arc_lengths, side="right") - 1, 0, len(v) - 1)
        way = arc_lengths - start[k]
        z = v[k] ** 2 + way * (2 * a[k] + c[k] * way)
        return np.maximum(z, 0.0), a[k] + c[k] * way

    def _rows(self) -> tuple[Array, Array, Array]:
        """v₀, a₀ and c of each piece."""
        step, v = np.diff(self.times), np.array(self.speeds)
        c = np.array(self.gradients) if self.gradients else np.zeros(len(step))
        x = c * step**2
        a = (v[1:] - v[:-1] * _cosine_like(x, 0)) / (step * _cosine_like(x, 1))
        return v[:-1], a, c

    def _pieces(self) -> list[Piece]:
        steps = np.diff(self.times)
        slopes = np.diff(self.speeds) / steps
        return [(float(h), float(a), 0.0) for h, a in zip(steps, slopes, strict=True)]


#: Highest |c| t² of a piece of a schedule, up to which its series is exact to rounding.
STEEPEST, TERMS = 4.0, 12


def _cosine_like(x: Any, n: int) -> Any:
    """C_n of (1): Σ x^k/(2k + n)! by Horner's rule."""
    result = 0.0 * x + 1 / math.factorial(2 * TERMS + n)
    for k in range(TERMS - 1, -1, -1):
        result = result * x + 1 / math.factorial(2 * k + n)
    return result


def _rising(
    law: SpeedSchedule | SpeedProfile, name: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Check and convert the speeds of a law and what they are given at, which rises from 0."""
    where, words = type(law).__name__, name.replace("_", " ")
    places = numbers(getattr(law, name), name, where)
    speeds = numbers(law.speeds, "speeds", where)
    if len(places) != len(speeds) or len(places) < 2:
        raise SimulationError(
            f"{len(speeds)} speeds are given for {len(places)} {words}",
            where,
            f"give as many speeds as {words}, at least 2",
        )
    if places[0] != 0 or np.any(np.diff(places) <= 0):
        raise SimulationError(
            f"the {words} do not rise from 0",
            f"{where}({name}=…)",
            f"sort the {words}, start with 0 and give none twice",
        )
    assign(law, **{name: places}, speeds=speeds)
    return places, speeds


def _ends(pieces: Sequence[Piece]) -> tuple[float, ...]:
    """Times at which the pieces end, the same sums as in `_speed`."""
    return tuple(float(t) for t in np.cumsum([time for time, _, _ in pieces if time > 0]))


def _speed(t: ca.SX, first: float, pieces: Sequence[Piece]) -> ca.SX:
    """Speed from its value at t = 0 and the pieces after it."""
    rows, at, v = [(0.0, first, 0.0, 0.0)], 0.0, first
    for time, a, j in pieces:
        if time > 0:
            rows.append((at, v, a, j / 2))
            at += time
            v += time * (a + time * j / 2)
    # what has come to rest stays at rest
    rows.append((at, 0.0 if abs(v) < 1e-9 * max(row[1] for row in rows) else v, 0.0, 0.0))
    start, v0, a0, j0 = look_up(t, [row[0] for row in rows], rows, is_printed=True)
    u = t - start
    return v0 + u * (a0 + u * j0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedProfile(AbstractTiming):
    """Given speeds at given places, with continuous acceleration in between.

    Parameters
    ----------
    arc_lengths : (n,) rising from 0 to the length of the path, m.
    speeds : (n,) m/s, positive; the first and the last may be zero. After the end the last holds.
    """

    word = "profile"

    arc_lengths: Annotated[tuple[float, ...], Meaning(unit="m")]
    speeds: tuple[float, ...]

    def __post_init__(self) -> None:
        places, speeds = _rising(self, "arc_lengths")
        # only the ends may be at rest, and not both if there is nothing between them
        inner = range(1, len(speeds) - 1) if len(speeds) > 2 or max(speeds) > 0 else (1,)
        stops = [k for k, v in enumerate(speeds) if v < 0 or (v == 0 and k in inner)]
        if stops:
            k = stops[0]
            raise SimulationError(
                f"the speed at {places[k]:g} m is {speeds[k]:g} m/s, so the end is not reached",
                "SpeedProfile(speeds=…)",
                "give positive speeds; only the first and the last may be zero",
            )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """√z(s), and (1) next to a rest."""
        profile = _interpolate(self.arc_lengths, self.speeds)
        start, *c = look_up(s, profile.starts, profile.table)
        first, last = profile.starts[0], profile.end
        v = ca.sqrt(polynomial(clamp(s, first, last) - start, c))
        if self.speeds[0] == 0:
            t1 = profile.start_time
            v = ca.if_else(t < t1, clamp(t, 0.0, t1) * (self.speeds[1] / t1), v)
        if self.speeds[-1] == 0:
            t1, total = profile.end_time, profile.total_time
            rest = clamp(total - t, 0.0, t1)
            v = ca.if_else(t < total - t1, v, rest * (self.speeds[-2] / t1))
        return v

    def duration(self, path: AbstractPath) -> float:
        """∫ ds/v, after checking that the places span `path`."""
        whole = length(path)
        if abs(self.arc_lengths[-1] - whole) > 1e-6 * whole:
            raise SimulationError(
                f"the arc lengths go to {self.arc_lengths[-1]:.9g} m, and the path is "
                f"{whole:.9g} m long",
                f"SpeedProfile on {type(path).__name__}",
                "give speeds from 0 to length(path)",
            )
        return _interpolate(self.arc_lengths, self.speeds).total_time

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The times at which the given places are reached."""
        return _interpolate(self.arc_lengths, self.speeds).times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Profile:
    starts: tuple[float, ...]  # of the pieces of z(s) between the rests
    end: float
    table: Array  # start and cubic of each
    start_time: float  # from rest to the first piece
    end_time: float  # from the last piece to rest
    times: tuple[float, ...]  # at which the pieces and the rests end

    @property
    def total_time(self) -> float:
        return self.times[-1]


@lru_cache(maxsize=64)
def _interpolate(arc_lengths: tuple[float, ...], speeds: tuple[float, ...]) -> _Profile:
    from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

    s, v = np.array(arc_lengths), np.array(speeds)
    starts_at_rest, ends_at_rest = v[0] == 0, v[-1] == 0
    z = v**2
    slopes = PchipInterpolator(s, z).derivative()(s) if len(s) > 2 else np.diff(z) / np.diff(s)
    slopes = np.broadcast_to(slopes, s.shape).copy()
    # next to a rest z is linear; a steeper slope there cannot make the next cubic negative
    if starts_at_rest:
        slopes[:2] = z[1] / s[1]
    if ends_at_rest:
        slopes[-2:] = -z[-2] / (s[-1] - s[-2])
    first, last = int(starts_at_rest), len(s) - int(ends_at_rest)
    start_time = 2 * (s[1] - s[0]) / v[1] if starts_at_rest else 0.0
    end_time = 2 * (s[-1] - s[-2]) / v[-2] if ends_at_rest else 0.0
    if last - first < 2:
        # nothing between the rests but one place, or one piece
        table = np.array([[s[first], 0.0, 0.0, 0.0, z[first]]])
        middle = [0.0]
    else:
        cubics = CubicHermiteSpline(s[first:last], z[first:last], slopes[first:last])
        table = np.column_stack([s[first : last - 1], cubics.c.T])
        middle = [_time(row, s[first + k + 1]) for k, row in enumerate(table)]
    return _Profile(
        starts=tuple(float(x) for x in table[:, 0]),
        end=float(s[last - 1]),
        table=table,
        start_time=float(start_time),
        end_time=float(end_time),
        times=tuple(float(t) for t in np.cumsum([start_time, *middle, end_time])),
    )


def _time(row: Array, end: float) -> float:
    """∫ ds/√z over one cubic, by Gauss's rule on halves until it no longer changes."""
    x, w = legendre.leggauss(16)
    start, c = row[0], row[1:]
    before, num = np.inf, 1
    while num <= 4096:
        edges = np.linspace(0.0, end - start, num + 1)
        half = np.diff(edges)[:, None] / 2
        u = edges[:-1, None] + half * (1 + x)
        now = float(np.sum(half * w / np.sqrt(np.polyval(c, u))))
        if abs(now - before) <= 1e-14 * now:
            return now
        before, num = now, 2 * num
    return before

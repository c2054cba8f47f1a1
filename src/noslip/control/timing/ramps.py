"""Timing laws made of pieces in time: trapezoids, S-curves, and given speeds at given times.

The acceleration (trapezoid) or its rate (S-curve) is constant on each piece, so that the speed is a
polynomial of time there. All start and end at rest and stay at rest before and after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.control.paths.base import AbstractPath, assign, numbers, positive
from noslip.control.paths.path import length
from noslip.control.paths.selection import look_up
from noslip.control.timing.laws import AbstractTiming
from noslip.errors import SimulationError

#: Time that a piece takes, s, its acceleration at the start and its jerk.
Piece = tuple[float, float, float]


@dataclass(frozen=True, slots=True, init=False)
class Trapezoidal(AbstractTiming):
    """From rest to rest with constant acceleration, then constant speed, then braking.

    A path too short for the full speed is driven with acceleration and braking only.

    Parameters
    ----------
    speed : the highest, m/s; kept as `top_speed`.
    acceleration : m/s², when braking too.
    """

    top_speed: float
    acceleration: float

    def __init__(self, *, speed: float, acceleration: float) -> None:
        assign(
            self,
            top_speed=positive(speed, "speed", "Trapezoidal"),
            acceleration=positive(acceleration, "acceleration", "Trapezoidal"),
        )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Linear in t on each of three pieces."""
        return _speed(t, 0.0, self._pieces(length))

    def duration(self, path: AbstractPath) -> float:
        """Both ramps and what is between."""
        _, ramp, cruise = self._phases(length(path))
        return 2 * ramp + cruise

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Where acceleration begins and ends."""
        return _ends(self._pieces(length(path)))

    def _pieces(self, whole: float) -> list[Piece]:
        v, ramp, cruise = self._phases(whole)
        return [(ramp, v / ramp, 0.0), (cruise, 0.0, 0.0), (ramp, -v / ramp, 0.0)]

    def _phases(self, whole: float) -> tuple[float, float, float]:
        """The highest speed reached, the time of each ramp, the time at that speed."""
        v = min(self.top_speed, math.sqrt(self.acceleration * whole))
        ramp = v / self.acceleration
        return v, ramp, max(0.0, whole / v - ramp)


@dataclass(frozen=True, slots=True, init=False)
class SCurve(AbstractTiming):
    """From rest to rest like a trapezoid whose acceleration rises and falls at a limited rate.

    Parameters
    ----------
    speed : the highest, m/s; kept as `top_speed`.
    acceleration : the highest, m/s².
    jerk : its rate while it changes, m/s³.
    """

    top_speed: float
    acceleration: float
    jerk: float

    def __init__(self, *, speed: float, acceleration: float, jerk: float) -> None:
        assign(
            self,
            top_speed=positive(speed, "speed", "SCurve"),
            acceleration=positive(acceleration, "acceleration", "SCurve"),
            jerk=positive(jerk, "jerk", "SCurve"),
        )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Quadratic in t on each of seven pieces."""
        return _speed(t, 0.0, self._pieces(length))

    def duration(self, path: AbstractPath) -> float:
        """Both ramps and what is between."""
        _, change, hold, cruise = self._phases(length(path))
        return 2 * (2 * change + hold) + cruise

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Where the jerk jumps."""
        return _ends(self._pieces(length(path)))

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

    Parameters
    ----------
    times : (n,) rising from 0, s.
    speeds : (n,) m/s, not negative; the first and the last hold before and after.
    """

    times: tuple[float, ...]
    speeds: tuple[float, ...]

    def __post_init__(self) -> None:
        where = "SpeedSchedule"
        times, speeds = numbers(self.times, "times", where), numbers(self.speeds, "speeds", where)
        if len(times) != len(speeds) or len(times) < 2:
            raise SimulationError(
                f"{len(speeds)} speeds are given for {len(times)} times",
                where,
                "give as many speeds as times, at least 2",
            )
        if times[0] != 0 or np.any(np.diff(times) <= 0):
            raise SimulationError(
                "the times do not rise from 0",
                f"{where}(times=…)",
                "sort the times, start with 0 and give none twice",
            )
        if min(speeds) < 0:
            raise SimulationError(
                f"speeds[{int(np.argmin(speeds))}] is {min(speeds):g}, expected 0 or more",
                f"{where}(speeds=…)",
                "give speeds along the path, and reversed_path to drive it from its end",
            )
        assign(self, times=times, speeds=speeds)

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Linear in t between the times."""
        return _speed(t, self.speeds[0], self._pieces())

    def duration(self, path: AbstractPath) -> float:
        """The last time, after checking that these speeds bring one to the end of `path`."""
        t, v = np.array(self.times), np.array(self.speeds)
        driven, whole = float(np.sum(np.diff(t) * (v[1:] + v[:-1]) / 2)), length(path)
        if abs(driven - whole) > 1e-6 * whole:
            raise SimulationError(
                f"these speeds cover {driven:.9g} m, and the path is {whole:.9g} m long",
                f"SpeedSchedule on {type(path).__name__}",
                "make the schedule for this path, for instance by fastest(path, limits)",
            )
        return self.times[-1]

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The times, at each of which the acceleration jumps."""
        return _ends(self._pieces())

    def _pieces(self) -> list[Piece]:
        steps = np.diff(self.times)
        slopes = np.diff(self.speeds) / steps
        return [(float(h), float(a), 0.0) for h, a in zip(steps, slopes, strict=True)]


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
    start, v0, a0, j0 = look_up(t, [row[0] for row in rows], rows)
    u = t - start
    return v0 + u * (a0 + u * j0)

"""Least time along a path within limits, by reachability analysis.

The path is cut at arc lengths s_0 … s_N. On each segment the acceleration u is linear in s, with
values of its own at both ends, so that z = ṡ² is a parabola. Its tangents at the ends meet in the
middle, at y:

    (1)  y = z_k + h u_k⁺ = z_{k+1} − h u_{k+1}⁻,   h = s_{k+1} − s_k

Limits are imposed at both ends of each segment: (z_k, u_k⁺) and (z_{k+1}, u_{k+1}⁻) are in convex
sets, and only y ties them together. Two passes give the highest speed everywhere (H. Pham and Q.-C.
Pham, "A new approach to time-optimal path parameterization based on reachability analysis", IEEE
Transactions on Robotics 34, 2018):

    backward  the interval of y from which some u_{k+1}⁻ leads into the interval of z_{k+1}, and the
              interval of z_k from which some u_k⁺ leads into that
    forward   from the start, the largest z_{k+1} that stays in these intervals

Each of these intervals is an intersection of half-lines, in closed form, and contains z = 0 to the
last bit where the limits allow a vehicle to stand: then no rounding makes them empty.

Departures from the article: u is linear on segments instead of constant, so that what is lost is of
the second order; where the acceleration switches inside a segment the place is found and becomes a
cut of its own, so that bang-bang motions are exact; where a limit is exceeded between the cuts, the
segment is halved; what little excess is left is taken off the limit; and what is not linear in z
(dampers, friction in joints) is linearized again and again at the motion found last.

`least_time` takes limits as numbers along the path. Those of the ground and of motors depend on the
vehicle: :class:`LeastTime` names them, and `track` finds the timing for its vehicle and path.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from noslip.base import SimulationError
from noslip.control.follower import Follower
from noslip.control.forms import Acceleration, Pure, read_entries, read_number
from noslip.control.paths.arc_length import arc_table, length, where
from noslip.control.paths.base import AbstractPath, Array, number, positive
from noslip.control.timing.laws import AbstractTimingPlan
from noslip.control.timing.limits import EndLimits, LimitRows, Limits, SegmentLimits, SegmentMotion
from noslip.control.timing.motor_limits import motor_limits
from noslip.control.timing.piecewise import SpeedSchedule
from noslip.engines import System
from noslip.expressions import nominal

CUTTING_ROUNDS = 20
MOST_CUTS = 50  # for each of the first segments
TIGHTENING_ROUNDS = 60
COARSE = 1e-5  # relative excess of a limit between two cuts above which others are made
LOSS = 1e-7  # part of the whole time lost on a segment above which it is cut
EXCESS = 1e-7  # relative excess that is left
CLOSEST = 1e-7  # distance of two cuts, as a part of the length
TANGENTS = 60  # how often what resists the motion is linearized again,
SETTLED = 1e-9  # until z changes by less than this part of it;
SHRINKING = 0.1  # z at which it is linearized becomes no smaller part of itself at once
HALVES = 10  # how often the first and the last segment are halved for it, where ṡ changes fast
LOWEST, BISECTIONS = 1e-8, 20  # part of z that is looked at for one that can be held, and how often

#: Lines p z + q that bound u, and (|κ|, a) of a disk or nothing, at one end of a segment.
Side = tuple[list[tuple[float, float]], list[tuple[float, float]], tuple[float, float] | None]


def least_time(
    path: AbstractPath,
    limits: Limits,
    *,
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    count: int = 500,
) -> SpeedSchedule:
    """The fastest motion along a path: from rest to rest, if no other speeds are given.

    Parameters
    ----------
    path : what is driven along.
    limits : what is exceeded at no place and no time.
    start_speed, end_speed : at the ends of the path, m/s.
    count : number of segments to begin with; more are made where they are needed.

    Returns
    -------
    timing : SpeedSchedule with the speeds and times at the cuts, and the gradients of the
        acceleration between them; its last time is the duration.

    Raises
    ------
    SimulationError : no motion satisfies the limits; it says where on the path, and which limits.
    """
    ends = (
        number(start_speed, "start_speed", "least_time"),
        number(end_speed, "end_speed", "least_time"),
    )
    if min(ends) < 0 or count < 2:
        raise SimulationError(
            f"start_speed is {ends[0]:g}, end_speed {ends[1]:g} and count {count}",
            "least_time(path, limits, …)",
            "give speeds of 0 or more, and a count of 2 or more",
        )
    cuts = _first_cuts(path, limits, count)
    near = _first_guess(path, limits, cuts, ends)
    for _ in range(CUTTING_ROUNDS):
        segments = SegmentLimits.on(path, limits, cuts, near)
        if (free := segments.unlimited()) is not None:
            _refuse(segments, free, "nothing limits the acceleration, or nothing the braking")
        motion = _settle(segments, ends)
        finer = _merged(cuts, _more_cuts(segments, motion))
        if len(finer) == len(cuts) or len(finer) > MOST_CUTS * count:
            break
        cuts, near = finer, _between(motion, finer)
    for _ in range(TIGHTENING_ROUNDS):
        if np.all(segments.excess(motion) <= EXCESS):
            return _schedule(motion)
        segments.tighten(motion, EXCESS)
        motion = _settle(segments, ends)
    raise SimulationError(
        f"limits are still exceeded between {len(cuts)} grid points",
        f"fastest motion on {type(path).__name__}",
        f"give a larger count: least_time(path, limits, count={4 * count})",
    )


def _first_guess(
    path: AbstractPath, limits: Limits, cuts: Array, ends: tuple[float, float]
) -> Array:
    """z (N + 1,) at which resistance is linearized first: as without it, or as it can be held.

    Where resistance grows ever more slowly with z its tangent is above it, but at rest not above
    what it is at a z that can be held: no motion is refused that could be.
    """
    rest = np.zeros(len(cuts))
    rows = limits.rows
    if rows is None or rows.resistance is None:
        return rest
    free = dataclasses.replace(limits, rows=dataclasses.replace(rows, resistance=None))
    try:
        z = _solve(SegmentLimits.on(path, free, cuts, rest), ends).z
    except SimulationError:
        # only with what resists it there is a motion, if at all
        z = np.full(len(cuts), 1.0 if limits.speed is None else limits.speed**2)
        z[[0, -1]] = np.square(ends)
    low, high = np.full(len(cuts), LOWEST), np.ones(len(cuts))
    if np.all(is_held := np.all(rows.values(cuts, z, rest) <= 0, axis=1)):
        return z
    for _ in range(BISECTIONS):
        part = np.sqrt(low * high)
        holds = np.all(rows.values(cuts, part * z, rest) <= 0, axis=1)
        low, high = np.where(holds, part, low), np.where(holds, high, part)
    return np.where(is_held, z, low * z)


def _settle(segments: SegmentLimits, ends: tuple[float, float]) -> SegmentMotion:
    """The fastest motion on the segments, with resistance as it is there."""
    motion = _solve(segments, ends)
    rows = segments.limits.rows
    if rows is not None and rows.resistance is not None:
        for _ in range(TANGENTS):
            z = motion.z
            is_settled = np.all(np.abs(z - segments.near) <= SETTLED * z)
            # tangents that do not agree with each other yet may bring it nearly to rest
            segments.near = np.maximum(z, SHRINKING * segments.near)
            if is_settled:
                break
            motion = _solve(segments, ends)
    still = np.flatnonzero((motion.z[:-1] <= 0) & (motion.z[1:] <= 0))
    if len(still):
        _refuse(segments, int(still[0]), "the limits allow no motion away from rest")
    return motion


def _solve(segments: SegmentLimits, ends: tuple[float, float]) -> SegmentMotion:
    """The fastest motion on the segments, with resistance by its tangents."""
    steps, speed = np.diff(segments.cuts), segments.speed
    first, last = ends[0] ** 2, ends[1] ** 2
    start, end = segments.ends()
    if last > end.high[-1] * (1 + 1e-12) and end.low[-1] <= end.high[-1]:
        allowed = f"the limits allow {np.sqrt(max(end.high[-1], 0.0)):.6g} m/s"
        _refuse(segments, len(steps), f"the end speed is {ends[1]:g} m/s, and {allowed}")
    h, low, high = steps.tolist(), [last] * (len(steps) + 1), [last] * (len(steps) + 1)
    starts, finals = _sides(start), _sides(end)
    own_low, own_high = start.low.tolist(), start.high.tolist()
    end_low, end_high = end.low.tolist(), end.high.tolist()
    lowest, highest = end.turning(steps, 1).tolist(), end.turning(steps, -1).tolist()
    for k in range(len(h) - 1, -1, -1):
        # z at the end of the segment, y in its middle, z at its start
        z0, z1 = max(low[k + 1], end_low[k]), min(high[k + 1], end_high[k])
        if z0 > z1 + 1e-12 * abs(z1):
            _refuse_conflict(segments, k, ends)
        y0 = max(_tangent(finals[k], -h[k], min(max(lowest[k], z0), z1), True), 0.0)
        y1 = min(_tangent(finals[k], -h[k], min(max(highest[k], z0), z1), False), speed)
        z0, z1 = _through(starts[k], h[k], y0, y1, own_low[k], own_high[k])
        if z0 > z1 + 1e-12 * abs(z1):
            _refuse_conflict(segments, k, ends)
        low[k], high[k] = min(z0, z1), z1
    tolerance = 1e-12 * max(first, high[0])
    if not low[0] - tolerance <= first <= high[0] + tolerance:
        _refuse_standing(segments)
        bound = f"from {np.sqrt(max(low[0], 0)):.6g} to {np.sqrt(high[0]):.6g} m/s"
        _refuse(segments, 0, f"the start speed is {ends[0]:g} m/s, and the limits allow {bound}")
    found, here = [first], first
    for k in range(len(h)):
        y1 = min(_tangent(starts[k], h[k], here, True), speed)
        y0 = max(_tangent(starts[k], h[k], here, False), 0.0)
        least, most = max(low[k + 1], end_low[k]), min(high[k + 1], end_high[k])
        _, here = _through(finals[k], -h[k], y0, y1, least, most)
        here = max(here, least)
        found.append(here)
    z = np.array(found)
    # the acceleration is constant where that is allowed
    floor = np.maximum(z[:-1] + steps * start.least(z[:-1]), z[1:] - steps * end.most(z[1:]))
    roof = np.minimum(z[:-1] + steps * start.most(z[:-1]), z[1:] - steps * end.least(z[1:]))
    even = np.minimum(np.minimum((z[:-1] + z[1:]) / 2, roof), speed)
    return SegmentMotion(segments.cuts, z, np.maximum(np.maximum(even, floor), 0.0))


def _sides(limits: EndLimits) -> list[Side]:
    """Limits at one end of each segment, as plain numbers."""
    above, below = (_listed(np.isfinite(q), p, q) for p, q in (limits.above, limits.below))
    disks = zip(limits.bend.tolist(), limits.disk.tolist(), strict=True)
    round_ = [(bend, disk) if disk < np.inf else None for bend, disk in disks]
    return list(zip(above, below, round_, strict=True))


def _tangent(side: Side, h: float, z: float, is_most: bool) -> float:
    """z + h u with the highest u at z, or the lowest; it is y where h is negative at an end."""
    above, below, disk = side
    room = np.inf if disk is None else math.sqrt(max(disk[1] ** 2 - (disk[0] * z) ** 2, 0.0))
    if is_most:
        return z + h * min([room, *(p * z + q for p, q in above)])
    return z + h * max([-room, *(p * z + q for p, q in below)])


def _through(
    side: Side, h: float, y0: float, y1: float, low: float, high: float
) -> tuple[float, float]:
    """Lowest and highest z from low to high with z + h u from y0 to y1, for some allowed u.

    With lines p z + q over u this is (1 + h p) z + h q ≥ y0, and ≤ y1 with lines under it; the
    other way round where h is negative. With a disk it is between the roots of
    z ± |h| √(a² − κ² z²) = y:

        z = (y ± |h| √(a² (1 + h² κ²) − κ² y²)) / (1 + h² κ²)
    """
    above, below, disk = side
    for lines, y, sign in (
        ((above, y0, 1.0), (below, y1, -1.0))
        if h > 0
        else (
            (above, y1, -1.0),
            (below, y0, 1.0),
        )
    ):
        for p, q in lines:
            # sign · ((1 + h p) z + h q − y) ≥ 0
            slope, rest = sign * (1 + h * p), sign * (y - h * q)
            if slope > 0:
                low = max(low, rest / slope)
            elif slope < 0:
                high = min(high, rest / slope)
            elif rest > 1e-12 * abs(y):
                return np.inf, -np.inf
    if disk is not None:
        bend, most = disk
        square = 1 + (h * bend) ** 2
        for y, sign in ((y0, -1.0), (y1, 1.0)):
            whole = most**2 * square
            left = whole - (bend * y) ** 2
            # the highest y of all is known to rounding
            if left < -1e-9 * whole:
                if sign < 0:
                    return np.inf, -np.inf
                continue
            reach = abs(h) * math.sqrt(max(left, 0.0))
            if sign < 0:
                low = max(low, (y - reach) / square)
                if bend * y > most:
                    high = min(high, (y + reach) / square)
            elif bend * y < most:
                high = min(high, (y + reach) / square)
    return low, high


def _listed(chosen: NDArray[np.bool], *columns: NDArray[Any]) -> list[list[Any]]:
    """Tuples of the chosen values of each row of tables, which are of the same shape."""
    values = list(zip(*(column[chosen].tolist() for column in columns), strict=True))
    ends = np.cumsum(np.sum(chosen, axis=1)).tolist()
    return [values[start:end] for start, end in pairwise([0, *ends])]


def _schedule(motion: SegmentMotion) -> SpeedSchedule:
    """Times and speeds at the cuts at which the acceleration is not as before."""
    times = np.concatenate([[0.0], np.cumsum(motion.steps())])
    u0, u1 = motion.u_at(np.array([0.0, 1.0])).T
    scale = 1e-9 * max(np.max(np.abs(u0)), np.max(np.abs(u1)))
    # one piece where the acceleration is the same constant
    even = np.abs(u1 - u0) <= scale
    changes = ~(even[1:] & even[:-1] & (np.abs(np.diff(u0)) <= scale))
    kept = np.concatenate([[True], changes, [True]])
    gradients = np.where(even, 0.0, motion.gradients())[kept[:-1]]
    return SpeedSchedule(
        times=tuple(times[kept].tolist()),
        speeds=tuple(np.sqrt(motion.z[kept]).tolist()),
        gradients=tuple(gradients.tolist()) if np.any(gradients) else (),
    )


def _first_cuts(path: AbstractPath, limits: Limits, count: int) -> Array:
    """Equal segments, cut also where the path or the rows are not smooth."""
    table = arc_table(path)
    whole = length(path)
    breaks = table.arc_length(np.array(path.breaks[1:-1]))
    cuts = np.array([0.0, *breaks, whole])
    if limits.rows is not None:
        grid = limits.rows.arc_lengths
        if abs(grid[-1] - whole) > 1e-6 * whole:
            raise SimulationError(
                f"the rows end at {grid[-1]:.9g} m, and the path is {whole:.9g} m long",
                f"fastest motion on {type(path).__name__}",
                "give rows from 0 to length(path)",
            )
        cuts = _merged(cuts, grid[1:-1])
    cuts = _merged(cuts, np.linspace(0.0, whole, count + 1))
    if limits.rows is not None and limits.rows.resistance is not None:
        part = 0.5 ** np.arange(HALVES, 0, -1)
        cuts = _merged(cuts, cuts[1] * part)
        cuts = _merged(cuts, (whole - (whole - cuts[-2]) * part)[::-1])
    return cuts


def _merged(cuts: Array, more: Array) -> Array:
    """Cuts, and those of `more` (sorted) that are not too close to one."""
    close = CLOSEST * cuts[-1]
    more = more[np.diff(more, prepend=-np.inf) > close]
    k = np.clip(np.searchsorted(cuts, more), 1, len(cuts) - 1)
    distance = np.minimum(np.abs(more - cuts[k - 1]), np.abs(more - cuts[k]))
    return np.sort(np.concatenate([cuts, more[distance > close]]))


def _between(motion: SegmentMotion, at: Array) -> Array:
    """z of a motion at arc lengths (n,)."""
    k = np.clip(np.searchsorted(motion.cuts, at, side="right") - 1, 0, len(motion.cuts) - 2)
    part = (at - motion.cuts[k]) / np.diff(motion.cuts)[k]
    rest = 1 - part
    z = motion.z[k] * rest**2 + 2 * motion.middle[k] * (part * rest) + motion.z[k + 1] * part**2
    return np.maximum(z, 0.0)


def _more_cuts(segments: SegmentLimits, motion: SegmentMotion) -> Array:
    """Cuts where the acceleration switches inside a segment, and of segments that are too coarse.

    No motion within the limits runs much above the hardest acceleration from the start of a segment
    (1), the hardest braking to its end (2), or the highest speed on it (3). Where two of these meet
    above the parabola, the acceleration switches; the time to be won there says whether it counts.
    """
    left, h = segments.cuts[:-1], np.diff(segments.cuts)
    z0, z1 = motion.z[:-1], motion.z[1:]
    start, end = segments.ends()
    most, least = start.most(z0), end.least(z1)
    top = np.minimum.reduce([np.min(segments.caps(), axis=1), start.high, end.high])
    # neither the hardest acceleration nor the hardest braking all along
    loose = 1e-9 * np.maximum(z0, z1)
    free = (z1 - z0 < h * (most + end.most(z1)) - loose) & (
        z1 - z0 > h * (start.least(z0) + least) + loose
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (z1 - z0 - 2 * least * h) / (2 * (most - least) * h)  # (1) and (2)
        reach, leave = (top - z0) / (2 * most * h), 1 + (top - z1) / (2 * least * h)  # (3)
        corners = ((meet, z0 + 2 * most * h * meet), (reach, top), (leave, top))
    whole = np.sum(motion.steps())
    cuts, switches = [], np.zeros(len(h), dtype=bool)
    for part, height in corners:
        inside = (part > 0) & (part < 1) & free
        at = np.where(inside, part, 0.5)
        z = motion.z_at(at[:, None])[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            # half of a triangle's area, δt = −½ z^(−3/2) δz
            won = np.where(inside, (height - z) * h / (4 * z**1.5), 0.0)
        inside &= (height <= top * (1 + 1e-9)) & (won > LOSS / 1000 * whole)
        cuts.append((left + at * h)[inside])
        switches |= inside
    excess = np.maximum(segments.excess(motion), 0.0) / COARSE
    # along the fastest motion some limit is used up everywhere
    lost = np.where(switches, 0.0, segments.slack(motion) * motion.steps() / (LOSS * whole))
    num = np.clip(np.ceil(np.sqrt(np.maximum(excess, lost))), 1, 8).astype(int)
    cuts += [left[k] + h[k] * np.arange(1, num[k]) / num[k] for k in np.flatnonzero(num > 1)]
    return np.sort(np.concatenate(cuts))


def _refuse_conflict(segments: SegmentLimits, k: int, ends: tuple[float, float]) -> NoReturn:
    """Refuse limits that leave nothing on a segment, and name those that conflict at rest.

    Where a vehicle may stand everywhere, it is the end speed that is out of reach.
    """
    _refuse_standing(segments)
    _refuse(segments, k, f"the limits allow no motion that ends at {ends[1]:g} m/s")


def _refuse_standing(segments: SegmentLimits) -> None:
    """Refuse limits that allow a vehicle neither to stand nor to creep at some place."""
    found = segments.conflict_at_rest()
    if found is not None:
        k, names = found
        listed = " and ".join(dict.fromkeys(names))
        _refuse(segments, k, f"no motion satisfies the limits: {listed}")


def _refuse(segments: SegmentLimits, k: int, what: str) -> NoReturn:
    s = segments.cuts[k]
    p = float(arc_table(segments.path).parameter(np.array([s]))[0])
    raise SimulationError(
        what,
        f"fastest motion, {where(segments.path, p, s)}",
        "loosen the limits there, or start and end more slowly",
    )


#: Places on the path at which motors are known, and how many times more where these are too few.
PLACES, FINER = 1201, (1, 4, 16)
#: Part of a limit of a motor by which it may be exceeded between them.
PROMISED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastTime(AbstractTimingPlan):
    """The least time within limits; a timing for :func:`track`.

    Parameters
    ----------
    speed : highest ṡ, m/s.
    acceleration : highest |s̈| along the path, m/s².
    lateral_acceleration : highest |κ| ṡ², m/s².
    friction : coefficient of the ground: √(s̈² + (κ ṡ²)²) ≤ friction · g of the model.
    start_speed, end_speed : at the ends of the path, m/s.
    inputs : force input → largest magnitude, N or N·m; see :func:`motor_limits`.
    """

    word = "least-time"
    also_called = ("fastest",)
    typical = {"acceleration": 0.5, "lateral_acceleration": 0.5}
    ranges = {"start_speed": (0.0, 1.0), "end_speed": (0.0, 1.0)}
    offered = ("speed", "acceleration", "lateral_acceleration")

    speed: float | None = None
    acceleration: Acceleration | None = None
    lateral_acceleration: Acceleration | None = None
    friction: Pure | None = None
    start_speed: float = 0.0
    end_speed: float = 0.0
    inputs: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_text(cls, text: str, known: Mapping[str, Any] | None = None) -> LeastTime:
        """Limits by their keys; all others are force inputs: ``least-time:speed=1;torque1=0.3``."""
        keys = [key for key in cls.arguments() if key != "inputs"]
        entries = read_entries(text, cls.family, keys)
        values = {key: read_number(value, key, f"timing '{text}'") for key, value in entries}
        own = {key: value for key, value in values.items() if key in keys}
        return cls(**own, inputs={key: x for key, x in values.items() if key not in keys})

    def text(self) -> str:
        """The limits, and those of the force inputs, by their names."""
        own = {key: getattr(self, key) for key in self.arguments() if key != "inputs"}
        limits = {key: value for key, value in own.items() if value} | dict(self.inputs)
        return f"{self.word}:" + ";".join(f"{key}={value!r}" for key, value in limits.items())

    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> SpeedSchedule:
        """The timing of this vehicle on this path.

        Raises
        ------
        SimulationError : no motion satisfies the limits, nothing limits the acceleration, or what
            motors must do depends on more than place and speed.
        """
        vehicle = partial(
            motor_limits,
            system,
            path,
            follower=follower,
            inputs=inputs,
            reference=reference,
            parameters=parameters,
        )
        limits = Limits(
            speed=self.speed,
            acceleration=self.acceleration,
            lateral_acceleration=self.lateral_acceleration,
            total_acceleration=self._ground(system, parameters),
            rows=self._motors(vehicle, PLACES),
        )
        ends = (self.start_speed, self.end_speed)
        for finer in FINER:
            count = finer * (PLACES - 1) + 1
            if finer > 1:
                limits = dataclasses.replace(limits, rows=self._motors(vehicle, count))
            timing = least_time(path, limits, start_speed=ends[0], end_speed=ends[1])
            if limits.rows is None or _missed(timing, limits.rows) <= PROMISED:
                return timing
        raise SimulationError(
            f"the required motor forces change too fast along the path for {count} points",
            f"least time of model '{system.model.name}' on {type(path).__name__}",
            "smooth the path, or start what it leaves open near where it settles: reference={…}",
        )

    def _ground(self, system: System, parameters: Mapping[str, float] | None) -> float | None:
        """Highest acceleration in all directions that the ground allows, m/s²."""
        if self.friction is None:
            return None
        friction = positive(self.friction, "friction", "LeastTime")
        return friction * _gravity(system, parameters)

    def _motors(self, vehicle: Callable[..., LimitRows], count: int) -> LimitRows | None:
        """Limits of motors."""
        if not self.inputs:
            return None
        bounds = {n: positive(x, n, "LeastTime(inputs=…)") for n, x in self.inputs.items()}
        return vehicle(limits=bounds, count=count)


def _missed(timing: SpeedSchedule, rows: LimitRows) -> float:
    """Largest violation of the rows between their places, as a fraction of their limits.

    Every other place is interpolated from the next ones, which is off by four times as much.
    """
    s = rows.arc_lengths
    z, u = (x[1:-1:2] for x in timing.along(s))
    before, here, after = s[:-2:2], s[1:-1:2], s[2::2]
    part = ((here - before) / (after - before))[:, None]
    between = (1 - part) * rows.values(before, z, u) + part * rows.values(after, z, u)
    off = np.abs(rows.values(here, z, u) - between) / 4
    return float(np.max(off / np.max(np.abs(rows.constant), axis=0)))


def _gravity(system: System, parameters: Mapping[str, float] | None) -> float:
    """Size of gravity, m/s²."""
    known = system.model.parameter_values() | dict(parameters or {})
    size = float(np.linalg.norm([nominal(e, known) for e in system.model.gravity]))
    if size == 0:
        raise SimulationError(
            "the model has no gravity, so there is no friction",
            f"least time of model '{system.model.name}'",
            "give lateral_acceleration and acceleration instead of friction",
        )
    return size

"""Least time along a path within limits, by reachability analysis.

The path is cut at arc lengths s_0 … s_N. The acceleration u_k is constant on each segment, so that
z = ṡ² is linear there and ṡ linear in time: z_{k+1} = z_k + 2 h_k u_k. Two passes give the highest
speed everywhere (H. Pham and Q.-C. Pham, "A new approach to time-optimal path parameterization
based on reachability analysis", IEEE Transactions on Robotics 34, 2018):

    backward  the interval of z_k from which some u_k leads into the interval of z_{k+1}
    forward   from the start, the largest u_k that stays in these intervals

Departures: every limit is imposed at both ends of each segment; the two unknowns are eliminated in
closed form instead of by a solver; where the acceleration switches inside a segment the place is
found and becomes a cut of its own, so that bang-bang motions are exact; where a limit is exceeded
between the cuts, the segment is halved; what little excess is left is taken off the limit; and what
is not linear in z (dampers, friction) is linearized again and again at the motion found last.

`least_time` takes limits as numbers along the path. Those of the ground and of motors depend on the
vehicle: :class:`LeastTime` names them, and `track` finds the timing for its vehicle and path.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from noslip.control.follower import Follower
from noslip.control.forms import Acceleration, Pure, read_entries, read_number
from noslip.control.paths.arc_length import arc_table, length, where
from noslip.control.paths.base import AbstractPath, Array, number, positive
from noslip.control.timing.laws import AbstractTimingPlan
from noslip.control.timing.limits import (
    LimitRows,
    Limits,
    SegmentLimits,
    friction_limits,
    join_limits,
)
from noslip.control.timing.motor_limits import motor_limits
from noslip.control.timing.piecewise import SpeedSchedule
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.model.expressions import nominal

CUTTING_ROUNDS = 20
MOST_CUTS = 50  # for each of the first segments
TIGHTENING_ROUNDS = 60
COARSE = 1e-3  # relative error of z between two cuts above which others are made
EXCESS = 1e-7  # relative excess that is left
SWITCH = 1e-10  # relative gain of z for which a switch is made a cut
CLOSEST = 1e-7  # distance of two cuts, as a part of the length
TANGENTS = 60  # how often what resists the motion is linearized again,
SETTLED = 1e-9  # until z changes by less than this part of it;
SHRINKING = 0.1  # z at which it is linearized becomes no smaller part of itself at once
HALVES = 10  # how often the first and the last segment are halved for it, where ṡ changes fast
LOWEST, BISECTIONS = 1e-8, 20  # part of z that is looked at for one that can be held, and how often

#: A limit A u + B z + C ≤ 0.
Row = tuple[float, float, float]


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
    count : number of segments to begin with; more are made where they are needed. With `rows` the
        acceleration on a segment suits both its ends, so some part in `count` of the time is lost.

    Returns
    -------
    timing : SpeedSchedule with the speeds and times at the cuts; its last time is the duration.

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
        z, u = _settle(segments, ends)
        finer = _merged(cuts, _more_cuts(segments, z, u))
        if len(finer) == len(cuts) or len(finer) > MOST_CUTS * count:
            break
        cuts, near = finer, np.interp(finer, cuts, z)
    segments = SegmentLimits.on(path, limits, cuts, near)
    for _ in range(TIGHTENING_ROUNDS):
        z, u = _settle(segments, ends)
        if np.all(segments.excess(z, u) <= EXCESS):
            return _schedule(cuts, z)
        segments.tighten(z, u, EXCESS)
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
        z, _ = _solve(SegmentLimits.on(path, free, cuts, rest), ends)
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


def _settle(segments: SegmentLimits, ends: tuple[float, float]) -> tuple[Array, Array]:
    """Highest z (N + 1,) at the cuts and u (N,) between them, with resistance as it is there."""
    z, u = _solve(segments, ends)
    rows = segments.limits.rows
    if rows is not None and rows.resistance is not None:
        for _ in range(TANGENTS):
            is_settled = np.all(np.abs(z - segments.near) <= SETTLED * z)
            # tangents that do not agree with each other yet may bring it nearly to rest
            segments.near = np.maximum(z, SHRINKING * segments.near)
            if is_settled:
                break
            z, u = _solve(segments, ends)
    still = np.flatnonzero((z[:-1] <= 0) & (z[1:] <= 0))
    if len(still):
        _refuse(segments, int(still[0]), "the limits allow no motion away from rest")
    return z, u


def _solve(segments: SegmentLimits, ends: tuple[float, float]) -> tuple[Array, Array]:
    """Highest z (N + 1,) at the cuts and u (N,) between them."""
    h = np.diff(segments.cuts).tolist()
    first, last = ends[0] ** 2, ends[1] ** 2
    if last > segments.cap[-1] * (1 + 1e-12):
        allowed = f"the limits allow {np.sqrt(segments.cap[-1]):.6g} m/s"
        _refuse(segments, len(h), f"the end speed is {ends[1]:g} m/s, and {allowed}")
    rows, names = segments.rows()
    own_low, own_high = (x.tolist() for x in _own_intervals(rows))
    above, below = _leading_on(rows, np.array(h))
    low, high = [last] * len(segments.cuts), [last] * len(segments.cuts)
    for k in range(len(h) - 1, -1, -1):
        next_low, next_high = low[k + 1], high[k + 1]
        least, most = own_low[k], own_high[k]
        for p, q, is_high in above[k]:
            most = min(most, p + q * (next_high if is_high else next_low))
        for p, q, is_high in below[k]:
            least = max(least, p + q * (next_high if is_high else next_low))
        if least > most + 1e-12 * abs(most):
            following = [(2 * h[k], 1.0, -next_high), (-2 * h[k], -1.0, next_low)]
            known = [*names, *["what lies ahead"] * 2]
            reasons = _reasons([(r[0], r[1], r[2]) for r in rows[k].tolist()] + following)
            listed = " and ".join(dict.fromkeys(known[i] for i in sorted(reasons)))
            _refuse(segments, k, f"no motion satisfies the limits: {listed}")
        low[k], high[k] = min(least, most), most
    tolerance = 1e-12 * max(first, high[0])
    if not low[0] - tolerance <= first <= high[0] + tolerance:
        bound = f"from {np.sqrt(max(low[0], 0)):.6g} to {np.sqrt(high[0]):.6g} m/s"
        _refuse(segments, 0, f"the start speed is {ends[0]:g} m/s, and the limits allow {bound}")
    z, here, pulls = [first], first, _pulls(rows)
    for k in range(len(h)):
        # the largest u that every row allows, and the way ahead
        most = np.inf
        for p, q in pulls[k]:
            most = min(most, p + q * here)
        here = max(min(here + 2 * h[k] * most, high[k + 1]), low[k + 1])
        z.append(here)
    return np.array(z), np.diff(z) / (2 * np.array(h))


def _own_intervals(rows: Array) -> tuple[Array, Array]:
    """Lowest and highest z (N,) for which some u satisfies the rows (N, m, 3) of each segment."""
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    a, b, c = (rows[:, :, k] for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(rows.shape[1]):
            # with itself where A_i = 0, else with every A_j of the other sign
            alone = (a[:, [i]] == 0) & (np.arange(rows.shape[1]) == i)
            pair = (a[:, [i]] > 0) & (a < 0)
            beta = np.where(alone, b, a[:, [i]] * b - a * b[:, [i]])
            gamma = np.where(alone, c, a[:, [i]] * c - a * c[:, [i]])
            size = np.where(alone, np.abs(b), np.abs(a[:, [i]] * b) + np.abs(a * b[:, [i]]))
            at, used = -gamma / beta, alone | pair
            above, below = used & (beta > 1e-13 * size), used & (beta < -1e-13 * size)
            high = np.minimum(high, np.min(np.where(above, at, np.inf), axis=1))
            low = np.maximum(low, np.max(np.where(below, at, -np.inf), axis=1))
    return low, high


def _leading_on(
    rows: Array, h: Array
) -> tuple[list[list[tuple[float, float, bool]]], list[list[tuple[float, float, bool]]]]:
    """By segment: bounds p + q z_next of z from above and from below, by each row by itself.

    With u = (z_next − z)/2h a row is (2h B − A) z + A z_next + 2h C ≤ 0. The end of the interval of
    z_next that suits it is put in: the highest, as the third value says, or the lowest.
    """
    a, b, c = (rows[:, :, k] for k in range(3))
    beta = 2 * h[:, None] * b - a
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = -2 * h[:, None] * c / beta, -a / beta
    above = _listed((a != 0) & (beta > 1e-13 * np.abs(a)), p, q, a < 0)
    below = _listed((a != 0) & (beta < -1e-13 * np.abs(a)), p, q, a < 0)
    return above, below


def _pulls(rows: Array) -> list[list[tuple[float, float]]]:
    """By segment: bounds p + q z of u from above."""
    a, b, c = (rows[:, :, k] for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        return _listed(a > 0, -c / a, -b / a)


def _listed(chosen: NDArray[np.bool], *columns: NDArray[Any]) -> list[list[Any]]:
    """Tuples of the chosen values of each row of tables, which are of the same shape."""
    values = list(zip(*(column[chosen].tolist() for column in columns), strict=True))
    ends = np.cumsum(np.sum(chosen, axis=1)).tolist()
    return [values[start:end] for start, end in pairwise([0, *ends])]


def _reasons(rows: list[Row]) -> set[int]:
    """Rows that bound z from below and from above.

    Two rows with A_i > 0 > A_j leave room for u where A_i (B_j z + C_j) ≤ A_j (B_i z + C_i).
    """
    low, high = -np.inf, np.inf
    at_low: tuple[int, ...] = ()
    at_high: tuple[int, ...] = ()
    up = [(i, row) for i, row in enumerate(rows) if row[0] > 0]
    down = [(j, row) for j, row in enumerate(rows) if row[0] < 0]
    sums = [((i,), b, c, abs(b)) for i, (a, b, c) in enumerate(rows) if a == 0]
    for i, (ai, bi, ci) in up:
        for j, (aj, bj, cj) in down:
            size = abs(ai * bj) + abs(aj * bi)
            sums.append(((i, j), ai * bj - aj * bi, ai * cj - aj * ci, size))  # type: ignore[arg-type]
    for which, beta, gamma, size in sums:
        if beta > 1e-13 * size:
            if -gamma / beta < high:
                high, at_high = -gamma / beta, which
        elif beta < -1e-13 * size and -gamma / beta > low:
            low, at_low = -gamma / beta, which
    return {*at_low, *at_high}


def _schedule(cuts: Array, z: Array) -> SpeedSchedule:
    """Times and speeds at the cuts at which the acceleration changes."""
    v = np.sqrt(z)
    times = np.concatenate([[0.0], np.cumsum(2 * np.diff(cuts) / (v[1:] + v[:-1]))])
    u = np.diff(z) / (2 * np.diff(cuts))
    changes = np.abs(np.diff(u)) > 1e-9 * np.max(np.abs(u))
    kept = np.concatenate([[True], changes, [True]])
    return SpeedSchedule(times=tuple(times[kept].tolist()), speeds=tuple(v[kept].tolist()))


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


def _more_cuts(segments: SegmentLimits, z: Array, u: Array) -> Array:
    """Cuts where the acceleration switches inside a segment, and of segments that are too coarse.

    No motion within the limits runs above the hardest acceleration from the start of a segment (1),
    the hardest braking to its end (2), or the highest speed (3). Where two of these meet above the
    chord, and nothing else is lower, the acceleration switches.
    """
    left, h = segments.cuts[:-1], np.diff(segments.cuts)
    z0, z1 = z[:-1], z[1:]
    most, least = segments.bounds(z)
    top = segments.tops()
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (z1 - z0 - 2 * least * h) / (2 * (most - least) * h)  # (1) and (2)
        reach, leave = (top - z0) / (2 * most * h), 1 + (top - z1) / (2 * least * h)  # (3)
        corners = ((meet, z0 + 2 * most * h * meet), (reach, top), (leave, top))
    cuts, switches = [], np.zeros(len(h), dtype=bool)
    for part, height in corners:
        inside = (part > 0) & (part < 1)
        at = np.where(inside, part, 0.5)
        highest, chord = (x[:, 0] for x in segments.heights(z, u, at[:, None]))
        inside &= (height <= highest * (1 + 1e-9)) & (height > chord * (1 + SWITCH))
        for hardest in (most, least):
            inside &= segments.allows(at, np.where(inside, height, 0.0), hardest)
        cuts.append((left + at * h)[inside])
        switches |= inside
    error = np.where(switches, segments.excess(z, u), segments.error(z, u))
    num = np.clip(np.ceil(np.sqrt(np.maximum(error, 0.0) / COARSE)), 1, 8).astype(int)
    cuts += [left[k] + h[k] * np.arange(1, num[k]) / num[k] for k in np.flatnonzero(num > 1)]
    return np.sort(np.concatenate(cuts))


def _refuse(segments: SegmentLimits, k: int, what: str) -> NoReturn:
    s = segments.cuts[k]
    p = float(arc_table(segments.path).parameter(np.array([s]))[0])
    raise SimulationError(
        what,
        f"fastest motion, {where(segments.path, p, s)}",
        "loosen the limits there, or start and end more slowly",
    )


#: Places on the path between which the acceleration is constant.
PLACES = 301
#: As many times more are looked at for the limits of the ground and of motors (the next one, where
#: motors are not known well enough between them),
FINER = (4, 16, 64)
#: by which part of them they may be exceeded there,
FIRST_EXCESS = 1e-4
#: and how often they are lowered for it;
ROUNDS = 5
#: the part that is let pass after that, and how often they are lowered at most.
PROMISED, MOST_ROUNDS = 1e-3, 20

#: Distance, as a part of the path's length, at which one is on one side of a place.
HAIR = 1e-9


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
        for finer in FINER:
            count = finer * (PLACES - 1) + 1
            motors = self._motors(vehicle, count)
            rows = self._ground(system, path, parameters, count)
            rows = motors if rows is None else rows if motors is None else join_limits(rows, motors)
            timing = self._within(system, path, rows, finer)
            if motors is None or _missed(timing, motors) <= PROMISED:
                return timing
        raise SimulationError(
            f"the required motor forces change too fast along the path for {count} points",
            f"least time of model '{system.model.name}' on {type(path).__name__}",
            "smooth the path, or start what it leaves open near where it settles: reference={…}",
        )

    def _within(
        self, system: System, path: AbstractPath, fine: LimitRows | None, finer: int
    ) -> SpeedSchedule:
        """The timing within rows that are known at more places than are driven by."""
        rows = None if fine is None else fine.thinned(finer)
        for k in range(MOST_ROUNDS):
            limits = Limits(
                speed=self.speed,
                acceleration=self.acceleration,
                lateral_acceleration=self.lateral_acceleration,
                rows=rows,
            )
            ends = (self.start_speed, self.end_speed)
            timing = least_time(
                path, limits, start_speed=ends[0], end_speed=ends[1], count=PLACES - 1
            )
            if fine is None or rows is None:
                return timing
            # what the limits are between the places is taken off them
            over = _excess(timing, fine)
            part = over / np.max(np.abs(fine.constant), axis=0)
            worst = int(np.argmax(part))
            if part[worst] <= (FIRST_EXCESS if k < ROUNDS - 1 else PROMISED):
                return timing
            rows = dataclasses.replace(rows, constant=rows.constant + over)
            what = f"{fine.names[worst]} is still exceeded by {100 * part[worst]:.2g} %"
        raise SimulationError(
            f"{what} between {PLACES} places",
            f"least time of model '{system.model.name}' on {type(path).__name__}",
            "smooth the path, or find rows at more places by motor_limits and use least_time",
        )

    def _ground(
        self,
        system: System,
        path: AbstractPath,
        parameters: Mapping[str, float] | None,
        count: int,
    ) -> LimitRows | None:
        """Limits of the ground."""
        if self.friction is None:
            return None
        friction = positive(self.friction, "friction", "LeastTime")
        return friction_limits(path, friction * _gravity(system, parameters), count)

    def _motors(self, vehicle: Callable[..., LimitRows], count: int) -> LimitRows | None:
        """Limits of motors."""
        if not self.inputs:
            return None
        bounds = {n: positive(x, n, "LeastTime(inputs=…)") for n, x in self.inputs.items()}
        return vehicle(limits=bounds, count=count)


def _excess(timing: SpeedSchedule, rows: LimitRows) -> Array:
    """(m,) highest value of each row along a motion, 0 if it holds everywhere."""
    # s̈ jumps at places: it is looked at on both sides of them
    both = [rows.values(rows.arc_lengths, *_driven(timing, rows.arc_lengths, k)) for k in (-1, 1)]
    return np.maximum(np.max(both, axis=(0, 1)), 0.0)


def _missed(timing: SpeedSchedule, rows: LimitRows) -> float:
    """Largest violation of the rows between their places, as a fraction of their limits.

    Every other place is interpolated from the next ones, which is off by four times as much.
    """
    s = rows.arc_lengths
    z, u = (x[1:-1:2] for x in _driven(timing, s))
    before, here, after = s[:-2:2], s[1:-1:2], s[2::2]
    part = ((here - before) / (after - before))[:, None]
    between = (1 - part) * rows.values(before, z, u) + part * rows.values(after, z, u)
    off = np.abs(rows.values(here, z, u) - between) / 4
    return float(np.max(off / np.max(np.abs(rows.constant), axis=0)))


def _driven(timing: SpeedSchedule, arc_lengths: Array, side: int = 1) -> tuple[Array, Array]:
    """ṡ² and s̈ at arc lengths of a motion, s̈ just after them or, with side −1, before."""
    t, v = np.array(timing.times), np.array(timing.speeds)
    s = np.concatenate([[0.0], np.cumsum(np.diff(t) * (v[1:] + v[:-1]) / 2)])
    u = np.diff(v) / np.diff(t)
    aside = arc_lengths + side * HAIR * s[-1]
    k = np.clip(np.searchsorted(s, aside, side="right") - 1, 0, len(u) - 1)
    return np.maximum(v[k] ** 2 + 2 * u[k] * (arc_lengths - s[k]), 0.0), u[k]


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

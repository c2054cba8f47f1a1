"""Timing laws: how fast the point moves along its path, traced, and the laws in closed form.

A law gives ṡ as a function of the time t, the arc length s and the curvature κ; the acceleration
follows by total differentiation,

    (1)  s̈ = ∂ṡ/∂t + (∂ṡ/∂s + ∂ṡ/∂κ dκ/ds) ṡ

A law that starts from rest depends on t, not on s alone: what moves with a speed that vanishes at
s = 0 never leaves it.

To add a law:

1. Write a final frozen dataclass of :class:`AbstractTiming` with `speed` and `duration`, and
   `knots` if its speed is made of pieces.
2. Give it a `word`, its name in text (`AbstractForm`).
3. Add one to the list at the top of ``tests/unit/control/test_timing.py``.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from noslip.base import SimulationError
from noslip.control.chaplygin import gyration, with_control_angles
from noslip.control.follower import Follower
from noslip.control.forms import AbstractForm, Duration, Length
from noslip.control.paths.arc_length import arc_table, integrate, length
from noslip.control.paths.base import (
    AbstractPath,
    Array,
    assign,
    curvature,
    number,
    positive,
    stretch,
)
from noslip.control.paths.selection import choose, clamp
from noslip.engines import System
from noslip.simulation import Trajectory


class AbstractTimingPlan(AbstractForm, abc.ABC, family="timing"):
    """Plan of a timing law, completed once the vehicle and its path are known."""

    __slots__ = ()

    usual_unit = "m/s"

    @abc.abstractmethod
    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractTiming:
        """The timing law of a vehicle on a path.

        Parameters
        ----------
        system : compiled system.
        path : what is driven along.
        follower : what of the vehicle follows it; the origin and the x axis of its base by default.
        inputs, reference, parameters : as in :func:`track`.
        """

    def of_part(self, share: float) -> AbstractTimingPlan:
        """The same for a part of a path that ends at a cusp, as a share of the whole."""
        return self


class AbstractTiming(AbstractTimingPlan):
    """Timing law: arc length along a path as a function of time."""

    __slots__ = ()

    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractTiming:
        """Itself: it is the same for all vehicles."""
        return self

    @abc.abstractmethod
    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """ṡ in m/s, traced.

        Parameters
        ----------
        t : time since the start, s.
        s : arc length, m.
        curvature : of the path at s, 1/m.
        length : of the whole path, m.
        """

    @abc.abstractmethod
    def duration(self, path: AbstractPath) -> float:
        """Time from the start of `path` to its end, s."""

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Times at which a derivative of the speed along `path` jumps, s; steps should end there.

        Where `path` itself is not smooth is not among them.
        """
        return ()

    def break_times(self, path: AbstractPath) -> tuple[float, ...]:
        """Times at which the inner breaks of `path` are passed, s; none if they are not known."""
        return break_times(self, path)

    def stops(self, path: AbstractPath) -> tuple[tuple[float, float], ...]:
        """Times at which the vehicle arrives at each cusp of `path` and leaves it, s."""
        inner = dict(zip(path.breaks[1:-1], self.break_times(path), strict=False))
        return tuple((inner[p], inner[p]) for p in path.cusps if p in inner)

    def paused(self, pauses: tuple[float, ...]) -> AbstractTiming:
        """The same law that stands so many s at each cusp; itself where it stops at none."""
        return self

    def with_columns(self, system: System, run: Trajectory) -> Trajectory:
        """A run along a path under this law, with what the law adds to it: nothing by default."""
        return run


#: Speed of an unhurried vehicle, in its own lengths a second, and its acceleration aside, m/s².
UNHURRIED = 1.0
ASIDE = 1.0
#: Speed at a cusp, as a part of the mean one, that is taken for rest.
STILL = 1e-6


def timing_law(
    plan: AbstractTimingPlan | None,
    system: System,
    path: AbstractPath,
    follower: Follower,
    **given: Any,
) -> AbstractTiming:
    """The law of a vehicle on a path, from rest to rest between cusps.

    Parameters
    ----------
    plan : how fast; unhurried if it is None.
    system, path, follower : what is driven where.
    given : as in `AbstractTimingPlan.on`.

    Raises
    ------
    SimulationError : if the law does not stop at the cusps.
    """
    parts, laws = path.parts, []
    for k, part in enumerate(parts):
        drives = replace(follower, reverse=follower.reverse ^ (k % 2 == 1))
        chosen = unhurried(system, part) if plan is None else plan
        if plan is not None and len(parts) > 1:
            chosen = plan.of_part(length(part) / length(path))
        laws.append(chosen.on(system, part, drives, **given))
    if len(parts) == 1:
        return laws[0]
    return StopAndGo(paths=parts, laws=tuple(laws))


def unhurried(system: System, path: AbstractPath) -> Quintic:
    """From rest to rest at no more than a length of the vehicle a second, slower where it bends.

    The acceleration aside stays below 1 m/s².
    """
    whole, table = length(path), arc_table(path)
    bend = float(np.max(np.abs(table.curvature(np.linspace(*path.interval, 2001)))))
    fastest = UNHURRIED * max(system.kinematics.length, 1e-3)
    fastest = min(fastest, np.sqrt(ASIDE / bend)) if bend > 0 else fastest
    # the largest speed of a quintic is 15/8 of its mean
    duration = 15 / 8 * whole / fastest
    return Quintic(float(f"{duration:.2g}"))


def acceleration(
    timing: AbstractTiming,
    t: ca.SX,
    s: ca.SX,
    curvature: ca.SX,
    curvature_rate: ca.SX,
    length: float,
) -> ca.SX:
    """s̈ in m/s², traced: the total derivative of the speed.

    Parameters
    ----------
    timing : the law.
    t : time since the start, s.
    s : arc length, m.
    curvature : of the path at s, 1/m.
    curvature_rate : dκ/ds there, 1/m².
    length : of the whole path, m.
    """
    at = ca.SX.sym("t"), ca.SX.sym("s"), ca.SX.sym("kappa")
    rate = ca.SX.sym("rate")
    speed = ca.SX(timing.speed(*at, length))
    total = ca.jtimes(speed, ca.vertcat(*at), ca.vertcat(1, speed, rate * speed))  # (1)
    function = ca.Function("acceleration", [*at, rate], [ca.densify(total)])
    return function.call([ca.SX(x) for x in (t, s, curvature, curvature_rate)])[0]


@dataclass(frozen=True, slots=True, init=False)
class Quintic(AbstractTiming):
    """From rest to rest: s = L (10 τ³ − 15 τ⁴ + 6 τ⁵) with τ = t/duration.

    Speed and acceleration vanish at both ends, and stay zero before and after.

    Parameters
    ----------
    duration : s; kept as `total_time`.
    """

    word = "quintic"
    typical = {"duration": 20.0}
    kept_as = {"duration": "total_time"}

    total_time: float

    def __init__(self, duration: Duration) -> None:
        assign(self, total_time=positive(duration, "duration", "Quintic"))

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """30 (L/T) τ² (1 − τ)²."""
        tau = clamp(t / self.total_time, 0.0, 1.0)
        return 30 * length / self.total_time * (tau * (1 - tau)) ** 2

    def duration(self, path: AbstractPath) -> float:
        """The given one, for every `path`."""
        return self.total_time

    def of_part(self, share: float) -> Quintic:
        """Over as large a share of the time."""
        return Quintic(share * self.total_time)

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The end, from which on it rests."""
        return (self.total_time,)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAndGo(AbstractTiming):
    """A law for each part of a path with cusps, from rest to rest. Made by `timing_law`.

    Parameters
    ----------
    paths, laws : parts of the path, and the law of each.
    pauses : s at rest at each cusp, while a steering wheel turns; none by default.
    """

    paths: tuple[AbstractPath, ...]
    laws: tuple[AbstractTiming, ...]
    pauses: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for path, law in zip(self.paths, self.laws, strict=True):
            whole, lasts = length(path), law.duration(path)
            moving = []
            for t, s in ((0.0, 0.0), (lasts, whole)):
                speed = law.speed(ca.SX(t), ca.SX(s), ca.SX(0), whole)
                moving.append(abs(float(ca.evalf(speed))))
            if max(moving) > STILL * whole / lasts:
                raise SimulationError(
                    f"the timing law '{law.text()}' passes a cusp of the path at "
                    f"{max(moving):.4g} m/s, where a vehicle must stop",
                    f"path of {len(self.paths)} parts",
                    "choose a law that starts and ends at rest: quintic, trapezoidal, s-curve or "
                    "least-time",
                )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Speed in the part that is driven at the time t, zero at the cusps."""
        starts, speeds = [], []
        for law, (begin, end), (first, last) in zip(
            self.laws, self._times(), self._places(), strict=True
        ):
            starts += [begin, end]
            speeds.append(ca.SX(law.speed(t - begin, s - first, curvature, last - first)))
            speeds.append(ca.SX(0))
        return choose(t, starts, speeds)

    def duration(self, path: AbstractPath) -> float:
        """Duration of all parts together, with the pauses."""
        return self._times()[-1][1]

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Knots of all parts, and the stops."""
        found: set[float] = set()
        for (begin, end), part, law in zip(self._times(), self.paths, self.laws, strict=True):
            found |= {begin, end, *(begin + knot for knot in law.knots(part))}
        return tuple(sorted(found - {0.0}))

    def break_times(self, path: AbstractPath) -> tuple[float, ...]:
        """Break times of all parts, and the departures from the cusps between them."""
        found: list[float] = []
        for k, (part, law) in enumerate(zip(self.paths, self.laws, strict=True)):
            begin, _ = self._times()[k]
            found += [begin] if k else []
            found += [begin + t for t in law.break_times(part)]
        return tuple(found)

    def stops(self, path: AbstractPath) -> tuple[tuple[float, float], ...]:
        """Times at which each part ends and the next one begins."""
        return tuple((a[1], b[0]) for a, b in pairwise(self._times()))

    def paused(self, pauses: tuple[float, ...]) -> AbstractTiming:
        """The same laws with other pauses."""
        return StopAndGo(paths=self.paths, laws=self.laws, pauses=pauses)

    def text(self) -> str:
        """The laws of the parts, and the pauses between them."""
        words = [self.laws[0].text()]
        for law, (arrives, leaves) in zip(self.laws[1:], self.stops(self.paths[0]), strict=True):
            words += [f"{leaves - arrives:.3g} s at rest"] if leaves > arrives else []
            words.append(law.text())
        return ", ".join(words)

    def _times(self) -> list[tuple[float, float]]:
        """Times at which each part begins and ends."""
        found, at = [], 0.0
        pauses = (*self.pauses, *[0.0] * (len(self.laws) - len(self.pauses)))
        for path, law, pause in zip(self.paths, self.laws, pauses, strict=True):
            found.append((at, at + law.duration(path)))
            at = found[-1][1] + pause
        return found

    def _places(self) -> list[tuple[float, float]]:
        """Arc lengths at which each part begins and ends."""
        ends = np.cumsum([0.0, *(length(path) for path in self.paths)])
        return [(float(a), float(b)) for a, b in pairwise(ends)]


@dataclass(frozen=True, slots=True, init=False)
class ConstantSpeed(AbstractTiming):
    """The same speed from the start to the end, and on.

    Parameters
    ----------
    speed : m/s; kept as `steady_speed`.
    """

    word = "constant-speed"
    kept_as = {"speed": "steady_speed"}

    steady_speed: float

    def __init__(self, speed: float) -> None:
        assign(self, steady_speed=positive(speed, "speed", "ConstantSpeed"))

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """The given speed."""
        return ca.SX(self.steady_speed)

    def duration(self, path: AbstractPath) -> float:
        """Length over speed."""
        return length(path) / self.steady_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantEnergy(AbstractTiming):
    """The speed at which a sleigh keeps its kinetic energy: ṡ = v_T/√(1 + b² κ²).

    The whole speed v_T = √(ṡ² + b² φ̇²) of a body that heads along the path, φ̇ = κ ṡ, is constant
    [AntunesSigaudMoraes2010]. It takes the time (1/v_T) ∫ √(1 + b² κ²) ds.

    Parameters
    ----------
    total_speed : v_T, m/s.
    radius_of_gyration : b, about the point that follows the path, m; that of the vehicle if it is
        not given, ½ M (ṡ² + b² φ̇²) being its kinetic energy.
    """

    word = "constant-energy"
    typical = {"radius_of_gyration": 0.5}
    offered = ("radius_of_gyration",)

    total_speed: float
    radius_of_gyration: Length | None = None

    def __post_init__(self) -> None:
        radius = self.radius_of_gyration
        if radius is not None:
            radius = number(radius, "radius_of_gyration", "ConstantEnergy")
        if radius is not None and radius < 0:
            raise SimulationError(
                f"radius_of_gyration is {radius:g}, expected 0 or more",
                "ConstantEnergy",
                "give the radius in m: the root of the moment of inertia over the mass",
            )
        assign(
            self,
            total_speed=positive(self.total_speed, "total_speed", "ConstantEnergy"),
            radius_of_gyration=radius,
        )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """v_T/√(1 + b² κ²)."""
        return self.total_speed / self._stretch(curvature)

    def duration(self, path: AbstractPath) -> float:
        """(1/v_T) ∫ √(1 + b² κ²) ds."""
        return integrate(path, lambda p: self._stretch(curvature(path, p))) / self.total_speed

    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractTiming:
        """With the radius of gyration of the vehicle, if none is given."""
        if self.radius_of_gyration is not None:
            return self
        found = gyration(system, parameters=dict(parameters or {}))
        return ConstantEnergy(total_speed=self.total_speed, radius_of_gyration=found.radius)

    def with_columns(self, system: System, run: Trajectory) -> Trajectory:
        """With the control angles of a Chaplygin system."""
        return with_control_angles(system, run)

    def _stretch(self, kappa: ca.SX) -> ca.SX:
        if self.radius_of_gyration is None:
            raise SimulationError(
                "the radius of gyration is not known without a vehicle",
                "ConstantEnergy",
                "give radius_of_gyration, or let track find it",
            )
        return ca.sqrt(1 + (self.radius_of_gyration * kappa) ** 2)


_ACCURACY = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}


@lru_cache(maxsize=64)
def break_times(timing: AbstractTiming, path: AbstractPath) -> tuple[float, ...]:
    """Times in s at which the inner breaks of `path` are passed; fewer if `timing` stops before."""
    if len(path.breaks) <= 2:
        return ()
    t, s, bend = (ca.SX.sym(name) for name in ("t", "s", "bend"))
    speed = ca.SX(timing.speed(t, s, bend, float(arc_table(path).s[-1])))
    law = ca.Function("speed", [t, s, bend], [ca.densify(speed)])
    along = _over_path if ca.depends_on(speed, bend) else _over_time
    return tuple(along(law, timing, path))


def _over_time(law: ca.Function, timing: AbstractTiming, path: AbstractPath) -> list[float]:
    """(1), inverted at the breaks."""
    from scipy.integrate import solve_ivp

    def rate(t: float, s: Array) -> Array:
        return np.asarray(law(t, s, 0.0)).ravel()

    goals = arc_table(path).arc_length(np.array(path.breaks[1:-1]))
    end = timing.duration(path)
    start, times = np.zeros(1), np.zeros(0)
    for before, after in pairwise([0.0, *(k for k in timing.knots(path) if 0 < k < end), end]):
        run = solve_ivp(rate, (before, after), start, dense_output=True, **_ACCURACY)
        start = run.y[:, -1]
        here = goals[len(times) :]
        here = here[here <= start[0]]
        if not len(here):
            continue
        k = np.searchsorted(run.y[0], here)
        low, high = run.t[np.maximum(k - 1, 0)], run.t[k]
        # all at once by halves, to rounding; s never falls
        for _ in range(64):
            middle = (low + high) / 2
            is_before = run.sol(middle)[0] < here
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        times = np.concatenate([times, high])
    return [float(t) for t in times]


def _over_path(law: ca.Function, timing: AbstractTiming, path: AbstractPath) -> list[float]:
    """(2), from break to break; nothing is known of laws that come to rest on the way."""
    from scipy.integrate import solve_ivp

    t, s, p = (ca.SX.sym(name) for name in ("t", "s", "p"))
    pace = stretch(path, p)
    both = ca.vertcat(pace / law(t, s, curvature(path, p)), pace)
    rates = ca.Function("rates", [p, ca.vertcat(t, s)], [ca.densify(both)])

    def rate(p: float, x: Array) -> Array:
        return np.asarray(rates(p, x)).ravel()

    x, times = np.zeros(2), []
    for a, b in pairwise(path.breaks[:-1]):
        # a hair inside, so that the curvature is that of this piece
        hair = 1e-12 * (b - a)
        if not np.all(np.isfinite(rate(a + hair, x))):
            return []
        x = solve_ivp(rate, (a + hair, b - hair), x, **_ACCURACY).y[:, -1]
        times.append(float(x[0]))
    return times

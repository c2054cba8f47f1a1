"""A vehicle on a timed path, and its trailer: reference motions with states of their own.

**A vehicle on a path: the pose of its base, and its hinges, as a motion with states of its own.**

A frame (a point and a heading) goes along the path: the point on it, the heading along its tangent,
or against it when driving in reverse. The path's parameter p, the arc length s and the heading θ
are carried as states,

    ṡ = timing(t, s, κ),   ṗ = ṡ / |r'(p)|,   θ̇ = κ ṡ

so that paths need no closed form of their arc length, and headings turn on without jumps. Which
piece of a path holds is decided by time: steps of a simulation end where one piece is left for the
next, and a kink would be seen twice if p, which is integrated, decided it.

Axles hinged to the frame follow one after the other (:class:`AxleLink`), all by distance, so that
they hold at rest: primes are d/ds, (v_x, v_y, ω) is the twist of a frame. With (n_x, n_y) the hinge
in the near frame, (f_x, f_y) in the far one and φ the angle between, the hinge has the velocity

    (1)  u = (v_x − ω n_y, v_y + ω n_x),      R(φ)ᵀ u = (v_far − ω_far f_y, ω_far f_x)

since the far axle does not move sideways. On the axle, f_x = 0, the angle is known and its rate
follows by differentiation; off the axle the angle is a state:

    (2)  φ = atan(u_y / u_x),   ω_far = ω + φ′            f_x = 0: a steered wheel, a fifth wheel
    (3)  ω_far = (u_y cos φ − u_x sin φ) / f_x,   φ′ = ω_far − ω       f_x ≠ 0: a waist, a drawbar

On a line (3) is φ′ = −v φ / f_x, v = ±1: stable where the far axle trails.

At a cusp the path goes back, and the vehicle stops and drives the other way: v changes its sign.
Its heading, and θ with it, goes on without a jump. Where the curvature that the vehicle sees jumps
there from κ₁(s) to κ₂(s), a wheel that steers turns while the vehicle stands, from t₁ to t₂: its
angle is (2) of

    (4)  κ = (1 − b) κ₁ + b κ₂,   b = τ³ (10 − 15 τ + 6 τ²),   τ = (t − t₁)/(t₂ − t₁)

so that several wheels agree on one center at every instant, with rates and accelerations that
vanish at both ends.

**A vehicle with a trailer whose axle follows a path: the way to prescribe backing up.**

With the base on the path, the trailer is pushed and folds up. With the trailer's axle on it, the
base is hinged to what follows (`PathMotion`), off its axle by the hitch c: on a line the angle
between them is stable in reverse for a hitch behind the axle, forward for one ahead of it.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, counted, value_key
from noslip.control.follower import AxleLink
from noslip.control.path_geometry import (
    AbstractPath,
    CurvatureJump,
    arc_table,
    check_fields,
    clamp,
    curvature_jumps,
    inside,
    length,
    look_up,
    positive,
)
from noslip.control.reference_motion import AbstractMotion, Frame, MotionTrace, coordinate_indices
from noslip.control.timing_laws import AbstractTiming
from noslip.engines import System
from noslip.expressions import Scalar, nominal
from noslip.kinematics import Node
from noslip.model import ZERO, Placement, Vector3
from noslip.simulation import PathErrors, Trajectory

#: Jump of a rate of turning, rad/s, that is taken for a vehicle at rest.
STANDSTILL = 1e-4
#: Distance of a hinge ahead of an axle, in lengths of the model, that is taken for none.
ON_AXLE = 1e-9
#: What every motion along a path carries: p, s and θ.
OWN_STATES = ("path.parameter", "path.arc_length", "path.heading")
#: Places at which the angles that a path needs are looked at.
LOOKED_AT = 401
#: Change of an angle at rest, rad, that is taken for none.
TURNED = 1e-9
#: Instants at which the angles of a steering that turns at rest are looked at.
INSTANTS = 5001


class AbstractPathMotion(AbstractMotion):
    """A motion of a vehicle of which something follows a path."""

    __slots__ = ()

    path: AbstractPath
    timing: AbstractTiming

    @property
    def key(self) -> Hashable:
        """Path, timing and what follows."""
        return value_key(self)

    @abc.abstractmethod
    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors along a run of what follows."""

    def check_feed_forward(self, system: System) -> None:
        """Refuse, without feedback, what no finite forces can do."""

    def order(self, system: System) -> int:
        """Number of continuous derivatives of curvature that finite forces need; −1: it may jump.

        Continuous forces need one order more.
        """
        return 0

    def standing_turns(self, system: System) -> tuple[StandingTurn | None, ...]:
        """Turn at rest at each cusp of the path; None where none is needed."""
        return ()

    @abc.abstractmethod
    def hinges(self) -> tuple[str, ...]:
        """Coordinates of hinges from what follows to the base."""

    @abc.abstractmethod
    def timed(self, timing: AbstractTiming) -> AbstractPathMotion:
        """The same motion under another timing law."""


class StandingTurn(NamedTuple):
    """Turn of hinges while the vehicle stands at a cusp."""

    arc_length: float  #: arc length of the cusp, m
    angles: tuple[str, ...]  #: (n,) names of coordinates
    changes: tuple[float, ...]  #: (n,) by how much they turn, rad
    fastest: tuple[float, ...]  #: (n,) their largest rates if it takes one second, rad/s


class _Shape(NamedTuple):
    """Configuration of a vehicle along a path, traced as a function of distance."""

    states: ca.SX  # p, s, θ, and φ of the links that are integrated
    rates: ca.SX  # d/ds of these
    heading: ca.SX  # of the base's frame, with its place
    place: ca.SX
    angles: list[ca.SX]  # φ of the links
    speeds: list[ca.SX]  # of their far frames, ahead
    integrated: tuple[int, ...]  # which links have a state
    hinges: list[tuple[ca.SX, ca.SX]]  # u and ω of (1) for each link
    orders: tuple[int, ...]  # derivative of κ that the curvature of each frame has in it


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMotion(AbstractPathMotion):
    """The pose of a planar base along a path, and the hinges that go with it."""

    #: path, timing: path and timing law
    path: AbstractPath
    timing: AbstractTiming
    #: point, direction, reverse, heading, steering, wheelbase, largest_steering, links, base, held:
    #: properties of the :class:`Follower`; the steering is kept at atan(wheelbase · κ)
    point: Vector3 = ZERO
    direction: Vector3 = (1.0, 0.0, 0.0)
    reverse: bool = False
    heading: Scalar | None = None
    steering: str = ""
    wheelbase: Scalar = 0.0
    largest_steering: float = math.pi / 2
    links: tuple[AxleLink, ...] = ()
    base: int = 0
    held: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, largest_steering=positive)
        frames = [*(link.origin for link in self.links), self.base]
        for k, origin in enumerate(frames):
            if not 0 <= origin <= min(k, len(self.links)):
                word = f"origin of links[{k}]" if k < len(self.links) else "base"
                raise SimulationError(
                    f"{word} is {origin}, and the frames before it are 0 to {k}",
                    "path of a vehicle",
                    "give 0 for what follows the path, or k for the far frame of the k-th link",
                )

    def trace(self, system: System) -> MotionTrace:
        """Coordinates of the base and of its hinges over time, along the path."""
        kin = system.kinematics
        t = kin.symbols.t
        base = planar_base(system)
        self._check_direction(system)
        self._check_continuity(system)
        shape = self._shape(system)
        self._check_angles(system, shape)
        s = shape.states[1]
        curvature = shape.rates[2]
        speed = self.timing.speed(t, s, curvature, length(self.path))
        # heading of the base: that of its frame, less the angle of `direction` in the body
        reader = kin.reader
        ahead, across = (reader.scalar(e) for e in self.direction[:2])
        angle = shape.heading - ca.atan2(across, ahead)
        x, y = (reader.scalar(e) for e in self.point[:2])
        place = shape.place - _turned(angle, x, y)
        links = self._links()
        names = [f"{base.joint.name}.{k}" for k in ("x", "y", "angle")]
        names += [link.coordinate for link in links]
        outputs = [place[0], place[1], angle]
        for link, phi in zip(links, shape.angles, strict=True):
            outputs.append(link.sign * (phi - link.offset))
        names += [name for name, _ in self.held]
        outputs += [ca.SX(value) for _, value in self.held]
        led = [links[k].coordinate for k in shape.integrated]
        return MotionTrace(
            at=coordinate_indices(system, names),
            outputs=ca.vertcat(*outputs),
            states=shape.states,
            rates=shape.rates * speed,
            start=self._start(system, shape),
            names=(
                "path.parameter",
                "path.arc_length",
                "path.heading",
                *(f"path.{n}" for n in led),
            ),
            units=("1", "m", "rad", *("rad" for _ in led)),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=(*self.timing.knots(self.path), *self.timing.break_times(self.path)),
        )

    @property
    def frame(self) -> Frame:
        """The frame of the base, which goes along the path unless a trailer does."""
        return self.point, self.direction

    def hinges(self) -> tuple[str, ...]:
        """Coordinates of hinges from what follows to the base."""
        found, at, links = [], self.base, self._links()
        while at:
            found.append(links[at - 1].coordinate)
            at = links[at - 1].origin
        return tuple(found[::-1])

    def timed(self, timing: AbstractTiming) -> PathMotion:
        """The same motion under another timing law."""
        return replace(self, timing=timing)

    def order(self, system: System) -> int:
        """Number of continuous derivatives of curvature that finite forces need."""
        driven = {i.speed for i in system.model.speed_inputs}
        rates = dict(rates_of(system))
        orders = self._orders(system)
        needed = list(orders)
        for link in self._links():
            if self._is_on_axle(system, link):
                # a rate that is given may jump, one that a motor gives may not
                needed.append(orders[link.origin] + (rates.get(link.coordinate) not in driven))
        return max(needed)

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of what follows along a run."""
        x, y = (nominal(e, run.parameters) for e in self.point[:2])
        ahead, across = (nominal(e, run.parameters) for e in self.direction[:2])
        q = run.q[:, planar_base(system).coordinates.start :]
        c, s = np.cos(q[:, 2]), np.sin(q[:, 2])
        place = np.column_stack([q[:, 0] + c * x - s * y, q[:, 1] + s * x + c * y])
        heading = q[:, 2] + math.atan2(across, ahead)
        # from the base back to what follows
        at, links = self.base, self._links()
        while at:
            link = links[at - 1]
            far, near = ([nominal(e, run.parameters) for e in v] for v in (link.far, link.near))
            place = place + _rotated(heading, far)
            heading = heading - link.sign * run[link.coordinate] - link.offset
            place, at = place - _rotated(heading, near), link.origin
        if self.heading is not None:
            wanted = ca.Function("psi", [s_ := ca.SX.sym("s")], [self._given_heading(system, s_)])
            psi = wanted(run["path.arc_length"][None, :]).full().ravel()
            return self.errors_of(run, place, heading - psi + run["path.heading"])
        return self.errors_of(run, place, heading - (math.pi if self.reverse else 0.0))

    def errors_of(self, run: Trajectory, place: Array, heading: Array) -> PathErrors:
        """Errors of what should be on the path.

        Parameters
        ----------
        run : run with the columns of this motion's states.
        place, heading : (n, 2) and (n,) of what follows, m and rad.
        """
        t, p = ca.SX.sym("t"), ca.SX.sym("p")
        at = ca.Function("at", [t, p], [self.geometry(t, p)[0]])
        on_path = at(run.t[None, :], run["path.parameter"][None, :]).full().T
        theta, gap = run["path.heading"], place - on_path
        c, s = np.cos(theta), np.sin(theta)
        return PathErrors(
            x=on_path[:, 0],
            y=on_path[:, 1],
            along=c * gap[:, 0] + s * gap[:, 1],
            across=-s * gap[:, 0] + c * gap[:, 1],
            heading=heading - theta,
            length=length(self.path),
        )

    def geometry(self, t: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """r, r', |r'| and κ of the path at p, on the piece that is driven at the time t.

        Parameters
        ----------
        t, p : traced time and parameter of the path.
        """
        near = p
        times, breaks = self.timing.break_times(self.path), self.path.breaks
        if times:
            edges = list(pairwise(breaks))[: len(times) + 1]
            near = inside(p, *look_up(t, [0.0, *times], edges))
        return self._geometry_near(p, near)

    def _geometry_near(self, p: ca.SX, near: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """r, r', |r'| and κ at p, on the piece that holds at `near`."""
        r = self.path.position_near(p, near)
        r1 = ca.jacobian(r, p)
        bend = self.path.bend_near(p, near)
        if bend is not None:
            return r, r1, ca.SX(1), bend
        r2 = ca.jacobian(r1, p)
        pace = ca.sqrt(ca.dot(r1, r1))
        return r, r1, pace, (r1[0] * r2[1] - r1[1] * r2[0]) / pace**3

    def _way(self, t: ca.SX) -> ca.SX:
        """1 on the parts of the path that go as the first one, −1 on those that go back."""
        inner, times = self.path.breaks[1:-1], self.timing.break_times(self.path)
        at = [time for p, time in zip(inner, times, strict=False) if p in self.path.cusps]
        ways = [(-1.0) ** k for k in range(len(at) + 1)]
        return look_up(t, [0.0, *at], [[way] for way in ways])[0]

    def _seen_at_rest(self, t: ca.SX, s: ca.SX, curvature: ca.SX, order: int) -> ca.SX:
        """The curvature, (4) where the vehicle stands at a cusp; right up to an order of d/ds."""
        places = arc_table(self.path).arc_length(np.array(self.path.cusps))
        for k, (arrives, leaves) in enumerate(self.timing.stops(self.path)):
            if not leaves > arrives:
                continue
            before, after = self._curvatures_at(k, order)
            tau = clamp((t - arrives) / (leaves - arrives), 0.0, 1.0)
            b = tau**3 * (10 + tau * (6 * tau - 15))
            off, power, seen = s - float(places[k]), ca.SX(1), ca.SX(0)
            for n, (one, other) in enumerate(zip(before, after, strict=True)):
                # driven the other way, n-th derivatives change by (−1)ⁿ⁺¹
                seen += (one + b * ((-1.0) ** (n + 1) * other - one)) * power
                power = power * off / (n + 1)
            is_here = ca.logic_and(t >= arrives, t < leaves)
            curvature = ca.if_else(is_here, seen, curvature)
        return curvature

    def _curvatures_at(self, cusp: int, order: int) -> tuple[Array, Array]:
        """(order + 1,) κ and its derivatives by s on both sides of a cusp."""
        p, near = ca.SX.sym("p"), ca.SX.sym("near")
        _, _, pace, bend = self._geometry_near(p, near)
        rows = [bend]
        for _ in range(order):
            rows.append(ca.jtimes(rows[-1], p, ca.SX(1)) / pace)
        function = ca.Function("curvature", [p, near], [ca.densify(ca.vertcat(*rows))])
        breaks, at = self.path.breaks, self.path.cusps[cusp]
        k = breaks.index(at)
        sides = ((breaks[k - 1] + at) / 2, (at + breaks[k + 1]) / 2)
        before, after = (np.array(function(at, side)).ravel() for side in sides)
        return before, after

    def jumps(self, order: int) -> list[CurvatureJump]:
        """Jumps of the curvature and of its derivatives up to an order."""
        return curvature_jumps(self.path, order)

    def check_feed_forward(self, system: System) -> None:
        """Refuse a path whose curvature jumps, or its rate where a motor steers, on the way."""
        self._check_continuity(system)
        path, timing = self.path, self.timing
        places = arc_table(path).arc_length(np.array(path.breaks[1:-1])).tolist()
        passed = dict(zip(places, timing.break_times(path), strict=False))
        t, s = ca.SX.sym("t"), ca.SX.sym("s")
        speed = ca.Function("speed", [t, s], [timing.speed(t, s, ca.SX(0), length(path))])
        for jump in self.jumps(self.order(system)):
            at = jump.arc_length
            pace = float(speed(passed[at], at)) if at in passed else 0.0
            if abs(jump.size * pace ** (jump.order + 1)) > STANDSTILL:
                name, unit = jump.name, jump.unit
                raise SimulationError(
                    f"{name} of the path jumps by {jump.size:.4g} {unit} {at:.4g} m along it, "
                    f"where {self._jumping(jump.order)} would have to jump, which takes "
                    "infinite forces",
                    f"path for model '{system.model.name}'",
                    "put a Clothoid between, or blend corners smoothly: "
                    f"Polyline(blend='smooth', order={jump.order + 1}), Spline(order="
                    f"{jump.order + 1}); stop there, or give a controller that returns to the path",
                )

    def _jumping(self, order: int) -> str:
        if order == 0 or not self._links():
            return "the rate of turning"
        return "the rate of the steering" if order == 1 else "a rate of the vehicle"

    def steering_links(self, system: System) -> tuple[AxleLink, ...]:
        """Hinges on axles, whose angles follow from the path's curvature: what steers."""
        return tuple(link for link in self._links() if self._is_on_axle(system, link))

    def _links(self) -> tuple[AxleLink, ...]:
        """All links, the steering that is named last."""
        if not self.steering:
            return self.links
        led = AxleLink(coordinate=self.steering, near=(self.wheelbase, 0.0), origin=self.base)
        return (*self.links, led)

    def _is_on_axle(self, system: System, link: AxleLink) -> bool:
        ahead = nominal(link.far[0], system.model.parameter_values())
        return abs(ahead) <= ON_AXLE * max(system.kinematics.length, 1e-9)

    def _orders(self, system: System) -> list[int]:
        """Derivative of the path's curvature that is in the curvature of each frame."""
        # a heading of its own does not bend with the path
        orders = [0 if self.heading is None else -1]
        for link in self._links():
            orders.append(orders[link.origin] + self._is_on_axle(system, link))
        # a frame that nothing hangs on need not have a curvature: its angle is what counts
        used = {link.origin for link in self._links()} | {0, self.base}
        return [order if k in used else orders[0] for k, order in enumerate(orders)]

    def _given_heading(self, system: System, s: ca.SX) -> ca.SX:
        reader = system.kinematics.reader.extended({"s": s})
        return ca.SX(reader.scalar(0.0 if self.heading is None else self.heading))

    def _shape(self, system: System) -> _Shape:
        """(1) to (3), frame by frame."""
        t, reader = system.kinematics.symbols.t, system.kinematics.reader
        p, s, theta = ca.SX.sym("p"), ca.SX.sym("s"), ca.SX.sym("theta")
        r, _, pace, curvature = self.geometry(t, p)
        curvature = self._seen_at_rest(t, s, curvature, max(0, *self._orders(system)))
        states, rates = [p, s, theta], [1 / pace, ca.SX(1), curvature]
        way = self._way(t)
        sign = -way if self.reverse else way
        if self.heading is None:
            heading = theta + (math.pi if self.reverse else 0.0)
            twist = sign, ca.SX(0), curvature
        else:
            heading = self._given_heading(system, s)
            off = theta - heading
            twist = way * ca.cos(off), way * ca.sin(off), ca.jtimes(heading, s, ca.SX(1))
        frames = [(r, heading, twist)]
        angles, speeds, hinges, integrated = [], [], [], []
        for k, link in enumerate(self._links()):
            place, heading, (vx, vy, turning) = frames[link.origin]
            nx, ny = (reader.scalar(e) for e in link.near)
            fx, fy = (reader.scalar(e) for e in link.far)
            ux, uy = vx - turning * ny, vy + turning * nx  # (1)
            if self._is_on_axle(system, link):
                phi = ca.atan2(sign * uy, sign * ux)  # (2)
                at = ca.vertcat(*states)
                bend = ca.jtimes(phi, at, ca.vertcat(*rates))
                far = turning + bend
            else:
                phi = ca.SX.sym(f"phi{k}")
                far = (uy * ca.cos(phi) - ux * ca.sin(phi)) / fx  # (3)
                states.append(phi)
                rates.append(far - turning)
                integrated.append(k)
            speed = ux * ca.cos(phi) + uy * ca.sin(phi) + far * fy
            ahead = heading + phi
            there = place + _turned(heading, nx, ny) - _turned(ahead, fx, fy)
            frames.append((there, ahead, (speed, ca.SX(0), far)))
            angles.append(phi)
            speeds.append(sign * speed)
            hinges.append((ca.vertcat(ux, uy), turning))
        if not 0 <= self.base < len(frames):
            raise SimulationError(
                f"base is {self.base}, and the chain has {counted(len(frames), 'frame')}",
                "path motion",
                f"give one from 0, which follows the path, to {len(frames) - 1}",
            )
        place, heading, _ = frames[self.base]
        return _Shape(
            states=ca.vertcat(*states),
            rates=ca.vertcat(*rates),
            heading=heading,
            place=place,
            angles=angles,
            speeds=speeds,
            integrated=tuple(integrated),
            hinges=hinges,
            orders=tuple(self._orders(system)),
        )

    def _start(self, system: System, shape: _Shape) -> Array:
        """States at the start, with hinges as in the steady turn there: φ′ = 0."""
        t, p = ca.SX.sym("t"), ca.SX.sym("p")
        first = self.path.interval[0]
        slope = np.array(ca.Function("r1", [t, p], [self.geometry(t, p)[1]])(0.0, first)).ravel()
        z = np.zeros(shape.states.shape[0])
        z[0], z[2] = first, math.atan2(slope[1], slope[0])
        known = system.model.parameter_values()
        sign = -1.0 if self.reverse else 1.0
        for at, k in enumerate(shape.integrated):
            function = self._function(system, shape, shape.hinges[k])
            u, turning = (np.array(e).ravel() for e in function(0.0, z))
            ahead = nominal(self._links()[k].far[0], known)
            across = sign * ahead * turning[0] / max(float(np.hypot(*u)), 1e-300)
            across = min(max(across, -1.0), 1.0)
            z[3 + at] = math.atan2(sign * u[1], sign * u[0]) - math.asin(across)
        return z

    def _function(self, system: System, shape: _Shape, outputs: tuple[ca.SX, ...]) -> ca.Function:
        """Outputs of (t, states) at the nominal parameters."""
        symbols = system.kinematics.symbols
        values = ca.DM(list(system.model.parameter_values().values()))
        fixed = ca.substitute([ca.densify(e) for e in outputs], [symbols.params], [ca.SX(values)])
        return ca.Function("shape", [symbols.t, shape.states], fixed)

    def _check_direction(self, system: System) -> None:
        """Refuse a direction that does not point anywhere in the plane."""
        known = system.model.parameter_values()
        ahead, across = (nominal(e, known) for e in self.direction[:2])
        if not (math.isfinite(ahead) and math.isfinite(across) and math.hypot(ahead, across) > 0):
            listed = ", ".join(str(e) for e in self.direction)
            raise SimulationError(
                f"the direction ({listed}) has no component in the plane",
                f"direction of the base of model '{system.model.name}'",
                "give the axis of the base that points along the path, such as (1, 0, 0)",
            )

    def _check_continuity(self, system: System) -> None:
        """Refuse a path on which an angle that follows from the curvature would have to jump."""
        order = self._jump_order(system)
        if order < 0:
            return
        places = arc_table(self.path).arc_length(np.array(self.path.cusps)).tolist()
        stops = zip(places, self.timing.stops(self.path), strict=False)
        turned = {place for place, (arrives, leaves) in stops if leaves > arrives}
        for jump in self.jumps(order):
            if jump.arc_length in turned:
                continue
            raise SimulationError(
                f"{jump.name} of the path jumps by {jump.size:.4g} {jump.unit} "
                f"{jump.arc_length:.4g} m along it, where the steering angle would have to jump",
                f"path for model '{system.model.name}'",
                "put a Clothoid between, or blend corners smoothly: Polyline(blend='smooth', "
                f"order={jump.order + 2}), Spline(order={jump.order + 2})",
            )

    def _jump_order(self, system: System) -> int:
        """Derivative of the curvature that angles of hinges on axles follow; −1: there are none."""
        orders = self._orders(system)
        return max((orders[link.origin] for link in self.steering_links(system)), default=-1)

    def standing_turns(self, system: System) -> tuple[StandingTurn | None, ...]:
        """Turn at rest at each cusp of the path; None where none is needed."""
        cusps, order = self.path.cusps, self._jump_order(system)
        if not cusps or order < 0:
            return ()
        jumping = {jump.arc_length for jump in self.jumps(order)}
        places = arc_table(self.path).arc_length(np.array(cusps)).tolist()
        if not jumping & set(places):
            return (None,) * len(cusps)
        trial = self.timed(self.timing.paused((1.0,) * len(cusps)))
        return tuple(
            trial._turn_at(system, k, place) if place in jumping else None
            for k, place in enumerate(places)
        )

    def _turn_at(self, system: System, cusp: int, place: float) -> StandingTurn:
        """Motion of the angles of hinges on axles in (4) at a cusp."""
        shape, links = self._shape(system), self._links()
        symbols = system.kinematics.symbols
        led = [k for k, link in enumerate(links) if self._is_on_axle(system, link)]
        angles = ca.vertcat(*(links[k].sign * shape.angles[k] for k in led))
        rates = ca.jtimes(angles, symbols.t, ca.SX(1))
        s, z = self._along(system, shape)
        at = np.array([np.interp(place, s, row) for row in z])
        at[:2] = self.path.cusps[cusp], place
        arrives, leaves = self.timing.stops(self.path)[cusp]
        t = np.linspace(arrives, leaves, INSTANTS)
        t[-1] = np.nextafter(leaves, arrives)
        found = self._function(system, shape, (angles, rates))
        phi, rate = (np.array(e) for e in found(t[None, :], np.tile(at[:, None], len(t))))
        changes = phi[:, -1] - phi[:, 0]
        inner = {link.origin for link in links} | {self.base}
        stuck = [k for i, k in enumerate(led) if k + 1 in inner and abs(changes[i]) > TURNED]
        if stuck:
            raise SimulationError(
                f"the curvature of the path jumps at the cusp {place:.4g} m along it, where "
                f"'{links[stuck[0]].coordinate}' would have to jump, and no steering turns it at "
                "rest",
                f"path for model '{system.model.name}'",
                "let the curvature change its sign at the cusp, or vanish",
            )
        moving = [i for i, change in enumerate(changes) if abs(change) > TURNED]
        return StandingTurn(
            arc_length=place,
            angles=tuple(links[led[i]].coordinate for i in moving),
            changes=tuple(float(changes[i]) for i in moving),
            fastest=tuple(float(np.max(np.abs(rate[i]))) for i in moving),
        )

    def _check_angles(self, system: System, shape: _Shape) -> None:
        """Refuse a path that needs a hinge to turn more than it can."""
        links = self._links()
        if not links:
            return
        s, z = self._along(system, shape)
        both = ca.vertcat(*shape.angles), ca.vertcat(*shape.speeds)
        found = self._function(system, shape, both)
        # the piece is chosen by time, which is not known here: by place instead
        angles, speeds = (np.array(e) for e in found(self._times(s)[None, :], z))
        led = [k for k, link in enumerate(links) if self._is_on_axle(system, link)]
        needed = np.abs(angles[led]) if led else np.zeros((1, len(s)))
        needed = np.where(np.any(speeds[led] <= 0, axis=0), np.pi, needed) if led else needed
        j, k = np.unravel_index(int(np.argmax(needed)), needed.shape)
        folded = np.abs(angles[list(shape.integrated)]) if shape.integrated else np.zeros((1, 1))
        most = self.largest_steering
        if needed[j, k] <= most and np.max(folded) < np.pi / 2:
            return
        where = f"path for model '{system.model.name}'"
        fix = "choose a wider path, or blend its corners with a larger radius"
        if np.max(folded) >= np.pi / 2:
            i, k = np.unravel_index(int(np.argmax(folded >= np.pi / 2)), folded.shape)
            name = links[shape.integrated[int(i)]].coordinate
            raise SimulationError(
                f"the path makes '{name}' fold up beyond 90°, {s[k]:.4g} m along it: needs the "
                "base to turn round",
                where,
                fix,
            )
        kappa = float(np.interp(s[k], s, arc_table(self.path).curvature(z[0])))
        asked = f"a steering angle of {needed[j, k]:.4g} rad, more than {most:.4g}"
        if needed[j, k] > np.pi / 2:
            asked = "the base to turn round"
        raise SimulationError(
            f"the path has a curvature of {kappa:.4g} 1/m, which needs {asked}, {s[k]:.4g} m along "
            "it",
            where,
            fix,
        )

    def _times(self, s: Array) -> Array:
        """Times at which pieces of the path hold, for places along it."""
        times = self.timing.break_times(self.path)
        if not times:
            return np.zeros(len(s))
        breaks = arc_table(self.path).arc_length(np.array(self.path.breaks))
        edges = np.concatenate([[0.0], times])
        k = np.clip(np.searchsorted(breaks, s, side="right") - 1, 0, len(edges) - 1)
        return np.asarray(edges[k], dtype=float)

    def _along(self, system: System, shape: _Shape) -> tuple[Array, Array]:
        """Places along the path, m, and the states there, by integration over the path alone."""
        from scipy.integrate import solve_ivp

        table = arc_table(self.path)
        s = np.linspace(0.0, table.s[-1], LOOKED_AT)
        p = table.parameter(s)
        z = np.zeros((shape.states.shape[0], len(s)))
        z[0], z[1], z[2] = p, s, table.turned(p)
        if not shape.integrated:
            return s, z
        rates = self._function(system, shape, (shape.rates[3:],))

        def rate(at: float, phi: Array) -> Array:
            p = float(table.parameter(np.array([at]))[0])
            first = [p, at, float(table.turned(np.array([p]))[0])]
            t = float(self._times(np.array([at]))[0])
            return np.array(rates(t, np.concatenate([first, phi]))).ravel()

        start = self._start(system, shape)[3:]
        run = solve_ivp(rate, (0.0, s[-1]), start, t_eval=s, rtol=1e-6, atol=1e-6)
        z[3:, : run.y.shape[1]] = run.y
        return s, z


def _turned(angle: ca.SX, x: ca.SX, y: ca.SX) -> ca.SX:
    c, d = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * x - d * y, d * x + c * y)


def _rotated(angle: Array, place: list[float]) -> Array:
    c, d = np.cos(angle), np.sin(angle)
    return np.column_stack([c * place[0] - d * place[1], d * place[0] + c * place[1]])


def rates_of(system: System) -> list[tuple[str, str]]:
    """Coordinates whose rate is a tree speed, with that speed."""
    found = []
    for node in system.kinematics.tree.nodes:
        q, v = system.coordinates[node.coordinates], system.speeds[node.speeds]
        if len(q) == len(v):
            found += [(a.name, b.name) for a, b in zip(q, v, strict=True)]
    return found


def planar_base(system: System) -> Node:
    """The node of the vehicle's base: a body on a planar joint with the ground."""
    for node in system.kinematics.tree.nodes:
        joint = node.joint
        if joint.type.is_planar and node.parent < 0:
            turned = any(a != 0 for a in joint.parent_frame.angles)
            moved = any(x != 0 for x in joint.parent_frame.position[:2])
            if turned or moved or joint.child_frame != Placement():
                raise SimulationError(
                    f"planar joint '{joint.name}' has a frame that is rotated or displaced in "
                    "the plane",
                    f"path for model '{system.model.name}'",
                    "remove the frames of the joint, and give the path in world axes",
                )
            return node
    what = "the model has no planar joint with the ground, so there is no base to follow a path"
    fix = (
        "prescribe coordinates: noslip run MODEL --motion joint1.angle=0.5*sin(t), or "
        "follow(system, ExpressionMotion(…))"
    )
    if not all(contact.is_flat for contact in system.model.contacts):
        what += ", and its ground is not level"
        fix = "use the vehicle on level ground, or give its inputs: noslip run, noslip studio"
    raise SimulationError(what, f"model '{system.model.name}'", fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailerMotion(AbstractPathMotion):
    """The trailer's axle along a path, the base and the steering as they must be."""

    #: path, timing: path of the trailer's axle, and timing law
    path: AbstractPath
    timing: AbstractTiming
    #: steering, hinge, wheelbase, hitch, trailer, reverse, largest_steering: properties of the
    #: base, whose origin is on its axle, and of the trailer, as in :class:`Follower`
    steering: str
    hinge: str
    wheelbase: Scalar
    hitch: Scalar
    trailer: Scalar
    reverse: bool = True
    largest_steering: float = math.pi / 2

    def trace(self, system: System) -> MotionTrace:
        """Pose of the base, steering and articulation over time."""
        self._check(system)
        return self._along().trace(system)

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of the trailer's axle along a run."""
        return self._along().errors(system, run)

    def hinges(self) -> tuple[str, ...]:
        """The one of the trailer."""
        return (self.hinge,)

    def timed(self, timing: AbstractTiming) -> TrailerMotion:
        """The same motion under another timing law."""
        return replace(self, timing=timing)

    def order(self, system: System) -> int:
        """Same as for any chain of axles."""
        return self._along().order(system)

    def standing_turns(self, system: System) -> tuple[StandingTurn | None, ...]:
        """Same as for any chain of axles."""
        return self._along().standing_turns(system)

    def check_feed_forward(self, system: System) -> None:
        """Refuse what no finite forces can do."""
        self._along().check_feed_forward(system)

    def _along(self) -> PathMotion:
        """The trailer's axle, with the base hinged to it."""
        drawbar = AxleLink(
            coordinate=self.hinge,
            near=(self.trailer, 0.0),
            far=(_less(self.hitch), 0.0),
            sign=-1.0,
        )
        return PathMotion(
            path=self.path,
            timing=self.timing,
            reverse=self.reverse,
            steering=self.steering,
            wheelbase=self.wheelbase,
            largest_steering=self.largest_steering,
            links=(drawbar,),
            base=1,
        )

    def _check(self, system: System) -> None:
        if not self.steering:
            raise SimulationError(
                "the axle of a trailer follows the path, but nothing steers",
                f"motion of model '{system.model.name}'",
                "name the steering of the base, with its wheelbase",
            )
        hitch = nominal(self.hitch, system.model.parameter_values())
        if hitch * (1 if self.reverse else -1) < 0:
            way = "in reverse" if self.reverse else "forward"
            raise SimulationError(
                f"the hitch is {hitch:g} m behind the axle, where the articulation is not stable "
                f"for a trailer on the path {way}",
                f"motion of model '{system.model.name}'",
                "let the base follow the path with PathMotion"
                if not self.reverse
                else "place the hitch behind the axle",
            )


def _less(value: Scalar) -> Scalar:
    return f"-({value})" if isinstance(value, str) else -value

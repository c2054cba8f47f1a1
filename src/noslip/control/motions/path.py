"""A vehicle on a path: the pose of its base, and its steering, as a motion with states of its own.

A frame of the base (a point and a heading) goes along the path: the point on it, the heading along
its tangent, or against it when driving in reverse. The path's parameter p, the arc length s and the
heading θ are carried as states,

    ṡ = timing(t, s, κ),   ṗ = ṡ / |r'(p)|,   θ̇ = κ ṡ

so that paths need no closed form of their arc length, and headings turn on without jumps. Which
piece of a path holds is decided by time: steps of a simulation end where one piece is left for the
next, and a kink would be seen twice if p, which is integrated, decided it.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from noslip.analysis.motion import AbstractMotion, Frame, MotionTrace, coordinate_indices
from noslip.control.paths.arc_length import arc_table, length, sample
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.selection import inside, look_up
from noslip.control.timing.laws import AbstractTiming
from noslip.engines.cache import value_key
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.kinematics.tree import Node
from noslip.model.bodies import Placement
from noslip.model.expressions import nominal
from noslip.model.quantities import ZERO, Scalar, Vector3
from noslip.simulation.path_errors import PathErrors
from noslip.simulation.trajectory import Trajectory

#: Jump of the curvature, 1/m, that is taken for rounding.
CONTINUOUS = 1e-5
#: Jump of a rate of turning, rad/s, that is taken for a vehicle at rest.
STANDSTILL = 1e-4


class AbstractPathMotion(AbstractMotion):
    """A motion of a vehicle of which something follows a path."""

    __slots__ = ()

    @property
    def key(self) -> Hashable:
        """Path, timing and what follows."""
        return value_key(self)

    @abc.abstractmethod
    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors along a run of what follows.

        Parameters
        ----------
        system : compiled system.
        run : with the columns of this motion's states.
        """

    def check_feed_forward(self, system: System) -> None:
        """Refuse, without feedback, what no finite forces can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMotion(AbstractPathMotion):
    """The pose of a planar base along a path, and a steering angle if the vehicle has one.

    Parameters
    ----------
    path, timing : where to go and how fast.
    point, direction, reverse, steering, wheelbase, largest_steering : what follows the path, as in
        :class:`Follower`; the steering is kept at atan(wheelbase · κ).
    """

    path: AbstractPath
    timing: AbstractTiming
    point: Vector3 = ZERO
    direction: Vector3 = (1.0, 0.0, 0.0)
    reverse: bool = False
    steering: str = ""
    wheelbase: Scalar = 0.0
    largest_steering: float = math.pi / 2

    def trace(self, system: System) -> MotionTrace:
        """Coordinates of the base (and the steering) over time, along the path."""
        kin = system.kinematics
        t = kin.symbols.t
        base = planar_base(system)
        self._check_direction(system)
        self._check_curvature(system)
        p, s, theta = ca.SX.sym("p"), ca.SX.sym("s"), ca.SX.sym("theta")
        r, r1, pace, curvature = self.geometry(t, p)
        speed = self.timing.speed(t, s, curvature, length(self.path))
        # heading of the base: along the path, less the angle of `direction` in the body
        reader = kin.reader
        ahead, across = (reader.scalar(e) for e in self.direction[:2])
        turn = math.pi if self.reverse else 0.0
        angle = theta + turn - ca.atan2(across, ahead)
        x, y = (reader.scalar(e) for e in self.point[:2])
        c, d = ca.cos(angle), ca.sin(angle)
        place = r - ca.vertcat(c * x - d * y, d * x + c * y)
        names = [f"{base.joint.name}.{k}" for k in ("x", "y", "angle")]
        outputs = [place[0], place[1], angle]
        if self.steering:
            sign = -1.0 if self.reverse else 1.0
            names.append(self.steering)
            outputs.append(ca.atan(sign * reader.scalar(self.wheelbase) * curvature))
        start = self.path.interval[0]
        slope = np.array(ca.Function("r1", [t, p], [r1])(0.0, start)).ravel()
        return MotionTrace(
            at=coordinate_indices(system, names),
            outputs=ca.vertcat(*outputs),
            states=ca.vertcat(p, s, theta),
            rates=ca.vertcat(speed / pace, speed, curvature * speed),
            start=np.array([start, 0.0, math.atan2(slope[1], slope[0])]),
            names=("path.parameter", "path.arc_length", "path.heading"),
            units=("1", "m", "rad"),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=(*self.timing.knots(self.path), *self.timing.break_times(self.path)),
        )

    @property
    def frame(self) -> Frame:
        """The frame that goes along the path."""
        return self.point, self.direction

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of the frame along a run."""
        x, y = (nominal(e, run.parameters) for e in self.point[:2])
        ahead, across = (nominal(e, run.parameters) for e in self.direction[:2])
        q = run.q[:, planar_base(system).coordinates.start :]
        c, s = np.cos(q[:, 2]), np.sin(q[:, 2])
        place = np.column_stack([q[:, 0] + c * x - s * y, q[:, 1] + s * x + c * y])
        return self.errors_of(run, place, q[:, 2] + math.atan2(across, ahead))

    def errors_of(self, run: Trajectory, place: Array, heading: Array) -> PathErrors:
        """Errors of what should be on the path.

        Parameters
        ----------
        run : with the columns of this motion's states.
        place, heading : (n, 2) and (n,) of what follows, m and rad.
        """
        t, p = ca.SX.sym("t"), ca.SX.sym("p")
        at = ca.Function("at", [t, p], [self.geometry(t, p)[0]])
        on_path = at(run.t[None, :], run["path.parameter"][None, :]).full().T
        theta, gap = run["path.heading"], place - on_path
        c, s = np.cos(theta), np.sin(theta)
        turn = math.pi if self.reverse else 0.0
        return PathErrors(
            along=c * gap[:, 0] + s * gap[:, 1],
            across=-s * gap[:, 0] + c * gap[:, 1],
            heading=heading - turn - theta,
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
        r = self.path.position_near(p, near)
        r1 = ca.jacobian(r, p)
        r2 = ca.jacobian(r1, p)
        pace = ca.sqrt(ca.dot(r1, r1))
        return r, r1, pace, (r1[0] * r2[1] - r1[1] * r2[0]) / pace**3

    def _check_direction(self, system: System) -> None:
        """Refuse a direction that does not point anywhere in the plane."""
        known = system.model.parameter_values()
        ahead, across = (nominal(e, known) for e in self.direction[:2])
        if not (math.isfinite(ahead) and math.isfinite(across) and math.hypot(ahead, across) > 0):
            listed = ", ".join(str(e) for e in self.direction)
            raise SimulationError(
                f"the direction ({listed}) points nowhere in the plane",
                f"direction of the base of model '{system.model.name}'",
                "give the axis of the base that points along the path, such as (1, 0, 0)",
            )

    def curvature_jumps(self) -> list[tuple[float, float]]:
        """Arc length, m, and jump of the curvature, 1/m, at each break where it jumps."""
        table, breaks = arc_table(self.path), np.array(self.path.breaks)
        inner = breaks[1:-1]
        before, after = inner - 1e-9 * np.diff(breaks)[:-1], inner + 1e-9 * np.diff(breaks)[1:]
        jumps = table.curvature(after) - table.curvature(before)
        places = zip(table.arc_length(inner).tolist(), jumps.tolist(), strict=True)
        return [(s, jump) for s, jump in places if abs(jump) > CONTINUOUS]

    def check_feed_forward(self, system: System) -> None:
        """Refuse a path on which the rate of turning jumps."""
        if self.steering:
            return  # it turns by its steering, which is checked when the motion is traced
        path, timing = self.path, self.timing
        places = arc_table(path).arc_length(np.array(path.breaks[1:-1])).tolist()
        passed = dict(zip(places, timing.break_times(path), strict=False))
        t, s = ca.SX.sym("t"), ca.SX.sym("s")
        speed = ca.Function("speed", [t, s], [timing.speed(t, s, ca.SX(0), length(path))])
        for place, jump in self.curvature_jumps():
            if place in passed and abs(jump * float(speed(passed[place], place))) > STANDSTILL:
                raise SimulationError(
                    f"the curvature of the path jumps by {jump:.4g} 1/m {place:.4g} m along it, "
                    "where the rate of turning would have to jump: no finite forces do that",
                    f"path for model '{system.model.name}'",
                    "put a Clothoid between, or blend corners by clothoids, stop there, or give a "
                    "controller that leads back",
                )

    def _check_curvature(self, system: System) -> None:
        """Refuse a path that turns more sharply, or at once, than the steering can."""
        if not self.steering:
            return
        jumps = self.curvature_jumps()
        if jumps:
            s, jump = jumps[0]
            raise SimulationError(
                f"the curvature of the path jumps by {jump:.4g} 1/m {s:.4g} m along it, where the "
                "steering angle would have to jump",
                f"path for model '{system.model.name}'",
                "put a Clothoid between, or blend corners by clothoids: Polyline(blend='clothoid')",
            )
        reach = nominal(self.wheelbase, system.model.parameter_values())
        points = sample(self.path, 400)
        needed = np.abs(np.arctan(reach * points.curvature))
        k = int(np.argmax(needed))
        if not needed[k] <= self.largest_steering:
            raise SimulationError(
                f"the path has a curvature of {points.curvature[k]:.4g} 1/m "
                f"{points.arc_length[k]:.4g} m "
                f"along it, which needs a steering angle of {needed[k]:.4g} rad, more than "
                f"{self.largest_steering:.4g}",
                f"path for model '{system.model.name}'",
                "choose a wider path, or blend its corners with a larger radius",
            )


def planar_base(system: System) -> Node:
    """The node of the vehicle's base: a body on a planar joint with the ground."""
    for node in system.kinematics.tree.nodes:
        joint = node.joint
        if joint.type.is_planar and node.parent < 0:
            turned = any(a != 0 for a in joint.parent_frame.angles)
            moved = any(x != 0 for x in joint.parent_frame.position[:2])
            if turned or moved or joint.child_frame != Placement():
                raise SimulationError(
                    f"planar joint '{joint.name}' has its frame turned or moved in the plane",
                    f"path for model '{system.model.name}'",
                    "give the joint no frames in the plane, and the path in the world",
                )
            return node
    raise SimulationError(
        "the model has no planar joint with the ground, so there is no base to follow a path",
        f"model '{system.model.name}'",
        "prescribe coordinates with ExpressionMotion instead",
    )

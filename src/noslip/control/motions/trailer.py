"""A vehicle with a trailer whose axle follows a path: the way to prescribe backing up.

With the base on the path, the trailer is pushed and folds up. With the trailer's axle on it, the
articulation φ (heading of the trailer less that of the base) is the state that is left; with
v₂, ω₂ the speed ahead and the rate of turning of the trailer, ℓ its length and c the hitch,

    (1)  v₁ = v₂ cos φ − ℓ ω₂ sin φ,    −c ω₁ = v₂ sin φ + ℓ ω₂ cos φ
    (2)  φ̇ = ω₂ − ω₁
    (3)  tan δ = wheelbase ω₁ / v₁

(1) is the velocity of the hinge in the base's axes. On a line (2) is φ̇ = v₂ sin φ / c: stable in
reverse for a hitch behind the axle, forward for one ahead of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from noslip.analysis.motion import MotionTrace, coordinate_indices
from noslip.control.motions.path import AbstractPathMotion, PathMotion, planar_base
from noslip.control.paths.arc_length import arc_table
from noslip.control.paths.base import AbstractPath, Array
from noslip.control.timing.laws import AbstractTiming
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.model.expressions import nominal
from noslip.model.quantities import Scalar
from noslip.simulation.path_errors import PathErrors
from noslip.simulation.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailerMotion(AbstractPathMotion):
    """The trailer's axle along a path, the base and the steering as they must be.

    Parameters
    ----------
    path, timing : where the trailer's axle goes and how fast.
    steering, hinge, wheelbase, hitch, trailer, reverse, largest_steering : of the base, whose
        origin is on its axle, and of the trailer, as in :class:`Follower`.
    """

    path: AbstractPath
    timing: AbstractTiming
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
        reader = system.kinematics.reader
        along = self._along()
        axle = along.trace(system)
        sign = -1.0 if self.reverse else 1.0
        v2, w2 = sign * axle.rates[1], axle.rates[2]
        t = system.kinematics.symbols.t
        bend = sign * along.geometry(t, axle.states[0])[3]
        wheelbase, hitch, length = (
            reader.scalar(e) for e in (self.wheelbase, self.hitch, self.trailer)
        )
        phi = ca.SX.sym("phi")
        cos, sin = ca.cos(phi), ca.sin(phi)
        rate = w2 + (v2 * sin + length * w2 * cos) / hitch  # (2)
        # (3), by distance, so that it holds at rest
        turning = -(sin + length * bend * cos) / hitch
        delta = ca.atan(wheelbase * turning / (cos - length * bend * sin))
        heading = axle.outputs[2]
        own = heading - phi
        ahead = length * ca.vertcat(ca.cos(heading), ca.sin(heading))
        place = axle.outputs[0:2] + ahead + hitch * ca.vertcat(ca.cos(own), ca.sin(own))
        name = planar_base(system).joint.name
        names = [f"{name}.x", f"{name}.y", f"{name}.angle", self.steering, self.hinge]
        at = coordinate_indices(system, names)
        return MotionTrace(
            at=at,
            outputs=ca.vertcat(place, own, delta, phi),
            states=ca.vertcat(axle.states, phi),
            rates=ca.vertcat(axle.rates, rate),
            start=np.append(axle.start, np.nan),
            find_start=lambda values: np.append(
                axle.start, self._steady(system, axle, bend, values)
            ),
            carried=((len(axle.start), at[-1]),),
            names=(*axle.names, "path.articulation"),
            units=(*axle.units, "rad"),
            parameters=axle.parameters,
            parameter_values=axle.parameter_values,
            knots=axle.knots,
        )

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of the trailer's axle along a run."""
        at = planar_base(system).coordinates.start
        hitch, length = (nominal(e, run.parameters) for e in (self.hitch, self.trailer))
        angle = run.q[:, at + 2]
        heading = angle + run[self.hinge]
        place = run.q[:, at : at + 2] - hitch * np.column_stack([np.cos(angle), np.sin(angle)])
        place = place - length * np.column_stack([np.cos(heading), np.sin(heading)])
        return self._along().errors_of(run, place, heading)

    def _along(self) -> PathMotion:
        """The trailer's axle as if it were a base of its own."""
        return PathMotion(path=self.path, timing=self.timing, reverse=self.reverse)

    def _steady(self, system: System, axle: MotionTrace, bend: ca.SX, values: Array) -> float:
        """φ of the steady turn at the start: sin φ + ℓκ cos φ = −c κ."""
        names = (p.name for p in system.model.parameters)
        known = {name: float(x) for name, x in zip(names, values, strict=True)}
        t = system.kinematics.symbols.t
        kappa = float(ca.Function("bend", [t, axle.states], [bend])(0.0, axle.start))
        a, b = nominal(self.trailer, known) * kappa, -nominal(self.hitch, known) * kappa
        return float(np.arcsin(b / np.hypot(1.0, a)) - np.arctan(a))

    def _check(self, system: System) -> None:
        if not self.steering:
            raise SimulationError(
                "the axle of a trailer is to follow the path, but nothing steers",
                f"motion of model '{system.model.name}'",
                "name the steering of the base, with its wheelbase",
            )
        known = system.model.parameter_values()
        hitch = nominal(self.hitch, known)
        if hitch * (1 if self.reverse else -1) <= 0:
            way = "in reverse" if self.reverse else "forward"
            raise SimulationError(
                f"the hitch is {hitch:g} m behind the axle, where the articulation is not stable "
                f"for a trailer on the path {way}",
                f"motion of model '{system.model.name}'",
                "let the base follow the path with PathMotion"
                if not self.reverse
                else "place the hitch behind the axle",
            )
        where = f"path for model '{system.model.name}'"
        jumps = self._along().curvature_jumps()
        if jumps:
            raise SimulationError(
                f"the curvature of the path jumps by {jumps[0][1]:.4g} 1/m {jumps[0][0]:.4g} m "
                "along it, where the steering angle would have to jump",
                where,
                "put a Clothoid between, or blend corners by clothoids: Polyline(blend='clothoid')",
            )
        sizes = (nominal(e, known) for e in (self.wheelbase, self.hitch, self.trailer))
        turn = _sharpest_turn(self.path, self.reverse, *sizes)
        if not turn.steering <= self.largest_steering:
            most = self.largest_steering
            needed = f"a steering angle of {turn.steering:.4g} rad, more than {most:.4g}"
            if turn.steering > math.pi / 2:
                needed = "the base to turn round"
            raise SimulationError(
                f"the path of the trailer's axle needs {needed}, {turn.arc_length:.4g} m along it",
                where,
                "choose a wider path, or blend its corners with a larger radius",
            )


class _TrailerTurn(NamedTuple):
    steering: float  # |δ|, π where the base would have to go the other way
    arc_length: float


@lru_cache(maxsize=64)
def _sharpest_turn(
    path: AbstractPath, is_reverse: bool, wheelbase: float, hitch: float, length: float
) -> _TrailerTurn:
    """The largest steering angle that the trailer's axle on a path asks for, and where."""
    table, sign = arc_table(path), -1.0 if is_reverse else 1.0
    s = np.linspace(0.0, table.s[-1], 1001)
    kappa = table.curvature(table.parameter(s))

    def rate(at: float, phi: Array) -> Array:
        bend = np.interp(at, s, kappa)
        return np.asarray(bend + (sign * np.sin(phi) + length * bend * np.cos(phi)) / hitch)  # (2)

    first = sign * kappa[0]
    steady = np.arcsin(-hitch * first / np.hypot(1.0, length * first)) - np.arctan(length * first)
    phi = solve_ivp(rate, (0.0, s[-1]), [steady], t_eval=s, rtol=1e-8, atol=1e-8).y[0]
    bend = sign * kappa
    turning = -(np.sin(phi) + length * bend * np.cos(phi)) / hitch
    ahead = np.cos(phi) - length * bend * np.sin(phi)
    angle = np.where(ahead > 0, np.abs(np.arctan(wheelbase * turning / ahead)), np.pi)  # (3)
    k = int(np.argmax(angle))
    return _TrailerTurn(float(angle[k]), float(s[k]))

"""Tracking for vehicles with a trailer, forward and backing up, on lines and on curves.

The state x is what the trailer's axle and the joints are off the reference: along e_x, across e_y,
heading e_θ, articulation e_φ and steering e_δ, in the axes of the trailer on the reference. With
the base at the speed of (3), σ = ±1 the direction and the reference on a circle on which the
trailer's axle has the curvature κ,

    (1)  x′ = A_σ(κ) x + B u,   u = δ′

over the way that the base drives, exactly linearized from the model's own kinematics. In reverse
e_φ is unstable: it folds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.control.controllers.base import check_gains
from noslip.control.controllers.steered import (
    AbstractSteeringLaw,
    at_reference,
    in_axes,
    moved,
    speed_rows,
    steering_coordinate,
)
from noslip.control.forms import Angle, Distance, PerMeter, PerSecond
from noslip.control.lqr import solve_lqr
from noslip.control.motions.path import planar_base
from noslip.control.paths.selection import clamp, polynomial
from noslip.control.reference.inverse import Reference
from noslip.engines import System
from noslip.expressions import nominal
from noslip.model import Meaning

DEGREE = 10  # of the gains as polynomials of the bend
WIDEST = 1.2  # rad, of the bend and of the articulation up to which gains follow the curvature


class SteadyTurn(NamedTuple):
    """Articulation and steering angle, rad, at which the trailer's axle stays on a circle."""

    fold: float
    steering: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailerTracking(AbstractSteeringLaw):
    """Tracking of a vehicle with a trailer, forward and backing up.

        (2)  w = w_r − |v_r| K_σ(κ_r) x,     (3)  v_d = v_r − ½ |v_r| tanh(2 k_x e_x)

    K_σ(κ) are the linear-quadratic gains of (1) for ∫ xᵀ diag(0, weights) x + effort u² ds, and κ_r
    is the curvature that the trailer's axle has on the reference. So every line and every circle is
    exponentially stable in either direction, and paths on which the curvature changes over a way
    that is long against 1/k_x: tracking by approximate linearization, as for the car in
    [DeLucaOrioloSamson1998]. For gains of any motion whatever, see :func:`linear_quadratic`.

    The steering rate is held so that |δ| never passes `largest`. The reference must be one that
    does not fold up itself: in reverse prescribe the trailer's axle (:class:`TrailerMotion`).
    Gains are found for the nominal parameters; turns sharper than those in which the trailer folds
    by 1.2 rad, or the steering reaches `largest`, have the gains of that turn.

    Parameters
    ----------
    steering, hinge : names of the steering coordinate and of the trailer's angle on the base.
    hitch : from the base's origin back to the hinge, m.
    trailer : from the hinge back to the trailer's axle, m.
    weights : of e_y (1/m²), e_θ, e_φ and e_δ (1/rad²).
    effort : of u, m²/rad².
    kx, kv : 1/m and 1/s.
    kdelta : 1/s, how fast the steering may approach its largest angle.
    largest : largest steering angle, rad.
    """

    word = "trailer"

    steering: str
    hinge: str
    hitch: Distance
    trailer: Distance
    weights: tuple[float, float, float, float] = (0.01, 0.3, 1.0, 0.2)
    effort: Annotated[float, Meaning(unit="m^2/rad^2")] = 1.0
    kx: PerMeter = 0.5
    kv: PerSecond = 5.0
    kdelta: PerSecond = 5.0
    largest: Angle = 1.0

    def __post_init__(self) -> None:
        check_gains(self, "weights", "kx", "kv", "kdelta", "largest", "effort")

    def gains(self, system: System, sign: float, curvature: float = 0.0) -> Array:
        """K_σ(κ) (5,): rate of the steering angle over the way driven, for each error.

        Parameters
        ----------
        system : compiled system.
        sign : 1 forward, −1 in reverse.
        curvature : of the circle that the trailer's axle is on, 1/m, to the left.
        """
        A, B = self.linearization(system, sign, curvature)
        Q = np.diag([0.0, *self.weights])
        found = solve_lqr(A, B, Q, np.array([self.effort]))
        if found is None:
            raise SimulationError(
                "no gains stabilize the trailer with these weights",
                f"TrailerTracking of model '{system.model.name}', curvature {curvature:.4g} 1/m",
                "give lateral error, heading and effort weights above 0",
            )
        return found.gains.ravel()

    def linearization(
        self, system: System, sign: float, curvature: float = 0.0
    ) -> tuple[Array, Array]:
        """A (5, 5) and B (5, 1) of (1).

        Parameters
        ----------
        system, sign, curvature : as in `gains`.
        """
        turn = self.steady_turn(system, curvature)
        q, values = self._configuration(system, turn), system.parameters()
        none = np.zeros(len(system.model.speed_inputs))
        found = _traced(self, system).error_rates(q, q, none, values, sign)
        T, F = (np.array(part) for part in found)
        return F @ np.linalg.pinv(T), np.eye(5)[:, 4:]

    def steady_turn(self, system: System, curvature: float) -> SteadyTurn:
        """The turn in which the trailer's axle stays on a circle, from the model's kinematics.

        Parameters
        ----------
        system : compiled system.
        curvature : of the circle, 1/m, to the left.

        Raises
        ------
        SimulationError : if the vehicle cannot turn so sharply.
        """
        function, values = _traced(self, system).turning, system.parameters()
        none = np.zeros(len(system.model.speed_inputs))
        joints = np.zeros(2)
        for _ in range(60):
            q = self._configuration(system, SteadyTurn(*joints))
            miss, slope, ahead = (np.array(e) for e in function(q, none, values, curvature))
            step = np.linalg.lstsq(slope, miss.ravel())[0]
            # not too far at once: angles have many solutions
            joints = joints - step * min(1.0, 0.2 / max(np.max(np.abs(step)), 1e-300))
            if np.max(np.abs(step)) < 1e-13:
                break
        if not (np.max(np.abs(miss)) < 1e-10 and ahead > 0 and np.max(np.abs(joints)) < np.pi / 2):
            raise SimulationError(
                f"the trailer's axle cannot stay on a circle of {1 / abs(curvature):.4g} m",
                f"controller of model '{system.model.name}'",
                "choose a wider turn",
            )
        return SteadyTurn(*(float(e) for e in joints))

    def _speed(self, v_r: ca.SX, x: ca.SX) -> ca.SX:
        """(3)."""
        return v_r - 0.5 * ca.fabs(v_r) * ca.tanh(2 * self.kx * x[0])

    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """(3) and (2)."""
        q = system.kinematics.symbols.q
        k = steering_coordinate(system, self.steering)
        x = self._errors(system, reference.q)
        v_r, w_r = (at_reference(system, reference, row) for row in self._rows(system))
        ahead, turning = self._axle_speeds(system, reference.q)
        length = system.kinematics.reader.scalar(self.trailer)
        schedule = _schedule(self, system)
        bend = clamp(ca.atan2(length * turning, ahead) / schedule.widest, -1.0, 1.0)
        # the coefficients are chosen by the direction, so that one polynomial is evaluated
        table = ca.if_else(v_r < 0, ca.DM(schedule.reverse), ca.DM(schedule.forward))
        K = ca.vertcat(*[polynomial(bend, ca.horzsplit(table[k, :])) for k in range(5)])
        w = w_r - ca.fabs(v_r) * ca.dot(K, x)
        w = ca.fmin(w, self.kdelta * (self.largest - q[k]))
        return self._speed(v_r, x), ca.fmax(w, -self.kdelta * (self.largest + q[k]))

    def _configuration(self, system: System, turn: SteadyTurn) -> Array:
        """(nq,) at rest but for the two joints."""
        q = system.kinematics.rest.copy()
        q[steering_coordinate(system, self.hinge)] = turn.fold
        q[steering_coordinate(system, self.steering)] = turn.steering
        return q

    def _axle(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Place and heading of the trailer's axle."""
        at, reader = planar_base(system).coordinates.start, system.kinematics.reader
        hitch, length = reader.scalar(self.hitch), reader.scalar(self.trailer)
        heading = q[at + 2] + q[steering_coordinate(system, self.hinge)]
        place = moved(q[at : at + 2], q[at + 2], -hitch, ca.SX(0))
        return moved(place, heading, -length, ca.SX(0)), heading

    def _errors(self, system: System, q_r: ca.SX) -> ca.SX:
        """x."""
        q = system.kinematics.symbols.q
        (p, theta), (p_r, theta_r) = self._axle(system, q), self._axle(system, q_r)
        joints = [steering_coordinate(system, name) for name in (self.hinge, self.steering)]
        along, across = in_axes(theta_r, p - p_r)
        return ca.vertcat(along, across, theta - theta_r, (q - q_r)[joints])

    def _rates(self, system: System, q: ca.SX, v: ca.SX) -> ca.SX:
        """q̇ at a speed of the base, with the steering at rest."""
        kin = system.kinematics
        rates = self.at_speed(system, ca.mtimes(kin.N, kin.v), v)
        return ca.substitute([rates], [kin.symbols.q], [q])[0]

    def _axle_speeds(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Speed ahead and rate of turning of the trailer's axle where the base goes at 1 m/s."""
        free = system.kinematics.symbols.q
        place, heading = self._axle(system, free)
        rates = self._rates(system, free, ca.SX(1))
        velocity = ca.jtimes(place, free, rates)
        both = ca.vertcat(in_axes(heading, velocity)[0], ca.jtimes(heading, free, rates))
        both = ca.substitute([both], [free], [q])[0]
        return both[0], both[1]

    def _rows(self, system: System) -> list[ca.SX]:
        """Speed of the base ahead, and rate of the steering angle."""
        return speed_rows(system, self.steering)


class _Traced(NamedTuple):
    turning: ca.Function  # what a turn misses, its slope over fold and steering, the axle's speed
    error_rates: ca.Function  # Jacobians of x and of x′ over q


@lru_cache(maxsize=8)
def _traced(law: TrailerTracking, system: System) -> _Traced:
    """The model's kinematics of (1), as numeric functions."""
    kin = system.kinematics
    q, w, params = kin.symbols.q, kin.symbols.w, kin.symbols.params
    q_r, kappa, sign = ca.SX.sym("q_r", q.shape[0]), ca.SX.sym("kappa"), ca.SX.sym("sign")
    fold, steer = (steering_coordinate(system, name) for name in (law.hinge, law.steering))
    ahead, turning = law._axle_speeds(system, q)
    miss = ca.vertcat(law._rates(system, q, ca.SX(1))[fold], turning - kappa * ahead)
    slope = ca.jacobian(miss, q)[:, [fold, steer]]
    x = law._errors(system, q_r)
    now, then = law._rates(system, q, law._speed(sign, x)), law._rates(system, q_r, sign)
    xdot = ca.jtimes(x, q, now) + ca.jtimes(x, q_r, then)
    jacobians = [ca.densify(ca.jacobian(e, q)) for e in (x, xdot)]
    return _Traced(
        ca.Function("turning", [q, w, params, kappa], [miss, ca.densify(slope), ahead]),
        ca.Function("error_rates", [q, q_r, w, params, sign], jacobians),
    )


class _Schedule(NamedTuple):
    widest: float  # bend atan(trailer κ), rad
    forward: Array  # (5, DEGREE + 1) polynomials of the bend over the widest, highest power first
    reverse: Array


@lru_cache(maxsize=8)
def _schedule(law: TrailerTracking, system: System) -> _Schedule:
    """K_±(κ) from the straight line to the sharpest turn."""
    length = nominal(law.trailer, system.model.parameter_values())
    if not length > 0.0:
        raise SimulationError(
            f"the trailer is {length:g} m long",
            f"TrailerTracking of model '{system.model.name}'",
            "give the way from the hinge to the trailer's axle, m",
        )
    widest = 0.0
    for bend in np.linspace(0.0, WIDEST, 25)[1:]:
        try:
            turn = law.steady_turn(system, float(np.tan(bend)) / length)
        except SimulationError:
            break
        if abs(turn.fold) > WIDEST or abs(turn.steering) > law.largest:
            break
        widest = float(bend)
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    powers = np.vander(nodes)
    tables = []
    for sign in (1.0, -1.0):
        found = [law.gains(system, sign, float(np.tan(widest * n)) / length) for n in nodes]
        tables.append(np.linalg.solve(powers, np.array(found)).T)
    return _Schedule(widest, *tables)

"""Tracking for vehicles that steer: cars, and cars with a trailer, forward and in reverse.

Both laws are kinematic: the errors give the speed of the base and the rate of the steering angle,
as functions of the place and the reference only. A steering rate that is a speed input is given
with its exact rate; one that a motor turns follows through inverse dynamics, as the speed does:

    η̇ = η̇_d + k_v (η_d − η)

All gains but k_v and k_δ count by distance driven, so that errors decay over the same way at any
speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.linalg import solve_continuous_are

from noslip.analysis.inverse import Reference
from noslip.control.controllers.base import AbstractSteeringController, accelerate
from noslip.control.controllers.feedback_rates import along_motion
from noslip.control.motions.path import planar_base
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.kinematics.linear import orthogonal_solve
from noslip.model.quantities import ZERO, Scalar, Vector3

#: Least cosine of a heading error that is divided by: beyond, the vehicle is taken to be there.
LEAST_COSINE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredTracking(AbstractSteeringController):
    """Pose tracking of a vehicle with a steered wheel, forward and in reverse.

    With e_x, e_y, e_θ the reference's pose as the base sees it and σ the sign of v_r,

        (1)  v_d = cos e_θ (v_r + ½ |v_r| tanh(2 k_x e_x))
        (2)  κ_d = (κ_r + k_y e_y + σ k_θ sin e_θ) v_r / v_d,    δ_d = atan(wheelbase κ_d)
        (3)  w = δ̇_d + k_δ (δ_d − δ)

    Once δ is δ_d and the speed v_d, V = ½(e_x² + e_y²) + (1 − cos e_θ)/k_y decreases,

        V̇ = −½ |v_r| cos e_θ e_x tanh(2 k_x e_x) − |v_r| (k_θ/k_y) sin² e_θ

    for heading errors up to acos(0.2) = 78°: the argument of [KanayamaKimuraMiyazakiNoguchi1990]
    with a bounded term in e_x, so that v_d never changes sign. Near the path the error across obeys
    y″ + k_θ y′ + k_y y = 0 over the way driven. δ̇_d is taken at the speed v_d.

    Parameters
    ----------
    steering : name of the steering coordinate, driven by a motor or a speed input.
    wheelbase : from the point to the steered wheel, m.
    point, direction : the frame that follows, on the axle that does not steer.
    kx, ky, ktheta : 1/m, 1/m², 1/m.
    kdelta, kv : 1/s, of the steering angle and the speeds.
    largest : largest steering angle to ask for, rad.
    """

    steering: str
    wheelbase: Scalar
    point: Vector3 = ZERO
    direction: Vector3 = (1.0, 0.0, 0.0)
    kx: float = 0.5
    ky: float = 0.25
    ktheta: float = 1.0
    kdelta: float = 5.0
    kv: float = 5.0
    largest: float = 1.2

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the speeds those of the kinematic law."""
        v, w = self._command(system, reference)
        return _follow(system, reference, self._rows(system), [v, w], self.steering, self.kv)

    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """The rate of the steering angle (3), if it is an input; the others as on the reference."""
        _, w = self._command(system, reference)
        return _with_steering(system, reference, self.steering, w)

    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """Speed of the frame and rate of the steering angle, both of the place alone."""
        kin = system.kinematics
        q = kin.symbols.q
        k = steering_coordinate(system, self.steering)
        (p_r, theta_r), (p, theta) = self._frame(system, reference.q), self._frame(system, q)
        gap, e_theta = p_r - p, theta_r - theta
        e_x = ca.cos(theta) * gap[0] + ca.sin(theta) * gap[1]
        e_y = -ca.sin(theta) * gap[0] + ca.cos(theta) * gap[1]
        wheelbase = kin.reader.scalar(self.wheelbase)
        v_r = at_reference(system, reference, self._rows(system)[0])
        sign = ca.if_else(v_r < 0, -1.0, 1.0)
        # (1), with v_d / v_r apart as it has no singularity at rest
        ratio = 1 + 0.5 * sign * ca.tanh(2 * self.kx * e_x)
        v_d = ca.cos(e_theta) * v_r * ratio
        # (2)
        bend = ca.tan(reference.q[k]) / wheelbase + self.ky * e_y
        bend = bend + sign * self.ktheta * ca.sin(e_theta)
        bend = bend / (ratio * ca.fmax(ca.cos(e_theta), LEAST_COSINE))
        delta_d = ca.atan(wheelbase * bend)
        delta_d = ca.fmin(ca.fmax(delta_d, -self.largest), self.largest)
        # (3), the rate of δ_d where the base moves at v_d with the steering it has
        rows = self._rows(system)
        at_speed = _independent(system, rows, [v_d, ca.SX(0)], self.steering)
        moved = ca.substitute(
            [along_motion(system, reference, delta_d)],
            [kin.eta, kin.symbols.w],
            [ca.densify(at_speed), ca.SX.zeros(kin.symbols.w.shape)],
        )[0]
        return v_d, moved + self.kdelta * (delta_d - q[k])

    def _frame(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Place and heading of the frame that follows."""
        reader = system.kinematics.reader
        at = planar_base(system).coordinates.start
        x, y = (reader.scalar(e) for e in self.point[:2])
        offset = ca.atan2(reader.scalar(self.direction[1]), reader.scalar(self.direction[0]))
        return _moved(q[at : at + 2], q[at + 2], x, y), q[at + 2] + offset

    def _rows(self, system: System) -> list[ca.SX]:
        """Speed of the frame along its heading, and rate of the steering angle."""
        kin = system.kinematics
        at = planar_base(system).speeds.start
        vx, vy, rate = (kin.v[at + k] for k in range(3))
        x, y = (kin.reader.scalar(e) for e in self.point[:2])
        ahead, across = (kin.reader.scalar(e) for e in self.direction[:2])
        along = ahead * (vx - rate * y) + across * (vy + rate * x)
        steer = kin.v[steering_speed(system, self.steering)]
        return [along / ca.sqrt(ahead**2 + across**2), steer]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailerTracking(AbstractSteeringController):
    """Tracking of a vehicle with a trailer, forward and backing up.

    The state is what the trailer's axle and the joints are off the reference: across e_y, heading
    e_θ, articulation e_φ and steering e_δ. Over the way driven, on a straight line,

        (1)  x′ = A_σ x + B u,   u = δ′,   A_− = −A_+ but for the steering

    is the exact linearization of the model's own kinematics. In reverse e_φ is unstable: it folds
    up. The gains K_σ are the linear-quadratic ones of (1) for ∫ xᵀ diag(weights) x + effort u² ds,
    so the line is exponentially stable in either direction, and bends as long as they are gentle:
    tracking by approximate linearization, as for the car in [DeLucaOrioloSamson1998]. The law:

        (2)  w = w_r − |v_r| K_σ x,     v_d = v_r − ½ |v_r| tanh(2 k_x e_x)

    with the steering rate held so that |δ| never passes `largest`. The reference must be one that
    does not fold up itself: in reverse prescribe the trailer's axle (:class:`TrailerMotion`).
    Gains are found for the nominal parameters.

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

    steering: str
    hinge: str
    hitch: Scalar
    trailer: Scalar
    weights: tuple[float, float, float, float] = (0.01, 0.3, 1.0, 0.2)
    effort: float = 1.0
    kx: float = 0.5
    kv: float = 5.0
    kdelta: float = 5.0
    largest: float = 1.0

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the speed that of the law."""
        along, _ = self._errors(system, reference.q)
        v_r = at_reference(system, reference, self._rows(system)[0])
        v_d = v_r - 0.5 * ca.fabs(v_r) * ca.tanh(2 * self.kx * along)
        w = self._steering_rate(system, reference)
        return _follow(system, reference, self._rows(system), [v_d, w], self.steering, self.kv)

    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """The steering rate (2), if it is an input; the others as on the reference."""
        w = self._steering_rate(system, reference)
        return _with_steering(system, reference, self.steering, w)

    def gains(self, system: System, sign: float) -> Array:
        """K_σ (4,): rate of the steering angle over the way driven, for each error.

        Parameters
        ----------
        system : compiled system.
        sign : 1 forward, −1 in reverse.
        """
        A, B = self.linearization(system, sign)
        P = solve_continuous_are(A, B, np.diag(self.weights), np.array([[self.effort]]))
        return (B.T @ P / self.effort).ravel()

    def linearization(self, system: System, sign: float) -> tuple[Array, Array]:
        """A (4, 4) and B (4, 1) of (1), from the model's kinematics on a straight line.

        Parameters
        ----------
        system : compiled system.
        sign : 1 forward, −1 in reverse.
        """
        kin = system.kinematics
        symbols = kin.symbols
        eta = _independent(system, self._rows(system), [ca.SX(sign), ca.SX(0)], self.steering)
        rates = ca.substitute([ca.mtimes(kin.N, kin.v)], [kin.eta], [eta])[0]
        line = ca.SX.sym("line", kin.num_coordinates)
        _, errors = self._errors(system, line)
        jacobians = ca.Function(
            "line",
            [symbols.t, symbols.q, line, symbols.w, symbols.params],
            [ca.densify(ca.jacobian(errors, symbols.q)), ca.densify(ca.jacobian(rates, symbols.q))],
        )
        q = np.array([r for node in kin.tree.nodes for r in node.joint.type.rest], dtype=float)
        none = np.zeros(len(system.model.speed_inputs))
        T, F = (np.array(x) for x in jacobians(0.0, q, q, none, system.parameters()))
        B = np.array([[0.0], [0.0], [0.0], [1.0]])
        return T @ F @ np.linalg.pinv(T), B

    def _steering_rate(self, system: System, reference: Reference) -> ca.SX:
        """(2), of the place alone."""
        q = system.kinematics.symbols.q
        k = steering_coordinate(system, self.steering)
        _, x = self._errors(system, reference.q)
        v_r = at_reference(system, reference, self._rows(system)[0])
        w_r = at_reference(system, reference, self._rows(system)[1])
        forward, reverse = (ca.dot(ca.DM(self.gains(system, s)), x) for s in (1.0, -1.0))
        w = w_r - ca.fabs(v_r) * ca.if_else(v_r < 0, reverse, forward)
        w = ca.fmin(w, self.kdelta * (self.largest - q[k]))
        return ca.fmax(w, -self.kdelta * (self.largest + q[k]))

    def _errors(self, system: System, q_r: ca.SX) -> tuple[ca.SX, ca.SX]:
        """How far the trailer's axle is ahead of the reference's, and x."""
        kin = system.kinematics
        q = kin.symbols.q
        at = planar_base(system).coordinates.start
        steer = steering_coordinate(system, self.steering)
        hinge = steering_coordinate(system, self.hinge)
        hitch, length = kin.reader.scalar(self.hitch), kin.reader.scalar(self.trailer)

        def axle(c: ca.SX) -> tuple[ca.SX, ca.SX]:
            heading = c[at + 2] + c[hinge]
            place = _moved(c[at : at + 2], c[at + 2], -hitch, ca.SX(0))
            return _moved(place, heading, -length, ca.SX(0)), heading

        (p, theta), (p_r, theta_r) = axle(q), axle(q_r)
        cos, sin, gap = ca.cos(theta_r), ca.sin(theta_r), p - p_r
        across = -sin * gap[0] + cos * gap[1]
        x = ca.vertcat(across, theta - theta_r, q[hinge] - q_r[hinge], q[steer] - q_r[steer])
        return cos * gap[0] + sin * gap[1], x

    def _rows(self, system: System) -> list[ca.SX]:
        """Speed of the base ahead, and rate of the steering angle."""
        v = system.kinematics.v
        at = planar_base(system).speeds.start
        return [v[at], v[steering_speed(system, self.steering)]]


def steering_coordinate(system: System, name: str) -> int:
    """Index of an angle by name, which must exist."""
    known = [c.name for c in system.coordinates]
    if name not in known:
        raise SimulationError(
            f"there is no coordinate '{name}' to steer by",
            f"controller of model '{system.model.name}'",
            nearest(name, known),
        )
    return known.index(name)


def steering_speed(system: System, name: str) -> int:
    """Index of the tree speed that is the rate of an angle."""
    k = steering_coordinate(system, name)
    node = next(
        n for n in system.kinematics.tree.nodes if n.coordinates.start <= k < n.coordinates.stop
    )
    return node.speeds.start + k - node.coordinates.start


def at_reference(system: System, reference: Reference, expression: ca.SX) -> ca.SX:
    """An expression of q, η and w where they are the reference's."""
    kin = system.kinematics
    given = [ca.densify(x) for x in (reference.q, reference.eta, reference.speed_inputs)]
    return ca.substitute([expression], [kin.symbols.q, kin.eta, kin.symbols.w], given)[0]


def _moved(place: ca.SX, angle: ca.SX, x: ca.SX, y: ca.SX) -> ca.SX:
    """A point given in axes turned by `angle` about `place`."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return place + ca.vertcat(cos * x - sin * y, sin * x + cos * y)


def _input_index(system: System, steering: str) -> int | None:
    """Which speed input drives the steering, if one does."""
    name = system.speeds[steering_speed(system, steering)].name
    driven = [i.speed for i in system.model.speed_inputs]
    return driven.index(name) if name in driven else None


def _with_steering(system: System, reference: Reference, steering: str, w: ca.SX) -> ca.SX:
    """The reference's speed inputs with that of the steering replaced."""
    parts = ca.vertsplit(reference.speed_inputs) if system.model.speed_inputs else []
    k = _input_index(system, steering)
    if k is not None:
        parts[k] = w
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)


def _independent(system: System, rows: list[ca.SX], values: list[ca.SX], steering: str) -> ca.SX:
    """η of a speed of the base and, where a motor steers, a rate of the steering angle."""
    kin = system.kinematics
    num = 1 if _input_index(system, steering) is not None else 2
    if kin.num_independent_speeds != num:
        raise SimulationError(
            f"the vehicle has {kin.num_independent_speeds} degrees of freedom, but its speed and "
            f"its steering are {num}",
            f"controller of model '{system.model.name}'",
            "use PoseTracking for a base that turns by its wheels, or another law",
        )
    speeds = ca.vertcat(*rows[:num])
    J = ca.densify(ca.jacobian(speeds, kin.eta))
    still = [ca.SX.zeros(kin.eta.shape), ca.SX.zeros(kin.symbols.w.shape)]
    offset = ca.substitute([speeds], [kin.eta, kin.symbols.w], still)[0]
    return orthogonal_solve(J, ca.vertcat(*values[:num]) - offset)[0]


def _follow(
    system: System,
    reference: Reference,
    rows: list[ca.SX],
    values: list[ca.SX],
    steering: str,
    kv: float,
) -> ca.SX:
    """u with which the speeds go to those of the law."""
    eta_d = _independent(system, rows, values, steering)
    rate = along_motion(system, reference, eta_d)
    return accelerate(system, rate + kv * (eta_d - system.kinematics.eta))

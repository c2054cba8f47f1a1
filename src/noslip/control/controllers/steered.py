"""Controllers of vehicles that steer: a kinematic law, and the inputs that carry it out.

A law is kinematic: it gives the speed of the base and the rate of the steering angle from the place
and the reference only. To add one: a final class of :class:`AbstractSteeringLaw`.

A steering rate that is a speed input is given with its exact rate; one that a motor turns follows
through inverse dynamics, as the speed does:

    η̇ = η̇_d + k_v (η_d − η)

:class:`SteeredTracking` is one of them, for driving forward and in reverse. All its gains but k_v
and k_δ count by distance driven, so that errors decay over the same distance at any speed.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import casadi as ca

from noslip.algebra import orthogonal_solve
from noslip.base import SimulationError, nearest
from noslip.control.controllers.base import (
    AbstractSteeringController,
    accelerate,
    along_motion,
    check_gains,
)
from noslip.control.forms import Angle, Distance, PerMeter, PerSecond, PerSquareMeter
from noslip.control.motions.path import planar_base
from noslip.control.reference.inverse import Reference
from noslip.engines import System
from noslip.model import ZERO, Direction, Point, Vector3

#: Along the x axis of the base.
AHEAD: Vector3 = (1.0, 0.0, 0.0)


class AbstractSteeringLaw(AbstractSteeringController):
    """A law that gives the speed of the base and the rate of the steering angle.

    Parameters
    ----------
    steering : name of the steering coordinate, driven by a motor or a speed input.
    kv : 1/s, of the speeds.
    """

    __slots__ = ()

    steering: str
    kv: float

    @abc.abstractmethod
    def _rows(self, system: System) -> list[ca.SX]:
        """The speed that the law gives and the rate of the steering angle, of the speeds."""

    @abc.abstractmethod
    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """Commanded values of both, functions of the configuration alone."""

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the speeds those of the law."""
        rows, wanted = self._rows(system), self._command(system, reference)
        eta_d = independent(system, rows, wanted, self.steering)
        rate = along_motion(system, reference, eta_d)
        return accelerate(system, rate + self.kv * (eta_d - system.kinematics.eta))

    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """The rate of the steering angle, if it is an input; the others as on the reference."""
        parts = ca.vertsplit(reference.speed_inputs) if system.model.speed_inputs else []
        k = _input_index(system, self.steering)
        if k is not None:
            _, parts[k] = self._command(system, reference)
        return ca.vertcat(*parts) if parts else ca.SX(0, 1)

    def at_speed(self, system: System, expression: ca.SX, v: ca.SX) -> ca.SX:
        """An expression where the vehicle moves at the speed v, with the steering at rest."""
        kin = system.kinematics
        eta = independent(system, self._rows(system), (v, ca.SX(0)), self.steering)
        given = [ca.densify(eta), ca.SX.zeros(kin.symbols.w.shape)]
        return ca.substitute([expression], [kin.eta, kin.symbols.w], given)[0]


def speed_rows(
    system: System, steering: str, point: Vector3 = ZERO, direction: Vector3 = AHEAD
) -> list[ca.SX]:
    """Speed of a frame of the base along its heading, and rate of the steering angle."""
    kin = system.kinematics
    at = planar_base(system).speeds.start
    vx, vy, rate = (kin.v[at + k] for k in range(3))
    x, y = (kin.reader.scalar(e) for e in point[:2])
    ahead, across = (kin.reader.scalar(e) for e in direction[:2])
    along = ahead * (vx - rate * y) + across * (vy + rate * x)
    return [along / ca.sqrt(ahead**2 + across**2), kin.v[steering_speed(system, steering)]]


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


def moved(place: ca.SX, angle: ca.SX, x: ca.SX, y: ca.SX) -> ca.SX:
    """A point given in axes turned by `angle` about `place`."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return place + ca.vertcat(cos * x - sin * y, sin * x + cos * y)


def in_axes(angle: ca.SX, gap: ca.SX) -> tuple[ca.SX, ca.SX]:
    """A vector along and across a heading."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return cos * gap[0] + sin * gap[1], -sin * gap[0] + cos * gap[1]


def _input_index(system: System, steering: str) -> int | None:
    """Index of the speed input that drives the steering; None if there is none."""
    name = system.speeds[steering_speed(system, steering)].name
    driven = [i.speed for i in system.model.speed_inputs]
    return driven.index(name) if name in driven else None


def independent(
    system: System, rows: list[ca.SX], values: tuple[ca.SX, ca.SX], steering: str
) -> ca.SX:
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


#: Least cosine of a heading error that is divided by: beyond, the vehicle is taken to be there.
LEAST_COSINE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredTracking(AbstractSteeringLaw):
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

    word = "steered"

    @classmethod
    def label(cls) -> str:
        """Label on pages."""
        return "Steered tracking"

    steering: str
    wheelbase: Distance
    point: Point = ZERO
    direction: Direction = AHEAD
    kx: PerMeter = 0.5
    ky: PerSquareMeter = 0.25
    ktheta: PerMeter = 1.0
    kdelta: PerSecond = 5.0
    kv: PerSecond = 5.0
    largest: Angle = 1.2

    def __post_init__(self) -> None:
        check_gains(self, "kx", "ky", "ktheta", "kdelta", "kv", "largest")

    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """(1) and (3)."""
        kin = system.kinematics
        q = kin.symbols.q
        k = steering_coordinate(system, self.steering)
        (p_r, theta_r), (p, theta) = self._frame(system, reference.q), self._frame(system, q)
        (e_x, e_y), e_theta = in_axes(theta, p_r - p), theta_r - theta
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
        rate = self.at_speed(system, along_motion(system, reference, delta_d), v_d)
        return v_d, rate + self.kdelta * (delta_d - q[k])

    def _frame(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Place and heading of the frame that follows."""
        reader = system.kinematics.reader
        at = planar_base(system).coordinates.start
        x, y = (reader.scalar(e) for e in self.point[:2])
        offset = ca.atan2(reader.scalar(self.direction[1]), reader.scalar(self.direction[0]))
        return moved(q[at : at + 2], q[at + 2], x, y), q[at + 2] + offset

    def _rows(self, system: System) -> list[ca.SX]:
        """Speed of the frame along its heading, and rate of the steering angle."""
        return speed_rows(system, self.steering, self.point, self.direction)

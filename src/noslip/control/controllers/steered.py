"""Tracking for vehicles that steer, forward and in reverse.

The errors give the speed of the base and the rate of the steering angle; how the vehicle comes to
have them is in ``steering.py``. All gains but k_v and k_δ count by distance driven, so that errors
decay over the same way at any speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.analysis.inverse import Reference
from noslip.control.controllers.base import check_gains
from noslip.control.controllers.feedback_rates import along_motion
from noslip.control.controllers.steering import (
    AHEAD,
    AbstractSteeringLaw,
    at_reference,
    in_axes,
    moved,
    speed_rows,
    steering_coordinate,
)
from noslip.control.motions.path import planar_base
from noslip.engines.system import System
from noslip.model.quantities import ZERO, Scalar, Vector3

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

    steering: str
    wheelbase: Scalar
    point: Vector3 = ZERO
    direction: Vector3 = AHEAD
    kx: float = 0.5
    ky: float = 0.25
    ktheta: float = 1.0
    kdelta: float = 5.0
    kv: float = 5.0
    largest: float = 1.2

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

"""Tracking for vehicles that turn by their wheels: two driven wheels, or an articulated frame."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip.algebra import orthogonal_solve
from noslip.base import Array, SimulationError
from noslip.control.controllers.base import (
    AbstractController,
    accelerate,
    along_motion,
    check_gains,
)
from noslip.control.forms import PerMeter, PerSecond, PerSquareMeter
from noslip.control.motions.path import planar_base
from noslip.control.reference.inverse import Reference
from noslip.control.reference.motion import AbstractMotion
from noslip.engines import System
from noslip.model import ZERO, Direction, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseTracking(AbstractController):
    """Pose tracking of a vehicle that cannot move sideways, by backstepping into its dynamics.

    The kinematic law of Kanayama et al. gives the speeds the base should have from the pose error
    in its own frame (e_x ahead, e_y to the left, e_θ),

        (1)  v_d = v_r cos e_θ + k_x e_x,   ω_d = ω_r + v_r k_y e_y + |v_r| k_θ sin e_θ

    and the forces make its speeds follow them, with the rates of v_d and ω_d exact:

        (2)  v̇ = v̇_d + k_v (v_d − v),   ω̇ = ω̇_d + k_v (ω_d − ω)

    At the speeds of (1) V = ½(e_x² + e_y²) + (1 − cos e_θ)/k_y falls,

        V̇ = −k_x e_x² − |v_r| (k_θ/k_y) sin² e_θ

    [KanayamaKimuraMiyazakiNoguchi1990], and (2) brings the speeds there, as in [FierroLewis1997].

    How fast: speeds settle with the time constant 1/k_v (0.25 s), the error ahead with 1/k_x (1 s).
    The error across obeys y″ + k_θ y′ + k_y y = 0 over the way driven (in units of 1 m: it falls
    to 1/e over 0.67 m, with a damping ratio of 0.75). A larger k_v gains nothing but shorter steps
    of the simulation: the errors are no faster than k_x and k_θ |v_r| let them be.

    Parameters
    ----------
    point, direction : the frame that follows, on the line where the base cannot slip sideways; the
        frame that :func:`track` follows if they are not given.
    kx, ky, ktheta, kv : 1/s, 1/m², 1/m, 1/s.
    """

    word = "pose"

    @classmethod
    def label(cls) -> str:
        """Label on pages."""
        return "Pose tracking"

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """For a path of a vehicle with two degrees of freedom that turns by its wheels."""
        turns = len(system.independent_speeds) == 2 and not system.model.speed_inputs
        return turns and "point" in known and "steering" not in known

    point: Point | None = None
    direction: Direction | None = None
    kx: PerSecond = 1.0
    ky: PerSquareMeter = 4.0
    ktheta: PerMeter = 3.0
    kv: PerSecond = 4.0

    def __post_init__(self) -> None:
        check_gains(self, "kx", "ky", "ktheta", "kv")

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> PoseTracking:
        """The same for the frame that follows the path, if none is given."""
        if motion.frame is None:
            return self
        point, direction = motion.frame
        return dataclasses.replace(
            self,
            point=point if self.point is None else self.point,
            direction=direction if self.direction is None else self.direction,
        )

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that brings the base back to the reference pose."""
        kin = system.kinematics
        rows, now, wanted = self._base_speeds(system, reference)
        at = planar_base(system).speeds.start
        # (2)
        rates = along_motion(system, reference, wanted) + self.kv * (wanted - now)
        J = ca.densify(ca.mtimes(rows, kin.S[at : at + 3, :]))
        known = ca.mtimes(rows, kin.vdot0[at : at + 3])
        return accelerate(system, orthogonal_solve(J, rates - known)[0])

    def wanted_speeds(self, system: System, reference: Reference) -> ca.SX:
        """(nf,) independent speeds with which the base has the speeds of (1)."""
        rows, _, wanted = self._base_speeds(system, reference)
        at = planar_base(system).speeds.start
        J = ca.densify(ca.mtimes(rows, system.kinematics.S[at : at + 3, :]))
        return orthogonal_solve(J, wanted)[0]

    def _base_speeds(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rows of the frame's speeds, what they are, and what (1) wants them to be."""
        self._check(system)
        kin = system.kinematics
        rows = self._rows(system)
        base = planar_base(system)
        at = base.speeds.start
        now = ca.mtimes(rows, kin.v[at : at + 3])
        given = [ca.densify(x) for x in (reference.q, reference.eta)]
        then = ca.substitute([now], [kin.symbols.q, kin.eta], given)[0]
        e_x, e_y, cos, sin = self._errors(system, base.coordinates.start, reference.q)
        # (1)
        v_d = then[0] * cos + self.kx * e_x
        turn = then[0] * self.ky * e_y + ca.fabs(then[0]) * self.ktheta * sin
        return rows, now, ca.vertcat(v_d, then[1] + turn)

    def _errors(self, system: System, at: int, q_r: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """e_x, e_y, cos e_θ and sin e_θ of the frame."""
        q = system.kinematics.symbols.q
        x, y, ahead, across = self._frame(system)
        turned = q_r[at + 2] - q[at + 2]
        cos, sin = ca.cos(turned), ca.sin(turned)
        c, s = ca.cos(q[at + 2]), ca.sin(q[at + 2])
        dx, dy = q_r[at] - q[at], q_r[at + 1] - q[at + 1]
        # from the point to where it should be, in the axes of the base
        gap_x = c * dx + s * dy + (cos - 1) * x - sin * y
        gap_y = -s * dx + c * dy + sin * x + (cos - 1) * y
        return ahead * gap_x + across * gap_y, ahead * gap_y - across * gap_x, cos, sin

    def _frame(self, system: System) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Place of the frame and its unit vector ahead, in the axes of the base."""
        reader = system.kinematics.reader
        x, y = (reader.scalar(e) for e in (self.point or ZERO)[:2])
        ahead, across = (reader.scalar(e) for e in (self.direction or (1.0, 0.0, 0.0))[:2])
        size = ca.sqrt(ahead**2 + across**2)
        return x, y, ahead / size, across / size

    def _rows(self, system: System) -> ca.SX:
        """(2, 3) speed ahead and rate of turning of the frame from vx, vy and rate of the base."""
        x, y, ahead, across = self._frame(system)
        turning = across * x - ahead * y
        return ca.vertcat(ca.horzcat(ahead, across, turning), ca.horzcat(0.0, 0.0, 1.0))

    def _check(self, system: System) -> None:
        """The base must be free to move ahead and to turn, each by itself."""
        kin = system.kinematics
        where = f"controller of model '{system.model.name}'"
        if kin.num_independent_speeds != 2 or system.model.speed_inputs:
            raise SimulationError(
                f"pose tracking needs two degrees of freedom driven by forces; there are "
                f"{kin.num_independent_speeds} and {len(system.model.speed_inputs)} speed inputs",
                where,
                "use a controller for steered vehicles, or none",
            )
        at = planar_base(system).speeds.start
        moves = ca.Function(
            "moves", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [kin.S[at : at + 3, :]]
        )
        ranks = [
            np.linalg.matrix_rank(np.array(moves(t, q, kin.probe.params)), tol=1e-9)
            for t, q in kin.probe.configurations(2)
        ]
        if max(ranks) < 2:
            raise SimulationError(
                "the base cannot turn by itself: it turns through its steering",
                where,
                "use SteeredTracking, which steers",
            )

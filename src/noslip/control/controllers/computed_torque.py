"""Computed torque and its relatives: joints, frames of a body, prescribed coordinates.

:class:`ComputedTorque` and :class:`ProportionalDerivative` act on coordinates whose rates are the
independent speeds, mostly the joints of an arm. The others choose accelerations of outputs first
and the forces for them second: the outer loop gives each output's error a linear equation of its
own; the inner loop inverts the dynamics at the measured state (`accelerate`). The outputs are the
velocity components of a frame of a body (:class:`CartesianTracking`) or the coordinates that the
motion prescribes (:class:`AccelerationResolved`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from noslip.algebra import orthogonal_solve, symmetric_factors, symmetric_solve, turn_vector
from noslip.analysis import COMPONENTS, frame_twist
from noslip.base import SimulationError, nearest
from noslip.control.controllers.base import AbstractController, accelerate, check_gains
from noslip.control.forms import PerSecond, PerSecondSquared
from noslip.control.reference.inverse import Reference, conditioning, solve_inputs
from noslip.engines import System
from noslip.model import ZERO, Point
from noslip.simulation import Guard, InputGenerator


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedTorque(AbstractController):
    """Inverse dynamics at the measured state, with proportional and derivative feedback.

        SᵀB u = SᵀMS (η̇_r + kd (η_r − η) + kp e) + bias − forces

    e are the errors of the coordinates whose rates the independent speeds are; each error obeys
    ë + kd ė + kp e = 0 exactly.

    Parameters
    ----------
    kp, kd : 1/s² and 1/s; by themselves they let errors decay with 1/2 s, without overshoot.
    """

    word = "computed-torque"

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """Whether there are enough motors and the independent speeds are rates of coordinates."""
        enough = len(system.model.inputs) >= len(system.independent_speeds)
        try:
            return enough and bool(independent_coordinates(system))
        except SimulationError:
            return False

    kp: PerSecondSquared = 4.0
    kd: PerSecond = 4.0

    def __post_init__(self) -> None:
        check_gains(self, "kp", "kd")

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the errors of the independent coordinates decay."""
        kin = system.kinematics
        at = independent_coordinates(system)
        error = reference.q[at, :] - kin.symbols.q[at, :]
        wanted = reference.etadot + self.kd * (reference.eta - kin.eta) + self.kp * error
        return accelerate(system, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalDerivative(AbstractController):
    """PD to a reference or a set point, with gravity compensation if wanted [DeSantis1994, 7.11].

        τ = −Kp (q − q_r) − Kd (q̇ − q̇_r) (+ G(q))

    For q_r at rest, V = ½ eᵀKp e + ½ q̇ᵀD q̇ obeys V̇ = −q̇ᵀKd q̇ ≤ 0 where gravity is compensated.
    Columns are ``lyapunov`` and ``lyapunov_rate``, V̇ = q̇ᵀ(Kp e + Q + B u) with all forces as they
    act, the plant's own and limits included.

    Parameters
    ----------
    kp, kd : gains by independent speed, N·m/rad and N·m·s/rad (N/m and N·s/m for sliding joints).
    gravity : add the generalized gravity forces.
    """

    word = "pd"

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    gravity: bool = False

    def __post_init__(self) -> None:
        check_gains(self, "kp", "kd")

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u whose generalized forces are the PD law's."""
        kin, eq = system.kinematics, system.equations
        at = independent_coordinates(system)
        num = kin.num_independent_speeds
        if len(self.kp) != num or len(self.kd) != num:
            raise SimulationError(
                f"{len(self.kp)} and {len(self.kd)} gains are given for {num} degrees of freedom",
                f"PD control of model '{system.model.name}'",
                f"give {num} of each: {', '.join(s.name for s in kin.independent_speeds)}",
            )
        error = reference.q[at, :] - kin.symbols.q[at, :]
        wanted = ca.DM(self.kp) * error + ca.DM(self.kd) * (reference.eta - kin.eta)
        if self.gravity:
            wanted = wanted - ca.mtimes(kin.S.T, eq.forces.shares["gravity"])
        return solve_inputs(ca.densify(eq.reduced_inputs), wanted)

    def measures(
        self, system: System, reference: Reference, loop: InputGenerator, true: ca.SX
    ) -> dict[str, tuple[str, ca.SX]]:
        """V and V̇ of a set point, with the plant's own parameters."""
        kin, eq = system.kinematics, system.equations
        at = independent_coordinates(system)
        error = kin.symbols.q[at, :] - reference.q[at, :]
        stiffness = ca.DM(self.kp)
        # K̇ is the power of all forces where no constraint moves
        power = eq.reduced_forces + ca.mtimes(eq.reduced_inputs, kin.acting_inputs)
        forces = ca.vertcat(ca.SX(0, 1), *(loop.inputs[i.name] for i in system.model.inputs))
        K, power = (
            ca.substitute([x], [kin.symbols.params], [true])[0]
            for x in (eq.kinetic_energy, ca.dot(kin.eta, power))
        )
        power = ca.substitute([power], [kin.symbols.u], [forces])[0]
        value = ca.dot(stiffness * error, error) / 2 + K
        rate = ca.dot(stiffness * error, kin.eta - reference.eta) + power
        return {"lyapunov": ("J", value), "lyapunov_rate": ("W", rate)}


def independent_coordinates(system: System) -> list[int]:
    """Coordinates whose rates are the independent speeds, one for each."""
    kin = system.kinematics
    names = [s.name for s in kin.speeds]
    found = []
    for speed in kin.independent_speeds:
        column = names.index(speed.name) if speed.name in names else -1
        rows = [k for k in range(kin.num_coordinates) if column >= 0 and kin.N[k, column].is_one()]
        if len(rows) != 1 or kin.N[rows[0], :].nnz() != 1:
            raise SimulationError(
                f"independent speed '{speed.name}' is not the rate of one coordinate",
                f"controller of model '{system.model.name}'",
                "name joint rates in the model's independent_speeds, or control the pose",
            )
        found.append(rows[0])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CartesianTracking(AbstractController):
    """Computed torque in task space: a frame of a body follows the reference's frame.

        (1)  v̇_n = v̇_r + kd (v_r − v_n) + kp e
        (2)  η̇ = J⁻¹ (v̇_n − J̇ η)

    v_n = J η are the components chosen of the frame's velocity and e its place on the reference
    less its place now, in world axes: resolved-acceleration control [LuhWalkerPaul1980]. The errors
    of position obey ë + kd ė + kp e = 0 exactly. That of orientation is 2 sin(θ/2) about the axis
    of the turn θ that is left, which has the same equation where θ is small; all three ``wx wy wz``
    are needed for it, or the one that is normal to a plane of motion. Where J is singular, as for
    an arm stretched out, there is no such η̇ and the run stops.

    Parameters
    ----------
    body, point : the frame: a body, and the frame's origin in its axes, m.
    components : of the velocity, as many as degrees of freedom: ``vx vy vz``, ``wx wy wz``.
    kp, kd : 1/s² and 1/s.
    """

    word = "cartesian"

    body: str
    point: Point = ZERO
    components: tuple[str, ...]
    kp: PerSecondSquared = 4.0
    kd: PerSecond = 4.0

    def __post_init__(self) -> None:
        check_gains(self, "kp", "kd")

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the errors of the frame decay."""
        self._check(system)
        kin = system.kinematics
        symbols = kin.symbols
        at = [COMPONENTS.index(c) for c in self.components]
        twist = frame_twist(system, self.body, self.point, "world", symbols.v)[at]
        per_speed = ca.jacobian(twist, symbols.v)
        turning = ca.jtimes(twist, symbols.q, ca.mtimes(kin.N, symbols.v))
        node = kin.tree.nodes[kin.tree.index(self.body)]
        place = node.p_WB + ca.mtimes(node.R_WB, kin.reader.vector(self.point))
        frame = ca.Function(
            "frame",
            [symbols.t, symbols.q, kin.eta, symbols.w, symbols.wdot, symbols.params],
            [
                ca.densify(ca.mtimes(per_speed, kin.S)),
                kin.at_speeds(turning) + ca.mtimes(per_speed, kin.vdot0),
                kin.at_speeds(twist),
                ca.densify(place),
                ca.densify(node.R_WB),
            ],
        )
        own = (symbols.w, symbols.wdot)
        J, rest, v, p, R = frame(symbols.t, symbols.q, kin.eta, *own, symbols.params)
        given = (reference.speed_inputs, reference.speed_input_rates)
        J_r, rest_r, v_r, p_r, R_r = frame(
            symbols.t, reference.q, reference.eta, *given, symbols.params
        )
        vdot_r = ca.mtimes(J_r, reference.etadot) + rest_r
        error = ca.vertcat(p_r - p, turn_vector(ca.mtimes(R_r, R.T)))[at]
        wanted = vdot_r + self.kd * (v_r - v) + self.kp * error  # (1)
        return accelerate(system, orthogonal_solve(J, wanted - rest)[0])  # (2)

    def guards(self, system: System, reference: Reference) -> tuple[Guard, ...]:
        """J of (2), which is singular where the frame cannot move in all components."""
        kin = system.kinematics
        at = [COMPONENTS.index(c) for c in self.components]
        twist = frame_twist(system, self.body, self.point, "world", kin.symbols.v)[at]
        J = ca.densify(ca.mtimes(ca.jacobian(twist, kin.symbols.v), kin.S))
        listed = ", ".join(self.components)
        return (
            Guard(
                conditioning(orthogonal_solve(J, ca.SX.zeros(len(at)))[1]),
                f"the frame of '{self.body}' cannot move in {listed} independently here: the "
                "Jacobian is singular",
                "keep the arm bent and the motion away from this place, or control another point "
                "or other components",
            ),
        )

    def _check(self, system: System) -> None:
        where = f"Cartesian tracking of model '{system.model.name}'"
        bodies = [b.name for b in system.model.bodies]
        if self.body not in bodies:
            raise SimulationError(
                f"there is no body '{self.body}'", where, nearest(self.body, bodies)
            )
        for component in self.components:
            if component not in COMPONENTS:
                raise SimulationError(
                    f"there is no component '{component}'", where, nearest(component, COMPONENTS)
                )
        freedom = system.kinematics.num_independent_speeds
        if len(self.components) != freedom or len(set(self.components)) != freedom:
            raise SimulationError(
                f"{freedom} degrees of freedom are controlled by the components "
                f"{', '.join(self.components) or '(none)'}",
                where,
                f"name {freedom} different ones of {', '.join(COMPONENTS)}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccelerationResolved(AbstractController):
    """Accelerations of the prescribed coordinates first, then the forces for them.

    The two steps of [DeSantis1994, section 5], with the coordinates y that the motion prescribes as
    outputs:

        (1)  ÿ_n = ÿ_r + kd (ẏ_r − ẏ) + kp (y_r − y)
        (2)  N_y S η̇ = ÿ_n − d/dt(N_y v)|_η̇=0       by least squares, radians times a length
        (3)  SᵀB u = SᵀMS η̇ + bias − forces

    With as many outputs as degrees of freedom each error obeys ë + kd ė + kp e = 0, and where they
    are the coordinates of the independent speeds this is :class:`ComputedTorque`. With more, as
    for the whole pose of a vehicle that cannot move sideways, (2) keeps what is admissible of the
    wanted accelerations only. An error across then decays only through turning, for a point ahead
    of the axle; on the axle it stays, behind it it grows. Prescribe the position of a point ahead
    of the axle alone, whose heading then follows, or use :class:`PoseTracking`.

    Parameters
    ----------
    kp, kd : 1/s² and 1/s.
    """

    word = "acceleration-resolved"

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """For a motion of as many coordinates as degrees of freedom, not for the pose on a path."""
        return False

    kp: PerSecondSquared = 4.0
    kd: PerSecond = 4.0

    def __post_init__(self) -> None:
        check_gains(self, "kp", "kd")

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u whose admissible accelerations are the least-squares fit to the commanded ones."""
        kin = system.kinematics
        symbols = kin.symbols
        motion = reference.motion
        at = list(motion.at)
        y_r = motion.outputs
        ydot_r = motion.rate_of(y_r, symbols.t)
        yddot_r = motion.rate_of(ydot_r, symbols.t)
        N_y = ca.densify(kin.N[at, :])
        ydot = ca.mtimes(N_y, symbols.v)
        turning = ca.jtimes(ydot, symbols.q, ca.mtimes(kin.N, symbols.v))
        known = kin.at_speeds(turning) + ca.mtimes(N_y, kin.vdot0)
        rates = kin.at_speeds(ydot)
        wanted = yddot_r + self.kd * (ydot_r - rates) + self.kp * (y_r - symbols.q[at, :])  # (1)
        J = ca.densify(ca.mtimes(N_y, kin.S))
        if len(at) == kin.num_independent_speeds:
            etadot = orthogonal_solve(J, wanted - known)[0]  # (2)
        else:
            units = [kin.length if kin.coordinates[k].unit == "rad" else 1.0 for k in at]
            scale = ca.diag(ca.DM(units) ** 2)
            weighted = ca.mtimes(J.T, scale)
            etadot = symmetric_solve(ca.mtimes(weighted, J), ca.mtimes(weighted, wanted - known))[
                0
            ]  # (2)
        return accelerate(system, etadot)  # (3)

    def guards(self, system: System, reference: Reference) -> tuple[Guard, ...]:
        """J of (2), which is singular where the prescribed coordinates do not move freely."""
        kin = system.kinematics
        at = list(reference.motion.at)
        J = ca.densify(ca.mtimes(kin.N[at, :], kin.S))
        pivots = symmetric_factors(ca.mtimes(J.T, J))[1]
        names = ", ".join(kin.coordinates[k].name for k in at)
        return (
            Guard(
                ca.sqrt(conditioning(pivots)),
                f"{names} cannot be accelerated independently here: the Jacobian is singular",
                "prescribe other coordinates, or keep the motion away from this configuration",
            ),
        )

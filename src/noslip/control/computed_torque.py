"""Computed torque and its relatives, with known masses or adapting to unknown ones.

**Computed torque and its relatives: joints, frames of a body, prescribed coordinates.**

:class:`ComputedTorque` and :class:`ProportionalDerivative` act on coordinates whose rates are the
independent speeds, mostly the joints of an arm. The others choose accelerations of outputs first
and the forces for them second: the outer loop gives each output's error a linear equation of its
own; the inner loop inverts the dynamics at the measured state (`accelerate`). The outputs are the
velocity components of a frame of a body (:class:`CartesianTracking`) or the coordinates that the
motion prescribes (:class:`AccelerationResolved`).

**Adaptive control for unknown masses and inertias, and forces of constraints held beside a
motion.**

The reduced equations, with η the independent speeds, are written for reference speeds η_r as well
[SlotineLi1987]:

    (1)  M(q) η̇_r + C(q, η) η_r − Q(q, η) = Y(q, η, η_r, η̇_r) a + rest,     sᵀ(Ṁ − 2C) s = 0

Masses and moments of inertia a enter linearly, so that the regressor Y = ∂(1)/∂a is exact. C comes
from the bodies: with ω, v_c their angular velocities and those of their mass centers, for η, and
ω_r, v_cr for η_r, the wrench about the mass center is

    (2)  f = m v̇_cr,     n = I (ω̇_r − ω × ω_r) − (I ω) × ω_r

which is Newton's and Euler's for η_r = η, is linear in m and I, and does no work on its own: with
η_r = s the last term is normal to ω_s, and the first two make ½ sᵀṀ s. With s = η − η_r,

    (3)  SᵀB u = Y â + rest − k M₀ s,     â̇ = −Γ Yᵀ s
    (4)  V = ½ sᵀM s + ½ (â − a)ᵀΓ⁻¹(â − a),     V̇ = −k sᵀM₀ s ≤ 0

where M₀ is the mass matrix of the known values. The reference speeds lead back to the motion:

    (5)  N_y S η_r = ẏ_d + λ (y_d − y)          with y as many coordinates as degrees of freedom
    (6)  the kinematic law of `PoseTracking`     for a vehicle on a path

so that errors decay where s does. â need not come to a: it does where the motion shows it.

More inputs than degrees of freedom leave forces of constraints open: SᵀB δu = 0 moves nothing and
changes λ. :class:`MotionForce` adds the least δu with which chosen reactions are as wanted,

    (7)  [SᵀB; ∂λ/∂u] δu = [0; λ_d − λ(u)]

which leaves (4) as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip.algebra import cross, orthogonal_solve, symmetric_factors, symmetric_solve, turn_vector
from noslip.analysis import COMPONENTS, frame_twist
from noslip.base import Array, SimulationError, nearest
from noslip.control.closed_loop import (
    AbstractController,
    accelerate,
    along_motion,
    check_gains,
    limited,
)
from noslip.control.path_tracking import PoseTracking
from noslip.control.reference_motion import AbstractMotion, Reference, conditioning, solve_inputs
from noslip.control.text_grammar import PerSecond, PerSecondSquared
from noslip.engines import System
from noslip.expressions import Scalar
from noslip.formulations import at_mass_centers, rotor_forces
from noslip.kinematics import twists
from noslip.model import ZERO, Point
from noslip.simulation import Guard, InputGenerator, read_expression


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedTorque(AbstractController):
    """Inverse dynamics at the measured state, with proportional and derivative feedback.

        SᵀB u = SᵀMS (η̇_r + kd (η_r − η) + kp e) + bias − forces

    e are the errors of the coordinates whose rates the independent speeds are; each error obeys
    ë + kd ė + kp e = 0 exactly.
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

    #: kp, kd: 1/s² and 1/s; by themselves they let errors decay with 1/2 s, without overshoot
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
    """

    word = "pd"

    #: kp, kd: gains by independent speed, N·m/rad and N·m·s/rad (N/m and N·s/m for sliding joints)
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    gravity: bool = False  #: whether the generalized gravity forces are added

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
    """

    word = "cartesian"

    #: body, point: the frame: a body, and the frame's origin in its axes, m
    body: str
    point: Point = ZERO
    #: components of the velocity, as many as degrees of freedom: ``vx vy vz``, ``wx wy wz``
    components: tuple[str, ...]
    #: kp, kd: 1/s² and 1/s
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
        node = kin.tree.nodes[kin.tree.index[self.body]]
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
    """

    word = "acceleration-resolved"

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """For a motion of as many coordinates as degrees of freedom, not for the pose on a path."""
        return False

    #: kp, kd: 1/s² and 1/s
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


def reference_forces(system: System, eta_r: ca.SX, etadot_r: ca.SX) -> ca.SX:
    """M η̇_r + C(q, η) η_r − Q of (1), (nf,)."""
    kin = system.kinematics
    tree, s = kin.tree, kin.symbols
    motion = at_mass_centers(tree, twists(tree, s.v))
    world = [
        ca.vertcat(ca.mtimes(node.R_WD, w), ca.mtimes(node.R_WD, v))
        for node, (w, v) in zip(tree.nodes, motion, strict=True)
    ]
    stacked = ca.vertcat(*world)
    of = ca.Function("twists", [s.t, s.q, s.v, s.params], [stacked])
    v, qdot = kin.v, ca.mtimes(kin.N, kin.v)
    v_r = ca.mtimes(kin.S, eta_r)
    # the basis turns as the mechanism moves; η_r stands for a number there
    held = ca.SX.sym("held", eta_r.shape[0])
    turning = ca.jtimes(ca.mtimes(kin.S, held), s.q, qdot)
    vdot_r = ca.mtimes(kin.S, etadot_r) + ca.substitute([turning], [held], [ca.densify(eta_r)])[0]
    given = ca.SX.sym("v_r", v.shape[0])
    along = ca.jtimes(of(s.t, s.q, given, s.params), s.q, qdot)
    along = ca.substitute([along], [given], [ca.densify(v_r)])[0]
    now, then = of(s.t, s.q, v, s.params), of(s.t, s.q, v_r, s.params)
    rates = along + of(s.t, s.q, vdot_r, s.params)
    wrenches = []
    for k, node in enumerate(tree.nodes):
        angular, linear = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
        inertia = ca.mtimes(node.R_WD, ca.mtimes(node.inertia_D, node.R_WD.T))
        w, w_r = now[angular], then[angular]
        moment = ca.mtimes(inertia, rates[angular] - cross(w, w_r))
        moment = moment - cross(ca.mtimes(inertia, w), w_r)
        wrenches += [moment, node.mass * rates[linear]]  # (2)
    tree_forces = ca.jtimes(stacked, s.v, ca.vertcat(*wrenches), True)
    tree_forces = tree_forces + rotor_forces(tree, vdot_r)
    return ca.mtimes(kin.S.T, tree_forces) - system.equations.reduced_forces


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveTracking(AbstractController):
    """Adaptive tracking with unknown masses and inertias [SlotineLi1987], on the reduced equations.

    Columns are ``adapted.NAME``, what the controller takes the parameters for, and ``lyapunov``,
    V of (4) with the plant's true values, which never rises in a continuous loop.
    """

    word = "adaptive"

    #: parameters that are adapted, which enter linearly: masses, moments of inertia, dampings
    unknown: tuple[str, ...]
    rates: tuple[float, ...]  #: Γ, one for each of them, in its unit squared over J
    gain: PerSecond = 4.0  #: k, 1/s, by which speeds come to their reference
    position_gain: PerSecond = 2.0  #: λ of (5), 1/s
    #: values that are taken at the start; those that the controller knows by default
    start: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()  #: bounds below which no value goes; 0 by default
    pose: PoseTracking | None = None  #: law (6) of a vehicle on a path; found for :func:`track`

    def __post_init__(self) -> None:
        check_gains(self, "gain", "position_gain", "rates")
        for word in ("rates", "start", "lower"):
            values = getattr(self, word)
            if len(values) != len(self.unknown) and (values or word == "rates"):
                raise SimulationError(
                    f"{len(values)} {word} are given for {len(self.unknown)} unknown parameters",
                    "AdaptiveTracking",
                    f"give one for each of {', '.join(self.unknown) or 'the unknown parameters'}",
                )
        if not self.unknown or min(self.rates) <= 0:
            raise SimulationError(
                "nothing is adapted",
                "AdaptiveTracking",
                "name unknown parameters, each with a rate above 0",
            )

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """Never by default: the unknown parameters must be named."""
        return False

    @property
    def has_states(self) -> bool:
        """True: the estimates of the unknown parameters are states."""
        return True

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> AdaptiveTracking:
        """The same with initial estimates, and the law of a vehicle on its path."""
        known = system.model.parameter_values() | dict(parameters or {})
        missing = [name for name in self.unknown if name not in known]
        if missing:
            raise SimulationError(
                f"there is no parameter '{missing[0]}'", _where(system), nearest(missing[0], known)
            )
        begin = self.start or tuple(float(known[name]) for name in self.unknown)
        pose = self.pose
        nonholonomic = system.kinematics.num_independent_speeds < 3
        if motion.frame is not None and nonholonomic:
            pose = (pose or PoseTracking()).along(
                system, motion, reference_start=reference_start, duration=duration
            )
        return dataclasses.replace(self, start=begin, pose=pose)

    def reference_speeds(self, system: System, reference: Reference) -> ca.SX:
        """η_r of (5) or (6)."""
        kin = system.kinematics
        if self.pose is not None:
            return self.pose.wanted_speeds(system, reference)
        at = list(reference.motion.at)
        if len(at) != kin.num_independent_speeds:
            raise SimulationError(
                f"the motion prescribes {len(at)} coordinates for {kin.num_independent_speeds} "
                "degrees of freedom",
                _where(system),
                "prescribe as many, or give pose=PoseTracking(…)",
            )
        y_d = reference.motion.outputs
        ydot_d = reference.motion.rate_of(y_d, kin.symbols.t)
        J = ca.densify(ca.mtimes(kin.N[at, :], kin.S))
        wanted = ydot_d + self.position_gain * (y_d - kin.symbols.q[at, :])
        return orthogonal_solve(J, wanted)[0]

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u of (3) with the parameters that are known."""
        return self._parts(system, reference)[0]

    def _parts(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX, ca.SX]:
        """u of (3), Y and s, of the parameters' symbols."""
        where, kin = _where(system), system.kinematics
        _check_linear_motion(system, where)
        eta_r = self.reference_speeds(system, reference)
        etadot_r = along_motion(system, reference, eta_r)
        s = kin.eta - eta_r
        needed = reference_forces(system, eta_r, etadot_r)
        names = [p.name for p in system.model.parameters]
        symbols = ca.vertcat(*[kin.symbols.params[names.index(n)] for n in self.unknown])
        Y = ca.jacobian(needed, symbols)
        for k, name in enumerate(self.unknown):
            if ca.depends_on(Y, symbols[k]) or ca.depends_on(
                ca.vertcat(ca.vec(ca.densify(kin.S)), ca.vec(ca.densify(kin.N))), symbols[k]
            ):
                raise SimulationError(
                    f"the equations are not linear in '{name}'",
                    where,
                    "adapt masses, moments of inertia and dampings; lengths must be known",
                )
        B = ca.densify(system.equations.reduced_inputs)
        if B.shape[1] < B.shape[0]:
            raise SimulationError(
                f"there are {B.shape[1]} force inputs for {B.shape[0]} degrees of freedom",
                where,
                "drive every degree of freedom",
            )
        # M₀ has the numbers of the start in place of what is adapted: it must not change with â
        M0 = ca.densify(system.equations.reduced_mass)
        if self.start:
            M0 = ca.substitute([M0], [symbols], [ca.SX(ca.DM(self.start))])[0]
        return solve_inputs(B, needed - self.gain * ca.mtimes(M0, s)), Y, s

    def with_speed_inputs(
        self,
        system: System,
        reference: Reference,
        loop: InputGenerator,
        limits: Mapping[str, float],
    ) -> InputGenerator:
        """The loop with the parameter estimates as states."""
        kin = system.kinematics
        u, Y, s = self._parts(system, reference)
        adapted = ca.SX.sym("adapted", len(self.unknown))
        names = [p.name for p in system.model.parameters]
        places = [names.index(n) for n in self.unknown]
        # u holds M₀ as numbers of the start and the rest with what is adapted
        u, Y = ca.substitute(
            [u, Y],
            [kin.symbols.params[k] for k in places],
            [adapted[k] for k in range(len(places))],
        )
        rates = -ca.DM(self.rates) * ca.mtimes(Y.T, s)
        lower = self.lower or (0.0,) * len(self.unknown)
        kept = [
            ca.if_else(ca.logic_or(adapted[k] > lower[k], rates[k] > 0), rates[k], 0)
            for k in range(len(self.unknown))
        ]
        units = {p.name: p.unit for p in system.model.parameters}
        return dataclasses.replace(
            loop,
            inputs=loop.inputs | limited(system.model.inputs, u, limits),
            states=ca.vertcat(loop.states, adapted),
            rates=ca.vertcat(loop.rates, *kept),
            start=np.concatenate([loop.start, np.array(self.start)]),
            names=(*loop.names, *(f"adapted.{n}" for n in self.unknown)),
            units=(*loop.units, *(units[n] for n in self.unknown)),
        )

    def measures(
        self, system: System, reference: Reference, loop: InputGenerator, true: ca.SX
    ) -> dict[str, tuple[str, ca.SX]]:
        """V of (4)."""
        kin = system.kinematics
        s = kin.eta - self.reference_speeds(system, reference)
        names = [p.name for p in system.model.parameters]
        M = ca.substitute(
            [ca.densify(system.equations.reduced_mass)], [kin.symbols.params], [true]
        )[0]
        value = ca.dot(s, ca.mtimes(M, s)) / 2
        for name, rate in zip(self.unknown, self.rates, strict=True):
            state = loop.states[loop.names.index(f"adapted.{name}")]
            value = value + (state - true[names.index(name)]) ** 2 / (2 * rate)
        return {"lyapunov": ("J", value)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionForce(AbstractController):
    """A motion under another controller, and forces of constraints beside it (7).

    Needs more force inputs than degrees of freedom, one for each reaction that is held. Columns are
    ``force_error.ROW``, wanted less true, and those of the other controller.
    """

    motion: AbstractController  #: controller of the motion
    #: row → wanted force in its unit, a number or an expression of t and the state, such as
    #: ``{"front_left.longitudinal": "5*sin(t)"}``
    reactions: Mapping[str, Scalar]

    @property
    def has_states(self) -> bool:
        """Whether the motion's controller has states."""
        return self.motion.has_states

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> MotionForce:
        """The same with the controller of the motion along it."""
        inner = self.motion.along(
            system,
            motion,
            reference_start=reference_start,
            duration=duration,
            parameters=parameters,
        )
        return dataclasses.replace(self, motion=inner)

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """Forces of the motion's controller, plus those that correct the reactions."""
        return self._corrected(system, self.motion.forces(system, reference))

    def _rows(self, system: System) -> tuple[list[int], ca.SX]:
        """Indices of the reactions, and their reference values."""
        rows = [row.name for row in system.kinematics.rows]
        wanted = []
        for name, text in self.reactions.items():
            if name not in rows:
                raise SimulationError(
                    f"there is no constraint row '{name}'", _where(system), nearest(name, rows)
                )
            wanted.append(read_expression(system, str(text), f"reaction '{name}'"))
        return [rows.index(name) for name in self.reactions], ca.vertcat(*wanted)

    def _corrected(self, system: System, u: ca.SX) -> ca.SX:
        """u with the least change that gives the reactions and moves nothing."""
        at, wanted = self._rows(system)
        symbols = system.kinematics.symbols
        B = ca.densify(system.equations.reduced_inputs)
        spare = B.shape[1] - B.shape[0]
        if spare < len(at):
            raise SimulationError(
                f"{len(at)} reactions are prescribed, and {B.shape[1]} inputs for {B.shape[0]} "
                "degrees "
                f"of freedom leave {max(spare, 0)} open",
                _where(system),
                "prescribe fewer, or add motors that work against each other",
            )
        reactions = system.equations.multipliers[at, :]
        by_input = ca.jacobian(reactions, symbols.u)
        now = ca.substitute([reactions], [symbols.u], [ca.densify(u)])[0]
        G = ca.densify(ca.vertcat(B, by_input))
        gap = ca.vertcat(ca.SX.zeros(B.shape[0]), wanted - now)
        if G.shape[0] == G.shape[1]:
            return u + orthogonal_solve(G, gap)[0]
        return u + ca.mtimes(G.T, symmetric_solve(ca.mtimes(G, G.T), gap)[0])

    def with_speed_inputs(
        self,
        system: System,
        reference: Reference,
        loop: InputGenerator,
        limits: Mapping[str, float],
    ) -> InputGenerator:
        """The loop of the motion with corrected forces and the parameter estimates put in."""
        inner = self.motion.with_speed_inputs(system, reference, loop, {})
        names = [i.name for i in system.model.inputs]
        given = (
            self.motion.forces(system, reference)
            if inner is loop
            else ca.vertcat(*[inner.inputs[name] for name in names])
        )
        u = self._corrected(system, ca.densify(given))
        params = [p.name for p in system.model.parameters]
        adapted = {
            n.removeprefix("adapted."): k
            for k, n in enumerate(inner.names)
            if n.startswith("adapted.")
        }
        if adapted:
            at = [system.kinematics.symbols.params[params.index(n)] for n in adapted]
            u = ca.substitute([u], at, [inner.states[k] for k in adapted.values()])[0]
        return dataclasses.replace(
            inner, inputs=inner.inputs | limited(system.model.inputs, u, limits)
        )

    def measures(
        self, system: System, reference: Reference, loop: InputGenerator, true: ca.SX
    ) -> dict[str, tuple[str, ca.SX]]:
        """Errors of the reactions, and measures of the motion's controller."""
        at, wanted = self._rows(system)
        kin = system.kinematics
        u = ca.vertcat(*[loop.inputs[i.name] for i in system.model.inputs])
        reactions = ca.substitute(
            [system.equations.multipliers[at, :]], [kin.symbols.params], [true]
        )
        reactions = ca.substitute(reactions, [kin.symbols.u], [ca.densify(u)])
        units = {row.name: row.multiplier_unit for row in kin.rows}
        missed = {
            f"force_error.{name}": (units[name], wanted[k] - reactions[0][k])
            for k, name in enumerate(self.reactions)
        }
        return self.motion.measures(system, reference, loop, true) | missed


def _where(system: System) -> str:
    return f"controller of model '{system.model.name}'"


def _check_linear_motion(system: System, where: str) -> None:
    """Refuse speeds that do not vanish with η: drifting rows and speed inputs."""
    kin = system.kinematics
    rest = ca.simplify(ca.substitute([kin.v], [kin.eta], [ca.SX.zeros(kin.eta.shape)])[0])
    if system.model.speed_inputs or not ca.sparsify(rest).nnz() == 0:
        raise SimulationError(
            "something moves on its own, such as a speed input or a time-dependent row",
            where,
            "drive it by a motor",
        )

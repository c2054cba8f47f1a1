"""Adaptive control for unknown masses and inertias, and forces of constraints held beside a motion.

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

from noslip.algebra import cross, orthogonal_solve, symmetric_solve
from noslip.base import Array, SimulationError, nearest
from noslip.control.controllers.base import AbstractController, along_motion, check_gains, limited
from noslip.control.controllers.pose import PoseTracking
from noslip.control.forms import PerSecond
from noslip.control.reference.inverse import Reference, solve_inputs
from noslip.control.reference.motion import AbstractMotion
from noslip.engines import System
from noslip.expressions import Scalar
from noslip.formulations import at_mass_centers, rotor_forces
from noslip.kinematics import twists
from noslip.simulation import InputGenerator, read_expression


def reference_forces(system: System, eta_r: ca.SX, etadot_r: ca.SX) -> ca.SX:
    """M η̇_r + C(q, η) η_r − Q of (1), (nf,).

    Parameters
    ----------
    system : without speed inputs.
    eta_r, etadot_r : (nf,) reference speeds and their rates, of any symbols.
    """
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

    Parameters
    ----------
    unknown : parameters that are adapted, which enter linearly: masses, moments of inertia,
        dampings.
    rates : Γ, one for each of them, in its unit squared over J.
    gain : k, 1/s, by which speeds come to their reference.
    position_gain : λ of (5), 1/s.
    start : values that are taken at the start; those that the controller knows by default.
    lower : bounds below which no value goes; 0 by default.
    pose : law (6) of a vehicle on a path; found for :func:`track`.
    """

    word = "adaptive"

    unknown: tuple[str, ...]
    rates: tuple[float, ...]
    gain: PerSecond = 4.0
    position_gain: PerSecond = 2.0
    start: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    pose: PoseTracking | None = None

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

    Parameters
    ----------
    motion : controller of the motion.
    reactions : row → wanted force in its unit, a number or an expression of t and the state, such
        as ``{"front_left.longitudinal": "5*sin(t)"}``.
    """

    motion: AbstractController
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

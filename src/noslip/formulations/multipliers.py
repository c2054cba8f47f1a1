"""Formulations with multipliers, in all tree speeds: Lagrange's and the vakonomic one.

**Lagrange–d'Alembert with multipliers: all tree speeds, and the constraint forces with them.**

What it gives: v̇ and λ of the full equations at once. When to choose it: when reactions are wanted,
or to check a reduced form against equations that were not reduced.

Letters
-------
v, λ         tree speeds, multipliers of the independent rows of A v + a = 0
M, c, Q, B   mass matrix, velocity terms, applied forces and input matrix on the tree speeds
κ            weight of the added term below

Derivation
----------
    (1)  M v̇ + c = Q + B u + Aᵀλ
    (2)  A v̇ = −(Ȧ v + ȧ) =: b

M need not be regular (a massless body may hang on a joint of its own), so κ Aᵀ times (2) is added
to
(1), which changes neither v̇ nor λ:

    (3)  M_κ v̇ = Q + B u − c + κ Aᵀ b + Aᵀλ,    M_κ = M + κ Aᵀ A
    (4)  A M_κ⁻¹ Aᵀ λ = b − A M_κ⁻¹ (Q + B u − c + κ Aᵀ b)

For the blocks of the reduced equations: the response of η̇ = E v̇ + Ė v to a force f on the tree
speeds is E Ψ f with Ψ = M_κ⁻¹ − M_κ⁻¹Aᵀ(A M_κ⁻¹ Aᵀ)⁻¹A M_κ⁻¹, so that

    (5)  SᵀMS = (E Ψ Eᵀ)⁻¹,   Sᵀf = SᵀMS · E Ψ f

without S ever being formed.

Departures
----------
None from the textbook form; (3) is the usual augmentation for a singular M.

Reference: [AntunesSigaudMoraes2010, eq. D10], the Lagrange–d'Alembert equations there.

**The vakonomic equations: another theory, with the constraints in the Lagrangian.**

What it gives: the stationary motions of ∫ (L + μ·r) dt under r = A v + a = 0, with costates μ that
have a rate of their own. When to choose it: to compare with the motion of real bodies, which
follows d'Alembert's principle and not this one, unless the constraints are integrable; and for
optimal control of the velocity, where it is the right one.

Letters
-------
λ (paper) → μ     costates of the rows; λ is kept for constraint forces, λ = −μ̇ here
Γ (paper) → r     constraint r = A v + a
b                 Σ_l μ_l times row l, as a covector field on the coordinates: b = (N⁺)ᵀAᵀμ

Derivation
----------
Lagrange's equations of L + μ·r [AntunesSigaudMoraes2010, eqs. 2–6], on the tree speeds:

    (1)  M v̇ + c − F = Q + B u + Aᵀλ,   μ̇ = −λ
    (2)  F = Nᵀ ( ((∂b/∂q)ᵀ − ∂b/∂q) q̇ − ∂b/∂t + (∂a/∂q)ᵀμ )

Both follow from d/dt ∂(μ·r)/∂q̇ − ∂(μ·r)/∂q with q̇ = N v. F does no work, and it vanishes where
the rows are integrable: then both theories agree. The unknowns are v̇ and λ; μ(0) is free to
choose.

Departures
----------
The paper treats the multiplier as free when it prescribes a path; here it is not: (1) fixes it from
μ(0). Redundant rows carry no costate of their own.

Reference: [AntunesSigaudMoraes2010].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip.algebra import block_solve, symmetric_solve
from noslip.base import FormulationError
from noslip.formulations.complement import NaturalComplement
from noslip.formulations.equations import AbstractFormulation, Blocks, Equations, MethodObject
from noslip.formulations.generalized_forces import applied_forces
from noslip.formulations.tree_dynamics import (
    basis_rate,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    row_rates,
)
from noslip.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Multipliers(AbstractFormulation):
    """The Lagrange–d'Alembert equations in all tree speeds, with multipliers."""

    name = "Lagrange multipliers"
    word = "multipliers"
    reference = "AntunesSigaudMoraes2010"
    derivation = "noslip.show.equations.derivations:multipliers"

    def fill(self, kinematics: Kinematics) -> Equations:
        """Blocks of the reduced equations read from the full ones."""
        kin = kinematics
        num_free, num_kept, num_u = (
            kin.num_independent_speeds,
            len(kin.row_basis),
            len(kin.model.inputs),
        )
        forces = applied_forces(kin)
        A, E = ca.densify(kin.independent_A), ca.densify(kin.E)
        M = mass_matrix(kin)
        c = inverse_dynamics(kin, ca.SX.zeros(kin.num_speeds))
        b = -row_rates(kin)
        # (3), κ so that both terms weigh alike
        weight = ca.fmax(ca.trace(ca.mtimes(A.T, A)), 1e-300) if num_kept else ca.SX(1)
        kappa = ca.trace(M) / weight
        M_k = M + kappa * ca.mtimes(A.T, A)
        # forces on the tree speeds, side by side: what moves by itself, Q, each input, and Eᵀ for
        # (5)
        pushes = ca.horzcat(kappa * ca.mtimes(A.T, b) - c, forces.Q, ca.densify(forces.B), E.T)
        solved, _ = symmetric_solve(M_k, ca.horzcat(A.T, pushes))
        X, x = solved[:, :num_kept], solved[:, num_kept:]
        # (4), b belongs to what moves by itself
        wanted = -ca.mtimes(A, x)
        wanted[:, 0] += b
        lam, _ = symmetric_solve(ca.mtimes(A, X), wanted)
        # (5)
        response = ca.mtimes(E, x + ca.mtimes(X, lam))
        response[:, 0] += basis_rate(kin)
        inverse_mass = response[:, 2 + num_u :]
        reduced, _ = symmetric_solve(
            inverse_mass, ca.horzcat(response[:, : 2 + num_u], ca.SX.eye(num_free))
        )
        acting = ca.vertcat(ca.SX(1), ca.SX(1), kin.acting_inputs)
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=reduced[:, 2 + num_u :],
                bias=-reduced[:, 0],
                forces=reduced[:, 1],
                inputs=reduced[:, 2 : 2 + num_u],
            ),
            forces=forces,
            etadot=ca.SX.sym("etadot", num_free),
            reactions=lambda: ca.mtimes(A.T, ca.mtimes(lam[:, : 2 + num_u], acting)),
            energy=lambda: kinetic_energy(kin.tree, kin.twists, kin.v),
        )


@dataclass(frozen=True, slots=True)
class Vakonomic(AbstractFormulation):
    """Arnold and Kozlov's vakonomic mechanics. Not d'Alembert's; never mixed with the others."""

    name = "vakonomic equations"
    word = "vakonomic"
    reference = "AntunesSigaudMoraes2010"
    derivation = "noslip.show.equations.derivations:vakonomic"
    is_dalembert = False

    def fill(self, kinematics: Kinematics) -> Equations:
        """The d'Alembert blocks with the curl force F added, and the rates of the costates."""
        kin = kinematics
        blocks = NaturalComplement().fill(kin)
        if blocks.closure is not None:
            raise FormulationError(
                f"forces depend on the loads {', '.join(blocks.closure.rows)}, and the multipliers "
                "of vakonomic mechanics are not those",
                f"vakonomic equations of model '{kin.model.name}'",
                "use a formulation that follows d'Alembert's principle",
            )
        num = len(kin.row_basis)
        mu = ca.SX.sym("mu", num)
        F = curl_force(kin, mu)
        reactions = blocks.generalized_reactions - F
        rhs = blocks.reduced_forces + ca.mtimes(kin.S.T, F) - blocks.reduced_bias
        rhs = rhs + ca.mtimes(blocks.reduced_inputs, kin.acting_inputs)
        etadot, _ = symmetric_solve(blocks.reduced_mass, rhs)
        f = ca.substitute([reactions], [blocks.etadot], [ca.densify(etadot)])[0]
        lam = ca.mtimes(kin.P.T, block_solve(kin.K.T, f)[0][:num]) if num else ca.SX(0, 1)
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=blocks.reduced_mass,
                bias=blocks.reduced_bias,
                forces=blocks.reduced_forces + ca.mtimes(kin.S.T, F),
                inputs=blocks.reduced_inputs,
            ),
            forces=blocks.forces,
            etadot=blocks.etadot,
            reactions=lambda: reactions,
            energy=lambda: blocks.kinetic_energy,
            costates=mu,
            costate_rates=-lam,
        )

    def objects(self, equations: Equations, **options: Any) -> tuple[MethodObject, ...]:
        """The reduced form without λ, I η̇ = −h + Q + G μ and μ̇; v_T, Ψ and χ of a Chaplygin system.

        Parameters
        ----------
        equations : equations of motion by this formulation.
        options : none.
        """
        kin = equations.kinematics
        eta = tuple(s.name for s in kin.independent_speeds)
        rows = tuple(kin.rows[k].name for k in kin.row_basis)
        costates = tuple(f"costate.{name}" for name in rows)
        speeds = tuple(s.name for s in kin.speeds)
        pull = ca.mtimes(kin.S.T, curl_force(kin, equations.costates))
        forces = equations.reduced_forces - pull
        forces = forces + ca.mtimes(equations.reduced_inputs, kin.acting_inputs)

        def made(
            name: str, letter: str, value: ca.SX, words: tuple[str, str], *labels: tuple[str, ...]
        ) -> MethodObject:
            named, (letter, _, index) = (*labels, ())[:2], letter.partition("_")
            return MethodObject(
                name=name, letter=letter[0], index=index, dots=len(letter) - 1, value=value,
                meaning=words[0], equation=words[1], rows=named[0], columns=named[1],
            )  # fmt: skip

        result = [
            made("A", "A", kin.A[list(kin.row_basis), :], ("constraint rows, A v = 0", "eqs. 1, 6"),
                 rows, speeds),
            made("mu", "μ", equations.costates, ("costates, the paper's λ", "eq. 2"), costates),
            made("I", "I", equations.reduced_mass, ("reduced mass matrix", ""), eta, eta),
            made("h", "h", equations.reduced_bias, ("velocity terms of d'Alembert's principle", ""),
                 eta),
            made("Q", "Q", forces, ("generalized forces", ""), eta),
            made("G", "G", ca.jacobian(pull, equations.costates),
                 ("pull of the costates, I η̇ = −h + Q + G μ", "eqs. 5, 19, 20"), eta, costates),
            made("eta_dot", "η̇", equations.accelerations, ("independent accelerations",
                 "eqs. 19, 20"), eta),
            made("mu_dot", "μ̇", equations.costate_rates, ("rates of the costates, λ eliminated",
                 "eqs. 21, D6"), costates),
        ]  # fmt: skip
        form = chaplygin_form(equations)
        if form is not None:
            result += [
                made("b", "b", form.radius, ("radius of gyration", "eqs. 12, A14, B18"), ()),
                made("v_T", "v_T", form.speed, ("speed of the center of gyration", "eq. 38"), ()),
                made("Psi", "Ψ", form.angle, ("control angle, s′ = v_T sin Ψ, bφ̇ = v_T cos Ψ",
                     "eqs. 34, 35, 43"), ()),
                made("chi", "χ", form.drive, ("driving angle Ψ − (a/b) φ", "eq. 33"), ()),
            ]  # fmt: skip
        return tuple(result)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChaplyginForm:
    """A system of two speeds with K = ½ m (s′² + b² φ̇²), traced [AntunesSigaudMoraes2010]."""

    #: along, turning: numbers of the independent speeds s′ and φ̇
    along: int
    turning: int
    #: mass, radius: m and b
    mass: ca.SX
    radius: ca.SX
    offset: ca.SX  #: a, from the blade to the mass center: φ̈ = −(a/b²) s′φ̇ of the free motion
    #: speed, angle, drive: v_T, Ψ in (−π, π] and χ = Ψ − (a/b) φ
    speed: ca.SX
    angle: ca.SX
    drive: ca.SX


def chaplygin_form(equations: Equations) -> ChaplyginForm | None:
    """The form of a sleigh, an upright disk or a carriage; None for any other system."""
    kin = equations.kinematics
    units = [s.unit for s in kin.independent_speeds]
    if sorted(units) != ["m/s", "rad/s"] or kin.model.speed_inputs:
        return None
    along, turning = units.index("m/s"), units.index("rad/s")
    mass = equations.reduced_mass
    ones = ca.SX.ones(2)
    pull = ca.substitute([equations.reduced_bias], [kin.eta], [ones])[0][turning]
    rate = kin.independent_speeds[turning].name
    names = [s.name for s in kin.speeds]
    heading = _heading(kin, names.index(rate)) if rate in names else None
    if heading is None or not _is_constant(kin, mass, pull):
        return None
    s_dot, phi_dot = kin.eta[along], kin.eta[turning]
    radius = ca.sqrt(mass[turning, turning] / mass[along, along])
    offset = pull / mass[along, along]
    angle = ca.atan2(s_dot, radius * phi_dot)
    return ChaplyginForm(
        along=along,
        turning=turning,
        mass=mass[along, along],
        radius=radius,
        offset=offset,
        speed=ca.sqrt(s_dot**2 + (radius * phi_dot) ** 2),
        angle=angle,
        drive=angle - offset / radius * heading,
    )


def _is_constant(kin: Kinematics, mass: ca.SX, pull: ca.SX) -> bool:
    """Whether the mass matrix is diagonal and both are the same everywhere, to rounding."""
    found = ca.vertcat(ca.vec(ca.densify(mass)), pull)
    numbers = ca.Function("form", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [found])
    samples = kin.probe.configurations(2)
    values = [np.array(numbers(t, q, kin.probe.params)).ravel() for t, q in samples]
    scale = max(float(np.max(np.abs(v))) for v in values)
    is_same = len(values) == 2 and np.allclose(values[0], values[1], rtol=1e-12, atol=1e-14 * scale)
    return bool(is_same and abs(values[0][1]) <= 1e-12 * scale)


def _heading(kin: Kinematics, speed: int) -> ca.SX | None:
    """The coordinate whose rate is a tree speed."""
    for k in range(kin.num_coordinates):
        row = ca.densify(kin.N[k, :])
        others = [j for j in range(kin.num_speeds) if not row[j].is_zero()]
        if others == [speed] and row[speed].is_one():
            return kin.symbols.q[k]
    return None


def curl_force(kin: Kinematics, mu: ca.SX) -> ca.SX:
    """F of (2) on the tree speeds, at v = Sη + s."""
    symbols, N = kin.symbols, kin.N
    if not kin.row_basis:
        return ca.SX.zeros(kin.num_speeds)
    A, a = kin.A[list(kin.row_basis), :], kin.a[list(kin.row_basis), :]
    q_dot = ca.SX.sym("q_dot", kin.num_coordinates)
    # b = (N⁺)ᵀ Aᵀ μ with N⁺ = (NᵀN)⁻¹Nᵀ
    gram = ca.densify(ca.mtimes(N.T, N))
    b = ca.mtimes(N, symmetric_solve(gram, ca.densify(ca.mtimes(A.T, mu)))[0])
    turned = ca.gradient(ca.dot(b, q_dot), symbols.q) - ca.jtimes(b, symbols.q, q_dot)
    force = turned - ca.jacobian(b, symbols.t) + ca.gradient(ca.dot(a, mu), symbols.q)
    here = ca.mtimes(N, kin.v)
    return ca.substitute([ca.mtimes(N.T, ca.densify(force))], [q_dot], [here])[0]

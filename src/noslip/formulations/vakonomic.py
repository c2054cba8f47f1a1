"""The vakonomic equations: a different theory, in which the constraints are part of the Lagrangian.

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

import casadi as ca

from noslip.formulations.base import AbstractFormulation, Blocks, Equations
from noslip.formulations.complement import NaturalComplement
from noslip.kinematics.kinematics import Kinematics
from noslip.kinematics.linear import block_solve, symmetric_solve


@dataclass(frozen=True, slots=True)
class Vakonomic(AbstractFormulation):
    """Arnold and Kozlov's vakonomic mechanics. Not d'Alembert's; never mixed with the others."""

    name = "vakonomic equations"
    word = "vakonomic"
    reference = "AntunesSigaudMoraes2010"
    derivation = "noslip.show.equations.derivations.multipliers:vakonomic"
    is_dalembert = False

    def fill(self, kinematics: Kinematics) -> Equations:
        """The d'Alembert blocks with the curl force F added, and the rates of the costates."""
        kin = kinematics
        blocks = NaturalComplement().fill(kin)
        num = len(kin.kept)
        mu = ca.SX.sym("mu", num)
        F = curl_force(kin, mu)
        reactions = blocks.generalized_reactions - F
        rhs = blocks.reduced_forces + ca.mtimes(kin.S.T, F) - blocks.reduced_bias
        rhs = rhs + ca.mtimes(blocks.reduced_inputs, kin.symbols.u)
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
            generalized_reactions=reactions,
            kinetic_energy=blocks.kinetic_energy,
            costates=mu,
            costate_rates=-lam,
        )


def curl_force(kin: Kinematics, mu: ca.SX) -> ca.SX:
    """F of (2) on the tree speeds, at v = Sη + s."""
    symbols, N = kin.symbols, kin.N
    if not kin.kept:
        return ca.SX.zeros(kin.num_speeds)
    A, a = kin.A[list(kin.kept), :], kin.a[list(kin.kept), :]
    q_dot = ca.SX.sym("q_dot", kin.num_coordinates)
    # b = (N⁺)ᵀ Aᵀ μ with N⁺ = (NᵀN)⁻¹Nᵀ
    gram = ca.densify(ca.mtimes(N.T, N))
    b = ca.mtimes(N, symmetric_solve(gram, ca.densify(ca.mtimes(A.T, mu)))[0])
    turned = ca.gradient(ca.dot(b, q_dot), symbols.q) - ca.jtimes(b, symbols.q, q_dot)
    force = turned - ca.jacobian(b, symbols.t) + ca.gradient(ca.dot(a, mu), symbols.q)
    here = ca.mtimes(N, kin.v)
    return ca.substitute([ca.mtimes(N.T, ca.densify(force))], [q_dot], [here])[0]

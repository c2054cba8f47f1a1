"""Lagrange–d'Alembert with multipliers: all tree speeds, and the constraint forces with them.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.algebra import symmetric_solve
from noslip.formulations.equations import AbstractFormulation, Blocks, Equations
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

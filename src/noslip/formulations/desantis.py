"""DeSantis' ten-step procedure: Jacobians to twists in body frames, and a state model.

What it gives: D α̇ + C α = τ_a, the state model α̇ = g_0 + g_wa τ_a, and C̃ with Ḋ − 2C̃ skew. When to
choose it: for control design in state space.

Letters
-------
χ, f(q)    positions and orientations of the bodies, χ = f(q): the poses of the tree
V          stacked twists [velocity of the mass center; Ω], linear part first, in body axes
J_h        V = J_h v                 J_nh   v = J_nh α + s         J = J_h J_nh
α → η      independent speeds        M, W   diag(m 1, j) and diag(Ω×, Ω×) of the stacked bodies
D, C       JᵀMJ and Jᵀ(MJ̇ + WMJ)     τ_a    Jᵀω_a, generalized applied forces

Derivation
----------
Newton and Euler in axes that turn with the body, so that M is constant and J̇ means the rates of the
entries of J [DeSantis1994, eq. 4.4]:

    (1)  M V̇ = −W M V + ω_a + ω_c
    (2)  J_nh = (1 − Aᵀ(AAᵀ)⁻¹A) B                                          [DeSantis1994, eq. 2.13]
    (3)  D = JᵀMJ,  C = Jᵀ(MJ̇ + WMJ),  τ_a = Jᵀω_a                          [eqs. 4.13–4.24]
    (4)  D α̇ + C α = τ_a,   g_0 = −D⁻¹Cα,   g_wa = D⁻¹                      [DeSantis1994, eq. 4.21]
    (5)  C̃ = Jᵀ(MJ̇ + diag(m Ω×, −(jΩ)×)J),   C̃α = Cα,   Ḋ − 2C̃ skew

Departures
----------
The projector of (2) is printed with A and Aᵀ exchanged. B is Eᵀ(E Π Eᵀ)⁻¹ with Π that projector, so
that α = E v are the speeds the model names. g_0 is printed without its minus sign. Remark 4.1
claims that Ḋ − 2C is skew; for the printed C only αᵀ(Ḋ − 2C)α = 0, in three dimensions C̃ of (5) is
needed. With constraints that move in time v = J_nh α + s, and C α becomes Jᵀ(M(J̇α + …) + WMV).

Reference: [DeSantis1994].
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.formulations.base import AbstractFormulation, Blocks, Equations
from noslip.formulations.forces import applied_forces
from noslip.formulations.tree import at_mass_centers, basis_rate, kinetic_energy, row_rates
from noslip.kinematics.kinematics import Kinematics
from noslip.kinematics.linear import symmetric_solve
from noslip.kinematics.tree import Pair, Tree, twists
from noslip.spatial import skew


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeSantisMatrices:
    """The matrices of the procedure, traced, for display and for the identity of (5)."""

    J_h: ca.SX
    J_nh: ca.SX
    J: ca.SX
    J_dot: ca.SX
    M: ca.SX
    W: ca.SX
    D: ca.SX
    C: ca.SX
    C_skew: ca.SX


@dataclass(frozen=True, slots=True)
class DeSantis(AbstractFormulation):
    """DeSantis' procedure for rolling and gliding robots."""

    name = "DeSantis' procedure"
    word = "desantis"
    reference = "DeSantis1994"
    derivation = "noslip.show.equations.derivations.twists:desantis"
    basis_symbol = ("J", "nh")

    def fill(self, kinematics: Kinematics) -> Equations:
        """Blocks of the reduced equations by Jacobians in body frames."""
        kin = kinematics
        forces = applied_forces(kin)
        # (2), and the particular speeds s where constraints move
        J_nh, s = projected_basis(kin)
        v = ca.mtimes(J_nh, kin.eta) + s
        J_h = body_jacobian(kin)
        J = ca.mtimes(J_h, J_nh)
        V = ca.mtimes(J_h, v)
        M, W = body_mass(kin), spin_matrix(kin, V)
        # J̇α + d/dt(J_h s): entries of J_h at constant v, then the speeds' own rate at α̇ = 0
        rate = _entry_rate(kin, v) + ca.mtimes(J_h, _speeds_rate(kin))
        D = ca.mtimes(J.T, ca.mtimes(M, J))
        etadot = ca.SX.sym("etadot", kin.num_independent_speeds)
        # ω_c = M V̇ + W M V − ω_a, on the tree speeds
        V_dot = ca.mtimes(J, etadot) + rate
        needed = ca.mtimes(J_h.T, ca.mtimes(M, V_dot) + ca.mtimes(W, ca.mtimes(M, V)))
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=D,
                bias=ca.mtimes(J.T, ca.mtimes(M, rate) + ca.mtimes(W, ca.mtimes(M, V))),
                forces=ca.mtimes(J_nh.T, forces.Q),
                inputs=ca.mtimes(J_nh.T, forces.B),
            ),
            forces=forces,
            etadot=etadot,
            generalized_reactions=needed - forces.Q - ca.mtimes(forces.B, kin.symbols.u),
            kinetic_energy=kinetic_energy(kin.tree, kin.twists),
        )

    def matrices(self, kinematics: Kinematics) -> DeSantisMatrices:
        """All matrices of the procedure with the full J̇, C and C̃ of (3) and (5)."""
        kin = kinematics
        J_nh, s = projected_basis(kin)
        J_h = body_jacobian(kin)
        J = ca.mtimes(J_h, J_nh)
        V = ca.mtimes(J, kin.eta) + ca.mtimes(J_h, s)
        M, W = body_mass(kin), spin_matrix(kin, V)
        at = ca.vertcat(kin.symbols.q, kin.symbols.t)
        along = ca.vertcat(ca.mtimes(kin.N, ca.mtimes(J_nh, kin.eta) + s), ca.SX(1))
        J_dot = ca.reshape(ca.jtimes(ca.vec(ca.densify(J)), at, along), J.shape)
        blocks = []
        for k, node in enumerate(kin.tree.nodes):
            omega = V[6 * k + 3 : 6 * k + 6]
            blocks += [node.mass * skew(omega), -skew(ca.mtimes(_body_inertia(kin, k), omega))]
        twisted = ca.mtimes(ca.diagcat(*blocks), J)
        return DeSantisMatrices(
            J_h=J_h,
            J_nh=J_nh,
            J=J,
            J_dot=J_dot,
            M=M,
            W=W,
            D=ca.mtimes(J.T, ca.mtimes(M, J)),
            C=ca.mtimes(J.T, ca.mtimes(M, J_dot) + ca.mtimes(W, ca.mtimes(M, J))),
            C_skew=ca.mtimes(J.T, ca.mtimes(M, J_dot) + twisted),
        )


def projected_basis(kin: Kinematics) -> tuple[ca.SX, ca.SX]:
    """J_nh = Π B with E J_nh = 1, and s with A s = −a, E s = 0, by the projector of (2)."""
    A, E = ca.densify(kin.independent_A), ca.densify(kin.E)
    gram = ca.mtimes(A, A.T)
    solved, _ = symmetric_solve(gram, ca.horzcat(ca.mtimes(A, E.T), kin.independent_a))
    num = kin.num_independent_speeds
    projected = E.T - ca.mtimes(A.T, solved[:, :num])
    basis, _ = symmetric_solve(ca.mtimes(E, projected), projected.T)
    J_nh = basis.T
    particular = -ca.mtimes(A.T, solved[:, num])
    return J_nh, particular - ca.mtimes(J_nh, ca.mtimes(E, particular))


def body_jacobian(kin: Kinematics) -> ca.SX:
    """J_h (6p×nv): twists [ċ; Ω] in body axes of unit tree speeds."""
    columns = []
    for j in range(kin.num_speeds):
        e = ca.SX.zeros(kin.num_speeds)
        e[j] = 1
        columns.append(stacked_twist(kin.tree, twists(kin.tree, e)))
    return ca.horzcat(*columns) if columns else ca.SX(6 * len(kin.tree.nodes), 0)


def stacked_twist(tree: Tree, motion: list[Pair]) -> ca.SX:
    """[ċ; Ω] of all bodies in body axes, linear part first."""
    parts = []
    for node, (w, v) in zip(tree.nodes, at_mass_centers(tree, motion), strict=True):
        parts += [ca.mtimes(node.R_DB.T, v), ca.mtimes(node.R_DB.T, w)]
    return ca.vertcat(*parts)


def body_mass(kin: Kinematics) -> ca.SX:
    """M = diag(m 1, j) of all bodies, in body axes."""
    blocks = []
    for k, node in enumerate(kin.tree.nodes):
        blocks += [node.mass * ca.SX.eye(3), _body_inertia(kin, k)]
    return ca.diagcat(*blocks)


def spin_matrix(kin: Kinematics, V: ca.SX) -> ca.SX:
    """W = diag(Ω×, Ω×) of all bodies."""
    blocks = []
    for k in range(len(kin.tree.nodes)):
        omega = V[6 * k + 3 : 6 * k + 6]
        blocks += [skew(omega), skew(omega)]
    return ca.diagcat(*blocks)


def _body_inertia(kin: Kinematics, k: int) -> ca.SX:
    """Inertia in body axes. (Where D does not spin with the body, both see the same numbers.)"""
    return kin.tree.nodes[k].inertia_D


def _entry_rate(kin: Kinematics, v: ca.SX) -> ca.SX:
    """J̇_h v: rates of the twists' body components at constant tree speeds."""
    symbols = kin.symbols
    V = stacked_twist(kin.tree, twists(kin.tree, symbols.v))
    rate = ca.jtimes(V, symbols.q, ca.mtimes(kin.N, symbols.v))
    return ca.substitute([rate], [symbols.v], [v])[0]


def _speeds_rate(kin: Kinematics) -> ca.SX:
    """J̇_nh α + ṡ: v̇ at α̇ = 0, with A v̇ = −(Ȧv + ȧ) and E v̇ = −Ėv, by the projector again."""
    A, E = ca.densify(kin.independent_A), ca.densify(kin.E)
    J_nh, _ = projected_basis(kin)
    solved, _ = symmetric_solve(ca.mtimes(A, A.T), row_rates(kin))
    particular = -ca.mtimes(A.T, solved)
    return particular - ca.mtimes(J_nh, ca.mtimes(E, particular) + basis_rate(kin))

"""The Boltzmann–Hamel equations: Lagrange's equations in quasi-velocities.

What it gives: the reduced equations from the Lagrangian, the dependent quasi-velocities kept in it
until the momenta are formed (setting them to zero earlier is the classic mistake), and the
reactions as the equations of those dependent ones. When to choose it: to see where each term comes
from, and for joints whose Hamel terms are known in closed form (`hamel_joints.py`).

Letters
-------
w (paper: ω)   all quasi-velocities: w = αᵀq̇, q̇ = β w; here w = K v = [rows A v; η], β = N K⁻¹
α              any left inverse of β: αᵀ = K N⁺; only βᵀγ enters
L̄              kinetic energy minus potential energy as a function of q and w
P              momenta ∂L̄/∂w
γ              Hamel's coefficients times w: γ_ij = Σ_kr w_r β_kr (∂α_ij/∂q_k − ∂α_kj/∂q_i)
N_I            generalized forces on the quasi-velocities (paper), S^T of the applied ones

Derivation
----------
[CameronBook1993, eq. 40], for independent I:

    (1)  d/dt ∂L̄/∂w_I + Σ_j (βᵀγ)_Ij ∂L̄/∂w_j − Σ_j β_jI ∂L̄/∂q_j = N_I

γ is never formed. With the momenta P held fixed, a = αP is a covector field on the configurations,
and

    (2)  Σ_j γ_ij P_j = Σ_k q̇_k (∂a_i/∂q_k − ∂a_k/∂q_i) = ((∂a/∂q) − (∂a/∂q)ᵀ) q̇

which is two directional derivatives. The dependent quasi-velocities w_d = A v are set to −a only
after P and its derivatives are formed, and their own equations of the form (1) have the multipliers
on the right.

Departures
----------
N may be tall (quaternions), so αᵀβ = 1 but βαᵀ ≠ 1; (1) still holds. For rows that change with time
explicitly a term ∂(αP)/∂t joins (2). Quasi-velocities with an offset (moving constraints) keep w_d
= −a and ẇ_d = −ȧ instead of zero.

Reference: [CameronBook1993].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from noslip.algebra import block_solve, symmetric_solve
from noslip.formulations.base import AbstractFormulation, Blocks, Equations, MethodObject
from noslip.formulations.forces import applied_forces
from noslip.formulations.hamel_joints import jointwise_hamel, whole_contacts
from noslip.formulations.tree import (
    generalized_inertia,
    inverse_dynamics,
    kinetic_energy,
    unit_speed_twists,
)
from noslip.kinematics import Kinematics, twists
from noslip.model import GRAVITY, SPRING


@dataclass(frozen=True, slots=True)
class BoltzmannHamel(AbstractFormulation):
    """Boltzmann and Hamel's equations in the quasi-velocities of the model.

    Parameters
    ----------
    jointwise : take the Hamel terms from the closed forms of the nonholonomic joints that the
        mechanism is made of, and row by row where a row belongs to none, instead of
        differentiating all at once.
    """

    jointwise: bool = False

    name = "Boltzmann–Hamel equations"
    word = "boltzmann-hamel"
    reference = "CameronBook1993"
    derivation = "noslip.show.equations.derivations.energies:boltzmann_hamel"

    def fill(self, kinematics: Kinematics) -> Equations:
        """Blocks of the reduced equations from the Lagrangian in quasi-velocities."""
        kin = kinematics
        symbols, num_kept = kin.symbols, len(kin.row_basis)
        num_v, num_free = kin.num_speeds, kin.num_independent_speeds
        forces = applied_forces(kin)
        # L̄(q, w), with all quasi-velocities in it
        w = ca.SX.sym("w", num_v)
        inverse, _ = block_solve(kin.K, ca.SX.eye(num_v))
        v = ca.mtimes(inverse, w)
        energy = kinetic_energy(kin.tree, twists(kin.tree, v), v)
        P = ca.gradient(energy, w)
        q_dot = ca.mtimes(kin.N, v)
        beta = ca.mtimes(kin.N, inverse)
        # d/dt P at constant w, Hamel's term (2), and −βᵀ ∂K/∂q
        at = ca.vertcat(symbols.q, symbols.t)
        along = ca.vertcat(q_dot, ca.SX(1))
        drift = ca.jtimes(P, at, along)
        if self.jointwise:
            hamel = jointwise_hamel(kin, P, w)
        else:
            hamel = ca.mtimes(beta.T, hamel_term(kin, P, q_dot))
        known = drift + hamel - ca.mtimes(beta.T, ca.gradient(energy, symbols.q))
        mass = ca.jacobian(P, w)
        # only now the dependent quasi-velocities take their values, and so do their rates
        values = ca.vertcat(-_offset(kin), kin.eta)
        known, mass, beta = ca.substitute([known, mass, beta], [w], [values])
        dependent_rate = -_offset_rate(kin)
        independent = slice(num_kept, num_v)
        fixed = known + ca.mtimes(mass[:, :num_kept], dependent_rate)
        # generalized forces: potential ones from the potential, the others by virtual power
        potential = -ca.mtimes(beta.T, ca.gradient(forces.potential_energy, symbols.q))
        other = sum(
            (f for share, f in forces.shares.items() if share not in (GRAVITY, SPRING)), ca.SX(0)
        )
        pushed = potential + ca.mtimes(inverse.T, ca.densify(other) + ca.SX.zeros(num_v))
        B = ca.mtimes(inverse.T, forces.B)
        # the equations of the dependent quasi-velocities have the multipliers on their right
        etadot = ca.SX.sym("etadot", num_free)
        full = (
            fixed
            + ca.mtimes(mass[:, independent], etadot)
            - pushed
            - ca.mtimes(B, kin.acting_inputs)
        )
        lam = full[:num_kept] if num_kept else ca.SX(0, 1)
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=ca.densify(mass[independent, independent]),
                bias=fixed[independent, :],
                forces=pushed[independent, :],
                inputs=ca.densify(B[independent, :]),
            ),
            forces=forces,
            etadot=etadot,
            reactions=lambda: ca.mtimes(kin.K[:num_kept, :].T, lam),
            energy=lambda: ca.substitute([energy], [w], [values])[0],
        )

    def objects(self, equations: Equations, **options: Any) -> tuple[MethodObject, ...]:
        """w, α, β, γ, Γ = βᵀγ, momenta P, and M, h, N of the collected equations.

        Parameters
        ----------
        equations : by this formulation.
        options : none.
        """
        kin = equations.kinematics
        num, kept = kin.num_speeds, len(kin.row_basis)
        inverse, _ = block_solve(kin.K, ca.SX.eye(num))
        left, _ = symmetric_solve(ca.mtimes(kin.N.T, kin.N), kin.N.T)
        P, w = ca.SX.sym("P", num), ca.SX.sym("w", num)
        values = ca.vertcat(-kin.a_solved, kin.eta)
        beta = ca.mtimes(kin.N, inverse)
        gamma = ca.jacobian(hamel_term(kin, P, ca.mtimes(beta, values)), P)
        turning = turning_term(kin, ca.mtimes(kin.K.T, P), ca.mtimes(inverse, values))
        Gamma = ca.jacobian(ca.mtimes(inverse.T, turning), P)
        alpha, short = ca.mtimes(kin.K, left).T, None
        plain = None
        # of a quaternion N is tall, and α βᵀ is no identity
        if kin.N.is_square():
            plain = ca.mtimes(kin.K, block_solve(kin.N, ca.SX.eye(num))[0]).T
            short = ca.mtimes(plain, Gamma)
        v = ca.mtimes(inverse, w)
        energy = kinetic_energy(kin.tree, twists(kin.tree, v), v)
        momenta = ca.substitute([ca.gradient(energy, w)], [w], [values])[0]
        forces = equations.reduced_forces + ca.mtimes(equations.reduced_inputs, kin.acting_inputs)
        quasi = (*solved_names(kin), *(s.name for s in kin.independent_speeds))
        q, eta = tuple(c.name for c in kin.coordinates), quasi[kept:]

        columns = unit_speed_twists(kin, kin.tree)
        bias = ca.mtimes(kin.S.T, inverse_dynamics(kin, kin.vdot0))
        pushed = equations.forces.Q + ca.mtimes(equations.forces.B, kin.acting_inputs)

        def made(name: str, letter: str, value: ca.SX, meaning: str, **others: Any) -> MethodObject:
            return MethodObject(name=name, letter=letter, value=value, meaning=meaning, **others)

        return (
            made("w", "w", values, "quasi-velocities, the dependent ones first", equation="eq. 5",
                 rows=quasi),
            made("alpha", "α", alpha, "w = αᵀq̇", shown=plain, equation="eqs. 5, 22", rows=q,
                 columns=quasi),
            made("beta", "β", beta, "q̇ = β w", equation="eqs. 6, 24", rows=q, columns=quasi),
            made("gamma", "γ", gamma, "Hamel's coefficients times w", shown=short,
                 equation="eqs. 19, 49", rows=q, columns=quasi),
            made("Gamma", "Γ", ca.mtimes(beta.T, gamma), "Hamel's terms βᵀγ", shown=Gamma,
                 equation="eqs. 32, 40", rows=quasi, columns=quasi),
            made("P", "P", momenta, "momenta ∂L̄/∂w", equation="eqs. 60, 71", rows=quasi),
            made("M", "M", equations.reduced_mass, "∂²L̄/∂w∂w of the independent ones",
                 shown=generalized_inertia(kin.tree, columns, kin.S), rows=eta, columns=eta),
            made("h", "h", equations.reduced_bias, "velocity terms on the left", shown=bias,
                 equation="eq. 40", rows=eta),
            made("N", "N", forces, "generalized forces, those of the potential included",
                 shown=ca.mtimes(kin.S.T, pushed), equation="eqs. 20, 36", rows=eta),
        )  # fmt: skip


def solved_names(kin: Kinematics) -> tuple[str, ...]:
    """Names of the dependent quasi-velocities; a contact with all rows has x, y, z of its body."""
    names: list[str] = []
    for trace, k in whole_contacts(kin):
        if trace is None:
            names.append(kin.rows[k].name)
        else:
            names += [f"{trace.contact.name}.{axis} in {trace.contact.body}" for axis in "xyz"]
    return tuple(names)


def hamel_term(kin: Kinematics, P: ca.SX, q_dot: ca.SX) -> ca.SX:
    """(2): ((∂a/∂q) − (∂a/∂q)ᵀ) q̇ + ∂a/∂t of the covector field a = αP at fixed momenta."""
    symbols = kin.symbols
    fixed = ca.SX.sym("P", P.shape[0])
    moving = ca.SX.sym("q_dot", q_dot.shape[0])
    # α = (N⁺)ᵀ Kᵀ with N⁺ = (NᵀN)⁻¹Nᵀ
    N = kin.N
    a = ca.mtimes(N, symmetric_solve(ca.mtimes(N.T, N), ca.mtimes(kin.K.T, fixed))[0])
    forward = ca.jtimes(a, symbols.q, moving) + ca.jacobian(a, symbols.t)
    backward = ca.gradient(ca.dot(a, moving), symbols.q)
    return ca.substitute([forward - backward], [fixed, moving], [P, q_dot])[0]


def turning_term(kin: Kinematics, p: ca.SX, v: ca.SX) -> ca.SX:
    """Hamel's terms on the tree speeds joint by joint, without coordinates.

    With p a covector field on the configurations, given along the tree speeds v,

        Nᵀ ((∂a/∂q) − (∂a/∂q)ᵀ) q̇ + Nᵀ ∂a/∂t,   a = (N⁺)ᵀ p

    is what `hamel_term` computes by differentiating N. Speeds in body axes turn with them, which is
    known in closed form for every joint; what is left is the field's own change:

        turn(p, v) + ṗ − Nᵀ ∂(p·v)/∂q

    with turn = ω × p for directions, and v × p for the turning itself.

    Parameters
    ----------
    kin : kinematics.
    p : (nv,) momenta along the tree speeds, as functions of q and t.
    v : (nv,) tree speeds, which may be expressions of q; only their values matter.
    """
    symbols = kin.symbols
    fixed = ca.SX.sym("v", kin.num_speeds)
    q_dot = ca.mtimes(kin.N, fixed)
    rate = ca.jtimes(p, ca.vertcat(symbols.q, symbols.t), ca.vertcat(q_dot, ca.SX(1)))
    slope = ca.mtimes(kin.N.T, ca.gradient(ca.dot(p, fixed), symbols.q))
    whole = _turned(kin, p, fixed) + rate - slope
    return ca.substitute([ca.densify(whole)], [fixed], [v])[0]


def _turned(kin: Kinematics, p: ca.SX, v: ca.SX) -> ca.SX:
    """turn(p, v), zero for joints of one speed and for the rates that contacts own."""
    parts = [
        node.joint.type.hamel_terms(v[node.speeds], p[node.speeds], kin.reader)
        for node in kin.tree.nodes
    ]
    return ca.vertcat(*parts, ca.SX.zeros(kin.num_places, 1))


def _offset(kin: Kinematics) -> ca.SX:
    """a of the solved rows, K = [A; E]: r = A v + a."""
    return kin.a_solved


def _offset_rate(kin: Kinematics) -> ca.SX:
    """ȧ of the solved rows along the motion."""
    symbols = kin.symbols
    at = ca.vertcat(symbols.q, symbols.t, symbols.w)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1), symbols.wdot)
    return ca.jtimes(kin.a_solved, at, along) if kin.row_basis else ca.SX(0, 1)

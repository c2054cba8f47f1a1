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
from typing import Any

import casadi as ca

from noslip.algebra import skew, symmetric_solve
from noslip.formulations.couplings import applied_wrenches
from noslip.formulations.equations import AbstractFormulation, Blocks, Equations, MethodObject
from noslip.formulations.generalized_forces import applied_forces
from noslip.formulations.tree_dynamics import (
    at_mass_centers,
    basis_rate,
    inverse_dynamics,
    kinetic_energy,
    rotor_forces,
    row_rates,
)
from noslip.kinematics import Kinematics, Pair, Tree, twists


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
    derivation = "noslip.show.equations.derivations:desantis"
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
        M, W = mass_and_spin(kin, V)
        # J̇α + d/dt(J_h s): entries of J_h at constant v, then the speeds' own rate at α̇ = 0
        speeds_rate = _speeds_rate(kin)
        rate = _entry_rate(kin, v) + ca.mtimes(J_h, speeds_rate)
        # rotors, along the joints alone
        D = ca.mtimes(J.T, ca.mtimes(M, J)) + ca.mtimes(J_nh.T, rotor_forces(kin.tree, J_nh))
        drift = ca.mtimes(J_nh.T, rotor_forces(kin.tree, speeds_rate))
        etadot = ca.SX.sym("etadot", kin.num_independent_speeds)
        # ω_c = M V̇ + W M V − ω_a, on the tree speeds
        V_dot = ca.mtimes(J, etadot) + rate
        needed = ca.mtimes(J_h.T, ca.mtimes(M, V_dot) + ca.mtimes(W, ca.mtimes(M, V)))
        needed = needed + rotor_forces(kin.tree, ca.mtimes(J_nh, etadot) + speeds_rate)
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=D,
                bias=ca.mtimes(J.T, ca.mtimes(M, rate) + ca.mtimes(W, ca.mtimes(M, V))) + drift,
                forces=ca.mtimes(J_nh.T, forces.Q),
                inputs=ca.mtimes(J_nh.T, forces.B),
            ),
            forces=forces,
            etadot=etadot,
            reactions=lambda: needed - forces.Q - ca.mtimes(forces.B, kin.acting_inputs),
            energy=lambda: kinetic_energy(kin.tree, kin.twists, kin.v),
        )

    def matrices(
        self, kinematics: Kinematics, basis: tuple[ca.SX, ca.SX] | None = None
    ) -> DeSantisMatrices:
        """All matrices of the procedure with the full J̇, C and C̃ of (3) and (5).

        Parameters
        ----------
        kinematics : traced.
        basis : J_nh and s, if not by the projector of (2).
        """
        kin = kinematics
        J_nh, s = projected_basis(kin) if basis is None else basis
        J_h = body_jacobian(kin)
        J = ca.mtimes(J_h, J_nh)
        V = ca.mtimes(J, kin.eta) + ca.mtimes(J_h, s)
        M, W = mass_and_spin(kin, V)
        at = ca.vertcat(kin.symbols.q, kin.symbols.t)
        along = ca.vertcat(ca.mtimes(kin.N, ca.mtimes(J_nh, kin.eta) + s), ca.SX(1))
        J_dot = ca.reshape(ca.jtimes(ca.vec(ca.densify(J)), at, along), J.shape)
        blocks = []
        for k, node in enumerate(kin.tree.nodes):
            omega = V[6 * k + 3 : 6 * k + 6]
            blocks += [node.mass * skew(omega), -skew(ca.mtimes(_body_inertia(kin, k), omega))]
        twisted = ca.mtimes(ca.diagcat(*blocks), J)
        # rotors along the joints: JᵀAJ and JᵀAJ̇ with J_nh for J
        slope = ca.reshape(ca.jtimes(ca.vec(ca.densify(J_nh)), at, along), J_nh.shape)
        rotors, drift = (
            ca.mtimes(J_nh.T, rotor_forces(kin.tree, ca.densify(each))) for each in (J_nh, slope)
        )
        return DeSantisMatrices(
            J_h=J_h,
            J_nh=J_nh,
            J=J,
            J_dot=J_dot,
            M=M,
            W=W,
            D=ca.mtimes(J.T, ca.mtimes(M, J)) + rotors,
            C=ca.mtimes(J.T, ca.mtimes(M, J_dot) + ca.mtimes(W, ca.mtimes(M, J))) + drift,
            C_skew=ca.mtimes(J.T, ca.mtimes(M, J_dot) + twisted) + drift,
        )

    def objects(self, equations: Equations, **options: Any) -> tuple[MethodObject, ...]:
        """J_h, J_nh, J, J̇, M, W, ω_a, ω_c, D, C, C̃, τ_a, g_0, its shares, g_wa, gains of inputs.

        J_h and J_nh are those of the coordinates' rates, V = J_h q̇ and q̇ = J_nh α, as in print;
        where a speed input moves constraints, J̇, C and g_0 are split into what is there without it
        and what each input adds, J̇ = A + B δ̇ and g_0 = g_01 + g_02 δ̇ + g_03 [DeSantis1994, eqs.
        6.23, 6.34, 6.37]; g_03, with squares and rates of δ̇, is zero in the paper, where no steered
        body has its mass off the pivot.

        Parameters
        ----------
        equations : equations of motion by this formulation.
        options : none.
        """
        kin = equations.kinematics
        own = _object_values(kin, self.matrices(kin), equations.reduced_bias)
        # for people, with the basis that solves [A; E] S = [0; 1], which is the same one
        short = _object_values(
            kin,
            self.matrices(kin, (kin.S, kin.s)),
            ca.mtimes(kin.S.T, inverse_dynamics(kin, kin.vdot0)),
        )
        pushed = equations.forces.Q + ca.mtimes(equations.forces.B, kin.acting_inputs)
        tau = equations.reduced_forces + ca.mtimes(equations.reduced_inputs, kin.acting_inputs)
        own |= {"tau_a": tau, "g_u": ca.mtimes(own["g_wa"], equations.reduced_inputs)}
        wrenches = _wrenches(equations)
        own |= wrenches
        short |= wrenches
        short |= {"tau_a": ca.mtimes(kin.S.T, pushed)}
        short |= {"g_u": ca.mtimes(short["g_wa"], ca.mtimes(kin.S.T, equations.forces.B))}
        labels = {
            "α": tuple(s.name for s in kin.independent_speeds),
            "q": tuple(c.name for c in kin.coordinates),
            "u": tuple(i.name for i in kin.model.inputs),
            "V": tuple(
                f"{node.body.name}.{part}{axis}"
                for node in kin.tree.nodes
                for part in "vw"
                for axis in "xyz"
            ),
        }
        result = []
        for name, value in own.items():
            stem, _, by = name.partition("|")
            letter, index, dots, sides, meaning, equation = _OBJECTS[stem]
            result.append(
                MethodObject(
                    name=f"{stem}_{by}" if by and len(kin.model.speed_inputs) > 1 else stem,
                    letter=letter,
                    index=index,
                    dots=dots,
                    value=value,
                    shown=short[name],
                    meaning=meaning.format(by or "the speed input"),
                    equation=equation,
                    rows=labels[sides[0]],
                    columns=labels[sides[1]] if len(sides) > 1 else (),
                )
            )
        order = list(_OBJECTS)
        return tuple(sorted(result, key=lambda o: order.index(_stem(o.name))))


#: Name → letter, index, dots, what rows and columns are of, meaning, equations of [DeSantis1994].
_OBJECTS = {
    "J_h": ("J", "h", 0, "Vq", "twists by the coordinates' rates, V = J_h q̇", "eqs. 2.6–2.8"),
    "J_nh": ("J", "nh", 0, "qα", "admissible rates, q̇ = J_nh α", "eqs. 2.12, 2.13"),
    "J": ("J", "", 0, "Vα", "J_h J_nh, V = J α", "eqs. 2.14, 2.15"),
    "J_dot": ("J", "", 1, "Vα", "rates of its entries", "eq. 2.16"),
    "A": ("A", "", 0, "Vα", "share of J̇ without speed inputs", "eqs. 6.23, 6.24"),
    "B": ("B", "", 0, "Vα", "share of J̇ by {}", "eqs. 6.23, 6.25"),
    "M": ("M", "", 0, "VV", "masses and inertias of all bodies", "eqs. 3.8, 4.1"),
    "W": ("W", "", 0, "VV", "extended angular velocity of all bodies", "eqs. 3.9, 4.2"),
    "D": ("D", "", 0, "αα", "inertia matrix JᵀMJ", "eq. 4.13"),
    "C": ("C", "", 0, "αα", "Coriolis and centripetal matrix Jᵀ(MJ̇ + WMJ)", "eq. 4.14"),
    "C_1": ("C", "1", 0, "αα", "share of C without speed inputs", "eq. 6.32"),
    "C_2": ("C", "2", 0, "αα", "share of C by {}", "eq. 6.33"),
    "C_skew": ("C̃", "", 0, "αα", "C with Ḋ − 2C̃ skew in space", ""),
    "w_a": ("ω", "a", 0, "V", "applied wrenches at the mass centers, body axes", "eqs. 3.10, 4.8"),
    "w_c": ("ω", "c", 0, "V", "constraint wrenches MV̇ + WMV − ω_a, Jᵀω_c = 0", "eqs. 4.8, 4.11"),
    "tau_a": ("τ", "a", 0, "α", "generalized forces Jᵀω_a", "eqs. 4.12, 5.10"),
    "g_0": ("g", "0", 0, "α", "accelerations without forces, −D⁻¹C α", "eq. 4.21"),
    "g_01": ("g", "01", 0, "α", "share of g_0 without speed inputs", "eq. 6.35"),
    "g_02": ("g", "02", 0, "α", "share of g_0 by {}", "eq. 6.36"),
    "g_03": ("g", "03", 0, "α", "rest of g_0: squares and rates of speed inputs", ""),
    "g_wa": ("g", "wa", 0, "αα", "D⁻¹", "eq. 4.22"),
    "g_u": ("g", "u", 0, "αu", "accelerations by the inputs", "eqs. 6.42–6.44"),
}


def _wrenches(equations: Equations) -> dict[str, ca.SX]:
    """ω_a and ω_c of all bodies, [force; moment] in body axes."""
    kin = equations.kinematics
    applied = sum((value for value, _, _ in applied_wrenches(equations, kin).values()), ca.SX(0))
    parts = ca.vertsplit(ca.densify(applied), 3) if kin.tree.nodes else []
    in_body = []
    for k, node in enumerate(kin.tree.nodes):
        in_body += [ca.mtimes(node.R_WB.T, parts[2 * k + half]) for half in (1, 0)]
    w_a = ca.vertcat(ca.SX(0, 1), *in_body)
    J_h, v_dot = body_jacobian(kin), equations.speed_rates
    V, rate = ca.mtimes(J_h, kin.v), _entry_rate(kin, kin.v) + ca.mtimes(J_h, v_dot)
    M, W = mass_and_spin(kin, V)
    return {"w_a": w_a, "w_c": ca.mtimes(M, rate) + ca.mtimes(W, ca.mtimes(M, V)) - w_a}


def _stem(name: str) -> str:
    """The name without that of a speed input."""
    return name if name in _OBJECTS else next(k for k in _OBJECTS if name.startswith(f"{k}_"))


def _object_values(kin: Kinematics, m: DeSantisMatrices, bias: ca.SX) -> dict[str, ca.SX]:
    """All objects but forces, in a basis; J̇, C and g_0 are linear in the speed inputs."""
    inverse, _ = symmetric_solve(ca.mtimes(kin.N.T, kin.N), kin.N.T)
    D_inverse, _ = symmetric_solve(m.D, ca.SX.eye(m.D.shape[0]))
    g_0 = -ca.mtimes(D_inverse, bias)
    values = {
        "J_h": ca.mtimes(m.J_h, inverse),
        "J_nh": ca.mtimes(kin.N, m.J_nh),
        "J": m.J,
        "J_dot": m.J_dot,
        "M": m.M,
        "W": m.W,
        "D": m.D,
        "C": m.C,
        "C_skew": m.C_skew,
        "g_0": g_0,
        "g_wa": D_inverse,
    }
    w, wdot = kin.symbols.w, kin.symbols.wdot
    if not w.shape[0]:
        return values
    zeros = [ca.SX.zeros(w.shape), ca.SX.zeros(w.shape)]

    def at_rest(value: ca.SX) -> ca.SX:
        return ca.substitute([ca.densify(value)], [w, wdot], zeros)[0]

    split = {"A": m.J_dot, "C_1": m.C, "g_01": g_0}
    values |= {name: at_rest(value) for name, value in split.items()}
    rest = g_0 - values["g_01"]
    for k, given in enumerate(kin.model.speed_inputs):
        for name, value in (("B", m.J_dot), ("C_2", m.C), ("g_02", g_0)):
            slope = ca.jacobian(ca.vec(ca.densify(value)), w[k])
            values[f"{name}|{given.name}"] = at_rest(ca.reshape(slope, *value.shape))
        rest = rest - values[f"g_02|{given.name}"] * w[k]
    # bodies with mass that a constraint moves leave more than a linear term
    if not ca.jacobian(ca.jacobian(g_0, w), w).is_zero() or ca.depends_on(g_0, wdot):
        values["g_03"] = rest
    return values


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


def mass_and_spin(kin: Kinematics, V: ca.SX) -> tuple[ca.SX, ca.SX]:
    """M = diag(m 1, j) and W = diag(Ω×, Ω×) of all bodies, in body axes."""
    masses, spins = [], []
    for k, node in enumerate(kin.tree.nodes):
        masses += [node.mass * ca.SX.eye(3), _body_inertia(kin, k)]
        spins += [skew(V[6 * k + 3 : 6 * k + 6])] * 2
    return ca.diagcat(*masses), ca.diagcat(*spins)


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

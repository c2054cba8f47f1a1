"""Formulations from scalar functions: Boltzmann–Hamel and Gibbs–Appell.

**The Boltzmann–Hamel equations, in quasi-velocities, with terms of nonholonomic joints reused.**

**Nonholonomic joints: Hamel terms worked out once per joint and reused in any mechanism.**

The idea of [CameronBook1993]: the extra terms of the Boltzmann–Hamel equations belong to joints,
not to mechanisms. A nonholonomic joint is a joint of the tree together with the rows of its wheels
or blades; it is recognized here and is no element of the model. All other coordinates keep
Lagrange's equations.

With w = K v, the Hamel terms on w are K⁻ᵀ of those on the tree speeds v:

    (1)  h_w = K⁻ᵀ ( h_v(P_v) + Σ_l P_l curl_l ),   P_v = KᵀP

h_v comes from the joint types alone, whose speeds are body-fixed (`AbstractJointType.hamel_terms`):

    revolute, prismatic    0
    planar                 h_vx = −θ̇ P_vy,  h_vy = θ̇ P_vx,  h_θ̇ = vx P_vy − vy P_vx     [eqs. 57–59]
    spherical              h_ω = ω × P_ω                                              [eqs. 74–76]
    free                   h_ω = ω × P_ω + v × P_v,  h_v = ω × P_v

and curl_l, (d/dt A_l)ᵀ − ∂(A_l v)/∂q on the tree speeds, from the rows of each nonholonomic joint:

    knife, wheel set       rows with constant coefficients: 0
    tricycle               one angle φ turns the row: φ̇ (∂A_l/∂φ)ᵀ − e_φ (∂A_l/∂φ) v  [eqs. 64–70]
    rolling disk           v + ω × ρ = 0 with ρ from center to contact, n the plane's normal, in
                           body axes: δρ = −(r/sin) f fᵀ δn,   ṅ = n × ω,   δn = n × δθ
                           (`AbstractContact.contact_slope`)
    any other row          the curl as it stands, differentiated for this row alone

The row of the tricycle is taken in the regular form, in which nothing is singular at any heading
(the print's choice of quasi-velocity is singular at θ = ±π/2).

Reference: [CameronBook1993].

**The Boltzmann–Hamel equations: Lagrange's equations in quasi-velocities.**

What it gives: the reduced equations from the Lagrangian, the dependent quasi-velocities kept in it
until the momenta are formed (setting them to zero earlier is the classic mistake), and the
reactions as the equations of those dependent ones. When to choose it: to see where each term comes
from, and for joints whose Hamel terms are known in closed form.

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

**The Gibbs–Appell equations: the gradient of the acceleration energy.**

What it gives: the reduced equations from one scalar function, without constraint forces and without
twists of unit speeds. When to choose it: as an independent route; it differentiates a scalar, so it
costs more to trace than the complement.

Letters
-------
G          acceleration energy (Appell's S, which is our null-space basis)
η̇, v̇       independent and tree accelerations, v̇ = S η̇ + Ṡη + ṡ
ω, α, a    angular velocity, angular acceleration, acceleration of a mass center

Derivation
----------
    (1)  G = Σ_bodies ½ m a·a + ½ α·I α + α·(ω × I ω)
    (2)  ∂G/∂η̇ = Q̃ + B̃ u,  the generalized forces on η                      [Appell1899]

G is quadratic in η̇, so its Hessian is the reduced mass matrix and its gradient at η̇ = 0 the bias.
The same function of all tree accelerations gives the reactions: ∂G/∂v̇ = Q + B u + Aᵀλ.

Departures
----------
None. [SahaAngeles1991] names the method in its introduction and remarks that G is harder to write
down than the kinetic energy; tracing writes it down.

Reference: [Appell1899], as named in [SahaAngeles1991].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from noslip.algebra import block_solve, cross, is_identity, symmetric_solve
from noslip.formulations.equations import AbstractFormulation, Blocks, Equations, MethodObject
from noslip.formulations.generalized_forces import applied_forces
from noslip.formulations.tree_dynamics import (
    generalized_inertia,
    inverse_dynamics,
    kinetic_energy,
    unit_speed_twists,
)
from noslip.kinematics import ContactTrace, Kinematics, Node, accelerations, twists
from noslip.model import GRAVITY, SPRING, WORLD, Touch


@dataclass(frozen=True, slots=True, kw_only=True)
class HamelJoint:
    """A nonholonomic joint that was recognized."""

    #: ``knife``, ``wheel set``, ``tricycle``, ``rolling disk`` or ``roll-pitch-yaw``; ``rolling``
    #: and ``constraint`` of rows whose terms are not in the list
    word: str
    joint: str  #: name of the tree joint it is made of; of those, of the contact or the row
    rows: tuple[str, ...]  #: names of the rows that belong to it


def recognize(kin: Kinematics) -> tuple[HamelJoint, ...]:
    """The nonholonomic joints of a mechanism, and rows that belong to none of those listed."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node in kin.tree.nodes:
        if node.joint.type.hamel_word:
            groups[(node.joint.type.hamel_word, node.joint.name)] = []
    for k in kin.row_basis:
        word, joint = _classify(kin, k)
        groups.setdefault((word, joint), []).append(kin.rows[k].name)
    return tuple(HamelJoint(word=w, joint=j, rows=tuple(rows)) for (w, j), rows in groups.items())


class HamelShare(NamedTuple):
    """Contribution of a joint or a row to the Hamel terms, on the quasi-velocities w."""

    word: str
    owner: str
    terms: ca.SX


def jointwise_hamel(kin: Kinematics, P: ca.SX, w: ca.SX) -> ca.SX:
    """(1): Hamel terms on the quasi-velocities w = K v, from the closed forms of the joints."""
    return sum((share.terms for share in jointwise_shares(kin, P, w)), ca.SX.zeros(kin.num_speeds))


def jointwise_shares(kin: Kinematics, P: ca.SX, w: ca.SX) -> list[HamelShare]:
    """The sum of (1) joint by joint and row by row, what adds nothing left out."""
    words = {row: joint.word for joint in recognize(kin) for row in joint.rows}
    inverse, _ = block_solve(kin.K, ca.SX.eye(kin.num_speeds))
    v = ca.mtimes(inverse, w)
    momenta = ca.mtimes(kin.K.T, P)
    found: list[tuple[str, str, ca.SX]] = []
    for node in kin.tree.nodes:
        terms = ca.SX.zeros(kin.num_speeds)
        own = node.joint.type.hamel_terms(v[node.speeds], momenta[node.speeds], kin.reader)
        for k in range(own.shape[0]):
            terms[node.speeds.start + k] = own[k]
        found.append((f"{node.joint.type.word} joint", node.joint.name, terms))
    at = 0
    for trace, k in whole_contacts(kin):
        name = kin.rows[k].name
        if trace is None:
            curl = P[at] * _row_curl(kin, kin.K[at, :], v)
            found.append((words.get(name, ""), name, curl))
            at += 1
            continue
        node = kin.tree.nodes[kin.tree.index[trace.contact.body]]
        if trace.contact.plane.body == WORLD and _free_body_word(node, trace):
            curl = _surface_curl(kin, trace, v, P[at : at + 3])
        else:
            parts = [P[at + j] * _row_curl(kin, kin.K[at + j, :], v) for j in range(3)]
            curl = parts[0] + parts[1] + parts[2]
        found.append((words.get(name, ""), trace.contact.name, curl))
        at += 3
    for j in range(kin.num_independent_speeds):
        name = kin.independent_speeds[j].name
        curl = P[at + j] * _row_curl(kin, kin.E[j, :], v)
        found.append(("independent speed", name, curl))
    return [
        HamelShare(word, owner, ca.mtimes(inverse.T, terms))
        for word, owner, terms in found
        if not ca.simplify(ca.densify(terms)).is_zero()
    ]


def whole_contacts(kin: Kinematics) -> list[tuple[ContactTrace | None, int]]:
    """The kept rows in order, those of a contact with all three taken together."""
    result: list[tuple[ContactTrace | None, int]] = []
    traces = {trace.contact.name: trace for trace in kin.contacts}
    k = 0
    while k < len(kin.row_basis):
        owner = kin.rows[kin.row_basis[k]].name.rpartition(".")[0]
        trace = traces.get(owner)
        following = [kin.rows[j].name for j in kin.row_basis[k : k + 3]]
        if trace is not None and following == [f"{owner}.{part}" for part in trace.slip]:
            result.append((trace, kin.row_basis[k]))
            k += 3
        else:
            result.append((None, kin.row_basis[k]))
            k += 1
    return result


def _row_curl(kin: Kinematics, row: ca.SX, v: ca.SX) -> ca.SX:
    """Curl of a row, in closed form if it is constant or turned by one angle φ.

    φ̇ (∂A/∂φ)ᵀ − e_φ (∂A/∂φ) v there, else Ȧᵀ − Nᵀ∂(A v)/∂q by differentiating.
    """
    symbols = kin.symbols
    turning = [k for k in range(kin.num_coordinates) if ca.depends_on(row, symbols.q[k])]
    moves = ca.depends_on(row, symbols.t)
    if not turning and not moves:
        return ca.SX.zeros(kin.num_speeds)
    at = None if moves else _angle_speed(kin, turning)
    if at is not None:
        slope = ca.densify(ca.jacobian(row.T, symbols.q[turning[0]]))
        e = ca.SX.zeros(kin.num_speeds)
        e[at] = ca.dot(slope, v)
        return v[at] * slope - e
    fixed = ca.SX.sym("v", kin.num_speeds)
    p, along = ca.densify(row.T), ca.vertcat(ca.mtimes(kin.N, fixed), ca.SX(1))
    rate = ca.jtimes(p, ca.vertcat(symbols.q, symbols.t), along)
    slope = ca.mtimes(kin.N.T, ca.gradient(ca.dot(p, fixed), symbols.q))
    return ca.substitute([ca.densify(rate - slope)], [fixed], [v])[0]


def _angle_speed(kin: Kinematics, turning: list[int]) -> int | None:
    """Index of the speed whose integral is the one angle that turns a row; None for any other."""
    rate = ca.densify(kin.N[turning[0], :])
    speeds = [k for k in range(kin.num_speeds) if not rate[k].is_zero()]
    is_one = len(turning) == 1 and len(speeds) == 1 and rate[speeds[0]].is_one()
    return speeds[0] if is_one else None


def _surface_curl(kin: Kinematics, trace: ContactTrace, v: ca.SX, P: ca.SX) -> ca.SX:
    """Curl of v + ω × ρ(n) = 0 of a free body, ρ moving over its surface as the body turns."""
    node = kin.tree.nodes[kin.tree.index[trace.contact.body]]
    contact = trace.contact
    omega = v[node.speeds][0:3]
    f, n = trace.axes_D[:, 0], trace.axes_D[:, 2]
    touch = Touch(arm=trace.arm_D, heading=f, regularity=trace.regularity)
    slope = contact.contact_slope(touch, n, kin.reader)
    # ρ̇ = slope ṅ, ṅ = n × ω; the row ω × ρ has the rate ω × ρ̇
    rho_dot = ca.mtimes(slope, cross(n, omega))
    moving = cross(rho_dot, P)
    # over a turn δθ: P·(ω × δρ), δρ = slope (n × δθ), and slope is symmetric
    turned = cross(ca.mtimes(slope, cross(P, omega)), n)
    terms = ca.SX.zeros(kin.num_speeds)
    for k in range(3):
        terms[node.speeds.start + k] = moving[k] - turned[k]
    return terms


def _classify(kin: Kinematics, k: int) -> tuple[str, str]:
    """The nonholonomic joint a row belongs to: its word and the tree joint it is made of."""
    row = kin.rows[k]
    trace = next((t for t in kin.contacts if row.name.startswith(f"{t.contact.name}.")), None)
    if row.origin == "speed input":
        return "speed input", row.name
    if trace is None:
        return "constraint", row.name
    if trace.contact.plane.body != WORLD or kin.combination is not None:
        return "rolling", trace.contact.name
    node = kin.tree.nodes[kin.tree.index[trace.contact.body]]
    if word := _free_body_word(node, trace):
        return word, node.joint.name
    base = node
    while base.parent >= 0:
        base = kin.tree.nodes[base.parent]
    turning = [
        j for j in range(kin.num_coordinates) if ca.depends_on(kin.A[k, :], kin.symbols.q[j])
    ]
    if not base.joint.type.is_planar or (turning and _angle_speed(kin, turning) is None):
        return "rolling", trace.contact.name
    if turning:
        return "tricycle", base.joint.name
    return "wheel set" if trace.contact.is_wheel else "knife", base.joint.name


def _free_body_word(node: Node, trace: ContactTrace) -> str:
    """Name of a free body held by its own contact; empty if it has none."""
    return trace.contact.hamel_word if is_identity(node.H) else ""


@dataclass(frozen=True, slots=True)
class BoltzmannHamel(AbstractFormulation):
    """Boltzmann and Hamel's equations in the quasi-velocities of the model."""

    #: whether the Hamel terms are taken from the closed forms of the nonholonomic joints that the
    #: mechanism is made of, and row by row where a row belongs to none, instead of by
    #: differentiating all at once
    jointwise: bool = False

    name = "Boltzmann–Hamel equations"
    word = "boltzmann-hamel"
    reference = "CameronBook1993"
    derivation = "noslip.show.equations.derivations:boltzmann_hamel"

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
        equations : equations of motion by this formulation.
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


@dataclass(frozen=True, slots=True)
class GibbsAppell(AbstractFormulation):
    """Gibbs and Appell's acceleration energy."""

    name = "Gibbs–Appell equations"
    word = "gibbs-appell"
    reference = "Appell1899"
    derivation = "noslip.show.equations.derivations:gibbs_appell"

    def fill(self, kinematics: Kinematics) -> Equations:
        """Blocks of the reduced equations from the derivatives of the acceleration energy."""
        kin = kinematics
        forces = applied_forces(kin)
        # (1), (2) in the independent accelerations
        etadot = ca.SX.sym("etadot", kin.num_independent_speeds)
        G = acceleration_energy(kin, ca.mtimes(kin.S, etadot) + kin.vdot0)
        mass, gradient = ca.hessian(G, etadot)
        bias = ca.substitute([gradient], [etadot], [ca.SX.zeros(etadot.shape)])[0]
        # the same function of all tree accelerations, for the reactions
        vdot = ca.SX.sym("vdot", kin.num_speeds)
        needed = ca.gradient(acceleration_energy(kin, vdot), vdot)
        needed = ca.substitute([needed], [vdot], [ca.mtimes(kin.S, etadot) + kin.vdot0])[0]
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=ca.densify(mass),
                bias=ca.densify(bias),
                forces=ca.mtimes(kin.S.T, forces.Q),
                inputs=ca.mtimes(kin.S.T, forces.B),
            ),
            forces=forces,
            etadot=etadot,
            reactions=lambda: needed - forces.Q - ca.mtimes(forces.B, kin.acting_inputs),
            energy=lambda: kinetic_energy(kin.tree, kin.twists, kin.v),
        )


def acceleration_energy(kin: Kinematics, vdot: ca.SX) -> ca.SX:
    """G of the bodies at v = Sη + s and tree accelerations v̇ (up to terms without v̇)."""
    rates = accelerations(kin.tree, kin.twists, kin.v, vdot)
    energy = ca.SX(0)
    for node, (w, _), (alpha, acc) in zip(kin.tree.nodes, kin.twists, rates, strict=True):
        c, inertia = node.center_D, node.inertia_D
        a = acc + cross(alpha, c) + cross(w, cross(w, c))
        spin = cross(w, ca.mtimes(inertia, w))
        energy += node.mass * ca.dot(a, a) / 2
        energy += ca.dot(alpha, ca.mtimes(inertia, alpha)) / 2 + ca.dot(alpha, spin)
    for at, armature in kin.tree.armatures:
        energy += armature * vdot[at] ** 2 / 2
    return energy

"""The derivations from scalar functions: Boltzmann–Hamel and Gibbs–Appell."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.algebra import block_solve
from noslip.formulations import (
    acceleration_energy,
    hamel_term,
    jointwise_shares,
    kinetic_energy,
    recognize,
    turning_term,
)
from noslip.kinematics import twists
from noslip.model import GRAVITY, SPRING
from noslip.show.equations.blocks import words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.common import (
    Drafted,
    column,
    matrix,
    reduced_mass,
    reduced_motion,
)
from noslip.show.equations.derivations.document import Draft, Scalars
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import Fenced, Word, row


#: What `recognize` calls rows whose terms are in no list.
OTHER_ROWS = ("rolling", "constraint")


@dataclass(frozen=True, slots=True, eq=False)
class _Lagrangian:
    """Terms of the Lagrangian in quasi-velocities, with their values inserted.

    Parameters
    ----------
    P : momenta of all quasi-velocities.
    Gamma : Hamel's terms (βᵀγ), by the shorter route and as they are compiled.
    drift : rate of P at constant quasi-velocities.
    slope : βᵀ ∂L/∂q.
    """

    P: ca.SX
    Gamma: tuple[ca.SX, ca.SX]
    drift: ca.SX
    slope: ca.SX


def _lagrangian(subject: Subject) -> _Lagrangian:
    kin = subject.kin
    symbols, num = kin.symbols, kin.num_speeds
    w, fixed = ca.SX.sym("w", num), ca.SX.sym("P", num)
    inverse, _ = block_solve(kin.K, ca.SX.eye(num))
    v = ca.mtimes(inverse, w)
    energy = kinetic_energy(kin.tree, twists(kin.tree, v), v)
    P = ca.gradient(energy, w)
    beta, q_dot = ca.mtimes(kin.N, inverse), ca.mtimes(kin.N, v)
    # (βᵀγ) P is linear in P; both ways to it
    turning = ca.mtimes(inverse.T, turning_term(kin, ca.mtimes(kin.K.T, fixed), v))
    hamel = ca.mtimes(beta.T, hamel_term(kin, fixed, q_dot))
    at, along = ca.vertcat(symbols.q, symbols.t), ca.vertcat(q_dot, ca.SX(1))
    potential = subject.equations.forces.potential_energy
    slope = ca.mtimes(beta.T, ca.gradient(energy - potential, symbols.q))
    found = [P, ca.jacobian(turning, fixed), ca.jacobian(hamel, fixed)]
    found += [ca.jtimes(P, at, along), slope]
    # only now the dependent quasi-velocities take their values
    values = ca.vertcat(-kin.a_solved, kin.eta)
    P, short, own, drift, slope = ca.substitute(found, [w], [values])
    return _Lagrangian(P, (ca.densify(short), ca.densify(own)), drift, slope)


def boltzmann_hamel(subject: Subject) -> list[Drafted]:
    """Quasi-velocities, momenta and Hamel's terms."""
    kin = subject.kin
    kept, num = len(kin.row_basis), kin.num_speeds
    independent = list(range(kept, num))
    lagrangian = _lagrangian(subject)
    names = [subject.letter("w", str(k + 1)) for k in range(num)]
    rows = [kin.rows[k].name for k in kin.row_basis] + [""] * len(independent)
    quasi = ca.mtimes(kin.K, kin.symbols.v)
    defined = [
        (names[k], Item(subject.at_v(quasi[k]), quasi[k], is_free=True), _role(subject, k))
        for k in range(num)
    ]
    P = column(subject, subject.letter("P"), lagrangian.P, lagrangian.P)
    momenta = [(P.label(k), item, rows[k]) for k, item in enumerate(P.items())]
    Gamma = [matrix[independent, :] for matrix in lagrangian.Gamma]
    slope, drift = lagrangian.slope[independent], lagrangian.drift[independent]
    constant = row(subject.letter("P", dots=1), Word(" at constant "), subject.letter("w"))
    blocks: list[Draft] = [
        words(
            "Quasi-velocities ",
            subject.letter("w"),
            ", the constrained ones first (a contact that keeps all three of its rows, in the axes "
            "of its body), then the independent ones:",
        ),
        Scalars(tuple(defined)),
        *_energies(subject),
        words(
            "The kinetic energy keeps all of them until the momenta ",
            subject.formula("P_j = ∂L / ∂w_j"),
            " are formed, the dependent ones too; only then those take their values.",
        ),
        Scalars(tuple(momenta)),
        words(
            "For each independent quasi-velocity, ",
            subject.formula("Ṗ_i + Σ_j Γ_{ij} P_j − β_iᵀ ∂L / ∂q = N_i"),
            " with Hamel's terms ",
            subject.formula("Γ = βᵀγ"),
            ":",
        ),
        matrix(
            subject, subject.letter("Γ"), Gamma[0], Gamma[1], tuple(names[k] for k in independent)
        ),
        words("What the Lagrangian gives by its coordinates:"),
        column(subject, None, slope, slope, name=Fenced(subject.formula("βᵀ∂L / ∂q"))),
        words("The rate of ", subject.letter("P"), " at constant quasi-velocities:"),
        column(subject, None, drift, drift, name=constant),
    ]
    together, motion = _collected(subject)
    sections = [("Quasi-velocities, momenta and Hamel's terms", blocks + together), motion]
    if getattr(subject.equations.formulation, "jointwise", False):
        sections.insert(0, _assembly(subject, names))
    return sections


def _energies(subject: Subject) -> list[Draft]:
    """T and L in all tree speeds, before any constraint is used."""
    kin = subject.kin
    own = kin.symbols.v
    kinetic = kinetic_energy(kin.tree, twists(kin.tree, own), own)
    potential = subject.equations.forces.potential_energy
    T, V = subject.letter("T"), subject.letter("V")
    lines = [(T, Item(subject.at_v(kinetic), kinetic, is_free=True), "")]
    if ca.depends_on(potential, kin.symbols.q):
        lines.append((V, Item(potential, potential), ""))
    whole = "L = T − V" if len(lines) > 1 else "L = T"
    said = words("The Lagrangian in all speeds, before any constraint is used, is ",
                 subject.formula(whole), " with")  # fmt: skip
    return [said, Scalars(tuple(lines))]


def _assembly(subject: Subject, names: list[Glyph]) -> Drafted:
    """Hamel's terms joint by joint: what each nonholonomic joint adds to Γ."""
    kin = subject.kin
    num, kept = kin.num_speeds, len(kin.row_basis)
    P, w = ca.SX.sym("P", num), ca.SX.sym("w", num)
    values = ca.vertcat(-kin.a_solved, kin.eta)
    rows = list(range(kept, num))
    found = recognize(kin)
    own = [x for x in found if x.word not in OTHER_ROWS]
    joints = [
        f"'{joint.joint}'" + (f" with {', '.join(joint.rows)}" if joint.rows else "")
        + f" is a {joint.word} joint"
        for joint in own
    ]  # fmt: skip
    others = [name for x in found if x.word in OTHER_ROWS for name in x.rows]
    more = (
        f" Rows of no such joint, whose terms are derived here: {', '.join(others)}."
        if others
        else ""
    )
    blocks: list[Draft] = [
        words(
            "The mechanism is assembled from nonholonomic joints, whose Hamel terms are known once "
            f"and for all: {'; '.join(joints) or 'none'}. All other joints keep Lagrange's "
            f"equations.{more} What each adds to ",
            subject.letter("Γ"),
            ", in the equations of the independent quasi-velocities:",
        )
    ]
    idle, count = [], 0
    for share in jointwise_shares(kin, P, w):
        slope = ca.substitute([ca.jacobian(share.terms, P)], [w], [values])[0]
        block = ca.densify(slope)[rows, :]
        said = f"{share.word} '{share.owner}'"
        if subject.is_zero(block):
            idle.append(said)
            continue
        count += 1
        blocks.append(words(f"{said[0].upper()}{said[1:]}:"))
        letter = subject.letter("Γ", f"({count})")
        blocks.append(matrix(subject, letter, block, block, tuple(names[i] for i in rows)))
    if idle:
        blocks.append(words(f"Nothing is added by {', '.join(idle)}."))
    return "Joint by joint", blocks


def _role(subject: Subject, k: int) -> str:
    """Independent; or dependent, and what its constraint A v + a = 0 makes of it."""
    if k >= len(subject.kin.row_basis):
        return "independent"
    moves = not ca.sparsify(subject.kin.a_solved[k]).is_zero()
    return f"dependent, {'as its constraint moves' if moves else 'zero on the motion'}"


def _collected(subject: Subject) -> tuple[list[Draft], Drafted]:
    """M η̇ + h = N: potential forces belong to h, as in the Lagrangian."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    shares = subject.equations.forces.shares
    other = ca.SX.zeros(kin.num_speeds)
    for share, force in shares.items():
        other = other if share in (GRAVITY, SPRING) else other + force
    given = ca.mtimes(kin.S.T, other)
    h = [e.reduced_bias - e.reduced_forces + given for e in routes]
    N = [given + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    mass = reduced_mass(subject, subject.letter("M"))
    bias, forces = (
        column(subject, subject.letter("h"), h[0], h[1]),
        column(subject, subject.letter("N"), N[0], N[1]),
    )
    blocks: list[Draft] = [
        words(
            "Together, ",
            subject.formula("M η̇ + h = N"),
            ", with M the second derivatives of the kinetic energy by the independent "
            "quasi-velocities, h all terms above without accelerations, and N the generalized "
            "forces that have no potential:",
        ),
        *(mass, bias, forces),
    ]
    rows = [bias.term(i) for i in range(kin.num_independent_speeds)]
    return blocks, reduced_motion(subject, mass, rows, [forces])


def gibbs_appell(subject: Subject) -> list[Drafted]:
    """The acceleration energy and its gradient."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    etadot = subject.etadot
    G = acceleration_energy(kin, ca.mtimes(kin.S, etadot) + kin.vdot0)
    rest = ca.substitute([G], [etadot], [ca.SX.zeros(etadot.shape)])[0]
    M, h = routes[0].reduced_mass, routes[0].reduced_bias
    shown = ca.dot(etadot, ca.mtimes(M, etadot)) / 2 + ca.dot(etadot, h)
    Q = [e.reduced_forces + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    mass = reduced_mass(subject, subject.letter("G"), subject.formula("∂²G / ∂η̇∂η̇"))
    bias = column(subject, subject.letter("h"), h, routes[1].reduced_bias)
    forces = column(subject, subject.letter("Q"), Q[0], Q[1])
    blocks: list[Draft] = [
        words(
            "The acceleration energy of all bodies, ",
            subject.formula("G = Σ (½ m a·a + ½ α·I α + α·(ω×I ω))"),
            ", is quadratic in the independent accelerations. Its second derivatives are the "
            "reduced mass matrix, its gradient at zero accelerations the velocity terms:",
        ),
        *(mass, bias),
        words("so that, up to terms without accelerations,"),
        Scalars(((subject.letter("G"), Item(shown, G - rest), ""),)),
        words("The equations of motion are ", subject.formula("∂G / ∂η̇ = Q"), " with the forces"),
        forces,
    ]
    rows = [bias.term(i) for i in range(kin.num_independent_speeds)]
    motion = reduced_motion(subject, mass, rows, [forces])
    return [("The acceleration energy", blocks), motion]

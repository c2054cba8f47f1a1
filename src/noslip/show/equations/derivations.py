"""Derivations of the equations of motion, one for each formulation, and their text.

**Steps under names of mechanics: accelerations, inertia wrenches, tire forces.**

What a page of a larger mechanism would otherwise hide in numbered parts has a name that a teacher
uses. With the rates v̇ = S η̇ + Ṡ η of all tree speeds, the inertia wrench of each body about its
mass center, in its own axes, is

    w = (I α + ω × I ω, m c̈),

which gives C η = − Σ Tᵀw at η̇ = 0, and R = M v̇ + c − Q − B u = Aᵀλ, the generalized constraint
forces, from the wrenches of all bodies.

**Derivations of the equations of motion, one for each formulation.**

**The derivations from scalar functions: Boltzmann–Hamel and Gibbs–Appell.**

**The derivations with multipliers, in all tree speeds: Lagrange and vakonomic.**

**The derivations from twists: natural orthogonal complement and DeSantis' procedure.**

**The equations of motion with their derivation, as text, Markdown, LaTeX or HTML.**

What is shown is simplified within a budget and a time limit, and then compared with the traced
functions at random states; see `writing`. The symbols are those of `notation`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import casadi as ca
import numpy as np
import sympy

from noslip import DeSantis, Equations
from noslip.algebra import block_solve, symmetric_solve
from noslip.formulations import (
    acceleration_energy,
    applied_forces,
    body_jacobian,
    center_wrenches,
    chaplygin_form,
    curl_force,
    hamel_term,
    inverse_dynamics,
    jointwise_shares,
    kinetic_energy,
    mass_and_spin,
    mass_matrix,
    recognize,
    rotor_forces,
    row_rates,
    turning_term,
    unit_speed_twists,
)
from noslip.kinematics import Node as TreeNode
from noslip.kinematics import accelerations, twists
from noslip.model import DISSIPATIVE, GIVEN, GRAVITY, SPRING
from noslip.show.equations import derivation_document
from noslip.show.equations.derivation_document import (
    BodySum,
    Composed,
    Draft,
    Drafted,
    Finished,
    Matrix,
    Scalars,
    Term,
    column,
    compiled_multiplier,
    finished,
    glyphs,
    items_of,
    matrix,
    motion_rows,
    rates,
    reduced_mass,
    reduced_motion,
)
from noslip.show.equations.layout import (
    DIGITS,
    Fenced,
    Glyph,
    MathNumber,
    MathRow,
    Operator,
    Section,
    Word,
    numbered,
    row,
    words,
)
from noslip.show.equations.polynomials import SECONDS
from noslip.show.equations.sketch import SKETCH, sketch
from noslip.show.equations.subject import Subject, printed_equations, symbol
from noslip.show.equations.writing import (
    MOST_PARTS,
    TOLERANCE,
    Arranger,
    Evaluator,
    Item,
    Written,
    write,
)

#: Rows of an inertia wrench, as those of a twist: the angular part first.
WRENCH = tuple(Glyph(b, k) for b in ("n", "f") for k in "xyz")
_TWIST = tuple(Glyph(b, k) for b in ("ω", "v") for k in "xyz")
_RATE = tuple(Glyph(b, k) for b in ("α", "a") for k in "xyz")
#: Multipliers up to this number are solved for.
MOST_SOLVED = 8
Pair = tuple[ca.SX, ca.SX]


def body_twists(subject: Subject) -> list[Draft]:
    """Angular velocity of each body and velocity of its origin, in its own axes."""
    said = words(
        "The bodies move with angular velocities and velocities of their origins, in their own "
        "axes,"
    )
    return [said, *_motions(subject, Glyph("V"), _TWIST, subject.kin.twists)]


def moving(subject: Subject) -> list[Draft]:
    """Motion of the bodies, and rates of the speeds at zero independent accelerations."""
    return [*body_twists(subject), *still_rates(subject)]


def still_rates(subject: Subject) -> list[Draft]:
    """Rates of all tree speeds at zero independent accelerations."""
    kin, notation = subject.kin, subject.notation
    return [
        words(
            "The rates of all speeds are ",
            subject.formula("v̇ = S η̇ + Ṡ η"),
            ", where ",
            subject.formula("Ṡ η"),
            " is what they are at zero independent accelerations:",
        ),
        column(subject, subject.letter("(Ṡ η)"), kin.vdot0, kin.vdot0, rates(notation.speeds)),
    ]


def _motions(
    subject: Subject, letter: Glyph, names: tuple[Glyph, ...], found: Sequence[Pair]
) -> list[Draft]:
    """A column of six entries for each body, those that are not zero."""
    drafts: list[Draft] = []
    for k, node, _ in subject.bodies:
        values = ca.vertcat(*found[k])
        kept = [row for row in range(6) if not ca.sparsify(ca.simplify(values[row])).is_zero()]
        if kept:
            drafts.append(_rows(subject, letter.of(node.body.name), values, kept, names))
    return drafts


def _accelerations(subject: Subject, vdot: ca.SX) -> list[Pair]:
    """Angular acceleration of each body and acceleration of its origin, in its own axes."""
    kin = subject.kin
    return accelerations(kin.tree, kin.twists, kin.v, vdot)


def _wrenches(subject: Subject, moving: list[Pair]) -> list[Pair]:
    """Inertia wrench of each body about its mass center, in its own axes."""
    return center_wrenches(subject.kin.tree, subject.kin.twists, moving)


def velocity_wrenches(
    subject: Subject, twists: Sequence[Matrix]
) -> tuple[list[Draft], list[BodySum]]:
    """Inertia wrenches at zero independent accelerations, and C η as their sum over bodies."""
    kin = subject.kin
    moving = _accelerations(subject, kin.vdot0)
    found = _wrenches(subject, moving)
    drafts: list[Draft] = [
        words(
            "At the rates ",
            subject.formula("Ṡ η"),
            " the bodies have the angular accelerations, and accelerations of their origins,",
        ),
        *_motions(subject, Glyph("a"), _RATE, moving),
        words(
            "and inertia wrenches ",
            subject.letter("c"),
            ", moment ",
            subject.formula("I α + ω×I ω"),
            " about the mass center first, then force ",
            subject.formula("m c̈"),
            "; those are shown that T meets:",
        ),
    ]
    sums: list[BodySum] = []
    for (k, node, _), T in zip(subject.bodies, twists, strict=True):
        wrench = ca.vertcat(*found[k])
        met = [row for row in range(6) if not ca.sparsify(T.compiled[row, :]).is_zero()]
        met = [row for row in met if not ca.sparsify(ca.simplify(wrench[row])).is_zero()]
        if not met:
            continue
        own = _rows(subject, Glyph("c", node.body.name), wrench, met)
        drafts.append(own)
        minus = Item(ca.SX(-1), ca.SX(-1))
        terms = tuple((minus, ((row, place, 1),)) for place, row in enumerate(met))
        sums.append(BodySum(left=T, right=own, terms=terms))
    shown = {k for k, _, _ in subject.bodies}
    hidden = [part for k, pair in enumerate(found) if k not in shown for part in pair]
    hidden.append(rotor_forces(kin.tree, kin.vdot0))
    is_whole = ca.sparsify(ca.simplify(ca.vertcat(*hidden))).is_zero()
    return drafts, sums if is_whole else []


def _rows(
    subject: Subject,
    letter: Glyph,
    wrench: ca.SX,
    kept: list[int],
    names: tuple[Glyph, ...] = WRENCH,
) -> Matrix:
    """Some entries of a wrench as a column, called by their places in it."""
    called = tuple(names[row] for row in kept)
    whole = column(
        subject, subject.letter(letter.base, letter.index), wrench[kept], wrench[kept], called
    )
    return replace(whole, row_places=tuple(row + 1 for row in kept))


def tire_forces(subject: Subject) -> list[Draft]:
    """Forces of tires along the heading of their wheel and across it."""
    lines = []
    for name, grip in subject.equations.forces.grips.items():
        for letter, force in (("x", grip.longitudinal), ("y", grip.lateral)):
            if not ca.sparsify(force).is_zero():
                glyph = subject.letter("F", f"{letter},{name}")
                lines.append((glyph, Item(force, force, symbol(glyph)), name))
    if not lines:
        return []
    said = "Forces of tires and sliding contacts, along the heading (x) and across it (y):"
    return [words(said), Scalars(tuple(lines))]


def reactions(subject: Subject) -> list[Draft]:
    """λ of the independent rows, by R = Aᵀλ and the inertia wrenches in the rates of all speeds."""
    kin, notation, vdot = subject.kin, subject.notation, subject.vdot
    moving = _accelerations(subject, vdot)
    found, drafts = _wrenches(subject, moving), []
    J = body_jacobian(kin)
    for k, node, _ in subject.bodies:
        wrench = ca.vertcat(*found[k])
        twist = ca.vertcat(J[6 * k + 3 : 6 * k + 6, :], J[6 * k : 6 * k + 3, :])
        met = [row for row in range(6) if not ca.sparsify(twist[row, :]).is_zero()]
        met = [row for row in met if not ca.sparsify(ca.simplify(wrench[row])).is_zero()]
        if met:
            drafts.append(_rows(subject, Glyph("w", node.body.name), wrench, met))
    forces = applied_forces(kin)
    f = inverse_dynamics(kin, vdot) - forces.Q - ca.mtimes(forces.B, kin.acting_inputs)
    if subject.mu.shape[0]:
        f = f - curl_force(kin, subject.mu)
    return [
        words(
            "The constraint forces, one for each row, in the rates of all tree speeds, ",
            subject.formula("v̇ = S η̇ + Ṡ η"),
            ". The bodies then have the accelerations",
        ),
        *_motions(subject, Glyph("A"), _RATE, moving),
        words("and the inertia wrenches"),
        *drafts,
        words(
            "With the applied forces they leave ",
            subject.formula("R = M v̇ + c − Q − B u = Aᵀλ"),
            ":",
        ),
        column(subject, subject.letter("R"), f, f, glyphs(notation.speeds)),
        *_balances(subject, f),
    ]


def _balances(subject: Subject, f: ca.SX) -> list[Draft]:
    """Aᵀλ = R solved for λ; row by row where many multipliers stand in each other's equations."""
    kin, multipliers = subject.kin, subject.notation.multipliers
    if len(multipliers) > MOST_SOLVED:
        A = kin.A[list(kin.row_basis), :]
        left = f - ca.mtimes(A.T, subject.lam)
        rows = [k for k in range(kin.num_speeds) if not ca.sparsify(A[:, k]).is_zero()]
        zero = ca.SX(0)
        lines = [(None, Item(left[k], zero), subject.notation.speeds[k].name) for k in rows]
        said = words("which the multipliers balance, ", subject.formula("R − Aᵀλ = 0"), ":")
        return [said, Scalars(tuple(lines))]
    inverse, _ = block_solve(kin.K, ca.SX.eye(kin.num_speeds))
    lam = ca.mtimes(kin.P.T, ca.mtimes(inverse[:, : len(multipliers)].T, f))
    solved = [
        (
            e.glyph,
            Item(lam[k], compiled_multiplier(subject, k)),
            subject.note(f"reaction.{e.name}", e.name),
        )
        for k, e in enumerate(multipliers)
    ]
    return [words("which the multipliers balance:"), Scalars(tuple(solved))]


#: What `recognize` calls rows whose terms are in no list.
OTHER_ROWS = ("rolling", "constraint")


@dataclass(frozen=True, slots=True, eq=False)
class _Lagrangian:
    """Terms of the Lagrangian in quasi-velocities, with their values inserted."""

    P: ca.SX  #: momenta of all quasi-velocities
    #: Hamel's terms (βᵀγ), by the shorter route and as they are compiled
    Gamma: tuple[ca.SX, ca.SX]
    drift: ca.SX  #: rate of P at constant quasi-velocities
    slope: ca.SX  #: βᵀ ∂L/∂q


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


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """M, c, Q, B, A, b and F on the tree speeds, in those speeds and as they are compiled."""

    M: Matrix
    c: Matrix
    Q: Matrix
    B: Matrix
    A: Matrix
    b: Matrix
    F: Matrix | None


def _blocks(subject: Subject) -> _Blocks:
    kin, free, notation = subject.kin, subject.free, subject.notation
    speeds, rows = glyphs(notation.speeds), glyphs(notation.multipliers)
    still = ca.SX.zeros(kin.num_speeds)
    M, A = mass_matrix(kin), kin.A[list(kin.row_basis), :]
    c = [inverse_dynamics(k, still) for k in (free, kin)]
    forces = [applied_forces(k) for k in (free, kin)]
    Q = [still + f.Q for f in forces]
    b = [-row_rates(k) for k in (free, kin)]
    F = None
    if subject.mu.shape[0]:
        # −Nᵀ curl of the covector field Aᵀμ, and the slope of what moves the rows
        mu = subject.mu
        slope = ca.mtimes(
            kin.N.T, ca.gradient(ca.dot(kin.a[list(kin.row_basis), :], mu), kin.symbols.q)
        )
        shown = slope - turning_term(kin, ca.mtimes(A.T, mu), subject.v)
        F = column(subject, subject.letter("F"), shown, curl_force(kin, mu), speeds)
    return _Blocks(
        M=matrix(subject, subject.letter("M"), M, M, speeds, is_symmetric=True),
        c=column(subject, subject.letter("c"), c[0], c[1], speeds),
        Q=column(subject, subject.letter("Q"), Q[0], Q[1], speeds),
        B=matrix(subject, subject.letter("B"), forces[0].B, forces[1].B, speeds),
        A=matrix(subject, subject.letter("A"), A, A, rows),
        # b is the radius of gyration on the pages of Chaplygin systems
        b=column(subject, subject.letter("k" if F is not None else "b"), b[0], b[1], rows),
        F=F,
    )


def multipliers(subject: Subject) -> list[Drafted]:
    """M, c, Q, A of Lagrange's equations with multipliers, and the equations for λ."""
    blocks = _blocks(subject)
    drafts: list[Draft] = [
        words(
            "All tree speeds are kept, and each independent row has its multiplier: ",
            subject.formula("M v̇ + c = Q + B u + Aᵀλ"),
            " and ",
            subject.formula("A v̇ = b"),
            " with ",
            subject.formula("b = − (Ȧ v + ȧ)"),
            ".",
        ),
        *_matrices(subject, blocks),
        words(
            "The multipliers solve ",
            subject.formula("A M⁻¹Aᵀλ = b − A M⁻¹(Q + B u − c)"),
            ". Where M is singular, ",
            subject.formula("M + κ AᵀA"),
            " stands for it, which changes neither the accelerations nor the multipliers.",
        ),
    ]
    return [("Lagrange's equations with multipliers", drafts), _motion(subject, blocks)]


def vakonomic(subject: Subject) -> list[Drafted]:
    """F of the vakonomic equations, and the rates of the costates."""
    blocks = _blocks(subject)
    notation = subject.notation
    drafts: list[Draft] = [
        words(
            "This is a different theory. The motions below make the action of ",
            subject.formula("L + μ·(A v + a)"),
            " stationary; real bodies follow d'Alembert's principle instead, and move differently "
            "unless the constraints are integrable. Do not use these equations to predict how a "
            "mechanism rolls.",
        ),
        words(
            "The costates have rates of their own: ",
            subject.formula("M v̇ + c − F = Q + B u + Aᵀλ"),
            ", ",
            subject.formula("μ̇ = − λ"),
            ", ",
            subject.formula("A v̇ = k"),
            " with ",
            subject.formula("k = − (Ȧ v + ȧ)"),
            ". The curl force F does no work and vanishes where the rows are integrable.",
        ),
        *_matrices(subject, blocks),
    ]
    if blocks.F is not None:
        drafts.append(blocks.F)
        rates = [
            (e.glyph.rate, Item(-subject.lam[k], -subject.lam[k]), e.name)
            for k, e in enumerate(notation.costates)
        ]
        drafts += [
            words(
                "The costates move by the rates below. Their values at the start are free and no "
                "part of the mechanism's state: ",
                subject.formula("μ(0)"),
                " chooses one of the stationary motions that begin alike (costate.ROW among the "
                "start values, zero by default):",
            ),
            Scalars(tuple(rates)),
        ]
    sections = [("The vakonomic equations", drafts), _motion(subject, blocks)]
    printed = _as_printed(subject)
    return sections if printed is None else [*sections, printed]


def _as_printed(subject: Subject) -> Drafted | None:
    """A Chaplygin system in b and λ_c, [AntunesSigaudMoraes2010, eqs. 12, 13, 19–21, 34, 35]."""
    kin, equations = subject.kin, subject.equations
    form = chaplygin_form(equations)
    if form is None:
        return None
    is_sleigh = subject.mu.shape[0] == 1
    reference = ("" if is_sleigh else "as ") + equations.formulation.reference
    pull = ca.mtimes(kin.S.T, curl_force(kin, subject.mu))
    pushed = equations.reduced_forces - pull
    pushed = pushed + ca.mtimes(equations.reduced_inputs, kin.acting_inputs)
    s_dot, phi_dot = kin.eta[form.along], kin.eta[form.turning]
    slope = ca.jacobian(pull[form.along], phi_dot)
    costate = form.mass * form.offset * phi_dot + slope
    b, lam = subject.letter("b"), subject.letter("λ", "c")
    entries = subject.notation.independent_speeds
    along, turning = (symbol(entries[k].glyph) for k in (form.along, form.turning))
    m = Item(form.mass, form.mass)
    of_b, of_lam = Item(form.radius, form.radius, symbol(b)), Item(costate, costate, symbol(lam))
    forces = [Item(pushed[k], pushed[k]) for k in (form.along, form.turning)]
    # λ̇_c in the accelerations; μ̇ = −λ
    etadot = subject.etadot
    rate = form.mass * form.offset * etadot[form.turning]
    by_mu = ca.jacobian(slope, subject.mu)
    shown = rate - ca.mtimes(by_mu, subject.multipliers[: subject.mu.shape[0]])
    moved = rate + ca.mtimes(by_mu, equations.costate_rates)
    moved = ca.substitute([moved], [etadot], [equations.accelerations])[0]
    rest = moved + form.mass * s_dot * phi_dot
    push = Item(shown + form.mass * s_dot * phi_dot, rest)
    rates = [Item(etadot[k], equations.accelerations[k]) for k in (form.along, form.turning)]
    square_of_b = sympy.Pow(symbol(b), 2)
    drafts: list[Draft] = [
        words(
            "With the radius of gyration ",
            b,
            " and ",
            lam,
            ", where the print's costate λ is ",
            subject.letter("μ"),
            " here and its constraint force is −λ̇, the equations are those of the paper. Forces "
            "that it leaves out follow last:",
        ),
        Scalars(((b, of_b, f"{reference} (12)"), (lam, of_lam, f"{reference} (13)"))),
        Composed(
            (
                (
                    entries[form.along].glyph.rate,
                    rates[0],
                    ((1, (symbol(lam), turning), (m,)), (1, (forces[0],), (m,))),
                    f"{reference} (19)",
                ),
                (
                    entries[form.turning].glyph.rate,
                    rates[1],
                    (
                        (-1, (symbol(lam), along), (m, square_of_b)),
                        (1, (forces[1],), (m, square_of_b)),
                    ),
                    f"{reference} (20)",
                ),
                (
                    lam.rate,
                    Item(shown, moved),
                    ((-1, (m, along, turning), ()), (1, (push,), ())),
                    f"{reference} (21)",
                ),
            )
        ),
    ]
    if is_sleigh:
        speeds = [entries[k].glyph for k in (form.along, form.turning)]
        drafts.append(
            words(
                "Without forces ",
                subject.formula("v_T"),
                " is constant in ",
                MathRow((speeds[0], *subject.formula('= v_T " sin " Ψ').items)),
                ", ",
                MathRow((b, speeds[1], *subject.formula('= v_T " cos " Ψ').items)),
                ", and Ψ moves as a pendulum, ",
                subject.formula('Ψ̈ = − (v_T² / 2 b²) " sin " 2 Ψ'),
                ", whose rate at the start is chosen by ",
                lam,
                ".",
            )
        )
    return "In the letters of the paper", drafts


def _matrices(subject: Subject, blocks: _Blocks) -> list[Draft]:
    drafts: list[Draft] = [blocks.M, blocks.c, blocks.Q]
    if subject.notation.inputs:
        drafts.append(blocks.B)
    if subject.kin.row_basis:
        drafts += [blocks.A, blocks.b]
    return drafts


def _motion(subject: Subject, blocks: _Blocks) -> Drafted:
    """Rows of M v̇ + c − F = Q + B u + Aᵀλ, and of A v̇ = b."""
    notation = subject.notation
    vdot = [symbol(e.glyph.rate) for e in notation.speeds]
    inputs = [symbol(e.glyph) for e in notation.inputs]
    lam = [symbol(e.glyph) for e in notation.multipliers]
    rows = []
    for i, entry in enumerate(notation.speeds):
        left = [blocks.M.term(i, j, factor) for j, factor in enumerate(vdot)]
        left.append(blocks.c.term(i))
        if blocks.F is not None:
            left.append(blocks.F.term(i, sign=-1))
        right = [blocks.Q.term(i)]
        right += [blocks.B.term(i, j, factor) for j, factor in enumerate(inputs)]
        right += [blocks.A.term(k, i, factor) for k, factor in enumerate(lam)]
        rows.append((tuple(left), tuple(right), entry.name))
    for k, entry in enumerate(notation.multipliers):
        left = [blocks.A.term(k, j, factor) for j, factor in enumerate(vdot)]
        rows.append((tuple(left), (blocks.b.term(k),), entry.name))
    drafts = motion_rows(rows)
    if blocks.F is not None:
        drafts.append(words("together with ", subject.formula("μ̇ = − λ"), "."))
    return "Equations of motion", drafts


_ANGULAR_FIRST = tuple(Glyph(b, k, d) for b, d in (("ω", 0), ("c", 1)) for k in "xyz")
_LINEAR_FIRST = tuple(Glyph(b, k, d) for b, d in (("c", 1), ("Ω", 0)) for k in "xyz")
_FORCE_FIRST = tuple(Glyph(b, k) for b in ("F", "M") for k in "xyz")
#: The largest inverse that is written out.
INVERTED = 3


def complement(subject: Subject) -> list[Drafted]:
    """T, I = TᵀMT, C η, τ, γ and δ of the natural orthogonal complement."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    blocks: list[Draft] = [
        words(
            "Column j of ",
            subject.letter("T"),
            " is the twist of the system for a unit of the j-th independent speed and none of the "
            "others: the angular velocity and the velocity of the mass center of each body, ",
            subject.formula("V = T η"),
            ". Each body's share, in its own axes (those of a symmetric wheel do not spin with "
            "it):",
        )
    ]
    columns, of_bodies = unit_speed_twists(kin, kin.tree), []
    for k, node, _ in subject.bodies:
        share = ca.horzcat(*[ca.vertcat(*column[k]) for column in columns])
        if columns:
            letter = subject.letter("T", node.body.name)
            of_bodies.append(matrix(subject, letter, share, share, _ANGULAR_FIRST))
    blocks += of_bodies
    mass = reduced_mass(subject, subject.letter("I"))
    velocity = [-e.reduced_bias for e in routes]
    bias = column(
        subject,
        subject.letter("(C η)"),
        velocity[0],
        velocity[1],
        name=Fenced(subject.formula("C η")),
    )
    blocks += [
        words(
            "Constraint wrenches do no work in virtual displacements, whose twists these are, so "
            "the equations of Newton and Euler for all bodies, multiplied by ",
            subject.formula("Tᵀ"),
            ", are free of them: ",
            subject.formula("I η̇ = C η + τ + γ + δ"),
            " with ",
            subject.formula("I = TᵀM T"),
            " and the velocity terms from the twists at zero independent accelerations.",
        ),
        mass,
    ]
    if subject.is_stepwise and of_bodies:
        drafts, sums = velocity_wrenches(subject, of_bodies)
        blocks += drafts
        bias = replace(bias, sums=tuple(sums))
    blocks.append(bias)
    if subject.is_stepwise:
        blocks += tire_forces(subject)
    forces, absent = [], []
    for name, meaning, force in _shares(subject):
        if ca.sparsify(ca.simplify(force)).is_zero():
            absent.append((name, meaning))
            continue
        forces.append(column(subject, subject.letter(name), force, force))
        blocks += [words(f"Generalized forces of {meaning}:"), forces[-1]]
    if absent:
        zeros = [Operator("=") if k else subject.letter(name) for name, _ in absent for k in (0, 1)]
        idle = [m for _, m in absent if m == "gravity" and any(subject.kin.model.gravity)]
        none = " and no ".join(meaning for _, meaning in absent if meaning not in idle)
        said = [f"there is no {none}"] if none else []
        said += [f"{meaning} does no work in virtual displacements" for meaning in idle]
        text = "; ".join(said)
        blocks.append(
            words(f"{text[0].upper()}{text[1:]}: ", MathRow((*zeros, MathNumber("0"))), ".")
        )
    rows = [bias.term(i, sign=-1) for i in range(kin.num_independent_speeds)]
    motion = reduced_motion(subject, mass, rows, forces)
    return [("The natural orthogonal complement", blocks), motion]


def _shares(subject: Subject) -> list[tuple[str, str, ca.SX]]:
    """τ, γ, δ, and σ of springs: letter, meaning, generalized force; springs only if there are."""
    kin, equations = subject.kin, subject.equations
    shares = equations.forces.shares
    found = []
    for share, letter, meaning in (
        (GIVEN, "τ", "driving"),
        (GRAVITY, "γ", "gravity"),
        (DISSIPATIVE, "δ", "dissipation"),
        (SPRING, "σ", "springs"),
    ):
        force = ca.mtimes(kin.S.T, shares[share])
        if share == GIVEN:
            force = force + ca.mtimes(equations.reduced_inputs, kin.acting_inputs)
        if share != SPRING or not ca.sparsify(ca.simplify(force)).is_zero():
            found.append((letter, meaning, force))
    return found


def desantis(subject: Subject) -> list[Drafted]:
    """J, D, C, τ_a, g_0 and g_wa of DeSantis' procedure."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    eta = glyphs(subject.notation.independent_speeds)
    compiled = DeSantis().matrices(kin)
    # the same matrices with the shorter basis; that they are the procedure's is checked
    J_h = body_jacobian(kin)
    J = ca.mtimes(J_h, ca.densify(kin.S))
    C = _velocity_matrix(subject, J_h, J)
    tau = [e.reduced_forces + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    blocks: list[Draft] = [
        words(
            "Of the ten steps, the frames (1), the coordinates (2) and the independent speeds (5) "
            "are above: ",
            subject.formula("α = η"),
            ", and the admissible speeds are ",
            subject.formula("v = J_{nh} α"),
            " with ",
            subject.formula("J_{nh} = Π B"),
            ", ",
            subject.formula("Π = 1 − Aᵀ(A Aᵀ)⁻¹A"),
            ".",
        ),
        *_positions(subject, J_h),
        words(
            "Steps 4 and 6. The twists of all bodies, velocity of the mass center first, then "
            "angular velocity, in body axes, are ",
            subject.formula("V = J_h v = J α"),
            ":",
        ),
    ]
    J_dot = _rate(subject, J)
    rates: list[Draft] = []
    of_bodies: list[tuple[TreeNode, Matrix, Matrix]] = []
    for k, node, _ in subject.bodies:
        own, name = slice(6 * k, 6 * k + 6), node.body.name
        parts = [
            matrix(subject, subject.letter("J", name, dots), shown[own, :], by[own, :], rows)
            for dots, shown, by, rows in (
                (0, J, compiled.J, _LINEAR_FIRST),
                (1, J_dot, compiled.J_dot, ()),
            )
        ]
        blocks.append(parts[0])
        rates.append(parts[1])
        of_bodies.append((node, parts[0], parts[1]))
    blocks += [words("and the entries of ", subject.letter("J"), " change by"), *rates]
    mass = reduced_mass(subject, subject.letter("D"))
    velocity = matrix(subject, subject.letter("C"), C, compiled.C, eta)
    # rotors and links without a body of the model are in no sum over the bodies that are shown
    is_whole = len(of_bodies) == len(kin.tree.nodes) and not any(n.is_rotor for n in kin.tree.nodes)
    V = ca.mtimes(J_h, kin.v)
    across = [6 * k + row for k in range(len(of_bodies)) for row in (2, 3, 4)]
    is_whole = is_whole and subject.is_zero(rotor_forces(kin.tree, ca.densify(kin.S)))
    if is_whole and subject.is_zero(V[across]):
        mass = replace(mass, sums=tuple(_body_sum(node, J_b, J_b) for node, J_b, _ in of_bodies))
        by_rates = [_body_sum(node, J_b, rate) for node, J_b, rate in of_bodies]
        by_turns = [_turning(node, V[6 * k + 5], J_b) for k, (node, J_b, _) in enumerate(of_bodies)]
        velocity = replace(velocity, sums=(*by_rates, *by_turns))
    forces = column(subject, subject.letter("τ", "a"), tau[0], tau[1])
    blocks += [
        *_applied(subject),
        words(
            "Steps 7 and 9. With M the masses and inertias of the bodies and ",
            subject.formula('W = "diag"(Ω×, Ω×)'),
            ", ",
            subject.formula("D α̇ + C α = τ_a"),
            " with ",
            subject.formula("D = JᵀM J"),
            ", ",
            subject.formula("C = Jᵀ(M J̇ + W M J)"),
            " and ",
            subject.formula("τ_a = Jᵀω_a"),
            ".",
        ),
        *(mass, velocity, forces),
    ]
    whole = subject.simplest.reduced_bias
    adds = not subject.is_zero(whole - ca.mtimes(C, kin.eta), beside=whole)
    if adds:
        blocks.append(
            words(
                "Constraints that move, ",
                subject.formula("v = J_{nh} α + s"),
                ", add terms of their own to ",
                subject.formula("C α"),
                " in what follows.",
            )
        )
    blocks += _state_model(subject, velocity, adds)
    motion = reduced_motion(subject, mass, _bias(subject, velocity, adds), [forces])
    return [("DeSantis' procedure", blocks), motion]


def _positions(subject: Subject, J_h: ca.SX) -> list[Draft]:
    """χ = f(q): mass centers in the world, and the angles of bodies that turn about z alone."""
    drafts: list[Draft] = [
        words(
            "Step 3. Positions ",
            subject.letter("χ"),
            " = f(q) of the mass centers, and angles of bodies that turn about one axis:",
        )
    ]
    for k, node, _ in subject.bodies:
        center = node.p_WB + ca.mtimes(node.R_WD, node.center_D)
        rows, names = ca.vertsplit(center), list("xyz")
        angle = _angle(subject, J_h[6 * k + 3 : 6 * k + 6, :])
        if angle is not None:
            rows, names = [rows[0], rows[1], angle], ["x", "y", "angle"]
        place = ca.vertcat(*rows)
        letter, called = subject.letter("χ", node.body.name), tuple(Word(name) for name in names)
        drafts.append(column(subject, letter, place, place, called))
    return drafts if len(drafts) > 1 else []


def _angle(subject: Subject, turning: ca.SX) -> ca.SX | None:
    """The sum of coordinates whose rates turn a body about z; None for another motion."""
    kin, angle = subject.kin, ca.SX(0)
    if not ca.sparsify(turning[:2, :]).is_zero():
        return None
    for j in range(turning.shape[1]):
        if turning[2, j].is_zero():
            continue
        own = [i for i in range(kin.num_coordinates) if not kin.N[i, j].is_zero()]
        if len(own) != 1 or not kin.N[own[0], j].is_one() or not turning[2, j].is_constant():
            return None
        angle = angle + turning[2, j] * kin.symbols.q[own[0]]
    return angle


def _applied(subject: Subject) -> list[Draft]:
    """ω_a of each body on which something acts."""
    found = {o.name: o.value for o in subject.equations.formulation.objects(subject.equations)}
    drafts: list[Draft] = [
        words(
            "Step 8. The applied wrenches ",
            subject.letter("ω", "a"),
            ", force first, then moment about the mass center, in body axes:",
        )
    ]
    for k, node, _ in subject.bodies:
        wrench = found["w_a"][6 * k : 6 * k + 6]
        if not ca.sparsify(ca.simplify(wrench)).is_zero():
            letter = subject.letter("ω", f"a,{node.body.name}")
            drafts.append(column(subject, letter, wrench, wrench, _FORCE_FIRST))
    return drafts if len(drafts) > 1 else []


def _body_sum(node: TreeNode, left: Matrix, right: Matrix) -> BodySum:
    """Lᵀ diag(m 1, j) R of a body."""
    terms: list[tuple[Item, tuple[tuple[int, int, int], ...]]]
    terms = [(_item(node.mass), ((0, 0, 1), (1, 1, 1), (2, 2, 1)))]
    terms += [(_item(node.inertia_D[k, k]), ((3 + k, 3 + k, 1),)) for k in range(3)]
    terms += [
        (_item(node.inertia_D[a, b]), ((3 + a, 3 + b, 1), (3 + b, 3 + a, 1)))
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    return BodySum(left=left, right=right, terms=tuple(terms))


def _turning(node: TreeNode, rate: ca.SX, J: Matrix) -> BodySum:
    """JᵀWMJ of a body that moves in a plane: m Ω (J_2i J_1j − J_1i J_2j)."""
    return BodySum(left=J, right=J, terms=((_item(node.mass * rate), ((1, 0, 1), (0, 1, -1))),))


def _item(value: ca.SX) -> Item:
    return Item(ca.SX(value), ca.SX(value))


def _rate(subject: Subject, J: ca.SX) -> ca.SX:
    """Rates of the entries."""
    kin = subject.kin
    at = ca.vertcat(kin.symbols.q, kin.symbols.t)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1))
    return ca.reshape(ca.jtimes(ca.vec(ca.densify(J)), at, along), J.shape)


def _velocity_matrix(subject: Subject, J_h: ca.SX, J: ca.SX) -> ca.SX:
    """C = Jᵀ(M J̇ + W M J)."""
    kin, J_dot = subject.kin, _rate(subject, J)
    M, W = mass_and_spin(kin, ca.mtimes(J_h, kin.v))
    return ca.mtimes(J.T, ca.mtimes(M, J_dot) + ca.mtimes(W, ca.mtimes(M, J)))


def _bias(subject: Subject, C: Matrix, adds: bool) -> list[Term]:
    """C α of each row; where moving constraints add to it, without a label."""
    shown, own = subject.simplest.reduced_bias, subject.equations.reduced_bias
    alpha = [symbol(e.glyph) for e in subject.notation.independent_speeds]
    terms = []
    for i in range(len(alpha)):
        labels = [C.term(i, j).label for j in range(len(alpha))]
        whole = sympy.Add(*[label * speed for label, speed in zip(labels, alpha, strict=True)])
        item = Item(shown[i], own[i], is_motion=True)
        terms.append(Term(item, None if adds else whole))
    return terms


def _state_model(subject: Subject, C: Matrix, adds: bool) -> list[Draft]:
    """α̇ = g_0 + g_wa τ_a, written out where D is small."""
    kin, shown, own = subject.kin, subject.simplest, subject.equations
    num = kin.num_independent_speeds
    eta = glyphs(subject.notation.independent_speeds)
    blocks: list[Draft] = [
        words(
            "Step 10. The state model is ",
            subject.formula("α̇ = g_0 + g_{wa} τ_a"),
            " with ",
            subject.formula("g_{wa} = D⁻¹"),
            " and ",
            subject.formula("g_0 = − D⁻¹C α"),
            ".",
        )
    ]
    if not 0 < num <= INVERTED:
        return [*blocks, words("The inverse is not written out.")]
    inverse = _inverse(shown.reduced_mass)
    bias = shown.reduced_bias if adds else ca.mtimes(C.shown, kin.eta)
    drift = -ca.mtimes(inverse, bias)
    own_drift, _ = symmetric_solve(own.reduced_mass, -own.reduced_bias)
    own_inverse, _ = symmetric_solve(own.reduced_mass, ca.SX.eye(num))
    gains = matrix(subject, subject.letter("g", "wa"), inverse, own_inverse, eta, is_symmetric=True)
    free = column(subject, subject.letter("g", "0"), drift, own_drift)
    if not adds:
        diagonal = tuple((k, k, 1) for k in range(num))
        free = replace(
            free,
            sums=tuple(
                BodySum(left=gains, right=C, terms=((_item(-kin.eta[j]), diagonal),), shift=j)
                for j in range(num)
            ),
        )
    return [*blocks, gains, free]


def _inverse(M: ca.SX) -> ca.SX:
    """The inverse of a small symmetric matrix by its cofactors, for display only."""
    n = M.shape[0]
    if n == 1:
        return 1 / M
    det, inverse = ca.det(M), ca.SX(n, n)
    for i in range(n):
        for j in range(n):
            minor = M[[k for k in range(n) if k != i], [k for k in range(n) if k != j]]
            inverse[j, i] = (-1) ** (i + j) * ca.det(minor) / det
    return inverse


#: Parts beyond which a page says at its beginning what they are.
MANY_PARTS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A derivation, written and checked."""

    #: title, sections: the document
    title: str
    sections: list[Section] = field(repr=False)
    #: both sides of the equations of motion, in the symbols that are shown
    motion: list[tuple[sympy.Expr, sympy.Expr]]
    #: every part and every labeled entry → what it stands for, in order
    meanings: dict[sympy.Symbol, sympy.Expr] = field(repr=False)
    #: full name of a quantity → its symbol; a rate's name has a dot mark, as ``"x'"``
    symbols: dict[str, sympy.Symbol] = field(repr=False)
    #: remark on how it was written and how well it agrees with what is compiled
    written: Written = field(repr=False)
    #: largest relative residual of the shown equations at the compiled accelerations
    residual: float

    @property
    def is_confirmed(self) -> bool:
        """Whether everything shown agrees with what is compiled."""
        return self.written.is_confirmed and self.residual <= TOLERANCE


def derivation(
    equations: Equations,
    *,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Derivation:
    """Derive the equations of motion of a model step by step, as a document."""
    printed = printed_equations(equations, coordinates, speeds)
    page = _laid_out(Subject(printed), seconds)
    if len(page.found.parts) > MOST_PARTS:
        stepwise = _laid_out(Subject(printed, is_stepwise=True), seconds)
        page = min(page, stepwise, key=lambda p: len(p.found.parts))
    subject, drafted, items, arrange, _ = page
    found = derivation_document.with_few_parts(page.found, drafted, arrange)
    written, motion = found.written, found.motion
    sections = derivation_document.with_used_symbols(subject, found.sections)
    sections[0] = _with_parts_told(sections[0], written, len(found.parts))
    residual = _residual(subject, items, written, [*motion, *found.sums])
    difference = printed.difference(subject.alphabet.states)
    residual = math.nan if math.isnan(difference) else max(residual, difference)
    sections.append(_closing(written, residual))
    sections[1:1] = [Section(SKETCH, (drawn,)) for drawn in sketch(subject)]
    formulation = equations.formulation
    return Derivation(
        title=f"Equations of motion of '{equations.model.name}': {formulation.name}",
        sections=numbered(sections),
        motion=motion,
        meanings=_meanings(items, written),
        symbols=_symbols(subject),
        written=written,
        residual=residual,
    )


class _LaidOut(NamedTuple):
    """A derivation laid out: its subject, drafts, their items, and what has become of them."""

    subject: Subject
    drafted: list[Drafted]
    items: list[Item]
    arrange: Arranger
    found: Finished


def _laid_out(subject: Subject, seconds: float) -> _LaidOut:
    drafted = _draft(subject)
    items = [item for _, blocks in drafted for block in blocks for item in items_of(block)]
    written = write(items, subject.alphabet, seconds=seconds)
    arrange = subject.arrange
    meant = [*written.expressions, *(e for new in written.parts for _, e in new)]
    arrange.in_decimals = any(e.atoms(sympy.Float) for e in meant)
    return _LaidOut(subject, drafted, items, arrange, finished(drafted, written, arrange))


def _with_parts_told(opening: Section, written: Written, num_parts: int) -> Section:
    """The opening of a page, with a word on the parts if there are many."""
    parts = [s for new in written.parts for s, _ in new][:num_parts]
    if len(parts) <= MANY_PARTS:
        return opening
    said = (
        f"These equations are long. {len(parts)} parts, {parts[0]} to {parts[-1]}, stand for what "
        "is used more than once, each introduced where it is first needed. Small motions have "
        "short equations: noslip derive --linear SPEED."
    )
    return Section(opening.title, (*opening.blocks, words(said)))


def _draft(subject: Subject) -> list[Drafted]:
    equations = subject.equations
    formulation, model = equations.formulation, equations.model
    opening: list[Draft] = [words(model.description or f"The model '{model.name}'.")]
    reference = f"Method: {formulation.name} [{formulation.reference}]."
    opening.append(words(reference))
    drafted = [
        ("Model and method", opening),
        derivation_document.mechanism(subject),
        derivation_document.symbols(subject),
    ]
    drafted += [derivation_document.kinematics(subject), derivation_document.constraints(subject)]
    title, blocks = derivation_document.admissible_speeds(
        subject, subject.letter(*formulation.basis_symbol)
    )
    is_stepwise = subject.is_stepwise and bool(subject.kin.row_basis)
    drafted.append((title, [*blocks, *(moving(subject) if is_stepwise else [])]))
    drafted += _own_sections(subject)
    forces = derivation_document.constraint_forces(subject)
    if forces is not None and is_stepwise:
        forces = (forces[0], reactions(subject))
    last = (derivation_document.force_states(subject), forces)
    return [*drafted, *(section for section in last if section is not None)]


def _own_sections(subject: Subject) -> list[Drafted]:
    """Sections of a formulation, up to the equations of motion."""
    module, _, function = subject.equations.formulation.derivation.partition(":")
    if not module:
        return derivation_document.general(subject)
    write_sections: Callable[[Subject], list[Drafted]]
    write_sections = getattr(importlib.import_module(module), function)
    return write_sections(subject)


def _residual(
    subject: Subject,
    items: list[Item],
    written: Written,
    motion: list[tuple[sympy.Expr, sympy.Expr]],
) -> float:
    """Largest residual of the rows at the compiled accelerations, relative to their terms."""
    if not motion:
        return 0.0
    found = Evaluator(items, subject.alphabet, written.expressions, written.parts)
    terms = [[*sympy.Add.make_args(a), *[-t for t in sympy.Add.make_args(b)]] for a, b in motion]
    states = subject.alphabet.states
    worst = math.nan
    for values in found([t for sums in terms for t in sums], states):
        if not np.all(np.isfinite(values)):
            continue
        rows = np.split(values, np.cumsum([len(row) for row in terms])[:-1])
        floor = 1e-6 * max(1.0, float(np.max(np.abs(values))))
        largest = max(abs(np.sum(r)) / (np.sum(np.abs(r)) + floor) for r in rows)
        worst = largest if math.isnan(worst) else max(worst, largest)
    return float(worst)


def _closing(written: Written, residual: float) -> Section:
    said = []
    if not written.is_simplified:
        said.append("The simplified forms did not pass the check, so nothing is simplified here.")
    if written.is_late:
        said.append("The simplification reached its time limit before it was finished.")
    omitted = sum(e.is_Dummy for e in written.expressions)
    if omitted:
        said.append(f"{omitted} expressions are too long to be written out.")
    if any(e.atoms(sympy.Float) for e in written.expressions):
        said.append(f"Numbers are printed with {DIGITS} digits.")
    worst = max(written.worst, residual)
    if math.isnan(worst):
        said.append("Nothing could be evaluated at random states, so nothing is confirmed.")
    elif worst <= TOLERANCE:
        said.append(
            f"All {len(written.expressions) - omitted} expressions above were evaluated at random "
            "states and agree with the compiled functions, and the equations of motion hold at the "
            f"compiled accelerations, to a relative {TOLERANCE:.0e}."
        )
    else:
        said.append(
            f"Warning: what is shown differs from the compiled functions by a relative {worst:.1e}."
        )
    return Section("Check", (words(" ".join(said)),))


def _meanings(items: list[Item], written: Written) -> dict[sympy.Symbol, sympy.Expr]:
    meanings: dict[sympy.Symbol, sympy.Expr] = {}
    for item, expression, new in zip(items, written.expressions, written.parts, strict=True):
        meanings |= dict(new)
        if item.label is not None and item.label != expression:
            meanings.setdefault(item.label, expression)
    return meanings


def _symbols(subject: Subject) -> dict[str, sympy.Symbol]:
    from noslip.show.equations.subject import symbol

    known = {e.name: symbol(e.glyph) for e in subject.notation.legend}
    moving = [*subject.notation.coordinates, *subject.notation.speeds]
    moving += [*subject.notation.independent_speeds, *subject.notation.costates]
    moving += subject.notation.force_states
    known |= {f"{e.name}'": symbol(e.glyph.rate) for e in moving}
    return known

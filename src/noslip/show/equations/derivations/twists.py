"""The derivations from twists: natural orthogonal complement and DeSantis' procedure."""

from __future__ import annotations

import casadi as ca
import sympy

from noslip import DeSantis
from noslip.algebra import symmetric_solve
from noslip.formulations import body_jacobian, body_mass, spin_matrix, unit_speed_twists
from noslip.model import DISSIPATIVE, GIVEN, GRAVITY, SPRING
from noslip.show.equations.blocks import words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.common import (
    Drafted,
    column,
    glyphs,
    matrix,
    reduced_mass,
    reduced_motion,
)
from noslip.show.equations.derivations.document import Draft, Matrix, Term
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import Fenced, MathNumber, MathRow, Operator
from noslip.show.equations.notation import symbol

_ANGULAR_FIRST = tuple(Glyph(b, k, d) for b, d in (("ω", 0), ("c", 1)) for k in "xyz")
_LINEAR_FIRST = tuple(Glyph(b, k, d) for b, d in (("c", 1), ("Ω", 0)) for k in "xyz")
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
    columns = unit_speed_twists(kin, kin.tree)
    for k, node, _ in subject.bodies:
        share = ca.horzcat(*[ca.vertcat(*column[k]) for column in columns])
        if columns:
            letter = subject.letter("T", node.body.name)
            blocks.append(matrix(subject, letter, share, share, _ANGULAR_FIRST))
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
        *(mass, bias),
    ]
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
            "The independent speeds are ",
            subject.letter("α"),
            " and the admissible ones ",
            subject.formula("v = J_{nh} α"),
            " (above). The twists of all bodies, velocity of the mass center first, then angular "
            "velocity, in body axes, are ",
            subject.formula("V = J α"),
            ":",
        )
    ]
    for k, node, _ in subject.bodies:
        own, letter = slice(6 * k, 6 * k + 6), subject.letter("J", node.body.name)
        blocks.append(matrix(subject, letter, J[own, :], compiled.J[own, :], _LINEAR_FIRST))
    mass = reduced_mass(subject, subject.letter("D"))
    velocity = matrix(subject, subject.letter("C"), C, compiled.C, eta)
    forces = column(subject, subject.letter("τ", "a"), tau[0], tau[1])
    blocks += [
        words(
            "With M the masses and inertias of the bodies and ",
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
    if _moves(subject):
        blocks.append(
            words(
                "With time-dependent constraints this is ",
                subject.formula("v = J_{nh} α + s"),
                ", and add terms of their own to ",
                subject.formula("C α"),
                " in what follows.",
            )
        )
    blocks += _state_model(subject, C)
    motion = reduced_motion(subject, mass, _bias(subject, velocity), [forces])
    return [("DeSantis' procedure", blocks), motion]


def _moves(subject: Subject) -> bool:
    return not ca.sparsify(subject.kin.s).is_zero()


def _velocity_matrix(subject: Subject, J_h: ca.SX, J: ca.SX) -> ca.SX:
    """C = Jᵀ(M J̇ + W M J)."""
    kin = subject.kin
    at = ca.vertcat(kin.symbols.q, kin.symbols.t)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1))
    J_dot = ca.reshape(ca.jtimes(ca.vec(ca.densify(J)), at, along), J.shape)
    M, W = body_mass(kin), spin_matrix(kin, ca.mtimes(J_h, kin.v))
    return ca.mtimes(J.T, ca.mtimes(M, J_dot) + ca.mtimes(W, ca.mtimes(M, J)))


def _bias(subject: Subject, C: Matrix) -> list[Term]:
    """C α of each row; with moving constraints also what those add, which has no label."""
    shown, own = subject.simplest.reduced_bias, subject.equations.reduced_bias
    alpha = [symbol(e.glyph) for e in subject.notation.independent_speeds]
    terms = []
    for i in range(len(alpha)):
        labels = [C.term(i, j).label for j in range(len(alpha))]
        whole = sympy.Add(*[label * speed for label, speed in zip(labels, alpha, strict=True)])
        item = Item(shown[i], own[i], is_motion=True)
        terms.append(Term(item, None if _moves(subject) else whole))
    return terms


def _state_model(subject: Subject, C: ca.SX) -> list[Draft]:
    """α̇ = g_0 + g_wa τ_a, written out where D is small."""
    kin, shown, own = subject.kin, subject.simplest, subject.equations
    num = kin.num_independent_speeds
    eta = glyphs(subject.notation.independent_speeds)
    blocks: list[Draft] = [
        words(
            "The state model is ",
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
    bias = shown.reduced_bias if _moves(subject) else ca.mtimes(C, kin.eta)
    drift = -ca.mtimes(inverse, bias)
    own_drift, _ = symmetric_solve(own.reduced_mass, -own.reduced_bias)
    own_inverse, _ = symmetric_solve(own.reduced_mass, ca.SX.eye(num))
    return [
        *blocks,
        matrix(subject, subject.letter("g", "wa"), inverse, own_inverse, eta, is_symmetric=True),
        column(subject, subject.letter("g", "0"), drift, own_drift),
    ]


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

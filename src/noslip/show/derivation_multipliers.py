"""How the formulations with multipliers write the equations of motion: in all tree speeds."""

from __future__ import annotations

from typing import Any

import casadi as ca

from noslip.formulations.forces import applied_forces
from noslip.formulations.tree import inverse_dynamics, mass_matrix, row_rates
from noslip.formulations.vakonomic import curl_force
from noslip.show.confirming import Item
from noslip.show.derivation import Draft, Matrix, Motion, Scalars, Term, words
from noslip.show.derivation_common import Drafted, glyphs
from noslip.show.derivation_rows import symbol_or_none
from noslip.show.derivation_subject import Subject
from noslip.show.glyphs import Glyph
from noslip.show.hamel import turning_term
from noslip.show.layout import formula
from noslip.show.notation import symbol


class Blocks:
    """M, c, Q, B, A, b and F on the tree speeds, in those speeds and as they are compiled."""

    def __init__(self, subject: Subject) -> None:
        kin, free = subject.kin, subject.free
        kept = list(kin.kept)
        still = ca.SX.zeros(kin.num_speeds)
        self.M = ca.densify(mass_matrix(kin))
        self.c = (inverse_dynamics(free, still), inverse_dynamics(kin, still))
        shown, compiled = applied_forces(free), applied_forces(kin)
        self.Q = (_column(shown.Q, kin.num_speeds), _column(compiled.Q, kin.num_speeds))
        self.B = (ca.densify(shown.B), ca.densify(compiled.B))
        self.A = ca.densify(kin.A[kept, :])
        self.b = (-row_rates(free), -row_rates(kin))
        self.F = None
        if subject.mu.shape[0]:
            # −Nᵀ curl of the covector field Aᵀμ, and the slope of what moves the rows
            a = kin.a[kept]
            slope = ca.mtimes(kin.N.T, ca.gradient(ca.dot(a, subject.mu), kin.symbols.q))
            turning = turning_term(kin, ca.mtimes(self.A.T, subject.mu), subject.v)
            self.F = (slope - turning, curl_force(kin, subject.mu))


def _column(force: ca.SX, num: int) -> ca.SX:
    return ca.densify(force) if force.shape[0] == num else ca.SX.zeros(num)


def multipliers(subject: Subject) -> list[Drafted]:
    """M, c, Q, A of Lagrange's equations with multipliers, and the equations for λ."""
    blocks = Blocks(subject)
    drafts: list[Draft] = [
        words(
            "All tree speeds are kept, and each independent row has its multiplier: ",
            formula("M v̇ + c = Q + B u + Aᵀλ"),
            " and ",
            formula("A v̇ = b"),
            " with ",
            formula("b = − (Ȧ v + ȧ)"),
            ".",
        ),
        *_matrices(subject, blocks),
        words(
            "The multipliers solve ",
            formula("A M⁻¹Aᵀλ = b − A M⁻¹(Q + B u − c)"),
            ". Where M is singular, ",
            formula("M + κ AᵀA"),
            " stands for it, which changes neither the accelerations nor the multipliers.",
        ),
    ]
    return [("Lagrange's equations with multipliers", drafts), _motion(subject, blocks)]


def vakonomic(subject: Subject) -> list[Drafted]:
    """F of the vakonomic equations, and the rates of the costates."""
    blocks = Blocks(subject)
    notation = subject.notation
    drafts: list[Draft] = [
        words(
            "This is another mechanics. The motions below make the action of ",
            formula("L + μ·(A v + a)"),
            " stationary; real bodies follow d'Alembert's principle instead, and move differently "
            "unless the constraints are integrable. Do not use these equations to predict how a "
            "mechanism rolls.",
        ),
        words(
            "The costates have rates of their own: ",
            formula("M v̇ + c − F = Q + B u + Aᵀλ"),
            ", ",
            formula("μ̇ = − λ"),
            ", ",
            formula("A v̇ = b"),
            ". The curl force F does no work and vanishes where the rows are integrable.",
        ),
        *_matrices(subject, blocks),
    ]
    if blocks.F is not None:
        names = glyphs(notation.speeds)
        drafts.append(Matrix(Glyph("F"), Glyph("F"), *blocks.F, row_names=names))
        rates = [
            (e.glyph.rate, Item(-subject.lam[k], -subject.lam[k]), e.name)
            for k, e in enumerate(notation.costates)
        ]
        drafts += [words("The costates move by"), Scalars(tuple(rates))]
    return [("The vakonomic equations", drafts), _motion(subject, blocks)]


def _matrices(subject: Subject, blocks: Blocks) -> list[Draft]:
    names = glyphs(subject.notation.speeds)
    inputs = glyphs(subject.notation.inputs)
    rows = glyphs(subject.notation.multipliers)
    drafts: list[Draft] = [
        Matrix(Glyph("M"), Glyph("M"), blocks.M, blocks.M, names, names, is_symmetric=True),
        Matrix(Glyph("c"), Glyph("c"), *blocks.c, row_names=names),
        Matrix(Glyph("Q"), Glyph("Q"), *blocks.Q, row_names=names),
    ]
    if inputs:
        drafts.append(Matrix(Glyph("B"), Glyph("B"), *blocks.B, names, inputs))
    if rows:
        drafts.append(Matrix(Glyph("A"), Glyph("A"), blocks.A, blocks.A, rows, names))
        drafts.append(Matrix(Glyph("b"), Glyph("b"), *blocks.b, row_names=rows))
    return drafts


def _motion(subject: Subject, blocks: Blocks) -> Drafted:
    """Rows of M v̇ + c − F = Q + B u + Aᵀλ, and of A v̇ = b."""
    notation = subject.notation
    vdot = [symbol(e.glyph.rate) for e in notation.speeds]
    inputs = [symbol(e.glyph) for e in notation.inputs]
    lam = [symbol(e.glyph) for e in notation.multipliers]
    rows = []

    letters = {
        name: Matrix(Glyph(name), Glyph(name), shown, shown, is_symmetric=name == "M")
        for name, shown in (
            *(("M", blocks.M), ("A", blocks.A), ("B", blocks.B[0]), ("c", blocks.c[0])),
            *(("Q", blocks.Q[0]), ("b", blocks.b[0]), ("F", blocks.c[0])),
        )
    }

    def term(shown: ca.SX, compiled: ca.SX, letter: str, i: int, j: int = 0, **more: Any) -> Term:
        item = Item(shown, compiled, is_motion=True)
        return Term(item, symbol_or_none(letters[letter].label(i, j)), **more)

    for i, entry in enumerate(notation.speeds):
        left = [
            term(blocks.M[i, j], blocks.M[i, j], "M", i, j, factor=f) for j, f in enumerate(vdot)
        ]
        left.append(term(blocks.c[0][i], blocks.c[1][i], "c", i))
        if blocks.F is not None:
            left.append(term(blocks.F[0][i], blocks.F[1][i], "F", i, sign=-1))
        right = [term(blocks.Q[0][i], blocks.Q[1][i], "Q", i)]
        for j, f in enumerate(inputs):
            right.append(term(blocks.B[0][i, j], blocks.B[1][i, j], "B", i, j, factor=f))
        for k, f in enumerate(lam):
            right.append(term(blocks.A[k, i], blocks.A[k, i], "A", k, i, factor=f))
        rows.append((tuple(left), tuple(right), entry.name))
    for k, entry in enumerate(notation.multipliers):
        left = [
            term(blocks.A[k, j], blocks.A[k, j], "A", k, j, factor=f) for j, f in enumerate(vdot)
        ]
        right = [term(blocks.b[0][k], blocks.b[1][k], "b", k)]
        rows.append((tuple(left), tuple(right), entry.name))
    drafts: list[Draft] = [Motion(tuple(rows))]
    if blocks.F is not None:
        drafts.append(words("together with ", formula("μ̇ = − λ"), "."))
    return "Equations of motion", drafts

"""The derivations with multipliers, in all tree speeds: Lagrange and vakonomic."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.formulations import (
    applied_forces,
    curl_force,
    inverse_dynamics,
    mass_matrix,
    row_rates,
    turning_term,
)
from noslip.show.equations.blocks import words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.common import Drafted, column, glyphs, matrix, motion_rows
from noslip.show.equations.derivations.document import Draft, Matrix, Scalars
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.notation import symbol


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
        b=column(subject, subject.letter("b"), b[0], b[1], rows),
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
            subject.formula("A v̇ = b"),
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
        drafts += [words("The costates move by"), Scalars(tuple(rates))]
    return [("The vakonomic equations", drafts), _motion(subject, blocks)]


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

"""The derivations with multipliers, in all tree speeds: Lagrange and vakonomic."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import sympy

from noslip.formulations import (
    applied_forces,
    chaplygin_form,
    curl_force,
    inverse_dynamics,
    mass_matrix,
    row_rates,
    turning_term,
)
from noslip.show.equations.blocks import words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.common import Drafted, column, glyphs, matrix, motion_rows
from noslip.show.equations.derivations.document import Composed, Draft, Matrix, Scalars
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.layout import MathRow
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

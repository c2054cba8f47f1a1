"""Steps of long derivations under names of mechanics: accelerations, inertia wrenches, tire forces.

What a page of a larger mechanism would otherwise hide in numbered parts has a name that a teacher
uses. With the rates v̇ = S η̇ + Ṡ η of all tree speeds, the inertia wrench of each body about its
mass center, in its own axes, is

    w = (I α + ω × I ω, m c̈),

which gives C η = − Σ Tᵀw at η̇ = 0, and R = M v̇ + c − Q − B u = Aᵀλ, the generalized constraint
forces, from the wrenches of all bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from noslip.algebra import block_solve
from noslip.formulations import (
    applied_forces,
    body_jacobian,
    center_wrenches,
    curl_force,
    inverse_dynamics,
    rotor_forces,
)
from noslip.kinematics import accelerations
from noslip.show.equations.derivation_document import (
    BodySum,
    Draft,
    Matrix,
    Scalars,
    column,
    compiled_multiplier,
    glyphs,
    rates,
)
from noslip.show.equations.layout import Glyph, words
from noslip.show.equations.subject import Subject, symbol
from noslip.show.equations.writing import Item

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

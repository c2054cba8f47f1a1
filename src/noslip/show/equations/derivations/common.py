"""Shared parts of derivations: opening sections, and matrices and rows of motion."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from noslip import Joint, Model
from noslip.kinematics import RowTrace
from noslip.show.axis_units import unit_text
from noslip.show.equations.blocks import CellTable, Paragraph, Section, glyphs_in, words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.combining import combinations, explained
from noslip.show.equations.derivations.document import (
    Draft,
    ItemTable,
    Matrix,
    Motion,
    Scalars,
    Term,
)
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import Fenced, Node, Operator, joined
from noslip.show.equations.notation import Entry, symbol

Drafted = tuple[str, list[Draft]]


def glyphs(entries: list[Entry]) -> tuple[Node, ...]:
    """Symbols of legend entries."""
    return tuple(e.glyph for e in entries)


def rates(entries: list[Entry]) -> tuple[Node, ...]:
    """Symbols of the rates of legend entries."""
    return tuple(e.glyph.rate for e in entries)


def mechanism(subject: Subject) -> Drafted:
    """Frames and bodies: parent, joint, and inertia of each."""
    kin = subject.kin
    rows = []
    for _, node, joint in subject.bodies:
        inertia = [node.inertia_D[k, k] for k in range(3)]
        products = [node.inertia_D[0, 1], node.inertia_D[0, 2], node.inertia_D[1, 2]]
        if any(not p.is_zero() for p in products):
            inertia += products
        rows.append(
            (
                node.body.name,
                f"{_joint_words(joint)} on '{joint.parent}'",
                _items([node.mass]),
                _items([node.center_D[k] for k in range(3)]),
                _items(inertia),
            )
        )
    blocks: list[Draft] = [
        words(
            "The axes of the world are x, y and z. Each body has axes of its own, in which its "
            "mass center and its inertia about the mass center are given: Ixx, Iyy, Izz, then Ixy, "
            "Ixz, Iyz where the body has them."
        ),
        ItemTable(("body", "carried by", "mass", "mass center", "inertia"), tuple(rows)),
    ]
    if kin.tree.loops:
        closing = ", ".join(f"'{j.name}' ({_joint_words(j)})" for j in kin.tree.loops)
        blocks.append(words(f"Loops are closed by {closing}."))
    return "Frames and bodies", blocks


def _joint_words(joint: Joint) -> str:
    return f"{joint.type.text()} '{joint.name}'"


def _items(expressions: list[ca.SX]) -> tuple[Item, ...]:
    return tuple(Item(e, e) for e in expressions)


SYMBOLS = "Symbols"


def symbols(subject: Subject) -> Drafted:
    """The legend: symbol, full name, unit, meaning."""
    rows = tuple(
        (e.glyph, e.name, unit_text(e.unit) or e.unit, e.meaning) for e in subject.notation.legend
    )
    return SYMBOLS, [CellTable(("symbol", "name", "unit", "meaning"), rows)]


def with_used_symbols(subject: Subject, sections: list[Section]) -> list[Section]:
    """The document with those symbols in its legend that are written somewhere else."""
    used = {g for s in sections if s.title != SYMBOLS for b in s.blocks for g in glyphs_in(b)}
    bare = {replace(g, dots=0) for g in used}
    said: list[str | Node] = ["A dot is a time derivative."]
    hatted = sorted({g.base.strip("(").split(" ")[0] for g in used if g.is_hatted})
    if hatted:
        letters: list[Node] = [Glyph(base, is_hatted=True) for base in hatted]
        said += [
            " A hat marks letters of the method that the model uses for something else: ",
            joined(letters, Operator(",")),
            ".",
        ]
    rows = tuple(
        (e.glyph, e.name, unit_text(e.unit) or e.unit, e.meaning)
        for e in subject.notation.legend
        if e.glyph in used or e.glyph.rate in used or (not e.glyph.dots and e.glyph in bare)
    )
    table = CellTable(("symbol", "name", "unit", "meaning"), rows)
    legend = Section(SYMBOLS, (words(*said), table))
    return [legend if s.title == SYMBOLS else s for s in sections]


def kinematics(subject: Subject) -> Drafted:
    """Rates of the coordinates, where they are not speeds themselves."""
    kin, notation = subject.kin, subject.notation
    at_motion = ca.mtimes(kin.N, kin.v)
    lines = []
    for k, entry in enumerate(notation.coordinates):
        rate = ca.mtimes(kin.N[k, :], subject.v)
        if entry.glyph.rate in [s.glyph for s in notation.speeds]:
            continue
        item = Item(rate, at_motion[k], symbol(entry.glyph.rate))
        lines.append((entry.glyph.rate, item, subject.note(f"{entry.name}_rate")))
    if not lines:
        return "Kinematics", [words("Each coordinate's rate is a speed.")]
    blocks: list[Draft] = [words(subject.formula("q̇ = N v"), " reads, where it is not trivial,")]
    blocks.append(Scalars(tuple(lines)))
    if kin.probe.quaternions:
        blocks.append(words("Quaternions have length one, which is used in what follows."))
    return "Kinematics", blocks


def constraints(subject: Subject) -> Drafted:
    """Each row as an equation."""
    kin = subject.kin
    if not kin.rows:
        return "Constraints", [words("None: every speed is free.")]
    redundant = {r.row: r.follows_from for r in kin.redundant}
    lines, positions = [], []
    for k, row in enumerate(kin.rows):
        note = subject.note(row.name, f"{row.name}, {row.origin}")
        if k in redundant:
            others = ", ".join(redundant[k])
            note += f"; follows from {others}" if others else "; satisfied identically"
        compiled = ca.mtimes(kin.A[k, :], kin.symbols.v) + kin.a[k]
        item = Item(subject.at_v(row.velocity), compiled, is_free=True)
        lines.append((None, item, note))
        if row.position is not None:
            positions.append((None, Item(row.position, row.position), _position_note(row)))
    blocks: list[Draft] = [
        *_as_written(kin.model),
        words(subject.formula("A v = 0" if kin.a.is_zero() else "A v + a = 0"), ", row by row:"),
        Scalars(tuple(lines)),
    ]
    if positions:
        blocks += [words("The holonomic ones are the rates of"), Scalars(tuple(positions))]
    return "Constraints", blocks


def _as_written(model: Model) -> list[Draft]:
    """Definitions of the model and the rows that use them, in its own words."""
    if not model.definitions:
        return []
    rows = [(d.name, d.expression, d.unit) for d in model.definitions]
    rows += [(r.name, f"{r.expression} = 0", r.unit) for r in model.rows]
    return [
        words("The model defines, and writes its rows with that:"),
        CellTable(("name", "expression", "unit"), tuple(rows)),
    ]


def _position_note(row: RowTrace) -> str:
    return f"{row.name}, position"


def admissible_speeds(subject: Subject, letter: Glyph) -> Drafted:
    """v = S η + s, and the dependent speeds one by one."""
    kin, notation = subject.kin, subject.notation
    own = [s.name for s in kin.speeds]
    defined = [
        (e.glyph, Item(subject.at_v(ca.mtimes(kin.E[j, :], kin.symbols.v)), kin.eta[j]), "")
        for j, e in enumerate(notation.independent_speeds)
        if e.name not in own
    ]
    blocks: list[Draft] = [
        words(
            f"The constraints leave {kin.num_independent_speeds} of {kin.num_speeds} speeds free: ",
            subject.letter("η"),
            " = ",
            _tuple(glyphs(notation.independent_speeds)),
            ".",
        )
    ]
    if defined:
        blocks += [words("By definition"), Scalars(tuple(defined))]
    if kin.num_independent_speeds and kin.row_basis:
        S = ca.densify(kin.S)
        blocks.append(words("All admissible speeds are"))
        rows = glyphs(notation.speeds)
        taken = notation.taken
        blocks.append(
            Matrix(name=letter, letter=letter, shown=S, compiled=S, row_names=rows, taken=taken)
        )
    dependent = [
        (e.glyph, Item(kin.v[k], kin.v[k], symbol(e.glyph)), subject.note(e.name, of_speeds=True))
        for k, e in enumerate(notation.speeds)
        if k not in subject.independent
    ]
    if dependent:
        blocks += [words("so that the dependent speeds are"), Scalars(tuple(dependent))]
    return "Admissible speeds", blocks


def _tuple(entries: tuple[Node, ...]) -> Node:
    return Fenced(joined(list(entries), Operator(",")))


def constraint_forces(subject: Subject) -> Drafted | None:
    """λ of the independent rows, in the accelerations."""
    kin, notation = subject.kin, subject.notation
    if not kin.row_basis:
        return None
    lines = [
        (
            e.glyph,
            Item(subject.multipliers[k], _compiled_multiplier(subject, k)),
            subject.note(f"reaction.{e.name}", e.name),
        )
        for k, e in enumerate(notation.multipliers)
    ]
    blocks: list[Draft] = [
        words("The constraint forces, one for each row, in terms of the accelerations:"),
        Scalars(tuple(lines)),
    ]
    if kin.redundant:
        names = ", ".join(f"'{kin.rows[r.row].name}'" for r in kin.redundant)
        blocks.append(words(f"Rows that follow from others ({names}) are included in those."))
    return "Constraint forces", blocks


def force_states(subject: Subject) -> Drafted | None:
    """ż of the states that forces have of their own."""
    rates = subject.equations.forces.state_rates
    lines = [
        (e.glyph.rate, Item(rates[k], rates[k]), subject.note(e.name))
        for k, e in enumerate(subject.notation.force_states)
    ]
    if not lines:
        return None
    return "States of forces", [words("Forces have states that follow"), Scalars(tuple(lines))]


def _compiled_multiplier(subject: Subject, k: int) -> ca.SX:
    """λ as compiled; with redundant rows only their share of the reactions is, so λ itself."""
    kin, equations = subject.kin, subject.equations
    if equations.costates.shape[0]:
        return -equations.costate_rates[k]
    if kin.redundant:
        return subject.lam[k]
    return equations.multipliers[kin.row_basis[k]]


def matrix(
    subject: Subject,
    letter: Glyph,
    shown: ca.SX,
    compiled: ca.SX,
    rows: tuple[Node, ...] = (),
    *,
    name: Node | None = None,
    is_symmetric: bool = False,
) -> Matrix:
    """A matrix under a letter, whose entries are called by it."""
    return Matrix(
        name=name or letter,
        letter=letter,
        shown=ca.densify(shown),
        compiled=ca.densify(compiled),
        row_names=rows,
        is_symmetric=is_symmetric,
        taken=subject.notation.taken,
    )


def column(
    subject: Subject,
    letter: Glyph | None,
    shown: ca.SX,
    compiled: ca.SX,
    rows: tuple[Node, ...] = (),
    *,
    name: Node | None = None,
) -> Matrix:
    """A column under a letter, or under a name and without labels."""
    left = name or letter
    assert left is not None, "a column has a letter or a name"
    return Matrix(
        name=left,
        letter=letter,
        shown=ca.densify(shown),
        compiled=ca.densify(compiled),
        row_names=rows,
        is_column=True,
        taken=subject.notation.taken,
    )


def reduced_mass(subject: Subject, letter: Glyph, name: Node | None = None) -> Matrix:
    """The reduced mass matrix under a formulation's letter."""
    eta = glyphs(subject.notation.independent_speeds)
    shown, compiled = subject.simplest.reduced_mass, subject.equations.reduced_mass
    return matrix(subject, letter, shown, compiled, eta, name=name, is_symmetric=True)


def reduced_motion(
    subject: Subject, mass: Matrix, bias: list[Term], forces: list[Matrix]
) -> Drafted:
    """Rows M η̇ + h = f in the independent speeds.

    Parameters
    ----------
    mass : M.
    bias : h of each row.
    forces : columns that add up to f.
    """
    entries = subject.notation.independent_speeds
    printed = combinations(subject, mass.shown, _whole(bias, forces))
    rows = []
    for i, (entry, row) in enumerate(zip(entries, printed, strict=True)):
        rates = [symbol(e.glyph.rate) for e in entries]
        if row.is_plain:
            left = [mass.term(i, j, rate) for j, rate in enumerate(rates)]
            right = [force.term(i) for force in forces]
            rows.append(
                (
                    (*left, bias[i]),
                    tuple(right),
                    subject.note(entry.name, entry.name, of_speeds=True),
                )
            )
            continue
        left = [
            Term(_combined(row.weights, mass.shown[:, j], mass.compiled[:, j]), factor=rate)
            for j, rate in enumerate(rates)
        ]
        left.append(Term(_combined(row.weights, *_columns(bias))))
        right = [Term(_combined(row.weights, force.shown, force.compiled)) for force in forces]
        rows.append(
            (tuple(left), tuple(right), subject.note(entry.name, entry.name, of_speeds=True))
        )
    return "Equations of motion", [*motion_rows(rows), *explained(subject, printed)]


def _columns(terms: list[Term]) -> tuple[ca.SX, ca.SX]:
    """Terms below each other, as they are shown and as they are compiled."""
    return (
        ca.vertcat(*[t.sign * t.item.shown for t in terms]),
        ca.vertcat(*[t.sign * t.item.compiled for t in terms]),
    )


def _whole(bias: list[Term], forces: list[Matrix]) -> ca.SX:
    """h − f of all rows."""
    if not bias:
        return ca.SX(0, 1)
    whole, _ = _columns(bias)
    for force in forces:
        whole = whole - force.shown
    return whole


def _combined(weights: ca.SX, shown: ca.SX, compiled: ca.SX) -> Item:
    """A weighted sum of entries, which stands in the equations of motion."""
    return Item(ca.mtimes(weights, shown), ca.mtimes(weights, compiled), is_motion=True)


def motion_rows(
    rows: list[tuple[tuple[Term, ...], tuple[Term, ...], str]],
) -> list[Draft]:
    """Rows of equations, or words where nothing is left to solve for."""
    if not rows:
        return [words("No degree of freedom is left, so there is nothing to solve for.")]
    return [Motion(tuple(rows))]


def general(subject: Subject) -> list[Drafted]:
    """M η̇ + h = f, with M, h and f as the formulation fills them."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    formulation = subject.equations.formulation
    f = [e.reduced_forces + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    mass = reduced_mass(subject, subject.letter("M"))
    bias = column(subject, subject.letter("h"), routes[0].reduced_bias, routes[1].reduced_bias)
    forces = column(subject, subject.letter("f"), f[0], f[1])
    blocks: list[Draft] = [
        *(_paragraph(subject, text) for text in formulation.prose),
        words("In the independent speeds ", subject.formula("M η̇ + h = f"), " with"),
        *(mass, bias, forces),
    ]
    rows = [bias.term(i) for i in range(kin.num_independent_speeds)]
    title = formulation.name[:1].upper() + formulation.name[1:]
    return [(title, blocks), reduced_motion(subject, mass, rows, [forces])]


def _paragraph(subject: Subject, text: str) -> Paragraph:
    """Words with formulas between dollar signs."""
    return words(*(subject.formula(t) if k % 2 else t for k, t in enumerate(text.split("$")) if t))

"""What the reduced derivations share: the rows M η̇ + h = f, mass matrices and columns."""

from __future__ import annotations

import casadi as ca
import sympy

from noslip.formulations.base import Equations
from noslip.show.confirming import Item
from noslip.show.derivation import Matrix, Motion, Term
from noslip.show.derivation_common import Drafted, glyphs
from noslip.show.derivation_subject import Subject
from noslip.show.glyphs import Glyph
from noslip.show.layout import Node
from noslip.show.notation import symbol


def reduced_motion(
    subject: Subject,
    letter: Glyph,
    bias_labels: list[sympy.Expr] | None,
    routes: tuple[Equations, Equations],
    forces: list[tuple[str, ca.SX, ca.SX]],
    bias: tuple[ca.SX, ca.SX] | None = None,
) -> Drafted:
    """Rows M η̇ + h = f in the independent speeds.

    Parameters
    ----------
    letter : of the mass matrix.
    bias_labels : how the velocity terms of each row are written if they are long.
    routes : the shortest one, and the formulation's own.
    forces : letter of the labels, and the column by both routes, of each share.
    bias : velocity terms by both routes, if they are not those of the routes.
    """
    shown, own = routes
    h = bias if bias is not None else (shown.reduced_bias, own.reduced_bias)
    accelerations = [symbol(e.glyph.rate) for e in subject.notation.independent_speeds]
    mass = Matrix(letter, letter, shown.reduced_mass, own.reduced_mass, is_symmetric=True)
    rows = []
    for i, entry in enumerate(subject.notation.independent_speeds):
        left = [
            Term(
                Item(shown.reduced_mass[i, j], own.reduced_mass[i, j], is_motion=True),
                symbol_or_none(mass.label(i, j)),
                factor,
            )
            for j, factor in enumerate(accelerations)
        ]
        label = None if bias_labels is None else bias_labels[i]
        left.append(Term(Item(h[0][i], h[1][i], is_motion=True), label))
        right = []
        for letters, ours, theirs in forces:
            named = column_block(Glyph(letters), letters, ours, theirs).label(i, 0)
            right.append(Term(Item(ours[i], theirs[i], is_motion=True), symbol_or_none(named)))
        rows.append((tuple(left), tuple(right), entry.name))
    return "Equations of motion", [Motion(tuple(rows))]


def symbol_or_none(glyph: Glyph | None) -> sympy.Symbol | None:
    """The symbol of a glyph, if there is one."""
    return None if glyph is None else symbol(glyph)


def mass_block(subject: Subject, letter: Glyph, name: Node | None = None) -> Matrix:
    """The reduced mass matrix under a letter."""
    eta = glyphs(subject.notation.independent_speeds)
    shown, compiled = subject.simplest.reduced_mass, subject.equations.reduced_mass
    return Matrix(name or letter, letter, shown, compiled, eta, eta, is_symmetric=True)


def column_block(name: Node, letter: str | None, shown: ca.SX, compiled: ca.SX) -> Matrix:
    """A column; its entries are called by the letter, and an index after a comma."""
    base, _, index = (letter or "").partition(",")
    glyph = None if letter is None else Glyph(base, index)
    return Matrix(name, glyph, ca.densify(shown), ca.densify(compiled))

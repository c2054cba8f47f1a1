"""Matrices, columns and rows of motion as the derivations draft them."""

from __future__ import annotations

import casadi as ca

from noslip.show.equations.derivations.common import Drafted, glyphs
from noslip.show.equations.derivations.document import Draft, Matrix, Motion, Term, words
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import Node
from noslip.show.equations.notation import symbol


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
    rows = []
    for i, entry in enumerate(entries):
        left = [mass.term(i, j, symbol(e.glyph.rate)) for j, e in enumerate(entries)]
        right = [force.term(i) for force in forces]
        rows.append(((*left, bias[i]), tuple(right), entry.name))
    return "Equations of motion", motion_rows(rows)


def motion_rows(
    rows: list[tuple[tuple[Term, ...], tuple[Term, ...], str]],
) -> list[Draft]:
    """Rows of equations, or words where nothing is left to solve for."""
    if not rows:
        return [words("No degree of freedom is left, so there is nothing to solve for.")]
    return [Motion(tuple(rows))]

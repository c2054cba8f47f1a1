"""The equations of small motions about straight running, printed in the model's letters.

The coefficients are those of `canonical_form`, in numbers:

    M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = F u
"""

from __future__ import annotations

import numpy as np
import sympy

from noslip.analysis.canonical import CanonicalForm, canonical_form
from noslip.engines.system import compile
from noslip.errors import SimulationError
from noslip.formulations.base import Equations
from noslip.model.expressions import names_of
from noslip.show.equations.coordinates import printed_equations
from noslip.show.equations.derivations.document import EquationLine, Lines, Section, words
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.layout import MathNumber
from noslip.show.equations.notation import Entry, symbol

#: Digits of the coefficients, and the share of the largest one below which it is rounding.
DIGITS, ROUNDING = 6, 1e-12


def linear_sections(equations: Equations, speed: str) -> list[Section]:
    """A document of the linear equations about straight running at a speed.

    Parameters
    ----------
    equations : of the whole motion.
    speed : name of the speed v that straight motions differ in.

    Raises
    ------
    SimulationError : if small motions are not of this form, or nothing says what gravity is.
    """
    model = equations.model
    texts = [x for x in model.gravity if isinstance(x, str)]
    weights = sorted({name for text in texts for name in names_of(text)})
    if len(weights) != 1:
        raise SimulationError(
            "the gravity of the model is not one parameter",
            f"model '{model.name}', gravity",
            'write it by one, such as gravity = [0, 0, "-g"]',
        )
    form = canonical_form(compile(equations), speed=speed, gravity=weights[0])
    subject = Subject(printed_equations(equations))
    notation = subject.notation
    known = {e.name: e for e in (*notation.legend, *notation.independent_speeds)}
    lines = [
        EquationLine(
            subject.arrange.sum_of(left, keep=True),
            subject.arrange.sum_of(right, keep=True) if right else MathNumber("0"),
            form.coordinates[i].name,
        )
        for i, (left, right) in enumerate(linear_rows(form, known, speed, weights[0]))
    ]
    said = words(
        "Small motions about straight running at the speed ",
        known[speed].glyph,
        ", with coefficients in SI units at the model's own parameters, to "
        f"{DIGITS} digits. They are exact derivatives of the equations of motion.",
    )
    return [Section("Linear equations", (said, Lines(tuple(lines))))]


def linear_rows(
    form: CanonicalForm, known: dict[str, Entry], speed: str, gravity: str
) -> list[tuple[list[sympy.Expr], list[sympy.Expr]]]:
    """Terms on the left and on the right of each row."""
    v, g = symbol(known[speed].glyph), symbol(known[gravity].glyph)
    q = [known[c.name].glyph for c in form.coordinates]
    rows = []
    for i in range(len(q)):
        left: list[sympy.Expr] = []
        for matrix, factor, dots in (
            (form.M, 1, 2),
            (form.C1, v, 1),
            (form.K0, g, 0),
            (form.K2, v**2, 0),
        ):
            for j, glyph in enumerate(q):
                moved = glyph
                for _ in range(dots):
                    moved = moved.rate
                left += _term(matrix, i, j, factor * symbol(moved))
        right = [
            term
            for k, u in enumerate(form.inputs)
            for term in _term(form.F, i, k, symbol(known[u.name].glyph))
        ]
        rows.append((left, right))
    return rows


def _term(matrix: np.ndarray, i: int, j: int, factor: sympy.Expr) -> list[sympy.Expr]:
    """An entry times a factor; nothing for a zero."""
    value = float(matrix[i, j])
    if abs(value) <= ROUNDING * float(np.max(np.abs(matrix), initial=0.0)):
        return []
    rounded = float(f"{value:.{DIGITS}g}")
    number = sympy.Integer(int(rounded)) if rounded == int(rounded) else sympy.Float(rounded, 15)
    return [number * factor]

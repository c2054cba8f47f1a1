"""Rows of motion combined by a nonsingular matrix where this makes them shorter.

Row i of M η̇ + h = f less M_ij/M_jj times row j has no η̇_j any more. That is worth printing where
the ratio is short and the row becomes shorter by it, as for the spin of a disk, whose row holds
cos θ times the row of its yaw. What is then common to all terms of the row is divided out if it is
never zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import sympy

from noslip.show.equations.blocks import Paragraph, words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.document import measure
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.layout import Node
from noslip.show.equations.notation import symbol
from noslip.show.equations.writing import write

#: Rows that are tried; of more the printed equations are long anyway.
MOST_ROWS = 4
#: Nodes in a ratio of entries, and in all rows, beyond which nothing is tried.
LONGEST_RATIO, LONGEST_ROWS = 8, 600
#: Time limit of each trial, s.
SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """A printed row as a sum of rows: Σ factor · row, over a divisor.

    Parameters
    ----------
    weights : (1, nf) traced, of all rows.
    less : the row that is subtracted and its factor.
    divisor : common to all terms.
    """

    weights: ca.SX
    less: tuple[int, sympy.Expr] | None = None
    divisor: sympy.Expr = sympy.Integer(1)

    @property
    def is_plain(self) -> bool:
        """Whether it is the row itself."""
        return self.less is None and self.divisor == 1


def combinations(subject: Subject, mass: ca.SX, rest: ca.SX) -> list[Combination]:
    """Combination of rows of mass · η̇ + rest that is printed for each row."""
    num = mass.shape[0]
    unit = ca.SX.eye(num)
    plain = [Combination(ca.densify(unit[i, :])) for i in range(num)]
    if not 1 < num <= MOST_ROWS:
        return plain
    rows = ca.horzcat(mass, rest)
    written = [_written(subject, rows[i, :]) for i in range(num)]
    if any(row is None for row in written):
        return plain
    known = [row for row in written if row is not None]
    lengths = [sum(measure(e) for e in row) for row in known]
    if sum(lengths) > LONGEST_ROWS:
        return plain
    done = list(plain)
    used: set[int] = set()
    moving = {symbol(e.glyph) for e in subject.notation.coordinates}
    for i in range(num):
        for j in range(num):
            if i == j or i in used or not done[j].is_plain:
                continue
            ratio = _ratio(known[i][j], known[j][j])
            # a number would only hide which force drives which speed
            if ratio is None or not ratio.free_symbols & moving:
                continue
            weights = ca.densify(unit[i, :] - _traced(subject, ratio) * unit[j, :])
            terms = _written(subject, ca.mtimes(weights, rows))
            if terms is None or sum(measure(e) for e in terms) >= lengths[i]:
                continue
            divisor = _common(subject, terms)
            done[i] = Combination(weights / _traced(subject, divisor), (j, ratio), divisor)
            used |= {i, j}
            break
    return done


def explained(subject: Subject, rows: list[Combination]) -> list[Paragraph]:
    """Explain how the rows were combined."""
    if all(row.is_plain for row in rows):
        return []
    names = subject.notation.independent_speeds
    parts: list[str | Node] = []
    for i, row in enumerate(rows):
        if row.less is None:
            continue
        j, ratio = row.less
        factor: list[str | Node] = [] if ratio == 1 else [subject.arrange(ratio), " times "]
        over: list[str | Node] = (
            [] if row.divisor == 1 else [", divided by ", subject.arrange(row.divisor)]
        )
        parts += [
            "; that of " if parts else "The row of ",
            names[i].glyph,
            " is printed less ",
            *factor,
            "that of ",
            names[j].glyph,
            *over,
        ]
    return [words(*parts, ", which is shorter and has the same solutions.")]


def _written(subject: Subject, row: ca.SX) -> list[sympy.Expr] | None:
    """The terms of a row in closed form; None if they have parts."""
    entries = [row[k] for k in range(row.shape[1])]
    found = write([Item(e, e) for e in entries], subject.alphabet, seconds=SECONDS)
    if found.is_late or any(found.parts) or any(e.is_Dummy for e in found.expressions):
        return None
    return found.expressions


def _ratio(entry: sympy.Expr, diagonal: sympy.Expr) -> sympy.Expr | None:
    """entry/diagonal, if it is short and has no denominator."""
    if entry == 0 or diagonal == 0 or measure(entry) + measure(diagonal) > 60:
        return None
    ratio = sympy.cancel(entry / diagonal)
    _, bottom = sympy.fraction(ratio)
    is_short = measure(ratio) <= LONGEST_RATIO and not bottom.free_symbols
    return ratio if is_short and not ratio.is_Add else None


def _common(subject: Subject, terms: list[sympy.Expr]) -> sympy.Expr:
    """Common nonzero factor of all terms: masses, inertias, and sines and cosines of angles.

    Those are the second ones of a sequence, where they are positive. A length may be zero.
    """
    alphabet = subject.alphabet
    kinds = {"sine": sympy.sin, "cosine": sympy.cos}
    allowed = {kinds[kind](alphabet.symbols[k]) for kind, k in alphabet.positive}
    allowed |= {alphabet.symbols[k] for k in alphabet.leading}
    found: dict[sympy.Expr, int] | None = None
    for term in terms:
        if term == 0:
            continue
        powers = {b: int(e) for b, e in term.as_powers_dict().items() if e.is_Integer and e > 0}
        if found is None:
            found = {b: e for b, e in powers.items() if b in allowed}
        else:
            found = {b: min(e, powers[b]) for b, e in found.items() if b in powers}
    return sympy.Mul(*[b**e for b, e in (found or {}).items()])


def _traced(subject: Subject, expression: sympy.Expr) -> ca.SX:
    """An expression of the alphabet's symbols as a traced one."""
    values = ca.vertsplit(ca.vertcat(*subject.alphabet.columns))
    known = dict(zip(reversed(subject.alphabet.symbols), reversed(values), strict=True))
    used = sorted(expression.free_symbols, key=str)
    function = sympy.lambdify(used, expression, modules=[{"sin": ca.sin, "cos": ca.cos}])
    return ca.SX(function(*[known[s] for s in used]))

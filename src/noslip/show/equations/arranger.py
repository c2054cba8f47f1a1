"""SymPy expressions as layout trees."""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from noslip.show.equations.glyphs import Glyph, glyph_of_text
from noslip.show.equations.layout import (
    DIGITS,
    MINUS,
    PLUS,
    Cases,
    Fenced,
    MathCall,
    MathNumber,
    MathRow,
    Node,
    Operator,
    Power,
    Quotient,
    Root,
    Word,
    number,
    row,
)

_RELATIONS = {"Gt": ">", "Lt": "<", "Ge": "≥", "Le": "≤", "Eq": "=", "Ne": "≠"}
_NAMES = {"Abs": "abs", "ceiling": "ceil", "Min": "min", "Max": "max"}


class Arranger:
    """Arranges SymPy expressions.

    Parameters
    ----------
    glyphs : how each symbol is written.
    ranks : place of each symbol within a product: parameters first, then speeds, then inputs.
    """

    def __init__(
        self, glyphs: Mapping[sympy.Symbol, Glyph], ranks: Mapping[sympy.Symbol, tuple[int, int]]
    ) -> None:
        self.glyphs = glyphs
        self.ranks = ranks
        self._names: dict[sympy.Expr, str] = {}

    def __call__(self, expression: sympy.Expr) -> Node:
        """The expression as a node."""
        if expression.is_Add:
            return self.sum_of(expression.args)
        if expression.is_Mul or (expression.is_Rational and not expression.is_Integer):
            return self._product(expression)
        if expression.is_Symbol:
            return self.glyphs.get(expression) or glyph_of_text(expression.name)
        if expression.is_Number or expression in (sympy.pi, sympy.oo, sympy.nan):
            return _number(expression)
        if expression.is_Pow:
            return self._power(expression)
        if isinstance(expression, sympy.Piecewise):
            return self._cases(expression)
        if isinstance(expression, sympy.Rel):
            sign = Operator(_RELATIONS[_relation(expression)])
            return row(self(expression.lhs), sign, self(expression.rhs))
        if isinstance(expression, sympy.And | sympy.Or):
            word = Word(" and " if isinstance(expression, sympy.And) else " or ")
            items: list[Node] = [self(a) for a in expression.args]
            return MathRow(tuple(x for k, i in enumerate(items) for x in ([word, i] if k else [i])))
        name = type(expression).__name__
        return MathCall(_NAMES.get(name, name), tuple(self(a) for a in expression.args))

    def sum_of(
        self, terms: tuple[sympy.Expr, ...] | list[sympy.Expr], keep: bool = False
    ) -> MathRow:
        """Terms with their signs between them, positive ones first unless the order is to stay."""
        ordered = list(terms) if keep else sorted(terms, key=self._term_key)
        items: list[Node] = []
        for k, term in enumerate(ordered):
            negative = term.could_extract_minus_sign() and not term.is_Add
            if negative:
                items.append(MINUS)
            elif k:
                items.append(PLUS)
            arranged = self(-term if negative else term)
            items.append(Fenced(arranged) if term.is_Add and k else arranged)
        return MathRow(tuple(items))

    def _term_key(self, term: sympy.Expr) -> tuple[object, ...]:
        negative = term.could_extract_minus_sign()
        return (negative, *self._factor_key(sympy.Mul.make_args(-term if negative else term)))

    def _factor_key(self, factors: tuple[sympy.Expr, ...]) -> tuple[object, ...]:
        return (tuple(sorted((self._rank(f) for f in factors if not f.is_Number), reverse=True)),)

    def _rank(self, factor: sympy.Expr) -> tuple[int, int, str]:
        """Sort key of a factor: parameters, sums, coordinates, speeds, inputs, functions."""
        base = factor.base if factor.is_Pow and factor.exp.is_Integer else factor
        if base.is_Symbol:
            return (*self.ranks.get(base, (1, 0)), base.name)
        if base.is_Number or base.is_NumberSymbol:
            return (-1, 0 if base.is_Number else 1, "")
        if base not in self._names:
            # what it is made of; equal names leave the order as it is
            self._names[base] = ",".join(sorted(s.name for s in base.free_symbols))
        place = 2 if base.is_Add else 8 if base.is_Pow else 9
        return (place, 0, type(base).__name__ + self._names[base])

    def _product(self, expression: sympy.Expr) -> Node:
        if expression.could_extract_minus_sign():
            return row(MINUS, self(-expression))
        top, bottom = sympy.fraction(expression)
        if bottom != 1:
            return Quotient(self(top), self(bottom))
        factors = sorted(sympy.Mul.make_args(top), key=self._rank)
        items: list[Node] = []
        for k, factor in enumerate(factors):
            arranged = self(factor)
            is_sum = factor.is_Add or isinstance(factor, sympy.Piecewise)
            if k and isinstance(arranged, MathNumber) and isinstance(items[-1], MathNumber):
                items.append(Operator("·"))
            items.append(Fenced(arranged) if is_sum and len(factors) > 1 else arranged)
        return items[0] if len(items) == 1 else MathRow(tuple(items))

    def _power(self, expression: sympy.Pow) -> Node:
        base, exponent = expression.base, expression.exp
        if exponent.is_Rational and exponent < 0:
            return Quotient(MathNumber("1"), self(sympy.Pow(base, -exponent)))
        if exponent == sympy.Rational(1, 2):
            return Root(self(base))
        inside, above = self(base), self(exponent)
        if isinstance(inside, MathCall) and inside.power is None and exponent.is_Integer:
            return MathCall(inside.name, inside.arguments, above)
        bare = isinstance(inside, Glyph | MathNumber | Root)
        return Power(inside if bare else Fenced(inside), above)

    def _cases(self, expression: sympy.Piecewise) -> Node:
        return Cases(
            tuple(
                (self(value), None if condition == sympy.true else self(condition))
                for value, condition in expression.args
            )
        )


def _relation(expression: sympy.Rel) -> str:
    names = {"StrictGreaterThan": "Gt", "StrictLessThan": "Lt", "GreaterThan": "Ge"}
    names |= {"LessThan": "Le", "Equality": "Eq", "Unequality": "Ne"}
    return names[type(expression).__name__]


def _number(expression: sympy.Expr) -> Node:
    if expression == sympy.pi:
        return Glyph("π")
    if expression in (sympy.oo, -sympy.oo, sympy.nan):
        return Word(str(expression))
    if expression.is_Float:
        text = f"{float(expression):.{DIGITS}g}"
    else:
        text = str(expression)
    return number(text)

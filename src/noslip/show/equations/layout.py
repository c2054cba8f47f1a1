"""Layout trees of formulas, the same for text, LaTeX and MathML.

A node is a glyph, a number, an operator, a word, or one of the arrangements below. They are made
from SymPy expressions (`Arranger`) or from a line of Unicode (`formula`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sympy

from noslip.show.equations.glyphs import Glyph, glyph_of_text


@dataclass(frozen=True, slots=True)
class MathNumber:
    """A number, as digits."""

    digits: str


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator sign between or before nodes: + − = · ∂ Σ ≥."""

    sign: str


@dataclass(frozen=True, slots=True)
class Word:
    """Upright text within mathematics."""

    text: str


@dataclass(frozen=True, slots=True)
class MathRow:
    """Nodes side by side."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """A fraction: one node over another."""

    top: Node
    bottom: Node


@dataclass(frozen=True, slots=True)
class Power:
    """A superscript: a node with an exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Root:
    """The square root of a node."""

    inside: Node


@dataclass(frozen=True, slots=True)
class Fenced:
    """A node between brackets."""

    inside: Node
    left: str = "("
    right: str = ")"


@dataclass(frozen=True, slots=True)
class MathCall:
    """A function of a node; `power` is written at its name, sin² x."""

    name: str
    arguments: tuple[Node, ...]
    power: Node | None = None


@dataclass(frozen=True, slots=True)
class MathGrid:
    """A matrix."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """A case distinction: nodes with their conditions (None for otherwise)."""

    cases: tuple[tuple[Node, Node | None], ...]


Node = (
    Glyph
    | MathNumber
    | Operator
    | Word
    | MathRow
    | Quotient
    | Power
    | Root
    | Fenced
    | MathCall
    | MathGrid
    | Cases
)

#: Digits of numbers that are not simple fractions.
DIGITS = 10
PLUS, MINUS = Operator("+"), Operator("−")
_RELATIONS = {"Gt": ">", "Lt": "<", "Ge": "≥", "Le": "≤", "Eq": "=", "Ne": "≠"}
_NAMES = {"Abs": "abs", "ceiling": "ceil", "Min": "min", "Max": "max"}


def row(*items: Node) -> MathRow:
    """Nodes side by side."""
    return MathRow(items)


def joined(items: list[Node], sign: Operator) -> MathRow:
    """Nodes with an operator between them."""
    placed: list[Node] = []
    for k, item in enumerate(items):
        placed += [sign, item] if k else [item]
    return MathRow(tuple(placed))


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
        """Where a factor stands: parameters, sums, coordinates, speeds, inputs, functions."""
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
    if "e" in text:
        digits, _, exponent = text.partition("e")
        power = Power(MathNumber("10"), _signed(str(int(exponent))))
        return power if digits == "1" else row(_signed(digits), Operator("·"), power)
    return _signed(text)


def _signed(text: str) -> Node:
    return row(MINUS, MathNumber(text[1:])) if text.startswith("-") else MathNumber(text)


_RAISED: dict[str, Node] = {
    "ᵀ": Glyph("T"),
    "²": MathNumber("2"),
    "⁻¹": row(MINUS, MathNumber("1")),
}
_TOKEN = re.compile(
    r"(?P<word>\"[^\"]*\")|(?P<base>(?!½)[^\W\d_]|∂)(?P<dots>[\u0307\u0308]?)"
    r"(?:_(?:\{(?P<long>[^}]*)\}|(?P<short>\w)))?(?P<raised>(?:⁻¹|ᵀ|²)?)"
    r"|(?P<number>\d+)|(?P<open>[(\[])|(?P<close>[)\]])(?P<outer>(?:⁻¹|ᵀ|²)?)|(?P<sign>\S)"
)


def formula(line: str, letter: Callable[[Glyph], Glyph] = lambda glyph: glyph) -> MathRow:
    """A line such as ``I η̇ = C η + τ`` as a node; each letter is a symbol, "words" are upright.

    `letter` says how each of them is written.
    """
    stack: list[list[Node]] = [[]]
    brackets: list[str] = []
    for token in _TOKEN.finditer(unicodedata.normalize("NFD", line)):
        if token["word"]:
            stack[-1].append(Word(token["word"][1:-1]))
        elif token["base"]:
            dots = {"": 0, "\u0307": 1, "\u0308": 2}[token["dots"]]
            index = token["long"] or token["short"] or ""
            written: Node = (
                Operator("∂") if token["base"] == "∂" else letter(Glyph(token["base"], index, dots))
            )
            stack[-1].append(_raised(written, token["raised"]))
        elif token["number"]:
            stack[-1].append(MathNumber(token["number"]))
        elif token["open"]:
            brackets.append(token["open"])
            stack.append([])
        elif token["close"]:
            inside = MathRow(tuple(stack.pop()))
            stack[-1].append(
                _raised(Fenced(inside, brackets.pop(), token["close"]), token["outer"])
            )
        elif token["sign"] == "½":
            stack[-1].append(Quotient(MathNumber("1"), MathNumber("2")))
        else:
            stack[-1].append(Operator(token["sign"]))
    return MathRow(tuple(stack[0]))


def _raised(node: Node, mark: str) -> Node:
    return Power(node, _RAISED[mark]) if mark else node

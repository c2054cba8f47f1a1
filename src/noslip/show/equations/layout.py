"""Layout trees of formulas, the same for text, LaTeX and MathML.

A node is a glyph, a number, an operator, a word, or one of the arrangements below. They are made
from SymPy expressions (`arranger`), from sums (`plain`) or from a line of Unicode (`formula`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from noslip.show.equations.glyphs import Glyph


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

PLUS, MINUS = Operator("+"), Operator("−")


def row(*items: Node) -> MathRow:
    """Nodes side by side."""
    return MathRow(items)


def joined(items: list[Node], sign: Operator) -> MathRow:
    """Nodes with an operator between them."""
    placed: list[Node] = []
    for k, item in enumerate(items):
        placed += [sign, item] if k else [item]
    return MathRow(tuple(placed))


#: Digits of numbers that are not simple fractions.
DIGITS = 10


def number(text: str) -> Node:
    """A number as Python prints it; a power of ten where it has an exponent."""
    if "e" not in text:
        return signed_number(text)
    digits, _, exponent = text.partition("e")
    power = Power(MathNumber("10"), signed_number(str(int(exponent))))
    return power if digits == "1" else row(signed_number(digits), Operator("·"), power)


def signed_number(text: str) -> Node:
    """A number as digits, its sign before it."""
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

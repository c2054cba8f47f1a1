"""A safe reader of arithmetic: text in, a small tree out, nothing ever run as code.

Grammar (lowest binding first), with the usual meaning; `**` or `^` is the power, right associative:

    sum     = product { ("+" | "-") product }
    product = signed { ("*" | "/") signed }
    signed  = ("+" | "-") signed | power
    power   = atom [ ("**" | "^") signed ]
    atom    = number | name | name "(" sum { "," sum } ")" | "(" sum ")"

Names are letters, digits, `_` and `.` (``wheel1.angle``). Functions are those of `FUNCTIONS`.
Length and nesting are capped, so that a hostile file can neither stall nor overflow the reader;
trees are walked by :func:`fold`, which needs no deep recursion.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from noslip.model.quantities import Scalar

MAX_LENGTH = 2000
MAX_DEPTH = 60

#: Functions an expression may call, with the number of their arguments.
FUNCTIONS: dict[str, int] = {
    "sqrt": 1, "exp": 1, "log": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2,
    "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "abs": 1, "sign": 1, "floor": 1, "min": 2, "max": 2,
}  # fmt: skip

#: Names every expression knows.
CONSTANTS: dict[str, float] = {"pi": math.pi}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)"
    r"|(?P<symbol>\*\*|[-+*/^(),]))",
    re.ASCII,
)


class ExpressionError(ValueError):
    """The text is not an expression; the message says why and at which character."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter, a coordinate, a speed, an input, or time."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator (``+ - * / **`` and ``neg``) or a function, applied to its arguments."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Number | Name | Call


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """The tree of an expression.

    Raises
    ------
    ExpressionError : with the position of what cannot be read.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"it has {len(text)} characters, at most {MAX_LENGTH} are read")
    reader = _Reader(_tokens(text))
    tree = reader.sum(0)
    if reader.peek() is not None:
        raise ExpressionError(f"'{reader.peek()}' at character {reader.position()} is not expected")
    return tree


def fold(
    expression: Expression,
    leaf: Callable[[Number | Name], Any],
    call: Callable[[str, list[Any]], Any],
) -> Any:
    """Fold a tree bottom-up: map its leaves, then its calls on the results of their arguments.

    Parameters
    ----------
    expression : Expression
        A tree from :func:`parse`; a sum of a thousand terms is a thousand levels deep.
    leaf : function
        Result of a number or a name.
    call : function
        Result of an operator or function, from its word and the results of its arguments.
    """
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    results: list[Any] = []
    while waiting:
        node, arguments_done = waiting.pop()
        if not isinstance(node, Call):
            results.append(leaf(node))
        elif arguments_done:
            first = len(results) - len(node.arguments)
            results[first:] = [call(node.function, results[first:])]
        else:
            waiting.append((node, True))
            waiting.extend((argument, False) for argument in reversed(node.arguments))
    return results[0]


def names_in(expression: Expression) -> set[str]:
    """All names the expression refers to."""
    return fold(
        expression,
        lambda node: {node.name} if isinstance(node, Name) else set(),
        lambda _, arguments: set().union(*arguments),
    )


@lru_cache(maxsize=4096)
def names_of(text: str) -> frozenset[str]:
    """All names that a text refers to.

    Raises
    ------
    ExpressionError : the text cannot be read.
    """
    return frozenset(names_in(parse(text)))


def evaluate(
    expression: Expression,
    values: Mapping[str, Any],
    algebra: Any,
    literal: Callable[[float], Any] = float,
) -> Any:
    """The value of an expression in any algebra.

    Parameters
    ----------
    expression : Expression
        A tree from :func:`parse`.
    values : mapping
        What each name stands for: a number, a traced scalar, a symbol.
    algebra : module or class
        What has the functions: ``casadi``, ``sympy``, or :class:`NUMBERS`.
    literal : function
        What a number stands for; itself by default.
    """

    def leaf(node: Number | Name) -> Any:
        if isinstance(node, Number):
            return literal(node.value)
        return values[node.name] if node.name in values else literal(CONSTANTS[node.name])

    return fold(expression, leaf, lambda function, arguments: apply(function, arguments, algebra))


def apply(function: str, arguments: Sequence[Any], algebra: Any) -> Any:
    """One operator or function of `algebra` on its arguments."""
    match function:
        case "+":
            return arguments[0] + arguments[1]
        case "-":
            return arguments[0] - arguments[1]
        case "*":
            return arguments[0] * arguments[1]
        case "/":
            return arguments[0] / arguments[1]
        case "**":
            return arguments[0] ** arguments[1]
        case "neg":
            return -arguments[0]
        case name:
            return getattr(algebra, _CASADI_NAMES.get(name, name))(*arguments)


def apply_to_numbers(function: str, arguments: Sequence[float]) -> float:
    """One operator or function on numbers; nan where it has no finite real value."""
    if any(math.isnan(argument) for argument in arguments):
        return math.nan
    try:
        value = apply(function, arguments, NUMBERS)
    except (ArithmeticError, ValueError):
        return math.nan
    # a power of a negative number may be complex
    return float(value) if not isinstance(value, complex) and math.isfinite(value) else math.nan


def is_finite(value: Any) -> bool:
    """Whether a value is a number, not a truth value, that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def nominal(scalar: Scalar, values: Mapping[str, float]) -> float:
    """The number a scalar stands for at given parameter values; nan where it has no finite value.

    Parameters
    ----------
    scalar : float or str
        A number, or the text of an expression.
    values : mapping
        Value of each name the expression uses, such as :meth:`Model.parameter_values`.

    Raises
    ------
    ExpressionError : the text cannot be read.
    KeyError : it uses a name that has no value.
    """
    if not isinstance(scalar, str):
        return float(scalar)

    def leaf(node: Number | Name) -> float:
        if isinstance(node, Number):
            return node.value
        return values[node.name] if node.name in values else CONSTANTS[node.name]

    return fold(parse(scalar), leaf, apply_to_numbers)


_CASADI_NAMES = {"abs": "fabs", "min": "fmin", "max": "fmax"}


class NUMBERS:
    """The functions on plain floats, for expressions of parameters with known values."""

    sqrt, exp, log = math.sqrt, math.exp, math.log
    sin, cos, tan = math.sin, math.cos, math.tan
    asin, acos, atan, atan2 = math.asin, math.acos, math.atan, math.atan2
    sinh, cosh, tanh = math.sinh, math.cosh, math.tanh
    asinh, acosh, atanh = math.asinh, math.acosh, math.atanh
    fabs, floor, fmin, fmax = math.fabs, math.floor, min, max

    @staticmethod
    def sign(x: float) -> float:
        return (x > 0) - (x < 0)


def _tokens(text: str) -> list[tuple[str, str, int]]:
    tokens = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n\f\v"))
            raise ExpressionError(f"{text[at]!r} at character {at + 1} is not arithmetic")
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind], match.start(kind) + 1))
        at = match.end()
    return tokens


class _Reader:
    """Recursive descent over the tokens, one method a line of the grammar."""

    def __init__(self, tokens: list[tuple[str, str, int]]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self) -> str | None:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def position(self) -> int:
        return self.tokens[self.at][2] if self.at < len(self.tokens) else -1

    def take(self, *symbols: str) -> str | None:
        if self.at < len(self.tokens) and self.peek() in symbols:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def sum(self, depth: int) -> Expression:
        left = self.product(depth)
        while symbol := self.take("+", "-"):
            left = Call(symbol, (left, self.product(depth)))
        return left

    def product(self, depth: int) -> Expression:
        left = self.signed(depth)
        while symbol := self.take("*", "/"):
            left = Call(symbol, (left, self.signed(depth)))
        return left

    def signed(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"it is nested deeper than {MAX_DEPTH} levels")
        if self.take("-"):
            return Call("neg", (self.signed(depth + 1),))
        if self.take("+"):
            return self.signed(depth + 1)
        base = self.atom(depth)
        if self.take("**", "^"):
            return Call("**", (base, self.signed(depth + 1)))
        return base

    def atom(self, depth: int) -> Expression:
        if self.at >= len(self.tokens):
            raise ExpressionError("it ends where a number, a name or '(' is expected")
        kind, text, position = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            if math.isinf(float(text)):
                raise ExpressionError(f"{text[:12]} at character {position} is too large a number")
            return Number(float(text))
        if kind == "name" and self.peek() == "(":
            return self.call(text, position, depth)
        if kind == "name":
            return Name(text)
        if text == "(":
            inner = self.sum(depth + 1)
            self.close()
            return inner
        raise ExpressionError(f"'{text}' at character {position} is not expected")

    def call(self, name: str, position: int, depth: int) -> Expression:
        if name not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise ExpressionError(
                f"there is no function '{name}' (character {position}); known: {known}"
            )
        self.at += 1
        arguments = [self.sum(depth + 1)]
        while self.take(","):
            arguments.append(self.sum(depth + 1))
        self.close()
        if len(arguments) != FUNCTIONS[name]:
            raise ExpressionError(
                f"'{name}' takes {FUNCTIONS[name]} argument(s), got {len(arguments)}"
            )
        return Call(name, tuple(arguments))

    def close(self) -> None:
        if not self.take(")"):
            raise ExpressionError("a ')' is missing")

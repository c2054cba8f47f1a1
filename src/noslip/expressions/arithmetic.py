"""Arithmetic in texts: a safe reader of expressions, and the units of SI.

**A safe reader of arithmetic: text in, a small tree out, nothing ever run as code.**

Grammar (lowest binding first), with the usual meaning; `**` or `^` is the power, right associative:

    sum     = product { ("+" | "-") product }
    product = signed { ("*" | "/") signed }
    signed  = ("+" | "-") signed | power
    power   = atom [ ("**" | "^") signed ]
    atom    = number [ "[" unit "]" ] | name | name "(" sum { "," sum } ")" | "(" sum ")" | measure
    measure = word "(" body [ "," ... ] ")" "." ( "x" | "y" | "z" ) | "rate" "(" sum ")"

The unit of a number says what it is in; its value is in SI units whatever it says.
Names are letters, digits, `_` and `.` (``wheel1.angle``). Functions are those of `FUNCTIONS`.
Measures are those of `MEASURES`: quantities of the motion of a body, by their components along the
axes of the world, such as ``point(fork, 0.1, 0, 0).z`` or ``axis(disk, z).x``, and ``rate(…)``, the
rate in time of any expression.
Length and nesting are capped, so that a hostile file can neither stall nor overflow the reader;
trees are walked by :func:`fold`, which needs no deep recursion.

**Units of SI: read, refused with the nearest known one, and compared by their dimension.**

A unit is a product of powers, written as in ``kg*m^2``, ``N*m/(rad/s)`` or, for a
dimensionless number, ``1``. It is read by the reader of expressions, so nothing is ever run. Only
coherent units are known: the equations take every number as it stands, so a length in mm would be
taken for one in m.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

from noslip.base import MissingNameError, NoslipError, nearest

#: A number in SI units, or the text of an expression of declared parameters, such as ``"l/2"``.
Scalar: TypeAlias = float | str

MAX_LENGTH = 2000
MAX_DEPTH = 60

#: Functions an expression may call, with the number of their arguments.
FUNCTIONS: dict[str, int] = {
    "sqrt": 1, "exp": 1, "log": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2,
    "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "abs": 1, "sign": 1, "floor": 1, "min": 2, "max": 2,
}  # fmt: skip

#: Measures of bodies: whether they take a place in the body's axes, and their order: of positions,
#: velocities or accelerations. ``rate`` is one order above its argument.
MEASURES: dict[str, tuple[bool, int]] = {
    "point": (True, 0), "velocity": (True, 1), "acceleration": (True, 2),
    "axis": (False, 0), "angular_velocity": (False, 1), "angular_acceleration": (False, 2),
}  # fmt: skip
RATE = "rate"

#: Names every expression knows.
CONSTANTS: dict[str, float] = {"pi": math.pi}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)"
    r"|(?P<part>\.[A-Za-z_]+)"
    r"|(?P<unit>\[[A-Za-z0-9*/^(). -]{1,40}\])"
    r"|(?P<symbol>\*\*|[-+*/^(),]))",
    re.ASCII,
)


class ExpressionError(NoslipError, ValueError):
    """The text is not an expression; the message says why and at which character.

    As a text it is the message alone, for a sentence that names where the expression stands.
    """

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(
            f"an expression cannot be read: {message}",
            f"'{text[:60]}'" if text else "an expression",
            'write arithmetic of numbers, names and functions, such as "l/2 + 0.1*cos(a)"',
        )
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number, with a unit in brackets if it has one: ``0.4`` or ``0.4[m]``."""

    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter, a coordinate, a speed, an input, or time."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator (``+ - * / **`` and ``neg``) or a function, applied to its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """A component of a quantity of a body's motion, or the rate of an expression."""

    word: str  #: word of `MEASURES`, or ``rate``
    #: the place in the body's axes, or the expression whose rate it is
    arguments: tuple[Expression, ...]
    body: str = ""  #: body that moves; empty for a rate
    axis: str = ""  #: axis of the body, for ``axis``
    #: component along the axes of the world: ``x``, ``y`` or ``z``; empty for a rate
    part: str = ""


Expression = Number | Name | Call | Measure


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """The tree of an expression.

    Raises
    ------
    ExpressionError : with the position of what cannot be read.
    """
    try:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(f"it has {len(text)} characters, at most {MAX_LENGTH} are read")
        reader = _Reader(text)
        tree = reader.sum(0)
        if reader.at < len(reader.tokens):
            _, symbol, position = reader.tokens[reader.at]
            raise ExpressionError(f"'{symbol}' at character {position} is not expected")
    except ExpressionError as error:
        raise ExpressionError(error.message, text) from error.__cause__
    return tree


def fold(
    expression: Expression,
    leaf: Callable[[Number | Name], Any],
    call: Callable[[str, list[Any]], Any],
    measure: Callable[[Measure, list[Any]], Any] | None = None,
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
    measure : function
        Result of a measure; without it measures are refused.

    Raises
    ------
    ExpressionError : the expression has a measure where none has a value.
    """
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    results: list[Any] = []
    while waiting:
        node, arguments_done = waiting.pop()
        if isinstance(node, Number | Name):
            results.append(leaf(node))
        elif arguments_done:
            first = len(results) - len(node.arguments)
            given = results[first:]
            if isinstance(node, Call):
                results[first:] = [call(node.function, given)]
            elif measure is not None:
                results[first:] = [measure(node, given)]
            else:
                raise ExpressionError(f"'{node.word}' of a motion has no value here")
        else:
            waiting.append((node, True))
            waiting.extend((argument, False) for argument in reversed(node.arguments))
    return results[0]


def nodes_of(expression: Expression) -> Iterator[Expression]:
    """All nodes of a tree, each before its arguments, from left to right."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Call | Measure):
            waiting.extend(reversed(node.arguments))


def names_in(expression: Expression) -> set[str]:
    """All names the expression refers to."""
    return {node.name for node in nodes_of(expression) if isinstance(node, Name)}


def measures_in(expression: Expression) -> tuple[Measure, ...]:
    """All measures of the expression, rates included."""
    return tuple(node for node in nodes_of(expression) if isinstance(node, Measure))


def order(expression: Expression, orders: Mapping[str, int]) -> int:
    """0 for what positions determine, 1 for speeds, 2 for accelerations and so on.

    Parameters
    ----------
    expression : Expression
        A tree from :func:`parse`.
    orders : mapping
        Orders of names; those that are not listed are of order 0.
    """
    return fold(
        expression,
        lambda node: orders.get(node.name, 0) if isinstance(node, Name) else 0,
        lambda _, arguments: max(arguments),
        lambda node, arguments: (
            arguments[0] + 1 if node.word == RATE else max(MEASURES[node.word][1], *arguments, 0)
        ),
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
    measure: Callable[[Measure, list[Any]], Any] | None = None,
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
    measure : function
        Value of a measure from those of its arguments; without it measures are refused.
    """

    def leaf(node: Number | Name) -> Any:
        if isinstance(node, Name) and node.name in values:
            return values[node.name]
        return literal(_number_of(values, node))

    return fold(expression, leaf, partial(apply, algebra=algebra), measure)


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
    MissingNameError : it uses a name that has no value.
    """
    if not isinstance(scalar, str):
        return float(scalar)
    return fold(parse(scalar), partial(_number_of, values), apply_to_numbers)


def _number_of(values: Mapping[str, Any], node: Number | Name) -> Any:
    """Value of a leaf: a number, a name with a value, or a constant; other names are refused."""
    if isinstance(node, Number):
        return node.value
    if node.name in values:
        return values[node.name]
    if node.name not in CONSTANTS:
        known = [*values, *CONSTANTS]
        raise MissingNameError(
            f"there is no '{node.name}'",
            f"expression with '{node.name}'",
            nearest(node.name, known),
        )
    return CONSTANTS[node.name]


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


class _Reader:
    """Recursive descent over the tokens, one method a line of the grammar."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        self.at = at = 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n\f\v"))
                raise ExpressionError(f"{text[at]!r} at character {at + 1} is not arithmetic")
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind) + 1))
            at = match.end()

    def take(self, *symbols: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][1] in symbols:
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
                raise ExpressionError(f"{text[:12]} at character {position} is too large")
            return Number(float(text), self.unit())
        if kind == "name":
            is_call = self.at < len(self.tokens) and self.tokens[self.at][1] == "("
            return self.call(text, position, depth) if is_call else Name(text)
        if text == "(":
            inner = self.sum(depth + 1)
            self.close()
            return inner
        raise ExpressionError(f"'{text}' at character {position} is not expected")

    def unit(self) -> str:
        """The unit after a number, if there is one."""
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "unit":
            return ""
        _, text, position = self.tokens[self.at]
        self.at += 1
        try:
            read_unit(text[1:-1])
        except UnitError as error:
            raise ExpressionError(f"the unit {text} at character {position}: {error}") from error
        return text[1:-1]

    def call(self, name: str, position: int, depth: int) -> Expression:
        if name == RATE:
            self.at += 1
            inner = self.sum(depth + 1)
            self.close()
            return Measure(RATE, (inner,))
        if name in MEASURES:
            return self.measure(name, depth)
        if name not in FUNCTIONS:
            known = ", ".join((*FUNCTIONS, *MEASURES, RATE))
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

    def measure(self, word: str, depth: int) -> Measure:
        self.at += 1
        body = self.word(f"a body, as in {_example(word)}")
        axis, arguments = "", list[Expression]()
        if word == "axis":
            self.take(",")
            axis = self.word(f"an axis of the body, x, y or z, as in {_example(word)}")
            if axis not in ("x", "y", "z"):
                raise ExpressionError(f"'{axis}' is not an axis of a body: write {_example(word)}")
        while self.take(","):
            arguments.append(self.sum(depth + 1))
        self.close()
        if len(arguments) not in ((0, 3) if MEASURES[word][0] else (0,)):
            raise ExpressionError(
                f"'{word}' has {len(arguments)} argument(s) after the body: write {_example(word)}"
            )
        is_part = self.at < len(self.tokens) and self.tokens[self.at][0] == "part"
        part = self.tokens[self.at][1][1:] if is_part else ""
        if part not in ("x", "y", "z"):
            raise ExpressionError(f"a component is missing: write {_example(word)}")
        self.at += 1
        return Measure(word, tuple(arguments), body, axis, part)

    def word(self, wanted: str) -> str:
        kind, text, position = self.tokens[self.at] if self.at < len(self.tokens) else ("", "", 0)
        if kind != "name":
            at = f", not '{text}' at character {position}" if text else ""
            raise ExpressionError(f"it must name {wanted}{at}")
        self.at += 1
        return text

    def close(self) -> None:
        if not self.take(")"):
            raise ExpressionError("a ')' is missing")


def _example(word: str) -> str:
    """Example of a measure."""
    inside = "body, z" if word == "axis" else "body, 0.1, 0, 0" if MEASURES[word][0] else "body"
    return f"{word}({inside}).z"


#: Powers of kg, m, s, A and K. An angle counts as a pure number, as in SI.
Dimension: TypeAlias = tuple[float, float, float, float, float]

PURE: Dimension = (0.0, 0.0, 0.0, 0.0, 0.0)

_BASE = ("kg", "m", "s", "A", "K")

#: Every known unit; all of them are coherent.
UNITS: dict[str, Dimension] = {
    **{word: tuple(float(word == other) for other in _BASE) for word in _BASE},  # type: ignore[misc]
    "rad": PURE,
    "Hz": (0, 0, -1, 0, 0),
    "N": (1, 1, -2, 0, 0),
    "Pa": (1, -1, -2, 0, 0),
    "J": (1, 2, -2, 0, 0),
    "W": (1, 2, -3, 0, 0),
    "C": (0, 0, 1, 1, 0),
    "V": (1, 2, -3, -1, 0),
    "ohm": (1, 2, -3, -2, 0),
}

#: What people also write, and what to write instead.
INSTEAD = {
    "deg": "rad, of which 1 deg is 0.0174532925",
    "degrees": "rad, of which 1 degree is 0.0174532925",
    "mm": "m, of which 1 mm is 0.001",
    "cm": "m, of which 1 cm is 0.01",
    "km": "m, of which 1 km is 1000",
    "g": "kg, of which 1 g is 0.001",
    "t": "kg, of which 1 t is 1000",
    "ms": "s, of which 1 ms is 0.001",
    "min": "s, of which 1 min is 60",
    "h": "s, of which 1 h is 3600",
    "rpm": "rad/s, of which 1 rpm is 0.104719755",
    "kN": "N, of which 1 kN is 1000",
    "lb": "kg, of which 1 lb is 0.45359237",
    "lbs": "kg, of which 1 lb is 0.45359237",
    "ft": "m, of which 1 ft is 0.3048",
    "Nm": "N*m",
    "meter": "m",
    "metre": "m",
    "second": "s",
    "sec": "s",
    "kilogram": "kg",
    "radian": "rad",
    "newton": "N",
}

_PLAIN = {"·": "*", "×": "*", "⋅": "*", "²": "^2", "³": "^3", "⁻¹": "^-1", "⁻²": "^-2", "Ω": "ohm"}


class UnitError(ValueError):
    """A text is not a unit; `fix` says what to write instead."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


@lru_cache(maxsize=512)
def read_unit(text: str) -> Dimension:
    """The dimension of a unit.

    Raises
    ------
    UnitError : the text is not a product of powers of known units.
    """
    if not text.strip():
        raise UnitError("it is empty", 'write unit = "1" for a dimensionless number')
    try:
        found = fold(parse(text), _leaf, _call)
    except ExpressionError as error:
        raise UnitError(f"it cannot be read: {error}", _spelled(text)) from None
    if isinstance(found, float):
        if found != 1.0:
            raise UnitError(
                "it is a number",
                'put the number into the value; the unit of a dimensionless number is "1"',
            )
        return PURE
    return found


def unit_text(dimension: Dimension) -> str:
    """A dimension in base units: ``kg*m^2/s^2``."""
    above = [_power(word, n) for word, n in zip(_BASE, dimension, strict=True) if n > 0]
    below = [_power(word, -n) for word, n in zip(_BASE, dimension, strict=True) if n < 0]
    under = "*".join(below) if len(below) < 2 else f"({'*'.join(below)})"
    return ("*".join(above) or "1") + (f"/{under}" if below else "")


def rate_unit(unit: str) -> str:
    """Unit of a rate: m becomes m/s, and rad/s becomes rad/s^2."""
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"


def times(a: Dimension, b: Dimension, sign: int = 1) -> Dimension:
    """Dimension of a product, or with `sign` −1 of a quotient."""
    return (
        a[0] + sign * b[0],
        a[1] + sign * b[1],
        a[2] + sign * b[2],
        a[3] + sign * b[3],
        a[4] + sign * b[4],
    )


def power(a: Dimension, n: float) -> Dimension:
    """Dimension of a power, which may be a fraction."""
    return tuple(round(n * x, 9) for x in a)  # type: ignore[return-value]


def _power(word: str, n: float) -> str:
    return word if n == 1 else f"{word}^{n:g}"


def _leaf(node: Number | Name) -> Dimension | float:
    if isinstance(node, Number):
        return node.value
    if node.name in UNITS:
        return UNITS[node.name]
    fix = nearest(node.name, UNITS)
    if node.name in INSTEAD:
        fix = f"write {INSTEAD[node.name]}"
    elif fix.startswith("known"):
        fix = f"known are {', '.join(UNITS)} and 1"
    raise UnitError(f"'{node.name}' is not a known unit", fix)


def _call(function: str, arguments: list[Dimension | float]) -> Dimension | float:
    """Products, quotients and powers; a number stands in an exponent or is 1."""
    first, *rest = arguments
    if all(isinstance(a, float) for a in arguments):
        return apply_to_numbers(function, arguments)  # type: ignore[arg-type]
    if function in ("*", "/"):
        a, b = (PURE if x == 1.0 else x for x in arguments)
        if isinstance(a, tuple) and isinstance(b, tuple):
            return times(a, b, 1 if function == "*" else -1)
        raise UnitError("it contains a number", "put the number into the value")
    if function == "**" and isinstance(first, tuple) and isinstance(rest[0], float):
        return power(first, rest[0])
    raise UnitError(
        "it is not a product of powers of units", 'write for example "kg*m^2" or "N*m/(rad/s)"'
    )


def _spelled(text: str) -> str:
    """Corrected spelling of a unit, if only that is at fault: kg m² becomes kg*m^2."""
    plain = text
    for sign, word in _PLAIN.items():
        plain = plain.replace(sign, word)
    plain = re.sub(r"(?<=[\w)])\s+(?=[\w(])", "*", plain.strip())
    try:
        fold(parse(plain), _leaf, _call)
    except (ExpressionError, UnitError):
        plain = "kg*m^2"
        return f'write for example unit = "{plain}", with * / ^ and parentheses'
    return f'write unit = "{plain}"'

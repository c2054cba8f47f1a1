"""Units of SI: read, refused with the nearest known one, and compared by their dimension.

A unit is a product of powers, written as in ``kg*m^2``, ``N*m/(rad/s)`` or, for a
dimensionless number, ``1``. It is read by the reader of expressions, so nothing is ever run. Only
coherent units are known: the equations take every number as it stands, so a length in mm would be
taken for one in m.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from noslip.base import nearest
from noslip.expressions.arithmetic import (
    ExpressionError,
    Name,
    Number,
    apply_to_numbers,
    fold,
    parse,
)

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

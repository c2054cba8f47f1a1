"""Quantities: parameters and fields with units, and their values as plain numbers.

**Parameters and quantities with units, and the meaning of the fields of parts.**

A field of a part says by its type what it holds, in which unit, with which sign, or what it is the
name of: ``radius: PositiveLength``, ``axis: Direction``, ``body: BodyName``. Reader, writer, checks
and the reference page of model files read it there. A type that is not listed here is written as
``Annotated[Scalar, Meaning(unit="N*s/m")]``.

**Scalars, vectors and rotations of a model at given parameter values, as plain numbers.**
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Protocol

import casadi as ca
import numpy as np

from noslip.algebra import unit
from noslip.base import Array
from noslip.expressions import CONSTANTS, Scalar, evaluate, names_in, nominal, parse

#: Three scalars: a position in m, a direction, or three angles in rad.
Vector3 = tuple[Scalar, Scalar, Scalar]

ZERO: Vector3 = (0.0, 0.0, 0.0)

#: Signs that a field may be bound to.
POSITIVE, NOT_NEGATIVE = "positive", "not negative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Meaning of a part's field, besides its type."""

    unit: str = ""  #: SI unit of a scalar or of the entries of a vector; empty where there is none
    #: units, along: units by the unit of the coordinate or speed that the field `along` names, as
    #: ``{"m": "N/m", "rad": "N*m/rad"}`` along ``"coordinate"``
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    along: str = ""
    sign: str = ""  #: `POSITIVE` or `NOT_NEGATIVE`; empty for any
    is_direction: bool = False  #: whether it is a vector whose length does not matter, but not zero
    #: kind of thing it names: ``body``, ``contact``, ``coordinate``, ``coordinate or angle``,
    #: ``speed`` or ``input``
    names: str = ""
    is_optional: bool = False  #: whether that name may be left empty
    has_loops: bool = False  #: whether it may be that of a joint that closes a loop
    choices: tuple[str, ...] = ()  #: the texts it may be
    #: names that an expression may use besides parameters: ``coordinates``, ``speeds``, ``inputs``,
    #: ``t``
    scope: tuple[str, ...] = ()
    #: names that only this expression knows, such as the parameters of a surface
    own: tuple[str, ...] = ()
    linear_in: str = ""  #: names of the scope it must be linear in, such as ``inputs``
    is_plain: bool = False  #: whether a table of texts holds words and no expressions


PositiveLength = Annotated[Scalar, Meaning(unit="m", sign=POSITIVE)]
NotNegativeLength = Annotated[Scalar, Meaning(unit="m", sign=NOT_NEGATIVE)]
#: A place in the frame of a body.
Point = Annotated[Vector3, Meaning(unit="m")]
Direction = Annotated[Vector3, Meaning(is_direction=True)]
BodyName = Annotated[str, Meaning(names="body")]
CoordinateName = Annotated[str, Meaning(names="coordinate")]
SpeedName = Annotated[str, Meaning(names="speed")]
#: Of a joint that a force acts in, which may close a loop.
ForcedCoordinate = Annotated[str, Meaning(names="coordinate", has_loops=True)]
ForcedSpeed = Annotated[str, Meaning(names="speed", has_loops=True)]


class Reads(Protocol):
    """Protocol of readers that evaluate scalars of a model, traced or as numbers."""

    def scalar(self, scalar: Scalar) -> Any:
        """The value of a number or an expression."""

    def vector(self, entries: Iterable[Scalar]) -> Any:
        """The column of several."""

    def direction(self, entries: Iterable[Scalar]) -> Any:
        """The unit vector along a direction."""

    def extended(self, values: Mapping[str, Any]) -> Reads:
        """A reader that knows more names, traced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    r"""A number of the mechanism that may change without recompiling anything."""

    name: str  #: name in expressions
    value: float  #: nominal value, in `unit`
    unit: str  #: SI unit, such as ``"kg*m^2"``; ``"1"`` for a dimensionless number
    description: str = ""  #: one line for people
    #: symbol in equations, plain or as LaTeX, such as ``I_1`` or ``\theta``; by default its name is
    #: read as one
    symbol: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Name, unit, meaning and usual range of one component of a state, an input or an output.

    `symbol` is how it is written in equations, such as ``v_x`` or ``θ̇``; by default its name is.
    """

    name: str
    unit: str
    description: str = ""
    lower: float = -1.0
    upper: float = 1.0
    symbol: str = ""

    def renamed(self, prefix: str) -> Quantity:
        """The same quantity of a named owner: ``angle`` of joint ``wheel1`` is ``wheel1.angle``."""
        return Quantity(
            name=f"{prefix}.{self.name}",
            unit=self.unit,
            description=self.description,
            lower=self.lower,
            upper=self.upper,
            symbol=self.symbol,
        )


def angle(name: str = "angle", description: str = "angle", symbol: str = "") -> Quantity:
    """An angle in rad that may take any value."""
    return Quantity(
        name=name,
        unit="rad",
        description=description,
        lower=-math.pi,
        upper=math.pi,
        symbol=symbol,
    )


def place_rate(place: Quantity) -> Quantity:
    """The rate of a coordinate that a contact owns."""
    return Quantity(
        name=f"{place.name}_rate",
        unit="1/s" if place.unit == "1" else f"{place.unit}/s",
        description=f"rate of {place.name}",
        symbol=f"{place.symbol}\u0307" if place.symbol else "",
    )


class NumberReader:
    """Reads scalars as numbers; what has no value is nan.

    Parameters
    ----------
    values : values of the parameters by name.
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def scalar(self, scalar: Scalar) -> float:
        """The number of a scalar."""
        return number(scalar, self.values)

    def vector(self, entries: Iterable[Scalar]) -> Array:
        """(k,) numbers of several."""
        return numbers(entries, self.values)

    def direction(self, entries: Iterable[Scalar]) -> Array:
        """(3,) the unit vector along a direction."""
        along = self.vector(entries)
        result: Array = along / np.linalg.norm(along)
        return result

    def extended(self, values: Mapping[str, Any]) -> TracedNumbers:
        """A reader that knows traced names beside the numbers."""
        return TracedNumbers({**self.values, **values})


class TracedNumbers:
    """Reads scalars of names that stand for numbers or traced scalars."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def scalar(self, scalar: Scalar) -> Any:
        """The traced scalar of a number or an expression."""
        if not isinstance(scalar, str):
            return ca.SX(float(scalar))
        return ca.SX(evaluate(parse(scalar), self.values, ca))

    def vector(self, entries: Iterable[Scalar]) -> Any:
        """Traced column of several."""
        return ca.vertcat(*[self.scalar(entry) for entry in entries])

    def direction(self, entries: Iterable[Scalar]) -> Any:
        """Traced unit vector along a direction."""
        return unit(self.vector(entries))

    def extended(self, values: Mapping[str, Any]) -> TracedNumbers:
        """A reader that knows more names."""
        return TracedNumbers({**self.values, **values})


def number(scalar: Scalar, values: Mapping[str, float]) -> float:
    """Value of a scalar of the model at given parameter values; nan where it has none."""
    if not isinstance(scalar, str):
        return float(scalar)
    names = _names(scalar)
    constants = CONSTANTS
    given = tuple(values[name] if name in values else constants[name] for name in names)
    return _value(scalar, names, given)


# a slider asks for the same expressions again and again, and changes few of them


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    """The names in an expression."""
    return tuple(sorted(names_in(parse(text))))


@lru_cache(maxsize=16384)
def _value(text: str, names: tuple[str, ...], given: tuple[float, ...]) -> float:
    return nominal(text, dict(zip(names, given, strict=True)))


def numbers(entries: Iterable[Scalar], values: Mapping[str, float]) -> Array:
    """(k,) values of several scalars of the model, as :func:`number`."""
    return np.array([number(entry, values) for entry in entries])


def vector(entries: Array) -> Vector3:
    """Three numbers as the model has them."""
    x, y, z = (float(e) for e in entries)
    return x, y, z


def rotation_about(axis: Array, angle: float) -> Array:
    """R = e eᵀ + cos(angle) (1 − e eᵀ) + sin(angle) e× of a unit vector e."""
    x, y, z = axis
    along = np.outer(axis, axis)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result: Array = along + np.cos(angle) * (np.eye(3) - along) + np.sin(angle) * skew
    return result


def angles_of(R: Array) -> Array:
    """Three angles with R = Rx(a₁) Ry(a₂) Rz(a₃), the sequence of a placement by default."""
    second = np.arctan2(R[0, 2], np.hypot(R[0, 0], R[0, 1]))
    first = np.arctan2(-R[1, 2], R[2, 2]) if R[1, 2] or R[2, 2] else 0.0
    # near a₂ = ±π/2 only the sum or difference of the others is determined: a₃ makes up for a₁
    sine, cosine = np.sin(first), np.cos(first)
    third = np.arctan2(cosine * R[1, 0] + sine * R[2, 0], cosine * R[1, 1] + sine * R[2, 1])
    return np.array([first, second, third])


def rotation_to(direction: Array) -> Array:
    """A rotation that turns z to a direction; the two other axes lie as they like."""
    z = direction / np.linalg.norm(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])

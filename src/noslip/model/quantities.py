"""Parameters and quantities with units, and the meaning of the fields of parts.

A field of a part says by its type what it holds, in which unit, with which sign, or what it is the
name of: ``radius: PositiveLength``, ``axis: Direction``, ``body: BodyName``. Reader, writer, checks
and the reference page of model files read it there. A type that is not listed here is written as
``Annotated[Scalar, Meaning(unit="N*s/m")]``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from noslip.expressions import Scalar

#: Three scalars: a position in m, a direction, or three angles in rad.
Vector3 = tuple[Scalar, Scalar, Scalar]

ZERO: Vector3 = (0.0, 0.0, 0.0)

#: Signs that a field may be bound to.
POSITIVE, NOT_NEGATIVE = "positive", "not negative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Meaning of a part's field, besides its type.

    Parameters
    ----------
    unit : SI unit of a scalar or of the entries of a vector; empty where there is none.
    units, along : units by the unit of the coordinate or speed that the field `along` names, as
        ``{"m": "N/m", "rad": "N*m/rad"}`` along ``"coordinate"``.
    sign : `POSITIVE` or `NOT_NEGATIVE`; empty for any.
    is_direction : whether it is a vector whose length does not matter, but not zero.
    names : what it is the name of: ``body``, ``contact``, ``coordinate``, ``coordinate or angle``,
        ``speed`` or ``input``.
    is_optional : whether that name may be left empty.
    has_loops : whether it may be that of a joint that closes a loop.
    choices : the texts it may be.
    scope : what an expression may use besides parameters: ``coordinates``, ``speeds``, ``inputs``,
        ``t``.
    own : names that only this expression knows, such as the parameters of a surface.
    linear_in : names of the scope it must be linear in, such as ``inputs``.
    is_plain : whether a table of texts holds words and no expressions.
    """

    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    along: str = ""
    sign: str = ""
    is_direction: bool = False
    names: str = ""
    is_optional: bool = False
    has_loops: bool = False
    choices: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    linear_in: str = ""
    is_plain: bool = False


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
    r"""A number of the mechanism that may change without recompiling anything.

    Parameters
    ----------
    name : what expressions call it.
    value : its nominal value, in `unit`.
    unit : SI unit, such as ``"kg*m^2"``; ``"1"`` for a dimensionless number.
    description : one line for people.
    symbol : how equations write it, plain or as LaTeX, such as ``I_1`` or ``\theta``; by default
        its name is read as one.
    """

    name: str
    value: float
    unit: str
    description: str = ""
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

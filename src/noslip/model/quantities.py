"""Named numbers: what every field, state and column of noslip is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: A number in SI units, or the text of an expression of declared parameters, such as ``"l/2"``.
Scalar = float | str

#: Three scalars: a position in m, a direction, or three angles in rad.
Vector3 = tuple[Scalar, Scalar, Scalar]

ZERO: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number of the mechanism that may change without recompiling anything.

    Parameters
    ----------
    name : what expressions call it.
    value : its nominal value, in `unit`.
    unit : SI unit, such as ``"kg*m^2"``; ``"1"`` for a pure number.
    description : one line for people.
    """

    name: str
    value: float
    unit: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Name, unit, meaning and usual range of one component of a state, an input or an output."""

    name: str
    unit: str
    description: str = ""
    lower: float = -1.0
    upper: float = 1.0

    def renamed(self, prefix: str) -> Quantity:
        """The same quantity of a named owner: ``angle`` of joint ``wheel1`` is ``wheel1.angle``."""
        return Quantity(
            name=f"{prefix}.{self.name}",
            unit=self.unit,
            description=self.description,
            lower=self.lower,
            upper=self.upper,
        )


def angle(name: str = "angle", description: str = "") -> Quantity:
    """An angle in rad that may take any value."""
    return Quantity(name=name, unit="rad", description=description, lower=-math.pi, upper=math.pi)

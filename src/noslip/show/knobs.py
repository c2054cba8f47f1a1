"""Knobs: the numbers of a model that a page lets one change, each with a unit, a range and a step.

Ranges come from the model's quantities; a parameter, which has none, goes from a fifth to three
times its nominal value. A value beyond its range widens it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass

from noslip import Parameter
from noslip.show.axis_units import unit_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One number.

    Parameters
    ----------
    name : what files and commands call it.
    unit, description : for people.
    value : where it stands before it is changed.
    lower, upper, step : of its slider.
    bundle : knobs of one bundle count only together, as the three angles of an orientation do.
    """

    name: str
    unit: str
    description: str = ""
    value: float
    lower: float
    upper: float
    step: float
    bundle: str = ""

    @classmethod
    def ranged(
        cls, name: str, unit: str, value: float, lower: float, upper: float, description: str = ""
    ) -> Knob:
        """A knob with its range on round numbers and about 400 steps."""
        lower, upper = min(lower, upper), max(lower, upper)
        if not upper > lower:
            lower, upper = value - 1.0, value + 1.0
        step = round_step((upper - lower) / 400)
        lower, upper = math.floor(lower / step + 1e-9) * step, math.ceil(upper / step - 1e-9) * step
        digits = max(0, 2 - math.floor(math.log10(step)))
        return cls(
            name=name,
            unit=unit,
            description=description,
            value=value,
            lower=min(round(lower, digits), value),
            upper=max(round(upper, digits), value),
            step=step,
        )

    @classmethod
    def of_parameters(cls, parameters: Iterable[Parameter]) -> tuple[Knob, ...]:
        """Parameters from a fifth to three times their nominal value; those of zero within ±1."""
        found = []
        for p in parameters:
            ends = (-1.0, 1.0) if p.value == 0 else (p.value / 5, 3 * p.value)
            found.append(cls.ranged(p.name, p.unit, p.value, *ends, p.description))
        return tuple(found)

    @property
    def scale(self) -> float:
        """Display unit: a power of 1000 for very small and very large numbers."""
        size = max(abs(self.lower), abs(self.upper))
        if 0.01 <= size < 1e6:
            return 1.0
        return float(1000.0 ** math.floor(math.log10(size) / 3))

    @property
    def label(self) -> str:
        """Name and unit: ``m_platform [kg]``."""
        unit = unit_text(self.unit, round(math.log10(self.scale)))
        return f"{self.name} [{unit}]" if unit else self.name

    def widened(self, value: float) -> Knob:
        """The same knob with a range that holds a value."""
        if self.lower <= value <= self.upper:
            return self
        lower, upper = min(self.lower, value), max(self.upper, value)
        return dataclasses.replace(
            self, lower=lower, upper=upper, step=round_step((upper - lower) / 400)
        )


def round_step(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a size."""
    if not (size > 0 and math.isfinite(size)):
        return 0.01
    power = 10.0 ** math.floor(math.log10(size) + 1e-12)
    return float(next(round(m * power, 12) for m in (5, 2, 1) if m * power <= size * (1 + 1e-9)))

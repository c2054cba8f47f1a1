"""Measured data as a table with the model's names, in SI units, and units that are converted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from noslip import SimulationError, Table
from noslip.base import nearest
from noslip.expressions import ExpressionError, UnitError, names_of, nominal, read_unit
from noslip.simulation import ColumnTable

Array = np.ndarray

#: Units that are converted: what one is in the SI unit.
CONVERTED: dict[str, tuple[float, str]] = {
    "mm": (1e-3, "m"),
    "cm": (1e-2, "m"),
    "km": (1e3, "m"),
    "inch": (0.0254, "m"),
    "ft": (0.3048, "m"),
    "deg": (math.pi / 180, "rad"),
    "rev": (2 * math.pi, "rad"),
    "rpm": (math.pi / 30, "rad/s"),
    "ns": (1e-9, "s"),
    "us": (1e-6, "s"),
    "ms": (1e-3, "s"),
    "min": (60.0, "s"),
    "h": (3600.0, "s"),
    "g": (1e-3, "kg"),
    "t": (1e3, "kg"),
    "lb": (0.45359237, "kg"),
    "kN": (1e3, "N"),
    "Nm": (1.0, "N*m"),
    "mA": (1e-3, "A"),
}


def conversion(unit: str) -> tuple[str, float]:
    """The coherent unit of a unit, and how many of it one is: deg/s is 0.01745 rad/s.

    Raises
    ------
    UnitError : it is not known.
    """
    factors = {word: factor for word, (factor, _) in CONVERTED.items()}
    plain = re.sub(
        r"[A-Za-z]\w*", lambda m: f"({CONVERTED[m[0]][1]})" if m[0] in CONVERTED else m[0], unit
    )
    try:
        factor = nominal(unit, factors | dict.fromkeys(names_of(unit) - set(factors), 1.0))
        read_unit(plain)
        if not 0.0 < factor < math.inf:
            raise ExpressionError(f"one is {factor:g} in SI units")
    except ExpressionError as error:
        fix = f"known besides SI: {', '.join(CONVERTED)}"
        raise UnitError(str(error), fix) from None
    single = re.fullmatch(r"\(([^()]*)\)", plain)
    return (single[1] if single else re.sub(r"\(([A-Za-z]+)\)", r"\1", plain)), float(factor)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredTable:
    """Measured columns over time, by the model's names. Made by :func:`read_measured`.

    Parameters
    ----------
    name : of the file.
    t : (n,) increasing times, s.
    columns : name → SI unit and (n,) values.
    """

    name: str
    t: Array
    columns: ColumnTable = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        """A column; ``time`` is the times."""
        if name == "time":
            return self.t
        if name not in self.columns:
            raise SimulationError(
                f"there is no column '{name}'", self.name, nearest(name, self.columns)
            )
        return self.columns[name][1]

    def as_input(self, name: str, kind: str = "linear") -> Table:
        """A column as an input of a run, such as a measured torque."""
        return Table(times=self.t, values=self[name], kind=kind)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} [{unit}]" for name, (unit, _) in self.columns.items())
        span = f"{self.t[0]:g} … {self.t[-1]:g} s" if len(self.t) else "no times"
        return f"MeasuredTable of '{self.name}': {len(self.t)} samples, {span}\n{listed}"

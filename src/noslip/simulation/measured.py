"""Measured data as a table with the model's names, in SI units."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noslip.errors import SimulationError, nearest
from noslip.simulation.input_laws import Table
from noslip.simulation.run_files import ColumnTable

Array = np.ndarray


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

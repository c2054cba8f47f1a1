"""Formats of files that hold a run: NetCDF and CSV, and one's own.

A format of runs answers what `formats.py` lists:

1. `write(run, path)`: it finds all columns in ``run.columns``, and what they belong to in
   ``run.attributes``;
2. `read(path)`: all columns by name, ``time`` among them, each with its unit.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noslip.errors import SimulationError
from noslip.formats import AbstractFormat, check_folder

if TYPE_CHECKING:
    from noslip.simulation.trajectory import Trajectory

#: Name of a column → unit and (n,) values.
ColumnTable: TypeAlias = dict[str, tuple[str, NDArray[np.float64]]]


class AbstractRunFormat(AbstractFormat, family="run format"):
    """A format of runs; see the list at the top of this file."""

    __slots__ = ()

    holds = "a run"
    error = SimulationError


class NetCDF(AbstractRunFormat):
    """What `to_xarray` holds, one variable a column, units as attributes."""

    __slots__ = ()

    word = "netcdf"
    name = "NetCDF"
    suffixes = (".nc", ".nc4", ".h5")

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns and attributes."""
        # without xarray, whose import takes longer than most runs
        import h5netcdf

        with h5netcdf.File(path, "w") as file:
            file.dimensions = {"time": len(run.t)}
            for name, (unit, values) in {"time": ("s", run.t), **run.columns}.items():
                variable = file.create_variable(name, ("time",), data=np.ascontiguousarray(values))
                variable.attrs["units"] = unit
            for name, value in run.attributes.items():
                file.attrs[name] = value

    def read(self, path: Path) -> ColumnTable:
        """All columns."""
        import h5netcdf

        with h5netcdf.File(path, "r") as file:
            return {
                str(name): (str(column.attrs["units"]), np.asarray(column[...], dtype=float))
                for name, column in file.variables.items()
            }


class Csv(AbstractRunFormat):
    """A table of all digits, the unit after each name, as in ``disk.x [m]``."""

    __slots__ = ()

    word = "csv"
    name = "CSV"
    suffixes = (".csv", ".txt")

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns."""
        values = np.column_stack([run.t, *(c for _, c in run.columns.values())])
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["time [s]", *(f"{n} [{u}]" for n, (u, _) in run.columns.items())])
            writer.writerows([[repr(float(x)) for x in row] for row in values])

    def read(self, path: Path) -> ColumnTable:
        """All columns."""
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        values = np.array(rows, dtype=float).reshape(len(rows), len(header))
        names = [head.removesuffix("]").rpartition(" [") for head in header]
        return {name: (unit, values[:, k]) for k, (name, _, unit) in enumerate(names)}


def check_file(path: str | Path, format: AbstractRunFormat, other: str) -> Path:
    """The path of a file that can be written: its suffix says what is in it, its folder is there.

    Parameters
    ----------
    path : of the file.
    format : in which it is written.
    other : what writes another one.
    """
    target = Path(path)
    if not target.name.lower().endswith(format.suffixes):
        raise SimulationError(
            f"{format.name} is not written as '{target.suffix or target.name}'",
            str(target),
            f"let the name of the file end in {format.suffixes[0]}; {other}",
        )
    return check_folder(target, SimulationError)

"""Runs as tables for other programs: MAT files (MATLAB, Octave) and Parquet (pandas, Polars)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import SimulationError
from noslip.formats import AbstractRunFormat
from noslip.base import open_plain, require
from noslip.simulation import ColumnTable

if TYPE_CHECKING:
    from noslip import Trajectory

#: Letters of a name in MATLAB.
MAX_NAME = 63


class Mat(AbstractRunFormat):
    """A MAT file (version 5) with a struct ``run``: time, a field a column, units, attributes.

    A dot in a name becomes a low line: ``platform.x`` is ``run.platform_x``.
    """

    __slots__ = ()

    word = "mat"
    name = "MAT"
    suffixes = (".mat",)

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns, units by the same names, and attributes."""
        from scipy.io import savemat

        columns = {"time": ("s", run.t), **run.columns}
        names = matlab_names(list(columns))
        table = {names[name]: np.asarray(values) for name, (_, values) in columns.items()}
        units = {names[name]: unit for name, (unit, _) in columns.items()}
        called = {names[name]: name for name in columns}
        about = {matlab_names([k])[k]: v for k, v in run.attributes.items()}
        held = {"run": table, "units": units, "names": called, "about": about}
        with path.open("wb") as file:
            savemat(file, held, oned_as="column", long_field_names=True, do_compression=True)


class Parquet(AbstractRunFormat):
    """A Parquet file, one column of doubles each, the unit in the metadata of its field."""

    __slots__ = ()

    word = "parquet"
    name = "Parquet"
    suffixes = (".parquet",)

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns and attributes."""
        pa, parquet = _pyarrow("a run as .parquet")
        columns = {"time": ("s", run.t), **run.columns}
        fields = [
            pa.field(name, pa.float64(), metadata={"unit": u}) for name, (u, _) in columns.items()
        ]
        about = {name: str(value) for name, value in run.attributes.items()}
        schema = pa.schema(fields, metadata=about)
        values = [pa.array(np.ascontiguousarray(v)) for _, v in columns.values()]
        parquet.write_table(pa.table(values, schema=schema), path)

    def read(self, path: Path) -> ColumnTable:
        """All columns of numbers; a column without a unit has none."""
        _, parquet = _pyarrow(str(path))
        fix = "give a Parquet file with columns of numbers, time among them"
        with open_plain(path, SimulationError, fix) as file:
            try:
                table = parquet.read_table(file)
            except (OSError, ValueError) as error:  # those of pyarrow
                raise SimulationError(f"the file is not Parquet: {error}", str(path), fix) from None
        result: ColumnTable = {}
        for field, column in zip(table.schema, table.columns, strict=True):
            unit = (field.metadata or {}).get(b"unit", b"").decode("utf-8", "replace")
            result[field.name] = (unit, np.asarray(column.to_numpy(), dtype=float))
        return result


def matlab_names(names: list[str]) -> dict[str, str]:
    """Name → a unique name that MATLAB can have."""
    result: dict[str, str] = {}
    for name in names:
        made = re.sub(r"[^A-Za-z0-9_]", "_", name, flags=re.ASCII)
        made = (made if made[:1].isalpha() else f"x{made}")[:MAX_NAME]
        candidate, number = made, 2
        while candidate in result.values():
            ending = f"_{number}"
            candidate, number = made[: MAX_NAME - len(ending)] + ending, number + 1
        result[name] = candidate
    return result


def _pyarrow(where: str) -> tuple[Any, Any]:
    require("pyarrow", "Parquet", where)
    import pyarrow
    import pyarrow.parquet

    return pyarrow, pyarrow.parquet

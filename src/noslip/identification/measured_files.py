"""Measured data: a file of any run format as a table with the model's names, in SI units.

Logs seldom have the names of a model, and often no units. Both are asked for once, in a file beside
the data:

    # log.columns.toml, beside log.csv
    time = {column = "stamp", unit = "ms"}
    columns.pos_x = {name = "base.x", unit = "mm"}
    columns.current = {name = "current", unit = "A"}

Columns that are not listed are left out; without such a file all are taken, and each must have a
unit in the data itself, as ``base.x [m]`` in CSV.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noslip import SimulationError
from noslip.formats import AbstractRunFormat
from noslip.base import LARGEST, format_of, nearest, read_text
from noslip.expressions import UnitError
from noslip.identification.measured import Array, MeasuredTable, conversion
from noslip.simulation import ColumnTable

#: Ending of the file beside the data, in place of the data's own.
SUFFIX = ".columns.toml"
MAX_BYTES = 1_000_000


class _Column(NamedTuple):
    """Name of a file's column in the model, and its unit; empty for that of the file."""

    name: str
    unit: str


def read_measured(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    time: str = "",
) -> MeasuredTable:
    """Measured data from CSV, Parquet, NetCDF or a ROS 2 bag.

    Parameters
    ----------
    path : of the data; a file ``NAME.columns.toml`` beside it says names and units once for all.
    columns : name in the file → name in the model; all columns by their own names by default.
    units : name in the file → its unit, such as ``mm``, ``deg`` or ``N*m``.
    time : the column of times; ``time``, ``t`` or the first one by default.

    Raises
    ------
    SimulationError : for files that cannot be read, columns that are not there or have no unit,
        and times that do not increase.
    """
    file = Path(path)
    held = format_of(AbstractRunFormat, file, "read").read(file)
    asked, clock = _beside(file)
    asked |= {old: _Column(new, "") for old, new in (columns or {}).items()}
    for old, unit in (units or {}).items():
        asked[old] = asked.get(old, _Column(old, ""))._replace(unit=unit)
    clock = clock if not time else _Column(time, (units or {}).get(time, clock.unit))
    at = clock.name or next((n for n in ("time", "t") if n in held), next(iter(held), ""))
    asked.pop(at, None)
    is_chosen = bool(columns) or os.path.isfile(file.with_suffix(SUFFIX))
    wanted = asked if is_chosen else {n: asked.get(n, _Column(n, "")) for n in held if n != at}
    for name in (at, *wanted):
        if name not in held:
            raise SimulationError(f"there is no column '{name}'", str(file), nearest(name, held))
    units_of = {n: w.unit or held[n][0] for n, w in wanted.items()}
    missing = [n for n, unit in units_of.items() if not unit]
    if missing:
        lines = "; ".join(f'columns.{_key(n)} = {{name = "{wanted[n].name}", unit = "m"}}'
                          for n in missing[:3])  # fmt: skip
        raise SimulationError(
            f"{', '.join(repr(n) for n in missing[:5])} has no unit" + " …" * (len(missing) > 5),
            str(file),
            f"say once in {file.with_suffix(SUFFIX).name}: {lines}; or pass units={{…}}",
        )
    plain, t = _converted(held[at][1], clock.unit or held[at][0] or "s", file)
    if plain != "s":
        raise SimulationError(
            f"the times in '{at}' are in '{clock.unit or held[at][0]}'", str(file), "give s or ms"
        )
    if t.size == 0 or not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0):
        raise SimulationError(
            f"the times in '{at}' do not increase", str(file), "sort them, and leave out repeats"
        )
    found: ColumnTable = {}
    for name, column in wanted.items():
        if column.name in found or not column.name:
            raise SimulationError(
                f"two columns are '{column.name}' in the model"
                if column.name
                else f"column '{name}' has no name in the model",
                str(file),
                f"give '{name}' a name of its own, or leave it out",
            )
        found[column.name] = _converted(held[name][1], units_of[name], file)
    return MeasuredTable(name=file.name, t=t, columns=found)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _converted(values: Array, unit: str, file: Path) -> tuple[str, Array]:
    """Unit of SI and values in it."""
    try:
        plain, factor = conversion(unit)
    except UnitError as error:
        raise SimulationError(
            f"'{unit[:40]}' is not a unit: {error}", str(file), error.fix
        ) from None
    values = values * factor if factor != 1.0 else values
    if np.any(np.abs(values) > LARGEST):
        raise SimulationError(
            f"a value is {np.nanmax(np.abs(values)):g}, beyond ±{LARGEST:g}",
            str(file),
            "leave the cell empty where nothing was measured",
        )
    return plain, values


def _beside(path: Path) -> tuple[dict[str, _Column], _Column]:
    """Columns described in the file beside the data, and that of the times."""
    file = path.with_suffix(SUFFIX)
    none = _Column("", "")
    if not os.path.isfile(file):
        return {}, none
    text = read_text(file, SimulationError, "give TOML", max_bytes=MAX_BYTES)
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SimulationError(f"the text is not TOML: {error}", str(file), "correct it") from None
    unknown = [key for key in table if key not in ("time", "columns")]
    if unknown:
        fix = nearest(unknown[0], ("time", "columns"))
        raise SimulationError(f"there is no key '{unknown[0]}'", str(file), fix)
    listed = table.get("columns", {})
    if not isinstance(listed, dict):
        raise SimulationError(
            "columns is no table", str(file), 'write columns.x = {name = "base.x", unit = "m"}'
        )
    clock = _entry("time", table["time"], "column", file) if "time" in table else none
    return {old: _entry(old, value, "name", file) for old, value in listed.items()}, clock


def _entry(old: str, value: Any, key: str, file: Path) -> _Column:
    """``"base.x"``, or a table of a name and a unit."""
    if isinstance(value, str):
        return _Column(value, "")
    is_right = isinstance(value, dict) and all(
        k in (key, "unit") and isinstance(v, str) for k, v in value.items()
    )
    if not is_right:
        raise SimulationError(
            f"'{old}' is {value!r:.60}", str(file), f'write {{{key} = "base.x", unit = "m"}}'
        )
    return _Column(value.get(key, old if key == "name" else ""), value.get("unit", ""))

"""Measured motions: columns over time, with units, from files, datasets and arrays.

A column is named as the model names it (``platform.x``), or as one likes where `fit` is told what
it measures. Its unit stands behind the name, ``platform.x [mm]``; units that are not coherent (mm,
deg, rpm) are converted, others are refused. An empty cell, or one that is not a number, is a value
that is missing.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip.engines.system import Array
from noslip.errors import SimulationError, nearest
from noslip.formats import format_of
from noslip.model import expressions
from noslip.model.units import UNITS, Dimension, UnitError, read_unit
from noslip.reading import csv_rows, read_text
from noslip.simulation.input_laws import InputSpec, Table
from noslip.simulation.run_files import MAX_TEXT, AbstractRunFormat, Csv
from noslip.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray

#: Units that are converted: name → coherent unit, and how many of it one is.
CONVERTED = {
    "deg": ("rad", math.pi / 180),
    "rev": ("rad", 2 * math.pi),
    "rpm": ("(rad/s)", 2 * math.pi / 60),
    "mm": ("m", 1e-3),
    "cm": ("m", 1e-2),
    "km": ("m", 1e3),
    "g": ("kg", 1e-3),
    "us": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "kN": ("N", 1e3),
    "Nm": ("(N*m)", 1.0),
}
#: Names of the column of times.
TIME = ("time", "t")
_FIX = "write a line of names, time [s] first, and a line of numbers for each time"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredRun:
    """What was measured of one motion.

    Parameters
    ----------
    times : (n,) increasing, s.
    columns : name → (n,) values, NaN where one is missing; inputs among them are what was applied.
    units : name → unit; of those that are not named that of the model.
    start : coordinates, speeds and named angles at the start, as far as they are known; the rest is
        completed as by :func:`simulate`.
    inputs : those that are no columns, as for :func:`simulate`.
    start_time : s, when the motion starts; the first time by default.
    held : whether an input that is a column holds each value until the next; else linear between.
    name : for messages and pictures.
    """

    times: Array
    columns: Mapping[str, Array]
    units: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, InputSpec] = field(default_factory=dict)
    start_time: float | None = None
    held: bool = False
    name: str = "run"

    def __post_init__(self) -> None:
        where = f"measured run '{self.name}'"
        times = np.asarray(self.times, dtype=float)
        if times.ndim != 1 or times.size < 2 or not np.all(np.isfinite(times)):
            raise SimulationError(
                f"the times have the shape {times.shape}, or are not all finite",
                where,
                "give at least two times, each with its values",
            )
        if np.any(np.diff(times) <= 0):
            at = int(np.flatnonzero(np.diff(times) <= 0)[0])
            raise SimulationError(
                f"the times do not increase: {times[at + 1]:g} s comes after {times[at]:g} s",
                where,
                "sort the lines by time, and leave out repeated ones",
            )
        columns = {name: np.asarray(x, dtype=float) for name, x in self.columns.items()}
        for name, x in columns.items():
            if x.shape != times.shape:
                raise SimulationError(
                    f"column '{name}' has the shape {x.shape}, and there are {times.size} times",
                    where,
                    "give one value for each time, NaN where one is missing",
                )
            if np.any(np.isinf(x)):
                raise SimulationError(
                    f"column '{name}' has values that are infinite", where, "write NaN, or nothing"
                )
        if self.start_time is not None and not self.start_time <= times[0]:
            raise SimulationError(
                f"the motion starts at {self.start_time} s, after the first time {times[0]:g} s",
                where,
                "give a start_time up to the first time",
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "columns", columns)

    @property
    def begin(self) -> float:
        """When the motion starts, s."""
        return float(self.times[0] if self.start_time is None else self.start_time)

    @property
    def duration(self) -> float:
        """From the start to the last time, s."""
        return float(self.times[-1] - self.begin)

    def in_unit(self, name: str, unit: str) -> Array:
        """(n,) values of a column in a coherent unit.

        Raises
        ------
        SimulationError : the column has another dimension, or a unit that is not known.
        """
        given = self.units.get(name, "") or unit
        where = f"column '{name}' of measured run '{self.name}'"
        try:
            size, scale = conversion(given)
            expected = read_unit(unit) if unit else size
        except UnitError as error:
            raise SimulationError(f"the unit '{given}' {error}", where, error.fix) from None
        if size != expected:
            raise SimulationError(
                f"it is in '{given}', and what it measures is in '{unit}'",
                where,
                f"give it in {unit}, or say what it measures: columns={{'{name}': …}}",
            )
        found: Array = self.columns[name] * scale
        return found

    def table(self, name: str, unit: str) -> Table:
        """A column as an input over time."""
        values = self.in_unit(name, unit)
        known = np.isfinite(values)
        if known.sum() < 2:
            raise SimulationError(
                f"input '{name}' has {known.sum()} values",
                f"measured run '{self.name}'",
                "give at least two of them, or leave the column out",
            )
        kind = "hold" if self.held else "linear"
        return Table(times=self.times[known], values=values[known], kind=kind)


#: What `fit` takes as one measured motion.
Measured = "MeasuredRun | Trajectory | Mapping[str, Any] | xarray.Dataset | str | os.PathLike[str]"


def read_measured(
    data: Any,
    *,
    start: Mapping[str, float] | None = None,
    inputs: Mapping[str, InputSpec] | None = None,
    held: bool = False,
) -> tuple[MeasuredRun, ...]:
    """Measured motions from whatever holds them.

    Parameters
    ----------
    data : a :class:`MeasuredRun`, the path of a CSV or NetCDF file, an xarray dataset over
        ``time``, a :class:`Trajectory`, a mapping of names with ``time`` to arrays; or a list of
        these.
    start, inputs, held : of those that are no `MeasuredRun` yet.

    Raises
    ------
    SimulationError : for what cannot be read.
    """
    single = isinstance(data, Mapping | str | os.PathLike | MeasuredRun | Trajectory)
    items = [data] if single or hasattr(data, "data_vars") else list(data)
    if not items:
        raise SimulationError(
            "there is no measured run", "fit(system, data)", "give a file, a dataset, or a list"
        )
    more = {"start": dict(start or {}), "inputs": dict(inputs or {}), "held": held}
    return tuple(_read(item, f"run {k + 1}", more) for k, item in enumerate(items))


def _read(item: Any, name: str, more: Mapping[str, Any]) -> MeasuredRun:
    if isinstance(item, MeasuredRun):
        return item
    if isinstance(item, str | os.PathLike):
        return _of_table(_file(Path(item)), Path(item).name, more)
    if isinstance(item, Trajectory):
        units = {n: unit for n, (unit, _) in item.columns.items()}
        columns = {n: np.asarray(x) for n, (_, x) in item.columns.items()}
        return MeasuredRun(times=item.t, columns=columns, units=units, name=name, **more)
    if hasattr(item, "data_vars"):
        return _of_table(_dataset(item, name), name, more)
    if isinstance(item, Mapping):
        table = {str(n): ("", np.asarray(x, dtype=float)) for n, x in item.items()}
        return _of_table(table, name, more)
    raise SimulationError(
        f"a measured run is given as {type(item).__name__}",
        "fit(system, data)",
        "give the path of a CSV or NetCDF file, an xarray dataset, a mapping of arrays, or a "
        "MeasuredRun",
    )


def _of_table(
    table: Mapping[str, tuple[str, Array]], name: str, more: Mapping[str, Any]
) -> MeasuredRun:
    clock = next((n for n in TIME if n in table), "")
    if not clock:
        raise SimulationError(
            f"there is no column of times; there are {', '.join(table) or 'none'}"[:300],
            f"measured run '{name}'",
            "name it 'time', as in a heading 'time [s]'",
        )
    unit, times = table[clock]
    raw = MeasuredRun(
        times=times,
        columns={n: x for n, (_, x) in table.items() if n != clock} | {clock: times},
        units={n: u for n, (u, _) in table.items() if u},
        name=name,
    )
    scaled = raw.in_unit(clock, "s") if unit else times
    columns = {n: x for n, x in raw.columns.items() if n != clock}
    return MeasuredRun(times=scaled, columns=columns, units=raw.units, name=name, **more)


def _file(path: Path) -> Mapping[str, tuple[str, Array]]:
    format = format_of(AbstractRunFormat, path, "read")
    return _csv(path) if isinstance(format, Csv) else format.read(path)


def _csv(path: Path) -> dict[str, tuple[str, Array]]:
    """Columns of a table with commas; cells that are empty are NaN, lines with # are left out."""
    text = read_text(path, SimulationError, _FIX, max_bytes=MAX_TEXT)
    rows = csv_rows(text, str(path), SimulationError, _FIX)
    plain = ((where, row) for where, row in rows if not row[0].lstrip().startswith("#"))
    where, header = next(plain, (str(path), []))
    heads = [_head(cell) for cell in header]
    names = [name for name, _ in heads]
    if not any(name in TIME for name in names):
        raise SimulationError(
            f"the first line names no time: '{','.join(header)[:80]}'", where, _FIX
        )
    if twice := [name for name in names if names.count(name) > 1]:
        raise SimulationError(f"two columns are named '{twice[0]}'", where, "rename one of them")
    values = []
    for where, row in plain:
        if len(row) != len(header):
            raise SimulationError(
                f"the line has {len(row)} values, expected {len(header)}", where, _FIX
            )
        try:
            values.append([float(cell) if cell.strip() else math.nan for cell in row])
        except ValueError as error:
            raise SimulationError(f"the line has no numbers: {error}", where, _FIX) from None
    table = np.array(values, dtype=float).reshape(-1, len(header))
    return {name: (unit, table[:, k]) for k, (name, unit) in enumerate(heads)}


def _head(cell: str) -> tuple[str, str]:
    """Name and unit of a heading: ``platform.x [mm]``, ``platform.x``."""
    found = re.fullmatch(r"\s*(.*?)\s*\[(.*)\]\s*", cell)
    return (found[1], found[2].strip()) if found else (cell.strip(), "")


def _dataset(dataset: xarray.Dataset, name: str) -> dict[str, tuple[str, Array]]:
    """Variables of a dataset over time."""
    clock = next((n for n in TIME if n in dataset.coords or n in dataset.data_vars), "")
    found = {}
    for key in ([clock] if clock else []) + [str(n) for n in dataset.data_vars]:
        one = dataset[key]
        if one.ndim == 1 and np.issubdtype(one.dtype, np.number):
            found[key] = (str(one.attrs.get("units", "")), np.asarray(one.values, dtype=float))
    if clock and clock not in found:
        raise SimulationError(
            f"'{clock}' is no column of numbers",
            f"measured run '{name}'",
            "give times as numbers, in s",
        )
    return found


def conversion(unit: str) -> tuple[Dimension, float]:
    """Dimension of a unit, and how many coherent ones it is: deg/s is 0.01745 of 1/s.

    Raises
    ------
    UnitError : it is not known.
    """
    words = sorted(set(re.findall(r"[A-Za-z]+", unit)))
    coherent = unit
    for word in words:
        if word in CONVERTED:
            coherent = re.sub(rf"\b{word}\b", CONVERTED[word][0], coherent)
        elif word not in UNITS:
            known = [*UNITS, *CONVERTED]
            raise UnitError(f"has '{word}', which is not known", nearest(word, known))
    size = read_unit(coherent)
    factors = dict.fromkeys(UNITS, 1.0) | {n: x for n, (_, x) in CONVERTED.items()}
    return size, float(expressions.nominal(unit, factors)) if words else 1.0


def unwrapped(values: Array) -> Array:
    """An angle within one turn that jumps, without its jumps; NaN stays.

    What reaches beyond one turn does not jump: a wheel may turn far between two samples.
    """
    found, known = values.copy(), np.isfinite(values)
    jumps = np.abs(np.diff(values[known])).max(initial=0.0) > math.pi
    if jumps and np.ptp(values[known]) <= 2 * math.pi * (1 + 1e-9):
        found[known] = np.unwrap(values[known])
    return found


def used_columns(
    runs: Sequence[MeasuredRun], known: Mapping[str, str], chosen: Mapping[str, str] | None
) -> dict[str, str]:
    """Column → expression of what it measures.

    Parameters
    ----------
    runs : what was measured.
    known : names that a column may have by itself → unit.
    chosen : column → expression, as the caller says; by default all that have a known name.

    Raises
    ------
    SimulationError : a column is missing, or nothing is measured.
    """
    there = list(dict.fromkeys(n for run in runs for n in run.columns))
    if chosen is not None:
        for name in chosen:
            if name not in there:
                raise SimulationError(
                    f"there is no column '{name}'",
                    f"measured run{'s' if len(runs) > 1 else ''} "
                    + ", ".join(f"'{run.name}'" for run in runs[:3]),
                    nearest(name, there),
                )
        return dict(chosen)
    found = {name: name for name in there if name in known}
    if not found:
        raise SimulationError(
            f"no column is a coordinate, speed or angle of the model: {', '.join(there)}"[:300],
            f"measured run '{runs[0].name}'",
            "name columns as the model does, or say what they measure: columns={'gps': "
            f"'{next(iter(known), 'platform.x')}'}}",
        )
    return found

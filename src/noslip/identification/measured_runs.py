"""Measured motions: columns over time, with units, from files, datasets and arrays.

A column is named as the model names it (``platform.x``), or as one likes where `fit` is told what
it measures. Its unit stands behind the name, ``platform.x [mm]``; units that are not coherent (mm,
deg, rpm) are converted, others are refused. An empty cell, or one that is not a number, is a value
that is missing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import SimulationError, Table, Trajectory
from noslip.formats import AbstractRunFormat
from noslip.base import ArgumentError, Array, format_of, nearest
from noslip.expressions import UnitError, read_unit
from noslip.identification.measured import MeasuredTable, conversion
from noslip.identification.measured_files import SUFFIX, read_measured

if TYPE_CHECKING:
    import xarray

#: Names of the column of times.
TIME = ("time", "t")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredRun:
    """Measurements of one motion.

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
    inputs: Mapping[str, Any] = field(default_factory=dict)
    start_time: float | None = None
    held: bool = False
    name: str = "run"

    def __post_init__(self) -> None:
        where = f"measured run '{self.name}'"
        for word in ("units", "start", "inputs"):
            if not isinstance(getattr(self, word), Mapping):
                raise ArgumentError(
                    f"{word} is {getattr(self, word)!r:.60}",
                    where,
                    "pass names and values, {'base.vx': 0.5}",
                )
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
                "give a start_time no later than the first time",
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "columns", columns)

    @property
    def begin(self) -> float:
        """Start time of the motion, s."""
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
            coherent, scale = conversion(given)
            size = read_unit(coherent)
            expected = read_unit(unit) if unit else size
        except UnitError as error:
            raise SimulationError(f"'{given}' is not a unit: {error}", where, error.fix) from None
        if size != expected:
            raise SimulationError(
                f"it is in '{given}', but the quantity it measures is in '{unit}'",
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


def measured_runs(
    data: Any,
    *,
    start: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    held: bool = False,
) -> tuple[MeasuredRun, ...]:
    """Measured motions from whatever holds them.

    Parameters
    ----------
    data : a :class:`MeasuredRun`, the path of a CSV or NetCDF file (with names and units of a file
        ``NAME.columns.toml`` beside it), what :func:`read_measured` read, an xarray dataset over
        ``time``, a :class:`Trajectory`, a mapping of names with ``time`` to arrays; or a list of
        these.
    start, inputs, held : of those that are no `MeasuredRun` yet.

    Raises
    ------
    SimulationError : for what cannot be read.
    """
    single = isinstance(
        data, Mapping | str | os.PathLike | MeasuredRun | MeasuredTable | Trajectory
    )
    several = hasattr(data, "__iter__") and not hasattr(data, "data_vars")
    items = list(data) if several and not single else [data]  # what is neither is refused below
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
        path = Path(item)
        if path.name and os.path.isfile(path.with_suffix(SUFFIX)):  # it says names and units
            return _read(read_measured(path), name, more)
        found = format_of(AbstractRunFormat, path, "read").read(path)
        return _of_table(found, path.name, more)
    if isinstance(item, MeasuredTable):
        return _of_table({"time": ("s", item.t), **item.columns}, item.name, more)
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
        "data, argument of fit",
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
            f"'{clock}' is not a column of numbers",
            f"measured run '{name}'",
            "give times as numbers, in s",
        )
    return found


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

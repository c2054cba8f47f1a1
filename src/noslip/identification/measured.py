"""Measured motions: records of what a mechanism did, their files, and the runs fitted to them.

**Measured data as a table with the model's names, in SI units, and units that are converted.**

**Measured data: a file of any run format as a table with the model's names, in SI units.**

Logs seldom have the names of a model, and often no units. Both are asked for once, in a file beside
the data:

    # log.columns.toml, beside log.csv
    time = {column = "stamp", unit = "ms"}
    columns.pos_x = {name = "base.x", unit = "mm"}
    columns.current = {name = "current", unit = "A"}

Columns that are not listed are left out; without such a file all are taken, and each must have a
unit in the data itself, as ``base.x [m]`` in CSV.

**Measured motions: columns over time, with units, from files, datasets and arrays.**

A column is named as the model names it (``platform.x``), or as one likes where `fit` is told what
it measures. Its unit stands behind the name, ``platform.x [mm]``; units that are not coherent (mm,
deg, rpm) are converted, others are refused. An empty cell, or one that is not a number, is a value
that is missing.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noslip import SimulationError, Table, Trajectory
from noslip.base import LARGEST, ArgumentError, Array, format_of, nearest, read_text
from noslip.expressions import ExpressionError, UnitError, names_of, nominal, read_unit
from noslip.formats import AbstractRunFormat
from noslip.simulation import ColumnTable

if TYPE_CHECKING:
    import xarray


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
    """Measured columns over time, by the model's names. Made by :func:`read_measured`."""

    name: str  #: name of the file
    t: Array  #: (n,) increasing times, s
    columns: ColumnTable = field(repr=False)  #: name → SI unit and (n,) values

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
    path : path of the data; a file ``NAME.columns.toml`` beside it gives names and units once for
        all.
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


#: Names of the column of times.
TIME = ("time", "t")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredRun:
    """Measurements of one motion."""

    times: Array  #: (n,) increasing, s
    #: name → (n,) values, NaN where one is missing; inputs among them are what was applied
    columns: Mapping[str, Array]
    #: name → unit; of those that are not named that of the model
    units: Mapping[str, str] = field(default_factory=dict)
    #: coordinates, speeds and named angles at the start, as far as they are known; the rest is
    #: completed as by :func:`simulate`
    start: Mapping[str, float] = field(default_factory=dict)
    #: inputs that are not columns, as for :func:`simulate`
    inputs: Mapping[str, Any] = field(default_factory=dict)
    start_time: float | None = None  #: s, when the motion starts; the first time by default
    #: whether an input that is a column holds each value until the next; else linear between
    held: bool = False
    name: str = "run"  #: name in messages and pictures

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
    start, inputs, held : values for data that are not yet a `MeasuredRun`.

    Raises
    ------
    SimulationError : for what cannot be read.
    """
    single = isinstance(
        data, Mapping | str | os.PathLike | MeasuredRun | MeasuredTable | Trajectory
    )
    several = hasattr(data, "__len__") or hasattr(data, "__next__")
    several = several and not hasattr(data, "data_vars") and np.ndim(data) > 0
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

    `known`: names that a column may have by itself → unit. `chosen`: column → expression, as the
    caller says; by default all that have a known name.

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

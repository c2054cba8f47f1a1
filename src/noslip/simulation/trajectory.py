"""`Trajectory`: what a run has computed, at its samples; kept in NetCDF files and read back.

**Formats of files that hold a run: NetCDF and CSV, and one's own.**

A format of runs answers what `formats.py` lists:

1. `write(run, path)`: it finds all columns in ``run.columns``, and what they belong to in
   ``run.attributes``;
2. `read(path)`: all columns by name, ``time`` among them, each with its unit.

**`Trajectory`, the fifth stage: what happened, with names, units and how it ended.**

**Lazily computed columns of a trajectory, by name, and tables that know what names there are.**

Most runs are made for a few of their columns, and accelerations take longer than all others: an
array is computed at the first access and cached. Named angles, their rates and named speeds are
columns too; the traced formulas of the same quantities are in ``expressions``.
"""

from __future__ import annotations

import contextlib
import csv
import enum
import io
import math
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from noslip.algebra import angular_velocity
from noslip.base import (
    AbstractFormat,
    Array,
    MissingNameError,
    SimulationError,
    check_folder,
    check_hdf5_heaps,
    counted,
    csv_rows,
    format_of,
    nearest,
    open_plain,
    read_text,
    require,
    write_file,
)
from noslip.expressions import evaluate, parse
from noslip.model import Model, Quantity, Scenario, bears_force

if TYPE_CHECKING:
    import xarray

    from noslip.simulation.request import RunOptions


#: Bytes of a run read from NetCDF and from CSV, and how much larger than its file it may be.
MAX_BYTES, MAX_TEXT, MAX_PACKED = 2**35, 2**28, 100
_FIX = "give the file of a run that noslip wrote"

#: Name of a column → unit and (n,) values.
ColumnTable: TypeAlias = dict[str, tuple[str, NDArray[np.float64]]]


class AbstractRunFormat(AbstractFormat, family="run format"):
    """A format of runs; see the list at the top of this file."""

    __slots__ = ()

    holds = "a run"
    error = SimulationError


class NetCDF(AbstractRunFormat):
    """NetCDF file: the content of `to_xarray`, one variable per column, units as attributes."""

    __slots__ = ()

    word = "netcdf"
    name = "NetCDF"
    suffixes = (".nc", ".nc4", ".h5")

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns and attributes."""
        # without xarray, whose import takes longer than most runs
        with new_netcdf(path) as file:
            file.dimensions = {"time": len(run.t)}
            for name, (unit, values) in {"time": ("s", run.t), **run.columns}.items():
                variable = file.create_variable(name, ("time",), data=np.ascontiguousarray(values))
                variable.attrs["units"] = unit
            for name, value in run.attributes.items():
                file.attrs[name] = value

    def read(self, path: Path) -> ColumnTable:
        """All columns."""
        import h5py  # h5netcdf fails once more as it is closed after a failure

        with contextlib.ExitStack() as opened:
            stream = opened.enter_context(open_plain(path, SimulationError, _FIX))
            check_hdf5_heaps(stream, SimulationError, str(path), _FIX)
            file = opened.enter_context(h5py.File(stream, "r"))
            size = os.fstat(stream.fileno()).st_size
            columns = {name: column for name, column in file.items() if "units" in column.attrs}
            count = sum(math.prod(column.shape) for column in columns.values())
            if 8 * count > min(MAX_BYTES, 2**20 + MAX_PACKED * size):
                raise SimulationError(
                    f"the file has {size} bytes and claims to hold {count} numbers",
                    str(path),
                    _FIX,
                )
            return {
                str(name): (str(column.attrs["units"]), np.asarray(column[...], dtype=float))
                for name, column in columns.items()
            }


class Csv(AbstractRunFormat):
    """A table of all digits, the unit after each name, as in ``disk.x [m]``.

    A cell that is empty is read as NaN, a line that begins with # is left out.
    """

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
        text = read_text(path, SimulationError, _FIX, max_bytes=MAX_TEXT)
        every = csv_rows(text, str(path), SimulationError, _FIX)
        rows = ((where, row) for where, row in every if not row[0].lstrip().startswith("#"))
        header = next(rows, ("", []))[1]
        values = array("d")
        for where, row in rows:
            if len(row) != len(header):
                raise SimulationError(
                    f"the line has {len(row)} values, expected {len(header)}", where, _FIX
                )
            try:
                joined = "".join(row)
                if "_" in joined or not joined.isascii():  # what Python reads as numbers besides
                    raise ValueError(f"'{joined[:40]}' has other characters")
                values.extend([float(cell) if cell.strip() else math.nan for cell in row])
            except ValueError as error:
                raise SimulationError(f"the line is not numeric: {error}", where, _FIX) from None
        table = np.array(values).reshape(-1, max(1, len(header)))
        found: ColumnTable = {}
        for k, head in enumerate(header):
            name, is_given, unit = head.strip().removesuffix("]").rpartition(" [")
            name = name if is_given else head.strip()
            if name in found:
                raise SimulationError(
                    f"two columns are named '{name}'", str(path), "rename one of them"
                )
            found[name] = (unit if is_given else "", table[:, k])
        return found


@contextlib.contextmanager
def new_netcdf(path: Path) -> Iterator[Any]:
    """Context with an open NetCDF file to fill, an `h5netcdf.File`.

    Raises
    ------
    OSError : it cannot be written; HDF5 never learns of it.
    """
    import h5netcdf

    with path.open("wb") as file:
        spool = _SpooledFile(file.fileno())
        with h5netcdf.File(spool, "w") as dataset:
            yield dataset
        spool.finish()


def add_variable(
    file: Any, name: str, dims: tuple[str, ...], values: NDArray, attributes: dict[str, str]
) -> None:
    """Write a variable to an open NetCDF file, numbers or text."""
    if values.dtype.kind == "U":
        import h5py

        data = values.astype(object)
        variable = file.create_variable(name, dims, dtype=h5py.string_dtype(), data=data)
    else:
        variable = file.create_variable(name, dims, data=np.ascontiguousarray(values))
    for key, value in attributes.items():
        variable.attrs[key] = value


class _SpooledFile(io.RawIOBase):
    """A file for HDF5 whose writes never fail while HDF5 has it open.

    HDF5 cannot be left after an error: its objects fail again as they are closed, with a traceback
    each, and on a full disk it ended the process. So small writes, among them all that HDF5 reads
    back, stay in pages in memory; large ones go to the disk at once, and after the first that fails
    no more is written. `finish` writes the pages and raises what went wrong.
    """

    PAGE = 2**16

    def __init__(self, handle: int) -> None:
        super().__init__()
        self._handle = handle
        self._at = self._size = 0
        self._pages: dict[int, bytearray] = {}
        #: first and one past the last page that are on the disk
        self._written: list[tuple[int, int]] = []
        self._error: OSError | None = None

    def finish(self) -> None:
        """Write the pages, and raise the first error of all writes."""
        for number, page in sorted(self._pages.items()):
            start = number * self.PAGE
            self._put(start, memoryview(page)[: max(0, self._size - start)])
        if self._error is not None:
            raise self._error
        os.ftruncate(self._handle, self._size)

    def readable(self) -> bool:
        """True."""
        return True

    def writable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the size."""
        self._size = self._at if size is None else size
        return self._size

    def readinto(self, buffer: Any) -> int:
        """Read what is there, zeros where nothing was written."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._at))
        for piece, page, inside in self._parts(count):
            view[piece] = self._page(page)[inside]
        self._at += count
        return count

    def write(self, data: Any) -> int:
        """Write to the pages; whole pages of much data to the disk."""
        view = memoryview(data).cast("B")
        count = len(view)
        first, last = -(-self._at // self.PAGE), (self._at + count) // self.PAGE
        if last - first < 16:
            first = last = 0
        for piece, page, inside in self._parts(count, first, last):
            self._page(page)[inside] = view[piece]
        if first < last:
            start, size = first * self.PAGE, (last - first) * self.PAGE
            self._put(start, view[start - self._at :][:size])
            self._written.append((first, last))
            for page in range(first, last):
                self._pages.pop(page, None)
        self._at += count
        self._size = max(self._size, self._at)
        return count

    def _parts(
        self, count: int, first: int = 0, last: int = 0
    ) -> Iterator[tuple[slice, int, slice]]:
        """Slices of the next bytes: in the buffer, the page, and in the page; not first..last."""
        done = 0
        while done < count:
            page, start = divmod(self._at + done, self.PAGE)
            if first <= page < last:
                done = last * self.PAGE - self._at
                continue
            size = min(count - done, self.PAGE - start)
            yield slice(done, done + size), page, slice(start, start + size)
            done += size

    def _page(self, number: int) -> bytearray:
        """A page in memory, made or read now if it is not there."""
        if number not in self._pages:
            page = bytearray(self.PAGE)
            if self._error is None and any(a <= number < b for a, b in self._written):
                try:
                    found = os.pread(self._handle, self.PAGE, number * self.PAGE)
                    page[: len(found)] = found
                except OSError as error:
                    self._error = error
            self._pages[number] = page
        return self._pages[number]

    def _put(self, offset: int, data: memoryview) -> None:
        """Write to the disk, unless that failed before."""
        try:
            while self._error is None and len(data):
                count = os.pwrite(self._handle, data, offset)
                data, offset = data[count:], offset + count
        except OSError as error:
            self._error = error


def check_file(path: str | Path, format: AbstractRunFormat, other: str) -> Path:
    """The path of a file that can be written: a known suffix, in a folder that exists."""
    target = Path(path)
    if not target.name.lower().endswith(format.suffixes):
        raise SimulationError(
            f"{format.name} is not written as '{target.suffix or target.name}'",
            str(target),
            f"let the name of the file end in {format.suffixes[0]}; {other}",
        )
    return check_folder(target, SimulationError)


#: A run is lost that ends farther off than this part of the path's length ...
LOST = 0.01
#: ... and than so many times what it was off at the start.
WORSE = 2.0
#: Share of the samples, at the end, over which the final error is taken.
LAST = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathErrors:
    """Errors of what follows a path against its reference at the same time."""

    #: x, y: (n,) of the reference on its path, m
    x: Array
    y: Array
    #: along, across, heading: (n,) ahead of the reference, m, to its left, m, turned against it,
    #: rad
    along: Array
    across: Array
    heading: Array
    length: float  #: length of the path, m

    #: Columns of a trajectory with the reference on its path and these errors → their units.
    COLUMNS: ClassVar[dict[str, str]] = {
        "path.x": "m",
        "path.y": "m",
        "path.along_error": "m",
        "path.across_error": "m",
        "path.position_error": "m",
        "path.heading_error": "rad",
    }

    @property
    def distance(self) -> Array:
        """(n,) distances from the reference, m."""
        return np.hypot(self.along, self.across)

    @property
    def largest(self) -> float:
        """Largest distance from the reference, m."""
        return float(np.max(self.distance, initial=0.0))

    @property
    def final(self) -> float:
        """Largest distance from the reference in the last tenth of the run, m."""
        first = math.ceil((1 - LAST) * len(self.along)) - 1
        return float(np.max(self.distance[first:]))

    @property
    def lost(self) -> bool:
        """Whether the path was left: the run ends worse than it began, and far off."""
        begun = math.hypot(self.along[0], self.across[0])
        return not self.final <= max(LOST * self.length, WORSE * begun)

    @property
    def columns(self) -> dict[str, tuple[str, Array]]:
        """Reference and errors as columns of a trajectory: name → unit and values."""
        values = (self.x, self.y, self.along, self.across, self.distance, self.heading)
        return {
            name: (unit, column)
            for (name, unit), column in zip(self.COLUMNS.items(), values, strict=True)
        }

    def to_json(self) -> dict[str, float | bool]:
        """The errors in numbers."""
        return {
            "path_length": self.length,
            "path_error": self.largest,
            "path_error_final": math.hypot(self.along[-1], self.across[-1]),
            "heading_error": float(np.max(np.abs(self.heading))),
            "heading_error_final": float(self.heading[-1]),
            "lost": self.lost,
        }

    def text(self) -> str:
        """The errors in one line."""
        last = math.hypot(self.along[-1], self.across[-1])
        return (
            f"error {self.largest:.2e} m at most, {last:.2e} m and "
            f"{abs(self.heading[-1]):.2e} rad at the end{', lost' if self.lost else ''}"
        )


#: An array, or what finds it.
Given = Array | Callable[[], Array]
#: Unit and values by name.
Sources = dict[str, tuple[str, Given]]


Value = TypeVar("Value")


class LazyValue(Generic[Value]):
    """A lazily computed value: computed at the first call, then cached."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Value]) -> None:
        self._find: Callable[[], Value] | None = find

    def __call__(self) -> Value:
        find = self._find
        if find is not None:
            # two threads may both find it, and find the same
            self._found = find()
            self._find = None
        return self._found


def column(table: Given, k: int) -> Given:
    """A lazy column of a lazily computed table."""
    return (lambda: table()[:, k]) if callable(table) else table[:, k]


class LazyField(Generic[Value]):
    """A field of a frozen dataclass: a value, or a function that computes it when first read."""

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type | None = None) -> Value:
        if owner is None:  # a dataclass reads the default this way; there is none
            raise AttributeError(self._name)
        given: Value | Callable[[], Value] = vars(owner)[self._name]
        return given() if callable(given) else given

    def __set__(self, owner: object, given: Value | Callable[[], Value]) -> None:
        vars(owner)[self._name] = given


class Columns(Mapping[str, tuple[str, Array]]):
    """Columns by name: unit and (n,) values, computed when they are first read.

    `given`: unit of each name, and the values or a function that finds them.
    """

    def __init__(self, given: Sources) -> None:
        self._given = given

    def __getitem__(self, name: str) -> tuple[str, Array]:
        unit, values = self._given[name]
        return unit, values() if callable(values) else values

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} [{unit}]" for name, (unit, _) in self._given.items())
        return f"Columns: {listed}"


#: What to do about an event of a run that was asked for none.
NO_EVENTS = "the run had no events: simulate with events={'name': 'expression', …}"


class Named(dict[str, Any]):
    """A dictionary whose error for a missing name says what / where / fix.

    `noun`: noun of what has a name: "column", "event"; `where`: name of the table's owner; `none`:
    remedy if the table is empty.
    """

    __slots__ = ("_none", "_noun", "_where")

    def __init__(
        self, noun: str, where: str, none: str, values: Mapping[str, Any] | None = None
    ) -> None:
        if values:
            super().__init__(values)
        self._noun, self._where, self._none = noun, where, none

    def __missing__(self, name: object) -> Any:
        fix = nearest(str(name), self) if self else self._none
        raise MissingNameError(f"there is no {self._noun} '{name}'", self._where, fix)


def _angles(run: Trajectory) -> Sources:
    """Named angles of spherical and free joints, without jumps, then their rates."""
    table: Sources = {}
    coordinates, speeds = ([x.name for x in xs] for xs in (run.coordinates, run.speeds))
    for joint in run.model.joints:
        angles = joint.type.named_angles()
        if angles is None or f"{joint.name}.qw" not in coordinates or not len(run.t):
            continue
        at, first = coordinates.index(f"{joint.name}.qw"), speeds.index(f"{joint.name}.wx")
        quaternions, omega = run.q[:, at : at + 4], run.v[:, first : first + 3]
        values = LazyValue(partial(unwrapped, quaternions, angles.sequence))
        rates = LazyValue(partial(_rates, values, angles.sequence, omega))
        own = [f"{joint.name}.{name}" for name in angles.names]
        table |= {name: ("rad", column(values, k)) for k, name in enumerate(own)}
        table |= {f"{name}_rate": ("rad/s", column(rates, k)) for k, name in enumerate(own)}
    return table


def unwrapped(quaternions: Array, sequence: str) -> Array:
    """(n, 3) angles of a rotation, without jumps between samples that follow each other closely."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_quat(quaternions, scalar_first=True)
    return np.unwrap(rotation.as_euler(sequence.upper(), suppress_warnings=True), axis=0)


def _rates(angles: LazyValue[Array], sequence: str, omega: Array) -> Array:
    return angle_rates(angles(), sequence, omega)


def angle_rates(a: Array, sequence: str, omega: Array) -> Array:
    """(n, 3) rates of angles a; NaN where the angles are singular.

    With R = R₁(a₁) R₂(a₂) R₃(a₃) and ω in the axes of the child,

        ω = R₃ᵀ R₂ᵀ e₁ ȧ₁ + R₃ᵀ e₂ ȧ₂ + e₃ ȧ₃
    """
    E = np.empty((*a.shape, 3))
    for k, unit in enumerate(np.eye(3)):
        for i, part in enumerate(angular_velocity(list(a.T), list(unit), sequence, np.cos, np.sin)):
            E[:, i, k] = part
    regular = np.abs(np.linalg.det(E)) > 1e-9
    rates = np.full_like(omega, np.nan)
    rates[regular] = np.linalg.solve(E[regular], omega[regular][..., None])[..., 0]
    return rates


def _speeds(run: Trajectory) -> Sources:
    """Independent speeds that the model names by an expression, such as a bicycle's speed."""
    measured = run.model.measured_speeds()
    named = [s for s in run.model.independent_speeds if s.expression and s.name not in measured]
    known: dict[str, Any] = {**run.parameters, "t": run.t}
    for quantities, table in ((run.coordinates, run.q), (run.speeds, run.v)):
        known |= {quantity.name: table[:, k] for k, quantity in enumerate(quantities)}
    return {s.name: (s.unit, LazyValue(partial(_evaluated, s.expression, known))) for s in named}


def _evaluated(expression: str, known: dict[str, Any]) -> Array:
    """(n,) values of an expression of numbers and columns."""
    import casadi as ca

    values = {name: ca.DM(value) for name, value in known.items()}
    return np.array(evaluate(parse(expression), values, ca), dtype=float).ravel()


#: Share of the energy exchanged, or of the way that was prescribed, from which on an error says
#: that a run means nothing; rounding leaves 1e-9 of it, the loosest tolerance some hundredths.
MEANINGLESS = 0.1
#: Speeds below this are rounding: nothing moves, m/s or rad/s.
AT_REST = 1e-13


class Ending(enum.Enum):
    """Every way a run can end, in the order in which they sort; the value is the sentence shown."""

    FINISHED = "The run reached its end time."
    EVENT = "The run ended at an event."
    CANCELLED = "The run was cancelled; the motion up to then is kept."
    STEP_TOO_SMALL = (
        "The steps became too small to advance the time: the motion is stiff or singular here. "
        "Loosen the tolerance, or check what happens at this time."
    )
    SINGULAR = "The mechanism reached a singular configuration."
    NON_FINITE = "The equations gave a number that is not finite."
    MAX_STEPS = "The allowed number of steps was used up. Raise max_steps, or loosen the tolerance."
    PROJECTION_FAILED = "A step could not be projected onto the constraints: take smaller steps."
    CONTACTS = "Contacts by Coulomb's law do not continue the motion."

    def __lt__(self, other: object) -> bool:
        """Whether it is listed before another one, so that ``np.unique(batch.endings)`` works."""
        if not isinstance(other, Ending):
            return NotImplemented
        listed = list(Ending)
        return listed.index(self) < listed.index(other)


class ContactEvent(NamedTuple):
    """A change of a contact in a run with ``contact="coulomb"``."""

    time: float  #: s
    contact: str  #: name of the contact
    what: str  #: ``slips``, ``grips``, ``lifts``, ``lands`` or ``bounces``
    #: energy that the impact took, if it was one, J; with the first of several contacts
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Trajectory:
    """A simulated motion, sampled: what `simulate`, `run_scenario` and `track` return.

    Names follow SciPy's `solve_ivp` where it has them: `t`, `y`, `nfev`, `status`, `message`,
    `success`.
    """

    model: Model  #: the mechanism that moved
    parameters: dict[str, float]
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    input_quantities: tuple[Quantity, ...]
    rows: tuple[str, ...]
    row_units: tuple[str, ...]
    multiplier_units: tuple[str, ...]
    t: Array  #: (n,) times, s
    #: q, v: (n, nq) coordinates and (n, nv) tree speeds
    q: Array
    v: Array
    #: (n, nv) rates of the tree speeds; those of a run are computed when first asked for
    vdot: LazyField[Array] = LazyField()
    inputs: Array  #: (n, nu + 2 nw) force inputs, speed inputs and their rates
    #: kinetic_energy, potential_energy: (n,), J
    kinetic_energy: Array
    potential_energy: Array
    work: Array  #: (n,) done since the start by everything without a potential, J
    row_residuals: Array  #: (n, nc) A v + a of all rows
    position_residuals: Array  #: (n, nh) g of the holonomic rows
    multipliers: Array | None  #: (n, nc) if they were asked for
    #: further columns by name: unit and values, or what finds them (contact points, states of an
    #: input law, outputs)
    extra: Mapping[str, tuple[str, Given]]
    ending: Ending  #: reason why it ended; `message` adds the place
    message: str
    #: further remarks; second contacts and contacts that would lift off are searched for when first
    #: read
    notes: LazyField[tuple[str, ...]] = LazyField()
    steps: int
    rejections: int
    nfev: int
    rtol: float
    atol: float
    method: str
    start_completed: dict[str, float] = field(default_factory=dict)
    #: event_times, event_states: event → (k,) when its value crossed zero, and (k, nq + nv) [q; v]
    event_times: dict[str, Array] = field(default_factory=dict)
    event_states: dict[str, Array] = field(default_factory=dict)
    ended_by: str | None = None  #: name of the expression in `stop` that ended it, if one did
    contact: str = "ideal"  #: law of its contacts, ``ideal`` or ``coulomb``
    #: instants when contacts slipped, gripped, lifted and landed, of a run with Coulomb's law
    contact_events: tuple[ContactEvent, ...] = ()
    #: scenario as it was run, changes included; None for a run of another kind
    scenario: Scenario | None = None
    #: errors against the path that was tracked; None for a run of another kind
    path_errors: PathErrors | None = None
    #: largest part of the reference's rates that no admissible motion has, m/s, rad/s
    admissibility: float = 0.0
    #: polygons (k, 2) on the floor that a plan kept clear of, m, each with the prefix of the
    #: columns of its displacement, as ``obstacle2`` of ``obstacle2.x``; empty if it stands
    obstacles: tuple[tuple[Array, str], ...] = ()
    #: request from which the run can be repeated; None for one read from a file
    request: RunOptions | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def events_of(entries: Sequence[Mapping[str, Any]]) -> tuple[ContactEvent, ...]:
        """Events of contacts from plain data."""
        return tuple(ContactEvent(**entry) for entry in entries)

    @property
    def success(self) -> bool:
        """Whether the run came to its end time or to an event, and nothing says it is wrong."""
        return self.ending in (Ending.FINISHED, Ending.EVENT) and not self.doubts

    @property
    def status(self) -> int:
        """0 at the end time, 1 at an event, −1 otherwise, as in SciPy."""
        return {Ending.FINISHED: 0, Ending.EVENT: 1}.get(self.ending, -1)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Reasons to reject the result of a run that finished; empty if there are none.

        The balance of energy is of order one or no number, a run that follows a motion is as far
        away from it as the motion goes, or no step was taken.
        """
        if self.ending not in (Ending.FINISHED, Ending.EVENT) or not len(self.t):
            return ()
        found = [self._energy_doubt(), self._tracking_doubt()]
        if not self.steps and self.t[-1] > self.t[0]:
            found.append("no step was taken")
        return tuple(doubt for doubt in found if doubt)

    def _energy_doubt(self) -> str:
        off = np.abs(self.energy_error)
        if not np.all(np.isfinite(off)):
            return "its energy balance is not a number"
        stored = self.kinetic_energy, self.potential_energy, self.work
        moved = max(float(np.max(self.kinetic_energy)), *(float(np.ptp(e)) for e in stored[1:]))
        # rounding of large energies that cancel is no error of the motion
        rounding = 1e3 * np.finfo(float).eps * sum(float(np.max(np.abs(e))) for e in stored)
        is_moving = float(np.max(np.abs(self.v), initial=0.0)) > AT_REST
        if not is_moving or float(np.max(off)) <= max(MEANINGLESS * moved, rounding):
            return ""
        return f"its energy balance is off by {self.energy_drift:.2g} of the energy exchanged"

    def _tracking_doubt(self) -> str:
        # one that left a path under a controller says so by `path_errors.lost`, and a plant that
        # is not the model need not follow it
        is_other = any(name.startswith("got.") for name in self.extra)
        if self.path_errors is not None or not self.errors or is_other:
            return ""
        for error in self.largest_errors:
            ways = [
                float(np.ptp(self[f"reference.{name}"]))
                for name in self.errors
                if self.columns[name][0] == error.unit
            ]
            # one that begins beside its motion, as at a set point, is to come back to it
            begun = [
                abs(float(e[0])) for n, e in self.errors.items() if self.columns[n][0] == error.unit
            ]
            if not error.size <= max(MEANINGLESS * max(ways), WORSE * max(begun), AT_REST):
                return (
                    f"it is {error.size:.3g} {error.unit} off its prescribed motion "
                    f"({error.name}), which covers {max(ways):.3g} {error.unit}"
                )
        return ""

    @property
    def verdict(self) -> str:
        """Ending as a sentence, with the reasons to reject the result if there are any."""
        if not self.doubts:
            return self.message
        return f"{self.message} But the result is meaningless: {'; '.join(self.doubts)}."

    @property
    def y(self) -> Array:
        """(nq + nv, n) coordinates and tree speeds, as SciPy lays them out."""
        return np.vstack([self.q.T, self.v.T])

    @cached_property
    def energy_error(self) -> Array:
        """(n,) K + U − work, less its value at the start: zero for exact motion, J."""
        total = self.kinetic_energy + self.potential_energy - self.work
        return total - total[0] if len(total) else total

    @property
    def energy_drift(self) -> float:
        """Largest |energy_error| over the largest energy that moved, dimensionless."""
        scale = max(
            float(np.max(np.abs(self.kinetic_energy), initial=0.0)),
            float(np.ptp(self.potential_energy)) if len(self.t) else 0.0,
            1e-300,
        )
        return float(np.max(np.abs(self.energy_error), initial=0.0)) / scale

    @property
    def slip(self) -> float:
        """Largest |A v + a| over all rows and samples, in the rows' units (m/s or rad/s)."""
        return float(np.max(np.abs(self.row_residuals), initial=0.0))

    @property
    def gap(self) -> float:
        """Largest |g| over all holonomic rows and samples, m or rad."""
        return float(np.max(np.abs(self.position_residuals), initial=0.0))

    @cached_property
    def errors(self) -> dict[str, Array]:
        """Column → (n,) simulated minus reference; empty without a reference.

        Of a tracked path ``path.position_error`` and ``path.heading_error``: nothing tracks the
        angles of wheels and casters, and from a disturbed start a wheel has rolled another way than
        the reference's. Of a run that follows a motion all coordinates.
        """
        if self.path_errors is not None:
            return {name: self[name] for name in ("path.position_error", "path.heading_error")}
        return {
            c.name: self[c.name] - self[f"reference.{c.name}"]
            for c in self.coordinates
            if f"reference.{c.name}" in self.columns
        }

    @property
    def tracking_error(self) -> float:
        """Largest distance from a tracked path, m; otherwise largest of all errors, m or rad."""
        if self.path_errors is not None:
            return self.path_errors.largest
        return max((float(np.max(np.abs(e))) for e in self.errors.values() if len(e)), default=0.0)

    @cached_property
    def columns(self) -> Columns:
        """Every column by name: unit and (n,) values."""
        table: Sources = {}
        for quantities, values in (
            (self.coordinates, self.q),
            (self.speeds, self.v),
            (self.input_quantities, self.inputs),
        ):
            for k, quantity in enumerate(quantities):
                table[quantity.name] = (quantity.unit, values[:, k])
        vdot: Given = vars(self)["vdot"]  # not computed yet
        for k, quantity in enumerate(self.speeds):
            table[f"acceleration.{quantity.name}"] = (f"{quantity.unit}^2", column(vdot, k))
        table |= _angles(self) | _speeds(self)
        table |= dict(self.extra)
        if self.path_errors is not None:
            table |= self.path_errors.columns
        table["kinetic_energy"] = ("J", self.kinetic_energy)
        table["potential_energy"] = ("J", self.potential_energy)
        table["work"] = ("J", self.work)
        table["energy_error"] = ("J", self.energy_error)
        for k, name in enumerate(self.rows):
            table[f"residual.{name}"] = (self.row_units[k], self.row_residuals[:, k])
            if self.multipliers is not None and bears_force(self.model.contacts, name):
                unit = self.multiplier_units[k]
                table[f"reaction.{name}"] = (unit, self.multipliers[:, k])
        return Columns(table)

    def __getitem__(self, name: str) -> Array:
        """Values of a column, such as ``run["wheel1.angle"]``."""
        if name == "time":
            return self.t
        try:
            return self.columns[name][1]
        except (KeyError, TypeError):
            fix = nearest(str(name), ["time", *self.columns])
            if isinstance(name, list | tuple):
                fix = "take one at a time, or several from run.to_xarray()"
            if str(name).startswith("reaction.") and self.multipliers is None:
                fix = "simulate with reactions=True"
            raise MissingNameError(
                f"there is no column '{name}'", f"trajectory of model '{self.model.name}'", fix
            ) from None

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self.columns

    def obstacles_at(self, sample: int) -> tuple[Array, ...]:
        """Polygons (k, 2) of the obstacles where they are at a sample, m."""
        return tuple(
            corners + np.array([self[f"{name}.x"][sample], self[f"{name}.y"][sample]])
            if name
            else corners
            for corners, name in self.obstacles
        )

    def to_xarray(self) -> xarray.Dataset:
        """Dataset with one variable a column over ``time``, units as attributes."""
        require("xarray", "to_xarray", f"trajectory of model '{self.model.name}'")
        import xarray

        data = {
            name: ("time", values, {"units": unit}) for name, (unit, values) in self.columns.items()
        }
        return xarray.Dataset(
            data,
            coords={"time": ("time", self.t, {"units": "s"})},
            attrs=self.attributes,
        )

    @property
    def attributes(self) -> dict[str, str | float]:
        """Metadata of the columns: model, message, method, tolerances and parameters."""
        return {
            "model": self.model.name,
            "message": self.message,
            "method": self.method,
            "rtol": self.rtol,
            "atol": self.atol,
            "parameters": ", ".join(f"{k} = {v:.17g}" for k, v in self.parameters.items()),
        }

    def plot(self, what: str | Sequence[str] = "", **options: Any) -> Any:
        """A figure of the run, as :func:`noslip.plot` draws it: ``run.plot("path")``."""
        import noslip

        return noslip.plot(self, what, **options)

    def animate(self, path: str | Path | None = None, **options: Any) -> Any:
        """A player in a notebook, or a file if there is a path; see :func:`noslip.animate`."""
        import noslip

        return noslip.animate(self, path, **options)

    def save(self, path: str | Path) -> None:
        """Write all columns to a file, all or nothing; its suffix says the format.

        Raises
        ------
        SimulationError : if no format has that suffix, or there is no such folder.
        """
        format = format_of(AbstractRunFormat, path, "write")
        write_file(format, self, check_folder(path, SimulationError))

    def to_netcdf(self, path: str | Path) -> None:
        """Write what `to_xarray` holds as NetCDF, all or nothing."""
        write_file(NetCDF(), self, check_file(path, NetCDF(), "to_csv writes CSV"))

    def to_csv(self, path: str | Path) -> None:
        """Write all columns as CSV, the unit after each name, all or nothing."""
        write_file(Csv(), self, check_file(path, Csv(), "to_netcdf writes NetCDF"))

    def summary(self) -> str:
        """One honest line: how it ended, energy, constraints, effort; one more on a reference."""
        line = (
            f"{self.verdict}  energy drift {self.energy_drift:.2g}, constraint residual "
            f"{self.slip:.2g} (speeds) {self.gap:.2g} (positions), "
            f"{counted(self.steps, 'step')}, {counted(self.nfev, 'evaluation')}"
        )
        if not self.errors or not len(self.t):
            return line
        if self.path_errors is not None:
            return f"{line}\n{self.covered()}: {self.path_errors.text()}"
        return f"{line}\ntracking error {self.tracking_error:.2g} m or rad"

    def input_use(self) -> dict[str, InputUse]:
        """Input → root mean square, largest magnitude and energy over the run."""
        found = {}
        span = float(self.t[-1] - self.t[0]) if len(self.t) else 0.0
        for quantity in self.input_quantities:
            energy = f"energy.{quantity.name}"
            if energy not in self.columns:
                continue
            values = self[quantity.name]
            mean = float(np.trapezoid(values**2, self.t)) / span if span > 0 else 0.0
            found[quantity.name] = InputUse(
                unit=quantity.unit,
                rms=float(np.sqrt(mean)),
                peak=float(np.max(np.abs(values), initial=0.0)),
                energy=float(self[energy][-1]) if len(self.t) else 0.0,
            )
        return found

    @property
    def largest_errors(self) -> list[LargestError]:
        """The largest errors of a run with samples, those in m and those in rad apart."""
        found = []
        for unit in dict.fromkeys(self.columns[name][0] for name in self.errors):
            sizes = {n: np.abs(e) for n, e in self.errors.items() if self.columns[n][0] == unit}
            worst = max(sizes, key=lambda n: float(np.max(sizes[n])))
            last = max(sizes, key=lambda n: float(sizes[n][-1]))
            most, end = float(np.max(sizes[worst])), float(sizes[last][-1])
            found.append(LargestError(unit, most, worst, end, last))
        return found

    def covered(self) -> str:
        """Covered part of the tracked path, and the time it took."""
        if self.path_errors is None:
            raise SimulationError(
                "the run has no path",
                f"trajectory of model '{self.model.name}'",
                "use a run of `track`",
            )
        driven = f"{self['path.arc_length'][-1]:.6g} m of {self.path_errors.length:.6g} m"
        return f"{driven} in {self.t[-1]:.6g} s"

    def replaced(self, **changes: Any) -> Trajectory:
        """A copy with other fields; what is computed when first asked for stays so."""
        return Trajectory(**{f.name: vars(self)[f.name] for f in fields(self)} | changes)

    def also_noted(self, *more: str, **changes: Any) -> Trajectory:
        """A copy with further notes, and other fields; what is still searched for stays so."""
        known = vars(self)["notes"]
        if callable(known):
            return self.replaced(notes=LazyValue(lambda: (*known(), *more)), **changes)
        return self.replaced(notes=(*known, *more), **changes)

    def __getstate__(self) -> dict[str, Any]:
        """All fields as they are read, for copies and other processes."""
        extra = dict(Columns(dict(self.extra)))
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return found | {"extra": extra, "request": None}

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} … {self.t[-1]:g} s" if len(self.t) else "empty"
        return (
            f"Trajectory of '{self.model.name}': {counted(len(self.t), 'sample')}, {span}\n"
            f"{self.summary()}\n"
            "next: run['column'], run.plot(), run.animate(), run.save('run.nc'), run.to_xarray()"
        )


class InputUse(NamedTuple):
    """Use of an input in a run: root mean square and peak in its unit, energy in J."""

    unit: str
    rms: float
    peak: float
    energy: float


class LargestError(NamedTuple):
    """The largest of some errors of one unit: at most and at the end, and in which columns."""

    unit: str
    size: float
    name: str
    last: float
    last_name: str

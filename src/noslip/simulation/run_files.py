"""Formats of files that hold a run: NetCDF and CSV, and one's own.

A format of runs answers what `formats.py` lists:

1. `write(run, path)`: it finds all columns in ``run.columns``, and what they belong to in
   ``run.attributes``;
2. `read(path)`: all columns by name, ``time`` among them, each with its unit.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noslip.base import (
    AbstractFormat,
    SimulationError,
    check_folder,
    check_hdf5_heaps,
    csv_rows,
    open_plain,
    read_text,
)

if TYPE_CHECKING:
    from noslip.simulation.trajectory import Trajectory

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
    """Write a variable to an open NetCDF file, numbers or text.

    Parameters
    ----------
    file : of `new_netcdf`, which has the dimensions.
    name : of the variable.
    dims : names of its dimensions.
    values : an entry for each place of them.
    attributes : such as ``units``.
    """
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

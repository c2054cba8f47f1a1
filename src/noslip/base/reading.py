"""The one reader of files: plain files of bounded size, text without NULs, numbers within bounds.

Whoever reads a file that a user names reads it here, whatever its format:

    read_bytes, read_text    what a file holds, refused if it is a device, a pipe or a folder, if it
                             is too large, and as text if it is not UTF-8 or holds a NUL
    open_plain               the open file itself, for libraries that read on their own
    check_hdf5_heaps         refuse an HDF5 file whose damage would keep the library busy forever
    csv_rows                 fields of a text, line by line, none longer than MAX_FIELD
    read_number              a finite number within ±LARGEST

No more is read than a file may have, so that time and memory are bounded whatever it is; a file is
opened without waiting, and looked at again once it is open.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
import re
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

from noslip.base.errors import NoslipError, nearest

#: Characters of a field of a table, and empty lines of one.
MAX_FIELD, MAX_EMPTY = 1000, 1000
#: Size of a number that is a length, a time or a mass in SI units: the universe has 1e27 m.
LARGEST = 1e30
#: Names of a folder among which a misspelled one is sought.
MOST_NAMES = 2000

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
Place = str | os.PathLike[str]
ErrorType = type[NoslipError]


def open_plain(path: Place, error: ErrorType, fix: str) -> BinaryIO:
    """A plain file, open for reading.

    Parameters
    ----------
    path : path of the file.
    error : error to raise if it is not a plain file.
    fix : remedy in the message.
    """
    file = os.fspath(path)
    shown = file.replace("\0", "\\0")
    try:
        mode = os.stat(file).st_mode
        if stat.S_ISREG(mode):
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            handle = os.open(file, flags)
            mode = os.fstat(handle).st_mode
            if stat.S_ISREG(mode):
                return open(handle, "rb")
            os.close(handle)
    except (FileNotFoundError, NotADirectoryError):
        there = nearest(os.path.basename(file), names_beside(file))
        hint = there if there.startswith("did you mean") else "check the name and the folder"
        raise error(f"there is no file '{shown}'", shown or "the name ''", hint) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(
            f"'{shown}' cannot be read: {reason}", shown, "check the name and its permissions"
        ) from problem
    what = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
    raise error(f"'{shown}' is {what}", shown, fix)


#: A global heap collection of HDF5: signature, version 1, three zeros, its size in bytes; then an
#: object after another: index, references, four bytes, length of its data, padded to eight.
_COLLECTION, _OBJECT = struct.Struct("<4sI Q"), struct.Struct("<HHIQ")


def check_hdf5_heaps(file: BinaryIO, error: ErrorType, where: str, fix: str) -> None:
    """Refuse global heaps whose objects do not fill them one after another.

    HDF5 goes from object to object by their lengths; free space (index 0) of no length is where it
    stands still, without an end and deaf to Ctrl-C.

    Parameters
    ----------
    file : open plain file; its position stays as it is.
    error, where, fix : error to raise if it is damaged.
    """
    size, before = os.fstat(file.fileno()).st_size, file.tell()
    starts = _collections(file) if _is_hdf5(file, size) else ()
    for start in starts:
        file.seek(start)
        head = file.read(_COLLECTION.size)
        _, version, length = _COLLECTION.unpack(head.ljust(_COLLECTION.size, b"\0"))
        at, end = start + _COLLECTION.size, start + length
        # anything else is text that looks like one, or refused by the library itself
        is_heap = version == 1 and end <= size
        while is_heap and at + _OBJECT.size <= end:
            file.seek(at)
            index, _, _, length = _OBJECT.unpack(file.read(_OBJECT.size))
            at += _OBJECT.size + -(-length // 8) * 8 if index else length
            if at > end or not (index or length):
                raise error("the file is damaged: a heap of HDF5 has no end", where, fix)
    file.seek(before)


def _is_hdf5(file: BinaryIO, size: int) -> bool:
    """Whether a file has the signature of HDF5 at one of the places where the library looks."""
    at = 0
    while at < size:
        file.seek(at)
        if file.read(8) == b"\x89HDF\r\n\x1a\n":
            return True
        at = 2 * at or 512
    return False


def _collections(file: BinaryIO) -> Iterator[int]:
    """Places in a file where a global heap collection may begin, a megabyte at a time."""
    done, overlap = 0, b""
    file.seek(0)
    while data := file.read(2**20):
        text = overlap + data
        first = done - len(overlap)
        done += len(data)
        overlap = text[-3:]
        yield from [first + match.start() for match in re.finditer(b"GCOL", text)]
        file.seek(done)


def names_beside(path: Place) -> list[str]:
    """Names in the folder of a path, at most `MOST_NAMES`; none if there is no such folder."""
    try:
        with os.scandir(os.path.dirname(os.fspath(path)) or ".") as entries:
            return sorted(entry.name for entry in itertools.islice(entries, MOST_NAMES))
    except (OSError, ValueError):
        return []


def check_plain(path: Place, error: ErrorType, fix: str) -> int:
    """Size of a plain file in bytes; raises as :func:`open_plain`."""
    with open_plain(path, error, fix) as file:
        return os.fstat(file.fileno()).st_size


def read_bytes(path: Place, error: ErrorType, fix: str, *, max_bytes: int) -> bytes:
    """Content of a regular file.

    Parameters
    ----------
    path : path of the file.
    error : error to raise if it is not a plain file, or too large.
    fix : remedy in the message.
    max_bytes : largest file accepted, in bytes.
    """
    file = os.fspath(path)
    with open_plain(file, error, fix) as stream:
        size = os.fstat(stream.fileno()).st_size
        try:
            data = stream.read(max_bytes + 1) if size <= max_bytes else b""
        except OSError as problem:
            raise error(
                f"'{file}' cannot be read: {problem.strerror}", file, "check the disk"
            ) from problem
    if max(size, len(data)) > max_bytes:
        raise error(
            f"'{file}' has {max(size, len(data))} bytes, at most {max_bytes} are read", file, fix
        )
    return data


def read_text(path: Place, error: ErrorType, fix: str, *, max_bytes: int) -> str:
    """The text of a plain file, UTF-8 with or without a byte-order mark; see :func:`read_bytes`."""
    file = os.fspath(path)
    data = read_bytes(file, error, fix, max_bytes=max_bytes)
    nul = data.find(b"\0")
    if nul >= 0:
        raise error(
            "the file contains a NUL character, which text files cannot",
            f"{file}, line {data.count(10, 0, nul) + 1}",
            "save the file as UTF-8 text",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(
            f"byte 0x{data[problem.start]:02x} is not UTF-8 text",
            f"{file}, line {line}",
            "save the file as UTF-8",
        ) from problem


def csv_rows(text: str, file: str, error: ErrorType, fix: str) -> Iterator[tuple[str, list[str]]]:
    """Place and fields of each line of a text with commas, but for empty lines."""
    rows = csv.reader((found[0] for found in _LINE.finditer(text)), strict=True)
    empty = 0
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as problem:
            raise error(f"the line is not CSV: {problem}", _line(file, rows), fix) from None
        for k, field in enumerate(row):
            if len(field) > MAX_FIELD:
                raise error(
                    f"field {k + 1} has {len(field)} characters, at most {MAX_FIELD} are read",
                    _line(file, rows),
                    fix,
                )
        if row and any(field.strip() for field in row):
            yield _line(file, rows), row
            continue
        empty += 1
        if empty > MAX_EMPTY:
            raise error(f"more than {MAX_EMPTY} lines are empty", _line(file, rows), fix)


def read_number(
    field: str, name: str, where: str, error: ErrorType, fix: str, *, largest: float = LARGEST
) -> float:
    """The number in a field: finite, and not beyond ±largest."""
    shown = field.strip() if len(field) <= 40 else f"{field[:40].strip()}…"
    try:
        # Python reads 1_0 and digits of every script too
        value = float(field) if field.isascii() and "_" not in field else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise error(f"{name} is '{shown}', which is not a finite number", where, fix)
    if abs(value) > largest:
        raise error(f"{name} is {shown}, beyond ±{largest:g}", where, fix)
    return value


def _line(file: str, rows: object) -> str:
    return f"{file}, line {getattr(rows, 'line_num', 0)}"

"""The one way of arrays to native code, which reads and writes whatever an address points to.

    given_table(given, shape, what, where)   what a caller hands over, or an error that says what is
                                             wrong with it: numbers, of exactly this shape
    address(name, array, size)               of an array that the package made
    work_memory(size)                        memory to work in, and its address

No other module asks an array for its address: one that is too short, of another type or not
contiguous ends in an error here, instead of in foreign memory. What is not finite is for native
code a number like any other, and its results say so; where it must not be, `is_finite` asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_double
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from noslip.base import SimulationError

Array = np.ndarray

#: Bytes of a cache line, and numbers in it.
LINE = 64
LINE_WORDS = LINE // 8

_Place: Any = c_double * 0


def given_table(
    given: Any, shape: Sequence[int], what: str, where: str, *, is_finite: bool = False
) -> Array:
    """What a caller gives, as a contiguous array of this shape and of double precision.

    Parameters
    ----------
    given : anything that NumPy takes for an array of numbers.
    shape : required shape; nothing is reshaped.
    what, where : texts of the message, ``what`` in the plural.
    is_finite : whether NaN and the infinities are refused.

    Raises
    ------
    SimulationError : it is no array of numbers, or has another shape.
    """
    expected = tuple(shape)
    fix = f"give an array of numbers of shape {expected}"
    try:
        found = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise SimulationError(f"the {what} are no array: {error!s:.100}", where, fix) from error
    if found.dtype.kind not in "fiu":
        raise SimulationError(f"the {what} have numbers of type {found.dtype}", where, fix)
    if found.shape != expected:
        raise SimulationError(f"the {what} have shape {found.shape}", where, fix)
    table = np.ascontiguousarray(found, dtype=np.float64)
    if is_finite and not np.isfinite(table).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(table))[0])
        raise SimulationError(f"the {what} have {table[at]} at {at}", where, "give finite numbers")
    return table.reshape(expected)


def address(
    name: str, array: Array, size: int | None = None, kind: DTypeLike | None = np.float64
) -> int:
    """Address of the first entry of an array that lies in one piece.

    Parameters
    ----------
    name : name in the message.
    array : array to be read or written; the owner of the address keeps it alive.
    size : entries that native code reads or writes, at most as many as there are.
    kind : type of the entries; None where bytes are copied as they are.
    """
    if kind is not None and array.dtype != kind:
        raise ValueError(f"{name}: entries of type {array.dtype}, expected {kind}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name}: an array of shape {array.shape} that is not contiguous")
    if size is not None and array.size < size:
        raise ValueError(f"{name}: {array.size} entries, {size} are read or written")
    return int(array.ctypes.data)


def work_memory(size: int) -> tuple[Array, int]:
    """Memory for so many numbers, to be kept while code works in it, and where a line begins."""
    memory = np.zeros(size + LINE_WORDS)
    return memory, -(-address("work", memory) // LINE) * LINE


def place(table: Array) -> object:
    """Address of a contiguous table, as an argument of ctypes."""
    # a quarter of the time of table.ctypes, but for read-only tables; refuses gaps, too
    return _Place.from_buffer(table) if table.flags.writeable else address("table", table)

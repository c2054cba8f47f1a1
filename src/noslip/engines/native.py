"""Compiled programs as Python functions: arguments are checked, handed over, and the result is new.

A call from Python takes about as long as its own bookkeeping, so there is little of it. The few
numbers of one evaluation are copied to ``bytes``, which ctypes passes on as an address; to ask
NumPy where an array keeps its numbers takes twenty times as long. Nothing is shared between calls.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_double, c_int64, c_void_p
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from noslip.engines.interpreter import Array, input_tables, input_vector

# Without declared types, ctypes passes bytes and blocks as they are, and asks nobody first.
CALL = CFUNCTYPE(None)
CALL_ROWS = CFUNCTYPE(None, c_int64, *[c_void_p] * 4, c_int64, c_void_p)

#: Rows up to which tables are copied, too.
FEW = 256

_DOUBLE = np.dtype(np.float64)
_double_bytes = struct.Struct("d").pack
_Place: Any = c_double * 0


@dataclass(frozen=True, slots=True, eq=False)
class NativeFunction:
    """A compiled program. Any number of threads may call it at once; it runs without the GIL.

    The addresses are those of the function and of the loop over rows that `engines.llvm` prints,
    for native callers; they are valid as long as this object lives.
    """

    name: str
    address: int
    rows_address: int
    input_sizes: tuple[int, int, int, int]
    output_size: int
    _engine: object = field(repr=False)
    _call: Callable[..., None] = field(repr=False)
    _call_rows: Callable[..., None] = field(repr=False)
    _block: Callable[[], Any] = field(repr=False)

    @classmethod
    def of(
        cls,
        name: str,
        engine: Any,
        symbol: str,
        input_sizes: tuple[int, int, int, int],
        output_size: int,
    ) -> NativeFunction:
        """The function of this symbol, and the loop next to it, in an engine of LLVM's."""
        address = engine.get_function_address(symbol)
        rows_address = engine.get_function_address(f"{symbol}_rows")
        return cls(
            name=name,
            address=address,
            rows_address=rows_address,
            input_sizes=input_sizes,
            output_size=output_size,
            _engine=engine,
            _call=CALL(address),
            _call_rows=CALL_ROWS(rows_address),
            _block=c_double * output_size,
        )

    def __call__(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (output_size,) for a time, a state, inputs and parameters."""
        nt, nx, nu, np_ = self.input_sizes
        name = self.name
        out = self._block()
        self._call(
            _input_bytes(name, "t", nt, t),
            _input_bytes(name, "x", nx, x),
            _input_bytes(name, "u", nu, u),
            _input_bytes(name, "p", np_, p),
            out,
        )
        return np.frombuffer(out)

    def map(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (n, output_size) for t (n,), x (n, nx), u (n, nu) and p (np,) or (n, np)."""
        given: tuple[Any, ...] = (t, x, u, p)
        places: list[object]
        if _are_few(self.input_sizes, *given):
            num_rows, p_stride = given[0].size, 0
            places = [table.tobytes() for table in given]
        else:
            num_rows, tables = input_tables(self.name, self.input_sizes, *given)
            p_stride = self.input_sizes[3] if tables[3].ndim == 2 else 0
            places = [place(table) for table in tables]
        out = np.empty((num_rows, self.output_size))
        self._call_rows(num_rows, *places, p_stride, _Place.from_buffer(out))
        return out


def _input_bytes(name: str, letter: str, size: int, given: ArrayLike) -> bytes:
    """One input as the bytes of a vector; what comes as it should is not looked at twice."""
    if type(given) is ndarray and given.dtype is _DOUBLE and given.ndim == 1 and len(given) == size:
        return given.tobytes()
    if isinstance(given, float) and size == 1:
        return _double_bytes(given)
    return input_vector(name, letter, size, given).tobytes()


def _are_few(sizes: tuple[int, int, int, int], t: Any, x: Any, u: Any, p: Any) -> bool:
    """Whether the inputs come as they should, p as one vector, and have few rows."""
    for table in (t, x, u, p):
        if type(table) is not ndarray or table.dtype is not _DOUBLE:
            return False
    nt, nx, nu, np_ = sizes
    n = t.size
    shapes = (t.shape, x.shape, u.shape, p.shape)
    return n <= FEW and nt == 1 and shapes == ((n,), (n, nx), (n, nu), (np_,))


def place(table: Array) -> object:
    """Where a contiguous table keeps its numbers, as ctypes passes it on."""
    # a quarter of the time of table.ctypes, but for read-only tables
    return _Place.from_buffer(table) if table.flags.writeable else table.ctypes

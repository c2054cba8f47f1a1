"""Programs as functions of a device's threads, and one mapped over rows: a thread, a row at a time.

    function = compile_rows(program, device)     in lanes of this processor if device is None
    function.map(t, x, u, p)                     (n, output size)

The program is the one that is printed for one lane and for several (`llvm`), here for a thread of a
GPU. Rows are copied to the device and results back, in parts where they do not fit; rows of
parameters that are all the same are copied once.

Kernels with loops of their own take their functions from :func:`print_shared_functions`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from noslip.algebra import LookupTable
from noslip.base import DeviceError
from noslip.engines.devices import AbstractDevice, DeviceMemory
from noslip.engines.flow import KERNEL
from noslip.engines.interpreter import Array, input_tables, interpret
from noslip.engines.ir_writer import REAL
from noslip.engines.llvm import print_thread_functions
from noslip.engines.lookup import lower_lookups
from noslip.engines.native import compile_wide, native_lanes
from noslip.engines.optimization import hoist, reassociate
from noslip.engines.program import Program
from noslip.engines.thread_code import join_texts, record_text, word_of_record

#: Share of the free memory of a device that is used, and the most rows of a launch: it shall be so
#: short that Ctrl-C works.
SHARE = 0.5
MOST_ROWS = 2**20

#: Words of the record: rows, distance between rows of parameters, and where the tables begin.
_WORDS = ("n", "p_stride", "t", "x", "u", "p", "out")

_ROWS = """define void @{kernel}(ptr %memory, i64 %thread, i64 %threads) {{
start:
{loads}
  br label %check
check:
  %row = phi i64 [ %thread, %start ], [ %next, %one ]
  %more = icmp slt i64 %row, %n
  br i1 %more, label %one, label %done
one:
  %x_row = mul i64 %row, {nx}
  %u_row = mul i64 %row, {nu}
  %p_row = mul i64 %row, %p_stride
  %out_row = mul i64 %row, {nout}
  %t_at = getelementptr double, ptr %t, i64 %row
  %x_at = getelementptr double, ptr %x, i64 %x_row
  %u_at = getelementptr double, ptr %u, i64 %u_row
  %p_at = getelementptr double, ptr %p, i64 %p_row
  %out_at = getelementptr double, ptr %out, i64 %out_row
  call void @program(ptr %t_at, ptr %x_at, ptr %u_at, ptr %p_at, ptr %out_at)
  %next = add i64 %row, %threads
  br label %check
done:
  ret void
}}
"""


class RowFunction(Protocol):
    """A function of rows."""

    @property
    def output_size(self) -> int:
        """Numbers of a row of results."""

    def map(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (n, output_size) for t (n,), x (n, nx), u (n, nu) and p (np,) or (n, np)."""


def compile_rows(program: Program, device: AbstractDevice | None) -> RowFunction:
    """A program as a function of rows: on a device, or in lanes of this processor."""
    if device is not None:
        return DeviceFunction(program, device)
    return compile_wide([program], native_lanes())[program.name]


class DeviceFunction:
    """A program mapped over rows on a device. Any number of threads may call it.

    Parameters
    ----------
    program : the operations; times are one number a row.
    device : where they are done.
    """

    def __init__(self, program: Program, device: AbstractDevice) -> None:
        self._name, self._device = program.name, device
        self.input_sizes, self.output_size = program.input_sizes, program.output_size
        self._kernel = device.kernel(rows_text(program), program.tables)
        # the record belongs to the kernel: one launch at a time
        self._lock = threading.Lock()

    def map(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (n, output_size) for t (n,), x (n, nx), u (n, nu) and p (np,) or (n, np)."""
        count, tables = input_tables(self._name, self.input_sizes, t, x, u, p)
        times, states, inputs, parameters = tables
        if parameters.ndim == 1 or bool(np.all(parameters == parameters[:1])):
            parameters = np.atleast_2d(parameters)[:1]
        out = np.empty((count, self.output_size))
        size = self._part_size(len(parameters) > 1)
        for first in range(0, count, size):
            some = slice(first, first + size)
            own = parameters[some] if len(parameters) > 1 else parameters
            self._part((times[some], states[some], inputs[some], own), out[some])
        return out

    def _part(self, tables: tuple[Array, ...], out: Array) -> None:
        """Results of rows that are on the device at the same time."""
        memory = [self._uploaded(table) for table in tables]
        results = self._device.allocate(out.nbytes)
        stride = self.input_sizes[3] if len(tables[3]) > 1 else 0
        record = np.array([len(out), stride, *(m.address for m in (*memory, results))], np.int64)
        with self._lock:
            threads = self._kernel.rounded(min(self._kernel.most_threads, len(out)))
            self._kernel.launch(record.tobytes(), results, threads)
        results.download(out)

    def _uploaded(self, table: Array) -> DeviceMemory:
        table = np.ascontiguousarray(table, dtype=np.float64)
        memory = self._device.allocate(table.nbytes)
        memory.upload(table)
        return memory

    def _part_size(self, has_parameters: bool) -> int:
        """Rows that fit into the memory of the device at the same time."""
        sizes = self.input_sizes if has_parameters else self.input_sizes[:3]
        room = SHARE * self._device.free_memory() - 8.0 * self.input_sizes[3]
        rows = int(room / (8.0 * (sum(sizes) + self.output_size)))
        if rows < 1:
            raise DeviceError(
                f"the memory of {self._device.name} is too small for a single state",
                f"evaluation of '{self._name}'",
                "free memory on the GPU, or run on the CPU: device='cpu'",
            )
        return min(rows, MOST_ROWS)


class SharedFunctions(NamedTuple):
    """Functions of threads whose shared parameters are constants of the record.

    Parameters
    ----------
    text : of the functions.
    num_words : numbers of the record up to the last constant.
    heads : programs of what was hoisted, one for each function.
    tables : that the functions look up.
    number : kind of the numbers.
    """

    text: str
    num_words: int
    heads: tuple[Program, ...]
    tables: tuple[LookupTable, ...]
    number: str

    def kernel(self, text: str) -> str:
        """Module of a kernel that calls the functions, with its record."""
        words = self.num_words if self.number == REAL else -(-self.num_words // 2)
        return join_texts(record_text(words), self.text, text)

    def values(self, parameters: Array) -> Array:
        """Parameters and what was hoisted of them, as they stand in the record."""
        parts = [parameters]
        for head in self.heads:
            t, x, u, p = (np.zeros(size) for size in head.input_sizes)
            count = min(len(p), len(parameters))
            p[:count] = parameters[:count]
            parts.append(interpret(head, t, x, u, p))
        return np.concatenate(parts)


def print_shared_functions(
    programs: Mapping[str, Program],
    shared: Collection[int],
    first: int,
    num_parameters: int,
    number: str = REAL,
) -> SharedFunctions:
    """Functions of a thread. Operations on parameters that all share are done once, beforehand.

    Parameters
    ----------
    programs : by the names of their functions.
    shared : parameters that all threads share.
    first, num_parameters : numbers of the record before the parameters, and how many there are.
    number : kind of numbers.
    """
    at = first + num_parameters
    functions, heads, places = {}, [], {}
    for name, program in programs.items():
        size = program.input_sizes[3]
        own = {k: word_of_record(first + k, number) for k in shared if k < size}
        # a card schedules by itself, and better what is used soon after it is computed
        functions[name], head = hoist(reassociate(lower_lookups(program)), own)
        hoisted = {size + k: word_of_record(at + k, number) for k in range(head.output_size)}
        places[name], at = own | hoisted, at + head.output_size
        heads.append(head)
    tables = dict.fromkeys(table for program in programs.values() for table in program.tables)
    text = print_thread_functions(functions, number, places)
    return SharedFunctions(text, at, tuple(heads), tuple(tables), number)


@functools.lru_cache(maxsize=32)
def rows_text(program: Program) -> str:
    """The kernel of a program that goes over rows."""
    nt, nx, nu, _ = program.input_sizes
    if nt != 1:
        raise ValueError(f"a row of '{program.name}' has one time, not {nt}")
    printed = print_thread_functions({"program": reassociate(lower_lookups(program))})
    loads = []
    for k, name in enumerate(_WORDS):
        kind = "i64" if name in ("n", "p_stride") else "ptr"
        loads.append(f"  %{name} = load {kind}, {word_of_record(k)}, align 8")
    sizes = {"nx": nx, "nu": nu, "nout": program.output_size}
    loop = _ROWS.format(kernel=KERNEL, loads="\n".join(loads), **sizes)
    return join_texts(record_text(len(_WORDS)), printed, loop)

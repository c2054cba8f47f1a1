"""Devices that run kernels: code of a thread, memory, functions of rows, and a stand-in.

**Code of a thread of a GPU: PTX for NVIDIA's driver, or machine code of this processor.**

A kernel is LLVM text with one function of the address of memory, the number of the thread and the
number of threads, and a record that all threads read:

    void integrate(ptr memory, i64 thread, i64 threads)
    @record, of as many words as are asked for (`record_text`, `word_of_record`)

As PTX the function is an entry that finds the number of its thread itself, and the record lies in
the memory for constants, from where instructions take operands at no cost. For this processor the
text is compiled as it is, so that tests run where no card is.

**Devices that run a kernel with many threads: what a batch needs of a GPU, and a stand-in.**

    memory = device.allocate(nbytes)        memory of the device
    memory.upload(array), .download(array), .fill(byte)
    kernel = device.kernel(text, tables)    a kernel of LLVM text, see above
    kernel.launch(record, memory, threads)  all threads until they return

:class:`HostDevice` runs the same text on this processor, one thread after another, so that tests
need no card. `cuda_driver` has the one for NVIDIA's cards.

**Programs as functions of a device's threads, and one mapped over rows, a row a thread.**

    function = compile_rows(program, device)     in lanes of this processor if device is None
    function.map(t, x, u, p)                     (n, output size)

The program is the one that is printed for one lane and for several (`llvm`), here for a thread of a
GPU. Rows are copied to the device and results back, in parts where they do not fit; rows of
parameters that are all the same are copied once.

Kernels with loops of their own take their functions from :meth:`SharedFunctions.printed`.
"""

from __future__ import annotations

import abc
import functools
import re
import threading
from collections.abc import Collection, Iterable, Mapping
from ctypes import CFUNCTYPE, c_int64, c_void_p, memmove, memset
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from llvmlite import binding
from numpy.typing import ArrayLike

from noslip.algebra import LookupTable
from noslip.base import DeviceError
from noslip.engines.ir_writer import CONSTANT, GLOBAL, KERNEL, REAL
from noslip.engines.llvm import print_thread_functions
from noslip.engines.machine_code import COMPILING, CONTROL_FLOW_PASSES, host, machine_code
from noslip.engines.native import compile_wide, native_lanes
from noslip.engines.native_arrays import address
from noslip.engines.optimization import hoist, lower_lookups, optimize, reassociate
from noslip.engines.program import (
    AbstractTarget,
    Array,
    Program,
    ProgramFunction,
    input_tables,
    input_vectors,
    interpret,
)

#: Name of the kernel as an entry.
ENTRY = "noslip_integrate"
#: Name of the record.
RECORD = "record"
#: Compute capabilities that LLVM can write PTX for; newer cards run code of older ones.
CAPABILITIES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)

_ENTRY = """
define ptx_kernel void @{entry}(ptr %memory) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %before = mul i32 %block, %width
  %k = add i32 %before, %tid
  %n = mul i32 %blocks, %width
  %thread = zext i32 %k to i64
  %threads = zext i32 %n to i64
  call void @{kernel}(ptr %memory, i64 %thread, i64 %threads) alwaysinline
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
"""


def record_text(num_words: int) -> str:
    """Definition of the record; it is written before the threads begin."""
    zero = f"externally_initialized global [{num_words} x i64] zeroinitializer, align 8"
    return f"@{RECORD} = {CONSTANT} {zero}"


def word_of_record(k: int, kind: str = "i64") -> str:
    """Address of the k-th number of a kind in the record, as an operand."""
    return f"ptr {CONSTANT} getelementptr ({kind}, ptr {CONSTANT} @{RECORD}, i64 {k})"


def join_texts(*texts: str) -> str:
    """One module of several texts; what several of them declare is declared once."""
    lines: list[str] = []
    declared: dict[str, None] = {}
    for line in "\n".join(texts).split("\n"):
        if line.startswith("declare "):
            declared[line.strip()] = None
        else:
            lines.append(line)
    return "\n".join([*lines, *declared, ""])


def capability_for(major: int, minor: int) -> int:
    """The newest capability that LLVM knows and a card of this one runs."""
    own = 10 * major + minor
    return max((known for known in CAPABILITIES if known <= own), default=0)


@functools.lru_cache(maxsize=64)
def ptx_of(text: str, capability: int) -> str:
    """PTX of a kernel.

    `text`: module with the function, the record and all that it calls; `capability`: ten times the
    major number of the card's compute capability, and the minor one.
    """
    entry = _ENTRY.format(entry=ENTRY, kernel=KERNEL)
    inner = text.replace(f"define void @{KERNEL}(", f"define internal void @{KERNEL}(")
    with COMPILING:
        machine = _nvptx().create_target_machine(cpu=f"sm_{capability}", opt=3)
        module = binding.parse_assembly(join_texts(inner, entry))
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        optimized_module_for(machine, module)
        return str(machine.emit_assembly(module))


def optimized_module_for(machine: Any, module: Any) -> None:
    """LLVM's passes, as for loops on this processor."""
    manager = binding.create_new_module_pass_manager()
    for name in CONTROL_FLOW_PASSES:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, binding.create_pass_builder(machine, binding.PipelineTuningOptions()))


@functools.cache
def _nvptx() -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple("nvptx64-nvidia-cuda")


_CALL = CFUNCTYPE(None, c_void_p, c_int64, c_int64)


#: A card's quotient, whose reciprocal has few digits at first.
_QUOTIENT = re.compile(r"^(define internal (\w+) @quotient\w*\(.*?\{)$.*?^\}$", re.M | re.S)


def for_host(text: str) -> str:
    """The text without what only a card has: kinds of memory, and reciprocals to be improved."""
    text = text.replace(f" {CONSTANT}", "").replace(f" {GLOBAL}", "")
    body = r"\1\n  %r = fdiv \2 1.0, %b\n  %q = fmul \2 %a, %r\n  ret \2 %q\n}"
    return _QUOTIENT.sub(body, text)


def table_values(table: LookupTable, text: str) -> Array:
    """The entries of a table in the precision that the text of a kernel has it in."""
    single = f"@{table.symbol} = {GLOBAL} externally_initialized global "
    is_single = f"{single}[{table.coefficients.size} x float]" in text
    values: Array = table.coefficients.astype(np.float32 if is_single else np.float64)
    return values


def _fill_tables(engine: Any, text: str, tables: Iterable[LookupTable]) -> None:
    for table in tables:
        values = table_values(table, text)
        place = engine.get_global_value_address(table.symbol)
        memmove(place, address(table.symbol, values, kind=None), values.nbytes)


class HostKernel:
    """The kernel as a function of this process.

    Attributes
    ----------
    call : call of the address of memory, the number of the thread and the number of threads.
    record : address of the record.
    """

    def __init__(self, text: str, tables: Iterable[LookupTable] = ()) -> None:
        host()
        self._engine = machine_code(for_host(text), CONTROL_FLOW_PASSES)
        _fill_tables(self._engine, text, tables)
        self.call = _CALL(self._engine.get_function_address(KERNEL))
        self.record = self._engine.get_global_value_address(RECORD)


class ThreadTarget(AbstractTarget):
    """Code of a GPU's thread, here compiled for this processor: nothing but its own functions."""

    __slots__ = ()

    word = "thread"
    purpose = "batches on a GPU, one trajectory a thread"

    def compile(self, program: Program) -> ProgramFunction:
        """The function of a program."""
        host()
        text = print_thread_functions({"function": optimize(program)})
        text = text.replace("define internal void @function(", "define void @function(")
        engine = machine_code(for_host(text))
        _fill_tables(engine, text, program.tables)
        call = CFUNCTYPE(None, *[c_void_p] * 5)(engine.get_function_address("function"))

        def one(t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
            vectors = input_vectors(program.name, program.input_sizes, t, x, u, p)
            out = np.empty(program.output_size)
            call(*(address(program.name, vector) for vector in (*vectors, out)))
            return out

        one.engine = engine  # type: ignore[attr-defined]
        return one


class DeviceMemory(abc.ABC):
    """A block of memory of a device, released with this object.

    Attributes
    ----------
    address : address of the first byte.
    nbytes : size in bytes.
    is_cuda, device_index : whether it is on a card, and on which.
    """

    address: int
    nbytes: int
    is_cuda: bool = False
    device_index: int = 0

    @abc.abstractmethod
    def upload(self, array: np.ndarray) -> None:
        """Copy a contiguous array to the beginning."""

    @abc.abstractmethod
    def download(self, array: np.ndarray, offset: int = 0) -> None:
        """Copy what begins so many bytes after the beginning into a contiguous array."""

    @abc.abstractmethod
    def fill(self, byte: int) -> None:
        """Set every byte."""

    def check(self, array: np.ndarray, offset: int = 0) -> None:
        """Refuse an array that reaches beyond the block."""
        if offset < 0 or offset + array.nbytes > self.nbytes:
            raise ValueError(f"{array.nbytes} bytes from {offset} on in a block of {self.nbytes}")


class DeviceKernel(abc.ABC):
    """A loaded kernel.

    Attributes
    ----------
    most_threads : largest number of threads that run at the same time.
    """

    most_threads: int

    @abc.abstractmethod
    def launch(self, record: bytes, memory: DeviceMemory, threads: int) -> None:
        """Run threads, at least as many as given, and wait for them."""

    @abc.abstractmethod
    def rounded(self, threads: int) -> int:
        """Number of threads that a launch of so many runs."""


class AbstractDevice(abc.ABC):
    """A device that runs kernels.

    Attributes
    ----------
    name : name for people.
    """

    name: str

    @abc.abstractmethod
    def free_memory(self) -> int:
        """Bytes that may be allocated."""

    @abc.abstractmethod
    def allocate(self, nbytes: int) -> DeviceMemory:
        """Memory of the device."""

    def uploaded(self, table: np.ndarray) -> DeviceMemory:
        """Memory with a copy of a table, in doubles."""
        table = np.ascontiguousarray(table, dtype=np.float64)
        memory = self.allocate(table.nbytes)
        memory.upload(table)
        return memory

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Wait until all is done that any library in this process has begun on the device."""

    @abc.abstractmethod
    def kernel(self, text: str, tables: tuple[LookupTable, ...] = ()) -> DeviceKernel:
        """The kernel of an LLVM text, and the tables that it looks up."""


class _HostMemory(DeviceMemory):
    def __init__(self, nbytes: int) -> None:
        self._bytes = np.zeros(max(nbytes, 8) + 64, np.uint8)
        self.address, self.nbytes = -(-address("memory", self._bytes, kind=None) // 64) * 64, nbytes

    def upload(self, array: np.ndarray) -> None:
        self.check(array)
        memmove(self.address, address("upload", array, kind=None), array.nbytes)

    def download(self, array: np.ndarray, offset: int = 0) -> None:
        self.check(array, offset)
        memmove(address("download", array, kind=None), self.address + offset, array.nbytes)

    def fill(self, byte: int) -> None:
        memset(self.address, byte, self.nbytes)


class _HostKernel(DeviceKernel):
    def __init__(self, text: str, tables: tuple[LookupTable, ...], threads: int) -> None:
        self._kernel, self.most_threads = HostKernel(text, tables), threads

    def launch(self, record: bytes, memory: DeviceMemory, threads: int) -> None:
        memmove(self._kernel.record, record, len(record))
        for k in range(threads):
            self._kernel.call(memory.address, k, threads)

    def rounded(self, threads: int) -> int:
        return threads


class HostDevice(AbstractDevice):
    """The processor in the place of a GPU: the same kernel, one thread after another.

    `threads`: number of threads that it reports to run at the same time; `memory`: bytes that it is
    said to have.
    """

    name = "this processor"

    def __init__(self, threads: int = 5, memory: int = 2**30) -> None:
        self._threads, self._memory = threads, memory

    def free_memory(self) -> int:
        """Bytes that may be allocated."""
        return self._memory

    def allocate(self, nbytes: int) -> DeviceMemory:
        """Memory of the device."""
        return _HostMemory(nbytes)

    def synchronize(self) -> None:
        """Nothing is left to be done here when a call returns."""

    def kernel(self, text: str, tables: tuple[LookupTable, ...] = ()) -> DeviceKernel:
        """The kernel of an LLVM text, and the tables that it looks up."""
        return _HostKernel(text, tables, self._threads)


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

    `program`: the operations; times are one number a row.
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
        memory = [self._device.uploaded(table) for table in tables]
        results = self._device.allocate(out.nbytes)
        stride = self.input_sizes[3] if len(tables[3]) > 1 else 0
        record = np.array([len(out), stride, *(m.address for m in (*memory, results))], np.int64)
        with self._lock:
            threads = self._kernel.rounded(min(self._kernel.most_threads, len(out)))
            self._kernel.launch(record.tobytes(), results, threads)
        results.download(out)

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
    """Functions of threads whose shared parameters are constants of the record."""

    text: str  #: text of the functions
    num_words: int  #: numbers of the record up to the last constant
    heads: tuple[Program, ...]  #: programs of what was hoisted, one for each function
    tables: tuple[LookupTable, ...]  #: tables that the functions look up
    number: str  #: kind of the numbers
    #: names of the functions of heads, if they were asked for, with numbers of the record where
    #: their values begin
    names: Mapping[str, int] = MappingProxyType({})

    @classmethod
    def printed(
        cls,
        programs: Mapping[str, Program],
        shared: Collection[int],
        first: int,
        num_parameters: int,
        number: str = REAL,
        beside: Mapping[str, Program] = MappingProxyType({}),
        *,
        with_heads: bool = False,
    ) -> SharedFunctions:
        """Functions of a thread. Operations on parameters that all share are done once, beforehand.

        Parameters
        ----------
        programs : programs by the names of their functions.
        shared : parameters that all threads share.
        first, num_parameters : numbers of the record before the parameters, and how many there are.
        number : kind of numbers.
        beside : further programs, which take parameters from where they are given.
        with_heads : whether what is done beforehand are functions of the text too.
        """
        at = first + num_parameters
        functions: dict[str, Program] = {k: lower_lookups(one) for k, one in beside.items()}
        heads, places = list[Program](), dict[str, dict[int, str]]()
        names: dict[str, int] = {}
        for name, program in programs.items():
            size = program.input_sizes[3]
            own = {k: word_of_record(first + k, number) for k in shared if k < size}
            # a card schedules by itself, and better what is used soon after it is computed
            functions[name], head = hoist(reassociate(lower_lookups(program)), own)
            hoisted = {size + k: word_of_record(at + k, number) for k in range(head.output_size)}
            if with_heads and head.output_size:
                names[f"{name}_head"], functions[f"{name}_head"] = at, head
            places[name], at = own | hoisted, at + head.output_size
            heads.append(head)
        printed = (*programs.values(), *beside.values())
        tables = dict.fromkeys(table for program in printed for table in program.tables)
        text = print_thread_functions(functions, number, places)
        return cls(text, at, tuple(heads), tuple(tables), number, names)

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

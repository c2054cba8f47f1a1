"""WebAssembly: kernels as modules that browsers, Node and wasmtime run, without a linker.

The text is the one of a GPU's thread (`devices`), compiled by LLVM for ``wasm32``. What LLVM leaves
is an object: a module whose code already has the addresses of its data, and whose memory and stack
pointer are imports. An object that needs nothing from outside becomes a module by an export section
(:func:`module_of`); no linker is needed. Three things that LLVM would take from outside are written
out:

* fused products and sums, which WebAssembly lacks: a sum of a product that is rounded twice, except
  in the reduction of angles by π/2, where the product is kept in two parts [Dekker1971];
* the smaller and the larger of two numbers, with the rules of C for nan;
* the 128-bit product of the reduction of large angles.

Tables that programs look up are written into the data of the module, so a module is complete.

    module = compile_module(text, tables, functions)   bytes, exports and the address of the record
    WasmDevice()                                       runs kernels by wasmtime, as a browser does
    WasmTarget()                                       the same for single programs

References
----------
[Dekker1971] for the product in two parts.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from llvmlite import binding
from numpy.typing import ArrayLike

from noslip.algebra import LookupTable
from noslip.base import DeviceError, require
from noslip.engines.devices import (
    RECORD,
    AbstractDevice,
    DeviceKernel,
    DeviceMemory,
    SharedFunctions,
    for_host,
    join_texts,
    optimized_module_for,
    table_values,
)
from noslip.engines.elementary_functions import HALF_PI
from noslip.engines.ir_writer import KERNEL, literal
from noslip.engines.llvm import print_thread_functions
from noslip.engines.machine_code import COMPILING
from noslip.engines.optimization import optimize
from noslip.engines.program import (
    AbstractTarget,
    Array,
    Program,
    ProgramFunction,
    input_vectors,
)

#: Bytes of the stack, which lies between the data of a module and what the caller allocates.
STACK = 1 << 20
#: What a module takes from its caller.
MEMORY, STACK_POINTER = "__linear_memory", "__stack_pointer"

# x y + z, where p + z is exact or a low part: Dekker's product x y = p + e without a fused
# operation; inline, since a call is half of what a sine costs. |x|, |y| below 2⁹⁹⁶
_HELPERS = """
define internal double @exact_fma(double %x, double %y, double %z) alwaysinline {
  %p = fmul double %x, %y
  %xs = fmul double %x, 134217729.0
  %xd = fsub double %xs, %x
  %xh = fsub double %xs, %xd
  %xl = fsub double %x, %xh
  %ys = fmul double %y, 134217729.0
  %yd = fsub double %ys, %y
  %yh = fsub double %ys, %yd
  %yl = fsub double %y, %yh
  %hh = fmul double %xh, %yh
  %e0 = fsub double %hh, %p
  %hl = fmul double %xh, %yl
  %e1 = fadd double %e0, %hl
  %lh = fmul double %xl, %yh
  %e2 = fadd double %e1, %lh
  %ll = fmul double %xl, %yl
  %e = fadd double %e2, %ll
  %s = fadd double %p, %z
  %r = fadd double %s, %e
  ret double %r
}
define hidden double @fmin(double %x, double %y) {
  %less = fcmp olt double %x, %y
  %other = fcmp uno double %y, 0.0
  %first = or i1 %less, %other
  %r = select i1 %first, double %x, double %y
  ret double %r
}
define hidden double @fmax(double %x, double %y) {
  %more = fcmp ogt double %x, %y
  %other = fcmp uno double %y, 0.0
  %first = or i1 %more, %other
  %r = select i1 %first, double %x, double %y
  ret double %r
}
define hidden float @fminf(float %x, float %y) {
  %less = fcmp olt float %x, %y
  %other = fcmp uno float %y, 0.0
  %first = or i1 %less, %other
  %r = select i1 %first, float %x, float %y
  ret float %r
}
define hidden float @fmaxf(float %x, float %y) {
  %more = fcmp ogt float %x, %y
  %other = fcmp uno float %y, 0.0
  %first = or i1 %more, %other
  %r = select i1 %first, float %x, float %y
  ret float %r
}
define hidden void @__multi3(ptr %out, i64 %al, i64 %ah, i64 %bl, i64 %bh) {
  %a0 = and i64 %al, 4294967295
  %a1 = lshr i64 %al, 32
  %b0 = and i64 %bl, 4294967295
  %b1 = lshr i64 %bl, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %c0 = lshr i64 %p00, 32
  %m0 = and i64 %p01, 4294967295
  %m1 = and i64 %p10, 4294967295
  %s0 = add i64 %c0, %m0
  %s1 = add i64 %s0, %m1
  %lo0 = and i64 %p00, 4294967295
  %lo1 = shl i64 %s1, 32
  %lo = or i64 %lo0, %lo1
  %h0 = lshr i64 %p01, 32
  %h1 = lshr i64 %p10, 32
  %h2 = lshr i64 %s1, 32
  %t0 = add i64 %p11, %h0
  %t1 = add i64 %t0, %h1
  %t2 = add i64 %t1, %h2
  %x = mul i64 %al, %bh
  %y = mul i64 %ah, %bl
  %t3 = add i64 %t2, %x
  %hi = add i64 %t3, %y
  store i64 %lo, ptr %out
  %q = getelementptr i64, ptr %out, i64 1
  store i64 %hi, ptr %q
  ret void
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebModule:
    """A module of WebAssembly."""

    code: bytes  #: bytes of the module
    functions: tuple[str, ...]  #: names of its exports
    addresses: Mapping[str, int]  #: addresses of its named data
    data_end: int  #: end of its own data; the stack begins behind it

    @classmethod
    def of(cls, kernels: Sequence[tuple[SharedFunctions, str, Collection[str]]]) -> WebModule:
        """The module of several kernels' texts, with their functions and what else they export.

        What the k-th one defines has the suffix of k; what several define alike is there
        once.
        """
        texts, exported, tables = list[str](), list[str](), dict[LookupTable, None]()
        for k, (functions, text, beside) in enumerate(kernels):
            tables |= dict.fromkeys(functions.tables)
            texts.append(functions.kernel(text))
            exported += [n + cls.suffix(k) for n in (KERNEL, *functions.names, *beside)]
        symbols = {table.symbol for table in tables}
        own = {KERNEL, RECORD, *(n for f, _, beside in kernels for n in (*f.names, *beside))}
        return compile_module(_linked(texts, symbols, own), tables, tuple(exported))

    @staticmethod
    def suffix(number: int) -> str:
        """What is behind the names of functions and record of one of several kernels."""
        return f"_{number}" if number else ""

    def record(self, number: int = 0) -> int:
        """Address of a kernel's record in its memory, −1 if it has none."""
        return self.addresses.get(RECORD + self.suffix(number), -1)

    @property
    def stack_top(self) -> int:
        """Where the stack begins; it grows down."""
        return -(-self.data_end // 64) * 64 + STACK


#: A definition of a text: its name is the first one with an at-sign; functions end with a brace.
_DEFINITION = re.compile(
    r"^(?:define [^@\n]*@(?P<function>[\w.$]+)\(.*?^\}$|@(?P<data>[\w.$]+) = .*?$)", re.M | re.S
)
_NAME = re.compile(r"@([\w.$]+)")


def _linked(texts: Sequence[str], tables: Collection[str], own: Collection[str]) -> str:
    """One text of several: what differs between them, and calls what differs, is renamed."""
    first, known = texts[0], _definitions(texts[0])
    joined = [first]
    for k, text in enumerate(texts[1:], 1):
        found = _definitions(text)
        same = {n for n, x in found.items() if n in tables or (n not in own and known.get(n) == x)}
        while True:  # what calls others than those of the first is another one, too
            calls = {n: set(_NAME.findall(found[n])) & found.keys() for n in same - set(tables)}
            others = {n for n, names in calls.items() if names - same}
            if not others:
                break
            same -= others
        renamed = found.keys() - same

        def own_name(m: re.Match[str], k: int = k, renamed: Collection[str] = renamed) -> str:
            return m[0] + WebModule.suffix(k) if m[1] in renamed else m[0]

        for definition in (found[n] for n in same):
            text = text.replace(definition, "", 1)
        joined.append(_NAME.sub(own_name, text))
    return join_texts(*joined)


def _definitions(text: str) -> dict[str, str]:
    return {_defines(m): m[0] for m in _DEFINITION.finditer(text)}


def _defines(found: re.Match[str]) -> str:
    return found["function"] or found["data"]


def compile_module(
    text: str, tables: Iterable[LookupTable] = (), functions: Collection[str] = (KERNEL,)
) -> WebModule:
    """The module of an LLVM text."""
    known = {table.symbol: table_values(table, text) for table in tables}
    return _compiled(text, tuple(functions), tuple((k, v.tobytes()) for k, v in known.items()))


@functools.lru_cache(maxsize=64)
def _compiled(
    text: str, functions: tuple[str, ...], tables: tuple[tuple[str, bytes], ...]
) -> WebModule:
    """The module of a text, compiled once."""
    for name in functions:
        text = text.replace(f"define internal void @{name}(", f"define void @{name}(")
    with COMPILING:
        machine = _wasm().create_target_machine(features="+bulk-memory", opt=3)
        module = binding.parse_assembly(_for_module(for_host(text)) + _HELPERS)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        optimized_module_for(machine, module)
        code = machine.emit_object(module)
    return module_of(code, functions, dict(tables))


@functools.cache
def _wasm() -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple("wasm32-unknown-unknown")


#: A fused operation with a part of π/2, on which the digits of a reduced angle depend.
_REDUCTION = re.compile(
    r"@llvm\.fma\.f64(?=\([^)]*(?:" + "|".join(literal(x) for x in HALF_PI[:2]) + "))"
)


#: An address within a vector: where LLVM knows that it is, an offset is part of the load.
_ADDRESS = re.compile(r"= getelementptr (?!inbounds)")


def _for_module(text: str) -> str:
    """The text with products and sums that are rounded twice, or kept in two parts."""
    text = _REDUCTION.sub("@exact_fma", text).replace("@llvm.fma.", "@llvm.fmuladd.")
    return _ADDRESS.sub("= getelementptr inbounds ", text)


_MAGIC = b"\0asm\1\0\0\0"
#: Numbers of sections: custom, import, export, data; and the order in which they stand.
_CUSTOM, _IMPORT, _EXPORT, _DATA = 0, 2, 7, 11
_ORDER = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11)
#: Kinds of imports: function, table, memory, global value, tag.
_FUNCTION, _TABLE, _MEMORY, _GLOBAL, _TAG = range(5)
#: In the symbols of an object: those of functions and of data; what is not defined in it, what has
#: a name all the same.
_IS_UNDEFINED, _IS_NAMED = 0x10, 0x40
_SYMBOLS = 8


class _Bytes:
    """Bytes of a module, read from the beginning."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """An unsigned number in groups of seven bits."""
        found = shift = 0
        while True:
            part = self.byte()
            found |= (part & 127) << shift
            shift += 7
            if part < 128:
                return found

    def name(self) -> str:
        return self.take(self.number()).decode()

    def is_open(self) -> bool:
        return self.at < len(self.data)


def _number(value: int) -> bytes:
    """An unsigned number in groups of seven bits."""
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def module_of(code: bytes, functions: Collection[str], tables: dict[str, bytes]) -> WebModule:
    """A module of an object: functions as exports, and tables in its data."""
    reader = _Bytes(code)
    if reader.take(8) != _MAGIC:
        raise ValueError("LLVM did not make an object of WebAssembly")
    sections: list[tuple[int, bytes]] = []
    segments: list[tuple[int, int]] = []  # address, and where its bytes are in the section
    found: dict[str, int] = {}
    addresses: dict[str, int] = {}
    data, end = bytearray(), 0
    while reader.is_open():
        kind = reader.byte()
        body = reader.take(reader.number())
        if kind == _CUSTOM:
            part = _Bytes(body)
            if part.name() == "linking":
                for name, what, place in _symbols(part):
                    if what == _FUNCTION and name in functions:
                        found[name] = place[0]
                    elif what != _FUNCTION:
                        segment, offset = place
                        addresses[name] = segments[segment][0] + offset
                        if name in tables:
                            at = segments[segment][1] + offset
                            data[at : at + len(tables[name])] = tables[name]
            continue
        if kind == _IMPORT:
            _check_imports(body)
        if kind == _DATA:
            data = bytearray(body)
            segments, end = _segments(body)
            continue
        sections.append((kind, body))
    exports = [_number(len(name)) + name.encode() + b"\0" + _number(k) for name, k in found.items()]
    sections.append((_EXPORT, _number(len(exports)) + b"".join(exports)))
    if segments:
        sections.append((_DATA, bytes(data)))
    missing = set(functions) - found.keys()
    if missing:
        raise ValueError(f"the module has no function {', '.join(sorted(missing))}")
    out = bytearray(_MAGIC)
    for kind, body in sorted(sections, key=lambda section: _ORDER.index(section[0])):
        out += bytes([kind]) + _number(len(body)) + body
    return WebModule(
        code=bytes(out),
        functions=tuple(found),
        addresses=MappingProxyType(addresses),
        data_end=end,
    )


def _symbols(part: _Bytes) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Functions and data of an object: name, kind, and number, or segment and offset."""
    part.number()  # version
    while part.is_open():
        kind = part.byte()
        table = _Bytes(part.take(part.number()))
        if kind != _SYMBOLS:
            continue
        for _ in range(table.number()):
            what, flags = table.byte(), table.number()
            is_here = not flags & _IS_UNDEFINED
            if what == 1:  # data
                name = table.name()
                if is_here:
                    segment, offset, _size = table.number(), table.number(), table.number()
                    yield name, 1, (segment, offset)
            elif what == 3:  # section
                table.number()
            else:
                number = table.number()
                name = table.name() if is_here or flags & _IS_NAMED else ""
                if what == _FUNCTION and is_here:
                    yield name, _FUNCTION, (number, 0)


def _check_imports(body: bytes) -> None:
    """Refuse an object that calls what is outside of it."""
    part = _Bytes(body)
    for _ in range(part.number()):
        part.name()
        name, kind = part.name(), part.byte()
        if kind == _FUNCTION:
            raise DeviceError(
                f"the function {name} does not exist in WebAssembly",
                "compilation for WebAssembly",
                "write the expression without it",
            )
        if kind in (_TABLE, _MEMORY):
            if kind == _TABLE:
                part.byte()
            has_most = part.number() & 1
            part.number()
            if has_most:
                part.number()
        elif kind == _GLOBAL:
            part.take(2)


def _segments(body: bytes) -> tuple[list[tuple[int, int]], int]:
    """Address of each segment of data and where its bytes are, and where the last one ends."""
    part, found, end = _Bytes(body), [], 0
    for _ in range(part.number()):
        if part.number() != 0 or part.byte() != 0x41:
            raise ValueError("data of an object has no fixed address")
        place = part.number()
        part.byte()
        size = part.number()
        found.append((place, part.at))
        part.take(size)
        end = max(end, place + size)
    return found, end


class _Instance:
    """A module that wasmtime runs, with memory that grows."""

    def __init__(self, module: WebModule) -> None:
        require("wasmtime", "running WebAssembly", "device 'wasm'")
        import wasmtime as w

        self.module, engine = module, _engine()
        self.store = w.Store(engine)
        self.memory = w.Memory(self.store, w.MemoryType(w.Limits(64, None)))
        self.at = module.stack_top
        compiled, given = w.Module(engine, module.code), list[Any]()
        for each in compiled.imports:
            kind: Any = each.type
            if each.name == MEMORY:
                given.append(self.memory)
            elif each.name == STACK_POINTER:
                top = w.Val.i32(module.stack_top)
                given.append(w.Global(self.store, kind, top))
            else:
                given.append(w.Table(self.store, kind, None))
        self._exports: Any = w.Instance(self.store, compiled, given).exports(self.store)
        self.reserve(0)

    def reserve(self, nbytes: int) -> int:
        """Address of so many bytes that nobody else uses."""
        address = self.at = -(-self.at // 64) * 64
        self.at += nbytes
        pages = -(-self.at // 65536) - self.memory.size(self.store)
        if pages > 0:
            self.memory.grow(self.store, pages)
        return address

    @property
    def image(self) -> np.ndarray:
        """The memory, as long as it does not grow."""
        size = self.memory.data_len(self.store)
        return np.ctypeslib.as_array(
            ctypes.cast(self.memory.data_ptr(self.store), ctypes.POINTER(ctypes.c_uint8)), (size,)
        )

    def write(self, address: int, data: bytes) -> None:
        """Bytes from an address on."""
        self.image[address : address + len(data)] = np.frombuffer(data, np.uint8)

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes from an address on."""
        found: bytes = self.image[address : address + nbytes].tobytes()
        return found

    def call(self, name: str, *arguments: int) -> None:
        """Call an export."""
        self._exports[name](self.store, *arguments)


@functools.cache
def _engine() -> Any:
    """wasmtime's compiler; it must be gone before the modules of a process that ends."""
    import wasmtime as w

    atexit.register(_engine.cache_clear)
    return w.Engine()


class _WasmMemory(DeviceMemory):
    """Bytes of this process until a kernel runs; each module has a memory of its own."""

    def __init__(self, device: WasmDevice, nbytes: int) -> None:
        self._device, self.nbytes = device, nbytes
        self.address = device.reserve(nbytes)

    @property
    def _own(self) -> np.ndarray:
        return self._device.bytes[self.address : self.address + self.nbytes]

    def upload(self, array: np.ndarray) -> None:
        self.check(array)
        self._own[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)

    def download(self, array: np.ndarray, offset: int = 0) -> None:
        self.check(array, offset)
        raw = self._own[offset : offset + array.nbytes].tobytes()
        array[...] = np.frombuffer(raw, array.dtype).reshape(array.shape)

    def fill(self, byte: int) -> None:
        self._own[:] = byte


class _WasmKernel(DeviceKernel):
    """The kernel of a module; threads run one after another."""

    most_threads = 1

    def __init__(self, device: WasmDevice, module: WebModule) -> None:
        self._device, self._instance = device, _Instance(module)

    def launch(self, record: bytes, memory: DeviceMemory, threads: int) -> None:
        instance, used = self._instance, self._device.used
        instance.reserve(max(0, used.stop - instance.at))
        instance.write(used.start, self._device.bytes[used].tobytes())
        instance.write(instance.module.record(), record)
        for k in range(threads):
            instance.call(KERNEL, memory.address, k, threads)
        data = instance.read(used.start, used.stop - used.start)
        self._device.bytes[used] = np.frombuffer(data, np.uint8)

    def rounded(self, threads: int) -> int:
        return threads


class WasmDevice(AbstractDevice):
    """WebAssembly by wasmtime: what a browser runs, for tests and comparisons.

    What is allocated is released with the device.
    """

    name = "WebAssembly"
    #: Where memory of callers begins: behind the data and the stack of any module.
    BEGIN = 1 << 25

    def __init__(self) -> None:
        require("wasmtime", "running WebAssembly", "device 'wasm'")
        self.bytes, self._at = np.zeros(1 << 26, np.uint8), self.BEGIN

    @property
    def used(self) -> slice:
        """What has been allocated."""
        return slice(self.BEGIN, self._at)

    def reserve(self, nbytes: int) -> int:
        """Address of so many bytes that nobody else uses."""
        place = -(-self._at // 64) * 64
        self._at = place + max(nbytes, 8)
        if self._at > len(self.bytes):
            self.bytes = np.resize(self.bytes, 2 * self._at)
        return place

    def free_memory(self) -> int:
        """Bytes that may be allocated."""
        return max(0, (1 << 31) - self._at)

    def allocate(self, nbytes: int) -> DeviceMemory:
        """Memory of the device."""
        return _WasmMemory(self, nbytes)

    def synchronize(self) -> None:
        """Nothing is left to be done here when a call returns."""

    def kernel(self, text: str, tables: tuple[LookupTable, ...] = ()) -> DeviceKernel:
        """The kernel of an LLVM text, and the tables that it looks up."""
        module = compile_module(text, tables)
        if module.stack_top > self.BEGIN:
            raise DeviceError(
                f"the tables of the model take {module.data_end / 2**20:.0f} MiB",
                "compilation for WebAssembly",
                "give tables with fewer entries",
            )
        return _WasmKernel(self, module)


class WasmTarget(AbstractTarget):
    """Programs as modules of WebAssembly."""

    __slots__ = ()

    word = "wasm"
    purpose = "pages that run in a browser"

    def compile(self, program: Program) -> ProgramFunction:
        """The function of a program."""
        text = print_thread_functions({"function": optimize(program)})
        instance = _Instance(compile_module(text, program.tables, ("function",)))
        sizes = (*program.input_sizes, program.output_size)
        places = [instance.reserve(8 * max(size, 1)) for size in sizes]

        def one(t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
            vectors = input_vectors(program.name, program.input_sizes, t, x, u, p)
            for place, vector in zip(places, vectors, strict=False):
                instance.write(place, np.ascontiguousarray(vector, dtype=float).tobytes())
            instance.call("function", *places)
            raw = instance.read(places[-1], 8 * program.output_size)
            return np.frombuffer(raw, float).copy()

        return one

"""Programs and expressions compiled to native functions: the one way from mathematics to code.

    compile_expression(name, inputs, expression)   one function of a CasADi expression
    compile_native(programs)                       several programs in one module, by name
    compile_hoisted(program)                       one, with what parameters determine apart
    compile_wide(programs, lanes)                  the same on vectors, one number in each lane

Machine code is cached by its text (`machine_code`): compiling the same again costs printing alone.

Arguments of a call are checked, copied, and the result is new. A call from Python takes about as
long as its own bookkeeping, so there is little of it. The few numbers of one evaluation are copied
to ``bytes``, which ctypes passes on as an address; reading the address of a NumPy array takes
twenty times as long. Nothing is shared between calls.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import CFUNCTYPE, c_double, c_int64, c_void_p
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from noslip.engines.llvm import VectorTypes, print_hoisted, print_llvm
from noslip.engines.machine_code import host, machine_code, require_symbols
from noslip.engines.native_arrays import place
from noslip.engines.optimization import hoist, optimize
from noslip.engines.program import (
    AbstractTarget,
    Array,
    Program,
    ProgramFunction,
    input_tables,
    input_vector,
    input_vectors,
    trace_program,
)

# Without declared types, ctypes passes bytes and blocks as they are, without conversions.
CALL = CFUNCTYPE(None)
CALL_ROWS = CFUNCTYPE(None, c_int64, *[c_void_p] * 4, c_int64, c_void_p)

#: Rows up to which tables are copied, too.
FEW = 256

_DOUBLE = np.dtype(np.float64)
_double_bytes = struct.Struct("d").pack


def compile_expression(name: str, inputs: Sequence[ca.SX], expression: ca.SX) -> NativeFunction:
    """Native function of a CasADi expression.

    Parameters
    ----------
    name : name of the function, for messages.
    inputs : columns of symbols t, x, u and p, any of them empty.
    expression : a column of outputs in these symbols; entries a sparse one lacks are zero.
    """
    return compile_native([trace_program(name, inputs, ca.densify(expression))])[name]


def compile_native(
    programs: Iterable[Program], heads: Mapping[str, int] | None = None
) -> dict[str, NativeFunction]:
    """Programs with different names, compiled together for this processor, by name.

    Of a program in `heads`, ``"NAME head"`` is the function of so many of its first outputs.
    """
    programs = list(programs)
    engine = _machine_code(programs, 1, heads)
    found = {}
    for k, program in enumerate(programs):
        name, sizes = program.name, program.input_sizes
        found[name] = NativeFunction.of(name, engine, f"program{k}", sizes, program.output_size)
        if heads and name in heads:
            found[f"{name} head"] = NativeFunction.of(
                name, engine, f"program{k}_head", sizes, heads[name]
            )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class HoistedFunction:
    """A program compiled in two: what its parameters alone determine, and the rest of it."""

    whole: NativeFunction  #: the program as it is
    rest: NativeFunction  #: the same of parameters that the hoisted values follow
    #: program for the values that depend on parameters alone; None if there are none
    head: NativeFunction | None
    #: main_program, head_program: programs after the split
    main_program: Program
    head_program: Program

    @property
    def num_hoisted(self) -> int:
        """Values behind the parameters of `rest`."""
        return 0 if self.head is None else self.head.output_size

    def parameters(self, values: Array) -> Array:
        """Parameters of `rest`: (np,) or (n, np) with the hoisted values behind them."""
        if self.head is None:
            return values
        nt, nx, nu, _ = self.head.input_sizes
        if values.ndim == 1:
            made = self.head(np.zeros(nt), np.zeros(nx), np.zeros(nu), values)
            return np.concatenate([values, made])
        n = len(values)
        made = self.head.map(np.zeros(n), np.zeros((n, nx)), np.zeros((n, nu)), values)
        return np.concatenate([values, made], axis=1)


def compile_hoisted(program: Program) -> HoistedFunction:
    """A program compiled for this processor, operations on parameters apart."""
    main, head = hoist(program, range(program.input_sizes[3]))
    if not head.output_size:
        whole = compile_native([program])[program.name]
        return HoistedFunction(whole, whole, None, program, head)
    host()
    require_symbols(VectorTypes().library([main, head]))
    engine = machine_code(print_hoisted(optimize(main), optimize(head)))
    sizes, out = program.input_sizes, program.output_size
    return HoistedFunction(
        whole=NativeFunction.of(program.name, engine, "whole", sizes, out),
        rest=NativeFunction.of(program.name, engine, "program0", main.input_sizes, out),
        head=NativeFunction.of(program.name, engine, "program1", sizes, head.output_size),
        main_program=main,
        head_program=head,
    )


def compile_wide(programs: Iterable[Program], lanes: int) -> dict[str, WideFunction]:
    """Programs with different names, compiled together for vectors of lanes, by name."""
    programs = list(programs)
    engine = _machine_code(programs, lanes)
    return {
        program.name: WideFunction(
            name=program.name,
            lanes=lanes,
            address=engine.get_function_address(f"program{k}"),
            packs_address=engine.get_function_address(f"program{k}_rows"),
            input_sizes=program.input_sizes,
            output_size=program.output_size,
            _engine=engine,
        )
        for k, program in enumerate(programs)
    }


def _machine_code(
    programs: list[Program], lanes: int, heads: Mapping[str, int] | None = None
) -> Any:
    """An engine with functions program0, program1, ... of programs with different names."""
    names = [program.name for program in programs]
    if len(set(names)) < len(names):
        raise ValueError(f"programs need different names, got {', '.join(names)}")
    host()
    require_symbols(VectorTypes(lanes).library(programs))
    return machine_code(print_llvm([optimize(program) for program in programs], lanes, heads))


@functools.cache
def native_lanes() -> int:
    """Lanes that suit this processor: 8 with 512-bit registers, else 4."""
    return 8 if "+avx512f" in host()[2].split(",") else 4


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
        self._call_rows(num_rows, *places, p_stride, place(out))
        return out


@dataclass(frozen=True, slots=True, eq=False)
class WideFunction:
    """A compiled program on vectors. Any number of threads may call it at once, without the GIL.

    The addresses are those of the function and of the loop over packs of lanes that
    `engines.llvm` prints; they are valid as long as this object lives.
    """

    name: str
    lanes: int
    address: int
    packs_address: int
    input_sizes: tuple[int, int, int, int]
    output_size: int
    _engine: object = field(repr=False)

    def map(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (n, output_size) for t (n,), x (n, nx), u (n, nu) and p (np,) or (n, np)."""
        num_rows, tables = input_tables(self.name, self.input_sizes, t, x, u, p)
        num_packs = -(-num_rows // self.lanes)
        packed = [pack(np.broadcast_to(a, (num_rows, a.shape[-1])), self.lanes) for a in tables]
        out = np.empty((num_packs, self.output_size, self.lanes))
        stride = self.input_sizes[3] * self.lanes
        places = [place(table) for table in packed]
        CALL_ROWS(self.packs_address)(num_packs, *places, stride, place(out))
        rows = out.transpose(0, 2, 1).reshape(num_packs * self.lanes, self.output_size)
        return rows[:num_rows].copy()


class Native(AbstractTarget):
    """Machine code of this processor, by LLVM."""

    __slots__ = ()

    word = "native"
    purpose = "simulation and analysis"

    def compile(self, program: Program) -> NativeFunction:
        """The native function of a program."""
        return compile_native([program])[program.name]


class Wide(AbstractTarget):
    """Machine code on vectors, one number in each lane, by LLVM."""

    __slots__ = ()

    word = "wide"
    purpose = "batches, several trajectories at a time"

    def compile(self, program: Program) -> ProgramFunction:
        """The function of a program for one row, which fills all lanes."""
        function = compile_wide([program], native_lanes())[program.name]

        def one(t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
            vectors = input_vectors(program.name, program.input_sizes, t, x, u, p)
            t, x, u, p = (np.atleast_2d(vector) for vector in vectors)
            out: Array = function.map(t, x, u, p)[0]
            return out

        return one


def pack(rows: Array, lanes: int) -> Array:
    """Rows (n, m) as packs of lanes (n / lanes, m, lanes); the last row fills the last pack."""
    num_packs = -(-len(rows) // lanes)
    filled = rows[np.minimum(np.arange(num_packs * lanes), len(rows) - 1)]
    return np.ascontiguousarray(filled.reshape(num_packs, lanes, -1).transpose(0, 2, 1))


def _input_bytes(name: str, letter: str, size: int, given: ArrayLike) -> bytes:
    """One input as the bytes of a vector, by a short path for arrays of the right type and size."""
    if type(given) is ndarray and given.dtype is _DOUBLE and given.ndim == 1 and len(given) == size:
        return given.tobytes()
    if isinstance(given, float) and size == 1:
        return _double_bytes(given)
    return input_vector(name, letter, size, given).tobytes()


def _are_few(sizes: tuple[int, int, int, int], t: Any, x: Any, u: Any, p: Any) -> bool:
    """Whether the inputs are arrays of the right types and shapes with one p and few rows."""
    for table in (t, x, u, p):
        if type(table) is not ndarray or table.dtype is not _DOUBLE:
            return False
    nt, nx, nu, np_ = sizes
    n = t.size
    shapes = (t.shape, x.shape, u.shape, p.shape)
    return n <= FEW and nt == 1 and shapes == ((n,), (n, nx), (n, nu), (np_,))

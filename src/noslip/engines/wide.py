"""Wide native code: programs compiled to work on several numbers at once, one in each lane.

A wide function has the signature of a scalar one,

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

but every number is a vector: value k of lane j is at place ``k lanes + j``, for the inputs and for
``out`` alike. The loop next to it goes over packs of lanes. A lane's result depends on nothing but
that lane's inputs, to the last bit. Elementary functions are those of ``vector_math``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noslip.engines import llvm
from noslip.engines.interpreter import Array, input_tables
from noslip.engines.lanes import TRUTH, splat, vector_type
from noslip.engines.llvm import CALLS, Scalar
from noslip.engines.native import CALL_ROWS, place
from noslip.engines.program import Program
from noslip.engines.vector_math import BODIES, vector_functions


@dataclass(frozen=True, slots=True)
class Lanes(Scalar):
    """How wide code is written: the same operations on vectors."""

    @classmethod
    def of(cls, lanes: int) -> Lanes:
        """Vectors of this many lanes."""
        return cls(real=vector_type(lanes), truth=vector_type(lanes, TRUTH), lanes=lanes)

    def number(self, value: float) -> str:
        """A constant, the same in all lanes."""
        return splat(value)

    def call(self, kind: str, name: str, operands: list[str], known: set[str]) -> str:
        """A function of vectors; sine and cosine of one angle are found together."""
        arguments = ", ".join(f"{self.real} {operand}" for operand in operands)
        if kind in ("sin", "cos"):
            both = f"%both_{operands[0].strip('%')}"
            pair = f"{{ {self.real}, {self.real} }}"
            line = f"{name} = extractvalue {pair} {both}, {('sin', 'cos').index(kind)}"
            if both in known:
                return line
            known.add(both)
            return f"{both} = call {pair} @lanes_sincos({arguments})\n  {line}"
        return f"{name} = call {self.real} @{self._symbol(kind)}({arguments})"

    def definitions(self, programs: list[Program]) -> Iterator[str]:
        """Bodies and declarations of what the calls of some programs need."""
        counts = {
            operation.kind: len(operation.operands)
            for program in programs
            for operation in program.operations
            if operation.kind in CALLS
        }
        intrinsic = {kind: n for kind, n in counts.items() if CALLS[kind].startswith("llvm.")}
        own = {"sincos" if kind in ("sin", "cos") else kind for kind in counts}
        library = counts.keys() - intrinsic.keys() - BODIES.keys() - {"sin", "cos"}
        yield from vector_functions(
            own & BODIES.keys(),
            {kind: counts[kind] for kind in library},
            self.lanes,
            declared=[
                f"declare {self.real} @{self._symbol(kind)}({', '.join([self.real] * n)})"
                for kind, n in intrinsic.items()
            ],
        )

    def _symbol(self, kind: str) -> str:
        if CALLS[kind].startswith("llvm."):
            return CALLS[kind].replace(".f64", f".v{self.lanes}f64")
        return f"lanes_{kind}" if kind in BODIES else f"each_{kind}"


@dataclass(frozen=True, slots=True, eq=False)
class WideFunction:
    """A compiled program on vectors. Any number of threads may call it at once, without the GIL.

    The addresses are those of the function and of the loop over packs in the module's docstring;
    they are valid as long as this object lives.
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
        return out.transpose(0, 2, 1).reshape(-1, self.output_size)[:num_rows].copy()


def pack(rows: Array, lanes: int) -> Array:
    """Rows (n, m) as packs of lanes (n / lanes, m, lanes); the last row fills the last pack."""
    num_packs = -(-len(rows) // lanes)
    filled = rows[np.minimum(np.arange(num_packs * lanes), len(rows) - 1)]
    return np.ascontiguousarray(filled.reshape(num_packs, lanes, -1).transpose(0, 2, 1))


@functools.cache
def native_lanes() -> int:
    """Lanes that suit this processor: 8 with 512-bit registers, else 4."""
    return 8 if "+avx512f" in llvm.host()[2].split(",") else 4


def compile_wide(programs: Iterable[Program], lanes: int) -> dict[str, WideFunction]:
    """Programs with different names, compiled together for vectors of lanes, by name."""
    programs = list(programs)
    engine: Any = llvm.compiled(programs, Lanes.of(lanes), _library(programs))
    functions = {}
    for k, program in enumerate(programs):
        functions[program.name] = WideFunction(
            name=program.name,
            lanes=lanes,
            address=engine.get_function_address(f"program{k}"),
            packs_address=engine.get_function_address(f"program{k}_rows"),
            input_sizes=program.input_sizes,
            output_size=program.output_size,
            _engine=engine,
        )
    return functions


def _library(programs: list[Program]) -> set[str]:
    """Functions of the C library that wide code of these programs may call."""
    kinds = {kind for program in programs for kind in program.count() if kind in CALLS}
    kinds -= BODIES.keys() | {"sin", "cos"}
    return {kind for kind in kinds if not CALLS[kind].startswith("llvm.")}

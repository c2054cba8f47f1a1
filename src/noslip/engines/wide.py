"""Wide native code: programs compiled to work on several numbers at once, one in each lane.

A wide function has the signature of a scalar one,

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

but every number is a vector: value k of lane j is at place ``k lanes + j``, for the inputs and for
``out`` alike. The loop next to it goes over packs of lanes. A lane's result depends on nothing but
that lane's inputs, to the last bit. Elementary functions are those of ``vector_math``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noslip.engines import llvm
from noslip.engines.interpreter import Array, input_tables
from noslip.engines.native import CALL_ROWS, place
from noslip.engines.program import Program
from noslip.engines.vector_types import VectorTypes


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
    engine: Any = llvm.compiled(programs, VectorTypes(lanes))
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

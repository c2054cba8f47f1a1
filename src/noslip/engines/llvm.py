"""Native target: programs as LLVM text, compiled in memory; the machine needs no compiler.

Every compiled function has the signature

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

where ``out`` must not overlap the inputs. Next to it stands a loop over rows, which takes the
distance between the rows of p, so that with 0 all rows share one vector of parameters:

    void rows(int64 n, const double* t, ..., const double* p, int64 p_stride, double* out)

Sums may be regrouped, products and sums fused, quotients taken by reciprocals; nan and ∞ are kept.
Programs repeat nothing, so LLVM is asked to combine instructions and no more: its O3 pipeline takes
a third longer and changes the speed by less than 7 %, up or down. One function compiles slower than
in proportion to its length, so a long program is cut into parts that share a workspace.
"""

from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from llvmlite import binding
from numpy.typing import ArrayLike

from noslip.engines.interpreter import INPUT_NAMES, Array, input_tables, input_vectors
from noslip.engines.program import Program
from noslip.errors import CompileError

LONGEST_PART = 5000  # operations; with half of it a program runs 7 % slower

# The text of each operation: {v} is the value it makes; {a}, {b}, {c} are its operands.
_ARITHMETIC = "{{v}} = {} reassoc nsz arcp contract double {{a}}, {{b}}"
_COMPARISON = "{{v}}t = fcmp {} double {{a}}, {{b}}\n  {{v}} = uitofp i1 {{v}}t to double"
_LOGIC = (
    "{{v}}a = fcmp une double {{a}}, 0.0\n  {{v}}b = fcmp une double {{b}}, 0.0\n"
    "  {{v}}t = {} i1 {{v}}a, {{v}}b\n  {{v}} = uitofp i1 {{v}}t to double"
)
INSTRUCTIONS: dict[str, str] = {
    **{kind: _ARITHMETIC.format(f"f{kind}") for kind in ("add", "sub", "mul", "div")},
    **{kind: _COMPARISON.format(f"o{kind}") for kind in ("lt", "le", "eq")},
    **{kind: _LOGIC.format(kind) for kind in ("and", "or")},
    "ne": _COMPARISON.format("une"),
    "neg": "{v} = fneg double {a}",
    "not": "{v}t = fcmp oeq double {a}, 0.0\n  {v} = uitofp i1 {v}t to double",
    "if_else": "{v}t = fcmp une double {a}, 0.0\n  {v} = select i1 {v}t, double {b}, double {c}",
    "sign": (
        "{v}p = fcmp ogt double {a}, 0.0\n  {v}n = fcmp olt double {a}, 0.0\n"
        "  {v}z = select i1 {v}n, double -1.0, double {a}\n"
        "  {v} = select i1 {v}p, double 1.0, double {v}z"
    ),
}
# Functions of the C library. LLVM itself joins sine and cosine of one angle to one call.
_LIBRARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "expm1", "log", "log1p", "pow", "hypot", "erf", "fmod", "remainder"),
)
CALLS = {
    **{kind: f"llvm.{kind}.f64" for kind in ("sqrt", "floor", "ceil", "copysign")},
    **{"abs": "llvm.fabs.f64", "min": "llvm.minnum.f64", "max": "llvm.maxnum.f64"},
    **{kind: kind for kind in _LIBRARY},
}

_INPUTS = ", ".join(f"ptr noalias nocapture readonly %{name}" for name in INPUT_NAMES)
_POINTERS = f"{_INPUTS}, ptr noalias nocapture writeonly %out"

# The loop calls the function proper, so that both give the same bits.
_ROW_LOOP = """define void @{symbol}_rows(i64 %n, {inputs},
    i64 %p_stride, ptr noalias nocapture %out) nounwind {{
start:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %row, label %done
row:
  %k = phi i64 [ 0, %start ], [ %next, %row ]
  %tk = getelementptr [{nt} x double], ptr %t, i64 %k
  %xk = getelementptr [{nx} x double], ptr %x, i64 %k
  %uk = getelementptr [{nu} x double], ptr %u, i64 %k
  %shift = mul i64 %k, %p_stride
  %pk = getelementptr double, ptr %p, i64 %shift
  %outk = getelementptr [{nout} x double], ptr %out, i64 %k
  call void @{symbol}(ptr %tk, ptr %xk, ptr %uk, ptr %pk, ptr %outk)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %done
done:
  ret void
}}"""

_CALL = CFUNCTYPE(None, *[c_void_p] * 5)
_CALL_ROWS = CFUNCTYPE(None, c_int64, *[c_void_p] * 4, c_int64, c_void_p)


@dataclass(frozen=True, slots=True, eq=False)
class NativeFunction:
    """A compiled program. Any number of threads may call it at once; it runs without the GIL.

    The addresses are those of the two functions in the module's docstring, for native callers;
    they are valid as long as this object lives.
    """

    name: str
    address: int
    rows_address: int
    input_sizes: tuple[int, int, int, int]
    output_size: int
    _engine: object = field(repr=False)
    _call: Callable[..., None] = field(repr=False)
    _call_rows: Callable[..., None] = field(repr=False)

    def __call__(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (output_size,) for a time, a state, inputs and parameters."""
        vectors = input_vectors(self.name, self.input_sizes, t, x, u, p)
        out = np.empty(self.output_size)
        self._call(*(vector.ctypes.data for vector in vectors), out.ctypes.data)
        return out

    def map(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (n, output_size) for t (n,), x (n, nx), u (n, nu) and p (np,) or (n, np)."""
        num_rows, tables = input_tables(self.name, self.input_sizes, t, x, u, p)
        out = np.empty((num_rows, self.output_size))
        p_stride = self.input_sizes[3] if tables[3].ndim == 2 else 0
        addresses = [table.ctypes.data for table in tables]
        self._call_rows(num_rows, *addresses, p_stride, out.ctypes.data)
        return out


def compile_native(programs: Iterable[Program]) -> dict[str, NativeFunction]:
    """Programs with different names, compiled together for this processor, by name."""
    programs = list(programs)
    names = [program.name for program in programs]
    if len(set(names)) < len(names):
        raise ValueError(f"programs need different names, got {', '.join(names)}")
    _host()
    require_symbols({kind for program in programs for kind in program.count() if kind in _LIBRARY})
    engine = _engine(print_llvm(programs))
    functions = {}
    for k, program in enumerate(programs):
        address = engine.get_function_address(f"program{k}")
        rows_address = engine.get_function_address(f"program{k}_rows")
        functions[program.name] = NativeFunction(
            name=program.name,
            address=address,
            rows_address=rows_address,
            input_sizes=program.input_sizes,
            output_size=program.output_size,
            _engine=engine,
            _call=_CALL(address),
            _call_rows=_CALL_ROWS(rows_address),
        )
    return functions


@functools.lru_cache(maxsize=64)
def _engine(text: str) -> Any:
    """Machine code of a module. A law with other numbers has the same text: it is kept."""
    target, cpu, features = _host()
    module = binding.parse_assembly(text)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    passes = binding.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.run(module, binding.create_pass_builder(machine, binding.PipelineTuningOptions()))
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


@functools.cache
def _host() -> tuple[Any, str, str]:
    """Target, processor and its features, with the C library's functions in reach of LLVM."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if sys.platform == "linux":
        with suppress(RuntimeError):  # musl's functions are in libc, which every process holds
            binding.load_library_permanently("libm.so.6")
    features = binding.get_host_cpu_features().flatten()
    return binding.Target.from_default_triple(), binding.get_host_cpu_name(), features


def require_symbols(names: Iterable[str]) -> None:
    """Raise if the C library lacks a function; LLVM would end the process."""
    missing = sorted(name for name in names if not binding.address_of_symbol(name))
    if missing:
        raise CompileError(
            f"the C library has no function {', '.join(missing)}",
            "linking of native code",
            "write the expression without it",
        )


def print_llvm(programs: Iterable[Program]) -> str:
    """One LLVM module with functions program0, program0_rows, program1, ... in this order."""
    lines: list[str] = []
    num_operands: dict[str, int] = {}
    for k, program in enumerate(programs):
        lines.extend(_function(program, f"program{k}"))
        nt, nx, nu, _ = program.input_sizes
        sizes = {"nt": nt, "nx": nx, "nu": nu, "nout": program.output_size}
        lines.append(_ROW_LOOP.format(symbol=f"program{k}", inputs=_INPUTS, **sizes))
        calls = (operation for operation in program.operations if operation.kind in CALLS)
        num_operands.update((CALLS[kind], len(operands)) for kind, operands in calls)
    for name, number in sorted(num_operands.items()):
        types = ", ".join(["double"] * number)
        lines.append(f"declare double @{name}({types}) readnone nounwind willreturn")
    return "\n".join(lines) + "\n"


def _function(program: Program, symbol: str) -> Iterator[str]:
    """The function of a program, with all its operations or with a call of each of its parts."""
    num_parts = max(1, -(-program.num_operations // LONGEST_PART))
    ends = [program.num_operations * k // num_parts for k in range(num_parts + 1)]
    parts = [range(*pair) for pair in pairwise(ends)]
    slots, num_slots = _workspace(program, parts)
    body = _operations(program, parts[0], slots)
    if num_parts > 1:
        for k, part in enumerate(parts):
            yield f"define internal void @{symbol}_part{k}({_POINTERS}, ptr noalias nocapture %w)"
            yield "    nounwind noinline {"
            yield from _operations(program, part, slots)
            yield "  ret void\n}"
        arguments = ", ".join(f"ptr %{name}" for name in (*INPUT_NAMES, "out", "w"))
        calls = [f"  call void @{symbol}_part{k}({arguments})" for k in range(num_parts)]
        body = iter([f"  %w = alloca [{num_slots} x double], align 64", *calls])
    yield f"define void @{symbol}({_POINTERS}) nounwind noinline {{"
    yield from body
    yield "  ret void\n}"


def _workspace(program: Program, parts: list[range]) -> tuple[dict[int, int], int]:
    """A slot of the workspace for each value that a later part reads, and the number of slots."""
    given = program.num_given
    part_of = [k for k, part in enumerate(parts) for _ in part]
    last_reader: dict[int, int] = {}
    for k, operation in enumerate(program.operations):
        for value in operation.operands:
            if value >= given and part_of[value - given] < part_of[k]:
                last_reader[value] = part_of[k]

    # a slot is free again after the last part that reads it
    slots: dict[int, int] = {}
    free: list[int] = []
    freed: list[list[int]] = [[] for _ in parts]
    num_slots = 0
    for k, part in enumerate(parts):
        for value in range(given + part.start, given + part.stop):
            if value in last_reader:
                slots[value] = heappop(free) if free else num_slots
                num_slots = max(num_slots, slots[value] + 1)
                freed[last_reader[value]].append(slots[value])
        for slot in freed[k]:
            heappush(free, slot)
    return slots, num_slots


def _operations(program: Program, part: range, slots: dict[int, int]) -> Iterator[str]:
    """The lines of some operations; a value from outside is loaded before its first use."""
    given = program.num_given
    sizes = zip(INPUT_NAMES, program.input_sizes, strict=True)
    inputs = [(name, k) for name, size in sizes for k in range(size)]
    bits = (struct.unpack(">Q", struct.pack(">d", number))[0] for number in program.constants)
    names = {len(inputs) + k: f"0x{word:016X}" for k, word in enumerate(bits)}
    places: dict[int, list[int]] = {}
    for k, value in enumerate(program.outputs):
        places.setdefault(value, []).append(k)

    def load(value: int) -> Iterator[str]:
        if value not in names:
            pointer, k = inputs[value] if value < given else ("w", slots[value])
            names[value] = name = f"%{pointer}{k}_{value}"
            yield f"  {name}_at = getelementptr double, ptr %{pointer}, i64 {k}"
            yield f"  {name} = load double, ptr {name}_at"

    def store(value: int, pointer: str, k: int) -> Iterator[str]:
        yield f"  %to_{pointer}{k} = getelementptr double, ptr %{pointer}, i64 {k}"
        yield f"  store double {names[value]}, ptr %to_{pointer}{k}"

    for k in part:
        kind, operands = program.operations[k]
        for value in operands:
            yield from load(value)
        name = names[given + k] = f"%v{k}"
        if kind in CALLS:
            arguments = ", ".join(f"double {names[value]}" for value in operands)
            yield f"  {name} = call double @{CALLS[kind]}({arguments})"
        else:
            words = {letter: names[v] for letter, v in zip("abc", operands, strict=False)}
            yield "  " + INSTRUCTIONS[kind].format(v=name, **words)
        if given + k in slots:
            yield from store(given + k, "w", slots[given + k])
        for place in places.get(given + k, ()):
            yield from store(given + k, "out", place)

    # the last part also writes outputs that are inputs or constants
    if part.stop == program.num_operations:
        for place, value in enumerate(program.outputs):
            if value < given:
                yield from load(value)
                yield from store(value, "out", place)

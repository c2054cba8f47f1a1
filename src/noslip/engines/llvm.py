"""Native target: programs as LLVM text, compiled in memory; the machine needs no compiler.

Every compiled function has the signature

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

where ``out`` must not overlap the inputs. Next to it stands a loop over rows, which takes the
distance between the rows of p, so that with 0 all rows share one vector of parameters:

    void rows(int64 n, const double* t, ..., const double* p, int64 p_stride, double* out)

Products and sums may be fused, quotients taken by reciprocals; nan and ∞ are kept.
Programs repeat nothing and are arranged beforehand (`engines.arrange`), so LLVM is asked to combine
instructions and no more: its O3 pipeline takes a third longer and changes the speed by less than
7 %, up or down. One function compiles slower than in proportion to its length, so a long program is
cut into parts that share a workspace.
"""

from __future__ import annotations

import atexit
import functools
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

from llvmlite import binding

from noslip.engines.arrange import arrange
from noslip.engines.interpreter import INPUT_NAMES
from noslip.engines.native import NativeFunction
from noslip.engines.program import Program
from noslip.engines.vector_types import CALLS, SCALAR, VectorTypes
from noslip.errors import CompileError

#: Held while LLVM compiles. A process that ends must wait for it: a thread that is stopped within
#: LLVM never lets go of LLVM's own lock, and whoever tidies up then waits forever, or crashes.
COMPILING = threading.RLock()
atexit.register(COMPILING.acquire)

LONGEST_WHOLE = 5000  # operations up to which a program is one function
LONGEST_PART = 1500  # operations of each function of a longer one: they compile in half the time
OPT_LEVEL = 2  # of the code generator
PASSES = ("always_inliner", "instruction_combine")  # llvmlite's names: add_..._pass

# The text of each operation: {v} is the value it makes; {a}, {b}, {c} are its operands. Numbers are
# of type {real}, truths of type {truth}: one, or one for each lane.
# Sums are grouped by `arrange`: where LLVM may regroup them too (reassoc), it takes up products
# into wrong sums now and then.
_ARITHMETIC = "{{v}} = {} nsz arcp contract {{real}} {{a}}, {{b}}"
_COMPARISON = (
    "{{v}}t = fcmp {} {{real}} {{a}}, {{b}}\n  {{v}} = uitofp {{truth}} {{v}}t to {{real}}"
)
_LOGIC = (
    "{{v}}a = fcmp une {{real}} {{a}}, {{zero}}\n  {{v}}b = fcmp une {{real}} {{b}}, {{zero}}\n"
    "  {{v}}t = {} {{truth}} {{v}}a, {{v}}b\n  {{v}} = uitofp {{truth}} {{v}}t to {{real}}"
)
INSTRUCTIONS: dict[str, str] = {
    **{kind: _ARITHMETIC.format(f"f{kind}") for kind in ("add", "sub", "mul", "div")},
    **{kind: _COMPARISON.format(f"o{kind}") for kind in ("lt", "le", "eq")},
    **{kind: _LOGIC.format(kind) for kind in ("and", "or")},
    "ne": _COMPARISON.format("une"),
    "neg": "{v} = fneg {real} {a}",
    "not": "{v}t = fcmp oeq {real} {a}, {zero}\n  {v} = uitofp {truth} {v}t to {real}",
    "if_else": (
        "{v}t = fcmp une {real} {a}, {zero}\n  {v} = select {truth} {v}t, {real} {b}, {real} {c}"
    ),
    "sign": (
        "{v}p = fcmp ogt {real} {a}, {zero}\n  {v}n = fcmp olt {real} {a}, {zero}\n"
        "  {v}z = select {truth} {v}n, {real} {minus_one}, {real} {a}\n"
        "  {v} = select {truth} {v}p, {real} {one}, {real} {v}z"
    ),
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


def compile_native(programs: Iterable[Program]) -> dict[str, NativeFunction]:
    """Programs with different names, compiled together for this processor, by name."""
    programs = list(programs)
    engine = compiled(programs, SCALAR)
    functions = {}
    for k, program in enumerate(programs):
        functions[program.name] = NativeFunction.of(
            program.name, engine, f"program{k}", program.input_sizes, program.output_size
        )
    return functions


def compiled(programs: list[Program], width: VectorTypes) -> Any:
    """Machine code of programs with different names: functions program0, program1, ..."""
    names = [program.name for program in programs]
    if len(set(names)) < len(names):
        raise ValueError(f"programs need different names, got {', '.join(names)}")
    host()
    require_symbols(width.library(programs))
    return machine_code(print_llvm([arranged(program) for program in programs], width))


def arranged(program: Program) -> Program:
    """A program as it is compiled."""
    return arrange(program, order=program.num_operations <= LONGEST_WHOLE)


@functools.lru_cache(maxsize=64)
def machine_code(text: str) -> Any:
    """Machine code of a module. A law with other numbers has the same text: it is kept."""
    with COMPILING:
        engine = binding.create_mcjit_compiler(*combined(text))
        engine.finalize_object()
    return engine


def combined(text: str, passes: tuple[str, ...] = PASSES) -> tuple[Any, Any]:
    """A module with its instructions combined, and the machine it is meant for."""
    module, machine = module_for_host(text)
    manager = binding.create_new_module_pass_manager()
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, binding.create_pass_builder(machine, binding.PipelineTuningOptions()))
    return module, machine


def module_for_host(text: str) -> tuple[Any, Any]:
    """A module as its text says, and the machine it is meant for."""
    target, cpu, features = host()
    module = binding.parse_assembly(text)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=OPT_LEVEL, jit=True)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module, machine


@functools.cache
def host() -> tuple[Any, str, str]:
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


def print_llvm(programs: Iterable[Program], width: VectorTypes = SCALAR) -> str:
    """One LLVM module with functions program0, program0_rows, program1, ... in this order."""
    lines: list[str] = []
    programs = list(programs)
    for k, program in enumerate(programs):
        lines.extend(_function(program, f"program{k}", width))
        sizes = {"nt": program.input_sizes[0], "nx": program.input_sizes[1]}
        sizes |= {"nu": program.input_sizes[2], "nout": program.output_size}
        sizes = {name: size * width.lanes for name, size in sizes.items()}
        lines.append(_ROW_LOOP.format(symbol=f"program{k}", inputs=_INPUTS, **sizes))
    is_inline = all(program.num_operations <= LONGEST_WHOLE for program in programs)
    lines.extend(width.definitions(programs, is_inline))
    return "\n".join(lines) + "\n"


def _function(program: Program, symbol: str, width: VectorTypes) -> Iterator[str]:
    """The function of a program, with all its operations or with a call of each of its parts."""
    is_whole = program.num_operations <= LONGEST_WHOLE
    num_parts = 1 if is_whole else -(-program.num_operations // LONGEST_PART)
    ends = [program.num_operations * k // num_parts for k in range(num_parts + 1)]
    parts = [range(*pair) for pair in pairwise(ends)]
    slots, num_slots = _workspace(program, parts)
    body = _operations(program, parts[0], slots, width)
    if num_parts > 1:
        for k, part in enumerate(parts):
            yield f"define internal void @{symbol}_part{k}({_POINTERS}, ptr noalias nocapture %w)"
            yield f"    {width.attributes} {{"
            yield from _operations(program, part, slots, width)
            yield "  ret void\n}"
        arguments = ", ".join(f"ptr %{name}" for name in (*INPUT_NAMES, "out", "w"))
        calls = [f"  call void @{symbol}_part{k}({arguments})" for k in range(num_parts)]
        body = iter([f"  %w = alloca [{num_slots} x {width.real}], align 64", *calls])
    yield f"define void @{symbol}({_POINTERS}) {width.attributes} {{"
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


def _operations(
    program: Program, part: range, slots: dict[int, int], width: VectorTypes
) -> Iterator[str]:
    """The lines of some operations; a value from outside is loaded before its first use."""
    given = program.num_given
    sizes = zip(INPUT_NAMES, program.input_sizes, strict=True)
    inputs = [(name, k) for name, size in sizes for k in range(size)]
    names = {len(inputs) + k: width.number(value) for k, value in enumerate(program.constants)}
    types, real = width.words(), width.real
    known: dict[str, str] = {}
    places: dict[int, list[int]] = {}
    for k, value in enumerate(program.outputs):
        places.setdefault(value, []).append(k)

    def load(value: int) -> Iterator[str]:
        if value not in names:
            pointer, k = inputs[value] if value < given else ("w", slots[value])
            names[value] = name = f"%{pointer}{k}_{value}"
            yield f"  {name}_at = getelementptr {real}, ptr %{pointer}, i64 {k}"
            yield f"  {name} = load {real}, ptr {name}_at, align 8"

    def store(value: int, pointer: str, k: int) -> Iterator[str]:
        yield f"  %to_{pointer}{k} = getelementptr {real}, ptr %{pointer}, i64 {k}"
        yield f"  store {real} {names[value]}, ptr %to_{pointer}{k}, align 8"

    for k in part:
        kind, operands = program.operations[k]
        for value in operands:
            yield from load(value)
        name = names[given + k] = f"%v{k}"
        if kind in CALLS:
            yield "  " + width.call(kind, name, [names[v] for v in operands], known)
        else:
            words = {letter: names[v] for letter, v in zip("abc", operands, strict=False)}
            yield "  " + INSTRUCTIONS[kind].format(v=name, **words, **types)
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

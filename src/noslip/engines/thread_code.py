"""Code of a thread of a GPU: PTX for NVIDIA's driver, or machine code of this processor.

A kernel is LLVM text with one function of the address of memory, the number of the thread and the
number of threads, and a record that all threads read:

    void integrate(ptr memory, i64 thread, i64 threads)
    @record, of as many words as are asked for (`record_text`, `word_of_record`)

As PTX the function is an entry that finds the number of its thread itself, and the record lies in
the memory for constants, from where instructions take operands at no cost. For this processor the
text is compiled as it is, so that tests run where no card is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from ctypes import CFUNCTYPE, c_int64, c_void_p, memmove
from typing import Any

import numpy as np
from llvmlite import binding
from numpy.typing import ArrayLike

from noslip.algebra import LookupTable
from noslip.engines.device_math import RECIPROCALS
from noslip.engines.flow import CONSTANT, KERNEL
from noslip.engines.interpreter import Array, input_vectors
from noslip.engines.ir_writer import GLOBAL
from noslip.engines.llvm import print_thread_functions
from noslip.engines.machine_code import COMPILING, CONTROL_FLOW_PASSES, host, machine_code
from noslip.engines.native_arrays import address
from noslip.engines.optimization import optimize
from noslip.engines.program import Program
from noslip.engines.target import AbstractTarget, ProgramFunction

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

    Parameters
    ----------
    text : module with the function, the record and all that it calls.
    capability : ten times the major number of the card's compute capability, and the minor one.
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


def for_host(text: str) -> str:
    """The text without what only a card has: kinds of memory, and short reciprocals."""
    text = text.replace(f" {CONSTANT}", "").replace(f" {GLOBAL}", "")
    for kind, name in RECIPROCALS.items():
        declared = f"declare {kind} @{name}({kind})"
        one = f"%r = fdiv {kind} 1.0, %x\n  ret {kind} %r"
        text = text.replace(declared, f"define internal {kind} @{name}({kind} %x) {{\n  {one}\n}}")
        text = text.replace(f"@{name}(", f"@host_{name}(")
    return text


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

    Parameters
    ----------
    text : of the kernel.
    tables : that its programs look up.

    Attributes
    ----------
    call : of the address of memory, the number of the thread and the number of threads.
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

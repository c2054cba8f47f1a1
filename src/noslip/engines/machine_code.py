"""Machine code of LLVM text for this processor, cached in memory and, on request, on disk.

    machine_code(text)                a module (programs): cached on disk if it is long
    stored_machine_code(text, name)   a module (loops) that is cached on disk in any case
                                      (`code_store`), from where it loads in 2 ms instead of
                                      compiling for 0.1 to 0.5 s

Both return an engine with `get_function_address(symbol)`; addresses are valid as long as the engine
lives. Any thread may call them; a module is compiled once, however many threads request it.
External functions must exist (:func:`require_symbols`): LLVM ends the process where one does not.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import llvmlite
from llvmlite import binding

from noslip import __version__
from noslip.base import CompileError, LRUCache, SimulationError, nearest
from noslip.engines import code_store

#: Held while LLVM compiles. A process that ends must wait for it: a thread that is stopped within
#: LLVM never releases LLVM's own lock, and the exit handlers then wait forever, or crash.
COMPILING = threading.RLock()
atexit.register(COMPILING.acquire)

OPT_LEVEL = 2  # of the code generator
#: Passes by llvmlite's names (add_..._pass), for programs and for code with loops and variables.
STRAIGHT_LINE_PASSES = ("always_inliner", "instruction_combine")
CONTROL_FLOW_PASSES = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg")

#: Characters from which a module is stored: it compiles for 6 ms or more, and loads in 2.
STORED_FROM = 4096
#: What stands before the address of a table, which is another one in every process.
ADDRESS = "inttoptr"

_ENGINES = LRUCache(max_entries=128)


def machine_code(text: str, passes: tuple[str, ...] = STRAIGHT_LINE_PASSES) -> Any:
    """An engine with the functions of a module: from memory, from disk if long, or compiled now."""
    if len(text) >= STORED_FROM and ADDRESS not in text:
        return stored_machine_code(text, passes=passes)

    def make() -> Any:
        engine = binding.create_mcjit_compiler(*optimized_module(text, passes))
        engine.finalize_object()
        return engine

    return _cached(("compiled", text, passes), make)


def stored_machine_code(
    text: str | Callable[[], str], *, name: str = "", passes: tuple[str, ...] = CONTROL_FLOW_PASSES
) -> Any:
    """An engine with the functions of a module: from memory, from disk, or compiled and stored now.

    Parameters
    ----------
    text : the module, or a function that prints it
    name : key that no other text has, where it is known without printing.
    passes : LLVM's passes before it generates code, in this order.
    """
    known = name or (text if isinstance(text, str) else text())

    def compiled() -> bytes:
        module, machine = optimized_module(text if isinstance(text, str) else text(), passes)
        return bytes(machine.emit_object(module))

    def make() -> Any:
        code = code_store.stored(_key(known, passes), compiled)
        engine = binding.create_mcjit_compiler(*module_for_host(""))
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine

    return _cached(("stored", known, passes), make)


def _cached(key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """The engine of a key; of several threads that request the same, one compiles it."""

    def make_once() -> Any:
        with COMPILING:
            return _ENGINES.get(key, make)

    return _ENGINES.get(key, make_once)


def _key(text: str, passes: tuple[str, ...]) -> bytes:
    """SHA-256 over all that the machine code depends on."""
    target, cpu, features = host()
    llvm_version = ".".join(map(str, binding.llvm_version_info))
    versions = (__version__, llvmlite.__version__, llvm_version)
    how = (str(OPT_LEVEL), ",".join(passes))
    parts = (*versions, target.triple, cpu, features, *how, "")
    digest = hashlib.sha256("\0".join(parts).encode())
    digest.update(text.encode())
    return digest.digest()


def optimized_module(text: str, passes: tuple[str, ...] = STRAIGHT_LINE_PASSES) -> tuple[Any, Any]:
    """A module after LLVM's passes, and the machine it is meant for."""
    module, machine = module_for_host(text)
    manager = binding.create_new_module_pass_manager()
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, binding.create_pass_builder(machine, binding.PipelineTuningOptions()))
    return module, machine


def module_for_host(text: str) -> tuple[Any, Any]:
    """A module as it is written, and the machine it is meant for."""
    target, cpu, features = host()
    module = binding.parse_assembly(text)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=OPT_LEVEL, jit=True)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module, machine


#: Instruction sets that code can be made for instead of all that this processor has → what a
#: processor must have for them.
INSTRUCTION_SETS = {
    "x86-64": (),
    "x86-64-v2": ("sse4.2", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
}
#: Environment variable that names one.
TARGET_VARIABLE = "NOSLIP_TARGET"


def check_instruction_set(word: str) -> None:
    """Refuse a word that names no instruction set."""
    known = ("native", *INSTRUCTION_SETS)
    if word not in known:
        raise CompileError(
            f"there is no instruction set '{word}'", TARGET_VARIABLE, nearest(word, known)
        )


@functools.cache
def host() -> tuple[Any, str, str]:
    """Target, processor and its features, with the C library's functions visible to LLVM.

    The processor is this one, or the instruction set that ``NOSLIP_TARGET`` names, so that
    different machines run the same code.
    """
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if sys.platform == "linux":
        with suppress(RuntimeError):  # musl's functions are in libc, which every process holds
            binding.load_library_permanently("libm.so.6")
    found = binding.get_host_cpu_features()
    target, word = binding.Target.from_default_triple(), os.environ.get(TARGET_VARIABLE, "")
    if word in ("", "native"):
        return target, binding.get_host_cpu_name(), found.flatten()
    check_instruction_set(word)
    needed = INSTRUCTION_SETS[word]
    missing = [name for name in needed if not found.get(name)]
    if missing:
        raise CompileError(
            f"this processor has no {missing[0]}, which '{word}' needs",
            TARGET_VARIABLE,
            "choose a smaller instruction set, or leave it out",
        )
    return target, word, ",".join(f"+{name}" for name in needed)


def choose_instruction_set(word: str) -> None:
    """Let all code of this process be made for an instruction set, and that of its children.

    Raises
    ------
    SimulationError : code has been made for another one by now.
    CompileError : there is no such instruction set, or this processor lacks it.
    """
    if not word:
        return
    check_instruction_set(word)
    before = os.environ.get(TARGET_VARIABLE)
    os.environ[TARGET_VARIABLE] = word
    try:
        _, cpu, _ = host()
    except BaseException:
        if before is None:
            del os.environ[TARGET_VARIABLE]
        raise
    if word != "native" and cpu != word:
        if before is None:
            del os.environ[TARGET_VARIABLE]
        raise SimulationError(
            f"the target '{word}' is requested, but the code of this process is compiled for "
            f"'{cpu}'",
            "target",
            f"start a new process with {TARGET_VARIABLE}={word} in its environment",
        )


def require_symbols(names: Iterable[str]) -> None:
    """Raise if the C library lacks a function; LLVM would end the process."""
    missing = sorted(name for name in names if not binding.address_of_symbol(name))
    if missing:
        raise CompileError(
            f"the C library has no function {', '.join(missing)}",
            "linking of native code",
            "write the expression without it",
        )


def target_facts() -> dict[str, str]:
    """Versions and instruction set that machine code depends on."""
    target, cpu, features = host()
    return {
        "noslip": __version__,
        "llvmlite": llvmlite.__version__,
        "triple": str(target.triple),
        "cpu": cpu,
        "features": hashlib.sha256(features.encode()).hexdigest()[:16],
    }

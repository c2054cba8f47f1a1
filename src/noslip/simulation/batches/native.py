"""Words that Numba lacks, for loops that work on addresses: pointers, calls, copies, a counter."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

_HERE = Path(__file__).parent
_FILES = (
    *(_HERE / f"{name}.py" for name in ("events", "lanes", "loop", "native", "samples", "setup")),
    *(_HERE / "steps.py", _HERE.parent / "dop853.py", _HERE.parent / "loop.py"),
)

#: Compiled into its callers. Without any flag, so that a lane's bits are the same in every loop.
native = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@functools.cache
def _stamp() -> tuple[str, int]:
    """What the files of the loop hold: compiled code on disk is used while it is the same.

    By itself Numba asks only for the file of a function, not for those of the functions it calls.
    """
    digest = hashlib.sha256()
    for path in _FILES:
        digest.update(path.read_bytes())
    return digest.hexdigest(), 0


def _cache_on_disk(compiled: Any) -> None:
    """Keep compiled code on disk, if there is a folder that can be written to."""
    with suppress(RuntimeError):
        compiled.enable_caching()
        compiled._cache._cache_file._source_stamp = _stamp()


def is_on_disk(compiled: Any) -> bool:
    """Whether machine code is kept from an earlier run; to make it takes seconds."""
    try:
        return bool(compiled._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return True  # not known, so nothing to announce


def cached(function):
    """Compile a function and keep it on disk."""
    compiled = njit(nogil=True, error_model="numpy")(function)
    _cache_on_disk(compiled)
    return compiled


class unit:
    """A function of one address that is compiled on its own, when its address is first asked for.

    What is compiled into its caller is compiled again with it; what is called by address is not.
    """

    def __init__(self, function: Callable[[int], None]) -> None:
        self.function = function

    @functools.cached_property
    def compiled(self) -> Any:
        """What Numba makes of it; nothing is compiled yet."""
        signature = sigutils.normalize_signature(types.void(types.int64))
        compiled = CFunc(self.function, signature, {}, {"error_model": "numpy"})
        _cache_on_disk(compiled)
        return compiled

    @functools.cached_property
    def address(self) -> int:
        """Where its machine code is."""
        self.compiled.compile()
        return int(self.compiled.address)


@intrinsic
def reals(typing_context, address):
    """Pointer to the float64 values at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), generate


@intrinsic
def words(typing_context, address):
    """Pointer to the int64 values at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def call(typing_context, function, arguments):
    """Call the native function at an address with a tuple of addresses and whole numbers."""

    def generate(context, builder, signature, values):
        word = ir.IntType(64)
        given = cgutils.unpack_tuple(builder, values[1])
        function_type = ir.FunctionType(ir.VoidType(), [word] * len(given))
        builder.call(builder.inttoptr(values[0], function_type.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(types.int64, types.UniTuple(types.int64, len(arguments))), generate


@intrinsic
def copy(typing_context, source, target, count):
    """Copy float64 values from one address to another, which do not overlap."""

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        source, target = (builder.inttoptr(address, pointer) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def take(typing_context, address):
    """The count at an address, which is raised by one for whoever asks next, on any thread."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        counter = builder.inttoptr(arguments[0], word.as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(word, 1), "monotonic")

    return types.int64(types.int64), generate

"""Words the native loops are written in: code kept on disk, and what Numba lacks for addresses.

A loop is one cached function; its parts are compiled into it. It works on addresses of vectors and
of functions: pointers, calls, copies and a counter are below. Nothing here knows what is computed.

    native     a part whose arithmetic is done as written
    fused      a part in which a product and a sum may be one operation, with one rounding
    cached     a function that Python calls, kept on disk
    unit       a function of one address that native code calls, kept on disk

Traps
-----
- By itself Numba renews code on disk when the file of the function changes, not when those change
  that hold its parts. Here it is renewed when any file changes that its own file imports at its
  top, directly or not.
- Where no folder can be written to, neither that of the package nor the user's own for caches, the
  code is compiled in every process.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

#: Flags. Batches take the first, so that a lane's bits are the same in every loop.
PLAIN: dict[str, Any] = {"error_model": "numpy"}
FUSED: dict[str, Any] = {**PLAIN, "fastmath": {"contract"}}

native = njit(**PLAIN, no_cpython_wrapper=True, no_cfunc_wrapper=True)
fused = njit(**FUSED, no_cpython_wrapper=True, no_cfunc_wrapper=True)

_PACKAGE = Path(__file__).parent.parent
_IMPORT = re.compile(r"^from noslip([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def cached(flags: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with flags when it is first called, and keep it on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = njit(nogil=True, **flags)(function)
        _keep_on_disk(compiled, function)
        return compiled

    return decorate


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
        compiled = CFunc(self.function, signature, {}, PLAIN)
        _keep_on_disk(compiled, self.function)
        return compiled

    @functools.cached_property
    def address(self) -> int:
        """Where its machine code is."""
        self.compiled.compile()
        return int(self.compiled.address)


def is_on_disk(compiled: Any) -> bool:
    """Whether machine code is kept from an earlier run; to make it takes seconds."""
    try:
        return bool(compiled._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return True  # not known, so nothing to announce


def _keep_on_disk(compiled: Any, function: Callable[..., Any]) -> None:
    """Let Numba keep a function's machine code, if there is a folder that can be written to."""
    with suppress(RuntimeError, OSError):
        stamp = _stamp(Path(function.__code__.co_filename))
        compiled.enable_caching()
        compiled._cache._cache_file._source_stamp = stamp


@functools.cache
def _stamp(path: Path) -> tuple[str, int]:
    """What a file and all it is made from hold: code on disk is used while it is the same."""
    digest = hashlib.sha256()
    for text in sources(path).values():
        digest.update(text.encode())
    return digest.hexdigest(), 0


def sources(path: Path) -> dict[Path, str]:
    """A file of this package and all that it imports at its top, directly or not: their texts."""
    texts: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        path = waiting.pop()
        if path not in texts:
            texts[path] = path.read_text(encoding="utf-8")
            waiting.extend(_imported(texts[path]))
    return texts


def _imported(text: str) -> Iterator[Path]:
    """Files that a text imports from this package: a module, or modules of a folder."""
    for module, names in _IMPORT.findall(text):
        place = _PACKAGE.joinpath(*module.split(".")[1:])
        if place.is_dir():
            files = (place / f"{name}.py" for name in re.findall(r"\w+", names))
            yield from (file for file in files if file.is_file())
        else:
            yield place.with_suffix(".py")


@intrinsic
def reals(typing_context, address):
    """Pointer to the float64 values at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), generate


def record_at(dtype: Any) -> Any:
    """A function from an address to the record of a type that is there."""
    record = from_dtype(dtype)

    @intrinsic
    def where(typing_context, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return record(types.int64), generate

    return where


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
def call_at(typing_context, function, t, x, u, p, out):
    """Call the native function at an address with a time and the addresses of four vectors."""

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [pointer] * 5)
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        time = cgutils.alloca_once(builder, ir.DoubleType())
        builder.store(arguments[1], time)
        vectors = [builder.inttoptr(address, pointer) for address in arguments[2:]]
        builder.call(function, [time, *vectors])
        return context.get_dummy_value()

    address = types.int64
    return types.void(address, types.float64, address, address, address, address), generate


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

"""Words that Numba lacks, for loops that work on addresses: pointers, calls, copies, a counter."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

#: Compiled into its callers. Without any flag, so that a lane's bits are the same in every loop.
native = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def cached(function):
    """Compile with a cache on disk, or without where no folder can be written to."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


class unit:
    """A function of one address that is compiled on its own, when its address is first asked for.

    What is compiled into its caller is compiled again with it; what is called by address is not.
    """

    def __init__(self, function: Callable[[int], None]) -> None:
        self.function = function

    @cached_property
    def address(self) -> int:
        """Where its machine code is."""
        signature, options = types.void(types.int64), {"error_model": "numpy"}
        try:
            self.compiled = cfunc(signature, cache=True, **options)(self.function)
        except RuntimeError:
            self.compiled = cfunc(signature, **options)(self.function)
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

"""Sums of vectors with weights that are known when a loop is compiled, four numbers at a time.

Numba would add number by number, and look every weight up. These are parts of a loop, as those of
``native``; products and sums may be fused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WORD, _FOUR = ir.IntType(64), ir.VectorType(ir.DoubleType(), 4)
_CONTRACT = ("contract",)


def weighted_sums(table: Sequence[Mapping[int, float]]) -> Any:
    """Sums Σ_j a_j k_j with weights that are known when the loop is compiled, four at a time.

    Returns a function of (which, K, row, n, out). The weights a_j are those of ``table[which]``, by
    j; vector k_j is at K + 8 j row. It writes n numbers, and up to three more.
    """

    @intrinsic
    def weigh(typing_context, which, K, row, n, out):
        def generate(context, builder, signature, arguments):
            which, K, row, n, out = arguments

            def write(at, total):
                _store(builder, total, out, at)

            _weigh(builder, table, which, K, row, n, write)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return weigh


def weighted_steps(table: Sequence[Mapping[int, float]]) -> Any:
    """States y + h Σ_j a_j k_j, as `weighted_sums`: a function of (which, K, row, n, y, out, h)."""

    @intrinsic
    def weigh(typing_context, which, K, row, n, y, out, h):
        def generate(context, builder, signature, arguments):
            which, K, row, n, y, out, h = arguments
            step = _splat(builder, h)

            def write(at, total):
                change = builder.fmul(step, total, _CONTRACT)
                _store(builder, builder.fadd(_load(builder, y, at), change, _CONTRACT), out, at)

            _weigh(builder, table, which, K, row, n, write)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, types.float64), generate

    return weigh


def _weigh(builder, table, which, K, row, n, write):
    """A case for each row of the table: a loop over four numbers at a time, which are written.

    The last vector is read as one that was written just before: number by number. Numbers that
    leave the processor one by one cannot be read together until they have left it.
    """
    fours = builder.sdiv(builder.add(n, _WORD(3)), _WORD(4))
    after = builder.append_basic_block("weighed")
    cases = builder.switch(which, after)
    for k, weights in enumerate(table):
        block = builder.append_basic_block(f"weigh{k}")
        cases.add_case(_WORD(k), block)
        builder.position_at_end(block)
        places = [builder.add(K, builder.mul(row, _WORD(8 * j))) for j in weights]
        with cgutils.for_range(builder, fours) as loop:
            at = builder.mul(loop.index, _WORD(32))
            total = None
            for place, weight in zip(places, weights.values(), strict=True):
                load = _load if place is not places[-1] else _load_one_by_one
                product = builder.fmul(load(builder, place, at), _FOUR([weight] * 4), _CONTRACT)
                total = product if total is None else builder.fadd(total, product, _CONTRACT)
            write(at, total)
        builder.branch(after)
    builder.position_at_end(after)


def _splat(builder, number):
    """A number four times."""
    vector = builder.insert_element(_FOUR(ir.Undefined), number, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
    return builder.shuffle_vector(vector, _FOUR(ir.Undefined), mask)


def _four_at(builder, address, at):
    return builder.inttoptr(builder.add(address, at), _FOUR.as_pointer())


def _load(builder, address, at):
    """Four numbers that are so many bytes after an address."""
    return builder.load(_four_at(builder, address, at), align=8)


def _load_one_by_one(builder, address, at):
    """The same, by four instructions."""
    four = _FOUR(ir.Undefined)
    for k in range(4):
        place = builder.add(builder.add(address, at), _WORD(8 * k))
        pointer = builder.inttoptr(place, ir.DoubleType().as_pointer())
        number = builder.load_atomic(pointer, "monotonic", 8)  # never joined with the others
        four = builder.insert_element(four, number, ir.IntType(32)(k))
    return four


def _store(builder, four, address, at):
    builder.store(four, _four_at(builder, address, at), align=8)

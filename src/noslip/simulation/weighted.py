"""Sums of vectors with weights, most of them known when a loop is compiled, four numbers at a time.

Numba would add number by number, and look every weight up. These are parts of a loop, as those of
``native``; products and sums may be fused.
"""

from __future__ import annotations

import hashlib
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
            builder.call(_function(builder.module, table, with_step=False), arguments)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return weigh


def weighted_steps(table: Sequence[Mapping[int, float]]) -> Any:
    """States y + h Σ_j a_j k_j, as `weighted_sums`: a function of (which, K, row, n, out, y, h)."""

    @intrinsic
    def weigh(typing_context, which, K, row, n, out, y, h):
        def generate(context, builder, signature, arguments):
            builder.call(_function(builder.module, table, with_step=True), arguments)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, types.float64), generate

    return weigh


def weighted_nodes(count: int) -> Any:
    """Add Σ_j a_j (y_j − y) + h b_j k_j over a count of nodes, four numbers at a time.

    Returns a function of (nodes, size, slopes, n, out, y, a, b, h) which adds that to out. Vector
    y_j is at nodes + 8 j size, k_j at so many slopes after it; a and b are where the weights are.
    """

    @intrinsic
    def weigh(typing_context, nodes, size, slopes, n, out, y, a, b, h):
        def generate(context, builder, signature, arguments):
            builder.call(_nodes_function(builder.module, count), arguments)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8, types.float64), generate

    return weigh


def _nodes_function(module, count):
    """The function of `weighted_nodes`."""
    name = f"noslip_weigh_{count}_nodes"
    if name in module.globals:
        return module.globals[name]
    function = _declared(module, name, [_WORD] * 8 + [ir.DoubleType()])
    builder = ir.IRBuilder(function.append_basic_block("start"))
    nodes, size, slopes, n, out, y, a, b, h = function.args

    def number(address, k):
        place = builder.add(address, _WORD(8 * k))
        return builder.load(builder.inttoptr(place, ir.DoubleType().as_pointer()))

    of_values = [_splat(builder, number(a, j)) for j in range(count)]
    of_slopes = [_splat(builder, builder.fmul(h, number(b, j))) for j in range(count)]
    values = [builder.add(nodes, builder.mul(size, _WORD(8 * j))) for j in range(count)]
    rates = [builder.add(value, builder.mul(slopes, _WORD(8))) for value in values]
    fours = builder.sdiv(builder.add(n, _WORD(3)), _WORD(4))
    with cgutils.for_range(builder, fours) as loop:
        at = builder.mul(loop.index, _WORD(32))
        total, here = _load(builder, out, at), _load(builder, y, at)
        for j in range(count):
            off = builder.fsub(_load(builder, values[j], at), here)
            slope = builder.fmul(of_slopes[j], _load(builder, rates[j], at), _CONTRACT)
            total = builder.fadd(total, slope, _CONTRACT)
            change = builder.fmul(of_values[j], off, _CONTRACT)
            total = builder.fadd(total, change, _CONTRACT)
        _store(builder, total, out, at)
    builder.ret_void()
    return function


def _declared(module, name, given):
    """A function of a module that is not written into others."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), given), name)
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind", "optsize"):
        function.attributes.add(attribute)
    return function


def _function(module, table, with_step):
    """The function, which is not written into others: LLVM would spend seconds on its loops."""
    listed = "; ".join(",".join(f"{j}:{a!r}" for j, a in row.items()) for row in table)
    digest = hashlib.sha256(f"{with_step} {listed}".encode()).hexdigest()[:16]
    name = f"noslip_weigh_{digest}"
    if name in module.globals:
        return module.globals[name]
    given = [_WORD] * 5 + ([_WORD, ir.DoubleType()] if with_step else [])
    function = _declared(module, name, given)
    builder = ir.IRBuilder(function.append_basic_block("start"))
    which, K, row, n, out, *more = function.args
    step = _splat(builder, more[1]) if with_step else None
    fours = builder.sdiv(builder.add(n, _WORD(3)), _WORD(4))
    after = function.append_basic_block("weighed")
    cases = builder.switch(which, after)
    for k, weights in enumerate(table):
        block = function.append_basic_block(f"weigh{k}")
        cases.add_case(_WORD(k), block)
        builder.position_at_end(block)
        places = [builder.add(K, builder.mul(row, _WORD(8 * j))) for j in weights]
        with cgutils.for_range(builder, fours) as loop:
            at = builder.mul(loop.index, _WORD(32))
            total = None
            for place, weight in zip(places, weights.values(), strict=True):
                # the last vector was written just before, number by number: until they have left
                # the processor such numbers cannot be read together
                load = _load if place is not places[-1] else _load_one_by_one
                product = builder.fmul(load(builder, place, at), _FOUR([weight] * 4), _CONTRACT)
                total = product if total is None else builder.fadd(total, product, _CONTRACT)
            if with_step:
                change = builder.fmul(step, total, _CONTRACT)
                total = builder.fadd(_load(builder, more[0], at), change, _CONTRACT)
            _store(builder, total, out, at)
        builder.branch(after)
    builder.position_at_end(after)
    builder.ret_void()
    return function


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

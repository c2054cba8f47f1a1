"""Lowering of lookups: splines over grids and rows of tables as arithmetic on table entries.

With ξ = (x − x₀)/step in the cell a = ⌊ξ⌋, s = ξ − a, and likewise b and r along y,

    (1)  h_ij = step⁻ⁱ⁻ʲ Σ_l B_lj(r) Σ_k B_ki(s) c[b + l, a + k],   k, l = 0 … 5

where B_ki are polynomials (`grid_spline.cell_weights`). All Taylor coefficients at one place share
the 36 entries, the powers of s and r and the inner sums. The only operation that reads memory is
``gather``: the entry at a place, a whole number as a double, and so many behind it. The cell is
held within the grid, also where x is nan, so that no other memory is read.

The row k of a table with 2ⁿ starts is found by halves, its last entry by one ``gather`` each:

    (2)  k ← k + 2ⁱ  if  start[k + 2ⁱ] ≤ p,   i = n − 1 … 0
"""

from __future__ import annotations

import functools

from noslip.algebra import DEGREE, GridSpline, StepTable, cell_weights, numbered_table
from noslip.engines.program import Program, ProgramBuilder


def lower_lookups(program: Program) -> Program:
    """The same outputs with splines and rows written by means of table entries."""
    if all(operation.kind not in ("spline", "row") for operation in program.operations):
        return program
    builder = ProgramBuilder()
    place = [builder.new("input") for _ in range(sum(program.input_sizes))]
    place += [builder.constant(number) for number in program.constants]
    first = sum(program.input_sizes)
    for kind, operands in program.operations:
        given = [place[k] for k in operands]
        if kind == "spline":
            i, j, number = (int(program.constants[k - first]) for k in operands[2:])
            table = numbered_table(number)
            assert isinstance(table, GridSpline)
            made = _lowered(builder, table, given, (i, j))
        elif kind == "row":
            column, number = (int(program.constants[k - first]) for k in operands[1:])
            table = numbered_table(number)
            assert isinstance(table, StepTable)
            made = _entry(builder, table, given[0], column)
        else:
            made = builder.make(kind, *given)
        place.append(made)
    return builder.program(
        program.name, list(program.input_sizes), [place[k] for k in program.outputs]
    )


def _lowered(
    builder: ProgramBuilder, spline: GridSpline, operands: list[int], orders: tuple[int, int]
) -> int:
    """The value of a Taylor coefficient by (1)."""
    make, number = builder.make, builder.constant
    weights, cells = [], []
    for place, start, count, order in zip(
        operands[:2], spline.origin, spline.num_cells, orders, strict=True
    ):
        steps = make("div", make("sub", place, number(start)), number(spline.step))
        cell = make("max", make("floor", steps), number(0.0))
        cell = make("min", cell, number(float(count - 1)))
        s = make("sub", steps, cell)
        powers = [number(1.0), s]
        for k in range(2, DEGREE + 1 - order):
            powers.append(make("mul", powers[k // 2], powers[k - k // 2]))
        own = cell_weights(order) / spline.step**order
        weights.append([_sum(builder, [number(float(w)) for w in row], powers) for row in own])
        cells.append(cell)
    columns = spline.coefficients.shape[1]
    at = make("add", make("mul", cells[1], number(float(columns))), cells[0])
    table = number(float(spline.number))
    across = []
    for row in range(DEGREE + 1):
        behind = [number(float(row * columns + k)) for k in range(DEGREE + 1)]
        entries = [make("gather", at, shift, table) for shift in behind]
        across.append(_sum(builder, weights[0], entries))
    return _sum(builder, weights[1], across)


def _entry(builder: ProgramBuilder, table: StepTable, p: int, column: int) -> int:
    """A column of the row that holds at p, by (2)."""
    make, number = builder.make, builder.constant
    own, k = number(float(table.number)), number(0.0)
    half = table.num_starts // 2
    while half:
        start = make("gather", k, number(float(half)), own)
        k = make("if_else", make("le", start, p), make("add", k, number(float(half))), k)
        half //= 2
    first = make("mul", k, number(float(table.num_columns)))
    return make("gather", first, number(float(table.num_starts + column)), own)


def _sum(builder: ProgramBuilder, a: list[int], b: list[int]) -> int:
    """Σ a_k b_k."""
    products = [builder.make("mul", *pair) for pair in zip(a, b, strict=False)]
    return functools.reduce(lambda x, y: builder.make("add", x, y), products)

"""Optimized programs: the same values, no more operations, and shorter chains."""

from collections import Counter
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from noslip.engines import Program, trace_program
from noslip.engines.optimization import FUSED, LATENCIES, SUMS, optimize, schedule
from noslip.engines.program import apply, interpret_rows

EMPTY = ca.SX(0, 1)
ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
}


def traced(x: ca.SX, *outputs: ca.SX) -> Program:
    return trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.vertcat(*outputs))


def exact(program: Program, given: list[Fraction]) -> list[Fraction]:
    """Outputs without rounding; other functions than arithmetic take and give doubles."""
    values = [*given, *map(Fraction, program.constants)]
    for kind, operands in program.operations:
        numbers = [values[i] for i in operands]
        if kind in ARITHMETIC:
            values.append(ARITHMETIC[kind](*numbers))
        else:
            values.append(Fraction(apply(kind, [float(number) for number in numbers])))
    return [values[i] for i in program.outputs]


def cycles(program: Program) -> int:
    """Cycles of the longest chain; a sum takes up a product that is used once."""
    given, operations = program.num_given, program.operations
    uses = Counter(i for operation in operations for i in operation.operands)
    uses.update(program.outputs)
    once = {i for i, count in uses.items() if count == 1}
    ready = [0] * given
    for kind, operands in operations:
        times = [ready[i] for i in operands]
        if kind in SUMS:
            products = [
                k
                for k, i in enumerate(operands)
                if i in once and i >= given and operations[i - given].kind == "mul"
            ]
            if products:
                times[max(products, key=times.__getitem__)] -= FUSED
        ready.append(max(times) + LATENCIES.get(kind, FUSED))
    return max(ready[i] for i in program.outputs)


@pytest.mark.parametrize("name", ["rolling-disk", "agv", "manipulator-3r", "heavy-body"])
@pytest.mark.parametrize("order", [True, False])
def test_values_are_the_same_without_rounding(system_of, rng, name: str, order: bool) -> None:
    system = system_of(name)
    program = system.program("rates", system.rates_expression)
    # rational functions: what else there is gets the same doubles in both programs
    rational = not {"sqrt", "min", "abs", "if_else"} & program.count().keys()
    given = [Fraction(float(v)) for v in rng.normal(size=sum(program.input_sizes))]
    result = optimize(program, is_scheduled=order)
    pairs = zip(exact(program, given), exact(result, given), strict=True)
    for before, after in pairs:
        if rational:
            assert before == after
        else:
            assert float(after) == pytest.approx(float(before), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(
    "name", ["rolling-disk", "agv", "tricycle", "lhd", "whipple-bicycle", "manipulator-6r"]
)
def test_optimized_programs_are_no_longer_and_wait_less(system_of, rng, name: str) -> None:
    system = system_of(name)
    program = system.program("rates", system.rates_expression)
    result = optimize(program)
    assert result.num_operations <= program.num_operations
    assert cycles(result) < cycles(program)
    rows = (
        np.zeros(3),
        rng.normal(size=(3, system.num_states)),
        rng.normal(size=(3, len(system.inputs))),
        system.parameters(),
    )
    expected = interpret_rows(program, *rows)
    np.testing.assert_allclose(interpret_rows(result, *rows), expected, rtol=1e-9, atol=1e-9)


def test_a_sum_of_values_known_at_once_is_made_by_pairs() -> None:
    x = ca.SX.sym("x", 8)
    program = traced(x, sum((x[k] for k in range(1, 8)), start=x[0]))
    assert cycles(program) == 7 * FUSED
    result = optimize(program)
    assert cycles(result) == 3 * FUSED
    assert result.num_operations == 7


def test_a_common_factor_is_multiplied_once() -> None:
    x = ca.SX.sym("x", 7)
    sum_of_products = x[0] * x[1] * x[2] - x[0] * x[3] * x[4] + x[5]
    result = optimize(traced(x, sum_of_products))
    assert result.count()["mul"] == 3
    given = [Fraction(k * k - 3, 7) for k in range(7)]
    assert exact(result, given) == exact(traced(x, sum_of_products), given)


def test_a_common_factor_stays_where_the_sum_would_be_late() -> None:
    x = ca.SX.sym("x", 4)
    late = ca.sqrt(x[3])
    result = optimize(traced(x, x[0] * x[1] + x[0] * late))
    assert result.count() == {"mul": 2, "add": 1, "sqrt": 1}
    assert cycles(result) == LATENCIES["sqrt"] + FUSED


def test_negative_sums_keep_their_sign() -> None:
    x = ca.SX.sym("x", 4)
    program = traced(x, -(x[0] + x[1]) - x[2] - x[3], x[3] - (x[0] - (x[1] - x[2])))
    given = [Fraction(k + 1, 3) for k in range(4)]
    assert exact(optimize(program), given) == exact(program, given)


def test_the_longest_chain_comes_first() -> None:
    x = ca.SX.sym("x", 2)
    program = traced(x, x[0] + 1.0, x[0] * x[1], ca.sqrt(ca.sin(x[1])))
    kinds = [operation.kind for operation in schedule(program).operations]
    assert kinds[0] == "sin"
    assert sorted(kinds) == sorted(operation.kind for operation in program.operations)


def test_very_long_sums_and_products_are_optimized_too() -> None:
    x = ca.SX.sym("x", 4000)
    total, product = x[0] * x[1], x[0]
    for k in range(1, 4000):
        total = total + x[k] * x[0]
        product = product * x[k]
    result = optimize(traced(x, total, product), is_scheduled=False)
    assert cycles(result) <= 14 * FUSED

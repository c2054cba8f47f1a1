"""Loops in long programs: what is found, and that they compute what the list of operations does."""

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from chains import chain, train
from newton_euler import NewtonEuler
from states import admissible_states

import noslip as ns
from noslip.engines import Program, compile_native, compile_wide, llvm, trace_program
from noslip.engines.optimization import PartedProgram, cut
from noslip.engines.program import interpret_rows

EMPTY = ca.SX(0, 1)
STEPS = 60


def loops_of(parted: PartedProgram) -> list[int]:
    """Iterations of all parts that have operations and are done more than once."""
    return [part.count for part in parted.parts if part.count > 1 and part.body.operations]


def assert_same(program: Program, rng: np.random.Generator, lanes: int, tolerance: float) -> None:
    """Compiled code and interpreted operations agree, relative to the largest output of a row."""
    inputs = [rng.uniform(-0.5, 0.5, size=(5, size)) for size in program.input_sizes]
    compiled = compile_native([program]) if lanes == 1 else compile_wide([program], lanes)
    found = compiled[program.name].map(*inputs)
    right = interpret_rows(program, *inputs)
    scale = np.max(np.abs(right), axis=1, keepdims=True)
    np.testing.assert_allclose(found / scale, right / scale, rtol=0, atol=tolerance)


@pytest.fixture(autouse=True)
def every_program_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "LONGEST_WHOLE", 100)


def carried(x: ca.SX, p: ca.SX) -> list[ca.SX]:
    """A recursion: every step takes the last one's result."""
    value, found = ca.SX(0.3), []
    for k in range(STEPS):
        value = ca.sin(value + x[k]) * p[0] + ca.cos(x[k])
        found.append(value)
    return found


def from_two_before(x: ca.SX, p: ca.SX) -> list[ca.SX]:
    """A recursion over two steps."""
    found = [x[0], x[1]]
    for k in range(2, STEPS):
        found.append(ca.sin(found[-1]) * x[k] + p[1] * found[-2])
    return found


def there_and_back(x: ca.SX, p: ca.SX) -> list[ca.SX]:
    """A recursion forward, and one backward over its results, as of a chain's dynamics."""
    forward = carried(x, p)
    back, found = ca.SX(0), []
    for k in reversed(range(STEPS)):
        back = back * ca.sqrt(1 + forward[k] ** 2) - p[2] * x[k]
        found.append(back)
    return [*found[::-1], forward[-1]]


def with_constants(x: ca.SX, p: ca.SX) -> list[ca.SX]:
    """A recursion with other numbers at every step."""
    value, found = ca.SX(1), []
    for k in range(STEPS):
        value = 0.5 * ca.tanh(value) + (1.7 + k**0.5) * x[k] / (3.3 + k)
        found.append(value)
    return found


def in_disorder(x: ca.SX, p: ca.SX) -> list[ca.SX]:
    """Steps that take inputs and earlier results in no order."""
    order = np.random.default_rng(3).permutation(STEPS)
    first = [ca.sin(x[k]) * ca.cos(x[k] + p[0]) + ca.exp(x[k] * p[1]) for k in range(STEPS)]
    sums = [
        ca.atan(first[i] + x[k]) * first[k]
        - ca.sqrt(2 + x[i]) * ca.sinh(x[k])
        + ca.erf(p[2] * x[k])
        for k, i in enumerate(order)
    ]
    return [*first, *sums]


def from_mixed_places(x: ca.SX, p: ca.SX) -> list[ca.SX]:
    """Steps that take an input, a constant or a result in turn; some results at two places."""
    made = [ca.sin(x[k]) + 2.0 * ca.cos(x[k]) for k in range(STEPS)]
    taken = [(x[k], p[k % 3], made[k - 1], ca.SX(0.7 + k))[k % 4] for k in range(STEPS)]
    found = [ca.sinh(made[k]) * taken[k] + ca.erf(taken[k] + x[k]) for k in range(STEPS)]
    return [*found, found[7], x[3], made[11], ca.SX(4.5)]


RECURSIONS = [
    *(carried, from_two_before, there_and_back, with_constants, in_disorder, from_mixed_places)
]


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("recursion", RECURSIONS, ids=lambda r: r.__name__)
def test_loops_compute_what_the_operations_do(
    recursion: Callable[[ca.SX, ca.SX], list[ca.SX]], lanes: int, rng: np.random.Generator
) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", STEPS), ca.SX.sym("p", 3)
    program = trace_program("f", [t, x, EMPTY, p], ca.vertcat(*recursion(x, p)))
    assert loops_of(cut(program))
    assert_same(program, rng, lanes, 1e-13)


@pytest.mark.parametrize("build", [chain, train])
def test_recursions_along_a_mechanism_are_loops(
    build: Callable[[int], ns.Model], rng: np.random.Generator
) -> None:
    system = ns.System(equations=ns.derive(build(40)))
    program = system.program("rates", system.rates_expression)
    parted = cut(program)
    printed = sum(part.body.num_operations for part in parted.parts)
    assert len(loops_of(parted)) >= 3
    assert printed < program.num_operations / 2
    # rounding of 40 bodies in a row, as straight-line code has it too
    assert_same(program, rng, 1, 1e-9)
    assert_same(program, rng, 4, 1e-9)


def test_loops_along_a_chain_and_newton_euler(rng: np.random.Generator) -> None:
    system = ns.System(equations=ns.derive(chain(24)))
    program = system.program("rates", system.rates_expression)
    assert loops_of(cut(program))
    rates, oracle = compile_native([program])["rates"], NewtonEuler(system.model)
    for state in admissible_states(system.equations, rng, 3):
        x = np.concatenate([state.q, state.eta])
        found = rates(state.t, x, [], [])[24:]
        expected = oracle.at(state).speed_rates
        # 24 bodies in a row, relative to the largest rate
        assert found == pytest.approx(expected, abs=1e-10 * np.max(np.abs(expected)))


def test_twice_the_joints_are_hardly_more_code() -> None:
    printed = []
    for num in (60, 120):
        system = ns.System(equations=ns.derive(chain(num)))
        parted = cut(system.program("rates", system.rates_expression))
        printed.append(sum(part.body.num_operations for part in parted.parts))
    # as many loops; they may give up a few iterations more
    assert printed[1] < 1.25 * printed[0]

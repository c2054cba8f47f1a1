"""Native code against the interpreter and against CasADi's own evaluation."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noslip import CompileError
from noslip.engines import (
    NativeFunction,
    Operation,
    Program,
    compile_native,
    llvm,
    optimization,
    trace_program,
)
from noslip.engines.llvm import print_llvm
from noslip.engines.machine_code import machine_code, require_symbols
from noslip.engines.optimization import reassociate
from noslip.engines.program import CASADI_KINDS, interpret, interpret_rows

# Two C libraries may differ in the last digits of one operation.
ONE_OPERATION = 1e-14
# Native sums are regrouped and fused; well-conditioned programs still agree this closely.
MANY = {"rtol": 1e-10, "atol": 1e-10}

SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 2.0, 1e-310, 1e300, 800.0]
)
EMPTY = ca.SX(0, 1)


def native(program: Program) -> NativeFunction:
    return compile_native([program])[program.name]


def chain(num_joints: int) -> tuple[Program, ca.Function]:
    """Position and speed of the tip of an arm in space, and their dependence on the state."""
    t, u = ca.SX.sym("t"), ca.SX.sym("u", num_joints)
    x, p = ca.SX.sym("x", 2 * num_joints), ca.SX.sym("p", num_joints)
    rotation, tip = ca.SX.eye(3), ca.SX(3, 1)
    for k in range(num_joints):
        c, s = ca.cos(x[k] + t * u[k]), ca.sin(x[k] + t * u[k])
        about_x = ca.blockcat([[1, 0, 0], [0, c, -s], [0, s, c]])
        about_z = ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        rotation = rotation @ (about_x if k % 2 else about_z)
        tip += rotation @ ca.vertcat(p[k], 0, 0.1)
    speed = ca.jtimes(tip, x[:num_joints], x[num_joints:])
    output = ca.vertcat(tip, speed, ca.vec(ca.jacobian(speed, x)))
    inputs = [t, x, u, p]
    return trace_program("chain", inputs, output), ca.Function("chain", inputs, [output])


def chain_inputs(program: Program, num_rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=(num_rows, size)) for size in program.input_sizes[1:]]
    return [rng.normal(size=num_rows), *tables]


def operation(code: int) -> tuple[Program, ca.Function]:
    """One operation by its code in CasADi; those of one operand leave the other unused."""
    x = ca.SX.sym("x", 2)
    value = ca.SX.binary(code, x[0], x[1])
    return trace_program(str(code), [EMPTY, x, EMPTY, EMPTY], value), ca.Function("f", [x], [value])


@pytest.fixture(scope="module")
def functions() -> dict[str, NativeFunction]:
    """Every operation, compiled in one module."""
    return compile_native(operation(code)[0] for code in CASADI_KINDS)


@pytest.mark.parametrize("code", CASADI_KINDS, ids=[f"{k}-{v}" for k, v in CASADI_KINDS.items()])
def test_operation_and_interpreter_and_casadi(functions: dict, code: int) -> None:
    program, function = operation(code)
    values = np.concatenate([SPECIAL, np.random.default_rng(3).normal(scale=2.0, size=6)])
    pairs = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    times, inputs = np.zeros(len(pairs)), np.empty((len(pairs), 0))
    computed = functions[str(code)].map(times, pairs, inputs, [])
    interpreted = interpret_rows(program, times, pairs, inputs, [])
    np.testing.assert_allclose(computed, interpreted, rtol=ONE_OPERATION, atol=0)
    np.testing.assert_allclose(computed, np.array(function(pairs.T)).T, rtol=ONE_OPERATION, atol=0)


def test_choice_sign_and_logic_natively() -> None:
    x = ca.SX.sym("x", 3)
    value = ca.vertcat(
        ca.if_else(x[0], x[1], x[2]),
        ca.if_else(ca.logic_and(x[0] < x[1], ca.logic_not(x[2])), ca.sign(x[0]), x[1]),
        ca.if_else(ca.logic_or(x[0] == x[1], x[2] != x[1]), -x[0], ca.fabs(x[2])),
    )
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)
    rows = np.stack(np.meshgrid(SPECIAL, SPECIAL, SPECIAL), axis=-1).reshape(-1, 3)
    times, inputs = np.zeros(len(rows)), np.empty((len(rows), 0))
    computed = native(program).map(times, rows, inputs, [])
    np.testing.assert_array_equal(computed, interpret_rows(program, times, rows, inputs, []))
    np.testing.assert_array_equal(computed, np.array(ca.Function("f", [x], [value])(rows.T)).T)


# Maps of [-3, 3]² into [-3, 3] that do not amplify errors, so that all targets must agree.
SMOOTH = [
    lambda a, b: (a + b) / 2,
    lambda a, b: (a - b) / 2,
    lambda a, b: a * b / 6,
    lambda a, b: a / (2 + b * b),
    lambda a, b: ca.sin(a) * ca.cos(b),
    lambda a, b: (ca.sin(a) + ca.cos(a)) / 2,
    lambda a, b: ca.atan2(a, 2 + ca.fabs(b)),
    lambda a, b: (ca.sqrt(1 + a * a) - ca.tanh(b)) / 2,
    lambda a, b: ca.fmin(a, b) / 2 - ca.fmax(a, -b) / 2,
    lambda a, b: ca.log1p(ca.exp(-a)) / 2 - ca.erf(b) / 2,
    lambda a, b: (2 + a * a / 9) ** (b / 3) / 2,
    lambda a, b: ca.hypot(a, b) / 2,
    lambda a, b: -a,
]
STEPS = st.lists(
    st.tuples(st.sampled_from(SMOOTH), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=40,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2**32 - 1))
def test_random_programs_and_casadi(steps: list, seed: int) -> None:
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("u", 2), ca.SX.sym("p", 1)
    values = [ca.SX(0.75), *ca.vertsplit(ca.vertcat(t, x, u, p))]
    for combine, i, j in steps:
        values.append(combine(values[i % len(values)], values[-1 - j % len(values)]))
    output = ca.vertcat(*values[-8:])
    program = trace_program("f", [t, x, u, p], output)
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-3, 3, size=size) for size in program.input_sizes]
    by_casadi = np.array(ca.Function("f", [t, x, u, p], [output])(*inputs)).ravel()
    np.testing.assert_allclose(interpret(program, *inputs), by_casadi, **MANY)
    np.testing.assert_allclose(native(program)(*inputs), by_casadi, **MANY)


@pytest.mark.parametrize("longest_part", [1, 7, 100])
def test_parts_and_whole(monkeypatch: pytest.MonkeyPatch, longest_part: int) -> None:
    program, _ = chain(3)
    inputs = chain_inputs(program, 5)
    whole = native(program).map(*inputs)
    monkeypatch.setattr(llvm, "LONGEST_WHOLE", longest_part)
    monkeypatch.setattr(optimization, "LONGEST_PART", longest_part)
    monkeypatch.setattr(optimization, "FEWEST_ITERATIONS", 10**9)
    assert (
        f"@program0_part{(reassociate(program).num_operations - 1) // longest_part}("
        in print_llvm([program])
    )
    in_parts = native(program).map(*inputs)
    np.testing.assert_allclose(in_parts, whole, **MANY)


def test_workspace_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # each value is read once, by the next operation
    x = ca.SX.sym("x")
    value = x
    for _ in range(100):
        value = ca.sin(value)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)
    monkeypatch.setattr(llvm, "LONGEST_WHOLE", 10)
    monkeypatch.setattr(optimization, "LONGEST_PART", 10)
    monkeypatch.setattr(optimization, "FEWEST_ITERATIONS", 10**9)
    assert "%w = alloca [2 x double]" in print_llvm([program])
    np.testing.assert_allclose(
        native(program)([], [1.0], [], []), interpret(program, [], [1.0], [], [])
    )


def test_constants_keep_all_their_bits() -> None:
    numbers = [0.1, -0.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan, 1 / 3]
    function = native(trace_program("f", [EMPTY] * 4, ca.vertcat(*map(ca.SX, numbers))))
    np.testing.assert_array_equal(function([], [], [], []), numbers)


def test_empty_inputs_and_outputs() -> None:
    programs = [
        trace_program("constant", [EMPTY] * 4, ca.SX(4.0)),
        trace_program("nothing", [EMPTY] * 4, EMPTY),
    ]
    compiled = compile_native(programs)
    assert compiled["constant"]([], [], [], []).tolist() == [4.0]
    assert compiled["nothing"]([], [], [], []).shape == (0,)
    none = np.empty((3, 0))
    assert compiled["constant"].map(np.zeros(3), none, none, []).tolist() == [[4.0]] * 3
    assert compiled["nothing"].map(np.zeros(3), none, none, []).shape == (3, 0)


def test_nan_and_infinity_are_kept() -> None:
    x = ca.SX.sym("x", 2)
    difference = x[0] - x[1]
    is_number = ca.if_else(ca.fmax(difference, difference * 2) <= difference, 1, 0)
    value = ca.vertcat(x[0] + x[1], difference, x[0] * x[1], x[0] / x[1], is_number)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)
    assert not any(flag in print_llvm([program]) for flag in ("nnan", "ninf", "fast"))
    out = native(program)([], [np.inf, np.inf], [], [])
    np.testing.assert_array_equal(out, [np.inf, np.nan, np.inf, np.nan, 0.0])


def test_any_name_is_taken() -> None:
    x = ca.SX.sym("x")
    for name in ("sin", "rates of 'arm\"", "η̇"):
        program = trace_program(name, [EMPTY, x, EMPTY, EMPTY], ca.sin(x))
        assert native(program)([], [0.5], [], []) == pytest.approx([np.sin(0.5)])


def test_repeated_names_are_refused() -> None:
    program, _ = chain(1)
    with pytest.raises(ValueError, match="programs need different names, got chain, chain"):
        compile_native([program, program])


def test_missing_library_function_is_refused() -> None:
    with pytest.raises(CompileError) as caught:
        require_symbols(["sin", "no_such_function"])
    assert caught.value.what == "the C library has no function no_such_function"
    assert caught.value.where == "linking of native code"
    assert caught.value.fix == "write the expression without it"


#: A part of a loop on wheels, with the cosines and sines of a fixed turn and their negatives. Where
#: LLVM may regroup sums, it takes a product up into two of them and the result is another.
TURNED_TWICE = """mul 9 27, mul 8 26, add 34 35, mul 28 10, sub 37 36, add 38 7, mul 11 39,
    mul 40 18, sub 19 41, mul 40 6, add 12 43, add 42 17, add 44 5, add 45 16, sub 13 46, mul 14 48,
    add 49 4, div 50 3, mul 15 51, add 47 52, mul 20 53, add 21 54, div 55 2, mul 22 56, sub 23 57,
    add 58 1, div 59 0, mul 9 32, mul 8 31, add 61 62, mul 30 10, sub 63 64, add 11 65, mul 33 66,
    mul 67 24, add 25 68, mul 29 60, sub 69 70"""


def test_sums_of_products_with_opposite_factors(rng):
    words = [line.split() for line in TURNED_TWICE.split(",")]
    program = Program(
        name="f",
        input_sizes=(0, 26, 0, 0),
        constants=(0.975, -0.199, 0.098, 0.5, -0.098, -0.975, 0.199, 0.09),
        operations=tuple(Operation(kind, (int(a), int(b))) for kind, a, b in words),
        outputs=(71,),
    )
    # as it is, without another arrangement
    engine = machine_code(print_llvm([program]))
    function = NativeFunction.of("f", engine, "program0", program.input_sizes, 1)
    for _ in range(20):
        x = rng.uniform(0.5, 1.5, size=26)
        expected = interpret(program, [], x, [], [])
        assert function([], x, [], []) == pytest.approx(expected, rel=1e-9, abs=1e-9)

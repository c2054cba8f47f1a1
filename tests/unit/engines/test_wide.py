"""Wide code against the interpreter and scalar code; its elementary functions against mpmath."""

from __future__ import annotations

import itertools
import math
import re

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import noslip as ns
from noslip.engines import llvm
from noslip.engines.interpreter import interpret_rows
from noslip.engines.lanes import Writer
from noslip.engines.llvm import compile_native, print_llvm
from noslip.engines.program import CASADI_KINDS, Operation, Program, trace_program
from noslip.engines.vector_math import FAR, HALF_PI, LOG_2
from noslip.engines.wide import WideFunction, compile_wide, native_lanes, pack
from noslip.engines.width import Lanes

# Two C libraries may differ in the last digits of one operation.
ONE_OPERATION = 1e-14
# Sums are regrouped and fused; well-conditioned programs still agree this closely.
MANY = {"rtol": 1e-10, "atol": 1e-10}
EMPTY = ca.SX(0, 1)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 2.0, 1e-310, 1e300, 800.0]
)


def operation(code: int) -> Program:
    x = ca.SX.sym("x", 2)
    return trace_program(str(code), [EMPTY, x, EMPTY, EMPTY], ca.SX.binary(code, x[0], x[1]))


def function_of(kind: str, lanes: int = 8) -> WideFunction:
    x = ca.SX.sym("x")
    program = trace_program(kind, [EMPTY, x, EMPTY, EMPTY], getattr(ca, kind)(x))
    return compile_wide([program], lanes)[kind]


def values(function: WideFunction, columns: np.ndarray) -> np.ndarray:
    rows = columns.reshape(len(columns), -1)
    return function.map(np.zeros(len(rows)), rows, np.empty((len(rows), 0)), [])[:, 0]


# every operation


@pytest.fixture(scope="module", params=[1, 4, 8])
def functions(request: pytest.FixtureRequest) -> dict[str, WideFunction]:
    """Every operation, compiled in one module."""
    return compile_wide((operation(code) for code in CASADI_KINDS), request.param)


@pytest.mark.parametrize("code", CASADI_KINDS, ids=[f"{k}-{v}" for k, v in CASADI_KINDS.items()])
def test_wide_operation_and_interpreter(functions: dict, code: int) -> None:
    numbers = np.concatenate([SPECIAL, np.random.default_rng(3).normal(scale=2.0, size=6)])
    pairs = np.stack(np.meshgrid(numbers, numbers), axis=-1).reshape(-1, 2)
    times, inputs = np.zeros(len(pairs)), np.empty((len(pairs), 0))
    computed = functions[str(code)].map(times, pairs, inputs, [])
    interpreted = interpret_rows(operation(code), times, pairs, inputs, [])
    np.testing.assert_allclose(computed, interpreted, rtol=ONE_OPERATION, atol=0)


@pytest.mark.parametrize(
    "kind", ["sin", "tan", "asin", "atan", "sinh", "tanh", "expm1", "cos", "exp", "log"]
)
def test_signs_of_zero_and_nan(kind: str) -> None:
    numbers = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e-300, -1e-300])
    with np.errstate(all="ignore"):
        expected = getattr(np, {"asin": "arcsin", "atan": "arctan"}.get(kind, kind))(numbers)
    computed = values(function_of(kind), numbers)
    np.testing.assert_array_equal(computed, expected)
    is_number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(computed[is_number]), np.signbit(expected[is_number]))


def test_angles_of_all_special_points() -> None:
    numbers = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e-308])
    pairs = np.array(list(itertools.product(numbers, numbers)))
    x = ca.SX.sym("x", 2)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.atan2(x[0], x[1]))
    computed = values(compile_wide([program], 8)["f"], pairs)
    expected = np.arctan2(pairs[:, 0], pairs[:, 1])
    np.testing.assert_allclose(computed, expected, rtol=2.3e-16, atol=0)
    assert np.array_equal(np.signbit(computed), np.signbit(expected))


# errors in units in the last place


def ulps(computed: np.ndarray, exact: list[mp.mpf]) -> np.ndarray:
    """Errors in units in the last place of the true values."""
    errors = []
    for value, truth in zip(computed, exact, strict=True):
        exponent = max(int(mp.floor(mp.log(abs(truth), 2))) if truth else -1074, -1022)
        errors.append(float(abs(mp.mpf(float(value)) - truth) / mp.mpf(2) ** (exponent - 52)))
    return np.array(errors)


def both_signs(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([sizes, -sizes])


COUNT = 250
WORST_ANGLE = 6381956970095103 * 2.0**797  # of all doubles the nearest to a multiple of π/2


def nearly_quarter_turns() -> list[float]:
    """Doubles up to FAR that are nearer to a multiple of π/2 than others of their size.

    A double is m 2^k with m < 2⁵³. The best m are denominators of the continued fraction of
    2^k (2/π).
    """
    found = []
    with mp.workprec(400):
        for k in range(-52, -12):
            rest = mp.mpf(2) ** k * 2 / mp.pi
            before, m = 0, 1
            while m < 2**53:
                found.append(m * 2.0**k)
                rest = 1 / (rest - mp.floor(rest))
                before, m = m, int(mp.floor(rest)) * m + before
    return [angle for angle in found if 1.0 < angle <= FAR]


def angles(rng: np.random.Generator) -> np.ndarray:
    """Angles of all sizes, many of them as near to multiples of π/2 as doubles come."""
    turns = np.round(np.exp(rng.uniform(0.0, 26.0, COUNT)))
    return np.concatenate(
        [
            both_signs(rng.uniform(0.0, 10.0, COUNT)),
            both_signs(np.exp(rng.uniform(-30.0, 27.0, COUNT))),
            np.arange(1, 100) * np.pi / 2,
            turns * np.pi / 2,
            both_signs(np.array(nearly_quarter_turns())),
            [FAR],
        ]
    )


def near_one(rng: np.random.Generator) -> np.ndarray:
    return 1.0 - np.exp(rng.uniform(-36.0, -2.0, COUNT))


ARGUMENTS = {
    "sin": angles,
    "cos": angles,
    "tan": angles,
    "exp": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 1.0, COUNT)),
            both_signs(rng.uniform(0.0, 709.0, COUNT)),
            rng.uniform(-745.0, -705.0, COUNT),
        ]
    ),
    "expm1": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 1.0, COUNT)),
            both_signs(np.exp(rng.uniform(-60.0, 6.5, COUNT))),
        ]
    ),
    "log": lambda rng: np.concatenate(
        [
            np.exp(rng.uniform(-709.0, 709.0, COUNT)),
            rng.uniform(0.5, 2.0, COUNT),
            1.0 + both_signs(np.exp(rng.uniform(-36.0, -2.0, COUNT))),
            [5e-324, 1e-310, 2.2e-308, 1.79e308],
        ]
    ),
    "atan": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 5.0, COUNT)),
            both_signs(np.exp(rng.uniform(-700.0, 700.0, COUNT))),
        ]
    ),
    "asin": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 1.0, COUNT)),
            both_signs(np.exp(rng.uniform(-700.0, 0.0, COUNT))),
            near_one(rng),
        ]
    ),
    "acos": lambda rng: np.concatenate(
        [both_signs(rng.uniform(0.0, 1.0, COUNT)), both_signs(near_one(rng))]
    ),
    **dict.fromkeys(
        ("sinh", "cosh", "tanh"),
        lambda rng: np.concatenate(
            [
                both_signs(rng.uniform(0.0, 2.0, COUNT)),
                both_signs(np.exp(rng.uniform(-60.0, 6.55, COUNT))),
            ]
        ),
    ),
}
LIMITS = dict.fromkeys(ARGUMENTS, 1.0) | dict.fromkeys(("asin", "acos", "sinh", "cosh"), 1.5)


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_errors_in_the_last_place(kind: str, rng: np.random.Generator) -> None:
    arguments = ARGUMENTS[kind](rng)
    computed = values(function_of(kind), arguments)
    with mp.workprec(1300):
        exact = [getattr(mp, kind)(mp.mpf(float(x))) for x in arguments]
        assert np.max(ulps(computed, exact)) < LIMITS[kind]


@pytest.mark.parametrize("kind", ["sin", "cos", "tan"])
@pytest.mark.parametrize("lanes", [1, 8])
def test_far_angles_are_those_of_the_c_library(kind: str, lanes: int, rng) -> None:
    far = both_signs(np.exp(rng.uniform(27.8, 709.0, COUNT)))
    near = rng.uniform(-10.0, 10.0, COUNT)
    ends = [np.nextafter(FAR, np.inf), WORST_ANGLE, np.finfo(float).max]
    numbers = np.concatenate([far, ends])
    expected = [getattr(math, kind)(x) for x in numbers]
    function = function_of(kind, lanes)
    np.testing.assert_array_equal(values(function, numbers), expected)
    # near ones beside them are as they are by themselves
    mixed = values(function, np.stack([far[:COUNT], near], axis=1).ravel())
    np.testing.assert_array_equal(mixed[1::2], values(function, near))


def test_errors_of_angles_in_the_last_place(rng: np.random.Generator) -> None:
    exponents = rng.uniform(-300.0, 300.0, (COUNT, 1)) + rng.uniform(-3.0, 3.0, (COUNT, 2))
    points = np.exp(exponents) * rng.choice([-1.0, 1.0], (COUNT, 2))
    x = ca.SX.sym("x", 2)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.atan2(x[0], x[1]))
    computed = values(compile_wide([program], 8)["f"], points)
    with mp.workprec(300):
        exact = [mp.atan2(mp.mpf(float(y)), mp.mpf(float(x))) for y, x in points]
        assert np.max(ulps(computed, exact)) < 1.0


def test_constants_have_all_their_digits() -> None:
    with mp.workprec(1500):
        rest = mp.pi / 2
        for part in HALF_PI:
            assert part == float(rest)
            rest -= mp.mpf(part)
        rest = mp.log(2) - mp.mpf(LOG_2[0])
        assert LOG_2[1] == float(rest)
        assert LOG_2[0] * 2.0**32 == np.floor(LOG_2[0] * 2.0**32)


# lanes


@pytest.mark.parametrize("kind", ["sin", "tan", "exp", "log", "atan", "tanh", "erf"])
def test_a_lane_does_not_see_the_others(kind: str, rng: np.random.Generator) -> None:
    function = function_of(kind)
    numbers = np.concatenate([rng.normal(size=40), SPECIAL, [1e15, -3e200]])
    bits = values(function, numbers).tobytes()
    for _ in range(5):
        order = rng.permutation(len(numbers))
        again = np.empty(len(numbers))
        again[order] = values(function, numbers[order])
        assert again.tobytes() == bits
    alone = np.concatenate([values(function, numbers[k : k + 1]) for k in range(len(numbers))])
    assert alone.tobytes() == bits


@pytest.mark.parametrize("name", [*ns.MODELS, "every-joint", "car", "loop-closed-by-revolute"])
def test_wide_and_scalar_code_of_models(system_of, rng, name: str) -> None:
    system = system_of(name)
    program = system.program("rates", system.rates_expression)
    kin = system.kinematics
    found = kin.probe.configurations(11)
    t, q = np.array([t for t, _ in found]), np.array([q for _, q in found])
    x = rng.normal(size=(len(t), system.num_states))
    x[:, : kin.num_coordinates] = q
    u, p = rng.normal(size=(len(t), len(system.inputs))), system.parameters()
    scalar = system.rates.map(t, x, u, p)
    wide = compile_wide([program], native_lanes())["rates"].map(t, x, u, p)
    # relative to the largest entry of a row, as cancellation is
    scale = np.max(np.abs(scalar), axis=1, keepdims=True)
    np.testing.assert_allclose(wide / scale, scalar / scale, rtol=0, atol=1e-9)


def test_permuted_rows_of_a_model_give_the_same_bits(system_of, rng) -> None:
    system = system_of("agv")
    function = compile_wide([system.program("rates", system.rates_expression)], 8)["rates"]
    x = rng.normal(size=(29, system.num_states))
    u, t, p = rng.normal(size=(29, len(system.inputs))), rng.normal(size=29), system.parameters()
    whole = function.map(t, x, u, p)
    order = rng.permutation(29)
    assert function.map(t[order], x[order], u[order], p).tobytes() == whole[order].tobytes()
    assert function.map(t[4:5], x[4:5], u[4:5], p).tobytes() == whole[4:5].tobytes()


@pytest.mark.parametrize("longest_part", [1, 7, 100])
def test_wide_parts_and_whole(monkeypatch, system_of, rng, longest_part: int) -> None:
    system = system_of("agv")
    program = system.program("rates", system.rates_expression)
    x = rng.normal(size=(5, system.num_states))
    u, p = rng.normal(size=(5, len(system.inputs))), system.parameters()
    whole = compile_wide([program], 4)["rates"].map(np.zeros(5), x, u, p)
    monkeypatch.setattr(llvm, "LONGEST_WHOLE", longest_part)
    monkeypatch.setattr(llvm, "LONGEST_PART", longest_part)
    assert f"@program0_part{(program.num_operations - 1) // longest_part}(" in print_llvm(
        [program], Lanes(4)
    )
    in_parts = compile_wide([program], 4)["rates"].map(np.zeros(5), x, u, p)
    np.testing.assert_allclose(in_parts, whole, **MANY)


def test_one_lane_is_written_in_plain_numbers() -> None:
    x = ca.SX.sym("x", 2)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.sin(x[0]) * ca.exp(x[1]) + 2.5)
    text = print_llvm([program])
    assert "<" not in text
    assert "fmul reassoc nsz arcp contract double" in text
    assert "@lanes_exp" not in text
    assert compile_native([program])["f"]([], [0.5, 2.0], [], []) == pytest.approx(
        [np.exp(2.0) * np.sin(0.5) + 2.5], rel=1e-15
    )


def test_sine_and_cosine_of_one_angle_are_found_together() -> None:
    x = ca.SX.sym("x", 2)
    value = ca.vertcat(ca.sin(x[0]) * ca.cos(x[0]), ca.cos(x[1]))
    text = print_llvm([trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)], Lanes(8))
    assert text.count("call { <8 x double>, <8 x double> } @lanes_sincos") == 2
    own = text[text.index("@lanes_sincos(<8 x double> %a)") :]
    assert "@sin(" not in own[: own.index("\n}")] and "@far_sincos(" in own


@pytest.mark.parametrize("lanes", [1, 4])
def test_sine_and_cosine_of_a_constant(lanes: int) -> None:
    operations = (Operation("sin", (0,)), Operation("cos", (0,)))
    program = Program("f", (0, 0, 0, 0), (2.5,), operations, (1, 2, 0))
    found = compile_wide([program], lanes)["f"].map(np.zeros((3, 0)), *[np.zeros((3, 0))] * 3)
    expected = [math.sin(2.5), math.cos(2.5), 2.5]
    assert found == pytest.approx(np.array([expected] * 3), abs=1e-15)


def test_flags_are_for_arithmetic_only() -> None:
    x = ca.SX.sym("x", 2)
    value = ca.sin(x[0]) * ca.exp(x[1]) + ca.atan2(x[0], x[1])
    text = print_llvm([trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)], Lanes(8))
    assert not re.search(r"\b(nnan|ninf|fast)\b", text)
    bodies = text[text.index("define internal") :]
    assert not re.search(r"\b(reassoc|contract|arcp|nsz)\b", bodies)
    assert re.search(r"\breassoc nsz arcp contract\b", text)


def test_lanes_of_this_processor() -> None:
    assert native_lanes() in (4, 8)


def test_the_last_row_fills_the_last_pack() -> None:
    packed = pack(np.arange(10.0).reshape(5, 2), 4)
    assert packed.shape == (2, 2, 4)
    assert packed[1].tolist() == [[8.0] * 4, [9.0] * 4]


def test_wrong_sizes_are_refused_in_wide_code() -> None:
    function = function_of("sin")
    with pytest.raises(ValueError, match=r"sin: x has shape \(3, 2\), expected \(3, 1\)"):
        function.map(np.zeros(3), np.zeros((3, 2)), np.empty((3, 0)), [])


def test_repeated_names_are_refused_in_wide_code() -> None:
    program = operation(ca.OP_ADD)
    with pytest.raises(ValueError, match="programs need different names"):
        compile_wide([program, program], 4)


def test_a_function_is_written_as_arithmetic() -> None:
    writer = Writer(4)
    x = writer.argument("x")
    text = writer.function("f", [x], [2.0 * x / (1.0 - x)], is_inline=True)
    assert text.splitlines() == [
        "define internal <4 x double> @f(<4 x double> %x) nounwind alwaysinline {",
        "start:",
        "  %l1 = fmul <4 x double> %x, splat (double 0x4000000000000000)",
        "  %l2 = fsub <4 x double> splat (double 0x3FF0000000000000), %x",
        "  %l3 = fdiv <4 x double> %l1, %l2",
        "  ret <4 x double> %l3",
        "}",
    ]

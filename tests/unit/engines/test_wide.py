"""Wide code against the interpreter and scalar code."""

import re

import casadi as ca
import numpy as np
import pytest
from wide_functions import EMPTY, SPECIAL

import noslip as ns
from noslip.engines import (
    Program,
    compile_native,
    compile_wide,
    llvm,
    native_lanes,
    optimization,
    trace_program,
)
from noslip.engines.ir_writer import IRWriter
from noslip.engines.llvm import print_llvm
from noslip.engines.native import WideFunction, pack
from noslip.engines.optimization import reassociate
from noslip.engines.program import CASADI_KINDS, interpret_rows

# Two C libraries may differ in the last digits of one operation.
ONE_OPERATION = 1e-14
# Sums are regrouped and fused; well-conditioned programs still agree this closely.
MANY = {"rtol": 1e-10, "atol": 1e-10}


def operation(code: int) -> Program:
    x = ca.SX.sym("x", 2)
    return trace_program(str(code), [EMPTY, x, EMPTY, EMPTY], ca.SX.binary(code, x[0], x[1]))


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


@pytest.mark.slow
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


@pytest.mark.parametrize("longest_part", [1, 7, 100])
def test_wide_parts_and_whole(monkeypatch, system_of, rng, longest_part: int) -> None:
    system = system_of("agv")
    program = system.program("rates", system.rates_expression)
    x = rng.normal(size=(5, system.num_states))
    u, p = rng.normal(size=(5, len(system.inputs))), system.parameters()
    whole = compile_wide([program], 4)["rates"].map(np.zeros(5), x, u, p)
    monkeypatch.setattr(llvm, "LONGEST_WHOLE", longest_part)
    monkeypatch.setattr(optimization, "LONGEST_PART", longest_part)
    monkeypatch.setattr(optimization, "FEWEST_ITERATIONS", 10**9)
    assert (
        f"@program0_part{(reassociate(program).num_operations - 1) // longest_part}("
        in print_llvm([program], 4)
    )
    in_parts = compile_wide([program], 4)["rates"].map(np.zeros(5), x, u, p)
    np.testing.assert_allclose(in_parts, whole, **MANY)


def test_one_lane_is_written_in_plain_numbers() -> None:
    x = ca.SX.sym("x", 2)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.sin(x[0]) * ca.exp(x[1]) + 2.5)
    text = print_llvm([program])
    assert "<" not in text
    assert "fmul nsz arcp contract double" in text
    assert "@lanes_exp" not in text
    assert compile_native([program])["f"]([], [0.5, 2.0], [], []) == pytest.approx(
        [np.exp(2.0) * np.sin(0.5) + 2.5], rel=1e-15
    )


def test_sine_and_cosine_of_one_angle_are_found_together() -> None:
    x = ca.SX.sym("x", 2)
    value = ca.vertcat(ca.sin(x[0]) * ca.cos(x[0]), ca.cos(x[1]))
    text = print_llvm([trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)], 8)
    assert text.count("call { <8 x double>, <8 x double> } @lanes_sincos") == 2
    own = text[text.index("@lanes_sincos(<8 x double> %a)") :]
    assert "@sin(" not in own[: own.index("\n}")] and "@far_sincos(" in own


def test_flags_are_for_arithmetic_only() -> None:
    x = ca.SX.sym("x", 2)
    value = ca.sin(x[0]) * ca.exp(x[1]) + ca.atan2(x[0], x[1])
    text = print_llvm([trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)], 8)
    assert not re.search(r"\b(nnan|ninf|fast)\b", text)
    bodies = text[text.index("define internal") :]
    assert not re.search(r"\b(reassoc|contract|arcp|nsz)\b", bodies)
    assert re.search(r"\bnsz arcp contract\b", text)


def test_the_last_row_fills_the_last_pack() -> None:
    packed = pack(np.arange(10.0).reshape(5, 2), 4)
    assert packed.shape == (2, 2, 4)
    assert packed[1].tolist() == [[8.0] * 4, [9.0] * 4]


def test_a_function_is_written_as_arithmetic() -> None:
    writer = IRWriter(4)
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

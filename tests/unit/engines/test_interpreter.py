"""The reference target against CasADi's own evaluation."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from noslip.engines.program import CASADI_KINDS, Program, interpret, interpret_rows, trace_program

# Two C libraries may differ in the last digits.
TOLERANCE = 1e-14

SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 2.0, 1e-310, 1e300, 800.0]
)
EMPTY = ca.SX(0, 1)


def operation(code: int) -> tuple[ca.Function, Program, np.ndarray]:
    """One operation in CasADi and as a program, and pairs of operands (one may be unused)."""
    x = ca.SX.sym("x", 2)
    value = ca.SX.binary(code, x[0], x[1])
    function = ca.Function("f", [x], [value])
    random = np.random.default_rng(5).normal(scale=2.0, size=6)
    values = np.concatenate([SPECIAL, random])
    pairs = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    return function, trace_program("f", [EMPTY, x, EMPTY, EMPTY], value), pairs


@pytest.mark.parametrize("code", CASADI_KINDS, ids=[f"{k}-{v}" for k, v in CASADI_KINDS.items()])
def test_operation_and_casadi(code: int) -> None:
    function, program, pairs = operation(code)
    expected = np.array(function(pairs.T)).reshape(-1, 1)
    one_by_one = np.array([interpret(program, [], pair, [], []) for pair in pairs])
    at_once = interpret_rows(program, np.zeros(len(pairs)), pairs, np.empty((len(pairs), 0)), [])
    np.testing.assert_allclose(one_by_one, expected, rtol=TOLERANCE, atol=0)
    np.testing.assert_allclose(at_once, expected, rtol=TOLERANCE, atol=0)


def test_choice_and_casadi() -> None:
    x = ca.SX.sym("x", 3)
    value = ca.vertcat(ca.if_else(x[0], x[1], x[2]), ca.SX.binary(ca.OP_IF_ELSE_ZERO, x[0], x[1]))
    function = ca.Function("f", [x], [value])
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)
    rows = np.array([[c, 2.5, -1.5] for c in SPECIAL])
    expected = np.array(function(rows.T)).T
    one_by_one = np.array([interpret(program, [], row, [], []) for row in rows])
    at_once = interpret_rows(program, np.zeros(len(rows)), rows, np.empty((len(rows), 0)), [])
    np.testing.assert_array_equal(one_by_one, expected)
    np.testing.assert_array_equal(at_once, expected)


def test_signs_of_zero_are_read() -> None:
    x = ca.SX.sym("x", 2)
    value = ca.vertcat(ca.atan2(x[0], x[1]), ca.copysign(1, x[0]), x[1] / x[0])
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], value)
    assert interpret(program, [], [-0.0, -1.0], [], []).tolist() == [-np.pi, -1.0, np.inf]
    assert interpret(program, [], [0.0, -1.0], [], []).tolist() == [np.pi, 1.0, -np.inf]


def all_inputs() -> Program:
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("p", 2)
    return trace_program("f", [t, x, u, p], ca.vertcat(t * x + u * p, 7.0))


def test_rows_may_share_parameters() -> None:
    t, x, u = np.arange(3.0), np.arange(6.0).reshape(3, 2), np.ones((3, 1))
    p = np.array([0.5, -0.5])
    expected = np.column_stack([t[:, None] * x + p, np.full(3, 7.0)])
    np.testing.assert_array_equal(interpret_rows(all_inputs(), t, x, u, p), expected)
    np.testing.assert_array_equal(interpret_rows(all_inputs(), t, x, u, [p] * 3), expected)


def test_no_rows_give_no_rows() -> None:
    out = interpret_rows(all_inputs(), [], np.empty((0, 2)), np.empty((0, 1)), [1.0, 2.0])
    assert out.shape == (0, 3)


def test_wrong_sizes_are_refused() -> None:
    program = all_inputs()
    with pytest.raises(ValueError, match=r"f: x has shape \(3,\), expected \(2,\)"):
        interpret(program, 0.0, [1.0, 2.0, 3.0], [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"f: p has shape \(1, 2\), expected \(2,\)"):
        interpret(program, 0.0, [1.0, 2.0], [1.0], [[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"f: u has shape \(2, 1\), expected \(3, 1\)"):
        interpret_rows(program, np.zeros(3), np.zeros((3, 2)), np.zeros((2, 1)), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"f: p has shape \(3,\), expected \(3, 2\)"):
        interpret_rows(program, np.zeros(3), np.zeros((3, 2)), np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match=r"f: t has shape \(1, 1, 3\), expected \(n, 1\)"):
        interpret_rows(program, np.zeros((1, 1, 3)), np.zeros((3, 2)), np.zeros((3, 1)), [1.0, 2])

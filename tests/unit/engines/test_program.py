"""Tracing: what is shared, folded and dropped, and what is refused."""

import casadi as ca
import numpy as np
import pytest

from noslip import CompileError
from noslip.engines import Program, trace_program
from noslip.engines.llvm import CALLS, INSTRUCTIONS
from noslip.engines.program import CASADI_KINDS, LOOKUPS, MEANINGS, interpret

EMPTY = ca.SX(0, 1)


def symbols(count: int) -> list[ca.SX]:
    return [ca.SX.sym(name) for name in "abcdefgh"[:count]]


def traced(output: ca.SX, *x: ca.SX) -> Program:
    return trace_program("f", [EMPTY, ca.vertcat(*x), EMPTY, EMPTY], output)


def kinds(output: ca.SX, *x: ca.SX) -> dict[str, int]:
    """How often each operation occurs, after checking that the program computes the output."""
    program = traced(output, *x)
    values = np.random.default_rng(2).uniform(0.5, 2.0, size=len(x))
    expected = np.array(ca.Function("f", [ca.vertcat(*x)], [output])(values)).ravel()
    np.testing.assert_allclose(interpret(program, [], values, [], []), expected, rtol=1e-14)
    return program.count()


def test_every_kind_has_a_meaning_and_a_native_form() -> None:
    assert set(MEANINGS) == {*CASADI_KINDS.values(), "if_else", *LOOKUPS}
    assert set(INSTRUCTIONS).isdisjoint(CALLS)
    assert set(INSTRUCTIONS) | set(CALLS) | set(LOOKUPS) == set(MEANINGS)


def test_every_scalar_operation_of_casadi_is_covered() -> None:
    a, b = symbols(2)
    covered, refused = set(), set()
    for name in (word for word in dir(ca) if word.startswith("OP_")):
        expression = ca.SX.binary(getattr(ca, name), a, b)
        if not expression.is_constant():  # 0 stands for operations that are not scalar
            try:
                traced(expression, a, b)
                covered.add(name)
            except CompileError:
                refused.add(name)
    assert len(covered) > 45
    assert refused == {"OP_ERFINV", "OP_PRINTME"}


def test_equal_subexpressions_are_shared() -> None:
    a, b = symbols(2)
    output = ca.vertcat(ca.sin(a * b) + a, ca.sin(b * a) + b)
    assert kinds(output, a, b) == {"add": 2, "mul": 1, "sin": 1}


def test_squares_doubles_and_inverses_are_products_sums_and_quotients() -> None:
    a, b = symbols(2)
    assert kinds(ca.vertcat(a**2, a * a), a) == {"mul": 1}
    assert kinds(ca.vertcat(2 * a, a + a), a) == {"add": 1}
    assert kinds(1 / (a + b), a, b) == {"add": 1, "div": 1}


def test_opposite_differences_are_shared() -> None:
    a, b = symbols(2)
    assert kinds(ca.vertcat(a - b, b - a), a, b) == {"sub": 1, "neg": 1}


def test_signs_are_taken_up_by_sums() -> None:
    a, b, c = symbols(3)
    assert kinds((-a) * b + c, a, b, c) == {"mul": 1, "sub": 1}
    assert kinds(c - (-a) * b, a, b, c) == {"mul": 1, "add": 1}
    assert kinds((-a) * (-b) + (-a) / (-c), a, b, c) == {"mul": 1, "div": 1, "add": 1}
    assert kinds(-(-a - b), a, b) == {"add": 1}


def test_odd_and_even_functions_share_both_signs() -> None:
    a, b = symbols(2)
    output = ca.vertcat(ca.sin(a) + b, ca.sin(-a) + b, ca.cos(a), ca.cos(-a))
    assert kinds(output, a, b) == {"sin": 1, "add": 1, "sub": 1, "cos": 1}
    minus_sine = ca.sin(-a)
    assert kinds(b - minus_sine, a, b) == {"sin": 1, "add": 1}
    assert kinds(minus_sine - b, a, b) == {"sin": 1, "add": 1, "neg": 1}
    assert kinds(minus_sine * b + b, a, b) == {"sin": 1, "mul": 1, "sub": 1}
    assert kinds(b / minus_sine + b, a, b) == {"sin": 1, "div": 1, "sub": 1}
    assert kinds(ca.tan(minus_sine) * minus_sine, a, b) == {"sin": 1, "tan": 1, "mul": 1}


def test_what_cancels_is_folded_and_its_factors_are_dropped() -> None:
    a, b, c = symbols(3)
    zero, one = a * b - b * a, (a * b) / (b * a)
    assert kinds(zero * ca.sin(c), a, b, c) == {}
    assert kinds(zero / ca.sin(c), a, b, c) == {}
    same = ca.vertcat(one * c, c / one, c + zero, c - zero)
    assert traced(same, a, b, c).outputs == (2, 2, 2, 2)
    assert kinds(ca.vertcat(same, zero - c, -one * c), a, b, c) == {"neg": 1}
    folded = traced(ca.exp(zero + 2) + c, a, b, c)
    assert folded.constants == (pytest.approx(np.exp(2)),)
    assert folded.count() == {"add": 1}


def test_constant_conditions_are_decided() -> None:
    a, b = symbols(2)
    zero = a * b - b * a
    assert traced(ca.if_else(zero, a, b), a, b).outputs == (1,)
    assert traced(ca.if_else(zero + 1, a, b), a, b).outputs == (0,)


def test_inputs_keep_their_order() -> None:
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("u", 3), ca.SX.sym("p", 2)
    program = trace_program("f", [t, x, u, p], ca.vertcat(p, u, x, t))
    assert program.input_sizes == (1, 2, 3, 2)
    assert program.outputs == (6, 7, 3, 4, 5, 1, 2, 0)
    assert program.num_operations == 0


def test_short_program_is_listed() -> None:
    a, b = symbols(2)
    listing = str(traced(ca.vertcat(ca.sin(a) * b + 0.5, b), a, b))
    assert listing.splitlines() == [
        "f(t[0], x[2], u[0], p[0]) -> out[2], 3 operations",
        "  v0 = sin(x[0])",
        "  v1 = mul(x[1], v0)",
        "  v2 = add(v1, 0.5)",
        "  out[0] = v2",
        "  out[1] = x[1]",
    ]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (lambda a: a.printme(a), "OP_PRINTME"),
        (lambda a: ca.erfinv(a), "OP_ERFINV"),
        (lambda a: ca.Function("g", [a], [a], {"never_inline": True})(a), "OP_CALL"),
    ],
)
def test_unknown_operation_is_refused(expression, name: str) -> None:
    (a,) = symbols(1)
    with pytest.raises(CompileError) as caught:
        traced(expression(a), a)
    assert caught.value.what == f"CasADi's operation {name} cannot be compiled"
    assert caught.value.where == "function 'f'"
    assert "CASADI_KINDS" in caught.value.fix


def test_free_symbols_are_named() -> None:
    a, b, c = symbols(3)
    with pytest.raises(CompileError) as caught:
        traced(a * b + c, a)
    assert caught.value.what == "the expression contains 'b', 'c', which no input provides"
    assert caught.value.where == "function 'f', inputs t, x, u, p"
    assert "add the symbol to one of the inputs" in caught.value.fix

"""Operators of traced values: the expressions that CasADi's own functions give."""

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from noslip.spatial import inlined, traced

x, y = ca.SX.sym("x"), ca.SX.sym("y")
v, A = ca.SX.sym("v", 3), ca.SX.sym("A", 3, 3)
sparse = ca.diag(v)
TRACED = [x, y, v, A, sparse, ca.SX(0, 1), ca.SX(3, 1)]
OTHERS = [
    *(0.75, 3, True, np.float64(0.3), np.array([1.0, 2.0, 3.0])),
    *(ca.DM([1.0, 0.0, 2.0]), Fraction(1, 4)),
]
OPERATORS = {
    "+": (lambda a, b: a + b, ca.plus),
    "-": (lambda a, b: a - b, ca.minus),
    "*": (lambda a, b: a * b, ca.times),
    "/": (lambda a, b: a / b, ca.rdivide),
}


def outcome(function, a, b):
    """What comes of it: the expression with its sparsity, or the kind of its error."""
    try:
        found = function(a, b)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        return type(error).__name__
    if found is NotImplemented:
        return "TypeError"
    assert type(found) is ca.SX
    return f"{found.sparsity().colind()} {found.sparsity().row()} {found}"


@pytest.mark.parametrize("word", OPERATORS)
def test_operators_are_the_functions_of_casadi(word):
    operator, function = OPERATORS[word]
    compared = 0
    for a in TRACED:
        for b in (*TRACED, *OTHERS):
            for pair in ((a, b), (b, a)):
                found = outcome(operator, *pair)
                wanted = outcome(function, *pair)
                assert found == wanted, pair
                compared += "Error" not in found
    assert compared > 100


def test_what_is_traced_is_not_copied():
    assert traced(v) is v
    assert traced(2.5).is_constant() and traced([1.0, 2.0]).shape == (2, 1)


@inlined
def _turned_and_moved(R: ca.SX, p: ca.SX, f: ca.SX) -> tuple[ca.SX, ca.SX]:
    moved = ca.mtimes(R, f)
    return moved, ca.cross(p, moved)


def test_inlined_functions_give_the_expressions_of_their_operations():
    R, p, f = (ca.SX.sym(*word) for word in (("R", 3, 3), ("p", 3), ("f", 3)))
    moved = ca.mtimes(R, f)
    direct = [moved, ca.cross(p, moved)]
    for found, expected in zip(_turned_and_moved(R, p, f), direct, strict=True):
        assert str(found) == str(expected)


def test_inlined_functions_leave_out_operations_on_zeros_and_ones():
    R, f = ca.blockcat([[1, 0, 0], [0, x, -y], [0, y, x]]), ca.vertcat(v[0], 0, v[2])
    for given in (R, ca.sparsify(R)):
        moved, moment = _turned_and_moved(given, ca.SX([0, 0, 1]), f)
        assert str(moved) == "[v_0, (-(y*v_2)), (x*v_2)]"
        assert str(moment) == "[(y*v_2), v_0, 0]"


def test_inlined_functions_take_several_shapes():
    many = ca.SX.sym("f", 3, 2)
    moved, _ = inlined(lambda R, f: (ca.mtimes(R, f), R))(A, many)
    assert moved.shape == (3, 2)
    moved, _ = inlined(lambda R, f: (ca.mtimes(R, f), R))(A, v)
    assert moved.shape == (3, 1)

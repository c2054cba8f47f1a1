"""Operators of traced values: the expressions that CasADi's own functions give."""

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from noslip.spatial import traced

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

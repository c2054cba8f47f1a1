"""The polynomial through values and slopes at eight places, against exact fractions."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from noslip.simulation.loop import rules
from noslip.simulation.loop.rules import NUM_NODES

DEGREE = 2 * NUM_NODES - 1
# Weights are products of 14 differences and a few more operations.
ROUNDING = 1e-14

NODES = {
    "even": np.arange(-3.0, 5.0),
    "one side": np.arange(0.0, 8.0),
    "other side": np.arange(-6.0, 2.0),
    "uneven": np.array([-2.3, -1.9, -0.6, 0.0, 1.0, 1.7, 2.9, 3.3]),
    "growing": np.array([-0.9, -0.75, -0.5, 0.0, 1.0, 2.5, 4.5, 7.0]),
    "ring": np.array([1.0, 2.1, 3.0, 4.2, -3.1, -2.2, -0.9, 0.0]),  # as a ring holds them
}


def weights(x, at, kind=rules.value_weights):
    """Weights of values and slopes at the nodes."""
    x = x.tolist()
    a, b = kind(x, *rules.node_constants(x), at)
    return np.array(a), np.array(b)


slopes = rules.slope_weights


def product(x, at):
    """w and w' at a place."""
    return rules.node_product(x.tolist(), at)


def exact_weights(x, at):
    """The same and their derivatives in fractions, from the definition."""
    x, at = [Fraction(each) for each in x], Fraction(at)
    found = []
    for j in range(NUM_NODES):
        others = [x[i] for i in range(NUM_NODES) if i != j]
        basis = prod((at - o) / (x[j] - o) for o in others)
        rate = sum(
            prod((at - o) / (x[j] - o) for o in others if o != left) / (x[j] - left)
            for left in others
        )
        at_node, off = sum(1 / (x[j] - o) for o in others), at - x[j]
        found.append(
            (
                (1 - 2 * off * at_node) * basis**2,
                off * basis**2,
                -2 * at_node * basis**2 + (1 - 2 * off * at_node) * 2 * basis * rate,
                basis**2 + off * 2 * basis * rate,
            )
        )
    return list(zip(*found, strict=True))


@pytest.fixture(params=NODES.values(), ids=NODES)
def nodes(request):
    return request.param


def check_weights(found, exact):
    """Weights against exact ones, by the size of the largest."""
    scale = max(abs(float(weight)) for weight in exact)
    for one, other in zip(found.tolist(), exact, strict=True):
        assert abs(float(Fraction(one) - other)) < ROUNDING * scale


@pytest.mark.parametrize("at", [1e-9, 0.123, 0.5, 0.875, 1.0 - 1e-9])
def test_weights_are_right_to_rounding(nodes, at):
    for found, exact in zip(weights(nodes, at), exact_weights(nodes, at)[:2], strict=True):
        check_weights(found, exact)


def test_polynomials_of_its_degree_are_met(nodes, rng):
    coefficients = [Fraction(int(k), 64) for k in rng.integers(-64, 65, DEGREE + 1)]

    def polynomial(x):
        x = Fraction(x)
        value = sum(c * x**k for k, c in enumerate(coefficients))
        slope = sum(k * c * x ** (k - 1) for k, c in enumerate(coefficients) if k)
        return float(value), float(slope)

    y, dy = np.array([polynomial(x) for x in nodes]).T
    for at in (0.03, 0.25, 0.5, 0.9):
        a, b = weights(nodes, at)
        da, db = weights(nodes, at, slopes)
        value, slope = polynomial(at)
        # what the terms of the sums are rounded to
        assert abs(a @ y + b @ dy - value) < 1e-14 * (abs(a) @ abs(y) + abs(b) @ abs(dy))
        assert abs(da @ y + db @ dy - slope) < 1e-13 * (abs(da) @ abs(y) + abs(db) @ abs(dy))


def test_error_of_the_next_power_is_the_product_of_squares(nodes):
    """(4) with C = 1; and its slope tells C, as (5) says."""
    y, dy = nodes**16, 16 * nodes**15
    for at in (0.2, 0.6):
        (a, b), (da, db) = weights(nodes, at), weights(nodes, at, slopes)
        w, dw = product(nodes, at)
        assert w == pytest.approx(np.prod((at - nodes) ** 2), rel=1e-13)
        assert dw == pytest.approx(w * np.sum(2.0 / (at - nodes)), rel=1e-11)
        rounding = 1e-14 * (abs(a) @ abs(y) + abs(b) @ abs(dy))
        assert abs(at**16 - (a @ y + b @ dy) - w) < rounding
        rounding = 1e-13 * (abs(da) @ abs(y) + abs(db) @ abs(dy))
        assert abs(16 * at**15 - (da @ y + db @ dy) - dw) < rounding

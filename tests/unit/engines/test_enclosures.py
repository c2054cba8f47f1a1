"""Enclosures hold every value and every rate that a function takes in a box, and shrink with it."""

import casadi as ca
import numpy as np
import pytest

from noslip.engines import trace_program
from noslip.simulation.expressions import Enclosure, Interval, enclose, number

x, t, NONE = ca.SX.sym("x", 2), ca.SX.sym("t"), ca.SX(0, 1)

FUNCTIONS = {
    "product": (x[0] - 2) * (x[0] - 2.2),
    "square": x[0] ** 2 - 1,
    "powers": x[0] ** 3 - x[1] ** 4 + (2.5 + x[0]) ** 1.7,
    "inverse power": (3 + x[0]) ** -2,
    "waves": ca.sin(x[0]) + ca.cos(3 * x[1]) * ca.sin(10 * t),
    "tangent": ca.tan(x[0] / 2),
    "bell": ca.exp(-(x[0] ** 2) / 0.1),
    "quotient": x[0] / (1 + x[1] ** 2),
    "pole": 1 / x[0],
    "roots": ca.sqrt(3 + x[0]) + ca.sqrt(x[0] ** 2 + x[1] ** 2),
    "logarithm": ca.log(4 + x[0]),
    "size": ca.fabs(x[0]) - x[1],
    "sawtooth": x[0] - ca.floor(x[0]),
    "switch": ca.sign(x[0]) * x[1],
    "least": ca.fmin(x[0], x[1]) + ca.fmax(x[0] * x[1], x[1]),
    "heading": ca.atan2(x[0], x[1]),
    "arcs": ca.atan(x[0]) + ca.asin(x[1] / 4) - ca.acos(x[0] / 4),
    "hyperbolas": ca.tanh(x[0]) + ca.sinh(x[1]) * ca.cosh(x[0]),
    "inverse hyperbolas": ca.asinh(x[0]) + ca.acosh(5 + x[1]) + ca.atanh(x[0] / 5),
    "choice": ca.if_else(x[0] < x[1], x[0], x[1] ** 2),
}


def enclosing(expression):
    """[lower, upper, least rate, largest rate] of (lower ends, upper ends, and those of rates)."""
    lower, upper = ca.SX.sym("lower", 3), ca.SX.sym("upper", 3)
    least, most = ca.SX.sym("least", 2), ca.SX.sym("most", 2)
    time = Enclosure(Interval(lower[0], upper[0]), number(1.0))
    given = [
        Enclosure(Interval(lower[k + 1], upper[k + 1]), Interval(least[k], most[k]))
        for k in range(2)
    ]
    program = trace_program("f", (t, x, NONE, NONE), ca.SX(expression))
    (found,) = enclose(program, [time, *given])
    return ca.Function("bounds", [lower, upper, least, most], [found.bounds()])


def moving(expression):
    """Value and rate of (t, x, ẋ)."""
    rates = ca.SX.sym("rates", 2)
    rate = ca.jtimes(expression, ca.vertcat(t, x), ca.vertcat(1, rates))
    return ca.Function("moving", [t, x, rates], [expression, rate])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_happens_in_a_box_is_enclosed(name, rng):
    bounds, values = enclosing(FUNCTIONS[name]), moving(FUNCTIONS[name])
    for _ in range(60):
        center, radius = rng.uniform(-1.5, 1.5, 3), 10 ** rng.uniform(-3, -0.3, 3)
        rate, spread = rng.uniform(-1, 1, 2), 0.1 * np.abs(rng.normal(size=2))
        box = (center - radius, center + radius, rate - spread, rate + spread)
        low, high, falls, rises = np.array(bounds(*box)).ravel()
        at = center + radius * rng.uniform(-1, 1, (40, 3))
        along = rate + spread * rng.uniform(-1, 1, (40, 2))
        for p, v in zip(at, along, strict=True):
            value, slope = (float(each) for each in values(p[0], p[1:], v))
            # ends are rounded to the nearest
            assert low - 1e-12 * abs(low) - 1e-14 <= value <= high + 1e-12 * abs(high) + 1e-14
            assert falls - 1e-9 * abs(falls) - 1e-12 <= slope <= rises + 1e-9 * abs(rises) + 1e-12


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"pole", "sawtooth", "switch", "choice"}))
def test_enclosures_of_a_small_box_are_small(name):
    bounds, values = enclosing(FUNCTIONS[name]), moving(FUNCTIONS[name])
    center, rate = np.array([0.3, 0.4, 0.7]), np.array([0.5, -0.2])
    widths = []
    for radius in (1e-3, 1e-4):
        low, high, falls, rises = np.array(
            bounds(center - radius, center + radius, rate, rate)
        ).ravel()
        value, slope = (float(each) for each in values(center[0], center[1:], rate))
        assert low <= value <= high and falls <= slope <= rises
        widths.append([high - low, rises - falls])
    # in proportion to the box, to second order
    assert np.all(np.array(widths[1]) <= 0.11 * np.array(widths[0]) + 1e-12)


def test_a_jump_in_the_box_has_an_unbounded_rate():
    box = ([0.0, 0.9, 0.0], [0.0, 1.1, 0.0], [1.0, 0.0], [1.0, 0.0])
    low, high, falls, rises = np.array(enclosing(FUNCTIONS["sawtooth"])(*box)).ravel()
    assert low <= 0.0 and high >= 0.9 and falls == -np.inf and rises == np.inf


#: Function of the first state, and where it ends its domain or has a pole.
GAPS = {
    "log": (ca.log(x[0] - 0.3), 0.3),
    "root": (ca.sqrt(x[0] - 0.3), 0.3),
    "power": ((x[0] - 0.3) ** 1.5, 0.3),
    "root of a power": ((0.3 - x[0]) ** -0.5, 0.3),
    "arcs": (ca.asin(x[0] + 0.7) * ca.acos(x[0]), 0.3),
    "hyperbolas": (ca.acosh(x[0] + 0.7) - 1, 0.3),
    "artanh": (ca.atanh(x[0] + 0.7), 0.3),
    "pole": (1 / (x[0] - 0.3) + x[1], 0.3),
    "power with a pole": ((x[0] - 0.3) ** -3, 0.3),
    "tangent": (ca.tan(5 * x[0]), np.pi / 10),
    "within a bounded function": (ca.atan(1 / (x[0] - 0.3)), 0.3),
    "in a sum": (x[1] + ca.sin(ca.sqrt(x[0] - 0.3)), 0.3),
}


@pytest.mark.parametrize("name", GAPS)
def test_a_gap_in_the_box_has_an_unbounded_rate(name):
    expression, gap = GAPS[name]
    bounds = enclosing(expression)
    for radius in (1e-9, 1e-3, 0.1):
        low, high = [0.0, gap - radius, 0.1], [0.0, gap + 1.5 * radius, 0.2]
        *_, falls, rises = np.array(bounds(low, high, [1.0, 0.0], [1.0, 0.0])).ravel()
        assert falls == -np.inf and rises == np.inf


def test_what_is_defined_nowhere_is_not_zero():
    for expression in (ca.sqrt(x[0] - 3), ca.log(x[0] - 3) * 2, x[1] - ca.acosh(x[0])):
        low, high, *_ = np.array(
            enclosing(expression)([0.0, -0.5, 0.0], [0.0, 0.5, 1.0], [1.0, 0.0], [1.0, 0.0])
        ).ravel()
        assert low == high == np.inf


def test_a_branch_that_is_not_taken_has_no_gap():
    expression = ca.if_else(x[0] < 3, x[0], ca.log(x[0] - 3))
    box = ([0.0, -0.5, 0.0], [0.0, 0.5, 0.0], [1.0, 0.0], [1.0, 0.0])
    assert np.array(enclosing(expression)(*box)).ravel().tolist() == [-0.5, 0.5, 1.0, 1.0]

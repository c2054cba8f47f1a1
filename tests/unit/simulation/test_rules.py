"""What both loops keep to: where a root is expected, when a value crosses, and the next step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy import interpolate

from noslip.simulation.batches import loop as of_batches
from noslip.simulation.dop853 import SAFETY, next_step
from noslip.simulation.rules import crosses, expected_root
from noslip.simulation.single import steps as of_one

# Errors of a few roundings of numbers near 1.
ROUNDING = 1e-13


@pytest.mark.parametrize("curve", [math.sin, math.expm1, lambda x: x + 0.3 * x**2])
def test_expected_root_is_that_of_the_parabola_through_three_points(curve):
    points = np.array([0.2, -0.3, 0.5])
    values = np.array([curve(x) for x in points])
    root = interpolate.BarycentricInterpolator(values, points)(0.0)
    (a, b, c), (f_a, f_b, f_c) = points, values
    found = expected_root(a, f_a, b, f_b, c, f_c)
    assert a + found * (b - a) == pytest.approx(root, abs=ROUNDING)


def test_interpolation_that_may_leave_the_interval_is_a_bisection():
    # on this side the inverse parabola turns before it comes to zero
    assert expected_root(0.2, 1.0, -0.3, -1e-3, 0.5, 1.01) == 0.5


@pytest.mark.parametrize("before", [-1.0, 0.0, 1.0, np.nan])
@pytest.mark.parametrize("after", [-1.0, 0.0, 1.0, np.nan])
def test_a_crossing_leaves_its_sign_in_the_direction_asked_for(before, after):
    rises, falls = before < 0.0 <= after, before > 0.0 >= after
    assert crosses(before, after, 1.0) == rises
    assert crosses(before, after, -1.0) == falls
    assert crosses(before, after, 0.0) == (rises or falls)


@njit
def chosen_steps(h, error, may_grow):
    """The next step of the loop of one run and of that of a batch."""
    return of_one.next_step(h, error, may_grow), of_batches._next_step(h, error, may_grow)


@pytest.mark.parametrize("may_grow", [False, True])
@pytest.mark.parametrize("error", [0.0, 1e-12, 0.1, 1.0, 5.0, 1e9, np.inf, np.nan])
def test_both_loops_choose_the_next_step_by_one_rule(error, may_grow):
    h, largest = 0.02, 6.0 if may_grow else 1.0
    with np.errstate(divide="ignore"):
        factor = SAFETY * np.float64(error) ** (-1.0 / 8.0)
    expected = h * np.clip(factor, 1.0 / 3.0, largest) if math.isfinite(error) else h / 10.0
    assert next_step(h, error, factor, may_grow) == pytest.approx(expected, rel=ROUNDING)
    assert chosen_steps(h, error, may_grow) == pytest.approx((expected, expected), rel=ROUNDING)

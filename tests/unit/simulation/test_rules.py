"""What both loops keep to: where a root is expected, and when a value crosses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import interpolate

from noslip.simulation.rules import crosses, expected_root

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

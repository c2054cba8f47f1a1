"""Clothoids against Fresnel's integrals, and blended polylines against plane geometry."""

import cmath
import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from path_values import values

from noslip.control import sample
from noslip.control.path_geometry import length
from noslip.paths import Clothoid, Polyline


@mpmath.workdps(30)
def test_clothoid_is_fresnels():
    """κ = π s: the position is (C(s), S(s))."""
    path = Clothoid(start_curvature=0.0, end_curvature=6 * math.pi, length=6.0)
    samples = sample(path, 61)
    exact = [(mpmath.fresnelc(s), mpmath.fresnels(s)) for s in samples.arc_length]
    np.testing.assert_allclose(samples.x, [float(c) for c, _ in exact], atol=1e-14)
    np.testing.assert_allclose(samples.y, [float(s) for _, s in exact], atol=1e-14)
    np.testing.assert_allclose(samples.curvature, math.pi * samples.arc_length, atol=1e-12)
    np.testing.assert_allclose(samples.curvature_rate, math.pi, rtol=1e-11)


@mpmath.workdps(30)
def test_clothoid_through_an_inflection():
    path = Clothoid(
        start_curvature=-1.0,
        end_curvature=4.0,
        length=10.0,
        start=(1.0, 2.0),
        start_heading=0.7,
    )

    def direction(s):
        return mpmath.expj(mpmath.mpf("0.7") - s + s**2 / 4)

    end = mpmath.mpc(1, 2) + mpmath.quad(direction, mpmath.linspace(0, 10, 21))
    x, y, kappa = values(path, 10.0)
    np.testing.assert_allclose([x, y, kappa], [float(end.real), float(end.imag), 4.0], rtol=1e-13)
    assert length(path) == pytest.approx(10.0, rel=1e-15)


def test_clothoid_without_a_rate_is_an_arc_or_a_line():
    arc = Clothoid(start_curvature=0.5, end_curvature=0.5, length=7.0, start=(2.0, 0.0),
                   start_heading=math.pi / 2)  # fmt: skip
    samples = sample(arc, 50)
    np.testing.assert_allclose(np.hypot(samples.x, samples.y), 2.0, rtol=1e-14)
    line = Clothoid(start_curvature=0.0, end_curvature=0.0, length=1000.0, start_heading=0.3)
    np.testing.assert_allclose(
        values(line, 1000.0), [1000 * math.cos(0.3), 1000 * math.sin(0.3), 0.0], rtol=1e-14
    )


#: A corner to the left, one to the right, one that is none, and a sharp one.
CORNERS = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (6.0, 3.0), (8.0, 3.0), (7.0, -2.0))


def cut_of_two_clothoids(turn, radius):
    """From where they start to the corner: their middle is on the bisector, which is its normal."""
    way = radius * turn
    middle = mpmath.quad(lambda s: mpmath.expj(s**2 / (2 * radius * way)), [0, way])
    return float(middle.real + middle.imag * mpmath.tan(turn / 2))


def stretches_by_geometry(corners, radius, blend):
    """(length, curvature at its start, at its end) of each line and each half of a blend."""
    sides = [complex(*b) - complex(*a) for a, b in pairwise(corners)]
    turns = [cmath.phase(b / a) for a, b in pairwise(sides)]
    found, used = [], 0.0
    for side, turn in zip(sides, [*turns, 0.0], strict=True):
        way, sharpest = radius * abs(turn), math.copysign(1 / radius, turn)
        cut = radius * math.tan(abs(turn) / 2)
        blended = [(way, sharpest, sharpest)]
        if blend == "clothoid" and turn:
            cut = cut_of_two_clothoids(abs(turn), radius)
            blended = [(way, 0.0, sharpest), (way, sharpest, 0.0)]
        found += [(abs(side) - used - cut, 0.0, 0.0), *(blended if turn else [])]
        used = cut
    return np.array(found)


@pytest.mark.parametrize("blend", ["circle", "clothoid"])
def test_polyline_passes_its_ends_and_bends_as_its_blends_do(blend):
    path = Polyline(points=CORNERS, radius=0.5, blend=blend)
    samples = sample(path, 2001)
    ends = [(samples.x[k], samples.y[k]) for k in (0, -1)]
    np.testing.assert_allclose(ends, [CORNERS[0], CORNERS[-1]], atol=1e-13)
    # it ends along the last side
    assert samples.heading[-1] == pytest.approx(math.atan2(-5, -1), abs=1e-12)
    lengths, first, last = stretches_by_geometry(CORNERS, 0.5, blend).T
    breaks = np.concatenate([[0.0], np.cumsum(lengths)])
    np.testing.assert_allclose(path.breaks, breaks, atol=1e-13)
    # the curvature is linear in each stretch; a break belongs to either side
    s = samples.arc_length
    clear = np.min(np.abs(s[:, None] - breaks), axis=1) > 1e-9
    k = np.searchsorted(breaks, s[clear]) - 1
    rate = (last - first) / lengths
    bend = first[k] + rate[k] * (s[clear] - breaks[k])
    np.testing.assert_allclose(samples.curvature[clear], bend, atol=1e-12)
    np.testing.assert_allclose(samples.curvature_rate[clear], rate[k], atol=1e-11)
    # 1/radius is reached, to the left and to the right, and never passed
    assert np.max(np.abs(samples.curvature)) <= 2.0 * (1 + 1e-12)
    sharpest = breaks[1:][np.abs(last) == 2.0] - (1e-9 if blend == "circle" else 0.0)
    found = [values(path, at)[2] for at in sharpest]
    np.testing.assert_allclose(found, [2.0, -2.0, -2.0], rtol=1e-12)


def test_right_angle_with_a_circular_blend():
    path = Polyline(points=((0.0, 0.0), (3.0, 0.0), (3.0, 4.0)), radius=1.0)
    assert path.breaks == pytest.approx((0.0, 2.0, 2.0 + math.pi / 2, 5.0 + math.pi / 2))
    np.testing.assert_allclose(
        values(path, 2 + math.pi / 4), [2 + math.sqrt(0.5), 1 - math.sqrt(0.5), 1.0], rtol=1e-14
    )

"""Paths against closed forms: curvatures, lengths, conics, splines."""

import math

import mpmath
import numpy as np
import pytest
from path_values import values

from noslip.control import sample
from noslip.control.path_geometry import curvature, integrate, length, parameter_at, reversed_path
from noslip.paths import (
    Arc,
    Catenary,
    Circle,
    Composite,
    Ellipse,
    FigureEight,
    Graph,
    Line,
    Nurbs,
    Parametric,
    Sine,
    Spline,
)

#: Catenary with x0 = 1: s, x, y and Ψ = arccot κ (b = 1) [AntunesSigaudMoraes2010].
CATENARY = (
    (0.75811103221072, 1.2548833958419, 0.69962337867199, 2.1365747055643),
    (1.6768334985391, 1.9523756251867, 1.2890147522873, 1.8273599005872),
    (2.6600956686815, 2.8418495678938, 1.7051017090859, 1.6939912810851),
    (3.6556834262991, 3.789989619157, 2.0076330643946, 1.6403025665081),
    (4.6541227608926, 4.7603422853255, 2.2422473411871, 1.6148966696042),
)


@pytest.mark.parametrize("clockwise", [False, True])
def test_circle(clockwise):
    path = Circle(radius=2.5, center=(1.0, 2.0), start_angle=0.3, turns=2.0, clockwise=clockwise)
    samples = sample(path, 400)
    sign = -1 if clockwise else 1
    assert length(path) == pytest.approx(10 * math.pi, rel=1e-15)
    np.testing.assert_allclose(samples.curvature, sign / 2.5, rtol=1e-14)
    np.testing.assert_allclose(samples.curvature_rate, 0.0, atol=1e-15)
    np.testing.assert_allclose(np.hypot(samples.x - 1, samples.y - 2), 2.5, rtol=1e-14)
    assert (samples.x[0], samples.y[0]) == (1 + 2.5 * math.cos(0.3), 2 + 2.5 * math.sin(0.3))
    # the heading turns on, two times round
    assert samples.heading[-1] - samples.heading[0] == pytest.approx(sign * 4 * math.pi, rel=1e-14)


def test_catenary_of_the_paper():
    path = Catenary(x0=1.0, extent=5.0)
    assert length(path) == pytest.approx(5.0, rel=1e-15)
    for s, x, y, psi in CATENARY:
        here = values(path, s)
        np.testing.assert_allclose(here[:2], [x, y], rtol=1e-12)
        assert here[2] == pytest.approx(-1 / (1 + s**2), rel=1e-13)
        assert math.pi / 2 - math.atan(here[2]) == pytest.approx(psi, rel=1e-12)


@mpmath.workdps(30)
def test_lengths_by_elliptic_integrals():
    ellipse = 4 * 3 * mpmath.ellipe(1 - mpmath.mpf(1) / 9)
    assert length(Ellipse(half_width=3.0, half_height=1.0)) == pytest.approx(
        float(ellipse), rel=1e-14
    )
    wave = 4 * mpmath.sqrt(2) * mpmath.ellipe(mpmath.mpf(1) / 2)
    path = Sine(amplitude=-1.0, wave_number=1.0, extent=2 * math.pi)
    assert length(path) == pytest.approx(float(wave), rel=1e-14)


@pytest.mark.parametrize(
    ("path", "speed", "breaks"),
    [
        (Graph(y="x^2.5", start=0.0, end=1.0), lambda x: mpmath.sqrt(1 + 6.25 * x**3), (0, 1)),
        (
            Graph(y="max(x, 0)^2", start=-1.0, end=1.3),
            lambda x: mpmath.sqrt(1 + 4 * max(x, 0) ** 2),
            (-1, 0, 1.3),
        ),
        (
            Parametric(x="exp(p)", y="sin(20*p)", start=0.0, end=2.0),
            lambda p: mpmath.sqrt(mpmath.exp(2 * p) + 400 * mpmath.cos(20 * p) ** 2),
            tuple(np.linspace(0, 2, 41)),
        ),
        (
            FigureEight(half_width=2.0, half_height=0.7),
            lambda p: mpmath.sqrt(4 * mpmath.cos(p) ** 2 + 1.96 * mpmath.cos(2 * p) ** 2),
            tuple(np.linspace(0, 2 * math.pi, 9)),
        ),
    ],
    ids=["power", "kink of the curvature", "waves", "figure eight"],
)
@mpmath.workdps(30)
def test_lengths_by_quadrature(path, speed, breaks):
    assert length(path) == pytest.approx(float(mpmath.quad(speed, breaks)), rel=1e-13)


def test_nurbs_quarter_circle_is_exact():
    w = math.sqrt(0.5)
    path = Nurbs(
        points=((2.0, 0.0), (2.0, 2.0), (0.0, 2.0)),
        degree=2,
        weights=(1.0, w, 1.0),
        knots=(0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    )
    samples = sample(path, 33)
    np.testing.assert_allclose(np.hypot(samples.x, samples.y), 2.0, rtol=1e-14)
    np.testing.assert_allclose(samples.curvature, 0.5, rtol=1e-12)
    assert length(path) == pytest.approx(math.pi, rel=1e-14)


def test_closed_splines_of_points_on_a_circle_approach_it():
    """With points twice as close, curvatures are off by a quarter, places by a sixteenth."""
    bends, radii = [], []
    for count in (64, 128, 256):
        angle = np.linspace(0, 2 * math.pi, count, endpoint=False)
        path = Spline(points=np.column_stack([np.cos(angle), np.sin(angle)]), closed=True)
        samples = sample(path, 16 * count + 1)
        bends.append(np.max(np.abs(samples.curvature - 1)))
        radii.append(np.max(np.abs(np.hypot(samples.x, samples.y) - 1)))
        for one in ("x", "y", "curvature"):
            ends = getattr(samples, one)[[0, -1]]
            assert ends[0] == pytest.approx(ends[1], abs=1e-12)
        turned = samples.heading[-1] - samples.heading[0]
        assert turned == pytest.approx(2 * math.pi, rel=1e-12)
    assert np.array(bends[:-1]) / bends[1:] == pytest.approx(4.0, rel=5e-3)
    assert np.array(radii[:-1]) / radii[1:] == pytest.approx(16.0, rel=5e-3)
    # between points h apart a cubic is off by h⁴/384 times the fourth derivative; its bend by h²/12
    h = 2 * math.pi / 256
    assert radii[-1] == pytest.approx(h**4 / 384, rel=1e-3)
    assert bends[-1] == pytest.approx(h**2 / 12, rel=1e-3)


def test_reversed_path():
    path = Composite((Line((0.0, 0.0), (2.0, 0.0)), Arc(
        center=(2.0, 1.0), radius=1.0, start_angle=-math.pi / 2, angle=1.0)))  # fmt: skip
    back = reversed_path(path)
    one, other = sample(path, 40), sample(back, 40)
    np.testing.assert_allclose([other.x, other.y], [one.x[::-1], one.y[::-1]], atol=1e-13)
    # the joint itself belongs to either side
    clear = np.abs(one.arc_length - 2.0) > 1e-9
    np.testing.assert_allclose(other.curvature[::-1][clear], -one.curvature[clear], atol=1e-13)
    turned = np.cos(other.heading[::-1] - one.heading)
    np.testing.assert_allclose(turned, -1.0, rtol=1e-12)
    assert reversed_path(back) is path


def test_integral_along_a_path():
    """∫ κ² ds of a parabola y = x²/2 is ∫ (1 + x²)^(−5/2) dx."""
    path = Graph(y="x^2/2", start=0.0, end=2.0)
    exact = mpmath.quad(lambda x: (1 + x**2) ** -2.5, [0, 2])
    found = integrate(path, lambda p: curvature(path, p) ** 2)
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_parameter_at_of_a_parabola():
    """s = (x √(1 + x²) + asinh x)/2 for y = x²/2."""
    path = Graph(y="x^2/2", start=0.0, end=3.0)
    x = np.linspace(0, 3, 31)
    s = (x * np.sqrt(1 + x**2) + np.arcsinh(x)) / 2
    np.testing.assert_allclose(parameter_at(path, s), x, atol=3e-15)

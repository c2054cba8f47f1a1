"""Paths against closed forms: curvatures, lengths, Fresnel integrals, conics."""

import cmath
import math
from itertools import pairwise

import casadi as ca
import mpmath
import numpy as np
import pytest

from noslip.control.paths.clothoids import Clothoid, Polyline
from noslip.control.paths.composite import Composite, reversed_path
from noslip.control.paths.curves import Arc, Catenary, Circle, Ellipse, FigureEight, Line, Sine
from noslip.control.paths.expressions import Graph, Parametric
from noslip.control.paths.panels import integrate
from noslip.control.paths.path import curvature, length, parameter_at, sample
from noslip.control.paths.splines import Nurbs, Spline

#: Catenary with x0 = 1: s, x, y and Ψ = arccot κ (b = 1) [AntunesSigaudMoraes2010].
CATENARY = (
    (0.75811103221072, 1.2548833958419, 0.69962337867199, 2.1365747055643),
    (1.6768334985391, 1.9523756251867, 1.2890147522873, 1.8273599005872),
    (2.6600956686815, 2.8418495678938, 1.7051017090859, 1.6939912810851),
    (3.6556834262991, 3.789989619157, 2.0076330643946, 1.6403025665081),
    (4.6541227608926, 4.7603422853255, 2.2422473411871, 1.6148966696042),
)


def values(path, p):
    """x, y and curvature at a parameter."""
    symbol = ca.SX.sym("p")
    rows = ca.vertcat(path.position(symbol), curvature(path, symbol))
    return np.array(ca.Function("f", [symbol], [rows])(p)).ravel()


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


def test_arc_is_a_part_of_a_circle():
    arc = Arc(center=(0.0, 0.0), radius=2.0, start_angle=1.0, angle=-2.0)
    circle = Circle(radius=2.0, start_angle=1.0, turns=1 / math.pi, clockwise=True)
    one, other = sample(arc, 33), sample(circle, 33)
    np.testing.assert_allclose([one.x, one.y], [other.x, other.y], atol=1e-14)
    np.testing.assert_allclose(one.curvature, -0.5, rtol=1e-14)


def test_catenary_of_the_paper():
    path = Catenary(x0=1.0, extent=5.0)
    assert length(path) == pytest.approx(5.0, rel=1e-15)
    for s, x, y, psi in CATENARY:
        here = values(path, s)
        np.testing.assert_allclose(here[:2], [x, y], rtol=1e-12)
        assert here[2] == pytest.approx(-1 / (1 + s**2), rel=1e-13)
        assert math.pi / 2 - math.atan(here[2]) == pytest.approx(psi, rel=1e-12)


def test_catenary_hangs():
    samples = sample(Catenary(x0=1.7, extent=6.0), 50)
    np.testing.assert_allclose(samples.x, 1.7 * np.cosh(samples.y / 1.7), rtol=1e-13)


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


def test_ellipse_curvature_at_its_vertices():
    path = Ellipse(half_width=3.0, half_height=2.0)
    assert values(path, 0.0)[2] == pytest.approx(3 / 4, rel=1e-14)
    assert values(path, math.pi / 2)[2] == pytest.approx(2 / 9, rel=1e-14)


def test_figure_eight_crosses_itself_without_curvature():
    path = FigureEight(half_width=2.0, half_height=1.0, center=(1.0, 3.0))
    for p in (0.0, math.pi):
        np.testing.assert_allclose(values(path, p), [1.0, 3.0, 0.0], atol=1e-14)
    # two loops of opposite sense: it heads as at the start after one turn
    samples = sample(path, 201)
    assert samples.heading[-1] == pytest.approx(samples.heading[0], abs=1e-12)
    assert np.max(samples.x) == pytest.approx(3.0, abs=1e-3)
    assert np.max(samples.y) == pytest.approx(4.0, abs=1e-3)


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


def test_sides_that_are_used_up_by_their_blends():
    path = Polyline(points=((0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (0.0, 2.0)), radius=1.0)
    assert length(path) == pytest.approx(math.pi, rel=1e-14)


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


def test_nurbs_of_degree_one_less_than_its_points_is_a_bezier_curve():
    points = np.array([(0.0, 0.0), (1.0, 2.0), (3.0, -1.0), (4.0, 1.0)])
    path = Nurbs(points=points, degree=3)
    for p in np.linspace(0, 1, 7):
        bernstein = np.array([(1 - p) ** 3, 3 * p * (1 - p) ** 2, 3 * p**2 * (1 - p), p**3])
        np.testing.assert_allclose(values(path, p)[:2], bernstein @ points, atol=1e-14)


def test_spline_of_points_on_a_line_is_a_line():
    path = Spline(points=((0.0, 0.0), (3.0, 4.0), (6.0, 8.0)))
    np.testing.assert_allclose(sample(path, 11).curvature, 0.0, atol=1e-15)
    assert length(path) == pytest.approx(10.0, rel=1e-15)
    assert length(Spline(points=((0.0, 0.0), (3.0, 4.0)))) == pytest.approx(5.0, rel=1e-15)


def test_closed_spline_of_points_on_a_circle_is_nearly_one():
    angle = np.linspace(0, 2 * math.pi, 65)[:-1]
    path = Spline(points=np.column_stack([np.cos(angle), np.sin(angle)]), closed=True)
    samples = sample(path, 300)
    np.testing.assert_allclose(samples.curvature, 1.0, atol=2e-3)
    for one in ("x", "y", "curvature"):
        ends = getattr(samples, one)[[0, -1]]
        assert ends[0] == pytest.approx(ends[1], abs=1e-12)
    assert samples.heading[-1] - samples.heading[0] == pytest.approx(2 * math.pi, rel=1e-12)


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

"""Blends and splines whose curvature is differentiable as often as is asked for."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad

import noslip as ns
from noslip.control import sample
from noslip.control.path_geometry import curvature_jumps, length

CORNERS = ((0.0, 0.0), (12.0, 0.0), (15.0, 9.0), (30.0, 4.0))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_a_blend_has_as_many_continuous_derivatives_as_asked_for_and_no_more(order):
    path = ns.paths.Polyline(points=CORNERS, radius=1.5, blend="smooth", order=order)
    assert curvature_jumps(path, order) == []
    assert {jump.order for jump in curvature_jumps(path, order + 1)} == {order + 1}
    ends = sample(path, 3)
    assert abs(ends.x[-1] - 30.0) < 1e-12 and abs(ends.y[-1] - 4.0) < 1e-12
    # the largest curvature is that of the radius
    assert np.max(np.abs(sample(path, 20001).curvature)) == pytest.approx(1 / 1.5, rel=1e-5)


def test_a_smooth_blend_is_the_integral_of_its_curvature():
    """Position by quadrature of the heading, which is a polynomial: (4u(1 − u))³ integrated."""
    turn, radius = np.pi / 2, 2.0
    path = ns.paths.Polyline(
        points=((0.0, 0.0), (10.0, 0.0), (10.0, 10.0)), radius=radius, blend="smooth", order=2
    )
    whole = radius * turn * 35 / 16  # ∫₀¹ (4u(1 − u))³ du = 16/35
    start = path.breaks[1]
    assert path.breaks[2] - start == pytest.approx(whole, rel=1e-14)

    def heading(s):
        u = s / whole
        return whole / radius * 64 * (u**4 / 4 - 3 * u**5 / 5 + 3 * u**6 / 6 - u**7 / 7)

    for part in (0.2, 0.5, 0.9):
        s = part * whole
        x = start + quad(lambda w: np.cos(heading(w)), 0.0, s, epsabs=1e-14)[0]
        y = quad(lambda w: np.sin(heading(w)), 0.0, s, epsabs=1e-14)[0]

        p = ca.SX.sym("p")
        at = np.array(ca.Function("at", [p], [path.position(p)])(start + s)).ravel()
        assert np.max(np.abs(at - [x, y])) < 1e-12


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_a_spline_goes_through_its_points_and_is_as_smooth_as_asked_for(order, closed):
    points = ((0.0, 0.0), (5.0, 2.0), (9.0, 0.0), (7.0, -4.0))
    path = ns.paths.Spline(points=points, closed=closed, order=order)
    assert curvature_jumps(path, order) == []

    p = ca.SX.sym("p")
    at = ca.Function("at", [p], [path.position(p)])
    for place, knot in zip(points, path.breaks, strict=False):
        assert np.max(np.abs(np.array(at(knot)).ravel() - place)) < 1e-12
    if not closed:
        # not curved at its ends, so that steering starts straight
        ends = sample(path, 5).curvature[[0, -1]]
        assert np.max(np.abs(ends)) < 1e-9


def test_what_is_left_open_is_as_smooth_as_asked_for_and_what_is_given_stays():
    auto = ns.paths.Polyline(points=CORNERS, radius=1.5)
    assert auto.of_order(2) == ns.paths.Polyline(
        points=CORNERS, radius=1.5, blend="smooth", order=2
    )
    assert length(auto) == length(ns.paths.Polyline(points=CORNERS, radius=1.5, blend="circle"))
    given = ns.paths.Polyline(points=CORNERS, radius=1.5, blend="clothoid")
    assert given.of_order(2) is given
    spline = ns.paths.Spline(points=CORNERS)
    assert spline.of_order(0) is spline and spline.of_order(2).order == 2
    assert ns.paths.Spline(points=CORNERS, order=0).of_order(2).order == 0
    line = ns.paths.Line(start=(0.0, 0.0), end=(1.0, 0.0))
    assert line.of_order(5) is line


@pytest.mark.parametrize(
    "make",
    [
        lambda: ns.paths.Polyline(points=CORNERS, radius=1.0, blend="smooth", order=-1),
        lambda: ns.paths.Polyline(points=CORNERS, radius=1.0, blend="smooth", order=99),
        lambda: ns.paths.Spline(points=CORNERS, order=99),
    ],
)
def test_orders_that_there_are_not_are_refused(make):
    with pytest.raises(ns.SimulationError, match="order is") as caught:
        make()
    assert "order=2" in caught.value.fix


def test_orders_are_read_from_text():
    text = "polyline:points=0,0,4,0,4,3,radius=1,blend=smooth,order=3"
    assert ns.paths.parse_path(text) == ns.paths.Polyline(
        points=((0.0, 0.0), (4.0, 0.0), (4.0, 3.0)), radius=1.0, blend="smooth", order=3
    )
    assert ns.paths.parse_path("spline:points=0,0,4,0,4,3,order=2").order == 2

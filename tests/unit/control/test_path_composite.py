"""Composite paths: continuity at the joints, the parameter, a hundred pieces, and splines."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noslip import SimulationError
from noslip.control import sample
from noslip.control.path_geometry import length, tangent
from noslip.paths import Arc, Clothoid, Composite, Graph, Line, Spline

LINE = Line((0.0, 0.0), (2.0, 0.0))
ARC = Arc(center=(2.0, 1.0), radius=1.0, start_angle=-math.pi / 2, angle=1.2)


def turns(count, seed):
    """Lines and arcs in turn, each starting where the last ended."""
    rng = np.random.default_rng(seed)
    z, heading, paths = 0.0 + 0.0j, 0.0, []
    for _ in range(count // 2):
        end = z + 1.5 * np.exp(1j * heading)
        paths.append(Line((z.real, z.imag), (end.real, end.imag)))
        angle = rng.uniform(0.2, 2.0) * rng.choice([-1, 1])
        side = heading + math.copysign(math.pi / 2, angle)
        center = end + 0.7 * np.exp(1j * side)
        paths.append(Arc(center=(center.real, center.imag), radius=0.7,
                         start_angle=side + math.pi, angle=angle))  # fmt: skip
        z = center + 0.7 * np.exp(1j * (side + math.pi + angle))
        heading += angle
    return tuple(paths)


def test_length_and_breaks_are_those_of_the_parts():
    path = Composite((LINE, ARC))
    assert length(path) == pytest.approx(2 + 1.2, rel=1e-14)
    assert path.breaks == pytest.approx((0.0, 2.0, 3.2))
    nested = Composite((path, Line(*tangent_at_the_end(path))))
    assert nested.breaks == pytest.approx((0.0, 2.0, 3.2, 4.2))


def tangent_at_the_end(path):
    p = ca.SX.sym("p")
    ends = ca.Function("f", [p], [path.position(p), tangent(path, p)])
    r, t = (np.array(x).ravel() for x in ends(path.interval[1]))
    return tuple(r), tuple(r + t)


def test_a_part_is_not_evaluated_where_it_is_not_defined():
    """√x ends where the line starts; its derivatives would not be numbers on the other side."""
    root = Graph(y="sqrt(x)", start=4.0, end=1.0)
    path = Composite((root, Line((1.0, 1.0), (-9.0, -4.0))))
    samples = sample(path, 301)
    assert np.all(np.isfinite([samples.curvature, samples.curvature_rate]))
    p = ca.SX.sym("p")
    # backwards differentiation too
    slope = ca.Function("f", [p], [ca.gradient(path.position(p)[1], p)])
    assert np.isfinite(float(slope(path.interval[1])))


def test_a_hundred_parts():
    path = Composite(turns(100, seed=5))
    assert len(path.breaks) == 101
    assert length(path) == pytest.approx(sum(length(part) for part in path.paths), rel=1e-13)
    samples = sample(path, 2001)
    step = np.hypot(np.diff(samples.x), np.diff(samples.y))
    assert np.max(np.abs(step / (length(path) / 2000) - 1)) < 1e-2
    assert set(np.round(np.abs(samples.curvature), 9)) == {0.0, round(1 / 0.7, 9)}


def test_gap_at_a_joint(refuses):
    off = Line((2.0, 0.25), (3.0, 0.25))
    with refuses(SimulationError, "by 0.25 m, to (2, 0.25) m", "to paths[2] (Line), (2, 0) m"):
        Composite((Line((-1.0, 0.0), (0.0, 0.0)), LINE, off))


def test_corner_at_a_joint(refuses):
    with refuses(SimulationError, "-45°, from 0 to -0.785398 rad", "to paths[1] (Line), (2, 0) m"):
        Composite((LINE, Line((2.0, 0.0), (3.0, -1.0))))


def test_step_of_the_curvature_at_a_joint(refuses):
    Composite((LINE, ARC))
    with refuses(SimulationError, "jumps by 1 1/m, from 0 to 1", "(Line) to paths[1] (Arc)"):
        Composite((LINE, ARC), smooth_curvature=True)


def test_a_clothoid_makes_the_curvature_continuous():
    easing = Clothoid(start_curvature=0.0, end_curvature=1.0, length=0.8, start=(2.0, 0.0))
    p = ca.SX.sym("p")
    x, y = np.array(ca.Function("r", [p], [easing.position(p)])(0.8)).ravel()
    center = (x - math.sin(0.4), y + math.cos(0.4))
    arc = Arc(center=center, radius=1.0, start_angle=0.4 - math.pi / 2, angle=1.0)
    path = Composite((LINE, easing, arc), smooth_curvature=True)
    samples = sample(path, 401)
    assert np.max(np.abs(np.diff(samples.curvature))) < 2 * length(path) / 400 / 0.8


# splines


points_of_splines = st.lists(
    st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=2, max_size=12
)


def well_apart(points):
    steps = np.hypot(*np.diff(np.array(points), axis=0).T)
    return np.min(steps) > 0.3


@given(points_of_splines)
def test_a_spline_passes_its_points_and_is_smooth_there(points):
    assume(well_apart(points))
    path = Spline(points=points)
    p = ca.SX.sym("p")
    r = path.position(p)
    r1 = ca.jtimes(r, p, ca.SX(1))
    all_of_it = ca.Function("f", [p], [ca.vertcat(r, r1, ca.jtimes(r1, p, ca.SX(1)))])
    at = np.array([np.array(all_of_it(b)).ravel() for b in path.breaks])
    np.testing.assert_allclose(at[:, :2], points, atol=1e-12)
    # from the left of each inner point to the point itself
    step = 1e-9
    for k, b in enumerate(path.breaks[1:-1], start=1):
        before = np.array(all_of_it(b - step)).ravel()
        np.testing.assert_allclose(before, at[k], atol=1e-6)
    # the ends are not curved
    np.testing.assert_allclose(at[[0, -1], 4:], 0.0, atol=1e-10)

"""What holds for every path: derivatives by differences, arc length by chords, compiled code."""

import math

import casadi as ca
import numpy as np
import pytest

from noslip.base import find_member, members_of
from noslip.control import heading, path_geometry, sample
from noslip.control.path_geometry import (
    curvature,
    curvature_rate,
    length,
    parameter_at,
    reversed_path,
    stretch,
    tangent,
)
from noslip.engines import compile_native, trace_program
from noslip.paths import (
    AbstractPath,
    Arc,
    Catenary,
    Circle,
    Clothoid,
    Composite,
    Dubins,
    Ellipse,
    FigureEight,
    Graph,
    Line,
    Nurbs,
    Parametric,
    Polyline,
    ReedsShepp,
    Sine,
    Spline,
)

POINTS = ((0.0, 0.0), (2.0, 1.0), (3.0, -1.0), (5.0, 0.5), (5.5, 3.0), (2.0, 4.0))
WAY = Composite(
    (
        Line((0.0, 0.0), (2.0, 0.0)),
        Arc(center=(2.0, 1.0), radius=1.0, start_angle=-math.pi / 2, angle=1.2),
    )
)

ALL_PATHS: dict[str, AbstractPath] = {
    "line": Line((1.0, 2.0), (4.0, -2.0)),
    "circle": Circle(radius=2.0, center=(1.0, -1.0), start_angle=0.4),
    "clockwise": Circle(radius=0.7, turns=1.5, clockwise=True),
    "arc": Arc(center=(1.0, 2.0), radius=3.0, start_angle=2.0, angle=-1.3),
    "ellipse": Ellipse(half_width=3.0, half_height=1.0, start_angle=0.3),
    "figure-eight": FigureEight(half_width=2.0, half_height=1.0, center=(1.0, 1.0)),
    "catenary": Catenary(x0=1.3, extent=4.0),
    "sine": Sine(amplitude=-1.0, wave_number=1.0, extent=7.0),
    "clothoid": Clothoid(start_curvature=-1.0, end_curvature=2.0, length=5.0, start_heading=0.3),
    "polyline": Polyline(points=POINTS, radius=0.4),
    "smooth polyline": Polyline(points=POINTS, radius=0.2, blend="clothoid"),
    "spline": Spline(points=POINTS),
    "closed spline": Spline(points=POINTS, closed=True),
    "dubins": Dubins(end=(1.0, -2.0), end_heading=2.0, radius=1.5, start=(0.5, 0.2)),
    "reeds-shepp": ReedsShepp(end=(5.0, 2.0), end_heading=1.3, radius=1.2, start_heading=0.1),
    "nurbs": Nurbs(points=POINTS, degree=4, weights=(1.0, 2.0, 0.5, 1.0, 3.0, 1.0)),
    "graph": Graph(y="0.5*x^2 - log(x)", start=0.5, end=2.0),
    "falling graph": Graph(y="sin(x)", start=2.0, end=-1.0),
    "parametric": Parametric(x="0.5*cos(p) + p", y="exp(-p)*sin(3*p)", start=0.0, end=4.0),
    "composite": WAY,
    "reversed": reversed_path(WAY),
}


@pytest.fixture(params=ALL_PATHS.values(), ids=ALL_PATHS.keys())
def path(request):
    return request.param


def at(path, traced, p):
    """Values (rows, n) of a traced function of the parameter."""
    symbol = ca.SX.sym("p")
    return ca.Function("f", [symbol], [ca.densify(traced(path, symbol))])(ca.DM(p).T).full()


def position(path, p):
    return path.position(p)


def places(path, rng, count=40, clear=1e-3):
    """Random parameters away from the breaks."""
    breaks = np.array(path.breaks)
    p = rng.uniform(breaks[0], breaks[-1], count)
    distance = np.min(np.abs(p[:, None] - breaks), axis=1)
    return p[distance > clear * (breaks[-1] - breaks[0])]


def slope(path, traced, p, step):
    """Fourth-order central difference in the parameter."""
    f = [at(path, traced, p + k * step) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def test_breaks_rise_from_start_to_end(path):
    assert np.all(np.diff(path.breaks) > 0)
    assert path.interval == (path.breaks[0], path.breaks[-1])


def test_tangent_heading_and_stretch_are_the_slope_of_the_position(path, rng):
    p = places(path, rng)
    step = 1e-4 * (path.interval[1] - path.interval[0])
    r1 = slope(path, position, p, step)
    np.testing.assert_allclose(at(path, stretch, p)[0], np.hypot(*r1), rtol=1e-9)
    np.testing.assert_allclose(at(path, tangent, p), r1 / np.hypot(*r1), atol=1e-9)
    np.testing.assert_allclose(np.hypot(*at(path, tangent, p)), 1.0, rtol=1e-15)
    np.testing.assert_allclose(at(path, heading, p)[0], np.arctan2(r1[1], r1[0]), atol=1e-9)


def test_curvature_is_the_slope_of_the_tangent(path, rng):
    p = places(path, rng)
    step = 1e-4 * (path.interval[1] - path.interval[0])
    t, ds = at(path, tangent, p), at(path, stretch, p)[0]
    t1 = slope(path, tangent, p, step)
    turning = (t[0] * t1[1] - t[1] * t1[0]) / ds
    scale = 1 + np.max(np.abs(turning))
    np.testing.assert_allclose(at(path, curvature, p)[0], turning, atol=1e-8 * scale)


def test_curvature_rate_is_the_slope_of_the_curvature(path, rng):
    p = places(path, rng)
    step = 1e-4 * (path.interval[1] - path.interval[0])
    rate = slope(path, curvature, p, step)[0] / at(path, stretch, p)[0]
    scale = 1 + np.max(np.abs(rate))
    np.testing.assert_allclose(at(path, curvature_rate, p)[0], rate, atol=1e-8 * scale)


def test_length_is_the_limit_of_chords(path):
    """Chords on n and 2n equal parts of each piece, extrapolated from errors c n⁻² + d n⁻⁴."""

    def chords(num):
        total = 0.0
        for a, b in zip(path.breaks, path.breaks[1:], strict=False):
            r = at(path, position, np.linspace(a, b, num + 1))
            total += np.sum(np.hypot(*np.diff(r, axis=1)))
        return total

    coarse, middle, fine = (chords(num) for num in (200, 400, 800))
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    np.testing.assert_allclose(length(path), (16 * second - first) / 15, rtol=2e-12)


def test_samples_are_equally_far_apart_and_agree_with_the_traced_functions(path):
    samples = sample(path, 101)
    np.testing.assert_allclose(np.diff(samples.arc_length), length(path) / 100, rtol=1e-12)
    # a chord is shorter than its arc by κ² s³/24; the sharpest place may lie between two samples
    chord = np.hypot(np.diff(samples.x), np.diff(samples.y))
    arc, sharpest = length(path) / 100, 1.5 * np.max(np.abs(samples.curvature))
    assert np.all(chord <= arc * (1 + 1e-12))
    assert np.all(chord >= arc * (1 - (sharpest * arc) ** 2 / 24) - 1e-12)
    p = samples.parameter
    assert (p[0], p[-1]) == path.interval
    np.testing.assert_array_equal(at(path, position, p), [samples.x, samples.y])
    np.testing.assert_array_equal(at(path, curvature, p)[0], samples.curvature)
    np.testing.assert_array_equal(at(path, curvature_rate, p)[0], samples.curvature_rate)


def test_sampled_heading_has_no_jumps(path):
    samples = sample(path, 501)
    direction = at(path, heading, samples.parameter)[0]
    np.testing.assert_allclose(np.cos(samples.heading - direction), 1.0, atol=1e-14)
    assert np.max(np.abs(np.diff(samples.heading))) < 1.0
    assert -math.pi <= samples.heading[0] <= math.pi


def test_parameter_at_undoes_arc_length(path, rng):
    """The length of the way up to a parameter, by a path that ends there."""
    whole = length(path)
    s = rng.uniform(0.0, whole, (2, 3))
    p = parameter_at(path, s)
    assert p.shape == (2, 3)
    for one, arc in zip(p.ravel(), s.ravel(), strict=True):
        assert length(_UpTo(path, float(one))) == pytest.approx(arc, rel=1e-12, abs=1e-12)
    assert parameter_at(path, 0.0) == path.interval[0]
    assert parameter_at(path, whole) == pytest.approx(path.interval[1], rel=1e-14)


class _UpTo(AbstractPath):
    """A path up to a parameter."""

    __slots__ = ("end", "path")

    def __init__(self, path, end):
        self.path, self.end = path, end

    def position(self, p):
        return self.path.position(p)

    @property
    def breaks(self):
        return (*(p for p in self.path.breaks if p < self.end), self.end)


def test_compiled_code_agrees(path, rng):
    p, none = ca.SX.sym("p"), ca.SX(0, 1)
    everything = [f(path, p) for f in (position, heading, curvature, curvature_rate, stretch)]
    output = ca.densify(ca.vertcat(*everything))
    native = compile_native([trace_program("path", (p, none, none, none), output)])["path"]
    values = rng.uniform(*path.interval, 50)
    rows = native.map(values, *[np.zeros((50, 0))] * 2, np.zeros(0))
    expected = ca.Function("f", [p], [output])(ca.DM(values).T).full().T
    np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-11)


def test_equal_paths_are_one_key():
    assert Spline(points=POINTS) == Spline(points=[list(p) for p in POINTS])
    assert len({Spline(points=POINTS), Spline(points=np.array(POINTS)), Circle(radius=1)}) == 2


def test_every_path_of_the_text_form_is_among_these():
    known = {m for m in members_of(AbstractPath) if m.__module__.startswith("noslip.")}
    # what is read from a file is one of the others
    known.remove(find_member(AbstractPath, "csv"))
    assert known <= {type(path) for path in ALL_PATHS.values()}


@pytest.mark.parametrize("kind", ["cubic", "quintic", "nurbs", "polyline"])
def test_many_segments_are_looked_up_with_the_numbers_of_few(kind, monkeypatch):
    """The printed form and the table in memory choose the same coefficients."""
    x = np.linspace(0.0, 10.0, 60)
    points = tuple(zip(x.tolist(), np.sin(x).tolist(), strict=True))
    path = {
        "cubic": Spline(points=points),
        "quintic": Spline(points=points, order=2),
        "nurbs": Nurbs(points=points, degree=3),
        "polyline": Polyline(points=points[::2], radius=0.05, blend="smooth", order=1),
    }[kind]
    p = ca.SX.sym("p")
    where = np.linspace(*path.interval, 997)

    def sampled():
        r = path.position(p)
        rows = ca.vertcat(r, ca.jacobian(r, p), ca.jacobian(ca.jacobian(r, p), p))
        function = ca.Function("r", [p], [ca.densify(rows)])
        is_looked_up = any(
            function.instruction_id(k) == ca.OP_CALL for k in range(function.n_instructions())
        )
        return function(where[None, :]).full(), is_looked_up

    looked_up, is_looked_up = sampled()
    monkeypatch.setattr(path_geometry, "MANY", 10**9)
    printed, is_still = sampled()
    assert is_looked_up and not is_still
    np.testing.assert_allclose(looked_up, printed, rtol=1e-14, atol=1e-14)

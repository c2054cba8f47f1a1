"""Paths that cannot be driven or made: what, where and fix of every refusal."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip import SimulationError
from noslip.control import sample
from noslip.control.path_geometry import length, parameter_at
from noslip.paths import (
    Arc,
    Circle,
    Clothoid,
    FigureEight,
    Graph,
    Line,
    Nurbs,
    Parametric,
    Polyline,
    Spline,
)

SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))


def graph(y, start=-1.0, end=1.1):
    return Graph(y=y, start=start, end=end)


#: A path, and the three parts of what length() says of it.
SHAPES = {
    "cusp": (Parametric(x="p^2", y="p^3", start=-1.0, end=1.37),
        "the path has a cusp, or its parameter stands still: |r'| = ",
        "Parametric at parameter 0, (0, 0) m", "split the path here"),
    "cusp at the start": (Parametric(x="p^2", y="p^3", start=0.0, end=1.0), "the path has a cusp",
        "Parametric at parameter 0, (0, 0) m", "split the path here"),
    "standstill": (Parametric(x="1 + (p - 0.3)^3", y="2", start=-1.0, end=1.0),
        "its parameter stands still", "Parametric at parameter 0.3",
        "its point moves at every parameter"),
    "corner": (graph("abs(x)"), "its heading jumps by 90°", "Graph at parameter 0, (0, 0) m"),
    "corner of a spline": (Nurbs(points=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), degree=1),
        "the path has a corner: its heading jumps by 90°", "Nurbs at parameter 0.5, (1, 0) m",
        "round the corner"),
    "unbounded curvature": (graph("abs(x)^1.5"), "grows without bound", "at parameter 0, (0, 0) m"),
    "unbounded curvature at the start": (graph("x^1.5", start=0.0),
        "the curvature of the path grows without bound", "Graph at parameter 0, (0, 0) m",
        "start or end the path before this point"),
    "upright start": (graph("sqrt(x)", start=0.0), "grows without bound", "Graph at parameter 0"),
    "pole": (graph("1/x"), "the path runs off: |r'| grows without bound", "Graph at parameter 0"),
    "step": (graph("floor(x)", start=-0.5, end=0.7), "the path jumps by 1 m", "0, (0, -1) m"),
    "not defined": (graph("sqrt(x)"), "the path is not finite from parameter -1 to ",
        "Graph at parameter -0.9", "where roots, logarithms and quotients are defined"),
    "too many waves": (graph("sin(1e6*x)"), "segments do not resolve it", "Graph at parameter -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_cannot_be_driven(name, refuses):
    path, *parts = SHAPES[name]
    with refuses(SimulationError, *parts):
        length(path)


def test_a_jump_of_the_curvature_is_no_fault():
    assert math.isfinite(length(graph("max(x, 0)^2")))
    assert math.isfinite(length(graph("abs(x)^3")))


def test_rounded_data_is_no_fault():
    """A knot at which the heading jumps by 1e-7 rad."""
    path = Nurbs(points=((0.0, 0.0), (1.0, 0.0), (2.0, 1e-7)), degree=1)
    assert length(path) == pytest.approx(2.0, rel=1e-6)


def test_curvature_rate_that_is_not_finite(refuses):
    path = graph("x^2.5", start=0.0)
    with refuses(SimulationError, "rate of the path is not finite", "0 m from the start, (0, 0) m"):
        sample(path, 10)


@pytest.mark.parametrize(("s", "shown"), [(-0.1, "-0.1"), (7.0, "7"), (math.nan, "nan")])
def test_arc_length_off_the_path(s, shown, refuses):
    with refuses(SimulationError, f"{shown} m is not on the path, which", "parameter_at(Line, …)"):
        parameter_at(Line((0.0, 0.0), (3.0, 4.0)), np.array([1.0, s]))


def test_too_few_samples(refuses):
    with refuses(SimulationError, "requested number of samples is 1", "sample(Circle, count=…)"):
        sample(Circle(radius=1.0), 1)


#: What makes a path, and the three parts of why it does not.
MAKERS = {
    "radius": (lambda: Circle(radius=-2.0), "radius is -2, expected more than 0", "Circle", "posi"),
    "not a number": (lambda: Circle(radius="two"), "'two', which is not a finite number", "Circle"),
    "infinite": (lambda: Circle(radius=math.inf), "radius is inf", "Circle", "as a number"),
    "center": (lambda: Circle(radius=1.0, center=(1.0, 2.0, 3.0)),
        "center is (1.0, 2.0, 3.0), expected two numbers", "Circle", "center=(0.0, 1.0)"),
    "x of the center": (lambda: Circle(radius=1.0, center=(math.nan, 2.0)), "x of center is nan",
        "Circle", "as a number"),
    "line": (lambda: Line((1.0, 2.0), (1.0, 2.0)), "the line starts and ends at (1, 2) m", "Line"),
    "arc": (lambda: Arc(center=(0.0, 0.0), radius=1.0, start_angle=0.0, angle=0.0),
        "angle is 0, so the arc is a point", "Arc", "angle=1.57"),
    "figure eight": (lambda: FigureEight(half_width=1.0, half_height=0.0),
        "half_height is 0, so the path turns back on itself", "FigureEight",
        "positive or a negative"),
    "clothoid": (lambda: Clothoid(start_curvature=0.0, end_curvature=1.0, length=0.0),
        "length is 0, expected more than 0", "Clothoid", "positive"),
    "few points": (lambda: Polyline(points=((0.0, 0.0),), radius=1.0),
        "1 points are given, at least 2 are needed", "Polyline", "add to points"),
    "same points": (lambda: Spline(points=((0.0, 0.0), (1.0, 1.0), (1.0, 1.0))),
        "points[1] and points[2] are both at (1, 1) m", "Spline", "remove one"),
    "blend": (lambda: Polyline(points=SQUARE, radius=0.1, blend="circular"),
        "a corner cannot be blended by 'circular'", "Polyline(blend=…)", "did you mean 'circle'?"),
    "short side": (lambda: Polyline(points=SQUARE, radius=0.8), "its ends take 1.6 m", "(1, 1) m"),
    "turn back": (lambda: Polyline(points=((0.0, 0.0), (1.0, 0.0), (0.5, 0.0)), radius=0.1),
        "the path turns back on itself", "Polyline, at the corner (1, 0) m",
        "drive back on another one"),
    "closed twice": (lambda: Spline(points=(*SQUARE, SQUARE[0]), closed=True),
        "the first and the last point coincide", "Spline(points=…, closed=True)",
        "leave out the last point"),
    "degree": (lambda: Nurbs(points=SQUARE, degree=4), "1 to 3 for 4 points", "Nurbs(degree=…)"),
    "weights": (lambda: Nurbs(points=SQUARE, degree=2, weights=(1.0, 1.0)),
        "2 weights are given, expected 4 for 4 points of degree 2", "Nurbs(weights=…)",
        "give 4 weights, or none"),
    "negative weight": (lambda: Nurbs(points=SQUARE, degree=2, weights=(1.0, 1.0, -1.0, 1.0)),
        "weights[2] is -1, expected more than 0", "Nurbs", "positive"),
    "knots": (lambda: Nurbs(points=SQUARE, degree=2, knots=(0.0, 1.0)),
        "2 knots are given, expected 7 for 4 points of degree 2", "Nurbs(knots=…)",
        "give 7 knots, or none"),
    "falling knots": (lambda: Nurbs(points=SQUARE, degree=2, knots=(0, 0, 0, 2, 1, 1, 1)),
        "knots[4] is 1, less than the one before it, 2", "Nurbs(knots=…)", "sort the knots"),
    "repeated knots": (
        lambda: Nurbs(points=(*SQUARE, (3.0, 3.0)), degree=1, knots=(0, 0, 1, 1, 2, 3, 3)),
        "knot 1 is given more than 1 times, so the path jumps there", "Nurbs(knots=…)",
        "at most 1 times"),
    "equal knots": (lambda: Nurbs(points=SQUARE, degree=2, knots=(0, 0, 1, 1, 1, 1, 2)),
        "all knots from knots[2] to knots[4] are 1", "Nurbs(knots=…)", "give increasing knots"),
    "no text": (lambda: graph(3.0), "3.0 is not text", "Graph(y=…)", "an expression of x"),
    "unreadable": (lambda: graph("2*("), "'2*(' cannot be read: it ends where", "Graph(y=…)"),
    "unknown name": (lambda: Parametric(x="p", y="sin(pp)", start=0.0, end=1.0),
        "expression 'sin(pp)' uses 'pp', which is not known", "Parametric(y=…)",
        "did you mean 'p'?"),
    "nothing executed": (lambda: graph("__import__('os')"), "cannot be read", "Graph(y=…)"),
    "no interval": (lambda: graph("x", start=1.0, end=1.0), "path starts and ends at 1", "Graph"),
    "falling parameter": (lambda: Parametric(x="p", y="p", start=1.0, end=0.0),
        "the parameter falls from 1 to 0", "Parametric(start=…, end=…)", "reversed_path"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_paths_that_cannot_be_made(name, refuses):
    make, *parts = MAKERS[name]
    with refuses(SimulationError, *parts):
        make()


def test_a_reference_of_what_the_path_determines_is_refused(system_of, refuses):
    """It would start the reference beside the path, and the vehicle with it."""
    system = system_of("differential-robot")
    line = ns.paths.Line(start=(1.0, 0.25), end=(1.0, 2.0))
    follower = ns.Follower(reference={"base.y": 0.0, "caster.swivel.angle": 0.3})
    with refuses(ns.SimulationError, "'base.y', which the path determines", "follower", "casters"):
        ns.track(system, line, timing=ns.timing.Quintic(3.0), follower=follower)

"""The fastest motion: closed forms, a dense second way, limits that hold."""

import math
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noslip import SimulationError
from noslip.control import sample
from noslip.control.least_time import least_time
from noslip.control.path_geometry import curvature, length, parameter_at, samples_at
from noslip.control.path_limits import LimitRows
from noslip.paths import Circle, Ellipse, Line, Polyline, Sine, Spline
from noslip.timing import Limits, Trapezoidal

TOLERANCE = 1e-6  # relative, by which no limit may be exceeded anywhere
LINE = Line((0.0, 0.0), (3.0, 0.0))
SINE = Sine(amplitude=-1.0, wave_number=1.0, extent=12.0)
CORNERS = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (9.0, 3.0))
WINDING = {
    "sine": SINE,
    "ellipse": Ellipse(half_width=3.0, half_height=1.0),
    "circular corners": Polyline(points=CORNERS, radius=0.4),
    "clothoid corners": Polyline(points=CORNERS, radius=0.4, blend="clothoid"),
    "spline": Spline(points=((0.0, 0.0), (2.0, 1.0), (3.0, -1.0), (5.0, 0.5), (5.5, 3.0))),
}


def dense(timing, path, count=15):
    """s, κ, ṡ and s̈ at many places within every piece of the schedule."""
    start = timing.places()
    s = start[:-1, None] + np.diff(start)[:, None] * np.linspace(1e-6, 1 - 1e-6, count)
    z, pull = timing.along(s.ravel())
    p = ca.SX.sym("p")
    f = ca.Function("kappa", [p], [ca.densify(curvature(path, p))])
    kappa = f(ca.DM(parameter_at(path, s.ravel())).T).full()[0]
    return s.ravel(), kappa, np.sqrt(z), pull


def assert_limits_hold(timing, path, limits):
    s, kappa, speed, pull = dense(timing, path)
    if limits.speed is not None:
        assert np.max(speed) <= limits.speed * (1 + TOLERANCE)
    if limits.acceleration is not None:
        assert np.max(np.abs(pull)) <= limits.acceleration * (1 + TOLERANCE)
    if limits.lateral_acceleration is not None:
        lateral = np.abs(kappa) * speed**2
        assert np.max(lateral) <= limits.lateral_acceleration * (1 + TOLERANCE)
    if limits.total_acceleration is not None:
        total = np.hypot(pull, kappa * speed**2)
        assert np.max(total) <= limits.total_acceleration * (1 + TOLERANCE)
    if limits.rows is not None:
        a, b, c = limits.rows.at(s)
        terms = a * pull[:, None], b * speed[:, None] ** 2, c
        assert np.max(sum(terms) / sum(np.abs(x) for x in terms)) <= TOLERANCE


# closed forms


@pytest.mark.parametrize("speed", [0.3, 1.0, 1.5, 1.6, 4.0])
def test_straight_line_is_driven_as_a_trapezoid_or_triangle(speed):
    timing = least_time(LINE, Limits(speed=speed, acceleration=0.8))
    exact = Trapezoidal(speed=speed, acceleration=0.8).duration(LINE)
    assert timing.duration(LINE) == pytest.approx(exact, rel=1e-12)
    assert len(timing.times) <= 4


def test_circle_with_a_lateral_limit():
    path = Circle(radius=2.0, turns=1.3)
    limits = Limits(acceleration=0.8, lateral_acceleration=0.5)
    timing = least_time(path, limits)
    exact = Trapezoidal(speed=math.sqrt(0.5 * 2.0), acceleration=0.8).duration(path)
    assert timing.duration(path) == pytest.approx(exact, rel=1e-9)


def test_quadratic_drag():
    """m s̈ = F − d ṡ²: tanh while driving, tan while braking, and they meet at the switch."""
    m, d, F, whole = 2.0, 0.7, 1.5, 3.0
    grid = np.linspace(0.0, whole, 5)
    one = np.ones((5, 1))
    rows = LimitRows(
        arc_lengths=grid,
        inertia=np.hstack([m * one, -m * one]),
        squared=np.hstack([d * one, -d * one]),
        constant=np.hstack([-F * one, -F * one]),
        names=("driving force", "braking force"),
    )
    timing = least_time(LINE, Limits(rows=rows))
    assert_limits_hold(timing, LINE, Limits(rows=rows))
    # (F/d)(1 − 1/w) = (F/d)(e^(2dL/m)/w − 1) at the switch, w = e^(2ds/m)
    w = (1 + math.exp(2 * d * whole / m)) / 2
    z = F / d * (1 - 1 / w)
    rate, end = math.sqrt(F * d) / m, math.sqrt(F / d)
    exact = (math.atanh(math.sqrt(z) / end) + math.atan(math.sqrt(z) / end)) / rate
    # more segments are made until a few parts in 10⁶ of the time are lost
    assert math.sqrt(z) * (1 - 1e-5) < max(timing.speeds) <= math.sqrt(z) * (1 + 1e-7)
    for count in (20, 80, 500):
        found = least_time(LINE, Limits(rows=rows), count=count).duration(LINE)
        assert found == pytest.approx(exact, rel=5e-6)


# a second way


def forward_and_backward(path, limits, count=40_000):
    """Duration by the highest speed that acceleration allows from either side, on a dense grid."""
    # both sides of a place where the curvature jumps
    ends = path.breaks if isinstance(path, Polyline) else (0.0, length(path))
    num = count // (len(ends) - 1)
    s = np.concatenate([np.linspace(a + 1e-12, b - 1e-12, num) for a, b in pairwise(ends)])
    samples = samples_at(path, parameter_at(path, s), s)
    with np.errstate(divide="ignore"):
        z = np.minimum(limits.speed**2, limits.lateral_acceleration / np.abs(samples.curvature))
    z[0] = z[-1] = 0.0
    h = np.diff(s)
    for k in range(1, len(s)):
        z[k] = min(z[k], z[k - 1] + 2 * limits.acceleration * h[k - 1])
    for k in range(len(s) - 2, -1, -1):
        z[k] = min(z[k], z[k + 1] + 2 * limits.acceleration * h[k])
    v = np.sqrt(z)
    return np.sum(2 * h / (v[1:] + v[:-1]))


@pytest.mark.parametrize("name", WINDING)
def test_limits_hold_and_no_time_is_lost(name):
    path = WINDING[name]
    limits = Limits(speed=2.0, acceleration=0.8, lateral_acceleration=0.5)
    timing = least_time(path, limits)
    assert_limits_hold(timing, path, limits)
    end = timing.duration(path)
    exact = forward_and_backward(path, limits)
    assert -1e-8 < end / exact - 1 < 2e-4
    assert -1e-8 < least_time(path, limits, count=4000).duration(path) / exact - 1 < 5e-6
    # a trapezoid within the same limits is not faster
    sharpest = np.max(np.abs(sample(path, 5001).curvature))
    even = Trapezoidal(speed=min(2.0, math.sqrt(0.5 / sharpest)), acceleration=0.8)
    assert end <= even.duration(path) * (1 + 1e-9)


def test_motors_of_a_vehicle_with_two_wheels():
    """Forces of both wheels: (m s̈ ± (J/w)(κ s̈ + κ' ṡ²))/2 between −F and F."""
    m, arm, F = 20.0, 2.0, 8.0
    samples = sample(SINE, 801)
    kappa, rate = samples.curvature[:, None], samples.curvature_rate[:, None]
    sides = [(1, "left"), (-1, "right")]
    inertia = np.hstack([(m - side * arm * kappa) / 2 for side, _ in sides])
    squared = np.hstack([-side * arm * rate / 2 for side, _ in sides])
    rows = LimitRows(
        arc_lengths=samples.arc_length,
        inertia=np.hstack([inertia, -inertia]),
        squared=np.hstack([squared, -squared]),
        constant=np.full((801, 4), -F),
        names=("left motor", "right motor", "left brake", "right brake"),
    )
    limits = Limits(speed=3.0, rows=rows)
    timing = least_time(SINE, limits)
    assert_limits_hold(timing, SINE, limits)
    # some motor is at its limit, or the speed is, nearly always
    s, _, speed, pull = dense(timing, SINE)
    a, b, c = rows.at(s)
    load = np.max(a * pull[:, None] + b * speed[:, None] ** 2 - c, axis=1) / (2 * F)
    busy = (load > 0.99) | (speed > 0.999 * 3.0)
    assert np.mean(busy) > 0.95


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.floats(0.2, 3.0), st.floats(0.1, 3.0), st.floats(0.1, 3.0), st.floats(0.0, 1.0)
)  # fmt: skip
def test_limits_hold_for_any_numbers(speed, pull, lateral, entry):
    path = WINDING["circular corners"]
    limits = Limits(speed=speed, acceleration=pull, lateral_acceleration=lateral)
    try:
        timing = least_time(path, limits, start_speed=entry * speed, count=40)
    except SimulationError as error:
        # too fast to brake for the first corner: it says so, and a start from rest is possible
        assert "start speed" in error.what and entry > 0
        timing, entry = least_time(path, limits, count=40), 0.0
    assert timing.speeds[0] == pytest.approx(entry * speed, abs=1e-12)
    assert_limits_hold(timing, path, limits)
    gentler = Limits(speed=speed, acceleration=0.9 * pull, lateral_acceleration=lateral)
    if entry == 0:
        assert timing.times[-1] <= least_time(path, gentler, count=40).times[-1] * (1 + 1e-9)

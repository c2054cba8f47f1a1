"""Timing laws: they bring one to the end in time, their acceleration is the rate of their speed."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from noslip.base import members_of
from noslip.control import AbstractTimingPlan
from noslip.control.path_geometry import curvature, curvature_rate, length, stretch
from noslip.control.timing_laws import acceleration
from noslip.paths import Circle, Ellipse, Line
from noslip.timing import (
    AbstractTiming,
    ConstantEnergy,
    ConstantSpeed,
    LeastTime,
    Quintic,
    SCurve,
    SpeedProfile,
    SpeedSchedule,
    Trapezoidal,
)

ELLIPSE = Ellipse(half_width=3.0, half_height=1.0)
WHOLE = length(ELLIPSE)
PLACES = tuple(float(s) for s in np.linspace(0.0, WHOLE, 6))

ALL_TIMINGS: dict[str, AbstractTiming] = {
    "quintic": Quintic(duration=7.0),
    "constant speed": ConstantSpeed(speed=1.5),
    "constant energy": ConstantEnergy(total_speed=2.0, radius_of_gyration=0.8),
    "trapezoid": Trapezoidal(speed=1.5, acceleration=0.7),
    "triangle": Trapezoidal(speed=9.0, acceleration=0.7),
    "s-curve": SCurve(speed=1.5, acceleration=0.7, jerk=2.0),
    "s-curve without full speed": SCurve(speed=9.0, acceleration=0.7, jerk=2.0),
    "s-curve without full acceleration": SCurve(speed=9.0, acceleration=50.0, jerk=2.0),
    "slow s-curve": SCurve(speed=0.3, acceleration=0.7, jerk=1.0),
    "schedule": SpeedSchedule(times=(0.0, 2.0, 3.0, 5.0), speeds=(0.0, WHOLE / 3, WHOLE / 3, 0.0)),
    "profile": SpeedProfile(arc_lengths=PLACES, speeds=(1.0, 2.0, 1.5, 1.5, 2.5, 0.5)),
    "profile from rest to rest": SpeedProfile(
        arc_lengths=PLACES, speeds=(0.0, 2.0, 1.5, 1.5, 2.5, 0.0)
    ),
    "profile of two pieces": SpeedProfile(arc_lengths=(0.0, 3.0, WHOLE), speeds=(0.0, 2.0, 0.0)),
    "profile of one piece": SpeedProfile(arc_lengths=(0.0, WHOLE), speeds=(0.0, 2.0)),
    "braking profile": SpeedProfile(arc_lengths=(0.0, WHOLE), speeds=(2.0, 0.0)),
}


@pytest.fixture(params=ALL_TIMINGS.values(), ids=ALL_TIMINGS.keys())
def timing(request):
    return request.param


def motion(timing, path):
    """(t, [s, p]) → ṡ, ṗ, s̈ as a CasADi function."""
    t, s, p = ca.SX.sym("t"), ca.SX.sym("s"), ca.SX.sym("p")
    kappa, rate, whole = curvature(path, p), curvature_rate(path, p), length(path)
    speed = timing.speed(t, s, kappa, whole)
    pull = acceleration(timing, t, s, kappa, rate, whole)
    return ca.Function("f", [t, ca.vertcat(s, p)], [speed, speed / stretch(path, p), pull])


def drive(timing, path, times):
    """s, p, ṡ and s̈ (4, n) at the given times."""
    f = motion(timing, path)

    def rates(t, x):
        return [float(v) for v in f(t, x)[:2]]

    start = [0.0, path.interval[0]]
    span = (0.0, float(times[-1]))
    run = solve_ivp(rates, span, start, "DOP853", times, rtol=1e-11, atol=1e-12, max_step=0.05)
    rest = [[float(f(t, x)[k]) for t, x in zip(run.t, run.y.T, strict=True)] for k in (0, 2)]
    return np.vstack([run.y, rest])


def test_the_end_is_reached_in_time(timing):
    end = timing.duration(ELLIPSE)
    s, p, _, _ = drive(timing, ELLIPSE, np.array([0.0, end]))
    assert s[-1] == pytest.approx(WHOLE, rel=2e-8)
    assert p[-1] == pytest.approx(ELLIPSE.interval[1], rel=2e-8)


def test_acceleration_is_the_rate_of_the_speed(timing):
    end = timing.duration(ELLIPSE)
    middle = np.linspace(0.013, 0.991, 23) * end
    step = 1e-4
    times = np.sort(np.concatenate([[0.0], middle - step, middle, middle + step]))
    _, _, speed, pull = drive(timing, ELLIPSE, times)
    at = np.searchsorted(times, middle)
    slope = (speed[at + 1] - speed[at - 1]) / (2 * step)
    # where the acceleration jumps, a difference is neither value
    smooth = np.abs(pull[at + 1] - pull[at - 1]) < 0.05
    assert np.sum(smooth) > 15
    np.testing.assert_allclose(pull[at][smooth], slope[smooth], atol=3e-6)


def test_speed_is_never_negative(timing):
    end = timing.duration(ELLIPSE)
    f = motion(timing, ELLIPSE)
    for t in np.linspace(-1.0, end + 1.0, 201):
        for s in np.linspace(-0.1, WHOLE + 0.1, 7):
            speed, _, pull = (float(v) for v in f(t, [s, 1.0]))
            assert speed >= -1e-12
            assert math.isfinite(pull)


@pytest.mark.parametrize("name", [n for n in ALL_TIMINGS if n.split()[0] not in ("constant",)])
def test_laws_that_end_at_rest_stay_there(name):
    timing = ALL_TIMINGS[name]
    f, end = motion(timing, ELLIPSE), timing.duration(ELLIPSE)
    speed, _, pull = (float(v) for v in f(end + 1.0, [WHOLE, 1.0]))
    if name not in ("profile", "profile of one piece"):
        assert (speed, pull) == (0.0, 0.0)


def test_every_law_of_the_text_form_is_among_these():
    own = {type(timing) for timing in ALL_TIMINGS.values()}
    members = members_of(AbstractTimingPlan)
    known = {m for m in members if m.__module__.startswith("noslip.")}
    assert known - {LeastTime} <= own


# closed forms


def test_quintic_is_its_polynomial():
    path = Line((0.0, 0.0), (3.0, 4.0))
    tau = np.linspace(0.0, 1.0, 21)
    s, _, _, pull = drive(Quintic(duration=4.0), path, 4.0 * tau)
    np.testing.assert_allclose(s, 5 * (10 * tau**3 - 15 * tau**4 + 6 * tau**5), atol=1e-10)
    exact = 5 / 16 * (60 * tau - 180 * tau**2 + 120 * tau**3)
    np.testing.assert_allclose(pull, exact, atol=1e-12)
    assert Quintic(60).duration(path) == 60


def test_trapezoid_and_triangle():
    path = Line((0.0, 0.0), (10.0, 0.0))
    assert Trapezoidal(speed=2.0, acceleration=1.0).duration(path) == pytest.approx(7.0)
    assert Trapezoidal(speed=9.0, acceleration=1.0).duration(path) == pytest.approx(2 * 10**0.5)
    s, _, speed, pull = drive(
        Trapezoidal(speed=2.0, acceleration=1.0), path, np.array([0.0, 1.0, 2.5, 6.0])
    )
    np.testing.assert_allclose(s, [0.0, 0.5, 3.0, 9.5], atol=1e-9)
    np.testing.assert_allclose(speed, [0.0, 1.0, 2.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(pull, [1.0, 1.0, 0.0, -1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("law", "end"),
    [
        # T = L/v + v/a + a/j
        (SCurve(speed=2.0, acceleration=1.0, jerk=2.0), 5 + 2 + 0.5),
        # full acceleration is not reached: T = L/v + 2 √(v/j)
        (SCurve(speed=0.5, acceleration=4.0, jerk=2.0), 20 + 1),
        # nor full speed: T = 4 (L/2j)^⅓
        (SCurve(speed=50.0, acceleration=50.0, jerk=2.0), 4 * (10 / 4) ** (1 / 3)),
    ],
)
def test_s_curve(law, end):
    assert law.duration(Line((0.0, 0.0), (10.0, 0.0))) == pytest.approx(end, rel=1e-14)


@pytest.mark.parametrize("name", [n for n in ALL_TIMINGS if "s-curve" in n])
def test_s_curve_keeps_its_limits(name):
    law = ALL_TIMINGS[name]
    times = np.linspace(0.0, law.duration(ELLIPSE), 400)
    f = motion(law, ELLIPSE)
    speed, pull = (np.array([float(f(t, [0, 0])[k]) for t in times]) for k in (0, 2))
    assert np.max(speed) <= law.top_speed * (1 + 1e-12)
    assert np.max(np.abs(pull)) <= law.acceleration * (1 + 1e-12)
    assert np.max(np.abs(np.diff(pull))) <= law.jerk * times[1] * (1 + 1e-9)


def test_profile_passes_its_speeds():
    law = ALL_TIMINGS["profile"]
    f = motion(law, ELLIPSE)
    for s, v in zip(law.arc_lengths, law.speeds, strict=True):
        assert float(f(1.0, [s, 0.0])[0]) == pytest.approx(v, rel=1e-14)
    # z = v² linear: constant acceleration from 1 to 3 m/s over 4 m takes 2 s
    even = SpeedProfile(arc_lengths=(0.0, 4.0), speeds=(1.0, 3.0))
    assert even.duration(Line((0.0, 0.0), (4.0, 0.0))) == pytest.approx(2.0, rel=1e-13)


def test_constant_speed():
    assert ConstantSpeed(speed=2.0).duration(Circle(radius=1.0)) == pytest.approx(math.pi)


# the tables of [AntunesSigaudMoraes2010]


@pytest.mark.parametrize(
    ("m", "T", "b", "R", "period"),
    [
        (1.0, 0.5, 1.0, 1.0, 8.88576587631673),
        (1.7, 2.3, 0.4, 0.9, 3.76193493892338),
        (2.0, 3.0, 0.7, 5.0, 18.3148834261016),
    ],
)
def test_circle_at_constant_energy(m, T, b, R, period):
    law = ConstantEnergy(total_speed=math.sqrt(2 * T / m), radius_of_gyration=b)
    assert law.duration(Circle(radius=R)) == pytest.approx(period, rel=1e-14)

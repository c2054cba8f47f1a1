"""Kinks of a motion are known as times, and steps of a simulation end on them."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.control.path_geometry import arc_table, curvature, integrate
from noslip.timing import AbstractTiming, SpeedSchedule

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
LINE = ns.paths.Line((0.0, 0.0), (5.0, 0.0))
CORNER = ns.paths.Polyline(
    points=((0.0, 0.0), (4.0, 0.0), (4.0, 3.0)), radius=1.0, blend="clothoid"
)
SPLINE = ns.paths.Spline(points=((0.0, 0.0), (2.0, 1.0), (4.0, 0.0), (6.0, 2.0)))
NURBS = ns.paths.Nurbs(
    points=((0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (4.0, 1.0), (5.0, 2.0), (7.0, 2.0)), degree=4
)
BOTH = ns.paths.Composite(
    paths=(
        ns.paths.Line((0.0, 0.0), (2.0, 0.0)),
        ns.paths.Clothoid(start_curvature=0.0, end_curvature=0.8, length=2.0, start=(2.0, 0.0)),
    ),
    smooth_curvature=True,
)
PIECES = {"corner": CORNER, "spline": SPLINE, "nurbs": NURBS, "composite": BOTH}
PIECES["backwards"] = ns.paths.reversed_path(CORNER)
TIMINGS = {
    "trapezoid": ns.timing.Trapezoidal(speed=0.5, acceleration=0.3),
    "s-curve": ns.timing.SCurve(speed=0.5, acceleration=0.3, jerk=0.5),
    "quintic": ns.timing.Quintic(20.0),
    "constant speed": ns.timing.ConstantSpeed(0.4),
    "constant energy": ns.timing.ConstantEnergy(total_speed=0.4, radius_of_gyration=0.5),
}


@dataclasses.dataclass(frozen=True)
class Blind(AbstractTiming):
    """The same speeds from a law that does not know where its kinks are."""

    timing: AbstractTiming

    def speed(self, t, s, curvature, length):
        return self.timing.speed(t, s, curvature, length)

    def duration(self, path):
        return self.timing.duration(path)

    def break_times(self, path):
        return ()


def test_knots_of_ramps_are_those_of_the_closed_forms():
    ramp, cruise = 0.5 / 0.3, 5.0 / 0.5 - 0.5 / 0.3
    ends = (ramp, ramp + cruise, 2 * ramp + cruise)
    assert TIMINGS["trapezoid"].knots(LINE) == pytest.approx(ends)
    change, hold = 0.6, 0.5 / 0.3 - 0.6
    up = np.cumsum([change, hold, change])
    whole = TIMINGS["s-curve"].duration(LINE)
    expected = [*up, *(whole - up[::-1]), whole]
    assert TIMINGS["s-curve"].knots(LINE) == pytest.approx(expected)
    schedule = SpeedSchedule(times=(0.0, 2.0, 3.0, 13.0), speeds=(0.0, 0.7, 0.7, 0.0))
    assert schedule.knots(LINE) == pytest.approx((2.0, 3.0, 13.0))
    assert ns.timing.Quintic(7.0).knots(LINE) == (7.0,)
    assert ns.timing.ConstantSpeed(1.0).knots(LINE) == ()


def test_knots_of_a_profile_are_when_its_places_are_reached(system_of):
    places = (0.0, 1.0, 3.0, 5.0)
    profile = ns.timing.SpeedProfile(arc_lengths=places, speeds=(0.0, 0.8, 0.4, 0.0))
    first, second, last = profile.knots(LINE)
    assert first == pytest.approx(2 * 1.0 / 0.8)
    assert last == profile.duration(LINE) == pytest.approx(second + 2 * 2.0 / 0.4)
    run = ns.track(
        system_of("chaplygin-sleigh"),
        LINE,
        controller=ns.ControlLoop(inputs=("F_cs", "F_cphi")),
        timing=profile,
        samples=np.array([0.0, first, second, last]),
        rtol=1e-11,
        atol=1e-11,
    )
    assert run["path.arc_length"] == pytest.approx(places, abs=1e-9)


@pytest.mark.parametrize("path", PIECES.values(), ids=PIECES)
def test_breaks_are_passed_at_their_times(path):
    """By closed forms and by quadrature."""
    s = arc_table(path).arc_length(np.array(path.breaks))
    whole, inner = s[-1], s[1:-1]
    assert TIMINGS["constant speed"].break_times(path) == pytest.approx(inner / 0.4, abs=1e-10)
    tau = np.array(TIMINGS["quintic"].break_times(path)) / 20.0
    assert whole * tau**3 * (10 - 15 * tau + 6 * tau**2) == pytest.approx(inner, abs=1e-10)
    # the speed of constant energy depends on curvature: ∫ √(1 + b²κ²) ds as far as the break
    times = TIMINGS["constant energy"].break_times(path)
    for p, t in zip(path.breaks[1:-1], times, strict=True):
        until = integrate(
            path,
            lambda x, p=p: (
                ca.if_else(x < p, 1.0, 0.0) * ca.sqrt(1 + (0.5 * curvature(path, x)) ** 2)
            ),
        )
        assert t == pytest.approx(until / 0.4, abs=1e-9)
    trapezoid = TIMINGS["trapezoid"].break_times(path)
    end = TIMINGS["trapezoid"].duration(path)
    ramp = 0.5 / 0.3
    for place, t in zip(inner, trapezoid, strict=True):
        if ramp < t < end - ramp:
            assert t == pytest.approx(ramp / 2 + place / 0.5, abs=1e-9)


@pytest.mark.parametrize("path", [LINE, CORNER, SPLINE, BOTH], ids=type)
@pytest.mark.parametrize("name", ["trapezoid", "s-curve", "constant speed"])
def test_steps_end_on_kinks(agv, path, name):
    """Fewer steps are rejected, and the error is that of the tolerance: nothing leaks at a kink."""
    timing = TIMINGS[name]
    options = {"rtol": 1e-9, "atol": 1e-9, "follower": ns.Follower(**AXLE)}
    told = ns.track(agv, path, timing=timing, **options)
    assert told.tracking_error < 1e-9
    assert abs(told.path_errors.heading[-1]) < 1e-9
    if path is LINE and name == "constant speed":
        return
    blind = ns.track(agv, path, timing=Blind(timing), **options)
    assert told.rejections < blind.rejections / 2
    assert told.steps < blind.steps
    assert told.tracking_error < blind.tracking_error / 100


def test_closed_loop_with_kinks(agv):
    """Under feedback the same: from the path onto the path, to the tolerance."""
    for path in (CORNER, SPLINE):
        held = ns.track(
            agv,
            path,
            follower=ns.Follower(**AXLE),
            controller=ns.controllers.PoseTracking(**AXLE),
            timing=TIMINGS["trapezoid"],
        )
        assert held.tracking_error < 1e-8
        assert held.path_errors.distance[-1] < 1e-9

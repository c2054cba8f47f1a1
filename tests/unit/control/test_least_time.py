"""The least time within limits of the ground and of motors, found for a vehicle on a path."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip import SimulationError
from noslip.control.path_geometry import arc_table

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
EIGHT = ns.paths.FigureEight(half_width=2.0, half_height=1.0)


def test_friction_on_a_circle_is_used_up(agv):
    """d(v²)/ds = 2 √(a² − (v²/R)²) from rest: v² = a R sin(2 s/R), until no more is held."""
    R, a = 2.0, 0.2 * 9.81
    timing = ns.timing.LeastTime(friction=0.2).on(agv, ns.paths.Circle(radius=R))
    s, v = timing.places(), np.array(timing.speeds)
    rising = s < math.pi * R / 4
    assert v[rising] ** 2 == pytest.approx(a * R * np.sin(2 * s[rising] / R), abs=1e-4 * a * R)
    assert np.max(v) ** 2 == pytest.approx(a * R, rel=1e-6)
    # ∫ ds/v over both ramps is √(R/a) B(1/4, 1/2)/2, and the rest is driven at √(a R)
    ramps = math.gamma(0.25) * math.gamma(0.5) / math.gamma(0.75) / 2
    assert timing.times[-1] == pytest.approx((ramps + 1.5 * math.pi) * math.sqrt(R / a), rel=2e-5)


@pytest.mark.parametrize("friction", [0.05, 0.4])
def test_friction_is_never_exceeded(agv, friction):
    timing = ns.timing.LeastTime(speed=1.5, friction=friction).on(agv, EIGHT)
    start, table, used = timing.places(), arc_table(EIGHT), []
    for part in (0.001, 0.5, 0.999):
        at = start[:-1] + part * np.diff(start)
        z, u = timing.along(at)
        used.append(np.hypot(u, table.curvature(table.parameter(at)) * z) / 9.81)
    assert np.max(used) <= friction * (1 + 1e-6)
    assert np.max(used) > 0.9999 * friction
    assert np.max(timing.speeds) <= 1.5 + 1e-9
    assert timing.duration(EIGHT) == pytest.approx(timing.times[-1])


def test_motors_and_ground_together(agv):
    """The torques of the run under all limits stay within theirs, and are used up."""
    timing = ns.timing.parse_timing("least-time:speed=1,friction=0.1,torque1=0.2,torque2=0.2")
    assert isinstance(timing, ns.timing.LeastTime) and timing.inputs == {
        "torque1": 0.2,
        "torque2": 0.2,
    }
    run = ns.track(agv, EIGHT, follower=ns.Follower(**AXLE), timing=timing, samples=2001)
    assert run.tracking_error < 1e-8
    for name in ("torque1", "torque2"):
        assert 0.199 < np.max(np.abs(run[name])) < 0.2001
    longer = [
        ns.track(
            agv,
            EIGHT,
            follower=ns.Follower(**AXLE),
            timing=ns.timing.LeastTime(speed=1.0, friction=0.1, **more),
        )
        for more in ({}, {"inputs": {"torque1": 0.1, "torque2": 0.1}})
    ]
    assert longer[0].t[-1] < run.t[-1] < longer[1].t[-1]


def test_motor_limits_of_a_steered_vehicle(system_of):
    tractor = system_of("tractor-trailer")
    path = ns.paths.Sine(amplitude=3.0, wave_number=0.15, extent=60.0)
    forces = {f"F_u{k}": 500.0 for k in (1, 2, 3)}
    result = ns.track(
        tractor,
        path,
        follower=ns.Follower(steering="steer.angle", wheelbase="l1"),
        timing=ns.timing.LeastTime(speed=3.0, inputs=forces),
        samples=2001,
    )
    most = max(np.max(np.abs(result[name])) for name in forces)
    assert 490.0 < most < 500.1
    assert result.tracking_error < 1e-6


def test_what_cannot_be_found_is_refused(agv, refuses):
    with refuses(SimulationError, "nothing limits the acceleration", "Limits", "acceleration"):
        ns.timing.LeastTime(speed=1.0).on(agv, EIGHT)
    with refuses(SimulationError, "friction is -1, expected more than 0", "LeastTime", "positive"):
        ns.timing.LeastTime(friction=-1.0).on(agv, EIGHT)
    with refuses(SimulationError, "no force input 'accel'", "'agv'", "torque1"):
        ns.timing.parse_timing("least-time:speed=1,accel=2").on(agv, EIGHT)
    with refuses(SimulationError, "speed is 'fast', which is not a number", "least-time", "1.5"):
        ns.timing.parse_timing("least-time:speed=fast")
    with refuses(SimulationError, "has no gravity", "'agv'", "lateral_acceleration"):
        ns.timing.LeastTime(friction=0.3).on(agv, EIGHT, parameters={"g": 0.0})

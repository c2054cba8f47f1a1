"""The fastest motion under motor limits uses all of some motor, and more than all of none."""

import numpy as np
import pytest

import noslip as ns
from noslip.control.least_time import motor_limits

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
FOLLOWS = ns.Follower(**AXLE)


@pytest.fixture(scope="module")
def agv():
    return ns.compile(ns.derive(ns.load("agv")))


def test_torques_of_the_fastest_lap_stay_within_the_motors(agv):
    path = ns.paths.Circle(radius=1.5)
    limits = {"torque1": 0.3, "torque2": 0.3}
    rows = motor_limits(agv, path, limits, follower=FOLLOWS)
    timing = ns.timing.least_time(path, ns.timing.Limits(speed=2.0, rows=rows))
    run = ns.track(agv, path, follower=ns.Follower(**AXLE), timing=timing, samples=2001)
    most = max(np.max(np.abs(run[name])) for name in limits)
    assert most < 0.3 * 1.02
    assert most > 0.3 * 0.9
    slow = ns.timing.Quintic(1.5 * timing.duration(path))
    easier = ns.track(agv, path, follower=ns.Follower(**AXLE), timing=slow)
    assert max(np.max(np.abs(easier[n])) for n in limits) < most


def test_on_a_line_it_is_bang_bang(agv):
    """Both wheels push the vehicle, and turn all three: τ = (m r + 3 I/r)/2 · a."""
    path = ns.paths.Line(start=(0.0, 0.0), end=(4.0, 0.0))
    limit = 0.2
    rows = motor_limits(agv, path, {"torque1": limit, "torque2": limit}, follower=FOLLOWS)
    p = agv.model.parameter_values()
    mass = p["m_platform"] + 3 * p["m_wheel"]
    inertia = (mass * p["r"] + 3 * p["I_spin"] / p["r"]) / 2
    assert np.abs(rows.inertia) == pytest.approx(inertia, rel=1e-10)
    assert np.max(np.abs(rows.squared)) < 1e-9
    timing = ns.timing.least_time(path, ns.timing.Limits(rows=rows))
    # half of it faster and faster, then slower and slower
    expected = 2 * np.sqrt(4.0 * inertia / limit)
    assert timing.duration(path) == pytest.approx(expected, rel=1e-10)


def test_unknown_inputs_are_refused(agv):
    path = ns.paths.Line(start=(0.0, 0.0), end=(4.0, 0.0))
    with pytest.raises(ns.SimulationError, match="no force input 'tork' to limit") as caught:
        motor_limits(agv, path, {"tork": 1.0}, follower=FOLLOWS)
    assert "agv" in caught.value.where and "torque1" in caught.value.fix

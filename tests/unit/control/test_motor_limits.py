"""The fastest motion under motor limits uses all of some motor, and more than all of none."""

import numpy as np
import pytest

import noslip as ns
from noslip.control.least_time import motor_limits

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
FOLLOWS = ns.Follower(**AXLE)


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


def test_unknown_inputs_are_refused(agv):
    path = ns.paths.Line(start=(0.0, 0.0), end=(4.0, 0.0))
    with pytest.raises(ns.SimulationError, match="no force input 'tork' to limit") as caught:
        motor_limits(agv, path, {"tork": 1.0}, follower=FOLLOWS)
    assert "agv" in caught.value.where and "torque1" in caught.value.fix

"""`LeastTime` under friction and load of each wheel, and limits of speeds."""

import numpy as np
import pytest

import noslip as ns

BEND = ns.paths.Polyline(points=((0, 0), (3, 0), (3, 2)), radius=1.0, blend="clothoid")


def timed(system, path, **limits):
    timing = ns.timing.LeastTime(**limits)
    return ns.track(system, path, timing=timing, samples=801)


@pytest.mark.slow
def test_no_wheel_slips_that_the_vehicle_as_a_whole_does_not(system_of):
    """The audit finds forces and loads by its own way; 1/cos(π/16) − 1 is 2 % within a piece."""
    robot, mu = system_of("differential-robot"), 0.2
    whole = timed(robot, BEND, friction=mu)
    each = timed(robot, BEND, wheel_friction=mu)
    assert np.max(ns.audit(robot, whole).required) > 1.2 * mu
    assert each.t[-1] > whole.t[-1]
    needed = np.max([wheel.demand for wheel in ns.audit(robot, each).loaded], axis=0)[:-1]
    assert np.max(needed) <= mu / np.cos(np.pi / 16)
    # at all times some wheel uses what it has, but where the acceleration switches
    assert np.quantile(needed, 0.05) > 0.99 * mu


@pytest.mark.slow
def test_loads_stay_above_what_is_asked(system_of):
    robot = system_of("differential-robot")
    line = ns.paths.Line(start=(0.0, 0.0), end=(2.0, 0.0))
    free = timed(robot, line, wheel_friction=3.0)
    asked = 0.5 * min(np.min(x) for x in loads(robot, free)) + 0.5 * 10.0
    held = timed(robot, line, wheel_friction=3.0, least_load=asked)
    least = min(np.min(x) for x in loads(robot, held))
    assert least == pytest.approx(asked, rel=2e-3) and held.t[-1] > free.t[-1]


def loads(robot, run):
    return [wheel.normal for wheel in ns.audit(robot, run).loaded]


def test_speeds_of_wheels_and_steerings_are_limited(system_of):
    """On a circle the outer wheel turns by v (1 + b / 2R) / r."""
    robot = system_of("differential-robot")
    values = robot.model.parameter_values()
    run = timed(robot, ns.paths.Circle(radius=2.0), acceleration=1.0, inputs={"right.rate": 5.0})
    assert np.max(np.abs(run["right.rate"])) == pytest.approx(5.0, rel=1e-9)
    lever = 1 + values["wheel_separation"] / 2 / 2.0
    assert np.max(run["base.vx"]) == pytest.approx(5.0 * values["wheel_radius"] / lever, rel=1e-9)


def test_wheels_without_a_known_load_are_refused(system_of, refuses):
    with refuses(ns.SimulationError, "no wheel has a known load", "least time", "three contacts"):
        line = ns.paths.Line(start=(0.0, 0.0), end=(2.0, 0.0))
        timed(system_of("vertical-disk"), line, wheel_friction=0.3)

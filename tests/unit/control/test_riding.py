"""What must be balanced follows paths under its balancing controller."""

import numpy as np
import pytest

import noslip as ns

BASES = {"whipple-bicycle": "frame", "balancing-robot": "base"}
CIRCLE = ns.Circle(radius=25.0, turns=0.3)


@pytest.mark.parametrize("name", BASES)
def test_a_steady_turn_on_a_circle_is_the_one_that_is_found_for_it(system_of, name):
    """On a circle the balance's operating point is exact: no force beyond its own, no error."""
    run = ns.track(system_of(name), CIRCLE)
    assert run.tracking_error < 1e-9
    assert "balanced by" in run.notes[-2] and "constant-speed" in run.notes[-1]
    for motor in (i.name for i in run.model.inputs):
        assert np.ptp(run[motor]) < 1e-7 * max(1.0, np.max(np.abs(run[motor])))


@pytest.mark.parametrize("name", BASES)
def test_it_comes_back_to_a_line(system_of, name):
    path, across = ns.Line(start=(0.0, 0.0), end=(50.0, 0.0)), f"{BASES[name]}.y"
    run = ns.track(system_of(name), path, start={across: 0.2})
    assert run.path_errors.distance[0] == pytest.approx(0.2, abs=1e-6)
    assert run.path_errors.distance[-1] < 1e-4
    # upright again, and as fast as asked for
    lean = next(c for c in run.columns if c in ("frame.lean", "base.pitch"))
    assert abs(run[lean][-1] - run[lean][0]) < 1e-4


def test_a_heavier_robot_is_held_under_a_sampled_loop(system_of):
    plant = ns.Plant(parameters={"mass": 24.0}, start={"base.y": 0.1})
    loop = ns.ControlLoop(controller="path", period=0.005)
    path = ns.Line(start=(0.0, 0.0), end=(20.0, 0.0))
    run = ns.track(system_of("balancing-robot"), path, controller=loop, plant=plant)
    assert not run.path_errors.lost and abs(run.path_errors.across[-1]) < 1e-2


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"controller": "pose"}, "falls unless it is balanced"),
        ({"timing": "quintic:30"}, "should go 0 m/s, but it can be balanced from 0.5 to 5 m/s"),
        ({"follower": ns.Follower(reverse=True)}, "contact points of the wheels"),
        ({"controller": ns.ControlLoop(limits={"left.torque": 1.0})}, "without limits"),
    ],
)
def test_what_would_fall_is_refused(system_of, options, what):
    with pytest.raises(ns.SimulationError, match=what):
        ns.track(system_of("balancing-robot"), CIRCLE, **options)


def test_a_bend_that_is_too_tight_is_refused_with_its_place(system_of):
    with pytest.raises(ns.SimulationError, match=r"0 m along the path .* lean or steer by"):
        ns.track(system_of("whipple-bicycle"), ns.Circle(radius=2.0), timing="constant-speed:4")

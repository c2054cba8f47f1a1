"""Plans of what falls over: their feedback, against exact motions from nearby states."""

import numpy as np
import pytest

import noslip as ns
from noslip.planning.planned import linearized


@pytest.fixture(scope="module")
def turn(system_of):
    robot = system_of("balancing-robot")
    goal = {"base.x": 1.0, "base.y": 0.2, "base.yaw": 0.4, "base.pitch": 0.0}
    limits = {"left.torque": 5.0, "right.torque": 5.0}
    plan = ns.plan(robot, goal=goal, limits=limits, minimize="effort", duration=2.5, intervals=50)
    return plan.refine()


def test_an_unstable_robot_is_held_on_its_plan(turn):
    assert turn.has_feedback
    assert turn.miss() <= 1e-3
    assert max(turn.excess.values()) <= 1e-6
    open_miss = abs(turn.open_run["base.pitch"][-1])
    assert open_miss > 10 * abs(turn.run["base.pitch"][-1])
    assert "without it the largest miss is" in turn.summary()


def test_the_feedback_of_a_plan_brings_back_what_started_beside_it(turn):
    system, start = turn.system, {"base.pitch": 2e-3, "base.y": 5e-3}
    options = {"duration": turn.duration, "start": start, "on_failure": "return"}
    held = ns.simulate(system, inputs=turn.feedback, **options)
    inputs = {
        name: ns.Table(times=turn.t, values=np.append(v, v[-1]), kind="hold")
        for name, v in turn.inputs.items()
    }
    left = ns.simulate(system, inputs=inputs, **options)
    assert abs(held["base.pitch"][-1]) < 0.03 < 10 * 0.03 < abs(left["base.pitch"][-1])
    assert np.max(np.abs(held["left.torque"])) <= 5.0


def test_steps_of_small_errors_are_those_of_exact_motions(turn):
    """Columns of F against differences of simulated intervals."""
    t, found = turn.ending
    states, at = turn.states, 3
    F = linearized(t, found.w, np.diff(turn.t)).F[at]
    names = list(states)
    start = {n: v[at] for n, v in states.items() if n not in ("base.roll", "t")}
    inputs = {n: v[at] for n, v in turn.inputs.items()}
    step = float(np.diff(turn.t)[at])
    for name in ("base.pitch", "base.wy", "left.rate"):
        ends = [
            ns.simulate(
                turn.system,
                duration=step,
                start=start | {name: start[name] + side},
                inputs=inputs,
            )
            for side in (1e-5, -1e-5)
        ]
        for k, seen in enumerate(names):
            if seen not in ("base.roll", "t"):
                slope = (ends[0][seen][-1] - ends[1][seen][-1]) / 2e-5
                assert F[k, names.index(name)] == pytest.approx(slope, abs=2e-6)

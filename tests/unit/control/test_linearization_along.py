"""The linearization along a motion, against differences of the compiled rates."""

from functools import partial

import numpy as np
import pytest

import noslip as ns
from noslip.control.lqr import linearize_along
from noslip.motions import PathMotion, TrailerMotion

SINE = ns.paths.Sine(amplitude=3.0, wave_number=0.1, extent=60.0)
STEERING = {"steering": "steer.angle", "wheelbase": "l1"}

#: Motions that speed up and turn: a vehicle with motors, a speed input with its rate, an arm.
MOTIONS = {
    "agv": PathMotion(
        path=ns.paths.Sine(amplitude=0.5, wave_number=1.0, extent=9.0),
        timing=ns.timing.Quintic(4.0),
        point=(0.0, "-a", 0.0),
        direction=(0.0, 1.0, 0.0),
    ),
    "tractor-trailer": TrailerMotion(
        path=SINE,
        timing=ns.timing.Quintic(8.0),
        hinge="hinge.angle",
        hitch="c",
        trailer="l2",
        **STEERING,
    ),
    "manipulator-2r": ns.motions.ExpressionMotion(
        coordinates={"joint1.angle": "0.3 + 0.5*sin(t)", "joint2.angle": "0.9 - 0.4*cos(2*t)"}
    ),
}


def reference_run(system, motion, times):
    """The motion itself, driven open loop from its own start, so short that no error grows."""
    follow = ns.motions.FollowMotion(
        motion=motion, reference_start=np.zeros(len(system.coordinates))
    )
    begin = ns.start_on_motion(system, follow, {}, system.parameters())
    law = ns.controllers.Tracking(
        motion=motion, controller=ns.controllers.FeedForward(), reference_start=begin.q, limits={}
    )
    options = {"duration": times[-1], "samples": times, "rtol": 1e-12, "atol": 1e-12}
    return begin, ns.simulate(system, start=begin, inputs=law, **options)


def differences(f, x):
    """∂f/∂x, of order six."""
    weights = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60e-3
    columns = []
    for step in 1e-3 * np.eye(len(x)):
        values = [f(x + k * step) for k in (-3, -2, -1, 1, 2, 3)]
        columns.append(weights @ np.array(values))
    return np.array(columns).T


def rates_of(system, t, forces):
    """ẋ of x = [q; η; w] under inputs [u; ẇ], u the first of them."""
    moving = len(system.coordinates) + len(system.independent_speeds)
    work = np.zeros(system.num_states - moving)

    def rates(x, inputs):
        given = np.concatenate([inputs[:forces], x[moving:], inputs[forces:]])
        state = np.concatenate([x[:moving], work])
        found = system.rates(t, state, given, system.parameters())
        return np.concatenate([found[:moving], inputs[forces:]])

    return rates


@pytest.mark.parametrize("name", MOTIONS)
def test_errors_grow_as_differences_of_the_rates_say(system_of, name):
    system, motion = system_of(name), MOTIONS[name]
    times = np.linspace(0.0, 1.2, 4)
    begin, run = reference_run(system, motion, times)
    line = linearize_along(system, motion, reference_start=begin.q, duration=1.2, samples=4)
    speeds = [i.name for i in system.model.speed_inputs]
    states = [s.name for s in (*system.coordinates, *system.independent_speeds)] + speeds
    inputs = [i.name for i in system.model.inputs] + [f"{w}_rate" for w in speeds]
    for k, t in enumerate(times):
        x, c = (np.array([run[n][k] for n in names]) for names in (states, inputs))
        f = rates_of(system, t, len(system.model.inputs))
        A = differences(partial(f, inputs=c), x)
        B = differences(partial(f, x), c)
        T, spin = np.eye(len(x)), np.zeros((len(x), len(x)))
        if name != "manipulator-2r":
            # places along the axes of the base, which is the first joint and turns
            cos, sin, turning = np.cos(x[2]), np.sin(x[2]), f(x, c)[2]
            T[:2, :2] = [[cos, sin], [-sin, cos]]
            spin[:2, :2] = [[0.0, turning], [-turning, 0.0]]
        for found, expected in ((line.A[k], spin + T @ A @ T.T), (line.B[k], T @ B)):
            size = max(1.0, np.max(np.abs(expected)))
            assert found == pytest.approx(expected, abs=1e-10 * size)

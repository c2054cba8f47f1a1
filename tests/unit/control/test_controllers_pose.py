"""Pose tracking brings a vehicle back to its path, continuous, sampled and saturated."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.control.controlled_runs import track
from noslip.controllers import PoseTracking
from noslip.paths import Circle, Line, Sine
from noslip.timing import ConstantSpeed

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}


def free_motion(roots, t):
    """y of Π (d/dt − root) y = 0 from y = 1, all its derivatives zero."""
    powers = np.vander(roots, increasing=True).T
    weights = np.linalg.solve(powers, np.eye(len(roots))[0])
    return np.real(np.exp(np.outer(t, roots)) @ weights)


def trailing_caster(reverse, angle=0.0):
    """The axle, with a caster that trails."""
    behind = angle + (math.pi if reverse else 0.0)
    return ns.Follower(reverse=reverse, reference={"bracket.angle": behind}, **AXLE)


@pytest.mark.parametrize("reverse", [False, True])
def test_pose_errors_obey_their_equations(agv, reverse):
    """(d/dt + kv)(d/dt + kx) ahead, and (d/dt + kv)(y″ + kθ v y′ + ky v² y) across."""
    v = 0.5
    request = {
        "timing": ConstantSpeed(v),
        "controller": PoseTracking(),
        "duration": 10.0,
        "rtol": 1e-12,
        "atol": 1e-12,
        "follower": trailing_caster(reverse),
    }
    line = Line(start=(0.0, 0.0), end=(9.0, 0.0))
    base = track(agv, line, **request)
    start = {name: float(base[name][0]) for name in ("platform.x", "platform.y")}
    ahead = track(agv, line, start=start | {"platform.x": start["platform.x"] - 0.1}, **request)
    expected = free_motion(np.array([-4.0, -1.0]), ahead.t)
    assert ahead.path_errors.along == pytest.approx(-0.1 * expected, abs=1e-9)
    beside = track(agv, line, start=start | {"platform.y": start["platform.y"] + 1e-4}, **request)
    roots = np.array([-4.0, *(v * np.roots([1.0, 3.0, 4.0]))])
    expected = free_motion(roots, beside.t)
    assert beside.path_errors.across == pytest.approx(1e-4 * expected, abs=2e-10)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_lyapunov_function_of_pose_tracking_decreases(agv, reverse):
    """V = ½(e_x² + e_y²) + (1 − cos e_θ)/ky, once the speeds are those of the law."""
    path = Sine(amplitude=0.5, wave_number=1.0, extent=9.0)
    request = {"timing": ConstantSpeed(0.4), "follower": trailing_caster(reverse)}
    base = track(agv, path, duration=0.1, **request)
    start = {
        "platform.x": base["platform.x"][0] - 0.3,
        "platform.y": base["platform.y"][0] + 0.4,
        "platform.angle": base["platform.angle"][0] + 1.2,
    }
    held = track(agv, path, controller=PoseTracking(kv=60.0), start=start, duration=20.0, **request)
    V = (
        0.5 * (held.path_errors.along**2 + held.path_errors.across**2)
        + (1 - np.cos(held.path_errors.heading)) / 4.0
    )
    later = held.t > 0.2
    assert V[0] > 0.2 and V[-1] < 1e-6
    assert np.max(np.diff(V[later])) < 1e-9


def test_pose_tracking_survives_saturation_and_sampling(agv):
    controller = PoseTracking(kv=5.0, **AXLE)
    shifted = {"platform.x": 2.1, "platform.y": 0.0}
    ends = {}
    for period, limit in ((0.0, math.inf), (0.0, 0.15), (0.02, 0.15)):
        limits = {"torque1": limit, "torque2": limit}
        result = track(
            agv,
            Circle(radius=2.0),
            follower=ns.Follower(**AXLE),
            controller=ns.ControlLoop(controller=controller, limits=limits, period=period),
            timing=ConstantSpeed(0.3),
            start=shifted,
            duration=40.0,
        )
        torque = np.max(np.abs(result["torque1"]))
        assert torque <= limit
        ends[period, limit] = result.path_errors.distance[-1]
    assert ends[0.0, math.inf] < 1e-4
    assert ends[0.0, 0.15] < 1e-3
    # a hold adds an offset of the order of the period, not a divergence
    assert ends[0.02, 0.15] < 5e-3


def test_the_carried_reference_stays_on_the_path(agv):
    """After half an hour it is where the path is, to about the tolerance."""
    path = Circle(radius=2.0, turns=60.0)
    run = track(
        agv,
        path,
        follower=ns.Follower(**AXLE),
        controller=PoseTracking(),
        timing=ConstantSpeed(0.4),
        start={"platform.x": 2.05},
        duration=1800.0,
    )
    # the axle on the circle, heading along it; the mass center is a ahead
    a, angle = run.parameters["a"], run["path.arc_length"] / 2.0
    expected = {
        "x": 2 * np.cos(angle) - a * np.sin(angle),
        "y": 2 * np.sin(angle) + a * np.cos(angle),
        "angle": angle,
    }
    for name, place in expected.items():
        assert run[f"reference.platform.{name}"] == pytest.approx(place, abs=2e-8)
    assert run.path_errors.distance[-1] < 2e-8
    # the path's own states are the closed form
    assert run["path.arc_length"] == pytest.approx(0.4 * run.t, abs=1e-8)


def test_pose_tracking_is_refused_where_it_cannot_work(system_of):
    tractor = system_of("tractor-trailer")
    with pytest.raises(
        ns.SimulationError, match="needs two degrees of freedom driven by forces"
    ) as caught:
        track(
            tractor,
            Line(start=(0.0, 0.0), end=(9.0, 0.0)),
            follower=ns.Follower(steering="steer.angle", wheelbase="l1"),
            controller=PoseTracking(),
            timing=ConstantSpeed(1.0),
        )
    assert "tractor-trailer" in caught.value.where and "steered vehicles" in caught.value.fix

"""Vehicles with a trailer come back to their path: backing up from a fold, and forward."""

import math

import casadi as ca
import numpy as np
import pytest
from backing_up import FOLDED, PATHS, STEERING, TRAILER, back_up

import noslip as ns
from noslip.control.controlled_runs import track
from noslip.controllers import FeedForward, TrailerTracking
from noslip.paths import Sine
from noslip.timing import ConstantSpeed


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("fold", [0.4, -0.4])
def test_backing_up_recovers_from_a_folded_start(system_of, path, fold):
    run, off = back_up(system_of("tractor-trailer"), path, TrailerTracking(**TRAILER), fold)
    assert np.max(np.abs(run["hinge.angle"] - run["reference.hinge.angle"])) < FOLDED
    assert np.max(np.abs(run["hinge.angle"])) < math.radians(70.0)
    assert run["tractor.vx"][-1] < -0.8
    for name, error in off.items():
        assert abs(error[-1]) < 1e-4, name
    assert np.max(np.abs(run["steer.angle"])) < 1.0


def test_the_trailer_follows_forward_too(system_of):
    """The base on the path, the trailer from a fold of 0.6 rad."""
    system = system_of("tractor-trailer")
    path = Sine(amplitude=3.0, wave_number=0.1, extent=90.0)
    run = track(
        system,
        path,
        follower=ns.Follower(**STEERING),
        controller=TrailerTracking(**TRAILER),
        timing=ConstantSpeed(2.0),
        start={"tractor.y": 1.0, "hinge.angle": 0.6},
        duration=40.0,
    )
    assert np.max(np.abs(run["hinge.angle"])) < FOLDED
    assert run.path_errors.distance[-1] < 1e-2
    assert abs(run["hinge.angle"][-1] - run["reference.hinge.angle"][-1]) < 1e-3


def test_the_motion_of_the_trailer_is_admissible(system_of):
    system = system_of("tractor-trailer")
    for path in PATHS.values():
        run, off = back_up(system, path, FeedForward(), 0.0, duration=10.0)
        assert all(np.max(np.abs(e)) < 1e-5 for e in off.values())
        p = run.parameters
        heading = run["tractor.angle"] + run["hinge.angle"]
        x = run["tractor.x"] - p["c"] * np.cos(run["tractor.angle"]) - p["l2"] * np.cos(heading)
        on_path = np.array(
            ca.Function("r", [s := ca.SX.sym("s")], [path.position(s)])(
                run["path.parameter"][None, :]
            )
        )
        assert x == pytest.approx(on_path[0], abs=1e-5)


def test_saturated_backing_up_holds_until_the_steering_is_too_slow(system_of):
    system, path = system_of("tractor-trailer"), PATHS["line"]
    forces = {f"F_u{k}": 1500.0 for k in (1, 2, 3)}
    for limit, folds in ((0.4, False), (0.2, True)):
        limits = {"steering_rate": limit} | forces
        run, off = back_up(system, path, TrailerTracking(**TRAILER), 0.3, limits=limits)
        assert np.max(np.abs(run["steering_rate"])) == limit
        assert (np.max(np.abs(run["hinge.angle"])) > FOLDED) == folds
        assert folds or abs(off["hinge.angle"][-1]) < 1e-3


def test_sampled_backing_up(system_of):
    """Looks at 20 Hz are enough to keep the trailer from folding."""
    controller = TrailerTracking(**TRAILER, kdelta=2.0)
    run, off = back_up(system_of("tractor-trailer"), PATHS["line"], controller, 0.3, period=0.05)
    assert np.max(np.abs(run["hinge.angle"])) < FOLDED
    assert abs(off["tractor.y"][-1]) < 0.02

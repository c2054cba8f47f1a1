"""Starts that give some of the named angles of an orientation, and leave the others to the rows."""

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import noslip as ns
from noslip.spatial import angles_from_quaternion, quaternion_from_angles, traced_angles

SEQUENCES = [
    "".join(axes)
    for axes in itertools.product("xyz", repeat=3)
    if axes[0] != axes[1] and axes[1] != axes[2]
]


@pytest.fixture(scope="module")
def bicycle():
    return ns.compile(ns.derive(ns.load("whipple-bicycle")))


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_angles_of_a_quaternion_are_those_of_scipy(sequence, rng):
    for quaternion in rng.normal(size=(20, 4)):
        quaternion /= np.linalg.norm(quaternion)
        expected = Rotation.from_quat(quaternion, scalar_first=True).as_euler(sequence.upper())
        angles = angles_from_quaternion(quaternion, sequence)
        assert np.max(np.abs(angles - expected)) < 1e-14
        back = np.array(quaternion_from_angles(angles, sequence))
        assert min(np.max(np.abs(back - quaternion)), np.max(np.abs(back + quaternion))) < 1e-15


def test_the_pitch_follows_from_lean_and_steer(bicycle):
    given = {"frame.lean": 0.3, "steer.angle": 0.2, "speed": 5.0}
    run = ns.simulate(bicycle, duration=0.01, start=given, samples=2)
    assert run["frame.lean"][0] == pytest.approx(0.3, abs=1e-14)
    assert run["steer.angle"][0] == pytest.approx(0.2, abs=1e-14)
    assert run["frame.yaw"][0] == pytest.approx(0.0, abs=1e-14)
    assert run["frame.pitch"][0] > 1e-3
    assert np.max(np.abs(run.position_residuals[0])) < 1e-15


def test_the_pitch_rate_follows_from_those_of_lean_and_steer(bicycle):
    given = {"frame.lean": 0.3, "steer.angle": 0.2, "speed": 5.0}
    given |= {"frame.lean_rate": 0.4, "steer.rate": -0.1}
    run = ns.simulate(bicycle, duration=2e-4, start=given, samples=3, rtol=1e-13, atol=1e-13)
    # a difference over three samples, exact to second order
    slope = (-3 * run["frame.lean"][0] + 4 * run["frame.lean"][1] - run["frame.lean"][2]) / 2e-4
    assert slope == pytest.approx(0.4, abs=1e-6)
    assert run["steer.rate"][0] == pytest.approx(-0.1, abs=1e-14)
    assert run.slip < 1e-14


def test_angles_that_need_not_move_stay_at_zero(bicycle):
    start = ns.complete_start(bicycle, {"frame.lean": 0.3, "speed": 5.0})
    expected = quaternion_from_angles([0.0, 0.3, 0.0], "zxy")
    assert np.max(np.abs(start.q[3:7] - expected)) < 1e-15


def test_angles_that_cannot_be_met_are_refused(bicycle, refuses):
    with refuses(ns.SimulationError, "the start breaks row", "whipple-bicycle", "leave out"):
        ns.complete_start(
            bicycle, {"frame.yaw": 0.0, "frame.lean": 0.3, "frame.pitch": 0.1, "steer.angle": 0.2}
        )


def test_a_speed_that_the_model_names_is_a_column(bicycle):
    run = ns.simulate(bicycle, duration=0.5, start={"speed": 4.6, "frame.wx": 0.3}, samples=5)
    assert run["speed"][0] == pytest.approx(4.6, rel=1e-14)
    assert np.array_equal(run["speed"], 0.3 * run["rear_wheel.rate"])
    assert run.columns["speed"][0] == "m/s"


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_traced_angles_are_the_angles(rng, sequence):
    symbol = ca.SX.sym("p", 4)
    traced = ca.Function("angles", [symbol], [traced_angles(symbol, sequence)])
    for quaternion in rng.normal(size=(20, 4)):
        quaternion /= np.linalg.norm(quaternion)
        angles = np.array(traced(quaternion)).ravel()
        assert np.max(np.abs(angles - angles_from_quaternion(quaternion, sequence))) < 1e-14

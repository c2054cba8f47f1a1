"""Starts that give some of the named angles of an orientation, and leave the others to the rows."""

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import noslip as ns
from noslip.algebra import angles_from_quaternion, quaternion_from_angles, traced_angles

SEQUENCES = [
    "".join(axes)
    for axes in itertools.product("xyz", repeat=3)
    if axes[0] != axes[1] and axes[1] != axes[2]
]


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


@pytest.fixture(scope="module")
def tops():
    """A body on a ball joint for each sequence of angles."""
    found = {}
    for sequence in SEQUENCES:
        b = ns.ModelBuilder("top", gravity=(0.0, 0.0, -9.81))
        b.body("top", mass=1.0, inertia=(0.1, 0.2, 0.3))
        angles = ns.joints.Angles(sequence=sequence, names=("a", "b", "c"))
        b.joint("top", ns.joints.Spherical(angles=angles), parent="world", child="top")
        found[sequence] = ns.compile(ns.derive(b.build()))
    return found


def turned_by_scipy(sequence, angles, rates):
    """Orientation, and the angular velocity in body axes by a central difference."""
    before, now, after = (
        Rotation.from_euler(sequence.upper(), np.array(angles) + h * np.array(rates))
        for h in (-1e-5, 0.0, 1e-5)
    )
    return now, (before.inv() * after).as_rotvec() / 2e-5


#: Angles beyond ±π, and middle ones beyond their usual range, with their rates.
BEYOND = [
    ({"b": -1.2}, {"b": 0.5, "c": -3.0}),
    ({"b": 2.1}, {"b": 0.5}),
    ({"b": 4.0}, {"a": 0.3, "b": 0.5}),
    ({"b": 1.2 + 2 * np.pi}, {"b": 0.5, "c": -3.0}),
    ({"a": 4.0, "b": 0.6}, {"b": 0.5, "c": 1.0}),
    ({"a": 0.4, "b": -4.5, "c": 40.0}, {"a": 0.1, "b": 0.5, "c": 1.0}),
    ({"b": -2.5, "c": -9.0}, {"a": 0.1, "b": 0.5, "c": 1.0}),
]


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("case", range(len(BEYOND)))
def test_rates_belong_to_the_angles_that_are_given(tops, sequence, case):
    """A start beyond the usual range is the orientation that it says, and turns as it says."""
    places, speeds = BEYOND[case]
    given = {f"top.{n}": x for n, x in places.items()}
    given |= {f"top.{n}_rate": x for n, x in speeds.items()}
    angles, rates = ([of.get(n, 0.0) for n in "abc"] for of in (places, speeds))
    there, omega = turned_by_scipy(sequence, angles, rates)
    start = ns.complete_start(tops[sequence], given)
    found = Rotation.from_quat(start.q, scalar_first=True)
    assert (found.inv() * there).magnitude() < 1e-14
    assert start.v == pytest.approx(omega, abs=1e-8)
    two = {name: [value, value] for name, value in given.items()}
    batch = ns.simulate_batch(
        tops[sequence], duration=1e-9, start=two, keep=["samples"], samples=2,
        columns=["top.wx", "top.wy", "top.wz"],
    )  # fmt: skip
    for k in range(2):
        first = [batch.samples[f"top.w{x}"][k, 0] for x in "xyz"]
        assert first == pytest.approx(start.v, abs=1e-14)


def test_a_disk_that_leans_to_the_other_side_falls_when_told_so(system_of):
    """Two ways to write the same orientation, two ways to write the same rate."""
    disk, spins = system_of("rolling-disk"), {"disk.spin_rate": -3.0}
    usual = {"disk.yaw": np.pi, "disk.tilt": 1.2, "disk.spin": -np.pi, "disk.tilt_rate": -0.5}
    for other in (
        {"disk.tilt": -1.2, "disk.tilt_rate": 0.5},
        {"disk.yaw": 0.0, "disk.tilt": -1.2, "disk.spin": 0.0, "disk.tilt_rate": 0.5},
    ):
        a, b = (ns.complete_start(disk, given | spins) for given in (usual, other))
        assert np.abs(a.q - b.q).max() < 1e-15 and np.abs(a.v - b.v).max() < 1e-15


def test_columns_begin_in_the_usual_range(system_of):
    """An orientation counts no turns: a column begins between −π and π and goes on from there."""
    start = {"disk.yaw": -5.0, "disk.tilt": 1.2, "disk.spin": 40.0, "disk.spin_rate": -9.0}
    run = ns.simulate(system_of("rolling-disk"), duration=1.0, start=start)
    assert run["disk.yaw"][0] == pytest.approx(-5.0 + 2 * np.pi, abs=1e-14)
    assert run["disk.spin"][0] == pytest.approx(40.0 - 12 * np.pi, abs=1e-13)
    assert run["disk.spin"][-1] < -np.pi and np.abs(np.diff(run["disk.spin"])).max() < 1.0

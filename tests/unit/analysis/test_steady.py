"""Steady motions against closed forms, and against simulations that must keep them."""

import math
import re

import numpy as np
import pytest
from pendulums import steady_precession_spin
from rolling import steady_spin_rate

import noslip as ns

CLOSED_FORM = 1e-12
STAYS = 1e-8


@pytest.mark.parametrize("tilt", [0.4, 1.0, 1.5, 2.2])
@pytest.mark.parametrize("yaw_rate", [-2.0, 0.7, 4.0])
def test_turns_of_a_disk_and_closed_form(tilt, yaw_rate, system_of):
    system = system_of("rolling-disk")
    p = system.model.parameter_values()
    motion = ns.steady(system, {"disk.tilt": tilt, "disk.yaw_rate": yaw_rate})
    expected = steady_spin_rate(
        tilt,
        yaw_rate,
        m=p["m"],
        ring=p["r"],
        tube=0.0,
        I_t=p["I_transverse"],
        I_a=p["I_axial"],
        g=p["g"],
    )
    assert motion.values["disk.spin_rate"] == pytest.approx(expected, rel=CLOSED_FORM)
    assert motion.values["disk.z"] == pytest.approx(p["r"] * math.sin(tilt), rel=CLOSED_FORM)
    assert motion.family == 0 and motion.residual < 1e-12 * max(1.0, expected**2)


def test_turns_of_a_tire_and_closed_form(system_of):
    system = system_of("torus")
    p = system.model.parameter_values()
    given = {"tire.tilt": 1.1, "tire.yaw_rate": 1.3}
    motion = ns.steady(system, given)
    expected = steady_spin_rate(
        1.1, 1.3, m=p["m"], ring=p["R"], tube=p["rho"], I_t=p["I_t"], I_a=p["I_a"], g=p["g"]
    )
    assert motion.values["tire.spin_rate"] == pytest.approx(expected, rel=CLOSED_FORM)


def test_precession_of_a_top_and_closed_form(system_of):
    system = system_of("top")
    p = system.model.parameter_values()
    given = {"tip.nutation": 0.5, "tip.precession_rate": 3.0}
    motion = ns.steady(system, given)
    expected = steady_precession_spin(0.5, 3.0, **{k: p[k] for k in ("m", "h", "I_t", "I_a", "g")})
    assert motion.values["tip.spin_rate"] == pytest.approx(expected, rel=CLOSED_FORM)


def test_a_turn_is_linearized_with_the_frequency_of_its_nodding(system_of):
    """A run that starts a little beside nods at the eigenvalue's frequency."""
    system = system_of("rolling-disk")
    motion = ns.steady(system, {"disk.tilt": 1.2, "disk.yaw_rate": 1.0})
    line = ns.linearize(system, motion.start)
    frequency = max(line.eigenvalues.imag)
    turns = 3
    period = 2 * math.pi / frequency
    start = {n: motion.values[n] for n in ("disk.tilt", "disk.yaw_rate", "disk.spin_rate")}
    start["disk.tilt"] += 1e-4
    run = ns.simulate(
        system, duration=turns * period, start=start, samples=3, rtol=1e-12, atol=1e-12
    )
    assert run["disk.tilt"][-1] == pytest.approx(run["disk.tilt"][0], abs=1e-7)


@pytest.mark.parametrize(
    ("given", "find"),
    [
        ({"frame.lean": 0.2, "speed": 5.0}, ("steer_torque",)),
        ({"frame.lean": -0.5, "speed": 3.0}, ("steer_torque",)),
        ({"frame.yaw_rate": -0.5, "speed": 5.0}, ("steer_torque",)),
        ({"steer.angle": 0.1, "speed": 6.0}, ("steer_torque",)),
        (
            {"frame.lean": 0.3, "steer.angle": 0.1, "speed": 4.0},
            ("steer_torque", "lean_torque", "drive_torque"),
        ),
    ],
)
def test_turns_of_a_bicycle_go_on_as_they_are(given, find, system_of):
    system = system_of("whipple-bicycle")
    motion = ns.steady(system, given, find=find)
    assert set(motion.inputs) == set(find) and motion.family == 0
    # 5 s, or until rounding has grown by exp(12)
    growth = max(ns.linearize(system, motion.start, inputs=motion.inputs).eigenvalues.real)
    run = ns.simulate(
        system,
        duration=min(5.0, 12 / max(growth, 1e-9)),
        start=motion.start,
        inputs=motion.inputs,
        rtol=1e-13,
        atol=1e-13,
    )
    for name in ("frame.lean", "steer.angle", "frame.pitch", "frame.wz", "rear_wheel.rate"):
        assert np.ptp(run[name]) < STAYS, name
    for name in given:
        if name in run.columns:
            assert np.max(np.abs(run[name] - given[name])) < STAYS
    assert run.gap < 1e-13


def test_weight_and_centripetal_force_balance_in_a_turn(system_of):
    """Forces of the ground: their sum is the weight and m v²/R of the common mass center."""
    system = system_of("whipple-bicycle")
    p = system.model.parameter_values()
    motion = ns.steady(system, {"frame.lean": 0.25, "speed": 5.0}, find=["steer_torque"])
    run = ns.simulate(system, duration=0.01, start=motion.start, inputs=motion.inputs, samples=2)
    state = {**dict(zip([c.name for c in system.coordinates], motion.start.q, strict=True))}
    state |= dict(zip([s.name for s in system.speeds], motion.start.v, strict=True))
    instant = ns.evaluate(system, state, inputs=motion.inputs)
    force = sum(
        np.array([instant.reactions[wheel][k] for k in "xyz"])
        for wheel in ("rear_wheel", "front_wheel")
    )
    mass = p["mR"] + p["mB"] + p["mH"] + p["mF"]
    assert force[2] == pytest.approx(mass * p["g"], rel=1e-12)
    # the mass center circles with Ω about the middle of the contact's circle
    rate = motion.rates["frame.yaw"]
    x, y = run["rear_wheel.contact_x"][0], run["rear_wheel.contact_y"][0]
    middle = np.array([x, y + motion.values["speed"] / rate])
    center = center_of_mass(system, motion.start, p)
    assert force[:2] == pytest.approx(mass * rate**2 * (middle - center[:2]), rel=1e-10)


def center_of_mass(system, start, p):
    """Of the whole bicycle, from the poses of its bodies."""
    none = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, none])
    poses = system.poses(0.0, x, np.zeros(3), system.parameters()).reshape(-1, 12)
    order = [node.body.name for node in system.kinematics.tree.nodes]
    local = {
        "rear_frame": (p["mB"], (p["xB"], 0.0, -p["zB"] - p["rR"])),
        "front_frame": (p["mH"], (p["xH"] - p["w"] - p["c"], 0.0, -p["zH"])),
        "rear_wheel": (p["mR"], (0.0, 0.0, 0.0)),
        "front_wheel": (p["mF"], (0.0, 0.0, 0.0)),
    }
    total = np.zeros(3)
    for name, pose in zip(order, poses, strict=True):
        mass, at = local[name]
        total += mass * (pose[9:] + pose[:9].reshape(3, 3) @ at)
    return total / sum(mass for mass, _ in local.values())


def test_what_is_left_open_is_counted(system_of):
    """Straight running at any speed, turns at any speed and lean: families of 1 and 2."""
    system = system_of("whipple-bicycle")
    straight = ns.steady(system, {"frame.lean": 0.0}, guess={"speed": 4.0})
    assert straight.family == 1 and straight.values["speed"] == pytest.approx(4.0, abs=1e-12)
    turn = ns.steady(system, {}, guess={"speed": 5.0, "frame.lean": 0.2}, find=["steer_torque"])
    assert turn.family == 2
    assert "family with 2 parameters" in turn.text()


def test_a_start_nearby_is_a_guess(system_of):
    system = system_of("whipple-bicycle")
    first = ns.steady(system, {"frame.lean": 0.2}, guess={"speed": 6.0})
    second = ns.steady(system, {"frame.lean": 0.22}, guess=first.start)
    assert 5.5 < second.values["speed"] < first.values["speed"]


class TestErrors:
    def test_nothing_found(self, system_of, refuses):
        with refuses(ns.SimulationError, "no steady motion was found: ", "whipple-bicycle"):
            ns.steady(system_of("whipple-bicycle"), {"frame.lean": 0.2, "speed": 1.0})

    def test_what_is_missed_has_its_unit(self, system_of):
        with pytest.raises(ns.SimulationError) as caught:
            ns.steady(system_of("whipple-bicycle"), {"frame.lean": 0.2, "speed": 5.0})
        assert re.search(r"the rate of frame\.lean is still off by \S+ rad/s$", caught.value.what)

    def test_a_quaternion_cannot_be_held(self, system_of, refuses):
        with refuses(ns.SimulationError, "'disk.qw' cannot be prescribed", "rolling-disk"):
            ns.steady(system_of("rolling-disk"), {"disk.qw": 0.8, "disk.qx": 0.6})

    def test_a_wheel_that_lies_flat(self, system_of, refuses):
        with refuses(ns.SimulationError, "lies flat", "rolling-disk", "another configuration"):
            ns.steady(system_of("rolling-disk"), {"disk.yaw_rate": 1.0})

    def test_a_motion_where_its_start_is_meant(self, system_of):
        system = system_of("whipple-bicycle")
        motion = ns.steady(system, {"speed": 4.0})
        with pytest.raises(TypeError, match=r"guess=motion\.start"):
            ns.steady(system, {"speed": 5.0}, guess=motion)
        with pytest.raises(TypeError, match=r"motion\.start"):
            ns.linearize(system, motion)
        with pytest.raises(TypeError, match=r"(?s)^given is of type float.*pass names and values"):
            ns.steady(system, 5.0)

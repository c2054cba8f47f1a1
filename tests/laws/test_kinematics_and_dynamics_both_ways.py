"""Direct and inverse kinematics and dynamics undo each other, and the AGV's closed forms hold."""

import numpy as np
import pytest

import noslip as ns
from noslip.analysis.instant_kinematics import (
    direct_kinematics,
    inverse_dynamics,
    inverse_kinematics,
)

STATE = {"platform.angle": 0.7, "bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}


def test_direct_kinematics_of_the_agv(agv):
    """Eqs. (2), (3), (5), (8) of [SahaAngeles1989]."""
    p = agv.model.parameter_values()
    r, track, a = p["r"], p["l"], p["a"]
    rates = {"wheel1.rate": 0.3, "wheel2.rate": -0.2}
    motion = direct_kinematics(agv, STATE, accelerations_of=rates)["platform"]
    omega = r / track * (-5.0 + 8.0)
    i, j = motion.rotation[:, 0], motion.rotation[:, 1]
    velocity = -a * omega * i - r / 2 * (-13.0) * j
    assert motion.angular_velocity == pytest.approx([0.0, 0.0, omega], abs=1e-14)
    assert motion.velocity == pytest.approx(velocity, abs=1e-14)
    alpha = r / track * 0.5
    acceleration = -a * alpha * i - r / 2 * 0.1 * j + omega * np.cross([0, 0, 1.0], velocity)
    assert motion.acceleration == pytest.approx(acceleration, abs=1e-13)


def test_inverse_kinematics_of_the_agv(agv):
    """Eqs. (6), (7): joint rates and accelerations from an admissible twist, passive ones too."""
    start = {k: v for k, v in STATE.items() if k.endswith("angle")}
    motion = direct_kinematics(agv, STATE, accelerations_of={"wheel1.rate": 0.3})["platform"]
    found = inverse_kinematics(
        agv,
        start,
        body="platform",
        components=("vx", "vy", "wz"),
        velocity=[*motion.velocity[:2], motion.angular_velocity[2]],
        acceleration=[*motion.acceleration[:2], motion.angular_acceleration[2]],
    )
    instant = ns.evaluate(agv, STATE)
    for name, speed in instant.speeds.items():
        assert found.speeds[name] == pytest.approx(speed, abs=1e-12)
    assert found.accelerations["wheel1.rate"] == pytest.approx(0.3, abs=1e-12)
    assert found.accelerations["wheel2.rate"] == pytest.approx(0.0, abs=1e-12)
    assert np.max(np.abs(found.residual)) < 1e-14
    assert np.max(np.abs(found.acceleration_residual)) < 1e-13


def test_an_inadmissible_twist_is_reported_with_its_size(agv):
    """Eq. (6c) would average it away: a pure sideways speed has no motion at all."""
    found = inverse_kinematics(
        agv, {}, body="platform", point=(0.0, "-a", 0.0), components=("vx", "vy", "wz"),
        velocity=[0.2, 0.0, 0.0],
    )  # fmt: skip
    # The wheels' rates are zero; least squares of 3 × 2 with residual r finds 6 ε |r| κ/σ at most,
    # with the singular values σ of [0 0; R/2 R/2; L R/l −L R/l], turning weighted by a length L.
    size = agv.model.parameter_values()
    to_speed, to_turning = size["r"] / np.sqrt(2.0), np.sqrt(2.0) * size["r"] / size["l"]
    least, greatest = sorted((to_speed, agv.kinematics.length * to_turning))
    rates = 6 * np.finfo(float).eps * 0.2 * greatest / least**2
    off = np.abs(found.residual - [0.2, 0.0, 0.0])
    assert np.all(off < [1e-16, to_speed * rates, to_turning * rates])
    # the bracket's rate is the greatest: its pivot moves a + b sideways, its wheel trails by d
    assert max(map(abs, found.speeds.values())) < rates * max(
        1.0, to_turning * (1.0 + (size["a"] + size["b"]) / size["d"])
    )


def test_open_freedoms_and_unknown_names_are_errors(agv):
    for request, what, fix in (
        (
            {"body": "platform", "components": ("wz",), "velocity": [1.0]},
            "leave a degree of freedom open",
            "give more",
        ),
        ({"body": "platfrom", "velocity": [0.0] * 6}, "no body 'platfrom'", "platform"),
        ({"body": "platform", "components": ("vq",), "velocity": [1.0]}, "no component 'vq'", "vx"),
    ):
        with pytest.raises(ns.SimulationError, match=what) as caught:
            inverse_kinematics(agv, {}, **request)
        assert "agv" in caught.value.where and fix in caught.value.fix
    with pytest.raises(ns.SimulationError, match="no independent speed 'wheel9'") as caught:
        direct_kinematics(agv, {}, accelerations_of={"wheel9": 1.0})
    assert "agv" in caught.value.where and "wheel1.rate" in caught.value.fix
    with pytest.raises(ns.SimulationError, match="no force input 'torque9' to weight") as caught:
        inverse_dynamics(agv, {}, {}, weights={"torque9": 1.0})
    assert "agv" in caught.value.where and "torque1" in caught.value.fix


# arbitrary states of the vehicle on hills are at the border of its grid
@pytest.mark.parametrize("name", [name for name in ns.MODELS if name != "vehicle-on-hills"])
def test_direct_dynamics_undoes_inverse_dynamics(system_of, name):
    """Inputs for given accelerations give them back; what is unreachable is what is missing."""
    system = system_of(name)
    kin = system.kinematics
    rng = np.random.default_rng(6)
    for t, q in kin.probe.configurations(2):
        if t and any(row.origin == "motion" for row in kin.rows):
            continue
        state = dict(zip((c.name for c in kin.coordinates), q.tolist(), strict=True))
        speeds = {
            s.name: float(x)
            for s, x in zip(kin.independent_speeds, rng.normal(size=9), strict=False)
        }
        wanted = {
            s.name: float(x)
            for s, x in zip(kin.independent_speeds, rng.normal(size=9), strict=False)
        }
        found = inverse_dynamics(system, state | speeds, wanted)
        instant = ns.evaluate(system, state | speeds, inputs=found.inputs)
        number = ns.complete_start(system, state | speeds)
        assert number.speed_residual < 1e-9
        names = [s.name for s in kin.independent_speeds]
        if not set(names) <= set(instant.accelerations):
            continue
        got = np.array([instant.accelerations[n] for n in names])
        missing = np.linalg.solve(instant.mass_matrix, found.unreachable)
        expected = np.array([wanted[n] for n in names]) - missing
        assert got == pytest.approx(expected, abs=1e-10 * max(1.0, np.max(np.abs(expected))))


def test_weights_choose_among_redundant_inputs(system_of):
    system = system_of("chaplygin-sleigh")
    state = {"sleigh.vx": 0.5, "sleigh.rate": 0.8}
    wanted = {"sleigh.rate": 1.0}
    even = inverse_dynamics(system, state, wanted)
    dear = inverse_dynamics(system, state, wanted, weights={"tau_c": 1e8})
    assert abs(dear.inputs["tau_c"]) < 1e-6 < abs(even.inputs["tau_c"])
    assert np.max(np.abs(dear.unreachable)) < 1e-12


def test_joints_as_outputs(agv):
    """Driven wheels, or a wheel and the caster's pivot, determine all other speeds."""
    start = {k: v for k, v in STATE.items() if k.endswith("angle")}
    instant = ns.evaluate(agv, STATE)
    rates = {"wheel1.rate": 0.3, "wheel2.rate": -0.2}
    platform = direct_kinematics(agv, STATE, accelerations_of=rates)["platform"]
    both = {name: instant.speeds[name] for name in rates}
    found = inverse_kinematics(agv, start, joint_speeds=both, joint_accelerations=rates)
    for name, speed in instant.speeds.items():
        assert found.speeds[name] == pytest.approx(speed, abs=1e-12)
    assert found.accelerations["platform.rate"] == pytest.approx(
        platform.angular_acceleration[2], abs=1e-13
    )
    # through the caster: its own rates and those of a wheel give the other wheel's
    names = ("wheel1.rate", "bracket.rate")
    again = inverse_kinematics(
        agv,
        start,
        joint_speeds={n: instant.speeds[n] for n in names},
        joint_accelerations={n: found.accelerations[n] for n in names},
    )
    assert again.speeds == pytest.approx(found.speeds, abs=1e-11)
    assert again.accelerations == pytest.approx(found.accelerations, abs=1e-10)
    assert np.max(np.abs(again.residual)) < 1e-12
    # a frame and a joint that contradict each other
    odd = inverse_kinematics(
        agv,
        start,
        body="platform",
        components=("vx", "vy", "wz"),
        velocity=[*platform.velocity[:2], platform.angular_velocity[2]],
        joint_speeds={"wheel1.rate": -4.0},
    )
    assert odd.residual.shape == (4,) and np.max(np.abs(odd.residual)) > 0.1


def test_a_steering_rate_moves_a_vehicle_too(system_of):
    """A speed input is part of the motion: the steered wheel swings, its hub's speed stays."""
    tractor = system_of("tractor-trailer")
    state = {"tractor.vx": 1.5, "steer.angle": 0.3, "hinge.angle": -0.2}
    given = {"steering_rate": 0.4, "steering_rate_rate": -0.1}
    still, turned = (direct_kinematics(tractor, state, speed_inputs=w) for w in ({}, given))
    p = tractor.model.parameter_values()
    assert turned["tractor"].velocity == pytest.approx(still["tractor"].velocity, abs=1e-14)
    # ω = v tan δ / l1, so its rate has v δ̇ / (l1 cos² δ)
    change = turned["tractor"].angular_acceleration - still["tractor"].angular_acceleration
    assert change[2] == pytest.approx(1.5 * 0.4 / (p["l1"] * np.cos(0.3) ** 2), abs=1e-13)
    found = inverse_kinematics(
        tractor,
        {"steer.angle": 0.3, "hinge.angle": -0.2},
        joint_speeds={"tractor.vx": 1.5},
        speed_inputs=given,
    )
    assert found.speeds["steer.rate"] == pytest.approx(0.4)
    assert found.accelerations["tractor.rate"] == pytest.approx(
        turned["tractor"].angular_acceleration[2], abs=1e-13
    )


def test_wrong_requests_for_joints(agv):
    for request, what, fix in (
        ({"joint_speeds": {"wheel9.rate": 1.0}}, "no joint speed 'wheel9.rate'", "wheel1.rate"),
        (
            {"joint_speeds": {"wheel1.rate": 1.0}, "joint_accelerations": {"wheel2.rate": 1.0}},
            "a rate of 'wheel2.rate' is given, but not the speed itself",
            "joint_speeds",
        ),
        (
            {"joint_speeds": {"wheel1.rate": 1.0}},
            "leave a degree of freedom open",
            "more components",
        ),
        ({"body": "platform", "velocity": [1.0]}, "1 velocities are given for 6", "vx, vy"),
        (
            {"joint_speeds": {"wheel1.rate": 1.0}, "speed_inputs": {"steer": 1.0}},
            "no speed input 'steer'",
            "",
        ),
    ):
        with pytest.raises(ns.SimulationError, match=what) as caught:
            inverse_kinematics(agv, {}, **request)
        assert "agv" in caught.value.where and fix in caught.value.fix

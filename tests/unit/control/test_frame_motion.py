"""The tip of an arm on a curve: joints by integration, against the closed form of the two links."""

import math

import numpy as np
import pytest

import noslip as ns

TIP = {"x": "0.55 + 0.15*cos(t)", "y": "0.2 + 0.15*sin(t)"}
NEAR = {"joint1.angle": -0.3, "joint2.angle": 1.0}


def angles(x, y, p, bend=1.0):
    """Joints of two links that reach a place, by the law of cosines."""
    cos = (x**2 + y**2 - p["l1"] ** 2 - p["l2"] ** 2) / (2 * p["l1"] * p["l2"])
    second = bend * np.arccos(cos)
    first = np.arctan2(y, x) - np.arctan2(p["l2"] * np.sin(second), p["l1"] + p["l2"] * cos)
    return first, second


@pytest.mark.parametrize("bend", [1.0, -1.0])
def test_joints_are_those_of_the_closed_form(arm, bend):
    near = {"joint1.angle": 0.4 - 0.7 * bend, "joint2.angle": bend}
    motion = ns.motions.FrameMotion(body="link2", position=TIP, near=near)
    found = ns.kinematic_history(arm, motion, duration=6.0)
    x, y = 0.55 + 0.15 * np.cos(found.t), 0.2 + 0.15 * np.sin(found.t)
    first, second = angles(x, y, arm.model.parameter_values(), bend)
    assert found["joint1.angle"] == pytest.approx(first, abs=1e-10)
    assert found["joint2.angle"] == pytest.approx(second, abs=1e-10)
    tip = found.bodies["link2"]
    assert tip.position[:, 0] == pytest.approx(x, abs=1e-10)
    assert tip.velocity[:, 1] == pytest.approx(0.15 * np.cos(found.t), abs=1e-10)
    assert tip.acceleration[:, 0] == pytest.approx(-0.15 * np.cos(found.t), abs=1e-9)


def test_a_point_off_the_tip(arm):
    """Half way up the second link, which is where its mass is."""
    motion = ns.motions.FrameMotion(
        body="link2", point=("-r2", 0.0, 0.0), position={"x": 0.5, "y": "0.1*t"}, near=NEAR
    )
    found = ns.kinematic_history(arm, motion, duration=1.0)
    p = arm.model.parameter_values()
    both = found["joint1.angle"] + found["joint2.angle"]
    reach = p["l2"] - p["r2"]
    place = p["l1"] * np.sin(found["joint1.angle"]) + reach * np.sin(both)
    assert place == pytest.approx(0.1 * found.t, abs=1e-11)


def test_the_tip_comes_back_under_control(arm):
    motion = ns.motions.FrameMotion(body="link2", position=TIP, near=NEAR)
    controller = ns.controllers.CartesianTracking(
        body="link2", components=("vx", "vy"), kp=9.0, kd=6.0
    )
    law = ns.controllers.Tracking(
        motion=motion,
        controller=controller,
        reference_start=motion.trace(arm).start_at(arm.parameters()),
        limits={"tau1": 60.0, "tau2": 30.0},
    )
    start = {"joint1.angle": 0.2, "joint2.angle": 0.7}
    run = ns.simulate(arm, duration=10.0, start=start, inputs=law)
    p = run.parameters
    both = run["joint1.angle"] + run["joint2.angle"]
    x = p["l1"] * np.cos(run["joint1.angle"]) + p["l2"] * np.cos(both)
    y = p["l1"] * np.sin(run["joint1.angle"]) + p["l2"] * np.sin(both)
    miss = np.hypot(x - 0.55 - 0.15 * np.cos(run.t), y - 0.2 - 0.15 * np.sin(run.t))
    assert miss[0] > 0.1 and miss[-1] < 1e-8


def test_the_start_is_found_with_the_parameters_of_the_run(arm):
    """Out of reach of the nominal arm; with a longer first link it is on the curve at once."""
    far = {"x": "1.0 + 0.15*cos(t)", "y": "0.2 + 0.15*sin(t)"}
    motion = ns.motions.FrameMotion(body="link2", position=far, near=NEAR)
    longer = {"l1": 1.0}
    run = ns.follow(arm, motion, duration=2.0, parameters=longer, rtol=1e-12, atol=1e-12)
    known = arm.model.parameter_values() | longer
    x, y = 1.0 + 0.15 * np.cos(run.t), 0.2 + 0.15 * np.sin(run.t)
    first, second = angles(x, y, known)
    assert run["joint1.angle"] == pytest.approx(first, abs=1e-10)
    assert run["joint2.angle"] == pytest.approx(second, abs=1e-10)
    law = ns.controllers.ProportionalDerivative(kp=(30.0, 20.0), kd=(6.0, 4.0), gravity=True)
    held = ns.follow(arm, motion, duration=0.1, controller=law, parameters=longer)
    assert held["reference.joint1.angle"][0] == pytest.approx(first[0], abs=1e-12)
    found = ns.kinematic_history(arm, motion, duration=1.0, parameters=longer)
    assert found.bodies["link2"].position[0, 0] == pytest.approx(1.15, abs=1e-12)


def test_what_the_arm_cannot_reach_is_told(arm):
    far = ns.motions.FrameMotion(body="link2", position={"x": 2.0, "y": 0.0}, near=NEAR)
    with pytest.raises(ns.SimulationError, match=r"it comes within 1\.1 m") as caught:
        far.trace(arm).start_at(arm.parameters())
    assert "manipulator-2r" in caught.value.where and "within its reach" in caught.value.fix
    leaving = ns.motions.FrameMotion(
        body="link2", position={"x": "0.5 + 0.2*t", "y": 0.2}, near=NEAR
    )
    begin = leaving.trace(arm).start_at(arm.parameters())
    law = ns.motions.FollowMotion(motion=leaving, reference_start=begin)
    with pytest.raises(ns.SimulationError, match="the Jacobian is singular, as at") as caught:
        ns.simulate(arm, duration=4.0, inputs=law)
    # where x² + y² = (l1 + l2)²
    end = (math.sqrt(0.81 - 0.04) - 0.5) / 0.2
    assert f"t = {end:.4f}"[:-1] in caught.value.where and "within reach" in caught.value.fix


def test_wrong_requests(arm, refuses):
    for changes, what, fix in (
        ({"body": "link9"}, "there is no body 'link9'", "link"),
        ({"position": {"x": 1.0, "w": 1.0}}, "there is no axis 'w'", "'x'"),
        ({"position": {"x": 1.0}}, "1 positions are given for 2 degrees of freedom", "give 2"),
    ):
        motion = ns.motions.FrameMotion(
            **{"body": "link2", "position": TIP, "near": NEAR} | changes
        )
        with refuses(ns.SimulationError, what, "'manipulator-2r'", fix):
            motion.trace(arm)

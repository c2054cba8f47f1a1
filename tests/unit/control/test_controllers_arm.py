"""Task-space laws: linear error equations of a tool frame and of prescribed coordinates."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.controllers import AccelerationResolved, CartesianTracking, ComputedTorque, Tracking
from noslip.motions import ExpressionMotion

#: Roots −3 twice: e = (e₀ + (ė₀ + 3 e₀) t) exp(−3 t).
GAINS = {"kp": 9.0, "kd": 6.0}
SWINGING = {"joint1.angle": "0.3 + 0.5*sin(t)", "joint2.angle": "0.9 - 0.4*cos(2*t)"}
START = {"joint1.angle": 0.5, "joint2.angle": 0.8, "joint1.rate": 0.1, "joint2.rate": -0.2}
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def law(controller, coordinates, start, **limits):
    return Tracking(
        motion=ExpressionMotion(coordinates=coordinates),
        controller=controller,
        reference_start=np.array(start, dtype=float),
        limits=limits,
    )


def tip(run, prefix=""):
    """Place of the arm's tip by its two angles."""
    p = run.parameters
    first = run[f"{prefix}joint1.angle"]
    both = first + run[f"{prefix}joint2.angle"]
    return np.column_stack(
        [
            p["l1"] * np.cos(first) + p["l2"] * np.cos(both),
            p["l1"] * np.sin(first) + p["l2"] * np.sin(both),
        ]
    )


def tip_controller(**changes):
    given = {"body": "link2", "components": ("vx", "vy"), **GAINS, **changes}
    return CartesianTracking(**given)


def test_tip_errors_obey_their_linear_equation(arm):
    """ë + kd ė + kp e = 0 for x and y of the tip, along a moving reference."""
    run = ns.simulate(
        arm, duration=3.0, start=START, inputs=law(tip_controller(), SWINGING, (0.3, 0.5)), **TIGHT
    )
    error = tip(run) - tip(run, "reference.")
    e0 = error[0]
    # ė₀ by the closed form of the Jacobian of the tip
    p = run.parameters

    def speed(q1, q2, d1, d2):
        a, b = (
            np.array([-math.sin(q1), math.cos(q1)]),
            np.array([-math.sin(q1 + q2), math.cos(q1 + q2)]),
        )
        return p["l1"] * d1 * a + p["l2"] * (d1 + d2) * b

    d0 = speed(0.5, 0.8, 0.1, -0.2) - speed(0.3, 0.5, 0.5, 0.0)
    t = run.t[:, None]
    closed = (e0 + (d0 + 3 * e0) * t) * np.exp(-3 * t)
    assert np.max(np.abs(e0)) > 0.05
    assert error == pytest.approx(closed, abs=1e-9)


def test_position_and_heading_of_three_links(system_of):
    """With a third joint the tool's heading is tracked too, from a large turn away."""
    system = system_of("manipulator-3r")
    angles = {"joint1.angle": "0.4+0.2*sin(t)", "joint2.angle": 0.9, "joint3.angle": "-0.5+0.1*t"}
    controller = CartesianTracking(body="link3", components=("vx", "vy", "wz"), **GAINS)
    start = {"joint1.angle": 0.6, "joint2.angle": 0.6, "joint3.angle": 0.8}
    run = ns.simulate(
        system, duration=6.0, start=start, inputs=law(controller, angles, (0.4, 0.9, -0.5))
    )
    error = np.array([run[f"joint{k}.angle"] - run[f"reference.joint{k}.angle"] for k in (1, 2, 3)])
    assert abs(error[2, 0]) > 1.0
    assert np.max(np.abs(error[:, -1])) < 1e-5


def test_what_cannot_be_tracked_is_refused(arm):
    cases = {
        "there is no body 'link9'": ({"body": "link9"}, "link"),
        "there is no component 'vq'": ({"components": ("vq", "vy")}, "v"),
        "2 degrees of freedom are controlled by the components vx": (
            {"components": ("vx",)},
            "name 2",
        ),
    }
    for what, (changes, fix) in cases.items():
        inputs = law(tip_controller(**changes), SWINGING, (0.3, 0.5))
        with pytest.raises(ns.SimulationError, match=what) as caught:
            ns.simulate(arm, duration=1.0, start=START, inputs=inputs)
        assert "Cartesian tracking of model 'manipulator-2r'" in caught.value.where
        assert fix in caught.value.fix


def test_resolved_accelerations_of_joints_are_computed_torque(arm):
    runs = [
        ns.simulate(arm, duration=3.0, start=START, inputs=law(c, SWINGING, (0.3, 0.5)), **TIGHT)
        for c in (AccelerationResolved(**GAINS), ComputedTorque(**GAINS))
    ]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-10)
    assert runs[0]["tau1"] == pytest.approx(runs[1]["tau1"], abs=1e-7)
    error = np.abs(runs[0].q[-1] - np.array([0.3 + 0.5 * math.sin(3), 0.9 - 0.4 * math.cos(6)]))
    assert np.max(error) < 1e-2


#: The mass center, ahead of the axle, along x at 0.3 m/s; the heading of the axle is angle + π/2.
AHEAD = {"platform.x": "0.3*t", "platform.y": 0.0}


def test_a_point_ahead_of_the_axle_pulls_the_vehicle_straight(agv):
    """Two outputs for two freedoms: linear errors of x and y, and the heading follows."""
    start = {"platform.x": -0.1, "platform.y": 0.2, "platform.angle": -math.pi / 2 + 0.6}
    q = [0.0, 0.0, -math.pi / 2] + [0.0] * (len(agv.coordinates) - 3)
    inputs = law(AccelerationResolved(**GAINS), AHEAD, q)
    run = ns.simulate(agv, duration=12.0, start=start, inputs=inputs)
    assert run["platform.y"][-1] == pytest.approx(0.0, abs=1e-7)
    assert run["platform.x"][-1] == pytest.approx(3.6, abs=1e-7)
    assert run["platform.angle"][-1] == pytest.approx(-math.pi / 2, abs=1e-4)
    # ÿ = −kd ẏ − kp y from rest
    assert run["platform.y"] == pytest.approx(0.2 * (1 + 3 * run.t) * np.exp(-3 * run.t), abs=1e-6)


@pytest.mark.parametrize(
    ("speed", "ahead", "end"), [(0.3, 0.101, "home"), (0.3, 0.0, "stays"), (-0.3, 0.101, "leaves")]
)
def test_the_whole_pose_comes_back_only_where_turning_moves_it_across(agv, speed, ahead, end):
    """Three outputs for two freedoms: what is wanted across the wheels is not admissible.

    With a point `ahead` of the axle the least squares trade it for turning, which brings the
    vehicle home as long as it moves towards that point: the error across has the rates of
    (a² + L²)(s³ + kd s² + kp s) + a v (kd s + kp). On the axle it stays, in reverse it grows.
    """
    pose = {"platform.x": f"{speed}*t", "platform.y": 0.0, "platform.angle": -math.pi / 2}
    start = {"platform.y": 0.02, "platform.angle": -math.pi / 2}
    q = [0.0, 0.0, -math.pi / 2] + [0.0] * (len(agv.coordinates) - 3)
    inputs = law(AccelerationResolved(**GAINS), pose, q)
    run = ns.simulate(agv, duration=12.0, start=start, inputs=inputs, parameters={"a": ahead})
    last = abs(run["platform.y"][-1])
    if end == "home":
        assert last < 1e-5
    elif end == "stays":
        assert last == pytest.approx(0.02, abs=1e-9)
    else:
        assert np.max(np.abs(run["platform.y"])) > 0.06


def test_a_singular_jacobian_is_named(arm, agv):
    """Stretched out an arm cannot move its tip along itself; an axle cannot move sideways."""
    inputs = law(tip_controller(), {"joint1.angle": 0.3, "joint2.angle": 0.9}, (0.3, 0.9))
    stretched = {"joint1.angle": 0.3, "joint2.angle": 0.0}
    with pytest.raises(ns.SimulationError, match="cannot move in vx, vy independently") as caught:
        ns.simulate(arm, duration=1.0, start=stretched, inputs=inputs)
    assert "'manipulator-2r', t = " in caught.value.where and "bent" in caught.value.fix
    run = ns.simulate(arm, duration=1.0, start=stretched, inputs=inputs, on_failure="return")
    assert not run.success and "the Jacobian is singular" in run.message
    axle = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
    request = {"timing": ns.timing.Quintic(20.0), "follower": ns.Follower(**axle)}
    on_axle = CartesianTracking(body="platform", point=axle["point"], components=("vx", "vy"))
    with pytest.raises(ns.SimulationError, match="'platform' cannot move in vx, vy") as caught:
        ns.track(agv, ns.paths.Circle(radius=2.0), controller=on_axle, **request)
    assert "0 m along the path" in caught.value.where and "another point" in caught.value.fix
    line = {"platform.x": "0.3*t", "platform.y": 0.0}
    q = [0.0, 0.0, -math.pi / 2] + [0.0] * (len(agv.coordinates) - 3)
    inputs = law(AccelerationResolved(**GAINS), line, q)
    with pytest.raises(ns.SimulationError, match="Jacobian is singular") as caught:
        ns.simulate(agv, duration=1.0, inputs=inputs, parameters={"a": 0.0})
    assert "'agv'" in caught.value.where and "other coordinates" in caught.value.fix


def test_a_vehicle_is_led_by_a_point_ahead(agv):
    """Cartesian control of a vehicle: x and y of a point ahead of the axle, linear errors."""
    axle = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
    controller = CartesianTracking(
        body="platform", point=(0.0, 0.3, 0.0), components=("vx", "vy"), **GAINS
    )
    start = {"platform.x": 2.1, "platform.angle": 0.2}
    result = ns.track(
        agv,
        ns.paths.Circle(radius=2.0),
        follower=ns.Follower(**axle),
        controller=controller,
        timing=ns.timing.ConstantSpeed(0.4),
        start=start,
    )
    assert result.path_errors.distance[-1] < 1e-6
    assert abs(result.path_errors.heading[-1]) < 1e-6

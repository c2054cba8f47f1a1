"""Both ways along whole motions: closed forms, simulations, and what no motion or input can do."""

import math

import numpy as np
import pytest

import noslip as ns

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}


def test_a_vehicle_on_a_circle(agv):
    """Inverse: the axle on a circle gives the wheels' closed form and the caster's of a run."""
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0), timing=ns.timing.Quintic(20.0), **AXLE
    )
    found = ns.kinematic_history(agv, motion, duration=20.0, start={"bracket.angle": 0.3})
    p = agv.model.parameter_values()
    tau = found.t / 20.0
    turned = 2 * math.pi * (10 * tau**3 - 15 * tau**4 + 6 * tau**5)
    for k, sign in ((1, 1), (2, -1)):
        rolled = -(2.0 - sign * p["l"] / 2) / p["r"] * turned
        assert found[f"wheel{k}.angle"] == pytest.approx(rolled, abs=1e-8)
    run = ns.track(
        agv,
        ns.paths.Circle(radius=2.0),
        follower=ns.Follower(reference={"bracket.angle": 0.3}, **AXLE),
        timing=ns.timing.Quintic(20.0),
        rtol=1e-12,
        atol=1e-12,
    )
    assert found["bracket.angle"] == pytest.approx(run["bracket.angle"], abs=1e-8)
    assert found["wheel3.rate"] == pytest.approx(run["wheel3.rate"], abs=1e-8)
    assert found.inadmissible < 1e-12
    # the torques of inverse dynamics are those of the run
    torques = ns.dynamics_history(agv, found).inputs
    assert torques["torque1"] == pytest.approx(run["torque1"], abs=1e-8)
    # rates are rates
    for name in ("wheel1", "bracket", "wheel3"):
        slope = np.gradient(found[f"{name}.angle"], found.t, edge_order=2)
        assert slope == pytest.approx(found[f"{name}.rate"], abs=2e-3)
        slope = np.gradient(found[f"{name}.rate"], found.t, edge_order=2)
        assert slope == pytest.approx(found.accelerations[f"{name}.rate"], abs=2e-2)


def test_wheels_move_the_vehicle_and_the_vehicle_the_wheels(agv):
    """Direct from histories of the driven joints, and back from the platform's own motion."""
    wheels = {"wheel1.angle": "-3*t - 0.4*t**2", "wheel2.angle": "-5*t + 0.6*sin(2*t)"}
    direct = ns.kinematic_history(
        agv,
        ns.motions.ExpressionMotion(coordinates=wheels),
        duration=3.0,
        start={"bracket.angle": 0.4},
    )
    p = agv.model.parameter_values()
    r, track, a = p["r"], p["l"], p["a"]
    angle = r / track * (direct["wheel1.angle"] - direct["wheel2.angle"])
    assert direct["platform.angle"] == pytest.approx(angle, abs=1e-11)
    platform = direct.bodies["platform"]
    w1, w2 = direct["wheel1.rate"], direct["wheel2.rate"]
    i, j = platform.rotation[:, :, 0], platform.rotation[:, :, 1]
    omega = r / track * (w1 - w2)
    velocity = -(a * omega)[:, None] * i - (r / 2 * (w1 + w2))[:, None] * j
    assert platform.velocity == pytest.approx(velocity, abs=1e-12)
    assert platform.angular_velocity[:, 2] == pytest.approx(omega, abs=1e-12)
    # twist rates against those at an instant
    at = {n: float(x[200]) for n, x in (direct.coordinates | direct.speeds).items()}
    rates = {n: float(x[200]) for n, x in direct.independent_accelerations.items()}
    for name, body in ns.direct_kinematics(agv, at, accelerations_of=rates).items():
        assert direct.bodies[name].acceleration[200] == pytest.approx(body.acceleration, abs=1e-11)
    # the same motion from splines of the platform's pose is not needed: at every sample its twist
    # gives the wheels back
    for k in (0, 150, 600):
        state = {n: float(x[k]) for n, x in direct.coordinates.items()}
        back = ns.inverse_kinematics(
            agv,
            state,
            body="platform",
            components=("vx", "vy", "wz"),
            velocity=[*platform.velocity[k, :2], platform.angular_velocity[k, 2]],
            acceleration=[*platform.acceleration[k, :2], platform.angular_acceleration[k, 2]],
        )
        for name in ("wheel1.rate", "wheel2.rate", "bracket.rate", "wheel3.rate"):
            assert back.speeds[name] == pytest.approx(float(direct[name][k]), abs=1e-10)
            expected = float(direct.accelerations[name][k])
            assert back.accelerations[name] == pytest.approx(expected, abs=1e-9)


def test_an_inadmissible_motion_is_flagged_with_its_size(agv):
    """The platform sideways at 0.2 m/s: the nearest motion stands still, and that is said."""
    sideways = {"platform.x": "0.2*t", "platform.y": 0.0, "platform.angle": 0.0}
    found = ns.kinematic_history(
        agv, ns.motions.ExpressionMotion(coordinates=sideways), duration=1.0, parameters={"a": 0.0}
    )
    assert found.residual["platform.x"] == pytest.approx(0.2, abs=1e-12)
    assert found["wheel1.rate"] == pytest.approx(0.0, abs=1e-12)
    assert found.inadmissible == pytest.approx(0.2, abs=1e-12)
    # at the mass center turning makes up for some of it, at the price of turning
    found = ns.kinematic_history(
        agv, ns.motions.ExpressionMotion(coordinates=sideways), duration=1.0
    )
    least = np.array([0.2, 0.0, 0.0])  # x, y, and the angle times the model's length
    column = np.array([0.101, 0.0, -0.05])  # of turning: a across, and the length
    best = least - column * (column @ least) / (column @ column)
    assert found.residual["platform.x"] == pytest.approx(best[0], abs=1e-12)


def test_models_without_enough_inputs():
    """A blade with a motor that turns it, but none that pushes: what is missing is m v̇."""
    b = ns.ModelBuilder(name="blade", gravity=(0.0, 0.0, 0.0), description="A blade on ice")
    b.body("sled", mass=2.0, inertia=(0.1, 0.1, 0.3))
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sled", direction=(1.0, 0.0, 0.0)))
    b.input("tau", "N*m", "torque")
    b.force(ns.forces.Motor(name="motor", speed="sled.rate", input="tau"))
    blade = ns.compile(ns.derive(b.build()))
    motion = ns.motions.ExpressionMotion(
        coordinates={
            "sled.x": "2*sin(0.5*t**2)",
            "sled.y": "2 - 2*cos(0.5*t**2)",
            "sled.angle": "0.5*t**2",
        }
    )
    found = ns.kinematic_history(blade, motion, duration=4.0)
    assert found.inadmissible < 1e-12
    assert found["sled.vx"] == pytest.approx(2 * found.t, abs=1e-11)
    law = ns.motions.FollowMotion(motion=motion, reference_start=np.zeros(3))
    with pytest.raises(ns.SimulationError, match="cannot produce every motion"):
        ns.simulate(blade, duration=1.0, inputs=law)
    both = ns.dynamics_history(blade, found)
    assert both.inputs["tau"] == pytest.approx(0.3, abs=1e-12)
    names = [s.name for s in blade.independent_speeds]
    missing = {"sled.vx": 2.0 * 2.0, "sled.rate": 0.0}
    for k, name in enumerate(names):
        assert both.unreachable[:, k] == pytest.approx(missing[name], abs=1e-11)


def test_more_inputs_than_freedoms_are_weighted(system_of):
    """A steered tractor with three drives: cheap ones do the work, a steering rate is read."""
    tractor = system_of("tractor-trailer")
    motion = ns.motions.PathMotion(
        path=ns.paths.Sine(amplitude=3.0, wave_number=0.15, extent=60.0),
        timing=ns.timing.Quintic(30.0),
        steering="steer.angle",
        wheelbase="l1",
    )
    found = ns.kinematic_history(tractor, motion, duration=30.0, samples=61)
    assert np.max(np.abs(found.speed_inputs["steering_rate"])) > 0.01
    even = ns.dynamics_history(tractor, found)
    dear = ns.dynamics_history(tractor, found, weights={"F_u1": 1e6, "F_u3": 1e6})
    assert np.max(np.abs(even.unreachable)) < 1e-8 and np.max(np.abs(dear.unreachable)) < 1e-8
    assert np.max(np.abs(dear.inputs["F_u1"])) < 1e-3 * np.max(np.abs(even.inputs["F_u1"]))
    run = ns.track(
        tractor,
        motion.path,
        follower=ns.Follower(steering="steer.angle", wheelbase="l1"),
        timing=motion.timing,
        samples=61,
        rtol=1e-11,
        atol=1e-11,
    )
    for name in ("F_u1", "F_u2", "F_u3"):
        assert even.inputs[name] == pytest.approx(run[name], abs=1e-5)


def test_wrong_requests(agv):
    with pytest.raises(ns.SimulationError, match="1 coordinates are given, but 2") as caught:
        ns.kinematic_history(
            agv, ns.motions.ExpressionMotion(coordinates={"wheel1.angle": "t"}), duration=1.0
        )
    assert "agv" in caught.value.where and "at least 2" in caught.value.fix
    twice = ns.motions.ExpressionMotion(coordinates={"wheel1.angle": "t", "platform.z": "t"})
    with pytest.raises(ns.SimulationError, match=r"no coordinate 'platform\.z'"):
        ns.kinematic_history(agv, twice, duration=1.0)
    motion = ns.motions.ExpressionMotion(coordinates={"wheel1.angle": "t", "wheel2.angle": "t"})
    found = ns.kinematic_history(agv, motion, duration=1.0, samples=5)
    with pytest.raises(ns.SimulationError, match="no column 'wheel9") as caught:
        found["wheel9.rate"]
    assert "wheel1" in caught.value.fix

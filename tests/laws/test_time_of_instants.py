"""What is said at an instant or along a history is said at its own time.

Mechanisms with forces, motions and rows that are expressions of t, begun at another time than 0:
a forward simulation, inverse dynamics and Newton and Euler by an oracle must tell the same.
"""

import dataclasses
import json

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner
from newton_euler import NewtonEuler
from states import State

import noslip as ns
from mechanisms import FULL_INERTIA, Y, Z, builder
from noslip.cli.main import main

BEGIN, DURATION = 1.3, 0.9
SHARP = {"rtol": 1e-12, "atol": 1e-12}


def blown_arm():
    """Two links with motors in a wind that changes with time."""
    b = builder("blown-arm", (0.0, "-g", 0.0))
    for link in ("upper", "lower"):
        b.body(link, mass=1.2, inertia=FULL_INERTIA, center_of_mass=(0.3, 0.05, 0.0))
    elbow = ns.Placement(position=(0.6, 0.0, 0.0))
    for name, parent, child, at in (
        ("shoulder", "world", "upper", ns.Placement()),
        ("elbow", "upper", "lower", elbow),
    ):
        b.joint(name, ns.joints.Revolute(axis=Z), parent=parent, child=child, parent_frame=at)
        b.input(f"{name}_torque", "N*m")
        b.force(ns.forces.Motor(name=name, speed=f"{name}.rate", input=f"{name}_torque"))
    wind = ("3*sin(2*t)", "0.5*t^2", 0.0)
    b.force(
        ns.forces.Wrench(
            name="wind",
            body="lower",
            force=wind,
            moment=(0.0, 0.0, "cos(5*t)"),
            point=(0.5, 0.1, 0.0),
        )
    )
    return b.build()


def shaken_arm():
    """A motor on a carriage whose place and tilt are prescribed over time."""
    b = builder("shaken-arm", (0.0, "-g", 0.0))
    b.body("carriage", mass=2.0, inertia=FULL_INERTIA, center_of_mass=(0.1, 0.0, 0.0))
    b.body("arm", mass=0.8, inertia=FULL_INERTIA, center_of_mass=(0.3, -0.1, 0.0))
    led = {"x": "0.2*sin(3*t)", "y": "0.1*t^2", "angle": "0.4*cos(2*t)"}
    b.joint("carriage", ns.joints.Planar(), parent="world", child="carriage", motion=led)
    b.joint("pin", ns.joints.Revolute(axis=Z), parent="carriage", child="arm")
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="pin.rate", input="torque"))
    return b.build()


def steered_sled():
    """A blade, a steered arm on it, a row that moves in time, and forces of inputs and of time."""
    b = builder("steered-sled")
    b.body("sled", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.0))
    b.body("arm", mass=0.4, inertia=FULL_INERTIA, center_of_mass=(0.2, 0.0, 0.1))
    b.body("rotor", mass=0.2, inertia=FULL_INERTIA)
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled")
    b.joint("arm", ns.joints.Revolute(axis=(0.2, 0.1, 1.0)), parent="sled", child="arm")
    b.joint("rotor", ns.joints.Revolute(axis=Z), parent="sled", child="rotor")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sled", direction=(1.0, 0.2, 0.0)))
    b.row(
        ns.rows.VelocityRow(
            name="belt", expression="rotor.rate - 2*sled.rate - 0.3*sin(t)", unit="rad/s"
        )
    )
    b.speed_input("swing", "arm.rate")
    b.input("push", "N")
    b.input("twist", "N*m")
    b.force(
        ns.forces.Wrench(
            name="drive",
            body="sled",
            force=("push + t", 0.0, 0.0),
            moment=(0.0, 0.0, "twist*(1+t)"),
        )
    )
    return b.build()


INPUTS = {
    "blown-arm": {"shoulder_torque": "2*sin(t) - 0.1*shoulder.rate", "elbow_torque": "0.3*t"},
    "shaken-arm": {"torque": "0.5*cos(4*t)"},
    "steered-sled": {"push": "sin(3*t)", "twist": "0.2 - 0.1*t", "swing": "0.7*cos(2*t)"},
}
STARTS = {
    "blown-arm": {"shoulder.angle": 0.3, "elbow.angle": -0.8, "elbow.rate": 1.1},
    "shaken-arm": {"pin.angle": 0.4, "pin.rate": -0.7},
    "steered-sled": {"sled.x": 0.2, "sled.vx": 0.6, "sled.rate": 0.3, "arm.angle": 0.5},
}


@pytest.fixture(scope="module")
def systems():
    models = (blown_arm(), shaken_arm(), steered_sled())
    return {model.name: ns.compile(ns.derive(model)) for model in models}


def run_of(system):
    name = system.model.name
    return ns.simulate(
        system,
        duration=DURATION,
        start=STARTS[name],
        inputs=INPUTS[name],
        samples=10,
        start_time=BEGIN,
        **SHARP,
    )


def sample(system, run, k):
    state = {c.name: float(run[c.name][k]) for c in (*system.coordinates, *system.speeds)}
    inputs = {q.name: float(x) for q, x in zip(system.inputs, run.inputs[k], strict=True)}
    forces = {i.name: inputs.pop(i.name) for i in system.model.inputs}
    return state, forces, inputs, float(run.t[k])


@pytest.mark.parametrize("name", INPUTS)
def test_instants_along_a_run(name, systems):
    """Accelerations as in the run and by the oracle; inverse dynamics gives the inputs back."""
    system = systems[name]
    run, oracle = run_of(system), NewtonEuler(system.model)
    num = len(system.model.inputs), len(system.model.speed_inputs)
    for k in range(len(run.t)):
        state, forces, speed_inputs, t = sample(system, run, k)
        found = ns.evaluate(system, state, inputs=forces | speed_inputs, time=t)
        u, w, wdot = np.split(run.inputs[k], [num[0], num[0] + num[1]])
        told = oracle.at(State(t, run.q[k], np.zeros(0), run.v[k], u, w, wdot, system.parameters()))
        for speed, value in found.accelerations.items():
            expected = told.speed_rates[oracle.names_v.index(speed)]
            assert value == pytest.approx(expected, abs=1e-10)
            assert run[f"acceleration.{speed}"][k] == pytest.approx(expected, abs=1e-10)
        assert found.kinetic_energy == pytest.approx(told.kinetic_energy, abs=1e-12)
        own = [s.name for s in system.independent_speeds]
        wanted = {n: found.accelerations[n] for n in own}
        back = ns.inverse_dynamics(system, state, wanted, speed_inputs=speed_inputs, time=t)
        assert back.inputs == pytest.approx(forces, abs=1e-10)
        assert np.max(np.abs(back.unreachable), initial=0.0) < 1e-10
        # a completed start has its own time
        start = ns.complete_start(system, state, time=t, speed_inputs=lambda q, w=w: w)
        again = ns.inverse_dynamics(system, start, wanted, speed_inputs=speed_inputs)
        assert again.inputs == pytest.approx(forces, abs=1e-10)


def body_motion(oracle, body, state, speed_rates):
    """Velocity, acceleration of the origin and angular ones, differentiated by the oracle."""
    pose = oracle.poses[body]
    twist = ca.vertcat(pose.J_move, pose.J_turn) @ oracle.v
    along = ca.vertcat(oracle.N @ oracle.v, ca.SX(speed_rates))
    rate = ca.jtimes(twist, ca.vertcat(oracle.q, oracle.v), along)
    f = ca.Function("f", [oracle.q, oracle.v, oracle.params], [twist, rate])
    return (np.array(x).ravel() for x in f(state.q, state.v, state.params))


@pytest.mark.parametrize("name", INPUTS)
def test_kinematics_along_a_run(name, systems):
    """Twists of the bodies as the oracle has them, and back to all speeds and their rates."""
    system = systems[name]
    run, oracle = run_of(system), NewtonEuler(system.model)
    body = system.model.bodies[1].name
    for k in (0, 4, 9):
        state, forces, speed_inputs, t = sample(system, run, k)
        instant = ns.evaluate(system, state, inputs=forces | speed_inputs, time=t)
        rates = {s.name: instant.accelerations[s.name] for s in system.independent_speeds}
        moved = ns.direct_kinematics(
            system, state, accelerations_of=rates, speed_inputs=speed_inputs, time=t
        )[body]
        twist = [*moved.velocity, *moved.angular_velocity]
        change = [*moved.acceleration, *moved.angular_acceleration]
        given = State(t, run.q[k], np.zeros(0), run.v[k], *[np.zeros(0)] * 3, system.parameters())
        expected = body_motion(oracle, body, given, list(instant.accelerations.values()))
        for found, told in zip((twist, change), expected, strict=True):
            assert found == pytest.approx(told, abs=1e-10)
        back = ns.inverse_kinematics(
            system,
            {c.name: state[c.name] for c in system.coordinates},
            body=body,
            velocity=twist,
            acceleration=change,
            joint_speeds={n: state[n] for n in rates},
            joint_accelerations=rates,
            speed_inputs=speed_inputs,
            time=t,
        )
        assert back.speeds == pytest.approx(instant.speeds, abs=1e-11)
        assert back.accelerations == pytest.approx(instant.accelerations, abs=1e-10)
        assert np.max(np.abs(back.residual)) < 1e-11
        assert np.max(np.abs(back.acceleration_residual)) < 1e-10


MOTIONS = {
    "blown-arm": {"shoulder.angle": "0.5*sin(2*t)", "elbow.angle": "0.3*t^2 - 1"},
    "shaken-arm": {"pin.angle": "0.6*sin(3*t)"},
    "steered-sled": {
        "sled.x": "2*sin(0.3*t)",
        "sled.y": "2 - 2*cos(0.3*t)",
        "sled.angle": "0.3*t - atan2(0.2, 1)",
        "arm.angle": "0.5*sin(2*t)",
    },
}


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("begin", [0.0, BEGIN])
def test_histories_and_the_runs_that_follow_them(name, begin, systems):
    """Inputs of inverse dynamics along a motion are those under which a run makes it."""
    system = systems[name]
    motion = ns.motions.ExpressionMotion(coordinates=MOTIONS[name])
    history = ns.kinematic_history(
        system, motion, duration=DURATION, samples=19, start_time=begin, tolerance=1e-12
    )
    assert history.t[0] == begin and history.t[-1] == begin + DURATION
    found = ns.dynamics_history(system, history)
    assert np.max(np.abs(found.unreachable)) < 1e-9
    law = ns.motions.FollowMotion(motion=motion, reference_start=np.zeros(len(system.coordinates)))
    start = ns.start_on_motion(system, law, {}, system.parameters(), time=begin)
    law = dataclasses.replace(law, reference_start=start.q)
    run = ns.simulate(
        system,
        duration=DURATION,
        start=start,
        inputs=law,
        samples=19,
        start_time=begin,
        **SHARP,
    )
    for column, values in (history.coordinates | history.speeds).items():
        assert run[column] == pytest.approx(values, abs=1e-9), column
    for column, values in history.accelerations.items():
        assert run[f"acceleration.{column}"] == pytest.approx(values, abs=1e-8), column
    for column, values in found.inputs.items():
        assert run[column] == pytest.approx(values, abs=1e-8), column
    # one sample, by itself
    k = 11
    state = {n: float(x[k]) for n, x in (history.coordinates | history.speeds).items()}
    inputs = {n: float(x[k]) for n, x in (found.inputs | history.speed_inputs).items()}
    instant = ns.evaluate(system, state, inputs=inputs, time=float(history.t[k]))
    for speed, value in instant.accelerations.items():
        assert value == pytest.approx(float(history.accelerations[speed][k]), abs=1e-9)


def test_times_of_a_history_can_be_given(systems):
    motion = ns.motions.ExpressionMotion(coordinates=MOTIONS["blown-arm"])
    times = [2.0, 2.25, 2.9]
    few = ns.kinematic_history(
        systems["blown-arm"], motion, duration=1.0, samples=times, start_time=2.0
    )
    assert few.t.tolist() == times
    assert few["elbow.angle"] == pytest.approx(0.3 * np.square(times) - 1, abs=1e-13)


def test_cartesian_model_has_the_forces_of_its_time(systems):
    """Forces, motions and speed inputs of a time, in the accelerations of a point."""
    cases = {
        "blown-arm": ("lower", ("vx", "vy"), {"shoulder_torque": 0.7, "elbow_torque": -0.2}, {}),
        "shaken-arm": ("arm", ("vx",), {"torque": 0.3}, {}),
        "steered-sled": ("arm", ("vx", "vy"), {"push": 0.3}, {"swing": 0.4, "swing_rate": -0.2}),
    }
    place = np.array([0.5, 0.1, 0.0])
    for name, (body, components, forces, swing) in cases.items():
        system = systems[name]
        for t in (0.0, BEGIN):
            found = ns.cartesian_model(
                system,
                STARTS[name],
                body=body,
                point=tuple(place),
                components=components,
                inputs=forces,
                speed_inputs=swing,
                time=t,
            )
            instant = ns.evaluate(system, STARTS[name], inputs=forces | swing, time=t)
            own = {s.name: instant.accelerations[s.name] for s in system.independent_speeds}
            moved = ns.direct_kinematics(
                system, STARTS[name], accelerations_of=own, speed_inputs=swing, time=t
            )[body]
            r, omega = moved.rotation @ place, moved.angular_velocity
            change = moved.acceleration + np.cross(moved.angular_acceleration, r)
            change += np.cross(omega, np.cross(omega, r))
            assert found.acceleration == pytest.approx(change[: len(components)], abs=1e-11)
            needed = found.mass @ found.acceleration + found.velocity_terms + found.gravity
            assert needed == pytest.approx(found.force, abs=1e-10)


def carried_pendulum():
    """A pendulum under a carriage that moves at a constant speed: steady, but not at one place."""
    b = builder("carried-pendulum")
    b.body("carriage", mass=1.0, inertia=FULL_INERTIA)
    b.body("bob", mass=0.7, inertia=(0.0, 0.0, 0.0), center_of_mass=(0.0, 0.0, -0.4))
    slide = ns.joints.Prismatic(axis=(1.0, 0.0, 0.0))
    b.joint("slide", slide, parent="world", child="carriage", motion={"position": "0.3*t"})
    b.joint("swing", ns.joints.Revolute(axis=Y), parent="carriage", child="bob")
    return b.build()


def test_steady_motions_at_a_time(tmp_path):
    """A carriage at 0.3 m/s is at 1.5 m after 5 s, and its pendulum swings with √(g/l)."""
    system = ns.compile(ns.derive(carried_pendulum()))
    for t in (0.0, 5.0):
        motion = ns.steady(system, {"swing.angle": 0.0}, time=t)
        assert motion.start.time == t
        assert motion.start.q[0] == pytest.approx(0.3 * t, abs=1e-14)
        given = {"slide.position": 0.3 * t}
        for line in (
            ns.linearize(system, given, time=t),
            ns.linearize(system, motion.start),
            ns.linearize(system, motion.start, time=t),
        ):
            assert np.abs(line.eigenvalues.imag) == pytest.approx(np.sqrt(9.81 / 0.4), rel=1e-12)
        sweep = ns.sweep_eigenvalues(system, "g", [5.0, 9.81], about=given, time=t)
        assert np.max(sweep.eigenvalues[1].imag) == pytest.approx(np.sqrt(9.81 / 0.4), rel=1e-12)
    with pytest.raises(ns.SimulationError, match="breaks row"):
        ns.linearize(system, {"slide.position": 1.5})
    with pytest.raises(ns.SimulationError, match="is for t = 5 s") as caught:
        ns.linearize(system, motion.start, time=2.0)
    assert "carried-pendulum" in caught.value.where and "leave out" in caught.value.fix
    with pytest.raises(ns.SimulationError, match="is for t = 5 s"):
        ns.steady(system, {}, guess=motion.start, time=2.0)
    with pytest.raises(ns.SimulationError, match="is for t = 5 s"):
        ns.inverse_dynamics(system, motion.start, {}, time=2.0)
    # the same words on the command line
    path = tmp_path / "model.toml"
    ns.save_model(system.model, path)
    for command in ("evaluate", "linearize", "steady"):
        text = [command, str(path), "--set", "slide.position=1.5", "--time", "5", "--json"]
        found = CliRunner().invoke(main, text)
        assert found.exit_code == 0, found.output
        assert json.loads(found.output)
        assert CliRunner().invoke(main, text[:4]).exit_code != 0  # at t = 0 it is elsewhere


def test_wrong_times(systems):
    system = systems["blown-arm"]
    asked = [
        lambda t: ns.evaluate(system, {}, time=t),
        lambda t: ns.direct_kinematics(system, {}, time=t),
        lambda t: ns.inverse_kinematics(system, {}, body="lower", velocity=[0] * 6, time=t),
        lambda t: ns.inverse_dynamics(system, {}, {}, time=t),
        lambda t: ns.cartesian_model(system, {}, body="lower", components=("vx", "vy"), time=t),
        lambda t: ns.linearize(system, time=t),
        lambda t: ns.steady(system, {}, time=t),
    ]
    for ask in asked:
        for wrong in (np.nan, np.inf, "1", True, None):
            with pytest.raises(ns.SimulationError, match="the time is") as caught:
                ask(wrong)
            assert "blown-arm" in caught.value.where and "number in s" in caught.value.fix


def test_a_motion_along_a_path_begins_at_its_beginning(system_of):
    agv = system_of("agv")
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0),
        timing=ns.timing.Quintic(20.0),
        point=(0.0, "-a", 0.0),
        direction=(0.0, 1.0, 0.0),
    )
    with pytest.raises(ns.SimulationError, match=r"starts at t = 1\.3 s") as caught:
        ns.kinematic_history(agv, motion, duration=1.0, start_time=BEGIN)
    assert "agv" in caught.value.where and "t = 0" in caught.value.fix

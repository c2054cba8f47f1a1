"""Springs, dampers, friction and motors in joints that close loops.

A loop is cut at any of its joints: a mechanism is written twice, so that a joint closes the loop in
one of them and carries a body in the other. Both move alike, and all joints carry the same.
"""

import numpy as np
import pytest

import noslip as ns

Z = (0, 0, 1)
#: ground, crank, coupler and rocker, m.
GROUND, CRANK, COUPLER, ROCKER = 0.8, 0.25, 0.7, 0.5


def at(x, y=0.0, angle=0.0):
    return ns.Placement(position=(x, y, 0.0), angles=(0.0, 0.0, angle))


def forces(b, joint, coordinate, speed, unit):
    b.input("push", unit)
    b.force(ns.forces.Motor(name="motor", speed=f"{joint}.{speed}", input="push"))
    spring = {"coordinate": f"{joint}.{coordinate}", "stiffness": 7.0, "rest": 0.2}
    b.force(ns.forces.JointSpring(name="spring", **spring))
    b.force(ns.forces.JointDamper(name="damper", speed=f"{joint}.{speed}", damping=0.4))
    b.force(
        ns.forces.JointFriction(name="friction", speed=f"{joint}.{speed}", level=0.3, smoothing=0.5)
    )


def four_bar(order, end):
    """A four-bar linkage; `end` is the joint between coupler and rocker, with a frame turned."""
    b = ns.ModelBuilder("four-bar", gravity=(0.0, -9.81, 0.0))
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        b.body(name, mass=1.2, inertia=(0.01, 0.03, 0.04), center_of_mass=(length / 2, 0.02, 0))
    joints = {
        "crank": dict(parent="world", child="crank"),
        "knee": dict(parent="crank", child="coupler", parent_frame=at(CRANK)),
        "pin": dict(
            parent="coupler",
            child="rocker",
            parent_frame=at(COUPLER, angle=0.7),
            child_frame=at(ROCKER),
        ),
        "pivot": dict(parent="world", child="rocker", parent_frame=at(GROUND)),
    }
    for name in order:
        b.joint(name, end if name == "pin" else ns.joints.Revolute(axis=Z), **joints[name])
    return b


CUTS = {"pin": ("crank", "knee", "pivot", "pin"), "pivot": ("crank", "knee", "pin", "pivot")}
WRENCH = [f"{part}{k}" for part in ("", "moment_") for k in "xyz"]


@pytest.mark.parametrize("rate", [0.0, 3.0])
def test_a_hinge_with_forces_may_be_cut(rate):
    found, energy = {}, {}
    for cut, order in CUTS.items():
        b = four_bar(order, ns.joints.Revolute(axis=Z))
        forces(b, "pin", "angle", "rate", "N*m")
        model = b.build()
        system = ns.compile(ns.derive(model))
        start = {"crank.angle": 0.9, "crank.rate": rate}
        guess = {"knee.angle": -0.6} | ({"pivot.angle": 1.7} if cut == "pin" else {})
        found[cut] = ns.evaluate(system, start, guess=guess, inputs={"push": 1.3})
        assert ns.verify(model, states=2).holds
        energy[cut] = found[cut].potential_energy
    a, b = found["pin"], found["pivot"]
    for name in ("crank.rate", "knee.rate"):
        assert a.speeds[name] == pytest.approx(b.speeds[name], abs=1e-12)
        assert a.accelerations[name] == pytest.approx(b.accelerations[name], rel=1e-10)
    assert energy["pin"] == pytest.approx(energy["pivot"], rel=1e-12)
    # planar parts: a loop in space carries moments that nothing determines
    for joint in ("crank", "knee", "pin", "pivot"):
        one, other = ([x.joint_reactions[joint][p] for p in ("x", "y", "moment_z")] for x in (a, b))
        assert one == pytest.approx(other, abs=1e-9)
    # the motor, the spring, the damper and friction are what the hinge transmits about its axis
    angle, speed = b.coordinates["pin.angle"], b.speeds["pin.rate"]
    torque = 1.3 - 7.0 * (angle - 0.2) - 0.4 * speed - 0.3 * np.tanh(speed / 0.5)
    assert a.joint_reactions["pin"]["moment_z"] == pytest.approx(torque, abs=1e-9)


def test_they_move_alike_and_the_energy_is_accounted_for():
    runs = []
    for cut, order in CUTS.items():
        b = four_bar(order, ns.joints.Revolute(axis=Z))
        forces(b, "pin", "angle", "rate", "N*m")
        system = ns.compile(ns.derive(b.build()))
        guess = {"knee.angle": -0.6} | ({"pivot.angle": 1.7} if cut == "pin" else {})
        runs.append(
            ns.simulate(
                system,
                duration=1.0,
                start={"crank.angle": 0.9},
                guess=guess,
                inputs={"push": "sin(3*t)"},
                rtol=1e-11,
                atol=1e-11,
            )
        )
    one, other = runs
    assert one["crank.angle"] == pytest.approx(other["crank.angle"], abs=1e-8)
    assert np.ptp(one["crank.angle"]) > 0.5
    for run in runs:
        assert run.energy_drift < 1e-9


@pytest.mark.parametrize("kind", ["prismatic", "screw", "planar"])
def test_other_joints_with_forces_may_be_cut(kind):
    """A free body tied to the world by a joint that carries another one, cut on either side."""
    types = {
        "prismatic": (ns.joints.Prismatic(axis=(0, 1, 1)), "position", "speed", "N"),
        "screw": (ns.joints.Screw(axis=(1, 0, 2), lead=0.05), "angle", "rate", "N*m"),
        "planar": (ns.joints.Planar(), "x", "vy", "N"),
    }
    joint, coordinate, speed, unit = types[kind]
    found = []
    for cut in (False, True):
        b = ns.ModelBuilder("tied", gravity=(0.3, -9.81, 0.1))
        for name in ("base", "load"):
            b.body(name, mass=1.3, inertia=(0.1, 0.12, 0.15), center_of_mass=(0.1, 0.05, -0.02))
        b.joint("base", ns.joints.Revolute(axis=(0, 0, 1)), parent="world", child="base")
        tie = {"parent_frame": at(0.3, 0.1, 0.4), "child_frame": at(-0.1, 0.2, -0.3)}
        if cut:
            b.joint("load", ns.joints.Free(), parent="world", child="load")
        b.joint("tie", joint, parent="base", child="load", **tie)
        forces(b, "tie", coordinate, speed, unit)
        system = ns.compile(ns.derive(b.build()))
        start = {"base.angle": 0.4, "base.rate": 0.8}
        if not cut:
            names = joint.coordinates, joint.speeds
            start |= {f"tie.{q.name}": 0.15 for q in names[0]}
            start |= {f"tie.{v.name}": 0.3 for v in names[1]}
            first = ns.evaluate(
                system,
                start,
                inputs={"push": 2.0},
                outputs={
                    f"{what}{k}": f"{what}(load).{k}"
                    for what in ("point", "velocity", "angular_velocity", "acceleration")
                    for k in "xyz"
                },
            )
            found.append(first)
            continue
        place = found[0]
        turn = orientation(joint)
        free = dict(zip(("load.qw", "load.qx", "load.qy", "load.qz"), turn, strict=True))
        free |= {f"load.{k}": place.outputs[f"point{k}"] for k in "xyz"}
        R = rotation(turn)
        for what, letter in (("velocity", "v"), ("angular_velocity", "w")):
            world = np.array([place.outputs[f"{what}{k}"] for k in "xyz"])
            own = R.T @ world
            free |= {f"load.{letter}{k}": x for k, x in zip("xyz", own, strict=True)}
        outputs = {f"acceleration{k}": f"acceleration(load).{k}" for k in "xyz"}
        again = ns.evaluate(system, start | free, inputs={"push": 2.0}, outputs=outputs)
        for k in "xyz":
            name = f"acceleration{k}"
            assert again.outputs[name] == pytest.approx(place.outputs[name], abs=1e-9)
        assert again.potential_energy == pytest.approx(place.potential_energy, rel=1e-10)
        one, other = ([x.joint_reactions["tie"][p] for p in WRENCH] for x in (place, again))
        assert one == pytest.approx(other, abs=1e-9)


def rotation(quaternion):
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def about(axis, angle):
    axis = np.array(axis, dtype=float) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def times(p, q):
    w, v = p[0], p[1:]
    return np.array([w * q[0] - v @ q[1:], *(w * q[1:] + q[0] * v + np.cross(v, q[1:]))])


def orientation(joint):
    """Quaternion of the load: base, joint frame, joint, and back from the load's frame."""
    turn = times(about(Z, 0.4), about(Z, 0.4))
    if isinstance(joint, ns.joints.Screw):
        turn = times(turn, about(joint.axis, 0.15))
    if isinstance(joint, ns.joints.Planar):
        turn = times(turn, about(Z, 0.15))
    return times(turn, about(Z, 0.3))


def test_what_a_loop_joint_cannot_have_is_refused():
    b = four_bar(CUTS["pin"], ns.joints.Spherical())
    b.force(ns.forces.JointSpring(name="spring", coordinate="pin.qx", stiffness=1.0))
    b.force(ns.forces.JointDamper(name="damper", speed="pin.wz", damping=1.0))
    with pytest.raises(ns.ModelError) as caught:
        b.build()
    assert len(caught.value.faults) == 1 and "'pin.qx'" in str(caught.value)
    b = four_bar(CUTS["pin"], ns.joints.Revolute(axis=Z))
    b.speed_input("w", "pin.rate")
    with pytest.raises(ns.ModelError, match="closes a loop"):
        b.build()


def test_a_damper_is_a_moment_on_both_bodies():
    """The same damper, as moments that are written by angular velocities."""
    models = []
    for by_hand in (False, True):
        b = four_bar(CUTS["pin"], ns.joints.Revolute(axis=Z))
        if not by_hand:
            b.force(ns.forces.JointDamper(name="damper", speed="pin.rate", damping=0.4))
        else:
            rate = "(angular_velocity(rocker).z - angular_velocity(coupler).z)"
            for body, sign in (("rocker", "-"), ("coupler", "")):
                moment = (0.0, 0.0, f"{sign}0.4*{rate}")
                b.force(ns.forces.Wrench(name=body, body=body, moment=moment))
        models.append(ns.compile(ns.derive(b.build())))
    start = {"crank.angle": 0.9, "crank.rate": 3.0}
    guess = {"knee.angle": -0.6, "pivot.angle": 1.7}
    one, other = (ns.evaluate(system, start, guess=guess) for system in models)
    assert list(one.accelerations.values()) == pytest.approx(
        list(other.accelerations.values()), rel=1e-11
    )

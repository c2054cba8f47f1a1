"""Armatures of joints: against flywheels on the ground, a closed form and every formulation."""

import dataclasses

import numpy as np
import pytest

import noslip as ns
from models.chains import chain

ARMATURES = (0.3, 0.05, 0.0, 0.7)


def with_armatures(model, armatures):
    joints = [
        dataclasses.replace(joint, armature=armatures[k % len(armatures)])
        if len(joint.type.speeds) == 1
        else joint
        for k, joint in enumerate(model.joints)
    ]
    return dataclasses.replace(model, joints=tuple(joints))


def with_flywheels(model):
    """The same by bodies that exist: a disk on the ground turns with each joint."""
    b = ns.ModelBuilder.from_model(
        dataclasses.replace(
            model, joints=tuple(dataclasses.replace(j, armature=0.0) for j in model.joints)
        )
    )
    for joint in model.joints:
        if joint.armature:
            disk = f"{joint.name}_disk"
            b.body(disk, mass=0.0, inertia=(0.0, 0.0, joint.armature))
            b.joint(disk, ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child=disk)
            (name,) = joint.coordinate_names()
            b.row(ns.rows.PositionRow(name=disk, expression=f"{disk}.angle - {name}", unit="rad"))
    return b.build()


@pytest.mark.parametrize("length", [3, 9])
def test_an_armature_is_a_flywheel_that_turns_with_the_joint(length):
    """Nine hinges are solved without a mass matrix, three with one."""
    model = with_armatures(chain(length), ARMATURES)
    rng = np.random.default_rng(3)
    state = {}
    for joint in model.joints:
        state[f"{joint.name}.angle"], state[f"{joint.name}.rate"] = rng.uniform(-1, 1, 2)
    one, other = (ns.compile(ns.derive(m)) for m in (model, with_flywheels(model)))
    here = ns.evaluate(one, state)
    more = {f"{j.name}_disk.angle": state[f"{j.name}.angle"] for j in model.joints if j.armature}
    there = ns.evaluate(other, {**state, **more})
    for name, value in here.accelerations.items():
        assert value == pytest.approx(there.accelerations[name], rel=1e-11, abs=1e-12), name
    assert here.kinetic_energy == pytest.approx(there.kinetic_energy, rel=1e-13)


def test_rotors_of_wheels_resist_as_by_hand():
    """F = ma: the rotor of a wheel adds A/r² to the mass that a torque pushes."""
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.body("cart", mass=5.0, inertia=(0.1, 0.1, 0.2))
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart",
            parent_frame=ns.Placement(position=(0.0, 0.0, 0.1)))  # fmt: skip
    rotor = b.parameter("A", 0.02, "kg*m^2")
    for name, y in (("left", 0.2), ("right", -0.2)):
        b.body(name, mass=0.5, inertia=(0.001, 0.0025, 0.001))
        place = ns.Placement(position=(0.0, y, 0.0))
        b.joint(name, ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="cart", child=name,
                parent_frame=place, armature=f"{rotor}*2^2")  # fmt: skip
        wheel = ns.surfaces.Disk(radius=0.1, axis=(0.0, 1.0, 0.0))
        rolls = {"normal": False, "lateral": name == "left"}
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=wheel, **rolls))
        b.input(f"{name}_torque", "N*m")
        b.force(ns.forces.Motor(name=name, speed=f"{name}.rate", input=f"{name}_torque"))
    model = b.build()
    system = ns.compile(ns.derive(model))
    torques = {"left_torque": 0.3, "right_torque": 0.3}
    for rotor_inertia in (0.02, 0.0, 0.5):
        mass = 6.0 + 2 * (0.0025 + 4 * rotor_inertia) / 0.1**2
        here = ns.evaluate(system, {}, inputs=torques, parameters={"A": rotor_inertia})
        assert here.accelerations["cart.vx"] == pytest.approx(2 * 0.3 / 0.1 / mass, rel=1e-12)
    assert ns.verify(model).holds


@pytest.mark.parametrize("name", ["agv", "manipulator-3r", "whipple-bicycle", "forklift"])
def test_every_formulation_has_the_rotors(name):
    model = with_armatures(ns.load(name), (0.2, 0.9))
    plain = ns.derive(ns.load(name)), ns.derive(model)
    assert ns.verify(model).holds
    state = {}
    first, second = (ns.evaluate(ns.compile(e), state).mass_matrix for e in plain)
    assert not np.allclose(first, second)


def test_energy_is_kept():
    model = with_armatures(chain(3), ARMATURES)
    run = ns.simulate(ns.compile(ns.derive(model)), start={"hinge0.rate": 1.0}, duration=2.0)
    assert abs(run.energy_drift) < 1e-8


REFUSED = {
    "sign": (dict(armature=-0.1), "armature"),
    "order": (dict(limits=(1.0, -1.0)), "limits 1 and -1"),
    "same": (dict(limits=(1.0, 1.0)), "limits 1 and 1"),
    "count": (dict(limits=(1.0, 2.0, 3.0)), "with 3 values"),
    "finite": (dict(limits=(0.0, float("inf"))), "finite number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_values_are_refused(case):
    given, what = REFUSED[case]
    with pytest.raises(ns.ModelError) as caught:
        pendulum(ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), **given)
    assert any(what in fault.what for fault in caught.value.faults)


@pytest.mark.parametrize("given", [dict(armature=0.1), dict(limits=(-1.0, 1.0))])
def test_a_joint_with_several_speeds_has_neither(given):
    (key,) = given
    with pytest.raises(ns.ModelError, match=f"has {key}, but a spherical joint has 3 speeds"):
        pendulum(ns.joints.Spherical(), **given)
    with pytest.raises(ns.ModelError, match=f"has {key}, but a universal joint has several"):
        pendulum(ns.joints.Universal(), **given)


def pendulum(joint_type, **given):
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -9.81))
    b.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -0.5))
    b.joint("pin", joint_type, parent="world", child="bob", **given)
    return b.build()

"""What parts refer to by name. A case makes one mistake, which is one fault."""

from dataclasses import replace

import pytest
from cart_model import CART, FLYER, RIM, body, faults, hinge, more, one_fault, swap

from noslip import IndependentSpeed, SpeedInput
from noslip.contacts import KnifeEdge, Plane, Rolling
from noslip.forces import JointDamper, JointFriction, JointSpring, Motor, Spring, Wrench
from noslip.model import check_model
from noslip.surfaces import Ball

REFERENCES = [
    (swap(CART, "joints", parent="crat"),
     "joint 'swing' refers to body 'crat', which is not declared", "joints.swing.parent",
     "did you mean 'cart'?"),
    (swap(CART, "joints", child="rood"),
     "joint 'swing' refers to body 'rood', which is not declared", "joints.swing.child",
     "did you mean 'rod'?"),
    (more(FLYER, "contacts", replace(RIM, body="dsk")),
     "contact 'rim' refers to body 'dsk', which is not declared", "contacts.rim.body",
     "did you mean 'disk'?"),
    (more(FLYER, "contacts", replace(RIM, plane=Plane(body="table"))),
     "contact 'rim' refers to body 'table', which is not declared", "contacts.rim.plane.body",
     "known: 'world', 'cart', 'rod', 'disk'"),
    (more(FLYER, "contacts", replace(RIM, plane=Plane(body="disk"))),
     "contact 'rim' has body 'disk' touch a plane of its own", "contacts.rim",
     "name the body that carries the plane in plane.body, or the body that touches it"),
    (more(FLYER, "contacts", replace(RIM, longitudinal=False, lateral=False, normal=False)),
     "contact 'rim' has all three rows switched off", "contacts.rim",
     "keep one of longitudinal, lateral and normal, or remove the contact"),
    (swap(CART, "forces", speed="rail.sped"),
     "force 'drive' refers to speed 'rail.sped', which is not declared", "forces.drive.speed",
     "did you mean 'rail.speed'"),
    (swap(CART, "forces", speed="rail.position"),
     "force 'drive' refers to speed 'rail.position', which is a coordinate", "forces.drive.speed",
     "known: 'rail.speed', 'swing.rate'"),
    (more(CART, "forces", JointDamper(name="d", speed="spin.rate", damping=1.0)),
     "force 'd' refers to speed 'spin.rate', which is not declared", "forces.d.speed",
     "did you mean 'swing.rate'?"),
    (more(CART, "forces", JointFriction(name="f", speed="x", level=1.0, smoothing=0.1)),
     "force 'f' refers to speed 'x', which is not declared", "forces.f.speed",
     "known: 'rail.speed', 'swing.rate'"),
    (more(CART, "forces", JointSpring(name="s", coordinate="swing.rate", stiffness=1.0)),
     "force 's' refers to coordinate 'swing.rate', which is a speed", "forces.s.coordinate",
     "did you mean 'swing.angle'"),
    (more(FLYER, "forces", JointSpring(name="s", coordinate="fly.tilt", stiffness=1.0)),
     "force 's' refers to coordinate 'fly.tilt', which is a named angle", "forces.s.coordinate",
     "did you mean"),
    (more(CART, "forces", Motor(name="m", speed="swing.rate", input="psh")),
     "force 'm' refers to input 'psh', which is not declared", "forces.m.input",
     "did you mean 'push'?"),
    (replace(swap(CART, "forces", input="tau"), inputs=()),
     "force 'drive' refers to input 'tau', which is not declared", "forces.drive.input",
     "the model has no input yet"),
    (more(CART, "forces", Spring(name="s", body="rdo", stiffness=1.0, rest_length=0.1)),
     "force 's' refers to body 'rdo', which is not declared", "forces.s.body",
     "did you mean 'rod'?"),
    (
        more(
            CART,
            "forces",
            Spring(name="s", body="rod", other_body="wall", stiffness=1.0, rest_length=0.1),
        ),
        "force 's' refers to body 'wall', which is not declared",
        "forces.s.other_body",
        "known: 'world', 'cart', 'rod'",
    ),
    (
        more(
            CART,
            "forces",
            Spring(name="s", body="rod", other_body="rod", stiffness=1.0, rest_length=0.1),
        ),
        "force 's' is a spring from body 'rod' to itself",
        "forces.s",
        "name another body in other_body",
    ),
    (more(CART, "forces", Wrench(name="wind", body="world", force=(1.0, 0.0, 0.0))),
     "force 'wind' is a wrench on 'world', which does not move", "forces.wind.body",
     "name the body it acts on"),
    (more(CART, "forces", Wrench(name="wind", body="rodd")),
     "force 'wind' refers to body 'rodd', which is not declared", "forces.wind.body",
     "did you mean 'rod'?"),
    (more(CART, "forces", Wrench(name="wind", body="rod", axes="bdy")),
     'force \'wind\' has axes = "bdy", expected "world" or "body"', "forces.wind.axes",
     "did you mean 'body'?"),
    (more(CART, "speed_inputs", SpeedInput(name="w", speed="swing.angle")),
     "speed input 'w' refers to speed 'swing.angle', which is a coordinate", "speed_inputs.w.speed",
     "did you mean 'swing.rate'"),
    (
        more(
            CART,
            "speed_inputs",
            SpeedInput(name="w", speed="swing.rate"),
            SpeedInput(name="z", speed="swing.rate"),
        ),
        "speed inputs 'w' and 'z' both impose 'swing.rate'",
        "speed_inputs.z.speed",
        "keep one of them",
    ),
    (
        more(
            swap(CART, "joints", motion={"angle": "t"}),
            "speed_inputs",
            SpeedInput(name="w", speed="swing.rate"),
        ),
        "speed input 'w' imposes 'swing.rate', which the motion of joint 'swing' prescribes "
        "already",
        "speed_inputs.w.speed",
        "remove the speed input or the motion",
    ),
    (more(CART, "independent_speeds", IndependentSpeed(name="swing.rat")),
     "independent speed number 1 refers to speed 'swing.rat', which is not declared",
     "independent_speeds[0].name", "did you mean 'swing.rate'?"),
    (more(CART, "independent_speeds", *[IndependentSpeed(name="swing.rate")] * 2),
     "independent speed 'swing.rate' is given twice", "independent_speeds[1].name",
     "keep one of them"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFERENCES)
def test_a_reference_at_fault(case):
    one_fault(*case)


def test_a_wheel_or_blade_belongs_to_a_body():
    blade = KnifeEdge(name="blade", body="cart", direction=(1.0, 0.0, 0.0))
    assert check_model(more(CART, "contacts", blade)) == ()
    fixed = Rolling(name="b", body="world", wheel=Ball(radius=0.1), plane=Plane(body="rod"))
    (fault,) = faults(more(CART, "contacts", blade, fixed))
    assert fault.what == "contact 'b' has its wheel or blade on 'world'"
    assert fault.where == "contacts.b.body"
    assert fault.fix == "put it on a body, if need be one that a fixed joint ties to the world"


def test_among_many_names_those_that_begin_alike_are_compared():
    bodies = tuple(body(f"{letter}{k}") for letter in "abc" for k in range(200))
    joints = tuple(hinge(b.name, "world", b.name) for b in bodies)
    model = replace(CART, bodies=bodies, joints=joints, forces=(), inputs=(), parameters=())
    model = replace(model, gravity=(0.0, 0.0, 0.0))
    for name, fix in {"b101x": "did you mean 'b101'", "zzz": "known: 'world', 'a0',"}.items():
        (fault,) = faults(swap(model, "joints", parent=name))
        assert fault.fix.startswith(fix)

"""Numbers, counts and inertia tensors. A case makes one mistake, which is one fault."""

import math
from dataclasses import replace

import pytest
from cart_model import CART, FLYER, RIM, body, faults, more, one_fault, parameter, swap

from noslip import Fault, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import JointFriction, Spring
from noslip.joints import Angles, Free, Prismatic, Revolute
from noslip.model import check_model
from noslip.shapes import Box, Cylinder, Ring, Sphere
from noslip.surfaces import Ball, Disk, Torus


def rolling(wheel):
    return more(FLYER, "contacts", replace(RIM, wheel=wheel))


def drawn(shape):
    return swap(CART, "bodies", 0, shapes=(shape,))


SIGNS = [
    (rolling(Disk(radius=0, axis=(0.0, 0.0, 1.0))),
     "contact 'rim' has wheel.radius 0, expected more than 0", "contacts.rim.wheel.radius",
     "give a value above zero"),
    (rolling(Ball(radius="-l")), "-0.5, expected more than 0", "contacts.rim.wheel.radius"),
    (rolling(Torus(radius=-1.0, tube_radius=0.0, axis=(0.0, 0.0, 1.0))),
     "contact 'rim' has wheel.radius -1, expected 0 or more", "contacts.rim.wheel.radius",
     "give a value of zero or more"),
    (rolling(Torus(radius=1.0, tube_radius=-0.1, axis=(0.0, 0.0, 1.0))),
     "contact 'rim' has wheel.tube_radius -0.1, expected 0 or more",
     "contacts.rim.wheel.tube_radius", "give a value of zero or more"),
    (drawn(Cylinder(radius=0.0, length=1.0)),
     "body 'cart' has shapes[0].radius 0, expected more than 0", "bodies.cart.shapes[0].radius",
     "give a value above zero"),
    (drawn(Cylinder(radius=1.0, length=-1.0)),
     "body 'cart' has shapes[0].length -1, expected 0 or more", "bodies.cart.shapes[0].length",
     "give a value of zero or more"),
    (drawn(Sphere(radius=-1.0)), "-1, expected more than 0", "bodies.cart.shapes[0].radius"),
    (drawn(Ring(radius=1.0, tube_radius=-1.0)),
     "body 'cart' has shapes[0].tube_radius -1, expected 0 or more",
     "bodies.cart.shapes[0].tube_radius", "give a value of zero or more"),
    (drawn(Box(size=(1.0, "-2*l", 1.0))), "-1, expected 0 or more", "bodies.cart.shapes[0].size"),
    (more(CART, "forces", JointFriction(name="f", speed="swing.rate", level=1.0, smoothing=-0.1)),
     "force 'f' has smoothing -0.1, expected 0 or more", "forces.f.smoothing",
     "give a value of zero or more"),
    (more(CART, "forces", JointFriction(name="f", speed="swing.rate", level=-1.0, smoothing=0.1)),
     "force 'f' has level -1, expected 0 or more", "forces.f.level",
     "give a value of zero or more"),
    (more(CART, "forces", Spring(name="s", body="rod", stiffness=1.0, rest_length=-1.0)),
     "force 's' has rest_length -1, expected 0 or more", "forces.s.rest_length",
     "give a value of zero or more"),
]  # fmt: skip

DIRECTIONS = [
    (
        swap(CART, "joints", type=Revolute(axis=(0, 0, 0))),
        "joint 'swing' has axis (0, 0, 0), which has no direction",
        "joints.swing.axis",
        "give a nonzero direction, for example axis = [0, 0, 1]",
    ),
    (
        swap(CART, "joints", 0, type=Prismatic(axis=("l - 0.5", 0.0, 0.0))),
        "joint 'rail' has axis (0, 0, 0), which has no direction",
        "joints.rail.axis",
        "give a nonzero direction, for example axis = [0, 0, 1]",
    ),
    (
        rolling(Disk(radius=1.0, axis=(0.0, 0.0, 0.0))),
        "contact 'rim' has wheel.axis (0, 0, 0), which has no direction",
        "contacts.rim.wheel.axis",
        "give a nonzero direction, for example axis = [0, 0, 1]",
    ),
    (
        more(CART, "contacts", KnifeEdge(name="blade", body="cart", direction=(0.0, 0.0, 0.0))),
        "contact 'blade' has direction (0, 0, 0), which has no direction",
        "contacts.blade.direction",
        "give a nonzero direction, for example direction = [0, 0, 1]",
    ),
]

ENTRIES = [
    (swap(CART, "bodies", mass=math.nan), "= nan, expected a finite number", "bodies.rod.mass"),
    (swap(CART, "bodies", mass=1e200), "mass = 1e+200, which is out of range", "bodies.rod.mass"),
    (swap(CART, "parameters", value=-1e-300), "which is out of range", "parameters.l.value"),
    (swap(CART, "bodies", mass=10**400), "1e308, expected a finite number", "bodies.rod.mass"),
    (swap(CART, "parameters", value=math.inf), "expected a finite number", "parameters.l.value"),
    (replace(CART, gravity=(0.0, 0.0, -math.inf), parameters=CART.parameters[1:]),
     "the model has gravity[2] = -inf, expected a finite number", "gravity[2]",
     "give a finite number in SI units"),
    (swap(CART, "bodies", mass=True), "has mass = True, which is not a number", "bodies.rod.mass"),
    (replace(CART, scenario=Scenario(duration=1.0, start={"rail.speed": math.nan})),
     'the scenario has start."rail.speed" = nan, expected a finite number',
     'scenario.start."rail.speed"', "give a finite number in SI units"),
    (replace(CART, scenario=Scenario(duration=math.inf)),
     "the scenario has duration = inf, expected a finite number", "scenario.duration",
     "give a finite number in SI units"),
    (swap(CART, "joints", type=Revolute(axis=(0.0, 1.0))),
     "joint 'swing' has axis with 2 values, expected 3", "joints.swing.axis", "give 3 values"),
    (swap(CART, "joints", type=Revolute(axis=[0.0, 1.0, 0.0])),
     "joint 'swing' has axis of type list, expected a tuple", "joints.swing.axis",
     "write axis=(…), with a value for each entry"),
    (swap(FLYER, "joints", type=Free(angles=Angles(sequence="zyx", names=("a", "b")))),
     "joint 'fly' has angles.names with 2 values, expected 3", "joints.fly.angles.names",
     "give 3 values"),
    (swap(CART, "joints", parent_frame=Placement(sequence="xy")),
     "joint 'swing' has parent_frame.sequence = \"xy\", expected three of the letters x, y, z",
     "joints.swing.parent_frame.sequence",
     'write for example sequence = "xyz" or sequence = "zxz"'),
    (swap(CART, "joints", child_frame=Placement(sequence="XYZ")),
     "joint 'swing' has child_frame.sequence = \"XYZ\", expected three of the letters x, y, z",
     "joints.swing.child_frame.sequence", 'write for example sequence = "xyz" or sequence = "zxz"'),
    (swap(FLYER, "joints", type=Free(angles=Angles(sequence="zzx", names=("a", "b", "c")))),
     "joint 'fly' has angles.sequence = \"zzx\", which turns about the same axis twice in a row",
     "joints.fly.angles.sequence", 'write for example sequence = "xyz" or sequence = "zxz"'),
    (drawn(Sphere(radius=1.0, color="red")), "# and six hex digits", "bodies.cart.shapes[0].color"),
]  # fmt: skip

INERTIA = [
    (swap(CART, "bodies", mass="-l"), "'rod' has mass -0.5, expected 0 or more", "bodies.rod.mass"),
    (swap(CART, "bodies", inertia=None), "body 'rod' has neither inertia nor moment", "bodies.rod"),
    (swap(CART, "bodies", moment=1.0), "body 'rod' has both inertia and moment", "bodies.rod"),
    (swap(CART, "bodies", inertia=None, moment=-1.0), "expected 0 or more", "bodies.rod.moment"),
    (swap(CART, "bodies", inertia=(1.0, 1.0)), "2 values, expected 3 or 6", "bodies.rod.inertia"),
    (swap(CART, "bodies", inertia=(1.0, 1.0, "-2*l")), "expected 0 or more", "bodies.rod.inertia"),
    (
        swap(CART, "bodies", inertia=(1.0, 1.0, 1.0, 2.0, 0.0, 0.0)),
        "body 'rod' has principal moments of inertia (-1, 1, 3), expected 0 or more",
        "bodies.rod.inertia",
        "check the entries and the signs of the products: Ixy = -∫ x y dm",
    ),
]


@pytest.mark.parametrize("case", SIGNS + DIRECTIONS + ENTRIES + INERTIA)
def test_a_number_at_fault(case):
    one_fault(*case)


def test_a_parameter_without_a_value_is_one_fault_wherever_it_is_used():
    model = swap(CART, "parameters", value=math.nan)
    model = swap(model, "bodies", mass="2*l", inertia=("2*l", "2*l", "-2*l"))
    assert [fault.where for fault in faults(model)] == ["parameters.l.value"]


def test_a_rod_with_rounding_in_its_inertia_is_fine():
    # a slender rod along (1, 1, 0): one principal moment is zero up to rounding
    entry = 0.1 + 0.2
    model = swap(CART, "bodies", inertia=(entry, 0.3, 0.6, -0.3, 0.0, 0.0))
    assert check_model(model) == ()


def test_an_inertia_no_body_has_is_a_warning():
    assert check_model(swap(CART, "bodies", inertia=(1.0, 1.0, "2.5*cos(0)"))) == (
        Fault(
            "body 'rod' has principal moments of inertia (1, 1, 2.5), which no body has: the "
            "largest is above the sum of the others",
            "bodies.rod.inertia",
            "check the entries; A + B >= C holds for every distribution of mass",
        ),
    )


@pytest.mark.parametrize("given", [{"moment": 1.0}, {"inertia": (0.0, 0.0, 0.0)}])
def test_planar_bodies_and_points_are_fine(given):
    assert check_model(swap(CART, "bodies", 0, **{"inertia": None, **given})) == ()


def test_a_massless_body_is_a_warning():
    model = replace(CART, bodies=(CART.bodies[0], body("rod", center_of_mass=(0.0, 0.0, "l"))))
    assert check_model(swap(model, "bodies", mass=0.0)) == (
        Fault(
            "body 'rod' has no mass; its motion must be fixed by bodies that have one",
            "bodies.rod.mass",
            "give it a mass, or leave it if other bodies carry its motion",
        ),
    )


def test_whole_numbers_are_numbers():
    model = more(CART, "parameters", parameter("k", 3, "kg"))
    model = swap(model, "bodies", mass="k", inertia=(1, 1, 1))
    assert check_model(model) == ()

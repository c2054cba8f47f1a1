"""A word that is not known hides no other fault of its file, and makes none up."""

import pytest

from noslip import ModelError
from noslip.model import parse_model

#: Its mass is at fault in every case.
CART = """\
format = 1
name = "cart"
gravity = [0, 0, -9.81]
[bodies.cart]
mass = -1
moment = 2
[joints.cart]
type = "planar"
parent = "world"
child = "cart"
[forces.drive]
type = "motor"
speed = "cart.vx"
input = "push"
[inputs.push]
unit = "N"
"""

RIM = "[contacts.rim]\ntype = 'rolling'\nbody = 'cart'\n"
SHAPES = "shapes = [{type = 'blob'}, {type = 'sphere', radius = -1}]"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # nearly a type: read as the one that was meant, and its keys and units are checked
        ([("planar", "plannar")], ["8, joints.cart.type"]),
        (
            [("planar", "revolut"), ("vx", "rate")],
            ["7, joints.cart.axis", "8, joints.cart.type", "14, forces.drive.input"],
        ),
        ([("motor", "moter"), ("vx", "vq")], ["12, forces.drive.type", "13, forces.drive.speed"]),
        # a type that others call by another name
        (
            [("planar", "hinge"), ("vx", "rate")],
            ["7, joints.cart.axis", "8, joints.cart.type", "14, forces.drive.input"],
        ),
        # like no type: nothing is said of its names and keys
        ([("planar", "swivel"), ("vx", "rate")], ["8, joints.cart.type"]),
        (
            [('type = "planar"', 'type = "swivel"\naxis = [1, 0, 0]\nmas = 2')],
            ["8, joints.cart.type", "10, joints.cart.mas"],
        ),
        ([('type = "planar"\n', "")], ["7, joints.cart"]),
        ([("motor", "engine"), ("vx", "vq")], ["12, forces.drive.type"]),
        ([('"motor"', "3")], ["12, forces.drive.type"]),
        # a part within a part
        ([("[forces", RIM + "wheel = 3\n[forces")], ["14, contacts.rim.wheel"]),
        ([("[forces", RIM + "[forces")], ["11, contacts.rim.wheel"]),
        (
            [("[forces", RIM + "wheel = {type = 'tyre', radius = 1}\n[forces")],
            ["14, contacts.rim.wheel.type"],
        ),
        ([("child", "parent_frame = 3\nchild")], ["10, joints.cart.parent_frame"]),
        (
            [("moment = 2", SHAPES + "\nmoment = 2")],
            ["6, bodies.cart.shapes[0].type", "6, bodies.cart.shapes[1].radius"],
        ),
        # a table that was meant to be another, and a key that is none
        (
            [("[forces.drive]", "[force.drive]"), ("vx", "vq")],
            ["11, force", "13, forces.drive.speed"],
        ),
        ([("[bodies.cart]", "[body.cart]")], ["4, body"]),
        ([('unit = "N"', 'unit = "N"\n[scenario]\nduration = -1')], ["18, scenario.duration"]),
    ],
)
def test_all_faults_are_reported_together(changes, expected):
    text = CART
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    with pytest.raises(ModelError) as caught:
        parse_model(text, "cart.toml")
    found = [fault.where.removeprefix("cart.toml, line ") for fault in caught.value.faults]
    assert [place for place in found if not place.endswith("bodies.cart.mass")] == expected
    assert len(found) == len(expected) + 1


def test_a_key_that_is_none_is_left_out():
    with pytest.raises(ModelError) as caught:
        parse_model(CART.replace("gravity", "author = 'me'\ngravity"), "cart.toml")
    assert [fault.where for fault in caught.value.faults] == [
        "cart.toml, line 3, author",
        "cart.toml, line 6, bodies.cart.mass",
    ]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("[forces.drive]", "[zzz.drive]", "line 11, zzz"),
        ("[bodies.cart]\nmass = -1\nmoment = 2", "[bodies]\ncart = 3", "line 5, bodies.cart"),
    ],
)
def test_what_may_be_missed_anywhere_is_reported_alone(old, new, where):
    assert old in CART
    with pytest.raises(ModelError) as caught:
        parse_model(CART.replace(old, new), "cart.toml")
    assert [fault.where for fault in caught.value.faults] == [f"cart.toml, {where}"]


def test_a_fault_of_several_numbers_is_told_once():
    box = "[[bodies.cart.shapes]]\ntype = 'box'\nsize = [-1, -1, -1]\n[joints.cart]"
    with pytest.raises(ModelError) as caught:
        parse_model(
            CART.replace("mass = -1", "mass = 1").replace("[joints.cart]", box), "cart.toml"
        )
    assert len(caught.value.faults) == 1
    assert "shapes[0].size -1" in str(caught.value) and "faults" not in str(caught.value)


COUPLED = """
format = 1
name = "coupled"
gravity = [0, 0, -9.81]
[parameters]
r = {value = 0.1, unit = "m"}
[bodies.a]
mass = 1
inertia = [0.1, 0.1, 0.1]
[bodies.b]
mass = 1
inertia = [0.1, 0.1, 0.1]
[joints.a]
type = "revolute"
axis = [0, 0, 1]
parent = "world"
child = "a"
[joints.b]
type = "revolute"
axis = [0, 0, 1]
parent = "world"
child = "b"
parent_frame = {position = [0.5, 0, 0]}
[definitions.p]
expression = "q + 1"
[definitions.q]
expression = "2*p"
unit = "lightyears"
[rows.mesh]
type = "gear"
first = "a.angle"
second = "b.angle"
first_radius = "r"
second_radius = 0.2
[rows.belt]
type = "belt"
first = "a.angle"
second = "b.angle"
first_radius = 1
second_radius = 0.2
[rows.height]
type = "position"
expression = "point(c, 0.1, 0, 0).z"
[rows.rail]
type = "velocity"
expression = "velocity(a, 0.1, 0, 0).x"
acts = [{body = "d", force = [1, 0, 0]}, {body = "a", other_body = "a"}]
[forces.push]
type = "wrench"
body = "a"
force = ["axis(e, z).x", 0, 0]
[scenario]
duration = 1
outputs = {far = "point(f).x"}
stop = {up = "velocity(g).z"}
"""


def test_faults_of_couplings_definitions_points_and_units_come_together():
    with pytest.raises(ModelError) as caught:
        parse_model(COUPLED, "coupled.toml")
    faults = caught.value.faults
    said = [
        ("definition 'p' uses itself", 25),
        ('unit "lightyears"', 28),
        ("'mesh' has gears of radii 0.1 m and 0.2 m, whose axes are 0.5 m apart", 29),
        ("'belt' has a belt on pulleys of radii 1 m and 0.2 m", 35),
        ("'mesh' and 'belt' couple the same two joints with different ratios", 35),
        ("body 'c', which is not declared", 43),
        ("body 'd', which is not declared", 47),
        ("acts between body 'a' and itself", 47),
        ("acts on 'a' with neither force nor moment", 47),
        ("body 'e', which is not declared", 51),
        ("body 'f', which is not declared", 54),
        ("body 'g', which is not declared", 55),
    ]
    assert len(faults) == len(said)
    for fault, (words, line) in zip(faults, said, strict=True):
        assert words in fault.what
        assert fault.where.startswith(f"coupled.toml, line {line},")
        assert fault.fix

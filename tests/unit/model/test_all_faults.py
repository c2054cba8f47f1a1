"""A word that is not known hides no other fault of its file, and makes none up."""

import pytest

from noslip.errors import ModelError
from noslip.model.files import parse_model

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
        # nearly a type: read as the one that was meant, and its keys are checked
        ([("planar", "plannar")], ["8, joints.cart.type"]),
        ([("planar", "revolut"), ("vx", "rate")], ["7, joints.cart.axis", "8, joints.cart.type"]),
        ([("motor", "moter"), ("vx", "vq")], ["12, forces.drive.type", "13, forces.drive.speed"]),
        # a type that others call by another name
        ([("planar", "hinge"), ("vx", "rate")], ["7, joints.cart.axis", "8, joints.cart.type"]),
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

"""What only Python can get wrong: texts, tables and tuples of another type."""

from dataclasses import replace

import pytest
from cart_model import CART, FLYER, RIM, faults, more, one_fault, swap

from noslip import ModelBuilder, Scenario
from noslip.joints import Planar
from noslip.model import check_model, model_to_toml, parse_model
from noslip.shapes import Box


@pytest.mark.parametrize(
    "case",
    [
        (replace(CART, name=3), "the model has name = 3, expected text", "name", 'name="…"'),
        (swap(CART, "parameters", unit=None), "unit = None, expected text", "parameters.l.unit"),
        (
            swap(CART, "joints", parent=CART.bodies[0]),
            "joint 'swing' has parent = Body(name='cart', ",
            "joints.swing.parent",
            "in quotes",
        ),
        (swap(CART, "joints", motion="t"), "a table of expressions", "joints.swing.motion"),
        (
            swap(CART, "joints", motion={"angle": 0.5}),
            "joint 'swing' has motion = {'angle': 0.5}, expected a table of expressions",
            "joints.swing.motion",
            "expressions in quotes",
        ),
        (
            replace(CART, scenario=Scenario(duration=1.0, start=[1.0])),
            "the scenario has start = [1.0], expected a table of numbers or expressions",
            "scenario.start",
            'start={"wheel1.angle": 0.5}',
        ),
        (
            more(FLYER, "contacts", replace(RIM, lateral="no")),
            "contact 'rim' has lateral = 'no', expected true or false",
            "contacts.rim.lateral",
            "lateral=True or lateral=False",
        ),
    ],
)
def test_a_field_of_another_type(case):
    one_fault(*case)


def test_nothing_else_is_said_until_they_are_mended():
    model = swap(swap(CART, "bodies", mass=-1.0), "joints", motion="t")
    assert [fault.where for fault in faults(model)] == ["joints.swing.motion"]


def test_a_builder_takes_lists():
    builder = ModelBuilder(name="sled", gravity=[0.0, 0.0, -9.81], references=["a"])
    shapes = [Box(size=(0.1, 0.1, 0.1))]
    builder.body("sled", mass=1.0, inertia=[1.0, 1.0, 1.0], center_of_mass=[0, 0, 1], shapes=shapes)
    builder.joint("sled", Planar(), parent="world", child="sled")
    model = builder.build()
    assert check_model(model) == ()
    assert parse_model(model_to_toml(model))[0] == model

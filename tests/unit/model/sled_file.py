"""The file of a sled on a blade, and the faults of variations of it."""

import pytest

from noslip import ModelError
from noslip.model import parse_model

SLED = """\
format = 1
name = "sled"
gravity = [0, 0, -9.81]
[bodies.sled]
mass = 1
moment = 2
[joints.sled]
type = "planar"
parent = "world"
child = "sled"
[contacts.blade]
type = "knife_edge"
body = "sled"
direction = [1, 0, 0]
"""


def faults(text):
    with pytest.raises(ModelError) as caught:
        parse_model(text, "sled.toml")
    return caught.value.faults


def edited(old, new):
    assert old in SLED
    return SLED.replace(old, new)

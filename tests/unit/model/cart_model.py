"""A cart with a pendulum, variations of it, and what tests of checks do with them."""

from dataclasses import replace

import pytest

from noslip import Body, ForceInput, Joint, Model, ModelError, Parameter
from noslip.contacts import Rolling
from noslip.forces import Motor
from noslip.joints import Angles, Free, Prismatic, Revolute
from noslip.model import check_model
from noslip.surfaces import Disk


def parameter(name, value=1.0, unit="1"):
    return Parameter(name=name, value=value, unit=unit)


def body(name, **more):
    return Body(name=name, mass=1.0, **{"inertia": (1.0, 1.0, 1.0), **more})


def hinge(name, parent, child, **more):
    return Joint(name=name, parent=parent, child=child, type=Revolute(axis=(0.0, 1.0, 0.0)), **more)


CART = Model(
    name="cart",
    gravity=(0.0, 0.0, "-g"),
    parameters=(parameter("g", 9.81, "m/s^2"), parameter("l", 0.5, "m")),
    bodies=(body("cart"), body("rod", center_of_mass=(0.0, 0.0, "-l"))),
    joints=(
        Joint(name="rail", parent="world", child="cart", type=Prismatic(axis=(1.0, 0.0, 0.0))),
        hinge("swing", "cart", "rod"),
    ),
    inputs=(ForceInput(name="push", unit="N"),),
    forces=(Motor(name="drive", speed="rail.speed", input="push"),),
)
FLYER = replace(
    CART,
    bodies=(*CART.bodies, body("disk")),
    joints=(
        *CART.joints,
        Joint(
            name="fly",
            parent="world",
            child="disk",
            type=Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        ),
    ),
)
LOOP = replace(CART, joints=(*CART.joints, hinge("pin", "world", "rod")))
RIM = Rolling(name="rim", body="disk", wheel=Disk(radius=0.1, axis=(0.0, 0.0, 1.0)))


def faults(model):
    with pytest.raises(ModelError) as caught:
        check_model(model)
    return caught.value.faults


def one_fault(model, what, where, fix=""):
    """One fault is found, at this place; its words contain those given, and a fix is among them."""
    (fault,) = faults(model)
    assert what in fault.what and fault.where == where and fix in fault.fix and fault.fix


def swap(model, kind, index=-1, **changes):
    """The model with fields of one part changed."""
    parts = list(getattr(model, kind))
    parts[index] = replace(parts[index], **changes)
    return replace(model, **{kind: tuple(parts)})


def more(model, kind, *parts):
    return replace(model, **{kind: (*getattr(model, kind), *parts)})

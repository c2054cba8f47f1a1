"""A body with a single moment of inertia turns about its z axis, or is warned about."""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from cart_model import CART, FLYER, body, hinge, more, swap
from hypothesis import given
from hypothesis import settings as hypothesis
from random_trees import trees

import noslip as ns
from noslip import Fault
from noslip.formulations import body_jacobian
from noslip.kinematics import trace
from noslip.model import check_model, topology
from noslip.model.checks import _turns

FLAT = {"inertia": None, "moment": 1.0}
ABOUT_Z = ns.joints.Revolute(axis=(0.0, 0.0, -2.0))


def warnings(model):
    return [w.what for w in check_model(model)]


def test_a_wheel_that_spins_about_another_axis_is_a_warning():
    assert check_model(swap(CART, "bodies", **FLAT)) == (
        Fault(
            "body 'rod' has moment, its inertia about its own z axis alone, but joint 'swing' "
            "turns it about (0, 1, 0)",
            "bodies.rod.moment",
            "give inertia = [Ixx, Iyy, Izz] instead, about the axes of the body",
        ),
    )


@pytest.mark.parametrize(
    ("model", "by", "axis"),
    [
        (swap(FLYER, "bodies", **FLAT), "fly", "(1, 0, 0)"),
        # carried by what turns
        (
            more(
                more(CART, "bodies", body("tip", **FLAT)), "joints",
                ns.Joint(name="weld", parent="rod", child="tip", type=ns.joints.Fixed()),
            ),
            "swing",
            "(0, 1, 0)",
        ),
        # a joint about z, on a frame that is not upright
        (
            swap(
                swap(CART, "bodies", **FLAT), "joints", type=ABOUT_Z,
                child_frame=ns.Placement(angles=(0.0, "pi/2", 0.0)),
            ),
            "swing",
            "(-1, 0, 0)",
        ),
    ],
)  # fmt: skip
def test_what_turns_it_is_named(model, by, axis):
    (warning,) = warnings(model)
    assert f"joint '{by}' turns it about {axis}" in warning


@pytest.mark.parametrize(
    "model",
    [
        # it slides, and a body about y whose z axis lies along y
        swap(CART, "bodies", 0, **FLAT),
        swap(
            swap(CART, "bodies", **FLAT), "joints",
            child_frame=ns.Placement(angles=("-pi/2", 0.0, 0.0)),
        ),
        swap(swap(CART, "bodies", **FLAT), "joints", type=ABOUT_Z),
        swap(swap(CART, "bodies", **FLAT), "joints", type=ns.joints.Planar()),
    ],
)  # fmt: skip
def test_bodies_that_turn_about_z(model):
    model = replace(model, forces=(), inputs=())
    assert warnings(model) == []


def test_what_is_not_known_is_not_judged():
    askew = replace(
        hinge("swing", "cart", "rod"), parent_frame=ns.Placement(angles=(math.nan, 0, 0))
    )
    model = replace(swap(CART, "bodies", **FLAT), joints=(CART.joints[0], askew))
    with pytest.raises(ns.ModelError) as caught:
        check_model(model)
    assert [f.where for f in caught.value.faults] == ["joints.swing.parent_frame.angles[0]"]


def test_an_axis_that_is_a_list_is_a_fault_of_its_own():
    model = swap(
        swap(CART, "bodies", **FLAT), "joints", type=ns.joints.Revolute(axis=[0.0, 1.0, 0.0])
    )
    with pytest.raises(ns.ModelError) as caught:
        check_model(model)
    assert [f.where for f in caught.value.faults] == ["joints.swing.axis"]


@pytest.mark.slow
@hypothesis(max_examples=25)
@given(trees())
def test_axes_of_turning_and_the_jacobian(model):
    """What the check says a body turns about is what the traced kinematics say, at rest."""
    kin = trace(model)
    rest = np.array([r for node in kin.tree.nodes for r in node.joint.type.rest])
    J = ca.Function("J", [kin.symbols.q, kin.symbols.params], [body_jacobian(kin)])
    J = np.array(J(rest, [])).reshape(6 * len(kin.tree.nodes), -1)
    turns = {"world": []}
    for joint in topology(model).tree:
        turns[joint.child] = _turns(joint, turns[joint.parent], {})
        k = kin.tree.index[joint.child]
        columns = [c for c in J[6 * k + 3 : 6 * k + 6].T if np.linalg.norm(c) > 1e-12]
        found = [axis for _, axis in turns[joint.child]]
        assert np.shape(found) == np.shape(columns)
        assert np.allclose(found, columns, rtol=0, atol=1e-14)

"""Hamel terms from the closed forms of nonholonomic joints equal those found by differentiating."""

import pytest

import noslip as ns
from noslip.formulations import recognize


def compared(model):
    both = (ns.BoltzmannHamel(), ns.BoltzmannHamel(jointwise=True))
    return ns.verify(model, formulations=both, states=3)


def sled(arm=True):
    """A knife joint that carries a two-link arm: the arm's coordinates stay Lagrange's."""
    b = ns.ModelBuilder(name="sled-with-arm", gravity=(0.0, -2.0, -9.81))
    b.body(
        "sled", mass=2.0, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), center_of_mass=(0.2, 0.1, 0.3)
    )
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled")
    b.contact(
        ns.contacts.KnifeEdge(
            name="blade", body="sled", direction=(1.0, 0.3, 0.0), point=(0.4, 0.2, 0.0)
        )
    )
    if arm:
        b.body("upper", mass=0.7, inertia=(0.1, 0.2, 0.15), center_of_mass=(0.0, 0.0, 0.4))
        b.body("lower", mass=0.4, inertia=(0.05, 0.06, 0.03), center_of_mass=(0.3, 0.0, 0.0))
        place = ns.Placement(position=(0.1, 0.0, 0.3))
        b.joint(
            "shoulder",
            ns.joints.Revolute(axis=(0.0, 1.0, 0.0)),
            parent="sled",
            child="upper",
            parent_frame=place,
        )
        tip = ns.Placement(position=(0.0, 0.0, 0.8))
        b.joint("wrist", ns.joints.Spherical(), parent="upper", child="lower", parent_frame=tip)
    return b.build()


def tricycle():
    """The paper's tricycle in the regular form: independent speed along the front wheel."""
    b = ns.ModelBuilder(name="tricycle", gravity=(0.8, -0.3, 0.0))
    b.parameter("l", 1.1, "m")
    b.body("frame", mass=12.0, moment=1.6, center_of_mass=(0.45, 0.0, 0.0))
    b.body("fork", mass=1.5, moment=0.04)
    b.joint("frame", ns.joints.Planar(), parent="world", child="frame")
    front = ns.Placement(position=("l", 0.0, 0.0))
    b.joint(
        "fork",
        ns.joints.Revolute(axis=(0.0, 0.0, 1.0)),
        parent="frame",
        child="fork",
        parent_frame=front,
    )
    b.contact(ns.contacts.KnifeEdge(name="rear", body="frame", direction=(1.0, 0.0, 0.0)))
    b.contact(ns.contacts.KnifeEdge(name="front", body="fork", direction=(1.0, 0.0, 0.0)))
    speed = "frame.vx*cos(fork.angle) + (frame.vy + l*frame.rate)*sin(fork.angle)"
    b.independent_speed("v", speed, "m/s")
    b.independent_speed("fork.rate")
    return b.build()


def heavy_body():
    b = ns.ModelBuilder(name="heavy-body", gravity=(0.0, 0.0, -9.81))
    b.body(
        "top", mass=1.0, inertia=(0.2, 0.3, 0.25, 0.01, 0.0, 0.02), center_of_mass=(0.1, 0.2, 0.4)
    )
    b.joint("top", ns.joints.Spherical(), parent="world", child="top")
    return b.build()


CASES = {
    "knife": sled,
    "tricycle": tricycle,
    "roll-pitch-yaw": heavy_body,
    "rolling disk": lambda: ns.load("rolling-disk"),
    "wheel set": lambda: ns.load("agv"),
}


@pytest.mark.parametrize("word", CASES)
def test_jointwise_terms_equal_the_general_ones(word):
    model = CASES[word]()
    certificate = compared(model)
    assert certificate.holds, certificate.text()
    assert word in {joint.word for joint in recognize(ns.trace(model))}


@pytest.mark.parametrize("name", ns.MODELS)
def test_every_model_is_assembled_from_joints(name):
    certificate = compared(ns.load(name))
    assert certificate.holds, certificate.text()


def test_a_row_of_no_known_joint_has_its_own_curl():
    b = ns.ModelBuilder(name="odd", gravity=(0.0, 0.0, 0.0))
    b.body("cart", mass=1.0, moment=0.1)
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
    row = "cart.vx - 0.3*sin(cart.x + t)*cart.vy - 0.1*cos(t)"
    b.row(ns.rows.VelocityRow(name="belt", expression=row))
    model = b.build()
    assert [(j.word, j.rows) for j in recognize(ns.trace(model))] == [("constraint", ("belt",))]
    certificate = compared(model)
    assert certificate.holds, certificate.text()

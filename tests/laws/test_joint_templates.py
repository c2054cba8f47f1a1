"""Templates of nonholonomic joints against the print and against the terms of mechanisms."""

import numpy as np
import pytest
import sympy

import noslip as ns


@pytest.mark.parametrize("word", ns.joints.JOINT_TEMPLATES)
def test_both_maps_are_inverse(word):
    joint = ns.joints.joint_template(word)
    assert sympy.simplify(joint.alpha.T * joint.beta) == sympy.eye(len(joint.coordinates))


def test_the_knife_is_that_of_the_print():
    """[CameronBook1993, eqs. 57–59]."""
    joint = ns.joints.joint_template("knife")
    v, w2, turn = joint.quasi_velocities
    theta = joint.coordinates[2]
    c, s = sympy.cos(theta), sympy.sin(theta)
    printed = sympy.Matrix([[-turn * s, -turn * c, 0], [turn * c, -turn * s, 0], [-w2, v, 0]])
    assert sympy.simplify(joint.gamma - printed) == sympy.zeros(3, 3)
    assert joint.Gamma[0, 1] == -turn and joint.Gamma[2, 1] == v


def test_the_tricycle_of_the_print_and_the_regular_one():
    """[CameronBook1993, eqs. 68–70]; w₃ across the front wheel leaves −φ̇P₃ and vP₃ alone."""
    printed = ns.joints.joint_template("tricycle-as-printed")
    v, _, _, turn = printed.quasi_velocities
    _, _, theta, phi = printed.coordinates
    row, last = printed.Gamma[0, :], printed.Gamma[3, :]
    assert sympy.simplify(row[0] - turn * sympy.tan(phi)) == 0
    assert sympy.simplify(row[2] + turn * sympy.cos(theta)) == 0
    assert sympy.simplify(last[0] + v * sympy.tan(phi)) == 0
    assert sympy.simplify(last[2] - v * sympy.cos(theta)) == 0
    assert row[1] == 0 and last[1] == 0  # "P₂ is not needed"
    regular = ns.joints.joint_template("tricycle").Gamma
    assert list(regular[0, :]) == [0, 0, -turn, 0] and list(regular[3, :]) == [0, 0, v, 0]


def test_the_ball_joint_turns_its_momenta():
    """[CameronBook1993, eqs. 74–76]: Γ P = ω × P, with the indices of the errata."""
    joint = ns.joints.joint_template("roll-pitch-yaw")
    x, y, z = joint.quasi_velocities
    cross = sympy.Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    assert sympy.simplify(joint.Gamma - cross) == sympy.zeros(3, 3)


@pytest.mark.parametrize(
    ("word", "model", "order"),
    [("knife", "sled-with-rotor", (1, 0, 2)), ("tricycle", "tricycle", (2, 0, 1, 3))],
)
def test_templates_are_the_terms_of_mechanisms(word, model, order):
    """Γ of a mechanism has the template's, in its own order of quasi-velocities."""
    joint = ns.joints.joint_template(word)
    speeds = {"sled-with-rotor": ("sled.vx", "sled.rate"), "tricycle": ("v", "steer.rate")}[model]
    state = {speeds[0]: 1.5, speeds[1]: -0.8}
    state |= {"frame.angle": 0.4, "steer.angle": 0.3} if model == "tricycle" else {}
    m = ns.matrices(ns.load(model), "boltzmann-hamel", state=state)
    found = m["Gamma"][np.ix_(order, order)]
    given = dict(zip(joint.independent, (1.5, -0.8), strict=True))
    q = dict(zip(joint.coordinates, (0.0, 0.0, 0.4, 0.3), strict=False))
    lengths = {s: 1.1 for s in joint.beta.free_symbols if s.name == "ℓ"}
    expected = np.array(joint.Gamma.subs(given | q | lengths).tolist(), dtype=float)
    free = [joint.quasi_velocities.index(w) for w in joint.independent]
    assert np.max(np.abs(found[free] - expected[free])) < 1e-13


def test_a_template_is_printed_alone(refuses):
    text = ns.joints.joint_template("knife").text()
    assert "− cos(θ)" in text and "P2" in text and "F_v" in text
    assert "d/dt (∂L/∂v) − θ̇ P2" in text
    assert r"\partial L" in ns.joints.joint_template("knife").text("latex")
    with refuses(ns.FormulationError, "no joint template 'knif'", "nonholonomic", "knife"):
        ns.joints.joint_template("knif")

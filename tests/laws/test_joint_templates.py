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
    assert "d/dt (∂L/∂v) − θ˙ P2" in text
    assert r"\partial L" in ns.joints.joint_template("knife").text("latex")
    with refuses(ns.FormulationError, "no joint template 'knif'", "nonholonomic", "knife"):
        ns.joints.joint_template("knif")


def found_tricycle():
    """The tricycle's β from its two constraints and the speeds v and φ̇."""
    x, y, theta, phi = sympy.symbols("x y θ φ", real=True)
    v, w2, w3, turn = sympy.symbols("v w2 w3 φ̇", real=True)
    ell = sympy.Symbol("ℓ", positive=True)
    c, s, cf, sf = sympy.cos(theta), sympy.sin(theta), sympy.cos(phi), sympy.sin(phi)
    return ns.joints.JointTemplate.from_constraints(
        (x, y, theta, phi),
        {w2: (-s, c, 0, 0), w3: (-c * sf, -s * sf, ell * cf, 0)},
        {v: (c * cf, s * cf, ell * sf, 0), turn: (0, 0, 0, 1)},
    )


def test_directions_follow_from_constraints():
    """[A; E] inverted is the β of the template, column by column."""
    found, known = found_tricycle(), ns.joints.joint_template("tricycle")
    for k, w in enumerate(known.quasi_velocities):
        own = found.beta[:, found.quasi_velocities.index(w)]
        assert sympy.simplify(own - known.beta[:, k]) == sympy.zeros(4, 1)


def test_a_lagrangian_of_ones_own_gives_the_tricycles_accelerations():
    """Independent numbers: v̇ and φ̈ of the tricycle on a slope, in 15 digits."""
    joint = found_tricycle()
    x, y, theta, phi = joint.coordinates
    numbers = dict(ell=1.1, m_b=12.0, p=0.45, J_b=1.6, m_f=1.5, J_f=0.04, gx=0.8, gy=-0.3)
    ell = sympy.Symbol("ℓ", positive=True)
    rates = joint.beta * sympy.Matrix(joint.quasi_velocities)
    ahead = sympy.Matrix([sympy.cos(theta), sympy.sin(theta)])
    aside = sympy.Matrix([-sympy.sin(theta), sympy.cos(theta)])
    L = numbers["J_b"] * rates[2] ** 2 / 2 + numbers["J_f"] * (rates[2] + rates[3]) ** 2 / 2
    for mass, arm in ((numbers["m_b"], numbers["p"]), (numbers["m_f"], ell)):
        velocity = sympy.Matrix(rates[:2]) + arm * rates[2] * aside
        place = sympy.Matrix([x, y]) + arm * ahead
        L += mass * velocity.dot(velocity) / 2
        L += mass * (numbers["gx"] * place[0] + numbers["gy"] * place[1])
    left = joint.equations(L)
    state = {theta: 0.4, phi: 0.3, ell: 1.1, x: 0.0, y: 0.0}
    v, turn = joint.independent
    state |= {v: 1.5, turn: -0.8}
    rows = [left[v].subs(state) - 5.0, left[turn].subs(state) - 0.1]
    unknown = sympy.symbols("v_dot φ̇_dot", real=True)
    solved = sympy.solve(rows, unknown)
    assert float(solved[unknown[0]]) == pytest.approx(0.6999300034632, rel=1e-12)
    assert float(solved[unknown[1]]) == pytest.approx(3.35414575243528, rel=1e-12)


def test_the_sled_with_a_rotor_is_a_knife_with_one_more_coordinate():
    """[CameronBook1993, eqs. 87, 90, 93], with m₂w₁₂²/2 that the print leaves out of L₂."""
    knife = ns.joints.joint_template("knife")
    v, w2, turn = knife.quasi_velocities
    m1, m2, ell, I1, I2 = sympy.symbols("m1 m2 l I1 I2", positive=True)
    rotor, spin = sympy.symbols("θ2 θ̇2", real=True)
    L = m1 * (v**2 + (w2 - ell * turn) ** 2) / 2 + (I1 - m1 * ell**2) * turn**2 / 2
    L += m2 * (v**2 + w2**2) / 2 + I2 * (turn + spin) ** 2 / 2
    left = knife.equations(L, {rotor: spin})
    v_dot, turn_dot, spin_dot = sympy.symbols("v_dot θ̇_dot θ̇2_dot", real=True)
    printed = {
        v: (m1 + m2) * v_dot + m1 * ell * turn**2,
        turn: (I1 + I2) * turn_dot + I2 * spin_dot - m1 * ell * turn * v,
        spin: I2 * (turn_dot + spin_dot),
    }
    assert left.keys() == printed.keys()
    assert all(sympy.simplify(left[x] - printed[x]) == 0 for x in printed)


def test_rows_that_do_not_determine_the_rates_are_refused():
    x, y = sympy.symbols("x y", real=True)
    v, w = sympy.symbols("v w", real=True)
    for rows, why in (({w: (1, 0, 0)}, "do not determine"), ({w: (2, 4)}, "depend on each other")):
        with pytest.raises(ns.FormulationError, match=why):
            ns.joints.JointTemplate.from_constraints((x, y), rows, {v: (1, 2)})

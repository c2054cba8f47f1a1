"""Polynomials of one angle: fewer operations, the same numbers."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.engines.interpreter import interpret
from noslip.engines.program import trace_program
from noslip.engines.trig_polynomials import shorten
from noslip.spatial import rotation_about, unit

#: Two ways to the same polynomial, relative to its coefficients.
ROUNDING = 1e-15

EMPTY = ca.SX(0, 1)
x = ca.SX.sym("x", 3)
c, s = ca.cos(x[0]), ca.sin(x[0])


def program_of(*outputs):
    return trace_program("f", (EMPTY, x, EMPTY, EMPTY), ca.vertcat(*outputs))


def values(program, point):
    return interpret(program, [], point, [], [])


def agree(program, shorter, rng, scale=1.0):
    points = [rng.uniform(-4, 4, size=3) for _ in range(20)] + [np.zeros(3), np.full(3, np.pi)]
    for point in points:
        expected = values(program, point)
        assert values(shorter, point) == pytest.approx(expected, abs=4 * ROUNDING * scale)


def test_inertia_of_a_body_that_turns_about_an_axis(rng):
    R = rotation_about(unit(ca.DM([0.3, 0.0, -0.9])), x[0])
    inertia = ca.DM([[4.0, 0.0, 0.3], [0.0, 5.0, 0.0], [0.3, 0.0, 2.0]])
    turned = ca.mtimes(R, ca.mtimes(inertia, R.T))
    program = program_of(ca.vec(turned))
    shorter = shorten(program)
    # at most c (p₁ + p₂ c) + p₀ on the diagonal and s (q₀ + q₁ c) beside it, and both of x z
    assert shorter.num_operations <= 2 + 5 * 4 + 4 * 3
    assert shorter.num_operations < 0.7 * program.num_operations
    agree(program, shorter, rng, 10.0)


def test_points_of_a_body_that_turns(rng):
    R = rotation_about(unit(ca.DM([0.3, 0.0, -0.9])), x[1])
    program = program_of(ca.mtimes(R, ca.DM([0.7, 0.0, 0.2])))
    shorter = shorten(program)
    assert shorter.count() == {"mul": 3, "add": 2, "sin": 1, "cos": 1}
    agree(program, shorter, rng)


def test_a_square_of_the_sine_keeps_its_digits():
    program = program_of(3 * s * s + 2 * s * s - s * s, c)
    assert shorten(program) is program
    small = values(shorten(program), [1e-9, 0.0, 0.0])[0]
    assert small == pytest.approx(4e-18, rel=1e-14)


def test_a_squared_distance_keeps_its_digits():
    """Of two points that come together as a body turns: 2 − 2 c has none left at 1e-8."""
    program = program_of((c - 1) * (c - 1) + s * s, (s + (c - 1)) * (s + (c - 1)))
    for angle in (1e-9, -1e-6, 1e-3):
        expected = [4 * np.sin(angle / 2) ** 2, (np.sin(angle) - 2 * np.sin(angle / 2) ** 2) ** 2]
        found = values(shorten(program), [angle, 0.0, 0.0])
        assert found == pytest.approx(expected, rel=1e-9)


def test_a_spring_whose_ends_come_together_pulls_as_it_should():
    """Moment −k (d − l) sin x / d with d = 2 sin(x/2), in code of numbers alone."""
    b = ns.ModelBuilder(name="arm", gravity=(0.0, 0.0, 0.0))
    b.body("arm", mass=2.0, inertia=(0.1, 0.2, 0.3))
    b.joint("arm", ns.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="arm")
    end = (1.0, 0.0, 0.0)
    b.force(
        ns.Spring(
            name="s", body="arm", point=end, other_point=end, stiffness=100.0, rest_length=0.5
        )
    )
    system = ns.compile(ns.derive(b.build()))
    for angle in (1e-3, 1e-6, 1e-9):
        d = 2 * np.sin(angle / 2)
        rates = system.rates(0.0, [angle, 0.0], [], system.parameters())
        assert rates[1] == pytest.approx(-100 * (d - 0.5) * np.sin(angle) / d / 0.3, rel=1e-12)


def test_a_square_of_the_sine_beside_others_is_one_of_the_cosine(rng):
    program = program_of(5 * c * c + 2 * s * s + 3)
    shorter = shorten(program)
    assert shorter.count() == {"mul": 2, "add": 1, "cos": 1}
    agree(program, shorter, rng, 10.0)


def test_what_no_longer_depends_on_the_angle_is_a_number(rng):
    program = program_of(x[1] * (3 * c * c + 3 * s * s), c * x[1], s * x[2])
    shorter = shorten(program)
    assert shorter.count() == {"mul": 3, "sin": 1, "cos": 1}
    agree(program, shorter, rng, 12.0)


def test_cosine_that_comes_after_its_first_use(rng):
    """The new form may need a cosine that the program makes only later."""
    value = (s * 2) * (s * 3) + 10 * (1 + s * s)
    program = program_of(value, c * x[1])
    kinds = [operation.kind for operation in program.operations]
    assert kinds.index("cos") > kinds.index("mul")
    shorter = shorten(program)
    assert shorter.num_operations < program.num_operations
    agree(program, shorter, rng, 40.0)


def test_different_angles_are_not_mixed(rng):
    C, S = ca.cos(x[1]), ca.sin(x[1])
    program = program_of((2 * c + 3 * c) * (C + 2 * C), s * C - c * S, (s + 2 * s) * x[2])
    shorter = shorten(program)
    assert shorter.num_operations < program.num_operations
    agree(program, shorter, rng, 20.0)


def test_cubes_and_values_without_angles_are_left():
    for output in (c * c * c + 2, x[0] * 2 + x[0] * 3, c, ca.SX(3.0), c * x[1] + s):
        program = program_of(output)
        assert shorten(program) is program


@pytest.mark.parametrize("name", ["whipple-bicycle", "manipulator-3r", "lhd", "agv"])
def test_right_hand_sides(name, rng):
    equations = ns.derive(ns.load(name))
    system = ns.System(equations=equations, folded=dict(equations.model.parameter_values()))
    program = system.program("rates", system.rates_expression)
    shorter = shorten(program)
    assert shorter.num_operations < program.num_operations
    for t, q in system.kinematics.probe.configurations(4):
        state = np.concatenate([q, rng.normal(size=system.num_states - len(q))])
        inputs = rng.normal(size=len(system.inputs))
        one, other = (
            interpret(p, t, state, inputs, system.parameters()) for p in (program, shorter)
        )
        assert one == pytest.approx(other, abs=1e-12 * max(1.0, np.max(np.abs(other))))

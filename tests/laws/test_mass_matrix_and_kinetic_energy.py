"""½ v·Mv = K, and the reduced mass matrix is symmetric, positive definite and SᵀMS."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

import noslip as ns
from noslip.formulations import kinetic_energy
from noslip.formulations.tree_dynamics import lumped

#: Rounding of sums over a dozen bodies and solved constraints, relative to the largest entry.
ROUNDING = 1e-11


def test_reduced_mass_is_the_hessian_of_the_kinetic_energy(equations, rng):
    kin = equations.kinematics
    hessian, _ = ca.hessian(equations.kinetic_energy, kin.eta)
    f = numeric(equations, equations.reduced_mass, hessian)
    for state in admissible_states(equations, rng):
        mass, expected = at(f, state)
        assert mass == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING * np.max(mass, initial=0))


def test_reduced_mass_is_symmetric_and_positive_definite(equations, rng):
    f = numeric(equations, equations.reduced_mass)
    for state in admissible_states(equations, rng):
        (mass,) = at(f, state)
        assert np.array_equal(mass, mass.T)
        assert np.all(np.linalg.eigvalsh(mass) > 0)


def test_reduced_mass_is_the_mass_of_newton_and_euler_on_the_freedom_basis(
    equations, newton_euler, rng
):
    f = numeric(equations, equations.reduced_mass, equations.kinematics.S)
    for state in admissible_states(equations, rng):
        mass, S = at(f, state)
        M = newton_euler.at(state).mass_matrix
        expected = S.T @ M @ S
        assert mass == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING * np.max(mass, initial=0))


def test_kinetic_energy_is_half_the_speeds_on_the_mass_matrix(equations, newton_euler, rng):
    f = numeric(equations, equations.kinetic_energy)
    for state in admissible_states(equations, rng):
        (K,) = at(f, state)
        motion = newton_euler.at(state)
        assert K.item() == pytest.approx(motion.kinetic_energy, rel=ROUNDING)
        assert K.item() == pytest.approx(state.v @ motion.mass_matrix @ state.v / 2, rel=ROUNDING)


def test_wheels_lumped_with_their_carriers_keep_the_kinetic_energy(equations, rng):
    kin = equations.kinematics
    energy = kinetic_energy(lumped(kin.tree), kin.twists, kin.v)
    f = numeric(equations, energy, equations.kinetic_energy)
    for state in admissible_states(equations, rng):
        one, other = at(f, state)
        assert one.item() == pytest.approx(other.item(), rel=ROUNDING)


def test_the_bicycle_has_two_bodies_with_mass_centers_once_its_wheels_are_lumped():
    kin = ns.trace(ns.load("whipple-bicycle"))
    masses = {node.body.name: node.mass for node in lumped(kin.tree).nodes}
    assert [name for name, mass in masses.items() if not mass.is_zero()] == [
        "rear_frame",
        "front_frame",
    ]
    total = sum(masses.values())
    given = sum(node.mass for node in kin.tree.nodes)
    f = ca.Function("m", [kin.symbols.params], [total, given])
    one, other = f(kin.probe.params)
    assert float(one) == pytest.approx(float(other), rel=1e-15)


def test_what_is_welded_on_counts_with_its_parent_even_where_nothing_has_mass():
    b = ns.ModelBuilder("cart with a load", gravity=(0.0, 0.0, 0.0))
    for name, value in (("m", 0.0), ("m_wheel", 0.0), ("m_load", 3.0)):
        b.parameter(name, value, "kg")
    b.input("push", "N")
    b.body("cart", mass="m", inertia=(0.0, 0.0, 0.0))
    b.body("wheel", mass="m_wheel", inertia=(0.1, 0.2, 0.1))
    b.body("load", mass="m_load", inertia=(0.0, 0.0, 0.0))
    b.joint("rail", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="cart")
    b.joint("axle", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="cart", child="wheel")
    b.joint("bolts", ns.joints.Fixed(), parent="cart", child="load")
    b.force(ns.forces.Motor(name="motor", speed="rail.speed", input="push"))
    system = ns.compile(ns.derive(b.build()))
    rates = ns.evaluate(system, {}, inputs={"push": 6.0}).accelerations
    assert rates["rail.speed"] == pytest.approx(2.0, rel=1e-15)
    # without the load the wheel and the cart weigh nothing at all
    light = ns.evaluate(system, {}, inputs={"push": 6.0}, parameters={"m": 2.0, "m_load": 0.0})
    assert light.accelerations["rail.speed"] == pytest.approx(3.0, rel=1e-15)

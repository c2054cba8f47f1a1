"""Composite bodies against single ones: the same inertia and the same forces."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

import noslip as ns
from noslip.formulations import inverse_dynamics, mass_matrix
from noslip.formulations.tree_dynamics import (
    composite_inertia,
    joint_inertias,
    lumped,
    motion_forces,
)
from noslip.model import GRAVITY

#: Two ways through a dozen bodies, relative to the largest entry.
ROUNDING = 1e-11


def agree(one, other):
    return one == pytest.approx(
        other, rel=ROUNDING, abs=ROUNDING * np.max(np.abs(other), initial=1)
    )


def is_told_apart(tree, is_lumped):
    """Wheels without mass are taken for lumped ones; trees are lumped before they are composed."""
    return is_lumped or not any(node.is_rotor and node.mass.is_zero() for node in tree.nodes)


@pytest.mark.parametrize("is_lumped", [False, True])
def test_inertia_for_unit_tree_speeds_is_the_mass_matrix(equations, rng, is_lumped):
    kin = equations.kinematics
    tree = lumped(kin.tree) if is_lumped else kin.tree
    if not is_told_apart(tree, is_lumped):
        pytest.skip("a wheel without mass is taken for a lumped one")
    composite = composite_inertia(tree, joint_inertias(tree), ca.SX.eye(kin.num_speeds))
    f = numeric(equations, composite, mass_matrix(kin))
    for state in admissible_states(equations, rng, 2):
        one, other = at(f, state)
        assert np.array_equal(one, one.T)
        assert agree(one, other)


@pytest.mark.parametrize("is_lumped", [False, True])
def test_forces_of_a_motion_are_inverse_dynamics_less_weights(equations, rng, is_lumped):
    kin = equations.kinematics
    tree = lumped(kin.tree) if is_lumped else kin.tree
    if not is_told_apart(tree, is_lumped):
        pytest.skip("a wheel without mass is taken for a lumped one")
    world = -kin.reader.vector(kin.model.gravity)
    vdot = ca.DM(rng.normal(size=kin.num_speeds))
    needed = motion_forces(tree, joint_inertias(tree), kin.v, ca.SX(vdot), world)
    expected = inverse_dynamics(kin, ca.SX(vdot)) - equations.forces.shares[GRAVITY]
    f = numeric(equations, needed, expected)
    for state in admissible_states(equations, rng, 2):
        assert agree(*at(f, state))


def test_solved_equations_are_those_of_the_blocks(equations, rng):
    f = numeric(equations, equations.accelerations, equations.block_solution.accelerations)
    for state in admissible_states(equations, rng, 2):
        assert agree(*at(f, state))


@pytest.mark.slow
def test_a_wheel_without_mass_at_the_end_of_a_long_chain():
    """It has inertia alone, and is no wheel that was lumped with its carrier."""
    b = ns.ModelBuilder(name="chain", gravity=(0.0, 0.0, -9.81))
    carrier = "world"
    for k in range(8):
        b.body(f"link{k}", mass=1.0, inertia=(0.1, 0.2, 0.3), center_of_mass=(0.5, 0.0, 0.0))
        axis = (0.0, 1.0, 0.0) if k % 2 else (0.0, 0.0, 1.0)
        place = ns.Placement(position=(1.0, 0.0, 0.0))
        b.joint(
            f"hinge{k}",
            ns.joints.Revolute(axis=axis),
            parent=carrier,
            child=f"link{k}",
            parent_frame=place,
        )
        carrier = f"link{k}"
    b.body("wheel", mass=0.0, inertia=(0.06, 0.12, 0.06))
    b.joint("wheel", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent=carrier, child="wheel")
    forms = (ns.NaturalComplement(), ns.Multipliers())
    assert ns.verify(b.build(), formulations=forms, states=3).holds

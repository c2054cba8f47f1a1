"""The laws on random trees of every joint type, and on such trees that roll or skate."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from newton_euler import NewtonEuler
from random_trees import trees, trees_in_contact
from states import admissible_states, at, numeric
from test_power_balance import cancelling, energy_rate, powers
from transformed import in_displaced_world

import noslip as ns
from noslip.kinematics import trace

#: Two ways through up to six bodies, relative to the sizes that cancel.
ROUNDING = 1e-9

#: A failing tree is shown as it was drawn: shrinking one takes minutes.
few = settings(max_examples=12, phases=(Phase.explicit, Phase.generate))


def states(equations):
    return admissible_states(equations, np.random.default_rng(7), 2)


def size(*arrays):
    return max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in arrays))


def moves(model):
    return any(joint.type.speeds for joint in model.joints)


def check_mass_matrix(equations, oracle):
    hessian, _ = ca.hessian(equations.kinetic_energy, equations.kinematics.eta)
    f = numeric(equations, equations.reduced_mass, hessian, equations.kinetic_energy)
    for state in states(equations):
        mass, expected, K = at(f, state)
        assert mass == pytest.approx(expected, abs=ROUNDING * size(mass))
        assert np.all(np.linalg.eigvalsh(mass) > 0)
        assert K.item() == pytest.approx(oracle.at(state).kinetic_energy, rel=ROUNDING)


def check_power_balance(equations, oracle):
    f = numeric(equations, energy_rate(equations), *powers(equations))
    for state in states(equations):
        rate, *rest = (e.item() for e in at(f, state))
        error = ROUNDING * cancelling(oracle.at(state), state.v)
        assert rate == pytest.approx(sum(rest), abs=error)


def check_newton_euler(equations, oracle):
    solved = equations.accelerations
    (reactions,) = ca.substitute([equations.generalized_reactions], [equations.etadot], [solved])
    f = numeric(equations, equations.speed_rates, reactions)
    for state in states(equations):
        vdot, forces = at(f, state)
        motion = oracle.at(state)
        error = ROUNDING * size(motion.speed_rates) * np.linalg.cond(motion.mass_matrix) ** 0.5
        assert vdot.ravel() == pytest.approx(motion.speed_rates, abs=error)
        inertia = motion.mass_matrix @ motion.speed_rates
        assert forces.ravel() == pytest.approx(motion.reactions, abs=ROUNDING * size(inertia))


def check_inverse_dynamics(equations, oracle):
    f = numeric(equations, equations.speed_rates, equations.kinematics.S)
    for state in states(equations):
        vdot, S = at(f, state)
        motion = oracle.at(state)
        inertia = motion.mass_matrix @ vdot.ravel() + motion.velocity_terms
        left = S.T @ (inertia - motion.applied)
        assert np.max(np.abs(left), initial=0) <= ROUNDING * size(np.abs(S.T) @ np.abs(inertia))


def check_frames(equations, oracle):
    names = tuple(s.name for s in equations.kinematics.independent_speeds)
    place = ns.Placement(position=(1.0, -2.0, 0.5), angles=(0.3, 0.8, -1.1))
    moved = trace(in_displaced_world(equations.model, place), independent=names)
    displaced = equations.formulation.fill(moved)
    here, there = (numeric(eq, eq.accelerations, eq.reduced_mass) for eq in (equations, displaced))
    for state in states(equations):
        etadot, mass = at(here, state)
        found, mass_there = at(there, state)
        assert mass_there == pytest.approx(mass, abs=ROUNDING * size(mass))
        error = ROUNDING * size(etadot) * np.linalg.cond(mass) ** 0.5
        assert found == pytest.approx(etadot, abs=error)


CHECKS = (
    check_mass_matrix,
    check_power_balance,
    check_newton_euler,
    check_inverse_dynamics,
    check_frames,
)


def check_all(model):
    """All laws on one tree, derived once."""
    equations, oracle = ns.derive(model), NewtonEuler(model)
    for check in CHECKS:
        check(equations, oracle)


def test_laws_on_random_trees():
    few(given(trees().filter(moves))(check_all))()


def test_laws_on_random_trees_in_contact():
    few(given(trees_in_contact())(check_all))()


def test_every_joint_type_appears_in_the_random_trees():
    seen = set()

    @few
    @given(trees().filter(moves))
    def collect(model):
        seen.update(joint.type.word for joint in model.joints)

    collect()
    assert seen == {"fixed", "revolute", "prismatic", "planar", "spherical", "free"}

"""½ v·Mv = K, and the reduced mass matrix is symmetric, positive definite and SᵀMS."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

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

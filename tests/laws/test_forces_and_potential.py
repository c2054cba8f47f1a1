"""Generalized forces of gravity and springs are −Nᵀ ∂U/∂q."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

ROUNDING = 1e-12


def test_gravity_and_springs_pull_down_the_potential(equations, rng):
    kin = equations.kinematics
    shares = equations.forces.shares
    U = equations.forces.potential_energy
    gradient = ca.mtimes(kin.N.T, ca.gradient(U, kin.symbols.q))
    f = numeric(equations, shares["gravity"] + shares["spring"], gradient)
    for state in admissible_states(equations, rng):
        force, expected = at(f, state)
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        assert force == pytest.approx(-expected, abs=ROUNDING * scale)


def test_potential_energy_is_that_of_newton_and_euler(equations, newton_euler, rng):
    f = numeric(equations, equations.forces.potential_energy)
    for state in admissible_states(equations, rng):
        (U,) = at(f, state)
        expected = newton_euler.at(state).potential_energy
        assert U.item() == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)

"""The minimal equations give the motion and reactions of Newton, Euler and constraint forces."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

#: Two ways through a dozen bodies and solved constraints, relative to the largest entry.
ROUNDING = 1e-11


def close(found, expected):
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return np.ravel(found) == pytest.approx(np.ravel(expected), abs=ROUNDING * size)


def largest_force(motion):
    """Largest entry of what is in balance; where bodies hardly move that is their weight."""
    entries = (motion.mass_matrix @ motion.speed_rates, motion.applied)
    return max(1.0, *(float(np.max(np.abs(x))) for x in entries))


def test_speed_rates_and_newton_euler(equations, newton_euler, rng):
    f = numeric(equations, equations.speed_rates)
    for state in admissible_states(equations, rng, 8):
        assert close(at(f, state)[0], newton_euler.at(state).speed_rates)


def test_generalized_reactions_and_newton_euler(equations, newton_euler, rng):
    solved = equations.accelerations
    (reactions,) = ca.substitute([equations.generalized_reactions], [equations.etadot], [solved])
    f = numeric(equations, reactions)
    for state in admissible_states(equations, rng, 8):
        motion = newton_euler.at(state)
        size = largest_force(motion)
        assert at(f, state)[0].ravel() == pytest.approx(motion.reactions, abs=ROUNDING * size)


def test_multipliers_of_all_rows_make_up_the_reactions(equations, newton_euler, rng):
    kin = equations.kinematics
    lam = equations.multipliers if kin.rows else ca.SX(0, 1)
    f = numeric(equations, ca.mtimes(kin.A.T, lam))
    for state in admissible_states(equations, rng, 8):
        motion = newton_euler.at(state)
        size = largest_force(motion)
        assert at(f, state)[0].ravel() == pytest.approx(motion.reactions, abs=ROUNDING * size)


def test_indeterminate_multipliers_are_the_least_ones(equations, rng):
    """Of all λ with the same Aᵀλ, moments counted over the length of the model."""
    kin = equations.kinematics
    if not kin.rows:
        assert kin.num_independent_speeds == len(kin.speeds)
        return
    f = numeric(equations, kin.A, equations.multipliers)
    weight = np.array([1 / kin.length if row.unit == "rad/s" else 1.0 for row in kin.rows])
    for state in admissible_states(equations, rng):
        A, lam = at(f, state)
        least = np.linalg.pinv(A.T / weight, rcond=1e-9) @ (A.T @ lam.ravel())
        assert lam.ravel() * weight == pytest.approx(
            least, abs=1e-9 * max(1.0, np.abs(least).max())
        )


LARGE = "loop-closed"


def test_native_code_and_newton_euler(system_of, model_name, newton_euler, rng):
    """The compiled functions say the same as the oracle, reactions included."""
    if model_name.startswith(LARGE):
        pytest.skip("its native code takes a minute to compile")
    system = system_of(model_name)
    kin = system.kinematics
    A = numeric(system.equations, kin.A)
    for state in admissible_states(system.equations, rng, 2):
        motion = newton_euler.at(state)
        x = np.concatenate([state.q, state.eta, [0.0] * system.does_work])
        u = np.concatenate([state.u, state.w, state.wdot])
        numbers = system.motion(state.t, x, u, state.params)
        assert close(numbers[: len(state.v)], state.v)
        assert close(numbers[len(state.v) :], motion.speed_rates)
        lam = system.multipliers(state.t, x, u, state.params)
        size = largest_force(motion)
        assert at(A, state)[0].T @ lam == pytest.approx(motion.reactions, abs=ROUNDING * size)

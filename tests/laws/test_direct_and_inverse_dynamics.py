"""Direct dynamics undoes inverse dynamics."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

ROUNDING = 1e-10


def test_forces_needed_for_an_acceleration_produce_it(equations, rng):
    """η̇ → generalized force on η by the recursion → η̇ by the reduced equations, any η̇."""
    eq, kin = equations, equations.kinematics
    num = kin.num_independent_speeds
    # by the recursion: what is missing for η̇, besides Q and B u, projected on the freedoms
    needed = ca.mtimes(kin.S.T, eq.generalized_reactions)
    arguments = [kin.symbols.t, kin.symbols.q, kin.eta, kin.symbols.u, kin.symbols.w]
    arguments += [kin.symbols.wdot, kin.symbols.params]
    inverse = ca.Function("inverse", [*arguments, eq.etadot], [needed])
    blocks = numeric(eq, eq.reduced_mass, eq.reduced_bias, eq.reduced_forces, eq.reduced_inputs)
    for s in admissible_states(eq, rng):
        wanted = rng.normal(size=num)
        force = np.array(inverse(s.t, s.q, s.eta, s.u, s.w, s.wdot, s.params, wanted)).ravel()
        M, bias, Q, B = at(blocks, s)
        found = np.linalg.solve(M, force + Q.ravel() + B @ s.u - bias.ravel())
        assert found == pytest.approx(wanted, abs=ROUNDING * max(1.0, np.linalg.cond(M) ** 0.5))


def test_solved_accelerations_need_no_force_on_the_freedoms(equations, newton_euler, rng):
    """Sᵀ(M v̇ + c − Q − B u) = 0 with M, c, Q of the independent oracle."""
    f = numeric(equations, equations.speed_rates, equations.kinematics.S)
    for state in admissible_states(equations, rng):
        vdot, S = at(f, state)
        motion = newton_euler.at(state)
        inertia = motion.mass_matrix @ vdot.ravel() + motion.velocity_terms
        left = S.T @ (inertia - motion.applied)
        size = max(1.0, float(np.max(np.abs(S.T) @ np.abs(inertia), initial=0.0)))
        assert np.max(np.abs(left), initial=0) <= ROUNDING * size

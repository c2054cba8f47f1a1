"""dE/dt is the power of inputs, losses, given wrenches and moving constraints; nothing else."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

#: Relative to the powers that cancel.
ROUNDING = 1e-11


def energy_rate(equations):
    """d(K + U)/dt along the solved motion, by differentiating K and U."""
    kin = equations.kinematics
    s = kin.symbols
    energy = equations.kinetic_energy + equations.forces.potential_energy
    at_ = ca.vertcat(s.q, kin.eta, s.t, s.w)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), equations.accelerations, 1, s.wdot)
    return ca.jtimes(energy, at_, along)


def powers(equations):
    """Power of dampers and friction, of given wrenches, of inputs, and of moving constraints."""
    kin, forces = equations.kinematics, equations.forces
    inputs = ca.mtimes(forces.B, kin.symbols.u) if kin.symbols.u.shape[0] else ca.SX(0)
    moving = -ca.dot(equations.multipliers, kin.a) if kin.rows else ca.SX(0)
    return (
        ca.dot(kin.v, ca.densify(forces.shares["dissipative"])),
        ca.dot(kin.v, ca.densify(forces.shares["given"])),
        ca.dot(kin.v, ca.densify(inputs + ca.SX.zeros(kin.num_speeds))),
        moving,
    )


def cancelling(motion, v):
    """Size of the powers that cancel, force by force: how large rounding may be."""
    inertia = np.abs(motion.mass_matrix) @ np.abs(motion.speed_rates) + np.abs(
        motion.velocity_terms
    )
    return max(
        1.0, float(np.abs(v) @ (inertia + np.abs(motion.applied) + np.abs(motion.reactions)))
    )


def test_energy_rate_is_the_power_of_what_is_not_a_potential(equations, newton_euler, rng):
    f = numeric(equations, energy_rate(equations), *powers(equations))
    for state in admissible_states(equations, rng):
        rate, *rest = (e.item() for e in at(f, state))
        size = cancelling(newton_euler.at(state), state.v)
        assert rate == pytest.approx(sum(rest), abs=ROUNDING * size)


def test_dissipation_takes_energy_away(equations, rng):
    f = numeric(equations, powers(equations)[0])
    for state in admissible_states(equations, rng, 8):
        assert at(f, state)[0].item() <= 0.0


def test_constraint_forces_work_only_where_constraints_move(equations, newton_euler, rng):
    """vᵀAᵀλ = −λᵀa, with vᵀ(Aᵀλ) from the formulation's own reactions.

    These are inertia less forces: tires push with more than what is left for the constraints.
    """
    kin = equations.kinematics
    solved = equations.accelerations
    (reactions,) = ca.substitute([equations.generalized_reactions], [equations.etadot], [solved])
    lam = equations.multipliers if kin.rows else ca.SX(0, 1)
    f = numeric(equations, ca.dot(kin.v, reactions), ca.dot(lam, kin.a), lam)
    for state in admissible_states(equations, rng):
        power, offset, lam_ = at(f, state)
        size = max(1.0, float(np.max(np.abs(lam_), initial=0.0))) * max(
            1.0, float(np.max(np.abs(state.v)))
        )
        size = max(size, cancelling(newton_euler.at(state), state.v))
        assert power.item() == pytest.approx(-offset.item(), abs=ROUNDING * size)


def test_work_that_is_integrated_along_has_this_power(system, newton_euler, rng):
    """The last state of a system that can gain or lose energy is the work done on it."""
    equations = system.equations
    f = numeric(equations, energy_rate(equations))
    num_q, num_f = len(system.coordinates), len(system.independent_speeds)
    for state in admissible_states(equations, rng, 2):
        rate = at(f, state)[0].item()
        error = ROUNDING * cancelling(newton_euler.at(state), state.v)
        if not system.does_work:
            assert rate == pytest.approx(0.0, abs=error)
            continue
        x = np.concatenate([state.q, state.eta, [0.0]])
        u = np.concatenate([state.u, state.w, state.wdot])
        work_rate = system.rates(state.t, x, u, state.params)[num_q + num_f]
        assert work_rate == pytest.approx(rate, abs=error)

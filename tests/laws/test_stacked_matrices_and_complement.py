"""On stacked twists: A T = 0, rank A = 6p − nf, I = TᵀMT and Cη = −Tᵀ(MṪ + WMT)η.

Where constraints move, twists are V = T η + o with A V + a = 0, and MV̇ + WMV takes the place of
(MṪ + WMT)η. What constraints do, w^N = MV̇ + WMV − w^W, is in the range of Aᵀ.
"""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

import noslip as ns

ROUNDING = 1e-11


@pytest.fixture
def stacked(equations):
    return ns.stacked_matrices(equations.kinematics)


@pytest.fixture
def twists(equations, newton_euler, stacked):
    """V of a state from the oracle's poses: ω, and the velocity of the mass center."""
    oracle = newton_euler
    rows = []
    for name in stacked.bodies:
        body = next(b for b in oracle.model.bodies if b.name == name)
        pose = oracle.poses[name]
        center = pose.point(oracle.column(body.center_of_mass))
        rows += [pose.J_turn @ oracle.v, pose.point_jacobian(center) @ oracle.v]
    of_speeds = ca.Function("V", [oracle.q, oracle.v, oracle.params], [ca.vertcat(*rows)])
    speeds = numeric(equations, equations.kinematics.v)

    def found(state):
        (v,) = at(speeds, state)
        return np.array(of_speeds(state.q, v, state.params)).ravel()

    return found


def size(*arrays):
    return max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in arrays))


def test_complement_is_orthogonal_to_the_couplings(equations, stacked, rng):
    f = numeric(equations, stacked.A, stacked.T)
    for state in admissible_states(equations, rng):
        A, T = at(f, state)
        assert len(stacked.couplings) == A.shape[0]
        assert np.max(np.abs(A @ T), initial=0) <= ROUNDING * size(A, T)


def test_couplings_leave_the_freedoms_of_the_independent_speeds(equations, stacked, rng):
    f = numeric(equations, stacked.A)
    for state in admissible_states(equations, rng):
        (A,) = at(f, state)
        rank = np.linalg.matrix_rank(A, tol=1e-8 * size(A)) if A.size else 0
        assert 6 * len(stacked.bodies) - rank == len(state.eta)


def test_complement_times_speeds_is_the_twist_of_every_body(equations, stacked, twists, rng):
    f = numeric(equations, stacked.A, stacked.T, stacked.a)
    for state in admissible_states(equations, rng):
        A, T, a = at(f, state)
        V, offset = twists(state), twists(replace(state, eta=0 * state.eta))
        assert T @ state.eta + offset == pytest.approx(V, abs=ROUNDING * size(V))
        assert np.max(np.abs(A @ V + a.ravel()), initial=0) <= ROUNDING * size(A, V)


def test_only_what_is_led_moves_without_independent_speeds(equations, twists, rng, model_name):
    model = equations.model
    is_led = bool(model.speed_inputs) or any(joint.motion for joint in model.joints)
    for state in admissible_states(equations, rng):
        offset = np.max(np.abs(twists(replace(state, eta=0 * state.eta))))
        assert (offset > 1e-3) == (is_led or model_name == "moving-rows")


def test_generalized_inertia_is_the_mass_on_the_complement(equations, stacked, rng):
    f = numeric(equations, stacked.T, stacked.M, equations.reduced_mass)
    for state in admissible_states(equations, rng):
        T, M, mass = at(f, state)
        assert T.T @ M @ T == pytest.approx(mass, abs=ROUNDING * size(mass))


def test_convective_terms_are_those_of_the_complement_and_the_rate_of_twists(
    equations, stacked, twists, rng
):
    """V̇ at constant η, which is Ṫη without an offset, by differences of order four."""
    kin = equations.kinematics
    f = numeric(equations, stacked.T, stacked.M, stacked.W, equations.reduced_bias)
    rates = numeric(equations, ca.mtimes(kin.N, kin.v))
    # hills have large fifth derivatives
    h = 1e-4 if all(contact.is_flat for contact in equations.model.contacts) else 1e-5
    for state in admissible_states(equations, rng):
        T, M, W, bias = at(f, state)
        qdot = at(rates, state)[0].ravel()

        def near(k, state=state, qdot=qdot):
            d = k * h
            moved = {"t": state.t + d, "q": state.q + d * qdot, "w": state.w + d * state.wdot}
            return twists(replace(state, **moved))

        Vdot = (8 * (near(1) - near(-1)) - (near(2) - near(-2))) / (12 * h)
        V = twists(state)
        convective = T.T @ (M @ Vdot + W @ M @ V)
        # rounding over h, and h⁴ times fifth derivatives of V along the motion
        assert bias.ravel() == pytest.approx(convective, abs=1e-9 * size(bias))

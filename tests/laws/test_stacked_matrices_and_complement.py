"""On stacked twists: A T = 0, rank A = 6p − nf, I = TᵀMT and Cη = −Tᵀ(MṪ + WMT)η."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

import noslip as ns

ROUNDING = 1e-11


@pytest.fixture
def stacked(equations):
    """The matrices, for a model whose constraints are all homogeneous in the twists."""
    model = equations.model
    if model.speed_inputs or model.rows or any(joint.motion for joint in model.joints):
        pytest.skip("constraints that move, or general rows, have no place in the couplings")
    return ns.stacked_matrices(equations.kinematics)


def size(*arrays):
    return max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in arrays))


def test_complement_is_orthogonal_to_the_couplings(equations, stacked, rng):
    f = numeric(equations, stacked.A, stacked.T)
    for state in admissible_states(equations, rng):
        A, T = at(f, state)
        assert len(stacked.couplings) == A.shape[0]
        assert np.max(np.abs(A @ T), initial=0) <= ROUNDING * size(A, T)


def test_couplings_leave_as_many_freedoms_as_there_are_independent_speeds(equations, stacked, rng):
    f = numeric(equations, stacked.A)
    for state in admissible_states(equations, rng):
        (A,) = at(f, state)
        rank = np.linalg.matrix_rank(A, tol=1e-8 * size(A)) if A.size else 0
        assert rank == 6 * len(stacked.bodies) - len(state.eta)


def test_complement_times_speeds_is_the_twist_of_every_body(equations, newton_euler, stacked, rng):
    """Twists from the oracle's poses: ω, and the velocity of the mass center."""
    oracle = newton_euler
    twists = []
    for name in stacked.bodies:
        body = next(b for b in oracle.model.bodies if b.name == name)
        pose = oracle.poses[name]
        center = pose.point(oracle.column(body.center_of_mass))
        twists += [pose.J_turn @ oracle.v, pose.point_jacobian(center) @ oracle.v]
    expected = ca.Function("V", [oracle.q, oracle.v, oracle.params], [ca.vertcat(*twists)])
    f = numeric(equations, stacked.T)
    for state in admissible_states(equations, rng):
        V = np.array(expected(state.q, state.v, state.params)).ravel()
        assert at(f, state)[0] @ state.eta == pytest.approx(V, abs=ROUNDING * size(V))


def test_generalized_inertia_is_the_mass_on_the_complement(equations, stacked, rng):
    f = numeric(equations, stacked.T, stacked.M, equations.reduced_mass)
    for state in admissible_states(equations, rng):
        T, M, mass = at(f, state)
        assert T.T @ M @ T == pytest.approx(mass, abs=ROUNDING * size(mass))


def test_convective_terms_are_those_of_the_complement_and_its_rate(equations, stacked, rng):
    """Ṫ by differences of order four along the motion."""
    kin = equations.kinematics
    f = numeric(equations, stacked.T, stacked.M, stacked.W, equations.reduced_bias)
    rates = numeric(equations, ca.mtimes(kin.N, kin.v))
    complement = ca.Function("T", [kin.symbols.q, kin.symbols.params], [stacked.T])
    h = 1e-4
    for state in admissible_states(equations, rng):
        T, M, W, bias = at(f, state)
        qdot = at(rates, state)[0].ravel()
        near = {
            k: np.array(complement(state.q + k * h * qdot, state.params)) for k in (-2, -1, 1, 2)
        }
        Tdot = (8 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12 * h)
        convective = -T.T @ (M @ Tdot + W @ M @ T) @ state.eta
        # rounding over h, and h⁴ times fifth derivatives of T along the motion
        error = 1e-9 * size(T, M) * size(Tdot) ** 2 * size(qdot) ** 2
        assert -bias.ravel() == pytest.approx(convective, abs=error)

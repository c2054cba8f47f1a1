"""The Riccati equation: closed forms, its residual, the Hamiltonian, and what has no gains."""

import numpy as np
import pytest
from scipy.linalg import expm

from noslip.control.lqr import preview, solve_lqr, solve_lqr_along

#: A double integrator with unit weights.
A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])


def random_system(n=5, m=2, seed=3):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(n, n))
    return rng.normal(size=(n, n)), rng.normal(size=(n, m)), Q @ Q.T, rng.uniform(0.5, 2.0, m)


def residual(A, B, Q, R, P):
    return A.T @ P + P @ A - P @ B @ np.diag(1 / R) @ B.T @ P + Q


def test_a_double_integrator_has_gains_in_closed_form():
    found = solve_lqr(A, B, np.eye(2), np.ones(1))
    assert np.allclose(found.gains, [[1.0, np.sqrt(3)]], rtol=0, atol=1e-13)
    assert np.allclose(found.costs, [[np.sqrt(3), 1.0], [1.0, np.sqrt(3)]], rtol=0, atol=1e-13)


def test_the_residual_vanishes_and_the_closed_loop_has_the_stable_half_of_the_hamiltonian():
    A, B, Q, R = random_system()
    K, P = solve_lqr(A, B, Q, R)
    assert np.allclose(residual(A, B, Q, R, P), 0.0, atol=1e-12 * np.linalg.norm(P) ** 2)
    H = np.block([[A, -B @ np.diag(1 / R) @ B.T], [-Q, -A.T]])
    values = np.linalg.eigvals(H)
    stable = np.sort_complex(values[values.real < 0])
    assert np.allclose(np.sort_complex(np.linalg.eigvals(A - B @ K)), stable, atol=1e-11)


def test_the_cost_is_the_integral_along_the_closed_loop():
    A, B, Q, R = random_system(seed=4)
    K, P = solve_lqr(A, B, Q, R)
    # xᵀPx solves the Lyapunov equation of the closed loop with the integrand's matrix
    closed, integrand = A - B @ K, Q + K.T @ np.diag(R) @ K
    n = len(A)
    lyapunov = np.kron(closed.T, np.eye(n)) + np.kron(np.eye(n), closed.T)
    assert np.allclose(np.linalg.solve(lyapunov, -integrand.ravel()).reshape(n, n), P, atol=1e-10)


@pytest.mark.parametrize(
    ("A", "B"),
    [
        (np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([[0.0], [1.0]])),
        (np.array([[0.0, 0.0], [0.0, -1.0]]), np.array([[0.0], [1.0]])),
        (np.full((2, 2), np.nan), B),
    ],
    ids=["grows", "stays", "not a number"],
)
def test_a_mode_that_no_input_reaches_has_no_gains(A, B):
    assert solve_lqr(A, B, np.eye(2), np.ones(1)) is None


def test_along_a_motion_that_does_not_change_the_gains_are_those_of_the_algebraic_equation():
    A, B, Q, R = random_system()
    times = np.linspace(0.0, 20.0, 5)
    K, P = solve_lqr(A, B, Q, R)
    along = solve_lqr_along(lambda t: A, lambda t: B, Q, R, times)
    # integrated with a tolerance of 1e-9
    assert np.allclose(along.gains, K, atol=1e-7 * np.linalg.norm(K))
    assert np.allclose(along.costs, P, atol=1e-7 * np.linalg.norm(P))


def test_along_a_scalar_motion_the_cost_is_that_of_the_closed_form():
    """−ṗ = q − p²/r backward from 0 is p = √(qr) tanh(√(q/r) τ), τ the time that is left."""
    q, r, end = 2.0, 0.5, 0.4
    times = np.linspace(0.0, end, 9)
    zero, one = (lambda t: np.zeros((1, 1))), (lambda t: np.ones((1, 1)))
    found = solve_lqr_along(zero, one, np.array([[q]]), np.array([r]), times)
    left = 2 * end - times  # the motion goes on for as long as it took
    exact = np.sqrt(q * r) * np.tanh(np.sqrt(q / r) * left)
    assert np.allclose(found.costs[:, 0, 0], exact, rtol=1e-8)
    assert np.allclose(found.gains[:, 0, 0], exact / r, rtol=1e-8)


def test_previewed_motion_is_the_least_of_all():
    """Against one linear system of all states and inputs, with exp of each step by SciPy."""
    rng = np.random.default_rng(5)
    k, n, m, step = 30, 3, 2, 0.05
    drift = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    A = drift[0] + np.linspace(0.0, 1.0, k)[:, None, None] * drift[1]
    B = np.tile(rng.normal(size=(n, m)), (k, 1, 1))
    d = rng.normal(size=(k, n))
    Q, R = np.diag([4.0, 1.0, 0.3]), np.array([0.5, 0.1])
    start = np.array([0.2, np.nan, np.nan])
    found = preview(A, B, d, Q, R, step, start)
    assert found is not None and found.states[0, 0] == 0.2
    # unknowns: x_0 … x_{k−1}, u_0 … u_{k−2}; rows of the dynamics and of what is given
    cost = np.zeros((k * n + (k - 1) * m,) * 2)
    rows, right = [np.eye(len(cost))[0]], [0.2]
    end = solve_lqr(A[-1], B[-1], Q, R)
    assert end is not None
    for i in range(k):
        at = slice(i * n, (i + 1) * n)
        cost[at, at] = Q if i < k - 1 else end.costs / step
    for i in range(k - 1):
        u = slice(k * n + i * m, k * n + (i + 1) * m)
        cost[u, u] = np.diag(R)
        whole = np.zeros((n + m + 1, n + m + 1))
        parts = (A[i] + A[i + 1], B[i] + B[i + 1], (d[i] + d[i + 1])[:, None])
        whole[:n] = np.hstack(parts) / 2 * step
        X = expm(whole)
        block = np.zeros((n, len(cost)))
        block[:, (i + 1) * n : (i + 2) * n] = np.eye(n)
        block[:, i * n : (i + 1) * n], block[:, u] = -X[:n, :n], -X[:n, n : n + m]
        rows += list(block)
        right += list(X[:n, -1])
    C = np.array(rows)
    zero = np.zeros((len(C), len(C)))
    solved = np.linalg.solve(
        np.block([[cost, C.T], [C, zero]]), np.concatenate([np.zeros(len(cost)), right])
    )
    np.testing.assert_allclose(found.states.ravel(), solved[: k * n], atol=1e-9)
    held = solved[k * n : len(cost)].reshape(k - 1, m)
    np.testing.assert_allclose(found.inputs[1:-1], (held[1:] + held[:-1]) / 2, atol=1e-9)

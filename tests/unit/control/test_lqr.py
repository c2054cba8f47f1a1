"""The Riccati equation: closed forms, its residual, the Hamiltonian, and what has no gains."""

import numpy as np
import pytest

from noslip.control.lqr import solve_lqr, solve_lqr_along

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

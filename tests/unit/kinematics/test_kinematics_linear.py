"""Traced linear equations against NumPy, where pivots vanish too."""

from itertools import permutations

import casadi as ca
import numpy as np
import pytest

from noslip.algebra import block_solve, linear, orthogonal_solve, symmetric_solve


def solved(solve, K, B):
    """The traced solution at numbers, with its pivots."""
    n, k = K.shape[0], B.shape[1]
    # structural zeros and ones stay, so that the block form and numeric pivots are used
    symbols = ca.SX.sym("K", n, n)
    traced = ca.SX(n, n)
    for i in range(n):
        for j in range(n):
            if K[i, j] != 0:
                traced[i, j] = 1.0 if K[i, j] == 1 else symbols[i, j]
    rhs = ca.SX.sym("B", n, k)
    X, pivots = solve(traced, rhs)
    f = ca.Function("f", [symbols, rhs], [X, ca.vertcat(*pivots)])
    return [np.array(e) for e in f(K, B)]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("density", [0.35, 1.0])
def test_block_solve_and_numpy(n, density, rng):
    for _ in range(10):
        K = rng.normal(size=(n, n)) * (rng.random((n, n)) < density) + np.diag(
            rng.choice([1.0, 2.0, -1.5], size=n)
        )
        K = K[rng.permutation(n)]
        if np.linalg.cond(K) > 1e6:
            continue
        B = rng.normal(size=(n, 2))
        X, _ = solved(block_solve, K, B)
        assert X == pytest.approx(np.linalg.solve(K, B), abs=1e-14 * np.linalg.cond(K) * 100)


@pytest.mark.parametrize("angle", [0.0, np.pi / 2, np.pi, 3.0])
def test_rotation_is_solved_at_every_angle(angle):
    """cos ψ on the diagonal vanishes at π/2 although the matrix is perfectly conditioned."""
    c, s = np.cos(angle), np.sin(angle)
    psi = ca.SX.sym("psi")
    K = ca.vertcat(ca.horzcat(ca.cos(psi), -ca.sin(psi)), ca.horzcat(ca.sin(psi), ca.cos(psi)))
    X, pivots = orthogonal_solve(K, ca.DM([1.0, 2.0]))
    f = ca.Function("f", [psi], [X, ca.vertcat(*pivots)])
    x, found = (np.array(e).ravel() for e in f(angle))
    assert x == pytest.approx([c + 2 * s, -s + 2 * c], abs=1e-15)
    assert found == pytest.approx([1.0, 1.0], abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_product_of_pivots_is_the_determinant_with_its_sign(n, rng):
    signs = set()
    for _ in range(20):
        K = rng.normal(size=(n, n))
        _, pivots = solved(orthogonal_solve, K, np.ones((n, 1)))
        assert np.prod(pivots) == pytest.approx(np.linalg.det(K), rel=1e-11)
        assert np.all(pivots[:-1] > 0.0)
        signs.add(float(np.sign(pivots[-1, 0])))
    assert signs == {-1.0, 1.0}


@pytest.mark.parametrize("sense", [-1, 1])
@pytest.mark.parametrize("rows", list(permutations(range(3))))
def test_columns_across_one_vector(rows, sense, rng):
    """Two columns x × r and y × r share a component of r, in any order of rows and columns."""
    entries = ca.SX.sym("k", 6)
    a, b, c, d, e, f = ca.vertsplit(entries)
    known = ca.vertcat(ca.horzcat(a, b, c), ca.horzcat(0, d, e), ca.horzcat(sense * d, 0, f))
    B = rng.normal(size=(3, 2))
    for columns in permutations(range(3)):
        K = known[list(rows), list(columns)]
        assert linear._shared_pivot(K) is not None
        X, pivots = orthogonal_solve(K, ca.DM(B))
        values = ca.Function("f", [entries], [X, ca.vertcat(*pivots), K])
        for _ in range(3):
            x, p, numbers = (np.array(n) for n in values(rng.normal(size=6)))
            assert x == pytest.approx(np.linalg.solve(numbers, B), rel=1e-10)
            assert np.prod(p) == pytest.approx(np.linalg.det(numbers), rel=1e-10)
            sizes = np.linalg.norm(numbers, axis=0)
            assert np.min(np.abs(sizes - p[0])) < 1e-13


def test_a_pivot_that_is_not_shared_is_not_taken():
    """Else one of the two may vanish where nothing is singular."""
    K = ca.SX.sym("K", 3, 3)
    K[1, 0] = K[2, 1] = 0
    assert linear._shared_pivot(K) is None


def test_pivot_of_a_singular_matrix_vanishes():
    K = np.array([[1.1, 2.2], [2.2, 4.4]])
    _, pivots = solved(orthogonal_solve, K, np.ones((2, 1)))
    assert np.min(np.abs(pivots)) < 1e-15


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_symmetric_solve_and_numpy(n, rng):
    A = rng.normal(size=(n, n))
    M = A @ A.T + 0.1 * np.eye(n)
    B = rng.normal(size=(n, 3))
    m, b = ca.SX.sym("M", n, n), ca.SX.sym("B", n, 3)
    X, pivots = symmetric_solve(m, b)
    f = ca.Function("f", [m, b], [X, ca.vertcat(*pivots)])
    x, d = (np.array(e) for e in f(M, B))
    assert x == pytest.approx(np.linalg.solve(M, B), abs=1e-13 * np.linalg.cond(M))
    assert np.prod(d) == pytest.approx(np.linalg.det(M), rel=1e-10)


def test_a_carrier_of_many_is_eliminated_last(rng):
    """An arrow with its head first fills up in its own order: n³ operations in place of n."""
    n = 24
    A = 9.0 * np.eye(n)
    A[0, 1:] = A[1:, 0] = rng.normal(size=n - 1)
    m, B = ca.SX.sym("M", n, n), rng.normal(size=(n, 2))
    X, pivots = symmetric_solve(ca.sparsify(m * ca.DM((A != 0.0).astype(float))), ca.SX(B))
    f = ca.Function("f", [m], [X, ca.vertcat(*pivots)])
    x, d = (np.array(e) for e in f(A))
    assert x == pytest.approx(np.linalg.solve(A, B), abs=1e-13)
    assert np.prod(d) == pytest.approx(np.linalg.det(A), rel=1e-12)
    assert d[0] < 9.0
    assert np.all(d[1:] == 9.0)
    assert f.n_nodes() < 20 * n


def test_nothing_to_solve():
    X, pivots = block_solve(ca.SX(0, 0), ca.SX(0, 2))
    assert X.shape == (0, 2)
    assert pivots == []

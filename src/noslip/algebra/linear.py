"""Linear equations on traced scalars: nothing is inverted, no pivot is frozen at trace time.

A square system is first split into its block triangular form (by structure), so that a long chain
of small couplings costs what the small couplings cost. In each block, unknowns that stand with a
plain number
(±1, mostly) are eliminated first; what remains is solved by cross products where it has two or
three unknowns, else by Householder reflections. A pivot that is an expression, such as cos ψ, would
vanish as the heading turns although the block is perfectly conditioned.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from noslip.algebra.spatial import cross, inlined

#: Orders of three that are turns of one another, and no exchange.
TURNS = ((0, 1, 2), (1, 2, 0), (2, 0, 1))

#: Operations of an order of pivots, over those of their own or of a full matrix, that are few.
LITTLE_FILL = 0.25
#: Size from which a template of all operations, zeros included, takes long to trace.
LARGE = 16


def block_solve(K: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """Solution X of K X = rhs, and all pivots: one is zero if K is singular.

    The product of a block's pivots has the sign of its determinant, which changes where the block
    passes a singular place.

    Parameters
    ----------
    K : (n, n) structurally nonsingular matrix.
    rhs : (n, k).
    """
    K = ca.sparsify(ca.SX(K))
    n, k = K.shape[0], rhs.shape[1]
    num_blocks, rows, columns, row_starts, column_starts, *_ = K.sparsity().btf()
    solution: list[ca.SX] = [ca.SX(1, k)] * n
    pivots: list[ca.SX] = []
    # block lower triangular: the first block stands alone, each later one uses the earlier ones
    for block in range(num_blocks):
        row = [rows[i] for i in range(row_starts[block], row_starts[block + 1])]
        column = [columns[i] for i in range(column_starts[block], column_starts[block + 1])]
        earlier = [columns[i] for i in range(column_starts[block])]
        reduced = rhs[row, :]
        for j in earlier:
            if K[row, j].nnz():
                reduced = reduced - ca.mtimes(ca.densify(K[row, j]), solution[j])
        part, found = dense_solve(ca.densify(K[row, column]), reduced)
        for i, j in enumerate(column):
            solution[j] = part[i, :]
        pivots += found
    return (ca.vertcat(*solution) if n else ca.SX(0, k)), pivots


def dense_solve(K: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """Solution of a small dense system: numeric pivots eliminated, then the rest."""
    n = K.shape[0]
    pivot = _numeric_pivot(K) if n > 1 else None
    if pivot is None:
        return orthogonal_solve(K, rhs)
    i, j = pivot
    rows = [k for k in range(n) if k != i]
    columns = [k for k in range(n) if k != j]
    # x_j = (rhs_i − Σ K_ik x_k) / K_ij, put into the other rows
    factors = K[rows, j] / K[i, j]
    inner = K[rows, columns] - ca.mtimes(factors, K[i, columns])
    x, pivots = dense_solve(inner, rhs[rows, :] - ca.mtimes(factors, rhs[i, :]))
    eliminated = (rhs[i, :] - ca.mtimes(K[i, columns], x)) / K[i, j]
    X: list[ca.SX] = [ca.SX()] * n
    for k, column in enumerate(columns):
        X[column] = x[k, :]
    X[j] = eliminated
    return ca.vertcat(*X), pivots


def _numeric_pivot(K: ca.SX) -> tuple[int, int] | None:
    """Place of an entry that is ±1, with the fewest other entries beside it, or None."""
    n = K.shape[0]
    zero = [[bool(K[i, j].is_zero()) for j in range(n)] for i in range(n)]
    best, least = None, 0
    for i in range(n):
        for j in range(n):
            entry = K[i, j]
            if not entry.is_constant() or abs(float(entry)) != 1.0:
                continue
            fill = (n - sum(zero[i])) * (n - sum(row[j] for row in zero))
            if best is None or fill < least:
                best, least = (i, j), fill
    return best


def orthogonal_solve(K: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """Solution of a small dense system, and the pivots |R_kk| of its factorization K = Q R.

    The last has the sign of the determinant.
    """
    match K.shape[0]:
        case 0:
            return rhs, []
        case 1:
            return rhs / K[0, 0], [K[0, 0]]
        case 2:
            return _solve_two(K, rhs)
        case 3:
            return _solve_three(K, rhs)
        case _:
            return _reflected_solve(K, rhs)


def _solve_two(K: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """By Cramer's rule; |R₁₁| = |k₁|, ±R₂₂ = det K / |k₁|."""
    determinant = K[0, 0] * K[1, 1] - K[0, 1] * K[1, 0]
    adjugate = ca.vertcat(ca.horzcat(K[1, 1], -K[0, 1]), ca.horzcat(-K[1, 0], K[0, 0]))
    first = ca.norm_2(K[:, 0])
    return ca.mtimes(adjugate / determinant, rhs), [first, determinant / first]


def _solve_three(K: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """By cross products of the columns, the rows of the inverse but for the determinant.

    |R₁₁| = |k₁|, |R₂₂| = |k₁ × k₂| / |k₁|, ±R₃₃ = det K / |k₁ × k₂|
    """
    shared = _shared_pivot(K)
    if shared is not None:
        return _solve_crossed(K, rhs, *shared)
    k = [K[:, j] for j in range(3)]
    across = [cross(k[1], k[2]), cross(k[2], k[0]), cross(k[0], k[1])]
    determinant = ca.dot(k[0], across[0])
    inverse = ca.vertcat(*[row.T for row in across]) / determinant
    first, second = ca.norm_2(k[0]), ca.norm_2(across[2])
    return ca.mtimes(inverse, rhs), [first, second / first, determinant / second]


def _shared_pivot(K: ca.SX) -> tuple[tuple[int, int, int], tuple[int, int, int], int] | None:
    """Order of rows and columns, and σ, in which a matrix is [[a, b, c], [0, d, e], [σd, 0, f]].

    So are two columns x × r and y × r, of two components of an angular velocity.
    """
    zeros = [(i, j) for i in range(3) for j in range(3) if K[i, j].is_zero()]
    for p, first in zeros:
        for q, second in zeros:
            if p == q or first == second:
                continue
            d, other = K[p, second], K[q, first]
            for sense in (1, -1):
                if not d.is_zero() and ca.is_equal(d, sense * other, 1):
                    return (3 - p - q, p, q), (first, second, 3 - first - second), sense
    return None


def _solve_crossed(
    K: ca.SX, rhs: ca.SX, rows: tuple[int, int, int], columns: tuple[int, int, int], sense: int
) -> tuple[ca.SX, list[ca.SX]]:
    """Solution of such a system. Its determinant is a multiple of d, which may divide therefore.

    With m = (σd, −σb, −a) and the third column k: x₃ = m·rhs / m·k, then the last two rows give x₂
    and x₁. |R₁₁| = |k₁|, ±R₂₂ = d |m| / |k₁|, ±R₃₃ = m·k / |m|, since |k₁ × k₂| = |d| |m|.
    """
    (a, b, _), (_, d, e), (_, _, f) = ([K[i, j] for j in columns] for i in rows)
    m = ca.vertcat(sense * d, -sense * b, -a)
    third = ca.dot(m, ca.vertcat(*[K[i, columns[2]] for i in rows]))
    top, middle, bottom = (rhs[i, :] for i in rows)
    z = (m[0] * top + m[1] * middle + m[2] * bottom) / third
    X: list[ca.SX] = [ca.SX()] * 3
    X[columns[0]] = sense * ((bottom - f * z) / d)
    X[columns[1]] = (middle - e * z) / d
    X[columns[2]] = z
    norm, size = ca.norm_2(K[:, columns[0]]), ca.norm_2(m)
    is_turned = (rows in TURNS) == (columns in TURNS)  # det K = −d (m·k) in this order
    return ca.vertcat(*X), [norm, d * size / norm, (-third if is_turned else third) / size]


def _reflected_solve(K: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """By Householder's QR factorization."""
    n = K.shape[0]
    R, B = ca.SX(K), ca.SX(rhs)
    for k in range(n - 1):
        x = R[k:, k]
        norm = ca.sqrt(ca.dot(x, x))
        alpha = ca.if_else(x[0] > 0, -norm, norm)
        # H = 1 − u uᵀ/β with u = x − α e₁ and β = uᵀu/2 = α (α − x₀); H x = α e₁
        beta = alpha * (alpha - x[0])
        u = ca.vertcat(x[0] - alpha, x[1:])
        R[k:, k + 1 :] = R[k:, k + 1 :] - ca.mtimes(u, ca.mtimes(u.T, R[k:, k + 1 :]) / beta)
        B[k:, :] = B[k:, :] - ca.mtimes(u, ca.mtimes(u.T, B[k:, :]) / beta)
        R[k:, k] = ca.vertcat(alpha, ca.SX.zeros(n - k - 1))
    X: list[ca.SX] = [ca.SX()] * n
    for k in reversed(range(n)):
        known = B[k, :]
        for j in range(k + 1, n):
            known = known - R[k, j] * X[j]
        X[k] = known / R[k, k]
    # every reflection turns the determinant's sign
    last = R[n - 1, n - 1] if n % 2 else -R[n - 1, n - 1]
    for k in range(n - 1):
        last = ca.if_else(R[k, k] > 0, last, -last)
    return ca.vertcat(*X), [*[ca.fabs(R[k, k]) for k in range(n - 1)], last]


def symmetric_factors(M: ca.SX) -> tuple[list[list[ca.SX]], list[ca.SX]]:
    """L (unit lower, as rows) and D of a positive definite M = L D Lᵀ, without pivoting."""
    n = M.shape[0]
    if not n:
        return [], []
    L, D = _symmetric_factors(M)
    return [[L[i, j] for j in range(n)] for i in range(n)], ca.vertsplit(D)


@inlined
def _symmetric_factors(M: ca.SX) -> tuple[ca.SX, ca.SX]:
    L, D = _factors(M)
    return ca.vertcat(*[ca.horzcat(*row) for row in L]), ca.vertcat(*D)


def _factors(M: ca.SX) -> tuple[list[list[ca.SX]], list[ca.SX]]:
    n = M.shape[0]
    L = [[ca.SX(0)] * n for _ in range(n)]
    D: list[ca.SX] = []
    for j in range(n):
        scaled = [L[j][k] * D[k] for k in range(j)]
        d = M[j, j]
        for k in range(j):
            d = d - L[j][k] * scaled[k]
        D.append(d)
        for i in range(j + 1, n):
            entry = M[i, j]
            for k in range(j):
                entry = entry - L[i][k] * scaled[k]
            L[i][j] = entry / d
    return L, D


def symmetric_solve(M: ca.SX, rhs: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """Solution X of M X = rhs for a positive definite M, and the pivots D of M = L D Lᵀ."""
    if not M.shape[0]:
        return ca.SX(0, rhs.shape[1]), []
    order = _elimination_order(M)
    if order is not None:
        return _sparse_solution(M, rhs, order)
    X, D = _symmetric_solution(M, rhs)
    return X, ca.vertsplit(D)


def _elimination_order(M: ca.SX) -> list[int] | None:
    """Order of pivots in which a large matrix fills up little; None for full ones and small ones.

    A body that carries n others couples them all where it comes first, n³ operations, and none
    where it comes last: another order than their own saves three quarters of them, or is not taken.
    """
    pattern = ca.sparsify(M).sparsity()
    if pattern.nnz() == M.numel() or not pattern.is_symmetric():
        return None
    costs, orders = [], []
    for is_reordered in (False, True):
        factor, order = pattern.ldl(is_reordered)
        columns = np.bincount(factor.get_triplet()[0], minlength=M.shape[0])
        costs.append(float(np.sum((1.0 + columns) ** 2)))
        orders.append(order)
    if costs[1] < LITTLE_FILL * costs[0]:
        return orders[1]
    n = M.shape[0]
    return orders[0] if n > LARGE and costs[0] < LITTLE_FILL * n**3 / 3 else None


def _sparse_solution(M: ca.SX, rhs: ca.SX, order: list[int]) -> tuple[ca.SX, list[ca.SX]]:
    """`symmetric_solve` with pivots in another order, without operations on zeros."""
    at = {k: place for place, k in enumerate(order)}
    columns: list[dict[int, ca.SX]] = [{} for _ in order]  # what is below each pivot, by place
    diagonal = [M[k, k] for k in order]
    for i, j in zip(*ca.sparsify(M).sparsity().get_triplet(), strict=True):
        if at[i] > at[j]:
            columns[at[j]][at[i]] = M[i, j]
    Y = [rhs[k, :] for k in order]
    for j, column in enumerate(columns):
        below = sorted(column.items())
        for place, (i, entry) in enumerate(below):
            part = entry / diagonal[j]
            diagonal[i] = diagonal[i] - part * entry
            for k, other in below[place + 1 :]:
                known = columns[i].get(k, ca.SX(0))
                columns[i][k] = known - part * other
            Y[i] = Y[i] - part * Y[j]
            column[i] = part
    X: list[ca.SX] = [ca.SX()] * len(order)
    for i in reversed(range(len(order))):
        x = Y[i] / diagonal[i]
        for k, part in columns[i].items():
            x = x - part * X[k]
        X[i] = x
    places = [at[k] for k in range(len(order))]
    return ca.vertcat(*[X[k] for k in places]), [diagonal[k] for k in places]


@inlined
def _symmetric_solution(M: ca.SX, rhs: ca.SX) -> tuple[ca.SX, ca.SX]:
    n = M.shape[0]
    L, D = _factors(M)
    Y: list[ca.SX] = []
    for i in range(n):
        y = rhs[i, :]
        for k in range(i):
            y = y - L[i][k] * Y[k]
        Y.append(y)
    X: list[ca.SX] = [ca.SX()] * n
    for i in reversed(range(n)):
        x = Y[i] / D[i]
        for k in range(i + 1, n):
            x = x - L[k][i] * X[k]
        X[i] = x
    return ca.vertcat(*X), ca.vertcat(*D)

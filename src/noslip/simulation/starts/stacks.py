"""Linear algebra of stacks of small matrices: the first index is that of the start.

Every matrix of a stack is taken by itself, by the same routine of BLAS or LAPACK in the same order,
so that the bits of a start depend on no other one, nor on how many there are.

Singular values of one matrix come from LAPACK itself. NumPy calls the same routine, but for
matrices of some ten rows its checks and conversions take twice as long. SciPy, which has the
routine itself, takes a fifth of a second to import: it is asked from the FOURTH time on, in a
process that does this often. NumPy and SciPy each bring an OpenBLAS of their own; where these are
not of one version, their last bits may differ, and NumPy is asked for all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array

#: Up to so many numbers plain Python is quicker than NumPy.
FEW = 40
FOURTH = 4

RANK = 1e-10  # singular values below this share of the largest count as zero
SAFE = 1e8  # condition up to which an inverse by elimination is trusted
_times = itertools.count(1)


def each(function: Callable[..., float], *values: Array) -> Array:
    """A function of the C library applied to arrays, number by number: NumPy may use its own."""
    return np.array([function(*row) for row in zip(*(a.tolist() for a in values), strict=True)])


def apply(A: Array, x: Array) -> Array:
    """A x (n, i) for matrices (n, i, j) and vectors (n, j)."""
    found: Array = (A @ x[:, :, None])[:, :, 0]
    return found


def largest(values: Array) -> Array:
    """Largest size (n,) in each of (n, …), infinite where one is nan."""
    if len(values) == 1 and values.size <= FEW:
        sizes = list(map(abs, values.ravel().tolist()))
        return np.array([math.inf if math.isnan(sum(sizes)) else max(sizes, default=0.0)])
    inner = tuple(range(1, values.ndim))
    found = np.maximum.reduce(np.abs(values), axis=inner, initial=0.0)
    return np.where(np.isnan(found), np.inf, found)


def is_within(values: Array, share: float, size: Array) -> NDArray[np.bool_]:
    """(n,) whether values (n, m) are finite and at most a share of max(1, |size|) of each start."""
    most = largest(values)
    found: NDArray[np.bool_] = most <= share
    if not found.all():
        found = (most <= share * np.maximum(1.0, largest(size))) & np.isfinite(most)
    return found


def row_weights(C: Array) -> Array:
    """Weights that give the rows (…, rows, columns) unit length.

    A row of rounding alone at this configuration stays as small as it is: it constrains nothing.
    """
    size = np.sqrt(np.add.reduce(C * C, axis=-1))
    most = np.maximum.reduce(size, axis=-1, keepdims=True, initial=0.0)
    return np.asarray(1.0 / np.where(size > 1e-12 * most, size, np.maximum(1.0, most)))


def pseudo_inverse(C: Array) -> Array:
    """C⁺ (n, j, i) of matrices (n, i, j): C⁻¹ or Cᵀ (C Cᵀ)⁻¹, by singular values if need be."""
    num_rows, num_columns = C.shape[1:]
    if not C.size:
        return np.zeros((len(C), num_columns, num_rows))
    if num_rows > num_columns:
        return singular_inverse(C)
    is_square, Ct = num_rows == num_columns, C.transpose(0, 2, 1)
    if num_rows == 1:
        K = C @ Ct
        return np.divide(Ct, K, out=np.zeros(Ct.shape), where=K > 0.0)
    K = C if is_square else C @ Ct
    inverse = inverses(K)
    found = inverse if is_square else Ct @ inverse
    is_good = largest(inverse) * np.maximum(largest(K), 1e-300) <= SAFE
    if not is_good.all():
        found[~is_good] = singular_inverse(C[~is_good])
    return found


def inverses(K: Array) -> Array:
    """K⁻¹ of square matrices by elimination with pivots; nan where there is none."""
    return _where_regular(np.linalg.inv, K)


def solutions(G: Array, right: Array) -> Array:
    """X (n, i, k) with G X = right, by elimination with pivots; nan where G is singular."""
    return _where_regular(np.linalg.solve, G, right)


def _where_regular(function: Any, *stacks: Array) -> Array:
    """A function of NumPy that refuses all matrices if one is singular."""
    try:
        return np.asarray(function(*stacks))
    except np.linalg.LinAlgError:
        if len(stacks[0]) == 1:
            return np.full(stacks[-1].shape, np.nan)
        parts = [[stack[k : k + 1] for stack in stacks] for k in range(len(stacks[0]))]
        return np.concatenate([_where_regular(function, *part) for part in parts])


def singular_inverse(C: Array, rank: float = RANK, least: float = 0.0) -> Array:
    """C⁺ by singular values, those below a share of the largest left out; 0 if C is not finite.

    `least` is a size that the largest one has at least: a matrix of rounding alone has no inverse.
    """
    U, sigma, Vt = singular_values(C)
    keep = sigma > rank * np.max(sigma, axis=1, keepdims=True, initial=least)
    back = np.divide(1.0, sigma, where=keep, out=np.zeros_like(sigma))
    size = sigma.shape[1]
    return np.asarray(
        (Vt[:, :size].transpose(0, 2, 1) * back[:, None, :]) @ U[:, :, :size].transpose(0, 2, 1)
    )


def singular_values(C: Array) -> tuple[Array, Array, Array]:
    """U (n, i, i), Σ and Vᵀ (n, j, j) with C = U Σ Vᵀ, as ``numpy.linalg.svd(C)``.

    Those of zero where C is not finite.
    """
    if not np.isfinite(C).all():
        C = np.where(np.isfinite(C).all(axis=(1, 2), keepdims=True), C, 0.0)
    if C.size and len(C) == 1 and next(_times) >= FOURTH and _has_same_bits():
        return _by_scipy(C)
    U, sigma, Vt = np.linalg.svd(C, full_matrices=True)
    return U, sigma, Vt


def _by_scipy(C: Array) -> tuple[Array, Array, Array]:
    """Singular values of a stack of one, by SciPy's LAPACK."""
    from scipy.linalg import lapack

    U, sigma, Vt, info = lapack.dgesdd(C[0], compute_uv=1, full_matrices=1)
    if info:
        raise np.linalg.LinAlgError("SVD did not converge")
    # by rows, as NumPy has them: products then have the same bits, too
    return np.ascontiguousarray(U)[None], sigma[None], np.ascontiguousarray(Vt)[None]


@cache
def _has_same_bits() -> bool:
    """Whether the libraries of NumPy and SciPy agree to the last bit, for a dense matrix a size."""
    rng = np.random.default_rng(0)
    for rows, columns in itertools.product((1, 2, 3, 5, 9, 14), (2, 3, 9, 16)):
        C = rng.normal(size=(1, rows, columns))
        pairs = zip(_by_scipy(C), np.linalg.svd(C, full_matrices=True), strict=True)
        if not all(np.array_equal(one, other) for one, other in pairs):
            return False
    return True

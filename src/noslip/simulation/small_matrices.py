"""Small matrices and vectors: least squares, singular values, largest sizes, by LAPACK itself.

NumPy calls the same routines and gives the same bits, but for matrices of some ten rows its checks
and conversions take twice as long as they do. SciPy, which has the routines themselves, takes a
fifth of a second to import: it is asked from the FOURTH time on, in a process that does this often.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np

from noslip.engines.system import Array

#: Up to so many numbers plain Python is quicker than NumPy.
FEW = 16
FOURTH = 4
_times = itertools.count(1)


def largest(values: Array) -> float:
    """The largest size of some numbers, 0 of none; nan if there is one among them."""
    if values.size > FEW:
        return float(np.abs(values).max())
    sizes = [abs(value) for value in values.tolist()]
    return math.nan if math.isnan(sum(sizes)) else max(sizes, default=0.0)


def least_squares(A: Array, b: Array, rcond: float) -> Array:
    """The least x with |A x − b| least; singular values below `rcond` of the largest are zero.

    As ``numpy.linalg.lstsq(A, b, rcond)[0]``, for finite A (m, n) and b (m,).
    """
    rows, columns = A.shape
    if not A.size:
        return np.zeros(columns)
    if next(_times) < FOURTH:
        return np.asarray(np.linalg.lstsq(A, b, rcond)[0])
    right = np.zeros((max(rows, columns), 1))
    right[:rows, 0] = b
    x, _, _, info = _lapack().dgelsd(A, right, *_work(rows, columns), rcond)
    if info:
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")
    found: Array = x[:columns, 0]
    return found


def singular_values(A: Array) -> tuple[Array, Array, Array]:
    """U (m, m), Σ and Vᵀ (n, n) with A = U Σ Vᵀ, as ``numpy.linalg.svd(A)``."""
    if not A.size or next(_times) < FOURTH:
        U, sigma, Vt = np.linalg.svd(A, full_matrices=True)
        return U, sigma, Vt
    U, sigma, Vt, info = _lapack().dgesdd(A, compute_uv=1, full_matrices=1)
    if info:
        raise np.linalg.LinAlgError("SVD did not converge")
    # by rows, as NumPy has them: products then have the same bits, too
    return np.ascontiguousarray(U), sigma, np.ascontiguousarray(Vt)


@cache
def _work(rows: int, columns: int) -> tuple[int, int]:
    """Sizes of the memory that least squares need."""
    reals, integers, _ = _lapack().dgelsd_lwork(rows, columns, 1, 1e-12)
    return int(reals), int(integers)


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack

    return lapack

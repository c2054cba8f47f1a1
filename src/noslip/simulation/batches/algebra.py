"""Small linear algebra of many trajectories at once, each with the same bits whoever is beside it.

The first index of an array is the trajectory. Sums are taken entry by entry in one order: what
NumPy or BLAS sum by themselves they may group by the size and place of the whole array. Functions
of the C library are called number by number for the same reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray

RANK = 1e-10  # singular values below this share of the largest count as zero
SAFE = 1e-8  # pivots below this share of the diagonal are not trusted


def each(function: Callable[..., float], *arrays: Any) -> Array:
    """A function of numbers applied to every trajectory."""
    return np.array([function(*row) for row in zip(*(a.tolist() for a in arrays), strict=True)])


def dot(a: Array, b: Array) -> Array:
    """Σ_j a_j b_j over the last index."""
    total = np.zeros(a.shape[:-1])
    for j in range(a.shape[-1]):
        total = total + a[..., j] * b[..., j]
    return total


def apply(A: Array, x: Array) -> Array:
    """A x for matrices (n, i, j) and vectors (n, j)."""
    total = np.zeros(A.shape[:2])
    for j in range(A.shape[2]):
        total = total + A[:, :, j] * x[:, j, None]
    return total


def product(A: Array, B: Array) -> Array:
    """A B for matrices (n, i, j) and (n, j, k)."""
    total = np.zeros((len(A), A.shape[1], B.shape[2]))
    for j in range(A.shape[2]):
        total = total + A[:, :, j, None] * B[:, None, j]
    return total


def largest(values: Array) -> Array:
    """Largest size of each row of (n, m), infinite where one is nan."""
    sizes = np.max(np.abs(values), axis=1, initial=0.0)
    return np.where(np.isnan(sizes), np.inf, sizes)


def least_solution(C: Array, d: Array) -> Array:
    """Least x (n, j) with C x = d, in the sense of least squares where rows depend on each other.

    x = Cᵀ (C Cᵀ)⁻¹ d and one round of refinement; where C Cᵀ is near singular, by singular values.
    """
    with np.errstate(all="ignore"):
        inverse, is_good = _inverse(product(C, C.transpose(0, 2, 1)))
        x = apply(C.transpose(0, 2, 1), apply(inverse, d))
        x = x + apply(C.transpose(0, 2, 1), apply(inverse, d - apply(C, x)))
        poor = np.flatnonzero(~(is_good & np.isfinite(x).all(axis=1)))
    if poor.size:
        # where rows are not even finite there is nothing to find
        is_finite = np.isfinite(C[poor]).all(axis=(1, 2))
        inverse = pseudo_inverse(np.where(is_finite[:, None, None], C[poor], 0.0))
        x[poor] = apply(inverse, d[poor])
        x[poor] += apply(inverse, d[poor] - apply(C[poor], x[poor]))
    return x


def pseudo_inverse(C: Array) -> Array:
    """C⁺ (n, j, i) by singular values, those near zero left out."""
    return np.linalg.pinv(C, rcond=RANK)


def _inverse(A: Array) -> tuple[Array, Array]:
    """A⁻¹ of symmetric positive matrices by elimination without pivots, and where that is safe."""
    n, size = len(A), A.shape[1]
    left, right = A.copy(), np.broadcast_to(np.eye(size), (n, size, size)).copy()
    is_safe = np.full(n, True)
    for k in range(size):
        pivot = left[:, k, k, None].copy()
        is_safe &= pivot[:, 0] > SAFE * A[:, k, k]
        left[:, k] /= pivot
        right[:, k] /= pivot
        for i in range(size):
            if i != k:
                factor = left[:, i, k, None].copy()
                left[:, i, k:] -= factor * left[:, k, k:]
                right[:, i, : k + 1] -= factor * right[:, k, : k + 1]
    return right, is_safe


def quaternions(angles: list[Array], sequence: str) -> Array:
    """Unit quaternions (n, 4) of R₁(a₁) R₂(a₂) R₃(a₃), scalar first, as in ``spatial``."""
    w, x, y, z = (np.full(len(angles[0]), value) for value in (1.0, 0.0, 0.0, 0.0))
    for letter, angle in zip(sequence, angles, strict=True):
        c, s = each(math.cos, angle / 2), each(math.sin, angle / 2)
        a, b, d = (s if letter == axis else 0.0 for axis in "xyz")
        w, x, y, z = (
            w * c - x * a - y * b - z * d,
            w * a + x * c + y * d - z * b,
            w * b - x * d + y * c + z * a,
            w * d + x * b - y * a + z * c,
        )
    return np.stack([w, x, y, z], axis=-1)


def angular_velocity(angles: list[Array], rates: list[Array], sequence: str) -> Array:
    """ω (n, 3) in the axes of the turned frame, for the rates of angles, as in ``spatial``."""
    omega = [np.zeros(len(angles[0])) for _ in range(3)]
    for letter, angle, rate in zip(sequence, angles, rates, strict=True):
        i = "xyz".index(letter)
        j, k = (i + 1) % 3, (i + 2) % 3
        c, s = each(math.cos, angle), each(math.sin, angle)
        omega[i] = omega[i] + rate
        omega[j], omega[k] = c * omega[j] + s * omega[k], c * omega[k] - s * omega[j]
    return np.stack(omega, axis=-1)

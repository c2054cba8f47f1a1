"""Rotations as numpy arrays, for pictures: matrices, quaternions (scalar first), one or many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from noslip import Placement
from noslip.base import Array
from noslip.model import NumberReader, frame_numbers


def placed(placement: Placement, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Orientation (3, 3) and position (3,) of a placed frame: R = R₁(a₁) R₂(a₂) R₃(a₃)."""
    return frame_numbers(placement, NumberReader(values))


def quaternions_of(R: Array) -> Array:
    """(…, 4) unit quaternions of rotations (…, 3, 3), with the entry of largest size positive.

    With the trace t = tr R, the squares are 4w² = 1 + t and 4x² = 1 − t + 2 R₀₀ and so on; the
    largest is taken by a root and the others by division (Shepperd's method).
    """
    t = np.trace(R, axis1=-2, axis2=-1)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    squares = np.concatenate([(1 + t)[..., None], 1 - t[..., None] + 2 * diagonal], axis=-1)
    # all products 4 q_i q_j of the entries of the quaternion
    K = np.empty((*t.shape, 4, 4))
    for i in range(4):
        K[..., i, i] = squares[..., i]
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        K[..., 0, i] = K[..., i, 0] = R[..., k - 1, j - 1] - R[..., j - 1, k - 1]
        K[..., i, j] = K[..., j, i] = R[..., i - 1, j - 1] + R[..., j - 1, i - 1]
    best = np.argmax(squares, axis=-1)
    row = np.take_along_axis(K, best[..., None, None], axis=-2)[..., 0, :]
    result: Array = row / np.linalg.norm(row, axis=-1, keepdims=True)
    return result


def without_jumps(q: Array) -> Array:
    """Quaternions (k, …, 4) with signs that follow from one time to the next."""
    if len(q) < 2:
        return q
    signs = np.where(np.sum(q[1:] * q[:-1], axis=-1) < 0, -1.0, 1.0)
    turned = q.copy()
    turned[1:] *= np.cumprod(signs, axis=0)[..., None]
    return turned


def rotations_of(q: Array) -> Array:
    """(…, 3, 3) rotations of unit quaternions (…, 4)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def roller_quaternions(axis: Array, angle: Array) -> Array:
    """(…, 4) rotations by angles about a unit axis."""
    half = np.asarray(angle)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)

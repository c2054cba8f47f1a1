"""Orientations in angles: quaternions of them, their rates, and which are regular.

R = R₁(a₁) R₂(a₂) R₃(a₃) about the axes of a sequence, each as already turned. The angular velocity
in body axes is ω = Σ eₖ ȧₖ with eₖ the axis of the k-th turn; where the three axes lie in a plane
the angles are singular and their rates have no value.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from noslip.engines.system import Array
from noslip.model.joints import Angles
from noslip.spatial import (
    angles_from_quaternion,
    angular_velocity,
    cross,
    quaternion_rate_map,
    rotation_about,
    vector,
)

_AXES = {"x": vector([1, 0, 0]), "y": vector([0, 1, 0]), "z": vector([0, 0, 1])}
#: Angles to fall back on; one of them is regular at any orientation.
_SEQUENCES = ("zyx", "zxy", "xyz", "xzy", "yxz", "yzx")
#: Least volume that the three axes of turning must span.
_REGULAR = 0.1


def regular_angles(
    q: Array, at: int, joint: str, angles: Angles | None
) -> tuple[str, tuple[str, ...]]:
    """A sequence of angles that is regular at q, the joint's own if it is, and their names."""
    choices = [(s, tuple(f"{joint}.turn_{letter}" for letter in s)) for s in _SEQUENCES]
    if angles is not None:
        choices.insert(0, (angles.sequence, tuple(f"{joint}.{n}" for n in angles.names)))
    for sequence, names in choices:
        if abs(np.linalg.det(turn_axes_at(angles_of(q, at, sequence), sequence))) > _REGULAR:
            return sequence, names
    raise AssertionError("one of the sequences is regular at any orientation")


def quaternion_of(angles: ca.SX, sequence: str) -> ca.SX:
    """Unit quaternion of R₁(a₁) R₂(a₂) R₃(a₃): p ← p ⊗ (cos a/2, sin a/2 e) for each turn."""
    p = ca.SX([1.0, 0.0, 0.0, 0.0])
    for letter, angle in zip(sequence, ca.vertsplit(angles), strict=True):
        turned = ca.mtimes(quaternion_rate_map(p), _AXES[letter])
        p = ca.cos(angle / 2) * p + 2 * ca.sin(angle / 2) * turned
    return p


def turn_axes(angles: ca.SX, sequence: str) -> list[ca.SX]:
    """The axis of each angle, in the axes of the turned body: ω = Σ axis_k ȧ_k."""
    axes = []
    R = ca.SX.eye(3)
    for k in reversed(range(3)):
        axis = _AXES[sequence[k]]
        axes.append(ca.mtimes(R.T, axis))
        R = ca.mtimes(rotation_about(axis, angles[k]), R)
    return axes[::-1]


def turn_axes_at(angles: Array, sequence: str) -> Array:
    """The same axes as columns, in numbers."""
    turning = [angular_velocity(list(angles), list(rates), sequence) for rates in np.eye(3)]
    return np.array(turning).T


def angle_rates(angles: ca.SX, sequence: str, omega: ca.SX) -> ca.SX:
    """Rates of the angles from ω (3, n) in body axes, by Cramer's rule."""
    a, b, d = turn_axes(angles, sequence)
    across = [cross(b, d), cross(d, a), cross(a, b)]
    return ca.vertcat(*[ca.mtimes(e.T, omega) for e in across]) / ca.dot(a, across[0])


def angles_of(q: Array, at: int, sequence: str) -> Array:
    """Angles of the quaternion that starts there."""
    return np.array(angles_from_quaternion(q[at : at + 4], sequence), dtype=float)

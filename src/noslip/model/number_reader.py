"""Scalars, vectors and rotations of a model at given parameter values, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import unit
from noslip.expressions import CONSTANTS, Scalar, evaluate, names_in, nominal, parse
from noslip.model.quantities import Vector3

Array = NDArray[np.float64]


class NumberReader:
    """Reads scalars as numbers; what has no value is nan.

    Parameters
    ----------
    values : of the parameters by name.
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def scalar(self, scalar: Scalar) -> float:
        """The number of a scalar."""
        return number(scalar, self.values)

    def vector(self, entries: Iterable[Scalar]) -> Array:
        """(k,) numbers of several."""
        return numbers(entries, self.values)

    def direction(self, entries: Iterable[Scalar]) -> Array:
        """(3,) the unit vector along a direction."""
        along = self.vector(entries)
        result: Array = along / np.linalg.norm(along)
        return result

    def extended(self, values: Mapping[str, Any]) -> TracedNumbers:
        """A reader that knows traced names beside the numbers."""
        return TracedNumbers({**self.values, **values})


class TracedNumbers:
    """Reads scalars of names that stand for numbers or traced scalars."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def scalar(self, scalar: Scalar) -> Any:
        """The traced scalar of a number or an expression."""
        if not isinstance(scalar, str):
            return ca.SX(float(scalar))
        return ca.SX(evaluate(parse(scalar), self.values, ca))

    def vector(self, entries: Iterable[Scalar]) -> Any:
        """Traced column of several."""
        return ca.vertcat(*[self.scalar(entry) for entry in entries])

    def direction(self, entries: Iterable[Scalar]) -> Any:
        """Traced unit vector along a direction."""
        return unit(self.vector(entries))

    def extended(self, values: Mapping[str, Any]) -> TracedNumbers:
        """A reader that knows more names."""
        return TracedNumbers({**self.values, **values})


def number(scalar: Scalar, values: Mapping[str, float]) -> float:
    """Value of a scalar of the model at given parameter values; nan where it has none."""
    if not isinstance(scalar, str):
        return float(scalar)
    names = _names(scalar)
    constants = CONSTANTS
    given = tuple(values[name] if name in values else constants[name] for name in names)
    return _value(scalar, names, given)


# a slider asks for the same expressions again and again, and changes few of them


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    """The names in an expression."""
    return tuple(sorted(names_in(parse(text))))


@lru_cache(maxsize=16384)
def _value(text: str, names: tuple[str, ...], given: tuple[float, ...]) -> float:
    return nominal(text, dict(zip(names, given, strict=True)))


def numbers(entries: Iterable[Scalar], values: Mapping[str, float]) -> Array:
    """(k,) values of several scalars of the model, as :func:`number`."""
    return np.array([number(entry, values) for entry in entries])


def vector(entries: Array) -> Vector3:
    """Three numbers as the model has them."""
    x, y, z = (float(e) for e in entries)
    return x, y, z


def rotation_about(axis: Array, angle: float) -> Array:
    """R = e eᵀ + cos(angle) (1 − e eᵀ) + sin(angle) e× of a unit vector e."""
    x, y, z = axis
    along = np.outer(axis, axis)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result: Array = along + np.cos(angle) * (np.eye(3) - along) + np.sin(angle) * skew
    return result


def angles_of(R: Array) -> Array:
    """Three angles with R = Rx(a₁) Ry(a₂) Rz(a₃), the sequence of a placement by default."""
    second = np.arctan2(R[0, 2], np.hypot(R[0, 0], R[0, 1]))
    first = np.arctan2(-R[1, 2], R[2, 2]) if R[1, 2] or R[2, 2] else 0.0
    # near a₂ = ±π/2 only the sum or difference of the others is determined: a₃ makes up for a₁
    sine, cosine = np.sin(first), np.cos(first)
    third = np.arctan2(cosine * R[1, 0] + sine * R[2, 0], cosine * R[1, 1] + sine * R[2, 1])
    return np.array([first, second, third])


def rotation_to(direction: Array) -> Array:
    """A rotation that turns z to a direction; the two other axes lie as they like."""
    z = direction / np.linalg.norm(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])

"""Plane curves to follow, traced: position, heading and curvature at a parameter.

A path is a smooth regular curve r(p) of its own parameter p, which need not be arc length. All else
follows by differentiation, with primes for d/dp and s the arc length, ds = |r'| dp:

    (1)  tangent         t = r' / |r'|
    (2)  heading         atan2(y', x')
    (3)  curvature       κ = r' × r'' / |r'|³                  positive where the path turns left
    (4)  curvature rate  dκ/ds = (r' × r''' − 3 (r' × r'') (r' · r'') / |r'|²) / |r'|⁴

To add a path:

1. Write a final frozen dataclass of :class:`AbstractPath` with `position` and `breaks`, and
   `position_near` if it has inner breaks. The fields must be hashable; check them in
   ``__post_init__``.
2. Give it a `word`, its name in text. What text, forms and messages need beyond that follows from
   its arguments and their types; `typical` and `ranges` say it better (`AbstractForm`).
3. Add one to the list at the top of ``tests/unit/control/test_paths.py``.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import LARGEST, SimulationError, is_truth
from noslip.control.forms import AbstractForm

Array = NDArray[np.float64]

#: A point of the plane, x and y in m.
Point = tuple[float, float]


class AbstractPath(AbstractForm, abc.ABC, family="path"):
    """A curve in the plane, positions in m."""

    __slots__ = ()

    usual_unit = "m"

    @abc.abstractmethod
    def position(self, p: ca.SX) -> ca.SX:
        """The point (2,) at the parameter p; beyond the ends the curve goes on."""

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at p of the piece that holds at `near`.

        A path of pieces overrides it, so that a motion can choose the piece by time: within a step
        of an integrator that ends on a break, p itself may be on either side of it.
        """
        return self.position(p)

    @property
    @abc.abstractmethod
    def breaks(self) -> tuple[float, ...]:
        """Rising parameters: the start, every place where a derivative may jump, the end."""

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX | None:
        """Curvature at p of the piece that holds at `near`, where p is arc length; None otherwise.

        A path that knows it saves the derivatives of its position.
        """
        return None

    def of_order(self, order: int) -> AbstractPath:
        """The path with a curvature that is differentiable so often, if that is left open.

        Parameters
        ----------
        order : continuous derivatives of the curvature; 0 for a curvature that does not jump.
        """
        return self

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """The path between its cusps, where it goes back the way it came and a vehicle stops."""
        return (self,)

    @property
    def cusps(self) -> tuple[float, ...]:
        """Parameters of the cusps, which are among the breaks."""
        return ()

    @property
    def interval(self) -> tuple[float, float]:
        """The parameters of the start and of the end."""
        return self.breaks[0], self.breaks[-1]


def tangent(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The unit tangent (2,) of `path` at the parameter `p`, traced."""
    _, r1, _, _ = derivatives(path, p)
    return r1 / ca.norm_2(r1)  # (1)


def heading(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The direction of `path` at the parameter `p`, traced, in rad, between −π and π."""
    _, r1, _, _ = derivatives(path, p)
    return ca.atan2(r1[1], r1[0])  # (2)


def curvature(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The curvature of `path` at the parameter `p`, traced, in 1/m, positive to the left."""
    _, r1, r2, _ = derivatives(path, p)
    return _cross(r1, r2) / ca.norm_2(r1) ** 3  # (3)


def curvature_rate(path: AbstractPath, p: ca.SX) -> ca.SX:
    """The rate of the curvature of `path` with arc length at the parameter `p`, traced, in 1/m²."""
    _, r1, r2, r3 = derivatives(path, p)
    square = ca.dot(r1, r1)
    return (_cross(r1, r3) - 3 * _cross(r1, r2) * ca.dot(r1, r2) / square) / square**2  # (4)


def stretch(path: AbstractPath, p: ca.SX) -> ca.SX:
    """Arc length of `path` for each unit of its parameter, |r'|, at the parameter `p`, traced."""
    _, r1, _, _ = derivatives(path, p)
    return ca.norm_2(r1)


def derivatives(path: AbstractPath, p: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """r, r', r'' and r''' of a path (each (2,)) at the parameter p, traced."""
    r, r1, r2, r3 = _differentiated(path).call([ca.SX(p)])
    return r, r1, r2, r3


@lru_cache(maxsize=128)
def _differentiated(path: AbstractPath) -> ca.Function:
    p = ca.SX.sym("p")
    r = [ca.densify(path.position(p))]
    for _ in range(3):
        r.append(ca.densify(ca.jtimes(r[-1], p, ca.SX(1))))
    return ca.Function("path", [p], r)


def _cross(a: ca.SX, b: ca.SX) -> ca.SX:
    return a[0] * b[1] - a[1] * b[0]


# what the constructors of paths and timing laws check


def number(value: Any, name: str, where: str) -> float:
    """A finite number."""
    try:
        result = math.nan if is_truth(value) or isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise SimulationError(
            f"{name} is {value!r:.60}, which is not a finite number",
            where,
            f"give {name} as a number",
        )
    if abs(result) > LARGEST:
        raise SimulationError(
            f"{name} is {result:g}, beyond ±{LARGEST:g}", where, f"give {name} in SI units"
        )
    return result


def numbers(values: Iterable[Any], name: str, where: str) -> tuple[float, ...]:
    """Finite numbers."""
    return tuple(number(value, f"{name}[{k}]", where) for k, value in enumerate(values))


def positive(value: Any, name: str, where: str) -> float:
    """A finite number greater than zero."""
    result = number(value, name, where)
    if result <= 0:
        raise SimulationError(
            f"{name} is {result:g}, expected more than 0", where, f"give {name} a positive number"
        )
    return result


def point(value: Any, name: str, where: str) -> Point:
    """Two finite numbers."""
    try:
        x, y = value
    except (TypeError, ValueError):
        raise SimulationError(
            f"{name} is {value!r}, expected two numbers",
            where,
            f"give x and y in m: {name}=(0.0, 1.0)",
        ) from None
    return number(x, f"x of {name}", where), number(y, f"y of {name}", where)


def points(values: Iterable[Any], name: str, where: str, fewest: int = 2) -> tuple[Point, ...]:
    """At least `fewest` points."""
    result = tuple(point(v, f"{name}[{k}]", where) for k, v in enumerate(values))
    if len(result) < fewest:
        raise SimulationError(
            f"{len(result)} {name} are given, at least {fewest} are needed",
            where,
            f"add to {name}, each with its x and y in m",
        )
    return result


def distinct(values: tuple[Point, ...], name: str, where: str) -> None:
    """Refuse two consecutive points at one place."""
    for k in range(1, len(values)):
        if values[k] == values[k - 1]:
            raise SimulationError(
                f"{name}[{k - 1}] and {name}[{k}] are both at {place(values[k])}",
                where,
                "remove one of them",
            )


def place(at: Iterable[float]) -> str:
    """A point in words: (1, 2) m."""
    x, y = at
    return f"({x:.6g}, {y:.6g}) m"


def check_fields(target: object, **kinds: Callable[[Any, str, str], Any]) -> None:
    """Check and convert fields of a frozen dataclass: check_fields(self, radius=positive)."""
    where = type(target).__name__
    assign(target, **{n: kind(getattr(target, n), n, where) for n, kind in kinds.items()})


def assign(target: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass in its ``__post_init__``."""
    for name, value in fields.items():
        object.__setattr__(target, name, value)

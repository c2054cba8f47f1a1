"""Lazily computed columns of a trajectory, by name, and tables that know what names there are.

Most runs are made for a few of their columns, and accelerations take longer than all others: an
array is computed at the first access and cached. Named angles, their rates and named speeds are
columns too; the traced formulas of the same quantities are in ``expressions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from noslip.algebra import angular_velocity
from noslip.base import Array, MissingNameError, nearest
from noslip.expressions import evaluate, measures_in, names_in, parse
from noslip.model import Model

if TYPE_CHECKING:
    from noslip.simulation.trajectory import Trajectory


#: An array, or what finds it.
Given = Array | Callable[[], Array]
#: Unit and values by name.
Sources = dict[str, tuple[str, Given]]


Value = TypeVar("Value")


class LazyValue(Generic[Value]):
    """A lazily computed value: computed at the first call, then cached."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Value]) -> None:
        self._find: Callable[[], Value] | None = find

    def __call__(self) -> Value:
        find = self._find
        if find is not None:
            # two threads may both find it, and find the same
            self._found = find()
            self._find = None
        return self._found


def column(table: Given, k: int) -> Given:
    """A lazy column of a lazily computed table."""
    return (lambda: table()[:, k]) if callable(table) else table[:, k]


class LazyField(Generic[Value]):
    """A field of a frozen dataclass: a value, or a function that computes it when first read."""

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type | None = None) -> Value:
        if owner is None:  # a dataclass reads the default this way; there is none
            raise AttributeError(self._name)
        given: Value | Callable[[], Value] = vars(owner)[self._name]
        return given() if callable(given) else given

    def __set__(self, owner: object, given: Value | Callable[[], Value]) -> None:
        vars(owner)[self._name] = given


class Columns(Mapping[str, tuple[str, Array]]):
    """Columns by name: unit and (n,) values, computed when they are first read.

    Parameters
    ----------
    given : by name, the unit and the values or what finds them.
    """

    def __init__(self, given: Sources) -> None:
        self._given = given

    def __getitem__(self, name: str) -> tuple[str, Array]:
        unit, values = self._given[name]
        return unit, values() if callable(values) else values

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} [{unit}]" for name, (unit, _) in self._given.items())
        return f"Columns: {listed}"


#: What to do about an event of a run that was asked for none.
NO_EVENTS = "the run had no events: simulate with events={'name': 'expression', …}"


class Named(dict[str, Any]):
    """A dictionary whose error for a missing name says what / where / fix.

    Parameters
    ----------
    noun : of what has a name: "column", "event".
    where : whose table it is.
    none : what to do if the table is empty.
    values : by name.
    """

    __slots__ = ("_none", "_noun", "_where")

    def __init__(
        self, noun: str, where: str, none: str, values: Mapping[str, Any] | None = None
    ) -> None:
        if values:
            super().__init__(values)
        self._noun, self._where, self._none = noun, where, none

    def __missing__(self, name: object) -> Any:
        fix = nearest(str(name), self) if self else self._none
        raise MissingNameError(f"there is no {self._noun} '{name}'", self._where, fix)


def named_columns(run: Trajectory) -> Sources:
    """Unit and (n,) values of named angles, their rates and named speeds, lazily."""
    return _angles(run) | _speeds(run)


def _angles(run: Trajectory) -> Sources:
    """Named angles of spherical and free joints, without jumps, then their rates."""
    table: Sources = {}
    coordinates, speeds = ([x.name for x in xs] for xs in (run.coordinates, run.speeds))
    for joint in run.model.joints:
        angles = joint.type.named_angles()
        if angles is None or f"{joint.name}.qw" not in coordinates or not len(run.t):
            continue
        at, first = coordinates.index(f"{joint.name}.qw"), speeds.index(f"{joint.name}.wx")
        quaternions, omega = run.q[:, at : at + 4], run.v[:, first : first + 3]
        values = LazyValue(partial(unwrapped, quaternions, angles.sequence))
        rates = LazyValue(partial(_rates, values, angles.sequence, omega))
        own = [f"{joint.name}.{name}" for name in angles.names]
        table |= {name: ("rad", column(values, k)) for k, name in enumerate(own)}
        table |= {f"{name}_rate": ("rad/s", column(rates, k)) for k, name in enumerate(own)}
    return table


def unwrapped(quaternions: Array, sequence: str) -> Array:
    """(n, 3) angles of a rotation, without jumps between samples that follow each other closely."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_quat(quaternions, scalar_first=True)
    return np.unwrap(rotation.as_euler(sequence.upper(), suppress_warnings=True), axis=0)


def _rates(angles: LazyValue[Array], sequence: str, omega: Array) -> Array:
    return angle_rates(angles(), sequence, omega)


def angle_rates(a: Array, sequence: str, omega: Array) -> Array:
    """(n, 3) rates of angles a; NaN where the angles are singular.

    With R = R₁(a₁) R₂(a₂) R₃(a₃) and ω in the axes of the child,

        ω = R₃ᵀ R₂ᵀ e₁ ȧ₁ + R₃ᵀ e₂ ȧ₂ + e₃ ȧ₃
    """
    E = np.empty((*a.shape, 3))
    for k, unit in enumerate(np.eye(3)):
        for i, part in enumerate(angular_velocity(list(a.T), list(unit), sequence, np.cos, np.sin)):
            E[:, i, k] = part
    regular = np.abs(np.linalg.det(E)) > 1e-9
    rates = np.full_like(omega, np.nan)
    rates[regular] = np.linalg.solve(E[regular], omega[regular][..., None])[..., 0]
    return rates


def _speeds(run: Trajectory) -> Sources:
    """Independent speeds that the model names by an expression, such as a bicycle's speed."""
    measured = measured_speeds(run.model)
    named = [s for s in run.model.independent_speeds if s.expression and s.name not in measured]
    known: dict[str, Any] = {**run.parameters, "t": run.t}
    for quantities, table in ((run.coordinates, run.q), (run.speeds, run.v)):
        known |= {quantity.name: table[:, k] for k, quantity in enumerate(quantities)}
    return {s.name: (s.unit, LazyValue(partial(_evaluated, s.expression, known))) for s in named}


def measured_speeds(model: Model) -> dict[str, str]:
    """Named speeds whose expressions use measures, named angles or definitions."""
    angles = {
        f"{joint.name}.{name}{rate}"
        for joint in model.joints
        if (named := joint.type.named_angles()) is not None
        for name in named.names
        for rate in ("", "_rate")
    }
    names = angles | {d.name for d in model.definitions}
    return {
        speed.name: speed.expression
        for speed in model.independent_speeds
        if speed.expression
        and (measures_in(tree := parse(speed.expression)) or names & names_in(tree))
    }


def _evaluated(expression: str, known: dict[str, Any]) -> Array:
    """(n,) values of an expression of numbers and columns."""
    import casadi as ca

    values = {name: ca.DM(value) for name, value in known.items()}
    return np.array(evaluate(parse(expression), values, ca), dtype=float).ravel()

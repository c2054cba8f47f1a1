"""Prescribed motions: coordinates as traced functions of time, with states of their own if need be.

A motion along a path carries the path's parameter as a state; a motion given by expressions of time
needs none. In both cases the first and second derivatives are exact:

    ẏ = ∂y/∂t + ∂y/∂m ṁ,   ÿ alike
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, nearest
from noslip.engines import System
from noslip.expressions import Scalar
from noslip.kinematics import parameter_reader
from noslip.model import Parameter, Vector3
from noslip.simulation import Guard


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionTrace:
    """A motion in the symbols of a system.

    Parameters
    ----------
    at : indices of the prescribed coordinates.
    outputs : (k,) the prescribed coordinates y(t, m).
    states, rates, start : m, ṁ and m at t = 0; what depends on the model's parameters may be NaN.
    names, units : of m, for columns.
    parameters, parameter_values : numbers of the task beyond the model's.
    knots : times at which a derivative of the motion jumps, s; steps of a simulation end there.
    guards : what the motion divides by, for a run that ends where one of them vanishes.
    find_start : finds m at t = 0 for values of the model's parameters, where it depends on them.
    carried : (state, coordinate) for the states that start where a coordinate does.
    """

    at: tuple[int, ...]
    outputs: ca.SX
    states: ca.SX
    rates: ca.SX
    start: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    parameters: ca.SX
    parameter_values: Array
    knots: tuple[float, ...] = ()
    guards: tuple[Guard, ...] = ()
    find_start: Callable[[Array], Array] | None = None
    carried: tuple[tuple[int, int], ...] = ()

    def start_at(self, parameters: Array) -> Array:
        """(nm,) m at t = 0 for values of the model's parameters."""
        return self.start if self.find_start is None else self.find_start(parameters)

    def start_with(self, q: Array) -> Array:
        """(nm + nq,) m and the reference at t = 0, from the configuration there.

        Raises
        ------
        SimulationError : if that is not a row of numbers.
        """
        if np.ndim(q) != 1:
            fix = "give the coordinates in a row, in their order"
            raise SimulationError(f"reference_start is {q!r:.60}", "reference of a motion", fix)
        m = self.start.copy()
        for state, coordinate in self.carried:
            m[state] = q[coordinate]
        return np.concatenate([m, q])

    def rate_of(self, expression: ca.SX, t: ca.SX) -> ca.SX:
        """Exact time derivative of an expression of t and m."""
        at = ca.vertcat(t, self.states)
        return ca.jtimes(expression, at, ca.vertcat(ca.SX(1), self.rates))

    def check_start(self, time: float, model: str) -> None:
        """Refuse to begin a motion with states of its own later than these are known."""
        if self.states.shape[0] and time:
            listed = ", ".join(f"'{name}'" for name in self.names)
            raise SimulationError(
                f"the motion starts at t = {time:g} s, but its own {listed} are known at t = 0",
                f"motion of model '{model}'",
                "start at t = 0, or give the coordinates as expressions of t",
            )


#: A point of a planar base and its direction ahead, in the axes of the base.
Frame = tuple[Vector3, Vector3]


class AbstractMotion(abc.ABC):
    """A motion of some coordinates of a model over time."""

    __slots__ = ()

    @abc.abstractmethod
    def trace(self, system: System) -> MotionTrace:
        """The motion in the symbols of this system."""

    @property
    def key(self) -> Hashable:
        """Cache key: motions with equal keys differ in values of parameters alone; None if unknown.

        A motion with a key is traced and compiled once for a system, and its `parameter_values` are
        arguments of that code.
        """
        return None

    @property
    def parameter_values(self) -> Array:
        """Values of the parameters of its trace, for a motion with a key."""
        return np.zeros(0)

    @property
    def frame(self) -> Frame | None:
        """The frame of a planar base that the motion leads; None if it leads none."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionMotion(AbstractMotion):
    """Coordinates as expressions of time.

    Parameters
    ----------
    coordinates : coordinate name → expression of ``t``, the model's parameters, `parameters` and
        `definitions`.
    definitions : named expressions, each of those before it.
    parameters : numbers of the task beyond the model's.
    """

    coordinates: dict[str, Scalar]
    definitions: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()

    @property
    def key(self) -> Hashable:
        """Names and texts; values of the task's parameters are arguments."""
        names = tuple(p.name for p in self.parameters)
        return tuple(self.coordinates.items()), tuple(self.definitions.items()), names

    @property
    def parameter_values(self) -> Array:
        """Values of the task's parameters."""
        return np.array([p.value for p in self.parameters], dtype=float)

    def trace(self, system: System) -> MotionTrace:
        """The expressions, read once."""
        symbols = system.kinematics.symbols
        extra = ca.SX.sym("task", len(self.parameters))
        reader = parameter_reader(system.model, symbols.params).extended(
            {"t": symbols.t, **{p.name: extra[k] for k, p in enumerate(self.parameters)}}
        )
        for name, text in self.definitions.items():
            reader = reader.extended({name: reader.scalar(text)})
        return MotionTrace(
            at=coordinate_indices(system, list(self.coordinates)),
            outputs=ca.vertcat(*[reader.scalar(e) for e in self.coordinates.values()]),
            states=ca.SX(0, 1),
            rates=ca.SX(0, 1),
            start=np.zeros(0),
            names=(),
            units=(),
            parameters=extra,
            parameter_values=self.parameter_values,
        )


def coordinate_indices(system: System, names: list[str]) -> tuple[int, ...]:
    """Indices of coordinates by name, all of which must exist."""
    known = [c.name for c in system.coordinates]
    for name in names:
        if name not in known:
            raise SimulationError(
                f"there is no coordinate '{name}' to move",
                f"motion of model '{system.model.name}'",
                nearest(name, known),
            )
    return tuple(known.index(name) for name in names)

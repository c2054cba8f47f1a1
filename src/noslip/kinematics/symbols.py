"""The symbols everything is traced in, and expressions of the model read as traced scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import casadi as ca

from noslip.algebra import Traced, unit, vector
from noslip.base import ModelError
from noslip.expressions import Measure, Scalar, evaluate, parse
from noslip.model import Model, Quantity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Symbols:
    """Columns of traced symbols: t, q, v, states of forces z, u, w, ẇ and the parameters."""

    t: ca.SX
    q: ca.SX
    v: ca.SX
    z: ca.SX
    u: ca.SX
    w: ca.SX
    wdot: ca.SX
    params: ca.SX


class Reader:
    """Reads scalars of the model (numbers or text) as traced scalars of named symbols.

    Parameters
    ----------
    values : what each name stands for.
    literal : how a number is traced; as a constant by default.
    measure : how a measure of the motion is traced, from its traced arguments.
    """

    def __init__(
        self,
        values: dict[str, Traced],
        literal: Callable[[float], Traced] = float,
        measure: Callable[[Measure, list[ca.SX]], ca.SX] | None = None,
    ) -> None:
        self._values = values
        self._literal = literal
        self._measure = measure
        self._columns: dict[tuple[str, tuple[float, ...]], ca.SX] = {}  # of numbers

    def scalar(self, scalar: Scalar) -> ca.SX:
        """Traced scalar of a number or an expression."""
        if isinstance(scalar, str):
            tree = parse(scalar)
            try:
                found = evaluate(tree, self._values, ca, self._literal, self._measure)
            except ArithmeticError as error:  # of its numbers alone, as 1/0
                what = f"'{scalar:.60}' has no finite value: {error}"
                fix = "write an expression that can be evaluated"
                raise ModelError(what, "an expression of numbers", fix) from error
            return ca.SX(found)
        if (number := float(scalar)) != number:
            fix = "give a number, or an expression"
            raise ModelError("nan is no number to compute with", "a number of a motion", fix)
        return ca.SX(self._literal(number))

    def vector(self, entries: Iterable[Scalar]) -> ca.SX:
        """Traced column of numbers or expressions."""
        entries = tuple(entries)
        return self._cached("vector", entries, lambda: vector([self.scalar(e) for e in entries]))

    def direction(self, entries: Iterable[Scalar]) -> ca.SX:
        """Traced unit vector along a direction."""
        entries = tuple(entries)
        return self._cached("direction", entries, lambda: unit(self.vector(entries)))

    def _cached(self, what: str, entries: tuple[Scalar, ...], make: Callable[[], ca.SX]) -> ca.SX:
        """Cached expression of the same numbers, where numbers are constants."""
        if self._literal is not float or any(isinstance(entry, str) for entry in entries):
            return make()
        key = what, tuple(map(float, entries))
        if key not in self._columns:
            self._columns[key] = make()
        return self._columns[key]

    def extended(self, values: Mapping[str, Traced]) -> Reader:
        """A reader that knows more names."""
        return Reader({**self._values, **values}, self._literal, self._measure)

    def measuring(self, measure: Callable[[Measure, list[ca.SX]], ca.SX]) -> Reader:
        """A reader that traces measures of the motion."""
        return Reader(self._values, self._literal, measure)


def named(quantities: Iterable[Quantity], symbols: ca.SX) -> dict[str, ca.SX]:
    """Names of quantities with their traced scalars."""
    return {quantity.name: symbols[k] for k, quantity in enumerate(quantities)}


def parameter_reader(
    model: Model, params: ca.SX, literal: Callable[[float], Traced] = float
) -> Reader:
    """A reader that knows the model's parameters."""
    return Reader({p.name: params[k] for k, p in enumerate(model.parameters)}, literal)

"""Paths written as arithmetic: a graph y(x), or x(p) and y(p). The text is read, never run."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.control.paths.base import AbstractPath, assign, number
from noslip.errors import SimulationError, nearest
from noslip.model import expressions


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(AbstractPath):
    """y given as an expression of ``x`` from x = `start` to x = `end`; the parameter is x.

    With `end` below `start` the path runs in the direction of falling x.
    """

    y: str
    start: float
    end: float

    def __post_init__(self) -> None:
        _check(self.y, "x", "Graph(y=…)")
        assign(self, **_ends(self.start, self.end, "Graph"))

    def position(self, p: ca.SX) -> ca.SX:
        """(x, y(x))."""
        x = p if self.end > self.start else -p
        return ca.vertcat(x, _evaluate(self.y, "x", x))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end; x is −p where it falls."""
        return (self.start, self.end) if self.end > self.start else (-self.start, -self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parametric(AbstractPath):
    """x and y given as expressions of the parameter ``p`` from p = `start` to p = `end`."""

    x: str
    y: str
    start: float
    end: float

    def __post_init__(self) -> None:
        _check(self.x, "p", "Parametric(x=…)")
        _check(self.y, "p", "Parametric(y=…)")
        assign(self, **_ends(self.start, self.end, "Parametric"))
        if self.end < self.start:
            raise SimulationError(
                f"the parameter falls from {self.start:g} to {self.end:g}",
                "Parametric(start=…, end=…)",
                "exchange start and end, and take reversed_path of the result",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """(x(p), y(p))."""
        return ca.vertcat(_evaluate(self.x, "p", p), _evaluate(self.y, "p", p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return self.start, self.end


def _ends(start: float, end: float, where: str) -> dict[str, float]:
    start, end = number(start, "start", where), number(end, "end", where)
    if start == end:
        raise SimulationError(
            f"the path starts and ends at {start:g}", where, "give start and end different values"
        )
    return {"start": start, "end": end}


def _evaluate(text: str, name: str, value: ca.SX) -> ca.SX:
    return ca.SX(expressions.evaluate(expressions.parse(text), {name: value}, ca))


def _check(text: str, name: str, where: str) -> None:
    """Refuse what cannot be read and names other than the one that is free."""
    if not isinstance(text, str):
        raise SimulationError(
            f"{text!r} is not text", where, f"write an expression of {name}: '0.5*sin({name})'"
        )
    try:
        tree = expressions.parse(text)
    except expressions.ExpressionError as error:
        raise SimulationError(
            f"expression '{text}' cannot be read: {error}",
            where,
            f"write arithmetic of {name}, such as '0.5*sin({name})'",
        ) from None
    unknown = sorted(expressions.names_in(tree) - {name} - set(expressions.CONSTANTS))
    if unknown:
        raise SimulationError(
            f"expression '{text}' uses '{unknown[0]}', which is not known",
            where,
            nearest(unknown[0], (name, *expressions.CONSTANTS)),
        )

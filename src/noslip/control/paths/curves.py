"""Paths in closed form: line, circle, arc, ellipse, figure eight, catenary, sine.

Their fields have one meaning everywhere: points and sizes in m, angles in rad from the x axis. What
is closed lies about its `center`, begins at its `start_angle` and goes `turns` times round,
counter-clockwise, to the left, unless `clockwise`.

:class:`Graph` and :class:`Parametric` are written as arithmetic, which is read, never run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

from noslip.base import SimulationError, nearest
from noslip.control.forms import Angle, Pure, WaveNumber
from noslip.control.paths.base import (
    AbstractPath,
    Point,
    assign,
    check_fields,
    number,
    place,
    point,
    positive,
)
from noslip.expressions import CONSTANTS, ExpressionError, evaluate, names_in, parse


@dataclass(frozen=True, slots=True)
class Line(AbstractPath):
    """The straight line from `start` to `end`; the parameter is arc length."""

    word = "line"

    start: Point
    end: Point

    def __post_init__(self) -> None:
        check_fields(self, start=point, end=point)
        if self.start == self.end:
            raise SimulationError(
                f"the line starts and ends at {place(self.start)}",
                "Line",
                "give two different points",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """Start + p (end − start)/|end − start|."""
        (x0, y0), (x1, y1), whole = self.start, self.end, self.breaks[1]
        return ca.vertcat(x0 + p * ((x1 - x0) / whole), y0 + p * ((y1 - y0) / whole))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, math.dist(self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle(AbstractPath):
    """A circle about `center`, from `start_angle`, `turns` times round; the parameter is the angle.

    It starts at center + radius (cos start_angle, sin start_angle), to the left unless `clockwise`.
    """

    word = "circle"
    typical = {"radius": 4.0}

    radius: float
    center: Point = (0.0, 0.0)
    start_angle: Angle = 0.0
    turns: Pure = 1.0
    clockwise: bool = False

    def __post_init__(self) -> None:
        check_fields(self, radius=positive, center=point, start_angle=number, turns=positive)

    def position(self, p: ca.SX) -> ca.SX:
        """Center + R (cos, sin) of the angle turned."""
        angle = _turned(self.start_angle, p, self.clockwise)
        return _around(self.center, self.radius, self.radius, angle)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc(AbstractPath):
    """An arc about `center` over `angle` rad, positive to the left; the parameter is arc length."""

    word = "arc"

    center: Point
    radius: float
    start_angle: Angle
    angle: Angle

    def __post_init__(self) -> None:
        check_fields(self, center=point, radius=positive, start_angle=number, angle=number)
        if self.angle == 0:
            raise SimulationError(
                "angle is 0, so the arc is a point", "Arc", "give an angle in rad: angle=1.57"
            )

    def position(self, p: ca.SX) -> ca.SX:
        """Center + R (cos, sin) of the angle turned."""
        angle = self.start_angle + p * math.copysign(1 / self.radius, self.angle)
        return _around(self.center, self.radius, self.radius, angle)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, self.radius * abs(self.angle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipse(AbstractPath):
    """An ellipse about `center`, `turns` times round; the parameter is the eccentric anomaly.

    It starts at center + (half_width cos start_angle, half_height sin start_angle), to the left
    unless `clockwise`.
    """

    word = "ellipse"
    typical = {"half_width": 6.0, "half_height": 3.0}

    half_width: float
    half_height: float
    center: Point = (0.0, 0.0)
    start_angle: Angle = 0.0
    turns: Pure = 1.0
    clockwise: bool = False

    def __post_init__(self) -> None:
        check_fields(
            self,
            half_width=positive,
            half_height=positive,
            center=point,
            start_angle=number,
            turns=positive,
        )

    def position(self, p: ca.SX) -> ca.SX:
        """Center + (a cos, b sin) of the anomaly."""
        angle = _turned(self.start_angle, p, self.clockwise)
        return _around(self.center, self.half_width, self.half_height, angle)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureEight(AbstractPath):
    """Gerono's lemniscate, from its crossing: x = a sin p, y = b sin 2p about the center.

    The eight lies along x, 2 a wide and 2 b high. The right loop comes first, clockwise; with
    b < 0, counter-clockwise.
    """

    word = "figure-eight"
    typical = {"half_width": 6.0, "half_height": 3.0}

    half_width: float
    half_height: float
    center: Point = (0.0, 0.0)
    turns: Pure = 1.0

    def __post_init__(self) -> None:
        check_fields(self, half_width=positive, half_height=number, center=point, turns=positive)
        if self.half_height == 0:
            raise SimulationError(
                "half_height is 0, so the path turns back on itself at its ends",
                "FigureEight",
                "give half_height a positive or a negative number",
            )

    def position(self, p: ca.SX) -> ca.SX:
        """Center + (a sin p, b sin 2p)."""
        x, y = self.center
        return ca.vertcat(x + self.half_width * ca.sin(p), y + self.half_height * ca.sin(2 * p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Catenary(AbstractPath):
    """The catenary x = x0 cosh(y/x0) from its vertex (x0, 0); the parameter is arc length s.

    x = √(s² + x0²), y = x0 asinh(s/x0), κ = −x0/(s² + x0²) [AntunesSigaudMoraes2010].
    """

    word = "catenary"
    typical = {"x0": 10.0, "extent": 24.0}

    x0: float
    extent: float

    def __post_init__(self) -> None:
        check_fields(self, x0=positive, extent=positive)

    def position(self, p: ca.SX) -> ca.SX:
        """(√(s² + x0²), x0 asinh(s/x0))."""
        return ca.vertcat(ca.sqrt(p * p + self.x0**2), self.x0 * ca.asinh(p / self.x0))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The vertex and the end."""
        return 0.0, self.extent


@dataclass(frozen=True, slots=True, kw_only=True)
class Sine(AbstractPath):
    """y = amplitude · sin(wave_number · x) from x = 0 to `extent`; the parameter is x."""

    word = "sine"
    typical = {"amplitude": 2.0, "wave_number": 0.5, "extent": 24.0}

    amplitude: float
    wave_number: WaveNumber
    extent: float

    def __post_init__(self) -> None:
        check_fields(self, amplitude=number, wave_number=number, extent=positive)

    def position(self, p: ca.SX) -> ca.SX:
        """(x, A sin kx)."""
        return ca.vertcat(p, self.amplitude * ca.sin(self.wave_number * p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The start and the end."""
        return 0.0, self.extent


def _turned(start: float, p: ca.SX, clockwise: bool) -> ca.SX:
    return start - p if clockwise else start + p


def _around(center: Point, a: float, b: float, angle: ca.SX) -> ca.SX:
    return ca.vertcat(center[0] + a * ca.cos(angle), center[1] + b * ca.sin(angle))


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(AbstractPath):
    """y given as an expression of ``x`` from x = `start` to x = `end`; the parameter is x.

    With `end` below `start` the path runs in the direction of falling x.
    """

    word = "graph"

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

    word = "parametric"

    x: str
    y: str
    start: Pure
    end: Pure

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
    return ca.SX(evaluate(parse(text), {name: value}, ca))


def _check(text: str, name: str, where: str) -> None:
    """Refuse what cannot be read and names other than the one that is free."""
    if not isinstance(text, str):
        raise SimulationError(
            f"{text!r} is not text", where, f"write an expression of {name}: '0.5*sin({name})'"
        )
    try:
        tree = parse(text)
    except ExpressionError as error:
        raise SimulationError(
            f"expression '{text}' cannot be read: {error}",
            where,
            f"write arithmetic of {name}, such as '0.5*sin({name})'",
        ) from None
    unknown = sorted(names_in(tree) - {name} - set(CONSTANTS))
    if unknown:
        raise SimulationError(
            f"expression '{text}' uses '{unknown[0]}', which is not known",
            where,
            nearest(unknown[0], (name, *CONSTANTS)),
        )

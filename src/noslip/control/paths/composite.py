"""Paths made of paths: one after the other, or backwards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from noslip.base import SimulationError
from noslip.control.paths.arc_length import evaluate, length
from noslip.control.paths.base import AbstractPath, assign, curvature, heading, place
from noslip.control.paths.selection import choose

TOLERANCE = 1e-6  # m, rad and 1/m, at the joints


@dataclass(frozen=True, slots=True)
class Composite(AbstractPath):
    """Paths one after the other, each starting where and in the direction in which the last ended.

    Or in the opposite direction: this is a cusp, where a vehicle stops and drives the other way.

    The parameter runs on each of them from 0 to its length, in proportion to its own parameter.

    Parameters
    ----------
    paths : in the order in which they are driven.
    smooth_curvature : require that the curvature does not jump from one to the next.
    """

    paths: tuple[AbstractPath, ...]
    smooth_curvature: bool = False

    def __post_init__(self) -> None:
        assign(self, paths=tuple(self.paths))
        if not self.paths:
            raise SimulationError(
                "no paths are given", "Composite(paths=…)", "give at least one path"
            )
        for k in range(len(self.paths) - 1):
            _check_joint(self, k)

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the parameter p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the parameter p of the path that holds at `near`."""
        starts = _starts(self)
        last = len(self.paths) - 1
        columns = []
        for k, path in enumerate(self.paths):
            a, b = path.interval
            rate = (b - a) / (starts[k + 1] - starts[k])
            here, there = (a + (x - starts[k]) * rate for x in (p, near))
            # elsewhere its middle, so that nothing is evaluated where it is not defined
            if k > 0:
                here = ca.if_else(near < starts[k], (a + b) / 2, here)
            if k < last:
                here = ca.if_else(near < starts[k + 1], here, (a + b) / 2)
            columns.append(path.position_near(here, there))
        return choose(near, starts[:-1], columns)

    def of_order(self, order: int) -> AbstractPath:
        """With paths that are so smooth, where they leave it open."""
        smooth = tuple(path.of_order(order) for path in self.paths)
        if all(a is b for a, b in zip(smooth, self.paths, strict=True)):
            return self
        return Composite(smooth, self.smooth_curvature)

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """Paths between cusps, put together."""
        found: list[list[AbstractPath]] = []
        before: AbstractPath | None = None
        for path in (part for own in self.paths for part in own.parts):
            if before is None or _is_cusp(before, path):
                found.append([])
            found[-1].append(path)
            before = path
        return tuple(g[0] if len(g) == 1 else Composite(tuple(g)) for g in found)

    @property
    def cusps(self) -> tuple[float, ...]:
        """Cusps of all paths and between them."""
        starts, result = _starts(self), []
        for k, path in enumerate(self.paths):
            a, b = path.interval
            scale = (starts[k + 1] - starts[k]) / (b - a)
            result += [starts[k] + (inner - a) * scale for inner in path.cusps]
            if k + 1 < len(self.paths) and _is_cusp(path, self.paths[k + 1]):
                result.append(starts[k + 1])
        return tuple(result)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of all paths."""
        starts = _starts(self)
        result = [0.0]
        for k, path in enumerate(self.paths):
            a, b = path.interval
            scale = (starts[k + 1] - starts[k]) / (b - a)
            result += [starts[k] + (inner - a) * scale for inner in path.breaks[1:-1]]
            result.append(starts[k + 1])
        return tuple(result)


@dataclass(frozen=True, slots=True)
class Reversed(AbstractPath):
    """A path driven from its end to its start; its curvature changes sign."""

    path: AbstractPath

    def position(self, p: ca.SX) -> ca.SX:
        """The point of the path at the mirrored parameter."""
        a, b = self.path.interval
        return self.path.position(a + b - p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the mirrored parameter of the piece at the mirrored `near`."""
        a, b = self.path.interval
        return self.path.position_near(a + b - p, a + b - near)

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """Parts of the path, each from its end to its start."""
        parts = self.path.parts
        return (self,) if len(parts) == 1 else tuple(Reversed(part) for part in parts[::-1])

    @property
    def cusps(self) -> tuple[float, ...]:
        """Cusps of the path, mirrored."""
        a, b = self.path.interval
        return tuple(a + b - p for p in self.path.cusps[::-1])

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of the path, mirrored."""
        a, b = self.path.interval
        inner = [a + b - p for p in self.path.breaks[-2:0:-1]]
        return (a, *inner, b)


def reversed_path(path: AbstractPath) -> AbstractPath:
    """`path` from its end to its start; reversed again, it is the path itself."""
    return path.path if isinstance(path, Reversed) else Reversed(path)


@lru_cache(maxsize=64)
def _starts(composite: Composite) -> tuple[float, ...]:
    """Arc lengths at which the paths start, and of the end."""
    lengths = [length(path) for path in composite.paths]
    return tuple(float(s) for s in np.concatenate([[0.0], np.cumsum(lengths)]))


def _check_joint(composite: Composite, k: int) -> None:
    """Refuse a step from path k to the next."""
    before, after = composite.paths[k], composite.paths[k + 1]
    x0, y0, heading0, kappa0 = _end(before, 1)
    x1, y1, heading1, kappa1 = _end(after, 0)
    where = (
        f"Composite, from paths[{k}] ({type(before).__name__}) to paths[{k + 1}] "
        f"({type(after).__name__}), {place((x0, y0))}"
    )
    gap = math.dist((x0, y0), (x1, y1))
    if not gap <= TOLERANCE:
        raise SimulationError(
            f"the path jumps by {gap:.4g} m, to {place((x1, y1))}",
            where,
            f"start paths[{k + 1}] where paths[{k}] ends",
        )
    turn = math.remainder(heading1 - heading0, 2 * math.pi)
    is_cusp = abs(abs(turn) - math.pi) <= TOLERANCE
    if not abs(turn) <= TOLERANCE and not is_cusp:
        raise SimulationError(
            f"the heading jumps by {math.degrees(turn):.4g}°, from {heading0:.6g} to "
            f"{heading0 + turn:.6g} rad",
            where,
            f"let paths[{k + 1}] start along the end of paths[{k}] or against it, or put an Arc "
            "between them",
        )
    if is_cusp:
        kappa1 = -kappa1  # as the vehicle sees it, which drives the other way
    if composite.smooth_curvature and not abs(kappa1 - kappa0) <= TOLERANCE:
        raise SimulationError(
            f"the curvature jumps by {kappa1 - kappa0:.4g} 1/m, from {kappa0:.6g} to {kappa1:.6g}",
            where,
            "put a Clothoid from the one curvature to the other between them",
        )


@lru_cache(maxsize=256)
def _is_cusp(before: AbstractPath, after: AbstractPath) -> bool:
    """Whether a path goes back where another one ends."""
    (*_, ahead, _), (*_, back, _) = _end(before, 1), _end(after, 0)
    return math.cos(back - ahead) < 0


def _end(path: AbstractPath, which: int) -> Iterator[float]:
    """x, y, heading and curvature at the start (0) or the end (1)."""
    p = ca.SX.sym("p")
    rows = ca.vertcat(path.position(p), heading(path, p), curvature(path, p))
    return iter(evaluate(ca.Function("end", [p], [rows]), np.array([path.interval[which]]))[:, 0])

"""The search for a steady motion: its conditions, their derivatives, and Gauss–Newton steps.

With y = (c, ζ, inputs searched for) and F(y) the conditions (1) to (4) of `steady.py`, a step is
the least one, in lengths of the model and radians, that makes F + (∂F/∂y) δy as small as possible.
It is halved until |F| falls. Accelerations enter F by a mass matrix that is held fixed over a step,
so that the derivatives are exact and |F| does fall.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.analysis.steadiness import Point, Relevance
from noslip.engines.system import Array
from noslip.errors import SimulationError

#: Largest |ζ̇|, |ċ|, |g| and miss of a given value (m, rad, s) that a steady motion may leave.
TOLERANCE = 1e-10
_MOST_STEPS = 100
#: How far the search is moved aside where it gets stuck, try by try, in m, rad and s.
_ASIDE = (0.1, 0.3, 1.0, 3.0)
#: Places of ċ, v and η among what a chart evaluates.
_RATE, _SPEED, _INDEPENDENT, _COORDINATE = 1, 3, 4, -1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that the motion must have: in which part of the chart, where there, and the value."""

    part: int
    place: int
    value: float

    @property
    def is_speed(self) -> bool:
        """Whether it says something about the speeds."""
        return self.part != _COORDINATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is to be met: coordinates and rows that matter, values wanted, inputs searched for."""

    relevant: Relevance
    wanted: tuple[Wanted, ...]
    searched: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """Where a search has come to: the conditions there and their derivatives by y.

    Parameters
    ----------
    mass : mass matrix ∂r/∂ζ̇ at the point.
    r, r_y : the equations of motion at ζ̇ = 0.
    rest, rest_y : (2) to (4).
    """

    point: Point
    mass: Array
    r: Array
    r_y: Array
    rest: Array
    rest_y: Array

    def F(self, mass: Array | None = None) -> Array:
        """(1) to (4), accelerations by this mass matrix or by another that is held fixed."""
        rates = -np.linalg.solve(self.mass if mass is None else mass, self.r)
        return np.concatenate([rates, self.rest])

    def J(self) -> Array:
        """∂F/∂y at a fixed mass matrix; at a solution that of F itself."""
        return np.vstack([-np.linalg.solve(self.mass, self.r_y), self.rest_y])

    @property
    def is_found(self) -> bool:
        """Whether the conditions hold, as well as rounding lets them at these speeds."""
        size = max(1.0, float(np.max(np.abs(self.point.zeta), initial=0.0)) ** 2)
        return bool(np.max(np.abs(self.F()), initial=0.0) <= TOLERANCE * size)


def find_wanted(point: Point, given: Mapping[str, float]) -> tuple[Wanted, ...]:
    """The given values, each where it is found in the chart."""
    system, chart = point.system, point.chart
    places = {
        _COORDINATE: {c.name: k for k, c in enumerate(chart.coordinates)},
        _RATE: chart.coordinate_rates,
        _SPEED: {s.name: k for k, s in enumerate(system.speeds)},
        _INDEPENDENT: {s.name: k for k, s in enumerate(system.independent_speeds)},
    }
    wanted = []
    for name, value in given.items():
        part = next((part for part, names in places.items() if name in names), None)
        if part is None:
            angles = ", ".join(rate.removesuffix("_rate") for rate in chart.coordinate_rates)
            raise SimulationError(
                f"'{name}' cannot be held: orientations are written in {angles} here",
                f"steady motion of model '{system.model.name}'",
                "give these, or a guess where the named angles are regular",
            )
        wanted.append(Wanted(part, places[part][name], float(value)))
    return tuple(wanted)


def least_speeds(point: Point, wanted: Sequence[Wanted]) -> Point:
    """The point with the wanted speeds, as far as they go, and the others as small as possible."""
    speeds = [w for w in wanted if w.is_speed]
    if not speeds:
        return point
    rest = dataclasses.replace(point, zeta=np.zeros(len(point.zeta)))
    values, (_, by_zeta, _) = rest.values(), rest.derivatives()
    rows = np.array([by_zeta[w.part][w.place] for w in speeds])
    miss = np.array([w.value - values[w.part][w.place] for w in speeds])
    zeta = np.asarray(np.linalg.lstsq(rows, miss, rcond=1e-10)[0], dtype=float)
    return dataclasses.replace(point, zeta=zeta)


def search(point: Point, problem: Problem) -> Solution:
    """The best that is found from a point, and from places aside if it leads nowhere."""
    rng = np.random.default_rng(11)
    best = _descend(point, problem)
    speeds = range(len(point.c), len(point.c) + len(point.zeta))
    free = [*problem.relevant.coordinates, *speeds]
    for aside in _ASIDE:
        if best.is_found:
            break
        step = np.zeros(len(point.c) + len(point.zeta) + len(problem.searched))
        step[free] = aside * rng.normal(size=len(free))
        tried = _descend(_moved(point, step, problem), problem)
        if not np.linalg.norm(best.F()) <= np.linalg.norm(tried.F()):
            best = tried
    return best


def _descend(point: Point, problem: Problem) -> Solution:
    """Where steps of least length end."""
    scale = _scale(point, problem)
    now = _conditions(point, problem)
    inputs = len(scale) - len(problem.searched)
    for _ in range(_MOST_STEPS):
        F, J = now.F(), now.J()
        if not np.all(np.isfinite(F)):
            break
        scale[inputs:] = 1.0 / np.maximum(np.linalg.norm(J[:, inputs:], axis=0), 1e-12)
        step = scale * np.linalg.lstsq(J * scale, -F, rcond=1e-11)[0]
        longest = float(np.max(np.abs(step[: len(point.c)]), initial=0.0))
        step *= min(1.0, 0.5 / max(longest, 1e-300))
        better = _shorter(now, step, problem, 1 if now.is_found else 30)
        if better is None:
            break
        now = better
    return now


def _shorter(now: Solution, step: Array, problem: Problem, tries: int) -> Solution | None:
    """The first of step, step/2, step/4, … that makes |F| smaller, by the same mass matrix."""
    size = np.linalg.norm(now.F())
    for k in range(tries):
        trial = _conditions(_moved(now.point, step / 2**k, problem), problem)
        if np.linalg.norm(trial.F(now.mass)) < size:
            return trial
    return None


def _scale(point: Point, problem: Problem) -> Array:
    """What counts as a step of 1 in each unknown."""
    length = point.system.kinematics.length
    units = [q.unit for q in (*point.chart.coordinates, *point.chart.speeds)]
    lengths = [length if unit in ("m", "m/s") else 1.0 for unit in units]
    return np.array(lengths + [1.0] * len(problem.searched))


def _conditions(point: Point, problem: Problem) -> Solution:
    """(1) to (4) and their derivatives."""
    values = point.values()
    r, cdot, g, _, _, mass = values
    by_c, by_zeta, by_inputs = point.derivatives()
    inputs = list(problem.searched)
    by_y = [
        np.hstack([a, b, c[:, inputs]]) for a, b, c in zip(by_c, by_zeta, by_inputs, strict=True)
    ]
    keep = list(problem.relevant.coordinates)
    rows, miss = [], []
    for w in problem.wanted:
        if w.is_speed:
            rows.append(by_y[w.part][w.place])
            miss.append(values[w.part][w.place] - w.value)
        else:
            rows.append(np.eye(1, by_y[0].shape[1], w.place)[0])
            miss.append(point.c[w.place] - w.value)
    return Solution(
        point=point,
        mass=mass,
        r=r,
        r_y=by_y[0],
        rest=np.concatenate([cdot[keep], g, miss]),
        rest_y=np.vstack([by_y[1][keep], by_y[2], *rows]),
    )


def _moved(point: Point, step: Array, problem: Problem) -> Point:
    num_c, num_z = len(point.c), len(point.zeta)
    inputs = point.inputs.copy()
    inputs[list(problem.searched)] += step[num_c + num_z :]
    return dataclasses.replace(
        point,
        c=point.c + step[:num_c],
        zeta=point.zeta + step[num_c : num_c + num_z],
        inputs=inputs,
    )

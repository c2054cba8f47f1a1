"""Eigenvalues of small motions over a range of a speed, a start value, an input or a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.analysis.linearization import (
    Linearization,
    StateInputs,
    depends_on_state,
    linearize,
    linearize_batch,
)
from noslip.analysis.modes import SweptMode, neutral_bound, state_groups
from noslip.analysis.scenario import split_changes
from noslip.analysis.steady_motion import steady, steady_batch
from noslip.base import Array, SimulationError, nearest, real_array
from noslip.engines import System, require_system
from noslip.expressions import CONSTANTS, ExpressionError, names_in, nominal, parse
from noslip.model import NamedMode
from noslip.simulation import AbstractInputLaw, Start, units_by_name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EigenvalueSweep:
    """Eigenvalues against a value that is changed. Made by :func:`sweep_eigenvalues`."""

    model: str
    #: name, unit: name and unit of the quantity that is changed
    name: str
    unit: str
    values: Array  #: (n,)
    states: tuple[str, ...]  #: names of the states that the eigenvalues belong to
    eigenvalues: NDArray[np.complex128]  #: (n, nx) 1/s, at each value those that grow fastest first
    growing: np.ndarray  #: (n,) whether a small motion grows
    limits: tuple[float, ...]  #: values at which that changes
    #: (n, nx, nx) a column for each eigenvalue; empty where they are not known
    eigenvectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)
    groups: tuple[str, ...] = ()  #: coordinate that each state counts to in a mode
    named_modes: tuple[NamedMode, ...] = ()  #: names that the model gives to modes

    @property
    def modes(self) -> tuple[SweptMode, ...]:
        """Eigenvalues followed over the values, each mode with its name."""
        groups = self.groups or self.states
        return SweptMode.follow(
            self.values, self.eigenvalues, self.eigenvectors, groups, self.named_modes
        )

    @property
    def stable_ranges(self) -> tuple[tuple[float, float], ...]:
        """Ranges of the value in which no small motion grows."""
        ends = [float(self.values[0]), *self.limits, float(self.values[-1])]
        stable, ranges = not self.growing[0], []
        for low, high in pairwise(ends):
            if stable:
                ranges.append((low, high))
            stable = not stable
        return tuple(ranges)

    def text(self) -> str:
        """The sweep for people: a few lines of it, and where it is stable."""
        few = np.unique(np.linspace(0, len(self.values) - 1, 11).round().astype(int))
        modes, bound = self.modes, SweptMode.rounding(self.eigenvalues)
        lines = [
            f"{self.model}: eigenvalues [1/s] over {self.name} [{self.unit}]",
            f"  states {', '.join(self.states)}",
        ]
        lines += [f"  {m.words(self.values, self.limits, bound, self.unit)}" for m in modes]
        heads = [mode.name or f"mode {k + 1}" for k, mode in enumerate(modes)]
        columns = [[", ".join(_shown(mode.eigenvalues[k])) for k in few] for mode in modes]
        wide = [max(map(len, [head, *column])) for head, column in zip(heads, columns, strict=True)]
        titles = "  ".join(f"{head:<{w}}" for head, w in zip(heads, wide, strict=True))
        left = max(len(self.name), 9)
        lines.append(f"  {self.name:>{left}}            {titles}".rstrip())
        for row, k in enumerate(few):
            shown = "  ".join(f"{c[row]:<{w}}" for c, w in zip(columns, wide, strict=True))
            word = "unstable" if self.growing[k] else "stable"
            lines.append(f"  {self.values[k]:>{left}.4g}  {word:<8}  {shown}".rstrip())
        if ends := self._limits_of_modes(modes):
            lines.append(f"  limits: {ends}")
        lines.append(f"  stable: {self._where_stable()}")
        return "\n".join(lines)

    def _limits_of_modes(self, modes: Sequence[SweptMode]) -> str:
        """Each limit with the mode that begins or ends to grow there."""
        found = []
        for limit in self.limits:
            k = min(int(np.searchsorted(self.values, limit)), len(self.values) - 1)
            near = slice(max(k - 1, 0), k + 1)
            names = [
                mode.name
                for mode in modes
                if mode.name
                and len(set(np.max(mode.eigenvalues[near].real, axis=1) > 0)) == 2
                and np.max(np.abs(mode.eigenvalues[near].real)) > neutral_bound(self.eigenvalues)
            ]
            who = f" ({' or '.join(names)})" if names else ""
            found.append(f"{limit:.10g} {self.unit}{who}")
        return ", ".join(found)

    def plot(self, **options: Any) -> Any:
        """Real and imaginary parts over the changed value; see :func:`noslip.plot`."""
        import noslip

        return noslip.plot(self, **options)

    def _where_stable(self) -> str:
        """Ranges in words. Between two unstable values nothing is known, so none is ruled out."""
        ranges = [f"{low:.10g} to {high:.10g} {self.unit}" for low, high in self.stable_ranges]
        return " and ".join(ranges) or f"at none of these {len(self.values)} values"

    def __repr__(self) -> str:
        return (
            f"EigenvalueSweep of '{self.model}' over {len(self.values)} values of {self.name}, "
            f"{self.values[0]:g} to {self.values[-1]:g} {self.unit}; "
            f"stable: {self._where_stable()}\n"
            "next: .text(), .eigenvalues, .limits, .plot()"
        )

    def to_json(self) -> dict[str, object]:
        """Plain numbers and lists; an eigenvalue is [real, imaginary]."""
        return {
            "model": self.model,
            "name": self.name,
            "unit": self.unit,
            "values": self.values.tolist(),
            "states": list(self.states),
            "eigenvalues": [[[e.real, e.imag] for e in row] for row in self.eigenvalues.tolist()],
            "growing": self.growing.tolist(),
            "limits": list(self.limits),
            "stable_ranges": [list(r) for r in self.stable_ranges],
            "modes": [
                {
                    "name": mode.name,
                    "participation": mode.participation,
                    "eigenvalues": [[[e.real, e.imag] for e in row] for row in mode.eigenvalues],
                }
                for mode in self.modes
            ],
        }


def sweep_eigenvalues(
    system: System,
    name: str,
    values: Sequence[float] | Array,
    *,
    about: Mapping[str, float] | None = None,
    inputs: StateInputs | None = None,
    parameters: Mapping[str, float] | None = None,
    tied: Mapping[str, str] | None = None,
    guess: Mapping[str, float] | None = None,
    search: bool = False,
    find: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
    time: float = 0.0,
) -> EigenvalueSweep:
    """Compute eigenvalues of the linearization at each value, and where stability changes.

    Parameters
    ----------
    system : compiled system.
    name : quantity that is changed: a speed, a coordinate or an angle of the steady motion, an
        input, or a parameter.
    values : increasing.
    about, inputs, parameters, guess, time : arguments of :func:`linearize`; a search takes inputs
        that are numbers.
    tied : further names that change along → expressions of `name` and parameters, such as
        ``{"front_mass": "2*rear_mass"}`` in a sweep of ``rear_mass``.
    search : whether :func:`steady` finds a steady motion with the values of `about` and of `name`,
        each from the one before; by default these must be all that a steady motion needs.
    find : inputs to be found, as in :func:`steady`.
    progress : function called with the fraction done.

    Raises
    ------
    SimulationError : as :func:`linearize` and :func:`steady` do, with the value at which; for
        values that do not increase; and for a name that is given a value besides.
    """
    require_system("sweep_eigenvalues", system)
    points = _checked(system, name, values)
    law = inputs if isinstance(inputs, AbstractInputLaw) else None
    forces_given = {} if isinstance(inputs, AbstractInputLaw) else dict(inputs or {})
    for changed in (name, *(tied or {})):
        if any(changed in (given or {}) for given in (about, forces_given, parameters)):
            raise SimulationError(
                f"'{changed}' is both swept and given a value",
                f"sweep of model '{system.model.name}'",
                "leave out the value",
            )
    ties = _ties(system, name, tied or {}, parameters or {})
    if search and (law is not None or depends_on_state(forces_given)):
        raise SimulationError(
            "a search for a steady motion needs inputs that do not depend on the state",
            f"sweep of model '{system.model.name}'",
            "give the inputs that maintain it as numbers, or leave out search",
        )
    if find and not search:
        where, fix = f"sweep of model '{system.model.name}'", "give search=True, or leave find out"
        raise SimulationError("inputs to be found are named without a search", where, fix)
    before: Start | None = None

    def at(value: float) -> Linearization:
        nonlocal before
        changes = {name: value} | {other: tie(value) for other, tie in ties.items()}
        split = split_changes(system, changes)
        where = {**(about or {}), **split.start}
        values_of = {**(parameters or {}), **split.parameters}
        given = {**forces_given, **split.inputs}
        if not search:
            acting: StateInputs = given if law is None else law
            return linearize(
                system, where, inputs=acting, parameters=values_of, guess=guess, time=time
            )
        motion = steady(
            system,
            where,
            guess=before if before is not None else guess,
            find=find,
            inputs=given,
            parameters=values_of,
            time=time,
        )
        before = motion.start
        return linearize(system, motion.start, inputs=motion.inputs, parameters=values_of)

    spectra = None
    if not (search or guess or law is not None or depends_on_state(forces_given)):
        changes = {name: points} | {
            o: np.array([tie(x) for x in points]) for o, tie in ties.items()
        }
        spectra = _together(
            system, changes, about or {}, forces_given, parameters or {}, time, progress
        )
    if spectra is None:
        spectra = _one_by_one(system, name, points, at, progress)
    states, groups, eigenvalues, vectors = spectra
    neutral = min(_num_neutral(row) for row in eigenvalues)
    growing = np.array([_growth(row, neutral) > neutral_bound(row) for row in eigenvalues])
    limits = [
        _limit(lambda x: at(x).eigenvalues, neutral, float(points[k]), float(points[k + 1]))
        for k in range(len(points) - 1)
        if growing[k] != growing[k + 1]
    ]
    return EigenvalueSweep(
        model=system.model.name,
        name=name,
        unit=_unit(system, name),
        values=points,
        states=states,
        eigenvalues=eigenvalues,
        growing=growing,
        limits=tuple(limits),
        eigenvectors=vectors,
        groups=groups,
        named_modes=system.model.modes,
    )


#: Names of states and what they count to, (n, nx) eigenvalues and (n, nx, nx) vectors.
Spectra = tuple[tuple[str, ...], tuple[str, ...], np.ndarray, np.ndarray]


class SteadyGrowth(NamedTuple):
    """What grows fastest of small motions about n steady motions."""

    #: growth, frequency: (n,) 1/s and rad/s of the eigenvalue; nan where no motion is steady
    growth: Array
    frequency: Array
    is_stable: NDArray[np.bool_]  #: (n,)
    messages: tuple[str, ...]  #: reasons why motions are not steady


def steady_growth(
    system: System,
    grid: Mapping[str, Array],
    *,
    about: Mapping[str, float] | None = None,
    search: bool = False,
    guess: Mapping[str, float] | None = None,
    find: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> SteadyGrowth:
    """Growth of small motions about steady motions at n sets of values, all at once.

    Eigenvalues that are zero everywhere belong to a family of motions, and do not count.

    Parameters
    ----------
    grid : n values by name: parameters, inputs and start values.
    about : further values of all the motions; they must be all that these need, unless `search`.
    search, guess, find : whether steady motions are searched for, and how, as `steady_batch` does.

    Raises
    ------
    SimulationError : a search finds none.
    """
    split = split_changes(system, dict.fromkeys(grid, 0.0))
    state: dict[str, Any] = {**(about or {}), **{n: grid[n] for n in split.start}}
    forces: dict[str, Any] = {**(inputs or {}), **{n: grid[n] for n in split.inputs}}
    numbers: dict[str, Any] = {**(parameters or {}), **{n: grid[n] for n in split.parameters}}
    count = max(map(len, grid.values()))
    which = np.arange(count)
    if search:
        motions = steady_batch(
            system,
            state,
            guess=guess,
            find=find,
            inputs=forces,
            parameters=numbers,
            time=time,
            count=count,
            progress=None if progress is None else lambda part: progress(0.7 * part),
            cancel=cancel,
        )
        which = np.flatnonzero(motions.is_found)
        if not which.size:
            raise SimulationError(
                next(iter(motions.messages.values()), "no point has a steady motion"),
                f"steady motions of model '{system.model.name}'",
                "give a guess, or other ranges",
            )
        named = units_by_name(system)
        state = {n: v[which] for n, v in motions.values.items() if n in named}
        forces = {n: _taken(v, which) for n, v in (forces | motions.inputs).items()}
        numbers = {n: _taken(v, which) for n, v in numbers.items()}
    found = linearize_batch(
        system,
        state,
        inputs=forces,
        parameters=numbers,
        count=len(which),
        time=time,
        progress=None
        if progress is None
        else lambda part: progress(0.7 + 0.3 * part if search else part),
        cancel=cancel,
    )
    growth, frequency = np.full(count, np.nan), np.full(count, np.nan)
    is_stable = np.zeros(count, bool)
    known = np.flatnonzero(found.is_steady)
    spectra = found.eigenvalues[known]
    if spectra.size:
        least = np.array([neutral_bound(row) for row in spectra])
        neutral = int(np.min(np.sum(np.abs(spectra) <= least[:, None], axis=1)))
        order = np.argsort(np.abs(spectra), axis=1)[:, neutral:]
        others = np.take_along_axis(spectra, order, axis=1)
        growth[which[known]] = frequency[which[known]] = 0.0
        if others.shape[1]:
            first = others[np.arange(len(known)), np.argmax(others.real, axis=1)]
            growth[which[known]], frequency[which[known]] = first.real, np.abs(first.imag)
        is_stable[which[known]] = growth[which[known]] <= least
    return SteadyGrowth(growth, frequency, is_stable, tuple(found.messages.values()))


def _taken(values: Any, which: NDArray[np.intp]) -> Any:
    """Those of some motions, of values that may be one number for all."""
    return values[which] if np.ndim(values) else values


def _one_by_one(
    system: System,
    name: str,
    points: Array,
    at: Callable[[float], Linearization],
    progress: Callable[[float], None] | None,
) -> Spectra:
    """Eigenvalues at each value by a linearization of its own."""
    lines = []
    for k, value in enumerate(points):
        try:
            lines.append(at(float(value)))
        except SimulationError as error:
            here = f"{error.where}, at {name} = {value:.6g} {_unit(system, name)}".rstrip()
            raise SimulationError(error.what, here, error.fix) from error
        if progress is not None:
            progress((k + 1) / len(points))
    first = lines[0]
    states = tuple(s.name for s in first.states)
    groups = state_groups(
        _generic([x.A for x in lines]), [c.name for c in first.coordinates], states
    )
    eigenvalues = np.array([line.eigenvalues for line in lines])
    return states, groups, eigenvalues, np.array([line.eigenvectors for line in lines])


def _generic(matrices: Sequence[Array] | Array) -> Array:
    """Entries as far from zero as they get: one that vanishes at one value alone is there."""
    return np.asarray(np.max(np.abs(matrices), axis=0))


def _together(
    system: System,
    changes: Mapping[str, Array],
    about: Mapping[str, float],
    inputs: Mapping[str, Any],
    parameters: Mapping[str, float],
    time: float,
    progress: Callable[[float], None] | None,
) -> Spectra | None:
    """The same by `linearize_batch`; None where one by one says more, as of a motion not steady."""
    split = split_changes(system, dict.fromkeys(changes, 0.0))
    start, forces, numbers = (
        {name: changes[name] for name in group}
        for group in (split.start, split.inputs, split.parameters)
    )
    try:
        found = linearize_batch(
            system,
            {**about, **start},
            inputs={**inputs, **forces},
            parameters={**parameters, **numbers},
            keep=("eigenvalues", "A"),
            time=time,
            progress=progress,
        )
    except SimulationError:
        return None
    if found.others or not found.is_steady.all():
        return None
    states = tuple(s.name for s in found.states)
    coordinates = states[: len(states) - len(system.independent_speeds)]
    values, vectors = np.linalg.eig(found.A)
    order = np.lexsort((-values.imag, -values.real), axis=1)
    return (
        states,
        state_groups(_generic(found.A), coordinates, states),
        np.take_along_axis(values, order, axis=1).astype(complex),
        np.take_along_axis(vectors, order[:, None, :], axis=2),
    )


def _checked(system: System, name: str, values: Sequence[float] | Array) -> Array:
    """The values as an array, if they are finite numbers that increase."""
    where = f"sweep of model '{system.model.name}'"
    split_changes(system, {name: 0.0})  # an unknown name is refused first
    try:
        points = real_array(values)
    except (TypeError, ValueError, OverflowError):
        raise SimulationError(
            f"the values of '{name}' are {values!r:.60}, which are not numbers",
            where,
            "give a list of numbers, such as numpy.linspace(0, 10, 101)",
        ) from None
    if not np.all(np.isfinite(points)):
        raise SimulationError(
            f"a value of '{name}' is not a finite number", where, "give finite numbers"
        )
    if points.ndim != 1 or len(points) < 2 or not np.all(np.diff(points) > 0):
        raise SimulationError(
            f"the values of '{name}' do not increase",
            where,
            "give at least two values, each larger than the one before",
        )
    return points


def _ties(
    system: System, name: str, tied: Mapping[str, str], parameters: Mapping[str, float]
) -> dict[str, Callable[[float], float]]:
    """Values of the tied names as functions of the swept value."""
    where = f"sweep of model '{system.model.name}'"
    split_changes(system, dict.fromkeys(tied, 0.0))  # unknown names are refused first
    known = system.model.parameter_values() | dict(parameters)
    found: dict[str, Callable[[float], float]] = {}
    for other, text in tied.items():
        if other == name:
            raise SimulationError(
                f"'{name}' is tied to itself", where, "tie other names to the swept one"
            )
        try:
            tree = parse(text)
        except (ExpressionError, TypeError) as error:
            raise SimulationError(
                f"'{other}' is tied to {text!r:.60}, which cannot be read: {error}",
                where,
                f"write an expression of '{name}' and parameters",
            ) from error
        allowed = {name, *known} - set(tied)
        for used in sorted(names_in(tree) - allowed - set(CONSTANTS)):
            raise SimulationError(
                f"'{other}' is tied to {text!r}, which uses '{used}'",
                where,
                f"use '{name}' and parameters that are not tied; {nearest(used, sorted(allowed))}",
            )

        def tie(value: float, text: str = text) -> float:
            return nominal(text, {**known, name: value})

        found[other] = tie
    return found


def _unit(system: System, name: str) -> str:
    """Unit of a name that :func:`split_changes` knows."""
    units = {p.name: p.unit for p in system.model.parameters}
    for quantities in (system.coordinates, system.speeds, system.independent_speeds, system.inputs):
        units |= {quantity.name: quantity.unit for quantity in quantities}
    return units.get(name, "rad/s" if name.endswith("_rate") else "rad")


def _num_neutral(eigenvalues: np.ndarray) -> int:
    return int(np.sum(np.abs(eigenvalues) <= neutral_bound(eigenvalues)))


def _growth(eigenvalues: np.ndarray, neutral: int) -> float:
    """Largest real part but for so many eigenvalues of zero, which belong to a family."""
    others = sorted(eigenvalues, key=abs)[neutral:]
    return float(max((e.real for e in others), default=-np.inf))


def _limit(at: Callable[[float], np.ndarray], neutral: int, low: float, high: float) -> float:
    """Stability limit between two values: the zero of growth, or where growth stays at zero."""
    from scipy.optimize import brentq

    def growth(value: float) -> float:
        return _growth(at(value), neutral)

    first, last = growth(low), growth(high)
    if min(first, last) < -neutral_bound(at(low)):
        return float(brentq(growth, low, high, xtol=1e-14, rtol=1e-15))
    grows_first = first > last
    ends = low, high
    for _ in range(60):
        middle = (low + high) / 2
        line = at(middle)
        if (_growth(line, neutral) > neutral_bound(line)) == grows_first:
            low = middle
        else:
            high = middle
    return _straightened(growth, (low + high) / 2, ends, grows_first, neutral_bound(at(low)))


def _straightened(
    growth: Callable[[float], float],
    found: float,
    ends: tuple[float, float],
    grows_first: bool,
    bound: float,
) -> float:
    """The zero of growth that is linear there, from where it reaches its bound of zero.

    A square root reaches the bound next to its zero; then, and where growth is of a higher
    order, the value found stays.
    """
    low, high = ends
    step = (-1e-3 if grows_first else 1e-3) * (high - low)
    near, far = found + step, found + 2 * step
    if not low <= far <= high:
        return found
    slope = (growth(far) - growth(near)) / step
    zero = near - growth(near) / slope if slope else found
    if not abs(zero - found) <= 2 * bound / abs(slope or 1.0):
        return found
    # an end or a zero that is met but for rounding is met
    for round_value in (*ends, 0.0):
        if low <= round_value <= high and abs(round_value - zero) <= 1e-9 * (high - low):
            return round_value
    return float(np.clip(zero, low, high))


def _shown(eigenvalues: np.ndarray) -> list[str]:
    """Eigenvalues of a mode at a value: a pair once, else each."""
    return [_number(e) for e in sorted(eigenvalues, key=lambda e: -e.real) if e.imag >= 0]


def _number(e: complex) -> str:
    """An eigenvalue in few digits; rounding errors are shown as zero."""
    e = complex(*(x if abs(x) > 1e-12 else 0.0 for x in (e.real, e.imag)))
    return f"{e.real:.6g}" + (f" ± {e.imag:.6g} i" if e.imag else "")

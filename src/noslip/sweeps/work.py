"""Works: what is done at each point of a sweep.

A work is made from plain data (a model, settings, measures), so that any process can make it again;
`AbstractWork` lists what it answers. Members, a file for each kind:

    run         the model's scenario; in lanes, by `simulate_batch`, wherever that gives the same
    noisy       each point is many runs with random disturbances, of which statistics are kept
    track       a vehicle along a path; texts may hold varied names in braces, circle:radius={R}
    linearize   eigenvalues about an equilibrium or a steady motion
    steady      a steady motion
    evaluate    accelerations, energies and reactions at a state
    function    a Python function of the point

Nothing that happens at one point raises: it is an ending with its reason.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noslip import Model, NoslipError, SimulationError, System, derive
from noslip import compile as compile_system
from noslip.base import Member, nearest
from noslip.engines import trace_condition
from noslip.formulations import known_formulations
from noslip.simulation import with_regular_rows
from noslip.sweeps.design import Array, is_finite_number
from noslip.sweeps.measures import ERROR, NOT_RUN, PointResults, ResultVariable


class AbstractWork(Member, family="work"):
    """Work done at each point of a sweep.

    Attributes
    ----------
    model : the mechanism.
    settings : by name; each member says which.
    measures : texts.
    """

    model: Model
    settings: dict[str, Any]
    measures: Any

    #: Whether many points are computed together.
    is_laned: bool = False
    #: Setting → default; others are refused.
    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, model: Model, settings: Mapping[str, Any], measures: Sequence[str]) -> None:
        self.model = model
        self.settings = {**self.defaults, **settings}
        self.where = f"sweep of model '{model.name}'"
        for name in settings:
            if name not in self.defaults:
                raise SimulationError(
                    f"work '{self.word}' has no setting '{name}'",
                    self.where,
                    nearest(name, self.defaults),
                )
            self._check_setting(name)
        self.prepare(tuple(measures))

    def _check_setting(self, name: str) -> None:
        """Refuse a setting of another kind than its default, and tables of anything but values."""
        value, default = self.settings[name], self.defaults[name]
        if isinstance(default, Mapping):
            if value is None:
                self.settings[name] = value = {}
            is_right = isinstance(value, Mapping) and all(
                isinstance(key, str) and (isinstance(x, str) or is_finite_number(x))
                for key, x in value.items()
            )
            usage = "give names and numbers, or expressions"
        elif isinstance(default, list | bool):
            is_list = isinstance(value, list | tuple) and all(isinstance(x, str) for x in value)
            is_right = isinstance(value, bool) if isinstance(default, bool) else is_list
            usage = "give true or false" if isinstance(default, bool) else "give a list of names"
        else:
            return
        if not is_right:
            raise SimulationError(f"{name} is {value!r:.60}", self.where, f"{usage}: {name}=…")

    @abc.abstractmethod
    def prepare(self, measures: tuple[str, ...]) -> None:
        """Check settings and measures, and compile what is needed."""

    @abc.abstractmethod
    def names(self) -> dict[str, str]:
        """Names that may be varied, with units."""

    @abc.abstractmethod
    def variables(self) -> dict[str, ResultVariable]:
        """Measure → what it gives."""

    @abc.abstractmethod
    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Results of points; None if it was cancelled."""

    def check_varied(self, names: Iterable[str]) -> None:
        """Refuse names that cannot be varied."""
        known = self.names()
        for name in names:
            if name not in known:
                raise SimulationError(
                    f"there is no parameter, start value or input '{name}'",
                    self.where,
                    nearest(name, list(known), more="`noslip check` lists them"),
                )

    def use_device(self, device: Any) -> None:
        """Compute on a device, ``"cpu"`` or as :func:`simulate_batch` takes it, from now on.

        Raises
        ------
        SimulationError : this work runs on the CPU only.
        """
        if not isinstance(device, str) or device != "cpu":
            raise SimulationError(
                f"work '{self.word}' runs on the CPU only",
                self.where,
                "run it on threads, or on a Dask cluster",
            )

    def refer_to(self, point: Mapping[str, float]) -> None:
        """Take note of the first point of all, whichever chunk is computed.

        What is chosen once for many points must be chosen there, so that no result depends on which
        others are in its chunk.
        """

    def empty(self, count: int) -> PointResults:
        """Results of points that have not been run."""
        values = {m: np.full((count, *v.shape), np.nan) for m, v in self.variables().items()}
        return PointResults(values=values, endings=np.full(count, NOT_RUN, np.uint8), reasons={})

    def one_by_one(
        self,
        values: Mapping[str, Array],
        count: int,
        cancel: Any,
        work: Callable[[dict[str, float]], tuple[dict[str, Any], int, str]],
    ) -> PointResults | None:
        """Results of a function of one point: values by measure, ending, and reason."""
        results = self.empty(count)
        for k in range(count):
            if cancel is not None and cancel.is_set():
                return None
            point = {name: float(array[k]) for name, array in values.items()}
            try:
                found, ending, reason = work(point)
            except NoslipError as error:
                found, ending, reason = {}, ERROR, f"{error.what} ({error.where})"
            if cancel is not None and cancel.is_set():
                return None
            for measure, value in found.items():
                results.values[measure][k] = value
            results.endings[k] = ending
            if reason:
                results.reasons[k] = reason
        return results

    def number(self, name: str, *, positive: bool = False) -> float:
        """A setting that is a number."""
        value = self.settings[name]
        if not is_finite_number(value) or (positive and value <= 0):
            raise SimulationError(
                f"{name} is {value!r:.40}",
                self.where,
                f"give a {'positive ' if positive else ''}number",
            )
        return float(value)


class SystemWork(AbstractWork):
    """A work on the compiled system of a model, made by `prepare`."""

    system: System

    def compile(self, method: str = "complement") -> System:
        """The system, by a formulation."""
        known = known_formulations()
        if method not in known:
            raise SimulationError(
                f"there is no formulation '{method}'", self.where, nearest(method, known)
            )
        return compile_system(derive(self.model, known[method]))

    def right_points(
        self, values: Mapping[str, Array], count: int, results: PointResults
    ) -> list[NDArray[np.intp]]:
        """Points with parameters that the model takes, in groups with the same independent rows.

        The others are noted with their reasons.
        """
        names = [p.name for p in self.model.parameters]
        fixed = {n: float(x) for n, x in self.settings["set"].items() if n in names}
        varied = [n for n in values if n in names]
        nominal = {**self.model.parameter_values(), **fixed}
        rows = np.tile([nominal[n] for n in names], (count, 1)).reshape(count, len(names))
        for name in varied:
            rows[:, names.index(name)] = values[name]
        is_right = np.ones(count, dtype=bool)
        if not varied:
            self.system.parameters(fixed)
        else:
            condition = self.system.cached(
                "condition of sweeps", lambda: trace_condition(self.model)
            )
            is_right = condition.hold(rows)  # sufficient, not necessary
        groups: dict[int, list[int]] = {}
        has_redundant = bool(self.system.kinematics.redundant)
        for k in range(count) if has_redundant else np.flatnonzero(~is_right).tolist():
            try:
                if not is_right[k]:
                    self.system.parameters(fixed | {n: float(values[n][k]) for n in varied})
                    is_right[k] = True
                if has_redundant:
                    own = dict(zip(names, rows[k].tolist(), strict=True))
                    found = with_regular_rows(self.system, rows[k], own)
                    groups.setdefault(id(found), []).append(k)
            except NoslipError as error:
                results.endings[k] = ERROR
                results.reasons[k] = f"{error.what} ({error.where})"
        if has_redundant:
            return [np.array(group) for group in groups.values()]
        return [np.flatnonzero(is_right)]

    def in_halves(
        self,
        which: NDArray[np.intp],
        results: PointResults,
        work: Callable[[NDArray[np.intp]], bool],
    ) -> bool:
        """Compute some points at once; points that fail are isolated by bisection.

        Parameters
        ----------
        which : points.
        results : where those that fail are noted.
        work : does points; whether it was not cancelled.
        """
        if not len(which):
            return True
        try:
            return work(which)
        except NoslipError as error:
            if len(which) == 1:
                results.endings[which[0]] = ERROR
                results.reasons[int(which[0])] = f"{error.what} ({error.where})"
                return True
        half = len(which) // 2
        return all(self.in_halves(part, results, work) for part in (which[:half], which[half:]))

    def fixed(self, group: Mapping[str, Any]) -> dict[str, float | str]:
        """Values of the setting `set`: numbers, and texts of inputs."""
        return {str(name): value for name, value in group.items()}

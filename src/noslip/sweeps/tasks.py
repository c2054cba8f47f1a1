"""Tasks: what a sweep does at each point, other than running a scenario.

**Works: what is done at each point of a sweep.**

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

**A Python function of the point as the work of a sweep.**

**States at an instant as the work of a sweep: evaluated, steady, or linearized.**
"""

from __future__ import annotations

import abc
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noslip import (
    Model,
    NoslipError,
    SimulationError,
    System,
    derive,
    evaluate,
    evaluate_batch,
    linearize,
    linearize_batch,
    load_plugin,
    steady,
    steady_batch,
)
from noslip import compile as compile_system
from noslip.analysis import settable_names, split_changes
from noslip.base import Array, Member, nearest
from noslip.engines import trace_condition
from noslip.formulations import known_formulations
from noslip.results import Instant, InstantBatch, SteadyBatch
from noslip.simulation import Outputs, reaction_values, units_by_name, with_regular_rows
from noslip.sweeps.design import is_finite_number
from noslip.sweeps.measures import ERROR, FINISHED, NOT_RUN, PointResults, ResultVariable


class AbstractWork(Member, family="work"):
    """Work done at each point of a sweep.

    Attributes
    ----------
    model : the mechanism.
    settings : settings by name; each member lists its own.
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
        """Compute some points at once; points that fail are isolated by bisection."""
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


class FunctionWork(AbstractWork):
    """A Python function of the point: ``function(point)`` or ``function(system, point)``.

    It is named as ``module:function`` or ``file.py:function`` and gives a number for each measure,
    by name, or the number itself if there is one. Measures may say their unit: ``"cost [J]"``.
    """

    word = "function"
    defaults: ClassVar[Mapping[str, Any]] = {"function": None, "set": {}}

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Find the function."""
        given = self.settings["function"]
        self.function = given if callable(given) else find_function(str(given or ""), self.where)
        arguments = [
            p
            for p in inspect.signature(self.function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        ]
        if len(arguments) not in (1, 2):
            raise SimulationError(
                f"the function takes {len(arguments)} arguments",
                self.where,
                "write function(point) or function(system, point)",
            )
        self.system = compile_system(derive(self.model)) if len(arguments) == 2 else None
        self._names: dict[str, str] = {}
        self._measures = {}
        for text in measures:
            name, _, unit = text.removesuffix("]").partition("[")
            self._measures[text] = (name.strip(), unit.strip())

    def names(self) -> dict[str, str]:
        """Any name; those of the model have units."""
        return {p.name: p.unit for p in self.model.parameters}

    def check_varied(self, names: Iterable[str]) -> None:
        """Any name may be varied."""

    def variables(self) -> dict[str, ResultVariable]:
        """Numbers."""
        return {text: ResultVariable(unit) for text, (_, unit) in self._measures.items()}

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Calls one by one; whatever the function raises is the reason of a failure."""

        def work(point: dict[str, float]) -> tuple[dict[str, Any], int, str]:
            point = {**self.settings["set"], **point}
            arguments = (point,) if self.system is None else (self.system, point)
            try:
                found = self.function(*arguments)
                table = found if isinstance(found, Mapping) else None
                if table is None:
                    (text,) = self._measures
                    return {text: float(found)}, FINISHED, ""
                kept = {t: float(table[name]) for t, (name, _) in self._measures.items()}
                return kept, FINISHED, ""
            except NoslipError:
                raise
            except Exception as error:
                return {}, ERROR, f"{type(error).__name__}: {error}"[:500]

        return self.one_by_one(values, count, cancel, work)


def find_function(text: str, where: str) -> Callable[..., Any]:
    """The function that ``module:function`` or ``file.py:function`` names. Its module is run.

    Raises
    ------
    SimulationError : there is none.
    """
    module, _, name = text.rpartition(":")
    if not module or not name.isidentifier():
        raise SimulationError(
            f"'{text}' is not the name of a function",
            where,
            "write module:function or file.py:function",
        )
    home = load_plugin(module) if module.endswith(".py") else importlib.import_module(module)
    function = getattr(home, name, None)
    if not callable(function):
        raise SimulationError(
            f"there is no function '{name}' in '{module}'",
            where,
            nearest(name, [n for n, x in vars(home).items() if callable(x)]),
        )
    return function


def function_text(function: Callable[..., Any]) -> str:
    """``module:function`` of a function that other processes can import; "" if they cannot."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return ""
    found = getattr(importlib.import_module(module), name, None)
    return f"{module}:{name}" if found is function else ""


#: State, inputs and parameters by name.
Given = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
#: Points of one call of a batch, and below how many a search makes single calls.
MOST_TOGETHER, FEW_TOGETHER = 2**16, 2


class _InstantWork(SystemWork):
    """A work at an instant: no time passes."""

    is_laned = True
    #: Where batches are evaluated.
    device: Any = "cpu"

    defaults: ClassVar[Mapping[str, Any]] = {
        "set": {},
        "find": [],
        "search": False,
        "guess": {},
        "columns": {},
        "time": 0.0,
    }

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Compile the system and look the measures up."""
        self.system = System(equations=derive(self.model))
        self._units = self.result_units()
        self.measures = measures
        for text in measures:
            if text not in self._units and text not in self.special():
                raise SimulationError(
                    f"there is no measure '{text}'",
                    f"measures of work '{self.word}'",
                    nearest(text, [*self.special(), *self._units]),
                )
        split_changes(self.system, self.settings["set"])

    def special(self) -> dict[str, ResultVariable]:
        """Measures that are no single named value."""
        return {}

    def result_units(self) -> dict[str, str]:
        """Named values that the work finds, with units."""
        return units_by_name(self.system) | {q.name: q.unit for q in self.system.inputs}

    def names(self) -> dict[str, str]:
        """Parameters, values of the state, and inputs."""
        units = units_by_name(self.system) | {q.name: q.unit for q in self.system.inputs}
        units |= {p.name: p.unit for p in self.model.parameters}
        groups = settable_names(self.system, None)
        return {name: units.get(name, "") for names in groups.values() for name in names}

    def variables(self) -> dict[str, ResultVariable]:
        """Result variable of each measure."""
        special = self.special()
        return {m: special.get(m) or ResultVariable(self._units[m]) for m in self.measures}

    @abc.abstractmethod
    def at(self, point: dict[str, float]) -> dict[str, Any]:
        """All that can be measured at a point, by name."""

    @abc.abstractmethod
    def many(
        self, given: Given, count: int, cancel: Any
    ) -> tuple[dict[str, Array], NDArray[np.bool_]]:
        """Measures of many points at once, by name, and a mask of where they are known."""

    def use_device(self, device: Any) -> None:
        """Evaluate on a device; points that are computed one by one are not."""
        self.device = device

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Points together; those of which that says nothing, one by one."""
        results = self.empty(count)
        for group in self.right_points(values, count, results):
            for first in range(0, len(group), MOST_TOGETHER):
                some = group[first : first + MOST_TOGETHER]
                if not self._together(values, some, results, cancel):
                    return None
        left = np.flatnonzero(results.endings == NOT_RUN)
        alone = self._alone({n: a[left] for n, a in values.items()}, len(left), cancel)
        if alone is None:
            return None
        results.put(left, alone)
        return results

    def _together(
        self,
        values: Mapping[str, Array],
        which: NDArray[np.intp],
        results: PointResults,
        cancel: Any,
    ) -> bool:
        """Store the results of many points; whether it was not cancelled."""
        own = {n: a[which] for n, a in values.items()}
        try:
            table, is_known = self.many(self._split(own), len(which), cancel)
        except SimulationError:
            # one that cannot be done is told from the others by halving; alone it says why
            half = len(which) // 2
            return half == 0 or all(
                self._together(values, part, results, cancel)
                for part in (which[:half], which[half:])
            )
        if cancel is not None and cancel.is_set():
            return False
        if set(self.measures) <= table.keys():
            done = which[is_known]
            for measure in self.measures:
                results.values[measure][done] = table[measure][is_known]
            results.endings[done] = FINISHED
        return True

    def _split(self, values: Mapping[str, Array]) -> Given:
        """State, inputs and parameters of points."""
        both: dict[str, Any] = {**self.settings["set"], **values}
        split = split_changes(self.system, dict.fromkeys(both, 0.0))
        state, inputs, parameters = (
            {name: both[name] for name in group}
            for group in (split.start, split.inputs, split.parameters)
        )
        return state, inputs, parameters

    def _alone(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Points one by one."""

        def work(point: dict[str, float]) -> tuple[dict[str, Any], int, str]:
            found = self.at({**self.settings["set"], **point})
            missing = [m for m in self.measures if m not in found]
            reason = f"'{missing[0]}' has no value here: it is ignored" if missing else ""
            kept = {m: found[m] for m in self.measures if m in found}
            return kept, ERROR if missing else FINISHED, reason

        return self.one_by_one(values, count, cancel, work)


class _SearchedWork(_InstantWork):
    """A work whose batches choose coordinates at their first variant: always the same point."""

    _reference: Mapping[str, float] = {}

    def steady_motions(self, given: Given, count: int, cancel: Any) -> SteadyBatch:
        """Steady motions of points, the first point of all before them."""
        state, inputs, parameters = given
        return steady_batch(
            self.system,
            state,
            guess=self.settings["guess"] or None,
            find=self.settings["find"],
            inputs=inputs,
            parameters=parameters,
            time=self.settings["time"],
            count=1 + count,
            threads=1,
            device=self.device,
            cancel=cancel,
        )

    def refer_to(self, point: Mapping[str, float]) -> None:
        """Put the first point of all before the points of every batch."""
        self._reference = dict(point)

    def _split(self, values: Mapping[str, Array]) -> Given:
        first = self._reference or {name: float(a[0]) for name, a in values.items()}
        return super()._split(
            {name: np.concatenate([[first[name]], a]) for name, a in values.items()}
        )

    def _together(
        self,
        values: Mapping[str, Array],
        which: NDArray[np.intp],
        results: PointResults,
        cancel: Any,
    ) -> bool:
        # a batch of one says no sooner than a single call
        return len(which) < FEW_TOGETHER or super()._together(values, which, results, cancel)


def _table(found: Instant | InstantBatch) -> dict[str, Any]:
    """Values of an instant, or of many, by the names of their measures."""
    table: dict[str, Any] = {**found.coordinates, **found.speeds, **found.outputs}
    table |= {f"acceleration.{name}": x for name, x in found.accelerations.items()}
    table |= {f"reaction.{name}": x for name, x in found.multipliers.items()}
    table |= {"kinetic_energy": found.kinetic_energy}
    return table | {"potential_energy": found.potential_energy}


class EvaluateWork(_InstantWork):
    """Accelerations, energies and reactions at a state."""

    word = "evaluate"

    def result_units(self) -> dict[str, str]:
        """Coordinates, speeds, ``acceleration.…``, ``reaction.…``, energies and outputs."""
        system = self.system
        units = {q.name: q.unit for q in (*system.coordinates, *system.speeds)}
        units |= {f"acceleration.{q.name}": f"{q.unit}^2" for q in system.speeds}
        reactions = reaction_values(system).items()
        units |= {name: unit for name, (unit, _) in reactions if name.startswith("reaction.")}
        units |= {"kinetic_energy": "J", "potential_energy": "J"}
        return units | Outputs(self.settings["columns"]).units(system)

    def at(self, point: dict[str, float]) -> dict[str, Any]:
        """The instant as a table."""
        split = split_changes(self.system, point)
        state, inputs, parameters = split.start, split.inputs, split.parameters
        found = evaluate(
            self.system,
            state,
            inputs=inputs,
            parameters=parameters,
            guess=self.settings["guess"] or None,
            outputs=self.settings["columns"] or None,
            time=self.settings["time"],
        )
        return _table(found)

    def many(
        self, given: Given, count: int, cancel: Any
    ) -> tuple[dict[str, Array], NDArray[np.bool_]]:
        """The instants as a table."""
        state, inputs, parameters = given
        found = evaluate_batch(
            self.system,
            state,
            inputs=inputs,
            parameters=parameters,
            guess=self.settings["guess"] or None,
            outputs=self.settings["columns"] or None,
            time=self.settings["time"],
            count=count,
            threads=1,
            device=self.device,
            cancel=cancel,
        )
        return _table(found), found.is_evaluated


class SteadyWork(_SearchedWork):
    """A steady motion that has the values of the point."""

    word = "steady"

    def special(self) -> dict[str, ResultVariable]:
        """Number of parameters of its family."""
        return {"family": ResultVariable("1")}

    def at(self, point: dict[str, float]) -> dict[str, Any]:
        """Values, rates and inputs of the motion."""
        split = split_changes(self.system, point)
        state, inputs, parameters = split.start, split.inputs, split.parameters
        found = steady(
            self.system,
            state,
            guess=self.settings["guess"] or None,
            find=self.settings["find"],
            inputs=inputs,
            parameters=parameters,
            time=self.settings["time"],
        )
        return {**found.rates, **found.values, **found.inputs, "family": float(found.family)}

    def many(
        self, given: Given, count: int, cancel: Any
    ) -> tuple[dict[str, Array], NDArray[np.bool_]]:
        """Values, rates and inputs of the motions."""
        found = self.steady_motions(given, count, cancel)
        family = found.family.astype(float)
        table = {**found.rates, **found.values, **found.inputs, "family": family}
        return {name: x[1:] for name, x in table.items()}, found.is_found[1:]


class LinearizeWork(_SearchedWork):
    """Eigenvalues of small motions about an equilibrium or a steady motion.

    Measures: ``eigenvalues`` (their real and imaginary parts, those that grow fastest first),
    ``growth`` (the largest real part), ``stable`` (1 or 0), and named values of the motion.
    """

    word = "linearize"

    def special(self) -> dict[str, ResultVariable]:
        """Eigenvalues, growth and stability."""
        return {
            "eigenvalues": ResultVariable(
                "1/s",
                "eigenvalue_part",
                tuple(map(float, range(2 * self._count))),
                "1",
                "real and imaginary part of each eigenvalue in turn",
            ),
            "growth": ResultVariable("1/s", description="largest real part"),
            "stable": ResultVariable("1", description="1 if no small motion grows"),
        }

    @property
    def _count(self) -> int:
        return len(self.system.coordinates) + len(self.system.speeds)

    def at(self, point: dict[str, float]) -> dict[str, Any]:
        """The linearization as a table."""
        split = split_changes(self.system, point)
        state, inputs, parameters = split.start, split.inputs, split.parameters
        about: Any = state
        if self.settings["search"]:
            motion = steady(
                self.system,
                state,
                guess=self.settings["guess"] or None,
                find=self.settings["find"],
                inputs=inputs,
                parameters=parameters,
                time=self.settings["time"],
            )
            about, inputs = motion.start, motion.inputs
        found = linearize(self.system, about, inputs=inputs, parameters=parameters)
        parts = np.full(2 * self._count, np.nan)
        parts[: 2 * len(found.eigenvalues)] = np.stack(
            [found.eigenvalues.real, found.eigenvalues.imag], axis=1
        ).ravel()
        growth = float(np.max(found.eigenvalues.real, initial=-np.inf))
        special = {"eigenvalues": parts, "growth": growth, "stable": float(found.is_stable)}
        return {**found.values, **special}

    def many(
        self, given: Given, count: int, cancel: Any
    ) -> tuple[dict[str, Array], NDArray[np.bool_]]:
        """Eigenvalues, growth and stability; named values are known one by one."""
        state, inputs, parameters = given
        about: Mapping[str, Any] = state
        is_known = np.ones(1 + count, bool)
        if self.settings["search"]:
            motions = self.steady_motions(given, count, cancel)
            is_known = motions.is_found
            if not is_known[0]:
                return {}, is_known[1:]
            kin = self.system.kinematics
            places = {c.name: motions.q[:, k] for k, c in enumerate(kin.coordinates)}
            speeds = {s.name: motions.v[:, k] for k, s in enumerate(kin.speeds)}
            # what was not found stands where the first one is, and does not count
            about = {n: np.where(is_known, x, x[0]) for n, x in (places | speeds).items()}
            inputs = inputs | {n: np.where(is_known, x, x[0]) for n, x in motions.inputs.items()}
        found = linearize_batch(
            self.system,
            about,
            inputs=inputs,
            parameters=parameters,
            count=1 + count,
            threads=1,
            device=self.device,
            cancel=cancel,
        )
        parts = np.full((count, 2 * self._count), np.nan)
        size = found.eigenvalues.shape[1]
        parts[:, 0 : 2 * size : 2] = found.eigenvalues[1:].real
        parts[:, 1 : 2 * size : 2] = found.eigenvalues[1:].imag
        growth = np.max(found.eigenvalues[1:].real, axis=1, initial=-np.inf)
        stable = found.is_stable[1:].astype(float)
        table = {"eigenvalues": parts, "growth": growth, "stable": stable}
        return table, (found.is_steady & is_known)[1:]

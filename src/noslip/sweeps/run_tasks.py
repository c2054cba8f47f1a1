"""Runs as the task of a sweep: the scenario of a model, alone or under random disturbances."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noslip import (
    Batch,
    Ending,
    SimulationError,
    Trajectory,
    run_scenario,
    simulate_batch,
    simulate_sensitivities,
)
from noslip.analysis import scenario_start, settable_names, split_changes
from noslip.base import Array, nearest, real_array
from noslip.control import driven_system
from noslip.expressions import names_of
from noslip.results import PathErrors
from noslip.simulation import (
    Outputs,
    known_columns,
    read_expression,
    read_run,
    switch_texts,
    units_by_name,
)
from noslip.sweeps.design import read_distribution
from noslip.sweeps.measures import (
    DOUBTFUL,
    ENDINGS,
    ERROR,
    FINISHED,
    AbstractMeasure,
    PointResults,
    ResultVariable,
    read_measures,
)
from noslip.sweeps.tasks import AbstractWork, SystemWork

if TYPE_CHECKING:
    from noslip import Follower


#: Trajectories of one call of `simulate_batch`.
MOST_LANES = 16384
#: The same on a GPU.
MOST_THREADS = 2**20
_CODE = {
    Ending[word.upper()]: k for k, word in enumerate(ENDINGS) if word.upper() in Ending.__members__
}


RUN: dict[str, Any] = {
    "set": {},
    "duration": None,
    "tolerance": 1e-9,
    "method": "dop853",
    "step": 0.0,
    "max_step": None,
    "max_steps": 10_000_000,
    "samples": None,
    "stop": {},
    "events": {},
    "columns": {},
    "guess": {},
    "formulation": "complement",
    "lanes": None,
}


class RunWork(SystemWork):
    """The scenario of a model."""

    word = "run"
    defaults = RUN
    #: Where batches run.
    device: Any = "cpu"

    def use_device(self, device: Any) -> None:
        """Run batches on a device."""
        if (not isinstance(device, str) or device != "cpu") and not self.is_laned:
            raise SimulationError(
                "these runs are simulated one by one, which a GPU cannot do: they follow a motion, "
                "have inputs that switch with the state, gradients, or columns of single runs",
                self.where,
                "run it on threads, or measure something else",
            )
        self.device = device

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Read the scenario and the measures; decide whether the points run in lanes."""
        settings, model = self.settings, self.model
        self.system = self.compile(settings["formulation"])
        scenario = model.scenario
        if scenario is None and settings["duration"] is None:
            raise SimulationError(
                "the model has no scenario, so the duration is unknown",
                self.where,
                "give a duration (on the command line --duration 5), or write a [scenario] into "
                "the model",
            )
        self.scenario = scenario
        self.duration = (
            self.number("duration", positive=True)
            if scenario is None or settings["duration"] is not None
            else scenario.duration
        )
        self.number("tolerance", positive=True)
        self.groups = settable_names(self.system, scenario)
        split_changes(self.system, settings["set"], scenario)
        self.outputs = {**(scenario.outputs if scenario else {}), **settings["columns"]}
        self.stop = {**(scenario.stop if scenario else {}), **settings["stop"]}
        units = {name: unit for name, (unit, _) in known_columns(self.system, None).items()}
        lane_columns = set(units) | set(self.outputs)
        units |= Outputs(self.outputs).units(self.system) | self.further_columns()
        self.units = units
        self.measures = read_measures(measures, units, [*settings["events"], *self.stop])
        self.times = self._sample_times()
        needs_lanes = {m.column for m in self.measures if m.subject == "column"}
        self.is_laned = (
            self.can_lane()
            and needs_lanes <= lane_columns
            and not any(m.word == "gradient" for m in self.measures)
            and settings["lanes"] != 0
        )
        self._check_run()

    def _check_run(self) -> None:
        """Refuse settings that no run takes, once, before any point is run."""
        words = ("guess", "stop", "events")
        given = {"duration": self.duration, **{w: self.settings[w] or None for w in words}}
        read_run("sweep", self.system, given | self._options())
        events = self.settings["events"]
        for name in sorted(set(self.stop) & set(events)):
            raise SimulationError(
                f"'{name}' both stops the run and is an event of it",
                self.where,
                "give the two different names",
            )
        texts = {f"stop '{name}'": text for name, text in self.settings["stop"].items()}
        texts |= {f"event '{name}'": text for name, text in events.items()}
        has_motion = self.scenario is not None and self.scenario.has_reference
        system = driven_system(self.system) if has_motion else self.system
        for where, text in texts.items():
            read_expression(system, text, where, self._definitions(), has_reactions=True)
        for name, text in self.settings["columns"].items():
            read_expression(system, text, f"output '{name}'", self._definitions(), is_output=True)

    def further_columns(self) -> dict[str, str]:
        """Columns of single runs that batches do not have."""
        own = {"energy_error": "J"}
        if self.scenario is not None and self.scenario.has_reference:
            own |= {f"reference.{c.name}": c.unit for c in self.system.coordinates}
        return own

    def can_lane(self) -> bool:
        """Whether lanes give what single runs give: no motion to follow, no switches of state."""
        if self.scenario is not None:
            if self.scenario.has_reference or self.scenario.contact != "ideal":
                return False
        inputs = self._inputs()
        texts = {name: text for name, text in inputs.items() if isinstance(text, str)}
        return not switch_texts(self.system, texts, self._definitions())

    def _inputs(self) -> dict[str, float | str]:
        own: dict[str, Any] = dict(self.scenario.inputs) if self.scenario else {}
        changed = {n: x for n, x in self.settings["set"].items() if n in self.groups["inputs"]}
        return own | changed

    def _definitions(self) -> dict[str, str]:
        task = self.scenario.parameters if self.scenario else ()
        given = {p.name: repr(float(self.settings["set"].get(p.name, p.value))) for p in task}
        return given | (self.scenario.definitions if self.scenario else {})

    def _sample_times(self) -> Array:
        samples = self.settings["samples"]
        if samples is None:
            samples = self.scenario.samples if self.scenario is not None else 201
        if isinstance(samples, int | np.integer) and not isinstance(samples, bool):
            if not 2 <= samples <= 10_000_000:
                raise SimulationError(
                    f"the number of samples is {samples}", self.where, "give 2 or more"
                )
            times = np.linspace(0.0, self.duration, int(samples))
        else:
            try:
                times = real_array(samples)
            except (TypeError, ValueError, OverflowError):
                times = np.zeros((0, 0))
            is_right = times.ndim == 1 and times.size > 0 and np.all(np.diff(times) > 0)
            if not is_right or times[0] < 0 or times[-1] > self.duration:
                raise SimulationError(
                    f"the samples are {samples!r:.60}",
                    self.where,
                    "give a whole number, or increasing times in s, from 0 to the duration",
                )
        extra = [t for measure in self.measures for t in measure.extra_times()]
        for t in extra:
            if t > self.duration:
                raise SimulationError(
                    f"a measure is evaluated at {t:g} s, after the end at {self.duration:g} s",
                    self.where,
                    "give an earlier time, or a longer duration",
                )
        return np.unique(np.concatenate([times, extra]))

    def names(self) -> dict[str, str]:
        """Parameters, numbers of the task, start values and inputs."""
        units = units_by_name(self.system) | {q.name: q.unit for q in self.system.inputs}
        units |= {p.name: p.unit for p in self.model.parameters}
        units |= {p.name: p.unit for p in (self.scenario.parameters if self.scenario else ())}
        return {name: units.get(name, "") for names in self.groups.values() for name in names}

    def check_varied(self, names: Iterable[str]) -> None:
        """Refuse names that are not known, are set besides, or follow from a motion."""
        names = list(names)
        super().check_varied(names)
        for name in names:
            if name in self.settings["set"]:
                raise SimulationError(
                    f"'{name}' is both varied and set", self.where, "leave the value out"
                )
        has_motion = self.scenario is not None and self.scenario.has_reference
        for name in names:
            if has_motion and name in self.groups["inputs"]:
                raise SimulationError(
                    f"input '{name}' is varied, but the inputs of this scenario follow from its "
                    "motion",
                    self.where,
                    "vary parameters, start values or numbers of the scenario",
                )

    def variables(self) -> dict[str, ResultVariable]:
        """Result variable of each measure."""
        return {m.text: self._variable(m) for m in self.measures}

    def _variable(self, measure: AbstractMeasure) -> ResultVariable:
        unit = self.units.get(measure.column, "")
        if measure.word == "gradient":
            by = self.names().get(measure.argument)
            if by is None:
                raise SimulationError(
                    f"there is no '{measure.argument}' to differentiate with respect to",
                    f"measure '{measure.text}'",
                    nearest(measure.argument, self.names()),
                )
            unit = f"({unit})/({by})"
        return measure.variable(unit, self.times)

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Results in lanes, or of single runs."""
        if self.is_laned:
            return self._in_lanes(values, count, cancel)
        return self.one_by_one(values, count, cancel, lambda point: self._single(point, cancel))

    # single runs

    def _options(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "method": settings["method"],
            "rtol": settings["tolerance"],
            "atol": settings["tolerance"],
            "step": settings["step"],
            "max_step": math.inf if settings["max_step"] is None else settings["max_step"],
            "max_steps": settings["max_steps"],
        }

    def run_point(self, point: Mapping[str, float], cancel: Any = None) -> Trajectory:
        """The whole motion at a point, for pictures and for measures of single runs."""
        changes: dict[str, float | str] = {**self.settings["set"], **point}
        return run_scenario(
            self.system,
            changes=changes,
            guess=self.settings["guess"] or None,
            duration=self.duration,
            stop=self.settings["stop"],
            events=self.settings["events"] or None,
            outputs=self.settings["columns"] or None,
            samples=self.times,
            reactions=any(m.column.startswith("reaction.") for m in self.measures),
            cancel=cancel,
            on_failure="return",
            **self._options(),
        )

    def _single(self, point: dict[str, float], cancel: Any) -> tuple[dict[str, Any], int, str]:
        gradients = [m for m in self.measures if m.word == "gradient"]
        derivatives = self._derivatives(point, gradients, cancel) if gradients else {}
        run = self.run_point(point, cancel)
        view = SingleView(run, self.times, derivatives)
        found = {m.text: m.of(view)[0] for m in self.measures}
        return found, *ending_of(run)

    def _derivatives(
        self, point: dict[str, float], gradients: list[AbstractMeasure], cancel: Any
    ) -> dict[tuple[str, str], float]:
        """Final derivatives by column and name; start values count as given numbers."""
        if self.scenario is not None and self.scenario.has_reference:
            raise SimulationError(
                "gradients of a scenario that follows a motion are not computed",
                self.where,
                "measure something else, or give the inputs themselves",
            )
        parameters, start, inputs, task = self._split_point({**self.settings["set"], **point})
        plain = {q.name for q in (*self.system.coordinates, *self.system.speeds)}
        columns = sorted({m.column for m in gradients})
        names = {c: c if c in plain else f"measure_{k}" for k, c in enumerate(columns)}
        found = simulate_sensitivities(
            self.system,
            with_respect_to=list(dict.fromkeys(m.argument for m in gradients)),
            duration=self.duration,
            start=start,
            inputs=inputs,
            parameters=parameters,
            definitions={**self._definitions(), **task},
            outputs={names[c]: self.outputs.get(c, c) for c in columns if c not in plain},
            samples=2,
            cancel=cancel,
            **self._options(),
        )
        return {
            (m.column, m.argument): float(found[names[m.column], m.argument][-1]) for m in gradients
        }

    def _split_point(
        self, changes: Mapping[str, Any]
    ) -> tuple[dict[str, float], dict[str, float], dict[str, Any], dict[str, float]]:
        groups = self.groups
        parameters = {n: float(x) for n, x in changes.items() if n in groups["parameters"]}
        task = {n: float(x) for n, x in changes.items() if n in groups["task"]}
        start = self._start(parameters | task)
        start |= {n: float(x) for n, x in changes.items() if n in groups["start"]}
        inputs: dict[str, Any] = dict(self._inputs())
        inputs |= {n: x for n, x in changes.items() if n in groups["inputs"]}
        return parameters, start, inputs, task

    def start_values(self) -> dict[str, float]:
        """Start values of the scenario at nominal parameters."""
        return self._start({})

    def _start(self, changed: Mapping[str, float]) -> dict[str, float]:
        if self.scenario is None:
            return {}
        return scenario_start(self.scenario, self.model.parameter_values() | dict(changed))

    # lanes

    def _in_lanes(
        self, values: Mapping[str, Array], count: int, cancel: Any
    ) -> PointResults | None:
        results = self.empty(count)
        most = MOST_LANES if isinstance(self.device, str) and self.device == "cpu" else MOST_THREADS
        for group in self.right_points(values, count, results):
            for first in range(0, len(group), most):
                some = group[first : first + most]
                if not self.in_halves(
                    some, results, lambda w: self._some(values, w, results, cancel)
                ):
                    return None
        return results

    def _some(
        self, values: Mapping[str, Array], which: np.ndarray, results: PointResults, cancel: Any
    ) -> bool:
        """Run some points at once; whether it was not cancelled."""
        batch = self._batch({n: a[which] for n, a in values.items()}, len(which), cancel)
        if Ending.CANCELLED in batch.endings or (cancel is not None and cancel.is_set()):
            return False
        view = BatchView(batch)
        for measure in self.measures:
            results.values[measure.text][which] = measure.of(view)
        results.endings[which] = [_CODE[ending] for ending in batch.endings]
        for k in np.flatnonzero(~batch.success).tolist():
            results.reasons[int(which[k])] = batch.message(k)
        return True

    def _batch(self, values: Mapping[str, Array], count: int, cancel: Any) -> Batch:
        groups, given = self.groups, self.settings["set"]

        def of(group: str) -> dict[str, Any]:
            fixed = {n: x for n, x in given.items() if n in groups[group]}
            return fixed | {n: a for n, a in values.items() if n in groups[group]}

        task = {n: a for n, a in values.items() if n in groups["task"]}
        definitions: dict[str, Any] = {
            n: text for n, text in self._definitions().items() if n not in task
        }
        columns = [m.column for m in self.measures if m.subject == "column"]
        events = {**self.settings["events"]}
        needs = any(m.needs_samples for m in self.measures)
        options = self._options()
        return simulate_batch(
            self.system,
            duration=self.duration,
            start=self._starts(values, count) | of("start"),
            guess=self.settings["guess"] or None,
            parameters=of("parameters"),
            inputs=dict(self._inputs()) | of("inputs"),
            definitions={**task, **definitions} or None,
            outputs=self.outputs or None,
            count=count,
            columns=list(dict.fromkeys(columns)),
            keep=("final", "samples") if needs else ("final",),
            samples=self.times,
            events=events or None,
            stop=self.stop or None,
            threads=1,
            lanes=self.settings["lanes"],
            device=self.device,
            cancel=cancel,
            **options,
        )

    def _starts(self, values: Mapping[str, Array], count: int) -> dict[str, Any]:
        """Start values of the scenario; point by point where they depend on what is varied."""
        if self.scenario is None:
            return {}
        given = self.settings["set"]
        groups = (*self.groups["parameters"], *self.groups["task"])
        fixed = {n: float(x) for n, x in given.items() if n in groups}
        varied = [n for n in values if n in groups]
        nominal = self._start(fixed)
        used = self._names_of_start()
        if not used & set(varied):
            return dict(nominal)
        table = [
            self._start(fixed | {n: float(values[n][k]) for n in varied}) for k in range(count)
        ]
        return {name: np.array([row[name] for row in table]) for name in nominal}

    def _names_of_start(self) -> set[str]:
        """Names that start values depend on, through definitions too."""
        assert self.scenario is not None
        texts = [x for x in self.scenario.start.values() if isinstance(x, str)]
        found: set[str] = set()
        for text in texts:
            found |= names_of(text)
        for name, text in reversed(list(self.scenario.definitions.items())):
            if name in found:
                found |= names_of(text)
        return found


def ending_of(run: Trajectory) -> tuple[int, str]:
    """Ending of a single run, and the reason if it failed."""
    if run.ending in (Ending.FINISHED, Ending.EVENT):
        if run.doubts:
            return DOUBTFUL, "; ".join(run.doubts)
        return _CODE[run.ending], ""
    return _CODE.get(run.ending, ERROR), run.message


@dataclass(frozen=True, slots=True)
class SingleView:
    """One trajectory as measures see it."""

    run: Trajectory
    times: Array
    derivatives: Mapping[tuple[str, str], float]

    def samples(self, column: str) -> Array:
        found = np.full((1, len(self.times)), np.nan)
        places = np.searchsorted(self.times, self.run.t)
        inside = places < len(self.times)
        near = np.minimum(places, len(self.times) - 1)
        inside &= self.times[near] == self.run.t
        found[0, near[inside]] = self.run[column][inside]
        return found

    def final(self, column: str) -> Array:
        values = self.run[column]
        return values[-1:] if len(values) else np.full(1, np.nan)

    def event_times(self, name: str) -> Array:
        found = np.full((1, 16), np.nan)
        times = self.run.event_times.get(name, np.zeros(0))[:16]
        found[0, : len(times)] = times
        if self.run.ended_by == name:
            found[0, 0] = self.run.t[-1]
        return found

    def event_counts(self, name: str) -> Array:
        count = len(self.run.event_times.get(name, ())) + (self.run.ended_by == name)
        return np.array([float(count)])

    def gradient(self, column: str, name: str) -> Array:
        return np.array([self.derivatives[column, name]])


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch as measures see it."""

    batch: Batch

    @property
    def times(self) -> Array:
        return self.batch.sample_times

    def samples(self, column: str) -> Array:
        return self.batch.samples[column]

    def final(self, column: str) -> Array:
        return self.batch.final[column]

    def event_times(self, name: str) -> Array:
        batch = self.batch
        if name in batch.event_times:
            return batch.event_times[name]
        found = np.full((batch.count, 16), np.nan)
        found[:, 0] = np.where(batch.ended_by == name, batch.t, np.nan)
        return found

    def event_counts(self, name: str) -> Array:
        batch = self.batch
        if name in batch.event_counts:
            return batch.event_counts[name].astype(float)
        return (batch.ended_by == name).astype(float)

    def gradient(self, column: str, name: str) -> Array:
        raise NotImplementedError


#: Statistics of noisy runs: word → function of (n, r) values.
STATISTICS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda x: np.array([np.mean(row[np.isfinite(row)]) for row in x]),
    "std": lambda x: np.array([np.std(row[np.isfinite(row)]) for row in x]),
    "least": lambda x: np.fmin.reduce(x, axis=1),
    "most": lambda x: np.fmax.reduce(x, axis=1),
    "median": lambda x: np.array([np.median(row[np.isfinite(row)]) for row in x]),
    "q05": lambda x: np.array([np.quantile(row[np.isfinite(row)], 0.05) for row in x]),
    "q95": lambda x: np.array([np.quantile(row[np.isfinite(row)], 0.95) for row in x]),
}


class NoisyWork(AbstractWork):
    """Many runs at each point, with random disturbances; statistics of their measures are kept.

    Measures are ``STATISTIC:MEASURE``, as ``std:final:disk.x``. The disturbances add to values that
    are set or varied, and are the same at every point (common random numbers).
    """

    word = "noisy"
    is_laned = True
    defaults: ClassVar[Mapping[str, Any]] = {**RUN, "noise": {}, "runs": 100, "noise_seed": 0}

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Make the work of one run, and draw the disturbances."""
        settings = dict(self.settings)
        noise, runs, seed = (settings.pop(name) for name in ("noise", "runs", "noise_seed"))
        if not isinstance(runs, int) or not 2 <= runs <= 1_000_000:
            raise SimulationError(
                f"the number of runs is {runs!r}", self.where, "give a whole number from 2 on"
            )
        if not noise:
            raise SimulationError(
                "no noise is given", self.where, "name it: noise={'disk.tilt': 'gauss:0,0.01'}"
            )
        self.statistics: list[tuple[str, str]] = []
        for text in measures:
            word, _, inner = text.partition(":")
            if word not in STATISTICS or not inner:
                raise SimulationError(
                    f"there is no statistic '{word}'",
                    f"measure '{text}'",
                    f"write STATISTIC:MEASURE, as in std:final:{next(iter(noise))}; "
                    + nearest(word, STATISTICS),
                )
            self.statistics.append((word, inner))
        given = settings["set"]
        self.run = RunWork(self.model, settings, list(dict.fromkeys(m for _, m in self.statistics)))
        self.run.check_varied([n for n in noise if n not in given])
        constants = self.model.parameter_values()
        generator = np.random.Generator(np.random.Philox(key=[int(seed), 2**32]))
        self.noise = {
            name: read_distribution(name, text, constants).quantile(generator.random(runs))
            for name, text in noise.items()
        }
        self.runs = runs
        base = {**constants, **self.run.start_values()}
        self.base = {name: float(given.get(name, base.get(name, 0.0))) for name in noise}
        self.run.settings["set"] = {n: x for n, x in given.items() if n not in noise}

    def use_device(self, device: Any) -> None:
        """Same as for a run."""
        self.run.use_device(device)

    def names(self) -> dict[str, str]:
        """Same as for a run."""
        return self.run.names()

    def check_varied(self, names: Iterable[str]) -> None:
        """Same as for a run."""
        self.run.check_varied(names)

    def variables(self) -> dict[str, ResultVariable]:
        """Result variables of the runs, by statistic."""
        own = self.run.variables()
        for _, inner in self.statistics:
            if own[inner].dimension:
                raise SimulationError(
                    "statistics are taken of numbers",
                    f"measure '{inner}'",
                    "measure a number of each run, not its history",
                )
        return {f"{word}:{inner}": own[inner] for word, inner in self.statistics}

    def run_point(self, point: Mapping[str, float], cancel: Any = None) -> Trajectory:
        """The motion at a point without disturbances."""
        return self.run.run_point({**self.base, **point}, cancel)

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """All runs of some points at once, then their statistics."""
        results = self.empty(count)
        step = max(1, MOST_LANES // self.runs)
        for first in range(0, count, step):
            some = slice(first, min(first + step, count))
            num = some.stop - some.start
            wide = {n: np.repeat(a[some], self.runs) for n, a in values.items()}
            for name, drawn in self.noise.items():
                wide[name] = wide.get(name, self.base[name]) + np.tile(drawn, num)
            found = self.run.compute(wide, num * self.runs, cancel)
            if found is None:
                return None
            codes = found.endings.reshape(num, self.runs)
            for (word, inner), measure in zip(self.statistics, self.variables(), strict=True):
                table = found.values[inner].reshape(num, self.runs)
                alive = np.isfinite(table).any(axis=1)
                kept = np.full(num, np.nan)
                kept[alive] = STATISTICS[word](table[alive]) if alive.any() else []
                results.values[measure][some] = kept
            failed = codes >= ERROR
            results.endings[some] = np.where(failed.all(axis=1), ERROR, FINISHED)
            for k in np.flatnonzero(failed.any(axis=1)).tolist():
                which = int(np.argmax(failed[k]))
                reason = found.reasons.get(k * self.runs + which, "")
                results.reasons[first + k] = (
                    f"{int(failed[k].sum())} of {self.runs} runs failed, the first: {reason}"
                )
        return results


class TrackWork(SystemWork):
    """A vehicle along a path; texts of the settings may hold varied names in braces."""

    word = "track"
    defaults: ClassVar[Mapping[str, Any]] = {
        "set": {},
        "path": None,
        "timing": "",
        "point": "",
        "direction": "",
        "reverse": False,
        "heading": "",
        "steering": "",
        "wheelbase": "0",
        "largest_steering": None,
        "steering_rate": None,
        "hinge": "",
        "hitch": "0",
        "trailer": "0",
        "controller": "none",
        "limits": {},
        "period": 0.0,
        "reference": {},
        "duration": None,
        "samples": 601,
        "tolerance": 1e-9,
    }
    _TEXTS = (
        *("path", "timing", "point", "direction", "heading", "wheelbase", "hitch", "trailer"),
        "controller",
    )

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Compile the system, and read all texts once."""
        settings = self.settings
        if not settings["path"]:
            raise SimulationError("there is no path to follow", self.where, "give a path")
        self.system = self.compile()
        self.task = sorted(
            {
                name
                for text in self._TEXTS
                for name in re.findall(r"{([^{}]*)}", str(settings[text]))
            }
        )
        inputs = split_changes(self.system, settings["set"]).inputs
        if inputs:
            raise SimulationError(
                f"'{next(iter(inputs))}' is set, but the inputs follow from the path",
                self.where,
                "leave it out",
            )
        units = {name: unit for name, (unit, _) in known_columns(self.system, None).items()}
        units |= PathErrors.COLUMNS | {"path.arc_length": "m", "energy_error": "J"}
        units |= {f"reference.{c.name}": c.unit for c in self.system.coordinates}
        self.units = units
        self.measures = read_measures(measures, units, [])
        samples = settings["samples"]
        if not isinstance(samples, int) or not 2 <= samples <= 1_000_000:
            raise SimulationError(
                f"the number of samples is {samples!r}", self.where, "give a whole number from 2 on"
            )

    def names(self) -> dict[str, str]:
        """Parameters, start values, and names in braces."""
        groups = settable_names(self.system, None)
        units = units_by_name(self.system) | {p.name: p.unit for p in self.model.parameters}
        known = (*groups["parameters"], *groups["start"])
        return {name: units.get(name, "") for name in known} | dict.fromkeys(self.task, "")

    def variables(self) -> dict[str, ResultVariable]:
        """Result variable of each measure; histories are over the fraction of the run done."""
        shares = np.linspace(0.0, 1.0, self.settings["samples"])
        found = {}
        for m in self.measures:
            if m.word in ("gradient", "at"):
                raise SimulationError(
                    f"work 'track' has no measure '{m.word}'",
                    f"measure '{m.text}'",
                    "its duration differs from point to point: measure final, min, max or history",
                )
            variable = m.variable(self.units[m.column], shares)
            if variable.dimension:
                variable = ResultVariable(variable.unit, "share", variable.coordinate, "1")
            found[m.text] = variable
        return found

    def run_point(self, point: Mapping[str, float], cancel: Any = None) -> Trajectory:
        """The whole motion at a point."""
        from noslip import ControlLoop, track

        s = self.settings
        texts = {
            name: re.sub(r"{([^{}]*)}", lambda found: repr(point[found[1]]), str(s[name]))
            for name in self._TEXTS
        }
        groups = settable_names(self.system, None)
        given = {**s["set"], **{n: x for n, x in point.items() if n not in self.task}}
        return track(
            self.system,
            texts["path"],
            timing=texts["timing"] or None,
            follower=self._follower(texts),
            controller=ControlLoop(
                controller=texts["controller"], limits=s["limits"], period=s["period"]
            ),
            start={n: float(x) for n, x in given.items() if n in groups["start"]},
            parameters={n: float(x) for n, x in given.items() if n in groups["parameters"]},
            duration=s["duration"],
            samples=s["samples"],
            rtol=s["tolerance"],
            atol=s["tolerance"],
            reactions=any(m.column.startswith("reaction.") for m in self.measures),
            cancel=cancel,
            on_failure="return",
        )

    def _follower(self, texts: Mapping[str, str]) -> Follower:
        """Follower of the path, as far as it is given."""
        from noslip import Follower

        s = self.settings
        given: dict[str, Any] = {
            name: tuple(part.strip() for part in texts[name].split(","))
            for name in ("point", "direction")
            if texts[name]
        }
        for name, sizes in (("steering", ("wheelbase",)), ("hinge", ("hitch", "trailer"))):
            if s[name]:
                given |= {name: s[name], **{size: texts[size] for size in sizes}}
        return Follower(
            **given,
            reverse=s["reverse"],
            heading=texts["heading"] or None,
            largest_steering=s["largest_steering"],
            steering_rate=s["steering_rate"],
            reference=s["reference"],
        )

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Runs one by one."""

        def work(point: dict[str, float]) -> tuple[dict[str, Any], int, str]:
            run = self.run_point(point, cancel)
            end = run.t[-1] if len(run.t) else 0.0
            times = (
                run.t
                if len(run.t) == self.settings["samples"]
                else np.linspace(0.0, max(end, 1e-300), self.settings["samples"])
            )
            view = SingleView(run, times, {})
            found = {m.text: m.of(view)[0] for m in self.measures}
            ending, reason = ending_of(run)
            if not reason and run.path_errors is not None and run.path_errors.lost:
                ending, reason = DOUBTFUL, "the vehicle left its path"
            return found, ending, reason

        return self.one_by_one(values, count, cancel, work)

"""States at an instant as the work of a sweep: evaluated, steady, or linearized."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noslip import (
    SimulationError,
    System,
    derive,
    evaluate,
    evaluate_batch,
    linearize,
    linearize_batch,
    steady,
    steady_batch,
)
from noslip.analysis import settable_names, split_changes
from noslip.base import nearest
from noslip.results import Instant, InstantBatch, SteadyBatch
from noslip.simulation import Outputs, reaction_values, units_by_name
from noslip.sweeps.design import Array
from noslip.sweeps.measures import ERROR, FINISHED, NOT_RUN, PointResults, ResultVariable
from noslip.sweeps.work import SystemWork

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
        """Measures of many points at once, by name, and a mask of where they are known.

        Parameters
        ----------
        given : state, inputs and parameters by name: a number, or one for each point.
        count : points.
        cancel : ends it.
        """

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

"""States at an instant as the work of a sweep: evaluated, steady, or linearized."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from noslip.analysis.changes import settable_names, split_changes
from noslip.analysis.instant import evaluate
from noslip.analysis.linearize import linearize
from noslip.analysis.steady import steady
from noslip.engines.system import System
from noslip.errors import SimulationError, nearest
from noslip.formulations.derive import derive
from noslip.simulation.expressions import output_units, reaction_values, units_by_name
from noslip.sweeps.design import Array
from noslip.sweeps.measures import (
    ERROR,
    FINISHED,
    PointResults,
    ResultVariable,
)
from noslip.sweeps.works.base import SystemWork


class _InstantWork(SystemWork):
    """A work at an instant: no time passes."""

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
        """What each measure gives."""
        special = self.special()
        return {m: special.get(m) or ResultVariable(self._units[m]) for m in self.measures}

    @abc.abstractmethod
    def at(self, point: dict[str, float]) -> dict[str, Any]:
        """All that can be measured at a point, by name."""

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Points one by one."""

        def work(point: dict[str, float]) -> tuple[dict[str, Any], int, str]:
            found = self.at({**self.settings["set"], **point})
            missing = [m for m in self.measures if m not in found]
            reason = f"'{missing[0]}' has no value here: it is ignored" if missing else ""
            kept = {m: found[m] for m in self.measures if m in found}
            return kept, ERROR if missing else FINISHED, reason

        return self.one_by_one(values, count, cancel, work)


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
        return units | output_units(system, self.settings["columns"])

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
        table: dict[str, Any] = {**found.coordinates, **found.speeds, **found.outputs}
        table |= {f"acceleration.{name}": x for name, x in found.accelerations.items()}
        table |= {f"reaction.{name}": x for name, x in found.multipliers.items()}
        table |= {"kinetic_energy": found.kinetic_energy}
        return table | {"potential_energy": found.potential_energy}


class SteadyWork(_InstantWork):
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


class LinearizeWork(_InstantWork):
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

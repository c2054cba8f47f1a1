"""Start and values of a scenario's run, and changes of them by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noslip.base import SimulationError, as_number, nearest
from noslip.engines import System
from noslip.expressions import nominal
from noslip.model import Scenario
from noslip.simulation import units_by_name


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a run by what they change: see :func:`split_changes`."""

    parameters: dict[str, float]
    task: dict[str, float]
    start: dict[str, float]
    inputs: dict[str, Any]  # numbers, or expressions where they are taken

    def parameters_and_start(self) -> tuple[dict[str, float], dict[str, float]]:
        """Parameters and start values of a run along a path, which leaves no input to change."""
        if self.inputs:
            raise SimulationError(
                f"input '{next(iter(self.inputs))}' is changed, "
                "but the inputs follow from the path",
                "changes of the run",
                "leave it out",
            )
        return self.parameters, self.start


def settable_names(system: System, scenario: Scenario | None) -> dict[str, list[str]]:
    """Names that a run of a scenario can change: parameters, task, start values and inputs."""
    return {
        "parameters": [p.name for p in system.model.parameters],
        "task": [p.name for p in scenario.parameters] if scenario is not None else [],
        "start": list(units_by_name(system)),
        "inputs": [q.name for q in system.inputs],
    }


def split_changes(
    system: System, changes: Mapping[str, float | str], scenario: Scenario | None = None
) -> Changes:
    """Split changes into parameters, numbers of the task, start values and inputs.

    Any other name is refused, with the nearest one.
    """
    groups = settable_names(system, scenario)
    result: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for name, value in changes.items():
        group = next((g for g, names in groups.items() if name in names), None)
        if group is None:
            raise SimulationError(
                f"there is no parameter, start value or input '{name}'",
                f"model '{system.model.name}'",
                nearest(
                    name,
                    [n for names in groups.values() for n in names],
                    more="`noslip check` lists them",
                ),
            )
        if isinstance(value, str) and group != "inputs":
            raise SimulationError(
                f"'{name}' is given as the expression '{value}'",
                f"model '{system.model.name}'",
                "give a number; inputs alone may be expressions of t",
            )
        if not isinstance(value, str) and math.isnan(as_number(value)):
            raise SimulationError(
                f"'{name}' is {value!r}, which is not a number",
                f"model '{system.model.name}'",
                "give a number in SI units",
            )
        result[group][name] = value if isinstance(value, str) else float(value)
    return Changes(**result)


def scenario_start(
    scenario: Scenario, parameters: Mapping[str, float], *, motion: bool = False
) -> dict[str, float]:
    """Evaluate the start values of a scenario at t = 0; NaN where one has no finite value.

    Parameters
    ----------
    scenario : scenario of a checked model.
    parameters : values by name: parameters of the model, and those of the scenario that differ from
        its own.
    motion : whether the coordinates that the scenario's motion prescribes are included.
    """
    values = {"t": 0.0, **{p.name: p.value for p in scenario.parameters}, **parameters}
    for name, text in scenario.definitions.items():
        values[name] = nominal(text, values)
    given = {**scenario.motion, **scenario.start} if motion else scenario.start
    return {name: nominal(scalar, values) for name, scalar in given.items()}

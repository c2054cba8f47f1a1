"""What the changed numbers of a choice are for a model: parameters, start values, or neither."""

from __future__ import annotations

from noslip.engines.system import System
from noslip.model import expressions
from noslip.model.expressions import NUMBERS
from noslip.simulation.starts.completion import start_names
from noslip.studio.choosing.choice import Choice


def split_changes(system: System, choice: Choice) -> tuple[dict[str, float], dict[str, float]]:
    """Which changes are parameters and which start values; numbers of the scenario are neither."""
    known = {p.name for p in system.model.parameters}
    scenario = system.model.scenario
    task = {p.name for p in scenario.parameters} if scenario is not None else set()
    parameters = {n: x for n, x in choice.changes.items() if n in known}
    return parameters, {n: x for n, x in choice.changes.items() if n not in known | task}


def only_known(choice: Choice, system: System) -> Choice:
    """A choice without changes of names that the model does not have, as after it was edited."""
    scenario = system.model.scenario
    known = {p.name for p in system.model.parameters} | set(start_names(system))
    known |= {p.name for p in scenario.parameters} if scenario is not None else set()
    return choice.without(set(choice.changes) - known)


def scenario_start(system: System, choice: Choice) -> dict[str, float]:
    """The scenario's start values at the chosen parameters."""
    scenario = system.model.scenario
    if scenario is None:
        return {}
    values = system.model.parameter_values() | {p.name: p.value for p in scenario.parameters}
    values |= {n: x for n, x in choice.changes.items() if n in values}
    values["t"] = 0.0
    for name, text in scenario.definitions.items():
        values[name] = expressions.evaluate(expressions.parse(text), values, NUMBERS)
    return {
        name: float(expressions.evaluate(expressions.parse(value), values, NUMBERS))
        if isinstance(value, str)
        else float(value)
        for name, value in scenario.start.items()
    }

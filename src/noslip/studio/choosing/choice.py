"""`Choice`: everything one page has chosen, as plain frozen data; what a run is made from.

Options by name and typed values come from a browser and are checked here; `chosen_values` says what
the changed numbers are for a model: parameters, start values, or numbers of its scenario.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from noslip import Model, SimulationError, System
from noslip.analysis import scenario_start, split_changes
from noslip.base import nearest
from noslip.expressions import NUMBERS, ExpressionError, evaluate, parse
from noslip.formulations import known_formulations
from noslip.simulation import units_by_name
from noslip.studio.choosing.family_forms import FAMILIES, controller_labels, form_kinds

#: What the model can be asked to do → what the page calls it.
SCENARIO, INPUTS, PATH, DRIVE = "scenario", "inputs", "path", "drive"
TASKS = {
    SCENARIO: "Scenario of the model",
    INPUTS: "Inputs of your own",
    PATH: "Follow a path",
    DRIVE: "Drive it yourself",
}


#: Seconds of a run that has no length of its own.
DURATION = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run.

    Parameters
    ----------
    formulation : word of the method whose equations are run and shown.
    task : one of `TASKS`.
    changes : what was changed: parameters, numbers of the scenario, start values, by name.
    inputs : name → expression, for inputs of one's own.
    duration : s; None for the task's own.
    path, timing : kinds, with `numbers` for their sliders and `typed` for what is typed instead.
    points, closed : of a path that is drawn on the floor, m.
    reverse : drive the path backwards.
    controller : its word.
    friction : of the ground, for the audit's verdict; None for none.
    """

    formulation: str = "complement"
    task: str = SCENARIO
    changes: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    duration: float | None = None
    path: str = "circle"
    timing: str = "quintic"
    numbers: Mapping[str, float] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    points: tuple[tuple[float, float], ...] = ()
    closed: bool = False
    reverse: bool = False
    controller: str = "none"
    friction: float | None = None

    def with_changes(self, values: Mapping[str, float]) -> Choice:
        """The same with numbers changed."""
        return dataclasses.replace(self, changes={**self.changes, **values})

    def without(self, names: set[str]) -> Choice:
        """The same with some changes undone."""
        kept = {n: x for n, x in self.changes.items() if n not in names}
        return dataclasses.replace(self, changes=kept)


def first_choice(model: Model) -> Choice:
    """The scenario of a model, or its start with inputs of zero."""
    scenario = model.scenario
    inputs = {i.name: "0" for i in model.inputs} | {i.name: "0" for i in model.speed_inputs}
    if scenario is not None:
        inputs |= {name: _text(value) for name, value in scenario.inputs.items()}
    return Choice(
        task=SCENARIO if scenario is not None else INPUTS,
        inputs=inputs,
        typed={"path": "spline:points=0,0,4,1,8,-1,12,0", "timing": "quintic:20"},
    )


def adapted_choice(choice: Choice, before: Choice, fresh: Choice) -> Choice:
    """Adapt a choice to another version of its model.

    What was typed or moved is kept; numbers that have no place any more are left out when it runs.

    Parameters
    ----------
    before, fresh : the first choices of the old and the new version.
    """
    typed = {n: x for n, x in choice.inputs.items() if x != before.inputs.get(n)}
    inputs = {name: typed.get(name, text) for name, text in fresh.inputs.items()}
    is_lost = choice.task == SCENARIO and fresh.task != SCENARIO
    return dataclasses.replace(choice, inputs=inputs, task=fresh.task if is_lost else choice.task)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else repr(value)


def number_or_text(text: str) -> float | str:
    """The number where a typed input is one, so that nothing is compiled for it; else the text."""
    try:
        return float(text)
    except ValueError:
        return text


#: Options of a choice that are words → the words there are; formulations may come from plugins.
WORDS: dict[str, tuple[str, ...]] = {
    "task": tuple(TASKS),
}


def check_options(options: Mapping[str, object]) -> None:
    """Refuse words that no list of the page has; a browser can send anything."""
    members = {family: form_kinds(family) for family in FAMILIES if family in options}
    if "controller" in options:
        members["controller"] = tuple(controller_labels())
    if "formulation" in options:
        members["formulation"] = tuple(known_formulations())
    for key, value in options.items():
        known = (WORDS | members).get(key)
        if known is not None and value not in known:
            raise SimulationError(f"there is no {key} '{value}'", key, nearest(str(value), known))


def read_assignment(text: str, known: Mapping[str, float]) -> tuple[str, float]:
    """Name and number of ``name = value``, as ``--set`` takes it.

    Parameters
    ----------
    text : what was typed; the value may be an expression.
    known : numbers that the expression may use.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise SimulationError(f"'{text}' is not NAME=VALUE", "set", "write for example r=0.1")
    try:
        tree = parse(value)
        return name, float(evaluate(tree, dict(known), NUMBERS))
    except (ExpressionError, ArithmeticError, ValueError) as error:
        raise SimulationError(
            f"the value '{value}' cannot be read: {error}", "set", "write a number"
        ) from None
    except KeyError as error:
        raise SimulationError(
            f"the value '{value}' uses {error}, which is not known",
            "set",
            nearest(str(error).strip("'"), known),
        ) from None


def chosen_values(system: System, choice: Choice) -> tuple[dict[str, float], dict[str, float]]:
    """Changed parameters and changed start values; numbers of the scenario are neither."""
    return split_changes(system, choice.changes, system.model.scenario).parameters_and_start()


def only_known(choice: Choice, system: System) -> Choice:
    """A choice without changes of names that the model does not have, as after it was edited."""
    scenario = system.model.scenario
    known = {p.name for p in system.model.parameters} | set(units_by_name(system))
    known |= {p.name for p in scenario.parameters} if scenario is not None else set()
    return choice.without(set(choice.changes) - known)


def chosen_start(system: System, choice: Choice) -> dict[str, float]:
    """The scenario's start values at the chosen parameters."""
    scenario = system.model.scenario
    if scenario is None:
        return {}
    values = system.model.parameter_values() | {p.name: p.value for p in scenario.parameters}
    values |= {n: x for n, x in choice.changes.items() if n in values}
    return scenario_start(scenario, values)

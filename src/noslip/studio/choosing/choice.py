"""`Choice`: everything one page has chosen, as plain frozen data; what a run is made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from noslip.formulations.base import AbstractFormulation
from noslip.formulations.vakonomic import Vakonomic
from noslip.formulations.verify import FORMULATIONS
from noslip.model.model import Model

#: What the model can be asked to do → what the page calls it.
SCENARIO, INPUTS, PATH, DRIVE = "scenario", "inputs", "path", "drive"
TASKS = {
    SCENARIO: "Scenario of the model",
    INPUTS: "Inputs of your own",
    PATH: "Follow a path",
    DRIVE: "Drive it yourself",
}

#: Word of a formulation → the formulation.
WAYS: dict[str, AbstractFormulation] = {f.word: f for f in (*FORMULATIONS, Vakonomic())}

#: Seconds of a run that has no length of its own.
DURATION = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to run.

    Parameters
    ----------
    formulation : word of the method whose equations are run and shown.
    task : one of `TASKS`.
    changes : what was changed: parameters, numbers of the scenario, start values, by name.
    inputs : name → expression, for inputs of one's own.
    duration : s; None for the task's own.
    path, timing : kinds, with `numbers` for their sliders and `typed` for what is typed instead.
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
    reverse: bool = False
    controller: str = "none"
    friction: float | None = None

    def with_changes(self, values: Mapping[str, float]) -> Choice:
        """The same with numbers changed."""
        return dataclasses.replace(self, changes={**self.changes, **values})

    def without(self, names: set[str]) -> Choice:
        """The same with some changes taken back."""
        kept = {n: x for n, x in self.changes.items() if n not in names}
        return dataclasses.replace(self, changes=kept)


def first_choice(model: Model) -> Choice:
    """What a page shows of a model before anything is touched."""
    scenario = model.scenario
    inputs = {i.name: "0" for i in model.inputs} | {i.name: "0" for i in model.speed_inputs}
    if scenario is not None:
        inputs |= {name: _text(value) for name, value in scenario.inputs.items()}
    return Choice(
        task=SCENARIO if scenario is not None else INPUTS,
        inputs=inputs,
        typed={"path": "spline:points=0,0,4,1,8,-1,12,0", "timing": "quintic:20"},
    )


def kept_choice(choice: Choice, old: Model, new: Model) -> Choice:
    """A choice for another version of a model.

    What was typed or moved is kept; numbers that have no place any more are left out when it runs.
    """
    before, fresh = first_choice(old), first_choice(new)
    typed = {n: x for n, x in choice.inputs.items() if x != before.inputs.get(n)}
    inputs = {name: typed.get(name, text) for name, text in fresh.inputs.items()}
    task = fresh.task if new.scenario is None and choice.task == SCENARIO else choice.task
    return dataclasses.replace(choice, inputs=inputs, task=task)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else repr(value)

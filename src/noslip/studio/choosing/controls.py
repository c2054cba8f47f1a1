"""Knobs of a page for a choice, group by group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from noslip import System, Trajectory
from noslip.show import Knob, parameter_knobs, ranged
from noslip.studio.choosing.choice import DURATION, INPUTS, PATH, SCENARIO, Choice, chosen_start
from noslip.studio.choosing.forms import form_knobs
from noslip.studio.choosing.knobs import start_knobs

#: Groups of knobs, in the order of the page.
PARAMETERS, TASK, START = "parameters", "task", "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """Knobs by group.

    Parameters
    ----------
    groups : group → knobs.
    inputs : names and units of inputs that are typed as expressions.
    """

    groups: dict[str, tuple[Knob, ...]]
    inputs: tuple[tuple[str, str], ...] = ()

    def find(self, name: str) -> tuple[str, Knob] | None:
        """Group and knob of a name."""
        for group, knobs in self.groups.items():
            for knob in knobs:
                if knob.name == name:
                    return group, knob
        return None

    def names(self, group: str) -> set[str]:
        """Names of a group."""
        return {knob.name for knob in self.groups.get(group, ())}


def make_controls(
    system: System, choice: Choice, run: Trajectory | None, length: float
) -> Controls:
    """The knobs of a choice.

    Parameters
    ----------
    system : compiled system.
    choice : what is run.
    run : the run with no start value touched; None where there is none, as after a fault.
    length : of the model, m.
    """
    model = system.model
    scenario = model.scenario
    groups = {PARAMETERS: parameter_knobs(model.parameters)}
    task: list[Knob] = []
    duration = scenario.duration if scenario is not None else DURATION
    if choice.task == SCENARIO and scenario is not None:
        task += parameter_knobs(scenario.parameters)
    if choice.task == PATH:
        task += form_knobs("path", choice.path, length)
        task += form_knobs("timing", choice.timing, length)
    if choice.task in (SCENARIO, INPUTS):
        task.append(ranged("duration", "s", duration, duration / 10, 3 * duration))
    groups[TASK] = tuple(task)
    if run is not None and len(run.t):
        is_prescribed = choice.task == SCENARIO and scenario is not None and scenario.has_reference
        given = {} if choice.task == PATH or is_prescribed else chosen_start(system, choice)
        groups[START] = start_knobs(system, run, given, speeds=not is_prescribed)
    inputs: tuple[tuple[str, str], ...] = ()
    if choice.task == INPUTS:
        num = len(model.inputs) + len(model.speed_inputs)
        inputs = tuple((q.name, q.unit) for q in system.inputs[:num])
    return Controls(groups=groups, inputs=inputs)


def widened(controls: Controls, name: str, value: float) -> Controls:
    """The same knobs with the range of one made to hold a value."""
    groups = {
        group: tuple(k.widened(value) if k.name == name else k for k in knobs)
        for group, knobs in controls.groups.items()
    }
    return dataclasses.replace(controls, groups=groups)

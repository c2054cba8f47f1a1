"""Which knobs a page has for a choice, group by group; paths and timing laws have some too."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass

from noslip.control.paths.text import PATHS
from noslip.control.timing.text import TIMINGS
from noslip.engines.system import System
from noslip.simulation.trajectory import Trajectory
from noslip.studio.choosing.choice import (
    DURATION,
    INPUTS,
    PATH,
    SCENARIO,
    TYPED,
    Choice,
    scenario_start,
)
from noslip.studio.choosing.knobs import Knob, parameter_knobs, ranged, start_knobs

#: Numbers of a path in lengths of the model, and of a timing law in lengths and seconds.
_LENGTHS = {
    **{"radius": 4.0, "half_width": 6.0, "half_height": 3.0, "extent": 24.0, "amplitude": 2.0},
    **{"x0": 10.0, "length": 20.0, "speed": 1.0, "acceleration": 0.5, "jerk": 0.5},
}
_BENDS = {"wave_number": 0.5, "start_curvature": 0.0, "end_curvature": 0.25}
_UNITS = {
    **{"wave_number": "rad/m", "start_curvature": "1/m", "end_curvature": "1/m", "turns": "1"},
    **{"speed": "m/s", "acceleration": "m/s^2", "jerk": "m/s^3", "duration": "s"},
    **{"start_angle": "rad", "start_heading": "rad"},
}


def form_knobs(family: str, kind: str, length: float) -> tuple[Knob, ...]:
    """Sliders for the numbers of a path or a timing law.

    Parameters
    ----------
    family : ``path`` or ``timing``.
    kind : its word; `TYPED` has no sliders.
    length : of the model, m, which sets the sizes.
    """
    if kind == TYPED:
        return ()
    members: Mapping[str, type] = PATHS if family == "path" else TIMINGS
    knobs = []
    for name, argument in inspect.signature(members[kind]).parameters.items():
        if argument.annotation != "float":
            continue
        value = argument.default
        if value is argument.empty:
            value = _LENGTHS.get(name, 0.0) * length + _BENDS.get(name, 0.0) / length
            value = float(f"{20.0 if name == 'duration' else value:.1g}")
        unit = _UNITS.get(name, "m")
        if unit == "rad":
            ends = (-math.pi, math.pi)
        elif unit == "1":
            ends = (0.25, 4.0)
        elif name.endswith("curvature"):
            ends = (-0.5 / length, 0.5 / length)
        else:
            ends = (value / 5, 5 * value)
        knobs.append(ranged(f"{family}.{name}", unit, float(value), *ends))
    return tuple(knobs)


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
        is_prescribed = choice.task == SCENARIO and scenario is not None and bool(scenario.motion)
        given = {} if choice.task == PATH or is_prescribed else scenario_start(system, choice)
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

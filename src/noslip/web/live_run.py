"""A scenario that a page repeats: its module, and the numbers that a reader may change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noslip import (
    Model,
    NoslipError,
    Scenario,
    SimulationError,
    System,
    Trajectory,
    compile,
    derive,
    load,
)
from noslip.analysis import scenario_start
from noslip.base import nearest
from noslip.expressions import nominal
from noslip.show import Knob
from noslip.simulation import PortableRun, known_columns
from noslip.web.picture import traced_picture

#: Knobs of a page unless they are chosen, and curves.
MOST_KNOBS, MOST_CURVES = 6, 3
#: Pictures a second that a page interpolates between, and bounds of their number.
RATE, FEWEST, MOST = 60.0, 121, 1201
#: Settings at which completed starts are compared with Python's.
TRIALS = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LiveKnob:
    """A number that a reader may change.

    Parameters
    ----------
    knob : its range.
    kind : ``parameters``, ``start``, ``inputs`` or ``numbers``: where a run takes it.
    """

    knob: Knob
    kind: str

    def data(self) -> dict[str, Any]:
        """As a page reads it."""
        k = self.knob
        return {
            "name": k.name,
            "kind": self.kind,
            "label": k.label,
            "description": k.description,
            "scale": k.scale,
            "value": k.value,
            "lower": k.lower,
            "upper": k.upper,
            "step": k.step,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LiveRun:
    """A run that a page repeats.

    Parameters
    ----------
    system : compiled.
    scenario : what is run.
    values : of the model's parameters, by name.
    portable : its module.
    knobs : what may be changed.
    plots : columns that are drawn at first.
    choices : columns that may be drawn.
    source : name or file of the model, for commands.
    drive : inputs that a reader drives with, and the largest value of each.
    """

    system: System
    scenario: Scenario
    values: Mapping[str, float]
    portable: PortableRun
    knobs: tuple[LiveKnob, ...]
    plots: tuple[str, ...]
    choices: tuple[str, ...]
    source: str
    drive: tuple[tuple[str, float], ...] = ()


def live_run(
    thing: Model | System | Trajectory | str,
    *,
    knobs: Sequence[str] | Mapping[str, tuple[float, float] | None] = (),
    plots: Sequence[str] = (),
    drive: Sequence[str] = (),
    duration: float | None = None,
    rtol: float = 1e-9,
    with_picture: bool = True,
) -> LiveRun:
    """The run of a model's scenario, or of a run, as a page repeats it.

    Parameters
    ----------
    thing : a model, its name or file, a compiled system, or a run.
    knobs : names of what may be changed, or their ranges by name; a few by default.
    plots : columns that are drawn; a few by default.
    drive : one or two inputs that a reader drives with; nobody drives in the run itself.
    duration : s; the scenario's own by default.
    rtol : tolerance of the integration.
    with_picture : whether poses of the bodies are kept.

    Raises
    ------
    SimulationError : where the run cannot be repeated in a page.
    """
    system, scenario, values, source = _read(thing)
    where = f"live page of model '{system.model.name}'"
    if scenario.motion or scenario.is_controlled:
        raise SimulationError(
            "the inputs of this scenario follow from a motion or a path, which Python computes",
            where,
            "share a scenario with inputs of its own, or make a player: noslip animate",
        )
    if scenario.contact != "ideal":
        raise SimulationError(
            "contacts of this scenario slide, lift off and land, which a page does not",
            where,
            'share it with contact = "ideal", or make a player: noslip animate',
        )
    task = {p.name: p.value for p in scenario.parameters}
    start = scenario_start(scenario, {**values, **task})
    driven = _driven(system, scenario, values, drive, where)
    taken = set(dict(driven)).intersection(knobs)
    if taken:
        raise SimulationError(
            f"input '{min(taken)}' is a knob and is driven", where, "choose one of both"
        )
    chosen = _knobs(system, scenario, values, start, knobs, where)
    chosen = tuple(each for each in chosen if each.knob.name not in dict(driven))
    for each in chosen:
        if each.kind == "start":
            start.setdefault(each.knob.name, each.knob.value)
    texts = {
        name: text
        for name, text in scenario.start.items()
        if isinstance(text, str) and name in start and not _task_names(text, task)
    }
    inputs: dict[str, Any] = dict(scenario.inputs)
    for each in chosen:
        if each.kind == "inputs":
            inputs[each.knob.name] = each.knob.value
    inputs |= dict.fromkeys(dict(driven), 0.0)
    time = float(scenario.duration if duration is None else duration)
    known = known_columns(system, None)
    choices = tuple(n for n in (*_columns(system), *scenario.outputs) if n in known)
    shown = tuple(plots) or _default_plots(system, choices)
    for name in shown:
        if name not in known and name not in scenario.outputs:
            raise SimulationError(f"there is no column '{name}'", where, nearest(name, known))
    choices = tuple(dict.fromkeys((*choices, *shown)))
    portable = PortableRun.of(
        system,
        duration=time,
        start=start,
        texts=texts,
        picture=traced_picture if with_picture else None,
        trials=_trials(chosen, start, values),
        parameters=dict(values),
        inputs=inputs,
        definitions={**task, **scenario.definitions},
        stop=dict(scenario.stop),
        outputs=dict(scenario.outputs),
        columns=(*choices, "kinetic_energy", "potential_energy", "work"),
        samples=int(np.clip(np.ceil(time * RATE) + 1, FEWEST, MOST)),
        rtol=rtol,
        atol=rtol,
    )
    ran = dataclasses.replace(scenario, duration=time)
    return LiveRun(
        system=system,
        scenario=ran,
        values=values,
        portable=portable,
        knobs=chosen,
        plots=shown,
        choices=choices,
        source=source,
        drive=driven,
    )


def _driven(
    system: System,
    scenario: Scenario,
    values: Mapping[str, float],
    names: Sequence[str],
    where: str,
) -> tuple[tuple[str, float], ...]:
    """Inputs to drive with, up to what the scenario makes of each, or 1."""
    if len(names) > 2:
        raise SimulationError(
            f"{len(names)} inputs are to be driven", where, "give one or two: two keys have each"
        )
    known = [
        q.name for q in system.inputs[: len(system.model.inputs) + len(system.model.speed_inputs)]
    ]
    known_values = {**values, **{p.name: p.value for p in scenario.parameters}}
    found = []
    for name in names:
        if name not in known:
            raise SimulationError(f"there is no input '{name}'", where, nearest(name, known))
        scalar = scenario.inputs.get(name, 0.0)
        times = np.linspace(0.0, scenario.duration, 201).tolist()
        try:
            sizes = [abs(nominal(scalar, {**known_values, "t": t})) for t in times]
        except NoslipError:  # it uses definitions, or what the motion makes
            sizes = [1.0]
        largest = float(np.nanmax(sizes, initial=0.0))
        found.append((name, largest or 1.0))
    return tuple(found)


def _read(
    thing: Model | System | Trajectory | str,
) -> tuple[System, Scenario, dict[str, float], str]:
    """System, scenario, values of parameters, and what commands call the model."""
    if isinstance(thing, Trajectory):
        system = compile(derive(thing.model))
        scenario = thing.scenario
        if scenario is None:
            raise SimulationError(
                "the run is of no scenario, so its inputs are unknown",
                f"live page of model '{thing.model.name}'",
                "share a model, or a run of noslip.run_scenario or noslip run",
            )
        values = {p.name: thing.parameters[p.name] for p in thing.model.parameters}
        return system, scenario, values, thing.model.name
    source = thing if isinstance(thing, str) else ""
    if not isinstance(thing, System):
        thing = compile(derive(load(thing) if isinstance(thing, str) else thing))
    scenario = thing.model.scenario
    if scenario is None:
        raise SimulationError(
            "the model has no scenario",
            f"live page of model '{thing.model.name}'",
            "write a [scenario] into the model, with its start, inputs and duration",
        )
    values = thing.model.parameter_values()
    return thing, scenario, values, source or thing.model.name


def _task_names(text: str, task: Mapping[str, float]) -> bool:
    """Whether a text may use numbers of the task."""
    return any(name in text for name in task)


def _columns(system: System) -> list[str]:
    """Columns that a reader may choose: angles, coordinates and speeds by name."""
    angles = [
        f"{joint.name}.{name}"
        for joint in system.model.joints
        if (named := joint.type.named_angles()) is not None
        for name in named.names
    ]
    quaternions = {
        system.coordinates[k + i].name
        for k in system.kinematics.probe.quaternions
        for i in range(4)
    }
    coordinates = [q.name for q in system.coordinates if q.name not in quaternions]
    speeds = [q.name for q in (*system.independent_speeds, *system.speeds)]
    inputs = [q.name for q in system.model.inputs]
    return list(dict.fromkeys([*angles, *coordinates, *speeds, *inputs]))


def _default_plots(system: System, choices: Sequence[str]) -> tuple[str, ...]:
    """A few curves: angles and joints first, places of a base last."""
    far = (".x", ".y", ".z")
    first = [name for name in choices if not name.endswith(far)]
    return tuple(first[:MOST_CURVES]) or tuple(choices[:MOST_CURVES])


def _knobs(
    system: System,
    scenario: Scenario,
    values: Mapping[str, float],
    start: Mapping[str, float],
    asked: Sequence[str] | Mapping[str, tuple[float, float] | None],
    where: str,
) -> tuple[LiveKnob, ...]:
    """Numbers that may be changed: those that are named, or a few."""
    found = {
        **_kind("numbers", scenario.parameters, {}),
        **_input_knobs(system, scenario),
        **{k: LiveKnob(knob=x, kind="start") for k, x in _start_knobs(system, start).items()},
    }
    texts = {name for name, value in scenario.start.items() if isinstance(value, str)}
    moving = [k for k, x in found.items() if x.kind != "start" or (x.knob.value and k not in texts)]
    parameters = _kind("parameters", system.model.parameters, values)
    if not asked:
        free = [k for k in parameters if values[k]]
        first = [*moving, *[k for k in free if k not in moving]][:MOST_KNOBS]
        return tuple((found | parameters)[name] for name in first)
    found |= parameters
    chosen = []
    for name in asked:
        if name in scenario.inputs and isinstance(scenario.inputs[name], str):
            raise SimulationError(
                f"input '{name}' is the expression '{scenario.inputs[name]}', which no slider has",
                where,
                "choose a parameter that it uses, or give a number as the input",
            )
        if name not in found:
            raise SimulationError(
                f"there is no number '{name}' to change", where, nearest(name, list(found))
            )
        each = found[name]
        ends = asked[name] if isinstance(asked, Mapping) else None
        if ends is not None:
            lower, upper = ends
            if not lower < upper or not np.isfinite([lower, upper]).all():
                raise SimulationError(
                    f"the range of knob '{name}' is {lower:g} to {upper:g}",
                    where,
                    "give a smaller number, and a larger one",
                )
            own = each.knob
            value = min(max(own.value, lower), upper)
            knob = Knob.ranged(name, own.unit, value, lower, upper, own.description)
            each = dataclasses.replace(each, knob=knob)
        chosen.append(each)
    return tuple(chosen)


def _kind(kind: str, parameters: Any, values: Mapping[str, float]) -> dict[str, LiveKnob]:
    """Knobs of parameters, about the values that they have."""
    now = [dataclasses.replace(p, value=values.get(p.name, p.value)) for p in parameters]
    return {k.name: LiveKnob(knob=k, kind=kind) for k in Knob.of_parameters(now)}


def _input_knobs(system: System, scenario: Scenario) -> dict[str, LiveKnob]:
    """Knobs of inputs that are numbers."""
    found = {}
    for quantity in system.inputs:
        value = scenario.inputs.get(quantity.name, 0.0)
        if isinstance(value, str):
            continue
        size = 3 * abs(value) or 1.0
        knob = Knob.ranged(quantity.name, quantity.unit, float(value), -size, size)
        if quantity.name in scenario.inputs or quantity in system.model.inputs:
            found[quantity.name] = LiveKnob(knob=knob, kind="inputs")
    given = {k: x for k, x in found.items() if scenario.inputs.get(k)}
    return given | found


def _start_knobs(system: System, start: Mapping[str, float]) -> dict[str, Knob]:
    """Knobs of start values, those that are given first."""
    known = {q.name: q for q in (*system.coordinates, *system.speeds, *system.independent_speeds)}
    found = {}
    for name in (*start, *(n for n in known if n not in start)):
        value, quantity = start.get(name, 0.0), known.get(name)
        unit = "rad/s" if name.endswith("_rate") else "rad"
        reach = 2 * abs(value)
        lower = -reach if quantity is None else min(quantity.lower, -reach)
        upper = reach if quantity is None else max(quantity.upper, reach)
        if not np.isfinite([lower, upper]).all() or lower == upper:
            lower, upper = -max(reach, 1.0), max(reach, 1.0)
        text = "" if quantity is None else quantity.description
        found[name] = Knob.ranged(
            name, unit if quantity is None else quantity.unit, value, lower, upper, text
        )
    return found


def _trials(
    knobs: Sequence[LiveKnob], start: Mapping[str, float], values: Mapping[str, float]
) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Parameters and start values as they are, and all over the ranges of knobs."""
    rng = np.random.default_rng(11)
    found = [(dict(values), dict(start))]
    for _ in range(TRIALS):
        own, begin = dict(values), dict(start)
        for each in knobs:
            value = float(rng.uniform(each.knob.lower, each.knob.upper))
            if each.kind == "parameters":
                own[each.knob.name] = value
            elif each.kind == "start":
                begin[each.knob.name] = value
        found.append((own, begin))
    return found

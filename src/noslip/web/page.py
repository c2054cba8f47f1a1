"""A live page as one file, and a module with the program that drives it.

**What a page draws: meshes on bodies, and poses of the bodies as columns of a run.**

**A scenario that a page repeats: its module, and the numbers that a reader may change.**
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, overload

import casadi as ca
import numpy as np

from noslip import (
    Model,
    NoslipError,
    Parameter,
    Scenario,
    SimulationError,
    System,
    Trajectory,
    __version__,
    compile,
    derive,
    load,
    run_scenario,
)
from noslip.analysis import scenario_start
from noslip.base import nearest, write_atomically
from noslip.expressions import nominal
from noslip.kinematics import twists
from noslip.model import WORLD, model_to_toml
from noslip.scene import Scene, scene
from noslip.show import Knob, equations_html
from noslip.simulation import PortableRun, known_columns

#: A vertex follows a parameter in proportion, up to this part of the size of the scene.
STRAIGHT = 1e-5


def traced_picture(system: System) -> Mapping[str, ca.SX]:
    """Columns: R_WB by rows and origin of each body, contact points, and what proves a run.

    ``residual`` is the largest of all rows; ``rate`` the rate of each wheel that is only drawn.
    """
    kin = system.kinematics
    nodes = {node.body.name: node for node in kin.tree.nodes}
    found: dict[str, ca.SX] = {}
    for body in system.model.bodies:
        node = nodes[body.name]
        found[f"pose.{body.name}"] = ca.vertcat(ca.reshape(node.R_WB.T, 9, 1), node.p_WB)
    for trace in kin.contacts:
        found[f"contact.{trace.contact.name}"] = ca.densify(kin.at_speeds(trace.point))
    rows = kin.row_values
    largest = ca.SX(0)
    for k in range(rows.shape[0]):
        largest = ca.fmax(largest, ca.fabs(rows[k]))
    found["residual"] = largest
    known = dict(zip((n.body.name for n in kin.tree.nodes), twists(kin.tree, kin.v), strict=True))
    for roller in scene(system.model).rollers:
        node = nodes[roller.body]
        w, v = known[roller.body]
        axis = ca.mtimes(node.R_WB, ca.DM(roller.axis))
        normal = ca.DM(roller.normal)
        heading = ca.cross(axis, normal)
        omega = ca.mtimes(node.R_WD, w)
        # velocity of the wheel's center: that of the body frame's origin, and of the arm
        arm = ca.mtimes(node.R_WB, ca.DM(roller.center))
        velocity = ca.mtimes(node.R_WD, v) + ca.cross(omega, arm)
        touching = velocity - ca.cross(omega, roller.radius * normal)
        found[f"rate.{roller.name}"] = (
            ca.dot(heading, touching) / ca.norm_2(heading) / roller.radius
        )
    return found


def scene_data(system: System, values: Mapping[str, float], knobs: Sequence[Any]) -> dict[str, Any]:
    """The scene as a page reads it: parts with their vertices, and how they follow parameters."""
    now = scene(system.model, values)
    slopes, curved = _slopes(system, values, knobs, now)
    parts = []
    for k, part in enumerate(now.parts):
        parts.append(
            {
                "body": "" if part.body == WORLD else part.body,
                "roller": part.roller,
                "color": list(part.color),
                "isGround": part.is_ground,
                "vertices": _text(part.vertices, np.float32),
                "faces": _text(part.faces, np.uint32 if len(part.vertices) > 65535 else np.uint16),
                "isWide": len(part.vertices) > 65535,
                "shades": None if part.shades is None else _text(part.shades, np.uint8),
                "slopes": {
                    name: _text(found[k], np.float32)
                    for name, found in slopes.items()
                    if np.any(found[k])
                },
            }
        )
    return {
        "bodies": list(now.bodies),
        "parts": parts,
        "rollers": [
            {"name": r.name, "body": r.body, "center": r.center.tolist(), "axis": r.axis.tolist()}
            for r in now.rollers
        ],
        "grounds": [
            {"R": np.asarray(g.rotation).ravel().tolist(), "p": np.asarray(g.position).tolist()}
            for g in now.grounds
            if g.body == WORLD
        ],
        "length": now.length,
        "up": np.asarray(now.up).tolist(),
        "isCurved": now.is_curved,
        "contacts": [trace.contact.name for trace in system.kinematics.contacts],
        "fixedShapes": curved,
    }


def _slopes(
    system: System, values: Mapping[str, float], knobs: Sequence[Any], now: Scene
) -> tuple[dict[str, list[np.ndarray]], list[str]]:
    """Rates of vertices by the parameters that they follow; parameters that they follow otherwise.

    Boxes, cylinders, spheres and wheels follow their sizes and places in proportion.
    """
    slopes: dict[str, list[np.ndarray]] = {}
    curved = []
    for each in knobs:
        if each.kind != "parameters":
            continue
        knob, name = each.knob, each.knob.name
        ends = [_vertices(system, {**values, name: end}, now) for end in (knob.lower, knob.upper)]
        if ends[0] is None or ends[1] is None:
            curved.append(name)
            continue
        rate = [(b - a) / (knob.upper - knob.lower) for a, b in zip(*ends, strict=True)]
        if not any(np.any(np.abs(x) * (knob.upper - knob.lower) > 1e-9) for x in rate):
            continue
        step = knob.lower - values[name]
        off = max(
            (
                float(np.max(np.abs(a - p.vertices - step * x), initial=0.0))
                for a, p, x in zip(ends[0], now.parts, rate, strict=True)
            ),
            default=0.0,
        )
        if off > STRAIGHT * max(now.length, 1e-9):
            curved.append(name)
        else:
            slopes[name] = rate
    return slopes, curved


def _vertices(system: System, values: Mapping[str, float], like: Scene) -> list[np.ndarray] | None:
    """Vertices of all parts with other parameters; None where there are others."""
    try:
        found = scene(system.model, values).parts
    except NoslipError:
        return None
    if [len(p.vertices) for p in found] != [len(p.vertices) for p in like.parts]:
        return None
    return [np.asarray(p.vertices, float) for p in found]


def _text(array: np.ndarray, kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")


#: Knobs of a page unless they are chosen, and curves.
MOST_KNOBS, MOST_CURVES = 6, 3
#: Pictures a second that a page interpolates between, and bounds of their number.
RATE, FEWEST, MOST = 60.0, 121, 1201
#: Settings at which completed starts are compared with Python's.
TRIALS = 12
#: Tolerance of a scenario, unless another is asked for.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LiveKnob:
    """A number that a reader may change."""

    knob: Knob  #: knob with its range
    kind: str  #: ``parameters``, ``start``, ``inputs`` or ``numbers``: where a run takes it

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
    """A run that a page repeats."""

    system: System  #: compiled
    scenario: Scenario  #: scenario that is run
    values: Mapping[str, float]  #: values of the model's parameters, by name
    portable: PortableRun  #: module of the run
    knobs: tuple[LiveKnob, ...]  #: knobs that may be changed
    plots: tuple[str, ...]  #: columns that are drawn at first
    choices: tuple[str, ...]  #: columns that may be drawn
    source: str  #: name or file of the model, for commands
    #: inputs that a reader drives with, and the largest value of each
    drive: tuple[tuple[str, float], ...] = ()
    law: Any = None  #: law that gives all inputs, if one does
    #: inputs, start: inputs and start as the page begins
    inputs: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    tolerances: Mapping[str, float] = field(default_factory=dict)  #: tolerances of the integration


def live_run(
    thing: Model | System | Trajectory | str,
    *,
    knobs: Sequence[str] | Mapping[str, tuple[float, float] | None] = (),
    plots: Sequence[str] = (),
    drive: Sequence[str] = (),
    duration: float | None = None,
    rtol: float | None = None,
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
    rtol : tolerance of the integration; that of the run by default.
    with_picture : whether poses of the bodies are kept.

    Raises
    ------
    SimulationError : where the run cannot be repeated in a page.
    """
    asked = _asked(thing, duration)
    system, scenario, values = asked.system, asked.scenario, asked.values
    where = f"live page of model '{system.model.name}'"
    task = {p.name: p.value for p in scenario.parameters}
    start = dict(asked.start)
    driven = _driven(system, scenario, values, drive, where) if drive else ()
    taken = set(dict(driven)).intersection(knobs)
    if taken:
        raise SimulationError(
            f"input '{min(taken)}' is a knob and is driven", where, "choose one of both"
        )
    if driven and asked.law is not None:
        raise SimulationError(
            f"input '{driven[0][0]}' is to be driven, but a law gives it", where, "leave drive out"
        )
    chosen = _knobs(asked, knobs, where)
    chosen = tuple(each for each in chosen if each.knob.name not in dict(driven))
    for each in chosen:
        if each.kind == "start":
            start.setdefault(each.knob.name, each.knob.value)
    texts = {
        name: text
        for name, text in asked.texts.items()
        if name in start and not _task_names(text, task)
    }
    inputs: Any = asked.law
    if asked.law is None:
        inputs = dict(asked.inputs)
        for each in chosen:
            if each.kind == "inputs":
                inputs[each.knob.name] = each.knob.value
        inputs |= dict.fromkeys(dict(driven), 0.0)
    time = scenario.duration
    law = None if asked.law is None else asked.law.generator(system)
    if law is not None:
        law.require_traced("a live page")
    known = known_columns(system, law)
    choices = tuple(n for n in (*_columns(system), *scenario.outputs) if n in known)
    shown = tuple(plots) or _default_plots(system, choices)
    for name in shown:
        if name not in known and name not in scenario.outputs:
            raise SimulationError(f"there is no column '{name}'", where, nearest(name, known))
    choices = tuple(dict.fromkeys((*choices, *shown)))
    tolerances = asked.tolerances if rtol is None else {"rtol": rtol, "atol": rtol}
    portable = PortableRun.of(
        system,
        duration=time,
        start=start,
        texts=texts,
        picture=traced_picture if with_picture else None,
        trials=_trials(chosen, start, values, texts),
        parameters=dict(values),
        inputs=inputs,
        definitions={**scenario.definitions, **task},
        stop=dict(scenario.stop),
        outputs=dict(scenario.outputs),
        columns=(*choices, "kinetic_energy", "potential_energy", "work"),
        samples=int(np.clip(np.ceil(time * RATE) + 1, FEWEST, MOST)),
        **tolerances,
        **asked.options,
    )
    return LiveRun(
        system=system,
        scenario=scenario,
        values=values,
        portable=portable,
        knobs=chosen,
        plots=shown,
        choices=choices,
        source=asked.source,
        drive=driven,
        law=asked.law,
        inputs=inputs if asked.law is None else {},
        start=start,
        tolerances=tolerances,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a page repeats, however it was asked for."""

    system: System  #: system that moves
    scenario: Scenario  #: scenario with duration, stops, outputs, definitions and numbers
    values: Mapping[str, float]  #: parameters by name
    start: Mapping[str, float]  #: start values by name
    texts: Mapping[str, str]  #: start values that follow from the parameters
    inputs: Mapping[str, Any]  #: inputs by name, unless a law gives them
    law: Any  #: law with the parameters that it knows, whatever those of the page are
    #: tolerances, options: settings of the integration
    tolerances: Mapping[str, float]
    options: Mapping[str, Any]
    source: str  #: name or file of the model, for commands; empty if none says it


def _asked(thing: Model | System | Trajectory | str, duration: float | None) -> _Asked:
    """What a page of a thing repeats."""
    if isinstance(thing, Trajectory):
        if thing.request is not None:
            return _asked_again(thing, duration, thing.model.name)
        system, scenario = compile(derive(thing.model)), thing.scenario
        where = f"live page of model '{thing.model.name}'"
        if scenario is None:
            raise SimulationError(
                "the run is of no scenario, so its inputs are unknown",
                where,
                "share a model, or a run of this session: of noslip.simulate, track or follow",
            )
        values = {p.name: thing.parameters[p.name] for p in thing.model.parameters}
        source = thing.model.name
        if scenario.motion or scenario.is_controlled:
            changes = {n: x for n, x in values.items() if x != thing.model.parameter_values()[n]}
            again = run_scenario(system, changes=changes, duration=duration)
            return _asked_again(again, duration, source)
    else:
        source = thing if isinstance(thing, str) else ""
        if not isinstance(thing, System):
            thing = compile(derive(load(thing) if isinstance(thing, str) else thing))
        system, scenario, values = thing, thing.model.scenario, thing.model.parameter_values()
        source = source or thing.model.name
        where = f"live page of model '{thing.model.name}'"
        if scenario is None:
            raise SimulationError(
                "the model has no scenario",
                where,
                "write a [scenario] into the model, with its start, inputs and duration",
            )
        if scenario.contact == "ideal" and (scenario.motion or scenario.is_controlled):
            return _asked_again(run_scenario(system, duration=duration), duration, source)
    _check_contact(scenario.contact, where)
    task = {p.name: p.value for p in scenario.parameters}
    return _Asked(
        system=system,
        scenario=_lasting(scenario, duration),
        values=values,
        start=scenario_start(scenario, {**values, **task}),
        texts={n: x for n, x in scenario.start.items() if isinstance(x, str)},
        inputs=scenario.inputs,
        law=None,
        tolerances={"rtol": TOLERANCE, "atol": TOLERANCE},
        options={},
        source=source,
    )


def _asked_again(run: Trajectory, duration: float | None, source: str) -> _Asked:
    """What a page repeats of a run of this session."""
    request = run.request
    assert request is not None
    system = request.system
    _check_contact(run.contact, f"live page of model '{system.model.name}'")
    time = request.end_time - request.start_time
    scenario = run.scenario or Scenario(
        duration=time,
        stop=dict(request.stop),
        outputs=dict(request.outputs),
        definitions={n: x for n, x in request.definitions.items() if isinstance(x, str)},
        parameters=tuple(
            Parameter(name=n, value=float(x), unit="1")
            for n, x in request.definitions.items()
            if not isinstance(x, str)
        ),
    )
    values = system.model.parameter_values(request.values)
    given, law, texts = request.start, None, {}
    if isinstance(given, Mapping) or given is None:
        start = {name: float(value) for name, value in (given or {}).items()}
        own = run.model.scenario
        known = {**values, **{p.name: p.value for p in scenario.parameters}}
        for name, text in (own.start if own is not None else {}).items():
            if isinstance(text, str) and start.get(name) == nominal(text, known):
                texts[name] = text
    else:
        names = [q.name for q in (*system.coordinates, *system.independent_speeds)]
        start = dict(zip(names, np.concatenate([given.q, given.eta]).tolist(), strict=True))
    inputs = request.inputs or {}
    if not isinstance(inputs, Mapping):
        law, inputs = inputs.keeping(request.values), {}
    options = {"method": request.method, "start_time": request.start_time}
    options |= {"step": request.step} if request.method == "rk4" else {}
    options |= {"guess": request.guess} if request.guess else {}
    return _Asked(
        system=system,
        scenario=_lasting(scenario, time if duration is None else duration),
        values=values,
        start=start,
        texts=texts,
        inputs=inputs,
        law=law,
        tolerances={"rtol": request.rtol, "atol": request.atol},
        options=options,
        source=source,
    )


def _lasting(scenario: Scenario, duration: float | None) -> Scenario:
    return dataclasses.replace(
        scenario, duration=float(scenario.duration if duration is None else duration)
    )


def _check_contact(contact: str, where: str) -> None:
    if contact != "ideal":
        raise SimulationError(
            "contacts of this scenario slide, lift off and land, which a page does not",
            where,
            'share it with contact = "ideal", or make a player: noslip animate',
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
    run: _Asked, asked: Sequence[str] | Mapping[str, tuple[float, float] | None], where: str
) -> tuple[LiveKnob, ...]:
    """Numbers that may be changed: those that are named, or a few."""
    system, values, start, texts = run.system, run.values, run.start, run.texts
    found = {
        **({} if run.law is not None else _kind("numbers", run.scenario.parameters, {})),
        **({} if run.law is not None else _input_knobs(system, run.inputs)),
        **{k: LiveKnob(knob=x, kind="start") for k, x in _start_knobs(system, start).items()},
    }
    moving = [k for k, x in found.items() if x.kind != "start" or (x.knob.value and k not in texts)]
    parameters = _kind("parameters", system.model.parameters, values)
    if not asked:
        free = [k for k in parameters if values[k]]
        if run.law is not None:  # what a law may know wrongly, and its start is not spoiled by
            mass = [k for k in free if parameters[k].knob.unit.startswith("kg")]
            return tuple(parameters[name] for name in (mass or free)[:MOST_KNOBS])
        first = [*moving, *[k for k in free if k not in moving]][:MOST_KNOBS]
        return tuple((found | parameters)[name] for name in first)
    found |= parameters
    chosen = []
    for name in asked:
        if isinstance(run.inputs.get(name), str):
            raise SimulationError(
                f"input '{name}' is the expression '{run.inputs[name]}', which no slider has",
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
            if each.kind == "parameters":
                for end in (knob.lower, knob.upper):
                    system.parameters({**values, name: end})  # it refuses what no model may have
        chosen.append(each)
    return tuple(chosen)


def _kind(kind: str, parameters: Any, values: Mapping[str, float]) -> dict[str, LiveKnob]:
    """Knobs of parameters, about the values that they have."""
    now = [dataclasses.replace(p, value=values.get(p.name, p.value)) for p in parameters]
    return {k.name: LiveKnob(knob=k, kind=kind) for k in Knob.of_parameters(now)}


def _input_knobs(system: System, inputs: Mapping[str, Any]) -> dict[str, LiveKnob]:
    """Knobs of inputs that are numbers."""
    found = {}
    for quantity in system.inputs:
        value = inputs.get(quantity.name, 0.0)
        if not isinstance(value, int | float):
            continue
        size = 3 * abs(value) or 1.0
        knob = Knob.ranged(quantity.name, quantity.unit, float(value), -size, size)
        if quantity.name in inputs or quantity in system.model.inputs:
            found[quantity.name] = LiveKnob(knob=knob, kind="inputs")
    given = {k: x for k, x in found.items() if inputs.get(k)}
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
    knobs: Sequence[LiveKnob],
    start: Mapping[str, float],
    values: Mapping[str, float],
    texts: Mapping[str, str],
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
        changed = {each.knob.name for each in knobs if each.kind == "start"}
        begin |= {n: nominal(x, own) for n, x in texts.items() if n not in changed}
        found.append((own, begin))
    return found


#: Equations are shown up to this many characters of their mathematics; a page stays below 2.5 MB.
MOST_EQUATIONS = 1_300_000
#: Pixels that a page has in another one.
HEIGHT = 760

#: A range, or None for the default one, by the name of a knob.
Ranges = Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePage:
    """A live page in another one, such as a notebook. Made by :func:`share` without a path."""

    title: str  #: title for screen readers
    page: str = field(repr=False)  #: HTML of the page

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as a file, all or nothing."""
        target = Path(path)
        write_atomically(target, lambda own: own.write_text(self.page, "utf-8"))
        return target

    def html(self) -> str:
        """A frame with the page."""
        return (
            f'<iframe title="{escape(self.title)}, simulated in this page" loading="lazy" '
            'sandbox="allow-scripts" style="border: 1px solid #8884; border-radius: 10px; '
            f'box-sizing: border-box; width: 100%; height: {HEIGHT}px" '
            f'srcdoc="{escape(self.page)}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.html()


@overload
def share(
    thing: Model | System | Trajectory | str,
    path: str | os.PathLike[str],
    *,
    knobs: Sequence[str] | Ranges = ...,
    plots: Sequence[str] = ...,
    drive: Sequence[str] = ...,
    duration: float | None = ...,
    title: str = ...,
    equations: bool = ...,
    overwrite: bool = ...,
) -> Path: ...


@overload
def share(
    thing: Model | System | Trajectory | str,
    path: None = None,
    *,
    knobs: Sequence[str] | Ranges = ...,
    plots: Sequence[str] = ...,
    drive: Sequence[str] = ...,
    duration: float | None = ...,
    title: str = ...,
    equations: bool = ...,
    overwrite: bool = ...,
) -> LivePage: ...


def share(
    thing: Model | System | Trajectory | str,
    path: str | os.PathLike[str] | None = None,
    *,
    knobs: Sequence[str] | Ranges = (),
    plots: Sequence[str] = (),
    drive: Sequence[str] = (),
    duration: float | None = None,
    title: str = "",
    equations: bool = True,
    overwrite: bool = False,
) -> Path | LivePage:
    """Write a run as a page that simulates it anew in any browser, offline.

    Parameters
    ----------
    thing : a model with a scenario, its name or file, a compiled system, or a run of a scenario.
    path : path of the page, ending in .html. Without a path, the page is returned, which a notebook
        shows below the cell.
    knobs : names of parameters, start values and constant inputs with a slider each, or their
        ranges by name, as in ``{"mass": (10, 30)}``; a few by default.
    plots : columns that are drawn at first; a few by default.
    drive : one or two inputs that a reader drives with, by arrow keys or the thumb, up to what the
        scenario makes of them; in the run itself they are zero.
    duration : s; the scenario's own by default.
    title : title of the page; the name of the model by default.
    equations : whether the equations of motion are typeset in the page.
    overwrite : whether a file that is already there may be replaced.

    Returns
    -------
    Path or LivePage : the file that was written, or what a notebook shows.

    Raises
    ------
    SimulationError : the run cannot be repeated in a page, or the file exists.
    """
    target = None if path is None else Path(path)
    if target is not None:
        _check_target(target, overwrite)
    live = live_run(thing, knobs=knobs, plots=plots, drive=drive, duration=duration)
    text = page_html(live, title=title, equations=equations)
    made = LivePage(title=title or live.system.model.name, page=text)
    return made if target is None else made.save(target)


def _check_target(target: Path, overwrite: bool) -> None:
    where = os.fspath(target)
    if target.suffix.lower() not in (".html", ".htm"):
        raise SimulationError(
            f"a page is no '{target.suffix}' file", where, "choose a name that ends in .html"
        )
    if os.path.lexists(target) and (target.is_dir() or not overwrite):
        raise SimulationError(
            f"there is already a file '{target}'",
            where,
            "choose another name, or pass overwrite=True",
        )


def page_html(
    live: LiveRun, *, title: str = "", equations: bool = True, client: str | None = None
) -> str:
    """The page of a run.

    `title`: title of the page; the name of the model by default. `client`: folder of the files that
    several pages share (:func:`client_files`), as a page finds it; a page of its own holds them.
    """
    system, model = live.system, live.system.model
    plan = live.portable.data()
    data = {
        "plan": plan,
        "scene": scene_data(system, live.values, live.knobs),
        "knobs": [knob.data() for knob in live.knobs],
        "plots": list(live.plots),
        "choices": list(live.choices),
        "drive": [{"name": name, "largest": largest} for name, largest in live.drive],
        "angles": [n for n in live.choices if n not in _plain(system)],
        "isLaw": live.law is not None,
        "command": f"noslip run {live.source} --duration {live.scenario.duration:g}",
    }
    lead = f"<p>{escape(model.description)}</p>" if model.description else ""
    style, mathematics = _mathematics(system) if equations else ("", "")
    if mathematics:
        mathematics = (
            '<details class="wide">\n<summary>Equations of motion</summary>\n'
            f"<div>{mathematics}</div>\n</details>"
        )
    if client is None:
        style = f"<style>\n{_file('page.css')}\n{style}\n</style>"
        program = f'<script>\n"use strict";\n{_program()}\n</script>'
        sources = "'unsafe-inline'"
    else:
        style = f'<link rel="stylesheet" href="{escape(client)}{CLIENT}.css">'
        program = f'<script src="{escape(client)}{CLIENT}.js"></script>'
        sources = "'self' file:"
    parts = {
        "title": escape(title or model.name),
        "style": style,
        "lead": lead,
        "equations": mathematics,
        "model": escape(model_to_toml(model)),
        "file": escape(f"{model.name}.toml"),
        "version": escape(__version__),
        "size": f"{len(live.portable.module) / 1000:.0f} kB",
        "data": _json(data),
        "program": program,
        "scripts": sources,
        "styles": "'unsafe-inline'" if client is None else "'unsafe-inline' 'self' file:",
    }
    pattern = re.compile(r"\{(" + "|".join(parts) + r")\}")
    return pattern.sub(lambda found: parts[found[1]], _file("page.html"))


#: Files that pages share, without their suffixes.
CLIENT = "live"


def client_files(system: System) -> dict[str, bytes]:
    """What pages of one folder share, by name; the style of equations is that of any system."""
    style = _file("page.css") + "\n" + _mathematics(system)[0]
    return {
        f"{CLIENT}.css": style.encode(),
        f"{CLIENT}.js": f'"use strict";\n{_program()}\n'.encode(),
    }


def _mathematics(system: System) -> tuple[str, str]:
    """Style and markup of the equations of motion; empty where they are too long to be read."""
    text = equations_html(system.equations)
    styles = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    markup = re.sub(r"<style>.*?</style>\s*", "", text, flags=re.DOTALL)
    return ("\n".join(styles), markup) if len(markup) <= MOST_EQUATIONS else ("", "")


def _program() -> str:
    """All that a page does; what runs are made of is a function, whose text a worker is given."""
    run = _script("run.js")
    names = ", ".join(re.findall(r"^(?:class|function|const) (\w+)", run, flags=re.MULTILINE))
    return (
        f"function runProgram() {{\n{run}\nreturn {{{names}}};\n}}\n"
        "const {Run, RunError, bytesOf, answer} = runProgram();\n"
        f"{_script('draw.js')}\n{_script('page.js')}"
    )


def module_files(live: LiveRun, stem: str) -> tuple[bytes, ...]:
    """A module, the program that drives it, its types, and a page about both."""
    plan = {k: v for k, v in live.portable.data().items() if k != "module"}
    units = "\n".join(f"| `{n}` | {u or '1'} |" for n, u in plan["units"].items())
    knobs = "\n".join(
        f"| `{name}` | `{kind}` | {value:g} |" for kind, name, value in _settable(live, plan)
    )
    parts = {
        "stem": stem,
        "model": live.system.model.name,
        "version": __version__,
        "columns": units,
        "values": knobs,
        "duration": f"{plan['duration']:g}",
    }
    pattern = re.compile(r"\{\{(" + "|".join(parts) + r")\}\}")

    def filled(text: str) -> bytes:
        return pattern.sub(lambda found: parts[found[1]], text).encode()

    program = (
        _file("run.js") + "\n\n" + _file("module.js") + f"\nexport const plan = {_json(plan)};\n"
    )
    return (
        live.portable.module,
        filled(program),
        filled(_file("run.d.ts")),
        filled(_file("module.md")),
    )


def _settable(live: LiveRun, plan: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Kind, name and value of all that a run may be given."""
    found = [("parameters", name, live.values[name]) for name in plan["parameters"]]
    found += [("start", name, value) for name, value in plan["start"].items()]
    inputs = live.scenario.inputs
    for name in plan["inputs"]:
        value = inputs.get(name, 0.0)
        if not isinstance(value, str):
            found.append(("inputs", name, float(value)))
    return found


def _plain(system: System) -> set[str]:
    """Columns that are no angles of an orientation, which jump by turns."""
    named = (*system.coordinates, *system.speeds, *system.independent_speeds, *system.inputs)
    return {q.name for q in named}


def _file(name: str) -> str:
    return files("noslip.web").joinpath(name).read_text("utf-8").strip()


def _script(name: str) -> str:
    """A program without what only modules have."""
    return re.sub(r"^export ", "", _file(name), flags=re.MULTILINE)


def _json(data: Any) -> str:
    """JSON that ends no element of a page."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

"""Checks of the default run of a model.

Paths, timing laws, controllers, sensors and actuators are texts, whose words are known by a later
stage: its module `TASKS` is imported by name where a scenario has such texts.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping

from noslip.base import counted
from noslip.expressions import ExpressionError, Scalar, names_of, nominal, parse
from noslip.model.checks_expressions import Scope, check_text, quoted, scope_of, value_at
from noslip.model.checks_names import check_identifier, check_reference, check_reserved
from noslip.model.findings import Finding, Path, field, number_text
from noslip.model.known_names import TIME, Vocabulary, angle_names
from noslip.model.model import Model
from noslip.model.scenario import MAX_SAMPLES, Scenario, ScenarioFollower, ScenarioPlant

#: Module whose `text_faults` reads the texts of a scenario.
TASKS = "noslip.control.scenario"


def check_scenario(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """The scenario, if the model has one."""
    scenario = model.scenario
    if scenario is None:
        return
    yield from _check_times(scenario)
    named = tuple(s.name for s in model.independent_speeds if s.expression)
    yield from _check_names(scenario, known, named)
    inputs = (*known.inputs, *known.speed_inputs)
    starting = (*known.coordinates, *known.speeds, *known.angles, *known.rates, *named)
    yield from _check_keys("start", scenario.start, "coordinate or speed", starting, known)
    yield from _check_keys("inputs", scenario.inputs, "input", inputs, known)
    yield from _check_keys("motion", scenario.motion, "coordinate", known.coordinates, known)
    yield from _check_start_orientation(model, scenario)
    yield from _check_task(scenario)
    yield from _check_keys("limits", scenario.limits, "input", inputs, known)
    if scenario.follower is not None:
        reference = scenario.follower.reference
        yield from _check_keys("follower.reference", reference, "coordinate", starting, known)
    if scenario.plant is not None:
        yield from _check_plant(model, scenario.plant, starting, known)
    yield from _check_texts(scenario, known, named, _reactions(model, scenario, known))
    if scenario.path or scenario.controller or scenario.timing or scenario.plant is not None:
        yield from importlib.import_module(TASKS).text_faults(model, known)


def _check_task(scenario: Scenario) -> Iterator[Finding]:
    """Check the task: inputs, a motion or a path; a controller needs a motion or a path."""
    given = [word for word in ("inputs", "motion", "path") if getattr(scenario, word)]
    if len(given) > 1:
        said = {"inputs": "inputs", "motion": "a motion", "path": "a path"}
        first, second = given[:2]
        yield Finding(
            ("scenario", second),
            f"the scenario gives both {said[first]} and {said[second]}, from which inputs would "
            "follow",
            f"keep scenario.{first} or scenario.{second}",
        )
    of_path = {"timing": scenario.timing, "follower": scenario.follower}
    for word, value in of_path.items():
        if value and not scenario.path:
            yield Finding(
                ("scenario", word),
                f"the scenario has a {word}, and no path",
                'add a path, such as path = "circle:radius=2"',
            )
    for word in ("controller", "limits", "period", "plant"):
        if getattr(scenario, word) and not scenario.has_reference:
            yield Finding(
                ("scenario", word),
                f"the scenario has {field(('scenario', word))}, and nothing to follow",
                'add a path, such as path = "circle:radius=2", or a motion of coordinates',
            )
    if not 0 <= scenario.period < float("inf"):
        yield Finding(
            ("scenario", "period"),
            f"the scenario has period {number_text(scenario.period)} s",
            "give the time between samples of the controller, or 0",
        )


def _check_plant(
    model: Model, plant: ScenarioPlant, starting: tuple[str, ...], known: Vocabulary
) -> Iterator[Finding]:
    """Names and forces of the plant, as far as it is the model itself."""
    at = ("scenario", "plant")
    if not plant.model:
        # another model may have names of its own
        own = "parameter", tuple(known.parameters)
        yield from _check_keys("plant.parameters", plant.parameters, *own, known)
        yield from _check_keys("plant.start", plant.start, "coordinate or speed", starting, known)
    inputs = tuple(known.inputs)
    yield from _check_keys("plant.input_sigma", plant.input_sigma, "input", inputs, known)
    if plant.disturbances and not plant.model:
        yield Finding(
            (*at, "disturbances"),
            "the plant has disturbances, but its inputs are all the controller's",
            "give plant.model, a model with an input of its own for them, or plant.forces",
        )
    if not plant.estimator:
        for word in ("start_sigma", "input_sigma", "drift"):
            if getattr(plant, word):
                yield Finding(
                    (*at, word),
                    f"the plant has {word} of an estimator, and no estimator",
                    'add estimator = "ekf"',
                )
    taken = {force.name for force in model.forces}
    for force in plant.forces:
        path = (*at, "forces", force.name)
        yield from check_identifier(path, force.name, f"force '{force.name}'", is_dotted=True)
        if force.name in taken:
            yield Finding(
                path, f"the model has a force '{force.name}', too", "give this one another name"
            )


def _check_times(scenario: Scenario) -> Iterator[Finding]:
    duration = value_at(scenario.duration, {})
    if duration is not None and duration <= 0.0:
        yield Finding(
            ("scenario", "duration"),
            f"the scenario has duration {number_text(duration)} s, expected more than 0",
            "give the time to simulate in s, for example duration = 10",
        )
    if scenario.samples < 2:
        yield Finding(
            ("scenario", "samples"),
            f"the scenario has {counted(scenario.samples, 'sample')}, expected 2 or more",
            "count both ends, for example samples = 501",
        )
    elif scenario.samples > MAX_SAMPLES:
        yield Finding(
            ("scenario", "samples"),
            f"the scenario has {scenario.samples} samples, expected {MAX_SAMPLES} or fewer",
            "give as many as you want to look at, for example samples = 501",
        )


def _check_names(
    scenario: Scenario, known: Vocabulary, named: tuple[str, ...]
) -> Iterator[Finding]:
    """Parameters and definitions of the scenario have usable names of their own."""
    parameters = [p.name for p in scenario.parameters]
    taken = {
        **{name: "an independent speed" for name in named},
        **{name: "an input" for name in (*known.inputs, *known.speed_inputs)},
        **{name: "a parameter of the model" for name in known.parameters},
    }
    for kind, noun, names in (
        ("parameters", "scenario parameter", parameters),
        ("definitions", "definition", list(scenario.definitions)),
    ):
        for name, count in Counter(names).items():
            path, whose = ("scenario", kind, name), f"{noun} '{name}'"
            yield from check_identifier(path, name, whose)
            yield from check_reserved(path, name, whose)
            if count > 1:
                yield Finding(
                    path,
                    f"{count} scenario parameters are called '{name}'",
                    "give each its own name",
                )
            if name in taken:
                yield Finding(path, f"{whose} has the name of {taken[name]}", "rename one of them")
        taken |= {name: "a scenario parameter" for name in parameters}


def _check_keys(
    part: str, given: Mapping[str, Scalar], kind: str, names: tuple[str, ...], known: Vocabulary
) -> Iterator[Finding]:
    for name in given:
        path = ("scenario", *part.split("."), name)
        yield from check_reference(path, name, kind, names, known)


def _check_start_orientation(model: Model, scenario: Scenario) -> Iterator[Finding]:
    """An orientation starts from named angles or from a quaternion, not from both."""
    for joint in model.joints:
        start = joint.type.quaternion
        if start is None:
            continue
        entries = joint.coordinate_names()[start : start + 4]
        angles = [f"{joint.name}.{name}" for name in angle_names(joint)]
        first = [name for name in entries if name in scenario.start][:1]
        second = [name for name in angles if name in scenario.start][:1]
        if first and second:
            yield Finding(
                ("scenario", "start"),
                f"the scenario starts joint '{joint.name}' from both '{first[0]}' and "
                f"'{second[0]}'",
                "give its orientation by the named angles, or by the quaternion",
            )


def _reactions(model: Model, scenario: Scenario, known: Vocabulary) -> set[str]:
    """Constraint forces that outputs may use.

    Only the equations know which rows a loop has, and which wheels stand under a planar joint; a
    wrong one is told when they are compiled.
    """
    rows = {row.name for row in model.rows} | {given.name for given in model.speed_inputs}
    rows |= {f"{c.name}.{direction}" for c in model.contacts for direction in c.directions()}
    parts = [f"{kind}{axis}" for kind in ("", "moment_", "point_") for axis in "xyz"]
    joints = {f"joint_reaction.{joint.name}.{part}" for joint in model.joints for part in parts}
    loops = tuple(f"reaction.{joint.name}." for joint in known.topology.loops)
    used = {name for text in scenario.outputs.values() for name in _names(text)}
    if any(joint.type.is_planar for joint in model.joints):
        wheels = [c.name for c in model.contacts if c.is_wheel]
        joints |= {f"{word}.{name}" for word in ("support", "load") for name in wheels}
    return joints | {f"reaction.{row}" for row in rows} | {n for n in used if n.startswith(loops)}


def _names(text: object) -> frozenset[str]:
    """Names of an expression; none of a text that cannot be read."""
    try:
        return names_of(text) if isinstance(text, str) else frozenset()
    except ExpressionError:
        return frozenset()


def _check_texts(
    scenario: Scenario, known: Vocabulary, named: tuple[str, ...], reactions: set[str]
) -> Iterator[Finding]:
    """Expressions use parameters, t and definitions, which see only those declared before them."""
    own = {p.name: p.value for p in scenario.parameters}
    values = {**known.finite_parameters, **{n: v for n, v in own.items() if value_at(v, {}) == v}}
    scope = scope_of(known, (TIME,), definitions=own)
    seen, later = set(scope.names), set(scenario.definitions)
    for name, text in scenario.definitions.items():
        later.discard(name)
        path = ("scenario", "definitions", name)
        yield from check_text(path, text, Scope(seen, scope.words, later), known, values)
        seen.add(name)
    given = scope_of(known, (TIME,), definitions=seen)
    moving = ("coordinates", "speeds", "angles", "rates", TIME)
    seen |= set(known.definitions)
    stop = scope_of(known, moving, definitions={*seen, *named})
    inputs = {*known.inputs, *known.speed_inputs}
    outputs = scope_of(known, moving, definitions={*seen, *named, *inputs, *reactions})
    scopes = {
        **{"start": given, "inputs": given, "motion": given},
        **{"stop": stop, "outputs": outputs},
    }
    yield from _check_plain(scenario, scope_of(known, (), definitions=own), known, values)
    for part, scope in scopes.items():
        for name, entry in getattr(scenario, part).items():
            if not isinstance(entry, str):
                continue
            path = ("scenario", part, name)
            findings = list(check_text(path, entry, scope, known, values))
            yield from findings
            if part == "start" and not findings:
                yield from _check_start_value(name, entry, scenario, values)


def _check_plain(
    scenario: Scenario, scope: Scope, known: Vocabulary, values: Mapping[str, float]
) -> Iterator[Finding]:
    """Scalars of limits, follower and plant are numbers or expressions of parameters."""
    follower = scenario.follower or ScenarioFollower()
    plant = scenario.plant or ScenarioPlant()
    entries: dict[Path, Scalar | None] = {}
    of_follower = (
        *("point", "direction", "wheelbase", "largest_steering", "steering_rate"),
        *("hitch", "trailer"),
    )
    of_plant = ("parameters", "start", "start_sigma", "input_sigma", "drift", "gravity")
    for home, part, words in (
        (("follower",), follower, (*of_follower, "reference")),
        (("plant",), plant, of_plant),
        ((), scenario, ("limits",)),
    ):
        for word in words:
            held, path = getattr(part, word), ("scenario", *home, word)
            if isinstance(held, dict):
                entries |= {(*path, name): value for name, value in held.items()}
            elif isinstance(held, tuple):
                entries |= {(*path, k): value for k, value in enumerate(held)}
            else:
                entries[path] = held
    for path, entry in entries.items():
        if isinstance(entry, str):
            yield from check_text(path, entry, scope, known, values)
    if isinstance(follower.heading, str):
        own = Scope({*scope.names, "s"}, f"{scope.words} and s")
        path = ("scenario", "follower", "heading")
        yield from check_text(path, follower.heading, own, known, values)
    for name, entry in plant.disturbances.items():
        path = ("scenario", "plant", "disturbances", name)
        try:
            parse(str(entry))
        except ExpressionError as error:
            yield Finding(
                path,
                f"the scenario has {field(path)} = {quoted(str(entry))}, which cannot be read: "
                f"{error}",
                'write an expression of t and parameters of the plant, such as "5*sin(t)"',
            )


def _check_start_value(
    name: str, text: str, scenario: Scenario, values: Mapping[str, float]
) -> Iterator[Finding]:
    """A start value that depends on t has a finite value at t = 0."""
    known = {**values, TIME: 0.0}
    try:
        for definition, expression in scenario.definitions.items():
            known[definition] = nominal(expression, known)
        value = nominal(text, known)
    except (ExpressionError, KeyError):
        return
    if value != value:
        path = ("scenario", "start", name)
        yield Finding(
            path,
            f"the scenario has {field(path)} = {quoted(text)}, which has no finite value at t = 0",
            "write an expression that has a value at the start",
        )

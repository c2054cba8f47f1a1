"""Checks of the default run of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from noslip.model.checks_expressions import Scope, check_text, quoted, scope_of, value_at
from noslip.model.checks_names import check_identifier, check_reference, check_reserved
from noslip.model.expressions import ExpressionError, nominal
from noslip.model.findings import Finding, field, number_text
from noslip.model.model import Model
from noslip.model.quantities import Scalar
from noslip.model.scenario import MAX_SAMPLES, Scenario
from noslip.model.vocabulary import TIME, Vocabulary, angle_names
from noslip.words import counted


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
    if scenario.inputs and scenario.motion:
        yield Finding(
            ("scenario", "motion"),
            "the scenario gives both inputs and a motion, from which inputs would follow",
            "keep scenario.inputs or scenario.motion",
        )
    yield from _check_texts(scenario, known, named)


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
        yield from check_reference(("scenario", part, name), name, kind, names, known)


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


def _check_texts(
    scenario: Scenario, known: Vocabulary, named: tuple[str, ...]
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
    outputs = scope_of(known, moving, definitions={*seen, *named, *inputs})
    scopes = {
        **{"start": given, "inputs": given, "motion": given},
        **{"stop": stop, "outputs": outputs},
    }
    for part, scope in scopes.items():
        for name, entry in getattr(scenario, part).items():
            if not isinstance(entry, str):
                continue
            path = ("scenario", part, name)
            findings = list(check_text(path, entry, scope, known, values))
            yield from findings
            if part == "start" and not findings:
                yield from _check_start_value(name, entry, scenario, values)


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

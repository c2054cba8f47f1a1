"""PageSection on what was simulated: task, parameters, state at the start and at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from noslip.model.quantities import Parameter, Scalar
from noslip.model.scenario import Scenario
from noslip.show.report.elements import (
    Html,
    PageSection,
    code,
    facts,
    heading,
    joined,
    listing,
    paragraph,
    table,
    text,
)
from noslip.show.report.subject import ReportSubject
from noslip.show.report.values import number, quantity, unit, words
from noslip.words import counted


def simulated(subject: ReportSubject) -> PageSection:
    """Task, parameters and state at the start."""
    run, scenario = subject.run, subject.run.scenario
    told = [("model", code(subject.model.name))]
    if scenario is not None and scenario.description:
        told.append(("task", text(scenario.description)))
    told += [(word, words(value)) for word, value in subject.facts.items()]
    if len(run.t):
        span = quantity(float(run.t[-1] - run.t[0]), "s")
        told.append(("time", Html(f"{span}, in {counted(len(run.t), 'sample')}")))
    if subject.model.references:
        told.append(("references", text(", ".join(subject.model.references))))
    parts = [facts(told)]
    if scenario is not None:
        parts += _task(scenario)
    if subject.model.parameters:
        parts.append(heading("Parameters"))
        parts.append(_parameters(subject))
    parts.append(heading("State"))
    parts.append(_state(subject))
    return PageSection(key="simulated", title="What was simulated", body=joined(parts))


def _task(scenario: Scenario) -> Iterator[Html]:
    """What the inputs do, and with which numbers."""
    groups: dict[str, Mapping[str, Scalar]] = {
        "Inputs": scenario.inputs,
        "Motion that the inputs produce": scenario.motion,
        "with": scenario.definitions if scenario.inputs or scenario.motion else {},
        "Ends where one of these crosses zero": scenario.stop,
    }
    if scenario.parameters:
        yield heading("Task")
        yield table(
            "Numbers of the task",
            ("name", "value", "unit", "meaning"),
            (_row(p, p.value, "") for p in scenario.parameters),
            numbers={1},
        )
    for title, expressions in groups.items():
        if expressions:
            yield paragraph(text(title))
            yield listing("\n".join(f"{name} = {value}" for name, value in expressions.items()))


def _row(parameter: Parameter, value: float, nominal: str) -> tuple[Html, ...]:
    meaning = text(parameter.description)
    if nominal:
        meaning = Html(f'{meaning} <span class="changed">(nominal {nominal})</span>')
    return code(parameter.name), number(value, 10), unit(parameter.unit), meaning


def _parameters(subject: ReportSubject) -> Html:
    changed = subject.changed
    rows = []
    for parameter in subject.model.parameters:
        name = parameter.name
        nominal = quantity(changed[name], parameter.unit, 10) if name in changed else ""
        rows.append(_row(parameter, subject.run.parameters[name], nominal))
    return table(
        "Numbers of the mechanism", ("name", "value", "unit", "meaning"), rows, numbers={1}
    )


def _state(subject: ReportSubject) -> Html:
    """Coordinates, angles and speeds at both ends, and their ranges."""
    run = subject.run
    if not len(run.t):
        return paragraph(text("The run has no samples."))
    coordinates, speeds = ([q.name for q in found] for found in (run.coordinates, run.speeds))
    angles = [
        n for n in subject.checked.start_names if n in run.columns and n not in coordinates + speeds
    ]
    rows = []
    for name in [*coordinates, *angles, *speeds]:
        values = run[name]
        ends = (values[0], values[-1], np.min(values), np.max(values))
        rows.append((code(name), *(number(x) for x in ends), unit(run.columns[name][0])))
    given = subject.run.scenario.start if subject.run.scenario is not None else {}
    parts = []
    for title, among in (
        ("Given at the start: ", given),
        ("Found from the constraints: ", run.start_completed),
    ):
        if among:
            parts.append(paragraph(text(title), Html(", ".join(map(code, among))), text(".")))
    header = ("name", "start", "end", "least", "largest", "unit")
    parts.append(table("Coordinates and speeds", header, rows, numbers={1, 2, 3, 4}))
    return joined(parts)

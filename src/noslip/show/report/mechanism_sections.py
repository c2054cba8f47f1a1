"""Sections on what was simulated: task, mechanism, equations, environment, reproduction."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version

import numpy as np

from noslip import Parameter, Scenario, __version__
from noslip.base import counted
from noslip.expressions import Scalar
from noslip.model import ScenarioPlant, model_to_toml
from noslip.show.check import CheckReport
from noslip.show.equations.blocks import Paragraph, Section
from noslip.show.equations.documents import html_blocks
from noslip.show.report.elements import (
    SPACE,
    Html,
    PageSection,
    code,
    facts,
    folded,
    heading,
    joined,
    listing,
    number,
    paragraph,
    quantity,
    remark,
    table,
    text,
    unit,
    words,
)
from noslip.show.report.report_subject import ReportSubject


def simulated(subject: ReportSubject) -> PageSection:
    """Task, parameters and state at the start."""
    run, scenario = subject.run, subject.run.scenario
    entries = [("model", code(subject.model.name))]
    if scenario is not None and scenario.description:
        entries.append(("task", text(scenario.description)))
    entries += [(word, words(value)) for word, value in subject.facts.items()]
    if len(run.t):
        span = quantity(float(run.t[-1] - run.t[0]), "s")
        entries.append(("time", Html(f"{span}, in {counted(len(run.t), 'sample')}")))
    if subject.model.references:
        entries.append(("references", text(", ".join(subject.model.references))))
    parts = [facts(entries)]
    if scenario is not None:
        parts += _task(scenario)
    if subject.model.parameters:
        parts.append(heading("Parameters"))
        parts.append(_parameters(subject))
    parts.append(heading("State"))
    parts.append(_state(subject))
    return PageSection(key="simulated", title="What was simulated", body=joined(parts))


def _task(scenario: Scenario) -> Iterator[Html]:
    """Task of a scenario: its inputs, and their values."""
    words = {
        "path": ", ".join(scenario.path),
        "timing": scenario.timing,
        "controller": scenario.controller,
        "period": f"{scenario.period:g} s" if scenario.period else "",
    }
    plant = scenario.plant or ScenarioPlant()
    signals = {f"sensor {k}": text for k, text in enumerate(plant.sensors, start=1)}
    signals |= {f"actuator {k}": text for k, text in enumerate(plant.actuators, start=1)}
    signals |= {"estimator": plant.estimator} if plant.estimator else {}
    groups: dict[str, Mapping[str, Scalar]] = {
        "Follows": {word: text for word, text in words.items() if text},
        "Plant, unknown to the controller": {**plant.parameters, **plant.start},
        "Signals": signals,
        "Inputs": scenario.inputs,
        "Motion that the inputs produce": scenario.motion,
        "with": scenario.definitions if scenario.inputs or scenario.motion else {},
        "Ends where one of these crosses zero": scenario.stop,
    }
    if scenario.parameters:
        yield heading("Task")
        yield table(
            "Parameters of the task",
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
        "Parameters of the mechanism", ("name", "value", "unit", "meaning"), rows, numbers={1}
    )


#: What is smaller than this part of the largest value of a column is zero but for rounding.
ROUNDING = 1e-14


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
        zero = ROUNDING * float(np.max(np.abs(values)))
        shown = (number(x, zero=zero) for x in ends)
        rows.append((code(name), *shown, unit(run.columns[name][0])))
    given = subject.run.scenario.start if subject.run.scenario is not None else {}
    parts = []
    for title, among in (
        ("Given at the start: ", given),
        ("Determined by the constraints: ", run.start_completed),
    ):
        if among:
            parts.append(paragraph(text(title), Html(", ".join(map(code, among))), text(".")))
    header = ("name", "start", "end", "least", "largest", "unit")
    parts.append(table("Coordinates and speeds", header, rows, numbers={1, 2, 3, 4}))
    return joined(parts)


#: Sections of the derivation that are shown elsewhere or not folded.
MOTION, ROWS, CHECK, OPENING = "Equations of motion", "Constraints", "Check", "Model and method"


def mechanism(subject: ReportSubject) -> PageSection:
    """Degrees of freedom, and the rows that take the others away."""
    found, kin = subject.checked, subject.system.kinematics
    redundant = dict(found.redundant_rows)
    kept = len(kin.rows) - len(redundant)
    free = found.degrees_of_freedom
    speeds = Html(", ".join(code(name) for name, _ in found.independent_speeds))
    opening = paragraph(
        text(
            f"{counted(len(found.bodies), 'body', 'bodies')} with "
            f"{counted(len(found.coordinates), 'coordinate')} and "
            f"{counted(len(found.speeds), 'speed')}. "
            f"{counted(kept, 'independent constraint row')} "
            f"{'leaves' if kept == 1 else 'leave'} "
        ),
        Html(f"<strong>{counted(free, 'degree', 'degrees')} of freedom</strong>"),
        Html(f": {speeds}.") if free else text("."),
    )
    parts = [opening, facts(_names(subject))]
    if kin.rows:
        rows = []
        for row in kin.rows:
            others = redundant.get(row.name)
            kind = "position" if row.is_holonomic else "speed"
            counts = "yes"
            if others is not None:
                counts = f"no: follows from {', '.join(others)}" if others else "no: vanishes"
            rows.append((code(row.name), text(row.origin), text(kind), text(counts)))
        parts.append(heading("Constraints"))
        parts += [paragraph(text(f"{said}.")) for said in _integrated(found)]
        parts.append(table("Rows", ("row", "from", "kind", "independent"), rows))
        section = _section(subject, ROWS)
        if section is not None:
            parts.append(_mathematics(section))
    for warning in found.warnings:
        parts.append(remark("warn", text(f"{warning.what} ({warning.where}): {warning.fix}")))
    return PageSection(key="mechanism", title="Degrees of freedom", body=joined(parts))


def _integrated(found: CheckReport) -> Iterator[str]:
    """What of the rows that restrict speeds integrates, in sentences."""
    rows, integrals = len(found.velocity_rows), found.integrals
    if not rows or integrals is None:
        return
    if found.num_nonholonomic == rows:
        yield f"No combination of the {counted(rows, 'row')} on speeds integrates: nonholonomic"
    else:
        yield (
            f"Of the {counted(rows, 'row')} on speeds, {counted(len(integrals), 'combination')} "
            f"integrate{'s' if len(integrals) == 1 else ''}: {'; '.join(integrals)}"
        )


def _names(subject: ReportSubject) -> Iterator[tuple[str, Html]]:
    found = subject.checked
    yield "bodies", Html(", ".join(map(code, found.bodies)))
    for word, pairs in (
        ("coordinates", found.coordinates),
        ("force inputs", found.inputs),
        ("speed inputs", found.speed_inputs),
    ):
        if pairs:
            yield word, Html(", ".join(f"{code(n)}{_in(u)}" for n, u in pairs))


def _in(name: str) -> Html:
    return Html(f"{SPACE}[{inside}]") if (inside := unit(name)) else Html("")


def equations(subject: ReportSubject) -> PageSection:
    """The equations of motion, and how the formulation gets to them, folded."""
    done = subject.derivation
    formulation = subject.system.equations.formulation
    method = f"Method: {formulation.name} [{formulation.reference}]"
    if not formulation.is_dalembert:
        method += ", which is a different theory"
    parts = [paragraph(text(f"{method}."))]
    for section in done.sections:
        if section.title == MOTION:
            parts.append(_mathematics(section))
    shown = {MOTION, ROWS, CHECK, OPENING}
    for section in done.sections:
        if section.title not in shown:
            parts.append(folded(section.title, _mathematics(section)))
    checks = [s for s in done.sections if s.title == CHECK]
    mark = "good" if done.is_confirmed else "warn"
    parts += [remark(mark, words(_sentences(section))) for section in checks]
    return PageSection(key="equations", title="Equations of motion", body=joined(parts))


def _section(subject: ReportSubject, title: str) -> Section | None:
    return next((s for s in subject.derivation.sections if s.title == title), None)


def _mathematics(section: Section) -> Html:
    return Html(f'<div class="noslip">\n{html_blocks(section)}\n</div>')


def _sentences(section: Section) -> str:
    """The words of a section that holds nothing else."""
    paragraphs = [block for block in section.blocks if isinstance(block, Paragraph)]
    return " ".join(part for p in paragraphs for part in p.parts if isinstance(part, str))


METHODS = {"dop853": "dop853, adaptive, order 8", "rk4": "rk4, fixed step, order 4"}

#: Libraries that take part in the numbers.
LIBRARIES = ("casadi", "numpy", "scipy", "llvmlite")


def environment(subject: ReportSubject) -> PageSection:
    """Integrator, tolerances, effort and versions."""
    run, formulation = subject.run, subject.system.equations.formulation
    entries = [
        ("equations", text(f"{formulation.name} [{formulation.reference}], native code")),
        ("integrator", text(METHODS.get(run.method, run.method))),
        ("relative tolerance", number(run.rtol)),
        ("absolute tolerance", number(run.atol)),
        ("steps", Html(f"{number(run.steps)} taken, {number(run.rejections)} rejected")),
        ("evaluations", number(run.nfev)),
    ]
    entries += [("note", text(note)) for note in run.notes]
    versions = [("noslip", __version__), ("Python", platform.python_version())]
    versions += [(name, version(name)) for name in LIBRARIES]
    versions.append(("machine", f"{platform.system()} {platform.machine()}"))
    parts = [
        facts(entries),
        table("Versions", ("software", "version"), ((text(a), text(b)) for a, b in versions)),
    ]
    return PageSection(key="environment", title="Environment", body=joined(parts))


def reproduction(subject: ReportSubject) -> PageSection:
    """The command, and the model it ran."""
    parts = []
    if subject.command:
        parts.append(paragraph(text(f"With noslip {__version__}:")))
        parts.append(listing(subject.command))
    else:
        parts.append(
            paragraph(
                text(
                    "The run was started from Python. The model is below; the "
                    "parameters, the start and the inputs are those shown above."
                ),
            )
        )
    parts.append(
        paragraph(
            text("This is the model that ran, as a file. Saved as "),
            code(f"{subject.model.name}.toml"),
            text(", it can be given in place of the model's name."),
        )
    )
    parts.append(folded("Model file", listing(model_to_toml(subject.model))))
    return PageSection(key="reproduce", title="Reproduce", body=joined(parts))

"""The report of a run: its sections, and `write_report`.

**Sections of the report of a run.**

**Everything a report contains, gathered before a line of it is written.**

**Opening of a report: speeds, inputs, power, friction, loads, errors; and what is trusted.**

**Sections on what was simulated: task, mechanism, equations, environment, reproduction.**

**Sections on results and their checks: energy, constraints, ground, formulations.**

**Sections with pictures: the animation, with a still for print, and the figures.**

**`write_report`: a run as one page.**
"""

from __future__ import annotations

import dataclasses
import io
import math
import os
import platform
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.metadata import version
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import (
    FormulationError,
    Model,
    NoslipError,
    Parameter,
    Scenario,
    SimulationError,
    System,
    Trajectory,
    __version__,
    audit,
    verify,
)
from noslip.analysis import simulated_system, touches_ground
from noslip.base import counted, is_installed, write_atomically
from noslip.engines import require_system
from noslip.expressions import Scalar
from noslip.formulations import known_formulations
from noslip.model import ScenarioPlant, check_model, model_to_toml
from noslip.results import Audit, Certificate
from noslip.show.check import CheckReport, describe
from noslip.show.equations.derivations import Derivation, derivation
from noslip.show.equations.documents import html_blocks, parts_style
from noslip.show.equations.layout import Paragraph, Section
from noslip.show.equations.sketch import SKETCH
from noslip.show.headlines import ROUNDING, negligible, power_use, top_speed
from noslip.show.report.elements import (
    SPACE,
    Html,
    PageSection,
    Verdict,
    code,
    facts,
    figure,
    folded,
    heading,
    joined,
    listing,
    number,
    number_text,
    page,
    paragraph,
    quantity,
    remark,
    table,
    text,
    unit,
    verdicts,
    words,
)

if TYPE_CHECKING:
    from PIL.Image import Image

    from noslip.scene import Recording
    from noslip.show.plots.sheets import Sheet

#: Certificates of the models that were reported last, with the formulations compared.
_RECENT: deque[tuple[Model, tuple[type, ...], Certificate]] = deque(maxlen=8)

#: Called with a word on what is being done.
StatusCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportSubject:
    """A run and what is known about it."""

    system: System  #: simulated system
    run: Trajectory  #: run of the system
    facts: dict[str, str]  #: further words on what was simulated, such as the path
    command: str
    checked: CheckReport
    derivation: Derivation
    audit: Audit | None  #: None without contacts or samples
    #: None where no random state could be found; then `without_certificate` says why
    certificate: Certificate | None
    without_certificate: str

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.run.model

    @property
    def has_motion(self) -> bool:
        """Whether there is anything to draw."""
        return len(self.run.t) > 1

    @property
    def changed(self) -> dict[str, float]:
        """Parameters that differ from the nominal ones → the nominal values."""
        values = self.run.parameters
        return {p.name: p.value for p in self.model.parameters if values[p.name] != p.value}


def gather(
    system: System,
    run: Trajectory,
    *,
    facts: Mapping[str, str],
    command: str,
    audited: Audit | None,
    tell: StatusCallback,
) -> ReportSubject:
    """Derive, check, verify and audit what was simulated."""
    known = dict(facts)
    if run.path_errors is not None and len(run.t):
        known["tracking"] = f"{run.covered()}: {run.path_errors.text()}"
    is_judged = touches_ground(system) and run.contact == "ideal"
    if audited is None and is_judged and len(run.t):
        tell("auditing")
        audited = audit(system, run)
    tell("verifying")
    certificate, reason = _certificate(system, run)
    tell("writing equations")
    return ReportSubject(
        system=system,
        run=run,
        facts=known,
        command=command,
        checked=describe(system, check_model(run.model)),
        derivation=derivation(system.equations),
        audit=audited,
        certificate=certificate,
        without_certificate=reason,
    )


def _certificate(system: System, run: Trajectory) -> tuple[Certificate | None, str]:
    """The certificate of the mechanism with the numbers it ran with, or why there is none."""
    parameters = tuple(
        dataclasses.replace(p, value=run.parameters[p.name]) for p in run.model.parameters
    )
    model = dataclasses.replace(run.model, parameters=parameters)
    # random states suit the parameters, so what was traced with others is traced again
    traced = system.kinematics if parameters == system.model.parameters else None
    try:
        formulations = tuple(f for f in known_formulations().values() if f.is_dalembert)
        known = tuple(map(type, formulations))
        for one, compared, certificate in tuple(_RECENT):
            if compared == known and one == model:
                return certificate, ""
        certificate = verify(model, formulations=formulations, kinematics=traced)
    except FormulationError as error:
        return None, error.what
    _RECENT.append((model, known, certificate))
    return certificate, ""


#: Verdict of the audit → mark, and what it says in a few words.
GROUND = {
    "holds": ("good", "holds"),
    "holds if shared": ("warn", "holds if shared"),
    "fails": ("bad", "fails"),
    "unknown": ("open", "no verdict"),
}
#: Energy drift and residuals below these count as conserved.
DRIFT, RESIDUAL = 1e-6, 1e-9
#: Figures of an answer.
DIGITS = 3
#: Energy below this part of what is spent is not worth a word.
SMALL_SHARE = 1e-3


def answers(subject: ReportSubject) -> list[Verdict]:
    """Headline results of a motion: speed, inputs, power, friction, loads, errors.

    A run along a path is asked first how well it follows it.
    """
    run = subject.run
    if not len(run.t):
        return [_failure(run)]
    found = [] if run.success else [_failure(run)]
    follows = bool(run.errors) and run.path_errors is not None
    if follows:
        found.append(tracking(run))
    if (estimate := _estimate(run)) is not None:
        found.append(estimate)
    found += _adapted(run)
    found.append(_speed(run))
    if len(run.t) > 1:
        found += _inputs(run)
    if "clearance" in run:
        found.append(_clearance(run))
    if subject.audit is not None and subject.audit.wheels:
        found += _ground(subject.audit)
    if run.errors and not follows:
        found.append(tracking(run))
    return found


def run_verdicts(run: Trajectory) -> list[Verdict]:
    """How a run went, in short: its end, energy, constraints, and what was to be followed."""
    found = [
        Verdict.plain(
            "good" if run.success else "bad",
            "Ended",
            f"at {number_text(float(run.t[-1]), 4)} s",
            f"{run.verdict} {counted(run.steps, 'step')}, {counted(run.nfev, 'evaluation')}",
        ),
        Verdict(
            mark="good" if run.energy_drift <= DRIFT else "bad",
            label="Energy drift",
            answer=error_size(run.energy_drift, 3),
            comment=text("of the energy exchanged"),
        ),
        Verdict(
            mark="good" if max(run.slip, run.gap) <= RESIDUAL else "bad",
            label="Constraint residual",
            answer=error_size(run.slip, 3),
            comment=Html(f"in speeds, m/s or rad/s; in positions {error_size(run.gap, 3)}"),
        ),
    ]
    if run.errors and len(run.t):
        error = tracking(run)
        driven = f". {text(run.covered())}" if run.path_errors is not None else ""
        found.append(replace(error, comment=Html(f"{error.comment}{driven}"), link=""))
    return found


def ground_verdict(audit: Audit) -> Verdict:
    """Whether the ground can hold what rolls and skates, in short."""
    mark, words = GROUND[audit.verdict]
    finite = audit.required[np.isfinite(audit.required)]
    needed = "the wheel loads are not known"
    if finite.size:
        needed = f"needs a friction coefficient of {number_text(float(np.max(finite)), 3)}"
    if audit.friction is not None:
        needed += f"; the ground has {number_text(audit.friction, 3)}"
    return Verdict.plain(mark, "No slip", words, needed)


def _estimate(run: Trajectory) -> Verdict | None:
    """Largest error of what an estimator believes, and how often it is where it says."""
    names = [n.removeprefix("estimate_error.") for n in run.columns if "estimate_error." in n]
    if not names:
        return None
    unit = run.columns[f"estimate_error.{names[0]}"][0]
    alike = [n for n in names if run.columns[f"estimate_error.{n}"][0] == unit]
    errors = np.array([np.abs(run[f"estimate_error.{n}"]) for n in alike])
    spread = np.array([run[f"covariance.{n},{n}"] for n in alike])
    within = float(np.mean(errors <= 2 * np.sqrt(np.maximum(spread, 0.0))))
    worst = int(np.argmax(errors.max(axis=1)))
    return Verdict(
        mark="",
        label="Estimation error",
        answer=quantity(float(errors.max()), unit, DIGITS),
        comment=Html(
            f"at most, in {code(alike[worst])}; within two standard deviations "
            f"{100 * within:.0f} % of the time"
        ),
        link="plots",
    )


def _adapted(run: Trajectory) -> list[Verdict]:
    """What an adaptive controller took the first parameters for at the end."""
    found = []
    for column in [name for name in run.columns if name.startswith("adapted.")][:2]:
        name, unit = column.removeprefix("adapted."), run.columns[column][0]
        true = run.parameters.get(name)
        first = quantity(float(run[column][0]), unit, DIGITS)
        own = "" if true is None else f"; the plant has {quantity(true, unit, DIGITS)}"
        found.append(
            Verdict(
                mark="",
                label=f"Adapted {name}",
                answer=quantity(float(run[column][-1]), unit, DIGITS),
                comment=Html(f"at the end, from {first}{own}"),
                link="plots",
            )
        )
    return found


def _clearance(run: Trajectory) -> Verdict:
    """Least distance to obstacles at the samples of a plan."""
    k = int(np.argmin(run["clearance"]))
    least = float(run["clearance"][k])
    return Verdict(
        mark="" if least >= 0 else "bad",
        label="Clearance",
        answer=quantity(least, "m", DIGITS),
        comment=Html(f"least distance to obstacles, {_at(run, k)}"),
        link="plots",
    )


def _failure(run: Trajectory) -> Verdict:
    time = quantity(float(run.t[-1]), "s") if len(run.t) else text("0 s")
    return Verdict(
        mark="bad",
        label="Stopped",
        answer=Html(f"at {time}"),
        comment=text(run.verdict),
        link="trust",
    )


def _at(run: Trajectory, k: int) -> Html:
    return Html(f"at {quantity(float(run.t[k]), 's', DIGITS)}")


def _speed(run: Trajectory) -> Verdict:
    """Largest speed of what moves over the ground; without it, of the fastest independent speed."""
    fast = top_speed(run)
    if fast is None:
        return Verdict(
            mark="",
            label="Motion",
            answer=text("none"),
            comment=text("the mechanism has no speeds"),
            link="simulated",
        )
    when, label = _at(run, fast.sample), "Top speed"
    comment = Html(f"of {code(fast.name)}, {when}")
    if fast.way is not None:
        label = f"Top speed of {fast.name}"
        span = quantity(float(run.t[-1] - run.t[0]), "s", DIGITS)
        comment = Html(f"{when}; {quantity(fast.way, 'm', DIGITS)} travelled in {span}")
    return Verdict(
        mark="",
        label=label,
        answer=quantity(fast.size, fast.unit, DIGITS),
        comment=comment,
        link="plots",
    )


def _inputs(run: Trajectory) -> list[Verdict]:
    """The largest input of each unit, and the power of all."""
    used = {name: use for name, use in run.input_use().items() if use.peak > 0}
    found = []
    for used_unit in dict.fromkeys(use.unit for use in used.values()):
        alike = {name: use for name, use in used.items() if use.unit == used_unit}
        name = max(alike, key=lambda n: alike[n].peak)
        k = int(np.argmax(np.abs(run[name])))
        rms = "; ".join(
            f"{code(n)} {quantity(use.rms, used_unit, DIGITS)} RMS"
            for n, use in list(alike.items())[:4]
        )
        more = f" and {len(alike) - 4} more" if len(alike) > 4 else ""
        found.append(
            Verdict(
                mark="",
                label={"N*m": "Peak torque", "N": "Peak force"}.get(used_unit, "Peak input"),
                answer=quantity(alike[name].peak, used_unit, DIGITS),
                comment=Html(f"{code(name)}, {_at(run, k)}; {rms}{more}"),
                link="plots",
            )
        )
    if used:
        found.append(_power(run, list(used)))
    return found


def _power(run: Trajectory, names: list[str]) -> Verdict:
    """Largest power of all motors together, and the energy of those that drive at each instant."""
    power = power_use(run, names)
    back = f", {quantity(power.regained, 'J', DIGITS)} taken back"
    if power.regained <= SMALL_SHARE * power.spent:
        back = ""
    return Verdict(
        mark="",
        label="Peak power",
        answer=quantity(abs(power.peak), "W", DIGITS),
        comment=Html(
            f"{'driving' if power.peak >= 0 else 'braking'}, {_at(run, power.sample)}; "
            f"{quantity(power.spent, 'J', DIGITS)} spent{back}"
        ),
        link="plots",
    )


def _ground(audit: Audit) -> list[Verdict]:
    """Friction demand and loads; without wheels, the largest force that a blade holds."""
    if all(wheel.kind == "blade" for wheel in audit.wheels):
        forces = {wheel.name: float(np.nanmax(np.abs(wheel.lateral))) for wheel in audit.wheels}
        worst = max(forces, key=lambda name: forces[name])
        return [
            Verdict(
                mark="",
                label="Side force",
                answer=quantity(forces[worst], "N", 4),
                comment=Html(f"at most, on {code(worst)}; blades hold without friction"),
                link="ground",
            )
        ]
    found = [_demand(audit)]
    loads = {wheel.name: wheel.normal for wheel in audit.loaded if np.isfinite(wheel.normal).any()}
    if loads:
        least = min(loads, key=lambda name: float(np.nanmin(loads[name])))
        most = max(loads, key=lambda name: float(np.nanmax(loads[name])))
        light = float(np.nanmin(loads[least]))
        found.append(
            Verdict(
                mark="bad" if any(np.any(n < -audit.rounding) for n in loads.values()) else "",
                label="Wheel loads" if len(loads) > 1 else "Load of the contact",
                answer=_range(light, float(np.nanmax(loads[most])), "N"),
                comment=Html(
                    f"least on {code(least)}, largest on {code(most)}"
                    if len(loads) > 1
                    else f"on {code(least)}"
                ),
                link="ground",
            )
        )
    return found


def _range(low: float, high: float, unit: str) -> Html:
    """From where to where; one number where both are read as the same."""
    if number_text(low, DIGITS) == number_text(high, DIGITS):
        return quantity(high, unit, DIGITS)
    return Html(f"{number(low, DIGITS)} to {quantity(high, unit, DIGITS)}")


def _demand(audit: Audit) -> Verdict:
    mark, verdict = GROUND[audit.verdict]
    finite = np.where(np.isfinite(audit.required), audit.required, -math.inf)
    if not np.isfinite(finite).any():
        return Verdict(
            mark=mark,
            label="Friction needed",
            answer=text("not known"),
            comment=text(
                "nothing holds the wheels along the ground"
                if audit.loaded and not audit.judged
                else "the loads of the wheels are not known"
            ),
            link="ground",
        )
    k = int(np.argmax(finite))
    needed = number(float(finite[k]), DIGITS)
    when = f"at {quantity(float(audit.t[k]), 's', DIGITS)}"
    if audit.friction is None:
        comment = Html(f"{when}; {code('--friction')} compares it with your ground")
        return Verdict(
            mark="", label="Friction needed", answer=needed, comment=comment, link="ground"
        )
    return Verdict(
        mark=mark,
        label="Friction needed",
        answer=Html(f"{needed} of {number(audit.friction, DIGITS)}"),
        comment=Html(f"{when}; no slip {verdict}"),
        link="ground",
    )


def tracking(run: Trajectory) -> Verdict:
    """Distance from what was to be followed; zero below the tolerance."""
    first, *others = run.largest_errors
    bound = negligible(run)
    is_small, is_rounding = first.size <= bound, bound <= ROUNDING
    below = error_size(0.0) if is_rounding else Html(f"below {quantity(bound, first.unit, 1)}")
    more = (
        f"; {_where(run, e.name)} {quantity(e.size, e.unit, DIGITS)}"
        for e in others
        if e.size > bound
    )
    answer, comment = below, "it follows exactly" if is_rounding else "the tolerance of the run"
    if not is_small:
        answer = quantity(first.size, first.unit, DIGITS)
        last = below if first.last <= bound else quantity(first.last, first.unit, DIGITS)
        where = "" if run.path_errors is not None else f", in {code(first.name)}"
        comment = f"at most{where}; {last} at the end"
    return Verdict(
        mark="",
        label="Tracking error",
        answer=answer,
        comment=Html(f"{comment}{''.join(more)}"),
        link="plots",
    )


def _where(run: Trajectory, name: str) -> Html:
    """What has an error: the heading on a path, or a coordinate."""
    return text("heading") if run.path_errors is not None else code(name)


def trust(subject: ReportSubject) -> PageSection:
    """One line that says whether the numbers can be trusted; the sections below say why."""
    run, certificate = subject.run, subject.certificate
    time = quantity(float(run.t[-1]), "s") if len(run.t) else text("0 s")
    parts = [
        Html(f"{text(run.verdict.removesuffix('.'))}, at {time}"),
        Html(f'<a href="#balance">{_energy(run)}</a>'),
        Html(f'<a href="#balance">{_residual(run)}</a>'),
    ]
    mark = "good" if run.success else "bad"
    if certificate is None:
        parts.append(text(f"formulations not compared: {subject.without_certificate}"))
        mark = "warn" if mark == "good" else mark
    else:
        count = len(certificate.formulations)
        verb = "agree to" if certificate.holds else "do not agree: they differ by"
        found = f"{count} formulations {verb} {error_size(certificate.worst)}"
        parts.append(Html(f'<a href="#certificate">{found}</a>'))
        mark = mark if certificate.holds else "bad"
    line = remark(mark, joined(parts, " · "))
    return PageSection(key="trust", title="Can it be trusted?", body=line, is_line=True)


def error_size(value: float, digits: int = 2) -> Html:
    """An error, or that it is none but rounding."""
    if value <= ROUNDING:
        return Html(f'<data value="{float(value)!r}">rounding error</data>')
    return number(value, digits)


def _energy(run: Trajectory) -> str:
    verb = "energy holds to" if run.energy_drift <= ROUNDING else "energy drift"
    return f"{verb} {error_size(run.energy_drift)}"


def _residual(run: Trajectory) -> str:
    if max(run.slip, run.gap) <= ROUNDING:
        return f"constraints hold to {error_size(max(run.slip, run.gap))}"
    positions = (
        f" in speeds, {error_size(run.gap)} in positions" if run.position_residuals.size else ""
    )
    return f"constraint residual {error_size(run.slip)}{positions}"


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
CANCELLED = 1e-14


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
        zero = CANCELLED * float(np.max(np.abs(values)))
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
        said = found.integrated()
        parts += [paragraph(text(f"{said}."))] if said else []
        parts.append(table("Rows", ("row", "from", "kind", "independent"), rows))
        section = _section(subject, ROWS)
        if section is not None:
            parts.append(_mathematics(section))
    for warning in found.warnings:
        parts.append(remark("warn", text(f"{warning.what} ({warning.where}): {warning.fix}")))
    return PageSection(key="mechanism", title="Degrees of freedom", body=joined(parts))


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
        if section.title in (SKETCH, MOTION):
            parts.append(_mathematics(section))
    shown = {SKETCH, MOTION, ROWS, CHECK, OPENING}
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


def balance(subject: ReportSubject, figure: Html) -> PageSection:
    """Energy and constraint residuals, as curves and numbers."""
    run = subject.run
    if not len(run.t):
        return PageSection(
            key="balance",
            title="Energy and constraints",
            body=paragraph(text("The run has no samples.")),
        )
    energies = [
        ("kinetic energy", run.kinetic_energy),
        ("potential energy", run.potential_energy),
        ("work done on it", run.work),
        ("energy error", run.energy_error),
    ]
    rows = [
        (text(name), *(number(float(x)) for x in (e[0], e[-1], np.min(e), np.max(e))))
        for name, e in energies
    ]
    parts = [
        figure,
        paragraph(
            text("The energy error is kinetic and potential energy minus the work of all "
                 "forces without a potential, since the start. At most it is "),
            number(run.energy_drift, 3),
            text(" of the energy exchanged."),
        ),
        table(
            "Energies and work, J", ("quantity", "start", "end", "least", "largest"), rows,
            numbers={1, 2, 3, 4},
        ),
    ]  # fmt: skip
    if run.rows:
        parts += [heading("Residuals of the constraints"), _residuals(subject)]
    return PageSection(key="balance", title="Energy and constraints", body=joined(parts))


def _residuals(subject: ReportSubject) -> Html:
    run, kin = subject.run, subject.system.kinematics
    holonomic = [row.name for row in kin.rows if row.is_holonomic]
    rows = []
    for k, (name, row_unit) in enumerate(zip(run.rows, run.row_units, strict=True)):
        speed = float(np.max(np.abs(run.row_residuals[:, k])))
        cells = [code(name), quantity(speed, row_unit, 3)]
        if name in holonomic:
            gap = np.max(np.abs(run.position_residuals[:, holonomic.index(name)]))
            cells.append(quantity(float(gap), row_unit.removesuffix("/s"), 3))
        elif holonomic:
            cells.append(text("–"))
        rows.append(cells)
    header = ("row", "in speeds", "in positions")[: 3 if holonomic else 2]
    return table("Largest over all samples", header, rows, numbers={1, 2})


def ground(subject: ReportSubject, figure: Html) -> PageSection:
    """Contact forces and friction demand of the motion, and the verdict on slip."""
    audit = subject.audit
    key, title = "ground", "No-slip audit"
    if subject.run.contact != "ideal":
        return PageSection(key=key, title="Contacts", body=_contacts(subject.run))
    if audit is None or not audit.wheels:
        why = "Nothing rolls or skates: the model has no contacts."
        if subject.model.contacts:
            why = "The run has no samples."
        return PageSection(key=key, title=title, body=paragraph(text(why)))
    mark, verdict = GROUND[audit.verdict]
    said = [(line[:21].strip(), line[21:].strip()) for line in audit.text().splitlines()]
    parts = [
        remark(mark, Html(f"<strong>Verdict: {verdict}.</strong> "), _why(audit)),
        facts((label, words(line)) for label, line in said),
        figure,
        _wheels(audit.to_json()),
    ]
    return PageSection(key=key, title=title, body=joined(parts))


#: Rows of events of contacts that a report lists.
MOST_EVENTS = 40


def _contacts(run: Trajectory) -> Html:
    """What contacts did in a run by Coulomb's law, event by event."""
    said = [note for note in run.notes if note.startswith("contact '")]
    lost = {name: float(run[name][-1]) for name in ("friction_loss", "impact_loss")}
    words = "Contacts roll, slide and lift off by Coulomb's law, event by event."
    if not run.contact_events:
        words += " None of them changed: each did what it does at the start all the while."
    shown = run.contact_events[:MOST_EVENTS]
    rows = [[number(e.time, 7), code(e.contact), text(e.what), number(e.loss, 4)] for e in shown]
    left = len(run.contact_events) - len(shown)
    parts = [
        paragraph(text(words)),
        facts(
            [
                *((note.partition("'")[2].partition("'")[0], text(note)) for note in said),
                ("friction took", quantity(lost["friction_loss"], "J")),
                ("impacts took", quantity(lost["impact_loss"], "J")),
            ]
        ),
        table("Events", ("time, s", "contact", "what", "taken, J"), rows, numbers={0, 3})
        if rows
        else Html(""),
    ]
    if left:
        parts.append(paragraph(text(f"{left} more: run.contact_events has all of them.")))
    return joined(parts)


def _why(audit: Audit) -> Html:
    if all(wheel.kind == "blade" for wheel in audit.wheels):
        return text("The model has no wheels, and blades hold without friction.")
    if audit.verdict == "unknown" and audit.friction is None:
        return Html(
            "The friction coefficient of the ground was not given; "
            f"{code('--friction')} compares the demand with it."
        )
    if audit.slides:
        return text("A tire uses all of its own limit: it slides.")
    return {
        "holds": text("However the wheels share the forces, the ground can hold them."),
        "holds if shared": text(
            "Friction lets the wheels share the forces so that the ground holds them; some other "
            "ways of sharing would not hold."
        ),
        "fails": text("However the wheels share the forces, a wheel slips or lifts."),
        "unknown": text(
            "The loads of some wheels are not known."
            if audit.judged or not audit.loaded
            else "Nothing holds the wheels along the ground, neither rows nor tires."
        ),
    }[audit.verdict]


def _wheels(data: Mapping[str, Any]) -> Html:
    """Extremes of each wheel and blade; empty columns are left out."""
    columns = {
        "friction demand": ("largest_demand", "1"),
        "use of own limit": ("largest_use", "1"),
        "least load": ("least_load", "N"),
        "largest load": ("largest_load", "N"),
        "along": ("largest_longitudinal", "N"),
        "sideways": ("largest_lateral", "N"),
    }
    wheels = data["wheels"]
    # of a blade only the side force means anything
    known = {
        (name, key): value
        for name, wheel in wheels.items()
        for key, _ in columns.values()
        if (value := wheel[key]) is not None
        and (wheel["kind"] != "blade" or key == "largest_lateral")
        and (wheel["grip_from"] or key != "largest_demand")
    }
    shown = {t: column for t, column in columns.items() if column[0] in {k for _, k in known}}
    rows = []
    for name, wheel in wheels.items():
        cells = [
            quantity(known[name, key], of, 4) if (name, key) in known else text("–")
            for key, of in shown.values()
        ]
        rows.append((code(name), text(wheel["kind"]), *cells))
    return table(
        "Largest over all samples, in the least-norm distribution where wheels share a force",
        ("contact", "kind", *shown),
        rows,
        numbers=range(2, 2 + len(shown)),
    )


def certificate(subject: ReportSubject) -> PageSection:
    """Whether independent ways to the equations agree."""
    found = subject.certificate
    key, title = "certificate", "Verification certificate"
    if found is None:
        body = remark("open", text(f"No certificate: {subject.without_certificate}."))
        return PageSection(key=key, title=title, body=body)
    verb = "agree" if found.holds else "do not agree"
    parts = [
        remark(
            "good" if found.holds else "bad",
            Html(f"<strong>{len(found.formulations)} formulations {verb}</strong> "),
            text(f"at {found.states} random states of this mechanism: the largest relative "
                 "difference is "),
            number(found.worst, 2),
            Html(f", the tolerance {number(found.TOLERANCE, 1)}."),
        ),
        paragraph(text(f"Compared: {', '.join(found.formulations)}.")),
        table(
            "Checks and the worst relative difference of each",
            ("check", "result", "difference", "where"),
            (
                (
                    text(f.check),
                    Html(f'<span class="{"good" if f.holds else "bad"}">'
                         f'<span class="mark" aria-hidden="true">{"✓" if f.holds else "✗"}</span>'
                         f"{'holds' if f.holds else 'fails'}</span>"),
                    number(f.disagreement, 2),
                    text(f.where),
                )
                for f in found.findings
            ),
            numbers={2},
        ),
        paragraph(*_vakonomic(found)),
    ]  # fmt: skip
    return PageSection(key=key, title=title, body=joined(parts))


def _vakonomic(found: Certificate) -> tuple[Html, ...]:
    difference = found.vakonomic
    if math.isnan(difference):
        return (text("Vakonomic mechanics was not compared."),)
    if difference <= found.TOLERANCE:
        return (text("Vakonomic mechanics coincides: the constraints are integrable."),)
    return (
        text("Vakonomic mechanics is a different theory; its accelerations differ by a relative "),
        number(difference, 2),
        text("."),
    )


#: The animation lasts no longer than this, s; a longer motion is shown faster than it happened.
LONGEST = 15.0
#: How many times as fast it may be shown.
SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
#: Pictures a second.
RATE = 24.0
#: Of the still, pixels.
WIDTH, HEIGHT = 1280, 800

#: Figures that answer what people ask first, in this order, as far as there is room for them; those
#: of other sections are there, the rest is folded.
FIRST = (
    "path",
    "contacts",
    "errors",
    "controller",
    "adapted",
    "clearance",
    "inputs",
    "demand",
    "speeds",
    "coordinates",
)
ELSEWHERE = ("energy", "friction", "demand")
#: Inches of a column of figures on the second screen of the page; the two figures that are wanted
#: most are always open, and others beside them as far as there is room.
ROOM = 4.3
#: Of these, one is wanted most.
OF_CONTROL = ("controller", "adapted")

#: Titles of figures that only a report has.
MORE_TITLES = {
    "controller": "main signals of the controller",
    "demand": "friction that the wheels need",
}
NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
NOTHING = "The run has no motion to draw."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Pictures of a report: the animation in its frame, and figures by name."""

    animation: Html  #: animation in its frame
    figures: dict[str, Html]  #: figures by name
    first: tuple[str, ...] = ()  #: names of those that are not folded

    def of(self, name: str) -> Html:
        """A figure, or nothing where there is none."""
        return self.figures.get(name, Html(""))


def draw(subject: ReportSubject, tell: StatusCallback) -> Pictures:
    """All pictures of a run."""
    if not subject.has_motion:
        return Pictures(animation=paragraph(text(NOTHING)), figures={})
    tell("animating")
    moving = animation(subject.system, subject.run)
    tell("drawing")
    found = sheets(subject)
    return Pictures(
        animation=moving,
        figures={name: _svg(subject, name, sheet) for name, sheet in found.items()},
        first=first_figures(subject.run, found),
    )


def motion(drawn: Pictures) -> PageSection:
    """The animation."""
    return PageSection(key="motion", title="Motion", body=drawn.animation)


def plots(drawn: Pictures) -> PageSection:
    """Figures of the motion and of what drives it; all others below, folded."""
    first = [drawn.figures[name] for name in drawn.first]
    rest = [html for name, html in drawn.figures.items() if name not in (*drawn.first, *ELSEWHERE)]
    parts = [_side_by_side(first)] if first else []
    if rest:
        parts.append(folded("More figures", _side_by_side(rest)))
    body = joined(parts) if parts else paragraph(text(NOTHING))
    return PageSection(key="plots", title="Plots", body=body)


def live(subject: ReportSubject) -> list[PageSection]:
    """The run with its knobs, simulated anew in the page; nothing where no page can repeat it."""
    from noslip import share  # it has equations of this package

    if not subject.has_motion:
        return []
    try:
        page = share(subject.run, equations=False)
    except NoslipError:
        return []
    return [
        PageSection(
            key="live",
            title="Change it",
            body=Html(f'<div class="live">{page.html()}</div>'),
            is_folded=True,
        )
    ]


def _side_by_side(figures: list[Html]) -> Html:
    return Html(f'<div class="figures">\n{joined(figures)}\n</div>')


def pace(duration: float) -> float:
    """Playback speed factor that bounds how long the animation lasts."""
    return next((speed for speed in SPEEDS if duration / speed <= LONGEST), SPEEDS[-1])


def animation(system: System, run: Trajectory) -> Html:
    """A frame with the animation over a still, which is seen until it plays and on paper.

    Without viser it is the still alone.
    """
    from noslip.show.animate import picture, recorded

    name = run.model.name
    still = picture(run, system=system, width=WIDTH, height=HEIGHT)
    end = f"{name} at the end of the run, t = {number_text(float(run.t[-1]))} s"
    image = f'<img alt="{escape(end)}" src="{_png(still)}" width="{WIDTH}" height="{HEIGHT}">'
    if not is_installed("viser"):
        return Html(
            f'<figure><div class="stage">{image}</div><figcaption>{escape(end)}. '
            '<span class="onscreen">With <code>pip install "noslip[show]"</code> the report '
            "plays the motion.</span></figcaption></figure>"
        )
    speed = pace(float(run.t[-1] - run.t[0]))
    shown = recorded(system, run, rate=RATE, speed=speed, legend=False)
    fast = f", shown {number_text(speed)} times as fast as it happened" if speed > 1 else ""
    title = f"Animation of {name}"
    return Html(
        f'<figure><div class="stage">{image}'
        f'<iframe title="{escape(title)}" loading="lazy" sandbox="allow-scripts" '
        f'srcdoc="{escape(shown.page)}"></iframe></div>'
        f'<figcaption><span class="onscreen">The motion{fast}. Drag to rotate, scroll or pinch '
        f'to zoom. {_legend(shown)}</span><span class="onpaper">{escape(end)}.</span>'
        "</figcaption></figure>"
    )


def _legend(shown: Recording) -> Html:
    """Scale of the grid, and which path has which color."""
    said = "The ground is darker where it is lower."
    if shown.lines is not None:
        said += f" Its lines are {number_text(shown.lines)}{SPACE}m apart."
    if shown.cell is not None:
        said = f"Grid lines are {number_text(shown.cell)}{SPACE}m apart, dark ones "
        said += f"{number_text(5 * shown.cell)}{SPACE}m."
    for color, names in shown.traces.items():
        kind = 'class="trace dashes"' if shown.is_dashed(color) else 'class="trace"'
        said += (
            f' <span class="traced"><span {kind} style="--trace: rgb{color}" '
            f'aria-hidden="true"></span>{escape(names)}</span>'
        )
    return Html(said)


def _png(image: Image) -> str:
    data = io.BytesIO()
    image.save(data, format="PNG")
    return f"data:image/png;base64,{b64encode(data.getvalue()).decode('ascii')}"


def sheets(subject: ReportSubject) -> dict[str, Sheet]:
    """All figures, as narrow as a phone; elsewhere they are side by side."""
    from noslip.show.plots.panels import (
        contact_panels,
        friction_panels,
        lay_out,
        main_signals,
        signal_panels,
    )
    from noslip.show.plots.plotting import run_sheets

    run = subject.run
    found = run_sheets(run, subject.audit, size="column", titled=False)
    if "signals" in found:
        main = signal_panels(run, only=main_signals(run))
        found["controller"] = lay_out(main, size="column")
        if len(main) == len(signal_panels(run)):
            del found["signals"]
    if "contacts" in found:  # states and grip; the figure of its own has loads and slips
        found["contacts"] = lay_out(contact_panels(run)[:2], size="column")
    if "friction" in found and subject.audit is not None:
        found["demand"] = lay_out(friction_panels(subject.audit)[:1], size="column")
    return found


def first_figures(run: Trajectory, sheets: Mapping[str, Sheet]) -> tuple[str, ...]:
    """Figures that are not folded: two at least, and as many as there is room for.

    An error below the tolerance of the run is none that anyone looks for.
    """
    wanted = [name for name in FIRST if name in sheets]
    if "errors" in wanted and all(e.size <= negligible(run) for e in run.largest_errors[:1]):
        wanted.remove("errors")
    if "controller" in wanted and "inputs" in wanted:
        wanted.remove("inputs")  # they are in it
    most = [name for name in wanted if name in OF_CONTROL][:1]
    most += [name for name in wanted if name not in most][: 2 - len(most)]
    chosen = [name for name in wanted if name in most]
    heights = {name: sheets[name].height for name in wanted}
    room = max(ROOM, column_height([heights[name] for name in chosen]))
    for name in wanted:
        if name not in chosen:
            more = arranged([one for one in wanted if one in (*chosen, name)], heights)
            if column_height([heights[n] for n in more]) <= room:
                chosen = more
    return tuple(chosen)


def arranged(names: list[str], heights: Mapping[str, float]) -> list[str]:
    """Figures in the order in which two columns are shortest, the first one first."""
    orders = ([names[0], *rest] for rest in permutations(names[1:]))
    return min(orders, key=lambda order: round(column_height([heights[n] for n in order]), 3))


def column_height(heights: list[float]) -> float:
    """Height of two columns of figures, as a browser parts them."""
    parted = [max(sum(heights[:k]), sum(heights[k:])) for k in range(len(heights) + 1)]
    return min(parted)


def _svg(subject: ReportSubject, name: str, sheet: Sheet) -> Html:
    from noslip.show.plots.painting import sheet_svg
    from noslip.show.plots.plotting import TITLES

    words = {**TITLES, **MORE_TITLES}[name]
    svg = sheet_svg(sheet, name=name, title=f"{subject.model.name}: {words}")
    # within a page the browser knows the namespace
    return figure(Html(svg.replace(NAMESPACE, "", 1)), words[0].upper() + words[1:])


def write_report(
    system: System,
    run: Trajectory,
    path: str | Path,
    *,
    command: str = "",
    facts: Mapping[str, str] | None = None,
    audit: Audit | None = None,
    tell: StatusCallback | None = None,
) -> Path:
    """Write a run as one self-contained HTML page.

    It opens with what the motion asks of the machine (speeds, inputs, power, friction, loads,
    errors), the animation, one line on what can be trusted, and figures. Folded below: the run with
    knobs, simulated anew in the page (:func:`share`), the no-slip audit, what was simulated,
    degrees of freedom, equations of motion, energy and residuals, the verification certificate, the
    environment, and the command that reproduces it.

    Parameters
    ----------
    system : compiled system that was simulated, or drove the plant that was.
    run : run by :func:`simulate`, :func:`run_scenario` or :func:`track`.
    path : path of the page; its folder must exist.
    command : command that reproduces the run in a terminal.
    facts : further words on what was simulated, such as ``{"path": "a circle of 2 m"}``.
    audit : audit of the run, such as one with a friction coefficient; made here if it is not given.
    tell : function called with a short text on what is being done.

    Returns
    -------
    Path : of the page.
    """
    require_system("write_report", system)
    target = Path(path)
    if not os.path.isdir(target.parent):
        raise SimulationError(
            f"there is no folder '{target.parent}'",
            str(target),
            "make it, or correct the path",
        )
    document = report_html(system, run, command=command, facts=facts, audit=audit, tell=tell)
    write_atomically(target, lambda temporary: temporary.write_text(document, encoding="utf-8"))
    return target


def report_html(
    system: System,
    run: Trajectory,
    *,
    command: str = "",
    facts: Mapping[str, str] | None = None,
    audit: Audit | None = None,
    tell: StatusCallback | None = None,
) -> str:
    """The page of :func:`write_report` as text."""
    say = tell or (lambda word: None)
    system = simulated_system(system, run, "report of a run")
    subject = gather(system, run, facts=facts or {}, command=command, audited=audit, tell=say)
    drawn = draw(subject, say)
    say("writing the live page")
    model = subject.model
    lead = [Html(f'<p class="lead">{text(model.description)}</p>')] if model.description else []
    lead.append(Html(f'<p class="made">Report of a run, made by noslip {__version__}</p>'))
    return page(
        f"{model.name}: report of a run",
        heading=model.name,
        lead=joined(lead),
        opening=Html(f'<section aria-label="Summary">{verdicts(answers(subject))}</section>'),
        parts=[
            motion(drawn),
            trust(subject),
            plots(drawn),
            *live(subject),
            *(
                replace(section, is_folded=True)
                for section in (
                    ground(subject, drawn.of("friction")),
                    simulated(subject),
                    mechanism(subject),
                    equations(subject),
                    balance(subject, drawn.of("energy")),
                    certificate(subject),
                    environment(subject),
                    reproduction(subject),
                )
            ),
        ],
        styles=parts_style(),
    )

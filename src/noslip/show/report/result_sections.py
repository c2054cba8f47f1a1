"""Sections on results and their checks: energy, constraints, ground, formulations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from noslip import Trajectory
from noslip.results import Audit, Certificate
from noslip.show.report.answers import GROUND
from noslip.show.report.elements import (
    Html,
    PageSection,
    code,
    facts,
    heading,
    joined,
    number,
    paragraph,
    quantity,
    remark,
    table,
    text,
    words,
)
from noslip.show.report.report_subject import ReportSubject


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
    for k, (name, unit) in enumerate(zip(run.rows, run.row_units, strict=True)):
        speed = float(np.max(np.abs(run.row_residuals[:, k])))
        cells = [code(name), quantity(speed, unit, 3)]
        if name in holonomic:
            gap = np.max(np.abs(run.position_residuals[:, holonomic.index(name)]))
            cells.append(quantity(float(gap), unit.removesuffix("/s"), 3))
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

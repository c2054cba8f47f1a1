"""Sections on the mechanism: its degrees of freedom, its constraints, its equations of motion."""

from __future__ import annotations

from collections.abc import Iterator

from noslip.show.equations.derivations.document import Paragraph, Section
from noslip.show.equations.documents import html_blocks
from noslip.show.report.elements import (
    Html,
    PageSection,
    code,
    facts,
    folded,
    heading,
    joined,
    paragraph,
    remark,
    table,
    text,
)
from noslip.show.report.subject import ReportSubject
from noslip.show.report.values import SPACE, unit, words
from noslip.words import counted

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
            kind = "holonomic" if row.is_holonomic else "nonholonomic"
            counts = "yes"
            if others is not None:
                counts = f"no: follows from {', '.join(others)}" if others else "no: vanishes"
            rows.append((code(row.name), text(row.origin), text(kind), text(counts)))
        parts.append(heading("Constraints"))
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
        method += ", which is another mechanics"
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

"""The answers that a reader asks for first, side by side at the top of the page."""

from __future__ import annotations

import numpy as np

from noslip.analysis.audit import Audit
from noslip.show.report.elements import Html, Verdict, code, text
from noslip.show.report.subject import ReportSubject
from noslip.show.report.trust import GROUND
from noslip.show.report.values import number, quantity
from noslip.simulation.trajectory import largest_errors


def answers(subject: ReportSubject) -> list[Verdict]:
    """How it ended, energy, constraints, tracking, ground, formulations."""
    run = subject.run
    time = quantity(float(run.t[-1]), "s") if len(run.t) else text("0 s")
    found = [
        Verdict(
            mark="good" if run.success else "bad",
            label="How it ended",
            answer=Html(f"at {time}"),
            comment=text(run.message),
            link="simulated",
        ),
        Verdict(
            mark="",
            label="Energy drift",
            answer=number(run.energy_drift, 3),
            comment=text("of the energy that moved"),
            link="balance",
        ),
        Verdict(
            mark="",
            label="Constraint residual",
            answer=number(run.slip, 3),
            comment=Html(f"m/s or rad/s at most; in positions {number(run.gap, 3)} m or rad"),
            link="balance",
        ),
    ]
    if subject.run.errors and len(run.t):
        found.append(_tracking(subject))
    if subject.audit is not None and subject.audit.wheels:
        found.append(_ground(subject.audit))
    return [*found, _agreement(subject)]


def _tracking(subject: ReportSubject) -> Verdict:
    first, *others = largest_errors(subject.run)
    more = (f"; {quantity(e.size, e.unit, 3)} in {code(e.name)}" for e in others)
    return Verdict(
        mark="",
        label="Tracking error",
        answer=quantity(first.size, first.unit, 3),
        comment=Html(f"at most, in {code(first.name)}{''.join(more)}"),
        link="plots",
    )


def _ground(audit: Audit) -> Verdict:
    """The verdict on slip; without wheels, the largest force that a blade holds."""
    if all(wheel.kind == "blade" for wheel in audit.wheels):
        forces = {wheel.name: float(np.nanmax(np.abs(wheel.lateral))) for wheel in audit.wheels}
        worst = max(forces, key=lambda name: forces[name])
        return Verdict(
            mark="",
            label="Side force",
            answer=quantity(forces[worst], "N", 4),
            comment=Html(f"at most, on {code(worst)}; blades hold without friction"),
            link="ground",
        )
    mark, verdict = GROUND[audit.verdict]
    return Verdict(
        mark=mark, label="No slip", answer=text(verdict), comment=_demand(audit), link="ground"
    )


def _demand(audit: Audit) -> Html:
    finite = audit.required[np.isfinite(audit.required)]
    if not finite.size:
        return text("the loads of the wheels are not known")
    needed = Html(f"needs a friction coefficient of {number(float(np.max(finite)), 3)}")
    if audit.friction is None:
        return Html(f"{needed}; none was given to compare with")
    return Html(f"{needed}; the ground has {number(audit.friction, 3)}")


def _agreement(subject: ReportSubject) -> Verdict:
    certificate = subject.certificate
    if certificate is None:
        return Verdict(
            mark="open",
            label="Formulations",
            answer=text("not compared"),
            comment=text(subject.without_certificate),
            link="certificate",
        )
    return Verdict(
        mark="good" if certificate.holds else "bad",
        label=f"{len(certificate.formulations)} formulations",
        answer=text("agree" if certificate.holds else "disagree"),
        comment=Html(f"worst relative difference {number(certificate.worst, 2)}"),
        link="certificate",
    )

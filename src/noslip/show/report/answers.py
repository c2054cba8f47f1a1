"""Opening of a report: speeds, inputs, power, friction, loads, errors; and what is trusted."""

from __future__ import annotations

import math

import numpy as np

from noslip.analysis.audit import Audit
from noslip.show.headlines import power_use, top_speed
from noslip.show.report.elements import (
    Html,
    PageSection,
    Verdict,
    code,
    joined,
    number,
    number_text,
    quantity,
    remark,
    text,
)
from noslip.show.report.subject import ReportSubject
from noslip.simulation.trajectory import Trajectory, largest_errors

#: Verdict of the audit → mark, and what it says in a few words.
GROUND = {
    "holds": ("good", "holds"),
    "holds if shared": ("warn", "holds if shared"),
    "fails": ("bad", "fails"),
    "unknown": ("open", "no verdict"),
}
#: Figures of an answer.
DIGITS = 3


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
        found.append(_tracking(run))
    found.append(_speed(run))
    if len(run.t) > 1:
        found += _inputs(run)
    if subject.audit is not None and subject.audit.wheels:
        found += _ground(subject.audit)
    if run.errors and not follows:
        found.append(_tracking(run))
    return found


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
    for unit in dict.fromkeys(use.unit for use in used.values()):
        alike = {name: use for name, use in used.items() if use.unit == unit}
        name = max(alike, key=lambda n: alike[n].peak)
        k = int(np.argmax(np.abs(run[name])))
        rms = "; ".join(
            f"{code(n)} {quantity(use.rms, unit, DIGITS)} RMS" for n, use in list(alike.items())[:4]
        )
        more = f" and {len(alike) - 4} more" if len(alike) > 4 else ""
        found.append(
            Verdict(
                mark="",
                label={"N*m": "Peak torque", "N": "Peak force"}.get(unit, "Peak input"),
                answer=quantity(alike[name].peak, unit, DIGITS),
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
    return Verdict(
        mark="",
        label="Peak power",
        answer=quantity(abs(power.peak), "W", DIGITS),
        comment=Html(
            f"{'driving' if power.peak >= 0 else 'braking'}, {_at(run, power.sample)}; "
            f"{quantity(power.spent, 'J', DIGITS)} spent, "
            f"{quantity(power.regained, 'J', DIGITS)} taken back"
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
                label="Wheel loads",
                answer=Html(
                    f"{number(light, DIGITS)} to "
                    f"{quantity(float(np.nanmax(loads[most])), 'N', DIGITS)}"
                ),
                comment=Html(f"least on {code(least)}, largest on {code(most)}"),
                link="ground",
            )
        )
    return found


def _demand(audit: Audit) -> Verdict:
    mark, verdict = GROUND[audit.verdict]
    finite = np.where(np.isfinite(audit.required), audit.required, -math.inf)
    if not np.isfinite(finite).any():
        return Verdict(
            mark=mark,
            label="Friction needed",
            answer=text("not known"),
            comment=text("the loads of the wheels are not known"),
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


def _tracking(run: Trajectory) -> Verdict:
    """Distance from what was to be followed; below the tolerance it is none."""
    first, *others = largest_errors(run)
    is_small = first.size <= run.rtol
    answer = (
        Html(f"below {quantity(run.rtol, first.unit, 1)}")
        if is_small
        else quantity(first.size, first.unit, DIGITS)
    )
    more = (
        f"; {quantity(e.size, e.unit, DIGITS)} in {code(e.name)}"
        for e in others
        if e.size > run.rtol
    )
    comment = "the tolerance of the run" if is_small else f"at most, in {code(first.name)}"
    return Verdict(
        mark="",
        label="Tracking error",
        answer=answer,
        comment=Html(f"{comment}{''.join(more)}"),
        link="plots",
    )


def trust(subject: ReportSubject) -> PageSection:
    """One line that says whether the numbers can be trusted; the sections below say why."""
    run, certificate = subject.run, subject.certificate
    time = quantity(float(run.t[-1]), "s") if len(run.t) else text("0 s")
    parts = [
        Html(f"{text(run.verdict.removesuffix('.'))}, at {time}"),
        Html(f'<a href="#balance">energy drift {number(run.energy_drift, 2)}</a>'),
        Html(f'<a href="#balance">constraint residual {number(run.slip, 2)}'
             f"{_positions(run)}</a>"),
    ]  # fmt: skip
    mark = "good" if run.success else "bad"
    if certificate is None:
        parts.append(text(f"formulations not compared: {subject.without_certificate}"))
        mark = "warn" if mark == "good" else mark
    else:
        count = len(certificate.formulations)
        verb = "agree to" if certificate.holds else "do not agree: they differ by"
        parts.append(
            Html(
                f'<a href="#certificate">{count} formulations {verb} '
                f"{number_text(certificate.worst, 2)}</a>"
            )
        )
        mark = mark if certificate.holds else "bad"
    line = remark(mark, joined(parts, " · "))
    return PageSection(key="trust", title="Can it be trusted?", body=line)


def _positions(run: Trajectory) -> str:
    return f" in speeds, {number(run.gap, 2)} in positions" if run.position_residuals.size else ""

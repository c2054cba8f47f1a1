"""Opening of a report: speeds, inputs, power, friction, loads, errors; and what is trusted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from noslip import Trajectory
from noslip.results import Audit
from noslip.base import counted
from noslip.show.headlines import ROUNDING, negligible, power_use, top_speed
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
from noslip.show.report.report_subject import ReportSubject

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
    """Distance from what was to be followed; below the tolerance it is none."""
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

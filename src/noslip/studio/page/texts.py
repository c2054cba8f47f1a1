"""Texts of the page: faults, verdicts, the model in a line. All text is escaped."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from html import escape
from importlib.resources import files

import numpy as np

from noslip import Fault, Model, compare
from noslip.base import counted
from noslip.results import Audit, Certificate
from noslip.show import Verdict, ground_verdict, number_text, run_verdicts
from noslip.studio.choice import DRIVE, INPUTS, PATH, SCENARIO, TASKS, differences
from noslip.studio.page.scene_panel import PathShape
from noslip.studio.session import Shown, is_vakonomic

#: Looks of everything below; the page may be light or dark.
STYLE = files("noslip.studio.page").joinpath("texts.css").read_text("utf-8")
STYLE = f"<style>\n{STYLE}</style>"

#: What a model without a scenario does at first.
SUGGESTED = {
    PATH: f"it follows a path. <em>{TASKS[DRIVE]}</em> is another task",
    INPUTS: "its start is perturbed. Type inputs of your own, change its start, or choose a task",
}

#: Faults that are seen at once: with many, the controls would be far below.
FAULTS = 2


def box(*inside: str) -> str:
    """HTML box with the style of the studio."""
    return f'{STYLE}<div class="studio">{"".join(inside)}</div>'


def faults_html(faults: Iterable[Fault], *, title: str = "", kind: str = "") -> str:
    """Faults as what, where and fix, those beyond the first ones folded; empty without any."""
    parts = [
        f'<div class="fault {kind}"><b>{escape(fault.what)}</b>'
        f'<span class="dim">where</span> {escape(fault.where)}<br>'
        f'<span class="dim">fix</span> {escape(fault.fix)}</div>'
        for fault in faults
    ]
    if not parts:
        return ""
    head = f"<p><strong>{escape(title)}</strong></p>" if title else ""
    first, more = "".join(parts[:FAULTS]), "".join(parts[FAULTS:])
    if more:
        count = counted(len(parts) - FAULTS, "more fault")
        more = f"<details><summary>{count}</summary>{more}</details>"
    return head + first + more


def about_html(model: Model, shown: Shown | None) -> str:
    """The model in two lines."""
    task = ""
    is_scenario = shown is None or shown.choice.task == SCENARIO
    if shown is not None and model.scenario is None and shown.choice.task in SUGGESTED:
        task = f'<p class="dim">No scenario is given: {SUGGESTED[shown.choice.task]}.</p>'
    if is_scenario and model.scenario is not None and model.scenario.description:
        task = f'<p class="dim">{escape(model.scenario.description)}</p>'
    time = ""
    if shown is not None:
        run = shown.run
        made = f", computed in {shown.compute * 1e3:.0f} ms" if shown.choice.task != DRIVE else ""
        span = f"{counted(len(run.t), 'sample')} over {run.t[-1] - run.t[0]:.4g} s"
        time = f'<p class="dim">{span}{made}</p>'
    return box(f"<p>{escape(model.description or model.name)}</p>", task, time)


def drive_html(model: Model) -> str:
    """The model, and how it is driven."""
    how = "Drive with the arrow keys, the buttons or the sliders below; space stops."
    return box(f"<p>{escape(model.description or model.name)}</p>", f'<p class="dim">{how}</p>')


def verdicts_html(
    shown: Shown, audit: Audit | None, certificate: Certificate | None, why: str = ""
) -> str:
    """HTML of the run's ending, energy, residual, tracking, ground, certificate, and command."""
    rows = [_verdict(v) for v in [*run_verdicts(shown.run), _of_ground(shown, audit)]]
    rows.append(_verdict(_of_formulations(certificate, why)))
    reproduce = ""
    if shown.command:
        reproduce = f"<p>Reproduce on the command line:</p><pre>{escape(shown.command)}</pre>"
    lines = ""
    if audit is not None:
        found = escape("\n".join(line.strip() for line in audit.text().splitlines()))
        lines = f"<details><summary>The ground in full</summary><pre>{found}</pre></details>"
    if certificate is not None:
        found = escape(certificate.text())
        lines += f"<details><summary>The certificate in full</summary><pre>{found}</pre></details>"
    return box(f"<dl>{''.join(rows)}</dl>", lines, reproduce)


def path_html(shape: PathShape | None) -> str:
    """HTML on how to draw a path, and on the path that is drawn."""
    said = "Drag the orange points on the floor; the vehicle follows when you let go."
    if shape is None:
        return box(f'<p class="dim">{said}</p>')
    length = f"{number_text(shape.length, 3)} m long"
    turn = ", straight"
    if np.isfinite(shape.radius):
        turn = f", tightest turn of radius {number_text(shape.radius, 2)} m"
    return box(f'<p class="dim">{said}<br>{length}{turn}</p>')


def comparison_html(kept: Shown | None, shown: Shown) -> str:
    """HTML of the choices and headline numbers that differ; instructions without a kept run."""
    if kept is None:
        return box(
            "<p>Keep the run that is shown, then change something: both are drawn, and their "
            "numbers stand here side by side.</p>"
        )
    if kept is shown:
        return box(
            "<p>This run is kept. Change a slider, the controller, the path or the model: the next "
            "runs are compared with it.</p>"
        )
    found = compare(kept.run, shown.run, labels=["kept", "now"])
    lines = choice_differences(kept, shown, {row.name for row in found.parameters})
    chosen = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return box(
        f"<ul>{chosen}</ul>" if chosen else "",
        found.html(),
        f'<p class="dim">{escape(found.remark)}</p>',
    )


def choice_differences(kept: Shown, shown: Shown, listed: Container[str] = ()) -> list[str]:
    """Describe the choices that differ, without names that are listed already."""
    found = [] if kept.name == shown.name else [f"model: {kept.name} → {shown.name}"]
    for key, value in differences(shown.choice, kept.choice).items():
        before = getattr(kept.choice, key)
        if isinstance(value, Mapping):
            # a number that was not touched is that of the model
            names = [n for n in dict.fromkeys([*before, *value]) if before.get(n) != value.get(n)]
            names = [n for n in names if n not in listed]
            found += [f"{n}: {_chosen(before.get(n))} → {_chosen(value.get(n))}" for n in names]
        elif isinstance(value, tuple) and len(value) == len(before):
            found.append(f"{key}: moved")
        elif key == "task":
            found.append(f"task: {TASKS[before]} → {TASKS[value]}")
        else:
            found.append(f"{key}: {_chosen(before)} → {_chosen(value)}")
    return found


def _chosen(value: object) -> str:
    """A value of a choice in words."""
    if value is None:
        return "as given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return counted(len(value), "point")
    return number_text(value, 5) if isinstance(value, float) else str(value)


def _of_ground(shown: Shown, audit: Audit | None) -> Verdict:
    if not shown.mechanism.model.contacts:
        said = "nothing rolls or skates", "the model has no contacts"
    elif is_vakonomic(shown.choice):
        said = "no forces of the ground", "vakonomic mechanics is a different theory"
    elif audit is None:
        said = "…", "being audited"
    else:
        return ground_verdict(audit)
    return Verdict.plain("open", "No slip", *said)


def _of_formulations(certificate: Certificate | None, why: str) -> Verdict:
    if certificate is None:
        said = ("not compared", why) if why else ("…", "being compared")
        return Verdict.plain("open", "Formulations", *said)
    return Verdict.plain(
        "good" if certificate.holds else "bad",
        f"{len(certificate.formulations)} formulations",
        "agree" if certificate.holds else "disagree",
        f"worst relative difference {number_text(certificate.worst, 2)}",
    )


def _verdict(verdict: Verdict) -> str:
    return (
        f'<dt class="{verdict.mark or "open"}">{verdict.sign}</dt><dd>{escape(verdict.label)}: '
        f"<strong>{verdict.answer}</strong><br>"
        f'<span class="dim">{verdict.comment}</span></dd>'
    )

"""`write_report`: a run as one page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from noslip import SimulationError, System, Trajectory, __version__
from noslip.analysis import simulated_system
from noslip.base import write_atomically
from noslip.engines import require_system
from noslip.results import Audit
from noslip.show.equations.documents import parts_style
from noslip.show.report import sections
from noslip.show.report.elements import Html, joined, page, text, verdicts
from noslip.show.report.sections import StatusCallback, answers, gather, trust


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
    drawn = sections.draw(subject, say)
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
            sections.motion(drawn),
            trust(subject),
            sections.plots(drawn),
            *sections.live(subject),
            *(
                replace(section, is_folded=True)
                for section in (
                    sections.ground(subject, drawn.of("friction")),
                    sections.simulated(subject),
                    sections.mechanism(subject),
                    sections.equations(subject),
                    sections.balance(subject, drawn.of("energy")),
                    sections.certificate(subject),
                    sections.environment(subject),
                    sections.reproduction(subject),
                )
            ),
        ],
        styles=parts_style(),
    )

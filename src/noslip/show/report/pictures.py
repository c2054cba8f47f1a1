"""Sections with pictures: the animation, with a still for print, and the figures."""

from __future__ import annotations

import io
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from noslip.extras import is_installed
from noslip.show.report.elements import (
    SPACE,
    Html,
    PageSection,
    figure,
    folded,
    joined,
    number_text,
    paragraph,
    text,
)
from noslip.show.report.subject import ReportSubject, StatusCallback

if TYPE_CHECKING:
    from PIL.Image import Image

    from noslip.engines.system import System
    from noslip.show.animate import Recording
    from noslip.simulation.trajectory import Trajectory

#: The animation lasts no longer than this, s; a longer motion is shown faster than it happened.
LONGEST = 15.0
#: How many times as fast it may be shown.
SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
#: Pictures a second.
RATE = 24.0
#: Of the still, pixels.
WIDTH, HEIGHT = 1280, 800

#: Figures that answer what people ask first; those of other sections are there, the rest is folded.
FIRST = ("path", "signals", "speeds", "inputs", "errors")
ELSEWHERE = ("energy", "friction")

NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
NOTHING = "The run has no motion to draw."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Pictures of a report: the animation in its frame, and figures by name."""

    animation: Html
    figures: dict[str, Html]

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
    return Pictures(animation=moving, figures=_figures(subject))


def motion(drawn: Pictures) -> PageSection:
    """The animation."""
    return PageSection(key="motion", title="Motion", body=drawn.animation)


def plots(drawn: Pictures) -> PageSection:
    """Figures of the motion and of what drives it; all others below, folded."""
    first = [drawn.figures[name] for name in FIRST if name in drawn.figures]
    rest = [html for name, html in drawn.figures.items() if name not in (*FIRST, *ELSEWHERE)]
    parts = [_side_by_side(first)] if first else []
    if rest:
        parts.append(folded("More figures", _side_by_side(rest)))
    body = joined(parts) if parts else paragraph(text(NOTHING))
    return PageSection(key="plots", title="Plots", body=body)


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
    if shown.cell is not None:
        said = f"Grid lines are {number_text(shown.cell)}{SPACE}m apart, dark ones "
        said += f"{number_text(5 * shown.cell)}{SPACE}m."
    for color, names in shown.traces.items():
        said += (
            f' <span class="trace" style="--trace: rgb{color}" aria-hidden="true"></span>'
            f"{escape(names)}."
        )
    return Html(said)


def _png(image: Image) -> str:
    data = io.BytesIO()
    image.save(data, format="PNG")
    return f"data:image/png;base64,{b64encode(data.getvalue()).decode('ascii')}"


def _figures(subject: ReportSubject) -> dict[str, Html]:
    """All figures, as narrow as a phone; elsewhere they are side by side."""
    from noslip.show.plots.catalog import TITLES, run_sheets
    from noslip.show.plots.painting import sheet_svg

    drawn = run_sheets(subject.run, subject.audit, size="column", titled=False)
    shown = {}
    for name, one in drawn.items():
        title = TITLES[name][0].upper() + TITLES[name][1:]
        svg = sheet_svg(one, name=name, title=f"{subject.model.name}: {TITLES[name]}")
        # within a page the browser knows the namespace
        shown[name] = figure(Html(svg.replace(NAMESPACE, "", 1)), title)
    return shown

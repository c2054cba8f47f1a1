"""Sections with pictures: the animation, with a still for print, and the figures."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import permutations
from typing import TYPE_CHECKING

from noslip.base import is_installed
from noslip.show.headlines import negligible
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
from noslip.show.report.report_subject import ReportSubject, StatusCallback

if TYPE_CHECKING:
    from PIL.Image import Image

    from noslip import System, Trajectory
    from noslip.scene import Recording
    from noslip.show.plots.sheets import Sheet

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
    """Pictures of a report: the animation in its frame, and figures by name.

    Parameters
    ----------
    animation : in its frame.
    figures : by name.
    first : names of those that are not folded.
    """

    animation: Html
    figures: dict[str, Html]
    first: tuple[str, ...] = ()

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
    from noslip.show.plots.histories import (
        contact_panels,
        friction_panels,
        main_signals,
        signal_panels,
    )
    from noslip.show.plots.panels import lay_out
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

"""Sections to look at: the animation, and the figures as SVG."""

from __future__ import annotations

import io
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noslip.show.report.elements import Html, Part, figure, joined, paragraph, text
from noslip.show.report.subject import Subject, Tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Figures that belong to a section of their own.
ELSEWHERE = ("energy", "friction")

NOTHING = "The run has no motion to draw."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """What was drawn: figures by name, as markup."""

    figures: dict[str, Html]

    def of(self, name: str) -> Html:
        """A figure, or nothing where there is none."""
        return self.figures.get(name, Html(""))


def draw(subject: Subject, tell: Tell) -> Pictures:
    """All pictures of a run."""
    if not subject.has_motion:
        return Pictures(figures={})
    from noslip.show.plots import run_figures

    tell("drawing")
    drawn = run_figures(subject.run, subject.errors, subject.audit)
    figures = {name: figure(_svg(f, name), name) for name, f in drawn.items()}
    return Pictures(figures=figures)


def _svg(drawn: Figure, title: str) -> Html:
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": title}):
        drawn.savefig(buffer, format="svg", metadata={"Date": None})
    data = b64encode(buffer.getvalue()).decode("ascii")
    return Html(f'<img alt="{text(title)}" src="data:image/svg+xml;base64,{data}">')


def motion(drawn: Pictures) -> Part:
    """The animation."""
    return Part(key="motion", title="Motion", body=paragraph(text(NOTHING)))


def plots(drawn: Pictures) -> Part:
    """All figures that no other section shows."""
    shown = [html for name, html in drawn.figures.items() if name not in ELSEWHERE]
    body = Html(f'<div class="figures">\n{joined(shown)}\n</div>')
    return Part(key="plots", title="Plots", body=body if shown else paragraph(text(NOTHING)))

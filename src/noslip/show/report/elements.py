"""Pieces of reports: the page around the sections, and what stands in them.

**Pieces of the page: text, numbers with units, tables, facts, figures, verdicts, folded parts.**

`Html` marks what is markup already; everything else is a `str` and goes through `text`, which
escapes it. The type checker keeps the two apart, so that no name of a model becomes a tag. A number
is rounded for reading and keeps all its digits in the markup.

**The page around the sections: head, title, contents, sections in order, and its style sheet.**

Colors are named once and changed once for the dark. Nothing but tables, formulas and listings is
ever wider than the page, and these scroll in boxes of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import NewType

from noslip import __version__
from noslip.show.headlines import raised, unit_text

Html = NewType("Html", str)

#: How a verdict went → the mark in front of it. The words beside it say the same.
MARKS = {"good": "✓", "bad": "✗", "warn": "!", "open": "–"}

#: A column with more letters than this in a cell is broken into lines, others are not.
LONG = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """A section of the page."""

    key: str  #: anchor of links to it
    title: str  #: heading of the section
    body: Html  #: content below the heading
    is_folded: bool = False  #: whether it opens on a click or a link, and on paper
    is_line: bool = False  #: whether it is a line that needs no heading


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One answer in a few words: what was asked, the answer, and what it means."""

    mark: str  #: ``good``, ``bad``, ``warn`` or ``open``; empty for a plain number
    #: label, answer, comment: question, answer, and a line in small print
    label: str
    answer: Html
    comment: Html
    link: str = ""  #: key of the section that says more

    @classmethod
    def plain(cls, mark: str, label: str, answer: str, comment: str) -> Verdict:
        """A verdict in plain words."""
        return cls(mark=mark, label=label, answer=text(answer), comment=text(comment))

    @property
    def sign(self) -> str:
        """Mark in front of it; a dot for a plain number."""
        return MARKS.get(self.mark, "·")


def text(value: object) -> Html:
    """Escaped text."""
    return Html(escape(str(value)))


def joined(parts: Iterable[Html], between: str = "\n") -> Html:
    """Pieces one after the other."""
    return Html(between.join(parts))


def paragraph(*parts: Html) -> Html:
    """A paragraph of pieces."""
    return Html(f"<p>{''.join(parts)}</p>")


def code(value: object) -> Html:
    """A name of the model, a value of an option."""
    return Html(f"<code>{escape(str(value))}</code>")


def heading(value: str, level: int = 3) -> Html:
    """A heading below the one of the section."""
    return Html(f"<h{level}>{escape(value)}</h{level}>")


def listing(value: str) -> Html:
    """Lines to be copied."""
    return Html(f'<pre tabindex="0"><code>{escape(value)}</code></pre>')


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    numbers: Collection[int] = (),
    stacks: bool = False,
) -> Html:
    """A table in a box of its own, which scrolls where the page is narrow.

    `rows`: cells; the first of each row names it. `stacks`: whether the cells of a row are written
    below each other on a phone, each with its column's title.
    """
    cells = [list(row) for row in rows]
    kinds = []
    for k in range(len(header)):
        is_long = any(_letters(row[k]) > LONG for row in cells)
        kind = "number" if k in numbers else "words" if is_long else ""
        kinds.append(f' class="{kind}"' if kind else "")
    head = "".join(
        f'<th scope="col"{kind}>{escape(title)}</th>'
        for title, kind in zip(header, kinds, strict=True)
    )
    body = []
    titles = [f' data-title="{escape(title)}"' if stacks else "" for title in header]
    for name, *rest in cells:
        others = "".join(
            f"<td{kind}{title}>{x}</td>"
            for x, kind, title in zip(rest, kinds[1:], titles[1:], strict=True)
        )
        body.append(f'<tr><th scope="row"{kinds[0]}>{name}</th>{others}</tr>')
    lines = "\n".join(body)
    return scrolled(
        Html(
            f'<table class="data{" stacks" if stacks else ""}">\n'
            f"<caption>{escape(caption)}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{lines}\n</tbody>\n</table>"
        ),
        caption,
    )


def _letters(cell: Html) -> int:
    """Number of letters of a cell, without its tags."""
    return len(re.sub("<[^>]*>", "", cell))


def scrolled(inside: Html, label: str) -> Html:
    """A box that scrolls sideways by itself, with the keyboard too."""
    return Html(
        f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">{inside}</div>'
    )


def facts(pairs: Iterable[tuple[str, Html]]) -> Html:
    """Words and what they stand for, below each other."""
    lines = "\n".join(
        f"<div><dt>{escape(word)}</dt><dd>{value}</dd></div>" for word, value in pairs
    )
    return Html(f'<dl class="facts">\n{lines}\n</dl>')


def remark(mark: str, *parts: Html) -> Html:
    """A sentence that says how something went, with its mark in front."""
    return Html(f'<p class="remark {mark}">{_mark(mark)}<span>{"".join(parts)}</span></p>')


def verdicts(found: Iterable[Verdict]) -> Html:
    """Answers side by side."""
    return Html(f'<ul class="verdicts">\n{joined(map(_verdict, found))}\n</ul>')


def _verdict(verdict: Verdict) -> Html:
    return Html(
        f'<li class="{verdict.mark or "plain"}"><a href="#{verdict.link}">'
        f'<span class="label">{escape(verdict.label)}</span>'
        f'<span class="answer">{_mark(verdict.mark)}{verdict.answer}</span>'
        f'<span class="comment">{verdict.comment}</span></a></li>'
    )


def _mark(mark: str) -> str:
    return f'<span class="mark" aria-hidden="true">{MARKS[mark]}</span>' if mark else ""


def folded(title: str, inside: Html) -> Html:
    """A part that opens on a click."""
    return Html(
        f"<details><summary><h3>{escape(title)}</h3></summary>\n"
        f'<div class="inside">{inside}</div></details>'
    )


def figure(picture: Html, caption: str) -> Html:
    """A picture with words above it."""
    return Html(f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>")


#: Before an exponent; it is never at the end of a line.
SPACE = "\N{NO-BREAK SPACE}"
POWER = f"{SPACE}×{SPACE}10"


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many digits: −0.125, 5840, 3.6 × 10⁻¹³; whole below a hundred thousand."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value + 0.0:.{digits}g}".partition("e")
    if exponent and 0 < int(exponent) < 5:
        mantissa, exponent = f"{float(f'{mantissa}e{exponent}'):.0f}", ""
    shown = mantissa.replace("-", "−")
    return f"{shown}{POWER}{raised(int(exponent))}" if exponent else shown


def number(value: float, digits: int = 6, *, zero: float = 0.0) -> Html:
    """A number to read, which carries all its digits for programs.

    Parameters
    ----------
    value, digits : value, and number of digits shown.
    zero : bound below which it is shown as zero: the rounding error.
    """
    value = float(value)
    if not math.isfinite(value):
        return text(number_text(value))
    shown = value if abs(value) > zero else 0.0
    return Html(f'<data value="{value!r}">{number_text(shown, digits)}</data>')


def words(sentence: str) -> Html:
    """A sentence whose numbers are written as people write them: 1e-09 as 1 × 10⁻⁹."""
    return text(re.sub(r"(\d)e([-+]\d+)", _power, sentence))


def _power(found: re.Match[str]) -> str:
    return f"{found[1]}{POWER}{raised(int(found[2]))}"


def unit(name: str) -> Html:
    """A unit of a model as it is printed: kg·m², nothing for a dimensionless number."""
    return text(unit_text(name))


def quantity(value: float, name: str, digits: int = 6) -> Html:
    """A number and its unit, kept on one line."""
    after = unit(name)
    return Html(f"{number(value, digits)}{SPACE}{after}") if after else number(value, digits)


def page(
    title: str,
    *,
    heading: str,
    lead: Html,
    opening: Html,
    parts: Sequence[PageSection],
    styles: str = "",
) -> str:
    """A whole document."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{styles}\n{STYLE}\n</style>",
            "</head>",
            "<body>",
            '<div class="page">',
            f"<header>\n<h1>{escape(heading)}</h1>\n{lead}\n</header>",
            _contents(parts),
            f"<main>\n{opening}",
            joined(map(_section, parts)),
            "</main>",
            "</div>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _contents(parts: Sequence[PageSection]) -> str:
    links = "\n".join(f'<li><a href="#{p.key}">{escape(p.title)}</a></li>' for p in parts)
    return f'<nav aria-label="Contents">\n<ol>\n{links}\n</ol>\n</nav>'


def _section(part: PageSection) -> Html:
    if part.is_folded:
        # a link to what is inside of a folded part opens it
        return Html(
            f'<section class="folded" aria-labelledby="{part.key}-title"><details>\n'
            f'<summary><h2 id="{part.key}-title">{escape(part.title)}</h2></summary>\n'
            f'<div id="{part.key}" class="inside">{part.body}</div></details></section>'
        )
    kind = ' class="line"' if part.is_line else ""
    return Html(
        f'<section id="{part.key}"{kind} aria-labelledby="{part.key}-title">\n'
        f'<h2 id="{part.key}-title">{escape(part.title)}</h2>\n{part.body}\n</section>'
    )


STYLE = files("noslip.show.report").joinpath("report_page.css").read_text("utf-8").strip()


def command_section(command: str) -> PageSection | None:
    """Section with the command that reproduces a report; none without one."""
    if not command:
        return None
    parts = [paragraph(text(f"With noslip {__version__}:")), listing(command)]
    return PageSection(key="reproduce", title="Reproduce", body=joined(parts))

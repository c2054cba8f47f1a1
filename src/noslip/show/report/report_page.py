"""The page around the sections: head, title, contents, sections in order, and its style sheet.

Colors are named once and changed once for the dark. Nothing but tables, formulas and listings is
ever wider than the page, and these scroll in boxes of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from noslip import __version__
from noslip.show.report.elements import Html, PageSection, joined, listing, paragraph, text


def page(
    title: str,
    *,
    heading: str,
    lead: Html,
    opening: Html,
    parts: Sequence[PageSection],
    styles: str = "",
) -> str:
    """A whole document.

    Parameters
    ----------
    title : for the browser's tab.
    heading : the one at the top.
    lead : lines below it.
    opening : what comes before the first section.
    parts : the sections.
    styles : further rules of what is in the sections.
    """
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

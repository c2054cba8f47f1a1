"""The page around the sections: head, title, contents, sections in order, and its style sheet.

Colors are named once and changed once for the dark. Nothing but tables, formulas and listings is
ever wider than the page, and these scroll in boxes of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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


COLORS = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --card: #f5f6f8; --line: #d8dde3; --ink: #1b2026; --soft: #55606c;
  --link: #0a5ca8; --good: #17703f; --warn: #8a5a00; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --card: #1d2126; --line: #343b43; --ink: #e3e7eb; --soft: #a0aab5;
    --link: #79b8f2; --good: #63c894; --warn: #e0b04a; --bad: #f58d84;
  }
}
"""

TEXT = """
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--paper);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
    sans-serif; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; font-weight: 650; }
h1 { font-size: clamp(1.7rem, 1.3rem + 2vw, 2.4rem); margin: 0 0 0.3rem; letter-spacing: -0.01em; }
h2 { font-size: 1.4rem; margin: 0 0 1rem; padding-top: 0.9rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.8rem 0 0.5rem; }
p { margin: 0.6rem 0; max-width: 46rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: 0.9em; }
td code, th code, .remark code { white-space: nowrap; }
pre { margin: 0.6rem 0; padding: 0.8rem 1rem; overflow-x: auto; line-height: 1.5;
  white-space: pre-wrap;
  background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
.lead { font-size: 1.15rem; color: var(--soft); margin: 0; }
.made { color: var(--soft); font-size: 0.9rem; margin: 0.4rem 0 0; }
"""

LAYOUT = """
.page { max-width: 80rem; margin: 0 auto; padding: clamp(1rem, 4vw, 2.5rem);
  display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.6rem 3.5rem; }
main > section { margin: 0 0 2rem; }
main > section:has(+ .line) { margin: 0; }
.line > h2 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.line > .remark { max-width: none; }
nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: 0.1rem 1.1rem; font-size: 0.92rem; }
nav a { display: inline-block; padding: 0.2rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
@media screen and (max-width: 36rem) { nav { display: none; } }
@media (min-width: 68rem) {
  .page { grid-template-columns: 12rem minmax(0, 1fr); }
  header { grid-column: 1 / -1; }
  nav { position: sticky; top: 1.5rem; align-self: start; max-height: calc(100vh - 3rem);
    overflow-y: auto; border-right: 1px solid var(--line); }
  nav ol { display: block; }
  nav a { padding: 0.25rem 0; }
}
"""

BLOCKS = """
.verdicts { list-style: none; margin: 0; padding: 0; display: grid; gap: 0.8rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 13rem), 1fr)); }
.verdicts a { display: flex; flex-direction: column; height: 100%; padding: 0.8rem 1rem;
  color: inherit; text-decoration: none; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; }
.verdicts a:hover { border-color: var(--link); }
.verdicts .label { color: var(--soft); font-size: 0.85rem; }
.verdicts .answer { font-size: 1.2rem; font-weight: 600; margin: 0.1rem 0 0.15rem; }
.verdicts .comment { color: var(--soft); font-size: 0.85rem; line-height: 1.4; }
@media (max-width: 36rem) {
  .verdicts { gap: 0; border-top: 1px solid var(--line); }
  .verdicts a { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 1rem;
    align-items: baseline; padding: 0.5rem 0.2rem; background: none; border-width: 0 0 1px;
    border-radius: 0; }
  .verdicts .answer { font-size: 1.05rem; margin: 0; }
  .verdicts .comment { grid-column: 1 / -1; }
}
.mark { display: inline-block; flex: none; min-width: 1.1em; margin-right: 0.35em;
  font-weight: 700; }
.good .mark { color: var(--good); } .bad .mark, .bad .answer { color: var(--bad); }
.warn .mark { color: var(--warn); } .open .mark { color: var(--soft); }
.remark { display: flex; margin: 1rem 0; padding: 0.6rem 0.9rem; background: var(--card);
  border-left: 3px solid var(--line); border-radius: 0 6px 6px 0; }
.remark.good { border-color: var(--good); } .remark.bad { border-color: var(--bad); }
.remark.warn { border-color: var(--warn); }
.facts { margin: 0.6rem 0; }
.facts > div { display: grid; grid-template-columns: minmax(8rem, 13rem) minmax(0, 1fr);
  gap: 0 1.2rem; padding: 0.3rem 0; border-bottom: 1px solid var(--line); }
.facts > div:last-child { border-bottom: 0; }
dt { color: var(--soft); } dd { margin: 0; }
@media (max-width: 30rem) { .facts > div { grid-template-columns: minmax(0, 1fr); } }
details { border-top: 1px solid var(--line); }
details:last-of-type { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; padding: 0.55rem 0.2rem; }
summary h3 { display: inline; margin: 0; font-size: 1rem; }
main > section.folded { margin: 0; }
.folded summary h2 { display: inline; margin: 0; padding: 0; border: 0; font-size: 1.15rem; }
.folded > details { border-bottom: 0; }
.folded:last-of-type > details { border-bottom: 1px solid var(--line); }
.folded > details > .inside { scroll-margin-top: 3.5rem; padding: 0.4rem 0 2rem; }
.inside { padding: 0 0 1rem; }
"""

TABLES = """
.wide { overflow-x: auto; margin: 0.8rem 0 1.4rem; }
.wide table { border-collapse: collapse; font-size: 0.92rem; }
caption { text-align: left; color: var(--soft); font-size: 0.85rem; padding: 0 0 0.35rem; }
th, td { padding: 0.28rem 1.4rem 0.28rem 0; text-align: left; vertical-align: baseline;
  font-weight: 400; }
th:last-child, td:last-child { padding-right: 0.2rem; }
thead th { font-weight: 600; font-size: 0.85rem; border-bottom: 1.5px solid var(--ink);
  white-space: nowrap; vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
td.number, th.number { text-align: right;
  font-variant-numeric: tabular-nums lining-nums; }
.data th, .data td { white-space: nowrap; }
.data .words { white-space: normal; max-width: 32rem; }
.data td.words, .noslip .wide td:last-child { min-width: 14rem; }
@media (max-width: 36rem) {
  .stacks, .stacks :is(caption, tbody, tr, th, td) { display: block; }
  .stacks thead, .stacks td:empty { display: none; }
  .wide .stacks { width: 100%; }
  .stacks tr { padding: 0.3rem 0; }
  .stacks tbody tr > * { border-top: 0; padding: 0.1rem 0; min-width: 0; }
  .stacks tbody tr + tr { border-top: 1px solid var(--line); }
  .stacks td { text-align: right; }
  .stacks td::before { content: attr(data-title); color: var(--soft); float: left; }
}
.changed { color: var(--soft); font-size: 0.85em; white-space: nowrap; }
"""

PICTURES = """
figure { margin: 0; min-width: 0; }
figcaption { color: var(--soft); font-size: 0.85rem; margin: 0.3rem 0; }
figure img, figure svg { display: block; width: 100% !important; max-width: none !important;
  height: auto; }
main section > figure:has(> svg) { max-width: 28rem; margin: 0.8rem 0 1.4rem; }
.traced { display: inline-block; margin-right: 1rem; }
.trace { display: inline-block; width: 1.1rem; height: 3px; margin: 0 0.4rem 0.25em 0;
  background: var(--trace); border-radius: 2px; }
.trace.dashes { border-radius: 0; background: linear-gradient(90deg, currentColor 0 42%,
  transparent 42% 58%, currentColor 58%); }
.figures { columns: 2 22rem; column-gap: 2rem; margin: 0.8rem 0; }
@media (min-width: 48rem) { .figures svg { max-height: 36rem; } }
.figures figure { break-inside: avoid; padding-bottom: 1.4rem; }
.stage { position: relative; aspect-ratio: 16 / 10; max-height: max(42vh, 20rem); width: 100%;
  overflow: hidden; border: 1px solid var(--line); border-radius: 8px; background: #ffffff; }
.stage img, .stage iframe { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; }
.stage img { object-fit: contain; }
@media (scripting: none) { .stage iframe { display: none; } }
@media screen and (prefers-color-scheme: dark) { .stage { filter: brightness(0.82); } }
@media (max-width: 40rem) { .stage { aspect-ratio: 1; max-height: 70vh; } }
"""

MATHEMATICS = """
.noslip { overflow-wrap: normal; }
.noslip .scroll { margin-left: 0; }
.noslip .scroll td { white-space: nowrap; }
.noslip .scroll tr + tr > * { border-top: 0; }
.noslip th, .noslip td { padding-right: 0.9rem; }
.noslip .wide td { padding: 0.28rem 1.4rem 0.28rem 0; }
.noslip .note { opacity: 1; color: var(--soft); }
"""

PAPER = """
@page { margin: 18mm 16mm; }
@media print {
  :root { color-scheme: light; --paper: #ffffff; --card: #ffffff; --line: #c4c9cf; --ink: #000000;
    --soft: #444c55; --link: #000000; --good: #17703f; --warn: #8a5a00; --bad: #b3261e; }
  body { font-size: 10pt; line-height: 1.45; }
  .page { display: block; max-width: none; padding: 0; }
  nav { margin: 1rem 0; } nav ol { columns: 3; display: block; }
  a { text-decoration: none; }
  h2, h3, caption, summary { break-after: avoid; }
  main > section { margin-bottom: 1.4rem; }
  .verdicts { grid-template-columns: repeat(3, 1fr); gap: 0.5rem; }
  .verdicts a { padding: 0.5rem 0.7rem; } .verdicts .answer { font-size: 1.05rem; }
  main section > figure:has(> svg) { max-width: 9cm; }
  figure, tr, .remark, .verdicts li, .facts > div { break-inside: avoid; }
  thead { display: table-header-group; }
  .figures { columns: auto; display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.2rem; }
  .wide, pre { overflow: visible; }
  .noslip .scroll { overflow: visible; font-size: calc(1em * min(1, 106 / var(--letters))); }
  .data td.words, .noslip .wide td:last-child { min-width: 0; }
  .wide table { font-size: 8.5pt; } th, td { padding-right: 0.8rem; }
  .inside > details:not([open]) { display: none; }
  .folded > details::details-content { content-visibility: visible; }
  .folded summary { list-style: none; } .folded summary h2 { font-size: 1.4rem; }
  .stage { border: 0; aspect-ratio: auto; max-height: none; }
  .stage iframe, .onscreen { display: none; }
  .stage img { position: static; height: auto; max-height: 8.5cm; }
}
@media not print { .onpaper { display: none; } }
"""

STYLE = "".join((COLORS, TEXT, LAYOUT, BLOCKS, TABLES, PICTURES, MATHEMATICS, PAPER)).strip()


def command_section(command: str) -> PageSection | None:
    """Section with the command that reproduces a report; none without one."""
    if not command:
        return None
    parts = [paragraph(text(f"With noslip {__version__}:")), listing(command)]
    return PageSection(key="reproduce", title="Reproduce", body=joined(parts))

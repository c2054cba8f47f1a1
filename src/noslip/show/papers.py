"""The five papers, result by result: how each is reproduced, and what comes out beside the print.

The list is the file `papers.toml`. An entry has a command, or a script of a few lines in which
``ns`` is noslip and ``np`` NumPy, and whose last value is called ``result``. `docs/papers.md` is
written from it, and the tests run all of it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, NamedTuple

from noslip import SimulationError
from noslip.base import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperEntry:
    """A numbered result, an example or a figure of a paper.

    Parameters
    ----------
    paper : its word.
    place : where it is, such as ``eq. 33`` or ``Fig. 4``.
    what : what it says.
    command : of the command line; empty where there is a script.
    script : lines of Python that end in ``result = …``.
    value : what the script's result is, to 1e-9 of the largest; empty for pictures and words.
    print : what stands in the paper.
    erratum : what is wrong there, in a few words; empty where it is right.
    """

    paper: str
    place: str
    what: str
    command: str = ""
    script: str = ""
    value: tuple[float, ...] = ()
    print: str = ""
    erratum: str = ""

    @property
    def is_figure(self) -> bool:
        """Whether it is drawn."""
        return self.place.startswith("Fig.")

    @property
    def number(self) -> int:
        """Number of a figure."""
        return int(self.place.removeprefix("Fig. "))


class NumberedEquations(NamedTuple):
    """Numbered equations or figures of a paper, and where they are shown.

    Parameters
    ----------
    paper : its word.
    equations : as in ``6.14–6.25``.
    what : what they say.
    command : that shows them; empty where there is a reason.
    reason : why there is none.
    """

    paper: str
    equations: str
    what: str
    command: str = ""
    reason: str = ""


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("noslip.show").joinpath("papers.toml").read_text("utf-8"))


def known_papers() -> dict[str, tuple[str, str]]:
    """Word of a paper → its key in docs/references.bib and its title."""
    return {p["word"]: (p["reference"], p["title"]) for p in _data()["papers"]}


@cache
def paper_entries() -> tuple[PaperEntry, ...]:
    """All entries, paper by paper, in their order."""
    found = []
    for entry in _data()["entries"]:
        values = {**entry, "value": tuple(entry.get("value", ()))}
        found.append(PaperEntry(**{**values, "script": entry.get("script", "").strip()}))
    return tuple(found)


def numbered_equations(paper: str) -> list[NumberedEquations]:
    """Every numbered equation and figure of a paper, in its order."""
    found = [NumberedEquations(**numbered) for numbered in _data()["numbers"]]
    return [numbered for numbered in found if numbered.paper == paper]


def entries_of(paper: str) -> list[PaperEntry]:
    """All entries of a paper, in its order.

    Raises
    ------
    SimulationError : if there is no such paper.
    """
    if paper not in known_papers():
        fix = nearest(paper, known_papers(), more="`noslip papers` lists them")
        raise SimulationError(f"there is no paper '{paper}'", "papers", fix)
    return [entry for entry in paper_entries() if entry.paper == paper]


def papers_text(paper: str | None = None) -> str:
    """The list for a terminal: of all papers a line each, or of one with its commands and scripts.

    Parameters
    ----------
    paper : its word; all if none is given.
    """
    lines: list[str] = []
    papers = known_papers()
    for word in papers if paper is None else [paper]:
        found = entries_of(word)
        key, title = papers[word]
        lines.append(f"{word}  [{key}] {title}")
        for entry in found:
            lines.append(f"  {entry.place:<18} {entry.what}")
            if paper is None:
                continue
            body = entry.command or entry.script
            lines += [f"      {line}" for line in body.splitlines()]
            if entry.value:
                lines.append(f"      result:    {_numbers(entry.value)}")
            if entry.print:
                lines.append(f"      in print:  {entry.print}")
            if entry.erratum:
                lines.append(f"      erratum:   {entry.erratum}")
        lines.append("")
    return "\n".join(lines[:-1])


def papers_page() -> str:
    """The page docs/papers.md."""
    lines = ["# Every paper on one page", "", _data()["intro"].strip()]
    for word, group in groupby(paper_entries(), key=lambda entry: entry.paper):
        key, title = known_papers()[word]
        lines += ["", f"## {title}", "", f"[{key}], `noslip papers {word}`."]
        for entry in group:
            lines += ["", f"**{entry.place}** {entry.what}."]
            notes = []
            if entry.value:
                notes.append(f"Result: {_numbers(entry.value)}.")
            if entry.print:
                notes.append(f"In print: {entry.print}.")
            if entry.erratum:
                notes.append(f"[Erratum](errata.md#{key.lower()}): {entry.erratum}.")
            if notes:
                lines += ["", " ".join(notes)]
            # an own language would be run by the page's test; here a test of its own runs them
            lines += ["", "```", *(entry.command or entry.script).splitlines(), "```"]
            if entry.is_figure:
                lines += ["", f"![{entry.what}](images/papers/{word}-{entry.number}.png)"]
        lines += ["", f"**Every number** of [{key}], and the command that shows it.", ""]
        lines += ["| number | what | command |", "|---|---|---|"]
        for n in numbered_equations(word):
            lines.append(f"| {n.equations} | {n.what} | {_cell(n)} |")
    return "\n".join(lines) + "\n"


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{x:.12g}".replace("-", "−") for x in values)


def _cell(numbered: NumberedEquations) -> str:
    """The command or the reason in a table."""
    return f"`{numbered.command}`" if numbered.command else numbered.reason

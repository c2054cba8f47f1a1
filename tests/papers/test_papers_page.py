"""Every line of docs/papers.md runs and gives its numbers; the page is that of the list."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main
from noslip.cli.main import COMMANDS
from noslip.show import papers_text
from noslip.show.papers import known_papers, numbered_equations, paper_entries, papers_page

ENTRIES, PAPERS = paper_entries(), known_papers()
ROOT = Path(__file__).parent.parent.parent
TOLERANCE = 1e-9  # of the largest number


def called(entry):
    return f"{entry.paper} {entry.place}"


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.script], ids=called)
def test_scripts_give_their_numbers(entry, derive_once):
    namespace = {"ns": ns, "np": np}
    exec(entry.script, namespace)
    found, expected = np.atleast_1d(namespace["result"]).ravel(), np.array(entry.value)
    assert found.shape == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected))))
    assert np.max(np.abs(found - expected)) < TOLERANCE * scale


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.command], ids=called)
def test_commands_run(entry, tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(entry.command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    if entry.is_figure:
        assert Path(result.output.strip()).stat().st_size > 5000


def test_every_entry_is_complete():
    for entry in ENTRIES:
        assert entry.paper in PAPERS and bool(entry.command) != bool(entry.script)
        assert bool(entry.script) == bool(entry.value)
        assert entry.script.count("\n") <= 9, called(entry)
    assert [e.paper for e in ENTRIES] == sorted((e.paper for e in ENTRIES), key=list(PAPERS).index)


def test_the_page_is_that_of_the_list():
    assert (ROOT / "docs" / "papers.md").read_text() == papers_page()


#: Paper → last number of each part, by the letter or section before it.
LAST = {
    "saha1991": {"": 38},
    "saha1989": {"": 30},
    "desantis1994": {"2.": 16, "3.": 10, "4.": 27, "5.": 18, "6.": 46, "7.": 18, "A.": 8},
    "cameron1993": {"": 93},
    "antunes2010": {"": 114, "A": 14, "B": 21, "C": 18, "D": 15},
}
FIGURES = {"saha1991": 4, "saha1989": 5, "desantis1994": 4, "cameron1993": 4, "antunes2010": 3}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_has_a_command_or_a_reason(paper):
    found = {}
    for numbered in numbered_equations(paper):
        assert bool(numbered.command) != bool(numbered.reason)
        first, _, last = numbered.equations.partition("–")
        part, number = re.fullmatch(r"(Fig\. |[A-D2-7]\.|[A-D]?)(\d+)", first).groups()
        end = int((last or first).removeprefix(part))
        found.setdefault(part, []).extend(range(int(number), end + 1))
    for part, last in {**LAST[paper], "Fig. ": FIGURES[paper]}.items():
        assert found.pop(part) == list(range(1, last + 1)), part
    assert not found


def test_few_numbers_have_no_command_and_the_others_name_what_is_there(derive_once):
    every = [n for paper in PAPERS for n in numbered_equations(paper)]
    assert sum(bool(n.reason) for n in every) <= 10
    objects = {}
    for numbered in every:
        words = shlex.split(numbered.command)
        if not words:
            continue
        assert words[0] == "noslip" and words[1] in COMMANDS, numbered
        if words[1] != "matrices":
            continue
        options = list(pairwise(words))
        method = next((value for option, value in options if option == "--method"), "complement")
        if (words[2], method) not in objects:
            objects[words[2], method] = ns.matrices(ns.load(words[2]), method).names
        for option, value in options:
            assert option != "--only" or value in objects[words[2], method], numbered


SHOWN = sorted({n.command for paper in PAPERS for n in numbered_equations(paper) if n.command})


@pytest.mark.long
@pytest.mark.parametrize("command", SHOWN)
def test_commands_of_numbers_run(command, tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_errata_that_are_named_are_on_their_page():
    """An equation of an erratum stands in the table of its paper."""
    page = (ROOT / "docs" / "errata.md").read_text()
    for entry in ENTRIES:
        section = page.split(f"\n## [{PAPERS[entry.paper][0]}]\n")[1].split("\n## ")[0]
        for number in re.findall(r"\(([A-D]?\d+(?:\.\d+)?[abc]?)\)", entry.erratum):
            assert number in section, f"{called(entry)}: ({number})"


def test_one_paper_is_shown_with_its_commands(refuses):
    text = papers_text("saha1989")
    assert "det(J_u) = −rd" in text and "noslip papers figure saha1989 4" in text
    assert all(word in papers_text() for word in PAPERS)
    with refuses(ns.SimulationError, "no paper 'saha1988'", "papers", "saha1989"):
        papers_text("saha1988")
    with refuses(ns.SimulationError, "no figure 9", "papers", "1, 2, 3, 4, 5"):
        ns.paper_figure("saha1989", 9)

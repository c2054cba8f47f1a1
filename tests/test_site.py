"""The site: tutorials are what their scripts say, and every public name has a place and an example.

`make docs` builds it with warnings as errors; here is what needs no Sphinx.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import noslip as ns

DOCS = Path(__file__).parent.parent / "docs"
SCRIPTS = sorted((DOCS / "learn").glob("*.py"))


def module(name):
    """A module of the folder of the site."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "site" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


tutorials, api, commands = module("tutorials"), module("api"), module("commands")
live, mathematics = module("live"), module("mathematics")


def without_results(text):
    """A page without what its cells print and draw."""
    blocks = re.compile(r"^```(\w*)\n.*?^```\n\n", re.MULTILINE | re.DOTALL)
    text = blocks.sub(lambda block: block[0] if block[1] else "", text)
    return re.sub(r"^!\[[^]]*\]\(\.\./images/learn/.*\n\n", "", text, flags=re.MULTILINE)


def test_there_are_ten_tutorials_and_each_is_listed():
    listed = re.findall(r"\]\((\w+)\.md\)", (DOCS / "learn" / "index.md").read_text())
    assert sorted(listed) == [path.stem for path in SCRIPTS] and len(listed) == 10


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_page_and_notebook_are_those_of_the_script(path):
    """`python docs/site/tutorials.py` writes them anew."""
    found = path.with_suffix(".md").read_text("utf-8")
    assert without_results(found) == tutorials.page(path)
    assert path.with_suffix(".ipynb").read_text("utf-8") == tutorials.notebook(path)
    for picture in re.findall(r"images/learn/([\w.-]+)", found):
        assert (DOCS / "images" / "learn" / picture).exists()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_has_cells_of_code_and_prose(path):
    cells = json.loads(path.with_suffix(".ipynb").read_text("utf-8"))["cells"]
    assert {cell["cell_type"] for cell in cells} == {"code", "markdown"}
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_motions_are_where_the_site_says():
    """Below a heading that is there; pages of models are linked where the gallery animates them."""
    names = [*ns.MODELS, *(motion.name for motion in live.MOTIONS)]
    found = {}
    for page in {"gallery", "papers", *(motion.page for motion in live.MOTIONS)}:
        source = [(DOCS / f"{page}.md").read_text("utf-8")]
        live.link(page, source, names)
        found[page] = re.findall(r'(?:src|<a href)="[./]*_static/live/([\w-]+)\.html"', source[0])
    assert set(found["gallery"]) == set(ns.MODELS)
    assert set(found["papers"]) == set(live.PAPERS.values())
    for motion in live.MOTIONS:
        assert motion.name in found[motion.page]


# tutorials and notebooks, run anew

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]\d+)?")
#: A notebook as Jupyter runs it: cell after cell in one shell, and results in all forms.
NOTEBOOK = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.display_formatter.active_types = shell.display_formatter.format_types
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        shell.run_cell("".join(cell["source"])).raise_error()
"""


def printed(text):
    """Lines that cells of a page print, without how fast this machine is."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for word, block in blocks if not word for line in block.splitlines()]
    return [line for line in lines if "runs a second" not in line]


def values(line):
    """Numbers of a line. Those below 1e-8 are rounding and integration errors, and differ."""
    numbers = [float(number) for number in NUMBER.findall(line)]
    return [0.0 if abs(number) < 1e-8 else number for number in numbers]


@pytest.mark.long
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_tutorial_prints_what_its_page_shows(path, tmp_path):
    """To 1e-3, since counts of steps differ between processors."""
    made = printed(tutorials.page(path, tutorials.run(path, tmp_path)))
    shown = printed(path.with_suffix(".md").read_text("utf-8"))
    assert [NUMBER.sub("#", line) for line in made] == [NUMBER.sub("#", line) for line in shown]
    for new, old in zip(made, shown, strict=True):
        assert values(new) == pytest.approx(values(old), rel=1e-3), f"{new}\n{old}"
    pictures = {picture.name for picture in (DOCS / "images/learn").glob(f"{path.stem}-*")}
    assert {picture.name for picture in tmp_path.iterdir()} == pictures


@pytest.mark.long
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_runs_where_it_lies(path, tmp_path):
    """In a copy of its folder; formats that fail are written to stderr by IPython."""
    pytest.importorskip("IPython")
    folder = shutil.copytree(DOCS / "learn", tmp_path / "learn")
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, f"{path.stem}.ipynb"],
        cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-2000:] + done.stderr


def test_the_stability_of_the_bicycle_is_the_published_one():
    """Weave and capsize speeds of [MeijaardPapadopoulosRuinaSchwab2007], as the page prints."""
    page = (DOCS / "learn" / "bicycle.md").read_text()
    low, high = map(float, re.search(r"stable from ([\d.]+) to ([\d.]+) m/s", page).groups())
    assert (low, high) == pytest.approx((4.29238253634111, 6.02426201538837), abs=1e-6)


def test_every_public_name_is_in_one_group():
    names = [name for _, _, group in api.groups() for name in group]
    assert sorted(names) == sorted(api.PUBLIC) and len(set(names)) == len(names)


def test_every_public_name_has_an_example_and_a_section(tmp_path):
    stems, without = api.write(tmp_path)
    assert not without, "use them in a page, an example or a test, or write one in docs/site/api.py"
    text = "".join((tmp_path / f"{stem}.md").read_text("utf-8") for stem in stems)
    heads = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert sorted(heads) == sorted(api.PUBLIC)
    assert not re.findall(r":\w+:`|\x00", text), "references are links or code"
    assert "as [`plot`](#api-plot) draws it" in text


@pytest.mark.parametrize("name", api.WRITTEN)
def test_examples_that_no_page_has_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_parts.py").write_text("")
    for example in ("drives.toml", "fetch.mission.toml"):
        shutil.copy(DOCS.parent / "examples" / example, tmp_path)
    exec(api.WRITTEN[name], {"ns": ns, "np": np})


def test_the_page_of_commands_has_all(tmp_path):
    from noslip.cli.main import COMMANDS

    commands.write(tmp_path / "commands.md")
    found = re.findall(r"^## noslip (\w+)$", (tmp_path / "commands.md").read_text(), re.MULTILINE)
    assert found == list(COMMANDS)


def test_words_of_the_glossary_are_in_order():
    heads = re.findall(r"^(\S.*)\n: ", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    assert len(heads) > 20
    assert [head.lower() for head in heads] == sorted(head.lower() for head in heads)


@pytest.mark.slow
def test_live_pages_are_written_once_and_linked(tmp_path, monkeypatch):
    """`make docs` writes them; of those that cannot be, no page is linked."""
    live = module("live")
    coin = next(motion for motion in live.MOTIONS if motion.page == "index")
    monkeypatch.setattr(live, "MOTIONS", (coin,))
    names = live.write(tmp_path, ["chaplygin-sleigh", "braking-forklift"])
    assert names == ["chaplygin-sleigh", coin.name]
    page = tmp_path / "chaplygin-sleigh.html"
    before = page.stat().st_mtime_ns
    assert live.write(tmp_path, names[:1]) == names and page.stat().st_mtime_ns == before
    source = [(DOCS / "gallery.md").read_text("utf-8")]
    live.link("gallery", source, names)
    assert source[0].count("_static/live/") == 1
    front = [(DOCS / "index.md").read_text("utf-8")]
    live.link("index", front, names)
    assert front[0].count("<iframe") == 1


def test_equations_of_pages_are_mathematics():
    """Each indented block of equations; numbers, sources and words stay beside the formulas."""
    count = 0
    for page in DOCS.glob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for block in re.findall(r"(?:^    +\S.*\n(?:\n(?=    ))?)+", text, re.MULTILINE):
            if mathematics.is_equations(block):
                table = ElementTree.fromstring(mathematics.mathml(block))
                numbers = [n for n in (td.text for td in table.iter("td")) if n]
                count += 1
                assert all(
                    f"({n})" in numbers for n in re.findall(r"^ +\((\d+\w?)\) ", block, re.M)
                )
    assert count > 50
    found = mathematics.mathml("    (2)   joint   φ̈₁ = −sin²(θ)/m_w at rest   [eqs. 4, 5]")
    row = ElementTree.fromstring(found)
    assert [td.text for td in row.iter("td")] == ["(2)", None, "[eqs. 4, 5]"]
    assert row.find(".//span").text == "joint"
    assert [x.text.strip("\xa0 ") for x in row.iter("mtext")] == ["sin", "at", "rest"]
    accents = [x[1].text for x in row.iter("mover")]
    assert accents == ["¨"]
    # results of programs are no equations, and keep their dots beside the letters
    assert not mathematics.is_equations("ok  A v̇ + Ȧ v = 0\nok  kinetic energy")

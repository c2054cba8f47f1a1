"""The gallery is true: a picture of every ready model as it looks today, and commands that run."""

import functools
import importlib.util
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import noslip as ns
from noslip.cli import main
from noslip.show.papers import paper_entries

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
LEARN = ROOT / "docs" / "learn"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(LEARN.glob("*.md"))]
#: Models that the usual suite animates; their films differ in nothing but what pictures show.
ANIMATED = ("agv", "rolling-disk", "manipulator-2r")
#: What makes a command quick without making it another one.
QUICKER = {"animate": ["--duration", "0.2"], "run": ["--no-plots"], "track": ["--no-plots"]}


def name_of(path):
    return str(path.relative_to(ROOT))


@functools.cache
def cells():
    """Model → its cell of the gallery."""
    text = (ROOT / "docs" / "gallery.md").read_text()
    found = {}
    for cell in re.findall(r"^<td[^>]*>\n(.*?)^</td>$", text, re.MULTILINE | re.DOTALL):
        [name] = re.findall(r"\]\(images/gallery/([\w-]+)\.png\)", cell)
        assert name not in found, f"{name} occurs twice"
        found[name] = cell
    return found


def commands(cell):
    return re.findall(r"`(noslip [^`]+)`", cell)


@functools.cache
def script():
    """`docs/images/gallery.py` as a module."""
    spec = importlib.util.spec_from_file_location("gallery_script", IMAGES / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_model_is_there():
    assert set(cells()) == set(ns.MODELS)
    assert {path.name for path in (IMAGES / "gallery").iterdir()} == {
        f"{name}.png" for name in ns.MODELS
    }
    assert set(script().SHOTS) == set(ns.MODELS)


@pytest.mark.parametrize("name", ns.MODELS)
def test_a_model_says_what_it_is_and_how_to_run_it(
    name, tmp_path, monkeypatch, derive_once, pytestconfig
):
    monkeypatch.chdir(tmp_path)
    cell = cells()[name]
    model = ns.load(name)
    assert f"**{name}** · {model.description}" in cell
    assert all(f"[{reference}]" in cell for reference in model.references)
    assert commands(cell)[0] == f"noslip animate {name}" and len(commands(cell)) > 1
    is_animated = name in ANIMATED or pytestconfig.getoption("--long")
    for command in commands(cell):
        _, verb, *words = shlex.split(command)
        assert words[0] == name
        if verb == "animate" and not is_animated:
            continue
        words += QUICKER.get(verb, [])
        result = CliRunner().invoke(main, [verb, *words], catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"
    assert not is_animated or (tmp_path / f"{name}.html").stat().st_size > 500_000


@pytest.mark.parametrize("name", ns.MODELS)
def test_a_picture_shows_the_model_as_it_is_today(name):
    drawn = np.asarray(script().picture(name, *script().SIZE), dtype=int)
    with Image.open(IMAGES / "gallery" / f"{name}.png") as file:
        kept = np.asarray(file.convert("RGB"), dtype=int)
    # few colors are kept, and a rounding may move an edge by a pixel
    apart = np.abs(drawn - kept).max(axis=2)
    remedy = f"draw it again: python docs/images/gallery.py {name}"
    assert np.mean(apart > 48) < 0.003, remedy
    # there is something to see
    assert np.mean(drawn.min(axis=2) < 150) > 0.01


def test_pictures_are_small():
    pictures = list((IMAGES / "gallery").iterdir())
    # a page of all of them opens on a phone: 30 kB each, on average
    assert sum(path.stat().st_size for path in pictures) < 30_000 * len(pictures)
    with Image.open(IMAGES / "agv.gif") as film:
        assert film.n_frames > 100 and film.size == script().FILM
    assert (IMAGES / "agv.gif").stat().st_size < 1_500_000


def test_every_picture_is_shown_and_has_its_script():
    shown = set()
    for path in PAGES:
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", path.read_text()):
            shown.add((path.parent / target).resolve())
    kept = {path for path in IMAGES.rglob("*") if path.suffix in (".png", ".gif")}
    assert shown == kept
    scripts = "".join(path.read_text() for path in IMAGES.glob("*.py"))
    papers = {
        f"{e.paper}-{e.number}" for e in paper_entries() if e.is_figure
    }  # docs/images/papers.py draws them
    for path in kept - set((IMAGES / "gallery").iterdir()):
        made = path.name in scripts or path.with_suffix(".py").exists() or path.stem in papers
        # docs/images/moving.py films models by their names
        made = made or (path.parent.name == "moving" and f'"{path.stem}"' in scripts)
        # docs/site/tutorials.py keeps the pictures of a tutorial by its name and a number
        made = made or (LEARN / path.stem.rpartition("-")[0]).with_suffix(".py").exists()
        assert made, f"nothing draws {path.name}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_pictures_and_links_are_markdown_which_is_checked(path):
    assert not re.search(r"""<[^>]+\b(?:src|href)\s*=""", path.read_text())
    for alternative in re.findall(r"!\[([^\]]*)\]", path.read_text()):
        assert len(alternative) > 5, "a picture needs words for who cannot see it"


def test_the_index_links_every_page_once():
    index = (ROOT / "docs" / "README.md").read_text()
    targets = re.findall(r"\]\(([^)\s]+)\)", index)
    pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
    assert sorted(t for t in targets if "/" not in t) == sorted([*pages, "references.bib"])
    examples = [t for t in targets if t.startswith("../examples/")]
    assert sorted(examples) == [f"../examples/{p.name}" for p in examples_there()]


def examples_there():
    return sorted((ROOT / "examples").glob("*.py"))

"""Pages look as their kept pictures do; the comparison sees what people see, and no more."""

import io

import numpy as np
import pytest
from PIL import Image
from reference_pictures import FOLDER, References, compare, reduced

import noslip as ns
from noslip.show import write_sweep_report


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The report of a small sweep."""
    folder = tmp_path_factory.mktemp("sweep") / "study"
    ns.sweep(
        ns.load("knife-edge"),
        ["final:skate.x", "max:skate.vx"],
        vary={"slope": np.linspace(0.1, 0.4, 5).tolist(), "m": [1.0, 2.0, 4.0]},
        duration=2.0,
        folder=folder,
    )
    return write_sweep_report(folder, motions=False).as_uri()


@pytest.fixture
def sweep_page(new_page, address):
    """A function that opens the report at a width, without scripts."""

    def open_page(width):
        page = new_page(
            viewport={"width": width, "height": 900}, java_script_enabled=False, offline=True
        )
        page.goto(address)
        return page

    return open_page


@pytest.mark.parametrize("width", [390, 1024])
def test_the_report_of_a_sweep_looks_as_it_did(sweep_page, references, width):
    references.check(sweep_page(width), f"sweep-{width}", height=2400, masked=(".made",))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_of_a_sweep_are_seen_on_any_paper(sweep_page, scheme):
    """Lines and numbers in the ink of the page, a heat map with its colors."""
    page = sweep_page(390)
    page.emulate_media(color_scheme=scheme)
    ink = page.evaluate("getComputedStyle(document.querySelector('h2')).color")
    figure = page.locator(".figures figure svg").first
    label = figure.locator("text").first
    assert label.evaluate("t => getComputedStyle(t).fill") == ink
    with Image.open(io.BytesIO(figure.screenshot())) as picture:
        colors = np.asarray(picture.convert("RGB"), dtype=int).reshape(-1, 3)
    # the yellow end of the scale
    assert np.any(np.all(np.abs(colors - [253, 231, 37]) < 12, axis=1))


def shot(page, style="", height=1300):
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    return reduced(page.screenshot(full_page=True, clip=clip, style=style))


def test_small_shifts_and_hinting_are_no_difference(sweep_page):
    page = sweep_page(390)
    before = shot(page)
    for style in (
        "body { position: relative; top: 1px; left: 1px }",
        "body { position: relative; top: -1px }",
        # glyphs at fractions of pixels, without hinting
        "* { text-rendering: geometricPrecision !important }",
        "* { -webkit-text-stroke: 0.1px }",
    ):
        assert compare(before, shot(page, style)).faults == [], style


def test_what_people_see_is_a_difference(sweep_page):
    page = sweep_page(390)
    before = shot(page)
    for style in (
        "main figure svg { visibility: hidden }",
        ".verdicts li:nth-child(2) .label { visibility: hidden }",
        ".verdicts li:first-child .comment { visibility: hidden }",
        "h2 { color: #2f6690 }",
        ".verdicts { display: flex }",
        "body { background: #fff7e0 }",
        "main { padding-left: 12px }",
    ):
        assert compare(before, shot(page, style)).faults != [], style
    shorter = before.crop((0, 0, before.width, before.height - 10))
    assert compare(before, shorter).faults == ["it is 1280 px high, it was 1300 px"]


def test_a_line_of_a_figure_is_a_difference(page):
    """A thin curve alone, in the paler colors of the palette."""
    from noslip.scene.colors import PALETTE

    drawn = """<svg width=600 height=300><path d="M0 20 C 200 300 400 -100 590 280" fill="none"
        stroke="{}" stroke-width="1.4"/></svg>"""
    page.set_content("<p>curves</p>" + drawn.format("none"))
    without = shot(page, height=400)
    for color in PALETTE:
        page.set_content("<p>curves</p>" + drawn.format(color))
        assert compare(without, shot(page, height=400)).faults, color


def test_a_failure_leaves_three_pictures_and_says_how_to_accept(tmp_path, monkeypatch):
    monkeypatch.setattr("reference_pictures.FOLDER", tmp_path / "reference")
    white = Image.new("RGB", (200, 100), "white")
    marked = white.copy()
    marked.paste((50, 100, 185), (120, 60, 140, 70))
    accepting = References(tmp_path / "failed", accept=True)
    comparing = References(tmp_path / "failed", accept=False)
    with pytest.raises(AssertionError, match=r"there is no picture page\.png.*--accept-scre"):
        comparing.check_picture(white, "page", 100.0)
    accepting.check_picture(white, "page", 100.0)
    comparing.check_picture(white, "page", 100.1)
    assert not (tmp_path / "failed").exists()
    with pytest.raises(AssertionError, match=r"at x = 2[4567]\d px, y = 1[23]\d px") as caught:
        comparing.check_picture(marked, "page", 100.0)
    assert "--accept-screenshots" in str(caught.value)
    left = sorted(path.name for path in (tmp_path / "failed").iterdir())
    assert left == ["page-difference.png", "page-got.png", "page-reference.png"]
    with Image.open(tmp_path / "failed" / "page-difference.png") as difference:
        dark = np.asarray(difference) < 128
    assert dark[60:70, 120:140].any() and not dark[:40].any()
    # with another font nothing can be said
    with pytest.raises(pytest.skip.Exception, match=r"1\.100 times as wide"):
        comparing.check_picture(marked, "page", 110.0)
    accepting.check_picture(marked, "page", 100.0)
    comparing.check_picture(marked, "page", 100.0)


def test_kept_pictures_are_small():
    sizes = [path.stat().st_size for path in FOLDER.glob("*.png")]
    assert len(sizes) >= 9 and sum(sizes) < 600_000
    for path in FOLDER.glob("*.png"):
        with Image.open(io.BytesIO(path.read_bytes())) as picture:
            assert picture.mode == "P" and "font" in picture.info

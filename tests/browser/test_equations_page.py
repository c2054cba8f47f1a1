"""Printed equations in a real browser at scale 1: dots, brackets, the font, a phone."""

import io

import numpy as np
import pytest
from PIL import Image

import noslip as ns

#: Ink is what is darker than this on white, of 255.
INK = 60


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("equations") / "disk.html"
    path.write_text(ns.equations_text(ns.derive(ns.load("rolling-disk")), "html"), "utf-8")
    return path


def shown(page, file):
    page.goto(file.as_uri())
    page.evaluate("document.fonts.ready")
    return page


def ink_by_row(page, place) -> np.ndarray:
    """Darkest ink of each row of pixels of an element."""
    box = place.bounding_box()
    clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}
    image = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L")
    return 255 - np.asarray(image).astype(int).min(axis=1)


@pytest.mark.parametrize("letter", ["θ", "φ", "ψ"])
@pytest.mark.parametrize("dots", ["˙", "¨"])
def test_dots_stand_clear_of_their_letters(page, file, letter, dots):
    """Below the dots at least one row of pixels is white, at normal zoom."""
    shown(page, file)
    letters = page.locator("mover", has=page.locator(f"mi:text-is('{letter}')"))
    place = letters.filter(has_text=dots).first
    place.scroll_into_view_if_needed()
    rows = ink_by_row(page, place)
    dark = np.flatnonzero(rows > INK)
    gaps = np.flatnonzero(np.diff(dark) > 1)
    assert len(gaps) >= 1, rows.tolist()
    dot_rows = gaps[0] + 1
    assert dot_rows >= 2  # a dot of less than two pixels is easily overlooked


def test_the_page_uses_its_own_font_and_brackets_grow(page, file):
    shown(page, file)
    assert page.evaluate("[...document.fonts].map(f => f.status)") == ["loaded"]
    heights = page.evaluate(
        """() => [...document.querySelectorAll('.noslip math mo')]
            .filter(e => e.textContent == '(').map(e => e.getBoundingClientRect().height)"""
    )
    assert max(heights) > 1.3 * min(heights)


def test_a_phone_shows_where_equations_begin(new_page, file):
    page = shown(new_page(viewport={"width": 390, "height": 800}), file)
    start = page.evaluate(
        """() => [...document.querySelectorAll('h2')]
            .find(e => e.textContent == 'Equations of motion')
            .nextElementSibling.querySelector('math').getBoundingClientRect().x"""
    )
    assert 0 <= start < 60


def test_rows_of_matrices_have_their_names_beside_them(page, file):
    """Behind the bracket, as high as the entries of their row."""
    shown(page, file)
    rows = page.evaluate(
        """() => [...document.querySelectorAll('.noslip mtable.named mtr')].map(row => {
            const box = e => e.getBoundingClientRect();
            const last = row.querySelector('mtd.bracket-close');
            const name = row.querySelector('mtd.row-name > *');
            const entry = box(last.firstElementChild), word = box(name);
            const lower = (word.top + word.bottom - entry.top - entry.bottom) / 2;
            const line = parseFloat(getComputedStyle(last).borderRightWidth);
            return [word.left - box(last).right, lower, line];
        })"""
    )
    assert len(rows) > 10
    for behind, lower, line in rows:
        assert behind > 5 and abs(lower) < 8 and line >= 1


def test_right_sides_are_seen_in_a_narrow_column(new_page, file):
    """As in the studio: what does not fit beside its left side stands below it."""
    page = shown(new_page(viewport={"width": 400, "height": 800}), file)
    rights = page.evaluate(
        """() => [...document.querySelectorAll('.noslip .scroll td')]
            .filter(e => e.textContent.startsWith('='))
            .map(e => e.querySelector('mo').getBoundingClientRect().right)"""
    )
    assert len(rights) > 5 and max(rights) < 400


@pytest.mark.parametrize("width", [390, 1024])
def test_it_looks_as_it_did(new_page, file, references, width):
    page = shown(new_page(viewport={"width": width, "height": 900}), file)
    references.check(page, f"equations-{width}", height=2000)

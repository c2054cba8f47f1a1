"""The report in a real browser, from a file, offline: phone, light, dark, paper, mathematics."""

import io
import re
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from watch import PALE

import noslip as ns

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}

#: What sticks out of the page beside what scrolls in a box of its own.
STICKS_OUT = """() => [...document.querySelectorAll('main *, header *, nav *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5
        && !e.closest('.wide > *, .scroll > *, pre > *'))
    .map(e => e.outerHTML.slice(0, 100))"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory, system_of):
    """Name → address of the report of its scenario."""
    folder = tmp_path_factory.mktemp("reports")
    made = {}

    def get(name):
        if name not in made:
            result = ns.run_scenario(system_of(name))
            path = ns.write_report(system_of(name), result, folder / f"{name}.html")
            made[name] = path.as_uri()
        return made[name]

    return get


@pytest.fixture
def still_page(new_page):
    """A page on which no script runs, so that nothing but the report itself is looked at."""
    return lambda viewport, **options: new_page(
        viewport=viewport, java_script_enabled=False, offline=True, **options
    )


def picture(data):
    """A screenshot as (height, width, 3) numbers."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


@pytest.mark.parametrize("name", ["agv", "manipulator-6r"])
def test_a_phone_never_scrolls_sideways(reports, still_page, name):
    page = still_page(PHONE, is_mobile=True, has_touch=True)
    page.goto(reports(name))
    # the derivations too, with their long equations
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.evaluate(STICKS_OUT) == []
    boxes = "[...document.querySelectorAll('.wide, .scroll, pre')]"
    assert page.evaluate(f"{boxes}.some(e => e.scrollWidth > e.clientWidth)")
    reached = "getComputedStyle(e).overflowX === 'auto'"
    assert page.evaluate(f"{boxes}.every(e => {reached})")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_the_light_and_in_the_dark(reports, still_page, scheme):
    page = still_page(DESK, color_scheme=scheme)
    page.goto(reports("agv"))
    assert page.evaluate(PALE) == []
    shot = picture(page.screenshot())
    assert (np.median(shot) > 200) == (scheme == "light")
    # curves are drawn in ink that is seen on this paper
    figure = picture(page.locator(".figures figure svg").first.screenshot())
    assert figure.std() > 15


#: What differs from run to run: the version, and numbers that are rounding.
VARIES = (
    ".made",
    "#trust .remark",
    "li:has-text('Tracking error') .comment",
    "figure:has-text('Simulated minus reference')",
)


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1024, "light"), (1024, "dark")])
def test_it_looks_as_it_did(reports, still_page, references, width, scheme):
    page = still_page({"width": width, "height": 900}, color_scheme=scheme)
    page.goto(reports("agv"))
    dark = "-dark" if scheme == "dark" else ""
    references.check(
        page,
        f"report-{width}{dark}",
        height=2600,
        masked=VARIES,
        style="iframe { visibility: hidden }",
    )


def test_mathematics_is_laid_out(reports, still_page):
    page = still_page(DESK)
    page.goto(reports("agv"))
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('math')].map(m => {
            const box = m.getBoundingClientRect();
            return [box.width, box.height];
        })"""
    )
    assert len(sizes) > 50
    assert all(width > 2 and height > 4 for width, height in sizes)
    # a fraction has its numerator above its denominator
    gap = page.evaluate(
        """() => [...document.querySelectorAll('mfrac')].map(f => {
            const [above, below] = [...f.children].map(c => c.getBoundingClientRect());
            return below.top - above.bottom;
        })"""
    )
    assert gap and min(gap) > -1.0


def test_paper_has_a_picture_in_place_of_the_animation(reports, still_page):
    page = still_page(DESK, color_scheme="dark")
    page.goto(reports("agv"))
    page.emulate_media(media="print")
    assert not any(frame.is_visible() for frame in page.locator("iframe").all())
    still = page.locator(".stage img").bounding_box()
    assert still["width"] > 200 and still["height"] > 100
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(PALE) == []
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF") and b"/Subtype /Image" in document
    pages = len(re.findall(rb"/Type\s*/Page\b", document))
    assert 4 <= pages <= 14
    # on A4 at this scale nothing is wider than the paper
    page.set_viewport_size({"width": 672, "height": 950})
    assert page.evaluate("document.documentElement.scrollWidth") <= 672


def test_the_animation_plays_in_its_frame_and_moves_nothing_else(reports, new_page):
    page = new_page(viewport={"width": 380, "height": 480}, offline=True)
    page.goto(reports("chaplygin-sleigh"), wait_until="commit")
    page.wait_for_selector("#reproduce", state="attached")
    below = "document.getElementById('plots').getBoundingClientRect().top + scrollY"
    before = page.evaluate(below)
    page.locator(".stage").scroll_into_view_if_needed()
    frame = page.frame_locator(".stage iframe")
    frame.locator("canvas").first.wait_for(timeout=60_000)
    # viser's remark that there is no graphics card lies over the scene
    remark = frame.locator(".mantine-Notification-closeButton")
    if remark.count() and remark.first.is_visible():
        remark.first.click()
    page.wait_for_timeout(1500)
    shots = []
    for _ in range(4):
        page.wait_for_timeout(400)
        # without the bar with the time
        shots.append(picture(page.locator(".stage").screenshot(timeout=60_000))[:-60])
    assert min(shot.std() for shot in shots) > 5
    moved = [np.abs(one - other).max(axis=2) > 40 for one, other in pairwise(shots)]
    assert max(change.sum() for change in moved) > 50
    assert page.evaluate(below) == before


def test_knobs_simulate_the_run_anew_in_its_frame(reports, new_page, system_of):
    page = new_page(viewport={"width": 1024, "height": 900}, offline=True)
    page.goto(reports("chaplygin-sleigh"), wait_until="commit")
    page.locator("#live-title").click()
    frame = page.frame_locator(".live iframe")
    box = frame.get_by_label("sleigh.rate [rad/s], as a number")
    box.wait_for(timeout=60_000)
    box.fill("0.5")
    box.press("Enter")
    expected = ns.run_scenario(system_of("chaplygin-sleigh"), changes={"sleigh.rate": 0.5})
    shown = frame.locator(f"#status[data-steps='{expected.steps}']")
    shown.wait_for(state="attached", timeout=60_000)
    assert "--set sleigh.rate=0.5" in frame.locator("#command").text_content()

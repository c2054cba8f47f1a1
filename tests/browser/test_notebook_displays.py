"""What notebooks show, in a real browser: it renders, it fits, and it is read on any paper."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import noslip as ns
from noslip.show import displays, equations_html

sys.path.insert(0, str(Path(__file__).parent.parent / "unit" / "show"))

from runs_to_plot import audited, run_of, tracked

#: A page as notebooks have it, which follows the shade of the device.
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>notebook</title><style>
:root {{ color-scheme: light dark; --ink: rgb(27, 31, 36); --paper: rgb(255, 255, 255); }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: rgb(230, 233, 236); --paper: rgb(17, 17, 17); }}
}}
body {{ color: var(--ink); background: var(--paper); font: 14px system-ui; margin: 12px; }}
</style></head><body>{}</body></html>"""


@pytest.fixture(scope="module")
def shown():
    """Everything a notebook shows, one below the other."""
    parts = [
        displays.model_html(ns.load("agv")),
        displays.check_html(ns.check(ns.load("tractor-trailer"))),
        equations_html(ns.derive(ns.load("chaplygin-sleigh"))),
        displays.certificate_html(ns.verify(ns.load("chaplygin-sleigh"))),
        displays.trajectory_html(run_of("agv")),
        displays.trajectory_html(run_of("manipulator-6r")),
        displays.trajectory_html(tracked()),
        displays.audit_html(audited()),
    ]
    return PAGE.format("".join(f"<article>{part}</article>" for part in parts))


def test_displays_render(page, shown, tmp_path):
    page.set_content(shown)
    assert page.locator("article").count() == 8
    for article in page.locator("article").all():
        box = article.bounding_box()
        assert box["height"] > 60 and box["width"] > 300
    (picture,) = page.locator("article img").all()
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 360
    # mathematics has a size of its own
    heights = page.locator(":not(details) > math, td math").evaluate_all(
        "all => all.map(m => m.getBoundingClientRect().height)"
    )
    assert len(heights) > 3 and max(heights) > 12
    page.screenshot(path=tmp_path / "displays.png", full_page=True)
    with Image.open(tmp_path / "displays.png") as image:
        assert np.ptp(np.asarray(image.convert("L"))) > 200


@pytest.mark.parametrize(("shade", "ink"), [("light", "27, 31, 36"), ("dark", "230, 233, 236")])
def test_figures_are_in_the_ink_of_the_page(new_page, shown, shade, ink):
    page = new_page(color_scheme=shade)
    page.set_content(shown)
    figure = page.locator("article svg", has=page.locator("text", has_text="x (m)")).first
    label = figure.locator("text", has_text="x (m)")
    assert label.evaluate("t => getComputedStyle(t).fill") == f"rgb({ink})"
    spine = figure.locator('path[style*="currentColor"]').last
    assert spine.evaluate("p => getComputedStyle(p).stroke") == f"rgb({ink})"
    # curves keep their own colors
    assert figure.locator('path[style*="#3264b9"]').count() > 0


SHADE = """() => {
    const said = document.querySelector("#said .time"), config = window.__VISER_EMBED_CONFIG__;
    return said && config && [config.darkMode, getComputedStyle(said).color];
}"""


def test_players_are_as_dark_as_the_page_around_them(new_page):
    """By the ink of the page, on a light device, and when another theme is chosen."""
    light, dark = [False, "rgb(70, 80, 90)"], [True, "rgb(200, 206, 214)"]
    player = ns.animate(run_of("chaplygin-sleigh"), rate=2.0).html()
    # a color scheme that Playwright emulates is that of every frame, whatever its page asks
    page = new_page(pictures=False, color_scheme="null")

    def shade():
        frame = page.locator("iframe").element_handle().content_frame()
        return frame.wait_for_function(SHADE).json_value()

    page.set_content(f'<body style="color: #222">{player}</body>')
    assert shade() == light
    with page.expect_event("framenavigated"):
        page.evaluate("document.body.style.color = 'white'")
    assert shade() == dark


def test_displays_fit_a_phone(new_page, shown):
    page = new_page(viewport={"width": 390, "height": 800})
    figure = ns.plot(run_of("agv"))._repr_html_()
    page.set_content(shown.replace("</body>", f"<article>{figure}</article></body>"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # a figure of 7.2 inches: its text of 7.5 points is 7.5 * 600 px / 7.2 in / 72 pt/in high
    svg = page.locator("article svg").last
    assert svg.bounding_box()["width"] == 600


def test_columns_open_on_a_click(page, shown):
    page.set_content(shown)
    run = page.locator("article").nth(4)
    table = run.locator("table")
    assert not table.is_visible()
    run.locator("summary").click()
    assert table.is_visible()
    cell = table.locator("tr", has_text="bracket.rate").first.locator("data").last
    expected = run_of("agv")["bracket.rate"].max()
    assert float(cell.get_attribute("value")) == expected


#: Rules of JupyterLab and nbconvert for tables and lists of outputs.
LAB = """<style>
.lab tbody tr:nth-child(odd) { background: rgb(245, 245, 245); }
.lab td, .lab th, .lab tr { text-align: right; padding: 0.5em; max-width: none; }
.lab dt { float: left; font-weight: bold; width: 10%; }
</style>"""


def test_styles_of_a_notebook_do_not_reach_tables_and_labels(page, shown):
    page.set_content(shown.replace("<body>", f'<body class="lab">{LAB}'))
    rows = page.locator("tbody tr, .scroll tr")
    assert rows.count() > 20
    shades = rows.evaluate_all("all => all.map(r => getComputedStyle(r).backgroundColor)")
    assert set(shades) == {"rgba(0, 0, 0, 0)"}
    # numbers flush right, words flush left
    sides = page.locator("tbody td:not(.number):not(.side), tbody th").evaluate_all(
        "all => all.map(c => getComputedStyle(c).textAlign)"
    )
    assert set(sides) == {"left"}
    # labels stand in one line
    labels = page.locator("dt")
    assert labels.count() > 20
    heights = labels.evaluate_all("all => all.map(l => l.getBoundingClientRect().height)")
    broken = [t for t, h in zip(labels.all_inner_texts(), heights, strict=True) if h > 30]
    assert not broken
    assert page.locator(".untrusted").first.is_hidden()


def test_a_notebook_that_is_not_trusted_says_so(page, shown):
    """Styles, figures and mathematics are stripped; a sentence that a style hid is left."""
    page.set_content(shown)
    page.evaluate("document.querySelectorAll('style').forEach(s => s.remove())")
    assert page.locator(".untrusted").first.is_visible()

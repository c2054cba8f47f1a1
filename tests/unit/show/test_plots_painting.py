"""Painted sheets: the same picture as matplotlib's figure of the same sheet, and SVG for a page."""

import io
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image
from runs_to_plot import audited, run_of
from scipy.ndimage import maximum_filter, minimum_filter

from noslip.scene import INK, PALETTE
from noslip.show.plots import painting
from noslip.show.plots.painting import DPI, figure_of, png_bytes, sheet_png, sheet_svg
from noslip.show.plots.panels import lay_out, phase_panels
from noslip.show.plots.plotting import run_sheets
from noslip.show.plots.sheets import band_polygons

SVG = "{http://www.w3.org/2000/svg}"


#: Text may be this many pixels off: matplotlib rounds each row of a legend to whole pixels.
APART = 4
#: Levels of 255 by which the soft edges of letters differ; what is missing or elsewhere, by 200.
SOFT = 120


def beyond(one, other):
    """Largest amount by which a pixel is lighter or darker than all of the other's near it."""
    near = (2 * APART + 1, 2 * APART + 1, 1)
    low, high = minimum_filter(other, near), maximum_filter(other, near)
    return float(np.max(np.maximum(low - one, one - high)))


def pixels(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"), dtype=np.float32)


def some_sheets():
    """Every kind of mark, wide and narrow: maps, bands, dashes, dots, powers of ten, a grid."""
    for size in ("page", "column"):
        agv = run_sheets(run_of("agv"), audited(), size=size)
        for what in ("path", "accelerations", "errors", "friction"):
            yield f"{what} {size}", agv[what]
        phase = phase_panels(run_of("rolling-disk"))
        yield f"phase {size}", lay_out(phase, size=size, title="phase", columns=3)


def test_it_is_the_picture_that_matplotlib_draws():
    """Every pixel of the one has its like in the other, next to its place, and the reverse."""
    for name, sheet in some_sheets():
        painted, drawn = pixels(sheet_png(sheet)), pixels(png_bytes(figure_of(sheet)))
        assert painted.shape == drawn.shape, name
        assert max(beyond(painted, drawn), beyond(drawn, painted)) < SOFT, name


def grid_ink(data, sheet):
    """Ink of each upright line of the grid, levels times pixels of its width, between the curves.

    Half the pixels of a line lie on paper, so that the median along it is that of the line alone.
    """
    picture = 255 - pixels(data).mean(axis=2)
    found = []
    for frame in sheet.frames:
        left, bottom, wide, tall = (DPI * x for x in frame.box)
        low, high = frame.x_limits
        rows = slice(int(len(picture) - bottom - tall) + 3, int(len(picture) - bottom) - 3)
        for at, _ in frame.x_ticks.between(low, high):
            middle = left + (at - low) / (high - low) * wide
            if left + 8 < middle < left + wide - 8:
                near = picture[rows, round(middle) - 3 : round(middle) + 3]
                found.append(float(np.median(near, axis=0).sum()))
    return np.array(found)


def test_the_grid_is_as_faint_as_that_of_matplotlib(monkeypatch):
    """Too faint for the comparison above: a line of half a point in ink of 13 %."""
    sheet = run_sheets(run_of("agv"), size="page")["speeds"]
    painted, drawn = (
        grid_ink(data, sheet) for data in (sheet_png(sheet), png_bytes(figure_of(sheet)))
    )
    # matplotlib puts lines on whole pixels, and so makes some of them wider
    assert len(painted) > 5 and np.all(painted > 15) and np.all(drawn > 15)
    assert painted.mean() == pytest.approx(drawn.mean(), rel=0.25)
    monkeypatch.setattr(painting, "FAINT", 0.0)
    assert np.all(grid_ink(sheet_png(sheet), sheet) < 1)


def test_a_png_is_the_same_each_time_and_as_large_as_the_sheet():
    sheet = run_sheets(run_of("agv"))["speeds"]
    assert sheet_png(sheet) == sheet_png(run_sheets(run_of("agv"))["speeds"])
    with Image.open(io.BytesIO(sheet_png(sheet, dpi=300))) as image:
        assert image.size == (round(300 * sheet.width), int(300 * sheet.height))
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert image.getpixel((0, 0)) == (255, 255, 255)


@pytest.fixture(scope="module")
def sheet():
    return run_sheets(run_of("agv"), audited(), size="column", titled=False)["speeds"]


def test_svg_is_in_the_ink_of_the_page(sheet):
    text = sheet_svg(sheet, name="speeds", title='a < b & "c"')
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("aria-label") == 'a < b & "c"'
    assert "currentColor" in text and INK not in text and PALETTE[0] in text
    # nothing that would change the page around it, and nothing asked for from anywhere
    for tag in ("style", "script", "metadata", "image"):
        assert root.find(f".//{SVG}{tag}") is None
    assert text.count("http") == 1
    words = {element.text for element in root.iter(f"{SVG}text")}
    assert {"platform.vx", "wheel1.rate", "speed (m/s)", "time (s)"} <= words


def test_svg_refers_to_itself_alone(sheet):
    names = []
    for name in ("first", "second"):
        root = ElementTree.fromstring(sheet_svg(sheet, name=name))
        own = {element.get("id") for element in root.iter()} - {None}
        assert own and all(identity.startswith(f"{name}-") for identity in own)
        text = ElementTree.tostring(root, encoding="unicode")
        assert set(re.findall(r"url\(#([\w-]+)\)", text)) == own
        names.append(own)
    assert not names[0] & names[1]


def test_svg_draws_the_numbers_of_the_run(sheet):
    """A curve read back from the outline of its path, within the hundredth of a point kept."""
    run = run_of("agv")
    root = ElementTree.fromstring(sheet_svg(sheet, name="speeds"))
    frame = sheet.frames[0]
    style = f"stroke: {PALETTE[1]}"
    outline = next(p for p in root.iter(f"{SVG}path") if style in p.get("style", ""))
    points = np.array([float(x) for x in re.findall(r"-?\d+\.?\d*", outline.get("d"))])
    left, bottom, wide, tall = frame.box
    x, y = points.reshape(-1, 2).T / 72
    t = (x - left) / wide * np.ptp(frame.x_limits) + frame.x_limits[0]
    value = (sheet.height - y - bottom) / tall * np.ptp(frame.y_limits) + frame.y_limits[0]
    expected = np.interp(t, run.t, run["platform.vy"])
    np.testing.assert_allclose(value, expected, atol=2e-3 * np.ptp(frame.y_limits))


def test_a_band_is_a_polygon_for_each_part_that_is_known():
    x = np.arange(6.0)
    band = np.column_stack([x, x + 1])
    band[2] = np.nan
    first, second = band_polygons(x, band)
    np.testing.assert_array_equal(first, [[0, 0], [1, 1], [1, 2], [0, 1]])
    assert len(second) == 6

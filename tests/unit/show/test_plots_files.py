"""Figures as files and as text: whole or not at all, the same every time, at home on any page."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest
from PIL import Image
from runs_to_plot import run_of

import noslip as ns
from noslip.scene.colors import INK, PALETTE
from noslip.show.plots import painting
from noslip.show.plots.painting import FigureFile, png_bytes, svg_text

SVG = "{http://www.w3.org/2000/svg}"
BEGINNINGS = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def figure():
    return ns.plot(run_of("agv"), "speeds", title="speeds")


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_files_are_what_their_names_say(figure, kind, tmp_path):
    target = tmp_path / f"speeds{kind}"
    assert FigureFile(target).save(figure) == target
    assert target.read_bytes().startswith(BEGINNINGS[kind])
    assert [p.name for p in tmp_path.iterdir()] == [target.name]
    # saving it again gives the same bytes
    again = tmp_path / f"again{kind}"
    FigureFile(again).save(ns.plot(run_of("agv"), "speeds", title="speeds"))
    assert again.read_bytes() == target.read_bytes()


def test_plot_saves_what_it_returns(tmp_path):
    figure = ns.plot(run_of("agv"), "inputs", save=tmp_path / "inputs.png")
    assert (tmp_path / "inputs.png").read_bytes() == png_bytes(figure)


def test_a_png_has_the_size_of_the_figure(figure, tmp_path):
    FigureFile(tmp_path / "fine.png").save(figure, dpi=300)
    with Image.open(tmp_path / "fine.png") as image:
        width, height = figure.get_size_inches()
        assert image.size == (round(300 * width), int(300 * height))
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert image.getpixel((0, 0)) == (255, 255, 255)
        colors = {color for _, color in image.getcolors(maxcolors=1 << 20)}
    drawn = tuple(int(PALETTE[0][k : k + 2], 16) for k in (1, 3, 5))
    assert drawn in colors


def test_a_failure_leaves_the_old_file_and_nothing_else(figure, tmp_path, monkeypatch):
    target = tmp_path / "speeds.png"
    FigureFile(target).save(figure)
    before = target.read_bytes()

    def break_off(*words, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(painting, "png_bytes", break_off)
    with pytest.raises(OSError, match="no space"):
        FigureFile(target).save(figure)
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_settings_of_matplotlib_stay_as_they_are(tmp_path):
    before = dict(matplotlib.rcParams)
    for kind in BEGINNINGS:
        ns.plot(run_of("agv"), "path", save=tmp_path / f"path{kind}")
    assert dict(matplotlib.rcParams) == before


def test_pyplot_is_never_needed(tmp_path):
    code = (
        "import sys, noslip as ns\n"
        "system = ns.compile(ns.derive(ns.load('chaplygin-sleigh')))\n"
        "run = ns.run_scenario(system, duration=0.5)\n"
        f"ns.plot(run, 'path', save={str(tmp_path / 'path.png')!r})\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_svg_for_a_page_is_in_the_ink_of_the_page(figure):
    text = svg_text(figure, name="speeds", title='a < b & "c"')
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("aria-label") == 'a < b & "c"'
    assert "currentColor" in text and INK not in text and PALETTE[0] in text
    # nothing that would change the page around it, and nothing asked for from anywhere
    for tag in ("style", "script", "metadata", "image"):
        assert root.find(f".//{SVG}{tag}") is None
    assert text.count("http") == 1
    words = {element.text for element in root.iter(f"{SVG}text")}
    assert {"platform.vx", "wheel1.rate", "speed (m/s)", "time (s)"} <= words


def test_svg_refers_to_itself_alone(figure):
    names = []
    for name in ("first", "second"):
        root = ElementTree.fromstring(svg_text(figure, name=name))
        own = {element.get("id") for element in root.iter()} - {None}
        assert own and all(identity.startswith(f"{name}-") for identity in own)
        text = ElementTree.tostring(root, encoding="unicode")
        referred = set(painting.re.findall(r"#([\w-]+)", text.replace("&#", "")))
        assert {r for r in referred if not _is_color(r)} == own
        names.append(own)
    assert not names[0] & names[1]


def _is_color(text):
    return len(text) == 6 and all(c in "0123456789abcdef" for c in text)


def test_svg_draws_the_numbers_of_the_run(figure):
    """A curve read back from the outline of its path, within the hundredth of a point kept."""
    run = run_of("agv")
    root = ElementTree.fromstring(svg_text(figure, name="speeds"))
    ax = figure.axes[0]
    style = f"stroke: {PALETTE[1]}"
    outline = next(p for p in root.iter(f"{SVG}path") if style in p.get("style", ""))
    numbers = np.array([float(x) for x in painting.re.findall(r"-?\d+\.?\d*", outline.get("d"))])
    points = numbers.reshape(-1, 2)
    height = 72 * figure.get_figheight()
    box = ax.get_position()
    width = 72 * figure.get_figwidth()
    x = (points[:, 0] / width - box.x0) / box.width * np.ptp(ax.get_xlim()) + ax.get_xlim()[0]
    y = ((height - points[:, 1]) / height - box.y0) / box.height
    y = y * np.ptp(ax.get_ylim()) + ax.get_ylim()[0]
    expected = np.interp(x, run.t, run["platform.vy"])
    np.testing.assert_allclose(y, expected, atol=2e-3 * np.ptp(ax.get_ylim()))


def test_pictures_in_a_figure_stay_in_the_text():
    """A heat map is a picture inside of the SVG; its link is its data, not the name of a part."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.add_subplot().pcolormesh([[1.0, 2.0], [3.0, 4.0]], rasterized=True)
    root = ElementTree.fromstring(svg_text(figure, name="map"))
    (image,) = root.iter("{http://www.w3.org/2000/svg}image")
    assert image.get("href").startswith("data:image/png;base64,")

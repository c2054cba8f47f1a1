"""Figures as files and as text: whole or not at all, the same every time, at home on any page."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image
from runs_to_plot import run_of

import noslip as ns
from noslip.scene import PALETTE
from noslip.show import FigureFile
from noslip.show.plots import painting
from noslip.show.plots.painting import png_bytes, svg_text

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


def test_pictures_in_a_figure_stay_in_the_text():
    """A heat map is a picture inside of the SVG; its link is its data, not the name of a part."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.add_subplot().pcolormesh([[1.0, 2.0], [3.0, 4.0]], rasterized=True)
    root = ElementTree.fromstring(svg_text(figure, name="map"))
    (image,) = root.iter("{http://www.w3.org/2000/svg}image")
    assert image.get("href").startswith("data:image/png;base64,")

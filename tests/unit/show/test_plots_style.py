"""How figures look: colors everybody can tell apart, names beside the data, nothing cut off."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from runs_to_plot import MODELS, audited, run_of, tracked

import noslip as ns
from noslip.show.plots.catalog import run_sheets
from noslip.show.plots.figures import figure_of
from noslip.show.plots.style import (
    DASHES,
    INK,
    PALETTE,
    Decimals,
    Powers,
    color,
    dashes,
    exponent_of,
    tick_texts,
)

LIGHT_PAPER, DARK_PAPER = "#ffffff", "#15181b"

#: What people without one kind of cone see, in linear red, green and blue [Machado et al. 2009].
VISION = {
    "usual": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no blue": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(code):
    """Linear red, green and blue of a color."""
    c = np.array([int(code[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lightness(code):
    return float(linear(code) @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    """As defined for pages that everybody can read (WCAG 2)."""
    low, high = sorted((lightness(one), lightness(other)))
    return (high + 0.05) / (low + 0.05)


def oklab(rgb):
    """Ottosson's space in which distances are those that are seen."""
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return to_lab @ np.cbrt(to_cones @ np.clip(rgb, 0.0, 1.0))


@pytest.mark.parametrize("code", PALETTE)
def test_curves_are_seen_on_light_and_on_dark_paper(code):
    assert contrast(code, LIGHT_PAPER) > 2.95
    assert contrast(code, DARK_PAPER) > 2.95


@pytest.mark.parametrize("vision", VISION)
def test_curves_are_told_apart_by_everybody(vision):
    seen = [oklab(VISION[vision] @ linear(code)) for code in PALETTE]
    nearest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    # the palette of Okabe and Ito, made for this, comes to 0.076
    assert nearest > 0.09


def test_more_curves_than_colors_differ_by_dashes():
    number = len(PALETTE) * len(DASHES)
    assert len({(color(k), dashes(k)) for k in range(number)}) == number
    assert contrast(INK, LIGHT_PAPER) > 15


@pytest.mark.parametrize(
    ("low", "high", "exponent", "texts"),
    [
        (-0.3, 0.2, 0, ["−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2"]),
        (0.0, 3.1e-5, -6, ["0", "10", "20", "30"]),
        (0.0, 4.2e4, 3, ["0", "10", "20", "30", "40"]),
        (-7.951, -7.948, 0, ["−7.951", "−7.950", "−7.949", "−7.948"]),
    ],
)
def test_ticks_are_short_numbers(low, high, exponent, texts):
    assert exponent_of(low, high) == exponent
    assert tick_texts(low, high, exponent, 5) == texts


def test_ticks_in_words():
    assert Powers()(1e-12) == "10⁻¹²" and Powers()(1.0) == "1"
    assert exponent_of(0.0, 0.0) == 0
    ticks = Decimals(0)
    ticks.set_locs([-1e-17, 0.5])
    assert ticks(-1e-17) == "0.0"


def every_figure():
    for name in MODELS:
        result = run_of(name)
        audit = audited() if name == "agv" else None
        yield from map(figure_of, run_sheets(result, audit).values())
    agv, disk = run_of("agv"), run_of("rolling-disk")
    for size in ("page", "column"):
        for run, what in [(agv, "path"), (agv, "histories"), (disk, "phase"), (disk, "residuals"),
                          ([agv, agv], "coordinates"), ([disk, disk], "path"),
                          (tracked(), "errors")]:  # fmt: skip
            yield ns.plot(run, what, size=size, title=f"{what} for a {size}")


def shown_numbers(axis, limits):
    """Numbers beside the ticks that are in view."""
    low, high = sorted(limits)
    return [
        tick.label1
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_visible()
    ]


def test_nothing_is_cut_off_and_names_stay_clear_of_the_data():
    """Measured on what is laid out: all text lies on the paper, no legend on its panel."""
    for figure in every_figure():
        canvas = FigureCanvasAgg(figure)
        figure.draw_without_rendering()
        renderer, paper = canvas.get_renderer(), figure.bbox
        for ax in figure.axes:
            panel = ax.get_window_extent()
            numbers = shown_numbers(ax.yaxis, ax.get_ylim())
            texts = [ax.xaxis.label, ax.yaxis.label, *numbers]
            texts += shown_numbers(ax.xaxis, ax.get_xlim())
            legend = ax.get_legend()
            if legend is not None:
                texts += legend.get_texts()
                box = legend.get_window_extent(renderer)
                inside = min(box.x1, panel.x1) - max(box.x0, panel.x0)
                if inside > 0:
                    assert min(box.y1, panel.y1) - max(box.y0, panel.y0) < 1
            for text in texts:
                if not text.get_visible() or not text.get_text():
                    continue
                box = text.get_window_extent(renderer)
                where = f"{text.get_text()!r} in {figure.texts[0].get_text()!r}"
                assert box.x0 >= -1 and box.x1 <= paper.x1 + 1, where
                assert box.y0 >= -1 and box.y1 <= paper.y1 + 1, where
            label = ax.yaxis.label.get_window_extent(renderer)
            for number in numbers:
                left = number.get_window_extent(renderer).x0
                assert left >= label.x1 - 1, f"{number.get_text()} on {ax.get_ylabel()!r}"


def test_sizes_suit_papers():
    assert ns.plot(run_of("agv"), "speeds").get_figwidth() == 7.2
    assert ns.plot(run_of("agv"), "speeds", size="column").get_figwidth() == 3.5

"""How figures look: names beside the data, short numbers, nothing cut off."""

import numpy as np
import pytest
from color_vision import contrast, linear
from matplotlib.backends.backend_agg import FigureCanvasAgg
from runs_to_plot import MODELS, audited, run_of, tracked

import noslip as ns
from noslip.scene import INK, PALETTE, rgb
from noslip.show.plots.painting import figure_of
from noslip.show.plots.plotting import run_sheets
from noslip.show.plots.sheets import (
    DASHES,
    Decimals,
    Powers,
    color,
    dashes,
    exponent_of,
    tick_texts,
)


def test_more_curves_than_colors_differ_by_dashes():
    number = len(PALETTE) * len(DASHES)
    assert len({(color(k), dashes(k)) for k in range(number)}) == number
    ink, paper = (linear(np.array(rgb(code)) / 255.0) for code in (INK, "#ffffff"))
    assert contrast(ink, paper) > 15


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

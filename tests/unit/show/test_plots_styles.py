"""Figures for screen, paper and slides: sizes, fonts and lines that fit their purpose."""

import pytest
from click.testing import CliRunner
from PIL import Image
from runs_to_plot import run_of

import noslip as ns
from noslip.cli import main

COLUMNS = ["platform.x", "platform.y", "torque1"]


def drawn(style):
    return run_of("agv").plot(COLUMNS, style=style)


def boxes(figure):
    """Where names of axes and curves are, in parts of the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [label for ax in figure.axes for label in (ax.xaxis.label, ax.yaxis.label)]
    texts += [name for ax in figure.axes for name in ax.get_legend().get_texts()]
    texts = [text for text in texts if text.get_text()]
    inverse = figure.transFigure.inverted()
    return [t.get_window_extent(canvas.get_renderer()).transformed(inverse) for t in texts]


@pytest.mark.parametrize(
    ("style", "inches", "points"),
    [("screen", 7.2, 8.0), ("paper", 3.5, 8.0), ("slide", 10.8, 16.0)],
)
def test_a_style_has_its_width_and_size_of_text(style, inches, points):
    figure = drawn(style)
    assert figure.get_figwidth() == pytest.approx(inches)
    ax = figure.axes[0]
    assert ax.yaxis.label.get_fontsize() == pytest.approx(points)
    assert {t.get_fontsize() for t in ax.get_legend().get_texts()} == {points}
    # nothing is cut off
    for box in boxes(figure):
        assert box.x0 >= 0 and box.x1 <= 1 and box.y0 >= 0 and box.y1 <= 1


def test_a_slide_has_lines_as_much_thicker_as_its_text_is_larger():
    plain, slide = drawn("screen").axes[0].lines[0], drawn("slide").axes[0].lines[0]
    assert slide.get_linewidth() == pytest.approx(2 * plain.get_linewidth())


def test_a_paper_has_the_font_of_the_equations():
    ax = drawn("paper").axes[-1]
    numbers = ax.get_xticklabels()
    for text in (ax.xaxis.label, *ax.get_legend().get_texts(), *numbers):
        assert text.get_fontfamily()[0] == "STIXGeneral"


def test_an_unknown_style_names_the_nearest():
    with pytest.raises(ns.SimulationError, match="there is no style 'papr'") as told:
        drawn("papr")
    assert "paper" in told.value.fix


def test_the_command_draws_a_figure_in_a_style(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sleigh = ["plot", "chaplygin-sleigh", "--style", "paper"]
    result = CliRunner().invoke(main, [*sleigh, "path", "-o", "path.png"])
    assert (result.exit_code, result.output) == (0, "path.png\n")
    with Image.open("path.png") as picture:
        assert picture.width == 3.5 * 150
    assert CliRunner().invoke(main, [*sleigh, "sleigh.vx", "sleigh.rate"]).exit_code == 0
    told = CliRunner().invoke(main, [*sleigh, "pth", "-o", "other.png"])
    assert told.exit_code == 1 and "there is no figure 'pth'" in told.output

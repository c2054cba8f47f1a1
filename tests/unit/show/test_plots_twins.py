"""Curves that lie on each other are said to, and each of their colors is seen."""

import numpy as np
import pytest
from runs_to_plot import names_beside

from noslip.show.plots.painting import figure_of
from noslip.show.plots.panels import lay_out
from noslip.show.plots.sheets import Curve, Panel

T = np.linspace(0.0, 1.0, 101)


def panel(**curves):
    log = curves.pop("log", False)
    made = tuple(Curve(label=name, x=T, y=y) for name, y in curves.items())
    return Panel(name="speed", unit="m/s", curves=made, log=log)


@pytest.mark.parametrize("size", ["page", "column"])
def test_the_legend_tells_which_curves_are_the_same(size):
    y = np.sin(5 * T)
    drawn = panel(left=y, other=1 - T, right=y + 1e-12, near=y + 2e-3, far=y + 0.05)
    (ax,) = figure_of(lay_out([drawn], size=size)).axes
    assert names_beside(ax) == ["left", "= right", "≈ near", "other", "far"]
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["left", "right", "near", "other", "far"]
    np.testing.assert_array_equal(lines["right"].get_ydata(), y + 1e-12)
    # one color each, and gaps in what lies above
    assert len({line.get_color() for line in lines.values()}) == 5
    dashed = [name for name, line in lines.items() if line.is_dashed()]
    assert dashed == ["right", "near"]
    in_legend = [line.get_color() for line in ax.get_legend().get_lines()]
    assert in_legend == [line.get_color() for line in ax.lines]


def test_what_differs_anywhere_is_not_said_to_be_the_same():
    y = np.sin(5 * T)
    late = np.where(T > 0.99, y + 0.1, y)
    gap = np.where(T > 0.5, np.nan, y)
    assert panel(a=y, b=late, c=gap).twins() == {}
    other_times = Curve(label="b", x=2 * T, y=y)
    one = panel(a=y).curves[0]
    assert Panel(name="", unit="m", curves=(one, other_times)).twins() == {}


def test_on_a_logarithmic_axis_ratios_count():
    y = 10.0 ** (-12 + 10 * T)
    assert panel(a=y, b=y + 1e-12, log=True).twins() == {}
    assert panel(a=y, b=-y, c=1.01 * y, log=True).twins() == {1: (0, "="), 2: (0, "≈")}


def test_curves_that_stay_zero_are_the_same():
    assert panel(a=0 * T, b=0 * T).twins() == {1: (0, "=")}

"""The same thing has the same color in plots and in pictures, and colors can be told apart."""

from itertools import combinations

import numpy as np
import pytest
from color_vision import WITHOUT, contrast, linear, oklab
from runs_to_plot import lines_of, run_of

import noslip as ns
from noslip.scene import colors, overlays, rgb
from noslip.show.plots.sheets import DASHES


def test_paths_have_the_colors_of_the_traces():
    figure = ns.plot(run_of("agv"), "path")
    found = {name: rgb(lines[0].get_color()) for name, lines in lines_of(figure).items()}
    assert found["platform"] == overlays.CENTER_TRACE
    contacts = [f"wheel{k} contact" for k in (1, 2, 3)]
    assert {found[name] for name in contacts} == {overlays.CONTACT_TRACE}
    # contacts are told apart by their dashes
    assert [lines_of(figure)[name][0].is_dashed() for name in contacts] == [False, True, True]


def test_roles_that_are_seen_together_differ():
    roles = (*colors.PATH_COLORS.values(), colors.FORCE, colors.VELOCITY)
    assert len(set(roles)) == len(roles) and set(roles) <= set(colors.PALETTE)


def lights():
    return [linear(np.array(rgb(color)) / 255.0) for color in colors.PALETTE]


@pytest.mark.parametrize("cones", WITHOUT)
def test_colors_differ_for_people_who_lack_cones(cones):
    """By ten times what is just seen; the palette of Okabe and Ito comes to 7.6."""
    seen = [oklab(np.clip(WITHOUT[cones] @ light, 0.0, 1.0)) for light in lights()]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 10.0


def test_colors_stand_out_on_white_and_on_dark_paper():
    """Lines and marks need a ratio of 3 (WCAG 2.2, 1.4.11)."""
    for paper in ("#ffffff", "#16181a"):
        ground = linear(np.array(rgb(paper)) / 255.0)
        assert min(contrast(light, ground) for light in lights()) >= 3.0


def test_on_gray_paper_curves_differ_by_dashes_or_lightness():
    """By ten times what is just seen, where dashes are the same."""
    lightness = [oklab(light)[0] for light in lights()]
    for a, b in combinations(range(len(lightness)), 2):
        assert a % len(DASHES) != b % len(DASHES) or abs(lightness[a] - lightness[b]) > 10.0
    figure = ns.plot(run_of("agv"), "coordinates", style="paper")
    for ax in figure.axes:
        patterns = {line.get_color(): line._unscaled_dash_pattern[1] for line in ax.lines}
        first = [patterns[color] for color in colors.PALETTE[:4] if color in patterns]
        assert len(set(map(str, first))) == len(first)
    assert any(line.is_dashed() for ax in figure.axes for line in ax.lines)
    assert not any(line.is_dashed() for line in ns.plot(run_of("agv"), "coordinates").axes[0].lines)

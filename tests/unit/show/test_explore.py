"""Sliders in a notebook: which numbers they change, and that the run follows them."""

import sys

import numpy as np
import pytest
from runs_to_plot import run_of, system_of

import noslip as ns
from noslip.show.explore import knobs_of


def test_sliders_begin_with_what_the_scenario_gives():
    knobs = {knob.name: knob for knob in knobs_of(system_of("agv"))}
    # radius and duration of its circle come before masses and lengths
    assert list(knobs)[:2] == ["R", "T"] and len(knobs) == 8
    radius = knobs["R"]
    assert (radius.value, radius.unit) == (1.0, "m") and radius.lower < 1.0 < radius.upper


def test_sliders_by_name_are_parameters_or_start_values():
    masses = ["m", "sleigh.rate"]
    first, second = knobs_of(system_of("chaplygin-sleigh"), masses)
    assert first.unit == "kg" and first.lower > 0
    assert second.unit == "rad/s" and second.lower <= second.value <= second.upper
    with pytest.raises(ns.SimulationError, match="there is no number 'mas'"):
        knobs_of(system_of("chaplygin-sleigh"), ["mas"])


def test_without_ipywidgets_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ns.MissingPackageError) as told:
        ns.explore(system_of("chaplygin-sleigh"))
    assert "explore needs the package ipywidgets" in told.value.what
    assert told.value.fix == 'pip install "noslip[notebook]"'


def test_the_run_follows_the_sliders():
    pytest.importorskip("ipywidgets")
    system = system_of("chaplygin-sleigh")
    explorer = ns.explore(system, ["sleigh.rate", "m"], plot=["sleigh.rate"])
    own = run_of("chaplygin-sleigh")
    np.testing.assert_array_equal(explorer.run.q, own.q)
    assert explorer.values == {}
    before = explorer.widget.children[2].value
    explorer.sliders["sleigh.rate"].value = 0.5
    expected = ns.run_scenario(system, changes={"sleigh.rate": 0.5})
    np.testing.assert_array_equal(explorer.run.q, expected.q)
    assert explorer.values == {"sleigh.rate": 0.5}
    after = explorer.widget.children[2].value
    assert "<svg" in after and after != before
    # a value that cannot be run is told, and the last run stays
    explorer.sliders["m"].min = -1.0
    explorer.sliders["m"].value = -1.0
    assert "m" in explorer.widget.children[1].value
    np.testing.assert_array_equal(explorer.run.q, expected.q)
    explorer.reset()
    np.testing.assert_array_equal(explorer.run.q, own.q)


def test_pages_that_cannot_move_sliders_show_what_is_drawn(monkeypatch):
    """The copy is hidden where the widget is, by the class that both have."""
    pytest.importorskip("ipywidgets")
    explorer = ns.explore(system_of("chaplygin-sleigh"), ["sleigh.rate", "m"])
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    explorer._ipython_display_()
    static, live = shown
    assert "application/vnd.jupyter.widget-view+json" in live and not live["text/plain"]
    assert explorer.widget.children[2].value in static["text/html"]
    assert "sleigh.rate = 1.5 rad/s, m = 1.5 kg" in static["text/plain"]
    # sliders move in the copy, too, from where they are
    assert "Move the sliders here" in static["text/html"] and "<iframe" in static["text/html"]
    (mark,) = explorer.widget._dom_classes
    hidden = f"body:has(.{mark}) .{mark}-static {{ display: none; }}"
    assert hidden in static["text/html"] and f'class="{mark}-static"' in static["text/html"]

"""Knobs of the studio: units, ranges, and a start that can be chosen without contradiction."""

import pytest

import noslip as ns
from noslip import MODELS, Parameter
from noslip.control.controlled_runs import run_scenario
from noslip.control.member_texts import parse_timing
from noslip.control.path_geometry import length
from noslip.show import Knob
from noslip.studio.choice import (
    chosen_start,
    first_choice,
    form_kinds,
    form_knobs,
    form_text,
    read_path,
    start_knobs,
)


def parameter(value, unit="kg"):
    return Parameter(name="p", value=value, unit=unit, description="what it is")


def test_a_parameter_goes_from_a_fifth_to_three_times_its_value():
    (knob,) = Knob.of_parameters([parameter(20.0)])
    assert (knob.lower, knob.value, knob.upper) == (4.0, 20.0, 60.0)
    assert knob.label == "p [kg]"
    assert knob.description == "what it is"
    (knob,) = Knob.of_parameters([parameter(-0.9, "m")])
    assert knob.lower < -2.6 and -0.2 < knob.upper < -0.1
    (knob,) = Knob.of_parameters([parameter(0.0, "1")])
    assert (knob.lower, knob.upper) == (-1.0, 1.0)
    assert knob.label == "p"


@pytest.mark.parametrize(
    ("value", "unit", "label", "shown"),
    [
        (0.00125, "kg*m^2", "p [10⁻³ kg·m²]", 1.25),
        (2.5e-7, "m", "p [10⁻⁹ m]", 250.0),
        (3.0e6, "N/rad", "p [10⁶ N/rad]", 3.0),
        (120000.0, "N/rad", "p [N/rad]", 120000.0),
    ],
)
def test_very_small_and_large_numbers_are_counted_in_thousands(value, unit, label, shown):
    (knob,) = Knob.of_parameters([parameter(value, unit)])
    assert knob.label == label
    assert value / knob.scale == pytest.approx(shown)


def test_a_value_beyond_the_range_widens_it():
    knob = Knob.ranged("x", "m", 0.0, -1.0, 1.0)
    assert knob.widened(0.5) is knob
    wide = knob.widened(7.0)
    assert (wide.lower, wide.upper) == (-1.0, 7.0)


@pytest.mark.parametrize("name", MODELS)
def test_every_start_knob_holds_its_value_and_can_be_moved(name):
    """Moved all at once, each comes out as it was set: none contradicts another."""
    model = ns.load(name)
    system = ns.compile(ns.derive(model))
    run = run_scenario(system, duration=0.1)
    is_prescribed = bool(model.scenario.motion)
    given = {} if is_prescribed else chosen_start(system, first_choice(model))
    knobs = start_knobs(system, run, given, speeds=not is_prescribed)
    for knob in knobs:
        assert knob.lower <= knob.value <= knob.upper
        assert knob.step > 0
    free = [s.name for s in system.independent_speeds]
    tree = [s.name for s in system.speeds]
    speeds = {k.name: k.value + 0.07 for k in knobs if k.name in (*free, *tree)}
    if is_prescribed:
        assert not speeds
        return
    places = {c.name: float(x) for c, x in zip(system.coordinates, run.q[0], strict=True)}
    begin = ns.complete_start(system, {**places, **speeds})
    for speed, value in speeds.items():
        found = begin.v[tree.index(speed)] if speed in tree else begin.eta[free.index(speed)]
        assert found == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("kind", [k for k in form_kinds("path") if k not in ("drawn", "typed")])
@pytest.mark.parametrize("size", [0.1, 3.0])
def test_paths_made_by_sliders_can_be_read(kind, size):
    values = {k.name: k.value for k in form_knobs("path", kind, size)}
    path = read_path(form_text("path", kind, values, ""))
    assert length(path) > size


@pytest.mark.parametrize("kind", [k for k in form_kinds("timing") if k != "typed"])
def test_timing_laws_made_by_sliders_can_be_read(system_of, kind):
    values = {k.name: k.value for k in form_knobs("timing", kind, 0.5)}
    timing = parse_timing(form_text("timing", kind, values, ""))
    circle, system = ns.paths.Circle(radius=2.0), system_of("agv")
    assert timing.on(system, circle).duration(circle) > 0

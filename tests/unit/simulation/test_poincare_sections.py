"""Poincaré sections: crossings of zero that count in one direction."""

import math

import numpy as np
import pytest

import noslip as ns


@pytest.fixture(scope="module")
def oscillator():
    """ẍ = −x from x = 1 at rest: cos t."""
    b = ns.ModelBuilder(name="oscillator", gravity=(0.0, 0.0, 0.0))
    b.body("mass", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("rail", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="mass")
    b.force(ns.forces.JointSpring(name="spring", coordinate="rail.position", stiffness=1.0))
    return ns.compile(ns.derive(b.build()))


SECTIONS = {
    "up": "rising(rail.position)",
    "down": " falling ( rail.position ) ",
    "both": "rail.position",
    "ahead": "rising((rail.position - 0.5)*(1))",
}
EXPECTED = {
    "up": [1.5, 3.5, 5.5],
    "down": [0.5, 2.5, 4.5],
    "both": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5],
    "ahead": [2 - 1 / 3, 4 - 1 / 3, 6 - 1 / 3],
}


def test_a_run_notes_crossings_of_one_direction(oscillator):
    run = ns.simulate(
        oscillator, duration=6 * math.pi, start={"rail.position": 1.0}, events=SECTIONS
    )
    for name, times in EXPECTED.items():
        assert run.event_times[name] == pytest.approx(np.array(times) * math.pi, abs=1e-8)


def test_a_batch_notes_the_same(oscillator):
    batch = ns.simulate_batch(
        oscillator, duration=6 * math.pi, start={"rail.position": [1.0, 2.0]}, events=SECTIONS
    )
    for name in ("up", "down", "both"):
        found = batch.event_times[name]
        times = np.array(EXPECTED[name]) * math.pi
        assert np.sort(found[0][np.isfinite(found[0])]) == pytest.approx(times, abs=1e-7)


def test_a_run_stops_where_it_rises(oscillator):
    run = ns.simulate(
        oscillator,
        duration=20.0,
        start={"rail.position": 1.0},
        stop={"back": "rising(rail.position)"},
    )
    assert run.t[-1] == pytest.approx(1.5 * math.pi, abs=1e-9)


def test_two_parts_are_no_section(oscillator):
    """rising(x) + rising(y) has no direction: the word is no function."""
    with pytest.raises(ns.SimulationError, match="rising"):
        ns.simulate(
            oscillator,
            duration=1.0,
            events={"e": "rising(rail.position) + falling(rail.speed)"},
        )

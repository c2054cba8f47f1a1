"""Inputs that bend or jump with the state: steps end there, and nothing narrow is passed over."""

import math

import numpy as np
import pytest

import noslip as ns


@pytest.fixture(scope="module")
def slider() -> ns.System:
    """A mass of 1 kg on a rail, pushed by F."""
    b = ns.ModelBuilder("slider", gravity=(0.0, 0.0, -9.81))
    b.body("s", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.joint("s", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="s")
    b.input("F", "N")
    b.force(ns.forces.Motor(name="m", speed="s.speed", input="F"))
    b.definition("reach", "1 - abs(s.position - 3)/0.001")
    return ns.compile(ns.derive(b.build()))


PUSHES = ("-100*max(0, 1 - abs(s.position - 3)/0.001)", "-100*max(0, reach)")


@pytest.mark.parametrize("push", PUSHES)
def test_a_push_of_a_millimeter_takes_its_work(slider: ns.System, push: str) -> None:
    """100 N over a triangle of 2 mm is 0.1 J, in a step of seconds."""
    start = {"s.speed": 1.0}
    run = ns.simulate(slider, start=start, duration=6.0, inputs={"F": push}, samples=7)
    assert run["s.speed"][-1] == pytest.approx(math.sqrt(1.0 - 2 * 0.1), abs=1e-7)
    np.testing.assert_allclose(run.t, np.arange(7.0))
    assert run["s.speed"][2] == pytest.approx(1.0, abs=1e-12)


def test_a_wall_throws_back(slider: ns.System) -> None:
    """A stiff spring beyond 1 m is a half wave of π/1000 s; events on the way are noted once."""
    run = ns.simulate(
        slider,
        start={"s.speed": 1.0},
        duration=4.0,
        inputs={"F": "-1e6*max(0, s.position - 1)"},
        events={"half": "s.position - 0.5"},
        samples=5,
    )
    assert run["s.speed"][-1] == pytest.approx(-1.0, abs=1e-8)
    assert run["s.position"][-1] == pytest.approx(math.pi / 1000 - 2.0, abs=1e-8)
    np.testing.assert_allclose(run.event_times["half"], [0.5, 1.5 + math.pi / 1000], atol=1e-8)


def test_stops_count_before_switches(slider: ns.System) -> None:
    run = ns.simulate(
        slider,
        start={"s.speed": 1.0},
        duration=4.0,
        inputs={"F": "-0.1*sign(s.position - 2)"},
        stop={"far": "s.position - 2.5"},
    )
    assert run.ended_by == "far"
    v = math.sqrt(1.0 + 2 * 0.2)
    assert run["s.speed"][-1] == pytest.approx(math.sqrt(v * v - 2 * 0.1 * 0.5), abs=1e-8)


def test_floors_of_the_state(slider: ns.System) -> None:
    """A force of floor(x): work 0, 1, 2 J on the first three meters."""
    run = ns.simulate(
        slider,
        start={"s.speed": 1.0},
        duration=10.0,
        inputs={"F": "floor(s.position)"},
        stop={"there": "s.position - 2.999999999"},
        rtol=1e-10,
        atol=1e-10,
    )
    assert run["s.speed"][-1] == pytest.approx(math.sqrt(1.0 + 2 * (0 + 1 + 2)), abs=1e-7)


def test_friction_that_sticks_is_told(slider: ns.System) -> None:
    start, inputs = {"s.speed": 1.0}, {"F": "-0.3*sign(s.speed)"}
    run = ns.simulate(slider, start=start, duration=3.0, inputs=inputs)
    assert run["s.speed"][-1] == pytest.approx(0.1, abs=1e-9)
    with pytest.raises(ns.SimulationError, match=r"switches back and forth.*\n.*\n.*tanh"):
        ns.simulate(slider, start=start, duration=6.0, inputs=inputs)

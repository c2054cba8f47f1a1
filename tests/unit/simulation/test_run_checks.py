"""Settings of a run that are refused, and those at the edge that are not."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.simulation.request import sample_times

START = {"disk.tilt": 1.2, "disk.spin_rate": -5.0, "disk.yaw_rate": 1.0}
WHERE = "simulation of model 'rolling-disk'"


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"rtol": 1e-20}, "rtol = 1e-20", "rtol from 1e-15 to 0.1"),
        ({"rtol": 5}, "rtol = 5", "1e-9 usual"),
        ({"rtol": math.nan}, "rtol = nan", "positive"),
        ({"rtol": "tight"}, "rtol = tight", "positive"),
        ({"rtol": True}, "rtol = True", "positive"),
        ({"atol": -1e-9}, "atol = -1e-09", "positive"),
        ({"atol": math.inf}, "atol = inf", "atol up to 0.1"),
        ({"atol": 0}, "atol = 0", "positive"),
        ({"step": -0.1}, "the step is -0.1 s", "0 to choose it"),
        ({"step": math.nan}, "the step is nan s", "0 to choose it"),
        ({"step": math.inf}, "the step is inf s", "0 to choose it"),
        ({"max_step": 0.0}, "the largest step is 0.0 s", "max_step"),
        ({"max_step": math.nan}, "the largest step is nan s", "max_step"),
        ({"max_steps": 0}, "at most 0 steps", "from 1 to 1e+18"),
        ({"max_steps": 2**70}, f"at most {2**70} steps", "from 1 to 1e+18"),
        ({"start_time": math.inf}, "the run starts at inf s", "a finite time"),
        ({"start_time": "now"}, "the run starts at now s", "a finite time"),
        ({"samples": 10**12}, "number of samples is 1000000000000", "10000000 or fewer"),
        ({"samples": -3}, "number of samples is -3", "at least 2"),
        ({"samples": "many"}, "the samples are 'many', which are not times", "whole number"),
        ({"samples": [0.0, [0.1]]}, "which are not times", "whole number"),
        ({"samples": 2.5}, "the requested number of samples is 2.5", "give a whole number"),
        ({"samples": None}, "the requested number of samples is None", "give a whole number"),
        ({"samples": [0.0, math.nan]}, "must increase", "give times between"),
    ],
)
def test_settings_that_no_run_could_use(disk, refuses, given, what, fix):
    with refuses(ns.SimulationError, what, WHERE, fix):
        ns.simulate(disk, duration=0.1, start=START, **given)


@pytest.mark.parametrize("run", [ns.simulate, ns.simulate_batch])
def test_a_mechanism_that_cannot_move(refuses, run):
    b = ns.ModelBuilder("post", gravity=(0.0, 0.0, -9.81))
    b.body("post", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.joint("foot", ns.joints.Fixed(), parent="world", child="post")
    system = ns.compile(ns.derive(b.build()))
    with refuses(ns.SimulationError, "nothing in it can move", "model 'post'", "give a body a"):
        run(system, duration=1.0)


def test_a_start_without_a_finite_value_at_changed_parameters(refuses):
    b = ns.ModelBuilder("slide", (0.0, 0.0, -9.81))
    b.parameter("area", 1.0, unit="m^2")
    b.body("block", mass=1.0, moment=0.1)
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    b.scenario(ns.Scenario(duration=1.0, start={"slide.position": "sqrt(area)"}))
    system = ns.compile(ns.derive(b.build()))
    assert ns.run_scenario(system, changes={"area": 4.0})["slide.position"][0] == 2.0
    with refuses(ns.SimulationError, "starts at nan", "start of model 'slide'", "a finite number"):
        ns.run_scenario(system, changes={"area": -1.0})


def test_numbers_of_samples_and_equally_spaced_times(disk):
    """A number of samples stands for the times of np.linspace, to the bit."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        start, duration = rng.choice([0.0, 7.0, -3.3, 1e5]), 10 ** rng.uniform(-6, 4)
        count = rng.integers(2, 300)
        times = sample_times(count, start, duration, disk)
        assert np.array_equal(times, np.linspace(start, start + duration, count))
    run = ns.simulate(disk, duration=0.3, start=START, samples=4, start_time=2.0)
    assert np.array_equal(run.t, np.linspace(2.0, 2.3, 4))


@pytest.mark.parametrize(("rtol", "atol"), [(1e-15, 1e-15), (1e-9, 1e-300), (np.float32(0.1), 0.1)])
def test_the_edges_are_allowed(disk, rtol, atol):
    run = ns.simulate(disk, duration=0.1, start=START, rtol=rtol, atol=atol)
    assert run.success and len(run.t) == 201


def test_what_was_accepted_as_a_number_is_not_as_something_else(disk, refuses):
    """1 and True are the same key of a dictionary; a list is none at all."""
    for _ in range(2):
        assert (
            ns.simulate(disk, duration=1, start=START, max_steps=1, on_failure="return").steps == 1
        )
        for steps in (True, math.inf, 0.5):
            with refuses(ns.SimulationError, f"max_steps is {steps}", "simulate", "whole number"):
                ns.simulate(disk, duration=1, start=START, max_steps=steps)
        with refuses(ns.SimulationError, "the duration is [1.0], which is not", WHERE, "positive"):
            ns.simulate(disk, duration=[1.0], start=START)
        with refuses(ns.SimulationError, "rtol = [1e-09]", WHERE, "positive"):
            ns.simulate(disk, duration=1, start=START, rtol=[1e-9])

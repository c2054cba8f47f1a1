"""What `simulate` is asked for and cannot do is refused."""

import numpy as np
import pytest

import noslip as ns


class TestRefusals:
    WHERE = "simulation of model 'rolling-disk'"

    @pytest.mark.parametrize("duration", [0.0, -1.0, np.nan, np.inf])
    def test_duration(self, disk, refuses, duration):
        with refuses(ns.SimulationError, f"the duration is {duration} s", self.WHERE):
            ns.simulate(disk, duration=duration)

    def test_method(self, disk, refuses):
        with refuses(ns.SimulationError, "there is no method 'euler'", self.WHERE):
            ns.simulate(disk, duration=1.0, method="euler")

    def test_rk4_without_a_step(self, disk, refuses):
        with refuses(ns.SimulationError, "rk4 has no step", self.WHERE, "give step=…, in s"):
            ns.simulate(disk, duration=1.0, method="rk4")

    def test_on_failure(self, disk, refuses):
        with refuses(ns.SimulationError, "on_failure is 'ignore'", self.WHERE, "use 'raise'"):
            ns.simulate(disk, duration=1.0, on_failure="ignore")

    @pytest.mark.parametrize(
        "samples",
        [
            *([], [0.5, 0.2], [-0.1, 0.5], [0.5, 1.1], [[0.0, 1.0]]),
            *([-0.1], [1.1], [np.nan], [np.nan, 1.0], [0.0, 0.5, 0.2, 1.0], [0.0, np.nan, 1.0]),
        ],
    )
    def test_sample_times(self, disk, refuses, samples):
        with refuses(ns.SimulationError, "times must increase and lie within the run", self.WHERE):
            ns.simulate(disk, duration=1.0, samples=samples)


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        (3.0, "3.0 is given where an expression is expected", "in quotes"),
        (len, "is given where an expression is expected", "in quotes"),
        ("disk.x > 3", "'>' at character 8", "the difference of both sides"),
        ("disk.tlt - 1", "uses 'disk.tlt', which is not known", "did you mean"),
    ],
)
def test_events_that_are_no_expressions(disk, refuses, text, what, fix):
    with refuses(ns.SimulationError, what, "event 'a' of model 'rolling-disk'", fix):
        ns.simulate(disk, duration=1.0, start={"disk.tilt": 1.2}, events={"a": text})


@pytest.mark.parametrize("fold", [{"m": 3.0}, 1])
def test_folded_values_are_those_of_the_model(disk, refuses, fold):
    """A value given with the name would be ignored, silently."""
    with refuses(ns.CompileError, "fold is", "'rolling-disk'", "their values are the model's"):
        ns.compile(disk.equations, fold=fold)

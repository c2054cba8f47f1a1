"""What `simulate` is asked for and cannot do is refused."""

import numpy as np
import pytest

import noslip as ns


@pytest.fixture(scope="module")
def disk(system_of):
    return system_of("rolling-disk")


class TestRefusals:
    WHERE = "simulation of model 'rolling-disk'"

    @pytest.mark.parametrize("duration", [0.0, -1.0, np.nan, np.inf])
    def test_duration(self, disk, refuses, duration):
        with refuses(
            ns.SimulationError, f"the duration is {duration} s", self.WHERE, "give a positive time"
        ):
            ns.simulate(disk, duration=duration)

    def test_method(self, disk, refuses):
        with refuses(
            ns.SimulationError, "there is no method 'euler'", self.WHERE, "use method='dop853'"
        ):
            ns.simulate(disk, duration=1.0, method="euler")

    def test_rk4_without_a_step(self, disk, refuses):
        with refuses(ns.SimulationError, "rk4 has no step", self.WHERE, "give step=…, in s"):
            ns.simulate(disk, duration=1.0, method="rk4")

    @pytest.mark.parametrize(("rtol", "atol"), [(0.0, 1e-9), (1e-9, -1.0), (np.nan, 1e-9)])
    def test_tolerances(self, disk, refuses, rtol, atol):
        with refuses(
            ns.SimulationError,
            f"the tolerances are rtol = {rtol}, atol = {atol}",
            self.WHERE,
            "give positive numbers",
        ):
            ns.simulate(disk, duration=1.0, rtol=rtol, atol=atol)

    def test_on_failure(self, disk, refuses):
        with refuses(
            ns.SimulationError, "on_failure is 'ignore'", self.WHERE, "use 'raise' or 'return'"
        ):
            ns.simulate(disk, duration=1.0, on_failure="ignore")

    def test_too_few_samples(self, disk, refuses):
        with refuses(ns.SimulationError, "1 samples are asked for", self.WHERE, "at least 2"):
            ns.simulate(disk, duration=1.0, samples=1)

    @pytest.mark.parametrize("samples", [[], [0.5, 0.2], [-0.1, 0.5], [0.5, 1.1], [[0.0, 1.0]]])
    def test_sample_times(self, disk, refuses, samples):
        with refuses(
            ns.SimulationError,
            "the sample times must increase and lie within the run",
            self.WHERE,
            "give times between 0 and 1 s",
        ):
            ns.simulate(disk, duration=1.0, samples=samples)

"""Runs: methods, tolerances, samples, what ends them, and how they end."""

import threading

import numpy as np
import pytest
from disk_start import DISK, TIGHT

import noslip as ns


@pytest.fixture(scope="module")
def disk_run(disk):
    return ns.simulate(disk, duration=2.0, start=DISK, samples=41, reactions=True, **TIGHT)


class TestMethods:
    def test_error_follows_the_tolerance(self, disk, disk_run):
        errors = []
        for tol in (1e-5, 1e-7, 1e-9):
            run = ns.simulate(disk, duration=2.0, start=DISK, samples=41, rtol=tol, atol=tol)
            errors.append(np.max(np.abs(run.q - disk_run.q)))
            assert errors[-1] < 1000 * tol
        assert errors[0] > 10 * errors[1] > 100 * errors[2]


class TestSamples:
    def test_times_of_samples(self, disk, disk_run):
        run = ns.simulate(disk, duration=2.0, start=DISK, samples=[0.5, 0.5, 1.95], **TIGHT)
        assert run.t.tolist() == [0.5, 0.5, 1.95]
        assert run.q[[0, 2]] == pytest.approx(disk_run.q[[10, 39]], abs=1e-11)

    def test_start_time_shifts_time(self, system_of):
        system = system_of("pendulum")
        start = {"swing.angle": 0.4}
        first = ns.simulate(system, duration=1.0, start=start, inputs={"torque": "sin(t)"}, **TIGHT)
        second = ns.simulate(
            system,
            duration=1.0,
            start=start,
            inputs={"torque": "sin(t - 5)"},
            start_time=5.0,
            **TIGHT,
        )
        assert second.t == pytest.approx(first.t + 5.0, abs=1e-15)
        assert second.q == pytest.approx(first.q, abs=1e-11)

    def test_completed_start_is_taken_as_it_is(self, disk, disk_run):
        start = ns.complete_start(disk, DISK)
        run = ns.simulate(disk, duration=2.0, start=start, samples=41, **TIGHT)
        assert np.array_equal(run.q, disk_run.q)

    def test_completed_start_of_another_time(self, system_of, refuses):
        system = system_of("shaken-pendulum")
        start = ns.complete_start(system, {}, time=3.0)
        with refuses(ns.SimulationError, "but the run starts at 0 s", "of model 'shaken-pendulum'"):
            ns.simulate(system, duration=1.0, start=start)
        assert ns.simulate(system, duration=1.0, start=start, start_time=3.0).success

    def test_partial_start_is_completed_and_says_so(self, system_of):
        run = ns.simulate(
            system_of("four-bar"), duration=0.1, start={"crank.angle": 0.5}, samples=3
        )
        assert set(run.start_completed) == {"coupler.angle", "rocker.angle"}
        assert run.gap < 1e-13


class TestEvents:
    @pytest.mark.slow
    def test_run_ends_where_an_expression_crosses_zero(self, system_of):
        """A thrown mass center comes down to its height at t = 2 v/g."""
        system = system_of("point-on-circle")
        run = ns.simulate(
            system,
            duration=10.0,
            start={"x.position": 0.7, "y.position": 0.0},
            stop={"bottom": "x.position", "top": "y.position - 0.5"},
            **TIGHT,
        )
        assert run.ending is ns.Ending.EVENT
        assert run.success
        assert (run.status, run.message[:34]) == (1, "The run ended at an event 'bottom'")
        assert run["x.position"][-1] == pytest.approx(0.0, abs=1e-12)
        assert run["y.position"][-1] == pytest.approx(-0.7, abs=1e-12)
        # the speed of a fall through l: v² = 2 g l
        assert run["x.speed"][-1] ** 2 == pytest.approx(2 * 9.81 * 0.7, rel=1e-10)
        assert run.t[-1] < 10.0

    def test_event_at_the_start_is_left_behind(self, system_of):
        """A value that starts at zero must leave it and come back."""
        run = ns.simulate(
            system_of("pendulum"),
            duration=10.0,
            start={"swing.angle": 0.3, "swing.rate": 1.0},
            stop={"back": "swing.angle - 0.3"},
            **TIGHT,
        )
        assert run.ending is ns.Ending.EVENT
        assert run.t[-1] > 0.1
        assert run["swing.angle"][-1] == pytest.approx(0.3, abs=1e-12)


class TestEndings:
    def test_failure_can_be_returned(self, disk):
        run = ns.simulate(
            disk, duration=2.0, start=DISK, max_steps=3, samples=201, on_failure="return"
        )
        assert run.ending is ns.Ending.MAX_STEPS
        assert (run.status, run.success, run.steps) == (-1, False, 3)
        assert 1 < len(run.t) < 201
        assert run.t[-1] < 2.0

    def test_failure_before_the_first_sample_leaves_the_last_state(self, disk):
        run = ns.simulate(
            disk, duration=2.0, start=DISK, max_steps=1, samples=[1.9], on_failure="return"
        )
        assert len(run.t) == 1 and 0.0 < run.t[0] < 1.9
        assert run.q.shape == (1, 7)
        assert run.slip < 1e-14 and run.gap < 1e-14

    def test_numbers_that_are_not_finite(self, system_of, refuses):
        with refuses(ns.SimulationError, "a number that is not finite", "model 'pendulum', t = "):
            ns.simulate(system_of("pendulum"), duration=2.0, inputs={"torque": 1e308})

    @pytest.mark.parametrize("method", ["dop853", "rk4"])
    def test_cancelled_from_another_thread(self, disk, method):
        """What was computed until then is kept; nothing is raised."""
        cancel = threading.Event()
        timer = threading.Timer(0.2, cancel.set)
        timer.start()
        run = ns.simulate(
            disk,
            duration=1e9,
            start={"disk.tilt": np.pi / 2, "disk.spin_rate": -6.0},
            samples=np.linspace(0.0, 1.0, 11),
            method=method,
            step=1e-6 if method == "rk4" else 0.0,
            max_step=1e-3,
            max_steps=10**12,
            cancel=cancel,
        )
        timer.join()
        assert run.ending is ns.Ending.CANCELLED
        assert not run.success
        assert run.steps > 10

"""The loop of one run against closed forms and SciPy: methods, steps and samples."""

import itertools
import math

import numpy as np
import pytest
from native_runs import (
    KEPLER_START,
    ROUNDING,
    growing,
    kepler,
    native,
    python_rates,
    run,
    van_der_pol,
)
from scipy import integrate

from noslip.simulation.loop import rules


class TestMethods:
    def test_kepler_orbit_closes_as_well_as_scipys(self):
        # what one run misses the start by is luck; the mean of many is not
        end, missed, evaluations = 6 * math.pi, [], []
        for tolerance in np.logspace(-4, -11, 29):
            ours = run(
                kepler,
                KEPLER_START,
                end,
                relative_tolerance=tolerance,
                absolute_tolerance=np.full(4, tolerance),
            )
            theirs = integrate.solve_ivp(
                python_rates(kepler, 4),
                (0, end),
                KEPLER_START,
                method="DOP853",
                rtol=tolerance,
                atol=tolerance,
            )
            assert ours.code == rules.FINISHED
            ends = np.array([ours.state, theirs.y[:, -1]])
            missed.append(np.abs(ends - KEPLER_START).max(axis=1))
            evaluations.append((ours.evaluations, theirs.nfev))
        errors = np.log(np.array(missed))
        assert np.ptp(errors[:, 0]) > 6 * math.log(10)
        assert np.mean(errors[:, 0] - errors[:, 1]) < math.log(1.5)
        ours, theirs = np.sum(evaluations, axis=0)
        assert 0.8 < ours / theirs < 1.05

    def test_errors_shrink_with_the_tolerance_and_samples_agree_with_scipy(self):
        times = np.linspace(0, 20, 41)
        reference = integrate.solve_ivp(
            python_rates(van_der_pol, 2, (3.0,)),
            (0, 20),
            [2.0, 0.0],
            method="DOP853",
            rtol=1e-13,
            atol=1e-13,
            t_eval=times,
        ).y.T
        errors = []
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):
            ours = run(
                van_der_pol,
                [2.0, 0.0],
                20.0,
                parameters=np.array([3.0]),
                sample_times=times,
                relative_tolerance=tolerance,
            )
            assert np.array_equal(ours.times, times)
            errors.append(np.abs(ours.states - reference).max())
        assert errors[-1] < 1e-8
        assert all(fine < 0.1 * coarse for coarse, fine in itertools.pairwise(errors))

    def test_end_state_of_a_step_is_scipys(self):
        solver = integrate.DOP853(
            python_rates(kepler, 4), 0.0, KEPLER_START, 1.0, first_step=0.05, rtol=1e-3, atol=1e-3
        )
        solver.step()
        ours = run(kepler, KEPLER_START, 0.05, step=0.05, relative_tolerance=1e-3)
        assert ours.steps == 1
        assert np.abs(ours.state - solver.y).max() < 1e-15

    @pytest.mark.parametrize(
        ("method", "order_at_steps", "order_between"), [(rules.DOP853, 8, 7), (rules.RK4, 4, 4)]
    )
    def test_order_of_convergence(self, method, order_at_steps, order_between):
        # ẋ = x cos t has the solution exp(sin t). Loose tolerances leave the step to max_step.
        at_steps, between = [], []
        for num_steps in (10, 20) if method == rules.DOP853 else (80, 160):
            h = 4.0 / num_steps
            inside = h * (np.arange(num_steps) + 0.37)
            result = run(
                growing,
                [1.0],
                4.0,
                method=method,
                step=h,
                max_step=h,
                sample_times=inside,
                relative_tolerance=1e6,
            )
            assert result.steps == num_steps
            at_steps.append(abs(result.state[0] - math.exp(math.sin(4.0))))
            between.append(np.abs(result.states[:, 0] - np.exp(np.sin(inside))).max())
        assert math.log2(at_steps[0] / at_steps[1]) > order_at_steps - 0.5
        assert math.log2(between[0] / between[1]) > order_between - 0.5

    def test_fixed_step_shortens_its_last_step(self):
        # A cubic rate is integrated exactly by Simpson's rule.
        @native
        def cubic(t, x, u, p, out):
            out[0] = 4.0 * t[0] ** 3

        result = run(cubic, [0.0], 1.05, method=rules.RK4, step=0.1)
        assert (result.code, result.steps, result.time) == (rules.FINISHED, 11, 1.05)
        assert result.state[0] == pytest.approx(1.05**4, rel=ROUNDING)
        assert result.step == 0.1

    def test_many_fixed_steps_do_not_leave_a_sliver(self):
        result = run(growing, [1.0], 1.0, method=rules.RK4, step=1e-3)
        assert result.steps == 1000


class TestSamples:
    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_start_and_end_are_hit_exactly(self, method):
        times = np.array([0.3, 0.3, 1.0, 1.7, 1.7])
        result = run(
            growing, [2.0], 1.7, start_time=0.3, sample_times=times, method=method, step=0.01
        )
        assert np.array_equal(result.times, times)
        assert np.array_equal(result.states[:2, 0], [2.0, 2.0])
        assert np.array_equal(result.states[-2:, 0], [result.state[0]] * 2)

    def test_run_without_duration_has_its_start_as_sample(self):
        result = run(growing, [2.0], 0.0, sample_times=np.zeros(1))
        assert (result.code, result.steps, result.states[0, 0]) == (rules.FINISHED, 0, 2.0)

    def test_samples_do_not_change_the_steps(self):
        without = run(kepler, KEPLER_START, 5.0)
        with_samples = run(kepler, KEPLER_START, 5.0, sample_times=np.linspace(0, 5, 333))
        assert np.array_equal(without.state, with_samples.state)
        assert without.steps == with_samples.steps
        assert without.evaluations < with_samples.evaluations

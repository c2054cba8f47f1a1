"""Samples from the ends of several steps, against those that each step finds by itself.

A knot after the end of a run changes nothing but this: such a run may have breaks, and its steps
report by themselves.
"""

import math

import numpy as np
import pytest
from native_runs import (
    KEPLER_START,
    growing,
    kepler,
    native,
    pendulum,
    planned,
    run,
)

from noslip.simulation.loop import rules
from noslip.simulation.loop.rules import NUM_NODES
from noslip.simulation.native_run import InputTable

ENOUGH = NUM_NODES - 1  # steps
TABLE = InputTable(index=0, starts=np.zeros(1), coefficients=np.zeros((1, 4)))


def both(rates, state, end_time, **fields):
    """The same run with samples from several steps, and with those of each step by itself."""
    several = run(rates, state, end_time, **fields)
    single = run(rates, state, end_time, knots=np.array([end_time + 1.0]), **fields)
    assert several.code == single.code
    assert (several.time, several.steps) == (single.time, single.steps)
    assert np.array_equal(several.state, single.state)
    return several, single


def kepler_loop(**fields):
    times = np.linspace(0.0, 6.0, 61)
    given = {"sample_times": times, "absolute_tolerance": np.full(4, 1e-9)} | fields
    return planned(kepler, KEPLER_START, given.pop("end_time", 6.0), **given)


def begun(**fields):
    loop, values = kepler_loop(**fields)
    return loop.begin(**values)


class TestAccuracy:
    @pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
    def test_a_break_that_no_knot_tells_of_spoils_no_sample_beside_it(self, tolerance):
        """Steps shrink there, and one slope of a polynomial across them proves nothing."""

        @native
        def bouncing(t, x, u, p, out):
            out[0] = x[1]
            out[1] = -1.0 - min(1e4 * x[0], 0.0)

        @native
        def bent(t, x, u, p, out):
            out[0] = x[1]
            out[1] = -(1.0 + 100.0 * abs(x[0])) * x[0]

        fall = np.linspace(0.0, 1.41, 2001)
        result = run(bouncing, [1.0, 0.0], 6.0, sample_times=fall, relative_tolerance=tolerance)
        exact = np.stack([1.0 - fall**2 / 2, -fall], axis=1)
        assert np.abs(result.states - exact).max() < tolerance
        times = np.linspace(0.0, 20.0, 4001)
        several, single = both(
            bent, [1.0, 0.0], 20.0, sample_times=times, relative_tolerance=tolerance
        )
        off = (several.states - single.states) / (1.0 + np.abs(single.states))
        assert np.abs(off).max() < 4.0 * tolerance


class TestSteps:
    @pytest.mark.parametrize("num_steps", range(1, ENOUGH + 5))
    def test_short_runs(self, num_steps):
        h = 0.125
        fields = {"step": h, "max_step": h, "relative_tolerance": 1e-6}
        end = num_steps * h
        times = np.linspace(0.0, end, 20 * num_steps + 1)
        several, single = both(growing, [1.0], end, sample_times=times, **fields)
        assert several.steps == num_steps
        assert np.array_equal(several.times, times)
        exact = np.exp(np.sin(times))
        assert np.abs(several.states[:, 0] - exact).max() < 1e-11
        if num_steps < ENOUGH:
            assert np.array_equal(several.states, single.states)
            assert several.evaluations == single.evaluations
        else:
            assert several.evaluations <= single.evaluations + num_steps

    def test_a_sample_at_the_end_of_a_step_is_its_end(self):
        fields = {"relative_tolerance": 1e-7}
        ends = [run(kepler, KEPLER_START, 6.0, max_steps=k, **fields) for k in range(12)]
        whole = run(kepler, KEPLER_START, 6.0, **fields)
        assert whole.steps > 12
        times = [end.time for end in ends]
        among = np.sort(np.concatenate([times, times, np.linspace(0.0, 6.0, 100)]))
        for wanted in (np.array(times), among):
            result = run(kepler, KEPLER_START, 6.0, sample_times=wanted, **fields)
            assert np.array_equal(result.times, wanted)
            for end in ends:
                states = result.states[wanted == end.time]
                assert len(states) >= 1
                assert all(np.array_equal(state, end.state) for state in states)

    @pytest.mark.parametrize("steps", [1, 2, 5, ENOUGH, 11, 10**6])
    def test_a_pause_changes_nothing(self, steps):
        whole, parts = begun().go(), begun(direct_steps=steps).go()
        assert whole.steps > 12
        for name in ("times", "states", "state"):
            assert np.array_equal(getattr(parts, name), getattr(whole, name))
        counts = ("code", "steps", "rejections", "evaluations", "step", "time")
        assert all(getattr(parts, name) == getattr(whole, name) for name in counts)


class TestEndings:
    """However a run ends, it has all samples up to there."""

    def test_singular_and_not_finite(self):
        @native
        def sinking(t, x, u, p, out):
            out[0] = -math.sin(t[0])
            out[1] = x[0]

        @native
        def root(t, x, u, p, out):
            out[0] = math.sqrt(1.0 - t[0]) if t[0] <= 1.0 else np.nan

        @native
        def squared(t, x, u, p, out):
            out[0] = x[0] ** 2

        times = np.linspace(0.0, 3.0, 301)
        cases = (
            (sinking, {"floors": np.array([0.1])}, rules.SINGULAR, np.cos),
            (root, {}, rules.NON_FINITE, lambda t: (5.0 - 2.0 * (1.0 - t) ** 1.5) / 3.0),
            (squared, {}, rules.STEP_TOO_SMALL, lambda t: 1.0 / (1.0 - t)),
        )
        for rates, fields, code, exact in cases:
            result = run(rates, [1.0], 3.0, sample_times=times, relative_tolerance=1e-10, **fields)
            assert result.code == code
            assert np.array_equal(result.times, times[times <= result.time])
            early = result.times < 0.95
            expected = exact(result.times[early])
            assert np.abs(result.states[early, 0] / expected - 1.0).max() < 1e-7

    @pytest.mark.parametrize("tolerance", [1e-5, 1e-8, 1e-11])
    @pytest.mark.parametrize("at", [5, 20, 30, 45, 49, 50])
    def test_a_sample_that_cannot_be_projected_ends_the_run_before_its_step(self, at, tolerance):
        @native
        def not_at_one(t, x, u, p, out):
            for i in range(4):
                out[i] = x[i]
            out[4] = 1.0 if t[0] == p[0] else 0.0

        times = np.linspace(0.0, 5.0, 51)
        fields = {"sample_times": times, "relative_tolerance": tolerance}
        fields |= {"project": not_at_one, "parameters": times[at : at + 1]}
        several, single = (
            run(pendulum, [1.0, 0.0, 0.0, 0.0], 5.0, knots=knots, **fields)
            for knots in (np.zeros(0), np.array([6.0]))
        )
        assert several.code == rules.PROJECTION_FAILED
        assert several.time == single.time < times[at]
        assert np.array_equal(several.state, single.state)
        # the last is the end of a step, without which there is no sample within that step
        due = times < (times[at] if at < 50 else several.time)
        assert np.array_equal(several.times, times[due])

    @pytest.mark.parametrize("tolerance", [1e-5, 1e-9])
    def test_a_sample_that_is_not_finite_is_none(self, tolerance):
        """Steps may leap over a short time without numbers, but samples in it have none."""

        @native
        def interrupted(t, x, u, p, out):
            out[0] = x[1]
            out[1] = -x[0] if abs(t[0] - p[0]) > 0.005 else np.nan

        times = np.linspace(0.0, 10.0, 1001)
        fields = {"sample_times": times, "relative_tolerance": tolerance}
        codes = set()
        for gap in np.linspace(0.5, 9.5, 100):
            result = run(interrupted, [1.0, 0.0], 10.0, parameters=np.array([gap]), **fields)
            codes.add(result.code)
            assert result.code in (rules.FINISHED, rules.NON_FINITE)
            assert np.isfinite(result.states).all()
            assert result.times.size == times.size or result.code == rules.NON_FINITE
        assert rules.NON_FINITE in codes


class TestEvents:
    @pytest.mark.parametrize("floor", [0.9, 0.5, 0.0, -0.9])
    @pytest.mark.parametrize("tolerance", [1e-5, 1e-10])
    def test_all_samples_before_one_that_ends_the_run_are_there(self, floor, tolerance):
        @native
        def above(t, x, u, p, out):
            out[0] = x[0] - p[0]

        @native
        def swinging(t, x, u, p, out):
            out[0] = x[1]
            out[1] = -x[0]

        times = np.linspace(0.0, 30.0, 3001)
        several, single = both(
            swinging,
            [1.0, 0.0],
            30.0,
            sample_times=times,
            relative_tolerance=tolerance,
            events=above,
            event_parameters=[floor],
            directions=[0.0],
        )
        assert several.code == rules.EVENT
        assert several.time == pytest.approx(math.acos(floor), abs=10 * tolerance)
        assert np.array_equal(several.times[:-1], times[times < several.time])
        assert several.times[-1] == several.time
        assert np.abs(several.states[:, 0] - np.cos(several.times)).max() < 10 * tolerance
        assert np.array_equal(several.states[-1], single.states[-1])


@pytest.mark.parametrize(
    "breaks",
    [
        {"knots": [3.0]},
        {"update": growing, "update_times": [0.0, 1.0]},
        {"tables": (TABLE,), "base_inputs": [0.0]},
        {"method": rules.RK4, "step": 0.1},
    ],
    ids=["knots", "updates", "tables", "rk4"],
)
def test_what_may_break_a_motion(breaks):
    assert kepler_loop()[0].is_smooth
    assert not kepler_loop(**breaks)[0].is_smooth

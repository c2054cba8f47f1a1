"""How the loop of one run ends, each ending by its own cause, and how it goes on."""

import math

import numpy as np
import pytest
from native_runs import (
    KEPLER_START,
    kepler,
    native,
    run,
)

from noslip.simulation.loop import rules


@native
def sinking(t, x, u, p, out):
    out[0] = -1.0
    out[1] = 1.0
    out[2] = x[0] / p[0]


@native
def root_of_time(t, x, u, p, out):
    out[0] = math.sqrt(1.0 - t[0]) if t[0] <= 1.0 else np.nan


@native
def squared(t, x, u, p, out):
    out[0] = x[0] ** 2


class TestEndings:
    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_health_below_its_floor_ends_the_run_at_an_accepted_state(self, method):
        result = run(
            sinking,
            [1.0],
            3.0,
            parameters=np.ones(1),
            floors=np.array([0.5, 0.1]),
            max_step=0.01,
            step=0.01,
            method=method,
            sample_times=np.linspace(0.0, 3.0, 31),
        )
        assert (result.code, result.index) == (rules.SINGULAR, 1)
        assert 0.9 < result.time < 0.911
        assert result.state[0] == pytest.approx(1.0 - result.time, rel=1e-12)
        assert result.times[-1] == pytest.approx(0.9)

    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_health_may_be_on_either_side_of_zero_but_does_not_pass_it(self, method):
        # the health falls from where it starts; a step of 0.7 would leap from 0.3 to −0.4
        common = {"parameters": np.ones(1), "floors": np.array([0.0, 0.1]), "method": method}
        common |= {"max_step": 0.7, "step": 0.7, "sample_times": np.array([0.0])}
        below = run(sinking, [-0.3], 3.0, **common)
        assert (below.code, below.time) == (rules.FINISHED, 3.0)
        above = run(sinking, [1.0], 3.0, **common)
        assert (above.code, above.index) == (rules.SINGULAR, 1)
        # a fixed step that would end beyond is not taken, a shorter one comes near
        low, high = (0.7, 0.7) if method == rules.RK4 else (0.9, 0.951)
        assert low <= above.time <= high

    def test_health_that_is_nan_counts_as_below(self):
        result = run(sinking, [0.0], 3.0, parameters=[np.nan], floors=np.zeros(2))
        assert (result.code, result.index, result.time) == (rules.SINGULAR, 1, 0.0)

    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_start_with_rates_that_are_not_finite(self, method):
        result = run(root_of_time, [0.0], 3.0, start_time=2.0, method=method, step=0.1)
        assert (result.code, result.steps, result.time) == (rules.NON_FINITE, 0, 2.0)

    def test_rates_that_stop_being_finite_are_approached(self):
        result = run(root_of_time, [0.0], 3.0)
        assert result.code == rules.NON_FINITE
        assert result.time == pytest.approx(1.0, abs=1e-12)
        assert result.state[0] == pytest.approx(2.0 / 3.0, abs=1e-6)

    def test_blow_up_ends_where_time_cannot_resolve_it(self):
        result = run(squared, [1.0], 3.0)
        assert result.code == rules.STEP_TOO_SMALL
        assert result.time == pytest.approx(1.0, abs=1e-6)

    def test_generator_that_fails_ends_a_projected_run_as_not_finite(self):
        @native
        def failing(t, y, base, p, out):
            out[0] = 0.0 if t[0] < 0.5 else np.nan

        @native
        def driven(t, x, u, p, out):
            for i in range(4):
                out[i] = u[0]

        @native
        def needs_inputs(t, x, u, p, out):
            for i in range(4):
                out[i] = x[i]
            out[4] = u[0]

        result = run(
            driven,
            np.zeros(4),
            1.0,
            generator=failing,
            num_inputs=1,
            project=needs_inputs,
        )
        assert result.code == rules.NON_FINITE
        assert result.time == pytest.approx(0.5, abs=1e-12)

    def test_overflow_of_a_state_is_not_accepted(self):
        @native
        def enormous(t, x, u, p, out):
            out[0] = 1e308

        result = run(enormous, [0.0], 10.0, method=rules.RK4, step=1.0)
        assert result.code == rules.NON_FINITE
        assert np.isfinite(result.state[0])


class TestResumption:
    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_run_in_pieces_of_steps_is_the_unbroken_run(self, method):
        # of steps that are all as long as they may be: pieces do not remember earlier errors
        fields = {"relative_tolerance": 1e-4, "method": method, "max_step": 0.01}
        whole = run(kepler, KEPLER_START, 7.0, step=0.01, **fields)
        state, time, step, steps = KEPLER_START, 0.0, 0.01, 0
        while time < 7.0:
            piece = run(kepler, state, 7.0, start_time=time, step=step, max_steps=5, **fields)
            state, time, step, steps = piece.state, piece.time, piece.step, steps + piece.steps
        assert steps == whole.steps
        assert np.array_equal(state, whole.state)

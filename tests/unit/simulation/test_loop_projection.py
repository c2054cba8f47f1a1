"""The loop of one run keeps its states on constraints, or says that it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from native_runs import (
    native,
    onto_circle,
    pendulum,
    run,
)

from noslip.simulation.loop import rules


@native
def nowhere(t, x, u, p, out):
    for i in range(4):
        out[i] = x[i]
    out[4] = 1.0 if t[0] > 1.0 else 0.0


class TestProjection:
    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_states_and_samples_stay_on_the_constraint(self, method):
        result = run(
            pendulum,
            [1.0, 0.0, 0.0, 0.0],
            10.0,
            project=onto_circle,
            projection_tolerance=1e-14,
            sample_times=np.linspace(0.0, 10.0, 101),
            relative_tolerance=1e-6,
            method=method,
            step=0.01,
        )
        assert result.code == rules.FINISHED
        x, y, vx, vy = result.states.T
        assert np.abs(np.hypot(x, y) - 1.0).max() <= 1e-14
        assert np.abs(x * vx + y * vy).max() <= 1e-14
        assert np.abs((vx**2 + vy**2) / 2 + y).max() < 1e-5

    def test_states_within_the_tolerance_are_left_alone(self):
        fields = {"sample_times": np.linspace(0.0, 5.0, 11), "relative_tolerance": 1e-10}
        start = [1.0, 0.0, 0.0, 0.0]
        free = run(pendulum, start, 5.0, **fields)
        watched = run(
            pendulum, start, 5.0, project=onto_circle, projection_tolerance=1e-3, **fields
        )
        assert np.array_equal(free.states, watched.states)
        assert free.evaluations == watched.evaluations

    def test_corrected_steps_start_anew_from_the_projected_state(self):
        # A run of one step evaluates its first stage itself. All are as long as they may be.
        fields = {"project": onto_circle, "relative_tolerance": 1e-4, "max_step": 0.1}
        whole = run(pendulum, [1.0, 0.0, 0.0, 0.0], 5.0, step=0.01, **fields)
        state, time, step = [1.0, 0.0, 0.0, 0.0], 0.0, 0.01
        while time < 5.0:
            piece = run(pendulum, state, 5.0, start_time=time, step=step, max_steps=1, **fields)
            state, time, step = piece.state, piece.time, piece.step
        assert np.array_equal(state, whole.state)
        # the rates of the next step's first stage are evaluated once, after the projection
        assert whole.evaluations == 1 + 12 * whole.steps + 11 * whole.rejections

    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_projection_without_end_ends_the_run_before_it(self, method):
        result = run(
            pendulum,
            [1.0, 0.0, 0.0, 0.0],
            5.0,
            project=nowhere,
            sample_times=np.array([0.0, 0.9, 4.0]),
            step=0.05,
            max_step=0.05,
            method=method,
        )
        assert result.code == rules.PROJECTION_FAILED
        assert 0.9 < result.time <= 1.0
        assert np.array_equal(result.times, [0.0, 0.9])
        assert np.all(np.isfinite(result.state))

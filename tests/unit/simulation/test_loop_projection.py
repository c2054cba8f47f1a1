"""The loop of one run keeps its states on constraints, or says that it cannot."""

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

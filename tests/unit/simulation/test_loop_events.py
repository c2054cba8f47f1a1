"""Events of the loop of one run against closed forms: where, which first, and in which state."""

import math

import numpy as np
import pytest
from native_runs import (
    KEPLER_START,
    double_integrator,
    falling,
    first_state,
    kepler,
    native,
    onto_circle,
    pendulum,
    run,
)

from noslip.simulation.loop import rules
from noslip.simulation.native_run import InputTable


class TestEvents:
    @pytest.mark.parametrize("direction", [-1.0, 0.0])
    @pytest.mark.parametrize("step", [0.0, 50.0])
    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
    def test_ball_that_starts_on_the_ground_bounces(self, method, step, direction):
        # Speed up 1/2, gravity 1: down after 1. It loses half of its speed each time.
        state, time, speed = [0.0, 0.5], 0.0, 0.5
        for _ in range(6):
            result = run(
                falling,
                state,
                100.0,
                start_time=time,
                events=first_state,
                directions=np.array([direction]),
                step=step if method == rules.DOP853 else 0.3,
                method=method,
            )
            assert (result.code, result.index) == (rules.EVENT, 0)
            assert result.time == pytest.approx(time + 2.0 * speed, rel=1e-14)
            assert abs(result.state[0]) < 1e-14
            time, speed, step = result.time, 0.5 * speed, result.step if step else 0.0
            state = [result.state[0], -0.5 * result.state[1]]

    @pytest.mark.parametrize(("direction", "root"), [(0.0, 1.0), (-1.0, 1.0), (1.0, 3.0)])
    def test_two_roots_in_one_step(self, direction, root):
        @native
        def parabola(t, x, u, p, out):
            out[0] = (t[0] - 1.0) * (t[0] - 3.0)

        result = run(
            falling,
            [0.0, 0.0],
            5.0,
            step=5.0,
            events=parabola,
            directions=np.array([direction]),
            sample_times=np.arange(0.2, 5.0, 0.5),
        )
        assert (result.code, result.steps) == (rules.EVENT, 1)
        assert result.time == pytest.approx(root, rel=1e-14)
        assert np.array_equal(result.times[:-1], np.arange(0.2, root, 0.5))
        assert result.times[-1] == result.time
        assert np.array_equal(result.states[-1], result.state)
        assert result.state[0] == pytest.approx(-(root**2) / 2, rel=1e-13)

    def test_first_of_several_events_ends_the_run(self):
        @native
        def clocks(t, x, u, p, out):
            out[0] = t[0] - p[0]
            out[1] = p[1] - t[0]
            out[2] = 1.0

        for first, second, index in ((0.6, 0.55, 1), (0.55, 0.6, 0), (3.0, 0.55, 1)):
            result = run(
                falling,
                [0.0, 0.0],
                2.0,
                step=1.0,
                events=clocks,
                event_parameters=np.array([first, second]),
                directions=np.zeros(3),
            )
            assert (result.code, result.index) == (rules.EVENT, index)
            assert result.time == pytest.approx(min(first, second), rel=1e-14)

    def test_event_in_a_curved_motion_is_located_to_rounding(self):
        result = run(
            kepler,
            KEPLER_START,
            20.0,
            relative_tolerance=1e-12,
            events=first_state,
            directions=np.array([1.0]),
        )
        # x = cos E − 1/2 rises through zero at E = 5π/3, where t = E − sin(E)/2.
        anomaly = 5.0 * math.pi / 3.0
        assert result.time == pytest.approx(anomaly - 0.5 * math.sin(anomaly), rel=1e-10)
        assert abs(result.state[0]) < 1e-14

    def test_state_of_an_event_is_projected(self):
        result = run(
            pendulum,
            [1.0, 0.0, 0.0, 0.0],
            10.0,
            relative_tolerance=1e-5,
            project=onto_circle,
            projection_tolerance=1e-14,
            events=first_state,
            directions=np.zeros(1),
        )
        assert result.code == rules.EVENT
        assert abs(math.hypot(*result.state[:2]) - 1.0) <= 1e-14
        assert abs(result.state[0]) < 1e-6

    def test_event_of_inputs_sees_them(self):
        ramp = InputTable(index=0, starts=np.zeros(1), coefficients=np.array([[0, 0, 1.0, -0.75]]))

        @native
        def first_input(t, x, u, p, out):
            out[0] = u[0]

        result = run(
            double_integrator,
            [0.0, 0.0],
            2.0,
            base_inputs=np.zeros(1),
            tables=(ramp,),
            events=first_input,
            directions=np.zeros(1),
        )
        assert result.time == pytest.approx(0.75, rel=1e-14)

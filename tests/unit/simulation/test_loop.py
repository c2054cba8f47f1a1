"""The native loop against closed forms and SciPy: methods, inputs, projection, events, endings."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import cfunc
from scipy import integrate, interpolate, linalg

from noslip.simulation.single import loop
from noslip.simulation.plan import InputTable, IntegrationPlan
from noslip.simulation.runner import run_native

native = cfunc("void({})".format(", ".join(["CPointer(float64)"] * 5)))

# Errors of a few hundred roundings of numbers near 1.
ROUNDING = 1e-13


def run(rates, state, end_time, **fields):
    state = np.array(state, dtype=float)
    fields = {
        "parameters": np.zeros(1),
        "start_time": 0.0,
        "absolute_tolerance": np.full(state.size, fields.get("relative_tolerance", 1e-8)),
    } | fields
    plan = IntegrationPlan(rates=rates.address, start_state=state, end_time=end_time, **fields)
    return run_native(plan)


@native
def kepler(t, x, u, p, out):
    cubed = (x[0] ** 2 + x[1] ** 2) ** 1.5
    out[0] = x[2]
    out[1] = x[3]
    out[2] = -x[0] / cubed
    out[3] = -x[1] / cubed


@native
def van_der_pol(t, x, u, p, out):
    out[0] = x[1]
    out[1] = p[0] * (1.0 - x[0] ** 2) * x[1] - x[0]


@native
def growing(t, x, u, p, out):
    out[0] = x[0] * math.cos(t[0])


@native
def double_integrator(t, x, u, p, out):
    out[0] = x[1]
    out[1] = u[0]


@native
def falling(t, x, u, p, out):
    out[0] = x[1]
    out[1] = -1.0


@native
def first_state(t, x, u, p, out):
    out[0] = x[0]


KEPLER_START = [0.5, 0.0, 0.0, math.sqrt(3.0)]  # eccentricity 1/2, period 2π


def python_rates(rates, n, parameters=(0.0,)):
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(rates.address)
    p, u = np.array(parameters), np.zeros(1)

    def f(t, y):
        time, x, out = np.array([t]), np.ascontiguousarray(y), np.zeros(n)
        call(*(a.ctypes.data for a in (time, x, u, p, out)))
        return out

    return f


class TestMethods:
    @pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
    def test_kepler_orbit_closes_in_as_many_steps_as_scipys(self, tolerance):
        end = 6 * math.pi
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
        our_error = np.abs(ours.state - KEPLER_START).max()
        their_error = np.abs(theirs.y[:, -1] - KEPLER_START).max()
        assert ours.code == loop.FINISHED
        assert our_error < 3.0 * their_error + 10.0 * tolerance
        assert 0.7 < ours.steps / (theirs.t.size - 1) < 1.4
        assert 0.7 < ours.evaluations / theirs.nfev < 1.4

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
        ("method", "order_at_steps", "order_between"), [(loop.DOP853, 8, 7), (loop.RK4, 4, 4)]
    )
    def test_order_of_convergence(self, method, order_at_steps, order_between):
        # ẋ = x cos t has the solution exp(sin t). Loose tolerances leave the step to max_step.
        at_steps, between = [], []
        for num_steps in (10, 20) if method == loop.DOP853 else (80, 160):
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

        result = run(cubic, [0.0], 1.05, method=loop.RK4, step=0.1)
        assert (result.code, result.steps, result.time) == (loop.FINISHED, 11, 1.05)
        assert result.state[0] == pytest.approx(1.05**4, rel=ROUNDING)
        assert result.step == 0.1

    def test_many_fixed_steps_do_not_leave_a_sliver(self):
        result = run(growing, [1.0], 1.0, method=loop.RK4, step=1e-3)
        assert result.steps == 1000


class TestSamples:
    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
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
        assert (result.code, result.steps, result.states[0, 0]) == (loop.FINISHED, 0, 2.0)

    def test_samples_do_not_change_the_steps(self):
        without = run(kepler, KEPLER_START, 5.0)
        with_samples = run(kepler, KEPLER_START, 5.0, sample_times=np.linspace(0, 5, 333))
        assert np.array_equal(without.state, with_samples.state)
        assert without.steps == with_samples.steps
        assert without.evaluations < with_samples.evaluations


class TestInputs:
    STARTS = np.array([0.0, 0.7, 1.1, 2.0])

    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_held_inputs_give_exact_parabolas(self, method):
        held = np.array([1.0, -3.0, 2.0, 7.0])
        table = InputTable(
            index=0, starts=self.STARTS, coefficients=held[:, None] * [0.0, 0.0, 0.0, 1.0]
        )
        result = run(
            double_integrator,
            [0.0, 0.0],
            2.0,
            base_inputs=np.zeros(1),
            tables=(table,),
            sample_times=self.STARTS,
            method=method,
            step=0.25,
        )
        position, speed = [0.0], [0.0]
        for duration, u in zip(np.diff(self.STARTS), held, strict=False):
            position.append(position[-1] + speed[-1] * duration + u * duration**2 / 2)
            speed.append(speed[-1] + u * duration)
        assert np.abs(result.states - np.column_stack([position, speed])).max() < ROUNDING
        assert result.rejections == 0
        # A knot has the input that follows; the end of the run the one before.
        assert np.array_equal(result.inputs[:, 0], [1.0, -3.0, 2.0, 2.0])

    def test_cubic_table_is_scipys_polynomial(self):
        spline = interpolate.CubicSpline(self.STARTS, [0.0, 1.0, -1.0, 0.5])
        table = InputTable(index=1, starts=self.STARTS[:-1], coefficients=spline.c.T)

        @native
        def second_input(t, x, u, p, out):
            out[0] = u[1]
            out[1] = u[0]

        times = np.linspace(0.0, 2.0, 21)
        result = run(
            second_input,
            [0.0, 0.0],
            2.0,
            base_inputs=np.array([5.0, 0.0]),
            tables=(table,),
            sample_times=times,
        )
        expected = np.column_stack([spline.antiderivative()(times), 5.0 * times])
        assert np.abs(result.states - expected).max() < ROUNDING
        assert np.abs(result.inputs[:, 1] - spline(times)).max() < ROUNDING
        assert np.all(result.inputs[:, 0] == 5.0)

    def test_first_segment_holds_before_its_start(self):
        table = InputTable(index=0, starts=np.ones(1), coefficients=np.array([[0.0, 0, 2.0, 1.0]]))
        result = run(double_integrator, [0.0, 0.0], 2.0, base_inputs=np.zeros(1), tables=(table,))
        assert result.state[1] == pytest.approx(2.0, rel=ROUNDING)

    def test_knots_a_rounding_apart_are_one(self):
        starts = np.array([0.0, 1.0, np.nextafter(1.0, 2.0)])
        steps = InputTable(
            index=0, starts=starts, coefficients=np.array([[0, 0, 0, 1.0], [0] * 4, [0, 0, 0, 3.0]])
        )
        result = run(double_integrator, [0.0, 0.0], 2.0, base_inputs=np.zeros(1), tables=(steps,))
        assert result.code == loop.FINISHED
        assert result.state[1] == pytest.approx(4.0, rel=ROUNDING)

    def test_generator_that_switches_at_a_knot_is_seen_from_both_sides(self):
        @native
        def switch(t, y, base, p, out):
            out[0] = 1.0 if t[0] < p[0] else base[0]

        result = run(
            double_integrator,
            [0.0, 0.0],
            2.0,
            base_inputs=np.array([-2.0]),
            generator=switch.address,
            generator_parameters=np.array([0.7]),
            knots=np.array([0.7]),
            sample_times=np.array([0.7, 2.0]),
        )
        assert result.rejections == 0
        assert result.state == pytest.approx([0.245 + 0.7 * 1.3 - 1.69, 0.7 - 2.6], rel=ROUNDING)
        assert np.array_equal(result.inputs[:, 0], [-2.0, -2.0])

    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_generator_with_states_is_a_closed_loop(self, method):
        # u = −3x − z, ż = 2x, r = 4 x + base; health lies where the loop keeps ż.
        @native
        def controller(t, y, base, p, out):
            out[0] = -3.0 * y[0] - y[1]
            out[1] = 4.0 * y[0] + base[0]
            out[2] = p[0] * y[0]

        @native
        def plant(t, x, u, p, out):
            out[0] = u[0]
            out[1] = 7.0
            out[2] = 8.0

        times = np.linspace(0.0, 2.0, 5)
        result = run(
            plant,
            [1.0, 0.5],
            2.0,
            num_generator_states=1,
            base_inputs=np.array([0.25]),
            generator=controller.address,
            generator_parameters=np.array([2.0]),
            num_inputs=2,
            health_floors=np.array([6.9, 7.9]),
            sample_times=times,
            relative_tolerance=1e-12,
            method=method,
            step=1e-3,
        )
        matrix = np.array([[-3.0, -1.0], [2.0, 0.0]])
        expected = np.array([linalg.expm(matrix * t) @ [1.0, 0.5] for t in times])
        assert result.code == loop.FINISHED
        assert np.abs(result.states - expected).max() < 1e-10
        inputs = np.column_stack([expected @ [-3.0, -1.0], 4.0 * expected[:, 0] + 0.25])
        assert np.abs(result.inputs - inputs).max() < 1e-9

    def test_python_callback_makes_inputs(self):
        calls = []

        def call(t, y, base, p, out):
            calls.append(t[0])
            out[0] = -y[0]

        callback = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 5)(call)
        result = run(
            double_integrator,
            [1.0, 0.0],
            math.pi,
            generator=ctypes.cast(callback, ctypes.c_void_p).value,
            num_inputs=1,
            relative_tolerance=1e-11,
        )
        assert result.state == pytest.approx([-1.0, 0.0], abs=1e-9)
        assert len(calls) >= result.evaluations


@native
def pendulum(t, x, u, p, out):
    # A point on the unit circle under gravity, in Cartesian coordinates.
    pull = x[2] ** 2 + x[3] ** 2 - x[1]
    out[0] = x[2]
    out[1] = x[3]
    out[2] = -pull * x[0]
    out[3] = -pull * x[1] - 1.0


@native
def onto_circle(t, x, u, p, out):
    length = math.sqrt(x[0] ** 2 + x[1] ** 2)
    along = x[0] * x[2] + x[1] * x[3]
    for i in range(2):
        out[i] = x[i] * (1.5 - 0.5 * length**2)
        out[2 + i] = x[2 + i] - along * x[i] / length**2
    out[4] = max(abs(length - 1.0), abs(along))


@native
def nowhere(t, x, u, p, out):
    for i in range(4):
        out[i] = x[i]
    out[4] = 1.0 if t[0] > 1.0 else 0.0


class TestProjection:
    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_states_and_samples_stay_on_the_constraint(self, method):
        result = run(
            pendulum,
            [1.0, 0.0, 0.0, 0.0],
            10.0,
            project=onto_circle.address,
            projection_tolerance=1e-14,
            sample_times=np.linspace(0.0, 10.0, 101),
            relative_tolerance=1e-6,
            method=method,
            step=0.01,
        )
        assert result.code == loop.FINISHED
        x, y, vx, vy = result.states.T
        assert np.abs(np.hypot(x, y) - 1.0).max() <= 1e-14
        assert np.abs(x * vx + y * vy).max() <= 1e-14
        assert np.abs((vx**2 + vy**2) / 2 + y).max() < 1e-5

    def test_states_within_the_tolerance_are_left_alone(self):
        fields = {"sample_times": np.linspace(0.0, 5.0, 11), "relative_tolerance": 1e-10}
        start = [1.0, 0.0, 0.0, 0.0]
        free = run(pendulum, start, 5.0, **fields)
        watched = run(
            pendulum, start, 5.0, project=onto_circle.address, projection_tolerance=1e-3, **fields
        )
        assert np.array_equal(free.states, watched.states)
        assert free.evaluations == watched.evaluations

    def test_corrected_steps_start_anew_from_the_projected_state(self):
        # A run of one step evaluates its first stage itself.
        fields = {"project": onto_circle.address, "relative_tolerance": 1e-4}
        whole = run(pendulum, [1.0, 0.0, 0.0, 0.0], 5.0, step=0.01, **fields)
        state, time, step = [1.0, 0.0, 0.0, 0.0], 0.0, 0.01
        while time < 5.0:
            piece = run(pendulum, state, 5.0, start_time=time, step=step, max_steps=1, **fields)
            state, time, step = piece.state, piece.time, piece.step
        assert np.array_equal(state, whole.state)
        # the rates of the next step's first stage are evaluated once, after the projection
        assert whole.evaluations == 1 + 12 * whole.steps + 11 * whole.rejections

    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_projection_without_end_ends_the_run_before_it(self, method):
        result = run(
            pendulum,
            [1.0, 0.0, 0.0, 0.0],
            5.0,
            project=nowhere.address,
            sample_times=np.array([0.0, 0.9, 4.0]),
            step=0.05,
            max_step=0.05,
            method=method,
        )
        assert result.code == loop.PROJECTION_FAILED
        assert 0.9 < result.time <= 1.0
        assert np.array_equal(result.times, [0.0, 0.9])
        assert np.all(np.isfinite(result.state))


class TestEvents:
    @pytest.mark.parametrize("direction", [-1.0, 0.0])
    @pytest.mark.parametrize("step", [0.0, 50.0])
    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_ball_that_starts_on_the_ground_bounces(self, method, step, direction):
        # Speed up 1/2, gravity 1: down after 1. It loses half of its speed each time.
        state, time, speed = [0.0, 0.5], 0.0, 0.5
        for _ in range(6):
            result = run(
                falling,
                state,
                100.0,
                start_time=time,
                events=first_state.address,
                event_directions=np.array([direction]),
                step=step if method == loop.DOP853 else 0.3,
                method=method,
            )
            assert (result.code, result.index) == (loop.EVENT, 0)
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
            events=parabola.address,
            event_directions=np.array([direction]),
            sample_times=np.arange(0.2, 5.0, 0.5),
        )
        assert (result.code, result.steps) == (loop.EVENT, 1)
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
                events=clocks.address,
                event_parameters=np.array([first, second]),
                event_directions=np.zeros(3),
            )
            assert (result.code, result.index) == (loop.EVENT, index)
            assert result.time == pytest.approx(min(first, second), rel=1e-14)

    def test_event_in_a_curved_motion_is_located_to_rounding(self):
        result = run(
            kepler,
            KEPLER_START,
            20.0,
            relative_tolerance=1e-12,
            events=first_state.address,
            event_directions=np.array([1.0]),
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
            project=onto_circle.address,
            projection_tolerance=1e-14,
            events=first_state.address,
            event_directions=np.zeros(1),
        )
        assert result.code == loop.EVENT
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
            events=first_input.address,
            event_directions=np.zeros(1),
        )
        assert result.time == pytest.approx(0.75, rel=1e-14)


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
    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_health_below_its_floor_ends_the_run_at_an_accepted_state(self, method):
        result = run(
            sinking,
            [1.0],
            3.0,
            parameters=np.ones(1),
            health_floors=np.array([0.5, 0.1]),
            max_step=0.01,
            step=0.01,
            method=method,
            sample_times=np.linspace(0.0, 3.0, 31),
        )
        assert (result.code, result.index) == (loop.SINGULAR, 1)
        assert 0.9 < result.time < 0.911
        assert result.state[0] == pytest.approx(1.0 - result.time, rel=1e-12)
        assert result.times[-1] == pytest.approx(0.9)

    def test_health_that_is_nan_counts_as_below(self):
        result = run(sinking, [0.0], 3.0, parameters=[np.nan], health_floors=np.zeros(2))
        assert (result.code, result.index, result.time) == (loop.SINGULAR, 1, 0.0)

    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_start_with_rates_that_are_not_finite(self, method):
        result = run(root_of_time, [0.0], 3.0, start_time=2.0, method=method, step=0.1)
        assert (result.code, result.steps, result.time) == (loop.NON_FINITE, 0, 2.0)

    def test_rates_that_stop_being_finite_are_approached(self):
        result = run(root_of_time, [0.0], 3.0)
        assert result.code == loop.NON_FINITE
        assert result.time == pytest.approx(1.0, abs=1e-12)
        assert result.state[0] == pytest.approx(2.0 / 3.0, abs=1e-6)

    def test_fixed_step_ends_before_rates_that_are_not_finite(self):
        result = run(root_of_time, [0.0], 3.0, method=loop.RK4, step=0.25)
        assert (result.code, result.time) == (loop.NON_FINITE, 1.0)

    def test_trial_steps_into_infinity_are_repeated_smaller(self):
        result = run(root_of_time, [0.0], 0.5, step=0.5, max_step=2.0)
        longer = run(root_of_time, [0.0], 0.99, step=0.99)
        assert result.code == longer.code == loop.FINISHED

    def test_blow_up_ends_where_time_cannot_resolve_it(self):
        result = run(squared, [1.0], 3.0)
        assert result.code == loop.STEP_TOO_SMALL
        assert result.time == pytest.approx(1.0, abs=1e-6)

    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_allowed_steps_are_spent(self, method):
        result = run(growing, [1.0], 100.0, max_steps=7, method=method, step=0.01)
        assert (result.code, result.steps) == (loop.MAX_STEPS, 7)

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
            generator=failing.address,
            num_inputs=1,
            project=needs_inputs.address,
        )
        assert result.code == loop.NON_FINITE
        assert result.time == pytest.approx(0.5, abs=1e-12)

    def test_overflow_of_a_state_is_not_accepted(self):
        @native
        def enormous(t, x, u, p, out):
            out[0] = 1e308

        result = run(enormous, [0.0], 10.0, method=loop.RK4, step=1.0)
        assert result.code == loop.NON_FINITE
        assert np.isfinite(result.state[0])


class TestResumption:
    @pytest.mark.parametrize("method", [loop.DOP853, loop.RK4])
    def test_run_in_pieces_of_steps_is_the_unbroken_run(self, method):
        fields = {"relative_tolerance": 1e-9, "method": method}
        whole = run(kepler, KEPLER_START, 7.0, step=0.01, **fields)
        state, time, step, steps = KEPLER_START, 0.0, 0.01, 0
        while time < 7.0:
            piece = run(kepler, state, 7.0, start_time=time, step=step, max_steps=5, **fields)
            state, time, step, steps = piece.state, piece.time, piece.step, steps + piece.steps
        assert steps == whole.steps
        assert np.array_equal(state, whole.state)

    def test_run_cut_at_a_time_agrees_to_the_tolerance(self):
        whole = run(kepler, KEPLER_START, 7.0, relative_tolerance=1e-10)
        first = run(kepler, KEPLER_START, 3.1, relative_tolerance=1e-10)
        second = run(
            kepler,
            first.state,
            7.0,
            start_time=first.time,
            step=first.step,
            relative_tolerance=1e-10,
        )
        assert np.abs(second.state - whole.state).max() < 1e-8
        assert first.steps + second.steps <= whole.steps + 3


def test_one_compiled_loop_serves_all_models():
    run(growing, [1.0], 1.0)
    run(kepler, KEPLER_START, 1.0, sample_times=np.linspace(0.0, 1.0, 3))
    assert len(loop.integrate.signatures) == 1


ANOTHER_PROCESS = """
import ctypes
from noslip.simulation.single import loop
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.runner import run_native

@ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 5)
def rates(t, x, u, p, out):
    out[0] = 2.0

plan = IntegrationPlan(
    rates=ctypes.cast(rates, ctypes.c_void_p).value, parameters=(), start_time=0.0, end_time=1.0,
    start_state=[1.0], absolute_tolerance=[1e-9],
)
print(run_native(plan).state[0], sum(loop.integrate.stats.cache_misses.values()))
"""


def test_another_process_does_not_compile_the_loop_again():
    run(growing, [1.0], 1.0)
    printed = subprocess.run(
        [sys.executable, "-c", ANOTHER_PROCESS], check=True, capture_output=True, text=True
    ).stdout
    state, misses = printed.split()
    assert float(state) == pytest.approx(3.0)
    assert misses == "0"


def test_whether_machine_code_is_on_disk(tmp_path):
    script = (
        "from noslip.simulation.native import is_on_disk\n"
        "from noslip.simulation.single.loop import integrate\n"
        "print(is_on_disk(integrate))\n"
        "import noslip as ns\n"
        "ns.simulate(ns.compile(ns.derive(ns.load('knife-edge'))), duration=0.1)\n"
        "print(is_on_disk(integrate))\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]

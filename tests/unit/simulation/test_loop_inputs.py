"""The loop of one run against closed forms: tables, generators and their knots."""

from __future__ import annotations

import ctypes
import math
from types import SimpleNamespace

import numpy as np
import pytest
from native_runs import (
    ROUNDING,
    double_integrator,
    native,
    run,
)
from scipy import interpolate, linalg

from noslip.simulation.loop import rules
from noslip.simulation.native_run import InputTable


class TestInputs:
    STARTS = np.array([0.0, 0.7, 1.1, 2.0])

    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
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
        assert result.code == rules.FINISHED
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
            generator=switch,
            generator_parameters=np.array([0.7]),
            knots=np.array([0.7]),
            sample_times=np.array([0.7, 2.0]),
        )
        assert result.rejections == 0
        assert result.state == pytest.approx([0.245 + 0.7 * 1.3 - 1.69, 0.7 - 2.6], rel=ROUNDING)
        assert np.array_equal(result.inputs[:, 0], [-2.0, -2.0])

    @pytest.mark.parametrize("method", [rules.DOP853, rules.RK4])
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
            generator=controller,
            generator_parameters=np.array([2.0]),
            num_inputs=2,
            floors=np.array([6.9, 7.9]),
            sample_times=times,
            relative_tolerance=1e-12,
            method=method,
            step=1e-3,
        )
        matrix = np.array([[-3.0, -1.0], [2.0, 0.0]])
        expected = np.array([linalg.expm(matrix * t) @ [1.0, 0.5] for t in times])
        assert result.code == rules.FINISHED
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
            generator=SimpleNamespace(address=ctypes.cast(callback, ctypes.c_void_p).value),
            num_inputs=1,
            relative_tolerance=1e-11,
        )
        assert result.state == pytest.approx([-1.0, 0.0], abs=1e-9)
        assert len(calls) >= result.evaluations

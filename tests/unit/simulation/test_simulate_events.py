"""Events that are noted and those that end a run."""

import numpy as np
import pytest

import noslip as ns

PENDULUM = {"start": {"swing.angle": 0.4}, "rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def pendulum():
    builder = ns.ModelBuilder("plain pendulum", gravity=(0.0, 0.0, -9.81))
    builder.body("bob", mass=1.0, center_of_mass=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    builder.joint("swing", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="world", child="bob")
    return ns.compile(ns.derive(builder.build()))


def roots(run, column):
    """Sign changes of a column by its finely sampled values, with a parabola through them."""
    from scipy.interpolate import CubicHermiteSpline

    rates = {"swing.angle": "swing.rate"}
    spline = CubicHermiteSpline(run.t, run[column], run[rates[column]])
    return spline.roots(extrapolate=False)


def test_times_of_crossings_are_those_of_the_motion(pendulum):
    fine = ns.simulate(pendulum, duration=10.0, samples=20001, **PENDULUM)
    run = ns.simulate(
        pendulum, duration=10.0, samples=3, events={"lowest": "swing.angle"}, **PENDULUM
    )
    expected = roots(fine, "swing.angle")
    assert len(expected) == 9
    assert run.event_times["lowest"] == pytest.approx(expected, abs=1e-10)
    assert run.event_states["lowest"][:, 0] == pytest.approx(0.0, abs=1e-11)
    assert run.success and run.ending is ns.Ending.FINISHED


def test_events_do_not_change_the_motion(pendulum):
    plain = ns.simulate(pendulum, duration=5.0, samples=11, **PENDULUM)
    noted = ns.simulate(
        pendulum, duration=5.0, samples=11, events={"lowest": "swing.angle"}, **PENDULUM
    )
    assert np.array_equal(plain.q, noted.q)


def test_nothing_is_noted_after_the_end(pendulum):
    until = ns.simulate(
        pendulum,
        duration=9.0,
        events={"lowest": "swing.angle"},
        stop={"late": "t - 3"},
        **PENDULUM,
    )
    whole = ns.simulate(pendulum, duration=9.0, events={"lowest": "swing.angle"}, **PENDULUM)
    times = whole.event_times["lowest"]
    assert until.ending is ns.Ending.EVENT
    assert until.t[-1] == pytest.approx(3.0, abs=1e-12)
    assert until.event_times["lowest"] == pytest.approx(times[times < 3.0], abs=1e-12)


#: Values that are exactly zero where a step of 1/4 s ends, and when they are first: they cross it,
#: touch it, rest there.
AT_ZERO = {
    "t - 1": 1.0,
    "2 - t": 2.0,
    "(t - 1)^3": 1.0,
    "(t - 1)^2": 1.0,
    "-(t - 2)^2": 2.0,
    "min(0, t - 1)": 1.0,
    "min(0, t - 1) + max(0, t - 2)": 1.0,
}


def test_a_value_that_is_zero_where_it_is_looked_at_crosses_once(pendulum):
    events = {text: text for text in AT_ZERO}
    run = ns.simulate(pendulum, duration=3.0, method="rk4", step=0.25, events=events)
    found = {text: times.tolist() for text, times in run.event_times.items()}
    assert found == {text: [time] for text, time in AT_ZERO.items()}


#: Values that jump over zero where the angle passes through it: no secant finds their roots.
JUMPS = {"sign": "sign(swing.angle)", "stairs": "floor(100*swing.angle) + 0.5"}


@pytest.mark.parametrize("rtol", [1e-7, 1e-9])
def test_a_value_that_jumps_over_zero_is_found_as_one_that_passes(pendulum, rtol):
    """Dense output is rough at these tolerances, so roots are refined on steps of their own."""
    asked = {"start": {"swing.angle": 1.2}, "rtol": rtol, "atol": rtol}
    events = {"through": "swing.angle", **JUMPS}
    run = ns.simulate(pendulum, duration=10.0, samples=2, events=events, **asked)
    batch = ns.simulate_batch(pendulum, duration=10.0, events=JUMPS, max_events=9, **asked)
    through = run.event_times["through"]
    assert len(through) == 9
    for name in JUMPS:
        assert run.event_times[name] == pytest.approx(through, abs=rtol)
        assert batch.event_times[name][0] == pytest.approx(through, abs=rtol)


def test_what_can_never_cross_zero_is_noted(pendulum):
    """A stop of numbers alone is more often a slip than a wish; the run goes to its end."""
    words = "depends on neither time nor motion"
    run = ns.simulate(
        pendulum,
        duration=0.5,
        stop={"far": "reach - 3", "low": "swing.angle - 9", "late": "t - far_off"},
        events={"still": "0*swing.angle", "turn": "swing.rate"},
        definitions={"reach": "4", "far_off": "reach + 5"},
    )
    assert run.ending is ns.Ending.FINISHED
    assert run.notes == (
        f"stop 'far' never crosses zero: 'reach - 3' {words}",
        f"event 'still' never crosses zero: '0*swing.angle' {words}",
    )
    moving = ns.simulate(pendulum, duration=0.5, stop={"low": "swing.angle - 9"})
    assert moving.notes == ()


def test_the_note_comes_after_those_of_the_inputs(system_of):
    def law(t, q, v):
        return 0.0

    run = ns.simulate(
        system_of("pendulum"), duration=0.1, inputs={"torque": law}, stop={"heavy": "m - 100"}
    )
    assert "Python callable" in run.notes[0]
    assert run.notes[1].startswith("stop 'heavy' never crosses zero: 'm - 100'")

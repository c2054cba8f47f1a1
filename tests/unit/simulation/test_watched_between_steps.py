"""Events and stops are seen however long the steps are, alone and in batches; or it is noted."""

import numpy as np
import pytest

import noslip as ns

START = {"s.speed": 1.0}  # so the place is the time

#: Event → when it crosses zero in ten seconds.
CROSSINGS = {
    "(s.position - 2)*(s.position - 2.2)": [2.0, 2.2],
    "(t - 7)*(t - 7.0001)": [7.0, 7.0001],
    "exp(-((t - 3.3)/1e-4)^2) - 0.5": 3.3 + 1e-4 * np.sqrt(np.log(2)) * np.array([-1, 1]),
    "max(0.5 - abs(s.position - 4)*1e3, -1)": [3.9995, 4.0005],
    "floor(s.position) - 4.5": [5.0],
    "s.position - floor(s.position) - 0.5": np.arange(0.5, 10.1, 0.5),
    "sign(t - 6)": [6.0],
    "sin(100*t)": np.arange(1, 319) * np.pi / 100,
    "cos(3*s.position^2)": np.sqrt((np.arange(0, 95) + 0.5) * np.pi / 3),
    "atan2(sin(t), cos(t)) - 1": [1.0, np.pi, 1 + 2 * np.pi, 3 * np.pi],
    "tanh(1e5*(t - 5))": [5.0],
    "1/(t - 5) + 1": [4.0, 5.0],  # a pole is crossed, too
}


@pytest.mark.parametrize("text", CROSSINGS)
def test_all_crossings_are_found_alone_and_in_a_batch(block, text):
    expected = np.asarray(CROSSINGS[text])
    run = ns.simulate(block, duration=10.0, start=START, events={"e": text})
    assert run.steps < 12 and run.notes == ()
    np.testing.assert_allclose(run.event_times["e"], expected, rtol=1e-9)
    batch = ns.simulate_batch(
        block,
        duration=10.0,
        starts={"s.speed": [1.0, 0.3, 1.0]},
        events={"e": text},
        max_events=len(expected),
    )
    assert batch.notes == ()
    for k in (0, 2):
        assert batch.event_counts["e"][k] == len(expected)
        np.testing.assert_allclose(batch.event_times["e"][k], expected, rtol=1e-9)


def test_more_crossings_than_there_is_room_for_in_a_step(block):
    run = ns.simulate(block, duration=1.0, start=START, events={"e": "sin(1e4*t)"})
    expected = np.arange(1, 3184) * np.pi / 1e4
    np.testing.assert_allclose(run.event_times["e"], expected, rtol=1e-12)
    batch = ns.simulate_batch(block, duration=1.0, starts=START, events={"e": "sin(1e4*t)"})
    assert batch.event_counts["e"].tolist() == [3183] and run.notes == batch.notes == ()


def test_every_turn_of_a_wheel_that_rolls_freely(system_of):
    given = {"wheel1.rate": -5.0, "wheel2.rate": -4.8}
    turns = {"turn": "sin(wheel1.angle/2)"}
    run = ns.simulate(system_of("carriage"), duration=40.0, start=given, events=turns)
    assert run.steps < 12 and len(run.event_times["turn"]) == 31
    # the wheels do not accelerate
    np.testing.assert_allclose(run.event_times["turn"], np.arange(1, 32) * 2 * np.pi / 5, rtol=1e-8)


def test_a_narrow_stop_ends_a_run_and_a_trajectory(block):
    stop = {"there": "(s.position - 2)*(s.position - 2.2)"}
    run = ns.simulate(block, duration=10.0, start=START, stop=stop)
    assert run.ended_by == "there" and run.t[-1] == pytest.approx(2.0, rel=1e-12)
    batch = ns.simulate_batch(block, duration=10.0, starts={"s.speed": [1.0, 4.0]}, stop=stop)
    np.testing.assert_allclose(batch.t, [2.0, 0.5], rtol=1e-12)


def test_what_cannot_be_excluded_is_noted(block):
    # it stays near zero all the time, and crosses more often than anyone can look
    events = {"e": "1e-9*sin(1e9*t)*sin(1e8*s.position)"}
    run = ns.simulate(block, duration=10.0, start=START, events=events)
    assert "crossings of event 'e' may have been missed" in run.notes[0]
    assert "max_step" in run.notes[0]
    batch = ns.simulate_batch(block, duration=10.0, starts=START, count=2, events=events)
    assert batch.notes[0].startswith("trajectory 0 and 1 more: crossings of event 'e'")
    assert "note: trajectory 0" in batch.summary()


def test_an_event_that_has_no_value_is_noted(block):
    events = {"e": "sqrt(3 - s.position) - 1"}
    run = ns.simulate(block, duration=10.0, start=START, events=events)
    np.testing.assert_allclose(run.event_times["e"], [2.0], rtol=1e-9)
    assert run.notes[0].startswith("event 'e' has no value (nan) at t = ")
    batch = ns.simulate_batch(block, duration=10.0, starts=START, events=events)
    assert "no value (nan)" in batch.notes[0]


def test_a_value_that_touches_zero_does_not_cross(block):
    run = ns.simulate(block, duration=10.0, start=START, events={"e": "(s.position - 3)^2"})
    assert len(run.event_times["e"]) == 0 and run.notes == ()


def test_values_too_long_to_be_enclosed_are_looked_at_where_they_bend(system_of):
    # a bicycle's lean rate swings with its lean; compared with short steps
    given = {"duration": 5.0, "start": {"speed": 4.6, "frame.wx": 0.5}}
    events = {"rate": "frame.lean_rate", "near": "frame.lean_rate^2 - 1e-4"}
    run = ns.simulate(system_of("whipple-bicycle"), **given, events=events)
    fine = ns.simulate(system_of("whipple-bicycle"), **given, events=events, max_step=0.01)
    for name in events:
        np.testing.assert_allclose(run.event_times[name], fine.event_times[name], atol=1e-6)

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
    # poles are no crossings
    "1/(t - 5) + 1": [4.0],
    "1/(s.position - 5)": [],
    "1/(s.position - pi)^3": [],
    "tan(s.position) - 1": np.pi / 4 + np.pi * np.arange(3),
    "tan(t) - 1": np.pi / 4 + np.pi * np.arange(3),
    "1/sin(s.position)": [],
    "sign(tan(t) - 1)": np.sort(
        [*(np.pi / 4 + np.pi * np.arange(3)), *(np.pi * (np.arange(3) + 0.5))]
    ),
    # values that begin within the run, and zeros beside them
    "log(s.position - 2)": [3.0],
    "log(s.position - 2) - 0.5": [2.0 + np.exp(0.5)],
    "log(s.position - 2)*(s.position - 2.001)": [2.001, 3.0],
    "sqrt(s.position - 2.5) - 1": [3.5],
    "sqrt(s.position - 2.5) - 1e-3": [2.5 + 1e-6],
    "sqrt(s.position^2 - 4) - 1": [np.sqrt(5)],
    "atanh(s.position - 9.5)": [9.5],
    "acosh(s.position) - 1": [np.cosh(1)],
    "(s.position - 3)^0.5 - 1": [4.0],
    "(s.position - 3)^1.5 - 1": [4.0],
    "sqrt(s.position - 20) - 1": [],
    "sqrt(s.position - 20)": [],
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
        start={"s.speed": [1.0, 0.3, 1.0]},
        events={"e": text},
        max_events=max(1, len(expected)),
    )
    assert batch.notes == ()
    for k in (0, 2):
        assert batch.event_counts["e"][k] == len(expected)
        np.testing.assert_allclose(batch.event_times["e"][k][: len(expected)], expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.parametrize("max_step", [1.0, 0.1])
@pytest.mark.parametrize("text", ["tan(s.position) - 1", "log(s.position - 2)", "1/(s.position-5)"])
def test_poles_and_ends_of_domains_at_any_step(block, text, max_step, method):
    zeros = {"t": np.pi / 4 + np.pi * np.arange(3), "l": [3.0], "1": []}[text[0]]
    steps = {"step": max_step / 10} if method == "rk4" else {"max_step": max_step}
    given = {"duration": 10.0, "method": method, **steps}
    run = ns.simulate(block, start=START, events={"e": text}, **given)
    np.testing.assert_allclose(run.event_times["e"], zeros, rtol=1e-7)
    stopped = ns.simulate(block, start=START, stop={"e": text}, **given)
    assert stopped.t[-1] == pytest.approx([*zeros, 10.0][0], rel=1e-7)
    batch = ns.simulate_batch(block, start={"s.speed": [1.0, 2.0]}, stop={"e": text}, **given)
    first = [*zeros, np.inf][0]
    np.testing.assert_allclose(batch.t, [min(first, 10.0), min(first / 2, 10.0)], rtol=1e-7)


def test_no_crossing_is_inferred_across_a_gap(block):
    """Before the gap the value is positive, behind it negative, and zero nowhere."""
    text = "sqrt((s.position - 3)^2 - 1)*sign(3 - s.position) + 0.1*sign(3 - s.position)"
    run = ns.simulate(block, duration=10.0, start=START, events={"e": text})
    assert run.event_times["e"].size == 0
    assert any("has no value (nan)" in note for note in run.notes)
    batch = ns.simulate_batch(block, duration=10.0, start=START, events={"e": text})
    assert batch.event_counts["e"].tolist() == [0]


@pytest.mark.parametrize(("text", "zero"), [("log(x - 2)", 3.0), ("sqrt(x - 2.5) - 1", 3.5)])
def test_an_end_of_a_domain_that_is_not_enclosed_is_noted(block, text, zero):
    # too many operations to be enclosed
    place = "(s.position" + "".join(f" + 1e-12*sin({k}*t)" for k in range(1, 60)) + ")"
    events = {"e": text.replace("x", place), "pole": f"1/({place} - 5.1)"}
    run = ns.simulate(block, duration=10.0, start=START, events=events)
    np.testing.assert_allclose(run.event_times["e"], [zero], rtol=1e-9)
    assert "crossings of event 'e' may have been missed" in run.notes[0]
    assert run.event_times["pole"].size == 0


def test_more_crossings_than_there_is_room_for_in_a_step(block):
    run = ns.simulate(block, duration=1.0, start=START, events={"e": "sin(1e4*t)"})
    expected = np.arange(1, 3184) * np.pi / 1e4
    np.testing.assert_allclose(run.event_times["e"], expected, rtol=1e-12)
    batch = ns.simulate_batch(block, duration=1.0, start=START, events={"e": "sin(1e4*t)"})
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
    batch = ns.simulate_batch(block, duration=10.0, start={"s.speed": [1.0, 4.0]}, stop=stop)
    np.testing.assert_allclose(batch.t, [2.0, 0.5], rtol=1e-12)


def test_what_cannot_be_excluded_is_noted(block):
    # it stays near zero all the time, and crosses more often than anyone can look
    events = {"e": "1e-9*sin(1e9*t)*sin(1e8*s.position)"}
    run = ns.simulate(block, duration=10.0, start=START, events=events)
    assert "crossings of event 'e' may have been missed" in run.notes[0]
    assert "max_step" in run.notes[0]
    batch = ns.simulate_batch(block, duration=10.0, start=START, count=2, events=events)
    assert batch.notes[0].startswith("trajectory 0 and 1 more: crossings of event 'e'")
    assert "note: trajectory 0" in batch.summary()


def test_an_event_that_has_no_value_is_noted(block):
    events = {"e": "sqrt(3 - s.position) - 1"}
    run = ns.simulate(block, duration=10.0, start=START, events=events)
    np.testing.assert_allclose(run.event_times["e"], [2.0], rtol=1e-9)
    assert run.notes[0].startswith("event 'e' has no value (nan) at t = ")
    batch = ns.simulate_batch(block, duration=10.0, start=START, events=events)
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

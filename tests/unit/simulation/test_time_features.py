"""Kinks, jumps and pulses of time alone are found before a run, and no step leaps over them."""

import math

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.simulation import TimeFeatures

t, x, p = ca.SX.sym("t"), ca.SX.sym("x"), ca.SX.sym("p")


def features(expression, value=2.0):
    return TimeFeatures(ca.SX(expression), t, p, x).find(np.array([value]), 0.0, 10.0)


#: Expression → where it bends or jumps.
BREAKS = {
    "switch": (ca.sign(t - 4.3), [4.3]),
    "size": (ca.fabs(ca.sin(p * t)) * x, np.arange(1, 7) * math.pi / 2),
    "stairs": (ca.floor(t * p), np.arange(1, 20) / 2),
    "hat": (ca.fmax(0, 1 - ca.fabs(t - 3) / 1e-3), [2.999, 3.0, 3.001]),
    "choice": (ca.if_else(t < p, x, 3.0), [2.0]),
    "two jumps in a microsecond": (ca.sign(t - 2) - ca.sign(t - 2.000001), [2.0, 2.000001]),
    "of the state": (ca.fabs(x) + ca.fmin(x, t), []),
    "smooth": (ca.sin(100 * t) * ca.exp(-t), []),
}


@pytest.mark.parametrize("name", BREAKS)
def test_breaks_are_found(name):
    expression, expected = BREAKS[name]
    found = features(expression)
    np.testing.assert_allclose(found.breaks, expected, rtol=1e-14)
    assert found.is_complete


def test_a_jump_is_found_to_the_bit():
    (at,) = features(ca.sign(t - 4.3)).breaks
    assert at == 4.3
    assert features(ca.floor(t)).breaks.tolist() == list(range(1, 10))


def test_pulses_are_found_with_their_peaks():
    for pulse in (ca.exp(-(((t - 3.3) / 1e-4) ** 2)) * x, 1 / (1 + ((t - 3.3) / 1e-4) ** 2)):
        begin, peak, end = features(pulse).pulses
        assert begin < peak < end and abs(peak - 3.3) < 1e-4 and end - begin < 0.1
    every_second = features(ca.exp(-((ca.sin(math.pi * t) / 1e-3) ** 2))).pulses
    assert np.all(np.min(np.abs(every_second[:, None] - np.arange(1, 10)), axis=0) < 1e-3)


def test_what_is_everywhere_is_no_pulse():
    for everywhere in (ca.exp(ca.sin(1e3 * t)), ca.exp(-t), ca.exp(-((t - 5) ** 2))):
        assert features(everywhere).pulses.size == 0


def test_too_many_jumps_are_not_all_found():
    assert not features(ca.sign(ca.sin(1e5 * t))).is_complete


#: Push → its integral over ten seconds.
PUSHES = {
    "100*exp(-((t - 3.3)/1e-4)^2)": 1e-2 * math.sqrt(math.pi),
    "100*max(0, 1 - abs(t - 3)/1e-3)": 0.1,
    "1e4*(sign(t - 2) - sign(t - 2.00001))/2": 0.1,
    "sign(t - 4.3) + 1": 11.4,
    "100/(1 + ((t - 4)/1e-3)^2)": 0.1 * (math.atan(6e3) + math.atan(4e3)),
}


@pytest.mark.parametrize("push", PUSHES)
def test_no_step_leaps_over_a_pulse(block, push):
    given = {"duration": 10.0, "inputs": {"push": push}}
    run = ns.simulate(block, **given)
    # the tolerance is 1e-9 in each of a few dozen steps
    assert run["s.speed"][-1] == pytest.approx(PUSHES[push], abs=1e-7)
    batch = ns.simulate_batch(block, count=2, **given)
    np.testing.assert_allclose(batch["s.speed"], PUSHES[push], atol=1e-7)


def test_pulses_of_a_batch_are_each_where_they_are(block):
    batch = ns.simulate_batch(
        block,
        duration=10.0,
        inputs={"push": "100*exp(-((t - at)/1e-4)^2)"},
        definitions={"at": [1.0, 3.3, 7.7]},
    )
    np.testing.assert_allclose(batch["s.speed"], 1e-2 * math.sqrt(math.pi), atol=1e-7)


def test_more_jumps_than_steps_can_end_on_are_noted(block):
    push = {"push": "sign(sin(1e5*t))"}
    run = ns.simulate(block, duration=10.0, inputs=push, max_steps=1000, on_failure="return")
    assert "more kinks or jumps in time" in run.notes[0] and "max_step" in run.notes[0]

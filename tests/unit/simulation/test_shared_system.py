"""One system, asked by many: what it keeps from a run changes nothing in the next, or beside it."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import noslip as ns

START = {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4}

#: Runs that share code in part, each with numbers of its own.
ASKED = [
    {},
    {"inputs": {"torque1": 0.1}},
    {"inputs": {"torque1": -0.2, "torque2": 0.1}, "rtol": 1e-7, "atol": 1e-8},
    {"inputs": {"torque1": "0.1*sin(t)"}},
    {"inputs": {"torque1": "0.1*sin(k*t)"}, "definitions": {"k": "3"}},
    {"inputs": {"torque1": "0.1*sin(k*t)"}, "definitions": {"k": "4"}},
    {"inputs": {"torque1": ns.Table(times=np.array([0.0, 0.4]), values=np.array([0.0, 0.2]))}},
    {"parameters": {"m_platform": 25.0}},
    {"parameters": {"l": 0.5}, "samples": [0.1, 0.5]},
    {"stop": {"there": "platform.x - 0.05"}},
    {"events": {"there": "platform.x - 0.05"}, "stop": {"late": "t - 0.45"}},
    {"method": "rk4", "step": 0.01},
    {"max_step": 0.02, "samples": [0.5]},
    {"step": 1e-3, "reactions": True},
]


def _system():
    return ns.compile(ns.derive(ns.load("agv")))


def _run(system, asked):
    return ns.simulate(system, start=START, **{"duration": 0.5, "samples": 7, **asked})


def _numbers(run):
    parts = [run.t, run.q, run.v, run.vdot, run.inputs, run.work, run.row_residuals]
    parts += [] if run.multipliers is None else [run.multipliers]
    return [*parts, *run.event_times.values(), *run.event_states.values(), run.nfev, run.message]


def _same(found, expected):
    pairs = zip(_numbers(found), _numbers(expected), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


@pytest.fixture(scope="module")
def alone():
    """Every run of a system that nobody asked anything before."""
    equations = ns.derive(ns.load("agv"))
    return [_run(ns.compile(equations), asked) for asked in ASKED]


def test_runs_beside_each_other(alone):
    system = _system()
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(ASKED)), 12)).tolist()
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda k: _run(system, ASKED[k]), order))
    assert all(_same(run, alone[k]) for run, k in zip(runs, order, strict=True))


def test_runs_share_no_memory():
    system = _system()
    one, other = (_run(system, {"reactions": True}) for _ in range(2))
    assert one.parameters is not other.parameters and one.parameters == other.parameters
    assert one.event_times is not other.event_times
    for here in (x for x in _numbers(one) if isinstance(x, np.ndarray)):
        for there in (x for x in _numbers(other) if isinstance(x, np.ndarray)):
            assert not np.shares_memory(here, there)


def test_a_start_may_hold_numbers_of_any_kind():
    """Lists, whole numbers and every second number of an array are numbers, too."""
    system = _system()
    whole = {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "platform.x": 2.0}
    start = ns.complete_start(system, whole)
    asked = {"duration": 0.5, "samples": 7}
    expected = ns.simulate(system, start=start, **asked)
    start_q = start.q.copy()
    for q in (start_q.tolist(), start_q.astype(int), np.repeat(start_q, 2)[::2]):
        assert np.array_equal(q, start.q)
        found = ns.simulate(system, start=dataclasses.replace(start, q=q), **asked)
        assert _same(found, expected)
    times = np.linspace(0.0, 0.5, 13)
    found = ns.simulate(system, start=start, duration=0.5, samples=times[::2])
    assert np.array_equal(found.t, times[::2]) and np.allclose(found.q, expected.q, atol=1e-15)

"""Runs of the native loop on a worker thread: progress, cancelling, Ctrl-C, refused starts."""

import _thread
import itertools
import signal
import threading

import numpy as np
import pytest
from native_runs import native, planned

from noslip import SimulationError
from noslip.simulation import run_workers
from noslip.simulation.loop import rules
from noslip.simulation.native_run import WORKER

# A run that is not stopped would end by itself after this many steps, some ten seconds.
MANY_STEPS = 200_000_000


@native
def oscillator(t, x, u, p, out):
    out[0] = p[0] * x[1]
    out[1] = -p[0] * x[0]


def plan(start_state=(1.0, 0.0), end_time=2.0, **fields):
    fields = {"parameters": np.ones(1), "absolute_tolerance": np.full(2, 1e-10)} | fields
    return planned(oscillator, start_state, end_time, **fields)


def go(made, **watched):
    loop, values = made
    return loop.begin(**values).go(**watched)


def long_plan(**fields):
    return plan(
        end_time=1e6,
        sample_times=np.array([0.0, 1e6]),
        method=rules.RK4,
        step=1e-6,
        max_steps=MANY_STEPS,
        **fields,
    )


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class TestRun:
    def test_progress_rises_to_one(self):
        fractions = []
        made = plan(end_time=8_000.0, method=rules.RK4, step=0.001)
        go(made, progress=fractions.append)
        assert fractions[-1] == 1.0
        assert all(a <= b for a, b in itertools.pairwise(fractions))
        assert 0.0 <= fractions[0]

    def test_failing_progress_ends_the_run(self):
        def fail(fraction):
            raise RuntimeError("no terminal")

        with pytest.raises(RuntimeError, match="no terminal"):
            go(long_plan(), progress=fail)
        for thread in threading.enumerate():
            if thread.name == "noslip native loop":
                thread.join(1.0)
                assert not thread.is_alive()


class TestCancelling:
    def test_another_thread_ends_the_run(self):
        cancel = threading.Event()
        timer = threading.Timer(0.05, cancel.set)
        timer.start()
        result = go(long_plan(), cancel=cancel)
        timer.join()
        assert result.code == rules.CANCELLED
        assert 0.0 < result.time < 1e6
        assert np.array_equal(result.times, [0.0])
        assert result.state == pytest.approx([np.cos(result.time), -np.sin(result.time)], abs=1e-6)

    @pytest.mark.usefixtures("ctrl_c")
    def test_interrupt_while_waiting_is_raised_when_the_loop_has_ended(self):
        timer = threading.Timer(0.05, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            go(long_plan())
        timer.join()

    def test_cancelled_run_can_be_continued(self):
        cancel = threading.Event()
        cancel.set()
        first = go(plan(), cancel=cancel)
        second = go(plan(start_time=first.time, start_state=first.state, step=first.step))
        assert np.array_equal(second.state, go(plan()).state)


class TestChecks:
    @pytest.mark.parametrize(
        ("fields", "what"),
        [
            ({"start_state": []}, "empty or not finite"),
            ({"start_state": [1.0, np.nan]}, "empty or not finite"),
            ({"end_time": -1.0}, "t = 0.0 to -1.0"),
            ({"end_time": np.inf}, "t = 0.0 to inf"),
        ],
    )
    def test_start_and_end_that_no_run_has(self, fields, what):
        with pytest.raises(SimulationError, match=what) as caught:
            go(plan(**fields))
        assert caught.value.fix


def workers_alive():
    return [thread for thread in threading.enumerate() if thread.name == WORKER]


class TestWorkers:
    """Workers write into arrays of their caller: none may run on when the caller goes on."""

    @pytest.fixture
    def alarm(self):
        """`alarm(s)`: whatever runs then is interrupted, as by Ctrl-C."""

        def ring(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, ring)
        yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    def test_all_are_over_whenever_an_interrupt_comes(self, alarm, rng):
        inside = set()
        interrupted = 0
        for _ in range(150):
            is_ended = threading.Event()

            def work(k, is_ended=is_ended):
                inside.add(k)
                is_ended.wait(0.003)
                inside.discard(k)

            try:
                alarm(rng.uniform(1e-5, 3e-3))
                run_workers(work, 3, stop=is_ended.set)
                alarm(0)
            except KeyboardInterrupt:
                interrupted += 1
            assert not inside
        assert interrupted > 50

    def test_further_interrupts_leave_none_behind(self, alarm):
        inside, has_begun = [], threading.Event()

        def work(k):
            inside.append(k)
            has_begun.set()
            threading.Event().wait(0.15)
            inside.remove(k)

        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        with pytest.raises(KeyboardInterrupt):
            run_workers(work, 2, stop=lambda: None)
        alarm(0)
        assert has_begun.is_set() and not inside

    def test_one_that_hangs_is_left_by_the_second_interrupt(self, alarm):
        is_ended = threading.Event()
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with pytest.raises(KeyboardInterrupt):
            run_workers(lambda _: is_ended.wait(), 1, stop=lambda: None, may_hang=True)
        alarm(0)
        assert workers_alive()
        is_ended.set()

    @pytest.mark.parametrize("which", [0, 2])
    def test_a_failure_stops_the_others_and_is_raised(self, which):
        is_ended = threading.Event()

        def work(k):
            if k == which:
                raise ZeroDivisionError
            assert is_ended.wait(10)

        with pytest.raises(ZeroDivisionError):
            run_workers(work, 3, stop=is_ended.set)

    def test_a_thread_that_cannot_start_ends_those_before(self, monkeypatch):
        is_ended, inside, start, calls = threading.Event(), [], threading.Thread.start, []

        def starts(thread):
            calls.append(thread)
            if len(calls) == 3:
                raise RuntimeError("can't start new thread")
            start(thread)

        def work(k):
            inside.append(k)
            assert is_ended.wait(10)
            inside.remove(k)

        monkeypatch.setattr(threading.Thread, "start", starts)
        with pytest.raises(RuntimeError):
            run_workers(work, 4, stop=is_ended.set)
        assert not inside

    def test_no_other_module_of_these_stages_starts_threads(self):
        import re
        from pathlib import Path

        import noslip

        source = Path(noslip.__file__).parent
        found = {
            path.relative_to(source).as_posix()
            for path in source.rglob("*.py")
            if re.search(r"\bThread\(|start_new_thread|ThreadPool", path.read_text())
        }
        allowed = {
            "simulation/batches/batch_request.py": "awaits all in its `with`",
            "cli/console.py": "hears Ctrl-C",
            "interrupts.py": "repeats Ctrl-C",
        }
        own = {path for path in found if not path.startswith("studio/")}
        assert own - {"simulation/native_run.py"} <= set(allowed)

"""The progress bar: what it shows on a terminal, and that it is quiet elsewhere."""

import io
import sys
import time

import pytest

import noslip as ns
from noslip.base import progress as module


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Call it to make standard error a terminal, for a bar without its delay."""

    def begin():
        # not before the test itself: pytest exchanges the stream between fixtures and test
        shown = Terminal()
        monkeypatch.setattr(sys, "stderr", shown)
        monkeypatch.setattr(module, "DELAY", 0.0)
        monkeypatch.setenv("TERM", "xterm")
        return shown

    return begin


def shown_bar(bar):
    """Wait for the thread that draws."""
    deadline = time.monotonic() + 20.0
    while bar._bar is None and time.monotonic() < deadline:
        time.sleep(0.01)
    (task,) = bar._bar._bar.tasks
    return task


def test_fractions_words_and_states_with_a_text(terminal):
    shown = terminal()
    with ns.ProgressBar("simulating") as bar:
        assert shown_bar(bar).total is None
        bar(0.25)
        task = shown_bar(bar)
        assert (task.description, task.total, task.completed) == ("simulating", 1.0, 0.25)
        bar("drawing")
        assert (shown_bar(bar).description, shown_bar(bar).total) == ("drawing", None)
        state = ns.results.SweepProgress(
            points=3, total=4, failed=0, chunks=1, total_chunks=2, elapsed=1.0, rate=3.0
        )
        bar(state)
        assert (shown_bar(bar).description, shown_bar(bar).completed) == (state.text(), 0.75)
    assert bar._bar is None
    assert "preparing" in shown.getvalue()


def test_a_batch_and_a_run_move_it(terminal, system_of):
    system, heard = system_of("rolling-disk"), []
    terminal()
    with ns.ProgressBar() as bar:

        def both(fraction):
            heard.append(fraction)
            bar(fraction)

        ns.simulate_batch(system, duration=0.2, start={"disk.tilt": [1.2] * 9}, progress=both)
        assert heard and shown_bar(bar).completed == heard[-1]
        ns.simulate(system, duration=0.2, start={"disk.tilt": 1.2}, progress=both)
        assert heard[-1] == 1.0 == shown_bar(bar).completed


def test_verify_tells_how_far_it_is():
    heard = []
    ns.verify(ns.load("chaplygin-sleigh"), states=1, progress=heard.append)
    assert heard == sorted(heard) and heard[-1] == 1.0 and len(heard) == len(set(heard)) == 14


def test_it_is_quiet_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with ns.ProgressBar() as bar:
        assert not bar._timer.is_alive()
        bar(0.5)
    assert sys.stderr.getvalue() == ""


def test_outside_its_block_it_says_how_it_is_used():
    bar = ns.ProgressBar()
    with pytest.raises(ns.SimulationError, match="outside its with block") as error:
        bar(0.5)
    assert "with ns.ProgressBar() as bar" in error.value.fix


def test_without_rich_it_is_a_plain_line(terminal, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    shown = terminal()
    with ns.ProgressBar("simulating") as bar:
        deadline = time.monotonic() + 20.0
        while not shown.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        bar._bar._drawn = 0.0
        bar(0.25)
        bar("drawing")
    assert shown.getvalue() == ("\rpreparing\rsimulating  25%\rdrawing        \r       \r")

"""Runner of the native loop: one run with progress, cancellation and Ctrl-C.

An ``IntegrationPlan`` holds the arrays and addresses that the loop needs. ``run_native`` lays it
out in memory, runs the loop without the GIL, and returns a ``NativeResult``. A run begins on the
calling thread; if it is not over after a few steps, it continues in a worker thread while the
calling one polls. Ctrl-C ends the loop and raises KeyboardInterrupt; a run that was cancelled
returns what it has computed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noslip.simulation import rules
from noslip.simulation.memory import Memory
from noslip.simulation.plan import IntegrationPlan

POLL_INTERVAL = 0.02  # s between checks of the cancel request
PROGRESS_INTERVAL = 0.2  # s between calls of progress

Array = np.ndarray


class CancelRequest(Protocol):
    """Flag that another thread sets to end a run early; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether the run shall end."""


@dataclass(slots=True, eq=False)
class NativeResult:
    """Result of one native run.

    Parameters
    ----------
    code : why it ended, one of the endings in ``rules``.
    index : which event or health value ended it, or −1.
    steps, rejections, evaluations : how many steps were taken and tried in vain, and how often the
        rates were evaluated.
    time, step, state : where it ended, and the step size to continue with.
    times, states, inputs : (n,), (n, ny), (n, nu) the samples reached; the last is the event, if
        one ended the run.
    crossings : (k, 2 + ny) event, time and state of the events that did not end the run.
    """

    code: int
    index: int
    steps: int
    rejections: int
    evaluations: int
    time: float
    step: float
    state: Array
    times: Array
    states: Array
    inputs: Array
    crossings: Array


def run_native(
    plan: IntegrationPlan,
    *,
    progress: Callable[[float], object] | None = None,
    cancel: CancelRequest | None = None,
) -> NativeResult:
    """Samples and the end state of one run, which another thread may cut short.

    Parameters
    ----------
    plan : IntegrationPlan
        What to integrate. Its functions must stay loaded until this returns.
    progress : callable, optional
        Called from this thread a few times per second with the fraction of time covered, and once
        at the end.
    cancel : CancelRequest, optional
        Checked every 0.02 s; once it is set, the run ends with ``rules.CANCELLED``.
    """
    return run_memory(Memory.of(plan), plan.start_time, plan.end_time, progress, cancel)


def run_memory(
    memory: Memory,
    start_time: float,
    end_time: float,
    progress: Callable[[float], object] | None = None,
    cancel: CancelRequest | None = None,
) -> NativeResult:
    """Run a memory that is laid out already, from a time to another, s; see `run_native`."""

    def fraction() -> float:
        """Fraction of the time covered."""
        span = end_time - start_time
        return float((memory.status[1] - start_time) / span) if span > 0.0 else 1.0

    if cancel is not None and cancel.is_set():
        memory.status[0] = 1.0
    if memory.template.begins_here and memory.integrate() != rules.PAUSED:
        if progress is not None:
            progress(fraction())
    else:
        report = None if progress is None else lambda: progress(fraction())
        _work(memory, report, cancel)
    return result_of(memory)


def result_of(memory: Memory) -> NativeResult:
    """Result of a run, as views of its memory."""
    code, index, steps, rejections, evaluations, filled = memory.outcome()
    times, states, inputs = memory.samples(filled)
    return NativeResult(
        code,
        index,
        steps,
        rejections,
        evaluations,
        memory.time,
        memory.step,
        memory.state,
        times,
        states,
        inputs,
        memory.noted(),
    )


def _work(
    memory: Memory,
    report: Callable[[], object] | None,
    cancel: CancelRequest | None,
) -> None:
    """Run the loop to its end on a thread of its own."""
    failures: list[BaseException] = []
    done = threading.Event()
    memory.run_on()

    def work() -> None:
        try:
            memory.integrate()
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="noslip native loop", daemon=True).start()
        watch(done.wait, memory.status, report, cancel)
    except BaseException:
        memory.status[0] = 1.0
        raise
    if failures:
        raise failures[0]


def watch(
    wait: Callable[[float | None], bool],
    status: Array,
    report: Callable[[], object] | None,
    cancel: CancelRequest | None,
) -> None:
    """Wait for workers, and pass requests and progress on.

    Parameters
    ----------
    wait : for so many seconds, or until all workers have ended; whether they have. It waits for an
        event or semaphore: in Python 3.11 a thread whose ``join`` is interrupted counts as ended
        although it still runs.
    status : of the loop; its first entry ends it after its step.
    report : called a few times a second, and at the end.
    cancel : ends the loop once it is set.
    """
    reported = time.monotonic()
    try:
        while not wait(POLL_INTERVAL):
            if cancel is not None and cancel.is_set():
                status[0] = 1
            if report is not None and time.monotonic() - reported >= PROGRESS_INTERVAL:
                report()
                reported = time.monotonic()
        if report is not None:
            report()
    except BaseException:
        # Ctrl-C too: the loop writes into memory that is ours, and ends after its step
        status[0] = 1
        while not wait(None):
            pass
        raise

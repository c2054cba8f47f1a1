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
WORKER = "noslip worker"  # name of threads

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
    memory.run_on()

    def work(_: int) -> None:
        memory.integrate()

    def stop() -> None:
        memory.status[0] = 1.0

    # a Python callable that hangs must not hold the second Ctrl-C, too
    run_workers(
        work, 1, stop=stop, report=report, cancel=cancel, may_hang=not memory.template.begins_here
    )


class _Crew:
    """Where workers are. Each attribute is set in one operation, which no Ctrl-C divides."""

    has_begun = shall_end = is_over = False


def run_workers(
    work: Callable[[int], None],
    count: int,
    *,
    stop: Callable[[], object],
    report: Callable[[], object] | None = None,
    cancel: CancelRequest | None = None,
    may_hang: bool = False,
) -> None:
    """Run work(0), …, work(count − 1) on threads. None of them runs any more when this ends.

    Workers write into memory that their caller frees once this returns or raises. Python raises
    KeyboardInterrupt, and what other handlers of signals raise, in the main thread alone, and
    anywhere in it. So the first worker starts and awaits the others, and the calling thread does
    nothing but wait for the first one.

    Parameters
    ----------
    work : by number; keeps what it writes into.
    count : of workers.
    stop : makes work end soon; called at Ctrl-C, at a failure and on request.
    report : called a few times a second, and at the end.
    cancel : checked every 0.02 s; once it is set, `stop` is called.
    may_hang : work may call functions of others that do not return; a second Ctrl-C leaves it.

    Raises
    ------
    KeyboardInterrupt, and whatever `report` or a worker raises, after all workers have ended.
    """
    crew, failures = _Crew(), list[BaseException]()
    # in Python 3.11 a thread whose `join` is interrupted counts as ended although it still runs
    bell = threading.Lock()
    bell.acquire()

    def one(k: int) -> None:
        try:
            work(k)
        except BaseException as error:
            failures.append(error)
            stop()

    def lead() -> None:
        crew.has_begun = True
        others = list[threading.Thread]()
        try:
            if not crew.shall_end:
                for k in range(1, count):
                    if crew.shall_end:
                        break
                    other = threading.Thread(target=one, args=(k,), name=WORKER, daemon=True)
                    other.start()
                    others.append(other)
                one(0)
        except BaseException as error:
            failures.append(error)
            stop()
        finally:
            for other in others:
                other.join()
            crew.is_over = True
            bell.release()

    try:
        threading.Thread(target=lead, name=WORKER, daemon=True).start()
        reported = time.monotonic()
        while not crew.is_over:
            bell.acquire(timeout=POLL_INTERVAL)
            if cancel is not None and cancel.is_set():
                stop()
            if report is not None and time.monotonic() - reported >= PROGRESS_INTERVAL:
                report()
                reported = time.monotonic()
        if report is not None:
            report()
    except BaseException:
        crew.shall_end = True
        _outlast(crew, bell, stop, may_hang)
        raise
    if failures:
        raise failures[0]


def _outlast(crew: _Crew, bell: threading.Lock, stop: Callable[[], object], may_hang: bool) -> None:
    """Wait for the end of workers, whatever interrupts that."""
    while True:
        try:
            stop()
            # one that has not begun sees first that it shall not
            while crew.has_begun and not crew.is_over:
                bell.acquire(timeout=POLL_INTERVAL)
            return
        except BaseException:
            if may_hang:
                raise

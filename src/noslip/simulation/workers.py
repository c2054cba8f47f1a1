"""Workers: threads that run native code, with progress, cancellation and Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

POLL_INTERVAL = 0.02  # s between checks of the cancel request
PROGRESS_INTERVAL = 0.2  # s between calls of progress
WORKER = "noslip worker"  # name of threads


class CancelRequest(Protocol):
    """Flag that another thread sets to end a run early; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether the run shall end."""


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

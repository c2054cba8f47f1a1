"""Many trajectories on several threads: workers of the batch loop, and their watch.

``run_lanes`` starts the workers, each on a thread of its own without the GIL, and looks on until
they are done or shall end early.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from noslip.simulation.batches.arrays import UNSETTLED, Array, LanePlan, LaneResults
from noslip.simulation.batches.memory import Shared
from noslip.simulation.runner import POLL_INTERVAL, PROGRESS_INTERVAL, CancelRequest


def run_lanes(
    plan: LanePlan,
    results: LaneResults,
    *,
    threads: int,
    progress: Callable[[int], object] | None = None,
    cancel: CancelRequest | None = None,
) -> bool:
    """Integrate the trajectories of the queue into the results; whether it was ended early.

    Parameters
    ----------
    plan : what to integrate.
    results : where to leave it.
    threads : workers.
    progress : called from this thread a few times per second with the number of trajectories done.
    cancel : once it is set, trajectories end with ``rules.CANCELLED`` where they are.
    """
    shared = Shared(plan, results)
    count = max(1, min(threads, -(-len(plan.queue) // plan.lanes)))
    failures: list[BaseException] = []
    done = threading.Semaphore(0)

    def work() -> None:
        try:
            shared.work()
        except BaseException as error:
            failures.append(error)
        finally:
            done.release()

    began: list[threading.Thread] = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=work, name="noslip batch worker", daemon=True)
            thread.start()
            began.append(thread)
        is_interrupted = _watch(done, len(began), results, shared.status, progress, cancel)
    except BaseException:
        shared.status[0] = 1
        raise
    if failures:
        raise failures[0]
    return is_interrupted or bool(shared.status[0])


def _watch(
    done: threading.Semaphore,
    count: int,
    results: LaneResults,
    status: Array,
    progress: Callable[[int], object] | None,
    cancel: CancelRequest | None,
) -> bool:
    """Wait for all workers, pass requests and progress on; whether Ctrl-C was pressed."""
    left, reported = count, time.monotonic()

    def report() -> None:
        if progress is not None:
            progress(int(np.count_nonzero(results.codes != UNSETTLED)))

    try:
        while left:
            if done.acquire(timeout=POLL_INTERVAL):
                left -= 1
            if cancel is not None and cancel.is_set():
                status[0] = 1
            if time.monotonic() - reported >= PROGRESS_INTERVAL:
                report()
                reported = time.monotonic()
        report()
    except BaseException as error:
        # the workers write into memory that is ours: wait until they have ended
        status[0] = 1
        for _ in range(left):
            done.acquire()
        if isinstance(error, KeyboardInterrupt):
            return True
        raise
    return False

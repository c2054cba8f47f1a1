"""The worker of the studio: the newest request wins, and nothing is queued."""

import threading
import time

from noslip.studio.session import Superseded, Worker


class Slow:
    """Work that lasts until it is told to go on, unless it is cancelled."""

    def __init__(self):
        self.started, self.done, self.given_up, self.failed = [], [], [], []
        self.may_end = threading.Event()
        self.worker = Worker(self.work, self.failed.append)

    def work(self, request, cancel):
        self.started.append(request)
        if request == "bad":
            raise ValueError("no")
        while not self.may_end.is_set():
            try:
                cancel.wait(0.005)
            except Superseded:
                self.given_up.append(request)
                raise
        self.done.append(request)


def test_the_newest_request_wins_and_none_is_queued():
    slow = Slow()
    slow.worker.submit(0)
    while not slow.started:
        time.sleep(0.001)
    for k in range(1, 50):
        slow.worker.submit(k)
    while slow.started[-1] != 49:
        time.sleep(0.001)
    slow.may_end.set()
    assert slow.worker.join(5.0)
    # what ran was cancelled, what waited was replaced, and only the last one came to its end
    assert slow.done == [49]
    assert slow.given_up == slow.started[:-1]
    assert slow.started == sorted(slow.started)
    slow.worker.close()


def test_a_failure_is_told_and_the_worker_goes_on():
    slow = Slow()
    slow.may_end.set()
    slow.worker.submit("bad")
    assert slow.worker.join(5.0)
    slow.worker.submit("good")
    assert slow.worker.join(5.0)
    assert [str(error) for error in slow.failed] == ["no"]
    assert slow.done == ["good"]
    slow.worker.close()


def test_closing_gives_up_what_runs_and_takes_nothing_more():
    slow = Slow()
    slow.worker.submit("long")
    while not slow.started:
        time.sleep(0.001)
    slow.worker.close()
    slow.worker.submit("late")
    assert slow.worker.join(5.0)
    assert slow.given_up == ["long"]
    assert slow.started == ["long"]
    assert slow.worker.join(0.0)

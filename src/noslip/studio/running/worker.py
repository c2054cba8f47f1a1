"""`Worker`: one thread that always works on the newest request and never queues older ones.

The mailbox has a single slot. A new request takes the place of one that waits, and asks the one
that runs to stop; so what comes out last is what was asked for last, however fast one asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Request = TypeVar("Request")


class Superseded(Exception):
    """The work was cancelled because of a newer request."""


class Cancel:
    """Cancellation flag of one piece of work."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Request cancellation."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether cancellation was requested."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Superseded` if cancellation was requested."""
        if self._event.is_set():
            raise Superseded

    def wait(self, seconds: float) -> None:
        """Wait, and raise `Superseded` as soon as cancellation is requested."""
        if self._event.wait(seconds):
            raise Superseded


class Worker(Generic[Request]):
    """Runs `work(request, cancel)` for the newest request, on a thread of its own.

    Parameters
    ----------
    work : does it; may raise `Superseded`. Any other exception goes to `failed`.
    failed : called with an exception; the worker goes on.
    name : of the thread.
    """

    def __init__(
        self,
        work: Callable[[Request, Cancel], None],
        failed: Callable[[Exception], None],
        name: str = "noslip studio worker",
    ) -> None:
        self._work, self._failed = work, failed
        self._condition = threading.Condition()
        self._waiting: tuple[Request, Cancel] | None = None
        self._running: Cancel | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> None:
        """Submit a request; it replaces any earlier one."""
        with self._condition:
            if self._closed:
                return
            if self._running is not None:
                self._running.set()
            self._waiting = (request, Cancel())
            self._condition.notify_all()

    def cancel(self) -> None:
        """Cancel the running and the waiting request."""
        with self._condition:
            self._waiting = None
            if self._running is not None:
                self._running.set()

    def close(self) -> None:
        """Cancel everything and end the thread."""
        self.cancel()
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def join(self, seconds: float) -> bool:
        """Wait until nothing runs or waits; False if that takes longer than the time."""
        with self._condition:
            return self._condition.wait_for(
                lambda: self._waiting is None and self._running is None, seconds
            )

    def _loop(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._waiting is not None or self._closed)
                if self._waiting is None:
                    return
                request, cancel = self._waiting
                self._waiting, self._running = None, cancel
            try:
                cancel.check()
                self._work(request, cancel)
            except Superseded:
                pass
            except Exception as error:
                self._failed(error)
            with self._condition:
                self._running = None
                self._condition.notify_all()

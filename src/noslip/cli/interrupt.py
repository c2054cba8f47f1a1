"""Ctrl-C ends a command within a second, wherever it is, with exit code 130.

A KeyboardInterrupt alone does not do that, for three reasons:

1. Raised in a callback (CasADi's conversions of arguments, a finalizer, ctypes) it is dropped. So
   it is raised again until it gets through; not while one is on its way, which would end the
   clean-up in its `finally` clauses.
2. A library may turn it into an exception of its own. So whatever ends a command after Ctrl-C is
   taken for the interruption.
3. A library may not return for a long time. So a thread waits that the signal itself wakes. If the
   command has not ended after a grace period, it removes temporary files and ends the process.

A simulation is cancelled instead (`cancelling`), and what it has computed is written if that takes
no longer than the grace period.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from noslip.base import is_within_casadi, repeat

EXIT_CODE = 130
#: s that a command has to end by itself, and s between two attempts to raise KeyboardInterrupt.
GRACE, RETRY = 0.6, 0.02


class Interruption:
    """Whether Ctrl-C was pressed, and what happens then.

    Attributes
    ----------
    requested : set by Ctrl-C.
    is_deferred : nothing is raised; whoever sees `requested` ends by himself.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.is_deferred = False
        self._ear: socket.socket | None = None

    def install(self) -> None:
        """Take over Ctrl-C for the rest of this process, where Python's own handler has it."""
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        self._ear, mouth = socket.socketpair()
        mouth.setblocking(False)
        signal.set_wakeup_fd(mouth.detach(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._handle)
        sys.unraisablehook = self._tell_unraisable
        threading.Thread(target=self._watch, name="noslip interrupt", daemon=True).start()

    def release(self) -> None:
        """Leave Ctrl-C to a command with a handler of its own."""
        signal.set_wakeup_fd(-1)

    def leave(self) -> None:
        """End the process if Ctrl-C was pressed and this is its command line.

        Not by an exception: once a KeyboardInterrupt has passed through code that is made from
        text, as in the making of a data class, CPython ends itself by the signal whatever the code.
        """
        if self._ear is not None and self.requested.is_set():
            self.is_deferred = True
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            self._end(b"")

    @staticmethod
    def _end(last_words: bytes) -> None:
        # modules that were never imported have nothing to remove
        atomic = sys.modules.get("noslip.base.atomic")
        if atomic is not None:
            atomic.remove_own()
        os.write(2, last_words)
        os._exit(EXIT_CODE)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested.set()
        if not (self.is_deferred or _is_passing() or is_within_casadi(frame)):
            raise KeyboardInterrupt

    def _watch(self) -> None:
        assert self._ear is not None
        while signal.SIGINT not in self._ear.recv(256):
            pass
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            time.sleep(RETRY)
            if not self.is_deferred:
                repeat()
        self._end(b"\nAborted!\n")

    @staticmethod
    def _tell_unraisable(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)


INTERRUPTION = Interruption()


@contextmanager
def cancelling() -> Iterator[threading.Event]:
    """Ctrl-C sets the event here and raises nothing; from then on the command ends by itself."""
    INTERRUPTION.is_deferred = True
    try:
        yield INTERRUPTION.requested
    finally:
        INTERRUPTION.is_deferred = INTERRUPTION.requested.is_set()


def _is_passing() -> bool:
    """Whether a KeyboardInterrupt is on its way up, through clean-up that must not be cut short."""
    error = sys.exception()
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False

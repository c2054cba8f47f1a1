"""Ctrl-C where Python's own handling loses it.

CasADi's bindings call back into Python to convert their arguments, and drop what is raised there,
or take it for a wrong type. A KeyboardInterrupt at such a moment would be lost, and the caller's
loop run on; so it waits until CasADi has returned.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without `signal`'s enumerations, 10 µs a call
import _thread
import functools
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

_SIGINT = int(signal.SIGINT)
#: s until the next attempt.
RETRY = 0.005


def interruptible(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, out of which Ctrl-C gets at the latest when it returns.

    Only on the main thread, and where nobody else has taken over Ctrl-C.
    """

    @functools.wraps(function)
    def guarded(*arguments: Given.args, **options: Given.kwargs) -> Result:
        usual = signal.default_int_handler
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or _signal.getsignal(_SIGINT) is not usual:
            return function(*arguments, **options)
        pending = _Pending()
        _signal.signal(_SIGINT, pending.handle)
        try:
            return function(*arguments, **options)
        except KeyboardInterrupt:
            pending.is_set = False
            raise
        finally:
            # where it was dropped, the result or the other exception that came of it does not count
            _signal.signal(_SIGINT, usual)
            pending.end()

    return guarded


class _Pending:
    """A Ctrl-C that has not reached the caller yet."""

    def __init__(self) -> None:
        self.is_set = False
        self._timer: threading.Timer | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, or try again later."""
        self.is_set = True
        if not is_within_casadi(frame):
            raise KeyboardInterrupt
        self._timer = threading.Timer(RETRY, repeat)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Stop retrying, and raise the deferred interrupt."""
        if self._timer is not None:
            self._timer.cancel()
        if self.is_set:
            raise KeyboardInterrupt


def repeat() -> None:
    """Press Ctrl-C again; the main thread wakes up where it waits, as far as the system can."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def is_within_casadi(frame: FrameType | None) -> bool:
    """Whether what runs was called by CasADi or is part of it."""
    while frame is not None:
        if frame.f_code.co_filename.endswith("casadi.py"):
            return True
        frame = frame.f_back
    return False

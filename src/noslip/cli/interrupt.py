"""Ctrl-C ends a command wherever it is, also within CasADi.

CasADi's bindings call back into Python to convert their arguments, and drop what is raised there: a
KeyboardInterrupt at that moment would be lost and the command run on. So it waits until that is
over. Two frames of CasADi on top of each other mark such a moment; what is raised within one
alone passes through.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: s until the next attempt.
_RETRY = 0.002


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt here, but never within CasADi."""
    waiting: list[threading.Timer] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if not (_is_casadi(frame) and frame and _is_casadi(frame.f_back)):
            signal.default_int_handler(number, frame)
        waiting[:] = [threading.Timer(_RETRY, _thread.interrupt_main)]
        waiting[0].daemon = True
        waiting[0].start()

    usual = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or usual is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        for timer in waiting:
            timer.cancel()


def _is_casadi(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename.endswith("casadi.py")

"""Long computations: their progress on the terminal, and Ctrl-C.

**Ctrl-C where Python's own handling loses it.**

CasADi's bindings call back into Python to convert their arguments, and drop what is raised there,
or take it for a wrong type. A KeyboardInterrupt at such a moment would be lost, and the caller's
loop run on; so it waits until CasADi has returned.

**`ProgressBar`: progress bar on the terminal, for every argument `progress`.**

It is drawn by rich where that is installed, else as a plain line.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without `signal`'s enumerations, 10 µs a call
import _thread
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, Protocol, TypeVar

from noslip.base.errors import SimulationError, is_installed

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


#: s until a bar appears; what is over by then shows none.
DELAY = 1.0


class ProgressState(Protocol):
    """Progress with a text of its own, as a ``SweepProgress``."""

    @property
    def fraction(self) -> float:
        """Part of the work that is done, 0 to 1."""

    def text(self) -> str:
        """One line."""


class ProgressBar:
    """Progress bar on standard error, for the argument `progress` of any function.

    ::

        with ns.ProgressBar() as bar:
            batch = ns.simulate_batch(system, duration=10.0, count=100_000, progress=bar)

    It appears after a second, with the time left, and vanishes at the end of the block. Nothing is
    shown where standard error is neither a terminal nor a notebook. The `label` stands beside it.
    """

    def __init__(self, label: str = "simulating") -> None:
        self._label = label
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._state: float | str | ProgressState = "preparing"
        self._bar: _RichBar | _PlainBar | None = None

    def __enter__(self) -> ProgressBar:
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            self._timer.start()
        return self

    def __call__(self, state: float | str | ProgressState) -> None:
        """Show the fraction done, a word where there is no fraction, or a state with its text."""
        if self._timer is None:
            raise SimulationError(
                "a progress bar is used outside its with block",
                "ProgressBar",
                "write: with ns.ProgressBar() as bar, and pass progress=bar within the block",
            )
        with self._lock:
            self._state = state
            self._draw()

    def _show(self) -> None:
        with self._lock:
            if self._timer is None:
                return  # the block ended meanwhile
            self._bar = _RichBar() if is_installed("rich") else _PlainBar()
            self._draw()

    def _draw(self) -> None:
        if self._bar is None:
            return
        state = self._state
        if isinstance(state, str):
            self._bar.draw(state, None)
        elif isinstance(state, float | int):
            self._bar.draw(self._label, float(state))
        else:
            self._bar.draw(state.text(), state.fraction)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
            self._bar = None


class _RichBar:
    """Bar with the time left; it pulses where the fraction is not known."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self._bar: Any = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task: Any = self._bar.add_task("", total=None)
        self._bar.start()

    def draw(self, text: str, fraction: float | None) -> None:
        """Show a text and the fraction done, if it is known."""
        if fraction is None:  # a task that has had a total cannot pulse
            self._bar.remove_task(self._task)
            self._task = self._bar.add_task(text, total=None)
        else:
            self._bar.update(self._task, description=text, total=1.0, completed=fraction)

    def stop(self) -> None:
        """Take it off the terminal."""
        self._bar.stop()


class _PlainBar:
    """One line with text and percentage, written anew a few times per second."""

    INTERVAL = 0.2  # s

    def __init__(self) -> None:
        self._text, self._drawn = "", 0.0

    def draw(self, text: str, fraction: float | None) -> None:
        """Show a text and the fraction done, if it is known."""
        now = time.monotonic()
        if now - self._drawn < self.INTERVAL and fraction is not None:
            return
        shown = text if fraction is None else f"{text} {fraction:4.0%}"
        self._write("\r" + shown.ljust(len(self._text)))
        self._text, self._drawn = shown, now

    def stop(self) -> None:
        """Take it off the terminal."""
        self._write("\r" + " " * len(self._text) + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

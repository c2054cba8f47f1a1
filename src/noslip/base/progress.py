"""`ProgressBar`: progress bar on the terminal, for every argument `progress`.

It is drawn by rich where that is installed, else as a plain line.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Protocol

from noslip.base.errors import SimulationError
from noslip.base.extras import is_installed

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

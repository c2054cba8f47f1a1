"""`ProgressBar`: progress bar on the terminal, for every argument `progress`."""

from __future__ import annotations

import sys
import threading
from typing import Any, Protocol

from noslip.errors import SimulationError

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
    """Progress bar on standard error, drawn by rich, for the argument `progress` of any function.

    ::

        with ns.ProgressBar() as bar:
            batch = ns.simulate_batch(system, duration=10.0, count=100_000, progress=bar)

    It appears after a second, with the time left, and vanishes at the end of the block. Nothing is
    shown where standard error is neither a terminal nor a notebook.

    Parameters
    ----------
    label : shown beside the bar.
    """

    def __init__(self, label: str = "simulating") -> None:
        self._label = label
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._state: float | str | ProgressState = "preparing"
        self._bar: Any = None
        self._task: Any = None

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
                "a progress bar is called outside its block",
                "ProgressBar",
                "write: with ns.ProgressBar() as bar, and pass progress=bar within the block",
            )
        with self._lock:
            self._state = state
            self._draw()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._timer is None:
                return  # the block ended meanwhile
            columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=None)
            self._draw()
            self._bar.start()

    def _draw(self) -> None:
        if self._bar is None:
            return
        state = self._state
        if isinstance(state, str):  # a pulsing bar, begun anew
            self._bar.remove_task(self._task)
            self._task = self._bar.add_task(state, total=None)
            return
        done, text = (
            (float(state), self._label)
            if isinstance(state, float | int)
            else (state.fraction, state.text())
        )
        self._bar.update(self._task, description=text, total=1.0, completed=done)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
            self._bar = None

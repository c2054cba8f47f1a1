"""Progress bar on the terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


class Progress:
    """Progress bar that appears after a second, compilation included."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.timer = threading.Timer(1.0, self._show)
        self.timer.daemon = True
        self.bar: Any = None
        self.task: Any = None
        self.word = "preparing"

    def __enter__(self) -> Callable[[float], None]:
        if sys.stderr.isatty():
            self.timer.start()
        return self.update

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with self.lock:
            self.bar = Bar(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.word, total=None)
            self.bar.start()

    def update(self, fraction: float) -> None:
        with self.lock:
            if self.bar is not None:
                self.bar.update(self.task, description="simulating", total=1.0, completed=fraction)

    def tell(self, word: str) -> None:
        """Show a status text, where there is no fraction."""
        with self.lock:
            self.word = word
            if self.bar is not None:
                self.bar.remove_task(self.task)
                self.task = self.bar.add_task(word, total=None)

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        with self.lock:
            if self.bar is not None:
                self.bar.stop()

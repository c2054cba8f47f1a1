"""`Disposal`: parts of a page that are no longer wanted.

A browser applies all updates that came since its last picture after all removals. What was updated
a moment ago must therefore not be removed at once: it is hidden first and removed later.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

#: Seconds between hiding and removing, longer than any browser is late.
DELAY = 60.0


class Disposal:
    """Hidden handles, each with the time from which it may be removed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hidden: list[tuple[float, Any]] = []

    def discard(self, *handles: Any) -> None:
        """Hide handles now and remove them later."""
        with self._lock:
            for handle in handles:
                if handle is not None:
                    handle.visible = False
                    self._hidden.append((time.monotonic() + DELAY, handle))

    def remove_due(self, now: float) -> None:
        """Remove what has been hidden for long enough."""
        with self._lock:
            due = [handle for at, handle in self._hidden if at <= now]
            self._hidden = [(at, handle) for at, handle in self._hidden if at > now]
        for handle in due:
            with suppress(Exception):
                handle.remove()

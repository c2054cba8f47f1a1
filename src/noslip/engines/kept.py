"""`Kept`: what is made once for a key and kept, for whoever asks again, on any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Made = TypeVar("Made")

#: Things that are kept; the one that was not asked for longest goes when there are more.
MOST_KEPT = 64


class Kept:
    """Things by their keys."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Hashable, Any] = {}

    def keys(self) -> tuple[Hashable, ...]:
        """What is kept now, that which goes first before the others."""
        with self._lock:
            return tuple(self._made)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, made now or found."""
        made: Made
        with self._lock:
            found: Any = self._made.pop(key, self)  # itself it does not keep
            if found is not self:
                self._made[key] = made = found
                return made
        # two threads may both make it; the first to be done is kept
        made = make()
        with self._lock:
            made = self._made.setdefault(key, made)
            while len(self._made) > MOST_KEPT:
                del self._made[next(iter(self._made))]
        return made

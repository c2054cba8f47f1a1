"""Thread-safe LRU cache: values made once for a key; the least recently used one is evicted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Made = TypeVar("Made")


class LRUCache:
    """Values by key. Any thread may use it.

    Parameters
    ----------
    max_entries : with more, the least recently used one is evicted.
    """

    def __init__(self, max_entries: int = 64) -> None:
        self.max_entries = max_entries
        self._lock = threading.Lock()
        self._entries: dict[Hashable, Any] = {}

    def keys(self) -> tuple[Hashable, ...]:
        """Keys of all entries, the least recently used one first."""
        with self._lock:
            return tuple(self._entries)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The cached value of a key, or what `make` returns, which is cached then."""
        value: Made
        with self._lock:
            found: Any = self._entries.pop(key, self)  # the cache itself is never an entry
            if found is not self:
                self._entries[key] = value = found
                return value
        # made outside the lock: two threads may both make it; the first one's value is cached
        value = make()
        with self._lock:
            value = self._entries.setdefault(key, value)
            while len(self._entries) > self.max_entries:
                del self._entries[next(iter(self._entries))]
        return value

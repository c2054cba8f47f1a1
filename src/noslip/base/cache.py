"""Thread-safe LRU cache: values made once for a key; the least recently used one is evicted.

What compares by value is a key as it is (:func:`value_key`); anything else may stand for itself
(:class:`IdentityKey`), so that no other object can take its place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Made = TypeVar("Made")


class IdentityKey:
    """Key of an object by identity; it holds the object, so that its address is not used again."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        self.owner = owner

    def __hash__(self) -> int:
        return id(self.owner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.owner is self.owner


def value_key(value: object) -> Hashable:
    """A frozen data class that compares by value, as its own key; None for anything else."""
    how = getattr(type(value), "__dataclass_params__", None)
    if how is None or not (how.frozen and how.eq):
        return None
    try:
        hash(value)
    except TypeError:  # a list or an array in one of its fields
        return None
    return value


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

    def get(
        self,
        key: Hashable,
        make: Callable[[], Made],
        is_kept: Callable[[Made], bool] = lambda _: True,
    ) -> Made:
        """The cached value of a key, or what `make` returns, which is cached if it `is_kept`."""
        value: Made
        with self._lock:
            found: Any = self._entries.pop(key, self)  # the cache itself is never an entry
            if found is not self:
                self._entries[key] = value = found
                return value
        # made outside the lock: two threads may both make it; the first one's value is cached
        value = make()
        if not is_kept(value):
            return value
        with self._lock:
            value = self._entries.setdefault(key, value)
            while len(self._entries) > self.max_entries:
                del self._entries[next(iter(self._entries))]
        return value

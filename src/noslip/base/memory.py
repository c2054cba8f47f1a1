"""Memory: values made once and kept while there is room, and room checked before allocations.

**Thread-safe LRU cache: values made once for a key; the least recently used one is evicted.**

What compares by value is a key as it is (:func:`value_key`); anything else may stand for itself
(:class:`IdentityKey`), so that no other object can take its place.

**Free memory, checked before large allocations.**
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

from noslip.base.errors import SimulationError

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
    max_entries : largest number of entries; the least recently used one is evicted.
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
        is_kept: Callable[[Made], bool] | None = None,
    ) -> Made:
        """The cached value of a key, or what `make` returns, cached if it `is_kept`."""
        value: Made
        with self._lock:
            found: Any = self._entries.pop(key, self)  # the cache itself is never an entry
            if found is not self:
                self._entries[key] = value = found
                return value
        # made outside the lock: two threads may both make it; the first one's value is cached
        value = make()
        if is_kept is not None and not is_kept(value):
            return value
        with self._lock:
            value = self._entries.setdefault(key, value)
            while len(self._entries) > self.max_entries:
                del self._entries[next(iter(self._entries))]
        return value


#: Bytes that are taken without asking.
SMALL = 2**27
#: Part of the free memory that one result may take.
SHARE = 0.8


def check_memory(size: float, what: str, where: str, fix: str) -> None:
    """Refuse what does not fit into memory, with its size.

    Parameters
    ----------
    size : bytes, an estimate.
    what : contents, as "results".
    where : argument to blame.
    fix : smaller request that would fit.
    """
    if size <= SMALL:
        return
    size = min(size, 2**1000)  # a whole number may be beyond all floating-point ones
    free = available_memory()
    if size > SHARE * free:
        raise SimulationError(
            f"{_gigabytes(size)} of {what} do not fit into the {_gigabytes(free)} of memory that "
            "are free",
            where,
            fix,
        )


def available_memory() -> float:
    """Bytes that this process may still take: of the computer, its container and its own limit."""
    free = [_of_computer()]
    with contextlib.suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        limit = int((folder / "memory.max").read_text("ascii"))
        free.append(limit - int((folder / "memory.current").read_text("ascii")))
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            free.append(limit - pages * resource.getpagesize())
    return max(0.0, float(min(free)))


def _of_computer() -> float:
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return 2.0**63


def _gigabytes(size: float) -> str:
    return f"{size / 2**30:.3g} GiB"

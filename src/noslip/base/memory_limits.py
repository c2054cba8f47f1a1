"""Free memory, checked before large allocations."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from noslip.base.errors import SimulationError

#: Bytes that are taken without asking.
SMALL = 2**27
#: Part of the free memory that one result may take.
SHARE = 0.8


def check_memory(size: float, what: str, where: str, fix: str) -> None:
    """Refuse what does not fit into memory, with its size.

    Parameters
    ----------
    size : bytes, an estimate.
    what : would take them, as "results".
    where : of what.
    fix : what to ask for instead.
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

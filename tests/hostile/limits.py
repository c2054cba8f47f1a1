"""Limits on what a bad input may cost, and folders that must stay as they are."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import time
from pathlib import Path

MEBIBYTE = 2**20


@contextlib.contextmanager
def limited(*, cpu: float = 1.0, memory: int = 512 * MEBIBYTE, patience: int = 120):
    """Context that may take so many seconds of CPU and bytes of further memory, and never hangs."""

    def stuck(*_):
        raise TimeoutError(f"it hangs: no end after {patience} s")

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    usual = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(patience)
    began = time.process_time()
    try:
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)
    taken = time.process_time() - began
    assert taken <= cpu, f"it took {taken:.2f} s of CPU"


@contextlib.contextmanager
def largest_file(size: int):
    """Context in which no file can grow beyond a size, as on a disk that is full by then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def snapshot(folder: Path) -> dict[str, str]:
    """What is in a folder at any depth: kind, size and content of small files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        digest = ""
        if path.is_file() and not path.is_symlink() and state.st_size < 10 * MEBIBYTE:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        link = os.readlink(path) if path.is_symlink() else ""
        found[str(path.relative_to(folder))] = f"{state.st_mode:o} {state.st_size} {digest} {link}"
    return found

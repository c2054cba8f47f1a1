"""Limits on what a bad input may cost, and folders that must stay as they are."""

import contextlib
import hashlib
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

MEBIBYTE = 2**20
#: s until what waits for a pipe or works without end is given up; what is refused takes some ms.
PATIENCE = 120


@contextlib.contextmanager
def limited(*, memory: int = 512 * MEBIBYTE, reads: int = 64 * MEBIBYTE):
    """Context that may take so many bytes of further memory, read so many, and never hangs.

    No clock is asked how fast it was: what it reads is counted, by the system. Modules that are
    imported for the first time count too; all of noslip and what it imports are 30 MiB.
    """

    def stuck(*_):
        # no Exception, which what is tested may take for a refusal
        pytest.fail(f"it hangs: no end after {PATIENCE} s")

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    usual = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(PATIENCE)
    began = bytes_read()
    try:
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)
    taken = bytes_read() - began
    assert taken <= reads, f"it read {taken / MEBIBYTE:.0f} MiB"


def bytes_read() -> int:
    """Bytes that this process has read so far, from files and devices."""
    return int(Path("/proc/self/io").read_text().split()[1])


@contextlib.contextmanager
def largest_file(size: int):
    """Context in which no file can grow beyond a size, as on a disk that is full by then.

    Bytecode of modules that are imported meanwhile is not written: Python takes a file that was cut
    off by the limit for a whole one, and fails on it in every later process.
    """
    before, is_writing = resource.getrlimit(resource.RLIMIT_FSIZE), not sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = not is_writing


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

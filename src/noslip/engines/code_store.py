"""Cache of object code on disk, by key.

The folder is ``NOSLIP_CACHE_DIR``, where it is set (empty: there is no store), else ``noslip`` in
the user's folder for caches. A file holds one object as LLVM emits it, behind a header:

    magic, format, key, length of the object, SHA-256 of the object

The key, which is the file's name too, is a SHA-256 over all that the machine code depends on
(`machine_code`): versions of noslip, llvmlite and LLVM, triple, processor, its features, passes,
text of the module.

Traps
-----
- LLVM trusts an object: a damaged one ends the process, a foreign one runs as its author likes. So
  the whole header is compared before LLVM sees a byte, and folder and file must belong to this user
  and be writable by nobody else. Checked on the open file, so that no folder can be put in between.
- A process of root with a user's home (sudo) must not leave a folder there that the user's own
  processes cannot use: in another user's folder none is made.
- Without a usable folder, or with a full disk, code is compiled in every process; one line on the
  log ``noslip`` says so, which Python prints on stderr unless logging is set up otherwise.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from noslip.base import NoslipError, StorageError, open_plain, remove_stale, write_atomically

#: Bounds of the store; beyond them the least recently used files are removed.
MAX_FILES = 10_000
MAX_BYTES = 256 * 2**20
#: One in so many keys looks for files beyond the bounds: listing a full folder takes 30 ms.
PRUNED_BY = 32

MAGIC = b"noslip\0o"
FORMAT = 1  # to be raised when a file, or how an object is made from what is in the key, changes
_HEADER = struct.Struct("<8sI32sQ32s")
_NAME = re.compile(r"[0-9a-f]{64}\.object")

#: Folders about which a line was written.
_TOLD: set[str] = set()


def stored(key: bytes, make: Callable[[], bytes]) -> bytes:
    """The object of a key, made and stored if there is none."""
    found = load(key)
    if found is None:
        found = make()
        save(key, found)
    return found


def load(key: bytes) -> bytes | None:
    """The object of a key, None if there is none or it is not whole."""
    path = _path(key)
    return _load(path, key) if path else None


def save(key: bytes, code: bytes) -> None:
    """Store an object, if there is a folder for it."""
    path = _path(key)
    if path:
        _save(path, key, code)


def _path(key: bytes) -> Path | None:
    folder = _folder()
    return folder / f"{key.hex()}.object" if folder else None


def _header(key: bytes, code: bytes) -> bytes:
    return _HEADER.pack(MAGIC, FORMAT, key, len(code), hashlib.sha256(code).digest())


def _load(path: Path, key: bytes) -> bytes | None:
    """The object in a file, None if there is none or it is not whole."""
    # a miss is no fault: `open_plain` would search the folder for names that are alike
    if not os.path.exists(path):
        return None
    try:
        with open_plain(path, NoslipError, "") as file:
            found = os.fstat(file.fileno())
            if not _is_ours(found) or found.st_size > MAX_BYTES:
                return None
            header, code = file.read(_HEADER.size), file.read(MAX_BYTES)
    except (OSError, NoslipError):
        return None
    if header != _header(key, code):
        return None
    with suppress(OSError):
        os.utime(path)  # used now
    return code


def _save(path: Path, key: bytes, code: bytes) -> None:
    """Write an object's file, and now and then remove those that are too many."""
    if _HEADER.size + len(code) > MAX_BYTES:
        return
    data = _header(key, code) + code
    try:
        write_atomically(path, lambda beside: beside.write_bytes(data), private=True)
        if key[0] % PRUNED_BY == 0:
            _prune(path.parent)
    except OSError as error:
        reason = error.what if isinstance(error, StorageError) else str(error.strerror or error)
        _tell(str(path.parent), reason)


def _prune(folder: Path) -> None:
    """Remove the least recently used objects beyond the bounds, and abandoned temporary files.

    Other processes may do the same at the same time; other files are left alone.
    """
    objects = []
    remove_stale(folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if _NAME.fullmatch(entry.name):
                    found = entry.stat(follow_symlinks=False)
                    objects.append((found.st_mtime_ns, found.st_size, entry.path))
    total = 0
    for k, (_, size, path) in enumerate(sorted(objects, reverse=True)):
        total += size
        if k >= MAX_FILES or total > MAX_BYTES:
            with suppress(OSError):
                os.unlink(path)


def _folder() -> Path | None:
    """The folder of the store, made now if need be; None if there is none that is ours alone."""
    chosen = _chosen_folder()
    if not chosen:
        return None
    try:
        folder = Path(os.path.realpath(chosen))
        if not folder.exists():
            _make(folder)
        found = folder.stat()
    except (OSError, ValueError) as error:
        _tell(chosen, getattr(error, "strerror", None) or str(error))
        return None
    if not stat.S_ISDIR(found.st_mode):
        _tell(chosen, "it is not a folder")
    elif not _is_ours(found):
        _tell(chosen, "it is not yours alone")
    else:
        return folder
    return None


def _tell(folder: str, reason: str) -> None:
    """Log once why a folder is not used."""
    if folder not in _TOLD:
        import logging

        _TOLD.add(folder)
        shown = folder.replace("\0", "\\0")
        logging.getLogger("noslip").warning(
            "noslip: machine code is compiled in every process, not cached in %s: %s; "
            "set NOSLIP_CACHE_DIR to a folder of yours, or to nothing",
            shown,
            reason[:1].lower() + reason[1:],
        )


def _chosen_folder() -> str:
    """Path of the folder by environment and platform; empty for none."""
    given = os.environ.get("NOSLIP_CACHE_DIR")
    if given is not None:
        return given
    from platformdirs import user_cache_dir

    folder = user_cache_dir("noslip", appauthor=False)
    return folder if os.path.isabs(folder) else ""


def _make(folder: Path) -> None:
    """Make a folder and those above it that are missing, unless they were in another user's."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    if missing[-1].parent.stat().st_uid not in (0, _user()):
        raise PermissionError(errno.EACCES, "it would be in another user's folder")
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)


def _is_ours(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else can write to it."""
    if sys.platform == "win32":  # folders of a user are closed to others by their access lists
        return True
    is_writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == _user() and not is_writable_by_others


def _user() -> int:
    return 0 if sys.platform == "win32" else os.geteuid()  # Windows: owner of every file

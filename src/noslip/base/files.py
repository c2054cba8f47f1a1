"""Files and folders: written whole or not at all, and read as plain files of bounded size.

**Files and folders that appear whole or not at all, and what killed processes leave behind.**

What is being written has a hidden name beside its target and is renamed when it is complete:

    .TARGET.noslip-SYSTEM-PID-START-RANDOM.part

SYSTEM stands for the boot and the process namespace, START for the start of process PID. A later
run that finds such a name in its folder removes it once that process is gone
(:func:`remove_stale`); one of another system, whose processes cannot be seen, after a day without a
change.

A folder that noslip fills has a manifest: names, sizes and SHA-256 of what was written. Only what
it names, unchanged, is ever removed when the folder is replaced (:func:`publish_folder`); all else
in it is kept. No race can replace a folder: a rename onto one that is not empty fails. While two
folders change places the hidden one ends in ``.old``: it may hold a user's files, so what is in it
is never removed before it is known to be elsewhere.

**`OutputFolder`: a folder of results, written whole, that replaces only what noslip wrote.**

**The one reader of files: plain files of bounded size, text without NULs, numbers within bounds.**

Whoever reads a file that a user names reads it here, whatever its format:

    read_bytes, read_text    what a file holds, refused if it is a device, a pipe or a folder, if it
                             is too large, and as text if it is not UTF-8 or holds a NUL
    open_plain               the open file itself, for libraries that read on their own
    check_hdf5_heaps         refuse an HDF5 file whose damage would keep the library busy forever
    csv_rows                 fields of a text, line by line, none longer than MAX_FIELD
    read_number              a finite number within ±LARGEST

No more is read than a file may have, so that time and memory are bounded whatever it is; a file is
opened without waiting, and looked at again once it is open.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import errno
import functools
import hashlib
import itertools
import json
import math
import os
import re
import secrets
import shutil
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from noslip.base.errors import NoslipError, SimulationError, StorageError, nearest

#: File in a folder that names what noslip wrote there.
MANIFEST = "manifest.json"
#: Bytes of a manifest that are read.
_MAX_MANIFEST = 1_000_000
#: s without a change after which what another system left has no writer any more.
ABANDONED = 86400.0

_HIDDEN = re.compile(
    r"\.(?P<target>.+)\.noslip-(?P<system>[0-9a-f]{8})-(?P<pid>\d+)-(?P<start>\d+)-[0-9a-f]{8}"
    r"\.(?P<kind>part|old)(?P<suffix>\.[^.]*)?"
)
#: Bytes of a target's name that its hidden name holds; file systems allow 255 in all.
_KEPT_NAME = 120
_NOT_EMPTY = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)

#: Hidden files and folders of this process.
_OWN: set[Path] = set()
#: Folders in which this process has looked for stale ones.
_CLEANED: set[str] = set()
_LOCK = threading.Lock()


def write_atomically(
    path: Path,
    write: Callable[[Path], Any],
    *,
    private: bool = False,
    suffix: str = "",
    durable: bool = False,
) -> None:
    """Write through a temporary file beside the target, so that a reader never sees half of it.

    A private file is its owner's alone and replaces whatever is there; others have the permissions
    that the umask leaves, and a device or a pipe, such as /dev/null, is written to. The name of the
    temporary file has the given suffix, for libraries that go by it. A durable file is on the disk
    when this returns, so that it outlives a power failure whole.

    Raises
    ------
    StorageError : it cannot be written; what was there before is as it was.
    """
    with reported(path):
        if (
            not private
            and os.path.exists(path)
            and not (os.path.isfile(path) or os.path.isdir(path))
        ):
            import tempfile

            scratch = Path(tempfile.gettempdir()) / path.name
            with temporary_folder(scratch, private=True) as folder:
                whole = folder / path.name
                write(whole)
                with whole.open("rb") as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
            return
        with made_parents(path, mode=0o700 if private else 0o777):
            remove_stale(path.parent, once=True)
            temporary = hidden_name(path, suffix=suffix)
            with _registered(temporary):
                mode = 0o600 if private else 0o666
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
                write(temporary)
                if durable:
                    _flush(temporary)
                os.replace(temporary, path)
                if durable:
                    _flush(path.parent)


@contextlib.contextmanager
def made_parents(path: Path, mode: int = 0o777) -> Iterator[None]:
    """Context with the folders above a path; those made for it are removed where it fails."""
    missing, place = list[Path](), path.parent
    while not os.path.exists(place) and place != place.parent:
        missing.append(place)
        place = place.parent
    path.parent.mkdir(mode=mode, parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for place in missing:
            with contextlib.suppress(OSError):  # somebody else uses it by now
                place.rmdir()
        raise


def _flush(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    if sys.platform == "win32" and os.path.isdir(path):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def reported(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which an OSError becomes a StorageError about a file or folder."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise storage_error(error, path) from error
    except ValueError as error:
        if "null" not in str(error) or "\0" not in os.fspath(path):
            raise
        named = os.fspath(path).replace("\0", "\\0")
        raise StorageError(
            "the name contains a NUL character, which file names cannot", named, "correct the name"
        ) from None


def storage_error(error: OSError, path: str | os.PathLike[str]) -> StorageError:
    """The StorageError for an OSError about a file or folder."""
    reason = error.strerror or str(error)
    fix = _FIXES.get(error.errno or 0, "check the name, the permissions and the disk")
    made = StorageError(f"it cannot be written: {reason[:1].lower()}{reason[1:]}", str(path), fix)
    made.errno, made.strerror, made.filename = error.errno, error.strerror, os.fspath(path)
    return made


_FIXES = {
    errno.ENOSPC: "free some space there, or write to another disk",
    errno.EDQUOT: "free some of your quota there, or write to another disk",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or write fewer samples",
    errno.ENOENT: "make its folder, or correct the path",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder on a disk that may be written to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EBUSY: "choose a folder that is not in use",
}


def hidden_name(target: Path, kind: str = "part", suffix: str = "") -> Path:
    """A new hidden name beside a target that tells which process it belongs to."""
    if not target.name:
        fix = "give a path that ends in the name of a file"
        raise StorageError("the path names no file", str(target), fix)
    name = target.name.encode("utf-8", "surrogateescape")[:_KEPT_NAME].decode("utf-8", "ignore")
    system, pid, start = _identity(os.getpid())
    random = secrets.token_hex(4)
    shown = name or "file"
    return target.with_name(f".{shown}.noslip-{system}-{pid}-{start}-{random}.{kind}{suffix}")


@contextlib.contextmanager
def temporary_folder(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Context with a new hidden folder beside a target, removed at its end if it is still there."""
    remove_stale(target.parent, once=True)
    folder = hidden_name(target)
    with _registered(folder):
        folder.mkdir(0o700 if private else 0o777)
        yield folder


@contextlib.contextmanager
def _registered(temporary: Path) -> Iterator[None]:
    """Context at whose end a hidden file or folder is removed, also by :func:`remove_own`."""
    _OWN.add(temporary)
    try:
        yield
    finally:
        _remove(temporary)
        _OWN.discard(temporary)


def remove_own() -> None:
    """Remove the hidden files and folders of this process, which ends now."""
    for temporary in tuple(_OWN):
        _remove(temporary)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def absolute(path: str | os.PathLike[str]) -> Path:
    """The path of a file or folder without links.

    Raises
    ------
    StorageError : it is relative to a working folder that no longer exists.
    """
    if not is_working_folder() and not os.path.isabs(path):
        raise StorageError(
            "the working folder no longer exists",
            os.fspath(path),
            "change to a folder that exists, or give the path from the root",
        )
    return Path(os.path.realpath(path))


def is_working_folder() -> bool:
    """Whether the working folder still exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def remove_stale(folder: Path, *, once: bool = False) -> None:
    """Remove what processes that are gone left unfinished in a folder.

    Parameters
    ----------
    folder : folder to look in, but not below it.
    once : whether to look only once in this process.
    """
    key = str(absolute(folder))
    with _LOCK:
        if once and key in _CLEANED:
            return
        _CLEANED.add(key)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _HIDDEN.fullmatch(entry.name) if entry.name.startswith(".") else None
            if found is None or not is_abandoned(Path(entry.path)):
                continue
            path, target = Path(entry.path), folder / found["target"]
            if found["kind"] == "part":
                _remove(path)
            elif os.path.exists(target):
                with contextlib.suppress(OSError):
                    _discard(path, target)
            else:  # ended between two renames
                with contextlib.suppress(OSError):
                    os.rename(path, target)


def is_abandoned(path: Path) -> bool:
    """Whether a hidden file or folder belongs to a process that is gone."""
    found = _HIDDEN.fullmatch(path.name)
    if found is None:
        return False
    system, _, start = _identity(int(found["pid"]))
    if sys.platform != "win32" and found["system"] == system:
        return found["start"] != start
    try:
        return time.time() - path.lstat().st_mtime > ABANDONED
    except OSError:
        return False


def _identity(pid: int) -> tuple[str, int, str]:
    """System, process, and its start; the start is "" if there is no such process."""
    return _system(), pid, _own_start(pid) if pid == os.getpid() else _start(pid)


@functools.cache
def _system() -> str:
    """Eight digits for this boot and its process namespace."""
    parts = [os.uname().nodename if hasattr(os, "uname") else sys.platform]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:8]


@functools.lru_cache(maxsize=2)  # a fork has another number
def _own_start(pid: int) -> str:
    return _start(pid) or "0"


def _start(pid: int) -> str:
    """Start time of a process in system ticks; "" if there is none, "0" if it is unknown."""
    if sys.platform == "linux":
        try:
            state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except (OSError, ValueError):
            return ""
        return "" if state in (b"Z", b"X") else fields[18].decode("ascii")
    if sys.platform == "win32":
        return "0"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return "0"


# folders


def publish_folder(temporary: Path, target: Path, *, replace: bool = False) -> list[str]:
    """Give a finished hidden folder its name; names of what was kept of the folder before it.

    `temporary`: hidden folder beside the target, with everything in it; a manifest is added.
    `target`: name of the folder. An empty folder there is replaced. `replace`: whether an earlier
    folder with a manifest is replaced; what that does not name is kept.

    Raises
    ------
    FileExistsError : there is a folder that is not replaced, or a file.
    OSError : it cannot be renamed; the folder before it is as it was.
    """
    write_manifest(temporary)
    for _ in range(100):  # again if the folder goes or comes at that very moment
        try:
            os.rename(temporary, target)
            return []
        except OSError as error:
            if error.errno not in _NOT_EMPTY and not isinstance(error, FileExistsError):
                raise
            if not (replace and read_manifest(target)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        with contextlib.suppress(FileNotFoundError):
            return _replace(temporary, target)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(target))


def _replace(temporary: Path, target: Path) -> list[str]:
    """Exchange two folders, with what is foreign in the old one in both, and remove the old one."""
    kept = _link_foreign(target, temporary)
    aside = hidden_name(target, "old")
    _OWN.discard(temporary)  # from here on it may hold files of the user
    os.rename(temporary, aside)
    try:
        if not _exchange(aside, target):
            # without an exchange the target is missing for a moment; a kill then is repaired later
            other = hidden_name(target, "old")
            os.rename(target, other)
            os.rename(aside, target)
            aside = other
    except OSError:
        if os.path.exists(target):  # nothing was exchanged
            shutil.rmtree(aside, ignore_errors=True)
        raise
    return sorted({*kept, *_discard(aside, target)})


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system can."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def _entries(folder: Path, below: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Relative name and entry of all that is in a folder, a folder before what is in it."""
    with os.scandir(folder / below) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        yield name, entry
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(folder, name)


def foreign(folder: Path) -> list[str]:
    """Relative names of the files in a folder that its manifest does not name, or not like this."""
    listed = read_manifest(folder) or {}
    return [
        name
        for name, entry in _entries(folder)
        if not entry.is_dir(follow_symlinks=False) and not _is_listed(folder, name, entry, listed)
    ]


def _is_listed(
    folder: Path, name: str, entry: os.DirEntry[str], listed: dict[str, tuple[int, str]]
) -> bool:
    """Whether a file is what noslip wrote, unchanged."""
    if name == MANIFEST:
        return True
    if name not in listed or not entry.is_file(follow_symlinks=False):
        return False
    size, digest = listed[name]
    return entry.stat(follow_symlinks=False).st_size == size and _digest(folder / name) == digest


def _link_foreign(old: Path, new: Path) -> list[str]:
    """Let a new folder hold what is foreign in the old one too; the names it has there."""
    kept = []
    for name in foreign(old):
        place = _free_name(new / name)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(old / name, place, follow_symlinks=False)
        except OSError:
            shutil.copy2(old / name, place, follow_symlinks=False)
        kept.append(place.relative_to(new).as_posix())
    for name, entry in _entries(old):
        if entry.is_dir(follow_symlinks=False) and not os.path.lexists(new / name):
            (new / name).mkdir(parents=True)
    return kept


def _discard(old: Path, target: Path) -> list[str]:
    """Remove a folder whose foreign files are in the target; those that are not are moved there."""
    moved = []
    for name in foreign(old):
        place = target / name
        if any(_is_same(old / name, p) for p in (place, *place.parent.glob(f"{place.name}.kept*"))):
            continue
        place = _free_name(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(old / name, place)
        moved.append(place.relative_to(target).as_posix())
    shutil.rmtree(old, ignore_errors=True)
    return moved


def _is_same(one: Path, other: Path) -> bool:
    """Whether two names are of one file, or of equal ones."""
    try:
        first, second = one.lstat(), other.lstat()
    except OSError:
        return False
    if (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino):
        return True
    if stat.S_ISLNK(first.st_mode) and stat.S_ISLNK(second.st_mode):
        return os.readlink(one) == os.readlink(other)
    regular = stat.S_ISREG(first.st_mode) and stat.S_ISREG(second.st_mode)
    return regular and first.st_size == second.st_size and _digest(one) == _digest(other)


def _free_name(place: Path) -> Path:
    """A path, or the next one with .kept, .kept-2, … after its name that is not taken."""
    free, number = place, 1
    while os.path.lexists(free):
        free = place.with_name(f"{place.name}.kept" + (f"-{number}" if number > 1 else ""))
        number += 1
    return free


# manifests


def write_manifest(folder: Path) -> None:
    """Write the manifest of a folder: every file that is in it now."""
    files = {
        name: {"bytes": entry.stat().st_size, "sha256": _digest(folder / name)}
        for name, entry in _entries(folder)
        if name != MANIFEST and entry.is_file(follow_symlinks=False)
    }
    text = json.dumps({"written_by": "noslip", "files": files}, indent=2, ensure_ascii=False)
    (folder / MANIFEST).write_bytes((text + "\n").encode("utf-8", "surrogateescape"))


def read_manifest(folder: Path) -> dict[str, tuple[int, str]] | None:
    """Relative name → size and SHA-256 of what noslip wrote into a folder; None without one."""
    try:
        handle = os.open(folder / MANIFEST, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(_MAX_MANIFEST + 1)
        if len(data) > _MAX_MANIFEST:
            return None
        found = json.loads(data.decode("utf-8", "surrogateescape"))
        if found["written_by"] != "noslip":
            return None
        return {str(n): (int(f["bytes"]), str(f["sha256"])) for n, f in found["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class OutputFolder:
    """A folder to be made; its parents too.

    Parameters
    ----------
    path : path of the folder.
    mark : name of a file by which a folder without a manifest is known as one of noslip.
    """

    def __init__(self, path: str | Path, *, mark: str = "summary.json") -> None:
        self.path = Path(path)
        self._mark = mark

    @classmethod
    def free(cls, parent: Path, name: str) -> OutputFolder:
        """The folder parent/name, or parent/name-2, name-3, … if that is taken."""
        candidate = parent / name
        return cls(_next(candidate) if os.path.lexists(candidate) else candidate)

    def check(self, *, force: bool) -> Path:
        """Its path without links, if it may be made; existing files are not touched.

        Parameters
        ----------
        force : an earlier folder of noslip may be replaced.

        Raises
        ------
        SimulationError : there is something that is not replaced, or no folder can be made there.
        """
        try:
            target = absolute(self.path)
            if is_working_folder() and Path.cwd().is_relative_to(target):
                raise SimulationError(
                    "the folder is the current one or one above it, but a run needs its own",
                    str(self.path),
                    "name a new folder, such as -o runs/circle",
                )
            with os.scandir(target) as entries:
                is_empty = next(iter(entries), None) is None
        except FileNotFoundError:
            self._check_parent(target)
            return target
        except StorageError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SimulationError(
                "the target exists and is not a run of noslip, so it is not replaced"
                if os.path.lexists(self.path) and isinstance(error, NotADirectoryError)
                else f"the folder cannot be created: {reason}",
                str(self.path).replace("\0", "\\0"),
                "choose another folder with -o",
            ) from None
        if os.path.ismount(target):
            raise SimulationError(
                "the folder is a mount point, which cannot be replaced",
                str(self.path),
                "name a folder inside it",
            )
        if is_empty:
            return target
        if read_manifest(target) is None:
            earlier = os.path.exists(target / self._mark)
            raise SimulationError(
                f"the folder has no {MANIFEST} that says what noslip wrote there, so it is not "
                "replaced"
                if earlier
                else "the target exists and is not a run of noslip, so it is not replaced",
                str(self.path),
                "choose another folder with -o" + (", or remove it yourself" if earlier else ""),
            )
        if not force:
            raise SimulationError(
                "the folder already holds a run",
                str(self.path),
                "choose another folder with -o, or replace the run with --force",
            )
        return target

    def _check_parent(self, target: Path) -> None:
        """Refuse a folder that could not be made, before the run and not after it."""
        parent = target.parent
        while not os.path.lexists(parent) and parent != parent.parent:
            parent = parent.parent
        if not (os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK)):
            raise SimulationError(
                "the folder cannot be created: "
                + (
                    f"you do not have permission to write to '{parent}'"
                    if os.path.isdir(parent)
                    else f"'{parent}' is a file"
                ),
                str(self.path),
                "choose another with -o",
            )

    def write(
        self,
        fill: Callable[[Path], None],
        *,
        force: bool = False,
        numbered: bool = False,
        note: Callable[[str], None] | None = None,
    ) -> Path:
        """Make the folder, and return its path.

        Parameters
        ----------
        fill : function called with a hidden folder, to write the files into it.
        force : whether an earlier folder of noslip is replaced. What noslip did not write there, or
            what was changed since, is kept.
        numbered : whether the next free folder is made where this one is taken, instead of an
            error.
        note : function called with a sentence on what was kept of an earlier folder, or on another
            name.

        Raises
        ------
        SimulationError : the folder holds something that is not replaced.
        StorageError : it cannot be written; what was there is as it was.
        """
        real = absolute(self.path) if numbered else self.check(force=force)
        with reported(self.path), made_parents(real), temporary_folder(real) as temporary:
            try:
                fill(temporary)
                made = _publish(temporary, real, force, note or (lambda sentence: None))
            except (OSError, SimulationError) as error:
                raise _not_written(error, temporary, self.path) from error
        return self.path if made == real else self.path.with_name(made.name)


def _publish(temporary: Path, target: Path, force: bool, note: Callable[[str], None]) -> Path:
    """Give a finished folder its name, or the next free one if that is taken by now."""
    wanted = target
    while True:
        try:
            kept = publish_folder(temporary, target, replace=force)
        except FileExistsError:
            target = _next(target)
            continue
        if kept:
            shown = ", ".join(kept[:5]) + (f" and {len(kept) - 5} more" if len(kept) > 5 else "")
            note(f"kept in {target.name}, because noslip did not write it: {shown}")
        if target != wanted:
            note(
                f"{wanted.name} was taken by another run in the meantime; "
                f"this one is in {target.name}"
            )
        return target


def _not_written(error: Exception, temporary: Path, target: Path) -> Exception:
    """The error of a folder that could not be written, with the name it was to have."""
    if not os.path.isdir(temporary):
        return StorageError(
            "the folder disappeared while it was written", str(target), "write it again, elsewhere"
        )
    if not isinstance(error, OSError):
        return error
    place = Path(error.filename or target)
    inner = place.relative_to(temporary) if place.is_relative_to(temporary) else Path()
    made = storage_error(error, target / inner)
    if isinstance(error, StorageError) and error.errno is None:
        made = StorageError(error.what, made.where, error.fix)
    return made


def _next(taken: Path) -> Path:
    """The next free one of name-2, name-3, … after a folder that is taken."""
    found = re.fullmatch(r"(.+)-(\d{1,9})", taken.name)
    base, number = taken.name, 2
    if found and os.path.lexists(taken.with_name(found[1])):
        base, number = found[1], int(found[2]) + 1
    while os.path.lexists(taken.with_name(f"{base}-{number}")):
        number += 1
    return taken.with_name(f"{base}-{number}")


#: Characters of a field of a table, and empty lines of one.
MAX_FIELD, MAX_EMPTY = 1000, 1000
#: Size of a number that is a length, a time or a mass in SI units: the universe has 1e27 m.
LARGEST = 1e30
#: Names of a folder among which a misspelled one is sought.
MOST_NAMES = 2000

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
Place = str | os.PathLike[str]
ErrorType = type[NoslipError]


def open_plain(path: Place, error: ErrorType, fix: str) -> BinaryIO:
    """A plain file, open for reading.

    Parameters
    ----------
    path : path of the file.
    error : error to raise if it is not a plain file.
    fix : remedy in the message.
    """
    file = os.fspath(path)
    shown = file.replace("\0", "\\0")
    try:
        mode = os.stat(file).st_mode
        if stat.S_ISREG(mode):
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            handle = os.open(file, flags)
            mode = os.fstat(handle).st_mode
            if stat.S_ISREG(mode):
                return open(handle, "rb")
            os.close(handle)
    except (FileNotFoundError, NotADirectoryError):
        there = nearest(os.path.basename(file), names_beside(file))
        hint = there if there.startswith("did you mean") else "check the name and the folder"
        raise error(f"there is no file '{shown}'", shown or "the name ''", hint) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(
            f"'{shown}' cannot be read: {reason}", shown, "check the name and its permissions"
        ) from problem
    what = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
    raise error(f"'{shown}' is {what}", shown, fix)


#: A global heap collection of HDF5: signature, version 1, three zeros, its size in bytes; then an
#: object after another: index, references, four bytes, length of its data, padded to eight.
_COLLECTION, _OBJECT = struct.Struct("<4sI Q"), struct.Struct("<HHIQ")


def check_hdf5_heaps(file: BinaryIO, error: ErrorType, where: str, fix: str) -> None:
    """Refuse global heaps whose objects do not fill them one after another.

    HDF5 goes from object to object by their lengths; free space (index 0) of no length is where it
    stands still, without an end and deaf to Ctrl-C.

    Parameters
    ----------
    file : open plain file; its position stays as it is.
    error, where, fix : error to raise if it is damaged.
    """
    size, before = os.fstat(file.fileno()).st_size, file.tell()
    starts = _collections(file) if _is_hdf5(file, size) else ()
    for start in starts:
        file.seek(start)
        head = file.read(_COLLECTION.size)
        _, version, length = _COLLECTION.unpack(head.ljust(_COLLECTION.size, b"\0"))
        at, end = start + _COLLECTION.size, start + length
        # anything else is text that looks like one, or refused by the library itself
        is_heap = version == 1 and end <= size
        while is_heap and at + _OBJECT.size <= end:
            file.seek(at)
            index, _, _, length = _OBJECT.unpack(file.read(_OBJECT.size))
            at += _OBJECT.size + -(-length // 8) * 8 if index else length
            if at > end or not (index or length):
                raise error("the file is damaged: a heap of HDF5 has no end", where, fix)
    file.seek(before)


def _is_hdf5(file: BinaryIO, size: int) -> bool:
    """Whether a file has the signature of HDF5 at one of the places where the library looks."""
    at = 0
    while at < size:
        file.seek(at)
        if file.read(8) == b"\x89HDF\r\n\x1a\n":
            return True
        at = 2 * at or 512
    return False


def _collections(file: BinaryIO) -> Iterator[int]:
    """Places in a file where a global heap collection may begin, a megabyte at a time."""
    done, overlap = 0, b""
    file.seek(0)
    while data := file.read(2**20):
        text = overlap + data
        first = done - len(overlap)
        done += len(data)
        overlap = text[-3:]
        yield from [first + match.start() for match in re.finditer(b"GCOL", text)]
        file.seek(done)


def names_beside(path: Place) -> list[str]:
    """Names in the folder of a path, at most `MOST_NAMES`; none if there is no such folder."""
    try:
        with os.scandir(os.path.dirname(os.fspath(path)) or ".") as entries:
            return sorted(entry.name for entry in itertools.islice(entries, MOST_NAMES))
    except (OSError, ValueError):
        return []


def check_plain(path: Place, error: ErrorType, fix: str) -> int:
    """Size of a plain file in bytes; raises as :func:`open_plain`."""
    with open_plain(path, error, fix) as file:
        return os.fstat(file.fileno()).st_size


def read_bytes(path: Place, error: ErrorType, fix: str, *, max_bytes: int) -> bytes:
    """Content of a regular file.

    Parameters
    ----------
    path : path of the file.
    error : error to raise if it is not a plain file, or too large.
    fix : remedy in the message.
    max_bytes : largest file accepted, in bytes.
    """
    file = os.fspath(path)
    with open_plain(file, error, fix) as stream:
        size = os.fstat(stream.fileno()).st_size
        try:
            data = stream.read(max_bytes + 1) if size <= max_bytes else b""
        except OSError as problem:
            raise error(
                f"'{file}' cannot be read: {problem.strerror}", file, "check the disk"
            ) from problem
    if max(size, len(data)) > max_bytes:
        raise error(
            f"'{file}' has {max(size, len(data))} bytes, at most {max_bytes} are read", file, fix
        )
    return data


def read_text(path: Place, error: ErrorType, fix: str, *, max_bytes: int) -> str:
    """The text of a plain file, UTF-8 with or without a byte-order mark; see :func:`read_bytes`."""
    file = os.fspath(path)
    data = read_bytes(file, error, fix, max_bytes=max_bytes)
    nul = data.find(b"\0")
    if nul >= 0:
        raise error(
            "the file contains a NUL character, which text files cannot",
            f"{file}, line {data.count(10, 0, nul) + 1}",
            "save the file as UTF-8 text",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(
            f"byte 0x{data[problem.start]:02x} is not UTF-8 text",
            f"{file}, line {line}",
            "save the file as UTF-8",
        ) from problem


def csv_rows(text: str, file: str, error: ErrorType, fix: str) -> Iterator[tuple[str, list[str]]]:
    """Place and fields of each line of a text with commas, but for empty lines."""
    rows = csv.reader((found[0] for found in _LINE.finditer(text)), strict=True)
    empty = 0
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as problem:
            raise error(f"the line is not CSV: {problem}", _line(file, rows), fix) from None
        for k, field in enumerate(row):
            if len(field) > MAX_FIELD:
                raise error(
                    f"field {k + 1} has {len(field)} characters, at most {MAX_FIELD} are read",
                    _line(file, rows),
                    fix,
                )
        if row and any(field.strip() for field in row):
            yield _line(file, rows), row
            continue
        empty += 1
        if empty > MAX_EMPTY:
            raise error(f"more than {MAX_EMPTY} lines are empty", _line(file, rows), fix)


def read_number(
    field: str, name: str, where: str, error: ErrorType, fix: str, *, largest: float = LARGEST
) -> float:
    """The number in a field: finite, and not beyond ±largest."""
    shown = field.strip() if len(field) <= 40 else f"{field[:40].strip()}…"
    try:
        # Python reads 1_0 and digits of every script too
        value = float(field) if field.isascii() and "_" not in field else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise error(f"{name} is '{shown}', which is not a finite number", where, fix)
    if abs(value) > largest:
        raise error(f"{name} is {shown}, beyond ±{largest:g}", where, fix)
    return value


def _line(file: str, rows: object) -> str:
    return f"{file}, line {getattr(rows, 'line_num', 0)}"

"""Cache of object code on disk: a module that takes 0.1 to 0.5 s to compile loads in 2 ms.

The folder is ``NOSLIP_CACHE_DIR``, where it is set (empty: there is no store), else ``noslip`` in
the user's folder for caches. A file holds one object as LLVM emits it, behind a header:

    magic, format, key, length of the object, SHA-256 of the object

The key, which is the file's name too, is a SHA-256 over all that the machine code depends on:
versions of noslip, llvmlite and LLVM, triple, processor, its features, passes, text of the module.

Traps
-----
- LLVM trusts an object: a damaged one ends the process, a foreign one runs as its author likes. So
  the whole header is compared before LLVM sees a byte, and folder and file must belong to this user
  and be writable by nobody else. Checked on the open file, so that no folder can be put in between.
- A process of root with a user's home (sudo) must not leave a folder there that the user's own
  processes cannot use: in another user's folder none is made.
- Without a usable folder, or with a full disk, code is compiled in every process, without a word.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding

from noslip import __version__
from noslip.atomic import write_atomically
from noslip.engines import llvm

#: Passes for a module with control flow and local variables, by llvmlite's names.
PASSES = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg")

#: Bounds of the store; beyond them the least recently used files are removed.
MAX_FILES = 2000
MAX_BYTES = 256 * 2**20

#: Engines that stay in memory; the least recently used ones are let go.
MAX_ENGINES = 64
_ENGINES: OrderedDict[tuple[str, tuple[str, ...]], Any] = OrderedDict()

MAGIC = b"noslip\0o"
FORMAT = 1  # to be raised when a file, or how an object is made from what is in the key, changes
_HEADER = struct.Struct("<8sI32sQ32s")
_NAME = re.compile(r"[0-9a-f]{64}\.object")
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.object\..*\.part")
_ABANDONED = 3600.0  # s after which a temporary file has no writer any more


def compiled_object(
    text: str | Callable[[], str], *, name: str = "", passes: tuple[str, ...] = PASSES
) -> Any:
    """Machine code of an LLVM module, as an engine with `get_function_address(name)`.

    It comes from memory, from the store on disk, or is compiled now and stored. Any thread may ask;
    addresses are valid as long as the engine lives. External functions must exist
    (`llvm.require_symbols`): LLVM ends the process where one does not.

    Parameters
    ----------
    text : the module, or a function that prints it
    name : what the text depends on, where it is known without printing: no other text has it
    passes : what LLVM does to it before it generates code, in this order
    """
    known = name or (text if isinstance(text, str) else text())
    with llvm.COMPILING:
        engine = _ENGINES.get((known, passes))
        if engine is None:
            engine = _ENGINES[known, passes] = _made(known, text, passes)
            while len(_ENGINES) > MAX_ENGINES:
                _ENGINES.popitem(last=False)
        _ENGINES.move_to_end((known, passes))
    return engine


def _made(known: str, text: str | Callable[[], str], passes: tuple[str, ...]) -> Any:
    key = _key(known, passes)
    folder = _folder()
    path = folder / f"{key.hex()}.object" if folder else None
    code = _load(path, key) if path else None
    if code is None:
        printed = text if isinstance(text, str) else text()
        module, machine = llvm.combined(printed, passes)
        code = machine.emit_object(module)
        if path:
            _save(path, key, code)
    return _engine(code)


def _engine(code: bytes) -> Any:
    """An engine with the functions of an object."""
    engine = binding.create_mcjit_compiler(*llvm.module_for_host(""))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _key(text: str, passes: tuple[str, ...]) -> bytes:
    target, cpu, features = llvm.host()
    llvm_version = ".".join(map(str, binding.llvm_version_info))
    versions = (__version__, llvmlite.__version__, llvm_version)
    how = (str(llvm.OPT_LEVEL), ",".join(passes))
    parts = (*versions, target.triple, cpu, features, *how, "")
    digest = hashlib.sha256("\0".join(parts).encode())
    digest.update(text.encode())
    return digest.digest()


def _header(key: bytes, code: bytes) -> bytes:
    return _HEADER.pack(MAGIC, FORMAT, key, len(code), hashlib.sha256(code).digest())


def _load(path: Path, key: bytes) -> bytes | None:
    """The object in a file, None if there is none or it is not whole."""
    try:
        with path.open("rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            header, code = file.read(_HEADER.size), file.read()
    except OSError:
        return None
    if header != _header(key, code):
        return None
    with suppress(OSError):
        os.utime(path)  # used now
    return code


def _save(path: Path, key: bytes, code: bytes) -> None:
    """Write an object's file, and remove those that are too many by then."""
    if _HEADER.size + len(code) > MAX_BYTES:
        return
    with suppress(OSError):
        data = _header(key, code) + code
        write_atomically(path, lambda beside: beside.write_bytes(data), private=True)
        _prune(path.parent)


def _prune(folder: Path) -> None:
    """Remove the least recently used objects beyond the bounds, and abandoned temporary files.

    Other processes may do the same at the same time; other files are left alone.
    """
    objects = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if _NAME.fullmatch(entry.name):
                    found = entry.stat(follow_symlinks=False)
                    objects.append((found.st_mtime_ns, found.st_size, entry.path))
                elif _TEMPORARY.fullmatch(entry.name):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
                        os.unlink(entry.path)
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
        return folder if stat.S_ISDIR(found.st_mode) and _is_ours(found) else None
    except OSError:
        return None


def _chosen_folder() -> str:
    """Path of the folder by environment and platform; empty for none."""
    given = os.environ.get("NOSLIP_CACHE_DIR")
    if given is not None:
        return given
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        caches = os.path.join(home, "Library", "Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(caches):
            caches = os.path.join(home, ".cache")
    return os.path.join(caches, "noslip") if os.path.isabs(caches) else ""


def _make(folder: Path) -> None:
    """Make a folder and those above it that are missing, unless they were in another user's."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    if missing[-1].parent.stat().st_uid in (0, _user()):
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

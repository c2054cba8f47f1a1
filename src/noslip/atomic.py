"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Temporary files and folders of this process.
_OWN: set[Path] = set()


def write_atomically(
    path: Path, write: Callable[[Path], Any], *, private: bool = False, suffix: str = ""
) -> None:
    """Write through a temporary file beside the target, so that a reader never sees half of it.

    A private file is its owner's alone; others have the permissions that the umask leaves. A device
    or a pipe, such as /dev/null, is written to and not replaced. The name of the temporary file has
    the given suffix, for libraries that go by it.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / path.name
            write(whole)
            with whole.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        return
    path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=f".part{suffix}"
    )
    os.close(handle)
    temporary = Path(name)
    with registered(temporary):
        write(temporary)
        if not private:  # the temporary file is
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)


@contextmanager
def registered(temporary: Path) -> Iterator[None]:
    """Context at whose end a temporary file or folder is removed, if it is still there."""
    _OWN.add(temporary)
    try:
        yield
    finally:
        _remove(temporary)
        _OWN.discard(temporary)


def remove_own() -> None:
    """Remove the temporary files and folders of this process, which ends now."""
    for temporary in tuple(_OWN):
        _remove(temporary)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

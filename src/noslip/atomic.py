"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


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
    try:
        write(temporary)
        if not private:  # the temporary file is
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)

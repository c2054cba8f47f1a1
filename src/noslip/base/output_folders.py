"""`OutputFolder`: a folder of results, written whole, that replaces only what noslip wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from noslip.base.atomic import (
    MANIFEST,
    absolute,
    is_working_folder,
    made_parents,
    publish_folder,
    read_manifest,
    reported,
    storage_error,
    temporary_folder,
)
from noslip.base.errors import SimulationError, StorageError


class OutputFolder:
    """A folder to be made; its parents too.

    Parameters
    ----------
    path : of the folder.
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
        fill : called with a hidden folder, to write the files into it.
        force : replace an earlier folder of noslip. What noslip did not write there, or what was
            changed since, is kept.
        numbered : where the folder is taken, make the next free one and refuse nothing.
        note : called with a sentence on what was kept of an earlier folder, or on another name.

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

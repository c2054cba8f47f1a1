"""`export`: runs, models and compiled systems as files of other programs.

A target is a format of one of three families, and its family says what it takes:

    AbstractRunFormat     a run: tables and bags
    AbstractModelFormat   a model: descriptions of robots
    AbstractSystemFormat  a compiled system: code

To add one: a class of that family with `word`, `name`, `suffixes` and `write`, or `files` for a
system, in a module of its own that `BRIDGES` names. Options of a target are the fields of its class
(a frozen data class). `notes(thing)` says what of a thing the file does not carry.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import os
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from noslip import CompileError, Model, NoslipError, System, Trajectory, derive
from noslip.formats import AbstractRunFormat
from noslip.base import (
    IF_YOUR_OWN,
    AbstractFormat,
    check_folder,
    find_format,
    members_of,
    nearest,
    write_atomically,
    write_file,
)
from noslip.model import AbstractModelFormat


class AbstractSystemFormat(AbstractFormat, family="system format"):
    """A format of compiled systems, written and never read; see the list at the top of this file.

    A member answers `files` instead of `write`: what is written may be several files beside each
    other, as C code and its header.
    """

    __slots__ = ()

    holds = "a compiled system"
    error = CompileError

    #: Suffixes of further files that are written beside the first.
    companions: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def files(self, system: System, stem: str) -> tuple[bytes, ...]:
        """Contents of the file and of its companions, in order.

        Parameters
        ----------
        system : what is written.
        stem : name of the files without their suffixes; they may name each other by it.
        """

    def write(self, system: System, path: Path) -> None:
        """Write all files, each whole or not at all."""
        paths = files_of(self, path)
        for file, contents in zip(paths, self.files(system, path.stem), strict=True):
            write_atomically(file, functools.partial(_write_bytes, contents=contents))


def _write_bytes(path: Path, contents: bytes) -> None:
    path.write_bytes(contents)


def files_of(format: AbstractFormat, path: Path) -> tuple[Path, ...]:
    """Paths of all files that a target writes for a path."""
    beside = format.companions if isinstance(format, AbstractSystemFormat) else ()
    return (path, *(path.with_suffix(suffix) for suffix in beside))


class Exported(NamedTuple):
    """Files of an export, and notes on what they leave out."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]


#: Families of targets.
FAMILIES: tuple[type[AbstractFormat], ...] = (
    *(AbstractRunFormat, AbstractModelFormat, AbstractSystemFormat),
)


def export_targets() -> dict[str, type[AbstractFormat]]:
    """Word → target, those of installed plugins too."""
    found = (cls for base in FAMILIES for cls in members_of(base, installed=True))
    return {cls.word: cls for cls in found if cls.can("write")}


def make_target(word: str, options: Mapping[str, Any], where: str) -> AbstractFormat:
    """The target with a word, with values for its options.

    Raises
    ------
    NoslipError : there is no such target, or it has no such option.
    """
    targets = export_targets()
    if word not in targets:
        raise NoslipError(
            f"there is no target '{word}'", where, f"{nearest(word, targets)}; {IF_YOUR_OWN}"
        )
    cls = targets[word]
    known: dict[str, Any] = {}
    if dataclasses.is_dataclass(cls):
        hints = typing.get_type_hints(cls)
        known = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    for name, value in options.items():
        if name not in known:
            fix = nearest(name, known) if known else f"leave it out: '{word}' has no options"
            raise NoslipError(f"target '{word}' has no option '{name}'", where, fix)
        kind, said = known[name], _KINDS.get(known[name])
        is_right = isinstance(value, kind) if said else True
        if not is_right or (isinstance(value, bool) and said and kind is not bool):
            raise NoslipError(
                f"option '{name}' of target '{word}' is {value!r:.60}, expected {said}",
                where,
                f"give {said}, or leave it out for its default",
            )
    return cls(**options)


#: Types of options that are checked here → their names.
_KINDS = {str: "a text", bool: "true or false", int: "a whole number"}


def export(
    thing: Trajectory | Model | System,
    path: str | os.PathLike[str],
    *,
    to: str = "",
    overwrite: bool = False,
    **options: Any,
) -> Exported:
    """Write a run, a model or a compiled system for another program.

    Parameters
    ----------
    thing : what the target takes; a system is also its model, and a model is derived where a
        system is asked for.
    path : of the file, or of the first of several.
    to : word of the target; by default the one with the suffix of the path.
    overwrite : whether files that are already there may be replaced.
    options : of the target.

    Raises
    ------
    NoslipError : the target does not take this, cannot express it, or the file exists.
    """
    target = Path(path)
    format = make_target(to or _word_of(thing, target), options, os.fspath(path))
    taken = taken_by(format, thing, os.fspath(path))
    check_folder(target, format.error)
    files = files_of(format, target)
    for file in files:
        if os.path.lexists(file) and (os.path.isdir(file) or not overwrite):
            raise format.error(
                f"there is already a file '{file}'",
                str(file),
                "choose another name, or pass overwrite=True",
            )
    if isinstance(format, AbstractSystemFormat):
        format.write(taken, target)
    else:
        write_file(format, taken, target)
    return Exported(files, tuple(format.notes(taken)))


def taken_by(format: AbstractFormat, thing: Any, where: str) -> Any:
    """The thing as a target takes it: a system from its model, a model from its system."""
    if isinstance(format, AbstractRunFormat) and isinstance(thing, Trajectory):
        return thing
    if isinstance(format, AbstractModelFormat) and isinstance(thing, Model | System):
        return thing.model if isinstance(thing, System) else thing
    if isinstance(format, AbstractSystemFormat) and isinstance(thing, Model | System):
        return System(equations=derive(thing)) if isinstance(thing, Model) else thing
    raise format.error(
        f"{format.name} holds {format.holds}, and {type(thing).__name__} is none",
        where,
        f"give {format.holds}, or choose another target",
    )


def _word_of(thing: Any, path: Path) -> str:
    """The word of the target by the suffix of a path, first of what takes the thing as it is."""
    first = AbstractRunFormat if isinstance(thing, Trajectory) else AbstractSystemFormat
    for base in (first, *FAMILIES):
        found = find_format(base, path)
        if found is not None and found.can("write"):
            return found.word
    suffixes = [cls.suffixes[0] for cls in export_targets().values()]
    raise NoslipError(
        f"no target has the suffix '{path.suffix or path.name}'",
        os.fspath(path),
        f"let the name of the file end in {', '.join(suffixes)}, or name the target: to=…",
    )

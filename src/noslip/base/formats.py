"""File formats: how models, runs and equations are read and written, found by a file's suffix.

What can be kept in files has a family of formats: `AbstractModelFormat`, `AbstractRunFormat` and
`AbstractEquationFormat`; `AbstractSystemFormat` is one of files that are only written. A member
answers:

1. `word`: what options call it, and `name`: what sentences call it;
2. `suffixes` of its files, the usual one first;
3. `read(path)` or `write(thing, path)` or both; its family says what they take and give;
4. `notes(thing)`: what of a thing a file of it does not carry; nothing, unless it says so.

Whoever reads or writes finds the member by :func:`format_of` or :func:`format_called`. A member
writes to the path it is given and thinks of nothing else: :func:`write_file` makes the file appear
whole or not at all.
"""

from __future__ import annotations

import abc
import os
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from noslip.base.atomic import write_atomically
from noslip.base.errors import NoslipError, nearest
from noslip.base.families import (
    IF_YOUR_OWN,
    Member,
    find_member,
    load_installed,
    members_of,
    words_of,
)

Verb = Literal["read", "write"]
_PARTICIPLE = {"read": "read", "write": "written"}


class AbstractFormat(Member, abc.ABC):
    """A file format; see the list at the top of this file."""

    __slots__ = ()

    #: What sentences call it, as "NetCDF".
    name: ClassVar[str]
    #: Suffixes of its files with their dot, in small letters, the usual one first.
    suffixes: ClassVar[tuple[str, ...]]
    #: What the files of a family hold, as "a run".
    holds: ClassVar[str]
    has_bridges = True
    #: What a family raises for files that cannot be read or written.
    error: ClassVar[type[NoslipError]]

    def read(self, path: Path) -> Any:
        """Read a file."""
        raise NotImplementedError

    def write(self, thing: Any, path: Path) -> None:
        """Write a thing to a new file."""
        raise NotImplementedError

    def notes(self, thing: Any) -> tuple[str, ...]:
        """Sentences on what of a thing a file does not carry."""
        return ()

    @classmethod
    def can(cls, verb: Verb) -> bool:
        """Whether it reads, or writes."""
        return getattr(cls, verb) is not getattr(AbstractFormat, verb)


F = TypeVar("F", bound=AbstractFormat)


def known_formats(base: type[F]) -> dict[str, F]:
    """Word → format of a family, those of installed plugins too."""
    return {cls.word: cls() for cls in members_of(base, installed=True)}


def format_called(base: type[F], word: str, where: str) -> F:
    """The format with a word.

    Raises
    ------
    NoslipError : that of the family, if there is none.
    """
    found = find_member(base, word)
    if found is None:
        fix = f"{nearest(word, words_of(base))}; {IF_YOUR_OWN}"
        raise base.error(f"there is no format '{word}'", where, fix)
    return found()


def find_format(base: type[F], path: str | os.PathLike[str]) -> F | None:
    """The format by the longest known suffix of a file; None if no suffix is known."""
    found = _find(base, path)
    if found is None:
        load_installed(base)
        found = _find(base, path)
    return found


def format_of(base: type[F], path: str | os.PathLike[str], verb: Verb) -> F:
    """The format by which a file is read or written.

    Raises
    ------
    NoslipError : that of the family, if the suffix is not known, or the format cannot do that.
    """
    found = find_format(base, path)
    if found is not None and found.can(verb):
        return found
    target = Path(path)
    what = f"as '{target.suffix or target.name}'" if found is None else f"as {found.name}"
    raise base.error(
        f"{base.holds} cannot be {_PARTICIPLE[verb]} {what}",
        str(target),
        f"let the name of the file end in {listed_suffixes(base, verb)}; {IF_YOUR_OWN}",
    )


def listed_suffixes(base: type[AbstractFormat], verb: Verb) -> str:
    """Suffixes of the files that can be read or written, as ".nc, .csv or .txt"."""
    able = (cls for cls in members_of(base, installed=True) if cls.can(verb))
    *others, last = dict.fromkeys(suffix for cls in able for suffix in cls.suffixes)
    return f"{', '.join(others)} or {last}" if others else last


def check_folder(path: str | os.PathLike[str], error: type[NoslipError]) -> Path:
    """The path of a file whose folder is there."""
    target = Path(path)
    # a folder that does not exist is more often a typo than a wish
    if not os.path.isdir(target.parent):
        raise error(
            f"there is no folder '{target.parent}'", str(target), "make it, or correct the path"
        )
    return target


def write_file(format: AbstractFormat, thing: Any, path: Path) -> None:
    """Write a file by a format, all or nothing."""
    # libraries may go by the suffix, in small letters
    write_atomically(path, lambda beside: format.write(thing, beside), suffix=path.suffix.lower())


def _find(base: type[F], path: str | os.PathLike[str]) -> F | None:
    name = Path(path).name.lower()
    fits = [
        (len(suffix), cls)
        for cls in members_of(base)
        for suffix in cls.suffixes
        if name.endswith(suffix)
    ]
    if not fits:
        return None
    longest = max(length for length, _ in fits)
    first, *others = (cls for length, cls in fits if length == longest)
    if others:
        words = ", ".join(f"'{cls.word}'" for cls in (first, *others))
        raise base.error(
            f"several formats have the suffix '{name[-longest:]}': {words}",
            str(path),
            "give your own format another suffix",
        )
    made: F = first()
    return made

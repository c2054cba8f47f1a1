"""Families: joints, surfaces, forces, shapes, formulations and so on, each found by its word.

A family is an abstract base class; its members are the classes below it. A member is registered by
its definition, wherever that stands: in the package, in a script, in a plugin. Tables of words
(model files, options of the command line, lists in messages) are read off the members.

To make a family:

1. let its base class derive from `Member` and name it: ``class AbstractForce(Member, family="force
   type")``;
2. declare in the base class what a member must answer (abstract) and what has a general fallback;
3. where a word is read, find its class by :func:`find_member`; where words are listed, ask
   :func:`words_of` or :func:`members_of`.

To add a member, define a class below the base class with a ``word`` of its own. A word is unique
in its family; a second class with the same word is refused, unless it is a new version of the
first (same module and name, as when a notebook's cell is run again).

A model file names words and never modules, so reading one runs no code of its author. A word is
known if its class was defined before: by the package, by an imported module, by
:func:`load_plugin` (``--plugin MODULE`` on the command line), or by an installed distribution with
an entry point in the group ``noslip``; those are imported when a word is asked for that is not
known otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from noslip.base.atomic import absolute
from noslip.base.errors import NoslipError
from noslip.base.reading import read_bytes

#: Group of the entry points of installed plugins.
ENTRY_POINTS = "noslip"

#: Package whose modules, listed as its `BRIDGES`, define members that are seldom asked for.
BRIDGES = "noslip.bridges"

#: Bytes of a plugin's file.
MAX_BYTES = 10_000_000

#: What to do about a word that is not known, for the `fix` of an error.
IF_YOUR_OWN = "for one of your own use load_plugin, or --plugin MODULE on the command line"

# base class → word → member
_FAMILIES: dict[type, dict[str, type[Any]]] = {}
# what was imported already: the bridges, installed plugins
_LOADED: set[str] = set()
_LOCK = threading.RLock()


class Member:
    """Base class of all families; see the list at the top of this file."""

    __slots__ = ()

    #: What it is called in model files, on the command line and in sentences.
    word: ClassVar[str]
    #: What others call it; messages then say which word is meant.
    also_called: ClassVar[tuple[str, ...]] = ()
    #: What one member of the family is called in messages.
    family: ClassVar[str]
    #: Module that imports all members of the package, where the base class's own does not.
    home: ClassVar[str] = ""
    #: Whether modules of `BRIDGES` define members of the family.
    has_bridges: ClassVar[bool] = False

    def __init_subclass__(cls, *, family: str = "", **others: Any) -> None:
        super().__init_subclass__(**others)
        if family:
            cls.family = family
            _FAMILIES[cls] = {}
        elif "word" in vars(cls):
            _register(cls)


def base_of(member: type) -> type | None:
    """The base class of the family that a class belongs to; None for a class of no family."""
    return next((base for base in member.__mro__ if base in _FAMILIES), None)


def members_of(base: type, *, installed: bool = False) -> tuple[type[Any], ...]:
    """All members of a family, in the order of their definition.

    Parameters
    ----------
    base : its base class.
    installed : whether to load installed plugins first.
    """
    if installed:
        load_installed(base)
    return tuple(_own_members(base).values())


def words_of(base: type, *, installed: bool = False) -> tuple[str, ...]:
    """The words of all members of a family."""
    if installed:
        load_installed(base)
    return tuple(_own_members(base))


def _own_members(base: type[Any]) -> dict[str, type[Any]]:
    """Members by their words, with those of the family's home."""
    if base.home and base.home not in _LOADED:
        importlib.import_module(base.home)
        _LOADED.add(base.home)
    return _FAMILIES[base]


def find_member(base: type, word: str) -> type[Any] | None:
    """The member with a word; installed plugins are loaded where it is not known without them."""
    if word not in _own_members(base):
        load_installed(base)
    return _FAMILIES[base].get(word)


def usual_word(base: type, other: str) -> str | None:
    """The word of the member that has `other` among its alternative names."""
    return next((word for word, m in _FAMILIES[base].items() if other in m.also_called), None)


def load_installed(base: type[Any]) -> None:
    """Import what installed distributions declare as plugins, and bridges that concern a family.

    Each is imported once in a process.

    Raises
    ------
    NoslipError : if one of them cannot be imported.
    """
    with _LOCK:
        if base.has_bridges and BRIDGES not in _LOADED:
            _LOADED.add(BRIDGES)
            if importlib.util.find_spec(BRIDGES):  # the package works without them
                for name in importlib.import_module(BRIDGES).BRIDGES:
                    importlib.import_module(f"{BRIDGES}.{name}")
        if ENTRY_POINTS in _LOADED:
            return
        _LOADED.add(ENTRY_POINTS)
        for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
            try:
                point.load()
            except NoslipError:
                raise
            except Exception as error:
                raise NoslipError(
                    f"the plugin '{point.name}' cannot be imported: {_reason(error)}",
                    f"entry point {ENTRY_POINTS}: {point.value}",
                    "correct it, or uninstall the distribution that brings it",
                ) from error


def load_plugin(name: str | os.PathLike[str]) -> ModuleType:
    """Import a module that defines members of families.

    Parameters
    ----------
    name : of an importable module, as ``my_project.joints``, or the path of a ``.py`` file. A file
        is run once in a process, and again if it has changed.

    Raises
    ------
    NoslipError : if there is no such module, or if it cannot be imported.
    """
    text = os.fspath(name)
    is_file = text.endswith(".py") or os.sep in text
    try:
        module = _load_file(text) if is_file else importlib.import_module(text)
        for thing in vars(module).values():
            # a module that was imported before may have been left out of the families since
            if inspect.isclass(thing) and "word" in vars(thing) and _is_of(thing, module):
                _register(thing)
        return module
    except NoslipError:
        raise
    except ModuleNotFoundError as error:
        if is_file or error.name is None or not text.startswith(error.name):
            raise _broken(text, error) from error
        raise NoslipError(
            f"there is no module '{text}'",
            f"plugin {text}",
            "check the name; give the path of a file as my_parts.py or folder/my_parts.py",
        ) from error
    except Exception as error:
        raise _broken(text, error) from error


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Context manager that forgets the members defined in it, for tests.

    Those of the package stay: their modules are imported once in a process.
    """
    before = {base: dict(members) for base, members in _FAMILIES.items()}
    try:
        yield
    finally:
        for base, members in _FAMILIES.items():
            own = {w: m for w, m in members.items() if m.__module__.startswith("noslip.")}
            members.clear()
            members.update(before.get(base, {}) | own)


def _register(cls: type[Any]) -> None:
    base = base_of(cls)
    if base is None:
        return
    with _LOCK:
        known = _FAMILIES[base].get(cls.word)
        # a data class with slots is made twice, and a notebook's cell may be run again
        if known is not None and _place(known) != _place(cls):
            raise NoslipError(
                f"two classes have the word '{cls.word}' of a {cls.family}",
                f"{_place(cls)} and {_place(known)}",
                f"give {cls.__name__} another word",
            )
        _FAMILIES[base][cls.word] = cls


def _is_of(cls: type, module: ModuleType) -> bool:
    return issubclass(cls, Member) and cls.__module__ == module.__name__


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _load_file(text: str) -> ModuleType:
    path = Path(text).expanduser()
    fix = "give the path of a Python file, or the name of an importable module"
    code = read_bytes(path, NoslipError, fix, max_bytes=MAX_BYTES)
    path = absolute(path)
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__noslip_code__", None) == code:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NoslipError(
            f"'{text}' is not a Python file", f"plugin {text}", "give a file that ends in .py"
        )
    module = importlib.util.module_from_spec(spec)
    module.__noslip_code__ = code  # type: ignore[attr-defined]
    # annotations of its classes are looked up here
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if known is None:
            del sys.modules[name]
        else:
            sys.modules[name] = known
        raise
    return module


def _broken(text: str, error: Exception) -> NoslipError:
    return NoslipError(
        f"the plugin '{text}' cannot be imported: {_reason(error)}",
        _line_of(text, error),
        "correct the module; python -c 'import …' shows the same error with its traceback",
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _line_of(text: str, error: Exception) -> str:
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    own = [f for f in frames if Path(f.filename).name == Path(text).name]
    return f"plugin {text}, line {own[-1].lineno}" if own else f"plugin {text}"

"""Families: joints, surfaces, forces, formats of files and so on, each member found by its word.

**Families: joints, surfaces, forces, shapes, formulations and so on, each found by its word.**

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

**File formats: how models, runs and equations are read and written, found by a file's suffix.**

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
import contextlib
import copy
import dataclasses
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeVar

from noslip.base.errors import Fault, ModelError, NoslipError, nearest
from noslip.base.files import absolute, read_bytes, write_atomically

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

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Sentences on what it breaks of what its family promises, at parameter values."""
        return iter(())

    def __init_subclass__(cls, *, family: str = "", **others: Any) -> None:
        super().__init_subclass__(**others)
        if family:
            cls.family = family
            _FAMILIES[cls] = {}
        elif "word" in vars(cls):
            _register(cls)


def check_member(member: object, parameters: Mapping[str, float] | None = None) -> None:
    """Check a member of a family, such as a joint type of your own, against the family's contract.

    Of every member: its word leads to its class, and equal copies are equal and hash alike. Of a
    joint type: motion, map of rates and closure belong to the pose, and the frames coincide at
    rest. Of surfaces and grounds: normals are unit vectors across the surface; the contact point
    of a convex one moves along the plane, within `reach`. Of shapes: faces have corners. Of paths,
    timing laws, controllers and sensors: text and object are the same; a path has no jump and
    stands nowhere. Of distributions: quantiles rise. Of formats: suffixes, and a way in or out.
    :func:`verify` compares formulations.

    Parameters
    ----------
    member : an object of its class, such as ``Screw(axis=(0, 0, 1), lead=0.1)``.
    parameters : values of the parameters in its fields, if they are expressions.

    Raises
    ------
    ModelError : if it breaks the contract; all that it breaks is listed.
    """
    cls, base = type(member), base_of(type(member))
    if isinstance(member, type) or not isinstance(member, Member) or base is None:
        name = getattr(member, "__name__", cls.__name__)
        raise ModelError(
            f"{name} is not an object of a class that noslip can extend",
            "argument of check_member",
            f"give an object: check_member({name}(...)), of a class below AbstractJointType or so",
        )
    where = f"{base.family} {_place(cls)}"
    try:
        broken = [*_common_contract(member, base), *member.contract(dict(parameters or {}))]
    except NoslipError:
        raise
    except Exception as error:
        broken = [f"it fails with {_reason(error)}"]
    if broken:
        fix = "docs/extending.md says what a member of each family must define"
        raise ModelError.from_faults([Fault(text, where, fix) for text in broken])


def _common_contract(member: Member, base: type[Any]) -> Iterator[str]:
    """What members of all families promise."""
    cls = type(member)
    word = getattr(cls, "word", None)
    if not isinstance(word, str) or not word or word != word.strip():
        yield f"its word is {word!r}, expected a text"
    elif find_member(base, word) is not cls:
        yield f"its word '{word}' leads to another class"
    if dataclasses.is_dataclass(member):
        copied = copy.copy(member)
        if copied != member:
            yield "a copy of it differs from it"
        elif cls.__hash__ is None or hash(copied) != hash(member):
            yield "equal objects have no equal hash: make it a frozen data class of hashable fields"


def base_of(member: type) -> type[Any] | None:
    """The base class of the family that a class belongs to; None for a class of no family."""
    return next((base for base in member.__mro__ if base in _FAMILIES), None)


def members_of(base: type, *, installed: bool = False) -> tuple[type[Any], ...]:
    """All members of a family, in the order of their definition.

    Parameters
    ----------
    base : base class of the family.
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
    name : name of an importable module, as ``my_project.joints``, or the path of a ``.py`` file. A
        file is run once in a process, and again if it has changed.

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

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Suffixes, a name, and a way in or out."""
        if not getattr(self, "name", "") or not getattr(self, "suffixes", ()):
            yield "it has no name or no suffixes"
        elif any(not s.startswith(".") or s != s.lower() for s in self.suffixes):
            yield f"its suffixes are {self.suffixes}, expected small letters after a dot"
        if not (self.can("read") or self.can("write")):
            yield "it neither reads nor writes"

    @classmethod
    def can(cls, verb: Verb) -> bool:
        """Whether it reads, or writes."""
        return getattr(cls, verb) is not getattr(AbstractFormat, verb)

    @classmethod
    def listed_suffixes(cls, verb: Verb) -> str:
        """Suffixes of a family's files that can be read or written, as ".nc, .csv or .txt"."""
        able = (member for member in members_of(cls, installed=True) if member.can(verb))
        *others, last = dict.fromkeys(suffix for member in able for suffix in member.suffixes)
        return f"{', '.join(others)} or {last}" if others else last


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
        f"let the name of the file end in {base.listed_suffixes(verb)}; {IF_YOUR_OWN}",
    )


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

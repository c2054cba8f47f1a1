"""Model files: text to a checked `Model` and back, TOML or a format of one's own.

**Line numbers of the keys of a TOML text, for messages that say where.**

A small scanner beside `tomllib`, which gives values but not places. It follows tables, arrays of
tables, dotted and quoted keys, inline tables and arrays over several lines. It does not judge:
where it meets something that is not TOML it stops, and `tomllib` says what is wrong there. It does
cap nesting, which `tomllib` does not.

**A `Model` from plain tables, as TOML has them, and back.**

The data classes say what a table may hold (`schema.py`). Reading collects every fault instead of
stopping at the first. Where a field cannot be read, a stand-in takes its place so that the rest can
still be checked; where the class of a part is unknown, the nearest known type is tried, and a
part that is like none is left out. Written tables leave out what equals its default.

**Model files: text to a checked `Model` and back, TOML or a format of one's own.**

A file is data. Nothing in it is ever run: values are read by `tomllib`, expressions by the small
reader of `expressions.py`. All faults are reported together, each with its line.

A format of models answers what `formats.py` lists, or, if it is text for the same tables, as
:class:`AbstractModelText` asks:

1. `table(text, file)`: the table of a text, and the line of each path of keys, if it knows them;
2. `text(table)`: the text of a table.

**JSON Schema of model files, for editors that complete and check keys.**

It is read off the data classes and families, as the reader is (`schema.py`), so it knows members of
plugins too. It checks keys and types; units, names and physics are checked by `noslip check`.
"""

from __future__ import annotations

import abc
import difflib
import inspect
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import noslip.model.parts.arms
import noslip.model.parts.vehicle_bodies  # noqa: F401  with those it imports, so that files know all words
from noslip.base import (
    IF_YOUR_OWN,
    AbstractFormat,
    Fault,
    ModelError,
    absolute,
    base_of,
    check_plain,
    field_texts,
    find_format,
    find_member,
    format_of,
    names_beside,
    read_text,
    usual_word,
    words_of,
    write_file,
)
from noslip.expressions import is_finite
from noslip.model.checks import check_model
from noslip.model.findings import NOUNS, Finding, Locate, Path, hint, owner, path_text
from noslip.model.forces import AbstractForce
from noslip.model.joints import Fixed
from noslip.model.model import Model, ModelBuilder
from noslip.model.parts.part import AbstractPart, expanded
from noslip.model.schema import FORMAT, ITEMS, Key, Kind, keys_of

#: Parts of a dotted key, and levels of arrays and inline tables, that are read.
MAX_NESTING = 16

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED_KEY = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN_VALUE = re.compile(r"[^,\[\]{}#\n\"']+")


class NestingError(ValueError):
    """A key has too many parts, or arrays and inline tables are nested too deep."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


class _Stop(Exception):
    """The text is not TOML from here on."""


def line_numbers(text: str) -> dict[Path, int]:
    """The line (from 1) at which each key path of a TOML text first appears.

    Returns
    -------
    dict
        Paths such as ``("bodies", "platform", "shapes", 0, "size")``; numbers are indices into
        arrays. The empty path is line 1.

    Raises
    ------
    NestingError : a key has more than `MAX_NESTING` parts, or values are nested deeper.
    """
    scanner = _Scanner(text)
    try:
        scanner.document()
    except _Stop:
        pass
    return scanner.lines


class _Scanner:
    """Walks the text once from front to back, one method a construct of TOML."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[Path, int] = {(): 1}
        # arrays of tables seen so far, with the index of the table now open
        self.open_tables: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return
            if self.text.startswith("[[", self.at):
                table = self.header("[[", "]]")
            elif self.text.startswith("[", self.at):
                table = self.header("[", "]")
            else:
                self.pair(table, 0)
                self.end_of_line()

    def header(self, opening: str, closing: str) -> Path:
        """``[a.b]`` or ``[[a.b]]``: the path of the table that follows."""
        line = self.line
        self.expect(opening)
        keys = self.key()
        self.expect(closing)
        self.end_of_line()
        path: Path = ()
        for k, key in enumerate(keys):
            path = (*path, key)
            self.note(path, line)
            if k == len(keys) - 1 and opening == "[[":
                self.open_tables[path] = self.open_tables.get(path, -1) + 1
            if path in self.open_tables:
                path = (*path, self.open_tables[path])
                self.note(path, line)
        return path

    def pair(self, table: Path, depth: int) -> None:
        """``key = value``, also inside an inline table."""
        line = self.line
        path = table
        for key in self.key():
            path = (*path, key)
            self.note(path, line)
        self.expect("=")
        self.skip(_SPACE)
        self.value(path, depth)

    def key(self) -> list[str]:
        """A bare, quoted or dotted key."""
        keys: list[str] = []
        while True:
            self.skip(_SPACE)
            if bare := self.skip(_BARE_KEY):
                keys.append(bare)
            elif quoted := self.skip(_QUOTED_KEY):
                keys.append(_unquoted(quoted))
            else:
                raise _Stop
            if len(keys) > MAX_NESTING:
                raise NestingError(f"a key has more than {MAX_NESTING} parts", self.line)
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def value(self, path: Path, depth: int) -> None:
        if depth > MAX_NESTING:
            raise NestingError(f"values are nested deeper than {MAX_NESTING} levels", self.line)
        if self.text.startswith("[", self.at):
            self.array(path, depth)
        elif self.text.startswith("{", self.at):
            self.inline_table(path, depth)
        elif not (self.skip(_STRING) or self.skip(_PLAIN_VALUE)):
            raise _Stop

    def array(self, path: Path, depth: int) -> None:
        self.expect("[")
        index = 0
        while True:
            self.skip(_BLANK)
            if self.text.startswith("]", self.at):
                break
            self.note((*path, index), self.line)
            self.value((*path, index), depth + 1)
            index += 1
            self.skip(_BLANK)
            if not self.text.startswith(",", self.at):
                break
            self.at += 1
        self.expect("]")

    def inline_table(self, path: Path, depth: int) -> None:
        self.expect("{")
        self.skip(_SPACE)
        while not self.text.startswith("}", self.at):
            self.pair(path, depth + 1)
            self.skip(_SPACE)
            if not self.text.startswith(",", self.at):
                break
            self.at += 1
        self.expect("}")

    def end_of_line(self) -> None:
        """Nothing but a comment may follow."""
        self.skip(_SPACE)
        if self.at < len(self.text) and self.text[self.at] not in "#\r\n":
            raise _Stop

    def expect(self, symbol: str) -> None:
        self.skip(_SPACE)
        if not self.text.startswith(symbol, self.at):
            raise _Stop
        self.at += len(symbol)

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Pass over a match, counting lines; empty if there is none."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        self.line += match[0].count("\n")
        return match[0]

    def note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)


def _unquoted(quoted: str) -> str:
    try:
        return tomllib.loads(f"key = {quoted}")["key"]
    except tomllib.TOMLDecodeError:
        raise _Stop from None


Table = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Result of reading a table: the model, and what is wrong with its keys and types."""

    #: model with stand-ins where fields could not be read; None if whole tables are missing
    model: Model | None
    findings: tuple[Finding, ...]  #: faults of the table itself: keys and types
    #: joints whose type is not known, and so neither their coordinates and speeds
    uncertain: tuple[str, ...]
    #: tables at the top that were read under the name that was meant → their name there
    renamed: dict[str, str]
    parts: tuple[AbstractPart, ...] = ()  #: parts that are still to be expanded


#: Parts stand beside the fields of a model, which has none of them.
PARTS = Key(name="parts", kind=Kind.NAMED, part=AbstractPart, is_required=False, default=())


def model_from_table(table: Table) -> Reading:
    """The model that a table describes, and all faults of its keys and types."""
    reader = _TableReader()
    table = dict(table)
    reader.check_format(table.pop("format", None))
    renamed = reader.rename(table, [key.name for key in (*keys_of(Model), PARTS)])
    parts = reader.value(PARTS, table.pop("parts", {}), ("parts",))
    model = reader.part(Model, None, table, ())
    return Reading(
        model=model if reader.is_whole else None,
        findings=tuple(reader.findings),
        uncertain=tuple(reader.uncertain),
        renamed=renamed,
        parts=parts,
    )


def nearest_word(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    return next(iter(difflib.get_close_matches(word, words, n=1)), None)


class _TableReader:
    """Reads parts from tables and notes what is wrong with them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.is_whole = True
        self.uncertain: list[str] = []

    def note(self, path: Path, what: str, fix: str) -> None:
        self.findings.append(Finding(path, what, fix))

    def check_format(self, given: Any) -> None:
        if given is None:
            self.note((), "the file does not give its format", f"add format = {FORMAT} at the top")
        elif isinstance(given, bool) or given != FORMAT:
            self.note(
                ("format",),
                f"format is {_shown(given)}, this version reads {FORMAT}",
                f"write format = {FORMAT}",
            )

    def rename(self, table: Table, known: list[str]) -> dict[str, str]:
        """Move tables at the top with unknown names to the nearest known name."""
        renamed: dict[str, str] = {}
        for name in [name for name in table if name not in known]:
            self.unknown(name, known, ())
            value = table.pop(name)
            meant = nearest_word(name, [key for key in known if key not in table])
            if meant is not None:
                table[meant], renamed[name] = value, meant
            elif isinstance(value, dict | list):
                # what it holds may be missed anywhere
                self.is_whole = False
        return renamed

    def part(
        self, part: type | None, family: type | None, table: Any, path: Path, **given: Any
    ) -> Any:
        """Read a part of a class or of a family from its table; None if its class is unknown."""
        if not isinstance(table, dict):
            self.wrong(path, table, Kind.PART)
            # what has a name may be missed anywhere
            self.is_whole &= "name" not in given
            return None
        rest = dict(table)
        known: list[str] = []
        if family is not None:
            part, known = self.chosen(family, rest, path), ["type"]
        if part is None:
            return None
        for key in keys_of(part):
            if not key.is_flat or key.family is None:
                continue
            # the fields of the joint's type are taken out of the joint's table
            joint_type = self.chosen(key.family, rest, path)
            types = (joint_type,) if joint_type else key.parts
            known += ["type", *(k.name for type_ in types for k in keys_of(type_))]
            if joint_type is None:
                joint_type = Fixed
                self.uncertain.append(str(path[-1]))
            given[key.name] = self.fields(joint_type, rest, path, {})
        known += [key.name for key in keys_of(part) if key.name not in given]
        read = self.fields(part, rest, path, given)
        if path and path[-1] in self.uncertain:
            rest = {name: value for name, value in rest.items() if name not in known}
        for name in rest:
            self.unknown(name, known, path)
        return read

    def chosen(self, family: type, table: Table, path: Path) -> type | None:
        """The member that the key ``type`` names, or that was probably meant; None for none."""
        word = table.pop("type", None)
        found = find_member(family, word) if isinstance(word, str) else None
        if found is not None:
            return found
        words = words_of(family)
        meant = nearest_word(word, words) if isinstance(word, str) else None
        listed = ", ".join(f'"{w}"' for w in words)
        if word is None:
            self.note(path, f"{_called(path)} has no type", f"add type = one of {listed}")
        else:
            what = f"{_called(path)} has type {_shown(word)}, expected one of {listed}"
            also = usual_word(family, str(word))
            fix = f"did you mean '{also}'?" if also else hint(str(word), words)
            meant = also or meant
            if isinstance(word, str) and meant is None:
                fix += f"; {IF_YOUR_OWN}"
            self.note((*path, "type"), what, fix)
        return find_member(family, meant) if meant is not None else None

    def fields(self, part: type, table: Table, path: Path, given: dict[str, Any]) -> Any:
        """A part from the keys of its table, which are taken out; None without a part it needs."""
        values = dict(given)
        for key in keys_of(part):
            if key.name in given:
                continue
            if key.name in table:
                values[key.name] = self.value(key, table.pop(key.name), (*path, key.name))
            elif key.is_required:
                what = f"{_called(path)} has no {key.name}"
                self.note((*path, key.name), what, f"add {_example(key)}")
                values[key.name] = _stand_in(key)
            if key.kind is Kind.PART and values.get(key.name, key.default) is None:
                if key.is_required:
                    return None
                values[key.name] = key.default
        return part(**values)

    def value(self, key: Key, value: Any, path: Path) -> Any:
        """Value of a key, read by its kind."""
        match key.kind:
            case Kind.PART:
                return self.part(key.part, key.family, value, path)
            case Kind.NAMED if isinstance(value, dict):
                named = (
                    self.part(key.part, key.family, v, (*path, n), name=n) for n, v in value.items()
                )
                return tuple(part for part in named if part is not None)
            case Kind.LIST if isinstance(value, list):
                listed = (
                    self.part(key.part, key.family, v, (*path, k)) for k, v in enumerate(value)
                )
                # the others keep their numbers
                return tuple(
                    _TableReader().fields(key.parts[0], {}, path, {}) if p is None else p
                    for p in listed
                )
            case Kind.TEXTS if isinstance(value, str) and key.size is None:
                return (value,)  # one of them needs no brackets
            case Kind.SCALARS | Kind.NUMBERS | Kind.TEXTS if isinstance(value, list):
                return self.array(key, value, path)
            case Kind.SCALAR_TABLE if isinstance(value, dict):
                return self.dotted(value, path)
            case Kind.TEXT_TABLE if isinstance(value, dict):
                return {n: self.plain(Kind.TEXT, v, (*path, n)) for n, v in value.items()}
            case Kind.NUMBER | Kind.WHOLE | Kind.TRUTH | Kind.TEXT | Kind.SCALAR:
                return self.plain(key.kind, value, path)
        self.wrong(path, value, key.kind)
        self.is_whole &= key.kind not in (Kind.NAMED, Kind.LIST, Kind.TEXTS)
        return _stand_in(key)

    def array(self, key: Key, value: list[Any], path: Path) -> tuple[Any, ...]:
        if key.size is not None and len(value) != key.size:
            self.note(
                path,
                f"{path_text(path)} has {len(value)} values, expected {key.size}",
                f"give {key.size} values, for example {_example(key)}",
            )
            self.is_whole &= key.kind is not Kind.TEXTS
            return _stand_in(key)
        kind = ITEMS[key.kind]
        # a name that cannot be read is missed wherever it is used
        self.is_whole &= kind is not Kind.TEXT or all(isinstance(v, str) for v in value)
        return tuple(self.plain(kind, v, (*path, k)) for k, v in enumerate(value))

    def dotted(self, table: Table, path: Path, prefix: str = "") -> dict[str, Any]:
        """Scalars by name; ``wheel1.angle`` may be a quoted key or a dotted one."""
        values: dict[str, Any] = {}
        for key, value in table.items():
            name, at = prefix + key, (*path, key)
            inner = isinstance(value, dict)
            found = self.dotted(value, at, f"{name}.") if inner else None
            for full, scalar in (found or {name: self.plain(Kind.SCALAR, value, at)}).items():
                if full in values:
                    self.note(at, f"'{full}' is given twice", "keep one of them")
                values[full] = scalar
        return values

    def plain(self, kind: Kind, value: Any, path: Path) -> Any:
        """A number, a truth value or a text; numbers become floats."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        match kind:
            case Kind.TRUTH if isinstance(value, bool):
                return value
            case Kind.TEXT | Kind.SCALAR if isinstance(value, str):
                return value
            case Kind.WHOLE if is_number and isinstance(value, int):
                return value
            case Kind.NUMBER | Kind.SCALAR if is_number:
                # what a float cannot hold stays as it is and is found by the checks
                return float(value) if is_finite(value) else value
        self.wrong(path, value, kind)
        return _STAND_INS[kind]

    def wrong(self, path: Path, value: Any, kind: Kind) -> None:
        """A key holds something of another kind."""
        what = f"{path_text(path)} is {_shown(value)}, expected {kind.value}"
        if kind is Kind.NAMED:
            fix = f"write a table for each, such as [{path_text(path)}.my_name]"
        elif kind is Kind.LIST:
            fix = f"write [[{path_text(path)}]] before each"
        elif isinstance(path[-1], int):
            fix = f"write {_EXAMPLES[kind]} there"
        else:
            fix = f"write {path[-1]} = {_EXAMPLES[kind]}"
        self.note(path, what, fix)

    def unknown(self, name: str, known: list[str], path: Path) -> None:
        where = path_text(path) if path else "a model file"
        if name == "name" and len(path) > 1 and path[0] in (*NOUNS, PARTS.name):
            fix = f"remove it; the name is '{path[-1]}', from the head of the table"
        else:
            fix = hint(name, known)
        self.note((*path, name), f"'{name}' is not a key of {where}", fix)


_EXAMPLES = {
    Kind.NUMBER: "1.5",
    Kind.WHOLE: "501",
    Kind.TRUTH: "true",
    Kind.TEXT: '"…" with the text in quotes',
    Kind.SCALAR: '1.5, or an expression in quotes such as "l/2"',
    Kind.SCALARS: "[0, 0, 1]",
    Kind.NUMBERS: "[0, 1]",
    Kind.TEXTS: '["a", "b", "c"]',
    Kind.SCALAR_TABLE: '{angle = 0.5} or {angle = "l/2"}',
    Kind.TEXT_TABLE: '{angle = "0.5*t"}',
    Kind.PART: "{…}, a table",
    Kind.LIST: "[{…}]",
    Kind.NAMED: "tables",
}

# what takes the place of a field that cannot be read; its own checks are then left out
_STAND_INS: dict[Kind, Any] = {
    Kind.NUMBER: 1.0,
    Kind.WHOLE: 2,
    Kind.TRUTH: True,
    Kind.TEXT: "",
    Kind.SCALAR: 1.0,
    Kind.SCALAR_TABLE: {},
    Kind.TEXT_TABLE: {},
    Kind.LIST: (),
    Kind.NAMED: (),
}


def _stand_in(key: Key) -> Any:
    if key.kind in (Kind.SCALARS, Kind.NUMBERS):
        return (1.0,) * (key.size or 3)
    if key.kind is Kind.TEXTS:
        return tuple("abcdef"[: key.size or 0])
    return _STAND_INS.get(key.kind)


def _example(key: Key) -> str:
    if key.name == "unit":
        return 'unit = "kg*m^2", or whatever its unit is; "1" for a dimensionless number'
    if key.name == "gravity":
        return "gravity = [0, 0, -9.81]"
    if key.family is not None:
        return f'{key.name} = {{type = "{words_of(key.family)[0]}", …}}'
    return f"{key.name} = {_EXAMPLES[key.kind]}"


def _called(path: Path) -> str:
    """Name of the table at a path in messages."""
    if len(path) == 2 and path[0] in (*NOUNS, PARTS.name):
        return owner(path)
    return path_text(path) if path else "the file"


def _shown(value: Any) -> str:
    """A value from a file in few words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "…"


# writing


def table_from_model(model: Model) -> Table:
    """The table that describes a model; what equals its default is left out."""
    return {"format": FORMAT, **_table(model)}


def _table(part: Any, skip: tuple[str, ...] = ()) -> Table:
    """Table of a part: the fields that differ from their defaults."""
    table: Table = {}
    described: type = type(part)
    # the type of a joint comes first, before the bodies it connects
    for key in sorted(keys_of(described), key=lambda key: not key.is_flat):
        value = getattr(part, key.name)
        if key.name in skip or (not key.is_required and value == key.default):
            continue
        if key.is_flat:
            table |= {"type": _word(value), **_table(value)}
        else:
            table[key.name] = _plain(key, value)
    return table


def _plain(key: Key, value: Any) -> Any:
    """Value of a field in the types of TOML."""
    match key.kind:
        case Kind.PART:
            return _typed(key, value)
        case Kind.NAMED:
            return {item.name: _typed(key, item, ("name",)) for item in value}
        case Kind.LIST:
            return [_typed(key, item) for item in value]
        case Kind.SCALARS | Kind.NUMBERS | Kind.TEXTS:
            return [_plain_scalar(item) for item in value]
        case Kind.SCALAR_TABLE | Kind.TEXT_TABLE:
            return {name: _plain_scalar(item) for name, item in value.items()}
        case _:
            return _plain_scalar(value)


def _typed(key: Key, part: Any, skip: tuple[str, ...] = ()) -> Table:
    """Table of a part, with its word if the key may hold any member of a family."""
    word = {"type": _word(part)} if key.family is not None else {}
    return {**word, **_table(part, skip)}


def _word(member: Any) -> str:
    """The word by which a file can name the class of a part."""
    own = type(member)
    if "word" not in vars(own):
        raise ModelError(
            f"{own.__name__} has no word of its own, so files cannot refer to it",
            f"class {own.__module__}.{own.__qualname__}",
            'give it one, as word = "my_word"',
        )
    return str(own.word)


def _plain_scalar(value: Any) -> Any:
    return value if isinstance(value, str | int) else float(value)


#: Files above this size in bytes are not read.
MAX_SIZE = 1_000_000

#: Inline tables are written on one line up to this length.
_LINE_LENGTH = 100


class AbstractModelFormat(AbstractFormat, family="model format"):
    """A format of model files; `read` gives a checked model with warnings, `write` takes one."""

    __slots__ = ()

    holds = "a model"
    error = ModelError


class AbstractModelText(AbstractModelFormat):
    """A format that is text for tables, with the checks, limits and messages of all of them."""

    __slots__ = ()

    @abc.abstractmethod
    def table(self, text: str, file: str) -> tuple[Table, dict[Path, int]]:
        """The table of a text, and the line of each path of keys; none if they are not known.

        A ValueError is reported as a fault of the file; a ModelError as it is.
        """

    @abc.abstractmethod
    def text(self, table: Table) -> str:
        """The text of a table of texts, numbers, truths, lists and tables."""

    def read(self, path: FilePath) -> tuple[Model, tuple[Fault, ...]]:
        """The checked model of a file, and warnings about what is unusual in it."""
        file = os.fspath(path)
        fix = f"{_fix()}; results and meshes do not belong in one"
        return parse_model(read_text(file, ModelError, fix, max_bytes=MAX_SIZE), file, self)

    def write(self, model: Model, path: FilePath) -> None:
        """Write a checked model."""
        path.write_bytes(self.text(table_from_model(model)).encode("utf-8"))


class Toml(AbstractModelText):
    """TOML, the format of the package; docs/model-files.md lists its keys."""

    __slots__ = ()

    word = "toml"
    name = "TOML"
    suffixes = (".toml",)

    def table(self, text: str, file: str) -> tuple[Table, dict[Path, int]]:
        """Values and line numbers of a TOML text."""
        return _read_table(text, file)

    def text(self, table: Table) -> str:
        """TOML text of a table: keys that fit on a line first, then its subtables."""
        return "\n".join(_written(table, ())).strip("\n") + "\n"


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path has the suffix of a model file."""
    return find_format(AbstractModelFormat, path) is not None


def model_suffixes() -> str:
    """Suffixes of model files that can be read, for messages."""
    return AbstractModelFormat.listed_suffixes("read")


def meant_file(path: FilePath) -> FilePath | None:
    """The model file of which a path is all but the suffix, or what is alike in another folder."""
    there = names_beside(path)
    names = [n for n in there if FilePath(n).stem == path.name and is_model_file(n)]
    if not names and path.parent != FilePath():
        names = difflib.get_close_matches(path.name, there, n=1)
    return path.with_name(names[0]) if names else None


def load_model(path: str | os.PathLike[str]) -> Model:
    """The model that a file describes.

    Parameters
    ----------
    path : str or path
        A model file; docs/model-files.md lists its keys.

    Raises
    ------
    ModelError : with all faults of the file, each with its line.
    """
    return read_model(path)[0]


def read_model(path: str | os.PathLike[str]) -> tuple[Model, tuple[Fault, ...]]:
    """The model that a file describes, and warnings about what is unusual in it.

    Raises
    ------
    ModelError : with all faults of the file, each with its line.
    """
    file = os.fspath(path)
    check_plain(file, ModelError, _fix())
    model, warnings = format_of(AbstractModelFormat, file, "read").read(FilePath(file))
    return model, warnings


def parse_model(
    text: str, file: str = "model", format: AbstractModelText | None = None
) -> tuple[Model, tuple[Fault, ...]]:
    """The model that a text describes, and warnings about what is unusual in it.

    Parameters
    ----------
    text : str
        What a model file holds.
    file : str
        What messages call the file.
    format : format of the text, TOML by default.

    Raises
    ------
    ModelError : with all faults of the text, each with its line.
    """
    used = format if format is not None else Toml()
    try:
        table, lines = used.table(text, file)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"the text is not {used.name}: {error}", file, "correct it there"
        ) from error
    if not isinstance(table, dict):
        raise ModelError(
            "the file contains no table of keys and values", file, "start with the model's name"
        )
    if not table:
        raise ModelError(
            "the file is empty",
            file,
            'start with format = 1, name = "…" and gravity = [0, 0, -9.81], then bodies and '
            "joints; docs/model-files.md has an example",
        )
    reading = model_from_table(table)
    findings = list(reading.findings)
    model = reading.model
    if reading.model is not None:
        # fields that could not be read hold stand-ins, about which nothing is said
        broken = [finding.path for finding in findings]
        names = tuple(f"'{joint}." for joint in reading.uncertain)
        builder = ModelBuilder.from_model(reading.model)
        for part in reading.parts:
            builder.part(part)
        model, of_model = expanded(builder)
        found = (f for f in of_model if not any(n in f.what for n in names))
        findings += [f for f in found if not any(_touch(f.path, path) for path in broken)]
    lines |= {
        (reading.renamed[str(path[0])], *path[1:]): line
        for path, line in lines.items()
        if path and path[0] in reading.renamed
    }
    if lines:
        findings.sort(key=lambda finding: _line(finding.path, lines))
    locate = _locator(file, lines)
    faults = [finding.fault(locate) for finding in findings if not finding.warning]
    if faults or model is None:
        raise ModelError.from_faults(faults)
    return model, tuple(finding.fault(locate) for finding in findings)


def save_model(
    model: Model, path: str | os.PathLike[str], *, overwrite: bool = False
) -> tuple[str, ...]:
    """Write a model to a file that :func:`load_model` reads back.

    To an equal model, unless the format, such as URDF, cannot say all of it.

    The file appears whole or not at all; folders on the way to it are made.

    Parameters
    ----------
    model : Model
        What to write; it is checked first.
    path : str or path
        Where to write it; its suffix says the format.
    overwrite : bool
        Whether a file that is already there may be replaced.

    Returns
    -------
    tuple : what the format cannot say of the model, a sentence each; nothing for TOML.

    Raises
    ------
    ModelError : the model has faults, the file exists, or it cannot be written.
    """
    file = os.fspath(path)
    check_model(model)
    if "\0" in file:
        shown = file.replace("\0", "\\0")
        raise ModelError(
            "the name contains a NUL character, which file names cannot", shown, "correct the name"
        )
    if os.path.isdir(file):
        raise ModelError(
            f"'{file}' is a folder", file, f"give a file name in it, such as {model.name}.toml"
        )
    if os.path.lexists(file) and not overwrite:
        raise ModelError(
            f"there is already a file '{file}'", file, "choose another name, or pass overwrite=True"
        )
    format = format_of(AbstractModelFormat, file, "write")
    try:
        write_file(format, model, absolute(file))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"'{file}' cannot be written: {_reason(error)}",
            file,
            "check the name, and that the folder may be written to",
        ) from error
    return format.notes(model)


def model_to_toml(model: Model) -> str:
    """The text of a model file in TOML.

    Parameters
    ----------
    model : Model
        What to write; it is checked first.

    Raises
    ------
    ModelError : the model has faults.
    """
    check_model(model)
    return Toml().text(table_from_model(model))


def parse_force(model: Model, text: str, number: int = 1) -> AbstractForce:
    """A force on a model, of the entries of its table in a model file.

    As in ``type='wrench', body='base', force=['5*sin(t)', 0, 0]``.

    Parameters
    ----------
    model : model that it acts on.
    text : entries of its table.
    number : number to name it by.

    Raises
    ------
    ModelError : if the text cannot be read, or the force does not suit the model.
    """
    name, where = f"push{number}", f"push '{text}'"
    try:
        tomllib.loads(f"{name} = {{{text}}}")
    except tomllib.TOMLDecodeError as error:
        raise ModelError(
            f"it cannot be read: {error}",
            where,
            "write it as in a model file: type='wrench', body='base', force=['5*sin(t)', 0, 0]",
        ) from None
    other, _ = parse_model(f"forces.{name} = {{{text}}}\n{model_to_toml(model)}", where)
    return next(force for force in other.forces if force not in model.forces)


def _read_table(text: str, file: str) -> tuple[Table, dict[Path, int]]:
    """Values and line numbers of a TOML text."""
    try:
        lines = line_numbers(text)
        return tomllib.loads(text), lines
    except NestingError as error:
        raise ModelError(
            f"{error}",
            f"{file}, line {error.line}",
            "no key of a model file is nested that deep; see docs/model-files.md",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _not_toml(str(error), text, file) from error


def _not_toml(message: str, text: str, file: str) -> ModelError:
    """The complaint of `tomllib` in our three parts."""
    found = re.fullmatch(r"(?s)(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message)
    said, line, where = message, 0, file
    if found is not None:
        said = found[1]
        line = int(found[2]) if found[2] else text.count("\n") + 1
        where = f"{file}, line {line}" + (f", column {found[3]}" if found[3] else "")
    said = re.sub(r"\b[Ii]nvalid\b", "unreadable", said)
    # a key path comes as a Python tuple: ('bodies', 'wheel') is bodies.wheel
    said = re.sub(r"\('(.*?)',?\)", lambda m: m[1].replace("', '", "."), said)
    shown = text.splitlines()[line - 1].strip() if 0 < line <= len(text.splitlines()) else ""
    what = f"the text '{shown[:60]}' is not TOML: " if shown else "the text is not TOML: "
    fix = (
        "write key = value, with text in quotes, arrays in [ ], commas between entries, and each "
        "key and table once"
    )
    if not re.sub(r"\".*?\"|'.*?'|#.*", "", shown).isascii():
        fix = "name parts with the letters a to z, digits and _; other letters belong in quotes"
    return ModelError(what + said[:1].lower() + said[1:], where, fix)


def _fix() -> str:
    return f"give the name of a {model_suffixes()} file"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _line(path: Path, lines: dict[Path, int]) -> int:
    """Line of a path, or of the closest table around it."""
    while path not in lines:
        # names such as wheel1.angle may be written as dotted keys
        dotted = tuple(part for step in path for part in _parts(step))
        if dotted in lines:
            return lines[dotted]
        path = path[:-1]
    return lines[path]


def _parts(step: str | int) -> list[str | int]:
    return [*step.split(".")] if isinstance(step, str) else [step]


def _locator(file: str, lines: dict[Path, int]) -> Locate:
    if not lines:
        return lambda path: f"{file}, {path_text(path)}"
    return lambda path: f"{file}, line {_line(path, lines)}, {path_text(path)}"


def _touch(one: Path, other: Path) -> bool:
    """Whether one path is inside the other."""
    size = min(len(one), len(other))
    return size > 0 and one[:size] == other[:size]


def _written(table: Table, path: tuple[str, ...]) -> list[str]:
    """Lines of a table: what fits on a line first, then the tables below it."""
    plain, below = [], []
    for key, value in table.items():
        line = f"{_literal_key(key)} = {_literal(value)}"
        is_tables = isinstance(value, list) and any(isinstance(item, dict) for item in value)
        is_short = len(line) <= _LINE_LENGTH and len(path) > 1
        if (isinstance(value, dict) or is_tables) and not is_short:
            below.append((key, value))
        else:
            plain.append(line)
    lines = plain
    for key, value in below:
        inner = (*path, key)
        name = ".".join(_literal_key(k) for k in inner)
        for item in value if isinstance(value, list) else [value]:
            head = f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
            body = _written(item, inner)
            # a table that only holds tables needs no head of its own
            only_tables = body and body[0] == ""
            lines += body if only_tables and not isinstance(value, list) else ["", head, *body]
    return lines


def _literal(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_literal_key(k)} = {_literal(v)}" for k, v in value.items())
        return f"{{{inner}}}"
    return _dumped({"key": value}).removeprefix("key = ")


def _literal_key(key: str) -> str:
    return _dumped({key: 0}).removesuffix(" = 0")


def _dumped(table: dict[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(table).removesuffix("\n")


Schema = dict[str, Any]

_SCALAR: Schema = {"$ref": "#/$defs/scalar"}
_PLAIN: dict[Kind, Schema] = {
    Kind.NUMBER: {"type": "number"},
    Kind.WHOLE: {"type": "integer"},
    Kind.TRUTH: {"type": "boolean"},
    Kind.TEXT: {"type": "string"},
    Kind.SCALAR: _SCALAR,
    Kind.SCALAR_TABLE: {"$ref": "#/$defs/scalars"},
    Kind.TEXT_TABLE: {"$ref": "#/$defs/scalars"},
}


def model_schema() -> Schema:
    """The JSON Schema (draft 2020-12) of a model file."""
    definitions: dict[str, Schema] = {
        "scalar": {
            "description": "a number, or an expression of parameters in quotes",
            "type": ["number", "string"],
        },
        "scalars": {
            "description": "numbers or expressions by name; names with points may be dotted keys",
            "type": "object",
            "additionalProperties": {"anyOf": [_SCALAR, {"$ref": "#/$defs/scalars"}]},
        },
    }
    table = _table_schema(Model, (*keys_of(Model), PARTS), definitions)
    table["properties"] = {
        "format": {"const": FORMAT, "description": "version of the layout of the file"},
        **table["properties"],
    }
    table["required"] = ["format", *table.get("required", [])]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "noslip model file",
        **table,
        "$defs": definitions,
    }


def _table_schema(part: type, keys: tuple[Key, ...], definitions: dict[str, Schema]) -> Schema:
    """The schema of a table with some keys; fields of the part describe them."""
    described = field_texts(part)
    properties: dict[str, Schema] = {}
    for key in keys:
        found = dict(_value(key, definitions))
        said = [described.get(key.name, ""), key.meaning.unit and f"[{key.meaning.unit}]"]
        text = " ".join(word for word in said if word)
        # what stands beside a reference adds to it
        properties[key.name] = {**found, "description": text} if text else found
    required = [key.name for key in keys if key.is_required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _value(key: Key, definitions: dict[str, Schema]) -> Schema:
    """The schema of what a key holds."""
    if key.kind in _PLAIN:
        return _PLAIN[key.kind]
    if key.kind in ITEMS:
        items = _PLAIN[ITEMS[key.kind]]
        size = {} if key.size is None else {"minItems": key.size, "maxItems": key.size}
        array: Schema = {"type": "array", "items": items, **size}
        is_one_enough = key.kind is Kind.TEXTS and key.size is None
        return {"anyOf": [{"type": "string"}, array]} if is_one_enough else array
    assert key.part is not None, "all other kinds hold parts"
    is_named = key.kind is Kind.NAMED
    held = _reference(key.part, is_named, definitions)
    if is_named:
        return {"type": "object", "additionalProperties": held}
    return {"type": "array", "items": held} if key.kind is Kind.LIST else held


def _reference(part: type, is_named: bool, definitions: dict[str, Schema]) -> Schema:
    """A reference to the schema of a part, or of any member of its family."""
    name = part.__name__
    if name not in definitions:
        definitions[name] = {}  # parts may hold parts of their own kind
        members = Key(name="", kind=Kind.PART, part=part).parts
        if base_of(part) is part:
            tables = [_member(member, is_named, definitions) for member in members]
            definitions[name] = _one_of(tables)
        else:
            definitions[name] = _with_flat(part, is_named, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _own_keys(part: type, is_named: bool) -> tuple[Key, ...]:
    """Keys of a table: the name stands at its head."""
    return tuple(key for key in keys_of(part) if not (is_named and key.name == "name"))


def _member(member: type[Any], is_named: bool, definitions: dict[str, Schema]) -> Schema:
    """The table of a member of a family, with its word as its type."""
    table = _table_schema(member, _own_keys(member, is_named), definitions)
    said = (inspect.getdoc(member) or "").split("\n")[0]
    table["properties"] = {"type": {"const": member.word}, **table["properties"]}
    table["required"] = ["type", *table.get("required", [])]
    return {"title": member.word, "description": said, **table}


def _with_flat(part: type, is_named: bool, definitions: dict[str, Schema]) -> Schema:
    """The table of a part; with the keys of each type where they stand in the same table."""
    keys = _own_keys(part, is_named)
    flat = next((key for key in keys if key.is_flat), None)
    own = _table_schema(part, tuple(key for key in keys if not key.is_flat), definitions)
    if flat is None:
        return own
    tables = []
    for kind in flat.parts:
        table = _member(kind, False, definitions)
        table["properties"] = {**table["properties"], **own["properties"]}
        table["required"] = [*table["required"], *own.get("required", [])]
        tables.append(table)
    return _one_of(tables)


def _one_of(tables: list[Schema]) -> Schema:
    """Any of some tables; the type chooses, so that editors complain about the right one."""
    words = [table["properties"]["type"]["const"] for table in tables]
    return {
        "type": "object",
        "properties": {"type": {"enum": words}},
        "required": ["type"],
        "allOf": [
            {
                "if": {"properties": {"type": {"const": word}}, "required": ["type"]},
                "then": table,
            }
            for word, table in zip(words, tables, strict=True)
        ],
    }

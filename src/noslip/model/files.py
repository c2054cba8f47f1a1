"""Model files: text to a checked `Model` and back, TOML or a format of one's own.

A file is data. Nothing in it is ever run: values are read by `tomllib`, expressions by the small
reader of `expressions.py`. All faults are reported together, each with its line.

A format of models answers what `formats.py` lists, or, if it is text for the same tables, as
:class:`AbstractModelText` asks:

1. `table(text, file)`: the table of a text, and the line of each path of keys, if it knows them;
2. `text(table)`: the text of a table.
"""

from __future__ import annotations

import abc
import difflib
import os
import re
import tomllib
from pathlib import Path as FilePath
from typing import Any

import noslip.model.parts.arms
import noslip.model.parts.hitches  # noqa: F401  with those it imports, so that files know all words
from noslip.base import (
    AbstractFormat,
    Fault,
    ModelError,
    absolute,
    check_plain,
    find_format,
    format_of,
    listed_suffixes,
    names_beside,
    read_text,
    write_file,
)
from noslip.model.checks import check_model
from noslip.model.findings import Locate, Path, path_text
from noslip.model.forces import AbstractForce
from noslip.model.lines import NestingError, line_numbers
from noslip.model.model import Model, ModelBuilder
from noslip.model.parts.expansion import expanded
from noslip.model.tables import Table, model_from_table, table_from_model

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
    """A format that is text for the tables of `tables.py`, with the checks, limits and messages
    of all of them.
    """

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
    return listed_suffixes(AbstractModelFormat, "read")


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

    Parameters
    ----------
    path : str or path
        A model file; docs/model-files.md lists its keys.

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
    format : of the text, TOML by default.

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
    model : that it acts on.
    text : entries of its table.
    number : to name it by.

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

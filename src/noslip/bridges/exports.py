"""`export`: runs, models and compiled systems as files of other programs.

A target is a format of one of three families, and its family says what it takes:

    AbstractRunFormat     a run: tables and bags
    AbstractModelFormat   a model: descriptions of robots
    AbstractSystemFormat  a compiled system: code

To add one: a class of that family with `word`, `name`, `suffixes` and `write`, or `files` for a
system, in a module of its own that `BRIDGES` names. Options of a target are the fields of its class
(a frozen data class). `notes(thing)` says what of a thing the file does not carry.

**A compiled system as a file that CasADi loads: ``casadi.Function.load("agv.casadi")``.**

**Runs as tables for other programs: MAT files (MATLAB, Octave) and Parquet (pandas, Polars).**

**A model as a module of WebAssembly, with an ES module that drives it.**
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import os
import re
import tempfile
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from noslip import CompileError, Model, NoslipError, SimulationError, System, Trajectory, derive
from noslip.base import (
    IF_YOUR_OWN,
    AbstractFormat,
    check_folder,
    find_format,
    members_of,
    nearest,
    open_plain,
    require,
    write_atomically,
    write_file,
)
from noslip.formats import AbstractRunFormat
from noslip.model import AbstractModelFormat
from noslip.simulation import ColumnTable
from noslip.web import live_run, module_files


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
        system : system to be written.
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
    thing : object that the target takes; a system is also its model, and a model is derived where a
        system is asked for.
    path : path of the file, or of the first of several.
    to : word of the target; by default the one with the suffix of the path.
    overwrite : whether files that are already there may be replaced.
    options : options of the target.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CasadiFile(AbstractSystemFormat):
    """A serialized CasADi function; see `System.casadi_function`."""

    outputs: str = "rates,speeds,measures"  #: names of its outputs, separated by commas

    word = "casadi"
    name = "a CasADi function"
    suffixes = (".casadi",)

    def files(self, system: System, stem: str) -> tuple[bytes]:
        """Content of the file, as CasADi writes it."""
        words = [word.strip() for word in self.outputs.split(",")]
        function = system.casadi_function(words, name=function_name(system.model.name))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "function.casadi"
            function.save(str(path))
            return (path.read_bytes(),)

    def notes(self, system: System) -> tuple[str, ...]:
        """Note that the file has one choice of independent speeds."""
        names = ", ".join(s.name for s in system.independent_speeds)
        return (
            f"the independent speeds are {names} throughout; 'measures' says where they end",
            "names and units of the entries are left out",
        )


def function_name(text: str) -> str:
    """A name that CasADi takes, made of any text."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", text, flags=re.ASCII).strip("_")
    return made if made[:1].isalpha() else f"model_{made}".strip("_")


#: Letters of a name in MATLAB.
MAX_NAME = 63


class Mat(AbstractRunFormat):
    """A MAT file (version 5) with a struct ``run``: time, a field a column, units, attributes.

    A dot in a name becomes a low line: ``platform.x`` is ``run.platform_x``.
    """

    __slots__ = ()

    word = "mat"
    name = "MAT"
    suffixes = (".mat",)

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns, units by the same names, and attributes."""
        from scipy.io import savemat

        columns = {"time": ("s", run.t), **run.columns}
        names = matlab_names(list(columns))
        table = {names[name]: np.asarray(values) for name, (_, values) in columns.items()}
        units = {names[name]: unit for name, (unit, _) in columns.items()}
        called = {names[name]: name for name in columns}
        about = {matlab_names([k])[k]: v for k, v in run.attributes.items()}
        held = {"run": table, "units": units, "names": called, "about": about}
        with path.open("wb") as file:
            savemat(file, held, oned_as="column", long_field_names=True, do_compression=True)


class Parquet(AbstractRunFormat):
    """A Parquet file, one column of doubles each, the unit in the metadata of its field."""

    __slots__ = ()

    word = "parquet"
    name = "Parquet"
    suffixes = (".parquet",)

    def write(self, run: Trajectory, path: Path) -> None:
        """Write all columns and attributes."""
        pa, parquet = _pyarrow("a run as .parquet")
        columns = {"time": ("s", run.t), **run.columns}
        fields = [
            pa.field(name, pa.float64(), metadata={"unit": u}) for name, (u, _) in columns.items()
        ]
        about = {name: str(value) for name, value in run.attributes.items()}
        schema = pa.schema(fields, metadata=about)
        values = [pa.array(np.ascontiguousarray(v)) for _, v in columns.values()]
        parquet.write_table(pa.table(values, schema=schema), path)

    def read(self, path: Path) -> ColumnTable:
        """All columns of numbers; a column without a unit has none."""
        _, parquet = _pyarrow(str(path))
        fix = "give a Parquet file with columns of numbers, time among them"
        with open_plain(path, SimulationError, fix) as file:
            try:
                table = parquet.read_table(file)
            except (OSError, ValueError) as error:  # those of pyarrow
                raise SimulationError(f"the file is not Parquet: {error}", str(path), fix) from None
        result: ColumnTable = {}
        for field, column in zip(table.schema, table.columns, strict=True):
            unit = (field.metadata or {}).get(b"unit", b"").decode("utf-8", "replace")
            result[field.name] = (unit, np.asarray(column.to_numpy(), dtype=float))
        return result


def matlab_names(names: list[str]) -> dict[str, str]:
    """Name → a unique name that MATLAB can have."""
    result: dict[str, str] = {}
    for name in names:
        made = re.sub(r"[^A-Za-z0-9_]", "_", name, flags=re.ASCII)
        made = (made if made[:1].isalpha() else f"x{made}")[:MAX_NAME]
        candidate, number = made, 2
        while candidate in result.values():
            ending = f"_{number}"
            candidate, number = made[: MAX_NAME - len(ending)] + ending, number + 1
        result[name] = candidate
    return result


def _pyarrow(where: str) -> tuple[Any, Any]:
    require("pyarrow", "Parquet", where)
    import pyarrow
    import pyarrow.parquet

    return pyarrow, pyarrow.parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class WasmModule(AbstractSystemFormat):
    """A module that runs the model's scenario in a browser or in Node."""

    duration: float = 0.0  #: s; the scenario's own by default
    tolerance: float = 1e-9  #: tolerance of the integration

    word = "wasm"
    name = "a module of WebAssembly"
    suffixes = (".wasm",)
    companions = (".mjs", ".d.mts", ".md")

    def files(self, system: System, stem: str) -> tuple[bytes, ...]:
        """The module, the program that drives it, its types, and a page about both."""
        live = live_run(
            system,
            duration=self.duration or None,
            rtol=self.tolerance,
            with_picture=False,
        )
        return module_files(live, stem)

    def notes(self, system: System) -> tuple[str, ...]:
        """Note on the choices of independent speeds."""
        names = ", ".join(s.name for s in system.independent_speeds)
        return (f"runs begin in the independent speeds {names}; others that they need are inside",)

"""Paths as text, for the command line: ``circle:radius=2``, ``line:start=0,0;end=5,1``.

    form  = name [ ":" entry { ";" entry } ]
    entry = key "=" value | value

A comma does for a semicolon where a key follows: ``line:start=0,0,end=5,1`` needs no quotes in a
shell. Keys are the arguments of the class; a value without a key is that of the first. A number may
be arithmetic (``2*pi``), a point is ``x,y``, points are ``x,y,x,y,…``, a choice is ``true`` or
``false``, and those of :class:`Graph` and :class:`Parametric` are expressions as they stand.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from noslip.control.paths.base import AbstractPath
from noslip.control.paths.clothoids import Clothoid, Polyline
from noslip.control.paths.curves import (
    Arc,
    Catenary,
    Circle,
    Ellipse,
    FigureEight,
    Graph,
    Line,
    Parametric,
    Sine,
)
from noslip.control.paths.splines import Nurbs, Spline, path_from_csv
from noslip.errors import SimulationError, nearest
from noslip.model import expressions

#: Paths by the name they have in text.
PATHS: dict[str, type[AbstractPath]] = {
    "line": Line,
    "circle": Circle,
    "arc": Arc,
    "ellipse": Ellipse,
    "figure-eight": FigureEight,
    "catenary": Catenary,
    "sine": Sine,
    "clothoid": Clothoid,
    "polyline": Polyline,
    "spline": Spline,
    "nurbs": Nurbs,
    "graph": Graph,
    "parametric": Parametric,
}

Made = TypeVar("Made")


def parse_path(text: str) -> AbstractPath:
    """The path that a `text` describes: ``name:key=value;key=value``, or ``csv:`` and a file.

    Raises
    ------
    SimulationError : a name or key is not known, or a value cannot be read.
    """
    name, _, rest = text.partition(":")
    if name.strip() == "csv":
        return path_from_csv(rest.strip())
    return read_form(text, "path", PATHS, ("csv",))


def read_form(
    text: str,
    kind: str,
    members: Mapping[str, type[Made]],
    others: tuple[str, ...] = (),
    known: Mapping[str, Any] | None = None,
) -> Made:
    """The member of a family that a text describes.

    Parameters
    ----------
    text : ``name:key=value;key=value``.
    kind : what the members are, for messages.
    members : classes by name, whose arguments have the types of `_READERS`.
    others : names that are known but read elsewhere, for messages.
    known : arguments that are known from elsewhere; those of the text come first.
    """
    name, _, _ = text.partition(":")
    name, where = name.strip(), f"{kind} '{text}'"
    if name not in members:
        raise SimulationError(
            f"there is no {kind} '{name}'", where, nearest(name, (*members, *others))
        )
    made = members[name]
    arguments = dict(inspect.signature(made).parameters)
    values: dict[str, Any] = {}
    for key, value in read_entries(text, kind, list(arguments)):
        if key not in arguments:
            raise SimulationError(f"{kind} '{name}' has no '{key}'", where, nearest(key, arguments))
        values[key] = _READERS[str(arguments[key].annotation)](value, key, where)
    values = {k: v for k, v in (known or {}).items() if k in arguments} | values
    missing = [k for k, f in arguments.items() if k not in values and f.default is f.empty]
    if missing:
        listed = ";".join(f"{key}=…" for key in missing)
        raise SimulationError(
            f"{kind} '{name}' needs {' and '.join(missing)}", where, f"add them: {listed}"
        )
    return made(**values)


def read_entries(text: str, kind: str, keys: list[str]) -> list[tuple[str, str]]:
    """Keys and values of a text, in order; the first value may stand alone.

    Parameters
    ----------
    text : ``name:key=value;key=value``.
    kind : what it describes, for messages.
    keys : known ones; a first value without a key is that of the first of them.
    """
    where, rest = f"{kind} '{text}'", text.partition(":")[2]
    found: list[tuple[str, str]] = []
    for k, entry in enumerate(e for e in _SEPARATORS.split(rest) if e.strip()):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not equals and k == 0 and keys:
            key, value = keys[0], key
        elif not equals:
            raise SimulationError(
                f"'{entry.strip()}' has no key", where, f"write key=value; keys: {', '.join(keys)}"
            )
        if key in dict(found):
            raise SimulationError(f"'{key}' is given twice", where, f"remove one '{key}=…'")
        found.append((key, value))
    return found


#: Between entries: a semicolon, or a comma before a key.
_SEPARATORS = re.compile(r";|,(?=\s*[A-Za-z_][\w.]*\s*=)")


def read_number(text: str, key: str, where: str) -> float:
    """A finite number, which may be arithmetic; `key` and `where` are for messages."""
    try:
        value = expressions.nominal(text, {})
    except (expressions.ExpressionError, KeyError):
        value = math.nan
    if not math.isfinite(value):
        raise SimulationError(
            f"{key} is '{text}', which is not a number", where, f"write {key}=1.5 or {key}=pi/2"
        )
    return value


def _numbers(text: str, key: str, where: str) -> tuple[float, ...]:
    return tuple(read_number(part.strip(), key, where) for part in text.split(","))


def _integer(text: str, key: str, where: str) -> int:
    value = read_number(text, key, where)
    if value != int(value):
        raise SimulationError(
            f"{key} is '{text}', which is not a whole number", where, f"write {key}=3"
        )
    return int(value)


def _point(text: str, key: str, where: str) -> tuple[float, ...]:
    values = _numbers(text, key, where)
    if len(values) != 2:
        raise SimulationError(
            f"{key} has {len(values)} numbers, expected x and y", where, f"write {key}=0,1"
        )
    return values


def _points(text: str, key: str, where: str) -> tuple[tuple[float, float], ...]:
    values = _numbers(text, key, where)
    if len(values) % 2:
        raise SimulationError(
            f"{key} has {len(values)} numbers, expected x and y of every point",
            where,
            f"write {key}=0,0,1,0,1,1",
        )
    return tuple(zip(values[::2], values[1::2], strict=True))


def _flag(text: str, key: str, where: str) -> bool:
    if text not in ("true", "false"):
        raise SimulationError(
            f"{key} is '{text}', expected true or false", where, f"write {key}=true"
        )
    return text == "true"


def _text(text: str, key: str, where: str) -> str:
    return text


def _texts(text: str, key: str, where: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _scalar(text: str, key: str, where: str) -> float | str:
    """A number, or an expression of parameters as it stands."""
    try:
        return read_number(text, key, where)
    except SimulationError:
        return text


def _vector(text: str, key: str, where: str) -> tuple[float | str, ...]:
    parts = tuple(_scalar(part.strip(), key, where) for part in text.split(","))
    if len(parts) != 3:
        raise SimulationError(
            f"{key} has {len(parts)} values, expected x, y and z", where, f"write {key}=0,0.1,0"
        )
    return parts


#: How an argument is read, by its type as the class writes it.
_READERS: dict[str, Callable[[str, str, str], Any]] = {
    "float": read_number,
    "int": _integer,
    "bool": _flag,
    "str": _text,
    "Point": _point,
    "tuple[Point, ...]": _points,
    "tuple[float, ...]": _numbers,
    "tuple[float, float, float, float]": _numbers,
    "tuple[str, ...]": _texts,
    "float | None": read_number,
    "Scalar": _scalar,
    "Vector3": _vector,
    "Vector3 | None": _vector,
}

"""Paths, timing laws and controllers as text, ``circle:radius=2``, and as forms with sliders.

    form  = word [ ":" entry { ";" entry } ]
    entry = key "=" value | value

A comma does for a semicolon where a key follows: ``line:start=0,0,end=5,1`` needs no quotes in a
shell. Keys are the arguments of the class; a value without a key is that of the first. A number may
be arithmetic (``2*pi``), a point is ``x,y``, points are ``x,y,x,y,…``, a choice is ``true`` or
``false``, and those of :class:`Graph` and :class:`Parametric` are expressions as they stand.

A member of these families is an :class:`AbstractForm`: its word and its arguments, whose types say
their units as those of model parts do (`Meaning`), are all that text, forms, lists and messages
need. Whatever else it says of itself has a general
fallback, so that a class of one's own works in all of them by its definition alone.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

from noslip.base import (
    IF_YOUR_OWN,
    Member,
    NoslipError,
    SimulationError,
    counted,
    find_member,
    members_of,
    nearest,
    usual_word,
    words_of,
)
from noslip.expressions import ExpressionError, Scalar, nominal
from noslip.model import Meaning, Vector3, unwrapped

# numbers with units, for types of arguments; a distance may be an expression of parameters
Pure = Annotated[float, Meaning(unit="1")]
Length = Annotated[float, Meaning(unit="m")]
Distance = Annotated[Scalar, Meaning(unit="m")]
Angle = Annotated[float, Meaning(unit="rad")]
AngularRate = Annotated[float, Meaning(unit="rad/s")]
Duration = Annotated[float, Meaning(unit="s")]
Acceleration = Annotated[float, Meaning(unit="m/s^2")]
Jerk = Annotated[float, Meaning(unit="m/s^3")]
PerSecond = Annotated[float, Meaning(unit="1/s")]
PerSecondSquared = Annotated[float, Meaning(unit="1/s^2")]
PerMeter = Annotated[float, Meaning(unit="1/m")]
PerSquareMeter = Annotated[float, Meaning(unit="1/m^2")]
WaveNumber = Annotated[float, Meaning(unit="rad/m")]


class FormNumber(NamedTuple):
    """One number of a form: its name, unit, typical value, and range of a slider."""

    name: str
    unit: str
    value: float
    lower: float
    upper: float


class AbstractForm(Member):
    """A member that can be written as text and offered as a form."""

    __slots__ = ()

    home = "noslip.control.member_texts"

    #: Whether its text names a file that is read.
    reads_files: ClassVar[bool] = False
    #: Unit of arguments whose types say none.
    usual_unit: ClassVar[str] = "1"
    #: Argument → typical value and range, for a model of 1 m: times its length to the power of m.
    typical: ClassVar[Mapping[str, float]] = {}
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    #: Arguments that have a default of none and are offered by forms all the same.
    offered: ClassVar[tuple[str, ...]] = ()
    #: Argument → attribute that keeps it, where they differ.
    kept_as: ClassVar[Mapping[str, str]] = {}

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Its text describes it."""
        if self.reads_files:
            return
        text = self.text()
        try:
            again = type(self).from_text(text)
        except NoslipError as error:
            yield f"its text '{text}' cannot be read: {error.what}"
        else:
            if again.text() != text:
                yield f"its text '{text}' is read as '{again.text()}'"

    @classmethod
    def label(cls) -> str:
        """Label on pages."""
        return cls.word.replace("-", " ").capitalize()

    @classmethod
    def arguments(cls) -> dict[str, inspect.Parameter]:
        """Its arguments by name."""
        return dict(inspect.signature(cls).parameters)

    @classmethod
    def unit_of(cls, name: str) -> str:
        """Unit of an argument, which its type says as in `PerSecond`."""
        return _types(cls)[name].meaning.unit or cls.usual_unit

    @classmethod
    def missing(cls, known: Mapping[str, Any]) -> list[str]:
        """Arguments that must be given and are not known."""
        return [k for k, a in cls.arguments().items() if k not in known and a.default is a.empty]

    @classmethod
    def from_text(cls, text: str, known: Mapping[str, Any] | None = None) -> AbstractForm:
        """The member that a text describes; another one of the family where this is a file of it.

        Parameters
        ----------
        text : ``word:key=value;key=value``.
        known : arguments that are known from elsewhere; those of the text come first.

        Raises
        ------
        SimulationError : a key is not known, or a value cannot be read.
        """
        arguments, where = cls.arguments(), f"{cls.family} '{text}'"
        values: dict[str, Any] = {}
        for key, value in read_entries(text, cls.family, list(arguments)):
            if key not in arguments:
                raise SimulationError(
                    f"{cls.family} '{cls.word}' has no '{key}'", where, nearest(key, arguments)
                )
            values[key] = _reader(cls, arguments[key], where)(value, key, where)
        values = {k: v for k, v in (known or {}).items() if k in arguments} | values
        if missing := cls.missing(values):
            listed = ";".join(f"{key}=…" for key in missing)
            raise SimulationError(
                f"{cls.family} '{cls.word}' needs {' and '.join(missing)}",
                where,
                f"write {cls.word}:{listed}",
            )
        return cls(**values)

    def text(self) -> str:
        """The text that describes it, without values that are defaults."""
        name = type(self).__name__
        if not hasattr(type(self), "word"):
            raise SimulationError(
                f"{name} cannot be written as a text",
                f"{self.family} of Python",
                "save the object, or what it was made of",
            )
        entries = []
        for name, argument in self.arguments().items():
            value = getattr(self, self.kept_as.get(name, name))
            if value is not None and value != argument.default:
                entries.append(f"{name}={_written(value)}")
        return ":".join([self.word, ";".join(entries)]) if entries else self.word

    @classmethod
    def numbers(cls, length: float) -> tuple[FormNumber, ...] | None:
        """Its single numbers, for sliders; None if it needs more than these.

        Parameters
        ----------
        length : length of the model, m, which sets the sizes.
        """
        found = []
        for name, argument in cls.arguments().items():
            if _types(cls)[name].members == (float,) or name in cls.offered:
                found.append(cls._number(name, argument, length))
            elif argument.default is argument.empty:
                return None
        return tuple(found)

    @classmethod
    def _number(cls, name: str, argument: inspect.Parameter, length: float) -> FormNumber:
        unit = cls.unit_of(name)
        scale = length ** _power_of_meters(unit)
        if name in cls.typical or not isinstance(argument.default, int | float):
            value = float(f"{cls.typical.get(name, 1.0) * scale:.1g}")
        else:
            value = float(argument.default)
        if name in cls.ranges:
            lower, upper = (scale * end for end in cls.ranges[name])
        elif unit == "rad":
            lower, upper = -math.pi, math.pi
        elif value == 0:
            lower, upper = -scale, scale
        elif unit == "1":
            lower, upper = value / 4, 4 * value
        else:
            lower, upper = value / 5, 5 * value
        return FormNumber(name, unit, value, lower, upper)


def read_form(
    base: type[AbstractForm],
    text: str,
    known: Mapping[str, Any] | None = None,
    *,
    may_read_files: bool = True,
) -> Any:
    """The member of a family that a text describes.

    Parameters
    ----------
    base : base class of the family.
    text : ``word:key=value;key=value``.
    known : arguments that are known from elsewhere; those of the text come first.
    may_read_files : whether the text may name a file; not where others than the user may type it.

    Raises
    ------
    SimulationError : a word or key is not known, or a value cannot be read.
    """
    word = text.partition(":")[0].strip()
    member = find_member(base, word)
    if member is None or (member.reads_files and not may_read_files):
        usual = usual_word(base, word)
        meant = nearest(word, words_of(base, installed=True))
        raise SimulationError(
            f"there is no {base.family} '{word}'",
            f"{base.family} '{text}'",
            f"write '{usual}'" if usual is not None else f"{meant}; {IF_YOUR_OWN}",
        )
    return member.from_text(text, known)


def form_words(base: type[AbstractForm]) -> tuple[str, ...]:
    """Words of the members of a family whose arguments are single numbers, for forms."""
    members = members_of(base, installed=True)
    return tuple(member.word for member in members if member.numbers(1.0) is not None)


def read_entries(text: str, kind: str, keys: list[str]) -> list[tuple[str, str]]:
    """Keys and values of a text, in order; the first value may stand alone."""
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
        value = nominal(text, {})
    except (ExpressionError, KeyError):
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
            f"{key} has {counted(len(values), 'number')}, expected x and y",
            where,
            f"write {key}=0,1",
        )
    return values


def _points(text: str, key: str, where: str) -> tuple[tuple[float, float], ...]:
    values = _numbers(text, key, where)
    if len(values) % 2:
        raise SimulationError(
            f"{key} has {counted(len(values), 'number')}, expected x and y of every point",
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


#: How an argument is read, by the members of its type but for None.
_READERS: dict[tuple[Any, ...], Callable[[str, str, str], Any]] = {
    (float,): read_number,
    (int,): _integer,
    (bool,): _flag,
    (str,): _text,
    (tuple[float, float],): _point,
    (tuple[tuple[float, float], ...],): _points,
    (tuple[float, ...],): _numbers,
    (tuple[float, float, float, float],): _numbers,
    (tuple[str, ...],): _texts,
    (float, str): _scalar,
    (Vector3,): _vector,
}


class _Type(NamedTuple):
    members: tuple[Any, ...]  # of the union that it is, or itself
    meaning: Meaning


def _types(member: type) -> dict[str, _Type]:
    """Types of the arguments of a class, and what they mean."""
    return _read_types(member)


@cache
def _read_types(member: Any) -> dict[str, _Type]:
    # Any: to mypy a class with instances that hash is not itself hashable
    hints = typing.get_type_hints(member.__init__, include_extras=True)
    found = {name: unwrapped(hints.get(name, Any)) for name in member.arguments()}
    return {name: _Type(tuple(members), meaning) for name, (members, meaning) in found.items()}


def _reader(
    member: type[AbstractForm], argument: inspect.Parameter, where: str
) -> Callable[[str, str, str], Any]:
    members = tuple(m for m in _types(member)[argument.name].members if m is not type(None))
    reader = _READERS.get(members)
    if reader is None:
        raise SimulationError(
            f"{argument.name} of type {argument.annotation} cannot be read from text",
            where,
            f"write {member.__name__}.from_text, or give it in Python",
        )
    return reader


def _written(value: Any) -> str:
    """A value as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(_written(part) for part in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value) if isinstance(value, str) else repr(value)


def _power_of_meters(unit: str) -> int:
    """1 for m and m/s, −1 for 1/m and rad/m, else 0."""
    above, _, below = unit.partition("/")
    return int(above == "m") - int(below == "m")

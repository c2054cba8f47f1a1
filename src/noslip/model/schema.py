"""The keys of a model file, read off the data classes, which are their only definition.

Reader, writer, checks and reference page all come from :func:`keys_of`. A new field of a data class
is a new key; a new member of a family (joint type, surface, force, shape) is known by its word.

- A part that has a name is a table under its name: ``[bodies.platform]``.
- Parts without one, and independent speeds, are an array of tables: ``[[bodies.platform.shapes]]``.
- Where a part may be any member of a family, its table has a key ``type`` with the member's word.
- The fields of a part that is itself called ``type`` sit in the table around it: a joint's type.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any

from noslip.base import ModelError, base_of, members_of
from noslip.model.findings import Path
from noslip.model.model import IndependentSpeed
from noslip.model.quantities import Meaning

#: The version of the layout of model files.
FORMAT = 1


class Kind(Enum):
    """Kind of value that a key holds; each member's value describes it in a sentence."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    TRUTH = "true or false"
    TEXT = "text"
    SCALAR = "a number or the text of an expression"
    SCALARS = "an array of numbers or expressions"
    NUMBERS = "an array of numbers"
    TEXTS = "an array of texts"
    SCALAR_TABLE = "a table of numbers or expressions"
    TEXT_TABLE = "a table of expressions"
    PART = "a table"
    LIST = "an array of tables"
    NAMED = "tables under their names"


#: Kind of an array → kind of its entries.
ITEMS = {Kind.SCALARS: Kind.SCALAR, Kind.NUMBERS: Kind.NUMBER, Kind.TEXTS: Kind.TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a table."""

    name: str  #: the key, which is the field of the data class
    kind: Kind  #: kind of value
    size: int | None = None  #: number of entries of an array, if it is fixed
    part: type | None = None  #: class of the parts it holds, or base class of their family
    meaning: Meaning = Meaning()  #: unit, sign and so on
    is_required: bool = True  #: whether it has no default
    default: Any = None  #: value where the key is left out
    is_flat: bool = False  #: whether the fields of the part sit in the table that holds the key

    @property
    def family(self) -> type | None:
        """The base class of the family whose members it may hold, if it is one."""
        return self.part if self.part is not None and base_of(self.part) is self.part else None

    @property
    def parts(self) -> tuple[type, ...]:
        """Classes of the parts it may hold."""
        if self.family is not None:
            return members_of(self.family)
        return () if self.part is None else (self.part,)


@cache
def keys_of(part: type) -> tuple[Key, ...]:
    """The keys of a table that describes a part, in the order of the fields of its class.

    Raises
    ------
    ModelError : if a field of the class holds what a model file cannot.
    """
    if not dataclasses.is_dataclass(part):
        raise ModelError(
            f"{part.__name__} is not a data class, so its fields are unknown",
            f"class {part.__module__}.{part.__qualname__}",
            "write @dataclass(frozen=True, slots=True, kw_only=True) before it",
        )
    hints = typing.get_type_hints(part, include_extras=True)
    return tuple(_key(part, field, hints[field.name]) for field in dataclasses.fields(part))


def leaves(part: Any, path: Path = ()) -> Iterator[tuple[Path, Key, Any, Any]]:
    """Every field of a part and of the parts it holds that is not itself a part.

    Yields
    ------
    path : of the field.
    key : what the field should hold.
    owner : the part it is a field of.
    value : what it holds.
    """
    described: type = type(part)
    for key in keys_of(described):
        value = getattr(part, key.name)
        at = path if key.is_flat else (*path, key.name)
        if value is None and not key.is_required:
            continue
        match key.kind:
            case Kind.PART:
                yield from leaves(value, at)
            case Kind.NAMED:
                for item in value:
                    yield from leaves(item, (*at, item.name))
            case Kind.LIST:
                for k, item in enumerate(value):
                    yield from leaves(item, (*at, k))
            case _:
                yield at, key, part, value


def _key(part: type, field: dataclasses.Field[Any], hint: Any) -> Key:
    """The key of a field, from the field's type."""
    members, meaning = unwrapped(hint)
    is_required, default = False, field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    elif default is dataclasses.MISSING:
        is_required, default = True, None
    try:
        kind, size, held = _kind([m for m in members if m is not type(None)])
    except (KeyError, ValueError, TypeError, IndexError):
        raise ModelError(
            f"field '{field.name}' of {part.__name__} holds {hint}, which a model file cannot",
            f"class {part.__module__}.{part.__qualname__}",
            "use float, int, bool, str, Scalar (a number or an expression), Vector3, tuples of "
            "them, or data classes of such fields",
        ) from None
    return Key(
        name=field.name,
        kind=kind,
        size=size,
        part=held,
        meaning=meaning,
        is_required=is_required,
        default=default,
        is_flat=kind is Kind.PART and field.name == "type",
    )


_PLAIN = {bool: Kind.TRUTH, int: Kind.WHOLE, float: Kind.NUMBER, str: Kind.TEXT}


def _kind(members: list[Any]) -> tuple[Kind, int | None, type | None]:
    """Kind, size and class of parts of a type given by the members of its union."""
    if members == [float, str]:
        return Kind.SCALAR, None, None
    (hint,) = members
    if hint in _PLAIN:
        return _PLAIN[hint], None, None
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or base_of(hint) is hint):
        return Kind.PART, None, hint
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is dict:
        table = {Kind.SCALAR: Kind.SCALAR_TABLE, Kind.TEXT: Kind.TEXT_TABLE}
        return table[_kind(unwrapped(arguments[1])[0])[0]], None, None
    if typing.get_origin(hint) is not tuple:
        raise TypeError(hint)
    size = None if arguments[-1] is Ellipsis else len(arguments)
    item, _, part = _kind(unwrapped(arguments[0])[0])
    if part is not None:
        is_named = "name" in typing.get_type_hints(part) and part is not IndependentSpeed
        return (Kind.NAMED if is_named else Kind.LIST), None, part
    return {held: array for array, held in ITEMS.items()}[item], size, None


def unwrapped(hint: Any) -> tuple[list[Any], Meaning]:
    """The members of a union, or the type itself, and what it is annotated to mean."""
    meaning = Meaning()
    if typing.get_origin(hint) is Annotated:
        found = [note for note in hint.__metadata__ if isinstance(note, Meaning)]
        meaning = found[-1] if found else meaning
        hint = hint.__origin__
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        if typing.get_origin(hint) is tuple and meaning == Meaning():
            meaning = unwrapped(typing.get_args(hint)[0])[1]
        return [hint], meaning
    members: list[Any] = []
    for member in typing.get_args(hint):
        inner, own = unwrapped(member)
        members += inner
        meaning = own if meaning == Meaning() else meaning
    return members, meaning

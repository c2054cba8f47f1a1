"""The keys of a model file, read off the data classes, which are their only definition.

Reader, writer, checks and reference page all come from :func:`keys_of`. A new field of a data class
is a new key; a new kind of contact, force or shape needs its word in `WORDS`.

- A part that has a name is a table under its name: ``[bodies.platform]``.
- Parts without one, and independent speeds, are an array of tables: ``[[bodies.platform.shapes]]``.
- Where a part may be of several classes, its table has a key ``type`` with the word of the class.
- The fields of a joint's type sit in the joint's own table.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from noslip.model.bodies import Box, Cylinder, Ring, Sphere
from noslip.model.contacts import Ball, Disk, KnifeEdge, Rolling, Torus
from noslip.model.findings import Path
from noslip.model.forces import (
    JointDamper,
    JointFriction,
    JointSpring,
    Motor,
    Spring,
    Tire,
    Wrench,
)
from noslip.model.joints import JOINT_TYPES, AbstractJointType
from noslip.model.model import IndependentSpeed
from noslip.model.rows import PositionRow, VelocityRow

#: The version of the layout of model files.
FORMAT = 1

#: The word of each class in the key ``type``.
WORDS: dict[type, str] = {
    Box: "box",
    Cylinder: "cylinder",
    Sphere: "sphere",
    Ring: "ring",
    Disk: "disk",
    Ball: "ball",
    Torus: "torus",
    Rolling: "rolling",
    KnifeEdge: "knife_edge",
    VelocityRow: "velocity",
    PositionRow: "position",
    Motor: "motor",
    JointSpring: "joint_spring",
    JointDamper: "joint_damper",
    JointFriction: "joint_friction",
    Spring: "spring",
    Tire: "tire",
    Wrench: "wrench",
    **{joint_type: joint_type.word for joint_type in JOINT_TYPES},
}

#: What others call a type.
ALSO_CALLED = {
    "hinge": "revolute",
    "pin": "revolute",
    "rotary": "revolute",
    "slider": "prismatic",
    "sliding": "prismatic",
    "ball": "spherical",
    "weld": "fixed",
    "rigid": "fixed",
    "floating": "free",
    "wheel": "rolling",
    "blade": "knife_edge",
    "skate": "knife_edge",
    "damper": "joint_damper",
    "friction": "joint_friction",
    "force": "wrench",
    "sphere": "ball",
    "cube": "box",
}


class Kind(Enum):
    """What a key holds; the value says it in a sentence."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    TRUTH = "true or false"
    TEXT = "text"
    SCALAR = "a number or the text of an expression"
    SCALARS = "an array of numbers or expressions"
    TEXTS = "an array of texts"
    SCALAR_TABLE = "a table of numbers or expressions"
    TEXT_TABLE = "a table of expressions"
    PART = "a table"
    LIST = "an array of tables"
    NAMED = "tables under their names"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a table.

    Parameters
    ----------
    name : the key, which is the field of the data class.
    kind : what it holds.
    size : number of entries of an array, if it is fixed.
    parts : classes of the parts it may hold.
    is_required : whether it has no default.
    default : what it is when left out.
    is_flat : whether the fields of the part sit in the table that holds the key.
    """

    name: str
    kind: Kind
    size: int | None = None
    parts: tuple[type, ...] = ()
    is_required: bool = True
    default: Any = None
    is_flat: bool = False


@cache
def keys_of(part: type) -> tuple[Key, ...]:
    """The keys of a table that describes a part, in the order of the fields of its class."""
    hints = typing.get_type_hints(part)
    return tuple(_key(field, hints[field.name]) for field in dataclasses.fields(part))


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


def _key(field: dataclasses.Field[Any], hint: Any) -> Key:
    """The key of a field, from the field's type."""
    members = [m for m in _members(hint) if m is not type(None)]
    is_required, default = False, field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    elif default is dataclasses.MISSING:
        is_required, default = True, None
    kind, size, parts = _kind(members)
    return Key(
        name=field.name,
        kind=kind,
        size=size,
        parts=parts,
        is_required=is_required,
        default=default,
        is_flat=all(issubclass(p, AbstractJointType) for p in parts) and bool(parts),
    )


_PLAIN = {bool: Kind.TRUTH, int: Kind.WHOLE, float: Kind.NUMBER, str: Kind.TEXT}


def _kind(members: list[Any]) -> tuple[Kind, int | None, tuple[type, ...]]:
    """Kind, size and part classes of a type given by the members of its union."""
    if members == [float, str]:
        return Kind.SCALAR, None, ()
    if all(dataclasses.is_dataclass(m) for m in members):
        return Kind.PART, None, tuple(members)
    (hint,) = members
    if hint in _PLAIN:
        return _PLAIN[hint], None, ()
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is dict:
        table = {Kind.SCALAR: Kind.SCALAR_TABLE, Kind.TEXT: Kind.TEXT_TABLE}
        return table[_kind(_members(arguments[1]))[0]], None, ()
    size = None if arguments[-1] is Ellipsis else len(arguments)
    item, _, parts = _kind(_members(arguments[0]))
    if item is Kind.PART:
        is_named = all("name" in p.__dataclass_fields__ for p in parts)  # type: ignore[attr-defined]
        is_named = is_named and parts != (IndependentSpeed,)
        return (Kind.NAMED if is_named else Kind.LIST), None, parts
    return {Kind.SCALAR: Kind.SCALARS, Kind.TEXT: Kind.TEXTS}[item], size, ()


def _members(hint: Any) -> list[Any]:
    """The members of a union, or the type itself."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return list(typing.get_args(hint))
    return [hint]

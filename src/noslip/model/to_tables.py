"""A `Model` to plain tables, as TOML takes them; what equals its default is left out."""

from __future__ import annotations

from typing import Any

from noslip.model.model import Model
from noslip.model.schema import FORMAT, WORDS, Key, Kind, keys_of
from noslip.model.tables import Table


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
            table |= {"type": WORDS[type(value)], **_table(value)}
        else:
            table[key.name] = _plain(key, value)
    return table


def _plain(key: Key, value: Any) -> Any:
    """What a field holds, in the types of TOML."""
    match key.kind:
        case Kind.PART:
            return _typed(key, value)
        case Kind.NAMED:
            return {item.name: _typed(key, item, ("name",)) for item in value}
        case Kind.LIST:
            return [_typed(key, item) for item in value]
        case Kind.SCALARS | Kind.TEXTS:
            return [_plain_scalar(item) for item in value]
        case Kind.SCALAR_TABLE | Kind.TEXT_TABLE:
            return {name: _plain_scalar(item) for name, item in value.items()}
        case _:
            return _plain_scalar(value)


def _typed(key: Key, part: Any, skip: tuple[str, ...] = ()) -> Table:
    """Table of a part, with its word if the key may hold parts of several classes."""
    word = {"type": WORDS[type(part)]} if len(key.parts) > 1 else {}
    return {**word, **_table(part, skip)}


def _plain_scalar(value: Any) -> Any:
    return value if isinstance(value, str | int) else float(value)

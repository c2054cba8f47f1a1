"""A `Model` to plain tables, as TOML takes them; what equals its default is left out."""

from __future__ import annotations

from typing import Any

from noslip.errors import ModelError
from noslip.model.model import Model
from noslip.model.schema import FORMAT, Key, Kind, keys_of
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
        case Kind.SCALARS | Kind.TEXTS:
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

"""JSON Schema of model files, for editors that complete and check keys.

It is read off the data classes and families, as the reader is (`schema.py`), so it knows members of
plugins too. It checks keys and types; units, names and physics are checked by `noslip check`.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from noslip.base import base_of
from noslip.model import files  # noqa: F401  with all parts that files know
from noslip.model.model import Model
from noslip.model.schema import FORMAT, ITEMS, Key, Kind, keys_of
from noslip.model.tables import PARTS

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
    table = _table(Model, (*keys_of(Model), PARTS), definitions)
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


def _table(part: type, keys: tuple[Key, ...], definitions: dict[str, Schema]) -> Schema:
    """The schema of a table with some keys; what describes a part is in its docstring."""
    described = _descriptions(part)
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
    table = _table(member, _own_keys(member, is_named), definitions)
    said = (inspect.getdoc(member) or "").split("\n")[0]
    table["properties"] = {"type": {"const": member.word}, **table["properties"]}
    table["required"] = ["type", *table.get("required", [])]
    return {"title": member.word, "description": said, **table}


def _with_flat(part: type, is_named: bool, definitions: dict[str, Schema]) -> Schema:
    """The table of a part; with the keys of each type where they stand in the same table."""
    keys = _own_keys(part, is_named)
    flat = next((key for key in keys if key.is_flat), None)
    own = _table(part, tuple(key for key in keys if not key.is_flat), definitions)
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


def _descriptions(part: type) -> dict[str, str]:
    """Field → what its class says about it, under *Parameters*."""
    doc = inspect.getdoc(part) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n|\Z)", doc, re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        head = re.match(r"(\w[\w, ]*) : (.*)", line)
        if head:
            names = head[1].split(", ")
            found |= dict.fromkeys(names, head[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found

"""Check of what only Python can get wrong: texts, tables and truth values of another type.

A file is checked for this as it is read; a model that was built may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from noslip.model.findings import Finding, Path, field, owner
from noslip.model.schema import Key, Kind

_TYPES: dict[Kind, type] = {
    Kind.TEXT: str,
    Kind.TRUTH: bool,
    Kind.SCALAR_TABLE: dict,
    Kind.TEXT_TABLE: dict,
}

_EXAMPLES = {
    Kind.TEXT: 'write it in quotes, such as {name}="…"',
    Kind.TRUTH: "write {name}=True or {name}=False",
    Kind.SCALAR_TABLE: 'write {name}={{"wheel1.angle": 0.5}}',
    Kind.TEXT_TABLE: 'write {name}={{"angle": "0.5*t"}}, with expressions in quotes',
}


def check_kind(path: Path, key: Key, value: Any) -> Iterator[Finding]:
    """One field that must be a text, a truth value, or a table of texts or scalars."""
    expected = _TYPES.get(key.kind)
    if expected is None:
        return
    wrong = not isinstance(value, expected)
    if not wrong and isinstance(value, dict):
        wrong = not all(isinstance(name, str) for name in value)
        if key.kind is Kind.TEXT_TABLE:
            wrong = wrong or not all(isinstance(text, str) for text in value.values())
    if wrong:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} = {value!r:.60}, expected {key.kind.value}",
            _EXAMPLES[key.kind].format(name=key.name),
        )

"""A `Model` from plain tables, as TOML has them, and back.

The data classes say what a table may hold (`schema.py`). Reading collects every fault instead of
stopping at the first. Where a field cannot be read, a stand-in takes its place so that the rest can
still be checked; where the class of a part is unknown, the nearest known type is tried, and a
part that is like none is left out. Written tables leave out what equals its default.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from noslip.base import IF_YOUR_OWN, ModelError, find_member, usual_word, words_of
from noslip.expressions import is_finite
from noslip.model.findings import NOUNS, Finding, Path, hint, owner, path_text
from noslip.model.joints import Fixed
from noslip.model.model import Model
from noslip.model.parts.part import AbstractPart
from noslip.model.schema import FORMAT, ITEMS, Key, Kind, keys_of

Table = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Result of reading a table: the model, and what is wrong with its keys and types.

    Parameters
    ----------
    model : with stand-ins where fields could not be read; None if whole tables are missing.
    findings : faults of the table itself: keys and types.
    uncertain : joints whose type is not known, and so neither their coordinates and speeds.
    renamed : tables at the top that were read under the name that was meant → their name there.
    parts : that are still to be expanded.
    """

    model: Model | None
    findings: tuple[Finding, ...]
    uncertain: tuple[str, ...]
    renamed: dict[str, str]
    parts: tuple[AbstractPart, ...] = ()


#: Parts stand beside the fields of a model, which has none of them.
PARTS = Key(name="parts", kind=Kind.NAMED, part=AbstractPart, is_required=False, default=())


def model_from_table(table: Table) -> Reading:
    """The model that a table describes, and all faults of its keys and types."""
    reader = _TableReader()
    table = dict(table)
    reader.check_format(table.pop("format", None))
    renamed = reader.rename(table, [key.name for key in (*keys_of(Model), PARTS)])
    parts = reader.value(PARTS, table.pop("parts", {}), ("parts",))
    model = reader.part(Model, None, table, ())
    return Reading(
        model=model if reader.is_whole else None,
        findings=tuple(reader.findings),
        uncertain=tuple(reader.uncertain),
        renamed=renamed,
        parts=parts,
    )


def nearest_word(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    return next(iter(difflib.get_close_matches(word, words, n=1)), None)


class _TableReader:
    """Reads parts from tables and notes what is wrong with them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.is_whole = True
        self.uncertain: list[str] = []

    def note(self, path: Path, what: str, fix: str) -> None:
        self.findings.append(Finding(path, what, fix))

    def check_format(self, given: Any) -> None:
        if given is None:
            self.note((), "the file does not give its format", f"add format = {FORMAT} at the top")
        elif isinstance(given, bool) or given != FORMAT:
            self.note(
                ("format",),
                f"format is {_shown(given)}, this version reads {FORMAT}",
                f"write format = {FORMAT}",
            )

    def rename(self, table: Table, known: list[str]) -> dict[str, str]:
        """Move tables at the top with unknown names to the nearest known name."""
        renamed: dict[str, str] = {}
        for name in [name for name in table if name not in known]:
            self.unknown(name, known, ())
            value = table.pop(name)
            meant = nearest_word(name, [key for key in known if key not in table])
            if meant is not None:
                table[meant], renamed[name] = value, meant
            elif isinstance(value, dict | list):
                # what it holds may be missed anywhere
                self.is_whole = False
        return renamed

    def part(
        self, part: type | None, family: type | None, table: Any, path: Path, **given: Any
    ) -> Any:
        """Read a part of a class or of a family from its table; None if its class is unknown."""
        if not isinstance(table, dict):
            self.wrong(path, table, Kind.PART)
            # what has a name may be missed anywhere
            self.is_whole &= "name" not in given
            return None
        rest = dict(table)
        known: list[str] = []
        if family is not None:
            part, known = self.chosen(family, rest, path), ["type"]
        if part is None:
            return None
        for key in keys_of(part):
            if not key.is_flat or key.family is None:
                continue
            # the fields of the joint's type are taken out of the joint's table
            joint_type = self.chosen(key.family, rest, path)
            types = (joint_type,) if joint_type else key.parts
            known += ["type", *(k.name for type_ in types for k in keys_of(type_))]
            if joint_type is None:
                joint_type = Fixed
                self.uncertain.append(str(path[-1]))
            given[key.name] = self.fields(joint_type, rest, path, {})
        known += [key.name for key in keys_of(part) if key.name not in given]
        read = self.fields(part, rest, path, given)
        if path and path[-1] in self.uncertain:
            rest = {name: value for name, value in rest.items() if name not in known}
        for name in rest:
            self.unknown(name, known, path)
        return read

    def chosen(self, family: type, table: Table, path: Path) -> type | None:
        """The member that the key ``type`` names, or that was probably meant; None for none."""
        word = table.pop("type", None)
        found = find_member(family, word) if isinstance(word, str) else None
        if found is not None:
            return found
        words = words_of(family)
        meant = nearest_word(word, words) if isinstance(word, str) else None
        listed = ", ".join(f'"{w}"' for w in words)
        if word is None:
            self.note(path, f"{_called(path)} has no type", f"add type = one of {listed}")
        else:
            what = f"{_called(path)} has type {_shown(word)}, expected one of {listed}"
            also = usual_word(family, str(word))
            fix = f"did you mean '{also}'?" if also else hint(str(word), words)
            meant = also or meant
            if isinstance(word, str) and meant is None:
                fix += f"; {IF_YOUR_OWN}"
            self.note((*path, "type"), what, fix)
        return find_member(family, meant) if meant is not None else None

    def fields(self, part: type, table: Table, path: Path, given: dict[str, Any]) -> Any:
        """A part from the keys of its table, which are taken out; None without a part it needs."""
        values = dict(given)
        for key in keys_of(part):
            if key.name in given:
                continue
            if key.name in table:
                values[key.name] = self.value(key, table.pop(key.name), (*path, key.name))
            elif key.is_required:
                what = f"{_called(path)} has no {key.name}"
                self.note((*path, key.name), what, f"add {_example(key)}")
                values[key.name] = _stand_in(key)
            if key.kind is Kind.PART and values.get(key.name, key.default) is None:
                if key.is_required:
                    return None
                values[key.name] = key.default
        return part(**values)

    def value(self, key: Key, value: Any, path: Path) -> Any:
        """Value of a key, read by its kind."""
        match key.kind:
            case Kind.PART:
                return self.part(key.part, key.family, value, path)
            case Kind.NAMED if isinstance(value, dict):
                named = (
                    self.part(key.part, key.family, v, (*path, n), name=n) for n, v in value.items()
                )
                return tuple(part for part in named if part is not None)
            case Kind.LIST if isinstance(value, list):
                listed = (
                    self.part(key.part, key.family, v, (*path, k)) for k, v in enumerate(value)
                )
                # the others keep their numbers
                return tuple(
                    _TableReader().fields(key.parts[0], {}, path, {}) if p is None else p
                    for p in listed
                )
            case Kind.TEXTS if isinstance(value, str) and key.size is None:
                return (value,)  # one of them needs no brackets
            case Kind.SCALARS | Kind.NUMBERS | Kind.TEXTS if isinstance(value, list):
                return self.array(key, value, path)
            case Kind.SCALAR_TABLE if isinstance(value, dict):
                return self.dotted(value, path)
            case Kind.TEXT_TABLE if isinstance(value, dict):
                return {n: self.plain(Kind.TEXT, v, (*path, n)) for n, v in value.items()}
            case Kind.NUMBER | Kind.WHOLE | Kind.TRUTH | Kind.TEXT | Kind.SCALAR:
                return self.plain(key.kind, value, path)
        self.wrong(path, value, key.kind)
        self.is_whole &= key.kind not in (Kind.NAMED, Kind.LIST, Kind.TEXTS)
        return _stand_in(key)

    def array(self, key: Key, value: list[Any], path: Path) -> tuple[Any, ...]:
        if key.size is not None and len(value) != key.size:
            self.note(
                path,
                f"{path_text(path)} has {len(value)} values, expected {key.size}",
                f"give {key.size} values, for example {_example(key)}",
            )
            self.is_whole &= key.kind is not Kind.TEXTS
            return _stand_in(key)
        kind = ITEMS[key.kind]
        # a name that cannot be read is missed wherever it is used
        self.is_whole &= kind is not Kind.TEXT or all(isinstance(v, str) for v in value)
        return tuple(self.plain(kind, v, (*path, k)) for k, v in enumerate(value))

    def dotted(self, table: Table, path: Path, prefix: str = "") -> dict[str, Any]:
        """Scalars by name; ``wheel1.angle`` may be a quoted key or a dotted one."""
        values: dict[str, Any] = {}
        for key, value in table.items():
            name, at = prefix + key, (*path, key)
            inner = isinstance(value, dict)
            found = self.dotted(value, at, f"{name}.") if inner else None
            for full, scalar in (found or {name: self.plain(Kind.SCALAR, value, at)}).items():
                if full in values:
                    self.note(at, f"'{full}' is given twice", "keep one of them")
                values[full] = scalar
        return values

    def plain(self, kind: Kind, value: Any, path: Path) -> Any:
        """A number, a truth value or a text; numbers become floats."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        match kind:
            case Kind.TRUTH if isinstance(value, bool):
                return value
            case Kind.TEXT | Kind.SCALAR if isinstance(value, str):
                return value
            case Kind.WHOLE if is_number and isinstance(value, int):
                return value
            case Kind.NUMBER | Kind.SCALAR if is_number:
                # what a float cannot hold stays as it is and is found by the checks
                return float(value) if is_finite(value) else value
        self.wrong(path, value, kind)
        return _STAND_INS[kind]

    def wrong(self, path: Path, value: Any, kind: Kind) -> None:
        """A key holds something of another kind."""
        what = f"{path_text(path)} is {_shown(value)}, expected {kind.value}"
        if kind is Kind.NAMED:
            fix = f"write a table for each, such as [{path_text(path)}.my_name]"
        elif kind is Kind.LIST:
            fix = f"write [[{path_text(path)}]] before each"
        elif isinstance(path[-1], int):
            fix = f"write {_EXAMPLES[kind]} there"
        else:
            fix = f"write {path[-1]} = {_EXAMPLES[kind]}"
        self.note(path, what, fix)

    def unknown(self, name: str, known: list[str], path: Path) -> None:
        where = path_text(path) if path else "a model file"
        if name == "name" and len(path) > 1 and path[0] in (*NOUNS, PARTS.name):
            fix = f"remove it; the name is '{path[-1]}', from the head of the table"
        else:
            fix = hint(name, known)
        self.note((*path, name), f"'{name}' is not a key of {where}", fix)


_EXAMPLES = {
    Kind.NUMBER: "1.5",
    Kind.WHOLE: "501",
    Kind.TRUTH: "true",
    Kind.TEXT: '"…" with the text in quotes',
    Kind.SCALAR: '1.5, or an expression in quotes such as "l/2"',
    Kind.SCALARS: "[0, 0, 1]",
    Kind.NUMBERS: "[0, 1]",
    Kind.TEXTS: '["a", "b", "c"]',
    Kind.SCALAR_TABLE: '{angle = 0.5} or {angle = "l/2"}',
    Kind.TEXT_TABLE: '{angle = "0.5*t"}',
    Kind.PART: "{…}, a table",
    Kind.LIST: "[{…}]",
    Kind.NAMED: "tables",
}

# what takes the place of a field that cannot be read; its own checks are then left out
_STAND_INS: dict[Kind, Any] = {
    Kind.NUMBER: 1.0,
    Kind.WHOLE: 2,
    Kind.TRUTH: True,
    Kind.TEXT: "",
    Kind.SCALAR: 1.0,
    Kind.SCALAR_TABLE: {},
    Kind.TEXT_TABLE: {},
    Kind.LIST: (),
    Kind.NAMED: (),
}


def _stand_in(key: Key) -> Any:
    if key.kind in (Kind.SCALARS, Kind.NUMBERS):
        return (1.0,) * (key.size or 3)
    if key.kind is Kind.TEXTS:
        return tuple("abcdef"[: key.size or 0])
    return _STAND_INS.get(key.kind)


def _example(key: Key) -> str:
    if key.name == "unit":
        return 'unit = "kg*m^2", or whatever its unit is; "1" for a dimensionless number'
    if key.name == "gravity":
        return "gravity = [0, 0, -9.81]"
    if key.family is not None:
        return f'{key.name} = {{type = "{words_of(key.family)[0]}", …}}'
    return f"{key.name} = {_EXAMPLES[key.kind]}"


def _called(path: Path) -> str:
    """Name of the table at a path in messages."""
    if len(path) == 2 and path[0] in (*NOUNS, PARTS.name):
        return owner(path)
    return path_text(path) if path else "the file"


def _shown(value: Any) -> str:
    """A value from a file in few words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "…"


# writing


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
        case Kind.SCALARS | Kind.NUMBERS | Kind.TEXTS:
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

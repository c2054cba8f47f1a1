"""Model files with one bad value each, at every field of every class that a file may hold.

`HOSTS` are good files in which each class of the schema occurs; those in ``models/`` have what no
model of the library has. `cases` puts each value of `VALUES` at each field of each class, once.
"""

import copy
import math
import random
import tomllib
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import noslip as ns
from noslip import Model
from noslip.base import base_of, find_member
from noslip.model import model_to_toml
from noslip.model.files import PARTS
from noslip.model.schema import ITEMS, Key, Kind, keys_of

Table = dict[str, Any]
HERE = Path(__file__).parent
LIBRARY = Path(ns.__file__).parent / "library"
#: A key that is taken out.
MISSING = object()
#: What is put in a field: no numbers, extreme ones, texts that mean something else, other types.
VALUES: list[Any] = [
    *(math.nan, math.inf, -math.inf, 0, -1, -1e-9, 1e308, 10**400, 1e-320, 1e49, True),
    *("nan", "inf", "-inf", "1/0", "0/0", "sqrt(-1)", "log(0)", "1e999", "9" * 400, "(" * 300),
    *("", "(", "f(", "0", "-1", "pi", "max(1,2)", "nosuch", "nosuch*2", "t", "world", "a.b"),
    *("x", "r", "u", "2[furlong]", "1[kg]", "ä", "😀", "\0", "__import__('os')", date(1979, 5, 27)),
    *([], [1], [1, 2], [1, 2, 3, 4, 5, 6, 7], ["nosuch", 0, 0], [[1]], {}, {"a": 1}, [{}]),
    MISSING,
]


class Case(NamedTuple):
    """A file with one bad value.

    Parameters
    ----------
    part : class whose field it is.
    path : of keys.
    value : what is put there.
    host : name of the file.
    """

    part: type
    path: tuple[str | int, ...]
    value: Any
    host: str

    def text(self) -> str:
        """The file."""
        import tomli_w

        table = copy.deepcopy(hosts()[self.host])
        *above, last = self.path
        at: Any = table
        for step in above:
            at = at[step]
        if self.value is MISSING:
            at.pop(last, None)
        else:
            at[last] = self.value
        return str(tomli_w.dumps(table))


@cache
def hosts() -> dict[str, Table]:
    """Name → table of a good file, the shortest first."""
    files = [*(HERE / "models").glob("*.toml"), *LIBRARY.glob("*.toml")]
    texts = {path.stem: path.read_text("utf-8") for path in files}
    texts |= {f"{name}, expanded": model_to_toml(ns.load(name)) for name in ns.MODELS}
    return {name: tomllib.loads(texts[name]) for name in sorted(texts, key=lambda n: len(texts[n]))}


def classes() -> set[type]:
    """All classes whose tables a file may hold."""
    found: set[type] = set()
    waiting = [Model, *Key(name="", kind=Kind.PART, part=PARTS.part).parts]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += [held for key in keys_of(part) for held in key.parts]
    return found


def fields_of(table: Table, part: type, path: tuple[str | int, ...] = ()) -> Iterator[Any]:
    """Path, class and key of each field of a table and of those in it, given or not."""
    for key in (*keys_of(part), *((PARTS,) if part is Model else ())):
        if key.is_flat:
            yield (*path, "type"), part, key
            if (chosen := find_member(key.family, table.get("type", ""))) is not None:
                yield from fields_of(table, chosen, path)
            continue
        at = (*path, key.name)
        if key.name != "name" or not path:
            yield at, part, key
        value = table.get(key.name)
        held: list[tuple[tuple[str | int, ...], Table]] = []
        if key.kind is Kind.PART and isinstance(value, dict):
            held = [(at, value)]
        elif key.kind is Kind.NAMED and value:
            held = [((*at, name), inner) for name, inner in value.items()]
        elif key.kind is Kind.LIST and value:
            held = [((*at, k), inner) for k, inner in enumerate(value)]
        for inner_path, inner in held:
            is_family = key.part is not None and base_of(key.part) is key.part
            chosen = find_member(key.part, inner.get("type", "")) if is_family else key.part
            if chosen is not None:
                yield from fields_of(inner, chosen, inner_path)


def cases() -> Iterator[Case]:
    """Every value at every field of every class, in the shortest file that has the class."""
    seen = set[tuple[type, str]]()
    for name, table in hosts().items():
        for path, part, key in fields_of(table, Model):
            if (part, key.name) in seen:
                continue
            seen.add((part, key.name))
            yield from (Case(part, path, value, name) for value in VALUES)
            if key.kind not in ITEMS:
                continue
            entries: Any = table
            for step in path:
                entries = entries.get(step, []) if isinstance(entries, dict) else entries[step]
            given = list(entries or [1.0] * (key.size or 3))
            for value in VALUES:
                if value is not MISSING:
                    yield Case(part, path, [value, *given[1:]], name)
            yield Case(part, path, given[:-1], name)
            yield Case(part, path, given + given[:1], name)


def some_cases(count: int, rng: random.Random) -> list[Case]:
    """Some of all cases, or all of them if they are fewer."""
    every = list(cases())
    return every if len(every) <= count else rng.sample(every, count)

"""Files of other formats with one thing wrong each: every attribute, element, key and field.

`mutated` gives all of them for a text of XML, JSON, TOML or CSV: what was done in a few words, the
text that results, and whether it can be read at all: one with letters in place of a number, or
with a word that its format does not know, is nonsense, and must not be read in silence.
"""

import copy
import csv
import io
import json
import math
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

#: Texts that are no number within bounds, however they are read.
NO_NUMBERS = (
    *("", "nan", "inf", "-inf", "1e400", "1e308", "x", "1_0", "0x10", "\u0661", "1,5", "true"),
    *("2[furlong]", "1/0", "1 m", "\u2028"),
)
#: Numbers that mean something, or nothing.
NUMBERS = ("0", "-1", "1e-320", "1e29", "1", "0 0 0", "1 2", "1 2 3 4")
#: Texts for names and words.
WORDS = ("", " ", "x", "world", "\u00e4", "a b", "-", "0", "\u2028", "base", "t", "pi", "a" * 3000)
#: Values for keys of JSON and TOML.
VALUES: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 1e308, 10**400, -1, 0, 1e-320, True, None),
    *("", "x", "1", "nan", "1/0", "2[furlong]", [], [1], {}, {"a": 1}, [[]], [{}], "a" * 3000),
)


class Mutation(NamedTuple):
    """What was done to a file, the place, the file, and whether it is nonsense now."""

    what: str
    place: str
    text: str
    is_nonsense: bool = False


def mutated(text: str, kind: str) -> Iterator[Mutation]:
    """All mutations of a text; `kind` is ``xml``, ``json``, ``toml`` or ``csv``."""
    return {"xml": _xml, "json": _json, "toml": _toml, "csv": _csv}[kind](text)


# XML


def _xml(text: str) -> Iterator[Mutation]:
    root = ElementTree.fromstring(text)
    parents = {child: parent for parent in root.iter() for child in parent}
    held: dict[str, list[str]] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            held.setdefault(key, [])
            held[key] += [value] * (value not in held[key])

    def now(what: str, place: str, is_nonsense: bool = False) -> Mutation:
        return Mutation(what, place, ElementTree.tostring(root, "unicode"), is_nonsense)

    for element in root.iter():
        given = dict(element.attrib)
        for key, value in given.items():
            place = f"<{element.tag} {key}>"
            for new, is_nonsense in _texts(value, held[key]):
                element.set(key, new)
                yield now(f"{value!r:.40} is {new!r:.40}", place, is_nonsense)
            del element.attrib[key]
            yield now("left out", place)
            element.set(f"{key}s", value)
            yield now("misspelled", place, True)
            element.attrib.clear()
            element.attrib.update(given)
        own = f"<{element.tag}>"
        if element.text and element.text.strip():
            kept = element.text
            for new, is_nonsense in _texts(kept, []):
                element.text = new
                yield now(f"{kept!r:.40} is {new!r:.40}", own, is_nonsense)
            element.text = kept
        element.attrib.clear()
        yield now("without attributes", own)
        element.attrib.update(given)
        element.tag += "s"
        yield now("misspelled", own, True)
        element.tag = element.tag[:-1]
        inside = list(element)
        if inside:
            element[:] = []
            yield now("emptied", own)
            element[:] = inside
            element[:] = [_wrapped("group", inside)]
            yield now("its children in a <group>", own, True)
            element[:] = inside
        if element not in parents:
            continue
        around = parents[element]
        before = list(around)
        at = before.index(element)
        for what, after in (
            ("left out", before[:at] + before[at + 1 :]),
            ("twice", [*before[:at], element, *before[at:]]),
            ("twice, once at the end", [*before, element]),
            (
                "after the next",
                [*before[:at], *before[at + 1 : at + 2], element, *before[at + 2 :]],
            ),
            ("in itself", [*before[:at], _with(element), *before[at + 1 :]]),
            ("in a <group>", [*before[:at], _wrapped("group", [element]), *before[at + 1 :]]),
        ):
            around[:] = after
            yield now(what, own, what == "in a <group>")
            around[:] = before
        if around is not root:
            around.remove(element)
            root.append(element)
            yield now("at the end of the root", own)
            root.remove(element)
            around[:] = before


def _wrapped(tag: str, inside: list[ElementTree.Element]) -> ElementTree.Element:
    made = ElementTree.Element(tag)
    made[:] = inside
    return made


def _with(element: ElementTree.Element) -> ElementTree.Element:
    made = copy.copy(element)
    made[:] = [*element, copy.deepcopy(element)]
    return made


def _texts(value: str, others: list[str]) -> Iterator[tuple[str, bool]]:
    """What a text is replaced by, and whether that is nonsense."""
    try:
        numbers = [float(part) for part in value.split()]
    except ValueError:
        numbers = []
    if not numbers:
        yield from ((word, False) for word in (*WORDS, *others) if word != value)
        return
    parts = value.split()
    for new in NO_NUMBERS:
        yield new, True
        if len(parts) > 1:
            yield " ".join([new or "x", *parts[1:]]), True
            yield " ".join([*parts[:-1], new or "x"]), True
    yield from ((new, False) for new in (*NUMBERS, *others) if new != value)
    yield " ".join(f"{-number:.17g}" for number in numbers), False
    if len(parts) > 1:
        yield " ".join(parts[:-1]), False
        yield " ".join([*parts, parts[0]]), False
        yield " ".join([parts[1], parts[0], *parts[2:]]), False
        yield " ".join(["0"] * len(parts)), False
        for k in range(len(parts)):
            yield " ".join([*parts[:k], f"{-numbers[k]:.17g}", *parts[k + 1 :]]), False
            yield " ".join([*parts[:k], "1e29", *parts[k + 1 :]]), False


# JSON and TOML


def _json(text: str) -> Iterator[Mutation]:
    yield from _table(json.loads(text), json.dumps)


def _toml(text: str) -> Iterator[Mutation]:
    import tomli_w

    def write(table: Any) -> str | None:
        try:
            return tomli_w.dumps(table)
        except (TypeError, ValueError):
            return None

    yield from _table(tomllib.loads(text), write)


def _table(table: Any, write: Callable[[Any], str | None]) -> Iterator[Mutation]:
    for path, holder, key in list(_places(table)):
        place, value = ".".join(map(str, path)), holder[key]
        number = isinstance(value, int | float) and not isinstance(value, bool)

        def now(what: str, place: str = place, is_nonsense: bool = False) -> Iterator[Mutation]:
            made = write(table)
            if made is not None:
                yield Mutation(what, place, made, is_nonsense)

        for new in (*VALUES, *((-value,) if number else ()), [value], {"a": value}):
            holder[key] = new
            is_number = isinstance(new, int | float) and not isinstance(new, bool)
            is_finite = is_number and abs(new) <= 1e30
            yield from now(f"{value!r:.30} is {new!r:.30}", is_nonsense=number and not is_finite)
        holder[key] = value
        if isinstance(holder, list):
            kept = list(holder)
            for what, after in (
                ("left out", kept[:key] + kept[key + 1 :]),
                ("twice", [*kept[:key], value, *kept[key:]]),
                ("swapped", [*kept[:key], *kept[key + 1 : key + 2], value, *kept[key + 2 :]]),
            ):
                holder[:] = after
                yield from now(what)
            holder[:] = kept
            continue
        kept = dict(holder)
        del holder[key]
        yield from now("left out")
        holder[f"{key}s"] = value
        yield from now("misspelled", is_nonsense=True)
        holder.clear()
        holder.update(kept)
        for other in [k for k in kept if k != key][:1]:
            holder[key], holder[other] = kept[other], value
            yield from now(f"swapped with {other}")
            holder.update(kept)


def _places(table: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    inside = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in inside:
        yield (*path, key), table, key
        if isinstance(value, dict | list):
            yield from _places(value, (*path, key))


# CSV


def _csv(text: str) -> Iterator[Mutation]:
    comments = [line for line in text.splitlines() if line.startswith("#")]
    rows = [
        [field.strip() for field in row]
        for row in csv.reader(io.StringIO(text))
        if row and not row[0].startswith("#")
    ]

    def now(what: str, place: str, is_nonsense: bool = False) -> Mutation:
        return Mutation(what, place, "\n".join([*comments, *map(",".join, rows)]), is_nonsense)

    for k, line in enumerate(comments):
        for new, what in (
            ("", "left out"),
            (f"{line}s", "misspelled"),
            (f"{line}\n{line}", "twice"),
        ):
            comments[k] = new
            yield now(what, f"comment {k}")
        comments[k] = line
    for k, row in enumerate(rows):
        for j, value in enumerate(row):
            others = [other[j] for other in rows[1:]]
            for new, is_nonsense in _texts(value, others):
                row[j] = new.replace(",", ";")
                yield now(f"{value!r:.30} is {new!r:.30}", f"{k}.{rows[0][j]}", is_nonsense)
            row[j] = value
        place, kept = f"row {k}", list(rows)
        for what, after in (
            ("left out", kept[:k] + kept[k + 1 :]),
            ("twice", [*kept[:k], row, *kept[k:]]),
            ("after the next", [*kept[:k], *kept[k + 1 : k + 2], row, *kept[k + 2 :]]),
        ):
            rows[:] = after
            yield now(what, place)
        rows[:] = kept
        rows[k] = row[:-1]
        yield now("a field short", place)
        rows[k] = [*row, "1"]
        yield now("a field more", place)
        rows[k] = row
    for j, name in enumerate(list(rows[0])):
        kept_rows = [list(row) for row in rows]
        for row in rows:
            del row[j]
        yield now("left out", f"column {name}")
        rows[:] = [[*row[: j + 1], *row[j:]] for row in kept_rows]
        yield now("twice", f"column {name}")
        rows[:] = kept_rows

"""Safe reading of XML: elements with their lines, and nothing that a document could make happen.

A document type declaration is refused, and with it entities of any kind; nothing is fetched or
included. Depth and number of elements are bounded.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from noslip import Fault, ModelError
from noslip.base import LARGEST, read_number, read_text

#: Elements of a document, and elements around one.
MAX_ELEMENTS, MAX_DEPTH = 200_000, 200
#: Bytes of a file.
MAX_BYTES = 20_000_000


class Attributes(dict[str, str]):
    """Attributes of an element, which know what was asked for; `used` are their names."""

    def __init__(self, given: Mapping[str, str], used: set[str] | None = None) -> None:
        super().__init__(given)
        self.used = set[str]() if used is None else used

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.used.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The text of an attribute, or the default."""
        self.used.add(name)
        return super().get(name, default)


@dataclass(slots=True)
class XmlElement:
    """An element: its tag, attributes, children, and the line it begins on.

    It knows which of its attributes were asked for, and whether it was reached itself.
    """

    tag: str
    attributes: Attributes
    line: int
    children: list[XmlElement] = field(default_factory=list)
    text: str = ""
    is_reached: bool = False

    def all(self, *tags: str) -> Iterator[XmlElement]:
        """Children with one of some tags, or all; they count as reached."""
        for child in self.children:
            if not tags or child.tag in tags:
                child.is_reached = True
                yield child

    def take(self) -> None:
        """Count the element and all in it as used."""
        for element in walk(self):
            element.is_reached = True
            element.attributes.used.update(element.attributes)

    def first(self, tag: str) -> XmlElement | None:
        """The first child with a tag."""
        return next(self.all(tag), None)


def walk(element: XmlElement) -> Iterator[XmlElement]:
    """An element and all in it, in the order of the file."""
    waiting = [element]
    while waiting:
        now = waiting.pop()
        yield now
        waiting.extend(reversed(now.children))


def left_out(root: XmlElement) -> Iterator[str]:
    """Sentences on what a reader did not use of a document: elements, and attributes by tag.

    An attribute of a default counts as used if any element of its tag uses it.
    """
    elements = Counter[str]()
    used: dict[str, set[str]] = {}
    unused: dict[str, dict[str, None]] = {}
    waiting = [root]
    while waiting:
        now = waiting.pop()
        used.setdefault(now.tag, set()).update(now.attributes.used)
        unused.setdefault(now.tag, {}).update(dict.fromkeys(now.attributes))
        for child in now.children:
            if child.is_reached:
                waiting.append(child)
            else:
                elements[child.tag] += 1
    if elements:
        listed = ", ".join(f"<{tag}>" + f" ({n})" * (n > 1) for tag, n in sorted(elements.items()))
        yield f"elements that are not carried over: {listed}"
    for tag in sorted(unused):
        names = [
            name
            for name in sorted(unused[tag])
            if name not in used[tag] and name != "name" and not name.startswith("xmlns")
        ]
        if names:
            yield f"attributes of <{tag}> that are not carried over: {', '.join(names)}"


def parse_xml(text: str, file: str) -> XmlElement:
    """The root element of a document.

    Raises
    ------
    ModelError : if it is not well-formed, declares a document type, or is too large.
    """
    stack: list[XmlElement] = []
    roots: list[XmlElement] = []
    count = 0
    parser = expat.ParserCreate()

    def where() -> str:
        return f"{file}, line {parser.CurrentLineNumber}"

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or len(stack) >= MAX_DEPTH:
            raise ModelError(
                f"the document has more than {MAX_ELEMENTS} elements, or more than {MAX_DEPTH} "
                "levels",
                where(),
                "remove what does not belong to the robot",
            )
        made = XmlElement(tag, Attributes(attributes), parser.CurrentLineNumber)
        (stack[-1].children if stack else roots).append(made)
        stack.append(made)

    def end(tag: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        if stack:
            stack[-1].text += data

    def doctype(*_: object) -> None:
        raise ModelError(
            "the document declares a document type, whose entities could stand for anything",
            where(),
            "remove the line <!DOCTYPE …> and write out its entities",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise ModelError(
            f"the text is not XML: {expat.ErrorString(error.code)}",
            f"{file}, line {error.lineno}",
            "correct it there",
        ) from error
    except (LookupError, ValueError) as error:
        raise ModelError(
            f"the encoding that the document declares cannot be read: {error}",
            f"{file}, line 1",
            'write the file in UTF-8, and encoding="UTF-8" in its first line',
        ) from error
    return roots[0]


def read_document(
    path: str | os.PathLike[str], tag: str, name: str, other: str
) -> tuple[str, XmlElement]:
    """Name of a file, and its root element, which must have a tag."""
    file = os.fspath(path)
    fix = f"give a file of {name}; meshes are files of their own"
    root = parse_xml(read_text(file, ModelError, fix, max_bytes=MAX_BYTES), file)
    if root.tag != tag:
        raise ModelError(
            f"the document is a <{root.tag}>, not a <{tag}>",
            f"{file}, line {root.line}",
            f"give a file of {name}; {other}",
        )
    return file, root


class XmlReader:
    """Reads attributes as numbers and vectors, and collects what is wrong with their lines."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []

    def fault(self, element: XmlElement, what: str, fix: str) -> None:
        """Note what is wrong with an element."""
        self.faults.append(Fault(what, f"{self.file}, line {element.line}", fix))

    def numbers(
        self, element: XmlElement | None, name: str, default: tuple[float, ...], count: int = 0
    ) -> tuple[float, ...]:
        """Numbers of an attribute, separated by spaces; `count` of them, or as many as `default`.

        The default where there is no such attribute, and where it is at fault.
        """
        if element is None or name not in element.attributes:
            return default
        text = element.attributes[name]
        wanted = count or len(default)
        try:
            parts = text.split()[: wanted + 1]
            values = tuple(read_number(part, name, self.file, ModelError, "") for part in parts)
        except ModelError:
            values = ()
        if len(values) != wanted:
            noun = "a number" if wanted == 1 else f"{wanted} numbers"
            self.fault(
                element,
                f'{name}="{text[:60]}" of <{element.tag}> is not {noun} within ±{LARGEST:g}',
                f'write {noun} in SI units, as {name}="{" ".join(["0.1"] * wanted)}"',
            )
            return default
        return values

    def needed(self, element: XmlElement, *names: str) -> None:
        """Note the attributes without which an element says nothing."""
        missing = [name for name in names if name not in element.attributes]
        if missing:
            self.fault(
                element,
                f"a <{element.tag}> has no {' and no '.join(missing)}",
                "write it, as " + " ".join(f'{name}="…"' for name in missing),
            )

    def color(self, element: XmlElement) -> str:
        """What an attribute ``rgba`` says, as ``#rrggbb``, clipped; empty where there is none."""
        if "rgba" not in element.attributes:
            return ""
        rgba = self.numbers(element, "rgba", (0.5, 0.5, 0.5, 1.0))
        return "#" + "".join(f"{round(255 * min(max(v, 0.0), 1.0)):02x}" for v in rgba[:3])

    def number(self, element: XmlElement | None, name: str, default: float = 0.0) -> float:
        """One number."""
        return self.numbers(element, name, (default,))[0]

    def whole(self, element: XmlElement, name: str) -> float:
        """A whole number, 0 by default."""
        value = self.number(element, name)
        if value != round(value):
            self.fault(element, f"{name} of <{element.tag}> is {value:g}", "give a whole number")
        return value

    def limit(self, element: XmlElement | None, name: str, default: float) -> float:
        """A number that may be infinite, such as a limit."""
        if element is not None and element.attributes.get(name, "").strip().lower() in _INFINITE:
            return math.inf
        return self.number(element, name, default)

    def raise_faults(self) -> None:
        """Raise all that is wrong, if anything is."""
        if self.faults:
            raise ModelError.from_faults(self.faults)


_INFINITE = ("inf", "+inf", "infinity")

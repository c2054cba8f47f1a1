"""Public names: those of `noslip` itself and of its modules of families, as ``noslip.joints``.

The stub of a public module lists its names as imports, ``name as name``, for type checkers and for
here; each is imported when it is first used, and its failures name the argument at fault
(``base/arguments.py``). A name is public in one module only.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noslip.base.errors import missing_package, nearest

ROOT = "noslip"
FOLDER = Path(__file__).parents[1]


def lend(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a public module."""
    return functools.partial(hand_out, module), lambda: list(homes(module))


def hand_out(module: str, name: str) -> Any:
    """Import a public name from its home, and keep it in its public module.

    Raises
    ------
    AttributeError : if there is no such name; says where it is, or which names are nearest.
    MissingPackageError : if the name needs a package that is not installed.
    """
    if name == "__all__":
        return list(homes(module))
    home = homes(module).get(name)
    if home is None:
        told = "" if name.startswith("_") else f"; {_advice(module, name)}"
        raise AttributeError(f"{module} has no name '{name}'{told}")
    try:
        if home == ROOT:
            return importlib.import_module(f"{ROOT}.{name}")
        found = getattr(importlib.import_module(home), name)
    except ImportError as error:
        missing = missing_package(error, f"{module}.{name}")
        if missing is None:
            raise
        raise missing from None
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        from noslip.base.arguments import checked  # needs NumPy, which commands may do without

        # parts of models are judged by build(), all their faults at once
        is_part = isinstance(found, type) and found.__module__.startswith(f"{ROOT}.model")
        found = checked(found, module, _public_class, only_failures=is_part)
        if isinstance(found, type) and isinstance(found.__doc__, str):
            setattr(found, "__doc__", _Doc(found.__doc__))  # noqa: B010
    setattr(sys.modules[module], name, found)
    return found


class _Doc:
    """Docstring of a public class, with its fields as *Parameters* once somebody reads it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, _: None, cls: type) -> str:
        head, mark, rest = inspect.cleandoc(self.text).partition("Parameters\n----------\n")
        entries = (f"{name} : {text}." for name, text in field_texts(cls).items())
        listed = "".join(f"{textwrap.fill(e, 100, subsequent_indent='    ')}\n" for e in entries)
        if not (listed or mark):
            return head
        return f"{head.rstrip()}\n\nParameters\n----------\n{listed}{rest}".rstrip()


def field_texts(cls: type) -> dict[str, str]:
    """Field of a class and of its bases → the ``#:`` comment behind or above it in the source.

    One above several fields names them: ``#: x, y: coordinates, m``.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= _texts_of_module(base.__module__).get(base.__qualname__, {})
    return found


@functools.cache
def _texts_of_module(module: str) -> dict[str, dict[str, str]]:
    """Class → field → its comment, of all classes at the top of a module; none without source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}
    lines = source.splitlines()
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            texts = found.setdefault(node.name, {})
            for field in node.body:
                if not isinstance(field, ast.AnnAssign) or "ClassVar" in ast.dump(field.annotation):
                    continue
                if isinstance(field.target, ast.Name):
                    texts |= _texts_at(field, field.target.id, lines)
    return found


def _texts_at(field: ast.AnnAssign, name: str, lines: list[str]) -> dict[str, str]:
    """Texts of the comment at a field, and of those that it names too."""
    first = field.lineno - 1
    while first and lines[first - 1].lstrip().startswith("#:"):
        first -= 1
    above = " ".join(line.strip()[2:].strip() for line in lines[first : field.lineno - 1])
    # columns count bytes
    behind = lines[(field.end_lineno or 0) - 1].encode()[field.end_col_offset :].decode()
    text = (above or behind.partition("#:")[2].strip()).removesuffix(".")
    several = re.match(r"(\w+(?:, \w+)+): (.*)", text)
    if several and name in several[1].split(", "):
        return dict.fromkeys(several[1].split(", "), several[2])
    return {name: text} if text else {}


def _public_class(name: str, is_imported: bool) -> Any:
    """What a public name stands for; None if there is none, anything if it is not loaded yet."""
    module = public_places().get(name)
    if module is None:
        return None
    home = homes(module)[name]
    if not is_imported and home not in sys.modules:
        return Any
    return getattr(importlib.import_module(home), name)


def _advice(module: str, name: str) -> str:
    """Where a name is public, or which public names are nearest to a mistyped one."""
    places = public_places()
    if name in places:
        return f"it is {places[name]}.{name}"

    def placed(found: re.Match[str]) -> str:
        place = places.get(found[1], module)
        return found[0] if place == module else f"'{place}.{found[1]}'"

    return re.sub(r"'(\w+)'", placed, nearest(name, places))


@functools.cache
def public_places() -> dict[str, str]:
    """Public name → the public module in which it is found."""
    modules = (ROOT, *(f"{ROOT}.{path.stem}" for path in sorted(FOLDER.glob("[a-z]*.py"))))
    return {name: module for module in modules for name in homes(module)}


@functools.cache
def homes(module: str) -> dict[str, str]:
    """Name → module that defines it, of the names that a public module lists, in its order."""
    inner = module.removeprefix(ROOT).lstrip(".")
    path = FOLDER / f"{inner or '__init__'}.pyi"
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            home = f"{ROOT}.{node.module or ''}".rstrip(".")
            found |= {alias.name: home for alias in node.names if alias.asname == alias.name}
    return found

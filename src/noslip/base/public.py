"""Public names: those of `noslip` itself and of its modules of families, as ``noslip.joints``.

The stub of a public module lists its names as imports, ``name as name``, for type checkers and for
here; each is imported when it is first used, and its failures name the argument at fault
(``base/arguments.py``). A name is public in one module only.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
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
    setattr(sys.modules[module], name, found)
    return found


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

"""Findings of checks: a fact about the model, the path of the field, and a remedy.

A path is a key path of the model file: ``("joints", "steer", "axis")``. Parts go by their names, so
a model that was never in a file has paths too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from noslip.base import Fault, nearest

#: Keys and indices from the top of a model file down to a field.
Path = tuple[str | int, ...]

#: Turns a path into the text of a `Fault.where`.
Locate = Callable[[Path], str]

#: The word for one part of each table of named parts.
NOUNS = {
    "parameters": "parameter",
    "bodies": "body",
    "joints": "joint",
    "contacts": "contact",
    "definitions": "definition",
    "rows": "row",
    "forces": "force",
    "inputs": "input",
    "speed_inputs": "speed input",
    "modes": "mode",
}

# what paths begin with, parts included, which a model has none of
_OWNERS = {**NOUNS, "parts": "part"}

# up to here all known names are compared
_MANY = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about the field at `path`; a `warning` does not keep the model from being used."""

    path: Path
    what: str
    fix: str
    warning: bool = False

    def fault(self, locate: Locate | None = None) -> Fault:
        """The finding with its place as text."""
        return Fault(self.what, (locate or path_text)(self.path), self.fix)


def path_text(path: Path) -> str:
    """``joints.steer.axis[2]``, as one would write it in a file; keys that need quotes get them."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            plain = step.replace("_", "").replace("-", "").isalnum() and step.isascii()
            text += ("." if text else "") + (step if plain else f'"{step}"')
    return text or "the top of the model"


def owner(path: Path) -> str:
    """Element that a path is about, in the user's names: "joint 'steer'", "the model"."""
    if path and path[0] == "scenario":
        if len(path) > 2 and path[1] == "parameters":
            return f"scenario parameter '{path[2]}'"
        return "the scenario"
    if len(path) > 1 and path[0] in _OWNERS:
        return f"{_OWNERS[str(path[0])]} '{path[1]}'"
    if len(path) > 1 and path[0] == "independent_speeds" and isinstance(path[1], int):
        return f"independent speed number {path[1] + 1}"
    return "the model"


def field(path: Path) -> str:
    """The part of a path below its owner: ``parent_frame.position[1]``."""
    kind = path[0] if path else ""
    if kind == "scenario":
        named = len(path) > 2 and path[1] == "parameters"
        return path_text(path[3:] if named else path[1:])
    return path_text(path[2:] if kind in _OWNERS or kind == "independent_speeds" else path)


def hint(name: str, known: Iterable[str]) -> str:
    """The nearest known names, as `errors.nearest` gives them; of many, those that begin alike.

    Comparing each of thousands of unknown names with thousands of known ones would take minutes.
    """
    names = list(known)
    few = names
    if len(names) > _MANY:
        few = [other for other in names if other[:1] == name[:1]][:_MANY] or names[:_MANY]
    return nearest(name, few, total=len(names))


def number_text(value: float) -> str:
    """A number in few digits: 0, -2.5, 1e-09."""
    return f"{value:.6g}"


def vector_text(values: tuple[float, ...]) -> str:
    """Numbers in parentheses: (0, 0, 1)."""
    return "(" + ", ".join(number_text(v) for v in values) + ")"

"""Switches of the state in expressions: where they bend or jump, a run begins a new step.

An adaptive step sees its inputs at a dozen states. A contact spring of a millimeter's reach that
is passed within a step it does not see. What switches is in the text,

    abs(g), sign(g)  at g = 0        min(a, b), max(a, b)  at a = b        floor(g)  at sin(πg) = 0

so these values are watched like events, and a step ends where one crosses zero. Of forces of the
model whose expressions jump, sign and floor are watched; their bends are left to the error of the
steps. Switches of time alone are known before the run (``time_features``).

Ground of a grid has borders of cells, where a high derivative jumps; steps end there as well. What
runs along a border crosses it without end: it is then no longer watched, since all that it costs is
accuracy.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from noslip.base import SimulationError
from noslip.engines import System
from noslip.expressions import Expression, Measure, Name, Number, fold, names_in, parse
from noslip.simulation.expressions import named_values

#: Functions that bend or jump, and those of them that jump.
BENDS = frozenset({"abs", "sign", "min", "max", "floor"})
JUMPS = frozenset({"sign", "floor"})
_JUMP = re.compile(r"\b(sign|floor)\s*\(")

#: Switches after which a run is judged, and the share of it that they must have covered.
JUDGED, LEAST = 256, 1e-6

#: What borders of cells are called, and between two switches the share of the time so far below
#: which a body is taken to run along one.
BORDER, ALONG = "at the border of cells of", 1e-3


def switch_texts(
    system: System, inputs: Any, definitions: Mapping[str, Any] | None
) -> dict[str, str]:
    """Switching functions: input and number of the switch → expression that is zero there.

    Parameters
    ----------
    system : whose names the expressions know.
    inputs : as in :func:`simulate`; only expressions have switches.
    definitions : of the run, which know nothing of the state.
    """
    if not isinstance(inputs, Mapping):
        return force_texts(system)
    texts = {name: text for name, text in inputs.items() if isinstance(text, str)}
    if not any("(" in text for text in texts.values()) and not system.model.definitions:
        return force_texts(system)
    key = ("switches", tuple(texts.items()), tuple(definitions or ()))
    named = {f"input {name}": [text] for name, text in texts.items()}
    return system.cached(key, lambda: _switch_texts(system, named, BENDS)) | force_texts(system)


def force_texts(system: System) -> dict[str, str]:
    """Switching functions of forces whose expressions jump, as `switch_texts` gives them."""

    def make() -> dict[str, str]:
        written = {
            f"force {force.name}": [text for text in _texts(force) if _JUMP.search(text)]
            for force in system.model.forces
        }
        if any(_JUMP.search(d.expression) for d in system.model.definitions):
            written = {f"force {force.name}": _texts(force) for force in system.model.forces}
        return _switch_texts(
            system, {where: texts for where, texts in written.items() if texts}, JUMPS
        )

    return system.cached(("force switches",), make)


def _texts(force: Any) -> list[str]:
    """Expressions of a force: texts in those of its fields that may hold any."""
    found: list[str] = []
    for field in dataclasses.fields(force):
        value = getattr(force, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str) and "(" in each:
                found.append(each)
    return found


def border_texts(system: System) -> dict[str, str]:
    """Borders of cells of ground that bodies roll on, watched in the same way."""
    found: dict[str, str] = {}
    for contact in system.model.contacts:
        names = {place.name for place in contact.parameters()}
        for name, first, step in contact.form.cells():
            if name in names:
                text = f"sin(pi*({contact.name}.{name} - ({first!r}))/{step!r})"
                found[f"switch {BORDER} {contact.name}.{name}"] = text
    return found


def without_border(
    watched: Mapping[str, str], index: int, time: float, before: dict[str, float]
) -> dict[str, str]:
    """Switching functions after a switch, without one that is crossed again at once.

    Parameters
    ----------
    watched : all switches; `index` is that of the last one, at `time`, s.
    before : when borders were crossed last, s; this one is noted.
    """
    where = list(watched)[index]
    if BORDER not in where:
        return dict(watched)
    is_again = time - before.get(where, -np.inf) <= ALONG * time
    before[where] = time
    return {name: text for name, text in watched.items() if not (is_again and name == where)}


def _switch_texts(
    system: System, texts: Mapping[str, Iterable[str]], kinds: frozenset[str]
) -> dict[str, str]:
    """Switching functions of the expressions of each thing, of these functions alone."""
    own = {d.name: d.expression for d in system.model.definitions}
    moving = {q.name for q in (*system.coordinates, *system.speeds)} | set(named_values(system))
    found: dict[str, str] = {}
    for name, written in texts.items():
        zeros: dict[str, None] = {}
        waiting, seen = list(written), set[str]()
        while waiting:
            tree = parse(waiting.pop())
            zeros |= dict.fromkeys(_zeros(tree, moving | set(own), kinds))
            used = names_in(tree) & set(own) - seen
            seen |= used
            waiting += [own[each] for each in sorted(used)]
        found |= {f"switch {k + 1} of {name}": zero for k, zero in enumerate(zeros)}
    return found


def check_chatter(
    system: System, watched: Mapping[str, str], index: int, times: list[float], duration: float
) -> None:
    """Refuse a run that switches without end, as dry friction does where a body would stick.

    Parameters
    ----------
    watched : all switches; `index` is that of the last one.
    times : of all switches so far, s.
    duration : of the run, s.
    """
    if len(times) < JUDGED or times[-1] - times[-JUDGED] > LEAST * duration:
        return
    where, zero = list(watched.items())[index]
    raise SimulationError(
        f"{where}, at {zero} = 0, switches back and forth without end from t = {times[-1]:.9g} s",
        f"{'forces' if ' of force ' in where else 'inputs'} of model '{system.model.name}'",
        "write a sign smoothly, as tanh(v/0.01); dry friction in sticking is not a function "
        "of the state",
    )


def _zeros(tree: Expression, moving: set[str], kinds: frozenset[str]) -> list[str]:
    """Expressions of the state that are zero where functions of these kinds bend or jump."""
    found: list[str] = []

    def leaf(node: Number | Name) -> tuple[str, bool]:
        text = repr(node.value) if isinstance(node, Number) else node.name
        return text, isinstance(node, Name) and node.name in moving

    def call(function: str, arguments: list[tuple[str, bool]]) -> tuple[str, bool]:
        texts = [text for text, _ in arguments]
        if function in kinds and any(is_moving for _, is_moving in arguments):
            if function in ("abs", "sign"):
                found.append(texts[0])
            elif function in ("min", "max"):
                found.append(f"{texts[0]} - {texts[1]}")
            elif function == "floor":
                found.append(f"sin(pi*{texts[0]})")
        return _written(function, texts), any(is_moving for _, is_moving in arguments)

    def measure(node: Measure, arguments: list[tuple[str, bool]]) -> tuple[str, bool]:
        inside = [node.body, node.axis, *(text for text, _ in arguments)]
        listed = ", ".join(part for part in inside if part)
        return f"{node.word}({listed})" + (f".{node.part}" if node.part else ""), True

    fold(tree, leaf, call, measure)
    return found


def _written(function: str, texts: list[str]) -> str:
    """A call as text, in parentheses where it is an operator."""
    if function == "neg":
        return f"(-{texts[0]})"
    if function in ("+", "-", "*", "/", "**"):
        return f"({texts[0]} {function} {texts[1]})"
    return f"{function}({', '.join(texts)})"

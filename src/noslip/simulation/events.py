"""Events: values whose zero crossings end a run or are recorded, as cached native code.

A named angle jumps from π to −π, where nothing happens. In events it is unwrapped, as the column of
the same name is: events are traced with the angles at the last check as symbols, and return the
angles after their own values, so that the loop can unwrap from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.engines.native import NativeFunction, compile_native
from noslip.engines.program import trace_program
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.expressions import jumping_angles, read_expression, unwrapped_near
from noslip.simulation.input_plan import texts_key


class EventValues(NamedTuple):
    """Events as one traced column, then the angles they follow, and where these were (symbols)."""

    expression: ca.SX
    near: ca.SX


class EventCode(NamedTuple):
    """Events as native code.

    Parameters
    ----------
    function : of (t, x, inputs, [angles at the last check; parameters]).
    num_endings, num_events, num_angles : how many of its values end the run, are recorded, and are
        angles to unwrap from.
    notes : on those that never change, for the result.
    """

    function: NativeFunction | None = None
    num_endings: int = 0
    num_events: int = 0
    num_angles: int = 0
    notes: tuple[str, ...] = ()

    def directions(self) -> Array:
        """Zero for events that count in both directions, NaN for angles, which never do."""
        num = self.num_endings + self.num_events
        return np.concatenate([np.zeros(num), np.full(self.num_angles, np.nan)])


_NOTHING = EventCode()


def trace_events(
    system: System, texts: Mapping[str, str], definitions: Mapping[str, str | ca.SX] | None
) -> EventValues:
    """Values of events in the symbols of a system.

    Parameters
    ----------
    system : whose symbols are used.
    texts : what it is, such as ``"stop 'fell'"`` → expression.
    definitions : as in :func:`read_expression`.
    """
    angles = {name: trace() for name, trace in jumping_angles(system).items()}
    near = {name: ca.SX.sym(name) for name in angles}
    follow = {name: unwrapped_near(angle, near[name]) for name, angle in angles.items()}
    values = [
        read_expression(system, text, where, definitions, follow) for where, text in texts.items()
    ]
    expression = ca.vertcat(*values)
    used = [name for name in near if ca.depends_on(expression, near[name])]
    return EventValues(
        ca.vertcat(expression, *(follow[name] for name in used)),
        ca.vertcat(*(near[name] for name in used)) if used else ca.SX(0, 1),
    )


def compile_events(
    system: System,
    stop: Mapping[str, str] | None,
    events: Mapping[str, str] | None,
    definitions: Mapping[str, str] | None,
) -> EventCode:
    """Native code of events, those that end the run first."""
    if not stop and not events:
        return _NOTHING
    stop, events = stop or {}, events or {}
    both = sorted(set(stop) & set(events))
    if both:
        raise SimulationError(
            f"'{both[0]}' both stops the run and is an event of it",
            f"simulation of model '{system.model.name}'",
            "give the two different names",
        )

    def make() -> EventCode:
        texts = {f"stop '{name}'": text for name, text in stop.items()}
        texts |= {f"event '{name}'": text for name, text in events.items()}
        values, near = trace_events(system, texts, definitions)
        symbols = system.kinematics.symbols
        given = (symbols.t, system.state, system.equations.inputs, ca.vertcat(near, symbols.params))
        program = trace_program("events", given, ca.densify(system.fold(values)))
        function = compile_native([program])["events"]
        notes = _notes(texts, values, ca.vertcat(*given[:3]))
        return EventCode(function, len(stop), len(events), near.shape[0], notes)

    key = texts_key(stop, events, definitions)
    return make() if key is None else system.cached(("events", key), make)


def _notes(texts: Mapping[str, str], values: ca.SX, changing: ca.SX) -> tuple[str, ...]:
    """Notes on events that depend on nothing that changes during a run."""
    return tuple(
        f"{where} never crosses zero: '{text}' depends on neither time nor motion"
        for k, (where, text) in enumerate(texts.items())
        if not ca.depends_on(values[k], changing)
    )

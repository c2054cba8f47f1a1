"""Values whose zero crossings end a run or are noted, as native code that stays with the system."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from noslip.engines.llvm import compile_native
from noslip.engines.native import NativeFunction
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.simulation.input_expressions import read_expression
from noslip.simulation.inputs import texts_key


def compile_events(
    system: System,
    stop: Mapping[str, str] | None,
    events: Mapping[str, str] | None,
    definitions: Mapping[str, str] | None,
) -> NativeFunction | None:
    """Values whose signs are watched, those that end the run first."""
    if not stop and not events:
        return None
    stop, events = stop or {}, events or {}
    both = sorted(set(stop) & set(events))
    if both:
        raise SimulationError(
            f"'{both[0]}' both stops the run and is an event of it",
            f"simulation of model '{system.model.name}'",
            "give the two different names",
        )

    def make() -> NativeFunction:
        parts = [
            read_expression(system, text, f"{kind} '{name}'", definitions)
            for kind, texts in (("stop", stop), ("event", events))
            for name, text in texts.items()
        ]
        return compile_native([system.program("events", ca.vertcat(*parts))])["events"]

    key = texts_key(stop, events, definitions)
    return make() if key is None else system.kept(("events", key), make)

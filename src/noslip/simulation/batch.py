"""`simulate_batch`: many trajectories of a system at once, in lanes and on several threads.

Every trajectory has its own start, parameters and inputs, and its own steps. It is integrated in
wide code next to others, none of which it sees: its numbers are the same to the last bit whatever
runs beside it, in whatever order, on however many threads. What is kept of it is chosen before, so
that a million runs need no million histories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import casadi as ca

from noslip.engines import System
from noslip.simulation.batches.motions import BatchMotions
from noslip.simulation.batches.request import read_batch
from noslip.simulation.batches.result import Batch, collect
from noslip.simulation.input_laws import Table
from noslip.simulation.lifting import FEWEST_STEPS
from noslip.simulation.options import BatchOptions, takes
from noslip.simulation.segments import drive


@takes(BatchOptions)
def simulate_batch(system: System, *, duration: float, **options: Unpack[BatchOptions]) -> Batch:
    """Many motions of a system, each with its own start, parameters and inputs.

    Wherever a number may be given, a list of numbers may be given too, one for each trajectory; a
    :class:`Table` too. Nothing that happens to one trajectory ends the others or raises: how each
    ended is said in the result.

    Parameters
    ----------
    system : compiled system.
    duration : s.
    options : how the runs are made.

    Raises
    ------
    SimulationError : for inconsistent arguments.
    """
    given: dict[str, Any] = {"system": system, "duration": duration, **options}
    request = read_batch(system, given)
    motions = BatchMotions(request, options.get("out"))
    drive(motions, motions.begin)

    def again(number: int, events: dict[str, str], columns: tuple[str, ...]) -> Batch:
        steps = {"max_step": min(request.run.max_step, duration / FEWEST_STEPS)}
        asked = {"events": events, "columns": columns, "outputs": {c: c for c in columns}, **steps}
        return simulate_batch(**given | _AGAIN | _first(given, number, request.count) | asked)

    return collect(request, motions, again)


#: Arguments of a batch that is repeated for further events.
_AGAIN: dict[str, Any] = {
    "keep": ("final", "samples"),
    "samples": 2,
    "max_events": 1,
    "out": None,
    "device": "cpu",
    "precision": "double",
    "arrays": "numpy",
    "progress": None,
    "cancel": None,
}


def _first(given: Mapping[str, Any], number: int, count: int) -> dict[str, Any]:
    """Arguments that differ between trajectories, of the first so many of them."""
    found: dict[str, Any] = {"count": number}
    for word in ("start", "parameters", "inputs", "definitions"):
        values = given.get(word)
        if isinstance(values, Mapping):
            found[word] = {name: _cut(value, number, count) for name, value in values.items()}
    return found


def _cut(value: Any, number: int, count: int) -> Any:
    """The first of as many values as there are trajectories; what is one for all stays."""
    if isinstance(value, str | Table | ca.Function) or not hasattr(value, "__len__"):
        return value
    is_each = len(value) == count and number < count
    return value[:number] if is_each else value

"""`simulate_batch`: many trajectories of a system at once, in lanes and on several threads.

Every trajectory has its own start, parameters and inputs, and its own steps. It is integrated in
wide code next to others, none of which it sees: its numbers are the same to the last bit whatever
runs beside it, in whatever order, on however many threads. What is kept of it is chosen before, so
that a million runs need no million histories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.engines import System
from noslip.simulation.batches.lanes import Array
from noslip.simulation.batches.motions import BatchMotions
from noslip.simulation.batches.request import BatchInput, read_batch
from noslip.simulation.batches.result import Batch, collect
from noslip.simulation.input_laws import AbstractInputLaw, Table
from noslip.simulation.lifting import FEWEST_STEPS
from noslip.simulation.segments import drive


def simulate_batch(
    system: System,
    *,
    duration: float,
    starts: Mapping[str, ArrayLike] | None = None,
    guess: Mapping[str, float] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    inputs: Mapping[str, BatchInput] | AbstractInputLaw | None = None,
    definitions: Mapping[str, str | ArrayLike] | None = None,
    outputs: Mapping[str, str] | None = None,
    count: int | None = None,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = ("final",),
    samples: int | Sequence[float] | Array = 201,
    events: Mapping[str, str] | None = None,
    stop: Mapping[str, str] | None = None,
    max_events: int = 16,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    start_time: float = 0.0,
    threads: int | None = None,
    lanes: int | None = None,
    device: Any = "cpu",
    precision: str = "double",
    arrays: str = "numpy",
    out: Array | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> Batch:
    """Many motions of a system, each with its own start, parameters and inputs.

    Wherever a number may be given, a list of numbers may be given too, one for each trajectory.
    Nothing that happens to one trajectory ends the others or raises: how each ended is said in the
    result.

    Parameters
    ----------
    system : compiled system.
    duration : s.
    starts : coordinates, speeds, named angles and their rates at the start, each a number or one
        for each trajectory; the rest is completed consistently.
    guess : coordinates and named angles about which the rest is looked for, of all trajectories.
    parameters : values that differ from the nominal ones.
    inputs : by name: numbers, an expression of t, coordinates, speeds, named angles and
        definitions, a :class:`Table` or one for each trajectory, or a CasADi function of (t, q, v,
        parameters); or a law that gives all of them.
    definitions : name → expression, or numbers, that `inputs`, `events`, `stop` and `columns` may
        use.
    outputs : name → expression, a column each that `columns` may name, as in :func:`simulate`.
    count : number of trajectories, where no list says it.
    columns : what is kept: names of columns as in a `Trajectory`, outputs and definitions; all
        coordinates and speeds if not given.
    keep : which values of the columns: ``"final"``, always; ``"minimum"`` and ``"maximum"`` over
        the samples; ``"samples"``, all of them.
    samples : number of equally spaced times, or the times themselves; for the last three.
    events : name → expression; the times at which it crosses zero are kept, and the run goes on.
    stop : name → expression; a trajectory ends where one crosses zero. Named angles go on after a
        turn.
    max_events : how many times of each event are kept; all are counted.
    method : ``"dop853"`` (adaptive, order 8, every trajectory by its own error) or ``"rk4"``.
    rtol, atol : tolerances of the adaptive method.
    step : of rk4, s; for dop853 the first step, 0 to choose it.
    max_step, max_steps : bounds on step size and number of steps of a trajectory.
    start_time : s.
    threads : all cores if not given.
    lanes : numbers in a vector, 1 for scalar code; what suits the processor if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one trajectory.
    precision : ``"double"``, or ``"single"`` on a GPU: states, rates and parameters of 7 digits,
        time of 16; tolerances below 1e-5 are refused.
    arrays : ``"numpy"``, or ``"device"``: columns of results stay on the GPU, as arrays that CuPy,
        PyTorch and JAX take without a copy. Numbers may be given as such arrays too.
    out : (n, ns, nc) array for the samples, such as a ``numpy.memmap``, if they are kept.
    progress : called with the fraction done, now and then.
    cancel : a ``threading.Event``; setting it ends the batch, as Ctrl-C does, and what was computed
        until then is returned.

    Raises
    ------
    SimulationError : for inconsistent arguments.
    """
    given = locals()
    request = read_batch(given)
    motions = BatchMotions(request, out)
    drive(motions, motions.begin)

    def again(number: int, events: dict[str, str], columns: tuple[str, ...]) -> Batch:
        steps = {"max_step": min(max_step, duration / FEWEST_STEPS)}
        asked = {"events": events, "columns": columns, **steps}
        return simulate_batch(**given | _AGAIN | _first(given, number, request.count) | asked)

    return collect(request, motions, again)


#: Arguments of a batch that is repeated for further events.
_AGAIN: dict[str, Any] = {
    "keep": ("final", "samples"),
    "samples": 2,
    "max_events": 1,
    "outputs": None,
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
    for word in ("starts", "parameters", "inputs", "definitions"):
        values = given[word]
        if isinstance(values, Mapping):
            found[word] = {name: _cut(value, number, count) for name, value in values.items()}
    return found


def _cut(value: Any, number: int, count: int) -> Any:
    """The first of as many values as there are trajectories; what is one for all stays."""
    if isinstance(value, str | Table | ca.Function) or not hasattr(value, "__len__"):
        return value
    is_each = len(value) == count and number < count
    return value[:number] if is_each else value

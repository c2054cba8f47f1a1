"""`simulate_batch`: many trajectories of a system at once, in lanes and on several threads.

Every trajectory has its own start, parameters and inputs, and its own steps. It is integrated in
wide code next to others, none of which it sees: its numbers are the same to the last bit whatever
runs beside it, in whatever order, on however many threads. What is kept of it is chosen before, so
that a million runs need no million histories.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noslip.engines.native import native_lanes
from noslip.engines.system import System
from noslip.errors import SimulationError, nearest
from noslip.simulation import rules
from noslip.simulation.batches.arrays import UNSETTLED, Array
from noslip.simulation.batches.begin import begin_batch
from noslip.simulation.batches.code import BatchCode, compile_batch
from noslip.simulation.batches.collect import collect, make_results
from noslip.simulation.batches.columns import default_columns
from noslip.simulation.batches.finish import finish_in_scalar_code
from noslip.simulation.batches.plan import Settings, lane_plan
from noslip.simulation.batches.request import BatchInput, Request, read_request
from noslip.simulation.batches.result import Batch
from noslip.simulation.batches.runner import run_lanes
from noslip.simulation.checks import check_named
from noslip.simulation.input_kinds import AbstractInputLaw
from noslip.simulation.request import read_run

KEPT = ("final", "minimum", "maximum", "samples")
LANES = (1, 2, 4, 8, 16)


def simulate_batch(
    system: System,
    *,
    duration: float,
    starts: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    inputs: Mapping[str, BatchInput] | AbstractInputLaw | None = None,
    definitions: Mapping[str, str | ArrayLike] | None = None,
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
    parameters : values that differ from the nominal ones.
    inputs : by name: numbers, an expression of t, coordinates, speeds, named angles and
        definitions, a :class:`Table` or one for each trajectory, or a CasADi function of (t, q, v,
        parameters); or a law that gives all of them.
    definitions : name → expression, or numbers, that `inputs`, `events`, `stop` and `columns` may
        use.
    count : number of trajectories, where no list says it.
    columns : what is kept: names of columns as in a `Trajectory`, and definitions; all coordinates
        and speeds if not given.
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
    out : (n, ns, nc) array for the samples, such as a ``numpy.memmap``, if they are kept.
    progress : called with the fraction done, now and then.
    cancel : a ``threading.Event``; setting it ends the batch, as Ctrl-C does, and what was computed
        until then is returned.

    Raises
    ------
    SimulationError : for inconsistent arguments.
    """
    run = read_run(
        "simulate_batch",
        system,
        duration=duration,
        samples=samples,
        method=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
    )
    check_named(
        progress,
        cancel,
        starts=starts,
        parameters=parameters,
        inputs=None if isinstance(inputs, AbstractInputLaw) else inputs,
        definitions=definitions,
        events=events,
        stop=stop,
    )
    lanes = native_lanes() if lanes is None else lanes
    threads = _num_cores() if threads is None else threads
    _check_choices(system, columns, keep, lanes, threads, max_events)
    settings = Settings(
        columns=tuple(default_columns(system) if columns is None else columns),
        events=_all_events(system, events, stop),
        terminal=frozenset(stop or {}),
        run=run if set(keep) - {"final"} else dataclasses.replace(run, times=np.zeros(0)),
    )
    request = read_request(
        system,
        count=count,
        starts=starts,
        parameters=parameters,
        inputs=inputs,
        definitions=definitions,
    )
    compiled = functools.partial(_compiled, request, settings)
    code = compiled(system, lanes)
    begin = begin_batch(code, request, settings)
    results = make_results(code, request, settings, begin, keep, max_events, out)
    is_ended = run_lanes(
        lane_plan(code, settings, begin, lanes=lanes),
        results,
        threads=threads,
        progress=None if progress is None else lambda done: progress(done / request.count),
        cancel=cancel,
    )
    systems: dict[int, System] = {}
    if is_ended:
        never = results.codes == UNSETTLED
        results.codes[never], results.times[never] = rules.CANCELLED, start_time
    else:
        systems = finish_in_scalar_code(
            code, compiled, settings, results, threads=threads, cancel=cancel
        )
    return collect(system, systems, code, request, settings, results, keep)


def _compiled(request: Request, settings: Settings, system: System, lanes: int) -> BatchCode:
    """The batch compiled for a system and a number of lanes."""
    return compile_batch(
        system,
        request,
        columns=settings.columns,
        events=settings.events,
        start_time=settings.run.start_time,
        end_time=settings.run.end_time,
        lanes=lanes,
    )


def _all_events(
    system: System, events: Mapping[str, str] | None, stop: Mapping[str, str] | None
) -> dict[str, str]:
    """Events that end a trajectory, then those that do not."""
    for name in sorted(set(events or {}) & set(stop or {})):
        raise SimulationError(
            f"'{name}' both stops the run and is an event of it",
            f"batch of model '{system.model.name}'",
            "give the two different names",
        )
    return {**(stop or {}), **(events or {})}


def _check_choices(
    system: System,
    columns: Sequence[str] | None,
    keep: Sequence[str],
    lanes: int,
    threads: int,
    max_events: int,
) -> None:
    where = f"batch of model '{system.model.name}'"
    for name, texts in (("columns", columns), ("keep", keep)):
        if isinstance(texts, str):
            raise SimulationError(f"{name} is '{texts}'", where, f"give a list: {name}=['{texts}']")
    for word in keep:
        if word not in KEPT:
            raise SimulationError(
                f"there is nothing to keep as '{word}'", where, nearest(str(word), KEPT)
            )
    if lanes not in LANES:
        raise SimulationError(
            f"code of {lanes} lanes is asked for",
            where,
            f"give one of {', '.join(map(str, LANES))}",
        )
    for name, number in (("threads", threads), ("max_events", max_events)):
        if not isinstance(number, int | np.integer) or number < 1:
            raise SimulationError(f"{name} is {number!r}", where, "give a whole number, 1 or more")


def _num_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

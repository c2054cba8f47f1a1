"""Trajectories that wide code cannot finish: they go on in scalar code, in other speeds if need be.

Where the independent speeds no longer determine the motion, a trajectory is carried over through
the tree speeds v to others that do, as in :func:`simulate`. Where a step could not be brought back
on the constraints, scalar code tries once more.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from noslip.engines.system import System
from noslip.simulation import rules
from noslip.simulation.batches.arrays import Array, LaneResults
from noslip.simulation.batches.code import BatchCode
from noslip.simulation.batches.plan import Settings, Stretch, lane_plan
from noslip.simulation.batches.runner import run_lanes
from noslip.simulation.runner import CancelRequest
from noslip.simulation.segments import Place, carried, next_place, tree_speeds

Compile = Callable[[System, int], BatchCode]


def finish_in_scalar_code(
    code: BatchCode,
    compiled: Compile,
    settings: Settings,
    results: LaneResults,
    *,
    threads: int,
    cancel: CancelRequest | None,
) -> dict[int, System]:
    """Let trajectories go on that wide code gave up, and renew their results.

    Parameters
    ----------
    code : in which all of them ran.
    compiled : from a system and a number of lanes to the batch compiled for them.
    settings : of the batch.
    results : of the wide run.
    threads, cancel : as in :func:`simulate_batch`.

    Returns
    -------
    systems : by trajectory that went on, the system in which it ended.
    """
    places: dict[int, Place] = {}
    written = {code.system: code}
    scalar: dict[System, BatchCode] = {}
    given_up = (rules.SINGULAR, rules.PROJECTION_FAILED)
    waiting = np.flatnonzero(np.isin(results.codes, given_up)).tolist()
    is_wide = True
    while waiting:
        groups: dict[Place, list[int]] = {}
        for k in waiting:
            here = places.get(k, Place(code.system))
            there = _next_place(written[here.system], here, results, k, is_wide)
            if there is not None:
                _carry_over(written[here.system], there.system, results, k)
                places[k] = there
                groups.setdefault(there, []).append(k)
        waiting, is_wide = [], False
        for place, trajectories in groups.items():
            if place.system not in scalar:
                scalar[place.system] = written[place.system] = compiled(place.system, 1)
            stretch = Stretch(
                queue=np.array(trajectories),
                states=results.states.copy(),
                times=results.times.copy(),
                steps=results.steps_left.copy(),
                filled=results.num_filled.copy(),
            )
            # whoever is not reached by then was cancelled
            results.codes[trajectories] = rules.CANCELLED
            plan = lane_plan(scalar[place.system], settings, stretch, lanes=1, place=place)
            if run_lanes(plan, results, threads=threads, cancel=cancel):
                for others in groups.values():
                    still = [k for k in others if results.codes[k] in given_up]
                    results.codes[still] = rules.CANCELLED
                return {k: place.system for k, place in places.items()}
            waiting += [k for k in trajectories if results.codes[k] == rules.SINGULAR]
    return {k: place.system for k, place in places.items()}


def _next_place(
    code: BatchCode, here: Place, results: LaneResults, k: int, is_wide: bool
) -> Place | None:
    """Where a trajectory goes on, or None if it has ended for good."""
    if results.codes[k] == rules.PROJECTION_FAILED:
        return here if is_wide else None
    ended: Any = SimpleNamespace(
        code=int(results.codes[k]),
        index=int(results.which[k]),
        time=float(results.times[k]),
        state=results.states[k],
    )
    return next_place(here, ended, _parameters(code, k))


def _carry_over(code: BatchCode, there: System, results: LaneResults, k: int) -> None:
    """Write a trajectory's state in the speeds of another system, through its tree speeds."""
    here = code.system
    if there is here:
        return
    t, y = results.times[k : k + 1], results.states[k : k + 1]
    u = code.inputs_at(np.array([k]), t, y)[0]
    v = tree_speeds(here, t[0], y[0], u, _parameters(code, k))
    results.states[k] = carried(here, there, y[0], v)


def _parameters(code: BatchCode, k: int) -> Array:
    """The model's parameters of a trajectory."""
    rows, count = code.parameters, len(code.system.model.parameters)
    return rows[k if len(rows) > 1 else 0, :count]

"""How a batch is run: the settings that all its trajectories share, and plans made from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.simulation.batches.arrays import Array, LanePlan
from noslip.simulation.batches.code import BatchCode
from noslip.simulation.segments import Place
from noslip.simulation.simulate import PROJECTION_TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """What all trajectories share; the names are those of :func:`simulate_batch`.

    Parameters
    ----------
    events : all events, name → expression.
    terminal : those that end a trajectory.
    sample_times : (ns,) s.
    start_time, end_time : s.
    """

    columns: tuple[str, ...]
    events: dict[str, str]
    terminal: frozenset[str]
    sample_times: Array
    start_time: float
    end_time: float
    method: str
    rtol: float
    atol: float
    step: float
    max_step: float
    max_steps: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """Which trajectories run, and where each of all n starts.

    Parameters
    ----------
    queue : those that run.
    states, times, steps : (n, ny), (n,) and (n,) state, time and first step.
    filled : (n,) samples taken before.
    """

    queue: Array
    states: Array
    times: Array
    steps: Array
    filled: Array


def lane_plan(
    code: BatchCode,
    settings: Settings,
    stretch: Stretch,
    *,
    lanes: int,
    place: Place | None = None,
) -> LanePlan:
    """Plan of a stretch of some trajectories.

    Parameters
    ----------
    code : the batch compiled for the system and the lanes of this stretch.
    settings : of the batch.
    stretch : which trajectories, and from where.
    lanes : numbers in a vector.
    place : where it runs; in the system of the code, if not given.
    """
    system, names = code.system, settings.events
    absolute = np.full(system.num_states + code.num_generator_states, settings.atol)
    if system.does_work:
        # the work is integrated along but does not choose the steps
        absolute[system.num_states - 1] = 1e300
    return LanePlan(
        lanes=lanes,
        functions=code.functions,
        num_states=system.num_states,
        num_generator_states=code.num_generator_states,
        num_inputs=len(system.inputs),
        num_columns=len(settings.columns),
        method=settings.method,
        queue=stretch.queue,
        starts=stretch.states,
        start_times=stretch.times,
        steps=stretch.steps,
        filled=stretch.filled,
        parameters=code.parameters,
        base_inputs=code.base_inputs,
        tables=code.tables,
        end_time=settings.end_time,
        update_times=code.update_times,
        sample_times=settings.sample_times,
        directions=np.concatenate([np.zeros(len(names)), np.full(code.num_angles, np.nan)]),
        num_endings=len(settings.terminal),
        health_floors=(place or Place(system)).floors,
        relative_tolerance=settings.rtol,
        absolute_tolerance=absolute,
        max_step=settings.step if settings.method == "rk4" else settings.max_step,
        max_steps=settings.max_steps,
        projection_tolerance=PROJECTION_TOLERANCE,
    )

"""How a batch is run: the settings that all its trajectories share, and plans made from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.simulation.batches.arrays import Array, LanePlan
from noslip.simulation.batches.code import BatchCode
from noslip.simulation.request import RunRequest
from noslip.simulation.segments import Place
from noslip.simulation.simulate import PROJECTION_TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """What all trajectories share; the names are those of :func:`simulate_batch`.

    Parameters
    ----------
    events : all events, name → expression.
    terminal : those that end a trajectory.
    run : when and how; without times of samples where nothing is kept of them.
    """

    columns: tuple[str, ...]
    events: dict[str, str]
    terminal: frozenset[str]
    run: RunRequest


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
    system, names, run = code.system, settings.events, settings.run
    return LanePlan(
        lanes=lanes,
        functions=code.functions,
        num_states=system.num_states,
        num_generator_states=code.num_generator_states,
        num_inputs=len(system.inputs),
        num_columns=len(settings.columns),
        method=run.method,
        queue=stretch.queue,
        starts=stretch.states,
        start_times=stretch.times,
        steps=stretch.steps,
        filled=stretch.filled,
        parameters=code.parameters,
        base_inputs=code.base_inputs,
        tables=code.tables,
        end_time=run.end_time,
        update_times=code.update_times,
        sample_times=run.times,
        directions=np.concatenate([np.zeros(len(names)), np.full(code.num_angles, np.nan)]),
        num_endings=len(settings.terminal),
        health_floors=(place or Place(system)).floors,
        relative_tolerance=run.rtol,
        absolute_tolerance=run.absolute(system, system.num_states + code.num_generator_states),
        max_step=run.longest_step,
        max_steps=run.max_steps,
        projection_tolerance=PROJECTION_TOLERANCE,
    )

"""Arrays that go into the batch loop and come out of it, a row for each trajectory.

A ``LanePlan`` says in arrays and addresses what ``loop.integrate_lanes`` needs;
``LaneResults`` is what it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
UNSETTLED = -1  # code of a trajectory that no worker has taken yet


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSets:
    """Base inputs that are piecewise cubic in time, in sets; a trajectory uses one of them.

    Parameters
    ----------
    targets : (k,) base inputs that the tables of each set drive, in order.
    sets : (n,) which set each trajectory uses, or empty: all use the first.
    first_segments, end_segments : (number of sets × k,) where each table's segments begin and end.
    starts, coefficients : (m,) and (m, 4) of all segments.
    knot_offsets, knots : (number of sets + 1,) and the times on which steps end, sorted in each.
    """

    targets: Array
    sets: Array
    first_segments: Array
    end_segments: Array
    starts: Array
    coefficients: Array
    knot_offsets: Array
    knots: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanePlan:
    """All that a run of the batch loop needs, for n trajectories. Who makes it keeps code alive.

    Parameters
    ----------
    lanes : of the functions; 1 for scalar code.
    functions : addresses by the names in ``loop``; what is missing is not there.
    num_states, num_generator_states, num_inputs, num_health, num_columns : nx, nz and so on.
    method : ``"dop853"`` or ``"rk4"``.
    queue : trajectories to do.
    starts, start_times, steps : (n, ny), (n,) and (n,) where each starts, and its first step.
    filled : (n,) samples that each has taken before.
    parameters, base_inputs : (n, …), or (1, …) if all share them.
    tables : of the base inputs.
    end_time : s.
    update_times, sample_times : s, sorted.
    directions : of each event: −1 falling, +1 rising, 0 both; NaN for angles that events follow,
        which come last.
    num_endings : how many of them, the first ones, end a run.
    health_floors : of the health values.
    relative_tolerance, absolute_tolerance : the absolute one (ny,).
    max_step, max_steps : bounds, of the steps of one trajectory.
    projection_tolerance : residual that is left alone.
    """

    lanes: int
    functions: Mapping[str, int]
    num_states: int
    num_generator_states: int
    num_inputs: int
    num_columns: int
    method: str
    queue: Array
    starts: Array
    start_times: Array
    steps: Array
    filled: Array
    parameters: Array
    base_inputs: Array
    tables: TableSets
    end_time: float
    update_times: Array
    sample_times: Array
    directions: Array
    num_endings: int
    health_floors: Array
    relative_tolerance: float
    absolute_tolerance: Array
    max_step: float
    max_steps: int
    projection_tolerance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaneResults:
    """What the batch loop leaves, a row for each of n trajectories.

    Parameters
    ----------
    codes, which : why each ended, one of the endings in ``simulation.rules`` or UNSETTLED, and by
        which event or health value.
    times, states, steps_left : where each ended, and the step size to go on with.
    num_steps, num_rejections, num_evaluations, num_filled : what each took; samples taken.
    final : (n, nc) columns where each ended.
    minimum, maximum : (n, nc) of the samples, or empty.
    samples : (n, ns, nc), or empty.
    event_counts, event_times : (n, ne) and (n, ne, m): how often each event occurred and the first
        m times, nan beyond.
    angles : (n, na) those that events follow, where they were last looked at.
    """

    codes: Array
    which: Array
    times: Array
    steps_left: Array
    num_steps: Array
    num_rejections: Array
    num_evaluations: Array
    num_filled: Array
    states: Array
    final: Array
    minimum: Array
    maximum: Array
    samples: Array
    event_counts: Array
    event_times: Array
    angles: Array


def empty_results(
    count: int,
    num_states: int,
    num_columns: int,
    num_events: int,
    max_events: int,
    *,
    has_minimum: bool,
    has_maximum: bool,
    samples: Array,
    num_angles: int = 0,
) -> LaneResults:
    """Results of trajectories that have not been taken yet."""
    counts = [np.zeros(count, np.int64) for _ in range(4)]
    return LaneResults(
        codes=np.full(count, UNSETTLED, np.int64),
        which=np.full(count, -1, np.int64),
        times=np.zeros(count),
        steps_left=np.zeros(count),
        num_steps=counts[0],
        num_rejections=counts[1],
        num_evaluations=counts[2],
        num_filled=counts[3],
        states=np.zeros((count, num_states)),
        final=np.full((count, num_columns), np.nan),
        minimum=np.full((count, num_columns) if has_minimum else 0, np.inf),
        maximum=np.full((count, num_columns) if has_maximum else 0, -np.inf),
        samples=samples,
        event_counts=np.zeros((count, num_events), np.int64),
        event_times=np.full((count, num_events, max_events), np.nan),
        angles=np.zeros((count, num_angles)),
    )

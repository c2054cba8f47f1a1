"""Many trajectories in lanes: their arrays, the record that workers share, and the workers.

A ``LanePlan`` says in arrays and addresses what the loop needs for many trajectories at once;
``LaneResults`` has a row for each of them: where it starts, and after a run where it ended and what
it took. ``run_lanes`` starts workers, each on a thread of its own without the GIL, and watches them
until they are done or shall end early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noslip.engines import Target, address, work_memory
from noslip.simulation.loop.code import LoopCode, loop_code
from noslip.simulation.loop.shape import SETUP, Shape, rounded
from noslip.simulation.workers import CancelRequest, run_workers

#: Vectors of whole numbers.
_WHOLES = frozenset(
    (
        *("queue", "counter", "table_sets", "knot_offsets", "first_segments", "end_segments"),
        *("targets", "codes", "which", "num_steps", "num_rejections", "num_evaluations"),
        *("num_filled", "event_counts", "fault_counts"),
    )
)
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

    targets: np.ndarray
    sets: np.ndarray
    first_segments: np.ndarray
    end_segments: np.ndarray
    starts: np.ndarray
    coefficients: np.ndarray
    knot_offsets: np.ndarray
    knots: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanePlan:
    """All that a run of the batch loop needs, for n trajectories. Its maker keeps the code loaded.

    Parameters
    ----------
    lanes : of the functions; 1 for scalar code.
    functions : addresses by the names in ``loop``; what is missing is not there. On a device, any
        number but 0.
    num_states, num_generator_states, num_inputs, num_health, num_columns : nx, nz and so on.
    method : ``rules.DOP853`` or ``rules.RK4``.
    queue : trajectories to do.
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
    num_noise, seed, first_run : channels of random numbers of the update, their seed, and the
        number of the first trajectory.
    apart : state whose error is measured by itself, with the tolerance of the first; −1: none.
    is_period : whether trajectories are periods that follow each other, see `periods`.
    """

    lanes: int
    functions: Mapping[str, int]
    num_states: int
    num_generator_states: int
    num_inputs: int
    num_columns: int
    method: int
    queue: np.ndarray
    parameters: np.ndarray
    base_inputs: np.ndarray
    tables: TableSets
    end_time: float
    update_times: np.ndarray
    sample_times: np.ndarray
    directions: np.ndarray
    num_endings: int
    health_floors: np.ndarray
    relative_tolerance: float
    absolute_tolerance: np.ndarray
    max_step: float
    max_steps: int
    projection_tolerance: float
    num_noise: int = 0
    seed: int = 0
    first_run: int = 0
    apart: int = -1
    is_period: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaneResults:
    """Start states and results of n trajectories, a row for each.

    Parameters
    ----------
    codes, which : why each ended, one of the endings in ``simulation.rules`` or UNSETTLED, and by
        which event or health value.
    times, states, steps_left : where each starts, and the size of its first step; then where it
        ended, and the step size to go on with.
    num_steps, num_rejections, num_evaluations, num_filled : what each took; samples taken.
    final : (n, nc) columns where each ended.
    minimum, maximum : (n, nc) of the samples, or empty.
    samples : (n, ns, nc), or empty.
    event_counts, event_times : (n, ne) and (n, ne, m): how often each event occurred and the first
        m times, nan beyond.
    fault_counts, fault_times : (n, ne, 2) how often crossings of an event were not excluded and its
        value not defined, and when first.
    angles : (n, na) those that events follow, at the last check.
    """

    codes: np.ndarray
    which: np.ndarray
    times: np.ndarray
    steps_left: np.ndarray
    num_steps: np.ndarray
    num_rejections: np.ndarray
    num_evaluations: np.ndarray
    num_filled: np.ndarray
    states: np.ndarray
    final: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray
    samples: np.ndarray
    event_counts: np.ndarray
    event_times: np.ndarray
    fault_counts: np.ndarray
    fault_times: np.ndarray
    angles: np.ndarray


def empty_results(
    count: int,
    num_states: int,
    num_columns: int,
    num_events: int,
    max_events: int,
    *,
    has_minimum: bool,
    has_maximum: bool,
    samples: np.ndarray,
    num_angles: int = 0,
) -> LaneResults:
    """Arrays for the results of trajectories that have not been run yet."""
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
        fault_counts=np.zeros((count, num_events, 2), np.int64),
        fault_times=np.full((count, num_events, 2), np.nan),
        angles=np.zeros((count, num_angles)),
    )


class Shared:
    """The record of a batch and the vectors it points to, and the code that runs it."""

    def __init__(self, plan: LanePlan, results: LaneResults) -> None:
        vectors = self.vectors(plan, results)
        self.status, self._counter = vectors["status"], vectors["counter"]
        kinds = {name: np.int64 if name in _WHOLES else np.float64 for name in vectors}
        numbers = {k: address(k, v, kind=kinds[k]) for k, v in vectors.items()}
        numbers |= dict(plan.functions)
        self.record = np.zeros(1, SETUP)
        for name, number in (numbers | self.numbers(plan, results)).items():
            self.record[name] = number
        self.code: LoopCode = loop_code(shape_of(plan, results))
        self._kept = vectors

    @staticmethod
    def vectors(plan: LanePlan, results: LaneResults) -> dict[str, np.ndarray]:
        """All vectors that the record points to, by name."""
        _check_sizes(plan, results)
        tables = plan.tables
        vectors: dict[str, np.ndarray] = {
            "queue": _words(plan.queue),
            "counter": np.zeros(1, np.int64),
            "parameters": _parameters(plan),
            "base": _doubles(plan.base_inputs),
            "table_sets": _words(tables.sets if tables.sets.size else np.zeros(len(results.codes))),
            "knot_offsets": _words(tables.knot_offsets),
            "knots": _doubles(tables.knots),
            "first_segments": _words(tables.first_segments),
            "end_segments": _words(tables.end_segments),
            "segment_starts": _doubles(tables.starts),
            "coefficients": _doubles(tables.coefficients),
            "targets": _words(tables.targets),
            "update_times": _doubles(plan.update_times),
            "sample_times": np.append(_doubles(plan.sample_times), np.inf),
            "directions": _doubles(plan.directions),
            "absolute": _doubles(plan.absolute_tolerance),
            "floors": _doubles(plan.health_floors),
            "status": np.zeros(1),
        }
        return vectors | {name: getattr(results, name) for name in LaneResults.__slots__}

    @staticmethod
    def numbers(plan: LanePlan, results: LaneResults) -> dict[str, Any]:
        """Numbers and sizes of the record, by name."""
        return {
            "queue_length": plan.queue.size,
            "parameter_stride": plan.parameters.shape[1] if len(plan.parameters) > 1 else 0,
            "base_stride": plan.base_inputs.shape[1] if len(plan.base_inputs) > 1 else 0,
            "num_updates": plan.update_times.size if plan.functions.get("update") else 0,
            "num_samples": plan.sample_times.size,
            "num_columns": plan.num_columns,
            "max_steps": plan.max_steps,
            "max_events": results.event_times.shape[2],
            "seed": plan.seed,
            "first_run": plan.first_run,
            "end_time": plan.end_time,
            "max_step": plan.max_step,
            "relative": plan.relative_tolerance,
            "projection": plan.projection_tolerance,
        }

    def begin(self, **numbers: float) -> None:
        """Begin the queue anew, with other numbers of the record."""
        self.status[0], self._counter[0] = 0.0, 0
        for name, number in numbers.items():
            self.record[name] = number

    def stop(self) -> None:
        """End trajectories with ``rules.CANCELLED`` where they are."""
        self.status[0] = 1.0

    def work(self) -> None:
        """Run trajectories until there are none left; any number of threads may do so at once."""
        _memory, work = work_memory(self.code.work_size)
        self.code.integrate(address("record", self.record, kind=SETUP), work)


def _check_sizes(plan: LanePlan, results: LaneResults) -> None:
    """Refuse arrays that are shorter than what the loop reads or writes of them."""
    n, ny = len(results.codes), plan.num_states + plan.num_generator_states
    ns, nc, ne = plan.sample_times.size, plan.num_columns, results.event_counts.shape[-1]
    m, na = results.event_times.shape[-1], results.angles.shape[-1]
    tables, num_sets = plan.tables, max(1, plan.tables.knot_offsets.size - 1)
    expected: dict[str, tuple[int, ...]] = dict.fromkeys(LaneResults.__slots__, (n,))
    expected |= dict.fromkeys(("final", "minimum", "maximum"), (n, nc))
    expected |= {"states": (n, ny), "samples": (n, ns, nc), "angles": (n, na)}
    expected |= {"event_counts": (n, ne), "event_times": (n, ne, m)}
    expected |= dict.fromkeys(("fault_counts", "fault_times"), (n, ne, 2))
    for name, shape in expected.items():
        found, is_optional = getattr(results, name), name in ("minimum", "maximum", "samples")
        if found.shape != shape and not (is_optional and not found.size):
            raise ValueError(f"{name} of a batch has shape {found.shape}, expected {shape}")
    num_segments = num_sets * tables.targets.size
    is_met = {
        "queue": not plan.queue.size or (plan.queue.min() >= 0 and plan.queue.max() < n),
        "parameters": plan.parameters.ndim == 2 and len(plan.parameters) in (1, n),
        "base_inputs": plan.base_inputs.ndim == 2 and len(plan.base_inputs) in (1, n),
        "absolute_tolerance": plan.absolute_tolerance.size == ny,
        "tables.sets": tables.sets.size in (0, n),
        "tables.first_segments": tables.first_segments.size == num_segments,
        "tables.end_segments": tables.end_segments.size == num_segments,
        "tables.coefficients": tables.coefficients.size == 4 * tables.starts.size,
    }
    for name, is_right in is_met.items():
        if not is_right:
            raise ValueError(f"{name} of a batch of {n} trajectories does not fit them")


def shape_of(plan: LanePlan, results: LaneResults) -> Shape:
    """The shape of the loop that a batch needs."""
    num_angles = results.angles.shape[1]
    keeps = ("minimum", "maximum", "samples")
    return Shape(
        target=Target(lanes=plan.lanes),
        method=plan.method,
        nx=plan.num_states,
        nz=plan.num_generator_states,
        num_health=plan.health_floors.size,
        num_inputs=plan.num_inputs,
        num_base=plan.base_inputs.shape[1],
        num_tables=plan.tables.targets.size,
        num_noise=plan.num_noise,
        is_batch=True,
        num_parameters=0 if plan.is_period else plan.parameters.shape[1],
        num_events=plan.directions.size,
        num_endings=plan.num_endings,
        num_angles=num_angles,
        num_columns=rounded(plan.num_columns),
        keeps=tuple(name for name in keeps if getattr(results, name).size),
        has_generator=bool(plan.functions.get("generator")),
        has_update=bool(plan.functions.get("update")) and plan.update_times.size > 0,
        has_projection=bool(plan.functions.get("project")),
        has_enclosures=bool(plan.functions.get("enclosures")),
        has_knots=plan.tables.knots.size > 0 or plan.tables.targets.size > 0,
        has_samples=plan.sample_times.size > 0,
        apart=plan.apart,
        is_period=plan.is_period,
    )


def _parameters(plan: LanePlan) -> np.ndarray:
    """Rows of parameters; of periods the one row, each number once for each lane."""
    rows = _doubles(plan.parameters)
    return np.repeat(rows[0], plan.lanes) if plan.is_period else rows


def _doubles(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64)


def _words(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.int64)


def run_lanes(
    plan: LanePlan,
    results: LaneResults,
    *,
    threads: int,
    progress: Callable[[int], object] | None = None,
    cancel: CancelRequest | None = None,
) -> bool:
    """Integrate the trajectories of the queue into the results; whether it was ended early.

    Parameters
    ----------
    plan : what to integrate.
    results : where to leave it.
    threads : workers.
    progress : called from this thread a few times per second with the number of trajectories done.
    cancel : once it is set, trajectories end with ``rules.CANCELLED`` where they are.
    """
    shared = Shared(plan, results)
    count = max(1, min(threads, -(-len(plan.queue) // plan.lanes)))

    def work(_: int) -> None:
        shared.work()

    def report() -> None:
        if progress is not None:
            progress(int(np.count_nonzero(results.codes != UNSETTLED)))

    try:
        run_workers(work, count, stop=shared.stop, report=report, cancel=cancel)
    except KeyboardInterrupt:
        return True
    return bool(shared.status[0])

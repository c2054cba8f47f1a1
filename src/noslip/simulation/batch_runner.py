"""Many trajectories on several threads: memory for the workers of the batch loop, and their watch.

A ``LanePlan`` says in arrays and addresses what ``batch_loop.integrate_lanes`` needs;
``LaneResults`` is what it leaves, a row for each trajectory. ``run_lanes`` starts the workers, each
on a thread of its own without the GIL, and looks on until they are done or shall end early.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noslip.simulation import loop
from noslip.simulation.batch_kernels import dense_names, kernels, stage_names
from noslip.simulation.batch_setup import REAL_ROWS, WORD_ROWS, WORKER
from noslip.simulation.dop853 import NUM_DENSE_TERMS
from noslip.simulation.runner import POLL_INTERVAL, PROGRESS_INTERVAL, CancelRequest

Array = np.ndarray
UNSETTLED = -1  # code of a trajectory that no worker has taken yet
METHODS = {"dop853": loop.DOP853, "rk4": loop.RK4}


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
    functions : addresses by the names in ``batch_loop``; what is missing is not there.
    num_states, num_generator_states, num_inputs, num_health, num_columns : nx, nz and so on.
    method : ``"dop853"`` or ``"rk4"``.
    queue : trajectories to do.
    starts, start_times, steps : (n, ny), (n,) and (n,) where each starts, and its first step.
    filled : (n,) samples that each has taken before.
    parameters, base_inputs : (n, …), or (1, …) if all share them.
    tables : of the base inputs.
    end_time : s.
    update_times, sample_times : s, sorted.
    directions, is_terminal : of each event: −1 falling, +1 rising, 0 both; whether it ends a run.
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
    is_terminal: Array
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
    codes, which : why each ended, one of the endings in ``loop`` or UNSETTLED, and by which event
        or health value.
    times, states, steps_left : where each ended, and the step size to go on with.
    num_steps, num_rejections, num_evaluations, num_filled : what each took; samples taken.
    final : (n, nc) columns where each ended.
    minimum, maximum : (n, nc) of the samples, or empty.
    samples : (n, ns, nc), or empty.
    event_counts, event_times : (n, ne) and (n, ne, m): how often each event occurred and the first
        m times, nan beyond.
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
    )


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
    cancel : once it is set, trajectories end with ``loop.CANCELLED`` where they are.
    """
    from noslip.simulation.batch_loop import integrate_lanes

    shared = _Shared(plan, results)
    count = max(1, min(threads, -(-len(plan.queue) // plan.lanes)))
    workers = [_Worker(plan, shared) for _ in range(count)]
    failures: list[BaseException] = []
    done = threading.Semaphore(0)

    def work(worker: _Worker) -> None:
        try:
            integrate_lanes(worker.record)
        except BaseException as error:
            failures.append(error)
        finally:
            done.release()

    began: list[threading.Thread] = []
    try:
        for worker in workers:
            thread = threading.Thread(
                target=work, args=(worker,), name="noslip batch worker", daemon=True
            )
            thread.start()
            began.append(thread)
        is_interrupted = _watch(done, len(began), workers, shared.status, progress, cancel)
    except BaseException:
        shared.status[0] = 1
        raise
    if failures:
        raise failures[0]
    return is_interrupted or bool(shared.status[0])


def _watch(
    done: threading.Semaphore,
    count: int,
    workers: list[_Worker],
    status: Array,
    progress: Callable[[int], object] | None,
    cancel: CancelRequest | None,
) -> bool:
    """Wait for all workers, pass requests and progress on; whether Ctrl-C was pressed."""
    left, reported = count, time.monotonic()

    def report() -> None:
        if progress is not None:
            progress(sum(int(worker.record["num_done"][0]) for worker in workers))

    try:
        while left:
            if done.acquire(timeout=POLL_INTERVAL):
                left -= 1
            if cancel is not None and cancel.is_set():
                status[0] = 1
            if time.monotonic() - reported >= PROGRESS_INTERVAL:
                report()
                reported = time.monotonic()
        report()
    except BaseException as error:
        # the workers write into memory that is ours: wait until they have ended
        status[0] = 1
        for _ in range(left):
            done.acquire()
        if isinstance(error, KeyboardInterrupt):
            return True
        raise
    return False


class _Shared:
    """The part of a worker's record that all workers share."""

    def __init__(self, plan: LanePlan, results: LaneResults) -> None:
        self.status = np.zeros(1, np.int64)
        addresses, self.kept = kernels(plan.lanes)
        is_rk4 = plan.method == "rk4"
        stages = np.array([addresses[name] for name in stage_names(plan.method)], np.int64)
        dense_stages = np.array([addresses[name] for name in dense_names()], np.int64)
        tables = plan.tables
        vectors: dict[str, Array] = {
            "stages": stages,
            "dense_stages": dense_stages,
            "queue": np.ascontiguousarray(plan.queue, np.int64),
            "counter": np.zeros(1, np.int64),
            "starts": _doubles(plan.starts),
            "start_times": _doubles(plan.start_times),
            "start_steps": _doubles(plan.steps),
            "start_filled": np.ascontiguousarray(plan.filled, np.int64),
            "parameter_rows": _doubles(plan.parameters),
            "base_rows": _doubles(plan.base_inputs),
            "knot_offsets": np.ascontiguousarray(tables.knot_offsets, np.int64),
            "knots": _doubles(tables.knots),
            "first_segments": np.ascontiguousarray(tables.first_segments, np.int64),
            "end_segments": np.ascontiguousarray(tables.end_segments, np.int64),
            "segment_starts": _doubles(tables.starts),
            "coefficients": _doubles(tables.coefficients),
            "targets": np.ascontiguousarray(tables.targets, np.int64),
            "update_times": _doubles(plan.update_times),
            "sample_times": _doubles(plan.sample_times),
            "directions": _doubles(plan.directions),
            "is_terminal": np.ascontiguousarray(plan.is_terminal, np.int64),
            "status": self.status,
        }
        if tables.sets.size:
            vectors["table_sets"] = np.ascontiguousarray(tables.sets, np.int64)
        for name in LaneResults.__slots__:
            if getattr(results, name).size:
                vectors[name] = getattr(results, name)
        self.numbers: dict[str, Any] = {k: v.ctypes.data for k, v in vectors.items()}
        self.numbers |= {name.lower(): address for name, address in plan.functions.items()}
        self.numbers |= {
            "end": addresses["rk4_end" if is_rk4 else "dop853_end"],
            "dense": addresses["cubic" if is_rk4 else "dop853_dense"],
            **{name: addresses[name] for name in ("interpolate", "differs", "blend")},
            **{name: addresses[name] for name in ("is_finite", "is_healthy")},
            **{name: addresses[name] for name in ("norms", "euler", "second_norm")},
        }
        self.numbers |= _units(plan)
        self.numbers |= _sizes(plan, results, len(stages))
        self.vectors = vectors


def _units(plan: LanePlan) -> dict[str, int]:
    """Addresses of the parts of the loop that this run needs; they are compiled when first used."""
    from noslip.simulation.batch_steps import close_step

    units: dict[str, Any] = {"close_step": close_step}
    if plan.directions.size:
        from noslip.simulation.batch_events import find_events, find_roots

        units |= {"find_events": find_events, "find_roots": find_roots}
    if plan.directions.size or plan.sample_times.size:
        from noslip.simulation.batch_samples import take_samples

        units["take_samples"] = take_samples
    return {name: function.address for name, function in units.items()}


def _sizes(plan: LanePlan, results: LaneResults, num_stages: int) -> dict[str, Any]:
    nx, nz, num_health = plan.num_states, plan.num_generator_states, plan.health_floors.size
    return {
        "lanes": plan.lanes,
        "method": METHODS[plan.method],
        "nx": nx,
        "nz": nz,
        "ny": nx + nz,
        "row": nx + max(nz, num_health),
        "num_inputs": plan.num_inputs,
        "num_base": plan.base_inputs.shape[1],
        "num_parameters": plan.parameters.shape[1],
        "parameter_stride": plan.parameters.shape[1] if len(plan.parameters) > 1 else 0,
        "base_stride": plan.base_inputs.shape[1] if len(plan.base_inputs) > 1 else 0,
        "num_tables": plan.tables.targets.size,
        "num_updates": plan.update_times.size if plan.functions.get("update") else 0,
        "num_samples": plan.sample_times.size,
        "num_health": num_health,
        "num_events": plan.directions.size,
        "max_events": results.event_times.shape[2],
        "num_columns": plan.num_columns,
        "queue_length": plan.queue.size,
        "max_steps": plan.max_steps,
        "num_stages": num_stages,
        "has_more": 1,
        "end_time": plan.end_time,
        "max_step": plan.max_step,
        "relative": plan.relative_tolerance,
        "projection": plan.projection_tolerance,
    }


class _Worker:
    """One worker's record, and its memory in one block, all vectors at whole cache lines."""

    def __init__(self, plan: LanePlan, shared: _Shared) -> None:
        lanes, sizes = plan.lanes, shared.numbers
        ny, num_events = sizes["ny"], sizes["num_events"]
        rows = {"reals": len(REAL_ROWS), "words": len(WORD_ROWS), "segments": sizes["num_tables"]}
        rows |= dict.fromkeys(("y", "stage", "end_state", "next", "point", "other", "absolute"), ny)
        rows |= {"k": loop.NUM_ROWS * sizes["row"], "f": NUM_DENSE_TERMS * ny}
        rows |= {"base": sizes["num_base"], "inputs": sizes["num_inputs"] + sizes["nz"]}
        rows |= {"parameters": sizes["num_parameters"], "newton": sizes["nx"] + 1}
        rows |= dict.fromkeys(("before", "after", "at_end", "probe", "roots"), num_events)
        rows |= {"values": sizes["num_columns"], "settings": 2}
        floors = ("floors", "stage_floors", "near_floors", "health_copy")
        rows |= dict.fromkeys(floors, sizes["num_health"])
        line = 8  # doubles in a cache line
        lengths = {name: -(-count * lanes // line) * line for name, count in rows.items()}
        block = np.zeros(sum(lengths.values()) + line)
        at = (-block.ctypes.data // 8) % line
        places: dict[str, Array] = {}
        for name, length in lengths.items():
            places[name] = block[at : at + rows[name] * lanes].reshape(rows[name], lanes)
            at += length
        places["absolute"][:] = plan.absolute_tolerance[:, None]
        places["settings"][0], places["settings"][1] = plan.relative_tolerance, ny
        places["floors"][:] = plan.health_floors[:, None]
        places["stage_floors"][:] = loop.STAGE_FLOOR * plan.health_floors[:, None]
        places["near_floors"][:] = loop.NEAR_FLOOR * plan.health_floors[:, None]
        places["words"].view(np.int64)[WORD_ROWS.index("INDEX")] = -1
        if not sizes.get("generator"):
            places["inputs"] = places["base"]
        self.record = np.zeros(1, WORKER)
        numbers = sizes | {name: place.ctypes.data for name, place in places.items()}
        numbers["here"] = self.record.ctypes.data
        for name, number in numbers.items():
            self.record[name] = number
        self._kept = (block, shared)


def _doubles(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)

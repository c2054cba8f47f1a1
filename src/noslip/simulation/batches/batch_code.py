"""A batch as code: its functions, its workers in lanes, and its kernel on a device.

**Many trajectories in lanes: their arrays, the record that workers share, and the workers.**

A ``LanePlan`` says in arrays and addresses what the loop needs for many trajectories at once;
``LaneResults`` has a row for each of them: where it starts, and after a run where it ended and what
it took. ``run_lanes`` starts workers, each on a thread of its own without the GIL, and watches them
until they are done or shall end early.

**Many trajectories on a device: one thread, one trajectory at a time.**

All functions of the batch and the loop are one kernel. As many threads as the device runs at once
take trajectories from a queue until none are left, so those that end early hold nobody up. A launch
is bounded: after so many rounds every thread puts its trajectory aside and returns, and the next
launch continues where it was. Between launches the batch can be cancelled, and progress moves.

What does not fit into the memory of the device is run in parts, one after another.

**A batch as code: all functions of a request, traced in a system's symbols and compiled together.**

The same request can be compiled for several systems, that is for several choices of independent
speeds, and for any number of lanes; one lane is scalar code.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import DeviceError
from noslip.engines import (
    AbstractDevice,
    DeviceKernel,
    DeviceMemory,
    ElementType,
    NativeFunction,
    Program,
    SharedFunctions,
    System,
    Target,
    address,
    compile_native,
    compile_wide,
    once_a_system,
    trace_program,
    work_memory,
)
from noslip.simulation.batches.batch_request import BatchRequest, trace_columns
from noslip.simulation.events import enclosures_program, trace_events
from noslip.simulation.inputs import (
    InputGenerator,
    TimeFeatures,
    input_index,
    inputs_expression,
    table_entries,
)
from noslip.simulation.loop.loop import LoopCode, loop_code, print_loop
from noslip.simulation.loop.writer import PLACES, SETUP, LoopWriter, Shape, rounded
from noslip.simulation.native_run import CancelRequest, InputTable, run_workers
from noslip.simulation.request import RunOptions

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
    """Base inputs that are piecewise cubic in time, in sets; a trajectory uses one of them."""

    targets: np.ndarray  #: (k,) base inputs that the tables of each set drive, in order
    sets: np.ndarray  #: (n,) which set each trajectory uses, or empty: all use the first
    #: first_segments, end_segments: (number of sets × k,) where each table's segments begin and end
    first_segments: np.ndarray
    end_segments: np.ndarray
    #: starts, coefficients: (m,) and (m, 4) of all segments
    starts: np.ndarray
    coefficients: np.ndarray
    #: knot_offsets, knots: (number of sets + 1,) and the times on which steps end, sorted in each
    knot_offsets: np.ndarray
    knots: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanePlan:
    """What a run of the batch loop needs, for n trajectories; its maker keeps the code loaded."""

    lanes: int  #: lanes of the functions; 1 for scalar code
    #: addresses by the names in ``loop``; what is missing is not there. On a device, any number but
    #: 0.
    functions: Mapping[str, int]
    num_states: int
    num_generator_states: int
    num_inputs: int
    num_columns: int
    method: int  #: ``rules.DOP853`` or ``rules.RK4``
    queue: np.ndarray  #: trajectories to do
    #: parameters, base_inputs: (n, …), or (1, …) if all share them
    parameters: np.ndarray
    base_inputs: np.ndarray
    tables: TableSets  #: tables of the base inputs
    end_time: float  #: s
    #: update_times, sample_times: s, sorted
    update_times: np.ndarray
    sample_times: np.ndarray
    #: directions of each event: −1 falling, +1 rising, 0 both; NaN for angles that events follow,
    #: which come last
    directions: np.ndarray
    num_endings: int  #: number of events that end a run, the first ones
    health_floors: np.ndarray  #: health floors of the health values
    #: relative_tolerance, absolute_tolerance: the absolute one (ny,)
    relative_tolerance: float
    absolute_tolerance: np.ndarray
    #: max_step, max_steps: bounds, of the steps of one trajectory
    max_step: float
    max_steps: int
    projection_tolerance: float  #: residual that is left alone
    #: num_noise, seed, first_run: channels of random numbers of the update, their seed, and the
    #: number of the first trajectory
    num_noise: int = 0
    seed: int = 0
    first_run: int = 0
    #: state whose error is measured by itself, with the tolerance of the first; −1: none
    apart: int = -1
    #: whether trajectories are periods that follow each other, see `periods`
    is_period: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaneResults:
    """Start states and results of n trajectories, a row for each."""

    #: codes, which: reason why each ended, one of the endings in ``simulation.rules`` or UNSETTLED,
    #: and number of the event or singularity measure
    codes: np.ndarray
    which: np.ndarray
    #: times, states, steps_left: start of each, and the size of its first step; then its end, and
    #: the step size to go on with
    times: np.ndarray
    steps_left: np.ndarray
    #: num_steps, num_rejections, num_evaluations, num_filled: numbers of steps, rejections,
    #: evaluations and samples of each
    num_steps: np.ndarray
    num_rejections: np.ndarray
    num_evaluations: np.ndarray
    num_filled: np.ndarray
    states: np.ndarray
    final: np.ndarray  #: (n, nc) columns where each ended
    #: minimum, maximum: (n, nc) of the samples, or empty
    minimum: np.ndarray
    maximum: np.ndarray
    samples: np.ndarray  #: (n, ns, nc), or empty
    #: event_counts, event_times: (n, ne) and (n, ne, m): how often each event occurred and the
    #: first m times, nan beyond
    event_counts: np.ndarray
    event_times: np.ndarray
    #: fault_counts, fault_times: (n, ne, 2) how often crossings of an event were not excluded and
    #: its value not defined, and when first
    fault_counts: np.ndarray
    fault_times: np.ndarray
    angles: np.ndarray  #: (n, na) those that events follow, at the last check


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

    `progress`: function called from this thread a few times per second with the number of
    trajectories done; `cancel`: event that, once set, ends trajectories with ``rules.CANCELLED``
    where they are.
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


#: Seconds that a launch shall take, and bounds of its rounds.
LAUNCH_TIME = 0.1
FIRST_ROUNDS, MOST_ROUNDS, LAST_ROUNDS = 32, 2**20, 4
#: States up to which the vectors of a loop without events and samples are registers.
MOST_IN_REGISTERS = 64
#: Share of the free memory of a device that is used, and the most trajectories of a part.
SHARE = 0.8
MOST_AT_ONCE = 2**22
#: Results that a trajectory begins with, and all that it leaves.
_GIVEN = (
    *(
        "codes",
        "which",
        "times",
        "steps_left",
        "num_steps",
        "num_rejections",
        "num_evaluations",
        "num_filled",
    ),
    *("states", "minimum", "maximum", "event_counts", "fault_counts", "fault_times", "angles"),
)
_MISSING = ("final", "event_times", "samples")  # nan where nothing was recorded
_LEFT = (*_GIVEN, *_MISSING)
#: By trajectory, besides the results.
_ROWS = ("parameters", "base", "table_sets")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceCode:
    """Functions of a batch as one kernel."""

    programs: Mapping[str, Program]  #: programs by the names of the loop
    device: AbstractDevice  #: device that runs it
    is_single: bool = False  #: whether states have single precision
    #: container of tables of results that stay on the device, if they shall
    kept: dict[str, DeviceMemory] | None = None


def run_on_device(
    plan: LanePlan,
    results: LaneResults,
    code: DeviceCode,
    *,
    progress: Callable[[int], object] | None = None,
    cancel: CancelRequest | None = None,
) -> bool:
    """Integrate the trajectories of the queue into the results; whether it was ended early.

    `cancel`: event that, once set, ends trajectories with ``rules.CANCELLED`` where they are.
    """
    shape = _shape(plan, results, code)
    printed = _kernel(shape, tuple(code.programs.items()))
    values, pause_words = printed.values(plan, shape), printed.pause_words
    kernel = code.device.kernel(printed.text, printed.functions.tables)
    size = _part_size(plan, results, kernel, pause_words, code.device)
    done = 0
    for begin in range(0, len(plan.queue), size):
        which = plan.queue[begin : begin + size]
        part = _Part(plan, results, which, code.device, values, kernel, pause_words)
        before = done

        def report(count: int, before: int = before) -> None:
            if progress is not None:
                progress(before + count)

        is_ended = part.run(report, cancel)
        part.download()
        if code.kept is not None and len(which) == len(results.codes):
            code.kept.update(part.tables())
        done += len(which)
        if is_ended:
            return True
    return False


def _shape(plan: LanePlan, results: LaneResults, code: DeviceCode) -> Shape:
    """The shape of a thread's loop, with the parameters that differ."""
    shape = shape_of(plan, results)
    rows = plan.parameters[plan.queue] if len(plan.parameters) > 1 else plan.parameters
    count = shape.num_parameters - shape.num_angles
    differs = np.any(rows[:, :count] != rows[:1, :count], axis=0)
    varying = tuple(np.flatnonzero(differs).tolist())
    is_plain = not shape.num_events and not shape.has_samples
    target = Target.thread(on_stack=is_plain and shape.ny <= MOST_IN_REGISTERS)
    if code.is_single:
        target = dataclasses.replace(target, number=ElementType.SINGLE)
    return dataclasses.replace(shape, target=target, varying=varying)


class _Kernel(NamedTuple):
    """Text of a kernel, words that a thread keeps between launches, and its functions."""

    text: str
    pause_words: int
    functions: SharedFunctions

    def values(self, plan: LanePlan, shape: Shape) -> bytes:
        """Shared parameters and what was hoisted of them, in the precision of the kernel."""
        row = plan.parameters[plan.queue[0] if len(plan.parameters) > 1 else 0]
        kind = np.float32 if shape.target.number == ElementType.SINGLE else np.float64
        return self.functions.values(row).astype(kind).tobytes()


@lru_cache(maxsize=32)
def _kernel(shape: Shape, programs: tuple[tuple[str, Program], ...]) -> _Kernel:
    """The kernel of a shape and its programs."""
    count = shape.num_parameters - shape.num_angles
    constant = [k for k in range(count) if k not in shape.varying]
    first = len(PLACES) * (2 if shape.target.number == ElementType.SINGLE else 1)
    functions = SharedFunctions.printed(
        dict(programs), constant, first, shape.num_parameters, shape.target.number
    )
    text = functions.kernel(print_loop(shape))
    return _Kernel(text, LoopWriter(shape).pause_size, functions)


def _part_size(
    plan: LanePlan,
    results: LaneResults,
    kernel: DeviceKernel,
    pause_words: int,
    device: AbstractDevice,
) -> int:
    """Trajectories that fit into the memory of the device at the same time."""
    each = 8.0 * (plan.parameters.shape[1] + plan.base_inputs.shape[1] + 2)
    for name in _LEFT:
        table = getattr(results, name)
        each += table.nbytes / max(len(table), 1)
    shared = 8.0 * kernel.most_threads * pause_words + 2**20
    room = SHARE * device.free_memory() - shared
    if room < each:
        raise DeviceError(
            f"the memory of {device.name} is too small for a single trajectory",
            f"batch of {len(plan.queue)} trajectories",
            "keep fewer samples, or free memory on the GPU",
        )
    return max(1, min(len(plan.queue), MOST_AT_ONCE, int(room / each)))


class _Part:
    """Trajectories that are on the device at the same time."""

    def __init__(
        self,
        plan: LanePlan,
        results: LaneResults,
        which: np.ndarray,
        device: AbstractDevice,
        values: bytes,
        kernel: DeviceKernel,
        pause_words: int,
    ) -> None:
        self._device, self._kernel, self._results = device, kernel, results
        count = self._count = len(which)
        # rows that follow each other are taken as they are
        is_all = count and which[-1] - which[0] == count - 1
        self._rows: Any = slice(int(which[0]), int(which[0]) + count) if is_all else which
        is_new = bool(np.all(results.codes[self._rows] < 0))
        self._memory: dict[str, DeviceMemory] = {}
        shared = Shared.vectors(plan, results)
        shared |= {"queue": np.arange(count), "num_paused": np.zeros(1, np.int64)}
        for name, vector in shared.items():
            if name in _ROWS and len(vector) > 1:
                vector = vector[self._rows]
            if name not in LaneResults.__slots__:
                self._upload(name, vector)
        for name in _LEFT:
            table = getattr(results, name)
            if not table.size:
                continue
            if name in _GIVEN or (name in _MISSING and not is_new):
                self._upload(name, table[self._rows])
            else:
                nbytes = table.nbytes // len(table) * count
                self._memory[name] = device.allocate(nbytes)
                if name in _MISSING:
                    self._memory[name].fill(0xFF)  # nan
        self._threads = kernel.rounded(min(kernel.most_threads, count))
        self._work = device.allocate(8 * pause_words * self._threads)
        self._work.fill(0)
        record = np.zeros(1, SETUP)
        for name, number in Shared.numbers(plan, results).items():
            record[name] = number
        for name, memory in self._memory.items():
            record[name] = memory.address
        record["queue_length"] = count
        self._record, self._values = record, values

    def _upload(self, name: str, vector: np.ndarray) -> None:
        vector = np.ascontiguousarray(vector)
        memory = self._memory[name] = self._device.allocate(vector.nbytes)
        memory.upload(vector)

    def run(self, report: Callable[[int], None], cancel: CancelRequest | None) -> bool:
        """Launch until all are done; whether it was ended early."""
        rounds, is_ended = FIRST_ROUNDS, False
        while True:
            began = time.perf_counter()
            try:
                num_taken, num_paused = self._launch(LAST_ROUNDS if is_ended else rounds)
                if not num_paused:
                    report(min(num_taken, self._count))
                    return is_ended
                report(min(num_taken, self._count) - num_paused)
                is_asked = cancel is not None and cancel.is_set()
            except KeyboardInterrupt:
                is_asked = True
            if is_asked and not is_ended:
                is_ended = True
                self._memory["status"].upload(np.ones(1))
            elapsed = time.perf_counter() - began
            factor = min(4.0, max(0.25, LAUNCH_TIME / max(elapsed, 1e-6)))
            rounds = max(1, min(MOST_ROUNDS, int(rounds * factor)))

    def _launch(self, rounds: int) -> tuple[int, int]:
        """Run all threads for so many rounds; trajectories taken, and threads that paused."""
        counter, paused = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._memory["num_paused"].upload(paused)
        self._record["pause"] = rounds
        self._kernel.launch(self._record.tobytes() + self._values, self._work, self._threads)
        self._memory["counter"].download(counter)
        self._memory["num_paused"].download(paused)
        return int(counter[0]), int(paused[0])

    def tables(self) -> dict[str, DeviceMemory]:
        """Tables of columns on the device."""
        names = ("final", "minimum", "maximum", "samples")
        return {name: self._memory[name] for name in names if name in self._memory}

    def download(self) -> None:
        """Copy the results back."""
        for name in _LEFT:
            table = getattr(self._results, name)
            if not table.size:
                continue
            rows = table[self._rows]
            if rows.flags.c_contiguous and isinstance(self._rows, slice):
                self._memory[name].download(rows)
            else:
                rows = np.empty_like(rows)
                self._memory[name].download(rows)
                table[self._rows] = rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchCode:
    """A request compiled for a system."""

    system: System  #: system in whose independent speeds it is written
    programs: Mapping[str, Program]  #: programs by the names in ``loop``
    units: Mapping[str, str]  #: units of the columns, by name
    #: parameters, base_inputs: rows, one or one for each trajectory
    parameters: np.ndarray
    base_inputs: np.ndarray
    tables: TableSets  #: tables that drive base inputs
    generator: InputGenerator | None  #: generator of the inputs, if a law gives them
    update_times: np.ndarray  #: update times of that law
    #: inputs as a function of (t, y, base inputs, parameters), if there is one
    inputs_program: Program | None
    num_angles: int  #: angles that events follow; they are the last values of events and parameters
    _compiled: Callable[[], dict[str, Any]]

    @property
    def functions(self) -> dict[str, int]:
        """Addresses of the programs compiled for lanes; they are valid as long as this lives."""
        compiled = self._compiled()
        for name, function in compiled.items():
            if function.input_sizes[3] > self.parameters.shape[1]:
                raise ValueError(
                    f"'{name}' reads {function.input_sizes[3]} parameters, a row has "
                    f"{self.parameters.shape[1]}"
                )
        return {name: function.address for name, function in compiled.items()}

    @property
    def num_generator_states(self) -> int:
        """Number of states of the law that gives the inputs."""
        return 0 if self.generator is None else len(self.generator.start)

    def model_parameters(self, trajectories: np.ndarray) -> np.ndarray:
        """(k, np) the model's own parameters of some trajectories."""
        count = len(self.system.model.parameters)
        return self.parameters[_rows(self.parameters, trajectories), :count]

    def inputs_at(self, trajectories: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[u; w; ẇ] of some trajectories at times and states, outside the loop."""
        base = self.base_inputs[_rows(self.base_inputs, trajectories)].copy()
        for row, (k, now) in enumerate(zip(trajectories, t, strict=True)):
            base[row] = self._with_tables(base[row], int(k), float(now))
        if self.inputs_program is None:
            return base
        function = _scalar(self.inputs_program)
        p = self.parameters[_rows(self.parameters, trajectories)]
        return function.map(t, y, base, p)[:, : len(self.system.inputs)]

    def events_at(
        self, trajectories: np.ndarray, t: np.ndarray, y: np.ndarray, *, is_compiled: bool
    ) -> np.ndarray:
        """Values of all events of some trajectories at times and states, outside the loop."""
        program = self.programs["events"]
        u = np.zeros((len(t), program.input_sizes[2]))
        u[:, : len(self.system.inputs)] = self.inputs_at(trajectories, t, y)[
            :, : len(self.system.inputs)
        ]
        p = self.parameters[_rows(self.parameters, trajectories)]
        if is_compiled:
            found: np.ndarray = self._compiled()["events"].map(t, y, u, p)
            return found
        parts = [slice(k, k + ROWS) for k in range(0, len(t), ROWS)]
        return np.concatenate([program.interpret(t[k], y[k], u[k], p[k]) for k in parts])

    def _with_tables(self, base: np.ndarray, trajectory: int, t: float) -> np.ndarray:
        tables = self.tables
        chosen = int(tables.sets[trajectory]) if tables.sets.size else 0
        for k, target in enumerate(tables.targets):
            place = chosen * tables.targets.size + k
            first, end = tables.first_segments[place], tables.end_segments[place]
            starts = tables.starts[first:end]
            segment = first + max(int(np.searchsorted(starts, t, side="right")) - 1, 0)
            base[target] = np.polyval(tables.coefficients[segment], t - tables.starts[segment])
        return base


def compile_batch(system: System, request: BatchRequest, *, is_on_device: bool) -> BatchCode:
    """Compile a request for a system, for lanes or for its device."""
    columns, events, lanes = request.columns, request.events, request.lanes
    start_time, end_time = request.run.start_time, request.run.end_time
    key = (
        *("batch", columns, tuple(events.items()), lanes, tuple(request.numbers)),
        *(tuple(request.definitions.items()), tuple(request.traced.items())),
        tuple(request.run.outputs.items()),
        is_on_device,
    )

    def make() -> _BatchFunctions:
        return _functions(system, request, is_on_device=is_on_device)

    # a law, and a CasADi function, may be another object with the same name the next time
    is_text = all(isinstance(spec, str) for spec in request.traced.values())
    made = system.cached(key, make) if is_text and request.law is None else make()
    law = made.generator
    update_times = law.update_times(start_time, end_time) if law else np.zeros(0)
    ends = np.union1d(update_times, law.knots) if law else update_times
    entries = [] if made.generator is not None else _table_entries(system, request)
    num_hoisted = _num_hoisted(system, is_on_device)
    parameters = _parameter_rows(system, request, made.generator, made.num_angles, num_hoisted)
    features = _features(request, made.features, parameters)
    return BatchCode(
        system=system,
        programs=made.programs,
        units=made.units,
        parameters=parameters,
        base_inputs=_base_rows(system, request, law),
        tables=_table_sets(entries, request.count, ends, features, start_time, end_time),
        generator=made.generator,
        update_times=update_times,
        inputs_program=made.inputs_program,
        num_angles=made.num_angles,
        _compiled=made.compiled,
    )


#: Rows that are interpreted at a time.
ROWS = 4096


class _BatchFunctions(NamedTuple):
    """Functions that batches with the same columns, events and texts share.

    They are compiled for lanes when that is first asked for, which a device does not.
    """

    programs: dict[str, Program]
    compiled: Callable[[], dict[str, Any]]
    units: Mapping[str, str]
    generator: InputGenerator | None
    inputs_program: Program | None
    num_angles: int
    features: TimeFeatures | None


def _functions(system: System, request: BatchRequest, *, is_on_device: bool) -> _BatchFunctions:
    """Trace and compile all functions of a request."""
    columns, events, lanes = request.columns, request.events, request.lanes
    generator = request.law.generator(system) if request.law else None
    if generator is not None:
        generator.require_traced("a batch")
    symbols = {name: ca.SX.sym(name) for name in request.numbers}
    definitions: dict[str, str | ca.SX] = {**symbols, **request.definitions}
    units, columns_traced = trace_columns(
        system, columns, generator, definitions, request.run.outputs
    )
    expressions: dict[str, ca.SX] = {"columns": columns_traced}
    near = ca.SX(0, 1)
    given = generator or request.traced
    if generator.inputs if generator else request.traced:
        expressions["generator"] = inputs_expression(system, given, definitions)
    if generator is not None and generator.update is not None:
        expressions["update"] = generator.update
    if events:
        texts = {f"event '{name}'": text for name, text in events.items()}
        watched = trace_events(system, texts, definitions)
        expressions["events"], near = watched.expression, watched.near
    own_parameters = generator.parameters if generator else ca.SX(0, 1)
    hoisted = ca.SX.sym("hoisted", _num_hoisted(system, is_on_device))
    extra = ca.vertcat(hoisted, *symbols.values(), own_parameters)
    count = system.kinematics.symbols.params.shape[0] + extra.shape[0] + near.shape[0]
    extra = ca.vertcat(extra, ca.SX.sym("unused", rounded(count) - count), near)
    programs = {
        name: _program(system, name, expression, generator, extra)
        for name, expression in expressions.items()
    }
    if events:
        params = ca.vertcat(system.kinematics.symbols.params, extra)
        programs["enclosures"] = enclosures_program(system, watched, params, programs["events"])

    # on the processor; a device hoists by itself
    @functools.cache
    def compiled() -> dict[str, Any]:
        return _compile(list(programs.values()), lanes) | motion_in_lanes(system, lanes)

    return _BatchFunctions(
        programs=programs | motion_programs(system),
        compiled=compiled,
        units=units,
        generator=generator,
        inputs_program=programs.get("generator"),
        num_angles=near.shape[0],
        features=_trace_features(system, expressions["generator"], extra)
        if request.traced and generator is None
        else None,
    )


def _trace_features(system: System, inputs: ca.SX, extra: ca.SX) -> TimeFeatures:
    """Features of time of inputs, with the numbers of the request behind the parameters."""
    symbols = system.kinematics.symbols
    others = ca.vertcat(system.state, system.equations.inputs)
    params = ca.vertcat(symbols.params, extra)
    return TimeFeatures(system.fold(inputs), symbols.t, params, others)


def _features(
    request: BatchRequest, features: TimeFeatures | None, rows: np.ndarray
) -> list[np.ndarray]:
    """Times on which steps end for features of time in inputs: for all, or for each trajectory."""
    if features is None:
        return [np.zeros(0)]
    span = request.run.start_time, request.run.end_time
    own = rows[:, features.used]
    _, first, which = np.unique(own, axis=0, return_index=True, return_inverse=True)
    found = [each.knots for each in features.find_many(rows[first], *span)]
    return found if len(found) == 1 else [found[k] for k in which.ravel().tolist()]


@once_a_system
def motion_in_lanes(system: System, lanes: int) -> dict[str, Any]:
    """Rates and projection of a system, compiled once for each number of lanes."""
    programs = dict(motion_programs(system))
    programs["rates"] = system.hoisted_rates.main_program
    return _compile(list(programs.values()), lanes)


@once_a_system
def motion_programs(system: System) -> dict[str, Program]:
    """Rates and projection of a system."""
    programs = {"rates": system.program("rates", system.rates_expression)}
    if system.has_projection:
        programs["project"] = system.program("project", system.projection_expression)
    return programs


def _compile(programs: list[Program], lanes: int) -> dict[str, Any]:
    if lanes == 1:
        return dict(compile_native(programs))
    return dict(compile_wide(programs, lanes))


def _scalar(program: Program) -> NativeFunction:
    return compile_native([program])[program.name]


def _program(
    system: System, name: str, expression: ca.SX, generator: InputGenerator | None, extra: ca.SX
) -> Program:
    """Operations of a function of (t, [x; z], inputs, [parameters; hoisted; numbers; …])."""
    symbols = system.kinematics.symbols
    states = generator.states if generator else ca.SX(0, 1)
    noise = generator.noise if generator else ca.SX(0, 1)
    given = (
        symbols.t,
        ca.vertcat(system.state, states),
        ca.vertcat(system.equations.inputs, noise),
        ca.vertcat(symbols.params, extra),
    )
    return trace_program(name, given, ca.densify(system.fold(expression)))


Entry = tuple[
    int, tuple[tuple[np.ndarray, np.ndarray], ...]
]  # base input; segments, one or one for each


def _table_entries(system: System, request: BatchRequest) -> list[Entry]:
    """Inputs that are tables, and their rates."""
    entries: list[Entry] = []
    for name, tables in request.tables.items():
        k, offset = input_index(system, name)
        found = [table_entries(system, table, k, offset, name) for table in tables]
        for rows in zip(*found, strict=True):
            entries.append((rows[0].index, tuple((x.starts, x.coefficients) for x in rows)))
    return entries


def _table_sets(
    entries: list[Entry],
    count: int,
    updates: np.ndarray,
    features: list[np.ndarray],
    start_time: float,
    end_time: float,
) -> TableSets:
    """Tables and knots in sets: one for all trajectories, or one for each if something differs."""
    differs = len(features) > 1 or any(len(segments) > 1 for _, segments in entries)
    num_sets = count if differs else 1
    first = np.zeros((num_sets, len(entries)), np.int64)
    end, at = first.copy(), 0
    starts, coefficients = [np.zeros(0)], [np.zeros((0, 4))]
    for k, (_, segments) in enumerate(entries):
        lengths = np.array([len(s) for s, _ in segments])
        offsets = at + np.concatenate([[0], np.cumsum(lengths)])
        first[:, k], end[:, k] = offsets[:-1], offsets[1:]
        at = int(offsets[-1])
        starts += [s for s, _ in segments]
        coefficients += [c for _, c in segments]
    knots = []
    for k in range(num_sets):
        times = [s[k if len(s) > 1 else 0][0] for _, s in entries]
        own = features[k if len(features) > 1 else 0]
        found = np.unique(np.concatenate([updates, own, *times]))
        knots.append(found[(found > start_time) & (found < end_time)])
    return TableSets(
        targets=np.array([target for target, _ in entries], np.int64),
        sets=np.arange(count) if num_sets > 1 else np.zeros(0, np.int64),
        first_segments=first.ravel(),
        end_segments=end.ravel(),
        starts=np.concatenate(starts),
        coefficients=np.concatenate(coefficients),
        knot_offsets=np.cumsum([0, *(len(k) for k in knots)]),
        knots=np.concatenate([np.zeros(0), *knots]),
    )


def shared_tables(tables: Sequence[InputTable], knots: np.ndarray, run: RunOptions) -> TableSets:
    """Tables of base inputs and knots that all trajectories share."""
    entries: list[Entry] = [(t.index, ((t.starts, t.coefficients),)) for t in tables]
    return _table_sets(entries, 1, np.zeros(0), [knots], run.start_time, run.end_time)


def _num_hoisted(system: System, is_on_device: bool) -> int:
    """Values behind the parameters that follow from them alone; a device computes its own."""
    return 0 if is_on_device else system.hoisted_rates.num_hoisted


def _parameter_rows(
    system: System,
    request: BatchRequest,
    generator: InputGenerator | None,
    num_angles: int,
    num_hoisted: int,
) -> np.ndarray:
    """[parameters; hoisted; numbers; the law's; unused; room for angles], one row or many."""
    own = request.parameters
    if num_hoisted:
        own = system.hoisted_rates.parameters(own)
    parts = [own, *(array[:, None] for array in request.numbers.values())]
    if generator is not None:
        parts.append(np.asarray(generator.parameter_values)[None])
    count = sum(part.shape[1] for part in parts) + num_angles
    parts.append(np.zeros((1, rounded(count) - count + num_angles)))
    return _stacked(parts)


def _base_rows(system: System, request: BatchRequest, law: InputGenerator | None) -> np.ndarray:
    """Inputs that are numbers, one row or one for each trajectory; the others are zero.

    Behind them is room for the random numbers of a law.
    """
    zero = np.zeros((1, 1))
    return _stacked(
        [
            *(request.constants.get(q.name, zero).reshape(-1, 1) for q in system.inputs),
            np.zeros((1, law.noise.shape[0] if law else 0)),
        ]
    )


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    count = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(p, (count, p.shape[1])) for p in parts], axis=1)


def _rows(table: np.ndarray, trajectories: np.ndarray) -> np.ndarray:
    """Rows of a table that some trajectories use; a table of one row is shared."""
    return trajectories if len(table) > 1 else np.zeros(len(trajectories), np.int64)

"""Many trajectories on a device: one thread, one trajectory at a time.

All functions of the batch and the loop are one kernel. As many threads as the device runs at once
take trajectories from a queue until none are left, so those that end early hold nobody up. A launch
is bounded: after so many rounds every thread puts its trajectory aside and returns, and the next
launch continues where it was. Between launches the batch can be cancelled, and progress moves.

What does not fit into the memory of the device is run in parts, one after another.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from noslip.base import DeviceError
from noslip.engines import (
    AbstractDevice,
    DeviceKernel,
    DeviceMemory,
    Program,
    SharedFunctions,
    Target,
    print_shared_functions,
)
from noslip.simulation.batches.lanes import LanePlan, LaneResults, Shared, shape_of
from noslip.simulation.loop.loop import print_loop
from noslip.simulation.loop.shape import PLACES, SETUP, Shape
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.workers import CancelRequest

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
    """Functions of a batch as one kernel.

    Parameters
    ----------
    programs : by the names of the loop.
    device : where it runs.
    is_single : whether states have single precision.
    kept : where tables of results are put that stay on the device, if they shall.
    """

    programs: Mapping[str, Program]
    device: AbstractDevice
    is_single: bool = False
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

    Parameters
    ----------
    plan : what to integrate.
    results : where to leave it.
    code : what runs, and where.
    progress : called with the number of trajectories done.
    cancel : once it is set, trajectories end with ``rules.CANCELLED`` where they are.
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
    target = dataclasses.replace(target, is_single=code.is_single)
    return dataclasses.replace(shape, target=target, varying=varying)


class _Kernel(NamedTuple):
    """Text of a kernel, words that a thread keeps between launches, and its functions."""

    text: str
    pause_words: int
    functions: SharedFunctions

    def values(self, plan: LanePlan, shape: Shape) -> bytes:
        """Shared parameters and what was hoisted of them, in the precision of the kernel."""
        row = plan.parameters[plan.queue[0] if len(plan.parameters) > 1 else 0]
        kind = np.float32 if shape.target.is_single else np.float64
        return self.functions.values(row).astype(kind).tobytes()


@lru_cache(maxsize=32)
def _kernel(shape: Shape, programs: tuple[tuple[str, Program], ...]) -> _Kernel:
    """The kernel of a shape and its programs."""
    count = shape.num_parameters - shape.num_angles
    constant = [k for k in range(count) if k not in shape.varying]
    first = len(PLACES) * (2 if shape.target.is_single else 1)
    functions = print_shared_functions(
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

"""Many mechanisms with one task on a GPU: a step of all is one launch, and arrays stay there.

A thread takes one environment after another: its start where an episode begins, else the period
under its action; what is seen, rewarded and ended (`gym_kernel`). Equations, observations, rewards
and ends are the programs that are printed for the processor, here for a thread, and starts are
drawn by the same random numbers; so episodes are those of :class:`Mechanisms` to rounding.

Two things differ. Starts are completed by traced expressions, which are compared with
`complete_starts` when the environments are made. And where the basis of independent speeds ends,
the next one is among those that cover the coordinates' ranges (`basis_cover`), compiled beforehand,
where the processor compiles whichever is best.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import threading
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from noslip import DeviceError, SimulationError, System
from noslip.base import Array
from noslip.engines import (
    REAL,
    SINGLE,
    AbstractDevice,
    DeviceArray,
    DeviceKernel,
    DeviceMemory,
    Program,
    SharedFunctions,
    basis_measures,
    cover_ranges,
    device_view,
    given_table,
    interpret_rows,
    print_shared_functions,
)
from noslip.environments.gym_kernel import (
    CLOSING_STEPS,
    THREAD_WORDS,
    EpisodeShape,
    print_thread_period,
)
from noslip.environments.gym_mechanisms import (
    Draws,
    action_ranges,
    check_begun,
    check_task,
    columns_of,
)
from noslip.environments.gym_tasks import GymTask
from noslip.simulation import (
    ThreadPeriod,
    TracedStart,
    completed_states,
    thread_programs,
    trace_start,
)

#: Starts that are compared with those of the processor, and how far apart they may be.
COMPARED, APART = 32, 1e-9
#: Steps of a period, at most.
MOST_STEPS = 1_000_000
#: Every byte of −1, the number of acts of an episode that is over.
_OVER = 0xFF
#: Kinds of numbers that actions may have.
_KINDS = {np.dtype(np.float32): SINGLE, np.dtype(np.float64): REAL}


class EndedNames:
    """Reasons why episodes ended in a step, copied from the device lazily.

    Parameters
    ----------
    codes : (n,) 0 where none ended, else 1 + the place of the name.
    names : of the task's ends, then ``"singular"``.
    """

    def __init__(self, codes: DeviceArray, names: tuple[str, ...]) -> None:
        self.codes, self.names = codes, names

    def numpy(self) -> np.ndarray:
        """(n,) names, empty where no episode ended."""
        return np.array(["", *self.names], dtype=object)[self.codes.numpy()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy()

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return (
            f"EndedNames of {len(self)} episodes: {', '.join(self.names)}\nnext: .numpy(), .codes"
        )


class _Recycled(DeviceMemory):
    """Device memory that returns to a pool when it is no longer referenced."""

    def __init__(self, memory: DeviceMemory, free: list[DeviceMemory]) -> None:
        self._memory, self._free = memory, free
        self.address, self.nbytes = memory.address, memory.nbytes
        self.is_cuda, self.device_index = memory.is_cuda, memory.device_index

    def upload(self, array: Array) -> None:
        """Copy a contiguous array to the beginning."""
        self._memory.upload(array)

    def download(self, array: Array, offset: int = 0) -> None:
        """Copy what begins so many bytes after the beginning into a contiguous array."""
        self._memory.download(array, offset)

    def fill(self, byte: int) -> None:
        """Set every byte."""
        self._memory.fill(byte)

    def __del__(self) -> None:
        self._free.append(self._memory)


class DeviceMechanisms:
    """n mechanisms with one task on a device.

    Parameters
    ----------
    system, task : what moves, and what it is about.
    count : of mechanisms.
    device : where they are.
    parameters : values that differ from the nominal ones.
    """

    def __init__(
        self,
        system: System,
        task: GymTask,
        count: int,
        device: AbstractDevice,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.system, self.task, self.count, self._device = system, task, count, device
        check_task(system, task)
        self.where, self._has_begun = f"environments of model '{system.model.name}'", False
        if task.steps > MOST_STEPS:
            raise SimulationError(
                f"{task.steps} steps in a launch, which nothing can interrupt",
                self.where,
                f"give at most {MOST_STEPS} steps in a period, or run on the processor",
            )
        self._values = system.parameters(parameters)
        self._programs, self._shape = _episode(system, task, self._values)
        nx, nu, no = system.num_states, len(system.inputs), len(task.observation)
        self._sizes = {"rewards": 8, "seen": 4 * no, "terminated": 1, "truncated": 1, "why": 1}
        rows = {"t": 1, "x": nx, "u": nu, "variables": len(task.variables)}
        rows |= {"acts": 1, "episodes": 1, "bases": 1, "given": len(task.actions)}
        needed = 8 * sum(rows.values()) + 3 * sum(self._sizes.values())
        if count * needed > device.free_memory():
            raise DeviceError(
                f"{count} environments need {count * needed / 2**20:.0f} MiB, and {device.name} "
                f"has {device.free_memory() / 2**20:.0f} MiB left",
                self.where,
                "give fewer environments, or free memory of the card",
            )
        self._memory = {name: device.allocate(8 * n * count) for name, n in rows.items()}
        for memory in self._memory.values():
            memory.fill(0)
        self._memory["acts"].fill(_OVER)
        self._free: list[DeviceMemory] = []
        self._kernels: dict[str, tuple[DeviceKernel, bytes]] = {}
        self._seed = 0
        self.seed(0)
        self._names = (*task.ends, "singular")
        # the record belongs to the kernel: one launch at a time
        self._lock = threading.Lock()

    @property
    def t(self) -> DeviceArray:
        """(n,) times of the episodes, s."""
        return DeviceArray(self._memory["t"], (self.count,), (1,))

    @property
    def x(self) -> DeviceArray:
        """(n, nx) states; the same state of all stand side by side."""
        return DeviceArray(self._memory["x"], (self.count, self.system.num_states), (1, self.count))

    @property
    def u(self) -> DeviceArray:
        """(n, nu) inputs, likewise."""
        return DeviceArray(
            self._memory["u"], (self.count, len(self.system.inputs)), (1, self.count)
        )

    @property
    def bases(self) -> DeviceArray:
        """(n,) whole numbers, 0 where the independent speeds are those of the system."""
        return DeviceArray(self._memory["bases"], (self.count,), (1,), dtype=np.int64)

    def seed(self, seed: int) -> None:
        """Count episodes anew, with random numbers of another seed."""
        self._seed = seed
        self._memory["episodes"].fill(0xFF)  # −1

    def begin(self, options: Mapping[str, float] | None = None) -> DeviceArray:
        """Begin an episode in each environment, from random starts or a given one; observations."""
        self._memory["acts"].fill(_OVER)
        if options:
            given = {name: np.array([float(value)]) for name, value in options.items()}
            state = _own_states(self.system, given, 1, self._values)[0]
            self._memory["x"].upload(np.repeat(state, self.count))
        seen = self._launch((0, 0, 0), SINGLE, has_states=bool(options))[0]
        self._has_begun = True
        return seen

    def step(
        self, actions: Any
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray, EndedNames]:
        """Step all environments: observations, rewards, terminations, truncations and reasons.

        Those that have ended begin anew instead.
        """
        shape = (self.count, len(self.task.actions))
        check_begun(self._has_begun, self.where)
        view = device_view(actions)
        if view is None:
            given = given_table(actions, shape, "actions", self.where, is_finite=True)
            self._memory["given"].upload(given)
            return self._launch((self._memory["given"].address, shape[1], 1), REAL)
        kind, size = _KINDS.get(view.dtype), view.dtype.itemsize
        if kind is None or view.shape != shape or any(step % size for step in view.strides):
            raise SimulationError(
                f"the actions have shape {view.shape} and numbers of type {view.dtype}",
                self.where,
                f"give an array {shape} of float32 or float64",
            )
        self._device.synchronize()  # whoever makes the actions may still be at work
        steps = [stride // size for stride in view.strides]
        return self._launch((view.address, steps[0], steps[1]), kind)

    def _launch(
        self, actions: tuple[int, int, int], kind: str, has_states: bool = False
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray, EndedNames]:
        """One step of all."""
        kernel, constants = self._kernel(kind)
        memory, n = self._new_results(), self.count
        numbers = {"n": n, "seed": self._seed, "has_states": int(has_states)}
        numbers |= dict(zip(("actions", "action_row", "action_column"), actions, strict=True))
        numbers |= {name: own.address for name, own in self._memory.items()}
        at, offsets = memory.address, dict[str, int]()
        for name, size in self._sizes.items():
            offsets[name], numbers[name] = at - memory.address, at
            at += size * n
        record = np.array([numbers[name] for name in THREAD_WORDS], np.int64).tobytes()
        with self._lock:
            threads = kernel.rounded(min(kernel.most_threads, n))
            kernel.launch(record + constants, memory, threads)

        def array(name: str, dtype: Any, columns: int = 0) -> DeviceArray:
            offset = offsets[name] // np.dtype(dtype).itemsize
            if columns:
                return DeviceArray(memory, (n, columns), (columns, 1), offset, dtype=dtype)
            return DeviceArray(memory, (n,), (1,), offset, dtype=dtype)

        return (
            array("seen", np.float32, len(self.task.observation)),
            array("rewards", np.float64),
            array("terminated", np.bool_),
            array("truncated", np.bool_),
            EndedNames(array("why", np.uint8), self._names),
        )

    def _kernel(self, kind: str) -> tuple[DeviceKernel, bytes]:
        """The kernel for actions of a kind of numbers, and constants that follow its record."""
        if kind not in self._kernels:
            shape = dataclasses.replace(self._shape, action_kind=kind)
            text, functions = _printed(shape, tuple(self._programs.items()))
            kernel = self._device.kernel(text, functions.tables)
            self._kernels[kind] = kernel, functions.values(self._values).tobytes()
        return self._kernels[kind]

    def _new_results(self) -> DeviceMemory:
        """Memory of a step's results, from the pool of those no longer referenced."""
        own = self._free.pop() if self._free else None
        if own is None:
            own = self._device.allocate(self.count * sum(self._sizes.values()))
        return _Recycled(own, self._free)


@functools.lru_cache(maxsize=32)
def _printed(
    shape: EpisodeShape, programs: tuple[tuple[str, Program], ...]
) -> tuple[str, SharedFunctions]:
    """The kernel of a shape and its programs."""
    count = shape.num_parameters
    functions = print_shared_functions(dict(programs), range(count), len(THREAD_WORDS), count)
    return functions.kernel(print_thread_period(shape)), functions


def _episode(
    system: System, task: GymTask, values: Array
) -> tuple[dict[str, Program], EpisodeShape]:
    """Programs of a step, and what its code depends on."""
    draws = Draws.of(system, task)
    names = draws.names[: len(draws.names) - draws.num_variables]
    state, completing = _completing(system, draws, trace_start(system, names), values)
    columns, systems = columns_of(task), cover_ranges(system).systems
    programs, others = thread_programs(system, columns) | completing, systems[1:]
    for k, other in enumerate(others):
        own = thread_programs(other, columns)
        programs |= {f"{name}_{k + 1}": program for name, program in own.items()}
    if others:
        programs["change"] = _change(system, systems)
        programs |= {f"change_{k + 1}": _change(o, systems) for k, o in enumerate(others)}
    listed = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    listed += [q.name for q in system.auxiliary_states]
    nq, nf = len(system.coordinates), len(system.independent_speeds)
    places, middle, half, base = action_ranges(system, task)
    shape = EpisodeShape(
        periods=tuple(
            ThreadPeriod.of(own, len(task.variables), task.period / task.steps) for own in systems
        ),
        num_inputs=len(system.inputs),
        num_parameters=len(system.model.parameters),
        num_variables=len(task.variables),
        actions=tuple(zip(places, middle.tolist(), half.tolist(), strict=True)),
        base=tuple(base.tolist()),
        steps=task.steps,
        limit=task.limit,
        largest=float(task.largest),
        num_seen=len(task.observation),
        num_ends=len(task.ends),
        action_kind=SINGLE,
        start=tuple(state.tolist()),
        ranges=tuple((float(low), float(high)) for low, high in draws.ranges),
        drawn_states=tuple(listed.index(name) for name in names[: draws.num_states]),
        num_given=len(names) - draws.num_states,
        has_angles="orient" in completing,
        has_closing="close" in completing,
        speeds=tuple(range(nq, nq + nf)),
    )
    return programs, shape


def _change(system: System, bases: tuple[System, ...]) -> Program:
    """[margins; η of each] in all bases of (t, x, u, p) in one; above 1 a basis holds."""
    kin = system.kinematics
    t, q, p = kin.symbols.t, kin.symbols.q, kin.symbols.params
    margins, speeds = [], []
    for other in bases:
        own = other.kinematics
        given = [own.symbols.t, own.symbols.q, own.symbols.params]
        # one that never ends is best
        measures = ca.vertcat(ca.fabs(basis_measures(other)), np.inf)
        found = ca.Function("found", given, [ca.mmin(measures), ca.densify(own.E)])
        margin, E = found(t, q, p)
        margins.append(margin)
        speeds.append(E @ kin.v)
    return system.program("change", ca.vertcat(*margins, *speeds))


def _own_states(system: System, given: Mapping[str, Array], count: int, values: Array) -> Array:
    """(n, nx) consistent states in the system's own speeds, in which a kernel begins."""
    states, groups = completed_states(system, given, count, values)
    if any(here is not system for here, _ in groups):
        raise SimulationError(
            "the independent speeds of the system do not determine the motion at a start",
            f"environments of model '{system.model.name}' on a device",
            "run them on the processor, or derive the equations in other independent speeds",
        )
    return states


@np.errstate(all="ignore")  # what is not finite is refused
def _completing(
    system: System, draws: Draws, traced: TracedStart, values: Array
) -> tuple[Array, dict[str, Program]]:
    """State about which starts are drawn, and programs that complete them as the processor does.

    Raises
    ------
    SimulationError : where none of the ways agrees with the processor.
    """
    n, names = COMPARED, draws.names[: len(draws.names) - draws.num_variables]
    drawn = draws.numbers(0, np.arange(n), np.zeros(n, dtype=int))[:, : len(names)]
    exact = _own_states(system, dict(zip(names, drawn.T, strict=True)), n, values)
    middles = {k: np.array([(a + b) / 2]) for k, (a, b) in zip(names, draws.ranges, strict=False)}
    state = _own_states(system, middles, 1, values)[0]
    nq, nf = len(system.coordinates), len(system.independent_speeds)
    listed = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    listed += [q.name for q in system.auxiliary_states]
    t, u = np.zeros(n), np.zeros((n, len(system.inputs)))
    p = np.concatenate([np.tile(values, (n, 1)), drawn[:, draws.num_states :]], axis=1)
    begun = np.tile(state, (n, 1))
    for k, name in enumerate(names[: draws.num_states]):
        begun[:, listed.index(name)] = drawn[:, k]
    if traced.orient is not None:
        begun = interpret_rows(traced.orient, t, begun, u, p)
    for close, speeds in itertools.product((None, *traced.close), traced.speeds):
        found = begun.copy()
        if close is not None:
            for _ in range(CLOSING_STEPS):
                found = interpret_rows(close, t, found, u, p)
        found[:, nq : nq + nf] = interpret_rows(speeds, t, found, u, p)
        if np.all(np.abs(found - exact) <= APART * np.maximum(1.0, np.abs(exact))):
            ways = {"orient": traced.orient, "close": close, "speeds": speeds}
            return state, {name: one for name, one in ways.items() if one is not None}
    raise SimulationError(
        "starts of this task are completed by the processor alone: rows repeat each other there, "
        "or several configurations fit",
        f"start of the task for model '{system.model.name}'",
        "give the coordinates that the constraints determine, too, or run on the processor: "
        "device='cpu'",
    )

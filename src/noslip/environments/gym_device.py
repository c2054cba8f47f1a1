"""Many mechanisms with one task on a GPU: a step of all is one launch, and arrays stay there.

**A step of an environment as the code of a GPU's thread, around a period that the loop prints.**

A thread takes one environment after another: the start of its next episode where one has ended,
else the period under its action; then what is seen of it, the reward, and whether it ends. In other
bases than the first, which few environments are in, a thread goes on in a function of its own, so
that the others have their registers for themselves.

Functions of the system and of the task are called by name; behind the names of those in another
basis stands its number.

A thread takes one environment after another: its start where an episode begins, else the period
under its action; what is seen, rewarded and ended. Equations, observations, rewards
and ends are the programs that are printed for the processor, here for a thread, and starts are
drawn by the same random numbers; so episodes are those of :class:`Mechanisms` to rounding.

Two things differ. Starts are completed by traced expressions, which are compared with
`complete_starts` when the environments are made. And where the basis of independent speeds ends,
the next one is among those that cover the coordinates' ranges (`BasisCover`), compiled beforehand,
where the processor compiles whichever is best.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip import DeviceError, SimulationError, System
from noslip.base import Array
from noslip.engines import (
    AbstractDevice,
    BasisCover,
    Buffer,
    DeviceArray,
    DeviceKernel,
    DeviceMemory,
    ElementType,
    Flow,
    Given,
    Program,
    SharedFunctions,
    Target,
    Value,
    given_table,
    word_of_record,
)
from noslip.environments.gym_tasks import (
    Draws,
    GymTask,
    action_ranges,
    check_begun,
    check_task,
    columns_of,
)
from noslip.simulation import (
    ThreadPeriod,
    TracedStart,
    written_uniforms,
)

#: Steps of Newton's method that close the coordinates of a start.
CLOSING_STEPS = 6

#: Words of the record: sizes, actions with the distances of their rows and columns in numbers,
#: what an environment keeps, and what a step leaves.
THREAD_WORDS = (
    *("n", "seed", "has_states", "actions", "action_row", "action_column"),
    *("t", "x", "u", "variables", "acts", "episodes", "bases"),
    *("seen", "rewards", "terminated", "truncated", "why"),
)


@dataclass(frozen=True, slots=True)
class EpisodeShape:
    """Sizes and options that the code of a thread depends on."""

    periods: tuple[ThreadPeriod, ...]  #: periods in each basis, the first one first
    #: num_inputs, num_parameters, num_variables: sizes of the model, and of the task
    num_inputs: int
    num_parameters: int
    num_variables: int
    actions: tuple[tuple[int, float, float], ...]  #: input, middle and half of the range of each
    base: tuple[float, ...]  #: inputs where nothing acts on them
    #: steps, limit, largest: numbers of the task
    steps: int
    limit: int
    largest: float
    #: num_seen, num_ends: observations and ends, behind the reward
    num_seen: int
    num_ends: int
    action_kind: str  #: action kind of the numbers that actions are given as
    start: tuple[float, ...]  #: state that a start is drawn about
    ranges: tuple[tuple[float, float], ...]  #: lowest and highest of each drawn number, in order
    #: places in the state of the first drawn numbers, that are coordinates
    drawn_states: tuple[int, ...]
    #: number of the next ones that are speeds and named angles; the others are variables
    num_given: int
    #: has_angles, has_closing: whether orientations follow the drawn ones; other coordinates
    has_angles: bool
    has_closing: bool
    speeds: tuple[int, ...]  #: places in the state of the speeds that follow

    @property
    def num_found(self) -> int:
        """Rewards, observations and ends."""
        return 1 + self.num_seen + self.num_ends


class _Moving:
    """An environment that moves: time, state, what is held, what is seen, in any basis."""

    def __init__(self, f: Flow, shape: EpisodeShape) -> None:
        self.f, self.shape = f, shape
        self.t = f.array(1)
        self.x = f.array(len(shape.start))
        #: Inputs, and the variables of the task behind them.
        self.held = f.array(shape.num_inputs + shape.num_variables)
        self.found = f.array(shape.num_found, is_scratch=True)
        #: Every function has the parameters that all share as constants of the record.
        self.shared = f.array(shape.num_parameters)
        #: Of a period: steps to take; those taken, the ending, and the measure that ended it.
        self.counts = f.array(3, ElementType.WHOLE)

    @property
    def kept(self) -> tuple[Buffer, ...]:
        """Arrays that go on in another basis."""
        return self.t, self.x, self.held, self.found

    def call(self, name: str, p: Buffer, out: Buffer, how: str = "alwaysinline") -> None:
        """Call a function of (t, x, held, p)."""
        places = [array.at(0) for array in (self.t, self.x, self.held, p, out)]
        self.f.invoke(f"@{name}", places, how)

    def advance(self, basis: int, steps: Value | int, how: str) -> Value:
        """Steps of a period in a basis, which counts has then; whether the basis ended."""
        f, period = self.f, self.shape.periods[basis]
        self.counts[0] = steps
        name = f"period_{basis}" if how == "noinline" else "period"
        self.call(name, self.shared, self.counts, how)
        return period.has_ended(f, self.counts)


class _EpisodeWriter:
    """Writes a step of one environment, of a thread."""

    def __init__(self, shape: EpisodeShape) -> None:
        self.shape = shape
        f = self.f = Flow(Target.thread(on_stack=True))
        s = self.s = f.s
        s.declare(ElementType.WHOLE, "env", "acts", "number", "basis", "left")
        s.declare(ElementType.TRUTH, "is_new", "is_bad", "is_elsewhere", "has_ended")
        self.moving = _Moving(f, shape)
        self.x, self.held, self.found = self.moving.x, self.moving.held, self.moving.found
        self._loaded: dict[str, Value] = {}
        if len(shape.periods) > 1:
            self.passed = f.array(_passed_size(shape))
        self.drawn = f.array(shape.num_parameters + shape.num_given)
        self.closed = f.array(len(shape.start))

    def number(self, name: str, kind: str = ElementType.WHOLE) -> Value:
        """A word of the record."""
        if name not in self._loaded:
            place = word_of_record(THREAD_WORDS.index(name))
            self.f.head.append(f"  %{name} = load {kind}, {place}, align 8")
            self._loaded[name] = Value(self.f, f"%{name}", kind, 1)
        return self._loaded[name]

    def vector(self, name: str, kind: str = ElementType.REAL) -> Given:
        """Vector that the record points to."""
        return Given(self.f, self.number(name, ElementType.PLACE), kind)

    def at(self, k: int) -> Value:
        """Place of number k of this environment: the same number of all stand side by side."""
        return self.number("n") * k + self.s.env

    def step(self) -> None:
        """One environment: s.env."""
        f, s, shape = self.f, self.s, self.shape
        t, n, nu = self.moving.t, len(shape.start), shape.num_inputs
        s.acts = self.vector("acts", ElementType.WHOLE)[s.env]
        s.is_new, s.is_bad, s.is_elsewhere = s.acts < 0, f.truth(False), f.truth(False)
        s.basis = f.whole(0)
        if len(shape.periods) > 1:
            s.basis = f.where(s.is_new, f.whole(0), self.vector("bases", ElementType.WHOLE)[s.env])
        t[0] = f.where(s.is_new, 0.0, self.vector("t")[s.env])
        for k in range(n):
            self.x[k] = self.vector("x")[self.at(k)]
        for k in range(shape.num_variables):
            self.held[nu + k] = self.vector("variables")[self.at(k)]
        for k, value in enumerate(shape.base):
            self.held[k] = f.real(value)
        with f.when(s.is_new):
            self._begin()
        with f.when(~s.is_new):
            self._act()
            self._take_period()
        self.vector("t")[s.env] = t[0]
        for k in range(n):
            self.vector("x")[self.at(k)] = self.x[k]
        for k in range(nu):
            self.vector("u")[self.at(k)] = self.held[k]
        with f.when(~s.is_elsewhere):
            self.moving.call("columns", self.moving.shared, self.found)
        self._leave()

    def _act(self) -> None:
        """Inputs of the action, which is cut at ±1; one that is no number stays so."""
        f, given = self.f, self.vector("actions", self.shape.action_kind)
        row, column = self.s.env * self.number("action_row"), self.number("action_column")
        for k, (place, middle, half) in enumerate(self.shape.actions):
            action = f.of(given[row + column * k], ElementType.REAL)
            self.held[place] = middle + half * f.most(f.least(action, 1.0), -1.0)

    def _take_period(self) -> None:
        """The period, in the first basis as far as it goes."""
        f, s, shape, counts = self.f, self.s, self.shape, self.moving.counts
        if len(shape.periods) == 1:
            self.moving.advance(0, shape.steps, "alwaysinline")
            s.is_bad = counts[0] < shape.steps
            return
        s.has_ended = f.truth(False)
        counts[0] = f.whole(0)
        with f.when(s.basis.equals(0)):
            s.has_ended = self.moving.advance(0, shape.steps, "alwaysinline")
        s.left = f.whole(shape.steps) - counts[0]
        s.is_elsewhere = (s.basis > 0) | s.has_ended
        with f.when(s.is_elsewhere):
            kept, last = self.moving.kept, _passed_size(shape) - 2
            _join(kept, self.passed, shape)
            self.passed[last], self.passed[last + 1] = f.to_real(s.left), f.to_real(s.basis)
            f.invoke("@go_on", [self.passed.at(0)], "noinline")
            _split(self.passed, kept, shape)
            s.left, s.basis = (_to_whole(f, self.passed[last + k]) for k in range(2))
            self.vector("bases", ElementType.WHOLE)[s.env] = s.basis
        s.is_bad = s.left > 0

    def _begin(self) -> None:
        """Start of the next episode, by random numbers of its number and the environment's."""
        f, s, shape, n = self.f, self.s, self.shape, len(self.shape.start)
        if len(shape.periods) > 1:
            self.vector("bases", ElementType.WHOLE)[s.env] = f.whole(0)
        s.number = self.vector("episodes", ElementType.WHOLE)[s.env] + 1
        self.vector("episodes", ElementType.WHOLE)[s.env] = s.number
        drawn = self._draw()
        states, given = len(shape.drawn_states), shape.num_given
        for k, value in enumerate(drawn[states + given :]):
            self.held[shape.num_inputs + k] = value
            self.vector("variables")[self.at(k)] = value
        with f.when(self.number("has_states").equals(0)):
            for k in range(n):
                self.x[k] = f.real(shape.start[k])
            for place, value in zip(shape.drawn_states, drawn, strict=False):
                self.x[place] = value
            for k, value in enumerate(drawn[states : states + given]):
                self.drawn[shape.num_parameters + k] = value
            if shape.has_angles:
                self.moving.call("orient", self.drawn, self.closed)
                for k in range(n):
                    self.x[k] = self.closed[k]
            if shape.has_closing:
                for _ in f.count(0, CLOSING_STEPS):
                    self.moving.call("close", self.drawn, self.closed)
                    for k in range(n):
                        self.x[k] = self.closed[k]
            self.moving.call("speeds", self.drawn, self.closed)
            for k, place in enumerate(shape.speeds):
                self.x[place] = self.closed[k]

    def _draw(self) -> list[Value]:
        """Uniform numbers of the ranges, as `philox.uniforms` of the environment and episode."""
        f, s = self.f, self.s
        channels = -(-len(self.shape.ranges) // 2)
        drawn = written_uniforms(f, self.number("seed"), s.env, s.number, channels)
        ranges = self.shape.ranges
        return [
            low + (high - low) * value for (low, high), value in zip(ranges, drawn, strict=False)
        ]

    def _leave(self) -> None:
        """Store the observation, the reward, and whether and why the episode ends."""
        f, s, shape = self.f, self.s, self.shape
        found, seen, ends = self.found, shape.num_seen, shape.num_ends
        s.is_bad = s.is_bad | (~s.is_new & ~f.all_finite(found, shape.num_found))
        s.why = f.whole(0)
        for k in reversed(range(ends)):
            s.why = f.where(found[1 + seen + k] > 0.0, f.whole(1 + k), s.why)
        s.why = f.where(s.is_bad, f.whole(ends + 1), s.why)
        s.why = f.where(s.is_new, f.whole(0), s.why)
        s.acts = f.where(s.is_new, f.whole(0), s.acts + 1)
        is_over = s.why > 0
        is_cut = (s.acts >= shape.limit) & ~is_over
        self.vector("acts", ElementType.WHOLE)[s.env] = f.where(
            is_over | is_cut, f.whole(-1), s.acts
        )
        self.vector("rewards")[s.env] = f.where(s.is_bad | s.is_new, 0.0, found[0])
        for k in range(seen):
            value = found[1 + k]
            cut = f.most(f.least(value, shape.largest), -shape.largest)
            cut = f.where(value.is_nan(), 0.0, cut)
            self.vector("seen", ElementType.SINGLE)[s.env * seen + k] = cut
        for name, value in (("terminated", is_over), ("truncated", is_cut), ("why", s.why)):
            place = f.offset(self.number(name, ElementType.PLACE), s.env, "i8")
            word = "zext" if value.kind == ElementType.TRUTH else "trunc"
            byte = f.emit(f"{word} {value.typed} to i8", "i8", 1)
            f.lines.append(f"  store {byte.typed}, {place.typed}, align 1")


def _sizes(shape: EpisodeShape) -> tuple[int, ...]:
    """Of the arrays that go on in another basis."""
    held = shape.num_inputs + shape.num_variables
    return 1, len(shape.start), held, shape.num_found


def _passed_size(shape: EpisodeShape) -> int:
    """Numbers of what is passed on: those arrays, steps left and the number of the basis."""
    return sum(_sizes(shape)) + 2


def _join(arrays: tuple[Buffer, ...], joined: Buffer | Given, shape: EpisodeShape) -> None:
    """Copy arrays one behind the other."""
    at = 0
    for array, size in zip(arrays, _sizes(shape), strict=True):
        for k in range(size):
            joined[at + k] = array[k]
        at += size


def _split(joined: Buffer | Given, arrays: tuple[Buffer, ...], shape: EpisodeShape) -> None:
    """Copy them back."""
    at = 0
    for array, size in zip(arrays, _sizes(shape), strict=True):
        for k in range(size):
            array[k] = joined[at + k]
        at += size


def _to_whole(f: Flow, a: Value) -> Value:
    """A whole number that was passed as a double."""
    return f.emit(f"fptosi {a.typed} to i64", ElementType.WHOLE, 1)


def _print_others(shape: EpisodeShape) -> str:
    """Text of ``void go_on(ptr passed)``: what is left of a period, in whatever basis holds."""
    f, bases = Flow(Target.thread()), range(len(shape.periods))
    s = f.s
    s.declare(ElementType.WHOLE, "left", "basis", "best")
    s.declare(ElementType.REAL, "most")
    s.declare(ElementType.TRUTH, "is_fresh", "has_ended")
    moving, last = _Moving(f, shape), _passed_size(shape) - 2
    margins = f.array(len(bases) * (1 + len(shape.speeds)), is_scratch=True)
    passed = Given(f, Value(f, "%passed", ElementType.PLACE, 1))
    _split(passed, moving.kept, shape)
    s.left, s.basis = (_to_whole(f, passed[last + k]) for k in range(2))
    s.is_fresh = f.truth(False)
    with f.repeat() as loop:
        for b in f.choose(s.basis, bases):
            s.has_ended = moving.advance(b, s.left, "noinline")
        taken = moving.counts[0]
        s.left = s.left - taken
        loop.leave((s.left <= 0) | ~s.has_ended | (s.is_fresh & taken.equals(0)))
        for b in f.choose(s.basis, bases):
            moving.call(f"change{_suffix(b)}", moving.shared, margins, "noinline")
        # the best of the others that hold
        s.best, s.most = s.basis, f.real(1.0)
        for b in bases:
            is_better = (margins[b] > s.most) & ~s.basis.equals(b)
            s.best = f.where(is_better, f.whole(b), s.best)
            s.most = f.where(is_better, margins[b], s.most)
        loop.leave(s.best.equals(s.basis))
        s.basis, s.is_fresh = s.best, f.truth(True)
        for b in f.choose(s.basis, bases):
            for k, place in enumerate(shape.speeds):
                moving.x[place] = margins[len(bases) + b * len(shape.speeds) + k]
    for b in f.choose(s.basis, bases):
        moving.call(f"columns{_suffix(b)}", moving.shared, moving.found, "noinline")
    _join(moving.kept, passed, shape)
    passed[last], passed[last + 1] = f.to_real(s.left), f.to_real(s.basis)
    text = f.body("go_on", ("passed",)).replace("define void", "define internal void")
    periods = [
        period.text(f"period_{b}", suffix=_suffix(b), is_hot=False)
        for b, period in enumerate(shape.periods)
    ]
    return "\n".join([text, *periods, *sorted(f.declared)])


def _suffix(b: int) -> str:
    """Suffix of the names of a basis's functions."""
    return f"_{b}" if b else ""


def print_thread_period(shape: EpisodeShape) -> str:
    """Text of the kernel whose threads take one environment after another."""
    w = _EpisodeWriter(shape)
    f, s = w.f, w.s
    s.env = Value(f, "%thread", ElementType.WHOLE, 1)
    with f.repeat() as loop:
        loop.leave(s.env >= w.number("n"))
        w.step()
        s.env = s.env + Value(f, "%threads", ElementType.WHOLE, 1)
    body = f.kernel()
    others = [_print_others(shape)] if len(shape.periods) > 1 else []
    period = shape.periods[0].text("period", is_hot=True)
    return "\n".join([body, period, *others, *sorted(f.declared)])


#: Starts that are compared with those of the processor, and how far apart they may be.
COMPARED = 32
#: Steps of a period, at most.
MOST_STEPS = 1_000_000
#: Every byte of −1, the number of acts of an episode that is over.
_OVER = 0xFF
#: Kinds of numbers that actions may have.
_KINDS = {np.dtype(np.float32): ElementType.SINGLE, np.dtype(np.float64): ElementType.REAL}


class EndedNames:
    """Reasons why episodes ended in a step, copied from the device lazily.

    `codes`: (n,) 0 where none ended, else 1 + the place of the name; `names`: names of the task's
    ends, then ``"singular"``.
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
    """n mechanisms with one task on a device."""

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
            state = TracedStart.states(self.system, given, 1, self._values)[0]
            self._memory["x"].upload(np.repeat(state, self.count))
        seen = self._launch((0, 0, 0), ElementType.SINGLE, has_states=bool(options))[0]
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
        view = DeviceArray.view(actions)
        if view is None:
            given = given_table(actions, shape, "actions", self.where, is_finite=True)
            self._memory["given"].upload(given)
            return self._launch((self._memory["given"].address, shape[1], 1), ElementType.REAL)
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
    functions = SharedFunctions.printed(dict(programs), range(count), len(THREAD_WORDS), count)
    return functions.kernel(print_thread_period(shape)), functions


def _episode(
    system: System, task: GymTask, values: Array
) -> tuple[dict[str, Program], EpisodeShape]:
    """Programs of a step, and what its code depends on."""
    draws = Draws.of(system, task)
    names = draws.names[: len(draws.names) - draws.num_variables]
    state, completing = _completing(system, draws, TracedStart.of(system, names), values)
    columns, systems = columns_of(task), BasisCover.of(system).systems
    programs, others = columns.thread_programs(system) | completing, systems[1:]
    for k, other in enumerate(others):
        own = columns.thread_programs(other)
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
        action_kind=ElementType.SINGLE,
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
        measures = ca.vertcat(ca.fabs(other.basis_measures), np.inf)
        found = ca.Function("found", given, [ca.mmin(measures), ca.densify(own.E)])
        margin, E = found(t, q, p)
        margins.append(margin)
        speeds.append(E @ kin.v)
    return system.program("change", ca.vertcat(*margins, *speeds))


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
    exact = TracedStart.states(system, dict(zip(names, drawn.T, strict=True)), n, values)
    middles = {k: np.array([(a + b) / 2]) for k, (a, b) in zip(names, draws.ranges, strict=False)}
    state = TracedStart.states(system, middles, 1, values)[0]
    nq = len(system.coordinates)
    listed = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    listed += [q.name for q in system.auxiliary_states]
    u = np.zeros((n, len(system.inputs)))
    p = np.concatenate([np.tile(values, (n, 1)), drawn[:, draws.num_states :]], axis=1)
    begun = np.tile(state, (n, 1))
    for k, name in enumerate(names[: draws.num_states]):
        begun[:, listed.index(name)] = drawn[:, k]
    found = traced.way(exact, begun, u, p, nq, CLOSING_STEPS)
    if found:
        return state, found
    raise SimulationError(
        "starts of this task are completed by the processor alone: rows repeat each other there, "
        "or several configurations fit",
        f"start of the task for model '{system.model.name}'",
        "give the coordinates that the constraints determine, too, or run on the processor: "
        "device='cpu'",
    )

"""Tasks of environments as plain data, and many mechanisms with one task, on processor or GPU.

**Tasks of environments as plain data, and many mechanisms with one task on the processor.**

**Many mechanisms with one task on the processor: states, observations, and steps.**

Nothing of Gymnasium is in it: `gym_envs.py` has the environments.

A start is drawn by counter-based random numbers (Philox): what begins an episode follows from the
seed, the number of the environment and that of the episode alone, on a processor as on a GPU.

**Many mechanisms with one task on a GPU: a step of all is one launch, and arrays stay there.**

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
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip import DeviceError, SimulationError, System, picture, simulate
from noslip.base import Array, as_number, check_memory, checked, nearest
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
from noslip.simulation import (
    PeriodColumns,
    Periods,
    ThreadPeriod,
    TracedStart,
    uniforms,
    units_by_name,
    written_uniforms,
)

#: Lowest and highest value.
Range = tuple[float, float]


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class GymTask:
    """Task of an environment; expressions are those of `simulate`'s outputs."""

    observation: Mapping[str, str]  #: name → expression, in the order in which it is seen
    actions: Mapping[str, Range]  #: input → range that an action from −1 to 1 stands for
    reward: str  #: expression, of the state after a step and of the inputs
    #: name → expression; the episode ends (terminated) where one is above zero
    ends: Mapping[str, str] = field(default_factory=dict)
    #: coordinates, speeds and angles → number, or range that it is drawn from; the rest is
    #: completed
    start: Mapping[str, float | Range] = field(default_factory=dict)
    #: name → range of a number that is drawn at the start, such as a goal; expressions know it
    variables: Mapping[str, Range] = field(default_factory=dict)
    inputs: Mapping[str, float] = field(default_factory=dict)  #: input → number that it always has
    period: float = 0.05  #: s between actions
    steps: int = 5  #: steps of the classical Runge–Kutta method in a period
    limit: int = 400  #: number of actions after which an episode is cut (truncated)
    largest: float = 100.0  #: magnitude that observations are cut at


#: Word of a task → its model, and the task.
TASKS: dict[str, tuple[str, GymTask]] = {
    "drive": (
        "carriage",
        GymTask(
            observation={
                "ahead": "cos(carriage.angle)*(goal_x-carriage.x)"
                "+sin(carriage.angle)*(goal_y-carriage.y)",
                "left": "cos(carriage.angle)*(goal_y-carriage.y)"
                "-sin(carriage.angle)*(goal_x-carriage.x)",
                "speed": "carriage.vx",
                "rate": "carriage.rate",
            },
            actions={"tau1": (-0.5, 0.5), "tau2": (-0.5, 0.5)},
            reward="-0.05*sqrt((carriage.x-goal_x)^2+(carriage.y-goal_y)^2)-0.05*(tau1^2+tau2^2)",
            ends={"arrived": "0.1^2-(carriage.x-goal_x)^2-(carriage.y-goal_y)^2"},
            start={"carriage.angle": (-3.14, 3.14), "carriage.vx": (-0.2, 0.2)},
            variables={"goal_x": (-2.0, 2.0), "goal_y": (-2.0, 2.0)},
        ),
    ),
    "balance": (
        "whipple-bicycle",
        GymTask(
            observation={
                "lean": "frame.lean",
                "lean_rate": "frame.lean_rate",
                "steer": "steer.angle",
                "steer_rate": "steer.rate",
                "speed": "speed",
            },
            actions={"steer_torque": (-10.0, 10.0)},
            reward="1-0.1*steer.angle^2-0.001*steer_torque^2",
            ends={"fell": "frame.lean^2-0.5^2", "turned": "steer.angle^2-1.2^2"},
            start={"speed": (3.0, 3.5), "frame.wx": (-0.2, 0.2)},
            period=0.02,
            steps=2,
            limit=500,
        ),
    ),
    "back_up": (
        "tractor-trailer",
        GymTask(
            observation={
                "offset": "tractor.y",
                "heading": "tractor.angle",
                "fold": "hinge.angle",
                "steer": "steer.angle",
                "speed": "tractor.vx",
            },
            actions={"steering_rate": (-0.8, 0.8)},
            reward="1-0.1*tractor.y^2-hinge.angle^2-0.2*steering_rate^2",
            ends={
                "folded": "hinge.angle^2-1.2^2",
                "steered": "steer.angle^2-1.1^2",
                "astray": "tractor.y^2-5^2",
            },
            start={
                "tractor.vx": (-1.2, -0.8),
                "hinge.angle": (-0.15, 0.15),
                "tractor.y": (-0.5, 0.5),
            },
            period=0.1,
            limit=300,
        ),
    ),
}

#: Id of a registered environment → word of its task.
IDS = {
    "noslip/DifferentialDrive-v0": "drive",
    "noslip/Bicycle-v0": "balance",
    "noslip/BackUpTrailer-v0": "back_up",
}


def register_envs() -> None:
    """Make the ids ``noslip/…`` known to ``gymnasium.make`` and ``gymnasium.make_vec``."""
    from gymnasium.envs.registration import register, registry

    for id, word in IDS.items():
        if id not in registry:
            register(
                id,
                entry_point="noslip.environments.gym:make_env",
                vector_entry_point="noslip.environments.gym:make_vec_env",
                kwargs={"task": word},
            )


#: Starts that are completed together, at least.
POOL = 256
#: Steps of a period, and acts of an episode, at most: what their counters hold.
MOST_STEPS, MOST_ACTS = 2**31, 2**62
#: Size of pictures.
WIDTH, HEIGHT = 640, 400


class Draws(NamedTuple):
    """Random values of a start, in order: states, speeds, named angles, variables."""

    names: tuple[str, ...]  #: names of the start, and the variables behind them
    ranges: tuple[Range, ...]  #: ranges of each
    #: num_states, num_speeds, num_variables: numbers of the first, second and last kind
    num_states: int
    num_speeds: int
    num_variables: int

    @classmethod
    def of(cls, system: System, task: GymTask) -> Draws:
        """Random values of a task; a plain number becomes a range of zero width."""
        direct = {q.name for q in (*system.coordinates, *system.auxiliary_states)}
        speeds = {q.name for q in (*system.speeds, *system.independent_speeds)}
        states = [name for name in task.start if name in direct]
        given = [name for name in task.start if name in speeds]
        others = [name for name in task.start if name not in (*states, *given)]
        ranges = {
            name: (value[0], value[1])
            if isinstance(value, tuple | list)
            else (float(value), float(value))
            for name, value in task.start.items()
        } | dict(task.variables)
        names = (*states, *given, *others, *task.variables)
        sizes = len(states), len(given), len(task.variables)
        return cls(names, tuple(ranges[name] for name in names), *sizes)

    def numbers(
        self, seed: int, environments: NDArray[np.int_], episodes: NDArray[np.int_]
    ) -> Array:
        """(n, number of draws) those of episodes of environments."""
        channels = np.arange(-(-len(self.names) // 2))
        drawn = uniforms(seed, environments[:, None], channels, episodes[:, None])
        low, high = np.array(self.ranges, dtype=float).reshape(-1, 2).T
        drawn = drawn.reshape(len(environments), 2 * len(channels))[:, : len(self.names)]
        return np.asarray(low + (high - low) * drawn)


class Mechanisms:
    """n mechanisms with one task: states, observations, and a step for all at once.

    Attributes
    ----------
    periods : periods that they move in.
    """

    def __init__(
        self,
        system: System,
        task: GymTask,
        count: int,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.system, self.task, self.count = system, task, count
        self.where = f"environments of model '{system.model.name}'"
        check_task(system, task)
        ahead = max(1, POOL // count)
        check_memory(
            count * _bytes_of_one(system, task, ahead),
            f"{count} environments",
            self.where,
            "give fewer environments",
        )
        self._has_begun = False
        self._values = system.parameters(parameters)
        self._places, self._middle, self._half, self._base = action_ranges(system, task)
        step = task.period / task.steps
        self.periods = Periods(system, columns_of(task), count, step=step, values=self._values)
        self.u[:] = self._base
        self._acts = np.zeros(count, dtype=int)
        self._before = [np.empty_like(own) for own in self._moving()]
        self._draws = Draws.of(system, task)
        # starts that are completed ahead: episodes of each mechanism from a first one on
        self._seed, self._episodes = 0, np.full(count, -1)
        self._starts = np.zeros((count, ahead, system.num_states))
        self._start_bases = np.zeros((count, ahead), dtype=int)
        self._first = np.full(count, -ahead)

    @property
    def t(self) -> Array:
        """(n,) times of the episodes, s."""
        return self.periods.t

    @property
    def x(self) -> Array:
        """(n, nx) states."""
        return self.periods.x

    @property
    def u(self) -> Array:
        """(n, nu) inputs."""
        return self.periods.held[:, : len(self.system.inputs)]

    @property
    def variables(self) -> Array:
        """(n, nv) variables of the task."""
        return self.periods.held[:, len(self.system.inputs) :]

    @property
    def found(self) -> Array:
        """(n, 1 + no + ne) rewards, observations and ends, not cut."""
        return self.periods.found

    def seed(self, seed: int) -> None:
        """Count episodes anew, with random numbers of another seed."""
        self._seed = seed
        self._episodes[:], self._first[:] = -1, -self._starts.shape[1]

    def begin(self, which: NDArray[np.bool_], options: Mapping[str, float] | None = None) -> None:
        """The next episodes of some mechanisms, from random starts or from one that is given."""
        k = np.flatnonzero(which)
        self._episodes[k] += 1
        if options:
            given = {name: np.array([float(value)]) for name, value in options.items()}
            states, bases = self.periods.starts(given, 1)
            states, bases = np.repeat(states, len(k), axis=0), np.repeat(bases, len(k))
        else:
            states, bases = self._next_starts(k)
        if self._draws.num_variables:
            drawn = self._draws.numbers(self._seed, k, self._episodes[k])
            self.variables[k] = drawn[:, -self._draws.num_variables :]
        self._acts[k], self.u[k] = 0, self._base
        self.periods.begin(k, states, bases)
        self._has_begun = self._has_begun or bool(np.all(which))

    def act(
        self, actions: Array, which: NDArray[np.bool_] | None = None
    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_], NDArray[np.object_]]:
        """Rewards, terminations, truncations, and names of the terminations, after a period.

        Where only some act, it is nothing of the others. A period that is interrupted has not
        happened.
        """
        shape = (self.count, len(self.task.actions))
        given = given_table(actions, shape, "actions", self.where, is_finite=True)
        check_begun(self._has_begun, self.where)
        for own, before in zip(self._moving(), self._before, strict=True):
            np.copyto(before, own)
        try:
            self._has_begun = False
            found = self._act(given, np.ones(self.count, dtype=bool) if which is None else which)
            self._has_begun = True
        except BaseException:
            for own, before in zip(self._moving(), self._before, strict=True):
                np.copyto(own, before)
            self._has_begun = True
            raise
        return found

    def _act(
        self, actions: Array, is_acting: NDArray[np.bool_]
    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_], NDArray[np.object_]]:
        task, no = self.task, len(self.task.observation)
        held = self._middle + self._half * np.minimum(np.maximum(actions, -1.0), 1.0)
        for k, place in enumerate(self._places):
            np.copyto(self.u[:, place], held[:, k], where=is_acting)
        is_bad = is_acting & ~self.periods.advance(np.flatnonzero(is_acting), task.steps)
        found = self.found
        is_bad |= is_acting & ~np.isfinite(found).all(axis=1)
        ends = (found[:, 1 + no :] > 0.0) & is_acting[:, None]
        is_dull = is_bad | ~is_acting
        reward = np.where(is_dull, 0.0, found[:, 0]) if is_dull.any() else found[:, 0].copy()
        why = np.full(self.count, "", dtype=object)
        ended = ends.any(axis=1) | is_bad
        if ended.any():
            for number, name in reversed(list(enumerate(task.ends))):
                why[ends[:, number]] = name
            why[is_bad] = "singular"
        self._acts += is_acting
        return reward, ended, is_acting & (self._acts >= task.limit) & ~ended, why

    def _moving(self) -> tuple[Array, ...]:
        """What a step changes."""
        periods = self.periods
        return periods.t, periods.x, periods.held, periods.found, periods.bases, self._acts

    def observe(self) -> NDArray[np.float32]:
        """(n, no) observations, clipped at the largest magnitude."""
        seen = np.nan_to_num(self.found[:, 1 : 1 + len(self.task.observation)])
        return np.clip(seen, -self.task.largest, self.task.largest).astype(np.float32)

    def basis(self, k: int) -> System:
        """The system in the independent speeds that one mechanism is in now."""
        return self.periods.basis(k)

    def picture(self, k: int) -> NDArray[np.uint8]:
        """A picture of one mechanism."""
        system = self.basis(k)
        names = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
        start = {q.name: float(x) for q, x in zip(names, self.x[k], strict=False)}
        known = system.model.parameter_values(self._values)
        run = simulate(system, start=start, parameters=known, duration=1e-6, samples=2)
        image = picture(run, system=system, follow=True, width=WIDTH, height=HEIGHT)
        return np.asarray(image.convert("RGB"), dtype=np.uint8)

    def _next_starts(self, which: NDArray[np.int_]) -> tuple[Array, NDArray[np.int_]]:
        """(k, nx) starts of the present episodes of some mechanisms, and (k,) their bases."""
        ahead = self._starts.shape[1]
        needed = self._episodes + 1
        needed[which] -= 1
        is_out = needed >= self._first + ahead
        if is_out[which].any():
            # those of others that have none left are completed, too
            k = np.flatnonzero(is_out)
            episodes = (needed[k, None] + np.arange(ahead)).ravel()
            drawn = self._draws.numbers(self._seed, np.repeat(k, ahead), episodes)
            given = dict(zip(self._draws.names, drawn.T, strict=True))
            for name in self.task.variables:
                del given[name]
            found, bases = self.periods.starts(given, len(episodes))
            self._starts[k], self._first[k] = found.reshape(len(k), ahead, -1), needed[k]
            self._start_bases[k] = bases.reshape(len(k), ahead)
        now = self._episodes[which] - self._first[which]
        return np.asarray(self._starts[which, now]), np.asarray(self._start_bases[which, now])


def action_ranges(system: System, task: GymTask) -> tuple[list[int], Array, Array, Array]:
    """Inputs of the actions, middles and halves of their ranges, and inputs without an action."""
    names = [i.name for i in system.inputs]
    low, high = np.array(list(task.actions.values()), dtype=float).T
    base = np.zeros(len(names))
    for name, value in task.inputs.items():
        base[names.index(name)] = value
    return [names.index(name) for name in task.actions], (low + high) / 2, (high - low) / 2, base


def columns_of(task: GymTask) -> PeriodColumns:
    """[reward; observation; ends] after a period."""
    texts = {"reward": task.reward}
    texts |= {f"observation '{name}'": text for name, text in task.observation.items()}
    texts |= {f"end '{name}'": text for name, text in task.ends.items()}
    return PeriodColumns(texts, tuple(task.variables))


def check_begun(has_begun: bool, where: str) -> None:
    """Refuse a step of environments that no reset has begun."""
    if not has_begun:
        raise SimulationError(
            "a step comes before the first reset, or after one that did not end",
            where,
            "call reset() first",
        )


def _bytes_of_one(system: System, task: GymTask, ahead: int) -> float:
    """Memory of an environment, estimated: its rows, starts drawn ahead, and those of a step."""
    nx, nu, no, na = (
        *(system.num_states, len(system.inputs)),
        *(len(task.observation), len(task.actions)),
    )
    held = nu + len(task.variables)
    rows = (4 + ahead) * nx + 3 * held + 3 * (1 + no + len(task.ends)) + na + 24
    # bounds of spaces: lowest and highest, and whether there are any
    return 8.0 * rows + 10.0 * (no + na) + 4.0 * no


def check_task(system: System, task: GymTask) -> None:
    """Refuse a task that does not fit its model, by name."""
    where = f"task for model '{system.model.name}'"
    names = [i.name for i in system.inputs]
    for name in (*task.actions, *task.inputs):
        if name not in names:
            raise SimulationError(f"there is no input '{name}'", where, nearest(name, names))
    known = units_by_name(system)
    for name in task.start:
        if name not in known:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'", where, nearest(name, known)
            )
    if not task.actions or not task.observation:
        raise SimulationError(
            "a task needs actions and observations", where, "name at least one of each"
        )
    ranges = {**task.actions, **task.variables}
    for name, value in task.start.items():
        ranges[name] = value if isinstance(value, tuple | list) else (value, value)
    for name, given in ranges.items():
        is_range = isinstance(given, tuple | list) and len(given) == 2
        ends = [as_number(end) for end in given] if is_range else []
        if not (is_range and all(map(math.isfinite, ends)) and ends[0] <= ends[1]):
            raise SimulationError(
                f"the range of '{name}' is {given!r:.60}", where, "give (lowest, highest)"
            )
    for name in ("period", "steps", "limit", "largest"):
        value = getattr(task, name)
        whole = name not in ("steps", "limit") or isinstance(value, int)
        if not (whole and 0 < as_number(value) < math.inf):
            raise SimulationError(f"{name} is {value!r:.40}", where, "give a number above zero")
    for name, most in (("steps", MOST_STEPS), ("limit", MOST_ACTS)):
        if getattr(task, name) > most:
            raise SimulationError(
                f"{name} is {getattr(task, name)!r:.40}", where, f"give at most {most}"
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
MOST_DEVICE_STEPS = 1_000_000
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
        if task.steps > MOST_DEVICE_STEPS:
            raise SimulationError(
                f"{task.steps} steps in a launch, which nothing can interrupt",
                self.where,
                f"give at most {MOST_DEVICE_STEPS} steps in a period, or run on the processor",
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

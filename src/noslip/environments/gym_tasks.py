"""Tasks of environments as plain data, and many mechanisms with one task on the processor.

**Many mechanisms with one task on the processor: states, observations, and steps.**

Nothing of Gymnasium is in it: `gym_envs.py` has the environments, `gym_device.py` those of a GPU.

A start is drawn by counter-based random numbers (`philox`): what begins an episode follows from the
seed, the number of the environment and that of the episode alone, on a processor as on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip import SimulationError, System, picture, simulate
from noslip.base import Array, as_number, check_memory, checked, nearest
from noslip.engines import given_table
from noslip.simulation import PeriodColumns, Periods, uniforms, units_by_name

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

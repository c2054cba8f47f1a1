"""Many mechanisms with one task on the processor: states, observations, and steps.

Nothing of Gymnasium is in it: `gym_envs.py` has the environments, `gym_device.py` those of a GPU.

A start is drawn by counter-based random numbers (`philox`): what begins an episode follows from the
seed, the number of the environment and that of the episode alone, on a processor as on a GPU.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from ctypes import CFUNCTYPE, c_void_p
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip import SimulationError, System, picture, simulate
from noslip.base import Array, check_memory, is_truth, nearest
from noslip.engines import (
    LINE_WORDS,
    WHOLES,
    NativeFunction,
    Program,
    Target,
    address,
    compile_native,
    compile_wide,
    given_table,
    native_lanes,
    stored_machine_code,
    trace_program,
    work_address,
)
from noslip.environments.gym_kernel import LANE_WORDS, PeriodShape, print_lanes_period
from noslip.environments.gym_tasks import GymTask, Range
from noslip.simulation import (
    BasisGroup,
    carried,
    check_definitions,
    complete_starts,
    motion_in_lanes,
    read_expression,
    run_starts,
    run_workers,
    states_in,
    tree_speeds,
    uniforms,
    units_by_name,
)

#: Starts that are completed together, at least.
POOL = 256
#: Operations on vectors for which a thread is worth its start.
LEAST_WORK = 400_000
#: Operations on vectors between which Ctrl-C is heard, some tens of milliseconds; but as many
#: steps at least, whose states are read and written once.
MOST_WORK, LEAST_STEPS = 40_000_000, 64
#: Steps of a period, and acts of an episode, at most: what their counters hold.
MOST_STEPS, MOST_ACTS = 2**31, 2**62
#: Size of pictures.
WIDTH, HEIGHT = 640, 400


class Draws(NamedTuple):
    """Random values of a start, in order: states, speeds, named angles, variables.

    Parameters
    ----------
    names : of the start, and the variables behind them.
    ranges : of each.
    num_states, num_speeds, num_variables : how many there are of the first, second and last kind.
    """

    names: tuple[str, ...]
    ranges: tuple[Range, ...]
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
            name: value if isinstance(value, tuple) else (float(value), float(value))
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

    Parameters
    ----------
    system, task : what moves, and what it is about.
    count : of mechanisms.
    parameters : values that differ from the nominal ones.

    Attributes
    ----------
    t, x, u : (n,), (n, nx) and (n, nu) times, states and inputs.
    known : (n, np + nv) parameters, and variables behind them.
    found : (n, 1 + no + ne) rewards, observations and ends there, not cut.
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
        self._base = action_ranges(system, task)[3]
        # bases that occurred, what is seen and what holds in each; the number of each mechanism's
        self._systems, self._seen = list[System](), list[NativeFunction]()
        self._periods = list[_LanePeriods]()
        self._add_basis(system)
        self._bases = np.zeros(count, dtype=int)
        self.t = np.zeros(count)
        self.x = np.zeros((count, system.num_states))
        self.u = np.tile(self._base, (count, 1))
        self.known = np.tile(np.append(self._values, np.zeros(len(task.variables))), (count, 1))
        self._acts = np.zeros(count, dtype=int)
        self.found = np.zeros((count, 1 + len(task.observation) + len(task.ends)))
        self._before = [np.empty_like(own) for own in self._moving()]
        self._draws = Draws.of(system, task)
        # starts that are completed ahead: episodes of each mechanism from a first one on
        self._seed, self._episodes = 0, np.full(count, -1)
        self._starts = np.zeros((count, ahead, system.num_states))
        self._start_bases = np.zeros((count, ahead), dtype=int)
        self._first = np.full(count, -ahead)

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
            self.x[k], groups = completed_states(self.system, given, 1, self._values)
            bases = np.full(len(k), self._number_of(groups[0].system))
        else:
            self.x[k], bases = self._next_starts(k)
        if self._draws.num_variables:
            drawn = self._draws.numbers(self._seed, k, self._episodes[k])
            self.known[k, len(self._values) :] = drawn[:, -self._draws.num_variables :]
        self.t[k], self._acts[k], self.u[k], self._bases[k] = 0.0, 0, self._base, bases
        self.found[k] = self._look(k)
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
        is_bad = ~self._advance(actions, is_acting)
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
        return self.t, self.x, self.u, self.found, self._bases, self._acts

    def observe(self) -> NDArray[np.float32]:
        """(n, no) observations, clipped at the largest magnitude."""
        seen = np.nan_to_num(self.found[:, 1 : 1 + len(self.task.observation)])
        return np.clip(seen, -self.task.largest, self.task.largest).astype(np.float32)

    def basis(self, k: int) -> System:
        """The system in the independent speeds that one mechanism is in now."""
        return self._systems[self._bases[k]]

    def picture(self, k: int) -> NDArray[np.uint8]:
        """A picture of one mechanism."""
        system = self.basis(k)
        names = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
        start = {q.name: float(x) for q, x in zip(names, self.x[k], strict=False)}
        known = system.model.parameter_values(self._values)
        run = simulate(system, start=start, parameters=known, duration=1e-6, samples=2)
        image = picture(run, system=system, follow=True, width=WIDTH, height=HEIGHT)
        return np.asarray(image.convert("RGB"), dtype=np.uint8)

    def _advance(self, actions: Array, acting: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Steps of a period; whether each is still where its equations hold.

        Where the independent speeds of a mechanism would end within a step, it goes on in others.
        """
        steps = self.task.steps
        left = np.where(acting, steps, 0)
        is_good = np.ones(self.count, dtype=bool)
        is_new = np.zeros(self.count, dtype=bool)  # in other speeds than at its last step
        is_open, groups = acting, {(steps, b) for b in set(self._bases[acting].tolist())}
        while groups:
            # those with fewer steps first: none is met twice
            for count, number in sorted(groups):
                which = np.flatnonzero(is_open & (left == count) & (self._bases == number))
                taken, has_ended = self._periods[number].run(self, actions, which, count)
                left[which] -= taken
                if not left.any():
                    return is_good
                if has_ended.any():  # an action that is no number ends no basis
                    has_ended &= np.isfinite(self.u[which]).all(axis=1)
                is_new[which] &= taken == 0
                is_good[which] = (taken == count) | has_ended
                for k in which[has_ended].tolist():
                    is_new[k] = is_good[k] = not is_new[k] and self._change_basis(k)
            is_open = is_good & (left > 0)
            groups = set(zip(left[is_open].tolist(), self._bases[is_open].tolist(), strict=True))
        return is_good

    def _add_basis(self, system: System) -> None:
        self._systems.append(system)
        self._seen.append(compile_native([task_program(system, self.task)])["look"])
        self._periods.append(_LanePeriods(system, self.task, self._values))

    def _change_basis(self, k: int) -> bool:
        """Convert the state of a mechanism to the best independent speeds, if there are others."""
        here, t, x, u = self.basis(k), self.t[k], self.x[k], self.u[k]
        q = x[None, : len(here.coordinates)]
        there = here.regular_at(np.array([t]), q, self._values[None, :])[0]
        if there is None or there is here:
            return False
        v = tree_speeds(here, float(t), x, u, self._values)
        self.x[k] = carried(here, there, x, v)
        self._bases[k] = self._number_of(there)
        return True

    def _look(self, which: NDArray[np.int_]) -> Array:
        """(k, 1 + no + ne) rewards, observations and ends of some, each in its basis."""
        if len(self._systems) == 1 and len(which) == self.count:
            return np.asarray(self._seen[0].map(self.t, self.x, self.u, self.known))
        found = np.zeros((len(which), self.found.shape[1]))
        bases = self._bases[which]
        for number in set(bases.tolist()):
            own = bases == number
            k = which[own]
            at = self.t[k], self.x[k], self.u[k], self.known[k]
            found[own] = self._seen[number].map(*at)
        return found

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
            found, groups = completed_states(self.system, given, len(episodes), self._values)
            self._starts[k], self._first[k] = found.reshape(len(k), ahead, -1), needed[k]
            bases = np.zeros(len(episodes), dtype=int)
            for here, some in groups:
                bases[some] = self._number_of(here)
            self._start_bases[k] = bases.reshape(len(k), ahead)
        now = self._episodes[which] - self._first[which]
        return np.asarray(self._starts[which, now]), np.asarray(self._start_bases[which, now])

    def _number_of(self, system: System) -> int:
        """Number of a basis, whose code is made when it is first met."""
        if system not in self._systems:
            self._add_basis(system)
        return self._systems.index(system)


class _LanePeriods:
    """Periods of mechanisms in one basis, several side by side in lanes.

    Parameters
    ----------
    system, task, values : what moves, how long, and its parameters.
    """

    def __init__(self, system: System, task: GymTask, values: Array) -> None:
        lanes = native_lanes()
        # functions and code stay loaded as long as this lives
        look = compile_wide([task_program(system, task)], lanes)
        self._functions = motion_in_lanes(system, lanes) | look
        self._operations = 4 * system.hoisted_rates.main_program.num_operations
        self._parameters = np.repeat(system.hoisted_rates.parameters(values), lanes)
        text, size = print_lanes_period(period_shape(system, task, Target(lanes=lanes)))
        self._engine, self._lanes = stored_machine_code(text), lanes
        self._call = CFUNCTYPE(None, c_void_p, c_void_p)(
            self._engine.get_function_address("period")
        )
        self._work, self._size = np.zeros((os.cpu_count() or 1, size + LINE_WORDS)), size

    def run(
        self, all: Mechanisms, actions: Array, which: NDArray[np.int_], steps: int
    ) -> tuple[NDArray[np.int_], NDArray[np.bool_]]:
        """Steps of some mechanisms: how many were taken, and whether the basis ended.

        One that does not hold is not taken, nor any after it. Times, states, inputs and what is
        seen change.
        """
        taken, has_ended = np.zeros(all.count, np.int64), np.zeros(all.count, np.int64)
        queue, left = np.ascontiguousarray(which, dtype=np.int64), steps
        while left and len(queue):
            packs = -(-len(queue) // self._lanes)
            part = min(left, max(LEAST_STEPS, MOST_WORK // (packs * self._operations + 1)))
            now = np.zeros(all.count, np.int64)
            self._run_part(all, actions, queue, part, now, has_ended)
            taken += now
            left -= part
            queue = queue[now[queue] == part]
        return taken[which], has_ended[which] > 0

    def _run_part(
        self,
        all: Mechanisms,
        actions: Array,
        queue: NDArray[np.int64],
        steps: int,
        taken: NDArray[np.int64],
        has_ended: NDArray[np.int64],
    ) -> None:
        """Steps of those in the queue, in one call of native code on each thread."""
        n = all.count
        reals = {"actions": actions, "t": all.t, "x": all.x, "u": all.u}
        reals |= {"known": all.known, "found": all.found, "parameters": self._parameters}
        wholes = {"queue": queue, "taken": taken, "has_ended": has_ended}
        sizes = {"t": n, "x": n * all.x.shape[1], "u": n * all.u.shape[1], "taken": n}
        sizes |= {"actions": n * len(all.task.actions), "has_ended": n}
        numbers = {k: address(k, vector, sizes.get(k)) for k, vector in reals.items()}
        numbers |= {k: address(k, v, sizes.get(k), WHOLES) for k, v in wholes.items()}
        numbers |= {name: function.address for name, function in self._functions.items()}
        numbers |= {"length": len(queue), "steps": steps}
        packs = -(-len(queue) // self._lanes)
        threads = max(1, min(len(self._work), packs * steps * self._operations // LEAST_WORK))
        parts = np.linspace(0, packs, threads + 1).astype(int).tolist()
        kept = (reals, wholes)

        def work(k: int, _: object = kept) -> None:
            own = numbers | {"first": parts[k], "after": parts[k + 1]}
            record = np.array([own.get(name, 0) for name in LANE_WORDS], np.int64)
            memory = work_address(self._work[k], self._size)
            self._call(address("record", record, kind=WHOLES), memory)

        if threads == 1:
            work(0)
        else:
            # a part is over soon
            run_workers(work, threads, stop=lambda: None)


def period_shape(system: System, task: GymTask, target: Target) -> PeriodShape:
    """Shape of a period's code, in the independent speeds of a system."""
    measures = system.singularity_measures
    projected = system.projection.output_size if system.has_projection else system.num_states
    places, middle, half, base = action_ranges(system, task)
    return PeriodShape(
        target=target,
        num_states=system.num_states,
        num_inputs=len(system.inputs),
        num_residuals=projected - system.num_states,
        step=task.period / task.steps,
        # where independent speeds are due to be changed, steps of fixed length go astray
        limits=tuple(
            (float(m.floor if m.kind == "basis" else m.limit), m.kind == "basis") for m in measures
        ),
        actions=tuple(zip(places, middle.tolist(), half.tolist(), strict=True)),
        base=tuple(base.tolist()),
        num_parameters=len(system.model.parameters),
        num_variables=len(task.variables),
        num_found=1 + len(task.observation) + len(task.ends),
    )


def action_ranges(system: System, task: GymTask) -> tuple[list[int], Array, Array, Array]:
    """Inputs of the actions, middles and halves of their ranges, and inputs without an action."""
    names = [i.name for i in system.inputs]
    low, high = np.array(list(task.actions.values()), dtype=float).T
    base = np.zeros(len(names))
    for name, value in task.inputs.items():
        base[names.index(name)] = value
    return [names.index(name) for name in task.actions], (low + high) / 2, (high - low) / 2, base


def completed_states(
    system: System, given: Mapping[str, Array], count: int, values: Array
) -> tuple[Array, list[BasisGroup]]:
    """(n, nx) consistent states, and the systems in whose independent speeds they are."""
    start = complete_starts(
        system, given, count=count, time=0.0, parameters=values[None, :], speed_inputs=None
    )
    groups = run_starts(system, start, 0.0, values[None, :])
    found = np.zeros((count, system.num_states))
    for here, which in groups:
        q, v, mu = start.q[which], start.v[which], start.mu[which]
        state = states_in(here, np.zeros(len(which)), q, v, mu, values)
        found[which, : state.shape[1]] = state
    return found, groups


def task_program(system: System, task: GymTask) -> Program:
    """[reward; observation; ends] of (t, x, u, [parameters; variables]) in a basis."""
    symbols = ca.SX.sym("variables", len(task.variables))
    known = {name: symbols[k] for k, name in enumerate(task.variables)}
    check_definitions(system, task.variables)
    texts = {"reward": task.reward}
    texts |= {f"observation '{name}'": text for name, text in task.observation.items()}
    texts |= {f"end '{name}'": text for name, text in task.ends.items()}
    read = [
        read_expression(system, text, where, known, is_output=True) for where, text in texts.items()
    ]
    kin = system.kinematics
    given = (kin.symbols.t, system.state, system.equations.inputs)
    expression = ca.densify(system.fold(ca.vertcat(*read)))
    return trace_program("look", (*given, ca.vertcat(kin.symbols.params, symbols)), expression)


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
    known = len(system.model.parameters) + len(task.variables)
    rows = (4 + ahead) * nx + 3 * nu + known + 3 * (1 + no + len(task.ends)) + na + 16
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
    ranges |= {k: v for k, v in task.start.items() if isinstance(v, tuple)}
    for name, given in ranges.items():
        is_range = isinstance(given, tuple) and len(given) == 2
        if not (is_range and all(map(math.isfinite, given)) and given[0] <= given[1]):
            raise SimulationError(
                f"the range of '{name}' is {given!r:.60}", where, "give (lowest, highest)"
            )
    for name in ("period", "steps", "limit", "largest"):
        value = getattr(task, name)
        whole = name not in ("steps", "limit") or isinstance(value, int)
        if is_truth(value) or not whole or not (value > 0 and math.isfinite(value)):
            raise SimulationError(f"{name} is {value!r:.40}", where, "give a number above zero")
    for name, most in (("steps", MOST_STEPS), ("limit", MOST_ACTS)):
        if getattr(task, name) > most:
            raise SimulationError(
                f"{name} is {getattr(task, name)!r:.40}", where, f"give at most {most}"
            )

"""Environments of Gymnasium: n mechanisms stepped together by native code, or one.

Importing this module registers the ids: ``gymnasium.make("noslip.bridges.gym_envs:noslip/…")``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from noslip.bridges.gym_tasks import GymTask, register_envs
from noslip.engines.native import compile_expression
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.numeric import is_truth
from noslip.show.animate import picture
from noslip.simulation.expressions import check_definitions, read_expression, units_by_name
from noslip.simulation.segments import carried, tree_speeds
from noslip.simulation.simulate import simulate
from noslip.simulation.starts.completion import complete_starts

#: Starts that are completed together.
POOL = 256
#: Size of pictures.
WIDTH, HEIGHT = 640, 400

#: Residual of constraints after a step, m or rad, from which it has not been followed.
ASTRAY = 1e-2


class MechanismEnv(gymnasium.Env):
    """One mechanism with a task. Made by :func:`noslip.gym.make_env`."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(
        self,
        system: System,
        task: GymTask,
        *,
        parameters: Mapping[str, float] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise SimulationError(
                f"there is no render mode '{render_mode}'", "noslip.gym", "give 'rgb_array' or None"
            )
        self.mechanisms = Mechanisms(system, task, 1, parameters)
        self.observation_space = self.mechanisms.observation_space
        self.action_space = self.mechanisms.action_space
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; ``options`` may hold start values by name instead of random ones."""
        super().reset(seed=seed)
        if seed is not None:
            self.mechanisms.forget_starts()
        self.mechanisms.begin(np.array([True]), self.np_random, options)
        return self.mechanisms.observe()[0], {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act for a period."""
        given = np.asarray(action, dtype=float).reshape(1, -1)
        reward, ended, cut, why = self.mechanisms.act(given)
        info = {"ended": why[0]} if ended[0] else {}
        return self.mechanisms.observe()[0], float(reward[0]), bool(ended[0]), bool(cut[0]), info

    def render(self) -> Any:
        """A picture (height, width, 3), if the render mode asks for it."""
        return self.mechanisms.picture(0) if self.render_mode == "rgb_array" else None


class MechanismVectorEnv(VectorEnv):
    """Many mechanisms with one task. Made by :func:`noslip.gym.make_vec_env`."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        system: System,
        task: GymTask,
        num_envs: int,
        *,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        if is_truth(num_envs) or not isinstance(num_envs, int) or num_envs < 1:
            raise SimulationError(
                f"num_envs is {num_envs!r:.40}", "noslip.gym", "give a whole number above 0"
            )
        self.num_envs = num_envs
        self.mechanisms = Mechanisms(system, task, num_envs, parameters)
        self.single_observation_space = self.mechanisms.observation_space
        self.single_action_space = self.mechanisms.action_space
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed)
        if seed is not None:
            self.mechanisms.forget_starts()
        self.mechanisms.begin(np.ones(self.num_envs, dtype=bool), self.np_random, options)
        self._over[:] = False
        return self.mechanisms.observe(), {}

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act for a period in each; those that have ended begin anew instead."""
        given = np.asarray(actions, dtype=float).reshape(self.num_envs, -1)
        anew = self._over
        reward, ended, cut, why = self.mechanisms.act(given)
        if anew.any():
            self.mechanisms.begin(anew, self.np_random, None)
            reward[anew], ended[anew], cut[anew] = 0.0, False, False
        self._over = ended | cut
        info: dict[str, Any] = {}
        if ended.any():
            info = {"ended": np.where(ended, why, ""), "_ended": ended.copy()}
        return self.mechanisms.observe(), reward, ended, cut, info


class Mechanisms:
    """n mechanisms with one task: states, what is seen of them, and a step for all at once."""

    def __init__(
        self,
        system: System,
        task: GymTask,
        count: int,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.system, self.task, self.count = system, task, count
        self._check()
        self._values = system.parameters(parameters)
        names = [i.name for i in system.inputs]
        self._places = [names.index(name) for name in task.actions]
        low, high = np.array(list(task.actions.values()), dtype=float).T
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        self._base = np.zeros(len(names))
        for name, value in task.inputs.items():
            self._base[names.index(name)] = value
        # bases that occurred, what is seen and what holds in each; the number of each mechanism's
        self._systems, self._seen = list[System](), list[Any]()
        self._limits = list[tuple[Array, NDArray[np.bool_]]]()
        self._add_basis(system)
        self._bases = np.zeros(count, dtype=int)
        self.t = np.zeros(count)
        self.x = np.zeros((count, system.num_states))
        self.u = np.tile(self._base, (count, 1))
        self._known = np.tile(np.append(self._values, np.zeros(len(task.variables))), (count, 1))
        self._acts = np.zeros(count, dtype=int)
        self._starts: tuple[Array, int] = (np.zeros((0, system.num_states)), 0)
        size = (len(task.observation),)
        bound = np.float32(task.largest)
        self.observation_space = gymnasium.spaces.Box(-bound, bound, size, np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self._places),), np.float32)

    def forget_starts(self) -> None:
        """Draw anew at the next start, as after a seed."""
        self._starts = (self._starts[0][:0], 0)

    def begin(self, which: NDArray[np.bool_], rng: np.random.Generator, options: Any) -> None:
        """Random starts of some mechanisms, or those that are given."""
        task, count = self.task, int(which.sum())
        if options:
            self.x[which] = self._completed(dict(options), 1, rng)
        else:
            self.x[which] = np.array([self._next_start(rng) for _ in range(count)])
        drawn = [rng.uniform(low, high, count) for low, high in task.variables.values()]
        if drawn:
            self._known[which, len(self._values) :] = np.column_stack(drawn)
        self.t[which], self._acts[which], self.u[which] = 0.0, 0, self._base
        self._bases[which] = 0

    def act(
        self, actions: Array
    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_], NDArray[np.object_]]:
        """Rewards, what has ended, what is cut, and by which name it ended, after a period."""
        task = self.task
        # an action that is no number ends its episode
        self.u[:, self._places] = self._middle + self._half * np.clip(actions, -1.0, 1.0)
        is_bad = ~self._advance()
        found = self._look()
        reward, ends = found[:, 0].copy(), found[:, 1 + len(task.observation) :] > 0.0
        is_bad |= ~np.isfinite(found).all(axis=1)
        reward[is_bad] = 0.0
        why = np.full(self.count, "", dtype=object)
        for k, name in reversed(list(enumerate(task.ends))):
            why[ends[:, k]] = name
        why[is_bad] = "singular"
        self._acts += 1
        ended = ends.any(axis=1) | is_bad
        return reward, ended, (self._acts >= task.limit) & ~ended, why

    def observe(self) -> NDArray[np.float32]:
        """(n, no) what is seen, cut at the largest magnitude."""
        found = self._look()
        seen = np.nan_to_num(found[:, 1 : 1 + len(self.task.observation)])
        return np.clip(seen, -self.task.largest, self.task.largest).astype(np.float32)

    def basis(self, k: int) -> System:
        """The system in the independent speeds that one mechanism is in now."""
        return self._systems[self._bases[k]]

    def picture(self, k: int) -> NDArray[np.uint8]:
        """A picture of one mechanism."""
        system = self.basis(k)
        names = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
        start = {q.name: float(x) for q, x in zip(names, self.x[k], strict=False)}
        known = zip((p.name for p in system.model.parameters), self._values.tolist(), strict=True)
        run = simulate(system, start=start, parameters=dict(known), duration=1e-6, samples=2)
        image = picture(run, system=system, follow=True, width=WIDTH, height=HEIGHT)
        return np.asarray(image.convert("RGB"), dtype=np.uint8)

    def _advance(self) -> NDArray[np.bool_]:
        """Steps of a period; whether each is still where its equations hold.

        Where the independent speeds of a mechanism would end within a step, it goes on in others.
        """
        steps = self.task.steps
        left = np.full(self.count, steps)
        is_good = np.ones(self.count, dtype=bool)
        is_new = np.zeros(self.count, dtype=bool)  # in other speeds than at its last step
        is_open, groups = is_good, {(steps, b) for b in set(self._bases.tolist())}
        while groups:
            # those with fewer steps first: none is met twice
            for count, number in sorted(groups):
                which = np.flatnonzero(is_open & (left == count) & (self._bases == number))
                taken, has_ended = self._steps(number, which, count)
                left[which] -= taken
                if not left.any():
                    return is_good
                is_new[which] &= taken == 0
                is_good[which] = (taken == count) | has_ended
                for k in which[has_ended].tolist():
                    is_new[k] = is_good[k] = not is_new[k] and self._change_basis(k)
            is_open = is_good & (left > 0)
            groups = set(zip(left[is_open].tolist(), self._bases[is_open].tolist(), strict=True))
        return is_good

    def _steps(
        self, number: int, which: NDArray[np.int_], count: int
    ) -> tuple[NDArray[np.int_], NDArray[np.bool_]]:
        """Steps of some mechanisms in their basis: how many held, and whether the basis ended.

        One that does not hold is not taken, nor any after it.
        """
        system = self._systems[number]
        n, h = system.num_states, self.task.period / self.task.steps
        limits, is_basis = self._limits[number]
        has_basis = bool(is_basis.any())
        f, p = system.rates.map, self._values
        is_all = len(which) == self.count
        old_t, old_x, u = (a if is_all else a[which] for a in (self.t, self.x, self.u))
        taken, goes_on = np.zeros(len(which), dtype=int), np.ones(len(which), dtype=bool)
        has_ended = ~goes_on
        for _ in range(count):
            first = f(old_t, old_x, u, p)
            is_within = np.abs(first[:, n:]) >= limits
            k1 = first[:, :n]
            k2 = f(old_t + h / 2, old_x + h / 2 * k1, u, p)[:, :n]
            k3 = f(old_t + h / 2, old_x + h / 2 * k2, u, p)[:, :n]
            k4 = f(old_t + h, old_x + h * k3, u, p)[:, :n]
            x, t = old_x + h / 6 * (k1 + 2 * (k2 + k3) + k4), old_t + h
            is_held = (is_within | is_basis).all(axis=1)
            if system.has_projection:
                projected = system.projection.map(t, x, u, p)
                x = projected[:, :n]
                is_held &= (np.abs(projected[:, n:]) <= ASTRAY).all(axis=1)
            is_held &= np.isfinite(x).all(axis=1)
            if has_basis:
                before, after = (v[:, n:][:, is_basis] for v in (first, f(t, x, u, p)))
                is_same = before * after > 0.0  # a step may not leap over the end
                is_same &= is_within[:, is_basis] & (np.abs(after) >= limits[is_basis])
                ends = ~is_same.all(axis=1)
                has_ended |= goes_on & ends
                is_held &= ~ends
            goes_on &= is_held
            if goes_on.all():
                old_t, old_x = t, x
            else:
                old_t, old_x = np.where(goes_on, t, old_t), np.where(goes_on[:, None], x, old_x)
            taken += goes_on
        self.t[which], self.x[which] = old_t, old_x
        if has_ended.any():  # an action that is no number ends no basis
            has_ended &= np.isfinite(u).all(axis=1)
        return taken, has_ended

    def _add_basis(self, system: System) -> None:
        self._systems.append(system)
        self._seen.append(self._compiled(system))
        measures = system.singularity_measures
        # where independent speeds are due to be changed, steps of fixed length go astray
        limits = np.array([m.floor if m.kind == "basis" else m.limit for m in measures])
        self._limits.append((limits, np.array([m.kind == "basis" for m in measures], dtype=bool)))

    def _change_basis(self, k: int) -> bool:
        """Convert the state of a mechanism to the best independent speeds, if there are others."""
        here, t, x, u = self.basis(k), self.t[k], self.x[k], self.u[k]
        q = x[None, : len(here.coordinates)]
        there = here.regular_at(np.array([t]), q, self._values[None, :])[0]
        if there is None or there is here:
            return False
        if there not in self._systems:
            self._add_basis(there)
        v = tree_speeds(here, float(t), x, u, self._values)
        self.x[k] = carried(here, there, x, v)
        self._bases[k] = self._systems.index(there)
        return True

    def _look(self) -> Array:
        """(n, 1 + no + ne) rewards, observations and ends, each in its basis."""
        if len(self._systems) == 1:
            return np.asarray(self._seen[0].map(self.t, self.x, self.u, self._known))
        found = np.zeros((self.count, 1 + len(self.task.observation) + len(self.task.ends)))
        for number, seen in enumerate(self._seen):
            k = np.flatnonzero(self._bases == number)
            if len(k):
                found[k] = seen.map(self.t[k], self.x[k], self.u[k], self._known[k])
        return found

    def _next_start(self, rng: np.random.Generator) -> Array:
        starts, used = self._starts
        if used >= len(starts):
            starts, used = self._completed(dict(self.task.start), POOL, rng), 0
        self._starts = starts, used + 1
        return np.asarray(starts[used])

    def _completed(self, given: dict[str, Any], count: int, rng: np.random.Generator) -> Array:
        """(n, nx) consistent states, ranges drawn from."""
        drawn = {}
        for name, value in given.items():
            low, high = value if isinstance(value, tuple) else (value, value)
            drawn[name] = rng.uniform(low, high, count)
        q, eta, mu = complete_starts(
            self.system,
            drawn,
            count=count,
            time=0.0,
            parameters=self._values[None, :],
            speed_inputs=None,
        )
        found = np.zeros((count, self.system.num_states))
        for start, part in zip(np.cumsum([0, q.shape[1], eta.shape[1]]), (q, eta, mu), strict=True):
            found[:, start : start + part.shape[1]] = part
        return found

    def _compiled(self, system: System) -> Any:
        """[reward; observation; ends] of (t, x, u, [parameters; variables]) in a basis."""
        task = self.task
        symbols = ca.SX.sym("variables", len(task.variables))
        known = {name: symbols[k] for k, name in enumerate(task.variables)}
        check_definitions(system, task.variables)
        texts = {"reward": task.reward}
        texts |= {f"observation '{name}'": text for name, text in task.observation.items()}
        texts |= {f"end '{name}'": text for name, text in task.ends.items()}
        read = [
            read_expression(system, text, where, known, is_output=True)
            for where, text in texts.items()
        ]
        kin = system.kinematics
        given = (kin.symbols.t, system.state, system.equations.inputs)
        expression = system.fold(ca.vertcat(*read))
        return compile_expression(
            "task", (*given, ca.vertcat(kin.symbols.params, symbols)), expression
        )

    def _check(self) -> None:
        """Refuse a task that does not fit its model, by name."""
        system, task = self.system, self.task
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


register_envs()

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
        self._seen = self._compiled()
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

    def act(
        self, actions: Array
    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_], NDArray[np.object_]]:
        """Rewards, what has ended, what is cut, and by which name it ended, after a period."""
        task = self.task
        # an action that is no number ends its episode
        self.u[:, self._places] = self._middle + self._half * np.clip(actions, -1.0, 1.0)
        is_bad = ~self._advance()
        found = self._seen.map(self.t, self.x, self.u, self._known)
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
        found = self._seen.map(self.t, self.x, self.u, self._known)
        seen = np.nan_to_num(found[:, 1 : 1 + len(self.task.observation)])
        return np.clip(seen, -self.task.largest, self.task.largest).astype(np.float32)

    def picture(self, k: int) -> NDArray[np.uint8]:
        """A picture of one mechanism."""
        system = self.system
        names = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
        start = {q.name: float(x) for q, x in zip(names, self.x[k], strict=False)}
        known = zip((p.name for p in system.model.parameters), self._values.tolist(), strict=True)
        run = simulate(system, start=start, parameters=dict(known), duration=1e-6, samples=2)
        image = picture(run, system=system, follow=True, width=WIDTH, height=HEIGHT)
        return np.asarray(image.convert("RGB"), dtype=np.uint8)

    def _advance(self) -> NDArray[np.bool_]:
        """Steps of a period; whether each is still where its equations hold."""
        system, h = self.system, self.task.period / self.task.steps
        n, is_good = system.num_states, np.ones(self.count, dtype=bool)
        measures = system.singularity_measures
        # where independent speeds are due to be changed, steps of fixed length go astray
        limits = np.array([m.floor if m.kind == "basis" else m.limit for m in measures])
        is_basis = np.array([m.kind == "basis" for m in measures], dtype=bool)
        f, p = system.rates.map, self._values
        for _ in range(self.task.steps):
            t, x, u = self.t, self.x, self.u
            first = f(t, x, u, p)
            is_good &= (np.abs(first[:, n:]) >= limits).all(axis=1)
            k1 = first[:, :n]
            k2 = f(t + h / 2, x + h / 2 * k1, u, p)[:, :n]
            k3 = f(t + h / 2, x + h / 2 * k2, u, p)[:, :n]
            k4 = f(t + h, x + h * k3, u, p)[:, :n]
            x = x + h / 6 * (k1 + 2 * (k2 + k3) + k4)
            self.t = t + h
            if system.has_projection:
                projected = system.projection.map(self.t, x, u, p)
                x, is_near = projected[:, :n], np.abs(projected[:, n:]) <= ASTRAY
                is_good &= is_near.all(axis=1)
            is_good &= np.isfinite(x).all(axis=1)
            if is_basis.any():
                before, after = (v[:, n:][:, is_basis] for v in (first, f(self.t, x, u, p)))
                is_good &= (before * after > 0.0).all(axis=1)  # nor may a step leap over it
                is_good &= (np.abs(after) >= limits[is_basis]).all(axis=1)
            self.x = np.where(is_good[:, None], x, self.x)
        return is_good

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

    def _compiled(self) -> Any:
        """[reward; observation; ends] of (t, x, u, [parameters; variables])."""
        system, task = self.system, self.task
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

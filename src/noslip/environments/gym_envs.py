"""Environments of Gymnasium: one mechanism, n stepped together in lanes, or n on a GPU.

Importing this module registers the ids:
``gymnasium.make("noslip.environments.gym_envs:noslip/…")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from noslip import SimulationError, System
from noslip.base import Array, as_number
from noslip.engines import AbstractDevice, DeviceArray, given_table
from noslip.environments.gym_tasks import (
    DeviceMechanisms,
    EndedNames,
    GymTask,
    Mechanisms,
    register_envs,
)


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
        self.observation_space, self.action_space = _spaces(task)
        self.render_mode = render_mode
        self._is_seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; ``options`` may hold start values by name instead of random ones."""
        super().reset(seed=seed)
        if seed is not None or not self._is_seeded:
            self.mechanisms.seed(_drawn_seed(self.np_random))
            self._is_seeded = True
        self.mechanisms.begin(np.array([True]), options)
        return self.mechanisms.observe()[0], {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act for a period."""
        shape, where = self.action_space.shape, self.mechanisms.where
        given = given_table(action, shape, "actions", where, is_finite=True)
        reward, ended, cut, why = self.mechanisms.act(given[None, :])
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
        self.num_envs = _checked_number(num_envs)
        self.mechanisms = Mechanisms(system, task, num_envs, parameters)
        _set_spaces(self, task, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)
        self._is_seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed)
        if seed is not None or not self._is_seeded:
            self.mechanisms.seed(_drawn_seed(self.np_random))
            self._is_seeded = True
        self.mechanisms.begin(np.ones(self.num_envs, dtype=bool), options)
        self._over[:] = False
        return self.mechanisms.observe(), {}

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act for a period in each; those that have ended begin anew instead."""
        anew = self._over
        if anew.any():
            reward, ended, cut, why = self.mechanisms.act(actions, ~anew)
            self.mechanisms.begin(anew)
        else:
            reward, ended, cut, why = self.mechanisms.act(actions)
        self._over = ended | cut
        info: dict[str, Any] = {}
        if ended.any():
            info = {"ended": np.where(ended, why, ""), "_ended": ended.copy()}
        return self.mechanisms.observe(), reward, ended, cut, info


class DeviceVectorEnv(VectorEnv):
    """Many mechanisms with one task on a GPU, where their arrays stay.

    Made by :func:`noslip.gym.make_vec_env`. Actions are arrays of the device or of NumPy;
    observations, rewards and endings are arrays of the device.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        system: System,
        task: GymTask,
        num_envs: int,
        device: AbstractDevice,
        *,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.num_envs = _checked_number(num_envs)
        self.mechanisms = DeviceMechanisms(system, task, num_envs, device, parameters)
        _set_spaces(self, task, num_envs)
        self._is_seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[DeviceArray, dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed)
        if seed is not None or not self._is_seeded:
            self.mechanisms.seed(_drawn_seed(self.np_random))
            self._is_seeded = True
        return self.mechanisms.begin(options), {}

    def step(
        self, actions: Any
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray, dict[str, EndedNames]]:
        """Act for a period in each; those that have ended begin anew instead."""
        seen, reward, ended, cut, why = self.mechanisms.step(actions)
        return seen, reward, ended, cut, {"ended": why}


def _drawn_seed(rng: np.random.Generator) -> int:
    """Seed of the random numbers of episodes."""
    return int(rng.integers(2**63))


def _checked_number(num_envs: Any) -> int:
    if not (isinstance(num_envs, int) and as_number(num_envs) >= 1):
        raise SimulationError(
            f"num_envs is {num_envs!r:.40}", "noslip.gym", "give a whole number above 0"
        )
    return num_envs


def _spaces(task: GymTask) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Spaces of observations and actions."""
    bound = np.float32(task.largest)
    seen = gymnasium.spaces.Box(-bound, bound, (len(task.observation),), np.float32)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (len(task.actions),), np.float32)


def _set_spaces(env: VectorEnv, task: GymTask, num_envs: int) -> None:
    batch = gymnasium.vector.utils.batch_space
    env.single_observation_space, env.single_action_space = _spaces(task)
    env.observation_space = batch(env.single_observation_space, num_envs)
    env.action_space = batch(env.single_action_space, num_envs)


register_envs()

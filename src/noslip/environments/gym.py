"""`ns.gym`: environments of Gymnasium, of ready tasks or of tasks as data.

    make_env(model, task)             one environment
    make_vec_env(model, task, n)      n of them in one call of native code
    register_envs()                   the ids noslip/… for gymnasium.make, which calls it by itself
                                      for "noslip.environments.gym_envs:noslip/…"

A :class:`GymTask` says what is seen, done, rewarded and begun with, by expressions of the model's
names, which are compiled; `gym_tasks.py` has the ready ones, `gym_envs.py` the environments.
Nothing of Gymnasium is imported before one is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from noslip import SimulationError
from noslip.base import checked, nearest, require
from noslip.environments.gym_tasks import IDS, TASKS, GymTask, register_envs

__all__ = ["IDS", "TASKS", "GymTask", "make_env", "make_vec_env", "register_envs"]

if TYPE_CHECKING:
    from noslip import Model, System
    from noslip.engines import AbstractDevice


@checked
def make_env(
    model: Model | System | str | None = None,
    task: GymTask | str = "drive",
    *,
    parameters: Mapping[str, float] | None = None,
    render_mode: str | None = None,
) -> Any:
    """An environment of Gymnasium (``gymnasium.Env``).

    Parameters
    ----------
    model : name of a ready model, a model or a compiled system; that of a ready task by default.
    task : task, or the name of a ready one: ``drive``, ``balance``, ``back_up``.
    parameters : values that differ from the nominal ones.
    render_mode : ``"rgb_array"`` for pictures by :func:`noslip.picture`, or None.

    Raises
    ------
    SimulationError : the task does not fit the model, by name.
    """
    require("gymnasium", "an environment", "noslip.gym.make_env")
    from noslip.environments.gym_envs import MechanismEnv

    system, chosen = _chosen(model, task)
    return MechanismEnv(system, chosen, parameters=parameters, render_mode=render_mode)


@checked
def make_vec_env(
    model: Model | System | str | None = None,
    task: GymTask | str = "drive",
    num_envs: int = 64,
    *,
    parameters: Mapping[str, float] | None = None,
    device: str | AbstractDevice = "cpu",
) -> Any:
    """Many environments in one, stepped together by native code (``gymnasium.vector.VectorEnv``).

    An episode that has ended begins anew at the next step, whose action is not taken
    (``AutoresetMode.NEXT_STEP``).

    Parameters
    ----------
    model, task, parameters : arguments of :func:`make_env`.
    num_envs : number of environments.
    device : ``"cpu"``, or ``"cuda"`` for a card of NVIDIA's (``"cuda:1"`` the second one): actions
        are taken from arrays on it, and observations, rewards and endings are arrays there
        (:class:`DeviceArray`, for PyTorch, CuPy and JAX); NumPy's are copied, ``.numpy()`` copies
        back.

    Raises
    ------
    SimulationError : the task does not fit the model or the device.
    DeviceError : there is no such card, or it has no room.
    """
    require("gymnasium", "an environment", "noslip.gym.make_vec_env")
    from noslip.engines import read_device
    from noslip.environments.gym_envs import DeviceVectorEnv, MechanismVectorEnv

    card = read_device(device, "noslip.gym.make_vec_env")
    system, chosen = _chosen(model, task)
    if card is None:
        return MechanismVectorEnv(system, chosen, num_envs, parameters=parameters)
    return DeviceVectorEnv(system, chosen, num_envs, card, parameters=parameters)


def _chosen(model: Any, task: GymTask | str) -> tuple[System, GymTask]:
    """The compiled system and the task."""
    from noslip import System, compile, derive, load

    where = "noslip.gym"
    if isinstance(task, str):
        if task not in TASKS:
            raise SimulationError(f"there is no task '{task}'", where, nearest(task, TASKS))
        name, chosen = TASKS[task]
        model = name if model is None else model
    else:
        chosen = task
    if model is None:
        raise SimulationError(
            "a task of your own needs a model", where, "give it: make_env(model, task)"
        )
    if isinstance(model, System):
        return model, chosen
    return compile(derive(load(model) if isinstance(model, str) else model)), chosen

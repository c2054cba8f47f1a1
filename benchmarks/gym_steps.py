"""Steps per second of vector environments under a random policy, beside MuJoCo's in the same run.

A step is an action and an observation. What is computed within differs: our tasks take 2 to 5 steps
of Runge and Kutta's method with exact constraints, MuJoCo's some of its own with contacts. So the
numbers say what a training loop waits for, and not which engine is faster at the same work.
MuJoCo's environments are stepped by Gymnasium's own vectorization, in this process and in others.
"""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np

import noslip as ns
from measuring import Measure, leave

SIZES = (16, 1024)
OTHERS = ("InvertedPendulum-v5", "HalfCheetah-v5")
SECONDS = 1.5


def steps_per_second(envs, count: int) -> float:
    """Of all environments together, resets included."""
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(8)]
    for action in actions:
        envs.step(action)
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        for action in actions:
            seen, *_ = envs.step(action)
            done += count
    assert np.isfinite(seen).all()
    return done / (time.perf_counter() - began)


def main() -> None:
    measures, rates, left_out = [], {}, []
    if find_spec("gymnasium") is None:
        leave("gym_steps", [], {}, checks={}, left_out=["Gymnasium is not installed"])
        return
    import gymnasium

    for task in ns.gym.TASKS:
        for count in SIZES:
            envs = ns.gym.make_vec_env(task=task, num_envs=count)
            rates[f"noslip {task}, {count}"] = steps_per_second(envs, count)
    if find_spec("mujoco") is None:
        left_out.append("MuJoCo's environments: the package mujoco is not installed")
    else:
        for name in OTHERS:
            for mode in ("sync", "async"):
                envs = gymnasium.make_vec(name, num_envs=SIZES[0], vectorization_mode=mode)
                rates[f"MuJoCo {name}, {SIZES[0]}, {mode}"] = steps_per_second(envs, SIZES[0])
                envs.close()
    for what, rate in rates.items():
        measures.append(Measure(what=what, value=rate, unit="steps/s"))
    seconds = {what: 1.0 / rate for what, rate in rates.items()}
    leave("gym_steps", measures, seconds, checks={}, left_out=left_out)


if __name__ == "__main__":
    main()

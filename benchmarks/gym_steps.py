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
#: Seconds of a turn, and how many each has; the best counts.
SECONDS, ROUNDS = 0.5, 5


class Candidate:
    """Vector environments under a random policy."""

    def __init__(self, envs, count: int) -> None:
        envs.reset(seed=0)
        envs.action_space.seed(0)
        self._envs, self._count, self.rate = envs, count, 0.0
        self._actions = [envs.action_space.sample() for _ in range(8)]
        self.turn()  # other independent speeds are compiled where they are met first
        self.rate = 0.0

    def turn(self) -> None:
        """Steps per second of all environments together, resets included."""
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            for action in self._actions:
                seen, *_ = self._envs.step(action)
                done += self._count
        assert np.isfinite(seen).all()
        self.rate = max(self.rate, done / (time.perf_counter() - began))

    def close(self) -> None:
        """End its processes."""
        self._envs.close()


def main() -> None:
    measures, found, left_out = [], dict[str, Candidate](), []
    if find_spec("gymnasium") is None:
        leave("gym_steps", [], {}, checks={}, left_out=["Gymnasium is not installed"])
        return
    import gymnasium

    for task in ns.gym.TASKS:
        for count in SIZES:
            envs = ns.gym.make_vec_env(task=task, num_envs=count)
            found[f"noslip {task}, {count}"] = Candidate(envs, count)
    if find_spec("mujoco") is None:
        left_out.append("MuJoCo's environments: the package mujoco is not installed")
    else:
        for name in OTHERS:
            for mode in ("sync", "async"):
                envs = gymnasium.make_vec(name, num_envs=SIZES[0], vectorization_mode=mode)
                found[f"MuJoCo {name}, {SIZES[0]}, {mode}"] = Candidate(envs, SIZES[0])
    for _ in range(ROUNDS):
        for candidate in found.values():
            candidate.turn()
    for candidate in found.values():
        candidate.close()
    rates = {what: candidate.rate for what, candidate in found.items()}
    for what, rate in rates.items():
        measures.append(Measure(what=what, value=rate, unit="steps/s"))
    seconds = {what: 1.0 / rate for what, rate in rates.items()}
    leave("gym_steps", measures, seconds, checks={}, left_out=left_out)


if __name__ == "__main__":
    main()

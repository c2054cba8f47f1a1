"""Learn to balance the bicycle by CMA-ES of the package cma, over all its tries at once.

    pip install "noslip[learn]"
    python benchmarks/learn_balance.py > benchmarks/results/learn-balance.txt

A try is a linear reflex from what is seen to the steer torque; each of the population rides
`RIDES` bicycles of one vector environment, and its loss is the mean reward that it misses.
"""

from __future__ import annotations

import time

import numpy as np

import noslip as ns
from noslip.base.errors import require

TRIES, RIDES, LIMIT, PERIOD = 16, 16, 500, 0.02


def ride(bicycles, reflexes, seed):
    """(n,) rewards until each falls, for (n, 5) reflexes, and for how many steps it rode."""
    seen, _ = bicycles.reset(seed=seed)
    total, upright = np.zeros(len(reflexes)), np.ones(len(reflexes), dtype=bool)
    steps = np.zeros(len(reflexes), dtype=int)
    for _ in range(LIMIT):
        torque = np.einsum("nk,nk->n", seen, reflexes)
        seen, reward, fell, _, _ = bicycles.step(torque[:, None])
        total += np.where(upright, reward, 0.0)
        steps += upright
        upright &= ~fell
        if not upright.any():
            break
    return total, steps


def main():
    require("cma", "learning to balance", "benchmarks/learn_balance.py")
    import cma

    bicycles = ns.gym.make_vec_env(task="balance", num_envs=TRIES * RIDES)
    print(f"noslip {ns.__version__}, cma {cma.__version__}, {TRIES} tries on {RIDES} bicycles each")
    search = cma.CMAEvolutionStrategy(
        np.zeros(5), 0.5, {"popsize": TRIES, "seed": 1, "verbose": -9}
    )
    begun, steps = time.perf_counter(), 0
    for k in range(30):
        tries = np.array(search.ask())
        total, rode = ride(bicycles, np.repeat(tries, RIDES, axis=0), seed=k)
        steps += int(rode.sum())
        search.tell(list(tries), list(LIMIT - total.reshape(TRIES, RIDES).mean(axis=1)))
        if k % 3 == 0:
            best = LIMIT - search.best.f
            print(f"generation {k:2d}: best mean reward {best:6.1f} of {LIMIT}")
    taken = time.perf_counter() - begun
    _, found = ride(bicycles, np.tile(search.result.xfavorite, (TRIES * RIDES, 1)), seed=1000)
    _, alone = ride(bicycles, np.zeros((TRIES * RIDES, 5)), seed=1000)
    print(
        f"reflex {np.round(search.result.xfavorite, 3)} on lean, its rate, steer, its rate, speed"
    )
    print(f"upright without hands: {PERIOD * np.median(alone):.2f} s")
    print(f"share of new starts that ride to the end: {np.mean(found == LIMIT):.3f}")
    print(f"{30 * TRIES * RIDES} episodes, {steps} steps, in {taken:.1f} s")


if __name__ == "__main__":
    main()

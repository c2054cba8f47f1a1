"""Steps per second of many environments on a GPU, beside the same in lanes of the processor.

A step of an environment is an action, a period of the motion, an observation, a reward and an
ending. Both take the same random actions; on the card these are there before, as a policy on the
card would leave them, and nothing is copied back. Before a time counts, episodes of both are
compared: starts, states, observations, rewards and ends. Gymnasium is not needed.

    python benchmarks/gym_gpu.py        needs a card of NVIDIA's and its driver; below a minute
    python benchmarks/gym_gpu.py --against OTHER/src
                                        rates on the card beside those of another checkout, in turns
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import noslip as ns
from measuring import Measure, leave
from noslip.engines.cuda_driver import DeviceArray, cuda_device
from noslip.engines.devices import AbstractDevice
from noslip.engines.system import System
from noslip.environments.gym_tasks import DeviceMechanisms, Mechanisms

SIZES = (1024, 65_536, 1_048_576)
#: Seconds of a measurement on the card and on the processor, and how often it is taken.
CARD_SECONDS, LANE_SECONDS, ROUNDS = 0.5, 0.5, 2
#: Environments and steps that are compared, and how far apart states may be: the rounding of a
#: quotient, and what a falling bicycle makes of it.
COMPARED, STEPS, SAME = 256, 60, 1e-9
#: Different actions of a measurement.
ACTIONS = 4
#: Turns of each of two checkouts; the best counts.
TURNS = 5


def largest_difference(system: System, task: ns.gym.GymTask, card: AbstractDevice) -> float:
    """Of states, observations and rewards between card and processor; inf where ends differ."""
    rng, most = np.random.default_rng(1), 0.0
    lanes = Mechanisms(system, task, COMPARED)
    threads = DeviceMechanisms(system, task, COMPARED, card)
    lanes.seed(5), threads.seed(5)
    lanes.begin(np.ones(COMPARED, dtype=bool))
    threads.begin()
    over = np.zeros(COMPARED, dtype=bool)
    for _ in range(STEPS):
        actions = rng.uniform(-0.3, 0.3, (COMPARED, len(task.actions))).astype(np.float32)
        reward, ended, cut, _ = lanes.act(actions, ~over)
        lanes.begin(over)
        over = ended | cut
        seen, rewards, *ends, _ = threads.step(actions)
        if not all(np.array_equal(a, b.numpy()) for a, b in zip((ended, cut), ends, strict=True)):
            return float("inf")
        pairs = (lanes.x, threads.x), (lanes.observe(), seen), (reward, rewards)
        most = max(most, *(float(np.abs(a - b.numpy()).max()) for a, b in pairs))
    return most


def rate_of_card(system: System, task: ns.gym.GymTask, count: int, card: AbstractDevice) -> float:
    """Steps of all environments in a second, at best."""
    rng, shape = np.random.default_rng(2), (count, len(task.actions))
    threads = DeviceMechanisms(system, task, count, card)
    memory = [card.uploaded(rng.uniform(-1, 1, shape)) for _ in range(ACTIONS)]
    actions = [DeviceArray(one, shape, (shape[1], 1)) for one in memory]
    threads.begin()
    for one in actions:
        threads.step(one)
    best = 0.0
    for _ in range(ROUNDS):
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < CARD_SECONDS:
            for one in actions:
                threads.step(one)
            done += ACTIONS * count
        best = max(best, done / (time.perf_counter() - began))
    return best


def rate_of_lanes(system: System, task: ns.gym.GymTask, count: int) -> float:
    """Likewise on the processor."""
    rng = np.random.default_rng(2)
    lanes = Mechanisms(system, task, count)
    actions = [rng.uniform(-1, 1, (count, len(task.actions))) for _ in range(ACTIONS)]
    lanes.begin(np.ones(count, dtype=bool))
    lanes.act(actions[0])
    best, over = 0.0, np.zeros(count, dtype=bool)
    for _ in range(ROUNDS if count < SIZES[-1] else 1):
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < LANE_SECONDS:
            _, ended, cut, _ = lanes.act(actions[done // count % ACTIONS], ~over)
            if over.any():
                lanes.begin(over)
            over = ended | cut
            lanes.observe()
            done += count
        best = max(best, done / (time.perf_counter() - began))
    return best


def card_rates() -> dict[str, float]:
    """Steps per second on the card, by task and number of environments."""
    card, found = cuda_device(), {}
    for word, (name, task) in ns.gym.TASKS.items():
        system = ns.compile(ns.derive(ns.load(name)))
        for count in SIZES:
            found[f"{word}, {count}"] = rate_of_card(system, task, count, card)
    return found


def compare(other: str) -> None:
    """Rates of this checkout over those of another one, each in processes of its own."""
    sources = {"this": str(Path(__file__).parent.parent / "src"), "other": other}
    best: dict[str, dict[str, float]] = {who: {} for who in sources}
    for _ in range(TURNS):
        for who, source in sources.items():
            command = [sys.executable, __file__, "--rates"]
            own = {**os.environ, "PYTHONPATH": source}
            done = subprocess.run(command, env=own, stdout=subprocess.PIPE, text=True, check=True)
            for what, rate in json.loads(done.stdout.splitlines()[-1]).items():
                best[who][what] = max(rate, best[who].get(what, 0.0))
    for what, rate in best["this"].items():
        print(f"{what:20s} {rate:.3g} steps/s, {rate / best['other'][what]:.3f} of the other")


def main() -> None:
    if "--against" in sys.argv[1:]:
        compare(sys.argv[-1])
        return
    if "--rates" in sys.argv[1:]:
        print(json.dumps(card_rates()))
        return
    card = cuda_device()
    measures, seconds, checks = list[Measure](), dict[str, float](), dict[str, float]()
    for word, (name, task) in ns.gym.TASKS.items():
        system = ns.compile(ns.derive(ns.load(name)))
        checks[word] = largest_difference(system, task, card)
        fault = "" if checks[word] <= SAME else f"answers differ by {checks[word]:.2g}"
        for count in SIZES:
            rates = {
                "card": rate_of_card(system, task, count, card),
                "lanes": rate_of_lanes(system, task, count),
            }
            for where, rate in rates.items():
                what = f"{word}, {count} environments, {where}"
                measures.append(Measure(what=what, value=rate, unit="steps/s", not_counted=fault))
                seconds[what] = 1 / rate
            print(
                word, count, *(f"{where} {rate:.3g}" for where, rate in rates.items()), flush=True
            )
    print({word: f"{off:.1e}" for word, off in checks.items()})
    leave(
        f"gym-{card.name.lower().replace(' ', '-')}",
        measures,
        seconds,
        checks=checks,
        left_out=[],
    )


if __name__ == "__main__":
    main()

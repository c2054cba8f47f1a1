"""A noisy closed loop, many times: lanes of a batch beside a Python loop of single runs.

The guided vehicle follows a circle for 10 s under sampled pose tracking, with a noisy pose and a
mass that the controller does not know. The same law runs without noise, for what the noise costs,
and without samples, for what they cost, in lanes and in one run.

    python benchmarks/noise.py [runs]
"""

from __future__ import annotations

import dataclasses
import sys
import time

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest

RUNS, SINGLE = 10_000, 10
DURATION, PERIOD = 10.0, 0.05
SENSORS = tuple(ns.Sensor(of=f"platform.{name}", sigma=0.005) for name in ("x", "y"))
FRAME = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}


def law(system: ns.System, plant: ns.Plant, period: float) -> tuple[ns.PlantLaw, dict[str, float]]:
    """The loop round a plant, and its start."""
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0), timing=ns.timing.ConstantSpeed(0.3), **FRAME
    )
    wanted = ns.reference_motion(system, motion)
    tracking = ns.controllers.Tracking(
        motion=motion,
        controller=ns.controllers.PoseTracking(**FRAME),
        reference_start=wanted.start.q,
        limits={},
    )
    names = [c.name for c in system.coordinates] + [s.name for s in system.independent_speeds]
    values = np.concatenate([wanted.start.q, wanted.start.eta])
    closed = ns.PlantLaw(
        model=system, law=tracking, known=system.parameters(), plant=plant, period=period
    )
    return closed, dict(zip(names, values.tolist(), strict=True))


def main() -> None:
    """Time a run in lanes, one by one, without noise and without samples."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    system = ns.compile(ns.derive(ns.load("agv")))
    plant = ns.Plant(sensors=SENSORS, seed=1)
    masses = np.random.default_rng(0).uniform(20.0, 40.0, runs)
    noisy, start = law(system, plant, PERIOD)
    options = {"duration": DURATION, "rtol": 1e-6, "atol": 1e-6}

    def batch(closed: ns.PlantLaw) -> tuple[float, ns.Batch]:
        begun = time.perf_counter()
        found = ns.simulate_batch(
            system,
            start={name: np.full(runs, value) for name, value in start.items()},
            parameters={"m_platform": masses},
            inputs=closed,
            columns=["platform.x", "platform.y"],
            **options,
        )
        return (time.perf_counter() - begun) / runs, found

    def single(closed: ns.PlantLaw) -> tuple[float, list[float]]:
        ends = []
        begun = time.perf_counter()
        for k in range(SINGLE):
            own = dataclasses.replace(closed, plant=dataclasses.replace(closed.plant, run=k))
            run = ns.simulate(
                system,
                start=start,
                parameters={"m_platform": masses[k]},
                inputs=own,
                samples=2,
                **options,
            )
            ends.append(float(run["platform.x"][-1]))
        return (time.perf_counter() - begun) / SINGLE, ends

    silent = dataclasses.replace(plant, sensors=())
    quiet_law, _ = law(system, silent, PERIOD)
    for closed in (noisy, quiet_law):
        batch(closed)  # compiles
    in_lanes, found = batch(noisy)
    single(noisy)
    one, ends = single(noisy)
    # the same integers in all lanes: the same noise, up to the tolerance
    apart = float(np.max(np.abs(found.final["platform.x"][:SINGLE] - ends)))
    assert apart < 1e-4
    quiet, _ = batch(quiet_law)
    # one run: continuous, sampled, sampled with noise
    loops = {
        "continuous": law(system, silent, 0.0)[0],
        "sampled": quiet_law,
        "noisy": noisy,
    }

    def once(closed: ns.PlantLaw) -> ns.Trajectory:
        return ns.simulate(system, start=start, inputs=closed, samples=2, **options)

    alone = shortest(
        {name: lambda closed=closed: once(closed) for name, closed in loops.items()},
        rounds=7,
        clock=time.process_time,
    )
    leave(
        "noise",
        [
            Measure(
                what=f"{runs} noisy loops in lanes, beside a Python loop", value=one / in_lanes
            ),
            Measure(
                what="noise in a sampled loop in lanes", value=in_lanes / quiet, unit="x longer"
            ),
            Measure(
                what=f"samples each {PERIOD:g} s in one run",
                value=alone["sampled"] / alone["continuous"],
                unit="x longer",
            ),
            Measure(
                what="noise in one sampled run",
                value=alone["noisy"] / alone["sampled"],
                unit="x longer",
            ),
        ],
        {"in lanes": in_lanes, "one by one": one, "without noise": quiet, **alone},
        checks={"ends apart, m": apart},
    )


if __name__ == "__main__":
    main()

"""Plans of named problems with their cost and time, and random parking problems.

    python benchmarks/plan.py suite [NAME …]     costs, iterations, times, what the replay misses
    python benchmarks/plan.py parking [COUNT]    a car among random boxes; every one has a way
    python benchmarks/plan.py predictive         time of a step of predictive control at 50 Hz
    python benchmarks/plan.py paths              Reeds–Shepp and Dubins words and rsplan, time

Times are those of the processor, of the second plan of the same shape: the first one also traces
and compiles. A parking problem is made by driving backward from the goal at random among boxes, so
that a way exists; its seeds are fixed. Seeds from 50 on are not looked at while something is tuned.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noslip as ns
from noslip.control import shortest_words

SEEDS, TIME_LIMIT = 100, 120.0


def box(x0: float, y0: float, x1: float, y1: float) -> ns.obstacles.Polygon:
    return ns.obstacles.Polygon(points=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))


CAR = {
    "rear.torque": 600.0,
    "front.steering_rate": 1.0,
    "front.steering_rate_rate": 4.0,
    "front.steer.angle": 0.6,
    "base.vx": 3.0,
}
TRAILER = {
    "F_u1": 1e-3,
    "F_u2": 4000.0,
    "F_u3": 1e-3,
    "steering_rate": 0.6,
    "steering_rate_rate": 2.0,
    "steer.angle": 0.7,
    "hinge.angle": 1.2,
}
BOARD = {
    "rotor.torque": 1.0,
    "front.steering_rate": 2.0,
    "back.steering_rate": 2.0,
    "front.steering_rate_rate": 10.0,
    "back.steering_rate_rate": 10.0,
    "front.steer.angle": 0.8,
    "back.steer.angle": 0.8,
}
WALL = [box(1.2, -1.0, 1.5, 3.0), box(1.2, -6.0, 1.5, -2.4)]

#: Problem → model and arguments of `plan`.
SUITE: dict[str, tuple[str, dict[str, Any]]] = {
    "differential robot between discs": (
        "differential-robot",
        {
            "goal": {"base.x": 3.0, "base.y": 0.0, "base.angle": 0.0},
            "limits": {"left.torque": 0.6, "right.torque": 0.6},
            "obstacles": [
                ns.obstacles.Disc(center=(1.2, 0.25), radius=0.35),
                ns.obstacles.Disc(center=(2.3, -0.4), radius=0.3),
            ],
            "clearance": 0.02,
        },
    ),
    "tricycle behind a moving disc": (
        "tricycle",
        {
            "goal": {"frame.x": 6.0, "frame.y": 0.0, "frame.angle": 0.0, "steer.angle": 0.0},
            "limits": {"F_v": 20.0, "tau_phi": 1.0, "steer.angle": 1.0},
            "obstacles": [
                ns.obstacles.Disc(center=(3, -1.4), radius=0.4, moves=("0", "0.6*t")),
                box(1, 1.2, 2, 2),
            ],
            "clearance": 0.02,
        },
    ),
    "forklift turns round": (
        "forklift",
        {
            "goal": {"base.x": 0.0, "base.y": 3.0, "base.angle": math.pi, "rear.steer.angle": 0.0},
            "limits": {
                "rear.torque": 400.0,
                "forks.force": 20000.0,
                "rear.steering_rate": 1.0,
                "rear.steering_rate_rate": 4.0,
                "rear.steer.angle": 1.2,
                "base.vx": 2.0,
            },
        },
    ),
    "car parks between two": (
        "ackermann-car",
        {
            "start": {"base.x": 6.0, "base.y": 3.0},
            "goal": {"base.x": 0.6, "base.y": 0.0, "base.angle": 0.0, "front.steer.angle": 0.0},
            "limits": CAR,
            "obstacles": [box(-6, -1, -1.2, 1), box(5.2, -1, 10, 1), box(-8, -1.6, 12, -1.3)],
        },
    ),
    "tractor with trailer docks": (
        "tractor-trailer",
        {
            "start": {"tractor.x": 6.0, "tractor.y": 6.0, "tractor.angle": -0.4},
            "goal": {"tractor.x": -2.0, "tractor.y": 0.0, "tractor.angle": 0.0, "hinge.angle": 0.0},
            "limits": TRAILER,
            "obstacles": [box(-14, -6, -5.2, -2), box(-14, 2, -5.2, 6)],
        },
    ),
    "truck with two trailers turns in": (
        "truck-trailers: count = 3 -> count = 2",
        {
            "start": {"truck.x": 0.0, "truck.y": 0.0},
            "goal": {"truck.x": 14.0, "truck.y": 14.0, "truck.angle": math.pi / 2},
            "limits": {
                "rear.torque": 4000.0,
                "front.steering_rate": 0.6,
                "front.steering_rate_rate": 2.0,
                "front.steer.angle": 0.6,
                "truck.vx": (-1.0, 4.0),
                "trailer1.hitch.angle": 1.2,
                "trailer2.hitch.angle": 1.2,
            },
            "obstacles": [box(-10, 2.5, 9.5, 20), box(18.5, -4, 24, 30), box(-10, -9, 24, -4)],
        },
    ),
    "bicycle changes lanes": (
        "whipple-bicycle",
        {
            "start": {"speed": 3.0},
            "goal": {
                "frame.y": 1.5,
                "frame.yaw": 0.0,
                "frame.lean": 0.0,
                "steer.angle": 0.0,
                "frame.wx": 0.0,
                "steer.rate": 0.0,
                "speed": 3.0,
            },
            "limits": {"steer_torque": 5.0, "lean_torque": 1e-3, "drive_torque": 20.0},
            "minimize": "effort",
            "duration": 4.0,
        },
    ),
    "mecanum base round a wall": (
        "mecanum-base",
        {
            "goal": {"base.x": 3.0, "base.y": 0.0, "base.angle": 0.0},
            "limits": {
                f"{w}.torque": 0.5 for w in ("front_left", "front_right", "rear_left", "rear_right")
            },
            "obstacles": WALL,
            "clearance": 0.02,
        },
    ),
    "omni base round a wall": (
        "omni-base",
        {
            "goal": {"base.x": 3.0, "base.y": 0.0, "base.angle": 1.0},
            "limits": {f"{w}.torque": 0.5 for w in ("left", "back", "right")},
            "obstacles": WALL,
            "clearance": 0.02,
        },
    ),
    "arm of two links": (
        "manipulator-2r",
        {
            "goal": {"joint1.angle": 1.0, "joint2.angle": -0.8},
            "limits": {"tau1": 50.0, "tau2": 20.0},
        },
    ),
    "crane without swing": (
        "crane",
        {
            "goal": {"carriage.x": 4.0, "load.angle": 0.0},
            "limits": {"rear.torque": 150.0},
        },
    ),
    "vehicle under friction": (
        "differential-robot",
        {
            "goal": {"base.x": 1.0, "base.y": 0.3, "base.angle": 0.5},
            "limits": {"left.torque": 0.6, "right.torque": 0.6},
            "friction": 0.15,
        },
    ),
    "mobile manipulator reaches": (
        "mobile-manipulator",
        {
            "goal": {
                "base.x": 1.0,
                "base.y": 0.4,
                "arm.joint1.angle": 0.8,
                "arm.joint2.angle": 0.4,
            },
            "limits": {
                "left.torque": 2.0,
                "right.torque": 2.0,
                "arm.joint1.torque": 3.0,
                "arm.joint2.torque": 30.0,
                "arm.joint3.torque": 15.0,
            },
        },
    ),
    "snakeboard goes a meter": (
        "snakeboard",
        {
            "goal": {"board.x": 1.0, "board.y": 0.0, "board.angle": 0.0},
            "limits": BOARD,
            "duration": (1.0, 20.0),
        },
    ),
    "snakeboard gait of a meter": (
        "snakeboard",
        {
            "start": {"board.vx": 0.0},
            "goal": {"board.x": 1.0, "board.y": 0.0, "board.angle": 0.0, "board.vx": 0.0},
            "periodic": [
                *("rotor.angle", "rotor.rate", "front.steer.angle", "back.steer.angle"),
                *("front.steering_rate", "back.steering_rate"),
            ],
            "limits": BOARD,
            "duration": (1.0, 20.0),
        },
    ),
}


def loaded(text: str) -> ns.Model:
    """A library model; of ``NAME: OLD -> NEW`` with a change of its file."""
    name, _, change = text.partition(": ")
    if not change:
        return ns.load(name)
    old, _, new = change.partition(" -> ")
    source = Path(ns.__file__).parent / "library" / f"{name.replace('-', '_')}.toml"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.toml"
        file.write_text(source.read_text().replace(old, new))
        return ns.load(file)


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """What is made, and the processor's time it took, s."""
    began = time.process_time()
    found = make()
    return found, time.process_time() - began


def suite(names: list[str]) -> None:
    for name, (model, asked) in SUITE.items():
        if names and not any(n in name for n in names):
            continue
        system = ns.compile(ns.derive(loaded(model)))
        given = {"time_limit": TIME_LIMIT} | asked
        try:
            _, first = timed(lambda given=given, system=system: ns.plan(system, **given))
            plan, again = timed(lambda given=given, system=system: ns.plan(system, **given))
        except ns.NoslipError as error:
            print(f"{name:36}  not found: {error.what:.110}", flush=True)
            continue
        line = (
            f"{name:36} {plan.duration:8.4f} s  {plan.iterations:4d} iterations  "
            f"first {first:6.2f}, then {again:5.2f} s"
        )
        try:
            refined, took = timed(plan.refine)
            worst = max(refined.excess.values(), default=0.0)
            line += (
                f"; refined in {took:.2f} s: {refined.duration:.4f} s, "
                f"misses {refined.miss():.1e} m, limits {worst:.0e}, "
                f"clearance {refined.clearance:.4f} m"
            )
        except ns.NoslipError as error:
            line += f"; not refined: {error.what:.90}"
        print(line, flush=True)


def parking_problem(seed: int) -> dict[str, Any]:
    """Boxes about a goal, and a start from which a random drive leads there."""
    rng = np.random.default_rng(seed)
    outline = np.array([(-0.75, -1.0), (3.4, -1.0), (3.4, 1.0), (-0.75, 1.0)])
    wide, deep = rng.uniform(2.9, 3.6), rng.uniform(1.5, 4.0)
    is_along = rng.random() < 0.5
    heading = 0.0 if is_along else math.pi / 2
    if is_along:
        room = rng.uniform(6.0, 7.5)
        boxes = [(-5.5, -1.1, -0.9, 1.1), (room - 0.9, -1.1, room + 4, 1.1), (-7, -2.0, 12, -1.5)]
    else:
        boxes = [(-5, -1.5, -wide / 2, deep), (wide / 2, -1.5, 5, deep), (-5, -2.5, 5, -1.8)]
    boxes += [
        (x, y, x + rng.uniform(0.5, 2.5), y + rng.uniform(0.5, 2.5))
        for x, y in zip(rng.uniform(-10, 10, 3), rng.uniform(7, 12, 3), strict=True)
    ]
    pose = np.array([0.0, 0.3 if is_along else 0.0, heading])

    def is_free(pose: np.ndarray) -> bool:
        side = np.linspace(0, 1, 9)[:, None]
        rim = np.concatenate(
            [a + side * (b - a) for a, b in zip(outline, np.roll(outline, -1, 0), strict=True)]
        )
        c, s = math.cos(pose[2]), math.sin(pose[2])
        points = rim @ np.array([[c, s], [-s, c]]) + pose[:2]
        return not any(
            np.any((points[:, 0] > x0 - 0.15) & (points[:, 0] < x1 + 0.15)
                   & (points[:, 1] > y0 - 0.15) & (points[:, 1] < y1 + 0.15))
            for x0, y0, x1, y1 in boxes
        )  # fmt: skip

    goal, at = pose.copy(), pose
    for _ in range(3000):
        kappa, size = rng.uniform(-0.24, 0.24), rng.choice([-1, 1]) * rng.uniform(0.5, 4.0)
        steps, following = [], at.copy()
        for _ in range(12):
            following = following + size / 12 * np.array(
                [math.cos(following[2]), math.sin(following[2]), kappa]
            )
            steps.append(following)
        if all(is_free(p) for p in steps):
            at = following
            if np.hypot(*(at - goal)[:2]) > 6.0 and at[1] > 2.0:
                break
    return {
        "start": {
            "base.x": at[0],
            "base.y": at[1],
            "base.angle": math.remainder(at[2], 2 * math.pi),
        },
        "goal": {
            "base.x": goal[0],
            "base.y": goal[1],
            "base.angle": goal[2],
            "front.steer.angle": 0.0,
        },
        "obstacles": [box(*b) for b in boxes],
        "limits": CAR,
    }


def parking(count: int) -> None:
    system = ns.compile(ns.derive(ns.load("ackermann-car")))
    took, failed = [], []
    for seed in range(count):
        asked = parking_problem(seed)
        try:
            plan, seconds = timed(
                lambda asked=asked: ns.plan(system, **asked, time_limit=TIME_LIMIT)
            )
            if plan.clearance < -0.02 or plan.miss() > 0.02:
                raise ns.PlanError(
                    f"clearance {plan.clearance:.3f}, miss {plan.miss():.3f}", "", ""
                )
            took.append(seconds)
            print(
                f"{seed:3d} {plan.duration:7.3f} s, {plan.iterations:4d} iterations, "
                f"{seconds:.2f} s, search {plan.timings['search']:.2f} s, "
                f"clearance {plan.clearance:.3f}",
                flush=True,
            )
        except ns.NoslipError as error:
            failed.append(seed)
            print(f"{seed:3d} {error.what:.140}", flush=True)
    print(
        f"{len(took)} of {count} found; {np.median(took):.2f} s of the processor in the median, "
        f"{np.max(took):.2f} s at most; not found: {failed}"
    )


def predictive() -> None:
    """A robot between two discs, one of which moves; wall time, as for a real loop."""
    robot = ns.compile(ns.derive(ns.load("differential-robot")))
    obstacles = (
        ns.obstacles.Disc(center=(1.2, 0.1), radius=0.25),
        ns.obstacles.Disc(center=(2.3, -1.5), radius=0.25, moves=("0", "0.3*t")),
    )
    law = ns.controllers.Predictive(
        limits={"left.torque": 0.6, "right.torque": 0.6},
        weights={"base.x": 5.0, "base.y": 5.0, "base.angle": 0.2},
        obstacles=obstacles,
        clearance=0.02,
    )
    run = ns.track(
        robot,
        ns.paths.Line(start=(0, 0), end=(3, 0)),
        timing=ns.timing.Quintic(duration=8.0),
        controller=ns.ControlLoop(controller=law, period=0.02),
    )
    took = 1e3 * np.unique(run["predictive.time"])
    middle, late = np.percentile(took, [50, 95])
    print(
        f"{len(took)} steps: median {middle:.2f} ms, p95 {late:.2f} ms, at most {took.max():.2f} ms"
    )


def paths() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    x, y, phi = rng.uniform(-6, 6, n), rng.uniform(-6, 6, n), rng.uniform(-math.pi, math.pi, n)
    for word, may_reverse in (("Dubins", False), ("Reeds–Shepp", True)):
        least = min(
            timed(lambda r=may_reverse: shortest_words(x, y, phi, may_reverse=r))[1]
            for _ in range(3)
        )
        print(f"{word:12} {1e6 * least / n:.2f} µs a pose")
    try:
        import rsplan
    except ImportError:
        print("rsplan       not installed")
        return
    some = 2000
    ours = np.sum(np.abs(shortest_words(x[:some], y[:some], phi[:some])[1]), axis=1)
    poses = list(zip(x[:some].tolist(), y[:some].tolist(), phi[:some].tolist(), strict=True))
    theirs, seconds = timed(
        lambda: [rsplan.path((0.0, 0.0, 0.0), pose, 1.0, 0.0, 1.0).total_length for pose in poses]
    )
    apart = ours - np.array(theirs)
    print(
        f"rsplan       {1e6 * seconds / some:.0f} µs a pose; ours are shorter by "
        f"{np.max(-apart):.1e} at most, longer by {np.max(apart):.1e} at most"
    )


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["suite"]
    if what == "suite":
        suite(rest)
    elif what == "predictive":
        predictive()
    elif what == "parking":
        parking(int(rest[0]) if rest else SEEDS)
    else:
        paths()

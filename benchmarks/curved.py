"""Rolling on curved ground: closed forms against the general form, and grids of different sizes.

Where a contact has a closed form, the same pair can also be written so that it has none: a sphere
as a surface of revolution, a pipe and a plane as heights. Both must move alike; the right-hand side
and a whole run of the general form should take at most twice as long. A lookup in a grid takes the
same time whatever its size.
"""

from __future__ import annotations

import time

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest

ROUNDS = 8
AGREEMENT = 1e-8  # m, between the places at the end
TWICE = 2.0
RUN = {"duration": 2.0, "samples": 3, "rtol": 1e-10, "atol": 1e-10}
BALL, DISK = ns.surfaces.Ball(radius=0.1), ns.surfaces.Disk(radius=0.1, axis=(0.0, 1.0, 0.0))
LYING = ns.contacts.Plane(
    frame=ns.Placement(angles=(0.0, np.pi / 2, 0.0))
)  # its z axis is the world's x
#: What, surface, closed ground and where it is, general ground, start.
PAIRS = (
    (
        "ball in a sphere",
        BALL,
        (ns.grounds.SphereGround(radius=1.0, inside=True), ns.contacts.Plane()),
        ns.grounds.RevolvedGround(z="-sqrt(1 - r^2)"),
        {"ball.x": 0.4, "ball.y": 0.0, "ball.wx": -3.0, "ball.wy": 0.0, "ball.wz": 1.0},
    ),
    (
        "ball in a pipe",
        BALL,
        (ns.grounds.CylinderGround(radius=1.0, inside=True), LYING),
        ns.grounds.HeightGround(z="-sqrt(1 - y^2)"),
        {"ball.x": 0.0, "ball.y": 0.4, "ball.wx": 0.0, "ball.wy": 3.0, "ball.wz": 1.0},
    ),
    (
        "disk on a plane",
        DISK,
        (ns.grounds.FlatGround(), ns.contacts.Plane()),
        ns.grounds.HeightGround(z="0*x"),
        {"ball.x": 0.0, "ball.y": 0.0, "ball.wx": 0.1, "ball.wy": 8.0, "ball.wz": 0.3},
    ),
)


def system_of(
    wheel: ns.surfaces.AbstractSurface, ground: ns.grounds.AbstractGround, plane: ns.contacts.Plane
) -> ns.System:
    b = ns.ModelBuilder(name="pair", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="ball", wheel=wheel, ground=ground, plane=plane, lift="keep"
        )
    )
    return ns.compile(ns.derive(b.build()))


def work(system: ns.System, start: dict[str, float]) -> tuple[object, object, np.ndarray]:
    """A hundred right-hand sides, a run from a completed start, and where it ends."""
    given = {"ball.qw": 1.0, "ball.qx": 0.0, "ball.qy": 0.0, "ball.qz": 0.0, **start}
    begin = ns.complete_start(system, given, guess={"ball.z": -0.8})
    run = ns.simulate(system, start=begin, **RUN)
    x = np.concatenate([begin.q, begin.eta])
    rows = np.tile(x, (100, 1))
    t, u, p = np.zeros(100), np.zeros((100, 0)), system.parameters()
    end = np.array([run[f"ball.{k}"][-1] for k in "xyz"])
    return (
        lambda: system.rates.map(t, rows, u, p),
        lambda: ns.simulate(system, start=begin, **RUN),
        end,
    )


def pairs(measures: list[Measure], timings: dict[str, float], checks: dict[str, float]) -> None:
    for what, wheel, (closed, plane), general, start in PAIRS:
        sides, runs, ends = {}, {}, {}
        forms = {
            "closed": system_of(wheel, closed, plane),
            "general": system_of(wheel, general, ns.contacts.Plane()),
        }
        for form, system in forms.items():
            sides[form], runs[form], ends[form] = work(system, start)
        off = float(np.abs(ends["closed"] - ends["general"]).max())
        checks[what] = off
        wrong = "" if off <= AGREEMENT else f"their ends are {off:.1e} m apart"
        for part, candidates in (("right-hand side", sides), ("run of 2 s", runs)):
            least = shortest(candidates, rounds=ROUNDS, clock=time.process_time)
            timings |= {f"{what}, {part}, {form}": value for form, value in least.items()}
            measures.append(
                Measure(
                    what=f"{what}, {part}: general over closed form",
                    value=least["general"] / least["closed"],
                    unit="x longer",
                    below=TWICE,
                    not_counted=wrong,
                )
            )


def grids(measures: list[Measure], timings: dict[str, float]) -> None:
    sides = {}
    for count in (12, 300):
        line = np.linspace(-3.0, 3.0, count)
        heights = 0.1 * np.sin(line[None, :]) * np.cos(0.7 * line[:, None])
        began = time.process_time()
        system = system_of(
            BALL, ns.grounds.GridGround.from_points(line, line, heights), ns.contacts.Plane()
        )
        timings[f"grid of {count} by {count}, model to function"] = time.process_time() - began
        sides[count] = work(system, {"ball.x": 0.4, "ball.y": 0.1, "ball.wx": -1.0})[0]
    named = {f"grid of {count}": side for count, side in sides.items()}
    least = shortest(named, rounds=ROUNDS, clock=time.process_time)
    timings |= least
    measures.append(
        Measure(
            what="ball on a grid, right-hand side: 300 by 300 points over 12 by 12",
            value=least["grid of 300"] / least["grid of 12"],
            unit="x longer",
            below=1.2,
        )
    )


def main() -> None:
    measures: list[Measure] = []
    timings: dict[str, float] = {}
    checks: dict[str, float] = {}
    pairs(measures, timings, checks)
    grids(measures, timings)
    leave("curved", measures, timings, checks=checks)


if __name__ == "__main__":
    main()

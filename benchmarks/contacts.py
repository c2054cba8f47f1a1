"""Contacts by Coulomb's law, exact by events, against friction that is smoothed by tanh.

    python benchmarks/contacts.py [--peers]

A robot on split friction spins one wheel: 3 N·m for 0.7 s, friction 0.3 and 0.7. Both models run in
the same native loop; the smoothed one has `sliding_friction` with ever smaller `smoothing`. Errors
are those of the base's place after 2 s against the exact run at a tolerance of 1e-12, and fall with
the smoothing at slope one: it is another way to the same motion. With ``--peers`` MuJoCo runs the
same robot in an environment of its own (`peers/environments.py`).
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noslip as ns

RADIUS, TRACK = 0.1, 0.4
PULSE = "3*(tanh((t-0.2)/0.05)-tanh((t-0.9)/0.05))/2 + 0.2"
INPUTS = {"left.torque": PULSE, "right.torque": PULSE}
FRICTION = {"left": 0.3, "right": 0.7}


def robot() -> ns.Model:
    """A planar base on two driven wheels and a skid without friction."""
    b = ns.ModelBuilder(name="robot", gravity=(0, 0, -9.81))
    b.body("base", mass=15.0, inertia=(0.25, 0.45, 0.6), center_of_mass=(0.15, 0, 0.05))
    height = ns.Placement(position=(0, 0, RADIUS))
    b.joint("base", ns.joints.Planar(), parent="world", child="base", parent_frame=height)
    for name, y in (("left", TRACK / 2), ("right", -TRACK / 2)):
        b.body(name, mass=1.2, inertia=(0.003, 0.006, 0.003))
        axle, place = ns.joints.Revolute(axis=(0, 1, 0)), ns.Placement(position=(0, y, 0))
        b.joint(name, axle, parent="base", child=name, parent_frame=place)
        disk = ns.surfaces.Disk(radius=RADIUS, axis=(0, 1, 0))
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=disk, friction=FRICTION[name]))
        b.input(f"{name}.torque", "N*m")
        b.force(ns.forces.Motor(name=f"{name}.motor", speed=f"{name}.rate", input=f"{name}.torque"))
    free = {"longitudinal": False, "lateral": False, "center": (0.25, 0, -0.05)}
    b.contact(
        ns.contacts.Rolling(name="skid", body="base", wheel=ns.surfaces.Ball(radius=0.05), **free)
    )
    return b.build()


def smoothed(model: ns.Model) -> ns.Model:
    """The model whose wheels always slide, by smoothed friction."""
    contacts = tuple(
        dataclasses.replace(c, longitudinal=False, lateral=False, friction=None)
        for c in model.contacts
    )
    forces = tuple(
        ns.forces.SlidingFriction(
            name=f"{name}.friction", contact=name, friction=mu, smoothing="smooth"
        )
        for name, mu in FRICTION.items()
    )
    smooth = ns.Parameter(name="smooth", value=1e-2, unit="m/s")
    return dataclasses.replace(
        model,
        contacts=contacts,
        forces=model.forces + forces,
        parameters=(*model.parameters, smooth),
    )


def timed(run: Callable[[], ns.Trajectory]) -> tuple[ns.Trajectory, float]:
    """A run, and the least wall time of three, s; what it compiles is compiled before."""
    found = run()
    walls = []
    for _ in range(3):
        begin = time.perf_counter()
        run()
        walls.append(time.perf_counter() - begin)
    return found, min(walls)


def by_peer(peer: str) -> list[dict[str, Any]]:
    """Runs of the same robot by another tool: label, place, steps and wall time of each."""
    folder = Path(__file__).parent / "peers"
    sys.path.insert(0, str(folder))
    from environments import python_of

    given = {"radius": RADIUS, "track": TRACK, "friction": FRICTION, "duration": 2.0}
    command = [str(python_of(peer)), str(folder / f"slip_by_{peer}.py")]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def place(run: ns.Trajectory) -> np.ndarray:
    """Place of the base at the end."""
    return np.array([run["base.x"][-1], run["base.y"][-1]])


def main() -> None:
    """Print errors and wall times."""
    model = robot()
    exact, soft = (ns.compile(ns.derive(m)) for m in (model, smoothed(model)))
    given = {"duration": 2.0, "inputs": INPUTS, "samples": 2}
    best = ns.simulate(exact, **given, contact="coulomb", rtol=1e-12, atol=1e-12)
    print(f"{'':<32}{'error, m':>12}{'evaluations':>14}{'wall, ms':>12}")
    for tol in (1e-6, 1e-9, 1e-11):
        settings = {"rtol": tol, "atol": tol}
        run, wall = timed(lambda s=settings: ns.simulate(exact, **given, contact="coulomb", **s))
        error = np.max(np.abs(place(run) - place(best)))
        print(f"{f'events, rtol {tol:g}':<32}{error:>12.1e}{run.nfev:>14}{1e3 * wall:>12.1f}")
    for smooth in (1e-2, 1e-3, 1e-4):
        settings = {"rtol": 1e-8, "atol": 1e-8, "parameters": {"smooth": smooth}}
        run, wall = timed(lambda s=settings: ns.simulate(soft, **given, **s))
        error = np.max(np.abs(place(run) - place(best)))
        print(f"{f'tanh, {smooth:g} m/s':<32}{error:>12.1e}{run.nfev:>14}{1e3 * wall:>12.1f}")
    for run in by_peer("mujoco") if "--peers" in sys.argv[1:] else ():
        error = np.max(np.abs(np.array(run["place"]) - place(best)))
        label = f"MuJoCo, {run['label']}"
        print(f"{label:<32}{error:>12.1e}{run['steps']:>14}{1e3 * run['wall']:>12.1f}")


if __name__ == "__main__":
    main()

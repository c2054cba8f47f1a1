"""MuJoCo: the robot of `contacts.py` on split friction, by soft contacts in fixed steps.

Numbers of the robot come from standard input; the place of its base after the run, steps and wall
times go to standard output. Steps and torques run in MuJoCo's own loop (`rollout`). Its contacts
are softer than rigid ones by `solref`, and creep less with a larger `impratio`: the settings here
are the best of those that were tried.
"""

from __future__ import annotations

import json
import sys
import time

import mujoco
import numpy as np
from mujoco import rollout

WHEEL = """<body name="{name}" pos="0 {y} 0"><joint name="{name}" type="hinge" axis="0 1 0"/>
<inertial pos="0 0 0" mass="1.2" diaginertia="0.003 0.006 0.003"/>
<geom type="sphere" size="{radius}" friction="{friction} 0 0" condim="3" priority="1"
solref="{solref}"/></body>"""
ROBOT = """<mujoco><option timestep="{step}" cone="elliptic" impratio="{impratio}"
noslip_iterations="{noslip}" integrator="implicitfast" tolerance="1e-12" iterations="200"/>
<worldbody><geom type="plane" size="50 50 1" condim="3"/>
<body name="base" pos="0 0 {radius}"><freejoint/>
<inertial pos="0.15 0 0.05" mass="15" diaginertia="0.25 0.45 0.6"/>
<geom type="sphere" size="0.05" pos="0.25 0 -0.05" condim="1" priority="1" solref="{solref}"/>
{wheels}</body></worldbody>
<actuator><motor joint="left"/><motor joint="right"/></actuator></mujoco>"""


def run(given: dict, step: float, impratio: float, solref: str, noslip: int) -> dict:
    """One run: where the base is, and how long it took."""
    places = {"left": given["track"] / 2, "right": -given["track"] / 2}
    own = {"radius": given["radius"], "solref": solref}
    wheels = "".join(
        WHEEL.format(name=name, y=y, friction=given["friction"][name], **own)
        for name, y in places.items()
    )
    settings = {"step": step, "impratio": impratio, "noslip": noslip}
    model = mujoco.MjModel.from_xml_string(ROBOT.format(wheels=wheels, **own, **settings))
    data = mujoco.MjData(model)
    count = round(given["duration"] / step)
    t = step * np.arange(count)
    pulse = 1.5 * (np.tanh((t - 0.2) / 0.05) - np.tanh((t - 0.9) / 0.05)) + 0.2
    state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    walls = []
    for _ in range(3):
        begin = time.perf_counter()
        states, _ = rollout.rollout(model, data, state, np.repeat(pulse[:, None], 2, axis=1))
        walls.append(time.perf_counter() - begin)
    x, y = states.reshape(count, -1)[-1, 1:3]
    label = f"{1e3 * step:g} ms, {impratio:g}, {solref.split()[0]} s, {noslip}"
    return {"label": label, "place": [float(x), float(y)], "steps": count, "wall": min(walls)}


def main() -> None:
    """Runs by default, and by the best settings of two steps."""
    given = json.load(sys.stdin)
    cases = ((1e-3, 1, "0.02 1", 0), (1e-3, 3, "0.02 1", 10), (1e-4, 3, "0.005 1", 0))
    found = [run(given, *case) for case in cases]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

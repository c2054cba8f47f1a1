"""A vehicle that is not what its controller believes: heavier, pushed, seen late and with noise.

The controller is made for the model. What it drives is a plant of its own, which it knows only by
what its sensors say and moves only as far as its motors can.

Parameters    m_platform (kg) is 40 where the controller believes 20; gravity of a slope of 0.5°
Coordinates   platform.x, platform.y (m), seen with 5 mm of noise and 0.04 s late
Inputs        torque1, torque2 (N m), of motors that give 0.2 N m at most and lag by 0.05 s
Look for      a loop that still ends within centimeters, and what of it each cause takes
Reference     [KanayamaKimuraMiyazakiNoguchi1990] for the controller
"""

# %% The model that the controller knows, and the loop as a computer runs it
import math
from dataclasses import replace

import numpy as np

import noslip as ns

agv = ns.compile(ns.derive(ns.load("agv")))
task = {
    "timing": "constant-speed:0.3",
    "controller": ns.ControlLoop(controller="pose", period=0.02),
    "duration": 30.0,
}


def off(run):
    """Largest distance from the path over the last third, m."""
    return float(np.max(run.path_errors.distance[-200:]))


# %% Where the plant differs, one cause after the other
slope = 9.81 * math.sin(math.radians(0.5))
push = ns.forces.Wrench(name="push", body="platform", force=("0.5*max(0, sin(t))", 0.0, 0.0))
motors = tuple(ns.Actuator(of=f"torque{k}", largest=0.2, lag=0.05) for k in (1, 2))
pose = tuple(ns.Sensor(of=f"platform.{x}", sigma=0.005, delay=2) for x in ("x", "y"))
beside = {"start": {"platform.x": 2.2}}
plants = {
    "as the model": ns.Plant(**beside),
    "40 kg": ns.Plant(parameters={"m_platform": 40.0}, **beside),
    "weak, slow motors": ns.Plant(actuators=motors, **beside),
    "a slope of 0.5°": ns.Plant(gravity=(slope, 0.0, -9.81), **beside),
    "pushed": ns.Plant(forces=(push,), **beside),
    "a noisy, late pose": ns.Plant(sensors=pose, seed=1, **beside),
    "all of it": ns.Plant(
        parameters={"m_platform": 40.0},
        actuators=motors,
        gravity=(slope, 0.0, -9.81),
        forces=(push,),
        sensors=pose,
        seed=1,
        **beside,
    ),
}
runs = {name: ns.track(agv, "circle:2", plant=plant, **task) for name, plant in plants.items()}
for name, run in runs.items():
    print(f"{name}: {1e3 * off(run):.1f} mm off the path at the end")

# %% What the controller saw, wanted and got
run = runs["all of it"]
noise = run["seen.platform.x"] - run["platform.x"]
print(f"\nnoise and delay of what it sees: {1e3 * np.std(noise):.1f} mm")
print(f"torque wanted {np.max(np.abs(run['wanted.torque1'])):.2f} N m at most, ", end="")
print(f"got {np.max(np.abs(run['got.torque1'])):.2f} N m")
ns.plot(run, "signals", title="a plant that the controller does not know").savefig("signals.png")

# %% Luck: the same loop with other numbers of the same noise
ends = [
    off(ns.track(agv, "circle:2", plant=replace(plants["all of it"], run=k), **task))
    for k in range(8)
]
print(f"\neight runs end {1e3 * min(ends):.0f} to {1e3 * max(ends):.0f} mm off")

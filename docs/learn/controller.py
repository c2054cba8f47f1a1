# %% [markdown]
# # A controller against noise
#
# A robot follows a circle although it is heavier than its controller assumes and measures its position with noise. You need
# `pip install ".[show]"`.

# %%
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("differential-robot")))
path = ns.paths.Circle(radius=1.5)
led = {"timing": ns.timing.ConstantSpeed(0.4), "duration": 20.0}

# %% [markdown]
# ## Without feedback
#
# Feedforward torques from inverse dynamics are exact for the modeled robot only:

# %%
heavy = ns.Plant(parameters={"mass": 17.0})
for name, plant in (("as modeled", ns.Plant()), ("2 kg heavier", heavy)):
    run = ns.track(system, path, plant=plant, **led)
    print(f"{name}: {1000 * run.path_errors.distance[-1]:.3f} mm from the path at the end")

# %% [markdown]
# ## With feedback
#
# `PoseTracking` corrects the pose. The *plant* is the simulated real robot: a different mass, sensors with noise and delay,
# motors that saturate. The controller knows none of this.

# %%
sensors = tuple(ns.Sensor(of=f"base.{x}", sigma=0.005, delay=1) for x in "xy")
motors = tuple(ns.Actuator(of=f"{side}.torque", largest=1.0) for side in ("left", "right"))
plant = ns.Plant(parameters={"mass": 17.0}, sensors=sensors, actuators=motors, seed=1)
pose = {"controller": ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.02)}
run = ns.track(system, path, plant=plant, **pose, **led)
last = run.t > 10.0
print(f"{1000 * np.sqrt(np.mean(run.path_errors.distance[last] ** 2)):.1f} mm RMS over the last 10 s")
ns.plot(run, "errors")

# %% [markdown]
# ## How repeatable is that?
#
# The noise generator is counter-based, so a seed reproduces a run to the last bit. Several seeds show the spread:

# %%
ends = []
for seed in range(8):
    plant = ns.Plant(parameters={"mass": 17.0}, sensors=sensors, actuators=motors, seed=seed)
    again = ns.track(system, path, plant=plant, **pose, **led)
    ends.append(1000 * np.sqrt(np.mean(again.path_errors.distance[last] ** 2)))
print(f"{np.mean(ends):.1f} ± {np.std(ends):.1f} mm RMS")

# %% [markdown]
# ## On the command line
#
# The run of seed 1, with a report:
#
# ```sh
# noslip track differential-robot --path circle:1.5 --timing constant-speed:0.4 --duration 20 \
#   --controller pose --period 0.02 --plant mass=17 --seed 1 \
#   --sensor base.x:sigma=0.005,delay=1 --sensor base.y:sigma=0.005,delay=1 \
#   --actuator left.torque:largest=1 --actuator right.torque:largest=1
# ```
#
# [Control](../control.md) explains paths, timing laws, and which controller to choose.

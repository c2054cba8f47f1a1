# %% [markdown]
# # Park a truck
#
# A truck with a trailer backs into a bay between two others, in the least time that its engine, its steering and the ground
# allow. You need `pip install ".[show]"`.
#
# ## The truck
#
# It is put together from parts; [model files](../model-files.md) list their keys.

# %%
from pathlib import Path

import noslip as ns

Path("truck.toml").write_text("""
format = 1
name = "truck"
gravity = [0, 0, -9.81]
independent_speeds = [{name = "truck.vx"}]

[parts.truck]
type = "base"
mass = 5000
size = [4.6, 1.6, 1.1]
position = [1.4, 0, 1.1]

[parts.rear]
type = "differential_axle"
parent = "truck"
position = [0, 0, 0.45]
wheel_separation = 2
wheel_radius = 0.45
wheel_mass = 60

[parts.front]
type = "ackermann_axle"
parent = "truck"
position = [3.2, 0, 0.45]
wheelbase = 3.2
wheel_separation = 2
wheel_radius = 0.45
wheel_mass = 60
steering = "rate"

[parts.trailer]
type = "trailers"
parent = "truck"
count = 1
hitch = [-0.8, 0, 0]
length = 3
mass = 2500
size = [2.9, 1.7, 1.1]
position = [0.2, 0, 1.1]
wheel_separation = 1.9
wheel_radius = 0.4
wheel_mass = 40
""")
truck = ns.compile(ns.derive(ns.load("truck.toml")))
print([quantity.name for quantity in truck.inputs])

# %% [markdown]
# ## Where to, and between what
#
# The goal names what matters at the end: where the truck stands, and that the trailer is straight behind it. Speeds that the
# goal does not name are zero. Limits may be given to inputs, to any coordinate or speed, and to expressions of them.

# %%
limits = {
    "rear.torque": 4000.0,
    "front.steering_rate": 0.6,
    "front.steering_rate_rate": 2.0,
    "front.steer.angle": 0.6,
    "truck.vx": "-2..4",
    "trailer1.hitch.angle": "±70deg",
}
goal = {"truck.x": 0, "truck.y": 0, "truck.angle": 0, "trailer1.hitch.angle": 0}
bays = ["polygon:points=-9,1.5,1,1.5,1,4,-9,4", "polygon:points=-9,-4,1,-4,1,-1.5,-9,-1.5"]
found = ns.plan(
    truck,
    start={"truck.x": 8.0, "truck.y": 6.0, "truck.angle": 0.6},
    goal=goal,
    limits=limits,
    obstacles=bays,
    clearance=0.1,
)
print(f"{found.duration:.2f} s, limits exceeded by {max(found.excess.values()):.1%} of their size")

# %% [markdown]
# A search over the truck's own kinematics found the way round, and a solver the fastest motion along it. What is measured are
# not the solver's numbers: the inputs of the plan were simulated exactly, and `found.run` is that run. What it misses and exceeds
# is mended on a finer mesh:

# %%
found = found.refine()
print(f"{found.duration:.2f} s, within 1 mm and 0.1° of the goal: {found.miss() < 1e-3}")
print(f"limits exceeded by {max(found.excess.values()):.1%}")
ns.plot(found.run, "path")

# %% [markdown]
# ## How near to the others, and what the ground must give

# %%
print(f"{found.surroundings.clearance(found.run).low:.2f} m at least, between samples, too")
print("without slip on asphalt:", ns.audit(truck, found.run, 0.5).verdict)
ns.plot(found.run, "clearance")

# %% [markdown]
# ## On ice
#
# With a coefficient of friction no wheel slips, and none lifts. On ice the same way takes longer:

# %%
slow = ns.plan(
    truck,
    start={"truck.x": 8.0, "truck.y": 6.0, "truck.angle": 0.6},
    goal=goal,
    limits=limits,
    obstacles=bays,
    clearance=0.1,
    friction=0.08,
    time_limit=300.0,
)
print(f"{found.duration:.1f} s on asphalt, {slow.duration:.1f} s on ice")
print("without slip on ice:", ns.audit(truck, slow.run, 0.08).verdict)

# %% [markdown]
# ## The task in the file
#
# The task can stand beside the model, in the same words; then `noslip plan truck.toml -o parked` writes a folder with the
# replay, a report and pictures, and `ns.animate(found.run, "parked.html")` shows the motion between its obstacles.

# %%
with Path("truck.toml").open("a") as file:
    file.write("""
[plan]
start = {truck.x = 8, truck.y = 6, truck.angle = 0.6}
goal = {truck.x = 0, truck.y = 0, truck.angle = 0, trailer1.hitch.angle = 0}
obstacles = ["polygon:points=-9,1.5,1,1.5,1,4,-9,4", "polygon:points=-9,-4,1,-4,1,-1.5,-9,-1.5"]
clearance = 0.1

[plan.limits]
rear.torque = 4000
front.steering_rate = 0.6
front.steering_rate_rate = 2
front.steer.angle = 0.6
truck.vx = "-2..4"
trailer1.hitch.angle = "±70deg"
""")
same = ns.plan(ns.compile(ns.derive(ns.load("truck.toml"))))
print(f"{same.duration:.1f} s")

# %% [markdown]
# [Planning](../planning.md) lists what may be asked, how obstacles are given, and what a plan of something that falls over
# brings with it.

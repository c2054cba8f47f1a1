# %% [markdown]
# # Your own robot from its URDF
#
# A URDF knows links, joints, masses and shapes, but not that a wheel rolls. Say which links are wheels, and get exact
# rolling. [cart.urdf](../../examples/cart.urdf) is a cart with two driven wheels and a caster. You need
# `pip install ".[show]"`.

# %%
from pathlib import Path

import noslip as ns

under = ns.Undercarriage(wheels={"left": None, "right": None}, casters={"fork": None})
model, notes = ns.import_robot("cart.urdf", under)
print(*notes, sep="\n")
print(ns.check(model).text())

# %% [markdown]
# Radius and axis of the wheels were found from their geometry and joints; the notes say what was left out. On the command
# line the same is `noslip import cart.urdf --wheel left --wheel right --caster fork`, which writes `cart.toml`.
#
# ## Keep it as a file

# %%
ns.save_model(model, "cart.toml")
model = ns.load("cart.toml")
print(len(Path("cart.toml").read_text().splitlines()), "lines of TOML, to read and to edit")

# %% [markdown]
# ## Drive it

# %%
system = ns.compile(ns.derive(model))
print([quantity.name for quantity in system.inputs])
run = ns.track(system, ns.Polyline(points=((0, 0), (2, 0), (2, 2)), radius=0.5))
print(run.summary())
ns.plot(run, "path")

# %% [markdown]
# ## And its payload?
#
# Masses are numbers of the file. To vary one, name it as a parameter there, `payload = {value = 5.0, unit = "kg"}`, and
# use the name where the mass stands; then `--set payload=8`, a slider in the studio, or a [sweep](../sweeps.md).
# [Your own robot](../robots.md) lists what is carried over from URDF and MJCF, and how runs go to ROS 2.

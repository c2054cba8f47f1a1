# %% [markdown]
# # Your own robot from its URDF
#
# A URDF describes links, joints, masses and shapes, but not that a wheel rolls. Name the links that are wheels, and they
# roll without slipping. [cart.urdf](cart.urdf) is a cart with two driven wheels and a caster: save it in your folder. You
# need `pip install ".[show]"`.

# %%
from pathlib import Path

import noslip as ns

under = ns.Undercarriage(wheels={"left": None, "right": None}, casters={"fork": None})
model, notes = ns.import_robot("cart.urdf", under)
print(*notes, sep="\n")
print(ns.check(model).text())

# %% [markdown]
# The radius and axis of the wheels come from their geometry and joints; the notes say what was left out. The equivalent
# command is `noslip import cart.urdf --wheel left --wheel right --caster fork`, which writes `cart.toml`.
#
# ## Save it as a model file

# %%
ns.save_model(model, "cart.toml")
model = ns.load("cart.toml")
print(len(Path("cart.toml").read_text().splitlines()), "lines of TOML, to read and to edit")

# %% [markdown]
# ## Drive it

# %%
system = ns.compile(ns.derive(model))
print([quantity.name for quantity in system.inputs])
run = ns.track(system, ns.paths.Polyline(points=((0, 0), (2, 0), (2, 2)), radius=0.5))
print(run.summary())
ns.plot(run, "path")

# %% [markdown]
# ## Vary the payload
#
# Masses are numbers in the file. To vary one, declare a parameter there, `payload = {value = 5.0, unit = "kg"}`, and use its
# name in place of the number; then set it with `--set payload=8`, a slider in the studio, or a [sweep](../sweeps.md).
# [Your own robot](../robots.md) lists what is imported from URDF and MJCF, and how to export runs to ROS 2.

# %% [markdown]
# # A robot in ten minutes
#
# A robot with two driven wheels and a caster: describe it, look at its equations, drive it, and see what its motors and
# the ground must do. You need `pip install ".[show]"`.
#
# ## Describe it
#
# A robot is made of parts: a base, wheels, casters. Axes are those of ROS: x forward, y to the left, z up, with the
# origin on the ground between the driven wheels. All numbers are in SI units.

# %%
import noslip as ns

b = ns.ModelBuilder(name="robot", gravity=(0.0, 0.0, -9.81))
b.part(ns.Base(name="base", mass=15.0, size=(0.5, 0.32, 0.14), position=(0.12, 0.0, 0.18)))
for name, y in (("left", 0.2), ("right", -0.2)):
    b.part(ns.DrivenWheel(name=name, parent="base", position=(0.0, y, 0.1), radius=0.1, mass=1.2))
b.part(
    ns.Caster(name="caster", parent="base", position=(0.3, 0.0, 0.06), radius=0.06, trail=0.03, mass=0.3, fork_mass=0.2)
)
model = b.build()
print(ns.check(model).text())

# %% [markdown]
# `check` counts what matters. Each wheel that rolls without slipping adds constraints on the speeds, called *rows*; they
# leave two *degrees of freedom*: from two speeds all others follow. The same robot as a file is written by `noslip new robot.toml`, and loaded by `ns.load("robot.toml")`.
#
# ## Drive it
#
# Three steps, always the same: *derive* the equations of motion, *compile* them to native code, *simulate*. Inputs are
# numbers or expressions of the time t. What you do not say about the start follows from the constraints.

# %%
system = ns.compile(ns.derive(model))
run = ns.simulate(
    system,
    duration=8.0,
    inputs={"left.torque": "0.12 + 0.06*sin(t)", "right.torque": "0.12 - 0.06*sin(t)"},
    reactions=True,
)
print(run.summary())

# %% [markdown]
# The line is the honest part of every run: how much energy the integration lost, and by how much the wheels slipped
# (rounding, no more). A run is a table of columns with names and units:

# %%
print(f"it ends at x = {run['base.x'][-1]:.3f} m, y = {run['base.y'][-1]:.3f} m")
print(f"largest sideways force of the left wheel: {abs(run['reaction.left.lateral']).max():.2f} N")
ns.plot(run, "path")

# %% [markdown]
# ## What must the motors do?
#
# The inverse question: drive along a path, and find the torques. `track` plans an unhurried motion, computes the torques
# by inverse dynamics, and simulates under these torques alone.

# %%
circle = ns.track(system, ns.Circle(radius=1.0))
print(circle.summary())
ns.plot(circle, ["left.torque", "right.torque"])

# %% [markdown]
# ## Would it slip?
#
# The *audit* compares the forces of the ground with friction.

# %%
print(ns.audit(system, circle, 0.6).text())

# %% [markdown]
# Next: `ns.animate(circle, "robot.html")` writes a page that plays the motion, `noslip studio robot.toml` lets you drive it
# with the keyboard. [Parts](../parts.md) lists all wheels, axles, hitches and arms, [control](../control.md) paths and
# controllers.

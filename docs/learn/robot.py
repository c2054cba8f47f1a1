# %% [markdown]
# # A robot in ten minutes
#
# Describe a robot with two driven wheels and a caster, drive it, and find the motor torques and contact forces. You need
# `pip install ".[show]"`.
#
# ## Describe it
#
# A robot is made of parts: a base, wheels, casters. Axes are those of ROS: x forward, y to the left, z up, with the
# origin on the ground between the driven wheels. All numbers are in SI units.

# %%
import noslip as ns

b = ns.ModelBuilder(name="robot", gravity=(0.0, 0.0, -9.81))
b.part(ns.parts.Base(name="base", mass=15.0, size=(0.5, 0.32, 0.14), position=(0.12, 0.0, 0.18)))
for name, y in (("left", 0.2), ("right", -0.2)):
    b.part(
        ns.parts.DrivenWheel(name=name, parent="base", position=(0.0, y, 0.1), radius=0.1, mass=1.2)
    )
b.part(
    ns.parts.Caster(
        name="caster",
        parent="base",
        position=(0.3, 0.0, 0.06),
        radius=0.06,
        trail=0.03,
        mass=0.3,
        fork_mass=0.2,
    )
)
for speed in ("base.vx", "base.rate"):
    b.independent_speed(speed)
model = b.build()
print(ns.check(model).text())

# %% [markdown]
# `check` lists coordinates, speeds and constraints. *Tree speeds* are the speeds of all joints before any constraint. Each
# wheel that rolls without slipping adds scalar constraints on them, called *rows* (of the constraint matrix). They leave
# two *degrees of freedom*: two *independent speeds*, in which the equations of motion are written, determine all others. Here
# they are the forward speed and the turning rate of the base; without these two lines noslip chooses them. `noslip new
# robot.toml` writes the same robot as a model file, and `ns.load("robot.toml")` reads it.
#
# ## Drive it
#
# There are always three steps: *derive* the equations of motion, *compile* them to native code, *simulate*. Inputs are
# numbers or expressions of the time t. Start values that you leave out follow from the constraints.

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
# The summary tells how accurate the run is: the energy that integration lost, and how much the wheels slipped (rounding
# error only). A run is a table of columns with names and units:

# %%
print(f"it ends at x = {run['base.x'][-1]:.3f} m, y = {run['base.y'][-1]:.3f} m")
print(f"largest sideways force of the left wheel: {abs(run['reaction.left.lateral']).max():.2f} N")
ns.plot(run, "path")

# %% [markdown]
# ## What must the motors do?
#
# The inverse problem: given a path, find the torques. `track` plans a gentle motion, computes the torques by inverse
# dynamics, and simulates with these torques alone. By default the robot drives slowly;
# `timing=ns.timing.ConstantSpeed(0.4)` sets its speed in m/s.

# %%
circle = ns.track(system, ns.paths.Circle(radius=1.0))
print(circle.summary())
ns.plot(circle, ["left.torque", "right.torque"])

# %% [markdown]
# ## Would it slip?
#
# The *audit* compares the contact forces with what friction can supply. How the wheels share the lateral forces is
# statically indeterminate; the audit reports the friction demand for several such *splits*.

# %%
print(ns.audit(system, circle, 0.6).text())

# %% [markdown]
# Next: `ns.animate(circle, "robot.html")` writes a page that plays the motion, and `noslip studio robot.toml` lets you drive
# the robot with the keyboard. [Parts](../parts.md) lists all wheels, axles, hitches and arms, [control](../control.md) all paths
# and controllers.

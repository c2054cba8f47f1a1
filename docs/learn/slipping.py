# %% [markdown]
# # When wheels slip
#
# A rolling contact holds whatever it needs to. A real wheel holds until friction ends. Here a robot pulls off with one wheel on
# ice: first we ask whether it can, then we let it slip, exactly, and see what its controller makes of that. You need
# `pip install .`, and `".[show]"` for the pictures.

# %%
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("split-friction-robot")))

# %% [markdown]
# ## Does it hold?
#
# `contact="ideal"` runs the robot on wheels that hold whatever it takes. The audit compares that with friction, here 0.08 on the
# left and 0.7 on the right:

# %%
ideal = ns.run_scenario(system, contact="ideal")
for wheel in ns.audit(system, ideal).wheels:
    if wheel.name != "skid":
        print(f"{wheel.name}: needs {wheel.demand.max():.3f} at most")

# %% [markdown]
# The left wheel needs more than its ice gives. From there on the ideal motion is not what happens.
#
# ## Let it slip
#
# The scenario of this model says `contact = "coulomb"`: a contact *rolls* as long as friction holds it, *slides* with friction
# against its slip, or is *off* the ground. The run goes from one to the next by events:

# %%
run = ns.run_scenario(system)
for event in run.contact_events:
    print(f"{event.time:.6f} s: {event.contact} {event.what}")
print(f"energy lost to friction: {run['friction_loss'][-1]:.3f} J")
print(
    f"heading at the end: {run['base.angle'][-1]:.4f} rad, {ideal['base.angle'][-1]:.4f} rad without slip"
)

# %%
ns.plot(run, "contacts")

# %% [markdown]
# In the strips on top a line rolls, a band slides, and a gap would be off the ground. `left.grip` is the force along the ground over
# what friction can hold: 1 while the wheel slides. Nothing is smoothed, so that these numbers are as exact as the tolerance. A
# thousandth of it changes the end by next to nothing:

# %%
finer = ns.run_scenario(system, rtol=1e-12, atol=1e-12)
print(f"{abs(finer['base.x'][-1] - run['base.x'][-1]):.0e} m")

# %% [markdown]
# ## A controller that believes in rolling
#
# `track` plans for wheels that hold. With `contact="coulomb"` the controller meets a plant that may slip:

# %%
path = ns.paths.Circle(radius=2.0)
for seconds in (24, 16, 12):
    driven = ns.track(
        system,
        path,
        timing=ns.timing.Quintic(duration=seconds),
        controller="path",
        contact="coulomb",
        rtol=1e-8,
        atol=1e-8,
    )
    worst = driven.path_errors.distance.max()
    slips = sum(event.what == "slips" for event in driven.contact_events)
    print(f"{seconds} s: {1e3 * worst:8.3f} mm off at most, slips: {slips}")

# %% [markdown]
# The slow lap is as exact as an ideal one; a faster one asks for more than ice gives, and no feedback can put it there.
#
# ## Wheels that leave the ground
#
# A forklift brakes with a raised load. Its rear lifts off, and lands with an impact that takes energy; then it rocks to rest:

# %%
forklift = ns.compile(ns.derive(ns.load("braking-forklift")))
run = ns.run_scenario(forklift)
for event in run.contact_events[:6]:
    print(
        f"{event.time:.4f} s: {event.contact} {event.what}"
        + (f", {event.loss:.1f} J" if event.loss else "")
    )
print(f"energy drift {run.energy_drift:.0e} of what was exchanged")

# %% [markdown]
# How high may the load be, if the rear is to stay down?

# %%
for height in (0.4, 0.8, 1.2, 1.6):
    run = ns.run_scenario(forklift, changes={"height": height})
    lifted = np.degrees(-run["truck.angle"].min())
    print(f"{height} m: nose down by {lifted:.2f} degrees")

# %% [markdown]
# [Rolling](../rolling.md#slipping-lifting-and-landing) lists columns, events and what is refused; the `tippe-top` of the
# [gallery](../gallery.md#contacts-that-slip-and-lift) is a toy that works by slip.

# %% [markdown]
# # What makes a constraint nonholonomic
#
# A wheel that does not slip restricts velocities. Does it restrict positions, too? Sometimes: the answer is in the brackets of the
# motions that remain. Here we look at a blade, an axle with two wheels and a tricycle, and park them sideways. You need
# `pip install .`, and `".[show]"` for the pictures.

# %%
import numpy as np

import noslip as ns

sleigh = ns.distribution(ns.load("chaplygin-sleigh"))
print(sleigh.sentence())
print(sleigh.generators, sleigh.dimension)

# %% [markdown]
# The blade of the sleigh does not move sideways. Two motions remain, ahead and turning, in a space of three dimensions: x, y and the
# heading.
#
# ## Drive a loop
#
# If the blade restricted positions, the sleigh could not leave a surface in that space, whatever it does. So drive along a loop: ahead,
# turn, back, turn back, each for ε seconds at 1 m/s and 1 rad/s.

# %%
for size in (0.4, 0.2, 0.1):
    loop = sleigh.loop(size=size)
    x, y, heading = loop.displacement
    print(f"{size} s: x {x:.5f} m, y {y:.5f} m, heading {abs(heading):.5f} rad, y/ε² {y / size**2:.4f}")

# %% [markdown]
# The heading is back where it was, but the sleigh has moved sideways, the one direction that its blade forbids. What it gained is of
# second order: ε² times the *bracket* [ahead, turn] = (∂Y/∂q) X − (∂X/∂q) Y of the two motions X and Y. The bracket is not a combination
# of them: this is what makes the constraint nonholonomic.

# %%
print(loop.legs)
print(loop.expected, f"deviation {loop.deviation:.1%}")

# %% [markdown]
# The *growth vector* counts dimensions: two by the motions, three with their bracket. All three are reached, so that no function of
# x, y and heading is constant, and the constraint does not integrate.

# %%
print(sleigh.growth.vector, sleigh.growth.brackets[1:])

# %% [markdown]
# ## A constraint that only looks nonholonomic
#
# Two wheels on an axle give three rows: both roll, and neither slips sideways, which is one row for both. None of the three integrates by
# itself, but one combination does:

# %%
carriage = ns.distribution(ns.load("carriage"))
print(carriage.sentence())
for integral in carriage.integrals:
    print(integral.text())

# %% [markdown]
# It is the difference of the two rolling rows. The heading follows from how far each wheel has turned, whatever the way was. There
# brackets do not help: of five dimensions they reach four.

# %%
print(carriage.growth.vector, carriage.dimension)

# %% [markdown]
# Along a run it stays what it was:

# %%
system = ns.compile(ns.derive(ns.load("carriage")))
run = ns.run_scenario(system)
integral = carriage.integrals[0]
drift = max(abs(integral.difference(run.q[0], q)) for q in run.q)
print(drift < 1e-12)

# %% [markdown]
# ## Parallel parking
#
# A tricycle steers before it turns. One bracket does not suffice: [drive, steer] turns it on the spot, and only
# [drive, [drive, steer]] moves it sideways. A loop for the second has the first in place of its steering: ten legs.

# %%
tricycle = ns.distribution(ns.load("tricycle"))
print(tricycle.growth.vector, tricycle.growth.brackets[1:])
loop = tricycle.loop(size=0.5)
print([name if sign > 0 else f"-{name}" for name, sign in loop.legs])
print(dict(zip(loop.coordinates, (np.round(loop.displacement, 4) + 0.0).tolist())))

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 2.2))
x, y, heading = loop.track("frame").T
axes.plot(x, y)
for k, style in ((0, "--"), (-1, "-")):
    along = 0.1 * np.array([np.cos(heading[k]), np.sin(heading[k])])
    axes.plot([x[k], x[k] + along[0]], [y[k], y[k] + along[1]], "k", linestyle=style, linewidth=3)
axes.set(xlabel="x, m", ylabel="y, m")
axes.set_aspect("equal")
figure.tight_layout()
figure

# %% [markdown]
# From the dashed place to the full one: the space is gained in third order, ε³, which is why parking in a tight space takes so many
# moves. `noslip geometry tricycle -o tricycle.html` writes all of this as a page, with the loop in motion.
#
# [Geometry](../geometry.md) says how ranks are decided, and what follows for controllability, symmetries and invariant measures.

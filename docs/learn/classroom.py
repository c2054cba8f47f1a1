# %% [markdown]
# # A lecture on rolling and skating
#
# Three mechanisms that cannot slide: a coin, a sleigh and a snakeboard. Watch each move, look at its equations, and see what
# d'Alembert's principle and vakonomic mechanics say of the same start. You need `pip install ".[show]"`, and
# `".[notebook]"` for the sliders.

# %%
import noslip as ns

coin = ns.compile(ns.derive(ns.load("rolling-disk")))
run = ns.run_scenario(coin)
print(f"energy drift {run.energy_drift:.0e}, slip {run.slip:.0e} m/s")
run.animate(speed=0.5)

# %% [markdown]
# ## The coin
#
# It has five coordinates and, since the point that touches the ground stands still, three speeds to choose. No coordinate is
# lost: with the same three speeds the coin gets to every place, in every direction. That is what *nonholonomic* means.

# %%
found = ns.check(ns.load("rolling-disk"))
print("degrees of freedom", found.degrees_of_freedom)
print("rows that cannot be integrated", ", ".join(found.nonholonomic_rows))
run.plot("path")

# %% [markdown]
# ## The sleigh
#
# A body on a blade. It turns until it glides along the blade with its mass center ahead, as if something damped it; but
# nothing does: the energy stays.

# %%
sleigh = ns.load("chaplygin-sleigh")
dalembert = ns.run_scenario(ns.compile(ns.derive(sleigh)))
print(f"rate of turn {dalembert['sleigh.rate'][0]:.2f} to {dalembert['sleigh.rate'][-1]:.2f} rad/s")
print(f"energy drift {dalembert.energy_drift:.0e}")
dalembert.plot(["sleigh.vx", "sleigh.rate"], size="column")

# %% [markdown]
# ## The same start, another principle
#
# d'Alembert asks that constraint forces do no work on any motion that is allowed. Vakonomic mechanics asks that the action is
# stationary among all motions that keep the constraint. Both conserve energy, both keep the blade from sliding, and yet
# they part: only the first is how sleighs move.

# %%
vakonomic = ns.run_scenario(ns.compile(ns.derive(sleigh, ns.Vakonomic())))
print(f"energy drift {vakonomic.energy_drift:.0e}")
ns.plot([dalembert, vakonomic], "path", labels=["d'Alembert", "vakonomic"])

# %%
ns.plot([dalembert, vakonomic], ["sleigh.vx", "sleigh.rate"], labels=["d'Alembert", "vakonomic"])

# %% [markdown]
# ## The snakeboard
#
# The rider swings a rotor and steers two axles; no wheel has a motor, and the board moves all the same: the constraints turn
# a swing into a step.

# %%
board = ns.run_scenario(ns.compile(ns.derive(ns.load("snakeboard"))))
board.plot("path")

# %%
board.animate()

# %% [markdown]
# In a notebook, `ns.explore("chaplygin-sleigh")` has sliders for where the mass center is, how fast it starts, and so on: move
# `a` towards zero, and the sleigh stops straightening out. [Equations for a lecture](lecture.md) prints what was integrated
# here; [vakonomic](../vakonomic.md) has the derivation.

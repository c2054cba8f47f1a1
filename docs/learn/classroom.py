# %% [markdown]
# # A lecture on rolling and skating
#
# Three mechanisms that roll or skate without sliding: a coin, a sleigh and a snakeboard. Watch each of them move, and see
# which motions d'Alembert's principle and vakonomic mechanics predict from the same start. You need
# `pip install ".[show]"`, and `".[notebook]"` for the sliders.

# %%
import noslip as ns

coin = ns.compile(ns.derive(ns.load("rolling-disk")))
run = ns.run_scenario(coin)
print(f"energy drift {run.energy_drift:.0e}, slip {run.slip:.0e} m/s")
run.animate(speed=0.5)

# %% [markdown]
# ## The coin
#
# The coin has five coordinates. Its contact point is momentarily at rest, which leaves three independent speeds. No
# coordinate is lost, though: by rolling, the coin can reach every position and orientation. Constraints of this kind, which
# restrict speeds but not positions, are called *nonholonomic*.

# %%
found = ns.check(ns.load("rolling-disk"))
print("degrees of freedom", found.degrees_of_freedom)
print("rows that restrict speeds", ", ".join(found.velocity_rows))
run.plot("path")

# %% [markdown]
# ## The sleigh
#
# A body on a blade. It turns until it glides along the blade with its mass center ahead, as if it were damped; yet its
# energy is constant.

# %%
sleigh = ns.load("chaplygin-sleigh")
dalembert = ns.run_scenario(ns.compile(ns.derive(sleigh)))
print(f"rate of turn {dalembert['sleigh.rate'][0]:.2f} to {dalembert['sleigh.rate'][-1]:.2f} rad/s")
print(f"energy drift {dalembert.energy_drift:.0e}")
dalembert.plot(["sleigh.vx", "sleigh.rate"], size="column")

# %% [markdown]
# ## The same start, another principle
#
# d'Alembert's principle requires that constraint forces do no work in any virtual displacement. Vakonomic mechanics requires
# that the action is stationary among all motions that satisfy the constraint. Both conserve energy, both keep the blade
# from sliding, and yet the motions differ. Real sleighs follow d'Alembert.

# %%
vakonomic = ns.run_scenario(ns.compile(ns.derive(sleigh, ns.Vakonomic())))
print(f"energy drift {vakonomic.energy_drift:.0e}")
ns.plot([dalembert, vakonomic], "path", labels=["d'Alembert", "vakonomic"])

# %%
ns.plot([dalembert, vakonomic], ["sleigh.vx", "sleigh.rate"], labels=["d'Alembert", "vakonomic"])

# %% [markdown]
# ## The snakeboard
#
# The rider swings a rotor and steers two axles. No wheel is driven, yet the board moves: the constraints turn swinging into
# forward motion.

# %%
board = ns.run_scenario(ns.compile(ns.derive(ns.load("snakeboard"))))
board.plot("path")

# %%
board.animate()

# %% [markdown]
# In a notebook, `ns.explore("chaplygin-sleigh")` has sliders for the position of the mass center, the initial speeds and so
# on: move `a` towards zero, and the sleigh no longer straightens out. [Equations for a lecture](lecture.md) derives the
# equations of the sleigh; [vakonomic](../vakonomic.md) derives those of the other theory.

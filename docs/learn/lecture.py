# %% [markdown]
# # Equations for a lecture
#
# The Chaplygin sleigh, a body on a blade that cannot move sideways, is the simplest nonholonomic mechanism. Derive its
# equations by several methods, print them in LaTeX, and show that they agree. You need `pip install ".[show]"`.

# %%
import noslip as ns

model = ns.load("chaplygin-sleigh")
equations = ns.derive(model)
print(ns.equations_text(equations))

# %% [markdown]
# In a notebook `equations` alone shows them as mathematics. For slides:

# %%
text = ns.equations_text(equations, "latex")
print("\n".join(text.splitlines()[-8:]))

# %% [markdown]
# ## Another method, the same equations
#
# Every method of the course leads to the same accelerations. `verify` compares five of them, and the laws of mechanics,
# at random states:

# %%
appell = ns.equations_text(ns.derive(model, ns.GibbsAppell()))
print(appell[appell.index("Equations of motion\n") : appell.index("Constraint forces")])

# %%
print(ns.verify(model).text())

# %% [markdown]
# ## What students should see
#
# The sleigh turns until it moves along its blade; its energy stays, although it looks like damping. The angular speed and
# the speed along the blade go round an ellipse, as the energy K = ½ m u² + ½ (I + m a²) ω² demands.

# %%
system = ns.compile(equations)
run = ns.run_scenario(system)
print(f"energy drift {run.energy_drift:.1e}")
ns.plot(run, ["sleigh.rate"], against="sleigh.vx", size="column")

# %% [markdown]
# Vakonomic mechanics, which asks for stationary action among paths that keep the constraint, is a different theory with
# different motions; see [vakonomic](../vakonomic.md). [Formulations](../formulations.md) compares the methods;
# `noslip derive chaplygin-sleigh -o sleigh.tex` writes a file. For small motions there are short equations:
# `noslip derive whipple-bicycle --linear speed`.

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
# In a notebook, `equations` displays as typeset mathematics. For slides:

# %%
text = ns.equations_text(equations, "latex")
print("\n".join(text.splitlines()[-8:]))

# %% [markdown]
# ## Another method, the same equations
#
# Every method leads to the same accelerations. `verify` compares five methods at random states, and checks laws of
# mechanics such as the power balance:

# %%
appell = ns.equations_text(ns.derive(model, ns.GibbsAppell()))
print(appell[appell.index("Equations of motion\n") : appell.index("Constraint forces")])

# %%
print(ns.verify(model).text())

# %% [markdown]
# ## What the motion shows
#
# The sleigh turns until it moves along its blade. It looks like damping, but the energy is constant: the angular speed and
# the speed along the blade move on the ellipse K = ½ m u² + ½ (I + m a²) ω².

# %%
system = ns.compile(equations)
run = ns.run_scenario(system)
print(f"energy drift {run.energy_drift:.1e}")
ns.plot(run, ["sleigh.rate"], against="sleigh.vx", size="column")

# %% [markdown]
# Vakonomic mechanics, which makes the action stationary among paths that satisfy the constraint, is a different theory with
# different motions; see [vakonomic](../vakonomic.md). [Formulations](../formulations.md) compares the methods;
# `noslip derive chaplygin-sleigh -o sleigh.tex` writes sections for `\input` in a LaTeX document. For small motions
# there are short equations: `noslip derive whipple-bicycle --linear speed`.

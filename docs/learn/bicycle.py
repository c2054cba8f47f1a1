# %% [markdown]
# # Stability of a bicycle
#
# Ridden without hands, a bicycle falls at low speed, balances itself in a range of speeds, and slowly capsizes above it.
# Find this range, and how it depends on the trail. You need `pip install ".[show]"`.

# %%
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("whipple-bicycle")))
straight = ns.linearize(system, {"speed": 5.0})
print(straight.text())

# %% [markdown]
# `linearize` computes straight running from the speed alone. No eigenvalue has a positive real part (the zero belongs to
# running a little faster or slower): at 5 m/s this bicycle, the benchmark of Meijaard et al. (2007), is self-stable.
#
# ## The stability chart

# %%
speeds = np.linspace(0.0, 10.0, 101)
chart = ns.sweep_eigenvalues(system, "speed", speeds)
for low, high in chart.stable_ranges:
    print(f"stable from {low:.6f} to {high:.6f} m/s")
ns.plot(chart)

# %% [markdown]
# The published speeds are 4.292 m/s (weave) and 6.024 m/s (capsize).
#
# ## The effect of trail
#
# Parameters are arguments of the compiled code, so changing the trail `c` needs no recompilation.

# %%
for trail in (0.04, 0.08, 0.12):
    ranges = ns.sweep_eigenvalues(system, "speed", speeds, parameters={"c": trail}).stable_ranges
    shown = ", ".join(f"{low:.2f} to {high:.2f}" for low, high in ranges) or "nowhere"
    print(f"trail {100 * trail:.0f} cm: stable {shown} m/s")

# %% [markdown]
# ## Check with the nonlinear equations
#
# The full nonlinear equations confirm the linear analysis: a push decays at 5 m/s; at 3 m/s the weave grows.

# %%
for speed in (5.0, 3.0):
    start = {"speed": speed, "frame.lean_rate": 0.2}
    run = ns.simulate(system, duration=3.0, start=start, stop={"fell": "frame.lean^2 - 0.8"})
    print(f"{speed} m/s: lean {run['frame.lean'][-1]:+.4f} rad at {run.t[-1]:.2f} s, {run.verdict}")

# %% [markdown]
# `noslip linearize whipple-bicycle --sweep speed=0:10` does the same from the command line.
# [Linearization](../linearization.md) explains steady turns, many variants at once and the canonical form M, C₁, K₀, K₂.

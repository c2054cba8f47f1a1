# %% [markdown]
# # Stability of a bicycle
#
# A bicycle without a rider's hands falls at low speed, balances itself in a range of speeds, and slowly capsizes above it.
# Find the range, and see what the trail has to do with it. You need `pip install ".[show]"`.

# %%
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("whipple-bicycle")))
straight = ns.linearize(system, {"speed": 5.0})
print(straight.text())

# %% [markdown]
# `linearize` completes the straight running from the speed alone. No eigenvalue has a positive real part (the zero says that
# it may as well run a little faster): at 5 m/s this bicycle, the benchmark of Meijaard et al. (2007), is stable by itself.
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
# ## Is it the trail?
#
# Parameters stay arguments of the compiled code, so that another trail `c` costs no compilation.

# %%
for trail in (0.04, 0.08, 0.12):
    ranges = ns.sweep_eigenvalues(system, "speed", speeds, parameters={"c": trail}).stable_ranges
    shown = ", ".join(f"{low:.2f} to {high:.2f}" for low, high in ranges) or "nowhere"
    print(f"trail {100 * trail:.0f} cm: stable {shown} m/s")

# %% [markdown]
# ## Push it
#
# The full nonlinear equations confirm the small-motion picture: a push at 5 m/s dies out, at 3 m/s the weave grows.

# %%
for speed in (5.0, 3.0):
    start = {"speed": speed, "frame.lean_rate": 0.2}
    run = ns.simulate(system, duration=3.0, start=start, stop={"fell": "frame.lean^2 - 0.8"})
    print(f"{speed} m/s: lean {run['frame.lean'][-1]:+.4f} rad at {run.t[-1]:.2f} s, {run.verdict}")

# %% [markdown]
# `noslip linearize whipple-bicycle --sweep speed=0:10` does the same from the command line.
# [Linearization](../linearization.md) explains steady turns, many variants at once and the canonical form M, C₁, K₀, K₂.

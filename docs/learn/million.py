# %% [markdown]
# # A million runs
#
# How likely is it that a rolling coin falls within two seconds? Simulate many at once, in the vector lanes of all cores,
# and keep only what is asked. You need `pip install .`, and `".[show]"` for the picture.

# %%
import time

import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("rolling-disk")))
count = 20_000  # a million takes 50 times as long: try it
rng = np.random.default_rng(1)
starts = {
    "disk.tilt": rng.uniform(0.9, 1.5, count),
    "disk.spin_rate": rng.uniform(-8.0, 0.0, count),
    "disk.yaw_rate": rng.normal(0.0, 0.3, count),
}

# %% [markdown]
# A start may be a list with a value for each run; what is not given is completed for each. A *stop* ends a run, here where
# the disk lies nearly flat.

# %%
begin = time.perf_counter()
batch = ns.simulate_batch(
    system,
    duration=2.0,
    starts=starts,
    stop={"fallen": "disk.tilt - 0.3"},
    columns=["disk.tilt"],
    keep=["minimum"],
)
seconds = time.perf_counter() - begin
print(batch.summary())
print(f"{count / seconds:.0f} runs a second")

# %% [markdown]
# ## Who falls?

# %%
fell = batch.endings == ns.Ending.EVENT
rate = -starts["disk.spin_rate"]
for low, high in ((0, 2), (2, 4), (4, 6), (6, 8)):
    among = (rate >= low) & (rate < high)
    share = fell[among].mean()
    sure = 2 * np.sqrt(share * (1 - share) / among.sum())
    print(f"spin {low} to {high} rad/s: {100 * share:5.1f} ± {100 * sure:.1f} % fall")

# %% [markdown]
# ## One of them again
#
# A run of a batch is a run like any other: simulate its start alone, and look at it.

# %%
worst = int(np.argmin(batch.minimum["disk.tilt"]))
run = ns.simulate(system, duration=float(batch.t[worst]), start={n: x[worst] for n, x in starts.items()})
assert abs(run["disk.tilt"][-1] - batch["disk.tilt"][worst]) < 1e-6
ns.plot(run, "path")

# %% [markdown]
# `device="cuda"` runs the same batch on an NVIDIA GPU. A study that must survive a night, with grids, random designs, a
# store on disk and a report, is a [sweep](../sweeps.md); [batches](../batches.md) has events, extremes and memory.

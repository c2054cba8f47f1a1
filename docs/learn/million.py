# %% [markdown]
# # A million runs
#
# How likely is a rolling coin to fall within two seconds? Simulate many at once, in the SIMD lanes of all cores, and keep
# only the quantities you need. You need `pip install .`, and `".[show]"` for the picture.

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
# Start values may be arrays with one value for each run; missing ones follow from the constraints. A *stop* condition ends a
# run, here when the disk lies nearly flat.

# %%
begin = time.perf_counter()
batch = ns.simulate_batch(
    system,
    duration=2.0,
    start=starts,
    stop={"fallen": "disk.tilt - 0.3"},
    columns=["disk.tilt"],
    keep=["minimum"],
)
seconds = time.perf_counter() - begin
print(batch.summary())
print(f"{count / seconds:.0f} runs a second")

# %% [markdown]
# ## Which ones fall?

# %%
fell = batch.endings == ns.Ending.EVENT
rate = -starts["disk.spin_rate"]
for low, high in ((0, 2), (2, 4), (4, 6), (6, 8)):
    among = (rate >= low) & (rate < high)
    share = fell[among].mean()
    sure = 2 * np.sqrt(share * (1 - share) / among.sum())
    print(f"spin {low} to {high} rad/s: {100 * share:5.1f} ± {100 * sure:.1f} % fall")

# %% [markdown]
# ## Look at one of them
#
# Any run of a batch can be repeated alone, from the same start:

# %%
worst = int(np.argmin(batch.minimum["disk.tilt"]))
run = ns.simulate(system, duration=float(batch.t[worst]), start={n: x[worst] for n, x in starts.items()})
assert abs(run["disk.tilt"][-1] - batch["disk.tilt"][worst]) < 1e-6
ns.plot(run, "path")

# %% [markdown]
# `device="cuda"` runs the same batch on an NVIDIA GPU, and `progress=bar` within `with ns.ProgressBar() as bar:` shows a
# progress bar. A long study with grids, random designs, a resumable store on disk and a report is a [sweep](../sweeps.md);
# [batches](../batches.md) explains events, extremes and memory.

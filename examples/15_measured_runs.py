"""What does it carry, and where is its antenna off? Two logs with noise, and unknown starts.

A loaded vehicle was driven twice. Wheels and platform were logged, with gaps; nobody noted how fast
it rolled when the logs begin, and the measured x has an offset. One call finds all of it, with
intervals.

Parameters    m_platform (kg) and I_z (kg m²) unknown; offset (m) of one sensor
Coordinates   platform.x (mm), platform.y (m), platform.angle (deg), logged 61 times in 3 s
Inputs        torque1, torque2 (N m), logged too
Look for      the true load and offset within their intervals; two parameters that no such log
              tells apart, named with their combination
Reference     [SahaAngeles1989] for the vehicle
"""

# %% Describe, derive, compile
from pathlib import Path

import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("agv")))

# %% Logs: here made by simulations of the loaded vehicle, which the fit knows nothing of
truth = {"m_platform": 33.5, "I_z": 0.62}
times = np.linspace(0.0, 3.0, 61)
drives = [
    ("straight", (-4.0, -4.0), {"torque1": "0.06*sin(2*t)", "torque2": "0.05*sin(2*t)"}),
    ("turning", (-3.0, -5.0), {"torque1": "0.05*cos(t)", "torque2": "-0.04*cos(1.3*t)"}),
]
noise = np.random.default_rng(5)  # other seeds: an interval of 95 % misses 1 time in 20
logs = []
for name, (left, right), torques in drives:
    run = ns.simulate(
        system,
        duration=3.0,
        start={"wheel1.rate": left, "wheel2.rate": right},
        inputs=torques,
        parameters=truth,
        samples=times,
    )
    x = 1e3 * (run["platform.x"] + 0.12 + noise.normal(0.0, 0.002, times.size))
    y = run["platform.y"] + noise.normal(0.0, 0.002, times.size)
    angle = np.degrees(run["platform.angle"] + noise.normal(0.0, 0.004, times.size))
    lines = ["time [s],gps [mm],platform.y [m],platform.angle [deg],torque1 [N*m],torque2 [N*m]"]
    for k, t in enumerate(times):
        seen = "" if k % 7 == 3 else f"{x[k]:.2f}"  # the receiver loses it now and then
        row = (f"{t:.3f}", seen, f"{y[k]:.5f}", f"{angle[k]:.4f}")
        lines.append(",".join([*row, f"{run['torque1'][k]:.6f}", f"{run['torque2'][k]:.6f}"]))
    logs.append(Path(f"{name}.csv"))
    logs[-1].write_text("\n".join(lines) + "\n")

# %% Fit both logs at once
told = {
    "columns": {n: n for n in ("platform.y", "platform.angle")} | {"gps": "platform.x + offset"},
    "unknown_starts": ["wheel1.rate", "wheel2.rate"],
    "definitions": {"offset": 0.0},
}
found = ns.fit(system, logs, parameters=["m_platform", "I_z", "offset"], **told)
print(found.text())
ns.write_fit_report(found, "fit.html")

# %% What no such log can tell
try:
    ns.fit(system, logs, parameters=["m_wheel", "I_spin", "offset"], **told)
except ns.SimulationError as error:
    print(error.what)

# %% The truth is within the intervals
known = truth | {"offset": 0.12}
inside = [v.low < known[v.name] < v.high for v in found.values if v.name in known]
print(f"true values within their intervals: {sum(inside)} of {len(inside)}")

"""A bicycle that balances itself.

Pushed while it rolls with nobody's hands on the handlebar, a bicycle steers into the fall and
rights itself, if it is neither too slow nor too fast: at both speeds an eigenvalue crosses zero.

Parameters    26 of the benchmark: wheel base w 1.02 m, trail c 0.08 m, tilt of the steer axis lam
              π/10, radii, masses and inertias of rear frame with rider, fork and wheels
Coordinates   frame.x, frame.y, frame.z (m) and a quaternion, to people frame.yaw, frame.lean and
              frame.pitch (rad); rear_wheel.angle, steer.angle, front_wheel.angle (rad)
Inputs        lean_torque, steer_torque, drive_torque (N m), all zero here but in the turn
Look for      a push that dies out at 4.6 m/s and grows at 3.5 m/s; a torque of the hands in a turn
              that is a tenth of a newton meter
Reference     [MeijaardPapadopoulosRuinaSchwab2007], [BasuMandalChatterjeePapadopoulos2007]
"""

# %% Describe, derive, compile
import numpy as np

import noslip as ns

model = ns.load("whipple-bicycle")
system = ns.compile(ns.derive(model))
print(ns.check(model).text().splitlines()[0])

# %% Small motions about straight running
line = ns.linearize(system, {"speed": 4.6})
print(line.text())

# %% The matrices of the paper, from exact derivatives of the nonlinear model
form = ns.canonical_form(system, speed="speed", gravity="g")
for name in ("M", "C1", "K0", "K2"):
    print(name, getattr(form, name).round(9).tolist())

# %% Eigenvalues over the speed
sweep = ns.sweep_eigenvalues(system, "speed", np.linspace(0.0, 10.0, 101))
figure = ns.plot_eigenvalues(
    sweep.values, sweep.eigenvalues, parameter=sweep.name, unit=sweep.unit, save="stability.png"
)

# %% A push at a speed in the stable range, and below it
for speed in (4.6, 3.5):
    run = ns.simulate(system, duration=5.0, start={"speed": speed, "frame.wx": 0.1})
    print(f"{speed} m/s: {run.summary()}")
    late = np.max(np.abs(run["frame.lean"][run.t > 4.0]))
    print(f"largest lean after 4 s at {speed} m/s: {late:.6f} rad")

# %% A steady turn, and the torque that the hands must give
turn = ns.steady(system, {"frame.lean": 0.2, "speed": 5.0}, find=["steer_torque"])
print(turn.text())
run = ns.simulate(
    system, duration=5.0, start=turn.start, inputs=turn.inputs, rtol=1e-12, atol=1e-12
)
print(f"change of the lean over 5 s: {np.ptp(run['frame.lean']):.1e} rad")

# %% The range of speeds in which it balances itself
weave, capsize = sweep.limits
print(f"weave dies out above: {weave:.11f} m/s")
print(f"capsize grows above: {capsize:.11f} m/s")

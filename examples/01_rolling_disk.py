"""A disk that leans into a steady turn.

A thin disk rolls on a plane without slipping, leaning by a fixed angle, and its center goes round
a circle. The spin rate that keeps the lean is known in closed form; with any other the disk nods.

Parameters    m 2 kg, r 0.5 m, I_axial 0.25 kg m² about the axis, I_transverse 0.125 kg m² about a
              diameter, g 9.81 m/s²
Coordinates   disk.x, disk.y, disk.z (m) and a unit quaternion disk.qw … disk.qz; to people they are
              disk.yaw, disk.tilt (between disk and ground, π/2 upright) and disk.spin (rad)
Inputs        none
Look for      a tilt that stays; a contact force that is the weight and m ψ̇² R towards the middle
Reference     [SahaAngeles1991], section 5
"""

# %% Describe: a model of the library
import math

import numpy as np

import noslip as ns

model = ns.load("rolling-disk")
print(ns.check(model).text())

# %% Derive and compile
equations = ns.derive(model)
system = ns.compile(equations)

# %% The spin rate of a steady turn
# With the frame f (heading), e (contact to center), a (axis), the moment about f vanishes:
# 0 = −m g r cos θ − (I_a + m r²) ω_e ω_a + I_t ω_e² cot θ,  ω_e = ψ̇ sin θ,  ω_a = φ̇ + ψ̇ cos θ
p = model.parameter_values()
tilt, yaw_rate = 1.2, 1.0
w_e = yaw_rate * math.sin(tilt)
moment = p["I_transverse"] * w_e**2 / math.tan(tilt) - p["m"] * p["g"] * p["r"] * math.cos(tilt)
w_a = moment / ((p["I_axial"] + p["m"] * p["r"] ** 2) * w_e)
spin_rate = w_a - yaw_rate * math.cos(tilt)
start = {"disk.tilt": tilt, "disk.yaw_rate": yaw_rate, "disk.spin_rate": spin_rate}
print(f"\nspin rate of the steady turn: {spin_rate:.12f} rad/s")

# %% Look at the first instant: the force of the ground on the disk
force = ns.evaluate(system, start).reactions["rim"]
print("contact force:", ", ".join(f"{axis} {force[axis]:.6f} N" for axis in "xyz"))

# %% Simulate one turn
turn = 2 * math.pi / yaw_rate
run = ns.simulate(system, duration=turn, start=start, samples=201, rtol=1e-12, atol=1e-12)
print(run.summary())
print(f"largest change of the tilt: {np.max(np.abs(run['disk.tilt'] - tilt)):.1e} rad")

# %% Plot the lean of a disk that spins a little too fast: it nods
nodding = ns.simulate(system, duration=turn, start={**start, "disk.spin_rate": 1.1 * spin_rate})
ns.plot(nodding, ["disk.tilt", "disk.wz"], title="spin 10 % too fast").savefig("nodding_disk.png")

# %% The circle of the center, from its samples (the last one repeats the first)
x, y = run["disk.x"], run["disk.y"]
radius = np.hypot(x - np.mean(x[:-1]), y - np.mean(y[:-1]))
print(f"radius of the center's circle: {np.mean(radius):.12f} m")

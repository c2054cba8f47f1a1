"""A guided vehicle drives a circle: torques by inverse dynamics, then a simulation with them.

A platform with two driven wheels and a trailing caster is to carry its mass center once round a
circle, from rest to rest in a minute. Inverse kinematics and inverse dynamics give the motor
torques; a forward simulation under these torques alone must come back to where it started.

Parameters    l 0.4, r 0.05, a 0.101, b 0.202, d 0.025 m; wheels 2 kg, platform 20 kg; of the task:
              R, radius of the circle (m), and T, time for one turn (s)
Coordinates   platform.x, platform.y (m), platform.angle, bracket.angle (the caster), wheel1.angle,
              wheel2.angle, wheel3.angle (rad)
Inputs        torque1, torque2: motor torques on the driven wheels (N m)
Look for      a caster that swings to its own angle in the first seconds, a lateral row that is
              redundant, errors that shrink with the tolerance
Reference     [SahaAngeles1989], sections 2 to 4
"""

# %% Describe: a model of the library, with the task as its scenario
import numpy as np

import noslip as ns

model = ns.load("agv")
print(ns.check(model).text())

# %% Derive, compile
system = ns.compile(ns.derive(model))

# %% Inverse dynamics and forward simulation in one run, on a circle of 2 m
run = ns.run_scenario(system, changes={"R": 2.0}, rtol=1e-12, atol=1e-12, reactions=True)
print()
print(run.summary())

# %% The torques, every ten seconds
print("\n  t [s]   torque1 [N m]   torque2 [N m]   caster [rad]")
for k in range(0, len(run.t), 100):
    row = [run[name][k] for name in ("torque1", "torque2", "bracket.angle")]
    print(f"  {run.t[k]:5.1f}  {row[0]: .10f}   {row[1]: .10f}   {row[2]: .8f}")

# %% What the floor must hold: the lateral forces of the two coaxial wheels are shared evenly
worst = np.max(np.hypot(run["reaction.wheel1.longitudinal"], run["reaction.wheel1.lateral"]))
print(f"\nlargest horizontal force on wheel 1: {worst:.6f} N")
print(f"largest slip of any wheel: {run.slip:.1e} m/s")

# %% Everything in a folder: NetCDF, CSV, summary and figures
folder = ns.write_run(run, "agv_circle")
print("written:", ", ".join(sorted(path.name for path in folder.iterdir())))

# %% Does it come back? Nothing corrects the forward simulation on its way
error = max(abs(values[-1]) for values in run.errors.values())
print(f"largest error at 60 s: {error:.1e} m or rad")

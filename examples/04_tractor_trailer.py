"""A tractor with a trailer drives into a roundabout: how far inside does the trailer run?

The middle of the tractor's rear axle follows a straight line, a clothoid and a circle; the steering
angle is read from the path's curvature, and one force on the tractor does the driving. The trailer
is led by nobody: it settles on a circle of its own, whose radius is plain geometry.

Parameters    l1 2.8 (rear axle to front wheel), c 0.6 (rear axle to hinge), l2 5 m (hinge to the
              trailer's axle), masses 3000 and 5000 kg, …; of the task: R 12 m, speed 2 m/s
Coordinates   tractor.x, tractor.y (m, middle of the rear axle), tractor.angle, steer.angle,
              hinge.angle (rad)
Inputs        F_u2: force on the tractor along its axis (N), chosen among three; steering_rate
              (rad/s), a speed input that the path prescribes
Look for      one degree of freedom; a trailer that cuts the corner, and a force that vanishes when
              all has become steady
Reference     [DeSantis1994], section 6
"""

# %% Describe: a model of the library
import math

import numpy as np

import noslip as ns
from noslip.control.path_geometry import sample

model = ns.load("tractor-trailer")
print(ns.check(model).text())

# %% Derive, compile
system = ns.compile(ns.derive(model))

# %% The path: its curvature is continuous, so the steering has time to turn
R = 12.0
line = ns.paths.Line(start=(0.0, 0.0), end=(10.0, 0.0))
entry = ns.paths.Clothoid(start_curvature=0.0, end_curvature=1 / R, length=15.0, start=(10.0, 0.0))
end = sample(entry, 2)
x, y, heading = end.x[-1], end.y[-1], end.heading[-1]
center = (x - R * math.sin(heading), y + R * math.cos(heading))
ring = ns.paths.Circle(radius=R, center=center, start_angle=heading - math.pi / 2, turns=2.5)
path = ns.paths.Composite(paths=(line, entry, ring), smooth_curvature=True)

# %% Drive: inverse kinematics, inverse dynamics and simulation in one call
run = ns.track(
    system,
    path,
    follower=ns.Follower(steering="steer.angle", wheelbase="l1"),
    controller=ns.ControlLoop(inputs=("F_u2",)),
    timing=ns.timing.ConstantSpeed(2.0),
    rtol=1e-11,
    atol=1e-11,
)
print()
print(run.summary())
print(f"largest steering angle: {np.max(run['steer.angle']):.12f} rad")
print(f"largest force: {np.max(np.abs(run['F_u2'])):.3f} N, at the end {run['F_u2'][-1]:.1e} N")

# %% Look
columns = ["steer.angle", "hinge.angle", "F_u2"]
ns.plot(run, columns, title="into a roundabout").savefig("tractor_trailer.png")

# %% Where the trailer's axle is at the end: c behind the tractor's axle, then l2 behind the hinge
p = model.parameter_values()
tractor, trailer = run["tractor.angle"][-1], run["tractor.angle"][-1] + run["hinge.angle"][-1]
axle_x = run["tractor.x"][-1] - p["c"] * math.cos(tractor) - p["l2"] * math.cos(trailer)
axle_y = run["tractor.y"][-1] - p["c"] * math.sin(tractor) - p["l2"] * math.sin(trailer)
print(f"radius of the trailer: {math.hypot(axle_x - center[0], axle_y - center[1]):.12f} m")

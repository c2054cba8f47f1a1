"""An arm that learns what it holds: adaptive control on exact equations.

Something 2.5 times as heavy as the third link is in its hand. Computed torque, which knows nothing
of it, stays off; adaptive control learns mass and moment of inertia from the motion, and its
Lyapunov function only falls.

Parameters    m3 (kg) and I3 (kg m²) of the last link, unknown; the others are known
Coordinates   joint1.angle, joint2.angle, joint3.angle (rad)
Inputs        tau1, tau2, tau3 (N m)
Look for      errors that vanish with the ignorance; the true mass to many digits
Reference     [SlotineLi1987]
"""

# %% Describe, derive, compile
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("manipulator-3r")))
motion = ns.motions.ExpressionMotion(
    coordinates={
        "joint1.angle": "0.6*sin(2*t)",
        "joint2.angle": "0.5 + 0.4*sin(3*t)",
        "joint3.angle": "0.3*cos(2.5*t)",
    }
)
loaded = ns.Plant(parameters={"m3": 2.5, "I3": 0.0066})

# %% The same motion under a law that believes, and one that learns
laws = {
    "computed torque": ns.controllers.ComputedTorque(kp=16.0, kd=8.0),
    "adaptive": ns.controllers.AdaptiveTracking(unknown=("m3", "I3"), rates=(20.0, 20.0)),
}
runs = {}
for name, law in laws.items():
    run = runs[name] = ns.follow(system, motion, controller=law, plant=loaded, duration=15.0)
    off = np.abs(run["joint3.angle"] - run["reference.joint3.angle"])
    print(f"{name}: off by {off[-100:].max():.1e} rad in the last seconds")

# %% What it takes the link for, and the function that falls
learned = runs["adaptive"]
ns.plot(learned, ["adapted.m3", "lyapunov"], title="what it believes", save="learned.png")
rise = np.diff(learned["lyapunov"]).max() / learned["lyapunov"][0]
print(f"largest rise of the Lyapunov function: {max(rise, 0.0):.1e} of its start")

# %% The mass
print(f"mass of link and load: {learned['adapted.m3'][-1]:.6f} kg")

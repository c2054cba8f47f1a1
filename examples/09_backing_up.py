"""A tractor backs its trailer up along a curve, from a start at which the trailer is folded.

Backwards a trailer folds up by itself; feedback on what its axle is off the path unfolds it.

Parameters   of the library model tractor-trailer; path: a sine of 3 m; 1.5 m/s backwards
Coordinates  tractor.x, tractor.y m, tractor.angle, hinge.angle, steer.angle rad
Inputs       F_u1, F_u2, F_u3 N along the wheels; steering_rate rad/s
Look for     without feedback the trailer folds to 150° and more; with it the error dies out
Reference    the limit of folding in tests/test_examples.py; gains by linear-quadratic control
"""

# %% What follows what
import math

import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("tractor-trailer")))
joints = {"steering": "steer.angle", "hinge": "hinge.angle", "hitch": "c", "trailer": "l2"}
path = ns.paths.Sine(amplitude=3.0, wave_number=0.1, extent=150.0)
motion = ns.motions.TrailerMotion(
    path=path, timing=ns.timing.ConstantSpeed(1.5), wheelbase="l1", **joints
)

# %% A start on the path, but for the trailer: folded by 23°
none = np.zeros(len(system.coordinates))
follow = ns.motions.FollowMotion(motion=motion, reference_start=none)
begin = ns.start_on_motion(system, follow, {}, system.parameters())
start = {c.name: float(x) for c, x in zip(system.coordinates, begin.q, strict=True)}
start |= {"tractor.vx": float(begin.eta[0]), "hinge.angle": start["hinge.angle"] + 0.4}

# %% With feedback and without
folded = {}
laws = {
    "FeedForward": ns.controllers.FeedForward(),
    "TrailerTracking": ns.controllers.TrailerTracking(**joints),
}
for name, controller in laws.items():
    law = ns.controllers.Tracking(
        motion=motion, controller=controller, reference_start=begin.q, limits={}
    )
    run = ns.simulate(system, duration=60.0, start=start, inputs=law)
    folded[name] = math.degrees(np.max(np.abs(run["hinge.angle"])))

# %% Look
for name, angle in folded.items():
    print(f"largest fold with {name}: {angle:.1f} degrees")
off = run["hinge.angle"][-1] - run["reference.hinge.angle"][-1]
print(f"trailer against the path at the end: {abs(off):.2e} rad")

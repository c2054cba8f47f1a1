"""A loader that steers with its waist: articulating on the spot, and on a circle.

A load-haul-dump vehicle has two bodies, each with an axle, and a hinge between them that a cylinder
bends. Bending it while standing still turns the front body in place; on a circle the waist settles
at an angle that is known, too.

Parameters    c, l2 1.7 m (front axle and rear axle to the waist), masses 9000 and 11000 kg, …; of
              the task: R 8 m
Coordinates   front.x, front.y (m, middle of the front axle), front.angle, waist.angle (rad)
Inputs        F_u2, F_u3: forces along the front and the rear body (N); Gamma: torque at the waist
              (N m)
Look for      more inputs than degrees of freedom: the smallest ones are taken; a waist that needs
              no reference of its own: it follows from the path
Reference     [DeSantis1994], appendix A, which says that such a loader cannot bend; closed forms
              for c = l2: the front body turns by −tan(γ/2) while the waist bends from 0 to γ on
              the spot; on a circle to the left tan(γ/2) = −c/R
"""

# %% Describe, derive, compile
import math

import numpy as np

import noslip as ns

model = ns.load("lhd-noslip")
print(ns.check(model).text())
system = ns.compile(ns.derive(model))

# %% Articulate on the spot: the front axle stays, the waist bends by 0.6 rad in 4 s
bend = {
    "front.x": 0.0,
    "front.y": 0.0,
    "waist.angle": "0.6*(10*(t/4)**3 - 15*(t/4)**4 + 6*(t/4)**5)",
}
law = ns.motions.FollowMotion(
    motion=ns.motions.ExpressionMotion(coordinates=bend),
    reference_start=np.zeros(len(system.coordinates)),
)
spot = ns.simulate(system, duration=4.0, inputs=law, rtol=1e-11, atol=1e-11)
print()
print(spot.summary())
print(f"largest torque at the waist: {np.max(np.abs(spot['Gamma'])):.3f} N m")
print(f"front body turned on the spot by: {spot['front.angle'][-1]:.12f} rad")

# %% On a circle: the pose of the front body is prescribed, and the waist follows from it
R = 8.0
on_circle = {"timing": ns.timing.ConstantSpeed(1.5), "rtol": 1e-11, "atol": 1e-11}
ideal = ns.track(system, ns.paths.Circle(radius=R, turns=1.5), **on_circle)
print(f"open loop: {ideal.summary()}")

# %% From a wrong start, under feedback of the pose: what open loop leaves to drift is held
start = {"front.x": 8.3, "front.y": -0.2}
run = ns.track(
    system,
    ns.paths.Circle(radius=R, turns=1.5),
    controller=ns.controllers.PoseTracking(kv=4.0),
    start=start,
    **on_circle,
)
print(f"feedback:  {run.summary()}")

# %% Look
columns = ["waist.angle", "F_u2", "F_u3", "Gamma"]
ns.plot(run, columns, title="a loader finds its circle").savefig("loader.png")
print(f"closed form of the waist: {-2 * math.atan(model.parameter_values()['c'] / R):.12f} rad")
print(f"waist on the circle: {run['waist.angle'][-1]:.12f} rad")

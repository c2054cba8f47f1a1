"""Wheels that push against each other: a force of the ground held beside a motion.

Four mecanum wheels drive three degrees of freedom, so one combination of torques moves nothing: it
only loads the ground. Here it holds the force on one wheel while the base dances, first with the
mass known, then with a load that has to be learned.

Parameters    mass (kg) of the base: 40 known, 64 true
Coordinates   base.x, base.y (m), base.angle (rad), four wheels
Inputs        a torque at each of four wheels (N m)
Look for      a force as wanted to rounding; with an unknown load, as soon as that is learned
Reference     [MuirNeuman1987] for the wheels, [SlotineLi1987] for the learning
"""

# %% Describe, derive, compile
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("mecanum-base")))
dance = ns.motions.ExpressionMotion(
    coordinates={
        "base.x": "0.5*sin(t)",
        "base.y": "0.3*sin(0.7*t)",
        "base.angle": "0.4*sin(0.5*t)",
    }
)
wheel, wanted = "front_left.longitudinal", "5 + 3*sin(2*t)"

# %% With all masses known
law = ns.controllers.MotionForce(
    motion=ns.controllers.AccelerationResolved(), reactions={wheel: wanted}
)
known = ns.follow(system, dance, controller=law, duration=6.0, reactions=True)
missed = np.abs(known[f"reaction.{wheel}"] - (5 + 3 * np.sin(2 * known.t))).max()
print(f"force missed, masses known: {missed:.1e} N")

# %% With a load that nobody told it
learning = ns.controllers.AdaptiveTracking(unknown=("mass",), rates=(300.0,))
law = ns.controllers.MotionForce(motion=learning, reactions={wheel: wanted})
loaded = ns.Plant(parameters={"mass": 64.0})
run = ns.follow(system, dance, controller=law, plant=loaded, duration=20.0, reactions=True)
error = np.abs(run[f"force_error.{wheel}"])
print(f"force missed, first second: {error[run.t < 1].max():.1e} N")
print(f"force missed, last second: {error[run.t > 19].max():.1e} N")
ns.plot(run, [f"reaction.{wheel}", "adapted.mass", "lyapunov"], save="forces.png")

# %% The load
print(f"mass of base and load: {run['adapted.mass'][-1]:.3f} kg")

"""A tractor that backs up its trailer, from a fold, along paths of every kind."""

import math

import numpy as np

import noslip as ns
from noslip.control.reference_motion import start_on_motion
from noslip.controllers import Tracking
from noslip.motions import FollowMotion, TrailerMotion
from noslip.paths import Circle, Line, Sine
from noslip.timing import ConstantSpeed

#: How it steers, and what it pulls.
STEERING = {"steering": "steer.angle", "wheelbase": "l1"}
TRAILER = {"steering": "steer.angle", "hinge": "hinge.angle", "hitch": "c", "trailer": "l2"}


FOLDED = math.radians(60.0)


PATHS = {
    "line": Line((0.0, 0.0), (150.0, 0.0)),
    "circle": Circle(radius=25.0),
    "tight circle": Circle(radius=7.0, turns=3.0),
    "sine": Sine(amplitude=3.0, wave_number=0.1, extent=150.0),
    "slalom": Sine(amplitude=5.0, wave_number=0.15, extent=150.0),
}


def back_up(system, path, controller, fold, *, duration=80.0, limits=None, period=0.0):
    """A run of the trailer's axle along the path, from an articulation off by `fold` rad."""
    motion = TrailerMotion(path=path, timing=ConstantSpeed(1.5), wheelbase="l1", **TRAILER)
    follow = FollowMotion(motion=motion, reference_start=np.zeros(len(system.coordinates)))
    begin = start_on_motion(system, follow, {}, system.parameters())
    law = Tracking(
        motion=motion,
        controller=controller,
        reference_start=begin.q,
        limits=limits or {},
        period=period,
    )
    start = {c.name: float(x) for c, x in zip(system.coordinates, begin.q, strict=True)}
    start |= {"tractor.vx": float(begin.eta[0])}
    start["hinge.angle"] += fold
    run = ns.simulate(system, duration=duration, start=start, inputs=law)
    off = {c.name: run[c.name] - run[f"reference.{c.name}"] for c in system.coordinates}
    return run, off

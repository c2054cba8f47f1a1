"""A joint of your own: a nut on a screw, which turns and moves along its axis together.

A joint type answers a short list of questions; everything else works with it as with any other,
model files, reports and the command line too (docs/extending.md).

Parameters   m mass 0.2 kg, J moment of inertia about the axis 5e-5 kg m², p lead 0.01 m/rad,
             g gravity 9.81 m/s²
Coordinates  nut.turn rad, about the vertical screw; 0.01 m down for each radian
Inputs       none
Look for     five formulations agree; the nut spins down with m g p/(J + m p²), p the lead
Reference    closed form in tests/test_examples.py
"""

# %% What a screw is
from dataclasses import dataclass
from typing import Annotated

import casadi as ca

import noslip as ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Bolt(ns.joints.AbstractJointType):
    """Turning about z, moving along it by `lead` (m) for each radian."""

    lead: Annotated[float | str, ns.Meaning(unit="m")]

    word = "bolt"
    coordinates = (ns.Quantity(name="turn", unit="rad"),)
    speeds = (ns.Quantity(name="rate", unit="rad/s"),)
    rest = (0.0,)

    def pose(self, q, read):
        c, s = ca.cos(q[0]), ca.sin(q[0])
        R = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        return R, ca.vertcat(0, 0, read.scalar(self.lead) * q[0])

    def motion(self, read):
        return ca.vertcat(0, 0, 1, 0, 0, read.scalar(self.lead))

    def closure(self, R, p, read):
        height = p[2] - read.scalar(self.lead) * ca.atan2(R[1, 0], R[0, 0])
        across = [("shift_x", "m", p[0]), ("shift_y", "m", p[1]), ("lead", "m", height)]
        return across + [("tilt_x", "rad", R[0, 2]), ("tilt_y", "rad", R[1, 2])]


# %% Describe
b = ns.ModelBuilder(name="nut-on-screw", gravity=(0.0, 0.0, "-g"))
b.parameter("g", 9.81, "m/s^2")
b.parameter("m", 0.2, "kg")
b.parameter("J", 5e-5, "kg*m^2")
b.parameter("p", 0.01, "m", "lead for each radian")
b.body("nut", mass="m", inertia=("J", "J", "J"))
b.joint("nut", Bolt(lead="p"), parent="world", child="nut")
model = b.build()

# %% Derive it five ways
certificate = ns.verify(model)
print(certificate.text())
assert certificate.holds

# %% Simulate
system = ns.compile(ns.derive(model))
run = ns.simulate(system, duration=2.0, rtol=1e-11, atol=1e-11)

# %% Look
print(f"angular acceleration: {run['nut.rate'][-1] / run.t[-1]:.10f} rad/s²")

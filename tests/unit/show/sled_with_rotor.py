"""A sled on a blade with a rotor on it: small enough that its equations are known in closed form.

[CameronBook1993], section on the sled: with I1 about the blade and m1 centered l behind it,

    (m1 + m2) v̇ + m1 l θ̇₁² = F
    (I1 + I2) θ̈₁ + I2 θ̈₂ − m1 l θ̇₁ v = τ1
    I2 (θ̈₁ + θ̈₂) = τ2
    N = m1 (−l θ̈₁ + θ̇₁ v) + m2 θ̇₁ v
"""

import noslip as ns
from noslip import BoltzmannHamel, DeSantis, GibbsAppell, Multipliers, NaturalComplement, Vakonomic

REDUCED = (NaturalComplement(), DeSantis(), BoltzmannHamel(), GibbsAppell())
METHODS = {f.word: f for f in (*REDUCED, Multipliers(), Vakonomic())}


def sled_with_rotor() -> ns.Model:
    b = ns.ModelBuilder(name="sled", gravity=(0.0, 0.0, 0.0), description="A sled with a rotor")
    b.parameter("m1", 2.0, "kg", "mass of the sled")
    b.parameter("m2", 0.8, "kg", "mass of the rotor")
    b.parameter("l", 0.4, "m", "from the mass center to the blade")
    b.parameter("I1", 0.9, "kg*m^2", "inertia of the sled about the blade")
    b.parameter("I2", 0.15, "kg*m^2", "inertia of the rotor")
    b.body("sled", mass="m1", moment="I1 - m1*l^2", center_of_mass=("-l", 0.0, 0.0))
    b.body("rotor", mass="m2", moment="I2")
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled")
    b.joint("rotor", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="sled", child="rotor")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sled", direction=(1.0, 0.0, 0.0)))
    b.input("F", "N", "force along the blade")
    b.input("tau1", "N*m", "torque on the sled")
    b.input("tau2", "N*m", "torque on the rotor")
    b.force(ns.forces.Motor(name="push", speed="sled.vx", input="F"))
    b.force(ns.forces.Motor(name="turn", speed="sled.rate", input="tau1"))
    b.force(ns.forces.Motor(name="spin", speed="rotor.rate", input="tau2"))
    for speed in ("sled.vx", "sled.rate", "rotor.rate"):
        b.independent_speed(speed)
    return b.build()


def model(name: str) -> ns.Model:
    return sled_with_rotor() if name == "sled" else ns.load(name)

"""A sled on a blade with a rotor on top of it [CameronBook1993, section 5]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import Motor, Wrench
from noslip.joints import Planar, Revolute
from noslip.shapes import Box, Cylinder, Ring
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED, TEAL


def build() -> Model:
    """The sled: origin at the blade's contact, x along the blade, its mass center behind."""
    b = ModelBuilder(
        name="sled-with-rotor",
        gravity=(0.0, 0.0, "-g"),
        description="Sled on a blade that carries a rotor above the blade's contact",
        references=("CameronBook1993",),
        equation_numbers={
            "sled.x_rate": "(54)",
            "sled.y_rate": "(54)",
            "blade.lateral": "(56)",
            "sled.vx": "(87)",
            "sled.rate": "(90)",
            "rotor.rate": "(93)",
        },
    )
    b.parameter("m1", 2.0, "kg", "mass of the sled")
    b.parameter("m2", 0.8, "kg", "mass of the rotor")
    b.parameter("ell", 0.4, "m", "blade's contact to the sled's mass center behind it")
    b.parameter("I1", 0.9, "kg*m^2", "moment of inertia of the sled about the blade's contact")
    b.parameter("I2", 0.15, "kg*m^2", "moment of inertia of the rotor about its axis")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "sled",
        mass="m1",
        moment="I1 - m1*ell^2",
        center_of_mass=("-ell", 0.0, 0.0),
        shapes=(
            Box(
                size=("2.1*ell", "0.9*ell", "0.07*ell"),
                frame=Placement(position=("-0.75*ell", 0.0, "0.25*ell")),
                color=BLUE,
            ),
            Box(
                size=("0.6*ell", "0.03*ell", "0.22*ell"),
                frame=Placement(position=(0.0, 0.0, "0.11*ell")),
                color=METAL,
            ),
            Cylinder(
                radius="0.06*ell",
                length="0.2*ell",
                frame=Placement(position=(0.0, 0.0, "0.36*ell")),
                color=DARK,
            ),
            Box(
                size=("0.5*ell", "0.6*ell", "0.22*ell"),
                frame=Placement(position=("-1.35*ell", 0.0, "0.39*ell")),
                color=TEAL,
            ),
            *(
                Box(
                    size=("0.6*ell", "0.06*ell", "0.2*ell"),
                    frame=Placement(position=("-1.4*ell", f"{side}*0.4*ell", "0.1*ell")),
                    color=DARK,
                )
                for side in (1, -1)
            ),
        ),
    )
    b.body(
        "rotor",
        mass="m2",
        moment="I2",
        shapes=(
            Ring(
                radius="0.45*ell",
                tube_radius="0.05*ell",
                frame=Placement(position=(0.0, 0.0, "0.48*ell")),
                color=RED,
            ),
            Cylinder(
                radius="0.1*ell",
                length="0.14*ell",
                frame=Placement(position=(0.0, 0.0, "0.48*ell")),
                color=METAL,
            ),
            *(
                Box(
                    size=("0.4*ell", "0.07*ell", "0.05*ell"),
                    frame=Placement(
                        position=(f"0.24*ell*cos({angle})", f"0.24*ell*sin({angle})", "0.48*ell"),
                        angles=(0.0, 0.0, angle),
                    ),
                    color=LIGHT if angle else ORANGE,
                )
                for angle in (0.0, pi / 2, pi, 3 * pi / 2)
            ),
        ),
    )
    b.joint(
        "sled",
        Planar(),
        parent="world",
        child="sled",
        description="blade's contact and heading, the paper's x, y, theta_1",
        symbols={"vx": "v_1", "vy": "ω_12", "angle": "θ_1"},
    )
    b.joint(
        "rotor",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="sled",
        child="rotor",
        description="angle of the rotor against the sled, the paper's theta_2",
        symbols={"angle": "θ_2"},
    )
    b.contact(KnifeEdge(name="blade", body="sled", direction=(1.0, 0.0, 0.0)))
    b.input("F_v1", "N", "force along the blade")
    b.input("tau1", "N*m", "torque from outside that turns the sled")
    b.input("tau2", "N*m", "torque of the sled on the rotor")
    b.force(Wrench(name="push", body="sled", force=("F_v1", 0.0, 0.0), axes="body"))
    b.force(Motor(name="turn", speed="sled.rate", input="tau1"))
    b.force(Motor(name="spin", speed="rotor.rate", input="tau2"))
    for speed in ("sled.vx", "sled.rate", "rotor.rate"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=5.0,
            samples=401,
            start={"sled.angle": 0.2, "sled.vx": 0.5, "sled.rate": 1.0, "rotor.rate": -2.0},
            inputs={"F_v1": 0.5, "tau1": "0.3*cos(t)", "tau2": "0.2*sin(2*t)"},
            description="Pushed along the blade while sled and rotor are twisted to both sides",
        )
    )
    return b.build()

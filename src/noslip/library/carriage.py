"""A two-wheeled carriage with a motor on each wheel [AntunesSigaudMoraes2010, appendix B]."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.forces import Motor
from noslip.joints import Planar, Revolute
from noslip.shapes import Box, Cylinder, Sphere
from noslip.surfaces import Disk
from noslip.model import BLUE, LIGHT, METAL, ORANGE, axle, wheel_shapes


def build() -> Model:
    """The carriage: axes at the middle of the axle, x forward, y to the left, mass center there.

    Wheel 1 is the right one, wheel 2 the left; positive wheel rates roll forward.
    """
    b = ModelBuilder(
        name="carriage",
        gravity=(0.0, 0.0, "-g"),
        description="Two-wheeled carriage with a motor on each wheel",
        references=("AntunesSigaudMoraes2010",),
        equation_numbers={
            "wheel1.lateral": "(B1)",
            "wheel2.lateral": "(B1)",
            "wheel1.longitudinal": "(B2)",
            "wheel2.longitudinal": "(B3)",
        },
    )
    b.parameter("M", 8.0, "kg", "mass of the carriage without wheels")
    b.parameter("I", 0.6, "kg*m^2", "moment of inertia of the carriage without wheels, vertical")
    b.parameter("m", 0.7, "kg", "mass of each wheel")
    b.parameter("I1", 0.01, "kg*m^2", "moment of inertia of a wheel about the axle")
    b.parameter("I2", 0.006, "kg*m^2", "moment of inertia of a wheel about a diameter")
    b.parameter("R", 0.15, "m", "wheel radius")
    b.parameter("a", 0.35, "m", "half the distance between the wheels")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "carriage",
        mass="M",
        moment="I",
        shapes=(
            Box(
                size=("1.25*a", "1.55*a", "0.35*R"),
                frame=Placement(position=("0.08*a", 0.0, "0.3*R")),
                color=BLUE,
            ),
            Box(
                size=("1.15*a", "1.45*a", "0.08*R"),
                frame=Placement(position=("0.08*a", 0.0, "0.5*R")),
                color=LIGHT,
            ),
            axle("2*a", "R/8", 0.0),
            Cylinder(
                radius="R/10",
                length="0.8*R",
                frame=Placement(position=("0.5*a", 0.0, "-0.3*R")),
                color=METAL,
            ),
            Sphere(radius="R/4", frame=Placement(position=("0.5*a", 0.0, "-0.75*R")), color=METAL),
            *(
                Box(
                    size=("0.06*a", "0.2*a", "0.16*R"),
                    frame=Placement(position=("0.71*a", f"{side}*0.55*a", "0.32*R")),
                    color=ORANGE,
                )
                for side in (1, -1)
            ),
        ),
    )
    b.joint(
        "carriage",
        Planar(),
        parent="world",
        child="carriage",
        parent_frame=Placement(position=(0.0, 0.0, "R")),
        description="middle of the axle and heading, the paper's x, y, phi; vx is its s'",
        symbols={"vx": "ṡ", "angle": "φ"},
    )
    for k, side in ((1, "-a"), (2, "a")):
        name = f"wheel{k}"
        b.body(
            name,
            mass="m",
            inertia=("I2", "I1", "I2"),
            shapes=wheel_shapes("R", "R/4", "y"),
        )
        b.joint(
            name,
            Revolute(axis=(0.0, 1.0, 0.0)),
            parent="carriage",
            child=name,
            parent_frame=Placement(position=(0.0, side, 0.0)),
            description=f"spin of wheel {k}, the paper's theta_{k}",
            symbols={"angle": f"θ_{k}"},
        )
        wheel = Disk(radius="R", axis=(0.0, 1.0, 0.0))
        b.contact(Rolling(name=name, body=name, wheel=wheel, normal=False))
        b.input(f"tau{k}", "N*m", f"motor torque on wheel {k}")
        b.force(Motor(name=f"motor{k}", speed=f"{name}.rate", input=f"tau{k}"))
    b.independent_speed("carriage.vx")
    b.independent_speed("carriage.rate")
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={"carriage.angle": 0.3, "carriage.vx": 0.4, "carriage.rate": -0.5},
            inputs={"tau1": "0.2 + 0.05*sin(t)", "tau2": "0.1*cos(2*t)"},
            description="Driven harder on the right than on the left",
        )
    )
    return b.build()

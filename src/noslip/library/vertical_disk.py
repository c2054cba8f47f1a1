"""A disk that rolls upright on a plane [AntunesSigaudMoraes2010, appendix A]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.forces import Motor
from noslip.joints import Planar, Revolute
from noslip.shapes import Box, Cylinder, Ring
from noslip.surfaces import Disk
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED, axle


def build() -> Model:
    """The disk on a massless fork that keeps it upright; fork axes with x along the heading.

    A positive spin rolls it forward: vx = R times the spin's rate.
    """
    b = ModelBuilder(
        name="vertical-disk",
        gravity=(0.0, 0.0, "-g"),
        description="Upright disk that rolls without slipping, driven and steered",
        references=("AntunesSigaudMoraes2010",),
        equation_numbers={
            "fork.x_rate": "(A2)",
            "fork.y_rate": "(A3)",
            "rim.lateral": "(A4)",
            "rim.longitudinal": "(A5)",
        },
    )
    b.parameter("m", 1.1, "kg", "mass")
    b.parameter("R", 0.3, "m", "radius")
    b.parameter("I1", 0.05, "kg*m^2", "moment of inertia about the axle")
    # at least half of I1, as of every body; the numbers that tests compare with are for 0.02
    b.parameter("I2", 0.026, "kg*m^2", "moment of inertia about a diameter")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "fork",
        mass=0.0,
        inertia=(0.0, 0.0, 0.0),
        shapes=(
            axle("R/3.2", "R/30", 0.0),
            *(
                Box(
                    size=("R/10", "R/30", "1.3*R"),
                    frame=Placement(position=(0.0, f"{side}*R/7", "0.6*R")),
                    color=METAL,
                )
                for side in (1, -1)
            ),
            Box(
                size=("R/8", "R/3", "R/14"),
                frame=Placement(position=(0.0, 0.0, "1.25*R")),
                color=METAL,
            ),
            Cylinder(
                radius="R/20",
                length="R/2",
                frame=Placement(position=(0.0, 0.0, "1.5*R")),
                color=DARK,
            ),
            Box(
                size=("R/2", "R/12", "R/12"),
                frame=Placement(position=("R/5", 0.0, "1.75*R")),
                color=RED,
            ),
        ),
    )
    b.body(
        "disk",
        mass="m",
        inertia=("I2", "I1", "I2"),
        shapes=(
            Cylinder(
                radius="0.98*R",
                length="R/14",
                frame=Placement(angles=(pi / 2, 0.0, 0.0)),
                color=BLUE,
            ),
            Ring(
                radius="0.95*R",
                tube_radius="0.05*R",
                frame=Placement(angles=(pi / 2, 0.0, 0.0)),
                color=DARK,
            ),
            *(
                Box(
                    size=("0.75*R", "R/12", "R/12"),
                    frame=Placement(
                        position=(f"0.5*R*cos({angle})", 0.0, f"-0.5*R*sin({angle})"),
                        angles=(0.0, angle, 0.0),
                    ),
                    color=LIGHT if angle else ORANGE,
                )
                for angle in (0.0, pi / 2, pi, 3 * pi / 2)
            ),
        ),
    )
    b.joint(
        "fork",
        Planar(),
        parent="world",
        child="fork",
        parent_frame=Placement(position=(0.0, 0.0, "R")),
        description="place and heading, the paper's x, y, phi; vx is its s'",
        symbols={"vx": "ṡ", "angle": "φ"},
    )
    b.joint(
        "spin",
        Revolute(axis=(0.0, 1.0, 0.0)),
        parent="fork",
        child="disk",
        description="rolled angle, the paper's theta",
        symbols={"angle": "θ"},
    )
    wheel = Disk(radius="R", axis=(0.0, 1.0, 0.0))
    b.contact(Rolling(name="rim", body="disk", wheel=wheel, normal=False))
    b.input("tau_theta", "N*m", "torque about the axle")
    b.input("tau_phi", "N*m", "torque about the vertical")
    b.force(Motor(name="drive", speed="spin.rate", input="tau_theta"))
    b.force(Motor(name="steering", speed="fork.rate", input="tau_phi"))
    b.independent_speed("fork.vx")
    b.independent_speed("fork.rate")
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={"fork.angle": 0.3, "fork.vx": 0.4, "fork.rate": -0.5},
            inputs={"tau_theta": 0.05, "tau_phi": 0.01},
            description="Driven and turned by constant torques",
        )
    )
    return b.build()

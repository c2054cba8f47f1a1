"""The systems of Antunes, Sigaud and Moraes: a carriage, a sleigh and an upright disk.

**A two-wheeled carriage with a motor on each wheel [AntunesSigaudMoraes2010, appendix B].**

**The Chaplygin sleigh: a body on a blade and two smooth legs [AntunesSigaudMoraes2010].**

**A disk that rolls upright on a plane [AntunesSigaudMoraes2010, appendix A].**
"""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge, Rolling
from noslip.forces import Motor, Wrench
from noslip.joints import Planar, Revolute
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED, axle, wheel_shapes
from noslip.shapes import Box, Cylinder, Ring, Sphere
from noslip.surfaces import Disk


def carriage() -> Model:
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


def chaplygin_sleigh() -> Model:
    """The sleigh: origin at the blade's contact, x along the blade, its mass center ahead."""
    b = ModelBuilder(
        name="chaplygin-sleigh",
        gravity=(0.0, 0.0, "-g"),
        description="Chaplygin sleigh with its mass center ahead of the blade",
        references=("AntunesSigaudMoraes2010",),
        equation_numbers={
            "sleigh.x_rate": "(7)",
            "sleigh.y_rate": "(7)",
            "blade.lateral": "(8)",
            "sleigh.vx": "(D12), (D13)",
            "sleigh.rate": "(D14)",
        },
    )
    b.parameter("m", 1.5, "kg", "mass")
    b.parameter("a", 0.4, "m", "blade's contact to the mass center, forward")
    b.parameter("I", 0.5, "kg*m^2", "moment of inertia about the mass center")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "sleigh",
        mass="m",
        moment="I",
        center_of_mass=("a", 0.0, 0.0),
        shapes=(
            Box(
                size=("2.3*a", "1.2*a", "0.07*a"),
                frame=Placement(position=("0.85*a", 0.0, "0.3*a")),
                color=BLUE,
            ),
            Box(
                size=("0.6*a", "0.03*a", "0.2*a"),
                frame=Placement(position=(0.0, 0.0, "0.1*a")),
                color=METAL,
            ),
            Box(
                size=("0.3*a", "0.12*a", "0.08*a"),
                frame=Placement(position=(0.0, 0.0, "0.23*a")),
                color=DARK,
            ),
            *(
                Cylinder(
                    radius="0.04*a",
                    length="0.26*a",
                    frame=Placement(position=("1.8*a", f"{side}*0.5*a", "0.17*a")),
                    color=METAL,
                )
                for side in (1, -1)
            ),
            *(
                Sphere(
                    radius="0.07*a",
                    frame=Placement(position=("1.8*a", f"{side}*0.5*a", "0.07*a")),
                    color=LIGHT,
                )
                for side in (1, -1)
            ),
            Cylinder(
                radius="0.2*a",
                length="0.16*a",
                frame=Placement(position=("a", 0.0, "0.42*a")),
                color=RED,
            ),
            Box(
                size=("0.12*a", "0.8*a", "0.05*a"),
                frame=Placement(position=("1.9*a", 0.0, "0.35*a")),
                color=ORANGE,
            ),
        ),
    )
    b.joint(
        "sleigh",
        Planar(),
        parent="world",
        child="sleigh",
        description="blade's contact and heading, the paper's x, y, phi; vx is its s'",
        symbols={"vx": "ṡ", "angle": "φ"},
    )
    b.contact(KnifeEdge(name="blade", body="sleigh", direction=(1.0, 0.0, 0.0)))
    b.input("F_cs", "N", "force at the mass center along the blade")
    b.input("F_cphi", "N", "force at the mass center across the blade, to the left")
    b.input("tau_c", "N*m", "torque")
    b.force(
        Wrench(
            name="control",
            body="sleigh",
            force=("F_cs", "F_cphi", 0.0),
            moment=(0.0, 0.0, "tau_c"),
            point=("a", 0.0, 0.0),
            axes="body",
        )
    )
    b.independent_speed("sleigh.vx")
    b.independent_speed("sleigh.rate")
    b.scenario(
        Scenario(
            duration=5.0,
            samples=401,
            start={"sleigh.angle": 0.2, "sleigh.vx": 0.3, "sleigh.rate": 1.5},
            description="Set spinning and left alone: it ends up moving straight ahead",
        )
    )
    return b.build()


def vertical_disk() -> Model:
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

"""The systems of Saha and Angeles: a guided vehicle and a rolling disk.

**The three-wheeled guided vehicle with two driven wheels and a caster [SahaAngeles1989].**

**A thin disk that rolls on a horizontal plane without slipping [SahaAngeles1991, section 5].**
"""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Parameter, Placement, Scenario
from noslip.contacts import Rolling
from noslip.forces import Motor
from noslip.joints import Angles, Free, Planar, Revolute
from noslip.model import BLUE, DARK, GLASS, LIGHT, METAL, ORANGE, Vector3, wheel_shapes
from noslip.shapes import AbstractShape, Box, Cylinder, Ring
from noslip.surfaces import Disk


def agv() -> Model:
    """The vehicle: platform axes i (right), j (to the caster), k (up), origin at its mass center.

    Positive wheel rates roll it towards −j. The caster trails: its wheel sits d behind the pivot.
    """
    b = ModelBuilder(
        name="agv",
        gravity=(0.0, 0.0, "-g"),
        description="Three-wheeled guided vehicle with two driven wheels and a caster",
        references=("SahaAngeles1989", "SahaAngeles1991"),
        equation_numbers={
            "platform.x_rate": "(8b)",
            "platform.y_rate": "(8c)",
            "platform.vx": "(3)",
            "platform.vy": "(3)",
            "platform.rate": "(8a)",
            "wheel3.longitudinal": "(25b)",
            "wheel3.lateral": "(25b)",
            "bracket.rate": "(26)",
            "wheel3.rate": "(26)",
            "wheel1.rate": "(29)",
            "wheel2.rate": "(29)",
        },
    )
    b.parameter("l", 0.4, "m", "distance between the driven wheels")
    b.parameter("r", 0.05, "m", "wheel radius")
    b.parameter("a", 0.1010, "m", "mass center to the driven axle")
    b.parameter("b", 0.2020, "m", "mass center to the caster pivot")
    b.parameter("d", 0.025, "m", "caster trail: pivot to wheel center")
    b.parameter("h", 0.1, "m", "height of the platform's mass center")
    b.parameter("m_wheel", 2.0, "kg", "mass of each wheel", "m_w")
    b.parameter("I_spin", 0.0025, "kg*m^2", "wheel inertia about its axis", "I_a")
    b.parameter("I_diameter", 0.00125, "kg*m^2", "wheel inertia about a diameter", "I_t")
    b.parameter("m_platform", 20.0, "kg", "mass of the platform", "m_p")
    b.parameter("I_x", 0.7083, "kg*m^2", "platform inertia about i")
    b.parameter("I_y", 0.7083, "kg*m^2", "platform inertia about j")
    b.parameter("I_z", 0.4083, "kg*m^2", "platform inertia about k")
    b.parameter("g", 9.81, "m/s^2", "gravity")

    b.body(
        "platform",
        mass="m_platform",
        inertia=("I_x", "I_y", "I_z"),
        shapes=_platform(),
    )
    b.body(
        "bracket",
        mass=0.0,
        inertia=(0.0, 0.0, 0.0),
        shapes=(
            *(
                Box(
                    size=("r/10", "r/2", "1.3*r"),
                    frame=Placement(position=(f"{side}*0.36*r", "-d", "r/2")),
                    color=METAL,
                )
                for side in (1, -1)
            ),
            Box(
                size=("0.82*r", "d+0.9*r", "r/8"),
                frame=Placement(position=(0.0, "-d/2", "1.1*r")),
                color=METAL,
            ),
            Cylinder(
                radius="r/5",
                length="r/2",
                frame=Placement(position=(0.0, 0.0, "1.2*r")),
                color=DARK,
            ),
        ),
    )
    b.joint(
        "platform",
        Planar(),
        parent="world",
        child="platform",
        parent_frame=Placement(position=(0.0, 0.0, "h")),
        description="pose of the platform's mass center; angle is the paper's beta",
        symbols={"x": "X", "y": "Y", "angle": "β", "vx": "ẋ", "vy": "ẏ", "rate": "ω"},
    )
    b.joint(
        "bracket",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="platform",
        child="bracket",
        parent_frame=Placement(position=(0.0, "b", "r-h")),
        description="caster angle, the paper's psi",
        symbols={"angle": "ψ"},
    )
    places: dict[str, tuple[str, Vector3]] = {
        "wheel1": ("platform", ("-l/2", "-a", "r-h")),
        "wheel2": ("platform", ("l/2", "-a", "r-h")),
        "wheel3": ("bracket", (0.0, "-d", 0.0)),
    }
    for name, (parent, position) in places.items():
        b.body(
            name,
            mass="m_wheel",
            inertia=("I_spin", "I_diameter", "I_diameter"),
            shapes=wheel_shapes("r", "r/2", "x"),
        )
        b.joint(
            name,
            Revolute(axis=(1.0, 0.0, 0.0)),
            parent=parent,
            child=name,
            parent_frame=Placement(position=position),
            description=f"spin of wheel {name[-1]}, the paper's theta_{name[-1]}",
            symbols={"angle": f"θ_{name[-1]}"},
        )
        # the planar joint keeps the height, so the normal rows are left out
        wheel = Disk(radius="r", axis=(1.0, 0.0, 0.0))
        b.contact(Rolling(name=name, body=name, wheel=wheel, normal=False))
    for k in (1, 2):
        b.input(f"torque{k}", "N*m", f"motor torque on wheel {k}")
        b.force(Motor(name=f"motor{k}", speed=f"wheel{k}.rate", input=f"torque{k}"))
        b.independent_speed(f"wheel{k}.rate")
    b.scenario(
        Scenario(
            duration=60.0,
            samples=601,
            parameters=(
                Parameter(name="R", value=1.0, unit="m", description="radius of the circle"),
                Parameter(name="T", value=60.0, unit="s", description="time for one turn"),
            ),
            definitions={
                "progress": "min(t/T, 1)",
                "beta": "2*pi*(10*progress^3 - 15*progress^4 + 6*progress^5)",
                "rho": "sqrt(R^2 - a^2)",
            },
            motion={
                "platform.x": "rho*cos(beta) - a*sin(beta)",
                "platform.y": "rho*sin(beta) + a*cos(beta)",
                "platform.angle": "beta",
            },
            description="The mass center follows a circle once, from rest to rest, sweep angle a "
            "fifth-order polynomial of time; torques from inverse dynamics",
        )
    )
    return b.build()


def _platform() -> tuple[AbstractShape, ...]:
    """Chassis, deck, axle, a scanner, and lamps where it drives to when its wheels turn forward."""
    return (
        Box(
            size=("0.84*l", "a+b+1.5*r", "0.35*h"),
            frame=Placement(position=(0.0, "(b-a)/2", "0.25*h")),
            color=BLUE,
        ),
        Box(
            size=("0.74*l", "a+b+0.9*r", "0.08*h"),
            frame=Placement(position=(0.0, "(b-a)/2", "0.45*h")),
            color=LIGHT,
        ),
        Cylinder(
            radius="r/8",
            length="l",
            frame=Placement(position=(0.0, "-a", "r-h"), angles=(0.0, pi / 2, 0.0)),
            color=METAL,
        ),
        *(
            Box(
                size=("r/3", "r", "h-r+0.1*h"),
                frame=Placement(position=(f"{side}*0.35*l", "-a", "(r-h)/2")),
                color=METAL,
            )
            for side in (1, -1)
        ),
        Cylinder(
            radius="0.8*r",
            length="0.4*h",
            frame=Placement(position=(0.0, "-0.6*a", "0.68*h")),
            color=DARK,
        ),
        Cylinder(
            radius="0.82*r",
            length="0.1*h",
            frame=Placement(position=(0.0, "-0.6*a", "0.75*h")),
            color=ORANGE,
        ),
        *(
            Box(
                size=("0.14*l", "0.06*l", "0.12*h"),
                frame=Placement(position=(f"{side}*0.28*l", "-a-0.75*r", "0.27*h")),
                color=GLASS,
            )
            for side in (1, -1)
        ),
    )


def rolling_disk() -> Model:
    """The disk: axis along its body z, orientation R = Rz(yaw) Rx(tilt) Rz(spin).

    `tilt` is the angle between the disk's plane and the ground, π/2 when it stands upright. A
    negative spin rate rolls it towards +x at zero yaw.
    """
    b = ModelBuilder(
        name="rolling-disk",
        gravity=(0.0, 0.0, "-g"),
        description="A thin uniform disk rolling on a plane without slipping",
        references=("SahaAngeles1991",),
        equation_numbers={
            "rim.longitudinal": "(31)",
            "rim.lateral": "(31)",
            "rim.normal": "(31)",
            "disk.x_rate": "(28)",
            "disk.y_rate": "(28)",
            "disk.z_rate": "(28)",
            "disk.yaw_rate": "(35)",
            "disk.tilt_rate": "(35)",
            "disk.spin_rate": "(35)",
        },
    )
    b.parameter("m", 2.0, "kg", "mass")
    b.parameter("r", 0.5, "m", "radius")
    b.parameter("I_axial", 0.25, "kg*m^2", "moment of inertia about the disk's axis", "I_a")
    b.parameter("I_transverse", 0.125, "kg*m^2", "moment of inertia about a diameter", "I_t")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "disk",
        mass="m",
        inertia=("I_transverse", "I_transverse", "I_axial"),
        shapes=(
            Cylinder(radius="0.98*r", length="r/30", color=BLUE),
            Ring(radius="0.97*r", tube_radius="0.03*r", color=DARK),
            Cylinder(radius="0.1*r", length="r/14", color=METAL),
            *(
                Box(
                    size=("0.75*r", "r/14", "r/24"),
                    frame=Placement(
                        position=(f"0.525*r*cos({angle})", f"0.525*r*sin({angle})", 0.0),
                        angles=(0.0, 0.0, angle),
                    ),
                    color=LIGHT if angle else ORANGE,
                )
                for angle in (0.0, pi / 2, pi, 3 * pi / 2)
            ),
        ),
    )
    b.joint(
        "disk",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="disk",
        description="yaw: heading; tilt: angle between disk and ground; spin: about its axis",
    )
    b.contact(Rolling(name="rim", body="disk", wheel=Disk(radius="r", axis=(0.0, 0.0, 1.0))))
    for speed in ("disk.wx", "disk.wy", "disk.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=5.0,
            samples=501,
            start={
                "disk.yaw": 0.0,
                "disk.tilt": 1.4,
                "disk.spin": 0.0,
                "disk.yaw_rate": 0.3,
                "disk.tilt_rate": 0.1,
                "disk.spin_rate": -8.0,
                "disk.x": 0.0,
                "disk.y": "r*cos(1.4)",
            },
            description="A disk set rolling nearly upright, its contact point at the origin",
        )
    )
    return b.build()

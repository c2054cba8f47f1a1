"""The Chaplygin sleigh: a body on a blade and two smooth legs [AntunesSigaudMoraes2010]."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import Wrench
from noslip.joints import Planar
from noslip.shapes import Box, Cylinder, Sphere
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED


def build() -> Model:
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

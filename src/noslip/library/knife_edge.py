"""A skate on a slope: the simplest nonholonomic joint [CameronBook1993, section 4.1]."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import Motor, Wrench
from noslip.joints import Planar
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE


def build() -> Model:
    """The skate: origin at the blade's contact, x along the blade; the world's x points downhill.

    With its mass center over the blade it turns at a constant rate and, let go with a spin, walks
    across the slope on a cycloid without getting lower on the whole.
    """
    b = ModelBuilder(
        name="knife-edge",
        gravity=("g*sin(slope)", 0.0, "-g*cos(slope)"),
        description="Knife edge on an inclined plane",
        references=("CameronBook1993",),
        equation_numbers={
            "skate.x_rate": "(54)",
            "skate.y_rate": "(54)",
            "blade.lateral": "(56)",
            "skate.vx": "(58)",
            "skate.rate": "(59)",
        },
    )
    b.parameter("m", 1.2, "kg", "mass")
    b.parameter("J", 0.05, "kg*m^2", "moment of inertia about the mass center")
    b.parameter("a", 0.0, "m", "blade's contact to the mass center, forward")
    b.parameter("slope", 0.25, "rad", "inclination of the plane, downhill along x", "α")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "skate",
        mass="m",
        moment="J",
        center_of_mass=("a", 0.0, 0.0),
        shapes=_skate(),
    )
    b.joint(
        "skate",
        Planar(),
        parent="world",
        child="skate",
        description="contact point and heading of the blade, the paper's x, y, theta",
        symbols={"vx": "v", "vy": "ω_2", "angle": "θ"},
    )
    b.contact(KnifeEdge(name="blade", body="skate", direction=(1.0, 0.0, 0.0)))
    b.input("F_v", "N", "force along the blade")
    b.input("tau", "N*m", "torque that turns the blade")
    b.force(Wrench(name="push", body="skate", force=("F_v", 0.0, 0.0), axes="body"))
    b.force(Motor(name="turn", speed="skate.rate", input="tau"))
    b.independent_speed("skate.vx")
    b.independent_speed("skate.rate")
    b.scenario(
        Scenario(
            duration=8.0,
            samples=401,
            start={"skate.rate": 1.5},
            description="Let go on the slope with a spin: it walks across on a cycloid",
        )
    )
    return b.build()


def _skate() -> tuple[AbstractShape, ...]:
    """A blade on two posts, sole, shoe and ankle, the toe ahead; lengths in m."""
    return (
        Box(size=(0.4, 0.008, 0.03), frame=Placement(position=(0.0, 0.0, 0.015)), color=METAL),
        *(
            Box(size=(0.05, 0.02, 0.04), frame=Placement(position=(x, 0.0, 0.045)), color=LIGHT)
            for x in (-0.1, 0.1)
        ),
        Box(size=(0.32, 0.09, 0.015), frame=Placement(position=(0.0, 0.0, 0.07)), color=DARK),
        Box(size=(0.22, 0.085, 0.07), frame=Placement(position=(-0.03, 0.0, 0.11)), color=BLUE),
        Cylinder(
            radius=0.0425,
            length=0.066,
            frame=Placement(position=(0.09, 0.0, 0.109)),
            color=BLUE,
        ),
        Sphere(radius=0.04, frame=Placement(position=(0.115, 0.0, 0.105)), color=ORANGE),
        Cylinder(
            radius=0.048, length=0.12, frame=Placement(position=(-0.085, 0.0, 0.19)), color=BLUE
        ),
        Cylinder(
            radius=0.052, length=0.02, frame=Placement(position=(-0.085, 0.0, 0.245)), color=ORANGE
        ),
    )

"""A rattleback: a stone that spins one way and turns back when it is spun the other way."""

from __future__ import annotations

from math import cos, pi, sin

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.joints import Angles, Free
from noslip.shapes import AbstractShape, Box, Turned
from noslip.surfaces import Ellipsoid
from noslip.model import BLUE, ORANGE


def _hull() -> tuple[AbstractShape, ...]:
    """The lower half of the ellipsoid with a flat deck, and a mark on it."""
    below = [k * pi / 24 - pi / 2 for k in range(13)]
    return (
        Turned(
            radii=(*(cos(a) for a in below), 1.0, 0.0),
            heights=(*(sin(a) for a in below), 0.0, 0.0),
            stretch=("a", "b", "c"),
            color=BLUE,
        ),
        Box(
            size=("0.5*a", "0.3*b", "0.1*c"),
            frame=Placement(position=("0.5*a", 0.0, 0.0)),
            color=ORANGE,
        ),
    )


def build() -> Model:
    """The stone of the reference: an ellipsoid, its principal axes turned against those of inertia.

    R = Rz(yaw) Rx(roll) Ry(pitch); x along the stone, z up. The product of inertia `D` is what
    couples spinning with rattling.
    """
    b = ModelBuilder(
        name="rattleback",
        gravity=(0.0, 0.0, "-g"),
        description="A rattleback: spun against its sense, it rattles and turns back",
        references=("KaneLevinson1982",),
    )
    b.parameter("m", 1.0, "kg", "mass")
    b.parameter("a", 0.2, "m", "semi-axis of the ellipsoid along the stone")
    b.parameter("b", 0.03, "m", "semi-axis across it")
    b.parameter("c", 0.02, "m", "semi-axis upwards")
    b.parameter("h", 0.01, "m", "mass center below that of the ellipsoid")
    b.parameter("A", 2e-4, "kg*m^2", "inertia about the long axis")
    b.parameter("B", 1.6e-3, "kg*m^2", "inertia about the axis across")
    b.parameter("C", 1.7e-3, "kg*m^2", "inertia about the vertical axis")
    b.parameter("D", -2e-5, "kg*m^2", "product of inertia of the two level axes")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "stone",
        mass="m",
        inertia=("A", "B", "C", "D", 0.0, 0.0),
        center_of_mass=(0.0, 0.0, "-h"),
        shapes=_hull(),
    )
    b.joint(
        "stone",
        Free(angles=Angles(sequence="zxy", names=("yaw", "roll", "pitch"))),
        parent="world",
        child="stone",
        description="yaw: about the vertical; roll: about the long axis; pitch: up and down",
    )
    b.contact(Rolling(name="touch", body="stone", wheel=Ellipsoid(size=("a", "b", "c"))))
    for speed in ("stone.wx", "stone.wy", "stone.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=10.0,
            samples=1001,
            start={
                "stone.yaw": 0.0,
                "stone.roll": 0.01,
                "stone.pitch": 0.01,
                "stone.yaw_rate": -5.0,
            },
            description="Spun the wrong way at 5 rad/s, it rattles and turns back within 4 s",
        )
    )
    return b.build()

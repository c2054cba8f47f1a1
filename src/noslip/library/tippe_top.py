"""A tippe top: it slips, and turns over because of it."""

from __future__ import annotations

from math import cos, pi, sin

from noslip import Model, ModelBuilder, Scenario
from noslip.contacts import Rolling
from noslip.joints import Angles, Free
from noslip.shapes import AbstractShape, Turned
from noslip.surfaces import Ball
from noslip.model import BLUE, ORANGE


def _top() -> tuple[AbstractShape, ...]:
    """A ball that is cut off above its center, with a stem that stays within the ball."""
    cut = 0.42
    below = [-pi / 2 + k * (pi / 2 + cut) / 12 for k in range(13)]
    scale = ("r", "r", "r")
    return (
        Turned(
            radii=(*(cos(a) for a in below), 0.0),
            heights=(*(sin(a) for a in below), sin(cut)),
            stretch=scale,
            color=BLUE,
        ),
        Turned(
            radii=(0.2, 0.2, 0.28, 0.0),
            heights=(sin(cut), 0.8, 0.94, 0.96),
            stretch=scale,
            color=ORANGE,
        ),
    )


def build() -> Model:
    """A ball whose mass center is below its middle; R = Rz(yaw) Rx(tilt) Rz(spin).

    It slides with friction all the while it rises, so that it runs by Coulomb's law. Whatever the
    force at its contact, [CohenR1977] L·(a e − r n) keeps its value: Jellett's integral.
    """
    b = ModelBuilder(
        name="tippe-top",
        gravity=(0.0, 0.0, "-g"),
        description="A tippe top: spun fast, it slips, rises and stands on its head",
        references=("CohenR1977",),
    )
    b.parameter("m", 0.02, "kg", "mass")
    b.parameter("r", 0.02, "m", "radius")
    b.parameter("a", 0.006, "m", "mass center below the middle of the ball")
    b.parameter("mu", 0.3, "1", "friction on the ground", "\\mu")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "top",
        mass="m",
        inertia=("131/350*m*r^2", "131/350*m*r^2", "2/5*m*r^2"),
        center_of_mass=(0.0, 0.0, "-a"),
        shapes=_top(),
    )
    b.joint(
        "top",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="top",
        description="yaw: heading; tilt: of its axis from the vertical; spin: about its axis",
    )
    b.contact(Rolling(name="tip", body="top", wheel=Ball(radius="r"), friction="mu"))
    for speed in ("top.wx", "top.wy", "top.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=3.0,
            samples=601,
            start={
                "top.yaw": 0.0,
                "top.tilt": 0.1,
                "top.spin": 0.0,
                "top.yaw_rate": 180.0,
                "top.tilt_rate": 0.0,
                "top.spin_rate": 0.0,
            },
            contact="coulomb",
            description="Spun at 180 rad/s about the vertical, it turns over within a second",
        )
    )
    return b.build()

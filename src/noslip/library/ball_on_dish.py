"""A ball on a dish that spins: what no table can do, it stays on it without friction of rolling."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Plane, Rolling
from noslip.forces import Motor
from noslip.grounds import RevolvedGround
from noslip.joints import Revolute
from noslip.shapes import Box, Turned
from noslip.surfaces import Ball
from noslip.library.ball_in_bowl import add_ball
from noslip.model import LIGHT, ORANGE


def build() -> Model:
    """A shallow dish of height s r²/2 on a vertical axle with a motor, and a ball."""
    b = ModelBuilder(
        name="ball-on-dish",
        gravity=(0.0, 0.0, "-g"),
        description="A ball that rolls on a spinning dish, which feels it",
        references=("BorisovMamaevKilin2002",),
    )
    b.parameter("m", 0.5, "kg", "mass of the ball")
    b.parameter("r_ball", 0.06, "m", "radius of the ball", "r_b")
    b.parameter("J", 0.2, "kg*m^2", "inertia of the dish about its axle")
    b.parameter("r_dish", 0.8, "m", "radius of the dish", "r_d")
    b.parameter("s", 0.15, "1/m", "curvature of the dish")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    radii = tuple(f"{share}*r_dish" for share in (1.0, 0.75, 0.5, 0.25, 0.0))
    b.body(
        "dish",
        mass=5.0,
        inertia=("J/2", "J/2", "J"),
        shapes=(
            Turned(radii=radii, heights=tuple(f"s/2*({r})^2" for r in radii), color=LIGHT),
            Box(
                size=("0.1*r_dish", "0.1*r_dish", "0.012*r_dish"),
                frame=Placement(position=("0.88*r_dish", 0.0, "s/2*(0.88*r_dish)^2")),
                color=ORANGE,
            ),
        ),
    )
    b.joint(
        "dish",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="world",
        child="dish",
        description="turning of the dish about its axle",
    )
    add_ball(b)
    b.contact(
        Rolling(
            name="touch",
            body="ball",
            wheel=Ball(radius="r_ball"),
            plane=Plane(body="dish"),
            ground=RevolvedGround(z="s/2*r^2", extent="r_dish"),
        )
    )
    b.input("torque", "N*m", "motor torque on the dish", "τ")
    b.force(Motor(name="motor", speed="dish.rate", input="torque"))
    for speed in ("dish.rate", "ball.wx", "ball.wy", "ball.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=10.0,
            samples=501,
            start={"dish.rate": 3.0, "ball.x": 0.25, "ball.y": 0.0, "ball.wx": 0.0, "ball.wy": 0.0},
            description="Put down on the dish as it spins at 3 rad/s, the ball circles on it",
        )
    )
    return b.build()

"""A ball that rolls in a bowl without slipping."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Scenario
from noslip.contacts import Rolling
from noslip.grounds import RevolvedGround
from noslip.joints import Free
from noslip.shapes import Ring, Sphere
from noslip.surfaces import Ball
from noslip.model import LIGHT, RED


def add_ball(b: ModelBuilder) -> None:
    """A solid ball of mass m and radius r_ball that moves freely, with a ring to see it turn."""
    moment = "0.4*m*r_ball^2"
    b.body(
        "ball",
        mass="m",
        inertia=(moment, moment, moment),
        shapes=(
            Sphere(radius="r_ball", color=RED),
            Ring(radius="r_ball", tube_radius="r_ball/30", color=LIGHT),
        ),
    )
    b.joint(
        "ball",
        Free(),
        parent="world",
        child="ball",
        description="middle of the ball and its orientation",
    )


def build() -> Model:
    """A bowl of height s r²/2 about the vertical; s is the curvature of its bottom."""
    b = ModelBuilder(
        name="ball-in-bowl",
        gravity=(0.0, 0.0, "-g"),
        description="A ball that rolls through a bowl without slipping",
        references=("BorisovMamaevKilin2002",),
    )
    b.parameter("m", 1.0, "kg", "mass of the ball")
    b.parameter("r_ball", 0.1, "m", "radius of the ball", "r_b")
    b.parameter("s", 1.2, "1/m", "curvature of the bottom of the bowl")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    add_ball(b)
    b.contact(
        Rolling(
            name="touch",
            body="ball",
            wheel=Ball(radius="r_ball"),
            ground=RevolvedGround(z="s/2*r^2", extent=0.9),
        )
    )
    for speed in ("ball.wx", "ball.wy", "ball.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=8.0,
            samples=401,
            start={"ball.x": 0.6, "ball.y": 0.0, "ball.wx": -6.0, "ball.wy": 0.0, "ball.wz": 0.0},
            description="Set rolling along the wall, it goes round and past the bottom",
        )
    )
    return b.build()

"""A planar arm with two links under gravity [DeSantis1994, section 7]."""

from __future__ import annotations

from noslip import Model, Scenario
from noslip.library.planar_arm import planar_arm


def build() -> Model:
    """The arm: x horizontal, gravity along −y, first angle from the x axis, the second relative."""
    b = planar_arm(
        name="manipulator-2r",
        description="Planar arm with two revolute joints in the vertical plane",
        links=((3.0, 0.5, 0.25, 0.0625), (2.0, 0.4, 0.2, 0.0267)),
    )
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            start={"joint1.angle": 0.2, "joint2.angle": 0.5},
            description="Released from rest without torques: a double pendulum",
        )
    )
    return b.build()

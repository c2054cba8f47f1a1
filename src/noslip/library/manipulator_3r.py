"""A planar arm with three links under gravity [DeSantis1994, section 7]."""

from __future__ import annotations

from noslip import Model, Scenario
from noslip.library.planar_arm import planar_arm


def build() -> Model:
    """The arm: x horizontal, gravity along −y, first angle from the x axis, the others relative."""
    b = planar_arm(
        name="manipulator-3r",
        description="Planar arm with three revolute joints in the vertical plane",
        links=((3.0, 0.5, 0.25, 0.0625), (2.0, 0.4, 0.2, 0.0267), (1.0, 0.2, 0.1, 0.0033)),
    )
    b.scenario(
        Scenario(
            duration=1.0,
            samples=401,
            start={"joint1.angle": 0.2, "joint2.angle": 0.5, "joint3.angle": -0.3},
            inputs={"tau1": 5.0, "tau2": 1.0, "tau3": 0.2},
            description="Let go from rest under constant torques that do not hold it",
        )
    )
    return b.build()

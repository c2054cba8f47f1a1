"""A coin that rolls down a funnel on its edge."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.grounds import RevolvedGround
from noslip.joints import Angles, Free
from noslip.shapes import Box, Cylinder, Ring
from noslip.surfaces import Disk
from noslip.model import DARK, LIGHT, ORANGE


def build() -> Model:
    """A funnel of height −d²/r and a thin coin, its axis z; R = Rz(yaw) Rx(tilt) Rz(spin)."""
    b = ModelBuilder(
        name="coin-in-funnel",
        gravity=(0.0, 0.0, "-g"),
        description="A coin that rolls round a funnel on its edge",
        references=("BorisovMamaev2002",),
    )
    b.parameter("m", 0.02, "kg", "mass of the coin")
    b.parameter("r_coin", 0.05, "m", "radius of the coin", "r_c")
    b.parameter("d", 0.22, "m", "size of the funnel: at this radius it is as deep, at 45 degrees")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "coin",
        mass="m",
        inertia=("m*r_coin^2/4", "m*r_coin^2/4", "m*r_coin^2/2"),
        shapes=(
            Cylinder(radius="0.97*r_coin", length="r_coin/14", color="#d9a441"),
            Ring(radius="0.96*r_coin", tube_radius="0.04*r_coin", color=DARK),
            *(
                Box(
                    size=("0.7*r_coin", "r_coin/10", "r_coin/9"),
                    frame=Placement(
                        position=(f"0.45*r_coin*cos({k})", f"0.45*r_coin*sin({k})", 0.0),
                        angles=(0.0, 0.0, k),
                    ),
                    color=LIGHT if k else ORANGE,
                )
                for k in (0.0, pi)
            ),
        ),
    )
    b.joint(
        "coin",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="coin",
        description="yaw: heading; tilt: angle between coin and horizon; spin: about its axis",
    )
    b.contact(
        Rolling(
            name="rim",
            body="coin",
            wheel=Disk(radius="r_coin", axis=(0.0, 0.0, 1.0)),
            ground=RevolvedGround(z="-d^2/r", extent=0.6, inner=0.12),
        )
    )
    for speed in ("coin.wx", "coin.wy", "coin.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={
                "coin.yaw": pi / 2,
                "coin.tilt": 1.336,
                "coin.spin": 0.0,
                "rim.x": 0.45,
                "rim.y": 0.0,
                "coin.spin_rate": -16.0,
                "coin.yaw_rate": 2.0,
                "coin.tilt_rate": 0.0,
            },
            description="Set rolling round the funnel on its edge",
        )
    )
    return b.build()

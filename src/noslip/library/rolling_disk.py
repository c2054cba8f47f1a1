"""A thin disk that rolls on a horizontal plane without slipping [SahaAngeles1991, section 5]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.joints import Angles, Free
from noslip.shapes import Box, Cylinder, Ring
from noslip.surfaces import Disk
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE


def build() -> Model:
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

"""A thin disk that rolls on a horizontal plane without slipping [SahaAngeles1991, section 5]."""

from __future__ import annotations

from noslip.model.bodies import Box, Cylinder, Placement
from noslip.model.contacts import Disk, Rolling
from noslip.model.joints import Angles, Free
from noslip.model.model import Model, ModelBuilder
from noslip.model.scenario import Scenario


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
    )
    b.parameter("m", 2.0, "kg", "mass")
    b.parameter("r", 0.5, "m", "radius")
    b.parameter("I_axial", 0.25, "kg*m^2", "moment of inertia about the disk's axis")
    b.parameter("I_transverse", 0.125, "kg*m^2", "moment of inertia about a diameter")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "disk",
        mass="m",
        inertia=("I_transverse", "I_transverse", "I_axial"),
        shapes=(
            Cylinder(radius="r", length="r/25", color="#4c78a8"),
            Box(
                size=("r", "r/10", "r/20"),
                frame=Placement(position=("r/2", 0.0, 0.0)),
                color="#f58518",
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

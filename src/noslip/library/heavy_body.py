"""A heavy body that turns about a fixed point [CameronBook1993, section 4.3]."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.forces import Wrench
from noslip.joints import Angles, Spherical
from noslip.shapes import Box, Cylinder, Sphere
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE


def build() -> Model:
    """The body: origin at the pivot, mass center off its axes, R = Rz(yaw) Ry(pitch) Rx(roll).

    Start and columns are in roll, pitch and yaw, which are singular at a pitch of ±π/2; the state
    is a quaternion, which is not.
    """
    b = ModelBuilder(
        name="heavy-body",
        gravity=(0.0, 0.0, "-g"),
        description="Rigid body on a ball joint under gravity, in roll, pitch and yaw",
        references=("CameronBook1993",),
        equation_numbers={
            **{f"pivot.{name}_rate": "(72)" for name in ("roll", "pitch", "yaw")},
            **{"pivot.wx": "(74)", "pivot.wy": "(75)", "pivot.wz": "(76)"},
        },
    )
    b.parameter("m", 1.5, "kg", "mass")
    b.parameter("s_x", 0.1, "m", "pivot to mass center along x")
    b.parameter("s_y", -0.05, "m", "pivot to mass center along y")
    b.parameter("s_z", 0.2, "m", "pivot to mass center along z")
    for name, value in {
        "xx": 0.8,
        "yy": 1.1,
        "zz": 0.6,
        "xy": 0.05,
        "xz": -0.02,
        "yz": 0.03,
    }.items():
        b.parameter(f"J_{name}", value, "kg*m^2", "entry of the inertia tensor about the pivot")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "body",
        mass="m",
        # about the mass center: J − m (s·s 1 − s sᵀ)
        inertia=(
            "J_xx - m*(s_y^2 + s_z^2)",
            "J_yy - m*(s_x^2 + s_z^2)",
            "J_zz - m*(s_x^2 + s_y^2)",
            "J_xy + m*s_x*s_y",
            "J_xz + m*s_x*s_z",
            "J_yz + m*s_y*s_z",
        ),
        center_of_mass=("s_x", "s_y", "s_z"),
        shapes=(
            Sphere(radius=0.06, color=DARK),
            Cylinder(
                radius=0.03,
                length="abs(s_z)",
                frame=Placement(position=(0.0, 0.0, "s_z/2")),
                color=METAL,
            ),
            Box(
                size=(0.5, 0.34, 0.12), frame=Placement(position=("s_x", "s_y", "s_z")), color=BLUE
            ),
            Box(
                size=(0.12, 0.1, 0.07),
                frame=Placement(position=("s_x+0.3", "s_y", "s_z")),
                color=ORANGE,
            ),
            Cylinder(
                radius=0.1,
                length=0.02,
                frame=Placement(position=("s_x", "s_y", "s_z+0.065")),
                color=LIGHT,
            ),
        ),
    )
    b.joint(
        "pivot",
        Spherical(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="world",
        child="body",
        description="orientation; roll, pitch, yaw are the paper's phi, theta, psi",
    )
    for axis in "xyz":
        b.input(f"tau_{axis}", "N*m", f"torque about the body's {axis} axis")
        b.independent_speed(f"pivot.w{axis}")
    b.force(Wrench(name="torque", body="body", moment=("tau_x", "tau_y", "tau_z"), axes="body"))
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            start={
                "pivot.roll": 0.3,
                "pivot.pitch": -0.2,
                "pivot.yaw": 0.5,
                "pivot.wx": 0.4,
                "pivot.wy": 0.3,
                "pivot.wz": -0.6,
            },
            description="Let go leaning: it falls over and swings through",
        )
    )
    return b.build()

"""A spherical robot: a shell that rolls on the floor, driven by a steered wheel inside it."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Plane, Rolling
from noslip.forces import Motor
from noslip.grounds import SphereGround
from noslip.joints import Angles, Free, Revolute, Spherical
from noslip.shapes import Cylinder, Ring
from noslip.surfaces import Ball, Disk
from noslip.model import BLUE, METAL, ORANGE, RED, box, wheel_shapes


def build() -> Model:
    """A cart hangs in the middle of the shell; its wheel rolls inside without slipping.

    The cart carries a fork that a motor steers about the vertical axis of the cart, and the fork
    the wheel. The cart is held at the middle of the shell by a ball joint, which takes the place of
    the springs that press real ones against it, so that the wheel needs no normal row.
    """
    b = ModelBuilder(
        name="spherical-robot",
        gravity=(0.0, 0.0, "-g"),
        description="A shell that rolls on the floor, driven by a steered wheel that rolls in it",
        references=("HalmeSchonbergWang1996",),
    )
    b.parameter("R", 0.3, "m", "outer radius of the shell")
    b.parameter("d", 0.01, "m", "thickness of the shell")
    b.parameter("r", 0.08, "m", "radius of the wheel")
    b.parameter("m_shell", 2.0, "kg", "mass of the shell", "m_s")
    b.parameter("m_cart", 4.0, "kg", "mass of the cart", "m_c")
    b.parameter("m_wheel", 0.3, "kg", "mass of the wheel", "m_w")
    b.parameter("l", 0.15, "m", "mass center of the cart below the middle")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    shell = "2/3*m_shell*R^2"
    b.body(
        "shell",
        mass="m_shell",
        inertia=(shell, shell, shell),
        shapes=tuple(
            Ring(radius="R - d/2", tube_radius="d/2", frame=Placement(angles=angles), color=color)
            for angles, color in (
                ((0.0, 0.0, 0.0), ORANGE),
                ((1.5707963267948966, 0.0, 0.0), BLUE),
                ((0.0, 1.5707963267948966, 0.0), BLUE),
                ((0.7853981633974483, 0.0, 0.0), METAL),
                ((-0.7853981633974483, 0.0, 0.0), METAL),
            )
        ),
    )
    b.body(
        "cart",
        mass="m_cart",
        inertia=(0.02, 0.02, 0.02),
        center_of_mass=(0.0, 0.0, "-l"),
        shapes=(
            box(("0.5*R", "0.3*R", "0.25*R"), (0.0, 0.0, "-0.25*R"), RED),
            Cylinder(radius="0.02*R", length="0.3*R", frame=Placement(), color=METAL),
        ),
    )
    b.body(
        "fork",
        mass=0.2,
        inertia=(3e-4, 3e-4, 2e-4),
        center_of_mass=(0.0, 0.0, "-0.6*R"),
        shapes=(box(("0.08*R", "0.12*R", "0.3*R"), (0.0, 0.0, "-0.5*R"), METAL),),
    )
    b.body(
        "wheel",
        mass="m_wheel",
        inertia=("m_wheel*r^2/4", "m_wheel*r^2/2", "m_wheel*r^2/4"),
        shapes=wheel_shapes("r", "r/3", "y"),
    )
    b.joint(
        "shell",
        Free(),
        parent="world",
        child="shell",
        description="middle and orientation of the shell",
    )
    b.joint(
        "cart",
        Spherical(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="shell",
        child="cart",
        description="orientation of the cart against the shell",
    )
    b.joint(
        "steer",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="cart",
        child="fork",
        description="steering of the wheel, positive to the left",
    )
    b.joint(
        "wheel",
        Revolute(axis=(0.0, 1.0, 0.0)),
        parent="fork",
        child="wheel",
        parent_frame=Placement(position=(0.0, 0.0, "-(R - d - r)")),
        description="spin of the wheel, positive drives forward along x of the fork",
    )
    b.contact(Rolling(name="floor", body="shell", wheel=Ball(radius="R")))
    b.contact(
        Rolling(
            name="inside",
            body="wheel",
            wheel=Disk(radius="r", axis=(0.0, 1.0, 0.0)),
            plane=Plane(body="shell"),
            ground=SphereGround(radius="R - d", inside=True),
            normal=False,
        )
    )
    b.input("drive", "N*m", "torque of the motor of the wheel", "τ")
    b.force(Motor(name="drive", speed="wheel.rate", input="drive"))
    b.speed_input("steering", "steer.rate", "rate of steering", "w")
    b.scenario(
        Scenario(
            duration=6.0,
            samples=301,
            start={"steer.angle": 0.0},
            inputs={"drive": "0.15", "steering": "0.4*sin(t)"},
            description="Driven from rest while the wheel is steered to one side and back",
        )
    )
    return b.build()

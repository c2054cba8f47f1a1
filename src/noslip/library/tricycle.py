"""A tricycle driven and steered at its front wheel [CameronBook1993, section 4.2]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import Motor, Wrench
from noslip.joints import Planar, Revolute
from noslip.shapes import AbstractShape, Box, Cylinder
from noslip.model import BLUE, DARK, METAL, ORANGE, Vector3, axle, box


def build() -> Model:
    """The tricycle: frame axes at the middle of the rear axle, x forward, y to the left.

    Its speed v is that of the front wheel along its heading. The paper's third quasi-velocity,
    −ẋ sin φ + ℓ θ̇ cos θ cos φ, is singular at headings of ±π/2; here the front wheel's own lateral
    speed stands instead, which is regular. A uniform field of acceleration (gx, gy) pulls in the
    plane, as on a slope.
    """
    b = ModelBuilder(
        name="tricycle",
        gravity=("gx", "gy", 0.0),
        description="Tricycle with a driven and steered front wheel, on a gentle slope",
        references=("CameronBook1993",),
        equation_numbers={
            "rear.lateral": "(66)",
            "frame.rate": "(63)",
            "v": "(69)",
            "steer.rate": "(70)",
        },
    )
    b.parameter("ell", 1.1, "m", "rear axle to front wheel")
    b.parameter("m_b", 12.0, "kg", "mass of the frame")
    b.parameter("p", 0.45, "m", "rear axle to the frame's mass center, forward")
    b.parameter("J_b", 1.6, "kg*m^2", "moment of inertia of the frame, mass center")
    b.parameter("m_f", 1.5, "kg", "mass of fork and front wheel, at the front contact")
    b.parameter("J_f", 0.04, "kg*m^2", "moment of inertia of fork and front wheel, vertical")
    b.parameter("gx", 0.8, "m/s^2", "pull in the plane along x")
    b.parameter("gy", -0.3, "m/s^2", "pull in the plane along y")
    b.body(
        "frame",
        mass="m_b",
        moment="J_b",
        center_of_mass=("p", 0.0, 0.0),
        shapes=_frame(),
    )
    b.body(
        "fork",
        mass="m_f",
        moment="J_f",
        shapes=_fork(),
    )
    b.joint(
        "frame",
        Planar(),
        parent="world",
        child="frame",
        description="middle of the rear axle and heading, the paper's x, y, theta",
        symbols={"vy": "ω_2", "angle": "θ"},
    )
    b.joint(
        "steer",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="frame",
        child="fork",
        parent_frame=Placement(position=("ell", 0.0, 0.0)),
        description="steering angle, the paper's phi",
        symbols={"angle": "φ"},
    )
    b.contact(KnifeEdge(name="rear", body="frame", direction=(1.0, 0.0, 0.0)))
    b.contact(KnifeEdge(name="front", body="fork", direction=(1.0, 0.0, 0.0)))
    b.input("F_v", "N", "driving force along the front wheel")
    b.input("tau_phi", "N*m", "steering torque")
    b.force(Wrench(name="drive", body="fork", force=("F_v", 0.0, 0.0), axes="body"))
    b.force(Motor(name="steering", speed="steer.rate", input="tau_phi"))
    b.independent_speed("v", "frame.vx*cos(steer.angle) + ell*frame.rate*sin(steer.angle)", "m/s")
    b.independent_speed("steer.rate")
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            start={"frame.angle": 0.3, "steer.angle": 0.2, "v": 1.0, "steer.rate": 0.1},
            inputs={"F_v": 5.0, "tau_phi": "0.1*cos(2*t)"},
            description="Driven through a left turn past the heading where the paper's "
            "quasi-velocities are singular",
        )
    )
    return b.build()


def _frame() -> tuple[AbstractShape, ...]:
    """A tube from the rear axle to the head, a saddle on its post, and the rear wheels."""
    return (
        box(("0.85*ell", "0.07*ell", "0.07*ell"), ("0.42*ell", 0.0, "0.27*ell"), BLUE),
        Box(
            size=("0.07*ell", "0.07*ell", "0.42*ell"),
            frame=Placement(position=("0.89*ell", 0.0, "0.44*ell"), angles=(0.0, 0.35, 0.0)),
            color=BLUE,
        ),
        box(("0.06*ell", "0.06*ell", "0.3*ell"), ("0.2*ell", 0.0, "0.4*ell"), METAL),
        box(("0.28*ell", "0.2*ell", "0.06*ell"), ("0.18*ell", 0.0, "0.56*ell"), DARK),
        box(("0.08*ell", "0.1*ell", "0.08*ell"), ("0.04*ell", 0.0, "0.24*ell"), BLUE),
        axle("0.7*ell", "0.03*ell", "0.2*ell"),
        *(_wheel((0.0, f"{side}*0.35*ell", "0.2*ell")) for side in (1, -1)),
    )


def _fork() -> tuple[AbstractShape, ...]:
    """The front wheel between the legs of the fork, pedals, stem and handlebar with grips."""
    return (
        _wheel((0.0, 0.0, "0.2*ell")),
        *(
            box(("0.04*ell", "0.02*ell", "0.3*ell"), (0.0, f"{side}*0.06*ell", "0.34*ell"), ORANGE)
            for side in (1, -1)
        ),
        box(("0.06*ell", "0.16*ell", "0.04*ell"), (0.0, 0.0, "0.47*ell"), ORANGE),
        Cylinder(
            radius="0.025*ell",
            length="0.3*ell",
            frame=Placement(position=(0.0, 0.0, "0.6*ell")),
            color=METAL,
        ),
        axle("0.26*ell", "0.02*ell", "0.2*ell"),
        axle("0.46*ell", "0.02*ell", "0.75*ell"),
        *(
            Cylinder(
                radius="0.03*ell",
                length="0.1*ell",
                frame=Placement(
                    position=(0.0, f"{side}*0.24*ell", "0.75*ell"), angles=(pi / 2, 0.0, 0.0)
                ),
                color=DARK,
            )
            for side in (1, -1)
        ),
    )


def _wheel(position: Vector3) -> Cylinder:
    """A wheel with its axle along y."""
    return Cylinder(
        radius="0.2*ell",
        length="0.06*ell",
        frame=Placement(position=position, angles=(pi / 2, 0.0, 0.0)),
        color=DARK,
    )

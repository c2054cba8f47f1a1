"""A load-haul-dump mining vehicle, steered at its waist, on tires that slip [DeSantis1994, 8]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.forces import Motor, Tire, Wrench
from noslip.joints import Planar, Revolute
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere
from noslip.expressions import Scalar
from noslip.model import BLUE, DARK, GLASS, METAL, ORANGE, TEAL, Vector3, axle, box

_X: Vector3 = (1.0, 0.0, 0.0)
_Z: Vector3 = (0.0, 0.0, 1.0)

_DOWN: Vector3 = (0.0, 0.45, 0.0)
_ROCK = "#8a7a66"

#: Inputs of the scenario of both vehicles, with slip and without.
DRIVE: dict[str, Scalar] = {"F_u2": 3000.0, "Gamma": "3000*cos(1.5*t)"}


def build() -> Model:
    """The vehicle with four degrees of freedom; lateral forces come from its tires.

    Side forces F_w2, F_w3 at the axles are inputs as well, besides those of the tires: a push, or
    a tire law of one's own with C1 = C2 = 0.
    """
    b = vehicle(
        name="lhd",
        description="Articulated load-haul-dump vehicle on tires that slip sideways",
    )
    b.parameter("C1", 120000.0, "N/rad", "cornering stiffness of the front axle's tires")
    b.parameter("C2", 100000.0, "N/rad", "cornering stiffness of the rear axle's tires")
    b.parameter("v0", 0.05, "m/s", "speed below which slip is counted against it, 0 for none")
    b.force(Tire(name="front_tires", body="front", direction=_X, stiffness="C1", v0="v0"))
    b.force(
        Tire(
            name="rear_tires",
            body="rear",
            point=("-l2", 0.0, 0.0),
            direction=_X,
            stiffness="C2",
            v0="v0",
        )
    )
    b.input("F_w2", "N", "side force at the front axle, to the left")
    b.input("F_w3", "N", "side force at the rear axle, to the left")
    b.force(Wrench(name="push_front", body="front", force=(0.0, "F_w2", 0.0), axes="body"))
    b.force(
        Wrench(
            name="push_rear",
            body="rear",
            force=(0.0, "F_w3", 0.0),
            point=("-l2", 0.0, 0.0),
            axes="body",
        )
    )
    # the paper's α = q̇: rates of the coordinates
    heading = "front.angle"
    b.independent_speed("x_dot", f"front.vx*cos({heading}) - front.vy*sin({heading})", "m/s", "ẋ")
    b.independent_speed("y_dot", f"front.vx*sin({heading}) + front.vy*cos({heading})", "m/s", "ẏ")
    b.independent_speed("front.rate")
    b.independent_speed("waist.rate")
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={"waist.angle": 0.1, "front.vx": 3.0},
            inputs=DRIVE,
            description="Driven at the front axle while its waist swings to both sides",
        )
    )
    return b.build()


def vehicle(*, name: str, description: str) -> ModelBuilder:
    """Bodies, joints, drives and waist torque, without what keeps the axles from sliding.

    Front axes at the center of the front axle, x forward, y to the left; the waist is behind it.
    """
    b = ModelBuilder(
        name=name,
        gravity=(0.0, 0.0, "-g"),
        description=description,
        references=("DeSantis1994",),
        equation_numbers={
            "front.x_rate": "(6.4)",
            "front.y_rate": "(6.4)",
            "front_axle.lateral": "(6.14)",
            "rear_axle.lateral": "(6.8)",
        },
    )
    b.parameter("c", 1.7, "m", "front axle to the waist")
    b.parameter("l2", 1.7, "m", "waist to the rear axle")
    b.parameter("b", 0.3, "m", "front axle to the front body's mass center, forward")
    b.parameter("e", 1.2, "m", "waist to the rear body's mass center")
    b.parameter("m1", 9000.0, "kg", "mass of the front body")
    b.parameter("j1", 11000.0, "kg*m^2", "moment of inertia of the front body, mass center")
    b.parameter("m2", 11000.0, "kg", "mass of the rear body")
    b.parameter("j2", 13000.0, "kg*m^2", "moment of inertia of the rear body, mass center")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "front",
        mass="m1",
        moment="j1",
        center_of_mass=("b", 0.0, 0.0),
        shapes=_front(),
    )
    b.body(
        "rear",
        mass="m2",
        moment="j2",
        center_of_mass=("-e", 0.0, 0.0),
        shapes=_rear(),
    )
    b.joint(
        "front",
        Planar(),
        parent="world",
        child="front",
        description="pose of the front axle's center; angle is the paper's theta",
        symbols={"vx": "v_u1", "vy": "v_w1", "angle": "θ"},
    )
    b.joint(
        "waist",
        Revolute(axis=_Z),
        parent="front",
        child="rear",
        parent_frame=Placement(position=("-c", 0.0, 0.0)),
        description="angle of the rear body against the front one, the paper's phi",
        symbols={"angle": "φ"},
    )
    b.input("F_u2", "N", "driving force along the front body at its axle")
    b.input("F_u3", "N", "driving force along the rear body at its axle")
    b.input("Gamma", "N*m", "torque of the waist on the rear body")
    b.force(Wrench(name="drive_front", body="front", force=("F_u2", 0.0, 0.0), axes="body"))
    b.force(
        Wrench(
            name="drive_rear",
            body="rear",
            force=("F_u3", 0.0, 0.0),
            point=("-l2", 0.0, 0.0),
            axes="body",
        )
    )
    b.force(Motor(name="waist", speed="waist.rate", input="Gamma"))
    return b


def _front() -> tuple[AbstractShape, ...]:
    """Frame, boom, and a bucket with rocks in it."""
    return (
        box(("1.1*c", "0.55*c", "0.28*c"), ("-0.35*c", 0.0, "0.5*c"), BLUE),
        box(("0.6*c", "0.5*c", "0.22*c"), ("-0.05*c", 0.0, "0.72*c"), BLUE),
        *(
            Box(
                size=("0.95*c", "0.1*c", "0.12*c"),
                frame=Placement(position=("0.4*c", f"{side}*0.22*c", "0.55*c"), angles=_DOWN),
                color=METAL,
            )
            for side in (1, -1)
        ),
        axle("c", "0.08*c", "0.4*c"),
        box(("0.75*c", "1.3*c", "0.05*c"), ("1.15*c", 0.0, "0.1*c"), ORANGE),
        box(("0.06*c", "1.3*c", "0.55*c"), ("0.8*c", 0.0, "0.37*c"), ORANGE),
        *(
            box(("0.6*c", "0.05*c", "0.36*c"), ("1.08*c", f"{side}*0.63*c", "0.28*c"), ORANGE)
            for side in (1, -1)
        ),
        box(("0.08*c", "1.34*c", "0.04*c"), ("1.53*c", 0.0, "0.09*c"), DARK),
        *(
            Sphere(radius=f"{size}*c", frame=Placement(position=(x, y, z)), color=_ROCK)
            for size, x, y, z in (
                (0.22, "1.06*c", "0.3*c", "0.28*c"),
                (0.26, "1.1*c", "-0.2*c", "0.28*c"),
                (0.15, "1.3*c", "0.05*c", "0.25*c"),
                (0.16, "0.98*c", "0.05*c", "0.42*c"),
            )
        ),
        *(_wheel((0.0, f"{side}*0.5*c", "0.4*c")) for side in (1, -1)),
    )


def _rear() -> tuple[AbstractShape, ...]:
    """The waist's pin, engine with grille and counterweight, and the driver's cab."""
    return (
        box(("0.7*l2", "0.45*c", "0.3*c"), ("-0.3*l2", 0.0, "0.5*c"), TEAL),
        box(("1.1*l2", "0.66*c", "0.5*c"), ("-1.1*l2", 0.0, "0.65*c"), TEAL),
        box(("0.12*l2", "0.9*c", "0.42*c"), ("-1.7*l2", 0.0, "0.55*c"), DARK),
        box(("0.4*l2", "0.5*c", "0.02*c"), ("-1.2*l2", 0.0, "0.905*c"), DARK),
        box(("0.4*l2", "0.42*c", "0.34*c"), ("-0.35*l2", 0.0, "0.82*c"), GLASS),
        box(("0.46*l2", "0.48*c", "0.05*c"), ("-0.35*l2", 0.0, "1.01*c"), DARK),
        Cylinder(
            radius="0.1*c",
            length="0.6*c",
            frame=Placement(position=(0.0, 0.0, "0.5*c")),
            color=METAL,
        ),
        axle("c", "0.08*c", "0.4*c", "-l2"),
        *(_wheel(("-l2", f"{side}*0.5*c", "0.4*c")) for side in (1, -1)),
    )


def _wheel(position: Vector3) -> Cylinder:
    """A wheel with its axle along y."""
    return Cylinder(
        radius="0.4*c",
        length="0.3*c",
        frame=Placement(position=position, angles=(pi / 2, 0.0, 0.0)),
        color=DARK,
    )

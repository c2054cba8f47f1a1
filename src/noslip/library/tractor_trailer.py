"""A tractor with a steered front wheel that pulls a trailer [DeSantis1994, section 6]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import Wrench
from noslip.joints import Planar, Revolute
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere
from noslip.expressions import Scalar
from noslip.model import BLUE, DARK, GLASS, LIGHT, METAL, TEAL, Vector3, axle

_X: Vector3 = (1.0, 0.0, 0.0)
_Z: Vector3 = (0.0, 0.0, 1.0)


def build() -> Model:
    """The vehicle: tractor axes at the center of its rear axle, x forward, y to the left.

    `hinge.angle` is the heading of the trailer less that of the tractor. The steered wheel has no
    mass, so its rate may be imposed; the wheels do not slip sideways and roll freely.
    """
    b = ModelBuilder(
        name="tractor-trailer",
        gravity=(0.0, 0.0, "-g"),
        description="Tractor with a steered front wheel and a trailer behind its rear axle",
        references=("DeSantis1994",),
        equation_numbers={
            "tractor.x_rate": "(6.4)",
            "tractor.y_rate": "(6.4)",
            "rear_axle.lateral": "(6.14)",
            "trailer_axle.lateral": "(6.8)",
            "tractor.rate": "(6.15)",
            "hinge.rate": "(6.16)",
            "steering_rate": "(6.45)",
            "tractor.vx": "(6.39)",
        },
    )
    b.parameter("l1", 2.8, "m", "rear axle to front wheel")
    b.parameter("l2", 5.0, "m", "hinge to the trailer's axle")
    b.parameter("c", 0.6, "m", "rear axle to the hinge behind it")
    b.parameter("b", 1.2, "m", "rear axle to the tractor's mass center, forward")
    b.parameter("e", 2.0, "m", "hinge to the trailer's mass center")
    b.parameter("m1", 3000.0, "kg", "mass of the tractor")
    b.parameter("j1", 4500.0, "kg*m^2", "moment of inertia of the tractor, mass center")
    b.parameter("m2", 5000.0, "kg", "mass of the trailer")
    b.parameter("j2", 12000.0, "kg*m^2", "moment of inertia of the trailer, mass center")
    b.parameter("g", 9.81, "m/s^2", "gravity")

    b.body(
        "tractor",
        mass="m1",
        moment="j1",
        center_of_mass=("b", 0.0, 0.0),
        shapes=_tractor(),
    )
    b.body(
        "front",
        mass=0.0,
        moment=0.0,
        shapes=(
            _wheel((0.0, 0.0, "0.13*l1"), "0.13*l1"),
            *(
                Box(
                    size=("0.05*l1", "0.02*l1", "0.2*l1"),
                    frame=Placement(position=(0.0, f"{side}*0.08*l1", "0.2*l1")),
                    color=METAL,
                )
                for side in (1, -1)
            ),
            Box(
                size=("0.08*l1", "0.2*l1", "0.03*l1"),
                frame=Placement(position=(0.0, 0.0, "0.3*l1")),
                color=METAL,
            ),
        ),
    )
    b.body(
        "trailer",
        mass="m2",
        moment="j2",
        center_of_mass=("-e", 0.0, 0.0),
        shapes=_trailer(),
    )
    b.joint(
        "tractor",
        Planar(),
        parent="world",
        child="tractor",
        description="pose of the rear axle's center; angle is the paper's theta",
        symbols={"vx": "v_u1", "vy": "v_w1", "angle": "θ"},
    )
    b.joint(
        "steer",
        Revolute(axis=_Z),
        parent="tractor",
        child="front",
        parent_frame=Placement(position=("l1", 0.0, 0.0)),
        description="steering angle, the paper's delta",
        symbols={"angle": "δ"},
    )
    b.joint(
        "hinge",
        Revolute(axis=_Z),
        parent="tractor",
        child="trailer",
        parent_frame=Placement(position=("-c", 0.0, 0.0)),
        description="angle of the trailer against the tractor, the paper's phi",
        symbols={"angle": "φ"},
    )
    b.contact(KnifeEdge(name="rear_axle", body="tractor", direction=_X))
    b.contact(KnifeEdge(name="front_wheel", body="front", direction=_X))
    b.contact(KnifeEdge(name="trailer_axle", body="trailer", point=("-l2", 0.0, 0.0), direction=_X))
    b.input("F_u1", "N", "driving force along the front wheel")
    b.input("F_u2", "N", "driving force along the tractor at its rear axle")
    b.input("F_u3", "N", "driving force along the trailer at its axle")
    drives: dict[str, tuple[str, Scalar]] = {
        "F_u1": ("front", 0.0),
        "F_u2": ("tractor", 0.0),
        "F_u3": ("trailer", "-l2"),
    }
    for name, (body, place) in drives.items():
        b.force(
            Wrench(
                name=f"drive_{body}",
                body=body,
                force=(name, 0.0, 0.0),
                point=(place, 0.0, 0.0),
                axes="body",
            )
        )
    b.speed_input("steering_rate", "steer.rate", "rate of the steering angle", "F_s")
    b.independent_speed("tractor.vx")
    b.scenario(
        Scenario(
            duration=10.0,
            samples=501,
            start={"hinge.angle": 0.2, "tractor.vx": 2.0, "steer.angle": 0.1},
            inputs={"F_u2": 1500.0, "steering_rate": "0.06*cos(0.8*t)"},
            description="Driven at the rear axle while the front wheel swings to both sides",
        )
    )
    return b.build()


def _tractor() -> tuple[AbstractShape, ...]:
    """Chassis, hood and steering head, cab with windows and roof, exhaust, axle and drawbar."""
    return (
        _box("1.05*l1", "0.2*l1", "0.08*l1", "0.45*l1", "0.21*l1", DARK),
        _box("0.48*l1", "0.3*l1", "0.2*l1", "0.68*l1", "0.36*l1", BLUE),
        _box("0.14*l1", "0.16*l1", "0.14*l1", "0.98*l1", "0.38*l1", BLUE),
        _box("0.04*l1", "0.24*l1", "0.12*l1", "0.93*l1", "0.37*l1", LIGHT),
        _box("0.36*l1", "0.44*l1", "0.42*l1", "0.26*l1", "0.46*l1", BLUE),
        _box("0.375*l1", "0.36*l1", "0.17*l1", "0.26*l1", "0.55*l1", GLASS),
        _box("0.28*l1", "0.455*l1", "0.17*l1", "0.26*l1", "0.55*l1", GLASS),
        _box("0.42*l1", "0.5*l1", "0.03*l1", "0.26*l1", "0.685*l1", DARK),
        Cylinder(
            radius="0.02*l1",
            length="0.3*l1",
            frame=Placement(position=("0.62*l1", "0.11*l1", "0.55*l1")),
            color=METAL,
        ),
        axle("0.66*l1", "0.03*l1", "0.18*l1"),
        _box("c+0.1*l1", "0.07*l1", "0.04*l1", "-(c-0.1*l1)/2", "0.18*l1", METAL),
        *(_wheel((0.0, f"{side}*0.33*l1", "0.18*l1"), "0.18*l1") for side in (1, -1)),
    )


def _trailer() -> tuple[AbstractShape, ...]:
    """A box with a stripe, rails, a tongue with the coupling, and the axle."""
    return (
        _box("0.88*l2", "0.6*l1", "0.42*l1", "-0.62*l2", "0.53*l1", TEAL),
        _box("0.882*l2", "0.605*l1", "0.05*l1", "-0.62*l2", "0.44*l1", LIGHT),
        _box("0.005*l2", "0.5*l1", "0.3*l1", "-1.062*l2", "0.55*l1", METAL),
        _box("0.85*l2", "0.2*l1", "0.07*l1", "-0.62*l2", "0.28*l1", DARK),
        _box("0.24*l2", "0.06*l1", "0.05*l1", "-0.11*l2", "0.25*l1", METAL),
        Sphere(radius="0.05*l1", frame=Placement(position=(0.0, 0.0, "0.22*l1")), color=DARK),
        axle("0.66*l1", "0.03*l1", "0.15*l1", "-l2"),
        _box("0.1*l1", "0.3*l1", "0.12*l1", "-l2", "0.2*l1", DARK),
        *(_wheel(("-l2", f"{side}*0.33*l1", "0.15*l1"), "0.15*l1") for side in (1, -1)),
    )


def _box(length: str, width: str, height: str, ahead: str, above: str, color: str) -> Box:
    """A box in the middle of the vehicle, its own middle so far ahead and above."""
    frame = Placement(position=(ahead, 0.0, above))
    return Box(size=(length, width, height), frame=frame, color=color)


def _wheel(position: Vector3, radius: Scalar) -> Cylinder:
    """A wheel with its axle along y."""
    return Cylinder(
        radius=radius,
        length="0.1*l1",
        frame=Placement(position=position, angles=(pi / 2, 0.0, 0.0)),
        color=DARK,
    )

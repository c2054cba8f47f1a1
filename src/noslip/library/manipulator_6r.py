"""A six-joint arm with the proportions of a PUMA 560 [DeSantis1994, section 7]."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.forces import Motor
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere
from noslip.expressions import Scalar
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, TEAL, LinkRow, Vector3, serial_arm

#: The modified table, row by row: α and a of the link before, d, rad and m.
TABLE: tuple[tuple[Scalar, Scalar, Scalar], ...] = (
    (0.0, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
    (0.0, "a2", "d3"),
    (-pi / 2, "a3", "d4"),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
)

#: Mass, kg, and mass center, m, of each link, in its frame.
MASSES: tuple[tuple[float, Vector3], ...] = (
    (10.0, (0.01, -0.02, -0.05)),
    (17.4, (0.2, 0.006, 0.01)),
    (4.8, (0.012, -0.07, 0.014)),
    (0.82, (0.002, 0.003, -0.019)),
    (0.34, (0.001, -0.002, 0.004)),
    (0.09, (0.0, 0.001, 0.032)),
)

#: Ixx, Iyy, Izz, Ixy, Ixz, Iyz of each link about its mass center, in its frame, kg m².
#: Measured arms are published with moments that no body has, such as Izz > Ixx + Iyy. Of link 1,
#: which turns about z alone, Ixx and Iyy do not matter; I3y is 0.0125 in print.
INERTIAS: tuple[tuple[Scalar, ...], ...] = (
    (0.18, 0.18, 0.35, 0.004, -0.003, 0.002),
    (0.13, 0.524, 0.539, 0.010, -0.006, 0.008),
    (0.066, "I3y", 0.086, -0.002, 0.001, 0.003),
    (0.0018, 0.0018, 0.0013, 0.0001, 0.0, -0.0001),
    (0.0003, 0.0003, 0.0004, 0.0, 0.00002, 0.0),
    (0.00015, 0.00015, 0.00004, 0.0, 0.0, 0.00001),
)


def build() -> Model:
    """The arm: base frame with z up, shoulder at the origin, tool along z of the last link."""
    b = ModelBuilder(
        name="manipulator-6r",
        gravity=(0.0, 0.0, "-g"),
        description="Six-joint arm with the proportions of a PUMA 560 and full inertia tensors",
        references=("DeSantis1994",),
        equation_numbers={f"joint{k}.rate": "(7.1)" for k in range(1, 7)},
    )
    b.parameter("a2", 0.4318, "m", "length of the upper arm")
    b.parameter("a3", 0.0203, "m", "offset of the forearm at the elbow")
    b.parameter("d3", 0.15005, "m", "offset of the forearm along the shoulder's axis")
    b.parameter("d4", 0.4318, "m", "length of the forearm")
    b.parameter("tool", 0.1, "m", "wrist center to tool point")
    b.parameter("I3y", 0.021, "kg*m^2", "moment of inertia of link 3 about its y axis")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    rows = []
    shapes = _shapes()
    for k, (alpha, a, d) in enumerate(TABLE, 1):
        mass, center = MASSES[k - 1]
        rows.append(
            LinkRow(
                joint=f"joint{k}",
                link=f"link{k}",
                alpha=alpha,
                a=a,
                d=d,
                mass=b.parameter(f"m{k}", mass, "kg", f"mass of link {k}"),
                center_of_mass=center,
                inertia=INERTIAS[k - 1],
                shapes=shapes[k - 1],
                description=f"angle of joint {k}, the paper's q_{k}",
            )
        )
    serial_arm(b, rows, convention="modified")
    for k in range(1, 7):
        b.input(f"tau{k}", "N*m", f"torque on joint {k}")
        b.force(Motor(name=f"motor{k}", speed=f"joint{k}.rate", input=f"tau{k}"))
        b.independent_speed(f"joint{k}.rate")
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            definitions={
                "progress": "t/2",
                "turned": "10*progress^3 - 15*progress^4 + 6*progress^5",
            },
            motion={
                "joint1.angle": "0.3 - 1.4*turned",
                "joint2.angle": "-0.8 + 0.6*turned",
                "joint3.angle": "0.6 - 0.9*turned",
                "joint4.angle": "0.4 + 1.1*turned",
                "joint5.angle": "0.9 - 0.7*turned",
                "joint6.angle": "-0.5 + 1.6*turned",
            },
            description="From one posture to another and to rest, every joint on a fifth-order "
            "polynomial of time; torques from inverse dynamics",
        )
    )
    return b.build()


def _shapes() -> tuple[tuple[AbstractShape, ...], ...]:
    """Shapes of each link, in its frame."""
    return (
        (
            _cylinder("a2/3", "a2/14", ("0", "0", "-a2"), DARK),
            _cylinder("a2/6", "a2", ("0", "0", "-a2/2"), METAL),
            _cylinder("a2/5.5", "a2/12", ("0", "0", "-0.2*a2"), BLUE),
            _cylinder("a2/6", "1.1*d3", ("0", "-0.1*d3", "0"), METAL, across=True),
        ),
        (
            Box(
                size=("a2", "a2/4", "a2/6"),
                frame=Placement(position=("a2/2", 0.0, "0.6*d3")),
                color=BLUE,
            ),
            _cylinder("a2/5.7", "a2/4.5", ("0", "0", "0.6*d3"), BLUE),
            _cylinder("a2/8", "a2/5", ("a2", "0", "0.6*d3"), BLUE),
            _cylinder("a2/12", "a2/4", ("0", "0", "0.6*d3"), DARK),
        ),
        (
            _cylinder("a2/9", "a2/3.5", ("0", "0", "-a2/12"), TEAL),
            _cylinder("a2/16", "a2/3.2", ("0", "0", "-a2/12"), DARK),
            _cylinder("a2/11", "0.8*d4", ("a3", "0.42*d4", "0"), TEAL, across=True),
        ),
        (
            _cylinder("a2/13", "a2/8", ("0", "0", "-a2/7"), METAL),
            _cylinder("a2/16", "a2/6", ("0", "0", "-a2/12"), LIGHT),
        ),
        (Sphere(radius="a2/13", color=DARK),),
        (
            _cylinder("a2/18", "0.6*tool", ("0", "0", "0.4*tool"), METAL),
            _cylinder("a2/12", "0.1*tool", ("0", "0", "0.7*tool"), ORANGE),
            *(
                Box(
                    size=("a2/40", "a2/20", "0.35*tool"),
                    frame=Placement(position=(f"{side}*a2/18", 0.0, "0.9*tool")),
                    color=ORANGE,
                )
                for side in (1, -1)
            ),
        ),
    )


def _cylinder(
    radius: str, length: str, position: tuple[str, str, str], color: str, *, across: bool = False
) -> Cylinder:
    """A cylinder along z, or along y if it lies across."""
    angles = (pi / 2, 0.0, 0.0) if across else (0.0, 0.0, 0.0)
    frame = Placement(position=position, angles=angles)
    return Cylinder(radius=radius, length=length, frame=frame, color=color)

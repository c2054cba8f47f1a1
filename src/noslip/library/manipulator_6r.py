"""A six-joint arm with the proportions of a PUMA 560 [DeSantis1994, section 7]."""

from __future__ import annotations

from math import pi

from noslip.library.denavit_hartenberg import Row, serial_arm
from noslip.model.bodies import Box, Cylinder, Placement, Shape, Sphere
from noslip.model.forces import Motor
from noslip.model.model import Model, ModelBuilder
from noslip.model.quantities import Scalar, Vector3
from noslip.model.scenario import Scenario

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
INERTIAS: tuple[tuple[float, ...], ...] = (
    (0.12, 0.14, 0.35, 0.004, -0.003, 0.002),
    (0.13, 0.524, 0.539, 0.010, -0.006, 0.008),
    (0.066, 0.0125, 0.086, -0.002, 0.001, 0.003),
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
    )
    b.parameter("a2", 0.4318, "m", "length of the upper arm")
    b.parameter("a3", 0.0203, "m", "offset of the forearm at the elbow")
    b.parameter("d3", 0.15005, "m", "offset of the forearm along the shoulder's axis")
    b.parameter("d4", 0.4318, "m", "length of the forearm")
    b.parameter("tool", 0.1, "m", "wrist center to tool point")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    rows = []
    shapes = _shapes()
    for k, (alpha, a, d) in enumerate(TABLE, 1):
        mass, center = MASSES[k - 1]
        rows.append(
            Row(
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


def _shapes() -> tuple[tuple[Shape, ...], ...]:
    """What each link looks like, in its frame."""
    along_y = Placement(position=("a3", "d4/2", 0.0))
    return (
        (
            Cylinder(radius="a2/5", length="a2", frame=Placement(position=(0.0, 0.0, "-a2/2"))),
            Cylinder(
                radius="a2/6",
                length="1.2*d3",
                frame=Placement(position=(0.0, "d3/2", 0.0), angles=(pi / 2, 0.0, 0.0)),
                color="#4c78a8",
            ),
        ),
        (
            Box(
                size=("1.2*a2", "a2/4", "a2/5"),
                frame=Placement(position=("a2/2", 0.0, "d3/2")),
                color="#4c78a8",
            ),
        ),
        (
            Cylinder(radius="a2/8", length="a2/4", color="#72b7b2"),
            Box(size=("a2/6", "d4", "a2/6"), frame=along_y, color="#72b7b2"),
        ),
        (Cylinder(radius="a2/14", length="a2/6", color="#9d9d9d"),),
        (Sphere(radius="a2/15", color="#333333"),),
        (
            Cylinder(
                radius="a2/25",
                length="tool",
                frame=Placement(position=(0.0, 0.0, "tool/2")),
                color="#f58518",
            ),
            Box(
                size=("a2/8", "a2/40", "tool/5"),
                frame=Placement(position=(0.0, 0.0, "tool")),
                color="#f58518",
            ),
        ),
    )

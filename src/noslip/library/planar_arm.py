"""Planar arms in the vertical plane, from a Denavit–Hartenberg table: what two models share."""

from __future__ import annotations

from collections.abc import Sequence

from noslip.library.denavit_hartenberg import Row, serial_arm
from noslip.model.bodies import Box, Cylinder, Placement
from noslip.model.forces import Motor
from noslip.model.model import ModelBuilder

_COLORS = ("#4c78a8", "#72b7b2", "#e45756")


def planar_arm(
    *, name: str, description: str, links: Sequence[tuple[float, float, float, float]]
) -> ModelBuilder:
    """Links, joints, motors and parameters of an arm in the x-y plane, gravity along −y.

    Parameters
    ----------
    name, description : of the model.
    links : of each its mass, length, distance of the mass center from its joint, and moment of
        inertia about the mass center, kg, m, m, kg m².
    """
    b = ModelBuilder(
        name=name,
        gravity=(0.0, "-g", 0.0),
        description=description,
        references=("DeSantis1994",),
    )
    rows = []
    for k, (mass, length, center, moment) in enumerate(links, 1):
        b.parameter(f"m{k}", mass, "kg", f"mass of link {k}")
        b.parameter(f"l{k}", length, "m", f"length of link {k}")
        b.parameter(f"r{k}", center, "m", f"joint {k} to the mass center of link {k}")
        b.parameter(f"I{k}", moment, "kg*m^2", f"moment of inertia of link {k}, mass center")
        # the standard convention has a link's frame at its far end, x along the link
        rows.append(
            Row(
                joint=f"joint{k}",
                link=f"link{k}",
                a=f"l{k}",
                mass=f"m{k}",
                moment=f"I{k}",
                center_of_mass=(f"r{k}-l{k}", 0.0, 0.0),
                description=f"angle of link {k}, the paper's q_{k}",
                shapes=(
                    Box(
                        size=(f"l{k}", "l1/10", "l1/10"),
                        frame=Placement(position=(f"-l{k}/2", 0.0, 0.0)),
                        color=_COLORS[k - 1],
                    ),
                    Cylinder(
                        radius="l1/12",
                        length="l1/7",
                        frame=Placement(position=(f"-l{k}", 0.0, 0.0)),
                    ),
                ),
            )
        )
    b.parameter("g", 9.81, "m/s^2", "gravity")
    serial_arm(b, rows, convention="standard")
    for k in range(1, len(links) + 1):
        b.input(f"tau{k}", "N*m", f"torque on joint {k}")
        b.force(Motor(name=f"motor{k}", speed=f"joint{k}.rate", input=f"tau{k}"))
        b.independent_speed(f"joint{k}.rate")
    return b

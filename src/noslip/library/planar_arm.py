"""Planar arms in the vertical plane, from a Denavit–Hartenberg table: what two models share."""

from __future__ import annotations

from collections.abc import Sequence

from noslip import ModelBuilder, Placement
from noslip.forces import Motor
from noslip.shapes import AbstractShape, Box, Cylinder
from noslip.model import BLUE, DARK, ORANGE, RED, TEAL, LinkRow, serial_arm

_COLORS = (BLUE, TEAL, RED)


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
        equation_numbers={f"joint{k}.rate": "(7.1)" for k in range(1, len(links) + 1)},
    )
    rows = []
    for k, (mass, length, center, moment) in enumerate(links, 1):
        b.parameter(f"m{k}", mass, "kg", f"mass of link {k}")
        b.parameter(f"l{k}", length, "m", f"length of link {k}")
        b.parameter(f"r{k}", center, "m", f"joint {k} to the mass center of link {k}")
        b.parameter(f"I{k}", moment, "kg*m^2", f"moment of inertia of link {k}, mass center")
        # the standard convention has a link's frame at its far end, x along the link
        rows.append(
            LinkRow(
                joint=f"joint{k}",
                link=f"link{k}",
                a=f"l{k}",
                mass=f"m{k}",
                moment=f"I{k}",
                center_of_mass=(f"r{k}-l{k}", 0.0, 0.0),
                description=f"angle of link {k}, the paper's q_{k}",
                shapes=_link(k, len(links)),
            )
        )
    b.parameter("g", 9.81, "m/s^2", "gravity")
    serial_arm(b, rows, convention="standard")
    for k in range(1, len(links) + 1):
        b.input(f"tau{k}", "N*m", f"torque on joint {k}")
        b.force(Motor(name=f"motor{k}", speed=f"joint{k}.rate", input=f"tau{k}"))
        b.independent_speed(f"joint{k}.rate")
    return b


def _link(k: int, count: int) -> tuple[AbstractShape, ...]:
    """A bar with round ends, beside its neighbors, a pin at its joint, and a tool on the last."""
    beside = f"{(k - 1) % 2}*l1/11"
    color = _COLORS[k - 1]
    bar: tuple[AbstractShape, ...] = (
        Box(
            size=(f"l{k}", "l1/9", "l1/13"),
            frame=Placement(position=(f"-l{k}/2", 0.0, beside)),
            color=color,
        ),
        *(
            Cylinder(
                radius="l1/18",
                length="l1/13",
                frame=Placement(position=(place, 0.0, beside)),
                color=color,
            )
            for place in (f"-l{k}", 0.0)
        ),
        Cylinder(
            radius="l1/28",
            length="l1/4",
            frame=Placement(position=(f"-l{k}", 0.0, "l1/22")),
            color=DARK,
        ),
    )
    if k < count:
        return bar
    tool = Cylinder(
        radius="l1/30", length="l1/6", frame=Placement(position=(0.0, 0.0, beside)), color=ORANGE
    )
    return (*bar, tool)

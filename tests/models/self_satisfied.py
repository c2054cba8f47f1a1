"""Mechanisms with rows that hold by themselves, but for rounding, and the same without these rows.

`SELF_SATISFIED` maps a name to a function of whether the rows are there. Frames are oblique and
numbers unround, so that nothing cancels exactly.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from noslip import Model, ModelBuilder, Placement
from noslip.contacts import KnifeEdge, Plane, Rolling
from noslip.joints import Planar, Prismatic, Revolute
from noslip.rows import PositionRow, VelocityRow
from noslip.surfaces import Ball

ANGLES = (0.3, 0.5, -0.7)
TURN = Rotation.from_euler("XYZ", ANGLES).as_matrix()
INERTIA = (0.031, 0.042, 0.053, 0.004, -0.003, 0.006)


def _builder(name: str) -> ModelBuilder:
    return ModelBuilder(name=name, gravity=(0.4, -0.7, -9.81))


def _pendulum(b: ModelBuilder, carrier: str) -> None:
    b.body("bob", mass=0.8, inertia=INERTIA, center_of_mass=(0.05, 0.02, -0.4))
    b.joint("swing", Revolute(axis=(0.3, 1.0, 0.1)), parent=carrier, child="bob")


def table(with_rows: bool, pendulum: bool = False, size: float = 1.0) -> Model:
    """A table on two parallel oblique guides, with a pendulum perhaps: the second repeats."""
    b = _builder("table")
    b.body("table", mass=2.0, inertia=INERTIA, center_of_mass=(0.1, 0.0, 0.05))
    first, apart = size * np.array((0.1, 0.2, 0.3)), size * np.array((0.3, 0.15, 0.2))
    axis = (1.0, 2.0, 0.7)
    placed = Placement(position=tuple(first.tolist()), angles=ANGLES)
    b.joint("slide", Prismatic(axis=axis), parent="world", child="table", parent_frame=placed)
    if with_rows:
        b.joint(
            "second",
            Prismatic(axis=tuple(3.3 * a for a in axis)),
            parent="world",
            child="table",
            parent_frame=Placement(position=tuple((first + TURN @ apart).tolist()), angles=ANGLES),
            child_frame=Placement(position=tuple(apart.tolist())),
        )
    if pendulum:
        _pendulum(b, "table")
    return b.build()


def blade(with_rows: bool) -> Model:
    """A runner on an oblique rail with a blade along it."""
    b = _builder("blade")
    b.body("runner", mass=2.0, inertia=INERTIA)
    along = (0.6, 0.35, 0.0)
    b.joint(
        "rail",
        Prismatic(axis=along),
        parent="world",
        child="runner",
        parent_frame=Placement(angles=(0.0, 0.0, 0.7)),
        child_frame=Placement(angles=(0.0, 0.0, 0.2)),
    )
    if with_rows:
        direction = Rotation.from_euler("Z", 0.2).apply(along)
        b.contact(KnifeEdge(name="edge", body="runner", direction=tuple(direction.tolist())))
    _pendulum(b, "runner")
    return b.build()


def puck(with_rows: bool) -> Model:
    """A puck on a slope with a foot that glides on the same slope."""
    b = _builder("puck")
    b.body("puck", mass=2.0, inertia=INERTIA, center_of_mass=(0.1, 0.02, 0.0))
    slope = Placement(position=(0.1, 0.2, 0.3), angles=(0.3, 0.2, -0.4))
    b.joint("p", Planar(), parent="world", child="puck", parent_frame=slope)
    if with_rows:
        b.contact(
            Rolling(
                name="foot",
                body="puck",
                center=(0.2, 0.1, 0.05),
                wheel=Ball(radius=0.05),
                plane=Plane(frame=slope),
                lateral=False,
                longitudinal=False,
            )
        )
    return b.build()


def written(with_rows: bool, expression: str = "(0.1 + 0.2 - 0.3)*p.vx") -> Model:
    """A puck with a row whose coefficient is what rounding leaves of 0.3 − 0.3."""
    b = _builder("written")
    b.parameter("a", 0.1, "m")
    b.parameter("b", 0.7, "m")
    b.body("puck", mass=2.0, inertia=INERTIA, center_of_mass=(0.1, 0.02, 0.0))
    b.joint("p", Planar(), parent="world", child="puck")
    if with_rows:
        if "vx" in expression or "rate" in expression:
            b.row(VelocityRow(name="nothing", expression=expression, unit="m/s"))
        else:
            b.row(PositionRow(name="nothing", expression=expression, unit="m"))
    return b.build()


SELF_SATISFIED: dict[str, Callable[[bool], Model]] = {
    "table": table,
    "table with a pendulum": lambda rows: table(rows, pendulum=True),
    "table of 40 m": lambda rows: table(rows, pendulum=True, size=40.0),
    "blade along a rail": blade,
    "puck with a foot": puck,
    "numbers": written,
    "large numbers": lambda rows: written(rows, "1e15*(0.1 + 0.2 - 0.3)*p.vx"),
    "parameters": lambda rows: written(rows, "(7*a - b)*p.rate"),
    "positions": lambda rows: written(rows, "7*a*p.x - b*p.x"),
}

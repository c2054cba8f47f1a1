"""Colors and shapes that library models share, for drawing only."""

from __future__ import annotations

from math import pi

from noslip.model.bodies import AbstractShape, Box, Cylinder, Placement
from noslip.model.quantities import Scalar, Vector3

BLUE, TEAL, RED, ORANGE = "#4c78a8", "#72b7b2", "#e45756", "#f58518"
DARK, METAL, LIGHT, GLASS = "#2f3237", "#a3a9b2", "#d5d9df", "#9ecae9"


def wheel_shapes(radius: str, width: str, axis: str) -> tuple[AbstractShape, ...]:
    """A wheel about the origin of its body: tire, rim, hub, and a mark that shows how it turns.

    Parameters
    ----------
    radius, width : m, as expressions.
    axis : ``x``, ``y`` or ``z`` of the body.
    """
    turned = Placement(angles=_ANGLES[axis])
    k = "xyz".index(axis)
    along: list[Scalar] = [0.0, 0.0, 0.0]
    size: list[Scalar] = [f"0.14*({radius})"] * 3
    across = (k + 1) % 3
    size[k], size[across] = f"1.1*({width})", f"0.8*({radius})"
    along[across] = f"0.45*({radius})"
    return (
        Cylinder(radius=radius, length=width, frame=turned, color=DARK),
        Cylinder(radius=f"0.62*({radius})", length=f"1.05*({width})", frame=turned, color=LIGHT),
        Cylinder(radius=f"0.16*({radius})", length=f"1.25*({width})", frame=turned, color=METAL),
        Box(size=_three(size), frame=Placement(position=_three(along)), color=ORANGE),
    )


def box(size: Vector3, position: Vector3, color: str) -> Box:
    """A box about a position of the body frame, its edges along the body axes."""
    return Box(size=size, frame=Placement(position=position), color=color)


def axle(length: str, radius: str, height: Scalar, at: Scalar = 0.0) -> Cylinder:
    """A bar along y, `at` a distance ahead of the body's origin and at a height above it."""
    return Cylinder(
        radius=radius,
        length=length,
        frame=Placement(position=(at, 0.0, height), angles=_ANGLES["y"]),
        color=METAL,
    )


_ANGLES: dict[str, Vector3] = {
    "x": (0.0, pi / 2, 0.0),
    "y": (pi / 2, 0.0, 0.0),
    "z": (0.0, 0.0, 0.0),
}


def _three(entries: list[Scalar]) -> Vector3:
    x, y, z = entries
    return x, y, z

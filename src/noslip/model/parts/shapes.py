"""Colors and shapes that parts and library models share, for drawing only."""

from __future__ import annotations

from math import pi

from noslip.expressions import Scalar
from noslip.model.bodies import AbstractShape, Box, Cylinder, Placement
from noslip.model.parts.part import formula
from noslip.model.quantities import Vector3

BLUE, TEAL, RED, ORANGE = "#4c78a8", "#72b7b2", "#e45756", "#f58518"
DARK, METAL, LIGHT, GLASS = "#2f3237", "#a3a9b2", "#d5d9df", "#9ecae9"


def wheel_shapes(
    radius: Scalar, width: Scalar, axis: str, aside: Scalar = 0.0
) -> tuple[AbstractShape, ...]:
    """A wheel about its body's origin: tire, rim, hub, and a mark that shows how it turns.

    Parameters
    ----------
    radius, width : m.
    axis : ``x``, ``y`` or ``z`` of the body.
    aside : of its middle, along the axis, m.
    """
    k = "xyz".index(axis)
    across = (k + 1) % 3
    middle: list[Scalar] = [0.0, 0.0, 0.0]
    middle[k] = aside
    along = list(middle)
    along[across] = _times(0.45, radius)
    size: list[Scalar] = [_times(0.14, radius)] * 3
    size[k], size[across] = _times(1.1, width), _times(0.8, radius)
    turned = Placement(position=_three(middle), angles=_ANGLES[axis])

    def ring(reach: float, wide: float, color: str) -> Cylinder:
        r, w = _times(reach, radius), _times(wide, width)
        return Cylinder(radius=r, length=w, frame=turned, color=color)

    return (
        Cylinder(radius=radius, length=width, frame=turned, color=DARK),
        ring(0.62, 1.05, LIGHT),
        ring(0.16, 1.25, METAL),
        Box(size=_three(size), frame=Placement(position=_three(along)), color=ORANGE),
    )


def _times(factor: float, scalar: Scalar) -> Scalar:
    return formula(f"{factor}*a", a=scalar)


def box(size: Vector3, position: Vector3, color: str) -> Box:
    """A box about a position of the body frame, its edges along the body axes."""
    return Box(size=size, frame=Placement(position=position), color=color)


def axle(length: Scalar, radius: Scalar, height: Scalar, at: Scalar = 0.0) -> Cylinder:
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

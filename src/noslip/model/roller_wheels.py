"""Contact of a wheel with rollers around its rim: mecanum and omni wheels, ideal.

A roller turns freely about its own axis, so that the wheel slides without resistance across it. One
direction is held: the material point of the wheel in contact has no velocity along the roller's
axis. With f the wheel's heading, w = n × f its lateral direction and γ the angle from the wheel's
axle to the axis of the roller that touches the ground,

    (1)  a = f sin γ + w cos γ,     a · (v_P − v_ground) = 0

γ = 90° is an omni wheel, ±45° a mecanum wheel; γ = 0 would hold the wheel only sideways. Rollers
are taken as so many and so light that the rim is round and their spin has no inertia.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Annotated

import casadi as ca
import numpy as np

from noslip.algebra import Traced, cross
from noslip.expressions import Scalar
from noslip.model.bodies import AbstractShape, Cylinder, Placement
from noslip.model.contacts import LONGITUDINAL, NORMAL, AbstractContact, Plane
from noslip.model.findings import Finding
from noslip.model.number_reader import NumberReader, number, rotation_about, rotation_to
from noslip.model.quantities import (
    POSITIVE,
    ZERO,
    BodyName,
    Direction,
    Meaning,
    Point,
    PositiveLength,
    Reads,
    Vector3,
)
from noslip.model.surfaces import RIM_COLOR, TREAD_COLOR, Disk, Touch

if TYPE_CHECKING:
    from noslip.model.known_names import Vocabulary

#: Rollers that are drawn around a rim.
ROLLERS = 11

#: Thickness of a roller from its axis, in radii of the wheel.
ROLLER_THICKNESS = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class RollerRolling(AbstractContact):
    """A wheel with rollers around its rim rolls on a plane: one row along the axis of the rollers.

    The row is ``name.longitudinal``; the reaction along it acts along the roller's axis.

    Parameters
    ----------
    name : unique among contacts.
    body : the wheel, which carries the rollers.
    radius : of the wheel over its rollers, m.
    axis : of the wheel, in the body frame.
    roller_angle : γ in (1), rad, from the wheel's lateral direction toward its heading.
    center : of the wheel, in the body frame, m.
    plane : what it rolls on; by default the ground z = 0 of the world.
    normal : whether the wheel's height is held.
    stiffness : against load, as of a rolling contact, N/m.
    """

    name: str
    body: BodyName
    radius: PositiveLength
    axis: Direction
    roller_angle: Annotated[Scalar, Meaning(unit="rad")]
    center: Point = ZERO
    plane: Plane = Plane()
    normal: bool = True
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)] | None = None

    word = "rollers"
    also_called = ("mecanum", "omni", "swedish")
    origin = "rolling"
    is_wheel = True

    def directions(self) -> tuple[str, ...]:
        return (LONGITUDINAL, NORMAL) if self.normal else (LONGITUDINAL,)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        """The lowest point of the rim, and the axis of the roller there as the heading (1)."""
        touch = self._rim().contact(n, R, read)
        assert touch.heading is not None
        angle = read.scalar(self.roller_angle)
        along = touch.heading * ca.sin(angle) + cross(n, touch.heading) * ca.cos(angle)  # (1)
        arm = ca.mtimes(R, read.vector(self.center)) + touch.arm
        return touch._replace(arm=arm, heading=along)

    def load_stiffness(self) -> Scalar | None:
        return self.stiffness

    def wheel_center(self) -> Vector3 | None:
        return self.center

    def drop(self, n: Traced, R: Traced, read: Reads) -> ca.SX:
        return self._rim().support(-ca.mtimes(R.T, n), read)

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius = read.scalar(self.radius)
        return roller_shapes(self.axis, self.roller_angle, radius, radius / 2, read, self.center)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        angle = number(self.roller_angle, known.finite_parameters)
        if abs(np.sin(angle)) < 1e-9:
            yield Finding(
                ("contacts", self.name, "roller_angle"),
                f"contact '{self.name}' has rollers along its axle, so that it cannot be driven",
                "give roller_angle = 1.5708 for an omni wheel, 0.7854 or -0.7854 for a mecanum one",
            )

    def _rim(self) -> Disk:
        return Disk(radius=self.radius, axis=self.axis)


def roller_places(
    roller_angle: Scalar, radius: Scalar, count: int, read: NumberReader
) -> list[tuple[Placement, tuple[float, float]]]:
    """Rollers around a wheel that turns about y: their frames, x along the axis, and semi-axes.

    An ellipsoid that touches the rim's circle in its middle, with the same curvature there: with ρ
    its thickness, γ the angle and r the wheel's radius, it is √(ρ r)/|sin γ| long.
    """
    r, angle = read.scalar(radius), read.scalar(roller_angle)
    thick = ROLLER_THICKNESS * r
    long = float(np.sqrt(thick * r) / max(abs(np.sin(angle)), 1e-9))
    e = np.array([0.0, 1.0, 0.0])
    found = []
    for k in range(count):
        out = rotation_about(e, 2 * pi * k / count) @ np.array([0.0, 0.0, -1.0])
        along = -np.cross(e, out) * np.sin(angle) + e * np.cos(angle)
        R = np.column_stack([along, np.cross(out, along), out])
        found.append((Placement.at((r - thick) * out, R), (long, thick)))
    return found


def roller_shapes(
    axis: Vector3,
    roller_angle: Scalar,
    radius: Scalar,
    width: Scalar,
    read: NumberReader,
    center: Vector3 = ZERO,
) -> tuple[AbstractShape, ...]:
    """A hub with rollers around it, as numbers, in the frame of the wheel's body."""
    r, w, angle = read.scalar(radius), read.scalar(width), read.scalar(roller_angle)
    R, middle = rotation_to(read.vector(axis)), read.vector(center)
    e = R[:, 2]
    # a roller is as long as its share of the rim, or as the wheel is wide
    small = ROLLER_THICKNESS * r
    length = min(1.7 * pi * r / ROLLERS / max(abs(np.sin(angle)), 1e-9), 1.4 * w)
    hub = Cylinder(radius=0.72 * r, length=0.7 * w, frame=Placement.at(middle, R), color=RIM_COLOR)
    shapes: list[AbstractShape] = [hub]
    for k in range(ROLLERS):
        out = rotation_about(e, 2 * pi * k / ROLLERS) @ R[:, 0]
        # where the roller is lowest, −out is the normal, the heading is e × (−out), lateral is e
        along = -np.cross(e, out) * np.sin(angle) + e * np.cos(angle)
        place = middle + (r - small) * out
        frame = Placement.at(place, rotation_to(along))
        shapes.append(Cylinder(radius=small, length=length, frame=frame, color=TREAD_COLOR))
    return tuple(shapes)

"""Rolling contacts and knife edges: what makes a mechanism nonholonomic.

To add a contact: write its data class here, give it its rows in `kinematics/contacts.py`, and its
keys follow from the fields.
"""

from __future__ import annotations

from dataclasses import dataclass

from noslip.model.bodies import WORLD, Placement
from noslip.model.quantities import ZERO, Scalar, Vector3

LONGITUDINAL = "longitudinal"
LATERAL = "lateral"
NORMAL = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A plane fixed to a body: through the origin of `frame`, its normal the frame's z axis."""

    body: str = WORLD
    frame: Placement = Placement()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A thin disk of `radius` (m) that touches with its sharp rim; `axis` in the body frame."""

    radius: Scalar
    axis: Vector3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball:
    """A sphere of `radius` (m)."""

    radius: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Torus:
    """A wheel of ring `radius` with a round tire of `tube_radius` (m); `axis` in the body frame.

    The lowest point of an upright torus is `radius` + `tube_radius` below its center.
    """

    radius: Scalar
    tube_radius: Scalar
    axis: Vector3


Wheel = Disk | Ball | Torus


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling:
    """A disk, a ball or a torus of a body touches a plane and rolls on it without slipping.

    Three rows, each of which may be switched off: the material point in contact has no velocity
    relative to the plane along the `longitudinal` direction (the wheel's heading), the `lateral`
    direction, and the `normal`; the normal row is holonomic (it keeps the wheel's height).
    Longitudinal is wheel axis × plane normal, lateral is normal × longitudinal; for a ball they are
    the plane's x and y axes.

    Parameters
    ----------
    name : unique among contacts; rows are called ``name.longitudinal`` and so on.
    body : the body that rolls.
    wheel : its rolling surface.
    center : of the wheel, in the body frame, m.
    plane : what it rolls on; by default the ground z = 0 of the world.
    """

    name: str
    body: str
    wheel: Wheel
    center: Vector3 = ZERO
    plane: Plane = Plane()
    longitudinal: bool = True
    lateral: bool = True
    normal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class KnifeEdge:
    """A blade: a point of a body does not move sideways.

    One row, ``name.lateral``: the velocity of `point` relative to the plane's body vanishes along
    normal × `direction`.

    Parameters
    ----------
    point : of the blade, in the body frame, m.
    direction : along the blade, in the body frame.
    """

    name: str
    body: str
    direction: Vector3
    point: Vector3 = ZERO
    plane: Plane = Plane()


Contact = Rolling | KnifeEdge

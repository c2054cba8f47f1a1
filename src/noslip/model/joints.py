"""Joint types. Each answers a fixed short list of questions; adding one touches this file only.

A joint connects a frame F on the parent to a frame M on the child. To add a joint type, write a
frozen data class that answers

1. `coordinates`, `speeds`: name, unit and usual range of each;
2. `rest`: the coordinates at which F and M coincide;
3. `pose(q)`: R_FM and p_FM, the pose of M in F;
4. `motion()`: H (6×k), the twist of M relative to F, in M axes, angular part first: V_FM = H v;
   all types use body-fixed speeds, for which H is constant;
5. `kinematic_map(q)`: N with q̇ = N v;
6. `closure(R, p)`: the rows that vanish when a pose R, p of M in F is possible for this joint; used
when
   the joint closes a loop;
7. `quaternion`: where its unit quaternion starts among its coordinates, if it has one;

and add it to `JOINT_TYPES`.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from noslip import spatial
from noslip.model.bodies import Placement
from noslip.model.quantities import Quantity, Vector3, angle
from noslip.spatial import Traced, vector

_X, _Y, _Z = vector([1, 0, 0]), vector([0, 1, 0]), vector([0, 0, 1])
_ZERO3 = vector([0, 0, 0])


class AbstractJointType(abc.ABC):
    """What a joint allows; see the list at the top of this file."""

    __slots__ = ()

    #: The word for this type in model files.
    word: ClassVar[str]
    coordinates: ClassVar[tuple[Quantity, ...]]
    speeds: ClassVar[tuple[Quantity, ...]]
    rest: ClassVar[tuple[float, ...]]
    quaternion: ClassVar[int | None] = None

    @abc.abstractmethod
    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        """R_FM (3×3) and p_FM (3) at the coordinates q; `axis` is the type's unit axis, if any."""

    @abc.abstractmethod
    def motion(self, axis: Traced) -> ca.SX:
        """H (6×k): twist of M relative to F in M axes = H v."""

    @abc.abstractmethod
    def kinematic_map(self, q: Traced) -> ca.SX:
        """N (len(q)×k): q̇ = N v."""

    @abc.abstractmethod
    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        """Rows (name, unit, expression) that vanish when the joint closes a loop."""


def _turn_rows(R: Traced) -> list[tuple[str, str, Traced]]:
    turn = ca.vertsplit(spatial.turn_vector(R))
    return [(f"turn_{k}", "rad", e) for k, e in zip("xyz", turn, strict=True)]


def _tilt_rows(R: Traced, axis: Traced, across: dict[str, Traced]) -> list[tuple[str, str, Traced]]:
    """Rows that keep the joint's axis on itself, along the named directions across it.

    With θ the angle between the axis and R · axis they are parts of 2 sin(θ/2), which vanishes for
    θ = 0 only; those of sin θ would also let the joint be closed with its axis reversed.
    """
    turned = ca.mtimes(R, axis)
    half = ca.sqrt((1 + ca.dot(axis, turned)) / 2)  # cos(θ/2)
    return [
        (f"tilt_{name}", "rad", ca.dot(direction, turned) / half)
        for name, direction in across.items()
    ]


def _shift_rows(p: Traced) -> list[tuple[str, str, Traced]]:
    return [(f"shift_{k}", "m", e) for k, e in zip("xyz", ca.vertsplit(p), strict=True)]


def _across(axis: Traced) -> tuple[ca.SX, ca.SX]:
    """Two unit vectors across a unit axis, which may depend on parameters."""
    helper = ca.if_else(ca.fabs(axis[0]) < 0.9, _X, _Y)
    first = spatial.unit(spatial.cross(axis, helper))
    return first, spatial.cross(axis, first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(AbstractJointType):
    """No motion: the child is part of the parent."""

    word = "fixed"
    coordinates = ()
    speeds = ()
    rest = ()

    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        return spatial.EYE3, _ZERO3

    def motion(self, axis: Traced) -> ca.SX:
        return ca.SX(6, 0)

    def kinematic_map(self, q: Traced) -> ca.SX:
        return ca.SX(0, 0)

    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        return _shift_rows(p) + _turn_rows(R)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revolute(AbstractJointType):
    """Rotation about `axis` (in the joint frame): one coordinate ``angle``, one speed ``rate``."""

    axis: Vector3

    word = "revolute"
    coordinates = (angle(),)
    speeds = (Quantity(name="rate", unit="rad/s"),)
    rest = (0.0,)

    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        return spatial.rotation_about(axis, q[0]), _ZERO3

    def motion(self, axis: Traced) -> ca.SX:
        return ca.vertcat(axis, _ZERO3)

    def kinematic_map(self, q: Traced) -> ca.SX:
        return ca.SX(1)

    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        first, second = _across(axis)
        return _shift_rows(p) + _tilt_rows(R, axis, {"1": first, "2": second})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prismatic(AbstractJointType):
    """Translation along `axis` (in the joint frame): coordinate ``position``, speed ``speed``."""

    axis: Vector3

    word = "prismatic"
    coordinates = (Quantity(name="position", unit="m"),)
    speeds = (Quantity(name="speed", unit="m/s"),)
    rest = (0.0,)

    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        return spatial.EYE3, axis * q[0]

    def motion(self, axis: Traced) -> ca.SX:
        return ca.vertcat(_ZERO3, axis)

    def kinematic_map(self, q: Traced) -> ca.SX:
        return ca.SX(1)

    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        first, second = _across(axis)
        shifts = [("shift_1", "m", ca.dot(first, p)), ("shift_2", "m", ca.dot(second, p))]
        return shifts + _turn_rows(R)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planar(AbstractJointType):
    """Motion in the x-y plane of the joint frame.

    Coordinates ``x``, ``y`` (in F) and ``angle`` about z; speeds ``vx``, ``vy`` along the axes of M
    (the child's own forward and sideways speed) and ``rate``.
    """

    word = "planar"
    coordinates = (Quantity(name="x", unit="m"), Quantity(name="y", unit="m"), angle())
    speeds = (
        Quantity(name="vx", unit="m/s"),
        Quantity(name="vy", unit="m/s"),
        Quantity(name="rate", unit="rad/s"),
    )
    rest = (0.0, 0.0, 0.0)

    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        return spatial.rotation_about(_Z, q[2]), vector([q[0], q[1], 0])

    def motion(self, axis: Traced) -> ca.SX:
        return ca.horzcat(ca.vertcat(_ZERO3, _X), ca.vertcat(_ZERO3, _Y), ca.vertcat(_Z, _ZERO3))

    def kinematic_map(self, q: Traced) -> ca.SX:
        # the speeds are in M axes, the coordinates x, y in F: [ẋ; ẏ] = R [vx; vy]
        return spatial.rotation_about(_Z, q[2])

    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        return [("shift_z", "m", p[2]), *_tilt_rows(R, _Z, {"x": _X, "y": _Y})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Angles:
    """Names for the orientation of a spherical or free joint, for start values and columns.

    The orientation is R = R₁(a₁) R₂(a₂) R₃(a₃) about the axes of `sequence`; a name ``yaw`` also
    gives the rate ``yaw_rate``. The state itself is a quaternion and has no singularity.
    """

    sequence: str
    names: tuple[str, str, str]


_QUATERNION = tuple(Quantity(name=n, unit="1") for n in ("qw", "qx", "qy", "qz"))
_TURNING = tuple(Quantity(name=n, unit="rad/s") for n in ("wx", "wy", "wz"))
_MOVING = tuple(Quantity(name=n, unit="m/s") for n in ("vx", "vy", "vz"))
_PLACE = tuple(Quantity(name=n, unit="m") for n in ("x", "y", "z"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spherical(AbstractJointType):
    """Rotation about a point: unit quaternion ``qw qx qy qz`` (R_FM), speeds ``wx wy wz`` in M."""

    angles: Angles | None = None

    word = "spherical"
    coordinates = _QUATERNION
    speeds = _TURNING
    rest = (1.0, 0.0, 0.0, 0.0)
    quaternion = 0

    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        return spatial.rotation_from_quaternion(q), _ZERO3

    def motion(self, axis: Traced) -> ca.SX:
        return ca.vertcat(spatial.EYE3, ca.SX.zeros(3, 3))

    def kinematic_map(self, q: Traced) -> ca.SX:
        return spatial.quaternion_rate_map(q)

    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        return _shift_rows(p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Free(AbstractJointType):
    """Any motion: position ``x y z`` in F and a quaternion ``qw qx qy qz``.

    Speeds ``wx wy wz`` and ``vx vy vz`` in M axes; the linear ones are those of M's origin.
    """

    angles: Angles | None = None

    word = "free"
    coordinates = _PLACE + _QUATERNION
    speeds = _TURNING + _MOVING
    rest = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    quaternion = 3

    def pose(self, q: Traced, axis: Traced) -> tuple[ca.SX, ca.SX]:
        return spatial.rotation_from_quaternion(q[3:7]), q[0:3]

    def motion(self, axis: Traced) -> ca.SX:
        return ca.SX.eye(6)

    def kinematic_map(self, q: Traced) -> ca.SX:
        R = spatial.rotation_from_quaternion(q[3:7])
        E = spatial.quaternion_rate_map(q[3:7])
        return ca.vertcat(
            ca.horzcat(ca.SX(3, 3), R),
            ca.horzcat(E, ca.SX(4, 3)),
        )

    def closure(self, R: Traced, p: Traced, axis: Traced) -> list[tuple[str, str, Traced]]:
        return []


JointType = Fixed | Revolute | Prismatic | Planar | Spherical | Free
JOINT_TYPES: tuple[type[AbstractJointType], ...] = (
    Fixed, Revolute, Prismatic, Planar, Spherical, Free,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A joint between two bodies.

    The first joint that reaches a body carries it in the tree; a joint between two bodies that are
    already in the tree closes a loop, and has rows instead of coordinates.

    Parameters
    ----------
    name : unique among joints; coordinates and speeds are called ``name.angle`` and so on.
    parent, child : names of bodies; the parent may be ``world``.
    type : what motion it allows.
    parent_frame, child_frame : the joint's frames F on the parent and M on the child.
    motion : coordinates that are prescribed as expressions of time ``t``, such as
        ``{"angle": "rate*t"}``; the force that holds each is then an output. The orientation of a
        spherical or free joint is prescribed by all three of its named angles.
    """

    name: str
    parent: str
    child: str
    type: JointType
    parent_frame: Placement = Placement()
    child_frame: Placement = Placement()
    motion: dict[str, str] | None = None
    description: str = ""

    def coordinate_names(self) -> tuple[str, ...]:
        """Full names of the joint's coordinates."""
        return tuple(f"{self.name}.{c.name}" for c in self.type.coordinates)

    def speed_names(self) -> tuple[str, ...]:
        """Full names of the joint's speeds."""
        return tuple(f"{self.name}.{s.name}" for s in self.type.speeds)

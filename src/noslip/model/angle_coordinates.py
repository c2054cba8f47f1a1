"""Models whose orientations are written in named angles instead of quaternions.

Numbers run on quaternions, which have no singularity. People read angles: a free or spherical joint
that names them can be written with them as coordinates, in two ways.

    body speeds    the joint keeps its speeds ω and v in body axes; q̇ = N(q) v has the angles' own N
    rates          the joint becomes a chain of sliders and hinges without mass, one for each
                   coordinate, whose speeds are the rates of the coordinates; q̇ = v

The names of the chain's quantities are those of the joint: ``disk.yaw``, ``disk.yaw_rate``,
``disk.x``, ``disk.x_rate``. Both are for display and for checks, and are singular where the angles
are.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import casadi as ca

from noslip.algebra import Traced, angle_rate_map, rotation_from_angles
from noslip.expressions import read_symbol
from noslip.model.bodies import Body, Placement
from noslip.model.joints import Angles, Free, Joint, Prismatic, Revolute, Spherical
from noslip.model.model import Model
from noslip.model.quantities import Quantity, Reads, Vector3, angle
from noslip.model.spanning_tree import topology

_AXES: dict[str, Vector3] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
#: How far the second angle stays from where the others are not defined, in random states.
_MARGIN = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalByAngles(Spherical):
    """A spherical joint with its named angles as coordinates."""

    angles: Angles

    quaternion = None  # type: ignore[assignment]
    rest = (0.0,) * 3  # type: ignore[assignment]

    @property
    def coordinates(self) -> tuple[Quantity, ...]:  # type: ignore[override]
        return angle_quantities(self.angles)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_from_angles(q, self.angles.sequence), ca.SX.zeros(3)

    def kinematic_map(self, q: Traced) -> ca.SX:
        return angle_rate_map(q, self.angles.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeByAngles(Free):
    """A free joint with its position and named angles as coordinates."""

    angles: Angles

    quaternion = None  # type: ignore[assignment]
    rest = (0.0,) * 6  # type: ignore[assignment]

    @property
    def coordinates(self) -> tuple[Quantity, ...]:  # type: ignore[override]
        return (*Free.coordinates[:3], *angle_quantities(self.angles))

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_from_angles(q[3:6], self.angles.sequence), q[0:3]

    def kinematic_map(self, q: Traced) -> ca.SX:
        R = rotation_from_angles(q[3:6], self.angles.sequence)
        turning = angle_rate_map(q[3:6], self.angles.sequence)
        return ca.vertcat(
            ca.horzcat(ca.SX(3, 3), R),
            ca.horzcat(turning, ca.SX(3, 3)),
        )


class _Named:
    """The one coordinate and speed of a joint, as its field `quantities` names them."""

    __slots__ = ()

    quantities: tuple[Quantity, Quantity]

    @property
    def coordinates(self) -> tuple[Quantity, ...]:
        return self.quantities[:1]

    @property
    def speeds(self) -> tuple[Quantity, ...]:
        return self.quantities[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedHinge(_Named, Revolute):  # type: ignore[misc, override]
    """One angle of a chain, with the names and symbols of its coordinate and rate."""

    quantities: tuple[Quantity, Quantity]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSlider(_Named, Prismatic):  # type: ignore[misc, override]
    """One displacement of a chain, with the names and symbols of its coordinate and rate."""

    quantities: tuple[Quantity, Quantity]


def angle_joints(model: Model) -> tuple[Joint, ...]:
    """Joints of the tree that can be written in named angles."""
    return tuple(j for j in topology(model).tree if j.type.by_angles() is not None)


def in_angles(model: Model, rates: Collection[str] = ()) -> Model:
    """The model with named angles as coordinates; names of quaternions are gone.

    Parameters
    ----------
    model : checked model.
    rates : names of the joints whose speeds become the rates of their coordinates.
    """
    wanted = {joint.name for joint in angle_joints(model)}
    joints: list[Joint] = []
    bodies = list(model.bodies)
    for joint in model.joints:
        if joint.name not in wanted:
            joints.append(joint)
        elif joint.name in rates:
            chain, links = _chain(joint)
            joints += chain
            bodies += links
        else:
            by_angles = joint.type.by_angles()
            assert by_angles is not None
            joints.append(replace(joint, type=by_angles))
    return replace(model, joints=tuple(joints), bodies=tuple(bodies))


def _chain(joint: Joint) -> tuple[list[Joint], list[Body]]:
    """Joints of one coordinate each in the joint's place, and the massless bodies between them."""
    angles = joint.type.named_angles()
    assert angles is not None
    types: list[NamedSlider | NamedHinge] = []
    for place in joint.type.coordinates[: joint.type.quaternion]:
        types.append(NamedSlider(axis=_AXES[place.name], quantities=(place, _rate(place))))
    for letter, turn in zip(angles.sequence, angle_quantities(angles), strict=True):
        types.append(NamedHinge(axis=_AXES[letter], quantities=(turn, _rate(turn))))
    last = len(types) - 1
    # a name that no model can give to a body
    ends = [joint.parent, *(f"{joint.name}: {t.coordinates[0].name}" for t in types[:last])]
    ends.append(joint.child)
    motion = joint.motion or {}
    joints = []
    for k, joint_type in enumerate(types):
        own = joint_type.coordinates[0].name
        joints.append(
            Joint(
                name=joint.name,
                parent=ends[k],
                child=ends[k + 1],
                type=joint_type,
                parent_frame=joint.parent_frame if k == 0 else Placement(),
                child_frame=joint.child_frame if k == last else Placement(),
                motion={own: motion[own]} if own in motion else None,
                description=joint.description,
                symbols=joint.symbols,
            )
        )
    return joints, [Body(name=name, mass=0.0, inertia=(0.0, 0.0, 0.0)) for name in ends[1:-1]]


def _rate(coordinate: Quantity) -> Quantity:
    return Quantity(
        name=f"{coordinate.name}_rate",
        unit=f"{coordinate.unit}/s",
        description=f"rate of {coordinate.name}",
        symbol=read_symbol(coordinate.symbol).rate.plain,
    )


def angle_quantities(angles: Angles) -> tuple[Quantity, ...]:
    """The three angles as coordinates; the second stays where the others are defined."""
    low, high = -math.pi / 2 + _MARGIN, math.pi / 2 - _MARGIN
    if angles.sequence[0] == angles.sequence[2]:
        low, high = _MARGIN, math.pi - _MARGIN
    about = [f"about {letter}" for letter in angles.sequence]
    symbols = angles.symbols or ("ψ", "θ", "φ")
    first, second, third = (
        angle(name, f"angle {axis}", symbol)
        for name, axis, symbol in zip(angles.names, about, symbols, strict=True)
    )
    return first, replace(second, lower=low, upper=high), third

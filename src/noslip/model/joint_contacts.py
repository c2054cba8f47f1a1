"""Stops of joints, and bearings that stick and slip: elements of a run by Coulomb's law.

Both are contacts within a joint, along one of its speeds v, with generalized forces for forces.
The limits low ≤ q ≤ high of a joint are two stops, which push where they touch and strike by
Newton's restitution,

    (1)  g = q − low ≥ 0,  λ ≥ 0,  g λ = 0    and    g = high − q ≥ 0 alike

Dry friction without smoothing is a bearing, which sticks or slips forward or backward,

    (2)  v = 0 and |λ| ≤ F,    or    λ = −F sign v
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.expressions import Scalar
from noslip.model.contacts import (
    LONGITUDINAL,
    NORMAL,
    AbstractContact,
    CoulombLaw,
    Plane,
)
from noslip.model.forces import JointFriction
from noslip.model.joints import Joint
from noslip.model.model import Model, topology
from noslip.model.quantities import Reads
from noslip.model.surfaces import Touch


@dataclass(frozen=True, slots=True, kw_only=True)
class _WithinJoint(AbstractContact):
    """A contact along a speed of a joint."""

    name: str
    body: str
    of: str
    speed: str
    plane: Plane = Plane()

    @property
    def joint(self) -> tuple[str, str]:
        return self.of, self.speed

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        raise NotImplementedError(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointStop(_WithinJoint):
    """A limit of a joint (1): `sign` is 1 for the lower one, −1 for the upper one."""

    limit: Scalar
    sign: float
    restitution: Scalar

    origin = "limit of a joint"
    is_wheel = False

    @property
    def is_met(self) -> bool:
        return True

    def directions(self) -> tuple[str, ...]:
        return (NORMAL,)

    def coulomb(self) -> CoulombLaw:
        return CoulombLaw(None, self.restitution)

    def joint_gap(self, coordinate: ca.SX, read: Reads) -> ca.SX:
        return self.sign * (coordinate - read.scalar(self.limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class DryBearing(_WithinJoint):
    """Dry friction in a joint (2)."""

    level: Scalar

    origin = "bearing"
    is_wheel = False

    def directions(self) -> tuple[str, ...]:
        return (LONGITUDINAL,)

    def coulomb(self) -> CoulombLaw:
        return CoulombLaw(1.0)

    def given_load(self) -> Scalar:
        return self.level


def joint_elements(model: Model) -> tuple[tuple[_WithinJoint, ...], tuple[JointFriction, ...]]:
    """Stops and bearings of a model, and the forces that these bearings stand for."""
    found: list[_WithinJoint] = []
    places: dict[str, Joint] = {}
    for joint in topology(model).tree:
        places |= dict.fromkeys(joint.speed_names(), joint)
        for name, limit, sign in zip(
            ("lower", "upper"), joint.limits or (), (1.0, -1.0), strict=bool(joint.limits)
        ):
            found.append(
                JointStop(
                    name=f"{joint.name}.{name}",
                    body=joint.child,
                    of=joint.name,
                    speed=joint.speed_names()[0],
                    limit=limit,
                    sign=sign,
                    restitution=joint.restitution,
                )
            )
    replaced = []
    for force in model.forces:
        # one in a joint that closes a loop has no speed of its own to hold
        if isinstance(force, JointFriction) and force.smoothing == 0.0 and force.speed in places:
            joint = places[force.speed]
            found.append(
                DryBearing(
                    name=force.name,
                    body=joint.child,
                    of=joint.name,
                    speed=force.speed,
                    level=force.level,
                )
            )
            replaced.append(force)
    return tuple(found), tuple(replaced)

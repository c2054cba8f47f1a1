"""Elastic contact: a surface that may lift off and slide, pressed against a plane.

A rolling contact is a constraint, which holds or does not; what touches now and then, as the
rollers around a mecanum wheel do, needs a force. With δ the depth by which the lowest point of the
surface is below the plane, v its sliding velocity there and δ₊ = max(δ, 0),

    (1)  N = max(k δ₊ (1 + d δ̇), 0)                      [HuntCrossley1975], exponent 1
    (2)  F = −μ N v / √(|v|² + v0²)

k δ₊ has the energy k δ₊²/2; the rest of N and all of F only take energy away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import casadi as ca

from noslip.expressions import Scalar
from noslip.model.bodies import WORLD
from noslip.model.contacts import LATERAL, LONGITUDINAL, NORMAL, Plane, Rolling
from noslip.model.findings import Finding
from noslip.model.forces import DISSIPATIVE, SPRING, AbstractForce, Grip, Loads, push_between
from noslip.model.quantities import NOT_NEGATIVE, POSITIVE, ZERO, BodyName, Meaning, Point
from noslip.model.surfaces import AbstractSurface

if TYPE_CHECKING:
    from noslip.model.known_names import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticContact(AbstractForce):
    """A convex surface of a body pressed against a plane by (1), with the friction (2).

    Parameters
    ----------
    body : that has the surface.
    wheel : the surface, convex.
    stiffness : k, N/m.
    damping : d, s/m.
    friction : μ.
    v0 : speed, m/s, up to which friction is about in proportion to it.
    center : of the surface, in the body's frame, m.
    plane : by default the ground z = 0 of the world.
    """

    name: str
    body: BodyName
    wheel: AbstractSurface
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)]
    damping: Annotated[Scalar, Meaning(unit="s/m", sign=NOT_NEGATIVE)] = 0.0
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] = 0.0
    v0: Annotated[Scalar, Meaning(unit="m/s", sign=POSITIVE)] = 0.01
    center: Point = ZERO
    plane: Plane = Plane()

    word = "elastic_contact"
    also_called = ("penalty_contact", "compliant_contact")

    def apply(self, loads: Loads) -> None:
        read = loads.read
        touching = Rolling(
            name=self.name,
            body=self.body,
            wheel=self.wheel,
            center=self.center,
            plane=self.plane,
        )
        sliding = loads.sliding(touching)
        n = sliding.directions[NORMAL]
        origin, _ = loads.point(self.plane.body, self.plane.frame.position)
        depth = ca.fmax(ca.dot(n, origin - sliding.point), 0)
        pushed = read.scalar(self.stiffness) * depth
        load = ca.fmax(pushed * (1 - read.scalar(self.damping) * sliding.slip[NORMAL]), 0)  # (1)
        loads.store(pushed * depth / 2)
        bodies = (self.body, self.plane.body)
        push_between(loads, SPRING, bodies, sliding.point, pushed * n)
        v = [(sliding.slip[d], sliding.directions[d]) for d in (LONGITUDINAL, LATERAL)]
        speed = ca.sqrt(v[0][0] ** 2 + v[1][0] ** 2 + read.scalar(self.v0) ** 2)
        grip = read.scalar(self.friction) * load / speed
        lost = (load - pushed) * n - grip * (v[0][0] * v[0][1] + v[1][0] * v[1][1])  # (2)
        push_between(loads, DISSIPATIVE, bodies, sliding.point, lost)
        along, across = (-grip * part for part, _ in v)
        slide = ca.sqrt(v[0][0] ** 2 + v[1][0] ** 2)
        # what is apart from the plane, or has no friction, uses nothing of it
        is_held = ca.logic_and(load > 0, read.scalar(self.friction) > 0)
        use = ca.if_else(is_held, slide / speed, ca.SX(0))
        loads.grip(self.name, Grip(touching, along, across, load, use, slide))

    def loses_stored(self) -> bool:
        return True

    def planes(self) -> tuple[Plane, ...]:
        return (self.plane,)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if self.body in (WORLD, self.plane.body):
            yield Finding(
                ("forces", self.name, "body"),
                f"force '{self.name}' presses '{self.body}' against itself",
                "name the body that touches in body, and what it touches in plane.body",
            )
        if self.wheel.parameters():
            yield Finding(
                ("forces", self.name, "wheel"),
                f"force '{self.name}' has a surface of type '{self.wheel.word}', whose lowest "
                "point has no closed form",
                "use a ball, disk, torus or ellipsoid",
            )
        yield from self.wheel.faults(("forces", self.name, "wheel"), known)

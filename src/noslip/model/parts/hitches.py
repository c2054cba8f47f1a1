"""Couplings of vehicles as parts: hitches, fifth wheels, articulated waists, and trailers on them.

All turn about a vertical axis; ``NAME.angle`` is that of the child against the parent, positive
where the child points further to the left. A fifth wheel may tilt as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from noslip.expressions import Scalar
from noslip.model.bodies import Box, Cylinder, Placement
from noslip.model.findings import Finding
from noslip.model.forces import JointDamper, Motor
from noslip.model.joints import Revolute
from noslip.model.number_reader import NumberReader
from noslip.model.parts.axles import Axle
from noslip.model.parts.bodies import hull
from noslip.model.parts.part import (
    AbstractPart,
    Damping,
    Mass,
    Size,
    Y,
    Z,
    box_inertia,
    fix,
    formula,
    minus,
)
from noslip.model.parts.shapes import METAL, TEAL
from noslip.model.quantities import (
    ZERO,
    BodyName,
    Meaning,
    NotNegativeLength,
    Point,
    PositiveLength,
)

if TYPE_CHECKING:
    from noslip.model.model import Model, ModelBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Hitch(AbstractPart):
    """A pin between two vehicles, on the parent's axle or off it.

    Parameters
    ----------
    parent, child : bodies; the child has no other joint that carries it.
    position : of the pin, in the parent's frame, m.
    child_position : of the pin, in the child's frame, m.
    damping : N·m·s/rad.
    """

    name: str
    parent: BodyName
    child: BodyName
    position: Point
    child_position: Point = ZERO
    damping: Damping = 0.0

    word = "hitch"
    also_called = ("coupling", "drawbar")

    def expand(self, b: ModelBuilder) -> None:
        _pin(b, self.name, self.parent, self.child, self.position, self.child_position)
        _damp(b, self.name, self.damping)


@dataclass(frozen=True, slots=True, kw_only=True)
class FifthWheel(AbstractPart):
    """A plate on a tractor that a semitrailer's king pin turns in, with the plate's friction.

    Parameters
    ----------
    parent, child : tractor and semitrailer.
    position : of the king pin at the height of the plate, in the parent's frame, m.
    child_position : of the king pin, in the child's frame, m.
    radius, mass : of the plate, m and kg.
    damping : between plate and trailer, N·m·s/rad.
    tilts : whether the plate rocks about its lateral axis, ``NAME.pitch.angle``, positive where the
        trailer's nose goes down; the trailer's wheels then carry their share of its weight.
    """

    name: str
    parent: BodyName
    child: BodyName
    position: Point
    child_position: Point
    radius: PositiveLength
    mass: Mass
    damping: Damping = 0.0
    tilts: bool = False

    word = "fifth_wheel"
    also_called = ("turntable", "king_pin")

    def expand(self, b: ModelBuilder) -> None:
        r = self.radius
        across, about = formula("m*r^2/4", m=self.mass, r=r), formula("m*r^2/2", m=self.mass, r=r)
        plate = Cylinder(radius=r, length=formula("0.12*r", r=r), color=METAL)
        name = f"{self.name}.plate"
        b.body(name, mass=self.mass, inertia=(across, across, about), shapes=(plate,))
        frame = Placement(position=self.position)
        if self.tilts:
            b.joint(
                f"{self.name}.pitch",
                Revolute(axis=Y),
                parent=self.parent,
                child=name,
                parent_frame=frame,
                description=f"tilt of the plate of '{self.name}'",
            )
        else:
            fix(b, name, self.parent, frame)
        _pin(b, self.name, name, self.child, ZERO, self.child_position)
        _damp(b, self.name, self.damping)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waist(AbstractPart):
    """The joint of an articulated vehicle, which a motor or cylinders turn to steer it.

    Parameters
    ----------
    parent, child : bodies; the child has no other joint that carries it.
    position, child_position : of the pin, in the frames of both, m.
    steering : ``torque`` for the input ``NAME.torque``, N·m, or ``rate`` for the speed input
        ``NAME.steering_rate``, rad/s.
    damping : N·m·s/rad.
    """

    name: str
    parent: BodyName
    child: BodyName
    position: Point
    child_position: Point = ZERO
    steering: Annotated[str, Meaning(choices=("torque", "rate"))] = "torque"
    damping: Damping = 0.0

    word = "waist"
    also_called = ("articulation", "articulated_joint")

    def expand(self, b: ModelBuilder) -> None:
        _pin(b, self.name, self.parent, self.child, self.position, self.child_position)
        _damp(b, self.name, self.damping)
        speed = f"{self.name}.rate"
        if self.steering == "rate":
            b.speed_input(
                f"{self.name}.steering_rate",
                speed,
                f"rate of waist '{self.name}'",
                symbol=f"ω_{self.name}",
            )
        else:
            torque = b.input(f"{self.name}.torque", "N*m", f"torque of waist '{self.name}'")
            b.force(Motor(name=self.name, speed=speed, input=torque))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailer(AbstractPart):
    """A trailer with one axle on a hitch: ``NAME.hitch.angle``, wheels ``NAME.left`` and so on.

    Its frame is on the ground under the middle of its axle, x forward.

    Parameters
    ----------
    parent : vehicle before it.
    hitch : place of the pin in the parent's frame, m; on the parent's axle if that is its origin.
    length : from the pin to the axle, m.
    mass, size : of its box, kg and m.
    position : of the middle of the box, in the trailer's frame, m.
    wheel_separation, wheel_radius, wheel_mass : of its axle.
    damping : of the hitch, N·m·s/rad.
    """

    name: str
    parent: BodyName
    hitch: Point
    length: PositiveLength
    mass: Mass
    size: Size
    position: Point
    wheel_separation: PositiveLength
    wheel_radius: PositiveLength
    wheel_mass: Mass
    damping: Damping = 0.0
    color: str = TEAL

    word = "trailer"
    also_called = ("semitrailer", "wagon")

    def expand(self, b: ModelBuilder) -> None:
        _, y, z = self.size
        height = formula("p - h/2", p=self.position[2], h=z)
        drawbar = Box(
            size=(self.length, formula("0.1*a", a=y), formula("0.1*a", a=y)),
            frame=Placement(position=(formula("a/2", a=self.length), 0.0, height)),
            color=METAL,
        )
        b.body(
            self.name,
            mass=self.mass,
            inertia=box_inertia(self.mass, self.size),
            center_of_mass=self.position,
            shapes=(*hull(self.size, self.position, self.color)[:2], drawbar),
        )
        pin = f"{self.name}.hitch"
        _pin(b, pin, self.parent, self.name, self.hitch, (self.length, 0.0, 0.0))
        _damp(b, pin, self.damping)
        b.part(
            Axle(
                name=self.name,
                parent=self.name,
                position=(0.0, 0.0, self.wheel_radius),
                wheel_separation=self.wheel_separation,
                wheel_radius=self.wheel_radius,
                wheel_mass=self.wheel_mass,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailers(AbstractPart):
    """A row of equal trailers: ``NAME1``, ``NAME2`` and so on, each behind the one before it.

    Parameters
    ----------
    parent : vehicle before the first one.
    count : how many.
    hitch : place of the first pin in the parent's frame, m.
    hitch_offset : of the pin behind each trailer's axle, m; 0 for a hitch on the axle.
    length, mass, size, position, wheel_separation, wheel_radius, wheel_mass, damping : of each, as
        of a trailer.
    """

    name: str
    parent: BodyName
    count: int
    hitch: Point
    length: PositiveLength
    mass: Mass
    size: Size
    position: Point
    wheel_separation: PositiveLength
    wheel_radius: PositiveLength
    wheel_mass: Mass
    hitch_offset: NotNegativeLength = 0.0
    damping: Damping = 0.0
    color: str = TEAL

    word = "trailers"
    also_called = ("road_train", "n_trailer")

    def expand(self, b: ModelBuilder) -> None:
        before, hitch = self.parent, self.hitch
        for k in range(1, min(self.count, MAX_TRAILERS) + 1):
            name = f"{self.name}{k}"
            b.part(
                Trailer(
                    name=name,
                    parent=before,
                    hitch=hitch,
                    length=self.length,
                    mass=self.mass,
                    size=self.size,
                    position=self.position,
                    wheel_separation=self.wheel_separation,
                    wheel_radius=self.wheel_radius,
                    wheel_mass=self.wheel_mass,
                    damping=self.damping,
                    color=self.color,
                )
            )
            before, hitch = name, (minus(self.hitch_offset), 0.0, 0.0)

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        if not 1 <= self.count <= MAX_TRAILERS:
            yield Finding(
                ("parts", self.name, "count"),
                f"part '{self.name}' has {self.count} trailers, expected 1 to {MAX_TRAILERS}",
                "give a count in that range",
            )


#: Trailers in a row at most.
MAX_TRAILERS = 200


def _pin(
    b: ModelBuilder, name: str, parent: str, child: str, position: Point, child_position: Point
) -> None:
    b.joint(
        name,
        Revolute(axis=Z),
        parent=parent,
        child=child,
        parent_frame=Placement(position=position),
        child_frame=Placement(position=child_position),
        description=f"angle of '{child}' against '{parent}'",
    )


def _damp(b: ModelBuilder, name: str, damping: Scalar) -> None:
    if damping != 0.0:
        b.force(JointDamper(name=name, speed=f"{name}.rate", damping=damping))

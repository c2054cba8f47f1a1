"""Axles as parts: pairs of wheels side by side.

The left wheel is ``NAME.left``, the right one ``NAME.right``; `position` is the middle between
their centers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from noslip.expressions import Scalar
from noslip.model.bodies import Cylinder, Placement
from noslip.model.contacts import Rolling
from noslip.model.findings import Finding
from noslip.model.forces import Motor
from noslip.model.joints import Revolute
from noslip.model.number_reader import NumberReader
from noslip.model.parts.part import (
    AbstractPart,
    Damping,
    Mass,
    NotNegativeMass,
    WheelOutline,
    Y,
    Z,
    formula,
    shifted,
)
from noslip.model.parts.shapes import METAL, axle, wheel_shapes
from noslip.model.parts.wheels import WIDTH, DrivenWheel, FixedWheel, Steering, fork, steer
from noslip.model.quantities import NOT_NEGATIVE, BodyName, Meaning, Point, PositiveLength
from noslip.model.rows import PositionRow, RowForce
from noslip.model.surfaces import Disk
from noslip.model.transmissions import Differential

if TYPE_CHECKING:
    from noslip.model.model import Model, ModelBuilder

#: Sides of an axle: its word, and the sign of y there.
SIDES = (("left", 1), ("right", -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractAxlePart(AbstractPart):
    """Fields that axles share.

    Parameters
    ----------
    parent : body with the axle.
    position : of the middle between the wheels' centers, in the parent's frame, m.
    wheel_separation : between the wheels' middles, m.
    wheel_radius, wheel_mass : of each wheel, m and kg.
    wheel_width : m; 0.4 radii by default.
    damping : of each bearing, N·m·s/rad.
    has_brake : whether each wheel has a brake, with the inputs ``NAME.left.brake`` and
        ``NAME.right.brake``, N·m.
    """

    name: str
    parent: BodyName
    position: Point
    wheel_separation: PositiveLength
    wheel_radius: PositiveLength
    wheel_mass: Mass
    wheel_width: PositiveLength | None = None
    damping: Damping = 0.0
    has_brake: bool = False

    def wheel(
        self, kind: type[FixedWheel] | type[DrivenWheel], side: str, sign: int, *, lateral: bool
    ) -> FixedWheel | DrivenWheel:
        """One of its wheels."""
        return kind(
            name=f"{self.name}.{side}",
            parent=self.parent,
            position=self.center(sign),
            radius=self.wheel_radius,
            mass=self.wheel_mass,
            width=self.wheel_width,
            damping=self.damping,
            has_brake=self.has_brake,
            lateral=lateral,
        )

    def center(self, sign: int) -> Point:
        """Center of the wheel on a side."""
        return shifted(self.position, dy=formula(f"{sign}*w/2", w=self.wheel_separation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axle(AbstractAxlePart):
    """Two wheels that turn by themselves on an axle fixed to the parent.

    Parameters
    ----------
    is_driven : whether each has a motor, with the inputs ``NAME.left.torque`` and
        ``NAME.right.torque``.
    lateral : whether they are kept from slipping sideways.
    """

    is_driven: bool = False
    lateral: bool = True

    word = "axle"
    also_called = ("rigid_axle",)

    def expand(self, b: ModelBuilder) -> None:
        kind = DrivenWheel if self.is_driven else FixedWheel
        for side, sign in SIDES:
            b.part(self.wheel(kind, side, sign, lateral=self.lateral))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheelset(AbstractAxlePart):
    """Two wheels on one shaft, which turn together: ``NAME.angle``; it rolls straight on only.

    Parameters
    ----------
    is_driven : whether the shaft has a motor, with the input ``NAME.torque``.
    """

    is_driven: bool = False

    word = "wheelset"

    def expand(self, b: ModelBuilder) -> None:
        r, m, w = self.wheel_radius, self.wheel_mass, self.wheel_separation
        width = formula(f"{WIDTH}*r", r=r) if self.wheel_width is None else self.wheel_width
        across = formula("m*(3*r^2 + a^2)/6 + m*w^2/2", m=m, r=r, a=width, w=w)
        shaft = axle(w, formula("0.12*r", r=r), 0.0)
        wheels = [
            shape
            for _, sign in SIDES
            for shape in wheel_shapes(r, width, "y", formula(f"{sign}*w/2", w=w))
        ]
        b.body(
            self.name,
            mass=formula("2*m", m=m),
            inertia=(across, formula("m*r^2", m=m, r=r), across),
            shapes=(shaft, *wheels),
        )
        b.joint(
            self.name,
            Revolute(axis=Y),
            parent=self.parent,
            child=self.name,
            parent_frame=Placement(position=self.position),
            description="spin of the wheelset, positive forward",
        )
        for side, sign in SIDES:
            b.contact(
                Rolling(
                    name=f"{self.name}.{side}",
                    body=self.name,
                    wheel=Disk(radius=r, axis=Y),
                    center=(0.0, formula(f"{sign}*w/2", w=w), 0.0),
                    normal=not b.keeps_height(self.parent),
                )
            )
        if self.is_driven:
            torque = b.input(f"{self.name}.torque", "N*m", f"motor torque on '{self.name}'")
            b.force(Motor(name=self.name, speed=f"{self.name}.rate", input=torque))

    def outlines(self) -> tuple[WheelOutline, ...]:
        r = self.wheel_radius
        width = formula(f"{WIDTH}*r", r=r) if self.wheel_width is None else self.wheel_width
        return tuple(
            WheelOutline(f"{self.name}.{side}", self.parent, self.center(sign), 0.0, r, width)
            for side, sign in SIDES
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialAxle(AbstractAxlePart):
    """Two wheels that a differential drives: ``NAME.angle`` is its cage's, the mean of theirs.

    The input ``NAME.torque`` is the motor's on the cage; each wheel gets half of it.

    Parameters
    ----------
    cage_inertia : of what turns with the cage, about the axle, kg·m².
    """

    cage_inertia: Annotated[Scalar, Meaning(unit="kg*m^2", sign=NOT_NEGATIVE)] = 0.0

    word = "differential_axle"

    def expand(self, b: ModelBuilder) -> None:
        r, cage = self.wheel_radius, f"{self.name}.cage"
        drum = axle(formula("0.6*r", r=r), formula("0.35*r", r=r), 0.0)
        inertia = (self.cage_inertia, self.cage_inertia, self.cage_inertia)
        b.body(cage, mass=0.0, inertia=inertia, shapes=(drum,))
        b.joint(
            self.name,
            Revolute(axis=Y),
            parent=self.parent,
            child=cage,
            parent_frame=Placement(position=self.position),
            description="angle of the differential's cage, positive forward",
        )
        for side, sign in SIDES:
            b.part(self.wheel(FixedWheel, side, sign, lateral=True))
        b.row(
            Differential(
                name=self.name,
                drive=f"{self.name}.angle",
                left=f"{self.name}.left.angle",
                right=f"{self.name}.right.angle",
            )
        )
        torque = b.input(f"{self.name}.torque", "N*m", f"motor torque on the cage of '{self.name}'")
        b.force(Motor(name=self.name, speed=f"{self.name}.rate", input=torque))


@dataclass(frozen=True, slots=True, kw_only=True)
class AckermannAxle(AbstractAxlePart):
    """Two steered wheels: ``NAME.steer.angle`` is that of a single wheel in their middle.

    ``NAME.left.steer.angle`` and ``NAME.right.steer.angle`` follow it. With L the wheelbase, w the
    separation and δ the angle in the middle, both wheels point across lines through one center on
    the rear axle's line if

        (1)  L sin(δ_l − δ) = (w/2) sin δ_l sin δ,      L sin(δ_r − δ) = −(w/2) sin δ_r sin δ

    The *ideal* law keeps (1) as two rows, and no wheel slips. A *trapezoid*, two arms and a tie
    rod, fulfills (1) only nearly: the axles have no common center of rotation, so one front wheel
    must slip sideways, by the angle ``NAME.right.slip_angle``; `slipping` says which one. The
    steering column then turns the left wheel's arm.

    Parameters
    ----------
    wheelbase : from the rear axle, m.
    steering : ``torque`` for the input ``NAME.steering_torque``, N·m, or ``rate`` for the speed
        input ``NAME.steering_rate``, rad/s.
    law : ``ideal`` or ``trapezoid``.
    slipping : front wheel that slips under a trapezoid: ``right`` or ``left``.
    arm_length, arm_angle : of a trapezoid's arms, behind the wheels and inward by that angle, m and
        rad; the arms point to the middle of the rear axle by default.
    knuckle_mass : of what turns with each wheel, kg.
    is_driven : whether each wheel has a motor.
    """

    wheelbase: PositiveLength
    steering: Steering = "torque"
    law: Annotated[str, Meaning(choices=("ideal", "trapezoid"))] = "ideal"
    slipping: Annotated[str, Meaning(choices=("left", "right", "none"))] = "right"
    arm_length: PositiveLength | None = None
    arm_angle: Annotated[Scalar, Meaning(unit="rad")] | None = None
    knuckle_mass: NotNegativeMass = 0.0
    is_driven: bool = False

    word = "ackermann_axle"
    also_called = ("ackermann", "steered_axle")

    def expand(self, b: ModelBuilder) -> None:
        column = f"{self.name}.column"
        rod = Cylinder(
            radius=formula("0.1*r", r=self.wheel_radius),
            length=formula("0.5*r", r=self.wheel_radius),
            color=METAL,
        )
        b.body(column, mass=0.0, inertia=(0.0, 0.0, 0.0), shapes=(rod,))
        b.joint(
            f"{self.name}.steer",
            Revolute(axis=Z),
            parent=self.parent,
            child=column,
            parent_frame=Placement(position=self.position),
            description="steering angle of a single wheel in the middle, positive to the left",
            symbols={"angle": f"δ_{self.name}"},
        )
        steer(b, self.name, self.steering)
        for side, sign in SIDES:
            kind = DrivenWheel if self.is_driven else FixedWheel
            holds = self.law == "ideal" or side != self.slipping
            wheel = self.wheel(kind, side, sign, lateral=holds)
            fork(b, wheel, "steer", self.knuckle_mass)
            wheel.spin(b, f"{wheel.name}.fork", Placement(), is_driven=self.is_driven)
        for row in self._trapezoid() if self.law == "trapezoid" else self._ideal():
            b.row(row)

    def _ideal(self) -> Iterator[PositionRow]:
        """Rows (1), which act with couples between the knuckles, the column and the parent."""
        for side, sign in SIDES:
            given: dict[str, Scalar] = {
                "L": self.wheelbase,
                "w": self.wheel_separation,
                "a": f"{self.name}.{side}.steer.angle",
                "d": f"{self.name}.steer.angle",
            }
            law = formula(f"L*sin(a - d) - {sign}*w/2*sin(a)*sin(d)", **given)
            of_wheel = formula(f"L*cos(a - d) - {sign}*w/2*cos(a)*sin(d)", **given)
            of_column = formula(f"-L*cos(a - d) - {sign}*w/2*sin(a)*cos(d)", **given)
            yield PositionRow(
                name=f"{self.name}.{side}.law",
                expression=str(law),
                unit="m",
                acts=(
                    self._couple(f"{self.name}.{side}.fork", of_wheel),
                    self._couple(f"{self.name}.column", of_column),
                ),
            )

    def _couple(self, body: str, moment: Scalar) -> RowForce:
        moments = (0.0, 0.0, moment)
        return RowForce(body=body, other_body=self.parent, frame=self.parent, moment=moments)

    def _trapezoid(self) -> Iterator[PositionRow]:
        """The tie rod's length between the ends of the arms, and the column on the left arm.

        With β the arms' angle inward, b their length, ends at b (−cos β, ∓ sin β) from the king
        pins at (0, ±w/2), turned by δ_l and δ_r.
        """
        left, right = (f"{self.name}.{side}.steer.angle" for side, _ in SIDES)
        w = self.wheel_separation
        arm = formula("w/8", w=w) if self.arm_length is None else self.arm_length
        inward = self.arm_angle
        if inward is None:
            inward = formula("atan(w/2/L)", w=w, L=self.wheelbase)
        ends = {"b": arm, "n": inward, "w": w, "l": left, "r": right}
        dx = formula("b*(cos(n - r) - cos(n + l))", **ends)
        dy = formula("w - b*(sin(n + l) + sin(n - r))", **ends)
        rest = formula("w - 2*b*sin(n)", w=w, b=arm, n=inward)
        length = f"sqrt(({dx})^2 + ({dy})^2)"
        forks = [f"{self.name}.{side}.fork" for side, _ in SIDES]
        end = shifted(
            self.position,
            formula("-b*cos(n + l)", **ends),
            formula("w/2 - b*sin(n + l)", **ends),
        )
        rod = RowForce(
            body=forks[0],
            other_body=forks[1],
            frame=self.parent,
            point=end,
            force=(f"({dx})/{length}", f"({dy})/{length}", 0.0),
        )
        yield PositionRow(
            name=f"{self.name}.tie_rod", expression=f"{length} - ({rest})", unit="m", acts=(rod,)
        )
        column = RowForce(
            body=forks[0], other_body=f"{self.name}.column", frame=self.parent, moment=Z
        )
        yield PositionRow(
            name=f"{self.name}.link",
            expression=f"{left} - {self.name}.steer.angle",
            unit="rad",
            acts=(column,),
        )

    def outlines(self) -> tuple[WheelOutline, ...]:
        return tuple(
            self.wheel(FixedWheel, side, sign, lateral=True).outline() for side, sign in SIDES
        )

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        if self.law == "trapezoid" and self.slipping == "none":
            yield Finding(
                ("parts", self.name, "slipping"),
                f"axle '{self.name}' steers by a trapezoid and lets neither wheel slip, but its "
                "wheels and the rear axle then have no common center of rotation",
                'write slipping = "right" or "left", or law = "ideal"',
            )

"""Wheels, casters and axles as parts.

**Wheels and casters as parts.**

A wheel sits on a body, its parent, with its center at `position`, its axle along y of the parent
turned by `heading` about z. Its spin is the joint with the part's name. On a base with a planar
joint its height needs no row; on a free base its normal row holds it up.

**Axles as parts: pairs of wheels side by side.**

The left wheel is ``NAME.left``, the right one ``NAME.right``; `position` is the middle between
their centers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Annotated

from noslip.expressions import Scalar
from noslip.model.bodies import AbstractShape, Box, Cylinder, Placement, Sphere
from noslip.model.contacts import (
    AbstractContact,
    KnifeEdge,
    RollerRolling,
    Rolling,
    roller_places,
    roller_shapes,
)
from noslip.model.findings import Finding
from noslip.model.forces import ROADS, Brake, ElasticContact, JointDamper, MagicTire, Motor
from noslip.model.joints import Revolute, keeps_height
from noslip.model.parts.part import (
    DARK,
    METAL,
    AbstractPart,
    Angle,
    Damping,
    Mass,
    NotNegativeMass,
    WheelOutline,
    X,
    Y,
    Z,
    axle,
    box_inertia,
    fix,
    formula,
    minus,
    shifted,
    wheel_inertia,
    wheel_shapes,
)
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    ZERO,
    BodyName,
    Meaning,
    NumberReader,
    Point,
    PositiveLength,
    Vector3,
)
from noslip.model.rows import PositionRow, RowForce
from noslip.model.surfaces import Ball, Disk, Ellipsoid
from noslip.model.transmissions import Differential

if TYPE_CHECKING:
    from noslip.model.model import Model, ModelBuilder


#: Rate at which a wheel's brake holds tanh 1 = 76 % of its torque, rad/s.
BRAKE_SMOOTHING = 0.05

#: Speed at which a roller that is a body has 71 % of its friction, m/s.
ROLLER_CREEP = 0.05

#: Friction of a roller that is a body.
ROLLER_FRICTION = 0.8

#: Width of a wheel by default, in radii.
WIDTH = 0.4

#: What moves a steering: a torque, or a rate that is imposed.
Steering = Annotated[str, Meaning(choices=("torque", "rate"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractWheelPart(AbstractPart):
    """Fields that wheels share."""

    name: str
    parent: BodyName  #: body with the axle
    position: Point  #: position of the wheel's center, in the parent's frame, m
    #: radius, mass: m and kg; the wheel is a uniform cylinder
    radius: PositiveLength
    mass: Mass
    width: PositiveLength | None = None  #: m; 0.4 radii by default
    heading: Angle = 0.0  #: direction of rolling, about z from the parent's x axis, rad
    damping: Damping = 0.0  #: damping of the bearing, N·m·s/rad
    has_brake: bool = False  #: whether it has a brake, with the input ``NAME.brake``, N·m
    #: whether it is kept from slipping sideways; if not, ``NAME.slip_angle`` is defined
    lateral: bool = True
    #: ``dry``, ``wet``, ``snow`` or ``ice`` for a tire that slips, with `load` on it; it rolls
    #: without slip by default
    road: Annotated[str, Meaning(choices=("", *ROADS))] = ""
    load: Annotated[Scalar, Meaning(unit="N", sign=NOT_NEGATIVE)] = 0.0  #: load on the tire, N
    #: rolling resistance of the tire, as a part of the load
    rolling_resistance: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] = 0.0
    #: relaxation length of the tire, over which slip builds up, m; at once by default
    relaxation_length: PositiveLength | None = None
    #: stiffness in compression, by which wheels divide a load that statics leaves open, N/m
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)] | None = None
    #: friction, restitution: coefficients of its contact, for the audit and for runs with
    #: ``contact="coulomb"``
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    restitution: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None

    @property
    def full_width(self) -> Scalar:
        """The width that was given, or the usual one."""
        return formula(f"{WIDTH}*r", r=self.radius) if self.width is None else self.width

    def outline(self, *, is_held: bool = False) -> WheelOutline:
        """Outline of the wheel."""
        return WheelOutline(
            self.name,
            self.parent,
            self.position,
            self.heading,
            self.radius,
            self.full_width,
            is_held,
        )

    def outlines(self) -> tuple[WheelOutline, ...]:
        return (self.outline(),)

    def spin(
        self,
        b: ModelBuilder,
        parent: str,
        frame: Placement,
        *,
        is_driven: bool = False,
        contact: AbstractContact | None = None,
        has_contact: bool = True,
        shapes: tuple[AbstractShape, ...] | None = None,
    ) -> None:
        """Add the wheel's body, its joint on a parent, its contact, bearing, motor and brake."""
        width = self.full_width
        b.body(
            self.name,
            mass=self.mass,
            inertia=wheel_inertia(self.mass, self.radius, width),
            shapes=wheel_shapes(self.radius, width, "y") if shapes is None else shapes,
        )
        b.joint(
            self.name,
            Revolute(axis=Y),
            parent=parent,
            child=self.name,
            parent_frame=frame,
            description="spin of the wheel, positive forward",
        )
        rolling = Rolling(
            name=self.name,
            body=self.name,
            wheel=Disk(radius=self.radius, axis=Y),
            longitudinal=not self.road,
            lateral=self.lateral and not self.road,
            normal=bool(self.road) or not b.keeps_height(parent),
            stiffness=self.stiffness,
            friction=self.friction,
            restitution=self.restitution,
        )
        if has_contact:
            b.contact(rolling if contact is None else contact)
        if contact is None and has_contact and (self.road or not self.lateral):
            slip_angle(b, self.name, parent, frame)
        if self.road:
            b.force(
                MagicTire(
                    name=f"{self.name}.tire",
                    body=self.name,
                    axis=Y,
                    radius=self.radius,
                    load=self.load,
                    road=self.road,
                    rolling_resistance=self.rolling_resistance,
                    relaxation_length=self.relaxation_length,
                )
            )
        speed = f"{self.name}.rate"
        if is_driven:
            torque = b.input(f"{self.name}.torque", "N*m", f"motor torque on wheel '{self.name}'")
            b.force(Motor(name=self.name, speed=speed, input=torque))
        if self.damping != 0.0:
            b.force(JointDamper(name=f"{self.name}.bearing", speed=speed, damping=self.damping))
        if self.has_brake:
            torque = b.input(f"{self.name}.brake", "N*m", f"brake torque on wheel '{self.name}'")
            b.force(
                Brake(
                    name=f"{self.name}.brake",
                    speed=speed,
                    input=torque,
                    smoothing=BRAKE_SMOOTHING,
                )
            )

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        if self.road and read.scalar(self.load) == 0.0:
            yield Finding(
                ("parts", self.name, "load"),
                f"wheel '{self.name}' has a tire on a {self.road} road and no load on it",
                "give its part of the weight, load = …, in N",
            )
        of_tire = {"relaxation_length": None, "rolling_resistance": 0.0, "load": 0.0}
        for key, default in of_tire.items():
            if not self.road and getattr(self, key) != default:
                yield Finding(
                    ("parts", self.name, key),
                    f"wheel '{self.name}' has {key}, which is its tire's, and rolls without slip",
                    'write road = "dry", "wet", "snow" or "ice" for a tire, or leave it out',
                )

    def frame(self) -> Placement:
        """Placement of the wheel on its parent."""
        return Placement(position=self.position, angles=(0.0, 0.0, self.heading))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWheel(AbstractWheelPart):
    """A wheel that rolls freely on an axle that is fixed to its parent."""

    word = "fixed_wheel"
    also_called = ("wheel",)

    def expand(self, b: ModelBuilder) -> None:
        self.spin(b, self.parent, self.frame())

    def outlines(self) -> tuple[WheelOutline, ...]:
        return (self.outline(is_held=self.lateral and not self.road),)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenWheel(AbstractWheelPart):
    """A wheel with a motor on an axle that is fixed to its parent; input ``NAME.torque``."""

    word = "driven_wheel"
    also_called = ("motor_wheel", "traction_wheel")

    def expand(self, b: ModelBuilder) -> None:
        self.spin(b, self.parent, self.frame(), is_driven=True)

    def outlines(self) -> tuple[WheelOutline, ...]:
        return (self.outline(is_held=self.lateral and not self.road),)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractSteeredWheelPart(AbstractWheelPart):
    """Fields that wheels share which a steering turns about a vertical axis."""

    #: ``torque`` for the input ``NAME.steering_torque``, N·m, or ``rate`` for the speed input
    #: ``NAME.steering_rate``, rad/s
    steering: Steering = "torque"
    fork_mass: NotNegativeMass = 0.0  #: kg, of what turns with it

    def steer_and_spin(self, b: ModelBuilder, *, is_driven: bool) -> None:
        """Add the fork, what moves it, and the wheel on it."""
        fork(b, self, "steer", self.fork_mass)
        steer(b, self.name, self.steering)
        self.spin(b, f"{self.name}.fork", Placement(), is_driven=is_driven)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredWheel(AbstractSteeredWheelPart):
    """A wheel that a steering turns about a vertical axis: ``NAME.steer.angle``, left positive."""

    word = "steered_wheel"

    def expand(self, b: ModelBuilder) -> None:
        self.steer_and_spin(b, is_driven=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredDrivenWheel(AbstractSteeredWheelPart):
    """A wheel that is steered and driven: ``NAME.steer.angle``, input ``NAME.torque``."""

    word = "steered_driven_wheel"
    also_called = ("driven_steered_wheel", "swerve_wheel")

    def expand(self, b: ModelBuilder) -> None:
        self.steer_and_spin(b, is_driven=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caster(AbstractWheelPart):
    """A wheel on a fork that swivels freely: ``NAME.swivel.angle``, zero where the wheel trails."""

    #: position of the wheel's center where it trails behind the swivel axis, `trail` ahead of it
    position: Point
    trail: Annotated[Scalar, Meaning(unit="m")]  #: distance of the wheel behind the swivel axis, m
    fork_mass: NotNegativeMass = 0.0  #: kg, of the fork
    swivel_damping: Damping = 0.0  #: N·m·s/rad

    word = "caster"
    also_called = ("castor", "caster_wheel")

    def expand(self, b: ModelBuilder) -> None:
        fork(b, self, "swivel", self.fork_mass, self.trail)
        if self.swivel_damping != 0.0:
            speed = f"{self.name}.swivel.rate"
            damper = JointDamper(
                name=f"{self.name}.swivel", speed=speed, damping=self.swivel_damping
            )
            b.force(damper)
        self.spin(b, f"{self.name}.fork", Placement(position=(minus(self.trail), 0.0, 0.0)))

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        yield from AbstractWheelPart.faults(self, model, read)
        trail, radius = read.scalar(self.trail), read.scalar(self.radius)
        if trail < 1e-3 * radius:
            yield Finding(
                ("parts", self.name, "trail"),
                f"caster '{self.name}' has a trail of {trail:.3g} m, so that it does not align",
                "put the wheel behind its swivel axis, by about half its radius; for a wheel that "
                'a motor turns write type = "steered_wheel"',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class BallCaster(AbstractPart):
    """A ball in a socket: it carries load and slides in all directions without resistance."""

    name: str
    parent: BodyName  #: body with the socket
    position: Point  #: position of the ball's center, in the parent's frame, m
    #: radius, mass: radius and mass of the ball, m and kg
    radius: PositiveLength
    mass: Mass

    word = "ball_caster"
    also_called = ("ball_transfer", "skid")

    def expand(self, b: ModelBuilder) -> None:
        moment = formula("2*m*r^2/5", m=self.mass, r=self.radius)
        shapes = (
            Sphere(radius=self.radius, color=METAL),
            Cylinder(
                radius=formula("1.1*r", r=self.radius),
                length=self.radius,
                frame=Placement(position=(0.0, 0.0, formula("r/2", r=self.radius))),
                color=DARK,
            ),
        )
        b.body(self.name, mass=self.mass, inertia=(moment, moment, moment), shapes=shapes)
        frame = Placement(position=self.position)
        fix(b, self.name, self.parent, frame)
        ball = Ball(radius=self.radius)
        b.contact(
            Rolling(name=self.name, body=self.name, wheel=ball, longitudinal=False, lateral=False)
        )

    def outlines(self) -> tuple[WheelOutline, ...]:
        width = formula("2*r", r=self.radius)
        return (WheelOutline(self.name, self.parent, self.position, 0.0, self.radius, width),)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractRollerWheelPart(AbstractWheelPart):
    """Fields that wheels with rollers share.

    Ideal rollers are so many and so light that the rim is round: one row holds along the axis of
    the one that touches. With a number of `rollers` each is a body, ``NAME.roller1`` and so on, an
    ellipsoid that lies in the rim and presses on the ground by an elastic contact; the wheel then
    hops from one to the next, on a base with motion = "free".
    """

    #: coefficient of its contact along the axes of its rollers, as of other wheels; of rollers that
    #: are bodies 0.8 by default
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    is_driven: bool = True  #: whether it has a motor, with the input ``NAME.torque``
    #: number of rollers, each a body; 0 for ideal ones
    rollers: Annotated[int, Meaning(sign=NOT_NEGATIVE)] = 0
    #: mass of each roller, kg; `mass` is that of the wheel without them
    roller_mass: NotNegativeMass = 0.0
    #: damping of their contact by the speed at which it is pressed, s/m; `stiffness` belongs to it
    contact_damping: Annotated[Scalar, Meaning(unit="s/m", sign=NOT_NEGATIVE)] = 1.0

    def roll_at(self, b: ModelBuilder, angle: Scalar) -> None:
        """Add the wheel with rollers whose axes are at an angle to its axle."""
        read = NumberReader(b.plain().parameter_values())
        ideal = RollerRolling(
            name=self.name,
            body=self.name,
            radius=self.radius,
            axis=Y,
            roller_angle=angle,
            normal=not b.keeps_height(self.parent),
            stiffness=self.stiffness,
            friction=self.friction,
            restitution=self.restitution,
        )
        shapes = roller_shapes(Y, angle, self.radius, self.full_width, read)
        if self.rollers:
            # the hub alone: rollers are drawn with their bodies
            shapes = shapes[:1]
        self.spin(
            b,
            self.parent,
            self.frame(),
            is_driven=self.is_driven,
            contact=None if self.rollers else ideal,
            has_contact=not self.rollers,
            shapes=shapes,
        )
        for k, (frame, size) in enumerate(
            roller_places(angle, self.radius, self.rollers, read), start=1
        ):
            self._add_roller(b, f"{self.name}.roller{k}", frame, size)

    def _add_roller(
        self, b: ModelBuilder, name: str, frame: Placement, size: tuple[float, float]
    ) -> None:
        long, thick = size
        across = formula("m*(a^2 + b^2)/5", m=self.roller_mass, a=long, b=thick)
        about = formula("2*m*b^2/5", m=self.roller_mass, b=thick)
        bar = Placement(angles=(0.0, pi / 2, 0.0))
        barrel = Cylinder(radius=0.95 * thick, length=1.1 * long, frame=bar, color=DARK)
        b.body(name, mass=self.roller_mass, inertia=(about, across, across), shapes=(barrel,))
        b.joint(
            name,
            Revolute(axis=X),
            parent=self.name,
            child=name,
            parent_frame=frame,
            description="spin of a roller",
        )
        b.force(
            ElasticContact(
                name=name,
                body=name,
                wheel=Ellipsoid(size=(long, thick, thick)),
                stiffness=1.0 if self.stiffness is None else self.stiffness,
                damping=self.contact_damping,
                friction=ROLLER_FRICTION if self.friction is None else self.friction,
                v0=ROLLER_CREEP,
            )
        )

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        yield from AbstractWheelPart.faults(self, model, read)
        if self.rollers and self.stiffness is None:
            yield Finding(
                ("parts", self.name, "stiffness"),
                f"wheel '{self.name}' has rollers as bodies and no stiffness of their contact",
                "give stiffness = …, in N/m, such as the weight on it over a tenth of a millimeter",
            )
        if self.rollers and read.scalar(self.roller_mass) == 0.0:
            yield Finding(
                ("parts", self.name, "roller_mass"),
                f"wheel '{self.name}' has rollers as bodies without mass",
                "give roller_mass = …, in kg",
            )
        if self.rollers and keeps_height(model.joints, self.parent):
            yield Finding(
                ("parts", self.name, "rollers"),
                f"wheel '{self.name}' has rollers as bodies, which carry it, on '{self.parent}', "
                "which has a fixed height",
                'write motion = "free" for the base, or leave out rollers',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MecanumWheel(AbstractRollerWheelPart):
    """A driven wheel with rollers at an angle to its axle: one row, along the roller's axis."""

    #: angle from the wheel's axle to the axis of the roller on the ground, rad: +π/4 where that
    #: roller points forward and left, −π/4 where it points forward and right
    roller_angle: Angle

    word = "mecanum_wheel"
    also_called = ("mecanum", "swedish_wheel")

    def expand(self, b: ModelBuilder) -> None:
        self.roll_at(b, self.roller_angle)


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniWheel(AbstractRollerWheelPart):
    """A driven wheel with rollers across its axle: it holds along its heading only."""

    word = "omni_wheel"
    also_called = ("omni", "omniwheel")

    def expand(self, b: ModelBuilder) -> None:
        self.roll_at(b, "pi/2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blade(AbstractPart):
    """A runner of a skate or sled: it slides along its heading and not sideways."""

    name: str
    parent: BodyName  #: body that it is fixed to
    position: Point = ZERO  #: position of the point that touches, in the parent's frame, m
    heading: Angle = 0.0  #: heading of the blade, about z from the parent's x axis, rad

    word = "blade"
    also_called = ("knife_edge", "runner", "skate")

    def expand(self, b: ModelBuilder) -> None:
        direction: Vector3 = X
        if self.heading != 0.0:
            direction = (formula("cos(n)", n=self.heading), formula("sin(n)", n=self.heading), 0.0)
        b.contact(
            KnifeEdge(name=self.name, body=self.parent, direction=direction, point=self.position)
        )


def fork(
    b: ModelBuilder,
    wheel: AbstractWheelPart,
    joint: str,
    mass: Scalar,
    trail: Scalar = 0.0,
) -> None:
    """Add the fork of a wheel, which turns about z above the wheel's center, or ahead of it."""
    r, w = wheel.radius, wheel.full_width
    size: Vector3 = (formula("0.3*r", r=r), formula("1.5*w", w=w), formula("1.3*r", r=r))
    leg = (formula("0.3*r", r=r), formula("0.15*w", w=w), formula("1.3*r", r=r))
    back = formula("-t/2", t=trail)
    shapes: list[AbstractShape] = [
        Box(
            size=leg,
            frame=Placement(position=(back, formula(f"{side}*0.7*w", w=w), formula("0.55*r", r=r))),
            color=METAL,
        )
        for side in (1, -1)
    ]
    shapes.append(
        Box(
            size=(formula("0.4*r + t", r=r, t=trail), size[1], formula("0.12*r", r=r)),
            frame=Placement(position=(back, 0.0, formula("1.2*r", r=r))),
            color=METAL,
        )
    )
    name = f"{wheel.name}.fork"
    b.body(name, mass=mass, inertia=box_inertia(mass, size), shapes=tuple(shapes))
    position: Vector3 = wheel.position
    if trail != 0.0:
        x, y, z = wheel.position
        turn = wheel.heading
        if turn == 0.0:
            position = (formula("x + t", x=x, t=trail), y, z)
        else:
            position = (
                formula("x + t*cos(n)", x=x, t=trail, n=turn),
                formula("y + t*sin(n)", y=y, t=trail, n=turn),
                z,
            )
    b.joint(
        f"{wheel.name}.{joint}",
        Revolute(axis=Z),
        parent=wheel.parent,
        child=name,
        parent_frame=Placement(position=position, angles=(0.0, 0.0, wheel.heading)),
        description="steering angle, positive to the left"
        if joint == "steer"
        else "swivel of the fork, zero where the wheel trails",
        symbols={"angle": f"{'δ' if joint == 'steer' else 'β'}_{wheel.name}"},
    )


def slip_angle(b: ModelBuilder, name: str, parent: str, frame: Placement) -> None:
    """Define ``NAME.slip_angle``: from where a wheel points to where its center moves, rad."""
    x, y, z = frame.position
    turn = frame.angles[2]
    place = parent if frame.position == ZERO else f"{parent}, {x}, {y}, {z}"
    moving = {
        axis: " + ".join(f"velocity({place}).{k}*axis({parent}, {axis}).{k}" for k in "xyz")
        for axis in "xy"
    }
    ahead, aside = f"({moving['x']})", f"({moving['y']})"
    b.definition(
        f"{name}.slip_angle",
        f"atan2({aside}, {ahead})" + ("" if turn == 0.0 else f" - ({turn})"),
        "rad",
        f"slip angle of wheel '{name}'",
    )


def steer(b: ModelBuilder, name: str, steering: str) -> None:
    """Add what moves the joint ``name.steer``: a torque input, or a rate that is imposed."""
    speed = f"{name}.steer.rate"
    if steering == "rate":
        b.speed_input(
            f"{name}.steering_rate", speed, f"steering rate of '{name}'", symbol=f"ω_{name}"
        )
    else:
        torque = b.input(f"{name}.steering_torque", "N*m", f"steering torque on '{name}'")
        b.force(Motor(name=f"{name}.steer", speed=speed, input=torque))


#: Sides of an axle: its word, and the sign of y there.
SIDES = (("left", 1), ("right", -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractAxlePart(AbstractPart):
    """Fields that axles share."""

    name: str
    parent: BodyName  #: body with the axle
    position: Point  #: position of the middle between the wheels' centers, in the parent's frame, m
    wheel_separation: PositiveLength  #: distance between the wheels' middles, m
    #: wheel_radius, wheel_mass: radius and mass of each wheel, m and kg
    wheel_radius: PositiveLength
    wheel_mass: Mass
    wheel_width: PositiveLength | None = None  #: m; 0.4 radii by default
    damping: Damping = 0.0  #: damping of each bearing, N·m·s/rad
    #: whether each wheel has a brake, with the inputs ``NAME.left.brake`` and ``NAME.right.brake``,
    #: N·m
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
    """Two wheels that turn by themselves on an axle fixed to the parent."""

    #: whether each has a motor, with the inputs ``NAME.left.torque`` and ``NAME.right.torque``
    is_driven: bool = False
    lateral: bool = True  #: whether they are kept from slipping sideways

    word = "axle"
    also_called = ("rigid_axle",)

    def expand(self, b: ModelBuilder) -> None:
        kind = DrivenWheel if self.is_driven else FixedWheel
        for side, sign in SIDES:
            b.part(self.wheel(kind, side, sign, lateral=self.lateral))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheelset(AbstractAxlePart):
    """Two wheels on one shaft, which turn together: ``NAME.angle``; it rolls straight on only."""

    is_driven: bool = False  #: whether the shaft has a motor, with the input ``NAME.torque``

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
    """

    #: inertia of what turns with the cage, about the axle, kg·m²
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
    """

    wheelbase: PositiveLength  #: distance from the rear axle, m
    #: ``torque`` for the input ``NAME.steering_torque``, N·m, or ``rate`` for the speed input
    #: ``NAME.steering_rate``, rad/s
    steering: Steering = "torque"
    #: ``ideal`` or ``trapezoid``
    law: Annotated[str, Meaning(choices=("ideal", "trapezoid"))] = "ideal"
    #: front wheel that slips under a trapezoid: ``right`` or ``left``
    slipping: Annotated[str, Meaning(choices=("left", "right", "none"))] = "right"
    #: arm_length, arm_angle: length of the arms of a trapezoid, and their angle inward from
    #: straight back, m and rad; the arms point to the middle of the rear axle by default
    arm_length: PositiveLength | None = None
    arm_angle: Annotated[Scalar, Meaning(unit="rad")] | None = None
    knuckle_mass: NotNegativeMass = 0.0  #: mass of what turns with each wheel, kg
    is_driven: bool = False  #: whether each wheel has a motor

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

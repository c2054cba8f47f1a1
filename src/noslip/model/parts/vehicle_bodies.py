"""Bodies of vehicles as parts, with their loads, and the couplings between them.

**Bodies as parts: the base of a vehicle, loads on it, a pendulum, a tank with a swinging mass.**

**Couplings of vehicles as parts: hitches, fifth wheels, articulated waists, and trailers on
them.**

All turn about a vertical axis; ``NAME.angle`` is that of the child against the parent, positive
where the child points further to the left. A fifth wheel may tilt as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from noslip.expressions import Scalar
from noslip.model.bodies import WORLD, AbstractShape, Box, Cylinder, Placement, Sphere
from noslip.model.findings import Finding
from noslip.model.forces import JointDamper, JointSpring, Motor
from noslip.model.joints import AbstractJointType, Angles, Free, Planar, Prismatic, Revolute
from noslip.model.parts.part import (
    BLUE,
    DARK,
    GLASS,
    LIGHT,
    METAL,
    ORANGE,
    TEAL,
    AbstractPart,
    Damping,
    Mass,
    Size,
    X,
    Y,
    Z,
    box_inertia,
    fix,
    formula,
    minus,
    shifted,
    wheel_shapes,
)
from noslip.model.parts.wheels import Axle
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    ZERO,
    BodyName,
    Direction,
    Meaning,
    NotNegativeLength,
    NumberReader,
    Point,
    PositiveLength,
    Vector3,
)

if TYPE_CHECKING:
    from noslip.model.model import Model, ModelBuilder


_AXES = {"x": X, "y": Y, "z": Z}


@dataclass(frozen=True, slots=True, kw_only=True)
class Base(AbstractPart):
    """The base of a vehicle: a box on the ground, with its frame at the ground, z = 0.

    Body and joint are called like the part: ``base.x``, ``base.angle``, ``base.vx``.
    """

    name: str
    mass: Mass  #: kg
    size: Size  #: size of the box along x (forward), y (left) and z (up), m
    position: Point  #: position of the middle of the box, in the base's frame, m
    #: center of mass in the base's frame, m; the middle of the box by default
    center_of_mass: Point | None = None
    #: inertia about the mass center, as of a body; that of the box by default
    inertia: Annotated[tuple[Scalar, ...], Meaning(unit="kg*m^2")] | None = None
    #: ``planar``; ``free`` where wheels, struts or a balance keep it upright; ``carried`` where
    #: another part, such as a hitch, has it as its child
    motion: Annotated[str, Meaning(choices=("planar", "free", "carried"))] = "planar"
    color: str = BLUE  #: color of the box

    word = "base"
    also_called = ("chassis", "platform", "base_link")

    def expand(self, b: ModelBuilder) -> None:
        b.body(
            self.name,
            mass=self.mass,
            inertia=box_inertia(self.mass, self.size) if self.inertia is None else self.inertia,
            center_of_mass=self.position if self.center_of_mass is None else self.center_of_mass,
            shapes=hull(self.size, self.position, self.color),
        )
        if self.motion == "carried":
            return
        angles = Angles(sequence="zyx", names=("yaw", "pitch", "roll"))
        joint: AbstractJointType = Planar() if self.motion == "planar" else Free(angles=angles)
        b.joint(self.name, joint, parent=WORLD, child=self.name, description="pose of the base")

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        bottom = read.scalar(self.position[2]) - read.scalar(self.size[2]) / 2
        if bottom < -1e-9:
            yield Finding(
                ("parts", self.name, "position"),
                f"base '{self.name}' reaches {-bottom:.3g} m into the ground",
                "position is the middle of the box: raise it to half its height or more",
            )


def hull(size: Vector3, position: Vector3, color: str) -> tuple[AbstractShape, ...]:
    """A box with a deck, and a strip of glass at its front."""
    x, y, z = size
    return (
        Box(size=size, frame=Placement(position=position), color=color),
        Box(
            size=(formula("0.92*a", a=x), formula("0.92*a", a=y), formula("0.06*a", a=z)),
            frame=Placement(position=shifted(position, dz=formula("0.53*a", a=z))),
            color=LIGHT,
        ),
        Box(
            size=(formula("0.04*a", a=x), formula("0.7*a", a=y), formula("0.3*a", a=z)),
            frame=Placement(
                position=shifted(position, dx=formula("0.49*a", a=x), dz=formula("0.15*a", a=z))
            ),
            color=GLASS,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(AbstractPart):
    """A box fixed to a body."""

    name: str
    parent: BodyName  #: body that carries it
    #: mass, size: kg, and m along the axes of the parent
    mass: Mass
    size: Size
    position: Point  #: position of its middle, in the parent's frame, m
    color: str = ORANGE

    word = "load"
    also_called = ("box", "cargo", "payload")

    def expand(self, b: ModelBuilder) -> None:
        shape = Box(size=self.size, color=self.color)
        inertia = box_inertia(self.mass, self.size)
        b.body(self.name, mass=self.mass, inertia=inertia, shapes=(shape,))
        frame = Placement(position=self.position)
        fix(b, self.name, self.parent, frame)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pendulum(AbstractPart):
    """A mass on a light rod that swings about a pin: ``NAME.angle``, zero where it hangs down."""

    name: str
    parent: BodyName  #: body with the pin, or ``world``
    position: Point  #: position of the pin, in the parent's frame, m
    #: mass, length: point mass, kg, and distance from the pin to it, m
    mass: Mass
    length: PositiveLength
    #: radius of the ball that is drawn, m; a sixth of the length by default
    radius: PositiveLength | None = None
    #: axis of the pin, in the parent's frame; y by default, so that it swings fore and aft
    axis: Direction = Y
    damping: Damping = 0.0  #: damping in the pin, N·m·s/rad

    word = "pendulum"

    def expand(self, b: ModelBuilder) -> None:
        length = self.length
        radius = formula("a/6", a=length) if self.radius is None else self.radius
        moment = formula("2*m*r^2/5", m=self.mass, r=radius)
        down: Vector3 = (0.0, 0.0, minus(length))
        middle = Placement(position=(0.0, 0.0, formula("-a/2", a=length)))
        rod = Cylinder(radius=formula("a/8", a=radius), length=length, frame=middle, color=METAL)
        b.body(
            self.name,
            mass=self.mass,
            inertia=(moment, moment, moment),
            center_of_mass=down,
            shapes=(rod, Sphere(radius=radius, frame=Placement(position=down), color=ORANGE)),
        )
        b.joint(
            self.name,
            Revolute(axis=self.axis),
            parent=self.parent,
            child=self.name,
            parent_frame=Placement(position=self.position),
            description="swing",
        )
        if self.damping != 0.0:
            speed = f"{self.name}.rate"
            b.force(JointDamper(name=f"{self.name}.pin", speed=speed, damping=self.damping))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tank(AbstractPart):
    """A tank with liquid: a fixed box, and a mass that swings in it as the surface does.

    The liquid's first sloshing mode is a pendulum. For a rectangular tank of length L (along the
    direction of sloshing) filled to the height h, with k = π/L [Dodge2000, table 1.1]:

        (1)  mass      m₁ = m · 8 tanh(k h) / (π³ h/L)
        (2)  length    ℓ₁ = L / (π tanh(k h)),   its frequency ω² = g/ℓ₁ = g k tanh(k h)

    The rest of the liquid, m − m₁, moves with the tank; at rest both have their mass centers at the
    middle of the liquid. ``NAME.slosh.angle`` is the swing.
    """

    name: str
    parent: BodyName  #: body that carries it
    mass: Mass  #: mass of the empty tank, kg
    liquid_mass: Mass  #: mass of the liquid, kg
    size: Size  #: inner length, width and height of the liquid, m
    position: Point  #: position of the middle of the liquid, in the parent's frame, m
    #: direction of sloshing: ``x`` (fore and aft) or ``y`` (sideways)
    direction: Annotated[str, Meaning(choices=("x", "y"))] = "y"
    damping: Damping = 0.0  #: damping of the swing, N·m·s/rad

    word = "tank"

    def expand(self, b: ModelBuilder) -> None:
        along = self.size["xy".index(self.direction)] if self.direction in ("x", "y") else 1.0
        height = self.size[2]
        share = formula("8*tanh(pi*h/L)/(pi^3*h/L)", h=height, L=along)
        length = formula("L/(pi*tanh(pi*h/L))", h=height, L=along)
        swinging = formula("m*s", m=self.liquid_mass, s=share)
        still = formula("M + m*(1 - s)", M=self.mass, m=self.liquid_mass, s=share)
        shape = Box(size=self.size, color=TEAL)
        b.body(self.name, mass=still, inertia=box_inertia(still, self.size), shapes=(shape,))
        frame = Placement(position=self.position)
        fix(b, self.name, self.parent, frame)
        inner = Pendulum(
            name=f"{self.name}.slosh",
            parent=self.name,
            position=(0.0, 0.0, length),
            mass=swinging,
            length=length,
            axis=Y if self.direction == "x" else X,
            damping=self.damping,
        )
        b.part(inner)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strut(AbstractPart):
    """A suspension strut: a carrier that moves up and down on a spring with damping.

    Wheels name it as their parent. ``NAME.position`` is how far it is above its rest.
    """

    name: str
    parent: BodyName  #: sprung body
    position: Point  #: position of the carrier's origin at rest, in the parent's frame, m
    #: mass, size: mass and size of the carrier, kg and m
    mass: Mass
    #: stiffness, damping: N/m and N·s/m
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)]
    damping: Annotated[Scalar, Meaning(unit="N*s/m", sign=NOT_NEGATIVE)] = 0.0
    #: force of the spring at rest, N; that of the weight on it keeps the vehicle level
    preload: Annotated[Scalar, Meaning(unit="N")] = 0.0
    size: Size = (0.1, 0.1, 0.1)

    word = "strut"
    also_called = ("suspension", "spring_damper")

    def expand(self, b: ModelBuilder) -> None:
        width, _, height = self.size
        shapes = (
            Box(size=self.size, color=METAL),
            Cylinder(
                radius=formula("a/4", a=width),
                length=formula("2*a", a=height),
                frame=Placement(position=(0.0, 0.0, height)),
                color=ORANGE,
            ),
        )
        inertia = box_inertia(self.mass, self.size)
        b.body(self.name, mass=self.mass, inertia=inertia, shapes=shapes)
        frame = Placement(position=self.position)
        b.joint(
            self.name,
            Prismatic(axis=Z),
            parent=self.parent,
            child=self.name,
            parent_frame=frame,
            description="travel of the strut, up",
        )
        # pressed together it pushes the carrier down
        rest = formula("-f/k", f=self.preload, k=self.stiffness) if self.preload != 0.0 else 0.0
        coordinate = f"{self.name}.position"
        b.force(
            JointSpring(
                name=f"{self.name}.spring",
                coordinate=coordinate,
                stiffness=self.stiffness,
                rest=rest,
            )
        )
        if self.damping != 0.0:
            b.force(
                JointDamper(
                    name=f"{self.name}.damper", speed=f"{self.name}.speed", damping=self.damping
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift(AbstractPart):
    """A body that a motor moves along an axis of its parent: a mast with forks, a carriage.

    ``NAME.position`` is its travel, the input ``NAME.force`` drives it, N.
    """

    name: str
    parent: BodyName  #: body with the guide
    position: Point  #: position of the lifted body's middle at rest, in the parent's frame, m
    #: mass, size: kg and m
    mass: Mass
    size: Size
    #: axis of the guide, ``x``, ``y`` or ``z``
    axis: Annotated[str, Meaning(choices=("x", "y", "z"))] = "z"
    #: damping of the guide, N·s/m
    damping: Annotated[Scalar, Meaning(unit="N*s/m", sign=NOT_NEGATIVE)] = 0.0
    color: str = DARK

    word = "lift"
    also_called = ("slide", "mast")

    def expand(self, b: ModelBuilder) -> None:
        b.body(
            self.name,
            mass=self.mass,
            inertia=box_inertia(self.mass, self.size),
            shapes=(Box(size=self.size, color=self.color),),
        )
        b.joint(
            self.name,
            Prismatic(axis=_AXES.get(self.axis, Z)),
            parent=self.parent,
            child=self.name,
            parent_frame=Placement(position=self.position),
            description="travel of the lift",
        )
        speed = f"{self.name}.speed"
        force = b.input(f"{self.name}.force", "N", f"force that moves '{self.name}'")
        b.force(Motor(name=self.name, speed=speed, input=force))
        if self.damping != 0.0:
            b.force(JointDamper(name=f"{self.name}.guide", speed=speed, damping=self.damping))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flywheel(AbstractPart):
    """A disk turned by a motor about an axis of its parent: ``NAME.angle``, by ``NAME.torque``."""

    name: str
    parent: BodyName  #: body that carries it
    position: Point  #: position of its middle, in the parent's frame, m
    #: mass, radius: mass and radius of a uniform disk, kg and m
    mass: Mass
    radius: PositiveLength
    #: ``x``, ``y`` or ``z`` of the parent
    axis: Annotated[str, Meaning(choices=("x", "y", "z"))] = "z"
    thickness: PositiveLength | None = None  #: m; a fifth of the radius by default
    damping: Damping = 0.0  #: damping of the bearing, N·m·s/rad

    word = "flywheel"
    also_called = ("rotor", "reaction_wheel")

    def expand(self, b: ModelBuilder) -> None:
        r, m = self.radius, self.mass
        height = formula("r/5", r=r) if self.thickness is None else self.thickness
        across = formula("m*(3*r^2 + h^2)/12", m=m, r=r, h=height)
        axis = self.axis if self.axis in _AXES else "z"
        inertia = tuple(formula("m*r^2/2", m=m, r=r) if k == axis else across for k in "xyz")
        b.body(self.name, mass=m, inertia=inertia, shapes=wheel_shapes(r, height, axis))
        b.joint(
            self.name,
            Revolute(axis=_AXES[axis]),
            parent=self.parent,
            child=self.name,
            parent_frame=Placement(position=self.position),
            description="angle of the flywheel",
        )
        speed = f"{self.name}.rate"
        torque = b.input(f"{self.name}.torque", "N*m", f"motor torque on flywheel '{self.name}'")
        b.force(Motor(name=self.name, speed=speed, input=torque))
        if self.damping != 0.0:
            b.force(JointDamper(name=f"{self.name}.bearing", speed=speed, damping=self.damping))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hitch(AbstractPart):
    """A pin between two vehicles, on the parent's axle or off it."""

    name: str
    #: parent, child: bodies; the child has no other joint that carries it
    parent: BodyName
    child: BodyName
    position: Point  #: position of the pin, in the parent's frame, m
    child_position: Point = ZERO  #: position of the pin, in the child's frame, m
    damping: Damping = 0.0  #: N·m·s/rad

    word = "hitch"
    also_called = ("coupling", "drawbar")

    def expand(self, b: ModelBuilder) -> None:
        _pin(b, self.name, self.parent, self.child, self.position, self.child_position)
        _damp(b, self.name, self.damping)


@dataclass(frozen=True, slots=True, kw_only=True)
class FifthWheel(AbstractPart):
    """A plate on a tractor that a semitrailer's king pin turns in, with the plate's friction."""

    name: str
    #: parent, child: tractor and semitrailer
    parent: BodyName
    child: BodyName
    #: position of the king pin at the height of the plate, in the parent's frame, m
    position: Point
    child_position: Point  #: position of the king pin, in the child's frame, m
    #: radius, mass: radius and mass of the plate, m and kg
    radius: PositiveLength
    mass: Mass
    damping: Damping = 0.0  #: damping between plate and trailer, N·m·s/rad
    #: whether the plate rocks about its lateral axis, ``NAME.pitch.angle``, positive where the
    #: trailer's nose goes down; the trailer's wheels then carry their share of its weight
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
    """The joint of an articulated vehicle, which a motor or cylinders turn to steer it."""

    name: str
    #: parent, child: bodies; the child has no other joint that carries it
    parent: BodyName
    child: BodyName
    #: position, child_position: position of the pin, in the frames of both, m
    position: Point
    child_position: Point = ZERO
    #: ``torque`` for the input ``NAME.torque``, N·m, or ``rate`` for the speed input
    #: ``NAME.steering_rate``, rad/s
    steering: Annotated[str, Meaning(choices=("torque", "rate"))] = "torque"
    damping: Damping = 0.0  #: N·m·s/rad

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
    """

    name: str
    parent: BodyName  #: vehicle before it
    #: place of the pin in the parent's frame, m; on the parent's axle if that is its origin
    hitch: Point
    length: PositiveLength  #: distance from the pin to the axle, m
    #: mass, size: mass and size of its box, kg and m
    mass: Mass
    size: Size
    position: Point  #: position of the middle of the box, in the trailer's frame, m
    #: wheel_separation, wheel_radius, wheel_mass: track width of its axle, and radius and mass of
    #: its wheels
    wheel_separation: PositiveLength
    wheel_radius: PositiveLength
    wheel_mass: Mass
    damping: Damping = 0.0  #: damping of the hitch, N·m·s/rad
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
    """A row of equal trailers: ``NAME1``, ``NAME2`` and so on, each behind the one before it."""

    name: str
    parent: BodyName  #: vehicle before the first one
    count: int  #: number of trailers
    hitch: Point  #: place of the first pin in the parent's frame, m
    #: length, mass, size, position, wheel_separation, wheel_radius, wheel_mass, damping: values of
    #: each trailer, as of a :class:`Trailer`
    length: PositiveLength
    mass: Mass
    size: Size
    position: Point
    wheel_separation: PositiveLength
    wheel_radius: PositiveLength
    wheel_mass: Mass
    #: distance of the pin behind each trailer's axle, m; 0 for a hitch on the axle
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

"""Bodies as parts: the base of a vehicle, loads on it, a pendulum, a tank with a swinging mass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from noslip.expressions import Scalar
from noslip.model.bodies import WORLD, AbstractShape, Box, Cylinder, Placement, Sphere
from noslip.model.findings import Finding
from noslip.model.forces import JointDamper, JointSpring, Motor
from noslip.model.joints import AbstractJointType, Angles, Free, Planar, Prismatic, Revolute
from noslip.model.number_reader import NumberReader
from noslip.model.parts.part import (
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
)
from noslip.model.parts.shapes import BLUE, DARK, GLASS, LIGHT, METAL, ORANGE, TEAL, wheel_shapes
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    BodyName,
    Direction,
    Meaning,
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

    Parameters
    ----------
    mass : kg.
    size : of the box along x (forward), y (left) and z (up), m.
    position : of the middle of the box, in the base's frame, m.
    center_of_mass : in the base's frame, m; the middle of the box by default.
    inertia : about the mass center, as of a body; that of the box by default.
    motion : ``planar``; ``free`` where wheels, struts or a balance keep it upright; ``carried``
        where another part, such as a hitch, has it as its child.
    color : of the box.
    """

    name: str
    mass: Mass
    size: Size
    position: Point
    center_of_mass: Point | None = None
    inertia: Annotated[tuple[Scalar, ...], Meaning(unit="kg*m^2")] | None = None
    motion: Annotated[str, Meaning(choices=("planar", "free", "carried"))] = "planar"
    color: str = BLUE

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
    """A box fixed to a body.

    Parameters
    ----------
    parent : body that carries it.
    mass, size : kg, and m along the axes of the parent.
    position : of its middle, in the parent's frame, m.
    """

    name: str
    parent: BodyName
    mass: Mass
    size: Size
    position: Point
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
    """A mass on a light rod that swings about a pin: ``NAME.angle``, zero where it hangs down.

    Parameters
    ----------
    parent : body with the pin, or ``world``.
    position : of the pin, in the parent's frame, m.
    mass, length : of the mass, kg, and from the pin to it, m.
    radius : of the mass, a ball, m; a sixth of the length by default.
    axis : of the pin, in the parent's frame; y by default, so that it swings fore and aft.
    damping : in the pin, N·m·s/rad.
    """

    name: str
    parent: BodyName
    position: Point
    mass: Mass
    length: PositiveLength
    radius: PositiveLength | None = None
    axis: Direction = Y
    damping: Damping = 0.0

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

    Parameters
    ----------
    parent : body that carries it.
    mass : of the empty tank, kg.
    liquid_mass : of the liquid, kg.
    size : inner length, width and height of the liquid, m.
    position : of the middle of the liquid, in the parent's frame, m.
    direction : of sloshing: ``x`` (fore and aft) or ``y`` (sideways).
    damping : of the swing, N·m·s/rad.
    """

    name: str
    parent: BodyName
    mass: Mass
    liquid_mass: Mass
    size: Size
    position: Point
    direction: Annotated[str, Meaning(choices=("x", "y"))] = "y"
    damping: Damping = 0.0

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

    Parameters
    ----------
    parent : sprung body.
    position : of the carrier's origin at rest, in the parent's frame, m.
    mass, size : of the carrier, kg and m.
    stiffness, damping : N/m and N·s/m.
    preload : force of the spring at rest, N; that of the weight on it keeps the vehicle level.
    """

    name: str
    parent: BodyName
    position: Point
    mass: Mass
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)]
    damping: Annotated[Scalar, Meaning(unit="N*s/m", sign=NOT_NEGATIVE)] = 0.0
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

    Parameters
    ----------
    parent : body with the guide.
    position : of the lifted body's middle at rest, in the parent's frame, m.
    mass, size : kg and m.
    axis : of the guide, ``x``, ``y`` or ``z``.
    damping : of the guide, N·s/m.
    """

    name: str
    parent: BodyName
    position: Point
    mass: Mass
    size: Size
    axis: Annotated[str, Meaning(choices=("x", "y", "z"))] = "z"
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
    """A disk that a motor turns about an axis of its parent: ``NAME.angle``, input ``NAME.torque``.

    Parameters
    ----------
    parent : body that carries it.
    position : of its middle, in the parent's frame, m.
    mass, radius : of a uniform disk, kg and m.
    axis : ``x``, ``y`` or ``z`` of the parent.
    thickness : m; a fifth of the radius by default.
    damping : of the bearing, N·m·s/rad.
    """

    name: str
    parent: BodyName
    position: Point
    mass: Mass
    radius: PositiveLength
    axis: Annotated[str, Meaning(choices=("x", "y", "z"))] = "z"
    thickness: PositiveLength | None = None
    damping: Damping = 0.0

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

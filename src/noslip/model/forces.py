"""Forces: motors, springs, dampers, friction, tires, given wrenches; the inputs that drive them.

To add a force, here or in a module of your own, write a frozen data class below `AbstractForce`;
nothing else is touched:

1. `word`, by which model files know it; its fields are the keys of its table, `name` among them,
   and their types say units, signs and what they are names of (`quantities.py`);
2. `apply(loads)`: what it does, said to `loads` (a `Loads`), which knows where everything is: push
   a body at a point, act along a speed or a coordinate, store energy.

What is below "fallbacks" in the base class has a general answer; a force with states of its own
lists them in `states`. Gravity is a field of the model.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol

import casadi as ca

from noslip.algebra import Traced
from noslip.base import Member
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD
from noslip.model.contacts import LATERAL, LONGITUDINAL, AbstractContact, KnifeEdge, Plane
from noslip.model.findings import Finding
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    ZERO,
    BodyName,
    Direction,
    ForcedCoordinate,
    ForcedSpeed,
    Meaning,
    NotNegativeLength,
    NumberReader,
    Point,
    PositiveLength,
    Quantity,
    Reads,
    SpeedName,
    Vector3,
)
from noslip.model.rows import MOVING

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary

#: Shares of the generalized forces, which the papers and the energy balance ask for by name.
GRAVITY, SPRING, DISSIPATIVE, GIVEN = "gravity", "spring", "dissipative", "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceInput:
    """A force or torque that is given from outside while the mechanism moves.

    Force elements refer to it by name; `symbol` is how equations write it.
    """

    name: str
    unit: str
    description: str = ""
    symbol: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedInput:
    """A speed given from outside, such as a steering rate: the named tree speed follows it."""

    name: str  #: name of the input
    speed: SpeedName  #: the tree speed that is imposed, such as ``steer.rate``
    description: str = ""
    symbol: str = ""  #: symbol in equations, plain or as LaTeX


class Sliding(NamedTuple):
    """Motion of a point of a body over a plane."""

    point: ca.SX  #: point of contact, in the world, m
    directions: dict[str, ca.SX]  #: name (longitudinal, lateral, normal) → unit vector in the world
    slip: dict[str, ca.SX]  #: name → velocity over the plane along it, m/s


class Grip(NamedTuple):
    """What a force that slides over a plane takes of it: a tire, or a body pressed against it."""

    contact: AbstractContact  #: point of contact
    #: longitudinal, lateral: force on the body along the contact's directions, N
    longitudinal: ca.SX
    lateral: ca.SX
    load: ca.SX | None  #: normal force that its law takes, N; None where it takes none
    #: fraction of the largest force of its law, up to the slip that has it, and 1 beyond, where it
    #: slides; None where the force has no limit
    use: ca.SX | None
    slide: ca.SX  #: speed of the contact point over the plane, m/s


class Loads(Protocol):
    """Interface of a force to the mechanism: reads positions and velocities, applies loads.

    Vectors are in the world unless they are said to be in the body. A share is `SPRING` (with the
    energy given to `store`), `DISSIPATIVE` (never adds energy) or `GIVEN` (linear in inputs).
    """

    #: Gives fields their values; expressions may use coordinates, speeds, inputs and t.
    read: Reads

    def coordinate(self, name: str) -> ca.SX:
        """A joint coordinate by its full name, also of a joint that closes a loop."""

    def speed(self, name: str) -> ca.SX:
        """A speed of a joint by its full name."""

    def point(self, body: str, point: Vector3) -> tuple[ca.SX, ca.SX]:
        """Position and velocity of a point that is given in the body frame."""

    def turning(self, body: str) -> ca.SX:
        """Angular velocity of a body."""

    def sliding(self, contact: AbstractContact) -> Sliding:
        """Motion of a body over the plane of a contact."""

    def contact(self, name: str) -> AbstractContact:
        """A contact of the model by its name."""

    def holds(self, row: str) -> bool:
        """Whether a row of a contact holds now: not that of one that slides or is off."""

    def load(self, row: str) -> ca.SX:
        """What a row transmits: its multiplier, such as that of ``left.normal``, N or N·m.

        Forces may be linear in it. A normal row that a planar joint makes superfluous has the load
        by which the wheels below hold that joint; a row that does not hold now has none, 0.
        """

    def push(
        self,
        share: str,
        body: str,
        point: Vector3,
        force: Traced,
        moment: Traced | None = None,
        *,
        in_body: bool = False,
    ) -> None:
        """Apply a force at a point that is given in the body frame, and a moment."""

    def push_at(self, share: str, body: str, place: ca.SX, force: Traced) -> None:
        """Apply a force to a body at a place in the world."""

    def grip(self, name: str, grip: Grip) -> None:
        """Tell what a force takes of the plane it slides on; the no-slip audit reads it."""

    def along_speed(self, share: str, name: str, force: Traced) -> None:
        """Apply a force or torque along a speed of a joint, child against parent."""

    def along_coordinate(self, share: str, name: str, force: Traced) -> None:
        """Apply a force or torque along a coordinate."""

    def store(self, energy: Traced) -> None:
        """Add potential energy, J, whose negative gradient was applied as a `SPRING`."""

    def state(self, name: str) -> ca.SX:
        """A state of a force by its full name, as `states` of the force has it."""

    def evolve(self, name: str, rate: Traced) -> None:
        """Let a state of a force have a rate, of what else moves and of the states themselves."""


def push_between(
    loads: Loads, share: str, bodies: tuple[str, str], place: ca.SX, force: Traced
) -> None:
    """Apply a force at a place in the world to a body, and its reaction to another."""
    body, other = bodies
    loads.push_at(share, body, place, force)
    loads.push_at(share, other, place, -force)


def turn_between(loads: Loads, share: str, bodies: tuple[str, str], moment: Traced) -> None:
    """Apply a moment to a body, and its reaction to another."""
    body, other = bodies
    loads.push(share, body, ZERO, ca.SX.zeros(3), moment)
    loads.push(share, other, ZERO, ca.SX.zeros(3), -moment)


class AbstractForce(Member, abc.ABC, family="force type"):
    """A force in a mechanism; see the list at the top of this file."""

    __slots__ = ()

    name: str

    @abc.abstractmethod
    def apply(self, loads: Loads) -> None:
        """Apply the force to the mechanism."""

    # fallbacks

    def driven(self) -> dict[str, str]:
        """Tree speeds that it drives as a motor, each with its force input."""
        return {}

    def pressed(self) -> tuple[str, ...]:
        """Force inputs that act only where they are positive, as that of a brake."""
        return ()

    def planes(self) -> tuple[Plane, ...]:
        """Planes that the force acts on, such as the ground of a tire."""
        return ()

    def without_slip(self) -> AbstractContact | None:
        """The contact that it stands for if nothing slips; None for what is no tire."""
        return None

    def loses_stored(self) -> bool:
        """Whether it may lose what it has stored without any force, as where bodies separate."""
        return False

    def has_friction(self) -> bool:
        """Whether it is friction, whose loss runs by Coulomb's law count by itself."""
        return False

    def states(self) -> tuple[Quantity, ...]:
        """States of its own, which `apply` reads by `Loads.state` and moves by `Loads.evolve`."""
        return ()

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        """Findings about it beyond those of its single fields."""
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Motor(AbstractForce):
    """A motor in a joint: the force input acts on the named speed, child against parent."""

    name: str
    speed: ForcedSpeed
    input: Annotated[str, Meaning(names="input", units={"m/s": "N", "rad/s": "N*m"}, along="speed")]

    word = "motor"

    def apply(self, loads: Loads) -> None:
        loads.along_speed(GIVEN, self.speed, loads.read.scalar(self.input))

    def driven(self) -> dict[str, str]:
        return {self.speed: self.input}


@dataclass(frozen=True, slots=True, kw_only=True)
class Brake(AbstractForce):
    """A brake in a joint: force −input · tanh(speed / smoothing), against the motion.

    A brake never drives: where its input is negative it counts as 0, and a run notes that.
    """

    name: str
    speed: SpeedName  #: speed that it slows, child against parent
    #: input that gives its force or torque, N or N·m; 0 is used where it is negative
    input: Annotated[str, Meaning(names="input", units={"m/s": "N", "rad/s": "N*m"}, along="speed")]
    #: speed at which it has reached tanh 1 = 76 % of that, m/s or rad/s
    smoothing: Annotated[
        Scalar,
        Meaning(units={"m/s": "m/s", "rad/s": "rad/s"}, along="speed", sign=POSITIVE),
    ]

    word = "brake"

    def apply(self, loads: Loads) -> None:
        grip = ca.tanh(loads.speed(self.speed) / loads.read.scalar(self.smoothing))
        loads.along_speed(GIVEN, self.speed, -(loads.read.scalar(self.input) * grip))

    def pressed(self) -> tuple[str, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpring(AbstractForce):
    """A linear spring on a joint coordinate: force −stiffness (coordinate − rest)."""

    name: str
    coordinate: ForcedCoordinate
    stiffness: Annotated[Scalar, Meaning(units={"m": "N/m", "rad": "N*m/rad"}, along="coordinate")]
    rest: Annotated[Scalar, Meaning(units={"m": "m", "rad": "rad"}, along="coordinate")] = 0.0

    word = "joint_spring"

    def apply(self, loads: Loads) -> None:
        stretch = loads.coordinate(self.coordinate) - loads.read.scalar(self.rest)
        stiffness = loads.read.scalar(self.stiffness)
        loads.along_coordinate(SPRING, self.coordinate, -(stiffness * stretch))
        loads.store(stiffness * stretch**2 / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDamper(AbstractForce):
    """A linear damper on a joint speed: force −damping · speed."""

    name: str
    speed: ForcedSpeed
    damping: Annotated[Scalar, Meaning(units={"m/s": "N*s/m", "rad/s": "N*m*s/rad"}, along="speed")]

    word = "joint_damper"
    also_called = ("damper",)

    def apply(self, loads: Loads) -> None:
        damping = loads.read.scalar(self.damping)
        loads.along_speed(DISSIPATIVE, self.speed, -(damping * loads.speed(self.speed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFriction(AbstractForce):
    """Dry friction on a joint speed: force −level · tanh(speed / smoothing)."""

    name: str
    speed: ForcedSpeed
    #: friction force or torque once it slides, N or N m
    level: Annotated[
        Scalar,
        Meaning(units={"m/s": "N", "rad/s": "N*m"}, along="speed", sign=NOT_NEGATIVE),
    ]
    #: speed at which it has reached tanh 1 = 76 % of that, m/s or rad/s; 0 for friction that is
    #: exact: in runs with ``contact="coulomb"`` the joint sticks and slips, in others the friction
    #: is right as long as the joint moves, and 0 at rest
    smoothing: Annotated[
        Scalar,
        Meaning(units={"m/s": "m/s", "rad/s": "rad/s"}, along="speed", sign=NOT_NEGATIVE),
    ]

    word = "joint_friction"
    also_called = ("friction",)

    def apply(self, loads: Loads) -> None:
        level, speed = loads.read.scalar(self.level), loads.speed(self.speed)
        if self.smoothing == 0.0:
            size = level * ca.sign(speed)
        else:
            size = level * ca.tanh(speed / loads.read.scalar(self.smoothing))
        loads.along_speed(DISSIPATIVE, self.speed, -size)

    def has_friction(self) -> bool:
        return True

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if not isinstance(self.smoothing, str):
            return
        with suppress(KeyError):  # a name that is not known is a fault of its own
            if NumberReader(known.finite_parameters).scalar(self.smoothing) == 0.0:
                yield Finding(
                    ("forces", self.name, "smoothing"),
                    f"force '{self.name}' has a smoothing that its parameters make 0, by which "
                    "friction is divided",
                    "write smoothing = 0, as a number, for friction that is exact",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spring(AbstractForce):
    """A spring, with damping if wanted, between a point of one body and a point of another.

    Tension stiffness (length − rest_length) + damping · d(length)/dt along the line that joins
    them.
    """

    name: str
    body: BodyName
    stiffness: Annotated[Scalar, Meaning(unit="N/m")]
    rest_length: NotNegativeLength
    point: Point = ZERO
    other_body: BodyName = WORLD
    other_point: Point = ZERO
    damping: Annotated[Scalar, Meaning(unit="N*s/m")] = 0.0

    word = "spring"

    def apply(self, loads: Loads) -> None:
        read = loads.read
        p, v = loads.point(self.body, self.point)
        p_other, v_other = loads.point(self.other_body, self.other_point)
        length = ca.norm_2(p - p_other)
        along = (p - p_other) / length
        stretch = length - read.scalar(self.rest_length)
        stiffness = read.scalar(self.stiffness)
        tension = stiffness * stretch
        drag = read.scalar(self.damping) * ca.dot(along, v - v_other)
        for share, size in ((SPRING, tension), (DISSIPATIVE, drag)):
            loads.push(share, self.body, self.point, -size * along)
            loads.push(share, self.other_body, self.other_point, size * along)
        loads.store(stiffness * stretch**2 / 2)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if self.body == self.other_body:
            yield Finding(
                ("forces", self.name),
                f"force '{self.name}' is a spring from body '{self.body}' to itself",
                "name another body in other_body",
            )


def relaxed_slip(loads: Loads, name: str, slide: ca.SX, speed: ca.SX, length: ca.SX) -> ca.SX:
    """The slip z of a tire whose carcass deflects, a state by that name.

    With v_s the sliding velocity of the contact, V > 0 the speed of rolling and σ the relaxation
    length,

        (1)  σ ż = −v_s − V z

    so that at a steady motion z = −v_s/V, and after a step it comes near that as exp(−s/σ) over the
    way s rolled [Pacejka2012, eq. 7.7]. σ z is the deflection.
    """
    z = loads.state(name)
    loads.evolve(name, (-slide - speed * z) / length)  # (1)
    return z


@dataclass(frozen=True, slots=True, kw_only=True)
class Tire(AbstractForce):
    """The lateral force of a tire that slips sideways: a blade that gives way.

    With v_u and v_w the speeds of `point` over the plane, along the wheel's heading and along
    lateral = normal × heading, the force on the body is F_w along lateral:

        F_w = −C v_w / √(v_u² + v0²)                           linear
        F_w = −F tanh(C v_w / (F √(v_u² + v0²)))               with a maximum F

    For small v0 the quotient is the tangent of the slip angle. It always takes energy away. The
    longitudinal force is not part of it: give that as a wrench or by a rolling contact.

    With a relaxation length σ the slip is a state, ``NAME.slip``, that follows with the way rolled:
    it stands for −v_w / √(v_u² + v0²) above, and has the rate (1) of :func:`relaxed_slip`.
    """

    name: str
    #: body with the wheel's heading: chassis, axle or fork, not the wheel that spins
    body: BodyName
    direction: Direction  #: heading of the wheel, in the body frame
    #: C, force per slip, N/rad
    stiffness: Annotated[Scalar, Meaning(unit="N/rad", sign=NOT_NEGATIVE)]
    #: speed, m/s, below which the slip is counted against it instead of v_u, so that the force has
    #: a value at rest; 0 for none, and then it has no value where v_u = 0
    v0: Annotated[Scalar, Meaning(unit="m/s", sign=NOT_NEGATIVE)]
    point: Point = ZERO  #: contact point, in the body frame, m
    #: F, N, the force of a tire that slides; none for the linear law
    maximum: Annotated[Scalar, Meaning(unit="N", sign=POSITIVE)] | None = None
    relaxation_length: PositiveLength | None = None  #: σ, m; the slip has no delay by default
    plane: Plane = Plane()  #: plane on which it rolls; by default the ground z = 0 of the world

    word = "tire"

    def apply(self, loads: Loads) -> None:
        """F_w = −C v_w/√(v_u² + v0²), or −F tanh of that over F, along normal × heading."""
        read = loads.read
        # it touches the plane as a blade does, with the same axes
        sliding = loads.sliding(self.without_slip())
        v_u, v_w = sliding.slip[LONGITUDINAL], sliding.slip[LATERAL]
        v0 = read.scalar(self.v0)
        speed = ca.sqrt(v_u**2 + v0**2)
        if self.relaxation_length is None:
            slip, share = -v_w / speed, DISSIPATIVE
        else:
            # what a carcass stores it may give back
            length = read.scalar(self.relaxation_length)
            slip, share = relaxed_slip(loads, self._slip, v_w, speed, length), GIVEN
        size, use = read.scalar(self.stiffness) * slip, None
        if self.maximum is not None:
            maximum = read.scalar(self.maximum)
            use = ca.tanh(ca.fabs(size) / maximum)
            size = maximum * ca.tanh(size / maximum)
        force = size * sliding.directions[LATERAL]
        push_between(loads, share, (self.body, self.plane.body), sliding.point, force)
        contact = self.without_slip()
        loads.grip(self.name, Grip(contact, ca.SX(0), size, None, use, ca.fabs(v_w)))

    def without_slip(self) -> AbstractContact:
        return KnifeEdge(
            name=self.name,
            body=self.body,
            direction=self.direction,
            point=self.point,
            plane=self.plane,
        )

    @property
    def _slip(self) -> str:
        return f"{self.name}.slip"

    def states(self) -> tuple[Quantity, ...]:
        if self.relaxation_length is None:
            return ()
        return (Quantity(name=self._slip, unit="1", description="lateral slip that has built up"),)

    def planes(self) -> tuple[Plane, ...]:
        return (self.plane,)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if self.body == WORLD:
            yield Finding(
                ("forces", self.name, "body"),
                f"force '{self.name}' is a tire of '{WORLD}', which does not move",
                "name the body with the tire; what it rolls on is named in plane.body",
            )
        elif self.body == self.plane.body:
            yield Finding(
                ("forces", self.name),
                f"force '{self.name}' has a tire of body '{self.body}' roll on a plane of its own",
                "name the body that carries the plane in plane.body, or the one with the tire",
            )


_GIVEN_SCOPE = ("inputs", *MOVING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrench(AbstractForce):
    """A given force (N) at a point of a body and a given moment (N m).

    Entries are expressions of parameters, coordinates, speeds, measures, time ``t`` and force
    inputs (linear in the inputs), resolved in the axes of the world or of the body.
    """

    name: str
    body: BodyName
    force: Annotated[Vector3, Meaning(unit="N", scope=_GIVEN_SCOPE, linear_in="inputs")] = ZERO
    moment: Annotated[Vector3, Meaning(unit="N*m", scope=_GIVEN_SCOPE, linear_in="inputs")] = ZERO
    point: Point = ZERO
    axes: Annotated[str, Meaning(choices=("world", "body"))] = "world"

    word = "wrench"
    also_called = ("force",)

    def apply(self, loads: Loads) -> None:
        force, moment = loads.read.vector(self.force), loads.read.vector(self.moment)
        in_body = self.axes == "body"
        loads.push(GIVEN, self.body, self.point, force, moment, in_body=in_body)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if self.body == WORLD:
            yield Finding(
                ("forces", self.name, "body"),
                f"force '{self.name}' is a wrench on '{WORLD}', which does not move",
                "name the body it acts on",
            )

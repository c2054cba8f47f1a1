"""Forces: motors, springs, dampers, friction, tires, given wrenches; the inputs that drive them.

To add a force, here or in a module of your own, write a frozen data class below `AbstractForce`;
nothing else is touched:

1. `word`, by which model files know it; its fields are the keys of its table, `name` among them,
   and their types say units, signs and what they are names of (`quantities.py`);
2. `apply(loads)`: what it does, said to `loads` (a `Loads`), which knows where everything is: push
   a body at a point, act along a speed or a coordinate, store energy.

What is below "fallbacks" in the base class has a general answer; a force with states of its own
lists them in `states`. Gravity is a field of the model.

**Forces at contacts that slide, lift off or deform: friction, elastic contacts, tires.**

**Friction at contacts in proportion to what presses them together: the load of a row.**

With N the load of a contact, v its sliding velocity along the ground, n the ground's normal and
ω = ω_t + (ω·n) n the angular velocity of the body against the ground,

    (1)  F = −μ N v/|v|                  sliding
    (2)  M = −l N ω_t/|ω_t|              rolling resistance: N acts ahead of the contact by l
    (3)  M = −l N n sign(ω·n)            pivoting

For a round patch with radius ε and even pressure, l of (3) is ⅔ μ ε [Contensou1963]. Near rest |x|
and sign(x) are made smooth by tanh(|x|/smoothing).

N is the multiplier of the contact's normal row, which these forces change: `Loads.load` stands for
it, and the equations are solved for both together (`formulations/generalized_forces.py`).

**Elastic contact: a surface that may lift off and slide, pressed against a plane.**

A rolling contact is a constraint, which holds or does not; what touches now and then, as the
rollers around a mecanum wheel do, needs a force. With δ the depth by which the lowest point of the
surface is below the plane, v its sliding velocity there and δ₊ = max(δ, 0),

    (1)  N = max(k δ₊ (1 + d δ̇), 0)                      [HuntCrossley1975], exponent 1
    (2)  F = −μ N v / √(|v|² + v0²)

k δ₊ has the energy k δ₊²/2; the rest of N and all of F only take energy away.

**Tires of wheels that spin and slip along and across their heading.**

With v_s the velocity of the contact point over the plane (of the wheel's material, spin included),
v_r = r ω the rolling speed, ω the spin against the plane's body, and v0 a small speed that keeps
the slip finite at rest,

    (1)  σ = −v_s / √(v_r² + v0²),   (σ_x, σ_y) along the heading and to its left

is the theoretical slip: σ_x = κ/(1 + κ) and σ_y = tan α/(1 + κ) of the slip ratio κ and the slip
angle α [Pacejka2012, eqs. 3.32 and 4.E79]. Forces along and across act against the slip as one
curve over its size says,

    (2)  F_x = (σ_x/|σ|) F_x0(|σ|),   F_y = (σ_y/|σ|) F_y0(|σ|)

so that (F_x/F_x0)² + (F_y/F_y0)² = 1, the friction ellipse. They never add energy. Beside them a
wheel may have a rolling resistance, a moment f F_z r against its spin, and a camber thrust, a side
force C_γ sin γ toward the side it leans to. All of them act back on the plane's body.

A carcass deflects before it pushes: with a relaxation length the slip of (1) is not taken at once
but builds up over the way rolled, by (1) of :func:`noslip.model.forces.relaxed_slip`.

The load F_z is a field: in a plane model nothing carries it to the tire.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol

import casadi as ca

from noslip.algebra import Traced, cross
from noslip.base import Member
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD
from noslip.model.contacts import (
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    AbstractContact,
    KnifeEdge,
    Plane,
    Rolling,
)
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
from noslip.model.surfaces import AbstractSurface, Disk

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


ContactName = Annotated[str, Meaning(names="contact")]
_Coefficient = Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)]
_Rate = Annotated[Scalar, Meaning(unit="rad/s", sign=POSITIVE)]

#: What is added to a square under a root, so that the root has a slope at rest.
_TINY = 1e-60


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingFriction(AbstractForce):
    """Coulomb friction (1) of a contact along the directions in which it does not hold."""

    name: str
    #: name of the contact, whose ``longitudinal`` or ``lateral`` row, or both, are switched off
    contact: ContactName
    friction: _Coefficient  #: μ
    #: speed at which friction has reached 76 %, m/s; 0 for friction that is exact as long as the
    #: contact slides, and has no value at rest
    smoothing: Annotated[Scalar, Meaning(unit="m/s", sign=NOT_NEGATIVE)] = 0.0

    word = "sliding_friction"

    def apply(self, loads: Loads) -> None:
        contact, read = loads.contact(self.contact), loads.read
        moving, held = loads.sliding(contact), contact.directions()
        ways = [d for d in (LONGITUDINAL, LATERAL) if d not in held]
        slide = ca.sqrt(sum((moving.slip[d] ** 2 for d in ways), ca.SX(0)))
        grip, use = read.scalar(self.friction) * loads.load(f"{contact.name}.{NORMAL}"), ca.SX(1)
        if self.smoothing == 0.0:
            parts = {d: -grip * moving.slip[d] / slide for d in ways}
        else:
            smooth, size = read.scalar(self.smoothing), ca.sqrt(slide**2 + _TINY)
            use = ca.tanh(size / smooth)
            parts = {d: -grip * use * moving.slip[d] / size for d in ways}
        force = sum((f * moving.directions[d] for d, f in parts.items()), ca.SX.zeros(3))
        push_between(loads, DISSIPATIVE, (contact.body, contact.plane.body), moving.point, force)
        along, across = (parts.get(d, ca.SX(0)) for d in (LONGITUDINAL, LATERAL))
        loads.grip(self.name, Grip(contact, along, across, None, use, slide))

    def has_friction(self) -> bool:
        return True

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        contact = next((c for c in known.contacts if c.name == self.contact), None)
        if contact is not None and {LONGITUDINAL, LATERAL} <= set(contact.directions()):
            yield Finding(
                ("forces", self.name, "contact"),
                f"force '{self.name}' is the friction of contact '{self.contact}', which does not "
                "slide",
                "write longitudinal = false or lateral = false at the contact, or friction = … "
                'there for a run with contact = "coulomb"',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingResistance(AbstractForce):
    """Rolling resistance (2) of a contact."""

    name: str
    contact: ContactName  #: name of the contact
    lever: NotNegativeLength  #: l, m
    smoothing: _Rate  #: angular speed at which it has reached 76 %, rad/s

    word = "rolling_resistance"

    def apply(self, loads: Loads) -> None:
        contact = loads.contact(self.contact)
        bodies, n = (contact.body, contact.plane.body), loads.sliding(contact).directions[NORMAL]
        turning = loads.turning(bodies[0]) - loads.turning(bodies[1])
        rolling = turning - ca.dot(turning, n) * n
        size = ca.sqrt(ca.dot(rolling, rolling) + _TINY)
        moment = loads.read.scalar(self.lever) * loads.load(f"{contact.name}.{NORMAL}")
        moment *= ca.tanh(size / loads.read.scalar(self.smoothing)) / size
        turn_between(loads, DISSIPATIVE, bodies, -moment * rolling)

    def has_friction(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotingFriction(AbstractForce):
    """Friction (3) against turning about the normal of a contact."""

    name: str
    contact: ContactName  #: name of the contact
    #: l, m; ⅔ of friction times radius for a round patch with even pressure
    lever: NotNegativeLength
    smoothing: _Rate  #: angular speed at which it has reached 76 %, rad/s

    word = "pivoting_friction"

    def apply(self, loads: Loads) -> None:
        contact = loads.contact(self.contact)
        bodies, n = (contact.body, contact.plane.body), loads.sliding(contact).directions[NORMAL]
        rate = ca.dot(loads.turning(bodies[0]) - loads.turning(bodies[1]), n)
        moment = loads.read.scalar(self.lever) * loads.load(f"{contact.name}.{NORMAL}")
        moment *= ca.tanh(rate / loads.read.scalar(self.smoothing))
        turn_between(loads, DISSIPATIVE, bodies, -moment * n)

    def has_friction(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticContact(AbstractForce):
    """A convex surface of a body pressed against a plane by (1), with the friction (2)."""

    name: str
    body: BodyName  #: body that has the surface
    wheel: AbstractSurface  #: the surface, convex
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)]  #: k, N/m
    damping: Annotated[Scalar, Meaning(unit="s/m", sign=NOT_NEGATIVE)] = 0.0  #: d, s/m
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] = 0.0  #: μ
    #: speed, m/s, up to which friction is about in proportion to it
    v0: Annotated[Scalar, Meaning(unit="m/s", sign=POSITIVE)] = 0.01
    center: Point = ZERO  #: center of the surface, in the body's frame, m
    plane: Plane = Plane()  #: plane that it touches; by default the ground z = 0 of the world

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


#: Roads → B, C, μ, E of the magic formula, the sets that are commonly given for a passenger car.
ROADS: dict[str, tuple[float, float, float, float]] = {
    "dry": (10.0, 1.9, 1.0, 0.97),
    "wet": (12.0, 2.3, 0.82, 1.0),
    "snow": (5.0, 2.0, 0.3, 1.0),
    "ice": (4.0, 2.0, 0.1, 1.0),
}

#: Slip below which the direction of (2) is not told apart from the force's slope.
TINY = 1e-9

_Pure = Annotated[Scalar, Meaning(unit="1", sign=POSITIVE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractWheelTire(AbstractForce):
    """Fields that tires of spinning wheels share."""

    name: str
    body: BodyName  #: the wheel that spins
    axis: Direction  #: axis of the wheel, in its body's frame
    radius: PositiveLength  #: radius of the wheel, m
    load: Annotated[Scalar, Meaning(unit="N", sign=POSITIVE)]  #: F_z, N
    #: speed, m/s, below which slip is counted against it
    v0: Annotated[Scalar, Meaning(unit="m/s", sign=POSITIVE)] = 0.05
    center: Point = ZERO  #: center of the wheel, in its body's frame, m
    #: f, the part of the load that resists rolling
    rolling_resistance: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] = 0.0
    camber_stiffness: Annotated[Scalar, Meaning(unit="N/rad")] = 0.0  #: C_γ, N/rad
    #: length over which slip builds up, as the states ``NAME.longitudinal_slip`` and
    #: ``NAME.lateral_slip``, m; at once by default
    relaxation_length: PositiveLength | None = None
    #: lateral relaxation length of the lateral slip, m; the same by default
    lateral_relaxation_length: PositiveLength | None = None
    plane: Plane = Plane()  #: plane on which it rolls; by default the ground z = 0 of the world

    @abc.abstractmethod
    def curves(self, slip: ca.SX, loads: Loads) -> tuple[ca.SX, ca.SX]:
        """F_x0/|σ| and F_y0/|σ| at a size of the slip."""

    @abc.abstractmethod
    def use(self, slip: ca.SX, loads: Loads) -> ca.SX:
        """Fraction of its limit that a size of the slip takes, see `Grip`."""

    def apply(self, loads: Loads) -> None:
        """Push the wheel at its contact by (2), and the plane's body back."""
        read = loads.read
        sliding = loads.sliding(self.without_slip())
        ahead, aside, n = (sliding.directions[d] for d in (LONGITUDINAL, LATERAL, NORMAL))
        center, _ = loads.point(self.body, self.center)
        v_s = [sliding.slip[LONGITUDINAL], sliding.slip[LATERAL]]
        # rolling speed: how fast the spin against the plane's body carries the center ahead
        spin = loads.turning(self.body) - loads.turning(self.plane.body)
        v_r = ca.dot(cross(spin, center - sliding.point), ahead)
        v0 = read.scalar(self.v0)
        scale = ca.sqrt(v_r**2 + v0**2)
        x, y = (-v / scale for v in v_s)  # (1)
        share = DISSIPATIVE
        if self.relaxation_length is not None:
            # what a carcass stores it may give back
            share, aside_too = GIVEN, self.lateral_relaxation_length
            along = read.scalar(self.relaxation_length)
            across = along if aside_too is None else read.scalar(aside_too)
            x, y = (
                relaxed_slip(loads, state.name, v, scale, length)
                for state, v, length in zip(self.states(), v_s, (along, across), strict=True)
            )
        size = ca.sqrt(x**2 + y**2 + TINY**2)
        F_x, F_y = self.curves(size, loads)
        F_x, F_y = F_x * x, F_y * y  # (2)
        bodies = (self.body, self.plane.body)
        push_between(loads, share, bodies, sliding.point, F_x * ahead + F_y * aside)
        axle, across = cross(n, ahead), F_y
        if self.camber_stiffness != 0.0:
            lean = ca.dot(self._upright(loads, center, sliding.point), aside)
            thrust = read.scalar(self.camber_stiffness) * lean
            push_between(loads, GIVEN, bodies, sliding.point, thrust * aside)
            across = F_y + thrust
        slide = ca.sqrt(v_s[0] ** 2 + v_s[1] ** 2)
        use, load = self.use(size, loads), read.scalar(self.load)
        loads.grip(self.name, Grip(self.without_slip(), F_x, across, load, use, slide))
        if self.rolling_resistance != 0.0:
            held = read.scalar(self.rolling_resistance) * read.scalar(self.load)
            moment = -held * read.scalar(self.radius) * ca.tanh(v_r / v0) * axle
            turn_between(loads, DISSIPATIVE, bodies, moment)

    def without_slip(self) -> AbstractContact:
        # what holds the wheel's height is a contact of the model
        return Rolling(
            name=self.name,
            body=self.body,
            wheel=Disk(radius=self.radius, axis=self.axis),
            center=self.center,
            plane=self.plane,
            normal=False,
        )

    def _upright(self, loads: Loads, center: ca.SX, point: ca.SX) -> ca.SX:
        """Unit vector from the contact point to the wheel's center."""
        return (center - point) / loads.read.scalar(self.radius)

    def planes(self) -> tuple[Plane, ...]:
        return (self.plane,)

    def states(self) -> tuple[Quantity, ...]:
        if self.relaxation_length is None:
            return ()
        return tuple(
            Quantity(
                name=f"{self.name}.{direction}_slip",
                unit="1",
                description=f"{direction} slip that has built up",
            )
            for direction in (LONGITUDINAL, LATERAL)
        )

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if self.lateral_relaxation_length is not None and self.relaxation_length is None:
            yield Finding(
                ("forces", self.name, "lateral_relaxation_length"),
                f"force '{self.name}' has a relaxation length across its heading and none along",
                "give relaxation_length as well",
            )
        if self.body in (WORLD, self.plane.body):
            yield Finding(
                ("forces", self.name, "body"),
                f"force '{self.name}' is a tire of '{self.body}', which it rolls on",
                "name the wheel in body, and what it rolls on in plane.body",
            )


def _bent(x: ca.SX, E: ca.SX) -> ca.SX:
    """The curved argument of the magic formula, x − E (x − atan x)."""
    return x - E * (x - ca.atan(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class MagicTire(AbstractWheelTire):
    """Pacejka's magic formula: F = μ F_z sin(C atan(B σ − E (B σ − atan(B σ)))).

    `road` gives B, C, μ and E of a known set; what is given beside it counts instead.
    """

    #: ``dry``, ``wet``, ``snow`` or ``ice``
    road: Annotated[str, Meaning(choices=tuple(ROADS))] = "dry"
    #: B, C, E: stiffness, shape and curvature
    B: _Pure | None = None
    C: _Pure | None = None
    E: Annotated[Scalar, Meaning(unit="1")] | None = None
    friction: _Pure | None = None  #: μ along the heading
    lateral_friction: _Pure | None = None  #: μ across it; the same by default

    word = "magic_tire"
    also_called = ("pacejka", "magic_formula")

    def curves(self, slip: ca.SX, loads: Loads) -> tuple[ca.SX, ca.SX]:
        read = loads.read
        B, C, mu, E = self._numbers(loads)
        aside = mu if self.lateral_friction is None else read.scalar(self.lateral_friction)
        shape = ca.sin(C * ca.atan(_bent(B * slip, E)))
        unit = read.scalar(self.load) * shape / slip
        return mu * unit, aside * unit

    def use(self, slip: ca.SX, loads: Loads) -> ca.SX:
        """sin of the phase C atan(…) over that of the largest one, or of π/2 where it gets there.

        x − E (x − atan x) rises up to x = 1/√(E − 1) for E > 1, to π/2 for E = 1, else forever.
        """
        B, C, _, E = self._numbers(loads)
        x, turn = B * slip, 1 / ca.sqrt(ca.fmax(E - 1, TINY))
        highest = ca.if_else(E < 1, ca.SX(ca.inf), ca.if_else(E > 1, _bent(turn, E), ca.pi / 2))
        top = ca.fmin(C * ca.atan(highest), ca.pi / 2)
        here = ca.if_else(ca.logic_and(E > 1, x > turn), top, C * ca.atan(_bent(x, E)))
        return ca.sin(ca.fmin(here, top)) / ca.sin(top)

    def _numbers(self, loads: Loads) -> list[ca.SX]:
        """B, C, μ and E."""
        given = (self.B, self.C, self.friction, self.E)
        known = ROADS.get(self.road, ROADS["dry"])
        return [
            ca.SX(loads.read.scalar(k if own is None else own))
            for own, k in zip(given, known, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrushTire(AbstractWheelTire):
    """Bristles on a rigid belt under a parabolic pressure, the physical reference.

    With θ = C/(3 μ F_z) and x = θ |σ|, F = μ F_z (3x − 3x² + x³) up to x = 1, where all of them
    slide, and μ F_z beyond [Pacejka2012, section 3.2.3].
    """

    #: C, slope of the force at no slip, the same along and across, N
    stiffness: Annotated[Scalar, Meaning(unit="N", sign=POSITIVE)]
    friction: _Pure = 1.0  #: μ

    word = "brush_tire"

    def curves(self, slip: ca.SX, loads: Loads) -> tuple[ca.SX, ca.SX]:
        most = loads.read.scalar(self.friction) * loads.read.scalar(self.load)
        x = ca.fmin(loads.read.scalar(self.stiffness) * slip / (3 * most), 1)
        unit = most * x * (3 - 3 * x + x**2) / slip
        return unit, unit

    def use(self, slip: ca.SX, loads: Loads) -> ca.SX:
        most = loads.read.scalar(self.friction) * loads.read.scalar(self.load)
        x = ca.fmin(loads.read.scalar(self.stiffness) * slip / (3 * most), 1)
        return x * (3 - 3 * x + x**2)

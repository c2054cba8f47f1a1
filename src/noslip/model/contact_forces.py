"""Forces at contacts that slide, lift off or deform: friction, elastic contacts, tires.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import casadi as ca

from noslip.algebra import cross
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD
from noslip.model.contacts import LATERAL, LONGITUDINAL, NORMAL, AbstractContact, Plane, Rolling
from noslip.model.findings import Finding
from noslip.model.forces import (
    DISSIPATIVE,
    GIVEN,
    SPRING,
    AbstractForce,
    Grip,
    Loads,
    push_between,
    relaxed_slip,
    turn_between,
)
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    ZERO,
    BodyName,
    Direction,
    Meaning,
    NotNegativeLength,
    Point,
    PositiveLength,
    Quantity,
)
from noslip.model.surfaces import AbstractSurface, Disk

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary


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

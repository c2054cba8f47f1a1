"""Ideal contacts: rolling, knife edges, and wheels with rollers.

**Rolling contacts and knife edges: what makes a mechanism nonholonomic.**

A `Rolling` contact is a surface of a body (`surfaces.py`) on a ground (`grounds.py`). Where no
closed form finds the point that touches, its places on both are coordinates of their own, without
inertia; see `kinematics/constraint_rows.py`.

To add a contact of another kind, a class below `AbstractContact`: which directions it holds, and
where it touches.

**Contact of a wheel with rollers around its rim: mecanum and omni wheels, ideal.**

A roller turns freely about its own axis, so that the wheel slides without resistance across it. One
direction is held: the material point of the wheel in contact has no velocity along the roller's
axis. With f the wheel's heading, w = n × f its lateral direction and γ the angle from the wheel's
axle to the axis of the roller that touches the ground,

    (1)  a = f sin γ + w cos γ,     a · (v_P − v_ground) = 0

γ = 90° is an omni wheel, ±45° a mecanum wheel; γ = 0 would hold the wheel only sideways. Rollers
are taken as so many and so light that the rim is round and their spin has no inertia.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import pi
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import Traced, cross, unit
from noslip.base import Member
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD, AbstractShape, Box, Cylinder, Placement
from noslip.model.findings import Finding
from noslip.model.grounds import AbstractGround, FlatGround
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    ZERO,
    BodyName,
    Direction,
    Meaning,
    NumberReader,
    Point,
    PositiveLength,
    Quantity,
    Reads,
    Vector3,
    number,
    rotation_about,
    rotation_to,
)
from noslip.model.surfaces import RIM_COLOR, TREAD_COLOR, AbstractSurface, Disk, Touch, WheelCircle

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary


LONGITUDINAL = "longitudinal"
LATERAL = "lateral"
NORMAL = "normal"
SPIN = "spin"

#: What a run does where the ground would have to pull.
END, KEEP, AUTO = "end", "keep", "auto"

_GAP = Quantity(name="gap", unit="m", description="distance from the ground", lower=0.0, upper=0.0)
_RATIO = Quantity(name="ratio", unit="1", description="size of the normal", lower=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A plane fixed to a body: through the origin of `frame`, its normal the frame's z axis.

    Ground of another form than a plane is given in this frame. `friction` and `restitution` are
    those of contacts on it that give none of their own.
    """

    body: BodyName = WORLD
    frame: Placement = Placement()
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    restitution: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None


_FLAT = FlatGround()


class CoulombLaw(NamedTuple):
    """Coefficients of a contact by Coulomb's law and Newton's law of restitution.

    Friction is F = −N (μ² d₁, μ_l² d₂)/√(μ² d₁² + μ_l² d₂²) against the direction d of slip along
    and across the heading: of all forces within the ellipse the one that takes most energy.
    """

    friction: Scalar | None = None  #: μ while it slides, along the heading; None if none was given
    restitution: Scalar = 0.0  #: part of the normal velocity with which it bounces
    #: coefficient of friction at the onset of slip; that of sliding by default
    static_friction: Scalar | None = None
    lateral_friction: Scalar | None = None  #: μ_l across the heading; the same by default


class AbstractContact(Member, abc.ABC, family="contact"):
    """Something of a body that touches a plane: which directions it holds, and where it is."""

    __slots__ = ()

    name: str
    body: BodyName
    plane: Plane

    #: What its rows are said to come from.
    origin: ClassVar[str]
    #: Whether friction holds it, as a wheel; a blade holds without.
    is_wheel: ClassVar[bool]

    @property
    def is_met(self) -> bool:
        """Whether it holds nothing until a run by Coulomb's law meets it, as a wall."""
        return False

    def met(self) -> AbstractContact:
        """The same contact where it touches."""
        return self

    @abc.abstractmethod
    def directions(self) -> tuple[str, ...]:
        """Along which of the three directions the contact point has no velocity."""

    @abc.abstractmethod
    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        """Point at which it touches a plane with normal n, from the body's origin.

        Parameters
        ----------
        n : unit normal of the plane, in any axes.
        R : rotation matrix from the body frame to those axes.
        """

    # fallbacks

    @property
    def is_round(self) -> bool:
        """Whether it rolls alike however its body is turned."""
        return False

    @property
    def form(self) -> AbstractGround:
        """Form of the ground in the frame of the plane."""
        return _FLAT

    @property
    def surface(self) -> AbstractSurface | None:
        """Surface that rolls, about `wheel_center`; None for a contact on planes alone."""
        return None

    def parameters(self) -> tuple[Quantity, ...]:
        """Coordinates of its own: places of the contact point where there is no closed form."""
        return ()

    @property
    def is_flat(self) -> bool:
        """Whether its contact point has a closed form on a plane."""
        return self.form.is_plane and not self.parameters()

    @property
    def ends_at_lift(self) -> bool:
        """Whether a run ends where the ground would have to pull."""
        return False

    @property
    def asks_to_end(self) -> bool:
        """Whether the model asks for that by name: refused where it cannot be known."""
        return False

    @property
    def keeps_down(self) -> bool:
        """Whether it was asked to be held down where the ground would have to pull."""
        return False

    def wheel_center(self) -> Vector3 | None:
        """Center of a wheel in the body frame; None for what touches with a point."""
        return None

    def load_stiffness(self) -> Scalar | None:
        """Stiffness against load, N/m, by which wheels share one; None if it was not given."""
        return None

    def coulomb(self) -> CoulombLaw:
        """Coefficients of friction and restitution."""
        return CoulombLaw()

    def given_load(self) -> Scalar | None:
        """Load, N, of a contact that no row presses down; None where others determine it."""
        return None

    @property
    def joint(self) -> tuple[str, str]:
        """Joint, and the speed of it, along which it acts, of a stop; empty for all others."""
        return "", ""

    def joint_gap(self, coordinate: ca.SX, read: Reads) -> ca.SX:
        """Way that is left of a coordinate of that joint; what it closes with is its rate."""
        raise NotImplementedError(self.word)

    def drop(self, n: Traced, R: Traced, read: Reads) -> ca.SX:
        """Distance of a wheel's lowest point below its center, along the normal n."""
        return ca.SX(0)

    def circle(self) -> WheelCircle | None:
        """Circles of its surface, if it is a wheel made of them."""
        return None

    def reach(self, read: Reads) -> ca.SX | float:
        """Largest radius of a wheel, m; 0 for a point."""
        return 0.0

    @property
    def hamel_word(self) -> str:
        """Name in [CameronBook1993] of a free body that it alone holds; empty if it has none."""
        return ""

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        """(3, 3) how its point moves over the body as n turns, where it has a `hamel_word`."""
        raise NotImplementedError(self.word)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        """Shapes that draw it in the body frame; `size` is a length of the model, m."""
        return ()

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        """Findings about it beyond those of its single fields."""
        return iter(())


#: How the names of rows begin, behind that of their contact, that find the places of a contact.
CLOSEST_ROW = "closest_"


def bears_force(contacts: Iterable[AbstractContact], row: str) -> bool:
    """Whether a row of this name holds something: those that find places of contacts do not."""
    owner, _, part = row.rpartition(".")
    is_closest = part.startswith(CLOSEST_ROW)
    return not (is_closest and any(c.name == owner and c.parameters() for c in contacts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling(AbstractContact):
    """A rolling surface of a body touches the ground and rolls on it without slipping.

    Three rows, each of which may be switched off: the material point in contact has no velocity
    relative to the ground along the `longitudinal` direction (the wheel's heading), the `lateral`
    direction, and the `normal`; the normal row is holonomic (it keeps the wheel's height).
    Longitudinal is wheel axis × normal, lateral is normal × longitudinal; for what has no axis
    longitudinal is a direction of the ground, on a plane its x axis. A fourth row, `spin`, is off
    by default: the body does not turn about the normal against the ground.
    """

    name: str  #: unique among contacts; rows are called ``name.longitudinal`` and so on
    body: BodyName  #: the body that rolls
    wheel: AbstractSurface  #: rolling surface of the body
    center: Point = ZERO  #: center of the wheel, in the body frame, m
    plane: Plane = Plane()  #: frame of the ground; by default the plane z = 0 of the world
    #: form of the ground in that frame; by default the plane itself
    ground: AbstractGround = FlatGround()
    longitudinal: bool = True
    lateral: bool = True
    normal: bool = True
    spin: bool = False  #: whether turning about the normal is locked
    #: consequence in a run where the ground would have to pull: ``end``, or ``keep`` holding the
    #: body down; ``auto`` ends on curved ground, and on a plane holds it down with a note
    lift: Annotated[str, Meaning(choices=(AUTO, END, KEEP))] = AUTO
    #: stiffness of wheel and ground, by which wheels divide a load that statics leaves open, N/m;
    #: equal by default. Nothing moves by it.
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)] | None = None
    #: coefficient of what is held along the ground, for the audit, and for runs with
    #: ``contact="coulomb"``, in which the contact slides, lifts off and lands by it
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    #: coefficient of friction up to which it does not slip, at least as large; `friction` by
    #: default
    static_friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    #: coefficient of friction across the heading; `friction` by default, in every direction
    lateral_friction: Annotated[Scalar, Meaning(unit="1", sign=POSITIVE)] | None = None
    #: part of the normal velocity with which such a run bounces, from 0 to 1; that of the ground by
    #: default, or 0. So is `friction`.
    restitution: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    #: whether it touches at all times in which contacts hold; a wall or a stop that is only met
    #: holds nothing there, and lands in runs with ``contact="coulomb"``
    touches: bool = True

    word = "rolling"
    also_called = ("wheel",)
    origin = "rolling"
    is_wheel = True

    def directions(self) -> tuple[str, ...]:
        every = (LONGITUDINAL, LATERAL, NORMAL, SPIN) if self.touches else ()
        return tuple(d for d in every if getattr(self, d))

    @property
    def is_met(self) -> bool:
        return not self.touches

    def met(self) -> Rolling:
        return replace(self, touches=True)

    @property
    def form(self) -> AbstractGround:
        return self.ground

    @property
    def surface(self) -> AbstractSurface:
        return self.wheel

    @property
    def ends_at_lift(self) -> bool:
        asked = self.lift == END or (self.normal and self.lift == AUTO and not self.is_flat)
        return self.touches and asked

    @property
    def asks_to_end(self) -> bool:
        return self.lift == END

    @property
    def keeps_down(self) -> bool:
        return self.lift == KEEP

    def parameters(self) -> tuple[Quantity, ...]:
        of_ground: tuple[Quantity, ...] = ()
        if not self.ground.closed(self.wheel.circle()):
            of_ground = self.ground.parameters()
            of_ground += (_GAP,) if len(of_ground) == 3 else ()
        of_wheel = tuple(q.renamed("wheel") for q in self.wheel.parameters())
        of_wheel = tuple(replace(q, name=q.name.replace(".", "_")) for q in of_wheel)
        return of_ground + of_wheel + ((_RATIO,) if len(of_wheel) == 3 else ())

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        touch = self.wheel.contact(n, R, read)
        return touch._replace(arm=ca.mtimes(R, read.vector(self.center)) + touch.arm)

    def load_stiffness(self) -> Scalar | None:
        return self.stiffness

    def coulomb(self) -> CoulombLaw:
        friction, restitution = _of_ground(self)
        return CoulombLaw(friction, restitution, self.static_friction, self.lateral_friction)

    def wheel_center(self) -> Vector3 | None:
        return self.center

    def drop(self, n: Traced, R: Traced, read: Reads) -> ca.SX:
        return self.wheel.support(-ca.mtimes(R.T, n), read)

    @property
    def is_round(self) -> bool:
        return self.wheel.is_round

    def circle(self) -> WheelCircle | None:
        return self.wheel.circle() if self.is_flat else None

    def reach(self, read: Reads) -> ca.SX | float:
        return self.wheel.reach(read)

    @property
    def hamel_word(self) -> str:
        """Name of its surface's body, if all three rows hold."""
        is_whole = self.is_flat and self.directions() == (LONGITUDINAL, LATERAL, NORMAL)
        return self.wheel.hamel_word if is_whole else ""

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        return self.wheel.contact_slope(touch, n, read)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        return self.wheel.shapes(read.vector(self.center), read)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if not self.touches and not self.normal:
            yield Finding(
                ("contacts", self.name, "touches"),
                f"contact '{self.name}' is only met, and has no normal row: nothing stops there",
                "write normal = true, or leave touches out",
            )
        if not self.met().directions():
            yield Finding(
                ("contacts", self.name),
                f"contact '{self.name}' has all three rows switched off",
                "keep one of longitudinal, lateral and normal, or remove the contact",
            )
        yield from _restitution_faults(self, known)
        yield from _friction_faults(self, known)
        is_carried = any(joint.type.is_planar for joint in known.topology.tree)
        if self.friction is not None and not self.normal and not is_carried:
            yield _no_load(self.name, "write normal = true")
        for place in self.parameters():
            if known.coordinates.count(f"{self.name}.{place.name}") > 1:
                yield Finding(
                    ("contacts", self.name),
                    f"contact '{self.name}' has a coordinate '{self.name}.{place.name}' of its "
                    "own, which a joint of the same name has, too",
                    "give the contact or the joint another name",
                )
        yield from self.wheel.faults(("contacts", self.name, "wheel"), known)
        yield from self.ground.faults(("contacts", self.name, "ground"), known)


def _of_ground(contact: Rolling | RollerRolling) -> tuple[Scalar | None, Scalar]:
    """Friction and restitution of a contact, those of its ground where it gives none."""
    friction, restitution = contact.friction, contact.restitution
    ground = contact.plane
    friction = ground.friction if friction is None else friction
    restitution = ground.restitution if restitution is None else restitution
    return friction, 0.0 if restitution is None else restitution


def _no_load(name: str, fix: str) -> Finding:
    """The finding of friction by a load that nothing determines."""
    return Finding(
        ("contacts", name, "friction"),
        f"contact '{name}' has friction and no load: no row presses it down, and no planar joint "
        "stands on it",
        f"{fix}, or leave the friction out",
    )


def _restitution_faults(contact: Rolling | RollerRolling, known: Vocabulary) -> Iterator[Finding]:
    """Findings about the restitution of a contact."""
    name, bounce = contact.name, _of_ground(contact)[1]
    if not isinstance(bounce, str) and bounce == 0.0:
        return
    key = "restitution" if contact.restitution is not None else "plane"
    with suppress(KeyError):  # a name that is not known is a fault of its own
        bounce = float(NumberReader(known.finite_parameters).scalar(bounce))
        if bounce > 1.0:
            yield Finding(
                ("contacts", name, key),
                f"contact '{name}' has the restitution {bounce:g}: it would gain energy where it "
                "bounces",
                "give a number from 0 to 1",
            )
    if contact.restitution is not None and not contact.normal:
        yield Finding(
            ("contacts", name, "restitution"),
            f"contact '{name}' has a restitution and no normal row: it cannot bounce",
            "write normal = true, or leave it out",
        )


def _friction_faults(contact: AbstractContact, known: Vocabulary) -> Iterator[Finding]:
    """Findings about the coefficients of friction of a contact together."""
    law, name = contact.coulomb(), contact.name
    for key in ("static_friction", "lateral_friction"):
        value = getattr(law, key)
        if value is None:
            continue
        place = ("contacts", name, key)
        if law.friction is None:
            yield Finding(
                place,
                f"contact '{name}' has {key} and no friction",
                "write friction = …, the coefficient of sliding along the heading",
            )
            continue
        with suppress(KeyError):  # a name that is not known is a fault of its own
            reader = NumberReader(known.finite_parameters)
            least, given = reader.scalar(law.friction), reader.scalar(value)
            if key == "static_friction" and given < least:
                yield Finding(
                    place,
                    f"contact '{name}' has the static friction {given:g}, below that of sliding, "
                    f"{least:g}: it would neither hold nor slide",
                    "give at least the friction of sliding",
                )
            if key == "lateral_friction" and not least > 0.0:
                yield Finding(
                    place,
                    f"contact '{name}' has friction across its heading and none along it",
                    "give friction = … above zero, however small",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnifeEdge(AbstractContact):
    """A blade: a point of a body does not move sideways.

    One row, ``name.lateral``: the velocity of `point` relative to the plane's body vanishes along
    normal × `direction`.
    """

    name: str
    body: BodyName
    direction: Direction  #: direction along the blade, in the body frame
    point: Point = ZERO  #: point of the blade, in the body frame, m
    plane: Plane = Plane()
    #: coefficient across the blade, by which it breaks out and skids in runs with
    #: ``contact="coulomb"``; by default it holds whatever it needs to
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    #: coefficient up to which it does not break out; `friction` by default
    static_friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    #: normal force on the blade, N, which a blade with friction needs
    load: Annotated[Scalar, Meaning(unit="N", sign=POSITIVE)] | None = None

    word = "knife_edge"
    also_called = ("blade", "skate")
    origin = "knife edge"
    is_wheel = False

    def directions(self) -> tuple[str, ...]:
        return (LATERAL,)

    def coulomb(self) -> CoulombLaw:
        return CoulombLaw(self.friction, 0.0, self.static_friction)

    def given_load(self) -> Scalar | None:
        return self.load

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        yield from _friction_faults(self, known)
        if self.friction is not None and self.load is None:
            yield _no_load(self.name, "write load = …, in N")

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        along = ca.mtimes(R, read.direction(self.direction))
        heading = unit(along - ca.dot(along, n) * n)
        return Touch(arm=ca.mtimes(R, read.vector(self.point)), heading=heading, regularity=None)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        """A thin upright runner that touches with its lower edge, in the axes of its body."""
        point, along = read.vector(self.point), read.direction(self.direction)
        up = np.array([1.0, 0.0, 0.0] if abs(along[2]) > 0.9 else [0.0, 0.0, 1.0])
        across = np.cross(up, along)
        across /= np.linalg.norm(across)
        R = np.column_stack([along, across, np.cross(along, across)])
        height = 0.12 * size
        frame = Placement.at(point + R[:, 2] * height / 2, R)
        return (Box(size=(0.5 * size, 0.02 * size, height), frame=frame, color=RIM_COLOR),)


#: Rollers that are drawn around a rim.
ROLLERS = 11

#: Thickness of a roller from its axis, in radii of the wheel.
ROLLER_THICKNESS = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class RollerRolling(AbstractContact):
    """A wheel with rollers around its rim rolls on a plane: one row along the axis of the rollers.

    The row is ``name.longitudinal``; the reaction along it acts along the roller's axis.
    """

    name: str  #: unique among contacts
    body: BodyName  #: the wheel, which carries the rollers
    radius: PositiveLength  #: radius of the wheel over its rollers, m
    axis: Direction  #: axis of the wheel, in the body frame
    #: γ in (1), rad, from the wheel's lateral direction toward its heading
    roller_angle: Annotated[Scalar, Meaning(unit="rad")]
    center: Point = ZERO  #: center of the wheel, in the body frame, m
    plane: Plane = Plane()  #: plane on which it rolls; by default the ground z = 0 of the world
    normal: bool = True  #: whether the wheel's height is held
    #: stiffness in compression, as of a rolling contact, N/m
    stiffness: Annotated[Scalar, Meaning(unit="N/m", sign=POSITIVE)] | None = None
    #: friction, static_friction, restitution: coefficients as of a rolling contact; friction acts
    #: along the axis of the roller alone, about which it turns freely
    friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    static_friction: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None
    restitution: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] | None = None

    word = "rollers"
    also_called = ("mecanum", "omni", "swedish")
    origin = "rolling"
    is_wheel = True

    def directions(self) -> tuple[str, ...]:
        return (LONGITUDINAL, NORMAL) if self.normal else (LONGITUDINAL,)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        """The lowest point of the rim, and the axis of the roller there as the heading (1)."""
        touch = self._rim().contact(n, R, read)
        assert touch.heading is not None
        angle = read.scalar(self.roller_angle)
        along = touch.heading * ca.sin(angle) + cross(n, touch.heading) * ca.cos(angle)  # (1)
        arm = ca.mtimes(R, read.vector(self.center)) + touch.arm
        return touch._replace(arm=arm, heading=along)

    def load_stiffness(self) -> Scalar | None:
        return self.stiffness

    def coulomb(self) -> CoulombLaw:
        friction, restitution = _of_ground(self)
        return CoulombLaw(friction, restitution, self.static_friction)

    def wheel_center(self) -> Vector3 | None:
        return self.center

    def drop(self, n: Traced, R: Traced, read: Reads) -> ca.SX:
        return self._rim().support(-ca.mtimes(R.T, n), read)

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius = read.scalar(self.radius)
        return roller_shapes(self.axis, self.roller_angle, radius, radius / 2, read, self.center)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        angle = number(self.roller_angle, known.finite_parameters)
        if abs(np.sin(angle)) < 1e-9:
            yield Finding(
                ("contacts", self.name, "roller_angle"),
                f"contact '{self.name}' has rollers along its axle, so that it cannot be driven",
                "give roller_angle = 1.5708 for an omni wheel, 0.7854 or -0.7854 for a mecanum one",
            )

        yield from _restitution_faults(self, known)
        yield from _friction_faults(self, known)
        is_carried = any(joint.type.is_planar for joint in known.topology.tree)
        if self.friction is not None and not self.normal and not is_carried:
            yield _no_load(self.name, "write normal = true")

    def _rim(self) -> Disk:
        return Disk(radius=self.radius, axis=self.axis)


def roller_places(
    roller_angle: Scalar, radius: Scalar, count: int, read: NumberReader
) -> list[tuple[Placement, tuple[float, float]]]:
    """Rollers around a wheel that turns about y: their frames, x along the axis, and semi-axes.

    An ellipsoid that touches the rim's circle in its middle, with the same curvature there: with ρ
    its thickness, γ the angle and r the wheel's radius, it is √(ρ r)/|sin γ| long.
    """
    r, angle = read.scalar(radius), read.scalar(roller_angle)
    thick = ROLLER_THICKNESS * r
    long = float(np.sqrt(thick * r) / max(abs(np.sin(angle)), 1e-9))
    e = np.array([0.0, 1.0, 0.0])
    found = []
    for k in range(count):
        out = rotation_about(e, 2 * pi * k / count) @ np.array([0.0, 0.0, -1.0])
        along = -np.cross(e, out) * np.sin(angle) + e * np.cos(angle)
        R = np.column_stack([along, np.cross(out, along), out])
        found.append((Placement.at((r - thick) * out, R), (long, thick)))
    return found


def roller_shapes(
    axis: Vector3,
    roller_angle: Scalar,
    radius: Scalar,
    width: Scalar,
    read: NumberReader,
    center: Vector3 = ZERO,
) -> tuple[AbstractShape, ...]:
    """A hub with rollers around it, as numbers, in the frame of the wheel's body."""
    r, w, angle = read.scalar(radius), read.scalar(width), read.scalar(roller_angle)
    R, middle = rotation_to(read.vector(axis)), read.vector(center)
    e = R[:, 2]
    # a roller is as long as its share of the rim, or as the wheel is wide
    small = ROLLER_THICKNESS * r
    length = min(1.7 * pi * r / ROLLERS / max(abs(np.sin(angle)), 1e-9), 1.4 * w)
    hub = Cylinder(radius=0.72 * r, length=0.7 * w, frame=Placement.at(middle, R), color=RIM_COLOR)
    shapes: list[AbstractShape] = [hub]
    for k in range(ROLLERS):
        out = rotation_about(e, 2 * pi * k / ROLLERS) @ R[:, 0]
        # where the roller is lowest, −out is the normal, the heading is e × (−out), lateral is e
        along = -np.cross(e, out) * np.sin(angle) + e * np.cos(angle)
        place = middle + (r - small) * out
        frame = Placement.at(place, rotation_to(along))
        shapes.append(Cylinder(radius=small, length=length, frame=frame, color=TREAD_COLOR))
    return tuple(shapes)

"""Rolling contacts and knife edges: what makes a mechanism nonholonomic.

A `Rolling` contact has a rolling surface. To add a surface, here or in a module of your own, write
a frozen data class below `AbstractSurface`; nothing else is touched:

1. `word`, by which model files know it; its fields are the keys of its table, and their types say
   units and signs (`quantities.py`);
2. `support(direction, read)`: how far it reaches from its center along a direction, times the
   direction's length. This support function is the whole geometry of a convex surface: the contact
   point, its motion over the surface, the height and the picture follow from it;
3. `reach(read)`: its largest radius, by which things are sized.

What is below "fallbacks" in the base class has a general answer, which a surface may replace by a
closed form; `verify` compares that with the support function.

To add a contact of another kind, a class below `AbstractContact`: which directions it holds, and
where it touches.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import casadi as ca
import numpy as np

from noslip.families import Member
from noslip.model.bodies import (
    WORLD,
    AbstractShape,
    Box,
    Cylinder,
    Placement,
    Ring,
    Sphere,
)
from noslip.model.findings import Finding
from noslip.model.numbers import Array, NumberReader, rotation_to
from noslip.model.quantities import (
    ZERO,
    BodyName,
    Direction,
    NotNegativeLength,
    Point,
    PositiveLength,
    Reads,
    Scalar,
    Vector3,
)
from noslip.model.triangles import Triangles, patch
from noslip.spatial import Traced, cross, unit

if TYPE_CHECKING:
    from noslip.model.vocabulary import Vocabulary

LONGITUDINAL = "longitudinal"
LATERAL = "lateral"
NORMAL = "normal"

#: Colors of what is drawn by default.
METAL, DARK, MARK, BALL = "#9d9d9d", "#333333", "#f58518", "#e45756"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A plane fixed to a body: through the origin of `frame`, its normal the frame's z axis."""

    body: BodyName = WORLD
    frame: Placement = Placement()


class Touch(NamedTuple):
    """Where a surface touches a plane with the upward normal n, in the axes that n is given in.

    Parameters
    ----------
    arm : from the surface's center, or the body's origin for a contact, to the contact point.
    heading : unit vector in the plane, the longitudinal direction; None for the plane's x axis.
    regularity : a number that vanishes where the contact point is not determined; None if it
        always is.
    """

    arm: ca.SX
    heading: ca.SX | None
    regularity: ca.SX | None


class WheelCircle(NamedTuple):
    """A surface made of circles about an axis: a ring of `radius` with a tube of `tube_radius`.

    The axis is None for a ball, which has all of them.
    """

    axis: Vector3 | None
    radius: Scalar
    tube_radius: Scalar


class AbstractSurface(Member, abc.ABC, family="rolling surface"):
    """A convex surface that rolls; see the list at the top of this file."""

    __slots__ = ()

    @abc.abstractmethod
    def support(self, direction: Traced, read: Reads) -> ca.SX:
        """h(d) = max d·p over the points p of the surface, from its center, in the body frame."""

    @abc.abstractmethod
    def reach(self, read: Reads) -> ca.SX | float:
        """The largest distance of a point from the center, m."""

    # fallbacks

    #: What [CameronBook1993] calls a free body that rolls on it; empty where there is no closed
    #: form of its Hamel terms, so that only the general ones are taken.
    hamel_word: ClassVar[str] = ""
    #: Whether it rolls alike however it is turned, so that the length of a quaternion, which errors
    #: of steps change, would be all that its path depends on; it is then divided out.
    is_round: ClassVar[bool] = False

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        """Where it touches a plane with normal n: the gradient of the support function at −n.

        Parameters
        ----------
        n : unit normal of the plane, in any axes.
        R : turns vectors of the body frame into those axes.
        """
        down = ca.SX.sym("down", 3)
        point = ca.gradient(ca.SX(self.support(down, read)), down)
        here = ca.substitute([point], [down], [-ca.mtimes(R.T, n)])[0]
        return Touch(arm=ca.mtimes(R, here), heading=None, regularity=None)

    def circle(self) -> WheelCircle | None:
        """Its circles, if it is made of them: rates of its rows then have closed forms."""
        return None

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        """(3, 3) how the contact point moves over it as n turns, for a surface with a `hamel_word`.

        In the axes of n.
        """
        raise NotImplementedError(self.word)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        """What it looks like in the body frame, where the body has no shapes of its own."""
        return (_Convex(surface=self, frame=Placement.at(center), color=BALL),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Convex(AbstractShape):
    """Shape of a convex surface from its support function: p = ∂h/∂d at all directions d."""

    surface: AbstractSurface
    frame: Placement
    color: str

    def triangles(self, read: NumberReader) -> Triangles:
        d = ca.SX.sym("d", 3)
        point = ca.gradient(ca.SX(self.surface.support(d, read)), d)
        latitude = np.pi * (np.arange(17) / 16 - 0.5)
        longitude = 2 * np.pi * np.arange(33) / 32
        around = np.stack([np.cos(longitude), np.sin(longitude)])
        grid = [[*(around * np.cos(a)), np.full(33, np.sin(a))] for a in latitude]
        directions = np.array(grid).transpose(1, 0, 2).reshape(3, -1)
        points = np.array(ca.Function("p", [d], [ca.densify(point)]).map(17 * 33)(directions))
        return patch(points.T.reshape(17, 33, 3))


def _rim(radius: ca.SX, tube: ca.SX | None, n: ca.SX, a: ca.SX) -> Touch:
    """The contact of a rim, with the unit axis a in the axes of n.

    (1) e = (n − (n·a) a) / |n − (n·a) a|     from the contact point of the rim to the center
    (2) d = −radius e − tube_radius n         from the center to the contact point
    (3) longitudinal f = a × n / |a × n|
    """
    across = cross(a, n)
    sine = ca.sqrt(ca.dot(across, across))
    e = (n - ca.dot(n, a) * a) / sine  # (1)
    d = -radius * e  # (2)
    if tube is not None:
        d = d - tube * n
    return Touch(arm=d, heading=across / sine, regularity=sine)  # (3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk(AbstractSurface):
    """A thin disk of `radius` (m) that touches with its sharp rim; `axis` in the body frame."""

    radius: PositiveLength
    axis: Direction

    word = "disk"
    hamel_word = "rolling disk"

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        # the lowest point of a circle about e is at radius times what of the direction is across e
        along = ca.dot(direction, read.direction(self.axis))
        return read.scalar(self.radius) * ca.sqrt(ca.dot(direction, direction) - along**2)

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        return _rim(read.scalar(self.radius), None, n, ca.mtimes(R, read.direction(self.axis)))

    def circle(self) -> WheelCircle | None:
        return WheelCircle(self.axis, self.radius, 0.0)

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        """δρ = −(r/sin) f fᵀ δn."""
        assert touch.heading is not None and touch.regularity is not None
        slope = -read.scalar(self.radius) / touch.regularity
        return slope * ca.mtimes(touch.heading, touch.heading.T)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius, R = read.scalar(self.radius), rotation_to(read.vector(self.axis))
        width = radius / 8
        tread = Cylinder(radius=radius, length=width, frame=Placement.at(center, R), color=DARK)
        return (tread, *_marked(radius, width, center, R))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(AbstractSurface):
    """A sphere of `radius` (m)."""

    radius: PositiveLength

    word = "ball"
    also_called = ("sphere",)
    is_round = True

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        return read.scalar(self.radius) * ca.sqrt(ca.dot(direction, direction))

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        return Touch(arm=-read.scalar(self.radius) * n, heading=None, regularity=None)

    def circle(self) -> WheelCircle | None:
        return WheelCircle(None, 0.0, self.radius)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius, frame = read.scalar(self.radius), Placement.at(center)
        return (
            Sphere(radius=radius, frame=frame, color=BALL),
            Ring(radius=radius, tube_radius=radius / 40, frame=frame, color=MARK),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Torus(AbstractSurface):
    """A wheel of ring `radius` with a round tire of `tube_radius` (m); `axis` in the body frame.

    The lowest point of an upright torus is `radius` + `tube_radius` below its center.
    """

    radius: NotNegativeLength  # a torus without a ring is a ball
    tube_radius: NotNegativeLength
    axis: Direction

    word = "torus"

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        ring = Disk(radius=self.radius, axis=self.axis).support(direction, read)
        return ring + Ball(radius=self.tube_radius).support(direction, read)

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius) + read.scalar(self.tube_radius)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        radius, tube = read.scalar(self.radius), read.scalar(self.tube_radius)
        return _rim(radius, tube, n, ca.mtimes(R, read.direction(self.axis)))

    def circle(self) -> WheelCircle | None:
        return WheelCircle(self.axis, self.radius, self.tube_radius)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius, tube = read.scalar(self.radius), read.scalar(self.tube_radius)
        R = rotation_to(read.vector(self.axis))
        frame = Placement.at(center, R)
        return (
            Ring(radius=radius, tube_radius=tube, frame=frame, color=DARK),
            Cylinder(radius=radius, length=tube / 2, frame=frame, color=METAL),
            *_marked(radius, 0.6 * tube, center, R),
        )


def _marked(radius: float, width: float, center: Array, R: Array) -> Iterator[AbstractShape]:
    """A bar that shows how a wheel turns, and its hub."""
    yield Box(
        size=(0.85 * radius, radius / 7, 1.2 * width),
        frame=Placement.at(center + R[:, 0] * 0.45 * radius, R),
        color=MARK,
    )
    hub = Placement.at(center, R)
    yield Cylinder(radius=radius / 8, length=1.6 * width, frame=hub, color=METAL)


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

    @abc.abstractmethod
    def directions(self) -> tuple[str, ...]:
        """Along which of the three directions the contact point has no velocity."""

    @abc.abstractmethod
    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        """Where it touches a plane with normal n, from the body's origin.

        Parameters
        ----------
        n : unit normal of the plane, in any axes.
        R : turns vectors of the body frame into those axes.
        """

    # fallbacks

    @property
    def is_round(self) -> bool:
        """Whether it rolls alike however its body is turned."""
        return False

    def wheel_center(self) -> Vector3 | None:
        """Center of a wheel in the body frame; None for what touches with a point."""
        return None

    def drop(self, n: Traced, R: Traced, read: Reads) -> ca.SX:
        """How far the lowest point of a wheel is below its center, along the normal n."""
        return ca.SX(0)

    def circle(self) -> WheelCircle | None:
        """Circles of its surface, if it is a wheel made of them."""
        return None

    def reach(self, read: Reads) -> ca.SX | float:
        """Largest radius of a wheel, m; 0 for a point."""
        return 0.0

    @property
    def hamel_word(self) -> str:
        """What [CameronBook1993] calls a free body that it alone holds; empty if not known."""
        return ""

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        """(3, 3) how its point moves over the body as n turns, where it has a `hamel_word`."""
        raise NotImplementedError(self.word)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        """What it looks like in the body frame; `size` is a length of the model, m."""
        return ()

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        """Findings about it beyond those of its single fields."""
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling(AbstractContact):
    """A rolling surface of a body touches a plane and rolls on it without slipping.

    Three rows, each of which may be switched off: the material point in contact has no velocity
    relative to the plane along the `longitudinal` direction (the wheel's heading), the `lateral`
    direction, and the `normal`; the normal row is holonomic (it keeps the wheel's height).
    Longitudinal is wheel axis × plane normal, lateral is normal × longitudinal; for a ball they are
    the plane's x and y axes.

    Parameters
    ----------
    name : unique among contacts; rows are called ``name.longitudinal`` and so on.
    body : the body that rolls.
    wheel : its rolling surface.
    center : of the wheel, in the body frame, m.
    plane : what it rolls on; by default the ground z = 0 of the world.
    """

    name: str
    body: BodyName
    wheel: AbstractSurface
    center: Point = ZERO
    plane: Plane = Plane()
    longitudinal: bool = True
    lateral: bool = True
    normal: bool = True

    word = "rolling"
    also_called = ("wheel",)
    origin = "rolling"
    is_wheel = True

    def directions(self) -> tuple[str, ...]:
        return tuple(d for d in (LONGITUDINAL, LATERAL, NORMAL) if getattr(self, d))

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        touch = self.wheel.contact(n, R, read)
        return touch._replace(arm=ca.mtimes(R, read.vector(self.center)) + touch.arm)

    def wheel_center(self) -> Vector3 | None:
        return self.center

    def drop(self, n: Traced, R: Traced, read: Reads) -> ca.SX:
        return self.wheel.support(-ca.mtimes(R.T, n), read)

    @property
    def is_round(self) -> bool:
        return self.wheel.is_round

    def circle(self) -> WheelCircle | None:
        return self.wheel.circle()

    def reach(self, read: Reads) -> ca.SX | float:
        return self.wheel.reach(read)

    @property
    def hamel_word(self) -> str:
        """That of its surface, if all three rows hold."""
        return self.wheel.hamel_word if len(self.directions()) == 3 else ""

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        return self.wheel.contact_slope(touch, n, read)

    def shapes(self, size: float, read: NumberReader) -> tuple[AbstractShape, ...]:
        return self.wheel.shapes(read.vector(self.center), read)

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        if not self.directions():
            yield Finding(
                ("contacts", self.name),
                f"contact '{self.name}' has all three rows switched off",
                "keep one of longitudinal, lateral and normal, or remove the contact",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnifeEdge(AbstractContact):
    """A blade: a point of a body does not move sideways.

    One row, ``name.lateral``: the velocity of `point` relative to the plane's body vanishes along
    normal × `direction`.

    Parameters
    ----------
    point : of the blade, in the body frame, m.
    direction : along the blade, in the body frame.
    """

    name: str
    body: BodyName
    direction: Direction
    point: Point = ZERO
    plane: Plane = Plane()

    word = "knife_edge"
    also_called = ("blade", "skate")
    origin = "knife edge"
    is_wheel = False

    def directions(self) -> tuple[str, ...]:
        return (LATERAL,)

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
        return (Box(size=(0.5 * size, 0.02 * size, height), frame=frame, color=METAL),)

"""Transmissions: gears, racks, belts, planetary sets and differentials, as ready constraint rows.

Each keeps a sum of joint coordinates constant,

    (1)  g(q) = Σ kᵢ qᵢ − phase = 0

The coordinates are angles of joints on one body, the housing. The multiplier of the row is the
force between the teeth or in the belt, N; of a differential the torque on each side, N·m. A
positive one pushes coordinates with positive factors forward. Losses oppose the speed with which
teeth or pinions roll on each other, s = Σ lᵢ q̇ᵢ, viscously and as dry friction, made smooth,

    (2)  F = −(c s + F₀ tanh(s/s₀))

which dissipates c s² + F₀ s tanh(s/s₀).

To add one: a frozen data class below `AbstractTransmission` with `terms`, and `rolling` if
that differs.

A cam pushes its follower by a law of its angle instead, s = lift(θ), see `Cam`.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import casadi as ca
import numpy as np

from noslip.algebra import Traced, cross, rotation_from_angles, vector
from noslip.expressions import Expression, ExpressionError, Scalar, names_of, nominal
from noslip.model.findings import Finding, Path
from noslip.model.forces import DISSIPATIVE, Loads
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    CoordinateName,
    Meaning,
    NumberReader,
    Point,
    PositiveLength,
)
from noslip.model.rows import AbstractRow, JointAxis, Places, RowWrench

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary

#: Factor of each coordinate, as text.
Terms = tuple[tuple[str, str], ...]

#: Relative misfit of radii and places, and of ratios, that is rounding.
FITTING = 1e-9

Loss = Annotated[Scalar, Meaning(unit="N*s/m", sign=NOT_NEGATIVE)]
Phase = Annotated[Scalar, Meaning(unit="m")]
Friction = Annotated[Scalar, Meaning(unit="N", sign=NOT_NEGATIVE)]
Smoothing = Annotated[Scalar, Meaning(unit="m/s", sign=POSITIVE)]


class AbstractTransmission(AbstractRow):
    """Base class of transmissions, rows (1) on coordinates of joints."""

    __slots__ = ()

    is_holonomic: ClassVar[bool] = True
    unit: ClassVar[str] = "m"  # type: ignore[misc]
    #: Unit of each coordinate that a field names, rad unless listed.
    coordinate_units: ClassVar[Mapping[str, str]] = {}

    phase: Scalar
    loss: Scalar
    friction: Scalar
    smoothing: Scalar

    @abc.abstractmethod
    def terms(self) -> Terms:
        """Coordinates and their factors in (1)."""

    # fallbacks

    def rolling(self) -> Terms:
        """Coordinates and factors of the speed s that losses oppose; the first term's."""
        return self.terms()[:1]

    def pitch_circles(self) -> Terms:
        """Radii of the pitch circles to draw about the axes of angles."""
        return ()

    @property
    def expression(self) -> str:  # type: ignore[override]
        """Row (1) as an expression."""
        total = " + ".join(f"{factor}*{name}" for name, factor in self.terms())
        return f"{total} - {_text(self.phase)}"

    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        return iter(())

    def apply(self, loads: Loads) -> None:
        if self.loss == 0.0 and self.friction == 0.0:
            return
        read = loads.read
        speed = sum(read.scalar(f"{factor}*rate({name})") for name, factor in self.rolling())
        force = -(read.scalar(self.loss) * speed)
        if self.friction != 0.0:
            dry = ca.tanh(speed / read.scalar(self.smoothing))
            force = force - read.scalar(self.friction) * dry
        for name, factor in self.rolling():
            loads.along_coordinate(DISSIPATIVE, name, force * read.scalar(factor))

    def has_friction(self) -> bool:
        return self.loss != 0.0 or self.friction != 0.0

    def why_unplaced(self) -> str:
        return ""

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        path = ("rows", self.name)
        names = [name for name, _ in self.terms()]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Finding(
                path,
                f"row '{self.name}' couples '{name}' with itself",
                "name the coordinates of different joints",
            )
        for field in getattr(self, "__dataclass_fields__", {}):
            name = getattr(self, field)
            expected = self.coordinate_units.get(field, "rad")
            if not isinstance(name, str) or field == "name" or name not in known.coordinates:
                continue
            if known.coordinate_units[name] != expected:
                yield Finding(
                    (*path, field),
                    f"row '{self.name}' couples '{name}', which is in "
                    f"{known.coordinate_units[name]}, where an "
                    f"{'angle' if expected == 'rad' else 'displacement'} is expected",
                    "name an angle of a joint" if expected == "rad" else "name a displacement",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gear(AbstractTransmission):
    """Two gears in mesh on parallel axes: r₁ (θ₁ − θ_c) ± r₂ (θ₂ − θ_c) = phase."""

    name: str
    #: first, second: angles of the gears' joints
    first: CoordinateName
    second: CoordinateName
    #: first_radius, second_radius: radii of the pitch circles
    first_radius: PositiveLength
    second_radius: PositiveLength
    is_internal: bool = False  #: whether one runs inside the other, and both turn the same way
    #: angle of the arm that carries the second gear, whose own angle is then against the arm; empty
    #: where both gears turn in one housing
    carrier: Annotated[str, Meaning(names="coordinate", is_optional=True)] = ""
    phase: Phase = 0.0  #: phase of the teeth at the pitch circle
    #: loss, friction: viscous and dry friction between the teeth
    loss: Loss = 0.0
    friction: Friction = 0.0
    #: speed at which the dry one has reached tanh 1 = 76 % of its size
    smoothing: Smoothing = 0.001

    word = "gear"
    also_called = ("gears", "spur_gear")

    def terms(self) -> Terms:
        first, second = _text(self.first_radius), _text(self.second_radius)
        found = [(self.first, first), (self.second, f"(-{second})" if self.is_internal else second)]
        if self.carrier:
            found.append((self.carrier, f"(-{first})"))
        return tuple(found)

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        # at the pitch point, along the common tangent e × n of the pitch circles
        a, b = places.axis(self.first), places.axis(self.second)
        n, _ = _between(a, b)
        read = places.read
        first, second = read.scalar(self.first_radius), read.scalar(self.second_radius)
        if self.is_internal:
            n = n * ca.sign(first - second)
        force = multiplier * cross(a.direction, n)
        return _pair(a.body, b.body, a.point + first * n, force)

    def rolling(self) -> Terms:
        return tuple(term for term in self.terms() if term[0] != self.second)

    def pitch_circles(self) -> Terms:
        return ((self.first, _text(self.first_radius)), (self.second, _text(self.second_radius)))

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        yield from AbstractTransmission.faults(self, known)
        first, second = (_number(r, known) for r in (self.first_radius, self.second_radius))
        if first is None or second is None:
            return
        if self.is_internal and first == second:
            yield Finding(
                ("rows", self.name),
                f"row '{self.name}' is an internal pair of gears with equal radii",
                "give the ring the larger radius, or leave out is_internal",
            )
            return
        distance = _axis_distance(self.first, self.second, known, self.carrier)
        wanted = abs(first - second) if self.is_internal else first + second
        if distance and abs(distance - wanted) > FITTING * wanted:
            yield Finding(
                ("rows", self.name),
                f"row '{self.name}' has gears of radii {first:g} m and {second:g} m, whose axes "
                f"are {distance:g} m apart: their teeth do not meet",
                f"place the axes {wanted:g} m apart, or correct the radii; axes that coincide say "
                "nothing of places",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack(AbstractTransmission):
    """A gear on a rack: r θ − s = phase, with s the displacement of the rack."""

    name: str
    gear: CoordinateName
    rack: CoordinateName
    radius: PositiveLength
    phase: Phase = 0.0
    loss: Loss = 0.0
    friction: Friction = 0.0
    smoothing: Smoothing = 0.001

    word = "rack"
    also_called = ("rack_and_pinion", "pinion")
    coordinate_units = {"rack": "m"}

    def terms(self) -> Terms:
        return ((self.gear, _text(self.radius)), (self.rack, "(-1)"))

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        # at the point of the pitch circle that moves along the rack
        gear, rack = places.axis(self.gear), places.axis(self.rack)
        arm = places.read.scalar(self.radius) * cross(rack.direction, gear.direction)
        return _pair(gear.body, rack.body, gear.point + arm, multiplier * rack.direction)

    def pitch_circles(self) -> Terms:
        return ((self.gear, _text(self.radius)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belt(AbstractTransmission):
    """A belt or chain that does not slip: r₁ θ₁ − r₂ θ₂ = phase; crossed, r₁ θ₁ + r₂ θ₂.

    Its multiplier λ is the difference of the tensions of its strands. They pull along themselves:
    with T the tension at rest, a belt that stretches has T ± λ/2 until one strand is slack, and
    then 0 and |λ|.
    """

    name: str
    #: first, second: angles of the pulleys' joints
    first: CoordinateName
    second: CoordinateName
    #: first_radius, second_radius: radii of the pulleys
    first_radius: PositiveLength
    second_radius: PositiveLength
    is_crossed: bool = False  #: whether the pulleys turn against each other
    #: T, N; 0 for a chain. Without it the pulleys' pins carry an unknown force.
    tension: Annotated[Scalar, Meaning(unit="N", sign=NOT_NEGATIVE)] | None = None
    phase: Phase = 0.0
    loss: Loss = 0.0
    friction: Friction = 0.0
    smoothing: Smoothing = 0.001

    word = "belt"
    also_called = ("chain", "timing_belt")

    def terms(self) -> Terms:
        second = _text(self.second_radius)
        return (
            (self.first, _text(self.first_radius)),
            (self.second, second if self.is_crossed else f"(-{second})"),
        )

    def why_unplaced(self) -> str:
        if self.tension is None:
            return (
                "has no tension, so that only the difference of the forces in its strands is known"
            )
        return ""

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        if self.tension is None:
            return []
        # strands touch the first pulley at r₁ m with m = c u ± h w, where u points to the second
        # pulley and w = e × u, and leave it along s = h u ∓ c w; the lower one pulls forward
        a, b = places.axis(self.first), places.axis(self.second)
        u, distance = _between(a, b)
        w = cross(a.direction, u)
        read = places.read
        first, second = read.scalar(self.first_radius), read.scalar(self.second_radius)
        c = (first + second if self.is_crossed else first - second) / distance
        h = ca.sqrt(1 - c**2)
        tight = read.scalar(self.tension) + multiplier / 2
        forward = ca.fmax(tight, ca.fmax(multiplier, 0))
        found = []
        for side, tension in ((-1, forward), (1, forward - multiplier)):
            touching = a.point + first * (c * u + side * h * w)
            found += _pair(a.body, b.body, touching, tension * (h * u - side * c * w))
        return found

    def pitch_circles(self) -> Terms:
        return ((self.first, _text(self.first_radius)), (self.second, _text(self.second_radius)))

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        yield from AbstractTransmission.faults(self, known)
        first, second = (_number(r, known) for r in (self.first_radius, self.second_radius))
        if first is None or second is None:
            return
        distance = _axis_distance(self.first, self.second, known)
        least = first + second if self.is_crossed else abs(first - second)
        if distance and distance < least:
            yield Finding(
                ("rows", self.name),
                f"row '{self.name}' has a {'crossed ' if self.is_crossed else ''}belt on pulleys "
                f"of radii {first:g} m and {second:g} m, whose axes are {distance:g} m apart",
                f"place the axes more than {least:g} m apart, or correct the radii",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Planetary(AbstractTransmission):
    """A planetary set, planets without inertia: r_s θ_s + r_r θ_r − (r_s + r_r) θ_c = phase."""

    name: str
    #: sun, ring, carrier: angles against the housing
    sun: CoordinateName
    ring: CoordinateName
    carrier: CoordinateName
    #: sun_radius, ring_radius: radii of the pitch circles, that of the ring the larger one
    sun_radius: PositiveLength
    ring_radius: PositiveLength
    phase: Phase = 0.0
    loss: Loss = 0.0
    friction: Friction = 0.0
    smoothing: Smoothing = 0.001

    word = "planetary"
    also_called = ("epicyclic", "planetary_gear")

    def terms(self) -> Terms:
        sun, ring = _text(self.sun_radius), _text(self.ring_radius)
        return ((self.sun, sun), (self.ring, ring), (self.carrier, f"(-({sun} + {ring}))"))

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        # several planets, evenly spaced: couples without a force on the axis
        return _couples(self.terms(), places, multiplier)

    def rolling(self) -> Terms:
        sun = _text(self.sun_radius)
        return ((self.sun, sun), (self.carrier, f"(-{sun})"))

    def pitch_circles(self) -> Terms:
        return ((self.sun, _text(self.sun_radius)), (self.ring, _text(self.ring_radius)))

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        yield from AbstractTransmission.faults(self, known)
        sun, ring = _number(self.sun_radius, known), _number(self.ring_radius, known)
        if sun is not None and ring is not None and sun >= ring:
            yield Finding(
                ("rows", self.name),
                f"row '{self.name}' has a sun of radius {sun:g} m in a ring of radius {ring:g} m",
                "give the ring the larger radius: planets run between them",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Differential(AbstractTransmission):
    """A differential: left + right − 2 drive/ratio = phase, rad.

    Pinions evenly spaced in its cage push with couples alone. With ratio 1 the drive is the cage.
    """

    name: str
    #: drive, left, right: angles against the housing
    drive: CoordinateName
    left: CoordinateName
    right: CoordinateName
    #: number of turns of the drive for one of the cage, the mean of both sides
    ratio: Annotated[Scalar, Meaning(unit="1", sign=POSITIVE)] = 1.0
    phase: Annotated[Scalar, Meaning(unit="rad")] = 0.0
    #: loss, friction: torques between the sides, viscous and dry, against their difference of rates
    loss: Annotated[Scalar, Meaning(unit="N*m*s/rad", sign=NOT_NEGATIVE)] = 0.0
    friction: Annotated[Scalar, Meaning(unit="N*m", sign=NOT_NEGATIVE)] = 0.0
    #: difference at which the dry one has reached tanh 1 = 76 % of its size
    smoothing: Annotated[Scalar, Meaning(unit="rad/s", sign=POSITIVE)] = 0.01

    word = "differential"
    unit: ClassVar[str] = "rad"  # type: ignore[misc]

    def terms(self) -> Terms:
        return ((self.left, "1"), (self.right, "1"), (self.drive, f"(-2/{_text(self.ratio)})"))

    def why_unplaced(self) -> str:
        if self.ratio == 1.0:
            return ""
        return (
            "has a ratio, and does not say where the teeth between its drive and its cage are; "
            "make the cage a body of its own with ratio = 1, driven by a gear"
        )

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        return [] if self.why_unplaced() else _couples(self.terms(), places, multiplier)

    def rolling(self) -> Terms:
        return ((self.left, "1"), (self.right, "(-1)"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cam(AbstractRow):
    """A cam and its follower: s = lift(θ), with s a displacement or an angle of the follower.

    The cam is the curve on which the center P of the follower's roller moves, so that the force
    between them acts along its normal there. With the axis a of the cam, and the velocities v_c
    of P on the cam for θ̇ = 1 and v_f on the follower for ṡ = 1, it is λ f,

        (3)  f = (v_c × a + lift′ a × v_f)/(a · (v_f × v_c)),     f · v_f = 1,   f · v_c = lift′

    which does the work λ (ṡ − lift′ θ̇). Its angle to v_f is the pressure angle, cos α =
    1/(|f| |v_f|); of a follower that slides through the axis tan α = lift′/(distance of P).
    """

    name: str
    cam: CoordinateName  #: angle of the cam's joint
    #: displacement or angle of the follower's joint, on the same body as the cam's
    follower: CoordinateName
    #: s by the cam's angle, an expression such as ``h*(1 - cos(cam.angle))/2``
    lift: Annotated[str, Meaning(scope=("coordinates",))]
    roller: Point = (0.0, 0.0, 0.0)  #: center of the roller in the follower's frame, m
    #: unit of the follower's coordinate, ``m`` or ``rad``
    unit: Annotated[str, Meaning(choices=("m", "rad"))] = "m"

    word = "cam"
    is_holonomic = True

    @property
    def expression(self) -> str:  # type: ignore[override]
        """The row as an expression."""
        return f"{self.follower} - ({self.lift})"

    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        return iter(())

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        path = ("rows", self.name)
        for field, name, wanted in (
            ("cam", self.cam, "rad"),
            ("follower", self.follower, self.unit),
        ):
            given = known.coordinate_units.get(name, wanted)
            if given != wanted:
                yield Finding(
                    (*path, field),
                    f"'{name}' is in {given}, where row '{self.name}' expects {wanted}",
                    "give the unit of the follower's coordinate, unit = 'rad' of one that swings"
                    if field == "follower"
                    else "name the angle of a joint",
                )
        try:
            used = names_of(self.lift) & set(known.coordinates)
        except (ExpressionError, TypeError):
            return  # said with the field
        if used != {self.cam}:
            others = ", ".join(f"'{name}'" for name in sorted(used - {self.cam}))
            yield Finding(
                (*path, "lift"),
                f"the lift of row '{self.name}' depends on {others or 'no coordinate'}, and not on "
                f"'{self.cam}' alone",
                f"write it by '{self.cam}' and parameters",
            )

    def why_unplaced(self) -> str:
        return ""

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        cam, follower = places.axis(self.cam), places.axis(self.follower)
        R, p = places.frame(follower.body)
        center = p + ca.mtimes(R, places.read.vector(self.roller))
        on_cam = cross(cam.direction, center - cam.point)
        on_follower = follower.direction
        if self.unit == "rad":
            on_follower = cross(follower.direction, center - follower.point)
        lift, angle = places.read.scalar(self.lift), places.read.scalar(self.cam)
        across = cross(on_cam, cam.direction)
        force = across + ca.jacobian(lift, angle) * cross(cam.direction, on_follower)
        force = force / ca.dot(cam.direction, cross(on_follower, on_cam))
        return _pair(follower.body, cam.body, center, multiplier * force)


def _pair(first: str, second: str, point: Traced, force: Traced) -> list[RowWrench]:
    """A force on the first body and its opposite on the second."""
    nothing = vector([0, 0, 0])
    return [
        RowWrench(first, point, force, nothing),
        RowWrench(second, point, -force, nothing),
    ]


def _couples(terms: Terms, places: Places, multiplier: Traced) -> list[RowWrench]:
    """A couple about the axis of each angle, with its factor."""
    nothing = vector([0, 0, 0])
    found = []
    for name, factor in terms:
        axis = places.axis(name)
        moment = multiplier * places.read.scalar(factor)
        found.append(RowWrench(axis.body, axis.point, nothing, axis.direction * moment))
    return found


def _between(first: JointAxis, second: JointAxis) -> tuple[Traced, Traced]:
    """Unit vector from one of two parallel axes to the other, and their distance."""
    between = second.point - first.point
    across = between - first.direction * ca.dot(first.direction, between)
    distance = ca.norm_2(across)
    return across / distance, distance


def _axis_distance(first: str, second: str, known: Vocabulary, carrier: str = "") -> float | None:
    """Distance of the parallel axes of two joints on one body, or of an arm and a joint on it."""
    joints = {name: j for j in known.topology.tree for name in j.coordinate_names()}
    if not {first, second} <= set(joints) or (carrier and carrier not in joints):
        return None
    a, b = joints[carrier or first], joints[second]
    parent, frame = (a.child, a.child_frame) if carrier else (a.parent, a.parent_frame)
    axis = a.type.rotation_axis()
    if b.parent != parent or axis is None or b.type.rotation_axis() is None:
        return None
    read = NumberReader(known.finite_parameters)
    try:
        between = read.vector(b.parent_frame.position) - read.vector(frame.position)
        turn = rotation_from_angles(read.vector(frame.angles), frame.sequence)
        along = np.array(ca.evalf(ca.SX(turn))) @ read.direction(axis)
    except (ExpressionError, KeyError):
        return None
    distance = float(np.linalg.norm(between - along * (along @ between)))
    return distance if distance == distance else None


def contradictions(rows: tuple[AbstractRow, ...], known: Vocabulary) -> Iterator[Finding]:
    """Findings about transmissions that lock each other: no joint of them can move."""
    coupled: list[tuple[list[str], dict[str, dict[str, float]]]] = []
    for row in rows:
        terms = row.terms() if isinstance(row, AbstractTransmission) else ()
        values = {name: _number(factor, known) for name, factor in terms}
        factors = {name: x for name, x in values.items() if x}
        if len(factors) < max(len(terms), 2):
            continue
        # what the joints tie together, the new row and all that share a joint with it
        tied = [group for group in coupled if any(set(factors) & set(f) for f in group[1].values())]
        names = [name for group in tied for name in group[0]]
        found = {name: f for group in tied for name, f in group[1].items()} | {row.name: factors}
        joints = sorted({joint for f in found.values() for joint in f})
        matrix = np.array([[f.get(joint, 0.0) for joint in joints] for f in found.values()])
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        if np.linalg.matrix_rank(matrix, FITTING) < len(joints):
            coupled = [group for group in coupled if group not in tied]
            coupled.append(([*names, row.name], found))
        elif len(joints) == 2:
            ratios = [f[joints[0]] / f[joints[1]] for f in found.values()]
            yield Finding(
                ("rows", row.name),
                f"rows '{names[0]}' and '{row.name}' couple the same two joints with "
                f"different ratios, {ratios[0]:.6g} and {ratios[-1]:.6g}, so neither can turn",
                "correct the radii, or leave one of them out",
            )
        else:
            others = ", ".join(f"'{name}'" for name in names)
            yield Finding(
                ("rows", row.name),
                f"row '{row.name}' locks what rows {others} couple: no joint of them can turn",
                "correct the radii, or leave one of them out",
            )


def _text(scalar: Scalar) -> str:
    """A scalar as a factor in an expression."""
    return f"({scalar})" if isinstance(scalar, str) else repr(float(scalar))


def _number(scalar: Scalar, known: Vocabulary) -> float | None:
    """The nominal value of a scalar, if it has one."""
    try:
        value = nominal(scalar, known.finite_parameters)
    except (ExpressionError, KeyError):
        return None
    return value if value == value else None

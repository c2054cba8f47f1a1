"""Joint types, plain and composite: pose, motion subspace and closure of each.

**Joint types: pose, motion subspace and closure of each; everything else follows from them.**

A joint connects a frame F on the parent to a frame M on the child. To add a joint type, here or in
a module of your own, write a frozen data class below `AbstractJointType`; nothing else is touched:

1. `word`, by which model files and texts know it; its fields are the keys of its table, and their
   types say units and signs (`quantities.py`);
2. `coordinates`, `speeds`: name, unit, usual range, symbol and meaning of each;
3. `rest`: the coordinates at which F and M coincide;
4. `pose(q, read)`: R_FM and p_FM, the pose of M in F; `read` gives the type's fields their values,
   as in ``read.scalar(self.lead)`` or ``read.direction(self.axis)``;
5. `motion(read)`: H (6×k), the twist of M relative to F, in M axes, angular part first: V_FM = H v;
   all types use body-fixed speeds, for which H is constant (so it spans a Lie algebra, from which
   the Hamel terms follow);
6. `kinematic_map(q)`: N with q̇ = N v; q̇ = v unless it says otherwise;
7. `closure(R, p, read)`: the rows that vanish when a pose R, p of M in F is possible for this
   joint; used when the joint closes a loop;
8. `quaternion`: where its unit quaternion starts among its coordinates, if it has one.

Everything below "fallbacks" in the base class has a general answer, which a type may replace.
``noslip.check_member(MyJoint(...))`` finds what does not fit together.

**Joints that are made of several: bodies and plain joints take their place in a model.**

A universal joint is two hinges on a cross. Its twists do not form one subspace, in whatever axes,
as those of all plain joint types do, so it is no joint type of its own to any later stage.

To add one: a frozen data class below `AbstractCompositeJoint` with `parts`.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn

import casadi as ca
import numpy as np

from noslip.algebra import (
    EYE3,
    Traced,
    cross,
    quaternion_rate_map,
    rotation_about,
    rotation_from_quaternion,
    skew,
    turn_vector,
    unit,
    vector,
)
from noslip.base import Array, Member
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD, Body, Placement
from noslip.model.findings import Finding, Path
from noslip.model.quantities import (
    NOT_NEGATIVE,
    BodyName,
    Direction,
    Meaning,
    NumberReader,
    Quantity,
    Reads,
    TracedNumbers,
    Vector3,
    angle,
)

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary
    from noslip.model.model import Model


_X, _Y, _Z = vector([1, 0, 0]), vector([0, 1, 0]), vector([0, 0, 1])
_ZERO3 = vector([0, 0, 0])
#: Rounding of poses and their rates, which are about 1.
_CONTRACT = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Angles:
    """Names for the orientation of a spherical or free joint, for start values and columns.

    The orientation is R = R₁(a₁) R₂(a₂) R₃(a₃) about the axes of `sequence`; a name ``yaw`` also
    gives the rate ``yaw_rate``. The state itself is a quaternion and has no singularity; equations
    are printed in the angles.
    """

    sequence: str  #: axes of the turns, such as ``zyx``
    names: tuple[str, str, str]  #: names of the angles, in that order
    #: symbols in equations, plain or as LaTeX; ψ, θ, φ by default
    symbols: tuple[str, str, str] | None = None


class AbstractJointType(Member, abc.ABC, family="joint type"):
    """Base class of joint types; see the list at the top of this file."""

    __slots__ = ()

    coordinates: ClassVar[tuple[Quantity, ...]]
    speeds: ClassVar[tuple[Quantity, ...]]
    rest: ClassVar[tuple[float, ...]]
    quaternion: ClassVar[int | None] = None

    @abc.abstractmethod
    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        """R_FM (3×3) and p_FM (3) at the coordinates q."""

    @abc.abstractmethod
    def motion(self, read: Reads) -> ca.SX:
        """H (6×k): twist of M relative to F in M axes = H v."""

    @abc.abstractmethod
    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        """Rows (name, unit, expression) that vanish when the joint closes a loop."""

    # fallbacks

    #: Whether it moves in the x-y plane of F: coordinates x, y and angle, speeds vx, vy and rate.
    is_planar: ClassVar[bool] = False
    #: Whether it leaves every motion: position x, y, z, a quaternion, and speeds ω and v in M axes.
    is_free: ClassVar[bool] = False
    #: What [CameronBook1993] calls it as a nonholonomic joint by itself; empty for none.
    hamel_word: ClassVar[str] = ""

    def kinematic_map(self, q: Traced) -> ca.SX:
        """N (len(q)×k): q̇ = N v."""
        return ca.SX.eye(len(self.speeds))

    def measured(self, R: Traced, p: Traced, read: Reads) -> ca.SX | None:
        """Coordinates of a pose R, p of M in F; None if the joint does not define them.

        For springs in joints that close a loop, which have no coordinates of their own. Angles
        are within half a turn of rest.
        """
        return None

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Motion, map of rates and closure belong to the pose, at a place in no way special."""
        return _broken_clauses(self, TracedNumbers(values))

    def named_angles(self) -> Angles | None:
        """Names for its orientation, if it was given some."""
        return None

    def by_angles(self) -> AbstractJointType | None:
        """The joint with its named angles as coordinates, to be printed; None to print its own."""
        return None

    def rotation_axis(self) -> Vector3 | None:
        """The axis in the joint frame, if it turns about that axis and does nothing else."""
        return None

    def text(self) -> str:
        """Readable description: its word and its fields."""
        fields = [getattr(self, name) for name in getattr(self, "__dataclass_fields__", {})]
        shown = [_shown(value) for value in fields if isinstance(value, float | str | tuple)]
        return " ".join([self.word, *shown])

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        """Findings about its fields together; `path` is that of the joint."""
        return iter(())

    def hamel_terms(self, v: ca.SX, p: ca.SX, read: Reads) -> ca.SX:
        """(k,) how momenta p along the speeds v turn with their axes: h·δ = p·H⁺[Hδ, Hv].

        The bracket is that of twists, [A, B] = (ω_A × ω_B, ω_A × v_B + v_A × ω_B). It vanishes for
        one speed; for three that turn about a point it is v × p.
        """
        k = len(self.speeds)
        if k < 2:
            return ca.SX.zeros(k)
        H = self.motion(read)
        inverse = ca.solve(ca.mtimes(H.T, H), H.T)
        terms = [ca.SX(0)] * k
        for i in range(k):
            for j in range(k):
                parts = ca.mtimes(inverse, _bracket(H[:, i], H[:, j]))
                for m in range(k):
                    terms[i] += parts[m] * v[j] * p[m]
        return ca.vertcat(*terms)

    def coupling(self, read: Reads) -> ca.SX | None:
        """(6, 6) what a twist of M against F may not have, 1 − H (HᵀH)⁻¹Hᵀ; None for nothing."""
        H = self.motion(read)
        if H.shape[1] == 6:
            return None
        if H.shape[1] == 0:
            return ca.SX.eye(6)
        return ca.SX.eye(6) - ca.mtimes(H, ca.solve(ca.mtimes(H.T, H), H.T))

    def pin(self, values: Mapping[str, float]) -> Array | None:
        """The unit axis of a pin to draw in the joint frame: of a joint that turns about a line."""
        H = motion_numbers(self, values)
        if H.shape[1] != 1 or not H[:3].any():
            return None
        axis: Array = H[:3, 0] / np.linalg.norm(H[:3, 0])
        return axis

    def is_ball(self, values: Mapping[str, float]) -> bool:
        """Whether to draw a ball: a joint that turns about a point in all directions."""
        H = motion_numbers(self, values)
        return H.shape[1] == 3 and not H[3:].any() and bool(np.linalg.matrix_rank(H[:3]) == 3)


def _broken_clauses(joint: AbstractJointType, read: Reads) -> Iterator[str]:
    """What a joint type breaks of the following, for any speeds x.

    (1) RᵀR = 1,   RᵀṘ = ω×,   Rᵀṗ = v,   [ω; v] = H x   along  q̇ = N x
    (2) R = 1, p = 0 at rest
    (3) g(R, p) = 0 in 6 − k rows with the slopes G by a twist: G H = 0, [G; Hᵀ] regular
    """
    n, k = len(joint.coordinates), len(joint.speeds)
    if len(joint.rest) != n:
        yield f"{len(joint.rest)} values of rest for {n} coordinates"
        return
    q, x, twist = ca.SX.sym("q", n), ca.SX.sym("x", k), ca.SX.sym("d", 6)
    R, p = (ca.SX(part) for part in joint.pose(q, read))
    H, N = ca.SX(joint.motion(read)), ca.SX(joint.kinematic_map(q))
    for name, part, shape in (
        ("R", R, (3, 3)),
        ("p", p, (3, 1)),
        ("H", H, (6, k)),
        ("N", N, (n, k)),
    ):
        if part.shape != shape:
            yield f"{name} has the shape {part.shape}, expected {shape}"
            return
    rates = ca.mtimes(N, x)
    turn = ca.mtimes(R.T, ca.jtimes(R, q, rates))
    moved = ca.vertcat(turn[2, 1], turn[0, 2], turn[1, 0], ca.mtimes(R.T, ca.jtimes(p, q, rates)))
    # a small twist of M on top of the pose
    turned = ca.mtimes(R, EYE3 + skew(twist[:3]))
    rows: list[ca.SX] | None = None
    with contextlib.suppress(NotImplementedError):  # a joint that closes no loops may say so
        rows = [ca.SX(g) for _, _, g in joint.closure(turned, p + ca.mtimes(R, twist[3:]), read)]
    g = ca.vertcat(ca.SX(0, 1), *(rows or ()))
    found = ca.Function(
        "contract",
        [q, x, twist],
        [
            ca.mtimes(R.T, R) - EYE3,
            turn + turn.T,
            moved - ca.mtimes(H, x),
            g,
            ca.jacobian(g, twist),
            H,
        ],
    )
    rng = np.random.default_rng(1)
    place = rng.normal(size=n)
    if joint.quaternion is not None:
        part_of = slice(joint.quaternion, joint.quaternion + 4)
        place[part_of] /= np.linalg.norm(place[part_of])
    parts = found(place, rng.normal(size=k), np.zeros(6))
    square, skewed, motion, closed, G, H_now = (np.array(part) for part in parts)
    if not all(np.all(np.isfinite(part)) for part in (square, motion, closed, G)):
        yield "pose, motion or closure is not finite"
        return
    said = (
        (square, "the matrix R of its pose is no rotation"),
        (skewed, "the rate of R along q̇ = N v is not that of a rotation"),
        (motion, "the rate of its pose along q̇ = N v is not the twist H v"),
        (closed, "rows of its closure do not vanish for a pose of the joint"),
        (G @ H_now, "rows of its closure hinder the motion H v"),
    )
    yield from (text for part, text in said if np.max(np.abs(part), initial=0.0) > _CONTRACT)
    if rows is None:
        pass
    elif len(rows) != 6 - k:
        yield f"its closure has {len(rows)} rows for {k} speeds, expected {6 - k}"
    elif np.linalg.matrix_rank(np.vstack([G, H_now.T]), tol=_CONTRACT) < 6:
        yield "its closure leaves a motion that H does not have, or H repeats one"
    turned_by, at = (np.array(ca.evalf(ca.SX(x))) for x in joint.pose(ca.DM(joint.rest), read))
    if max(float(np.max(np.abs(turned_by - np.eye(3)))), float(np.max(np.abs(at)))) > _CONTRACT:
        yield "its frames do not coincide at rest"


def motion_numbers(joint_type: AbstractJointType, values: Mapping[str, float]) -> Array:
    """(6, k) H at parameter values."""
    return _motion_numbers(joint_type, tuple(values.items()))


@lru_cache(maxsize=256)
def _motion_numbers(joint_type: AbstractJointType, values: tuple[tuple[str, float], ...]) -> Array:
    H = joint_type.motion(NumberReader(dict(values)))
    return np.array(ca.evalf(ca.densify(ca.SX(H)))).reshape(6, -1)


def _bracket(a: ca.SX, b: ca.SX) -> ca.SX:
    """[A, B] of twists."""
    turning = cross(a[:3], b[:3])
    return ca.vertcat(turning, cross(a[:3], b[3:]) + cross(a[3:], b[:3]))


def _shown(value: float | str | tuple[Scalar, ...]) -> str:
    if isinstance(value, tuple):
        return "({})".format(", ".join(_shown(entry) for entry in value))
    return value if isinstance(value, str) else f"{value:g}"


def _turn_rows(R: Traced) -> list[tuple[str, str, Traced]]:
    turn = ca.vertsplit(turn_vector(R))
    return [(f"turn_{k}", "rad", e) for k, e in zip("xyz", turn, strict=True)]


def _tilt_rows(R: Traced, axis: Traced, across: dict[str, Traced]) -> list[tuple[str, str, Traced]]:
    """Rows that keep the joint's axis on itself, along the named directions across it.

    With θ the angle between the axis and R · axis they are parts of 2 sin(θ/2), which vanishes for
    θ = 0 only; those of sin θ would also let the joint be closed with its axis reversed.
    """
    turned = ca.mtimes(R, axis)
    half = ca.sqrt((1 + ca.dot(axis, turned)) / 2)  # cos(θ/2)
    return [
        (f"tilt_{name}", "rad", ca.dot(direction, turned) / half)
        for name, direction in across.items()
    ]


def _shift_rows(p: Traced) -> list[tuple[str, str, Traced]]:
    return [(f"shift_{k}", "m", e) for k, e in zip("xyz", ca.vertsplit(p), strict=True)]


def _across(axis: Traced) -> tuple[ca.SX, ca.SX]:
    """Two unit vectors across a unit axis, which may depend on parameters."""
    helper = ca.if_else(ca.fabs(axis[0]) < 0.9, _X, _Y)
    first = unit(cross(axis, helper))
    return first, cross(axis, first)


def _turn_about(R: Traced, axis: Traced) -> ca.SX:
    """The angle of a rotation about an axis, within half a turn."""
    first, second = _across(axis)
    turned = ca.mtimes(R, first)
    return ca.atan2(ca.dot(second, turned), ca.dot(first, turned))


def _rate(symbol: str) -> Quantity:
    return Quantity(name="rate", unit="rad/s", description="rate of the angle", symbol=symbol)


_QUATERNION = tuple(
    Quantity(name=f"q{k}", unit="1", description=f"quaternion, {part} part", symbol=f"q_{k}")
    for k, part in zip("wxyz", ("scalar", "x", "y", "z"), strict=True)
)
_TURNING = tuple(
    Quantity(
        name=f"w{k}", unit="rad/s", description=f"turning about its own {k} axis", symbol=f"ω_{k}"
    )
    for k in "xyz"
)
_MOVING = tuple(
    Quantity(name=f"v{k}", unit="m/s", description=f"speed along its own {k} axis", symbol=f"v_{k}")
    for k in "xyz"
)
_PLACE = tuple(
    Quantity(name=k, unit="m", description=f"position along {k}", symbol=k) for k in "xyz"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(AbstractJointType):
    """No motion: the child is part of the parent."""

    word = "fixed"
    also_called = ("weld", "rigid")
    coordinates = ()
    speeds = ()
    rest = ()

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return EYE3, _ZERO3

    def motion(self, read: Reads) -> ca.SX:
        return ca.SX(6, 0)

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        return _shift_rows(p) + _turn_rows(R)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revolute(AbstractJointType):
    """Rotation about `axis` (in the joint frame): one coordinate ``angle``, one speed ``rate``."""

    axis: Direction

    word = "revolute"
    also_called = ("hinge", "pin", "rotary")
    coordinates = (angle(symbol="θ"),)
    speeds = (_rate("θ̇"),)
    rest = (0.0,)

    def rotation_axis(self) -> Vector3 | None:
        return self.axis

    def coupling(self, read: Reads) -> ca.SX | None:
        # [SahaAngeles1989, eq. (20)]: e × (ω_j − ω_i) = 0; eq. (21): its points move together
        return ca.diagcat(skew(read.direction(self.axis)), EYE3)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_about(read.direction(self.axis), q[0]), _ZERO3

    def motion(self, read: Reads) -> ca.SX:
        return ca.vertcat(read.direction(self.axis), _ZERO3)

    def measured(self, R: Traced, p: Traced, read: Reads) -> ca.SX | None:
        return _turn_about(R, read.direction(self.axis))

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        axis = read.direction(self.axis)
        first, second = _across(axis)
        return _shift_rows(p) + _tilt_rows(R, axis, {"1": first, "2": second})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prismatic(AbstractJointType):
    """Translation along `axis` (in the joint frame): coordinate ``position``, speed ``speed``."""

    axis: Direction

    word = "prismatic"
    also_called = ("slider", "sliding")
    coordinates = (Quantity(name="position", unit="m", description="displacement", symbol="s"),)
    speeds = (
        Quantity(name="speed", unit="m/s", description="rate of the displacement", symbol="ṡ"),
    )
    rest = (0.0,)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return EYE3, read.direction(self.axis) * q[0]

    def motion(self, read: Reads) -> ca.SX:
        return ca.vertcat(_ZERO3, read.direction(self.axis))

    def measured(self, R: Traced, p: Traced, read: Reads) -> ca.SX | None:
        return ca.dot(read.direction(self.axis), p)

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        first, second = _across(read.direction(self.axis))
        shifts = [("shift_1", "m", ca.dot(first, p)), ("shift_2", "m", ca.dot(second, p))]
        return shifts + _turn_rows(R)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screw(AbstractJointType):
    """Rotation about `axis` and motion along it by `lead` for each radian: ``angle``, ``rate``.

    Where it closes a loop it turns by less than half a turn from its rest position.
    """

    axis: Direction
    lead: Annotated[Scalar, Meaning(unit="m")]

    word = "screw"
    also_called = ("helical",)
    coordinates = (angle(symbol="θ"),)
    speeds = (_rate("θ̇"),)
    rest = (0.0,)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        axis = read.direction(self.axis)
        return rotation_about(axis, q[0]), axis * (read.scalar(self.lead) * q[0])

    def motion(self, read: Reads) -> ca.SX:
        axis = read.direction(self.axis)
        return ca.vertcat(axis, axis * read.scalar(self.lead))

    def measured(self, R: Traced, p: Traced, read: Reads) -> ca.SX | None:
        return _turn_about(R, read.direction(self.axis))

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        axis = read.direction(self.axis)
        first, second = _across(axis)
        turn = _turn_about(R, axis)
        return [
            ("shift_1", "m", ca.dot(first, p)),
            ("shift_2", "m", ca.dot(second, p)),
            ("lead", "m", ca.dot(axis, p) - read.scalar(self.lead) * turn),
            *_tilt_rows(R, axis, {"1": first, "2": second}),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation(AbstractJointType):
    """Any motion without rotation: coordinates ``x y z`` in F, speeds ``vx vy vz``."""

    word = "translation"
    also_called = ("cartesian", "gantry")
    coordinates = _PLACE
    speeds = _MOVING
    rest = (0.0, 0.0, 0.0)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return EYE3, q[0:3]

    def motion(self, read: Reads) -> ca.SX:
        return ca.vertcat(ca.SX.zeros(3, 3), EYE3)

    def measured(self, R: Traced, p: Traced, read: Reads) -> ca.SX | None:
        return ca.SX(p)

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        return _turn_rows(R)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planar(AbstractJointType):
    """Motion in the x-y plane of the joint frame.

    Coordinates ``x``, ``y`` (in F) and ``angle`` about z; speeds ``vx``, ``vy`` along the axes of M
    (the child's own forward and sideways speed) and ``rate``.
    """

    word = "planar"
    coordinates = (*_PLACE[:2], angle(symbol="φ"))
    speeds = (*_MOVING[:2], _rate("φ̇"))
    rest = (0.0, 0.0, 0.0)
    is_planar = True

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_about(_Z, q[2]), vector([q[0], q[1], 0])

    def motion(self, read: Reads) -> ca.SX:
        return ca.horzcat(ca.vertcat(_ZERO3, _X), ca.vertcat(_ZERO3, _Y), ca.vertcat(_Z, _ZERO3))

    def kinematic_map(self, q: Traced) -> ca.SX:
        # the speeds are in M axes, the coordinates x, y in F: [ẋ; ẏ] = R [vx; vy]
        return rotation_about(_Z, q[2])

    def measured(self, R: Traced, p: Traced, read: Reads) -> ca.SX | None:
        return ca.vertcat(p[0], p[1], _turn_about(R, _Z))

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        return [("shift_z", "m", p[2]), *_tilt_rows(R, _Z, {"x": _X, "y": _Y})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spherical(AbstractJointType):
    """Rotation about a point: unit quaternion ``qw qx qy qz`` (R_FM), speeds ``wx wy wz`` in M."""

    angles: Angles | None = None

    word = "spherical"
    also_called = ("ball",)
    hamel_word = "roll-pitch-yaw"
    coordinates = _QUATERNION
    speeds = _TURNING
    rest = (1.0, 0.0, 0.0, 0.0)
    quaternion = 0

    def named_angles(self) -> Angles | None:
        return self.angles

    def by_angles(self) -> AbstractJointType | None:
        from noslip.model.model import SphericalByAngles

        return None if self.angles is None else SphericalByAngles(angles=self.angles)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_from_quaternion(q), _ZERO3

    def motion(self, read: Reads) -> ca.SX:
        return ca.vertcat(EYE3, ca.SX.zeros(3, 3))

    def kinematic_map(self, q: Traced) -> ca.SX:
        return quaternion_rate_map(q)

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        return _shift_rows(p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Free(AbstractJointType):
    """Any motion: position ``x y z`` in F and a quaternion ``qw qx qy qz``.

    Speeds ``wx wy wz`` and ``vx vy vz`` in M axes; the linear ones are those of M's origin.
    """

    angles: Angles | None = None

    word = "free"
    also_called = ("floating",)
    coordinates = _PLACE + _QUATERNION
    speeds = _TURNING + _MOVING
    rest = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    quaternion = 3
    is_free = True

    def named_angles(self) -> Angles | None:
        return self.angles

    def by_angles(self) -> AbstractJointType | None:
        from noslip.model.model import FreeByAngles

        return None if self.angles is None else FreeByAngles(angles=self.angles)

    def pose(self, q: Traced, read: Reads) -> tuple[ca.SX, ca.SX]:
        return rotation_from_quaternion(q[3:7]), q[0:3]

    def motion(self, read: Reads) -> ca.SX:
        return ca.SX.eye(6)

    def kinematic_map(self, q: Traced) -> ca.SX:
        R = rotation_from_quaternion(q[3:7])
        E = quaternion_rate_map(q[3:7])
        return ca.vertcat(
            ca.horzcat(ca.SX(3, 3), R),
            ca.horzcat(E, ca.SX(4, 3)),
        )

    def closure(self, R: Traced, p: Traced, read: Reads) -> list[tuple[str, str, Traced]]:
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    r"""A joint between two bodies.

    The first joint that reaches a body carries it in the tree; a joint between two bodies that are
    already in the tree closes a loop, and has rows instead of coordinates.
    """

    name: str  #: unique among joints; coordinates and speeds are called ``name.angle`` and so on
    #: parent, child: names of bodies; the parent may be ``world``
    parent: BodyName
    child: BodyName
    type: AbstractJointType  #: type of joint: the motion that it allows
    #: parent_frame, child_frame: the joint's frames F on the parent and M on the child
    parent_frame: Placement = Placement()
    child_frame: Placement = Placement()
    #: coordinates that are prescribed as expressions of time ``t``, such as ``{"angle":
    #: "rate*t"}``; the force that holds each is then an output. The orientation of a spherical or
    #: free joint is prescribed by all three of its named angles.
    motion: Annotated[dict[str, str], Meaning(scope=("t",))] | None = None
    description: str = ""
    #: symbols of its coordinates and speeds in equations, plain or as LaTeX, such as ``{"angle":
    #: "\delta"}``; the rate of such a coordinate has a dot
    symbols: Annotated[dict[str, str], Meaning(is_plain=True)] | None = None
    #: inertia of a motor's rotor as the joint feels it, that of the rotor times its gear ratio
    #: squared, kg·m² or, of a joint that slides, kg; for joints with one speed
    armature: Annotated[Scalar, Meaning(sign=NOT_NEGATIVE)] = 0.0
    #: lowest and highest coordinate, of a joint with one; a run ends where it would leave them, one
    #: with ``contact="coulomb"`` meets stops there
    limits: tuple[Scalar, Scalar] | None = None
    #: part of its speed with which it comes back from these stops, from 0 to 1
    restitution: Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)] = 0.0

    def coordinate_names(self) -> tuple[str, ...]:
        """Full names of the joint's coordinates."""
        return tuple(f"{self.name}.{c.name}" for c in self.type.coordinates)

    def speed_names(self) -> tuple[str, ...]:
        """Full names of the joint's speeds."""
        return tuple(f"{self.name}.{s.name}" for s in self.type.speeds)


def keeps_height(joints: Sequence[Joint], body: str) -> bool:
    """Whether joints keep the height of a body over the ground: a planar one, and turns about z."""
    carrying = {joint.child: joint for joint in reversed(joints)}
    seen = set[str]()
    while body in carrying and body not in seen:
        seen.add(body)
        joint = carrying[body]
        if joint.type.is_planar:
            return bool(joint.parent == WORLD)
        axis = joint.type.rotation_axis()
        is_upright = axis is not None and tuple(axis[:2]) == (0.0, 0.0)
        if not is_upright and joint.type.speeds:
            return False
        body = joint.parent
    return False


class AbstractCompositeJoint(AbstractJointType):
    """Base class of joints that are made of several."""

    __slots__ = ()

    coordinates = ()
    speeds = ()
    rest = ()

    @abc.abstractmethod
    def parts(self, joint: Joint) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
        """Bodies and joints that take the place of a joint of this type."""

    @abc.abstractmethod
    def own_faults(
        self, path: Path, joint: Joint, values: Mapping[str, float]
    ) -> Iterator[Finding]:
        """Findings about the joint as it is written."""

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        return iter(())  # that of its parts, in a model

    def pose(self, q: Traced, read: Reads) -> NoReturn:
        raise self._unbuilt()

    def motion(self, read: Reads) -> NoReturn:
        raise self._unbuilt()

    def closure(self, R: Traced, p: Traced, read: Reads) -> NoReturn:
        raise self._unbuilt()

    def _unbuilt(self) -> TypeError:
        return TypeError(f"a {self.word} joint is replaced by its parts when a model is built")


@dataclass(frozen=True, slots=True, kw_only=True)
class Universal(AbstractCompositeJoint):
    """A universal (Cardan, Hooke) joint: two hinges on a cross, R_FM = R(first) R(second).

    The joint ``NAME`` is the body ``NAME_cross`` between the hinges ``NAME_1`` on the parent and
    ``NAME_2`` on the child; a prescribed motion and symbols name ``angle_1`` and ``angle_2``.
    """

    first_axis: Direction = (1.0, 0.0, 0.0)  #: first axis of the hinge on the parent, in F
    #: second axis of the hinge on the child, in M; across the first one
    second_axis: Direction = (0.0, 1.0, 0.0)
    #: mass, moment: mass of the cross, centered in the middle, and its moment of inertia about
    #: every axis
    mass: Annotated[Scalar, Meaning(unit="kg", sign=NOT_NEGATIVE)] = 0.0
    moment: Annotated[Scalar, Meaning(unit="kg*m^2", sign=NOT_NEGATIVE)] = 0.0

    word = "universal"
    also_called = ("cardan", "hooke", "u_joint")

    def parts(self, joint: Joint) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
        cross = f"{joint.name}_cross"
        motion, symbols = (
            [_renamed(table, k) for k in (1, 2)] for table in (joint.motion, joint.symbols)
        )
        first = dataclasses.replace(
            joint,
            name=f"{joint.name}_1",
            child=cross,
            type=Revolute(axis=self.first_axis),
            child_frame=type(joint.child_frame)(),
            motion=motion[0],
            symbols=symbols[0],
            armature=0.0,
            limits=None,
            restitution=0.0,
        )
        second = dataclasses.replace(
            joint,
            name=f"{joint.name}_2",
            parent=cross,
            type=Revolute(axis=self.second_axis),
            parent_frame=type(joint.parent_frame)(),
            motion=motion[1],
            symbols=symbols[1],
            armature=0.0,
            limits=None,
            restitution=0.0,
        )
        body = Body(name=cross, mass=self.mass, inertia=(self.moment,) * 3)
        return (body,), (first, second)

    def own_faults(
        self, path: Path, joint: Joint, values: Mapping[str, float]
    ) -> Iterator[Finding]:
        read = NumberReader(values)
        try:
            along = float(read.direction(self.first_axis) @ read.direction(self.second_axis))
        except (KeyError, ValueError):
            along = float("nan")
        if abs(along) > 1e-9:
            yield Finding(
                path,
                f"joint '{joint.name}' is a universal joint whose axes are not at right angles",
                "give axes across each other, such as first_axis = [1, 0, 0] and "
                "second_axis = [0, 1, 0]",
            )
        for table, what in ((joint.motion, "prescribes"), (joint.symbols, "has a symbol for")):
            for name in sorted(set(table or ()) - {"angle_1", "angle_2"}):
                yield Finding(
                    path,
                    f"joint '{joint.name}' {what} '{name}', which a universal joint does not have",
                    "name 'angle_1' or 'angle_2'",
                )


def _renamed(table: dict[str, str] | None, k: int) -> dict[str, str] | None:
    """The entry of one hinge, under the hinge's own name."""
    if table is not None and not isinstance(table, dict):
        return table  # which the checks find
    return {"angle": table[f"angle_{k}"]} if table and f"angle_{k}" in table else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A model without composite joints."""

    model: Model  #: model with their parts
    origins: dict[str, str]  #: name of each part → joint that it is of
    findings: tuple[Finding, ...]  #: findings about composite joints as they are written

    def path(self, path: Path) -> Path:
        """Path at which a part is written."""
        if len(path) > 1 and path[0] in ("bodies", "joints") and path[1] in self.origins:
            return ("joints", self.origins[str(path[1])], *path[2:])
        return path


def expand(model: Model) -> Expansion:
    """The model with the parts of composite joints in their place."""
    values = {p.name: p.value for p in model.parameters if isinstance(p.value, float | int)}
    bodies, joints = list(model.bodies), list[Joint]()
    origins: dict[str, str] = {}
    findings: list[Finding] = []
    for joint in model.joints:
        if not isinstance(joint.type, AbstractCompositeJoint):
            joints.append(joint)
            continue
        own_bodies, own_joints = joint.type.parts(joint)
        findings += joint.type.own_faults(("joints", joint.name), joint, values)
        findings += [
            Finding(
                ("joints", joint.name, key),
                f"joint '{joint.name}' has {key}, but a {joint.type.word} joint has several speeds",
                f"leave {key} out, or write its parts as joints of their own",
            )
            for key, is_given in (
                ("armature", joint.armature != 0.0),
                ("limits", joint.limits is not None),
            )
            if is_given
        ]
        origins |= {body.name: joint.name for body in own_bodies}
        origins |= {part.name: joint.name for part in own_joints}
        bodies += own_bodies
        joints += own_joints
    if not origins:
        return Expansion(model=model, origins={}, findings=())
    plain = dataclasses.replace(model, bodies=tuple(bodies), joints=tuple(joints))
    return Expansion(model=plain, origins=origins, findings=tuple(findings))

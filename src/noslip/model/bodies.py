"""Rigid bodies: mass, inertia, frames placed on them, and shapes to draw.

**Triangles of simple solids: points, and faces counterclockwise seen from outside.**

Points are doubled along sharp edges, so that smooth shading keeps the edges of a box and the rim of
a cylinder and rounds everything else.

**Rigid bodies: mass, inertia, frames placed on them, and shapes to draw.**
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, Member
from noslip.expressions import Scalar
from noslip.model.findings import Finding, Path, owner
from noslip.model.quantities import (
    NOT_NEGATIVE,
    ZERO,
    Meaning,
    NotNegativeLength,
    NumberReader,
    Point,
    PositiveLength,
    Vector3,
    angles_of,
    vector,
)

#: (n, 3) points in m, and (m, 3) faces as places among them.
Triangles = tuple[NDArray[np.float64], NDArray[np.int64]]

#: Edges of the polygon that stands for a circle.
AROUND = 48


def patch(points: NDArray[np.float64]) -> Triangles:
    """A smooth surface given by a grid of points.

    `points`: (m, n, 3); with the rows one above the other, a row runs counterclockwise as seen from
    above. A surface that closes repeats its first row or column.
    """
    m, n, _ = points.shape
    i, j = (x.ravel() for x in np.meshgrid(np.arange(m - 1), np.arange(n - 1), indexing="ij"))
    corners = i * n + j, i * n + j + 1, (i + 1) * n + j + 1, (i + 1) * n + j
    return points.reshape(-1, 3), _quads(*corners)


def ribbons(
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    width: float,
) -> Triangles:
    """Lines of a given width along some rows and columns of a grid of points, a little above it."""
    down, across = (np.gradient(points, axis=k) for k in (0, 1))
    normals = np.cross(across, down)
    normals /= np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), 1e-300)
    lines = [(points[k], normals[k]) for k in rows]
    lines += [(points[:, k], normals[:, k]) for k in columns]
    # a circle about an axis may be a point
    return joined(
        *(_ribbon(line, n, width) for line, n in lines if np.max(np.ptp(line, axis=0)) > width)
    )


def _ribbon(line: NDArray[np.float64], normals: NDArray[np.float64], width: float) -> Triangles:
    side = np.cross(np.gradient(line, axis=0), normals)
    side *= width / 2 / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
    above = line + width / 2 * normals
    return patch(np.stack([above + side, above - side]))


def round_cell(width: float) -> float:
    """A cell 1, 2 or 5 times a power of ten wide, for ten to twenty-five cells."""
    raw = width / 20
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9)))


def joined(*solids: Triangles) -> Triangles:
    """Several surfaces as one, with sharp edges between them."""
    points, faces, count = [], [], 0
    for own, triangles in solids:
        points.append(own)
        faces.append(triangles + count)
        count += len(own)
    return np.concatenate(points), np.concatenate(faces)


def box(size: NDArray[np.float64]) -> Triangles:
    """A box about the origin: six faces of four vertices each."""
    points: list[NDArray[np.float64]] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            across, up = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, across] = side * np.array([-1.0, 1.0, 1.0, -1.0])
            corners[:, up] = [-1.0, -1.0, 1.0, 1.0]
            at = 4 * len(points)
            points.append(corners)
            faces += [[at, at + 1, at + 2], [at, at + 2, at + 3]]
    return np.concatenate(points) * size / 2, np.array(faces)


def cylinder(radius: float, length: float, around: int = AROUND) -> Triangles:
    """A cylinder along z about the origin: side, then the two ends."""
    circle = _circle(around) * radius
    top, bottom = (_raised(circle, side * length / 2) for side in (1, -1))
    k = np.arange(around)
    j = (k + 1) % around
    side_faces = _quads(k + around, j + around, j, k)
    fan = np.column_stack([np.full(around - 2, 0), np.arange(1, around - 1), np.arange(2, around)])
    points = np.concatenate([top, bottom, top, bottom])
    faces = np.concatenate([side_faces, fan + 2 * around, fan[:, ::-1] + 3 * around])
    return points, faces


def cone(radius: float, length: float, around: int = AROUND) -> Triangles:
    """A cone with its base on the plane z = 0 and its tip above: side, then base."""
    base = _raised(_circle(around) * radius, 0.0)
    tips = np.tile([0.0, 0.0, length], (around, 1))
    k = np.arange(around)
    j = (k + 1) % around
    side = np.column_stack([k, j, k + around])
    fan = np.column_stack([np.full(around - 2, 0), np.arange(2, around), np.arange(1, around - 1)])
    return np.concatenate([base, tips, base]), np.concatenate([side, fan + 2 * around])


def sphere(radius: float, around: int = 32) -> Triangles:
    """A sphere about the origin, by longitude and latitude."""
    rows = around // 2
    latitude = np.pi * (np.arange(rows + 1) / rows - 0.5)
    circle = _circle(around)
    points = np.concatenate(
        [_raised(circle * np.cos(a), float(np.sin(a))) for a in latitude], axis=0
    )
    k = np.arange(around)
    j = (k + 1) % around
    faces = [
        _quads(row * around + k, row * around + j, (row + 1) * around + j, (row + 1) * around + k)
        for row in range(rows)
    ]
    return radius * points, np.concatenate(faces)


def ring(radius: float, tube_radius: float, around: int = 2 * AROUND, tube: int = 20) -> Triangles:
    """A torus about z."""
    turn, roll = np.meshgrid(
        2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(tube) / tube, indexing="ij"
    )
    out = radius + tube_radius * np.cos(roll)
    points = np.stack(
        [out * np.cos(turn), out * np.sin(turn), tube_radius * np.sin(roll)], axis=-1
    ).reshape(-1, 3)
    a, b = (x.ravel() for x in np.meshgrid(np.arange(around), np.arange(tube), indexing="ij"))
    a2, b2 = (a + 1) % around, (b + 1) % tube
    return points, _quads(a * tube + b, a2 * tube + b, a2 * tube + b2, a * tube + b2)


def _circle(around: int) -> NDArray[np.float64]:
    angle = 2 * np.pi * np.arange(around) / around
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _raised(circle: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    return np.column_stack([circle, np.full(len(circle), height)])


def _quads(*corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two triangles for each quadrilateral, corners counterclockwise."""
    a, b, c, d = corners
    return np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


#: A moment of inertia, kg m².
Inertia = Annotated[Scalar, Meaning(unit="kg*m^2")]

#: The body that does not move. Joints and planes refer to it by this name.
WORLD = "world"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Placement of a frame on a body."""

    position: Point = ZERO  #: position of the frame's origin, in the body frame, m
    #: three rotations in rad about the axes of `sequence`, each about the axis as already turned
    #: (intrinsic); R = R₁(a₁) R₂(a₂) R₃(a₃)
    angles: Annotated[Vector3, Meaning(unit="rad")] = ZERO
    sequence: str = "xyz"  #: three of the letters x, y, z

    @classmethod
    def at(cls, position: Array, R: Array | None = None) -> Placement:
        """The placement with a position and an orientation (3, 3), as numbers."""
        return cls(position=vector(position), angles=ZERO if R is None else vector(angles_of(R)))


class AbstractShape(Member, abc.ABC, family="shape"):
    """Base class of shapes: what a body looks like, for drawing only.

    To add a shape: a frozen data class with a `word`, the fields of its size, `frame` and `color`,
    and its `triangles`; `noslip.model.bodies` has what they are made of.
    """

    __slots__ = ()

    frame: Placement
    color: str

    @abc.abstractmethod
    def triangles(self, read: NumberReader) -> Triangles:
        """Points (n, 3) in the shape's frame, m, and faces (m, 3), counterclockwise from outside.

        `read` gives the fields their numbers, as in ``read.scalar(self.radius)``.
        """

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Corners are points, and faces have three of them."""
        points, faces = self.triangles(NumberReader(values))
        if points.ndim != 2 or points.shape[1] != 3 or not np.all(np.isfinite(points)):
            yield "its points are not (n, 3) finite numbers"
        elif faces.ndim != 2 or faces.shape[1] != 3:
            yield "its faces are not (m, 3) numbers of points"
        elif len(faces) and not 0 <= int(faces.min()) <= int(faces.max()) < len(points):
            yield "its faces name points that are not there"

    def wheel(self, read: NumberReader) -> tuple[float, float] | None:
        """Radius and width if it may be a wheel about the z axis of its frame."""
        return None

    def faults(self, path: Path) -> Iterator[Finding]:
        """Findings about its fields together; `path` is that of the shape."""
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(AbstractShape):
    """A box with edge lengths `size` (m) along the axes of its frame."""

    size: Annotated[Vector3, Meaning(unit="m", sign=NOT_NEGATIVE)]
    frame: Placement = Placement()
    color: str = "#4c78a8"

    word = "box"
    also_called = ("cube",)

    def triangles(self, read: NumberReader) -> Triangles:
        return box(read.vector(self.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder(AbstractShape):
    """A cylinder of `radius` and `length` (m) along the z axis of its frame."""

    radius: PositiveLength
    length: NotNegativeLength
    frame: Placement = Placement()
    color: str = "#333333"

    word = "cylinder"

    def triangles(self, read: NumberReader) -> Triangles:
        return cylinder(read.scalar(self.radius), read.scalar(self.length))

    def wheel(self, read: NumberReader) -> tuple[float, float] | None:
        return read.scalar(self.radius), read.scalar(self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere(AbstractShape):
    """A sphere of `radius` (m) about the origin of its frame."""

    radius: PositiveLength
    frame: Placement = Placement()
    color: str = "#e45756"

    word = "sphere"
    also_called = ("ball",)

    def triangles(self, read: NumberReader) -> Triangles:
        return sphere(read.scalar(self.radius))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring(AbstractShape):
    """A torus: a ring of `radius` (m) about the z axis of its frame, its tube of `tube_radius`."""

    radius: PositiveLength
    tube_radius: NotNegativeLength
    frame: Placement = Placement()
    color: str = "#333333"

    word = "ring"

    def triangles(self, read: NumberReader) -> Triangles:
        return ring(read.scalar(self.radius), read.scalar(self.tube_radius))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned(AbstractShape):
    """A body turned on a lathe about the z axis of its frame: a bowl, a dish, a hull."""

    #: radii, heights: coordinates of the points of its profile, m, as many of each; seen from
    #: outside it is on the left of the way along them
    radii: Annotated[tuple[Scalar, ...], Meaning(unit="m", sign=NOT_NEGATIVE)]
    heights: Annotated[tuple[Scalar, ...], Meaning(unit="m")]
    #: factors along x, y and z
    stretch: Annotated[Vector3, Meaning(sign=NOT_NEGATIVE)] = (1.0, 1.0, 1.0)
    frame: Placement = Placement()
    color: str = "#72b7b2"

    word = "turned"
    also_called = ("lathe",)

    def faults(self, path: Path) -> Iterator[Finding]:
        if len(self.radii) != len(self.heights) or len(self.radii) < 2:
            yield Finding(
                (*path, "heights"),
                f"{owner(path)} has a shape of {len(self.radii)} radii and "
                f"{len(self.heights)} heights",
                "give a radius and a height for each of two points of its profile or more",
            )

    def triangles(self, read: NumberReader) -> Triangles:
        r, z = read.vector(self.radii), read.vector(self.heights)
        count = min(len(r), len(z))
        around = np.linspace(0.0, 2 * np.pi, AROUND + 1)
        circle = np.stack([np.cos(around), np.sin(around), np.ones_like(around)], axis=-1)
        profile = np.stack([r[:count], r[:count], z[:count]], axis=-1)
        return patch(profile[:, None] * circle[None] * read.vector(self.stretch))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets(AbstractShape):
    """A shape of flat triangles, such as a coarse mesh."""

    #: x, y and z of one corner after the other, m
    points: Annotated[tuple[Scalar, ...], Meaning(unit="m")]
    #: three places of corners, counted from 0, for one triangle after the other; counterclockwise
    #: as seen from outside
    faces: Annotated[tuple[float, ...], Meaning(sign=NOT_NEGATIVE)]
    frame: Placement = Placement()
    color: str = "#9d9d9d"

    word = "facets"
    also_called = ("mesh", "triangles")

    def faults(self, path: Path) -> Iterator[Finding]:
        for name, noun in (("points", "point"), ("faces", "face")):
            count = len(getattr(self, name))
            if count % 3 or not count:
                yield Finding(
                    (*path, name),
                    f"{owner(path)} has a shape with {count} numbers for its {name}",
                    f"give three numbers for each {noun}",
                )
        last = len(self.points) // 3 - 1
        wrong = [corner for corner in self.faces if corner != round(corner) or corner > last]
        if wrong:
            yield Finding(
                (*path, "faces"),
                f"{owner(path)} has a shape with a face at point {wrong[0]:g}, which there is not",
                f"give whole numbers from 0 to {last}, the numbers of its points",
            )

    def triangles(self, read: NumberReader) -> Triangles:
        points = read.vector(self.points)
        corners = np.nan_to_num(read.vector(self.faces)).astype(np.int64)
        points = points[: len(points) // 3 * 3].reshape(-1, 3)
        corners = corners[: len(corners) // 3 * 3]
        corners = corners.reshape(-1, 3)[np.all(corners.reshape(-1, 3) < len(points), axis=1)]
        # corners of their own, so that edges stay sharp
        return points[corners.ravel()], np.arange(corners.size).reshape(-1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A rigid body: mass, mass center, inertia tensor, and shapes to draw.

    Give either `inertia` or, for a body that only ever turns about its z axis, `moment`.
    """

    name: str  #: unique among the bodies; ``world`` is taken
    #: kg; 0 is allowed for a body whose motion is carried by others
    mass: Annotated[Scalar, Meaning(unit="kg")]
    #: inertia tensor about the mass center, along the body axes, kg m²: three diagonal entries
    #: (Ixx, Iyy, Izz), or six (Ixx, Iyy, Izz, Ixy, Ixz, Iyz), the products being the entries of the
    #: tensor itself, Ixy = −∫ x y dm
    inertia: tuple[Inertia, ...] | None = None
    #: moment of inertia about the body's z axis through the mass center, kg m²
    moment: Inertia | None = None
    center_of_mass: Point = ZERO  #: center of mass in the body frame, m
    shapes: tuple[AbstractShape, ...] = ()  #: shapes that are drawn

    def inertia_entries(self) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
        """(Ixx, Iyy, Izz, Ixy, Ixz, Iyz) whichever way the inertia was given."""
        if self.moment is not None:
            return (0.0, 0.0, self.moment, 0.0, 0.0, 0.0)
        given = self.inertia or ()
        if len(given) == 3:
            return (given[0], given[1], given[2], 0.0, 0.0, 0.0)
        if len(given) == 6:
            return (given[0], given[1], given[2], given[3], given[4], given[5])
        raise ValueError(f"body '{self.name}' has {len(given)} inertia entries, expected 3 or 6")

"""Grounds that bodies roll on: plane, cylinder, sphere, surface of revolution, height, your own.

A ground is given in a frame of its own (`Plane` says on which body and where). To add one, here or
in a module of your own, write a frozen data class below `AbstractGround`; nothing else is touched:

1. `word`, by which model files know it; its fields are the keys of its table;
2. `parameters()` and `point(u, read)`: a point at two parameters; the normal, along ∂p/∂u₁ × ∂p/∂u₂
   times `side`, points away from the material. They become coordinates without inertia of a
   contact, whose rates always follow. A level F(p) = 0 answers `chart` instead, with p as its
   parameters;
3. `guess(place, read)`: parameters of about the nearest point to a place.

What is below "fallbacks" has a general answer. A ground on which the contact of a ball or a wheel
has a closed form says so in `closed`, and gives it by `normal_at`, `height` and `curvature`.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import EYE3, GridSpline, grid_spline
from noslip.base import Array, Member, ModelError
from noslip.expressions import Scalar
from noslip.model.bodies import AbstractShape, Placement, Triangles, patch, ribbons, round_cell
from noslip.model.findings import Finding, Path, owner
from noslip.model.quantities import (
    Meaning,
    NotNegativeLength,
    NumberReader,
    PositiveLength,
    Quantity,
    Reads,
    TracedNumbers,
    Vector3,
    angle,
    number,
)
from noslip.model.surfaces import (
    Chart,
    WheelCircle,
    chart_clauses,
    chart_points,
    even_powers,
    free_parameters,
    kink_faults,
    level_chart,
    nearest_parameters,
    parameter_grid,
    parametric_faults,
    smooth_chart,
    turn_about_z,
)

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary

#: Places of rows or columns.
Places = NDArray[np.int64]

#: Colors of ground that is not a plane, and of the lines on it.
EARTH, LINES = "#c3bb9d", "#6f6b52"
#: Width of these lines over the size of the ground.
LINE_WIDTH = 1.7e-3

_X = Quantity(name="x", unit="m", description="contact point along x of the ground", symbol="x")
_Y = Quantity(name="y", unit="m", description="contact point along y of the ground", symbol="y")


class AbstractGround(Member, abc.ABC, family="ground"):
    """Ground that a body rolls on, in a frame of its own; see the list at the top of this file."""

    __slots__ = ()

    @abc.abstractmethod
    def parameters(self) -> tuple[Quantity, ...]:
        """Parameters of a point on it: two, or the three of a point on a level."""

    @abc.abstractmethod
    def guess(self, place: ca.SX, read: Reads) -> ca.SX:
        """Parameters of about the nearest point to a place."""

    # fallbacks

    #: Whether it is the x-y plane of its frame.
    is_plane: ClassVar[bool] = False

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        """The point at two parameters."""
        raise NotImplementedError(f"{self.word} has no two parameters")

    def side(self) -> float:
        """1 or −1: along which of ∂p/∂u₁ × ∂p/∂u₂ and its opposite the normal is."""
        return 1.0

    def chart(self, u: ca.SX, read: Reads) -> Chart:
        """Point, normal and curvature at the parameters, which are symbols."""
        return smooth_chart(ca.SX(self.point(u, read)), u, self.side())

    def closed(self, circle: WheelCircle | None) -> bool:
        """Whether it has a closed form for a surface made of circles, or any surface if None."""
        return False

    def normal_at(self, center: ca.SX, axis: ca.SX | None, radius: ca.SX) -> ca.SX:
        """Unit normal where a ring about a center touches, of a closed form; no ring is a ball."""
        raise NotImplementedError(self.word)

    def height(self, point: ca.SX, read: Reads) -> ca.SX:
        """Distance of a point from it along the normal, in closed form."""
        raise NotImplementedError(self.word)

    def curvature(self, n: ca.SX, read: Reads) -> ca.SX:
        """(3, 3) tensor where the normal is n, positive where it is convex, of a closed form."""
        raise NotImplementedError(self.word)

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Normals are across it, and its heading is a unit vector across the normal."""
        read, rng = TracedNumbers(values), np.random.default_rng(1)
        if quantities := self.parameters():
            yield from chart_clauses(lambda u: self.chart(u, read), quantities)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        ahead = np.array(ca.evalf(ca.SX(self.heading(ca.SX(n))))).ravel()
        if max(abs(float(ahead @ n)), abs(float(np.linalg.norm(ahead)) - 1.0)) > 1e-9:
            yield "its heading is no unit vector across the normal"

    def heading(self, n: ca.SX) -> ca.SX:
        """A unit vector across the normal: what x is after z was turned to n the short way.

        It is x where n is −z, where all ways are short.
        """
        share = n[0] / (1 + n[2] + 1e-14)
        return ca.vertcat(1 - share * n[0], -share * n[1], -n[0])

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        """Parameters of its point at u after a turn about z, if it has a symmetry about it.

        By this bodies that circle on it are found to move steadily.
        """
        return u

    def unchanged_along(self, read: Reads) -> tuple[bool, bool, bool]:
        """Along which of the axes of its frame it is the same everywhere.

        By this bodies that roll along it are found to move steadily.
        """
        return False, False, False

    def carried(self, u: ca.SX, by: ca.SX) -> ca.SX:
        """Parameters of its point at u after a shift along the directions of `unchanged_along`."""
        return u

    def cells(self) -> tuple[tuple[str, float, float], ...]:
        """Parameters with borders of cells where a high derivative jumps: name, first one, step."""
        return ()

    def margin(self, u: ca.SX, read: Reads) -> ca.SX | None:
        """Distance of a point from its border, relative to its size; None if it has no border."""
        return None

    def clearance(self, points: Array, read: NumberReader) -> Array:
        """(n,) how far (n, 3) points are outside its material, m; below zero within it.

        By the closest of a net of its points, improved by Gauss and Newton.
        """
        from scipy.spatial import cKDTree

        u = ca.SX.sym("u", 2)
        chart = self.chart(u, read)
        assert chart.tangents is not None, "a level has its own"
        parts = [ca.densify(part) for part in (chart.point, chart.normal, ca.vec(chart.tangents))]
        function = ca.Function("chart", [u], [ca.vertcat(*parts)])
        net = parameter_grid(self.parameters(), 48)
        known = np.array(function.map(len(net))(net.T))[:3].T
        places = net[cKDTree(known).query(points)[1]]
        for k in range(4):
            values = np.array(function.map(len(places))(places.T)).T
            apart, T = points - values[:, :3], values[:, 6:].reshape(-1, 2, 3)
            if k < 3:
                places = places + np.linalg.solve(
                    T @ T.transpose(0, 2, 1), np.einsum("nij,nj->ni", T, apart)[..., None]
                ).squeeze(-1)
        found: Array = np.einsum("ni,ni->n", values[:, 3:6], apart)
        return found

    def picture(self, read: NumberReader) -> Array:
        """(m, n, 3) points for drawing; a row runs left to right as seen along the normal."""
        lower, upper = np.array([[q.lower, q.upper] for q in self.parameters()]).T
        points = chart_points(lambda u: self.point(u, read), lower, upper, (49, 49))
        return points.transpose(1, 0, 2) if self.side() > 0 else points

    def lines(self, points: Array) -> tuple[Places, Places]:
        """Rows and columns of its picture that are drawn as lines: about a dozen."""
        m, n = points.shape[:2]
        return np.arange(0, m, max(1, m // 8)), np.arange(0, n, max(1, n // 16))

    def line_distance(self, read: NumberReader) -> float | None:
        """Distance of the lines of its picture along x and y, m; None where it is not the same."""
        return None

    def shapes(self, frame: Placement, read: NumberReader) -> tuple[AbstractShape, ...]:
        """Shapes that draw it in the frame of its plane."""
        return (
            _DrawnGround(ground=self, frame=frame, color=EARTH),
            _DrawnLines(ground=self, frame=frame, color=LINES),
        )

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        """Findings about its fields together; `path` is that of the ground."""
        return iter(())


def _mapped(function: Callable[[ca.SX], ca.SX], points: Array) -> Array:
    """(n,) values of a traced function of a point."""
    p = ca.SX.sym("p", 3)
    traced = ca.Function("f", [p], [ca.densify(ca.SX(function(p)))])
    return np.array(traced.map(len(points))(points.T), dtype=float).ravel()


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnGround(AbstractShape):
    """Shape of a ground from its own expressions."""

    ground: AbstractGround
    frame: Placement
    color: str

    def triangles(self, read: NumberReader) -> Triangles:
        return patch(self.ground.picture(read))


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnLines(AbstractShape):
    """Shape of the lines on a ground, by which its slopes and distances are seen."""

    ground: AbstractGround
    frame: Placement
    color: str

    def triangles(self, read: NumberReader) -> Triangles:
        points = self.ground.picture(read)
        rows, columns = self.ground.lines(points)
        size = float(np.linalg.norm(np.ptp(points.reshape(-1, 3), axis=0)))
        return ribbons(points, rows, columns, LINE_WIDTH * size)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatGround(AbstractGround):
    """A plane: the x-y plane of its frame."""

    word = "plane"
    also_called = ("flat",)
    is_plane = True

    def parameters(self) -> tuple[Quantity, ...]:
        return ()

    def guess(self, place: ca.SX, read: Reads) -> ca.SX:
        return ca.SX(0, 1)

    def closed(self, circle: WheelCircle | None) -> bool:
        return True

    def normal_at(self, center: ca.SX, axis: ca.SX | None, radius: ca.SX) -> ca.SX:
        return ca.SX([0, 0, 1])

    def height(self, point: ca.SX, read: Reads) -> ca.SX:
        return point[2]

    def clearance(self, points: Array, read: NumberReader) -> Array:
        return _mapped(lambda p: self.height(p, read), points)

    def curvature(self, n: ca.SX, read: Reads) -> ca.SX:
        return ca.SX.zeros(3, 3)

    def shapes(self, frame: Placement, read: NumberReader) -> tuple[AbstractShape, ...]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CylinderGround(AbstractGround):
    """A round pipe or bar of `radius` (m) along the z axis of its frame.

    With `inside` the body rolls on its inner side. Its `length` (m) is only drawn.
    """

    radius: PositiveLength
    inside: bool = False
    length: PositiveLength = 2.0

    word = "cylinder"
    also_called = ("pipe",)

    def parameters(self) -> tuple[Quantity, ...]:
        return (
            angle(symbol="ϕ", description="contact point round the axis"),
            Quantity(name="along", unit="m", description="contact point along the axis"),
        )

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        r = read.scalar(self.radius)
        return ca.vertcat(r * ca.cos(u[0]), r * ca.sin(u[0]), u[1])

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        return ca.vertcat(u[0] + angle, u[1])

    def unchanged_along(self, read: Reads) -> tuple[bool, bool, bool]:
        return False, False, True

    def carried(self, u: ca.SX, by: ca.SX) -> ca.SX:
        return ca.vertcat(u[0], u[1] + by[2])

    def side(self) -> float:
        return -1.0 if self.inside else 1.0

    def guess(self, place: ca.SX, read: Reads) -> ca.SX:
        return ca.vertcat(ca.atan2(place[1], place[0]), place[2])

    def closed(self, circle: WheelCircle | None) -> bool:
        return circle is not None and circle.axis is None

    def normal_at(self, center: ca.SX, axis: ca.SX | None, radius: ca.SX) -> ca.SX:
        return self.side() * ca.vertcat(center[:2] / ca.sqrt(ca.sumsqr(center[:2])), 0)

    def height(self, point: ca.SX, read: Reads) -> ca.SX:
        return self.side() * (ca.sqrt(ca.sumsqr(point[:2])) - read.scalar(self.radius))

    def clearance(self, points: Array, read: NumberReader) -> Array:
        return _mapped(lambda p: self.height(p, read), points)

    def curvature(self, n: ca.SX, read: Reads) -> ca.SX:
        round_ = EYE3 - ca.mtimes(n, n.T) - ca.diag(ca.SX([0, 0, 1]))
        return self.side() / read.scalar(self.radius) * round_

    def heading(self, n: ca.SX) -> ca.SX:
        return ca.SX([0, 0, 1])

    def picture(self, read: NumberReader) -> Array:
        half = float(read.scalar(self.length)) / 2
        # of a pipe only the half below is drawn, so that what rolls in it is seen
        around = (-np.pi, 0.0) if self.inside else (-np.pi, np.pi)
        points = chart_points(
            lambda u: self.point(ca.vertcat(u[1], u[0]), read),
            np.array([-half, around[0]]),
            np.array([half, around[1]]),
            (9, 49),
        )
        return points[::-1] if self.inside else points


@dataclass(frozen=True, slots=True, kw_only=True)
class SphereGround(AbstractGround):
    """A sphere of `radius` (m) about the origin of its frame; with `inside` its inner side."""

    radius: PositiveLength
    inside: bool = False

    word = "sphere"
    also_called = ("ball",)

    def _side(self) -> float:
        return -1.0 if self.inside else 1.0

    def parameters(self) -> tuple[Quantity, ...]:
        return tuple(
            Quantity(name=k, unit="m", description=f"contact point along {k}", symbol=k)
            for k in "xyz"
        )

    def chart(self, u: ca.SX, read: Reads) -> Chart:
        level = (ca.sumsqr(u) / read.scalar(self.radius) - read.scalar(self.radius)) / 2
        return level_chart(self._side() * level, u)

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        return turn_about_z(u, angle)

    def guess(self, place: ca.SX, read: Reads) -> ca.SX:
        return read.scalar(self.radius) * place / ca.sqrt(ca.sumsqr(place) + 1e-300)

    def closed(self, circle: WheelCircle | None) -> bool:
        return circle is not None

    def normal_at(self, center: ca.SX, axis: ca.SX | None, radius: ca.SX) -> ca.SX:
        """From the nearest, inside the farthest, point of the ring."""
        point = center
        if axis is not None:
            across = center - ca.dot(center, axis) * axis
            point = center - self._side() * radius * across / ca.sqrt(ca.sumsqr(across))
        return self._side() * point / ca.sqrt(ca.sumsqr(point))

    def height(self, point: ca.SX, read: Reads) -> ca.SX:
        return self._side() * (ca.sqrt(ca.sumsqr(point)) - read.scalar(self.radius))

    def clearance(self, points: Array, read: NumberReader) -> Array:
        return _mapped(lambda p: self.height(p, read), points)

    def curvature(self, n: ca.SX, read: Reads) -> ca.SX:
        return self._side() / read.scalar(self.radius) * (EYE3 - ca.mtimes(n, n.T))

    def picture(self, read: NumberReader) -> Array:
        r = float(read.scalar(self.radius))
        # a bowl is drawn up to its brim, so that what rolls in it is seen
        highest = 0.0 if self.inside else np.pi / 2
        latitude, longitude = np.linspace(-np.pi / 2, highest, 25), np.linspace(0, 2 * np.pi, 49)
        points = r * np.stack(
            [
                np.outer(np.cos(latitude), np.cos(longitude)),
                np.outer(np.cos(latitude), np.sin(longitude)),
                np.outer(np.sin(latitude), 1 + 0 * longitude),
            ],
            axis=-1,
        )
        return points[::-1] if self.inside else points


class AbstractHeight(AbstractGround):
    """A ground z = h(x, y) over its own x-y plane; the material is below."""

    __slots__ = ()

    @abc.abstractmethod
    def elevation(self, x: ca.SX, y: ca.SX, read: Reads) -> ca.SX:
        """h(x, y), m."""

    def parameters(self) -> tuple[Quantity, ...]:
        return (_X, _Y)

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        return ca.vertcat(u[0], u[1], self.elevation(u[0], u[1], read))

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        return turn_about_z(u, angle)

    def unchanged_along(self, read: Reads) -> tuple[bool, bool, bool]:
        """A ridge or a gutter: h depends on one of x and y alone."""
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        h = self.elevation(x, y, read)
        return not ca.depends_on(h, x), not ca.depends_on(h, y), False

    def carried(self, u: ca.SX, by: ca.SX) -> ca.SX:
        return u + by[:2]

    def guess(self, place: ca.SX, read: Reads) -> ca.SX:
        return place[:2]

    def clearance(self, points: Array, read: NumberReader) -> Array:
        """Along z."""
        return _mapped(lambda p: p[2] - self.elevation(p[0], p[1], read), points)

    def squares(self, lower: Array, upper: Array, count: int, read: NumberReader) -> Array:
        """(m, n, 3) its points over a rectangle, those on lines a round distance apart included."""
        cell = round_cell(float(np.max(upper - lower)))
        axes = []
        for a, b in zip(lower, upper, strict=True):
            at = cell * np.arange(np.ceil(a / cell - 1e-9), np.floor(b / cell + 1e-9) + 1)
            between = np.linspace(a, b, count)
            apart = np.abs(between[:, None] - at).min(axis=1, initial=np.inf)
            axes.append(np.sort(np.concatenate([between[apart > 1e-3 * cell], at])))
        x, y = np.meshgrid(*axes)
        flat = np.stack([x.ravel(), y.ravel()])
        u = ca.SX.sym("u", 2)
        height = ca.Function("h", [u], [ca.densify(self.elevation(u[0], u[1], read))])
        z = np.array(height.map(flat.shape[1])(flat)).reshape(x.shape)
        return np.stack([x, y, z], axis=-1)


def square_distance(points: Array) -> float:
    """Distance of the lines of a picture by `squares`, m."""
    x, y = points[0, :, 0], points[:, 0, 1]
    return round_cell(max(float(np.ptp(x)), float(np.ptp(y))))


def square_lines(points: Array) -> tuple[Places, Places]:
    """Rows and columns of a picture by `squares` that are a round distance apart."""
    x, y = points[0, :, 0], points[:, 0, 1]
    cell = square_distance(points)

    def on_lines(values: Array) -> Places:
        return np.flatnonzero(np.abs(values / cell - np.round(values / cell)) < 1e-9)

    return on_lines(y), on_lines(x)


def height_faults(
    path: Path, ground: AbstractHeight, values: Mapping[str, float]
) -> Iterator[Finding]:
    """A height has a value somewhere in what is drawn."""
    try:
        heights = ground.picture(NumberReader(values))[..., 2]
    except (KeyError, ValueError, RuntimeError):
        return  # a fault of its own
    if not np.any(np.isfinite(heights)):
        yield Finding(
            path,
            f"{owner(path[:2])} has a ground whose height has no value anywhere in its extent",
            "check roots, logarithms and divisions, and the values of parameters",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeightGround(AbstractHeight):
    """Hilly ground: its height `z` (m) is an expression of ``x`` and ``y`` in its frame.

    It is drawn up to `extent` (m) along x and y.
    """

    z: Annotated[Scalar, Meaning(unit="m", own=("x", "y"))]
    extent: PositiveLength = 2.0

    word = "height"
    also_called = ("hill", "terrain")

    def elevation(self, x: ca.SX, y: ca.SX, read: Reads) -> ca.SX:
        return ca.SX(read.extended({"x": x, "y": y}).scalar(self.z))

    def picture(self, read: NumberReader) -> Array:
        far = np.full(2, float(read.scalar(self.extent)))
        return self.squares(-far, far, 81, read)

    def lines(self, points: Array) -> tuple[Places, Places]:
        return square_lines(points)

    def line_distance(self, read: NumberReader) -> float | None:
        return square_distance(self.picture(read))

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        yield from kink_faults((*path, "z"), self.z)
        yield from height_faults((*path, "z"), self, known.finite_parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevolvedGround(AbstractHeight):
    """A bowl, a dome or a funnel about the z axis: its height `z` (m) is an expression of ``r``.

    Even powers of ``r`` are taken as powers of x² + y², so that a profile made of them is smooth
    on the axis; ``rr`` is r². One with ``r`` itself, such as ``-a/r``, stays away from the axis. It
    is drawn from the radius `inner` to `extent` (m).
    """

    z: Annotated[Scalar, Meaning(unit="m", own=("r", "rr"))]
    extent: PositiveLength = 1.0
    inner: NotNegativeLength = 0.0

    word = "revolution"
    also_called = ("bowl", "funnel")

    def elevation(self, x: ca.SX, y: ca.SX, read: Reads) -> ca.SX:
        squared = x**2 + y**2
        if not isinstance(self.z, str):
            return ca.SX(float(self.z))
        text = even_powers(self.z)
        return ca.SX(read.extended({"r": ca.sqrt(squared), "rr": squared}).scalar(text))

    def picture(self, read: NumberReader) -> Array:
        inner, outer = float(read.scalar(self.inner)), float(read.scalar(self.extent))
        points = chart_points(
            lambda u: self.point(ca.vertcat(u[0] * ca.cos(u[1]), u[0] * ca.sin(u[1])), read),
            np.array([max(inner, 1e-6 * outer), 0.0]),
            np.array([outer, 2 * np.pi]),
            (33, 65),
        )
        return points[::-1]

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        yield from kink_faults((*path, "z"), self.z)
        inner, outer = (number(x, known.finite_parameters) for x in (self.inner, self.extent))
        if inner >= outer:
            yield Finding(
                (*path, "inner"),
                f"{owner(path[:2])} has a ground from the radius {inner:g} to {outer:g} m",
                "give an extent that is larger than inner",
            )
        else:
            yield from height_faults((*path, "z"), self, known.finite_parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridGround(AbstractHeight):
    """Measured ground: heights over a square grid, with a quintic spline between them.

    The spline goes through all points and has four continuous derivatives. A run ends at the border
    of the grid.
    """

    #: m, row by row along x, the rows one after the other along y
    heights: Annotated[tuple[float, ...], Meaning(unit="m")]
    columns: int  #: points in a row
    step: Annotated[float, Meaning(unit="m")]  #: spacing of the points along x and along y, m
    #: x and y of the first point, m
    origin: Annotated[tuple[float, float], Meaning(unit="m")] = (0.0, 0.0)

    word = "grid"
    also_called = ("heightmap", "heightfield", "dem")

    @classmethod
    def from_points(cls, x: Array, y: Array, z: Array) -> GridGround:
        """The ground through points over the lines x (m,) and y (n,); heights z are (n, m).

        Raises
        ------
        ModelError : if steps are not all alike, or shapes do not fit.
        """
        x, y, z = (np.asarray(a, dtype=float) for a in (x, y, z))
        where = "GridGround.from_points"
        if x.ndim != 1 or y.ndim != 1 or z.shape != (len(y), len(x)):
            raise ModelError(
                f"x has the shape {x.shape}, y {y.shape} and z {z.shape}",
                where,
                "give x of m and y of n numbers, and z of n rows with m heights each",
            )
        steps = np.concatenate([np.diff(x), np.diff(y)])
        if not len(steps) or not np.allclose(steps, steps[0], rtol=1e-9) or not steps[0] > 0:
            raise ModelError(
                "the spacing of the grid is not uniform and positive",
                where,
                "give points at equal distances along x and y; interpolate others onto such a grid",
            )
        return cls(
            heights=tuple(float(h) for h in z.ravel()),
            columns=len(x),
            step=float(steps[0]),
            origin=(float(x[0]), float(y[0])),
        )

    def _spline(self) -> GridSpline:
        heights = np.array([float(h) for h in self.heights]).reshape(-1, self.columns)
        return grid_spline(heights, (float(self.origin[0]), float(self.origin[1])), self.step)

    def parameters(self) -> tuple[Quantity, ...]:
        n = (self.columns, max(1, len(self.heights) // max(1, self.columns)))
        return tuple(
            dataclasses.replace(q, lower=float(o), upper=float(o) + self.step * (k - 1))
            for q, o, k in zip((_X, _Y), self.origin, n, strict=True)
        )

    def elevation(self, x: ca.SX, y: ca.SX, read: Reads) -> ca.SX:
        return self._spline().traced(x, y)

    def clearance(self, points: Array, read: NumberReader) -> Array:
        lower, upper = np.array([[q.lower, q.upper] for q in self.parameters()]).T
        is_within = np.all((points[:, :2] >= lower) & (points[:, :2] <= upper), axis=1)
        heights = self._spline().evaluate(points[:, 0], points[:, 1])
        return np.where(is_within, points[:, 2] - heights, np.inf)

    def cells(self) -> tuple[tuple[str, float, float], ...]:
        return tuple((q.name, q.lower, self.step) for q in self.parameters())

    def margin(self, u: ca.SX, read: Reads) -> ca.SX | None:
        ends = [(u[k] - q.lower, q.upper - u[k]) for k, q in enumerate(self.parameters())]
        nearest = ca.fmin(ca.fmin(*ends[0]), ca.fmin(*ends[1]))
        return nearest / self.step

    def picture(self, read: NumberReader) -> Array:
        lower, upper = np.array([[q.lower, q.upper] for q in self.parameters()]).T
        count = min(121, 4 * round(float(np.max(upper - lower)) / self.step) + 1)
        return self.squares(lower, upper, count, read)

    def lines(self, points: Array) -> tuple[Places, Places]:
        return square_lines(points)

    def line_distance(self, read: NumberReader) -> float | None:
        return square_distance(self.picture(read))

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        said = owner(path[:2])
        if not self.columns >= 6 or len(self.heights) < 6 * self.columns:
            yield Finding(
                (*path, "columns"),
                f"{said} has a grid of {len(self.heights)} heights in rows of {self.columns}",
                "give 6 rows of 6 heights at least, which a quintic spline needs",
            )
        elif len(self.heights) % self.columns:
            yield Finding(
                (*path, "heights"),
                f"{said} has {len(self.heights)} heights, which are no whole number of rows of "
                f"{self.columns}",
                "give a height for every point of the grid; fill gaps by interpolation",
            )
        if not self.step > 0:
            yield Finding(
                (*path, "step"), f"{said} has step = {self.step}", "give a positive number in m"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametricGround(AbstractGround):
    """Any smooth surface: its points are three expressions of ``u`` and ``v``."""

    #: position of a point, in the frame of the ground, m
    position: Annotated[Vector3, Meaning(unit="m", own=("u", "v"))]
    #: u_range, v_range: ranges of the parameters u and v, for the search at the start and for
    #: drawing
    u_range: tuple[float, float]
    v_range: tuple[float, float]
    is_reversed: bool = False  #: whether the normal is ∂p/∂v × ∂p/∂u instead of ∂p/∂u × ∂p/∂v

    word = "parametric"

    def parameters(self) -> tuple[Quantity, ...]:
        return free_parameters(self.u_range, self.v_range)

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        return ca.SX(read.extended({"u": u[0], "v": u[1]}).vector(self.position))

    def side(self) -> float:
        return -1.0 if self.is_reversed else 1.0

    def guess(self, place: ca.SX, read: Reads) -> ca.SX:
        return nearest_parameters(
            self.parameters(), lambda u: ca.sumsqr(place - self.point(u, read))
        )

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        return parametric_faults(path, self, known.finite_parameters, is_closed=False)

"""Obstacles on the floor, and convex polygons: what both obstacles and footprints are made of.

Everything is a union of convex pieces: corners, rounded by a radius. A disc is one corner, a
concave polygon is cut into ears, which are joined again where they stay convex (Hertel and
Mehlhorn), cells of a grid are joined to rectangles.

To add an obstacle, write a frozen dataclass of :class:`AbstractObstacle` with a `word` and its
`pieces`; text and messages follow from its arguments (`AbstractForm`).
"""

from __future__ import annotations

import abc
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, NoslipError, as_number, nearest, read_bytes
from noslip.control import AbstractForm, Point
from noslip.expressions import CONSTANTS, ExpressionError, evaluate, names_in, parse
from noslip.planning.problem import PlanError

#: Bytes and pixels that the image of a map may have.
MAX_BYTES, MAX_PIXELS = 200_000_000, 50_000_000
#: Zero displacement.
STILL = ("0", "0")


@dataclass(frozen=True, slots=True, eq=False)
class ConvexPiece:
    """A convex polygon, rounded."""

    corners: Array  #: (k, 2) counterclockwise, m; one or two of them are a point or a line
    radius: float  #: distance by which it is larger on all sides, m


class AbstractObstacle(AbstractForm, abc.ABC, family="obstacle"):
    """What a vehicle must not touch."""

    __slots__ = ()

    home = "noslip.planning.obstacles"
    usual_unit = "m"

    @abc.abstractmethod
    def pieces(self) -> list[ConvexPiece]:
        """Its convex pieces at the time 0."""

    def displacement(self, t: ca.SX) -> ca.SX | None:
        """By how much it has moved at a time (2,), traced; None if it stands."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disc(AbstractObstacle):
    """A disc of `radius` (m) about `center`."""

    word = "disc"
    also_called = ("circle",)

    center: Point
    radius: float
    moves: tuple[str, ...] = STILL  #: displacement along x and y as expressions of the time t, m

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _point(self.center, "center", "Disc"))
        radius = _finite(self.radius, "radius", "Disc")
        if radius <= 0:
            raise PlanError(f"the radius is {radius:g}", "Disc(radius=…)", "give more than 0 m")
        _check_moves(self.moves, "Disc(moves=…)")

    def pieces(self) -> list[ConvexPiece]:
        return [ConvexPiece(np.array([self.center]), float(self.radius))]

    def displacement(self, t: ca.SX) -> ca.SX | None:
        return _moved(self.moves, t)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polygon(AbstractObstacle):
    """A polygon through `points`, which may be concave but does not cross itself."""

    word = "polygon"

    points: tuple[Point, ...]  #: corners in order, m
    moves: tuple[str, ...] = STILL  #: displacement along x and y as expressions of the time t, m

    def __post_init__(self) -> None:
        points = tuple(
            _point(p, f"points[{k}]", "Polygon") for k, p in enumerate(_listed(self.points))
        )
        object.__setattr__(self, "points", points)
        if len(points) < 3:
            raise PlanError(
                f"{len(points)} points make no polygon", "Polygon(points=…)", "give three or more"
            )
        _check_moves(self.moves, "Polygon(moves=…)")
        self.pieces()

    def pieces(self) -> list[ConvexPiece]:
        return [ConvexPiece(part, 0.0) for part in convex_parts(np.array(self.points))]

    def displacement(self, t: ca.SX) -> ca.SX | None:
        return _moved(self.moves, t)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OccupancyGrid(AbstractObstacle):
    """An occupancy grid."""

    word = "grid"

    cells: Any  #: (rows, columns), true where something is; the first row is that of the least y
    resolution: float  #: width of a cell, m
    origin: Point = (0.0, 0.0)  #: corner of the first cell, m

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells)
        if cells.ndim != 2 or not cells.size or cells.dtype.kind not in "bui":
            raise PlanError(
                f"cells have the shape {cells.shape} and the type {cells.dtype}",
                "OccupancyGrid(cells=…)",
                "give a table of booleans, or of whole numbers that are 0 where nothing is",
            )
        object.__setattr__(self, "cells", cells.astype(bool))
        if not _finite(self.resolution, "resolution", "OccupancyGrid") > 0:
            raise PlanError(
                "cells have no width", "OccupancyGrid(resolution=…)", "give it in m: 0.05"
            )
        object.__setattr__(self, "origin", _point(self.origin, "origin", "OccupancyGrid"))

    def pieces(self) -> list[ConvexPiece]:
        boxes = rectangles(self.cells) * self.resolution + np.tile(self.origin, 2)
        return [
            ConvexPiece(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]), 0.0)
            for x0, y0, x1, y1 in boxes
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(AbstractObstacle):
    """An image as an occupancy grid: PNG or PGM, dark where something is."""

    word = "map"
    reads_files = True

    file: str  #: image file
    resolution: float  #: width of a pixel, m
    origin: Point = (0.0, 0.0)  #: lower left corner of the image, m
    darker: float = 0.5  #: fraction of white below which a pixel is occupied

    def __post_init__(self) -> None:
        self._grid()

    def pieces(self) -> list[ConvexPiece]:
        return self._grid().pieces()

    def _grid(self) -> OccupancyGrid:
        from PIL import Image

        fix = "give an image file, PNG or PGM"
        content = read_bytes(self.file, PlanError, fix, max_bytes=MAX_BYTES)
        try:
            image = Image.open(io.BytesIO(content), formats=("PNG", "PPM"))
            if image.width * image.height > MAX_PIXELS:
                raise PlanError(
                    f"it has {image.width} × {image.height} pixels",
                    str(self.file),
                    f"give at most {MAX_PIXELS}",
                )
            grays = np.asarray(image.convert("L"))
        except NoslipError:
            raise
        except Exception as error:
            raise PlanError(f"no image can be read: {error}", str(self.file), fix) from None
        cells = grays[::-1] < 255 * self.darker
        return OccupancyGrid(cells=cells, resolution=self.resolution, origin=self.origin)


def _finite(value: Any, name: str, where: str) -> float:
    found = as_number(value)
    if not math.isfinite(found):
        raise PlanError(
            f"{name} is {value!r:.60}, which is not a finite number",
            f"{where}({name}=…)",
            f"give {name} as a number, in m",
        )
    return found


def _listed(value: Any) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise PlanError(
            f"{value!r:.60} is not a list of points",
            "Polygon(points=…)",
            "give ((0, 0), (1, 0), …)",
        ) from None


def _point(value: Any, name: str, where: str) -> Point:
    try:
        x, y = value
    except (TypeError, ValueError):
        raise PlanError(
            f"{name} is {value!r:.60}, expected x and y",
            f"{where}({name}=…)",
            "give two numbers, in m",
        ) from None
    return _finite(x, name, where), _finite(y, name, where)


def _check_moves(moves: Any, where: str) -> None:
    fix = "give two expressions of the time t: ('0.5*t', '0')"
    if not isinstance(moves, tuple | list) or len(moves) != 2:
        raise PlanError(f"the displacement is {moves!r:.60}", where, fix)
    for text in moves:
        try:
            unknown = sorted(names_in(parse(str(text))) - {"t"} - set(CONSTANTS))
        except ExpressionError as error:
            raise PlanError(f"'{text}' cannot be read: {error}", where, fix) from None
        if unknown:
            raise PlanError(
                f"there is no '{unknown[0]}' in '{text}'", where, nearest(unknown[0], ["t"])
            )


def _moved(moves: Sequence[str], t: ca.SX) -> ca.SX | None:
    if tuple(map(str, moves)) == STILL:
        return None
    return ca.vertcat(*[ca.SX(evaluate(parse(str(m)), {"t": t}, ca)) for m in moves])


# convex polygons


def area(corners: Array) -> float:
    """Signed area of a polygon, positive if counterclockwise, m²."""
    x, y = corners.T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def _cross(a: Array, b: Array) -> Array:
    found: Array = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return found


def convex_hull(points: Array) -> Array:
    """Corners of the convex hull (k, 2), counterclockwise, without corners on straight sides."""
    found = np.unique(np.asarray(points, dtype=float).reshape(-1, 2), axis=0)
    if len(found) < 3:
        return found
    scale = float(np.max(np.ptp(found, axis=0)))

    def chain(rows: Array) -> list[Array]:
        kept: list[Array] = []
        for p in rows:
            while len(kept) > 1:
                turn = _cross(kept[-1] - kept[-2], p - kept[-1])
                if turn > 1e-12 * scale**2:
                    break
                kept.pop()
            kept.append(p)
        return kept

    return np.array([*chain(found)[:-1], *chain(found[::-1])[:-1]])


def fewer_corners(hull: Array, most: int) -> Array:
    """A convex polygon of few corners around another: sides go that add the least area."""
    corners = np.array(hull)
    while len(corners) > max(most, 3):
        before, a = np.roll(corners, 1, axis=0), corners
        b, after = np.roll(corners, -1, axis=0), np.roll(corners, -2, axis=0)
        # the side ab goes, its neighbors are extended until they meet
        u, v = a - before, b - after
        turn = _cross(u, v)
        meets = turn < -1e-12 * np.max(np.abs(corners)) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            s = _cross(b - a, v) / turn
        meets &= s > 0
        tips = a + np.where(meets, s, 0.0)[:, None] * u
        grown = np.where(meets, np.abs(_cross(b - a, tips - a)), np.inf)
        k = int(np.argmin(grown))
        if not np.isfinite(grown[k]):
            break
        corners[k] = tips[k]
        corners = np.delete(corners, (k + 1) % len(corners), axis=0)
    return corners


def convex_parts(points: Array) -> list[Array]:
    """Convex polygons that a simple one consists of.

    Raises
    ------
    PlanError : if it crosses itself or has no area.
    """
    corners = points[np.any(points != np.roll(points, 1, axis=0), axis=1)]
    where, fix = "Polygon(points=…)", "list the corners once around, without crossings"
    size = float(np.max(np.ptp(corners, axis=0))) if len(corners) else 0.0
    if len(corners) < 3 or abs(area(corners)) <= 1e-12 * size**2:
        raise PlanError("the polygon has no area", where, fix)
    if area(corners) < 0:
        corners = corners[::-1]
    crossing = _crossing(corners)
    if crossing is not None:
        i, j = crossing
        raise PlanError(
            f"the sides from ({corners[i][0]:g}, {corners[i][1]:g}) and from "
            f"({corners[j][0]:g}, {corners[j][1]:g}) cross",
            where,
            fix,
        )
    parts = _ears(corners, size)
    return [corners[list(part)] for part in _joined(corners, parts, size)]


def _crossing(corners: Array) -> tuple[int, int] | None:
    n = len(corners)
    a, b = corners, np.roll(corners, -1, axis=0)

    def side(p: Array, q: Array, r: Array) -> Array:
        return np.sign(_cross(q - p, r - p))

    one = side(a[:, None], b[:, None], a[None]) * side(a[:, None], b[:, None], b[None])
    both = (one < 0) & (one.T < 0)
    i, j = np.nonzero(np.triu(both, 2))
    for m, k in zip(i, j, strict=True):
        if (k + 1) % n != m:
            return int(m), int(k)
    return None


def _ears(corners: Array, size: float) -> list[list[int]]:
    """Triangles of a counterclockwise polygon, by places of corners."""
    left, found = list(range(len(corners))), []
    while len(left) > 3:
        for k in range(len(left)):
            i, j, m = left[k - 1], left[k], left[(k + 1) % len(left)]
            a, b, c = corners[[i, j, m]]
            turn = float(_cross(b - a, c - b))
            if abs(turn) <= 1e-13 * size**2:
                left.pop(k)
                break
            others = corners[[p for p in left if p not in (i, j, m)]]
            inside = (
                (_cross(b - a, others - a) >= 0)
                & (_cross(c - b, others - b) >= 0)
                & (_cross(a - c, others - c) >= 0)
            )
            if turn > 0 and not np.any(inside):
                found.append([i, j, m])
                left.pop(k)
                break
        else:
            raise PlanError(
                "the polygon touches itself",
                "Polygon(points=…)",
                "list the corners once around, without crossings, or give two polygons",
            )
    if len(left) == 3:
        found.append(left)
    return found


def _joined(corners: Array, parts: list[list[int]], size: float) -> list[list[int]]:
    """Parts joined over common sides while they stay convex (Hertel and Mehlhorn)."""
    k = 0
    while k < len(parts):
        for m in range(k + 1, len(parts)):
            both = _union(parts[k], parts[m])
            if both is not None and _is_convex(corners[both], size):
                parts[k] = both
                parts.pop(m)
                break
        else:
            k += 1
    return parts


def _union(a: list[int], b: list[int]) -> list[int] | None:
    for i in range(len(a)):
        j, m = a[i], a[(i + 1) % len(a)]
        if m in b and b[(b.index(m) + 1) % len(b)] == j:
            at = b.index(m)
            rest = [b[(at + 2 + r) % len(b)] for r in range(len(b) - 2)]
            return [*a[: i + 1], *rest, *a[i + 1 :]]
    return None


def _is_convex(corners: Array, size: float) -> bool:
    sides = np.roll(corners, -1, axis=0) - corners
    return bool(np.all(_cross(sides, np.roll(sides, -1, axis=0)) >= -1e-13 * size**2))


def rectangles(cells: NDArray[np.bool_]) -> Array:
    """(n, 4): x0, y0, x1, y1 of rectangles that occupied cells are joined to, in cells."""
    found: list[list[int]] = []
    open_: dict[tuple[int, int], int] = {}
    for row in range(cells.shape[0]):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], cells[row], [False]])))
        runs = {(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)}
        for run in list(open_):
            if run not in runs:
                found.append([run[0], open_.pop(run), run[1], row])
        for run in runs:
            open_.setdefault(run, row)
    found += [[a, start, b, cells.shape[0]] for (a, b), start in open_.items()]
    return np.array(found, dtype=float).reshape(-1, 4)


def separations(a: Array, b: Array) -> tuple[Array, Array]:
    """Distance of convex polygons a (…, k, 2) and b (…, m, 2), and the direction from b to a.

    Where they overlap the distance is minus the least depth along a side's normal. Corners are
    counterclockwise and may be repeated; a polygon may be a point.
    """
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    depth, apart = np.full(shape, -np.inf), np.full(shape, np.inf)
    deep, near = np.zeros((*shape, 2)), np.zeros((*shape, 2))
    for p, q, sign in ((a, b, -1.0), (b, a, 1.0)):
        side = np.roll(p, -1, axis=-2) - p
        length = np.linalg.norm(side, axis=-1)
        is_side = length > 0
        unit = side / np.where(is_side, length, 1.0)[..., None]
        normal = np.stack([unit[..., 1], -unit[..., 0]], axis=-1)
        to = q[..., None, :, :] - p[..., :, None, :]  # (…, sides, corners of the other)
        height = np.min(np.sum(to * normal[..., :, None, :], axis=-1), axis=-1)
        height = np.where(is_side, height, -np.inf)
        at = np.argmax(height, axis=-1)[..., None]
        most = np.take_along_axis(height, at, axis=-1)[..., 0]
        chosen = np.take_along_axis(
            np.broadcast_to(normal, (*height.shape, 2)), at[..., None], axis=-2
        )[..., 0, :]
        deep = np.where((most > depth)[..., None], sign * chosen, deep)
        depth = np.maximum(depth, most)
        along = np.clip(np.sum(to * unit[..., :, None, :], axis=-1), 0.0, length[..., None])
        rest = (to - along[..., None] * unit[..., :, None, :]).reshape(*shape, -1, 2)
        square = np.sum(rest**2, axis=-1)
        at = np.argmin(square, axis=-1)[..., None]
        least = np.sqrt(np.take_along_axis(square, at, axis=-1)[..., 0])
        chosen = np.take_along_axis(rest, at[..., None], axis=-2)[..., 0, :]
        near = np.where((least < apart)[..., None], sign * chosen, near)
        apart = np.minimum(apart, least)
    is_out = (depth > 0) | ~np.isfinite(depth)
    safe = np.where(apart > 0, apart, 1.0)[..., None]
    direction = np.where((is_out & (apart > 0))[..., None], near / safe, deep)
    return np.where(is_out, apart, depth), direction


def padded(corners: Iterable[Array], size: int) -> Array:
    """(n, size, 2) corners of polygons, the last one repeated."""
    found = [np.concatenate([c, np.repeat(c[-1:], size - len(c), axis=0)]) for c in corners]
    return np.array(found).reshape(-1, size, 2)

"""Obstacles and outlines of bodies on the floor, and how far they are from each other.

**Obstacles on the floor, and convex polygons: what both obstacles and footprints are made of.**

Everything is a union of convex pieces: corners, rounded by a radius. A disc is one corner, a
concave polygon is cut into ears, which are joined again where they stay convex (Hertel and
Mehlhorn), cells of a grid are joined to rectangles.

To add an obstacle, write a frozen dataclass of :class:`AbstractObstacle` with a `word` and its
`pieces`; text and messages follow from its arguments (`AbstractForm`).

**Outlines of bodies on the floor, from their shapes or given, and distances to obstacles.**

A body's outline is the convex hull of its shapes as seen from above. What turns or slides on a body
without changing that hull by much, as wheels do, is part of the body's; what does change it, as a
trailer does, has an outline of its own.

Along a run an outline's corners are cubics of time between samples, with the run's own positions
and velocities at both ends. The velocity's Bézier coefficients bound the speed v of all its points
between them, so that over a time h the distance to an obstacle is nowhere less than

    (1)  d ≥ (d₀ + d₁ − v h) / 2

and intervals are halved until (1) decides (conservative advancement).
"""

from __future__ import annotations

import abc
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, NoslipError, as_number, nearest, read_bytes, real_array
from noslip.control import AbstractForm, Point
from noslip.engines import System, compile_expression
from noslip.expressions import CONSTANTS, ExpressionError, evaluate, names_in, parse
from noslip.model import NumberReader, frame_numbers
from noslip.planning.problem import PlanError
from noslip.simulation import Trajectory

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


#: Corners of an outline that is made from shapes.
CORNERS = 8
#: Growth of an outline's area by what turns on a body, up to which it is part of the body's.
GROWTH = 1.1
#: Range of an angle that is tied to a limited one, over that limit.
TIED = 1.35
#: Positions at which a joint is looked at.
TURNS = 24
#: Resolution of a clearance along a run, m.
RESOLUTION = 1e-5
#: Pairs of intervals and pieces that are halved at a time, and rounds of it.
PAIRS, HALVINGS = 200_000, 40


@dataclass(frozen=True, slots=True, eq=False)
class BodyOutline:
    """Of a body, as convex corners that are rounded."""

    body: str  #: name of the body
    corners: Array  #: (k, 3) in the body's axes, m
    radius: float  #: m
    traced: ca.SX  #: (2, k) on the floor


def read_footprint(
    system: System, footprint: Mapping[str, Any] | None, parameters: Array, turns: Mapping[str, Any]
) -> tuple[BodyOutline, ...]:
    """Outlines of all bodies that have shapes, or of those that are given.

    `footprint`: body → radius of a disc, corners (x, y), or (corners, radius), in its axes;
    `parameters`: (np,) of the model; `turns`: coordinate → (low, high) within which it stays.
    """
    nodes = {node.body.name: node for node in system.kinematics.tree.nodes}
    where = f"footprint of model '{system.model.name}'"
    if footprint is None:
        key = "plan footprint", parameters.tobytes(), tuple(sorted(turns.items()))
        found = system.cached(key, lambda: _from_shapes(system, parameters, turns))
        if not found:
            raise PlanError(
                "no body that moves has a shape, so that nothing is known of its size",
                where,
                "give shapes to bodies, or footprint={'base': 0.3} for a disc of 0.3 m",
            )
    else:
        if not isinstance(footprint, Mapping) or not footprint:
            raise PlanError(
                f"footprint is {footprint!r:.60}", where, "name bodies: footprint={'base': 0.3}"
            )
        found = {}
        for body, given in footprint.items():
            if body not in nodes:
                raise PlanError(f"there is no body '{body}'", where, nearest(body, nodes))
            found[body] = _given(given, body, where)
    result = []
    for body, (corners, radius) in found.items():
        node = nodes[body]
        p = ca.mtimes(node.R_WB, ca.DM(corners.T)) + ca.repmat(node.p_WB, 1, len(corners))
        result.append(BodyOutline(body, corners, radius, ca.densify(system.fold(p[:2, :]))))
    return tuple(result)


def _given(value: Any, body: str, where: str) -> tuple[Array, float]:
    """A footprint as corners and a radius."""
    fix = "give a radius, corners [(x, y), …] or (corners, radius), in m"
    try:
        if np.ndim(value) == 0:
            corners, radius = np.zeros((1, 2)), as_number(value)
        elif len(value) == 2 and np.ndim(value[1]) == 0 and np.ndim(value[0]) == 2:
            corners, radius = real_array(value[0]), as_number(value[1])
        else:
            corners, radius = real_array(value), 0.0
    except (TypeError, ValueError, OverflowError, LookupError):
        raise PlanError(f"the footprint of '{body}' is {value!r:.60}", where, fix) from None
    sized = corners.ndim == 2 and corners.shape[1] == 2 and np.all(np.isfinite(corners))
    if not sized or not np.isfinite(radius) or radius < 0 or (len(corners) < 3 and not radius):
        raise PlanError(f"the footprint of '{body}' is {value!r:.60}", where, fix)
    hull = convex_hull(corners)
    return np.column_stack([hull, np.zeros(len(hull))]), radius


def _poses(system: System, parameters: Array, q: Array) -> tuple[Array, Array]:
    """R (n, bodies, 3, 3) and p (n, bodies, 3) at coordinates (n, nq)."""

    def make() -> Any:
        nodes = system.kinematics.tree.nodes
        parts = [ca.vertcat(ca.reshape(n.R_WB.T, 9, 1), n.p_WB) for n in nodes]
        x = system.equations.state
        symbols = system.kinematics.symbols
        return compile_expression(
            "footprints",
            [ca.SX(0, 1), x[: len(system.coordinates)], ca.SX(0, 1), symbols.params],
            system.fold(ca.vertcat(*parts)),
        )

    code = system.cached(("plan poses",), make)
    n = len(q)
    found = code.map(np.zeros((n, 0)), q, np.zeros((n, 0)), parameters).reshape(n, -1, 12)
    return found[:, :, :9].reshape(n, -1, 3, 3), found[:, :, 9:]


def _from_shapes(
    system: System, parameters: Array, turns: Mapping[str, Any]
) -> dict[str, tuple[Array, float]]:
    """Corners of bodies with what turns on them."""
    tree = system.kinematics.tree
    read = NumberReader(system.model.parameter_values(parameters))
    points = []
    for node in tree.nodes:
        found = [np.zeros((0, 3))]
        for shape in node.body.shapes:
            R, p = frame_numbers(shape.frame, read)
            found.append(shape.triangles(read)[0] @ R.T + p)
        points.append(_hull3(np.concatenate(found)))
    names = [c.name for c in system.coordinates]
    turns = _tied_turns(system, turns)
    rng = np.random.default_rng(0)
    q0 = np.zeros((1, len(names)))
    for node in tree.nodes:  # unit quaternions
        own = q0[0, node.coordinates]
        if len(own) > len(range(*node.speeds.indices(10**6))):
            own[-4] = 1.0
    random = q0 + rng.uniform(-3, 3, (7, len(names)))
    R, _ = _poses(system, parameters, random)
    is_flat = np.all(np.abs(R[:, :, 2, 2] - 1) < 1e-9, axis=0)
    moves = np.ptp(R.reshape(7, -1, 9), axis=0).max(axis=-1) > 1e-12
    moves |= np.ptp(_poses(system, parameters, random)[1], axis=0).max(axis=-1) > 1e-12
    for k in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[k]
        up = node.parent
        if up < 0 or not moves[up] or not len(points[k]):
            continue
        turned = names[node.coordinates]
        if any(
            "position" in name and not _is_upright(system, parameters, q0, node) for name in turned
        ):
            continue
        q = np.repeat(q0, TURNS if turned else 1, axis=0)
        for name in turned:
            low, high = turns.get(name, (-np.pi, np.pi))
            q[:, names.index(name)] = np.linspace(max(low, -np.pi), min(high, np.pi), len(q))
        R, p = _poses(system, parameters, np.concatenate([q0, q]))
        Rr = np.einsum("nji,njk->nik", R[:, up], R[:, k])
        pr = np.einsum("nji,nj->ni", R[:, up], p[:, k] - p[:, up])
        swept = np.einsum("nij,mj->nmi", Rr, points[k]) + pr[:, None]
        both = np.concatenate([points[up], swept[1:].reshape(-1, 3)])
        still = np.concatenate([points[up], swept[0]])
        if len(points[up]) and _floor_area(both) > GROWTH * _floor_area(still):
            continue
        points[up], points[k] = _hull3(both), np.zeros((0, 3))
    found_ = {}
    for k, node in enumerate(tree.nodes):
        if not len(points[k]) or not moves[k]:
            continue
        if is_flat[k]:
            hull = fewer_corners(convex_hull(points[k][:, :2]), CORNERS)
            corners = np.column_stack([hull, np.zeros(len(hull))])
        else:
            low, high = points[k].min(axis=0), points[k].max(axis=0)
            corners = np.array([[x, y, z] for x, y, z in np.ndindex(2, 2, 2)]) * (high - low) + low
        found_[node.body.name] = corners, 0.0
    return found_


def _tied_turns(system: System, turns: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of angles, and of those that position rows tie to them, as of Ackermann's wheels."""
    names = [c.name for c in system.coordinates]
    q = system.equations.state[: len(names)]
    found = dict(turns)
    rows = [r.position for r in system.kinematics.rows if r.position is not None]
    while rows:
        more: dict[str, Any] = {}
        for row in rows:
            seen = {names[k] for k in ca.jacobian_sparsity(ca.SX(row), q).get_triplet()[1]}
            known = [n for n in seen if n in found]
            if known and len(seen) < 4:
                size = TIED * max(abs(v) for v in found[known[0]])
                more |= {n: (-size, size) for n in seen if n not in found}
        if not more:
            break
        found |= more
    return found


def _is_upright(system: System, parameters: Array, q0: Array, node: Any) -> bool:
    """Whether what slides on a body slides up and down."""
    moved = q0.copy()
    moved[0, node.coordinates] += 0.1
    _, p = _poses(system, parameters, np.concatenate([q0, moved]))
    k = system.kinematics.tree.nodes.index(node)
    return bool(np.max(np.abs(p[1, k, :2] - p[0, k, :2])) < 1e-9)


def _floor_area(points: Array) -> float:
    from scipy.spatial import ConvexHull

    flat = points[:, :2]
    if len(flat) < 3 or np.min(np.ptp(flat, axis=0)) < 1e-9:
        return 0.0
    return float(ConvexHull(flat).volume)


def _hull3(points: Array) -> Array:
    """Points of a set that are corners of its hull."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 8:
        return points
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:
        return np.unique(points, axis=0)


# along a run


@dataclass(frozen=True, slots=True, eq=False)
class Clearance:
    """Least distance of outlines from obstacles along a run."""

    #: low, high: bounds, m; the second one is reached
    low: float
    high: float
    t: float  #: time, s
    #: body, obstacle: name of the body, and number of the obstacle
    body: str
    obstacle: int
    #: (n, 2) outline and piece of all pairs nearer than what was asked for
    overlaps: NDArray[np.int64]


class Surroundings:
    """Outlines of a system and the pieces of obstacles around it."""

    def __init__(
        self,
        system: System,
        outlines: Sequence[BodyOutline],
        obstacles: Sequence[AbstractObstacle],
        parameters: Array,
    ) -> None:
        self.system, self.outlines, self.obstacles = system, tuple(outlines), tuple(obstacles)
        self.parameters = parameters
        t = system.kinematics.symbols.t
        pieces: list[ConvexPiece] = []
        owners: list[int] = []
        groups: list[int] = []
        #: (2,) displacements of what moves, traced.
        self.displacements: list[ca.SX] = []
        for k, obstacle in enumerate(self.obstacles):
            own = obstacle.pieces()
            moved = obstacle.displacement(t)
            group = -1
            if moved is not None:
                group = len(self.displacements)
                self.displacements.append(moved)
            pieces += own
            owners += [k] * len(own)
            groups += [group] * len(own)
        self.size = max((len(p.corners) for p in pieces), default=1)
        self.corners = padded([p.corners for p in pieces], self.size)
        self.radii = np.array([p.radius for p in pieces])
        self.owners, self.groups = np.array(owners, dtype=int), np.array(groups, dtype=int)
        self.low = self.corners.min(axis=1) - self.radii[:, None]
        self.high = self.corners.max(axis=1) + self.radii[:, None]
        self._code: Any = None
        if self.displacements:
            both = ca.vertcat(*[ca.vertcat(p, ca.jacobian(p, t)) for p in self.displacements])
            none = ca.SX(0, 1)
            self._moved = compile_expression("moving obstacles", [t, none, none, none], both)

    def polygons(self) -> tuple[tuple[Array, str], ...]:
        """Obstacles as polygons without displacement, and the names of the columns of that."""
        angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        found = []
        for corners, radius, group, owner in zip(
            self.corners, self.radii, self.groups, self.owners, strict=True
        ):
            name = _column(owner) if group >= 0 else ""
            points = corners  # the last one may be repeated
            if radius:
                points = (corners[:, None] + radius * circle).reshape(-1, 2)
                points = convex_hull(points)
            found.append((points, name))
        return tuple(found)

    def columns(self, run: Trajectory) -> dict[str, tuple[str, Array]]:
        """Clearance of a run at its samples and displacements of what moves, m, by column."""
        found = {"clearance": ("m", self._sampled(run))}
        if self.displacements:
            moved = self.offsets(run.t)[0]
            for group, displacement in enumerate(moved):
                name = _column(int(self.owners[np.argmax(self.groups == group)]))
                for k, axis in enumerate("xy"):
                    found[f"{name}.{axis}"] = ("m", displacement[:, k])
        return found

    def _sampled(self, run: Trajectory) -> Array:
        """(n,) least distances of outlines to obstacles at the samples of a run."""
        x = self._states(run)
        least = np.full(len(x), np.inf)
        for group in range(-1, len(self.displacements)):
            members = np.flatnonzero(self.groups == group)
            if not len(members):
                continue
            offset = self.offsets(run.t)[0][group] if group >= 0 else None
            for _, distance, _ in self.near(x, 1, members, offset):
                least = np.minimum(least, distance[:, 0])
        return least

    def _states(self, run: Trajectory) -> Array:
        """(n, nx) states of the system along a run."""
        system = self.system
        names = [q.name for q in (*system.coordinates, *system.independent_speeds)]
        names += [q.name for q in system.auxiliary_states]
        return np.column_stack([run[name] for name in names])

    def offsets(self, t: Array) -> tuple[Array, Array]:
        """Displacements (groups, n, 2) of what moves, and their rates."""
        n = len(t)
        nothing = np.zeros((n, 0))
        found = self._moved.map(t, nothing, nothing, np.zeros(0)).reshape(n, -1, 2, 2)
        moved = found.transpose(2, 1, 0, 3)
        return moved[0], moved[1]

    def corners_at(self, x: Array) -> list[Array]:
        """(n, k, 2) corners of each outline at states (n, nx)."""
        return self._split(self._corner_code().map(*self._given(x)))[0]

    def _corner_code(self) -> Any:
        if self._code is None:
            eq, symbols = self.system.equations, self.system.kinematics.symbols
            places = ca.vertcat(*[ca.vec(o.traced) for o in self.outlines])
            speeds = ca.jtimes(places, eq.state, self.system.fold(eq.state_rates))
            key = ("footprints", tuple((o.body, o.corners.tobytes()) for o in self.outlines))
            given = [symbols.t, eq.state, eq.inputs, symbols.params]
            self._code = self.system.cached(
                key, lambda: compile_expression("corners", given, ca.vertcat(places, speeds))
            )
        return self._code

    def _given(self, x: Array) -> tuple[Array, Array, Array, Array]:
        n = len(x)
        return np.zeros(n), x, np.zeros((n, len(self.system.inputs))), self.parameters

    def _split(self, values: Array) -> tuple[list[Array], list[Array]]:
        n = len(values)
        half = values.shape[1] // 2
        found: tuple[list[Array], list[Array]] = ([], [])
        for part, columns in zip(found, (values[:, :half], values[:, half:]), strict=True):
            at = 0
            for outline in self.outlines:
                k = len(outline.corners)
                part.append(columns[:, at : at + 2 * k].reshape(n, k, 2))
                at += 2 * k
        return found

    def near(
        self, x: Array, slots: int, members: Any, offset: Array | None = None
    ) -> list[tuple[Any, Array, Array]]:
        """Of each outline (n, slots) nearest pieces among some, their distances and directions."""
        moved = 0.0 if offset is None else offset[:, None]
        return [
            self.nearest(outline, corners - moved, slots, members)
            for outline, corners in zip(self.outlines, self.corners_at(x), strict=True)
        ]

    def nearest(
        self, outline: BodyOutline, corners: Array, slots: int, members: Any
    ) -> tuple[Any, Array, Array]:
        """(n, slots) pieces nearest to corners (n, k, 2) of an outline, distances, directions."""
        members = np.asarray(members, dtype=int)
        low, high = corners.min(axis=1), corners.max(axis=1)
        gap = _box_gaps(low, high, self.low[members], self.high[members]) - outline.radius
        count = min(4 * slots + 4, len(members))
        some = np.argpartition(gap, count - 1, axis=1)[:, :count]
        pieces = members[some]
        distance, direction = separations(corners[:, None], self.corners[pieces])
        distance = distance - self.radii[pieces] - outline.radius
        order = np.argsort(distance, axis=1, kind="stable")[:, :slots]
        take = np.take_along_axis
        return (
            take(pieces, order, axis=1),
            take(distance, order, axis=1),
            take(direction, order[..., None], axis=1),
        )

    def clearance(self, run: Trajectory, wanted: float = 0.0) -> Clearance:
        """Least distance along a run, by (1)."""
        x, inputs = self._states(run), self.system.inputs
        u = np.column_stack(
            [run[i.name] if i.name in run else np.zeros(len(run.t)) for i in inputs]
            or [np.zeros((len(run.t), 0))]
        )
        values = self._corner_code().map(run.t, x, u, self.parameters)
        places, speeds = self._split(values)
        best = Clearance(np.inf, np.inf, 0.0, "", -1, np.zeros((0, 2), dtype=np.int64))
        low = np.inf
        close: list[tuple[int, int]] = []
        for group in range(-1, len(self.displacements)):
            members = np.flatnonzero(self.groups == group)
            if not len(members):
                continue
            offset = rate = np.zeros((len(run.t), 2))
            if group >= 0:
                moved, rates = self.offsets(run.t)
                offset, rate = moved[group], rates[group]
            for k, outline in enumerate(self.outlines):
                p, v = places[k] - offset[:, None], speeds[k] - rate[:, None]
                found = self._least(run.t, p, v, outline.radius, members, wanted)
                at, upper, lower, piece, overlaps = found
                low = min(low, lower)
                close += [(k, int(m)) for m in overlaps]
                if upper < best.high:
                    best = Clearance(
                        upper, upper, at, outline.body, int(self.owners[piece]), best.overlaps
                    )
        pairs = np.array(sorted(set(close)), dtype=np.int64).reshape(-1, 2)
        return Clearance(min(low, best.high), best.high, best.t, best.body, best.obstacle, pairs)

    def _least(
        self, t: Array, p: Array, v: Array, radius: float, members: Any, wanted: float
    ) -> tuple[float, float, float, int, Any]:
        """Time, upper and lower bound and piece of the least distance of one outline."""
        h = np.diff(t)
        is_long = h > 0
        a, b = np.flatnonzero(is_long), np.flatnonzero(is_long) + 1
        h = h[is_long]
        # velocity of the cubic: a quadratic with these Bézier coefficients
        middle = 3 * (p[b] - p[a]) / h[:, None, None] - v[a] - v[b]
        sizes = [np.linalg.norm(c, axis=-1).max(axis=-1) for c in (v[a], middle, v[b])]
        speed = np.maximum(np.maximum(sizes[0], sizes[2]), sizes[1])
        gap = _box_gaps(p.min(axis=1), p.max(axis=1), self.low[members], self.high[members])
        gap -= radius
        nearest_ = np.argmin(gap, axis=1)
        first = self._exact(p, members[nearest_], radius)
        k = int(np.argmin(first))
        upper, when, piece = float(first[k]), float(t[k]), int(members[nearest_[k]])
        bound = np.minimum(gap[a], gap[b]) - (speed * h / 2)[:, None]
        lower = upper  # pairs that are left out here stay farther away
        i, m = np.nonzero(bound < max(upper, wanted))
        s0, s1 = np.zeros(len(i)), np.ones(len(i))
        pieces = members[m]
        d0, d1 = self._exact(p[a[i]], pieces, radius), self._exact(p[b[i]], pieces, radius)
        overlaps: list[int] = []
        for _ in range(HALVINGS if len(i) else 0):
            for d, s in ((d0, s0), (d1, s1)):
                j = int(np.argmin(d))
                if d[j] < upper:
                    upper, piece = float(d[j]), int(pieces[j])
                    when = float(t[a[i[j]]] + s[j] * h[i[j]])
            overlaps += list(np.unique(pieces[np.minimum(d0, d1) < wanted]))
            least = (d0 + d1 - speed[i] * h[i] * (s1 - s0)) / 2
            goes_on = least < upper - RESOLUTION
            if np.any(~goes_on):
                lower = min(lower, float(np.min(least[~goes_on])))
            if np.sum(goes_on) > PAIRS:
                lower = min(lower, float(np.min(least)))
                break
            i, pieces = i[goes_on], pieces[goes_on]
            s0, s1, d0, d1 = s0[goes_on], s1[goes_on], d0[goes_on], d1[goes_on]
            if not len(i):
                break
            s = (s0 + s1) / 2
            d = self._exact(_hermite(p, v, a[i], b[i], h[i], s), pieces, radius)
            i, pieces = np.tile(i, 2), np.tile(pieces, 2)
            s0, s1 = np.concatenate([s0, s]), np.concatenate([s, s1])
            d0, d1 = np.concatenate([d0, d]), np.concatenate([d, d1])
        else:
            if len(i):
                lower = min(lower, float(np.min((d0 + d1 - speed[i] * h[i] * (s1 - s0)) / 2)))
        return when, upper, min(lower, upper), piece, np.unique(overlaps).astype(int)

    def _exact(self, corners: Array, pieces: Any, radius: float) -> Array:
        found, _ = separations(corners, self.corners[pieces])
        result: Array = found - self.radii[pieces] - radius
        return result


def _column(obstacle: int) -> str:
    """Name of an obstacle by its place, before the axes of its displacement."""
    return f"obstacle{obstacle + 1}"


def _box_gaps(low: Array, high: Array, lows: Array, highs: Array) -> Array:
    """(n, m) distances of boxes, zero where they overlap."""
    apart = np.maximum(lows[None] - high[:, None], low[:, None] - highs[None])
    found: Array = np.linalg.norm(np.maximum(apart, 0.0), axis=-1)
    return found


def _hermite(p: Array, v: Array, a: Any, b: Any, h: Array, s: Array) -> Array:
    s, h = s[:, None, None], h[:, None, None]
    found: Array = (
        (1 + 2 * s) * (1 - s) ** 2 * p[a]
        + s * (1 - s) ** 2 * h * v[a]
        + s**2 * (3 - 2 * s) * p[b]
        + s**2 * (s - 1) * h * v[b]
    )
    return found

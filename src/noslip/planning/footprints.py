"""Outlines of bodies on the floor, from their shapes or given, and how far they are from obstacles.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, as_number, nearest, real_array
from noslip.engines import System, compile_expression
from noslip.model import NumberReader, frame_numbers
from noslip.planning.obstacles import (
    AbstractObstacle,
    ConvexPiece,
    convex_hull,
    fewer_corners,
    padded,
    separations,
)
from noslip.planning.problem import PlanError
from noslip.simulation import Trajectory

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

"""The path over the ground: where a vehicle and its contacts went, and its outline at equal times.

Everything is drawn in the plane of the first planar or free joint on the world, so that its
coordinates ``x`` and ``y`` are those of the figure. Poses are those of the tree at the sampled
coordinates,

    p = p_WB + R_WB r

for every corner r of a body's meshes; the outline of a mesh is the convex hull of its corners as
seen along the normal of that plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from noslip import SimulationError, Trajectory
from noslip.base import Array
from noslip.kinematics import build_tree, parameter_reader
from noslip.model import WORLD, NumberReader, frame_numbers
from noslip.scene import INK, PATH_COLORS, ground_joints, reference_path, scene
from noslip.show.headlines import axis_label
from noslip.show.outlines import hull
from noslip.show.plots.panels import BELOW, NARROW, legend_columns, legend_rows
from noslip.show.plots.sheets import (
    DASHES,
    EDGE,
    HAIR,
    LEADING,
    LINE,
    ROUNDING,
    THIN,
    Area,
    Frame,
    Names,
    Sheet,
    Stroke,
    Ticks,
    color,
    dashes,
    exponent_of,
    legend_width,
    text_width,
    tick_texts,
    width_of,
)

#: A part that stands out of another by less than this part of its length is not drawn.
NEAR = 0.08


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViewPlane:
    """Plane of projection: its frame in the world, z towards the viewer."""

    rotation: Array
    position: Array

    def seen(self, points: Array) -> Array:
        """(…, 2) places in the plane of points (…, 3) of the world, m."""
        return (points - self.position) @ self.rotation[:, :2]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """A mechanism at a sample: the hulls of its parts, each (k, 2), m."""

    sample: int
    hulls: tuple[Array, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solid:
    """Corners (n, 3) of a mesh that moves with a body, in the body frame, m."""

    body: str
    corners: Array

    def covers(self, other: Solid, seen: Sequence[int]) -> bool:
        """Whether it hides the other, but for a little, in a projection on some axes."""
        low, high = self.corners.min(axis=0), self.corners.max(axis=0)
        near = NEAR * float(np.max(high - low))
        inside = (other.corners >= low - near) & (other.corners <= high + near)
        return self.body == other.body and bool(np.all(inside[:, seen]))


def solids(run: Trajectory) -> list[Solid]:
    """Meshes of a model that move, largest first."""
    drawn = scene(run.model, run.parameters)
    centers = {roller.name: roller.center for roller in drawn.rollers} | {"": np.zeros(3)}
    found = [
        Solid(body=part.body, corners=part.vertices.astype(float) + centers[part.roller])
        for part in drawn.parts
        if part.body != WORLD
    ]
    return sorted(found, key=lambda solid: -float(np.sum(np.ptp(solid.corners, axis=0))))


class Outliner:
    """Outlines of a run's mechanism on a plane, at any of its samples."""

    def __init__(self, run: Trajectory, plane: ViewPlane) -> None:
        self.run, self.plane = run, plane
        self._poses, self._bodies = pose_function(run)
        # marks, hubs and what stands on a larger part of the same body are left out
        self.parts: list[Solid] = []
        at_start = self._table(0)
        for solid in solids(run):
            R, _ = at_start[solid.body]
            seen = np.argsort(np.abs(plane.rotation[:, 2] @ R))[:2].tolist()
            if not any(other.covers(solid, seen) for other in self.parts):
                self.parts.append(solid)

    def __call__(self, samples: Sequence[int]) -> list[Outline]:
        """The outlines at some samples."""
        found = []
        for sample in samples:
            poses = self._table(sample)
            hulls = []
            for part in self.parts:
                R, p = poses[part.body]
                hulls.append(hull(self.plane.seen(part.corners @ R.T + p)))
            found.append(Outline(sample=sample, hulls=tuple(hulls)))
        return found

    def _table(self, sample: int) -> dict[str, tuple[Array, Array]]:
        """Body → orientation and position in the world."""
        columns = np.array(self._poses(self.run.q[sample])).T
        return {
            name: (column[:9].reshape(3, 3), column[9:])
            for name, column in zip(self._bodies, columns, strict=True)
        }


def pose_function(run: Trajectory) -> tuple[ca.Function, list[str]]:
    """q → (12, bodies): R_WB by rows and p_WB of each body; and the bodies' names in order."""
    q = ca.SX.sym("q", run.q.shape[1])
    params = ca.SX([run.parameters[p.name] for p in run.model.parameters])
    tree = build_tree(run.model, q, parameter_reader(run.model, params))
    # a matrix by columns of its transpose is itself by rows
    columns = [ca.vertcat(ca.vec(node.R_WB.T), node.p_WB) for node in tree.nodes]
    function = ca.Function("poses", [q], [ca.densify(ca.horzcat(*columns))])
    return function, [node.body.name for node in tree.nodes]


#: Outlines at most, and the part of the picture below which they are too small to be seen.
MOST, SMALLEST = 13, 0.012
#: Outlines are this many of their own lengths apart on the average.
APART = 1.0
#: The same between obstacles.
DENSE = 0.4
#: An outline nearer than this many lengths to another is left out.
CLEAR = 0.6
#: Height of the picture over its width, least and largest.
FLATTEST, TALLEST = 0.28, 1.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """A path in the plane of the figure: (n,) x and y, m; thin for contacts."""

    name: str
    x: Array
    y: Array
    is_contact: bool = False
    is_reference: bool = False
    is_estimate: bool = False


def ground_plane(run: Trajectory) -> ViewPlane:
    """The plane of the first of them."""
    joints = ground_joints(run)
    if not joints:
        raise SimulationError(
            "nothing moves over the ground, so there is no path",
            f"plot of model '{run.model.name}'",
            'draw its coordinates, what="coordinates"',
        )
    R, p = frame_numbers(joints[0].parent_frame, NumberReader(run.parameters))
    return ViewPlane(rotation=R, position=p)


def ground_paths(run: Trajectory) -> list[Path]:
    """Paths of vehicles, their references and their contacts, in the plane of the first."""
    plane = ground_plane(run)
    paths: list[Path] = []
    for k, joint in enumerate(ground_joints(run)):
        for prefix in ("", "reference.", "estimate."):
            names = [f"{prefix}{joint.name}.{axis}" for axis in "xyz"]
            if names[0] not in run.columns:
                continue
            x, y = run[names[0]], run[names[1]]
            if k:
                z = run[names[2]] if names[2] in run.columns else np.zeros(len(x))
                R, p = frame_numbers(joint.parent_frame, NumberReader(run.parameters))
                x, y = plane.seen(np.column_stack([x, y, z]) @ R.T + p).T
            paths.append(
                Path(
                    name=f"{joint.name} {prefix[:-1]}".strip(),
                    x=x,
                    y=y,
                    is_reference=prefix == "reference.",
                    is_estimate=prefix == "estimate.",
                )
            )
    followed = reference_path(run)
    if followed is not None and not any(path.is_reference for path in paths):
        x, y = plane.seen(followed).T
        paths.append(Path(name="reference path", x=x, y=y, is_reference=True))
    for contact in run.model.contacts:
        columns = [f"{contact.name}.contact_{axis}" for axis in "xyz"]
        if columns[0] in run.columns:
            x, y = plane.seen(np.column_stack([run[c] for c in columns])).T
            paths.append(Path(name=f"{contact.name} contact", x=x, y=y, is_contact=True))
    return [path for path in paths if np.any(np.isfinite(path.x))]


def path_sheet(
    runs: Sequence[Trajectory],
    labels: Sequence[str],
    *,
    title: str = "",
    size: str = "page",
    height: float | None = None,
) -> Sheet:
    """Paths over the ground of one run, or the vehicles' paths of several."""
    several = len(runs) > 1
    drawn: list[Path] = []
    for run, label in zip(runs, labels, strict=True):
        paths = ground_paths(run)
        if several:
            paths = [p for p in paths if not (p.is_contact or p.is_reference or p.is_estimate)]
            paths = [_renamed(p, label if len(paths) == 1 else f"{label} {p.name}") for p in paths]
        drawn += _without_repeats(paths)
    shown = [] if several else _outlines(runs[0], drawn)
    names, samples = _entries(runs[0], drawn, shown)
    believed = () if several else estimate_ellipses(runs[0])
    if believed:
        names.append("95 % of the estimate")
        samples.append(_believed(()))
    width = width_of(size)
    low, high = _extent(drawn, shown, believed)
    obstacles = () if several else _obstacles(runs[0], shown, low, high)
    if obstacles:
        names.append("obstacles")
        samples.append(_blocked(()))
        margin = 0.06 * float(np.max(high - low))
        near = np.clip(np.concatenate(obstacles), low - 2 * margin, high + 2 * margin)
        low, high = np.minimum(low, near.min(axis=0)), np.maximum(high, near.max(axis=0))
    beside = width >= NARROW
    numbers = tick_texts(low[1], high[1], exponent_of(low[1], high[1]), 6)
    left = EDGE + max(map(text_width, numbers)) + LEADING + 0.12
    right = EDGE + (0.1 + legend_width(names) if beside else 0.0)
    inner = width - left - right
    # below the axes, or from the edge of the figure where two columns need its whole width
    at, room = (0.0, inner) if legend_columns(names, inner) > 1 else (EDGE - left, width - 2 * EDGE)
    columns = 1 if beside else legend_columns(names, room)
    below = BELOW + (0.0 if beside else LEADING * legend_rows(names, room) + 0.04)
    ratio = float(np.clip((high[1] - low[1]) / (high[0] - low[0]), FLATTEST, TALLEST))
    tall = height or max(ratio * min(inner, 5.0), LEADING * len(names) if beside else 0.0)
    top = EDGE + (0.2 if title else 0.0)
    frame = _frame(
        drawn,
        shown,
        believed,
        obstacles,
        box=(left, below, inner, tall),
        corners=(low, high),
        steps=8 if beside else 5,
        names=Names(
            names=tuple(names),
            samples=tuple(samples),
            at=(1 + 0.1 / inner, 1.0) if beside else (at / inner, -BELOW / tall),
            columns=columns,
        ),
    )
    return Sheet(width=width, height=tall + top + below, frames=(frame,), title=title, left=left)


def _renamed(path: Path, name: str) -> Path:
    return Path(name=name, x=path.x, y=path.y)


def _without_repeats(paths: list[Path]) -> list[Path]:
    """Without contacts that lie on a path that is drawn anyway; references there are said to."""
    kept: list[Path] = []
    scale = max((float(np.ptp(p.x) + np.ptp(p.y)) for p in paths), default=0.0) or 1.0
    for path in paths:
        apart = [
            float(np.max(np.hypot(path.x - other.x, path.y - other.y)))
            for other in kept
            if len(other.x) == len(path.x)
        ]
        nearest = min(apart, default=1.0)
        if path.is_reference and nearest <= 2e-3 * scale:
            sign = "=" if nearest <= ROUNDING * scale else "≈"
            kept.append(replace(path, name=f"{sign} {path.name}"))
        elif not path.is_contact or nearest > 2e-3 * scale:
            kept.append(path)
    return kept


def _outlines(run: Trajectory, paths: Sequence[Path]) -> list[Outline]:
    """Outlines of the vehicle at equal times; none where it is too small to be seen."""
    if len(run.t) < 2 or not paths:
        return []
    outline_at = Outliner(run, ground_plane(run))
    if not outline_at.parts:
        return []
    main = paths[0]
    length = float(np.max(np.ptp(np.concatenate(outline_at([0])[0].hulls), axis=0)))
    if length < SMALLEST * max(float(np.ptp(main.x)), float(np.ptp(main.y))):
        return []
    gone = float(np.sum(np.hypot(np.diff(main.x), np.diff(main.y))))
    count = int(np.clip(gone / (APART * length), 1, MOST - 1))
    if run.obstacles:  # what it comes near to matters, and where it ends
        times = np.linspace(0.0, run.t[-1], int(np.clip(gone / (DENSE * length), 2, MOST)))
        return outline_at([int(np.argmin(np.abs(run.t - time))) for time in times])
    # where it hardly moved it stands in its own way
    apart: list[int] = []
    for k in _equal_times(run.t, count):
        far = [np.hypot(main.x[k] - main.x[j], main.y[k] - main.y[j]) for j in apart]
        if min(far, default=np.inf) > CLEAR * length:
            apart.append(k)
    return outline_at(apart)


#: Round times, over a power of ten.
ROUND = (1.0, 2.0, 2.5, 4.0, 5.0, 10.0, 20.0)


def _equal_times(t: Array, count: int) -> list[int]:
    """Samples nearest to round times, at most `count` steps apart, and the last one if it fits."""
    span = float(t[-1] - t[0])
    order = 10.0 ** np.floor(np.log10(span / count))
    step = next(order * f for f in ROUND if span / (order * f) <= count + 1e-9)
    at = t[0] + step * np.arange(int(np.floor(span / step + 1e-9)) + 1)
    return [int(np.argmin(np.abs(t - time))) for time in at]


def _round_time(span: float) -> float:
    """The round time that samples nearest to its multiples are apart by."""
    order = 10.0 ** np.floor(np.log10(span))
    return float(min((order * f for f in ROUND), key=lambda x: abs(x - span)))


def _entries(
    run: Trajectory, paths: Sequence[Path], shown: Sequence[Outline]
) -> tuple[list[str], list[Stroke | Area]]:
    """Names and samples of the legend."""
    names = [path.name for path in paths]
    samples: list[Stroke | Area] = [*_strokes(paths)]
    if paths:
        names.append("start")
        samples.append(_start(paths[0]))
    if shown:
        times = np.diff([run.t[outline.sample] for outline in shown])
        every = "at equal times"
        if not run.obstacles:
            every = f"every {_round_time(times.min()):g} s" if len(times) else "at the start"
        names.append(every)
        samples.append(_outlined(()))
    return names, samples


def _strokes(paths: Sequence[Path]) -> list[Stroke]:
    """Lines of paths, those of each kind told apart by color or dashes."""
    found, bodies, contacts = [], 0, 0
    for path in paths:
        found.append(_stroke(path, contacts if path.is_contact else bodies))
        contacts += path.is_contact
        bodies += not (path.is_contact or path.is_reference or path.is_estimate)
    return found


def _stroke(path: Path, k: int) -> Stroke:
    if path.is_estimate:
        style = {"color": PATH_COLORS["estimate"], "width": THIN, "level": 3.3, "dashes": ()}
    elif path.is_reference:
        style = {"color": INK, "width": THIN, "level": 3.5, "dashes": (4.0, 1.6)}
    elif path.is_contact:
        kind = DASHES[k % len(DASHES)]
        style = {"color": PATH_COLORS["contact"], "width": THIN, "level": 2.0, "dashes": kind}
    else:
        style = {"color": color(k), "width": 1.4 * LINE, "level": 3.0, "dashes": dashes(k)}
    return Stroke(x=path.x, y=path.y, label=path.name, **style)  # type: ignore[arg-type]


def _start(path: Path) -> Stroke:
    return Stroke(x=path.x[:1], y=path.y[:1], color=INK, dot=4.0, level=4.0)


def _outlined(hulls: Sequence[Array]) -> Area:
    return Area(polygons=tuple(hulls), fill=0.07, edge=0.55, width=HAIR, level=2.5)


def _blocked(polygons: Sequence[Array]) -> Area:
    return Area(polygons=tuple(polygons), fill=0.35, edge=0.9, width=HAIR, level=1.5)


def _obstacles(
    run: Trajectory, shown: Sequence[Outline], low: Array, high: Array
) -> tuple[Array, ...]:
    """Obstacles in view, m; those that move at the samples of the outlines."""
    room = 0.15 * float(np.max(high - low))
    at = [outline.sample for outline in shown] or [0]
    still = run.obstacles_at(at[0])
    found = [p for p, (_, moves) in zip(still, run.obstacles, strict=True) if not moves]
    for k in at:
        moved = run.obstacles_at(k)
        found += [p for p, (_, moves) in zip(moved, run.obstacles, strict=True) if moves]
    return tuple(
        p
        for p in found
        if np.all(p.max(axis=0) > low - room) and np.all(p.min(axis=0) < high + room)
    )


def _believed(polygons: Sequence[Array]) -> Area:
    return Area(
        polygons=tuple(polygons),
        color=PATH_COLORS["estimate"],
        fill=0.16,
        edge=0.9,
        width=HAIR,
        level=3.2,
    )


def estimate_ellipses(run: Trajectory) -> tuple[Array, ...]:
    """Ellipses, each (k, 2), that hold 95 % of the places an estimate leaves open, at equal times.

    (p − p̂)ᵀ P⁻¹ (p − p̂) = 5.991, the quantile of chi-square for two degrees of freedom.
    """
    joint = ground_joints(run)[0].name
    x, y = f"{joint}.x", f"{joint}.y"
    if f"covariance.{x},{x}" not in run.columns or len(run.t) < 2:
        return ()
    angle = np.linspace(0.0, 2 * np.pi, 49)
    circle = np.sqrt(-2 * np.log(0.05)) * np.array([np.cos(angle), np.sin(angle)])
    found = []
    for k in _equal_times(run.t, MOST - 1):
        both = run[f"covariance.{x},{y}"][k]
        P = np.array([[run[f"covariance.{x},{x}"][k], both], [both, run[f"covariance.{y},{y}"][k]]])
        sizes, axes = np.linalg.eigh(P)
        center = np.array([run[f"estimate.{x}"][k], run[f"estimate.{y}"][k]])
        found.append((axes * np.sqrt(np.maximum(sizes, 0.0)) @ circle).T + center)
    return tuple(found)


def _frame(
    paths: Sequence[Path],
    shown: Sequence[Outline],
    believed: Sequence[Array],
    obstacles: Sequence[Array],
    *,
    box: tuple[float, float, float, float],
    corners: tuple[Array, Array],
    steps: int,
    names: Names,
) -> Frame:
    """The map, with the same scale on both axes: its smaller side is widened to the box."""
    left, _, wide, tall = box
    low, high = corners
    ratio = tall / wide
    middle, half = (low + high) / 2, (high - low) / 2
    scale = max(half[0], half[1] / ratio)
    size = float(np.max(np.abs([low, high])))
    exponent = exponent_of(-size, size)
    strokes = []
    for path, stroke in zip(paths, _strokes(paths), strict=True):
        strokes.append(stroke)
        if not (path.is_contact or path.is_reference or path.is_estimate):
            strokes.append(_start(path))
    hulls = [hull for outline in shown for hull in outline.hulls if len(hull) > 1]
    return Frame(
        box=box,
        x_limits=(middle[0] - scale, middle[0] + scale),
        y_limits=(middle[1] - scale * ratio, middle[1] + scale * ratio),
        x_ticks=Ticks(count=steps, exponent=exponent),
        y_ticks=Ticks(count=max(3, round(steps * ratio)), exponent=exponent),
        x_label=axis_label("x", "m", exponent),
        y_label=axis_label("y", "m", exponent),
        room=left - EDGE,
        strokes=tuple(strokes),
        areas=((_blocked(obstacles),) if obstacles else ())
        + ((_outlined(hulls),) if hulls else ())
        + ((_believed(believed),) if believed else ()),
        names=names,
        is_map=True,
    )


def _extent(
    paths: Sequence[Path], shown: Sequence[Outline], believed: Sequence[Array]
) -> tuple[Array, Array]:
    """Corners of the box around all that is drawn, with room, m."""
    points = [*(np.column_stack([p.x, p.y]) for p in paths), *believed]
    points += [hull for outline in shown for hull in outline.hulls]
    every = np.concatenate(points)
    every = every[np.all(np.isfinite(every), axis=1)]
    low, high = every.min(axis=0), every.max(axis=0)
    margin = 0.04 * max(float(np.max(high - low)), 1e-9)
    return low - margin, high + margin

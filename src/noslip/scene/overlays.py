"""What stands beside the bodies of a picture: cameras, the ground's grid, traces, and arrows.

**A camera that shows the whole motion, and how the view follows a body.**

**Overlays drawn beside the bodies: the ground's grid, traces, and arrows.**
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.base import Array
from noslip.model import WORLD, rotation_to, round_cell
from noslip.scene import colors
from noslip.scene.assembly import Frames, Ground, Scene, part_poses
from noslip.scene.geometry import Color, rgb

#: Upright angle of view, rad.
FIELD_OF_VIEW = float(np.radians(32.0))
#: Above the horizon, rad, one looks from.
ELEVATION = float(np.radians(26.0))
#: Directions to choose from: angles about the upward direction, from ahead to the left of the
#: world's x axis, all of them with x pointing more or less to the right of the picture.
AZIMUTHS = tuple(float(np.radians(a)) for a in (-62.0, -75.0, -105.0, -118.0))
#: A direction is left for a later one if that brings the motion this much nearer.
NEARER = 0.95
#: Frames that are looked at when the view is fitted.
LOOKED_AT = 150
#: Curved ground that is in view: so far about the motion, over the size of that.
AROUND = 0.3
#: A motion that is longer than this many times the model is followed instead of fitted.
FAR = 12.0
#: Nothing nearer to the camera than this part of its distance is drawn.
NEAREST = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Camera:
    """Camera: its position and the point that it looks at."""

    #: position, look_at: m, in the world
    position: Array
    look_at: Array
    up: Array  #: upward direction
    #: angle from the lower to the upper edge of the picture, rad
    field_of_view: float = FIELD_OF_VIEW

    def moved(self, offset: Array) -> Camera:
        """The same view from another place."""
        return dataclasses.replace(
            self, position=self.position + offset, look_at=self.look_at + offset
        )

    def picture(self, width: int, height: int) -> CameraView:
        """A picture of so many pixels by this camera."""
        return CameraView(camera=self, width=width, height=height)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CameraView:
    """A camera with a picture of `width` by `height` pixels."""

    camera: Camera
    width: int
    height: int

    @property
    def axes(self) -> Array:
        """(3, 3) right, down and forward directions of the picture, by rows."""
        forward = self.camera.look_at - self.camera.position
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, self.camera.up)
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(forward, right), forward])

    @property
    def near(self) -> float:
        """Least depth, m."""
        return NEAREST * float(np.linalg.norm(self.camera.look_at - self.camera.position))

    def seen(self, points: Array) -> Array:
        """Points (…, 3) in the axes of the picture, the third one depth, m."""
        result: Array = (points - self.camera.position) @ self.axes.T
        return result

    def pixels(self, seen: Array) -> Array:
        """(…, 2) places on the picture of points (…, 3) in its axes, in pixels."""
        focal = self.height / 2 / np.tan(self.camera.field_of_view / 2)
        depth = np.maximum(seen[..., 2:], self.near)
        middle = np.array([self.width / 2, self.height / 2])
        result: Array = middle + focal * seen[..., :2] / depth
        return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extent:
    """The box that a motion fills, with axes of the world, m."""

    lower: Array
    upper: Array

    @property
    def center(self) -> Array:
        """Middle of the box."""
        middle: Array = (self.lower + self.upper) / 2
        return middle

    @property
    def size(self) -> float:
        """Length of its diagonal."""
        return float(np.linalg.norm(self.upper - self.lower))

    @property
    def corners(self) -> Array:
        """(8, 3)."""
        pick = np.array([[k >> j & 1 for j in range(3)] for k in range(8)], dtype=bool)
        return np.where(pick, self.upper, self.lower)


def extent(scene: Scene, frames: Frames) -> Extent:
    """The box that all bodies fill over the frames."""
    points = _points(scene, frames)
    return Extent(lower=points.min(axis=0), upper=points.max(axis=0))


def camera(
    scene: Scene,
    frames: Frames,
    *,
    aspect: float = 1.5,
    follow: bool = False,
    azimuth: float | None = None,
    elevation: float = ELEVATION,
) -> Camera:
    """A camera that has the whole motion in view, as near as it can be.

    Parameters
    ----------
    aspect : width of the picture over its height.
    follow : fit the bodies about the point of :func:`followed`, as seen at the first frame.
    azimuth, elevation : direction one looks from, rad; by default the azimuth is that of
        :data:`AZIMUTHS` from which the bodies look largest.
    """
    center = followed(scene, frames)
    points = _points(scene, frames, -center if follow else None)
    best: tuple[float, Camera] | None = None
    for angle in AZIMUTHS if azimuth is None else (azimuth,):
        distance, view = _fitted(points, _direction(scene.up, angle, elevation), scene.up, aspect)
        if best is None or distance < NEARER * best[0]:
            best = distance, view
    assert best is not None
    return best[1].moved(center[0]) if follow else best[1]


def followed(scene: Scene, frames: Frames) -> Array:
    """(k, 3) the point a following view moves with: the mean place of the bodies, not its height.

    It is taken between the origins of all bodies, so that nothing that turns makes the view shake.
    """
    if not frames.bodies:
        return np.zeros((len(frames), 3))
    middle = frames.centers.mean(axis=1)
    up = scene.up
    return middle - np.outer((middle - middle[0]) @ up, up)


def is_far(scene: Scene, frames: Frames) -> bool:
    """Whether the motion is so long that the bodies would be specks if all of it were in view."""
    return extent(scene, frames).size > FAR * 2 * scene.length


def _points(scene: Scene, frames: Frames, shift: Array | None = None) -> Array:
    """(n, 3) corners of the boxes about all parts, or of parts, at some of the frames.

    Of curved ground and obstacles only what is near the motion: a landscape goes on beyond the
    picture.
    """
    every = max(1, len(frames) // LOOKED_AT)
    chosen = slice(None, None, every)
    moved_by = 0.0 if shift is None else shift[chosen, None, :]
    points, grounds = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for part in scene.parts:
        low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
        corners = Extent(lower=low.astype(float), upper=high.astype(float)).corners
        if scene.is_curved or part.is_obstacle:
            # bowls and dishes are round, and much smaller than the boxes about them
            corners = part.vertices.astype(float)
        R, p = part_poses(scene, frames, part, chosen)
        moved = np.einsum("nij,cj->nci", R, corners) + p[:, None, :] + moved_by
        (grounds if part.is_ground or part.is_obstacle else points).append(moved.reshape(-1, 3))
    found, ground = np.concatenate(points), np.concatenate(grounds)
    if len(found) and len(ground):
        low, high = found.min(axis=0), found.max(axis=0)
        room = max(1.5 * scene.length, AROUND * float(np.linalg.norm(high - low)))
        beside = np.maximum(low - ground, ground - high)
        level = beside - np.outer(beside @ scene.up, scene.up)
        ground = ground[np.max(level, axis=1) <= room]
    found = np.concatenate([found, ground])
    return found if len(found) else np.zeros((1, 3))


def _direction(up: Array, azimuth: float, elevation: float) -> Array:
    """Unit vector from what is looked at to the camera."""
    ahead = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    ahead = ahead - (ahead @ up) * up
    ahead = ahead / np.linalg.norm(ahead)
    level = np.cos(azimuth) * ahead + np.sin(azimuth) * np.cross(up, ahead)
    direction: Array = np.cos(elevation) * level + np.sin(elevation) * up
    return direction


def _fitted(points: Array, back: Array, up: Array, aspect: float) -> tuple[float, Camera]:
    """The least distance at which all points are in view, and the camera there.

    With a, d the parts of a point along the picture and towards the camera, and T the tangent of
    half the angle of view, it is seen if |a| ≤ T (D − d). Both edges are touched by the points if
    the middle is at s = T/2 (max(d + a/T) − max(d − a/T)).
    """
    right = np.cross(up, back)
    right = right / np.linalg.norm(right)
    over = np.cross(back, right)
    tangent = float(np.tan(FIELD_OF_VIEW / 2))
    middle, distances = np.zeros(3), []
    start = points.mean(axis=0)
    depth = (points - start) @ back
    for axis, edge in ((right, tangent * aspect), (over, tangent)):
        along = (points - start) @ axis
        most, least = np.max(depth + along / edge), np.max(depth - along / edge)
        middle = middle + edge / 2 * (most - least) * axis
        distances.append((most + least) / 2)
    distance = 1.1 * max(float(max(distances)), 1e-6)
    look_at = start + middle
    return distance, Camera(position=look_at + distance * back, look_at=look_at, up=up)


CONTACT_TRACE, CENTER_TRACE = rgb(colors.PATH_COLORS["contact"]), rgb(colors.PATH_COLORS["body"])
REFERENCE_TRACE, ESTIMATE_TRACE = rgb(colors.INK), rgb(colors.PATH_COLORS["estimate"])
#: Kind of a trace → its color.
KINDS = {
    "contact": CONTACT_TRACE,
    "center_of_mass": CENTER_TRACE,
    "origin": CENTER_TRACE,
    "reference": REFERENCE_TRACE,
    "path": REFERENCE_TRACE,
    "estimate": ESTIMATE_TRACE,
}
#: The same → what it is called, where that is another word.
WORDS = {"center_of_mass": "mass center", "origin": "", "path": "reference path"}
#: Kinds that are there from the start and are dashed.
PLANS = ("reference", "path")
#: Dashes of a reference, and what is between them, over the model's length.
DASH, GAP = 0.25, 0.15
#: Most dashes of a reference.
MOST_DASHES = 400
#: Traces of one color that a legend names.
NAMED = 4
FORCE, VELOCITY = rgb(colors.FORCE), rgb(colors.VELOCITY)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Squares on a ground."""

    body: str  #: body that carries it
    #: rotation, position: pose of its middle, a crossing of lines, on that body
    rotation: Array
    position: Array
    width: float  #: width of the whole, m, an even number of cells
    cell: float  #: width of a square, m; every fifth line is heavier


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """The path of a point."""

    name: str  #: name of the point that it follows, and its kind
    points: Array  #: (k, 3) in the world, m
    color: Color  #: color of its line
    #: (j, 2, 3) of a reference, which is there from the start; None for what was gone
    dashes: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrows:
    """Arrows of one kind: (k, n, 3) starts and ends over the frames."""

    name: str
    starts: Array
    ends: Array
    color: Color


def grids(scene: Scene, box: Extent, room: float = 0.0) -> tuple[Grid, ...]:
    """A grid for each plane; a floor below everything for models that touch no fixed ground.

    With room, m, to go on in any direction. Curved ground has lines of its own.
    """
    grounds = list(scene.grounds)
    on_curved = any(part.is_ground and part.body == WORLD for part in scene.parts)
    if not on_curved and not any(ground.body == WORLD for ground in grounds):
        grounds.append(_floor(scene, box))
    found = []
    for ground in grounds:
        if ground.body == WORLD:
            wide = 1.25 * float(np.max(box.upper - box.lower)) + 2 * (scene.length + room)
            middle = box.center
        else:
            wide, middle = 3 * scene.length, ground.position
        cell = round_cell(wide)
        found.append(
            Grid(
                body=ground.body,
                rotation=ground.rotation,
                position=_crossing(middle, ground, cell),
                width=float(np.ceil(wide / (2 * cell)) * 2 * cell),
                cell=cell,
            )
        )
    return tuple(found)


def traces(scene: Scene, frames: Frames) -> tuple[Trace, ...]:
    """Paths worth drawing: what moves; of mass centers only those of bodies without a contact.

    Of what follows a reference the point that follows is drawn, not the mass center. They are
    lifted a little, so that they do not drown in the ground.
    """
    if len(frames) < 2:
        return ()
    # curved ground is drawn by flat triangles, which reach above it
    lift = (4e-2 if scene.is_curved else 4e-3) * scene.length * scene.up
    found = []
    for name, points in frames.traces.items():
        what, _, kind = name.rpartition(".")
        still = float(np.max(np.ptp(points, axis=0))) < 1e-3 * scene.length
        if still or name in scene.untraced:
            continue
        if kind == "center_of_mass" and f"{what}.origin" in frames.traces:
            continue
        is_plan = kind in PLANS
        raised = points + (1.5 * lift if is_plan else lift)
        found.append(
            Trace(
                name=name,
                points=raised,
                color=KINDS[kind],
                dashes=dashed(rounded(raised), scene.length) if is_plan else None,
            )
        )
    return tuple(found)


def dashed(points: Array, length: float) -> Array:
    """Dashes (j, 2, 3) along a curve through points (k, 3), for a model of a length, m."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    period = (DASH + GAP) * length
    # of a long way no more dashes than can be seen
    period = max(period, way[-1] / MOST_DASHES)
    begin = np.arange(0.0, way[-1], period)
    ends = np.stack([begin, np.minimum(begin + DASH / (DASH + GAP) * period, way[-1])], axis=1)
    result: Array = np.stack([np.interp(ends, way, points[:, j]) for j in range(3)], axis=-1)
    return result


def trace_names(shown: Iterable[Trace], most: int = NAMED) -> dict[Color, str]:
    """Color of traces → what they follow: ``wheel1 contact``, ``contacts of wheel1, wheel2``.

    `most`: names of one kind that are written out; 0 for the kind alone, ``contacts``.
    """
    found: dict[Color, dict[str, list[str]]] = {}
    for trace in shown:
        what, _, kind = trace.name.rpartition(".")
        found.setdefault(trace.color, {}).setdefault(kind, []).append(what)
    return {
        color: ", ".join(_together(kind, names, most) for kind, names in kinds.items())
        for color, kinds in found.items()
    }


def _together(kind: str, names: list[str], most: int) -> str:
    """Names of one kind of traces."""
    word = WORDS.get(kind, kind)
    if not most and word:
        return word if len(names) == 1 else f"{word}s"
    most = max(most, 1)
    listed = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    if len(names) == 1 or not word:
        return f"{listed} {word}".strip()
    return f"{word}s of {listed}"


def scale_text(scene: Scene, found: Sequence[Grid], speed: float = 1.0) -> str:
    """Scale of the grid, where there is one, and how fast the motion is shown."""
    cell = found[0].cell if found else scene.line_distance
    said = [] if cell is None else [f"grid {cell:g}\N{NO-BREAK SPACE}m"]
    if speed > 1:
        said.append(f"{speed:g} times as fast")
    elif speed < 1:
        said.append(f"{1 / speed:.3g} times slower")
    return ", ".join(said)


def rounded(points: Array, between: int = 4) -> Array:
    """A curve through points (k, 3) with more points between them (Catmull and Rom's spline).

    Pictures are too few to draw a fast motion by straight lines from one to the next.
    """
    if len(points) < 3 or between < 2:
        return points
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    a, b, c, d = (ends[k : len(ends) - 3 + k, None, :] for k in range(4))
    s = (np.arange(between) / between)[None, :, None]
    curve = b + s / 2 * ((c - a) + s * (2 * a - 5 * b + 4 * c - d + s * (3 * (b - c) + d - a)))
    return np.concatenate([curve.reshape(-1, 3), points[-1:]])


def fineness(points: Array) -> int:
    """Number of pieces between two points for a smooth curve: one where they lie close."""
    steps = np.diff(points, axis=0)
    size = np.linalg.norm(steps, axis=1)
    moving = size > 1e-2 * np.max(size, initial=0.0)
    steps, size = steps[moving], size[moving]
    if len(steps) < 2:
        return 1
    cosine = np.clip(np.sum(steps[1:] * steps[:-1], axis=1) / (size[1:] * size[:-1]), -1.0, 1.0)
    turn = float(np.degrees(np.percentile(np.arccos(cosine), 90)))
    return int(np.clip(np.ceil(turn / 2.5), 1, 6))


def arrows(scene: Scene, frames: Frames, *, forces: bool, velocities: bool) -> tuple[Arrows, ...]:
    """Arrows at contacts and mass centers; the longest of a kind is as long as the model."""
    found = []
    if velocities and frames.bodies:
        moving = [
            k
            for k, name in enumerate(frames.bodies)
            if f"{name}.center_of_mass" not in scene.untraced
        ]
        found.append(
            ("velocities", frames.centers[:, moving], frames.velocities[:, moving], VELOCITY)
        )
    if forces and frames.forces:
        points, vectors = (np.stack(x, axis=1) for x in zip(*frames.forces.values(), strict=True))
        found.append(("forces", points, vectors, FORCE))
    result = []
    for name, points, vectors, color in found:
        longest = float(np.max(np.linalg.norm(vectors, axis=-1), initial=0.0))
        if longest > 0:
            ends = points + 1.5 * scene.length / longest * vectors
            result.append(Arrows(name=name, starts=points, ends=ends, color=color))
    return tuple(result)


def pale(color: Color, share: float = 0.4, paper: Color = (255, 255, 255)) -> Color:
    """A color mixed with that of the paper."""
    r, g, b = (round(p - share * (p - c)) for c, p in zip(color, paper, strict=True))
    return r, g, b


def _floor(scene: Scene, box: Extent) -> Ground:
    lowest = float(np.min(box.corners @ scene.up))
    position = box.center + scene.up * (lowest - float(box.center @ scene.up))
    return Ground(body=WORLD, rotation=rotation_to(scene.up), position=position)


def _crossing(middle: Array, ground: Ground, cell: float) -> Array:
    """The crossing of lines through the ground's origin that is nearest to a point."""
    local = ground.rotation.T @ (middle - ground.position)
    local = np.array([*(np.round(local[:2] / cell) * cell), 0.0])
    crossing: Array = ground.position + ground.rotation @ local
    return crossing

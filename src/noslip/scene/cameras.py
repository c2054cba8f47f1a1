"""A camera that shows the whole motion, and how the view follows a body."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from noslip.base import Array
from noslip.scene.assembly import Frames, Scene, part_poses

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

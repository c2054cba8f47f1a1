"""A camera that shows the whole motion, and how the view follows a body."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from noslip.model.bodies import WORLD
from noslip.show.scene.frames import Frames
from noslip.show.scene.geometry import Array, rotations_of
from noslip.show.scene.scene import Scene

#: Upright angle of view, rad.
FIELD_OF_VIEW = float(np.radians(40.0))
#: From where one looks: angle about the upward direction from the right of the model's x axis, and
#: above the horizon, rad.
AZIMUTH, ELEVATION = float(np.radians(-62.0)), float(np.radians(28.0))
#: A motion that is longer than this many times the model is followed instead of fitted.
FAR = 12.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Camera:
    """Where one looks from, and where to.

    Parameters
    ----------
    position, look_at : m, in the world.
    up : upward direction.
    field_of_view : from the lower to the upper edge of the picture, rad.
    """

    position: Array
    look_at: Array
    up: Array
    field_of_view: float = FIELD_OF_VIEW

    def moved(self, offset: Array) -> Camera:
        """The same view from another place."""
        return dataclasses.replace(
            self, position=self.position + offset, look_at=self.look_at + offset
        )


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


def extent(scene: Scene, frames: Frames, *, around: Array | None = None) -> Extent:
    """The box that all bodies fill over the frames.

    Parameters
    ----------
    around : (k, 3) a point that the view moves with; the box is then that of the motion about it.
    """
    shift = np.zeros((len(frames), 1, 3)) if around is None else -around[:, None, :]
    points = []
    for part in scene.parts:
        low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
        corners = Extent(lower=low.astype(float), upper=high.astype(float)).corners
        if part.body == WORLD:
            points.append((corners + shift).reshape(-1, 3))
            continue
        k = frames.bodies.index(part.body)
        R = rotations_of(frames.quaternions[:, k])
        moved = np.einsum("nij,cj->nci", R, corners) + frames.positions[:, k, None, :]
        points.append((moved + shift).reshape(-1, 3))
    stacked = np.concatenate(points) if points else np.zeros((1, 3))
    return Extent(lower=stacked.min(axis=0), upper=stacked.max(axis=0))


def camera(
    scene: Scene,
    frames: Frames,
    *,
    aspect: float = 1.5,
    follow: bool = False,
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
) -> Camera:
    """A camera that has the whole motion in view.

    Parameters
    ----------
    aspect : width of the picture over its height.
    follow : fit the bodies about the point of :func:`followed` at the first frame instead.
    azimuth, elevation : of the direction one looks from, rad.
    """
    center = followed(scene, frames)
    box = extent(scene, frames, around=center) if follow else extent(scene, frames)
    up = scene.up
    ahead = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    ahead = ahead - (ahead @ up) * up
    ahead /= np.linalg.norm(ahead)
    left = np.cross(up, ahead)
    level = np.cos(azimuth) * ahead + np.sin(azimuth) * left
    back = np.cos(elevation) * level + np.sin(elevation) * up
    view = Camera(
        position=box.center + back * _distance(box, back, up, aspect), look_at=box.center, up=up
    )
    return view.moved(center[0]) if follow else view


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


def _distance(box: Extent, back: Array, up: Array, aspect: float) -> float:
    """Least distance at which all corners of a box are in view, and a bit."""
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    over = np.cross(back, right)
    d = box.corners - box.center
    tangent = np.tan(FIELD_OF_VIEW / 2)
    # a corner d is seen at height d·over / (distance − d·back)
    needed = [
        d @ back + np.abs(d @ over) / tangent,
        d @ back + np.abs(d @ right) / (tangent * aspect),
    ]
    return 1.08 * max(float(np.max(needed)), 1e-6)

"""Where each part of a scene is at the frames of a motion."""

from __future__ import annotations

import numpy as np

from noslip.model.bodies import WORLD
from noslip.show.scene.frames import Frames
from noslip.show.scene.geometry import Array, rotations_of
from noslip.show.scene.scene import Part, Scene


def part_poses(
    scene: Scene, frames: Frames, part: Part, index: slice | int = slice(None)
) -> tuple[Array, Array]:
    """Orientation (…, 3, 3) and position (…, 3) of a part's frame in the world."""
    if part.body == WORLD:
        shape = frames.times[index].shape
        return np.broadcast_to(np.eye(3), (*shape, 3, 3)), np.zeros((*shape, 3))
    k = frames.bodies.index(part.body)
    R, p = rotations_of(frames.quaternions[index, k]), frames.positions[index, k]
    if not part.roller:
        return R, p
    roller = next(r for r in scene.rollers if r.name == part.roller)
    spin = rotations_of(roller_quaternions(roller.axis, frames.rolled[part.roller][index]))
    return R @ spin, p + R @ roller.center


def roller_quaternions(axis: Array, angle: Array) -> Array:
    """(…, 4) rotations by angles about a unit axis."""
    half = np.asarray(angle)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)

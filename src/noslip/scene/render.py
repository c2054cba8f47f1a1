"""A small renderer: triangles with light and depth, in numpy, for stills and films.

A triangle is cut into rows of pixels and every row into pixels, all triangles at once. Each pixel
of a triangle carries its depth; of all that fall on one place the nearest is kept. Shadows are the
triangles projected on the ground along the light.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.scene.cameras import CameraView
from noslip.scene.meshes import Color

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Triangles:
    """Triangles in the world: (n, 3, 3) corners and normals at them, colors 0 to 1.

    Colors are (n, 3), or (n, 3, 3) where each corner has its own.
    """

    corners: Array
    normals: Array
    colors: Array

    @classmethod
    def joined(cls, parts: list[Triangles]) -> Triangles:
        """Concatenate several sets of triangles."""
        none = np.zeros((0, 3, 3))
        colors = [none[:, 0], *(p.colors for p in parts)]
        if any(each.ndim == 3 for each in colors):
            colors = [
                each if each.ndim == 3 else np.repeat(each[:, None], 3, axis=1) for each in colors
            ]
        return cls(
            corners=np.concatenate([none, *(p.corners for p in parts)]),
            normals=np.concatenate([none, *(p.normals for p in parts)]),
            colors=np.concatenate(colors),
        )

    def mixed(self, color: Color, share: float) -> Triangles:
        """The same with only a share of their own colors, the rest of another, 0 to 255."""
        colors = share * self.colors + (1 - share) * np.array(color) / 255
        return dataclasses.replace(self, colors=colors)

    def farther(self, eye: Array, factor: float) -> Triangles:
        """The same, larger about an eye: seen from there at the same place, but behind."""
        return dataclasses.replace(self, corners=eye + factor * (self.corners - eye))


def vertex_normals(vertices: Array, faces: Ints) -> Array:
    """(n, 3) unit normals: the mean of those of the faces, weighed by area."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    each = np.cross(b - a, c - a)
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, faces[:, k], each)
    size = np.linalg.norm(total, axis=1, keepdims=True)
    return np.divide(total, size, out=np.zeros_like(total), where=size > 0)


def draw(picture: NDArray[np.uint8], view: CameraView, triangles: Triangles, up: Array) -> None:
    """Draw triangles over a picture (height, width, 3)."""
    seen = view.seen(triangles.corners)
    facing = np.einsum(
        "nk,nk->n",
        np.cross(
            triangles.corners[:, 1] - triangles.corners[:, 0],
            triangles.corners[:, 2] - triangles.corners[:, 0],
        ),
        view.camera.position - triangles.corners[:, 0],
    )
    shown = (facing > 0) & np.all(seen[..., 2] > view.near, axis=1)
    seen = seen[shown]
    light = _light(view, triangles.normals[shown], triangles.corners[shown], up)
    colors = triangles.colors[shown]
    if colors.ndim == 3:
        _, place, inner = nearest_pixels(view, seen, np.concatenate([light, colors], axis=-1))
        color = inner[:, 2:] * inner[:, :1] + inner[:, 1:2]
    else:
        owner, place, inner = nearest_pixels(view, seen, light)
        color = colors[owner] * inner[:, :1] + inner[:, 1:]
    picture.reshape(-1, 3)[place] = np.round(255 * np.clip(color, 0.0, 1.0)).astype(np.uint8)


def nearest_pixels(view: CameraView, seen: Array, values: Array) -> tuple[Ints, Ints, Array]:
    """Visible pixels of triangles (n, 3, 3) in the axes of the picture.

    Returns the triangle of each pixel, its place (row · width + column), and `values` (n, 3, k) of
    the corners there. 1/depth is linear on the picture; the values are taken as if they were.
    """
    with_depth = np.concatenate([1 / seen[..., 2:], values], axis=-1)
    owner, place, inner = _fragments(view, view.pixels(seen), with_depth)
    nearest = np.zeros(view.width * view.height)
    np.maximum.at(nearest, place, inner[:, 0])
    kept = inner[:, 0] >= nearest[place]
    return owner[kept], place[kept], inner[kept, 1:]


def shadows(corners: Array, normal: Array, origin: Array, light: Array) -> Array:
    """Shadows of triangles on a plane, along the direction to the light."""
    height = (corners - origin) @ normal
    result: Array = corners - (height / (light @ normal))[..., None] * light
    return result


def light_direction(view: CameraView, up: Array) -> Array:
    """Towards the light: from the left behind the camera and from above."""
    right, _, forward = view.axes
    level = -0.45 * right - 0.75 * (forward - (forward @ up) * up)
    direction: Array = level + 0.95 * up
    return direction / np.linalg.norm(direction)


def _light(view: CameraView, normals: Array, points: Array, up: Array) -> Array:
    """(n, 3, 2) how much of its own color a corner shows, and the gloss added to it."""
    to_light = light_direction(view, up)
    to_eye = view.camera.position - points
    to_eye = to_eye / np.linalg.norm(to_eye, axis=-1, keepdims=True)
    sky = 0.5 + 0.5 * normals @ up
    front = np.clip(normals @ to_light, 0.0, None)
    eye = np.clip(np.sum(normals * to_eye, axis=-1), 0.0, None)
    half = to_light + to_eye
    half = half / np.linalg.norm(half, axis=-1, keepdims=True)
    gloss = np.clip(np.sum(normals * half, axis=-1), 0.0, None) ** 40
    diffuse = 0.34 + 0.22 * sky + 0.46 * front + 0.16 * eye
    return np.stack([diffuse, 0.12 * gloss], axis=-1)


def _fragments(view: CameraView, corners: Array, values: Array) -> tuple[Ints, Ints, Array]:
    """Pixels of triangles with corners (n, 3, 2): owner, place on the picture, and values there.

    The rows of a triangle run from its first to its last corner in height; in a row the pixels run
    from one edge to the other. A pixel belongs to it if its middle does.
    """
    order = np.argsort(corners[..., 1], axis=1)
    corners = np.take_along_axis(corners, order[..., None], axis=1)
    values = np.take_along_axis(values, order[..., None], axis=1)
    first = np.clip(np.ceil(corners[:, 0, 1] - 0.5), 0, view.height).astype(np.int64)
    last = np.clip(np.ceil(corners[:, 2, 1] - 0.5), 0, view.height).astype(np.int64)
    owner, row = _ranges(first, last)
    y = row.astype(float) + 0.5
    c, v = corners[owner], values[owner]
    long = _along(c[:, 0], c[:, 2], v[:, 0], v[:, 2], y)
    below = (y >= c[:, 1, 1])[:, None]
    short = _along(
        np.where(below, c[:, 1], c[:, 0]),
        np.where(below, c[:, 2], c[:, 1]),
        np.where(below, v[:, 1], v[:, 0]),
        np.where(below, v[:, 2], v[:, 1]),
        y,
    )
    swap = (long[:, 0] > short[:, 0])[:, None]
    left, right = np.where(swap, short, long), np.where(swap, long, short)
    start = np.clip(np.ceil(left[:, 0] - 0.5), 0, view.width).astype(np.int64)
    stop = np.clip(np.ceil(right[:, 0] - 0.5), 0, view.width).astype(np.int64)
    span, column = _ranges(start, stop)
    x = column + 0.5
    a, b = left[span], right[span]
    wide = b[:, 0] - a[:, 0]
    part = np.divide(x - a[:, 0], wide, out=np.zeros_like(wide), where=wide > 0)
    inner = a[:, 1:] + part[:, None] * (b[:, 1:] - a[:, 1:])
    return owner[span], row[span] * view.width + column, inner


def _along(a: Array, b: Array, va: Array, vb: Array, y: Array) -> Array:
    """x and values on the edge from a to b at height y."""
    rise = b[:, 1] - a[:, 1]
    part = np.divide(y - a[:, 1], rise, out=np.zeros_like(rise), where=rise > 0)
    part = np.clip(part, 0.0, 1.0)[:, None]
    start, end = np.column_stack([a[:, 0], va]), np.column_stack([b[:, 0], vb])
    result: Array = start + part * (end - start)
    return result


def _ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """All numbers from `first` up to `last`, with the place of the pair they come from."""
    count = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(first)), count)
    start = np.cumsum(count) - count
    return owner, np.arange(len(owner)) - start[owner] + first[owner]

"""Triangles of simple solids: points, and faces counterclockwise seen from outside.

Points are doubled along sharp edges, so that smooth shading keeps the edges of a box and the rim of
a cylinder and rounds everything else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: (n, 3) points in m, and (m, 3) faces as places among them.
Triangles = tuple[NDArray[np.float64], NDArray[np.int64]]

#: Edges of the polygon that stands for a circle.
AROUND = 48


def patch(points: NDArray[np.float64]) -> Triangles:
    """A smooth surface given by a grid of points.

    Parameters
    ----------
    points : (m, n, 3); with the rows one above the other, a row runs counterclockwise as seen from
        above. A surface that closes repeats its first row or column.
    """
    m, n, _ = points.shape
    i, j = (x.ravel() for x in np.meshgrid(np.arange(m - 1), np.arange(n - 1), indexing="ij"))
    corners = i * n + j, i * n + j + 1, (i + 1) * n + j + 1, (i + 1) * n + j
    return points.reshape(-1, 3), _quads(*corners)


def ribbons(
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    width: float,
) -> Triangles:
    """Lines of a given width along some rows and columns of a grid of points, a little above it."""
    down, across = (np.gradient(points, axis=k) for k in (0, 1))
    normals = np.cross(across, down)
    normals /= np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), 1e-300)
    lines = [(points[k], normals[k]) for k in rows]
    lines += [(points[:, k], normals[:, k]) for k in columns]
    # a circle about an axis may be a point
    return joined(
        *(_ribbon(line, n, width) for line, n in lines if np.max(np.ptp(line, axis=0)) > width)
    )


def _ribbon(line: NDArray[np.float64], normals: NDArray[np.float64], width: float) -> Triangles:
    side = np.cross(np.gradient(line, axis=0), normals)
    side *= width / 2 / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
    above = line + width / 2 * normals
    return patch(np.stack([above + side, above - side]))


def round_cell(width: float) -> float:
    """A cell 1, 2 or 5 times a power of ten wide, for ten to twenty-five cells."""
    raw = width / 20
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9)))


def joined(*solids: Triangles) -> Triangles:
    """Several surfaces as one, with sharp edges between them."""
    points, faces, count = [], [], 0
    for own, triangles in solids:
        points.append(own)
        faces.append(triangles + count)
        count += len(own)
    return np.concatenate(points), np.concatenate(faces)


def box(size: NDArray[np.float64]) -> Triangles:
    """A box about the origin: six faces of four vertices each."""
    points: list[NDArray[np.float64]] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            across, up = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, across] = side * np.array([-1.0, 1.0, 1.0, -1.0])
            corners[:, up] = [-1.0, -1.0, 1.0, 1.0]
            at = 4 * len(points)
            points.append(corners)
            faces += [[at, at + 1, at + 2], [at, at + 2, at + 3]]
    return np.concatenate(points) * size / 2, np.array(faces)


def cylinder(radius: float, length: float, around: int = AROUND) -> Triangles:
    """A cylinder along z about the origin: side, then the two ends."""
    circle = _circle(around) * radius
    top, bottom = (_raised(circle, side * length / 2) for side in (1, -1))
    k = np.arange(around)
    j = (k + 1) % around
    side_faces = _quads(k + around, j + around, j, k)
    fan = np.column_stack([np.full(around - 2, 0), np.arange(1, around - 1), np.arange(2, around)])
    points = np.concatenate([top, bottom, top, bottom])
    faces = np.concatenate([side_faces, fan + 2 * around, fan[:, ::-1] + 3 * around])
    return points, faces


def cone(radius: float, length: float, around: int = AROUND) -> Triangles:
    """A cone with its base on the plane z = 0 and its tip above: side, then base."""
    base = _raised(_circle(around) * radius, 0.0)
    tips = np.tile([0.0, 0.0, length], (around, 1))
    k = np.arange(around)
    j = (k + 1) % around
    side = np.column_stack([k, j, k + around])
    fan = np.column_stack([np.full(around - 2, 0), np.arange(2, around), np.arange(1, around - 1)])
    return np.concatenate([base, tips, base]), np.concatenate([side, fan + 2 * around])


def sphere(radius: float, around: int = 32) -> Triangles:
    """A sphere about the origin, by longitude and latitude."""
    rows = around // 2
    latitude = np.pi * (np.arange(rows + 1) / rows - 0.5)
    circle = _circle(around)
    points = np.concatenate(
        [_raised(circle * np.cos(a), float(np.sin(a))) for a in latitude], axis=0
    )
    k = np.arange(around)
    j = (k + 1) % around
    faces = [
        _quads(row * around + k, row * around + j, (row + 1) * around + j, (row + 1) * around + k)
        for row in range(rows)
    ]
    return radius * points, np.concatenate(faces)


def ring(radius: float, tube_radius: float, around: int = 2 * AROUND, tube: int = 20) -> Triangles:
    """A torus about z."""
    turn, roll = np.meshgrid(
        2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(tube) / tube, indexing="ij"
    )
    out = radius + tube_radius * np.cos(roll)
    points = np.stack(
        [out * np.cos(turn), out * np.sin(turn), tube_radius * np.sin(roll)], axis=-1
    ).reshape(-1, 3)
    a, b = (x.ravel() for x in np.meshgrid(np.arange(around), np.arange(tube), indexing="ij"))
    a2, b2 = (a + 1) % around, (b + 1) % tube
    return points, _quads(a * tube + b, a2 * tube + b, a2 * tube + b2, a * tube + b2)


def _circle(around: int) -> NDArray[np.float64]:
    angle = 2 * np.pi * np.arange(around) / around
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _raised(circle: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    return np.column_stack([circle, np.full(len(circle), height)])


def _quads(*corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two triangles for each quadrilateral, corners counterclockwise."""
    a, b, c, d = corners
    return np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])

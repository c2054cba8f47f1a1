"""Shapes as colored triangles in the body frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noslip.shapes import AbstractShape
from noslip.model import NumberReader
from noslip.scene.geometry import placed

Vertices = NDArray[np.float32]
Faces = NDArray[np.uint32]
Color = tuple[int, int, int]
Shades = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mesh:
    """Triangles of one color.

    Parameters
    ----------
    vertices : (n, 3) float32, m, in the body frame.
    faces : (m, 3) uint32, counterclockwise seen from outside.
    color : red, green, blue, 0 to 255.
    """

    vertices: Vertices
    faces: Faces
    color: Color


def shape_mesh(shape: AbstractShape, values: Mapping[str, float]) -> Mesh:
    """The mesh of a shape at given parameter values, in the frame of its body."""
    points, faces = shape.triangles(NumberReader(values))
    R, p = placed(shape.frame, values)
    return Mesh(
        vertices=(points @ R.T + p).astype(np.float32),
        faces=faces.astype(np.uint32),
        color=rgb(shape.color),
    )


def height_shades(heights: NDArray[np.floating], color: Color) -> Shades:
    """(n, 3) a color for each of n heights: darker and greener below, lighter above."""
    base = np.array(color, dtype=float)
    low, high = base * [0.60, 0.72, 0.62], base + 0.6 * (255 - base)
    spread = float(np.ptp(heights)) if len(heights) else 0.0
    share = (heights - heights.min()) / spread if spread > 0 else np.full(len(heights), 0.5)
    below, above = np.clip(2 * share, 0, 1)[:, None], np.clip(2 * share - 1, 0, 1)[:, None]
    mixed = low + below * (base - low) + above * (high - base)
    return np.asarray(np.round(mixed), dtype=np.uint8)


def rgb(color: str) -> Color:
    """Numbers of a color written as ``#rrggbb``."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)

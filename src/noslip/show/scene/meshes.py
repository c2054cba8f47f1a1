"""Shapes as colored triangles in the body frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noslip.model.bodies import AbstractShape
from noslip.model.numbers import NumberReader
from noslip.show.scene.geometry import placed

Vertices = NDArray[np.float32]
Faces = NDArray[np.uint32]
Color = tuple[int, int, int]


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


def rgb(color: str) -> Color:
    """Numbers of a color written as ``#rrggbb``."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)

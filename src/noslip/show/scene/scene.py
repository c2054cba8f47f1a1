"""`Scene`: what a model looks like, at rest, in the frames of its bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noslip.errors import ModelError, nearest
from noslip.model.bodies import WORLD
from noslip.model.contacts import Plane
from noslip.model.model import Model
from noslip.show.scene.defaults import default_shapes, world_shapes
from noslip.show.scene.geometry import Array, numbers, placed
from noslip.show.scene.meshes import Color, Faces, Mesh, Vertices, shape_mesh

#: Least cosine between the upward direction and the ground's normal; steeper ground is drawn level.
STEEPEST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """A colored mesh that moves with a body.

    Parameters
    ----------
    body : its name, or ``world`` for what stands still.
    vertices : (n, 3) float32, m, in the body frame.
    faces : (m, 3) uint32.
    color : red, green, blue, 0 to 255.
    """

    body: str
    vertices: Vertices
    faces: Faces
    color: Color

    def same_as(self, other: Part) -> bool:
        """Whether both draw the same triangles in the same color on the same body."""
        return (
            self.body == other.body
            and self.color == other.color
            and np.array_equal(self.vertices, other.vertices)
            and np.array_equal(self.faces, other.faces)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """A plane that something rolls or skates on.

    Parameters
    ----------
    body : that it is fixed to; mostly ``world``.
    rotation, position : of the plane's frame on that body; its z axis is the normal.
    """

    body: str
    rotation: Array
    position: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """What a model looks like. Made by :func:`scene`.

    Parameters
    ----------
    model : its name.
    bodies : names in the model's order.
    parts : meshes, each on a body.
    grounds : planes of the contacts, each once; without contacts there is none.
    length : a length of the model, m: the radius of a ball about its largest body.
    up : direction against gravity, or z.
    """

    model: str
    bodies: tuple[str, ...]
    parts: tuple[Part, ...]
    grounds: tuple[Ground, ...]
    length: float
    up: Array


def scene(model: Model, parameters: Mapping[str, float] | None = None) -> Scene:
    """The scene of a model.

    Bodies with shapes are drawn with them; the others get shapes from their joints and contacts.

    Parameters
    ----------
    model : checked model.
    parameters : values that differ from the nominal ones.
    """
    values = _values(model, parameters or {})
    grounds = _grounds(model, values)
    parts: list[Part] = []
    for body in model.bodies:
        for shape in body.shapes or default_shapes(model, body, values):
            mesh = shape_mesh(shape, values)
            if np.all(np.isfinite(mesh.vertices)):
                parts.append(_part(body.name, mesh))
    parts += [_part(WORLD, shape_mesh(shape, values)) for shape in world_shapes(model, values)]
    return Scene(
        model=model.name,
        bodies=tuple(body.name for body in model.bodies),
        parts=tuple(parts),
        grounds=tuple(grounds),
        length=_length(parts),
        up=_up(model, grounds, values),
    )


def _part(body: str, mesh: Mesh) -> Part:
    return Part(body=body, vertices=mesh.vertices, faces=mesh.faces, color=mesh.color)


def _values(model: Model, changes: Mapping[str, float]) -> dict[str, float]:
    values = model.parameter_values()
    for name in changes:
        if name not in values:
            raise ModelError(
                f"there is no parameter '{name}'",
                f"scene of model '{model.name}'",
                nearest(name, values),
            )
    return values | {name: float(value) for name, value in changes.items()}


def _grounds(model: Model, values: Mapping[str, float]) -> list[Ground]:
    planes: list[Plane] = []
    for contact in model.contacts:
        if contact.plane not in planes:
            planes.append(contact.plane)
    found = []
    for plane in planes:
        R, p = placed(plane.frame, values)
        found.append(Ground(body=plane.body, rotation=R, position=p))
    return found


def _length(parts: list[Part]) -> float:
    by_body: dict[str, list[NDArray[np.float32]]] = {}
    for part in parts:
        by_body.setdefault(part.body, []).append(part.vertices)
    sizes = [
        float(np.linalg.norm(np.ptp(np.concatenate(vertices), axis=0))) / 2
        for vertices in by_body.values()
    ]
    return max(sizes, default=1.0) or 1.0


def _up(model: Model, grounds: list[Ground], values: Mapping[str, float]) -> Array:
    """Against gravity; the normal of the ground where gravity pulls along it or not at all."""
    gravity = numbers(model.gravity, values)
    size = float(np.linalg.norm(gravity))
    normals = [ground.rotation[:, 2] for ground in grounds if ground.body == WORLD]
    normal: Array = normals[0] if normals else np.array([0.0, 0.0, 1.0])
    if size == 0 or (normals and -gravity @ normal < STEEPEST * size):
        return normal
    up: Array = -gravity / size
    return up

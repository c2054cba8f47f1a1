"""`Scene`: what a model looks like, at rest, in the frames of its bodies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from noslip import Model, ModelError
from noslip.shapes import AbstractShape
from noslip.base import Array, nearest
from noslip.model import WORLD, NumberReader, number, numbers
from noslip.scene.defaults import curved_grounds, default_shapes, world_shapes
from noslip.scene.geometry import placed
from noslip.scene.meshes import Color, Faces, Mesh, Shades, Vertices, height_shades, shape_mesh
from noslip.scene.rollers import Roller, marks, planes, rollers

#: Least cosine between the upward direction and the ground's normal; steeper ground is drawn level.
STEEPEST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """A colored mesh that moves with a body.

    Parameters
    ----------
    body : its name, or ``world`` for what stands still.
    vertices : (n, 3) float32, m, in the body frame, or in that of the roller.
    faces : (m, 3) uint32.
    color : red, green, blue, 0 to 255.
    roller : name of the wheel it turns with, if any; its frame has its origin at the wheel's center
        and the axes of the body at the start.
    is_ground : whether it is curved ground, or lines on it.
    shades : (n, 3) uint8, a color for each vertex instead of one for all.
    """

    body: str
    vertices: Vertices
    faces: Faces
    color: Color
    roller: str = ""
    is_ground: bool = False
    shades: Shades | None = None


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
    """Scene of a model. Made by :func:`scene`.

    Parameters
    ----------
    model : its name.
    bodies : names in the model's order.
    parts : meshes, each on a body.
    rollers : wheels that the model draws and does not spin.
    grounds : planes of contacts and tires, each once; without them there is none.
    untraced : traces and velocities that would only crowd the picture: mass centers of bodies that
        roll, and of bodies without mass.
    length : a length of the model, m: the radius of a ball about its largest body.
    up : direction against gravity, or z.
    is_curved : whether something rolls on ground that is no plane, which may hide what is behind.
    line_distance : of the lines on such ground, m; None without them.
    """

    model: str
    bodies: tuple[str, ...]
    parts: tuple[Part, ...]
    rollers: tuple[Roller, ...]
    grounds: tuple[Ground, ...]
    untraced: frozenset[str]
    length: float
    up: Array
    is_curved: bool = False
    line_distance: float | None = None


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
    turning = rollers(model, values)
    parts: list[Part] = []
    drawn = {body.name for body in model.bodies if body.shapes}
    for body in model.bodies:
        mine = {roller.shape: roller for roller in turning if roller.body == body.name}
        for k, shape in enumerate(body.shapes or default_shapes(model, body, values)):
            parts += _parts(body.name, shape, mine.get(k), values)
    parts += [_part(WORLD, shape_mesh(shape, values)) for shape in world_shapes(model, values)]
    up = _up(model, grounds, values)
    for on, shapes in curved_grounds(model, values):
        # a body with shapes shows its ground by them
        if on not in drawn:
            parts += _ground_parts(on, shapes, up, values)
    return Scene(
        model=model.name,
        bodies=tuple(body.name for body in model.bodies),
        parts=tuple(parts),
        rollers=turning,
        grounds=tuple(grounds),
        untraced=frozenset(f"{name}.center_of_mass" for name in _untraced(model, values)),
        length=_length(parts, turning),
        up=up,
        is_curved=any(not c.form.is_plane for c in model.contacts),
        line_distance=next(iter(_line_distances(model, values)), None),
    )


def _line_distances(model: Model, values: Mapping[str, float]) -> Iterator[float]:
    for contact in model.contacts:
        found = contact.form.line_distance(NumberReader(values))
        if found is not None:
            yield found


def _parts(
    body: str, shape: AbstractShape, roller: Roller | None, values: Mapping[str, float]
) -> Iterator[Part]:
    """The part of a shape; of a wheel that is turned also what shows its turning."""
    mesh = shape_mesh(shape, values)
    if not np.all(np.isfinite(mesh.vertices)):
        return
    if roller is None:
        yield _part(body, mesh)
        return
    shifted = (mesh.vertices - roller.center).astype(np.float32)
    yield _part(body, dataclasses.replace(mesh, vertices=shifted), roller.name)
    for mark in marks(roller):
        yield _part(body, shape_mesh(mark, values), roller.name)


def _ground_parts(
    body: str, shapes: Iterable[AbstractShape], up: Array, values: Mapping[str, float]
) -> Iterator[Part]:
    """Parts of curved ground: its surface in shades, lower is darker, and what is drawn on it."""
    for k, shape in enumerate(shapes):
        part = _part(body, shape_mesh(shape, values))
        shades = height_shades(part.vertices @ up, part.color) if k == 0 else None
        yield dataclasses.replace(part, is_ground=True, shades=shades)


def _part(body: str, mesh: Mesh, roller: str = "") -> Part:
    return Part(
        body=body, vertices=mesh.vertices, faces=mesh.faces, color=mesh.color, roller=roller
    )


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
    found = []
    for plane in planes(model):
        R, p = placed(plane.frame, values)
        found.append(Ground(body=plane.body, rotation=R, position=p))
    return found


def _untraced(model: Model, values: Mapping[str, float]) -> Iterator[str]:
    rolling = {c.body for c in model.contacts if c.is_wheel}
    alone = len(model.bodies) == 1
    for body in model.bodies:
        if (body.name in rolling and not alone) or number(body.mass, values) == 0:
            yield body.name


def _length(parts: list[Part], turning: tuple[Roller, ...]) -> float:
    centers = {roller.name: roller.center for roller in turning} | {"": np.zeros(3)}
    by_body: dict[str, list[Array]] = {}
    for part in parts:
        if part.body != WORLD and not part.is_ground:
            by_body.setdefault(part.body, []).append(part.vertices + centers[part.roller])
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

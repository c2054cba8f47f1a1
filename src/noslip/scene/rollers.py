"""Wheels that a model only draws: cylinders that stand on the ground, shown rolling.

Many vehicle models have no angle for the spin of their wheels: an axle that does not slide sideways
is a blade, and what rolls on it has no inertia. A cylinder of such a body that stands on the ground
with its axis level looks like a wheel, so it is turned like one. With r its radius, c its center,
n the ground's normal, a its axis and f = a × n its heading, it spins so that the point where it
touches does not slide along f:

    θ̇ = f · (v_c − ω × r n) / r

A wheel that the model itself spins without slip would get θ̇ = 0; those with a rolling contact are
left out from the start.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noslip import Body, Model, Placement
from noslip.contacts import Plane
from noslip.shapes import AbstractShape, Box, Cylinder
from noslip.base import Array
from noslip.model import WORLD, NumberReader, angles_of, rest_poses, vector
from noslip.scene.geometry import placed

#: A cylinder stands on the ground if it is this near to it, as a part of its radius.
NEAR = 1e-6

RIM, MARK = "#b0b4ba", "#f58518"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roller:
    """A wheel that a body draws and does not spin.

    Parameters
    ----------
    name : ``tractor.wheel1`` and so on.
    body : that carries it.
    shape : its place among the body's shapes.
    center, axis : in the body frame, m; the axis is a unit vector.
    radius, width : m.
    normal : of the ground, in the world.
    """

    name: str
    body: str
    shape: int
    center: Array
    axis: Array
    radius: float
    width: float
    normal: Array


def planes(model: Model) -> tuple[Plane, ...]:
    """Planes of the contacts and tires of a model, each once; curved ground has none."""
    of_contacts = [c.plane for c in model.contacts if c.form.is_plane]
    of_forces = [plane for force in model.forces for plane in force.planes()]
    found: list[Plane] = []
    for plane in (*of_contacts, *of_forces):
        if plane not in found:
            found.append(plane)
    return tuple(found)


def rollers(model: Model, values: Mapping[str, float]) -> tuple[Roller, ...]:
    """All cylinders that stand on the world's ground when the joints are at rest."""
    grounds = [placed(plane.frame, values) for plane in planes(model) if plane.body == WORLD]
    rolling = {c.body for c in model.contacts if c.is_wheel}
    poses = rest_poses(model, NumberReader(values))
    found: list[Roller] = []
    for body in model.bodies:
        if body.name in rolling or body.name not in poses:
            continue
        count = 0
        for k, shape in enumerate(body.shapes):
            roller = _roller(body, k, shape, poses[body.name], grounds, values)
            if roller is not None:
                count += 1
                found.append(dataclasses.replace(roller, name=f"{body.name}.wheel{count}"))
    return tuple(found)


def marks(roller: Roller) -> tuple[AbstractShape, ...]:
    """A rim and a bar on the wheel, in its own frame, so that its turning is seen."""
    z = roller.axis
    x = np.cross([0.0, 0.0, 1.0] if abs(z[2]) < 0.9 else [1.0, 0.0, 0.0], z)
    x = x / np.linalg.norm(x)
    R = np.column_stack([x, np.cross(z, x), z])
    angles = vector(angles_of(R))
    r, w = roller.radius, roller.width
    return (
        Cylinder(radius=0.6 * r, length=1.04 * w, frame=Placement(angles=angles), color=RIM),
        Box(
            size=(0.8 * r, 0.16 * r, 1.08 * w),
            frame=Placement(position=vector(0.45 * r * x), angles=angles),
            color=MARK,
        ),
    )


def rolling_rate(roller: Roller, R: Array, velocity: Array, omega: Array) -> Array:
    """(k,) θ̇ of the module's head, rad/s, for the body's orientation and its center's velocity."""
    axis = R @ roller.axis
    heading = np.cross(axis, roller.normal)
    heading = heading / np.linalg.norm(heading, axis=-1, keepdims=True)
    touching = velocity - np.cross(omega, roller.radius * roller.normal)
    rate: Array = np.sum(heading * touching, axis=-1) / roller.radius
    return rate


def _roller(
    body: Body,
    k: int,
    shape: AbstractShape,
    pose: tuple[Array, Array],
    grounds: list[tuple[Array, Array]],
    values: Mapping[str, float],
) -> Roller | None:
    """The wheel that a shape is, if it stands on one of the grounds."""
    size = shape.wheel(NumberReader(values))
    if size is None:
        return None
    R_S, center = placed(shape.frame, values)
    radius, width = size
    axis, at = pose[0] @ R_S[:, 2], pose[1] + pose[0] @ center
    for R_G, p_G in grounds:
        normal = R_G[:, 2]
        height = float((at - p_G) @ normal)
        if abs(axis @ normal) < NEAR and abs(height - radius) < NEAR * radius:
            return Roller(
                name="",
                body=body.name,
                shape=k,
                center=center,
                axis=R_S[:, 2],
                radius=radius,
                width=width,
                normal=normal,
            )
    return None

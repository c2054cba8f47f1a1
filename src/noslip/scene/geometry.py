"""Geometry of pictures: shapes as triangles and lines, rollers, and default shapes.

**Rotations as numpy arrays, for pictures: matrices, quaternions (scalar first), one or many.**

**Shapes as colored triangles in the body frame.**

**Wheels that a model only draws: cylinders that stand on the ground, shown rolling.**

Many vehicle models have no angle for the spin of their wheels: an axle that does not slide sideways
is a blade, and what rolls on it has no inertia. A cylinder of such a body that stands on the ground
with its axis level looks like a wheel, so it is turned like one. With r its radius, c its center,
n the ground's normal, a its axis and f = a × n its heading, it spins so that the point where it
touches does not slide along f:

    θ̇ = f · (v_c − ω × r n) / r

A wheel that the model itself spins without slip would get θ̇ = 0; those with a rolling contact are
left out from the start.

**Shapes for bodies that have none, from their joints, contacts and mass.**

A body gets, as far as it has the parts: a wheel with a mark at each rolling contact, a blade at
each knife edge, links from its joint to those of the bodies it carries, a table where others roll
on it, and a box of its own mass and inertia about its mass center, with a strut that carries it.
Sizes follow from the distances in the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noslip import Body, Joint, Model, Placement
from noslip.base import Array
from noslip.contacts import Plane
from noslip.model import (
    RIM_COLOR,
    TREAD_COLOR,
    WORLD,
    NumberReader,
    angles_of,
    frame_numbers,
    number,
    numbers,
    rest_poses,
    rotation_to,
    vector,
)
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere


def placed(placement: Placement, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Orientation (3, 3) and position (3,) of a placed frame: R = R₁(a₁) R₂(a₂) R₃(a₃)."""
    return frame_numbers(placement, NumberReader(values))


def quaternions_of(R: Array) -> Array:
    """(…, 4) unit quaternions of rotations (…, 3, 3), with the entry of largest size positive.

    With the trace t = tr R, the squares are 4w² = 1 + t and 4x² = 1 − t + 2 R₀₀ and so on; the
    largest is taken by a root and the others by division (Shepperd's method).
    """
    t = np.trace(R, axis1=-2, axis2=-1)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    squares = np.concatenate([(1 + t)[..., None], 1 - t[..., None] + 2 * diagonal], axis=-1)
    # all products 4 q_i q_j of the entries of the quaternion
    K = np.empty((*t.shape, 4, 4))
    for i in range(4):
        K[..., i, i] = squares[..., i]
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        K[..., 0, i] = K[..., i, 0] = R[..., k - 1, j - 1] - R[..., j - 1, k - 1]
        K[..., i, j] = K[..., j, i] = R[..., i - 1, j - 1] + R[..., j - 1, i - 1]
    best = np.argmax(squares, axis=-1)
    row = np.take_along_axis(K, best[..., None, None], axis=-2)[..., 0, :]
    result: Array = row / np.linalg.norm(row, axis=-1, keepdims=True)
    return result


def without_jumps(q: Array) -> Array:
    """Quaternions (k, …, 4) with signs that follow from one time to the next."""
    if len(q) < 2:
        return q
    signs = np.where(np.sum(q[1:] * q[:-1], axis=-1) < 0, -1.0, 1.0)
    turned = q.copy()
    turned[1:] *= np.cumprod(signs, axis=0)[..., None]
    return turned


def rotations_of(q: Array) -> Array:
    """(…, 3, 3) rotations of unit quaternions (…, 4)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def roller_quaternions(axis: Array, angle: Array) -> Array:
    """(…, 4) rotations by angles about a unit axis."""
    half = np.asarray(angle)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)


Vertices = NDArray[np.float32]
Faces = NDArray[np.uint32]
Color = tuple[int, int, int]
Shades = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mesh:
    """Triangles of one color."""

    vertices: Vertices  #: (n, 3) float32, m, in the body frame
    faces: Faces  #: (m, 3) uint32, counterclockwise seen from outside
    color: Color  #: red, green, blue, 0 to 255


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


#: A cylinder stands on the ground if it is this near to it, as a part of its radius.
NEAR = 1e-6

RIM, MARK = "#b0b4ba", "#f58518"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roller:
    """A wheel that a body draws and does not spin."""

    name: str  #: ``tractor.wheel1`` and so on
    body: str  #: body that carries it
    shape: int  #: number of the shape on the body
    #: center, axis: center and axis in the body frame, m; the axis is a unit vector
    center: Array
    axis: Array
    #: radius, width: m
    radius: float
    width: float
    normal: Array  #: normal of the ground, in the world


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


COLORS = ("#4c78a8", "#72b7b2", "#e45756", "#54a24b", "#b279a2", "#eeca3b")


def default_shapes(
    model: Model, body: Body, values: Mapping[str, float]
) -> tuple[AbstractShape, ...]:
    """Default shapes of a body without its own; at least one."""
    color = COLORS[model.bodies.index(body) % len(COLORS)]
    size = typical_length(model, values)
    shapes: list[AbstractShape] = []
    held: list[Array] = []
    for contact in model.contacts:
        if contact.body != body.name:
            continue
        drawn = list(contact.shapes(size, NumberReader(values)))
        # the first is the wheel or blade itself, the others are on it
        held += [placed(shape.frame, values)[1] for shape in drawn[:1]]
        shapes += drawn
    if number(body.mass, values) > 0:
        held.append(numbers(body.center_of_mass, values))
    shapes += _links(model, body, size, color, values, held)
    shapes += _gears(model, body, size, values)
    tables = [plane for plane in planes(model) if plane.body == body.name]
    shapes += [_table(plane, size, color, values) for plane in tables]
    is_wheel = any(c.body == body.name and c.is_wheel for c in model.contacts)
    is_ground = any(c.plane.body == body.name for c in model.contacts)
    if not is_wheel and not is_ground and (not shapes or number(body.mass, values) > 0):
        most = 0.25 * size if shapes else 0.6 * size
        shapes.append(_mass(body, size, most, color, values))
    return tuple(shapes)


def world_shapes(model: Model, values: Mapping[str, float]) -> tuple[AbstractShape, ...]:
    """Bearings of joints that tie bodies to places in the world.

    A body with shapes that turns about the vertical stands on the ground by itself.
    """
    size = typical_length(model, values)
    gravity = numbers(model.gravity, values)
    drawn = {body.name for body in model.bodies if body.shapes}
    shapes: list[AbstractShape] = []
    for joint in model.joints:
        if WORLD not in (joint.parent, joint.child):
            continue
        frame = joint.parent_frame if joint.parent == WORLD else joint.child_frame
        R, p = placed(frame, values)
        pin = joint.type.pin(values)
        if joint.type.is_ball(values):
            shapes.append(Sphere(radius=size / 14, frame=Placement.at(p), color=RIM_COLOR))
        elif pin is not None:
            axis = R @ pin
            is_vertical = abs(axis @ gravity) > 0.9 * np.linalg.norm(gravity)
            if is_vertical and {joint.parent, joint.child} & drawn:
                continue
            back = p - axis * size / 8
            shapes.append(_rod(back, p, size / 14, RIM_COLOR))
            plate = (0.4 * size, 0.4 * size, size / 30)
            shapes.append(
                Box(size=plate, frame=Placement.at(back, rotation_to(axis)), color=RIM_COLOR)
            )
    return tuple(shapes)


def curved_grounds(
    model: Model, values: Mapping[str, float]
) -> Iterator[tuple[str, tuple[AbstractShape, ...]]]:
    """Ground that is no plane, each once: the body that carries it, and its shapes."""
    seen = []
    for contact in model.contacts:
        if (contact.plane, contact.form) not in seen:
            seen.append((contact.plane, contact.form))
            yield contact.plane.body, contact.form.shapes(contact.plane.frame, NumberReader(values))


def typical_length(model: Model, values: Mapping[str, float]) -> float:
    """The largest distance between places on one body, m; where all coincide, of its inertia."""
    lengths, gyrations = [0.0], [0.0]
    read = NumberReader(values)
    for body in model.bodies:
        points = [p for _, p in _places(model, body, values)]
        points.append(numbers(body.center_of_mass, values))
        reach = [2 * float(c.reach(read)) for c in model.contacts if c.body == body.name]
        apart = [float(np.linalg.norm(a - b)) for a in points for b in points]
        lengths += [x for x in (*apart, *reach) if np.isfinite(x)]
        gyrations.append(2 * _gyration(body, values))
    for longest in (max(lengths), max(gyrations)):
        if 1e-9 < longest < np.inf:
            return longest
    return 1.0


def _gears(
    model: Model, body: Body, size: float, values: Mapping[str, float]
) -> Iterator[AbstractShape]:
    """Disks of the pitch circles that transmissions give the joints which carry a body."""
    for row in model.rows:
        for coordinate, radius in row.pitch_circles():
            joint = next((j for j in model.joints if coordinate in j.coordinate_names()), None)
            pin = None if joint is None else joint.type.pin(values)
            if joint is None or joint.child != body.name or pin is None:
                continue
            R, p = placed(joint.child_frame, values)
            frame = Placement.at(p, rotation_to(R @ pin))
            r = number(radius, values)
            yield Cylinder(radius=r, length=min(size, r) / 6, frame=frame, color=RIM_COLOR)


def _links(
    model: Model,
    body: Body,
    size: float,
    color: str,
    values: Mapping[str, float],
    held: Sequence[Array],
) -> Iterator[AbstractShape]:
    """Bars from the body's own joint to every other place on it, and a pin at each joint.

    Places that are `held`, of contacts and of the mass center, have a thinner bar to the nearest of
    these where they are off them.
    """
    places = _places(model, body, values)
    ends = [p for _, p in places]
    if len(places) < 2:
        ends.append(numbers(body.center_of_mass, values))
    start = ends[0] if ends else np.zeros(3)
    for end in ends[1:]:
        if np.linalg.norm(end - start) > 1e-9 * size:
            yield _rod(start, end, size / 30, color)
    for place in held:
        near = min((_nearest(start, end, place) for end in ends), key=lambda p: _apart(p, place))
        if _apart(near, place) > size / 15:
            yield _rod(near, place, size / 45, color)
    for joint, p in places:
        pin = joint.type.pin(values)
        if pin is not None:
            R, _ = placed(
                joint.child_frame if joint.child == body.name else joint.parent_frame, values
            )
            axis = R @ pin
            yield _rod(p - axis * size / 20, p + axis * size / 20, size / 20, TREAD_COLOR)


def _apart(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other))


def _nearest(start: Array, end: Array, point: Array) -> Array:
    """The place between two ends that is nearest to a point."""
    along = end - start
    square = float(along @ along)
    share = float((point - start) @ along) / square if square > 0 else 0.0
    place: Array = start + min(max(share, 0.0), 1.0) * along
    return place


def _table(plane: Plane, size: float, color: str, values: Mapping[str, float]) -> Box:
    """A plate whose upper face is a plane that something rolls on."""
    R, p = placed(plane.frame, values)
    thick = size / 20
    frame = Placement.at(p - R[:, 2] * thick / 2, R)
    return Box(size=(3 * size, 3 * size, thick), frame=frame, color=color)


def _mass(body: Body, size: float, most: float, color: str, values: Mapping[str, float]) -> Box:
    """The box of the body's own inertia about its mass center, within sensible proportions.

    A box of edges a, b, c has Ixx = m (b² + c²)/12, so that a² = 6 (Iyy + Izz − Ixx)/m.
    """
    mass = number(body.mass, values)
    moments = numbers(body.inertia_entries()[:3], values)
    center = numbers(body.center_of_mass, values)
    edges = np.full(3, most / 2)
    if mass > 0 and body.moment is None:
        edges = np.sqrt(np.maximum(6 * (np.sum(moments) - 2 * moments) / mass, 0.0))
    elif mass > 0:
        edges = np.sqrt(6 * moments[2] / mass) * np.array([1.0, 1.0, 0.2])
    edges = np.nan_to_num(edges)
    edges = np.clip(edges * min(1.0, most / max(float(edges.max()), 1e-300)), size / 20, most)
    a, b, c = (float(e) for e in edges)
    if body.moment is not None:
        center = center + np.array([0.0, 0.0, 0.5 * c])
    return Box(size=(a, b, c), frame=Placement.at(center), color=color)


def _places(model: Model, body: Body, values: Mapping[str, float]) -> list[tuple[Joint, Array]]:
    """The joints of a body and where they sit on it; the one that carries it first."""
    found: list[tuple[Joint, Array]] = []
    for joint in model.joints:
        if joint.child == body.name:
            found.insert(0, (joint, placed(joint.child_frame, values)[1]))
        elif joint.parent == body.name:
            found.append((joint, placed(joint.parent_frame, values)[1]))
    return found


def _gyration(body: Body, values: Mapping[str, float]) -> float:
    """Largest radius of gyration, m."""
    mass = number(body.mass, values)
    moments = numbers(body.inertia_entries()[:3], values)
    return float(np.sqrt(max(float(np.max(moments)), 0.0) / mass)) if mass > 0 else 0.0


def _rod(start: Array, end: Array, radius: float, color: str) -> Cylinder:
    along = end - start
    return Cylinder(
        radius=radius,
        length=float(np.linalg.norm(along)),
        frame=Placement.at((start + end) / 2, rotation_to(along)),
        color=color,
    )

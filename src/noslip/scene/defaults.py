"""Shapes for bodies that have none, from their joints, contacts and mass.

A body gets, as far as it has the parts: a wheel with a mark at each rolling contact, a blade at
each knife edge, links from its joint to those of the bodies it carries, a table where others roll
on it, and a box of its own mass and inertia about its mass center, with a strut that carries it.
Sizes follow from the distances in the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from noslip import Body, Joint, Model, Placement
from noslip.contacts import Plane
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere
from noslip.base import Array
from noslip.model import RIM_COLOR, TREAD_COLOR, WORLD, NumberReader, number, numbers, rotation_to
from noslip.scene.geometry import placed
from noslip.scene.rollers import planes

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

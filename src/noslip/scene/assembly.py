"""Assembly of a scene: what is drawn of a model, and where all of it is at each moment.

**`Scene`: what a model looks like, at rest, in the frames of its bodies.**

**`Frames`: the poses of all bodies along a run at the times of a film, evaluated natively.**

Between two samples of the run the coordinates follow the polynomial of fifth order that has their
values, rates and second derivatives at both ends,

    q̇ = N(q) v,     q̈ = N(q) v̇ + Ṅ v

so that the error is of sixth order in the time between samples; quaternions are then normalized.
The speeds follow the cubic of v and v̇. Poses, mass centers and contact points are functions of q.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip import Joint, Model, ModelError, SimulationError, System, Trajectory, complete_start
from noslip.algebra import cross
from noslip.analysis import scenario_start, simulated_system
from noslip.base import Array, nearest
from noslip.engines import NativeFunction, compile_expression
from noslip.kinematics import twists
from noslip.model import WORLD, NumberReader, number, numbers
from noslip.scene.geometry import (
    Color,
    Faces,
    Mesh,
    Roller,
    Shades,
    Vertices,
    curved_grounds,
    default_shapes,
    height_shades,
    marks,
    placed,
    planes,
    quaternions_of,
    rgb,
    roller_quaternions,
    rollers,
    rolling_rate,
    rotations_of,
    shape_mesh,
    without_jumps,
    world_shapes,
)
from noslip.shapes import AbstractShape
from noslip.simulation import units_by_name

#: Least cosine between the upward direction and the ground's normal; steeper ground is drawn level.
STEEPEST = 0.5
#: Height of obstacles over the length of the model, and their color.
OBSTACLE, OBSTACLE_COLOR = 0.35, "#8d949e"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """A colored mesh that moves with a body."""

    body: str  #: name of the body, or ``world`` for what stands still
    vertices: Vertices  #: (n, 3) float32, m, in the body frame, or in that of the roller
    faces: Faces  #: (m, 3) uint32
    color: Color  #: red, green, blue, 0 to 255
    #: name of the wheel it turns with, if any; its frame has its origin at the wheel's center and
    #: the axes of the body at the start
    roller: str = ""
    is_ground: bool = False  #: whether it is curved ground, or lines on it
    #: whether it is in the way; `body` names its displacement, if it moves
    is_obstacle: bool = False
    shades: Shades | None = None  #: (n, 3) uint8, a color for each vertex instead of one for all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """A plane that something rolls or skates on."""

    body: str  #: body that it is fixed to; mostly ``world``
    #: rotation, position: pose of the plane's frame on that body; its z axis is the normal
    rotation: Array
    position: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """Scene of a model. Made by :func:`scene`."""

    model: str  #: name of the model
    bodies: tuple[str, ...]  #: names in the model's order
    parts: tuple[Part, ...]  #: meshes, each on a body
    rollers: tuple[Roller, ...]  #: wheels that the model draws and does not spin
    #: planes of contacts and tires, each once; without them there is none
    grounds: tuple[Ground, ...]
    #: traces and velocities that would only crowd the picture: mass centers of bodies that roll,
    #: and of bodies without mass
    untraced: frozenset[str]
    length: float  #: a length of the model, m: the radius of a ball about its largest body
    up: Array  #: direction against gravity, or z
    #: whether something rolls on ground that is no plane, which may hide what is behind
    is_curved: bool = False
    #: line distance of the lines on such ground, m; None without them
    line_distance: float | None = None


def scene(
    model: Model,
    parameters: Mapping[str, float] | None = None,
    obstacles: Sequence[tuple[Array, str]] = (),
) -> Scene:
    """The scene of a model.

    Bodies with shapes are drawn with them; the others get shapes from their joints and contacts.

    Parameters
    ----------
    model : checked model.
    parameters : values that differ from the nominal ones.
    obstacles : those of a run.
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
    length = _length(parts, turning)
    parts += _blocks(obstacles, OBSTACLE * length)
    return Scene(
        model=model.name,
        bodies=tuple(body.name for body in model.bodies),
        parts=tuple(parts),
        rollers=turning,
        grounds=tuple(grounds),
        untraced=frozenset(f"{name}.center_of_mass" for name in _untraced(model, values)),
        length=length,
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


#: NumberReader of a body in the native picture.
PER_BODY = 21


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frames:
    """A motion as a film needs it. Made by :func:`frames`."""

    times: Array  #: (k,) s
    bodies: tuple[str, ...]  #: names, in the order of the arrays
    positions: Array  #: (k, bodies, 3) origin of each body frame in the world, m
    #: (k, bodies, 4) R_WB, scalar first, of unit length and without jumps of sign
    quaternions: Array
    centers: Array  #: (k, bodies, 3) mass centers, m
    velocities: Array  #: (k, bodies, 3) of the mass centers, m/s
    #: name → (k, 3): ``wheel1.contact`` for the contact points, ``platform.center_of_mass`` for the
    #: mass centers; of a run that follows something ``platform.reference`` and, with an estimator,
    #: ``platform.estimate`` beside ``platform.origin``, the point they are about; ``path`` where
    #: only the path is known, not the pose on it
    traces: dict[str, Array]
    #: roller → (k,) angle by which a drawn wheel has turned, rad; see `rollers`
    rolled: dict[str, Array] = field(default_factory=dict)
    #: contact → points (k, 3), m, and forces of the ground on the body (k, 3), N; empty unless
    #: asked for
    forces: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    #: obstacle that moves → (k, 3) its displacement, m
    obstacles: dict[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times)

    def in_world(self, index: int, body: str, point: Array) -> Array:
        """A point (3,) of a body at a frame, in the world, m."""
        k = self.bodies.index(body)
        R = rotations_of(self.quaternions[index, k])
        found: Array = self.positions[index, k] + R @ point
        return found


def frames(
    system: System,
    run: Trajectory,
    *,
    rate: float = 30.0,
    times: Sequence[float] | Array | None = None,
    forces: bool = False,
) -> Frames:
    """Poses of all bodies at equally spaced times of a run.

    Parameters
    ----------
    system : simulated system, or any other of the same model.
    run : the motion.
    rate : pictures a second; the last one is at the end of the run.
    times : instead of `rate`, s; those outside the run are moved to its ends.
    forces : whether the forces of the ground at the contacts are included (slower).
    """
    system = simulated_system(system, run, "frames(system, run)")
    if not len(run.t):
        raise SimulationError(
            "the run has no samples", f"frames of model '{run.model.name}'", "simulate first"
        )
    at = film_times(run.t, rate) if times is None else np.asarray(times, dtype=float)
    at = np.clip(at, run.t[0], run.t[-1])
    motion = _RunMotion(system, run)
    picture = motion(at)
    return Frames(
        times=at,
        bodies=tuple(body.name for body in system.model.bodies),
        positions=picture.positions,
        quaternions=without_jumps(quaternions_of(picture.rotations)),
        centers=picture.centers,
        velocities=picture.velocities,
        traces=_followed(run, at) | picture.traces,
        rolled=_rolled(motion, at),
        forces=_forces(system, run, at, picture.traces) if forces else {},
        obstacles=_displaced(run, at),
    )


def _displaced(run: Trajectory, at: Array) -> dict[str, Array]:
    """Displacements of obstacles that move."""
    found = {}
    for name in sorted({name for _, name in run.obstacles if name}):
        x, y = (np.interp(at, run.t, run[f"{name}.{axis}"]) for axis in "xy")
        found[name] = np.column_stack([x, y, np.zeros(len(at))])
    return found


def _blocks(obstacles: Sequence[tuple[Array, str]], height: float) -> Iterator[Part]:
    """Obstacles that stand as one part, and one for each that moves."""
    for name in dict.fromkeys(name for _, name in obstacles):
        own = [corners for corners, other in obstacles if other == name]
        vertices, faces = _prisms(own, height)
        color = rgb(OBSTACLE_COLOR)
        yield Part(
            body=name or WORLD, vertices=vertices, faces=faces, color=color, is_obstacle=True
        )


def _prisms(polygons: Sequence[Array], height: float) -> tuple[Vertices, Faces]:
    """Convex polygons that stand on the floor, as one mesh."""
    points, faces, count = [], [], 0
    for corners in polygons:
        more, own = _prism(corners, height)
        points.append(more)
        faces.append(own + count)
        count += len(more)
    return np.concatenate(points).astype(np.float32), np.concatenate(faces).astype(np.uint32)


def _prism(corners: Array, height: float) -> tuple[Array, NDArray[np.int64]]:
    """A convex polygon, counterclockwise, that stands on the floor."""
    corners = corners[np.any(corners != np.roll(corners, 1, axis=0), axis=1)]
    n = len(corners)
    heights = np.repeat([0.0, height], n)
    vertices = np.column_stack([np.tile(corners, (2, 1)), heights])
    # sides and top have corners of their own, so that edges are sharp
    sides, fan = np.arange(n), np.arange(1, n - 1)
    after = (sides + 1) % n
    faces = np.concatenate(
        [
            np.column_stack([sides, after, after + n]),
            np.column_stack([sides, after + n, sides + n]),
            2 * n + np.column_stack([np.zeros(n - 2, dtype=int), fan, fan + 1]),
        ]
    )
    return np.concatenate([vertices, vertices[n:]]), faces


def start_frame(system: System, given: Mapping[str, float] | None = None) -> Frames:
    """Poses of all bodies as the scenario starts, as frames of a single time.

    Parameters
    ----------
    system : system with or without compiled functions.
    given : coordinates to start from instead of the scenario's.
    """
    kin = system.kinematics
    params = system.parameters()
    names = set(units_by_name(system))
    start: dict[str, float] = {}
    if given is not None:
        start = dict(given)
    elif (scenario := system.model.scenario) is not None:
        start = scenario_start(scenario, system.model.parameter_values(), motion=True)
    usable = {name: x for name, x in start.items() if name in names and math.isfinite(x)}
    q = complete_start(system, usable).q
    columns = [
        # a matrix by columns of its transpose is itself by rows
        ca.vertcat(ca.vec(n.R_WB.T), n.p_WB, n.p_WB + ca.mtimes(n.R_WD, n.center_D))
        for n in kin.tree.nodes
    ]
    s = kin.symbols
    pose = ca.Function("pose", [s.q, s.params], [ca.densify(ca.horzcat(*columns))])
    names_of = [n.body.name for n in kin.tree.nodes]
    found = dict(zip(names_of, np.array(pose(q, params)).T, strict=True))
    bodies = tuple(body.name for body in system.model.bodies)
    table = np.array([found[name] for name in bodies])[None]
    turning = rollers(system.model, system.model.parameter_values())
    return Frames(
        times=np.zeros(1),
        bodies=bodies,
        positions=table[..., 9:12],
        quaternions=quaternions_of(table[..., :9].reshape(1, -1, 3, 3)),
        centers=table[..., 12:],
        velocities=np.zeros((1, len(bodies), 3)),
        traces={},
        rolled={roller.name: np.zeros(1) for roller in turning},
    )


#: Columns that tell a path over the ground → what its trace is called.
FOLLOWED = {"": "origin", "reference.": "reference", "estimate.": "estimate"}


def _followed(run: Trajectory, at: Array) -> dict[str, Array]:
    """Paths over the ground that a run follows and that its estimator believes, with its own."""
    found: dict[str, Array] = {}
    for joint in ground_joints(run):
        if all(f"{prefix}{joint.name}.x" not in run.columns for prefix in FOLLOWED if prefix):
            continue
        R, p = placed(joint.parent_frame, run.parameters)
        for prefix, kind in FOLLOWED.items():
            names = [f"{prefix}{joint.name}.{axis}" for axis in "xyz"]
            if names[0] in run.columns:
                columns = [run[n] if n in run.columns else np.zeros(len(run.t)) for n in names]
                local = np.column_stack([np.interp(at, run.t, column) for column in columns])
                found[f"{joint.name}.{kind}"] = local @ R.T + p
    path = reference_path(run)
    if path is not None and not any(name.endswith(".reference") for name in found):
        found["path"] = np.column_stack([np.interp(at, run.t, column) for column in path.T])
    return found


def film_times(t: Array, rate: float) -> Array:
    """Times 1/rate apart from the start of a run, and its end."""
    if not rate > 0 or not np.isfinite(rate):
        raise SimulationError(
            f"the rate is {rate:g}", "pictures a second", "give a positive number, such as 30"
        )
    num = int(np.floor((t[-1] - t[0]) * rate + 1e-9)) + 1
    at = t[0] + np.arange(num) / rate
    return at if t[-1] - at[-1] < 1e-6 / rate else np.append(at, t[-1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Picture:
    """Poses and velocities of bodies and contacts at k times."""

    rotations: Array
    positions: Array
    centers: Array
    velocities: Array
    omegas: Array
    traces: dict[str, Array]


class _RunMotion:
    """A run as a function of time."""

    def __init__(self, system: System, run: Trajectory) -> None:
        self.system, self.run = system, run
        # they were checked when the run was made
        self.params = np.array([run.parameters[p.name] for p in system.model.parameters])
        nothing = np.empty((len(run.t), 0))
        x = np.hstack([run.q, run.v, run.vdot])
        rates = _rates(system).map(run.t, x, nothing, self.params)
        self.qdot, self.qddot = np.hsplit(rates, 2)

    def __call__(self, at: Array) -> _Picture:
        """The picture at some times."""
        q, v = self.state(at)
        x, nothing = np.hstack([q, v]), np.empty((len(at), 0))
        table = _picture(self.system).map(at, x, nothing, self.params)
        kin, model = self.system.kinematics, self.system.model
        names = [node.body.name for node in kin.tree.nodes]
        split = PER_BODY * len(names)
        bodies = table[:, :split].reshape(len(at), len(names), PER_BODY)
        bodies = bodies[:, [names.index(body.name) for body in model.bodies]]
        points = table[:, split:].reshape(len(at), -1, 3)
        traces = {f"{c.contact.name}.contact": points[:, k] for k, c in enumerate(kin.contacts)}
        traces |= {
            f"{body.name}.center_of_mass": bodies[:, k, 12:15]
            for k, body in enumerate(model.bodies)
        }
        return _Picture(
            rotations=bodies[:, :, :9].reshape(len(at), len(names), 3, 3),
            positions=bodies[:, :, 9:12],
            centers=bodies[:, :, 12:15],
            velocities=bodies[:, :, 15:18],
            omegas=bodies[:, :, 18:21],
            traces=traces,
        )

    def state(self, at: Array) -> tuple[Array, Array]:
        """q and v between the samples."""
        run = self.run
        if len(run.t) == 1:
            return np.repeat(run.q, len(at), axis=0), np.repeat(run.v, len(at), axis=0)
        k = np.clip(np.searchsorted(run.t, at, side="right") - 1, 0, len(run.t) - 2)
        h = run.t[k + 1] - run.t[k]
        s = np.divide(at - run.t[k], h, out=np.zeros_like(h), where=h > 0)[:, None]
        ends = [(x[k], x[k + 1]) for x in (run.q, self.qdot, self.qddot, run.v, run.vdot)]
        q = _quintic(s, h[:, None], *ends[:3])
        for j in self.system.kinematics.probe.quaternions:
            q[:, j : j + 4] /= np.linalg.norm(q[:, j : j + 4], axis=1, keepdims=True)
        return q, _cubic(s, h[:, None], *ends[3:])


def _rolled(motion: _RunMotion, at: Array) -> dict[str, Array]:
    """Angles of drawn wheels: the integral of their rates by Gauss's rule between all times."""
    model = motion.system.model
    found = rollers(model, motion.run.parameters)
    if not found:
        return {}
    times = np.unique(np.concatenate([motion.run.t, at]))
    h = np.diff(times)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    inner = times[:-1, None] + h[:, None] * (nodes + 1) / 2
    picture = motion(inner.ravel())
    result = {}
    for roller in found:
        k = next(j for j, body in enumerate(model.bodies) if body.name == roller.body)
        R, omega = picture.rotations[:, k], picture.omegas[:, k]
        arm = picture.positions[:, k] + R @ roller.center - picture.centers[:, k]
        velocity = picture.velocities[:, k] + np.cross(omega, arm)
        rate = rolling_rate(roller, R, velocity, omega).reshape(inner.shape)
        angle = np.concatenate([[0.0], np.cumsum(rate @ weights * h / 2)])
        result[roller.name] = angle[np.searchsorted(times, at)]
    return result


Ends = tuple[Array, Array]


def _cubic(s: Array, h: Array, x: Ends, dx: Ends) -> Array:
    """Hermite polynomial of values and rates at both ends; s from 0 to 1 over h seconds."""
    r = 1 - s
    value = (1 + 2 * s) * r**2 * x[0] + (3 - 2 * s) * s**2 * x[1]
    result: Array = value + h * (s * r**2 * dx[0] - r * s**2 * dx[1])
    return result


def _quintic(s: Array, h: Array, x: Ends, dx: Ends, ddx: Ends) -> Array:
    """The same with second derivatives, of fifth order."""
    r = 1 - s
    value = (1 + 3 * s + 6 * s**2) * r**3 * x[0] + (1 + 3 * r + 6 * r**2) * s**3 * x[1]
    slope = h * ((1 + 3 * s) * s * r**3 * dx[0] - (1 + 3 * r) * r * s**3 * dx[1])
    result: Array = value + slope + h**2 / 2 * (s**2 * r**3 * ddx[0] + r**2 * s**3 * ddx[1])
    return result


@lru_cache(maxsize=16)
def _rates(system: System) -> NativeFunction:
    """[q̇; q̈] of (t, [q; v; v̇], parameters)."""
    kin, s = system.kinematics, system.kinematics.symbols
    vdot = ca.SX.sym("vdot", kin.num_speeds)
    qdot = ca.mtimes(kin.N, s.v)
    qddot = ca.mtimes(kin.N, vdot) + ca.jtimes(qdot, s.q, qdot)
    inputs = (s.t, ca.vertcat(s.q, s.v, vdot), ca.SX(0, 1), s.params)
    return compile_expression("film_rates", inputs, ca.vertcat(qdot, qddot))


@lru_cache(maxsize=16)
def _picture(system: System) -> NativeFunction:
    """Per body R_WB by rows, origin, mass center, its velocity, ω; then the contact points."""
    kin, s = system.kinematics, system.kinematics.symbols
    parts: list[ca.SX] = []
    for node, (w, v) in zip(kin.tree.nodes, twists(kin.tree, s.v), strict=True):
        center = node.p_WB + ca.mtimes(node.R_WD, node.center_D)
        velocity = ca.mtimes(node.R_WD, v + cross(w, node.center_D))
        omega = ca.mtimes(node.R_WD, w)
        parts += [ca.reshape(node.R_WB.T, 9, 1), node.p_WB, center, velocity, omega]
    parts += [contact.point for contact in kin.contacts]
    inputs = (s.t, ca.vertcat(s.q, s.v), ca.SX(0, 1), s.params)
    return compile_expression("film_picture", inputs, ca.vertcat(ca.SX(0, 1), *parts))


def _forces(
    system: System, run: Trajectory, at: Array, traces: dict[str, Array]
) -> dict[str, tuple[Array, Array]]:
    """Forces of the ground on wheels and blades, between samples by straight lines.

    The loads of wheels without a normal row are those that the audit finds. Where a load is not
    known only the force along the ground is drawn.
    """
    from noslip.analysis import contact_forces

    if not system.model.contacts:
        return {}
    found = contact_forces(system, run)
    t = run.t[found.is_valid]
    result: dict[str, tuple[Array, Array]] = {}
    if not len(t):
        return result
    axes = _contact_axes(system, run)[found.is_valid]
    parts = np.nan_to_num(found.least)
    for k, contact in enumerate(found.contacts):
        force = np.einsum("nj,njk->nk", parts[:, k], axes[:, k])
        drawn = np.column_stack([np.interp(at, t, force[:, j]) for j in range(3)])
        result[contact.name] = (traces[f"{contact.name}.contact"], drawn)
    return result


def _contact_axes(system: System, run: Trajectory) -> NDArray[np.float64]:
    """(n, contacts, 3, 3) longitudinal, lateral and normal directions by rows, in the world."""
    from noslip.analysis import SampledMotion

    table = SampledMotion.of(system, run).outputs(system, "contact_axes")
    return table.reshape(len(run.t), -1, 4, 3)[:, :, 1:]


def part_poses(
    scene: Scene, frames: Frames, part: Part, index: slice | int = slice(None)
) -> tuple[Array, Array]:
    """Orientation (…, 3, 3) and position (…, 3) of a part's frame in the world."""
    if part.is_obstacle or part.body == WORLD:
        shape = frames.times[index].shape
        still = np.zeros((*shape, 3))
        p = frames.obstacles[part.body][index] if part.body in frames.obstacles else still
        return np.broadcast_to(np.eye(3), (*shape, 3, 3)), p
    k = frames.bodies.index(part.body)
    R, p = rotations_of(frames.quaternions[index, k]), frames.positions[index, k]
    if not part.roller:
        return R, p
    roller = next(r for r in scene.rollers if r.name == part.roller)
    spin = rotations_of(roller_quaternions(roller.axis, frames.rolled[part.roller][index]))
    return R @ spin, p + R @ roller.center


def ground_joints(run: Trajectory) -> list[Joint]:
    """Joints on the world that have a place in it, x and y: planar and free ones."""
    return [
        joint
        for joint in run.model.joints
        if joint.parent == WORLD and {f"{joint.name}.x", f"{joint.name}.y"} <= set(run.columns)
    ]


def reference_path(run: Trajectory) -> Array | None:
    """(n, 3) places in the world of the reference on its path, on the ground; None without one."""
    if run.path_errors is None:
        return None
    # paths are followed on level ground
    heights = [name for name in run.columns if name.endswith(".contact_z")]
    z = run[heights[0]] if heights else np.zeros(len(run.t))
    return np.column_stack([run.path_errors.x, run.path_errors.y, z])

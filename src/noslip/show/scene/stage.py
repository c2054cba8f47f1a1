"""`Stage`: a scene and its motion in viser, live or recorded.

Everything hangs under one frame. To follow a body that frame is moved against it, so that the
camera need not be told and a recording can follow as well.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from noslip.model.bodies import WORLD
from noslip.show.scene.camera import Camera, Extent, extent, followed
from noslip.show.scene.frames import Frames
from noslip.show.scene.geometry import Array, quaternions_of, rotation_to
from noslip.show.scene.scene import Ground, Part, Scene

#: Colors of traces, forces and velocities; of a ghost.
CONTACT_TRACE, CENTER_TRACE = (245, 133, 24), (76, 120, 168)
FORCE, VELOCITY, GHOST = (228, 87, 86), (84, 162, 75), (150, 150, 150)
GRID_CELL, GRID_SECTION = (214, 218, 224), (168, 176, 188)

#: Pieces of a trace that appear one after the other.
PIECES = 60


class Stage:
    """Shows one frame of a motion at a time in a viser scene.

    Parameters
    ----------
    api : ``server.scene`` of a viser server.
    prefix : name under which everything hangs; two stages in one scene need two.
    traces, forces, velocities : what is drawn beside the bodies.
    follow : keep the bodies in the middle of the view.
    ghost : draw the bodies gray and translucent and nothing else.
    """

    def __init__(
        self,
        api: Any,
        *,
        prefix: str = "/noslip",
        traces: bool = True,
        forces: bool = False,
        velocities: bool = False,
        follow: bool = False,
        ghost: bool = False,
    ) -> None:
        self.api, self.prefix, self.ghost = api, prefix, ghost
        self.traces, self.forces, self.velocities = traces, forces, velocities
        self.follow = follow
        self.scene: Scene | None = None
        self.frames: Frames | None = None
        self.index = 0
        self._root = api.add_frame(prefix, show_axes=False)
        self._bodies: dict[str, Any] = {}
        self._parts: list[tuple[Part, Any]] = []
        self._extras: list[Any] = []
        self._pieces: list[tuple[int, Any]] = []
        self._arrows: list[tuple[Any, Array, Array]] = []
        self._shown: dict[str, tuple[Array, Array]] = {}
        self._offset = np.zeros((0, 3))

    def put(self, scene: Scene, frames: Frames, index: int = 0) -> None:
        """Show another scene or motion; meshes that did not change are kept."""
        self.scene, self.frames = scene, frames
        self._offset = followed(scene, frames)
        self._offset = self._offset - self._offset[0] if len(frames) else self._offset
        self._put_bodies(scene)
        for handle in self._extras:
            handle.remove()
        self._extras, self._pieces, self._arrows = [], [], []
        if not self.ghost:
            box = extent(scene, frames)
            self._put_grounds(scene, box)
            if self.traces:
                self._put_traces(scene, frames, box)
            self._put_arrows(scene, frames)
        self._shown = {}
        self.show(min(index, len(frames) - 1))

    def show(self, index: int) -> None:
        """Move everything to a frame."""
        frames = self.frames
        if frames is None:
            return
        self.index = index
        for k, name in enumerate(frames.bodies):
            if name in self._bodies:
                self._move(
                    name,
                    self._bodies[name],
                    frames.positions[index, k],
                    frames.quaternions[index, k],
                )
        offset = self._offset[index] if self.follow else np.zeros(3)
        self._move(self.prefix, self._root, -offset, np.array([1.0, 0.0, 0.0, 0.0]))
        for start, handle in self._pieces:
            if handle.visible != (start < index):
                handle.visible = start < index
        for handle, starts, ends in self._arrows:
            points = np.stack([starts[:, index], ends[:, index]], axis=1).astype(np.float32)
            handle.points = points

    def remove(self) -> None:
        """Take everything away."""
        self._root.remove()
        self._bodies, self._parts, self._extras = {}, [], []
        self._pieces, self._arrows, self._shown = [], [], {}
        self.scene = self.frames = None

    def _move(self, name: str, handle: Any, position: Array, wxyz: Array) -> None:
        """Send a pose if it differs from the last one."""
        last = self._shown.get(name)
        if last is None or not np.array_equal(last[0], position):
            handle.position = position
        if last is None or not np.array_equal(last[1], wxyz):
            handle.wxyz = wxyz
        self._shown[name] = (position, wxyz)

    def _put_bodies(self, scene: Scene) -> None:
        names = (*scene.bodies, WORLD)
        for name in list(self._bodies):
            if name not in names:
                self._bodies.pop(name).remove()
                self._parts = [(p, h) for p, h in self._parts if p.body != name]
        for name in names:
            if name not in self._bodies:
                path = f"{self.prefix}/{_node(name)}"
                self._bodies[name] = self.api.add_frame(path, show_axes=False)
        kept: list[tuple[Part, Any]] = []
        for k, part in enumerate(scene.parts):
            old = self._parts[k] if k < len(self._parts) else None
            if old is not None and old[0].same_as(part):
                kept.append((part, old[1]))
                continue
            if old is not None:
                old[1].remove()
            kept.append((part, self._mesh(k, part)))
        for _, handle in self._parts[len(scene.parts) :]:
            handle.remove()
        self._parts = kept

    def _mesh(self, k: int, part: Part) -> Any:
        return self.api.add_mesh_simple(
            f"{self.prefix}/{_node(part.body)}/part{k}",
            part.vertices,
            part.faces,
            color=GHOST if self.ghost else part.color,
            opacity=0.25 if self.ghost else None,
            cast_shadow=not self.ghost,
            receive_shadow=not self.ghost,
        )

    def _put_grounds(self, scene: Scene, box: Extent) -> None:
        grounds = list(scene.grounds)
        if not any(ground.body == WORLD for ground in grounds):
            grounds.append(_floor(scene, box))
        for k, ground in enumerate(grounds):
            if ground.body == WORLD:
                width, center = grid_size(scene, box)
                normal = ground.rotation[:, 2]
                at = center - normal * float((center - ground.position) @ normal)
            else:
                width, at = grid_cell(4 * scene.length) * 4, ground.position
            cell = grid_cell(width)
            path = self.prefix if ground.body == WORLD else f"{self.prefix}/{_node(ground.body)}"
            self._extras.append(
                self.api.add_grid(
                    f"{path}/ground{k}",
                    width=width,
                    height=width,
                    cell_size=cell,
                    section_size=5 * cell,
                    cell_color=GRID_CELL,
                    section_color=GRID_SECTION,
                    position=_snapped(at, ground, cell),
                    wxyz=quaternions_of(ground.rotation),
                    shadow_opacity=0.15,
                    plane_opacity=0.0,
                )
            )

    def _put_traces(self, scene: Scene, frames: Frames, box: Extent) -> None:
        """Each trace once as a thin line, and once in pieces that appear as time goes on."""
        lift = scene.up * 2e-3 * min(box.size, 2 * scene.length)
        for name in trace_names(scene, frames):
            points = frames.traces[name] + lift
            color = CONTACT_TRACE if name.endswith(".contact") else CENTER_TRACE
            path = f"{self.prefix}/traces/{_node(name)}"
            every = max(1, -(-len(points) // 2000))
            thin = np.concatenate([points[:-1:every], points[-1:]])
            self._line(f"{path}/all", thin, _pale(color), 1.0)
            bounds = np.unique(np.linspace(0, len(points) - 1, PIECES + 1).astype(int))
            for start, end in pairwise(bounds):
                handle = self._line(
                    f"{path}/piece{start}", points[start : end + 1], color, 2.5, visible=False
                )
                self._pieces.append((int(start), handle))

    def _line(
        self, path: str, points: Array, color: tuple[int, int, int], width: float, **more: Any
    ) -> Any:
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        handle = self.api.add_line_segments(
            path, segments, color, thickness=width, thickness_units="screen", **more
        )
        self._extras.append(handle)
        return handle

    def _put_arrows(self, scene: Scene, frames: Frames) -> None:
        if self.velocities and frames.bodies:
            self._arrow("velocities", frames.centers, frames.velocities, VELOCITY, scene)
        if self.forces and frames.forces:
            points, vectors = (
                np.stack(x, axis=1) for x in zip(*frames.forces.values(), strict=True)
            )
            self._arrow("forces", points, vectors, FORCE, scene)

    def _arrow(
        self, name: str, points: Array, vectors: Array, color: tuple[int, int, int], scene: Scene
    ) -> None:
        """Arrows whose longest is as long as the model."""
        longest = float(np.max(np.linalg.norm(vectors, axis=-1), initial=0.0))
        if longest == 0.0:
            return
        scale = 1.5 * scene.length / longest
        starts = np.swapaxes(points, 0, 1)
        ends = starts + scale * np.swapaxes(vectors, 0, 1)
        handle = self.api.add_arrows(
            f"{self.prefix}/{name}",
            np.stack([starts[:, 0], ends[:, 0]], axis=1).astype(np.float32),
            color,
            shaft_radius=0.012 * scene.length,
            head_radius=0.035 * scene.length,
            head_length=0.1 * scene.length,
        )
        self._extras.append(handle)
        self._arrows.append((handle, starts, ends))


def set_camera(server: Any, view: Camera) -> None:
    """Let new viewers of a viser server look through a camera."""
    start = server.initial_camera
    start.position = tuple(float(x) for x in view.position)
    start.look_at = tuple(float(x) for x in view.look_at)
    start.up = tuple(float(x) for x in view.up)
    start.fov = view.field_of_view


def trace_names(scene: Scene, frames: Frames) -> tuple[str, ...]:
    """Traces worth drawing: what moves; of mass centers only those of bodies without a contact."""
    touching = {
        name.removesuffix(".contact") for name in frames.traces if name.endswith(".contact")
    }
    shown = []
    for name, points in frames.traces.items():
        owner, _, kind = name.rpartition(".")
        if kind == "center_of_mass" and owner in touching:
            continue
        if np.ptp(points, axis=0).max() > 1e-3 * scene.length and len(points) > 1:
            shown.append(name)
    return tuple(shown)


def grid_cell(width: float) -> float:
    """A round cell size, 1, 2 or 5 times a power of ten, for about 20 cells."""
    raw = width / 20
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9)))


def grid_size(scene: Scene, box: Extent) -> tuple[float, Array]:
    """Width of the square that carries the motion with a margin, and its middle."""
    wide = 1.3 * float(np.max(box.upper - box.lower)) + 2 * scene.length
    cell = grid_cell(wide)
    return float(np.ceil(wide / (2 * cell)) * 2 * cell), box.center


def _floor(scene: Scene, box: Extent) -> Ground:
    """A floor below everything, for models that touch no ground."""
    lowest = float(np.min(box.corners @ scene.up))
    position = box.center + scene.up * (lowest - float(box.center @ scene.up))
    return Ground(body=WORLD, rotation=rotation_to(scene.up), position=position)


def _snapped(at: Array, ground: Ground, cell: float) -> Array:
    """The middle moved to a crossing of the lines through the ground's origin."""
    local = ground.rotation.T @ (at - ground.position)
    local[:2] = np.round(local[:2] / cell) * cell
    snapped: Array = ground.position + ground.rotation @ local
    return snapped


def _pale(color: tuple[int, int, int]) -> tuple[int, int, int]:
    r, g, b = (round(255 - 0.4 * (255 - c)) for c in color)
    return r, g, b


def _node(name: str) -> str:
    """A body's name as part of a viser path, where a slash would start a new level."""
    return name.replace("/", "∕")

"""`Stage`: a scene and its motion in viser, live or recorded.

Everything hangs under one frame. To follow a body that frame is moved against it, so that the
camera need not be told and a recording can follow as well.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noslip.model.bodies import WORLD
from noslip.show.scene.camera import Camera, Extent, extent, followed
from noslip.show.scene.frames import Frames
from noslip.show.scene.geometry import Array, quaternions_of, rotation_to, without_jumps
from noslip.show.scene.meshes import Color
from noslip.show.scene.overlays import arrows, fineness, grids, pale, rounded, traces
from noslip.show.scene.poses import roller_quaternions
from noslip.show.scene.rollers import Roller
from noslip.show.scene.scene import Part, Scene

GHOST, GRID_CELL, GRID_SECTION = (150, 150, 150), (214, 218, 224), (168, 176, 188)

#: Radius of an arrow's shaft as a part of the model's length.
SHAFT = 0.014

#: Pieces of a trace that appear one after the other.
PIECES = 40


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
        self._rollers: dict[str, tuple[Roller, Any]] = {}
        self._parts: list[tuple[Part, Any]] = []
        self._extras: list[Any] = []
        self._pieces: list[tuple[int, Any]] = []
        self._arrows: list[_Arrow] = []
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
                self._put_traces(scene, frames)
            self._put_arrows(scene, frames)
        self._shown = {}
        self.show(min(index, len(frames) - 1))

    def extend(self, frames: Frames) -> None:
        """Show the last frame of a motion that goes on; what stands still is left as it is."""
        if self.scene is None:
            return
        if self._arrows:
            self.put(self.scene, frames, len(frames) - 1)
            return
        self.frames = frames
        self._offset = followed(self.scene, frames)
        self._offset = self._offset - self._offset[0] if len(frames) else self._offset
        self.show(len(frames) - 1)

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
        for name, (roller, handle) in self._rollers.items():
            turned = roller_quaternions(roller.axis, frames.rolled[name][index])
            self._move(name, handle, roller.center, turned)
        offset = self._offset[index] if self.follow else np.zeros(3)
        self._move(self.prefix, self._root, -offset, np.array([1.0, 0.0, 0.0, 0.0]))
        for start, handle in self._pieces:
            if handle.visible != (start < index):
                handle.visible = start < index
        for arrow in self._arrows:
            arrow.resize(index)
            self._move(arrow.path, arrow.frame, arrow.starts[index], arrow.turns[index])

    def remove(self) -> None:
        """Take everything away."""
        self._root.remove()
        self._bodies, self._rollers, self._parts, self._extras = {}, {}, [], []
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
        self._put_rollers(scene)
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

    def _put_rollers(self, scene: Scene) -> None:
        for name, (roller, handle) in list(self._rollers.items()):
            if (name, roller.body) not in [(r.name, r.body) for r in scene.rollers]:
                handle.remove()
                self._parts = [(p, h) for p, h in self._parts if p.roller != name]
                del self._rollers[name]
        for roller in scene.rollers:
            path = f"{self.prefix}/{_node(roller.body)}/{_node(roller.name)}"
            handle = self._rollers.get(roller.name, (roller, None))[1]
            if handle is None:
                handle = self.api.add_frame(path, show_axes=False)
            self._rollers[roller.name] = (roller, handle)

    def _mesh(self, k: int, part: Part) -> Any:
        path = f"{self.prefix}/{_node(part.body)}"
        if part.roller:
            path = f"{path}/{_node(part.roller)}"
        return self.api.add_mesh_simple(
            f"{path}/part{k}",
            part.vertices,
            part.faces,
            color=GHOST if self.ghost else part.color,
            opacity=0.25 if self.ghost else None,
            cast_shadow=not self.ghost,
            receive_shadow=not self.ghost,
        )

    def _put_grounds(self, scene: Scene, box: Extent) -> None:
        for k, grid in enumerate(grids(scene, box)):
            path = self.prefix if grid.body == WORLD else f"{self.prefix}/{_node(grid.body)}"
            handle = self.api.add_grid(
                f"{path}/ground{k}",
                width=grid.width,
                height=grid.width,
                cell_size=grid.cell,
                section_size=5 * grid.cell,
                cell_color=GRID_CELL,
                section_color=GRID_SECTION,
                position=grid.position,
                wxyz=quaternions_of(grid.rotation),
                fade_distance=20 * grid.width,
                shadow_opacity=0.15,
            )
            self._extras.append(handle)

    def _put_traces(self, scene: Scene, frames: Frames) -> None:
        """Each trace once as a thin line, and once in pieces that appear as time goes on."""
        for trace in traces(scene, frames):
            points = rounded(trace.points, fineness(trace.points))
            path = f"{self.prefix}/traces/{_node(trace.name)}"
            # a little lower, so that the two do not flicker through each other
            self._line(
                f"{path}/all", points - 2e-3 * scene.length * scene.up, pale(trace.color), 1.0
            )
            bounds = np.unique(np.linspace(0, len(points) - 1, PIECES + 1).astype(int))
            for start, end in pairwise(bounds):
                piece = points[start : end + 1]
                handle = self._line(f"{path}/{start}", piece, trace.color, 2.5, visible=False)
                self._pieces.append((start * (len(frames) - 1) // (len(points) - 1), handle))

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
        for kind in arrows(scene, frames, forces=self.forces, velocities=self.velocities):
            for k in range(kind.starts.shape[1]):
                arrow = _Arrow(
                    self.api,
                    f"{self.prefix}/{kind.name}/{k}",
                    kind.starts[:, k],
                    kind.ends[:, k] - kind.starts[:, k],
                    kind.color,
                    SHAFT * scene.length,
                )
                self._extras.append(arrow.frame)
                self._arrows.append(arrow)


class _Arrow:
    """An arrow that is placed and turned like a body, so that it moves with the bodies.

    Only its length is a property of its own; it is sent when it changes by more than can be seen.
    """

    def __init__(
        self, api: Any, path: str, starts: Array, vectors: Array, color: Color, radius: float
    ) -> None:
        self.path, self.starts, self.radius = path, starts, radius
        self.lengths = np.linalg.norm(vectors, axis=1)
        turns = np.stack([rotation_to(v) if v.any() else np.eye(3) for v in vectors])
        self.turns = without_jumps(quaternions_of(turns))
        self.length = 0.0
        self.frame = api.add_frame(path, show_axes=False)
        self.handle = api.add_arrows(
            f"{path}/arrow",
            self._points(),
            color,
            shaft_radius=radius,
            head_radius=2.8 * radius,
            head_length=8 * radius,
        )

    def _points(self) -> NDArray[np.float32]:
        return np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, self.length]]], dtype=np.float32)

    def resize(self, index: int) -> None:
        """Send the length at a frame if it differs from what is shown."""
        length = float(self.lengths[index])
        if abs(length - self.length) > 0.25 * self.radius:
            self.length = length
            self.handle.points = self._points()
            self.handle.visible = length > self.radius


def set_camera(server: Any, view: Camera) -> None:
    """Let new viewers of a viser server look through a camera."""
    start = server.initial_camera
    start.position = tuple(float(x) for x in view.position)
    start.look_at = tuple(float(x) for x in view.look_at)
    start.up = tuple(float(x) for x in view.up)
    start.fov = view.field_of_view


def _node(name: str) -> str:
    """A body's name as part of a viser path, where a slash would start a new level."""
    return name.replace("/", "∕")

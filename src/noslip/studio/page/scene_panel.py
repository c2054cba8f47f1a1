"""`ScenePanel`: the picture of a page, and paths that are dragged on its floor.

**`ScenePanel`: the picture of a page: bodies, the ghost of another run, and the camera.**

**`PathHandles`: points on the floor that can be dragged, and the path through them.**

A browser sends where the pointer is on a plane that faces the camera. The point goes where the ray
from the camera through that place meets the floor. Messages of a drag come on the thread of the
server, in order; they only note where the point is. The thread of the page redraws the path, and
hands the points to the session when the point is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import numpy as np

from noslip import NoslipError
from noslip.base import Array
from noslip.control import Point, sample
from noslip.paths import Spline
from noslip.scene import GHOST, PALETTE, Color, Frames, Scene, Stage, camera, frames, is_far, rgb
from noslip.studio.page.browser import point_camera
from noslip.studio.session import Shown

#: Options of a stage that the next one keeps.
DRAWN = ("traces", "forces", "velocities", "follow", "dark")
#: Color and name of the run that others are compared with.
KEPT_COLOR, KEPT = PALETTE[4], "kept"
#: How much farther away one looks at what is driven than would be needed to see it.
AWAY = 2.2
#: Ground ahead of what is driven, s of its way.
AHEAD = 3.0


class ScenePanel:
    """The scene of a run or a drive. Not thread-safe."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._count = 0
        self.stage = Stage(client.scene, prefix="/noslip0")
        self._is_kept = False
        self._ghost_stage = self._new_ghost_stage()
        self.shown: Shown | None = None
        self.ghost: Shown | None = None
        self._view: tuple[float, Any] = (0.0, None)
        self._before: Any = None
        self._field_of_view = 0.8

    def put(
        self,
        shown: Shown,
        ghost: Shown | None,
        t: float,
        *,
        is_new: bool,
        is_kept: bool = False,
    ) -> None:
        """Show a run at a time; the camera fits a new run, or follows its bodies if it is long."""
        if is_new or not _same_meshes(self.stage.scene, shown.scene):
            self._clear()
        if is_new:
            self.stage.follow = is_far(shown.scene, shown.frames)
        motion = shown.frames
        if self.stage.forces and shown.mechanism.model.contacts:
            # forces cost more than poses, so that they are found only where they are drawn
            motion = frames(shown.system, shown.run, times=motion.times, forces=True)
        with self.client.atomic():
            self.stage.put(shown.scene, motion, nearest_frame(motion, t))
            self.put_ghost(ghost, t, is_kept=is_kept)
        self.shown = shown
        if is_new:
            self.fit_camera()

    def fit_run(self) -> None:
        """Fit the camera to the run, or let it follow the bodies if the run is long."""
        if self.shown is not None:
            self.set_follow(is_far(self.shown.scene, self.shown.frames))

    def put_ghost(self, ghost: Shown | None, t: float, *, is_kept: bool = False) -> None:
        """Show another run, in gray or as the one that is kept; or none."""
        self.ghost = ghost
        if is_kept is not self._is_kept:
            if self._ghost_stage.scene is not None:
                self._ghost_stage.remove()
            self._is_kept = is_kept
            self._ghost_stage = self._new_ghost_stage()
        if ghost is not None:
            self._ghost_stage.put(ghost.scene, ghost.frames, nearest_frame(ghost.frames, t))
        elif self._ghost_stage.scene is not None:
            self._ghost_stage.remove()
            self._ghost_stage = self._new_ghost_stage()

    def move(self, t: float) -> None:
        """Move everything to a time of the run."""
        if self.shown is None:
            return
        k = nearest_frame(self.shown.frames, t)
        if k != self.stage.index:
            with self.client.atomic():
                self.stage.show(k)
                if self.ghost is not None:
                    self._ghost_stage.show(nearest_frame(self.ghost.frames, t))

    def drive(self, scene: Scene, motion: Frames, *, is_first: bool, is_due: bool) -> None:
        """Show the newest frame of a drive; redraw its traces where that is due."""
        with self.client.atomic():
            self.shown = None
            if is_first:
                self._clear()
                self.stage.follow = True
            before = self.stage.frames
            if is_due or is_first:
                fast = float(np.max(np.linalg.norm(motion.velocities[-1], axis=-1), initial=0.0))
                self.stage.put(scene, motion, len(motion) - 1, room=AHEAD * fast)
            else:
                self.stage.extend(motion)
            if is_first or (before is not None and len(motion) < len(before)):
                self.fit_camera(AWAY)

    def set_follow(self, follow: bool) -> None:
        """Let the camera follow the bodies, or leave it to the user."""
        self.stage.follow = follow
        self.stage.show(self.stage.index)
        self.fit_camera()

    def fit_camera(self, away: float = 1.0) -> None:
        """Point the camera at the whole motion, or at the bodies that it follows."""
        scene, motion = self.stage.scene, self.stage.frames
        if scene is None or motion is None:
            return
        aspect = float(self.client.camera.aspect) or 1.5
        found = camera(scene, motion, aspect=aspect, follow=self.stage.follow)
        position = found.look_at + away * (found.position - found.look_at)
        self._view, self._field_of_view = (aspect, position), found.field_of_view
        self._before = np.array(self.client.camera.position)
        point_camera(self.client, position, found.look_at, found.up, found.field_of_view)

    def moved_camera(self) -> tuple[float, ...]:
        """Place of the camera and the point it looks at, where a hand has moved it; else empty."""
        view, (_, position) = self.client.camera, self._view
        if position is None:
            return ()
        place, look_at = np.asarray(view.position), np.asarray(view.look_at)
        distance = float(np.linalg.norm(position - look_at)) or 1.0
        if float(np.linalg.norm(position - place)) < 1e-2 * distance:
            return ()
        # the browser has not told yet that it was pointed elsewhere
        if np.array_equal(place, self._before):
            return ()
        return tuple(float(f"{x:.4g}") for x in (*place, *look_at))

    def move_camera(self, camera: tuple[float, ...]) -> None:
        """Put the camera where it was; see `moved_camera`."""
        place, look_at, scene = np.array(camera[:3]), np.array(camera[3:]), self.stage.scene
        up = np.array([0.0, 0.0, 1.0]) if scene is None else scene.up
        point_camera(self.client, place, look_at, up, self._field_of_view)

    def is_resized(self, view: Any) -> bool:
        """Whether the window has another shape and the camera is where `fit_camera` put it."""
        aspect, position = self._view
        if position is None or not view.aspect:
            return False
        distance = float(np.linalg.norm(position - np.asarray(view.look_at))) or 1.0
        is_own = float(np.linalg.norm(position - np.asarray(view.position))) < 1e-3 * distance
        return is_own and abs(float(view.aspect) / aspect - 1.0) > 0.02

    def _clear(self) -> None:
        """Remove everything, for another model.

        The next stage has another name: a browser that misses a removal would keep the old poses.
        """
        drawn = {name: getattr(self.stage, name) for name in DRAWN}
        self.stage.remove()
        self._count += 1
        self.stage = Stage(self.client.scene, prefix=f"/noslip{self._count}", **drawn)
        self._ghost_stage = self._new_ghost_stage()

    def _new_ghost_stage(self) -> Stage:
        """A stage below the other, so that it moves with the view that follows."""
        api, above = self.client.scene, self.stage.prefix
        if self._is_kept:
            return Stage(api, prefix=f"{above}/{KEPT}", ghost=rgb(KEPT_COLOR), label=KEPT)
        return Stage(api, prefix=f"{above}/ghost", ghost=GHOST, traces=False)


def nearest_frame(motion: Frames, t: float) -> int:
    """The picture nearest to a time."""
    times = motion.times
    k = int(np.searchsorted(times, t))
    if k == 0:
        return 0
    if k == len(times):
        return k - 1
    return k if times[k] - t < t - times[k - 1] else k - 1


def _same_meshes(old: Scene | None, new: Scene) -> bool:
    """Whether the meshes of the old scene can be reused."""
    return old is not None and old.bodies == new.bodies and len(old.parts) == len(new.parts)


#: Radius of a point: parts of the model's length, of the path's extent, whichever is more, and of
#: the extent for fingers.
RADIUS, SHARE, FINGER = 0.11, 0.014, 0.028
#: Height of the line above the floor, as a part of the model's length.
LIFT = 0.02
#: Pieces of the line.
PIECES = 240
#: Farthest place of a point, lengths of the model from the origin; closer to the horizon than that
#: a point stays where it is.
FARTHEST = 500.0
#: Colors of points, of the path, and of a path that cannot be followed.
POINT, PATH, REFUSED = rgb(PALETTE[1]), rgb(PALETTE[2]), (214, 69, 69)


class Floor(NamedTuple):
    """The plane of a path: its axes as columns, and its origin, in the world."""

    rotation: Array
    position: Array

    def place(self, points: Array) -> Array:
        """(n, 2) on the floor → (n, 3) in the world."""
        placed: Array = self.position + points @ self.rotation[:, :2].T
        return placed

    def hit(self, camera: Array, through: Array) -> Array | None:
        """(2,) where a ray from a camera through a place meets the floor; None if nowhere."""
        direction, normal = through - camera, self.rotation[:, 2]
        toward, height = float(direction @ normal), float((camera - self.position) @ normal)
        if not np.isfinite(toward) or toward * height >= 0:
            return None
        found = camera - height / toward * direction - self.position
        local: Array = self.rotation[:, :2].T @ found
        return local if np.all(np.isfinite(local)) else None


class PathShape(NamedTuple):
    """A path through points: (n, 2) places on it, its length and its smallest radius, m."""

    line: Array
    length: float
    radius: float


def path_shape(points: tuple[Point, ...], closed: bool) -> PathShape | None:
    """The path through points; None where there is none, as through two at one place."""
    try:
        found = sample(Spline(points=points, closed=closed), PIECES)
    except NoslipError:
        return None
    sharpest = float(np.max(np.abs(found.curvature)))
    line = np.column_stack([found.x, found.y])
    return PathShape(line, float(found.arc_length[-1]), 1 / sharpest if sharpest else np.inf)


class PathHandles:
    """Draggable points in a scene.

    `drop`: function called with all points when one is dropped.
    """

    def __init__(
        self, client: Any, drop: Callable[[tuple[Point, ...]], None], *, is_phone: bool = False
    ) -> None:
        self._client, self._drop = client, drop
        self._share = FINGER if is_phone else SHARE
        self._lock = threading.Lock()
        self._key: tuple[object, ...] = ()
        self._handles: list[Any] = []
        self._line: Any = None
        self._floor = Floor(np.eye(3), np.zeros(3))
        self._shift: Callable[[], Array] = lambda: np.zeros(3)
        self._points: list[Point] = []
        self._closed, self._is_refused = False, False
        self._length, self._radius, self._grip = 1.0, 1.0, np.zeros(2)
        self._dragged: int | None = None
        self._is_moved = self._is_dropped = False
        self._count, self._shifted = 0, np.zeros(3)
        self.shape: PathShape | None = None

    @property
    def is_dragged(self) -> bool:
        """Whether a point is in somebody's hand, or was dropped a moment ago."""
        return self._dragged is not None or self._is_dropped

    def put(
        self,
        points: tuple[Point, ...],
        closed: bool,
        *,
        scene: Scene,
        floor: Floor,
        shift: Callable[[], Array],
    ) -> bool:
        """Show points, unless they are shown already or one is being dragged; whether it did."""
        key = (points, closed, scene.length)
        if key == self._key or self.is_dragged:
            return False
        is_kept = (
            len(points) == len(self._points) and key[2:] == self._key[2:] and bool(self._handles)
        )
        with self._lock:
            self._key, self._points, self._closed = key, list(points), closed
            self._floor, self._shift, self._length = floor, shift, scene.length
        if not is_kept:
            self._remove_nodes()
            self._make_nodes()
        for k in range(len(points)):
            self._move_node(k)
        self._draw_line()
        return True

    def remove(self) -> None:
        """Take everything off the scene."""
        if self._key:
            self._key, self._points, self._dragged, self._is_dropped = (), [], None, False
            self.shape = None
            self._remove_nodes()

    def refuse(self, is_refused: bool) -> None:
        """Color the path as one that can be followed, or not."""
        with self._lock:
            self._is_moved |= is_refused is not self._is_refused
            self._is_refused = is_refused

    def update(self) -> bool:
        """Redraw the path of a point that is dragged; hand all over when it is dropped.

        Returns whether the path is another one.
        """
        with self._lock:
            is_moved, self._is_moved = self._is_moved, False
            is_dropped, points = self._is_dropped, tuple(self._points)
        shift = self._shift()
        if self._handles and not np.array_equal(shift, self._shifted):
            self._handles[0].position = self._shifted = shift
        if is_moved and self._line is not None:
            self._draw_line()
        if is_dropped:
            self._key = (points, *self._key[1:])
            self._drop(points)
            self._is_dropped = False
        return is_moved

    @property
    def _color(self) -> Color:
        return REFUSED if self._is_refused or self.shape is None else PATH

    def _make_nodes(self) -> None:
        # a browser that misses a removal would keep the old poses of the same names
        self._count += 1
        api, path = self._client.scene, f"/points{self._count}"
        extent = float(np.max(np.ptp(np.array(self._points), axis=0)))
        self._radius = max(RADIUS * self._length, self._share * extent)
        self._handles = [api.add_frame(path, show_axes=False, position=self._shifted)]
        for k in range(len(self._points)):
            ball = api.add_icosphere(
                f"{path}/{k + 1}", radius=self._radius, color=POINT, subdivisions=2
            )
            ball.on_drag(self._dragging(k))
            api.add_label(
                f"{path}/{k + 1}/name",
                str(k + 1),
                position=(0.0, 0.0, 1.4 * self._radius),
                anchor="bottom-center",
                font_screen_scale=0.8,
            )
            self._handles.append(ball)
        self._line = api.add_line_segments(
            f"{path}/line",
            np.zeros((1, 2, 3), np.float32),
            self._color,
            thickness=3.0,
            thickness_units="screen",
        )

    def _remove_nodes(self) -> None:
        # what is below goes with it
        for handle in self._handles[:1]:
            handle.remove()
        self._handles, self._line = [], None

    def _move_node(self, k: int) -> None:
        (place,) = self._floor.place(np.array([self._points[k]]))
        up = self._floor.rotation[:, 2]
        self._handles[k + 1].position = place + 0.5 * self._radius * up

    def _draw_line(self) -> None:
        """The path through the points; straight lines where there is none."""
        self.shape = path_shape(tuple(self._points), self._closed)
        flat = np.array(self._points) if self.shape is None else self.shape.line
        line = self._floor.place(flat) + LIFT * self._length * self._floor.rotation[:, 2]
        self._line.points = np.stack([line[:-1], line[1:]], axis=1).astype(np.float32)
        self._line.colors = np.array(self._color, np.uint8)

    def _dragging(self, k: int) -> Callable[[Any], Awaitable[None]]:
        """The callback of a point; without waiting, so that a drag comes in its order."""

        async def dragged(event: Any) -> None:
            self.drag(k, event.phase, event.start_position, event.end_position)

        return dragged

    def drag(self, k: int, phase: str, grabbed: Any, pointer: Any) -> None:
        """Note a message of a drag."""
        with self._lock:
            if k >= len(self._points) or k + 1 >= len(self._handles):
                return
            shift = self._shift()
            camera = np.asarray(self._client.camera.position) - shift
            if phase == "start":
                first = self._floor.hit(camera, np.array(grabbed) - shift)
                own = np.array(self._points[k])
                self._grip = np.zeros(2) if first is None else own - first
                self._dragged = k
            if self._dragged != k:
                return
            found = self._floor.hit(camera, np.array(pointer) - shift)
            if found is not None and np.max(np.abs(found)) < FARTHEST * self._length:
                self._points[k] = rounded_point(found + self._grip, self._length)
                self._move_node(k)
                self._is_moved = True
            if phase == "end":
                self._dragged, self._is_dropped = None, True


def rounded_point(point: Array, length: float) -> Point:
    """A point rounded to some thousandths of a length, so that commands stay short."""
    digits = 3 - int(np.floor(np.log10(length)))
    x, y = (round(float(e), digits) + 0.0 for e in point)
    return x, y

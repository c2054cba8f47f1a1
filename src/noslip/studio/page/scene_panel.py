"""`ScenePanel`: the picture of a page: bodies, the ghost of another run, and the camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from noslip.scene import GHOST, PALETTE, Frames, Scene, Stage, camera, frames, is_far, rgb
from noslip.studio.page.browser import point_camera
from noslip.studio.running.session import Shown

#: Options of a stage that the next one keeps.
DRAWN = ("traces", "forces", "velocities", "follow", "dark")
#: Color and name of the run that others are compared with.
KEPT_COLOR, KEPT = PALETTE[4], "kept"
#: How much farther away one looks at what is driven than would be needed to see it.
AWAY = 2.2
#: Ground ahead of what is driven, s of its way.
AHEAD = 3.0


class ScenePanel:
    """The scene of a run or a drive. Not thread-safe.

    Parameters
    ----------
    client : of the viser server.
    """

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
        """Show a run at a time; the camera fits a new run, or follows its bodies if it is long.

        Parameters
        ----------
        shown, ghost : the run, and another one beside it if one is to be seen.
        t : s.
        is_new : whether something else was shown before.
        is_kept : whether the other one is kept for a comparison.
        """
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

"""`Page`: one browser. Shows what its session finds, and takes what is chosen on it to the session.

A thread of its own moves the picture on, 30 times a second; plots and the time bar follow at a
slower pace. Every callback is guarded: a fault is shown on the page and nothing ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from noslip import Fault, NoslipError, System, Trajectory
from noslip.model import WORLD
from noslip.results import Audit, Certificate
from noslip.scene import Frames, Scene, ground_joints
from noslip.show import ground_plane
from noslip.studio.choice import (
    DRAWN,
    DRIVE,
    PATH,
    Choice,
    Controls,
    Mechanism,
    ModelCatalog,
    PageLink,
    PageView,
    changed_choice,
    differences,
    read_link,
    write_link,
)
from noslip.studio.page import texts
from noslip.studio.page.browser import Disposal, Visit
from noslip.studio.page.control_panels import SPEEDS, STAGE, DrivePanel, Panels, Player, make_file
from noslip.studio.page.plots_panel import PlotsPanel
from noslip.studio.page.scene_panel import KEPT, Floor, PathHandles, ScenePanel
from noslip.studio.session import Cancel, Session, Shown, Worker, faults_of

if TYPE_CHECKING:
    from noslip.studio.page.sweep_panel import SweepPoints

NO_VISIT = Visit()
BRAND = (76, 120, 168)
#: Pictures a second, and seconds between updates of plots and the time bar.
RATE, SLOW = 30.0, 0.15
#: Seconds between updates of the link in the address of the page.
LINKED = 0.5


def path_floor(shown: Shown) -> Floor:
    """The plane that paths of a vehicle are given in, on the ground below it."""
    plane = ground_plane(shown.run)
    normal, position = plane.rotation[:, 2], plane.position
    for ground in shown.scene.grounds:
        if ground.body == WORLD and abs(ground.rotation[:, 2] @ normal) > 1 - 1e-9:
            position = position + normal * float((ground.position - position) @ normal)
            break
    return Floor(plane.rotation, position)


class Page:
    """A browser and its session.

    `name`: name of the first one; `points`: points of a sweep that is opened, if one is.
    """

    def __init__(
        self,
        client: Any,
        catalog: ModelCatalog,
        name: str,
        points: SweepPoints | None = None,
        visit: Visit = NO_VISIT,
    ) -> None:
        self.client, self.catalog, self.visit = client, catalog, visit
        self.player = Player()
        self._lock = threading.RLock()
        self._faults_lock = threading.Lock()
        self._closed = threading.Event()
        self.shown: Shown | None = None
        self.audit: Audit | None = None
        self._ghost: Shown | None = None
        self._kept: Shown | None = None
        self._certificate: Certificate | None = None
        self._why = ""
        self._model = ""
        self._mechanism: Mechanism | None = None
        self._written: tuple[Mechanism, str] | None = None
        self._faults: dict[str, tuple[Fault, ...]] = {}
        self._wanted: PageView | None = None
        self._linked = 0.0
        self._is_path_seen = False
        self.disposal = Disposal()
        self.scene_panel = ScenePanel(client)
        self.set_dark(visit.is_dark)
        self._threads = ExitStack()
        try:
            self._reader: Worker[Shown] = Worker(self._read, self._not_read, "noslip studio reader")
            self._threads.callback(self._reader.close)
            self._writer: Worker[str] = Worker(self._write, self._failed, "noslip studio writer")
            self._threads.callback(self._writer.close)
            self.session = Session(catalog, name, self)
            self._threads.callback(self.session.close)
            self.path_handles = PathHandles(
                client, self.session.set_points, is_phone=visit.is_phone
            )
            self.drive_panel = DrivePanel(self)
            self.panels = Panels(self)
            if points is not None:
                from noslip.studio.page.sweep_panel import SweepPanel

                self.sweep_panel = SweepPanel(self, points, self._failed)
                self._threads.callback(self.sweep_panel.close)
            self.plots = PlotsPanel(client, self.panels.plots_tab, self.guard, self.disposal)
            client.camera.on_update(self._camera_moved)
            self._open_link(visit.state)
            threading.Thread(target=self._tick, name="noslip studio page", daemon=True).start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the threads of a page whose browser has disconnected, or that cannot be shown."""
        self._closed.set()
        self._threads.close()

    def guard(self, work: Callable[[Any], None]) -> Callable[[Any], None]:
        """A callback of the page that shows what goes wrong instead of raising it."""

        def guarded(event: Any) -> None:
            # what this program sets itself comes back without a client
            if event.client is None or self._closed.is_set():
                return
            if self._faults.get("link"):
                self._show_faults(link=())
            try:
                work(event)
            except Exception as error:
                self._failed(error)

        return guarded

    # called by the session

    def show_controls(self, controls: Controls, choice: Choice) -> None:
        """Show the knobs of a choice; the drive panel only while driving."""
        self.panels.show_controls(controls, choice)
        if choice.task != DRIVE:
            self.drive_panel.end()

    def show_drive_start(self, system: System, choice: Choice, scene: Scene) -> None:
        """Start a drive."""
        self.panels.show_drive(system.model)
        self.drive_panel.start(system, choice, scene)

    def show_run(self, shown: Shown, ghost: Shown | None) -> None:
        """Show a new run: bodies, plots, time bar, verdicts."""
        run = shown.run
        with self._lock:
            now = time.monotonic()
            is_new = self._model != shown.name
            is_other = self.shown is not None and self.shown.choice.task != shown.choice.task
            if self._mechanism is not shown.mechanism:
                self._mechanism, self._certificate, self._why = shown.mechanism, None, ""
            self.shown, self.audit = shown, None
            if is_new:
                self.player.jump(0.0, now)
            self.player.take(float(run.t[0]), float(run.t[-1]), now)
            if not self._model:
                self.player.play(now)
            self._model = shown.name
            wanted, self._wanted = self._wanted, None
            if wanted is not None:
                self._prepare_view(wanted, now)
            t = self.player.time(now)
            self._ghost = ghost
            self.scene_panel.put(shown, self._beside, t, is_new=is_new, is_kept=self._has_kept)
            if is_other and not self.scene_panel.moved_camera():
                self.scene_panel.fit_run()
            self.panels.set_follow(self.scene_panel.stage.follow)
            self.panels.show_run(shown)
            self._show_plots(t)
            self._show_verdicts()
            self._show_comparison()
            if wanted is not None:
                self._restore_view(wanted)
        self._reader.submit(shown)

    def show_kept(self, kept: Shown | None) -> None:
        """Show the run that others are compared with beside the present one; none any more."""
        with self._lock:
            self._kept = kept
            if self.scene_panel.shown is not None:
                self._put_ghost()
            self._show_comparison()

    def show_audit(self, shown: Shown, found: Audit | None) -> None:
        """Show the audit of the run."""
        with self._lock:
            if shown is self.shown:
                self.audit = found
                self._show_verdicts()

    def show_faults(self, faults: tuple[Fault, ...]) -> None:
        """Show why a choice cannot be run."""
        self.path_handles.refuse(bool(faults))
        self._show_faults(choice=faults)

    def show_file_faults(self, faults: tuple[Fault, ...]) -> None:
        """Show the faults of the model file."""
        self._show_faults(file=faults)

    # called by the drive panel

    def show_live(self, scene: Scene, motion: Frames, is_due: bool) -> None:
        """Show the newest frame of a drive, and now and then its traces."""
        with self._lock:
            is_first = self._model != DRIVE
            self._model = DRIVE
            self.scene_panel.drive(scene, motion, is_first=is_first, is_due=is_due)
            self.panels.set_follow(self.scene_panel.stage.follow)

    def show_live_time(self, t: float, now: float) -> None:
        """Show how long a drive has lasted."""
        with self._lock:
            self.panels.show_drive_time(t, now)

    def show_live_plots(self, run: Trajectory, t: float) -> None:
        """Plot the last seconds of a drive."""
        with self._lock:
            self.plots.show(run, None, t)

    def show_drive(self, run: Trajectory) -> None:
        """Show a stopped drive like any other run."""
        self.session.show_drive(run)

    # what is done on the page

    def play_or_pause(self) -> None:
        """Toggle between playing and paused."""
        with self._lock:
            now = time.monotonic()
            if self.player.is_playing:
                self.player.pause(now)
                self._show_pause(now)
            else:
                self.player.play(now)
                self.panels.show_playing(self.player.is_playing)

    def scrub(self, t: float) -> None:
        """Show a time and pause there."""
        with self._lock:
            now = time.monotonic()
            self.player.pause(now)
            self.player.jump(t, now)
            self.panels.show_playing(False)

    def set_follow(self, follow: bool) -> None:
        """Let the camera follow the bodies, or leave it to the user."""
        with self._lock:
            self.scene_panel.set_follow(follow)

    def set_dark(self, is_dark: bool) -> None:
        """Make the page dark or light."""
        self.client.gui.configure_theme(
            show_logo=False, show_share_button=False, brand_color=BRAND, dark_mode=is_dark
        )
        self.set_stage("dark", is_dark)

    def set_ghost(self) -> None:
        """Show the run before this one, or not, as the box of the panels says."""
        with self._lock:
            self._put_ghost()

    def set_stage(self, name: str, value: bool) -> None:
        """Draw traces, forces or velocities, or not; in colors for a dark page, or not."""
        with self._lock:
            setattr(self.scene_panel.stage, name, value)
            if self.scene_panel.shown is not None:
                t = self.player.time(time.monotonic())
                self.scene_panel.put(
                    self.scene_panel.shown, self._beside, t, is_new=False, is_kept=self._has_kept
                )

    def fit_view(self) -> None:
        """Point the camera at the whole motion, or at the bodies that it follows."""
        with self._lock:
            self.scene_panel.fit_camera()

    def download(self, kind: str) -> None:
        """Make a file of the run that is shown, and send it."""
        self._writer.submit(kind)

    # links

    def link(self) -> PageLink:
        """Link to the state of this page."""
        session = self.session
        with self._lock:
            first = session.mechanism.first_choice()
            player, stage = self.player, self.scene_panel.stage
            t = None if player.is_playing else round(player.time(time.monotonic()), 6)
            drawn = {name: bool(getattr(stage, name)) for name in STAGE}
            view = PageView(
                time=t,
                speed=player.speed,
                loop=player.loop,
                drawn=drawn | {"ghost": self.panels.has_ghost},
                follow=stage.follow,
                plots=self.plots.titles,
                camera=self.scene_panel.moved_camera(),
            )
            kept, kept_model = None, ""
            if self._kept is not None and self._kept.choice.task != DRIVE:
                usual = self._kept.mechanism.first_choice()
                kept = differences(self._kept.choice, usual)
                kept_model = self._kept.name if self._kept.name != session.name else ""
            return PageLink(
                model=session.name,
                changes=differences(session.choice, first),
                kept=kept,
                kept_model=kept_model,
                view=view,
            )

    def _open_link(self, text: str) -> None:
        """Show what a link says; without one, or with one that cannot be read, the first choice."""
        if not text:
            self.session.start()
            return
        try:
            link = read_link(text)
            mechanism = self.catalog.mechanism(link.model)
            choice = changed_choice(mechanism.first_choice(), link.changes)
            kept = None
            if link.kept is not None:
                name = link.kept_model or link.model
                usual = self.catalog.mechanism(name).first_choice()
                kept = (name, changed_choice(usual, link.kept))
        except NoslipError as error:
            self.session.start()
            self._show_faults(link=error.faults)
            return
        self._wanted = link.view
        self.session.open(link.model, choice, kept)

    def _prepare_view(self, view: PageView, now: float) -> None:
        """Time, speed, plots and what is drawn, before a run is put on the page."""
        self.player.loop = view.loop
        self.player.set_speed(min(max(view.speed, SPEEDS[0]), SPEEDS[-1]), now)
        if view.time is not None:
            self.player.pause(now)
            self.player.jump(view.time, now)
        self.plots.choose(view.plots)
        for name in STAGE:
            setattr(self.scene_panel.stage, name, view.drawn.get(name, name == "traces"))

    def _restore_view(self, view: PageView) -> None:
        """The camera and the boxes of the panels, once a run is on the page."""
        stage = self.scene_panel.stage
        if view.follow is not None and view.follow is not stage.follow:
            self.scene_panel.set_follow(view.follow)
        if len(view.camera) == 6:
            self.scene_panel.move_camera(view.camera)
        self.panels.show_view(view, self.player)

    # inside

    def _camera_moved(self, view: Any) -> None:
        try:
            with self._lock:
                if not self._closed.is_set() and self.scene_panel.is_resized(view):
                    self.scene_panel.fit_camera()
        except Exception as error:
            self._failed(error)

    @property
    def _has_kept(self) -> bool:
        return self._kept is not None

    @property
    def _beside(self) -> Shown | None:
        """The run beside the one that is shown: one that is kept, or the one before it."""
        return self._kept or (self._ghost if self.panels.has_ghost else None)

    def _put_ghost(self) -> None:
        t = self.player.time(time.monotonic())
        self.scene_panel.put_ghost(self._beside, t, is_kept=self._has_kept)
        self._show_plots(t)

    def _show_plots(self, t: float) -> None:
        if self.shown is not None:
            ghost = self.scene_panel.ghost
            other = None if ghost is None else ghost.run
            self.plots.show(self.shown.run, other, t, KEPT if self._has_kept else "")

    def _show_comparison(self) -> None:
        if self.shown is not None:
            self.panels.show_comparison(texts.comparison_html(self._kept, self.shown))

    def _show_verdicts(self) -> None:
        if self.shown is not None:
            self.panels.show_verdicts(
                texts.verdicts_html(self.shown, self.audit, self._certificate, self._why)
            )

    def _show_faults(self, **faults: tuple[Fault, ...]) -> None:
        """Show other faults of the file, the link or the choice, beside those of the others."""
        title = "The file has faults; the last good model stays."
        # faults are found by several threads, and the page shows those that were found last
        with self._faults_lock:
            found = self._faults = {**self._faults, **faults}
            self.panels.show_faults(
                texts.faults_html(found.get("file", ()), title=title, kind="caution")
                + texts.faults_html(found.get("link", ()))
                + texts.faults_html(found.get("choice", ()))
            )

    def _failed(self, error: Exception) -> None:
        self.show_faults(faults_of(error))

    def _read(self, shown: Shown, cancel: Cancel) -> None:
        """Show equations and certificate, after a short wait without newer requests."""
        cancel.wait(0.4)
        mechanism, formulation = shown.mechanism, shown.choice.formulation
        if self._written != (mechanism, formulation):
            html = mechanism.equations_html(formulation)
            cancel.check()
            self.panels.show_equations(html)
            self._written = (mechanism, formulation)
        certificate, why = None, ""
        try:
            certificate = mechanism.certificate()
        except NoslipError as error:
            why = error.what
        with self._lock:
            if self._mechanism is mechanism:
                self._certificate, self._why = certificate, why
                self._show_verdicts()

    def _not_read(self, error: Exception) -> None:
        self.panels.show_equations(texts.faults_html(faults_of(error)))

    def _write(self, kind: str, cancel: Cancel) -> None:
        with self._lock:
            shown, audit = self.shown, self.audit
        if shown is None:
            return
        note = self.client.add_notification("Writing…", "", loading=True, with_close_button=False)
        try:
            name, content = make_file(kind, shown, audit, self.link().view)
            self.client.send_file_download(name, content, save_immediately=True)
        finally:
            note.remove()

    def _tick(self) -> None:
        slow = 0.0
        while not self._closed.wait(1.0 / RATE):
            try:
                now = time.monotonic()
                self.disposal.remove_due(now)
                is_slow = now - slow >= SLOW
                slow = now if is_slow else slow
                if self.drive_panel.is_driving:
                    self.drive_panel.tick(now, is_slow)
                else:
                    self._move(now, is_slow)
                self._update_path(is_slow)
                if now - self._linked >= LINKED and self.shown is not None:
                    self._linked = now
                    self.panels.show_link(write_link(self.link()))
            except Exception as error:
                self._failed(error)
                self._closed.wait(1.0)

    def _update_path(self, is_slow: bool) -> None:
        """Keep the points on the floor those of the choice, and those of the choice dragged."""
        handles, choice = self.path_handles, self.session.choice
        is_changed = handles.update()
        if is_slow:
            with self._lock:
                shown = self.scene_panel.shown
                if choice.task != PATH or choice.path != DRAWN or shown is None:
                    handles.remove()
                    self._is_path_seen = False
                    return
                if not choice.points or not ground_joints(shown.run):
                    return
                if not self._is_path_seen and shown.choice.path == DRAWN:
                    self._show_whole_path()
                is_changed |= handles.put(
                    choice.points,
                    choice.closed,
                    scene=shown.scene,
                    floor=path_floor(shown),
                    shift=lambda: self.scene_panel.stage.shift,
                )
        if is_changed:
            self.panels.show_path(texts.path_html(handles.shape))

    def _show_whole_path(self) -> None:
        """Let the camera rest and show all of a path to be drawn, unless a hand has moved it."""
        self._is_path_seen = True
        if not self.scene_panel.moved_camera():
            self.scene_panel.set_follow(False)
            self.panels.set_follow(False)

    def _move(self, now: float, is_slow: bool) -> None:
        with self._lock:
            if self.scene_panel.shown is None:
                return
            was_playing = self.player.is_playing
            t = self.player.time(now)
            self.scene_panel.move(t)
            if is_slow:
                self.panels.show_time(t, now)
                self.plots.move(t, now)
            if was_playing and not self.player.is_playing:
                self._show_pause(now)

    def _show_pause(self, now: float) -> None:
        """Show where it was paused, and then that it is: a time that is typed is not moved on."""
        self.panels.show_time(self.player.time(now), now)
        self.panels.show_playing(False)

"""`Page`: one browser. Shows what its session finds, and takes what is chosen on it to the session.

**The plots of a page: three, each with a group of columns chosen from a list, and a cursor.**

The cursor is a curve of its own. Three points at the shown time are put among the samples, where
all curves have the value they pass through. The cursor runs along the lowest value of the plot, and
at these points up to the highest one and back: a vertical line.

One more point stands behind the last sample, closer than anything that is drawn. It moves from one
drawing to the next: a plot that was made while it had no size draws its time axis only when the
range of time changes.

A thread of its own moves the picture on, 30 times a second; plots and the time bar follow at a
slower pace. Every callback is guarded: a fault is shown on the page and nothing ends.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import Fault, NoslipError, System, Trajectory
from noslip.base import Array
from noslip.model import WORLD, angle_names
from noslip.results import Audit, Certificate
from noslip.scene import PALETTE, Frames, Scene, ground_joints
from noslip.show import ground_plane, unit_text
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
from noslip.studio.page.scene_panel import KEPT, Floor, PathHandles, ScenePanel
from noslip.studio.session import Cancel, Session, Shown, Worker, faults_of

if TYPE_CHECKING:
    from noslip.studio.page.sweep_panel import SweepPoints

GHOST, CURSOR = "rgba(140, 140, 140, 0.55)", "rgba(120, 120, 120, 0.8)"

#: Most curves of one plot.
MOST = 8


def _stroke(k: int) -> dict[str, object]:
    """Color of curve k, as in figures; those beyond the palette repeat it with dashes."""
    dashes = {"dash": (9, 3)} if k >= len(PALETTE) else {}
    return {"stroke": PALETTE[k % len(PALETTE)], **dashes}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotGroup:
    """Columns of one unit that are drawn together."""

    title: str  #: title on the page, with the unit
    unit: str  #: unit of the columns, as it is shown
    #: names of the columns; those that start with ``error.`` are simulated minus reference
    columns: tuple[str, ...]


def plot_groups(run: Trajectory) -> dict[str, PlotGroup]:
    """The groups of a run by title, those that say most first."""
    units = {c.name: c.unit for c in run.coordinates}
    angles = [
        name
        for joint in run.model.joints
        for name in (f"{joint.name}.{a}" for a in angle_names(joint))
        if name in run.columns
    ]
    places = [c.name for c in run.coordinates if units[c.name] != "1"] + angles
    # a wheel turns so far that other angles would be a flat line beside it
    wheels = _wheel_angles(run) if set(places) - set(_wheel_angles(run)) else []
    groups: list[tuple[str, str, list[str]]] = []
    for title, names in (
        ("positions", [name for name in places if name not in wheels]),
        ("speeds", [s.name for s in run.speeds]),
        ("inputs", [q.name for q in run.input_quantities]),
        ("wheel angles", wheels),
        ("energy", ["kinetic_energy", "potential_energy", "work"]),
        ("errors", [f"error.{n}" for n in run.errors]),
        ("energy error", ["energy_error"]),
        ("residuals", [f"residual.{r}" for r in run.rows]),
        ("accelerations", [f"acceleration.{s.name}" for s in run.speeds]),
    ):
        of = {n: run.columns[n.removeprefix("error.")][0] for n in names}
        groups += [(title, u, [n for n in names if of[n] == u]) for u in dict.fromkeys(of.values())]
    found = {}
    for title, unit, names in groups:
        shown = unit_text(unit)
        title = "angles" if title == "positions" and unit == "rad" else title
        full = f"{title} [{shown}]" if shown else title
        found[full] = PlotGroup(title=full, unit=shown, columns=tuple(names[:MOST]))
    return found


def _wheel_angles(run: Trajectory) -> list[str]:
    """Angles of the joints that carry rolling wheels."""
    rolling = {c.body for c in run.model.contacts if c.is_wheel}
    turning = [j for j in run.model.joints if j.type.rotation_axis() is not None]
    carrying = [j.name for j in turning if j.child in rolling]
    known = {c.name for c in run.coordinates}
    return [name for j in carrying if (name := f"{j}.angle") in known]


def column(run: Trajectory, name: str) -> Array:
    """(n,) values of a column or an error."""
    if name.startswith("error."):
        return np.asarray(run.errors[name.removeprefix("error.")])
    return run[name]


def plot_data(
    run: Trajectory,
    group: PlotGroup,
    shown_time: float,
    ghost: Trajectory | None = None,
    *,
    drawing: int = 0,
) -> tuple[Array, ...]:
    """Times, the cursor, the columns, and those of a ghost, each (n + 4,) or longer.

    `shown_time`: time of the cursor, s. `ghost`: another run whose columns are drawn too; one that
    is longer makes the arrays longer, and what ends before the other is NaN, which is not drawn,
    from there on.
    """
    t = run.t
    at = float(np.clip(shown_time, t[0], t[-1]))
    k = int(np.searchsorted(t, at, side="right"))
    later = np.zeros(0) if ghost is None else ghost.t[ghost.t > t[-1]]
    last = later[-1] if len(later) else t[-1]
    behind = last + (last - t[0]) * (1 + drawing % 2) * 1e-9
    times = np.concatenate([t[:k], [at, at, at], t[k:], later, [behind]])
    missing = np.full(len(later), np.nan)
    curves = []
    for name in group.columns:
        values = _finite(column(run, name))
        now = float(np.interp(at, t, values))
        ends = np.append(missing, np.nan if len(later) else values[-1])
        curves.append(np.concatenate([values[:k], [now, now, now], values[k:], ends]))
    if ghost is not None:
        upto = ghost.t[-1] if len(later) == 0 and ghost.t[-1] < t[-1] else np.inf
        for name in group.columns:
            drawn = np.interp(times, ghost.t, _finite(column(ghost, name)))
            curves.append(np.where(times > upto, np.nan, drawn))
    stacked = np.array(curves)
    size = plot_scale(run, group)
    stacked = stacked if size == 1.0 else stacked / size
    low, high = float(np.nanmin(stacked)), float(np.nanmax(stacked))
    cursor = np.full(len(times), low)
    cursor[k + 1] = high if high > low else low + 1.0
    return (times, cursor, *stacked)


def _finite(values: Array) -> Array:
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)


def plot_scale(run: Trajectory, group: PlotGroup) -> float:
    """Display unit of the values: a power of 1000 if they are very small or very large."""
    largest = max(float(np.max(np.abs(column(run, n)), initial=0.0)) for n in group.columns)
    if not np.isfinite(largest) or largest == 0.0 or 0.01 <= largest < 1e6:
        return 1.0
    return float(1000.0 ** math.floor(math.log10(largest) / 3))


def same_columns(ghost: Trajectory | None, group: PlotGroup) -> bool:
    """Whether a ghost has all columns of a group."""
    if ghost is None:
        return False
    has = set(ghost.columns) | {f"error.{n}" for n in ghost.errors}
    return all(name in has for name in group.columns)


def plot_series(
    group: PlotGroup, has_ghost: bool, counted_in: float = 1.0, kept: str = ""
) -> tuple[dict[str, object], ...]:
    """Options of uPlot for each array of `plot_data`.

    `group`, `has_ghost`: columns to draw, and whether another run is drawn too. `kept`: name of the
    other run where it is compared with; its curves then have names and colors.
    """
    cursor = "now"
    if counted_in != 1.0:
        cursor = f"in {unit_text(group.unit, round(math.log10(counted_in)))}"
    options: list[dict[str, object]] = [
        {"label": "t [s]"},
        {"label": cursor, "stroke": CURSOR, "width": 1, "points": {"show": False}},
    ]
    for k, name in enumerate(group.columns):
        label = name.removeprefix("error.").removeprefix("residual.").removeprefix("acceleration.")
        options.append(
            {"label": label, **_stroke(k), "width": 1.75,
             "points": {"show": False}}
        )  # fmt: skip
    if has_ghost and kept:
        options += [
            {**option, "label": f"{option['label']}, {kept}", "width": 1.5, "dash": (6, 4)}
            for option in options[2:]
        ]
    elif has_ghost:
        options += [
            {"label": "before", "stroke": GHOST, "width": 1.25, "dash": (5, 4),
             "points": {"show": False}, "class": UNNAMED if k else "before"}
            for k, _ in enumerate(group.columns)
        ]  # fmt: skip
    return tuple(options)


#: Class of curves that have no row in the legend, in `viewer.css`.
UNNAMED = "unnamed"
#: What the plots show first, as far as the run has it.
FIRST = ("positions [m]", "angles [rad]", "speeds [m/s]", "inputs", "energy [J]")
SLOTS = 3
#: Seconds after which a plot is redrawn although nothing moves.
REDRAW_INTERVAL = 2.0

Guard = Callable[[Callable[[Any], None]], Callable[[Any], None]]


class PlotsPanel:
    """Three plots in a tab."""

    def __init__(self, client: Any, tab: Any, guard: Guard, disposal: Disposal) -> None:
        self._client, self._tab, self._guard, self._disposal = client, tab, guard, disposal
        self._lock = threading.RLock()
        self._slots: list[_Slot] = []
        self._run: Trajectory | None = None
        self._ghost: Trajectory | None = None
        self._groups: dict[str, PlotGroup] = {}
        self._time, self._drawn = 0.0, 0.0
        self._beside = ""
        self._wanted: tuple[str, ...] = ()

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the plots, from the top."""
        return tuple(slot.title for slot in self._slots)

    def choose(self, titles: tuple[str, ...]) -> None:
        """Show these where the run has them, from the next run on."""
        with self._lock:
            self._wanted, self._groups = titles, {}

    def show(self, run: Trajectory, ghost: Trajectory | None, t: float, beside: str = "") -> None:
        """Draw another run, and a ghost, which has a name where it is compared with."""
        with self._lock:
            self._run, self._ghost, self._time, self._beside = run, ghost, t, beside
            found = plot_groups(run)
            if list(found) != list(self._groups) or not self._slots:
                kept = [title for title in self._wanted or self.titles if title in found]
                self._wanted = ()
                self._groups = found
                self._rebuild(kept)
            self._groups = found
            for slot in self._slots:
                self._draw(slot)

    def move(self, t: float, now: float) -> None:
        """Move the cursor to another time; redraw now and then if it stands still."""
        with self._lock:
            if self._run is None or (t == self._time and now - self._drawn < REDRAW_INTERVAL):
                return
            self._time, self._drawn = t, now
            for slot in self._slots:
                self._draw(slot)

    def _rebuild(self, kept: list[str]) -> None:
        for slot in self._slots:
            self._disposal.discard(slot.choice, slot.plot)
        titles = list(self._groups)
        wanted = kept + [t for first in FIRST for t in titles if t.startswith(first)]
        wanted = list(dict.fromkeys([*wanted, *titles]))[:SLOTS]
        gui = self._client.gui
        self._slots = []
        with self._tab:
            for k, title in enumerate(wanted):
                slot = _Slot(title)
                slot.choice = gui.add_dropdown(
                    f"plot {k + 1}", titles, initial_value=title, order=10.0 * k
                )
                slot.choice.on_update(self._guard(partial(self._choose, slot)))
                self._slots.append(slot)

    def _choose(self, slot: _Slot, _: Any) -> None:
        with self._lock:
            if slot.choice.value in self._groups:
                slot.title = slot.choice.value
                self._draw(slot)

    def _draw(self, slot: _Slot) -> None:
        """New numbers for a plot; a new plot where it has other curves."""
        if self._run is None:
            return
        group = self._groups[slot.title]
        ghost = self._ghost if same_columns(self._ghost, group) else None
        slot.drawings += 1
        arrays = plot_data(self._run, group, self._time, ghost, drawing=slot.drawings)
        counted_in = plot_scale(self._run, group)
        key = (group, ghost is not None, counted_in, self._beside)
        if slot.plot is not None and slot.key == key:
            slot.plot.data = arrays
            return
        self._disposal.discard(slot.plot)
        with self._tab:
            slot.plot = self._client.gui.add_uplot(
                arrays,
                plot_series(group, ghost is not None, counted_in, self._beside),
                height=190,
                scales={"x": {"time": False}},
                axes=({"size": 30}, {"size": 52}),
                legend={"show": True, "live": False},
                cursor={"drag": {"x": True, "y": False}},
                padding=(8, 12, 0, 0),
                order=slot.choice.order + 1.0,
            )
        slot.key = key


class _Slot:
    """One plot: what it shows and its handles."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.choice: Any = None
        self.plot: Any = None
        self.key: object = None
        self.drawings = 0


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

"""The plots of a page: three, each with a group of columns chosen from a list, and a cursor.

The cursor is a curve of its own. Three points at the shown time are put among the samples, where
all curves have the value they pass through. The cursor runs along the lowest value of the plot, and
at these points up to the highest one and back: a vertical line.

One more point stands behind the last sample, closer than anything that is drawn. It moves from one
drawing to the next: a plot that was made while it had no size draws its time axis only when the
range of time changes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import Trajectory
from noslip.base import Array
from noslip.model import angle_names
from noslip.scene import PALETTE
from noslip.show import unit_text
from noslip.studio.page.browser import Disposal

if TYPE_CHECKING:
    pass


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

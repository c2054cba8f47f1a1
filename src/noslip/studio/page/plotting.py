"""The plots of a page: three pictures of curves, each chosen from a list, with a cursor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from noslip.simulation.trajectory import Trajectory
from noslip.studio.page.bin import Bin
from noslip.studio.page.curves import Picture, data, pictures, same_columns, scale, series

#: What the plots show first, as far as the run has it.
FIRST = ("places [m]", "places [rad]", "speeds [m/s]", "inputs", "energy [J]")
SLOTS = 3
#: Seconds after which a plot is drawn again although nothing moves.
AGAIN = 2.0

Guard = Callable[[Callable[[Any], None]], Callable[[Any], None]]


class Plots:
    """Three plots in a tab.

    Parameters
    ----------
    client : of the viser server.
    tab : to put them in.
    guard : wraps callbacks.
    bin : takes what is no longer shown.
    """

    def __init__(self, client: Any, tab: Any, guard: Guard, bin: Bin) -> None:
        self._client, self._tab, self._guard, self._bin = client, tab, guard, bin
        self._lock = threading.RLock()
        self._slots: list[_Slot] = []
        self._run: Trajectory | None = None
        self._ghost: Trajectory | None = None
        self._pictures: dict[str, Picture] = {}
        self._time, self._drawn = 0.0, 0.0

    def show(self, run: Trajectory, ghost: Trajectory | None, t: float) -> None:
        """Draw another run."""
        with self._lock:
            self._run, self._ghost, self._time = run, ghost, t
            found = pictures(run)
            if list(found) != list(self._pictures) or not self._slots:
                kept = [slot.title for slot in self._slots if slot.title in found]
                self._pictures = found
                self._rebuild(kept)
            self._pictures = found
            for slot in self._slots:
                self._draw(slot)

    def move(self, t: float, now: float) -> None:
        """Put the cursor at another time; where it stands, draw again now and then."""
        with self._lock:
            if self._run is None or (t == self._time and now - self._drawn < AGAIN):
                return
            self._time, self._drawn = t, now
            for slot in self._slots:
                self._draw(slot)

    def _rebuild(self, kept: list[str]) -> None:
        for slot in self._slots:
            self._bin.discard(slot.choice, slot.plot)
        titles = list(self._pictures)
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
            if slot.choice.value in self._pictures:
                slot.title = slot.choice.value
                self._draw(slot)

    def _draw(self, slot: _Slot) -> None:
        """New numbers for a plot; a new plot where it has other curves."""
        if self._run is None:
            return
        picture = self._pictures[slot.title]
        ghost = self._ghost if same_columns(self._ghost, picture) else None
        slot.drawings += 1
        arrays = data(self._run, picture, self._time, ghost, drawing=slot.drawings)
        counted_in = scale(self._run, picture)
        key = (picture, ghost is not None, counted_in)
        if slot.plot is not None and slot.key == key:
            slot.plot.data = arrays
            return
        self._bin.discard(slot.plot)
        with self._tab:
            slot.plot = self._client.gui.add_uplot(
                arrays,
                series(picture, ghost is not None, counted_in),
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

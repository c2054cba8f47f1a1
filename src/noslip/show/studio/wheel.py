"""`Wheel`: drives the mechanism of a page in real time, by keys, buttons or sliders.

Arrow keys change the two main commands by a notch, and go on while they are held; the space bar
sets all commands to zero. The same is on the page as buttons, and every command is a slider.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.show.report.values import unit_text
from noslip.show.scene.scene import Scene
from noslip.show.studio.channels import PLACE, SPEED, Helm, make_helm
from noslip.show.studio.choice import Choice
from noslip.show.studio.driver import Driver
from noslip.show.studio.film import Film
from noslip.show.studio.runs import Outcome, scenario_start, split_changes
from noslip.simulation.start import Start, complete_start

if TYPE_CHECKING:
    from noslip.show.studio.page import Page

#: Notches from zero to the largest command.
NOTCHES = 10
#: Keys → which of the two main commands they change, and by how many notches.
KEYS = {"arrowup": (0, 1), "arrowdown": (0, -1), "arrowleft": (1, 1), "arrowright": (1, -1)}
WORDS = {"arrowup": "faster", "arrowdown": "slower", "arrowleft": "left", "arrowright": "right"}
BUTTONS = {"◀": "arrowleft", "▲": "arrowup", "▼": "arrowdown", "▶": "arrowright"}
STOP = "■"
#: Seconds of the drive that the plots show, and between drawings of traces and plots.
WINDOW, REDRAW = 20.0, 1.0


class Wheel:
    """What a driver has in hand.

    Parameters
    ----------
    page : that is driven.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._lock = threading.RLock()
        self._folder: Any = None
        self._button: Any = None
        self._commands: list[Any] = []
        self._sliders: list[Any] = []
        self._driver: Driver | None = None
        self._film: Film | None = None
        self._scene: Scene | None = None
        self._signs = (1.0, 1.0)
        self._last = 0.0
        self._drawn = 0.0
        self.is_driving = False

    def take(self, system: System, choice: Choice, look: Scene) -> None:
        """Start a drive, or go on with other parameters from where it is."""
        parameters, start = split_changes(system, choice)
        values = system.parameters(parameters)
        with self._lock:
            old = self._driver
            goes_on = old is not None and old.system is system
            helm = make_helm(system, values, look.length)
            if goes_on and old is not None:
                begin = _standing(system, old, values)
            else:
                begin = complete_start(
                    system, {**_at_rest(system, choice), **start}, parameters=values
                )
            driver = Driver(system, helm, values, begin)
            if goes_on and old is not None:
                driver.commands[:] = old.commands
            else:
                self._signs = _signs(system, helm, values, begin)
            self._driver, self._film, self._scene = driver, Film(system), look
            self._last, self._drawn, self.is_driving = time.monotonic(), 0.0, True
            if not goes_on:
                self._make(helm)

    def leave(self) -> None:
        """Another task: take the wheel off the page."""
        with self._lock:
            self._driver = self._film = None
            self.is_driving = False
            self._clear()

    def press(self, key: str) -> None:
        """A key or button: change a main command by a notch; anything else stops."""
        with self._lock:
            driver = self._driver
            if driver is None:
                return
            if key not in KEYS:
                driver.commands[:] = 0.0
            else:
                k, notches = KEYS[key]
                if k >= len(driver.helm.channels):
                    return
                largest = driver.helm.channels[k].largest
                notch = self._signs[k] * notches * largest / NOTCHES
                driver.command(k, float(driver.commands[k]) + notch)
            for slider, value in zip(self._sliders, driver.commands, strict=True):
                slider.value = float(value)

    def toggle(self) -> None:
        """Stop and look at what was driven, or go on."""
        with self._lock:
            driver = self._driver
            if driver is None:
                return
            self.is_driving = not self.is_driving
            self._last = time.monotonic()
            self._button.label = "Stop and look" if self.is_driving else "Drive on"
            outcome = None if self.is_driving else self._outcome(driver, -np.inf)
        # not under the lock: the session may be waiting for the wheel
        if outcome is not None:
            self.page.show_drive(outcome)

    def tick(self, now: float) -> None:
        """Move on to this time of the wall clock."""
        with self._lock:
            driver, film, look = self._driver, self._film, self._scene
            if driver is None or film is None or look is None or not self.is_driving:
                return
            elapsed, self._last = now - self._last, now
            try:
                driver.advance(elapsed)
            except SimulationError:
                self.is_driving = False
                self._button.label = "Drive on"
                raise
            grown = film.add(driver.piece())
            is_due = now - self._drawn >= REDRAW
            self.page.show_live(look, grown, is_due)
            if is_due:
                self._drawn = now
                self.page.show_live_plots(self._outcome(driver, driver.t - WINDOW), driver.t)

    def _outcome(self, driver: Driver, since: float) -> Outcome:
        return Outcome(result=driver.trajectory(since), errors={})

    def _make(self, helm: Helm) -> None:
        """Sliders, buttons and keys of the channels."""
        page, gui = self.page, self.page.client.gui
        self._clear()
        folder = gui.add_folder("Drive", order=15.0)
        with folder:
            for k, channel in enumerate(helm.channels):
                slider = gui.add_slider(
                    f"{channel.label} [{unit_text(channel.unit)}]",
                    min=-channel.largest,
                    max=channel.largest,
                    step=channel.largest / 100,
                    initial_value=0.0,
                    marks=(),
                )
                slider.on_update(page.guard(partial(self._slide, k, slider)))
                self._sliders.append(slider)
            buttons = gui.add_button_group(
                "arrow keys", (*BUTTONS, STOP), hint="or the arrow keys; space stops"
            )
            buttons.on_click(page.guard(lambda _: self.press(BUTTONS.get(buttons.value, "stop"))))
            self._button = gui.add_button("Stop and look")
            self._button.on_click(page.guard(lambda _: self.toggle()))
        self._folder = folder
        for key, word in WORDS.items():
            command = gui.add_command(f"Drive: {word}", hotkey=key)
            command.on_trigger(page.guard(partial(self._key, key)))
            self._commands.append(command)
        stop = gui.add_command("Drive: stop", hotkey="space")
        stop.on_trigger(page.guard(lambda _: self.press("stop")))
        self._commands.append(stop)

    def _clear(self) -> None:
        """Take sliders, buttons and keys off the page."""
        self.page.bin.discard(self._folder)
        for command in self._commands:
            command.remove()
        self._folder, self._commands, self._sliders = None, [], []

    def _key(self, key: str, _: Any) -> None:
        self.press(key)

    def _slide(self, k: int, slider: Any, _: Any) -> None:
        with self._lock:
            if self._driver is not None:
                self._driver.command(k, float(slider.value))


def _at_rest(system: System, choice: Choice) -> dict[str, float]:
    """The scenario's places at the start, without its speeds."""
    scenario = system.model.scenario
    if scenario is None or scenario.motion:
        return {}
    speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
    given = scenario_start(system, choice)
    return {n: x for n, x in given.items() if n not in speeds and not n.endswith("_rate")}


def _standing(system: System, driver: Driver, values: Array) -> Start:
    """Where a driver is now, as a start at other parameter values."""
    places = {c.name: float(x) for c, x in zip(system.coordinates, driver.q, strict=True)}
    speeds = {s.name: float(x) for s, x in zip(system.speeds, driver.v, strict=True)}
    free = {s.name for s in system.independent_speeds}
    kept = {n: x for n, x in speeds.items() if n in free}
    if any(row.is_holonomic for row in system.kinematics.rows):
        places = {}
    return complete_start(system, {**places, **kept}, parameters=values)


def _signs(system: System, helm: Helm, values: Array, start: Start) -> tuple[float, float]:
    """Which way the second command turns the base to the left, found by a short drive ahead."""
    channels = helm.channels
    if len(channels) < 2 or channels[0].kind != SPEED or channels[1].kind != PLACE:
        return 1.0, 1.0
    names = [c.name for c in system.coordinates]
    heading = next((k for k, n in enumerate(names) if n.endswith(".angle")), None)
    if heading is None:
        return 1.0, 1.0
    turns = []
    for command in (0.0, 0.5):
        probe = Driver(system, helm, values, start)
        probe.command(0, 0.5 * channels[0].largest)
        probe.command(1, command * channels[1].largest)
        try:
            while probe.t < start.time + 3.0:
                probe.advance(0.1)
        except SimulationError:
            return 1.0, 1.0
        turns.append(float(probe.q[heading]))
    return 1.0, 1.0 if turns[1] >= turns[0] else -1.0

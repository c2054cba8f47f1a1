"""`DrivePanel`: drives the mechanism of a page in real time, by keys, buttons or sliders.

Arrow keys change the two main commands by a notch, and go on while they are held; the space bar
sets all commands to zero. The same is on the page as buttons, and every command is a slider. What
must be balanced is kept upright, or, with that turned off, ridden by the torques themselves.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from noslip import SimulationError, Start, System
from noslip.base import Array
from noslip.control import PLACE, SPEED, DriveControls, Driver, make_controls
from noslip.scene import Scene
from noslip.show import unit_text
from noslip.studio.choice import Choice, chosen_values
from noslip.studio.runs import DriveFrames, continued_start, drive_start

if TYPE_CHECKING:
    from noslip.studio.page.studio_page import Page

#: Notches from zero to the largest command.
NOTCHES = 10
#: Keys → which of the two main commands they change, and by how many notches.
KEYS = {"arrowup": (0, 1), "arrowdown": (0, -1), "arrowleft": (1, 1), "arrowright": (1, -1)}
WORDS = {"arrowup": "faster", "arrowdown": "slower", "arrowleft": "left", "arrowright": "right"}
BUTTONS = {"◀": "arrowleft", "▲": "arrowup", "▼": "arrowdown", "▶": "arrowright"}
STOP = "■"
#: Buttons of which one is seen at a time. Each does one thing, however often it is pressed: one
#: button with several labels would do the next thing where a click comes late.
HALT, RESUME, RESTART = "Stop and show the run", "Drive on", "Start again"
BALANCE = "off: it is not balanced, and ← → set the steering torque"
#: Seconds of the drive that the plots show, and between drawings of traces and plots.
WINDOW, REDRAW = 20.0, 1.0
#: Seconds of a drive that is stopped before its first picture.
SHORTEST = 1 / 30


class DrivePanel:
    """Sliders, buttons and keys of a drive, and the drive itself.

    Parameters
    ----------
    page : that is driven.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._lock = threading.RLock()
        self._folder: Any = None
        self._buttons: dict[str, Any] = {}
        self._commands: list[Any] = []
        self._sliders: list[Any] = []
        self._driver: Driver | None = None
        self._frames: DriveFrames | None = None
        self._scene: Scene | None = None
        self._signs = (1.0, 1.0)
        self._started: tuple[System, Choice, Scene] | None = None
        self._by_hand = self._has_ended = False
        self._last = 0.0
        self._drawn = 0.0
        self.is_driving = False

    def start(self, system: System, choice: Choice, scene: Scene) -> None:
        """Start a drive, or continue it from its state with other parameters."""
        parameters, start = chosen_values(system, choice)
        values = system.parameters(parameters)
        with self._lock:
            old = self._driver
            old = old if old is not None and old.system is system else None
            self._by_hand = self._by_hand and old is not None
            controls = make_controls(system, values, scene.length, by_hand=self._by_hand)
            is_new = old is None or self._has_ended or old.controls.labels != controls.labels
            if old is None or is_new:
                begin = drive_start(system, controls, values, choice, start)
                driver = Driver(system, controls, values, begin)
                self._signs = _signs(system, controls, values, begin)
            else:
                driver = Driver(system, controls, values, continued_start(system, old, values))
                driver.commands[:] = old.commands
            self._driver, self._frames, self._scene = driver, DriveFrames(system), scene
            self._started, self._has_ended = (system, choice, scene), False
            self._last, self._drawn, self.is_driving = time.monotonic(), 0.0, True
            if is_new:
                self._make(driver)
            self._show_button()

    def end(self) -> None:
        """End the drive and remove the panel, for another task."""
        with self._lock:
            self._driver = self._frames = None
            self.is_driving = self._by_hand = self._has_ended = False
            self._clear()

    def press(self, key: str) -> None:
        """A key or button: change a main command by a notch; anything else stops."""
        with self._lock:
            driver = self._driver
            if driver is None:
                return
            if key not in KEYS:
                driver.stop()
            else:
                k, notches = KEYS[key]
                if k >= len(driver.controls.channels):
                    return
                largest = driver.controls.channels[k].largest
                notch = self._signs[k] * notches * largest / NOTCHES
                driver.command(k, float(f"{driver.commands[k] + notch:.6g}"))
            for slider, value in zip(self._sliders, driver.commands, strict=True):
                slider.value = float(value)

    def keep_balance(self, wanted: bool) -> None:
        """Switch the balancing controller on or off."""
        with self._lock:
            driver, taken = self._driver, self._started
            if driver is None or taken is None or wanted is not self._by_hand:
                return
            self._by_hand = not wanted
            length = taken[2].length
            controls = make_controls(driver.system, driver.values, length, by_hand=self._by_hand)
            driver.change(controls)
            self._signs = (1.0, controls.channels[1].left)
            self._make(driver)

    def halt(self) -> None:
        """Stop, and show what was driven so far."""
        with self._lock:
            if self._driver is None or not self.is_driving:
                return
            if self._frames is not None and self._frames.frames is None:
                self._driver.advance(SHORTEST)
            run = self._driver.trajectory(-np.inf)
            self.is_driving = False
            self._show_button()
        # not under the lock: the session may be waiting for this panel
        self.page.show_drive(run)

    def resume(self) -> None:
        """Drive on from where it was stopped."""
        with self._lock:
            if self._driver is None or self._has_ended or self.is_driving:
                return
            self._last, self.is_driving = time.monotonic(), True
            self._show_button()

    def restart(self) -> None:
        """Start again after a drive that could not continue."""
        with self._lock:
            if self._has_ended and self._started is not None:
                self.start(*self._started)
                self.page.show_faults(())

    def tick(self, now: float, is_slow: bool) -> None:
        """Advance the drive to this time of the wall clock; its own time is shown now and then."""
        with self._lock:
            driver, recorded, scene = self._driver, self._frames, self._scene
            if driver is None or recorded is None or scene is None or not self.is_driving:
                return
            elapsed, self._last = now - self._last, now
            ended = None
            try:
                driver.advance(elapsed)
            except SimulationError as error:
                ended = error
                self.is_driving, self._has_ended = False, True
                self._show_button()
            grown = recorded.add(driver.piece())
            is_due = now - self._drawn >= REDRAW or ended is not None
            self.page.show_live(scene, grown, is_due)
            if is_slow or is_due:  # under the lock: not after the time of a run that was stopped
                self.page.show_live_time(driver.t, now)
            if is_due:
                self._drawn = now
                self.page.show_live_plots(driver.trajectory(driver.t - WINDOW), driver.t)
            if ended is not None:  # under the lock: not after another drive was started
                self.page.show_faults(ended.faults)

    def _make(self, driver: Driver) -> None:
        """Sliders, buttons and keys of the channels."""
        controls = driver.controls
        page, gui = self.page, self.page.client.gui
        self._clear()
        folder = gui.add_folder("Drive", order=15.0)
        with folder:
            for k, channel in enumerate(controls.channels):
                slider = gui.add_slider(
                    f"{channel.label} [{unit_text(channel.unit)}]",
                    min=channel.lower,
                    max=channel.largest,
                    step=channel.largest / 100,
                    initial_value=float(driver.commands[k]),
                    marks=(),
                )
                slider.on_update(page.guard(partial(self._slide, k, slider)))
                self._sliders.append(slider)
            buttons = gui.add_button_group(
                "arrow keys", (*BUTTONS, STOP), hint="or the arrow keys; space stops"
            )
            buttons.on_click(page.guard(lambda _: self.press(BUTTONS.get(buttons.value, "stop"))))
            if controls.balance is not None:
                box = gui.add_checkbox("keep balance", not controls.by_hand, hint=BALANCE)
                box.on_update(page.guard(lambda _: self.keep_balance(box.value)))
            for label, act in (
                (HALT, self.halt),
                (RESUME, self.resume),
                (RESTART, self.restart),
            ):
                # hidden from the start: none that is seen for a moment moves the others
                button = gui.add_button(label, visible=label == self._button_now)
                button.on_click(page.guard(partial(self._pressed, act)))
                self._buttons[label] = button
        self._folder = folder
        for key, word in WORDS.items():
            command = gui.add_command(f"Drive: {word}", hotkey=key)
            command.on_trigger(page.guard(partial(self._key, key)))
            self._commands.append(command)
        stop = gui.add_command("Drive: stop", hotkey="space")
        stop.on_trigger(page.guard(lambda _: self.press("stop")))
        self._commands.append(stop)

    @property
    def _button_now(self) -> str:
        """Label of the one button that does something now."""
        return RESTART if self._has_ended else HALT if self.is_driving else RESUME

    def _show_button(self) -> None:
        for label, button in self._buttons.items():
            button.visible = label == self._button_now

    def _clear(self) -> None:
        """Remove sliders, buttons and keys from the page."""
        self.page.disposal.discard(self._folder)
        for command in self._commands:
            command.remove()
        self._folder, self._buttons, self._commands, self._sliders = None, {}, [], []

    def _key(self, key: str, _: Any) -> None:
        self.press(key)

    def _pressed(self, act: Callable[[], None], _: Any) -> None:
        act()

    def _slide(self, k: int, slider: Any, _: Any) -> None:
        with self._lock:
            # what comes late from a slider that was replaced is of another channel
            if self._driver is not None and any(slider is own for own in self._sliders):
                self._driver.command(k, float(slider.value))


def _signs(
    system: System, controls: DriveControls, values: Array, start: Start
) -> tuple[float, float]:
    """Signs for which the commands drive ahead and turn left, found by a short drive."""
    channels = controls.channels
    if len(channels) < 2 or channels[0].kind != SPEED or channels[1].kind != PLACE:
        return 1.0, channels[1].left if len(channels) > 1 else 1.0
    symbols, base = system.kinematics.symbols, system.kinematics.tree.nodes[0]
    given = [symbols.t, symbols.q, symbols.params]
    heading = ca.Function("heading", given, [ca.atan2(base.R_WB[1, 0], base.R_WB[0, 0])])
    turns = []
    for command in (0.0, 0.5):
        probe = Driver(system, controls, values, start)
        probe.command(0, 0.5 * channels[0].largest)
        probe.command(1, command * channels[1].largest)
        try:
            while probe.t < start.time + 3.0:
                probe.advance(0.1)
        except SimulationError:
            return 1.0, 1.0
        turns.append(float(heading(probe.t, probe.q, values)))
    turned = math.remainder(turns[1] - turns[0], 2 * math.pi)
    return 1.0, 1.0 if turned >= 0 else -1.0

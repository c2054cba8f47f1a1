"""The panels around the picture: what to run, what came out, files, and the keys of a drive.

**The panels around the picture: what to run, what came out, files, and the keys of a drive.**

**`Player`: which moment of a run is shown now. Plays, pauses, jumps, loops; knows no threads.**

The wall clock is given to every call, so that a page that is late skips pictures and stays on time.

**Files that a page offers: made in memory or in a folder of our own, sent to the browser.**

A page never says where: it asks for a kind of file and gets bytes with a name.

**The panels around the picture: what to run on the left, what came out on the right.**

Handles of the page and nothing else; what they do is in `Page` and `Session`.

**`DrivePanel`: drives the mechanism of a page in real time, by keys, buttons or sliders.**

Arrow keys change the two main commands by a notch, and go on while they are held; the space bar
sets all commands to zero. The same is on the page as buttons, and every command is a slider. What
must be balanced is kept upright, or, with that turned off, ridden by the torques themselves.
"""

from __future__ import annotations

import dataclasses
import math
import re
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from noslip import Model, Scenario, SimulationError, Start, System, animate
from noslip.base import Array
from noslip.control import PLACE, SPEED, DriveControls, Driver, make_controls
from noslip.formulations import known_formulations
from noslip.model import model_to_toml
from noslip.results import Audit
from noslip.scene import Scene
from noslip.show import Knob, recorded, report_html, unit_text
from noslip.studio.choice import (
    DRAWN,
    DURATION,
    INPUTS,
    PARAMETERS,
    PATH,
    SCENARIO,
    START,
    TASK,
    TASKS,
    TYPED,
    Choice,
    Controls,
    PageView,
    chosen_values,
    controller_labels,
    form_kinds,
    number_or_text,
    start_values,
)
from noslip.studio.page import texts
from noslip.studio.page.browser import MAX_STATE, send_value
from noslip.studio.session import DriveFrames, Shown, continued_start, drive_start

if TYPE_CHECKING:
    from noslip.studio.page.studio_page import Page

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


class Player:
    """The time of a run that is shown.

    `start`, `end`: limits of the run, s.
    """

    def __init__(self) -> None:
        self.start, self.end = 0.0, 0.0
        self.speed = 1.0
        self.loop = True
        self.is_playing = False
        self._time, self._since = 0.0, 0.0

    def time(self, now: float) -> float:
        """The time of the run to show at a time of the wall clock; it stops at the end."""
        if not self.is_playing:
            return self._time
        t = self._time + (now - self._since) * self.speed
        span = self.end - self.start
        if t <= self.end:
            return t
        if self.loop and span > 0:
            return self.start + (t - self.start) % span
        self._time, self.is_playing = self.end, False
        return self.end

    def take(self, start: float, end: float, now: float) -> None:
        """Show another run, at the time shown so far if it has it."""
        shown = self.time(now)
        self.start, self.end = start, max(start, end)
        self._anchor(min(max(shown, self.start), self.end), now)

    def play(self, now: float) -> None:
        """Play, from the start if the end is shown."""
        t = self.time(now)
        self._anchor(self.start if t >= self.end else t, now)
        self.is_playing = self.end > self.start

    def pause(self, now: float) -> None:
        """Pause at the time shown."""
        self._anchor(self.time(now), now)
        self.is_playing = False

    def jump(self, t: float, now: float) -> None:
        """Seek a time, and play on from there if playing."""
        self._anchor(min(max(t, self.start), self.end), now)

    def set_speed(self, speed: float, now: float) -> None:
        """Play faster or slower from here on."""
        self._anchor(self.time(now), now)
        self.speed = speed

    def _anchor(self, t: float, now: float) -> None:
        self._time, self._since = t, now


#: Kind → what the page calls it.
KINDS = {
    "model": "Model (TOML)",
    "data": "Data (NetCDF)",
    "report": "Report (HTML)",
    "animation": "Animation (HTML)",
    "film": "Film (GIF)",
}


#: Longest film, s; a longer run is shown faster. Pictures a second, and their size.
LONGEST, FILM_RATE, FILM_SIZE = 20.0, 12.5, (640, 400)


def make_file(
    kind: str, shown: Shown, audit: Audit | None = None, view: PageView | None = None
) -> tuple[str, bytes]:
    """Name and content of a file of the run that is shown."""
    name = file_stem(shown.mechanism.model.name)
    if kind == "model":
        model = model_with(shown.mechanism.model, shown.choice)
        return f"{name}.toml", model_to_toml(model).encode()
    if kind == "data":
        with tempfile.TemporaryDirectory(prefix="noslip-studio-") as folder:
            path = Path(folder) / "run.nc"
            shown.run.to_netcdf(path)
            return f"{name}.nc", path.read_bytes()
    if kind == "report":
        page = report_html(shown.system, shown.run, command=shown.command, audit=audit)
        return f"{name}-report.html", page.encode()
    if kind == "film":
        return f"{name}.gif", _film(shown, view or PageView())
    return f"{name}.html", recorded(shown.system, shown.run).page.encode()


def _film(shown: Shown, view: PageView) -> bytes:
    """The film of a run with what the page draws, at the speed of its playback or faster."""
    lasts = float(shown.run.t[-1] - shown.run.t[0])
    with tempfile.TemporaryDirectory(prefix="noslip-studio-") as folder:
        path = Path(folder) / "film.gif"
        animate(
            shown.run,
            path,
            system=shown.system,
            traces=view.drawn.get("traces", True),
            forces=view.drawn.get("forces", False),
            velocities=view.drawn.get("velocities", False),
            follow=view.follow,
            rate=FILM_RATE,
            speed=max(view.speed, lasts / LONGEST),
            width=FILM_SIZE[0],
            height=FILM_SIZE[1],
        )
        return path.read_bytes()


def model_with(model: Model, choice: Choice) -> Model:
    """The model with the values that were chosen, so that its scenario does what is shown.

    A path is no part of a model file; of a run along one, the parameters are kept.
    """
    changes = choice.changes
    parameters = tuple(
        dataclasses.replace(p, value=changes.get(p.name, p.value)) for p in model.parameters
    )
    scenario = model.scenario
    if scenario is not None:
        task = tuple(
            dataclasses.replace(p, value=changes.get(p.name, p.value)) for p in scenario.parameters
        )
        scenario = dataclasses.replace(scenario, parameters=task)
    if choice.task in (SCENARIO, INPUTS):
        scenario = _scenario(model, scenario, choice)
    return dataclasses.replace(model, parameters=parameters, scenario=scenario)


def _scenario(model: Model, scenario: Scenario | None, choice: Choice) -> Scenario:
    """The scenario with the chosen start, inputs and duration."""
    made = scenario if scenario is not None else Scenario(duration=DURATION)
    known = {p.name for p in (*model.parameters, *made.parameters)}
    given = {} if choice.task == INPUTS and made.motion else made.start
    start = {**given, **{n: x for n, x in choice.changes.items() if n not in known}}
    made = dataclasses.replace(made, start=start, duration=choice.duration or made.duration)
    if choice.task == INPUTS:
        typed = {name: number_or_text(text) for name, text in choice.inputs.items()}
        inputs = {name: value for name, value in typed.items() if value != 0.0}
        made = dataclasses.replace(made, inputs=inputs, motion={}, description="")
    return made


def file_stem(name: str) -> str:
    """A model's name as part of a file's name: letters, digits, - and _ alone."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "model"


#: s, of the time of a drive.
DRIVE_STEP = 0.01
TITLES = {TASK: "Task", PARAMETERS: "Parameters", START: "Start"}
#: What may be drawn beside the bodies → what it is.
STAGE = {
    "traces": "paths of contact points and mass centers",
    "velocities": "of the mass centers",
    "forces": "of the ground at the contacts",
}
#: Places of the parts of the left panel, from the top.
ORDER = {"set": 10.0, TASK: 20.0, "inputs": 30.0, PARAMETERS: 40.0, START: 50.0}
#: Seconds without another time typed after which the page is sent the one that is shown.
CONFIRM = 0.5
#: Seconds within which a text follows the Enter that ended it: a browser sends at most 20 values a
#: second, and Enter at once.
TEXT_FOLLOWS = 0.15

UNDO, REDO = "Undo", "Redo"
ADD, REMOVE = "Add", "Remove"
KEEP, CLEAR = "Keep this run", "Clear"
#: Sections that are tabs → words they are found by.
SECTIONS = {
    "Plots": "figures curves graphs",
    "Verdicts": "energy residual friction slip errors command",
    "Compare": "keep side by side difference before",
    "Equations": "mathematics derivation",
    "Files": "download report animation film data link",
    "Playback": "time play pause speed",
    "View": "camera traces forces velocities ghost follow dark loop",
}


class Panels:
    """All panels of a page."""

    def __init__(self, page: Page) -> None:
        self.page, self.gui = page, page.client.gui
        self._lock = threading.RLock()
        self._folders: dict[str, Any] = {}
        self._sliders: dict[str, tuple[Knob, Any]] = {}
        self._parts: dict[str, list[tuple[str, Any]]] = {}
        self._controls: Controls | None = None
        self._boxes: dict[str, Any] = {}
        self.has_ghost = True
        self._time_shown = math.nan
        self._typed_time, self._confirm_at = 0.0, math.inf
        self._path: Any = None
        self._left()
        self._right()
        self._bar()

    # the left panel: what to run

    def _left(self) -> None:
        page, gui, session = self.page, self.gui, self.page.session
        gui.main_panel.dock_left()
        gui.main_panel.set_width(280 if page.visit.is_narrow else 340)
        gui.set_panel_label("noslip studio")
        self._signals = gui.add_html("", order=-1.0)
        self._link, self._show, self._shows = "", "", 0
        self._faults = gui.add_html("", order=0.0, visible=False)
        self.model = gui.add_dropdown(
            "model", page.catalog.names, initial_value=session.name, order=1.0
        )
        self.model.on_update(page.guard(lambda _: session.choose_model(self.model.value)))
        self._about = gui.add_html(texts.box("<p>Preparing the first run …</p>"), order=2.0)
        self.task = gui.add_dropdown(
            "task",
            tuple(TASKS[t] for t in session.tasks()),
            initial_value=TASKS[session.choice.task],
            order=3.0,
        )
        words = {label: word for word, label in TASKS.items()}
        self.task.on_update(
            page.guard(lambda _: session.choose(task=words.get(self.task.value, "")))
        )
        self.undo = gui.add_button_group("change", (UNDO, REDO), order=4.0, hint="Ctrl+Z, Ctrl+Y")
        self.undo.on_click(page.guard(lambda _: self._undo(self.undo.value)))
        for label, key in ((UNDO, "Z"), (REDO, "Y")):
            command = gui.add_command(label, hotkey=key, modifier="cmd/ctrl")
            command.on_trigger(page.guard(partial(self._undo_key, label)))
        self.compare = gui.add_button_group(
            "compare", (KEEP, CLEAR), order=4.5, hint="K keeps this run beside those that follow"
        )
        self.compare.on_click(page.guard(lambda _: self._compare(self.compare.value)))
        command = gui.add_command("Keep this run for comparison", hotkey="K")
        command.on_trigger(page.guard(lambda _: self._compare(KEEP)))
        self.find = gui.add_text("find", "", order=5.0, hint="filter by part of a name")
        self.find.on_update(page.guard(lambda _: self._find()))
        self._found = gui.add_html("", order=6.0, visible=False)
        with gui.add_form(None, order=ORDER["set"]) as form:
            text = gui.add_text(
                "set", "", hint="NAME=VALUE and Enter, as with --set; beyond a slider's range too"
            )
        form.on_submit(self._submitted(lambda: session.type_value(text.value)))

    def _undo(self, label: str) -> None:
        if label == UNDO:
            self.page.session.undo()
        elif label == REDO:
            self.page.session.redo()

    def _compare(self, label: str) -> None:
        if label == KEEP:
            self.page.session.keep()
            self.open_section("Compare")
        elif label == CLEAR:
            self.page.session.release()

    def _undo_key(self, label: str, _: Any) -> None:
        self._undo(label)

    def _find(self) -> None:
        """Show the knobs and sections whose name or description has what is typed."""
        with self._lock:
            wanted = self.find.value.strip().lower()
            for folder, parts in self._parts.items():
                seen = [wanted in text for text, _ in parts]
                for is_seen, (_, handle) in zip(seen, parts, strict=True):
                    handle.visible = is_seen
                if folder in self._folders:
                    self._folders[folder].visible = any(seen)
            names = [n for n in SECTIONS if wanted and wanted in SECTIONS[n].lower() + n.lower()]
            links = "".join(f'<a data-open="{name}">{name}</a>' for name in names)
            count = sum(handle.visible for parts in self._parts.values() for _, handle in parts)
            is_none = wanted and not names and not count
            text = "<p>No name matches.</p>" if is_none else f"<p>{links}</p>" if links else ""
            mark = f'<span data-finding="{escape(wanted)}"></span>'
            self._found.content = texts.box(mark + text) if wanted else ""
            self._found.visible = bool(wanted)

    def show_controls(self, controls: Controls, choice: Choice) -> None:
        """Other knobs: make what differs anew."""
        with self._lock:
            self.model.value = self.page.session.name
            self.friction.value = choice.friction or 0.0
            self.task.options = tuple(TASKS[t] for t in self.page.session.tasks())
            self.task.value = TASKS[choice.task]
            self._controls = controls
            stands = self.page.session.values()
            for group in (TASK, START, PARAMETERS):
                self._make_group(group, controls.groups.get(group, ()), choice, stands)
            self._make_inputs(controls, choice)
            if self.find.value:
                self._find()

    def _make_group(
        self, group: str, knobs: tuple[Knob, ...], choice: Choice, stands: dict[str, float]
    ) -> None:
        self.page.disposal.discard(self._folders.pop(group, None))
        self._parts.pop(group, None)
        if not knobs and group != TASK:
            return
        page, gui, session = self.page, self.gui, self.page.session
        self._sliders = {n: s for n, s in self._sliders.items() if s[0] not in knobs}
        is_open = group == TASK or (group == PARAMETERS and not page.visit.is_phone)
        folder = gui.add_folder(TITLES[group], order=ORDER[group], expand_by_default=is_open)
        self._folders[group] = folder
        parts = self._parts[group] = []
        with folder:
            if group == TASK:
                parts += self._task_choices(choice)
            for knob in knobs:
                slider = self._add_slider(knob, stands.get(knob.name, knob.value))
                parts.append((f"{knob.name} {knob.description} {TITLES[group]}".lower(), slider))
            if knobs:
                button = gui.add_button("Reset", color="gray")
                button.on_click(page.guard(lambda _: session.reset(group)))

    def _add_slider(self, knob: Knob, value: float) -> Any:
        scale = knob.scale
        slider = self.gui.add_slider(
            knob.label,
            min=knob.lower / scale,
            max=knob.upper / scale,
            step=knob.step / scale,
            initial_value=_shown(knob, value),
            marks=(),
            hint=knob.description or None,
        )
        slider.precision = min(slider.precision + 2, 8)
        self._sliders[knob.name] = (knob, slider)
        session = self.page.session
        epoch = session.epoch

        def moved(_: Any) -> None:
            # a slider may have been replaced while its value was on the way: that counts, and the
            # new one shows it, unless what replaced it was another model, a link, or undo
            value = float(slider.value) * scale
            if session.set_value(knob.name, value, epoch):
                self._show_value(knob.name, value, besides=slider)

        slider.on_update(self.page.guard(moved))
        return slider

    def _show_value(self, name: str, value: float, besides: Any) -> None:
        """Let the slider of a knob show a value, if it is not the one that sent it."""
        with self._lock:
            knob, slider = self._sliders.get(name, (None, besides))
            if knob is not None and slider is not besides:
                slider.value = _shown(knob, value)

    def _task_choices(self, choice: Choice) -> list[tuple[str, Any]]:
        """Formulation, path, timing, controller; each with the words it is found by."""
        page, gui, session = self.page, self.gui, self.page.session
        ways = tuple(known_formulations())
        way = gui.add_dropdown("formulation", ways, initial_value=choice.formulation)
        way.on_update(page.guard(lambda _: session.choose(formulation=way.value)))
        parts = [("formulation method task", way)]
        if choice.task == PATH:
            parts += self._form("path", form_kinds("path"), choice)
            parts += self._form("timing", form_kinds("timing"), choice)
            back = gui.add_checkbox("reverse", choice.reverse)
            parts.append(("reverse backwards task", back))
            back.on_update(page.guard(lambda _: session.choose(reverse=bool(back.value))))
        model = session.mechanism.model
        scenario = model.scenario
        # a scenario with a controller of its own is run as it is
        follows = scenario is not None and bool(scenario.motion) and not scenario.is_controlled
        if choice.task == PATH or (choice.task == SCENARIO and follows):
            words = session.controllers(choice.task)
            called = controller_labels()
            labels = {called[w]: w for w in words}
            law = gui.add_dropdown(
                "controller",
                tuple(labels),
                initial_value=called[choice.controller if choice.controller in words else words[0]],
            )
            law.on_update(
                page.guard(lambda _: session.choose(controller=labels.get(law.value, "")))
            )
            parts.append(("controller feedback task", law))
        return parts

    def _form(self, family: str, kinds: tuple[str, ...], choice: Choice) -> list[tuple[str, Any]]:
        page, gui, session = self.page, self.gui, self.page.session
        kind = gui.add_dropdown(family, kinds, initial_value=getattr(choice, family))
        kind.on_update(page.guard(lambda _: session.choose(**{family: kind.value})))
        if getattr(choice, family) == DRAWN:
            return [(f"{family} task", kind), *self._points(choice)]
        if getattr(choice, family) == TYPED:
            with gui.add_form(None) as form:
                text = gui.add_text(
                    "as text",
                    choice.typed.get(family, ""),
                    hint="as on the command line; then Enter",
                )
            form.on_submit(self._submitted(lambda: session.type_form(family, text.value)))
            return [(f"{family} task", kind), (f"{family} task", text)]
        return [(f"{family} task", kind)]

    def _points(self, choice: Choice) -> list[tuple[str, Any]]:
        """Controls of a path that is drawn on the floor."""
        page, gui, session = self.page, self.gui, self.page.session
        buttons = gui.add_button_group("points", (ADD, REMOVE), hint="at the end of the path")

        def change(_: Any) -> None:
            if buttons.value == ADD:
                session.add_point()
            elif buttons.value == REMOVE:
                session.remove_point()

        buttons.on_click(page.guard(change))
        closed = gui.add_checkbox("closed", choice.closed, hint="on to the first point again")
        closed.on_update(page.guard(lambda _: session.choose(closed=bool(closed.value))))
        self._path = gui.add_html(texts.path_html(page.path_handles.shape))
        words = "points drawn floor drag task"
        return [(words, part) for part in (buttons, closed, self._path)]

    def show_path(self, html: str) -> None:
        """Say what the path is like that is drawn on the floor."""
        if self._path is not None:
            self._path.content = html

    def _make_inputs(self, controls: Controls, choice: Choice) -> None:
        self.page.disposal.discard(self._folders.pop("inputs", None))
        self._parts.pop("inputs", None)
        if not controls.inputs:
            return
        gui, session = self.gui, self.page.session
        folder = gui.add_folder("Inputs", order=ORDER["inputs"])
        self._folders["inputs"] = folder
        with folder, gui.add_form(None) as form:
            boxes = {}
            for name, unit in controls.inputs:
                boxes[name] = gui.add_text(
                    f"{name} [{unit_text(unit)}]",
                    choice.inputs.get(name, "0"),
                    hint="a number or an expression such as 0.1*sin(2*t); then Enter",
                )
        self._parts["inputs"] = [(f"{name} inputs".lower(), box) for name, box in boxes.items()]

        def submit() -> None:
            for name, text in boxes.items():
                if text.value != session.choice.inputs.get(name):
                    session.set_input(name, text.value)

        form.on_submit(self._submitted(submit))

    def _submitted(self, act: Callable[[], None]) -> Callable[[Any], None]:
        """A callback of a form, once the text has come that was typed just before Enter."""

        def submit(_: Any) -> None:
            time.sleep(TEXT_FOLLOWS)
            act()

        return self.page.guard(submit)

    def show_drive(self, model: Model) -> None:
        """Say how to drive; there is no time to choose meanwhile."""
        with self._lock:
            self._about.content = texts.drive_html(model)
            self.time.disabled = self.play.disabled = self._speed.disabled = True
            self.time.step = DRIVE_STEP

    def show_run(self, shown: Shown) -> None:
        """Time bar, the model's line, and start knobs that were not changed."""
        with self._lock:
            run = shown.run
            self._about.content = texts.about_html(shown.mechanism.model, shown)
            self.time.disabled = self.play.disabled = self._speed.disabled = False
            self.time.max = float(run.t[-1])
            self.time.min = float(run.t[0])
            self.time.step = max(float(run.t[-1] - run.t[0]) / 1000, 1e-6)
            values = start_values(shown.system, run)
            names = self._controls.names(START) if self._controls is not None else set()
            for name in names - set(shown.choice.changes):
                if name in values and name in self._sliders:
                    knob, slider = self._sliders[name]
                    slider.value = _shown(knob, values[name])

    def show_link(self, link: str) -> None:
        """Make a link the address of the page; one that is too long is left out."""
        if link != self._link and len(link) <= MAX_STATE:
            self._link = link
            self._signal()

    def open_section(self, name: str, _: Any = None) -> None:
        """Bring a section to the front."""
        self._shows += 1
        self._show = f"{self._shows} {name}"
        self._signal()

    def _signal(self) -> None:
        """Send the state to the script of the page."""
        link, show = escape(f"={self._link}"), escape(self._show)
        self._signals.content = f'<span hidden data-link="{link}" data-show="{show}"></span>'

    def show_view(self, view: PageView, player: Player) -> None:
        """Boxes that say how the run is looked at."""
        self.has_ghost = view.drawn.get("ghost", True)
        for name, box in self._boxes.items():
            if name in view.drawn:
                box.value = view.drawn[name]
        self._boxes["loop"].value = player.loop
        self._speed.value = f"{min(SPEEDS, key=lambda s: abs(s - player.speed)):g}×"
        self.show_playing(player.is_playing)

    def show_faults(self, html: str) -> None:
        """Faults above everything; none for an empty text."""
        self._faults.content = texts.box(html) if html else ""
        self._faults.visible = bool(html)

    # the right panel: what came out

    def _right(self) -> None:
        page, gui, session = self.page, self.gui, self.page.session
        panel = gui.add_panel()
        self.plots_tab = panel.add_tab("Plots")
        with panel.add_tab("Verdicts"):
            self._verdicts = gui.add_html(texts.box("<p>…</p>"), order=0.0)
            self.friction = friction = gui.add_number(
                "friction", 0.0, min=0.0, max=5.0, step=0.05, order=1.0,
                hint="coefficient of the ground, for the no-slip verdict; 0: not given",
            )  # fmt: skip
            friction.on_update(
                page.guard(lambda _: session.choose(friction=float(friction.value) or None))
            )
        with panel.add_tab("Compare"):
            self._comparison = gui.add_html("")
        with panel.add_tab("Equations"):
            self._equations = gui.add_html(texts.box("<p>being written …</p>"))
        with panel.add_tab("Files"):
            gui.add_html(texts.box("<p>Download the run shown.</p>"))
            for kind, label in KINDS.items():
                button = gui.add_button(label)
                button.on_click(page.guard(partial(self._download, kind)))
        panel.dock_right()
        panel.set_width(310 if page.visit.is_narrow else 390)

    def _download(self, kind: str, _: Any) -> None:
        self.page.download(kind)

    def show_verdicts(self, html: str) -> None:
        """Verdicts of the run."""
        self._verdicts.content = html

    def show_comparison(self, html: str) -> None:
        """The run beside the one that is kept."""
        self._comparison.content = html

    def show_equations(self, html: str) -> None:
        """Equations of motion as mathematics."""
        self._equations.content = texts.box(html)

    # the bar below the picture

    def _bar(self) -> None:
        page, gui = self.page, self.gui
        panel = gui.add_panel()
        with panel.add_tab("Playback"):
            self.time = gui.add_slider("t [s]", 0.0, 1.0, 0.001, 0.0, marks=())
            self.time.on_update(self._note_time)
            self.time.on_update(page.guard(lambda _: self._scrub()))
            self.play = gui.add_button("Pause", hint="or press P")
            self.play.on_click(page.guard(lambda _: page.play_or_pause()))
            self._speed = speed = gui.add_dropdown(
                "speed", tuple(f"{s:g}×" for s in SPEEDS), initial_value="1×"
            )
            speed.on_update(page.guard(lambda _: self._set_speed(speed.value)))
        with panel.add_tab("View"):
            self.follow = gui.add_checkbox("follow", False, hint="move with the bodies")
            self.follow.on_update(page.guard(lambda _: page.set_follow(bool(self.follow.value))))
            self._toggle("ghost", True, "the previous run, in gray", self._set_ghost)
            for name, hint in STAGE.items():
                self._toggle(name, name == "traces", hint, partial(self._set_stage, name))
            loop = partial(setattr, page.player, "loop")
            self._toggle("loop", page.player.loop, "repeat the motion", loop)
            self._toggle("dark", page.visit.is_dark, "a dark page", page.set_dark)
            button = gui.add_button("Fit the view", color="gray")
            button.on_click(page.guard(lambda _: page.fit_view()))
        panel.float(x=-15, y=-15, width=250 if page.visit.is_narrow else 290)
        if page.visit.is_phone:
            panel.expand()
        for name, words in SECTIONS.items():
            command = gui.add_command(f"Show {name.lower()}", description=words)
            command.on_trigger(page.guard(partial(self.open_section, name)))
        key = gui.add_command("Play or pause", hotkey="P")
        key.on_trigger(page.guard(lambda _: page.play_or_pause()))

    async def _note_time(self, event: Any) -> None:
        """Note the time that was typed.

        On the thread that has received it: when the next callback gets a thread, the time of a run
        that plays may be in its place.
        """
        if event.client is not None:
            self._typed_time = float(self.time.value)

    def _scrub(self) -> None:
        self._confirm_at = time.monotonic() + CONFIRM
        self.page.scrub(self._typed_time)

    def _toggle(self, name: str, value: bool, hint: str, act: Callable[[bool], None]) -> None:
        box = self._boxes[name] = self.gui.add_checkbox(name, value, hint=hint)
        box.on_update(self.page.guard(lambda _: act(bool(box.value))))

    def _set_stage(self, name: str, value: bool) -> None:
        self.page.set_stage(name, value)

    def _set_speed(self, label: str) -> None:
        speeds = {f"{s:g}×": s for s in SPEEDS}
        self.page.player.set_speed(speeds.get(label, 1.0), time.monotonic())

    def _set_ghost(self, wanted: bool) -> None:
        self.has_ghost = wanted
        self.page.set_ghost()

    def set_follow(self, follow: bool) -> None:
        """Tick the box."""
        self.follow.value = follow

    def show_playing(self, is_playing: bool) -> None:
        """The button says what a click does."""
        self.play.label = "Pause" if is_playing else "Play"

    def show_time(self, t: float, now: float) -> None:
        """Move the time bar, and confirm a time that was typed."""
        within = min(max(t, float(self.time.min)), float(self.time.max))
        if now >= self._confirm_at:
            self._confirm_at = math.inf
            send_value(self.time, within)
        elif within != self._time_shown:
            self.time.value = within
        self._time_shown = within

    def show_drive_time(self, t: float, now: float) -> None:
        """Show how long a drive has lasted: the bar grows with it."""
        self.time.max, self.time.min = max(t, DRIVE_STEP), 0.0
        self.show_time(t, now)


def _shown(knob: Knob, value: float) -> float:
    """A value as its slider shows it: within its range, a tenth of a step fine."""
    within = min(max(value, knob.lower), knob.upper)
    digits = max(0, 1 - math.floor(math.log10(knob.step)))
    return float(round(within, digits) / knob.scale)


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
    """Sliders, buttons and keys of a drive, and the drive itself."""

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

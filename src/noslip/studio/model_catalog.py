"""The models that pages can choose from, each compiled once for each formulation and shared.

They are those of the library, and one file if one was given: the one named on the command line,
never one that a page names. It is checked every half second; when it was saved, all pages that show
it are notified. A faulty file is reported and the last good model stays.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from noslip import (
    MODELS,
    Model,
    NoslipError,
    SimulationError,
    System,
    complete_start,
    derive,
    load,
    verify,
)
from noslip import compile as compile_system
from noslip.base import Array, members_of, nearest
from noslip.control import AbstractControllerPlan, find_follower
from noslip.controllers import FeedForward
from noslip.formulations import formulation_of
from noslip.results import Certificate
from noslip.scene import scene
from noslip.studio.choice import DRIVE, INPUTS, PATH, SCENARIO, Choice, first_choice

Found = TypeVar("Found")

#: Angular acceleration that an input causes, rad/s², and the rate at which it swings, rad/s; what
#: is moved by lengths of the model in place of radians.
SWING, RATE = 2.0, 2.0
#: Angular speed at the start, and that of a speed input, rad/s.
SPEED = 1.0
#: Angle of what cannot lie flat, rad.
TURNED = 1.2


class Mechanism:
    """A model with its cached systems, tasks, certificate and equations.

    Parameters
    ----------
    model : checked model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._found: dict[str, Any] = {}

    def system(self, formulation: str) -> System:
        """The system by a formulation's word."""
        return self._cached(
            f"system {formulation}",
            lambda: compile_system(derive(self.model, formulation_of(formulation))),
        )

    def tasks(self) -> tuple[str, ...]:
        """The tasks that the model supports."""
        return self._cached("tasks", self._tasks)

    def first_choice(self) -> Choice:
        """First choice of a page; of a model that cannot be compiled, its scenario."""
        try:
            return self._cached(
                "first choice",
                lambda: moving_choice(self.system("complement"), self.tasks()),
            )
        except Exception:
            return first_choice(self.model)

    def controllers(self, task: str) -> tuple[str, ...]:
        """Controllers that suit a task, none of them first."""
        system = self.system("complement")
        known: dict[str, Any] = {}
        if task == PATH and PATH in self.tasks():
            known = find_follower(system, system.parameters()).arguments()
        members = members_of(AbstractControllerPlan, installed=True)
        found = (member.word for member in members if member.suits(system, known))
        return tuple(sorted(found, key=lambda word: word != FeedForward.word))

    def _tasks(self) -> tuple[str, ...]:
        system = self.system("complement")
        scenario = self.model.scenario
        found = [SCENARIO, INPUTS] if scenario is not None else [INPUTS]
        if self.model.inputs and len(self.model.inputs) >= len(system.independent_speeds):
            with suppress(SimulationError):
                find_follower(system, system.parameters())
                found.append(PATH)
        if self.model.inputs or self.model.speed_inputs:
            found.append(DRIVE)
        return tuple(found)

    def certificate(self) -> Certificate:
        """The certificate of `verify`."""
        return self._cached("certificate", lambda: verify(self.model))

    def equations_html(self, formulation: str) -> str:
        """The equations of motion in MathML, with the derivation to be opened."""
        from noslip.show import equations_html

        equations = self.system(formulation).equations
        return self._cached(f"equations {formulation}", lambda: equations_html(equations))

    def _cached(self, key: str, find: Callable[[], Found]) -> Found:
        """Cached result by key; pages that request it at the same time wait for one computation."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._found:
                self._found[key] = find()
            found: Found = self._found[key]
            return found


#: Seconds between checks of the file.
INTERVAL = 0.5

Listener = Callable[[str, NoslipError | None], None]


class ModelCatalog:
    """Models by the name a page has for them.

    Parameters
    ----------
    file : a model file to offer besides the library; it must be readable and without faults.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}
        self._made: dict[str, Mechanism] = {}
        self._listeners: list[Listener] = []
        self._file = file
        self._stop = threading.Event()
        self._mark: tuple[int, int] | None = None
        self._is_away = False
        self.file_name = "" if file is None else file.name
        if self.file_name in MODELS:
            self.file_name += " (file)"
        if file is not None:
            self._mark = _mark(file)
            self._made[self.file_name] = Mechanism(load(file))
            threading.Thread(target=self._watch, name="noslip studio watch", daemon=True).start()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all models, the file first."""
        return ((self.file_name,) if self.file_name else ()) + tuple(MODELS)

    def source(self, name: str) -> str:
        """Name or path of a model on the command line."""
        return str(self._file) if name == self.file_name and self._file is not None else name

    def mechanism(self, name: str) -> Mechanism:
        """A model at hand.

        Raises
        ------
        SimulationError : the name is not one of `names`; it is never taken for a path.
        """
        if name not in self.names:
            raise SimulationError(
                f"there is no model '{name}' on this page", "model", nearest(name, self.names)
            )
        with self._lock:
            lock = self._loading.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                self._made[name] = Mechanism(load(name))
            return self._made[name]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a listener after each reload, failed or not; returns a function that stops it."""
        with self._lock:
            self._listeners.append(listener)

        def forget() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return forget

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.check_file()

    def check_file(self) -> None:
        """Reload the file if it was saved since."""
        file = self._file
        if file is None:
            return
        mark = _mark(file)
        if mark is None and not self._is_away:
            # an editor may be replacing it: check once more
            self._is_away = True
            return
        self._is_away = mark is None
        if mark == self._mark:
            return
        self._mark = mark
        fault: NoslipError | None = None
        try:
            self._made[self.file_name] = Mechanism(load(file))
        except NoslipError as error:
            fault = error
        except Exception as error:
            fault = SimulationError(
                f"the file cannot be read: {error}", str(file), "correct it and save it again"
            )
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(self.file_name, fault)


def _mark(file: Path) -> tuple[int, int] | None:
    """Time and size of a file; None while it is away, as when an editor replaces it."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def moving_choice(system: System, tasks: tuple[str, ...]) -> Choice:
    """The choice that a page begins with: the model's scenario, or something that moves.

    A model without a scenario has neither a start nor inputs. A vehicle whose motors can follow a
    path then follows one; other inputs swing it, and what has none gets speeds at the start.

    Parameters
    ----------
    system : compiled system.
    tasks : that the model supports.
    """
    model = system.model
    choice = first_choice(model)
    if model.scenario is not None:
        return choice
    if PATH in tasks:
        return dataclasses.replace(choice, task=PATH)
    with suppress(NoslipError):  # without a consistent start the page says so itself
        return _moving(system, choice)
    return choice


def _moving(system: System, choice: Choice) -> Choice:
    """Inputs that swing it, or speeds at the start where nothing else moves it."""
    placed = _place(system)
    start, params = complete_start(system, placed), system.parameters()
    length = scene(system.model).length
    work = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, start.mu, work])
    speeds = slice(len(start.q), len(start.q) + len(start.eta))
    sizes = np.array([length if s.unit == "m/s" else 1.0 for s in system.independent_speeds])

    def accelerations(u: Array) -> Array:
        return np.asarray(system.rates(0.0, x, u, params))[speeds] / sizes

    at_rest = accelerations(np.zeros(len(system.inputs)))
    unit = np.eye(len(system.inputs))
    inputs = dict(choice.inputs)
    for k, force in enumerate(system.model.inputs):
        gain = float(np.max(np.abs(accelerations(unit[k]) - at_rest), initial=0.0))
        if np.isfinite(gain) and gain > 0:
            inputs[force.name] = f"{SWING / gain:.2g}*sin({RATE:g}*t)"
    first = len(system.model.inputs)
    for rate in system.inputs[first : first + len(system.model.speed_inputs)]:
        size = length if rate.unit == "m/s" else 1.0
        inputs[rate.name] = f"{SPEED * size:.2g}*sin({RATE:g}*t)"
    choice = dataclasses.replace(choice, inputs=inputs, changes=placed)
    if any(text != "0" for text in inputs.values()):
        return choice
    given = zip(system.independent_speeds, sizes, strict=True)
    return choice.with_changes({s.name: float(f"{SPEED * size:.2g}") for s, size in given})


def _place(system: System) -> dict[str, float]:
    """A place from which the constraints can be met: all at rest, or an angle that is turned."""
    joints = system.model.joints
    named = ((joint.name, joint.type.named_angles()) for joint in joints)
    turned = [f"{name}.{angle}" for name, angles in named if angles for angle in angles.names]
    for given in ({}, *({name: TURNED} for name in turned)):
        with suppress(NoslipError):
            complete_start(system, given)
            return given
    return {}

"""Models that pages choose from, and `Choice`: everything that one page has chosen.

**The models that pages can choose from, each compiled once for each formulation and shared.**

They are those of the library, and one file if one was given: the one named on the command line,
never one that a page names. It is checked every half second; when it was saved, all pages that show
it are notified. A faulty file is reported and the last good model stays.

**`Choice`: what one page has chosen, its knobs, and links that hold it.**

**Paths and timing laws as knobs: their numbers become sliders, and the whole a text as commands
have it, ``circle:radius=2``. The members say which there are, and what numbers they have.**

**`Choice`: everything one page has chosen, as plain frozen data; what a run is made from.**

Options by name and typed values come from a browser and are checked here; `chosen_values` says what
the changed numbers are for a model: parameters, start values, or numbers of its scenario.

**Knobs of a page for a choice, group by group.**

**Links: everything that a page shows as text for its address, and back.**

A link holds the name of the model, what differs from its first choice, and how it is looked at. It
holds no model: opened elsewhere, it needs one of the same name. What is read comes from an address
and is checked like anything else that a browser sends.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
import threading
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import pi
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from noslip import (
    MODELS,
    Model,
    NoslipError,
    Quantity,
    SimulationError,
    System,
    Trajectory,
    complete_start,
    derive,
    load,
    verify,
)
from noslip import compile as compile_system
from noslip.analysis import scenario_start, split_changes
from noslip.base import Array, find_member, members_of, nearest
from noslip.control import (
    AbstractControllerPlan,
    AbstractForm,
    AbstractTimingPlan,
    Point,
    find_follower,
    form_words,
    read_form,
)
from noslip.controllers import FeedForward
from noslip.expressions import NUMBERS, ExpressionError, evaluate, parse
from noslip.formulations import formulation_of, known_formulations
from noslip.paths import AbstractPath, Circle, Spline
from noslip.results import Certificate
from noslip.scene import scene
from noslip.show import Knob
from noslip.simulation import units_by_name

Found = TypeVar("Found")

#: Angular acceleration that an input causes, rad/s², and the rate at which it swings, rad/s; what
#: is moved by lengths of the model in place of radians.
SWING, RATE = 2.0, 2.0
#: Angular speed at the start, and that of a speed input, rad/s.
SPEED = 1.0
#: Angle of what cannot lie flat, rad.
TURNED = 1.2


class Mechanism:
    """A model with its cached systems, tasks, certificate and equations."""

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

    `file`: a model file to offer besides the library; it must be readable and without faults.
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


#: The kind whose text is typed as it stands, and that of a path through points on the floor.
TYPED, DRAWN = "typed", "drawn"
#: Points of a path to begin with, in radii of a typical circle.
FIRST_POINTS = ((0.0, 0.0), (1.5, 0.6), (3.0, -0.6), (4.5, 0.0))

#: What a form is of → the base class of the family.
FAMILIES: dict[str, type[AbstractForm]] = {"path": AbstractPath, "timing": AbstractTimingPlan}


def form_kinds(family: str) -> tuple[str, ...]:
    """Words of a ``path`` or ``timing`` that have sliders, `TYPED`, and for a path `DRAWN`."""
    drawn = (DRAWN,) if family == "path" else ()
    return (*form_words(FAMILIES[family]), *drawn, TYPED)


def first_points(length: float) -> tuple[Point, ...]:
    """Points of a path to begin with, for a model of a length, m."""
    radius = next(n.value for n in Circle.numbers(length) or () if n.name == "radius")
    return tuple((round(radius * x, 6), round(radius * y, 6)) for x, y in FIRST_POINTS)


def next_point(points: tuple[Point, ...]) -> Point:
    """The place of a further point: as far beyond the last as that is from the one before it."""
    (x0, y0), (x1, y1) = points[-2:]
    return round(2 * x1 - x0, 9), round(2 * y1 - y0, 9)


def drawn_text(points: tuple[Point, ...], closed: bool) -> str:
    """The path through points, as a command has it."""
    return Spline(points=points, closed=closed).text()


def controller_labels() -> dict[str, str]:
    """Word of each controller → what the page calls it."""
    found = members_of(AbstractControllerPlan, installed=True)
    return {member.word: member.label() for member in found}


def form_knobs(family: str, kind: str, length: float) -> tuple[Knob, ...]:
    """Sliders for the numbers of a path or a timing law."""
    member = find_member(FAMILIES[family], kind)
    numbers = None if member is None else member.numbers(length)
    return tuple(Knob.ranged(f"{family}.{n.name}", *n[1:]) for n in numbers or ())


def form_text(family: str, kind: str, values: Mapping[str, float], typed: str) -> str:
    """The text of a form, as a command has it."""
    if kind == TYPED:
        return typed
    own = {n.removeprefix(f"{family}."): x for n, x in values.items() if n.startswith(f"{family}.")}
    return f"{kind}:" + ";".join(f"{name}={value!r}" for name, value in own.items())


def read_path(text: str) -> AbstractPath:
    """The path of a text. A file cannot be named here, unlike on the command line."""
    path: AbstractPath = read_form(AbstractPath, text, may_read_files=False)
    return path


#: What the model can be asked to do → what the page calls it.
SCENARIO, INPUTS, PATH, DRIVE = "scenario", "inputs", "path", "drive"
TASKS = {
    SCENARIO: "Scenario of the model",
    INPUTS: "Inputs of your own",
    PATH: "Follow a path",
    DRIVE: "Drive it yourself",
}


#: Seconds of a run that has no length of its own.
DURATION = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run."""

    formulation: str = "complement"  #: word of the method whose equations are run and shown
    task: str = SCENARIO  #: one of `TASKS`
    #: changed values by name: parameters, numbers of the scenario, start values
    changes: Mapping[str, float] = field(default_factory=dict)
    #: name → expression, for inputs of one's own
    inputs: Mapping[str, str] = field(default_factory=dict)
    duration: float | None = None  #: s; None for the task's own
    #: path, timing: kinds, with `numbers` for their sliders and `typed` for what is typed instead
    path: str = "circle"
    timing: str = "quintic"
    numbers: Mapping[str, float] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    #: points, closed: points of a path that is drawn on the floor, m, and whether it is closed
    points: tuple[tuple[float, float], ...] = ()
    closed: bool = False
    reverse: bool = False  #: whether the path is driven backwards
    controller: str = "none"  #: name of the controller
    friction: float | None = None  #: friction of the ground, for the audit's verdict; None for none

    def with_changes(self, values: Mapping[str, float]) -> Choice:
        """The same with numbers changed."""
        return dataclasses.replace(self, changes={**self.changes, **values})

    def without(self, names: set[str]) -> Choice:
        """The same with some changes undone."""
        kept = {n: x for n, x in self.changes.items() if n not in names}
        return dataclasses.replace(self, changes=kept)


def first_choice(model: Model) -> Choice:
    """The scenario of a model, or its start with inputs of zero."""
    scenario = model.scenario
    inputs = {i.name: "0" for i in model.inputs} | {i.name: "0" for i in model.speed_inputs}
    if scenario is not None:
        inputs |= {name: _text(value) for name, value in scenario.inputs.items()}
    return Choice(
        task=SCENARIO if scenario is not None else INPUTS,
        inputs=inputs,
        typed={"path": "spline:points=0,0,4,1,8,-1,12,0", "timing": "quintic:20"},
    )


def adapted_choice(choice: Choice, before: Choice, fresh: Choice) -> Choice:
    """Adapt a choice to another version of its model.

    What was typed or moved is kept; numbers that have no place any more are left out when it runs.
    """
    typed = {n: x for n, x in choice.inputs.items() if x != before.inputs.get(n)}
    inputs = {name: typed.get(name, text) for name, text in fresh.inputs.items()}
    is_lost = choice.task == SCENARIO and fresh.task != SCENARIO
    return dataclasses.replace(choice, inputs=inputs, task=fresh.task if is_lost else choice.task)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else repr(value)


def number_or_text(text: str) -> float | str:
    """The number where a typed input is one, so that nothing is compiled for it; else the text."""
    try:
        return float(text)
    except ValueError:
        return text


#: Options of a choice that are words → the words there are; formulations may come from plugins.
WORDS: dict[str, tuple[str, ...]] = {
    "task": tuple(TASKS),
}


def check_options(options: Mapping[str, object]) -> None:
    """Refuse words that no list of the page has; a browser can send anything."""
    members = {family: form_kinds(family) for family in FAMILIES if family in options}
    if "controller" in options:
        members["controller"] = tuple(controller_labels())
    if "formulation" in options:
        members["formulation"] = tuple(known_formulations())
    for key, value in options.items():
        known = (WORDS | members).get(key)
        if known is not None and value not in known:
            raise SimulationError(f"there is no {key} '{value}'", key, nearest(str(value), known))


def read_assignment(text: str, known: Mapping[str, float]) -> tuple[str, float]:
    """Name and number of ``name = value``, as ``--set`` takes it."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise SimulationError(f"'{text}' is not NAME=VALUE", "set", "write for example r=0.1")
    try:
        tree = parse(value)
        return name, float(evaluate(tree, dict(known), NUMBERS))
    except (ExpressionError, ArithmeticError, ValueError) as error:
        raise SimulationError(
            f"the value '{value}' cannot be read: {error}", "set", "write a number"
        ) from None
    except KeyError as error:
        raise SimulationError(
            f"the value '{value}' uses {error}, which is not known",
            "set",
            nearest(str(error).strip("'"), known),
        ) from None


def chosen_values(system: System, choice: Choice) -> tuple[dict[str, float], dict[str, float]]:
    """Changed parameters and changed start values; numbers of the scenario are neither."""
    return split_changes(system, choice.changes, system.model.scenario).parameters_and_start()


def only_known(choice: Choice, system: System) -> Choice:
    """A choice without changes of names that the model does not have, as after it was edited."""
    scenario = system.model.scenario
    known = {p.name for p in system.model.parameters} | set(units_by_name(system))
    known |= {p.name for p in scenario.parameters} if scenario is not None else set()
    return choice.without(set(choice.changes) - known)


def chosen_start(system: System, choice: Choice) -> dict[str, float]:
    """The scenario's start values at the chosen parameters."""
    scenario = system.model.scenario
    if scenario is None:
        return {}
    values = system.model.parameter_values() | {p.name: p.value for p in scenario.parameters}
    values |= {n: x for n, x in choice.changes.items() if n in values}
    return scenario_start(scenario, values)


#: Groups of knobs, in the order of the page.
PARAMETERS, TASK, START = "parameters", "task", "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """Knobs by group."""

    groups: dict[str, tuple[Knob, ...]]  #: group → knobs
    #: names and units of inputs that are typed as expressions
    inputs: tuple[tuple[str, str], ...] = ()

    def find(self, name: str) -> tuple[str, Knob] | None:
        """Group and knob of a name."""
        for group, knobs in self.groups.items():
            for knob in knobs:
                if knob.name == name:
                    return group, knob
        return None

    def names(self, group: str) -> set[str]:
        """Names of a group."""
        return {knob.name for knob in self.groups.get(group, ())}


def make_controls(
    system: System, choice: Choice, run: Trajectory | None, length: float
) -> Controls:
    """The knobs of a choice.

    Parameters
    ----------
    system : compiled system.
    choice : choice that is run.
    run : the run with no start value touched; None where there is none, as after a fault.
    length : length of the model, m.
    """
    model = system.model
    scenario = model.scenario
    groups = {PARAMETERS: Knob.of_parameters(model.parameters)}
    task: list[Knob] = []
    duration = scenario.duration if scenario is not None else DURATION
    if choice.task == SCENARIO and scenario is not None:
        task += Knob.of_parameters(scenario.parameters)
    if choice.task == PATH:
        task += form_knobs("path", choice.path, length)
        task += form_knobs("timing", choice.timing, length)
    if choice.task in (SCENARIO, INPUTS):
        task.append(Knob.ranged("duration", "s", duration, duration / 10, 3 * duration))
    groups[TASK] = tuple(task)
    if run is not None and len(run.t):
        is_prescribed = choice.task == SCENARIO and scenario is not None and scenario.has_reference
        given = {} if choice.task == PATH or is_prescribed else chosen_start(system, choice)
        groups[START] = start_knobs(system, run, given, speeds=not is_prescribed)
    inputs: tuple[tuple[str, str], ...] = ()
    if choice.task == INPUTS:
        num = len(model.inputs) + len(model.speed_inputs)
        inputs = tuple((q.name, q.unit) for q in system.inputs[:num])
    return Controls(groups=groups, inputs=inputs)


def widened(controls: Controls, name: str, value: float) -> Controls:
    """The same knobs with the range of one made to hold a value."""
    groups = {
        group: tuple(k.widened(value) if k.name == name else k for k in knobs)
        for group, knobs in controls.groups.items()
    }
    return dataclasses.replace(controls, groups=groups)


def start_knobs(
    system: System, run: Trajectory, given: Mapping[str, float], *, speeds: bool = True
) -> tuple[Knob, ...]:
    """Coordinates and independent speeds at the start, in the names the model has for them.

    An orientation is shown by its named angles where it has some, else it is left alone; its rates
    are those of the angles where `given` has one of them.

    `speeds`: whether the speeds may be chosen; where a motion is prescribed they follow from it.
    """
    values = start_values(system, run)
    tree = {s.name: s for s in system.speeds}
    shown: dict[str, Quantity] = {}
    bundles: dict[str, str] = {}
    turns = _orientations(system)
    hidden = {name for turn in turns for name in turn.quaternion} - set(given)
    shown |= {c.name: c for c in system.coordinates if c.name not in hidden}
    for turn in turns:
        shown |= {n: Quantity(name=n, unit="rad", lower=-pi, upper=pi) for n in turn.angles}
        bundles |= dict.fromkeys(turn.angles, turn.joint)
    if speeds:
        named = [turn for turn in turns if any(name in given for name in turn.rates)]
        shown |= {n: Quantity(name=n, unit="rad/s") for turn in named for n in turn.rates}
        bundles |= {n: f"{turn.joint} rates" for turn in named for n in turn.rates}
        taken = [n for n in given if n in tree] + [n for turn in named for n in turn.speeds]
        shown |= {n: tree[n] for n in given if n in tree}
        free = {s.name: s for s in system.independent_speeds}
        shown |= {n: free[n] for n in _further_speeds(system, run, taken)}
    found = []
    for name, quantity in shown.items():
        value = float(given.get(name, values.get(name, 0.0)))
        reach = 2 * abs(value)
        ends = (min(quantity.lower, -reach), max(quantity.upper, reach))
        knob = Knob.ranged(name, quantity.unit, value, *ends, quantity.description)
        found.append(dataclasses.replace(knob, bundle=bundles.get(name, "")))
    return tuple(found)


def _further_speeds(system: System, run: Trajectory, taken: list[str]) -> list[str]:
    """Independent speeds that can still be chosen when some tree speeds are.

    η = E v and v = S η + s: a tree speed that is taken is a row of S, an independent one a row of
    the unit matrix; it can be chosen if it raises the rank.
    """
    kin = system.kinematics
    params = system.parameters(run.parameters)
    t, q = float(run.t[0]), run.q[0]
    E = kin.independent_rows(t, q, params)
    A = np.array(kin.probe.constraint(t, q, np.zeros(kin.probe.num_speed_inputs), params)[0])
    num = len(system.independent_speeds)
    # columns of S: the admissible v with η = a column of the unit matrix
    S = np.linalg.lstsq(np.vstack([A, E]), np.eye(len(A) + num)[:, len(A) :], rcond=1e-12)[0]
    names = [s.name for s in system.speeds]
    rows = [S[names.index(name)] for name in taken]
    rank = int(np.linalg.matrix_rank(np.array(rows), tol=1e-9)) if rows else 0
    found = []
    for k, speed in enumerate(system.independent_speeds):
        more = [*rows, np.eye(num)[k]]
        if int(np.linalg.matrix_rank(np.array(more), tol=1e-9)) > rank:
            rows, rank = more, rank + 1
            if speed.name not in taken:
                found.append(speed.name)
    return found


def start_values(system: System, run: Trajectory) -> dict[str, float]:
    """Coordinates, speeds and named angles at the start of a run; empty for a run without samples.

    The rates of named angles are not among them.
    """
    if not len(run.t):
        return {}
    q, v = run.q[0], run.v[0]
    params = system.parameters(run.parameters)
    eta = system.kinematics.independent_rows(float(run.t[0]), q, params) @ v
    values = dict(zip((c.name for c in system.coordinates), q, strict=True))
    values |= dict(zip((s.name for s in system.speeds), v, strict=True))
    values |= dict(zip((s.name for s in system.independent_speeds), eta, strict=True))
    for turn in _orientations(system):
        values |= dict(zip(turn.angles, turn.values(q), strict=False))
    return {name: float(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class _Orientation:
    """Names of an orientation: as angles, their rates, a quaternion and angular speeds."""

    joint: str
    sequence: str
    at: int
    angles: tuple[str, ...]
    rates: tuple[str, ...]
    quaternion: tuple[str, ...]
    speeds: tuple[str, ...]

    def values(self, q: Array) -> list[float]:
        """The angles at a configuration."""
        from scipy.spatial.transform import Rotation

        rotation = Rotation.from_quat(q[self.at : self.at + 4], scalar_first=True)
        return list(rotation.as_euler(self.sequence.upper(), suppress_warnings=True))


def _orientations(system: System) -> list[_Orientation]:
    found = []
    for node in system.kinematics.tree.nodes:
        joint, place = node.joint, node.joint.type.quaternion
        if place is None:
            continue
        angles = joint.type.named_angles()
        names = angles.names if angles is not None else ()
        found.append(
            _Orientation(
                joint=joint.name,
                sequence=angles.sequence if angles is not None else "xyz",
                at=node.coordinates.start + place,
                angles=tuple(f"{joint.name}.{n}" for n in names),
                rates=tuple(f"{joint.name}.{n}_rate" for n in names),
                quaternion=tuple(f"{joint.name}.q{k}" for k in "wxyz"),
                speeds=tuple(f"{joint.name}.w{k}" for k in "xyz"),
            )
        )
    return found


#: Bytes that a link may unpack to.
MAX_BYTES = 64 * 1024
WHERE, FIX = "link", "copy the whole address of a studio's page"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """View of a run: camera, time, and plots."""

    time: float | None = None  #: s, where it is paused; None while it plays
    #: speed, loop: speed and repetition of the playback
    speed: float = 1.0
    loop: bool = True
    #: overlays → whether they are drawn beside the bodies; also ``ghost``
    drawn: dict[str, bool] = field(default_factory=dict)
    #: whether the camera moves with the bodies; None for what suits the run
    follow: bool | None = None
    plots: tuple[str, ...] = ()  #: titles of the plots, from the top
    #: place and point that it looks at, m; empty where it was not moved
    camera: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """State of a page, as its link holds it."""

    model: str  #: name of the model on the page
    #: fields of the choice that are not those of the model's first one
    changes: dict[str, Any] = field(default_factory=dict)
    #: the same of the run that is kept for a comparison; None without one
    kept: dict[str, Any] | None = None
    kept_model: str = ""  #: model of the kept run, where it is another one
    view: PageView = field(default_factory=PageView)  #: view of the page


def differences(choice: Choice, first: Choice) -> dict[str, Any]:
    """The fields of a choice that differ from those of another."""
    pairs = ((f.name, getattr(choice, f.name), getattr(first, f.name)) for f in _FIELDS)
    return {name: value for name, value, usual in pairs if value != usual}


def changed_choice(first: Choice, changes: dict[str, Any]) -> Choice:
    """A choice with fields changed as a link says.

    Raises
    ------
    SimulationError : a field is unknown, or its value is of another kind.
    """
    usual = {f.name: getattr(first, f.name) for f in _FIELDS}
    unknown = set(changes) - set(usual)
    if unknown:
        raise SimulationError(f"the link has an unknown part '{min(unknown)}'", WHERE, FIX)
    try:
        found = msgspec.convert(usual | changes, Choice)
    except msgspec.ValidationError as error:
        raise SimulationError(f"the link cannot be read: {error}", WHERE, FIX) from None
    check_options({name: getattr(found, name) for name in changes})
    return found


def write_link(link: PageLink) -> str:
    """The text of a link: letters, digits, - and _."""
    plain = msgspec.json.encode(_plain(link))
    return base64.urlsafe_b64encode(zlib.compress(plain, 9)).decode().rstrip("=")


def read_link(text: str) -> PageLink:
    """The link of a text.

    Raises
    ------
    SimulationError : it is not a link.
    """
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(packed, MAX_BYTES)
        if not unpacker.eof:
            raise ValueError("it is truncated or too long")
        return msgspec.json.decode(plain, type=PageLink)
    except (ValueError, binascii.Error, zlib.error, msgspec.MsgspecError, RecursionError) as error:
        raise SimulationError(f"the link cannot be read: {error}", WHERE, FIX) from None


def find_link(text: str) -> str:
    """The link in the address of a page, which begins with =; checked.

    Raises
    ------
    SimulationError : there is none, or it cannot be read.
    """
    found = re.search(r"=([A-Za-z0-9_-]+)/?\s*$", text)
    if found is None:
        raise SimulationError(f"'{text}' has no state of a page in it", WHERE, FIX)
    read_link(found.group(1))
    return found.group(1)


def _plain(link: PageLink) -> dict[str, Any]:
    """A link without what is as usual."""
    usual = PageView()
    pairs = ((f.name, getattr(link.view, f.name)) for f in dataclasses.fields(PageView))
    view = {name: value for name, value in pairs if value != getattr(usual, name)}
    found = {"model": link.model, "changes": link.changes, "view": view}
    found["kept_model"] = link.kept_model
    return {k: v for k, v in found.items() if v} | (
        {} if link.kept is None else {"kept": link.kept}
    )


_FIELDS = dataclasses.fields(Choice)

"""`Session`: what one page has chosen, and the newest run of it.

Every change makes a new frozen `Choice` and hands it to the worker, which simulates the newest one
and notifies the view. Nothing is queued: a choice that came later takes the place of one that
waits, and the run of an older one is cancelled. No fault ends a session: the view shows it.

**From a choice to a run: computed whole or driven, on one thread that knows the newest request.**

**`Worker`: one thread that always works on the newest request and never queues older ones.**

The mailbox has a single slot. A new request takes the place of one that waits, and asks the one
that runs to stop; so what comes out last is what was asked for last, however fast one asks.

**From a choice to a run: the model's scenario, inputs of one's own, or a path.**

**A drive: where it begins, where it continues after a parameter has changed, and its frames.**
"""

from __future__ import annotations

import dataclasses
import math
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from noslip import (
    Ending,
    Fault,
    Follower,
    NoslipError,
    Scenario,
    SimulationError,
    Start,
    System,
    Trajectory,
    audit,
    complete_start,
    run_scenario,
    simulate,
    start_on_motion,
    track,
)
from noslip.base import Array, find_member, nearest
from noslip.control import (
    AbstractControllerPlan,
    Balance,
    DriveControls,
    Driver,
    Point,
    find_follower,
    has_planar_base,
    slip_free,
)
from noslip.controllers import Tracking
from noslip.formulations import formulation_of
from noslip.motions import ExpressionMotion, FollowMotion
from noslip.results import Audit
from noslip.scene import Frames, Scene, frames, scene
from noslip.studio.choice import (
    DRAWN,
    DRIVE,
    DURATION,
    PATH,
    SCENARIO,
    START,
    Choice,
    Controls,
    Mechanism,
    ModelCatalog,
    adapted_choice,
    check_options,
    chosen_start,
    chosen_values,
    drawn_text,
    first_points,
    form_text,
    make_controls,
    next_point,
    number_or_text,
    only_known,
    read_assignment,
    read_path,
    widened,
)
from noslip.timing import parse_timing

Request = TypeVar("Request")


class Superseded(Exception):
    """The work was cancelled because of a newer request."""


class Cancel:
    """Cancellation flag of one piece of work."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Request cancellation."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether cancellation was requested."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Superseded` if cancellation was requested."""
        if self._event.is_set():
            raise Superseded

    def wait(self, seconds: float) -> None:
        """Wait, and raise `Superseded` as soon as cancellation is requested."""
        if self._event.wait(seconds):
            raise Superseded


class Worker(Generic[Request]):
    """Runs `work(request, cancel)` for the newest request, on a thread of its own.

    `work`: function that does the work; it may raise `Superseded`. Any other exception goes to
    `failed`. `failed`: function called with an exception; the worker goes on.
    """

    def __init__(
        self,
        work: Callable[[Request, Cancel], None],
        failed: Callable[[Exception], None],
        name: str = "noslip studio worker",
    ) -> None:
        self._work, self._failed = work, failed
        self._condition = threading.Condition()
        self._waiting: tuple[Request, Cancel] | None = None
        self._running: Cancel | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> None:
        """Submit a request; it replaces any earlier one."""
        with self._condition:
            if self._closed:
                return
            if self._running is not None:
                self._running.set()
            self._waiting = (request, Cancel())
            self._condition.notify_all()

    def cancel(self) -> None:
        """Cancel the running and the waiting request."""
        with self._condition:
            self._waiting = None
            if self._running is not None:
                self._running.set()

    def close(self) -> None:
        """Cancel everything and end the thread."""
        self.cancel()
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def join(self, seconds: float) -> bool:
        """Wait until nothing runs or waits; False if that takes longer than the time."""
        with self._condition:
            return self._condition.wait_for(
                lambda: self._waiting is None and self._running is None, seconds
            )

    def _loop(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._waiting is not None or self._closed)
                if self._waiting is None:
                    return
                request, cancel = self._waiting
                self._waiting, self._running = None, cancel
            try:
                cancel.check()
                self._work(request, cancel)
            except Superseded:
                pass
            except Exception as error:
                self._failed(error)
            with self._condition:
                self._running = None
                self._condition.notify_all()


#: Tolerance of the integration.
TOLERANCE = 1e-9
SAMPLES = 501


class ChosenRun(NamedTuple):
    """A run, and the command that reproduces it; empty where there is no such command."""

    run: Trajectory
    command: str = ""


def perform(system: System, source: str, choice: Choice, cancel: Cancel) -> ChosenRun:
    """Run a choice.

    Raises
    ------
    Superseded : the run was cancelled.
    NoslipError : what was chosen cannot be run.
    """
    check_mechanics(system, choice)
    if choice.task == PATH:
        found = _path(system, source, choice, cancel)
    elif choice.task == SCENARIO:
        found = _scenario(system, source, choice, cancel)
    else:
        found = _inputs(system, choice, cancel)
    if found.run.ending is Ending.CANCELLED:
        cancel.check()
    return found


def check_mechanics(system: System, choice: Choice) -> None:
    """Refuse tasks that need inverse dynamics, which vakonomic mechanics does not have."""
    scenario = system.model.scenario
    follows = choice.task == SCENARIO and scenario is not None and scenario.has_reference
    if is_vakonomic(choice) and (follows or choice.task in (PATH, DRIVE)):
        raise SimulationError(
            "vakonomic mechanics has no inverse dynamics, so it cannot find forces for a motion",
            f"formulation of model '{system.model.name}'",
            "choose another formulation, or inputs of your own",
        )


def is_vakonomic(choice: Choice) -> bool:
    """Whether the equations are those of a different theory, without forces of the ground."""
    return not formulation_of(choice.formulation).is_dalembert


def _scenario(system: System, source: str, choice: Choice, cancel: Cancel) -> ChosenRun:
    scenario = system.model.scenario
    is_plain = scenario is not None and scenario.motion and not scenario.is_controlled
    if scenario is not None and is_plain and choice.controller != "none":
        return _controlled(system, scenario, choice, cancel)
    run = run_scenario(
        system,
        changes=choice.changes,
        duration=choice.duration,
        rtol=TOLERANCE,
        atol=TOLERANCE,
        cancel=cancel,
        on_failure="return",
    )
    words = ["noslip", "run", source, *_settings(choice)]
    if choice.duration is not None:
        words += ["--duration", f"{choice.duration!r}"]
    command = shlex.join(words) if choice.formulation == "complement" else ""
    return ChosenRun(run, command)


def _controlled(system: System, scenario: Scenario, choice: Choice, cancel: Cancel) -> ChosenRun:
    """The scenario's motion, followed with feedback."""
    numbers = {p.name: choice.changes.get(p.name, p.value) for p in scenario.parameters}
    task = tuple(dataclasses.replace(p, value=numbers[p.name]) for p in scenario.parameters)
    parameters, start = chosen_values(system, choice)
    values = system.parameters(parameters)
    motion = ExpressionMotion(
        coordinates=scenario.motion, definitions=scenario.definitions, parameters=task
    )
    follow = FollowMotion(motion=motion, reference_start=np.zeros(len(system.coordinates)))
    on_motion = start_on_motion(system, follow, {}, values)
    places = {c.name: float(x) for c, x in zip(system.coordinates, on_motion.q, strict=True)}
    speeds = zip(system.independent_speeds, on_motion.eta, strict=True)
    begin = complete_start(
        system, {**places, **{s.name: float(e) for s, e in speeds}, **start}, parameters=values
    )
    lasts = choice.duration or scenario.duration
    law = _controller(system, choice).along(
        system, motion, reference_start=on_motion.q, duration=lasts, parameters=parameters
    )
    run = simulate(
        system,
        duration=lasts,
        start=begin,
        inputs=Tracking(motion=motion, controller=law, reference_start=on_motion.q, limits={}),
        parameters=parameters,
        samples=scenario.samples,
        rtol=TOLERANCE,
        atol=TOLERANCE,
        cancel=cancel,
        on_failure="return",
    )
    return ChosenRun(run)


def _inputs(system: System, choice: Choice, cancel: Cancel) -> ChosenRun:
    scenario = system.model.scenario or Scenario(duration=DURATION)
    parameters, start = chosen_values(system, choice)
    given = {} if scenario.has_reference else chosen_start(system, choice)
    task = {p.name: repr(choice.changes.get(p.name, p.value)) for p in scenario.parameters}
    run = simulate(
        system,
        duration=choice.duration or scenario.duration,
        start={**given, **start},
        inputs={name: number_or_text(text) for name, text in choice.inputs.items()},
        parameters=parameters,
        samples=SAMPLES,
        stop=scenario.stop or None,
        definitions=task | scenario.definitions,
        rtol=TOLERANCE,
        atol=TOLERANCE,
        cancel=cancel,
        on_failure="return",
    )
    return ChosenRun(run)


def _path(system: System, source: str, choice: Choice, cancel: Cancel) -> ChosenRun:
    parameters, start = chosen_values(system, choice)
    follower = None
    if has_planar_base(system):
        # what keeps a vehicle on tires to a path is found without slip, as `track` does
        values = system.parameters(parameters)
        known = slip_free(system, values) or system
        follower = find_follower(known, values, reverse=choice.reverse)
    elif choice.reverse:
        follower = Follower(reverse=True)
    path_text, timing_text = (
        form_text(family, getattr(choice, family), choice.numbers, choice.typed.get(family, ""))
        for family in ("path", "timing")
    )
    if choice.path == DRAWN:
        path_text = drawn_text(choice.points, choice.closed)
    run = track(
        system,
        read_path(path_text),
        timing=parse_timing(timing_text),
        follower=follower,
        controller=_controller(system, choice, follower),
        start=start,
        parameters=parameters,
        duration=choice.duration,
        samples=SAMPLES,
        cancel=cancel,
        on_failure="return",
    )
    command = ""
    if choice.controller != "steered" and choice.formulation == "complement":
        command = _track_command(source, choice, path_text, timing_text)
    return ChosenRun(run, command)


def _track_command(source: str, choice: Choice, path_text: str, timing_text: str) -> str:
    words = ["noslip", "track", source, "--path", path_text, "--timing", timing_text]
    if choice.reverse:
        words.append("--reverse")
    if choice.controller != "none":
        words += ["--controller", choice.controller]
    if choice.duration is not None:
        words += ["--duration", f"{choice.duration!r}"]
    return shlex.join([*words, *_settings(choice)])


def _settings(choice: Choice) -> list[str]:
    """--set NAME=VALUE for everything that was changed."""
    return [word for n, x in choice.changes.items() for word in ("--set", f"{n}={x!r}")]


def _controller(
    system: System, choice: Choice, follower: Follower | None = None
) -> AbstractControllerPlan:
    """The controller of a choice, with what the task gives of its arguments."""
    known = {} if follower is None else follower.arguments()
    member = find_member(AbstractControllerPlan, choice.controller)
    if member is None or not member.suits(system, known):
        raise SimulationError(
            f"controller '{choice.controller}' does not suit this task",
            "controller",
            "pose and steered tracking follow paths, the latter with a vehicle that steers",
        )
    found: AbstractControllerPlan = member.from_text(member.word, known)
    return found


def drive_start(
    system: System,
    controls: DriveControls,
    values: Array,
    choice: Choice,
    start: Mapping[str, float],
) -> Start:
    """Start of a drive: at rest where the scenario starts, or running straight if it balances."""
    scenario = system.model.scenario
    given = (
        chosen_start(system, choice) if scenario is not None and not scenario.has_reference else {}
    )
    balance = controls.balance
    if balance is not None:
        rolling = complete_start(system, given, parameters=values)
        ahead = controls.channels[0]
        speed = ahead.within(float(ahead.row @ rolling.v)) if given else balance.fastest / 2
        begin = {balance.wheel: speed / balance.ratio}
    else:
        speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
        begin = {n: x for n, x in given.items() if n not in speeds and not n.endswith("_rate")}
    return complete_start(system, {**begin, **start}, parameters=values)


def continued_start(system: System, driver: Driver, values: Array) -> Start:
    """Start that continues a drive from its state, at other parameter values."""
    places = {c.name: float(x) for c, x in zip(system.coordinates, driver.q, strict=True)}
    speeds = {s.name: float(x) for s, x in zip(system.speeds, driver.v, strict=True)}
    free = {s.name for s in system.independent_speeds}
    kept = {n: x for n, x in speeds.items() if n in free}
    balance = driver.controls.balance
    if balance is not None:
        places = _upright(driver, balance)
        kept |= {balance.wheel: speeds[balance.wheel]}
    elif any(row.is_holonomic for row in system.kinematics.rows):
        places = {}
    return complete_start(system, {**places, **kept}, parameters=values)


def _upright(driver: Driver, balance: Balance) -> dict[str, float]:
    """Place, heading, lean and steering: all coordinates but those that follow from them."""
    now = driver.piece()
    return {c.name: float(now[c.name][-1]) for c in (*balance.ignored, *balance.coordinates)}


#: Frames that are kept; the first half goes when there are more.
MOST = 9000


class DriveFrames:
    """Frames of a motion that goes on."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.frames: Frames | None = None

    def add(self, piece: Trajectory) -> Frames:
        """The frames with the next one, that of the end of a piece of motion."""
        new = frames(self._system, piece, times=np.array([piece.t[0], piece.t[-1]]))
        old = self.frames
        if old is None:
            self.frames = new
            return new
        first = MOST // 2 if len(old) >= MOST else 0

        def grown(before: Array, after: Array) -> Array:
            return np.concatenate([before[first:], after[1:]])

        # a drawn wheel turns on from where it was
        turned = {n: a - a[0] + old.rolled[n][-1] for n, a in new.rolled.items()}
        self.frames = dataclasses.replace(
            old,
            times=grown(old.times, new.times),
            positions=grown(old.positions, new.positions),
            quaternions=grown(old.quaternions, new.quaternions),
            centers=grown(old.centers, new.centers),
            velocities=grown(old.velocities, new.velocities),
            traces={n: grown(old.traces[n], p) for n, p in new.traces.items()},
            rolled={n: grown(old.rolled[n], a) for n, a in turned.items()},
        )
        return self.frames


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A run with all that is needed to show it."""

    number: int  #: counts the runs of a session
    name: str  #: name of the model on this page
    mechanism: Mechanism
    system: System
    choice: Choice
    #: run, command: the run, and the command that reproduces it; empty if there is no such command
    run: Trajectory
    command: str
    scene: Scene
    frames: Frames
    compute: float  #: s from the choice to the samples, without what is compiled once
    since: float  #: time of the wall clock when it was made


class SessionView(Protocol):
    """Callback interface of a session, called from its threads, one at a time."""

    def show_controls(self, controls: Controls, choice: Choice) -> None:
        """Called with new knobs."""

    def show_run(self, shown: Shown, ghost: Shown | None) -> None:
        """Called with a new run, and with the one that stood before it."""

    def show_kept(self, kept: Shown | None) -> None:
        """Called with the run that others are compared with; None for none any more."""

    def show_audit(self, shown: Shown, found: Audit | None) -> None:
        """Called with the audit of that run."""

    def show_drive_start(self, system: System, choice: Choice, scene: Scene) -> None:
        """Called to start a drive, or to continue it with other parameters."""

    def show_faults(self, faults: tuple[Fault, ...]) -> None:
        """Called with the faults of a choice that cannot be run; none if it can."""

    def show_file_faults(self, faults: tuple[Fault, ...]) -> None:
        """Called with the faults of the model file; none once it is correct."""


def frames_of(system: System, run: Trajectory) -> Frames:
    """Frames of a run: dense enough for slow motion, bounded for a long run."""
    duration = float(run.t[-1] - run.t[0])
    if duration <= 0:
        return frames(system, run)
    return frames(system, run, rate=min(max(30.0, 400.0 / duration), max(4000.0 / duration, 10.0)))


def faults_of(error: Exception) -> tuple[Fault, ...]:
    """Faults (what, where, fix) of any exception."""
    if isinstance(error, NoslipError):
        return error.faults
    return (
        Fault(
            f"{type(error).__name__}: {error}",
            "the studio itself",
            "this is a bug in noslip: change something else, or reload the page",
        ),
    )


#: A run that was shown for less than this, s, was a stop on the way and leaves no ghost.
STANDING = 1.0
#: Choices that can be undone, and s within which changes of one thing count as one.
MOST_UNDONE, ONE_CHANGE = 100, 1.0
#: Most points of a path that is drawn; a link holds them all.
MOST_POINTS = 50
#: Pause, s, before what takes longer than a run is computed.
QUIET = 0.25


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    mechanism: Mechanism
    choice: Choice


class Session:
    """One page: its choice, its worker, its newest run.

    `name`: name of the first one; `clock`: clock of the wall, s.
    """

    def __init__(
        self,
        catalog: ModelCatalog,
        name: str,
        view: SessionView,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.catalog, self.view, self._clock = catalog, view, clock
        self._lock = threading.RLock()
        self.name = name
        self.mechanism = catalog.mechanism(name)
        self.choice = self.mechanism.first_choice()
        self.shown: Shown | None = None
        self.ghost: Shown | None = None
        self.kept: Shown | None = None
        self._to_keep: _Request | None = None
        self.controls = Controls(groups={})
        self._shape: tuple[object, ...] = ()
        self._count = self._epoch = 0
        self._past: list[tuple[str, Choice]] = []
        self._future: list[tuple[str, Choice]] = []
        self._last = ("", -math.inf)
        self._worker: Worker[_Request] = Worker(self._work, self._failed)
        self._forget = catalog.listen(self._file_was_saved)

    def start(self) -> None:
        """Run the initial choice."""
        self._submit()

    def close(self) -> None:
        """End the worker."""
        self._forget()
        self._worker.close()

    def join(self, seconds: float = 30.0) -> bool:
        """Wait until the worker is idle."""
        return self._worker.join(seconds)

    # what a page can ask for

    def choose_model(self, name: str) -> None:
        """Show another model, from its first choice on."""
        mechanism = self.catalog.mechanism(name)
        with self._lock:
            self._remember()
            self._begin_epoch()
            self.name, self.mechanism = name, mechanism
            self.choice = dataclasses.replace(
                mechanism.first_choice(), formulation=self.choice.formulation
            )
            self.ghost = None
            self._submit()

    def open(self, name: str, choice: Choice, kept: tuple[str, Choice] | None = None) -> None:
        """Show a choice of a model, as a link has it."""
        mechanism = self.catalog.mechanism(name)
        with self._lock:
            self._begin_epoch()
            self.name, self.mechanism, self.choice = name, mechanism, choice
            if kept is not None:
                self._to_keep = _Request(kept[0], self.catalog.mechanism(kept[0]), kept[1])
            self._submit()

    def keep(self) -> None:
        """Keep the run that is shown, to compare the next ones with it."""
        with self._lock:
            self.kept = self.shown
            self.view.show_kept(self.kept)

    def release(self) -> None:
        """Compare no longer."""
        with self._lock:
            self.kept = self._to_keep = None
            self.view.show_kept(None)

    def undo(self) -> None:
        """Take the last change back."""
        self._step(self._past, self._future)

    def redo(self) -> None:
        """Make the change again that was taken back last."""
        self._step(self._future, self._past)

    @property
    def epoch(self) -> int:
        """Counts undone changes, opened links and chosen models: earlier controls do not count."""
        return self._epoch

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return bool(self._future)

    def choose(self, **options: object) -> None:
        """Choose a formulation, task, path, timing, controller, reverse, duration or friction."""
        check_options(options)
        with self._lock:
            self._remember("".join(options))
            before = self.choice
            choice = dataclasses.replace(before, **options)  # type: ignore[arg-type]
            if choice.task != before.task:
                # a start of one task means little in another
                choice = choice.without(self.controls.names(START))
                choice = dataclasses.replace(choice, controller="none", duration=None)
            if (choice.path, choice.timing) != (before.path, before.timing):
                choice = dataclasses.replace(choice, numbers={}, duration=None)
            if choice.path == DRAWN:
                choice = dataclasses.replace(choice, points=self._drawn_points())
            self.choice = choice
            self._submit()

    def add_point(self) -> None:
        """Add a point at the end of the path that is drawn."""
        points = self._drawn_points()
        if len(points) >= MOST_POINTS:
            raise SimulationError(
                f"the path has {MOST_POINTS} points already",
                "path drawn on the floor",
                "type longer ones, or follow a file of points with noslip track",
            )
        self.set_points((*points, next_point(points)))

    def remove_point(self) -> None:
        """Remove the last point of the path that is drawn, unless it needs all."""
        points = self._drawn_points()
        if len(points) > (3 if self.choice.closed else 2):
            self.set_points(points[:-1])

    def _drawn_points(self) -> tuple[Point, ...]:
        """Points of the path that is drawn; those to begin with where it has too few."""
        points = self.choice.points
        return points if len(points) > 1 else first_points(scene(self.mechanism.model).length)

    def set_points(self, points: tuple[Point, ...]) -> None:
        """Draw the path through other points."""
        with self._lock:
            self._remember()
            self.choice = dataclasses.replace(self.choice, points=points)
            self._submit()

    def set_value(self, name: str, value: float, epoch: int | None = None) -> bool:
        """Set a knob; one beyond its range widens it.

        `epoch`: epoch in which its slider was made. One of another epoch, or whose knob is no
        longer there, sets nothing; returns whether it did. None: typed by its name.
        """
        with self._lock:
            found = self.controls.find(name)
            if epoch is not None and (epoch != self._epoch or found is None):
                return False
            if found is None:
                known = [k.name for knobs in self.controls.groups.values() for k in knobs]
                raise SimulationError(
                    f"there is no parameter, start value or number '{name}'",
                    f"model '{self.mechanism.model.name}'",
                    nearest(name, known),
                )
            self._remember(name)
            group, knob = found
            if not knob.lower <= value <= knob.upper:
                self.controls = widened(self.controls, name, value)
                self.view.show_controls(self.controls, self._with(group, name, value))
            self.choice = self._with(group, name, value)
            self._submit()
            return True

    def type_value(self, text: str) -> None:
        """Set a knob by ``name = value``, as ``--set`` does; the value may be an expression."""
        name, number = read_assignment(text, self.values())
        self.set_value(name, number)

    def reset(self, group: str) -> None:
        """Reset a group of knobs."""
        with self._lock:
            self._remember()
            names = self.controls.names(group)
            numbers = {n: x for n, x in self.choice.numbers.items() if n not in names}
            self.choice = dataclasses.replace(self.choice.without(names), numbers=numbers)
            if "duration" in names:
                self.choice = dataclasses.replace(self.choice, duration=None)
            self._shape = ()
            self._submit()

    def set_input(self, name: str, text: str) -> None:
        """Type an input as an expression of time."""
        with self._lock:
            if name not in self.choice.inputs:
                raise SimulationError(
                    f"there is no input '{name}'", "inputs", nearest(name, self.choice.inputs)
                )
            self._remember("inputs")
            inputs = {**self.choice.inputs, name: text.strip() or "0"}
            self.choice = dataclasses.replace(self.choice, inputs=inputs)
            self._submit()

    def type_form(self, family: str, text: str) -> None:
        """Type a path or a timing law as commands have it."""
        with self._lock:
            self._remember(f"{family} typed")
            typed = {**self.choice.typed, family: text.strip()}
            self.choice = dataclasses.replace(self.choice, typed=typed)
            self._submit()

    def tasks(self) -> tuple[str, ...]:
        """Tasks that the model supports; a single one where it cannot be compiled."""
        try:
            return self.mechanism.tasks()
        except Exception:
            return (self.choice.task,)

    def controllers(self, task: str) -> tuple[str, ...]:
        """Controllers that suit the model and a task."""
        return self.mechanism.controllers(task)

    def values(self) -> dict[str, float]:
        """Values of all knobs."""
        with self._lock:
            stands = {k.name: k.value for knobs in self.controls.groups.values() for k in knobs}
            stands |= self.choice.numbers
            if self.choice.duration is not None:
                stands["duration"] = self.choice.duration
            return stands | dict(self.choice.changes)

    def show_drive(self, run: Trajectory) -> None:
        """Show a drive that was stopped, like any other run."""
        with self._lock:
            system = self.mechanism.system(self.choice.formulation)
            self._count += 1
            self.shown = Shown(
                number=self._count,
                name=self.name,
                mechanism=self.mechanism,
                system=system,
                choice=self.choice,
                run=run,
                command="",
                scene=scene(run.model, run.parameters, run.obstacles),
                frames=frames_of(system, run),
                compute=0.0,
                since=self._clock(),
            )
            self.ghost = None
            shown = self.shown
            self.view.show_run(shown, None)
        self._show_audit(shown)

    # inside

    def _begin_epoch(self) -> None:
        """Let no control that was made before count, and make all anew."""
        self._epoch += 1
        self._shape = ()

    def _remember(self, what: str = "") -> None:
        """Keep the choice for undo; changes of one thing that follow closely are one change."""
        now = self._clock()
        is_same = bool(what) and what == self._last[0] and now - self._last[1] < ONE_CHANGE
        if not is_same:
            self._past = [*self._past, (self.name, self.choice)][-MOST_UNDONE:]
        self._future, self._last = [], (what, now)

    def _step(self, taken: list[tuple[str, Choice]], given: list[tuple[str, Choice]]) -> None:
        """Go to the last choice of one list, and note the present one in the other."""
        with self._lock:
            present = (self.name, self.choice)
            while taken and taken[-1] == present:
                taken.pop()
            if not taken:
                return
            given.append(present)
            self._last = ("", -math.inf)
            self.open(*taken.pop())

    def _with(self, group: str, name: str, value: float) -> Choice:
        """The choice with a knob set."""
        choice = self.choice
        if name == "duration":
            return dataclasses.replace(choice, duration=value)
        if "." in name and name.split(".")[0] in ("path", "timing") and group == "task":
            return dataclasses.replace(choice, numbers={**self._form_numbers(), name: value})
        values = {name: value}
        found = self.controls.find(name)
        if found is not None and found[1].bundle:
            stands = self.values()
            same = [k.name for k in self.controls.groups[group] if k.bundle == found[1].bundle]
            values = {n: stands[n] for n in same} | values
        return choice.with_changes(values)

    def _form_numbers(self) -> Mapping[str, float]:
        """All numbers of the path and its timing, touched or not."""
        knobs = self.controls.groups.get("task", ())
        return {k.name: k.value for k in knobs if "." in k.name} | dict(self.choice.numbers)

    def _submit(self) -> None:
        with self._lock:
            self._worker.submit(_Request(self.name, self.mechanism, self.choice))

    def _work(self, request: _Request, cancel: Cancel) -> None:
        """Simulate and notify the view; then, without newer requests, audit the run."""
        system = request.mechanism.system(request.choice.formulation)
        cancel.check()
        choice, drawn = self._completed(request, system)
        if choice.task == DRIVE:
            self._publish_controls(request, system, choice, None, drawn.length, cancel)
            check_mechanics(system, choice)
            # before the drive, which may end at once and say why
            self.view.show_faults(())
            self.view.show_drive_start(system, choice, drawn)
            return
        faults = self._make_kept(cancel)
        try:
            shown = self._simulated(request, system, choice, drawn, cancel)
        except NoslipError:
            self._publish_controls(request, system, choice, None, drawn.length, cancel)
            raise
        cancel.check()
        with self._lock:
            cancel.check()
            self._keep_ghost(shown)
            self.shown = shown
            self._publish_controls(request, system, choice, shown.run, drawn.length, cancel)
            self.view.show_faults(faults)
            self.view.show_run(shown, self.ghost)
        cancel.wait(QUIET)
        self._show_audit(shown, cancel)

    def _completed(self, request: _Request, system: System) -> tuple[Choice, Scene]:
        """A choice with all its numbers and without those the model does not have; its scene."""
        choice, model = only_known(request.choice, system), request.mechanism.model
        values = {
            p.name: choice.changes[p.name] for p in model.parameters if p.name in choice.changes
        }
        drawn = scene(model, values)
        return self._with_form_numbers(system, choice, drawn.length), drawn

    def _simulated(
        self, request: _Request, system: System, choice: Choice, drawn: Scene, cancel: Cancel
    ) -> Shown:
        """Run a choice."""
        begin = self._clock()
        run, command = perform(system, self.catalog.source(request.name), choice, cancel)
        compute = self._clock() - begin
        if not len(run.t):
            raise SimulationError(run.message, f"model '{run.model.name}'", "change the start")
        motion = frames_of(system, run)
        with self._lock:
            self._count += 1
            return Shown(
                number=self._count,
                name=request.name,
                mechanism=request.mechanism,
                system=system,
                choice=choice,
                run=run,
                command=command,
                scene=drawn,
                frames=motion,
                compute=compute,
                since=self._clock(),
            )

    def _make_kept(self, cancel: Cancel) -> tuple[Fault, ...]:
        """Run what a link says that is compared with; its faults, if it cannot be run."""
        wanted = self._to_keep
        if wanted is None or wanted.choice.task == DRIVE:  # a drive cannot be made again
            self._to_keep = None
            return ()
        try:
            system = wanted.mechanism.system(wanted.choice.formulation)
            choice, drawn = self._completed(wanted, system)
            found = self._simulated(wanted, system, choice, drawn, cancel)
        except NoslipError as error:
            cancel.check()
            self._to_keep = None
            return error.faults
        with self._lock:
            if self._to_keep is wanted:
                self.kept, self._to_keep = found, None
                self.view.show_kept(found)
        return ()

    def _show_audit(self, shown: Shown, cancel: Cancel | None = None) -> None:
        """Audit a run and notify the view."""
        choice = shown.choice
        has_ground = bool(shown.mechanism.model.contacts) and not is_vakonomic(choice)
        has_ground = has_ground and shown.run.contact == "ideal"
        found = audit(shown.system, shown.run, choice.friction) if has_ground else None
        if cancel is not None:
            cancel.check()
        self.view.show_audit(shown, found)

    def _with_form_numbers(self, system: System, choice: Choice, length: float) -> Choice:
        """The choice with every number of its path and timing, for those not touched yet."""
        if choice.task != "path":
            return choice
        knobs = make_controls(system, choice, None, length).groups["task"]
        numbers = {k.name: k.value for k in knobs if "." in k.name} | dict(choice.numbers)
        return dataclasses.replace(choice, numbers=numbers)

    def _keep_ghost(self, new: Shown) -> None:
        """Keep a run that was shown for a while as the ghost of the next."""
        old = self.shown
        if old is None or old.mechanism.model.name != new.mechanism.model.name:
            self.ghost = None
        elif old.choice.task != new.choice.task:
            self.ghost = None
        elif new.since - old.since >= STANDING:
            self.ghost = old

    def _publish_controls(
        self,
        request: _Request,
        system: System,
        choice: Choice,
        run: Trajectory | None,
        length: float,
        cancel: Cancel,
    ) -> None:
        """Notify the view of the knobs, if they have changed."""
        with self._lock:
            cancel.check()
            has_start = run is not None
            shape = (
                *(request.mechanism, choice.formulation, choice.task, choice.path, choice.timing),
                has_start,
            )
            known = self._shape
            if shape == known or (not has_start and known[:5] == shape[:5]):
                return
            self.controls = make_controls(system, choice, run, length)
            for name, value in {**choice.changes, **choice.numbers}.items():
                self.controls = widened(self.controls, name, value)
            self._shape = shape
            self.view.show_controls(self.controls, choice)

    def _failed(self, error: Exception) -> None:
        self.view.show_faults(faults_of(error))

    def _file_was_saved(self, name: str, error: NoslipError | None) -> None:
        """Take the model that was saved, with the values that still have a place in it."""
        with self._lock:
            if error is not None:
                self.view.show_file_faults(error.faults)
                return
            self.view.show_file_faults(())
            if name != self.name:
                return
            old, self.mechanism = self.mechanism, self.catalog.mechanism(name)
            self.choice = adapted_choice(
                self.choice, old.first_choice(), self.mechanism.first_choice()
            )
            self._submit()

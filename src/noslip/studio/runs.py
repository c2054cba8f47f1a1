"""From a choice to a run: computed whole or driven, on one thread that knows the newest request.

**`Worker`: one thread that always works on the newest request and never queues older ones.**

The mailbox has a single slot. A new request takes the place of one that waits, and asks the one
that runs to stop; so what comes out last is what was asked for last, however fast one asks.

**From a choice to a run: the model's scenario, inputs of one's own, or a path.**

**A drive: where it begins, where it continues after a parameter has changed, and its frames.**
"""

from __future__ import annotations

import dataclasses
import shlex
import threading
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from noslip import (
    Ending,
    Follower,
    Scenario,
    SimulationError,
    Start,
    System,
    Trajectory,
    complete_start,
    run_scenario,
    simulate,
    start_on_motion,
    track,
)
from noslip.base import Array, find_member
from noslip.control import (
    AbstractControllerPlan,
    Balance,
    DriveControls,
    Driver,
    find_follower,
    has_planar_base,
    slip_free,
)
from noslip.controllers import Tracking
from noslip.formulations import formulation_of
from noslip.motions import ExpressionMotion, FollowMotion
from noslip.scene import Frames, frames
from noslip.studio.choice import (
    DRAWN,
    DRIVE,
    DURATION,
    PATH,
    SCENARIO,
    Choice,
    chosen_start,
    chosen_values,
    drawn_text,
    form_text,
    number_or_text,
    read_path,
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

    Parameters
    ----------
    work : function that does the work; it may raise `Superseded`. Any other exception goes to
        `failed`.
    failed : function called with an exception; the worker goes on.
    name : name of the thread.
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
    """Frames of a motion that goes on.

    Parameters
    ----------
    system : system that moves.
    """

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

"""From a choice to a run: the model's scenario, inputs of one's own, or a path."""

from __future__ import annotations

import dataclasses
import shlex
from typing import NamedTuple

import numpy as np

from noslip import (
    Ending,
    Follower,
    Scenario,
    SimulationError,
    System,
    Trajectory,
    complete_start,
    run_scenario,
    simulate,
    start_on_motion,
    track,
)
from noslip.controllers import Tracking
from noslip.motions import ExpressionMotion, FollowMotion
from noslip.timing import parse_timing
from noslip.base import find_member
from noslip.control import AbstractControllerPlan, find_follower, has_planar_base, slip_free
from noslip.formulations import formulation_of
from noslip.studio.choosing.choice import (
    DRIVE,
    DURATION,
    PATH,
    SCENARIO,
    Choice,
    chosen_start,
    chosen_values,
    number_or_text,
)
from noslip.studio.choosing.family_forms import DRAWN, drawn_text, form_text, read_path
from noslip.studio.running.worker import Cancel

#: Tolerance of the integration.
TOLERANCE = 1e-9
SAMPLES = 501


class ChosenRun(NamedTuple):
    """A run, and the command that reproduces it; empty where there is no such command."""

    run: Trajectory
    command: str = ""


def perform(system: System, source: str, choice: Choice, cancel: Cancel) -> ChosenRun:
    """Run a choice.

    Parameters
    ----------
    system : compiled system.
    source : what commands call the model.
    choice : what to run.
    cancel : ends the run early.

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

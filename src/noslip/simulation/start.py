"""Start of a run: completed with the inputs that apply there, and its state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from noslip.base import Array, FormulationError, ModelError, SimulationError
from noslip.engines import System
from noslip.simulation.input_plan import InputPlan, inputs_at
from noslip.simulation.starts.completion import (
    Completion,
    OtherBranchError,
    Start,
    check_completed,
    complete_one,
)

_Found = TypeVar("_Found")

_NO_WORK = np.zeros(1)


def begin(
    system: System,
    plan: InputPlan,
    start: Mapping[str, float] | Start | None,
    time: float,
    values: Array,
    guess: Mapping[str, float] | None = None,
) -> Start:
    """The completed start of a run at a time, s; one that is completed already stays as it is."""
    if not isinstance(start, Start):
        return complete(system, plan, start, time, values, guess).start()
    if guess:
        raise SimulationError(
            "a guess is given together with a completed start",
            f"simulation of model '{system.model.name}'",
            "leave out the guess, or give the start by names",
        )
    if plan.generator is not None:
        plan.generator.check_start(time, system.model.name)
    if start.time != time:
        raise SimulationError(
            f"the start is for t = {start.time:g} s, but the run starts at {time:g} s",
            f"simulation of model '{system.model.name}'",
            f"pass start_time={start.time:g}, or complete the start at the other time",
        )
    check_completed(system, start, values)
    # it may have been completed with other parameters
    return dataclasses.replace(start, is_carried=False)


def on_its_branch(
    system: System, values: Array, work: Callable[[System], _Found]
) -> tuple[_Found, tuple[str, ...]]:
    """What work finds with the system on the branch that a start is on, and a note on another one.

    Raises
    ------
    OtherBranchError : where there is no such system.
    """
    try:
        return work(system), ()
    except OtherBranchError as other:
        try:
            here = system.on_branch(*other.place, values)
        except (ModelError, FormulationError):
            raise other from None
    own, elsewhere = len(here.independent_speeds), len(system.independent_speeds)
    note = (
        f"the start is on a branch of the configurations on which the mechanism has {own} degrees "
        f"of freedom; on another one it has {elsewhere}"
    )
    return work(here), (note,) if own != elsewhere else ()


def state_at(system: System, q: Array, eta: Array, mu: Array, plan: InputPlan) -> Array:
    """[q; η; μ; W; z] at the start, no work done yet."""
    parts = [q, eta, mu]
    if system.does_work:
        parts.append(_NO_WORK)
    if plan.generator is not None:
        parts.append(plan.generator.start)
    return np.concatenate(parts, dtype=np.float64)


def complete(
    system: System,
    plan: InputPlan,
    start: Mapping[str, float] | None,
    time: float,
    values: Array,
    guess: Mapping[str, float] | None = None,
) -> Completion:
    """The completion of a start at a time, s, with the speed inputs that hold there."""
    if plan.generator is not None:
        plan.generator.check_start(time, system.model.name)
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)

    def speed_inputs(q: Array) -> Array:
        eta, mu = np.zeros(len(system.independent_speeds)), np.zeros(len(system.auxiliary_states))
        return inputs_at(plan, time, state_at(system, q, eta, mu, plan))[num_u : num_u + num_w]

    return complete_one(
        system,
        dict(start or {}),
        guess=dict(guess or {}),
        time=time,
        speed_inputs=speed_inputs if num_w else None,
        parameters=values,
    )

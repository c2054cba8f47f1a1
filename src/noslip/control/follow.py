"""`follow`: run a prescribed motion, without feedback or under a controller.

    motion → reference motion → input law → run

The motion is any: coordinates as functions of time, a point of an arm, a path of a vehicle
(`track`). A set point is a motion that stays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Unpack

import numpy as np

from noslip.base import Array, SimulationError, is_truth, nearest
from noslip.control.controllers.base import AbstractController, AbstractControllerPlan, FeedForward
from noslip.control.controllers.tracking import Tracking
from noslip.control.paths.base import assign
from noslip.control.plant import Plant, PlantLaw, plant_of
from noslip.control.reference.motion import AbstractMotion
from noslip.control.reference.reference_motion import ReferenceMotion, reference_motion
from noslip.engines import System, require_system
from noslip.simulation import (
    AbstractInputLaw,
    AlongOptions,
    Start,
    Trajectory,
    complete_start,
    simulate,
    takes,
)

#: Tolerance of a run without feedback, if none is given: nothing leads back from its errors.
ALONE = 1e-13
#: Samples of a run along a reference, if their number is not given.
SAMPLES = 601


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlLoop:
    """Control of a motion: the feedback, and the limits of its inputs.

    Parameters
    ----------
    controller : feedback, or its text as in ``"pose:kx=2"``; None for the forces of inverse
        dynamics alone.
    inputs : force inputs to use without feedback; all by default.
    limits : input name → largest magnitude, under feedback.
    period : s between looks of the controller at the state, inputs held in between; 0: continuous.
    """

    controller: AbstractControllerPlan | str | None = None
    inputs: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict, hash=False)
    period: float = 0.0

    def __post_init__(self) -> None:
        assign(self, inputs=tuple(self.inputs))

    def feedback(self, known: Mapping[str, Any] | None = None) -> AbstractControllerPlan:
        """The controller; feed-forward if there is none.

        Parameters
        ----------
        known : arguments that the task gives to a controller in text, such as what steers.
        """
        if isinstance(self.controller, str):
            # text knows all members, of which some drive along paths themselves
            from noslip.control.text import parse_controller

            return parse_controller(self.controller, known)
        return FeedForward() if self.controller is None else self.controller

    def check(self, system: System, feedback: AbstractControllerPlan, where: str) -> None:
        """Refuse options that are not known, or would be ignored; `where` is for messages."""
        known = [i.name for i in system.model.inputs] + [i.name for i in system.model.speed_inputs]
        for name, bound in self.limits.items():
            if name not in known:
                raise SimulationError(
                    f"there is no input '{name}' to limit", where, nearest(name, known)
                )
            if is_truth(bound) or not bound > 0:
                raise SimulationError(
                    f"the limit of '{name}' is {bound}",
                    where,
                    "give its largest magnitude, above 0",
                )
        period = self.period
        if is_truth(period) or not (period >= 0 and math.isfinite(period)):
            raise SimulationError(f"the period is {period} s", where, "give 0 or a positive time")
        if feedback.is_open and (self.limits or period):
            raise SimulationError(
                "limits and a period need a controller, and none is given",
                where,
                "give a controller, or leave them out",
            )
        if not feedback.is_open and self.inputs:
            raise SimulationError(
                "a choice of inputs is for feed-forward only, and a controller is given",
                where,
                "leave `inputs` out, or the controller",
            )


#: How a motion is controlled: a loop, or its controller or that one's text alone.
Controlled: TypeAlias = ControlLoop | AbstractControllerPlan | str | None


def control_loop(controller: Controlled) -> ControlLoop:
    """Make a `ControlLoop` from one, from a controller, or from its text."""
    if isinstance(controller, ControlLoop):
        return controller
    return ControlLoop(controller=controller)


#: Arguments that are now part of another one → what to write instead.
MOVED: dict[str, str] = {
    name: f"write controller=ControlLoop(controller=…, {name}=…)"
    for name in ("inputs", "limits", "period")
}


@takes(AlongOptions, moved=MOVED, samples=SAMPLES, rtol=None, atol=None)
def follow(
    system: System,
    motion: AbstractMotion,
    *,
    controller: Controlled = None,
    plant: Plant | Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
    **options: Unpack[AlongOptions],
) -> Trajectory:
    """Follow a motion: joints as functions of time, a tool, a set point.

    Parameters
    ----------
    system : compiled system.
    motion : :class:`ExpressionMotion` of coordinates, :class:`FrameMotion` of a tool, or any other.
    controller : how it is controlled: feedback, its text as in ``"computed-torque:kp=9"``, or a
        :class:`ControlLoop` with limits and a period; the forces of inverse dynamics alone by
        default.
    plant : what is driven, if it is not the model: a :class:`Plant`, or its parameters and start
        values by name.
    reference : coordinates of the reference that the motion leaves open.
    options : how the run is made. The start holds what differs from the reference's; without
        feedback the tolerances are 1e-13 if they are not given.

    Raises
    ------
    SimulationError : if the motion is not admissible, or the run fails.
    """
    require_system("follow", system)
    where = f"motion of model '{system.model.name}'"
    if options.get("duration") is None:
        raise SimulationError("the motion has no duration", where, "give a duration in s")
    loop = control_loop(controller)
    feedback = loop.feedback()
    loop.check(system, feedback, where)
    wanted = reference_motion(
        system,
        motion,
        start=reference,
        inputs=loop.inputs,
        parameters=options.get("parameters"),
    )
    run = run_along(wanted, motion, loop, feedback, plant_of(system, plant), **options)
    return run.replaced(admissibility=wanted.admissibility(run, where))


def run_along(
    wanted: ReferenceMotion,
    motion: AbstractMotion,
    loop: ControlLoop,
    feedback: AbstractControllerPlan,
    plant: Plant | None,
    **options: Unpack[AlongOptions],
) -> Trajectory:
    """The run under the inputs that produce a reference motion, or under feedback along it.

    Parameters
    ----------
    wanted : reference motion, with its inputs.
    motion : that it was found from.
    loop, feedback : how it is controlled; a controller that is open gives the inputs of the
        reference.
    plant : what is driven, if it is not the model.
    options : how the run is made.
    """
    model, limits, period = wanted.system, dict(loop.limits), loop.period
    duration = float(options.get("duration") or 0.0)
    start, parameters = options.get("start") or {}, options.get("parameters") or {}
    given: dict[str, Any] = {"samples": SAMPLES, **options, "duration": duration}
    for word in ("rtol", "atol"):
        if given.get(word) is None:
            given.pop(word, None)
    if feedback.is_open and not {"rtol", "atol"} & set(given):
        given |= {"rtol": ALONE, "atol": ALONE}
    if plant is None and period and isinstance(feedback, AbstractController):
        # states of a controller go on between samples, which the loop round a plant knows
        plant = Plant() if feedback.has_states else None
    if plant is None and options.get("contact", "ideal") != "ideal":
        plant = Plant()  # whose contacts may do what those of the model cannot
    if plant is None:
        law = _law_along(wanted, motion, feedback, duration, limits, period)
        given["start"] = _disturbed(wanted, start) if start else wanted.start
        run = simulate(model, inputs=law, **given)
        if isinstance(law, Tracking):
            return law.with_columns(model, run, wanted.parameters)
        return run
    plant.check(model, period)
    driven = plant.driven(model)
    own = {p.name for p in driven.model.parameters}
    known = {n: x for n, x in parameters.items() if n in own} | dict(plant.parameters)
    inner = _law_along(wanted, motion, feedback, duration, limits, 0.0)
    closed = PlantLaw(
        model=model,
        law=inner,
        known=wanted.parameters,
        plant=plant,
        period=period,
        believed=np.concatenate([wanted.start.q, wanted.start.eta]),
    )
    given["start"] = _disturbed(wanted, {**start, **plant.start}, driven, driven.parameters(known))
    given["parameters"] = known
    run = closed.with_columns(driven, simulate(driven, inputs=closed, **given))
    if isinstance(inner, Tracking):
        return inner.with_columns(model, run, wanted.parameters)
    return run


def _law_along(
    wanted: ReferenceMotion,
    motion: AbstractMotion,
    feedback: AbstractControllerPlan,
    duration: float,
    limits: dict[str, float],
    period: float,
) -> AbstractInputLaw:
    """The inputs that produce a reference motion, or feedback along it."""
    if feedback.is_open:
        return wanted.law
    values = wanted.parameters
    names = [p.name for p in wanted.system.model.parameters]
    controller = feedback.along(
        wanted.system,
        motion,
        reference_start=wanted.start.q,
        duration=duration,
        parameters={n: float(x) for n, x in zip(names, values, strict=True)},
    )
    return Tracking(
        motion=motion,
        controller=controller,
        reference_start=wanted.start.q,
        limits=limits,
        period=period,
    )


def _disturbed(
    wanted: ReferenceMotion,
    start: Mapping[str, float],
    plant: System | None = None,
    values: Array | None = None,
) -> Start:
    """The start of the reference motion, but for the values that are given; of the plant."""
    system, begin = wanted.system, wanted.start
    places = {c.name: float(x) for c, x in zip(system.coordinates, begin.q, strict=True)}
    speeds = zip(system.independent_speeds, begin.eta, strict=True)
    given = {**places, **{s.name: float(e) for s, e in speeds}, **start}
    if plant is None:
        return complete_start(system, given, parameters=wanted.parameters)
    return complete_start(plant, given, parameters=values)

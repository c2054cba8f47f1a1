"""`follow`: run a prescribed motion, without feedback or under a controller.

    motion → reference motion → input law → run

The motion is any: coordinates as functions of time, a point of an arm, a path of a vehicle
(`track`). A set point is a motion that stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noslip.analysis.motion import AbstractMotion
from noslip.analysis.reference_motion import ReferenceMotion, reference_motion
from noslip.control.controllers.base import AbstractControllerPlan, FeedForward
from noslip.control.controllers.tracking import Tracking
from noslip.control.plant import Plant, PlantLaw
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.numeric import is_truth
from noslip.simulation.input_laws import AbstractInputLaw
from noslip.simulation.simulate import simulate
from noslip.simulation.starts.completion import Start, complete_start
from noslip.simulation.trajectory import Trajectory


def follow(
    system: System,
    motion: AbstractMotion,
    *,
    duration: float,
    controller: AbstractControllerPlan | None = None,
    inputs: tuple[str, ...] = (),
    limits: Mapping[str, float] | None = None,
    period: float = 0.0,
    start: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    plant: Plant | None = None,
    outputs: Mapping[str, str] | None = None,
    samples: int = 601,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    reactions: bool = False,
    progress: Callable[[float], None] | None = None,
    cancel: Any = None,
    on_failure: str = "raise",
) -> Trajectory:
    """Follow a motion: joints as functions of time, a tool, a set point.

    Parameters
    ----------
    system : compiled system.
    motion : :class:`ExpressionMotion` of coordinates, :class:`FrameMotion` of a tool, or any other.
    duration : s.
    controller : feedback; none by default (the forces of inverse dynamics alone).
    inputs : force inputs to use without feedback, all by default.
    limits : input name → largest magnitude, under feedback.
    period : s between looks of the controller at the state, inputs held in between; 0: continuous.
    start : coordinates and speeds that differ from the reference's at the start.
    reference : coordinates of the reference that the motion leaves open.
    parameters : values that differ from the nominal ones.
    plant : what is driven, if it is not the model: other parameters, sensors, actuators.
    outputs, samples, rtol, atol, reactions, progress, cancel, on_failure : as in :func:`simulate`.

    Raises
    ------
    SimulationError : if the motion is not admissible, or the run fails.
    """
    feedback = FeedForward() if controller is None else controller
    where = f"motion of model '{system.model.name}'"
    check_options(system, where, feedback, inputs, dict(limits or {}), period)
    wanted = reference_motion(system, motion, start=reference, inputs=inputs, parameters=parameters)
    run = run_along(
        wanted,
        motion,
        feedback,
        duration=duration,
        limits=limits,
        period=period,
        start=start,
        parameters=parameters,
        plant=plant,
        outputs=outputs,
        samples=samples,
        rtol=rtol,
        atol=atol,
        reactions=reactions,
        progress=progress,
        cancel=cancel,
        on_failure=on_failure,
    )
    return run.replaced(admissibility=wanted.admissibility(run, where))


def run_along(
    wanted: ReferenceMotion,
    motion: AbstractMotion,
    feedback: AbstractControllerPlan,
    *,
    duration: float,
    limits: Mapping[str, float] | None,
    period: float,
    start: Mapping[str, float] | None,
    parameters: Mapping[str, float] | None = None,
    plant: Plant | None = None,
    **options: Any,
) -> Trajectory:
    """The run under the inputs that produce a reference motion, or under feedback along it.

    Parameters
    ----------
    wanted : reference motion, with its inputs.
    motion : that it was found from.
    feedback : controller; one that is open gives the inputs of the reference.
    duration, limits, period, start, parameters, plant : as in :func:`follow`.
    options : of :func:`simulate`.
    """
    model, bounds = wanted.system, dict(limits or {})
    if plant is None:
        law = _law_along(wanted, motion, feedback, duration, bounds, period)
        begin = _disturbed(wanted, start) if start else wanted.start
        options["parameters"] = parameters
        return simulate(model, duration=duration, start=begin, inputs=law, **options)
    plant.check(model, period)
    driven = model if plant.system is None else plant.system
    own = {p.name for p in driven.model.parameters}
    known = {n: x for n, x in (parameters or {}).items() if n in own} | dict(plant.parameters)
    closed = PlantLaw(
        model=model,
        law=_law_along(wanted, motion, feedback, duration, bounds, 0.0),
        known=wanted.parameters,
        plant=plant,
        period=period,
        believed=np.concatenate([wanted.start.q, wanted.start.eta]),
    )
    begin = _disturbed(wanted, {**(start or {}), **plant.start}, driven, driven.parameters(known))
    options["parameters"] = known
    return simulate(driven, duration=duration, start=begin, inputs=closed, **options)


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


def check_options(
    system: System,
    where: str,
    controller: AbstractControllerPlan,
    inputs: tuple[str, ...],
    limits: dict[str, float],
    period: float,
) -> None:
    """Refuse options that would be ignored; `where` is for messages."""
    known = [i.name for i in system.model.inputs] + [i.name for i in system.model.speed_inputs]
    for name, bound in limits.items():
        if name not in known:
            raise SimulationError(
                f"there is no input '{name}' to limit", where, nearest(name, known)
            )
        if is_truth(bound) or not bound > 0:
            raise SimulationError(
                f"the limit of '{name}' is {bound}", where, "give its largest magnitude, above 0"
            )
    if is_truth(period) or not (period >= 0 and math.isfinite(period)):
        raise SimulationError(f"the period is {period} s", where, "give 0 or a positive time")
    if controller.is_open and (limits or period):
        raise SimulationError(
            "limits and a period belong to a controller, and there is none",
            where,
            "give a controller, or leave them out",
        )
    if not controller.is_open and inputs:
        raise SimulationError(
            "a choice of inputs belongs to feed-forward alone, and there is a controller",
            where,
            "leave `inputs` out, or the controller",
        )

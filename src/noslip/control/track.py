"""`track`: drive a vehicle along a path.

    path → motion of the coordinates → reference motion → input law → run → errors

The reference motion (``analysis/reference_motion.py``) is admissible and comes with the inputs that
produce it; the input law is these inputs, or a controller that compares with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from noslip.analysis.reference_motion import ADMISSIBLE, ReferenceMotion, reference_motion
from noslip.control.controllers.base import AbstractControllerPlan, FeedForward
from noslip.control.follow import check_options, run_along
from noslip.control.follower import Follower
from noslip.control.motions.follower_search import find_follower, undriven_speeds
from noslip.control.motions.path import AbstractPathMotion, PathMotion
from noslip.control.motions.trailer import TrailerMotion
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.smoothness import curvature_jumps
from noslip.control.plant import Plant
from noslip.control.timing.laws import AbstractTiming, AbstractTimingPlan, unhurried
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.model.quantities import Scalar, Vector3
from noslip.simulation.trajectory import Trajectory


def track(
    system: System,
    path: AbstractPath,
    *,
    timing: AbstractTimingPlan | None = None,
    follower: Follower | None = None,
    point: Vector3 | None = None,
    direction: Vector3 | None = None,
    reverse: bool = False,
    heading: Scalar | None = None,
    steering: str = "",
    wheelbase: Scalar = 0.0,
    largest_steering: float | None = None,
    hinge: str = "",
    hitch: Scalar = 0.0,
    trailer: Scalar = 0.0,
    controller: AbstractControllerPlan | None = None,
    inputs: tuple[str, ...] = (),
    limits: Mapping[str, float] | None = None,
    period: float = 0.0,
    start: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    plant: Plant | None = None,
    duration: float | None = None,
    samples: int = 601,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    reactions: bool = False,
    progress: Callable[[float], None] | None = None,
    cancel: Any = None,
    on_failure: str = "raise",
) -> Trajectory:
    """Drive a vehicle along a path.

    Parameters
    ----------
    system : compiled system with a planar base.
    path, timing : where and how fast; :class:`LeastTime` finds the least time within limits. An
        unhurried :class:`Quintic` by default.
    follower : what follows the path; found from the constraints by default.
    point, direction, reverse, heading, steering, wheelbase, largest_steering, hinge, hitch, trailer
        : of the :class:`Follower`, those that are to differ from what is found.
    controller : feedback; none by default (the forces of inverse dynamics alone).
    inputs : force inputs to use without feedback, all by default.
    limits : input name → largest magnitude, under feedback.
    period : s between looks of the controller at the state, inputs held in between; 0: continuous.
    start : coordinates and speeds of the vehicle that differ from the reference's at the start.
    reference : coordinates of the reference that the path leaves open, such as a caster's angle.
    parameters : values that differ from the nominal ones.
    plant : what is driven, if it is not the model that the controller knows: other parameters or
        tires, disturbances, sensors, actuators.
    duration : s; as long as the path takes by default.
    samples, rtol, atol, reactions, progress, cancel, on_failure : as in :func:`simulate`.

    Raises
    ------
    SimulationError : if the path is not admissible for this vehicle, or the run fails.
    """
    feedback = FeedForward() if controller is None else controller
    where = f"track of model '{system.model.name}'"
    check_options(system, where, feedback, inputs, dict(limits or {}), period)
    given = {
        "point": point,
        "direction": direction,
        "reverse": reverse or None,
        "heading": heading,
        "steering": steering or None,
        "wheelbase": wheelbase or None,
        "largest_steering": largest_steering,
        "hinge": hinge or None,
        "hitch": hitch or None,
        "trailer": trailer or None,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    check_actuators(system, inputs)
    known = system.parameters(parameters)
    follows = choose_follower(system, known, follower, chosen)
    follows = replace(
        follows, held=tuple((n, (reference or {}).get(n, x)) for n, x in follows.held)
    )
    # path → motion of the coordinates
    path, notes = smooth_enough(system, path, follows)
    timed = unhurried(system, path) if timing is None else timing
    law = timed.on(system, path, follows, inputs=inputs, reference=reference, parameters=parameters)
    motion = motion_along(path, law, follows)
    lasts = law.duration(path) if duration is None else duration
    if feedback.is_open:
        motion.check_feed_forward(system)
    # → reference motion: admissible, with the inputs that produce it
    wanted = reference_motion(system, motion, start=reference, inputs=inputs, parameters=parameters)
    # → run under an input law: feed-forward, or feedback along the reference motion
    run = run_along(
        wanted,
        motion,
        feedback,
        duration=lasts,
        limits=limits,
        period=period,
        start=start,
        parameters=parameters,
        plant=plant,
        samples=samples,
        rtol=rtol,
        atol=atol,
        reactions=reactions,
        progress=progress,
        cancel=cancel,
        on_failure=on_failure,
    )
    # → errors, and what the timing law adds
    driven = plant.system if plant is not None and plant.system is not None else system
    run = law.with_columns(system, run)
    said = (f"follows the path: {follows.text()}", *notes)
    said += () if timing is not None else (f"timing: {law.text()}",)
    return run.replaced(
        path_errors=motion.errors(driven, run),
        admissibility=_admissibility(wanted, run),
        notes=(*run.notes, *said),
    )


def choose_follower(
    system: System, values: Any, follower: Follower | None, given: Mapping[str, Any]
) -> Follower:
    """What follows a path: what is given, the rest as found from the constraints.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    follower : all of it, if it is known.
    given : fields of it that are known.
    """
    if follower is not None:
        return replace(follower, **given)
    is_steered = {"steering", "hinge"} & set(given)
    if is_steered or {"point", "direction"} <= set(given):
        # named by hand; what speed inputs move is found nonetheless
        if is_steered or not system.model.speed_inputs:
            return Follower(**given)
    found = find_follower(system, values, reverse=bool(given.get("reverse")))
    return replace(found, **given)


def check_actuators(system: System, inputs: tuple[str, ...] = ()) -> None:
    """Refuse a model some of whose motions no actuator drives, by name."""
    missing = undriven_speeds(system, inputs)
    if missing:
        dof = len(system.independent_speeds)
        listed = ", ".join(f"'{name}'" for name in missing)
        count = len(inputs) or len(system.model.inputs)
        raise SimulationError(
            f"no actuator drives {listed}: the model has {count} force inputs for {dof} degrees of "
            "freedom, so they cannot produce every motion",
            f"motion of model '{system.model.name}'",
            f"add motors, such as a Motor with an input on '{missing[0]}', or give the inputs "
            "instead of the motion",
        )


def smooth_enough(
    system: System, path: AbstractPath, follower: Follower
) -> tuple[AbstractPath, tuple[str, ...]]:
    """A path that leaves its smoothness open, as smooth as continuous forces need; and a note.

    Parameters
    ----------
    system : compiled system.
    path : as given.
    follower : what follows it.
    """
    motion = motion_along(path, unhurried(system, path), follower)
    needed = motion.order(system)
    if not curvature_jumps(path, needed):
        return path, ()
    order = needed + 1
    smooth = path.of_order(order)
    if smooth is path:
        return path, ()
    return smooth, (
        f"path: with {order} continuous derivatives of its curvature, as continuous forces of this "
        f"vehicle need ({type(path).__name__}, order={order})",
    )


def motion_along(
    path: AbstractPath, timing: AbstractTiming, follower: Follower
) -> AbstractPathMotion:
    """The motion of a vehicle, or of the axle of its trailer, along a path."""
    given = {field.name: getattr(follower, field.name) for field in fields(follower)}
    given |= {"path": path, "timing": timing}
    motion = TrailerMotion if follower.hinge else PathMotion
    return motion(**{field.name: given[field.name] for field in fields(motion)})


def _admissibility(wanted: ReferenceMotion, run: Trajectory) -> float:
    """The largest inadmissible rate along the run; refused if it is not small."""
    miss = wanted.residual(run)
    if miss.size > ADMISSIBLE:
        at = float(np.interp(miss.time, run.t, run["path.arc_length"]))
        raise SimulationError(
            f"the path is not admissible for this vehicle: {at:.4g} m along it no motion without "
            f"slip has the rate of '{miss.coordinate}', the nearest one misses it by "
            f"{miss.size:.3g} {miss.unit}",
            f"path for model '{wanted.system.model.name}'",
            "let a point follow that cannot move sideways, point `direction` along its free "
            "motion, or name the steering",
        )
    return miss.size

"""`track`: drive a vehicle along a path.

    path → motion of the coordinates → reference motion → input law → run → errors

The reference motion (``analysis/reference_motion.py``) is admissible and comes with the inputs that
produce it; the input law is these inputs, or a controller that compares with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from noslip.analysis.reference_motion import ADMISSIBLE, ReferenceMotion, reference_motion
from noslip.control.chaplygin import with_control_angles
from noslip.control.controllers.base import AbstractControllerPlan, FeedForward
from noslip.control.follow import check_options, run_along
from noslip.control.follower import Follower
from noslip.control.motions.path import AbstractPathMotion, PathMotion
from noslip.control.motions.trailer import TrailerMotion
from noslip.control.paths.base import AbstractPath
from noslip.control.timing.laws import AbstractTiming, AbstractTimingPlan, ConstantEnergy
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.model.quantities import ZERO, Scalar, Vector3
from noslip.simulation.trajectory import Trajectory


def track(
    system: System,
    path: AbstractPath,
    *,
    timing: AbstractTimingPlan,
    point: Vector3 = ZERO,
    direction: Vector3 = (1.0, 0.0, 0.0),
    reverse: bool = False,
    steering: str = "",
    wheelbase: Scalar = 0.0,
    largest_steering: float = math.pi / 2,
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
    path, timing : where and how fast; :class:`LeastTime` finds the least time within limits.
    point, direction, reverse, steering, wheelbase, largest_steering, hinge, hitch, trailer : what
        follows the path; see :class:`Follower`.
    controller : feedback; none by default (the forces of inverse dynamics alone).
    inputs : force inputs to use without feedback, all by default.
    limits : input name → largest magnitude, under feedback.
    period : s between looks of the controller at the state, inputs held in between; 0: continuous.
    start : coordinates and speeds of the vehicle that differ from the reference's at the start.
    reference : coordinates of the reference that the path leaves open, such as a caster's angle.
    parameters : values that differ from the nominal ones.
    duration : s; as long as the path takes by default.
    samples, rtol, atol, reactions, progress, cancel, on_failure : as in :func:`simulate`.

    Raises
    ------
    SimulationError : if the path is not admissible for this vehicle, or the run fails.
    """
    feedback = FeedForward() if controller is None else controller
    where = f"track of model '{system.model.name}'"
    check_options(system, where, feedback, inputs, dict(limits or {}), period)
    follower = Follower(
        point=point,
        direction=direction,
        reverse=reverse,
        steering=steering,
        wheelbase=wheelbase,
        largest_steering=largest_steering,
        hinge=hinge,
        hitch=hitch,
        trailer=trailer,
    )
    # path → motion of the coordinates
    timed = timing.on(
        system, path, follower, inputs=inputs, reference=reference, parameters=parameters
    )
    motion = motion_along(path, timed, follower)
    lasts = timed.duration(path) if duration is None else duration
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
        samples=samples,
        rtol=rtol,
        atol=atol,
        reactions=reactions,
        progress=progress,
        cancel=cancel,
        on_failure=on_failure,
    )
    # → errors, and the angles of a Chaplygin system
    run = with_control_angles(system, run) if isinstance(timed, ConstantEnergy) else run
    return run.replaced(
        path_errors=motion.errors(system, run), admissibility=_admissibility(wanted, run)
    )


def motion_along(
    path: AbstractPath, timing: AbstractTiming, follower: Follower
) -> AbstractPathMotion:
    """The motion of a vehicle, or of the axle of its trailer, along a path."""
    given = asdict(follower) | {"path": path, "timing": timing}
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

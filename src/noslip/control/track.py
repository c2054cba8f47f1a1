"""`track`: a vehicle along a path, from inverse kinematics to torques to simulation to error.

path → admissible reference → feed-forward inputs (→ feedback) → simulation → error
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noslip.analysis.inverse import FollowMotion
from noslip.analysis.scenario import ADMISSIBLE, ScenarioRun, start_on_motion
from noslip.control.controllers.base import AbstractController, FeedForward
from noslip.control.controllers.pose import PoseTracking
from noslip.control.controllers.tracking import Tracking
from noslip.control.motions.path import PathMotion, planar_base
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.path import length
from noslip.control.timing.laws import AbstractTiming
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.model.expressions import nominal
from noslip.model.quantities import ZERO, Scalar, Vector3
from noslip.simulation.inputs import AbstractInputLaw
from noslip.simulation.simulate import simulate
from noslip.simulation.start import complete_start
from noslip.simulation.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrackResult:
    """A tracked path.

    Parameters
    ----------
    trajectory : what happened.
    along, across, heading : (n,) errors of the following frame against the reference: behind or
        ahead and to the left of it along the path, m, and turned against it, rad.
    admissibility : largest part of the prescribed motion that no admissible motion has.
    path_length : m.
    """

    trajectory: Trajectory
    along: Array = field(repr=False)
    across: Array = field(repr=False)
    heading: Array = field(repr=False)
    admissibility: float
    path_length: float

    @property
    def tracking_error(self) -> float:
        """Largest distance from the reference, m."""
        return float(np.max(np.hypot(self.along, self.across)))

    def as_scenario_run(self) -> ScenarioRun:
        """The run as scenarios have it, with the errors of all coordinates."""
        run = self.trajectory
        errors = {c.name: run[c.name] - run[f"reference.{c.name}"] for c in run.coordinates}
        return ScenarioRun(trajectory=run, errors=errors, admissibility=self.admissibility)

    def to_json(self) -> dict[str, float]:
        """The errors in numbers."""
        return {
            "path_length": self.path_length,
            "path_error": self.tracking_error,
            "path_error_final": math.hypot(self.along[-1], self.across[-1]),
            "heading_error_final": float(self.heading[-1]),
        }

    def summary(self) -> str:
        """The error in one line."""
        last = math.hypot(self.along[-1], self.across[-1])
        return (
            f"{self.trajectory['path.arc_length'][-1]:.6g} m of {self.path_length:.6g} m in "
            f"{self.trajectory.t[-1]:.6g} s: error "
            f"{self.tracking_error:.2e} m at most, {last:.2e} m and "
            f"{abs(self.heading[-1]):.2e} rad at the end"
        )


def track(
    system: System,
    path: AbstractPath,
    *,
    timing: AbstractTiming,
    point: Vector3 = ZERO,
    direction: Vector3 = (1.0, 0.0, 0.0),
    reverse: bool = False,
    steering: str = "",
    wheelbase: Scalar = 0.0,
    largest_steering: float = math.pi / 2,
    controller: AbstractController | None = None,
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
) -> TrackResult:
    """Drive a vehicle along a path.

    Parameters
    ----------
    system : compiled system with a planar base.
    path, timing : where and how fast.
    point, direction, reverse, steering, wheelbase, largest_steering : what follows the path; see
        :class:`PathMotion`.
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
    _check_options(system, controller, inputs, dict(limits or {}), period)
    motion = PathMotion(
        path=path,
        timing=timing,
        point=point,
        direction=direction,
        reverse=reverse,
        steering=steering,
        wheelbase=wheelbase,
        largest_steering=largest_steering,
    )
    values = system.parameters(parameters)
    follow = FollowMotion(
        motion=motion, reference_start=np.zeros(len(system.coordinates)), inputs=inputs
    )
    on_path = start_on_motion(system, follow, dict(reference or {}), values)
    follow = dataclasses.replace(follow, reference_start=on_path.q)
    if isinstance(controller, PoseTracking):
        controller = dataclasses.replace(
            controller,
            point=point if controller.point is None else controller.point,
            direction=direction if controller.direction is None else controller.direction,
        )
    law: AbstractInputLaw = follow
    if controller is not None and not isinstance(controller, FeedForward):
        law = Tracking(
            motion=motion,
            controller=controller,
            reference_start=on_path.q,
            limits=dict(limits or {}),
            period=period,
        )
    begin = on_path
    if start:
        places = {c.name: float(x) for c, x in zip(system.coordinates, on_path.q, strict=True)}
        speeds = zip(system.independent_speeds, on_path.eta, strict=True)
        given = {**places, **{s.name: float(e) for s, e in speeds}, **start}
        begin = complete_start(system, given, parameters=values)
    run = simulate(
        system,
        duration=timing.duration(path) if duration is None else duration,
        start=begin,
        inputs=law,
        parameters=parameters,
        samples=samples,
        rtol=rtol,
        atol=atol,
        reactions=reactions,
        progress=progress,
        cancel=cancel,
        on_failure=on_failure,
    )
    miss = _admissibility(system, follow, run, values)
    along, across, heading = _errors(system, motion, run)
    return TrackResult(
        trajectory=run,
        along=along,
        across=across,
        heading=heading,
        admissibility=miss,
        path_length=length(path),
    )


def _check_options(
    system: System,
    controller: AbstractController | None,
    inputs: tuple[str, ...],
    limits: dict[str, float],
    period: float,
) -> None:
    """Refuse options that would be ignored."""
    where = f"track of model '{system.model.name}'"
    known = [i.name for i in system.model.inputs] + [i.name for i in system.model.speed_inputs]
    for name in limits:
        if name not in known:
            raise SimulationError(
                f"there is no input '{name}' to limit", where, nearest(name, known)
            )
    if not (period >= 0 and math.isfinite(period)):
        raise SimulationError(f"the period is {period} s", where, "give 0 or a positive time")
    is_open = controller is None or isinstance(controller, FeedForward)
    if is_open and (limits or period):
        raise SimulationError(
            "limits and a period belong to a controller, and there is none",
            where,
            "give a controller, or leave them out",
        )
    if not is_open and inputs:
        raise SimulationError(
            "a choice of inputs belongs to feed-forward alone, and there is a controller",
            where,
            "leave `inputs` out, or the controller",
        )


def _admissibility(system: System, follow: FollowMotion, run: Trajectory, values: Array) -> float:
    """The largest inadmissible rate along the run; refused if it is not small."""
    few = slice(None, None, max(1, len(run.t) // 60))
    states = np.column_stack([run[f"path.{n}"] for n in ("parameter", "arc_length", "heading")])
    reference = np.column_stack([run[f"reference.{c.name}"] for c in system.coordinates])
    miss = follow.residual(system, run.t[few], states[few], reference[few], values)
    if miss.size > ADMISSIBLE:
        at = float(np.interp(miss.time, run.t, run["path.arc_length"]))
        raise SimulationError(
            f"the path is not admissible for this vehicle: {at:.4g} m along it no motion without "
            f"slip has the rate of '{miss.coordinate}', the nearest one misses it by "
            f"{miss.size:.3g} {miss.unit}",
            f"path for model '{system.model.name}'",
            "let a point follow that cannot move sideways, point `direction` along its free "
            "motion, or name the steering",
        )
    return miss.size


def _errors(system: System, motion: PathMotion, run: Trajectory) -> tuple[Array, Array, Array]:
    """Along, across and heading errors of the following frame against the reference's."""
    known = run.parameters
    x, y = (nominal(e, known) for e in motion.point[:2])
    offset = math.atan2(*(nominal(e, known) for e in reversed(motion.direction[:2])))
    if motion.reverse:
        offset += math.pi
    at = planar_base(system).coordinates.start
    reference = np.zeros_like(run.q)
    reference[:, at : at + 3] = motion.poses(system, run)

    def frame(q: Array) -> tuple[Array, Array, Array]:
        angle = q[:, at + 2]
        c, s = np.cos(angle), np.sin(angle)
        return q[:, at] + c * x - s * y, q[:, at + 1] + s * x + c * y, angle + offset

    (px, py, theta), (rx, ry, theta_r) = frame(run.q), frame(reference)
    c, s = np.cos(theta_r), np.sin(theta_r)
    dx, dy = px - rx, py - ry
    return c * dx + s * dy, -s * dx + c * dy, theta - theta_r

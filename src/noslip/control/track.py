"""`track`: drive a vehicle along a path.

    path → motion of the coordinates → reference motion → input law → run → errors

The reference motion (``control/reference/reference_motion.py``) is admissible and comes with the
inputs that produce it; the input law is these inputs, or a controller that compares with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from noslip.base import SimulationError
from noslip.control.controllers.base import AbstractControllerPlan, FeedForward
from noslip.control.controllers.following import PathTracking
from noslip.control.driving.balancing import Balance
from noslip.control.driving.riding import find_ride, plan_ride
from noslip.control.follow import (
    MOVED,
    SAMPLES,
    Controlled,
    ControlLoop,
    control_loop,
    run_along,
)
from noslip.control.follower import Follower
from noslip.control.motions.path import AbstractPathMotion
from noslip.control.paths.base import AbstractPath
from noslip.control.plant import Plant, PlantLaw, plant_of
from noslip.control.reference.reference_motion import ADMISSIBLE, ReferenceMotion, reference_motion
from noslip.control.timing.laws import AbstractTimingPlan, timing_law
from noslip.control.vehicle_motion import (
    check_actuators,
    choose_follower,
    has_planar_base,
    motion_along,
    slip_free,
    smooth_enough,
    smoothed,
    turn_at_cusps,
)
from noslip.engines import System, require_system
from noslip.simulation import AlongOptions, PathErrors, Trajectory, simulate, takes

#: Arguments that are part of another one → what to write.
_MOVED = MOVED | {
    name: f"write follower=Follower({name}=…)"
    for name in (
        *("point", "direction", "reverse", "heading", "steering", "wheelbase"),
        *("largest_steering", "steering_rate", "hinge", "hitch", "trailer", "reference"),
    )
}


@takes(AlongOptions, moved=_MOVED, samples=SAMPLES, rtol=None, atol=None)
def track(
    system: System,
    path: AbstractPath | str,
    *,
    timing: AbstractTimingPlan | str | None = None,
    follower: Follower | str | None = None,
    controller: Controlled = None,
    plant: Plant | Mapping[str, float] | None = None,
    **options: Unpack[AlongOptions],
) -> Trajectory:
    """Drive a vehicle along a path.

    Parameters
    ----------
    system : compiled system with a planar base.
    path, timing : where and how fast, or their texts as in ``"circle:radius=2"``;
        :class:`LeastTime` finds the least time within limits. An unhurried :class:`Quintic` by
        default.
    follower : what follows the path: a :class:`Follower` with what is to differ from what is found,
        or the name of the body whose axle follows; found from the constraints by default.
    controller : how it is controlled: feedback, its text as in ``"pose:kx=2"``, or a
        :class:`ControlLoop` with limits and a period; the forces of inverse dynamics alone by
        default.
    plant : what is driven, if it is not the model that the controller knows: a :class:`Plant` with
        other parameters or tires, disturbances, sensors, actuators; or parameters and start values
        by name.
    options : how the run is made. It lasts as long as the path takes if no duration is given; the
        start holds what differs from the reference's; without feedback the tolerances are 1e-13 if
        they are not given.

    Raises
    ------
    SimulationError : if the path is not admissible for this vehicle, or the run fails.
    """
    require_system("track", system)
    where = f"track of model '{system.model.name}'"
    path, timing = _read_texts(path, timing)
    loop, driven_plant = control_loop(controller), plant_of(system, plant)
    if not has_planar_base(system):
        balance = find_ride(system, system.parameters(options.get("parameters")))
        if balance is not None:
            check_ride(loop, follower, where)
            return _ridden(balance, path, timing, loop, driven_plant, options)
    parameters = options.get("parameters")
    if has_planar_base(system) and (driven_plant is None or driven_plant.system is None):
        wheels = slip_free(system, system.parameters(parameters))
        if wheels is not None:
            return _on_tires(system, wheels, path, timing, follower, loop, driven_plant, options)
    check_actuators(system, loop.inputs)
    follows = choose_follower(system, system.parameters(parameters), follower)
    feedback = loop.feedback(follows.arguments())
    loop.check(system, feedback, where)
    # path → motion of the coordinates
    path, notes = smooth_enough(system, path, follows)
    law = timing_law(
        timing,
        system,
        path,
        follows,
        inputs=loop.inputs,
        reference=follows.reference,
        parameters=parameters,
    )
    motion, turns = turn_at_cusps(system, motion_along(path, law, follows), follows, loop.limits)
    law, notes = motion.timing, (*notes, *turns)
    if options.get("duration") is None:
        options["duration"] = law.duration(path)
    if feedback.is_open:
        motion.check_feed_forward(system)
    # → reference motion: admissible, with the inputs that produce it
    wanted = reference_motion(
        system, motion, start=follows.reference, inputs=loop.inputs, parameters=parameters
    )
    # → run under an input law: feed-forward, or feedback along the reference motion
    run = run_along(wanted, motion, loop, feedback, driven_plant, **options)
    # → errors, and what the timing law adds
    driven = system if driven_plant is None else driven_plant.driven(system)
    run = law.with_columns(system, run)
    said = (f"follows the path: {follows.text()}", *notes)
    said += () if timing is not None else (f"timing: {law.text()}",)
    errors = motion.errors(driven, run)
    admissibility = _admissibility(wanted, run)
    begins_on = not options.get("start") and driven_plant is None
    if feedback.is_open and begins_on and np.max(errors.distance) > KEPT:
        said += _growth(wanted, motion, loop, feedback, run, errors, options)
    return run.also_noted(*said, path_errors=errors, admissibility=admissibility)


#: Error without feedback, m, from which on its growth is looked at.
KEPT = 1e-6
#: Highest derivative of the curvature that must not jump for what is balanced.
RIDDEN = 1
#: Speed by which another run starts beside this one, m/s or rad/s.
BESIDE = 1e-9


def _growth(
    wanted: ReferenceMotion,
    motion: AbstractPathMotion,
    loop: ControlLoop,
    feedback: AbstractControllerPlan,
    run: Trajectory,
    errors: PathErrors,
    options: AlongOptions,
) -> tuple[str, ...]:
    """Growth of errors along the path without feedback, from a run with a perturbed start."""
    speeds = zip(wanted.system.independent_speeds, wanted.start.eta, strict=True)
    start = {speed.name: float(value) + BESIDE for speed, value in speeds}
    # what has left its path may fold up, and take small steps from then on
    most = 2 * (run.steps + run.rejections) + 1000
    given: AlongOptions = {**options, "start": start, "on_failure": "return", "max_steps": most}
    beside = run_along(wanted, motion, loop, feedback, None, **given)
    count = min(len(run.t), len(beside.t))
    if count < 2:
        return ()
    other = motion.errors(wanted.system, beside)
    s = run["path.arc_length"][:count]
    apart = np.hypot(
        other.along[:count] - errors.along[:count], other.across[:count] - errors.across[:count]
    )
    # the last two decades of small errors: before them a drift shows, beyond 1 cm they are large
    top = min(float(np.max(apart)), 1e7 * BESIDE)
    if top < 1e4 * BESIDE:
        return ()
    last, first = (int(np.argmax(apart >= size)) for size in (top, 1e-2 * top))
    if s[last] <= s[first]:
        return ()
    tenfold = float((s[last] - s[first]) / np.log10(apart[last] / apart[first]))
    kept = float(s[int(np.argmax(errors.distance > KEPT))])
    return (
        f"without feedback: errors grow tenfold every {tenfold:.2g} m of this path, at any "
        f"tolerance; {KEPT:g} m is kept for {kept:.3g} m. A controller, such as 'path', leads back",
    )


def _read_texts(
    path: AbstractPath | str, timing: AbstractTimingPlan | str | None
) -> tuple[AbstractPath, AbstractTimingPlan | None]:
    # text knows all members, of which some drive along paths themselves
    from noslip.control.text import parse_path, parse_timing

    return (
        parse_path(path) if isinstance(path, str) else path,
        parse_timing(timing) if isinstance(timing, str) else timing,
    )


def check_ride(loop: ControlLoop, follower: Follower | str | None, where: str) -> None:
    """Refuse options that the controller of a balancing vehicle does not support."""
    feedback = loop.feedback()
    if not (feedback.is_open or isinstance(feedback, PathTracking)):
        raise SimulationError(
            f"the vehicle falls unless it is balanced, which controller '{feedback.word}' does "
            "not do",
            where,
            "leave the controller out, or give 'path'",
        )
    if loop.inputs or loop.limits:
        raise SimulationError(
            "a balanced vehicle uses all its motors, without limits",
            where,
            "give limits as actuators of a plant: Actuator(of=…, largest=…)",
        )
    if follower not in (None, Follower()):
        raise SimulationError(
            "of a balanced vehicle the contact points of the wheels follow the path",
            where,
            "leave the follower out",
        )


def _ridden(
    balance: Balance,
    path: AbstractPath,
    timing: AbstractTimingPlan | None,
    loop: ControlLoop,
    plant: Plant | None,
    options: AlongOptions,
) -> Trajectory:
    """A run of what must be balanced, under its balancing controller."""
    system, feedback = balance.system, loop.feedback()
    path, notes = smoothed(path, RIDDEN)
    law = None if timing is None else timing.on(system, path)
    reach = feedback.reach if isinstance(feedback, PathTracking) else None
    ride = plan_ride(system, balance, path, law, reach)
    lasts = ride.motion.timing.duration(path)
    given: dict[str, Any] = {"samples": SAMPLES, **options}
    given["duration"] = lasts if options.get("duration") is None else options["duration"]
    start = {**ride.start, **(options.get("start") or {})}
    if plant is None and not loop.period and options.get("contact", "ideal") == "ideal":
        run = simulate(system, inputs=ride, **given | {"start": start})
    else:
        plant = Plant() if plant is None else plant
        plant.check(system, loop.period)
        driven = plant.driven(system)
        own = {p.name for p in driven.model.parameters}
        known = {n: x for n, x in (options.get("parameters") or {}).items() if n in own}
        closed = PlantLaw(
            model=system, law=ride, known=balance.values, plant=plant, period=loop.period
        )
        given |= {"start": start | dict(plant.start), "parameters": known | dict(plant.parameters)}
        run = closed.with_columns(driven, simulate(driven, inputs=closed, **given))
        system = driven
    said = [*notes, f"follows the path: {ride.text()}"]
    said += [] if timing is not None else [f"timing: {ride.motion.timing.text()}"]
    return run.also_noted(*said, path_errors=ride.errors(system, run))


def _on_tires(
    system: System,
    wheels: System,
    path: AbstractPath,
    timing: AbstractTimingPlan | None,
    follower: Follower | str | None,
    loop: ControlLoop,
    plant: Plant | None,
    options: AlongOptions,
) -> Trajectory:
    """A run on tires: the controller knows the vehicle on wheels that do not slip."""
    given = loop.controller
    word = given.partition(":")[0].strip() if isinstance(given, str) else getattr(given, "word", "")
    if word in ("", FeedForward.word) and not loop.inputs:
        word, loop = PathTracking.word, replace(loop, controller=PathTracking())
    run = track(
        wheels,
        path,
        timing=timing,
        follower=follower,
        controller=loop,
        plant=replace(plant or Plant(), system=system),
        **options,
    )
    said = f"on tires: controller '{word}' is that of the vehicle without slip"
    return run.also_noted(said)


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

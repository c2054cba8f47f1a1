"""Runs under control: `follow` a motion, `track` a path, `run_scenario` of a model.

**`follow`: run a prescribed motion, without feedback or under a controller.**

    motion → reference motion → input law → run

The motion is any: coordinates as functions of time, a point of an arm, a path of a vehicle
(`track`). A set point is a motion that stays.

**`track`: drive a vehicle along a path.**

    path → motion of the coordinates → reference motion → input law → run → errors

The reference motion (``control/reference_motion.py``) is admissible and comes with the
inputs that produce it; the input law is these inputs, or a controller that compares with it.

**`run_scenario`: run a model's own scenario.**

A scenario gives the inputs, or a motion or a path that they must produce:

    scenario (data) → reference motion (`reference_motion.py`) → run → errors
    scenario (data) → path, timing, follower, controller, plant → `track` or `follow`

Paths, timing laws, controllers, sensors and actuators are texts in a model file, the same as on the
command line; :func:`text_faults` checks them with the rest of the model.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, Unpack

import casadi as ca
import numpy as np

from noslip.analysis import scenario_start, split_changes
from noslip.base import Array, SimulationError, as_number, find_member, nearest
from noslip.control.closed_loop import (
    AbstractController,
    AbstractControllerPlan,
    FeedForward,
    SampledController,
    Tracking,
)
from noslip.control.driving import Balance, find_ride, plan_ride
from noslip.control.estimators import ExtendedKalman
from noslip.control.follower import Follower
from noslip.control.followers import (
    check_actuators,
    choose_follower,
    has_planar_base,
    motion_along,
    slip_free,
    smooth_enough,
    smoothed,
    turn_at_cusps,
)
from noslip.control.member_texts import parse_controller, parse_path, parse_timing
from noslip.control.path_geometry import AbstractPath, Composite, assign
from noslip.control.path_motion import AbstractPathMotion
from noslip.control.path_tracking import PathTracking
from noslip.control.reference_motion import (
    ADMISSIBLE,
    AbstractMotion,
    ExpressionMotion,
    MotionTrace,
    ReferenceMotion,
    reference_motion,
)
from noslip.control.timing_laws import AbstractTimingPlan, Quintic, timing_law
from noslip.control.true_plant import (
    Actuator,
    Plant,
    PlantLaw,
    Sensor,
    parse_sensor,
    parse_signal,
    plant_of,
)
from noslip.engines import System, require_system
from noslip.engines import compile as compile_system
from noslip.expressions import Scalar, nominal
from noslip.formulations import derive
from noslip.model import (
    ZERO,
    Finding,
    Model,
    Path,
    Scenario,
    ScenarioFollower,
    ScenarioPlant,
    Vocabulary,
    hint,
    load,
)
from noslip.simulation import (
    AbstractInputLaw,
    AlongOptions,
    PathErrors,
    ScenarioOptions,
    Start,
    TimeFeatures,
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
    """Control of a motion: the feedback, and the limits of its inputs."""

    #: feedback, or its text as in ``"pose:kx=2"``; None for the forces of inverse dynamics alone
    controller: AbstractControllerPlan | str | Callable[..., Any] | None = None
    inputs: tuple[str, ...] = ()  #: force inputs to use without feedback; all by default
    #: input name → largest magnitude, under feedback
    limits: Mapping[str, float] = field(default_factory=dict, hash=False)
    #: s between looks of the controller at the state, inputs held in between; 0: continuous
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
            from noslip.control.member_texts import parse_controller

            return parse_controller(self.controller, known)
        if self.controller is None:
            return FeedForward()
        if isinstance(self.controller, AbstractControllerPlan):
            return self.controller
        return SampledController(law=self.controller)

    def check(self, system: System, feedback: AbstractControllerPlan, where: str) -> None:
        """Refuse options that are not known, or would be ignored; `where` is for messages."""
        known = [i.name for i in system.model.inputs] + [i.name for i in system.model.speed_inputs]
        for name, bound in self.limits.items():
            if name not in known:
                raise SimulationError(
                    f"there is no input '{name}' to limit", where, nearest(name, known)
                )
            if not as_number(bound) > 0:
                raise SimulationError(
                    f"the limit of '{name}' is {bound}",
                    where,
                    "give its largest magnitude, above 0",
                )
        period = self.period
        if not 0 <= as_number(period) < math.inf:
            raise SimulationError(f"the period is {period} s", where, "give 0 or a positive time")
        if feedback.is_sampled and not period:
            raise SimulationError(
                "a controller in Python is asked at samples, and the loop is continuous",
                where,
                "give a period: ControlLoop(controller=…, period=0.02)",
            )
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
Controlled: TypeAlias = ControlLoop | AbstractControllerPlan | str | Callable[..., Any] | None


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
    controller : controller of the motion: feedback, its text as in ``"computed-torque:kp=9"``, or a
        :class:`ControlLoop` with limits and a period; the forces of inverse dynamics alone by
        default.
    plant : plant that is driven, if it is not the model: a :class:`Plant`, or its parameters and
        start values by name.
    reference : coordinates of the reference that the motion leaves open.
    options : options of the simulation. The start holds what differs from the reference's; without
        feedback the default tolerances are 1e-13.

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

    `loop`, `feedback`: controller; one without feedback gives the inputs of the reference. `plant`:
    plant that is driven, if it is not the model.
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
    path, timing : path and timing law, or their texts as in ``"circle:radius=2"``;
        :class:`LeastTime` finds the least time within limits. An unhurried :class:`Quintic` by
        default.
    follower : part of the vehicle that follows the path: a :class:`Follower` with what is to differ
        from what is found, or the name of the body whose axle follows; found from the constraints
        by default.
    controller : controller along the path: feedback, its text as in ``"pose:kx=2"``, or a
        :class:`ControlLoop` with limits and a period; the forces of inverse dynamics alone by
        default.
    plant : plant that is driven, if it is not the model that the controller knows: a :class:`Plant`
        with other parameters or tires, disturbances, sensors, actuators; or parameters and start
        values by name.
    options : options of the simulation. By default it lasts as long as the path takes; the start
        holds what differs from the reference's; without feedback the default tolerances are 1e-13.

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
    from noslip.control.member_texts import parse_path, parse_timing

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


@takes(ScenarioOptions, samples=None, rtol=None, atol=None, contact=None)
def run_scenario(
    system: System,
    *,
    changes: Mapping[str, float | str] | None = None,
    duration: float | None = None,
    **options: Unpack[ScenarioOptions],
) -> Trajectory:
    """Run the scenario of the system's model.

    Parameters
    ----------
    system : compiled system.
    changes : values by name: parameters of the model or of the scenario, start values, and inputs,
        which may be expressions of t as in :func:`simulate`.
    duration : s; the scenario's own by default.
    options : options of the simulation. Stops and outputs are those besides the scenario's own;
        samples are the scenario's own by default; tolerances 1e-9, and 1e-13 along a path without a
        controller; a guess is that of a scenario without a motion; the law of contacts is the
        scenario's own by default.
    """
    require_system("run_scenario", system)
    scenario = system.model.scenario
    if scenario is None:
        scenario = Scenario(duration=1.0 if duration is None else duration)
        if duration is None:
            raise SimulationError(
                "the model has no scenario, so the duration is unknown",
                f"model '{system.model.name}'",
                "give a duration (on the command line --duration 5), or write a [scenario] into "
                "the model",
            )
    split = split_changes(system, changes or {}, scenario)
    task = tuple(
        dataclasses.replace(p, value=split.task.get(p.name, p.value)) for p in scenario.parameters
    )
    values = system.parameters(split.parameters)
    known = system.model.parameter_values(values)
    known |= {p.name: p.value for p in task}
    start = scenario_start(scenario, known) | split.start
    time = scenario.duration if duration is None else duration
    stops = {**scenario.stop, **(options.get("stop") or {})}
    columns = {**scenario.outputs, **(options.get("outputs") or {})}
    ran = dataclasses.replace(
        scenario, duration=time, start={**start}, parameters=task, stop=stops, outputs=columns
    )
    given: dict[str, Any] = {word: x for word, x in options.items() if x is not None}
    guess = given.pop("guess", None)
    given = (
        {"samples": scenario.samples}
        | given
        | {
            "duration": time,
            "parameters": split.parameters,
            "stop": stops or None,
            "outputs": columns or None,
            "definitions": {p.name: repr(p.value) for p in task} | scenario.definitions,
        }
    )
    law = given.pop("contact", scenario.contact)
    if scenario.is_controlled:
        _refuse_inputs(system, split.inputs, split.start)
        run = _controlled(system, ran, known, given | {"contact": law})
        return run.replaced(scenario=ran)
    if not scenario.motion:
        inputs: dict[str, Any] = {**scenario.inputs, **split.inputs}
        run = simulate(system, start=start, guess=guess, inputs=inputs, contact=law, **given)
        ran = dataclasses.replace(ran, inputs={**scenario.inputs, **split.inputs})
        return run.replaced(scenario=ran)

    _refuse_inputs(system, split.inputs, split.start)
    motion = ExpressionMotion(
        coordinates=scenario.motion, definitions=scenario.definitions, parameters=task
    )
    reference = reference_motion(system, motion, start=start, parameters=split.parameters)
    run = simulate(system, start=reference.start, inputs=reference.law, contact=law, **given)
    miss = reference.admissibility(run, f"scenario of model '{system.model.name}', motion")
    kinks = _kinks(system, motion, values, time)
    return run.also_noted(*kinks, scenario=ran, admissibility=miss)


def _refuse_inputs(
    system: System, inputs: Mapping[str, object], start: Mapping[str, float]
) -> None:
    """Refuse changes of what follows from the motion or the path of a scenario."""
    assert system.model.scenario is not None
    follows = "path" if system.model.scenario.path else "motion"
    if inputs:
        raise SimulationError(
            f"input '{next(iter(inputs))}' is changed, but the inputs of this scenario "
            f"follow from its {follows}",
            f"scenario of model '{system.model.name}'",
            "leave the input out, or call noslip.simulate(…, inputs=…) with inputs of your own",
        )
    if system.model.scenario.path:
        return
    speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
    moving = [name for name in start if name in speeds or name.endswith("_rate")]
    if moving:
        raise SimulationError(
            f"start speed '{moving[0]}' is changed, but the speeds of this scenario follow from "
            "its motion",
            f"scenario of model '{system.model.name}'",
            "change the motion, or call noslip.simulate(…) with a start of your own",
        )


def _controlled(
    system: System, scenario: Scenario, known: Mapping[str, float], options: Mapping[str, Any]
) -> Trajectory:
    """A run along a path, or along a motion under a controller or with another plant."""
    loop = ControlLoop(
        controller=scenario.controller or None,
        limits=_values(scenario.limits, known),
        period=scenario.period,
    )
    plant = _plant(system, scenario.plant, known)
    if scenario.path:
        return track(
            system,
            _path(scenario),
            timing=scenario.timing or Quintic(float(scenario.duration)),
            follower=_follower(scenario.follower, known),
            controller=loop,
            plant=plant,
            start=_values(scenario.start, known),
            **options,
        )
    motion = ExpressionMotion(
        coordinates=scenario.motion,
        definitions=scenario.definitions,
        parameters=scenario.parameters,
    )
    start = _values(scenario.start, known)
    return follow(system, motion, controller=loop, plant=plant, reference=start, **options)


def driven_system(system: System) -> System:
    """The system that the scenario of a model drives: that of its plant, if it has one.

    Parameters
    ----------
    system : system of the model, that the controller knows.
    """
    scenario = system.model.scenario
    plant = None if scenario is None else _plant(system, scenario.plant, {})
    return system if plant is None else plant.driven(system)


def _path(scenario: Scenario) -> AbstractPath:
    parts = tuple(parse_path(text) for text in scenario.path)
    return parts[0] if len(parts) == 1 else Composite(paths=parts)


def _follower(given: ScenarioFollower | None, known: Mapping[str, float]) -> Follower | None:
    if given is None:
        return None
    values: dict[str, Any] = {f.name: getattr(given, f.name) for f in dataclasses.fields(given)}
    # a name that is left out is found, an empty one says that there is none
    values |= {word: values[word] or None for word in ("steering", "hinge")}
    values["reference"] = _values(given.reference, known)
    for word in ("largest_steering", "steering_rate"):
        if values[word] is not None:
            values[word] = nominal(values[word], known)
    return Follower(**values)


def _plant(system: System, given: ScenarioPlant | None, known: Mapping[str, float]) -> Plant | None:
    """Plant of a scenario; values are those of the parameters that the controller knows."""
    if given is None:
        return None

    def compiled() -> System:
        return compile_system(derive(load(given.model), system.equations.formulation))

    other = system.cached(("plant model", given.model), compiled) if given.model else None
    values = {**system.model.parameter_values(), **known}
    estimator = None
    if given.estimator:
        estimator = ExtendedKalman(
            start_sigma=_values(given.start_sigma, values),
            input_sigma=_values(given.input_sigma, values),
            drift=_values(given.drift, values),
        )
    return Plant(
        system=other,
        parameters=_values(given.parameters, values),
        start=_values(given.start, values),
        forces=given.forces,
        gravity=given.gravity,
        disturbances=given.disturbances,
        sensors=tuple(parse_sensor(text) for text in given.sensors),
        estimator=estimator,
        actuators=tuple(parse_signal(Actuator, text) for text in given.actuators),
        seed=given.seed,
    )


def _values(given: Mapping[str, Scalar], known: Mapping[str, float]) -> dict[str, float]:
    return {name: nominal(value, known) for name, value in given.items()}


#: What `track` tells a controller of the vehicle, for reading a controller without one.
_TOLD: dict[str, Any] = {
    **{"point": ZERO, "direction": (1.0, 0.0, 0.0), "steering": "", "wheelbase": 1.0},
    **{"hinge": "", "hitch": 0.0, "trailer": 1.0},
}


def text_faults(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Findings about the texts of a scenario: paths, timing, controller, sensors and actuators."""
    scenario = model.scenario
    assert scenario is not None
    for k, text in enumerate(scenario.path):
        member = find_member(AbstractPath, text.partition(":")[0].strip())
        if member is None or not member.reads_files:  # files are read when it is run
            yield from _read(("scenario", "path", k), parse_path, text)
    if scenario.timing:
        yield from _read(("scenario", "timing"), parse_timing, scenario.timing)
    if scenario.controller:
        yield from _read(
            ("scenario", "controller"), lambda x: parse_controller(x, _TOLD), scenario.controller
        )
    plant = scenario.plant or ScenarioPlant()
    named = [s.name for s in model.independent_speeds if s.expression]
    seen = [*known.coordinates, *known.speeds, *named]
    for word, names, read in (
        ("sensors", seen, parse_sensor),
        ("actuators", list(known.inputs), lambda text: parse_signal(Actuator, text)),
    ):
        for k, text in enumerate(getattr(plant, word)):
            path: Path = ("scenario", "plant", word, k)
            faults = list(_read(path, read, text))
            yield from faults
            signal = None if faults else read(text)
            if isinstance(signal, Sensor | Actuator) and signal.of not in names:
                yield Finding(
                    path,
                    f"the scenario has {word[:-1]} '{text}', but there is no '{signal.of}' for "
                    f"{word}",
                    hint(signal.of, names),
                )


def _read(path: Path, read: Callable[[str], Any], text: str) -> Iterator[Finding]:
    try:
        read(text)
    except SimulationError as error:
        for fault in error.faults:
            yield Finding(path, f"the scenario has '{text:.60}': {fault.what}", fault.fix)


def _kinks(
    system: System, motion: ExpressionMotion, values: Array, duration: float
) -> tuple[str, ...]:
    """A note on a motion whose rate jumps, which no finite force produces."""

    def make() -> tuple[MotionTrace, TimeFeatures, ca.Function]:
        trace, t = motion.trace(system), system.kinematics.symbols.t
        params = ca.vertcat(system.kinematics.symbols.params, trace.parameters)
        features = TimeFeatures(trace.outputs, t, params, trace.states, has_pulses=False)
        rate = ca.Function("rate", [t, params], [trace.rate_of(trace.outputs, t)])
        return trace, features, rate

    key = motion.key
    trace, features, rate = make() if key is None else system.cached(("kinks", key), make)
    known = np.concatenate([values, motion.parameter_values])
    times = features.find(known, 0.0, duration).breaks
    if not times.size:
        return ()
    aside = 1e-9 * duration
    spread = np.linspace(0.0, duration, 33)
    before, after, usual = (
        np.array([np.array(rate(at, known)).ravel() for at in some])
        for some in (times - aside, times + aside, spread)
    )
    jumps = np.abs(after - before)
    is_kink = np.max(jumps, axis=1) > 1e-6 * np.max(np.abs(usual), initial=1e-300)
    if not is_kink.any():
        return ()
    first = int(np.argmax(is_kink))
    name = system.coordinates[trace.at[int(np.argmax(jumps[first]))]].name
    return (
        f"the prescribed motion has kinks, the first at t = {times[first]:.6g} s, where the rate "
        f"of '{name}' jumps: that takes an impulse, which no finite input gives, and the run "
        "leaves the motion there",
    )

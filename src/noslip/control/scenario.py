"""`run_scenario`: run a model's own scenario.

A scenario gives the inputs, or a motion or a path that they must produce:

    scenario (data) → reference motion (`reference_motion.py`) → run → errors
    scenario (data) → path, timing, follower, controller, plant → `track` or `follow`

Paths, timing laws, controllers, sensors and actuators are texts in a model file, the same as on the
command line; :func:`text_faults` checks them with the rest of the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Unpack

import casadi as ca
import numpy as np

from noslip.analysis import scenario_start, split_changes
from noslip.base import Array, SimulationError, find_member
from noslip.control.estimators import ExtendedKalman
from noslip.control.follow import ControlLoop, follow
from noslip.control.follower import Follower
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.composite import Composite
from noslip.control.plant import Actuator, Plant, Sensor, parse_sensor, parse_signal
from noslip.control.reference.motion import ExpressionMotion, MotionTrace
from noslip.control.reference.reference_motion import reference_motion
from noslip.control.text import parse_controller, parse_path, parse_timing
from noslip.control.timing.laws import Quintic
from noslip.control.track import track
from noslip.engines import System, require_system
from noslip.engines import compile as compile_system
from noslip.expressions import Scalar, nominal
from noslip.formulations import derive
from noslip.library import load
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
)
from noslip.simulation import (
    ScenarioOptions,
    TimeFeatures,
    Trajectory,
    simulate,
    takes,
)


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
    options : how the run is made. Stops and outputs are those besides the scenario's own; samples
        are the scenario's own by default; tolerances 1e-9, and 1e-13 along a path without a
        controller; a guess is that of a scenario without a motion;
        the law of contacts is the scenario's own by default.
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
    system : of the model, that the controller knows.
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
    """Findings about the texts of a scenario: paths, timing, controller, sensors and actuators.

    Parameters
    ----------
    model : with a scenario.
    known : its names.
    """
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
        features = TimeFeatures(trace.outputs, t, params, trace.states)
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

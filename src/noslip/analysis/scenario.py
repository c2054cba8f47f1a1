"""`run_scenario`: run a model's own scenario.

A scenario gives the inputs, or a motion that they must produce:

    scenario (data) → reference motion (`reference_motion.py`) → run → errors
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip.analysis.motion import ExpressionMotion, MotionTrace
from noslip.analysis.reference_motion import reference_motion
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.model.expressions import nominal
from noslip.model.scenario import Scenario
from noslip.numeric import is_truth
from noslip.simulation.input_laws import InputSpec
from noslip.simulation.simulate import simulate
from noslip.simulation.starts.completion import start_names
from noslip.simulation.time_features import TimeFeatures
from noslip.simulation.trajectory import Trajectory


def run_scenario(
    system: System,
    *,
    changes: Mapping[str, float | str] | None = None,
    guess: Mapping[str, float] | None = None,
    duration: float | None = None,
    stop: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | None = None,
    events: Mapping[str, str] | None = None,
    samples: int | Sequence[float] | Array | None = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    reactions: bool = False,
    progress: Callable[[float], None] | None = None,
    cancel: Any = None,
    on_failure: str = "raise",
) -> Trajectory:
    """Run the scenario of the system's model.

    Parameters
    ----------
    system : compiled system.
    changes : values by name: parameters of the model or of the scenario, start values, and inputs,
        which may be expressions of t as in :func:`simulate`.
    guess : as in :func:`simulate`; of a scenario without a motion.
    duration : s; the scenario's own by default.
    stop : name → expression, besides the scenario's own; the run ends where one crosses zero.
    outputs : name → expression, besides the scenario's own; a further column each.
    samples : number or times of the samples; the scenario's own by default.
    events, method, rtol, atol, step, max_step, max_steps, reactions, progress, cancel, on_failure :
        as in :func:`simulate`.
    """
    scenario = system.model.scenario
    if scenario is None:
        scenario = Scenario(duration=1.0 if duration is None else duration)
        if duration is None:
            raise SimulationError(
                "the model has no scenario, so it is not known how long to run",
                f"model '{system.model.name}'",
                "give a duration, or write a [scenario] into the model",
            )
    split = split_changes(system, changes or {}, scenario)
    task = tuple(
        dataclasses.replace(p, value=split.task.get(p.name, p.value)) for p in scenario.parameters
    )
    values = system.parameters(split.parameters)
    known = {p.name: float(x) for p, x in zip(system.model.parameters, values, strict=True)}
    known |= {p.name: p.value for p in task}
    start = scenario_start(scenario, known) | split.start
    time = scenario.duration if duration is None else duration
    stops = {**scenario.stop, **(stop or {})}
    columns = {**scenario.outputs, **(outputs or {})}
    ran = dataclasses.replace(
        scenario, duration=time, start={**start}, parameters=task, stop=stops, outputs=columns
    )
    options = dict(
        duration=time,
        parameters=split.parameters,
        samples=scenario.samples if samples is None else samples,
        events=events,
        method=method,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        stop=stops or None,
        outputs=columns or None,
        definitions={p.name: repr(p.value) for p in task} | scenario.definitions,
        rtol=rtol,
        atol=atol,
        reactions=reactions,
        progress=progress,
        cancel=cancel,
        on_failure=on_failure,
    )
    if not scenario.motion:
        inputs: dict[str, InputSpec] = {**scenario.inputs, **split.inputs}
        run = simulate(system, start=start, guess=guess, inputs=inputs, **options)
        ran = dataclasses.replace(ran, inputs={**scenario.inputs, **split.inputs})
        return run.replaced(scenario=ran)

    if split.inputs:
        raise SimulationError(
            f"input '{next(iter(split.inputs))}' is changed, but the inputs of this scenario "
            "follow from its motion",
            f"scenario of model '{system.model.name}'",
            "leave the input out, or call noslip.simulate(…, inputs=…) with inputs of your own",
        )
    speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
    moving = [name for name in split.start if name in speeds or name.endswith("_rate")]
    if moving:
        raise SimulationError(
            f"start speed '{moving[0]}' is changed, but the speeds of this scenario follow from "
            "its motion",
            f"scenario of model '{system.model.name}'",
            "change the motion, or call noslip.simulate(…) with a start of your own",
        )
    motion = ExpressionMotion(
        coordinates=scenario.motion, definitions=scenario.definitions, parameters=task
    )
    reference = reference_motion(system, motion, start=start, parameters=split.parameters)
    run = simulate(system, start=reference.start, inputs=reference.law, **options)
    miss = reference.admissibility(run, f"scenario of model '{system.model.name}', motion")
    notes = run.notes + _kinks(system, motion, values, time)
    return run.replaced(scenario=ran, admissibility=miss, notes=notes)


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


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a run by what they change: see :func:`split_changes`."""

    parameters: dict[str, float]
    task: dict[str, float]
    start: dict[str, float]
    inputs: dict[str, Any]  # numbers, or expressions where they are taken

    def parameters_and_start(self) -> tuple[dict[str, float], dict[str, float]]:
        """Parameters and start values of a run along a path, which leaves no input to change."""
        if self.inputs:
            raise SimulationError(
                f"input '{next(iter(self.inputs))}' is changed, "
                "but the inputs follow from the path",
                "changes of the run",
                "leave it out",
            )
        return self.parameters, self.start


def settable_names(system: System, scenario: Scenario | None) -> dict[str, list[str]]:
    """Names that a run of a scenario can change: parameters, task, start values and inputs."""
    return {
        "parameters": [p.name for p in system.model.parameters],
        "task": [p.name for p in scenario.parameters] if scenario is not None else [],
        "start": start_names(system),
        "inputs": [q.name for q in system.inputs],
    }


def split_changes(
    system: System, changes: Mapping[str, float | str], scenario: Scenario | None = None
) -> Changes:
    """Split changes into parameters, numbers of the task, start values and inputs.

    A name that is none of them is refused, with the nearest one.
    """
    groups = settable_names(system, scenario)
    result: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for name, value in changes.items():
        group = next((g for g, names in groups.items() if name in names), None)
        if group is None:
            raise SimulationError(
                f"there is no parameter, start value or input '{name}'",
                f"model '{system.model.name}'",
                nearest(
                    name,
                    [n for names in groups.values() for n in names],
                    more="`noslip check` lists them",
                ),
            )
        if isinstance(value, str) and group != "inputs":
            raise SimulationError(
                f"'{name}' is given as the expression '{value}'",
                f"model '{system.model.name}'",
                "give a number; inputs alone may be expressions of t",
            )
        if is_truth(value):
            raise SimulationError(
                f"'{name}' is {value!r}, which is not a number",
                f"model '{system.model.name}'",
                "give a number in SI units",
            )
        result[group][name] = value if isinstance(value, str) else float(value)
    return Changes(**result)


def scenario_start(
    scenario: Scenario, parameters: Mapping[str, float], *, motion: bool = False
) -> dict[str, float]:
    """Evaluate the start values of a scenario at t = 0; NaN where one has no finite value.

    Parameters
    ----------
    scenario : of a checked model.
    parameters : values by name: parameters of the model, and those of the scenario that differ from
        its own.
    motion : include the coordinates that the scenario's motion prescribes.
    """
    values = {"t": 0.0, **{p.name: p.value for p in scenario.parameters}, **parameters}
    for name, text in scenario.definitions.items():
        values[name] = nominal(text, values)
    given = {**scenario.motion, **scenario.start} if motion else scenario.start
    return {name: nominal(scalar, values) for name, scalar in given.items()}

"""`simulate`: from a system, a start and inputs to a trajectory.

The whole run is native. It returns to Python only at its end, or where the independent speeds no
longer determine the motion: then another choice of them is compiled (once), the state is carried
over through the tree speeds v, and the run goes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from noslip.engines.llvm import NativeFunction, compile_native
from noslip.engines.system import Array, System
from noslip.errors import Fault, SimulationError
from noslip.kinematics.basis import independent_columns, independent_rows
from noslip.simulation.guards import broken_guard
from noslip.simulation.inputs import (
    AbstractInputLaw,
    InputPlan,
    InputSpec,
    plan_inputs,
    read_expression,
)
from noslip.simulation.plan import InputTable, IntegrationPlan
from noslip.simulation.runner import NativeResult, run_native
from noslip.simulation.samples import Segment, assemble, inputs_at
from noslip.simulation.single import loop
from noslip.simulation.start import Start, complete_start
from noslip.simulation.tolerances import check_settings
from noslip.simulation.trajectory import Ending, Trajectory

_METHODS = {"dop853": loop.DOP853, "rk4": loop.RK4}

#: Holonomic rows and quaternions are held to this, m or 1.
PROJECTION_TOLERANCE = 1e-14


def simulate(
    system: System,
    *,
    duration: float,
    start: Mapping[str, float] | Start | None = None,
    inputs: Mapping[str, InputSpec] | AbstractInputLaw | None = None,
    parameters: Mapping[str, float] | None = None,
    samples: int | Sequence[float] | Array = 201,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    stop: Mapping[str, str] | None = None,
    events: Mapping[str, str] | None = None,
    definitions: Mapping[str, str] | None = None,
    reactions: bool = False,
    start_time: float = 0.0,
    progress: Callable[[float], None] | None = None,
    cancel: Any = None,
    on_failure: str = "raise",
) -> Trajectory:
    """Motion of a system over time.

    Parameters
    ----------
    system : compiled system.
    duration : s.
    start : coordinates, speeds, named angles and their rates at the start; the rest is completed
        consistently. Or a completed start.
    inputs : by name: a number, an expression of t, coordinates and speeds, a :class:`Table`, a
        CasADi function of (t, q, v, parameters), or a Python callable of (t, q, v); or a law that
        gives all of them. Inputs that are not given are zero.
    parameters : values that differ from the nominal ones.
    samples : number of equally spaced times, or the times themselves.
    method : ``"dop853"`` (adaptive, order 8) or ``"rk4"`` (fixed `step`).
    rtol, atol : tolerances of the adaptive method.
    step : of rk4, s; for dop853 the first step, 0 to choose it.
    max_step, max_steps : bounds on step size and number of steps.
    stop : name → expression; the run ends where one crosses zero.
    events : name → expression; the times at which it crosses zero are noted, with the states.
    definitions : name → expression of t, parameters and earlier definitions, for `inputs`, `stop`
        and `events`.
    reactions : also compute the multipliers at the samples.
    start_time : s.
    progress : called with the fraction done, now and then.
    cancel : a ``threading.Event``; setting it ends the run.
    on_failure : ``"raise"``, or ``"return"`` to get what was computed until then.

    Raises
    ------
    SimulationError : for inconsistent arguments, and for a run that fails unless `on_failure` is
        ``"return"``.
    """
    if not isinstance(system, System):
        raise TypeError(
            f"simulate takes a System, got {type(system).__name__}: compile the equations first"
        )
    check_settings(
        system.model.name,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
        samples=samples,
    )
    _check_arguments(system, duration, method, step, on_failure)
    times = _sample_times(samples, start_time, duration, system)
    values = system.parameters(parameters)
    check_redundant_rows(system, values, parameters)
    plan = plan_inputs(system, inputs, values, definitions)
    begin = start if isinstance(start, Start) else _begin(system, plan, start, start_time, values)
    if begin.time != start_time:
        raise SimulationError(
            f"the start is that of t = {begin.time:g} s, but the run starts at {start_time:g} s",
            f"simulation of model '{system.model.name}'",
            f"pass start_time={begin.time:g}, or complete the start at the other time",
        )
    state = _state(system, begin.q, begin.eta, begin.mu, plan)
    end_time = start_time + duration

    segments: list[Segment] = []
    counts = np.zeros(3, dtype=int)
    t, h, done = start_time, step, 0
    here, here_plan, is_best = system, plan, False
    while True:
        looked_for = _events(here, stop, events, definitions)
        native = IntegrationPlan(
            rates=here.rates.address,
            parameters=values,
            start_time=t,
            end_time=end_time,
            start_state=state,
            num_generator_states=_num_generator_states(here_plan),
            sample_times=times[done:],
            base_inputs=here_plan.base,
            tables=tuple(
                InputTable(index=k, starts=starts, coefficients=c)
                for k, starts, c in here_plan.tables
            ),
            generator=here_plan.address,
            generator_parameters=here_plan.parameters,
            update=here_plan.update.address if here_plan.update else 0,
            update_times=_update_times(here_plan, start_time, t, end_time),
            num_inputs=len(here.inputs),
            knots=here_plan.knots[(here_plan.knots > t) & (here_plan.knots < end_time)],
            project=here.projection.address if here.has_projection else 0,
            projection_tolerance=PROJECTION_TOLERANCE,
            events=looked_for.address if looked_for else 0,
            event_parameters=values,
            event_directions=np.zeros(len(stop or {}) + len(events or {})),
            num_endings=len(stop or {}),
            health_floors=np.array([h.limit if is_best else h.floor for h in here.health]),
            method=_METHODS[method],
            relative_tolerance=rtol,
            absolute_tolerance=_absolute(here, here_plan, atol),
            step=h,
            max_step=max_step,
            max_steps=max_steps - int(counts[0]),
            direct_steps=_direct_steps(here_plan, len(state)),
        )
        result = run_native(native, progress=progress, cancel=cancel)
        counts += np.array([result.steps, result.rejections, result.evaluations])
        following = other_basis(here, result, values) if result.code == loop.SINGULAR else None
        goes_on = following is not None and not (following is here and is_best)
        # a sample where these speeds fail is taken again in the next ones
        good = result.times < result.time if goes_on else np.full(len(result.times), True)
        segments.append(
            Segment(
                system=here,
                plan=here_plan,
                t=result.times[good],
                states=result.states[good],
                inputs=result.inputs[good],
                crossings=result.crossings,
            )
        )
        done += int(np.sum(good))
        t, h = result.time, result.step
        if following is None or not goes_on:
            break
        # the same motion in other speeds: carried over through v
        u = inputs_at(here_plan, t, result.state)
        v = here.motion(t, result.state[: here.num_states], u, values)[: len(here.speeds)]
        if t == start_time:
            v = begin.v  # speeds that fail at the start itself do not tell it
        nq, nf = len(here.coordinates), len(here.independent_speeds)
        rest = result.state[nq + nf :]
        # where no other speeds are better, the run goes on in these as long as they can be trusted
        here, is_best = following, following is here
        here_plan = plan_inputs(here, inputs, values, definitions)
        eta = v[[[s.name for s in here.speeds].index(n.name) for n in here.independent_speeds]]
        state = np.concatenate([result.state[:nq], eta, rest])
    _raise_callback_failure(segments, system)
    trajectory = assemble(
        system,
        segments,
        values,
        result,
        here,
        begin,
        stop,
        events,
        counts,
        reactions,
        rtol,
        atol,
        method,
    )
    if trajectory.ending in (Ending.FINISHED, Ending.EVENT, Ending.CANCELLED):
        return trajectory
    told = broken_guard(here, here_plan.generator, t, result.state, here_plan.parameters)
    if on_failure == "raise":
        told = told or Fault(
            trajectory.message,
            f"model '{system.model.name}', t = {result.time:.9g} s",
            "pass on_failure='return' to look at the motion until then",
        )
        raise SimulationError(told.what, told.where, told.fix)
    if told is not None:
        message = f"{trajectory.message} {told.what[0].upper()}{told.what[1:]}."
        trajectory = dataclasses.replace(trajectory, message=message)
    return trajectory


def _begin(
    system: System,
    plan: InputPlan,
    start: Mapping[str, float] | None,
    time: float,
    values: Array,
) -> Start:
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)

    def speed_inputs(q: Array) -> Array:
        eta, mu = np.zeros(len(system.independent_speeds)), np.zeros(len(system.costates))
        return inputs_at(plan, time, _state(system, q, eta, mu, plan))[num_u : num_u + num_w]

    return complete_start(
        system,
        dict(start or {}),
        time=time,
        speed_inputs=speed_inputs if num_w else None,
        parameters=values,
    )


def _state(system: System, q: Array, eta: Array, mu: Array, plan: InputPlan) -> Array:
    """[q; η; μ; W; z] at the start, no work done yet."""
    work = np.zeros(1 if system.does_work else 0)
    generator = plan.generator.start if plan.generator else np.zeros(0)
    return np.concatenate([q, eta, mu, work, generator])


def _update_times(plan: InputPlan, start_time: float, t: float, end_time: float) -> Array:
    """Times at which a sampled law looks again, from t on."""
    if plan.generator is None or plan.update is None:
        return np.zeros(0)
    period = plan.generator.period
    count = int(np.floor((end_time - start_time) / period * (1 + 1e-12))) + 1
    times: Array = start_time + period * np.arange(count, dtype=float)
    return times[times >= t - 1e-9 * period]


def _direct_steps(plan: InputPlan, num_states: int) -> int:
    """Steps to take on the calling thread: those of some ms, none where Python is called back."""
    return 0 if plan.callback is not None else 400_000 // num_states**2


def _num_generator_states(plan: InputPlan) -> int:
    return len(plan.generator.start) if plan.generator else 0


def _absolute(system: System, plan: InputPlan, atol: float) -> Array:
    """Absolute tolerance by state; the work is integrated along but does not choose the steps."""
    absolute = np.full(system.num_states + _num_generator_states(plan), atol)
    if system.does_work:
        absolute[system.num_states - 1] = 1e300
    return absolute


def _events(
    system: System,
    stop: Mapping[str, str] | None,
    events: Mapping[str, str] | None,
    definitions: Mapping[str, str] | None,
) -> NativeFunction | None:
    """Values whose signs are watched, those that end the run first."""
    stop, events = stop or {}, events or {}
    for word, given in (("stop", stop), ("events", events)):
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{word} is {given!r}: pass names and expressions, {{'flat': 'disk.z'}}"
            )
    both = sorted(set(stop) & set(events))
    if both:
        raise SimulationError(
            f"'{both[0]}' both stops the run and is an event of it",
            f"simulation of model '{system.model.name}'",
            "give the two different names",
        )
    if not stop and not events:
        return None
    parts = [
        read_expression(system, text, f"{kind} '{name}'", definitions)
        for kind, texts in (("stop", stop), ("event", events))
        for name, text in texts.items()
    ]
    return compile_native([system.program("events", ca.vertcat(*parts))])["events"]


def other_basis(system: System, result: NativeResult, values: Array) -> System | None:
    """The system in the best speeds where the run stopped, or None if there are none."""
    health = system.health[result.index]
    if health.kind != "basis":
        return None
    kin = system.kinematics
    q = result.state[: len(system.coordinates)]
    probe = dataclasses.replace(kin.probe, params=values)
    chosen = independent_columns(probe, kin.kept, [(result.time, q)])
    names = tuple(kin.speeds[k].name for k in chosen)
    if names == tuple(s.name for s in kin.independent_speeds):
        return system
    A = probe.matrix(q, result.time)[0][list(kin.kept)]
    dependent = [k for k in range(kin.num_speeds) if k not in chosen]
    A = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
    if np.linalg.svd(A[:, dependent], compute_uv=False)[-1] < 1e-8:
        return None
    return system.in_speeds(names)


def check_redundant_rows(
    system: System, values: Array, changed: Mapping[str, float] | None
) -> None:
    """A row that was redundant at the nominal parameters must still be so at these."""
    kin = system.kinematics
    if not changed or not kin.redundant:
        return
    probe = dataclasses.replace(kin.probe, params=values)
    samples = probe.configurations(4)
    kept, _ = independent_rows(probe, kin.rows, samples)
    for redundant in kin.redundant:
        if redundant.row in kept:
            name = kin.rows[redundant.row].name
            others = ", ".join(f"'{n}'" for n in redundant.follows_from)
            raise SimulationError(
                f"row '{name}' followed from {others} with the nominal parameters, but does not "
                "with these: the mechanism has lost a degree of freedom",
                f"parameters of model '{system.model.name}'",
                "restore the geometry (for example wheels on one axle), or write these values into "
                "the model and derive it again",
            )


def _raise_callback_failure(segments: list[Segment], system: System) -> None:
    for segment in segments:
        if segment.plan.failure:
            error = segment.plan.failure[0]
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise error
            raise SimulationError(
                f"a Python input raised {type(error).__name__}: {error}",
                f"inputs of model '{system.model.name}'",
                "mend the callable; it is called as f(t, q, v) and returns a number",
            ) from error


def _sample_times(
    samples: int | Sequence[float] | Array, start_time: float, duration: float, system: System
) -> Array:
    if isinstance(samples, int | np.integer):
        if samples < 2:
            raise SimulationError(
                f"{samples} samples are asked for",
                f"simulation of model '{system.model.name}'",
                "ask for at least 2, or give the times themselves",
            )
        return np.linspace(start_time, start_time + duration, int(samples))
    times = np.asarray(samples, dtype=float)
    inside = (times >= start_time) & (times <= start_time + duration)
    if times.ndim != 1 or not times.size or not np.all(inside) or np.any(np.diff(times) < 0):
        raise SimulationError(
            "the sample times must increase and lie within the run",
            f"simulation of model '{system.model.name}'",
            f"give times between {start_time:g} and {start_time + duration:g} s",
        )
    return times


def _check_arguments(
    system: System,
    duration: float,
    method: str,
    step: float,
    on_failure: str,
) -> None:
    where = f"simulation of model '{system.model.name}'"
    is_number = isinstance(duration, int | float | np.number)
    if not (is_number and np.isfinite(duration) and duration > 0):
        raise SimulationError(f"the duration is {duration} s", where, "give a positive time in s")
    if method not in _METHODS:
        raise SimulationError(
            f"there is no method '{method}'", where, "use method='dop853' or method='rk4'"
        )
    if method == "rk4" and not step > 0:
        raise SimulationError("rk4 has no step", where, "give step=…, in s")
    if on_failure not in ("raise", "return"):
        raise SimulationError(f"on_failure is '{on_failure}'", where, "use 'raise' or 'return'")

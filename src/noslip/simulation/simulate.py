"""`simulate`: from a system, a start and inputs to a trajectory.

The whole run is native. It returns to Python only at its end, or where the independent speeds no
longer determine the motion: then another choice of them is compiled (once), the state is carried
over through the tree speeds v, and the run goes on.

What is prepared once and stays with the system: its functions, the code of expressions, names and
places of samples, and the `Mold` of a run, which is all that runs of the same code share. What is
done in every call: arguments are checked, numbers are put into a cast of the mold, the loop runs,
and its samples are evaluated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import Fault, SimulationError
from noslip.simulation.basis import check_redundant_rows
from noslip.simulation.begin import begin, state_at
from noslip.simulation.checks import check_named
from noslip.simulation.events import Watched, compile_events
from noslip.simulation.guards import broken_guard
from noslip.simulation.input_expressions import check_definitions
from noslip.simulation.input_kinds import AbstractInputLaw, InputSpec
from noslip.simulation.inputs import InputPlan, inputs_at, plan_inputs
from noslip.simulation.molds import mold_of
from noslip.simulation.plan import EMPTY, Numbers
from noslip.simulation.request import RunRequest, read_run
from noslip.simulation.runner import NativeResult, run_memory
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.segments import Leg, Place, carried, drive, tree_speeds
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import Ending, Trajectory
from noslip.simulation.undefined import undefined_input

_AS_ASKED = (Ending.FINISHED, Ending.EVENT, Ending.CANCELLED)
#: Endings for which an input without a finite value may be the cause.
_MAYBE_UNDEFINED = (Ending.NON_FINITE, Ending.STEP_TOO_SMALL)

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
    inputs : by name: a number, an expression of t, coordinates, speeds and named angles, which lie
        between −π and π, a :class:`Table`, a CasADi function of (t, q, v, parameters), or a Python
        callable of (t, q, v); or a law that gives all of them. Inputs that are not given are zero.
    parameters : values that differ from the nominal ones.
    samples : number of equally spaced times, or the times themselves.
    method : ``"dop853"`` (adaptive, order 8) or ``"rk4"`` (fixed `step`).
    rtol, atol : tolerances of the adaptive method.
    step : of rk4, s; for dop853 the first step, 0 to choose it.
    max_step, max_steps : bounds on step size and number of steps.
    stop : name → expression; the run ends where one crosses zero. Named angles go on after a turn,
        as the columns do.
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
    request = read_run(
        "simulate",
        system,
        duration=duration,
        samples=samples,
        method=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
        on_failure=on_failure,
    )
    check_named(
        progress,
        cancel,
        start=None if isinstance(start, Start) else start,
        inputs=None if isinstance(inputs, AbstractInputLaw) else inputs,
        parameters=parameters,
        definitions=definitions,
        stop=stop,
        events=events,
    )
    if definitions:
        check_definitions(system, definitions)
    values = system.parameters(parameters)
    check_redundant_rows(system, values, parameters)
    plan = plan_inputs(system, inputs, values, definitions)
    started = begin(system, plan, start, start_time, values)
    state = state_at(system, started.q, started.eta, started.mu, plan)
    motion = _Motion(
        system=system,
        start=started,
        request=request,
        values=values,
        inputs=inputs,
        definitions=definitions,
        stop=stop,
        events=events,
        progress=progress,
        cancel=cancel,
        plan=plan,
    )
    segments: list[Segment] = []
    steps = rejections = evaluations = 0
    for driven in drive(
        Place(system),
        Leg(start_time, state, step),
        request.end_time,
        motion.run,
        motion.carry,
        values,
    ):
        result, here = driven.result, driven.place.system
        steps += result.steps
        rejections += result.rejections
        evaluations += result.evaluations
        segments.append(_segment(here, motion.plan, result, driven.goes_on))
        motion.done += len(segments[-1].t)
    _raise_callback_failure(segments, system)
    trajectory = assemble(
        system,
        segments,
        values,
        result,
        here,
        started,
        stop,
        events,
        (steps, rejections, evaluations),
        reactions,
        rtol,
        atol,
        method,
    )
    if motion.watched.notes:
        notes = trajectory.notes + motion.watched.notes
        trajectory = dataclasses.replace(trajectory, notes=notes)
    if trajectory.ending in _AS_ASKED:
        return trajectory
    last, t = motion.plan, result.time
    told = broken_guard(here, last.generator, t, result.state, last.parameters)
    if told is None and trajectory.ending in _MAYBE_UNDEFINED:
        told = undefined_input(here, last, t, result.state, result.step, values)
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


@dataclass(slots=True, kw_only=True, eq=False)
class _Motion:
    """A run as segments need it: what is asked for, and what is known on the way.

    Parameters
    ----------
    plan : inputs in the speeds of the present segment.
    done : samples that were taken in the segments before.
    """

    system: System
    start: Start
    request: RunRequest
    values: Array
    inputs: Mapping[str, InputSpec] | AbstractInputLaw | None
    definitions: Mapping[str, str] | None
    stop: Mapping[str, str] | None
    events: Mapping[str, str] | None
    progress: Callable[[float], object] | None
    cancel: Any
    plan: InputPlan
    done: int = 0
    watched: Watched = field(init=False)
    angles: Array = field(default_factory=lambda: EMPTY)

    def run(self, place: Place, leg: Leg) -> NativeResult:
        """Run a segment."""
        here, plan, values, request = place.system, self.plan, self.values, self.request
        self.watched = watched = compile_events(here, self.stop, self.events, self.definitions)
        if len(self.angles) != watched.num_angles:
            self.angles = np.zeros(watched.num_angles)
        numbers = Numbers(
            start_time=leg.time,
            end_time=request.end_time,
            start_state=leg.state,
            sample_times=request.times[self.done :],
            parameters=values,
            generator_parameters=plan.parameters,
            event_parameters=np.concatenate([self.angles, values]) if len(self.angles) else values,
            base_inputs=plan.base,
            absolute_tolerance=request.absolute(here, here.num_states + plan.num_states),
            relative_tolerance=request.rtol,
            projection_tolerance=PROJECTION_TOLERANCE,
            step=leg.step,
            max_step=request.max_step,
            max_steps=request.max_steps - leg.steps,
        )
        numbers.check()
        mold = mold_of(here, plan, watched, request.method, place.is_best, numbers, self.start.time)
        memory = mold.cast(numbers)
        result = run_memory(memory, leg.time, request.end_time, self.progress, self.cancel)
        if len(self.angles):
            self.angles = memory.event_parameters[: len(self.angles)]
        return result

    def carry(self, here: Place, there: Place, result: NativeResult) -> Array:
        """The state in the speeds of the next segment, and its inputs in them."""
        # speeds that fail at the start itself do not tell it
        v = self.start.v
        if result.time != self.start.time:
            u = inputs_at(self.plan, result.time, result.state)
            v = tree_speeds(here.system, result.time, result.state, u, self.values)
        self.plan = plan_inputs(there.system, self.inputs, self.values, self.definitions)
        return carried(here.system, there.system, result.state, v)


def _segment(system: System, plan: InputPlan, result: NativeResult, goes_on: bool) -> Segment:
    """The samples of a stretch; where its speeds fail, one is taken again in the next ones."""
    t, states, inputs = result.times, result.states, result.inputs
    if goes_on:
        good = t < result.time
        t, states, inputs = t[good], states[good], inputs[good]
    return Segment(system, plan, t, states, inputs, result.crossings)


def _raise_callback_failure(segments: list[Segment], system: System) -> None:
    for segment in segments:
        if segment.plan.failure:
            error = segment.plan.failure[0]
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise error
            raise SimulationError(
                f"a Python input raised {type(error).__name__}: {error}",
                f"inputs of model '{system.model.name}'",
                "correct the callable; it is called as f(t, q, v) and returns a number",
            ) from error

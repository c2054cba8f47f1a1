"""`simulate`: from a system, a start and inputs to a trajectory.

The whole run is native. It returns to Python only at its end, or where the independent speeds no
longer determine the motion: then another choice of them is compiled (once), the state is carried
over through the tree speeds v, and the run goes on.

Prepared once and cached with the system: its functions, the code of expressions, names and columns
of samples, and the `MemoryTemplate` of a run, which is all that runs of the same code share. Done
in every call: arguments are checked, numbers are put into an instance of the template, the loop
runs, and its samples are evaluated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import Fault, SimulationError
from noslip.simulation import rules
from noslip.simulation.events import EventCode, compile_events, fault_notes
from noslip.simulation.failures import broken_guard, undefined_input
from noslip.simulation.input_laws import AbstractInputLaw, InputSpec
from noslip.simulation.input_plan import InputPlan, inputs_at, plan_inputs
from noslip.simulation.memory import template_of
from noslip.simulation.plan import EMPTY, Numbers
from noslip.simulation.request import RunRequest, read_run
from noslip.simulation.runner import NativeResult, run_memory
from noslip.simulation.samples import Segment, assemble, output_function
from noslip.simulation.segments import (
    Ends,
    Indices,
    SegmentBasis,
    carried,
    drive,
    end_of_one,
    tree_speeds,
)
from noslip.simulation.start import begin, state_at
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import AT_REST, Ending, Trajectory

_AS_ASKED = (Ending.FINISHED, Ending.EVENT, Ending.CANCELLED)
#: Endings for which an input without a finite value may be the cause.
_MAYBE_UNDEFINED = (Ending.NON_FINITE, Ending.STEP_TOO_SMALL)

#: Share of a motion up to which an absolute tolerance leaves it right without a note.
SHARE = 1e-5

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
    outputs: Mapping[str, str] | None = None,
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
    max_step, max_steps : bounds on step size and number of steps. What an expression of t does is
        found, what a Python callable or a switch of the state does within a step is not: give half
        of the shortest time it lasts.
    stop : name → expression; the run ends where one crosses zero. Named angles go on after a turn,
        as the columns do.
    events : name → expression; the times at which it crosses zero are noted, with the states.
    outputs : name → expression, a further column each: of the motion, inputs and accelerations, as
        ``"rate(speed)"`` or ``"acceleration(fork, 0.1, 0, 0).z"``.
    definitions : name → expression of t, parameters and earlier definitions, for `inputs`, `stop`,
        `events` and `outputs`.
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
    given = locals()
    request = read_run("simulate", given)
    if request.outputs:  # what cannot be read is refused before the run
        output_function(request, system)
    motion = _SingleRun(request)
    drive(motion, SegmentBasis(system))
    result, here = motion.result, motion.segments[-1].system
    _raise_callback_failure(motion.segments, system)
    trajectory = assemble(
        request,
        motion.segments,
        result,
        motion.start,
        motion.counts,
        reactions=reactions,
        again=lambda times: simulate(**given | _AGAIN | {"samples": times}),
    )
    notes = (*motion.watched.notes, *motion.fault_notes(), *_small_motion(request, trajectory))
    if notes:
        trajectory = dataclasses.replace(trajectory, notes=trajectory.notes + notes)
    if trajectory.ending in _AS_ASKED:
        return trajectory
    last, t = motion.plan, result.time
    fault = broken_guard(here, last.generator, t, result.state, last.parameters)
    if fault is None and trajectory.ending in _MAYBE_UNDEFINED:
        fault = undefined_input(here, last, t, result.state, result.step, request.values)
    if on_failure == "raise":
        fault = fault or Fault(
            trajectory.message,
            f"model '{system.model.name}', t = {result.time:.9g} s",
            "pass on_failure='return' to look at the motion until then",
        )
        raise SimulationError(fault.what, fault.where, fault.fix)
    if fault is not None:
        message = f"{trajectory.message} {fault.what[0].upper()}{fault.what[1:]}."
        trajectory = dataclasses.replace(trajectory, message=message)
    return trajectory


#: Arguments of a run that is repeated for its coordinates at other times.
_AGAIN: dict[str, Any] = {
    "outputs": None,
    "events": None,
    "reactions": False,
    "progress": None,
    "cancel": None,
    "on_failure": "return",
}


class _SingleRun:
    """A single run, for the driver of segments.

    Attributes
    ----------
    start : completed.
    plan : inputs in the speeds of the present segment.
    watched : events in them.
    segments : samples of the segments that were run.
    result : of the last one.
    counts : steps, rejections and evaluations of all.
    """

    def __init__(self, request: RunRequest) -> None:
        self._request, system = request, request.system
        self.plan = self._inputs(system)
        self.start = begin(system, self.plan, request.start, request.start_time, request.values)
        self._time, self._step = request.start_time, request.step
        self._state = state_at(system, self.start.q, self.start.eta, self.start.mu, self.plan)
        self._done, self._angles = 0, EMPTY
        self.watched: EventCode
        self.result: NativeResult
        self.segments: list[Segment] = []
        self.counts = [0, 0, 0]
        self._faults: list[tuple[Array, Array]] = []

    def fault_notes(self) -> tuple[str, ...]:
        """Notes on events whose crossings are not known."""
        if not self._faults:
            return ()
        found = [(counts, times) for counts, times in self._faults if counts.any()]
        if not found:
            return ()
        times = np.array([np.where(counts > 0, at, np.inf) for counts, at in found])
        total = np.sum([counts for counts, _ in found], axis=0)
        return fault_notes(self.watched.names, total, times.min(axis=0))

    def _inputs(self, system: System) -> InputPlan:
        """Inputs in the speeds of a system."""
        request = self._request
        return plan_inputs(
            system,
            request.inputs,
            request.values,
            request.definitions,
            (request.start_time, request.end_time),
            is_adaptive=request.method == "dop853",
        )

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run a segment."""
        request, values, here, plan = self._request, self._request.values, basis.system, self.plan
        self.watched = watched = compile_events(
            here, request.stop, request.events, request.definitions
        )
        if len(self._angles) != watched.num_angles:
            self._angles = np.zeros(watched.num_angles)
        angles = self._angles
        numbers = Numbers(
            start_time=self._time,
            end_time=request.end_time,
            start_state=self._state,
            sample_times=request.times[self._done :],
            parameters=values,
            generator_parameters=plan.parameters,
            event_parameters=np.concatenate([angles, values]) if len(angles) else values,
            base_inputs=plan.base,
            absolute_tolerance=request.absolute(here.num_states + plan.num_states),
            relative_tolerance=request.rtol,
            projection_tolerance=PROJECTION_TOLERANCE,
            step=self._step,
            max_step=request.max_step,
            max_steps=request.max_steps - self.counts[0],
        )
        numbers.check()
        template = template_of(
            here, plan, watched, request.method, basis.is_best, numbers, request.start_time
        )
        memory = template.instantiate(numbers)
        result = run_memory(memory, self._time, request.end_time, request.progress, request.cancel)
        if len(angles):
            self._angles = memory.event_parameters[: len(angles)]
        if watched.function is not None:
            self._faults.append(memory.faults)
        self.result = result
        for k, count in enumerate((result.steps, result.rejections, result.evaluations)):
            self.counts[k] += count
        samples = result.times, result.states, result.inputs
        self.segments.append(Segment(here, plan, *samples, result.crossings))
        self._done += len(result.times)
        return end_of_one(result, values) if result.code == rules.SINGULAR else None

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Begin the next segment where this one ended, in other speeds if need be."""
        request, result, last = self._request, self.result, self.segments[-1]
        # a sample where speeds fail is taken again in the next ones
        good = last.t < result.time
        self._done -= len(last.t) - int(good.sum())
        self.segments[-1] = last._replace(
            t=last.t[good], states=last.states[good], inputs=last.inputs[good]
        )
        self._time, self._state, self._step = result.time, result.state, result.step
        if there.system is here.system:
            return
        # speeds that fail at the start itself do not give it
        v = self.start.v
        if result.time != self.start.time:
            u = inputs_at(self.plan, result.time, result.state)
            v = tree_speeds(here.system, result.time, result.state, u, request.values)
        self.plan = self._inputs(there.system)
        self._state = carried(here.system, there.system, result.state, v)


def _small_motion(request: RunRequest, run: Trajectory) -> tuple[str, ...]:
    """A note on a motion so small that the absolute tolerance is a large share of it."""
    atol = request.atol
    if request.method != "dop853" or not len(run.t):
        return ()
    enough = max(atol, 10.0 * request.rtol * SHARE) / SHARE
    # most motions are large at their end
    if max(map(abs, run.v[-1].tolist()), default=0.0) >= enough:
        return ()
    largest = max(
        float(np.max(np.abs(run.v), initial=0.0)), float(np.max(np.ptp(run.q, axis=0), initial=0.0))
    )
    rounding = AT_REST * max(1.0, float(np.max(np.abs(run.q), initial=0.0)))
    if not rounding < largest < atol / SHARE or atol <= 10.0 * request.rtol * largest:
        return ()
    # a motion below the tolerance may be its errors: where it starts is known
    given = (float(np.max(np.abs(x), initial=0.0)) for x in (run.q[0], run.v[0]))
    smallest = min([largest, *(size for size in given if size > 0.0)])
    better = 10.0 ** math.floor(math.log10(request.rtol * smallest))
    return (
        f"the motion is below {largest:.1e} m, rad, m/s and rad/s, and the tolerance atol = "
        f"{atol:g} is {atol / largest:.1e} of that: give atol={better:.0e}",
    )


def _raise_callback_failure(segments: list[Segment], system: System) -> None:
    for segment in segments:
        if segment.plan.failure:
            error = segment.plan.failure[0]
            if isinstance(error, KeyboardInterrupt | SystemExit | SimulationError):
                raise error
            raise SimulationError(
                f"a Python input raised {type(error).__name__}: {error}",
                f"inputs of model '{system.model.name}'",
                "correct the callable; it is called as f(t, q, v) and returns a number",
            ) from error

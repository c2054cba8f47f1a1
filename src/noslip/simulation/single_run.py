"""One run: `simulate`, and `SteppedMotion`, which goes on piece by piece.

**`simulate`: from a system, a start and inputs to a trajectory.**

The whole run is native. It returns to Python only at its end, or where the independent speeds no
longer determine the motion: then another choice of them is compiled (once), the state is carried
over through the tree speeds v, and the run goes on.

Prepared once and cached with the system: its functions, the code of expressions, names and columns
of samples, and the `MemoryTemplate` of a run, which is all that runs of the same code share. Done
in every call: arguments are checked, numbers are put into an instance of the template, the loop
runs, and its samples are evaluated.

**`SteppedMotion`: a motion that goes on piece by piece under a law that may be exchanged.**

For what a person or another program drives in real time: nothing but the present state is needed to
go on, and what was driven can be looked at as a trajectory at any time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Unpack

import numpy as np

from noslip.base import Array, Fault, SimulationError
from noslip.engines import System
from noslip.kinematics import SingularityMeasure
from noslip.simulation.events import (
    EventCode,
    check_chatter,
    check_pressed,
    compile_events,
    fault_notes,
    limit_notes,
    own_events,
    switch_texts,
    without_border,
)
from noslip.simulation.inputs import AbstractInputLaw, InputPlan, inputs_at, plan_inputs
from noslip.simulation.loop import rules
from noslip.simulation.native_run import EMPTY, NativeLoop, NativeResult
from noslip.simulation.notes import (
    FEWEST_STEPS,
    Seen,
    brake_inputs,
    brake_notes,
    brakes_watched,
    called_releases,
    held_contacts,
    lift_notes,
    second_contact_notes,
    usual_force,
    watched_events,
)
from noslip.simulation.request import RunOptions, SimulateOptions, read_run, takes
from noslip.simulation.samples import (
    FIT_TOLERANCE,
    ONE,
    Ends,
    Indices,
    Passage,
    PassageRefused,
    Segment,
    SegmentBasis,
    SingularPlace,
    assemble,
    broken_guard,
    carried,
    current_inputs,
    drive,
    end_of_one,
    next_bases,
    output_function,
    passage,
    sampled_outputs,
    segment_loop,
    tree_speeds,
    undefined_input,
)
from noslip.simulation.starts.bases import begin, on_its_branch, run_start, state_at
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import AT_REST, Ending, LazyValue, Trajectory

_AS_ASKED = (Ending.FINISHED, Ending.EVENT, Ending.CANCELLED)
#: Endings for which an input without a finite value may be the cause.
_MAYBE_UNDEFINED = (Ending.NON_FINITE, Ending.STEP_TOO_SMALL)

#: Share of a motion up to which an absolute tolerance leaves it right without a note.
SHARE = 1e-5

#: Laws of contacts: what holds whatever it needs, and what slides and lifts by Coulomb's law.
IDEAL, COULOMB = "ideal", "coulomb"


@takes(SimulateOptions)
def simulate(system: System, *, duration: float, **options: Unpack[SimulateOptions]) -> Trajectory:
    """Motion of a system over time.

    Parameters
    ----------
    system : compiled system.
    duration : s.
    options : options of the simulation.

    Raises
    ------
    SimulationError : for inconsistent arguments, and for a run that fails unless `on_failure` is
        ``"return"``.
    """
    given: dict[str, Any] = {"system": system, "duration": duration, **options}
    request = read_run("simulate", system, given)
    if (options.get("contact") or IDEAL) != IDEAL:
        return _with_coulomb(request, given)
    if request.outputs:  # what cannot be read is refused before the run
        output_function(request, system)
    begin = partial(_SingleRun, request)
    motion, branch_notes = on_its_branch(request.system, request.values, begin)
    request = motion.request
    reactions = bool(options.get("reactions"))
    drive(motion, [(SegmentBasis(motion.system), ONE)])
    motion.keep_last_state()
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
    notes = (
        *branch_notes,
        *motion.start.notes,
        *limit_notes(request.system, motion.start.q, request.values),
        *motion.watched.notes,
        *motion.fault_notes(),
        *_passages(motion, request, reactions=reactions),
        *_small_motion(request, trajectory),
    )
    if notes:
        trajectory = trajectory.replaced(notes=trajectory.notes + notes)
    if own_events(system).is_curved:
        trajectory = trajectory.replaced(notes=_with_second_contacts(request, trajectory))
    if request.system.model.contacts or brake_inputs(request.system):
        # a frozen class takes as long for its fields as a short run for its steps
        vars(trajectory)["notes"] = _with_lifts(request, motion, trajectory, given)
    if trajectory.ending in _AS_ASKED:
        return trajectory
    if trajectory.ending is Ending.SINGULAR and motion.why_not:
        message = f"{trajectory.message} It was not passed: {motion.why_not}."
        trajectory = trajectory.replaced(message=message)
    last, t = motion.plan, result.time
    fault = broken_guard(here, last.generator, t, result.state, last.parameters)
    if fault is None and trajectory.ending in _MAYBE_UNDEFINED:
        fault = undefined_input(here, last, t, result.state, result.step, request.values)
    if request.on_failure == "raise":
        fault = fault or Fault(
            trajectory.message,
            f"model '{system.model.name}', t = {result.time:.9g} s",
            "pass on_failure='return' to get the motion up to then",
        )
        raise SimulationError(fault.what, fault.where, fault.fix)
    if fault is not None:
        message = f"{trajectory.message} {fault.what[0].upper()}{fault.what[1:]}."
        trajectory = trajectory.replaced(message=message)
    return trajectory


def _with_coulomb(request: RunOptions, given: dict[str, Any]) -> Trajectory:
    """The run with contacts that slide, lift off and land."""
    from noslip.simulation.contacts.run import run_coulomb

    where = f"simulation of model '{request.system.model.name}'"
    if given["contact"] != COULOMB:
        raise SimulationError(
            f"there is no contact law '{given['contact']}'",
            where,
            'use contact="ideal" or contact="coulomb"',
        )
    run = run_coulomb(
        request,
        reactions=bool(given.get("reactions")),
        again=lambda times: simulate(**given | _AGAIN | {"samples": times}),
    )
    if run.ending in (*_AS_ASKED, None) or request.on_failure == "return":
        return run
    raise SimulationError(
        run.message,
        f"model '{request.system.model.name}', t = {run.t[-1]:.9g} s",
        "pass on_failure='return' to get the motion up to then",
    )


def _with_second_contacts(request: RunOptions, run: Trajectory) -> LazyValue[tuple[str, ...]]:
    """The notes of a run and those on second contacts, which are searched for when first read."""
    system, values, t, q, known = request.system, request.values, run.t, run.q, run.notes
    return LazyValue(lambda: known + second_contact_notes(system, t, q, values))


def _with_lifts(
    request: RunOptions, motion: _SingleRun, run: Trajectory, given: dict[str, Any]
) -> LazyValue[tuple[str, ...]]:
    """The notes of a run and those on contacts and brakes, searched for when first read."""
    known, segments, t, inputs = vars(run)["notes"], motion.segments, run.t, run.inputs
    system = request.system

    def seen() -> Seen:
        loads = list(held_contacts(system).values())
        events = watched_events(system, usual_force(system), brakes_watched(system, request.inputs))
        values = sampled_outputs(request, segments, loads) if loads else np.zeros((len(t), 0))
        # a Python function need not give the same once more
        if not events or any(segment.plan.calls_back for segment in segments):
            end = float(t[-1]) if len(t) else request.start_time
            plans = [segment.plan for segment in segments]
            return Seen(t, values, inputs, called_releases(plans, end))
        duration = max(float(t[-1]) - request.start_time, MOMENT) if len(t) else MOMENT
        asked: dict[str, Any] = {"samples": 2, "events": events}
        asked |= {"outputs": {name: name for name in loads}}
        asked["duration"] = duration = min(duration, given["duration"])
        asked["max_step"] = min(request.max_step, duration / FEWEST_STEPS)
        again = simulate(**given | _AGAIN | asked)
        times = np.concatenate([t, again.t])
        order = np.argsort(times, kind="stable")
        ends = np.array([again[name] for name in loads]).reshape(len(loads), len(again.t)).T
        values = np.vstack([values, ends])[order]
        inputs_seen = np.vstack([inputs, again.inputs])[order]
        return Seen(times[order], values, inputs_seen, again.event_times)

    def find() -> tuple[str, ...]:
        notes: tuple[str, ...] = known() if callable(known) else known
        found = seen()
        return (*notes, *lift_notes(system, found), *brake_notes(system, found))

    return LazyValue(find)


#: Shortest run that is repeated, s.
MOMENT = 1e-9

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
    system : system in whose speeds the run begins.
    plan : inputs in the speeds of the present segment.
    watched : events in them.
    segments : samples of the segments that were run.
    result : result of the last one.
    counts : steps, rejections and evaluations of all.
    passed : singular configurations that the run went through.
    why_not : reason why it did not go through the last one.
    """

    def __init__(self, request: RunOptions, system: System) -> None:
        self.request = request = request._replace(system=system)
        self.plan = self._inputs(system)
        self.start = begin(
            system, self.plan, request.start, request.start_time, request.values, request.guess
        )
        self._time, self._step = request.start_time, request.step
        self.system, eta = run_start(system, self.start, request.values)
        if self.system is not system:
            self.plan = self._inputs(self.system)
        self._state = state_at(self.system, self.start.q, eta, self.start.mu, self.plan)
        self._done, self._angles, self._angles_before = 0, EMPTY, EMPTY
        self.watched: EventCode
        self.result: NativeResult
        self.segments: list[Segment] = []
        self.counts = [0, 0, 0]
        self.passed: list[Passage] = []
        self._begun: list[tuple[float, Array, System, InputPlan]] = []  # segments since then
        self.why_not = ""
        self._faults: list[tuple[Array, Array]] = []
        self._switches: dict[str, str] = {}
        if request.method == "dop853":
            switches = switch_texts(system, request.inputs, request.definitions)
            self._switches = own_events(system).borders | switches
        self._switched: list[float] = []  # s
        self._borders: dict[str, float] = {}  # when borders of cells were crossed, s

    def fault_notes(self) -> tuple[str, ...]:
        """Notes on events whose crossings are not known."""
        if not self._faults:
            return ()
        found = [(counts, times) for counts, times in self._faults if counts.any()]
        if not found:
            return ()
        times = np.array([np.where(counts > 0, at, np.inf) for counts, at in found])
        total = np.sum([counts for counts, _ in found], axis=0)
        names = [name for name in self.watched.names if "'switch " not in name]
        return fault_notes(names, total, times.min(axis=0))

    def _inputs(self, system: System) -> InputPlan:
        """Inputs in the speeds of a system."""
        request = self.request
        return plan_inputs(
            system,
            request.inputs,
            request.values,
            request.definitions,
            (request.start_time, request.end_time),
            is_adaptive=request.method == "dop853",
        )

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run a segment, and on through singular configurations that can be passed."""
        while True:
            ends = self._segment(basis)
            if ends is None or next_bases(basis, ends)[0] is not None:
                return ends
            if not self._pass(basis.system):
                return ends
            if self.result.code != rules.SINGULAR:
                return None

    def _pass(self, system: System) -> bool:
        """Go on beyond a singular configuration, if that can be done; else note why not."""
        request, result = self.request, self.result
        if system.singularity_measures[result.index].kind != "basis" or system.costates:
            return False
        values = request.values

        def integrate(t: float, state: Array, times: Array) -> tuple[Array, Array]:
            found = self._fitted(system, t, state, times)
            return found.times, found.states

        marks = [mark for mark in self._marks() if mark[0] < result.time]

        def state_of(k: int) -> Array:
            t, state, there, theirs = marks[k]
            if there is system:
                return state
            v = tree_speeds(there, t, state, current_inputs(theirs, t, state), values)
            return carried(there, system, state, v)

        try:
            found = passage(
                SingularPlace(system, values, self.inputs_at),
                integrate,
                (np.array([mark[0] for mark in marks]), state_of),
                (result.time, result.state),
                request.rtol,
            )
            crossings = self._crossings_within(found)
        except PassageRefused as reason:
            self.why_not = str(reason)
            return False
        self._resume(system, found, crossings)
        return True

    def _marks(self) -> list[tuple[float, Array, System, InputPlan]]:
        """Times and states since the last passage, in the order of time, with their systems."""
        found = list(self._begun)
        for segment in self.segments:
            rows = zip(segment.t, segment.states, strict=True)
            found += [(float(t), x, segment.system, segment.plan) for t, x in rows]
        since = self._begun[0][0]
        return sorted((m for m in found if m[0] >= since), key=lambda mark: mark[0])

    def inputs_at(self, t: float, state: Array) -> Array:
        """[u; w; ẇ] at a time and a state."""
        return current_inputs(self.plan, t, state)

    def _crossings_within(self, found: Passage) -> list[tuple[float, int]]:
        """Times of stops and events within a passage, s, with their places; ends with a stop."""
        watched = self.watched
        if watched.function is None:
            return []
        numbers = np.concatenate([self._angles, self.request.values])
        num = watched.num_endings + watched.num_events
        of_run, num_switches = len(self.request.stop), watched.num_endings
        num_switches -= of_run
        values = [
            watched.function(t, y, self.inputs_at(t, y), numbers)[:num]
            for t, y in zip(*found.beside, strict=True)
        ]
        crossings: list[tuple[float, int]] = []
        for time, k, sense in found.crossings(np.array(values), self.result.time):
            if time > self.request.end_time or (watched.falling[k] and sense > 0.0):
                continue
            if of_run <= k < watched.num_endings:
                raise PassageRefused("what acts on it switches there")
            crossings.append((time, k if k < of_run else k - num_switches))
            if k < of_run:
                break
        return crossings

    def _resume(self, system: System, found: Passage, crossings: list[tuple[float, int]]) -> None:
        """Take over a passage: its samples, and the state from which the run goes on or ends."""
        request, last = self.request, self.segments[-1]
        good = last.t < found.before
        self._done -= len(last.t) - int(good.sum())
        states = last.states[good]
        for k in np.flatnonzero(last.t[good] > found.reliable):
            states[k] = found.state_at(float(last.t[k]))
        self.segments[-1] = last._replace(t=last.t[good], states=states, inputs=last.inputs[good])
        self._time, self._state, self._step = found.after, found.state, 0.0
        self.passed.append(found)
        self._begun.clear()
        is_stopped = bool(crossings) and crossings[-1][1] < len(request.stop)
        end = crossings[-1][0] if is_stopped else min(found.after, request.end_time)
        times = request.times[self._done :]
        times = times[times <= end]
        self._done += len(times)
        if is_stopped:
            times = np.append(times[times < end], end)
        sampled = found.samples(times)
        u = [current_inputs(self.plan, *at) for at in zip(times, sampled.states, strict=True)]
        inputs = np.array(u).reshape(len(times), last.inputs.shape[1])
        there = found.samples(np.array([time for time, _ in crossings]))
        nq, nv = len(system.coordinates), len(system.speeds)
        rows = np.hstack(
            [
                np.array([(k, time) for time, k in crossings], float).reshape(-1, 2),
                there.states[:, :nq],
                there.outputs[:, :nv],
            ]
        )
        self.segments.append(
            Segment(system, self.plan, times, sampled.states, inputs, rows, sampled)
        )
        if is_stopped:
            ended = {"code": rules.EVENT, "index": crossings[-1][1], "state": sampled.states[-1]}
            self.result = dataclasses.replace(self.result, time=end, **ended)
        elif found.after >= request.end_time:
            at_end = found.samples(np.array([end])).states[0]
            ended = {"code": rules.FINISHED, "index": -1, "state": at_end}
            self.result = dataclasses.replace(self.result, time=end, **ended)

    def _fitted(self, system: System, t: float, state: Array, times: Array) -> NativeResult:
        """The motion from a state to some times, beside a singular configuration."""
        request, plan, end = self.request, self.plan, float(times[-1])
        sizes = request.absolute(system.num_states + plan.num_states, FIT_TOLERANCE)
        watched = compile_events(system, {}, {}, {})
        loop = segment_loop(system, plan, watched, "dop853", DEEPEST, (t, t, end))
        found = loop.begin(
            start_time=t,
            end_time=end,
            start_state=state,
            sample_times=times,
            parameters=system.hoisted_rates.parameters(request.values),
            generator_parameters=plan.parameters,
            event_parameters=request.values,
            base_inputs=plan.base,
            absolute_tolerance=sizes,
            relative_tolerance=FIT_TOLERANCE,
            max_steps=request.max_steps,
        ).go()
        self.counts[2] += found.evaluations
        return found

    def _segment(self, basis: SegmentBasis) -> Ends | None:
        """Run a segment, from one switch of the inputs to the next.

        A step that holds a switch saw both sides of it. So the part is run again to the switch,
        where its last step ends, and the next one begins there.
        """
        request, num_stops = self.request, len(self.request.stop)
        self._run_part(basis, request.end_time, self._switches)
        while self.result.code == rules.EVENT and self.result.index >= num_stops:
            which_switch, end = self.result.index - num_stops, self.result.time
            self._take_back()
            if end > self._time:
                self._run_part(basis, end, {})
                if self.result.code != rules.FINISHED:
                    break
            result = self.result
            self._time, self._state, self._step = result.time, result.state, result.step
            self._switched.append(result.time)
            duration = request.end_time - request.start_time
            check_chatter(basis.system, self._switches, which_switch, self._switched, duration)
            self._switches = without_border(
                self._switches, which_switch, result.time, self._borders
            )
            self._run_part(basis, request.end_time, self._switches)
        is_singular = self.result.code == rules.SINGULAR
        return end_of_one(self.result, request.values) if is_singular else None

    def _take_back(self) -> None:
        """Forget the last part that was run; what it cost stays counted."""
        self._done -= len(self.segments.pop().t)
        self._faults.pop()
        self._angles = self._angles_before

    def _run_part(self, basis: SegmentBasis, end: float, switches: Mapping[str, str]) -> None:
        """Run to a time, s, to a switch or to where the speeds fail."""
        request, values, here, plan = self.request, self.request.values, basis.system, self.plan
        self._begun.append((self._time, self._state, here, plan))
        endings = {**request.stop, **switches} if switches else request.stop
        times = request.times[self._done :]
        if end < request.end_time:
            times = times[: int(np.searchsorted(times, end, side="right"))]
        self.watched = watched = compile_events(here, endings, request.events, request.definitions)
        if len(self._angles) != watched.num_angles:
            self._angles = np.zeros(watched.num_angles)
        angles = self._angles_before = self._angles
        known = np.concatenate([angles, values]) if len(angles) else values
        span = (request.start_time, self._time, end)
        run = segment_loop(here, plan, watched, request.method, basis.depth, span).begin(
            start_time=self._time,
            end_time=end,
            start_state=self._state,
            sample_times=times,
            parameters=here.hoisted_rates.parameters(values),
            generator_parameters=plan.parameters,
            event_parameters=known,
            base_inputs=plan.base,
            absolute_tolerance=request.absolute(here.num_states + plan.num_states),
            relative_tolerance=request.rtol,
            step=self._step,
            max_step=request.max_step,
            max_steps=request.max_steps - self.counts[0],
        )
        if self._time == request.start_time and not self.segments:
            u = self.inputs_at(self._time, self._state)
            check_pressed(here, watched, self._time, self._state, u, known)
        result = run.go(request.progress, request.cancel, (request.start_time, request.end_time))
        if len(angles):
            self._angles = run.event_parameters[: len(angles)]
        if watched.function is not None:
            counts, faults_at = run.faults
            keep = [*range(len(request.stop)), *range(len(endings), len(counts))]
            self._faults.append((counts[keep], faults_at[keep]) if switches else run.faults)
        self.result = result
        for k, count in enumerate((result.steps, result.rejections, result.evaluations)):
            self.counts[k] += count
        samples = result.times, result.states, result.inputs
        crossings = result.crossings
        if switches and len(crossings):
            crossings[:, 0] -= len(switches)  # events follow stops
        self.segments.append(Segment(here, plan, *samples, crossings))
        self._done += len(result.times)

    def keep_last_state(self) -> None:
        """Make the last state that was reached the last sample, if the run ended early."""
        result, last = self.result, self.segments[-1]
        times = [segment.t[-1] for segment in self.segments if len(segment.t)]
        is_early = result.code not in (rules.FINISHED, rules.EVENT)
        if not is_early or (times and times[-1] >= result.time):
            return
        u = current_inputs(last.plan, result.time, result.state)
        self.segments[-1] = last._replace(
            t=np.append(last.t, result.time),
            states=np.vstack([last.states, result.state]),
            inputs=np.vstack([last.inputs, u]),
        )

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Begin the next segment where this one ended, in other speeds if need be."""
        request, result, last = self.request, self.result, self.segments[-1]
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


#: Depth of segments that go on as long as they can.
DEEPEST = 64
#: Growth of reactions, where σ falls to a quarter, above which they are without bound.
UNBOUNDED = 2.0


def _passages(motion: _SingleRun, request: RunOptions, *, reactions: bool) -> tuple[str, ...]:
    """A note on the singular configurations that a run went through."""
    if not motion.passed:
        return ()
    first = motion.passed[0]
    more = f", and {len(motion.passed) - 1} more" if len(motion.passed) > 1 else ""
    worst = max(found.error for found in motion.passed)
    notes = [
        f"went through a singular configuration at t = {first.singular:.9g} s{more}, on the branch "
        f"it came on; the backward check is off by {worst:.1e} at most"
    ]
    if reactions:
        system = request.system
        # where σ falls to a quarter
        t = np.array([first.singular - 4 * (first.singular - first.before), first.before])
        states = np.array([first.state_at(s) for s in t.tolist()])
        x = np.ascontiguousarray(states[:, : system.num_states])
        u = np.array([motion.inputs_at(*at) for at in zip(t, states, strict=True)])
        lam = np.abs(system.multipliers.map(t, x, u, request.values)).max(axis=1)
        grow = lam[1] > UNBOUNDED * lam[0] > 0.0
        how = "grow without bound toward it" if grow else "are not determined there"
        notes.append(
            f"reactions {how}: they are NaN between t = {first.before:.9g} and {first.after:.9g} s"
            f"{', and so on' if more else ''}"
        )
    return tuple(notes)


def _small_motion(request: RunOptions, run: Trajectory) -> tuple[str, ...]:
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
                "correct it: an input is called as f(t, q, v) and returns a number, a controller "
                "as f(t, q, v, reference q, reference v) and returns one for each force input",
            ) from error


#: Samples that are kept; then every second one is dropped.
KEPT = 20_000

#: Parameters of the law from a time on, s, and until when they hold.
ParametersAt = Callable[[float], tuple[Array, float]]


class SteppedMotion:
    """A motion from a start on.

    Parameters
    ----------
    system : compiled system.
    start : completed.
    law : law of the inputs.
    values : (np,) parameters of the model.
    tolerance : tolerance of the integration.
    max_steps : max steps of a piece.
    """

    def __init__(
        self,
        system: System,
        start: Start,
        law: AbstractInputLaw,
        values: Array,
        *,
        tolerance: float,
        max_steps: int,
    ) -> None:
        self._request = RunOptions(
            system=system,
            start_time=start.time,
            end_time=np.inf,
            times=EMPTY,
            rtol=tolerance,
            atol=tolerance,
            max_steps=max_steps,
            values=values,
        )
        self._start, self._values, self._law = start, values, law
        self._here, eta = run_start(system, start, values)
        self._plan = plan_inputs(self._here, law, values)
        self._state = state_at(self._here, start.q, eta, start.mu, self._plan)
        self._step, self.t, self._end = 0.0, start.time, start.time
        self._segments: list[Segment] = []
        self._counts = np.zeros(3, dtype=int)
        self._result: NativeResult | None = None
        self._loop: tuple[SegmentBasis, InputPlan, NativeLoop] | None = None
        self._record(self._state, np.zeros((1, len(system.inputs))))

    @property
    def q(self) -> Array:
        """Coordinates now."""
        return self._state[: len(self._here.coordinates)]

    @property
    def v(self) -> Array:
        """Tree speeds now."""
        return self._here.motion(*self._now(), self._values)[: len(self._here.speeds)]

    @property
    def margins(self) -> list[tuple[SingularityMeasure, float]]:
        """Singularity measures, and their values now."""
        values = self._here.rates(*self._now(), self._values)[self._here.num_states :]
        return list(zip(self._here.singularity_measures, values.tolist(), strict=True))

    def _now(self) -> tuple[float, Array, Array]:
        return self.t, self._state[: self._here.num_states], self._segments[-1].inputs[-1]

    def change(self, law: AbstractInputLaw) -> None:
        """Go on under another law."""
        self._law = law
        self._state = self._state[: self._here.num_states]
        self._plan = plan_inputs(self._here, law, self._values)
        if self._plan.generator is not None:
            self._state = np.concatenate([self._state, self._plan.generator.start])

    def advance(self, end: float, parameters_at: ParametersAt) -> str:
        """Move on to a time, s; the reason why that cannot be done, "" if it was."""
        self._end, self._parameters_at = end, parameters_at
        drive(self, [(SegmentBasis(self._here), ONE)])
        assert self._result is not None
        if self._result.code == rules.FINISHED:
            return ""
        if self._result.code == rules.SINGULAR:
            return self._here.singularity_measures[self._result.index].sentence
        if self._result.code == rules.NON_FINITE:
            return "the forces it would need are not finite"
        return "the steps became too small"

    def trajectory(self, since: float = -np.inf) -> Trajectory:
        """What was driven from a time on, s."""
        kept = [_cut(segment, segment.t >= since) for segment in self._segments]
        return self._assembled([segment for segment in kept if len(segment.t)])

    def piece(self) -> Trajectory:
        """The last piece: the last two samples."""
        return self._assembled([_cut(self._segments[-1], slice(-2, None))])

    def _assembled(self, segments: list[Segment]) -> Trajectory:
        if self._result is None or not segments:
            raise SimulationError("no drive has been recorded yet", "drive", "drive a little first")
        return assemble(self._request, segments, self._result, self._start, self._counts.tolist())

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run to the end of a piece, or to where the parameters of the law change."""
        plan, request, end = self._plan, self._request, self._end
        parameters, until = self._parameters_at(self.t)
        if self._loop is None or self._loop[0] != basis or self._loop[1] is not plan:
            self._loop = basis, plan, _loop(basis, plan)
        result = (
            self._loop[2]
            .begin(
                parameters=self._values,
                start_time=self.t,
                end_time=min(end, until),
                start_state=self._state,
                sample_times=np.array([end] if end <= until else []),
                base_inputs=plan.base,
                generator_parameters=np.concatenate([self._values, parameters]),
                relative_tolerance=request.rtol,
                absolute_tolerance=request.absolute(len(self._state)),
                step=self._step,
                max_steps=request.max_steps,
            )
            .go()
        )
        self._counts += np.array([result.steps, result.rejections, result.evaluations])
        self._state, self._step, self.t = result.state.copy(), result.step, result.time
        self._result = result
        if len(result.times):
            self._record(result.states[-1], result.inputs[-1:])
        is_stop = result.code == rules.FINISHED and result.time < end
        is_singular = result.code == rules.SINGULAR
        return end_of_one(result, self._values) if is_stop or is_singular else None

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Go on in other independent speeds where these no longer determine the motion."""
        if there.system is here.system:
            return
        self._state = carried(here.system, there.system, self._state, self.v)
        self._here = there.system
        self._plan = plan_inputs(there.system, self._law, self._values)

    def _record(self, state: Array, inputs: Array) -> None:
        last = self._segments[-1] if self._segments else None
        if last is None or last.system is not self._here or last.plan is not self._plan:
            samples = np.array([self.t]), state[None].copy(), inputs.copy()
            crossings = np.zeros((0, 2 + len(state)))
            self._segments.append(Segment(self._here, self._plan, *samples, crossings))
            return
        thinned = _cut(last, slice(None, None, 2 if len(last.t) >= KEPT else 1))
        self._segments[-1] = thinned._replace(
            t=np.append(thinned.t, self.t),
            states=np.vstack([thinned.states, state]),
            inputs=np.vstack([thinned.inputs, inputs]),
        )


def _loop(basis: SegmentBasis, plan: InputPlan) -> NativeLoop:
    system = basis.system
    return NativeLoop(
        rates=system.rates,
        num_generator_states=plan.num_states,
        generator=plan.function,
        num_inputs=len(system.inputs),
        project=system.projection if system.has_projection else None,
        floors=basis.floors,
        direct_steps=10**9,
    )


def _cut(segment: Segment, kept: Any) -> Segment:
    """Some samples of a segment."""
    return segment._replace(
        t=segment.t[kept], states=segment.states[kept], inputs=segment.inputs[kept]
    )

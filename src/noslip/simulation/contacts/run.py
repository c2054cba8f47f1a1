"""`simulate(…, contact="coulomb")`: a run whose contacts slide, lift off and land.

The run is driven as all runs are (`samples`), in segments of one set of contact states each, whose
guards end them. Between segments the state is that of the tree speeds, which every set shares; at
the end all samples are laid out as those of the mechanism in which all contacts roll.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.simulation.contacts.automaton import Automaton, Changed, State, Stuck
from noslip.simulation.contacts.states import (
    OFF,
    ROLLS,
    SLIDES,
    WAYS,
    ContactMechanism,
    Kit,
)
from noslip.simulation.events import EventCode, compile_events, own_events, switch_texts
from noslip.simulation.inputs import InputPlan, inputs_at, law_rates, plan_inputs
from noslip.simulation.loop import rules
from noslip.simulation.native_run import NativeLoop, NativeResult
from noslip.simulation.request import RunOptions
from noslip.simulation.samples import (
    ONE,
    Ends,
    Indices,
    Sampled,
    Segment,
    SegmentBasis,
    assemble,
    drive,
    integrated,
    output_function,
    output_names,
    segment_loop,
)
from noslip.simulation.starts.bases import begin, choose_bases
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import (
    ContactEvent,
    Ending,
    LazyValue,
    Sources,
    Trajectory,
    column,
)

#: Share of a run up to which a span without grip is not told of.
SHORTEST = 1e-5
#: First step after an event, s: guards that fall within 2⁻²⁴ of it are not seen.
FIRST_STEP = 1e-6
#: Events without progress, and the share of the run that so many events cover at least.
MOST_AT_ONCE, MOST_EVENTS, LEAST_SHARE = 24, 512, 1e-6
#: The same of events that follow each other evenly: their later half takes that much of a half.
SMALL_SHARE, EVENLY = 1e-3, 0.95
#: How far ahead guards that are zero are looked at, s.
AHEAD = 1e-7
#: Guards this small, relative to their usual size, are zero.
ZERO = 1e-10
#: Guards this far below zero at a sample, relative to their usual size, have been missed.
BROKEN = 1e-5
BROKEN_WORDS = {
    "lifts": "would have to pull",
    "lands": "goes through its ground",
    "slips": "holds more than its friction allows",
}
#: What contact states are called in the words of events.
WORDS = {
    (ROLLS, SLIDES): "slips",
    (SLIDES, ROLLS): "grips",
    (ROLLS, OFF): "lifts",
    (SLIDES, OFF): "lifts",
    (OFF, ROLLS): "lands",
    (OFF, SLIDES): "lands",
}
#: Numbers of contact states in columns.
CODES = {OFF: 0.0, SLIDES: 1.0, ROLLS: 2.0}


class ContactPart(NamedTuple):
    """Samples of segments that follow each other in one set of contact states."""

    system: System
    plan: InputPlan
    states: tuple[str, ...]
    watched: EventCode
    values: Array  #: (n, np) parameters of the run with its own numbers, at each sample
    t: Array
    y: Array
    inputs: Array
    crossings: Array
    work: Array  #: (n,) J, done until the segment of each began

    @property
    def x(self) -> Array:
        """(n, nx) states of the system, without those of an input law."""
        return np.ascontiguousarray(self.y[:, : self.system.num_states])

    def evaluated(self) -> tuple[Array, Array, Array]:
        """(n, nv) v̇, (n, c, 5) the columns of the kit, and (n, ne) events and angles."""
        angles = np.zeros((len(self.t), self.watched.num_angles))
        assert self.watched.whole is not None
        found = self.watched.whole.map(
            self.t, self.x, self.inputs, np.hstack([angles, self.values])
        )
        num_v, num_columns = len(self.system.speeds), 5 * len(self.states)
        first = found.shape[1] - num_columns
        columns = found[:, first:].reshape(len(self.t), len(self.states), 5)
        return found[:, first - num_v : first], columns, found[:, : first - 2 * num_v]


class _SegmentCode(NamedTuple):
    """What segments in the same contact states and speeds share."""

    watched: EventCode  #: events, then [v; v̇; columns of the kit]
    labels: list[tuple[int, str]]  #: contact and meaning of each guard, in the order of `watched`
    loop: NativeLoop
    absolute: Array  #: tolerances


def run_coulomb(
    request: RunOptions, *, reactions: bool, again: Callable[[Array], Trajectory]
) -> Trajectory:
    """The motion of a request, with contacts by Coulomb's law."""
    if request.method != "dop853":
        raise SimulationError(
            f"contacts by Coulomb's law are not run with fixed steps ('{request.method}')",
            f"simulation of model '{request.system.model.name}'",
            "leave out the method",
        )
    system = request.system
    mechanism = system.cached("contact mechanism", lambda: ContactMechanism(system))
    motion = _ContactRun(request, mechanism)
    motion.settle()
    drive(motion, [(motion.basis, ONE)] if not motion.stuck else [], motion.next_bases)
    return motion.trajectory(reactions=reactions, again=again)


class _ContactRun:
    """A run with contact states, for the driver of segments."""

    def __init__(self, request: RunOptions, mechanism: ContactMechanism) -> None:
        self._asked, self._mechanism = request, mechanism
        values = mechanism.values(request.values)
        own = own_events(request.system)
        stop = {
            name: text
            for name, text in request.stop.items()
            if name not in own.lifts and name not in own.limits
        }
        self._request = request._replace(system=mechanism.rolling, values=values, stop=stop)
        tolerances = request.rtol, request.atol
        self._automaton = Automaton(mechanism, values, tolerances, self._beside)
        self._values = self._automaton.values
        self._plans: dict[System, InputPlan] = {}
        self._codes: dict[tuple[SegmentBasis, tuple[str, ...]], _SegmentCode] = {}
        self.start, states = self._started(request)
        self._states = states
        self._t, self._work, self._step = request.start_time, 0.0, request.step
        self._q, self._v = self.start.q, self.start.v
        self._z = self._start_z()
        plan = self._plan(mechanism.rolling)
        self._law = np.zeros(0) if plan.generator is None else plan.generator.start
        self._done, self.counts = 0, [0, 0, 0]
        self._parts: list[ContactPart] = []
        self._begun: list[
            tuple[float, tuple[str, ...]]
        ] = []  # segments: from when, in which states
        self._steps: list[float] = []  # times of events
        self._impacts: list[tuple[float, float]] = []
        self.events: list[ContactEvent] = []
        self.stuck = ""
        self.basis: SegmentBasis
        self._last: ContactPart
        self.result: NativeResult | None = None
        self._watched: EventCode
        self._labels: list[tuple[int, str]] = []

    # beginning

    def _start_z(self) -> Array:
        return np.zeros(self._mechanism.rolling.kinematics.symbols.z.shape[0])

    def _plan(self, system: System) -> InputPlan:
        plan = self._plans.get(system)
        if plan is None:
            request = self._request
            plan = plan_inputs(
                system,
                request.inputs,
                self._values,
                request.definitions,
                (request.start_time, request.end_time),
                is_adaptive=True,
            )
            self._plans[system] = plan = plan._replace(parameters=plan.parameters.copy())
        # the run's own numbers change from segment to segment
        plan.parameters[: len(self._values)] = self._values
        return plan

    def _started(self, request: RunOptions) -> tuple[Start, tuple[str, ...]]:
        """The completed start: rolling if that fits it, else sliding, else off the ground."""
        contacts = self._mechanism.contacts
        if isinstance(request.start, Start):
            return request.start, self._seen(request.start)
        apart = self._mechanism.is_met
        all_roll = tuple(OFF if c.name in apart else ROLLS for c in contacts)
        faults: list[SimulationError] = []
        for states in _candidates(all_roll):
            try:
                return self._completed(states), states
            except SimulationError as fault:
                faults.append(fault)
        try:
            free = self._completed(tuple(OFF if c.lifts else SLIDES for c in contacts))
        except SimulationError:
            raise faults[0] from None
        base = tuple(OFF if state == OFF else ROLLS for state in self._seen(free))
        for states in _candidates(base):
            try:
                return self._completed(states), states
            except SimulationError:
                continue
        return free, self._seen(free)

    def _completed(self, states: tuple[str, ...]) -> Start:
        request, system = self._request, self._mechanism.system(states)
        plan = self._plan(system)
        return begin(system, plan, request.start, request.start_time, self._values, request.guess)

    def _seen(self, start: Start) -> tuple[str, ...]:
        """Contact states that a completed start shows."""
        mechanism, contacts = self._mechanism, self._mechanism.contacts
        z, u = np.zeros(self._start_z().size), np.zeros(len(mechanism.rolling.inputs))
        probe = mechanism.probe(start.time, start.q, start.v, z, u, self._values)
        found = []
        for k, contact in enumerate(contacts):
            slip = [abs(probe.speeds[3 * k + 1 + way]) for way in contact.ways]
            is_off = contact.lifts and (
                probe.gaps[k] > 1e-9 or probe.speeds[3 * k] > self._automaton.still
            )
            slides = max(slip, default=0.0) > self._automaton.still
            found.append(OFF if is_off else SLIDES if slides else ROLLS)
        return tuple(found)

    def settle(self) -> None:
        """Choose the contact states of the start."""
        try:
            at = self._state_now()
            changed = self._automaton.begin(at, self._states)
        except Stuck as reason:
            raise SimulationError(
                str(reason),
                f"start of model '{self._asked.system.model.name}', t = {self._t:.9g} s",
                "start where bodies touch their ground or are above it",
            ) from None
        self._take(changed, is_start=True)
        self.basis = self._basis(SegmentBasis(self._mechanism.system(self._states)))

    def _state_now(self) -> State:
        system = self._mechanism.system(self._states)
        y = self._y(system)
        return State(self._t, self._q, self._v, self._z, inputs_at(self._plan(system), self._t, y))

    def _y(self, system: System) -> Array:
        """[q; η; z; W; law] in a system."""
        return self._y_of(system, self._t, self._q, self._v, self._law)

    def _y_of(self, system: System, t: float, q: Array, v: Array, law: Array) -> Array:
        eta = self._mechanism.independent_values(
            system, np.array([t]), q[None], v[None], self._values
        )[0]
        work = [self._work] if system.does_work else []
        return np.concatenate([q, eta, self._z, work, law])

    def _beside(self, states: tuple[str, ...], t: float, q: Array, v: Array) -> State:
        """A state shortly before or after this one, with what inputs are there.

        What begins to slip turns with them: a law may take them from the motion.
        """
        system = self._mechanism.system(states)
        plan = self._plan(system)
        law = self._law
        if law.size:
            law = law + (t - self._t) * law_rates(plan, self._t, self._y(system))
        return State(t, q, v, self._z, inputs_at(plan, t, self._y_of(system, t, q, v, law)))

    def _basis(self, basis: SegmentBasis) -> SegmentBasis:
        """Speeds that are regular where the motion is."""
        t, q = np.array([self._t]), self._q[None]
        bases = choose_bases(basis.system, t, q, self._values)
        bases.check(basis.system, t)
        found = bases.groups[0].system
        return basis if found is basis.system else SegmentBasis(found)

    # segments

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run until a guard falls, speeds fail, or directions of slip become free."""
        request, system, automaton = self._request, basis.system, self._automaton
        plan, values = self._plan(system), self._values.copy()
        code = self._code(basis, plan)
        self._watched, self._labels = code.watched, code.labels
        end = min([request.end_time, *automaton.onset.values()])
        times = request.times[self._done :]
        times = times[: times.searchsorted(end, "right")]
        self._begun.append((self._t, self._states))
        run = code.loop.begin(
            start_time=self._t,
            end_time=end,
            start_state=self._y(system),
            sample_times=times,
            parameters=system.hoisted_rates.parameters(values),
            generator_parameters=plan.parameters,
            event_parameters=np.concatenate([self._angles(), values]),
            base_inputs=plan.base,
            absolute_tolerance=code.absolute,
            relative_tolerance=request.rtol,
            step=self._step,
            max_step=request.max_step,
            max_steps=request.max_steps - self.counts[0],
        )
        result = run.go(request.progress, request.cancel, (request.start_time, request.end_time))
        if code.watched.num_angles:
            self._turned = run.event_parameters[: code.watched.num_angles].copy()
        self.result, self._step = result, FIRST_STEP
        for k, count in enumerate((result.steps, result.rejections, result.evaluations)):
            self.counts[k] += count
        is_over = result.code == rules.EVENT and result.index < len(request.stop)
        # the last sample is the guard, which nobody asked for
        reached = int(times.searchsorted(result.time, "right"))
        count = len(result.times) if is_over else min(reached, len(result.times))
        crossings = result.crossings.copy()
        crossings[:, 0] -= len(self._labels)
        self._last = ContactPart(
            system, plan, self._states, code.watched, values[None].repeat(count, 0),
            result.times[:count].copy(), result.states[:count].copy(),
            result.inputs[:count].copy(), crossings, np.full(count, self._work),
        )  # fmt: skip
        if count or len(crossings):
            self._parts.append(self._last)
        self._done += min(reached, len(result.times))
        self._reach(system, result)
        is_last = result.code == rules.FINISHED and result.time >= request.end_time
        if is_over or is_last or result.code not in (rules.FINISHED, rules.EVENT, rules.SINGULAR):
            return None
        return Ends(
            ONE, np.array([result.code]), np.array([result.index]), np.array([result.time]),
            result.state[None], values[None],
        )  # fmt: skip

    def _code(self, basis: SegmentBasis, plan: InputPlan) -> _SegmentCode:
        """What segments in these contact states and speeds run."""
        request, system, states = self._request, basis.system, self._states
        found = self._codes.get((basis, states))
        if found is None:
            kit = self._mechanism.kit(system, states)
            switches = switch_texts(system, request.inputs, request.definitions)
            key = ("guards", states, *map(_key, (request.stop, request.events, switches)))
            make = partial(self._compiled, system, kit, switches)
            watched = system.cached((*key, _key(request.definitions)), make)
            span = request.start_time, self._t, request.end_time
            loop = segment_loop(system, plan, watched, request.method, basis.depth, span)
            labels = [*kit.guards, *((0, "switches") for _ in switches)]
            found = _SegmentCode(watched, labels, loop, self._absolute(system, plan))
            if plan.generator is None:  # else the loop knows from when on the law runs
                self._codes[basis, states] = found
        return found

    def _compiled(self, system: System, kit: Kit, switches: dict[str, str]) -> EventCode:
        request = self._request
        guards: dict[str, Any] = {f"contact {k} {what}": e for (k, what), e in kit.guards.items()}
        endings = {**request.stop, **guards, **switches}
        more = ca.vertcat(system.output_expression("motion"), kit.columns)
        return compile_events(system, endings, request.events, request.definitions, more)

    _turned: Array = np.zeros(0)

    def _angles(self) -> Array:
        if len(self._turned) != self._watched.num_angles:
            self._turned = np.zeros(self._watched.num_angles)
        return self._turned

    def _absolute(self, system: System, plan: InputPlan) -> Array:
        absolute = np.full(system.num_states + plan.num_states, self._request.atol)
        # energies are integrated along and do not choose the steps
        first = len(system.coordinates) + len(system.independent_speeds)
        for k, state in enumerate(system.auxiliary_states):
            if state.name.endswith(".friction_loss"):
                absolute[first + k] = 1e300
        if system.does_work:
            absolute[system.num_states - 1] = 1e300
        return absolute

    def _reach(self, system: System, result: NativeResult) -> None:
        """Take over the end of a segment."""
        y, num_q, n = result.state, len(system.coordinates), system.num_states
        plan = self._plan(system)
        self._t, self._reached, self._u = result.time, y.copy(), inputs_at(plan, result.time, y)
        self._evaluate(system)
        num_v, num_z = len(system.speeds), len(self._z)
        eta_end, first = num_q + len(system.independent_speeds), len(self._found)
        first -= 2 * num_v + 5 * len(self._states)
        self._q, self._z = y[:num_q].copy(), y[eta_end : eta_end + num_z].copy()
        self._v = self._found[first : first + num_v].copy()
        self._vdot = self._found[first + num_v : first + 2 * num_v]
        if system.does_work:
            self._work = float(y[n - 1])
        self._law = y[n:].copy()

    _vdot: Array
    _u: Array
    _reached: Array
    #: Events, angles, v, v̇ and columns where a segment has ended.
    _found: Array

    def _evaluate(self, system: System, ahead: float = 0.0, y: Array | None = None) -> Array:
        """Events, v, v̇ and columns where the last segment has ended, or at a state ahead."""
        at, u = self._reached, self._u
        if y is not None:
            at, u = y, inputs_at(self._plan(system), self._t + ahead, y)
        numbers = np.concatenate([self._angles(), self._values])
        assert self._watched.whole is not None
        found = self._watched.whole(self._t + ahead, at[: system.num_states], u, numbers)
        if y is None:
            self._found = found
        return found

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """The state is kept in tree speeds, which all bases share."""

    def next_bases(self, here: SegmentBasis, ends: Ends) -> list[SegmentBasis | None]:
        """Contact states and speeds of the next segment; none where nothing continues."""
        try:
            return [self._next(here)]
        except Stuck as reason:
            self.stuck = str(reason)
        except SimulationError as reason:
            self.stuck = reason.what
        return [None]

    def _next(self, here: SegmentBasis) -> SegmentBasis | None:
        result, system, automaton = self.result, here.system, self._automaton
        assert result is not None
        at = State(self._t, self._q, self._v, self._z, self._u)
        if result.code == rules.SINGULAR:
            measure = system.singularity_measures[result.index]
            if measure.kind != "basis":
                self.stuck = measure.sentence
                return None
            t, q = np.array([self._t]), self._q[None]
            found = system.regular_at(t, q, self._values[None])[0]
            if found is None:
                self.stuck = measure.sentence
                return None
            if found is not system:
                return SegmentBasis(found)
            if measure.bound(here.depth) <= measure.limit:
                self.stuck = measure.sentence
                return None
            return SegmentBasis(system, here.depth + 1)
        if automaton.ended_onsets(at):
            self._evaluate(system)
        if result.code == rules.FINISHED:
            return here
        self._check_chatter()
        triggers = self._triggers(system, result)
        before = self._states
        if all(what == "switches" for _, what in triggers):
            changed = automaton.again(at, before)
        else:
            triggers = [x for x in triggers if x[1] != "switches"]
            columns = self._found[-5 * len(before) :].reshape(len(before), 5)
            changed = automaton.handle(at, before, triggers, columns, self._vdot)
        self._take(changed)
        if changed.states == before:
            return here
        return self._basis(SegmentBasis(self._mechanism.system(changed.states)))

    def _take(self, changed: Changed, *, is_start: bool = False) -> None:
        """Note what has changed, and begin there."""
        states, loss = changed.states, changed.loss
        before, self._states, self._v = self._states, states, changed.v
        self._work -= loss + changed.snapped
        if loss:
            self._impacts.append((self._t, loss))
        names = [c.name for c in self._mechanism.contacts]
        changes = [
            (name, WORDS[a, b]) for name, a, b in zip(names, before, states, strict=True) if a != b
        ]
        # what lands and bounces was off and stays so
        bounced = self._landed() if loss and not changes and not is_start else []
        changes += [(name, "bounces") for name in bounced]
        for k, (name, what) in enumerate(changes):
            if not is_start:
                part = loss if k == 0 else 0.0
                self.events.append(ContactEvent(self._t, name, what, part))

    def _landed(self) -> list[str]:
        result = self.result
        if result is None or result.code != rules.EVENT:
            return []
        k, what = self._labels[result.index - len(self._request.stop)]
        return [self._mechanism.contacts[k].name] if what == "lands" else []

    def _check_chatter(self) -> None:
        """End a run in which events follow each other without end."""
        request, times = self._request, self._steps
        times.append(self._t)
        at_once = times[-MOST_AT_ONCE:]
        is_still = len(at_once) == MOST_AT_ONCE and at_once[-1] - at_once[0] <= 1e-12
        some = times[-MOST_EVENTS:]
        length, span = request.end_time - request.start_time, some[-1] - some[0]
        # bounces that come closer and closer have an end
        later = some[-1] - some[len(some) // 2]
        crawls = span < SMALL_SHARE * length and later > EVENLY * span / 2
        if is_still or (len(some) == MOST_EVENTS and (crawls or span < LEAST_SHARE * length)):
            raise Stuck("contact states change back and forth without end (chatter)")

    def _triggers(self, system: System, result: NativeResult) -> list[tuple[int, str]]:
        """Guards that are zero together with the one that ended the segment, and fall."""
        num_stops, here = len(self._request.stop), self._found
        y, n, t = self._reached, system.num_states, self._t
        probe = self._automaton.probe(State(t, self._q, self._v, self._z, self._u))
        load = max(float(np.max(np.abs(probe.h), initial=0.0)), 1e-9)
        found, sizes = [], {"lifts": load, "slips": load**2}
        near = [
            j
            for j, (k, what) in enumerate(self._labels, num_stops)
            if j == result.index
            or abs(here[j]) <= ZERO * (load if k < -1 and what == "slips" else sizes.get(what, 1.0))
        ]
        if len(near) == 1:
            return [self._labels[result.index - num_stops]]
        later = y.copy()
        later[:n] += AHEAD * system.rates(t, y[:n], self._u, self._values)[:n]
        ahead = self._evaluate(system, AHEAD, later)
        for j in near:
            if j == result.index or (ahead[j] < here[j] and ahead[j] < 0.0):
                found.append(self._labels[j - num_stops])
        return found

    # the result

    def trajectory(self, *, reactions: bool, again: Callable[[Array], Trajectory]) -> Trajectory:
        """The run as a trajectory of the model that was given."""
        assert self.result is not None
        self._keep_last()
        self._parts = _joined(self._parts)
        request, parts = self._request, self._parts
        evaluated = [part.evaluated() for part in parts]
        segments = [
            self._laid_out(part, rates) for part, (rates, *_) in zip(parts, evaluated, strict=True)
        ]
        result = self.result
        if self.stuck:  # at a guard, which is none of the stops
            result = dataclasses.replace(result, code=rules.FINISHED, index=-1)
        run = assemble(request, segments, result, self.start, self.counts, again=again)
        own = self._asked.system
        numbers = [columns for _, columns, _ in evaluated]
        work = np.concatenate([_work(part) for part in parts])
        names = list(own.model.parameter_values())
        changes: dict[str, Any] = {
            "model": own.model,
            "parameters": {name: run.parameters[name] for name in names},
            "work": work,
            "contact": "coulomb",
            "contact_events": tuple(self.events),
            "extra": {**self._in_space(run.extra), **self._sources(run.t, numbers, reactions)},
            "notes": (*run.notes, *self.start.notes, *self._notes(run.t), *self._broken(evaluated)),
            "multipliers": self._reactions(numbers) if reactions else None,
        }
        if self.stuck:
            changes["ending"] = Ending.CONTACTS
            changes["message"] = (
                f"{Ending.CONTACTS.value[:-1]}: {self.stuck}. (t = {self._t:.9g} s)"
            )
        return run.replaced(**changes)

    def _in_space(self, columns: Mapping[str, Any]) -> Sources:
        """Columns without contact points of what acts within joints."""
        none = {f"{name}.contact_{axis}" for name in self._mechanism.elements for axis in "xyz"}
        return {name: source for name, source in columns.items() if name not in none}

    def _keep_last(self) -> None:
        """Make the last state that was reached the last sample, if the run ended early."""
        result, last = self.result, self._last
        assert result is not None
        times = [part.t[-1] for part in self._parts if len(part.t)]
        if result.time >= self._request.end_time or (times and times[-1] >= result.time):
            return
        self._parts.append(
            last._replace(
                values=self._values[None],
                work=np.array([self._work]),
                crossings=last.crossings[:0],
                t=np.array([result.time]),
                y=result.state[None].copy(),
                inputs=self._u[None],
            )
        )

    def _laid_out(self, part: ContactPart, speed_rates: Array) -> Segment:
        """Samples as those of the mechanism in which all contacts roll."""
        rolling, here = self._mechanism.rolling, part.system
        n, num_q, num_v = here.num_states, len(here.coordinates), len(here.speeds)
        x = part.x
        q = x[:, :num_q]
        found = here.samples.map(part.t, x, part.inputs, part.values)
        rows = [row.name for row in here.kinematics.rows]
        held = [row.name for row in here.kinematics.rows if row.is_holonomic]
        all_rows = [row.name for row in rolling.kinematics.rows]
        all_held = [row.name for row in rolling.kinematics.rows if row.is_holonomic]
        first = num_v + 2
        residuals = _by_name(found[:, first : first + len(rows)], rows, all_rows)
        first += len(rows)
        gaps = _by_name(found[:, first : first + len(held)], held, all_held)
        outputs = np.hstack([found[:, : num_v + 2], residuals, gaps, found[:, first + len(held) :]])
        v = found[:, :num_v]
        eta = self._mechanism.independent_values(rolling, part.t, q, v, part.values)
        eta_end = num_q + len(here.independent_speeds)
        z = x[:, eta_end : eta_end + len(self._z)]
        work = _work(part)[:, None] if rolling.does_work else x[:, :0]
        states = np.hstack([q, eta, z, work, part.y[:, n:]])
        crossings = part.crossings
        if len(crossings):
            at, ys = crossings[:, 1].copy(), np.ascontiguousarray(crossings[:, 2 : 2 + n])
            u = np.array(
                [inputs_at(part.plan, t, y) for t, y in zip(at, crossings[:, 2:], strict=True)]
            )
            speeds = here.samples.map(at, ys, u, self._values)[:, :num_v]
            crossings = np.hstack([crossings[:, :2], ys[:, :num_q], speeds])
        sampled = Sampled(states, outputs, speed_rates)
        return Segment(rolling, part.plan, part.t, states, part.inputs, crossings, sampled)

    def _reactions(self, numbers: list[Array]) -> Array:
        """λ of all rows; along the ground what friction transmits: of an axle, by its split."""
        rows = [row.name for row in self._mechanism.rolling.kinematics.rows]
        found = []
        for part, columns in zip(self._parts, numbers, strict=True):
            here = part.system
            lam = here.multipliers.map(part.t, part.x, part.inputs, part.values)
            own = _by_name(lam, [row.name for row in here.kinematics.rows], rows)
            forces = self._split(part, columns)
            forces[:, :, 1] *= self._automaton.law.ratio
            for k, contact in enumerate(self._mechanism.contacts):
                if part.states[k] == SLIDES or contact.axle >= 0:
                    for way in contact.ways:
                        row = f"{contact.name}.{WAYS[way]}"
                        if row in rows:
                            own[:, rows.index(row)] = forces[:, k, way]
            found.append(own)
        return np.concatenate(found)

    def _sources(self, t: Array, numbers: list[Array], reactions: bool) -> Sources:
        """Columns of contacts, of losses, of powers and outputs."""
        contacts, parts = self._mechanism.contacts, self._parts
        law = self._automaton.law
        all_numbers = np.concatenate(numbers)
        forces = np.concatenate([self._split(p, n) for p, n in zip(parts, numbers, strict=True)])
        codes = np.concatenate(
            [np.tile([CODES[s] for s in part.states], (len(part.t), 1)) for part in parts]
        )
        found: Sources = {}
        for k, contact in enumerate(contacts):
            slip, load = all_numbers[:, k, :2], all_numbers[:, k, 2]
            slides = codes[:, k] == CODES[SLIDES]
            force = np.linalg.norm(forces[:, k], axis=1)
            most = np.where(slides, law.friction[k], law.static[k]) * load
            grip = np.where(most > 0, force / np.where(most > 0, most, 1.0), 0.0)
            along = np.linalg.norm(slip[:, list(contact.ways)], axis=1)
            found[f"{contact.name}.contact"] = ("1", codes[:, k])
            found[f"{contact.name}.slip"] = ("m/s", np.where(slides, along, 0.0))
            found[f"{contact.name}.load"] = ("N", load)
            found[f"{contact.name}.grip"] = ("1", grip)
        num_z = len(self._z)
        names = [s.name for s in self._mechanism.rolling.auxiliary_states]
        lost = [k for k, name in enumerate(names) if name.endswith(".friction_loss")]
        total = [
            part.y[:, (first := len(part.system.coordinates) + len(part.system.independent_speeds))
                   : first + num_z][:, lost].sum(axis=1)
            for part in parts
        ]  # fmt: skip
        found["friction_loss"] = ("J", np.concatenate(total))
        struck = np.zeros(len(t))
        for time, loss in self._impacts:
            struck[t >= time] += loss
        found["impact_loss"] = ("J", struck)
        return found | self._powers(t) | self._outputs()

    def _split(self, part: ContactPart, columns: Array) -> Array:
        """(n, c, 2) forces along the ground, those of an axle in proportion to what is left there.

        Across headings they are divided by the ratio of friction there.
        """
        contacts, law = self._mechanism.contacts, self._automaton.law
        forces = columns[:, :, 3:] / np.stack([np.ones_like(law.ratio), law.ratio], axis=-1)
        for axle in {c.axle for c in contacts if c.axle >= 0}:
            own = [k for k, c in enumerate(contacts) if c.axle == axle and part.states[k] == ROLLS]
            if len(own) < 2:
                continue
            way = contacts[own[0]].way
            signs = np.array([contacts[k].sign for k in own])
            most = (law.static[own] * columns[:, own, 2]) ** 2 - forces[:, own, 1 - way] ** 2
            room = np.sqrt(np.maximum(most, 0.0)) + 1e-300
            total = forces[:, own, way] @ signs
            share = room / room.sum(axis=1, keepdims=True)
            forces[:, own, way] = share * total[:, None] * signs
        return forces

    def _powers(self, t: Array) -> Sources:
        model = self._asked.system.model
        names = [*(i.name for i in model.inputs), *(i.name for i in model.speed_inputs)]
        if not names:
            return {}

        def find() -> Array:
            return np.concatenate(
                [p.system.input_powers.map(p.t, p.x, p.inputs, p.values) for p in self._parts]
            )

        power = LazyValue(find)
        energy = LazyValue(lambda: integrated(t, power()))
        found: Sources = {f"power.{n}": ("W", column(power, k)) for k, n in enumerate(names)}
        return found | {f"energy.{n}": ("J", column(energy, k)) for k, n in enumerate(names)}

    def _outputs(self) -> Sources:
        request = self._request
        units = output_names(request)

        def find() -> Array:
            return np.concatenate(
                [
                    output_function(request, p.system).map(p.t, p.x, p.inputs, p.values)
                    for p in self._parts
                ]
            )

        values = LazyValue(find)
        return {name: (unit, column(values, k)) for k, (name, unit) in enumerate(units.items())}

    def _notes(self, t: Array) -> tuple[str, ...]:
        """What slid and what was off, from when to when."""
        notes = []
        for k, contact in enumerate(self._mechanism.contacts):
            for state, verb in ((SLIDES, "slid"), (OFF, "was off the ground")):
                if state == OFF and contact.name in self._mechanism.is_met:
                    continue  # it is met now and then, and else apart
                spans = self._spans(k, state)
                if state == SLIDES and not self._automaton.mu[k]:
                    continue
                # what cannot be told apart in print is not worth a note
                least = SHORTEST * (self._t - self._begun[0][0])
                spans = [(a, b) for a, b in spans if b - a > least]
                if spans:
                    listed = ", ".join(f"{a:.6g} to {b:.6g} s" for a, b in spans[:3])
                    more = f" and {len(spans) - 3} times more" if len(spans) > 3 else ""
                    notes.append(f"contact '{contact.name}' {verb} from {listed}{more}")
        return tuple(notes)

    def _broken(self, evaluated: list[tuple[Array, Array, Array]]) -> tuple[str, ...]:
        """Notes on samples at which a contact pulls, penetrates, or holds more than it can."""
        first, notes = len(self._request.stop), []
        for part, (_, columns, events) in zip(self._parts, evaluated, strict=True):
            labels = list(self._mechanism.kit(part.system, part.states).guards)
            load = float(np.max(np.abs(columns[:, :, 2]), initial=1e-9))
            sizes = {"lifts": load, "lands": 1.0, "slips": load**2}
            for j, (k, what) in enumerate(labels, first):
                size = load if k < -1 else sizes.get(what, np.inf)
                low = np.flatnonzero(events[:, j] < -BROKEN * size)
                if low.size:
                    axle = [c.name for c in self._mechanism.contacts if c.axle == -2 - k]
                    names = axle if k < 0 else [self._mechanism.contacts[k].name]
                    notes.append(
                        f"the run is not to be relied on from t = {part.t[low[0]]:.6g} s: "
                        f"{', '.join(names)} {BROKEN_WORDS[what]} there"
                    )
        return tuple(notes[:1])

    def _spans(self, k: int, state: str) -> list[tuple[float, float]]:
        spans: list[tuple[float, float]] = []
        ends = [*(a for a, _ in self._begun[1:]), self._t]
        for (a, states), b in zip(self._begun, ends, strict=True):
            if states[k] != state or b <= a:
                continue
            if spans and spans[-1][1] == a:
                spans[-1] = spans[-1][0], b
            else:
                spans.append((a, b))
        return spans


def _candidates(states: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Sets of states to try for a start: as given, each contact sliding alone, all sliding."""
    found = [states]
    touching = [k for k, state in enumerate(states) if state != OFF]
    if len(touching) > 1:
        found += [tuple(SLIDES if k == j else s for k, s in enumerate(states)) for j in touching]
    found.append(tuple(SLIDES if s == ROLLS else s for s in states))
    return found


def _joined(parts: list[ContactPart]) -> list[ContactPart]:
    """Parts with those in one that follow each other in the same states and speeds."""
    found: list[list[ContactPart]] = []
    for part in parts:
        before = found[-1][-1] if found else None
        is_same = before is not None and before.watched is part.watched
        if before is not None and is_same and before.system is part.system:
            found[-1].append(part)
        else:
            found.append([part])
    joined = []
    for some in found:
        if len(some) == 1:
            joined += some
            continue
        joined.append(
            some[-1]._replace(
                values=np.concatenate([part.values for part in some]),
                t=np.concatenate([part.t for part in some]),
                y=np.concatenate([part.y for part in some]),
                inputs=np.concatenate([part.inputs for part in some]),
                crossings=np.concatenate([part.crossings for part in some]),
                work=np.concatenate([part.work for part in some]),
            )
        )
    return joined


def _work(part: ContactPart) -> Array:
    """(n,) J; constant where nothing does any."""
    system = part.system
    if system.does_work:
        return part.y[:, system.num_states - 1]
    return part.work


def _by_name(values: Array, names: list[str], wanted: list[str]) -> Array:
    """Columns in another order; zero where there is none."""
    found = np.zeros((len(values), len(wanted)))
    for k, name in enumerate(wanted):
        if name in names:
            found[:, k] = values[:, names.index(name)]
    return found


def _key(texts: Any) -> tuple[Any, ...]:
    return tuple((name, str(text)) for name, text in dict(texts or {}).items())

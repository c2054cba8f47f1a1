"""Runs of a closed loop: in pieces, at switches of its law, one or many.

**A run of a closed loop in pieces: each in one basis, between two updates of a sampled law.**

The same for states alone and for states with their derivatives: `Code` says what is integrated and
how it jumps between two pieces.

**Switches of a law that makes inputs: saturation, dead zones, rate limits.**

    (1)  min(a, b) and max(a, b) switch where g = a − b is zero,  |a| where a is

Inputs are continuous there, their derivatives jump: derivatives of a motion are continuous, too,
but no step may cross the switch, or the adjoint of the step is wrong to first order of its size.
The times at which g changes its sign are found before, by samples that close in on them; steps end
a hair before and begin a hair behind them. What rounds has no derivative that says anything, and is
refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.engines import (
    NativeFunction,
    Operation,
    Program,
    System,
    compile_native,
    require_system,
    trace_program,
)
from noslip.simulation.batches.batch_request import VariantResults, Variants
from noslip.simulation.inputs import AbstractInputLaw, Table
from noslip.simulation.loop import rules
from noslip.simulation.native_run import InputTable, NativeLoop, NativeResult, NativeRun, driven
from noslip.simulation.request import RunOptions, check_named, read_run
from noslip.simulation.samples import ONE, Ends, Indices, SegmentBasis, drive, end_of_one
from noslip.simulation.sensitivities.controlled_loop import (
    INPUT,
    NUMBER,
    PARAMETER,
    START,
    TABLE,
    ClosedLoop,
    LoopValues,
    Variable,
    check_given,
    read_variables,
)
from noslip.simulation.sensitivities.start_derivatives import begin
from noslip.simulation.starts.completion import Start


class Code(Protocol):
    """A closed loop as native code: states to integrate, and their jumps."""

    @property
    def loop(self) -> ClosedLoop:
        """The closed loop."""

    @property
    def rates(self) -> NativeFunction:
        """Rates of the state, then health."""

    @property
    def project(self) -> NativeFunction | None:
        """The state after a step onto the constraints, and the residual before it."""

    @property
    def update(self) -> NativeFunction | None:
        """The state after an update of a sampled law."""

    def carry(self, there: System) -> NativeFunction:
        """The state converted to the independent speeds of another system."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentSettings:
    """Settings of a run in pieces."""

    run: RunOptions  #: times and method
    absolute: Array  #: absolute tolerance for each state
    #: base, tables: base inputs of the code, and the tables that drive some of them
    base: Array
    tables: tuple[InputTable, ...]
    numbers: LoopValues  #: numbers of the closed loop


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jump:
    """A jump of the state at a time: to other independent speeds, or an update of a law."""

    code: Code
    time: float
    state: Array
    there: System | None  # None: an update of the law


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """A piece of a run: the jumps before it, its code and its result."""

    jumps: tuple[Jump, ...]  #: jumps before it, in their order
    code: Code  #: code that it ran in
    result: NativeResult  #: result of the native loop
    num_good: int  #: samples that count; one where the speeds fail is taken again in the next piece


Run = Callable[[NativeRun], NativeResult]


def run_segments(
    code_of: Callable[[System], Code],
    system: System,
    state: Array,
    settings: SegmentSettings,
    run: Run,
    *,
    records_steps: bool = False,
) -> list[Piece]:
    """Pieces of a run, the last of which says how it ended."""
    motion = _Pieces(code_of, system, state, settings, run, records_steps=records_steps)
    drive(motion, [(SegmentBasis(system), ONE)])
    return motion.pieces


class _Pieces:
    """A closed loop, for the driver of segments."""

    def __init__(
        self,
        code_of: Callable[[System], Code],
        system: System,
        state: Array,
        settings: SegmentSettings,
        run: Run,
        *,
        records_steps: bool,
    ) -> None:
        request = settings.run
        self._code_of, self._settings, self._run = code_of, settings, run
        self._records_steps = records_steps
        self._here = code_of(system)
        self._values = settings.numbers.p[: len(system.model.parameters)]
        law, start, end = self._here.loop.generator, request.start_time, request.end_time
        updates = law.update_times(start, end) if law else np.zeros(0)
        self._updates = updates[updates < end]
        self._time, self._state, self._step = request.start_time, state, request.step
        self._jumps: list[Jump] = []
        self._done = self._steps = 0
        self.pieces: list[Piece] = []

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run until the speeds fail, or to the next update of the law."""
        request, t = self._settings.run, self._time
        if self._updates.size and self._updates[0] <= t + 1e-12 * max(1.0, abs(t)):
            self._jump(None)
            self._updates = self._updates[1:]
        stop = float(self._updates[0]) if self._updates.size else request.end_time
        left = request._replace(
            step=self._step,
            max_steps=request.max_steps - self._steps,
            times=request.times[self._done :],
        )
        segment = dataclasses.replace(self._settings, run=left)
        loop = piece_loop(self._here, segment, t, stop, basis, records_steps=self._records_steps)
        result = self._run(begin_piece(loop, segment, t, stop, self._state))
        self._time, self._state, self._step = result.time, result.state, result.step
        self._steps += result.steps
        self._done += result.times.size
        jumps, self._jumps = tuple(self._jumps), []
        self.pieces.append(
            Piece(jumps=jumps, code=self._here, result=result, num_good=result.times.size)
        )
        is_stop = result.code == rules.FINISHED and result.time < request.end_time
        is_singular = result.code == rules.SINGULAR
        return end_of_one(result, self._values) if is_stop or is_singular else None

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Begin the next piece where this one ended, in other speeds if need be."""
        last = self.pieces[-1]
        num_good = int(np.sum(last.result.times < last.result.time))
        self._done -= last.num_good - num_good
        self.pieces[-1] = dataclasses.replace(last, num_good=num_good)
        if there.system is not here.system:
            self._jump(there.system)
            self._here = self._code_of(there.system)

    def _jump(self, there: System | None) -> None:
        """Apply a jump to the state."""
        jump = Jump(code=self._here, time=self._time, state=self._state, there=there)
        self._jumps.append(jump)
        self._state = _jumped(jump, self._settings)


def piece_loop(
    code: Code,
    settings: SegmentSettings,
    t: float,
    stop: float,
    basis: SegmentBasis,
    *,
    records_steps: bool = False,
) -> NativeLoop:
    """The native loop of a piece from t to a stop."""
    knots = settings.numbers.knots
    return NativeLoop(
        rates=code.rates,
        tables=settings.tables,
        knots=knots[(knots > t) & (knots < stop)],
        project=code.project,
        floors=basis.floors,
        method=settings.run.method_number,
        direct_steps=-1,
        records_steps=records_steps,
    )


def begin_piece(
    loop: NativeLoop,
    settings: SegmentSettings,
    t: float,
    stop: float,
    state: Array,
    own: Sequence[Array] = (),
) -> NativeRun:
    """A run of a piece; a sample at an update is taken after it.

    It may have parameters, base inputs and absolute tolerances of its `own`.
    """
    request = settings.run
    times = request.times
    parameters, base, absolute = own or (settings.numbers.p, settings.base, settings.absolute)
    return loop.begin(
        start_time=t,
        end_time=stop,
        start_state=state,
        sample_times=times if stop >= request.end_time else times[times < stop],
        relative_tolerance=request.rtol,
        step=request.step,
        max_step=request.max_step,
        max_steps=request.max_steps,
        parameters=parameters,
        base_inputs=base,
        absolute_tolerance=absolute,
    )


def _jumped(jump: Jump, settings: SegmentSettings) -> Array:
    """The state after a jump."""
    code = jump.code
    function = code.update if jump.there is None else code.carry(jump.there)
    assert function is not None
    base = driven(settings.base, settings.tables, jump.time)
    return function(jump.time, jump.state, base, settings.numbers.p)


#: Samples of a run in which switches are looked for, and how often they close in.
SAMPLES, PASSES = 1001, 4
#: Part of the run by which steps end before a switch and begin after it.
ASIDE = 1e-9
#: Switches beyond which a run is left to its steps.
MOST = 200


def check_rounding(loop: ClosedLoop) -> None:
    """Refuse a law that rounds what it sees of the state."""
    if loop.generator is not None and loop.generator.is_rounded:
        raise SimulationError(
            "the law rounds its measurements, which cannot be differentiated",
            f"inputs of model '{loop.system.model.name}'",
            "take the derivatives without rounding: sensors with quantum=0",
        )


def has_switches(loop: ClosedLoop) -> bool:
    """Whether a law has switches that depend on the state."""
    return loop.generator is not None and bool(_zeros(loop).outputs)


def with_switches(
    code_of: Callable[[System], Code],
    system: System,
    state: Array,
    settings: SegmentSettings,
) -> SegmentSettings:
    """Settings of a run whose steps end where its law switches."""
    loop = code_of(system).loop
    if not has_switches(loop):
        return settings
    run = settings.run
    times = np.linspace(run.start_time, run.end_time, SAMPLES)
    found, widest = np.zeros(0), 0.0
    for k in range(PASSES):
        numbers = settings.numbers.with_knots(found)
        sampled = dataclasses.replace(settings, run=run._replace(times=times), numbers=numbers)
        brackets = _brackets(code_of, system, state, sampled)
        if k and len(brackets) != len(found):
            break  # closer than the run itself is exact
        if not 0 < len(brackets) <= MOST:
            return settings
        found = brackets.mean(axis=1)
        widest = float(np.max(brackets[:, 1] - brackets[:, 0]))
        # a switch may be beside its bracket by what the run before was wrong
        wide = brackets + np.outer(brackets[:, 1] - brackets[:, 0], [-2.0, 2.0])
        inner = max(201, SAMPLES // len(brackets))
        closer = np.concatenate([np.linspace(a, b, inner) for a, b in wide])
        times = np.unique(np.clip(closer, run.start_time, run.end_time))
    # a stage on the switch itself would take the derivative of either side
    aside = max(2 * widest, ASIDE * (run.end_time - run.start_time))
    knots = np.concatenate([found - aside, found + aside])
    inside = (knots > run.start_time) & (knots < run.end_time)
    return dataclasses.replace(settings, numbers=settings.numbers.with_knots(knots[inside]))


def _brackets(
    code_of: Callable[[System], Code], system: System, state: Array, settings: SegmentSettings
) -> Array:
    """(n, 2) pairs of neighboring samples between which some g changes its sign."""
    pieces = run_segments(code_of, system, state, settings, NativeRun.go)
    found: list[tuple[float, float]] = []
    functions: dict[int, NativeFunction] = {}
    for piece in pieces:
        loop, result = piece.code.loop, piece.result
        if id(loop) not in functions:
            functions[id(loop)] = compile_native([_zeros(loop)])["switches"]
        num, size = piece.num_good, loop.num_states
        if num < 2:
            continue
        values = np.array(
            [
                functions[id(loop)](
                    t, x[:size], settings.numbers.base_at(float(t)), settings.numbers.p
                )
                for t, x in zip(result.times[:num], result.states[:num], strict=True)
            ]
        )
        changes = np.any((values[1:] > 0) != (values[:-1] > 0), axis=1)
        found += [
            (float(result.times[k]), float(result.times[k + 1])) for k in np.flatnonzero(changes)
        ]
    return np.array(found).reshape(-1, 2)


def _zeros(loop: ClosedLoop) -> Program:
    """The program of all g of (1) that depend on the state."""
    assert loop.generator is not None
    made = ca.vertcat(loop.inputs, loop.rates[loop.system.num_states :, :])
    program = _traced(loop, ca.densify(made))
    operations, zeros = list(program.operations), []
    for (kind, operands), depends in zip(program.operations, _of_state(program), strict=True):
        if kind == "abs" and depends:
            zeros.append(operands[0])
        elif kind in ("min", "max") and depends:
            operations.append(Operation("sub", operands))
            zeros.append(program.num_given + len(operations) - 1)
    return dataclasses.replace(program, operations=tuple(operations), outputs=tuple(zeros))


def _traced(loop: ClosedLoop, expression: ca.SX) -> Program:
    return trace_program("switches", [loop.t, loop.y, loop.base, loop.p], expression)


def _of_state(program: Program) -> list[bool]:
    """Whether each operation depends on the state."""
    first, num = program.input_sizes[0], program.input_sizes[1]
    known = [first <= k < first + num for k in range(program.num_given)]
    for _, operands in program.operations:
        known.append(any(known[k] for k in operands))
    return known[program.num_given :]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivityRequest:
    """A checked request for a differentiated simulation."""

    run: RunOptions  #: the simulation; its definitions are named expressions and numbers
    variables: tuple[Variable, ...]  #: quantities that derivatives are taken by

    def settings(
        self,
        numbers: LoopValues,
        times: Array,
        *,
        rtol: float,
        absolute: Array,
        base: Array,
        tables: tuple[InputTable, ...],
    ) -> SegmentSettings:
        """Settings of a run in segments."""
        return SegmentSettings(
            run=self.run._replace(times=times, rtol=rtol),
            absolute=absolute,
            base=base,
            tables=tables,
            numbers=numbers,
        )


def read_sensitivities(
    function: str, system: System, names: Sequence[str], options: Mapping[str, Any]
) -> SensitivityRequest:
    """The request of a call, checked."""
    run = read_run(function, system, options)
    check_given(run.system, run.inputs, run.definitions)
    variables = read_variables(
        run.system,
        names,
        start=run.start,
        inputs=run.inputs,
        definitions=run.definitions,
        parameters=run.values,
    )
    return SensitivityRequest(run=run, variables=variables)


#: Motions that are done together.
BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbstractDerivatives(VariantResults):
    """What results of many differentiated motions have in common."""

    noun = "motions"

    #: (n,) whether each came to its end; the numbers of others are nan
    success: NDArray[np.bool_] = field(repr=False)
    messages: dict[int, str] = field(repr=False)  #: motion → why it did not
    #: steps, nfev: (n,) of the simulations
    steps: NDArray[np.int64] = field(repr=False)
    nfev: NDArray[np.int64] = field(repr=False)

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Columns (n,) by name, with units: what the simulations took."""
        return {"success": (self.success, ""), "steps": (self.steps, ""), "nfev": (self.nfev, "")}

    def checked(self, k: int) -> int:
        """The number of a motion that came to its end; those below zero count from the end."""
        k = self.place_of(k)
        if not self.success[k]:
            raise SimulationError(
                self.messages.get(k, "it was not simulated: the work was cancelled"),
                f"derivatives of model '{self.model}', motion {k}",
                "check success first",
            )
        return k

    def said(self) -> str:
        """How many motions there are, for representations."""
        good = int(np.count_nonzero(self.success))
        return f"{type(self).__name__} of '{self.model}': {self.count} motions, {good} to the end"


#: Options of batches that the single call does not have, or not for one of many motions.
_OF_MANY = ("count", "threads", "device", "precision", "progress", "cancel")


class DifferentiatedMotions:
    """Data that many differentiated motions share, and the values of each."""

    def __init__(
        self, function: str, system: System, names: Sequence[str], options: dict[str, Any]
    ) -> None:
        require_system(function, system)
        check_named(
            options.get("progress"),
            options.get("cancel"),
            **{word: options.get(word) for word in ("parameters", "definitions")},
        )
        self.system, self.names = system, names
        self.watched = {word: options.get(word) for word in ("threads", "progress", "cancel")}
        self._given = {word: x for word, x in options.items() if word not in _OF_MANY}
        inputs, start = options.get("inputs"), options.get("start")
        self._law = inputs if isinstance(inputs, AbstractInputLaw) else None
        specs = {} if self._law is not None else dict(inputs or {})
        self._others = {n: x for n, x in specs.items() if _is_shared(x)}
        self._named = dict(options.get("definitions") or {})
        self._texts = {n: x for n, x in self._named.items() if isinstance(x, str)}
        self._completed = start if isinstance(start, Start) else None
        parameters = options.get("parameters") or {}
        self.variants = Variants.read(
            system,
            function,
            "derivatives",
            state=None if isinstance(start, Start) else start,
            inputs={n: x for n, x in specs.items() if n not in self._others},
            parameters=parameters,
            others={"definition": {n: x for n, x in self._named.items() if n not in self._texts}},
            count=options.get("count"),
        )
        self._numeric = [n for n in specs if n not in self._others]
        self._parameters = tuple(parameters)
        self._names = [p.name for p in self.variants.system.model.parameters]
        self.count = self.variants.count
        self.request = read_sensitivities(function, system, names, self.one(0))

    def one(self, k: int) -> dict[str, Any]:
        """Options of the single call of one motion."""
        state, u, params = self.variants.at(k)
        numbers = self.variants.others["definition"]
        names = [q.name for q in self.variants.system.inputs]
        own = {n: float(u[names.index(n)]) for n in self._numeric}
        definitions = {n: float(x[min(k, len(x) - 1)]) for n, x in numbers.items()} | self._texts
        return self._given | {
            "start": state if self._completed is None else self._completed,
            "inputs": self._law if self._law is not None else {**self._others, **own},
            "parameters": {n: float(params[self._names.index(n)]) for n in self._parameters},
            "definitions": {n: definitions[n] for n in self._named},
        }

    def values(self, loop: ClosedLoop, block: range) -> tuple[Array, Array]:
        """(n, nb) base inputs and (n, np) parameters of the closed loop."""
        variants, n = self.variants, len(block)
        law = loop.generator.parameter_values if loop.generator else np.zeros(0)
        numbers = [
            np.broadcast_to(x if len(x) == 1 else x[block.start : block.stop], n)
            for x in (variants.others["definition"][name] for name in loop.numbers)
        ]
        p = np.column_stack(
            [variants.rows(variants.parameters, block), *numbers, np.tile(law, (n, 1))]
        )
        return variants.rows(variants.inputs, block), np.ascontiguousarray(p)

    def starts(
        self, loop: ClosedLoop, variables: Sequence[Variable], shared: LoopValues, block: range
    ) -> tuple[Array, Array]:
        """(n, ny) states at the start and their derivatives, (n, ny, nθ)."""
        base, p = self.values(loop, block)
        tangents = self._plain_tangents(loop, variables)
        if tangents is not None:
            start = self.variants.completed(
                block,
                self.request.run.start_time,
                guess=self.request.run.guess,
                speed_inputs=_speed_inputs(loop, shared, base, p, self.request.run.start_time),
            )
            law = loop.generator.start if loop.generator else np.zeros(0)
            n, num = len(block), loop.num_states
            states = np.zeros((n, num))
            known = np.concatenate([start.q, start.eta, start.mu], axis=1)
            states[:, : known.shape[1]] = known
            states[:, loop.num_simulated - len(law) : loop.num_simulated] = law
            return states, np.broadcast_to(tangents, (n, *tangents.shape))
        found = []
        for k in block:
            own = self.one(k)
            numbers = dataclasses.replace(shared, base=base[k - block.start], p=p[k - block.start])
            run = self.request.run
            found.append(begin(loop, numbers, variables, own["start"], run.start_time, run.guess))
        return np.array([state for _, _, state, _ in found]), np.array([t for *_, t in found])

    def _plain_tangents(self, loop: ClosedLoop, variables: Sequence[Variable]) -> Array | None:
        """(ny, nθ) derivatives of all starts, if they are plain: what is given is the state.

        So it is where coordinates are free, and independent speeds are given and no other ones.
        """
        system, start = loop.system, self.variants.state
        kin = system.kinematics
        turned = {k + j for k in kin.probe.quaternions for j in range(4)}
        places = {c.name: k for k, c in enumerate(kin.coordinates) if k not in turned}
        num_q = kin.num_coordinates
        places |= {s.name: num_q + k for k, s in enumerate(kin.independent_speeds)}
        is_plain = self._completed is None and set(start) <= set(places)
        if not is_plain or kin.probe.holonomic or kin.probe.num_places or system.auxiliary_states:
            return None
        columns = [v for v in variables for _ in v.values]
        tangents = np.zeros((loop.num_states, len(columns)))
        for k, variable in enumerate(columns):
            if variable.kind == START:
                tangents[places[variable.name], k] = 1.0
        return tangents

    def are_single_calls(self, loop: ClosedLoop) -> bool:
        """Whether runs stop on their way, where a law is updated or switches."""
        run = self.request.run
        if loop.generator is None:
            return False
        loop.generator.check_start(run.start_time, run.system.model.name)
        updates = loop.generator.update_times(run.start_time, run.end_time)
        return bool(updates.size) or has_switches(loop)

    def sizes(self, block: range) -> Array:
        """(n, nθ) what derivatives are taken by, of each motion."""
        variants, n = self.variants, len(block)
        inputs = variants.rows(variants.inputs, block)
        parameters = variants.rows(variants.parameters, block)
        columns = []
        for v in self.request.variables:
            if v.kind == TABLE:
                columns.append(np.tile(v.values, (n, 1)))
                continue
            if v.kind == PARAMETER:
                own = parameters[:, v.place]
            elif v.kind == INPUT:
                own = inputs[:, v.place]
            else:
                table = variants.others["definition"] if v.kind == NUMBER else variants.state
                x = table[v.name]
                own = np.broadcast_to(x if len(x) == 1 else x[block.start : block.stop], n)
            columns.append(own[:, None])
        return np.concatenate(columns, axis=1)


def _is_shared(spec: Any) -> bool:
    """Whether an input is the same for all: an expression, a function or a table."""
    return isinstance(spec, str | ca.Function | Table) or callable(spec)


def _speed_inputs(
    loop: ClosedLoop, shared: LoopValues, base: Array, p: Array, time: float
) -> Callable[[NDArray[np.int64], Array], Array]:
    """Speed inputs at the start, of places in a block and their coordinates."""
    num_u, num_w = len(loop.system.model.inputs), len(loop.system.model.speed_inputs)

    def speed_inputs(k: NDArray[np.int64], q: Array) -> Array:
        x = np.zeros((len(k), loop.num_simulated))
        x[:, : q.shape[1]] = q
        if loop.generator is not None:
            x[:, loop.system.num_states :] = loop.generator.start
        found = loop.input_function.map(
            np.full(len(k), time), x, driven_rows(shared.tables, base[k], time), p[k]
        )
        return found[:, num_u : num_u + num_w]

    return speed_inputs


def whole_loop(code: Code, settings: SegmentSettings, *, records_steps: bool = False) -> NativeLoop:
    """The loop of a whole run."""
    run = settings.run
    span, basis = (run.start_time, run.end_time), SegmentBasis(run.system)
    return piece_loop(code, settings, *span, basis, records_steps=records_steps)


def driven_rows(tables: Sequence[InputTable], base: Array, t: float) -> Array:
    """(n, nb) base inputs at a time, those of tables evaluated."""
    result = base.copy()
    if tables:
        now = driven(base[0], tables, t)
        for table in tables:
            result[:, table.index] = now[table.index]
    return result

"""A batch as code: all functions of a request, traced in a system's symbols and compiled together.

The same request can be compiled for several systems, that is for several choices of independent
speeds, and for any number of lanes; one lane is scalar code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.engines import (
    NativeFunction,
    Program,
    System,
    compile_native,
    compile_wide,
    interpret_rows,
    trace_program,
)
from noslip.simulation.batches.columns import trace_columns
from noslip.simulation.batches.lanes import TableSets
from noslip.simulation.batches.request import BatchRequest
from noslip.simulation.events import enclosures_program, trace_events
from noslip.simulation.input_laws import InputGenerator
from noslip.simulation.input_plan import (
    input_index,
    inputs_expression,
    table_entries,
    traced_inputs,
)
from noslip.simulation.loop.shape import rounded
from noslip.simulation.native_run import InputTable
from noslip.simulation.request import RunOptions
from noslip.simulation.time_features import TimeFeatures


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchCode:
    """A request compiled for a system.

    Parameters
    ----------
    system : in whose independent speeds it is written.
    programs : by the names in ``loop``.
    units : of the columns, by name.
    parameters, base_inputs : rows, one or one for each trajectory.
    tables : that drive base inputs.
    generator : of the inputs, if a law gives them.
    update_times : of that law.
    inputs_program : inputs as a function of (t, y, base inputs, parameters), if there is one.
    num_angles : angles that events follow; they are the last values of events and parameters.
    """

    system: System
    programs: Mapping[str, Program]
    units: Mapping[str, str]
    parameters: np.ndarray
    base_inputs: np.ndarray
    tables: TableSets
    generator: InputGenerator | None
    update_times: np.ndarray
    inputs_program: Program | None
    num_angles: int
    _compiled: Callable[[], dict[str, Any]]

    @property
    def functions(self) -> dict[str, int]:
        """Addresses of the programs compiled for lanes; they are valid as long as this lives."""
        compiled = self._compiled()
        for name, function in compiled.items():
            if function.input_sizes[3] > self.parameters.shape[1]:
                raise ValueError(
                    f"'{name}' reads {function.input_sizes[3]} parameters, a row has "
                    f"{self.parameters.shape[1]}"
                )
        return {name: function.address for name, function in compiled.items()}

    @property
    def num_generator_states(self) -> int:
        """Number of states of the law that gives the inputs."""
        return 0 if self.generator is None else len(self.generator.start)

    def model_parameters(self, trajectories: np.ndarray) -> np.ndarray:
        """(k, np) the model's own parameters of some trajectories."""
        count = len(self.system.model.parameters)
        return self.parameters[_rows(self.parameters, trajectories), :count]

    def inputs_at(self, trajectories: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[u; w; ẇ] of some trajectories at times and states, outside the loop."""
        base = self.base_inputs[_rows(self.base_inputs, trajectories)].copy()
        for row, (k, time) in enumerate(zip(trajectories, t, strict=True)):
            base[row] = self._with_tables(base[row], int(k), float(time))
        if self.inputs_program is None:
            return base
        function = _scalar(self.inputs_program)
        p = self.parameters[_rows(self.parameters, trajectories)]
        return function.map(t, y, base, p)[:, : len(self.system.inputs)]

    def events_at(
        self, trajectories: np.ndarray, t: np.ndarray, y: np.ndarray, *, is_compiled: bool
    ) -> np.ndarray:
        """Values of all events of some trajectories at times and states, outside the loop.

        Parameters
        ----------
        trajectories, t, y : (k,) numbers and times, s, and (k, ny) states.
        is_compiled : whether the code for lanes will run; else operations are interpreted.
        """
        program = self.programs["events"]
        u = np.zeros((len(t), program.input_sizes[2]))
        u[:, : len(self.system.inputs)] = self.inputs_at(trajectories, t, y)[
            :, : len(self.system.inputs)
        ]
        p = self.parameters[_rows(self.parameters, trajectories)]
        if is_compiled:
            found: np.ndarray = self._compiled()["events"].map(t, y, u, p)
            return found
        parts = [slice(k, k + ROWS) for k in range(0, len(t), ROWS)]
        return np.concatenate([interpret_rows(program, t[k], y[k], u[k], p[k]) for k in parts])

    def _with_tables(self, base: np.ndarray, trajectory: int, t: float) -> np.ndarray:
        tables = self.tables
        chosen = int(tables.sets[trajectory]) if tables.sets.size else 0
        for k, target in enumerate(tables.targets):
            place = chosen * tables.targets.size + k
            first, end = tables.first_segments[place], tables.end_segments[place]
            starts = tables.starts[first:end]
            segment = first + max(int(np.searchsorted(starts, t, side="right")) - 1, 0)
            base[target] = np.polyval(tables.coefficients[segment], t - tables.starts[segment])
        return base


def compile_batch(system: System, request: BatchRequest, *, is_on_device: bool) -> BatchCode:
    """Compile a request for a system, for lanes or for its device."""
    columns, events, lanes = request.columns, request.events, request.lanes
    start_time, end_time = request.run.start_time, request.run.end_time
    key = (
        *("batch", columns, tuple(events.items()), lanes, tuple(request.numbers)),
        *(tuple(request.definitions.items()), tuple(request.traced.items())),
        tuple(request.run.outputs.items()),
        is_on_device,
    )

    def make() -> _BatchFunctions:
        return _functions(system, request, is_on_device=is_on_device)

    # a law, and a CasADi function, may be another object with the same name the next time
    is_text = all(isinstance(spec, str) for spec in request.traced.values())
    made = system.cached(key, make) if is_text and request.law is None else make()
    law = made.generator
    update_times = law.update_times(start_time, end_time) if law else np.zeros(0)
    entries = [] if made.generator is not None else _table_entries(system, request)
    num_hoisted = _num_hoisted(system, is_on_device)
    parameters = _parameter_rows(system, request, made.generator, made.num_angles, num_hoisted)
    features = _features(request, made.features, parameters)
    return BatchCode(
        system=system,
        programs=made.programs,
        units=made.units,
        parameters=parameters,
        base_inputs=_base_rows(system, request, law),
        tables=_table_sets(entries, request.count, update_times, features, start_time, end_time),
        generator=made.generator,
        update_times=update_times,
        inputs_program=made.inputs_program,
        num_angles=made.num_angles,
        _compiled=made.compiled,
    )


#: Rows that are interpreted at a time.
ROWS = 4096


class _BatchFunctions(NamedTuple):
    """Functions that batches with the same columns, events and texts share.

    They are compiled for lanes when that is first asked for, which a device does not.
    """

    programs: dict[str, Program]
    compiled: Callable[[], dict[str, Any]]
    units: Mapping[str, str]
    generator: InputGenerator | None
    inputs_program: Program | None
    num_angles: int
    features: TimeFeatures | None


def _functions(system: System, request: BatchRequest, *, is_on_device: bool) -> _BatchFunctions:
    """Trace and compile all functions of a request."""
    columns, events, lanes = request.columns, request.events, request.lanes
    generator = request.law.generator(system) if request.law else None
    symbols = {name: ca.SX.sym(name) for name in request.numbers}
    definitions: dict[str, str | ca.SX] = {**symbols, **request.definitions}
    traced = traced_inputs(system, request.traced, definitions, generator)
    units, columns_traced = trace_columns(
        system, columns, generator, definitions, request.run.outputs
    )
    expressions: dict[str, ca.SX] = {"columns": columns_traced}
    near = ca.SX(0, 1)
    if traced:
        expressions["generator"] = inputs_expression(system, traced, generator)
    if generator is not None and generator.update is not None:
        expressions["update"] = generator.update
    if events:
        texts = {f"event '{name}'": text for name, text in events.items()}
        watched = trace_events(system, texts, definitions)
        expressions["events"], near = watched.expression, watched.near
    own_parameters = generator.parameters if generator else ca.SX(0, 1)
    hoisted = ca.SX.sym("hoisted", _num_hoisted(system, is_on_device))
    extra = ca.vertcat(hoisted, *symbols.values(), own_parameters)
    count = system.kinematics.symbols.params.shape[0] + extra.shape[0] + near.shape[0]
    extra = ca.vertcat(extra, ca.SX.sym("unused", rounded(count) - count), near)
    programs = {
        name: _program(system, name, expression, generator, extra)
        for name, expression in expressions.items()
    }
    if events:
        params = ca.vertcat(system.kinematics.symbols.params, extra)
        programs["enclosures"] = enclosures_program(system, watched, params)

    # on the processor; a device hoists by itself
    @functools.cache
    def compiled() -> dict[str, Any]:
        return _compile(list(programs.values()), lanes) | motion_in_lanes(system, lanes)

    return _BatchFunctions(
        programs=programs | motion_programs(system),
        compiled=compiled,
        units=units,
        generator=generator,
        inputs_program=programs.get("generator"),
        num_angles=near.shape[0],
        features=_trace_features(system, expressions["generator"], extra)
        if traced and generator is None
        else None,
    )


def _trace_features(system: System, inputs: ca.SX, extra: ca.SX) -> TimeFeatures:
    """Features of time of inputs, with the numbers of the request behind the parameters."""
    symbols = system.kinematics.symbols
    others = ca.vertcat(system.state, system.equations.inputs)
    params = ca.vertcat(symbols.params, extra)
    return TimeFeatures(system.fold(inputs), symbols.t, params, others)


def _features(
    request: BatchRequest, features: TimeFeatures | None, rows: np.ndarray
) -> list[np.ndarray]:
    """Times on which steps end for features of time in inputs: for all, or for each trajectory."""
    if features is None:
        return [np.zeros(0)]
    span = request.run.start_time, request.run.end_time
    own = rows[:, features.used]
    _, first, which = np.unique(own, axis=0, return_index=True, return_inverse=True)
    found = [each.knots for each in features.find_many(rows[first], *span)]
    return found if len(found) == 1 else [found[k] for k in which.ravel().tolist()]


def motion_in_lanes(system: System, lanes: int) -> dict[str, Any]:
    """Rates and projection of a system, compiled once for each number of lanes."""

    def make() -> dict[str, Any]:
        programs = dict(motion_programs(system))
        programs["rates"] = system.hoisted_rates.main_program
        return _compile(list(programs.values()), lanes)

    return system.cached(("motion in lanes", lanes), make)


def motion_programs(system: System) -> dict[str, Program]:
    """Rates and projection of a system."""

    def make() -> dict[str, Program]:
        programs = {"rates": system.program("rates", system.rates_expression)}
        if system.has_projection:
            programs["project"] = system.program("project", system.projection_expression)
        return programs

    return system.cached(("motion programs",), make)


def _compile(programs: list[Program], lanes: int) -> dict[str, Any]:
    if lanes == 1:
        return dict(compile_native(programs))
    return dict(compile_wide(programs, lanes))


def _scalar(program: Program) -> NativeFunction:
    return compile_native([program])[program.name]


def _program(
    system: System, name: str, expression: ca.SX, generator: InputGenerator | None, extra: ca.SX
) -> Program:
    """Operations of a function of (t, [x; z], inputs, [parameters; hoisted; numbers; …])."""
    symbols = system.kinematics.symbols
    states = generator.states if generator else ca.SX(0, 1)
    noise = generator.noise if generator else ca.SX(0, 1)
    given = (
        symbols.t,
        ca.vertcat(system.state, states),
        ca.vertcat(system.equations.inputs, noise),
        ca.vertcat(symbols.params, extra),
    )
    return trace_program(name, given, ca.densify(system.fold(expression)))


Entry = tuple[
    int, tuple[tuple[np.ndarray, np.ndarray], ...]
]  # base input; segments, one or one for each


def _table_entries(system: System, request: BatchRequest) -> list[Entry]:
    """Inputs that are tables, and their rates."""
    entries: list[Entry] = []
    for name, tables in request.tables.items():
        k, offset = input_index(system, name)
        found = [table_entries(system, table, k, offset, name) for table in tables]
        for rows in zip(*found, strict=True):
            entries.append((rows[0].index, tuple((x.starts, x.coefficients) for x in rows)))
    return entries


def _table_sets(
    entries: list[Entry],
    count: int,
    updates: np.ndarray,
    features: list[np.ndarray],
    start_time: float,
    end_time: float,
) -> TableSets:
    """Tables and knots in sets: one for all trajectories, or one for each if something differs."""
    differs = len(features) > 1 or any(len(segments) > 1 for _, segments in entries)
    num_sets = count if differs else 1
    first = np.zeros((num_sets, len(entries)), np.int64)
    end, at = first.copy(), 0
    starts, coefficients = [np.zeros(0)], [np.zeros((0, 4))]
    for k, (_, segments) in enumerate(entries):
        lengths = np.array([len(s) for s, _ in segments])
        offsets = at + np.concatenate([[0], np.cumsum(lengths)])
        first[:, k], end[:, k] = offsets[:-1], offsets[1:]
        at = int(offsets[-1])
        starts += [s for s, _ in segments]
        coefficients += [c for _, c in segments]
    knots = []
    for k in range(num_sets):
        times = [s[k if len(s) > 1 else 0][0] for _, s in entries]
        own = features[k if len(features) > 1 else 0]
        found = np.unique(np.concatenate([updates, own, *times]))
        knots.append(found[(found > start_time) & (found < end_time)])
    return TableSets(
        targets=np.array([target for target, _ in entries], np.int64),
        sets=np.arange(count) if num_sets > 1 else np.zeros(0, np.int64),
        first_segments=first.ravel(),
        end_segments=end.ravel(),
        starts=np.concatenate(starts),
        coefficients=np.concatenate(coefficients),
        knot_offsets=np.cumsum([0, *(len(k) for k in knots)]),
        knots=np.concatenate([np.zeros(0), *knots]),
    )


def shared_tables(tables: Sequence[InputTable], knots: np.ndarray, run: RunOptions) -> TableSets:
    """Tables of base inputs and knots that all trajectories share."""
    entries: list[Entry] = [(t.index, ((t.starts, t.coefficients),)) for t in tables]
    return _table_sets(entries, 1, np.zeros(0), [knots], run.start_time, run.end_time)


def _num_hoisted(system: System, is_on_device: bool) -> int:
    """Values behind the parameters that follow from them alone; a device computes its own."""
    return 0 if is_on_device else system.hoisted_rates.num_hoisted


def _parameter_rows(
    system: System,
    request: BatchRequest,
    generator: InputGenerator | None,
    num_angles: int,
    num_hoisted: int,
) -> np.ndarray:
    """[parameters; hoisted; numbers; the law's; unused; room for angles], one row or many."""
    own = request.parameters
    if num_hoisted:
        own = system.hoisted_rates.parameters(own)
    parts = [own, *(array[:, None] for array in request.numbers.values())]
    if generator is not None:
        parts.append(np.asarray(generator.parameter_values)[None])
    count = sum(part.shape[1] for part in parts) + num_angles
    parts.append(np.zeros((1, rounded(count) - count + num_angles)))
    return _stacked(parts)


def _base_rows(system: System, request: BatchRequest, law: InputGenerator | None) -> np.ndarray:
    """Inputs that are numbers, one row or one for each trajectory; the others are zero.

    Behind them is room for the random numbers of a law.
    """
    zero = np.zeros((1, 1))
    return _stacked(
        [
            *(request.constants.get(q.name, zero).reshape(-1, 1) for q in system.inputs),
            np.zeros((1, law.noise.shape[0] if law else 0)),
        ]
    )


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    count = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(p, (count, p.shape[1])) for p in parts], axis=1)


def _rows(table: np.ndarray, trajectories: np.ndarray) -> np.ndarray:
    """Rows of a table that some trajectories use; a table of one row is shared."""
    return trajectories if len(table) > 1 else np.zeros(len(trajectories), np.int64)

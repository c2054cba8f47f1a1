"""A run as a module of its own, for pages and programs without Python.

    run = PortableRun.of(system, duration=5, start={...}, inputs={...}, samples=301)
    run.module     a module of WebAssembly: the loop and all that the run needs
    run.image      its memory before the run
    run.plan       where in memory everything is, and how a run is made anew

The loop is that of a GPU's thread (`batch_code`), for one trajectory. Parameters are constants of
its record; what follows from them alone is computed once a run by functions of the module. Starts
are completed by functions of the module too (`periods.TracedStart`), which are compared here with
the completion in Python, over the ranges that a page offers. `plan` is data that JSON can hold;
``src/noslip/web/run.js`` is the program that follows it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import DeviceError, SimulationError
from noslip.engines import (
    AbstractDevice,
    DeviceKernel,
    DeviceMemory,
    Program,
    SharedFunctions,
    System,
    Target,
    WebModule,
    trace_program,
)
from noslip.kinematics import parameter_reader
from noslip.simulation.batches.batch import BatchMotions
from noslip.simulation.batches.batch_code import (
    BatchCode,
    LanePlan,
    LaneResults,
    Shared,
    empty_results,
    shape_of,
)
from noslip.simulation.batches.batch_request import (
    BatchRequest,
    known_columns,
    read_batch,
    trace_columns,
)
from noslip.simulation.batches.periods import TracedStart
from noslip.simulation.loop.loop import print_loop
from noslip.simulation.loop.writer import PLACES, SETUP, LoopWriter
from noslip.simulation.samples import ENDINGS, Ends, SegmentBasis, drive, next_bases
from noslip.simulation.starts.completion import complete_starts
from noslip.simulation.starts.start_layout import layout_of

#: Further columns, traced in the speeds in which the run begins: name → expression.
Picture = Callable[[System], Mapping[str, ca.SX]]
#: Steps of Newton's method that close the coordinates of a start.
CLOSING_STEPS = 16
#: Choices of independent speeds in a module, and bounds of their measures after segments from
#: which no others were better.
MOST_BASES, MOST_DEPTHS = 8, 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PortableRun:
    """A run as a module."""

    system: System  #: system in whose independent speeds it runs
    module: bytes  #: bytes
    image: bytes  #: bytes of memory from ``plan["begin"]`` on
    plan: dict[str, Any]  #: layout of the memory

    @classmethod
    def of(
        cls,
        system: System,
        *,
        duration: float,
        start: Mapping[str, float],
        texts: Mapping[str, str] = MappingProxyType({}),
        picture: Picture | None = None,
        trials: Sequence[tuple[Mapping[str, float], Mapping[str, float]]] = (),
        **options: Any,
    ) -> PortableRun:
        """The module of a run, and what a program needs to repeat it with other values.

        Parameters
        ----------
        system : compiled system.
        duration : s.
        start : all that a start gives, now and later; values may change, names do not.
        texts : start values that follow from the parameters, as expressions of them.
        picture : further columns.
        trials : parameters and start values over whose ranges completed starts are compared.
        options : options of :func:`simulate_batch`; samples are kept.

        Raises
        ------
        SimulationError : for inconsistent arguments, or where starts cannot be completed in a page.
        """
        asked = {"system": system, "duration": duration, "start": start, **options}
        request = read_batch(
            system, asked | {"keep": ("samples",), "count": 1, "device": _PageDevice()}
        )
        motions = BatchMotions(request, None)
        (basis, which), *_ = motions.begin
        system, names = basis.system, list(request.starts)
        code = motions.code(system)
        row = code.parameters[0]
        settings = _settings(system, names, trials, code)
        completing, first_state = _completing(system, names, motions, settings)
        systems = [system, *_others(asked, system, settings)]
        parts = [_Variant.of(here, motions, which, picture, row) for here in systems]
        beside, checked = _beside(parts[0], completing, texts, names, row)
        parts[0] = replace(parts[0], beside={**parts[0].beside, **beside})
        num_columns, units = parts[0].plan.num_columns, parts[0].units
        results = _results(motions.results, num_columns, request)
        kernels = [part.kernel(results) for part in parts]
        module = WebModule.of(
            [
                (made[0], text, part.beside)
                for part, (made, text) in zip(parts, kernels, strict=True)
            ]
        )
        results.states[0, : first_state.size] = first_state
        plan = parts[0].plan
        most = max(part.most for part in parts)
        vectors = Shared.vectors(plan, results) | {
            "floors": np.zeros(max(len(part.measures) for part in parts)),
            "queue": np.zeros(1, np.int64),
            "num_paused": np.zeros(1, np.int64),
            "work": np.zeros(max(made[1] for made, _ in kernels)),
            "driven": np.zeros(len(system.inputs)),
            "given": np.zeros(len(row) + len(names)),
            "scratch": np.zeros(max(most, num_columns, len(row), checked, 64) + 64),
        }
        record = np.zeros(1, SETUP)
        for name, number in Shared.numbers(plan, results).items():
            record[name] = number
        record["queue_length"] = 1
        places, image = _placed(module.stack_top, vectors, record)
        listed = [q.name for q in (*system.coordinates, *system.independent_speeds)]
        listed += [q.name for q in system.auxiliary_states]
        known = known_columns(system, code.generator)
        tables = plan.tables
        return cls(
            system=system,
            module=module.code,
            image=image,
            plan={
                "begin": module.stack_top,
                "stack": module.stack_top,
                "memory": module.stack_top + sum(_room(v) for v in vectors.values()),
                "places": PLACES,
                "ownParameters": len(PLACES),
                "bases": [
                    part.data(k, module, made[0], record, row)
                    for k, (part, (made, _)) in enumerate(zip(parts, kernels, strict=True))
                ],
                "vectors": places,
                "columns": [
                    *request.columns,
                    *(f"{n}.{k}" for n, x in parts[0].drawn.items() for k in range(x)),
                ],
                "units": units,
                "states": listed,
                "numCoordinates": len(system.coordinates),
                "numSpeeds": len(system.independent_speeds),
                "numForces": len(system.model.inputs),
                "numTables": int(tables.targets.size),
                "speeds": [s.name for s in system.speeds],
                "parameters": [p.name for p in system.model.parameters],
                "numbers": list(request.numbers),
                "inputs": [q.name for q in system.inputs],
                "isDriven": request.law is not None,
                "start": {name: float(value[0]) for name, value in request.starts.items()},
                "completion": {
                    "has": list(completing),
                    "states": [n for n in names if n in _state_names(system)],
                    "given": [n for n in names if n not in _state_names(system)],
                    "steps": CLOSING_STEPS,
                    "rows": [r.name for r in system.kinematics.rows],
                    "holonomic": list(system.kinematics.probe.holonomic),
                    "texts": list(texts),
                    "checked": [name for name in names if name in known],
                },
                "time": request.run.start_time,
                "duration": duration,
                "samples": len(plan.sample_times),
                "events": list(request.events),
                "endings": {code: ending.value for code, ending in ENDINGS.items()},
                "terminal": sorted(request.terminal),
                "model": system.model.name,
            },
        )

    def data(self) -> dict[str, Any]:
        """The plan with module and image as texts."""
        texts = {"module": self.module, "image": self.image}
        return self.plan | {k: base64.b64encode(x).decode("ascii") for k, x in texts.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Variant:
    """The run in the speeds of one system."""

    system: System  #: system with its independent speeds
    plan: LanePlan  #: plan of the loop
    #: programs, beside: programs of the loop, and further ones
    programs: Mapping[str, Program]
    beside: Mapping[str, Program]
    units: Mapping[str, str]  #: units of the columns, by name
    drawn: Mapping[str, int]  #: numbers of each further column, by name

    @classmethod
    def of(
        cls,
        system: System,
        motions: BatchMotions,
        which: np.ndarray,
        picture: Picture | None,
        row: np.ndarray,
    ) -> _Variant:
        """The part of a system."""
        code, kin, request = motions.code(system), system.kinematics, motions.request
        plan = motions.plan(SegmentBasis(system), which, is_on_device=True)
        units, traced = trace_columns(
            system, request.columns, code.generator, request.definitions, request.run.outputs
        )
        drawn = dict(picture(system)) if picture is not None else {}
        columns = ca.vertcat(traced, *drawn.values())
        programs = dict(code.programs) | {"columns": _traced(system, code, row, "columns", columns)}
        beside = {}
        if code.inputs_program is not None:
            beside["inputs"] = replace(code.inputs_program, name="inputs")
        matrix = kin.rule_matrix()
        if matrix is not None and any(m.kind == "basis" for m in system.singularity_measures):
            beside["tree"] = _traced(system, code, row, "tree", kin.v)
            rows = list(kin.basis_rule.rows)
            beside["matrix"] = _traced(system, code, row, "matrix", ca.vec(matrix[rows, :].T))
        return cls(
            system=system,
            plan=replace(plan, num_columns=int(columns.shape[0])),
            programs=programs,
            beside=beside,
            units=units,
            drawn={name: int(x.shape[0]) for name, x in drawn.items()},
        )

    @property
    def measures(self) -> Sequence[Any]:
        """What is watched for singular configurations."""
        return self.system.singularity_measures

    @property
    def most(self) -> int:
        """Most numbers that a further program leaves."""
        return max((program.output_size for program in self.beside.values()), default=0)

    def kernel(self, results: LaneResults) -> tuple[tuple[SharedFunctions, int], str]:
        """Functions and numbers that a pause takes, and the text of the loop."""
        shape = replace(shape_of(self.plan, results), target=Target.thread(on_stack=False))
        count = shape.num_parameters - shape.num_angles
        functions = SharedFunctions.printed(
            self.programs,
            range(count),
            len(PLACES),
            shape.num_parameters,
            beside=self.beside,
            with_heads=True,
        )
        return (functions, LoopWriter(shape).pause_size), print_loop(shape)

    def data(
        self,
        number: int,
        module: WebModule,
        functions: SharedFunctions,
        record: np.ndarray,
        row: np.ndarray,
    ) -> dict[str, Any]:
        """What a page knows of it."""
        system, kin, measures = self.system, self.system.kinematics, self.measures
        rule, names = kin.basis_rule, [s.name for s in system.speeds]
        own = [s.name for s in system.independent_speeds]
        floors = [SegmentBasis(system).floors.tolist()]
        depths = {m.kind: m.limit for m in measures}
        while "basis" in depths and len(floors) < MOST_DEPTHS:
            floors.append(SegmentBasis(system, len(floors)).floors.tolist())
        words = np.frombuffer(record.tobytes() + functions.values(row).tobytes(), np.uint8)
        return {
            "suffix": WebModule.suffix(number),
            "at": module.record(number),
            "words": base64.b64encode(words.tobytes()).decode("ascii"),
            "heads": functions.names,
            "floors": floors,
            "measures": [
                {"kind": m.kind, "limit": m.limit, "sentence": m.sentence} for m in measures
            ],
            "speeds": [names.index(name) for name in own] if set(own) <= set(names) else [],
            "names": own,
            "kept": list(kin.row_basis),
            "rule": {
                "rows": rule.rows,
                "kept": rule.kept,
                "dependent": rule.dependent,
                "holonomic": rule.holonomic,
                "sameRows": rule.same_rows or bool(system.costates),
                "numSpeeds": len(names),
            }
            if "matrix" in self.beside
            else None,
        }


def _traced(
    system: System, code: BatchCode, row: np.ndarray, name: str, expression: ca.SX
) -> Program:
    """Operations of a function of a run's (t, y, inputs, row of parameters)."""
    symbols, own = system.kinematics.symbols, code.generator
    extra = ca.SX.sym("extra", len(row) - symbols.params.shape[0])
    states = system.state if own is None else ca.vertcat(system.state, own.states)
    given = (symbols.t, states, system.equations.inputs)
    params = ca.vertcat(symbols.params, extra)
    return trace_program(name, (*given, params), ca.densify(system.fold(expression)))


def _beside(
    part: _Variant,
    completing: Mapping[str, Program],
    texts: Mapping[str, str],
    names: Sequence[str],
    row: np.ndarray,
) -> tuple[dict[str, Program], int]:
    """Programs that complete and check a start, and numbers that are checked."""
    system = part.system
    known = known_columns(system, None)
    given_now = [ca.SX(known[name][1]()) for name in names if name in known]
    check = ca.vertcat(system.kinematics.row_values, *given_now)
    symbols = system.kinematics.symbols
    extra = ca.SX.sym("extra", len(row) - symbols.params.shape[0])
    given = (symbols.t, system.state, system.equations.inputs, ca.vertcat(symbols.params, extra))

    def program(name: str, expression: ca.SX) -> Program:
        return trace_program(name, given, ca.densify(system.fold(expression)))

    beside = dict(completing) | {"check": program("check", check)}
    if texts:
        reader = parameter_reader(system.model, symbols.params)
        beside["texts"] = program("texts", ca.vertcat(*map(reader.scalar, texts.values())))
    return beside, int(check.shape[0])


class _Setting(NamedTuple):
    """Parameters and start values, and the state and inputs that Python completes of them."""

    parameters: Mapping[str, float]
    start: Mapping[str, float]
    values: np.ndarray
    state: np.ndarray
    inputs: np.ndarray


def _others(asked: dict[str, Any], home: System, settings: Sequence[_Setting]) -> list[System]:
    """Systems in whose speeds runs of these settings go on, those of the first setting before.

    A run that needs more than there is room for is followed no further.
    """
    if not any(m.kind == "basis" for m in home.singularity_measures):
        return []
    found = [home]

    def following(here: SegmentBasis, ends: Ends) -> list[SegmentBasis | None]:
        """The next bases, where there is room."""
        bases = next_bases(here, ends)
        for k, there in enumerate(bases):
            if there is None or there.system in found:
                continue
            if len(found) < MOST_BASES:
                found.append(there.system)
            else:
                bases[k] = None
        return bases

    for some in (settings[:1], settings[1:]):
        if some and len(found) < MOST_BASES:
            motions = _motions_of(asked, some)
            for here, _ in motions.begin:
                if here.system not in found and len(found) < MOST_BASES:
                    found.append(here.system)
            drive(motions, motions.begin, following)
    return found[1:]


def _motions_of(asked: dict[str, Any], settings: Sequence[_Setting]) -> BatchMotions:
    """Motions of settings, of which nothing but their ends is kept."""
    parameters: dict[str, np.ndarray] = {}
    for name in {name for each in settings for name in each.parameters}:
        column = np.array([each.parameters[name] for each in settings])
        parameters[name] = column if np.ptp(column) > 0 else column[:1]
    start = {name: np.array([each.start[name] for each in settings]) for name in settings[0].start}
    given = asked | {
        "start": start,
        "parameters": parameters,
        "count": len(settings),
        "keep": ("final",),
        "columns": (),
        "samples": 2,
    }
    return BatchMotions(read_batch(asked["system"], given), None)


class _PageDevice(AbstractDevice):
    """The device for which a request is read; nothing runs on it here."""

    name = "a page"

    def free_memory(self) -> int:
        return 1 << 30

    def allocate(self, nbytes: int) -> DeviceMemory:
        raise DeviceError("a page has no memory here", "PortableRun", "run the module")

    def synchronize(self) -> None:
        pass

    def kernel(self, text: str, tables: tuple[Any, ...] = ()) -> DeviceKernel:
        raise DeviceError("a page runs nothing here", "PortableRun", "run the module")


def _state_names(system: System) -> set[str]:
    """Names of a start that are states as they are."""
    return {q.name for q in (*system.coordinates, *system.auxiliary_states)}


def _results(old: LaneResults, columns: int, request: BatchRequest) -> LaneResults:
    """Room for the results of one run, with its start."""
    new = empty_results(
        1,
        old.states.shape[1],
        columns,
        old.event_counts.shape[1],
        request.max_events,
        has_minimum=False,
        has_maximum=False,
        samples=np.full((1, len(request.run.times), columns), np.nan),
        num_angles=old.angles.shape[1],
    )
    for name in ("states", "times", "steps_left", "angles"):
        getattr(new, name)[:] = getattr(old, name)
    return new


def _room(vector: np.ndarray) -> int:
    return -(-max(vector.nbytes, 8) // 64) * 64


def _placed(
    begin: int, vectors: Mapping[str, np.ndarray], record: np.ndarray
) -> tuple[dict[str, list[Any]], bytes]:
    """Address, length and kind of each vector, written into the record too; and what is there.

    What a run only writes comes last, and is no part of the image.
    """
    left = ("work", "samples", "final", "event_times", "driven", "given", "scratch")
    order = [n for n in vectors if n not in left] + [n for n in left if n in vectors]
    places: dict[str, list[Any]] = {}
    image, at = bytearray(), begin
    for name in order:
        vector = np.ascontiguousarray(vectors[name])
        kind = "i64" if vector.dtype.kind == "i" else "f64"
        places[name] = [at, int(vector.size), kind]
        if name in PLACES:
            record[name] = at
        if name not in left:
            image += vector.tobytes().ljust(_room(vector), b"\0")
        at += _room(vector)
    return places, bytes(image)


def _settings(
    system: System,
    names: Sequence[str],
    trials: Sequence[tuple[Mapping[str, float], Mapping[str, float]]],
    code: BatchCode,
) -> list[_Setting]:
    """Trials whose starts Python completes."""
    found = []
    for parameters, start in trials:
        values = system.parameters(dict(parameters))
        done = _completed(system, start, values, code)
        if done is not None:
            found.append(_Setting(parameters, start, values, *done))
    if not found:
        raise SimulationError(
            "no start could be completed",
            f"start of model '{system.model.name}'",
            "give a start that the constraints allow",
        )
    return found


def _completing(
    system: System, names: Sequence[str], motions: BatchMotions, settings: Sequence[_Setting]
) -> tuple[dict[str, Program], np.ndarray]:
    """Programs that complete starts as Python does, wherever it does; where they begin."""
    traced: TracedStart = TracedStart.of(system, names, is_driven=True)
    state_names = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    state_names += [q.name for q in system.auxiliary_states]
    own, nx = _state_names(system), system.num_states
    begun = motions.results.states[0]
    behind = [name for name in names if name not in own]
    given = [np.concatenate([s.values, [s.start[name] for name in behind]]) for s in settings]
    nq = len(system.coordinates)
    at_rest = begun[:nx].copy()
    at_rest[:nq] = layout_of(system).rest
    for first in (at_rest, begun[:nx]):
        begin = np.tile(first, (len(settings), 1))
        for row, each in zip(begin, settings, strict=True):
            for name in own.intersection(names):
                row[state_names.index(name)] = each.start[name]
        u, p = np.array([s.inputs for s in settings]), np.array(given)
        exact = np.array([s.state for s in settings])
        way = traced.way(exact, begin, u, p, nq, CLOSING_STEPS)
        if way:
            return way, first
    raise SimulationError(
        "starts of this run are completed in Python alone: rows repeat each other there, or "
        "several configurations fit",
        f"start of model '{system.model.name}' as a module",
        "give the coordinates that the constraints determine, too, or offer fewer values to change",
    )


def _completed(
    system: System, start: Mapping[str, float], values: np.ndarray, code: BatchCode
) -> tuple[np.ndarray, np.ndarray] | None:
    """State and inputs of a start; None where there is none."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    z = np.zeros(0) if code.generator is None else np.asarray(code.generator.start)
    nx, kept = system.num_states, {"u": np.zeros(len(system.inputs))}

    def speed_inputs(trajectories: np.ndarray, q: np.ndarray) -> np.ndarray:
        y = np.zeros((len(q), nx + z.size))
        y[:, : q.shape[1]], y[:, nx:] = q, z
        found: np.ndarray = code.inputs_at(trajectories, np.zeros(len(q)), y)
        kept["u"] = found[0]
        return found[:, num_u : num_u + num_w]

    try:
        starts = complete_starts(
            system,
            {name: np.array([x]) for name, x in start.items()},
            count=1,
            time=0.0,
            parameters=values[None],
            speed_inputs=speed_inputs if num_w else None,
        )
    except SimulationError:
        return None
    parts = [starts.q, starts.eta, starts.mu, np.zeros((1, 1 if system.does_work else 0))]
    return np.concatenate(parts, axis=1)[0], kept["u"]

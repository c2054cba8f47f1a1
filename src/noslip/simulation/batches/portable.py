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
from typing import Any

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
    LaneResults,
    Shared,
    empty_results,
    shape_of,
)
from noslip.simulation.batches.batch_request import known_columns, read_batch, trace_columns
from noslip.simulation.batches.periods import TracedStart
from noslip.simulation.loop.loop import print_loop
from noslip.simulation.loop.writer import PLACES, SETUP, LoopWriter
from noslip.simulation.starts.completion import complete_starts
from noslip.simulation.starts.start_layout import layout_of

#: Further columns, traced in the speeds in which the run begins: name → expression.
Picture = Callable[[System], Mapping[str, ca.SX]]
#: Steps of Newton's method that close the coordinates of a start.
CLOSING_STEPS = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PortableRun:
    """A run as a module.

    Parameters
    ----------
    system : in whose independent speeds it runs.
    module : bytes.
    image : bytes of memory from ``plan["begin"]`` on.
    plan : where everything is.
    """

    system: System
    module: bytes
    image: bytes
    plan: dict[str, Any]

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
        options : as for :func:`simulate_batch`; samples are kept.

        Raises
        ------
        SimulationError : for inconsistent arguments, or where starts cannot be completed in a page.
        """
        asked = {"system": system, "duration": duration, "start": start, **options}
        request = read_batch(
            system, asked | {"keep": ("samples",), "count": 1, "device": _PageDevice()}
        )
        if request.law is not None:
            raise SimulationError(
                "the inputs come from a law of Python",
                f"run of model '{system.model.name}' as a module",
                "give inputs as numbers, expressions or tables",
            )
        system = request.run.system
        motions = BatchMotions(request, None)
        (basis, which), *_ = motions.begin
        if basis.system is not system:
            raise SimulationError(
                "the independent speeds do not determine the motion at the start, and others are "
                "not in the module",
                f"start of model '{system.model.name}'",
                "start in another configuration, or derive the equations in other independent "
                "speeds",
            )
        code, plan = motions.code(system), motions.plan(basis, which, is_on_device=True)
        units, traced = trace_columns(
            system, request.columns, None, request.definitions, request.run.outputs
        )
        drawn = dict(picture(system)) if picture is not None else {}
        columns = ca.vertcat(traced, *drawn.values())
        num_columns = int(columns.shape[0])
        results = _results(motions.results, len(plan.sample_times), num_columns, request.max_events)
        plan = replace(plan, num_columns=num_columns)
        shape = replace(shape_of(plan, results), target=Target.thread(on_stack=False))
        row = plan.parameters[0]

        def program(name: str, expression: ca.SX) -> Program:
            symbols = system.kinematics.symbols
            extra = ca.SX.sym("extra", len(row) - symbols.params.shape[0])
            given = (symbols.t, system.state, system.equations.inputs)
            params = ca.vertcat(symbols.params, extra)
            return trace_program(name, (*given, params), ca.densify(system.fold(expression)))

        programs = dict(code.programs) | {"columns": program("columns", columns)}
        names = list(request.starts)
        begun = motions.results.states[0]
        completing, first_state = _completing(system, names, begun, trials, code)
        rows = [r.name for r in system.kinematics.rows]
        known = known_columns(system, None)
        given_now = [ca.SX(known[name][1]()) for name in names if name in known]
        check = ca.vertcat(system.kinematics.row_values, *given_now)
        beside = dict(completing) | {"check": program("check", check)}
        if texts:
            reader = parameter_reader(system.model, system.kinematics.symbols.params)
            values = ca.vertcat(*map(reader.scalar, texts.values()))
            beside["texts"] = program("texts", values)
        if code.inputs_program is not None:
            beside["inputs"] = replace(code.inputs_program, name="inputs")
        first, count = len(PLACES), shape.num_parameters - shape.num_angles
        functions = SharedFunctions.printed(
            programs, range(count), first, shape.num_parameters, beside=beside, with_heads=True
        )
        module = WebModule.of(functions, print_loop(shape), [*beside])
        results.states[0, : first_state.size] = first_state
        vectors = Shared.vectors(plan, results) | {
            "queue": np.zeros(1, np.int64),
            "num_paused": np.zeros(1, np.int64),
            "work": np.zeros(LoopWriter(shape).pause_size),
            "driven": np.zeros(len(system.inputs)),
            "given": np.zeros(shape.num_parameters + len(names)),
            "scratch": np.zeros(max(num_columns, len(row), begun.size, check.shape[0], 64) + 64),
        }
        record = np.zeros(1, SETUP)
        for name, number in Shared.numbers(plan, results).items():
            record[name] = number
        record["queue_length"] = 1
        places, image = _placed(module.stack_top, vectors, record)
        words = np.frombuffer(record.tobytes() + functions.values(row).tobytes(), np.uint8)
        listed = [q.name for q in (*system.coordinates, *system.independent_speeds)]
        listed += [q.name for q in system.auxiliary_states]
        return cls(
            system=system,
            module=module.code,
            image=image,
            plan={
                "begin": module.stack_top,
                "stack": module.stack_top,
                "memory": module.stack_top + sum(_room(v) for v in vectors.values()),
                "record": {
                    "at": module.record,
                    "words": base64.b64encode(words.tobytes()).decode("ascii"),
                    "places": PLACES,
                    "parameters": first,
                    "heads": functions.names,
                },
                "vectors": places,
                "columns": [
                    *request.columns,
                    *(f"{n}.{k}" for n, x in drawn.items() for k in _of(x)),
                ],
                "units": units,
                "states": listed,
                "numCoordinates": len(system.coordinates),
                "numSpeeds": len(system.independent_speeds),
                "numForces": len(system.model.inputs),
                "parameters": [p.name for p in system.model.parameters],
                "numbers": list(request.numbers),
                "inputs": [q.name for q in system.inputs],
                "start": {name: float(value[0]) for name, value in request.starts.items()},
                "completion": {
                    "has": list(completing),
                    "states": [n for n in names if n in _state_names(system)],
                    "given": [n for n in names if n not in _state_names(system)],
                    "steps": CLOSING_STEPS,
                    "rows": rows,
                    "texts": list(texts),
                    "checked": [name for name in names if name in known],
                },
                "time": request.run.start_time,
                "duration": duration,
                "samples": len(plan.sample_times),
                "events": list(request.events),
                "terminal": sorted(request.terminal),
                "sentences": [m.sentence for m in system.singularity_measures],
                "model": system.model.name,
            },
        )

    def data(self) -> dict[str, Any]:
        """The plan with module and image as texts."""
        texts = {"module": self.module, "image": self.image}
        return self.plan | {k: base64.b64encode(x).decode("ascii") for k, x in texts.items()}


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


def _of(expression: ca.SX) -> range:
    return range(int(expression.shape[0]))


def _state_names(system: System) -> set[str]:
    """Names of a start that are states as they are."""
    return {q.name for q in (*system.coordinates, *system.auxiliary_states)}


def _results(old: LaneResults, samples: int, columns: int, events: int) -> LaneResults:
    """Room for the results of one run, with its start."""
    new = empty_results(
        1,
        old.states.shape[1],
        columns,
        old.event_counts.shape[1],
        events,
        has_minimum=False,
        has_maximum=False,
        samples=np.full((1, samples, columns), np.nan),
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


def _completing(
    system: System,
    names: Sequence[str],
    begun: np.ndarray,
    trials: Sequence[tuple[Mapping[str, float], Mapping[str, float]]],
    code: Any,
) -> tuple[dict[str, Program], np.ndarray]:
    """Programs that complete starts as Python does, wherever it does; where they begin."""
    traced: TracedStart = TracedStart.of(system, names, is_driven=True)
    state_names = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    state_names += [q.name for q in system.auxiliary_states]
    own = _state_names(system)
    nx = system.num_states
    exact, starts, inputs, given = [], [], [], []
    for parameters, start in trials:
        values = system.parameters(dict(parameters))
        found = _completed(system, start, values, code)
        if found is None:
            continue
        exact.append(found[0])
        inputs.append(found[1])
        starts.append(start)
        behind = [start[name] for name in names if name not in own]
        given.append(np.concatenate([values, behind]))
    if not exact:
        raise SimulationError(
            "no start could be completed",
            f"start of model '{system.model.name}'",
            "give a start that the constraints allow",
        )
    nq = len(system.coordinates)
    at_rest = begun[:nx].copy()
    at_rest[:nq] = layout_of(system).rest
    for first in (at_rest, begun[:nx]):
        begin = np.tile(first, (len(exact), 1))
        for row, start in zip(begin, starts, strict=True):
            for name in own.intersection(names):
                row[state_names.index(name)] = start[name]
        u, p = np.array(inputs), np.array(given)
        way = traced.way(np.array(exact), begin, u, p, nq, CLOSING_STEPS)
        if way:
            return way, first
    raise SimulationError(
        "starts of this run are completed in Python alone: rows repeat each other there, or "
        "several configurations fit",
        f"start of model '{system.model.name}' as a module",
        "give the coordinates that the constraints determine, too, or offer fewer values to change",
    )


def _completed(
    system: System, start: Mapping[str, float], values: np.ndarray, code: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """State and inputs of a start; None where there is none."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    nx, kept = system.num_states, {"u": np.zeros(len(system.inputs))}

    def speed_inputs(trajectories: np.ndarray, q: np.ndarray) -> np.ndarray:
        y = np.zeros((len(q), nx))
        y[:, : q.shape[1]] = q
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

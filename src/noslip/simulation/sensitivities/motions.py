"""Many motions that are differentiated: what they share, the values of each, and their results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.engines import System, require_system
from noslip.simulation.batches.variants import Variants, read_variants
from noslip.simulation.input_laws import AbstractInputLaw, Table
from noslip.simulation.input_plan import driven
from noslip.simulation.native_run import InputTable, NativeLoop
from noslip.simulation.request import check_named
from noslip.simulation.segments import SegmentBasis
from noslip.simulation.sensitivities.closed_loop import ClosedLoop, LoopValues
from noslip.simulation.sensitivities.law_switches import has_switches
from noslip.simulation.sensitivities.request import read_sensitivities
from noslip.simulation.sensitivities.segments import Code, SegmentSettings, piece_loop
from noslip.simulation.sensitivities.start import begin
from noslip.simulation.sensitivities.variables import (
    INPUT,
    NUMBER,
    PARAMETER,
    START,
    TABLE,
    Variable,
)
from noslip.simulation.starts.completion import Start

#: Motions that are done together.
BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbstractDerivatives:
    """What results of many differentiated motions have in common.

    Parameters
    ----------
    model : name of the mechanism.
    count : motions, n.
    success : (n,) whether each came to its end; the numbers of others are nan.
    messages : motion → why it did not.
    steps, nfev : (n,) of the simulations.
    variants : what differs between the motions.
    """

    model: str
    count: int
    success: NDArray[np.bool_] = field(repr=False)
    messages: dict[int, str] = field(repr=False)
    steps: NDArray[np.int64] = field(repr=False)
    nfev: NDArray[np.int64] = field(repr=False)
    variants: Variants = field(repr=False)

    def __len__(self) -> int:
        return self.count

    def checked(self, k: int) -> int:
        """The number of a motion that came to its end; those below zero count from the end."""
        if not -self.count <= k < self.count:
            raise IndexError(f"there are {self.count} motions, and number {k} is requested")
        k %= self.count
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
        self.variants = read_variants(
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

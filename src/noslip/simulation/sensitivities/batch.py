"""`gradient_batch` and `simulate_sensitivities_batch`: derivatives of many motions.

The code, its memory and everything that is the same for all motions are made once. Each motion is
then a run of that code in native loops, forward and, for a gradient, back (`gradient.py`), with
the bits of the single call; starts are completed and outputs evaluated for a block at a time. A
motion that needs more than that, such as other independent speeds on its way or steps that end
where a law saturates, is a single call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.base import Array, NoslipError, SimulationError, check_memory, nearest
from noslip.engines import AbstractDevice, System
from noslip.simulation import rules
from noslip.simulation.batches.code import shared_tables
from noslip.simulation.batches.device import DeviceCode, run_on_device
from noslip.simulation.batches.lanes import LanePlan, empty_results
from noslip.simulation.batches.request import SINGLE_PROJECTION, read_device, read_precision
from noslip.simulation.batches.variants import DEVICE_BLOCK, Variants, in_blocks, read_variants
from noslip.simulation.input_laws import AbstractInputLaw, Table
from noslip.simulation.memory import MemoryTemplate
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.recorded_run import RepeatedRun
from noslip.simulation.runner import run_memory
from noslip.simulation.segments import SegmentBasis
from noslip.simulation.sensitivities.adjoint import by_values, inputs_instead
from noslip.simulation.sensitivities.closed_loop import (
    ClosedLoop,
    LoopValues,
    driven,
    numbers_of,
    segment_at,
)
from noslip.simulation.sensitivities.forward import (
    check_free,
    simulate_sensitivities,
    tangent_settings,
    tangent_tolerances,
)
from noslip.simulation.sensitivities.forward_code import TangentCode, tangent_code
from noslip.simulation.sensitivities.gradient import Gradient, gradient
from noslip.simulation.sensitivities.gradient_code import GradientCode, gradient_code
from noslip.simulation.sensitivities.law_switches import check_rounding, has_switches
from noslip.simulation.sensitivities.objective import Measurements, check_objective
from noslip.simulation.sensitivities.request import SensitivityRequest, read_sensitivities
from noslip.simulation.sensitivities.result import Sensitivities
from noslip.simulation.sensitivities.segments import Code, SegmentSettings, plan_piece
from noslip.simulation.sensitivities.start import begin
from noslip.simulation.sensitivities.variables import (
    INPUT,
    NUMBER,
    PARAMETER,
    START,
    TABLE,
    Variable,
)
from noslip.simulation.single_run import PROJECTION_TOLERANCE
from noslip.simulation.starts.completion import Start

if TYPE_CHECKING:
    import xarray

#: Motions that are done together.
BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientBatch:
    """A number made from each of many motions, and its derivatives. Made by `gradient_batch`.

    ``batch["m"]`` are the derivatives by m; ``batch[k]`` is the :class:`Gradient` of a motion.

    Parameters
    ----------
    model : name of the mechanism.
    count : motions.
    success : (n,) whether each came to its end; the numbers of others are nan.
    messages : motion → why it did not.
    value, terminal, running, misfit : (n,) J and its parts.
    derivatives : name → (n,), or (n, k) by the k values of a table.
    units : of what derivatives are taken by.
    steps, nfev : (n,) of the simulations.
    """

    model: str
    count: int
    success: NDArray[np.bool_] = field(repr=False)
    messages: dict[int, str] = field(repr=False)
    value: Array = field(repr=False)
    terminal: Array = field(repr=False)
    running: Array = field(repr=False)
    misfit: Array = field(repr=False)
    derivatives: dict[str, Array] = field(repr=False)
    units: dict[str, str] = field(repr=False)
    steps: NDArray[np.int64] = field(repr=False)
    nfev: NDArray[np.int64] = field(repr=False)
    variants: Variants = field(repr=False)

    @property
    def vectors(self) -> Array:
        """(n, k) all derivatives of each motion one after the other, in the order asked for."""
        return np.column_stack([x.reshape(self.count, -1) for x in self.derivatives.values()])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: str | int) -> Any:
        """Derivatives by a name, or the gradient of one motion."""
        if isinstance(key, str):
            if key not in self.derivatives:
                raise SimulationError(
                    f"there is no derivative with respect to '{key}'",
                    f"gradients of model '{self.model}'",
                    nearest(key, list(self.derivatives)),
                )
            return self.derivatives[key]
        k = _checked(self, key)
        return Gradient(
            model=self.model,
            value=float(self.value[k]),
            terminal=float(self.terminal[k]),
            running=float(self.running[k]),
            misfit=float(self.misfit[k]),
            derivatives={
                name: float(x[k]) if x.ndim == 1 else x[k] for name, x in self.derivatives.items()
            },
            units=self.units,
            steps=int(self.steps[k]),
            nfev=int(self.nfev[k]),
        )

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``variant``: ``value`` and ``by.…``; values of a table over ``index.…``."""
        import xarray

        data: dict[str, Any] = {"value": ("variant", self.value)}
        for name, x in self.derivatives.items():
            dims = ("variant",) if x.ndim == 1 else ("variant", f"index.{name}")
            data[f"by.{name}"] = (dims, x, {"units": f"(unit of value)/({self.units[name]})"})
        coords = self.variants.labels()
        return xarray.Dataset(data, coords=coords, attrs={"model": self.model})

    def __repr__(self) -> str:
        good = int(np.count_nonzero(self.success))
        return (
            f"GradientBatch of '{self.model}': {self.count} motions, {good} to the end, by "
            f"{', '.join(self.derivatives)}\nnext: .value, ['{next(iter(self.derivatives))}'], "
            ".vectors, [k], .to_xarray()"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivitiesBatch:
    """Derivatives of many motions. Made by :func:`simulate_sensitivities_batch`.

    ``batch["platform.x", "m"]`` is ∂(platform.x)/∂m at the samples, (n, ns); ``batch[k]`` simulates
    one motion again, for its :class:`Sensitivities` with everything a trajectory has.

    Parameters
    ----------
    model : name of the mechanism.
    count : motions, n.
    success : (n,) whether each came to its end; the numbers of others are nan.
    messages : motion → why it did not.
    t : (ns,) times of the samples, s.
    names, units : of what derivatives are taken by, k of them; a table has one for each value.
    values : column → (n, ns): coordinates, speeds and outputs.
    derivatives : column → (n, ns, k).
    column_units : of the columns, by name; of outputs none.
    steps, nfev : (n,) of the simulations.
    """

    model: str
    count: int
    success: NDArray[np.bool_] = field(repr=False)
    messages: dict[int, str] = field(repr=False)
    t: Array = field(repr=False)
    names: tuple[str, ...]
    units: tuple[str, ...] = field(repr=False)
    values: dict[str, Array] = field(repr=False)
    derivatives: dict[str, Array] = field(repr=False)
    column_units: dict[str, str] = field(repr=False)
    steps: NDArray[np.int64] = field(repr=False)
    nfev: NDArray[np.int64] = field(repr=False)
    variants: Variants = field(repr=False)
    _again: Callable[[int], Sensitivities] = field(repr=False)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: str | tuple[str, str] | int) -> Any:
        """Derivatives of a column, by one name or by all; or the sensitivities of one motion."""
        if isinstance(key, int | np.integer):
            return self._again(_checked(self, int(key)))
        column, *rest = (key,) if isinstance(key, str) else key
        where = f"sensitivities of model '{self.model}'"
        if column not in self.derivatives:
            raise SimulationError(
                f"'{column}' was not differentiated", where, nearest(column, list(self.derivatives))
            )
        if not rest:
            return self.derivatives[column]
        if rest[0] not in self.names:
            raise SimulationError(
                f"nothing was differentiated with respect to '{rest[0]}'",
                where,
                nearest(str(rest[0]), list(self.names)),
            )
        return self.derivatives[column][:, :, self.names.index(rest[0])]

    def to_xarray(self) -> xarray.Dataset:
        """Dataset of the derivatives over ``variant``, ``time`` and ``by``."""
        import xarray

        data = {
            name: (
                ("variant", "time", "by"),
                x,
                {"units": f"({self.column_units.get(name, '1')})/(unit of by)"},
            )
            for name, x in self.derivatives.items()
        }
        coords = self.variants.labels() | {
            "time": ("time", self.t, {"units": "s"}),
            "by": ("by", list(self.names)),
            "by_unit": ("by", list(self.units)),
        }
        return xarray.Dataset(data, coords=coords, attrs={"model": self.model})

    def __repr__(self) -> str:
        good = int(np.count_nonzero(self.success))
        first = next(iter(self.derivatives), "column")
        return (
            f"SensitivitiesBatch of '{self.model}': {self.count} motions, {good} to the end, "
            f"{len(self.t)} samples\nnext: ['{first}', '{self.names[0]}'], [k], .to_xarray()"
        )


def _checked(batch: GradientBatch | SensitivitiesBatch, k: int) -> int:
    """The number of a motion that came to its end; those below zero count from the end."""
    if not -batch.count <= k < batch.count:
        raise IndexError(f"there are {batch.count} motions, and number {k} is requested")
    k %= batch.count
    if not batch.success[k]:
        raise SimulationError(
            batch.messages.get(k, "it was not simulated: the work was cancelled"),
            f"derivatives of model '{batch.model}', motion {k}",
            "check success first",
        )
    return k


def gradient_batch(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    terminal: str | None = None,
    running: str | None = None,
    measurements: Measurements | None = None,
    start: Mapping[str, ArrayLike] | Start | None = None,
    guess: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | AbstractInputLaw | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    definitions: Mapping[str, Any] | None = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    start_time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> GradientBatch:
    """Derivatives of a number made from each of many motions.

    Wherever :func:`gradient` takes a number as a start value, input, parameter or definition, a
    list of numbers may be given too, one for each motion. Nothing is raised for a motion that
    fails: the result says why.

    Parameters
    ----------
    system, with_respect_to, duration, terminal, running, measurements : as in :func:`gradient`.
    start, guess, inputs, parameters, definitions : as there; expressions, tables, a law, and a
        guess are those of all motions.
    method, rtol, atol, step, max_step, max_steps, start_time : as in :func:`noslip.simulate`.
    count : number of motions, where no list says it.
    threads : all cores if not given.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for inconsistent arguments, and a start that cannot be completed.
    """
    given = _arguments(locals())
    motions = _DifferentiatedMotions("gradient_batch", given)
    request = motions.request
    check_objective(request.run, terminal, running, measurements)
    code = gradient_code(
        request.run.system,
        request.run.inputs,
        request.run.definitions,
        request.variables,
        terminal=terminal,
        running=running,
        misfit=measurements.misfit if measurements else None,
        measured=tuple(measurements.values) if measurements else (),
    )
    work = _Gradients(motions, code, measurements)
    in_blocks(
        motions.count, work.fill, size=BLOCK, threads=threads, progress=progress, cancel=cancel
    )
    return work.result()


def simulate_sensitivities_batch(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    start: Mapping[str, ArrayLike] | Start | None = None,
    guess: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | AbstractInputLaw | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    outputs: Mapping[str, str] | None = None,
    samples: int | Sequence[float] | Array = 201,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    definitions: Mapping[str, Any] | None = None,
    start_time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    device: Any = "cpu",
    precision: str = "double",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> SensitivitiesBatch:
    """Many motions of a system, and their exact derivatives.

    Wherever :func:`simulate_sensitivities` takes a number as a start value, input, parameter or
    definition, a list of numbers may be given too, one for each motion. Nothing is raised for a
    motion that fails: the result says why.

    Parameters
    ----------
    system, with_respect_to, duration, outputs : as in :func:`simulate_sensitivities`.
    start, guess, inputs, parameters, definitions : as there; expressions, tables, a law, and a
        guess are those of all motions.
    samples, method, rtol, atol, step, max_step, max_steps, start_time : as in
        :func:`noslip.simulate`.
    count : number of motions, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one motion, its derivatives among its states.
    precision : ``"double"``, or ``"single"`` on a GPU, as in :func:`simulate_batch`.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for inconsistent arguments, and a start that cannot be completed.
    """
    given = _arguments(locals())
    motions = _DifferentiatedMotions("simulate_sensitivities_batch", given)
    texts = dict(outputs or {})
    check_free(motions.request.run.system, texts)
    run = motions.request.run
    code = tangent_code(run.system, run.inputs, run.definitions, motions.request.variables, texts)
    where = motions.variants.where
    card = read_device(device, where)
    is_single = read_precision(precision, run, card, where)
    work = _Tangents(motions, code, texts)
    if card is None or work.are_single_calls:
        in_blocks(
            motions.count, work.fill, size=BLOCK, threads=threads, progress=progress, cancel=cancel
        )
        return work.result()
    # one kernel at a time, which has all of the card; Ctrl-C and cancel end it
    for first in range(0, motions.count, DEVICE_BLOCK):
        block = range(first, min(first + DEVICE_BLOCK, motions.count))
        report = _of_block(progress, first, motions.count)
        if work.fill_on_device(block, card, is_single, report, cancel):
            break
    return work.result()


def _of_block(
    progress: Callable[[float], object] | None, first: int, count: int
) -> Callable[[int], object] | None:
    """Progress by the number of motions of a block that are done."""
    return None if progress is None else lambda done: progress((first + done) / count)


_OF_BATCHES = ("count", "threads", "device", "precision", "progress", "cancel")


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call that the single one has, too."""
    return {name: x for name, x in given.items() if name not in _OF_BATCHES[1:]}


class _DifferentiatedMotions:
    """Data that many differentiated motions share, and the values of each."""

    def __init__(self, function: str, given: dict[str, Any]) -> None:
        self._given = {name: x for name, x in given.items() if name != "count"}
        inputs, start = given["inputs"], given["start"]
        self._law = inputs if isinstance(inputs, AbstractInputLaw) else None
        specs = {} if self._law is not None else dict(inputs or {})
        self._others = {n: x for n, x in specs.items() if _is_shared(x)}
        named = dict(given["definitions"] or {})
        self._texts = {n: x for n, x in named.items() if isinstance(x, str)}
        self.variants = read_variants(
            given["system"],
            function,
            "derivatives",
            state={} if isinstance(start, Start) else start,
            inputs={n: x for n, x in specs.items() if n not in self._others},
            parameters=given["parameters"],
            others={"definition": {n: x for n, x in named.items() if n not in self._texts}},
            count=given["count"],
        )
        self._numeric = [n for n in specs if n not in self._others]
        self._parameters = {n: None for n in given["parameters"] or {}}
        self._names = [p.name for p in self.variants.system.model.parameters]
        self.count = self.variants.count
        self.request: SensitivityRequest = read_sensitivities(function, self.one(0))

    def one(self, k: int) -> dict[str, Any]:
        """Arguments of the single call of one motion."""
        state, u, params = self.variants.at(k)
        numbers = self.variants.others["definition"]
        names = [q.name for q in self.variants.system.inputs]
        own = {n: float(u[names.index(n)]) for n in self._numeric}
        start = self._given["start"]
        definitions = {n: float(x[min(k, len(x) - 1)]) for n, x in numbers.items()}
        order = dict(self._given["definitions"] or {})
        return self._given | {
            "start": start if isinstance(start, Start) or start is None else state,
            "inputs": self._law if self._law is not None else {**self._others, **own},
            "parameters": {n: float(params[self._names.index(n)]) for n in self._parameters},
            "definitions": {n: {**self._texts, **definitions}[n] for n in order},
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
        system, start = loop.system, self._given["start"]
        kin = system.kinematics
        turned = {k + j for k in kin.probe.quaternions for j in range(4)}
        places = {c.name: k for k, c in enumerate(kin.coordinates) if k not in turned}
        num_q = kin.num_coordinates
        places |= {s.name: num_q + k for k, s in enumerate(kin.independent_speeds)}
        is_plain = not isinstance(start, Start) and set(start or {}) <= set(places)
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
            np.full(len(k), time), x, _driven(shared, base[k], time), p[k]
        )
        return found[:, num_u : num_u + num_w]

    return speed_inputs


def _driven(shared: LoopValues, base: Array, t: float) -> Array:
    """(n, nb) base inputs at a time, those of tables evaluated."""
    now, result = driven(shared.base, shared.tables, t), base.copy()
    for table in shared.tables:
        result[:, table.index] = now[table.index]
    return result


def _plan(code: Code, settings: SegmentSettings, state: Array) -> IntegrationPlan:
    """The plan of a whole run."""
    run = settings.run
    basis = SegmentBasis(run.system)
    return plan_piece(code, settings, run.start_time, run.end_time, state, basis)


class _Gradients:
    """Gradients of all motions, filled block by block."""

    def __init__(
        self, motions: _DifferentiatedMotions, code: GradientCode, measurements: Measurements | None
    ) -> None:
        self._motions, self._code, self._measurements = motions, code, measurements
        request = motions.request
        run = request.run
        check_rounding(code.loop)
        self.are_single_calls = motions.are_single_calls(code.loop)
        numbers = numbers_of(code.loop, run.inputs, run.definitions, run.values)
        times = measurements.times if measurements else np.zeros(0)
        self._shared = numbers.with_knots(times)
        self._settings = request.settings(
            self._shared,
            times,
            rtol=run.rtol,
            absolute=run.absolute(code.loop.num_states),
            base=numbers.base,
            tables=numbers.tables,
        )
        n = motions.count
        self._success, self._messages = np.zeros(n, bool), dict[int, str]()
        self._parts = {name: np.full(n, np.nan) for name in ("terminal", "running", "misfit")}
        self._derivatives = {
            v.name: np.full((n, len(v.values)) if v.kind == TABLE else n, np.nan)
            for v in request.variables
        }
        self._steps, self._nfev = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def fill(self, block: range) -> None:
        """Gradients of a block of motions."""
        motions, code, loop = self._motions, self._code, self._code.loop
        if self.are_single_calls:
            for k in block:
                self._alone(k)
            return
        variables = inputs_instead(motions.request.variables)
        states, tangents = motions.starts(loop, variables, self._shared, block)
        base, p = motions.values(loop, block)
        runs = RepeatedRun(_plan(code, self._settings, states[0]))
        sizes = (
            base.shape[1] if code.wants_base else 0,
            len(code.places),
            sum(len(t.starts) for t in self._shared.tables),
        )
        runs.prepare_back(code.pull, code.pull_project, sizes)
        done: list[int] = []
        results, recorded = [], []
        for k in range(len(block)):
            values = {"parameters": p[k], "base": base[k], "states": states[k]}
            result, times, steps = runs.forward(values)
            if result.code != rules.FINISHED:
                self._alone(block.start + k)
                continue
            done.append(k)
            results.append(result)
            recorded.append((values, times, steps))
        if not done:
            return
        at = np.array(done)
        pulled = _Pulled(self._shared, sizes, len(at), loop.num_states)
        final = np.array([result.state for result in results])
        terminal, misfit, added = self._objective(pulled, results, final, base[at], p[at])
        if loop.num_states > loop.num_simulated:
            pulled.weights[:, -1] += 1.0
        for j, (values, times, steps) in enumerate(recorded):
            pulled.add(j, runs.back(values, times, steps, pulled.weights[j], added[j]))
        places = block.start + at
        self._parts["terminal"][places], self._parts["misfit"][places] = terminal, misfit
        has_running = loop.num_states > loop.num_simulated
        self._parts["running"][places] = final[:, -1] if has_running else 0.0
        self._steps[places] = [result.steps for result in results]
        self._nfev[places] = [result.evaluations for result in results]
        self._collect(places, pulled, tangents[at])

    def _objective(
        self, pulled: _Pulled, results: list[Any], final: Array, base: Array, p: Array
    ) -> tuple[Array, Array, list[list[tuple[float, Array]]]]:
        """Terminal values, misfits, and what measurements add to λ on the way."""
        code, n = self._code, len(final)
        end = self._settings.run.end_time
        terminal, misfit = np.zeros(n), np.zeros(n)
        if code.terminal is not None:
            # inputs that jump at the end count as they were before
            now = _driven(self._shared, base, float(np.nextafter(end, -np.inf)))
            found = code.terminal.map(np.full(n, end), final, now, p)
            terminal = found[:, 0]
            pulled.weights += pulled.note(found[:, 1:], end, from_left=True)
        added: list[list[tuple[float, Array]]] = [[] for _ in range(n)]
        if code.misfit is None or self._measurements is None:
            return terminal, misfit, added
        for i, t in enumerate(self._measurements.times.tolist()):
            x = np.array([result.states[i] for result in results])
            row = np.tile(self._measurements.rows[i], (n, 1))
            u = np.column_stack([np.array([result.inputs[i] for result in results]), row])
            found = code.misfit.map(np.full(n, t), x, u, p)
            misfit += found[:, 0]
            along = pulled.note(found[:, 1:], t, from_left=t >= end)
            for j in range(n):
                added[j].append((t, along[j]))
        return terminal, misfit, added

    def _collect(self, places: NDArray[np.int64], pulled: _Pulled, tangents: Array) -> None:
        """All derivatives by name, the start's share added."""
        request, code = self._motions.request, self._code
        at_start = np.einsum("ny,nyk->nk", pulled.weights, tangents)
        for j, variable in enumerate(request.variables):
            if variable.kind == TABLE:
                by_base = np.zeros((len(places), len(self._shared.base)))
                by_base[:, variable.place] = at_start[:, j]
                pulled.note_tables(by_base, request.run.start_time, from_left=False)
                for i, k in enumerate(places):
                    by_coefficients = [c[i] for c in pulled.coefficients]
                    self._derivatives[variable.name][k] = by_values(
                        request.run.system, variable, self._shared.tables, by_coefficients
                    )
                continue
            direct: Array | float = 0.0
            if variable.kind == INPUT:
                direct = pulled.base[:, variable.place]
            elif variable.kind != START:
                direct = pulled.parameters[:, code.places.index(variable.place)]
            self._derivatives[variable.name][places] = direct + at_start[:, j]
        self._success[places] = True
        for name, x in self._derivatives.items():
            own = x[places].reshape(len(places), -1)
            for k in places[~np.all(np.isfinite(own), axis=1)]:
                self._success[k] = False
                self._messages[int(k)] = f"the derivative with respect to '{name}' is not finite"

    def _alone(self, k: int) -> None:
        """A motion by the single call."""
        own = self._motions.one(k)
        try:
            found = gradient(**own)
        except NoslipError as error:
            self._messages[k] = error.faults[0].what
            return
        self._success[k] = True
        for name, x in self._parts.items():
            x[k] = getattr(found, name)
        for name, by in found.derivatives.items():
            self._derivatives[name][k] = by
        self._steps[k], self._nfev[k] = found.steps, found.nfev

    def result(self) -> GradientBatch:
        """All gradients."""
        parts, request = self._parts, self._motions.request
        return GradientBatch(
            model=request.run.system.model.name,
            count=self._motions.count,
            success=self._success,
            messages=self._messages,
            value=parts["terminal"] + parts["running"] + parts["misfit"],
            derivatives=self._derivatives,
            units={v.name: v.unit for v in request.variables},
            steps=self._steps,
            nfev=self._nfev,
            variants=self._motions.variants,
            **parts,
        )


class _Pulled:
    """Derivatives of an objective of n motions by states, base inputs, tables and parameters."""

    def __init__(
        self, shared: LoopValues, sizes: tuple[int, int, int], n: int, num_states: int
    ) -> None:
        self._tables = shared.tables
        self.weights = np.zeros((n, num_states))
        self.base = np.zeros((n, sizes[0]))
        self.parameters = np.zeros((n, sizes[1]))
        self.coefficients = [np.zeros((n, len(t.starts), 4)) for t in shared.tables]

    def note(self, pulled: Array, t: float, *, from_left: bool) -> Array:
        """Accumulate pulls by base inputs, tables and parameters; returns those by y."""
        size, num = self.weights.shape[1], self.base.shape[1]
        by_base = pulled[:, size : size + num]
        self.base += by_base
        self.parameters += pulled[:, size + num :]
        if num:
            self.note_tables(by_base, t, from_left=from_left)
        return pulled[:, :size]

    def note_tables(self, by_base: Array, t: float, *, from_left: bool) -> None:
        """Add derivatives by base inputs at a time to those by the tables that drive them."""
        powers = np.array([3.0, 2.0, 1.0, 0.0])
        for table, found in zip(self._tables, self.coefficients, strict=True):
            at = segment_at(table.starts, float(np.nextafter(t, -np.inf)) if from_left else t)
            found[:, at] += by_base[:, [table.index]] * (t - table.starts[at]) ** powers

    def add(self, j: int, found: Mapping[str, Array]) -> None:
        """Add what an adjoint sweep found for one motion; λ is the one at its start."""
        self.weights[j] = found["weights"]
        self.base[j] += found["by_base"]
        self.parameters[j] += found["by_parameters"]
        rows, at = found["by_coefficients"].reshape(-1, 4), 0
        for coefficients in self.coefficients:
            coefficients[j] += rows[at : at + coefficients.shape[1]]
            at += coefficients.shape[1]


class _Tangents:
    """Sensitivities of all motions, filled block by block."""

    def __init__(
        self, motions: _DifferentiatedMotions, code: TangentCode, texts: dict[str, str]
    ) -> None:
        self._motions, self._code, self._texts = motions, code, texts
        run = motions.request.run
        check_rounding(code.loop)
        self.are_single_calls = motions.are_single_calls(code.loop)
        self._shared = numbers_of(code.loop, run.inputs, run.definitions, run.values)
        self._settings = tangent_settings(motions.request, self._shared, code.loop.num_states)
        n, ns = motions.count, len(run.times)
        kin = run.system.kinematics
        self._columns = [*(q.name for q in (*kin.coordinates, *kin.speeds)), *texts]
        self._names = tuple(name for v in motions.request.variables for name in v.columns)
        check_memory(
            8.0 * n * ns * len(self._columns) * (1 + len(self._names)),
            "results",
            motions.variants.where,
            "take fewer samples or fewer motions at a time",
        )
        self._values = np.full((n, ns, len(self._columns)), np.nan)
        self._derivatives = np.full((n, ns, len(self._columns), len(self._names)), np.nan)
        self._success, self._messages = np.zeros(n, bool), dict[int, str]()
        self._steps, self._nfev = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def fill(self, block: range) -> None:
        """Sensitivities of a block of motions."""
        motions, code, loop = self._motions, self._code, self._code.loop
        if self.are_single_calls:
            for k in block:
                self._alone(k)
            return
        run, count = motions.request.run, len(self._names)
        states, tangents, base, p = self._given(block)
        whole = np.concatenate([states, tangents.transpose(0, 2, 1).reshape(len(p), -1)], axis=1)
        sizes = motions.sizes(block)
        plan = _plan(code, self._settings, whole[0])
        template = MemoryTemplate(plan)
        done, results = [], []
        for k in range(len(block)):
            values = plan.numbers._replace(
                parameters=p[k],
                base_inputs=base[k],
                start_state=whole[k],
                absolute_tolerance=tangent_tolerances(run, loop.num_states, sizes[k]),
            )
            result = run_memory(template.instantiate(values), run.start_time, run.end_time)
            if result.code != rules.FINISHED:
                self._alone(block.start + k)
                continue
            done.append(k)
            results.append(result)
        if not done:
            return
        at, ns = np.array(done), len(run.times)
        x = np.array([result.states for result in results])
        u = np.array([result.inputs for result in results])
        rows = np.repeat(p[at], ns, axis=0)
        t = np.tile(run.times, len(at))
        flat = np.ascontiguousarray(x.reshape(len(t), x.shape[2]))
        found = code.outputs.map(t, flat, np.ascontiguousarray(u.reshape(len(t), -1)), rows)
        num_q, num = loop.system.kinematics.num_coordinates, loop.num_states
        num_out = len(self._columns) - num_q
        places = block.start + at
        shape = (len(at), ns)
        self._values[places] = np.concatenate(
            [x[:, :, :num_q], found[:, :num_out].reshape(*shape, num_out)], axis=2
        )
        by_state = flat[:, num:].reshape(*shape, count, num)[..., :num_q].transpose(0, 1, 3, 2)
        by_output = found[:, num_out:].reshape(*shape, count, num_out).transpose(0, 1, 3, 2)
        self._derivatives[places] = np.concatenate([by_state, by_output], axis=2)
        self._success[places] = True
        self._steps[places] = [result.steps for result in results]
        self._nfev[places] = [result.evaluations for result in results]

    def _given(self, block: range) -> tuple[Array, Array, Array, Array]:
        """States at the start, their derivatives, base inputs and parameters of a block."""
        motions, loop = self._motions, self._code.loop
        states, tangents = motions.starts(loop, motions.request.variables, self._shared, block)
        base, p = motions.values(loop, block)
        more = len(self._settings.base) - base.shape[1]
        return states, tangents, np.column_stack([base, np.zeros((len(base), more))]), p

    def fill_on_device(
        self,
        block: range,
        device: AbstractDevice,
        is_single: bool,
        progress: Callable[[int], object] | None,
        cancel: Any,
    ) -> bool:
        """Sensitivities of a block of motions, one thread for each; whether it was ended early."""
        code, settings, loop = self._code, self._settings, self._code.loop
        run, n, count = settings.run, len(block), len(self._names)
        states, tangents, base, p = self._given(block)
        # derivatives in units of what they are taken by, as `batch_programs` has them
        sizes = np.abs(self._motions.sizes(block))
        units = np.where(sizes > 0.0, np.maximum(sizes, 1e-280), 1.0)
        scaled = (tangents * units[:, None, :]).transpose(0, 2, 1).reshape(n, -1)
        whole = np.concatenate([states, scaled], axis=1)
        ns, num_columns = len(run.times), len(self._columns) * (1 + count)
        results = empty_results(
            *(n, whole.shape[1], num_columns, 0, 0),
            has_minimum=False,
            has_maximum=False,
            samples=np.full((n, ns, num_columns), np.nan),
        )
        results.states[:], results.times[:], results.steps_left[:] = whole, run.start_time, run.step
        one = run.absolute(loop.num_states, run.atol / np.sqrt(1 + count))
        plan = LanePlan(
            lanes=1,
            functions=dict.fromkeys(code.batch_programs, -1),
            num_states=whole.shape[1],
            num_generator_states=0,
            num_inputs=base.shape[1],
            num_columns=num_columns,
            method=run.method_number,
            queue=np.arange(n),
            parameters=np.column_stack([p, units]),
            base_inputs=base,
            tables=shared_tables(settings.tables, settings.numbers.knots, run),
            end_time=run.end_time,
            update_times=np.zeros(0),
            sample_times=run.times,
            directions=np.zeros(0),
            num_endings=0,
            health_floors=SegmentBasis(run.system).floors,
            relative_tolerance=run.rtol,
            absolute_tolerance=np.tile(one, 1 + count),
            max_step=run.longest_step,
            max_steps=run.max_steps,
            projection_tolerance=SINGLE_PROJECTION if is_single else PROJECTION_TOLERANCE,
        )
        kernel = DeviceCode(code.batch_programs, device, is_single)
        is_ended = run_on_device(plan, results, kernel, progress=progress, cancel=cancel)
        at = np.flatnonzero(results.codes == rules.FINISHED)
        places, columns = block.start + at, len(self._columns)
        self._values[places] = results.samples[at, :, :columns]
        by = results.samples[at, :, columns:].reshape(len(at), ns, count, columns)
        self._derivatives[places] = by.transpose(0, 1, 3, 2)
        self._success[places] = True
        self._steps[places], self._nfev[places] = (
            results.num_steps[at],
            results.num_evaluations[at],
        )
        if not is_ended:
            for k in np.flatnonzero(results.codes != rules.FINISHED):
                self._alone(block.start + int(k))
        return is_ended

    def _again(self, k: int) -> Sensitivities:
        return simulate_sensitivities(**self._motions.one(k))

    def _alone(self, k: int) -> None:
        """A motion by the single call."""
        try:
            found = self._again(k)
        except NoslipError as error:
            self._messages[k] = error.faults[0].what
            return
        run = found.run
        outputs = [found.outputs[name] for name in self._texts]
        self._values[k] = np.column_stack([run.q, run.v, *outputs])
        parts = [found.coordinates, found.speeds]
        parts += [found.output_derivatives[name][:, None, :] for name in self._texts]
        self._derivatives[k] = np.concatenate(parts, axis=1)
        self._success[k] = True
        self._steps[k], self._nfev[k] = run.steps, run.nfev

    def result(self) -> SensitivitiesBatch:
        """All sensitivities, by name."""
        run, variables = self._motions.request.run, self._motions.request.variables
        kin = run.system.kinematics
        return SensitivitiesBatch(
            model=run.system.model.name,
            count=self._motions.count,
            success=self._success,
            messages=self._messages,
            t=run.times,
            names=self._names,
            units=tuple(v.unit for v in variables for _ in v.columns),
            values={name: self._values[:, :, j] for j, name in enumerate(self._columns)},
            derivatives={name: self._derivatives[:, :, j] for j, name in enumerate(self._columns)},
            column_units={q.name: q.unit for q in (*kin.coordinates, *kin.speeds)},
            steps=self._steps,
            nfev=self._nfev,
            variants=self._motions.variants,
            _again=self._again,
        )

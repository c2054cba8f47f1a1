"""Forward sensitivities: motions with the derivatives of their columns, and the flow of a run.

**Forward sensitivities: motions with the derivatives of their columns.**

**`simulate_sensitivities`: a motion, and how it changes with parameters, start values and inputs.**

With ẏ = F(t, y, b, p) as in `closed_loop.py` and Y = ∂y/∂θ, one column for each variable θ,

    (1)  Ẏ = F_y Y + F_b ∂b/∂θ + F_p ∂p/∂θ,      Y(t₀) = ∂y₀/∂θ

is integrated along with the motion in the native loop, within its error control. After each step
the motion is projected onto the constraints, y ← P(y, p), and its derivatives with it:

    (2)  Y ← P_y Y + P_p ∂p/∂θ

The start is that of `simulation/sensitivities/start_derivatives.py`. In other independent speeds Y
is carried over as y is. Errors of Y count in the size of θ: |δY| |θ| is held to the same tolerance
as δy.

**`simulate_sensitivities_batch`: many motions and their derivatives.**

The code, its memory and everything that is the same for all motions are made once. Each motion is
then a run of that code in a native loop, with the bits of the single call; starts are completed and
outputs evaluated for a block at a time. A motion that needs more than that, such as other
independent speeds on its way or steps that end where a law saturates, is a single call.

**The flow of a run: its last state, and the derivatives of that by the first state and numbers.**

x(T) = Φ(x₀, T, θ)        ∂Φ/∂x₀ X₀ + ∂Φ/∂θ,   ∂Φ/∂T = ẋ(T)

With tangents X₀ of the start as columns, it is a run of `forward.py` that begins with these: what
shooting for motions that repeat, and exponents of neighboring motions, are made of.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import casadi as ca
import numpy as np

from noslip.base import Array, NoslipError, SimulationError, check_memory, counted, nearest, require
from noslip.engines import AbstractDevice, NativeFunction, Program, System, read_device
from noslip.simulation.batches.batch_code import (
    DeviceCode,
    LanePlan,
    empty_results,
    run_on_device,
    shared_tables,
)
from noslip.simulation.batches.batch_request import (
    DEVICE_BLOCK,
    SINGLE_PROJECTION,
    in_blocks,
    read_precision,
)
from noslip.simulation.inputs import InputPlan
from noslip.simulation.loop import rules
from noslip.simulation.native_run import InputTable, NativeResult, NativeRun
from noslip.simulation.request import (
    DerivativeOptions,
    DerivativesOptions,
    RunOptions,
    read_run,
    takes,
)
from noslip.simulation.samples import Segment, SegmentBasis, assemble
from noslip.simulation.sensitivities.closed_runs import (
    BLOCK,
    AbstractDerivatives,
    DifferentiatedMotions,
    Piece,
    SegmentSettings,
    SensitivityRequest,
    begin_piece,
    check_rounding,
    read_sensitivities,
    run_segments,
    whole_loop,
    with_switches,
)
from noslip.simulation.sensitivities.controlled_loop import (
    START,
    TABLE,
    ClosedLoop,
    Definitions,
    Inputs,
    LoopValues,
    Seeds,
    Variable,
    after_update,
    carried_over,
    check_given,
    close_loop,
    forward,
    input_plan,
    numbers_of,
    read_variables,
    structure,
)
from noslip.simulation.sensitivities.start_derivatives import begin
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import Ending, Trajectory

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, kw_only=True, eq=False)
class TangentCode:
    """Native functions of (t, [y; Y], [b; ∂b/∂θ of tables], p). Made by :func:`tangent_code`."""

    loop: ClosedLoop
    seeds: Seeds
    Y: ca.SX
    texts: Mapping[str, str]
    _carried: dict[System, NativeFunction] = field(default_factory=dict, repr=False)

    @cached_property
    def rates(self) -> NativeFunction:
        """[ẏ; Ẏ; health]."""
        rates, tangents = self._rates(self.Y)
        return self._compile("rates", ca.vertcat(rates, ca.vec(tangents), self.loop.health()))

    @cached_property
    def project(self) -> NativeFunction | None:
        """[y; Y] on the constraints and their derivatives; the larger of both changes."""
        if not self.loop.system.has_projection:
            return None
        projected, tangents, residual = self._projection(self.Y)
        return self._compile("project", ca.vertcat(projected, ca.vec(tangents), residual))

    @cached_property
    def update(self) -> NativeFunction | None:
        """[y; Y] after an update of a sampled law."""
        return self._jump("update", after_update(self.loop)) if self.loop.is_sampled else None

    def carry(self, there: System) -> NativeFunction:
        """[y; Y] in the speeds of another system."""
        if there not in self._carried:
            self._carried[there] = self._jump("carry", carried_over(self.loop, there))
        return self._carried[there]

    @cached_property
    def outputs(self) -> NativeFunction:
        """[v; outputs], then their derivatives by columns."""
        values = ca.vertcat(self._speeds, *self._outputs)
        return self._compile("outputs", ca.vertcat(values, ca.vec(self._forward(values, self.Y))))

    @cached_property
    def batch_programs(self) -> dict[str, Program]:
        """Rates, projection and columns of (t, [y; Y Θ], …, [p; θ]) for the loop of a batch.

        Derivatives are carried in units of θ, what they are taken by, so that motions of which
        every one has its own θ share their tolerances. Columns are [q; v; outputs], then their
        derivatives by columns, not scaled.
        """
        count, num_q = self.Y.shape[1], self.loop.system.kinematics.num_coordinates
        units = ca.SX.sym("theta", count)
        scaled = ca.SX.sym("scaled", *self.Y.shape)
        Y = ca.mtimes(scaled, ca.diag(1 / units))
        x = ca.vertcat(self.loop.y, ca.vec(scaled))

        def program(name: str, values: ca.SX, tangents: ca.SX, rest: ca.SX) -> Program:
            column = ca.vertcat(values, ca.vec(tangents), rest)
            return self.loop.program(name, column, x=x, base=self._base, more=units)

        def by_units(tangents: ca.SX) -> ca.SX:
            return ca.mtimes(tangents, ca.diag(units))

        rates, tangents = self._rates(Y)
        found = {"rates": program("rates", rates, by_units(tangents), self.loop.health())}
        if self.loop.system.has_projection:
            projected, tangents, residual = self._projection(Y)
            found["project"] = program("project", projected, by_units(tangents), residual)
        values = ca.vertcat(self.loop.y[:num_q, :], self._speeds, *self._outputs)
        found["columns"] = program("columns", values, self._forward(values, Y), ca.SX(0, 1))
        return found

    def plan(self, numbers: LoopValues) -> InputPlan:
        """The inputs in the form of a trajectory."""
        return input_plan(self.loop, numbers)

    @property
    def _speeds(self) -> ca.SX:
        return ca.densify(self.loop.put_in(self.loop.system.kinematics.v))

    @cached_property
    def _outputs(self) -> list[ca.SX]:
        return [self.loop.output(text, f"output '{name}'") for name, text in self.texts.items()]

    @property
    def _needs_work(self) -> bool:
        work = self.loop.system.state[-1]
        return any(bool(ca.depends_on(output, work)) for output in self._outputs)

    def _rates(self, Y: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Rates of y, and of Y."""
        loop = self.loop
        differentiated = ca.SX(loop.rates)
        if loop.system.does_work and not self._needs_work:
            differentiated[loop.system.num_states - 1] = 0
        return loop.rates, self._forward(differentiated, Y)

    def _projection(self, Y: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """y and Y after a step onto the constraints, and the larger of both changes."""
        projected, residual = self.loop.projection()
        tangents = self._forward(projected, Y)
        num_q = self.loop.system.kinematics.num_coordinates
        size, moved = ca.SX(1), ca.SX(0)
        for entry in ca.vertsplit(ca.vec(Y[:num_q, :])):
            size = ca.fmax(size, ca.fabs(entry))
        for entry in ca.vertsplit(ca.vec(tangents[:num_q, :] - Y[:num_q, :])):
            moved = ca.fmax(moved, ca.fabs(entry))
        return projected, tangents, ca.fmax(residual, moved / size)

    def _forward(self, expression: ca.SX, Y: ca.SX) -> ca.SX:
        return forward(self.loop, expression, Y, self.seeds)

    def _jump(self, name: str, expression: ca.SX) -> NativeFunction:
        tangents = self._forward(expression, self.Y)
        return self._compile(name, ca.vertcat(expression, ca.vec(tangents)))

    @property
    def _base(self) -> ca.SX:
        return ca.vertcat(self.loop.base, self.seeds.symbols)

    def _compile(self, name: str, expression: ca.SX) -> NativeFunction:
        x = ca.vertcat(self.loop.y, ca.vec(self.Y))
        return self.loop.compile(name, expression, x=x, base=self._base)


def tangent_code(
    system: System,
    inputs: Inputs,
    definitions: Definitions,
    variables: Sequence[Variable],
    outputs: Mapping[str, str],
) -> TangentCode:
    """The code for a system and a request, cached."""
    asked = tuple((v.name, v.kind, len(v.values)) for v in variables)
    key = ("tangents", structure(inputs, definitions), asked, tuple(outputs.items()))

    def make() -> TangentCode:
        loop = close_loop(system, inputs, definitions)
        count = sum(len(v.values) for v in variables)
        return TangentCode(
            loop=loop,
            seeds=Seeds(loop, variables),
            Y=ca.SX.sym("Y", loop.num_states, count),
            texts=outputs,
        )

    return system.cached(key, make)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sensitivities:
    """Derivatives of a simulated motion. Made by :func:`simulate_sensitivities`.

    ``sensitivities["platform.x", "m"]`` is ∂(platform.x)/∂m at the samples, (n,).
    """

    run: Trajectory  #: the motion itself, with n samples
    #: names, units: names and units of the k quantities that derivatives are taken by; a table has
    #: one for each value
    names: tuple[str, ...]
    units: tuple[str, ...]
    #: coordinates, speeds: (n, nq, k) and (n, nv, k) derivatives of q and v
    coordinates: Array = field(repr=False)
    speeds: Array = field(repr=False)
    #: name → (n,) values of the outputs that were asked for
    outputs: dict[str, Array] = field(repr=False)
    output_derivatives: dict[str, Array] = field(repr=False)  #: name → (n, k)

    @property
    def columns(self) -> dict[str, Array]:
        """(n, k) derivatives of every column and output, by its name."""
        run = self.run
        table = {c.name: self.coordinates[:, j] for j, c in enumerate(run.coordinates)}
        table |= {s.name: self.speeds[:, j] for j, s in enumerate(run.speeds)}
        return table | self.output_derivatives

    def __getitem__(self, key: str | tuple[str, str]) -> Array:
        """(n,) derivative of a column by a name; of a column alone, (n, k) by all names."""
        column, *rest = (key,) if isinstance(key, str) else key
        table = self.columns
        where = f"sensitivities of model '{self.run.model.name}'"
        if column not in table:
            raise SimulationError(
                f"'{column}' was not differentiated",
                where,
                f"{nearest(str(column), list(table))}; others: outputs={{'name': 'expression'}}",
            )
        if not rest:
            return table[column]
        if rest[0] not in self.names:
            raise SimulationError(
                f"nothing was differentiated with respect to '{rest[0]}'",
                where,
                nearest(str(rest[0]), list(self.names)),
            )
        return table[column][:, self.names.index(rest[0])]

    def to_xarray(self) -> xarray.Dataset:
        """Dataset of the derivatives over ``time`` and ``by``."""
        require("xarray", "to_xarray", f"sensitivities of model '{self.run.model.name}'")
        import xarray

        run = self.run
        units = {q.name: q.unit for q in (*run.coordinates, *run.speeds)}
        data = {
            name: (("time", "by"), values, {"units": f"({units.get(name, '1')})/(unit of by)"})
            for name, values in self.columns.items()
        }
        coords = {
            "time": ("time", run.t, {"units": "s"}),
            "by": ("by", list(self.names)),
            "by_unit": ("by", list(self.units)),
        }
        return xarray.Dataset(data, coords=coords, attrs={"model": run.model.name})

    def __repr__(self) -> str:
        names = ", ".join(self.names[:8]) + (", …" if len(self.names) > 8 else "")
        first = next(iter(self.columns), "column")
        largest = max((float(np.abs(x).max(initial=0.0)) for x in self.columns.values()), default=0)
        return (
            f"Sensitivities of '{self.run.model.name}' by {names}: "
            f"{counted(len(self.run.t), 'sample')}, largest derivative {largest:.3g}\n"
            f"{self.run.summary()}\n"
            f"next: ['{first}', '{self.names[0]}'], .run, .to_xarray()"
        )


def collect(
    request: SensitivityRequest,
    pieces: Sequence[Piece],
    settings: SegmentSettings,
    started: Start,
    outputs: Mapping[str, str],
) -> Sensitivities:
    """The trajectory of a run, and the derivatives at its samples."""
    system = request.run.system
    read = [_read(piece, settings) for piece in pieces]
    results = [piece.result for piece in pieces]
    taken = ([r.steps, r.rejections, r.evaluations] for r in results)
    run = assemble(
        request.run,
        [segment for segment, _, _ in read],
        results[-1],
        started,
        [sum(each) for each in zip(*taken, strict=True)],
        who="derivatives of runs",
    )
    count, num_v = sum(len(v.values) for v in request.variables), len(system.speeds)
    # [values; derivatives, one column after the other]
    table = np.concatenate([found for _, _, found in read])
    num_out = num_v + len(outputs)
    derivatives = table[:, num_out:].reshape(len(table), count, num_out).transpose(0, 2, 1)
    return Sensitivities(
        run=run,
        names=tuple(name for v in request.variables for name in v.columns),
        units=tuple(v.unit for v in request.variables for _ in v.columns),
        coordinates=np.concatenate([q for _, q, _ in read]),
        speeds=derivatives[:, :num_v],
        outputs={name: table[:, num_v + k] for k, name in enumerate(outputs)},
        output_derivatives={name: derivatives[:, num_v + k] for k, name in enumerate(outputs)},
    )


def _read(piece: Piece, settings: SegmentSettings) -> tuple[Segment, Array, Array]:
    """The samples of a piece: as a trajectory takes them, derivatives of q, and outputs."""
    code, n, numbers = piece.code, piece.num_good, settings.numbers
    assert isinstance(code, TangentCode)
    loop = code.loop
    t, states = piece.result.times[:n], np.ascontiguousarray(piece.result.states[:n])
    base = np.ascontiguousarray(piece.result.inputs[:n])
    simulated = np.ascontiguousarray(states[:, : loop.num_simulated])
    own = np.ascontiguousarray(base[:, : len(numbers.base)])
    segment = Segment(
        system=loop.system,
        plan=code.plan(numbers),
        t=t,
        states=simulated,
        inputs=code.loop.input_function.map(t, simulated, own, numbers.p),
        crossings=np.zeros((0, 2 + loop.num_simulated)),
    )
    num, num_q = loop.num_states, loop.system.kinematics.num_coordinates
    tangents = states[:, num:].reshape(n, states.shape[1] // num - 1, num)
    found = code.outputs.map(t, states, base, numbers.p)
    return segment, tangents[:, :, :num_q].transpose(0, 2, 1), found


@takes(DerivativeOptions)
def simulate_sensitivities(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    **options: Unpack[DerivativeOptions],
) -> Sensitivities:
    """Motion of a system, and its exact derivatives.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, of values that `start` gives, of inputs that are numbers
        or tables (one derivative for each value of a table), of numbers in `definitions`. The
        change of a start with what is given is followed.
    duration : s.
    options : options of the simulation; `outputs` are differentiated too.

    Raises
    ------
    SimulationError : for inconsistent arguments, a start that what is asked for does not determine,
        and for a run that fails unless `on_failure` is ``"return"``.
    """
    asked = {"duration": duration, **options}
    request = read_sensitivities("simulate_sensitivities", system, with_respect_to, asked)
    run, texts = request.run, dict(request.run.outputs)
    check_free(system, texts)

    def code_of(there: System) -> TangentCode:
        return tangent_code(there, run.inputs, run.definitions, request.variables, texts)

    code = code_of(run.system)
    numbers = numbers_of(code.loop, run.inputs, run.definitions, run.values)
    started, here, state, tangents = begin(
        code.loop, numbers, request.variables, run.start, run.start_time, run.guess
    )
    settings = tangent_settings(request, numbers, state.size)

    def integrate(piece: NativeRun) -> NativeResult:
        return piece.go(run.progress, run.cancel, (run.start_time, run.end_time))

    check_rounding(code.loop)
    whole = np.concatenate([state, tangents.T.ravel()])
    settings = with_switches(code_of, here, whole, settings)
    pieces = run_segments(code_of, here, whole, settings, integrate)
    result = collect(request, pieces, settings, started, texts)
    if run.on_failure == "raise" and result.run.ending not in (Ending.FINISHED, Ending.CANCELLED):
        raise SimulationError(
            result.run.message,
            f"model '{system.model.name}', t = {pieces[-1].result.time:.9g} s",
            "pass on_failure='return' to get the motion up to then",
        )
    return result


def check_free(system: System, texts: Mapping[str, str]) -> None:
    """Refuse an output that would hide a coordinate or speed of the same name."""
    taken = {q.name for q in (*system.coordinates, *system.speeds)}
    for name, text in texts.items():
        if name in taken and text != name:
            raise SimulationError(
                f"output '{name}' has the name of a coordinate or speed",
                f"sensitivities of model '{system.model.name}', outputs",
                "give it a name of its own",
            )


def _bases(request: SensitivityRequest, first: int) -> tuple[InputTable, ...]:
    """Tables of ∂b/∂θ over time, which drive the base inputs after the closed loop's own."""
    bases = [
        basis
        for variable in request.variables
        if variable.kind == TABLE
        for k in range(len(variable.values))
        for basis in variable.basis(request.run.system, k)
    ]
    return tuple(dataclasses.replace(b, index=first + k) for k, b in enumerate(bases))


def tangent_settings(
    request: SensitivityRequest, numbers: LoopValues, num_states: int
) -> SegmentSettings:
    """Settings of a run that carries its derivatives."""
    bases = _bases(request, len(numbers.base))
    sizes = np.array([x for v in request.variables for x in v.values])
    # the mean of n + 1 times as many errors lets those of the motion be √(n + 1) times as large
    share = 1.0 / math.sqrt(1 + sizes.size)
    return request.settings(
        numbers,
        request.run.times,
        rtol=request.run.rtol * share,
        absolute=tangent_tolerances(request.run, num_states, sizes),
        base=np.concatenate([numbers.base, np.zeros(len(bases))]),
        tables=numbers.tables + bases,
    )


def tangent_tolerances(run: RunOptions, num_states: int, sizes: Array) -> Array:
    """Absolute tolerances: those of derivatives in the size of what they are taken by."""
    one = run.absolute(num_states, run.atol / math.sqrt(1 + sizes.size))
    own = [
        np.minimum(one / (max(abs(size), 1e-280) if size else 1.0), 1e300)
        for size in sizes.tolist()
    ]
    return np.concatenate([one, *own])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivitiesBatch(AbstractDerivatives):
    """Derivatives of many motions. Made by :func:`simulate_sensitivities_batch`.

    ``batch["platform.x", "m"]`` is ∂(platform.x)/∂m at the samples, (n, ns); ``batch[k]`` simulates
    one motion again, for its :class:`Sensitivities` with everything a trajectory has.
    """

    t: Array = field(repr=False)  #: (ns,) times of the samples, s
    #: names, units: names and units of the k quantities that derivatives are taken by; a table has
    #: one for each value
    names: tuple[str, ...]
    units: tuple[str, ...] = field(repr=False)
    #: column → (n, ns): coordinates, speeds and outputs
    values: dict[str, Array] = field(repr=False)
    derivatives: dict[str, Array] = field(repr=False)  #: column → (n, ns, k)
    #: units of the columns, by name; outputs have none
    column_units: dict[str, str] = field(repr=False)
    _again: Callable[[int], Sensitivities] = field(repr=False)

    def __getitem__(self, key: str | tuple[str, str] | int) -> Any:
        """Derivatives of a column, by one name or by all; or the sensitivities of one motion."""
        if isinstance(key, int | np.integer):
            return self._again(self.checked(int(key)))
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
        first = next(iter(self.derivatives), "column")
        return (
            f"{self.said()}, {len(self.t)} samples\n"
            f"next: ['{first}', '{self.names[0]}'], [k], .to_xarray()"
        )


@takes(DerivativesOptions)
def simulate_sensitivities_batch(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    **options: Unpack[DerivativesOptions],
) -> SensitivitiesBatch:
    """Many motions of a system, and their exact derivatives.

    Wherever :func:`simulate_sensitivities` takes a number as a start value, input, parameter or
    definition, a list of numbers may be given too, one for each motion. Nothing is raised for a
    motion that fails: the result says why.

    Parameters
    ----------
    system, with_respect_to, duration : arguments of :func:`simulate_sensitivities`.
    options : options of the simulations; expressions, tables, a law and a guess are those of all
        motions. Runs that a cancelled call did not reach are nan.

    Raises
    ------
    SimulationError : for inconsistent arguments, and a start that cannot be completed.
    """
    motions = DifferentiatedMotions(
        "simulate_sensitivities_batch", system, with_respect_to, {"duration": duration, **options}
    )
    run, watched = motions.request.run, motions.watched
    texts = dict(run.outputs)
    check_free(run.system, texts)
    code = tangent_code(run.system, run.inputs, run.definitions, motions.request.variables, texts)
    where = motions.variants.where
    card = read_device(options.get("device", "cpu"), where)
    is_single = read_precision(options.get("precision", "double"), run, card, where)
    work = _Tangents(motions, code, texts)
    if card is None or work.are_single_calls:
        in_blocks(motions.count, work.fill, size=BLOCK, **motions.watched)
        return work.result()
    # one kernel at a time, which has all of the card; Ctrl-C and cancel end it
    for first in range(0, motions.count, DEVICE_BLOCK):
        block = range(first, min(first + DEVICE_BLOCK, motions.count))
        report = _of_block(watched["progress"], first, motions.count)
        if work.fill_on_device(block, card, is_single, report, watched["cancel"]):
            break
    return work.result()


def _of_block(
    progress: Callable[[float], object] | None, first: int, count: int
) -> Callable[[int], object] | None:
    """Progress by the number of motions of a block that are done."""
    return None if progress is None else lambda done: progress((first + done) / count)


class _Tangents:
    """Sensitivities of all motions, filled block by block."""

    def __init__(
        self, motions: DifferentiatedMotions, code: TangentCode, texts: dict[str, str]
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
        loop_of_all = whole_loop(code, self._settings)
        span = run.start_time, run.end_time
        done, results = [], []
        for k in range(len(block)):
            own = p[k], base[k], tangent_tolerances(run, loop.num_states, sizes[k])
            result = begin_piece(loop_of_all, self._settings, *span, whole[k], own).go()
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
            projection_tolerance=SINGLE_PROJECTION if is_single else rules.PROJECTION_TOLERANCE,
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
        motions = self._motions
        return simulate_sensitivities(
            motions.system, with_respect_to=motions.names, **motions.one(k)
        )

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


class FlowEnds(NamedTuple):
    """Both ends of a run, in the system's own independent speeds."""

    #: first, last: (nx,) [q; η; …]
    first: Array
    last: Array
    #: first_rates, last_rates: (nx,) their rates
    first_rates: Array
    last_rates: Array
    tangents: Array  #: (nx, k) derivatives of the last state: along X₀, then by each name


def flow_map(
    system: System,
    start: Start,
    tangents: Array,
    *,
    duration: float,
    with_respect_to: Sequence[str] = (),
    **options: Any,
) -> FlowEnds:
    """Run from a completed start, with tangents (nx, k) of its [q; η; …] and derivatives by names.

    Parameters
    ----------
    system : compiled system, whose independent speeds determine the motion at the start.
    start : completed.
    tangents : columns of derivatives of the start.
    duration : s.
    with_respect_to : parameters, inputs that are numbers, numbers in definitions.
    options : options of the run, see :func:`simulate_sensitivities`.
    """
    asked: Mapping[str, Any] = {**options, "start": start, "duration": duration, "samples": 2}
    run = read_run("flow_map", system, asked)
    check_given(run.system, run.inputs, run.definitions)
    named: tuple[Variable, ...] = ()
    if with_respect_to:
        named = read_variables(
            run.system,
            with_respect_to,
            start=start,
            inputs=run.inputs,
            definitions=run.definitions,
            parameters=run.values,
        )
    along = tuple(
        Variable(name=f"tangent {k}", kind=START, place=-1, values=np.ones(1), unit="1")
        for k in range(tangents.shape[1])
    )
    request = SensitivityRequest(run=run, variables=(*along, *named))

    def code_of(there: System) -> TangentCode:
        return tangent_code(there, run.inputs, run.definitions, request.variables, {})

    code = code_of(run.system)
    numbers = numbers_of(code.loop, run.inputs, run.definitions, run.values)
    _, here, state, by_names = begin(code.loop, numbers, named, start, run.start_time, None)
    if here is not run.system:
        raise SimulationError(
            "the independent speeds do not determine the motion at the start",
            f"model '{system.model.name}', t = {run.start_time:g} s",
            "begin elsewhere on the motion",
        )
    whole = np.zeros((len(state), tangents.shape[1]))
    whole[: len(tangents)] = tangents
    both = np.hstack([whole, by_names]) if named else whole
    settings = tangent_settings(request, numbers, state.size)
    check_rounding(code.loop)
    begun = np.concatenate([state, both.T.ravel()])
    settings = with_switches(code_of, here, begun, settings)

    def integrate(piece: NativeRun) -> Any:
        return piece.go(run.progress, run.cancel, (run.start_time, run.end_time))

    pieces = run_segments(code_of, here, begun, settings, integrate)
    last = pieces[-1]
    if last.result.code != rules.FINISHED:
        raise SimulationError(
            f"the motion ends at t = {last.result.time:.6g} s",
            f"model '{system.model.name}'",
            "begin with another start, or a shorter time",
        )
    at_end = last.result.state
    there = last.code.loop.system
    base = numbers.base_at(run.end_time)
    base = np.concatenate([base, np.zeros(len(settings.base) - len(base))])
    if there is not here:
        at_end = last.code.carry(here)(run.end_time, at_end, base, numbers.p)
    num, count = code.loop.num_states, both.shape[1]

    def rates(t: float, x: Array, base: Array) -> Array:
        return np.asarray(code.rates(t, x, base, numbers.p)[:num])

    at_start = np.concatenate([numbers.base_at(run.start_time), np.zeros(len(base))])[: len(base)]
    return FlowEnds(
        first=state,
        last=at_end[:num],
        first_rates=rates(run.start_time, begun, at_start),
        last_rates=rates(run.end_time, at_end, base),
        tangents=at_end[num:].reshape(count, num).T,
    )

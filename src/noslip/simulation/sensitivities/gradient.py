"""`gradient`: the derivative of one number by any number of variables, by the adjoint of the run.

**Objectives of `gradient`: numbers made from a motion.**

J = terminal(y(t_end)) + ∫ running(y) dt + Σ_k misfit(y(t_k), measured values at t_k)

**`Recorder`: native runs with recorded steps, for the adjoint.**

Runs of the same code are done one after the other in one memory. Their steps are recorded in
chunks, with a checkpoint of the memory at the start of each but the first. The steps of the newest
chunks are kept, as many as there is room for; older ones are recomputed from their checkpoint when
the adjoint sweep needs them, to the same bits. Ctrl-C is handled between two chunks.

**The adjoint of a recorded run: from ∂J/∂y at the end to ∂J/∂y at the start.**

Within a piece λ goes back step by step (`simulation/loop/step_adjoint.py`). Between two pieces,
where y jumps, y⁺ = J(y, b, p), it goes back as

    λ = J_yᵀ λ⁺,     J_bᵀ λ⁺ and J_pᵀ λ⁺ are added to the derivatives by inputs and parameters

and where a measurement is taken, the derivatives of its misfit are added.

A table is piecewise c₀ r³ + c₁ r² + c₂ r + c₃ with r the time since the segment began; see
`simulation/inputs.py` for its segments, one before the first time among them. Derivatives by
its values follow from those by the coefficients:

    hold     c₃ = y_i
    linear   c₃ = y_i,  c₂ = (y_{i+1} − y_i) / (t_{i+1} − t_i)
    cubic    all of them linear in all values

The rate of a speed input has the coefficients 0, 3 c₀, 2 c₁, c₂.

**`gradient`: the derivative of one number by any number of parameters, start values and inputs.**

    J = terminal(y(t_end)) + ∫ running dt + Σ_k misfit(y(t_k))

The motion is simulated once and its steps are recorded. Then the adjoint λ = ∂J/∂y is swept back
through them (equations (1) to (5) of `simulation/loop/step_adjoint.py`). In the limit of small
steps these are the adjoint equations

    −λ̇ = F_yᵀ λ,      dJ/dθ = λ(t₀)ᵀ ∂y₀/∂θ + ∫ λᵀ (F_p ∂p/∂θ + F_b ∂b/∂θ) dt

with the running cost as one more state of F; here they are exact for the steps as they were taken,
so that the gradient is that of the number computed, to rounding, for given steps. Its cost, a few
simulations, does not depend on how many derivatives are asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import casadi as ca
import numpy as np

from noslip.base import Array, NoslipError, SimulationError, check_memory, nearest, real_array
from noslip.engines import NativeFunction, System, address, work_memory
from noslip.simulation.batches.batch_request import in_blocks
from noslip.simulation.inputs import Table, input_index
from noslip.simulation.loop import rules
from noslip.simulation.loop.step_adjoint import PULL, Pull, adjoint_code
from noslip.simulation.native_run import InputTable, NativeResult, NativeRun
from noslip.simulation.request import ManyOptions, OneOptions, RunOptions, takes
from noslip.simulation.samples import ending_of
from noslip.simulation.sensitivities.closed_runs import (
    BLOCK,
    AbstractDerivatives,
    DifferentiatedMotions,
    Jump,
    Piece,
    SegmentSettings,
    SensitivityRequest,
    begin_piece,
    check_rounding,
    driven_rows,
    read_sensitivities,
    run_segments,
    whole_loop,
    with_switches,
)
from noslip.simulation.sensitivities.controlled_loop import (
    INPUT,
    NUMBER,
    PARAMETER,
    START,
    TABLE,
    ClosedLoop,
    Definitions,
    Inputs,
    Variable,
    after_update,
    carried_over,
    close_loop,
    numbers_of,
    reverse,
    structure,
)
from noslip.simulation.sensitivities.start_derivatives import begin

if TYPE_CHECKING:
    import xarray


_BY_PARAMETER = (PARAMETER, NUMBER)


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientCode:
    """Native functions of (t, y, b, p), and pulls of (t, [y; l], b, p). See :func:`gradient_code`.

    A pull is a vector-Jacobian product: [G_yᵀl; G_bᵀl if base inputs are variables; G_pᵀl of the
    parameters that are].
    """

    loop: ClosedLoop
    wants_base: bool
    places: tuple[int, ...]  # of the parameters that are variables
    terminal_text: str | None
    misfit_text: str | None
    measured: tuple[str, ...]
    _carried: dict[System, tuple[NativeFunction, NativeFunction]] = field(
        default_factory=dict, repr=False
    )

    @cached_property
    def rates(self) -> NativeFunction:
        """[ẏ; health]."""
        return self.loop.compile("rates", ca.vertcat(self.loop.rates, self.loop.health()))

    @cached_property
    def project(self) -> NativeFunction | None:
        """y on the constraints, and the residual before."""
        if not self.loop.system.has_projection:
            return None
        return self.loop.compile("project", ca.vertcat(*self.loop.projection()))

    @cached_property
    def update(self) -> NativeFunction | None:
        """y after an update of a sampled law."""
        return (
            self.loop.compile("update", after_update(self.loop)) if self.loop.is_sampled else None
        )

    def carry(self, there: System) -> NativeFunction:
        """y in the speeds of another system."""
        return self._carry(there)[0]

    @cached_property
    def pull(self) -> NativeFunction:
        """Pull of the rates."""
        return self._pull("pull", self.loop.rates)

    @cached_property
    def pull_project(self) -> NativeFunction | None:
        """Pull of the projection."""
        if not self.loop.system.has_projection:
            return None
        return self._pull("pull_project", self.loop.projection()[0])

    @cached_property
    def pull_update(self) -> NativeFunction:
        """Pull of the update of a sampled law."""
        return self._pull("pull_update", after_update(self.loop))

    def pull_carry(self, there: System) -> NativeFunction:
        """Pull of the conversion to other independent speeds; l in those."""
        return self._carry(there)[1]

    @cached_property
    def terminal(self) -> NativeFunction | None:
        """[value; derivatives as of a pull] of the terminal expression."""
        if self.terminal_text is None:
            return None
        value = self.loop.output(self.terminal_text, "terminal expression")
        return self.loop.compile("terminal", ca.vertcat(value, self._pulled(value, ca.SX(1))))

    @cached_property
    def misfit(self) -> NativeFunction | None:
        """[value; derivatives as of a pull] of the misfit, of (t, y, [b; measured], p)."""
        if self.misfit_text is None:
            return None
        symbols = {name: ca.SX.sym(name) for name in self.measured}
        value = self.loop.output(self.misfit_text, "misfit", symbols)
        base = ca.vertcat(self.loop.base, *symbols.values())
        pulled = ca.vertcat(value, self._pulled(value, ca.SX(1)))
        return self.loop.compile("misfit", pulled, base=base)

    @cached_property
    def _uses_work(self) -> bool:
        """Whether the work is part of the objective; if not, nothing depends on it."""
        loop = self.loop
        texts = {"terminal expression": self.terminal_text, "misfit": self.misfit_text}
        symbols = {name: ca.SX.sym(name) for name in self.measured}
        values = [loop.output(text, where, symbols) for where, text in texts.items() if text]
        work = loop.system.state[-1]
        return bool(ca.depends_on(ca.vertcat(loop.rates, *values), work))

    def _carry(self, there: System) -> tuple[NativeFunction, NativeFunction]:
        if there not in self._carried:
            expression = carried_over(self.loop, there)
            self._carried[there] = (
                self.loop.compile("carry", expression),
                self._pull("pull_carry", expression),
            )
        return self._carried[there]

    def _pull(self, name: str, expression: ca.SX) -> NativeFunction:
        loop = self.loop
        symbols = ca.SX.sym("l", expression.shape[0])
        weights = ca.SX(symbols)
        if loop.system.does_work and not self._uses_work:
            weights[loop.system.num_states - 1] = 0
        x = ca.vertcat(loop.y, symbols)
        return loop.compile(name, self._pulled(expression, weights), x=x)

    def _pulled(self, expression: ca.SX, weights: ca.SX) -> ca.SX:
        by_state, by_base, by_parameter = reverse(self.loop, expression, weights)
        parts = [by_state, by_base] if self.wants_base else [by_state]
        return ca.vertcat(*parts, *(by_parameter[k] for k in self.places))


def gradient_code(
    system: System,
    inputs: Inputs,
    definitions: Definitions,
    variables: Sequence[Variable],
    *,
    terminal: str | None,
    running: str | None,
    misfit: str | None,
    measured: tuple[str, ...],
) -> GradientCode:
    """The code for a system and a request, cached."""
    wants_base = any(v.kind in (INPUT, TABLE) for v in variables)
    # start values have no place
    places = tuple(sorted({v.place for v in variables if v.kind in _BY_PARAMETER}))
    asked = (terminal, running, misfit, measured, wants_base, places)

    def make() -> GradientCode:
        return GradientCode(
            loop=close_loop(system, inputs, definitions, running),
            wants_base=wants_base,
            places=places,
            terminal_text=terminal,
            misfit_text=misfit,
            measured=measured,
        )

    return system.cached(("gradient", structure(inputs, definitions), asked), make)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurements:
    """Measurements at some times, and the misfit of a motion to them."""

    times: Array  #: (n,) increasing, s
    values: Mapping[str, Array]  #: name → (n,) measured values
    #: expression of columns, parameters, t and the names of `values`, summed over the times, such
    #: as ``"(platform.x - x)**2"`` with ``values={"x": …}``
    misfit: str

    def __post_init__(self) -> None:
        times = real_array(self.times)
        values = {name: real_array(x) for name, x in self.values.items()}
        if times.ndim != 1 or not times.size or not np.all(np.diff(times, prepend=-np.inf) > 0):
            raise SimulationError(
                "the times of measurements must increase",
                "Measurements(times=…)",
                "sort them, and leave out repeated ones",
            )
        for name, x in values.items():
            if x.shape != times.shape or not np.all(np.isfinite(x)):
                raise SimulationError(
                    f"'{name}' has the shape {x.shape}, and there are {times.size} times; or not "
                    "all of its values are finite",
                    "Measurements(values=…)",
                    "give one finite value for each time",
                )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @property
    def rows(self) -> Array:
        """(n, k) measured values, one row for each time."""
        return np.column_stack([np.zeros((self.times.size, 0)), *self.values.values()])


class Objective(NamedTuple):
    """A number made from a motion: expressions at its end and over time, and a misfit."""

    terminal: str | None
    running: str | None
    measurements: Measurements | None


def check_objective(
    run: RunOptions, terminal: str | None, running: str | None, measurements: Measurements | None
) -> None:
    """Refuse an objective that says nothing, or speaks of times outside the run."""
    where = f"gradient of model '{run.system.model.name}'"
    if terminal is None and running is None and measurements is None:
        raise SimulationError(
            "there is nothing to take the gradient of",
            where,
            "give terminal='…', running='…' or measurements=Measurements(…)",
        )
    for word, text in (("terminal", terminal), ("running", running)):
        if not (text is None or isinstance(text, str)):
            raise SimulationError(
                f"{word} is {text!r:.60}, which is not an expression",
                where,
                "write arithmetic of columns, parameters and t, such as 'platform.x**2'",
            )
    if measurements is None:
        return
    if not isinstance(measurements, Measurements):
        raise SimulationError(
            f"measurements is {type(measurements).__name__}",
            where,
            "give Measurements(times=…, values={…}, misfit='…')",
        )
    first, last = measurements.times[0], measurements.times[-1]
    if first < run.start_time or last > run.end_time:
        raise SimulationError(
            f"measurements were taken from {first:g} to {last:g} s",
            where,
            f"give times between {run.start_time:g} and {run.end_time:g} s",
        )


CHUNK = 1024  # steps
MOST_NUMBERS = 2**23  # of recorded steps that are kept, 64 MiB


@dataclass(slots=True)
class _Chunk:
    """Checkpoint at the start of a chunk, none at that of a run; its steps as long as kept."""

    words: Array | None
    times: Array | None = None
    states: Array | None = None


@dataclass(slots=True)
class Recorded:
    """A run whose steps were recorded: what it began with, what it left, and its steps."""

    values: Mapping[str, Array]
    result: NativeResult
    chunks: list[_Chunk]


class Recorder:
    """Runs of the same code with recorded steps.

    `run`: the first of them, of a loop that records steps; others differ in the vectors
    `parameters`, `base` and `states`. `most`: numbers of recorded steps that are kept of a run.
    """

    def __init__(self, run: NativeRun, *, chunk: int = CHUNK, most: int = MOST_NUMBERS) -> None:
        self._run, self._begun, self._start_time = run, run.words.copy(), run.time
        ny = run.state.size
        self._times, self._states = np.empty(chunk + 1), np.empty((chunk + 1, ny))
        self._room = max(1, most // max(1, chunk * ny))

    def forward(self, values: Mapping[str, Array] | None = None) -> Recorded:
        """Run to the end with these vectors in place of those of the first run."""
        values = values or {}
        self._run.set(self._begun, values)
        chunks: list[_Chunk] = []
        while not chunks or self._run.code == rules.PAUSED:
            chunks.append(_Chunk(self._run.words.copy() if chunks else None))
            self._take(chunks[-1])
            if len(chunks) > self._room:
                chunks[-self._room - 1].times = chunks[-self._room - 1].states = None
        return Recorded(values, self._run.result().copy(), chunks)

    def _take(self, chunk: _Chunk) -> None:
        """Compute the steps of a chunk from its checkpoint."""
        times, states = self._times, self._states
        times[0], states[0] = self._run.time, self._run.state
        count = self._run.record_steps(times[1:], states[1:]) + 1
        chunk.times, chunk.states = times[:count].copy(), states[:count].copy()

    def prepare_back(
        self,
        pull: NativeFunction,
        pull_project: NativeFunction | None,
        sizes: tuple[int, int, int],
    ) -> None:
        """Get ready for adjoint sweeps."""
        num_base, num_parameters, num_segments = sizes
        self._found = {
            "weights": np.zeros(self._states.shape[1]),
            "by_base": np.zeros(num_base),
            "by_coefficients": np.zeros(4 * num_segments),
            "by_parameters": np.zeros(num_parameters),
        }
        self._pulls = np.zeros(1, PULL)
        for name, vector in self._found.items():
            self._pulls[name] = address(name, vector)
        self._pulls["pull"], self._pulls["begin"] = pull.address, self._start_time
        self._pulls["pull_project"] = pull_project.address if pull_project else 0
        way = Pull(
            num_base=num_base,
            num_parameters=num_parameters,
            has_projection=pull_project is not None,
        )
        step_back, size, _ = adjoint_code(self._run.layout.back_shape, way)
        self._work, aligned = work_memory(size)
        record = address("record", self._run.words, kind=np.int64)
        pulls_at = address("pulls", self._pulls, kind=PULL)

        def go() -> None:
            step_back(record, pulls_at, aligned)

        self._go: Callable[[], None] = go

    def back(
        self, recorded: Recorded, weights: Array, added: Sequence[tuple[float, Array]] = ()
    ) -> dict[str, Array]:
        """Adjoint sweep over all steps, from the end of a run to its start.

        Returns
        -------
        found : ``weights``, ``by_base``, ``by_coefficients`` and ``by_parameters``, copied.
        """
        for vector in self._found.values():
            vector[:] = 0.0
        self._found["weights"][:] = weights
        waiting = list(added)
        for chunk in reversed(recorded.chunks):
            is_first = chunk.words is None
            self._run.set(*((self._begun, recorded.values) if is_first else (chunk.words, {})))
            if chunk.times is None or chunk.states is None:
                self._take(chunk)
            assert chunk.times is not None and chunk.states is not None
            end = len(chunk.times) - 1
            while waiting and (is_first or waiting[-1][0] >= chunk.times[0]):
                time, along = waiting.pop()
                at = max(int(np.searchsorted(chunk.times, time, side="right")) - 1, 0)
                self._steps(chunk.times, chunk.states, min(at, end), end)
                end = min(at, end)
                self._found["weights"] += along
            self._steps(chunk.times, chunk.states, 0, end)
            if not is_first:
                chunk.times = chunk.states = None
        return {name: vector.copy() for name, vector in self._found.items()}

    def _steps(self, times: Array, states: Array, first: int, end: int) -> None:
        """Sweep back from one recorded time to another."""
        if end == first:
            return
        steps = end + 1 - first
        self._pulls["step_times"] = address("step times", times[first:], steps)
        size = steps * self._states.shape[1]
        self._pulls["step_states"] = address("step states", states[first:], size)
        self._pulls["count"] = end - first
        self._go()


_POWERS = np.array([3.0, 2.0, 1.0, 0.0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedPiece:
    """A piece of n runs that were done in the same code, with recorded steps."""

    #: code, recorder: code and recorder that they were done in
    code: GradientCode
    recorder: Recorder
    recorded: Sequence[Recorded]  #: the runs
    num_good: int  #: samples of each that count
    jumps: tuple[Jump, ...] = ()  #: jumps before it; with jumps there is one run


class Pulled:
    """Derivatives of an objective of n runs by states, base inputs, tables and parameters.

    Attributes
    ----------
    weights : (n, ny) λ, by the state.
    base, parameters : derivatives by base inputs and by those parameters that are asked for.
    coefficients : (n, k, 4) for each table, by the coefficients of its segments.
    terminal, misfit : (n,) values of these parts of the objective.
    """

    def __init__(self, code: GradientCode, tables: Sequence[InputTable], base: Array) -> None:
        n = len(base)
        self.tables = tables
        self.weights = np.zeros((n, code.loop.num_states))
        self.base = np.zeros((n, base.shape[1] if code.wants_base else 0))
        self.parameters = np.zeros((n, len(code.places)))
        self.coefficients = [np.zeros((n, len(t.starts), 4)) for t in tables]
        self.terminal, self.misfit = np.zeros(n), np.zeros(n)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Derivatives by base inputs and parameters, and segments of tables."""
        segments = sum(len(t.starts) for t in self.tables)
        return self.base.shape[1], self.parameters.shape[1], segments

    def note(self, pulled: Array, t: float, *, from_left: bool) -> Array:
        """Accumulate pulls by base inputs, tables and parameters; returns those by y."""
        size, num = self.weights.shape[1], self.base.shape[1]
        by_base = pulled[:, size : size + num]
        self.base += by_base
        self.parameters += pulled[:, size + num :]
        if num:
            self.note_tables(by_base, t, from_left=from_left)
        return pulled[:, :size]

    def note_tables(self, by_base: Array, t: float, *, from_left: bool = False) -> None:
        """Add derivatives by base inputs at a time to those by the tables that drive them."""
        for table, found in zip(self.tables, self.coefficients, strict=True):
            at = table.segment(float(np.nextafter(t, -np.inf)) if from_left else t)
            found[:, at] += by_base[:, [table.index]] * (t - table.starts[at]) ** _POWERS

    def add(self, j: int, found: Mapping[str, Array]) -> None:
        """Add what a sweep found for one run; λ is the one at its start."""
        self.weights[j] = found["weights"]
        self.base[j] += found["by_base"]
        self.parameters[j] += found["by_parameters"]
        rows, at = found["by_coefficients"].reshape(-1, 4), 0
        for coefficients in self.coefficients:
            coefficients[j] += rows[at : at + coefficients.shape[1]]
            at += coefficients.shape[1]


def sweep_back(
    parts: Sequence[RecordedPiece],
    settings: SegmentSettings,
    base: Array,
    p: Array,
    measurements: Measurements | None,
) -> Pulled:
    """Derivatives of an objective of n runs, from their ends to their starts."""
    code, run = parts[-1].code, settings.run
    found = Pulled(code, settings.tables, base)
    end, n = run.end_time, len(base)
    if code.terminal is not None:
        # inputs that jump at the end count as they were before
        now = driven_rows(settings.tables, base, float(np.nextafter(end, -np.inf)))
        states = np.array([recorded.result.state for recorded in parts[-1].recorded])
        values = code.terminal.map(np.full(n, end), states, now, p)
        found.terminal = values[:, 0]
        found.weights += found.note(values[:, 1:], end, from_left=True)
    if code.loop.num_states > code.loop.num_simulated:
        found.weights[:, -1] += 1.0
    for part in reversed(parts):
        added = _measured(part, found, settings, p, measurements)
        part.recorder.prepare_back(part.code.pull, part.code.pull_project, found.sizes)
        for j, recorded in enumerate(part.recorded):
            along = [(t, rows[j]) for t, rows in added]
            found.add(j, part.recorder.back(recorded, found.weights[j], along))
        for jump in reversed(part.jumps):
            _jump(jump, found, settings)
    return found


def _measured(
    part: RecordedPiece,
    found: Pulled,
    settings: SegmentSettings,
    p: Array,
    measurements: Measurements | None,
) -> list[tuple[float, Array]]:
    """Terms that the measurements of a part add to λ, with their times."""
    code, added = part.code, []
    if code.misfit is None or measurements is None:
        return []
    results = [recorded.result for recorded in part.recorded]
    for i, t in enumerate(results[0].times[: part.num_good].tolist()):
        x = np.array([result.states[i] for result in results])
        row = measurements.rows[int(np.searchsorted(measurements.times, t))]
        inputs = np.array([result.inputs[i] for result in results])
        given = np.column_stack([inputs, np.tile(row, (len(x), 1))])
        values = code.misfit.map(np.full(len(x), t), x, given, p)
        found.misfit += values[:, 0]
        is_end = t >= settings.run.end_time
        added.append((t, found.note(values[:, 1:], t, from_left=is_end)))
    return added


def _jump(jump: Jump, found: Pulled, settings: SegmentSettings) -> None:
    """λ before a jump of a single run."""
    code, numbers = jump.code, settings.numbers
    assert isinstance(code, GradientCode)
    pull = code.pull_update if jump.there is None else code.pull_carry(jump.there)
    x = np.concatenate([jump.state, found.weights[0]])
    pulled = pull(jump.time, x, numbers.base_at(jump.time), numbers.p)
    found.weights[0] = found.note(pulled[None], jump.time, from_left=False)[0]


def inputs_instead(variables: Sequence[Variable]) -> list[Variable]:
    """The same variables with the input's value at the start in place of each table."""
    return [
        dataclasses.replace(v, kind=INPUT, values=v.values[:1], table=None)
        if v.kind == TABLE
        else v
        for v in variables
    ]


def by_values(
    system: System, variable: Variable, tables: Sequence[InputTable], found: Sequence[Array]
) -> Array:
    """Derivatives by the values of a table."""
    assert variable.table is not None
    place, offset = input_index(system, variable.name)
    indices = [table.index for table in tables]
    by = found[indices.index(place)].copy()
    if offset:
        rate = found[indices.index(place + offset)]
        by[:, :3] += rate[:, 1:] * np.array([3.0, 2.0, 1.0])
    return _by_values(variable.table, by)


def _by_values(table: Table, by: Array) -> Array:
    """Derivatives by the values from those by coefficients (k, 4)."""
    if table.kind == "hold":
        return by[:, 3].copy()
    if table.kind == "linear":
        values = by[1:, 3].copy()
        values[0] += by[0, 3]
        slopes = by[1:-1, 2] / np.diff(table.times)
        values[1:] += slopes
        values[:-1] -= slopes
        return values
    units = np.eye(len(table.times))
    return np.array(
        [np.sum(by * dataclasses.replace(table, values=e).segments()[1]) for e in units]
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gradient:
    """A number made from a motion, and its derivatives. Made by :func:`gradient`.

    ``gradient["m"]`` is the derivative by m; that by a table is an array, one for each value.
    """

    model: str
    value: float  #: J
    #: terminal, running, misfit: parts of the value
    terminal: float
    running: float
    misfit: float
    #: name → derivative, a number or an array
    derivatives: dict[str, float | Array] = field(repr=False)
    #: units of the quantities that derivatives are taken by
    units: dict[str, str] = field(repr=False)
    #: steps, nfev: numbers of steps and of evaluations of the rates in the simulation
    steps: int
    nfev: int

    @property
    def vector(self) -> Array:
        """All derivatives one after the other, in the order asked for."""
        return np.concatenate([np.atleast_1d(x) for x in self.derivatives.values()])

    def __getitem__(self, name: str) -> float | Array:
        """Derivative by a name."""
        if name not in self.derivatives:
            raise SimulationError(
                f"there is no derivative with respect to '{name}'",
                f"gradient of model '{self.model}'",
                nearest(str(name), list(self.derivatives)),
            )
        return self.derivatives[name]

    def __repr__(self) -> str:
        listed = [
            f"  by {name} [{self.units[name]}]: "
            + (f"{x:.9g}" if isinstance(x, float) else f"{len(x)} values, norm {_norm(x):.6g}")
            for name, x in self.derivatives.items()
        ]
        return "\n".join([f"Gradient of {self.value:.12g} ('{self.model}')", *listed])


def _norm(values: Array) -> float:
    return float(np.linalg.norm(values))


@takes(OneOptions)
def gradient(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    terminal: str | None = None,
    running: str | None = None,
    measurements: Measurements | None = None,
    **options: Unpack[OneOptions],
) -> Gradient:
    """Derivatives of a number made from a motion, at the cost of a few simulations.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, of values that `start` gives, of inputs that are numbers
        or tables (one derivative for each value of a table), of numbers in `definitions`. The
        change of a start with what is given is followed.
    duration : s.
    terminal : expression of columns, parameters and t, taken at the end of the motion.
    running : expression that is integrated over time.
    measurements : measurements, and a misfit that is summed.
    options : options of the simulation.

    Raises
    ------
    SimulationError : for inconsistent arguments, a start that what is asked for does not determine,
        or a run that fails.
    """
    asked = {"duration": duration, **options}
    request = read_sensitivities("gradient", system, with_respect_to, asked)
    run, adjoint = request.run, _Adjoint(request, Objective(terminal, running, measurements))
    numbers, settings = adjoint.settings.numbers, adjoint.settings
    _, here, state, tangents = begin(
        adjoint.code.loop,
        numbers,
        inputs_instead(request.variables),
        run.start,
        run.start_time,
        run.guess,
    )
    settings = with_switches(adjoint.code_of, here, state, settings)
    recorders: list[tuple[Recorder, Recorded]] = []

    def record(piece: NativeRun) -> NativeResult:
        recorder = Recorder(piece)
        recorders.append((recorder, recorder.forward()))
        return recorders[-1][1].result

    pieces = run_segments(adjoint.code_of, here, state, settings, record, records_steps=True)
    _check_ending(system, pieces[-1], run.values)
    parts = []
    for piece, (recorder, recorded) in zip(pieces, recorders, strict=True):
        assert isinstance(piece.code, GradientCode)
        parts.append(
            RecordedPiece(
                code=piece.code,
                recorder=recorder,
                recorded=[recorded],
                num_good=piece.num_good,
                jumps=piece.jumps,
            )
        )
    found = adjoint.gradients(parts, settings, numbers.base[None], numbers.p[None], tangents[None])
    if found.messages:
        raise SimulationError(
            found.messages[0],
            f"gradient of model '{run.system.model.name}'",
            "look for an expression without a derivative at this motion, such as sqrt at 0",
        )
    results = [piece.result for piece in pieces]
    value = {name: float(x[0]) for name, x in found.parts.items()}
    return Gradient(
        model=run.system.model.name,
        value=value["terminal"] + value["running"] + value["misfit"],
        **value,
        derivatives={
            name: float(x[0]) if x.ndim == 1 else x[0] for name, x in found.derivatives.items()
        },
        units={v.name: v.unit for v in request.variables},
        steps=sum(r.steps for r in results),
        nfev=sum(r.evaluations for r in results),
    )


def _check_ending(system: System, last: Piece, values: Array) -> None:
    if last.result.code != rules.FINISHED:
        _, message = ending_of(
            last.result, last.code.loop.system, None, values, "derivatives of runs"
        )
        raise SimulationError(
            message,
            f"model '{system.model.name}', t = {last.result.time:.9g} s",
            "end the run earlier, or simulate with on_failure='return' to look at it",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Gradients of n motions: parts of J and derivatives by name, and those that are not finite."""

    parts: dict[str, Array]
    derivatives: dict[str, Array]
    messages: dict[int, str]


class _Adjoint:
    """The gradient of an objective: code, settings, and what follows from recorded motions."""

    def __init__(self, request: SensitivityRequest, objective: Objective) -> None:
        run = request.run
        check_objective(run, *objective)
        self.request, self._objective = request, objective
        self.code = self.code_of(run.system)
        check_rounding(self.code.loop)
        measurements = objective.measurements
        times = measurements.times if measurements else np.zeros(0)
        numbers = numbers_of(self.code.loop, run.inputs, run.definitions, run.values)
        self.settings = request.settings(
            numbers.with_knots(times),
            times,
            rtol=run.rtol,
            absolute=run.absolute(self.code.loop.num_states),
            base=numbers.base,
            tables=numbers.tables,
        )

    def code_of(self, there: System) -> GradientCode:
        """The code in the speeds of a system."""
        run, (terminal, running, measurements) = self.request.run, self._objective
        return gradient_code(
            there,
            run.inputs,
            run.definitions,
            self.request.variables,
            terminal=terminal,
            running=running,
            misfit=measurements.misfit if measurements else None,
            measured=tuple(measurements.values) if measurements else (),
        )

    def gradients(
        self,
        parts: Sequence[RecordedPiece],
        settings: SegmentSettings,
        base: Array,
        p: Array,
        tangents: Array,
    ) -> _Found:
        """Gradients of n motions."""
        found = sweep_back(parts, settings, base, p, self._objective.measurements)
        loop = parts[-1].code.loop
        has_running = loop.num_states > loop.num_simulated
        running = np.zeros(len(base))
        if has_running:
            running = np.array([float(r.result.state[-1]) for r in parts[-1].recorded])
        derivatives = self._by_name(found, parts[-1].code, tangents)
        messages: dict[int, str] = {}
        for name, x in derivatives.items():
            is_finite = np.isfinite(x.reshape(len(x), -1)).all(axis=1)
            for k in np.flatnonzero(~is_finite).tolist():
                messages.setdefault(k, f"the derivative with respect to '{name}' is not finite")
        values = {"terminal": found.terminal, "running": running, "misfit": found.misfit}
        return _Found(values, derivatives, messages)

    def _by_name(self, found: Pulled, code: GradientCode, tangents: Array) -> dict[str, Array]:
        """All derivatives by name, the start's share added."""
        request = self.request
        at_start = np.einsum("ny,nyk->nk", found.weights, tangents)
        derivatives: dict[str, Array] = {}
        for j, variable in enumerate(request.variables):
            if variable.kind == TABLE:
                # a table acts on the start through its value there
                by_base = np.zeros((len(at_start), found.base.shape[1]))
                by_base[:, variable.place] = at_start[:, j]
                found.note_tables(by_base, request.run.start_time)
                derivatives[variable.name] = np.array(
                    [
                        by_values(
                            request.run.system,
                            variable,
                            found.tables,
                            [c[i] for c in found.coefficients],
                        )
                        for i in range(len(at_start))
                    ]
                )
                continue
            direct: Array | float = 0.0
            if variable.kind == INPUT:
                direct = found.base[:, variable.place]
            elif variable.kind != START:
                direct = found.parameters[:, code.places.index(variable.place)]
            derivatives[variable.name] = direct + at_start[:, j]
        return derivatives


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientBatch(AbstractDerivatives):
    """A number made from each of many motions, and its derivatives. Made by `gradient_batch`.

    ``batch["m"]`` are the derivatives by m; ``batch[k]`` is the :class:`Gradient` of a motion.
    """

    #: value, terminal, running, misfit: (n,) J and its parts
    value: Array = field(repr=False)
    terminal: Array = field(repr=False)
    running: Array = field(repr=False)
    misfit: Array = field(repr=False)
    #: name → (n,), or (n, k) by the k values of a table
    derivatives: dict[str, Array] = field(repr=False)
    #: units of the quantities that derivatives are taken by
    units: dict[str, str] = field(repr=False)

    @property
    def vectors(self) -> Array:
        """(n, k) all derivatives of each motion one after the other, in the order asked for."""
        return np.column_stack([x.reshape(self.count, -1) for x in self.derivatives.values()])

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
        k = self.checked(key)
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
        return (
            f"{self.said()}, by {', '.join(self.derivatives)}\n"
            f"next: .value, ['{next(iter(self.derivatives))}'], .vectors, [k], .to_xarray()"
        )


@takes(ManyOptions)
def gradient_batch(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    terminal: str | None = None,
    running: str | None = None,
    measurements: Measurements | None = None,
    **options: Unpack[ManyOptions],
) -> GradientBatch:
    """Derivatives of a number made from each of many motions.

    Wherever :func:`gradient` takes a number as a start value, input, parameter or definition, a
    list of numbers may be given too, one for each motion. Nothing is raised for a motion that
    fails: the result says why.

    Parameters
    ----------
    system, with_respect_to, duration, terminal, running, measurements : arguments of
        :func:`gradient`.
    options : options of the simulations; expressions, tables, a law and a guess are those of all
        motions. Runs that a cancelled call did not reach are nan.

    Raises
    ------
    SimulationError : for inconsistent arguments, and a start that cannot be completed.
    """
    motions = DifferentiatedMotions(
        "gradient_batch", system, with_respect_to, {"duration": duration, **options}
    )
    work = _Gradients(motions, Objective(terminal, running, measurements))
    in_blocks(motions.count, work.fill, size=BLOCK, **motions.watched)
    return work.result()


class _Gradients:
    """Gradients of all motions, filled block by block.

    A motion that needs more than one piece, such as other independent speeds on its way or steps
    that end where a law saturates, is a single call.
    """

    def __init__(self, motions: DifferentiatedMotions, objective: Objective) -> None:
        self._motions, self._objective = motions, objective
        self._adjoint = _Adjoint(motions.request, objective)
        self._are_single_calls = motions.are_single_calls(self._adjoint.code.loop)
        n = motions.count
        check_memory(
            n * (25.0 + 8.0 * sum(len(v.columns) for v in motions.request.variables)),
            "results",
            motions.variants.where,
            "take fewer motions at a time",
        )
        self._success, self._messages = np.zeros(n, bool), dict[int, str]()
        self._parts = {name: np.full(n, np.nan) for name in ("terminal", "running", "misfit")}
        self._derivatives = {
            v.name: np.full((n, len(v.values)) if v.kind == TABLE else n, np.nan)
            for v in motions.request.variables
        }
        self._steps, self._nfev = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def fill(self, block: range) -> None:
        """Gradients of a block of motions."""
        motions, settings, code = self._motions, self._adjoint.settings, self._adjoint.code
        if self._are_single_calls:
            for k in block:
                self._alone(k)
            return
        variables = inputs_instead(motions.request.variables)
        states, tangents = motions.starts(code.loop, variables, settings.numbers, block)
        base, p = motions.values(code.loop, block)
        loop = whole_loop(code, settings, records_steps=True)
        span = settings.run.start_time, settings.run.end_time
        recorder = Recorder(begin_piece(loop, settings, *span, states[0]))
        recorded, done = [], []
        for k in range(len(block)):
            run = recorder.forward({"parameters": p[k], "base": base[k], "states": states[k]})
            if run.result.code != rules.FINISHED:
                self._alone(block.start + k)
                continue
            done.append(k)
            recorded.append(run)
        if not done:
            return
        at = np.array(done)
        num_good = len(recorded[0].result.times)
        part = RecordedPiece(code=code, recorder=recorder, recorded=recorded, num_good=num_good)
        found = self._adjoint.gradients([part], settings, base[at], p[at], tangents[at])
        places = block.start + at
        self._success[places] = True
        for name, x in found.parts.items():
            self._parts[name][places] = x
        for name, x in found.derivatives.items():
            self._derivatives[name][places] = x
        for j, message in found.messages.items():
            self._success[places[j]] = False
            self._messages[int(places[j])] = message
        self._steps[places] = [run.result.steps for run in recorded]
        self._nfev[places] = [run.result.evaluations for run in recorded]

    def _alone(self, k: int) -> None:
        """A motion by the single call."""
        motions = self._motions
        own = self._objective._asdict() | motions.one(k)
        try:
            found = gradient(motions.system, with_respect_to=motions.names, **own)
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

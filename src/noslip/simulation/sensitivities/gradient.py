"""`gradient`: the derivative of one number by any number of parameters, start values and inputs.

    J = terminal(y(t_end)) + ∫ running dt + Σ_k misfit(y(t_k))

The motion is simulated once and its steps are recorded. Then the adjoint λ = ∂J/∂y is swept back
through them (equations (1) to (5) of `simulation/loop/adjoint.py`). In the limit of small steps
these are the adjoint equations

    −λ̇ = F_yᵀ λ,      dJ/dθ = λ(t₀)ᵀ ∂y₀/∂θ + ∫ λᵀ (F_p ∂p/∂θ + F_b ∂b/∂θ) dt

with the running cost as one more state of F; here they are exact for the steps as they were taken,
so that the gradient is that of the number computed, to rounding, for given steps. Its cost, a few
simulations, does not depend on how many derivatives are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from noslip.base import Array, NoslipError, SimulationError, check_memory, nearest
from noslip.engines import System
from noslip.simulation import rules
from noslip.simulation.batches.variants import in_blocks
from noslip.simulation.native_run import NativeResult, NativeRun
from noslip.simulation.options import ManyOptions, OneOptions, takes
from noslip.simulation.recorded_run import Recorded, Recorder
from noslip.simulation.samples import ending_of
from noslip.simulation.sensitivities.adjoint import (
    Pulled,
    RecordedPiece,
    by_values,
    inputs_instead,
    sweep_back,
)
from noslip.simulation.sensitivities.closed_loop import numbers_of
from noslip.simulation.sensitivities.gradient_code import GradientCode, gradient_code
from noslip.simulation.sensitivities.law_switches import check_rounding, with_switches
from noslip.simulation.sensitivities.motions import (
    BLOCK,
    AbstractDerivatives,
    DifferentiatedMotions,
    whole_loop,
)
from noslip.simulation.sensitivities.objective import Measurements, Objective, check_objective
from noslip.simulation.sensitivities.request import SensitivityRequest, read_sensitivities
from noslip.simulation.sensitivities.segments import (
    Piece,
    SegmentSettings,
    begin_piece,
    run_segments,
)
from noslip.simulation.sensitivities.start import begin
from noslip.simulation.sensitivities.variables import INPUT, START, TABLE

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gradient:
    """A number made from a motion, and its derivatives. Made by :func:`gradient`.

    ``gradient["m"]`` is the derivative by m; that by a table is an array, one for each value.

    Parameters
    ----------
    value : J.
    terminal, running, misfit : its parts.
    derivatives : name → derivative, a number or an array.
    units : of what derivatives are taken by.
    steps, nfev : of the simulation.
    """

    model: str
    value: float
    terminal: float
    running: float
    misfit: float
    derivatives: dict[str, float | Array] = field(repr=False)
    units: dict[str, str] = field(repr=False)
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
    measurements : what was measured, and a misfit that is summed.
    options : how the run is made.

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
        """Gradients of n motions.

        Parameters
        ----------
        parts, settings : of the motions, see :func:`sweep_back`.
        base, p : (n, nb) base inputs and (n, np) parameters.
        tangents : (n, ny, nθ) derivatives of the starts.
        """
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

    Parameters
    ----------
    value, terminal, running, misfit : (n,) J and its parts.
    derivatives : name → (n,), or (n, k) by the k values of a table.
    units : of what derivatives are taken by.
    """

    value: Array = field(repr=False)
    terminal: Array = field(repr=False)
    running: Array = field(repr=False)
    misfit: Array = field(repr=False)
    derivatives: dict[str, Array] = field(repr=False)
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
    system, with_respect_to, duration, terminal, running, measurements : as in :func:`gradient`.
    options : how the runs are made; expressions, tables, a law, and a guess are those of all
        motions. What was not done when the work is cancelled is nan.

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

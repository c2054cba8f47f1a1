"""`gradient`: the derivative of one number by any number of parameters, start values and inputs.

    J = terminal(y(t_end)) + ∫ running dt + Σ_k misfit(y(t_k))

The motion is simulated once and its steps are recorded. Then they are taken back, with λ = ∂J/∂y
instead of y (equations (1) to (5) of `simulation/recorded_loop.py`). In the limit of small steps
these are the adjoint equations

    −λ̇ = F_yᵀ λ,      dJ/dθ = λ(t₀)ᵀ ∂y₀/∂θ + ∫ λᵀ (F_p ∂p/∂θ + F_b ∂b/∂θ) dt

with the running cost as one more state of F; here they are exact for the steps as they were taken,
so that the gradient is that of the number computed, to rounding, for given steps. Its cost, a few
simulations, does not depend on how many derivatives are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noslip.analysis.sensitivities.closed_loop import Definitions, Inputs
from noslip.analysis.sensitivities.gradient_code import GradientCode, gradient_code
from noslip.analysis.sensitivities.numbers import check_given, numbers_of, segment_at
from noslip.analysis.sensitivities.objective import Measurements, check_objective
from noslip.analysis.sensitivities.start import begin
from noslip.analysis.sensitivities.table_gradient import by_values, inputs_instead
from noslip.analysis.sensitivities.travel import Jump, Piece, Settings, base_at, travel
from noslip.analysis.sensitivities.variables import (
    INPUT,
    START,
    TABLE,
    Variable,
    read_variables,
)
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.simulation import loop as native
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.recorded_run import Derivatives, RecordedRun
from noslip.simulation.runner import NativeResult
from noslip.simulation.samples import _ending
from noslip.simulation.simulate import _METHODS, _check_arguments, check_redundant_rows
from noslip.simulation.start import Start
from noslip.simulation.tolerances import check_settings


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
                f"there is no derivative by '{name}'",
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


def gradient(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    terminal: str | None = None,
    running: str | None = None,
    measurements: Measurements | None = None,
    start: Mapping[str, float] | Start | None = None,
    inputs: Inputs = None,
    parameters: Mapping[str, float] | None = None,
    definitions: Definitions | None = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    start_time: float = 0.0,
) -> Gradient:
    """Derivatives of a number made from a motion, at the cost of a few simulations.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, of values that `start` gives, of inputs that are numbers
        or tables (one derivative for each value of a table), of numbers in `definitions`.
    duration : s.
    terminal : expression of columns, parameters and t, taken at the end of the motion.
    running : expression that is integrated over time.
    measurements : what was measured, and a misfit that is summed.
    start : coordinates, speeds, named angles and their rates; the rest is completed, and its
        change with what is given is followed.
    inputs : as in :func:`noslip.simulate`, Python callables apart.
    parameters : values that differ from the nominal ones.
    definitions : name → expression, or number, that the expressions and `inputs` may use.
    method, rtol, atol, step, max_step, max_steps, start_time : as in :func:`noslip.simulate`.

    Raises
    ------
    SimulationError : for inconsistent arguments, a start that what is asked for does not determine,
        or a run that fails.
    """
    if not isinstance(system, System):
        raise TypeError(
            f"gradient takes a System, got {type(system).__name__}: compile the equations first"
        )
    end_time = start_time + duration
    check_settings(
        system.model.name,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
        samples=2,
    )
    _check_arguments(system, duration, method, step, "raise")
    check_objective(system.model.name, terminal, running, measurements, start_time, end_time)
    definitions = dict(definitions or {})
    check_given(system, inputs, definitions)
    values = system.parameters(parameters)
    check_redundant_rows(system, values, parameters)
    variables = read_variables(
        system,
        with_respect_to,
        start=start,
        inputs=inputs,
        definitions=definitions,
        parameters=values,
    )

    def code_of(there: System) -> GradientCode:
        return gradient_code(
            there,
            inputs,
            definitions,
            variables,
            terminal=terminal,
            running=running,
            misfit=measurements.misfit if measurements else None,
            measured=tuple(measurements.values) if measurements else (),
        )

    code = code_of(system)
    numbers = numbers_of(code.loop, inputs, definitions, values)
    _, state, tangents = begin(
        code.loop, code.inputs, numbers, inputs_instead(variables), start, start_time
    )
    absolute = np.full(state.size, atol)
    if system.does_work:
        absolute[system.num_states - 1] = 1e300
    times = measurements.times if measurements else np.zeros(0)
    settings = Settings(
        start_time=start_time,
        end_time=end_time,
        times=times,
        method=_METHODS[method],
        rtol=rtol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        absolute=absolute,
        base=numbers.base,
        tables=numbers.tables,
        numbers=numbers.with_knots(times),
    )
    recorded: list[RecordedRun] = []

    def run(plan: IntegrationPlan, _: object) -> NativeResult:
        recorded.append(RecordedRun(plan))
        return recorded[-1].forward()

    pieces = travel(code_of, system, state, settings, run)
    _check_ending(system, pieces[-1])
    back = _Back(system, pieces, recorded, settings, measurements)
    back.go()
    return back.gradient(variables, tangents, has_running=running is not None)


def _check_ending(system: System, last: Piece) -> None:
    if last.result.code != native.FINISHED:
        _, message = _ending(last.result, last.code.loop.system, None)
        raise SimulationError(
            message,
            f"model '{system.model.name}', t = {last.result.time:.9g} s",
            "end the run earlier, or simulate with on_failure='return' to look at it",
        )


class _Back:
    """The way back through the pieces of a run."""

    def __init__(
        self,
        system: System,
        pieces: list[Piece],
        recorded: list[RecordedRun],
        settings: Settings,
        measurements: Measurements | None,
    ) -> None:
        self.system, self.pieces, self.recorded = system, pieces, recorded
        self.settings, self.measurements = settings, measurements
        code = pieces[-1].code
        assert isinstance(code, GradientCode)
        self.last: GradientCode = code
        self.found = Derivatives(
            weights=np.zeros(code.loop.num_states),
            base=np.zeros(len(settings.base) if code.wants_base else 0),
            parameters=np.zeros(len(code.places)),
            coefficients=[np.zeros((len(t.starts), 4)) for t in settings.tables],
        )
        self.terminal = self.misfit = 0.0

    def go(self) -> None:
        """From the end to the start; leaves λ(t₀) and all else in `found`."""
        result, found = self.pieces[-1].result, self.found
        if self.last.loop.num_states > self.last.loop.num_simulated:
            found.weights[-1] = 1.0
        if self.last.terminal is not None:
            base = self._base_before(result.time)
            pulled = self.last.terminal(result.time, result.state, base, self.settings.numbers.p)
            self.terminal = float(pulled[0])
            self._note(pulled[1:], result.time, from_left=True)
            found.weights += pulled[1 : 1 + found.weights.size]
        for piece, recorded in zip(reversed(self.pieces), reversed(self.recorded), strict=True):
            code = piece.code
            assert isinstance(code, GradientCode)
            recorded.back(found, code.pull, code.pull_project, self._added(piece, code))
            for jump in reversed(piece.jumps):
                self._jump_back(jump)

    def _added(self, piece: Piece, code: GradientCode) -> list[tuple[float, Array]]:
        """What the measurements of a piece add to λ, with their times."""
        if code.misfit is None or self.measurements is None:
            return []
        added, size = [], self.found.weights.size
        rows = dict(zip(self.measurements.times.tolist(), self.measurements.rows, strict=True))
        result = piece.result
        for k in range(piece.num_good):
            t, base = float(result.times[k]), result.inputs[k]
            given = np.concatenate([base, rows[t]])
            pulled = code.misfit(t, result.states[k], given, self.settings.numbers.p)
            self.misfit += float(pulled[0])
            self._note(pulled[1:], t, from_left=t >= self.settings.end_time)
            added.append((t, pulled[1 : 1 + size].copy()))
        return added

    def _jump_back(self, jump: Jump) -> None:
        """λ before a change at once."""
        code, found = jump.code, self.found
        assert isinstance(code, GradientCode)
        pull = code.pull_update if jump.there is None else code.pull_carry(jump.there)
        x = np.concatenate([jump.state, found.weights])
        base = base_at(self.settings, jump.time)
        pulled = pull(jump.time, x, base, self.settings.numbers.p)
        self._note(pulled, jump.time, from_left=False)
        found.weights[:] = pulled[: found.weights.size]

    def _base_before(self, t: float) -> Array:
        """Base inputs just before the end."""
        return self.settings.numbers.base_at(np.nextafter(t, -np.inf))

    def _note(self, pulled: Array, t: float, *, from_left: bool) -> None:
        """Add what a pull gives by base inputs, tables and parameters at a time."""
        found = self.found
        size, num = found.weights.size, found.base.size
        found.base += pulled[size : size + num]
        found.parameters += pulled[size + num :]
        self._note_tables(pulled[size : size + num], t, from_left=from_left)

    def _note_tables(self, by_base: Array, t: float, *, from_left: bool) -> None:
        if not by_base.size:
            return
        for table, found in zip(self.settings.tables, self.found.coefficients, strict=True):
            at = segment_at(table.starts, float(np.nextafter(t, -np.inf)) if from_left else t)
            r = t - table.starts[at]
            found[at] += by_base[table.index] * r ** np.array([3.0, 2.0, 1.0, 0.0])

    def gradient(
        self, variables: Sequence[Variable], tangents: Array, *, has_running: bool
    ) -> Gradient:
        """All derivatives by name, the start's share added."""
        found, settings = self.found, self.settings
        places = list(self.last.places)
        derivatives: dict[str, float | Array] = {}
        for variable, at_start in zip(variables, found.weights @ tangents, strict=True):
            if variable.kind == TABLE:
                # a table acts on the start through its value there
                by_base = np.zeros(len(settings.base))
                by_base[variable.place] = at_start
                self._note_tables(by_base, settings.start_time, from_left=False)
                derivatives[variable.name] = by_values(
                    self.system, variable, settings.tables, found.coefficients
                )
                continue
            direct = 0.0
            if variable.kind == INPUT:
                direct = found.base[variable.place]
            elif variable.kind != START:
                direct = found.parameters[places.index(variable.place)]
            derivatives[variable.name] = float(direct + at_start)
        results = [piece.result for piece in self.pieces]
        running = float(results[-1].state[-1]) if has_running else 0.0
        return Gradient(
            model=self.system.model.name,
            value=self.terminal + running + self.misfit,
            terminal=self.terminal,
            running=running,
            misfit=self.misfit,
            derivatives=derivatives,
            units={v.name: v.unit for v in variables},
            steps=sum(r.steps for r in results),
            nfev=sum(r.evaluations for r in results),
        )

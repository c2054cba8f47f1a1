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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noslip.base import Array, SimulationError, nearest
from noslip.engines import System
from noslip.simulation import rules
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.recorded_run import RecordedRun
from noslip.simulation.runner import NativeResult
from noslip.simulation.samples import ending_of
from noslip.simulation.sensitivities.adjoint import Adjoint, by_values, inputs_instead
from noslip.simulation.sensitivities.closed_loop import Definitions, Inputs, numbers_of
from noslip.simulation.sensitivities.gradient_code import GradientCode, gradient_code
from noslip.simulation.sensitivities.law_switches import check_rounding, with_switches
from noslip.simulation.sensitivities.objective import Measurements, check_objective
from noslip.simulation.sensitivities.request import SensitivityRequest, read_sensitivities
from noslip.simulation.sensitivities.segments import Piece, run_segments
from noslip.simulation.sensitivities.start import begin
from noslip.simulation.sensitivities.variables import INPUT, START, TABLE
from noslip.simulation.starts.completion import Start


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


def gradient(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    terminal: str | None = None,
    running: str | None = None,
    measurements: Measurements | None = None,
    start: Mapping[str, float] | Start | None = None,
    guess: Mapping[str, float] | None = None,
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
    guess : coordinates and named angles about which the rest is looked for, as in
        :func:`noslip.simulate`.
    inputs : as in :func:`noslip.simulate`, Python callables apart.
    parameters : values that differ from the nominal ones.
    definitions : name → expression, or number, that the expressions and `inputs` may use.
    method, rtol, atol, step, max_step, max_steps, start_time : as in :func:`noslip.simulate`.

    Raises
    ------
    SimulationError : for inconsistent arguments, a start that what is asked for does not determine,
        or a run that fails.
    """
    request = read_sensitivities("gradient", locals())
    run = request.run
    check_objective(run, terminal, running, measurements)

    def code_of(there: System) -> GradientCode:
        return gradient_code(
            there,
            run.inputs,
            run.definitions,
            request.variables,
            terminal=terminal,
            running=running,
            misfit=measurements.misfit if measurements else None,
            measured=tuple(measurements.values) if measurements else (),
        )

    code = code_of(run.system)
    numbers = numbers_of(code.loop, run.inputs, run.definitions, run.values)
    _, here, state, tangents = begin(
        code.loop,
        numbers,
        inputs_instead(request.variables),
        run.start,
        run.start_time,
        run.guess,
    )
    times = measurements.times if measurements else np.zeros(0)
    settings = request.settings(
        numbers.with_knots(times),
        times,
        rtol=run.rtol,
        absolute=run.absolute(state.size),
        base=numbers.base,
        tables=numbers.tables,
    )
    check_rounding(code.loop)
    settings = with_switches(code_of, here, state, settings)
    recorded: list[RecordedRun] = []

    def record(plan: IntegrationPlan, _: object) -> NativeResult:
        recorded.append(RecordedRun(plan))
        return recorded[-1].forward()

    pieces = run_segments(code_of, here, state, settings, record)
    _check_ending(system, pieces[-1], run.values)
    back = Adjoint(pieces, recorded, settings, measurements)
    back.go()
    return _gradient(request, back, pieces, tangents)


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


def _gradient(
    request: SensitivityRequest, back: Adjoint, pieces: Sequence[Piece], tangents: Array
) -> Gradient:
    """All derivatives by name, the start's share added."""
    found, code = back.found, pieces[-1].code
    assert isinstance(code, GradientCode)
    derivatives: dict[str, float | Array] = {}
    for variable, at_start in zip(request.variables, found.weights @ tangents, strict=True):
        if variable.kind == TABLE:
            # a table acts on the start through its value there
            by_base = np.zeros(found.base.size)
            by_base[variable.place] = at_start
            back.note_tables(by_base, request.run.start_time)
            derivatives[variable.name] = by_values(
                request.run.system, variable, back.tables, found.coefficients
            )
            continue
        direct = 0.0
        if variable.kind == INPUT:
            direct = found.base[variable.place]
        elif variable.kind != START:
            direct = found.parameters[code.places.index(variable.place)]
        derivatives[variable.name] = float(direct + at_start)
    for name, x in derivatives.items():
        if not np.all(np.isfinite(x)):
            raise SimulationError(
                f"the derivative with respect to '{name}' is not finite",
                f"gradient of model '{request.run.system.model.name}'",
                "look for an expression without a derivative at this motion, such as sqrt at 0",
            )
    results = [piece.result for piece in pieces]
    has_running = code.loop.num_states > code.loop.num_simulated
    running = float(results[-1].state[-1]) if has_running else 0.0
    return Gradient(
        model=request.run.system.model.name,
        value=back.terminal + running + back.misfit,
        terminal=back.terminal,
        running=running,
        misfit=back.misfit,
        derivatives=derivatives,
        units={v.name: v.unit for v in request.variables},
        steps=sum(r.steps for r in results),
        nfev=sum(r.evaluations for r in results),
    )

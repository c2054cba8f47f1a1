"""`simulate_sensitivities`: a motion, and how it changes with parameters, start values and inputs.

With ẏ = F(t, y, b, p) as in `closed_loop.py` and Y = ∂y/∂θ, one column for each variable θ,

    (1)  Ẏ = F_y Y + F_b ∂b/∂θ + F_p ∂p/∂θ,      Y(t₀) = ∂y₀/∂θ

is integrated along with the motion in the native loop, within its error control. After each step
the motion is projected onto the constraints, y ← P(y, p), and its derivatives with it:

    (2)  Y ← P_y Y + P_p ∂p/∂θ

The start is that of `start_tangents.py`. In other independent speeds Y is carried over as y is.
Errors of Y count in the size of θ: |δY| |θ| is held to the same tolerance as δy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from noslip.analysis.sensitivities.closed_loop import Definitions, Inputs
from noslip.analysis.sensitivities.forward_code import TangentCode, tangent_code
from noslip.analysis.sensitivities.numbers import check_given, numbers_of
from noslip.analysis.sensitivities.result import Sensitivities
from noslip.analysis.sensitivities.start import begin
from noslip.analysis.sensitivities.travel import Piece, Settings, travel
from noslip.analysis.sensitivities.variables import TABLE, Variable, read_variables
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.plan import InputTable
from noslip.simulation.runner import run_native
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.simulate import (
    _METHODS,
    _check_arguments,
    _sample_times,
    check_redundant_rows,
)
from noslip.simulation.start import Start
from noslip.simulation.tolerances import check_settings
from noslip.simulation.trajectory import Ending, Trajectory


def simulate_sensitivities(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    start: Mapping[str, float] | Start | None = None,
    inputs: Inputs = None,
    parameters: Mapping[str, float] | None = None,
    outputs: Mapping[str, str] | None = None,
    samples: int | Sequence[float] | Array = 201,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 10_000_000,
    definitions: Definitions | None = None,
    start_time: float = 0.0,
    progress: Callable[[float], None] | None = None,
    cancel: Any = None,
    on_failure: str = "raise",
) -> Sensitivities:
    """Motion of a system, and its exact derivatives.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, of values that `start` gives, of inputs that are numbers
        or tables (one derivative for each value of a table), of numbers in `definitions`.
    duration : s.
    start : coordinates, speeds, named angles and their rates; the rest is completed, and its
        change with what is given is followed.
    inputs : as in :func:`noslip.simulate`, Python callables apart.
    parameters : values that differ from the nominal ones.
    outputs : name → expression of columns (coordinates, speeds, angles, energies, inputs,
        accelerations, reactions), parameters and t, to be differentiated too.
    samples, method, rtol, atol, step, max_step, max_steps, start_time : as in
        :func:`noslip.simulate`.
    definitions : name → expression, or number, that `inputs` and `outputs` may use.
    progress : called with the fraction done, now and then.
    cancel : a ``threading.Event``; setting it ends the run.
    on_failure : ``"raise"``, or ``"return"`` to get what was computed until then.

    Raises
    ------
    SimulationError : for inconsistent arguments, a start that what is asked for does not determine,
        and for a run that fails unless `on_failure` is ``"return"``.
    """
    if not isinstance(system, System):
        raise TypeError(
            f"simulate_sensitivities takes a System, got {type(system).__name__}: compile the "
            "equations first"
        )
    check_settings(
        system.model.name,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
        samples=samples,
    )
    _check_arguments(system, duration, method, step, on_failure)
    definitions, outputs = dict(definitions or {}), dict(outputs or {})
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

    def code_of(there: System) -> TangentCode:
        return tangent_code(there, inputs, definitions, variables, outputs)

    code = code_of(system)
    numbers = numbers_of(code.loop, inputs, definitions, values)
    started, state, tangents = begin(code.loop, code.inputs, numbers, variables, start, start_time)
    bases = [
        table for v in variables if v.kind == TABLE for k in range(len(v.values))
        for table in v.basis(system, k)
    ]  # fmt: skip
    settings = Settings(
        start_time=start_time,
        end_time=start_time + duration,
        times=_sample_times(samples, start_time, duration, system),
        method=_METHODS[method],
        rtol=rtol / math.sqrt(1 + tangents.shape[1]),
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        absolute=_absolute(system, state, variables, atol),
        base=np.concatenate([numbers.base, np.zeros(len(bases))]),
        tables=numbers.tables + _placed(bases, len(numbers.base)),
        numbers=numbers,
    )
    whole = np.concatenate([state, tangents.T.ravel()])
    pieces = travel(
        code_of,
        system,
        whole,
        settings,
        lambda plan, _: run_native(
            plan, progress=_overall(progress, plan, settings), cancel=cancel
        ),
    )
    return _result(
        system, pieces, settings, variables, outputs, values, started, rtol, atol, method, on_failure
    )


def _placed(bases: Sequence[InputTable], first: int) -> tuple[InputTable, ...]:
    """Tables that drive the base inputs after the closed loop's own, one after the other."""
    return tuple(
        InputTable(index=first + k, starts=b.starts, coefficients=b.coefficients)
        for k, b in enumerate(bases)
    )


def _absolute(
    system: System, state: Array, variables: Sequence[Variable], atol: float
) -> Array:
    """Absolute tolerances: those of derivatives in the size of what they are taken by.

    The mean over n + 1 times as many errors lets those of the motion be √(n + 1) times as large;
    tolerances are made smaller by as much. The work does not choose the steps.
    """
    sizes = np.array([abs(x) or 1.0 for v in variables for x in v.values])
    one = np.full(state.size, atol / math.sqrt(1 + sizes.size))
    if system.does_work:
        one[system.num_states - 1] = 1e300
    return np.concatenate([one, *(np.minimum(one / size, 1e300) for size in sizes)])


def _overall(progress: Callable[[float], None] | None, plan: Any, settings: Settings) -> Any:
    """Progress of a piece as that of the run."""
    if progress is None:
        return None
    span = settings.end_time - settings.start_time

    def report(fraction: float) -> None:
        reached = plan.start_time + fraction * (plan.end_time - plan.start_time)
        progress((reached - settings.start_time) / span)

    return report


def _result(
    system: System,
    pieces: list[Piece],
    settings: Settings,
    variables: Sequence[Variable],
    outputs: Mapping[str, str],
    values: Array,
    started: Start,
    rtol: float,
    atol: float,
    method: str,
    on_failure: str,
) -> Sensitivities:
    """The trajectory and the derivatives at its samples."""
    num_q, num_v = len(system.coordinates), len(system.speeds)
    count = sum(len(v.values) for v in variables)
    segments, found, dq = [], [], []
    for piece in pieces:
        code, n = piece.code, piece.num_good
        assert isinstance(code, TangentCode)
        t, states = piece.result.times[:n], piece.result.states[:n]
        base = np.ascontiguousarray(piece.result.inputs[:n])
        num = code.loop.num_simulated
        simulated = np.ascontiguousarray(states[:, :num])
        inputs = code.inputs.map(
            t, simulated, np.ascontiguousarray(base[:, : len(settings.numbers.base)]), numbers_p(settings)
        )
        segments.append(
            Segment(
                system=code.loop.system,
                plan=code.plan(settings.numbers),
                t=t,
                states=simulated,
                inputs=inputs,
                crossings=np.zeros((0, 2 + num)),
            )
        )
        found.append(code.outputs.map(t, np.ascontiguousarray(states), base, numbers_p(settings)))
        tangents = states[:, num:].reshape(n, count, num)
        dq.append(tangents[:, :, :num_q].transpose(0, 2, 1))
    last = pieces[-1]
    counts = sum(
        np.array([p.result.steps, p.result.rejections, p.result.evaluations]) for p in pieces
    )
    run = assemble(
        system, segments, values, last.result, last.code.loop.system, started, None, None, counts,
        False, rtol, atol, method,
    )  # fmt: skip
    _raise_failure(system, run, last, on_failure)
    table = np.concatenate(found)
    num_out = num_v + len(outputs)
    derivatives = table[:, num_out:].reshape(len(table), count, num_out).transpose(0, 2, 1)
    return Sensitivities(
        run=run,
        names=tuple(name for v in variables for name in v.columns),
        units=tuple(v.unit for v in variables for _ in v.columns),
        coordinates=np.concatenate(dq),
        speeds=derivatives[:, :num_v],
        outputs={name: table[:, num_v + k] for k, name in enumerate(outputs)},
        output_derivatives={name: derivatives[:, num_v + k] for k, name in enumerate(outputs)},
    )


def numbers_p(settings: Settings) -> Array:
    return settings.numbers.p


def _raise_failure(system: System, run: Trajectory, last: Piece, on_failure: str) -> None:
    if on_failure == "raise" and run.ending not in (Ending.FINISHED, Ending.CANCELLED):
        raise SimulationError(
            run.message,
            f"model '{system.model.name}', t = {last.result.time:.9g} s",
            "pass on_failure='return' to look at the motion until then",
        )

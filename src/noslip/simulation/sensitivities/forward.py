"""`simulate_sensitivities`: a motion, and how it changes with parameters, start values and inputs.

With ẏ = F(t, y, b, p) as in `closed_loop.py` and Y = ∂y/∂θ, one column for each variable θ,

    (1)  Ẏ = F_y Y + F_b ∂b/∂θ + F_p ∂p/∂θ,      Y(t₀) = ∂y₀/∂θ

is integrated along with the motion in the native loop, within its error control. After each step
the motion is projected onto the constraints, y ← P(y, p), and its derivatives with it:

    (2)  Y ← P_y Y + P_p ∂p/∂θ

The start is that of `simulation/starts/tangents.py`. In other independent speeds Y is carried over
as y is. Errors of Y count in the size of θ: |δY| |θ| is held to the same tolerance as δy.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.simulation.native_run import InputTable, NativeResult, NativeRun
from noslip.simulation.options import DerivativeOptions, takes
from noslip.simulation.request import RunOptions
from noslip.simulation.sensitivities.closed_loop import LoopValues, numbers_of
from noslip.simulation.sensitivities.forward_code import TangentCode, tangent_code
from noslip.simulation.sensitivities.law_switches import check_rounding, with_switches
from noslip.simulation.sensitivities.request import SensitivityRequest, read_sensitivities
from noslip.simulation.sensitivities.result import Sensitivities, collect
from noslip.simulation.sensitivities.segments import SegmentSettings, run_segments
from noslip.simulation.sensitivities.start import begin
from noslip.simulation.sensitivities.variables import TABLE
from noslip.simulation.trajectory import Ending


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
    options : how the run is made; `outputs` are differentiated too.

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

"""The flow of a run: its last state, and the derivatives of that by the first state and numbers.

    x(T) = Φ(x₀, T, θ)        ∂Φ/∂x₀ X₀ + ∂Φ/∂θ,   ∂Φ/∂T = ẋ(T)

With tangents X₀ of the start as columns, it is a run of `forward.py` that begins with these: what
shooting for motions that repeat, and exponents of neighboring motions, are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.simulation.loop import rules
from noslip.simulation.native_run import NativeRun
from noslip.simulation.request import read_run
from noslip.simulation.sensitivities.closed_runs import (
    SensitivityRequest,
    check_rounding,
    run_segments,
    with_switches,
)
from noslip.simulation.sensitivities.controlled_loop import (
    START,
    Variable,
    check_given,
    numbers_of,
    read_variables,
)
from noslip.simulation.sensitivities.forward import TangentCode, tangent_code, tangent_settings
from noslip.simulation.sensitivities.start_derivatives import begin
from noslip.simulation.starts.completion import Start


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

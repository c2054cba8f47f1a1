"""The start of a closed loop, completed as that of a simulation, and its derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import casadi as ca
import numpy as np

from noslip.base import Array, IdentityKey
from noslip.engines import NativeFunction, System, compile_expression
from noslip.simulation.native_run import driven
from noslip.simulation.sensitivities.closed_loop import ClosedLoop, LoopValues, input_plan
from noslip.simulation.sensitivities.variables import (
    INPUT,
    NUMBER,
    PARAMETER,
    START,
    TABLE,
    Variable,
)
from noslip.simulation.start import begin as begin_run
from noslip.simulation.start import complete, state_at
from noslip.simulation.starts.bases import run_start
from noslip.simulation.starts.completion import Start
from noslip.simulation.starts.tangents import Change, check_kept, start_tangents


def begin(
    loop: ClosedLoop,
    numbers: LoopValues,
    variables: Sequence[Variable],
    start: Mapping[str, float] | Start | None,
    time: float,
    guess: Mapping[str, float] | None = None,
) -> tuple[Start, System, Array, Array]:
    """A completed start, the system in which its run begins, y there and its derivatives (ny, n).

    Parameters
    ----------
    loop : closed loop.
    numbers : of the loop.
    variables : what derivatives are taken by.
    start : what is given, or a completed start.
    time : s.
    guess : about which the rest of a start is looked for.
    """
    system = loop.system
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    params = numbers.p[: len(system.model.parameters)]
    plan = input_plan(loop, numbers)
    completion = None
    if not isinstance(start, Start):
        completion = complete(system, plan, start, time, params, guess)
    started = (
        completion.start() if completion else begin_run(system, plan, start, time, params, guess)
    )
    here, eta = run_start(system, started, params)
    state = state_at(here, started.q, eta, started.mu, plan)
    padded = np.concatenate([state, np.zeros(loop.num_states - state.size)])
    changes = list(_changes(loop, numbers, variables, started, time))
    tangents = np.zeros((loop.num_states, len(changes)))
    if completion is None:
        at_rest = state_at(system, started.q, 0.0 * started.eta, 0.0 * started.mu, plan)
        w = loop.input_function(time, at_rest, numbers.base_at(time), numbers.p)[
            num_u : num_u + num_w
        ]
        check_kept(system, started, w, params, changes)
        return started, here, padded, tangents
    for k, along in enumerate(start_tangents(completion, changes)):
        along_eta = along.eta
        if here is not system:
            # other independent speeds are tree speeds
            along_eta = here.kinematics.independent_rows(time, started.q, params) @ along.v
        found = np.concatenate([along.q, along_eta, along.mu])
        tangents[: len(found), k] = found
    return started, here, padded, tangents


def _changes(
    loop: ClosedLoop,
    numbers: LoopValues,
    variables: Sequence[Variable],
    started: Start,
    time: float,
) -> Iterator[Change]:
    """Change of the start by each value of each variable."""
    system = loop.system
    num_params, num_base, num_p = len(system.model.parameters), len(numbers.base), len(numbers.p)
    for variable in variables:
        for k in range(len(variable.values)):
            base, p = np.zeros(num_base), np.zeros(num_p)
            if variable.kind in (PARAMETER, NUMBER):
                p[variable.place] = 1.0
            elif variable.kind == INPUT:
                base[variable.place] = 1.0
            elif variable.kind == TABLE:
                base = driven(base, variable.basis(system, k), time)
            yield Change(
                name=variable.columns[k],
                given={variable.name: 1.0} if variable.kind == START else {},
                params=p[:num_params],
                speed_inputs=partial(_speed_inputs, loop, numbers, started, time, base, p),
            )


def _speed_inputs(
    loop: ClosedLoop,
    numbers: LoopValues,
    started: Start,
    time: float,
    base: Array,
    p: Array,
    q: Array,
) -> Array:
    """w' along q', b' and p'."""
    if not loop.system.model.speed_inputs:
        return np.zeros(0)
    function = loop.system.cached((IdentityKey(loop), "speed inputs"), lambda: _traced(loop))
    state = np.zeros(loop.num_simulated)
    state[: started.q.size] = started.q
    if loop.generator is not None:
        state[loop.system.num_states :] = loop.generator.start
    x = np.concatenate([state, q, np.zeros(state.size - q.size)])
    u = np.concatenate([numbers.base_at(time), base])
    return function(time, x, u, np.concatenate([numbers.p, p]))


def _traced(loop: ClosedLoop) -> NativeFunction:
    """Native w' of (t, [x; z; their change], [b; b'], [p; p'])."""
    num_u, num_w = len(loop.system.model.inputs), len(loop.system.model.speed_inputs)
    w = loop.inputs[num_u : num_u + num_w, :]
    at = (loop.y[: loop.num_simulated, :], loop.base, loop.p)
    along = [ca.SX.sym("along", x.shape[0]) for x in at]
    rates = ca.jtimes(w, ca.vertcat(*at), ca.vertcat(*along))
    arguments = [ca.vertcat(x, direction) for x, direction in zip(at, along, strict=True)]
    return compile_expression("speed_inputs", (loop.t, *arguments), loop.system.fold(rates))

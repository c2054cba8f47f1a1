"""The native loop with its steps recorded, and the same steps taken back with derivatives.

A step of a Runge–Kutta method with a projection P at its end is

    (1)  Y_j = y + h Σ_i a_ji k_i,   k_j = F(t_j, Y_j, b_j, p),   y⁺ = P(y + h Σ_j b_j k_j, b, p)

with as many corrections P as it takes. Let λ⁺ be the derivative of a number by y⁺. Then, from the
last stage to the first,

    (2)  λ = P_yᵀ λ⁺
    (3)  l_j = h b_j λ + h Σ_i a_ij F_y(Y_i)ᵀ l_i            i > j
    (4)  λ ← λ + Σ_j F_y(Y_j)ᵀ l_j                           derivative by y
    (5)  Σ_j F_p(Y_j)ᵀ l_j + P_pᵀ λ⁺                         derivative by p, and by b likewise

which is exact for the steps as they were taken, and costs the same for any number of parameters.
Stages are computed again from the recorded states.

    pull          f(t, [y; l], b, p) → [F_yᵀl; F_bᵀl; F_pᵀl]
    pull_project  the same of P

A base input that a table drives is c₀ r³ + c₁ r² + c₂ r + c₃: its derivative goes to these.

Traps
-----
- Both functions work on the memory of a run, see `memory.py`: (1) is computed by the loop's own
  functions, so that the stages have the same bits.
"""

from __future__ import annotations

import numpy as np

from noslip.simulation.dop853 import NUM_STAGES
from noslip.simulation.native import FUSED, cached, call_at, copy, fused, reals, words
from noslip.simulation.rules import DOP853, EPS, PAUSED
from noslip.simulation.single.loop import integrate
from noslip.simulation.single.projection import project
from noslip.simulation.single.rates import evaluate, find_inputs
from noslip.simulation.single.stages import (
    RK4_END,
    RK4_START,
    ROWS,
    TIMES,
    combine,
    evaluate_stages,
)

# What the way back needs besides the setup of the run: addresses, then sizes.
PULLS = (
    # functions, 0 where there is none
    *("pull", "pull_project"),
    # λ; derivatives by base inputs, by the coefficients of tables and by parameters
    *("weights", "base", "coefficients", "parameters"),
    # work: [state; l], what a pull gives, l of all stages, states before corrections
    *("point", "pulled", "stages", "corrected"),
    # how many derivatives a pull gives by base inputs (all or none) and by parameters
    *("num_base", "num_parameters"),
)
PULL = np.dtype([(name, np.int64) for name in PULLS])

# The rows of both methods end to end: row k is columns and weights from _STARTS[k] up to the next.
_STARTS = np.cumsum([0, *(len(row) for row in ROWS)])
_COLUMNS = np.array([column for row in ROWS for column in row])
_WEIGHTS = np.array([weight for row in ROWS for weight in row.values()])


@cached(FUSED)
def integrate_recorded(setup, times, states):
    """Run the loop until it ends or there is no more room; how many steps were recorded.

    Parameters
    ----------
    setup : (1,) array of SETUP
        Of a run that begins or was stopped here for want of room.
    times, states : (n,) and (n, ny) arrays
        Ends of steps, one row for each.
    """
    s = setup[0]
    filled = 0
    while filled < times.size:
        before = s.steps if s.is_paused != 0 else 0
        s.pause = before + 1
        integrate(setup)
        if s.steps > before:
            times[filled] = s.time
            for i in range(s.ny):
                states[filled, i] = reals(s.y)[i]
            filled += 1
        if s.code != PAUSED:
            break
    return filled


@fused
def _choose_segments(s, t):
    """Choose the segment of every table that holds in a step from t on."""
    t += 10.0 * EPS * max(abs(t), 1e-8 * (s.end_time - s.begin))
    segments, offsets, starts = words(s.segments), words(s.offsets), reals(s.starts)
    for k in range(s.num_tables):
        while segments[k] + 1 < offsets[k + 1] and starts[segments[k] + 1] <= t:
            segments[k] += 1
        while segments[k] > offsets[k] and starts[segments[k]] > t:
            segments[k] -= 1


@fused
def _is_knot(s, t):
    """Whether steps end on a time before the end of the run."""
    knots = reals(s.knots)
    low, high = 0, s.num_knots
    while low < high:
        middle = (low + high) // 2
        if knots[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low < s.num_knots and knots[low] == t and t < s.end_time


@fused
def _note(s, a, t):
    """(5): add what a pull gives by base inputs, tables and parameters."""
    pulled = reals(a.pulled + 8 * s.ny)
    base, coefficients = reals(a.base), reals(a.coefficients)
    for k in range(a.num_base):
        base[k] += pulled[k]
    if a.num_base > 0:
        for k in range(s.num_tables):
            segment, along = words(s.segments)[k], pulled[words(s.targets)[k]]
            r = t - reals(s.starts)[segment]
            for power in range(3, -1, -1):
                coefficients[4 * segment + power] += along
                along *= r
    by, found = reals(a.parameters), reals(a.pulled + 8 * (s.ny + a.num_base))
    for k in range(a.num_parameters):
        by[k] += found[k]


@fused
def _pull(s, a, function, t, state, weights):
    """Fᵀl at a stage into a.pulled, and noted."""
    copy(state, a.point, s.ny)
    copy(weights, a.point + 8 * s.ny, s.ny)
    find_inputs(s, t, state)
    call_at(function, t, a.point, s.base, s.parameters, a.pulled)
    _note(s, a, t)


@fused
def _spread(s, a, row, h, source):
    """Add h a_j times a vector to the weights of the stages that a row of the method combines."""
    vector = reals(source)
    for j in range(_STARTS[row], _STARTS[row + 1]):
        stage = reals(a.stages + 8 * _COLUMNS[j] * s.ny)
        weight = h * _WEIGHTS[j]
        for i in range(s.ny):
            stage[i] += weight * vector[i]


@fused
def _project_back(s, a, t):
    """(2) for each of the corrections that the end of a step has met."""
    find_inputs(s, t, s.end)
    copy(s.end, s.next, s.ny)
    corrections = project(s, t, s.next)
    for k in range(corrections):
        state = a.corrected + 8 * k * s.ny
        copy(s.end if k == 0 else s.newton, state, s.ny)
        call_at(s.project, t, state, s.inputs, s.parameters, s.newton)
    for k in range(corrections - 1, -1, -1):
        _pull(s, a, a.pull_project, t, a.corrected + 8 * k * s.ny, a.weights)
        copy(a.pulled, a.weights, s.ny)


@fused
def _step_back(s, a, t, t_new):
    """(1) to (5) for one step, from s.y at t."""
    h = t_new - t
    last = np.nextafter(t_new, t) if _is_knot(s, t_new) else t_new
    first, end = (1, NUM_STAGES) if s.method == DOP853 else (RK4_START, RK4_END)
    num_stages = end - first + 1
    _choose_segments(s, t)
    evaluate(s, t, s.y, s.K)
    evaluate_stages(s, t, h, last, first, end, 1)
    if a.pull_project != 0:
        combine(s, end, h, s.end)
        _project_back(s, a, last)
    for i in range(num_stages * s.ny):
        reals(a.stages)[i] = 0.0
    _spread(s, a, end, h, a.weights)
    weights, pulled = reals(a.weights), reals(a.pulled)
    for j in range(num_stages - 1, -1, -1):
        time, state, row = t, s.y, first + j - 1
        if j > 0:
            combine(s, row, h, s.stage)
            time, state = min(t + TIMES[row] * h, last), s.stage
        _pull(s, a, a.pull, time, state, a.stages + 8 * j * s.ny)
        if j > 0:
            _spread(s, a, row, h, a.pulled)
        for i in range(s.ny):
            weights[i] += pulled[i]


@cached(FUSED)
def step_back(setup, pulls, times, states):
    """Take recorded steps back: λ at the end of the last becomes that at the start of the first.

    Parameters
    ----------
    setup : (1,) array of SETUP
        Of the run that was recorded.
    pulls : (1,) array of PULL
        Functions and vectors of the way back.
    times, states : (n + 1,) and (n + 1, ny) arrays
        Where each step began, and where the last one ended.
    """
    s, a = setup[0], pulls[0]
    for n in range(times.size - 2, -1, -1):
        for i in range(s.ny):
            reals(s.y)[i] = states[n, i]
        _step_back(s, a, times[n], times[n + 1])

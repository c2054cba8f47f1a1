"""One step: how long it is, how it is tried, and what is known at its end."""

from __future__ import annotations

import math

from noslip.simulation import step_sizes
from noslip.simulation.dop853 import NUM_STAGES
from noslip.simulation.native import call_at, copy, fused, reals
from noslip.simulation.rules import (
    ACCEPTED,
    APPROACH,
    DOP853,
    END_ROW,
    NEAR_FLOOR,
    NON_FINITE,
    PROJECTED_ROW,
    PROJECTION_FAILED,
    RETRY,
    RK4,
    SINGULAR,
    TOO_FAR,
)
from noslip.simulation.single.projection import project
from noslip.simulation.single.rates import (
    all_finite,
    evaluate,
    find_inputs,
    first_unhealthy,
    rates_at,
)
from noslip.simulation.single.stages import (
    RK4_END,
    RK4_START,
    combine,
    error_norm,
    evaluate_stages,
)

_next_step = fused(step_sizes.next_step)


@fused
def first_step(s, t, longest):
    """First step by Hairer's rule: from the sizes of the state, its rate and second derivative."""
    y, stage, k0, k1 = reals(s.y), reals(s.stage), reals(s.K), reals(rates_at(s, 1))
    absolute, relative = reals(s.absolute), s.relative
    state, rate, second = 0.0, 0.0, 0.0
    for i in range(s.ny):
        scale = absolute[i] + relative * abs(y[i])
        state += (y[i] / scale) ** 2
        rate += (k0[i] / scale) ** 2
    h = 1e-6 if rate <= 1e-10 or state <= 1e-10 else 0.01 * math.sqrt(state / rate)
    h = min(h, longest)
    # An explicit Euler step shows how fast the rate changes.
    for i in range(s.ny):
        stage[i] = y[i] + h * k0[i]
    evaluate(s, t + h, s.stage, rates_at(s, 1))
    for i in range(s.ny):
        second += ((k1[i] - k0[i]) / (absolute[i] + relative * abs(y[i]))) ** 2
    fastest = max(math.sqrt(second) / h, math.sqrt(rate))
    if not math.isfinite(fastest):
        return h
    limit = max(1e-6, 1e-3 * h) if fastest <= 1e-15 else (0.01 / fastest) ** 0.125
    return min(100.0 * h, limit, longest)


@fused
def next_step(s, h, error, may_grow):
    """Step size after a step of size h with an error norm."""
    h, s.density, s.mean_density = _next_step(h, error, may_grow, s.density, s.mean_density)
    return h


@fused
def try_step(s, t, h, last):
    """State at a step's end into s.end; the norm of its error, 0 for RK4 which does not know it."""
    end = NUM_STAGES if s.method == DOP853 else RK4_END
    is_healthy = evaluate_stages(s, t, h, last, 1 if s.method == DOP853 else RK4_START, end, 1)
    combine(s, end, h, s.end)
    if s.method == RK4:
        return 0.0
    # a step must not leap over a singular place: it is tried shorter, down to a smallest approach
    if not is_healthy and h > APPROACH * (s.end_time - s.begin):
        return TOO_FAR
    return error_norm(s, h)


@fused
def close_step(s, t, h, last, is_dense):
    """Rates, projection, health and events at the end of a step.

    Returns the verdict (accepted, retry with a smaller step, or an ending), the row of K with the
    rates at s.next, and the index of a health value below its floor.
    """
    if not all_finite(s.end, s.ny):
        return RETRY, END_ROW, -1
    row = END_ROW
    copy(s.end, s.next, s.ny)
    if s.project == 0 or is_dense:
        # dense output takes the rates of the step itself, at its end before a projection
        evaluate(s, last, s.next, rates_at(s, row))
        if not all_finite(rates_at(s, row), s.ny):
            return RETRY, row, -1
    else:
        find_inputs(s, last, s.next)
    if s.project != 0:
        corrections = project(s, last, s.next)
        if corrections < 0:
            return PROJECTION_FAILED if corrections == -1 else NON_FINITE, row, -1
        if corrections > 0 or not is_dense:
            row = PROJECTED_ROW
            evaluate(s, last, s.next, rates_at(s, row))
            if not all_finite(rates_at(s, row), s.ny):
                return RETRY, row, -1
    # Speeds that follow from others through a nearly singular matrix lose accuracy; a step that
    # ends far below a floor is tried shorter, so that the run ends where they can be trusted. A
    # fixed one is not taken.
    is_long = s.method == RK4 or h > APPROACH * (s.end_time - s.begin)
    too_far = first_unhealthy(s, NEAR_FLOOR) if is_long else -1
    if too_far >= 0:
        return SINGULAR if s.method == RK4 else RETRY, row, too_far
    unhealthy = first_unhealthy(s, 1.0)
    if s.events != 0:
        call_at(s.events, last, s.next, s.inputs, s.event_parameters, s.at_end)
    return ACCEPTED, row, unhealthy

"""States between the ends of a step: on its dense output, or by a step of their own."""

from __future__ import annotations

from noslip.simulation import dop853
from noslip.simulation.dop853 import DEFECT_AT, DEFECT_SHARE, NUM_STAGES, NUM_STAGES_DENSE
from noslip.simulation.native import fused, reals
from noslip.simulation.rules import DOP853, RK4
from noslip.simulation.single.rates import all_finite, evaluate, rates_at
from noslip.simulation.single.stages import combine, evaluate_stages


@fused
def prepare_dense(s, t, h, last):
    """Dense output of a step into s.F, a cubic for RK4; False if it is not finite."""
    K, F = reals(s.K), reals(s.F)
    dop853.cubic_terms(K, s.row, s.ny, h, reals(s.y), reals(s.end), F)
    if s.method == DOP853:
        first = NUM_STAGES + 1
        evaluate_stages(s, t, h, last, first, NUM_STAGES_DENSE, first)
        dop853.higher_terms(K, s.row, s.ny, h, F)
    return all_finite(s.F, dop853.NUM_DENSE_TERMS * s.ny)


@fused
def interpolate(s, theta, out):
    """State at t + θh of the step with the dense output in s.F."""
    dop853.dense_state(reals(s.F), s.ny, theta, reals(s.y), reals(out))


@fused
def partial_step(s, t, h, theta):
    """State at t + θh by a step of its own into s.point; the step's own stages are spent then."""
    part = theta * h
    evaluate_stages(s, t, part, t + part, 1, NUM_STAGES, 1)
    combine(s, NUM_STAGES, part, s.point)


@fused
def dense_is_rough(s, t, h):
    """Whether dense output misses the tolerance, in the norm in which steps must meet it.

    It is of order 7 where the steps are of order 8, so on long steps it can be worse than they are.
    How far it is off is known from how far it misses the differential equation at one place.
    """
    if s.method == RK4:
        return False
    row = rates_at(s, 1)  # the stages are not needed any more
    interpolate(s, DEFECT_AT, s.point)
    evaluate(s, t + DEFECT_AT * h, s.point, row)
    dop853.dense_slope(reals(s.F), s.ny, DEFECT_AT, reals(s.stage))
    slope, rates, absolute = reals(s.stage), reals(row), reals(s.absolute)
    y, end = reals(s.y), reals(s.end)
    total = 0.0
    for i in range(s.ny):
        scale = absolute[i] + s.relative * max(abs(y[i]), abs(end[i]))
        total += (DEFECT_SHARE * (slope[i] - h * rates[i]) / scale) ** 2
    return not total <= s.ny


@fused
def state_within(s, t, h, theta, is_rough):
    """State at t + θh of an accepted step into s.point, to the step's own accuracy."""
    if is_rough:
        partial_step(s, t, h, theta)
    else:
        interpolate(s, theta, s.point)

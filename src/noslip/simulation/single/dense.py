"""States between the ends of a step: on its dense output, or by a step of their own."""

from __future__ import annotations

from noslip.simulation import dop853
from noslip.simulation.dop853 import NUM_STAGES, NUM_STAGES_DENSE
from noslip.simulation.native import fused, reals
from noslip.simulation.rules import DOP853, RK4
from noslip.simulation.single.rates import all_finite
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
    """Whether dense output misses the tolerance in the middle of a step.

    It is of order 7 where the steps are of order 8, so on long steps it can be worse than they are.
    Its last term bounds the error; where that bound fails, a half step of its own decides.
    """
    if s.method == RK4:
        return False
    F, y, end, absolute = reals(s.F), reals(s.y), reals(s.end), reals(s.absolute)
    bound = 0.0
    for i in range(s.ny):
        scale = absolute[i] + s.relative * max(abs(y[i]), abs(end[i]))
        # the last term is F6 θ⁴ (1 − θ)³, at θ = 1/2
        bound = max(bound, abs(F[(dop853.NUM_DENSE_TERMS - 1) * s.ny + i]) / 128.0 / scale)
    if bound <= 1.0:
        return False
    partial_step(s, t, h, 0.5)
    interpolate(s, 0.5, s.stage)
    point, dense = reals(s.point), reals(s.stage)
    for i in range(s.ny):
        scale = absolute[i] + s.relative * max(abs(y[i]), abs(end[i]))
        if not abs(point[i] - dense[i]) <= scale:
            return True
    return False


@fused
def state_within(s, t, h, theta, is_rough):
    """State at t + θh of an accepted step into s.point, to the step's own accuracy."""
    if is_rough:
        partial_step(s, t, h, theta)
    else:
        interpolate(s, theta, s.point)

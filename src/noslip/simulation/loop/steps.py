"""One step: its size, the trial step with its error, and its end."""

from __future__ import annotations

import numpy as np

from noslip.engines.flow import WHOLE, Array, Block, Value
from noslip.simulation import dop853, step_sizes
from noslip.simulation.dop853 import NUM_STAGES, NUM_STAGES_DENSE
from noslip.simulation.loop.projection import project
from noslip.simulation.loop.rates import evaluate, find_inputs, first_unhealthy, is_healthy
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.rules import (
    ACCEPTED,
    APPROACH,
    END_ROW,
    NEAR_FLOOR,
    PROJECTED_ROW,
    RETRY,
    RK4,
    RK4_ROWS,
    RK4_TIMES,
    SINGULAR,
    STAGE_FLOOR,
    TOO_FAR,
)


def nonzero(row: np.ndarray) -> dict[int, float]:
    """Weights by column."""
    return {int(j): float(row[j]) for j in np.flatnonzero(row)}


#: Weights of the stages, of the end and of two errors, by the rows of K that they combine.
STAGES = [nonzero(row) for row in dop853.A]
B, E5, E3 = nonzero(dop853.B), nonzero(dop853.E5), nonzero(dop853.E3)


def next_row(w: LoopWriter) -> Array:
    """Row of K with the rates at w.next."""
    return w.K(PROJECTED_ROW if w.shape.has_projection else END_ROW)


def weighted(w: LoopWriter, weights: dict[int, float], i: Block) -> Value:
    """Σ_j a_j k_j."""
    total: Value | None = None
    for j, a in weights.items():
        k = w.K(j).fresh(i) if j == max(weights) else w.K(j)[i]
        total = k * a if total is None else w.f.fma(k, a, total)
    assert total is not None
    return total


def take_stages(w: LoopWriter, t: Value, h: Value, last: Value, which: range) -> Value:
    """Rates of stages into their rows of K, none later than last; whether all are healthy.

    Where they are not, the step comes near a singular place, where rates mean nothing.
    """
    first, after = w.f.of(which.start, WHOLE), w.f.of(which.stop, WHOLE)
    return w.subroutine(stages, t, h, last, first, after, evaluations=len(which))


def stages(w: LoopWriter, t: Value, h: Value, last: Value, first: Value, after: Value) -> Value:
    """The stages from the first up to one."""
    f, s = w.f, w.s
    s.is_near, s.share = f.truth(True), f.real(0.0)
    is_rk4 = w.shape.method == RK4
    weights = (
        {k: RK4_ROWS[k - 1] for k in range(1, 4)}
        if is_rk4
        else {k: STAGES[k] for k in range(1, NUM_STAGES_DENSE) if k != NUM_STAGES}
    )
    for stage in f.count(first, after):
        for k in f.choose(stage, list(weights)):
            s.share = f.real(float(RK4_TIMES[k - 1] if is_rk4 else dop853.C[k]))
            for i in f.rows(w.shape.ny):
                w.stage[i] = f.fma(h, weighted(w, weights[k], i), w.y[i])
        health = evaluate(w, f.least(f.fma(s.share, h, t), last), w.stage, w.K(stage))
        s.is_near = s.is_near & is_healthy(w, health, STAGE_FLOOR)
    return s.is_near


def stage_range(w: LoopWriter) -> range:
    """Stages of a step after the first."""
    return range(1, 4) if w.shape.method == RK4 else range(1, NUM_STAGES)


def state_at_end(w: LoopWriter, h: Value, out: Array) -> None:
    """State y + h Σ_j b_j k_j into out."""
    weights = RK4_ROWS[3] if w.shape.method == RK4 else B
    for i in w.f.rows(w.shape.ny):
        out[i] = w.f.fma(h, weighted(w, weights, i), w.y[i])


def scale(w: LoopWriter, i: Block, y: Value, end: Value) -> Value:
    """Tolerance of states over a step."""
    f = w.f
    absolute = tolerances(w, i)
    return f.fma(w.number("relative"), f.most(f.abs(y), f.abs(end)), absolute)


def tolerances(w: LoopWriter, i: Block) -> Value:
    """Absolute tolerances of states, the same in all lanes."""
    place = w.f.offset(w.number("absolute"), i.start)
    return w.f.load(place, width=i.width)


def try_step(w: LoopWriter) -> None:
    """State at a step's end into w.end, and the norm of its error into s.error.

    It is h ‖e5‖² / √(n (‖e5‖² + ‖e3‖²/100)); of RK4, which does not know it, 0.
    """
    f, s, n = w.f, w.s, w.shape.ny
    is_near = take_stages(w, s.t, s.h_try, s.last, stage_range(w))
    if w.shape.method == RK4:
        state_at_end(w, s.h_try, w.end)
        s.error = f.real(0.0)
        return
    s.sum5, s.sum3 = f.real(0.0), f.real(0.0)
    for i in f.rows(n):
        y = w.y[i]
        end = f.fma(s.h_try, weighted(w, B, i), y)
        share = 1.0 / scale(w, i, y, end)
        e5, e3 = weighted(w, E5, i) * share, weighted(w, E3, i) * share
        s.sum5, s.sum3 = s.sum5 + f.total(e5 * e5), s.sum3 + f.total(e3 * e3)
        w.end[i] = end
    total = f.fma(s.sum3, 0.01, s.sum5)
    error = s.h_try * s.sum5 / f.sqrt(float(n) * total)
    # a step must not leap over a singular place: it is tried shorter, down to a smallest approach
    error = f.where(total.equals(0.0), 0.0, error)
    s.error = f.where(~is_near & is_long(w), TOO_FAR, error)


def is_long(w: LoopWriter) -> Value:
    """Whether a shorter step may still be tried, to come nearer to a singularity."""
    return w.s.h_try > APPROACH * (w.number("end_time") - w.s.begin)


def close_step(w: LoopWriter, is_dense: Value) -> None:
    """Projection, rates, health and events at the end of a step: s.verdict becomes ACCEPTED.

    Or it stays RETRY, or becomes an ending. The state is left in w.next, its rates in `next_row`.
    Dense output takes the rates of the step itself, at its end before a projection.
    """
    f, s, shape, n = w.f, w.s, w.shape, w.shape.ny
    with f.when(w.all_finite(w.end, n)):
        s.verdict = f.whole(ACCEPTED)
        w.copy(w.end, w.next, n)
        if not shape.has_projection:
            _find_rates(w, END_ROW)
        else:
            with f.when(is_dense):
                _find_rates(w, END_ROW)
            with f.when(~is_dense):
                find_inputs(w, s.last, w.next)
            s.moved = f.whole(0)
            with f.when(s.verdict.equals(ACCEPTED)):
                s.moved = project(w, s.last, w.next)
                s.verdict = f.where(s.moved < 0, f.whole(0) - s.moved, s.verdict)
            is_known = is_dense & s.moved.equals(0)
            with f.when(s.verdict.equals(ACCEPTED) & is_known):
                w.copy(w.K(END_ROW), w.K(PROJECTED_ROW), n)
            with f.when(s.verdict.equals(ACCEPTED) & ~is_known):
                _find_rates(w, PROJECTED_ROW)
    with f.when(s.verdict.equals(ACCEPTED)):
        _check_health(w)
        if shape.num_events:
            w.call("events", s.last, w.next, w.inputs, w.at_end)


def _find_rates(w: LoopWriter, row: int) -> None:
    """Rates at w.next into a row of K, and health; the step fails if they are not finite."""
    f, s = w.f, w.s
    health = evaluate(w, s.last, w.next, w.K(row))
    if not w.shape.nz:
        w.copy(health, w.health, w.shape.num_health)
    s.verdict = f.where(w.all_finite(w.K(row), w.shape.ny), s.verdict, RETRY)


def _check_health(w: LoopWriter) -> None:
    """Reject a step whose health ends far below a floor, so that a run ends on valid states.

    Speeds that follow from others through a nearly singular matrix lose accuracy. A fixed step is
    not taken.
    """
    f, s = w.f, w.s
    if not w.shape.num_health:
        return
    s.unhealthy = first_unhealthy(w, w.health)
    is_far = ~is_healthy(w, w.health, NEAR_FLOOR)
    if w.shape.method == RK4:
        s.which = f.where(is_far, s.unhealthy, s.which)
        s.verdict = f.where(is_far, SINGULAR, s.verdict)
    else:
        s.verdict = f.where(is_far & is_long(w), RETRY, s.verdict)


def first_step(w: LoopWriter, longest: Value) -> Value:
    """First step by Hairer's rule: from the sizes of the state, its rate and second derivative."""
    f, s, n = w.f, w.s, w.shape.ny
    s.state, s.rate, s.second = f.real(0.0), f.real(0.0), f.real(0.0)
    for i in f.rows(n):
        share = 1.0 / scale(w, i, w.y[i], w.y[i])
        a, b = w.y[i] * share, w.K(0)[i] * share
        s.state, s.rate = s.state + f.total(a * a), s.rate + f.total(b * b)
    is_flat = (s.rate <= 1e-10) | (s.state <= 1e-10)
    s.euler = f.least(f.where(is_flat, 1e-6, 0.01 * f.sqrt(s.state / s.rate)), longest)
    # an explicit Euler step shows how fast the rate changes
    for i in f.rows(n):
        w.stage[i] = f.fma(s.euler, w.K(0)[i], w.y[i])
    evaluate(w, s.t + s.euler, w.stage, w.K(1))
    for i in f.rows(n):
        a = (w.K(1)[i] - w.K(0)[i]) / scale(w, i, w.y[i], w.y[i])
        s.second = s.second + f.total(a * a)
    h = s.euler
    fastest = f.most(f.sqrt(s.second) / h, f.sqrt(s.rate))
    eighth = f.sqrt(f.sqrt(f.sqrt(0.01 / fastest)))
    limit = f.where(fastest <= 1e-15, f.most(1e-3 * h, 1e-6), eighth)
    return f.where(f.is_finite(fastest), f.least(f.least(100.0 * h, limit), longest), h)


def next_step(w: LoopWriter, error: Value, may_grow: Value) -> Value:
    """Step size after a step of size s.h_try with an error norm, see `step_sizes`."""
    f, s, c, h = w.f, w.s, step_sizes, w.s.h_try
    largest = f.where(may_grow, c.GROWTH, f.real(1.0))
    density = f.sqrt(f.sqrt(f.sqrt(error))) / h
    is_first = s.mean.equals(0.0)
    before, mean = f.where(is_first, density, s.density), f.where(is_first, density, s.mean)
    rising = density * f.sqrt(f.most(density / before, 1.0))
    mean = f.most(rising, mean + c.SHARE * (density - mean))
    recent = f.most(density, before)
    mean = f.where(c.PAST * recent < mean, recent, mean)
    known = h * f.least(largest, f.most(c.SAFETY / (h * mean), 1.0 / 3.0))
    most = c.SAFETY / (c.GROWTH * h)
    is_tiny, is_known = error <= c.LEAST_ERROR, error < c.LARGEST_ERROR
    other = f.where(f.is_finite(error), h / 3.0, 0.1 * h)
    following = f.where(is_tiny, largest * h, f.where(is_known, known, other))
    density = f.where(is_known, density, s.density)
    s.mean = f.where(is_tiny, f.least(s.mean, most), f.where(is_known, mean, s.mean))
    s.density = f.where(is_tiny, f.least(s.density, most), density)
    return following


def just_above(w: LoopWriter, t: Value) -> Value:
    """The number just above a time."""
    return -just_below(w, -t)


def just_below(w: LoopWriter, t_new: Value) -> Value:
    """The number just below a time."""
    f = w.f
    bits = f.bits(t_new)
    below = f.where(t_new > 0.0, bits - 1, bits + 1)
    return f.from_bits(f.where(t_new.equals(0.0), f.whole(-(2**63) + 1), below))

"""One step: its size, the trial step with its error, and its end."""

from __future__ import annotations

import numpy as np

from noslip.engines import REAL, WHOLE, Block, Buffer, Value
from noslip.simulation import dop853, step_sizes
from noslip.simulation.dop853 import NUM_STAGES, NUM_STAGES_DENSE
from noslip.simulation.loop.projection import project
from noslip.simulation.loop.rates import (
    evaluate,
    find_inputs,
    first_unhealthy,
    is_healthy,
    take_sides,
)
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


def next_row(w: LoopWriter) -> Buffer:
    """Row of K with the rates at w.next."""
    is_projected = w.shape.has_projection and not w.shape.is_fused
    return w.K(PROJECTED_ROW if is_projected else END_ROW)


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
        if f.target.is_thread and not is_rk4:
            _combine(w, stage, h)
        else:
            for k in f.choose(stage, list(weights)):
                s.share = f.real(float(RK4_TIMES[k - 1] if is_rk4 else dop853.C[k]))
                for i in f.rows(w.shape.ny):
                    w.stage[i] = f.fma(h, weighted(w, weights[k], i), w.y[i])
        health = evaluate(w, f.least(f.fma(s.share, h, t), last), w.stage, w.K(stage))
        s.is_near = s.is_near & is_healthy(w, health, STAGE_FLOOR)
    return s.is_near


def _combine(w: LoopWriter, stage: Value, h: Value) -> None:
    """State y + h Σ_j a_j k_j of a stage of DOP853 into w.stage, its time into s.share.

    As a loop over rows of K, with weights from a table: written out for every stage, this would be
    more code than the rates, and a GPU would wait for instructions more than for anything else.
    """
    f, s, n, number = w.f, w.s, w.shape.ny, w.f.target.number
    begins, places, weights = [0], list[int](), list[float]()
    for k in range(NUM_STAGES_DENSE):
        chosen = {} if k in (0, NUM_STAGES) else STAGES[k]
        places += [w.place_of_row(j) for j in chosen if j]
        weights += [a for j, a in chosen.items() if j]
        begins.append(len(places))
    leads = [0.0 if k in (0, NUM_STAGES) else STAGES[k][0] for k in range(NUM_STAGES_DENSE)]
    lead = f.constant_table("stage_leads", number, leads)[stage]
    s.share = f.constant_table("stage_times", REAL, [float(c) for c in dop853.C])[stage]
    total = f.registers(n)
    for i in f.rows(n):
        total[i] = w.K(0)[i] * lead
    first = f.constant_table("stage_begins", WHOLE, begins)
    s.term, s.terms = first[stage], first[stage + 1]
    with f.repeat() as loop:
        loop.leave(s.term >= s.terms)
        row = w.row_at(f.constant_table("stage_rows", WHOLE, places)[s.term])
        weight = f.constant_table("stage_weights", number, weights)[s.term]
        for i in f.rows(n):
            total[i] = f.fma(row[i], weight, total[i])
        s.term = s.term + 1
    part = f.as_kind(h, number)
    for i in f.rows(n):
        w.stage[i] = f.fma(part, total[i], w.y[i])


def _combine_end(w: LoopWriter) -> list[Buffer]:
    """Sums of the end and of both errors: Σ_j b_j k_j and so on."""
    f, n, number = w.f, w.shape.ny, w.f.target.number
    totals = [f.registers(n) for _ in range(3)]
    sums = list(zip(totals, (B, E5, E3), ("end", "fifth", "third"), strict=True))
    rows = sorted({j for _, weights, _ in sums for j in weights if j})
    for i in f.rows(n):
        for out, weights, _ in sums:
            out[i] = w.K(0)[i] * weights.get(0, 0.0)
    for term in f.count(0, len(rows)):
        at = f.constant_table("end_rows", WHOLE, [w.place_of_row(j) for j in rows])[term]
        row = w.row_at(at)
        found = [
            f.constant_table(f"weights_{word}", number, [weights.get(j, 0.0) for j in rows])[term]
            for _, weights, word in sums
        ]
        for i in f.rows(n):
            k = row[i]
            for out, weight in zip(totals, found, strict=True):
                out[i] = f.fma(k, weight, out[i])
    return totals


def stage_range(w: LoopWriter) -> range:
    """Stages of a step after the first."""
    return range(1, 4) if w.shape.method == RK4 else range(1, NUM_STAGES)


def state_at_end(w: LoopWriter, h: Value, out: Buffer) -> None:
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
    f, s = w.f, w.s
    is_near = take_stages(w, s.t, s.h_try, s.last, stage_range(w))
    if w.shape.method == RK4:
        state_at_end(w, s.h_try, w.end)
        s.error = f.real(0.0)
        return
    _measure_error(w, is_near)


def _measure_error(w: LoopWriter, is_near: Value) -> None:
    """State at the end of a step of DOP853 into w.end, and the norm of its error into s.error."""
    f, s, n = w.f, w.s, w.shape.ny
    s.sum5, s.sum3 = f.real(0.0), f.real(0.0)
    totals = _combine_end(w) if f.target.is_thread else None
    for i in f.rows(n):
        y = w.y[i]
        found = [total[i] for total in totals] if totals else [weighted(w, B, i)]
        end = f.fma(s.h_try, found[0], y)
        share = 1.0 / scale(w, i, y, end)
        found += [] if totals else [weighted(w, E5, i), weighted(w, E3, i)]
        e5, e3 = found[1] * share, found[2] * share
        s.sum5, s.sum3 = s.sum5 + f.total(e5 * e5), s.sum3 + f.total(e3 * e3)
        w.end[i] = end
    total = f.fma(s.sum3, 0.01, s.sum5)
    error = s.h_try * s.sum5 / f.sqrt(float(n) * total)
    # a step must not leap over a singular place: it is tried shorter, down to a smallest approach
    error = f.where(total.equals(0.0), 0.0, error)
    if w.shape.apart >= 0:
        error = f.most(error, _error_apart(w, totals))
    s.error = f.where(~is_near & is_long(w), TOO_FAR, error)


def _error_apart(w: LoopWriter, totals: list[Buffer] | None) -> Value:
    """Norm of the error of one state by itself, with the absolute tolerance of the first.

    In one sum with those of the others, the larger of two orders would hide what these say.
    """
    f, s, i = w.f, w.s, Block(w.shape.apart)
    most = f.most(f.abs(w.y[i]), f.abs(w.end[i]))
    share = 1.0 / f.fma(w.number("relative"), most, tolerances(w, Block(0)))
    found = [total[i] for total in totals[1:]] if totals else [weighted(w, E, i) for E in (E5, E3)]
    e5, e3 = (f.total(e * share * e * share) for e in found)
    total = f.fma(e3, 0.01, e5)
    return f.where(total.equals(0.0), 0.0, s.h_try * e5 / f.sqrt(total))


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


def try_fused_step(w: LoopWriter) -> None:
    """A step of DOP853 and the rates at its end, with one place where rates are evaluated.

    As `try_step` and `close_step`; see `take_fused_step` for why.
    """
    f, s, shape, n = w.f, w.s, w.shape, w.shape.ny
    s.verdict, s.is_near, s.now = f.whole(RETRY), f.truth(True), s.last
    s.share = f.real(0.0)
    for stage in f.count(1, NUM_STAGES + 1):
        s.is_end = stage.equals(NUM_STAGES)
        with f.when(~s.is_end):
            _combine(w, stage, s.h_try)
            s.now = f.least(f.fma(s.share, s.h_try, s.t), s.last)
        with f.when(s.is_end):
            _measure_error(w, s.is_near)
            s.now = s.last
            with f.when((s.error <= 1.0) & w.all_finite(w.end, n)):
                s.verdict = f.whole(ACCEPTED)
                w.copy(w.end, w.next, n)
                if shape.has_projection:
                    find_inputs(w, s.last, w.next)
                    s.moved = project(w, s.last, w.next)
                    s.verdict = f.where(s.moved < 0, f.whole(0) - s.moved, s.verdict)
                w.copy(w.next, w.stage, n)
            # the rates there are not asked for where the step is not taken
            s.evaluations = f.where(s.verdict.equals(ACCEPTED), s.evaluations, s.evaluations - 1)
        with w.hot():
            health = evaluate(w, s.now, w.stage, w.K(stage))
        w.copy(health, w.health, shape.num_health)
        s.is_near = s.is_near & (s.is_end | is_healthy(w, health, STAGE_FLOOR))
    with f.when(s.verdict.equals(ACCEPTED)):
        s.verdict = f.where(w.all_finite(w.K(END_ROW), n), s.verdict, RETRY)
        with f.when(s.verdict.equals(ACCEPTED)):
            _check_health(w)


def take_fused_step(w: LoopWriter) -> None:
    """A step of RK4 and the rates at its end, with one place where rates are evaluated.

    Those where it begins are evaluated there first, unless the step before has left them.

    A thread of a GPU has them written out there, and all vectors in registers: the rates of the
    stage before, the sum that becomes the end, and the state of the stage. The verdict is left in
    s.verdict, the state in w.next, its rates in the first row of K.
    """
    f, s, shape, n = w.f, w.s, w.shape, w.shape.ny
    number, k = f.target.number, w.K(0)
    s.verdict, s.whole = f.whole(ACCEPTED), f.as_kind(s.h_try, number)
    s.half, s.sixth = s.whole * 0.5, s.whole * (1.0 / 6.0)
    s.was_stale, s.unhealthy_here, s.from_here = s.is_stale, f.whole(-1), begin_of_step(w)
    for i in f.rows(n):
        w.end[i] = f.where(s.was_stale, w.y[i], f.fma(s.sixth, k[i], w.y[i]))
    for stage in f.count(f.where(s.was_stale, f.whole(0), 1), 5):
        is_begin, is_last = stage.equals(0), stage.equals(4)
        part = f.where(stage >= 3, s.whole, s.half)
        s.now = f.where(stage >= 3, s.last, f.least(f.fma(s.h_try, 0.5, s.t), s.last))
        s.now = f.where(is_begin, s.from_here, s.now)
        for i in f.rows(n):
            inner = f.where(is_begin, w.y[i], f.fma(part, k[i], w.y[i]))
            w.next[i] = f.where(is_last, w.end[i], inner)
        if shape.has_projection:
            with f.when(is_last):
                find_inputs(w, s.last, w.next)
                with f.when(w.all_finite(w.next, n)):
                    s.moved = project(w, s.last, w.next)
                    s.verdict = f.where(s.moved < 0, f.whole(0) - s.moved, s.verdict)
        with w.hot():
            health = evaluate(w, s.now, w.next, w.stage)
        w.copy(health, w.health, shape.num_health)
        with f.when(is_begin):
            with f.when(s.is_first):
                take_sides(w, w.health)
            s.is_stale, s.unhealthy_here = f.truth(False), first_unhealthy(w, w.health)
        weight = f.where(is_begin | stage.equals(3), s.sixth, s.sixth + s.sixth)
        for i in f.rows(n):
            k[i] = w.stage[i]
            w.end[i] = f.fma(weight, w.stage[i], w.end[i])
    is_well = w.all_finite(w.next, n) & w.all_finite(k, n)
    s.verdict = f.where(is_well, s.verdict, RETRY)
    is_singular = s.unhealthy_here >= 0
    s.which = f.where(is_singular, s.unhealthy_here, s.which)
    s.verdict = f.where(is_singular, SINGULAR, s.verdict)
    with f.when(s.verdict.equals(ACCEPTED)):
        _check_health(w)


def _find_rates(w: LoopWriter, row: int) -> None:
    """Rates at w.next into a row of K, and health; the step fails if they are not finite."""
    f, s = w.f, w.s
    health = evaluate(w, s.last, w.next, w.K(row))
    if health is not w.health:
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
    # those who follow a fixed step look for other speeds where it begins
    is_far = ~is_healthy(w, w.health, 1.0 if w.shape.is_period else NEAR_FLOOR)
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


def begin_of_step(w: LoopWriter) -> Value:
    """Time at which the rates where a step begins are evaluated, if they are evaluated anew."""
    # a switch such as sign(t − knot) is zero on the knot itself
    now = w.s.t
    return w.f.where(w.s.is_first, now, just_above(w, now)) if w.shape.has_knots else now


def just_above(w: LoopWriter, t: Value) -> Value:
    """The number just above a time."""
    return -just_below(w, -t)


def just_below(w: LoopWriter, t_new: Value) -> Value:
    """The number just below a time."""
    f = w.f
    bits = f.bits(t_new)
    below = f.where(t_new > 0.0, bits - 1, bits + 1)
    return f.from_bits(f.where(t_new.equals(0.0), f.whole(-(2**63) + 1), below))

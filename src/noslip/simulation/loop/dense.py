"""States between the ends of a step: by dense output, or by a partial step."""

from __future__ import annotations

from noslip.engines import Buffer, Value
from noslip.simulation import dop853
from noslip.simulation.dop853 import (
    DEFECT_AT,
    DEFECT_SHARE,
    NUM_DENSE_TERMS,
    NUM_STAGES,
    NUM_STAGES_DENSE,
)
from noslip.simulation.loop.rates import evaluate
from noslip.simulation.loop.steps import (
    nonzero,
    scale,
    stage_range,
    state_at_end,
    take_stages,
    weighted,
)
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.rules import END_ROW, RK4

#: Value of s.rough (0 or 1) before the dense output was checked.
UNKNOWN = -1

D = [nonzero(row) for row in dop853.D]


def prepare_dense(w: LoopWriter, t: Value, h: Value, last: Value) -> Value:
    """Dense output of a step into w.F, a cubic for RK4; whether it is finite."""
    if w.shape.method != RK4:
        take_stages(w, t, h, last, range(NUM_STAGES + 1, NUM_STAGES_DENSE))
    return w.subroutine(dense_terms, h)


def dense_terms(w: LoopWriter, h: Value) -> Value:
    """Terms of the dense output from the stages."""
    f, n = w.f, w.shape.ny
    is_rk4 = w.shape.method == RK4
    for i in f.rows(n):
        k0, k12 = w.K(0)[i], w.K(END_ROW)[i]
        change = w.end[i] - w.y[i]
        terms = [change, f.fma(h, k0, -change), f.fma(-h, k0 + k12, 2.0 * change)]
        if not is_rk4:
            terms += [h * weighted(w, row, i) for row in D]
        for r, term in enumerate(terms):
            w.F.part(r * n)[i] = term
    return w.all_finite(w.F, (3 if is_rk4 else NUM_DENSE_TERMS) * n)


def _num_terms(w: LoopWriter) -> int:
    return 3 if w.shape.method == RK4 else NUM_DENSE_TERMS


def interpolate(w: LoopWriter, theta: Value, out: Buffer) -> None:
    """State at t + θh of the step with the dense output in w.F into out."""
    w.subroutine(dense_state, theta, out)


def dense_state(w: LoopWriter, theta: Value, out: Buffer) -> None:
    """y + θ(F0 + (1−θ)(F1 + θ(F2 + …)))."""
    f, n, rest = w.f, w.shape.ny, 1.0 - theta
    for i in f.rows(n):
        total: Value | None = None
        for r in reversed(range(_num_terms(w))):
            term = w.F.part(r * n)[i]
            total = (term if total is None else total + term) * (theta if r % 2 == 0 else rest)
        assert total is not None
        out[i] = w.y[i] + total


def enclose_states(w: LoopWriter, a: Value, b: Value, h: Value) -> None:
    """Intervals of the mechanism's states and their rates from t + ah to t + bh, into w.box.

    They are [(b − a)h; x₋; x₊; ẋ₋; ẋ₊].
    """
    w.subroutine(dense_enclosure, a, b, h)


def dense_enclosure(w: LoopWriter, a: Value, b: Value, h: Value) -> None:
    """Dense output in intervals: θ is between a and b, and neither it nor 1 − θ is negative."""
    f, n, ny = w.f, w.shape.nx, w.shape.ny
    share = 1.0 / h
    w.box[0] = (b - a) * h
    for i in f.rows(n):
        lower = upper = w.F.part((_num_terms(w) - 1) * ny)[i]
        falls = rises = 0.0 * lower
        for r in reversed(range(_num_terms(w))):
            first, last = (a, b) if r % 2 == 0 else (1.0 - b, 1.0 - a)
            low, high = (lower, upper) if r % 2 == 0 else (-upper, -lower)
            falls = f.least(falls * first, falls * last) + low
            rises = f.most(rises * first, rises * last) + high
            lower = f.least(lower * first, lower * last)
            upper = f.most(upper * first, upper * last)
            if r:
                term = w.F.part((r - 1) * ny)[i]
                lower, upper = lower + term, upper + term
        y = w.y[i]
        for k, value in enumerate((y + lower, y + upper, share * falls, share * rises)):
            w.box.part(1 + k * n)[i] = value


def partial_step(w: LoopWriter, t: Value, h: Value, theta: Value, out: Buffer) -> None:
    """State at t + θh by a partial step, which overwrites the stages of the step."""
    part = theta * h
    take_stages(w, t, part, t + part, stage_range(w))
    w.subroutine(state_at_end, part, out)


def dense_is_rough(w: LoopWriter, t: Value, h: Value) -> Value:
    """Whether dense output misses the tolerance, in the norm in which steps must meet it: 0 or 1.

    It is of order 7 where the steps are of order 8, so on long steps it can be worse than they are.
    How far it is off is known from how far it misses the differential equation at one place.
    """
    if w.shape.method == RK4:
        return w.f.whole(0)
    return w.subroutine(defect, t, h, evaluations=1)


def defect(w: LoopWriter, t: Value, h: Value) -> Value:
    """Whether dense output misses the differential equation by too much."""
    f, s, n = w.f, w.s, w.shape.ny
    theta = f.real(DEFECT_AT)
    interpolate(w, theta, w.point)
    row = w.K(1)  # the stages are not needed any more
    evaluate(w, f.fma(theta, h, t), w.point, row)
    s.squares = f.real(0.0)
    for i in f.rows(n):
        total = slope = w.F.part((NUM_DENSE_TERMS - 1) * n)[i]
        total = total * theta
        for r in reversed(range(NUM_DENSE_TERMS - 1)):
            total = total + w.F.part(r * n)[i]
            factor = DEFECT_AT if r % 2 == 0 else 1.0 - DEFECT_AT
            slope = f.fma(slope, factor, total if r % 2 == 0 else -total)
            total = total * factor
        off = f.fma(-h, row[i], slope) / scale(w, i, w.y[i], w.end[i])
        off = DEFECT_SHARE * off
        s.squares = s.squares + f.total(off * off)
    return f.where(s.squares <= float(n), f.whole(0), 1)


def ask_roughness(w: LoopWriter, t: Value, h: Value) -> None:
    """Set s.rough, unless it is known."""
    with w.f.when(w.s.rough.equals(UNKNOWN)):
        w.s.rough = dense_is_rough(w, t, h)


def state_within(w: LoopWriter, t: Value, h: Value, theta: Value) -> None:
    """State at t + θh of an accepted step into w.point, to the step's own accuracy."""
    f, s = w.f, w.s
    interpolate(w, theta, w.point)
    with f.when(s.rough.equals(1)):
        partial_step(w, t, h, theta, w.other)
        for i in f.rows(w.shape.ny):
            w.point.blended()[i] = w.other[i]

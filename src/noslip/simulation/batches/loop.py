"""The native loop of a batch: many trajectories, one in each lane, every lane with its own step.

A worker holds ``lanes`` trajectories at a time. All functions are wide (``engines.wide``), so one
call evaluates them for all lanes; the arithmetic between the calls is that of ``kernels``. In
each round every lane tries one step of its own size from its own time and takes it or not, by its
own error. A lane whose trajectory has ended takes the next one from the queue that all workers
share. No number of one lane ever enters another's, so a trajectory's bits depend neither on its
neighbors nor on the order or the number of workers.

What happens in a step is what happens in ``single.loop``, with the same constants and endings:
stages, error, projection, health, events, dense output, samples. What differs: values of columns
are kept or reduced instead of states, and a trajectory that cannot go on in this code says so by
its ending and is finished elsewhere.

    rates      f(t, x, inputs, p)      → [ẋ; health]
    generator  f(t, y, base inputs, p) → [inputs; ż]
    update     f(t, y, base inputs, p) → new z
    project    f(t, x, inputs, p)      → [x after one Newton step; residual before it]
    events     f(t, x, inputs, p)      → one value per event
    columns    f(t, x, inputs, p)      → one value per column

Vectors of lanes are rows: value k of lane j is at place ``k lanes + j``.

Traps
-----
- Words that say whether something holds are −1 and 0.
"""

from __future__ import annotations

import math

import numpy as np

from noslip.simulation import rules, step_sizes
from noslip.simulation.batches.conditions import any_of, blend
from noslip.simulation.batches.lanes import UNSETTLED, look_ahead, refill, start
from noslip.simulation.batches.rates import find_inputs
from noslip.simulation.batches.samples import UNKNOWN, find_columns, is_wanted, record
from noslip.simulation.batches.setup import (
    CODE,
    DENSE,
    DENSITY,
    ERROR,
    EVALUATIONS,
    EVENT,
    FILLED,
    FINITE,
    FIRST,
    H_TRY,
    INDEX,
    LANDS,
    LAST,
    MASK,
    MAY_GROW,
    MEAN_DENSITY,
    PROJECTED,
    REJECTIONS,
    ROUGH,
    SELECT,
    SMALLEST,
    STALE,
    STEPS,
    STOP,
    T_END,
    T_NEW,
    UNHEALTHY,
    VERDICT,
    WHICH,
    H,
    T,
    rates_at,
    real,
    real_at,
    word,
    word_at,
)
from noslip.simulation.batches.steps import IDLE, try_step
from noslip.simulation.native import PLAIN, cached, call, native, reals, words
from noslip.simulation.rules import ACCEPTED, END_ROW, PROJECTED_ROW, RETRY, RK4
from noslip.simulation.step_sizes import SHORT

_next_step = native(step_sizes.next_step)


@native
def _record_samples_here(s):
    """Take the samples at the times of the lanes' states themselves."""
    select = word(s, SELECT)
    while True:
        is_any = False
        for j in range(s.lanes):
            filled = word(s, FILLED)[j]
            # where these speeds fail, a sample is left to those that follow
            is_due = word(s, INDEX)[j] >= 0 and filled < s.num_samples
            is_due = is_due and word(s, UNHEALTHY)[j] < 0
            is_due = is_due and reals(s.sample_times)[filled] <= real(s, T)[j]
            select[j] = -1 if is_due else 0
            is_any = is_any or is_due
        if not is_any:
            return
        find_inputs(s, real_at(s, T), s.y)
        find_columns(s, real_at(s, T), s.y)
        for j in range(s.lanes):
            if select[j] != 0:
                record(s, j)


@native
def _ending(s, j):
    """Reason for a lane to end before its next step, the most telling first, or UNSETTLED."""
    if word(s, CODE)[j] != UNSETTLED:
        return word(s, CODE)[j]
    if word(s, UNHEALTHY)[j] >= 0:
        word(s, WHICH)[j] = word(s, UNHEALTHY)[j]
        return rules.SINGULAR
    if word(s, FINITE)[j] == 0:
        return rules.NON_FINITE
    if real(s, T)[j] >= s.end_time:
        return rules.FINISHED
    if words(s.status)[0] != 0:
        return rules.CANCELLED
    if word(s, STEPS)[j] >= s.max_steps:
        return rules.MAX_STEPS
    # a step that short is tried once, unless a longer one was tried in vain
    is_short = real(s, H)[j] < real(s, SMALLEST)[j] and word(s, MAY_GROW)[j] == 0
    if is_short or s.max_step < real(s, SMALLEST)[j]:
        return rules.STEP_TOO_SMALL if math.isfinite(real(s, ERROR)[j]) else rules.NON_FINITE
    return UNSETTLED


@native
def _end(s):
    """Leave what trajectories that end have come to, and empty their lanes; whether any did."""
    lanes, index, code = s.lanes, word(s, INDEX), word(s, CODE)
    is_any = False
    for j in range(lanes):
        if index[j] >= 0:
            code[j] = _ending(s, j)
            is_any = is_any or code[j] != UNSETTLED
    if not is_any:
        return False
    find_inputs(s, real_at(s, T), s.y)
    find_columns(s, real_at(s, T), s.y)
    for j in range(lanes):
        k = index[j]
        if k < 0 or code[j] == UNSETTLED:
            continue
        words(s.codes)[k], words(s.which)[k] = code[j], word(s, WHICH)[j]
        reals(s.times)[k], reals(s.steps_left)[k] = real(s, T)[j], real(s, H)[j]
        words(s.num_steps)[k] = word(s, STEPS)[j]
        words(s.num_rejections)[k] = word(s, REJECTIONS)[j]
        words(s.num_evaluations)[k] = word(s, EVALUATIONS)[j]
        words(s.num_filled)[k] = word(s, FILLED)[j]
        for i in range(s.ny):
            reals(s.states)[k * s.ny + i] = reals(s.y)[i * lanes + j]
        for i in range(s.num_angles):
            place = (s.num_parameters - s.num_angles + i) * lanes + j
            reals(s.angles)[k * s.num_angles + i] = reals(s.parameters)[place]
        for i in range(s.num_columns):
            reals(s.final)[k * s.num_columns + i] = reals(s.values)[i * lanes + j]
        index[j] = -1
        s.num_done += 1
    return True


@native
def _plan_steps(s):
    """Choose the step each lane tries; it ends on the next stop if that is near."""
    for j in range(s.lanes):
        t, h = real(s, T)[j], min(max(real(s, H)[j], real(s, SMALLEST)[j]), s.max_step)
        if word(s, INDEX)[j] < 0:
            real(s, H_TRY)[j], real(s, LAST)[j], word(s, DENSE)[j] = 0.0, t, 0
            continue
        stop = real(s, STOP)[j]
        lands = stop - t <= min(1.01 * h, s.max_step * (1.0 + 1e-9))
        t_new = stop if lands else t + h
        real(s, H)[j], real(s, T_NEW)[j], word(s, LANDS)[j] = h, t_new, -1 if lands else 0
        real(s, LAST)[j] = np.nextafter(t_new, t) if lands and stop < s.end_time else t_new
        real(s, H_TRY)[j], real(s, T_END)[j], word(s, EVENT)[j] = t_new - t, t_new, -1
        word(s, ROUGH)[j] = UNKNOWN
        word(s, DENSE)[j] = -1 if s.num_events > 0 or is_wanted(s, j, t_new) else 0


@native
def _judge(s):
    """Accept the steps whose errors are small enough; whether there are any."""
    verdict, is_any = word(s, VERDICT), False
    for j in range(s.lanes):
        verdict[j] = IDLE
        if word(s, INDEX)[j] >= 0:
            verdict[j] = ACCEPTED if real(s, ERROR)[j] <= 1.0 else RETRY
            is_any = is_any or verdict[j] == ACCEPTED
        if verdict[j] != ACCEPTED:
            word(s, DENSE)[j] = 0
    return is_any


@native
def _go_on(s):
    """Make the ends of accepted steps the new states; choose all lanes' next steps."""
    lanes, verdict, select = s.lanes, word(s, VERDICT), word(s, SELECT)
    is_projected = False
    for j in range(lanes):
        select[j] = -1 if verdict[j] == ACCEPTED else 0
        word(s, PROJECTED)[j] = word(s, PROJECTED)[j] & select[j]
        word(s, MASK)[j] = select[j] & ~word(s, PROJECTED)[j]
        is_projected = is_projected or word(s, PROJECTED)[j] != 0
    blend(s, word_at(s, SELECT), s.next, s.y, s.ny)
    blend(s, word_at(s, MASK), rates_at(s, END_ROW), s.k, s.ny)
    if is_projected:
        blend(s, word_at(s, PROJECTED), rates_at(s, PROJECTED_ROW), s.k, s.ny)
    for j in range(lanes):
        if verdict[j] == ACCEPTED:
            _accept(s, j)
        elif verdict[j] == RETRY:
            _reject(s, j)
        elif verdict[j] != IDLE:
            word(s, CODE)[j] = verdict[j]


@native
def _choose_step(s, j, error, may_grow):
    """The lane's step size after the step tried, which had an error norm."""
    before, mean = real(s, DENSITY)[j], real(s, MEAN_DENSITY)[j]
    h, before, mean = _next_step(real(s, H_TRY)[j], error, may_grow, before, mean)
    real(s, DENSITY)[j], real(s, MEAN_DENSITY)[j] = before, mean
    return h


@native
def _accept(s, j):
    lands = word(s, LANDS)[j] != 0
    real(s, T)[j] = real(s, T_END)[j]
    word(s, STEPS)[j] += 1
    word(s, FIRST)[j] = 0
    if word(s, EVENT)[j] >= 0:
        word(s, CODE)[j], word(s, WHICH)[j] = rules.EVENT, word(s, EVENT)[j]
        return
    if not lands or real(s, H_TRY)[j] > SHORT * real(s, H)[j]:
        following = _choose_step(s, j, real(s, ERROR)[j], word(s, MAY_GROW)[j] != 0)
        real(s, H)[j] = max(real(s, H)[j], following) if lands else following
    word(s, MAY_GROW)[j] = -1
    word(s, STALE)[j] = -1 if lands and real(s, T)[j] < s.end_time else 0


@native
def _reject(s, j):
    word(s, REJECTIONS)[j] += 1
    if s.method == RK4:
        word(s, CODE)[j] = rules.NON_FINITE
        return
    # a step that was accepted and then found wanting is as good as one with no error known
    error = real(s, ERROR)[j]
    if error <= 1.0:
        error = math.inf
        real(s, ERROR)[j] = error
    real(s, H)[j] = _choose_step(s, j, error, False)
    word(s, MAY_GROW)[j] = 0


@cached(PLAIN)
def integrate_lanes(worker):
    """Integrate trajectories from the queue until it is empty, or until a cancel is requested.

    Parameters
    ----------
    worker : (1,) array of WORKER
        The caller keeps alive the vectors and functions it points to.
    """
    s = worker[0]
    while refill(s) > 0:
        look_ahead(s)
        start(s)
        _record_samples_here(s)
        if _end(s):
            if words(s.status)[0] != 0:
                break
            continue
        _plan_steps(s)
        try_step(s)
        if _judge(s):
            call(s.close_step, (s.here,))
            if s.num_events > 0:
                call(s.find_events, (s.here,))
            if any_of(s, DENSE):
                call(s.take_samples, (s.here,))
        _go_on(s)

"""Trajectories on their way into lanes: taken from the queue, put in place, and started.

A start is also a knot: there the inputs may jump, so that the rates are found anew.
"""

from __future__ import annotations

import math

from noslip.simulation.batches.conditions import any_of, blend, is_finite
from noslip.simulation.batches.rates import evaluate, find_inputs, first_unhealthy, take_sides
from noslip.simulation.batches.setup import (
    BEGIN,
    CODE,
    DENSITY,
    ERROR,
    EVALUATIONS,
    F_A,
    FILLED,
    FINITE,
    FIRST,
    INDEX,
    KNOT,
    KNOT_END,
    MASK,
    MAY_GROW,
    MEAN_DENSITY,
    REJECTIONS,
    SELECT,
    SMALLEST,
    STALE,
    STEPS,
    STOP,
    THETA,
    TIME,
    UNHEALTHY,
    UPDATES,
    WHICH,
    A,
    B,
    H,
    T,
    rates_at,
    real,
    real_at,
    word,
    word_at,
)
from noslip.simulation.native import call, native, reals, take, words
from noslip.simulation.rules import EPS

UNSETTLED = -1  # code of a lane that goes on


@native
def refill(s):
    """Let empty lanes take trajectories from the queue; how many lanes are at work."""
    count = 0
    for j in range(s.lanes):
        if word(s, INDEX)[j] < 0 and s.has_more != 0:
            place = take(s.counter)
            if place < s.queue_length:
                _load(s, j, words(s.queue)[place])
            else:
                s.has_more = 0
        if word(s, INDEX)[j] >= 0:
            count += 1
    return count


@native
def _load(s, j, k):
    """Put trajectory k into a lane, where this stretch of it starts."""
    lanes = s.lanes
    for i in range(s.ny):
        reals(s.y)[i * lanes + j] = reals(s.starts)[k * s.ny + i]
    for i in range(s.num_parameters):
        value = reals(s.parameter_rows)[k * s.parameter_stride + i]
        reals(s.parameters)[i * lanes + j] = value
    for i in range(s.num_angles):
        place = (s.num_parameters - s.num_angles + i) * lanes + j
        reals(s.parameters)[place] = reals(s.angles)[k * s.num_angles + i]
    for i in range(s.num_base):
        reals(s.base)[i * lanes + j] = reals(s.base_rows)[k * s.base_stride + i]
    table_set = words(s.table_sets)[k] if s.table_sets != 0 else 0
    for i in range(s.num_tables):
        first = words(s.first_segments)[table_set * s.num_tables + i]
        words(s.segments)[i * lanes + j] = first
    word(s, KNOT)[j] = words(s.knot_offsets)[table_set]
    word(s, KNOT_END)[j] = words(s.knot_offsets)[table_set + 1]
    word(s, INDEX)[j], word(s, CODE)[j], word(s, WHICH)[j] = k, UNSETTLED, -1
    word(s, STALE)[j], word(s, FIRST)[j], word(s, MAY_GROW)[j] = -1, -1, -1
    word(s, UPDATES)[j], word(s, FILLED)[j] = 0, words(s.start_filled)[k]
    word(s, STEPS)[j] = words(s.num_steps)[k]
    word(s, REJECTIONS)[j] = words(s.num_rejections)[k]
    word(s, EVALUATIONS)[j] = words(s.num_evaluations)[k]
    word(s, FINITE)[j], word(s, UNHEALTHY)[j] = -1, -1
    t = reals(s.start_times)[k]
    real(s, T)[j], real(s, BEGIN)[j], real(s, H)[j] = t, t, reals(s.start_steps)[k]
    real(s, ERROR)[j], real(s, DENSITY)[j], real(s, MEAN_DENSITY)[j] = 0.0, 0.0, 0.0


@native
def look_ahead(s):
    """Find the next time each lane must stop on, and the shortest step its time resolves."""
    index, knot, knots = word(s, INDEX), word(s, KNOT), reals(s.knots)
    t, stop, smallest = real(s, T), real(s, STOP), real(s, SMALLEST)
    for j in range(s.lanes):
        if index[j] < 0:
            continue
        smallest[j] = 10.0 * EPS * max(abs(t[j]), 1e-8 * (s.end_time - real(s, BEGIN)[j]))
        while knot[j] < word(s, KNOT_END)[j] and knots[knot[j]] <= t[j] + smallest[j]:
            knot[j] += 1
        stop[j] = s.end_time
        if knot[j] < word(s, KNOT_END)[j]:
            stop[j] = min(s.end_time, knots[knot[j]])


@native
def _enter_segments(s, j):
    """Choose the segment of each of a lane's tables that holds from its time on."""
    t = real(s, T)[j] + real(s, SMALLEST)[j]
    table_set = words(s.table_sets)[word(s, INDEX)[j]] if s.table_sets != 0 else 0
    for k in range(s.num_tables):
        segment = words(s.segments + 8 * (k * s.lanes + j))
        after = words(s.end_segments)[table_set * s.num_tables + k]
        while segment[0] + 1 < after and reals(s.segment_starts)[segment[0] + 1] <= t:
            segment[0] += 1


@native
def _update(s):
    """Let the generator set its states anew in the lanes of SELECT, at each update time passed."""
    select, mask, updates = word(s, SELECT), word(s, MASK), word(s, UPDATES)
    while s.num_updates > 0:
        is_any = False
        for j in range(s.lanes):
            mask[j] = 0
            if select[j] != 0 and updates[j] < s.num_updates:
                due = reals(s.update_times)[updates[j]]
                if due <= real(s, T)[j] + real(s, SMALLEST)[j]:
                    # what was due before this stretch began was done then
                    is_new = due >= real(s, BEGIN)[j] - real(s, SMALLEST)[j]
                    mask[j] = -1 if is_new else 0
                    updates[j], is_any = updates[j] + 1, True
        if not is_any:
            break
        if any_of(s, MASK):
            find_inputs(s, real_at(s, T), s.y)
            call(s.update, (real_at(s, T), s.y, s.base, s.parameters, s.stage))
            blend(s, word_at(s, MASK), s.stage, s.y + 8 * s.lanes * s.nx, s.nz)


@native
def start(s):
    """Rates and first steps of lanes at a start or at a knot, where the inputs may jump."""
    lanes, select, stale = s.lanes, word(s, SELECT), word(s, STALE)
    h, finite, unhealthy = real(s, H), word(s, FINITE), word(s, UNHEALTHY)
    is_any = False
    for j in range(lanes):
        select[j] = stale[j] if word(s, INDEX)[j] >= 0 else 0
        if select[j] != 0:
            is_any = True
            _enter_segments(s, j)
    if not is_any:
        return
    _update(s)
    evaluate(s, real_at(s, T), s.y, rates_at(s, 1))
    blend(s, word_at(s, SELECT), rates_at(s, 1), s.k, s.ny)
    is_finite(s, rates_at(s, 1), s.ny)
    is_any = False
    for j in range(lanes):
        if select[j] == 0:
            continue
        if word(s, FIRST)[j] != 0:
            take_sides(s, j)
        stale[j], finite[j], unhealthy[j] = 0, word(s, MASK)[j], first_unhealthy(s, j)
        word(s, EVALUATIONS)[j] += 1
        is_first = finite[j] != 0 and unhealthy[j] < 0 and h[j] <= 0.0
        is_any = is_any or is_first
        select[j] = -1 if is_first else 0
    if is_any:
        _first_steps(s)


@native
def _first_steps(s):
    """First steps by Hairer's rule in the lanes of SELECT, as in ``single.steps``."""
    lanes, select, h, guess = s.lanes, word(s, SELECT), real(s, H), real(s, THETA)
    state, rate, second = real(s, A), real(s, F_A), real(s, B)
    call(s.norms, (s.y, s.k, s.absolute, s.settings, real_at(s, A), s.ny, 0))
    for j in range(lanes):
        small = rate[j] <= 1e-10 or state[j] <= 1e-10
        guess[j] = 1e-6 if small else 0.01 * math.sqrt(state[j] / rate[j])
        guess[j] = min(guess[j], min(s.max_step, real(s, STOP)[j] - real(s, T)[j]))
        real(s, TIME)[j] = real(s, T)[j] + guess[j]
        word(s, EVALUATIONS)[j] -= select[j]
    # an explicit Euler step shows how fast the rate changes
    call(s.euler, (s.y, real_at(s, THETA), s.k, s.stage, s.ny, 0))
    evaluate(s, real_at(s, TIME), s.stage, rates_at(s, 1))
    call(s.second_norm, (s.y, s.k, s.absolute, s.settings, real_at(s, B), s.ny, s.row))
    for j in range(lanes):
        if select[j] == 0:
            continue
        h[j] = guess[j]
        fastest = max(math.sqrt(second[j]) / guess[j], math.sqrt(rate[j]))
        if math.isfinite(fastest):
            limit = max(1e-6, 1e-3 * guess[j])
            if fastest > 1e-15:
                limit = math.sqrt(math.sqrt(math.sqrt(0.01 / fastest)))
            longest = min(s.max_step, real(s, STOP)[j] - real(s, T)[j])
            h[j] = min(min(100.0 * guess[j], limit), longest)

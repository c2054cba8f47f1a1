"""States between the ends of a step, to the step's own accuracy, and the samples taken there."""

from __future__ import annotations

from noslip.simulation import rules
from noslip.simulation.batches.conditions import blend
from noslip.simulation.batches.projection import settle
from noslip.simulation.batches.rates import evaluate, evaluate_stages
from noslip.simulation.batches.setup import (
    CORRECTIONS,
    EVALUATIONS,
    EVENT,
    EXPECTED,
    F_C,
    FILLED,
    H_TRY,
    INDEX,
    LAST,
    LOOKING,
    MASK,
    ROUGH,
    SELECT,
    STOP_THETA,
    T_END,
    THETA,
    TIME,
    VERDICT,
    B,
    C,
    T,
    rates_at,
    real,
    real_at,
    word,
    word_at,
    worker_at,
)
from noslip.simulation.dop853 import DEFECT_AT
from noslip.simulation.native import call, native, reals, unit
from noslip.simulation.rules import ACCEPTED, RK4

UNKNOWN = 1  # besides −1 and 0: whether a step's dense output is rough was not asked yet


@native
def interpolate(s, out):
    """States at the fractions THETA of the steps on their dense output; TIME is when."""
    t, h, theta, time = real(s, T), real(s, H_TRY), real(s, THETA), real(s, TIME)
    for j in range(s.lanes):
        time[j] = t[j] + theta[j] * h[j]
    call(s.interpolate, (s.y, s.f, real_at(s, THETA), out, s.ny, 0))


@native
def partial_steps(s, out):
    """States at the fractions THETA by steps of their own; the steps' own stages are spent then.

    TIME is when. H_TRY and LAST are left as they were.
    """
    lanes, t, h, last = s.lanes, real(s, T), real(s, H_TRY), real(s, LAST)
    theta = real(s, THETA)
    kept_h, kept_last = real(s, C), real(s, F_C)
    for j in range(lanes):
        kept_h[j], kept_last[j] = h[j], last[j]
        h[j] = theta[j] * h[j]
        last[j] = t[j] + h[j]
    evaluate_stages(s, s.stages, 1, s.num_stages)
    tolerances = (s.absolute, s.settings)
    call(s.end, (s.y, real_at(s, H_TRY), s.k, *tolerances, out, real_at(s, EXPECTED), s.ny, s.row))
    time = real(s, TIME)
    for j in range(lanes):
        time[j] = last[j]
        h[j], last[j] = kept_h[j], kept_last[j]


@native
def find_rough(s):
    """Find out, in the lanes of SELECT where it is not known, whether dense output is too rough.

    It is of order 7 where the steps are of order 8, so on long steps it can be worse than they are.
    How far it is off is known from how far it misses the differential equation at one place.
    """
    rough, select, theta = word(s, ROUGH), word(s, SELECT), real(s, THETA)
    is_asked = False
    for j in range(s.lanes):
        if select[j] != 0 and rough[j] == UNKNOWN and s.method == RK4:
            rough[j] = 0
        is_asked = is_asked or (select[j] != 0 and rough[j] == UNKNOWN)
    if not is_asked:
        return
    kept = real(s, B)
    for j in range(s.lanes):
        kept[j], theta[j] = theta[j], DEFECT_AT
        if select[j] != 0 and rough[j] == UNKNOWN:
            word(s, EVALUATIONS)[j] += 1
    interpolate(s, s.point)
    rates = rates_at(s, 1)  # the stages are not needed any more
    evaluate(s, real_at(s, TIME), s.point, rates)
    given = (s.f, real_at(s, THETA), real_at(s, H_TRY), rates, s.y, s.end_state)
    call(s.is_rough, (*given, s.absolute, s.settings, word_at(s, MASK), s.ny, 0))
    for j in range(s.lanes):
        theta[j] = kept[j]
        if select[j] != 0 and rough[j] == UNKNOWN:
            rough[j] = word(s, MASK)[j]


@native
def state_within(s):
    """States at the fractions THETA of accepted steps into s.point, as accurate as the steps.

    In the lanes of SELECT; TIME is when.
    """
    rough, select, mask = word(s, ROUGH), word(s, SELECT), word(s, MASK)
    find_rough(s)
    interpolate(s, s.point)
    is_rough = False
    for j in range(s.lanes):
        mask[j] = -1 if select[j] != 0 and rough[j] == -1 else 0
        word(s, EVALUATIONS)[j] -= s.num_stages * mask[j]
        is_rough = is_rough or mask[j] != 0
    if is_rough:
        partial_steps(s, s.other)
        blend(s, word_at(s, MASK), s.other, s.point, s.ny)


@native
def is_wanted(s, j, limit):
    """Whether a lane has a sample before a time that is still to be taken."""
    filled = word(s, FILLED)[j]
    return filled < s.num_samples and reals(s.sample_times)[filled] < limit


@native
def record(s, j):
    """Keep or reduce the column values of a lane as its next sample."""
    k, filled = word(s, INDEX)[j], word(s, FILLED)[j]
    for column in range(s.num_columns):
        value, at = reals(s.values)[column * s.lanes + j], k * s.num_columns + column
        if s.minimum != 0 and value < reals(s.minimum)[at]:
            reals(s.minimum)[at] = value
        if s.maximum != 0 and value > reals(s.maximum)[at]:
            reals(s.maximum)[at] = value
        if s.samples != 0:
            place = (k * s.num_samples + filled) * s.num_columns + column
            reals(s.samples)[place] = value
    word(s, FILLED)[j] = filled + 1


@native
def find_columns(s, time, y):
    """Column values of all lanes, with the inputs found, into s.values."""
    call(s.columns, (time, y, s.inputs, s.parameters, s.values))


@native
def settle_selected(s):
    """Settle s.point in the lanes of SELECT, which becomes MASK; failures into VERDICT."""
    verdict, select, mask = word(s, VERDICT), word(s, SELECT), word(s, LOOKING)
    for j in range(s.lanes):
        mask[j] = select[j]
    settle(s, real_at(s, TIME), s.point)
    for j in range(s.lanes):
        if mask[j] != 0 and word(s, CORRECTIONS)[j] < 0:
            verdict[j], mask[j] = rules.PROJECTION_FAILED, 0
        word(s, MASK)[j] = mask[j]


@native
def reach_events(s):
    """State at the event that ends a lane's run into s.next."""
    verdict, event = word(s, VERDICT), word(s, EVENT)
    select, theta = word(s, SELECT), real(s, THETA)
    is_any = False
    for j in range(s.lanes):
        is_here = verdict[j] == ACCEPTED and event[j] >= 0
        select[j] = -1 if is_here else 0
        theta[j] = real(s, STOP_THETA)[j] if is_here else 0.0
        is_any = is_any or is_here
    if not is_any:
        return
    state_within(s)
    settle_selected(s)
    blend(s, word_at(s, MASK), s.point, s.next, s.ny)


@unit
def take_samples(here):
    """Samples of the accepted steps that lie before their ends, and the states of last events.

    A lane whose run ends at an event has its state there in s.next.
    """
    s = worker_at(here)
    lanes, verdict, select = s.lanes, word(s, VERDICT), word(s, SELECT)
    t, h, theta, t_end = real(s, T), real(s, H_TRY), real(s, THETA), real(s, T_END)
    while True:
        is_any = False
        for j in range(lanes):
            theta[j], select[j] = 0.0, 0
            if verdict[j] == ACCEPTED and is_wanted(s, j, t_end[j]):
                time = reals(s.sample_times)[word(s, FILLED)[j]]
                theta[j], select[j], is_any = (time - t[j]) / h[j], -1, True
        if not is_any:
            break
        state_within(s)
        settle_selected(s)
        find_columns(s, real_at(s, TIME), s.point)
        for j in range(lanes):
            if word(s, MASK)[j] != 0:
                record(s, j)
    if s.num_events > 0:
        reach_events(s)

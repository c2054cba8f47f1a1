"""Crossings of events in accepted steps: where a value changes its sign, and what follows.

Events are looked at in the end and at the quarters of every step. A crossing is located on the
dense output by Chandrupatla's method, all lanes at once; where dense output misses the tolerance,
on steps of their own by secants. Events that end a run end it at the first of them; the others
leave their times.

References
----------
[Chandrupatla1997], without equation numbers.
"""

from __future__ import annotations

import math

from noslip.simulation import rules
from noslip.simulation.batches.rates import find_inputs
from noslip.simulation.batches.samples import find_rough, interpolate, partial_steps
from noslip.simulation.batches.setup import (
    DENSE_ROOT,
    EVALUATIONS,
    EVENT,
    EXPECTED,
    F_A,
    F_B,
    F_C,
    FIRST,
    H_TRY,
    INDEX,
    LEFT,
    LOOKING,
    ROOT,
    ROUGH,
    SELECT,
    STOP_THETA,
    T_END,
    T_NEW,
    THETA,
    TIME,
    VERDICT,
    A,
    B,
    C,
    T,
    real,
    real_at,
    word,
    worker_at,
)
from noslip.simulation.native import call, copy, native, reals, unit, words
from noslip.simulation.rules import (
    ACCEPTED,
    BESIDE,
    CHECKS_PER_STEP,
    EPS,
    START_FRACTION,
    VANISHED,
)

_crosses = native(rules.crosses)
_expected_root = native(rules.expected_root)


@native
def event_values(s, out):
    """Values of all events at the fractions THETA of the steps, on their dense output."""
    interpolate(s, s.point)
    find_inputs(s, real_at(s, TIME), s.point)
    call(s.events, (real_at(s, TIME), s.point, s.inputs, s.parameters, out))


@native
def resolution(s, j):
    """Fraction of a lane's step that its time resolves."""
    return EPS * max(1.0, abs(real(s, T)[j]) / real(s, H_TRY)[j])


@native
def locate(s, event, right):
    """Roots of one event in the lanes of SELECT, between LEFT and a fraction, into ROOT.

    The root lies between a, the newest point, and b; c is the point before. The far side of the
    last interval is taken, so that the sign has changed there.
    """
    lanes, select, root, theta = s.lanes, word(s, SELECT), real(s, ROOT), real(s, THETA)
    a, f_a, b, f_b = real(s, A), real(s, F_A), real(s, B), real(s, F_B)
    c, f_c, expected, mask = real(s, C), real(s, F_C), real(s, EXPECTED), word(s, LOOKING)
    probe = reals(s.probe + 8 * lanes * event)
    goes_on = False
    for j in range(lanes):
        mask[j], root[j], expected[j] = select[j], right, 0.5
        a[j], b[j] = right, real(s, LEFT)[j]
        f_a[j] = reals(s.after)[event * lanes + j]
        f_b[j] = reals(s.before)[event * lanes + j]
        if f_a[j] == 0.0:
            mask[j] = 0
        goes_on = goes_on or mask[j] != 0
    for _ in range(200):
        if not goes_on:
            return
        for j in range(lanes):
            theta[j] = a[j]
            if mask[j] != 0:
                least = resolution(s, j) / abs(b[j] - a[j])
                theta[j] = a[j] + min(max(expected[j], least), 1.0 - least) * (b[j] - a[j])
        event_values(s, s.probe)
        goes_on = False
        for j in range(lanes):
            if mask[j] == 0:
                continue
            x, f_x = theta[j], probe[j]
            if f_x == 0.0:
                root[j], mask[j] = x, 0
                continue
            if (f_x > 0.0) == (f_a[j] > 0.0):
                c[j], f_c[j] = a[j], f_a[j]
            else:
                c[j], f_c[j], b[j], f_b[j] = b[j], f_b[j], a[j], f_a[j]
            a[j], f_a[j] = x, f_x
            expected[j] = _expected_root(x, f_x, b[j], f_b[j], c[j], f_c[j])
            root[j] = max(x, b[j])
            if abs(b[j] - x) <= 2.0 * resolution(s, j):
                mask[j] = 0
            else:
                goes_on = True


@native
def refine(s, event):
    """Roots in ROOT of one event once more, by secants on steps of their own.

    In the lanes of SELECT whose dense output is too rough. Secants do not find where a value jumps
    over zero: there the root on dense output stays.
    """
    lanes, select, rough = s.lanes, word(s, SELECT), word(s, ROUGH)
    root, theta, mask = real(s, ROOT), real(s, THETA), word(s, LOOKING)
    a, f_a, b = real(s, A), real(s, F_A), real(s, B)
    dense, largest = real(s, DENSE_ROOT), real(s, F_B)
    probe = reals(s.probe + 8 * lanes * event)
    goes_on = False
    for j in range(lanes):
        mask[j] = -1 if select[j] != 0 and rough[j] == -1 else 0
        a[j], theta[j], dense[j] = root[j], root[j], root[j]
        f_a[j], largest[j] = 0.0, 0.0
        b[j] = root[j] - BESIDE if root[j] > 0.5 else root[j] + BESIDE
        goes_on = goes_on or mask[j] != 0
    for attempt in range(10):
        if not goes_on:
            break
        partial_steps(s, s.point)
        find_inputs(s, real_at(s, TIME), s.point)
        call(s.events, (real_at(s, TIME), s.point, s.inputs, s.parameters, s.probe))
        goes_on = False
        for j in range(lanes):
            if mask[j] == 0:
                continue
            word(s, EVALUATIONS)[j] += s.num_stages
            f = probe[j]
            if attempt < 2:
                largest[j] = max(largest[j], abs(f))
            if f == 0.0:
                f_a[j], root[j], mask[j] = f, a[j], 0
                continue
            if attempt == 0:
                f_a[j], b[j], a[j] = f, a[j], b[j]
                theta[j], goes_on = a[j], True
                continue
            # a is the newest point, b the one before
            f_b, f_a[j], root[j] = f_a[j], f, a[j]
            if f == f_b or abs(a[j] - b[j]) <= 4.0 * resolution(s, j):
                mask[j] = 0
                continue
            following = a[j] - f * (a[j] - b[j]) / (f - f_b)
            b[j], a[j] = a[j], min(max(following, 0.0), 1.0)
            theta[j], goes_on = a[j], True
    for j in range(lanes):
        if not abs(f_a[j]) <= VANISHED * largest[j]:
            root[j] = dense[j]


@unit
def find_roots(here):
    """Roots of event s.event in the lanes of SELECT, between LEFT and s.right, into ROOT."""
    s = worker_at(here)
    locate(s, s.event, s.right)
    find_rough(s)
    refine(s, s.event)


@unit
def find_events(here):
    """Crossings in the accepted steps: their times, and EVENT where one ends a run.

    T_END is where such a step ends, and STOP_THETA which part of it that is. Leaves the last values
    in s.before.
    """
    s = worker_at(here)
    lanes, verdict, theta, left = s.lanes, word(s, VERDICT), real(s, THETA), real(s, LEFT)
    first, event = word(s, FIRST), word(s, EVENT)
    for j in range(lanes):
        left[j] = 0.0
    if any_first(s):
        # angles go on from the start itself, which may be where they jump
        for start in (0.0, START_FRACTION):
            for j in range(lanes):
                theta[j] = start
            event_values(s, s.probe)
            for j in range(lanes):
                if verdict[j] == ACCEPTED and first[j] != 0:
                    left[j] = start
                    for k in range(s.num_events):
                        reals(s.before)[k * lanes + j] = reals(s.probe)[k * lanes + j]
                    follow_angles(s, j)
    for check in range(1, CHECKS_PER_STEP + 1):
        right = check / CHECKS_PER_STEP
        # the ends were looked at from the starts, which is too far for angles
        if check == CHECKS_PER_STEP and s.num_angles == 0:
            copy(s.at_end, s.after, lanes * s.num_events)
        else:
            for j in range(lanes):
                theta[j] = right
            event_values(s, s.after)
        find_crossings(s, right)
        for j in range(lanes):
            left[j] = right
            if verdict[j] != ACCEPTED or event[j] >= 0:
                continue
            # as in one run: nan leaves the value before it in place, zero does not
            for k in range(s.num_events):
                value = reals(s.after)[k * lanes + j]
                if not math.isnan(value):
                    reals(s.before)[k * lanes + j] = value
            follow_angles(s, j)


@native
def follow_angles(s, j):
    """Let a lane's angles go on from where they are now: the last values of its events."""
    for i in range(s.num_angles):
        value = reals(s.before)[(s.num_events - s.num_angles + i) * s.lanes + j]
        reals(s.parameters)[(s.num_parameters - s.num_angles + i) * s.lanes + j] = value


@native
def any_first(s):
    """Whether an accepted step is the first of its stretch."""
    for j in range(s.lanes):
        if word(s, VERDICT)[j] == ACCEPTED and word(s, FIRST)[j] != 0:
            return True
    return False


@native
def find_crossings(s, right):
    """Roots of all events between LEFT and a fraction of the steps, and what follows from them."""
    lanes, verdict, event = s.lanes, word(s, VERDICT), word(s, EVENT)
    select, root, roots = word(s, SELECT), real(s, ROOT), reals(s.roots)
    before, after, directions = reals(s.before), reals(s.after), reals(s.directions)
    is_any = False
    for k in range(s.num_events):
        is_here = False
        for j in range(lanes):
            at = k * lanes + j
            is_looking = verdict[j] == ACCEPTED and event[j] < 0
            select[j] = -1 if is_looking and _crosses(before[at], after[at], directions[k]) else 0
            roots[at] = 2.0
            is_here = is_here or select[j] != 0
        if not is_here:
            continue
        is_any = True
        s.event, s.right = k, right
        call(s.find_roots, (s.here,))
        for j in range(lanes):
            if select[j] != 0:
                roots[k * lanes + j] = root[j]
    if is_any:
        for j in range(lanes):
            if verdict[j] == ACCEPTED and event[j] < 0:
                note_crossings(s, j)


@native
def note_crossings(s, j):
    """Note the times of a lane's crossings up to the first that ends the run."""
    lanes, roots, k_trajectory = s.lanes, reals(s.roots), word(s, INDEX)[j]
    stop, found = 2.0, -1
    for k in range(s.num_events):
        if words(s.is_terminal)[k] != 0 and roots[k * lanes + j] < stop:
            stop, found = roots[k * lanes + j], k
    for k in range(s.num_events):
        root = roots[k * lanes + j]
        if root > 1.0 or root > stop:
            continue
        if words(s.is_terminal)[k] != 0 and k != found:
            continue
        time = min(real(s, T)[j] + root * real(s, H_TRY)[j], real(s, T_NEW)[j])
        place = k_trajectory * (s.num_events - s.num_angles) + k
        count = words(s.event_counts)[place]
        if count < s.max_events:
            reals(s.event_times)[place * s.max_events + count] = time
        words(s.event_counts)[place] = count + 1
    if found >= 0:
        word(s, EVENT)[j] = found
        real(s, T_END)[j] = min(real(s, T)[j] + stop * real(s, H_TRY)[j], real(s, T_NEW)[j])
        real(s, STOP_THETA)[j] = stop

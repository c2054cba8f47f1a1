"""Events in an accepted step: where their values cross zero, and which crossing ends the run.

Signs are checked at the ends of pieces of the step, and the events themselves say how long these
may be. In a piece, the states of the dense output lie in intervals, and so do an event's value and
its rate (`simulation/expressions.py`). No crossing is missed if

    (1)  the value's interval does not hold zero, or
    (2)  its rate does not change its sign, so that it crosses once at most.

Else the piece is cut in two, down to the resolution of time, or until the looks of this step are
used up; that is noted as a fault. A value that cannot be enclosed, because it has too many
operations or depends on inputs, is looked at in quarters at least, and on where it is curved and
near zero. A crossing is located on the dense output; where that misses the tolerance, by partial
steps. A value that changes its sign at a pole or beyond an end of its domain does not cross zero.

References
----------
[Chandrupatla1997] for the roots, without equation numbers.
"""

from __future__ import annotations

import numpy as np

from noslip.engines import Buffer, ElementType, Given, Value
from noslip.simulation.loop.rules import (
    ACCEPTED,
    BESIDE,
    CHECKS_PER_STEP,
    EPS,
    FINEST,
    FINEST_SAMPLED,
    GROWN,
    HALF_TURN,
    LOOKS,
    LOOKS_PER_CROSSING,
    MOST_LOOKS,
    RETRY,
    RK4,
    START_FRACTION,
    UNDEFINED,
    UNRESOLVED,
    VANISHED,
)
from noslip.simulation.loop.steps import (
    ask_roughness,
    dense_enclosure,
    dense_state,
    find_inputs,
    partial_step,
    settle,
    state_within,
)
from noslip.simulation.loop.writer import LoopWriter

#: Of an event of which crossings are not excluded: its value is not enclosed, or not bounded.
NOT_ENCLOSED, UNBOUNDED = 2.0, 3.0


def find_events(w: LoopWriter) -> None:
    """Find crossings in the step; those that do not end the run are recorded.

    s.event becomes the one that ends it, or −1, s.theta where in the step that is; s.verdict an
    ending where a state cannot be projected. The last values are left in w.before.
    """
    f, s, shape = w.f, w.s, w.shape
    s.event, s.theta, s.left = f.whole(-1), f.real(1.0), f.real(0.0)
    with f.when(s.is_first):
        # angles go on from the start itself, which may be where they jump
        for start in (0.0, START_FRACTION):
            s.left = f.real(start)
            event_values(w, s.left, w.probe)
            for k in range(shape.num_events):
                w.before[k] = w.probe[k]
                w.undefined[k] = f.where(w.probe[k].is_nan(), f.real(1.0), 0.0)
            follow_angles(w)
    s.noted_before = s.crossings
    w.copy(w.before, w.held, shape.num_events)
    s.credit = f.whole(LOOKS)
    if shape.has_enclosures:
        s.left = f.real(0.0)
        _check_pieces(w)
    else:
        _check_quarters(w)
    # there is no room for the crossings of this step: a shorter one is taken
    with f.when(s.verdict.equals(RETRY)):
        s.event, s.crossings = f.whole(-1), s.noted_before
        w.copy(w.held, w.before, shape.num_events)
        follow_angles(w)


def _check_quarters(w: LoopWriter) -> None:
    f, s = w.f, w.s
    for quarter in f.count(1, CHECKS_PER_STEP + 1):
        with f.when((s.event < 0) & s.verdict.equals(ACCEPTED)):
            s.right = f.widen(f.to_real(quarter), f.lanes) / CHECKS_PER_STEP
            _check_piece(w)


def _check_pieces(w: LoopWriter) -> None:
    """Check the step in pieces as long as enclosures allow: 1, 1/2, 1/4, … of it."""
    f, s = w.f, w.s
    s.width, s.piece = f.real(1.0), f.whole(0)
    finest = f.most(4.0 * resolution(w), FINEST)
    with f.repeat() as looks:
        looks.leave((s.left >= 1.0) | (s.event >= 0) | ~s.verdict.equals(ACCEPTED))
        s.right = f.least(s.left + s.width, 1.0)
        s.is_known = _is_resolved(w)
        s.is_spent = (s.credit <= 0) | (s.looks >= MOST_LOOKS)
        s.is_checked = s.is_known | s.is_spent | (s.width <= finest)
        s.credit, s.looks = s.credit - 1, s.looks + 1
        with f.when(s.is_checked):
            with f.when(~s.is_known & s.is_spent):
                _note_unresolved(w)
            _check_piece(w)
            s.piece = s.piece + 1
            is_even = (s.piece & 1).equals(0)
            may_grow = is_even & (s.width < f.where(s.is_spent, 0.25, f.real(1.0)))
            s.width = f.where(may_grow, 2.0 * s.width, s.width)
            s.piece = f.where(may_grow, s.piece >> 1, s.piece)
        with f.when(~s.is_checked):
            s.width, s.piece = 0.5 * s.width, s.piece + s.piece


def _is_resolved(w: LoopWriter) -> Value:
    """Whether no event can cross zero more than once between s.left and s.right."""
    f, s, shape = w.f, w.s, w.shape
    num_events = shape.num_events - shape.num_angles
    dense_enclosure(w, s.left, s.right, s.h_try)
    w.call("enclosures", f.fma(s.left, s.h_try, s.t), w.box, w.inputs, w.bounds)
    step = (s.right - s.left) * s.h_try
    is_short = s.right - s.left <= 0.25
    s.is_sure, s.is_blind = f.truth(True), f.truth(False)
    for k in range(shape.num_events):
        low, high, falls, rises = (w.bounds[4 * k + j] for j in range(4))
        if k >= num_events:
            s.is_sure = s.is_sure & (step * f.most(f.abs(falls), f.abs(rises)) <= HALF_TURN)
            continue
        is_blind = low > high
        here = w.before[k]
        least, most = f.fma(step, f.least(falls, 0.0), here), f.fma(step, f.most(rises, 0.0), here)
        is_far = (low > 0.0) | (high < 0.0) | (least > 0.0) | (most < 0.0)
        is_far = (is_far | (falls >= 0.0) | (rises <= 0.0)) & ~is_blind
        is_bounded = (low > -np.inf) & (high < np.inf)
        kind = f.where(is_blind, f.real(NOT_ENCLOSED), f.where(is_bounded, f.real(1.0), UNBOUNDED))
        w.open[k] = f.where(is_far, f.real(0.0), kind)
        s.is_sure = s.is_sure & (is_far | (is_blind & is_short))
        s.is_blind = s.is_blind | is_blind
    with f.when(s.is_blind & s.is_sure):
        _compare_samples(w)
    return s.is_sure


def _compare_samples(w: LoopWriter) -> None:
    """Clear s.is_sure where a value that is not enclosed is near zero and curved in a piece.

    So it is where the piece holds an end of the value's domain.
    """
    f, s, shape = w.f, w.s, w.shape
    event_values(w, 0.5 * (s.left + s.right), w.probe)
    event_values(w, s.right, w.after)
    for k in range(shape.num_events - shape.num_angles):
        a, m, b = w.before[k], w.probe[k], w.after[k]
        curved = f.abs(a - 2.0 * m + b)
        near = f.least(f.abs(a), f.least(f.abs(m), f.abs(b)))
        is_edge = ~w.undefined[k].equals(0.0) ^ b.is_nan() | (m.is_nan() ^ b.is_nan())
        is_rough = is_edge | (curved > f.most(near, 0.5 * f.abs(b - a)))
        is_rough = is_rough & w.open[k].equals(NOT_ENCLOSED)
        is_finest = s.right - s.left <= FINEST_SAMPLED
        s.is_sure = s.is_sure & ~(is_rough & ~is_finest)
        with f.when(is_rough & is_finest):
            _note_fault(w, k, UNRESOLVED, f.fma(s.left, s.h_try, s.t))


def _note_unresolved(w: LoopWriter) -> None:
    """Note all events of which crossings are not excluded between s.left and s.right."""
    f, s, shape = w.f, w.s, w.shape
    for k in range(shape.num_events - shape.num_angles):
        with f.when(~w.open[k].equals(0.0)):
            _note_fault(w, k, UNRESOLVED, f.fma(s.left, s.h_try, s.t))


def _note_fault(w: LoopWriter, event: int, kind: int, time: Value) -> None:
    """Count a fault of an event; the first time is kept."""
    f, s, shape = w.f, w.s, w.shape
    place = 2 * (s.index * (shape.num_events - shape.num_angles) + event) + kind
    counts = w.vector("fault_counts", ElementType.WHOLE)
    s.faults = counts[place]
    with f.when(s.faults.equals(0)):
        w.vector("fault_times")[place] = time
    counts[place] = s.faults + 1


def _check_piece(w: LoopWriter) -> None:
    """Find the crossings between s.left and s.right, and go on to there."""
    f, s, shape = w.f, w.s, w.shape
    _values_at_check(w)
    _find_crossings(w)
    with f.when((s.event < 0) & s.verdict.equals(ACCEPTED)):
        # nan leaves the value before it in place. Zero does not: a value that reached it
        # has crossed, and does not cross once more by resting there or by going on
        for k in range(shape.num_events):
            value = w.after[k]
            is_nan = value.is_nan()
            if k < shape.num_events - shape.num_angles:
                with f.when(is_nan & w.undefined[k].equals(0.0)):
                    _note_fault(w, k, UNDEFINED, f.fma(s.right, s.h_try, s.t))
            w.undefined[k] = f.where(is_nan, f.real(1.0), 0.0)
            w.before[k] = f.where(is_nan, w.before[k], value)
        follow_angles(w)
        s.left = s.right


def _values_at_check(w: LoopWriter) -> None:
    """Values at the right end of the piece that is checked, into w.after."""
    f, s, shape = w.f, w.s, w.shape
    if shape.num_angles:
        # the end was evaluated with the angles of the step's start, which are too far away
        event_values(w, s.right, w.after)
        return
    is_last = s.right >= 1.0
    with f.when(is_last):
        for k in range(shape.num_events):
            w.after.blended()[k] = w.at_end[k]
    with f.when(~is_last):
        event_values(w, s.right, w.probe)
        for k in range(shape.num_events):
            w.after.blended()[k] = w.probe[k]


def event_values(w: LoopWriter, theta: Value, out: Buffer) -> None:
    """Values of all events on the dense output at θ."""
    s = w.s
    dense_state(w, theta, w.point)
    _values(w, w.f.fma(theta, s.h_try, s.t), out)


def _values(w: LoopWriter, time: Value, out: Buffer) -> None:
    find_inputs(w, time, w.point)
    w.call("events", time, w.point, w.inputs, out)


def follow_angles(w: LoopWriter) -> None:
    """Store the angles as the ones to unwrap from; they are the last values."""
    shape = w.shape
    if not shape.num_angles:
        return
    parameters = w.parameters("events")
    first = shape.num_parameters - shape.num_angles if shape.is_batch else 0
    for i in range(shape.num_angles):
        angle = w.before[shape.num_events - shape.num_angles + i]
        if shape.is_batch:
            w.set_parameter(first + i, angle)
        else:
            parameters[first + i] = angle


def _crosses(w: LoopWriter, k: int) -> Value:
    """Whether a value changed its sign in the given direction (0: both; nan: never)."""
    f = w.f
    direction = f.load(f.offset(w.number("directions"), k))
    a, b = w.before[k], w.after[k]
    rises = (a < 0.0) & (b >= 0.0) & (direction >= 0.0)
    return rises | ((a > 0.0) & (b <= 0.0) & (direction <= 0.0))


def _find_crossings(w: LoopWriter) -> None:
    """Locate the roots of all events between s.left and s.right; record them or end the run."""
    f, s, shape = w.f, w.s, w.shape
    s.found, s.first_root = f.whole(-1), f.real(2.0)
    # those that end the run come first, so that no later crossing is noted
    for k in range(shape.num_events - shape.num_angles):
        with f.when(_crosses(w, k) & s.verdict.equals(ACCEPTED)):
            s.credit = s.credit + LOOKS_PER_CROSSING
            s.root = locate(w, k)
            s.is_zero = ~_is_gap(w, k)
            if k < shape.num_endings:
                is_earlier = (s.root < s.first_root) & s.is_zero
                s.found = f.where(is_earlier, k, s.found)
                s.first_root = f.where(is_earlier, s.root, s.first_root)
            else:
                with f.when((s.root <= s.first_root) & s.is_zero):
                    note_crossing(w, k)
    with f.when((s.found >= 0) & s.verdict.equals(ACCEPTED)):
        s.event, s.theta = s.found, s.first_root
        ask_roughness(w, s.t, s.h_try)
        with f.when(s.rough.equals(1)):
            s.theta = refine(w, s.found, s.theta)


def resolution(w: LoopWriter) -> Value:
    """Smallest fraction of a step that floating-point time resolves."""
    f, s = w.f, w.s
    return EPS * f.most(f.abs(s.t) / s.h_try, 1.0)


def locate(w: LoopWriter, event: int) -> Value:
    """Root θ of one event between s.left and s.right, on its far side.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, else bisection. The
    root lies between a, the newest point, and b; c is the point before.
    """
    f, s = w.f, w.s
    s.a, s.f_a, s.b, s.f_b = s.right, w.after[event], s.left, w.before[event]
    s.fraction, s.tries = f.real(0.5), f.whole(0)
    tolerance = 2.0 * resolution(w)
    with f.repeat() as search:
        gap = f.abs(s.b - s.a)
        search.leave((gap <= tolerance) | s.f_a.equals(0.0) | (s.tries >= 200))
        least = 0.5 * tolerance / gap
        s.x = s.a + f.least(f.most(s.fraction, least), 1.0 - least) * (s.b - s.a)
        event_values(w, s.x, w.probe)
        f_x = w.probe[event]
        is_same = ~((f_x > 0.0) ^ (s.f_a > 0.0))
        c, f_c = f.where(is_same, s.a, s.b), f.where(is_same, s.f_a, s.f_b)
        b, f_b = f.where(is_same, s.b, s.a), f.where(is_same, s.f_b, s.f_a)
        a, f_a = s.x, f_x
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        rest = 1.0 - phi
        is_safe = (phi * phi < xi) & (rest * rest < 1.0 - xi)
        from_c = (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        expected = f_a / (f_b - f_a) * f_c / (f_b - f_c) + from_c
        s.fraction = f.where(is_safe, expected, 0.5)
        s.a, s.f_a, s.b, s.f_b, s.tries = a, f_a, b, f_b, s.tries + 1
    return f.where(s.f_a.equals(0.0), s.a, f.most(s.a, s.b))


def _is_gap(w: LoopWriter, event: int) -> Value:
    """Whether a located change of sign is a pole or an end of the domain, not a zero.

    Between the neighbors that :func:`locate` left, a value is closer to zero than at the ends of
    the piece; towards a pole it grows. At a jump, which is a crossing, it does not: its enclosure
    is bounded, and it hardly changes in pieces as short as those around jumps.
    """
    f, s = w.f, w.s
    is_above = w.before[event] > 0.0
    is_swapped = (s.f_b > 0.0) ^ is_above
    before, after = f.abs(w.before[event]), f.abs(w.after[event])
    near_before = f.abs(f.where(is_swapped, s.f_a, s.f_b))
    near_after = f.abs(f.where(is_swapped, s.f_b, s.f_a))
    is_undefined = near_before.is_nan() | near_after.is_nan()
    is_pole = (near_before > GROWN * before) & (near_after > GROWN * after)
    if w.shape.has_enclosures:
        is_steep = (near_before >= before) & (near_after >= after)
        is_pole = is_pole | (is_steep & w.open[event].equals(UNBOUNDED))
    return is_undefined | (is_pole & ~s.f_a.equals(0.0))


def refine(w: LoopWriter, event: int | Value, theta: Value) -> Value:
    """Root θ of an event by partial steps: secant method from the root on dense output.

    Secants do not find where a value jumps over zero: there the root on dense output stays.
    """
    f, s = w.f, w.s
    s.dense_root, s.a, s.attempt = theta, theta, f.whole(0)
    s.b = f.where(theta > 0.5, theta - BESIDE, theta + BESIDE)
    s.f_a, s.size = f.real(np.nan), f.real(0.0)
    with f.repeat() as search:
        search.leave(s.attempt >= 10)
        partial_step(w, s.t, s.h_try, s.a, w.point)
        _values(w, f.fma(s.a, s.h_try, s.t), w.probe)
        value, f_b = _event_value(w, event), s.f_a
        s.size = f.where(s.attempt < 2, f.most(s.size, f.abs(value)), s.size)
        s.f_a = value
        search.leave(value.equals(0.0))
        is_first = s.attempt.equals(0)
        is_done = value.equals(f_b) | (f.abs(s.a - s.b) <= 4.0 * resolution(w))
        search.leave(~is_first & is_done)
        a, b = s.a, s.b
        secant = f.least(f.most(a - value * (a - b) / (value - f_b), 0.0), 1.0)
        s.a, s.b = f.where(is_first, b, secant), a
        s.attempt = s.attempt + 1
    is_found = f.abs(s.f_a) <= VANISHED * s.size
    return f.where(is_found, s.a, s.dense_root)


def _event_value(w: LoopWriter, event: int | Value) -> Value:
    """The value of one event among those in w.probe."""
    if isinstance(event, int):
        return w.probe[event]
    f = w.f
    value = w.probe[0]
    for k in range(1, w.shape.num_endings):
        value = f.where(event.equals(k), w.probe[k], value)
    return value


def note_crossing(w: LoopWriter, event: int) -> None:
    """Record an event that does not end the run: its time, and in a single run the state."""
    f, s, shape = w.f, w.s, w.shape
    ask_roughness(w, s.t, s.h_try)
    with f.when(s.rough.equals(1)):
        s.root = refine(w, event, s.root)
    time = f.fma(s.root, s.h_try, s.t)
    if shape.is_batch:
        note_time(w, event, f.least(time, s.t_new))
        return
    s.crossing_time = time
    state_within(w, s.t, s.h_try, s.root)
    corrections = settle(w, s.crossing_time, w.point)
    s.verdict = f.where(corrections < 0, f.whole(0) - corrections, s.verdict)
    s.has_room = s.crossings < w.number("crossing_room")
    with f.when(s.has_room):
        width = shape.ny + 2
        row = f.offset(w.number("crossings"), s.crossings * width)
        place = Given(f, row)
        place[0], place[1] = f.real(float(event)), s.crossing_time
        w.copy(w.point, Buffer(f, row).part(2), shape.ny)
        s.crossings = s.crossings + 1
    with f.when(~s.has_room):
        if shape.method == RK4:
            _note_fault(w, event, UNRESOLVED, s.crossing_time)
        else:
            s.verdict = f.whole(RETRY)


def note_time(w: LoopWriter, event: int | Value, time: Value) -> None:
    """Count an event of a lane and store its time if there is room."""
    f, s, shape = w.f, w.s, w.shape
    place = s.index * (shape.num_events - shape.num_angles) + event
    counts = w.vector("event_counts", "i64")
    s.times_noted = counts[place]
    with f.when(s.times_noted < w.number("max_events")):
        w.vector("event_times")[place * w.number("max_events") + s.times_noted] = time
    counts[place] = s.times_noted + 1

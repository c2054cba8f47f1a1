"""The integration loop, printed and compiled, with samples and events from its steps.

**Events in an accepted step: where their values cross zero, and which crossing ends the run.**

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

**The integration loop, printed and compiled, with samples from the ends of several steps.**

**Samples of one run from the ends of several steps: the polynomial through eight of them.**

Of a motion without breaks the states and rates at eight consecutive ends of steps determine a
polynomial of degree 15, see `rules.py`. One evaluation of the rates, in the middle one of the
seven steps, estimates its error in that step and in the two beside it, and corrects most of it. A
second one, halfway, checks the estimate: where forces change fast, a polynomial with a large error
may have the right slope at one point. So the samples of three steps are recorded together, when
three more steps are done. Those of the first and the last steps of a run, and of steps with too
large an error, are recorded step by step, each with evaluations of its own.

The last nodes are stored in a ring buffer. A node is the point where a step starts:

    [time, is spoiled | y | end | K]

y is the state there, K the stages of the step from it, the first of them the rates at y, and end
that step's end before a projection. It is spoiled where partial steps within it have overwritten
its stages.

Points are given as fractions θ of the step with the evaluation, from its start.

**The integration loop: trajectories from a queue, one in each lane with its own steps.**

A lane takes a trajectory, integrates it to its end, stores the results, and takes the next one. In
every round each lane tries one step of its own size from its own time, and accepts or rejects it by
its own error estimate. No number of one lane ever enters another's, so a trajectory's bits depend
neither on its neighbors nor on the order or the number of workers. One run is a queue of one.

    rates      f(t, x, inputs, p)      → [ẋ; health]
    generator  f(t, y, base inputs, p) → [inputs; ż]; without it inputs are the base inputs
    update     f(t, y, base inputs, p) → new z, at update times
    project    f(t, x, inputs, p)      → [x after one Newton step; residual before it]
    events     f(t, x, inputs, p)      → one value per event, those that end the run first
    columns    f(t, x, inputs, p)      → one value per column

The state is y = [x; z]: x is the mechanism's, z belongs to the law that gives the inputs. Round by
round, and where it is written:

    steps      inputs, rates and health (singularity measures) at a time and state; the first step's
               size; a trial step and its error; its end, projected and checked; states between the
               ends of an accepted step; recording of samples
    crossings  events in it
    rules      constants; the size of the next step

Methods: DOP853 with the step sizes of `rules`, and RK4 with a fixed step and a cubic dense
output.

Traps
-----
- Times of stages never reach a knot at which the step ends: they stop one rounding before it, so
  that inputs written as "if t ≥ knot" are seen from the left within that step. The next step sees
  them from the right, hence its first stage is evaluated anew, one rounding after it.

References
----------
[HairerNorsettWanner1993] for the method and its first step, without equation numbers.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from ctypes import CFUNCTYPE, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noslip.engines import Buffer, ElementType, Given, Value, stored_machine_code
from noslip.simulation.loop import rules
from noslip.simulation.loop.rules import (
    ACCEPTED,
    BESIDE,
    CHECK_POINTS,
    CHECKS_PER_STEP,
    END_ROW,
    EPS,
    FINEST,
    FINEST_SAMPLED,
    GROWN,
    HALF_TURN,
    LOOKS,
    LOOKS_PER_CROSSING,
    MOST_LOOKS,
    NUM_NODES,
    PROJECTED_ROW,
    RETRY,
    RK4,
    SHORT,
    SPRINT,
    START_FRACTION,
    UNDEFINED,
    UNRESOLVED,
    VANISHED,
)
from noslip.simulation.loop.steps import (
    UNKNOWN,
    ask_roughness,
    begin_of_step,
    close_step,
    dense_enclosure,
    dense_state,
    each_column,
    enter_segments,
    evaluate,
    find_columns,
    find_inputs,
    find_state,
    first_step,
    first_unhealthy,
    just_below,
    next_row,
    next_sample,
    next_step,
    partial_step,
    prepare_dense,
    record,
    record_samples_here,
    record_within,
    scale,
    settle,
    state_within,
    table_set,
    take_fused_step,
    take_sides,
    try_fused_step,
    try_step,
    update_generator,
)
from noslip.simulation.loop.writer import GOES_ON, NEW, LoopWriter, Shape, once

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


# The polynomial is good enough where this share of its error before the correction (5) is within
# the tolerance. The correction leaves about a sixth of it. What the ends of steps are off
# themselves shows in the same number, at half its size or more, and is not corrected.
LEFT_SHARE = 0.7
# The estimate is less sure in the steps beside that of the evaluation and in the last of a run.
BESIDE_SHARE = 3.0 * LEFT_SHARE
# Halfway w' is small, and the slope's defect comes from a C that changes within the step. If C
# changes its sign there, the error is this share of the defect.
HALFWAY_SHARE = 0.25
# Neighboring steps of a motion without breaks differ by less than this factor.
UNEVEN = 2.0


# the ring buffer
def enter_node(w: LoopWriter, k: Value) -> None:
    """Select node k: w.y, w.end and w.K refer to it from here on."""
    place = (k & (NUM_NODES - 1)) * w.node_size
    w.node[0] = w.f.offset(w.nodes.at(0), place)


def make_node(w: LoopWriter, k: Value, t: Value) -> None:
    """Select node k and store its time."""
    enter_node(w, k)
    head = Given(w.f, w.node[0])
    head[0], head[1] = t, w.f.real(0.0)


def spoil(w: LoopWriter) -> None:
    """Mark the stages of the step from the node as overwritten."""
    Given(w.f, w.node[0])[1] = w.f.real(1.0)


def time_of(w: LoopWriter, k: Value) -> Value:
    """Time of node k."""
    return Given(w.f, w.nodes.at(0))[(k & (NUM_NODES - 1)) * w.node_size]


# the polynomial
def _stencil(w: LoopWriter, row: int, count: int = NUM_NODES) -> list[Value]:
    """Numbers of the stencil: node positions, c, ℓ', weights of values and of slopes."""
    table = Given(w.f, w.f.offset(w.stencil.at(0), NUM_NODES * row))
    return [table[j] for j in range(count)]


def _store(w: LoopWriter, row: int, values: list[Value]) -> None:
    """Numbers of the stencil; in the last row the share of the defect that corrects."""
    table = Given(w.f, w.f.offset(w.stencil.at(0), NUM_NODES * row))
    for j, value in enumerate(values):
        table[j] = value


def _add_nodes(w: LoopWriter, h: Value, a: list[Value], b: list[Value], out: Buffer) -> None:
    """Add Σ_j a_j (y_j − y) + h b_j ẏ_j to out; the weights a_j have the sum 1 or 0.

    What does not change from node to node stays as it is, to the last bit.
    """
    f, n = w.f, w.shape.ny
    slopes = [h * weight for weight in b]
    values = [Buffer(f, f.offset(w.nodes.at(0), j * w.node_size + 2)) for j in range(NUM_NODES)]
    rates = [Buffer(f, f.offset(v.at(0), 2 * n)) for v in values]
    for i in f.rows(n):
        total, here = out[i], w.y[i]
        for j in range(NUM_NODES):
            total = f.fma(slopes[j], rates[j][i], total)
            total = f.fma(a[j], values[j][i] - here, total)
        out[i] = total


@once()
def polynomial(w: LoopWriter, h: Value, theta: Value, out: Buffer) -> None:
    """State at θ of the step by the polynomial (1), corrected by (5) of `rules`, into out."""
    f = w.f
    x, c, d = (_stencil(w, row) for row in range(3))
    product, _ = rules.node_product(x, theta)
    share = product * _stencil(w, 5, 1)[0]
    a, b = rules.value_weights(x, c, d, theta)
    for i in f.rows(w.shape.ny):
        out[i] = f.fma(-share, w.F[i], w.y[i])
    _add_nodes(w, h, a, b, out)


def _is_large(w: LoopWriter, vector: Buffer, share: Value | float, following: Buffer) -> Value:
    """Whether a share of a vector misses the tolerance, in the norm in which steps must meet it."""
    f, s = w.f, w.s
    s.squares = f.real(0.0)
    for i in f.rows(w.shape.ny):
        off = vector[i] * share / scale(w, i, w.y[i], following[i])
        s.squares = s.squares + f.total(off * off)
    return ~(s.squares <= float(w.shape.ny))


@once(evaluations=1)
def slope_defect(w: LoopWriter, t: Value, h: Value, at: Value, out: Buffer) -> None:
    """Add to out the defect of h times the slope in the differential equation, at a point.

    It is h times the slope of the polynomial, less h times the rates at its state.
    """
    f = w.f
    row = w.K(PROJECTED_ROW)
    polynomial(w, h, at, w.point)
    evaluate(w, f.fma(at, h, t), w.point, row)
    for i in f.rows(w.shape.ny):
        out[i] = f.fma(-h, row[i], out[i])
    x, c, d = (_stencil(w, row) for row in range(3))
    a, b = rules.slope_weights(x, c, d, at)
    _add_nodes(w, h, a, b, out)


def polynomial_is_rough(w: LoopWriter, k: Value, t: Value, h: Value, is_beside: Value) -> Value:
    """Whether the polynomial through all nodes misses the tolerance in step k, or beside it.

    Leaves what `polynomial` needs. The error is estimated from the defects in the
    differential equation at two points.
    """
    f, s, n = w.f, w.s, w.shape.ny
    x = [(time_of(w, f.whole(j)) - t) / h for j in range(NUM_NODES)]
    c, d = rules.node_constants(x)
    for row, values in enumerate((x, c, d)):
        _store(w, row, values)
    at, steepest, largest = rules.check_point(x, f.where)
    _store(w, 5, [1.0 / steepest])
    following_node = ((k + 1) & (NUM_NODES - 1)) * w.node_size + 2
    following = Buffer(f, f.offset(w.nodes.at(0), following_node))
    is_last = k + NUM_NODES // 2 > s.steps + 1
    share = largest * f.where(is_last, BESIDE_SHARE, f.real(LEFT_SHARE))
    before, after = (time_of(w, k - 1) - t) / h, (time_of(w, k + 2) - t) / h
    beside = f.most(largest_between(w, before, f.real(0.0)), largest_between(w, f.real(1.0), after))
    share = f.where(is_beside, f.most(share, beside * BESIDE_SHARE), share)
    # the defect without a correction, then what the correction leaves of it halfway
    for i in f.rows(n):
        w.F[i] = f.real(0.0)
    slope_defect(w, t, h, at, w.F)
    s.is_rough = _is_large(w, w.F, share / steepest, following)
    with f.when(~s.is_rough):
        slope = rules.node_product(x, f.real(0.5))[1] / steepest
        for i in f.rows(n):
            w.stage[i] = -slope * w.F[i]
        slope_defect(w, t, h, f.real(0.5), w.stage)
        s.is_rough = _is_large(w, w.stage, HALFWAY_SHARE, following)
    return s.is_rough


@once()
def largest_between(w: LoopWriter, start: Value, end: Value) -> Value:
    """The largest w between two points, of the check points; the nodes are in the stencil."""
    x, most = _stencil(w, 0), w.f.real(0.0)
    for share in CHECK_POINTS:
        most = w.f.most(most, rules.node_product(x, start + share * (end - start))[0])
    return most


def _are_even(w: LoopWriter) -> Value:
    """Whether no step between the nodes is much shorter than its neighbor, as they are at a break.

    Over a break that no knot announces, one slope gives no estimate of a polynomial's error. The
    first steps of a run may grow, and the last one may be short.
    """
    f, s = w.f, w.s
    first = s.steps - (NUM_NODES - 1)
    times = [time_of(w, first + j) for j in range(NUM_NODES)]
    sizes = [b - a for a, b in itertools.pairwise(times)]
    are_even = f.truth(True)
    for j in range(1, NUM_NODES - 1):
        before, after = sizes[j - 1], sizes[j]
        grows = (after > UNEVEN * before) & (first + j > 2)
        shrinks = before > UNEVEN * after
        if j == NUM_NODES - 2:
            shrinks = shrinks & ~(times[-1] >= w.number("end_time"))
        are_even = are_even & ~(grows | shrinks)
    return are_even


# recording
def report_steps(w: LoopWriter, limit: Value) -> None:
    """Record the samples of all steps before a limit; s.verdict is an ending where that fails.

    Samples are states of the polynomial through all nodes; where its error is too large, or nodes
    are too few or too uneven, states of the step's own dense output. Where one is not finite or not
    projected, the start of its step is entered, else the newest node. A step that an event ends
    (s.pending) is the last of them: its state there is left in w.next.
    """
    f, s = w.f, w.s
    s.alone, s.until, s.verdict = f.whole(0), limit, f.whole(ACCEPTED)  # one by one before this
    with f.repeat() as loop:
        loop.leave(s.reported >= s.until)
        s.first = s.reported
        # three steps together, where the second is in the middle of the nodes
        s.is_three = (s.first >= s.alone) & (s.first + (1 + NUM_NODES // 2)).equals(s.steps)
        s.middle = f.where(s.is_three, s.first + 1, s.first)
        s.count = f.where(s.is_three, f.whole(3), 1)
        # the step that an event ends has no node after it
        s.is_event = s.first.equals(s.steps)
        enter_node(w, s.middle)
        s.node_time = time_of(w, s.middle)
        s.node_step = f.where(s.is_event, s.event_step, time_of(w, s.middle + 1) - s.node_time)
        s.is_multistep = f.truth(False)
        s.after_time = time_of(w, s.first + s.count)
        with f.when(~s.is_event & (next_sample(w) < s.after_time)):
            is_enough = (s.steps >= NUM_NODES - 1) & _are_even(w)
            with f.when(is_enough):
                rough = polynomial_is_rough(w, s.middle, s.node_time, s.node_step, s.is_three)
                s.is_multistep = ~rough
        s.is_vain = s.is_three & ~s.is_multistep & (next_sample(w) < s.after_time)
        s.alone = f.where(s.is_vain, s.first + 3, s.alone)
        with f.when(~s.is_vain):
            _report_some(w)
        loop.leave(~s.verdict.equals(ACCEPTED))
    with f.when(s.verdict.equals(ACCEPTED)):
        enter_node(w, s.steps)


def _report_some(w: LoopWriter) -> None:
    """Record samples of s.count steps from s.first on, by the polynomial or each alone."""
    f, s = w.f, w.s
    s.k = s.first
    with f.repeat() as loop:
        loop.leave(s.k >= s.first + s.count)
        s.step_end = f.where(s.is_event, s.event_end, time_of(w, s.k + 1))
        with f.when((next_sample(w) < s.step_end) | s.is_event):
            with f.when(s.is_multistep), f.repeat() as samples:
                time = next_sample(w)
                samples.leave(time >= s.step_end)
                polynomial(w, s.node_step, (time - s.node_time) / s.node_step, w.point)
                s.sample_time = time
                corrections = settle(w, time, w.point)
                s.verdict = f.where(corrections < 0, f.whole(0) - corrections, s.verdict)
                samples.leave(~s.verdict.equals(ACCEPTED))
                record(w, s.sample_time, w.point)
            with f.when(~s.is_multistep):
                _report_itself(w)
        # where that fails, the start of its step is entered
        with f.when(~s.verdict.equals(ACCEPTED)):
            enter_node(w, s.k)
        loop.leave(~s.verdict.equals(ACCEPTED))
        with f.when(~s.is_event):
            enter_node(w, s.k + 1)
            with f.repeat() as here:
                here.leave(next_sample(w) > s.step_end)
                find_inputs(w, s.step_end, w.y)
                record(w, s.step_end, w.y)
            enter_node(w, s.middle)
        s.reported, s.k = s.reported + 1, s.k + 1


def _report_itself(w: LoopWriter) -> None:
    """Record the samples of the node's step by its own dense output, or by partial steps."""
    f, s, shape = w.f, w.s, w.shape
    t, h = s.node_time, s.node_step
    last = f.where(s.is_event, s.event_last, s.step_end)
    # known already for a step that an event ends: it is spoiled where dense output is rough
    is_spoiled = ~Given(f, w.node[0])[1].equals(0.0)
    s.rough = f.where(is_spoiled, f.whole(1), f.where(s.is_event, f.whole(0), UNKNOWN))
    with f.when(~s.rough.equals(1)):
        if shape.has_projection and not shape.num_events:
            evaluate(w, last, w.end, w.K(END_ROW))
        is_dense = prepare_dense(w, t, h, last)
        s.rough = f.where(is_dense, s.rough, 1)
    record_within(w, t, h, s.step_end)
    if shape.num_endings:
        with f.when(s.is_event & s.verdict.equals(ACCEPTED)):
            find_state(w, t, h, s.event_theta, s.step_end)
            with f.when(s.verdict.equals(ACCEPTED)):
                w.copy(w.point, w.next, shape.ny)
                record(w, s.step_end, w.next)


def print_loop(shape: Shape) -> str:
    """LLVM text of ``void integrate(ptr setup, ptr work)``.

    Of a GPU's thread, ``void integrate(ptr memory, i64 thread, i64 threads)``: it takes
    trajectories until there are none left, or pauses after so many rounds.
    """
    w = LoopWriter(shape)
    f, s = w.f, w.s
    is_thread = shape.target.is_thread
    can_pause = is_thread or not shape.is_batch
    s.is_new = w.pause_memory[0].equals(0) if can_pause else f.truth(True)
    with f.when(s.is_new):
        s.code, s.index = f.whole(NEW), _take(w)
    if can_pause:
        with f.when(~s.is_new):
            w.restore()
            if shape.is_multistep:
                enter_node(w, s.steps)
            if is_thread:
                _load_parameters(w)
                with f.when(~s.is_first):
                    follow_angles(w)
    if is_thread:
        s.rounds = f.whole(0)
    with f.repeat() as rounds:
        rounds.leave(s.index < 0)
        with f.when(s.code.equals(NEW)):
            _begin(w)
        with f.when(s.code.equals(GOES_ON)):
            _enter_step(w)
        if shape.is_multistep:
            _report(w)
        with f.when(s.code >= 0):
            _finish(w)
        if not is_thread:
            rounds.leave(s.code.equals(rules.PAUSED))
        with f.when(s.code.equals(GOES_ON)):
            _step(w)
        if is_thread:
            s.rounds = s.rounds + 1
            rounds.leave(s.rounds >= w.number("pause"))
    if is_thread:
        w.save(0)
        with f.when(s.index >= 0):
            f.take(w.number("num_paused"))
            w.save(1)
    elif can_pause:
        w.save(0)
        with f.when((s.index >= 0) & s.code.equals(rules.PAUSED)):
            # Python reads what was recorded before the run continues
            s.code, s.crossings, s.recorded = f.whole(GOES_ON), f.whole(0), f.whole(0)
            w.save(1)
    body = f.body("integrate", ("setup", "work"))
    if is_thread:
        body = f.kernel()
    text = [body, *w.subroutines.values(), *sorted(f.declared)]
    return "\n".join(text)


def print_period(shape: Shape, name: str, *, suffix: str = "", is_hot: bool) -> str:
    """LLVM text of ``void name(ptr t, ptr x, ptr u, ptr p, ptr counts)``: a period in a thread.

    From a time and state under held inputs so many steps further, or as far as they go. Counts are
    the steps to take; left are those that were taken, the ending, and its health value.
    """
    w = LoopWriter(shape)
    w.suffix, w.is_hot, w.may_be_hot = suffix, is_hot, is_hot
    f, s = w.f, w.s
    t, x, u = (Buffer(f, Value(f, f"%{k}", ElementType.PLACE, 1)) for k in "txu")
    counts = Buffer(f, Value(f, "%counts", ElementType.PLACE, 1), ElementType.WHOLE)
    h = f.real(shape.step)
    s.t, s.h, s.limit = t[0], h, counts[0]
    w.give(max_step=h, max_steps=s.limit)
    for count in ("steps", "rejections", "evaluations", "filled"):
        setattr(s, count, f.whole(0))
    _clear(w)
    w.copy(x, w.y, shape.ny)
    w.copy(u, w.base, shape.num_base)
    with f.repeat() as rounds:
        _enter_step(w)
        rounds.leave(s.code >= 0)
        _step(w)
        rounds.leave(s.code >= 0)
    t[0], counts[0], counts[1], counts[2] = s.t, s.steps, s.code, s.which
    w.copy(w.y, x, shape.ny)
    body = f.body(name, ("t", "x", "u", "p", "counts"))
    text = body.replace("define void", "define internal void", 1)
    return "\n".join([text, *w.subroutines.values(), *sorted(f.declared)])


def _take(w: LoopWriter) -> Value:
    """The next trajectory of the queue, or −1 if there is none."""
    f = w.f
    place = f.take(w.number("counter"))
    w.s.taken = f.whole(-1)
    is_left = place < w.number("queue_length")
    if w.shape.is_batch:
        # those that were not begun when the batch was cancelled are left alone
        is_left = is_left & f.load(w.number("status")).equals(0.0)
    with f.when(is_left):
        w.s.taken = w.vector("queue", ElementType.WHOLE)[place]
    return w.s.taken


def _begin(w: LoopWriter) -> None:
    """Load a trajectory into its lane."""
    f, s, shape = w.f, w.s, w.shape
    n, index = shape.ny, s.index
    s.t, s.h = w.vector("times")[index], w.vector("steps_left")[index]
    for name in ("steps", "rejections", "evaluations", "filled"):
        setattr(s, name, w.vector(f"num_{name}", ElementType.WHOLE)[index])
    _clear(w)
    if shape.is_multistep:
        make_node(w, f.whole(0), s.t)
    states = w.vector("states")
    for k in f.each(n):
        w.y[k] = states[index * n + k]
    if shape.is_batch:
        _load_parameters(w)
    if shape.num_tables:
        first = w.vector("first_segments", ElementType.WHOLE)
        for k in range(shape.num_tables):
            w.segments[k] = first[table_set(w) * shape.num_tables + k]
    if shape.has_knots:
        offsets = w.vector("knot_offsets", ElementType.WHOLE)
        s.knot, s.knot_end = offsets[table_set(w)], offsets[table_set(w) + 1]
    else:
        s.knot = s.knot_end = f.whole(0)


def _clear(w: LoopWriter) -> None:
    """What a lane knows of its trajectory before the first step."""
    f, s = w.f, w.s
    s.begin, s.code = s.t, f.whole(GOES_ON)
    s.error, s.density, s.mean = f.real(0.0), f.real(0.0), f.real(0.0)
    s.smallest, s.stop = f.real(0.0), f.real(0.0)
    for name in ("updates", "reported", "crossings", "recorded", "pending", "looks"):
        setattr(s, name, f.whole(0))
    for name in ("event_theta", "event_step", "event_last", "event_end"):
        setattr(s, name, f.real(0.0))
    s.which, s.unhealthy = f.whole(-1), f.whole(-1)
    s.may_grow = s.is_stale = s.is_first = s.is_finite = f.truth(True)


def _load_parameters(w: LoopWriter) -> None:
    """Parameters and base inputs of a trajectory into its lane."""
    f, s, shape = w.f, w.s, w.shape
    given, first = w.vector("parameters"), s.index * w.number("parameter_stride")
    if shape.target.is_thread:
        for own in shape.varying:
            w.set_parameter(own, given[first + own])
    else:
        for k in f.each(shape.num_parameters - shape.num_angles):
            w.own_parameters[k] = given[first + k]
    base, first = w.vector("base"), s.index * w.number("base_stride")
    for k in f.each(shape.num_base):
        w.base[k] = base[first + k]
    angles = w.vector("angles") if shape.num_angles else None
    for angle in range(shape.num_angles):
        assert angles is not None
        place = shape.num_parameters - shape.num_angles + angle
        w.set_parameter(place, angles[s.index * shape.num_angles + angle])


def _enter_step(w: LoopWriter) -> None:
    """Prepare a step: where it must stop, rates at knots, samples at its start, endings."""
    f, s, shape = w.f, w.s, w.shape
    if not shape.is_period:
        end = w.number("end_time")
        # time resolves no steps below this
        s.smallest = 10.0 * EPS * f.most(f.abs(s.t), 1e-8 * (end - s.begin))
        s.stop = f.widen(end, f.lanes)
    if shape.has_knots:
        knots = w.vector("knots")
        with f.repeat() as loop:
            loop.leave(s.knot >= s.knot_end)
            loop.leave(knots[s.knot] > s.t + s.smallest)
            s.knot = s.knot + 1
        with f.when(s.knot < s.knot_end):
            s.stop = f.least(end, knots[s.knot])
    # at the start and at knots the inputs may jump
    with f.when(s.is_stale):
        if shape.num_tables:
            enter_segments(w)
        if shape.has_update:
            update_generator(w)
        if not (shape.is_fused and shape.method == RK4):
            health = evaluate(w, begin_of_step(w), w.y, w.K(1))
            w.copy(w.K(1), w.K(0), shape.ny)
            with f.when(s.is_first):
                take_sides(w, health)
            s.is_stale, s.is_finite = f.truth(False), f.all_finite(w.K(0), shape.ny)
            s.unhealthy = first_unhealthy(w, health)
            if shape.method != RK4:
                with f.when(s.is_finite & (s.unhealthy < 0) & (s.h <= 0.0)):
                    s.h = first_step(w, f.least(w.number("max_step"), s.stop - s.t))
    if shape.has_samples:
        if shape.is_multistep:
            with f.when(s.is_first):
                record_samples_here(w)
        else:
            record_samples_here(w)
    s.code = _ending(w)


def _ending(w: LoopWriter) -> Value:
    """Code to end with before the next step, the most specific one; GOES_ON if there is none."""
    f, s = w.f, w.s
    code = f.whole(GOES_ON)
    if not w.shape.is_batch:
        pause = w.number("pause")
        is_due = (pause > 0) & (pause <= s.steps)
        if w.shape.num_crossings:
            is_due = is_due | (s.crossings > w.number("most_crossings"))
        if w.shape.records_steps:
            is_due = is_due | (s.recorded >= w.number("most_recorded"))
        code = f.where(is_due, rules.PAUSED, code)
    if not w.shape.is_period:
        # a step that short is tried once, unless a longer one was tried in vain
        is_stuck = ((s.h < s.smallest) & ~s.may_grow) | (s.smallest > w.number("max_step"))
        stuck = f.where(f.is_finite(s.error), f.whole(rules.STEP_TOO_SMALL), rules.NON_FINITE)
        code = f.where(is_stuck, stuck, code)
    code = f.where(s.steps >= w.number("max_steps"), rules.MAX_STEPS, code)
    if not (w.shape.is_period and f.target.is_thread):
        status = f.load(w.number("status"))
        code = f.where(~status.equals(0.0), rules.CANCELLED, code)
    if not w.shape.is_period:
        code = f.where(s.t >= w.number("end_time"), rules.FINISHED, code)
    code = f.where(s.is_finite, code, rules.NON_FINITE)
    is_singular = s.unhealthy >= 0
    s.which = f.where(is_singular, s.unhealthy, s.which)
    return f.where(is_singular, rules.SINGULAR, code)


def _report(w: LoopWriter) -> None:
    """Record samples of earlier steps by multistep output, see `loop.py`."""
    f, s = w.f, w.s
    is_ready = (s.steps >= NUM_NODES - 1) & (s.steps - s.reported > NUM_NODES // 2)
    is_ready = is_ready & ~s.is_first
    is_over = (s.code >= 0) & ~s.code.equals(rules.PAUSED)
    is_event = s.pending > 0
    limit = f.where(is_ready, s.steps + (2 - NUM_NODES // 2), f.whole(0))
    limit = f.where(is_over, s.steps, limit)
    s.report_limit = f.where(is_event, s.steps + 1, limit)
    with f.when(s.reported < s.report_limit):
        report_steps(w, s.report_limit)
        is_lost = ~s.verdict.equals(ACCEPTED)
        # where that fails, the run ends before that step
        with f.when(is_lost):
            s.code, s.t = s.verdict, Given(f, w.node[0])[0]
            s.pending = f.whole(0)
    if w.shape.num_endings:
        with f.when(s.pending > 0):
            make_node(w, s.steps + 1, s.event_end)
            w.copy(w.next, w.y, w.shape.ny)
            s.steps, s.t = s.steps + 1, s.event_end
            s.which, s.code = s.pending - 1, f.whole(rules.EVENT)


def _step(w: LoopWriter) -> None:
    """Try a step; accept it, or try a shorter one in the next round."""
    f, s, shape = w.f, w.s, w.shape
    if shape.is_fused and shape.method == RK4:
        _take_steps(w)
        return
    _aim(w)
    if shape.is_fused:
        s.event, s.t_end = f.whole(-1), s.t_new
        try_fused_step(w)
        _advance(w)
        return
    try_step(w)
    s.verdict, s.event, s.theta = f.whole(RETRY), f.whole(-1), f.real(1.0)
    s.t_end = s.t_new
    s.rough = f.whole(UNKNOWN)
    with f.when(s.error <= 1.0):
        is_dense = f.truth(bool(shape.num_events))
        if shape.has_samples and not shape.is_multistep and not shape.num_events:
            is_dense = next_sample(w) < s.t_new
        s.is_dense = is_dense
        close_step(w, s.is_dense)
        if shape.num_events or (shape.has_samples and not shape.is_multistep):
            with f.when(s.is_dense & s.verdict.equals(ACCEPTED)):
                _find_events_and_samples(w)
    _advance(w)


def _take_steps(w: LoopWriter) -> None:
    """Several steps of RK4, until one lands on a stop, or something is to be looked at."""
    f, s = w.f, w.s
    s.event, s.error, s.sprinted = f.whole(-1), f.real(0.0), f.whole(0)
    s.verdict = f.whole(ACCEPTED)
    with f.repeat() as sprint:
        _aim(w)
        take_fused_step(w)
        sprint.leave(~s.verdict.equals(ACCEPTED))
        s.t_end = s.t_new
        _accept(w)
        s.sprinted = s.sprinted + 1
        is_over = s.lands | (s.unhealthy >= 0) | (s.steps >= w.number("max_steps"))
        sprint.leave(is_over if w.shape.is_period else is_over | (s.sprinted >= SPRINT))
    s.code = f.where(s.verdict >= 0, s.verdict, s.code)
    with f.when(s.verdict.equals(RETRY)):
        s.rejections, s.code = s.rejections + 1, f.whole(rules.NON_FINITE)


def _aim(w: LoopWriter) -> None:
    """Choose the end of the step: the next stop if that is near. Stages see no jump there."""
    f, s = w.f, w.s
    if w.shape.is_period:
        # so many steps, not until a time
        s.h_try, s.lands = f.widen(w.number("max_step"), f.lanes), f.truth(False)
        s.t_new = s.t + s.h_try
        s.last = s.t_new
        return
    end, max_step = w.number("end_time"), w.number("max_step")
    s.h = f.least(f.most(s.h, s.smallest), max_step)
    s.lands = s.stop - s.t <= f.least(1.01 * s.h, max_step * (1.0 + 1e-9))
    s.t_new = f.where(s.lands, s.stop, s.t + s.h)
    s.last = s.t_new
    if w.shape.has_knots:
        s.last = f.where(s.lands & (s.stop < end), just_below(w, s.t_new), s.t_new)
    s.h_try = s.t_new - s.t


def _find_events_and_samples(w: LoopWriter) -> None:
    """Events and samples of an accepted step, and its state where an event ends the run."""
    f, s, shape = w.f, w.s, w.shape
    is_well = prepare_dense(w, s.t, s.h_try, s.last)
    s.verdict = f.where(is_well, s.verdict, RETRY)
    with f.when(s.verdict.equals(ACCEPTED)):
        if shape.num_events:
            find_events(w)
            is_ended = s.event >= 0
            reached = f.least(f.fma(s.theta, s.h_try, s.t), s.t_new)
            s.t_end = f.where(is_ended, reached, s.t_new)
        if shape.is_multistep:
            with f.when(s.rough.equals(1)):
                spoil(w)
            return
        if shape.has_samples:
            with f.when(s.verdict.equals(ACCEPTED)):
                record_within(w, s.t, s.h_try, s.t_end)
        if shape.num_endings:
            with f.when((s.event >= 0) & s.verdict.equals(ACCEPTED)):
                find_state(w, s.t, s.h_try, s.theta, s.t_end)
                with f.when(s.verdict.equals(ACCEPTED)):
                    w.copy(w.point, w.next, shape.ny)
                    if shape.is_batch:
                        note_time(w, s.event, s.t_end)
                    else:
                        record(w, s.t_end, w.next)


def _advance(w: LoopWriter) -> None:
    """Advance to the end of an accepted step; choose the next step size."""
    f, s, shape = w.f, w.s, w.shape
    is_lost, is_taken = s.verdict.equals(RETRY), s.verdict.equals(ACCEPTED)
    s.code = f.where(s.verdict >= 0, s.verdict, s.code)
    if shape.is_multistep and shape.num_endings:
        # samples of the steps before it are recorded first
        with f.when(is_taken & (s.event >= 0)):
            s.pending, s.event_theta = s.event + 1, s.theta
            s.event_step, s.event_last, s.event_end = s.h_try, s.last, s.t_end
        is_taken = is_taken & (s.event < 0)
    s.is_taken = is_taken
    with f.when(s.is_taken):
        _accept(w)
    with f.when(is_lost):
        s.rejections = s.rejections + 1
        if shape.method == RK4:
            s.code = f.whole(rules.NON_FINITE)
        else:
            # a step that failed after its error was accepted has no usable error estimate
            s.error = f.where(s.error <= 1.0, np.inf, s.error)
            s.h = next_step(w, s.error, f.truth(False))
            s.may_grow = f.truth(False)


def _accept(w: LoopWriter) -> None:
    """Make the end of the step the new state."""
    f, s, shape = w.f, w.s, w.shape
    n = shape.ny
    s.t, s.steps, s.is_first = s.t_end, s.steps + 1, f.truth(False)
    if shape.is_multistep:
        rates = next_row(w)
        make_node(w, s.steps, s.t)
        w.copy(rates, w.K(0), n)
    elif not (shape.is_fused and shape.method == RK4):
        w.copy(next_row(w), w.K(0), n)
    w.copy(w.next, w.y, n)
    if not shape.is_batch:
        status = w.vector("status")
        status[1], status[2] = s.t, f.to_real(s.steps)
    if shape.records_steps:
        _record_step(w)
    if shape.num_endings and not shape.is_multistep:
        with f.when(s.event >= 0):
            s.code, s.which = f.whole(rules.EVENT), s.event
    if shape.method != RK4:
        is_known = ~s.lands | (s.h_try > SHORT * s.h)
        with f.when(is_known & (s.event < 0)):
            following = next_step(w, s.error, s.may_grow)
            s.h = f.where(s.lands, f.most(s.h, following), following)
    s.may_grow = f.truth(True)
    s.is_stale = f.truth(False)
    if not shape.is_period:
        s.is_stale = s.lands & (s.t < w.number("end_time"))


def _record_step(w: LoopWriter) -> None:
    """Record the end of a step."""
    f, s, n = w.f, w.s, w.shape.ny
    w.vector("step_times")[s.recorded] = s.t
    w.copy(w.y, Buffer(f, f.offset(w.number("step_states"), s.recorded * n)), n)
    s.recorded = s.recorded + 1


def _finish(w: LoopWriter) -> None:
    """Store the results of a trajectory; take the next one."""
    f, s, shape = w.f, w.s, w.shape
    n, index = shape.ny, s.index
    w.vector("codes", ElementType.WHOLE)[index], w.vector("which", ElementType.WHOLE)[index] = (
        s.code,
        s.which,
    )
    w.vector("times")[index] = s.t
    w.vector("steps_left")[index] = f.least(s.h, w.number("max_step"))
    for name in ("steps", "rejections", "evaluations", "filled"):
        w.vector(f"num_{name}", ElementType.WHOLE)[index] = getattr(s, name)
    states = w.vector("states")
    for k in f.each(n):
        states[index * n + k] = w.y[k]
    if shape.is_batch:
        find_inputs(w, s.t, w.y)
        find_columns(w, s.t, w.y)
        final = w.vector("final")
        for k in each_column(w):
            final[index * w.number("num_columns") + k] = w.values[k]
        for k in range(shape.num_angles):
            place = shape.num_parameters - shape.num_angles + k
            w.vector("angles")[index * shape.num_angles + k] = w.own_parameters[place]
        s.code, s.index = f.whole(NEW), _take(w)
        return
    w.vector("num_crossings", ElementType.WHOLE)[0] = s.crossings
    if shape.records_steps:
        w.vector("num_recorded", ElementType.WHOLE)[0] = s.recorded
    with f.when(~s.code.equals(rules.PAUSED)):
        s.index = f.whole(-1)


_CALL = CFUNCTYPE(None, c_void_p, c_void_p)
_PACKAGE = Path(__file__).parent.parent.parent
#: Files that the texts of loops are made from.
_SOURCES = ("engines/ir_writer.py", "simulation/loop")


class LoopCode(NamedTuple):
    """A compiled loop: a function of the addresses of a record and of work, and words of work."""

    integrate: Any
    work_size: int
    engine: Any


@functools.lru_cache(maxsize=256)
def loop_code(shape: Shape) -> LoopCode:
    """The loop of a shape: loaded, or printed and compiled where that was never done before."""
    name = f"loop {shape} {sources_digest()}"
    engine = stored_machine_code(functools.partial(print_loop, shape), name=name)
    address = engine.get_function_address("integrate")
    return LoopCode(_CALL(address), LoopWriter(shape).f.work_size, engine)


@functools.cache
def sources_digest() -> str:
    """Digest of all source files that the texts of loops are made from."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        path = _PACKAGE / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()

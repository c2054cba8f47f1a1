"""The loop of one run: a whole integration in compiled code, from addresses of compiled functions.

Every function it calls has the signature

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

and is given as an integer address, so that the loop is compiled once for all models and kept on
disk. The state is y = [x; z]: x is the mechanism's, z belongs to the generator of inputs.

    rates      f(t, x, inputs, p)          → [ẋ; health]
    generator  f(t, y, base inputs, p_gen) → [inputs; ż]; without it inputs are the base inputs
    project    f(t, x, inputs, p)          → [x after one Newton step; residual before it]
    events     f(t, x, inputs, p_ev)       → one value per event, those that end the run first

Round by round, and where it is written:

    setup       the record of all that the loop is told and leaves
    rates       inputs, rates and health at a time and state
    stages      states within a trial step, and the rates there
    steps       the first step's size; a trial step and its error; its end, projected and checked
    projection  a state brought back on the constraints
    dense       states between the ends of an accepted step
    events      crossings in it
    samples     the record of them
    report      what a step reports: samples, and the event that ends the run
    nodes       the ends of the last steps
    across      samples from several of them

Methods: DOP853 with its authors' step control, and RK4 with a fixed step and a cubic dense output.

Traps
-----
- Vectors are known by the addresses in a ``SETUP``; nothing here owns or checks them.
- Times of stages never reach a knot at which the step ends: they stop one rounding before it, so
  that inputs written as "if t ≥ knot" are seen from the left within that step. The next step sees
  them from the right, hence its first stage is evaluated anew.

References
----------
[HairerNorsettWanner1993] for the method, its step control and first step; [Chandrupatla1997] for
the roots of events. Both without equation numbers.
"""

from __future__ import annotations

import math

import numpy as np

from noslip.simulation.hermite import NUM_NODES
from noslip.simulation.native import FUSED, cached, call, copy, fused, reals
from noslip.simulation.rules import (
    ACCEPTED,
    CANCELLED,
    END_ROW,
    EPS,
    EVENT,
    FINISHED,
    MAX_STEPS,
    NON_FINITE,
    PAUSED,
    PROJECTION_FAILED,
    RETRY,
    RK4,
    SINGULAR,
    STEP_TOO_SMALL,
)
from noslip.simulation.single.nodes import make_node
from noslip.simulation.single.rates import (
    all_finite,
    enter_segments,
    evaluate,
    first_unhealthy,
    rates_at,
    take_sides,
    update_generator,
)
from noslip.simulation.single.samples import is_wanted, record_samples_at
from noslip.simulation.single.steps import close_step, first_step, next_step, try_step
from noslip.simulation.step_sizes import SHORT


@fused
def _ending(s, t, unhealthy, is_finite, is_stuck, error):
    """Reason to end before the next step, the most telling first; accepted if there is none."""
    if unhealthy >= 0:
        s.index = unhealthy
        return SINGULAR
    if not is_finite:
        return NON_FINITE
    if t >= s.end_time:
        return FINISHED
    if reals(s.status)[0] != 0.0:
        return CANCELLED
    if s.steps >= s.max_steps:
        return MAX_STEPS
    if is_stuck:
        return STEP_TOO_SMALL if math.isfinite(error) else NON_FINITE
    if 0 < s.pause <= s.steps or s.num_crossings > s.most_crossings:
        return PAUSED
    return ACCEPTED


@fused
def _next_stop(s, t, knot):
    """First knot after a time, and when the next step ends at the latest."""
    knots = reals(s.knots)
    while knot < s.num_knots and knots[knot] <= t:
        knot += 1
    return knot, min(s.end_time, knots[knot]) if knot < s.num_knots else s.end_time


@fused
def _aim(s, t, h, max_step, stop):
    """Where a step from t ends, the latest time of its stages, and whether it ends on the stop.

    It does if that is near. Stages do not see inputs that jump there.
    """
    lands = stop - t <= min(1.01 * h, max_step * (1.0 + 1e-9))
    t_new = stop if lands else t + h
    return t_new, np.nextafter(t_new, t) if lands and stop < s.end_time else t_new, lands


@fused
def _report_step(s, t, h, t_new, last):
    """Let a step report: a verdict, and where it now ends."""
    s.step_time, s.step_size, s.step_end, s.step_last = t, h, t_new, last
    call(s.report_step, (s.here,))
    return s.code, s.step_end


@fused
def _report_steps(s, limit):
    """Let all steps before a limit report that did not yet: a verdict."""
    s.limit = limit
    call(s.report_steps, (s.here,))
    return s.code


@cached(FUSED)
def integrate(setup):
    """Integrate from the setup's time to its end time, or to the first reason to end earlier.

    The setup's ``time``, ``state`` and ``step`` are left where the run ended, so that a second
    call, with the same or other functions, continues it. Inputs recorded at a knot are those that
    hold from it on, but at the end of the run those that held before it.

    Parameters
    ----------
    setup : (1,) array of SETUP
        The caller keeps alive the vectors and functions it points to.
    """
    s = setup[0]
    t, end_time, h, error = s.time, s.end_time, s.step, 0.0
    max_step = s.step if s.method == RK4 else s.max_step
    if s.is_paused == 0:
        s.index, s.steps, s.rejections, s.evaluations, s.filled = -1, 0, 0, 0, 0
        s.begin, s.knot, s.updates, s.may_grow, s.num_crossings, s.reported = t, 0, 0, 1, 0, 0
        s.density, s.mean_density = 0.0, 0.0
        make_node(s, 0, t)
        copy(s.state, s.y, s.ny)
    is_smooth = s.num_nodes > 1
    is_stale, is_finite, unhealthy = s.is_paused == 0, True, -1
    s.is_paused = 0
    knot, updates, may_grow = s.knot, s.updates, s.may_grow != 0
    while True:
        # Time resolves no steps below this.
        smallest = 10.0 * EPS * max(abs(t), 1e-8 * (end_time - s.begin))
        knot, stop = _next_stop(s, t + smallest, knot)
        # At the start and at knots the inputs may jump.
        if is_stale:
            enter_segments(s, t + smallest)
            updates = update_generator(s, t + smallest, updates)
            evaluate(s, t, s.y, s.K)
            if s.steps == 0:
                take_sides(s)
            is_stale, is_finite, unhealthy = False, all_finite(s.K, s.ny), first_unhealthy(s, 1.0)
            if is_finite and unhealthy < 0 and h <= 0.0:
                h = first_step(s, t, min(max_step, stop - t))
        if s.steps == 0 or not is_smooth:
            record_samples_at(s, t)
        # a step that short is tried once, unless a longer one was tried in vain
        is_stuck = (h < smallest and not may_grow) or max_step < smallest
        code = _ending(s, t, unhealthy, is_finite, is_stuck, error)
        if code != ACCEPTED:
            break

        # Try a step; if its error is small enough, look at its end.
        h = min(max(h, smallest), max_step)
        t_new, last, lands = _aim(s, t, h, max_step, stop)
        h_try = t_new - t
        error = try_step(s, t, h_try, last)
        code, row = RETRY, END_ROW
        if error <= 1.0:
            is_dense = s.events != 0 or (not is_smooth and is_wanted(s, t_new))
            code, row, unhealthy = close_step(s, t, h_try, last, is_dense)
            if code == ACCEPTED and is_dense:
                code, t_new = _report_step(s, t, h_try, t_new, last)
            error = np.inf if code == RETRY else error
        # Or try a shorter one.
        if code == RETRY:
            s.rejections += 1
            if s.method == RK4:
                code = NON_FINITE
                break
            may_grow = False
            h = next_step(s, h_try, error, may_grow)
            continue

        # Make its end the new state.
        if code == PROJECTION_FAILED or code == NON_FINITE:
            break
        if code == SINGULAR:
            s.index = unhealthy
            break
        t, s.steps, rates = t_new, s.steps + 1, rates_at(s, row)
        make_node(s, s.steps, t)
        copy(s.next, s.y, s.ny)
        copy(rates, s.K, s.ny)
        reals(s.status)[1], reals(s.status)[2] = t, s.steps
        if code == EVENT:
            break
        if is_smooth and s.steps >= NUM_NODES - 1 and s.steps - s.reported > NUM_NODES // 2:
            code = _report_steps(s, s.steps + 2 - NUM_NODES // 2)
            if code != ACCEPTED:
                break
        if not lands:
            h = next_step(s, h_try, error, may_grow)
        elif h_try > SHORT * h:
            h = max(h, next_step(s, h_try, error, may_grow))
        may_grow, is_stale = True, lands and t < end_time
    # What is left to report; where that fails, the run ends before that step.
    if is_smooth and code != PAUSED and code != EVENT and _report_steps(s, s.steps) != ACCEPTED:
        code, t = s.code, reals(s.node)[0]
    copy(s.y, s.state, s.ny)
    if code == PAUSED:
        s.is_paused, s.knot, s.updates, s.may_grow = 1, knot, updates, 1 if may_grow else 0
    s.code, s.time, s.step = code, t, min(h, max_step)

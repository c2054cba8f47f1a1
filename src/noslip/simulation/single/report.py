"""What an accepted step reports by itself: samples, and the event that ends the run."""

from __future__ import annotations

from noslip.simulation.native import call, copy, fused, reals, unit
from noslip.simulation.rules import ACCEPTED, EVENT, NON_FINITE, PROJECTION_FAILED, RETRY
from noslip.simulation.single.dense import dense_is_rough, prepare_dense, state_within
from noslip.simulation.single.nodes import is_spoiled, spoil
from noslip.simulation.single.projection import settle
from noslip.simulation.single.rates import all_finite
from noslip.simulation.single.samples import is_wanted, record
from noslip.simulation.single.setup import setup_at


@fused
def _find_state(s, t, h, theta, time):
    """State at θ of a step, which is at a time, into s.point: a verdict."""
    state_within(s, t, h, theta, s.rough == 1)
    if not all_finite(s.point, s.ny):
        return NON_FINITE
    return ACCEPTED if settle(s, time, s.point) else PROJECTION_FAILED


@fused
def _record_within(s, t, h, t_end):
    """Record the samples of a step before a time: a verdict."""
    if s.rough < 0 and is_wanted(s, t_end):
        s.rough = 1 if dense_is_rough(s, t, h) else 0
    while is_wanted(s, t_end):
        time = reals(s.sample_times)[s.filled]
        code = _find_state(s, t, h, (time - t) / h, time)
        if code != ACCEPTED:
            return code
        record(s, time, s.point)
    return ACCEPTED


@fused
def _report_earlier(s, t, h, last):
    """Let all steps before this one report, and prepare this one anew: a verdict."""
    rough = s.rough
    s.limit = s.steps
    call(s.report_steps, (s.here,))
    s.rough = rough
    if s.code == ACCEPTED and rough != 1:
        prepare_dense(s, t, h, last)
    return s.code


@fused
def _report(s, t, h, t_new, last):
    """Look for an event in a step and record the samples before it or the step's end.

    Returns a verdict and where the step now ends: accepted, EVENT, an ending where a state is not
    finite or not projected, or RETRY where dense output is not finite. The state of an event is
    left in s.next. Where several steps give the samples, they are recorded only if the step ends
    the run, or is looked at again.
    """
    s.event, s.theta, s.rough = -1, 1.0, 1 if is_spoiled(s) else -1
    if s.rough < 0 and not prepare_dense(s, t, h, last):
        if s.is_again == 0:
            return RETRY, t_new
        s.rough = 1
    if s.events != 0 and s.is_again == 0:
        call(s.find_event, (s.here,))
        if s.is_settled == 0:
            return PROJECTION_FAILED, t
    event, theta = s.event, s.theta
    if s.num_nodes > 1 and s.is_again == 0:
        if event < 0:
            if s.rough == 1:
                spoil(s)
            return ACCEPTED, t_new
        code = _report_earlier(s, t, h, last)
        if code != ACCEPTED:
            return code, t
    t_end = t_new if event < 0 else min(t + theta * h, t_new)
    code = _record_within(s, t, h, t_end)
    if code == ACCEPTED and event < 0:
        return ACCEPTED, t_new
    if code == ACCEPTED:
        code = _find_state(s, t, h, theta, t_end)
    if code != ACCEPTED:
        return code, t
    copy(s.point, s.next, s.ny)
    record(s, t_end, s.next)
    s.index = event
    return EVENT, t_end


@unit
def report_step(here):
    """Let the step of a setup report; leaves the verdict in code, and where it ends in step_end."""
    s = setup_at(here)
    s.code, s.step_end = _report(s, s.step_time, s.step_size, s.step_end, s.step_last)

"""What an accepted step reports by itself: samples, and the event that ends the run."""

from __future__ import annotations

from noslip.simulation.native import call, copy, fused, reals, unit
from noslip.simulation.rules import ACCEPTED, EVENT, PROJECTION_FAILED, RETRY
from noslip.simulation.single.dense import dense_is_rough, prepare_dense, state_within
from noslip.simulation.single.nodes import is_spoiled, spoil
from noslip.simulation.single.projection import settle
from noslip.simulation.single.samples import is_wanted, record
from noslip.simulation.single.setup import setup_at


@fused
def _record_within(s, t, h, t_end):
    """Record the samples of a step before a time; False if one was not projected."""
    if s.rough < 0 and is_wanted(s, t_end):
        s.rough = 1 if dense_is_rough(s, t, h) else 0
    while is_wanted(s, t_end):
        time = reals(s.sample_times)[s.filled]
        state_within(s, t, h, (time - t) / h, s.rough == 1)
        if not settle(s, time, s.point):
            return False
        record(s, time, s.point)
    return True


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

    Returns a verdict and where the step now ends: accepted, EVENT, PROJECTION_FAILED, or RETRY
    where dense output is not finite. The state of an event is left in s.next. Where several steps
    give the samples, they are recorded only if the step ends the run, or is looked at again.
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
        if _report_earlier(s, t, h, last) != ACCEPTED:
            return PROJECTION_FAILED, t
    t_end = t_new if event < 0 else min(t + theta * h, t_new)
    if not _record_within(s, t, h, t_end):
        return PROJECTION_FAILED, t
    if event < 0:
        return ACCEPTED, t_new
    state_within(s, t, h, theta, s.rough == 1)
    copy(s.point, s.next, s.ny)
    if not settle(s, t_end, s.next):
        return PROJECTION_FAILED, t
    record(s, t_end, s.next)
    s.index = event
    return EVENT, t_end


@unit
def report_step(here):
    """Let the step of a setup report; leaves the verdict in code, and where it ends in step_end."""
    s = setup_at(here)
    s.code, s.step_end = _report(s, s.step_time, s.step_size, s.step_end, s.step_last)

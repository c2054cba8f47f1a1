"""What an accepted step reports: samples, and the event that ends the run."""

from __future__ import annotations

from noslip.simulation.native import call, copy, fused, reals
from noslip.simulation.rules import ACCEPTED, EVENT, PROJECTION_FAILED
from noslip.simulation.single.dense import dense_is_rough, state_within
from noslip.simulation.single.projection import settle
from noslip.simulation.single.rates import find_inputs


@fused
def record(s, t, y):
    """Append time, state and the inputs found to the record."""
    reals(s.recorded_times)[s.filled] = t
    copy(y, s.recorded_states + 8 * s.filled * s.ny, s.ny)
    copy(s.inputs, s.recorded_inputs + 8 * s.filled * s.num_inputs, s.num_inputs)
    s.filled += 1


@fused
def is_wanted(s, limit):
    """Whether a sample before a time is still to be recorded."""
    return s.filled < s.num_samples and reals(s.sample_times)[s.filled] < limit


@fused
def record_samples_at(s, t):
    """Record the samples at the time of s.y itself."""
    while s.filled < s.num_samples and reals(s.sample_times)[s.filled] <= t:
        find_inputs(s, t, s.y)
        record(s, t, s.y)


@fused
def report_step(s, t, h, t_new):
    """Look for an event in an accepted step and record the samples before it or the step's end.

    Returns a verdict (accepted, EVENT or PROJECTION_FAILED) and where the step now ends. The state
    of an event is left in s.next.
    """
    s.event, s.theta, s.rough = -1, 1.0, -1
    if s.events != 0:
        s.step_time, s.step_size = t, h
        call(s.find_event, (s.here,))
        if s.is_settled == 0:
            return PROJECTION_FAILED, t
    event, theta = s.event, s.theta
    t_end = t_new if event < 0 else min(t + theta * h, t_new)
    if s.rough < 0 and is_wanted(s, t_end):
        s.rough = 1 if dense_is_rough(s, t, h) else 0
    is_rough = s.rough == 1
    while is_wanted(s, t_end):
        time = reals(s.sample_times)[s.filled]
        state_within(s, t, h, (time - t) / h, is_rough)
        if not settle(s, time, s.point):
            return PROJECTION_FAILED, t
        record(s, time, s.point)
    if event < 0:
        return ACCEPTED, t_new
    state_within(s, t, h, theta, is_rough)
    copy(s.point, s.next, s.ny)
    if not settle(s, t_end, s.next):
        return PROJECTION_FAILED, t
    record(s, t_end, s.next)
    s.index = event
    return EVENT, t_end

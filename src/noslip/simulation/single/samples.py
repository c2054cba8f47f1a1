"""The record of samples: what is in it, and what is still to come."""

from __future__ import annotations

from noslip.simulation.native import copy, fused, reals
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

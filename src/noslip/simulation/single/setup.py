"""What the loop of one run is told: a record of addresses, sizes, times and tolerances.

Vectors are known by their addresses alone; nothing in the loop owns or checks them. The first part
is given, the rest is left by the loop: why and where it ended, and what it knows while it pauses.
"""

from __future__ import annotations

import numpy as np

from noslip.simulation.native import record_at

_ADDRESSES = (
    # this record itself; parts of the loop: stages, what a step reports by itself, what several do,
    # if they may, and what looks for events, if there are any
    *("here", "take_stages", "report_step", "report_steps", "find_event"),
    # functions, 0 where there is none, and their parameters
    *("rates", "generator", "update", "project", "events"),
    *("parameters", "generator_parameters", "event_parameters"),
    # base inputs; [inputs; ż], the same as the base inputs where there is no generator
    *("base", "inputs"),
    # table k drives base input targets[k] by segments offsets[k] up to offsets[k + 1]; a segment
    # is c₀ s³ + c₁ s² + c₂ s + c₃ with s = t − start; segments[k] is the one in use
    *("targets", "offsets", "starts", "coefficients", "segments"),
    # sorted times on which steps end, among them all starts; sorted times of samples
    *("knots", "sample_times", "update_times"),
    # per state, per health value, per event (−1, 0, +1)
    *("absolute", "floors", "directions"),
    # cancel request, time reached, steps taken: shared with Python while the loop runs
    "status",
    # state at the start, then where the loop ended
    "state",
    # one row for each sample, and one more for an event
    *("recorded_times", "recorded_states", "recorded_inputs"),
    # rows of event, time and state: events that did not end the run
    "crossings",
    # ends of the last steps, num_nodes of them in a ring, see `nodes.py`; the one in use, and of it
    # the state, the end of the step from it before a projection, and NUM_ROWS × row stages
    *("nodes", "node", "y", "end", "K"),
    # work: 7 × ny dense output, states, x and residual, event values, weights of nodes; where the
    # health values are
    *("F", "stage", "next", "point", "newton"),
    *("left", "right", "at_end", "probe", "stencil", "health"),
)
_NUMBERS = (
    *("method", "nx", "nz", "ny", "row", "num_inputs", "num_tables", "num_knots", "num_samples"),
    *("num_updates", "num_nodes", "node_size", "width"),
    # the first num_endings events end the run; a pause is due when more crossings than
    # most_crossings are noted, or after so many steps; 0: never
    *("num_health", "num_events", "num_endings", "most_crossings", "max_steps", "pause"),
)
# the steps before this one report; whether a step is looked at again, for its samples alone
_REPORT = ("limit", "is_again")
# stages asked for, the row of K for the first of them, and whether all were healthy
_STAGES = ("stages_first", "stages_after", "stages_row", "is_healthy")
# outcome: why, which event or health value, and what it took
_OUTCOME = ("code", "index", "steps", "rejections", "evaluations", "filled")
# of the step that was looked at for events: the one that ends the run, or −1; whether dense output
# is rough, or −1 if that was not asked; whether all went well
_FOUND = ("event", "rough", "is_settled")
# what the loop knows besides while it pauses; reported: of how many steps the samples are recorded
_PAUSE = ("is_paused", "knot", "updates", "may_grow", "num_crossings", "reported")
INTEGERS = (*_ADDRESSES, *_NUMBERS, *_FOUND, *_REPORT, *_STAGES, *_OUTCOME, *_PAUSE)
OUTCOME = slice(len(INTEGERS) - len(_PAUSE) - len(_OUTCOME), len(INTEGERS) - len(_PAUSE))
# start and first step (0: chosen; RK4: its step), then where the loop ended and the next step; what
# it keeps to, and where it began
SETTINGS = ("time", "step", "end_time", "max_step", "relative", "projection", "begin")
REALS = (
    *SETTINGS,
    # the step that reports: start, size, end, latest time of its stages; the fraction of it where
    # the last event is
    *("step_time", "step_size", "step_end", "step_last", "theta"),
    # the step whose stages are asked for: start, size, latest time of its stages
    *("stages_time", "stages_size", "stages_last"),
    # steps per second that the last step asked for, and their mean, see `step_sizes.py`
    *("density", "mean_density"),
)
SETUP = np.dtype([(name, np.int64) for name in INTEGERS] + [(name, np.float64) for name in REALS])

#: The record at an address.
setup_at = record_at(SETUP)

LANES = 4  # values combined at a time; the rows of K and the states are padded to a multiple


def padded(size: int) -> int:
    """The next multiple of LANES."""
    return -(-size // LANES) * LANES

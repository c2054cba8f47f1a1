"""What a worker of the batch loop is told, and the rows of numbers it keeps for its lanes.

A ``WORKER`` is a record of addresses and sizes. The first part is the same for all workers: wide
functions, kernels, what is given and what is left for each trajectory. The second is its own
memory. Vectors of lanes are rows: value k of lane j is at place ``k lanes + j``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from noslip.simulation.native import record_at

# Rows of real numbers, one for each lane.
REAL_ROWS = (
    # where a lane is and the step it tries: from T by H_TRY to T_NEW; stages not later than LAST
    *("T", "H", "H_TRY", "T_NEW", "LAST", "ERROR"),
    # steps per second that the last step asked for, and their mean, see `step_sizes.py`
    *("DENSITY", "MEAN_DENSITY"),
    # begin of this stretch; next time to stop on; the shortest step that time resolves
    *("BEGIN", "STOP", "SMALLEST"),
    # time of an evaluation; fraction of a step; where an accepted step ends
    *("TIME", "THETA", "T_END"),
    # of a projection, before
    "RESIDUAL",
    # search of a root: three points and their values, where it is expected, where it was found; on
    # dense output
    *("A", "F_A", "B", "F_B", "C", "F_C", "EXPECTED", "ROOT", "DENSE_ROOT"),
    # fractions of the step where the stretch looked at for events begins, and of the last event
    *("LEFT", "STOP_THETA"),
)
# Rows of whole numbers; conditions are −1 and 0.
WORD_ROWS = (
    # trajectory, or −1; its ending if that is settled; which event or health value
    *("INDEX", "CODE", "WHICH"),
    # what is said of a step; lanes looked at; results of kernels
    *("VERDICT", "SELECT", "MASK", "HEALTHY"),
    # whether a step has dense output; the rates must be found anew; it is the first of a stretch
    *("DENSE", "STALE", "FIRST"),
    # whether the step may grow; ends on a stop; how often it was projected, and so needs new rates
    *("MAY_GROW", "LANDS", "CORRECTIONS", "PROJECTED"),
    # the next knot and the end of the lane's knots; updates and samples done
    *("KNOT", "KNOT_END", "UPDATES", "FILLED"),
    *("STEPS", "REJECTIONS", "EVALUATIONS"),
    # health value below its floor, or −1; whether the rates are finite
    *("UNHEALTHY", "FINITE"),
    # whether dense output misses the tolerance; event that ends the step, or −1; still looking
    *("ROUGH", "EVENT", "LOOKING"),
)

_FUNCTIONS = ("rates", "generator", "update", "project", "events", "columns")
# units of the loop that are compiled on their own
_UNITS = ("make_inputs", "close_step", "find_events", "find_roots", "take_samples")
_KERNELS = (
    # addresses of addresses: the stages of the method, and of its dense output
    *("stages", "dense_stages"),
    *("end", "dense", "interpolate", "is_rough", "blend", "is_finite", "is_healthy"),
    *("norms", "euler", "second_norm"),
)
_GIVEN = (
    # trajectories to do, and how many were taken
    *("queue", "counter"),
    # by trajectory: state, time, step and samples done at the start of this stretch
    *("starts", "start_times", "start_steps", "start_filled"),
    # rows of parameters and of base inputs, with their distance in memory, 0 if all share one
    *("parameter_rows", "base_rows"),
    # by trajectory which set of tables drives its base inputs (0: all the first); a set's knots are
    # knots[knot_offsets[set]:…]; its table k has segments first_segments[set num_tables + k] up to
    # end_segments, each c₀ s³ + c₁ s² + c₂ s + c₃ with s = t − its start, for base input targets[k]
    *("table_sets", "knot_offsets", "knots", "first_segments", "end_segments"),
    *("segment_starts", "coefficients", "targets"),
    *("update_times", "sample_times", "directions", "is_terminal"),
)
_LEFT = (
    # cancel request, shared by all workers
    "status",
    # by trajectory: ending and which event or health value, where it ended, what it took
    *("codes", "which", "times", "steps_left", "num_steps", "num_rejections", "num_evaluations"),
    *("num_filled", "states"),
    # by trajectory and column; 0 where they are not asked for
    *("final", "minimum", "maximum", "samples"),
    # by trajectory and event: how often, and the first times
    *("event_counts", "event_times"),
    # by trajectory: angles that events follow, where they were last looked at
    "angles",
)
_OWN = (
    # this record itself, and the rows of numbers for its lanes
    *("here", "reals", "words", "segments"),
    *("y", "stage", "end_state", "next", "point", "other", "K", "F"),
    *("base", "inputs", "parameters", "newton", "health", "health_copy"),
    *("before", "after", "at_end", "probe", "roots", "values"),
    # tolerances and floors in all lanes; the floors also times STAGE_FLOOR and NEAR_FLOOR
    *("absolute", "settings", "floors", "stage_floors", "near_floors"),
)
_SIZES = (
    *("lanes", "method", "nx", "nz", "ny", "row", "num_inputs", "num_base", "num_parameters"),
    *("parameter_stride", "base_stride", "num_tables", "num_updates", "num_samples"),
    *("num_health", "num_events", "max_events", "num_columns", "queue_length", "max_steps"),
    # the last of the values of events, and of the parameters
    "num_angles",
    *("num_stages", "has_more", "num_done"),
    # the event whose roots are looked for; where inputs are asked for
    *("event", "input_time", "input_state"),
)
# the last is the fraction of the steps up to which roots are looked for
_REALS = ("end_time", "max_step", "relative", "projection", "right")

ADDRESSES = (*_FUNCTIONS, *_UNITS, *_KERNELS, *_GIVEN, *_LEFT, *_OWN)
WORKER = np.dtype(
    [(name.lower(), np.int64) for name in (*ADDRESSES, *_SIZES)]
    + [(name, np.float64) for name in _REALS]
)

(
    T, H, H_TRY, T_NEW, LAST, ERROR, DENSITY, MEAN_DENSITY, BEGIN, STOP, SMALLEST, TIME, THETA,
    T_END, RESIDUAL,
    A, F_A, B, F_B, C, F_C, EXPECTED, ROOT, DENSE_ROOT, LEFT, STOP_THETA,
) = range(len(REAL_ROWS))  # fmt: skip
(
    INDEX, CODE, WHICH, VERDICT, SELECT, MASK, HEALTHY, DENSE, STALE, FIRST, MAY_GROW, LANDS,
    CORRECTIONS, PROJECTED, KNOT, KNOT_END, UPDATES, FILLED, STEPS, REJECTIONS, EVALUATIONS,
    UNHEALTHY, FINITE, ROUGH, EVENT, LOOKING,
) = range(len(WORD_ROWS))  # fmt: skip


#: The worker whose record is at an address.
worker_at = record_at(WORKER)


def _row_of(field: str, count: str, pointee: Any) -> Any:
    """An intrinsic from a worker and a row to where that row is, an address or a pointer.

    It is written out where it is used: as a function it would be compiled once for every row.
    """

    @intrinsic
    def where(typing_context, worker, row):
        def generate(context, builder, signature, arguments):
            def word_of(name):
                # a record is an array of bytes
                indices = [ir.Constant(ir.IntType(32), k) for k in (0, worker.offset(name))]
                place = builder.gep(arguments[0], indices)
                return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))

            place = context.cast(builder, arguments[1], signature.args[1], types.int64)
            for factor in [ir.Constant(ir.IntType(64), 8), *(word_of(n) for n in count.split())]:
                place = builder.mul(place, factor)
            place = builder.add(place, word_of(field))
            if pointee is None:
                return place
            return builder.inttoptr(place, context.get_value_type(pointee).as_pointer())

        return (types.int64 if pointee is None else types.CPointer(pointee))(worker, row), generate

    return where


#: A row of real numbers or of whole numbers: real(s, T)[j] is the time of lane j.
real = _row_of("reals", "lanes", types.float64)
word = _row_of("words", "lanes", types.int64)
#: Addresses of such rows, and of a row of K, the rates of one stage.
real_at = _row_of("reals", "lanes", None)
word_at = _row_of("words", "lanes", None)
rates_at = _row_of("k", "lanes row", None)

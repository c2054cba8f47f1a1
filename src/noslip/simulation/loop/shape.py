"""`Shape`, what the code of a loop depends on, and the record with the values of a run.

A `Shape` is known when the loop is printed: sizes, and which parts there are. One loop serves all
systems of the same shape. Functions, vectors, times and tolerances are known when it runs, from a
record of 64-bit words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.engines import Target
from noslip.simulation import rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes and options for which a loop is printed.

    Parameters
    ----------
    target : lanes, and where arrays lie.
    method : ``rules.DOP853`` or ``rules.RK4``.
    nx, nz : states of the mechanism, and of the law that gives the inputs.
    num_health : values that must stay away from zero.
    num_inputs : of the mechanism.
    num_base, num_tables : numbers that the law of a batch is given, and how many of them tables
        drive.
    is_batch : whether there are many trajectories, each with parameters of its own, and columns of
        them are kept; else there is one, whose functions take parameters from where they are
        given, and states and inputs are kept.
    num_parameters : of all functions of a batch, rounded up by `rounded`.
    varying : of a GPU's thread, the parameters that differ from trajectory to trajectory; the
        others follow the record.
    num_events, num_endings, num_angles : values whose crossings are found, the first of them
        that end a run, the last of them that are angles which go on.
    num_columns : values kept of samples of a batch, rounded up by `rounded`.
    keeps : of the columns: ``"minimum"``, ``"maximum"``, ``"samples"``.
    num_noise : channels of random numbers that an update is given, two behind the base inputs for
        each.
    has_generator, has_update, has_projection, has_enclosures : which functions there are.
    has_knots : whether steps must end on given times.
    has_samples : whether states within steps are asked for.
    is_multistep : whether samples are taken from several steps, see `multistep_output.py`.
    records_steps : whether the end of every step is kept.
    is_period : whether trajectories are periods of fixed steps that follow each other: all share
        parameters, steps end within their floors and correct the constraints once.
    floors, step : of a GPU's thread in periods: bounds of the health values, and s.
    apart : state whose error is measured by itself, beside that of all others; −1: none.
    """

    target: Target = Target()
    method: int = rules.DOP853
    nx: int
    nz: int = 0
    num_health: int = 0
    num_inputs: int = 0
    num_base: int = 0
    num_tables: int = 0
    is_batch: bool = False
    num_parameters: int = 0
    varying: tuple[int, ...] = ()
    num_events: int = 0
    num_endings: int = 0
    num_angles: int = 0
    num_columns: int = 0
    keeps: tuple[str, ...] = ()
    num_noise: int = 0
    has_generator: bool = False
    has_update: bool = False
    has_projection: bool = False
    has_enclosures: bool = False
    has_knots: bool = False
    has_samples: bool = False
    is_multistep: bool = False
    records_steps: bool = False
    is_period: bool = False
    floors: tuple[float, ...] = ()
    step: float = 0.0
    apart: int = -1

    @property
    def ny(self) -> int:
        """All states."""
        return self.nx + self.nz

    @property
    def row(self) -> int:
        """Numbers of a row of K: rates, and behind ẋ the health values.

        A thread of a GPU has little memory nearby: there they reach into the next row.
        """
        if self.target.is_thread:
            return self.ny
        return self.nx + max(self.nz, self.num_health)

    @property
    def overhang(self) -> int:
        """Numbers of health values that reach beyond the rates of a row of K."""
        return 0 if self.target.on_stack else max(0, self.nx + self.num_health - self.row)

    @property
    def is_fused(self) -> bool:
        """Whether a thread takes the stages and the end of a step in one loop.

        Then rates are evaluated in one place, where they are written out.
        """
        return self.target.on_stack and not self.num_events and not self.has_samples

    @property
    def num_crossings(self) -> int:
        """Events that do not end a run."""
        return self.num_events - self.num_endings - self.num_angles


def rounded(count: int) -> int:
    """A size rounded up, so that fewer loops of different shapes are compiled."""
    return -(-count // 16) * 16


_FUNCTIONS = ("rates", "generator", "update", "project", "events", "enclosures", "columns")
_GIVEN = (
    # trajectories to do, and how many were taken; the memory that stays with the run
    *("queue", "counter"),
    # parameters of the functions, and base inputs; rows with a distance, 0 if all share one
    *("parameters", "generator_parameters", "event_parameters", "base"),
    # by trajectory which set of tables drives its base inputs (0: all the first); a set's knots are
    # knots[knot_offsets[set]:…]; its table k has segments first_segments[set num_tables + k] up to
    # end_segments, each c₀ s³ + c₁ s² + c₂ s + c₃ with s = t − its start, for base input targets[k]
    *("table_sets", "knot_offsets", "knots", "first_segments", "end_segments"),
    *("segment_starts", "coefficients", "targets"),
    *("update_times", "sample_times", "directions", "absolute", "floors"),
)
_LEFT = (
    # cancel request; of one run also the time reached and the steps taken
    "status",
    # by trajectory: ending and which event or health value; time, state, step size and counts at
    # the start of a segment, then at its end
    *("codes", "which", "times", "steps_left", "num_steps", "num_rejections", "num_evaluations"),
    *("num_filled", "states"),
    # samples of one run, with room for one more at an event; its crossings: event, time and state;
    # the ends of its steps
    *("recorded_times", "recorded_states", "recorded_inputs", "crossings", "num_crossings"),
    *("step_times", "step_states", "num_recorded"),
    # by trajectory and column
    *("final", "minimum", "maximum", "samples"),
    # by trajectory and event: how often, and the first times
    *("event_counts", "event_times"),
    # by trajectory, event and fault (UNRESOLVED, UNDEFINED): how often, and when first
    *("fault_counts", "fault_times"),
    # by trajectory: angles that events follow, at the last check
    "angles",
    # number of threads that paused in the midst of a trajectory
    "num_paused",
)
_SIZES = (
    *("queue_length", "parameter_stride", "base_stride"),
    *("num_updates", "num_samples", "num_columns", "max_steps", "max_events"),
    # a run pauses after so many steps, a thread after so many rounds (0: never), and where there is
    # no room for more crossings or ends of steps
    *("pause", "most_crossings", "crossing_room", "most_recorded"),
    # random numbers: their seed, the number of the first trajectory and of its first update
    *("seed", "first_run", "first_update"),
)
ADDRESSES: tuple[str, ...] = (*_FUNCTIONS, *_GIVEN, *_LEFT)
INTEGERS: tuple[str, ...] = (*ADDRESSES, *_SIZES)
REALS: tuple[str, ...] = ("end_time", "max_step", "relative", "projection")
#: The record: words, then numbers.
SETUP = np.dtype([(name, np.int64) for name in INTEGERS] + [(name, np.float64) for name in REALS])
PLACES: dict[str, int] = {name: k for k, name in enumerate((*INTEGERS, *REALS))}

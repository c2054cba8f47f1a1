"""Constants of the integration loop: methods, ending codes and thresholds of steps."""

from __future__ import annotations

from noslip.simulation.dop853 import NUM_STAGES, NUM_STAGES_DENSE

DOP853, RK4 = range(2)

FINISHED = 0  # the end time is reached
EVENT = 1  # an event's value crossed zero; index says which
CANCELLED = 2  # requested through the status word
STEP_TOO_SMALL = 3  # the tolerances need steps that time cannot resolve
SINGULAR = 4  # a health value (singularity measure) is below its floor or NaN; index says which
NON_FINITE = 5  # the rates at the state, or just ahead of it, are not finite
MAX_STEPS = 6  # the allowed number of steps is spent
PROJECTION_FAILED = 7  # a state could not be projected on the constraints
PAUSED = 8  # the requested steps are done; the next call continues as if without a pause

ACCEPTED, RETRY = -2, -1  # verdicts on a step, besides the endings

MAX_PROJECTIONS = 8
SURELY = 1e-4  # a residual whose square is below this share of the tolerance needs no recheck
ROUNDING = 1e-10  # a residual above this share of the largest state is not taken for rounding
SINGLE_ROUNDING = 1e-5  # the same in single precision
ASTRAY = 1e-2  # residual, m or rad, from which one correction does not bring a fixed step back
STAGE_FLOOR = 0.5  # stages of a step must not have health below this share of its floor
TOO_FAR = 1e3  # error norm of a step with such a stage
NEAR_FLOOR = 0.5  # a run ends on health between this share of its floor and the floor
APPROACH = 1e-6  # but no steps shorter than this share of the run are taken to come so near
CHECKS_PER_STEP = 4  # without enclosures, events are checked at the end and at quarters of a step
LOOKS = 512  # pieces of a step in which events are enclosed, before it is given up
LOOKS_PER_CROSSING = 64  # and so many more for each crossing
MOST_LOOKS = 2**20  # of a whole run, about half a second of work
FINEST = 2.0**-40  # of a step, the shortest piece
FINEST_SAMPLED = 2.0**-8  # the shortest piece for a value that cannot be enclosed
HALF_TURN = 2.0  # rad, within a piece; angles are followed from one end to the other
CROSSINGS_PER_STEP = 1024  # of an event in one run; where there are more, the step is shortened
UNRESOLVED, UNDEFINED = range(2)  # faults of events: crossings not excluded; a value that is nan
START_FRACTION = 2.0**-24  # a run's first signs are taken at this fraction of its first step
GROWN = 1e3  # a value that grows so much within a piece, towards a change of sign, has a pole
BESIDE = 1e-4  # secants towards a root begin at this fraction of a step beside it
VANISHED = 1e-3  # at a root a value is below this share of those beside it, but where it jumps
SPRINT = 16  # steps of RK4 that a GPU's thread takes before it looks for what else is to be done
EPS = 2.0**-52
PROJECTION_TOLERANCE = 1e-14  # m or 1, of holonomic rows and quaternions

# Stages of RK4 after the first by their weights, and the end of its step; their times.
RK4_ROWS: tuple[dict[int, float], ...] = (
    {0: 1 / 2},
    {1: 1 / 2},
    {2: 1.0},
    {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6},
)
RK4_TIMES = (1 / 2, 1 / 2, 1.0, 1.0)

# Rows of K besides the stages: the rates at a step's end, and there after a projection.
END_ROW, PROJECTED_ROW, NUM_ROWS = NUM_STAGES, NUM_STAGES_DENSE, NUM_STAGES_DENSE + 1

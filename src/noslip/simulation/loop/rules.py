"""Rules of the integration loop: constants, step sizes, interpolation.

**Step size control from the errors of this step and of those before it.**

The error of a step of order 8 grows as h⁸. So an error norm e gives the number of steps per second
for which each of them would have an error of 1,

    (1)  d = e^(1/8) / h

the density of steps. The next step is made for a density that is the largest of

    (2)  d √max(1, d/d₁)           this one; where it rose since the step before, half as far again
    (3)  d̄ + SHARE (d − d̄)        the mean, which forgets a share of what was before

Errors are estimates that change their signs, and are small now and then by accident. Without (3)
the steps after such ones are too long and tried in vain. But where two steps in a row need much
less than the mean, what it remembers is past. Nor is a density that leaps taken to rise on.

For the same error this takes 4 % fewer evaluations than a choice by (1) alone in the mean over 85
motions, 7 % on bicycles, 2 % on AGVs and on disks, and on none of them more than 5 % more.

`next_step` says it in plain numbers; the loop's own is compared with it.

**Hermite interpolation of degree 15, through values and slopes at eight nodes.**

With ℓ_j the polynomial of degree 7 that is 1 at node x_j and 0 at the others (Lagrange's),

    (1)  p(x) = Σ_j a_j(x) y_j + b_j(x) y'_j
    (2)  a_j = (1 − 2 (x − x_j) ℓ_j'(x_j)) ℓ_j²,   b_j = (x − x_j) ℓ_j²
    (3)  ℓ_j(x) = c_j Π_i (x − x_i),   c_j = Π_i 1/(x_j − x_i),   ℓ_j'(x_j) = Σ_i 1/(x_j − x_i)

where i goes over the other nodes. For a smooth function y its error is

    (4)  y(x) − p(x) = C(x) w(x),   w(x) = Π_j (x − x_j)²,   C = y⁽¹⁶⁾/16! at some point between

and C changes little within an interval. So the slope's error at one point where w' is large gives
an estimate of the error in the whole interval, and a correction:

    (5)  C ≈ (y' − p')/w'

Weights depend on the nodes alone, and are the same for all functions. Numbers may be floats, or
values of a function that is being written.
"""

from __future__ import annotations

import math

from noslip.simulation.loop.dop853 import NUM_STAGES, NUM_STAGES_DENSE

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


#: Share of the step that would just meet the tolerance. With the authors' 0.9 more steps are
#: rejected, and more evaluations are needed for the same error.
SAFETY = 0.8
SHARE = 0.25
#: The next step is at most so many times as long.
GROWTH = 6.0
#: The mean is past where it is so many times what two steps in a row need.
PAST = 1.3
#: Errors outside of these are unreliable. After the former a step grows as far as it may, and those
#: of short steps are rounding: d is at most what it would be there. After the latter a step was far
#: too long, and the mean is reset.
LEAST_ERROR, LARGEST_ERROR = (SAFETY / GROWTH) ** 8, 1e3
#: A step that a stop cut to less than this share does not set the next: its error is rounding.
SHORT = 0.5


def next_step(h, error, may_grow, before, mean):
    """Step size after a step of size h with an error norm; and d and the mean after it."""
    if not math.isfinite(error):
        return 0.1 * h, before, mean
    if error >= LARGEST_ERROR:
        return h / 3.0, before, mean
    largest = GROWTH if may_grow else 1.0
    if error <= LEAST_ERROR:
        most = SAFETY / (GROWTH * h)
        return largest * h, min(before, most), min(mean, most)
    density = math.sqrt(math.sqrt(math.sqrt(error))) / h  # (1)
    if mean == 0.0:
        before, mean = density, density
    rising = density * math.sqrt(max(1.0, density / before))  # (2)
    mean = max(rising, mean + SHARE * (density - mean))  # (3)
    recent = max(density, before)
    if PAST * recent < mean:
        mean = recent
    return h * min(largest, max(1.0 / 3.0, SAFETY / (h * mean))), density, mean


NUM_NODES = 8
# Fractions of an interval at which w and w' are evaluated to find the largest, approximately.
CHECK_POINTS = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875)


def node_constants(x):
    """(3): c_j and ℓ_j'(x_j) of the nodes x."""
    c, d = [1.0] * NUM_NODES, [0.0] * NUM_NODES
    for j in range(NUM_NODES):
        for i in range(j):
            inverse = 1.0 / (x[j] - x[i])
            c[j], d[j] = inverse * c[j], inverse + d[j]
            c[i], d[i] = -inverse * c[i], d[i] - inverse
    return c, d


def value_weights(x, c, d, at):
    """(2): weights of values and slopes at the nodes, which give the value at a point."""
    # products over all nodes before a node, then over those after it
    a, b = [0.0] * NUM_NODES, [0.0] * NUM_NODES
    product = 1.0
    for j in range(NUM_NODES):
        a[j] = c[j] * product
        product = (at - x[j]) * product
    product = 1.0
    for j in range(NUM_NODES - 1, -1, -1):
        basis, off = a[j] * product, at - x[j]
        square = basis * basis
        a[j], b[j] = (1.0 - 2.0 * off * d[j]) * square, off * square
        product = off * product
    return a, b


def slope_weights(x, c, d, at):
    """Derivatives of the weights, which give the slope at a point that is no node."""
    inverses = [1.0 / (at - x[j]) for j in range(NUM_NODES)]
    product, total = at - x[0], inverses[0]
    for j in range(1, NUM_NODES):
        product, total = product * (at - x[j]), total + inverses[j]
    a, b = [], []
    for j in range(NUM_NODES):
        # ℓ_j and its slope there, from the product and the sum over the other nodes
        basis, rate, off = c[j] * product * inverses[j], total - inverses[j], at - x[j]
        square = basis * basis
        twice = 2.0 * square * rate
        a.append((1.0 - 2.0 * off * d[j]) * twice - 2.0 * d[j] * square)
        b.append(square + off * twice)
    return a, b


def node_product(x, at):
    """w and w' of (4) at a point."""
    product, slope = at - x[0], 1.0
    for i in range(1, NUM_NODES):
        slope = slope * (at - x[i]) + product
        product = product * (at - x[i])
    return product * product, 2.0 * product * slope


def check_point(x, where):
    """The point between 0 and 1 that suits (5) best, w' there, and the largest w.

    w rises there. Where it falls, motions that decay as fast as w does hide the error.
    """
    best, steepest, largest = 0.5, 0.0, 0.0
    for at in CHECK_POINTS:
        value, slope = node_product(x, at)
        largest = where(value > largest, value, largest)
        best = where(slope > steepest, at, best)
        steepest = where(slope > steepest, slope, steepest)
    return best, steepest, largest

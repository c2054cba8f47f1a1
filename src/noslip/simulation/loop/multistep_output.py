"""Samples of one run from the ends of several steps: the polynomial through eight of them.

Of a motion without breaks the states and rates at eight consecutive ends of steps determine a
polynomial of degree 15, see `hermite.py`. One evaluation of the rates, in the middle one of the
seven steps, estimates its error in that step and in the two beside it, and corrects most of it. A
second one, halfway, checks the estimate: where forces change fast, a polynomial with a large error
may have the right slope at one point. So the samples of three steps are recorded together, when
three more steps are done. Those of the first and the last steps of a run, and of steps with too
large an error, are recorded step by step, each with evaluations of its own.

The last nodes are stored in a ring buffer. A node is the point where a step starts:

    [time, is spoiled | y | end | K]

y is the state there, K the stages of the step from it, the first of them the rates at y, and end
that step's end before a projection. It is spoiled where partial steps within it have overwritten
its stages.

Points are given as fractions θ of the step with the evaluation, from its start.
"""

from __future__ import annotations

import itertools

from noslip.engines import Buffer, Given, Value
from noslip.simulation.loop import hermite
from noslip.simulation.loop.dense import UNKNOWN, prepare_dense
from noslip.simulation.loop.hermite import CHECK_POINTS, NUM_NODES
from noslip.simulation.loop.projection import settle
from noslip.simulation.loop.rates import evaluate, find_inputs
from noslip.simulation.loop.samples import find_state, next_sample, record, record_within
from noslip.simulation.loop.steps import scale
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.rules import ACCEPTED, END_ROW, PROJECTED_ROW

# The polynomial is good enough where this share of its error before the correction (5) is within
# the tolerance. The correction leaves about a sixth of it. What the ends of steps are off
# themselves shows in the same number, at half its size or more, and is not corrected.
LEFT_SHARE = 0.7
# The estimate is less sure in the steps beside that of the evaluation and in the last of a run.
BESIDE_SHARE = 3.0 * LEFT_SHARE
# Halfway w' is small, and the slope's defect comes from a C that changes within the step. If C
# changes its sign there, the error is this share of the defect.
HALFWAY_SHARE = 0.25
# Neighboring steps of a motion without breaks differ by less than this factor.
UNEVEN = 2.0


# the ring buffer
def enter_node(w: LoopWriter, k: Value) -> None:
    """Select node k: w.y, w.end and w.K refer to it from here on."""
    place = (k & (NUM_NODES - 1)) * w.node_size
    w.node[0] = w.f.offset(w.nodes.place, place)


def make_node(w: LoopWriter, k: Value, t: Value) -> None:
    """Select node k and store its time."""
    enter_node(w, k)
    head = Given(w.f, w.node[0])
    head[0], head[1] = t, w.f.real(0.0)


def spoil(w: LoopWriter) -> None:
    """Mark the stages of the step from the node as overwritten."""
    Given(w.f, w.node[0])[1] = w.f.real(1.0)


def is_spoiled(w: LoopWriter) -> Value:
    """Whether the stages of the step from the node are overwritten."""
    return ~Given(w.f, w.node[0])[1].equals(0.0)


def time_of(w: LoopWriter, k: Value) -> Value:
    """Time of node k."""
    return Given(w.f, w.nodes.place)[(k & (NUM_NODES - 1)) * w.node_size]


# the polynomial
def _stencil(w: LoopWriter, row: int) -> Given:
    """One row of the stencil: node positions, c, ℓ', weights of values and of slopes."""
    return Given(w.f, w.f.offset(w.stencil.place, NUM_NODES * row))


def _numbers(table: Given) -> list[Value]:
    return [table[j] for j in range(NUM_NODES)]


def _store(table: Given, values: list[Value]) -> None:
    for j, value in enumerate(values):
        table[j] = value


def _add_nodes(w: LoopWriter, h: Value, a: list[Value], b: list[Value], out: Buffer) -> None:
    """Add Σ_j a_j (y_j − y) + h b_j ẏ_j to out; the weights a_j have the sum 1 or 0.

    What does not change from node to node stays as it is, to the last bit.
    """
    f, n = w.f, w.shape.ny
    slopes = [h * weight for weight in b]
    values = [Buffer(f, f.offset(w.nodes.place, j * w.node_size + 2)) for j in range(NUM_NODES)]
    rates = [Buffer(f, f.offset(v.place, 2 * n)) for v in values]
    for i in f.rows(n):
        total, here = out[i], w.y[i]
        for j in range(NUM_NODES):
            total = f.fma(slopes[j], rates[j][i], total)
            total = f.fma(a[j], values[j][i] - here, total)
        out[i] = total


def _defect_share(w: LoopWriter) -> Given:
    return Given(w.f, w.f.offset(w.stencil.place, 5 * NUM_NODES))


def polynomial_state(w: LoopWriter, h: Value, theta: Value, out: Buffer) -> None:
    """State at θ of the step by the corrected polynomial, into out."""
    w.subroutine(polynomial, h, theta, out)


def polynomial(w: LoopWriter, h: Value, theta: Value, out: Buffer) -> None:
    """Polynomial (1) with the correction (5) of `hermite`, into out."""
    f = w.f
    x, c, d = (_numbers(_stencil(w, row)) for row in range(3))
    product, _ = hermite.node_product(x, theta)
    share = product * _defect_share(w)[0]
    a, b = hermite.value_weights(x, c, d, theta)
    for i in f.rows(w.shape.ny):
        out[i] = f.fma(-share, w.F[i], w.y[i])
    _add_nodes(w, h, a, b, out)


def _is_large(w: LoopWriter, vector: Buffer, share: Value | float, following: Buffer) -> Value:
    """Whether a share of a vector misses the tolerance, in the norm in which steps must meet it."""
    f, s = w.f, w.s
    s.squares = f.real(0.0)
    for i in f.rows(w.shape.ny):
        off = vector[i] * share / scale(w, i, w.y[i], following[i])
        s.squares = s.squares + f.total(off * off)
    return ~(s.squares <= float(w.shape.ny))


def _add_defect(w: LoopWriter, t: Value, h: Value, at: Value, out: Buffer) -> None:
    """Add to out the defect of h times the slope in the differential equation, at a point."""
    w.subroutine(slope_defect, t, h, at, out, evaluations=1)


def slope_defect(w: LoopWriter, t: Value, h: Value, at: Value, out: Buffer) -> None:
    """h times the slope of the polynomial, less h times the rates at its state."""
    f = w.f
    row = w.K(PROJECTED_ROW)
    polynomial_state(w, h, at, w.point)
    evaluate(w, f.fma(at, h, t), w.point, row)
    for i in f.rows(w.shape.ny):
        out[i] = f.fma(-h, row[i], out[i])
    x, c, d = (_numbers(_stencil(w, row)) for row in range(3))
    a, b = hermite.slope_weights(x, c, d, at)
    _add_nodes(w, h, a, b, out)


def polynomial_is_rough(w: LoopWriter, k: Value, t: Value, h: Value, is_beside: Value) -> Value:
    """Whether the polynomial through all nodes misses the tolerance in step k, or beside it.

    Leaves what `polynomial_state` needs. The error is estimated from the defects in the
    differential equation at two points.
    """
    f, s, n = w.f, w.s, w.shape.ny
    x = [(time_of(w, f.whole(j)) - t) / h for j in range(NUM_NODES)]
    c, d = hermite.node_constants(x)
    for row, values in enumerate((x, c, d)):
        _store(_stencil(w, row), values)
    at, steepest, largest = hermite.check_point(x, f.where)
    _defect_share(w)[0] = 1.0 / steepest
    following_node = ((k + 1) & (NUM_NODES - 1)) * w.node_size + 2
    following = Buffer(f, f.offset(w.nodes.place, following_node))
    is_last = k + NUM_NODES // 2 > s.steps + 1
    share = largest * f.where(is_last, BESIDE_SHARE, f.real(LEFT_SHARE))
    before, after = (time_of(w, k - 1) - t) / h, (time_of(w, k + 2) - t) / h
    beside = f.most(_largest(w, before, f.real(0.0)), _largest(w, f.real(1.0), after))
    share = f.where(is_beside, f.most(share, beside * BESIDE_SHARE), share)
    # the defect without a correction, then what the correction leaves of it halfway
    for i in f.rows(n):
        w.F[i] = f.real(0.0)
    _add_defect(w, t, h, at, w.F)
    s.is_rough = _is_large(w, w.F, share / steepest, following)
    with f.when(~s.is_rough):
        slope = hermite.node_product(x, f.real(0.5))[1] / steepest
        for i in f.rows(n):
            w.stage[i] = -slope * w.F[i]
        _add_defect(w, t, h, f.real(0.5), w.stage)
        s.is_rough = _is_large(w, w.stage, HALFWAY_SHARE, following)
    return s.is_rough


def _largest(w: LoopWriter, start: Value, end: Value) -> Value:
    """The largest w between two points, approximately."""
    return w.subroutine(largest_between, start, end)


def largest_between(w: LoopWriter, start: Value, end: Value) -> Value:
    """The largest w at the check points between two points; the nodes are in the stencil."""
    x, most = _numbers(_stencil(w, 0)), w.f.real(0.0)
    for share in CHECK_POINTS:
        most = w.f.most(most, hermite.node_product(x, start + share * (end - start))[0])
    return most


def _are_even(w: LoopWriter) -> Value:
    """Whether no step between the nodes is much shorter than its neighbor, as they are at a break.

    Over a break that no knot announces, one slope gives no estimate of a polynomial's error. The
    first steps of a run may grow, and the last one may be short.
    """
    f, s = w.f, w.s
    first = s.steps - (NUM_NODES - 1)
    times = [time_of(w, first + j) for j in range(NUM_NODES)]
    sizes = [b - a for a, b in itertools.pairwise(times)]
    are_even = f.truth(True)
    for j in range(1, NUM_NODES - 1):
        before, after = sizes[j - 1], sizes[j]
        grows = (after > UNEVEN * before) & (first + j > 2)
        shrinks = before > UNEVEN * after
        if j == NUM_NODES - 2:
            shrinks = shrinks & ~(times[-1] >= w.number("end_time"))
        are_even = are_even & ~(grows | shrinks)
    return are_even


# recording
def report_steps(w: LoopWriter, limit: Value) -> None:
    """Record the samples of all steps before a limit; s.verdict is an ending where that fails.

    Samples are states of the polynomial through all nodes; where its error is too large, or nodes
    are too few or too uneven, states of the step's own dense output. Where one is not finite or not
    projected, the start of its step is entered, else the newest node. A step that an event ends
    (s.pending) is the last of them: its state there is left in w.next.
    """
    f, s = w.f, w.s
    s.alone, s.until, s.verdict = f.whole(0), limit, f.whole(ACCEPTED)  # one by one before this
    with f.repeat() as loop:
        loop.leave(s.reported >= s.until)
        s.first = s.reported
        # three steps together, where the second is in the middle of the nodes
        s.is_three = (s.first >= s.alone) & (s.first + (1 + NUM_NODES // 2)).equals(s.steps)
        s.middle = f.where(s.is_three, s.first + 1, s.first)
        s.count = f.where(s.is_three, f.whole(3), 1)
        # the step that an event ends has no node after it
        s.is_event = s.first.equals(s.steps)
        enter_node(w, s.middle)
        s.node_time = time_of(w, s.middle)
        s.node_step = f.where(s.is_event, s.event_step, time_of(w, s.middle + 1) - s.node_time)
        s.is_multistep = f.truth(False)
        s.after_time = time_of(w, s.first + s.count)
        with f.when(~s.is_event & (next_sample(w) < s.after_time)):
            is_enough = (s.steps >= NUM_NODES - 1) & _are_even(w)
            with f.when(is_enough):
                rough = polynomial_is_rough(w, s.middle, s.node_time, s.node_step, s.is_three)
                s.is_multistep = ~rough
        s.is_vain = s.is_three & ~s.is_multistep & (next_sample(w) < s.after_time)
        s.alone = f.where(s.is_vain, s.first + 3, s.alone)
        with f.when(~s.is_vain):
            _report_some(w)
        loop.leave(~s.verdict.equals(ACCEPTED))
    with f.when(s.verdict.equals(ACCEPTED)):
        enter_node(w, s.steps)


def _report_some(w: LoopWriter) -> None:
    """Record samples of s.count steps from s.first on, by the polynomial or each alone."""
    f, s = w.f, w.s
    s.k = s.first
    with f.repeat() as loop:
        loop.leave(s.k >= s.first + s.count)
        s.step_end = f.where(s.is_event, s.event_end, time_of(w, s.k + 1))
        with f.when((next_sample(w) < s.step_end) | s.is_event):
            with f.when(s.is_multistep):
                _record_from_polynomial(w)
            with f.when(~s.is_multistep):
                _report_itself(w)
        # where that fails, the start of its step is entered
        with f.when(~s.verdict.equals(ACCEPTED)):
            enter_node(w, s.k)
        loop.leave(~s.verdict.equals(ACCEPTED))
        with f.when(~s.is_event):
            enter_node(w, s.k + 1)
            with f.repeat() as here:
                here.leave(next_sample(w) > s.step_end)
                find_inputs(w, s.step_end, w.y)
                record(w, s.step_end, w.y)
            enter_node(w, s.middle)
        s.reported, s.k = s.reported + 1, s.k + 1


def _record_from_polynomial(w: LoopWriter) -> None:
    """Record the samples before s.step_end from the polynomial."""
    f, s = w.f, w.s
    with f.repeat() as loop:
        time = next_sample(w)
        loop.leave(time >= s.step_end)
        polynomial_state(w, s.node_step, (time - s.node_time) / s.node_step, w.point)
        s.sample_time = time
        corrections = settle(w, time, w.point)
        s.verdict = f.where(corrections < 0, f.whole(0) - corrections, s.verdict)
        loop.leave(~s.verdict.equals(ACCEPTED))
        record(w, s.sample_time, w.point)


def _report_itself(w: LoopWriter) -> None:
    """Record the samples of the node's step by its own dense output, or by partial steps."""
    f, s, shape = w.f, w.s, w.shape
    t, h = s.node_time, s.node_step
    last = f.where(s.is_event, s.event_last, s.step_end)
    # known already for a step that an event ends: it is spoiled where dense output is rough
    s.rough = f.where(is_spoiled(w), f.whole(1), f.where(s.is_event, f.whole(0), UNKNOWN))
    with f.when(~s.rough.equals(1)):
        if shape.has_projection and not shape.num_events:
            evaluate(w, last, w.end, w.K(END_ROW))
        is_dense = prepare_dense(w, t, h, last)
        s.rough = f.where(is_dense, s.rough, 1)
    record_within(w, t, h, s.step_end)
    if shape.num_endings:
        with f.when(s.is_event & s.verdict.equals(ACCEPTED)):
            find_state(w, t, h, s.event_theta, s.step_end)
            with f.when(s.verdict.equals(ACCEPTED)):
                w.copy(w.point, w.next, shape.ny)
                record(w, s.step_end, w.next)

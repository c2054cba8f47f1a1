"""States within steps from the ends of several: the polynomial through eight of them.

Of a motion without breaks the states and rates at eight consecutive ends of steps determine a
polynomial of degree 15, see `hermite.py`. One evaluation, in the middle one of the seven steps,
tells how far it is off in that step and in the two beside it, and makes up for most of that. A
second one, halfway, tells whether it does: where forces change fast, a polynomial that is far off
may have the right slope at one place. So three steps report together, when three more are done. The
first and the last steps of a run, and those for which that is not good enough, report one by one,
each with evaluations of its own.

Places are fractions θ of the step with the evaluation, from its start.
"""

from __future__ import annotations

from noslip.simulation import hermite
from noslip.simulation.hermite import NUM_NODES
from noslip.simulation.native import call, fused, reals, unit
from noslip.simulation.rules import ACCEPTED, END_ROW, PROJECTED_ROW, PROJECTION_FAILED
from noslip.simulation.single.nodes import enter_node, time_of
from noslip.simulation.single.projection import settle
from noslip.simulation.single.rates import evaluate, rates_at
from noslip.simulation.single.samples import is_wanted, record, record_samples_at
from noslip.simulation.single.setup import LANES, setup_at
from noslip.simulation.weighted import weighted_nodes

# The polynomial is good enough where this share of its error before the correction (5) is within
# the tolerance. The correction leaves about a sixth of it. What the ends of steps are off
# themselves shows in the same number, at half its size or more, and is not corrected.
LEFT_SHARE = 0.7
# Of steps beside that of the evaluation, and of the last ones of a run, it tells less.
BESIDE_SHARE = 3.0 * LEFT_SHARE
# Halfway w' is small, and the slope tells of a C that changes within the step. Of one that changes
# its sign there the error is this share of the slope.
HALFWAY_SHARE = 0.25
# Neighboring steps of a motion without breaks differ by less than this factor.
UNEVEN = 2.0

_weigh = weighted_nodes(NUM_NODES)


@fused
def _stencil(s, row):
    """Pointer to one row of s.stencil: places, c, ℓ', weights of values and of slopes."""
    return reals(s.stencil + 8 * NUM_NODES * row)


@fused
def _add_nodes(s, h, out):
    """Add Σ_j a_j (y_j − y) + h b_j ẏ_j to out; the weights a_j have the sum 1 or 0.

    What does not change from node to node stays as it is, to the last bit.
    """
    a, b = s.stencil + 8 * 3 * NUM_NODES, s.stencil + 8 * 4 * NUM_NODES
    _weigh(s.nodes + 8 * LANES, s.node_size, 2 * s.width, s.width, out, s.y, a, b, h)


@fused
def state_across(s, h, theta, out):
    """State at θ of the step, to which the defect found was applied, into out."""
    x, result, defect = _stencil(s, 0), reals(out), reals(s.F)
    product, _ = hermite.node_product(x, theta)
    share = product * reals(s.stencil)[5 * NUM_NODES]
    hermite.value_weights(x, _stencil(s, 1), _stencil(s, 2), theta, _stencil(s, 3), _stencil(s, 4))
    y = reals(s.y)
    for i in range(s.width):
        result[i] = y[i] - share * defect[i]
    _add_nodes(s, h, out)


@fused
def _is_large(s, vector, share, following):
    """Whether a share of a vector misses the tolerance, in the norm in which steps must meet it."""
    values, y, end, absolute = reals(vector), reals(s.y), reals(following), reals(s.absolute)
    total = 0.0
    for i in range(s.ny):
        scale = absolute[i] + s.relative * max(abs(y[i]), abs(end[i]))
        total += (share * values[i] / scale) ** 2
    return not total <= s.ny


@fused
def _add_defect(s, t, h, at, out):
    """Add to out how far h times the slope misses the differential equation at a place."""
    row, result = rates_at(s, PROJECTED_ROW), reals(out)
    state_across(s, h, at, s.point)
    evaluate(s, t + at * h, s.point, row)
    rates = reals(row)
    for i in range(s.width):
        result[i] -= h * rates[i]
    x, c, d = _stencil(s, 0), _stencil(s, 1), _stencil(s, 2)
    hermite.slope_weights(x, c, d, at, _stencil(s, 3), _stencil(s, 4))
    _add_nodes(s, h, out)


@fused
def across_is_rough(s, k, t, h, is_beside):
    """Whether the polynomial through all nodes misses the tolerance in step k, or beside it.

    Leaves what `state_across` needs. How far it is off is known from how far it misses the
    differential equation at two places.
    """
    x, defect, left = _stencil(s, 0), reals(s.F), reals(s.stage)
    for j in range(NUM_NODES):
        x[j] = (reals(s.nodes)[j * s.node_size] - t) / h
    hermite.node_constants(x, _stencil(s, 1), _stencil(s, 2))
    at, steepest, largest = hermite.look(x)
    reals(s.stencil)[5 * NUM_NODES] = 1.0 / steepest
    following = s.nodes + 8 * (((k + 1) & (s.num_nodes - 1)) * s.node_size + LANES)
    is_last = k + NUM_NODES // 2 > s.steps + 1
    share = largest * (BESIDE_SHARE if is_last else LEFT_SHARE)
    if is_beside:
        before, after = (time_of(s, k - 1) - t) / h, (time_of(s, k + 2) - t) / h
        largest = max(hermite.largest(x, before, 0.0), hermite.largest(x, 1.0, after))
        share = max(share, largest * BESIDE_SHARE)
    # without a correction where it tells most, then what the correction leaves halfway
    for i in range(s.width):
        defect[i] = 0.0
    _add_defect(s, t, h, at, s.F)
    if _is_large(s, s.F, share / steepest, following):
        return True
    slope = hermite.node_product(x, 0.5)[1] / steepest
    for i in range(s.width):
        left[i] = -slope * defect[i]
    _add_defect(s, t, h, 0.5, s.stage)
    return _is_large(s, s.stage, HALFWAY_SHARE, following)


@fused
def _are_even(s):
    """Whether no step between the nodes is much shorter than its neighbor, as they are at a break.

    Across a break that no knot tells of, one slope does not tell how far a polynomial is off. The
    first steps of a run may grow, and the last one may be short.
    """
    first = s.steps - NUM_NODES + 1
    t = time_of(s, first + 1)
    before = t - time_of(s, first)
    for k in range(first + 1, s.steps):
        t_new = time_of(s, k + 1)
        after = t_new - t
        is_last = k + 1 == s.steps and t_new >= s.end_time
        if (after > UNEVEN * before and k > 2) or (before > UNEVEN * after and not is_last):
            return False
        t, before = t_new, after
    return True


@fused
def _report_itself(s, t, h, t_new):
    """Record the samples within the step of s.node by its own dense output: a verdict."""
    if s.project != 0 and s.events == 0:
        evaluate(s, t_new, s.end, rates_at(s, END_ROW))
    s.step_time, s.step_size, s.step_end, s.step_last = t, h, t_new, t_new
    s.is_again = 1
    call(s.report_step, (s.here,))
    s.is_again = 0
    return s.code


@fused
def _record_across(s, t, h, t_end):
    """Record the samples before a time from the polynomial that was looked at: a verdict."""
    while is_wanted(s, t_end):
        time = reals(s.sample_times)[s.filled]
        state_across(s, h, (time - t) / h, s.point)
        if not settle(s, time, s.point):
            return PROJECTION_FAILED
        record(s, time, s.point)
    return ACCEPTED


@unit
def report_steps(here):
    """Let the steps before the limit of a setup report that did not yet; leaves a verdict in code.

    Their samples are recorded, and those at their ends. They are states of the polynomial through
    all nodes; where that is too far off, or there are not enough nodes or too uneven ones, what a
    step finds by itself. Where one is not finite or not projected, the start of its step is
    entered, else the newest node.
    """
    s = setup_at(here)
    s.code = ACCEPTED
    alone = 0  # the steps before this one report one by one
    while s.reported < s.limit:
        first = s.reported
        # three steps together, where the second is in the middle of the nodes
        is_three = first >= alone and first + 1 + NUM_NODES // 2 == s.steps
        middle, after = (first + 1, first + 3) if is_three else (first, first + 1)
        enter_node(s, middle)
        t = reals(s.node)[0]
        h, is_across = time_of(s, middle + 1) - t, False
        if is_wanted(s, time_of(s, after)):
            is_across = s.steps >= NUM_NODES - 1 and _are_even(s)
            is_across = is_across and not across_is_rough(s, middle, t, h, is_three)
            if is_three and not is_across:
                alone = after
                continue
        for k in range(first, after):
            t_new = time_of(s, k + 1)
            if is_wanted(s, t_new):
                if is_across:
                    s.code = _record_across(s, t, h, t_new)
                else:
                    s.code = _report_itself(s, t, h, t_new)
                if s.code != ACCEPTED:
                    enter_node(s, k)
                    return
            enter_node(s, k + 1)
            record_samples_at(s, t_new)
            enter_node(s, middle)
            s.reported += 1
    enter_node(s, s.steps)

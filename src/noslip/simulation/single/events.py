"""Events in an accepted step: where their values cross zero, and which crossing ends the run.

They are looked at in the end and at the quarters of a step. A crossing is located on the dense
output; where that misses the tolerance, on steps of its own. All of it is compiled when a run first
has events.
"""

from __future__ import annotations

import math

import numpy as np

from noslip.simulation import rules
from noslip.simulation.native import call_at, copy, fused, reals, unit
from noslip.simulation.rules import BESIDE, CHECKS_PER_STEP, EPS, START_FRACTION, VANISHED
from noslip.simulation.single.dense import dense_is_rough, interpolate, partial_step, state_within
from noslip.simulation.single.projection import settle
from noslip.simulation.single.rates import find_inputs
from noslip.simulation.single.setup import setup_at

_crosses = fused(rules.crosses)
_expected_root = fused(rules.expected_root)


@fused
def event_values(s, t, h, theta, out):
    """Values of all events on the dense output at t + θh."""
    interpolate(s, theta, s.point)
    find_inputs(s, t + theta * h, s.point)
    call_at(s.events, t + theta * h, s.point, s.inputs, s.event_parameters, out)


@fused
def follow_angles(s, values):
    """Let angles go on from where they are now; they are the last values, without a direction."""
    i = 0
    for k in range(s.num_events):
        if math.isnan(reals(s.directions)[k]):
            reals(s.event_parameters)[i] = reals(values)[k]
            i += 1


@fused
def locate(s, t, h, event, left, right):
    """Root θ of one event between two fractions of a step, on its far side.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, else bisection. The
    root lies between a, the newest point, and b; c is the point before.
    """
    a, f_a, b, f_b = right, reals(s.right)[event], left, reals(s.left)[event]
    if f_a == 0.0:
        return right
    fraction = 0.5
    tolerance = 2.0 * EPS * max(1.0, abs(t) / h)
    for _ in range(200):
        if abs(b - a) <= tolerance:
            break
        least = 0.5 * tolerance / abs(b - a)
        x = a + min(max(fraction, least), 1.0 - least) * (b - a)
        event_values(s, t, h, x, s.probe)
        f_x = reals(s.probe)[event]
        if f_x == 0.0:
            return x
        if (f_x > 0.0) == (f_a > 0.0):
            c, f_c = a, f_a
        else:
            c, f_c, b, f_b = b, f_b, a, f_a
        a, f_a = x, f_x
        fraction = _expected_root(a, f_a, b, f_b, c, f_c)
    return max(a, b)


@fused
def refine(s, t, h, event, theta):
    """Root θ of an event on steps of their own, by secants from the root on dense output.

    Secants do not find where a value jumps over zero: there the root on dense output stays.
    """
    a, b = theta, theta - BESIDE if theta > 0.5 else theta + BESIDE
    f_a = f_b = np.nan
    largest = 0.0
    for attempt in range(10):
        partial_step(s, t, h, a)
        find_inputs(s, t + a * h, s.point)
        call_at(s.events, t + a * h, s.point, s.inputs, s.event_parameters, s.probe)
        f = reals(s.probe)[event]
        if f == 0.0:
            return a
        if attempt == 0:
            f_a, a, b, largest = f, b, a, abs(f)
            continue
        f_b, f_a = f_a, f
        if attempt == 1:
            largest = max(largest, abs(f))
        if f_a == f_b or abs(a - b) <= 4.0 * EPS * max(1.0, abs(t) / h):
            break
        a, b = min(max(a - f_a * (a - b) / (f_a - f_b), 0.0), 1.0), a
    return a if abs(f_a) <= VANISHED * largest else theta


@fused
def is_rough(s, t, h):
    """Whether the step's dense output is rough; it is asked once."""
    if s.rough < 0:
        s.rough = 1 if dense_is_rough(s, t, h) else 0
    return s.rough == 1


@fused
def note_crossing(s, t, h, event, theta):
    """Note an event that does not end the run: which, when, and the state; False: no projection."""
    if is_rough(s, t, h):
        theta = refine(s, t, h, event, theta)
    time = t + theta * h
    state_within(s, t, h, theta, is_rough(s, t, h))
    is_settled = settle(s, time, s.point)
    place = s.crossings + 8 * s.num_crossings * (s.ny + 2)
    reals(place)[0], reals(place)[1] = event, time
    copy(s.point, place + 16, s.ny)
    s.num_crossings += 1
    return is_settled


@fused
def first_ending(s, t, h, is_first):
    """First event of a step that ends the run, or −1, its fraction θ, and whether all went well.

    The others before it are noted. Leaves the last values in s.left.
    """
    before, after, directions = reals(s.left), reals(s.right), reals(s.directions)
    # the end was looked at from its start, which is too far for angles
    has_angles = math.isnan(directions[s.num_events - 1])
    left = 0.0
    if is_first:
        # angles go on from the start itself, which may be where they jump
        for left in (0.0, START_FRACTION):
            event_values(s, t, h, left, s.left)
            follow_angles(s, s.left)
    for check in range(1, CHECKS_PER_STEP + 1):
        right = check / CHECKS_PER_STEP
        if check == CHECKS_PER_STEP and not has_angles:
            copy(s.at_end, s.right, s.num_events)
        else:
            event_values(s, t, h, right, s.right)
        # those that end the run come first, so that no later crossing is noted
        found, theta = -1, 2.0
        for k in range(s.num_events):
            if _crosses(before[k], after[k], directions[k]):
                root = locate(s, t, h, k, left, right)
                if k < s.num_endings:
                    if root < theta:
                        found, theta = k, root
                elif root <= theta and not note_crossing(s, t, h, k, root):
                    return found, theta, False
        if found >= 0:
            return found, theta, True
        # NaN leaves the value before it in place. Zero does not: a value that reached it has
        # crossed, and does not cross once more by resting there or by going on.
        for k in range(s.num_events):
            if not math.isnan(after[k]):
                before[k] = after[k]
        follow_angles(s, s.left)
        left = right
    return -1, 1.0, True


@unit
def find_event(here):
    """Look for events in the step of a setup, which is left event, theta and rough."""
    s = setup_at(here)
    t, h = s.step_time, s.step_size
    event, theta, is_settled = first_ending(s, t, h, s.steps == 0)
    if is_settled and event >= 0 and is_rough(s, t, h):
        theta = refine(s, t, h, event, theta)
    s.event, s.theta, s.is_settled = event, theta, 1 if is_settled else 0

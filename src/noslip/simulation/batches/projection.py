"""States brought on the constraints, each lane by as many corrections as it needs."""

from __future__ import annotations

import math

from noslip.simulation import rules
from noslip.simulation.batches.conditions import blend
from noslip.simulation.batches.rates import find_inputs
from noslip.simulation.batches.setup import CORRECTIONS, MASK, RESIDUAL, SELECT, real, word, word_at
from noslip.simulation.native import call, native, reals


@native
def project(s, time, x):
    """Bring x on the constraints, with the inputs found, in the lanes of SELECT.

    CORRECTIONS says how many each lane took, −1 where that failed. SELECT is spent.
    """
    lanes, select, corrections = s.lanes, word(s, SELECT), word(s, CORRECTIONS)
    mask, before, newton = word(s, MASK), real(s, RESIDUAL), reals(s.newton)
    for j in range(lanes):
        corrections[j] = -1 if select[j] != 0 else 0
        before[j] = math.inf
    for correction in range(rules.MAX_PROJECTIONS):
        call(s.project, (time, x, s.inputs, s.parameters, s.newton))
        moves, goes_on = False, False
        for j in range(lanes):
            mask[j] = 0
            if select[j] == 0:
                continue
            residual = newton[s.nx * lanes + j]
            if residual <= s.projection or is_stuck(s, x, j, correction, before[j], residual):
                corrections[j], select[j] = correction, 0
                continue
            before[j], mask[j], moves = residual, -1, True
            if residual * residual <= rules.SURELY * s.projection:
                corrections[j], select[j] = correction + 1, 0
            else:
                goes_on = True
        if moves:
            blend(s, word_at(s, MASK), s.newton, x, s.nx)
        if not goes_on:
            return


@native
def is_stuck(s, x, j, correction, before, residual):
    """Whether a residual that no longer halves is the rounding of large coordinates."""
    if correction <= 2 or not before < 2.0 * residual:
        return False
    largest = 1.0
    for i in range(s.nx):
        largest = max(largest, abs(reals(x)[i * s.lanes + j]))
    return 2.0 * residual <= rules.ROUNDING * largest


@native
def settle(s, time, y):
    """Project states that are reported and find their inputs, in the lanes of SELECT."""
    find_inputs(s, time, y)
    if s.project == 0:
        corrections = word(s, CORRECTIONS)
        for j in range(s.lanes):
            corrections[j] = 0
        return
    project(s, time, y)
    if s.generator != 0:
        find_inputs(s, time, y)

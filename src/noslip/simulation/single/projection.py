"""States brought back on the constraints by Newton's method."""

from __future__ import annotations

import numpy as np

from noslip.simulation.native import call_at, copy, fused, reals
from noslip.simulation.rules import MAX_PROJECTIONS, ROUNDING, SURELY
from noslip.simulation.single.rates import all_finite, find_inputs


@fused
def project(s, t, x):
    """Bring x on the constraints with the inputs found; number of corrections.

    Or −1 where they do not bring it there, −2 where they are no numbers.
    """
    largest, before = 1.0, np.inf
    for i in range(s.nx):
        largest = max(largest, abs(reals(x)[i]))
    for correction in range(MAX_PROJECTIONS):
        call_at(s.project, t, x, s.inputs, s.parameters, s.newton)
        residual = reals(s.newton)[s.nx]
        # Newton's method squares a small residual; one that no longer halves is the rounding of
        # large coordinates, such as the angle of a wheel after many turns.
        is_stuck = correction > 2 and before < 2.0 * residual <= ROUNDING * largest
        if residual <= s.projection or is_stuck:
            return correction
        before = residual
        if not all_finite(s.newton, s.nx):
            return -2
        copy(s.newton, x, s.nx)
        if residual * residual <= SURELY * s.projection:
            return correction + 1
    return -1


@fused
def settle(s, t, y):
    """Project a reported state and find its inputs; False if that failed."""
    find_inputs(s, t, y)
    if s.project == 0:
        return True
    corrections = project(s, t, y)
    if corrections > 0:
        find_inputs(s, t, y)
    return corrections >= 0

"""Stages of a step, by the numbers of both methods: y + h Σ_j a_j k_j, and the rates there."""

from __future__ import annotations

import numpy as np

from noslip.simulation import dop853
from noslip.simulation.dop853 import NUM_STAGES_DENSE
from noslip.simulation.native import call, fused, reals, unit
from noslip.simulation.rules import RK4_ROWS, RK4_TIMES, STAGE_FLOOR
from noslip.simulation.single.rates import evaluate, first_unhealthy, rates_at
from noslip.simulation.single.setup import setup_at
from noslip.simulation.weighted import weighted_steps, weighted_sums


def _nonzero(row):
    """The weights that are not zero, or one that is, by column."""
    return {int(j): float(row[j]) for j in np.flatnonzero(row)} or {0: 0.0}


# Stages of DOP853, three stages of RK4 and its end.
ROWS = [*map(_nonzero, dop853.A), *RK4_ROWS]
_step = weighted_steps(ROWS)
_error = weighted_sums([_nonzero(dop853.E5), _nonzero(dop853.E3)])
TIMES = np.array([*dop853.C, *RK4_TIMES])
RK4_START, RK4_END = NUM_STAGES_DENSE, NUM_STAGES_DENSE + 3


@fused
def combine(s, stage, h, out):
    """State of a stage, y + h Σ_j a_j k_j, into out."""
    _step(stage, s.K, s.row, s.ny, out, s.y, h)


@fused
def error_norm(s, h):
    """Norm of the error of a step of DOP853 to s.end; s.next and s.point are written over."""
    _error(0, s.K, s.row, s.ny, s.next)
    _error(1, s.K, s.row, s.ny, s.point)
    errors, states = (reals(s.next), reals(s.point)), (reals(s.y), reals(s.end))
    return dop853.error_norm(*errors, s.ny, h, *states, reals(s.absolute), s.relative)


@fused
def evaluate_stages(s, t, h, last, first, after, row):
    """Rates of consecutive stages into the rows of K from ``row`` on; none is later than last.

    Returns whether all stages keep away from singular places, where rates mean nothing.
    """
    s.stages_time, s.stages_size, s.stages_last = t, h, last
    s.stages_first, s.stages_after, s.stages_row = first, after, row
    call(s.take_stages, (s.here,))
    return s.is_healthy != 0


@unit
def take_stages(here):
    """The stages that a setup asks for."""
    s = setup_at(here)
    t, h, last = s.stages_time, s.stages_size, s.stages_last
    first, row = s.stages_first, s.stages_row
    is_healthy = True
    for stage in range(first, s.stages_after):
        combine(s, stage, h, s.stage)
        evaluate(s, min(t + TIMES[stage] * h, last), s.stage, rates_at(s, row + stage - first))
        is_healthy = is_healthy and first_unhealthy(s, STAGE_FLOOR) < 0
    s.is_healthy = 1 if is_healthy else 0

"""Stages of a step, by the numbers of both methods: y + h Σ_j a_j k_j, and the rates there."""

from __future__ import annotations

import numpy as np

from noslip.simulation import dop853
from noslip.simulation.dop853 import NUM_STAGES_DENSE
from noslip.simulation.native import fused, reals
from noslip.simulation.rules import RK4_ROWS, RK4_TIMES, STAGE_FLOOR
from noslip.simulation.single.rates import evaluate, first_unhealthy, rates_at
from noslip.simulation.single.setup import LANES

# Stages of both methods by their nonzero weights: row k is columns and weights from starts[k] up to
# starts[k + 1]. Column 0 stands first in every row. After DOP853: three stages of RK4 and its end.
_ROWS: list[dict[int, float]] = [
    *({int(j): float(row[j]) for j in np.flatnonzero(row)} for row in dop853.A),
    *({0: 0.0, **row} for row in RK4_ROWS),
]
ROW_STARTS = np.cumsum([0, *(len(row) for row in _ROWS)])
ROW_COLUMNS = np.array([column for row in _ROWS for column in row])
ROW_WEIGHTS = np.array([weight for row in _ROWS for weight in row.values()])
TIMES = np.array([*dop853.C, *RK4_TIMES])
RK4_START, RK4_END = NUM_STAGES_DENSE, NUM_STAGES_DENSE + 3


@fused
def combine(s, stage, h, out):
    """State of a stage, y + h Σ_j a_j k_j, into out."""
    first, after = ROW_STARTS[stage], ROW_STARTS[stage + 1]
    for i in range(0, s.ny, LANES):
        y, state = reals(s.y + 8 * i), reals(out + 8 * i)
        x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
        for j in range(first, after):
            k, a = reals(s.K + 8 * (ROW_COLUMNS[j] * s.row + i)), ROW_WEIGHTS[j]
            x0 += a * k[0]
            x1 += a * k[1]
            x2 += a * k[2]
            x3 += a * k[3]
        state[0], state[1] = y[0] + h * x0, y[1] + h * x1
        state[2], state[3] = y[2] + h * x2, y[3] + h * x3


@fused
def evaluate_stages(s, t, h, last, first, after, row):
    """Rates of consecutive stages into the rows of K from ``row`` on; none is later than last.

    Returns whether all stages keep away from singular places, where rates mean nothing.
    """
    is_healthy = True
    for stage in range(first, after):
        combine(s, stage, h, s.stage)
        evaluate(s, min(t + TIMES[stage] * h, last), s.stage, rates_at(s, row + stage - first))
        is_healthy = is_healthy and first_unhealthy(s, STAGE_FLOOR) < 0
    return is_healthy

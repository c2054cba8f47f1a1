"""Coordinates of many starts that satisfy g(q, t) = 0 and keep what is given.

The step of each trajectory is that of ``simulation.start_closing``,

    [G; N_fixed] δ = [−g; 0],    q ← q + N δ

"""

from __future__ import annotations

import numpy as np

from noslip.engines.system import System
from noslip.simulation.batches.algebra import apply, dot, largest, least_solution
from noslip.simulation.batches.arrays import Array
from noslip.simulation.start_closing import TOLERANCE
from noslip.simulation.start_rows import Layout, Rows

MAX_CORRECTIONS = 20


def close(
    system: System,
    layout: Layout,
    q: Array,
    fixed: list[int],
    t: Array,
    w: Array,
    params: Array,
) -> tuple[Array, Rows, Array]:
    """Move the free coordinates until g(q, t) = 0; the rows there, and where that succeeded."""
    length = system.kinematics.probe.length
    tolerance = TOLERANCE * max(1.0, length)
    rows = rows_at(layout, t, q, w, params)
    best = largest(rows.g)
    is_open = best > 1e-15 * np.maximum(1.0, largest(q))
    for _ in range(MAX_CORRECTIONS):
        k = np.flatnonzero(is_open)
        if not k.size:
            break
        part = Rows(*[matrix[k] for matrix in rows])
        stacked = np.concatenate([part.A[:, layout.holonomic], _held(layout, part, fixed)], axis=1)
        wanted = np.zeros(stacked.shape[:2])
        wanted[:, : part.g.shape[1]] = -part.g
        step = least_solution(stacked / layout.scale, wanted)
        size, longest = np.sqrt(dot(step, step)), np.maximum(length, best[k])
        step *= np.minimum(1.0, longest / np.maximum(size, 1e-300))[:, None]
        trial = normalized(system, q[k] + apply(part.N, step / layout.scale))
        trial[:, fixed] = q[k][:, fixed]
        there = rows_at(layout, t[k], trial, w[k], params[k])
        left = largest(there.g)
        is_better = left < best[k]
        moved = k[is_better]
        q[moved], best[moved] = trial[is_better], left[is_better]
        for matrix, new in zip(rows, there, strict=True):
            matrix[moved] = new[is_better]
        is_open[k] = is_better & (left > 1e-15 * np.maximum(1.0, largest(trial)))
    return q, rows, best <= tolerance


def _held(layout: Layout, rows: Rows, fixed: list[int]) -> Array:
    """Rows on the speeds that keep coordinates where they are; of a quaternion, three speeds."""
    parts, rest = [], list(fixed)
    for o in layout.orientations:
        quaternion = set(range(o.quaternion, o.quaternion + 4))
        if quaternion <= set(fixed):
            unit = layout.unit[o.speed : o.speed + 3]
            parts.append(np.broadcast_to(unit, (len(rows.N), *unit.shape)))
            rest = [k for k in rest if k not in quaternion]
    return np.concatenate([rows.N[:, rest], *parts], axis=1)


def rows_at(layout: Layout, t: Array, q: Array, w: Array, params: Array) -> Rows:
    """The rows of many configurations: every matrix with an index of the trajectory before."""
    assert layout.function is not None
    values = layout.function.map(t, q, w, params)
    return Rows(*[values[:, place].reshape(len(q), *shape) for place, shape in layout.matrices])


def normalized(system: System, q: Array) -> Array:
    """The coordinates with unit quaternions."""
    q = q.copy()
    for k in system.kinematics.probe.quaternions:
        part = q[:, k : k + 4]
        with np.errstate(invalid="ignore"):  # what is not finite is refused later
            part /= np.sqrt(dot(part, part))[:, None]
    return q

"""The limit of friction along a path: what the ground must hold is bounded in all directions.

A vehicle that is driven, braked and led sideways as a whole needs the friction coefficient

    √(s̈² + (κ ṡ²)²) / g ≤ μ

The circle is replaced by a polygon inside it, whose sides are rows that are linear in s̈ and ṡ²:

    (1)  cos α_k s̈ + sin α_k |κ| ṡ² ≤ μ g cos(π/2n),   α_k from 0 to π in n steps

Single wheels may need more, where loads are not equal: the audit of a run tells.
"""

from __future__ import annotations

import numpy as np

from noslip.control.paths.base import AbstractPath, Array
from noslip.control.paths.panels import arc_table
from noslip.control.paths.path import length
from noslip.control.timing.limits import LimitRows

SIDES = 12  # of half the polygon: it loses 0.9 % at most


def grip_rows(path: AbstractPath, acceleration: float, count: int = 400) -> LimitRows:
    """Rows (1) of a path, for `Limits(rows=…)`.

    Parameters
    ----------
    path : what is driven along.
    acceleration : highest √(s̈² + (κ ṡ²)²), m/s²: the friction coefficient times g.
    count : number of places on the path.
    """
    table, whole = arc_table(path), length(path)
    breaks = table.arc_length(np.array(path.breaks))
    # the curvature may jump at a break: it is read on both sides
    hair = 1e-9 * whole
    inner = breaks[1:-1]
    s = np.unique([*np.linspace(0.0, whole, count), *(inner - hair), *(inner + hair)])
    bend = np.abs(table.curvature(table.parameter(s)))[:, None]
    alpha = np.linspace(0.0, np.pi, SIDES + 1)
    shape = (len(s), len(alpha))
    bound = acceleration * np.cos(np.pi / (2 * SIDES))
    return LimitRows(
        arc_lengths=s,
        inertia=np.broadcast_to(np.cos(alpha), shape),
        squared=bend * np.sin(alpha),
        constant=np.full(shape, -bound),
        names=("friction",) * len(alpha),
    )


def joined_rows(first: LimitRows, second: LimitRows) -> LimitRows:
    """Both limits at once, on the places of both.

    Parameters
    ----------
    first, second : rows of one path.
    """
    end = min(first.arc_lengths[-1], second.arc_lengths[-1])
    s = np.unique(np.concatenate([first.arc_lengths, second.arc_lengths]))
    s = np.append(s[s < end * (1 - 1e-12)], end)
    columns = [np.hstack(both) for both in zip(first.at(s), second.at(s), strict=True)]
    parts = (first, second)

    def resistance(at: Array, v: Array) -> tuple[Array, Array]:
        none = [np.zeros((len(at), len(rows.names))) for rows in parts]
        found = [
            (zero, zero) if rows.resistance is None else rows.resistance(at, v)
            for rows, zero in zip(parts, none, strict=True)
        ]
        return np.hstack([r for r, _ in found]), np.hstack([rate for _, rate in found])

    return LimitRows(
        arc_lengths=s,
        inertia=columns[0],
        squared=columns[1],
        constant=columns[2],
        names=(*first.names, *second.names),
        resistance=resistance if any(rows.resistance for rows in parts) else None,
    )

"""Tree speeds of many starts: A v + a = 0 and what is given hold, free independent ones are least.

All trajectories are solved together, by least squares in the scaled speeds v̂ = L v:

    C v̂ = d      v̂ = C⁺ d + P y      with P = 1 − C⁺C and y such that |E v̂| is least
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from noslip.engines.system import System
from noslip.simulation.batches.algebra import (
    angular_velocity,
    apply,
    each,
    largest,
    least_solution,
    product,
    pseudo_inverse,
)
from noslip.simulation.batches.arrays import Array
from noslip.simulation.start_angles import other_angles
from noslip.simulation.start_rows import Layout, Orientation, Rows, row_weights
from noslip.spatial import intrinsic_angles


def fit_speeds(
    system: System, layout: Layout, given: Mapping[str, Array], q: Array, rows: Rows
) -> tuple[Array, Array]:
    """Tree speeds with A v + a = 0 and the given values; where they fit."""
    C, d = _speed_rows(layout, given, q, rows)
    weight = row_weights(C / layout.scale)
    C_hat, d_hat = C / layout.scale * weight[:, :, None], d * weight
    # of the rows, those that the others do not imply
    kept = [*system.kinematics.kept, *range(rows.A.shape[1], C.shape[1])]
    E_hat, zero = _zero_speeds(layout, given, rows)
    free = C.shape[2] - len(kept)
    if free == E_hat.shape[1]:
        # all independent speeds that are not given are zero
        square, wanted = np.concatenate([C_hat[:, kept], E_hat], axis=1), d_hat[:, kept]
        v_hat = least_solution(square, np.concatenate([wanted, zero], axis=1))
    elif free == 0:
        v_hat = least_solution(C_hat[:, kept], d_hat[:, kept])
    else:
        v_hat = _least_speeds(C_hat, d_hat, rows.E / layout.scale)
    v = v_hat / layout.scale
    missed = largest((apply(C, v) - d) * weight)
    return v, missed <= 1e-9 * np.maximum(1.0, largest(v_hat))


def _speed_rows(
    layout: Layout, given: Mapping[str, Array], q: Array, rows: Rows
) -> tuple[Array, Array]:
    """Rows and values that the speeds must satisfy."""
    n, parts, values = len(q), [rows.A], [-rows.a]
    unit = np.broadcast_to(layout.unit, (n, *layout.unit.shape))
    for name, value in given.items():
        if name in layout.speeds:
            k = layout.speeds[name]
            parts.append(unit[:, k : k + 1])
        elif name in layout.independent_speeds:
            k = layout.independent_speeds[name]
            parts.append(rows.E[:, k : k + 1])
        else:
            continue
        values.append(np.broadcast_to(value, n)[:, None])
    for o in layout.orientations:
        if any(name in given for name in o.rate_names):
            angles, rates = _angles(o, given, q), given_values(o.rate_names, given, n)
            parts.append(unit[:, o.speed : o.speed + 3])
            values.append(angular_velocity(angles, rates, o.angles.sequence))
    return np.concatenate(parts, axis=1), np.concatenate(values, axis=1)


def _angles(o: Orientation, given: Mapping[str, Array], q: Array) -> list[Array]:
    """Named angles of an orientation: as given if all are, else those of its quaternion."""
    if all(name in given for name in o.angle_names):
        return given_values(o.angle_names, given, len(q))
    quaternion = list(q[:, o.quaternion : o.quaternion + 4].T)
    atan2, sequence = partial(each, math.atan2), o.angles.sequence
    angles = intrinsic_angles(quaternion, sequence, atan2, lambda x, y: np.sqrt(x * x + y * y))
    if o.angle_names[1] not in given:
        return angles
    # of the two sets of angles the one nearer to the given middle angle
    other, middle = other_angles(angles, sequence), given[o.angle_names[1]]
    is_nearer = _apart(other[1], middle) < _apart(angles[1], middle)
    return [np.where(is_nearer, b, a) for a, b in zip(angles, other, strict=True)]


def _apart(a: Array, b: Array) -> Array:
    return np.abs(np.remainder(a - b + math.pi, 2 * math.pi) - math.pi)


def given_values(names: tuple[str, ...], given: Mapping[str, Array], n: int) -> list[Array]:
    """Values by name, zero where they are not given."""
    return [np.broadcast_to(given.get(name, np.zeros(1)), n) for name in names]


def _zero_speeds(layout: Layout, given: Mapping[str, Array], rows: Rows) -> tuple[Array, Array]:
    """Rows of the independent speeds that are not given, and zeros."""
    places = [k for name, k in layout.independent_speeds.items() if name not in given]
    E_hat = rows.E[:, places] / layout.scale
    return E_hat, np.zeros(E_hat.shape[:2])


def _least_speeds(C: Array, d: Array, E: Array) -> Array:
    """Speeds with C v = d for which |E v| is least."""
    inverse = pseudo_inverse(C)
    v = apply(inverse, d)
    # one more round takes the residual to rounding
    v = v + apply(inverse, d - apply(C, v))
    P = np.eye(C.shape[2]) - product(inverse, C)
    # the trace of a projection is its rank: where nothing is free, what is left of P is rounding
    P[np.trace(P, axis1=1, axis2=2) < 0.5] = 0.0
    back = pseudo_inverse(product(E, P))
    return v - apply(P, apply(back, apply(E, v)))

"""Consistent starts of many trajectories at once, by the rules of ``start``.

Coordinates that are given stay; the others move as little as they must to satisfy g(q, t) = 0.
Speeds that are given stay; independent speeds that are not given are as small as they can be. All
rows are evaluated natively and solved together, by least squares in the scaled speeds v̂ = L v:

    C v̂ = d      v̂ = C⁺ d + P y      with P = 1 − C⁺C and y such that |E v̂| is least

Where that does not succeed, as with orientations of which only some angles are given, a trajectory
is completed by :func:`complete_start` alone, which tries harder and knows what to say.

A start has the same bits whatever other trajectories there are: see ``algebra``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from noslip.engines.system import System
from noslip.errors import NoslipError
from noslip.simulation.batches.algebra import (
    angular_velocity,
    apply,
    dot,
    each,
    largest,
    least_solution,
    product,
    pseudo_inverse,
    quaternions,
)
from noslip.simulation.batches.arrays import Array
from noslip.simulation.start import complete_start
from noslip.simulation.start_closing import TOLERANCE
from noslip.simulation.start_rows import Layout, Orientation, Rows, layout_of
from noslip.spatial import intrinsic_angles

BLOCK = 1024  # trajectories completed together
MAX_CORRECTIONS = 20

#: From trajectories, and their coordinates, to the values of the speed inputs at the start.
SpeedInputs = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class Starts:
    """Coordinates (n, nq), independent speeds (n, nf) and costates (n, nc)."""

    q: Array
    eta: Array
    mu: Array


def complete_starts(
    system: System,
    given: Mapping[str, Array],
    *,
    count: int,
    time: float,
    parameters: Array,
    speed_inputs: SpeedInputs | None,
) -> Starts:
    """Consistent starts that keep what is given.

    Parameters
    ----------
    system : compiled system.
    given : values by name, one or one for each trajectory.
    count : trajectories.
    time : s.
    parameters : (1, np) or (count, np).
    speed_inputs : values of the speed inputs at the start, if there are any.

    Raises
    ------
    SimulationError : as :func:`complete_start`, with the number of the trajectory.
    """
    layout = layout_of(system)
    is_shared = len(parameters) == 1 and all(len(v) == 1 for v in given.values())
    num_starts = 1 if is_shared and speed_inputs is None else count
    parts = [
        _complete(
            system,
            layout,
            {name: _part(values, k) for name, values in given.items()},
            k,
            time,
            _part(parameters, k),
            speed_inputs,
        )
        for k in np.array_split(np.arange(num_starts), -(-num_starts // BLOCK))
    ]
    starts = _joined(parts)
    if num_starts < count:
        starts = Starts(*(np.tile(part, (count, 1)) for part in (starts.q, starts.eta, starts.mu)))
    return starts


def _joined(parts: list[Starts]) -> Starts:
    q, eta, mu = (np.concatenate([getattr(p, name) for p in parts]) for name in Starts.__slots__)
    return Starts(q, eta, mu)


def _part(values: Array, trajectories: Array) -> Array:
    """Values of some trajectories."""
    if len(values) == 1:
        return np.broadcast_to(values, (len(trajectories), *values.shape[1:]))
    return values[trajectories]


def _complete(
    system: System,
    layout: Layout,
    given: Mapping[str, Array],
    trajectories: Array,
    time: float,
    params: Array,
    speed_inputs: SpeedInputs | None,
) -> Starts:
    """Starts of a block of trajectories."""
    n = len(trajectories)
    alone = partial(_alone, system, given, trajectories, time, params, speed_inputs)
    if layout.function is None:
        # a long mechanism is completed joint by joint
        return _joined([alone(k) for k in range(n)])
    alone(0)  # says what is wrong with what is given to all
    q, fixed = _given_coordinates(system, layout, given, n)
    t, w = np.full(n, time), np.zeros((n, len(system.model.speed_inputs)))
    q, rows, is_closed = _close(system, layout, q, fixed, t, w, params)
    if speed_inputs is not None:
        w = speed_inputs(trajectories, q)
        rows = _rows(layout, t, q, w, params)
    v, is_fit = _speeds(system, layout, given, q, rows)
    eta = apply(rows.E, v)
    mu = np.zeros((n, len(layout.costates)))
    for k, name in enumerate(layout.costates):
        mu[:, k] = given.get(name, 0.0)
    for k in np.flatnonzero(~(is_closed & is_fit)).tolist():
        start = alone(k)
        q[k], eta[k] = start.q[0], start.eta[0]
    return Starts(q, eta, mu)


def _alone(
    system: System,
    given: Mapping[str, Array],
    trajectories: Array,
    time: float,
    params: Array,
    speed_inputs: SpeedInputs | None,
    k: int,
) -> Starts:
    """One start, by the rules of a single run."""

    def inputs(q: Array) -> Array:
        assert speed_inputs is not None
        return speed_inputs(trajectories[k : k + 1], q[None])[0]

    try:
        start = complete_start(
            system,
            {name: float(values[k]) for name, values in given.items()},
            time=time,
            speed_inputs=inputs if speed_inputs else None,
            parameters=params[k],
        )
    except NoslipError as error:
        if not len(trajectories) > 1:
            raise
        fault = error.faults[0]
        place = f"{fault.where}, trajectory {trajectories[k]}"
        raise type(error)(fault.what, place, fault.fix) from None
    return Starts(start.q[None], start.eta[None], start.mu[None])


def _given_coordinates(
    system: System, layout: Layout, given: Mapping[str, Array], n: int
) -> tuple[Array, list[int]]:
    """Rest positions overwritten by what is given, and the places that must not move."""
    q, fixed = np.tile(layout.rest, (n, 1)), []
    for name, values in given.items():
        if name in layout.coordinates:
            q[:, layout.coordinates[name]] = values
            fixed.append(layout.coordinates[name])
    for o in layout.orientations:
        if any(name in given for name in o.angle_names):
            at = slice(o.quaternion, o.quaternion + 4)
            q[:, at] = quaternions(_values(o.angle_names, given, n), o.angles.sequence)
            fixed += range(at.start, at.stop)
    return _normalized(system, q), sorted(fixed)


def _values(names: tuple[str, ...], given: Mapping[str, Array], n: int) -> list[Array]:
    """Values by name, zero where they are not given."""
    return [np.broadcast_to(given.get(name, np.zeros(1)), n) for name in names]


def _angles(o: Orientation, given: Mapping[str, Array], q: Array) -> list[Array]:
    """Named angles of an orientation: as given if all are, else those of its quaternion."""
    if all(name in given for name in o.angle_names):
        return _values(o.angle_names, given, len(q))
    quaternion = list(q[:, o.quaternion : o.quaternion + 4].T)
    atan2 = partial(each, math.atan2)
    return intrinsic_angles(
        quaternion, o.angles.sequence, atan2, lambda x, y: np.sqrt(x * x + y * y)
    )


def _normalized(system: System, q: Array) -> Array:
    """The coordinates with unit quaternions."""
    q = q.copy()
    for k in system.kinematics.probe.quaternions:
        part = q[:, k : k + 4]
        with np.errstate(invalid="ignore"):  # what is not finite is refused later
            part /= np.sqrt(dot(part, part))[:, None]
    return q


def _rows(layout: Layout, t: Array, q: Array, w: Array, params: Array) -> Rows:
    """The rows of many configurations: every matrix with an index of the trajectory before."""
    assert layout.function is not None
    values = layout.function.map(t, q, w, params)
    return Rows(*[values[:, place].reshape(len(q), *shape) for place, shape in layout.matrices])


def _close(
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
    rows = _rows(layout, t, q, w, params)
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
        trial = _normalized(system, q[k] + apply(part.N, step / layout.scale))
        trial[:, fixed] = q[k][:, fixed]
        there = _rows(layout, t[k], trial, w[k], params[k])
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


def _speeds(
    system: System, layout: Layout, given: Mapping[str, Array], q: Array, rows: Rows
) -> tuple[Array, Array]:
    """Tree speeds with A v + a = 0 and the given values; where they fit."""
    C, d = _speed_rows(layout, given, q, rows)
    weight = 1.0 / np.maximum(np.sqrt(dot(C / layout.scale, C / layout.scale)), 1e-12)
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
    back = pseudo_inverse(product(E, P))
    return v - apply(P, apply(back, apply(E, v)))


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
            angles, rates = _angles(o, given, q), _values(o.rate_names, given, n)
            parts.append(unit[:, o.speed : o.speed + 3])
            values.append(angular_velocity(angles, rates, o.angles.sequence))
    return np.concatenate(parts, axis=1), np.concatenate(values, axis=1)

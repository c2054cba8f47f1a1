"""Consistent starts of many trajectories at once, by the rules of ``simulation.start``.

Coordinates that are given stay; the others move as little as they must to satisfy g(q, t) = 0, in
``start_closing``. Speeds that are given stay; independent speeds that are not given are as small as
they can be, in ``start_speeds``. All rows are evaluated natively.

Where that does not succeed, as with orientations of which only some angles are given, a trajectory
is completed by :func:`complete_start` alone, which tries harder and knows what to say.

A start has the same bits whatever other trajectories there are: see ``algebra``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from noslip.engines.system import System
from noslip.errors import NoslipError
from noslip.simulation.batches.algebra import apply, largest, quaternions
from noslip.simulation.batches.arrays import Array
from noslip.simulation.batches.start_closing import close, normalized, rows_at
from noslip.simulation.batches.start_speeds import fit_speeds, given_values
from noslip.simulation.start import complete_start
from noslip.simulation.start_rows import Layout, layout_of
from noslip.simulation.start_speeds import CARRIED

BLOCK = 1024  # trajectories completed together

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
    q, rows, is_closed = close(system, layout, q, fixed, t, w, params)
    if speed_inputs is not None:
        w = speed_inputs(trajectories, q)
        rows = rows_at(layout, t, q, w, params)
    v, is_fit = fit_speeds(system, layout, given, q, rows)
    eta = apply(rows.E, v)
    mu = np.zeros((n, len(layout.costates)))
    for k, name in enumerate(layout.costates):
        mu[:, k] = given.get(name, 0.0)
    is_carried = (system.kinematics.probe.rank is None) & _carried(
        system, t, Starts(q, eta, mu), w, params, apply(rows.N, v)
    )
    for k in np.flatnonzero(~(is_closed & is_fit & is_carried)).tolist():
        start = alone(k)
        q[k], eta[k] = start.q[0], start.eta[0]
    return Starts(q, eta, mu)


def _carried(
    system: System, t: Array, starts: Starts, w: Array, params: Array, rate: Array
) -> NDArray[np.bool_]:
    """(n,) whether S η + s gives the coordinate rates (n, nq) of the completed speeds."""
    n, num_u = len(t), len(system.model.inputs)
    work = np.zeros((n, int(system.does_work)))
    x = np.concatenate([starts.q, starts.eta, starts.mu, work], axis=1)
    u = np.concatenate([np.zeros((n, num_u)), w, np.zeros_like(w)], axis=1)
    off = largest(system.rates.map(t, x, u, params)[:, : rate.shape[1]] - rate)
    return np.asarray(off <= CARRIED * np.maximum(1.0, largest(rate)))


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
            q[:, at] = quaternions(given_values(o.angle_names, given, n), o.angles.sequence)
            fixed += range(at.start, at.stop)
    return normalized(system, q), sorted(fixed)

"""Turns of named angles, counted along a run: they do not depend on which samples are asked for.

Angles of an orientation lie between −π and π. Between two samples that are close to each other they
go on without a jump. Where samples are far apart beside the steps of the run, or an angle moves on
by more than an eighth of a turn, the run is repeated with samples that are close enough, once and
only when the angles are asked for; its steps are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from noslip.base import Array
from noslip.engines import System
from noslip.simulation.lazy_columns import LazyValue, Sources, angle_rates, column, unwrapped
from noslip.simulation.starts.layout import Orientation, layout_of

if TYPE_CHECKING:
    from noslip.simulation.trajectory import Trajectory

#: Largest change of an angle between samples of which turns are counted.
LARGEST_TURN = math.pi / 4
#: Samples of a repeated run for each of its steps, at first.
PER_STEP = 4
#: Samples of a repeated run at most.
MOST = 2_000_000

#: Coordinates and speeds of the same run at other times.
Again = Callable[[Array], "Trajectory"]


def angle_columns(
    system: System, t: Array, q: Array, v: Array, steps: int, again: Again
) -> Sources:
    """Named angles at the samples with the turns they have made, computed when first read."""
    found: Sources = {}
    for o in layout_of(system).orientations:
        values = LazyValue(partial(_angles, o, t, q, v, steps, again))
        for k, name in enumerate(o.angle_names):
            found[name] = ("rad", column(values, k))
    return found


def _angles(o: Orientation, t: Array, q: Array, v: Array, steps: int, again: Again) -> Array:
    """(n, 3) angles at the samples."""
    plain = _unwrapped(o, q)
    if len(t) < 2 or _are_close(o, t, plain, v, steps):
        return plain
    count = PER_STEP * max(steps, 1)
    while count <= MOST:
        times = np.union1d(t, np.linspace(t[0], t[-1], count))
        run = again(times)
        if len(run.t) != len(times):
            return plain
        dense = _unwrapped(o, run.q)
        if _are_close(o, times, dense, run.v, steps):
            turned: Array = dense[np.searchsorted(times, t)]
            # the numbers are those of the samples: only whole turns are taken over
            return plain + 2 * math.pi * np.round((turned - plain) / (2 * math.pi))
        count *= 2
    return plain


def _unwrapped(o: Orientation, q: Array) -> Array:
    return unwrapped(q[:, o.quaternion : o.quaternion + 4], o.angles.sequence)


def _are_close(o: Orientation, t: Array, angles: Array, v: Array, steps: int) -> bool:
    """Whether no angle can have made a turn between two samples."""
    if (len(t) - 1) * 4 < steps:
        return False
    rates = angle_rates(angles, o.angles.sequence, v[:, o.speed : o.speed + 3])
    sizes = np.nan_to_num(np.abs(rates[:, [0, 2]]), nan=0.0).max(axis=1)
    moved = np.maximum(sizes[1:], sizes[:-1]) * np.diff(t)
    return bool(moved.max(initial=0.0) <= LARGEST_TURN)

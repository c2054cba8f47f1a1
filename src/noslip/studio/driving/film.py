"""`DriveFilm`: the pictures of a drive, which grows while it is driven."""

from __future__ import annotations

import dataclasses

import numpy as np

from noslip.engines.system import Array, System
from noslip.show.scene.frames import Frames, frames
from noslip.simulation.trajectory import Trajectory

#: Pictures that are kept; the first half goes when there are more.
MOST = 9000


class DriveFilm:
    """Pictures of a motion that goes on.

    Parameters
    ----------
    system : that moves.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.frames: Frames | None = None

    def add(self, piece: Trajectory) -> Frames:
        """The film with its next picture, that of the end of a piece of motion."""
        new = frames(self._system, piece, times=np.array([piece.t[0], piece.t[-1]]))
        old = self.frames
        if old is None:
            self.frames = new
            return new
        first = MOST // 2 if len(old) >= MOST else 0

        def grown(before: Array, after: Array) -> Array:
            return np.concatenate([before[first:], after[1:]])

        # a drawn wheel turns on from where it was
        turned = {n: a - a[0] + old.rolled[n][-1] for n, a in new.rolled.items()}
        self.frames = dataclasses.replace(
            old,
            times=grown(old.times, new.times),
            positions=grown(old.positions, new.positions),
            quaternions=grown(old.quaternions, new.quaternions),
            centers=grown(old.centers, new.centers),
            velocities=grown(old.velocities, new.velocities),
            traces={n: grown(old.traces[n], p) for n, p in new.traces.items()},
            rolled={n: grown(old.rolled[n], a) for n, a in turned.items()},
        )
        return self.frames

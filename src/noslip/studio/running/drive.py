"""A drive: where it begins, where it continues after a parameter has changed, and its frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from noslip import Start, System, Trajectory, complete_start
from noslip.base import Array
from noslip.control import Balance, DriveControls, Driver
from noslip.scene import Frames, frames
from noslip.studio.choosing.choice import Choice, chosen_start


def drive_start(
    system: System,
    controls: DriveControls,
    values: Array,
    choice: Choice,
    start: Mapping[str, float],
) -> Start:
    """Start of a drive: at rest where the scenario starts, or running straight if it balances.

    Parameters
    ----------
    system : compiled system.
    controls : what is commanded.
    values : (np,) parameter vector.
    choice : what is run.
    start : values that were chosen.
    """
    scenario = system.model.scenario
    given = (
        chosen_start(system, choice) if scenario is not None and not scenario.has_reference else {}
    )
    balance = controls.balance
    if balance is not None:
        rolling = complete_start(system, given, parameters=values)
        ahead = controls.channels[0]
        speed = ahead.within(float(ahead.row @ rolling.v)) if given else balance.fastest / 2
        begin = {balance.wheel: speed / balance.ratio}
    else:
        speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
        begin = {n: x for n, x in given.items() if n not in speeds and not n.endswith("_rate")}
    return complete_start(system, {**begin, **start}, parameters=values)


def continued_start(system: System, driver: Driver, values: Array) -> Start:
    """Start that continues a drive from its state, at other parameter values.

    Parameters
    ----------
    system : compiled system.
    driver : who drives.
    values : (np,) parameter vector.
    """
    places = {c.name: float(x) for c, x in zip(system.coordinates, driver.q, strict=True)}
    speeds = {s.name: float(x) for s, x in zip(system.speeds, driver.v, strict=True)}
    free = {s.name for s in system.independent_speeds}
    kept = {n: x for n, x in speeds.items() if n in free}
    balance = driver.controls.balance
    if balance is not None:
        places = _upright(driver, balance)
        kept |= {balance.wheel: speeds[balance.wheel]}
    elif any(row.is_holonomic for row in system.kinematics.rows):
        places = {}
    return complete_start(system, {**places, **kept}, parameters=values)


def _upright(driver: Driver, balance: Balance) -> dict[str, float]:
    """Place, heading, lean and steering: all coordinates but those that follow from them."""
    now = driver.piece()
    return {c.name: float(now[c.name][-1]) for c in (*balance.ignored, *balance.coordinates)}


#: Frames that are kept; the first half goes when there are more.
MOST = 9000


class DriveFrames:
    """Frames of a motion that goes on.

    Parameters
    ----------
    system : that moves.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.frames: Frames | None = None

    def add(self, piece: Trajectory) -> Frames:
        """The frames with the next one, that of the end of a piece of motion."""
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

"""The fastest timing of a vehicle on a path, found once vehicle and path are known.

`fastest` wants limits as numbers along the path. Those of the ground and of motors follow from the
vehicle; :class:`Hurry` names them, and `track` puts them in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noslip.control.paths.base import AbstractPath, Array, positive
from noslip.control.timing.fastest import fastest
from noslip.control.timing.grip import grip_rows, joined_rows
from noslip.control.timing.limits import LimitRows, Limits
from noslip.control.timing.ramps import SpeedSchedule
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.model.expressions import nominal
from noslip.model.quantities import ZERO, Scalar, Vector3

#: Places on the path between which the acceleration is constant.
PLACES = 301
#: As many times more are looked at for the limits of the ground and of motors (the next one, where
#: motors are not known well enough between them),
FINER = (4, 16, 64)
#: by which they may be exceeded there, as a part,
EXCESS = 1e-4
#: and how often they are lowered for it;
ROUNDS = 5
#: the part that is let pass after that, and how often they are lowered at most.
PROMISED, MOST_ROUNDS = 1e-3, 20

#: Distance, as a part of the path's length, at which one is on one side of a place.
HAIR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hurry:
    """The least time within limits; a timing for :func:`track`.

    Parameters
    ----------
    speed : highest ṡ, m/s.
    acceleration : highest |s̈| along the path, m/s².
    lateral_acceleration : highest |κ| ṡ², m/s².
    friction : coefficient of the ground: √(s̈² + (κ ṡ²)²) ≤ friction · g of the model.
    start_speed, end_speed : at the ends of the path, m/s.
    inputs : force input → largest magnitude, N or N·m; see :func:`motor_limits`.
    """

    speed: float | None = None
    acceleration: float | None = None
    lateral_acceleration: float | None = None
    friction: float | None = None
    start_speed: float = 0.0
    end_speed: float = 0.0
    inputs: Mapping[str, float] = field(default_factory=dict)

    def on(
        self,
        system: System,
        path: AbstractPath,
        *,
        point: Vector3 = ZERO,
        direction: Vector3 = (1.0, 0.0, 0.0),
        reverse: bool = False,
        steering: str = "",
        wheelbase: Scalar = 0.0,
        hinge: str = "",
        hitch: Scalar = 0.0,
        trailer: Scalar = 0.0,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> SpeedSchedule:
        """The timing of this vehicle on this path.

        Parameters
        ----------
        system : compiled system.
        path : what is driven along.
        point, direction, reverse, steering, wheelbase, hinge, hitch, trailer, inputs, reference,
        parameters : as in :func:`track`.

        Raises
        ------
        SimulationError : no motion satisfies the limits, nothing limits the acceleration, or what
            motors must do depends on more than place and speed.
        """
        frame: dict[str, Any] = {
            "point": point,
            "direction": direction,
            "reverse": reverse,
            "steering": steering,
            "wheelbase": wheelbase,
            "hinge": hinge,
            "hitch": hitch,
            "trailer": trailer,
            "inputs": inputs,
            "reference": reference,
            "parameters": parameters,
        }
        for finer in FINER:
            count = finer * (PLACES - 1) + 1
            motors = self._motors(system, path, frame, count)
            rows = self._ground(system, path, parameters, count)
            rows = motors if rows is None else rows if motors is None else joined_rows(rows, motors)
            timing = self._within(system, path, rows, finer)
            if motors is None or _missed(timing, motors) <= PROMISED:
                return timing
        raise SimulationError(
            f"what the motors must do changes too fast along the path for {count} places",
            f"fastest timing of model '{system.model.name}' on {type(path).__name__}",
            "smooth the path, or start what it leaves open near where it settles: reference={…}",
        )

    def _within(
        self, system: System, path: AbstractPath, fine: LimitRows | None, finer: int
    ) -> SpeedSchedule:
        """The timing within rows that are known at more places than are driven by."""
        rows = None if fine is None else fine.thinned(finer)
        for k in range(MOST_ROUNDS):
            limits = Limits(
                speed=self.speed,
                acceleration=self.acceleration,
                lateral_acceleration=self.lateral_acceleration,
                rows=rows,
            )
            ends = (self.start_speed, self.end_speed)
            timing = fastest(path, limits, start_speed=ends[0], end_speed=ends[1], count=PLACES - 1)
            if fine is None or rows is None:
                return timing
            # what the limits are between the places is taken off them
            over = _excess(timing, fine)
            part = over / np.max(np.abs(fine.constant), axis=0)
            worst = int(np.argmax(part))
            if part[worst] <= (EXCESS if k < ROUNDS - 1 else PROMISED):
                return timing
            rows = dataclasses.replace(rows, constant=rows.constant + over)
            what = f"{fine.names[worst]} is still exceeded by {100 * part[worst]:.2g} %"
        raise SimulationError(
            f"{what} between {PLACES} places",
            f"fastest timing of model '{system.model.name}' on {type(path).__name__}",
            "smooth the path, or find rows at more places by motor_limits and use fastest",
        )

    def _ground(
        self,
        system: System,
        path: AbstractPath,
        parameters: Mapping[str, float] | None,
        count: int,
    ) -> LimitRows | None:
        """Limits of the ground."""
        if self.friction is None:
            return None
        friction = positive(self.friction, "friction", "Hurry")
        return grip_rows(path, friction * _gravity(system, parameters), count)

    def _motors(
        self, system: System, path: AbstractPath, frame: dict[str, Any], count: int
    ) -> LimitRows | None:
        """Limits of motors."""
        if not self.inputs:
            return None
        from noslip.control.timing.motor_limits import motor_limits

        bounds = {n: positive(x, n, "Hurry(inputs=…)") for n, x in self.inputs.items()}
        return motor_limits(system, path, bounds, **frame, count=count)


def _excess(timing: SpeedSchedule, rows: LimitRows) -> Array:
    """(m,) highest value of each row along a motion, 0 if it holds everywhere."""
    # s̈ jumps at places: it is looked at on both sides of them
    both = [rows.values(rows.arc_lengths, *_driven(timing, rows.arc_lengths, k)) for k in (-1, 1)]
    return np.maximum(np.max(both, axis=(0, 1)), 0.0)


def _missed(timing: SpeedSchedule, rows: LimitRows) -> float:
    """What rows may be off between their places along a motion, as a part of their limits.

    Every other place is interpolated from the next ones, which is off by four times as much.
    """
    s = rows.arc_lengths
    z, u = (x[1:-1:2] for x in _driven(timing, s))
    before, here, after = s[:-2:2], s[1:-1:2], s[2::2]
    part = ((here - before) / (after - before))[:, None]
    between = (1 - part) * rows.values(before, z, u) + part * rows.values(after, z, u)
    off = np.abs(rows.values(here, z, u) - between) / 4
    return float(np.max(off / np.max(np.abs(rows.constant), axis=0)))


def _driven(timing: SpeedSchedule, arc_lengths: Array, side: int = 1) -> tuple[Array, Array]:
    """ṡ² and s̈ at arc lengths of a motion, s̈ just after them or, with side −1, before."""
    t, v = np.array(timing.times), np.array(timing.speeds)
    s = np.concatenate([[0.0], np.cumsum(np.diff(t) * (v[1:] + v[:-1]) / 2)])
    u = np.diff(v) / np.diff(t)
    aside = arc_lengths + side * HAIR * s[-1]
    k = np.clip(np.searchsorted(s, aside, side="right") - 1, 0, len(u) - 1)
    return np.maximum(v[k] ** 2 + 2 * u[k] * (arc_lengths - s[k]), 0.0), u[k]


def _gravity(system: System, parameters: Mapping[str, float] | None) -> float:
    """Size of gravity, m/s²."""
    known = system.model.parameter_values() | dict(parameters or {})
    size = float(np.linalg.norm([nominal(e, known) for e in system.model.gravity]))
    if size == 0:
        raise SimulationError(
            "the model has no gravity, so friction holds nothing",
            f"fastest timing of model '{system.model.name}'",
            "give lateral_acceleration and acceleration instead of friction",
        )
    return size

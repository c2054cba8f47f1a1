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
#: As many times more are looked at for the limits of the ground and of motors,
FINER = 4
#: by which they may be exceeded there, as a part,
EXCESS = 1e-4
#: and how often they are lowered for it.
ROUNDS = 5


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
        parameters: Mapping[str, float] | None = None,
    ) -> SpeedSchedule:
        """The timing of this vehicle on this path.

        Parameters
        ----------
        system : compiled system.
        path : what is driven along.
        point, direction, reverse, steering, wheelbase, parameters : as in :func:`track`.

        Raises
        ------
        SimulationError : no motion satisfies the limits, or nothing limits the acceleration.
        """
        fine = self._rows(
            system,
            path,
            {
                "point": point,
                "direction": direction,
                "reverse": reverse,
                "steering": steering,
                "wheelbase": wheelbase,
                "parameters": parameters,
            },
        )
        rows = None if fine is None else fine.thinned(FINER)
        for _ in range(ROUNDS):
            limits = Limits(
                speed=self.speed,
                acceleration=self.acceleration,
                lateral_acceleration=self.lateral_acceleration,
                rows=rows,
            )
            ends = (self.start_speed, self.end_speed)
            timing = fastest(path, limits, start_speed=ends[0], end_speed=ends[1], count=PLACES - 1)
            if fine is None or rows is None:
                break
            # what the limits are between the places is taken off them
            over = _excess(timing, fine)
            if np.all(over <= EXCESS * np.max(np.abs(fine.constant), axis=0)):
                break
            rows = dataclasses.replace(rows, constant=rows.constant + over)
        return timing

    def _rows(
        self, system: System, path: AbstractPath, frame: Mapping[str, Any]
    ) -> LimitRows | None:
        """Limits of the ground and of motors, at more places than are driven by."""
        rows: LimitRows | None = None
        count = FINER * (PLACES - 1) + 1
        if self.friction is not None:
            friction = positive(self.friction, "friction", "Hurry")
            rows = grip_rows(path, friction * _gravity(system, frame["parameters"]), count)
        if self.inputs:
            from noslip.control.timing.motor_limits import motor_limits

            bounds = {n: positive(x, n, "Hurry(inputs=…)") for n, x in self.inputs.items()}
            motors = motor_limits(system, path, bounds, **frame, count=count)
            rows = motors if rows is None else joined_rows(rows, motors)
        return rows


def _excess(timing: SpeedSchedule, rows: LimitRows) -> Array:
    """(m,) highest value of each row along a motion, 0 if it holds everywhere."""
    t, v = np.array(timing.times), np.array(timing.speeds)
    s = np.concatenate([[0.0], np.cumsum(np.diff(t) * (v[1:] + v[:-1]) / 2)])
    u = np.diff(v) / np.diff(t)
    k = np.clip(np.searchsorted(s, rows.arc_lengths, side="right") - 1, 0, len(u) - 1)
    z = np.maximum(v[k] ** 2 + 2 * u[k] * (rows.arc_lengths - s[k]), 0.0)
    value = rows.inertia * u[k][:, None] + rows.squared * z[:, None] + rows.constant
    return np.maximum(np.max(value, axis=0), 0.0)


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

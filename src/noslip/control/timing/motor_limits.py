"""Limits of motors along a path, for the fastest timing of a vehicle on it.

On a path the inputs of inverse dynamics are linear in s̈ and ṡ²,

    (1)  u(s) = a(s) s̈ + b(s) ṡ² + c(s)

because speeds scale with ṡ and passive coordinates (a caster's angle) depend on where the vehicle
has been, not on how fast. The three columns are read from inverse dynamics at three paces; the
passive coordinates come from one slow run along the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.analysis.inverse import trace_reference
from noslip.control.motions.path import PathMotion
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.path import length
from noslip.control.timing.laws import AbstractTiming, ConstantSpeed
from noslip.control.timing.limits import LimitRows
from noslip.control.track import track
from noslip.engines.system import System
from noslip.errors import SimulationError, nearest
from noslip.model.quantities import ZERO, Scalar, Vector3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pace(AbstractTiming):
    """ṡ = pace + change · t with both as symbols: at t = 0 any ṡ and s̈ can be put in."""

    pace: ca.SX
    change: ca.SX

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """pace + change · t."""
        return self.pace + self.change * t

    def duration(self, path: AbstractPath) -> float:
        """Not meant to be run."""
        raise NotImplementedError

    def passing_times(self, path: AbstractPath) -> tuple[float, ...]:
        """None: it stands for an instant anywhere on the path."""
        return ()


def motor_limits(
    system: System,
    path: AbstractPath,
    limits: Mapping[str, float],
    *,
    point: Vector3 = ZERO,
    direction: Vector3 = (1.0, 0.0, 0.0),
    reverse: bool = False,
    steering: str = "",
    wheelbase: Scalar = 0.0,
    parameters: Mapping[str, float] | None = None,
    count: int = 400,
) -> LimitRows:
    """Rows |u| ≤ limit of a vehicle's force inputs along a path, for `Limits(rows=…)`.

    Parameters
    ----------
    system : compiled system with a planar base and at least as many force inputs as freedoms; of
        more inputs the least ones are taken.
    path : where to go.
    limits : input name → largest magnitude, N or N·m.
    point, direction, reverse, steering, wheelbase : what follows the path, as in :func:`track`.
    parameters : values that differ from the nominal ones.
    count : number of places on the path.

    Raises
    ------
    SimulationError : for unknown inputs, or a path that is not admissible.
    """
    names = [i.name for i in system.model.inputs]
    for name in limits:
        if name not in names:
            raise SimulationError(
                f"there is no force input '{name}' to limit",
                f"motor limits of model '{system.model.name}'",
                nearest(name, names),
            )
    slow = track(
        system,
        path,
        timing=ConstantSpeed(1.0),
        point=point,
        direction=direction,
        reverse=reverse,
        steering=steering,
        wheelbase=wheelbase,
        parameters=parameters,
        samples=count,
        rtol=1e-11,
        atol=1e-11,
    ).trajectory
    pace, change = ca.SX.sym("pace"), ca.SX.sym("change")
    motion = PathMotion(
        path=path,
        timing=_Pace(pace=pace, change=change),
        point=point,
        direction=direction,
        reverse=reverse,
        steering=steering,
        wheelbase=wheelbase,
    )
    reference = trace_reference(system, motion)
    symbols = system.kinematics.symbols
    forces = ca.Function(
        "forces", [symbols.t, reference.states, symbols.params, pace, change], [reference.forces]
    )
    values = system.parameters(parameters)
    states = [f"path.{n}" for n in ("parameter", "arc_length", "heading")]
    states += [f"reference.{c.name}" for c in system.coordinates]
    along = np.column_stack([slow[name] for name in states])

    def at(rate: float, acceleration: float) -> np.ndarray:
        rows = [np.array(forces(0.0, z, values, rate, acceleration)).ravel() for z in along]
        return np.array(rows)[:, [names.index(name) for name in limits]]

    # (1), read at ṡ = s̈ = 0, at ṡ = 1 and at s̈ = 1
    c = at(0.0, 0.0)
    b, a = at(1.0, 0.0) - c, at(0.0, 1.0) - c
    bound = np.array([float(x) for x in limits.values()])
    return LimitRows(
        arc_lengths=slow.t * (length(path) / slow.t[-1]),  # at 1 m/s
        inertia=np.hstack([a, -a]),
        squared=np.hstack([b, -b]),
        constant=np.hstack([c - bound, -c - bound]),
        names=(
            *(f"{n} ≤ {x:g}" for n, x in limits.items()),
            *(f"{n} ≥ {-x:g}" for n, x in limits.items()),
        ),
    )

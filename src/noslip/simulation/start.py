"""A consistent start from what the user gives.

Coordinates, speeds, named angles and their rates may be given in part. Coordinates that are given
stay; the others move as little as they must, from the joints' rest positions, to satisfy g(q, t) =
0. Speeds that are given stay; the independent speeds that are not given are as small as the given
ones and the constraints allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from noslip import spatial
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.simulation.small_matrices import largest
from noslip.simulation.start_closing import close
from noslip.simulation.start_rows import Layout, layout_of
from noslip.simulation.start_speeds import check_carried, fit_speeds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """A consistent state at the start of a run.

    Parameters
    ----------
    time : s.
    q, v : coordinates and tree speeds.
    eta : independent speeds.
    mu : costates, of vakonomic equations; as given, else zero.
    position_residual, speed_residual : largest |g| and |A v + a| that is left.
    completed : coordinates and speeds that were not given and came out different from zero.
    """

    time: float
    q: Array
    v: Array
    eta: Array
    mu: Array
    position_residual: float
    speed_residual: float
    completed: dict[str, float]


def complete_start(
    system: System,
    given: Mapping[str, float],
    *,
    time: float = 0.0,
    speed_inputs: Callable[[Array], Array] | None = None,
    parameters: Array | None = None,
) -> Start:
    """Consistent coordinates and speeds that keep what is given.

    Parameters
    ----------
    system : compiled system.
    given : values by name: coordinates, tree speeds, named independent speeds, named angles and
        their rates (``disk.tilt``, ``disk.tilt_rate``).
    time : s.
    speed_inputs : from coordinates to (nw,) values of the speed inputs at that time; zero by
        default.
    parameters : (np,) parameter vector; nominal by default.

    Raises
    ------
    SimulationError : for unknown names, if the given values contradict the constraints, or if the
        mechanism has more freedom at this configuration than its equations.
    """
    layout = layout_of(system)
    params = system.parameters() if parameters is None else parameters
    _check_names(system, layout, given)
    q, fixed = given_coordinates(system, layout, given)
    w = np.zeros(len(system.model.speed_inputs))
    q, rows = close(system, layout, q, fixed, given, time, w, params)
    if speed_inputs is not None:
        w = speed_inputs(q)
        rows = layout.rows(time, q, w, params)
    v, eta = fit_speeds(system, layout, given, q, rows)
    mu = np.array([float(given.get(name, 0.0)) for name in layout.costates])
    check_carried(system, layout, rows, time, v, w, params, (q, eta, mu))

    named = zip(layout.states, (*q.tolist(), *v.tolist()), strict=True)
    return Start(
        time=time,
        q=q,
        v=v,
        eta=eta,
        mu=mu,
        position_residual=largest(rows.g),
        speed_residual=largest(rows.A @ v + rows.a),
        completed={n: x for n, x in named if n not in given and abs(x) > 1e-15},
    )


def start_names(system: System) -> list[str]:
    """Every name a start may give."""
    return list(layout_of(system).names)


def _check_names(system: System, layout: Layout, given: Mapping[str, float]) -> None:
    for name, value in given.items():
        if name not in layout.names:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'",
                f"start of model '{system.model.name}'",
                nearest(name, list(layout.names)),
            )
        is_number = isinstance(value, (float, int, np.number)) and not isinstance(value, bool)
        if not (is_number and math.isfinite(value)):
            shown = f"{value}" if isinstance(value, np.number) else f"{value!r:.60}"
            raise SimulationError(
                f"'{name}' starts at {shown}, which is not a finite number",
                f"start of model '{system.model.name}'",
                "give a finite number in SI units",
            )


def given_coordinates(
    system: System, layout: Layout, given: Mapping[str, float]
) -> tuple[Array, list[int]]:
    """Rest positions overwritten by what is given, and the indices that must not move."""
    q = layout.rest.copy()
    fixed = []
    for name, value in given.items():
        k = layout.coordinates.get(name)
        if k is not None:
            q[k] = value
            fixed.append(k)
    for o in layout.orientations:
        if any(n in given for n in o.angle_names):
            angles = [float(given.get(n, 0.0)) for n in o.angle_names]
            at = slice(o.quaternion, o.quaternion + 4)
            _check_given_once(system, given, o.angle_names, layout.states[at])
            q[at] = spatial.quaternion_from_angles(angles, o.angles.sequence)
            fixed += range(o.quaternion, o.quaternion + 4)
    return system.kinematics.probe.normalize(q), sorted(fixed)


def _check_given_once(
    system: System,
    given: Mapping[str, float],
    angles: tuple[str, ...],
    quaternion: tuple[str, ...],
) -> None:
    """An orientation starts from named angles or from a quaternion, not from both."""
    both = [next(n for n in angles if n in given), *(n for n in quaternion if n in given)]
    if len(both) > 1:
        raise SimulationError(
            f"an orientation is given by both '{both[0]}' and '{both[1]}'",
            f"start of model '{system.model.name}'",
            "give the named angles, or the quaternion",
        )

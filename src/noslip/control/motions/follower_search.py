"""What of a vehicle can follow a path: found from how its base can move.

The base moves with twists (v_x, v_y, ω) in its own axes; those that the constraints allow, over
several configurations, fill the columns of a matrix T. A point p of the base and a direction n
across it with

    (1)  n·(v + ω × p) = n_x v_x + n_y v_y + m ω = 0,     m = n_y p_x − n_x p_y

for all of them cannot move sideways: (n, m) is the left null vector of T. The path is followed by
the point p = m (n_y, −n_x), ahead along the direction across n. Where one configuration allows a
single curvature only, the vehicle steers: a coordinate δ with κ = tan δ / wheelbase.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from noslip.control.follower import Follower
from noslip.control.motions.path import planar_base
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.model.quantities import Vector3

#: Relative size below which a singular value counts as zero.
NEGLIGIBLE = 1e-9

Twists = Callable[[Array], Array]


def find_follower(system: System, values: Array) -> Follower:
    """What follows a path at given parameter values.

    Raises
    ------
    SimulationError : if the model has no planar base or the base can move sideways.
    """
    base = planar_base(system)
    twists = _twists(system, base.speeds.start, values)
    configurations = [q for _, q in system.kinematics.probe.configurations(6)]
    length = max(system.kinematics.length, 1e-6)
    scale = np.array([1.0, 1.0, length])[:, None]
    T = np.hstack([twists(q) for q in configurations]) * scale
    across, sizes, _ = np.linalg.svd(T)
    sizes = np.concatenate([sizes, np.zeros(3)])[:3]
    null = across[:, 2]
    n, m = null[:2], null[2] * length
    size = float(np.linalg.norm(n))
    if sizes[2] > NEGLIGIBLE * max(sizes[0], 1e-300) or size < 1e-6:
        raise SimulationError(
            "every point of the base can move sideways, so none can be kept on a path",
            f"path for model '{system.model.name}'",
            "choose another task, or a model whose wheels do not slip sideways",
        )
    n, m = n / size, m / size
    ahead = np.array([n[1], -n[0]])
    point = m * ahead
    # of the two directions the one along the larger axis of the base
    ahead = ahead if ahead[np.argmax(np.abs(ahead))] > 0 else -ahead
    frame = Follower(point=_vector(point), direction=_vector(ahead))
    if all(np.linalg.matrix_rank(twists(q) * scale, tol=1e-9) > 1 for q in configurations):
        return frame
    return _steered(system, frame, twists, values)


def _twists(system: System, at: int, values: Array) -> Twists:
    """q → (3, k) twists of the base, one for each independent speed and each speed input."""
    kin = system.kinematics
    symbols = kin.symbols
    free = kin.at_speeds(symbols.v)[at : at + 3]
    J = ca.jacobian(free, ca.vertcat(kin.eta, symbols.w))
    function = ca.Function("twists", [symbols.t, symbols.q, symbols.params], [ca.densify(J)])
    return lambda q: np.array(function(0.0, q, values))


def _steered(system: System, frame: Follower, twists: Twists, values: Array) -> Follower:
    """The coordinate by which the vehicle steers, and its wheelbase."""
    kin = system.kinematics
    rest = kin.rest.copy()
    for k, coordinate in enumerate(kin.coordinates):
        if coordinate.unit != "rad" or coordinate.name.startswith(planar_base(system).joint.name):
            continue
        bends = []
        for angle in (0.0, 0.2, 0.5):
            q = rest.copy()
            q[k] = angle
            bends.append(_curvature(frame, twists(q)))
        if not np.all(np.isfinite(bends)) or abs(bends[0]) > 1e-9 or abs(bends[1]) < 1e-9:
            continue
        wheelbase = np.tan(0.2) / bends[1]
        if abs(np.tan(0.5) / bends[2] - wheelbase) < 1e-6 * abs(wheelbase):
            return Follower(
                point=frame.point,
                direction=frame.direction,
                steering=coordinate.name,
                wheelbase=float(wheelbase),
            )
    raise SimulationError(
        "no coordinate was found by which the vehicle steers",
        f"path for model '{system.model.name}'",
        "choose another task, or call noslip.track with the steering named",
    )


def _curvature(frame: Follower, T: Array) -> float:
    """ω over the speed ahead, of the fastest motion that a configuration allows."""
    ahead, point = (np.array(v[:2], dtype=float) for v in (frame.direction, frame.point))
    speed = ahead @ (T[:2] + np.outer([-point[1], point[0]], T[2]))
    k = int(np.argmax(np.abs(speed)))
    return float(T[2, k] / speed[k]) if abs(speed[k]) > 1e-12 else float("nan")


def _vector(xy: Array) -> Vector3:
    x, y = (round(float(e), 12) + 0.0 for e in xy)
    return x, y, 0.0

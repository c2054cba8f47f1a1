"""A consistent start from what the user gives.

Coordinates, speeds, named angles and their rates may be given in part. Coordinates that are given
stay; the others move as little as they must, from the joints' rest positions, to satisfy g(q, t) =
0. Speeds that are given stay; the independent speeds that are not given are as small as the given
ones and the constraints allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from noslip import spatial
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.model.joints import Angles
from noslip.model.quantities import Quantity

#: Largest residual of a constraint row that a start may leave, in the unit of the row.
TOLERANCE = 1e-11


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


@dataclass(frozen=True, slots=True)
class _Orientation:
    """Where a joint with named angles keeps its quaternion and its angular speeds."""

    joint: str
    angles: Angles
    quaternion: int
    speed: int


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
    SimulationError : for unknown names, or if the given values contradict the constraints.
    """
    kin = system.kinematics
    params = system.parameters() if parameters is None else parameters
    orientations = _orientations(system)
    _check_names(system, given, orientations)
    q, fixed = _given_coordinates(system, given, orientations)
    q = _close(system, q, fixed, time, params)
    w = np.zeros(len(system.model.speed_inputs)) if speed_inputs is None else speed_inputs(q)
    v, eta = _speeds(system, given, orientations, q, time, w, params)

    A, a = (np.array(m) for m in kin.probe.constraint(time, q, w, params))
    g = np.array(kin.probe.position(time, q, params)).ravel()
    named = {n: x for n, x in zip(_names(kin.coordinates), q, strict=True)}
    named |= {n: x for n, x in zip(_names(kin.speeds), v, strict=True)}
    return Start(
        time=time,
        q=q,
        v=v,
        eta=eta,
        mu=np.array([float(given.get(c.name, 0.0)) for c in system.costates]),
        position_residual=float(np.max(np.abs(g), initial=0.0)),
        speed_residual=float(np.max(np.abs(A @ v + a.ravel()), initial=0.0)),
        completed={n: float(x) for n, x in named.items() if n not in given and abs(x) > 1e-15},
    )


def start_names(system: System) -> list[str]:
    """Every name a start may give."""
    names = _names(system.coordinates) + _names(system.speeds)
    names += [n for n in _names(system.independent_speeds) if n not in names]
    names += _names(system.costates)
    for o in _orientations(system):
        names += [f"{o.joint}.{n}" for n in o.angles.names]
        names += [f"{o.joint}.{n}_rate" for n in o.angles.names]
    return names


def _names(quantities: Iterable[Quantity]) -> list[str]:
    return [quantity.name for quantity in quantities]


def _orientations(system: System) -> list[_Orientation]:
    found = []
    for node in system.kinematics.tree.nodes:
        angles = getattr(node.joint.type, "angles", None)
        if angles is not None and node.joint.type.quaternion is not None:
            at = node.coordinates.start + node.joint.type.quaternion
            found.append(_Orientation(node.joint.name, angles, at, node.speeds.start))
    return found


def _check_names(
    system: System, given: Mapping[str, float], orientations: list[_Orientation]
) -> None:
    known = start_names(system)
    for name, value in given.items():
        if name not in known:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'",
                f"start of model '{system.model.name}'",
                nearest(name, known),
            )
        if not (isinstance(value, int | float | np.number) and np.isfinite(value)):
            raise SimulationError(
                f"'{name}' starts at {value}",
                f"start of model '{system.model.name}'",
                "give a finite number",
            )


def _given_coordinates(
    system: System, given: Mapping[str, float], orientations: list[_Orientation]
) -> tuple[Array, list[int]]:
    """Rest positions overwritten by what is given, and the indices that must not move."""
    q = np.array(
        [r for node in system.kinematics.tree.nodes for r in node.joint.type.rest], dtype=float
    )
    fixed = []
    for k, name in enumerate(_names(system.coordinates)):
        if name in given:
            q[k] = given[name]
            fixed.append(k)
    for o in orientations:
        names = [f"{o.joint}.{n}" for n in o.angles.names]
        if any(n in given for n in names):
            angles = _angles(o, given, q)
            at = slice(o.quaternion, o.quaternion + 4)
            _check_given_once(system, given, names, _names(system.coordinates)[at])
            q[at] = spatial.quaternion_from_angles(angles, o.angles.sequence)
            fixed += range(o.quaternion, o.quaternion + 4)
    return system.kinematics.probe.normalize(q), fixed


def _check_given_once(
    system: System, given: Mapping[str, float], angles: list[str], quaternion: list[str]
) -> None:
    """An orientation starts from named angles or from a quaternion, not from both."""
    both = [next(n for n in angles if n in given), *(n for n in quaternion if n in given)]
    if len(both) > 1:
        raise SimulationError(
            f"an orientation is given by both '{both[0]}' and '{both[1]}'",
            f"start of model '{system.model.name}'",
            "give the named angles, or the quaternion",
        )


def _angles(o: _Orientation, given: Mapping[str, float], q: Array) -> list[float]:
    """Named angles of an orientation: as given, or those of its quaternion."""
    names = [f"{o.joint}.{n}" for n in o.angles.names]
    if any(n in given for n in names):
        return [float(given.get(n, 0.0)) for n in names]
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_quat(q[o.quaternion : o.quaternion + 4], scalar_first=True)
    return list(rotation.as_euler(o.angles.sequence.upper(), suppress_warnings=True))


def _close(system: System, q: Array, fixed: list[int], time: float, params: Array) -> Array:
    """Move the free coordinates until g(q, t) = 0, as little as they must.

    Where links lie in line, no small motion changes g in the direction it lacks; the free
    coordinates are then moved aside first, by more and more, always in the same way.
    """
    probe = system.kinematics.probe
    if not probe.holonomic:
        return q
    rng = np.random.default_rng(5)
    scale = np.where(np.array(probe.is_angular, dtype=bool), probe.length, 1.0)
    tolerance = TOLERANCE * max(1.0, probe.length)
    first, g_first = _newton(system, q, fixed, time, params)
    closed, g = first, g_first
    for aside in (0.01, 0.1, 0.3, 1.0):
        if np.max(np.abs(g)) <= tolerance or not np.all(np.isfinite(g_first)):
            break
        step = aside * probe.length * rng.normal(size=len(scale)) / scale
        moved = probe.normalize(q + np.array(probe.kinematic_map(q)) @ step)
        moved[fixed] = q[fixed]
        closed, g = _newton(system, moved, fixed, time, params)
    if not np.max(np.abs(g)) <= tolerance:
        raise _contradiction(system, first, g_first, fixed)
    return closed


def _newton(
    system: System, q: Array, fixed: list[int], time: float, params: Array
) -> tuple[Array, Array]:
    """Coordinates after Newton's method with least steps through N, and the g that is left."""
    probe = system.kinematics.probe
    scale = np.where(np.array(probe.is_angular, dtype=bool), probe.length, 1.0)
    w = np.zeros(probe.num_speed_inputs)
    g = np.array(probe.position(time, q, params)).ravel()
    tolerance = TOLERANCE * max(1.0, probe.length)
    for _ in range(200):
        if np.max(np.abs(g)) <= 1e-15 * max(1.0, float(np.max(np.abs(q)))):
            break
        A = np.array(probe.constraint(time, q, w, params)[0])[list(probe.holonomic)]
        N = np.array(probe.kinematic_map(q))
        held = N[fixed]
        stacked = np.vstack([A, held]) / scale[None, :]
        if not np.all(np.isfinite(stacked)):
            break
        step = np.linalg.lstsq(stacked, np.concatenate([-g, np.zeros(len(fixed))]), rcond=1e-12)[0]
        size = float(np.linalg.norm(step))
        # no farther than the mechanism is long, or than it is away from where it must be
        longest = max(probe.length, float(np.max(np.abs(g))))
        step = step * min(1.0, longest / max(size, 1e-300)) / scale
        trial = probe.normalize(q + N @ step)
        for k in fixed:
            trial[k] = q[k]
        g_trial = np.array(probe.position(time, trial, params)).ravel()
        if np.max(np.abs(g)) <= tolerance and np.max(np.abs(g_trial)) >= np.max(np.abs(g)):
            break
        q, g = trial, g_trial
    return q, g


def _contradiction(system: System, q: Array, g: Array, fixed: list[int]) -> SimulationError:
    kin = system.kinematics
    rows = [kin.rows[k].name for k in kin.probe.holonomic]
    worst = int(np.nanargmax(np.abs(np.nan_to_num(g, nan=np.inf))))
    names = ", ".join(f"{kin.coordinates[k].name} = {q[k]:.6g}" for k in fixed) or "nothing"
    if not np.isfinite(g[worst]):
        return SimulationError(
            f"row '{rows[worst]}' is not defined at this start, as for a wheel that lies flat",
            f"start of model '{system.model.name}' (given: {names})",
            f"give another configuration; what can be set: {', '.join(start_names(system))}",
        )
    return SimulationError(
        f"the start breaks row '{rows[worst]}' by {g[worst]:.3g}, and the coordinates that are not "
        "given cannot mend it",
        f"start of model '{system.model.name}' (given: {names})",
        "leave out a coordinate that the constraints determine, or give values that fit together",
    )


def _speeds(
    system: System,
    given: Mapping[str, float],
    orientations: list[_Orientation],
    q: Array,
    time: float,
    w: Array,
    params: Array,
) -> tuple[Array, Array]:
    """Tree speeds with A v + a = 0 and the given values; free independent speeds least."""
    kin = system.kinematics
    num = kin.num_speeds
    A, a = (np.array(m) for m in kin.probe.constraint(time, q, w, params))
    E = kin.independent_rows(time, q, params)
    rows, values, labels = [A], [-a.ravel()], [r.name for r in kin.rows]
    tree_names, eta_names = _names(kin.speeds), _names(kin.independent_speeds)
    for name, value in given.items():
        if name in tree_names:
            rows.append(np.eye(num)[[tree_names.index(name)]])
        elif name in eta_names:
            rows.append(E[[eta_names.index(name)]])
        else:
            continue
        values.append(np.array([float(value)]))
        labels.append(name)
    for o in orientations:
        names = [f"{o.joint}.{n}_rate" for n in o.angles.names]
        if any(n in given for n in names):
            angles = _angles(o, given, q)
            rates = [float(given.get(n, 0.0)) for n in names]
            omega = np.array(spatial.angular_velocity(angles, rates, o.angles.sequence))
            rows.append(np.eye(num)[o.speed : o.speed + 3])
            values.append(omega)
            labels += [f"{o.joint}.{s}" for s in ("wx", "wy", "wz")]
    C, d = np.vstack(rows), np.concatenate(values)
    scale = np.where(np.array(kin.probe.is_angular, dtype=bool), kin.length, 1.0)
    weight = 1.0 / np.maximum(np.linalg.norm(C / scale, axis=1), 1e-12)
    C_hat = (C / scale) * weight[:, None]
    v_hat = np.linalg.lstsq(C_hat, d * weight, rcond=1e-12)[0]
    # one more round takes the residual to rounding
    v_hat += np.linalg.lstsq(C_hat, d * weight - C_hat @ v_hat, rcond=1e-12)[0]
    _, singular, Vt = np.linalg.svd(C_hat, full_matrices=True)
    rank = int(np.sum(singular > 1e-10 * max(1.0, singular[0] if singular.size else 1.0)))
    null = Vt[rank:].T
    if null.shape[1] and E.size:
        E_hat = E / scale
        v_hat = v_hat - null @ np.linalg.lstsq(E_hat @ null, E_hat @ v_hat, rcond=1e-10)[0]
    v = v_hat / scale
    residual = C @ v - d
    worst = int(np.argmax(np.abs(residual) * weight)) if residual.size else 0
    size = max(1.0, float(np.max(np.abs(v * scale), initial=0.0)))
    if residual.size and abs(residual[worst]) * weight[worst] > 1e-9 * size:
        raise SimulationError(
            f"the given speeds contradict each other or the constraints: '{labels[worst]}' is "
            f"missed by {residual[worst]:.3g}",
            f"start of model '{system.model.name}'",
            "leave out a speed that the constraints determine; the rest is completed for you",
        )
    return v, E @ v

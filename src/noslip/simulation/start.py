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
from noslip.simulation.small_matrices import least_squares, singular_values
from noslip.simulation.start_angles import Held, angles_now, partly_rated, releases
from noslip.simulation.start_rows import Layout, Orientation, Rows, layout_of

#: Largest residual of a constraint row that a start may leave, in the unit of the row.
TOLERANCE = 1e-11

#: Up to so many numbers plain Python is quicker than NumPy.
FEW = 16


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
    SimulationError : for unknown names, or if the given values contradict the constraints.
    """
    layout = layout_of(system)
    params = system.parameters() if parameters is None else parameters
    _check_names(system, layout, given)
    q, fixed = given_coordinates(system, layout, given)
    w = np.zeros(len(system.model.speed_inputs))
    q, rows = _close(system, layout, q, fixed, releases(layout, given), time, w, params)
    if speed_inputs is not None:
        w = speed_inputs(q)
        rows = layout.rows(time, q, w, params)
    v, eta = _speeds(system, layout, given, q, rows)

    named = zip(layout.states, (*q.tolist(), *v.tolist()), strict=True)
    return Start(
        time=time,
        q=q,
        v=v,
        eta=eta,
        mu=np.array([float(given.get(name, 0.0)) for name in layout.costates]),
        position_residual=_largest(rows.g),
        speed_residual=_largest(rows.A @ v + rows.a),
        completed={n: x for n, x in named if n not in given and abs(x) > 1e-15},
    )


def _largest(values: Array) -> float:
    """The largest size, nan if there is one among them."""
    if values.size > FEW:
        return float(np.abs(values).max())
    sizes = [abs(value) for value in values.tolist()]
    return math.nan if math.isnan(sum(sizes)) else max(sizes, default=0.0)


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
        if not (isinstance(value, (float, int, np.number)) and math.isfinite(value)):
            raise SimulationError(
                f"'{name}' starts at {value}",
                f"start of model '{system.model.name}'",
                "give a finite number",
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


def _angles(o: Orientation, given: Mapping[str, float], q: Array) -> list[float]:
    """Named angles of an orientation: as given if all are, else those of its quaternion."""
    if all(n in given for n in o.angle_names):
        return [float(given[n]) for n in o.angle_names]
    return angles_now(o, q)


def _close(
    system: System,
    layout: Layout,
    q: Array,
    fixed: list[int],
    partly: list[tuple[Held, ...]],
    time: float,
    w: Array,
    params: Array,
) -> tuple[Array, Rows]:
    """Move the free coordinates until g(q, t) = 0, as little as they must; and the rows there.

    Where only some angles of an orientation are given, the others stay too if they can. Where links
    lie in line, no small motion changes g in the direction it lacks; the free coordinates are then
    moved aside first, by more and more, always in the same way.
    """
    probe = system.kinematics.probe
    tolerance = TOLERANCE * max(1.0, probe.length)

    def solve(q: Array, fixed: list[int], held: tuple[Held, ...]) -> tuple[Array, Rows]:
        return _newton(system, layout, q, fixed, held, time, w, params)

    closed, rows = first, first_rows = solve(q, fixed, ())
    if _largest(rows.g) <= tolerance:
        return closed, rows
    held: tuple[Held, ...] = ()
    given, turned = fixed, {k for tries in partly for h in tries for k in h.quaternion}
    fixed = [k for k in given if k not in turned]
    for held in partly:
        closed, rows = solve(q, fixed, held)
        if _largest(rows.g) <= tolerance:
            return closed, rows
    rng = np.random.default_rng(5)
    for aside in (0.01, 0.1, 0.3, 1.0):
        if not np.all(np.isfinite(first_rows.g)):
            break
        step = aside * probe.length * rng.normal(size=len(layout.scale)) / layout.scale
        moved = probe.normalize(q + layout.rows(time, q, w, params).N @ step)
        moved[fixed] = q[fixed]
        closed, rows = solve(moved, fixed, held)
        if _largest(rows.g) <= tolerance:
            return closed, rows
    raise _contradiction(system, first, first_rows.g, given)


def _newton(
    system: System,
    layout: Layout,
    q: Array,
    fixed: list[int],
    held: tuple[Held, ...],
    time: float,
    w: Array,
    params: Array,
) -> tuple[Array, Rows]:
    """Coordinates after Newton's method with least steps through N, and the rows there."""
    probe = system.kinematics.probe
    rows = layout.rows(time, q, w, params)
    error = _largest(rows.g)
    tolerance, scale = TOLERANCE * max(1.0, probe.length), layout.scale
    kept = np.array(fixed, dtype=int)
    wanted = np.zeros(rows.g.size + len(fixed) + sum(len(h.places) for h in held))
    for _ in range(200):
        if error <= 1e-15 * max(1.0, _largest(q)):
            break
        stay = [h.rows(q, len(scale)) for h in held]
        held_rows = (rows.A.take(layout.holonomic, axis=0), rows.N.take(kept, axis=0))
        stacked = np.concatenate([*held_rows, *stay]) / scale
        if not np.isfinite(stacked).all():
            break
        wanted[: rows.g.size] = -rows.g
        step = least_squares(stacked, wanted, 1e-12)
        # no farther than the mechanism is long, or than it is away from where it must be
        size, longest = math.sqrt(step @ step), max(probe.length, error)
        if size > longest:
            step *= longest / size
        trial = probe.normalize(q + rows.N @ (step / scale))
        trial[kept] = q[kept]
        for h in held:
            h.restore(trial)
        there = layout.rows(time, trial, w, params)
        left = _largest(there.g)
        if error <= tolerance and left >= error:
            break
        q, rows, error = trial, there, left
    return q, rows


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
    system: System, layout: Layout, given: Mapping[str, float], q: Array, rows: Rows
) -> tuple[Array, Array]:
    """Tree speeds with A v + a = 0 and the given values; free independent speeds least.

    Where the rates of only some angles are given, those of the others are zero if they can be.
    """
    rated = partly_rated(layout, given)
    if not rated:
        return _fit_speeds(system, layout, given, q, rows, ())
    try:
        return _fit_speeds(system, layout, given, q, rows, ())
    except SimulationError:
        return _fit_speeds(system, layout, given, q, rows, rated)


def _fit_speeds(
    system: System,
    layout: Layout,
    given: Mapping[str, float],
    q: Array,
    rows: Rows,
    rated: tuple[Held, ...],
) -> tuple[Array, Array]:
    """Tree speeds that fit; of the orientations `rated` only the given rates are held."""
    kin = system.kinematics
    A, E, scale = rows.A, rows.E, layout.scale
    parts: list[Array] = [A]
    values: list[Array | list[float]] = [-rows.a]
    labels = [r.name for r in kin.rows]
    unit = layout.unit
    for name, value in given.items():
        if name in layout.speeds:
            k = layout.speeds[name]
            parts.append(unit[k : k + 1])
        elif name in layout.independent_speeds:
            k = layout.independent_speeds[name]
            parts.append(E[k : k + 1])
        else:
            continue
        values.append([float(value)])
        labels.append(name)
    for held in rated:
        parts.append(held.rows(q, len(scale)))
        values.append(list(held.values))
        labels += [held.orientation.rate_names[k] for k in held.places]
    partly = [held.orientation for held in rated]
    for o in layout.orientations:
        if o not in partly and any(n in given for n in o.rate_names):
            angles = _angles(o, given, q)
            rates = [float(given.get(n, 0.0)) for n in o.rate_names]
            parts.append(unit[o.speed : o.speed + 3])
            values.append(spatial.angular_velocity(angles, rates, o.angles.sequence))
            labels += [f"{o.joint}.{s}" for s in ("wx", "wy", "wz")]
    C, d = np.concatenate(parts), np.concatenate(values)
    C_hat = C / scale
    weight = 1.0 / np.maximum(np.sqrt(np.add.reduce(C_hat * C_hat, axis=1)), 1e-12)
    C_hat *= weight[:, None]
    d_hat = d * weight
    # C = U Σ Vᵀ gives the least speeds that fit, and those that are free
    U, singular, Vt = singular_values(C_hat)
    least = 1e-10 * max(1.0, singular[0] if singular.size else 1.0)
    rank = int(np.count_nonzero(singular > least))
    back, range_, null = Vt[:rank].T / singular[:rank], U[:, :rank].T, Vt[rank:].T
    v_hat = back @ (range_ @ d_hat)
    # one more round takes the residual to rounding
    v_hat += back @ (range_ @ (d_hat - C_hat @ v_hat))
    if null.shape[1] and E.size:
        E_hat = E / scale
        v_hat = v_hat - null @ least_squares(E_hat @ null, E_hat @ v_hat, 1e-10)
    v = v_hat / scale
    residual = C @ v - d
    missed = np.abs(residual) * weight
    if missed.size and missed.max() > 1e-9 * max(1.0, _largest(v_hat)):
        worst = int(np.argmax(missed))
        raise SimulationError(
            f"the given speeds contradict each other or the constraints: '{labels[worst]}' is "
            f"missed by {residual[worst]:.3g}",
            f"start of model '{system.model.name}'",
            "leave out a speed that the constraints determine; the rest is completed for you",
        )
    return v, E @ v

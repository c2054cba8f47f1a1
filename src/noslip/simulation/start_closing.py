"""Coordinates of a start that satisfy g(q, t) = 0 and keep what is given.

With G the holonomic rows of A, over a length of the model where speeds are angular, a step is the
least one that mends the rows and leaves what is held,

    [G; N_fixed] δ = [−g; 0],    q ← q + N δ

"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.small_matrices import largest, least_squares
from noslip.simulation.start_angles import Held, releases
from noslip.simulation.start_rows import Layout, Rows, layout_of

#: Largest residual of a constraint row that a start may leave, in the unit of the row.
TOLERANCE = 1e-11


def close(
    system: System,
    layout: Layout,
    q: Array,
    fixed: list[int],
    given: Mapping[str, float],
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
    if largest(rows.g) <= tolerance:
        return closed, rows
    held: tuple[Held, ...] = ()
    partly = releases(layout, given)
    turned = {k for tries in partly for h in tries for k in h.quaternion}
    all_fixed, fixed = fixed, [k for k in fixed if k not in turned]
    for held in partly:
        closed, rows = solve(q, fixed, held)
        if largest(rows.g) <= tolerance:
            return closed, rows
    rng = np.random.default_rng(5)
    for aside in (0.01, 0.1, 0.3, 1.0):
        if not np.all(np.isfinite(first_rows.g)):
            break
        step = aside * probe.length * rng.normal(size=len(layout.scale)) / layout.scale
        moved = probe.normalize(q + layout.rows(time, q, w, params).N @ step)
        moved[fixed] = q[fixed]
        closed, rows = solve(moved, fixed, held)
        if largest(rows.g) <= tolerance:
            return closed, rows
    raise _contradiction(system, first, first_rows.g, all_fixed)


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
    error = largest(rows.g)
    tolerance, scale = TOLERANCE * max(1.0, probe.length), layout.scale
    kept = np.array(fixed, dtype=int)
    wanted = np.zeros(rows.g.size + len(fixed) + sum(len(h.places) for h in held))
    for _ in range(200):
        if error <= 1e-15 * max(1.0, largest(q)):
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
        left = largest(there.g)
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
            f"give another configuration; what can be set: {', '.join(layout_of(system).names)}",
        )
    return SimulationError(
        f"the start breaks row '{rows[worst]}' by {g[worst]:.3g}, and the coordinates that are not "
        "given cannot mend it",
        f"start of model '{system.model.name}' (given: {names})",
        "leave out a coordinate that the constraints determine, or give values that fit together",
    )

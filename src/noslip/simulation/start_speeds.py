"""Tree speeds of a start: A v + a = 0 and what is given hold, free independent speeds are least.

With rows of unit length, C v = d stacks the constraints and the given speeds. C = U Σ Vᵀ gives the
least v that fits; of what it leaves free, Z y, those y are taken that make E (v + Z y) least.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from noslip import spatial
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.small_matrices import largest, least_squares, singular_values
from noslip.simulation.start_angles import Held, partly_rated, start_angles
from noslip.simulation.start_rows import Layout, Rows, row_weights
from noslip.words import counted

#: Relative error of coordinate rates up to which independent speeds carry a start.
CARRIED = 1e-7


def fit_speeds(
    system: System, layout: Layout, given: Mapping[str, float], q: Array, rows: Rows
) -> tuple[Array, Array]:
    """Tree speeds with A v + a = 0 and the given values; free independent speeds least.

    Where the rates of only some angles are given, those of the others are zero if they can be.
    """
    rated = partly_rated(layout, given)
    if not rated:
        return _fitted(system, layout, given, q, rows, ())
    try:
        return _fitted(system, layout, given, q, rows, ())
    except SimulationError:
        return _fitted(system, layout, given, q, rows, rated)


def _fitted(
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
            angles = start_angles(o, given, q)
            rates = [float(given.get(n, 0.0)) for n in o.rate_names]
            parts.append(unit[o.speed : o.speed + 3])
            values.append(spatial.angular_velocity(angles, rates, o.angles.sequence))
            labels += [f"{o.joint}.{s}" for s in ("wx", "wy", "wz")]
    C, d = np.concatenate(parts), np.concatenate(values)
    C_hat = C / scale
    weight = row_weights(C_hat)
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
    if missed.size and missed.max() > 1e-9 * max(1.0, largest(v_hat)):
        worst = int(np.argmax(missed))
        raise SimulationError(
            f"the given speeds contradict each other or the constraints: '{labels[worst]}' is "
            f"missed by {residual[worst]:.3g}",
            f"start of model '{system.model.name}'",
            "leave out a speed that the constraints determine; the rest is completed for you",
        )
    return v, E @ v


def check_carried(
    system: System,
    layout: Layout,
    rows: Rows,
    t: float,
    v: Array,
    w: Array,
    params: Array,
    state: tuple[Array, ...],
) -> None:
    """Refuse a start at which the mechanism has other freedoms than its equations.

    Rows were chosen where the mechanism usually is. At a singular configuration, or on another
    branch of its configurations, the same rows may repeat each other: S η + s is then not the
    completed v. (Where only the independent speeds fail, a run changes them.) On a branch where
    rows are independent that the chosen ones imply elsewhere, it cannot move as the equations say.

    Parameters
    ----------
    v, w, state : tree speeds, speed inputs, and [q; η; μ] as its parts.
    """
    kin = system.kinematics
    if kin.probe.rank is not None and not dataclasses.replace(kin.probe, params=params).is_on(
        state[0], t
    ):
        raise SimulationError(
            "the mechanism has other degrees of freedom at this configuration than elsewhere, "
            f"where it has {kin.num_independent_speeds}: its configurations form several branches",
            f"start of model '{system.model.name}'",
            "start on the other branch, or leave out the constraints that lock it there",
        )
    if not v.any():
        return
    x, u = layout.state.copy(), layout.inputs
    np.concatenate(state, out=x[: len(x) - system.does_work])
    if w.size:
        u = u.copy()
        u[len(system.model.inputs) :][: len(w)] = w
    rate = rows.N @ v
    off = largest(system.rates(t, x, u, params)[: len(rate)] - rate)
    if off <= CARRIED * max(1.0, largest(rate)):
        return
    kept = list(kin.kept)
    A = rows.A[kept] / layout.scale
    A *= row_weights(A)[:, None]
    U, singular, _ = np.linalg.svd(A)
    if not singular.size or singular[-1] > 1e-9:
        return
    repeated = [
        f"'{kin.rows[k].name}'" for k, x in zip(kept, U[:, -1], strict=True) if abs(x) > 1e-6
    ]
    freedoms = counted(kin.num_independent_speeds, "degree of freedom", "degrees of freedom")
    raise SimulationError(
        f"the rows {', '.join(repeated)} repeat each other at this configuration, as they do not "
        "elsewhere: the mechanism can move here in a way that its equations do not have, with "
        f"{freedoms}",
        f"start of model '{system.model.name}'",
        "leave out one of these constraints, or start without speed or at another place",
    )
